"""A broker asks the controller to move its leaderships away.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ControlledShutdownRequest.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.request_message import RequestMessage


class ControlledShutdownRequest(RequestMessage, key=ApiKeys.CONTROLLED_SHUTDOWN, latest=1):
    """The id of the broker that is about to stop.

    Mirrors: org.apache.kafka.common.requests.ControlledShutdownRequest
    """

    broker_id: int = field(INT32)
