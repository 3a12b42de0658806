"""Who keeps the list of nodes fresh for a NetworkClient.

Mirrors: clients/src/main/java/org/apache/kafka/clients/MetadataUpdater.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.errors import AuthenticationException
    from kafka_py.common.node import Node
    from kafka_py.common.requests.metadata_response import MetadataResponse
    from kafka_py.common.requests.request_header import RequestHeader


class MetadataUpdater(ABC):
    """Knows the nodes, and asks for them anew when it is time.

    Mirrors: org.apache.kafka.clients.MetadataUpdater
    """

    @abstractmethod
    def fetch_nodes(self) -> list[Node]:
        """The known nodes; does not block."""

    @abstractmethod
    def is_update_due(self, now: int) -> bool:
        """Whether an update is to be sent before anything else."""

    @abstractmethod
    def maybe_update(self, now: int) -> int:
        """Start an update if it is time; ms until the next one can be."""

    @abstractmethod
    def handle_disconnection(self, destination: str) -> None:
        """The node that was asked is gone."""

    @abstractmethod
    def handle_authentication_failure(self, exception: AuthenticationException) -> None:
        """A node refused us."""

    @abstractmethod
    def handle_completed_metadata_response(
        self, request_header: RequestHeader, now: int, metadata_response: MetadataResponse
    ) -> None:
        """The answer is there."""

    @abstractmethod
    def request_update(self) -> None:
        """Make an update due."""
