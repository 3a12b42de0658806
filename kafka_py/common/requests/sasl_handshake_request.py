"""The client chooses a SASL mechanism.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslHandshakeRequest.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.request_message import RequestMessage


class SaslHandshakeRequest(RequestMessage, key=ApiKeys.SASL_HANDSHAKE, latest=1):
    """The name of a mechanism.

    Mirrors: org.apache.kafka.common.requests.SaslHandshakeRequest
    """

    mechanism: str = field(STRING)
