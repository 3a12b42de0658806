"""A producer's id and epoch.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/InitProducerIdResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64
from kafka_py.common.requests.response_message import ResponseMessage


class InitProducerIdResponse(ResponseMessage, ErrorCoded, key=ApiKeys.INIT_PRODUCER_ID, latest=3, flexible=2):
    """Producer id and epoch, or an error.

    Mirrors: org.apache.kafka.common.requests.InitProducerIdResponse
    """

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, "The id, -1 with an error", default=-1)
    producer_epoch: int = field(INT16, "Fences earlier producers with the same transactional id", default=0)
