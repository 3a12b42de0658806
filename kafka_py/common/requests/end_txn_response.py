"""Whether the transaction is ending.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/EndTxnResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16, INT32
from kafka_py.common.requests.response_message import ResponseMessage


class EndTxnResponse(ResponseMessage, ErrorCoded, key=ApiKeys.END_TXN, latest=1):
    """An error.

    Mirrors: org.apache.kafka.common.requests.EndTxnResponse
    """

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
