"""A token of the SASL exchange.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SaslAuthenticateRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import BYTES
from kafka_py.common.requests.request_message import RequestMessage


class SaslAuthenticateRequest(RequestMessage, key=ApiKeys.SASL_AUTHENTICATE, latest=2, flexible=2):
    """Bytes for the mechanism.

    Mirrors: org.apache.kafka.common.requests.SaslAuthenticateRequest
    """

    sasl_auth_bytes: bytes | memoryview = field(BYTES, "A token of the SASL exchange")
