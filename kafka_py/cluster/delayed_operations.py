"""The requests that wait for something to happen to one partition.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 2.5.1 (DelayedOperations)
Read next: server/delayed_operation.py, cluster/partition.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.replica_manager import ReplicaManager


class DelayedOperations:
    """Looks at the Fetch, Produce and DeleteRecords requests that wait for one partition.

    Mirrors: core/src/main/scala/kafka/cluster/Partition.scala/DelayedOperations @ 2.5.1
    Thread: those of Partition.
    Locks: of Partition at most _append_lock may be held, never leader_isr_update_lock: who is answered may take others.
    Differs: asks the ReplicaManager, whose purgatories they are, and only if something waits; whether something does
        is asked of the partition's own watch list and not of the timer.
    """

    def __init__(self, topic_partition: TopicPartition, replica_manager: ReplicaManager) -> None:
        self._key = TopicPartitionOperationKey(topic_partition.topic, topic_partition.partition)
        self._manager = replica_manager

    def check_and_complete_all(self) -> None:
        """Look at all of them.

        Mostly nothing waits; the managers' debug line about that is written only if debug lines are.
        """
        manager = self._manager
        key = self._key
        debug = manager.logger.debug_enabled
        if debug or manager.delayed_fetch_purgatory.watches(key):
            manager.try_complete_delayed_fetch(key)
        if debug or manager.delayed_produce_purgatory.watches(key):
            manager.try_complete_delayed_produce(key)
        if debug or manager.delayed_delete_records_purgatory.watches(key):
            manager.try_complete_delayed_delete_records(key)

    def check_and_complete_fetch(self) -> None:
        """Look at the Fetch requests."""
        self._manager.try_complete_delayed_fetch(self._key)

    @property
    def has_delayed_delete(self) -> bool:
        """Whether a DeleteRecords waits; it is in the watch list before it looks a last time (numDelayedDelete)."""
        return self._manager.delayed_delete_records_purgatory.watches(self._key)
