"""A broker asks the controller to move its leaderships away.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ControlledShutdownRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT32, INT64
from kafka_py.common.requests.request_message import RequestMessage


class ControlledShutdownRequest(RequestMessage, key=ApiKeys.CONTROLLED_SHUTDOWN, latest=3, flexible=3):
    """The id of the broker that is about to stop.

    Mirrors: org.apache.kafka.common.requests.ControlledShutdownRequest
    """

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64, "Of the life of the broker that stops, -1 if it does not say", since=2, default=-1)
