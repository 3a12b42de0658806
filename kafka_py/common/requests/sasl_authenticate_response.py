"""The answer to a token of the SASL exchange.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslAuthenticateResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT64, NULLABLE_STRING
from kafka_py.common.requests.response_message import ResponseMessage


class SaslAuthenticateResponse(ResponseMessage, ErrorCoded, key=ApiKeys.SASL_AUTHENTICATE, latest=2, flexible=2):
    """Bytes for the mechanism, or an error with a message.

    Mirrors: org.apache.kafka.common.requests.SaslAuthenticateResponse
    """

    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, default=None)
    sasl_auth_bytes: bytes | memoryview = field(BYTES, "A token of the SASL exchange", default=b"")
    session_lifetime_ms: int = field(INT64, "When to authenticate again, 0 for never", since=1, default=0)
