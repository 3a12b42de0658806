"""Which groups were deleted.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteGroupsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class DeleteGroupsResponse(ResponseMessage, key=ApiKeys.DELETE_GROUPS, latest=2, flexible=2):
    """An error by group.

    Mirrors: org.apache.kafka.common.requests.DeleteGroupsResponse
    """

    class GroupError(ErrorEntry):
        """What became of a group."""

        group_id: str = field(STRING)
        error_code: int = field(INT16)

    throttle_time_ms: int = field(INT32, default=0)
    group_error_codes: list[GroupError] = field(ListOf(GroupError))
