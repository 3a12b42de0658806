"""Appends and fetches of all partitions on this broker, and the requests that wait for replication.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1
Posts:   why-fast-and-available (whole broker), start-up-network-threads (where it is built),
         reading-writing-configuring and the-produce-path (appendRecords, acks, purgatory)
Read next: cluster/partition.py, server/delayed_produce.py, server/delayed_fetch.py;
           hosted_partitions.py, replica_manager_leadership.py, replica_manager_admin.py (its parts)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias

from kafka_py.api.api_version import KAFKA_1_0_IV0
from kafka_py.cluster.partition import Partition
from kafka_py.common.errors import (
    CorruptRecordException,
    FencedLeaderEpochException,
    InvalidTimestampException,
    InvalidTopicException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    OffsetOutOfRangeException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    ReplicaNotAvailableException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.internals.topic import Topic
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.delayed_fetch import DelayedFetch, FetchPartitionStatus
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.server.delayed_produce import DelayedProduce, ProduceMetadata, ProducePartitionStatus
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME, HighWatermarkCheckpoints
from kafka_py.server.hosted_partitions import OFFLINE_PARTITION, HostedPartitions
from kafka_py.server.isr_change_propagation import IsrChangePropagation
from kafka_py.server.log_dir_failure_handler import LogDirFailureHandler
from kafka_py.server.log_read_result import FetchPartitionData, LogAppendResult, LogReadResult
from kafka_py.server.replica_manager_admin import LogDeleteRecordsResult, ReplicaManagerAdmin
from kafka_py.server.replica_manager_leadership import ReplicaManagerLeadership
from kafka_py.server.replica_manager_metrics import ReplicaManagerMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kafka_py.cluster.replica import Replica
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
    from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
    from kafka_py.common.requests.fetch_request import FetchRequest
    from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
    from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
    from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
    from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.log.log_manager import LogManager
    from kafka_py.log.verification_guard import VerificationGuard
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
    from kafka_py.server.fetch_params import FetchParams
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.quota_factory import QuotaFactory
    from kafka_py.server.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
    from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager
    from kafka_py.server.replica_manager_admin import DeleteRecordsCallback
    from kafka_py.server.replication_quota_manager import ReplicaQuota, ReplicationQuotaManager
    from kafka_py.server.transaction_verification import Guards, Refused, TransactionVerification
    from kafka_py.utils.concurrent import AtomicBoolean, ReentrantLock
    from kafka_py.utils.kafka_scheduler import Scheduler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

    ProduceCallback = Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object]
    ProcessingStatsCallback = Callable[[dict[TopicPartition, RecordsProcessingStats]], object]
    FetchCallback = Callable[[list[tuple[TopicPartition, FetchPartitionData]]], object]

__all__ = ["FetchPartitionData", "LogAppendResult", "LogDeleteRecordsResult", "LogReadResult", "ReplicaManager"]

_NONE = Errors.NONE
_NOTHING_REFUSED: Refused = {}
_VALID_ACKS = (-1, 0, 1)
_OK_OR_WAIT = (True, _NONE)
# errors a client can cause or has to live with: no failed-request metric, no error line
_KNOWN_APPEND_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderForPartitionException,
    RecordTooLargeException,
    RecordBatchTooLargeException,
    CorruptRecordException,
    KafkaStorageException,
    InvalidTimestampException,
)
_KNOWN_READ_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderForPartitionException,
    ReplicaNotAvailableException,
    KafkaStorageException,
    OffsetOutOfRangeException,
    FencedLeaderEpochException,
    UnknownLeaderEpochException,
)

_LogDirFailureHandler = LogDirFailureHandler


class ReplicaManager(KafkaMetricsGroup):
    """Owns the partitions of this broker: append, fetch, leadership, ISR upkeep, high watermark checkpoints.

    Mirrors: kafka.server.ReplicaManager
    Thread: request handlers; scheduler (ISR expiration and propagation, checkpoints); LogDirFailureHandler
    Locks: none of its own on the way of Produce and Fetch; see ReplicaManagerLeadership and IsrChangePropagation
    Differs: a Produce with acks=-1 whose records are replicated when it looks (always so with one replica) is
        answered without a DelayedProduce: its first try_complete would do the same. What does not read or write
        records is done by objects that it owns: HostedPartitions, HighWatermarkCheckpoints, IsrChangePropagation,
        ReplicaManagerLeadership and ReplicaManagerAdmin.
    """

    LogDirFailureHandler: TypeAlias = _LogDirFailureHandler

    HIGH_WATERMARK_FILENAME: ClassVar[str] = HIGH_WATERMARK_FILENAME
    ISR_CHANGE_PROPAGATION_BLACK_OUT: ClassVar[int] = IsrChangePropagation.BLACK_OUT_MS
    ISR_CHANGE_PROPAGATION_INTERVAL: ClassVar[int] = IsrChangePropagation.INTERVAL_MS
    OFFLINE_PARTITION: ClassVar[Partition] = OFFLINE_PARTITION

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
                time=time,
            )
        )
        self.delayed_fetch_purgatory: DelayedOperationPurgatory[DelayedFetch] = (
            delayed_fetch_purgatory
            if delayed_fetch_purgatory is not None
            else DelayedOperationPurgatory(
                "Fetch",
                broker_id=config.broker_id,
                purge_interval=config.fetch_purgatory_purge_interval_requests,
                time=time,
            )
        )
        self.delayed_delete_records_purgatory: DelayedOperationPurgatory[DelayedOperation] = (
            delayed_delete_records_purgatory
            if delayed_delete_records_purgatory is not None
            else DelayedOperationPurgatory(
                "DeleteRecords",
                broker_id=config.broker_id,
                purge_interval=config.delete_records_purgatory_purge_interval_requests,
                time=time,
            )
        )
        self._partitions = HostedPartitions(config.broker_id, lambda tp: Partition(tp.topic, tp.partition, time, self))
        self._all_partitions = self._partitions.pool
        self.replica_fetcher_manager = self.create_replica_fetcher_manager(
            metrics, time, thread_name_prefix, quota_managers.follower
        )
        self.replica_alter_log_dirs_manager = self.create_replica_alter_log_dirs_manager(
            quota_managers.alter_log_dirs, broker_topic_stats
        )
        self._checkpoints = HighWatermarkCheckpoints(
            self.log_ident, self._partitions, log_manager.live_log_dirs, log_dir_failure_channel
        )
        self._isr_changes = IsrChangePropagation(time, zk_client)
        self._leadership = ReplicaManagerLeadership(self, self._partitions, self._checkpoints, scheduler)
        self._log_dirs = self._leadership.log_dirs
        self._admin = ReplicaManagerAdmin(self, self._partitions, time)
        self._log_dir_failure_handler: LogDirFailureHandler | None = None  # volatile: startup
        # asks coordinators before transactions begin in a partition, if that is configured
        self.transaction_verification: TransactionVerification | None = None  # volatile: KafkaServer, as it starts
        self.metrics = ReplicaManagerMetrics(self, self._partitions)
        self.isr_expand_rate = self.new_meter("IsrExpandsPerSec", "expands")
        self.isr_shrink_rate = self.new_meter("IsrShrinksPerSec", "shrinks")
        self.failed_isr_updates_rate = self.new_meter("FailedIsrUpdatesPerSec", "failedUpdates")

    def remove_metrics(self) -> None:
        """Unregister the gauges."""
        self.metrics.unregister()

    @property
    def under_replicated_partition_count(self) -> int:
        """Partitions led here whose ISR is smaller than their assignment."""
        return sum(p.is_under_replicated for p in self._partitions.leader_partitions())

    def create_replica_fetcher_manager(
        self, metrics: Metrics, time: Time, thread_name_prefix: str | None, quota_manager: ReplicationQuotaManager
    ) -> ReplicaFetcherManager:
        """The manager of the threads that fetch for followers; a seam for tests."""
        from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager

        return ReplicaFetcherManager(self.config, self, metrics, time, thread_name_prefix, quota_manager)

    def create_replica_alter_log_dirs_manager(
        self, quota_manager: ReplicationQuotaManager, broker_topic_stats: BrokerTopicStats
    ) -> ReplicaAlterLogDirsManager:
        """The manager of the threads that move replicas between log directories; a seam for tests."""
        from kafka_py.server.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager

        return ReplicaAlterLogDirsManager(self.config, self, quota_manager, broker_topic_stats, self._time)

    def startup(self) -> None:
        """Schedule the ISR tasks and start the LogDirFailureHandler."""
        # a follower is out of the ISR at latest after one and a half replica.lag.time.max.ms
        self._scheduler.schedule(
            "isr-expiration", self._maybe_shrink_isr, period=self.config.replica_lag_time_max_ms // 2
        )
        self._scheduler.schedule("isr-change-propagation", self.maybe_propagate_isr_changes, period=2500)
        self._scheduler.schedule(
            "shutdown-idle-replica-alter-log-dirs-thread",
            self.shutdown_idle_replica_alter_log_dirs_thread,
            period=10_000,
        )
        # A controller older than 1.0 does not say whether a partition is new, and without knowing that it is not
        # safe to create a log while a directory is missing: then the broker halts on the first failure.
        halt_broker_on_failure = self.config.inter_broker_protocol_version < KAFKA_1_0_IV0
        self._log_dir_failure_handler = self.LogDirFailureHandler(self, "LogDirFailureHandler", halt_broker_on_failure)
        self._log_dir_failure_handler.start()

    def shutdown(self, checkpoint_hw: bool = True) -> None:
        """Stop threads and purgatories; write the high watermarks a last time (tests may do without)."""
        self.info("Shutting down")
        self.remove_metrics()
        if self._log_dir_failure_handler is not None:
            self._log_dir_failure_handler.shutdown()
        self.replica_fetcher_manager.shutdown()
        self.replica_alter_log_dirs_manager.shutdown()
        if self.transaction_verification is not None:
            self.transaction_verification.shutdown()
        self.delayed_fetch_purgatory.shutdown()
        self.delayed_produce_purgatory.shutdown()
        self.delayed_delete_records_purgatory.shutdown()
        if checkpoint_hw:
            self.checkpoint_high_watermarks()
        self.info("Shut down completely")

    # ---- partitions and replicas

    def get_or_create_partition(self, topic_partition: TopicPartition) -> Partition:
        """The partition, created empty if this broker did not know it."""
        return self._all_partitions.get_and_maybe_put(topic_partition)

    def get_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition, OFFLINE_PARTITION if its log directory failed, or None."""
        return self._all_partitions.get(topic_partition)

    def non_offline_partition(self, topic_partition: TopicPartition) -> Partition | None:
        """The partition unless it is unknown or offline."""
        return self._partitions.non_offline_partition(topic_partition)

    def get_replica_or_exception(self, topic_partition: TopicPartition, broker_id: int | None = None) -> Replica:
        """The replica (default: the local one); KafkaStorageException if offline, else ReplicaNotAvailableException."""
        return self._partitions.get_replica_or_exception(topic_partition, broker_id)

    def get_leader_replica_if_local(self, topic_partition: TopicPartition) -> Replica:
        """The local replica of a partition led here; see get_partition_and_leader_replica_if_local for the errors."""
        return self._partitions.get_partition_and_leader_replica_if_local(topic_partition)[1]

    def get_partition_and_leader_replica_if_local(self, topic_partition: TopicPartition) -> tuple[Partition, Replica]:
        """Partition and local replica, if this broker leads it.

        UnknownTopicOrPartitionException, KafkaStorageException when offline, NotLeaderForPartitionException.
        """
        return self._partitions.get_partition_and_leader_replica_if_local(topic_partition)

    def get_replica(self, topic_partition: TopicPartition, replica_id: int | None = None) -> Replica | None:
        """The replica (default: the local one) of a partition that is not offline, or None."""
        return self._partitions.get_replica(topic_partition, replica_id)

    def get_log(self, topic_partition: TopicPartition) -> Log | None:
        """The partition's log, whoever leads it."""
        return self.log_manager.get_log(topic_partition)

    def get_log_dir(self, topic_partition: TopicPartition) -> str | None:
        """Absolute path of the log directory that holds the partition."""
        return self._partitions.get_log_dir(topic_partition)

    def get_magic(self, topic_partition: TopicPartition) -> int | None:
        """Newest record format the topic may be written in (its message.format.version), None without a log."""
        replica = self.get_replica(topic_partition)
        if replica is None or replica.log is None:
            return None
        return replica.log.config.message_format_version.message_format_version.value

    def get_log_end_offset(self, topic_partition: TopicPartition) -> int | None:
        """Log end offset of a partition led here, else None."""
        partition = self._partitions.non_offline_partition(topic_partition)
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
        self._checkpoints.schedule(self._scheduler, self.config.replica_high_watermark_checkpoint_interval_ms)

    @property
    def high_watermark_checkpoints(self) -> dict[str, OffsetCheckpointFile]:
        """Absolute path of a live log directory -> its checkpoint."""
        return self._checkpoints.by_directory

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks of all local replicas, one file per log directory."""
        self._checkpoints.write()

    def record_isr_change(self, topic_partition: TopicPartition) -> None:
        """Remember a partition whose ISR this broker changed: the controller has to be told."""
        self._isr_changes.record_isr_change(topic_partition)

    def maybe_propagate_isr_changes(self) -> None:
        """Tell the controller of ISR changes, when things have been quiet for a while or nothing was told for long."""
        self._isr_changes.maybe_propagate_isr_changes()

    def shutdown_idle_replica_alter_log_dirs_thread(self) -> None:
        """Stop the threads whose moves are all over: a thread does not stop itself."""
        self.replica_alter_log_dirs_manager.shutdown_idle_fetcher_threads()

    def _maybe_shrink_isr(self) -> None:
        self.trace("Evaluating ISR list of partitions to see which replicas can be removed from the ISR")
        for partition in self._partitions.non_offline_partitions():
            partition.maybe_shrink_isr(self.config.replica_lag_time_max_ms)

    # ---- the controller's requests, log directories and DeleteRecords

    @property
    def controller_epoch(self) -> int:
        """Epoch of the controller that last changed a leader here."""
        return self._leadership.controller_epoch

    def become_leader_or_follower(
        self,
        correlation_id: int,
        leader_and_isr_request: LeaderAndIsrRequest,
        on_leadership_change: Callable[[Iterable[Partition], Iterable[Partition]], object],
    ) -> LeaderAndIsrResponse:
        """Handle LeaderAndIsr: make this broker leader or follower of each partition, then tell the coordinators."""
        return self._leadership.become_leader_or_follower(correlation_id, leader_and_isr_request, on_leadership_change)

    def stop_replica(self, topic_partition: TopicPartition, delete_partition: bool) -> None:
        """Stop serving a partition; with `delete_partition` forget it. KafkaStorageException when offline."""
        self._leadership.stop_replica(topic_partition, delete_partition)

    def stop_replicas(self, stop_replica_request: StopReplicaRequest) -> tuple[dict[TopicPartition, Errors], Errors]:
        """Handle StopReplica: error per partition, and STALE_CONTROLLER_EPOCH when the sender was deposed."""
        return self._leadership.stop_replicas(stop_replica_request)

    def maybe_update_metadata_cache(
        self, correlation_id: int, update_metadata_request: UpdateMetadataRequest
    ) -> list[TopicPartition]:
        """Pass UpdateMetadata on to the cache; the partitions it deleted. ControllerMovedException if deposed."""
        return self._leadership.maybe_update_metadata_cache(correlation_id, update_metadata_request)

    def handle_log_dir_failure(self, directory: str) -> None:
        """Take all replicas in `directory` (absolute path) out of service; tell the controller through ZooKeeper."""
        self._leadership.handle_log_dir_failure(directory)

    def delete_records(
        self, timeout: int, offset_per_partition: Mapping[TopicPartition, int], response_callback: DeleteRecordsCallback
    ) -> None:
        """Move the log start offsets of partitions led here; the callback runs exactly once, within `timeout` ms."""
        self._admin.delete_records(timeout, offset_per_partition, response_callback)

    def alter_replica_log_dirs(self, partition_dirs: Mapping[TopicPartition, str]) -> dict[TopicPartition, Errors]:
        """Move partitions to those directories (absolute paths); an error by partition, the copying goes on later."""
        return self._log_dirs.alter_replica_log_dirs(partition_dirs)

    def describe_log_dirs(
        self, partitions: Collection[TopicPartition]
    ) -> dict[str, DescribeLogDirsResponse.LogDirInfo]:
        """Size and lag of those partitions' logs by directory (absolute path); every directory is listed."""
        return self._admin.describe_log_dirs(partitions)

    def get_log_end_offset_lag(self, topic_partition: TopicPartition, log_end_offset: int, is_future: bool) -> int:
        """How far a log is behind the high watermark, or a future one behind the log end; -1 without a replica."""
        return self._admin.get_log_end_offset_lag(topic_partition, log_end_offset, is_future)

    # ---- Produce

    def append_records(
        self,
        timeout: int,
        required_acks: int,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: Mapping[TopicPartition, MemoryRecords],
        response_callback: ProduceCallback,
        delayed_produce_lock: ReentrantLock | None = None,
        processing_stats_callback: ProcessingStatsCallback | None = None,
        transactional_id: str | None = None,
        verification_guards: Guards | None = None,
        refused: Refused = _NOTHING_REFUSED,
    ) -> None:
        """Append to the leaders' logs and answer once the acks are there; the callback runs exactly once.

        acks 0 and 1: answered after the local append; -1: when the high watermark has passed the records, with
        REQUEST_TIMED_OUT after `timeout` ms, or NOT_ENOUGH_REPLICAS_AFTER_APPEND when the ISR shrank meanwhile;
        any other acks: INVALID_REQUIRED_ACKS. `delayed_produce_lock` is a lock the callback's caller may hold.
        With a `transactional_id` the partitions are verified first, if that is configured; the append follows with
        the guards, and `refused` are partitions that are answered without one.
        """
        if not self.is_valid_required_acks(required_acks):
            self._refuse_required_acks(entries_per_partition, response_callback)
            return
        if transactional_id is not None and self.transaction_verification is not None:
            self.transaction_verification.verify(
                transactional_id,
                entries_per_partition,
                lambda verified, guards, unverified: self.append_records(
                    timeout,
                    required_acks,
                    internal_topics_allowed,
                    is_from_client,
                    verified,
                    response_callback,
                    delayed_produce_lock,
                    processing_stats_callback,
                    verification_guards=guards,
                    refused=unverified,
                ),
            )
            return
        debug = self.logger.debug_enabled
        s_time = self._time.milliseconds() if debug else 0
        local_produce_results = self.append_to_local_log(
            internal_topics_allowed, is_from_client, entries_per_partition, required_acks, verification_guards
        )
        if refused:
            local_produce_results.update(refused)
        if debug:
            self.debug("Produce to local log in %d ms", self._time.milliseconds() - s_time)
        partition_response = ProduceResponse.PartitionResponse
        response_status = {}
        for topic_partition, result in local_produce_results.items():
            info = result.info
            failed = result.exception is not None
            response_status[topic_partition] = partition_response(
                result.error if failed else _NONE,
                info.first_offset,
                info.log_append_time,
                info.log_start_offset,
                result.error_message if failed else None,
            )
        if processing_stats_callback is not None:
            processing_stats_callback({tp: r.info.records_processing_stats for tp, r in local_produce_results.items()})

        if (
            required_acks == -1
            and self.delayed_produce_request_required(required_acks, entries_per_partition, local_produce_results)
            and not self._is_replicated(local_produce_results)
        ):
            produce_status = {
                tp: ProducePartitionStatus(local_produce_results[tp].info.last_offset + 1, response)
                for tp, response in response_status.items()
            }
            delayed_produce = DelayedProduce(
                timeout, ProduceMetadata(required_acks, produce_status), self, response_callback, delayed_produce_lock
            )
            producer_request_keys = [TopicPartitionOperationKey(tp.topic, tp.partition) for tp in entries_per_partition]
            # tried at once, watched, and tried again: a follower may have fetched while the operation was made
            self.delayed_produce_purgatory.try_complete_else_watch(delayed_produce, producer_request_keys)
        else:
            response_callback(response_status)

    def _refuse_required_acks(
        self, entries_per_partition: Mapping[TopicPartition, MemoryRecords], response_callback: ProduceCallback
    ) -> None:
        unknown = LogAppendInfo.UNKNOWN_LOG_APPEND_INFO
        response_callback(
            {
                tp: ProduceResponse.PartitionResponse(
                    Errors.INVALID_REQUIRED_ACKS,
                    unknown.first_offset,
                    RecordBatch.NO_TIMESTAMP,
                    unknown.log_start_offset,
                )
                for tp in entries_per_partition
            }
        )

    def _is_replicated(self, local_produce_results: dict[TopicPartition, LogAppendResult]) -> bool:
        """True when every appended partition has its acks already, without an error: nothing to wait for."""
        partitions = self._all_partitions
        for topic_partition, result in local_produce_results.items():
            if result.exception is None:
                partition = partitions.get(topic_partition)
                if (
                    partition is None
                    or partition is self.OFFLINE_PARTITION
                    or partition.check_enough_replicas_reach_offset(result.info.last_offset + 1) != _OK_OR_WAIT
                ):
                    return False
        return True

    def delayed_produce_request_required(
        self,
        required_acks: int,
        entries_per_partition: Mapping[TopicPartition, MemoryRecords],
        local_produce_results: Mapping[TopicPartition, LogAppendResult],
    ) -> bool:
        """Whether to wait for replication: acks=-1, there is data, and at least one partition took it."""
        if required_acks == -1:
            for result in local_produce_results.values():
                if result.exception is None:
                    return True
        return False

    @staticmethod
    def is_valid_required_acks(required_acks: int) -> bool:
        """True for -1, 0 and 1."""
        return required_acks in _VALID_ACKS

    def maybe_start_transaction_verification_for_partition(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        callback: Callable[[Errors, VerificationGuard | None], None],
    ) -> None:
        """Call with what stands against a write of that transaction, or NONE, and the guard to append it with.

        None is the guard where no transactions are verified. See TransactionVerification.verify_partition [3.7.1].
        """
        if self.transaction_verification is None:
            callback(_NONE, None)
            return
        self.transaction_verification.verify_partition(
            topic_partition, transactional_id, producer_id, producer_epoch, base_sequence, callback
        )

    def append_to_local_log(
        self,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: Mapping[TopicPartition, MemoryRecords],
        required_acks: int,
        verification_guards: Guards | None = None,
    ) -> dict[TopicPartition, LogAppendResult]:
        """Append to each partition's log; an error is that partition's result and does not stop the others."""
        trace = self.logger.trace_enabled
        if trace:
            self.trace("Append [%s] to local log", entries_per_partition)
        stats = self.broker_topic_stats
        all_topics = stats.all_topics_stats
        get_partition = self._all_partitions.get
        results: dict[TopicPartition, LogAppendResult] = {}
        for topic_partition, records in entries_per_partition.items():
            topic = topic_partition[0]
            topic_stats = stats.topic_stats(topic)
            topic_stats.total_produce_request_rate.mark()
            all_topics.total_produce_request_rate.mark()
            if not internal_topics_allowed and Topic.is_internal(topic):
                results[topic_partition] = LogAppendResult(
                    LogAppendInfo.UNKNOWN_LOG_APPEND_INFO,
                    InvalidTopicException(f"Cannot append to internal topic {topic}"),
                )
                continue
            try:
                partition = get_partition(topic_partition)
                if partition is None:
                    raise UnknownTopicOrPartitionException(
                        f"Partition {topic_partition} doesn't exist on {self._local_broker_id}"
                    )
                if partition is self.OFFLINE_PARTITION:
                    raise self._partitions.offline_error(topic_partition)
                guard = None if verification_guards is None else verification_guards.get(topic_partition)
                info = partition.append_records_to_leader(records, is_from_client, required_acks, guard)
                first_offset = info.first_offset
                last_offset = info.last_offset
                num_appended_messages = 0 if first_offset == -1 or last_offset == -1 else last_offset - first_offset + 1
                size = len(records.buffer)
                topic_stats.bytes_in_rate.mark(size)
                all_topics.bytes_in_rate.mark(size)
                topic_stats.messages_in_rate.mark(num_appended_messages)
                all_topics.messages_in_rate.mark(num_appended_messages)
                if trace:
                    self.trace(
                        "%d bytes written to log %s-%d beginning at offset %d and ending at offset %d",
                        size,
                        topic,
                        topic_partition.partition,
                        first_offset,
                        last_offset,
                    )
                results[topic_partition] = LogAppendResult(info)
            except _KNOWN_APPEND_ERRORS as e:
                results[topic_partition] = LogAppendResult(LogAppendInfo.UNKNOWN_LOG_APPEND_INFO, e)
            except Exception as e:  # noqa: BLE001  one partition's failure must not cost the others their answer
                results[topic_partition] = self._append_failed(topic_partition, e)
        return results

    def _append_failed(self, topic_partition: TopicPartition, e: Exception) -> LogAppendResult:
        """An unexpected error: counted, logged, and answered with the log start offset as far as it is known."""
        partition = self._partitions.non_offline_partition(topic_partition)
        log_start_offset = -1 if partition is None else partition.log_start_offset
        self.broker_topic_stats.topic_stats(topic_partition.topic).failed_produce_request_rate.mark()
        self.broker_topic_stats.all_topics_stats.failed_produce_request_rate.mark()
        self.error("Error processing append operation on partition %s", topic_partition, exc=e)
        return LogAppendResult(LogAppendInfo.unknown_log_append_info_with_log_start_offset(log_start_offset), e)

    # ---- Fetch

    def fetch_messages(
        self,
        params: FetchParams,
        fetch_infos: Sequence[tuple[TopicPartition, FetchRequest.PartitionData]],
        quota: ReplicaQuota,
        response_callback: FetchCallback,
    ) -> None:
        """Read from the leaders' logs; wait for `min_bytes`, `max_wait_ms` at most; the callback runs exactly once."""
        log_read_results = self.read_from_local_log(params, fetch_infos, quota)
        if params.is_from_follower:
            log_read_results = self._update_follower_log_read_results(params.replica_id, log_read_results)

        bytes_readable = 0
        error_reading_data = False
        for _, result in log_read_results:
            bytes_readable += result.info.records.size_in_bytes()
            if result.exception is not None:
                error_reading_data = True
        # answer at once when the fetcher will not wait, asks for nothing, has enough, or an error shall be known
        if params.max_wait_ms <= 0 or not fetch_infos or bytes_readable >= params.min_bytes or error_reading_data:
            data_of = FetchPartitionData.of
            response_callback([(tp, data_of(result)) for tp, result in log_read_results])
            return
        fetch_info_of = dict(fetch_infos)
        fetch_partition_status = [
            (tp, FetchPartitionStatus(result.info.fetch_offset_metadata, fetch_info_of[tp]))
            for tp, result in log_read_results
        ]
        delayed_fetch = DelayedFetch(params, fetch_partition_status, self, quota, response_callback)
        delayed_fetch_keys = [TopicPartitionOperationKey(tp.topic, tp.partition) for tp, _ in fetch_partition_status]
        # tried at once, watched, and tried again: records may have come while the operation was made
        self.delayed_fetch_purgatory.try_complete_else_watch(delayed_fetch, delayed_fetch_keys)

    def read_from_local_log(
        self,
        params: FetchParams,
        read_partition_info: Sequence[tuple[TopicPartition, FetchRequest.PartitionData]],
        quota: ReplicaQuota,
    ) -> list[tuple[TopicPartition, LogReadResult]]:
        """Read the partitions in turn, `max_bytes` in all.

        Unless the limit is hard (Fetch below version 3), the first partition that has data gives at least one batch,
        however large, so that a consumer is never stuck.
        """
        limit_bytes = params.max_bytes
        min_one_message = not params.hard_max_bytes_limit
        fetch_time_ms = self._time.milliseconds()
        result: list[tuple[TopicPartition, LogReadResult]] = []
        for topic_partition, fetch_info in read_partition_info:
            try:
                read_result = self._read(
                    topic_partition, fetch_info, params, limit_bytes, min_one_message, quota, fetch_time_ms
                )
            except _KNOWN_READ_ERRORS as e:
                read_result = LogReadResult.failed(fetch_info.max_bytes, e)
            except Exception as e:  # noqa: BLE001  one partition's failure must not cost the others their answer
                read_result = self._read_failed(topic_partition, fetch_info, e)
            record_batch_size = read_result.info.records.size_in_bytes()
            if record_batch_size > 0:
                min_one_message = False
                limit_bytes = max(0, limit_bytes - record_batch_size)
            result.append((topic_partition, read_result))
        return result

    def _read(
        self,
        topic_partition: TopicPartition,
        fetch_info: FetchRequest.PartitionData,
        params: FetchParams,
        limit_bytes: int,
        min_one_message: bool,
        quota: ReplicaQuota,
        fetch_time_ms: int,
    ) -> LogReadResult:
        """Read one partition; whatever a look-up or Log.read raises passes through."""
        stats = self.broker_topic_stats
        stats.topic_stats(topic_partition.topic).total_fetch_request_rate.mark()
        stats.all_topics_stats.total_fetch_request_rate.mark()
        offset = fetch_info.fetch_offset
        partition_fetch_size = fetch_info.max_bytes
        if self.logger.trace_enabled:
            self.trace(
                "Fetching log segment for partition %s, offset %d, partition fetch size %d, "
                "remaining response limit %d%s",
                topic_partition,
                offset,
                partition_fetch_size,
                limit_bytes,
                ", ignoring response/partition size limits" if min_one_message else "",
            )
        if params.fetch_only_leader:
            partition, local_replica = self._partitions.get_partition_and_leader_replica_if_local(topic_partition)
            if fetch_info.current_leader_epoch >= 0:
                partition.check_current_leader_epoch(fetch_info.current_leader_epoch)
        else:
            local_replica = self._partitions.get_replica_or_exception(topic_partition)
        # Taken before the high watermark, so that it is never above it: DeleteRecords may come in between, and a
        # follower cannot move its log start offset beyond its high watermark.
        initial_log_start_offset = local_replica.log_start_offset
        initial_high_watermark = local_replica.high_watermark.message_offset
        last_stable_offset = None
        isolation_level = params.isolation_level
        max_offset = initial_high_watermark if params.fetch_only_committed else None
        if isolation_level is IsolationLevel.READ_COMMITTED:
            last_stable_offset = local_replica.last_stable_offset.message_offset
            if params.fetch_only_committed:
                max_offset = last_stable_offset
        # Taken before the read: whether a follower is in sync is judged by the log end it could have seen. A log end
        # taken afterwards may have grown in between, and a follower would never count as caught up.
        initial_log_end_offset = local_replica.log_end_offset.message_offset
        log = local_replica.log
        if log is None:
            self.error("Leader for partition %s does not have a local log", topic_partition)
            return LogReadResult.failed(partition_fetch_size, None)
        info = log.read(
            offset,
            partition_fetch_size if partition_fetch_size < limit_bytes else limit_bytes,
            max_offset,
            min_one_message,
            isolation_level,
        )
        # Fetch from version 3 on gives an empty set instead of an incomplete batch: such clients make progress anyway
        if (info.first_entry_incomplete and not params.hard_max_bytes_limit) or self.should_leader_throttle(
            quota, topic_partition, params.replica_id
        ):
            info = FetchDataInfo(info.fetch_offset_metadata, MemoryRecords.EMPTY)
        return LogReadResult(
            info,
            initial_high_watermark,
            initial_log_start_offset,
            initial_log_end_offset,
            fetch_info.log_start_offset,
            fetch_time_ms,
            partition_fetch_size,
            last_stable_offset,
        )

    def _read_failed(
        self, topic_partition: TopicPartition, fetch_info: FetchRequest.PartitionData, e: Exception
    ) -> LogReadResult:
        self.broker_topic_stats.topic_stats(topic_partition.topic).failed_fetch_request_rate.mark()
        self.broker_topic_stats.all_topics_stats.failed_fetch_request_rate.mark()
        self.error(
            "Error processing fetch operation on partition %s, offset %d",
            topic_partition,
            fetch_info.fetch_offset,
            exc=e,
        )
        return LogReadResult.failed(fetch_info.max_bytes, e)

    def should_leader_throttle(self, quota: ReplicaQuota, topic_partition: TopicPartition, replica_id: int) -> bool:
        """Whether a reader gets nothing for now: throttled partition, quota used up, and the reader not in sync.

        In-sync replicas are spared, or throttling would make the ISR flap.
        """
        if not quota.is_throttled(topic_partition) or not quota.is_quota_exceeded():
            return False
        partition = self._partitions.non_offline_partition(topic_partition)
        replica = None if partition is None else partition.get_replica(replica_id)
        return partition is None or replica not in partition.in_sync_replicas

    def _update_follower_log_read_results(
        self, replica_id: int, read_results: Iterable[tuple[TopicPartition, LogReadResult]]
    ) -> list[tuple[TopicPartition, LogReadResult]]:
        """Take a follower's offsets as its acks; a broker that is not assigned gets no records.

        The results keep the offsets from before: the follower learns of a high watermark that this Fetch moved from
        its next one, so that what it is told fits the records it gets.
        """
        if self.logger.debug_enabled:
            read_results = list(read_results)
            self.debug("Recording follower broker %d log end offsets: %s", replica_id, read_results)
        updated: list[tuple[TopicPartition, LogReadResult]] = []
        for topic_partition, read_result in read_results:
            partition = self._partitions.non_offline_partition(topic_partition)
            result = read_result
            if partition is None:
                self.warn(
                    "While recording the replica LEO, the partition %s hasn't been created.",
                    topic_partition,
                )
            else:
                replica = partition.get_replica(replica_id)
                if replica is not None:
                    partition.update_replica_log_read_result(replica, read_result)
                else:
                    self.warn(
                        "Leader %d failed to record follower %d's position %d since the replica is not recognized to "
                        "be one of the assigned replicas %s for partition %s. Empty records will be returned for this "
                        "partition.",
                        self._local_broker_id,
                        replica_id,
                        read_result.info.fetch_offset_metadata.message_offset,
                        ",".join(str(r.broker_id) for r in partition.assigned_replicas()),
                        topic_partition,
                    )
                    result = read_result.with_empty_fetch_info()
            updated.append((topic_partition, result))
        return updated

    # ---- OffsetForLeaderEpoch

    def last_offset_for_leader_epoch(
        self,
        requested_epoch_info: Mapping[TopicPartition, int],
        current_leader_epochs: Mapping[TopicPartition, int] | None = None,
    ) -> dict[TopicPartition, EpochEndOffset]:
        """For each partition led here, where the records of the given leader epoch end.

        With the leader epochs that the asker knows, -1 where it does not say, the answers are those of KIP-279.
        """
        undefined = EpochEndOffset.UNDEFINED_EPOCH_OFFSET
        result: dict[TopicPartition, EpochEndOffset] = {}
        for topic_partition, leader_epoch in requested_epoch_info.items():
            partition = self._all_partitions.get(topic_partition)
            if partition is None:
                result[topic_partition] = EpochEndOffset(Errors.UNKNOWN_TOPIC_OR_PARTITION, undefined)
            elif partition is self.OFFLINE_PARTITION:
                result[topic_partition] = EpochEndOffset(Errors.KAFKA_STORAGE_ERROR, undefined)
            else:
                current = None if current_leader_epochs is None else current_leader_epochs[topic_partition]
                result[topic_partition] = partition.last_offset_for_leader_epoch(leader_epoch, current)
        return result
