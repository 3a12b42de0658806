"""Appends and fetches of all partitions on this broker, and the requests that wait for replication.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1
Posts:   why-fast-and-available (whole broker), start-up-network-threads (where it is built),
         reading-writing-configuring and the-produce-path (appendRecords, acks, purgatory)
Read next: cluster/partition.py, server/delayed_produce.py, server/delayed_fetch.py;
           replica_manager_{state,leadership,admin}.py hold the rest of this class
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kafka_py.api.api_version import KAFKA_1_0_IV0
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
from kafka_py.server.delayed_fetch import DelayedFetch, FetchPartitionStatus
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.server.delayed_produce import DelayedProduce, ProduceMetadata, ProducePartitionStatus
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_dir_failure_handler import LogDirFailureHandler
from kafka_py.server.log_read_result import FetchPartitionData, LogAppendResult, LogReadResult
from kafka_py.server.replica_manager_admin import LogDeleteRecordsResult, ReplicaManagerAdmin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
    from kafka_py.common.requests.fetch_request import FetchRequest
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.fetch_params import FetchParams
    from kafka_py.server.replication_quota_manager import ReplicaQuota
    from kafka_py.utils.concurrent import ReentrantLock

    ProduceCallback = Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object]
    FetchCallback = Callable[[list[tuple[TopicPartition, FetchPartitionData]]], object]

__all__ = ["FetchPartitionData", "LogAppendResult", "LogDeleteRecordsResult", "LogReadResult", "ReplicaManager"]

_NONE = Errors.NONE
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


class ReplicaManager(ReplicaManagerAdmin):
    """Owns the partitions of this broker: append, fetch, leadership, ISR upkeep, high watermark checkpoints.

    Mirrors: kafka.server.ReplicaManager
    Thread: request handlers; scheduler (ISR expiration and propagation, checkpoints); LogDirFailureHandler
    Locks: _replica_state_change_lock -> Partition.leader_isr_update_lock; none on the way of Produce and Fetch
    Differs: a Produce with acks=-1 whose records are replicated when it looks (always so with one replica) is
        answered without a DelayedProduce: its first try_complete would do the same.
    """

    LogDirFailureHandler: TypeAlias = _LogDirFailureHandler

    _log_dir_failure_handler: LogDirFailureHandler | None = None

    def startup(self) -> None:
        """Schedule the ISR tasks and start the LogDirFailureHandler."""
        # a follower is out of the ISR at latest after one and a half replica.lag.time.max.ms
        self._scheduler.schedule(
            "isr-expiration", self._maybe_shrink_isr, period=self.config.replica_lag_time_max_ms // 2
        )
        self._scheduler.schedule("isr-change-propagation", self.maybe_propagate_isr_changes, period=2500)
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
        self.delayed_fetch_purgatory.shutdown()
        self.delayed_produce_purgatory.shutdown()
        self.delayed_delete_records_purgatory.shutdown()
        if checkpoint_hw:
            self.checkpoint_high_watermarks()
        self.info("Shut down completely")

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
        processing_stats_callback: Callable[[dict[TopicPartition, RecordsProcessingStats]], object] | None = None,
    ) -> None:
        """Append to the leaders' logs and answer once the acks are there; the callback runs exactly once.

        acks 0 and 1: answered after the local append; -1: when the high watermark has passed the records, with
        REQUEST_TIMED_OUT after `timeout` ms, or NOT_ENOUGH_REPLICAS_AFTER_APPEND when the ISR shrank meanwhile;
        any other acks: INVALID_REQUIRED_ACKS. `delayed_produce_lock` is a lock the callback's caller may hold.
        """
        if not self.is_valid_required_acks(required_acks):
            self._refuse_required_acks(entries_per_partition, response_callback)
            return
        debug = self.logger.debug_enabled
        s_time = self._time.milliseconds() if debug else 0
        local_produce_results = self.append_to_local_log(
            internal_topics_allowed, is_from_client, entries_per_partition, required_acks
        )
        if debug:
            self.debug("Produce to local log in %d ms", self._time.milliseconds() - s_time)
        partition_response = ProduceResponse.PartitionResponse
        response_status = {}
        for topic_partition, result in local_produce_results.items():
            info = result.info
            error = _NONE if result.exception is None else result.error
            response_status[topic_partition] = partition_response(
                error, info.first_offset, info.log_append_time, info.log_start_offset
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

    def append_to_local_log(
        self,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: Mapping[TopicPartition, MemoryRecords],
        required_acks: int,
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
                    raise self._offline(topic_partition)
                info = partition.append_records_to_leader(records, is_from_client, required_acks)
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
        partition = self.non_offline_partition(topic_partition)
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
            partition, local_replica = self.get_partition_and_leader_replica_if_local(topic_partition)
            if fetch_info.current_leader_epoch >= 0:
                partition.check_current_leader_epoch(fetch_info.current_leader_epoch)
        else:
            local_replica = self.get_replica_or_exception(topic_partition)
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
        partition = self.non_offline_partition(topic_partition)
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
            partition = self.non_offline_partition(topic_partition)
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
                        ",".join(str(r.broker_id) for r in partition.assigned_replicas),
                        topic_partition,
                    )
                    result = read_result.with_empty_fetch_info
            updated.append((topic_partition, result))
        return updated

    # ---- OffsetForLeaderEpoch

    def last_offset_for_leader_epoch(
        self, requested_epoch_info: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEndOffset]:
        """For each partition led here, where the records of the given leader epoch end."""
        undefined = EpochEndOffset.UNDEFINED_EPOCH_OFFSET
        result: dict[TopicPartition, EpochEndOffset] = {}
        for topic_partition, leader_epoch in requested_epoch_info.items():
            partition = self._all_partitions.get(topic_partition)
            if partition is None:
                result[topic_partition] = EpochEndOffset(Errors.UNKNOWN_TOPIC_OR_PARTITION, undefined)
            elif partition is self.OFFLINE_PARTITION:
                result[topic_partition] = EpochEndOffset(Errors.KAFKA_STORAGE_ERROR, undefined)
            else:
                result[topic_partition] = partition.last_offset_for_leader_epoch(leader_epoch)
        return result
