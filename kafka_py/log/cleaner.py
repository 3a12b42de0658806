"""Compaction of one log.

Mirrors: core/src/main/scala/kafka/log/LogCleaner.scala @ 1.1.1 (its class Cleaner)
Read next: batch_filter.py (what becomes of a batch), offset_map.py, cleaned_transaction_metadata.py, local_log.py
(replace_segments: how the result takes the place of the old segments)
"""

from __future__ import annotations

import time as clock
from bisect import bisect_left
from typing import TYPE_CHECKING

import crc32c

from kafka_py.common.errors import CorruptRecordException, IllegalStateException
from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
from kafka_py.common.record.buffer_supplier import BufferSupplier
from kafka_py.common.record.default_record_batch import (
    ATTRIBUTES,
    BASE_OFFSET,
    CRC,
    LAST_OFFSET_DELTA,
    RECORDS_COUNT,
    DefaultRecordBatch,
)
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.log.batch_filter import BatchFilter
from kafka_py.log.cleaned_transaction_metadata import CleanedTransactionMetadata
from kafka_py.log.cleaner_stats import CleanerStats
from kafka_py.log.log import Log
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.record_keys import batches_of, index_keys, records_data
from kafka_py.utils.logging import Logging
from kafka_py.utils.yield_gil import GilYielder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafka_py.common.record.default_record_batch import BatchHeader
    from kafka_py.common.record.file_records import FileRecords
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.batch_filter import RetainedBatch
    from kafka_py.log.cleaner_stats import LogToClean
    from kafka_py.log.offset_map import OffsetMap
    from kafka_py.utils.throttler import Throttler

_crc32c = crc32c.crc32c

_INT_MAX = 2**31 - 1
_CONTROL = 0x20
_TRANSACTIONAL_OR_CONTROL = 0x30
_SIZE_AT = 8
_CHECKED_FROM = 21

# What is kept goes to the new segment in pieces of about this size, each of which may get an index entry.
_PIECE_BYTES = 16 * 1024
_MIN_BUFFER = 1024
_YIELD_US = 1000


class Cleaner(Logging):
    """Removes from a log what a later record with the same key has made obsolete.

    A pass has two halves. 1. From the dirty segments a map of key -> last offset is built, as far as the map's
    memory goes. 2. All segments up to there are copied without the records for which the map has a later offset,
    several small ones into one, and the copy takes their place. Offsets never change. Tombstones (records without
    value) stay until they have been in the clean part for delete.retention.ms.

    Mirrors: kafka.log.Cleaner
    Thread: its cleaner thread.
    Differs: the two I/O buffers are only sizes here: data is read as bytes objects. What newer versions mended is
        mended: transactions are followed across all segments of a pass and to the end of its last one; a batch that
        is larger than max.message.bytes is no error if the segment really holds it; a copy that failed is deleted;
        and the batches are checked before their keys are believed.
    Left out: writeBuffer -- there is no write buffer
    """

    logger_name = "kafka.log.LogCleaner"

    def __init__(
        self,
        id: int,
        offset_map: OffsetMap,
        io_buffer_size: int,
        max_io_buffer_size: int,
        dup_buffer_load_factor: float,
        throttler: Throttler,
        time: Time,
        check_done: Callable[[TopicPartition], None],
    ) -> None:
        if offset_map.slots * dup_buffer_load_factor <= 1:
            raise ValueError(
                "requirement failed: offset map is too small to fit in even a single message, so log cleaning will "
                "never make progress. You can increase log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads"
            )
        self.id = id
        self.log_ident = f"Cleaner {id}: "
        self.offset_map = offset_map
        self._io_buffer_size = io_buffer_size
        self._max_io_buffer_size = max_io_buffer_size
        self._dup_buffer_load_factor = dup_buffer_load_factor
        self._throttler = throttler
        self._time = time
        self._check_done = check_done
        # how many bytes are read at a time
        self._read_buffer = io_buffer_size  # thread: cleaner
        self._decompression_buffer_supplier = BufferSupplier.create()  # thread: cleaner
        self._yielder = GilYielder(_YIELD_US)  # thread: cleaner

    # ---- a pass ---------------------------------------------------------------------------------------------------

    def clean(self, cleanable: LogToClean) -> tuple[int, CleanerStats]:
        """Clean a log; the first offset that was not, and what was done.

        Raises LogCleaningAbortedException, OSError, KafkaStorageException, CorruptRecordException...
        """
        # tombstones are counted as clean from the time when the last clean segment was written
        clean_segments = cleanable.log.log_segments_between(0, cleanable.first_dirty_offset)
        delete_horizon_ms = 0
        if clean_segments:
            delete_horizon_ms = clean_segments[-1].last_modified - cleanable.log.config.delete_retention_ms
        return self.do_clean(cleanable, delete_horizon_ms)

    def do_clean(self, cleanable: LogToClean, delete_horizon_ms: int) -> tuple[int, CleanerStats]:
        """clean(), keeping tombstones in segments modified after `delete_horizon_ms`."""
        log = cleanable.log
        self.info("Beginning cleaning of log %s.", log.name)
        stats = CleanerStats(self._time)

        self.info("Building offset map for %s...", log.name)
        upper_bound_offset = cleanable.first_uncleanable_offset
        self.build_offset_map(log, cleanable.first_dirty_offset, upper_bound_offset, self.offset_map, stats)
        end_offset = self.offset_map.latest_offset + 1
        stats.index_done()

        cleanable_segments = log.log_segments_between(0, upper_bound_offset)
        cleanable_horizon_ms = cleanable_segments[-1].last_modified if cleanable_segments else 0
        self.info(
            "Cleaning log %s (cleaning prior to %s, discarding tombstones prior to %s)...",
            log.name,
            _date(cleanable_horizon_ms),
            _date(delete_horizon_ms),
        )
        transaction_metadata = CleanedTransactionMetadata()
        for group in self.group_segments_by_size(
            log.log_segments_between(0, end_offset),
            log.config.segment_size,
            log.config.max_index_size,
            upper_bound_offset,
        ):
            self.clean_segments(log, group, self.offset_map, delete_horizon_ms, stats, transaction_metadata)

        stats.buffer_utilization = self.offset_map.utilization
        stats.all_done()
        return end_offset, stats

    # ---- second half: copying -------------------------------------------------------------------------------------

    def clean_segments(
        self,
        log: Log,
        segments: Sequence[LogSegment],
        map: OffsetMap,  # noqa: A002  # Kafka's name
        delete_horizon_ms: int,
        stats: CleanerStats,
        transaction_metadata: CleanedTransactionMetadata | None = None,
    ) -> None:
        """Copy what is to be kept of some segments into one, and put that in their place.

        When this fails before the copy is complete, the copy is deleted and the log is as before.
        """
        transaction_metadata = transaction_metadata or CleanedTransactionMetadata()
        first_segment = segments[0]
        for part in (first_segment.log, first_segment.offset_index, first_segment.time_index, first_segment.txn_index):
            part.file.with_name(part.file.name + LogFileUtils.CLEANED_FILE_SUFFIX).unlink(missing_ok=True)
        cleaned = LogSegment.open(
            log.dir,
            first_segment.base_offset,
            log.config,
            self._time,
            file_suffix=LogFileUtils.CLEANED_FILE_SUFFIX,
            init_file_size=log.config.init_file_size,
            preallocate=log.config.preallocate,
        )
        transaction_metadata.transaction_index = cleaned.txn_index
        try:
            for i, segment in enumerate(segments):
                next_segment = segments[i + 1] if i + 1 < len(segments) else None
                self._clean_segment(
                    log, segment, next_segment, cleaned, map, delete_horizon_ms, stats, transaction_metadata
                )
            cleaned.on_become_inactive_segment()
            cleaned.flush()  # before the segments that it replaces go
            # the time from which tombstones and retention are counted stays that of the originals
            cleaned.last_modified = segments[-1].last_modified
        except BaseException as e:
            try:
                cleaned.delete_if_exists()
            except OSError as delete_exception:
                e.add_note(f"and the cleaned segment could not be deleted: {delete_exception}")
            raise
        self.info(
            "Swapping in cleaned segment %d for segment(s) %s in log %s",
            cleaned.base_offset,
            ",".join(str(segment.base_offset) for segment in segments),
            log.name,
        )
        log.replace_segments(cleaned, list(segments))

    def _clean_segment(
        self,
        log: Log,
        segment: LogSegment,
        next_segment: LogSegment | None,
        cleaned: LogSegment,
        map: OffsetMap,  # noqa: A002
        delete_horizon_ms: int,
        stats: CleanerStats,
        transaction_metadata: CleanedTransactionMetadata,
    ) -> None:
        start_offset = segment.base_offset
        # to the very end, even if the map ends before: the index of the copy has to be complete
        upper_bound_offset = segment.read_next_offset() if next_segment is None else next_segment.base_offset
        transaction_metadata.add_aborted_transactions(
            log.collect_aborted_transactions(start_offset, upper_bound_offset)
        )
        retain_deletes = segment.last_modified > delete_horizon_ms
        self.info(
            "Cleaning segment %d in log %s (largest timestamp %s) into %d, %s deletes.",
            start_offset,
            log.name,
            _date(segment.largest_timestamp),
            cleaned.base_offset,
            "retaining" if retain_deletes else "discarding",
        )
        self.clean_into(
            log.topic_partition,
            segment.log,
            cleaned,
            map,
            retain_deletes,
            log.config.max_message_size,
            transaction_metadata,
            log.active_producers_with_last_data_offset(),
            stats,
        )

    def clean_into(
        self,
        topic_partition: TopicPartition,
        source_records: FileRecords,
        dest: LogSegment,
        map: OffsetMap,  # noqa: A002
        retain_deletes: bool,
        max_log_message_size: int,
        transaction_metadata: CleanedTransactionMetadata,
        active_producers: Mapping[int, int],
        stats: CleanerStats,
    ) -> None:
        """Append to `dest` what is to be kept of a segment's file; `active_producers`: their last offsets."""

        def should_discard_batch(batch: RecordBatch) -> bool:
            # markers stay as long as tombstones, so that every consumer sees them
            return self._should_discard_batch(batch, transaction_metadata, retain_txn_markers=retain_deletes)

        def should_retain_record(batch: RecordBatch, record: Record) -> bool:
            return self._should_retain_record(map, retain_deletes, batch, record, stats)

        batch_filter = BatchFilter(
            topic_partition,
            map,
            retain_deletes,
            max_log_message_size,
            active_producers,
            should_discard_batch,
            should_retain_record,
            stats.invalid_message,
            self._decompression_buffer_supplier,
        )
        position = 0
        limit = source_records.size_in_bytes()
        while position < limit:
            self._check_done(topic_partition)
            data = self._read(source_records, position)
            self._throttler.maybe_throttle(len(data))
            result = batch_filter.filter(data)
            stats.read_messages(result.messages_read, result.bytes_read)
            position += result.bytes_read
            if result.retained:
                written = self._append_retained(dest, result.retained, stats)
                self._throttler.maybe_throttle(written)
            # not even one whole batch fitted
            if result.bytes_read == 0:
                self._grow_for(source_records, position, data, max_log_message_size)
        self.restore_buffers()

    def _append_retained(self, dest: LogSegment, retained: list[RetainedBatch], stats: CleanerStats) -> int:
        """Write batches to the copy, which nobody else knows yet: no lock is needed. Returns the bytes."""
        written = messages = size = 0
        piece: list[RetainedBatch] = []
        for batch in retained:
            piece.append(batch)
            size += len(batch.data)
            messages += batch.messages
            if size >= _PIECE_BYTES:
                self._append_piece(dest, piece)
                written += size
                piece, size = [], 0
        if piece:
            self._append_piece(dest, piece)
            written += size
        stats.recopy_messages(messages, written)
        return written

    def _append_piece(self, dest: LogSegment, piece: list[RetainedBatch]) -> None:
        largest = piece[0]
        for batch in piece:
            if batch.max_timestamp > largest.max_timestamp:
                largest = batch
        dest.append(
            first_offset=piece[0].base_offset,
            largest_offset=piece[-1].last_offset,
            largest_timestamp=largest.max_timestamp,
            shallow_offset_of_max_timestamp=largest.shallow_offset_of_max_timestamp,
            records=MemoryRecords(b"".join([batch.data for batch in piece])),
        )
        self._yielder.maybe_yield()

    def _should_discard_batch(
        self, batch: RecordBatch, transaction_metadata: CleanedTransactionMetadata, retain_txn_markers: bool
    ) -> bool:
        if batch.is_control_batch():
            return transaction_metadata.on_control_batch_read(batch) and not retain_txn_markers
        return transaction_metadata.on_batch_read(batch)

    def _should_retain_record(
        self,
        map: OffsetMap,  # noqa: A002
        retain_deletes: bool,
        batch: RecordBatch,
        record: Record,
        stats: CleanerStats,
    ) -> bool:
        """For the formats before magic 2; BatchFilter decides the same for the records of a batch at once."""
        if record.offset() > map.latest_offset:
            return True
        key = record.key()
        if key is None:
            stats.invalid_message()
            return False
        redundant = record.offset() < map.get(bytes(key))
        obsolete_delete = not retain_deletes and not record.has_value()
        return not redundant and not obsolete_delete

    # ---- buffers --------------------------------------------------------------------------------------------------

    def _read(self, records: FileRecords, position: int) -> bytes:
        size = min(self._read_buffer, records.size_in_bytes() - position)
        return records.channel().read(size, position)

    def _grow_for(self, records: FileRecords, position: int, data: bytes, max_log_message_size: int) -> None:
        """Make the buffer larger; CorruptRecordException if the file cannot hold the batch at position."""
        max_size = max(max_log_message_size, self._max_io_buffer_size)
        if self._read_buffer >= max_size:
            left = records.size_in_bytes() - position
            batch_size = left + 1
            if len(data) >= LOG_OVERHEAD:
                batch_size = int.from_bytes(data[_SIZE_AT:LOG_OVERHEAD], "big", signed=True) + LOG_OVERHEAD
            if batch_size > left:
                raise CorruptRecordException(
                    f"Log segment may be corrupt, batch size {batch_size} > {left} bytes left in segment {records.file}"
                )
            max_size = batch_size
        self.grow_buffers(max_size)

    def grow_buffers(self, max_log_message_size: int) -> None:
        """Double the buffer size, up to the larger of this and the cleaner's limit; IllegalStateException there."""
        max_buffer_size = max(max_log_message_size, self._max_io_buffer_size)
        if self._read_buffer >= max_buffer_size:
            raise IllegalStateException(
                f"This log contains a message larger than maximum allowable size of {max_buffer_size}."
            )
        new_size = min(max(self._read_buffer * 2, _MIN_BUFFER), max_buffer_size)
        self.info("Growing cleaner I/O buffers from %dbytes to %d bytes.", self._read_buffer, new_size)
        self._read_buffer = new_size

    def restore_buffers(self) -> None:
        """Go back to the configured size."""
        self._read_buffer = self._io_buffer_size

    # ---- groups ---------------------------------------------------------------------------------------------------

    def group_segments_by_size(
        self, segments: Sequence[LogSegment], max_size: int, max_index_size: int, first_uncleanable_offset: int
    ) -> list[list[LogSegment]]:
        """Neighbouring segments that together fit into one segment, by log, index and offset range."""
        grouped: list[list[LogSegment]] = []
        i = 0
        while i < len(segments):
            group = [segments[i]]
            log_size = segments[i].size
            index_size = segments[i].offset_index.size_in_bytes
            time_index_size = segments[i].time_index.size_in_bytes
            i += 1
            while (
                i < len(segments)
                and log_size + segments[i].size <= max_size
                and index_size + segments[i].offset_index.size_in_bytes <= max_index_size
                and time_index_size + segments[i].time_index.size_in_bytes <= max_index_size
                and self._last_offset_for_first_segment(segments, i, first_uncleanable_offset) - group[0].base_offset
                <= _INT_MAX
            ):
                group.append(segments[i])
                log_size += segments[i].size
                index_size += segments[i].offset_index.size_in_bytes
                time_index_size += segments[i].time_index.size_in_bytes
                i += 1
            grouped.append(group)
        return grouped

    def _last_offset_for_first_segment(
        self, segments: Sequence[LogSegment], i: int, first_uncleanable_offset: int
    ) -> int:
        """An upper bound of the last offset of segment i; the exact one would have to be read from the file."""
        if i + 1 < len(segments):
            return segments[i + 1].base_offset - 1
        return first_uncleanable_offset - 1

    # ---- first half: the map --------------------------------------------------------------------------------------

    def build_offset_map(
        self,
        log: Log,
        start: int,
        end: int,
        map: OffsetMap,  # noqa: A002
        stats: CleanerStats,
    ) -> None:
        """Fill the map with the last offset of each key in [start, end), or as far as it goes."""
        map.clear()
        dirty = log.log_segments_between(start, end)
        self.info(
            "Building offset map for log %s for %d segments in offset range [%d, %d).", log.name, len(dirty), start, end
        )
        transaction_metadata = CleanedTransactionMetadata(log.collect_aborted_transactions(start, end))
        for i, segment in enumerate(dirty):
            self._check_done(log.topic_partition)
            full = self._build_offset_map_for_segment(
                log.topic_partition, segment, map, start, log.config.max_message_size, transaction_metadata, stats
            )
            if full:
                self.debug(
                    "Offset map is full, %d segments fully mapped, segment with base offset %d is partially mapped",
                    i,
                    segment.base_offset,
                )
                break
        self.info("Offset map for log %s complete.", log.name)

    def _build_offset_map_for_segment(
        self,
        topic_partition: TopicPartition,
        segment: LogSegment,
        map: OffsetMap,  # noqa: A002
        start_offset: int,
        max_log_message_size: int,
        transaction_metadata: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> bool:
        """Add the records of a segment; whether the map became full within it."""
        position = segment.offset_index.lookup(start_offset).position
        max_desired_map_size = int(map.slots * self._dup_buffer_load_factor)
        limit = segment.log.size_in_bytes()
        while position < limit:
            self._check_done(topic_partition)
            data = self._read(segment.log, position)
            self._throttler.maybe_throttle(len(data))
            filling = _MapFilling(self, map, start_offset, max_desired_map_size, transaction_metadata, stats)
            if filling.add_batches(data):
                self.restore_buffers()
                return True
            position += filling.bytes_read
            stats.index_bytes_read(filling.bytes_read)
            if filling.bytes_read == 0:
                self._grow_for(segment.log, position, data, max_log_message_size)
        self.restore_buffers()
        return False


class _MapFilling:
    """Brings the batches of one read into the map, as many keys at a time as there is surely room for."""

    __slots__ = (
        "_keys",
        "_latest_offset",
        "_map",
        "_max_desired_map_size",
        "_offsets",
        "_room",
        "_start_offset",
        "_stats",
        "_supplier",
        "_transaction_metadata",
        "_yielder",
        "bytes_read",
    )

    def __init__(
        self,
        cleaner: Cleaner,
        map: OffsetMap,  # noqa: A002
        start_offset: int,
        max_desired_map_size: int,
        transaction_metadata: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> None:
        self._supplier = cleaner._decompression_buffer_supplier
        self._yielder = cleaner._yielder  # thread: cleaner
        self._map = map
        self._start_offset = start_offset
        self._max_desired_map_size = max_desired_map_size
        self._transaction_metadata = transaction_metadata
        self._stats = stats
        self._keys: list[bytes] = []  # thread: cleaner
        self._offsets: list[int] = []  # thread: cleaner
        self._room = max_desired_map_size - map.size  # thread: cleaner
        self._latest_offset = -1  # thread: cleaner
        self.bytes_read = 0  # thread: cleaner

    def add_batches(self, data: bytes) -> bool:
        """Add the whole batches at the beginning of data; whether the map became full before their end."""
        view = memoryview(data)
        for start, end, header in batches_of(data):
            first = len(self._keys)
            messages, last_offset = self._add_keys(data, view, start, end, header)
            if first < len(self._keys) and self._offsets[first] < self._start_offset:
                known = bisect_left(self._offsets, self._start_offset, first)
                del self._keys[first:known], self._offsets[first:known]
            if len(self._keys) > self._room:
                full_at = self._put_up_to_limit(first)
                if full_at is not None:
                    self._stats.index_messages_read(_records_before(data[start:end], full_at))
                    return True
            self._stats.index_messages_read(messages)
            if last_offset >= self._start_offset:
                self._latest_offset = last_offset
            self.bytes_read = end
            self._yielder.maybe_yield()
        self._put()
        return False

    def _add_keys(
        self, data: bytes, view: memoryview, start: int, end: int, header: BatchHeader | None
    ) -> tuple[int, int]:
        """Note the keys of a batch that are to go into the map; its number of messages and its last offset."""
        if header is None:
            return self._add_legacy_keys(ByteBufferLegacyRecordBatch(view[start:end]))
        if _crc32c(view[start + _CHECKED_FROM : end], gil_release_mode=0) != header[CRC]:
            DefaultRecordBatch(view[start:end]).ensure_valid()  # raises
        last_offset = header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
        if header[ATTRIBUTES] & _TRANSACTIONAL_OR_CONTROL:
            batch = DefaultRecordBatch(view[start:end])
            if header[ATTRIBUTES] & _CONTROL:
                self._transaction_metadata.on_control_batch_read(batch)
                return 1, last_offset
            if self._transaction_metadata.on_batch_read(batch):
                return header[RECORDS_COUNT], last_offset
        records, records_start = records_data(data, start, end, header, self._supplier)
        index_keys(records, records_start, header, self._keys, self._offsets)
        return header[RECORDS_COUNT], last_offset

    def _add_legacy_keys(self, batch: ByteBufferLegacyRecordBatch) -> tuple[int, int]:
        messages = 0
        for record in batch:
            messages += 1
            key = record.key()
            if key is not None:
                self._keys.append(bytes(key))
                self._offsets.append(record.offset())
        return messages, batch.last_offset()

    def _put(self) -> None:
        """All that was noted goes into the map, which has room for it."""
        if self._keys:
            self._map.put_all(self._keys, self._offsets)
            self._keys, self._offsets = [], []
        if self._latest_offset >= 0:
            self._map.update_latest_offset(self._latest_offset)
        self._room = self._max_desired_map_size - self._map.size

    def _put_up_to_limit(self, first: int) -> int | None:
        """Put what is noted; of the last batch, from `first` on, as much as there is room for.

        Returns the offset for which there was none.
        """
        keys, offsets = self._keys[first:], self._offsets[first:]
        del self._keys[first:], self._offsets[first:]
        self._put()
        # keys that are known already take no room
        at = 0
        while at < len(keys):
            if self._room <= 0:
                return offsets[at]
            self._map.put_all(keys[at : at + self._room], offsets[at : at + self._room])
            at += self._room
            self._room = self._max_desired_map_size - self._map.size
        return None


def _records_before(batch: bytes, offset: int) -> int:
    return sum(record.offset() < offset for record in MemoryRecords(batch).records())


def _date(ms: int) -> str:
    """As java.util.Date prints it."""
    try:
        return clock.strftime("%a %b %d %H:%M:%S %Z %Y", clock.localtime(ms / 1000))
    except (OverflowError, ValueError, OSError):  # a test's idea of forever
        return str(ms)
