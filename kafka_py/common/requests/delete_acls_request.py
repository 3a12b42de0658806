"""Delete the ACLs that match.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteAclsRequest.java @ 1.1.1
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
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.delete_acls_response import DeleteAclsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

FILTERS = "filters"

DELETE_ACLS_REQUEST_V0 = Schema(
    Field(
        FILTERS,
        ArrayOf(Schema(RESOURCE_TYPE, RESOURCE_NAME_FILTER, PRINCIPAL_FILTER, HOST_FILTER, OPERATION, PERMISSION_TYPE)),
    )
)


class DeleteAclsRequest(SchemaBackedRequest):
    """Filters.

    Mirrors: org.apache.kafka.common.requests.DeleteAclsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_ACLS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DeleteAclsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return DeleteAclsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "filter_responses": [
                    {"error_code": error.code, "error_message": message, "matching_acls": []}
                    for _ in self.values["filters"]
                ],
            }
        )
