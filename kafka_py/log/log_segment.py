"""One segment of a log: a `.log` file and its indexes.

Mirrors: core/src/main/scala/kafka/log/LogSegment.scala @ 1.1.1
Read next: log.py, which owns the segments of a partition
"""

from __future__ import annotations

import os
import pathlib
import struct
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.default_record_batch import BASE_OFFSET
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.log.corrupt_index_exception import CorruptIndexException
from kafka_py.log.index_entry import OffsetPosition, TimestampOffset
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.offset_index import OffsetIndex
from kafka_py.log.time_index import TimeIndex
from kafka_py.log.transaction_index import AbortedTxn, TransactionIndex, TxnIndexSearchResult
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.kafka_timer import KafkaTimer
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.logging import Logging
from kafka_py.utils.yield_gil import GilYielder

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_config import LogConfig
    from kafka_py.log.producer_state_entry import CompletedTxn
    from kafka_py.log.producer_state_manager import ProducerStateManager
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache

_INT_MAX = 2**31 - 1
_NO_TIMESTAMP = -1
_BATCH_START = struct.Struct(">qi4xb")  # offset, length, leader epoch skipped, magic
_OFFSET = struct.Struct(">q")
_TAIL_LIMIT = 1024
_SANITY_SAMPLES = 16


class LogFlushStats(KafkaMetricsGroup):
    """How often and how long segments are synced to disk.

    Mirrors: kafka.log.LogFlushStats
    """

    log_flush_timer: ClassVar[KafkaTimer]


LogFlushStats.log_flush_timer = KafkaTimer(LogFlushStats().new_timer("LogFlushRateAndTimeMs"))


class LogSegment(Logging):
    """Record batches in one file, with an offset, a time and a transaction index over them.

    `base_offset` is not above any offset in the segment and above every offset in the segments before it.

    Mirrors: kafka.log.LogSegment
    Thread: writers hold Log.lock; any may read.
    Differs: the places of the last few hundred batches are kept in memory (`_tail`), so that reads near the end of
        the log, which are nearly all reads, need neither the index nor a scan of the file. `sanity_check` also
        looks whether index entries point at batches, which finds an index that is random bytes of the right length,
        and treats an index that had to be created anew as missing: the time index, too, which Kafka leaves empty, so
        that times are looked for in vain. `recover` also cuts at an impossible offset or magic, where Kafka drops the
        segment or writes a wrong index entry.
    """

    def __init__(
        self,
        log: FileRecords,
        offset_index: OffsetIndex,
        time_index: TimeIndex,
        txn_index: TransactionIndex,
        base_offset: int,
        index_interval_bytes: int,
        roll_jitter_ms: int,
        max_segment_ms: int,
        max_segment_bytes: int,
        time: Time,
    ) -> None:
        self.log = log
        self.offset_index = offset_index
        self.time_index = time_index
        self.txn_index = txn_index
        self.base_offset = base_offset
        self.index_interval_bytes = index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self.max_segment_ms = max_segment_ms  # volatile: writer under Log.lock
        self.max_segment_bytes = max_segment_bytes  # volatile: writer under Log.lock
        self.time = time
        self._created = time.milliseconds()  # volatile: writer under Log.lock
        self._bytes_since_last_index_entry = 0  # volatile: writer under Log.lock
        # timestamp of the first batch, from which the age of the segment is counted
        self._rolling_based_timestamp: int | None = None  # volatile: writer under Log.lock
        self._max_timestamp_so_far = time_index.last_entry.timestamp  # volatile: writer under Log.lock
        self._offset_of_max_timestamp = time_index.last_entry.offset  # volatile: writer under Log.lock
        # (first offset, last offset, position, size or 0 if more than one batch) of the last appends, oldest first;
        # readers take the list once, the writer appends to it or puts another one in its place
        self._tail: list[tuple[int, int, int, int]] = []  # volatile: writer under Log.lock

    @classmethod
    def open(
        cls,
        dir: str | os.PathLike[str],
        base_offset: int,
        config: LogConfig,
        time: Time,
        file_already_exists: bool = False,
        init_file_size: int = 0,
        preallocate: bool = False,
        file_suffix: str = "",
    ) -> LogSegment:
        """Open or create the files of a segment in `dir`; raises OSError."""
        max_index_size = config.max_index_size
        return cls(
            FileRecords.open(
                LogFileUtils.log_file(dir, base_offset, file_suffix),
                file_already_exists=file_already_exists,
                init_file_size=init_file_size,
                preallocate=preallocate,
            ),
            OffsetIndex(LogFileUtils.offset_index_file(dir, base_offset, file_suffix), base_offset, max_index_size),
            TimeIndex(LogFileUtils.time_index_file(dir, base_offset, file_suffix), base_offset, max_index_size),
            TransactionIndex(base_offset, LogFileUtils.transaction_index_file(dir, base_offset, file_suffix)),
            base_offset,
            index_interval_bytes=config.index_interval,
            roll_jitter_ms=config.random_segment_jitter(),
            max_segment_ms=config.segment_ms,
            max_segment_bytes=config.segment_size,
            time=time,
        )

    # ---- state ----------------------------------------------------------------------------------------------------

    def should_roll(
        self,
        messages_size: int,
        max_timestamp_in_messages: int,
        max_offset_in_messages: int,
        now: int | None = None,
    ) -> bool:
        """Whether an append of `messages_size` bytes must go to a new segment: by size, age, full index or offset.

        Without `now` the clock is read, if the age depends on it. An empty segment takes what is larger than
        segment.bytes, which only a follower appends: another one would begin at the same offset.
        """
        size = self.log.size_in_bytes()
        if size > 0:
            if size > self.max_segment_bytes - messages_size:
                return True
            first = self._rolling_based_timestamp
            if first is not None and first >= 0:
                waited = max_timestamp_in_messages - first
            else:
                waited = self.time_waited_for_roll(
                    self.time.milliseconds() if now is None else now, max_timestamp_in_messages
                )
            if waited > self.max_segment_ms - self.roll_jitter_ms:
                return True
        return (
            max_offset_in_messages - self.base_offset > _INT_MAX or self.offset_index.is_full or self.time_index.is_full
        )

    def resize_indexes(self, size: int) -> None:
        """Give both indexes room for `size` bytes of entries."""
        self.offset_index.resize(size)
        self.time_index.resize(size)

    def sanity_check(self, time_index_file_newly_created: bool, offset_index_file_newly_created: bool = False) -> None:
        """Raise CorruptIndexException if an index cannot be right, FileNotFoundError if there was none."""
        if not self.offset_index.file.exists() or (offset_index_file_newly_created and self.size > 0):
            raise FileNotFoundError(f"Offset index file {self.offset_index.file.absolute()} does not exist")
        self.offset_index.sanity_check()
        self._check_index_against_log()
        if time_index_file_newly_created:
            magic = self.log.channel().read(1, FileRecords.MAGIC_OFFSET)
            if magic > b"\0":  # the oldest format has no timestamps to index
                raise CorruptIndexException(f"Time index file {self.time_index.file.absolute()} did not exist")
            self.time_index.resize(0)
        self.time_index.sanity_check()
        self.txn_index.sanity_check()

    def _check_index_against_log(self) -> None:
        entries = self.offset_index.entries
        if entries == 0:
            return
        previous = OffsetPosition(-1, -1)
        size = self.size
        read = self.log.channel().read
        for i in sorted({entries - 1, *range(0, entries, max(entries // _SANITY_SAMPLES, 1))}):
            entry = self.offset_index.entry(i)
            ascending = entry.offset > previous.offset and entry.position > previous.position
            at = read(8, entry.position) if ascending and entry.position + 8 <= size else b""
            # batches of the older formats carry their last offset in front
            if len(at) < 8 or _OFFSET.unpack(at)[0] < entry.offset + self.base_offset:
                raise CorruptIndexException(
                    f"Corrupt index found, entry {i} of index file ({self.offset_index.file.absolute()}) does not "
                    "point at a batch of the log."
                )
            previous = entry

    @property
    def size(self) -> int:
        """Bytes of record batches."""
        return self.log.size_in_bytes()

    def can_convert_to_relative_offset(self, offset: int) -> bool:
        """Whether `offset` fits into an index entry of this segment."""
        return offset - self.base_offset <= _INT_MAX

    @property
    def largest_timestamp(self) -> int:
        """Largest timestamp in the segment, its file's modification time if it has none."""
        return self._max_timestamp_so_far if self._max_timestamp_so_far >= 0 else self.last_modified

    @property
    def last_modified(self) -> int:
        """Modification time of the file in ms."""
        try:
            return os.stat(self.log.file).st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return 0  # what java.io.File says of a missing file

    @last_modified.setter
    def last_modified(self, ms: int) -> None:
        for file in (self.log.file, self.offset_index.file, self.time_index.file):
            os.utime(file, ns=(ms * 1_000_000, ms * 1_000_000))

    def time_waited_for_roll(self, now: int, message_timestamp: int) -> int:
        """Age of the segment in ms, in message time if its first batch has a timestamp, else in wall clock time."""
        first = self._rolling_based_timestamp
        if first is None and self.log.size_in_bytes() > 0:
            batch = next(iter(self.log.batches()), None)
            if batch is not None:
                first = self._rolling_based_timestamp = batch.max_timestamp()
        if first is not None and first >= 0:
            return message_timestamp - first
        return now - self._created

    def fill_level(self, now: int, message_timestamp: int) -> str:
        """How far the segment is from its limits, for the debug line of a roll."""
        return (
            f"log_size = {self.size}/{self.max_segment_bytes}, "
            f"offset_index_size = {self.offset_index.entries}/{self.offset_index.max_entries}, "
            f"time_index_size = {self.time_index.entries}/{self.time_index.max_entries}, "
            f"inactive_time_ms = {self.time_waited_for_roll(now, message_timestamp)}/"
            f"{self.max_segment_ms - self.roll_jitter_ms}"
        )

    # ---- append ---------------------------------------------------------------------------------------------------

    def append(
        self,
        first_offset: int,
        largest_offset: int,
        largest_timestamp: int,
        shallow_offset_of_max_timestamp: int,
        records: MemoryRecords,
    ) -> None:
        """Write batches to the end of the file, and an index entry every `index_interval_bytes`.

        Raises OSError, or ValueError if an offset is too far from the base. Caller holds Log.lock.
        """
        size = len(records.buffer)
        if size <= 0:
            return
        log = self.log
        physical_position: int = log.size_in_bytes()
        trace = self.logger.trace_enabled
        if trace:
            self.trace(
                "Inserting %d bytes at offset %d at position %d with largest timestamp %d at shallow offset %d",
                size,
                first_offset,
                physical_position,
                largest_timestamp,
                shallow_offset_of_max_timestamp,
            )
        if physical_position == 0:
            self._rolling_based_timestamp = largest_timestamp
        if largest_offset - self.base_offset > _INT_MAX:
            raise ValueError("largest offset in message set can not be safely converted to relative offset.")
        makes_index_entry = self._bytes_since_last_index_entry > self.index_interval_bytes
        if makes_index_entry:  # what may fail without harm goes first: the process may have no descriptor left
            self.offset_index.open_for_append()
            self.time_index.open_for_append()
        appended_bytes = log.append(records)
        if trace:
            self.trace("Appended %d to %s at offset %d", appended_bytes, log.file, first_offset)
        if largest_timestamp > self._max_timestamp_so_far:
            self._max_timestamp_so_far = largest_timestamp
            self._offset_of_max_timestamp = shallow_offset_of_max_timestamp
        # the entry is made before this append counts, so the first append of a segment has none
        if makes_index_entry:
            self.offset_index.append(first_offset, physical_position)
            self.time_index.maybe_append(self._max_timestamp_so_far, self._offset_of_max_timestamp)
            self._bytes_since_last_index_entry = 0
        self._bytes_since_last_index_entry += size
        self._remember(records, largest_offset, physical_position, size)

    def _remember(self, records: MemoryRecords, largest_offset: int, position: int, size: int) -> None:
        """Add an append to the tail. Caller holds Log.lock."""
        batch = records.single_batch()
        if batch is not None:
            base_offset = batch.header[BASE_OFFSET]
        else:
            base_offset, length, magic = _BATCH_START.unpack_from(records.buffer)
            if magic < 2:  # the offset in front is not the first one: leave these to the index
                self._tail = []
                return
            if length + LOG_OVERHEAD != size:
                size = 0
        tail = self._tail
        tail.append((base_offset, largest_offset, position, size))
        if len(tail) > _TAIL_LIMIT:
            self._tail = tail[_TAIL_LIMIT // 2 :]

    def update_txn_index(self, completed_txn: CompletedTxn, last_stable_offset: int) -> None:
        """Note an aborted transaction in the transaction index; committed ones need no entry."""
        if completed_txn.is_aborted:
            self.trace(
                "Writing aborted transaction %s to transaction index, last stable offset is %d",
                completed_txn,
                last_stable_offset,
            )
            self.txn_index.append(AbortedTxn.from_completed_txn(completed_txn, last_stable_offset))

    def _update_producer_state(self, producer_state_manager: ProducerStateManager, batch: RecordBatch) -> None:
        if batch.has_producer_id():
            append_info = producer_state_manager.prepare_update(batch.producer_id(), False, is_replicated=True)
            maybe_completed_txn = append_info.append(batch)
            producer_state_manager.update(append_info)
            if maybe_completed_txn is not None:
                last_stable_offset = producer_state_manager.complete_txn(maybe_completed_txn)
                self.update_txn_index(maybe_completed_txn, last_stable_offset)
        producer_state_manager.update_map_end_offset(batch.last_offset() + 1)

    # ---- read -----------------------------------------------------------------------------------------------------

    def translate_offset(self, offset: int, starting_file_position: int = 0) -> FileRecords.LogOffsetPosition | None:
        """Place and size of the first batch that ends at or after `offset`, None if there is none.

        A known lower bound of the position saves scanning.
        """
        tail = self._tail
        if tail and offset >= tail[0][0]:
            i = bisect_right(tail, (offset + 1,)) - 1
            _, last, position, size = tail[i]
            if offset > last:  # in a gap between two appends, or behind all of them
                if i + 1 >= len(tail):
                    return None
                _, last, position, size = tail[i + 1]
            if size:
                return FileRecords.LogOffsetPosition(last, position, size)
        else:
            position = self.offset_index.lookup(offset).position
        return self.log.search_for_offset_with_size(offset, max(position, starting_file_position))

    def read(
        self,
        start_offset: int,
        max_offset: int | None,
        max_size: int,
        max_position: int | None = None,
        min_one_message: bool = False,
    ) -> FetchDataInfo | None:
        """The batches from the one that holds `start_offset`, None if all end before it.

        At most `max_size` bytes, not beyond `max_position` in the file nor the batch of `max_offset`; with
        `min_one_message` at least the whole first batch. Raises ValueError for a negative size, OSError.
        """
        if max_size < 0:
            raise ValueError(f"Invalid max size for log read ({max_size})")
        log = self.log
        log_size = log.size_in_bytes()  # may grow meanwhile: one value for all that follows
        if max_position is None:
            max_position = log_size
        start = self.translate_offset(start_offset)
        if start is None:
            return None
        start_position, first_size = start.position, start.size
        offset_metadata = LogOffsetMetadata(start_offset, self.base_offset, start_position)
        adjusted_max_size = first_size if min_one_message and first_size > max_size else max_size
        if adjusted_max_size == 0:
            return FetchDataInfo(offset_metadata, MemoryRecords.EMPTY)
        end_position = max_position
        if max_offset is not None:
            # right after a change of leader the high watermark may be below what a consumer has already read
            if max_offset < start_offset:
                return FetchDataInfo(offset_metadata, MemoryRecords.EMPTY)
            mapping = self.translate_offset(max_offset, start_position)
            end_position = min(max_position, log_size if mapping is None else mapping.position)
        fetch_size = min(end_position - start_position, adjusted_max_size)
        return FetchDataInfo(offset_metadata, log.slice(start_position, fetch_size), adjusted_max_size < first_size)

    def fetch_upper_bound_offset(self, start_offset_position: OffsetPosition, fetch_size: int) -> int | None:
        """An offset behind a region of the file, not always the smallest; None if the index has none."""
        entry = self.offset_index.fetch_upper_bound_offset(start_offset_position, fetch_size)
        return None if entry is None else entry.offset

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> TxnIndexSearchResult:
        """As TransactionIndex.collect_aborted_txns."""
        return self.txn_index.collect_aborted_txns(fetch_offset, upper_bound_offset)

    def read_next_offset(self) -> int:
        """The offset after the last record; it reads the file from the last index entry on."""
        info = self.read(self.offset_index.last_offset, None, self.log.size_in_bytes())
        next_offset = self.base_offset
        if info is not None:
            for batch in info.records.batches():
                next_offset = batch.next_offset()
        return next_offset

    def find_offset_by_timestamp(self, timestamp: int, starting_offset: int | None = None) -> TimestampOffset | None:
        """The first record at or after both `timestamp` and `starting_offset` (default: base offset), None if none."""
        if starting_offset is None:
            starting_offset = self.base_offset
        timestamp_offset = self.time_index.lookup(timestamp)
        position = self.offset_index.lookup(max(timestamp_offset.offset, starting_offset)).position
        found = self.log.search_for_timestamp(timestamp, position, starting_offset)
        return None if found is None else TimestampOffset(found.timestamp, found.offset)

    # ---- recovery and truncation ----------------------------------------------------------------------------------

    def recover(
        self,
        producer_state_manager: ProducerStateManager,
        leader_epoch_cache: LeaderEpochCache | None = None,
        before_truncation: Callable[[], None] | None = None,
    ) -> int:
        """Rebuild the indexes from the file, cut it behind the last valid batch, and return the bytes cut off.

        `producer_state_manager` holds the state before this segment and is brought to its end. `before_truncation` is
        called if there is something to cut off.
        """
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        self._tail = []
        valid_bytes = 0
        last_index_entry = 0
        self._max_timestamp_so_far = _NO_TIMESTAMP
        yielder = GilYielder()
        try:
            last_offset = self.base_offset - 1
            for batch in self.log.batches():
                batch.ensure_valid()
                last_offset = self._check_header(batch, last_offset)
                if batch.max_timestamp() > self._max_timestamp_so_far:
                    self._max_timestamp_so_far = batch.max_timestamp()
                    self._offset_of_max_timestamp = batch.last_offset()
                # one append of several batches had one entry at most, so here there may be too many
                is_full = self.offset_index.is_full or self.time_index.is_full
                if valid_bytes - last_index_entry > self.index_interval_bytes and not is_full:
                    self.offset_index.append(batch.base_offset(), valid_bytes)
                    self.time_index.maybe_append(self._max_timestamp_so_far, self._offset_of_max_timestamp)
                    last_index_entry = valid_bytes
                valid_bytes += batch.size_in_bytes()
                if batch.magic() >= 2:
                    if leader_epoch_cache is not None:
                        epoch = batch.partition_leader_epoch()
                        if epoch > leader_epoch_cache.latest_epoch():  # assign would warn about an older one
                            leader_epoch_cache.assign(epoch, batch.base_offset())
                    self._update_producer_state(producer_state_manager, batch)
                elif leader_epoch_cache is not None:
                    leader_epoch_cache.clear_and_flush_if_begun(last_offset)
                yielder.maybe_yield()
        except CorruptRecordException as e:
            self.warn("Found invalid messages in log segment %s at byte offset %d: %s.", self.log.file, valid_bytes, e)
        truncated = self.log.size_in_bytes() - valid_bytes
        if truncated > 0:
            self.debug("Truncated %d invalid bytes at the end of segment %s during recovery", truncated, self.log.file)
            if before_truncation is not None:
                before_truncation()
        self.log.truncate_to(valid_bytes)
        self.offset_index.trim_to_valid_size()
        # as closing a segment does
        self.time_index.maybe_append(self._max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self.time_index.trim_to_valid_size()
        return truncated

    def _check_header(self, batch: RecordBatch, last_offset: int) -> int:
        """The batch's last offset; CorruptRecordException if that or the magic, which no checksum covers, is wrong."""
        if batch.magic() > batch.CURRENT_MAGIC_VALUE:
            raise CorruptRecordException(f"Unknown magic {batch.magic()}")
        offset = batch.last_offset()
        if offset <= last_offset or not self.can_convert_to_relative_offset(offset):
            raise CorruptRecordException(f"Offset {offset} follows offset {last_offset}")
        return offset

    def _load_largest_timestamp(self) -> None:
        """Find the largest timestamp again, from the last time index entry on. Caller holds Log.lock."""
        last = self.time_index.last_entry
        self._max_timestamp_so_far, self._offset_of_max_timestamp = last
        position = self.offset_index.lookup(last.offset).position
        after = self.log.largest_timestamp_after(position)
        if after.timestamp > last.timestamp:
            self._max_timestamp_so_far = after.timestamp
            self._offset_of_max_timestamp = after.offset

    def truncate_to(self, offset: int) -> int:
        """Remove the batches and index entries from `offset` on; the number of log bytes removed."""
        mapping = self.translate_offset(offset)  # while the index still helps
        self._tail = []
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        # this segment is the active one from now on
        self.offset_index.resize(self.offset_index.max_index_size)
        self.time_index.resize(self.time_index.max_index_size)
        bytes_truncated = 0 if mapping is None else self.log.truncate_to(mapping.position)
        if self.log.size_in_bytes() == 0:
            self._created = self.time.milliseconds()
            self._rolling_based_timestamp = None
        self._bytes_since_last_index_entry = 0
        if self._max_timestamp_so_far >= 0:
            self._load_largest_timestamp()
        return bytes_truncated

    # ---- files ----------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the log and its indexes through to the disk; raises OSError."""
        LogFlushStats.log_flush_timer.time(self._flush_files)

    def _flush_files(self) -> None:
        self.log.flush()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush()

    def update_dir(self, dir: str | os.PathLike[str]) -> None:
        """Say that the directory of the files was renamed."""
        self.log.set_file(pathlib.Path(dir, pathlib.Path(self.log.file).name))
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.file = pathlib.Path(dir, index.file.name)

    def change_file_suffixes(self, old_suffix: str, new_suffix: str) -> None:
        """Rename all files of the segment; raises OSError."""
        for part in (self.log, self.offset_index, self.time_index, self.txn_index):
            name = os.fspath(part.file)
            if not name.endswith(old_suffix):
                raise ValueError(f"Expected string to end with '{old_suffix}' but string is '{name}'")
            part.rename_to(pathlib.Path(name[: len(name) - len(old_suffix)] + new_suffix))

    def on_become_inactive_segment(self) -> None:
        """Note the largest timestamp, which retention asks for, and cut the files to their content."""
        self.time_index.maybe_append(self._max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self.log.trim()

    def close(self) -> None:
        """Note the largest timestamp and close the files; what fails is logged."""
        self._swallow(
            lambda: self.time_index.maybe_append(
                self._max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True
            )
        )
        for closing in (self.offset_index.close, self.time_index.close, self.log.close, self.txn_index.close):
            self._swallow(closing)

    def close_handlers(self) -> None:
        """Close the files without writing, because their disk may have failed."""
        for closing in (
            self.offset_index.close_handler,
            self.time_index.close_handler,
            self.log.close_handlers,
            self.txn_index.close,
        ):
            self._swallow(closing)

    def _swallow(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as e:  # noqa: BLE001  # the other files are to be closed as well
            self.warn("%s", e, exc=e)

    def delete_if_exists(self) -> None:
        """Delete all files of the segment; the first OSError is raised when all have been tried."""
        failed: OSError | None = None
        for delete, file_type, file, log_if_missing in (
            (self.log.delete_if_exists, "log", self.log.file, True),
            (self.offset_index.delete_if_exists, "offset index", self.offset_index.file, True),
            (self.time_index.delete_if_exists, "time index", self.time_index.file, True),
            (self.txn_index.delete_if_exists, "transaction index", self.txn_index.file, False),
        ):
            try:
                if delete():
                    self.info("Deleted %s %s.", file_type, file)
                elif log_if_missing:
                    self.info("Failed to delete %s %s because it does not exist.", file_type, file)
            except OSError as e:
                error = OSError(f"Delete of {file_type} {file} failed.")
                error.__cause__ = e
                failed = failed or error
        if failed is not None:
            raise failed

    def __repr__(self) -> str:
        return f"LogSegment(baseOffset={self.base_offset}, size={self.size})"
