"""Which ACLs were created.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateAclsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING
from kafka_py.common.requests.response_message import ResponseMessage


class CreateAclsResponse(ResponseMessage, key=ApiKeys.CREATE_ACLS, latest=2, flexible=2):
    """An error for each.

    Mirrors: org.apache.kafka.common.requests.CreateAclsResponse
    """

    class Creation(ErrorEntry):
        """What became of an ACL."""

        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)

    throttle_time_ms: int = field(INT32, default=0)
    creation_responses: list[Creation] = field(ListOf(Creation))
