"""What senders may ask of a client of the network.

Mirrors: clients/src/main/java/org/apache/kafka/clients/KafkaClient.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.clients.client_request import ClientRequest
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.errors import AuthenticationException
    from kafka_py.common.node import Node
    from kafka_py.common.requests.abstract_request import AbstractRequest


class KafkaClient(ABC):
    """Sends requests to nodes and hands out the responses.

    Mirrors: org.apache.kafka.clients.KafkaClient
    """

    @abstractmethod
    def is_ready(self, node: Node, now: int) -> bool:
        """Whether a request may be sent; does not connect."""

    @abstractmethod
    def ready(self, node: Node, now: int) -> bool:
        """Whether a request may be sent; begins to connect if not."""

    @abstractmethod
    def connection_delay(self, node: Node, now: int) -> int:
        """ms to wait before trying again."""

    @abstractmethod
    def connection_failed(self, node: Node) -> bool:
        """Whether the connection is gone."""

    @abstractmethod
    def authentication_exception(self, node: Node) -> AuthenticationException | None:
        """Why the node refused us."""

    @abstractmethod
    def send(self, request: ClientRequest, now: int) -> None:
        """Send to a ready node."""

    @abstractmethod
    def poll(self, timeout: int, now: int) -> list[ClientResponse]:
        """Do I/O for up to `timeout` ms; the requests that ended."""

    @abstractmethod
    def disconnect(self, node_id: str) -> None:
        """Drop the connection; its requests end as disconnected."""

    @abstractmethod
    def close(self, node_id: str | None = None) -> None:
        """Close one connection, or without an id everything; the requests end silently."""

    @abstractmethod
    def initiate_close(self) -> None:
        """Have whoever waits in poll stop waiting, and nobody wait any more; any thread [2.1.1]."""

    @abstractmethod
    def active(self) -> bool:
        """Whether nobody has begun to close it [2.1.1]."""

    @abstractmethod
    def least_loaded_node(self, now: int) -> Node | None:
        """The node with the fewest requests in flight."""

    @abstractmethod
    def in_flight_request_count(self, node_id: str | None = None) -> int:
        """Requests without an answer, of one node or of all."""

    @abstractmethod
    def has_in_flight_requests(self, node_id: str | None = None) -> bool:
        """Whether there are any."""

    @abstractmethod
    def has_ready_nodes(self) -> bool:
        """Whether some node is ready."""

    @abstractmethod
    def wakeup(self) -> None:
        """Make a poll that sleeps return."""

    @abstractmethod
    def new_client_request(
        self,
        node_id: str,
        request_builder: AbstractRequest.Builder,
        created_time_ms: int,
        expect_response: bool,
        callback: RequestCompletionHandler | None = None,
    ) -> ClientRequest:
        """A request with the next correlation id."""
