"""A member joins its group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/JoinGroupRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GROUP_ID, MEMBER_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, INT32, STRING
from kafka_py.common.requests.join_group_response import JoinGroupResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

SESSION_TIMEOUT_KEY_NAME = "session_timeout"
REBALANCE_TIMEOUT_KEY_NAME = "rebalance_timeout"
PROTOCOL_TYPE_KEY_NAME = "protocol_type"
GROUP_PROTOCOLS_KEY_NAME = "group_protocols"
PROTOCOL_NAME_KEY_NAME = "protocol_name"
PROTOCOL_METADATA_KEY_NAME = "protocol_metadata"

JOIN_GROUP_REQUEST_PROTOCOL_V0 = Schema(
    Field(PROTOCOL_NAME_KEY_NAME, STRING, "The protocol's name"),
    Field(PROTOCOL_METADATA_KEY_NAME, BYTES, "What the leader needs to assign"),
)

JOIN_GROUP_REQUEST_V0 = Schema(
    GROUP_ID,
    Field(SESSION_TIMEOUT_KEY_NAME, INT32, "How long the member may be silent, in ms"),
    MEMBER_ID,
    Field(PROTOCOL_TYPE_KEY_NAME, STRING, "The kind of group: consumer, connect"),
    Field(GROUP_PROTOCOLS_KEY_NAME, ArrayOf(JOIN_GROUP_REQUEST_PROTOCOL_V0)),
)

JOIN_GROUP_REQUEST_V1 = Schema(
    GROUP_ID,
    Field(SESSION_TIMEOUT_KEY_NAME, INT32, "How long the member may be silent, in ms"),
    Field(REBALANCE_TIMEOUT_KEY_NAME, INT32, "How long the member may take to join again, in ms"),
    MEMBER_ID,
    Field(PROTOCOL_TYPE_KEY_NAME, STRING, "The kind of group: consumer, connect"),
    Field(GROUP_PROTOCOLS_KEY_NAME, ArrayOf(JOIN_GROUP_REQUEST_PROTOCOL_V0)),
)

JOIN_GROUP_REQUEST_V2 = JOIN_GROUP_REQUEST_V1


class JoinGroupRequest(SchemaBackedRequest):
    """What a member can do, and how long it may be silent.

    Mirrors: org.apache.kafka.common.requests.JoinGroupRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.JOIN_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [JOIN_GROUP_REQUEST_V0, JOIN_GROUP_REQUEST_V1, JOIN_GROUP_REQUEST_V2]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> JoinGroupResponse:
        error = Errors.for_exception(e)
        return JoinGroupResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "error_code": error.code,
                "generation_id": -1,
                "group_protocol": "",
                "leader_id": "",
                "member_id": "",
                "members": [],
            }
        )
