"""The generation that a member has joined.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/JoinGroupResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, GENERATION_ID, MEMBER_ID, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

GROUP_PROTOCOL_KEY_NAME = "group_protocol"
LEADER_ID_KEY_NAME = "leader_id"
MEMBERS_KEY_NAME = "members"
MEMBER_METADATA_KEY_NAME = "member_metadata"

JOIN_GROUP_RESPONSE_MEMBER_V0 = Schema(
    MEMBER_ID, Field(MEMBER_METADATA_KEY_NAME, BYTES, "What the member said in its chosen protocol")
)

JOIN_GROUP_RESPONSE_V0 = Schema(
    ERROR_CODE,
    GENERATION_ID,
    Field(GROUP_PROTOCOL_KEY_NAME, STRING, "The protocol chosen"),
    Field(LEADER_ID_KEY_NAME, STRING, "The leader's member id"),
    MEMBER_ID,
    Field(MEMBERS_KEY_NAME, ArrayOf(JOIN_GROUP_RESPONSE_MEMBER_V0)),
)

JOIN_GROUP_RESPONSE_V1 = JOIN_GROUP_RESPONSE_V0

JOIN_GROUP_RESPONSE_V2 = Schema(
    THROTTLE_TIME_MS,
    ERROR_CODE,
    GENERATION_ID,
    Field(GROUP_PROTOCOL_KEY_NAME, STRING, "The protocol chosen"),
    Field(LEADER_ID_KEY_NAME, STRING, "The leader's member id"),
    MEMBER_ID,
    Field(MEMBERS_KEY_NAME, ArrayOf(JOIN_GROUP_RESPONSE_MEMBER_V0)),
)


class JoinGroupResponse(SchemaBackedResponse):
    """Generation, protocol and leader; the leader is told all members.

    Mirrors: org.apache.kafka.common.requests.JoinGroupResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.JOIN_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [JOIN_GROUP_RESPONSE_V0, JOIN_GROUP_RESPONSE_V1, JOIN_GROUP_RESPONSE_V2]
