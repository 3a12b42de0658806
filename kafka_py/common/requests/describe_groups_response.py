"""The state of groups.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeGroupsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, GROUP_ID, MEMBER_ID, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

GROUPS_KEY_NAME = "groups"
GROUP_STATE_KEY_NAME = "state"
PROTOCOL_TYPE_KEY_NAME = "protocol_type"
PROTOCOL_KEY_NAME = "protocol"
MEMBERS_KEY_NAME = "members"
CLIENT_ID_KEY_NAME = "client_id"
CLIENT_HOST_KEY_NAME = "client_host"
MEMBER_METADATA_KEY_NAME = "member_metadata"
MEMBER_ASSIGNMENT_KEY_NAME = "member_assignment"

DESCRIBE_GROUPS_RESPONSE_MEMBER_V0 = Schema(
    MEMBER_ID,
    Field(CLIENT_ID_KEY_NAME, STRING, "The member's client id"),
    Field(CLIENT_HOST_KEY_NAME, STRING, "The member's address"),
    Field(MEMBER_METADATA_KEY_NAME, BYTES, "What the member said in its chosen protocol"),
    Field(MEMBER_ASSIGNMENT_KEY_NAME, BYTES, "What is assigned to the member"),
)

DESCRIBE_GROUPS_RESPONSE_GROUP_METADATA_V0 = Schema(
    ERROR_CODE,
    GROUP_ID,
    Field(GROUP_STATE_KEY_NAME, STRING, "The group's state"),
    Field(PROTOCOL_TYPE_KEY_NAME, STRING, "The kind of group: consumer, connect"),
    Field(PROTOCOL_KEY_NAME, STRING),
    Field(MEMBERS_KEY_NAME, ArrayOf(DESCRIBE_GROUPS_RESPONSE_MEMBER_V0)),
)

DESCRIBE_GROUPS_RESPONSE_V0 = Schema(
    Field(GROUPS_KEY_NAME, ArrayOf(DESCRIBE_GROUPS_RESPONSE_GROUP_METADATA_V0), "The groups")
)

DESCRIBE_GROUPS_RESPONSE_V1 = Schema(
    THROTTLE_TIME_MS, Field(GROUPS_KEY_NAME, ArrayOf(DESCRIBE_GROUPS_RESPONSE_GROUP_METADATA_V0), "The groups")
)


class DescribeGroupsResponse(SchemaBackedResponse):
    """State, protocol and members of each group.

    Mirrors: org.apache.kafka.common.requests.DescribeGroupsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_GROUPS_RESPONSE_V0, DESCRIBE_GROUPS_RESPONSE_V1]
