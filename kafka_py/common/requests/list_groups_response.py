"""The groups that the broker coordinates.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListGroupsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, GROUP_ID, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

GROUPS_KEY_NAME = "groups"
PROTOCOL_TYPE_KEY_NAME = "protocol_type"

LIST_GROUPS_RESPONSE_GROUP_V0 = Schema(
    GROUP_ID, Field(PROTOCOL_TYPE_KEY_NAME, STRING, "The kind of group: consumer, connect")
)

LIST_GROUPS_RESPONSE_V0 = Schema(
    ERROR_CODE, Field(GROUPS_KEY_NAME, ArrayOf(LIST_GROUPS_RESPONSE_GROUP_V0), "The groups")
)

LIST_GROUPS_RESPONSE_V1 = Schema(
    THROTTLE_TIME_MS, ERROR_CODE, Field(GROUPS_KEY_NAME, ArrayOf(LIST_GROUPS_RESPONSE_GROUP_V0), "The groups")
)


class ListGroupsResponse(SchemaBackedResponse):
    """Id and type of each group.

    Mirrors: org.apache.kafka.common.requests.ListGroupsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LIST_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LIST_GROUPS_RESPONSE_V0, LIST_GROUPS_RESPONSE_V1]
