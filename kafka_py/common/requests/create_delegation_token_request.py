"""Issue a delegation token.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateDelegationTokenRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PRINCIPAL_NAME, PRINCIPAL_TYPE
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.create_delegation_token_response import CreateDelegationTokenResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

RENEWERS_KEY_NAME = "renewers"
MAX_LIFE_TIME_KEY_NAME = "max_life_time"

TOKEN_CREATE_REQUEST_V0 = Schema(
    Field(RENEWERS_KEY_NAME, ArrayOf(Schema(PRINCIPAL_TYPE, PRINCIPAL_NAME))),
    Field(MAX_LIFE_TIME_KEY_NAME, INT64, "How long the token may live, in ms"),
)


class CreateDelegationTokenRequest(SchemaBackedRequest):
    """Who may renew it, and its longest life.

    Mirrors: org.apache.kafka.common.requests.CreateDelegationTokenRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_DELEGATION_TOKEN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TOKEN_CREATE_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> CreateDelegationTokenResponse:
        error = Errors.for_exception(e)
        return CreateDelegationTokenResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "error_code": error.code,
                "owner": {"principal_type": "User", "name": "ANONYMOUS"},
                "issue_timestamp": -1,
                "expiry_timestamp": -1,
                "max_timestamp": -1,
                "token_id": "",
                "hmac": b"",
            }
        )
