"""The ACLs that match.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeAclsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class DescribeAclsResponse(ResponseMessage, ErrorCoded, key=ApiKeys.DESCRIBE_ACLS, latest=2, flexible=2):
    """ACLs by resource.

    Mirrors: org.apache.kafka.common.requests.DescribeAclsResponse
    """

    class Resource(Message):
        """A resource with its ACLs."""

        class Acl(Message):
            """Who may do what, or may not."""

            principal: str = field(STRING)
            host: str = field(STRING)
            operation: int = field(INT8)
            permission_type: int = field(INT8, "Whether the ACL allows or denies")

        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        pattern_type: int = field(INT8, "How the name is matched", since=1, default=3, ignorable=False)
        acls: list[Acl] = field(ListOf(Acl))

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resources: list[Resource] = field(ListOf(Resource))
