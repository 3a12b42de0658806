"""The delegation tokens there are.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeDelegationTokenResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.requests.token_principal import TokenOwner, TokenPrincipal


class DescribeDelegationTokenResponse(
    ResponseMessage, ErrorCoded, key=ApiKeys.DESCRIBE_DELEGATION_TOKEN, latest=2, flexible=2
):
    """The tokens with their times and renewers.

    Mirrors: org.apache.kafka.common.requests.DescribeDelegationTokenResponse
    """

    class Token(Message):
        """A token."""

        owner: TokenOwner = field(TokenOwner)
        issue_timestamp: int = field(INT64)
        expiry_timestamp: int = field(INT64, "When it expires unless renewed")
        max_timestamp: int = field(INT64, "When it expires in any case")
        token_id: str = field(STRING)
        hmac: bytes | memoryview = field(BYTES, "The token's signature")
        renewers: list[TokenPrincipal] = field(ListOf(TokenPrincipal))

    error_code: int = field(INT16)
    token_details: list[Token] = field(ListOf(Token))
    throttle_time_ms: int = field(INT32, default=0)
