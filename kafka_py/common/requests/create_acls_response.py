"""Which ACLs were created.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateAclsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

CREATION_RESPONSES_KEY_NAME = "creation_responses"

CREATE_ACLS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(CREATION_RESPONSES_KEY_NAME, ArrayOf(Schema(ERROR_CODE, ERROR_MESSAGE)))
)


class CreateAclsResponse(SchemaBackedResponse):
    """An error for each.

    Mirrors: org.apache.kafka.common.requests.CreateAclsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_ACLS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_ACLS_RESPONSE_V0]
