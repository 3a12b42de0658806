"""A token of the SASL exchange.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslAuthenticateRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.sasl_authenticate_response import SaslAuthenticateResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

SASL_AUTH_BYTES_KEY_NAME = "sasl_auth_bytes"

SASL_AUTHENTICATE_REQUEST_V0 = Schema(Field(SASL_AUTH_BYTES_KEY_NAME, BYTES, "A token of the SASL exchange"))


class SaslAuthenticateRequest(SchemaBackedRequest):
    """Bytes for the mechanism.

    Mirrors: org.apache.kafka.common.requests.SaslAuthenticateRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SASL_AUTHENTICATE

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SASL_AUTHENTICATE_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> SaslAuthenticateResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return SaslAuthenticateResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "error_code": error.code,
                "error_message": message,
                "sasl_auth_bytes": b"",
            }
        )
