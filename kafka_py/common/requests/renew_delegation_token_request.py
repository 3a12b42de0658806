"""Let a delegation token live longer.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RenewDelegationTokenRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import BYTES, INT64
from kafka_py.common.requests.request_message import RequestMessage


class RenewDelegationTokenRequest(RequestMessage, key=ApiKeys.RENEW_DELEGATION_TOKEN, latest=2, flexible=2):
    """The token's signature and a period.

    Mirrors: org.apache.kafka.common.requests.RenewDelegationTokenRequest
    """

    hmac: bytes | memoryview = field(BYTES, "The token's signature")
    renew_time_period: int = field(INT64, "By how much to renew, in ms")
