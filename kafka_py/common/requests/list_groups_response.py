"""The groups that the broker coordinates.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListGroupsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class ListGroupsResponse(ResponseMessage, ErrorCoded, key=ApiKeys.LIST_GROUPS, latest=3, flexible=3):
    """Id and type of each group.

    Mirrors: org.apache.kafka.common.requests.ListGroupsResponse
    """

    class Group(Message):
        """A group."""

        group_id: str = field(STRING)
        protocol_type: str = field(STRING, "The kind of group: consumer, connect")

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16)
    groups: list[Group] = field(ListOf(Group))
