"""A member leaves its group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaveGroupRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class LeaveGroupRequest(RequestMessage, key=ApiKeys.LEAVE_GROUP, latest=4, flexible=4):
    """Group and member.

    Mirrors: org.apache.kafka.common.requests.LeaveGroupRequest
    """

    class Member(Message):
        """A member that leaves."""

        member_id: str = field(STRING)
        group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)

    group_id: str = field(STRING)
    member_id: str = field(STRING, until=2, default="")
    members: list[Member] = field(ListOf(Member), since=3, default_factory=list)
