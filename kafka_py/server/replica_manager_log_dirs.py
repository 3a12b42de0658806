"""How ReplicaManager moves partitions from one of its log directories to another (KIP-113).

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (alterReplicaLogDirs, and the part of
         becomeLeaderOrFollower about future replicas)
Read next: server/replica_alter_log_dirs_thread.py, cluster/partition.py (maybe_create_future_replica)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.errors import KafkaStorageException, LogDirNotFoundException, ReplicaNotAvailableException
from kafka_py.common.protocol.errors import Errors
from kafka_py.server.abstract_fetcher_manager import BrokerAndInitialOffset
from kafka_py.server.hosted_partitions import FUTURE_LOCAL_REPLICA_ID, OFFLINE_PARTITION, HostedPartitions
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.utils.concurrent import ReentrantLock


class ReplicaManagerLogDirs(Logging):
    """Begins moves between log directories, gives them up, and goes on with them after a restart.

    A copy is made by a ReplicaAlterLogDirsThread, which also ends the move.

    Thread: request handlers.
    Locks: the ReplicaManager's _replica_state_change_lock around each request as a whole.
    Differs: a future replica begins at its own high watermark after a restart, too (KAFKA-9087); 1.1.1 takes the
        current one's, which may lie beyond the end of the copy. Each LeaderAndIsr puts the copies of its partitions to
        work again, as from 2.5 on (KAFKA-9654), and sees when a move ends just then (KAFKA-9750); in 1.1.1 only the
        first one for a partition does, and a StopReplica without deletion stops a copy for good. A move that has failed
        is tried again when it is asked for again.
    """

    logger_name: ClassVar[str] = "kafka.server.ReplicaManager"

    def __init__(
        self, manager: ReplicaManager, partitions: HostedPartitions, replica_state_change_lock: ReentrantLock
    ) -> None:
        self._manager = manager
        self._partitions = partitions
        self._replica_state_change_lock = replica_state_change_lock
        self._source_broker = BrokerEndPoint(manager.config.broker_id, "localhost", -1)  # nobody connects to it
        self.log_ident = manager.log_ident

    def alter_replica_log_dirs(self, partition_dirs: Mapping[TopicPartition, str]) -> dict[TopicPartition, Errors]:
        """Have each partition moved to a directory (absolute path); an error by partition.

        One that is not here yet will be created there: REPLICA_NOT_AVAILABLE tells that it was only noted.
        """
        result = {}
        with self._replica_state_change_lock:
            for topic_partition, destination_dir in partition_dirs.items():
                try:
                    self._alter_replica_log_dir(topic_partition, destination_dir)
                    result[topic_partition] = Errors.NONE
                except (LogDirNotFoundException, ReplicaNotAvailableException, KafkaStorageException) as e:
                    self.warn("Unable to alter log dirs for %s: %s", topic_partition, e)
                    result[topic_partition] = Errors.for_exception(e)
                except Exception as e:  # noqa: BLE001  one partition's failure must not cost the others their answer
                    self.error("Error while changing replica dir for partition %s", topic_partition, exc=e)
                    result[topic_partition] = Errors.for_exception(e)
        return result

    def _alter_replica_log_dir(self, topic_partition: TopicPartition, destination_dir: str) -> None:
        manager = self._manager
        if not manager.log_manager.is_log_dir_online(destination_dir):
            raise KafkaStorageException(f"Log directory {destination_dir} is offline")
        partition = self._partitions.pool.get(topic_partition)
        if partition is OFFLINE_PARTITION:
            raise self._partitions.offline_error(topic_partition)
        if partition is not None and partition.future_replica_dir_changed(destination_dir):
            manager.replica_alter_log_dirs_manager.remove_fetcher_for_partitions([topic_partition])
            partition.remove_future_local_replica()
        manager.log_manager.maybe_update_preferred_log_dir(topic_partition, destination_dir)
        self._partitions.get_replica_or_exception(topic_partition)
        assert partition is not None, "a replica has a partition"
        # While some directory is offline no future log is made: there might be one in it.
        if partition.maybe_create_future_replica(
            destination_dir
        ) or manager.replica_alter_log_dirs_manager.failed_partitions.contains(topic_partition):
            self._start_moving([topic_partition])

    def maybe_add_log_dir_fetchers(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Go on with the moves of partitions that have a future log and a current one. Caller holds the lock."""
        moving = [tp for tp in topic_partitions if self._is_moving(tp)]
        if moving and not self._manager.is_shutting_down.get():
            # afterwards no move can end before it is begun anew
            self._manager.replica_alter_log_dirs_manager.remove_fetcher_for_partitions(moving)
            self._start_moving([tp for tp in moving if self._is_moving(tp)])

    def _is_moving(self, topic_partition: TopicPartition) -> bool:
        return (
            self._manager.log_manager.get_log(topic_partition, is_future=True) is not None
            and self._partitions.get_replica(topic_partition) is not None
        )

    def _start_moving(self, topic_partitions: Iterable[TopicPartition]) -> None:
        targets = {}
        for topic_partition in topic_partitions:
            partition = self._manager.non_offline_partition(topic_partition)
            if partition is not None:
                try:
                    future_replica = partition.get_or_create_replica(FUTURE_LOCAL_REPLICA_ID)
                except KafkaStorageException as e:  # its directory fails just now
                    self.error("Cannot go on with moving %s", topic_partition, exc=e)
                    continue
                self._manager.log_manager.abort_and_pause_cleaning(topic_partition)
                offset = future_replica.high_watermark.message_offset
                targets[topic_partition] = BrokerAndInitialOffset(self._source_broker, offset)
        self._manager.replica_alter_log_dirs_manager.add_fetcher_for_partitions(targets)
