"""Which ACLs match.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeAclsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT8, NULLABLE_STRING
from kafka_py.common.requests.request_message import RequestMessage


class DescribeAclsRequest(RequestMessage, key=ApiKeys.DESCRIBE_ACLS, latest=2, flexible=2):
    """A filter.

    Mirrors: org.apache.kafka.common.requests.DescribeAclsRequest
    """

    resource_type: int = field(INT8)
    resource_name: str | None = field(NULLABLE_STRING, "The resource's name, null for any")
    pattern_type: int = field(INT8, "Which resource patterns", since=1, default=3, ignorable=False)
    principal: str | None = field(NULLABLE_STRING, "The principal, null for any")
    host: str | None = field(NULLABLE_STRING, "The host, null for any")
    operation: int = field(INT8)
    permission_type: int = field(INT8, "Whether the ACL allows or denies")
