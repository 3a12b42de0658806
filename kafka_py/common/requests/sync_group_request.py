"""A member asks for its assignment; the leader brings all of them.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SyncGroupRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BYTES, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class SyncGroupRequest(RequestMessage, key=ApiKeys.SYNC_GROUP, latest=5, flexible=4):
    """Group, generation and member; assignments come from the leader only.

    Mirrors: org.apache.kafka.common.requests.SyncGroupRequest
    """

    class Assignment(Message):
        """What the leader assigns to a member."""

        member_id: str = field(STRING)
        member_assignment: bytes | memoryview = field(BYTES)

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    protocol_type: str | None = field(NULLABLE_STRING, since=5, default=None)
    protocol_name: str | None = field(NULLABLE_STRING, since=5, default=None)
    group_assignment: list[Assignment] = field(ListOf(Assignment))
