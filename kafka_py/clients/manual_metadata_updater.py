"""A node list that someone else keeps: a broker knows its peers from ZooKeeper.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ManualMetadataUpdater.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.clients.metadata_updater import MetadataUpdater
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.errors import AuthenticationException
    from kafka_py.common.node import Node
    from kafka_py.common.requests.metadata_response import MetadataResponse
    from kafka_py.common.requests.request_header import RequestHeader


class ManualMetadataUpdater(Logging, MetadataUpdater):
    """Never asks for metadata; set_nodes tells it the nodes.

    Mirrors: org.apache.kafka.clients.ManualMetadataUpdater
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes = list(nodes)  # thread: of its owner

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Replace the nodes."""
        self._nodes = list(nodes)

    def fetch_nodes(self) -> list[Node]:
        """A copy of the nodes."""
        return list(self._nodes)

    def is_update_due(self, now: int) -> bool:
        """Never."""
        return False

    def maybe_update(self, now: int) -> int:
        """Never: LONG_MAX."""
        return LONG_MAX

    def handle_disconnection(self, destination: str) -> None:
        """Nothing is asked, so nothing is lost."""
        return

    def handle_authentication_failure(self, exception: AuthenticationException) -> None:
        """Log it: the broker itself goes on, and the connection's owner finds out by itself."""
        self.debug("An authentication error occurred in broker-to-broker communication.", exc=exception)

    def handle_completed_metadata_response(
        self, request_header: RequestHeader, now: int, metadata_response: MetadataResponse
    ) -> None:
        """Nothing is asked, so an answer is of no use."""
        return

    def request_update(self) -> None:
        """Nothing is asked."""
        return
