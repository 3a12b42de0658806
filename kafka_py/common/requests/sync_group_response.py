"""What a member is to read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SyncGroupResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

MEMBER_ASSIGNMENT_KEY_NAME = "member_assignment"

SYNC_GROUP_RESPONSE_V0 = Schema(ERROR_CODE, Field(MEMBER_ASSIGNMENT_KEY_NAME, BYTES, "What is assigned to the member"))

SYNC_GROUP_RESPONSE_V1 = Schema(
    THROTTLE_TIME_MS, ERROR_CODE, Field(MEMBER_ASSIGNMENT_KEY_NAME, BYTES, "What is assigned to the member")
)


class SyncGroupResponse(SchemaBackedResponse):
    """The assignment, opaque to the broker.

    Mirrors: org.apache.kafka.common.requests.SyncGroupResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SYNC_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SYNC_GROUP_RESPONSE_V0, SYNC_GROUP_RESPONSE_V1]
