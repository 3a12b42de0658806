"""The gauges of one partition.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 1.1.1 (newGauge, removePartitionMetrics)
Read next: cluster/partition.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.cluster.partition import Partition


class PartitionMetrics:
    """Registers what a partition tells of itself under Partition's name, and takes it away again.

    Ours: in 1.1.1 a part of Partition's constructor.
    Thread: whoever makes the partition or deletes it; the gauges are read by any.
    """

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._tags = {"topic": partition.topic, "partition": str(partition.partition_id)}
        self._gauges = {
            "UnderReplicated": lambda: int(partition.is_under_replicated),
            "InSyncReplicasCount": lambda: len(partition.in_sync_replicas) if self._leads else 0,
            "UnderMinIsr": lambda: int(partition.is_under_min_isr),
            "ReplicasCount": lambda: len(partition.assigned_replicas()) if self._leads else 0,
            "LastStableOffsetLag": self._last_stable_offset_lag,
        }

    def register(self) -> None:
        """Register the gauges."""
        for name, value in self._gauges.items():
            self._partition.new_gauge(name, value, self._tags)

    def unregister(self) -> None:
        """Take the gauges away."""
        for name in self._gauges:
            self._partition.remove_metric(name, self._tags)

    @property
    def _leads(self) -> bool:
        return self._partition.leader_replica_if_local is not None

    def _last_stable_offset_lag(self) -> int:
        replica = self._partition.leader_replica_if_local
        if replica is None:
            return 0
        return replica.high_watermark.message_offset - replica.last_stable_offset.message_offset
