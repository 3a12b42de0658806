"""Whether the group's offsets belong to the transaction now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddOffsetsToTxnResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16, INT32
from kafka_py.common.requests.response_message import ResponseMessage


class AddOffsetsToTxnResponse(ResponseMessage, ErrorCoded, key=ApiKeys.ADD_OFFSETS_TO_TXN, latest=1):
    """An error.

    Mirrors: org.apache.kafka.common.requests.AddOffsetsToTxnResponse
    """

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
