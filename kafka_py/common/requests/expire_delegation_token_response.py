"""When the token expires now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ExpireDelegationTokenResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

EXPIRY_TIMESTAMP_KEY_NAME = "expiry_timestamp"

TOKEN_EXPIRE_RESPONSE_V0 = Schema(
    ERROR_CODE, Field(EXPIRY_TIMESTAMP_KEY_NAME, INT64, "When it expires unless renewed"), THROTTLE_TIME_MS
)


class ExpireDelegationTokenResponse(SchemaBackedResponse):
    """The new time, or an error.

    Mirrors: org.apache.kafka.common.requests.ExpireDelegationTokenResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.EXPIRE_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_EXPIRE_RESPONSE_V0]
