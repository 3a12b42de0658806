"""The ACLs that match.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeAclsResponse.java @ 1.1.1
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

RESOURCES_KEY_NAME = "resources"
ACLS_KEY_NAME = "acls"

DESCRIBE_ACLS_RESOURCE = Schema(
    RESOURCE_TYPE, RESOURCE_NAME, Field(ACLS_KEY_NAME, ArrayOf(Schema(PRINCIPAL, HOST, OPERATION, PERMISSION_TYPE)))
)

DESCRIBE_ACLS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, ERROR_CODE, ERROR_MESSAGE, Field(RESOURCES_KEY_NAME, ArrayOf(DESCRIBE_ACLS_RESOURCE))
)


class DescribeAclsResponse(SchemaBackedResponse):
    """ACLs by resource.

    Mirrors: org.apache.kafka.common.requests.DescribeAclsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_ACLS_RESPONSE_V0]
