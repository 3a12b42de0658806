"""A delegation token.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateDelegationTokenResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.requests.token_principal import TokenOwner


def _nobody() -> TokenOwner:
    """Whom an answer names as the owner where there is none: KafkaPrincipal.ANONYMOUS."""
    return TokenOwner(principal_type="User", name="ANONYMOUS")


class CreateDelegationTokenResponse(
    ResponseMessage, ErrorCoded, key=ApiKeys.CREATE_DELEGATION_TOKEN, latest=2, flexible=2
):
    """The token with its times.

    Mirrors: org.apache.kafka.common.requests.CreateDelegationTokenResponse
    """

    error_code: int = field(INT16)
    owner: TokenOwner = field(TokenOwner, default_factory=_nobody)
    issue_timestamp: int = field(INT64, default=-1)
    expiry_timestamp: int = field(INT64, "When it expires unless renewed", default=-1)
    max_timestamp: int = field(INT64, "When it expires in any case", default=-1)
    token_id: str = field(STRING, default="")
    hmac: bytes | memoryview = field(BYTES, "The token's signature", default=b"")
    throttle_time_ms: int = field(INT32, default=0)
