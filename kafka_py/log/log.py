"""The log of one partition: an append-only sequence of record batches in segment files.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1
Read next: local_log.py (segments), log_loader.py (start-up and recovery), log_segment.py, producer_state_manager.py;
           they hold what later versions of Kafka moved out of Log.scala

Files in the partition's directory (see log_file_utils.py for the names):

    .log .index .timeindex .txnindex    one segment; the active one is the last
    .snapshot                           producer state, written when a segment begins
    leader-epoch-checkpoint             where each leader epoch begins
    .deleted                            to be unlinked after file.delete.delay.ms
    .cleaned .swap                      a segment that compaction is putting in the place of others

Life of a record: appended to the active segment (then it is in the page cache, and survives the process), seen by
readers once `next_offset_metadata` is behind it, synced to disk when its segment is rolled or the flush policy says
so, deleted with its whole segment.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from kafka_py.api.api_version import KAFKA_0_10_0_IV0
from kafka_py.common.errors import (
    KafkaException,
    OffsetOutOfRangeException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    UnsupportedForMessageFormatException,
)
from kafka_py.common.long_ref import LongRef
from kafka_py.common.record.default_record_batch import (
    BASE_OFFSET,
    PARTITION_LEADER_EPOCH,
    PRODUCER_ID,
    DefaultRecordBatch,
)
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.local_log import LocalLog, StorageErrors
from kafka_py.log.log_append_info import (
    LogAppendInfo,
    analyze_and_validate_records,
    check_given_offsets,
    trim_invalid_bytes,
)
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_loader import LogLoader
from kafka_py.log.log_retention import LogRetention
from kafka_py.log.log_validator import LogValidator
from kafka_py.log.producer_state_entry import CompletedTxn
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.log.producer_updates import analyze_and_validate_producer_state, rebuild_producer_state
from kafka_py.log.verification_guard import VerificationGuard
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile, LeaderEpochFile
from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Collection, Iterable

    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_segment import LogSegment
    from kafka_py.log.producer_state_entry import BatchMetadata, ProducerAppendInfo
    from kafka_py.log.transaction_index import AbortedTxn
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.fetch_data_info import FetchDataInfo
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

__all__ = ["CompletedTxn", "Log", "LogAppendInfo"]

_INT_MAX = 2**31 - 1
_NO_TIMESTAMP = -1
_EARLIEST_TIMESTAMP = -2  # ListOffsetRequest.EARLIEST_TIMESTAMP
_LATEST_TIMESTAMP = -1  # ListOffsetRequest.LATEST_TIMESTAMP

# what an append without producer ids changes for producers; nobody writes into it
_NO_PRODUCER: tuple[dict[int, ProducerAppendInfo], list[CompletedTxn], BatchMetadata | None] = ({}, [], None)


class Log(KafkaMetricsGroup):
    """A partition's log. Appends go to the active segment; reads may begin in any.

    Its segments are a LocalLog's. Its own are the order of what happens to them and what goes beyond files: offsets
    given, producers, leader epochs, the log start, the high watermark, retention.

    `log_start_offset` is the first offset that clients may read: it is raised by DeleteRecords requests and by
    retention. `recovery_point` is the first offset that is not known to be on disk.

    Mirrors: kafka.log.Log
    Thread: any. Appends come from handlers and fetchers, flushes and deletions from the scheduler.
    Locks: `lock` for every change. Append writes to the file under it: the order of offsets is the order in the file.
    Differs: readers take no lock: they read immutable snapshots (`segments.snapshot`, `next_offset_metadata`).
        Overloads: `flush(offset=None)`, `log_segments_between(from_, to)`. `fetch_offsets_by_timestamp` skips segments
        below the log start, where Kafka finds nothing and answers so. New segment.bytes and segment.ms hold for the
        active segment at once (KAFKA-7366). A flush brings new files' names to the disk as well (KAFKA-3968). A batch
        without epoch ends the epochs (KAFKA-7897). A follower's append may be larger than max.message.bytes
        (KAFKA-9617, in 2.6) and than segment.bytes (3.8 still refuses it): the leader has accepted it. The cleaner asks
        for `high_watermark` and `last_stable_offset` (KAFKA-13194), which are members here since 2.4; the mark is still
        Replica's own, as in 1.1.1, which tells it.
    Left out: what LogLoader, LocalLog, LogRetention and others have here, see docs/left-out.tsv
    """

    # names of files, as in `object Log`
    filename_prefix_from_offset: ClassVar = staticmethod(LogFileUtils.filename_prefix_from_offset)
    log_file: ClassVar = staticmethod(LogFileUtils.log_file)
    offset_index_file: ClassVar = staticmethod(LogFileUtils.offset_index_file)
    time_index_file: ClassVar = staticmethod(LogFileUtils.time_index_file)
    transaction_index_file: ClassVar = staticmethod(LogFileUtils.transaction_index_file)
    producer_snapshot_file: ClassVar = staticmethod(LogFileUtils.producer_snapshot_file)
    log_delete_dir_name: ClassVar = staticmethod(LogFileUtils.log_delete_dir_name)
    log_future_dir_name: ClassVar = staticmethod(LogFileUtils.log_future_dir_name)
    log_dir_name: ClassVar = staticmethod(LogFileUtils.log_dir_name)
    offset_from_file: ClassVar = staticmethod(LogFileUtils.offset_from_file)
    parse_topic_partition_name: ClassVar = staticmethod(LogFileUtils.parse_topic_partition_name)

    def __init__(
        self,
        log_start_offset: int,
        local_log: LocalLog,
        broker_topic_stats: BrokerTopicStats,
        producer_id_expiration_check_interval_ms: int,
        leader_epoch_cache: LeaderEpochFileCache,
        producer_state_manager: ProducerStateManager,
    ) -> None:
        """The log of what `local_log` holds; `apply` opens one."""
        self._local_log = local_log
        self.segments = local_log.segments
        self.topic_partition = local_log.topic_partition
        self.parent_dir = local_log.parent_dir
        self.log_ident = local_log.log_ident
        self.place = f"{local_log.topic_partition} in dir {self.parent_dir}"  # for messages
        self.lock = ReentrantLock()
        self._time = local_log.time
        self._broker_topic_stats = broker_topic_stats
        self._retention = LogRetention(self, local_log.time)
        self.producer_state_manager = producer_state_manager
        self._leader_epoch_cache = leader_epoch_cache  # volatile: rename_dir under lock
        self.log_start_offset = log_start_offset  # volatile: writer under lock
        # where the oldest open transaction begins, from which the last stable offset is computed; if that record has
        # been deleted from the log, this is the log start
        self.first_unstable_offset: LogOffsetMetadata | None = None  # volatile: writer under lock
        # segments with offsets at or above it are neither deleted nor cleaned; None until there is a Replica
        self.replica_high_watermark: int | None = None  # volatile: writer under lock
        self._update_first_unstable_offset()
        self._tags: dict[str, str] | None = None  # volatile: whoever makes, renames or deletes the log
        self.new_metrics()
        self._producer_expire_check = local_log.scheduler.schedule(
            "PeriodicProducerExpirationCheck",
            self._remove_expired_producers,
            delay=producer_id_expiration_check_interval_ms,
            period=producer_id_expiration_check_interval_ms,
        )

    @classmethod
    def apply(
        cls,
        dir: str | os.PathLike[str],
        config: LogConfig,
        log_start_offset: int,
        recovery_point: int,
        scheduler: Scheduler,
        broker_topic_stats: BrokerTopicStats,
        time: Time,
        max_producer_id_expiration_ms: int,
        producer_id_expiration_check_interval_ms: int,
        log_dir_failure_channel: LogDirFailureChannel,
        producer_state_manager: ProducerStateManager | None = None,
    ) -> Log:
        """Open or create the log in `dir`, whose name says topic and partition; raises OSError, KafkaException."""
        start_ms = time.milliseconds()
        topic_partition = LogFileUtils.parse_topic_partition_name(dir)
        local_log = LocalLog(dir, config, recovery_point, scheduler, time, topic_partition, log_dir_failure_channel)
        os.makedirs(local_log.dir, exist_ok=True)
        leader_epoch_cache = cls._new_leader_epoch_cache(local_log)
        if producer_state_manager is None:
            producer_state_manager = ProducerStateManager(topic_partition, dir, max_producer_id_expiration_ms)
        offsets = LogLoader(
            local_log,
            had_clean_shutdown=(local_log.dir.parent / LogFileUtils.CLEAN_SHUTDOWN_FILE).exists(),
            log_start_offset_checkpoint=log_start_offset,
            recovery_point_checkpoint=recovery_point,
            leader_epoch_cache=leader_epoch_cache,
            producer_state_manager=producer_state_manager,
        ).load()
        local_log.loaded(offsets)
        log = cls(
            offsets.log_start_offset,
            local_log,
            broker_topic_stats,
            producer_id_expiration_check_interval_ms,
            leader_epoch_cache,
            producer_state_manager,
        )
        log.info(
            "Completed load of log with %d segments, log start offset %d and log end offset %d in %d ms",
            log.number_of_segments,
            log.log_start_offset,
            log.log_end_offset,
            time.milliseconds() - start_ms,
        )
        return log

    # ---- what the LocalLog knows ----------------------------------------------------------------------------------

    @property
    def dir(self) -> pathlib.Path:
        """The log's directory."""
        return self._local_log.dir

    @property
    def name(self) -> str:
        """Name of the directory."""
        return self._local_log.name

    @property
    def is_future(self) -> bool:
        """Whether this is a copy that will replace the partition's log on another disk."""
        return self._local_log.is_future

    @property
    def config(self) -> LogConfig:
        """The topic's settings, see `update_config`."""
        return self._local_log.config

    @property
    def recovery_point(self) -> int:
        """The first offset that is not known to be on disk."""
        return self._local_log.recovery_point

    @property
    def next_offset_metadata(self) -> LogOffsetMetadata:
        """Offset of the next message, and where it will be written; readers see what is below it."""
        return self._local_log.next_offset_metadata

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """`next_offset_metadata` under its public name."""
        return self._local_log.next_offset_metadata

    @property
    def log_end_offset(self) -> int:
        """Offset of the next message."""
        return self._local_log.next_offset_metadata.message_offset

    def _update_log_end_offset(self, message_offset: int) -> None:
        self._local_log.update_log_end_offset(message_offset)

    @property
    def number_of_segments(self) -> int:
        """How many segments there are."""
        return len(self.segments)

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes appends: the one with the highest base offset."""
        return self.segments.snapshot[1][-1]

    @property
    def log_segments(self) -> list[LogSegment]:
        """All segments, oldest first."""
        return self.segments.values()

    def log_segments_between(self, from_: int, to: int) -> list[LogSegment]:
        """The segments that hold offsets from `from_` up to `to` - 1."""
        return self.segments.values_between(from_, to)

    @staticmethod
    def size_in_bytes(segments: Iterable[LogSegment]) -> int:
        """Sum of the segments' sizes."""
        return sum(segment.size for segment in segments)

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self._local_log.size

    def collect_aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions that overlap [start_offset, upper_bound_offset)."""
        return self._local_log.collect_aborted_transactions(start_offset, upper_bound_offset)

    def replace_segments(self, new_segment: LogSegment, old_segments: list[LogSegment]) -> None:
        """Put a cleaned segment in the place of others, see LocalLog.replace_segments."""
        with self.lock:
            self._local_log.replace_segments(new_segment, old_segments)

    def maybe_handle_io_exception(self, msg: str) -> StorageErrors:
        """For `with`: an OSError in the block takes the log directory offline and becomes a KafkaStorageException."""
        return self._local_log.maybe_handle_io_exception(msg)

    # ---- producers and leader epochs ------------------------------------------------------------------------------

    @property
    def leader_epoch_cache(self) -> LeaderEpochFileCache:
        """Where each leader epoch of this log begins."""
        return self._leader_epoch_cache

    @staticmethod
    def _new_leader_epoch_cache(local_log: LocalLog) -> LeaderEpochFileCache:
        checkpoint = LeaderEpochCheckpointFile(
            LeaderEpochFile.new_file(local_log.dir), local_log.log_dir_failure_channel
        )
        return LeaderEpochFileCache(local_log.topic_partition, lambda: local_log.next_offset_metadata, checkpoint)

    def _load_producer_state(self, last_offset: int) -> None:
        """Bring the producer state to `last_offset`, where the log now ends. Caller holds lock."""
        rebuild_producer_state(self.producer_state_manager, self._local_log, self.log_start_offset, last_offset)
        self._update_first_unstable_offset()

    def _update_first_unstable_offset(self) -> None:
        """Take the oldest open transaction from the producer state, with its place on disk."""
        with self.lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            updated = self.producer_state_manager.first_unstable_offset
            if updated is not None and (updated.message_offset_only or updated.message_offset < self.log_start_offset):
                updated = self._local_log.locate(max(updated.message_offset, self.log_start_offset))
            if updated != self.first_unstable_offset:
                self.debug("First unstable offset updated to %s", updated)
                self.first_unstable_offset = updated

    def _remove_expired_producers(self) -> None:  # runs on: kafka-scheduler
        with self.lock:
            self.producer_state_manager.remove_expired_producers(self._time.milliseconds())

    def delete_snapshots_after_recovery_point_checkpoint(self) -> int:
        """Delete the snapshots that neither recovery nor a truncation will need; the lowest offset kept.

        Kept are those of the last two segments, for truncations, and those from the recovery point on, so that
        recovery never has to begin at an older segment.
        """
        with self.lock:
            min_offset_to_retain = self._local_log.min_snapshots_offset_to_retain
        self.producer_state_manager.delete_snapshots_before(min_offset_to_retain)
        return min_offset_to_retain

    def active_producers_with_last_sequence(self) -> dict[int, int]:
        """Last sequence of each known producer."""
        with self.lock:
            return {i: entry.last_seq for i, entry in self.producer_state_manager.active_producers.items()}

    def active_producers_with_last_data_offset(self) -> dict[int, int]:
        """Offset of the last record of each known producer, -1 if only a marker is known."""
        with self.lock:
            return {i: entry.last_data_offset for i, entry in self.producer_state_manager.active_producers.items()}

    def take_producer_snapshot(self) -> None:
        """Write a producer snapshot at the log end."""
        with self.lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            self.producer_state_manager.take_snapshot()

    # ---- metrics --------------------------------------------------------------------------------------------------

    def new_metrics(self) -> None:
        """Register the gauges of this log, which tell a copy in the making from the partition's log."""
        tags = {"topic": self.topic_partition.topic, "partition": str(self.topic_partition.partition)}
        self._tags = tags = tags | {"is-future": "true"} if self.is_future else tags
        self.new_gauge("NumLogSegments", lambda: self.number_of_segments, tags)
        self.new_gauge("LogStartOffset", lambda: self.log_start_offset, tags)
        self.new_gauge("LogEndOffset", lambda: self.log_end_offset, tags)
        self.new_gauge("Size", lambda: self.size, tags)

    def remove_log_metrics(self) -> None:
        """Take the gauges of this log away, once: afterwards another log may have some of those names."""
        tags, self._tags = self._tags, None
        for name in ("NumLogSegments", "LogStartOffset", "LogEndOffset", "Size") if tags is not None else ():
            self.remove_metric(name, tags or {})

    # ---- configuration and closing ---------------------------------------------------------------------------------

    def update_config(self, updated_keys: Collection[str], new_config: LogConfig) -> None:
        """Replace the configuration; the next append and the next retention check use it."""
        with self.lock:
            self._local_log.update_config(updated_keys, new_config)

    def close(self) -> None:
        """Write a producer snapshot and close the files; raises KafkaStorageException."""
        self.debug("Closing log")
        with self.lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            self._cancel_producer_expire_check()
            with self.maybe_handle_io_exception(f"Error while renaming dir for {self.place}"):
                # so that the next start need not scan the log for producers
                self.producer_state_manager.take_snapshot()
                self._local_log.close()

    def _cancel_producer_expire_check(self) -> None:
        if self._producer_expire_check is not None:
            self._producer_expire_check.cancel()

    def rename_dir(self, name: str) -> None:
        """Rename the log's directory; raises KafkaStorageException."""
        with (
            self.lock,
            self.maybe_handle_io_exception(
                f"Error while renaming dir for {self.topic_partition} in log dir {self.parent_dir}"
            ),
        ):
            if self._local_log.rename_dir(name):
                self.producer_state_manager.log_dir = self.dir
                # its checkpoint file moved as well
                self._leader_epoch_cache = self._new_leader_epoch_cache(self._local_log)

    def close_handlers(self) -> None:
        """Close the files without writing, because the log directory is offline."""
        self.debug("Closing handlers")
        with self.lock:
            self._cancel_producer_expire_check()
            self._local_log.close_handlers()

    def delete(self) -> None:
        """Delete the directory and all in it, at once; raises KafkaStorageException."""
        with self.maybe_handle_io_exception(f"Error while deleting log for {self.place}"), self.lock:
            self._local_log.check_if_memory_mapped_buffer_closed()
            self._cancel_producer_expire_check()
            self.remove_log_metrics()
            self._local_log.delete_all_segments()
            self._leader_epoch_cache.clear()
            self._local_log.delete_dir()

    # ---- append ---------------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: MemoryRecords,
        leader_epoch: int,
        is_from_client: bool = True,
        verification_guard: VerificationGuard | None = None,
    ) -> LogAppendInfo:
        """Append batches, giving them the next offsets and the leader epoch, in place in `records`' buffer.

        With a guard a transaction is begun only by a batch whose guard (of maybe_start_transaction_verification) has
        lasted until now; the sentinel begins none. Without one nobody asks.
        Raises KafkaStorageException for a disk error, and what is wrong with the records: CorruptRecordException,
        RecordTooLargeException, RecordBatchTooLargeException, InvalidTimestampException, OutOfOrderSequenceException…
        """
        return self._append(records, is_from_client, True, leader_epoch, verification_guard)

    def append_as_follower(self, records: MemoryRecords) -> LogAppendInfo:
        """Append batches with the offsets and epochs that their leader gave them, of whatever size.

        The leader has accepted them, perhaps when max.message.bytes and segment.bytes were larger: a follower that
        refused them could never catch up.
        Raises KafkaStorageException, OffsetsOutOfOrderException, UnexpectedAppendOffsetException.
        """
        return self._append(records, False, False, -1, None)

    def _append(
        self,
        records: MemoryRecords,
        is_from_client: bool,
        assign_offsets: bool,
        leader_epoch: int,
        verification_guard: VerificationGuard | None,
    ) -> LogAppendInfo:
        # 1. check sizes and checksums, count
        append_info = self._analyze_and_validate_records(records, is_from_client, ignore_record_size=not assign_offsets)
        if append_info.shallow_count == 0:
            return append_info
        # 2. cut off a partial batch at the end
        valid_records = records
        if append_info.valid_bytes != len(records.buffer):
            valid_records = trim_invalid_bytes(records, append_info)
        local_log = self._local_log
        with self.lock:
            try:
                local_log.check_if_memory_mapped_buffer_closed()
                local_log.check_for_log_dir_failure()
                # 3. give offsets, or check the given ones
                if assign_offsets:
                    valid_records = self._assign_offsets(
                        valid_records, records, append_info, leader_epoch, is_from_client
                    )
                else:
                    check_given_offsets(
                        records, append_info, local_log.log_end_offset, self.topic_partition, self.log_start_offset
                    )
                # 4. note a new leader epoch
                has_producer = False
                for batch in valid_records.batches():
                    if type(batch) is DefaultRecordBatch:
                        header = batch.header
                        self._leader_epoch_cache.assign(header[PARTITION_LEADER_EPOCH], header[BASE_OFFSET])
                        if header[PRODUCER_ID] > -1:
                            has_producer = True
                    else:
                        self._leader_epoch_cache.clear_and_flush_if_begun(batch.last_offset())
                # 5. a batch has to fit in a segment
                size = len(valid_records.buffer)
                if assign_offsets and size > local_log.config.segment_size:
                    raise RecordBatchTooLargeException(
                        f"Message batch size is {size} bytes which exceeds the maximum configured segment size of "
                        f"{local_log.config.segment_size}."
                    )
                # 6. check producer ids and sequences; a batch sent again is answered as the first time
                updated_producers, completed_txns, maybe_duplicate = (
                    self._analyze_and_validate_producer_state(
                        valid_records, is_from_client, not assign_offsets, verification_guard
                    )
                    if has_producer
                    else _NO_PRODUCER
                )
                if maybe_duplicate is not None:
                    append_info.first_offset = maybe_duplicate.first_offset
                    append_info.last_offset = maybe_duplicate.last_offset
                    append_info.log_append_time = maybe_duplicate.timestamp
                    append_info.log_start_offset = self.log_start_offset
                    return append_info
                self._write(valid_records, size, append_info, updated_producers, completed_txns)
                return append_info
            except OSError as e:
                msg = f"Error while appending records to {self.topic_partition} in dir {self.parent_dir}"
                raise local_log.storage_exception(msg, e) from e

    def _write(
        self,
        valid_records: MemoryRecords,
        size: int,
        append_info: LogAppendInfo,
        updated_producers: dict[int, ProducerAppendInfo],
        completed_txns: list[CompletedTxn],
    ) -> None:
        """The rest of an append, from the file on. Caller holds lock."""
        first_offset, last_offset = append_info.first_offset, append_info.last_offset
        # 7. begin a new segment if the active one is full or old
        segment = self._maybe_roll(size, append_info.max_timestamp, last_offset)
        # 8. write
        log_offset_metadata = (
            LogOffsetMetadata(first_offset, segment.base_offset, segment.log.size_in_bytes())
            if updated_producers
            else LogOffsetMetadata.UNKNOWN_OFFSET_METADATA
        )
        segment.append(
            first_offset,
            last_offset,
            append_info.max_timestamp,
            append_info.offset_of_max_timestamp,
            valid_records,
        )
        # 9. remember what the producers wrote, and which transactions ended
        manager = self.producer_state_manager
        if updated_producers:
            for producer_append_info in updated_producers.values():
                producer_append_info.maybe_cache_txn_first_offset_metadata(log_offset_metadata)
                manager.update(producer_append_info)
            for completed_txn in completed_txns:
                last_stable_offset = manager.complete_txn(completed_txn)
                segment.update_txn_index(completed_txn, last_stable_offset)
        next_offset = last_offset + 1
        manager.update_map_end_offset(next_offset)
        # 10. let readers see it
        self._update_log_end_offset(next_offset)
        if self.first_unstable_offset is not None or manager.first_unstable_offset is not None:
            self._update_first_unstable_offset()
        if self.logger.trace_enabled:
            self.trace(
                "Appended message set with last offset: %d, first offset: %d, next offset: %d, and messages: %s",
                last_offset,
                first_offset,
                next_offset,
                valid_records,
            )
        # 11. sync if as many messages as flush.messages says are not on disk
        local_log = self._local_log
        if next_offset - local_log.recovery_point >= local_log.config.flush_interval:
            self.flush()

    def _assign_offsets(
        self,
        valid_records: MemoryRecords,
        records: MemoryRecords,
        append_info: LogAppendInfo,
        leader_epoch: int,
        is_from_client: bool,
    ) -> MemoryRecords:
        """Validate the records and stamp offsets on them; the records to write. Caller holds lock."""
        config = self._local_log.config
        timestamp_type = config.message_timestamp_type
        offset = LongRef(self._local_log.next_offset_metadata.message_offset)
        append_info.first_offset = offset.value
        now = self._time.milliseconds()
        try:
            result = LogValidator.validate_messages_and_assign_offsets(
                valid_records,
                offset,
                self._time,
                now,
                append_info.source_codec,
                append_info.target_codec,
                config.compact,
                config.record_version,
                timestamp_type,
                config.message_timestamp_difference_max_ms,
                leader_epoch,
                is_from_client,
            )
        except OSError as e:
            raise KafkaException(f"Error in validating messages while appending to log '{self.name}'") from e
        append_info.max_timestamp = result.max_timestamp
        append_info.offset_of_max_timestamp = result.shallow_offset_of_max_timestamp
        append_info.last_offset = offset.value - 1
        append_info.records_processing_stats = result.records_processing_stats
        if timestamp_type is TimestampType.LOG_APPEND_TIME:
            append_info.log_append_time = now
        if result.message_size_maybe_changed:  # converted or compressed again
            for batch in result.validated_records.batches():
                if batch.size_in_bytes() > config.max_message_size:
                    # the size that the client sent, as for batches refused before
                    self._mark_bytes_rejected(records.size_in_bytes())
                    raise RecordTooLargeException(
                        f"Message batch size is {batch.size_in_bytes()} bytes which exceeds the maximum configured "
                        f"size of {config.max_message_size}."
                    )
        return result.validated_records

    def _analyze_and_validate_producer_state(
        self,
        records: MemoryRecords,
        is_from_client: bool,
        is_replicated: bool,
        verification_guard: VerificationGuard | None,
    ) -> tuple[dict[int, ProducerAppendInfo], list[CompletedTxn], BatchMetadata | None]:
        """What the batches change for their producers, the transactions they end, and a duplicate if one is."""
        return analyze_and_validate_producer_state(
            self.producer_state_manager, records, is_from_client, is_replicated, verification_guard
        )

    def maybe_start_transaction_verification(
        self, producer_id: int, sequence: int, producer_epoch: int
    ) -> VerificationGuard:
        """The guard to be shown by the batch that begins a transaction; the sentinel if one is open already [3.7.1]."""
        with self.lock:
            manager = self.producer_state_manager
            if manager.has_ongoing_transaction(producer_id):
                return VerificationGuard.SENTINEL
            now = self._time.milliseconds()
            entry = manager.maybe_create_verification_state_entry(producer_id, sequence, producer_epoch, now)
            return entry.verification_guard

    def _analyze_and_validate_records(
        self, records: MemoryRecords, is_from_client: bool, ignore_record_size: bool
    ) -> LogAppendInfo:
        """Check size and checksum of each batch; note offsets, largest timestamp, codec, count and valid bytes."""
        config = self._local_log.config
        try:
            return analyze_and_validate_records(
                records,
                is_from_client,
                _INT_MAX if ignore_record_size else config.max_message_size,
                config.compression_type,
                self.log_start_offset,
            )
        except RecordTooLargeException:
            self._mark_bytes_rejected(records.size_in_bytes())
            raise

    def _mark_bytes_rejected(self, size: int) -> None:
        self._broker_topic_stats.topic_stats(self.topic_partition.topic).bytes_rejected_rate.mark(size)
        self._broker_topic_stats.all_topics_stats.bytes_rejected_rate.mark(size)

    @property
    def high_watermark(self) -> int:
        """As last told by the replica; the log start, below which nothing is taken back, as long as there is none."""
        high_watermark = self.replica_high_watermark
        return self.log_start_offset if high_watermark is None else high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Below it every record is replicated and every transaction decided."""
        first_unstable = self.first_unstable_offset
        high_watermark = self.high_watermark
        return high_watermark if first_unstable is None else min(first_unstable.message_offset, high_watermark)

    def _lower_high_watermark(self, end_offset: int) -> None:
        """What was above `end_offset` is gone: what comes next in its place is not replicated. Caller holds lock."""
        if self.replica_high_watermark is not None and self.replica_high_watermark > end_offset:
            self.replica_high_watermark = end_offset

    def on_high_watermark_incremented(self, high_watermark: int) -> None:
        """The partition's high watermark grew: transactions ended below it become stable."""
        with self.lock:
            if self.first_unstable_offset is None and self.producer_state_manager.first_unstable_offset is None:
                self.replica_high_watermark = high_watermark  # no transaction, nothing to become stable
                return
            self.replica_high_watermark = high_watermark
            self.producer_state_manager.on_high_watermark_updated(high_watermark)
            self._update_first_unstable_offset()

    def maybe_increment_log_start_offset(self, new_log_start_offset: int) -> None:
        """Raise the first offset that clients may read; a lower one is ignored. Raises KafkaStorageException.

        It is written to log-start-offset-checkpoint later: a crash of all replicas in between brings the records back.
        """
        with (
            self.maybe_handle_io_exception(
                f"Exception while increasing log start offset for {self.topic_partition} to {new_log_start_offset} "
                f"in dir {self.parent_dir}"
            ),
            self.lock,
        ):
            self._local_log.check_if_memory_mapped_buffer_closed()
            if new_log_start_offset > self.log_start_offset:
                self.info("Incrementing log start offset to %d", new_log_start_offset)
                self.log_start_offset = new_log_start_offset
                self._leader_epoch_cache.clear_and_flush_earliest(new_log_start_offset)
                self.producer_state_manager.truncate_head(new_log_start_offset)
                self._update_first_unstable_offset()

    # ---- read -----------------------------------------------------------------------------------------------------

    def read_uncommitted(
        self, start_offset: int, max_length: int, max_offset: int | None = None, min_one_message: bool = False
    ) -> FetchDataInfo:
        """`read` without regard to transactions."""
        return self.read(start_offset, max_length, max_offset, min_one_message, IsolationLevel.READ_UNCOMMITTED)

    def read(
        self,
        start_offset: int,
        max_length: int,
        max_offset: int | None = None,
        min_one_message: bool = False,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> FetchDataInfo:
        """Up to `max_length` bytes of batches, from the one with `start_offset` up to `max_offset` (exclusive).

        `min_one_message`: at least one whole batch, however large. READ_COMMITTED adds the aborted transactions.
        Raises OffsetOutOfRangeException, KafkaStorageException.
        """
        return self._local_log.read(
            start_offset,
            max_length,
            max_offset,
            min_one_message,
            isolation_level is IsolationLevel.READ_COMMITTED,
            self.log_start_offset,
        )

    def fetch_offsets_by_timestamp(self, target_timestamp: int) -> TimestampOffset | None:
        """The first message at or after a timestamp (ms), None if there is none; -1 asks for the end, -2 the start.

        Raises UnsupportedForMessageFormatException if the log's format has no timestamps.
        """
        with self.maybe_handle_io_exception(f"Error while fetching offset by timestamp for {self.place}"):
            self.debug("Searching offset for timestamp %d", target_timestamp)
            version = self.config.message_format_version
            special = target_timestamp in (_EARLIEST_TIMESTAMP, _LATEST_TIMESTAMP)
            if version < KAFKA_0_10_0_IV0 and not special:
                raise UnsupportedForMessageFormatException(
                    f"Cannot search offsets based on timestamp because message format version for partition "
                    f"{self.topic_partition} is {version} which is earlier than the minimum required version "
                    f"{KAFKA_0_10_0_IV0}"
                )
            if target_timestamp == _EARLIEST_TIMESTAMP:
                return TimestampOffset(_NO_TIMESTAMP, self.log_start_offset)
            if target_timestamp == _LATEST_TIMESTAMP:
                return TimestampOffset(_NO_TIMESTAMP, self.log_end_offset)
            return self._local_log.search_offset(target_timestamp, self.log_start_offset)

    def convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata | None:
        """Where `offset` lies, None if it is out of range."""
        try:
            return self.read_uncommitted(offset, 1).fetch_offset_metadata
        except OffsetOutOfRangeException:
            return None

    # ---- retention ------------------------------------------------------------------------------------------------

    def delete_old_segments(self) -> int:
        """Apply retention by time, by size and by log start offset; the number of segments deleted."""
        return self._retention.delete_old_segments()

    def delete_segment(self, segment: LogSegment) -> None:
        """Take a segment out of the log and delete its files some time later. Caller holds lock."""
        self._local_log.check_if_memory_mapped_buffer_closed()
        self._local_log.delete_segment(segment)

    # ---- roll and flush -------------------------------------------------------------------------------------------

    def _maybe_roll(
        self, messages_size: int, max_timestamp_in_messages: int, max_offset_in_messages: int
    ) -> LogSegment:
        """The segment to append to: a new one if the active one is full, too old, or too far from the offsets."""
        segment = self.segments.snapshot[1][-1]
        if not segment.should_roll(messages_size, max_timestamp_in_messages, max_offset_in_messages):
            return segment
        if self.is_debug_enabled:
            now = self._time.milliseconds()
            self.debug("Rolling new log segment (%s).", segment.fill_level(now, max_timestamp_in_messages))
        # Offsets in one append differ by less than 2^31, so this is never above the first of them, which a follower
        # would have to decompress to know. The log end alone may be too low: in a compacted log the next offset may
        # be more than 2^31 away.
        return self.roll(max_offset_in_messages - _INT_MAX)

    def roll(self, expected_next_offset: int = 0) -> LogSegment:
        """Begin a new active segment at the log end; the old one is trimmed, and flushed in the background.

        Raises KafkaStorageException, KafkaException if the active segment begins there already.
        """
        with self.maybe_handle_io_exception(f"Error while rolling log segment for {self.place}"):
            start = self._time.hi_res_clock_ms()
            with self.lock:
                self._local_log.check_if_memory_mapped_buffer_closed()
                segment = self._local_log.roll(expected_next_offset, self._take_producer_snapshot_at)
                new_offset = segment.base_offset
                self._local_log.scheduler.schedule("flush-log", lambda: self.flush(new_offset), delay=0)
                elapsed_ms = self._time.hi_res_clock_ms() - start
                self.info("Rolled new log segment at offset %d in %d ms.", new_offset, elapsed_ms)
                return segment

    def _take_producer_snapshot_at(self, base_offset: int) -> None:
        """What recovery of a new segment will begin with; its base may lie behind the log end, so the state goes there.

        Caller holds lock.
        """
        self.producer_state_manager.update_map_end_offset(base_offset)
        self.producer_state_manager.take_snapshot()

    @property
    def unflushed_messages(self) -> int:
        """Messages that are not known to be on disk."""
        return self._local_log.unflushed_messages

    @property
    def last_flush_time(self) -> int:
        """When the whole log was last on disk, in ms."""
        return self._local_log.last_flush_time

    def flush(self, offset: int | None = None) -> None:
        """Sync the segments that hold offsets below `offset` (default: the log end), the new recovery point.

        Raises KafkaStorageException.
        """
        target = self.log_end_offset if offset is None else offset

        local_log = self._local_log
        with self.maybe_handle_io_exception(f"Error while flushing log for {self.place} with offset {target}"):
            if target <= local_log.recovery_point:
                return
            local_log.flush(target)
            with self.lock:
                local_log.mark_flushed(target)

    # ---- truncation -----------------------------------------------------------------------------------------------

    def truncate_to(self, target_offset: int) -> bool:
        """Remove everything from `target_offset` on; False if there is nothing. Raises KafkaStorageException."""
        with self.maybe_handle_io_exception(f"Error while truncating log to offset {target_offset} for {self.place}"):
            if target_offset < 0:
                raise ValueError(f"Cannot truncate {self.topic_partition} to a negative offset ({target_offset}).")
            if target_offset >= self.log_end_offset:
                self.info(
                    "Truncating to %d has no effect as the largest offset in the log is %d",
                    target_offset,
                    self.log_end_offset - 1,
                )
                # of an epoch that it was elected in it may have appended nothing (KAFKA-10706)
                with self.lock:
                    self._leader_epoch_cache.clear_and_flush_latest(self.log_end_offset)
                return False
            self.info("Truncating to offset %d", target_offset)
            with self.lock:
                self._local_log.check_if_memory_mapped_buffer_closed()
                if self.segments.snapshot[0][0] > target_offset:
                    self.truncate_fully_and_start_at(target_offset)
                    return True
                self._local_log.truncate_to(target_offset)
                self._lower_high_watermark(target_offset)
                self._local_log.lower_recovery_point(target_offset)
                self.log_start_offset = min(target_offset, self.log_start_offset)
                self._leader_epoch_cache.clear_and_flush_latest(target_offset)
                self._load_producer_state(target_offset)
            return True

    def truncate_fully_and_start_at(self, new_offset: int) -> None:
        """Remove everything and begin again at `new_offset`; raises KafkaStorageException."""
        with self.maybe_handle_io_exception(f"Error while truncating the entire log for {self.place}"):
            self.debug("Truncate and start at offset %d", new_offset)
            with self.lock:
                self._local_log.check_if_memory_mapped_buffer_closed()
                self._local_log.truncate_fully_and_start_at(new_offset)
                self._lower_high_watermark(new_offset)
                self._leader_epoch_cache.clear_and_flush()
                self.producer_state_manager.truncate()
                self.producer_state_manager.update_map_end_offset(new_offset)
                self._update_first_unstable_offset()
                self._local_log.lower_recovery_point(new_offset)
                self.log_start_offset = new_offset

    def __repr__(self) -> str:
        return f"Log({self.dir})"
