"""The partitions that are on this broker, and how to find one of them, its replicas or its leader.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (allPartitions and its look-ups; HostedPartition
         since 2.4)
Read next: cluster/partition.py, server/replica_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.cluster.partition import Partition
from kafka_py.common.errors import (
    KafkaStorageException,
    NotLeaderForPartitionException,
    ReplicaNotAvailableException,
    UnknownTopicOrPartitionException,
)
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafka_py.cluster.replica import Replica
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.log.log import Log

FUTURE_LOCAL_REPLICA_ID = -3  # Request.FutureLocalReplicaId

# stands for every partition on a failed log directory; compared by identity
OFFLINE_PARTITION = Partition("", -1, None, None, is_offline=True)


class HostedPartitions:
    """The registry of partitions behind ReplicaManager: online, offline or unknown.

    Ours: in 1.1.1 allPartitions and its look-ups are members of ReplicaManager.
    Thread: any.
    """

    def __init__(self, local_broker_id: int, new_partition: Callable[[TopicPartition], Partition]) -> None:
        self._local_broker_id = local_broker_id
        self.pool: Pool[TopicPartition, Partition] = Pool(new_partition)  # atomic

    def non_offline_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition unless it is unknown or offline."""
        partition = self.pool.get(topic_partition)
        return None if partition is OFFLINE_PARTITION else partition

    def non_offline_partitions(self) -> Iterator[Partition]:
        """Those on live log directories."""
        for partition in list(self.pool.values):
            if partition is not OFFLINE_PARTITION:
                yield partition

    def offline_partitions(self) -> Iterator[Partition]:
        """As many as there are on failed log directories: OFFLINE_PARTITION each time."""
        for partition in list(self.pool.values):
            if partition is OFFLINE_PARTITION:
                yield partition

    def leader_partitions(self) -> Iterator[Partition]:
        """Those that this broker leads."""
        for partition in self.non_offline_partitions():
            if partition.leader_replica_if_local is not None:
                yield partition

    def get_replica_or_exception(self, topic_partition: TopicPartition, broker_id: int | None = None) -> Replica:
        """The replica (default: the local one); KafkaStorageException if offline, else ReplicaNotAvailableException."""
        wanted = self._local_broker_id if broker_id is None else broker_id
        partition = self.pool.get(topic_partition)
        if partition is OFFLINE_PARTITION:
            raise KafkaStorageException(
                f"Replica {wanted} is in an offline log directory for partition {topic_partition}"
            )
        replica = None if partition is None else partition.get_replica(wanted)
        if replica is None:
            raise ReplicaNotAvailableException(f"Replica {wanted} is not available for partition {topic_partition}")
        return replica

    def get_leader_replica_if_local(self, topic_partition: TopicPartition) -> Replica:
        """The local replica of a partition led here; see get_partition_and_leader_replica_if_local for the errors."""
        return self.get_partition_and_leader_replica_if_local(topic_partition)[1]

    def get_partition_and_leader_replica_if_local(self, topic_partition: TopicPartition) -> tuple[Partition, Replica]:
        """Partition and local replica, if this broker leads it.

        UnknownTopicOrPartitionException, KafkaStorageException when offline, NotLeaderForPartitionException.
        """
        partition = self.pool.get(topic_partition)
        if partition is None:
            raise UnknownTopicOrPartitionException(
                f"Partition {topic_partition} doesn't exist on {self._local_broker_id}"
            )
        if partition is OFFLINE_PARTITION:
            raise self.offline_error(topic_partition)
        leader_replica = partition.leader_replica_if_local
        if leader_replica is None:
            raise NotLeaderForPartitionException(
                f"Leader not local for partition {topic_partition} on broker {self._local_broker_id}"
            )
        return partition, leader_replica

    def offline_error(self, topic_partition: TopicPartition) -> KafkaStorageException:
        """What a request for an offline partition is answered with."""
        return KafkaStorageException(
            f"Partition {topic_partition} is in an offline log directory on broker {self._local_broker_id}"
        )

    def get_replica(self, topic_partition: TopicPartition, replica_id: int | None = None) -> Replica | None:
        """The replica (default: the local one) of a partition that is not offline, or None."""
        partition = self.non_offline_partition(topic_partition)
        return None if partition is None else partition.get_replica(replica_id)

    def get_log_dir(self, topic_partition: TopicPartition) -> str | None:
        """Absolute path of the log directory that holds the partition."""
        replica = self.get_replica(topic_partition)
        return None if replica is None or replica.log is None else replica.log.parent_dir

    def local_replicas_with_logs(self) -> Iterator[tuple[Replica, Log]]:
        """The local replicas and future replicas of all live log directories."""
        for partition in self.non_offline_partitions():
            for replica_id in (self._local_broker_id, FUTURE_LOCAL_REPLICA_ID):
                replica = partition.get_replica(replica_id)
                log = None if replica is None else replica.log
                if replica is not None and log is not None:
                    yield replica, log
