"""Whether the member has left.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaveGroupResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class LeaveGroupResponse(ResponseMessage, ErrorCoded, key=ApiKeys.LEAVE_GROUP, latest=4, flexible=4):
    """An error.

    Mirrors: org.apache.kafka.common.requests.LeaveGroupResponse
    """

    class Member(ErrorEntry):
        """What became of a member."""

        member_id: str = field(STRING)
        group_instance_id: str | None = field(NULLABLE_STRING)
        error_code: int = field(INT16)

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16)
    members: list[Member] = field(ListOf(Member), since=3, default_factory=list)
