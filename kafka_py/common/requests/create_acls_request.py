"""Create these ACLs.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateAclsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import (
    HOST,
    OPERATION,
    PERMISSION_TYPE,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
)
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_acls_response import CreateAclsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

CREATIONS_KEY_NAME = "creations"

CREATE_ACLS_REQUEST_V0 = Schema(
    Field(
        CREATIONS_KEY_NAME, ArrayOf(Schema(RESOURCE_TYPE, RESOURCE_NAME, PRINCIPAL, HOST, OPERATION, PERMISSION_TYPE))
    )
)


class CreateAclsRequest(SchemaBackedRequest):
    """ACLs with their resources.

    Mirrors: org.apache.kafka.common.requests.CreateAclsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_ACLS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> CreateAclsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return CreateAclsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "creation_responses": [
                    {"error_code": error.code, "error_message": message} for _ in self.values["creations"]
                ],
            }
        )
