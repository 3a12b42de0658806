"""Whether the member still belongs to the group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/HeartbeatResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16, INT32
from kafka_py.common.requests.response_message import ResponseMessage


class HeartbeatResponse(ResponseMessage, ErrorCoded, key=ApiKeys.HEARTBEAT, latest=4, flexible=4):
    """An error: REBALANCE_IN_PROGRESS calls the member back.

    Mirrors: org.apache.kafka.common.requests.HeartbeatResponse
    """

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16)
