"""Let a delegation token live longer.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RenewDelegationTokenRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, INT64
from kafka_py.common.requests.renew_delegation_token_response import RenewDelegationTokenResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

HMAC_KEY_NAME = "hmac"
RENEW_TIME_PERIOD_KEY_NAME = "renew_time_period"

TOKEN_RENEW_REQUEST_V0 = Schema(
    Field(HMAC_KEY_NAME, BYTES, "The token's signature"),
    Field(RENEW_TIME_PERIOD_KEY_NAME, INT64, "By how much to renew, in ms"),
)


class RenewDelegationTokenRequest(SchemaBackedRequest):
    """The token's signature and a period.

    Mirrors: org.apache.kafka.common.requests.RenewDelegationTokenRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.RENEW_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_RENEW_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> RenewDelegationTokenResponse:
        error = Errors.for_exception(e)
        return RenewDelegationTokenResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "expiry_timestamp": -1}
        )
