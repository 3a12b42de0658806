"""The generation that a member has joined.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/JoinGroupResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class JoinGroupResponse(ResponseMessage, ErrorCoded, key=ApiKeys.JOIN_GROUP, latest=7, flexible=6):
    """Generation, protocol and leader; the leader is told all members.

    Mirrors: org.apache.kafka.common.requests.JoinGroupResponse
    """

    class Member(Message):
        """A member, for the leader."""

        member_id: str = field(STRING)
        group_instance_id: str | None = field(NULLABLE_STRING, since=5, default=None)
        member_metadata: bytes | memoryview = field(BYTES, "What the member said in its chosen protocol")

    throttle_time_ms: int = field(INT32, since=2, default=0)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(NULLABLE_STRING, since=7, default=None)
    group_protocol: str | None = field(STRING, "The protocol chosen", nullable=7, default="")
    leader_id: str = field(STRING, "The leader's member id", default="")
    member_id: str = field(STRING, default="")
    members: list[Member] = field(ListOf(Member), default_factory=list)
