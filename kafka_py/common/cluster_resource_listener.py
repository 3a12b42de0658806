"""Whoever wants to know the cluster's id.

Mirrors: clients/src/main/java/org/apache/kafka/common/ClusterResourceListener.java @ 1.1.1
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kafka_py.common.cluster_resource import ClusterResource


@runtime_checkable
class ClusterResourceListener(Protocol):
    """Implemented by reporters and interceptors that label what they report.

    Mirrors: org.apache.kafka.common.ClusterResourceListener
    """

    def on_update(self, cluster_resource: ClusterResource) -> None:
        """Learn the cluster's id; called once it is known."""
