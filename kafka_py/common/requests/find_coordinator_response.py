"""Where the coordinator is.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FindCoordinatorResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorCoded, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class FindCoordinatorResponse(ResponseMessage, ErrorCoded, key=ApiKeys.FIND_COORDINATOR, latest=3, flexible=3):
    """The coordinator's address, or why it is not known.

    Mirrors: org.apache.kafka.common.requests.FindCoordinatorResponse
    """

    class Coordinator(Message, bare=True):
        """The broker that it is, -1 and nowhere if there is none."""

        node_id: int = field(INT32)
        host: str = field(STRING)
        port: int = field(INT32)

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, since=1, default=None)
    coordinator: Coordinator = field(Coordinator)

    def __init__(self, error: Errors, node: Node, throttle_time_ms: int = 0, error_message: str | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error.code
        self.error_message = error_message
        self.coordinator = self.Coordinator(node_id=node.id, host=node.host, port=node.port)

    def node(self) -> Node:
        """The coordinator, an empty node if there is none."""
        return Node(self.coordinator.node_id, self.coordinator.host, self.coordinator.port)
