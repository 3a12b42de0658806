"""What ReplicaManager knows: the partitions of this broker, their checkpoints and the ISR changes to be told.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (look-ups, gauges, periodic tasks)
Read next: server/replica_manager_leadership.py, server/replica_manager.py
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, ClassVar, cast

from kafka_py.cluster.partition import Partition
from kafka_py.common.errors import (
    KafkaStorageException,
    NotLeaderForPartitionException,
    ReplicaNotAvailableException,
    UnknownTopicOrPartitionException,
)
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.utils.concurrent import AtomicBoolean, ReentrantLock
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.cluster.replica import Replica
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.log.log_manager import LogManager
    from kafka_py.server.delayed_fetch import DelayedFetch
    from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
    from kafka_py.server.delayed_produce import DelayedProduce
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.kafka_request_handler import BrokerTopicStats
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.quota_factory import QuotaFactory
    from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicationQuotaManager
    from kafka_py.utils.kafka_scheduler import Scheduler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

INITIAL_CONTROLLER_EPOCH = 1  # KafkaController.InitialControllerEpoch


class ReplicaManagerState(KafkaMetricsGroup):
    """The registry of partitions behind ReplicaManager, with its gauges, checkpoints and periodic tasks."""

    logger_name: ClassVar[str] = "kafka.server.ReplicaManager"

    HIGH_WATERMARK_FILENAME: ClassVar[str] = "replication-offset-checkpoint"
    ISR_CHANGE_PROPAGATION_BLACK_OUT: ClassVar[int] = 5_000
    ISR_CHANGE_PROPAGATION_INTERVAL: ClassVar[int] = 60_000
    # stands for every partition on a failed log directory; compared by identity
    OFFLINE_PARTITION: ClassVar[Partition] = Partition("", -1, None, None, is_offline=True)

    def __init__(
        self,
        config: KafkaConfig,
        metrics: Metrics,
        time: Time,
        zk_client: KafkaZkClient,
        scheduler: Scheduler,
        log_manager: LogManager,
        is_shutting_down: AtomicBoolean,
        quota_managers: QuotaFactory.QuotaManagers,
        broker_topic_stats: BrokerTopicStats,
        metadata_cache: MetadataCache,
        log_dir_failure_channel: LogDirFailureChannel,
        thread_name_prefix: str | None = None,
        *,
        delayed_produce_purgatory: DelayedOperationPurgatory[DelayedProduce] | None = None,
        delayed_fetch_purgatory: DelayedOperationPurgatory[DelayedFetch] | None = None,
        delayed_delete_records_purgatory: DelayedOperationPurgatory[DelayedOperation] | None = None,
    ) -> None:
        """Takes the three purgatories from tests; makes its own, each with a reaper thread, otherwise."""
        self.config = config
        self._local_broker_id = config.broker_id
        self.local_broker_id = config.broker_id
        self.log_ident = f"[ReplicaManager broker={config.broker_id}] "
        self._time = time
        self.zk_client = zk_client
        self._scheduler = scheduler
        self.log_manager = log_manager
        self.is_shutting_down = is_shutting_down  # atomic
        self._quota_managers = quota_managers
        self.broker_topic_stats = broker_topic_stats
        self.metadata_cache = metadata_cache
        self._log_dir_failure_channel = log_dir_failure_channel
        self.delayed_produce_purgatory: DelayedOperationPurgatory[DelayedProduce] = (
            delayed_produce_purgatory
            if delayed_produce_purgatory is not None
            else DelayedOperationPurgatory(
                "Produce",
                broker_id=config.broker_id,
                purge_interval=config.producer_purgatory_purge_interval_requests,
            )
        )
        self.delayed_fetch_purgatory: DelayedOperationPurgatory[DelayedFetch] = (
            delayed_fetch_purgatory
            if delayed_fetch_purgatory is not None
            else DelayedOperationPurgatory(
                "Fetch",
                broker_id=config.broker_id,
                purge_interval=config.fetch_purgatory_purge_interval_requests,
            )
        )
        self.delayed_delete_records_purgatory: DelayedOperationPurgatory[DelayedOperation] = (
            delayed_delete_records_purgatory
            if delayed_delete_records_purgatory is not None
            else DelayedOperationPurgatory(
                "DeleteRecords",
                broker_id=config.broker_id,
                purge_interval=config.delete_records_purgatory_purge_interval_requests,
            )
        )
        # epoch of the controller that last changed a leader here
        self.controller_epoch = INITIAL_CONTROLLER_EPOCH - 1  # volatile: writer under _replica_state_change_lock
        this = cast("ReplicaManager", self)
        self._all_partitions: Pool[TopicPartition, Partition] = Pool(
            lambda tp: Partition(tp.topic, tp.partition, time, this)
        )  # atomic
        self._replica_state_change_lock = ReentrantLock()
        self.replica_fetcher_manager = self.create_replica_fetcher_manager(
            metrics, time, thread_name_prefix, quota_managers.follower
        )
        self._high_watermark_check_point_thread_started = AtomicBoolean(False)  # atomic
        # absolute path of a live log directory -> its checkpoint
        self.high_watermark_checkpoints = {
            directory: OffsetCheckpointFile(
                os.path.join(directory, self.HIGH_WATERMARK_FILENAME), log_dir_failure_channel
            )
            for directory in (os.path.abspath(os.fspath(d)) for d in log_manager.live_log_dirs)
        }  # volatile: LogDirFailureHandler
        self._hw_thread_initialized = False  # guarded by: _replica_state_change_lock
        self._state_change_logger = StateChangeLogger(config.broker_id, in_controller_context=False)
        self._isr_change_lock = ReentrantLock()
        self._isr_change_set: set[TopicPartition] = set()  # guarded by: _isr_change_lock
        self._last_isr_change_ms = time.milliseconds()  # guarded by: _isr_change_lock
        self._last_isr_propagation_ms = time.milliseconds()  # guarded by: _isr_change_lock
        self._new_metrics()

    def _new_metrics(self) -> None:
        self.leader_count = self.new_gauge("LeaderCount", lambda: sum(1 for _ in self._leader_partitions_iterator))
        self.partition_count = self.new_gauge("PartitionCount", lambda: self._all_partitions.size)
        self.offline_replica_count = self.new_gauge(
            "OfflineReplicaCount", lambda: sum(1 for _ in self._offline_partitions_iterator)
        )
        self.under_replicated_partitions = self.new_gauge(
            "UnderReplicatedPartitions", lambda: self.under_replicated_partition_count
        )
        self.under_min_isr_partition_count = self.new_gauge(
            "UnderMinIsrPartitionCount", lambda: sum(p.is_under_min_isr for p in self._leader_partitions_iterator)
        )
        self.isr_expand_rate = self.new_meter("IsrExpandsPerSec", "expands")
        self.isr_shrink_rate = self.new_meter("IsrShrinksPerSec", "shrinks")
        self.failed_isr_updates_rate = self.new_meter("FailedIsrUpdatesPerSec", "failedUpdates")

    def remove_metrics(self) -> None:
        """Unregister the gauges."""
        for name in (
            "LeaderCount",
            "PartitionCount",
            "OfflineReplicaCount",
            "UnderReplicatedPartitions",
            "UnderMinIsrPartitionCount",
        ):
            self.remove_metric(name)

    @property
    def under_replicated_partition_count(self) -> int:
        """Partitions led here whose ISR is smaller than their assignment."""
        return sum(p.is_under_replicated for p in self._leader_partitions_iterator)

    def create_replica_fetcher_manager(
        self, metrics: Metrics, time: Time, thread_name_prefix: str | None, quota_manager: ReplicationQuotaManager
    ) -> ReplicaFetcherManager:
        """The manager of the threads that fetch for followers; a seam for tests."""
        from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager

        return ReplicaFetcherManager(
            self.config, cast("ReplicaManager", self), metrics, time, thread_name_prefix, quota_manager
        )

    # ---- partitions and replicas

    def get_or_create_partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition, created empty if this broker did not know it."""
        return self._all_partitions.get_and_maybe_put(topic_partition)

    def get_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition, OFFLINE_PARTITION if its log directory failed, or None."""
        return self._all_partitions.get(topic_partition)

    def non_offline_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition unless it is unknown or offline."""
        partition = self._all_partitions.get(topic_partition)
        return None if partition is self.OFFLINE_PARTITION else partition

    @property
    def _non_offline_partitions_iterator(self) -> Iterator[Partition]:
        for partition in list(self._all_partitions.values):
            if partition is not self.OFFLINE_PARTITION:
                yield partition

    @property
    def _offline_partitions_iterator(self) -> Iterator[Partition]:
        for partition in list(self._all_partitions.values):
            if partition is self.OFFLINE_PARTITION:
                yield partition

    @property
    def _leader_partitions_iterator(self) -> Iterator[Partition]:
        for partition in self._non_offline_partitions_iterator:
            if partition.leader_replica_if_local is not None:
                yield partition

    def get_replica_or_exception(self, topic_partition: TopicPartition, broker_id: int | None = None) -> Replica:
        """The replica (default: the local one); KafkaStorageException if offline, else ReplicaNotAvailableException."""
        wanted = self._local_broker_id if broker_id is None else broker_id
        partition = self._all_partitions.get(topic_partition)
        if partition is self.OFFLINE_PARTITION:
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
        partition = self._all_partitions.get(topic_partition)
        if partition is None:
            raise UnknownTopicOrPartitionException(
                f"Partition {topic_partition} doesn't exist on {self._local_broker_id}"
            )
        if partition is self.OFFLINE_PARTITION:
            raise self._offline(topic_partition)
        leader_replica = partition.leader_replica_if_local
        if leader_replica is None:
            raise NotLeaderForPartitionException(
                f"Leader not local for partition {topic_partition} on broker {self._local_broker_id}"
            )
        return partition, leader_replica

    def _offline(self, topic_partition: TopicPartition) -> KafkaStorageException:
        return KafkaStorageException(
            f"Partition {topic_partition} is in an offline log directory on broker {self._local_broker_id}"
        )

    def get_replica(self, topic_partition: TopicPartition, replica_id: int | None = None) -> Replica | None:
        """The replica (default: the local one) of a partition that is not offline, or None."""
        partition = self.non_offline_partition(topic_partition)
        return None if partition is None else partition.get_replica(replica_id)

    def get_log(self, topic_partition: TopicPartition) -> Log | None:
        """The partition's log, whoever leads it."""
        return self.log_manager.get_log(topic_partition)

    def get_log_dir(self, topic_partition: TopicPartition) -> str | None:
        """Absolute path of the log directory that holds the partition."""
        replica = self.get_replica(topic_partition)
        return None if replica is None or replica.log is None else parent_dir(replica.log)

    def get_magic(self, topic_partition: TopicPartition) -> int | None:
        """Newest record format the topic may be written in (its message.format.version), None without a log."""
        replica = self.get_replica(topic_partition)
        if replica is None or replica.log is None:
            return None
        return replica.log.config.message_format_version.message_format_version.value

    def get_log_end_offset(self, topic_partition: TopicPartition) -> int | None:
        """Log end offset of a partition led here, else None."""
        partition = self.non_offline_partition(topic_partition)
        replica = None if partition is None else partition.leader_replica_if_local
        return None if replica is None else replica.log_end_offset.message_offset

    def mark_partition_offline(self, topic_partition: TopicPartition) -> None:
        """Treat the partition as if its log directory had failed. For tests."""
        self._all_partitions.put(topic_partition, self.OFFLINE_PARTITION)

    # ---- delayed operations

    def try_complete_delayed_produce(self, key: TopicPartitionOperationKey) -> None:
        """Look at the Produces that wait for `key`: its high watermark moved or a follower fetched."""
        completed = self.delayed_produce_purgatory.check_and_complete(key)
        if self.logger.debug_enabled:
            self.debug("Request key %s unblocked %d producer requests.", key.key_label, completed)

    def try_complete_delayed_fetch(self, key: TopicPartitionOperationKey) -> None:
        """Look at the Fetches that wait for `key`: its high watermark moved or (for followers) its log grew."""
        completed = self.delayed_fetch_purgatory.check_and_complete(key)
        if self.logger.debug_enabled:
            self.debug("Request key %s unblocked %d fetch requests.", key.key_label, completed)

    def try_complete_delayed_delete_records(self, key: TopicPartitionOperationKey) -> None:
        """Look at the DeleteRecords that wait for `key`: its low watermark moved."""
        completed = self.delayed_delete_records_purgatory.check_and_complete(key)
        if self.logger.debug_enabled:
            self.debug("Request key %s unblocked %d DeleteRecordsRequest.", key.key_label, completed)

    # ---- periodic tasks

    def start_high_water_marks_check_point_thread(self) -> None:
        """Schedule checkpoint_high_watermarks, once."""
        if self._high_watermark_check_point_thread_started.compare_and_set(False, True):
            self._scheduler.schedule(
                "highwatermark-checkpoint",
                self.checkpoint_high_watermarks,
                period=self.config.replica_high_watermark_checkpoint_interval_ms,
            )

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks of all local replicas, one file per log directory."""
        for directory in {parent_dir(log) for _, log in self._local_replicas_with_logs()}:
            checkpoint = self.high_watermark_checkpoints.get(directory)
            try:
                if checkpoint is not None:
                    checkpoint.write_current(functools.partial(self._high_watermarks_in, directory))
            except KafkaStorageException as e:
                self.error("Error while writing to highwatermark file in directory %s", directory, exc=e)

    def _high_watermarks_in(self, directory: str) -> dict[TopicPartition, int]:
        return {
            replica.topic_partition: replica.high_watermark.message_offset
            for replica, log in self._local_replicas_with_logs()
            if parent_dir(log) == directory
        }

    def _local_replicas_with_logs(self) -> Iterator[tuple[Replica, Log]]:
        for partition in self._non_offline_partitions_iterator:
            for replica_id in (self._local_broker_id, FUTURE_LOCAL_REPLICA_ID):
                replica = partition.get_replica(replica_id)
                log = None if replica is None else replica.log
                if replica is not None and log is not None:
                    yield replica, log

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
                self._last_isr_change_ms + self.ISR_CHANGE_PROPAGATION_BLACK_OUT < now
                or self._last_isr_propagation_ms + self.ISR_CHANGE_PROPAGATION_INTERVAL < now
            ):
                self.zk_client.propagate_isr_changes(self._isr_change_set)
                self._isr_change_set.clear()
                self._last_isr_propagation_ms = now

    def _maybe_shrink_isr(self) -> None:
        self.trace("Evaluating ISR list of partitions to see which replicas can be removed from the ISR")
        for partition in self._non_offline_partitions_iterator:
            partition.maybe_shrink_isr(self.config.replica_lag_time_max_ms)


FUTURE_LOCAL_REPLICA_ID = -3  # Request.FutureLocalReplicaId


def parent_dir(log: Log) -> str:
    """Log directory (absolute path) in which a log's own directory lies."""
    return str(log.dir.parent)
