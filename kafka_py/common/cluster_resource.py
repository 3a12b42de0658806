"""The cluster as listeners are told about it.

Mirrors: clients/src/main/java/org/apache/kafka/common/ClusterResource.java @ 1.1.1
"""

from __future__ import annotations


class ClusterResource:
    """Holds the id of the cluster.

    Mirrors: org.apache.kafka.common.ClusterResource
    """

    __slots__ = ("_cluster_id",)

    def __init__(self, cluster_id: str | None) -> None:
        """Brokers older than 0.10.1 leave the id None."""
        self._cluster_id = cluster_id

    def cluster_id(self) -> str | None:
        """The 22 characters that name the cluster."""
        return self._cluster_id

    def __str__(self) -> str:
        """The text of Kafka's messages."""
        return f"ClusterResource(clusterId={self._cluster_id})"
