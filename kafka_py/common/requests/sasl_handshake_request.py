"""The client chooses a SASL mechanism.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslHandshakeRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.sasl_handshake_response import SaslHandshakeResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

SASL_HANDSHAKE_REQUEST_V0 = Schema(Field("mechanism", STRING, "The SASL mechanism"))

SASL_HANDSHAKE_REQUEST_V1 = SASL_HANDSHAKE_REQUEST_V0


class SaslHandshakeRequest(SchemaBackedRequest):
    """The name of a mechanism.

    Mirrors: org.apache.kafka.common.requests.SaslHandshakeRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SASL_HANDSHAKE

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SASL_HANDSHAKE_REQUEST_V0, SASL_HANDSHAKE_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> SaslHandshakeResponse:
        error = Errors.for_exception(e)
        return SaslHandshakeResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "enabled_mechanisms": []}
        )
