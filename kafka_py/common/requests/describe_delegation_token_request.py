"""Which delegation tokens are there.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeDelegationTokenRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PRINCIPAL_NAME, PRINCIPAL_TYPE
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.describe_delegation_token_response import DescribeDelegationTokenResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

OWNER_KEY_NAME = "owners"

TOKEN_DESCRIBE_REQUEST_V0 = Schema(
    Field(OWNER_KEY_NAME, ArrayOf(Schema(PRINCIPAL_TYPE, PRINCIPAL_NAME), nullable=True))
)


class DescribeDelegationTokenRequest(SchemaBackedRequest):
    """Owners; None asks for all.

    Mirrors: org.apache.kafka.common.requests.DescribeDelegationTokenRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_DESCRIBE_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeDelegationTokenResponse:
        error = Errors.for_exception(e)
        return DescribeDelegationTokenResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "token_details": []}
        )
