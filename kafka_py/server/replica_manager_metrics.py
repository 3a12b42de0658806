"""The gauges of ReplicaManager.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (newGauge, removeMetrics)
Read next: server/replica_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.server.hosted_partitions import HostedPartitions
    from kafka_py.server.replica_manager import ReplicaManager


class ReplicaManagerMetrics:
    """Registers, under ReplicaManager's name, how many partitions there are of which kind.

    Ours: in 1.1.1 a part of ReplicaManager's constructor.
    Thread: whoever starts or stops the broker; the gauges are read by any.
    """

    def __init__(self, manager: ReplicaManager, partitions: HostedPartitions) -> None:
        self._manager = manager
        gauges = {
            "LeaderCount": lambda: sum(1 for _ in partitions.leader_partitions()),
            "PartitionCount": lambda: partitions.pool.size,
            "OfflineReplicaCount": lambda: sum(1 for _ in partitions.offline_partitions()),
            "UnderReplicatedPartitions": lambda: manager.under_replicated_partition_count,
            "UnderMinIsrPartitionCount": lambda: sum(p.is_under_min_isr for p in partitions.leader_partitions()),
        }
        self.gauges = {name: manager.new_gauge(name, value) for name, value in gauges.items()}

    def unregister(self) -> None:
        """Take the gauges away."""
        for name in self.gauges:
            self._manager.remove_metric(name)
