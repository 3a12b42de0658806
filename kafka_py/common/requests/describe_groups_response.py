"""The state of groups.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeGroupsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class DescribeGroupsResponse(ResponseMessage, key=ApiKeys.DESCRIBE_GROUPS, latest=5, flexible=5):
    """State, protocol and members of each group.

    Mirrors: org.apache.kafka.common.requests.DescribeGroupsResponse
    """

    class Group(ErrorEntry):
        """A group."""

        class Member(Message):
            """A member of a group."""

            member_id: str = field(STRING)
            group_instance_id: str | None = field(NULLABLE_STRING, since=4, default=None)
            client_id: str = field(STRING)
            client_host: str = field(STRING)
            member_metadata: bytes | memoryview = field(BYTES, "What the member said in its chosen protocol")
            member_assignment: bytes | memoryview = field(BYTES)

        error_code: int = field(INT16)
        group_id: str = field(STRING)
        state: str = field(STRING, default="")
        protocol_type: str = field(STRING, "The kind of group: consumer, connect", default="")
        protocol: str = field(STRING, default="")
        members: list[Member] = field(ListOf(Member), default_factory=list)
        authorized_operations: int = field(INT32, "The lowest number: nobody asked", since=3, default=-(1 << 31))

    throttle_time_ms: int = field(INT32, since=1, default=0)
    groups: list[Group] = field(ListOf(Group))
