"""The segments of one log in its directory: read, rolled, flushed, cut and deleted.

Mirrors: core/src/main/scala/kafka/log/LocalLog.scala @ 3.7.1 (in 1.1.1 all of it is part of Log.scala)
Read next: log_loader.py, which fills it at start-up; log.py, which owns it and decides what is appended
"""

from __future__ import annotations

import errno
import os
import pathlib
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import KafkaException, KafkaStorageException, OffsetOutOfRangeException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.utils.utils import flush_dir_if_exists
from kafka_py.log.index_entry import OffsetPosition, TimestampOffset
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.log_segments import LogSegments
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.concurrent import AtomicLong
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_loader import LoadedLogOffsets
    from kafka_py.log.transaction_index import AbortedTxn
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

_LONG_MAX = 2**63 - 1
_new_tuple = tuple.__new__  # a third of the time that a NamedTuple's own takes


class LocalLog(Logging):
    """Segments in a directory, the offset of the next message, and what is done when the disk fails.

    It knows files, bytes and offsets. Producers, leader epochs, log start and high watermark are Log's.

    Thread: those that hold Log.lock change it; any may read.
    Locks: none of its own. Whatever changes segments or offsets is called with Log.lock held, or before the log is
        in use; `flush` needs it for `mark_flushed` only.
    Differs: there is no `append`: Log writes to the active segment and announces the new end only when the producers'
        state is up to date, the order of 1.1.1. It exists before LogLoader fills it, where 3.7.1 makes it of what was
        loaded and hands around the eight things that deleting and replacing segments need. A log whose directory has
        failed refuses at once, as in later versions of Kafka; 1.1.1 goes on until the LogDirFailureHandler has come
        by. A file that was closed under its reader is no failure of the disk. Changed segment limits hold for the
        active segment at once (KAFKA-7366): beside a replica on 1.1.1, which rolls by the limits its segment was
        opened with, the files have other names and sizes, and the same content taken together.
    """

    logger_name: ClassVar[str] = "kafka.log.Log"

    def __init__(
        self,
        dir: str | os.PathLike[str],
        config: LogConfig,
        recovery_point: int,
        scheduler: Scheduler,
        time: Time,
        topic_partition: TopicPartition,
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        self.dir = pathlib.Path(dir).absolute()  # volatile: rename_dir under Log.lock
        self.config = config  # volatile: update_config
        self.segments = LogSegments()
        self.recovery_point = recovery_point  # volatile: writer under Log.lock
        self.next_offset_metadata = LogOffsetMetadata(0, 0, 0)  # volatile: writer under Log.lock
        self.scheduler = scheduler
        self.time = time
        self.topic_partition = topic_partition
        self.log_dir_failure_channel = log_dir_failure_channel
        self.parent_dir = str(self.dir.parent)
        self.log_ident = f"[Log partition={topic_partition}, dir={self.parent_dir}] "
        # no disk I/O may be done once the index files are unmapped, by delete_dir() or close_handlers()
        self._is_memory_mapped_buffer_closed = False  # volatile: writer under Log.lock
        self._last_flushed_time = AtomicLong(time.milliseconds())  # atomic

    # ---- directory and configuration ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the directory."""
        return self.dir.name

    @property
    def is_future(self) -> bool:
        """Whether this is a copy that will replace the partition's log on another disk."""
        return self.dir.name.endswith(LogFileUtils.FUTURE_DIR_SUFFIX)

    def rename_dir(self, name: str) -> bool:
        """Rename the directory; whether that gave it another name. Raises OSError. Caller holds Log.lock."""
        renamed_dir = self.dir.parent / name
        os.replace(self.dir, renamed_dir)
        if renamed_dir == self.dir:
            return False
        self.dir = renamed_dir
        for segment in self.segments.values():
            segment.update_dir(renamed_dir)
        return True

    def update_config(self, updated_keys: Collection[str], new_config: LogConfig) -> None:
        """Replace the configuration. Caller holds Log.lock."""
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
        self.config = new_config
        if not self.segments.is_empty:
            self._give_limits(self.active_segment)

    def _give_limits(self, segment: LogSegment) -> None:
        """Let the active segment grow as far as the present configuration says. Caller holds Log.lock."""
        segment.max_segment_bytes, segment.max_segment_ms = self.config.segment_size, self.config.segment_ms

    # ---- failures -------------------------------------------------------------------------------------------------

    def check_if_memory_mapped_buffer_closed(self) -> None:
        """Raise KafkaStorageException once the index files are unmapped."""
        if self._is_memory_mapped_buffer_closed:
            raise KafkaStorageException(f"The memory mapped buffer for log of {self.topic_partition} is already closed")

    def check_for_log_dir_failure(self) -> None:
        """Raise KafkaStorageException if the log directory has failed, although it is in service for a moment more.

        A failed append may have left torn bytes, or a batch whose offset was not announced: what was written behind
        it would be acknowledged and then cut off by the recovery. An append asks under Log.lock, under which it
        reports, so that none slips in between; elsewhere this only saves the disk a try.
        """
        if self.log_dir_failure_channel.has_offline_log_dir(self.parent_dir):
            raise KafkaStorageException(
                f"The log dir {self.parent_dir} is already offline due to a previous IO exception."
            )

    def maybe_handle_io_exception(self, msg: str) -> StorageErrors:
        """For `with`: an OSError in the block takes the log directory offline and becomes a KafkaStorageException."""
        return StorageErrors(self, msg)

    def storage_exception(self, msg: str, e: OSError) -> KafkaStorageException:
        """What to raise for an OSError, which is reported to the channel.

        Not so EBADF: it says that a segment was deleted under a slow reader or flush, and nothing of the disk.
        """
        if e.errno == errno.EBADF:
            return KafkaStorageException(f"{msg}: the file was closed meanwhile")
        self.log_dir_failure_channel.maybe_add_offline_log_dir(self.parent_dir, msg, e)
        return KafkaStorageException(msg)

    # ---- the end of the log ---------------------------------------------------------------------------------------

    @property
    def log_end_offset(self) -> int:
        """Offset of the next message."""
        return self.next_offset_metadata.message_offset

    def update_log_end_offset(self, message_offset: int) -> None:
        """Let readers see what was written: it is in the file by now. Caller holds Log.lock."""
        segment = self.segments.snapshot[1][-1]
        self.next_offset_metadata = _new_tuple(
            LogOffsetMetadata, (message_offset, segment.base_offset, segment.log.size_in_bytes())
        )

    def loaded(self, offsets: LoadedLogOffsets) -> None:
        """Take over what LogLoader has found in the files."""
        self.recovery_point = offsets.recovery_point
        self.next_offset_metadata = offsets.next_offset_metadata

    # ---- flush ----------------------------------------------------------------------------------------------------

    @property
    def unflushed_messages(self) -> int:
        """Messages that are not known to be on disk."""
        return self.log_end_offset - self.recovery_point

    @property
    def last_flush_time(self) -> int:
        """When the whole log was last on disk, in ms."""
        return self._last_flushed_time.get()

    def flush(self, offset: int) -> None:
        """Sync the segments that hold offsets from the recovery point up to `offset`; raises OSError."""
        if self.is_debug_enabled:
            self.debug(
                "Flushing log up to offset %d, last flushed: %d,  current time: %d, unflushed: %d",
                offset,
                self.last_flush_time,
                self.time.milliseconds(),
                self.unflushed_messages,
            )
        segments = self.segments.values_between(self.recovery_point, offset)
        for segment in segments:
            segment.flush()
        if segments and segments[-1].base_offset >= self.recovery_point:  # its name may be new in the directory
            flush_dir_if_exists(self.dir)

    def mark_flushed(self, offset: int) -> None:
        """Note that everything below `offset` is on disk. Caller holds Log.lock."""
        self.check_if_memory_mapped_buffer_closed()
        if (flushed := min(offset, self.log_end_offset)) > self.recovery_point:  # was it cut meanwhile?
            self.recovery_point = flushed
            self._last_flushed_time.set(self.time.milliseconds())

    def lower_recovery_point(self, offset: int) -> None:
        """Nothing from `offset` on is left to be on disk. Caller holds Log.lock."""
        self.recovery_point = min(offset, self.recovery_point)

    @property
    def min_snapshots_offset_to_retain(self) -> int:
        """The lowest offset whose producer snapshot is worth keeping: for two segments and from the recovery point on.

        Caller holds Log.lock.
        """
        active, lower_segment = self.active_segment, self.segments.lower_segment
        two_segments_min_offset = (lower_segment(active.base_offset) or active).base_offset
        lower = lower_segment(self.recovery_point)
        recovery_point_offset = self.recovery_point if lower is None else lower.base_offset
        return min(recovery_point_offset, two_segments_min_offset)

    # ---- segments -------------------------------------------------------------------------------------------------

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes appends: the one with the highest base offset."""
        return self.segments.snapshot[1][-1]

    def new_segment(self, base_offset: int) -> LogSegment:
        """Make an empty segment, the active one from now on; raises OSError. Caller holds Log.lock.

        KafkaException if there is a segment with that base offset.
        """
        segment = LogSegment.open(
            self.dir,
            base_offset,
            self.config,
            self.time,
            file_already_exists=False,
            init_file_size=self.config.init_file_size,
            preallocate=self.config.preallocate,
        )
        if self.segments.add(segment) is not None:
            raise KafkaException(
                f"Trying to roll a new log segment for topic partition {self.name} with start offset {base_offset} "
                "while it already exists."
            )
        return segment

    def roll(self, expected_next_offset: int, before_opening: Callable[[int], None]) -> LogSegment:
        """Close the active segment and begin another at the log end, or at `expected_next_offset` if that is higher.

        `before_opening` is told the base offset before there is a file of that name. Raises OSError, KafkaException
        if the active segment begins there already. Caller holds Log.lock.
        """
        new_offset = max(expected_next_offset, self.log_end_offset)
        for file_of in (
            LogFileUtils.log_file,
            LogFileUtils.offset_index_file,
            LogFileUtils.time_index_file,
            LogFileUtils.transaction_index_file,
        ):
            file = file_of(self.dir, new_offset)
            if file.exists():
                self.warn("Newly rolled segment file %s already exists; deleting it first", file)
                file.unlink()
        last_segment = self.segments.last_segment
        if last_segment is not None:
            last_segment.on_become_inactive_segment()
        before_opening(new_offset)
        segment = self.new_segment(new_offset)
        # same next offset, but it will be written to the new segment
        self.update_log_end_offset(self.log_end_offset)
        return segment

    def truncate_to(self, target_offset: int) -> None:
        """Remove everything from `target_offset` on, which the first segment must hold. Caller holds Log.lock."""
        self.delete_newest_first([s for s in self.segments.values() if s.base_offset > target_offset])
        self.active_segment.truncate_to(target_offset)
        self._give_limits(self.active_segment)  # it may be older than the present ones
        self.update_log_end_offset(target_offset)

    def truncate_fully_and_start_at(self, new_offset: int) -> None:
        """Remove all segments and begin again at `new_offset`. Caller holds Log.lock."""
        for segment in self.segments.values():
            self.delete_segment(segment)
        self.new_segment(new_offset)
        self.update_log_end_offset(new_offset)

    def delete_segment(self, segment: LogSegment) -> None:
        """Take a segment out of the map, rename its files to .deleted, and delete them some time later.

        A reader that holds the segment can finish; the files are closed and unlinked after `file.delete.delay.ms`.
        Raises OSError if a file cannot be renamed. Caller holds Log.lock.
        """
        self.info("Scheduling log segment [baseOffset %d, size %d] for deletion.", segment.base_offset, segment.size)
        self.segments.remove(segment.base_offset)
        self._async_delete_segment(segment)

    def delete_newest_first(self, segments: list[LogSegment]) -> None:
        """Delete the last segments of the log so that a crash at any point leaves no gap; Kafka goes oldest first."""
        for segment in reversed(segments):
            self.delete_segment(segment)

    def _async_delete_segment(self, segment: LogSegment) -> None:
        segment.change_file_suffixes("", LogFileUtils.DELETED_FILE_SUFFIX)

        def delete_seg() -> None:  # runs on: kafka-scheduler
            self.info("Deleting segment %d", segment.base_offset)
            with self.maybe_handle_io_exception(
                f"Error while deleting segments for {self.topic_partition} in dir {self.parent_dir}"
            ):
                segment.delete_if_exists()

        self.scheduler.schedule("delete-file", delete_seg, delay=self.config.file_delete_delay_ms)

    def replace_segments(
        self, new_segment: LogSegment, old_segments: list[LogSegment], is_recovered_swap_file: bool = False
    ) -> None:
        """Put a cleaned segment in the place of others so that a crash at any point loses nothing.

        1. The cleaner wrote `.cleaned`; a crash now: it is deleted at start-up and the old segments stand.
        2. It is renamed to `.swap`; a crash from here on: start-up does the following steps.
        3. The old segments are renamed to `.deleted`, to be unlinked later or at start-up.
        4. The suffix `.swap` is taken off.

        Old segments that retention has deleted meanwhile are left alone: renaming them again would fail (KAFKA-7278).
        Caller holds Log.lock.
        """
        self.check_if_memory_mapped_buffer_closed()
        present = self.segments.values()
        old_segments = [segment for segment in old_segments if segment in present]
        if not is_recovered_swap_file:
            new_segment.change_file_suffixes(LogFileUtils.CLEANED_FILE_SUFFIX, LogFileUtils.SWAP_FILE_SUFFIX)
        self.segments.add(new_segment)
        for segment in old_segments:
            if segment.base_offset != new_segment.base_offset:
                self.segments.remove(segment.base_offset)
            self._async_delete_segment(segment)
        new_segment.change_file_suffixes(LogFileUtils.SWAP_FILE_SUFFIX, "")

    # ---- closing and deleting -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Note the largest timestamps and close the files; what fails is logged. Caller holds Log.lock."""
        for segment in self.segments.values():
            segment.close()

    def close_handlers(self) -> None:
        """Close the files without writing, because the log directory is offline. Caller holds Log.lock."""
        for segment in self.segments.values():
            segment.close_handlers()
        self._is_memory_mapped_buffer_closed = True

    def delete_all_segments(self) -> None:
        """Delete the files of all segments, at once; raises OSError. Caller holds Log.lock."""
        for segment in self.segments.values():
            segment.delete_if_exists()
        self.segments.clear()

    def delete_dir(self) -> None:
        """Delete the directory with what is left in it; raises OSError. Caller holds Log.lock."""
        LogFileUtils.delete_tree(self.dir)
        self._is_memory_mapped_buffer_closed = True

    # ---- read -----------------------------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        max_length: int,
        max_offset: int | None,
        min_one_message: bool,
        include_aborted_txns: bool,
        log_start_offset: int,
    ) -> FetchDataInfo:
        """As Log.read; raises OffsetOutOfRangeException, KafkaStorageException."""
        try:
            if self.logger.trace_enabled:
                self.trace("Reading %d bytes from offset %d of length %d bytes", max_length, start_offset, self.size)
            # taken once: an append may move it while we read
            next_metadata = self.next_offset_metadata
            next_offset = next_metadata.message_offset
            if start_offset == next_offset:
                no_aborted: list[FetchResponse.AbortedTransaction] | None = [] if include_aborted_txns else None
                return FetchDataInfo(next_metadata, MemoryRecords.EMPTY, False, no_aborted)
            offsets, segments = self.segments.snapshot
            i = bisect_right(offsets, start_offset) - 1
            if start_offset > next_offset or i < 0 or start_offset < log_start_offset:
                raise OffsetOutOfRangeException(
                    f"Request for offset {start_offset} but we only have log segments in the range "
                    f"{log_start_offset} to {next_offset}."
                )
            segment: LogSegment | None = segments[i]
            # a compacted segment may hold nothing from the offset on: then the next one does
            while segment is not None:
                fetch_info = segment.read(
                    start_offset, max_offset, max_length, self._exposed_position(segment), min_one_message
                )
                if fetch_info is not None:
                    if include_aborted_txns:
                        return self._add_aborted_transactions(start_offset, segment, fetch_info)
                    return fetch_info
                segment = self.segments.higher_segment(segment.base_offset)
            # all messages behind the start offset have been deleted
            return FetchDataInfo(self.next_offset_metadata, MemoryRecords.EMPTY)
        except OSError as e:
            msg = f"Exception while reading from {self.topic_partition} in dir {self.parent_dir}"
            raise self.storage_exception(msg, e) from e

    def locate(self, offset: int) -> LogOffsetMetadata:
        """The segment and position of an offset; the offset alone if no segment has it or anything behind it."""
        segment = self.segments.floor_segment(offset)
        position = None if segment is None else segment.translate_offset(offset)
        if segment is None or position is None:
            return LogOffsetMetadata(offset)
        return LogOffsetMetadata(offset, segment.base_offset, position.position)

    def search_offset(self, target_timestamp: int, log_start_offset: int) -> TimestampOffset | None:
        """The first message from the log start on that is of the timestamp (ms) or later; raises OSError.

        Segments wholly below the log start, and those that compaction has left empty, cannot answer.
        """
        segments = self.segments.values_between(log_start_offset, _LONG_MAX)
        for segment in segments:
            if segment.size and segment.largest_timestamp >= target_timestamp:
                return segment.find_offset_by_timestamp(target_timestamp, log_start_offset)
        return None

    def _exposed_position(self, segment: LogSegment) -> int:
        """Up to where a segment may be read: in the active one, what is written may not be announced yet."""
        if segment is self.segments.snapshot[1][-1]:
            exposed = self.next_offset_metadata.relative_position_in_segment
            # rolled meanwhile? then the position may belong to the new segment, and all of this one is announced
            if segment is self.segments.snapshot[1][-1]:
                return exposed
        return segment.log.size_in_bytes()

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.segments.snapshot[1])

    # ---- aborted transactions -------------------------------------------------------------------------------------

    def collect_aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions that overlap [start_offset, upper_bound_offset)."""
        segment = self.segments.floor_segment(start_offset)
        return self._collect_aborted_transactions(start_offset, upper_bound_offset, segment)

    def _add_aborted_transactions(
        self, start_offset: int, segment: LogSegment, fetch_info: FetchDataInfo
    ) -> FetchDataInfo:
        """`fetch_info` with the aborted transactions that a read_committed consumer has to skip."""
        start = fetch_info.fetch_offset_metadata
        start_offset_position = OffsetPosition(start.message_offset, start.relative_position_in_segment)
        upper_bound = segment.fetch_upper_bound_offset(start_offset_position, fetch_info.records.size_in_bytes())
        if upper_bound is None:
            next_segment = self.segments.higher_segment(segment.base_offset)
            upper_bound = self.log_end_offset if next_segment is None else next_segment.base_offset
        aborted: list[FetchResponse.AbortedTransaction] = [
            txn.as_aborted_transaction()
            for txn in self._collect_aborted_transactions(start_offset, upper_bound, segment)
        ]
        return fetch_info._replace(aborted_transactions=aborted)

    def _collect_aborted_transactions(
        self, start_offset: int, upper_bound_offset: int, starting_segment: LogSegment | None
    ) -> list[AbortedTxn]:
        collected: list[AbortedTxn] = []
        segment = starting_segment
        while segment is not None:
            result = segment.collect_aborted_txns(start_offset, upper_bound_offset)
            collected += result.aborted_transactions
            if result.is_complete:
                break
            segment = self.segments.higher_segment(segment.base_offset)
        return collected

    def __repr__(self) -> str:
        return f"LocalLog({self.dir})"


class StorageErrors:
    """The block of `maybe_handle_io_exception`: it is not entered once the log directory has failed.

    An OSError that is hidden in a KafkaException, as by iterating over the batches of a file, counts as well.
    """

    __slots__ = ("_local_log", "_msg")

    def __init__(self, local_log: LocalLog, msg: str) -> None:
        self._local_log = local_log
        self._msg = msg

    def __enter__(self) -> None:
        self._local_log.check_for_log_dir_failure()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise self._local_log.storage_exception(self._msg, error) from error
        if isinstance(error, KafkaException) and not isinstance(error, KafkaStorageException):
            cause = error.__cause__
            if isinstance(cause, OSError):
                raise self._local_log.storage_exception(self._msg, cause) from error
