"""A member joins its group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/JoinGroupRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BYTES, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class JoinGroupRequest(RequestMessage, key=ApiKeys.JOIN_GROUP, latest=7, flexible=6):
    """What a member can do, and how long it may be silent.

    Mirrors: org.apache.kafka.common.requests.JoinGroupRequest
    """

    class Protocol(Message):
        """A protocol that the member can follow."""

        protocol_name: str = field(STRING)
        protocol_metadata: bytes | memoryview = field(BYTES, "What the leader needs to assign")

    group_id: str = field(STRING)
    session_timeout: int = field(INT32, "How long the member may be silent, in ms")
    rebalance_timeout: int = field(INT32, "How long the member may take to join again, in ms", since=1, default=-1)
    member_id: str = field(STRING, "Empty when it first joins")
    group_instance_id: str | None = field(NULLABLE_STRING, since=5, default=None)
    protocol_type: str = field(STRING, "The kind of group: consumer, connect")
    group_protocols: list[Protocol] = field(ListOf(Protocol))
