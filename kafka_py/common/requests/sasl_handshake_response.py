"""Whether the broker has the mechanism.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslHandshakeResponse.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, field
from kafka_py.common.protocol.types.type import INT16, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class SaslHandshakeResponse(ResponseMessage, ErrorCoded, key=ApiKeys.SASL_HANDSHAKE, latest=1):
    """An error, and the mechanisms there are.

    Mirrors: org.apache.kafka.common.requests.SaslHandshakeResponse
    """

    error_code: int = field(INT16)
    enabled_mechanisms: list[str] = field(ListOf(STRING), "The mechanisms the broker has")
