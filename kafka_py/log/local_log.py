"""What a log is made of: its directory, its segments and its end.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (the part that 3.7.1 keeps in LocalLog.scala)
Read next: log_loader.py, which fills it at start-up; log.py, which appends and reads
"""

from __future__ import annotations

import errno
import os
import pathlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from kafka_py.common.errors import KafkaException, KafkaStorageException
from kafka_py.log.index_entry import OffsetPosition
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segments import LogSegments
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile, LeaderEpochFile
from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_config import LogConfig
    from kafka_py.log.log_segment import LogSegment
    from kafka_py.log.transaction_index import AbortedTxn
    from kafka_py.server.fetch_data_info import FetchDataInfo
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

T = TypeVar("T")
_new_tuple = tuple.__new__  # a third of the time that a NamedTuple's own takes


class LocalLog(LogFileUtils, ABC):
    """Segments in a directory, the offset of the next message, and what is done when the disk fails.

    Thread: changes under `lock`; any may read.
    Locks: `lock` serialises appends, rolls, deletion and truncation.
    Differs: a log whose directory has failed refuses at once, as in later versions of Kafka; 1.1.1 goes on until the
        LogDirFailureHandler has come by. A file that was closed under its reader is no failure of the disk. Changed
        segment limits hold for the active segment at once (KAFKA-7366): beside a replica on 1.1.1, which rolls by the
        limits its segment was opened with, the files have other names and sizes, and the same content taken together.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str],
        config: LogConfig,
        scheduler: Scheduler,
        time: Time,
        topic_partition: TopicPartition,
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        self.dir = pathlib.Path(dir).absolute()  # volatile: rename_dir under lock
        self.config = config  # volatile: update_config
        self._scheduler = scheduler
        self._time = time
        self.topic_partition = topic_partition
        self._log_dir_failure_channel = log_dir_failure_channel
        self.parent_dir = str(self.dir.parent)
        self.log_ident = f"[Log partition={topic_partition}, dir={self.parent_dir}] "
        self.lock = ReentrantLock()
        self.segments = LogSegments()
        # no disk I/O may be done once the index files are unmapped, by delete() or close_handlers()
        self._is_memory_mapped_buffer_closed = False  # volatile: writer under lock
        self.next_offset_metadata = LogOffsetMetadata(0, 0, 0)  # volatile: writer under lock
        self._leader_epoch_cache = self._initialize_leader_epoch_cache()  # volatile: rename_dir under lock

    # ---- names ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the directory."""
        return self.dir.name

    @property
    def is_future(self) -> bool:
        """Whether this is a copy that will replace the partition's log on another disk."""
        return self.dir.name.endswith(self.FUTURE_DIR_SUFFIX)

    @property
    def leader_epoch_cache(self) -> LeaderEpochFileCache:
        """Where each leader epoch of this log begins."""
        return self._leader_epoch_cache

    def _initialize_leader_epoch_cache(self) -> LeaderEpochFileCache:
        os.makedirs(self.dir, exist_ok=True)
        return LeaderEpochFileCache(
            self.topic_partition,
            lambda: self.next_offset_metadata,
            LeaderEpochCheckpointFile(LeaderEpochFile.new_file(self.dir), self._log_dir_failure_channel),
        )

    # ---- failures -------------------------------------------------------------------------------------------------

    def _check_if_memory_mapped_buffer_closed(self) -> None:
        if self._is_memory_mapped_buffer_closed:
            raise KafkaStorageException(f"The memory mapped buffer for log of {self.topic_partition} is already closed")

    def _check_for_log_dir_failure(self) -> None:
        """Raise KafkaStorageException if the log directory has failed, although it is in service for a moment more.

        A failed append may have left torn bytes, or a batch whose offset was not announced: what was written behind
        it would be acknowledged and then cut off by the recovery. An append asks under `lock`, under which it reports,
        so that none slips in between; elsewhere this only saves the disk a try.
        """
        if self._log_dir_failure_channel.has_offline_log_dir(self.parent_dir):
            raise KafkaStorageException(
                f"The log dir {self.parent_dir} is already offline due to a previous IO exception."
            )

    def _maybe_handle_io_exception(self, msg: Callable[[], str], fun: Callable[[], T]) -> T:
        """Run `fun`; an OSError takes the log directory offline and becomes a KafkaStorageException.

        So does one that is hidden in a KafkaException, as by iterating over the batches of a file.
        """
        self._check_for_log_dir_failure()
        try:
            return fun()
        except OSError as e:
            raise self._storage_exception(msg(), e) from e
        except KafkaStorageException:
            raise
        except KafkaException as e:
            if isinstance(e.__cause__, OSError):
                raise self._storage_exception(msg(), e.__cause__) from e
            raise

    def _storage_exception(self, msg: str, e: OSError) -> KafkaStorageException:
        """What to raise for an OSError, which is reported to the channel.

        Not so EBADF: it says that a segment was deleted under a slow reader or flush, and nothing of the disk.
        """
        if e.errno == errno.EBADF:
            return KafkaStorageException(f"{msg}: the file was closed meanwhile")
        self._log_dir_failure_channel.maybe_add_offline_log_dir(self.parent_dir, msg, e)
        return KafkaStorageException(msg)

    # ---- segments -------------------------------------------------------------------------------------------------

    @property
    def init_file_size(self) -> int:
        """Bytes reserved for a new segment file."""
        return self.config.segment_size if self.config.preallocate else 0

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

    def _lower_segment(self, offset: int) -> LogSegment | None:
        return self.segments.lower_segment(offset)

    def _give_limits(self, segment: LogSegment) -> None:
        """Let the active segment grow as far as the present configuration says. Caller holds lock."""
        segment.max_segment_bytes, segment.max_segment_ms = self.config.segment_size, self.config.segment_ms

    def add_segment(self, segment: LogSegment) -> LogSegment | None:
        """Add a segment to the map; the one it replaces."""
        return self.segments.add(segment)

    @staticmethod
    def size_in_bytes(segments: Iterable[LogSegment]) -> int:
        """Sum of the segments' sizes."""
        return sum(segment.size for segment in segments)

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return self.size_in_bytes(self.segments.snapshot[1])

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """Offset of the next message, and where it will be written."""
        return self.next_offset_metadata

    @property
    def log_end_offset(self) -> int:
        """Offset of the next message."""
        return self.next_offset_metadata.message_offset

    def _update_log_end_offset(self, message_offset: int) -> None:
        """Let readers see what was written: it is in the file by now. Caller holds lock."""
        segment = self.segments.snapshot[1][-1]
        self.next_offset_metadata = _new_tuple(
            LogOffsetMetadata, (message_offset, segment.base_offset, segment.log.size_in_bytes())
        )

    def _delete_segment(self, segment: LogSegment) -> None:
        """Take a segment out of the map, rename its files to .deleted, and delete them some time later.

        A reader that holds the segment can finish; the files are closed and unlinked after `file.delete.delay.ms`.
        Raises OSError if a file cannot be renamed.
        """
        self.info("Scheduling log segment [baseOffset %d, size %d] for deletion.", segment.base_offset, segment.size)
        with self.lock:
            self.segments.remove(segment.base_offset)
            self._async_delete_segment(segment)

    def _delete_newest_first(self, segments: list[LogSegment]) -> None:
        """Delete the last segments of the log so that a crash at any point leaves no gap; Kafka goes oldest first."""
        for segment in reversed(segments):
            self._delete_segment(segment)

    def _async_delete_segment(self, segment: LogSegment) -> None:
        segment.change_file_suffixes("", self.DELETED_FILE_SUFFIX)

        def delete_seg() -> None:  # runs on: kafka-scheduler
            self.info("Deleting segment %d", segment.base_offset)
            self._maybe_handle_io_exception(
                lambda: f"Error while deleting segments for {self.topic_partition} in dir {self.dir.parent}",
                segment.delete_if_exists,
            )

        self._scheduler.schedule("delete-file", delete_seg, delay=self.config.file_delete_delay_ms)

    def replace_segments(
        self, new_segment: LogSegment, old_segments: list[LogSegment], is_recovered_swap_file: bool = False
    ) -> None:
        """Put a cleaned segment in the place of others so that a crash at any point loses nothing.

        1. The cleaner wrote `.cleaned`; a crash now: it is deleted at start-up and the old segments stand.
        2. It is renamed to `.swap`; a crash from here on: start-up does the following steps.
        3. The old segments are renamed to `.deleted`, to be unlinked later or at start-up.
        4. The suffix `.swap` is taken off.

        Old segments that retention has deleted meanwhile are left alone: renaming them again would fail (KAFKA-7278).
        """
        with self.lock:
            self._check_if_memory_mapped_buffer_closed()
            present = self.log_segments
            old_segments = [segment for segment in old_segments if segment in present]
            if not is_recovered_swap_file:
                new_segment.change_file_suffixes(self.CLEANED_FILE_SUFFIX, self.SWAP_FILE_SUFFIX)
            self.add_segment(new_segment)
            for segment in old_segments:
                if segment.base_offset != new_segment.base_offset:
                    self.segments.remove(segment.base_offset)
                self._async_delete_segment(segment)
            new_segment.change_file_suffixes(self.SWAP_FILE_SUFFIX, "")

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

    @abstractmethod
    def flush(self, offset: int | None = None) -> None:
        """Write segments through to the disk."""
