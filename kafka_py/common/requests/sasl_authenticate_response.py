"""The answer to a token of the SASL exchange.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslAuthenticateResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

SASL_AUTH_BYTES_KEY_NAME = "sasl_auth_bytes"

SASL_AUTHENTICATE_RESPONSE_V0 = Schema(
    ERROR_CODE, ERROR_MESSAGE, Field(SASL_AUTH_BYTES_KEY_NAME, BYTES, "A token of the SASL exchange")
)


class SaslAuthenticateResponse(SchemaBackedResponse):
    """Bytes for the mechanism, or an error with a message.

    Mirrors: org.apache.kafka.common.requests.SaslAuthenticateResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SASL_AUTHENTICATE

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SASL_AUTHENTICATE_RESPONSE_V0]
