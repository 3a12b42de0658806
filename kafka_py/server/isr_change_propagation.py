"""How the controller learns of the ISRs that this broker has changed.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (recordIsrChange, maybePropagateIsrChanges; since
         2.7 a class of its own, in 3.7.1 ZkAlterPartitionManager)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class IsrChangePropagation:
    """Gathers ISR changes, and tells of them in ZooKeeper.

    Ours: what is left of 3.7.1's ZkAlterPartitionManager while Partition writes ISRs itself.
    Thread: any (record_isr_change); scheduler.
    Locks: _isr_change_lock. ZooKeeper is written under it, as in Kafka.
    """

    BLACK_OUT_MS: ClassVar[int] = 5_000
    INTERVAL_MS: ClassVar[int] = 60_000

    def __init__(self, time: Time, zk_client: KafkaZkClient) -> None:
        self._time = time
        self._zk_client = zk_client
        self._isr_change_lock = ReentrantLock()
        self._isr_change_set: set[TopicPartition] = set()  # guarded by: _isr_change_lock
        self._last_isr_change_ms = time.milliseconds()  # guarded by: _isr_change_lock
        self._last_isr_propagation_ms = time.milliseconds()  # guarded by: _isr_change_lock

    def record_isr_change(self, topic_partition: TopicPartition) -> None:
        """Remember a partition whose ISR this broker changed: the controller has to be told."""
        with self._isr_change_lock:
            self._isr_change_set.add(topic_partition)
            self._last_isr_change_ms = self._time.milliseconds()

    def maybe_propagate_isr_changes(self) -> None:
        """Tell the controller of ISR changes, when things have been quiet for 5 s or nothing was told for 60 s.

        A single change is passed on within seconds, a storm of changes does not become a storm of notifications.
        """
        now = self._time.milliseconds()
        with self._isr_change_lock:
            if self._isr_change_set and (
                self._last_isr_change_ms + self.BLACK_OUT_MS < now
                or self._last_isr_propagation_ms + self.INTERVAL_MS < now
            ):
                self._zk_client.propagate_isr_changes(self._isr_change_set)
                self._isr_change_set.clear()
                self._last_isr_propagation_ms = now
