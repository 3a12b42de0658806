"""Which ACLs were deleted.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteAclsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import (
    ERROR_CODE,
    ERROR_MESSAGE,
    HOST,
    OPERATION,
    PERMISSION_TYPE,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
    THROTTLE_TIME_MS,
)
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

FILTER_RESPONSES_KEY_NAME = "filter_responses"
MATCHING_ACLS_KEY_NAME = "matching_acls"

MATCHING_ACL = Schema(
    ERROR_CODE, ERROR_MESSAGE, RESOURCE_TYPE, RESOURCE_NAME, PRINCIPAL, HOST, OPERATION, PERMISSION_TYPE
)

DELETE_ACLS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS,
    Field(
        FILTER_RESPONSES_KEY_NAME,
        ArrayOf(Schema(ERROR_CODE, ERROR_MESSAGE, Field(MATCHING_ACLS_KEY_NAME, ArrayOf(MATCHING_ACL)))),
    ),
)


class DeleteAclsResponse(SchemaBackedResponse):
    """The ACLs that each filter matched.

    Mirrors: org.apache.kafka.common.requests.DeleteAclsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_ACLS_RESPONSE_V0]
