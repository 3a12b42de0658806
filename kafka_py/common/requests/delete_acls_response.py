"""Which ACLs were deleted.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteAclsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class DeleteAclsResponse(ResponseMessage, key=ApiKeys.DELETE_ACLS, latest=2, flexible=2):
    """The ACLs that each filter matched.

    Mirrors: org.apache.kafka.common.requests.DeleteAclsResponse
    """

    class FilterResult(ErrorEntry):
        """What became of a filter's ACLs."""

        class MatchingAcl(ErrorEntry):
            """An ACL that the filter matched."""

            error_code: int = field(INT16)
            error_message: str | None = field(NULLABLE_STRING)
            resource_type: int = field(INT8)
            resource_name: str = field(STRING)
            pattern_type: int = field(INT8, "How the name is matched", since=1, default=3, ignorable=False)
            principal: str = field(STRING)
            host: str = field(STRING)
            operation: int = field(INT8)
            permission_type: int = field(INT8, "Whether the ACL allows or denies")

        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)
        matching_acls: list[MatchingAcl] = field(ListOf(MatchingAcl))

    throttle_time_ms: int = field(INT32, default=0)
    filter_responses: list[FilterResult] = field(ListOf(FilterResult))
