"""Which ACLs match.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeAclsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import (
    HOST_FILTER,
    OPERATION,
    PERMISSION_TYPE,
    PRINCIPAL_FILTER,
    RESOURCE_NAME_FILTER,
    RESOURCE_TYPE,
)
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.describe_acls_response import DescribeAclsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

DESCRIBE_ACLS_REQUEST_V0 = Schema(
    RESOURCE_TYPE, RESOURCE_NAME_FILTER, PRINCIPAL_FILTER, HOST_FILTER, OPERATION, PERMISSION_TYPE
)


class DescribeAclsRequest(SchemaBackedRequest):
    """A filter.

    Mirrors: org.apache.kafka.common.requests.DescribeAclsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_ACLS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeAclsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return DescribeAclsResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "error_message": message, "resources": []}
        )
