"""The log of one partition: an append-only sequence of record batches in segment files.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1
Read next: local_log.py (segments), log_loader.py (start-up and recovery), log_segment.py, producer_state_manager.py

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
from bisect import bisect_right
from typing import TYPE_CHECKING

from kafka_py.api.api_version import KAFKA_0_10_0_IV0
from kafka_py.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    KafkaException,
    OffsetOutOfRangeException,
    OffsetsOutOfOrderException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    UnexpectedAppendOffsetException,
    UnsupportedForMessageFormatException,
)
from kafka_py.common.long_ref import LongRef
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.utils.utils import flush_dir_if_exists
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_loader import LogLoader
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.log_validator import LogValidator
from kafka_py.log.producer_state_entry import CompletedTxn
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.message.compression_codec import BrokerCompressionCodec, CompressionCodec, NoCompressionCodec
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.concurrent import AtomicLong

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.producer_state_entry import BatchMetadata, ProducerAppendInfo
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

__all__ = ["CompletedTxn", "Log", "LogAppendInfo"]

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_NO_TIMESTAMP = -1
_EARLIEST_TIMESTAMP = -2  # ListOffsetRequest.EARLIEST_TIMESTAMP
_LATEST_TIMESTAMP = -1  # ListOffsetRequest.LATEST_TIMESTAMP
_LOG_OVERHEAD = 12

# what an append without producer ids changes for producers; nobody writes into it
_NO_PRODUCER: tuple[dict[int, ProducerAppendInfo], list[CompletedTxn], BatchMetadata | None] = ({}, [], None)


class Log(LogLoader):
    """A partition's log. Appends go to the active segment; reads may begin in any.

    `log_start_offset` is the first offset that clients may read: it is raised by DeleteRecords requests and by
    retention. `recovery_point` is the first offset that is not known to be on disk.

    Mirrors: kafka.log.Log
    Thread: any. Appends come from handlers and fetchers, flushes and deletions from the scheduler.
    Locks: `lock` for every change. Append writes to the file under it: the order of offsets is the order in the file.
    Differs: readers take no lock: they read immutable snapshots (`segments.snapshot`, `next_offset_metadata`).
        Overloads: `flush(offset=None)`, `log_segments_between(from_, to)`, `_delete_old_segments(predicate, reason)`,
        `_collect_aborted_transactions(…, starting_segment)`. `fetch_offsets_by_timestamp` skips segments below the log
        start, where Kafka finds nothing and answers so. New segment.bytes and segment.ms hold for the active segment
        at once (KAFKA-7366). A flush brings new files' names to the disk as well (KAFKA-3968). A batch without epoch
        ends the epochs (KAFKA-7897). A follower's append may be larger than max.message.bytes (KAFKA-9617, in 2.6) and
        than segment.bytes (3.8 still refuses it): the leader has accepted it. The cleaner asks for `high_watermark` and
        `last_stable_offset` (KAFKA-13194), which are members here since 2.4; the mark is still Replica's own, as in
        1.1.1, which tells it. The base classes hold what later versions of Kafka moved out of this class.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str],
        config: LogConfig,
        log_start_offset: int,
        recovery_point: int,
        scheduler: Scheduler,
        broker_topic_stats: BrokerTopicStats,
        time: Time,
        max_producer_id_expiration_ms: int,
        producer_id_expiration_check_interval_ms: int,
        topic_partition: TopicPartition,
        producer_state_manager: ProducerStateManager,
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        super().__init__(
            dir,
            config,
            log_start_offset,
            recovery_point,
            scheduler,
            time,
            max_producer_id_expiration_ms,
            topic_partition,
            producer_state_manager,
            log_dir_failure_channel,
        )
        self._broker_topic_stats = broker_topic_stats
        self.producer_id_expiration_check_interval_ms = producer_id_expiration_check_interval_ms
        self._last_flushed_time = AtomicLong(time.milliseconds())  # atomic
        # segments with offsets at or above it are neither deleted nor cleaned; None until there is a Replica
        self._replica_high_watermark: int | None = None  # volatile: writer under lock
        self._load()
        self._register_metrics()
        self._producer_expire_check = scheduler.schedule(
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
    ) -> Log:
        """Open or create the log in `dir`, whose name says topic and partition; raises OSError, KafkaException."""
        topic_partition = cls.parse_topic_partition_name(dir)
        producer_state_manager = ProducerStateManager(topic_partition, dir, max_producer_id_expiration_ms)
        return cls(
            dir,
            config,
            log_start_offset,
            recovery_point,
            scheduler,
            broker_topic_stats,
            time,
            max_producer_id_expiration_ms,
            producer_id_expiration_check_interval_ms,
            topic_partition,
            producer_state_manager,
            log_dir_failure_channel,
        )

    def update_config(self, updated_keys: Collection[str], new_config: LogConfig) -> None:
        """Replace the configuration; the next append and the next retention check use it."""
        max_diff_ms = new_config.message_timestamp_difference_max_ms
        ages = {LogConfig.RETENTION_MS_PROP, LogConfig.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP}
        # one warning per topic
        if self.topic_partition.partition == 0 and new_config.retention_ms < max_diff_ms and ages & {*updated_keys}:
            self.warn(
                "%s for topic %s is set to %d. It is smaller than %s's value %d. This may result in frequent log "
                "rolling.",
                LogConfig.RETENTION_MS_PROP,
                self.topic_partition.topic,
                new_config.retention_ms,
                LogConfig.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP,
                max_diff_ms,
            )
        with self.lock:
            self.config = new_config
            if not self.segments.is_empty:
                self._give_limits(self.active_segment)

    def _remove_expired_producers(self) -> None:  # runs on: kafka-scheduler
        with self.lock:
            self.producer_state_manager.remove_expired_producers(self._time.milliseconds())

    # ---- closing --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write a producer snapshot and close the files; raises KafkaStorageException."""
        self.debug("Closing log")
        with self.lock:
            self._check_if_memory_mapped_buffer_closed()
            self._cancel_producer_expire_check()

            def close_segments() -> None:
                # so that the next start need not scan the log for producers
                self.producer_state_manager.take_snapshot()
                for segment in self.log_segments:
                    segment.close()

            self._maybe_handle_io_exception(
                lambda: f"Error while renaming dir for {self.topic_partition} in dir {self.dir.parent}", close_segments
            )

    def _cancel_producer_expire_check(self) -> None:
        if self._producer_expire_check is not None:
            self._producer_expire_check.cancel()

    def rename_dir(self, name: str) -> None:
        """Rename the log's directory; raises KafkaStorageException."""
        with self.lock:

            def rename() -> None:
                renamed_dir = self.dir.parent / name
                os.replace(self.dir, renamed_dir)
                if renamed_dir != self.dir:
                    self.dir = renamed_dir
                    for segment in self.log_segments:
                        segment.update_dir(renamed_dir)
                    self.producer_state_manager.log_dir = renamed_dir
                    # its checkpoint file moved as well
                    self._leader_epoch_cache = self._initialize_leader_epoch_cache()

            self._maybe_handle_io_exception(
                lambda: f"Error while renaming dir for {self.topic_partition} in log dir {self.dir.parent}", rename
            )

    def close_handlers(self) -> None:
        """Close the files without writing, because the log directory is offline."""
        self.debug("Closing handlers")
        with self.lock:
            self._cancel_producer_expire_check()
            for segment in self.log_segments:
                segment.close_handlers()
            self._is_memory_mapped_buffer_closed = True

    def delete(self) -> None:
        """Delete the directory and all in it, at once; raises KafkaStorageException."""

        def delete_all() -> None:
            with self.lock:
                self._check_if_memory_mapped_buffer_closed()
                self._cancel_producer_expire_check()
                self.remove_log_metrics()
                for segment in self.log_segments:
                    segment.delete_if_exists()
                self.segments.clear()
                self._leader_epoch_cache.clear()
                self.delete_tree(self.dir)
                self._is_memory_mapped_buffer_closed = True

        self._maybe_handle_io_exception(
            lambda: f"Error while deleting log for {self.topic_partition} in dir {self.dir.parent}", delete_all
        )

    # ---- append ---------------------------------------------------------------------------------------------------

    def append_as_leader(self, records: MemoryRecords, leader_epoch: int, is_from_client: bool = True) -> LogAppendInfo:
        """Append batches, giving them the next offsets and the leader epoch, in place in `records`' buffer.

        Raises KafkaStorageException for a disk error, and what is wrong with the records: CorruptRecordException,
        RecordTooLargeException, RecordBatchTooLargeException, InvalidTimestampException, OutOfOrderSequenceException…
        """
        return self._append(records, is_from_client, True, leader_epoch)

    def append_as_follower(self, records: MemoryRecords) -> LogAppendInfo:
        """Append batches with the offsets and epochs that their leader gave them, of whatever size.

        The leader has accepted them, perhaps when max.message.bytes and segment.bytes were larger: a follower that
        refused them could never catch up.
        Raises KafkaStorageException, OffsetsOutOfOrderException, UnexpectedAppendOffsetException.
        """
        return self._append(records, False, False, -1)

    def _append(
        self, records: MemoryRecords, is_from_client: bool, assign_offsets: bool, leader_epoch: int
    ) -> LogAppendInfo:
        # 1. check sizes and checksums, count
        append_info = self._analyze_and_validate_records(records, is_from_client, ignore_record_size=not assign_offsets)
        if append_info.shallow_count == 0:
            return append_info
        # 2. cut off a partial batch at the end
        valid_records = records
        if append_info.valid_bytes != len(records.buffer):
            valid_records = self._trim_invalid_bytes(records, append_info)
        with self.lock:
            try:
                self._check_if_memory_mapped_buffer_closed()
                self._check_for_log_dir_failure()
                # 3. give offsets, or check the given ones
                if assign_offsets:
                    valid_records = self._assign_offsets(
                        valid_records, records, append_info, leader_epoch, is_from_client
                    )
                else:
                    self._check_given_offsets(records, append_info)
                # 4. note a new leader epoch
                has_producer = False
                for batch in valid_records.batches():
                    if type(batch) is DefaultRecordBatch:
                        header = batch.header
                        self._leader_epoch_cache.assign(header[2], header[0])
                        if header[9] > -1:
                            has_producer = True
                    else:
                        self._leader_epoch_cache.clear_and_flush_if_begun(batch.last_offset())
                # 5. a batch has to fit in a segment
                size = len(valid_records.buffer)
                if assign_offsets and size > self.config.segment_size:
                    raise RecordBatchTooLargeException(
                        f"Message batch size is {size} bytes which exceeds the maximum configured segment size of "
                        f"{self.config.segment_size}."
                    )
                # 6. check producer ids and sequences; a batch sent again is answered as the first time
                updated_producers, completed_txns, maybe_duplicate = (
                    self._analyze_and_validate_producer_state(valid_records, is_from_client, not assign_offsets)
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
                msg = f"Error while appending records to {self.topic_partition} in dir {self.dir.parent}"
                raise self._storage_exception(msg, e) from e

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
        # 11. sync if so many messages are not
        if next_offset - self.recovery_point >= self.config.flush_interval:
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
        config = self.config
        timestamp_type = config.message_timestamp_type
        offset = LongRef(self.next_offset_metadata.message_offset)
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

    def _check_given_offsets(self, records: MemoryRecords, append_info: LogAppendInfo) -> None:
        """Refuse a follower's append that goes backwards, in itself or against the log. Caller holds lock."""
        if not append_info.offsets_monotonic:
            raise OffsetsOutOfOrderException(
                f"Out of order offsets found in append to {self.topic_partition}: "
                f"{[record.offset() for record in records.records()]}"
            )
        next_offset = self.next_offset_metadata.message_offset
        if append_info.first_offset < next_offset:
            # an empty log can still take it: DeleteRecords may have moved the leader's start into a batch; that needs
            # the true first offset, which may have to be decompressed
            first_offset = next(iter(records.batches())).base_offset()
            offsets = [record.offset() for record, _ in zip(records.records(), range(10), strict=False)]
            raise UnexpectedAppendOffsetException(
                f"Unexpected offset in append to {self.topic_partition}. First offset or last offset of the first "
                f"batch {append_info.first_offset} is less than the next offset {next_offset}. First 10 offsets in "
                f"append: {offsets}, last offset in append: {append_info.last_offset}. Log start offset = "
                f"{self.log_start_offset}",
                first_offset,
                append_info.last_offset,
            )

    def _analyze_and_validate_producer_state(
        self, records: MemoryRecords, is_from_client: bool, is_replicated: bool
    ) -> tuple[dict[int, ProducerAppendInfo], list[CompletedTxn], BatchMetadata | None]:
        """What the batches change for their producers, the transactions they end, and a duplicate if one is."""
        manager = self.producer_state_manager
        updated_producers: dict[int, ProducerAppendInfo] = {}
        completed_txns: list[CompletedTxn] = []
        for batch in records.batches():
            if not batch.has_producer_id():
                continue
            if is_from_client:
                # any of the producer's last five batches may come again
                last_entry = manager.last_entry(batch.producer_id())
                duplicate = None if last_entry is None else last_entry.find_duplicate_batch(batch)
                if duplicate is not None:
                    return updated_producers, completed_txns, duplicate
            completed_txn = self._update_producers(manager, batch, updated_producers, is_from_client, is_replicated)
            if completed_txn is not None:
                completed_txns.append(completed_txn)
        return updated_producers, completed_txns, None

    def _analyze_and_validate_records(
        self, records: MemoryRecords, is_from_client: bool, ignore_record_size: bool
    ) -> LogAppendInfo:
        """Check size and checksum of each batch; note offsets, largest timestamp, codec, count and valid bytes."""
        shallow_message_count = 0
        valid_bytes_count = 0
        first_offset = last_offset = -1
        source_codec = NoCompressionCodec
        monotonic = True
        max_timestamp = _NO_TIMESTAMP
        offset_of_max_timestamp = -1
        config = self.config
        max_message_size = _INT_MAX if ignore_record_size else config.max_message_size
        for batch in records.batches():
            compressed = True  # until it is known not to be
            if type(batch) is DefaultRecordBatch:
                header = batch.header
                compressed = header[5] & 7 != 0  # the codec's bits of the attributes
                batch_first_offset = header[0]
                # older formats come from older clients, which do not always begin at 0
                if is_from_client and batch_first_offset != 0:
                    raise InvalidRecordException(
                        f"The baseOffset of the record batch should be 0, but it is {batch_first_offset}"
                    )
                batch_last_offset = batch_first_offset + header[6]
                batch_size = header[1] + _LOG_OVERHEAD
                batch_max_timestamp = header[8]
            else:
                batch_first_offset = batch_last_offset = batch.last_offset()
                batch_size = batch.size_in_bytes()
                batch_max_timestamp = batch.max_timestamp()
            if first_offset < 0:
                first_offset = batch_first_offset
            if last_offset >= batch_last_offset:
                monotonic = False
            last_offset = batch_last_offset
            if batch_size > max_message_size:
                self._mark_bytes_rejected(records.size_in_bytes())
                raise RecordTooLargeException(
                    f"The record batch size is {batch_size} bytes which exceeds the maximum configured value of "
                    f"{max_message_size}."
                )
            batch.ensure_valid()
            if batch_max_timestamp > max_timestamp:
                max_timestamp = batch_max_timestamp
                offset_of_max_timestamp = last_offset
            shallow_message_count += 1
            valid_bytes_count += batch_size
            if compressed and (codec_id := batch.compression_type().id):
                source_codec = CompressionCodec.get_compression_codec(codec_id)
        target_codec = source_codec
        if config.compression_type != "producer":
            target_codec = BrokerCompressionCodec.get_target_compression_codec(config.compression_type, source_codec)
        return LogAppendInfo(
            first_offset,
            last_offset,
            max_timestamp,
            offset_of_max_timestamp,
            _NO_TIMESTAMP,
            self.log_start_offset,
            RecordsProcessingStats.EMPTY,
            source_codec,
            target_codec,
            shallow_message_count,
            valid_bytes_count,
            monotonic,
        )

    def _mark_bytes_rejected(self, size: int) -> None:
        self._broker_topic_stats.topic_stats(self.topic_partition.topic).bytes_rejected_rate.mark(size)
        self._broker_topic_stats.all_topics_stats.bytes_rejected_rate.mark(size)

    def _trim_invalid_bytes(self, records: MemoryRecords, info: LogAppendInfo) -> MemoryRecords:
        """The records without the partial batch at their end."""
        valid_bytes = info.valid_bytes
        if valid_bytes < 0:
            raise CorruptRecordException(
                f"Illegal length of message set {valid_bytes} Message set cannot be appended to log. Possible causes "
                "are corrupted produce requests"
            )
        return MemoryRecords.readable_records(records.buffer[:valid_bytes])

    @property
    def high_watermark(self) -> int:
        """As last told by the replica; the log start, below which nothing is taken back, as long as there is none."""
        high_watermark = self._replica_high_watermark
        return self.log_start_offset if high_watermark is None else high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Below it every record is replicated and every transaction decided."""
        first_unstable = self.first_unstable_offset
        high_watermark = self.high_watermark
        return high_watermark if first_unstable is None else min(first_unstable.message_offset, high_watermark)

    def _lower_high_watermark(self, end_offset: int) -> None:
        """What was above `end_offset` is gone: what comes next in its place is not replicated. Caller holds lock."""
        if self._replica_high_watermark is not None and self._replica_high_watermark > end_offset:
            self._replica_high_watermark = end_offset

    def on_high_watermark_incremented(self, high_watermark: int) -> None:
        """The partition's high watermark grew: transactions ended below it become stable."""
        with self.lock:
            if self.first_unstable_offset is None and self.producer_state_manager.first_unstable_offset is None:
                self._replica_high_watermark = high_watermark  # no transaction, nothing to become stable
                return
            self._replica_high_watermark = high_watermark
            self.producer_state_manager.on_high_watermark_updated(high_watermark)
            self._update_first_unstable_offset()

    def maybe_increment_log_start_offset(self, new_log_start_offset: int) -> None:
        """Raise the first offset that clients may read; a lower one is ignored. Raises KafkaStorageException.

        It is written to log-start-offset-checkpoint later: a crash of all replicas in between brings the records back.
        """

        def increment() -> None:
            with self.lock:
                self._check_if_memory_mapped_buffer_closed()
                if new_log_start_offset > self.log_start_offset:
                    self.info("Incrementing log start offset to %d", new_log_start_offset)
                    self.log_start_offset = new_log_start_offset
                    self._leader_epoch_cache.clear_and_flush_earliest(new_log_start_offset)
                    self.producer_state_manager.truncate_head(new_log_start_offset)
                    self._update_first_unstable_offset()

        self._maybe_handle_io_exception(
            lambda: (
                f"Exception while increasing log start offset for {self.topic_partition} to {new_log_start_offset} "
                f"in dir {self.dir.parent}"
            ),
            increment,
        )

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
        try:
            if self.logger.trace_enabled:
                self.trace("Reading %d bytes from offset %d of length %d bytes", max_length, start_offset, self.size)
            # taken once: an append may move it while we read
            next_metadata = self.next_offset_metadata
            next_offset = next_metadata.message_offset
            if start_offset == next_offset:
                no_aborted: list[FetchResponse.AbortedTransaction] | None = (
                    [] if isolation_level is IsolationLevel.READ_COMMITTED else None
                )
                return FetchDataInfo(next_metadata, MemoryRecords.EMPTY, False, no_aborted)
            offsets, segments = self.segments.snapshot
            i = bisect_right(offsets, start_offset) - 1
            if start_offset > next_offset or i < 0 or start_offset < self.log_start_offset:
                raise OffsetOutOfRangeException(
                    f"Request for offset {start_offset} but we only have log segments in the range "
                    f"{self.log_start_offset} to {next_offset}."
                )
            segment: LogSegment | None = segments[i]
            # a compacted segment may hold nothing from the offset on: then the next one does
            while segment is not None:
                fetch_info = segment.read(
                    start_offset, max_offset, max_length, self._exposed_position(segment), min_one_message
                )
                if fetch_info is not None:
                    if isolation_level is IsolationLevel.READ_COMMITTED:
                        return self._add_aborted_transactions(start_offset, segment, fetch_info)
                    return fetch_info
                segment = self.segments.higher_segment(segment.base_offset)
            # all messages behind the start offset have been deleted
            return FetchDataInfo(self.next_offset_metadata, MemoryRecords.EMPTY)
        except OSError as e:
            msg = f"Exception while reading from {self.topic_partition} in dir {self.dir.parent}"
            raise self._storage_exception(msg, e) from e

    def _exposed_position(self, segment: LogSegment) -> int:
        """Up to where a segment may be read: in the active one, what is written may not be announced yet."""
        if segment is self.segments.snapshot[1][-1]:
            exposed = self.next_offset_metadata.relative_position_in_segment
            # rolled meanwhile? then the position may belong to the new segment, and all of this one is announced
            if segment is self.segments.snapshot[1][-1]:
                return exposed
        return segment.log.size_in_bytes()

    def fetch_offsets_by_timestamp(self, target_timestamp: int) -> TimestampOffset | None:
        """The first message at or after a timestamp (ms), None if there is none; -1 asks for the end, -2 the start.

        Raises UnsupportedForMessageFormatException if the log's format has no timestamps.
        """

        def fetch() -> TimestampOffset | None:
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
            # segments wholly below the log start, and those that compaction has left empty, cannot answer
            segments = [s for s in self.log_segments_between(self.log_start_offset, _LONG_MAX) if s.size]
            target = next((segment for segment in segments if segment.largest_timestamp >= target_timestamp), None)
            return None if target is None else target.find_offset_by_timestamp(target_timestamp, self.log_start_offset)

        return self._maybe_handle_io_exception(
            lambda: f"Error while fetching offset by timestamp for {self.topic_partition} in dir {self.dir.parent}",
            fetch,
        )

    def convert_to_offset_metadata(self, offset: int) -> LogOffsetMetadata | None:
        """Where `offset` lies, None if it is out of range."""
        try:
            return self.read_uncommitted(offset, 1).fetch_offset_metadata
        except OffsetOutOfRangeException:
            return None

    # ---- retention ------------------------------------------------------------------------------------------------

    def _delete_old_segments(self, predicate: Callable[[LogSegment, LogSegment | None], bool], reason: str) -> int:
        """Delete segments from the oldest on while `predicate(segment, next segment)` holds; how many."""
        with self.lock:
            deletable = self._deletable_segments(predicate)
            if deletable:
                self.info(
                    "Found deletable segments with base offsets [%s] due to %s",
                    ",".join(str(segment.base_offset) for segment in deletable),
                    reason,
                )
            return self._delete_segments(deletable)

    def _delete_segments(self, deletable: list[LogSegment]) -> int:
        def delete() -> int:
            if deletable:
                # a log has at least one segment
                if len(self.segments) == len(deletable):
                    self.roll()
                with self.lock:
                    self._check_if_memory_mapped_buffer_closed()
                    for segment in deletable:
                        self._delete_segment(segment)
                    self.maybe_increment_log_start_offset(self.segments.snapshot[0][0])
            return len(deletable)

        return self._maybe_handle_io_exception(
            lambda: f"Error while deleting segments for {self.topic_partition} in dir {self.dir.parent}", delete
        )

    def _deletable_segments(self, predicate: Callable[[LogSegment, LogSegment | None], bool]) -> list[LogSegment]:
        """The oldest segments for which `predicate` holds, none of them reaching the high watermark.

        An empty last segment is not among them: it would only be made again.
        """
        high_watermark = self._replica_high_watermark
        if self.segments.is_empty or high_watermark is None:
            return []
        deletable = []
        segments = self.log_segments
        for i, segment in enumerate(segments):
            next_segment = segments[i + 1] if i + 1 < len(segments) else None
            upper_bound_offset = self.log_end_offset if next_segment is None else next_segment.base_offset
            is_last_segment_and_empty = next_segment is None and segment.size == 0
            if high_watermark < upper_bound_offset or not predicate(segment, next_segment) or is_last_segment_and_empty:
                break
            deletable.append(segment)
        return deletable

    def delete_old_segments(self) -> int:
        """Apply retention by time, by size and by log start offset; the number of segments deleted."""
        if not self.config.delete:
            return 0
        return (
            self._delete_retention_ms_breached_segments()
            + self._delete_retention_size_breached_segments()
            + self._delete_log_start_offset_breached_segments()
        )

    def _delete_retention_ms_breached_segments(self) -> int:
        retention_ms = self.config.retention_ms
        if retention_ms < 0:
            return 0
        start_ms = self._time.milliseconds()
        return self._delete_old_segments(
            lambda segment, _: start_ms - segment.largest_timestamp > retention_ms,
            reason=f"retention time {retention_ms}ms breach",
        )

    def _delete_retention_size_breached_segments(self) -> int:
        retention_size = self.config.retention_size
        if retention_size < 0 or self.size < retention_size:
            return 0
        diff = self.size - retention_size

        def should_delete(segment: LogSegment, _: LogSegment | None) -> bool:
            nonlocal diff
            if diff - segment.size < 0:
                return False
            diff -= segment.size
            return True

        return self._delete_old_segments(should_delete, reason=f"retention size in bytes {retention_size} breach")

    def _delete_log_start_offset_breached_segments(self) -> int:
        return self._delete_old_segments(
            lambda _, after: after is not None and after.base_offset <= self.log_start_offset,
            reason=f"log start offset {self.log_start_offset} breach",
        )

    # ---- roll and flush -------------------------------------------------------------------------------------------

    def _maybe_roll(
        self, messages_size: int, max_timestamp_in_messages: int, max_offset_in_messages: int
    ) -> LogSegment:
        """The segment to append to: a new one if the active one is full, too old, or too far from the offsets."""
        segment = self.segments.snapshot[1][-1]
        if not segment.should_roll(messages_size, max_timestamp_in_messages, max_offset_in_messages):
            return segment
        now = self._time.milliseconds()
        if self.is_debug_enabled:
            self.debug(
                "Rolling new log segment (log_size = %d/%d, offset_index_size = %d/%d, time_index_size = %d/%d, "
                "inactive_time_ms = %d/%d).",
                segment.size,
                self.config.segment_size,
                segment.offset_index.entries,
                segment.offset_index.max_entries,
                segment.time_index.entries,
                segment.time_index.max_entries,
                segment.time_waited_for_roll(now, max_timestamp_in_messages),
                self.config.segment_ms - segment.roll_jitter_ms,
            )
        # Offsets in one append differ by less than 2^31, so this is never above the first of them, which a follower
        # would have to decompress to know. The log end alone may be too low: in a compacted log the next offset may
        # be more than 2^31 away.
        return self.roll(max_offset_in_messages - _INT_MAX)

    def roll(self, expected_next_offset: int = 0) -> LogSegment:
        """Begin a new active segment at the log end; the old one is trimmed, and flushed in the background.

        Raises KafkaStorageException, KafkaException if the active segment begins there already.
        """
        return self._maybe_handle_io_exception(
            lambda: f"Error while rolling log segment for {self.topic_partition} in dir {self.dir.parent}",
            lambda: self._roll(expected_next_offset),
        )

    def _roll(self, expected_next_offset: int) -> LogSegment:
        start = self._time.hi_res_clock_ms()
        with self.lock:
            self._check_if_memory_mapped_buffer_closed()
            new_offset = max(expected_next_offset, self.log_end_offset)
            for file_of in (self.log_file, self.offset_index_file, self.time_index_file, self.transaction_index_file):
                file = file_of(self.dir, new_offset)
                if file.exists():
                    self.warn("Newly rolled segment file %s already exists; deleting it first", file)
                    file.unlink()
            last_segment = self.segments.last_segment
            if last_segment is not None:
                last_segment.on_become_inactive_segment()
            # a snapshot at the new base offset is what recovery of the new segment will begin with; the base may lie
            # behind the log end, so the state is moved there first
            self.producer_state_manager.update_map_end_offset(new_offset)
            self.producer_state_manager.take_snapshot()
            segment = LogSegment.open(
                self.dir,
                new_offset,
                self.config,
                self._time,
                file_already_exists=False,
                init_file_size=self.init_file_size,
                preallocate=self.config.preallocate,
            )
            if self.add_segment(segment) is not None:
                raise KafkaException(
                    f"Trying to roll a new log segment for topic partition {self.name} with start offset {new_offset} "
                    "while it already exists."
                )
            # same next offset, but it will be written to the new segment
            self._update_log_end_offset(self.next_offset_metadata.message_offset)
            self._scheduler.schedule("flush-log", lambda: self.flush(new_offset), delay=0)
            self.info("Rolled new log segment at offset %d in %d ms.", new_offset, self._time.hi_res_clock_ms() - start)
            return segment

    @property
    def unflushed_messages(self) -> int:
        """Messages that are not known to be on disk."""
        return self.log_end_offset - self.recovery_point

    @property
    def last_flush_time(self) -> int:
        """When the whole log was last on disk, in ms."""
        return self._last_flushed_time.get()

    def flush(self, offset: int | None = None) -> None:
        """Sync the segments that hold offsets below `offset` (default: the log end), the new recovery point.

        Raises KafkaStorageException.
        """
        target = self.log_end_offset if offset is None else offset

        def flush_segments() -> None:
            if target <= self.recovery_point:
                return
            if self.is_debug_enabled:
                self.debug(
                    "Flushing log up to offset %d, last flushed: %d,  current time: %d, unflushed: %d",
                    target,
                    self.last_flush_time,
                    self._time.milliseconds(),
                    self.unflushed_messages,
                )
            segments = self.log_segments_between(self.recovery_point, target)
            for segment in segments:
                segment.flush()
            if segments and segments[-1].base_offset >= self.recovery_point:  # its name may be new in the directory
                flush_dir_if_exists(self.dir)
            with self.lock:
                self._check_if_memory_mapped_buffer_closed()
                if (flushed := min(target, self.log_end_offset)) > self.recovery_point:  # was it cut meanwhile?
                    self.recovery_point = flushed
                    self._last_flushed_time.set(self._time.milliseconds())

        self._maybe_handle_io_exception(
            lambda: (
                f"Error while flushing log for {self.topic_partition} in dir {self.dir.parent} with offset {target}"
            ),
            flush_segments,
        )

    # ---- truncation -----------------------------------------------------------------------------------------------

    def truncate_to(self, target_offset: int) -> bool:
        """Remove everything from `target_offset` on; False if there is nothing. Raises KafkaStorageException."""

        def truncate() -> bool:
            if target_offset < 0:
                raise ValueError(
                    f"Cannot truncate partition {self.topic_partition} to a negative offset ({target_offset})."
                )
            if target_offset >= self.log_end_offset:
                self.info(
                    "Truncating to %d has no effect as the largest offset in the log is %d",
                    target_offset,
                    self.log_end_offset - 1,
                )
                return False
            self.info("Truncating to offset %d", target_offset)
            with self.lock:
                self._check_if_memory_mapped_buffer_closed()
                if self.segments.snapshot[0][0] > target_offset:
                    self.truncate_fully_and_start_at(target_offset)
                    return True
                self._delete_newest_first([s for s in self.log_segments if s.base_offset > target_offset])
                self.active_segment.truncate_to(target_offset)
                self._give_limits(self.active_segment)  # it may be older than the present ones
                self._update_log_end_offset(target_offset)
                self._lower_high_watermark(target_offset)
                self.recovery_point = min(target_offset, self.recovery_point)
                self.log_start_offset = min(target_offset, self.log_start_offset)
                self._leader_epoch_cache.clear_and_flush_latest(target_offset)
                self._load_producer_state(target_offset, reload_from_clean_shutdown=False)
            return True

        return self._maybe_handle_io_exception(
            lambda: (
                f"Error while truncating log to offset {target_offset} for {self.topic_partition} in dir "
                f"{self.dir.parent}"
            ),
            truncate,
        )

    def truncate_fully_and_start_at(self, new_offset: int) -> None:
        """Remove everything and begin again at `new_offset`; raises KafkaStorageException."""

        def truncate() -> None:
            self.debug("Truncate and start at offset %d", new_offset)
            with self.lock:
                self._check_if_memory_mapped_buffer_closed()
                for segment in self.log_segments:
                    self._delete_segment(segment)
                self.add_segment(
                    LogSegment.open(
                        self.dir,
                        new_offset,
                        self.config,
                        self._time,
                        file_already_exists=False,
                        init_file_size=self.init_file_size,
                        preallocate=self.config.preallocate,
                    )
                )
                self._update_log_end_offset(new_offset)
                self._lower_high_watermark(new_offset)
                self._leader_epoch_cache.clear_and_flush()
                self.producer_state_manager.truncate()
                self.producer_state_manager.update_map_end_offset(new_offset)
                self._update_first_unstable_offset()
                self.recovery_point = min(new_offset, self.recovery_point)
                self.log_start_offset = new_offset

        self._maybe_handle_io_exception(
            lambda: f"Error while truncating the entire log for {self.topic_partition} in dir {self.dir.parent}",
            truncate,
        )

    def __repr__(self) -> str:
        return f"Log({self.dir})"
