"""A delegation token.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateDelegationTokenResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PRINCIPAL_NAME, PRINCIPAL_TYPE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES, INT64, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

OWNER_KEY_NAME = "owner"
ISSUE_TIMESTAMP_KEY_NAME = "issue_timestamp"
EXPIRY_TIMESTAMP_NAME = "expiry_timestamp"
MAX_TIMESTAMP_NAME = "max_timestamp"
TOKEN_ID_KEY_NAME = "token_id"
HMAC_KEY_NAME = "hmac"

TOKEN_CREATE_RESPONSE_V0 = Schema(
    ERROR_CODE,
    Field(OWNER_KEY_NAME, Schema(PRINCIPAL_TYPE, PRINCIPAL_NAME)),
    Field(ISSUE_TIMESTAMP_KEY_NAME, INT64, "When it was issued"),
    Field(EXPIRY_TIMESTAMP_NAME, INT64, "When it expires unless renewed"),
    Field(MAX_TIMESTAMP_NAME, INT64, "When it expires in any case"),
    Field(TOKEN_ID_KEY_NAME, STRING, "The token's id"),
    Field(HMAC_KEY_NAME, BYTES, "The token's signature"),
    THROTTLE_TIME_MS,
)


class CreateDelegationTokenResponse(SchemaBackedResponse):
    """The token with its times.

    Mirrors: org.apache.kafka.common.requests.CreateDelegationTokenResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_CREATE_RESPONSE_V0]
