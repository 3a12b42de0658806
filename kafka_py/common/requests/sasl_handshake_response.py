"""Whether the broker has the mechanism.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslHandshakeResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

ENABLED_MECHANISMS_KEY_NAME = "enabled_mechanisms"

SASL_HANDSHAKE_RESPONSE_V0 = Schema(
    ERROR_CODE, Field(ENABLED_MECHANISMS_KEY_NAME, ArrayOf(STRING), "The mechanisms the broker has")
)

SASL_HANDSHAKE_RESPONSE_V1 = SASL_HANDSHAKE_RESPONSE_V0


class SaslHandshakeResponse(SchemaBackedResponse):
    """An error, and the mechanisms there are.

    Mirrors: org.apache.kafka.common.requests.SaslHandshakeResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SASL_HANDSHAKE

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SASL_HANDSHAKE_RESPONSE_V0, SASL_HANDSHAKE_RESPONSE_V1]
