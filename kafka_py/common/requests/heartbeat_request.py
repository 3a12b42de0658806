"""A member says that it is alive.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/HeartbeatRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class HeartbeatRequest(RequestMessage, key=ApiKeys.HEARTBEAT, latest=4, flexible=4):
    """Group, generation and member.

    Mirrors: org.apache.kafka.common.requests.HeartbeatRequest
    """

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
