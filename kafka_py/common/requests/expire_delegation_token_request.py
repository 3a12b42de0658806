"""Let a delegation token expire.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ExpireDelegationTokenRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, INT64
from kafka_py.common.requests.expire_delegation_token_response import ExpireDelegationTokenResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

HMAC_KEY_NAME = "hmac"
EXPIRY_TIME_PERIOD_KEY_NAME = "expiry_time_period"

TOKEN_EXPIRE_REQUEST_V0 = Schema(
    Field(HMAC_KEY_NAME, BYTES, "The token's signature"),
    Field(EXPIRY_TIME_PERIOD_KEY_NAME, INT64, "When to expire, in ms, -1 at once"),
)


class ExpireDelegationTokenRequest(SchemaBackedRequest):
    """The token's signature and a period.

    Mirrors: org.apache.kafka.common.requests.ExpireDelegationTokenRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.EXPIRE_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_EXPIRE_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ExpireDelegationTokenResponse:
        error = Errors.for_exception(e)
        return ExpireDelegationTokenResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "expiry_timestamp": -1}
        )
