"""The API versions of each node that a client talks to.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ApiVersions.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.clients.node_api_versions import NodeApiVersions


class ApiVersions:
    """Node id to NodeApiVersions.

    Mirrors: org.apache.kafka.clients.ApiVersions
    Locks: _lock around each method
    Left out: computeMaxUsableProduceMagic, maxUsableProduceMagic -- only producers ask; a broker produces to nobody
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._node_api_versions: dict[str, NodeApiVersions] = {}

    def update(self, node_id: str, node_api_versions: NodeApiVersions) -> None:
        """Remember a node's versions."""
        with self._lock:
            self._node_api_versions[node_id] = node_api_versions

    def remove(self, node_id: str) -> None:
        """Forget a node: it may come back with another version."""
        with self._lock:
            self._node_api_versions.pop(node_id, None)

    def get(self, node_id: str) -> NodeApiVersions | None:
        """A node's versions, None if they were never asked for."""
        with self._lock:
            return self._node_api_versions.get(node_id)
