"""Opening the files of a log, and repairing them after a crash.

Mirrors: core/src/main/scala/kafka/log/LogLoader.scala @ 3.7.1 (in 1.1.1 all of it is part of Log.scala)
Read next: local_log.py, whose segments it opens; log.py, which calls it
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_py.common.errors import CorruptIndexException, InvalidOffsetException
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.log.producer_updates import load_producers_from_records, rebuild_producer_state
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.logging import Logging
from kafka_py.utils.yield_gil import yield_gil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafka_py.log.local_log import LocalLog
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


class LoadedLogOffsets(NamedTuple):
    """What is known of a log when its files are loaded: first readable offset, recovery point, next offset.

    Mirrors: org.apache.kafka.storage.internals.log.LoadedLogOffsets @ 3.7.1
    """

    log_start_offset: int
    recovery_point: int
    next_offset_metadata: LogOffsetMetadata


class LogLoader(Logging):
    """Loads segments and producer state when a log is opened; used once and dropped.

    In order: delete `.deleted` and `.cleaned` files; open every segment and rebuild broken indexes; complete
    interrupted swaps; unless the shutdown was clean, check every batch from the recovery point on and cut the log at
    the first bad one; rebuild the producer state from the newest good snapshot.

    Thread: the one that opens the log, which nobody else knows yet.
    Differs: OSError is not turned into KafkaStorageException here, as in Kafka: LogManager does that. A segment
        that recovery will go through anyhow is not repaired twice because its index was left preallocated by a crash.
        An interrupted swap replaces the swapped segment's originals only, as from 2.0 on; 1.1.1 may take the segment
        before them away. A log that ends before its log start begins anew there, as in 3.7.1; in 1.1.1 it cannot be
        read. Recovered segments are synced, for the recovery point says so, and the segments behind a damaged one go
        before it is cut: in 1.1.1 a second crash can lose the one and leave a hole by the other.
    """

    logger_name: ClassVar[str] = "kafka.log.Log"

    def __init__(
        self,
        local_log: LocalLog,
        had_clean_shutdown: bool,
        log_start_offset_checkpoint: int,
        recovery_point_checkpoint: int,
        leader_epoch_cache: LeaderEpochCache,
        producer_state_manager: ProducerStateManager,
    ) -> None:
        self._local_log = local_log
        self._segments = local_log.segments
        self._dir = local_log.dir
        self._config = local_log.config
        self._time = local_log.time
        self._is_to_be_deleted = local_log.name.endswith(LogFileUtils.DELETE_DIR_SUFFIX)
        self._had_clean_shutdown = had_clean_shutdown
        self._log_start_offset_checkpoint = log_start_offset_checkpoint
        self._recovery_point_checkpoint = recovery_point_checkpoint
        self._leader_epoch_cache = leader_epoch_cache
        self._producer_state_manager = producer_state_manager
        self.log_ident = local_log.log_ident

    def load(self) -> LoadedLogOffsets:
        """Load everything; the log can be used afterwards, from these offsets on. Raises OSError, KafkaException."""
        recovery_point, next_offset = self._load_segments()
        active = self._local_log.active_segment
        self._leader_epoch_cache.clear_and_flush_latest(next_offset)
        log_start_offset = max(self._log_start_offset_checkpoint, self._segments.snapshot[0][0])
        # an earlier crash may have kept the file from being written
        self._leader_epoch_cache.clear_and_flush_earliest(log_start_offset)
        rebuild_producer_state(
            self._producer_state_manager,
            self._local_log,
            log_start_offset,
            next_offset,
            reload_from_clean_shutdown=self._had_clean_shutdown,
        )
        return LoadedLogOffsets(
            log_start_offset, recovery_point, LogOffsetMetadata(next_offset, active.base_offset, active.size)
        )

    def _files(self) -> Iterator[pathlib.Path]:
        """The files by name; what is deleted while going through them is skipped."""
        for file in sorted(self._dir.iterdir()):
            if file.is_file():
                yield file

    def _remove_temp_files_and_collect_swap_files(self) -> list[pathlib.Path]:
        """Delete what a crash left behind; return the `.log.swap` files, whose swaps are to be completed."""
        swap_files = []
        for file in self._files():
            if not os.access(file, os.R_OK):
                raise OSError(f"Could not read file {file}")
            if file.name.endswith((LogFileUtils.DELETED_FILE_SUFFIX, LogFileUtils.CLEANED_FILE_SUFFIX)):
                self.debug("Deleting stray temporary file %s", file)
                file.unlink(missing_ok=True)
            elif file.name.endswith(LogFileUtils.SWAP_FILE_SUFFIX):
                base_file = pathlib.Path(str(file)[: -len(LogFileUtils.SWAP_FILE_SUFFIX)])
                if LogFileUtils.is_index_file(base_file):
                    self._delete_indices_if_exist(base_file, file, "index")
                    file.unlink(missing_ok=True)  # or a later swap would take it for its own
                elif LogFileUtils.is_log_file(base_file):
                    self._delete_indices_if_exist(base_file, file, "log")
                    swap_files.append(file)
        return swap_files

    def _delete_indices_if_exist(self, base_file: pathlib.Path, swap_file: pathlib.Path, file_type: str) -> None:
        self.info(
            "Found %s file %s from interrupted swap operation. Deleting index files (if they exist).",
            file_type,
            swap_file,
        )
        offset = LogFileUtils.offset_from_file(base_file)
        for index_file in (
            LogFileUtils.offset_index_file,
            LogFileUtils.time_index_file,
            LogFileUtils.transaction_index_file,
        ):
            index_file(self._dir, offset).unlink(missing_ok=True)

    def _load_segment_files(self, recover_later_from: int) -> None:
        """Open the segments, oldest first: a transaction of one may have begun in another before it."""
        for file in self._files():
            if LogFileUtils.is_index_file(file):
                if not LogFileUtils.log_file(self._dir, LogFileUtils.offset_from_file(file)).exists():
                    self.warn("Found an orphaned index file %s, with no corresponding log file.", file)
                    file.unlink(missing_ok=True)
            elif LogFileUtils.is_log_file(file):
                self._load_segment_file(LogFileUtils.offset_from_file(file), recover_later_from)

    def _load_segment_file(self, base_offset: int, recover_later_from: int) -> None:
        offset_index_newly_created = not LogFileUtils.offset_index_file(self._dir, base_offset).exists()
        time_index_newly_created = not LogFileUtils.time_index_file(self._dir, base_offset).exists()
        segment = LogSegment.open(self._dir, base_offset, self._config, self._time, file_already_exists=True)
        if base_offset < recover_later_from:
            try:
                segment.sanity_check(time_index_newly_created, offset_index_newly_created)
            except FileNotFoundError:
                self.error(
                    "Could not find offset index file corresponding to log file %s, recovering segment and rebuilding "
                    "index files...",
                    segment.log.file,
                )
                self._recover_segment(segment)
            except CorruptIndexException as e:
                self.warn(
                    "Found a corrupted index file corresponding to log file %s due to %s, recovering segment and "
                    "rebuilding index files...",
                    segment.log.file,
                    e,
                )
                self._recover_segment(segment)
        self._segments.add(segment)

    def _recover_segment(
        self,
        segment: LogSegment,
        leader_epoch_cache: LeaderEpochCache | None = None,
        before_truncation: Callable[[], None] | None = None,
    ) -> int:
        """Rebuild a segment's indexes and cut it at the first bad batch; the bytes cut off."""
        manager = self._producer_state_manager
        state_manager = ProducerStateManager(manager.topic_partition, self._dir, manager.max_producer_id_expiration_ms)
        state_manager.truncate_and_reload(
            self._log_start_offset_checkpoint, segment.base_offset, self._time.milliseconds()
        )
        for earlier in self._segments.values_between(state_manager.map_end_offset, segment.base_offset):
            start_offset = max(earlier.base_offset, state_manager.map_end_offset)
            fetch_data_info = earlier.read(start_offset, None, _INT_MAX)
            if fetch_data_info is not None:
                load_producers_from_records(state_manager, fetch_data_info.records)
        state_manager.update_map_end_offset(segment.base_offset)
        # a second crash will find these snapshots and need not begin at the first segment again
        state_manager.take_snapshot()
        bytes_truncated = segment.recover(state_manager, leader_epoch_cache, before_truncation)
        state_manager.take_snapshot()
        return bytes_truncated

    def _complete_swap_operations(self, swap_files: list[pathlib.Path]) -> None:
        for swap_file in swap_files:
            base_offset = LogFileUtils.offset_from_file(swap_file)
            swap_segment = LogSegment.open(
                self._dir,
                base_offset,
                self._config,
                self._time,
                file_suffix=LogFileUtils.SWAP_FILE_SUFFIX,
            )
            self.info("Found log file %s from interrupted swap operation, repairing.", swap_file)
            self._recover_segment(swap_segment)
            end = max(swap_segment.read_next_offset(), base_offset + 1)  # it may be empty
            # where its first original is gone already, the segment before it is none of the originals
            old_segments = [s for s in self._segments.values_between(base_offset, end) if s.base_offset >= base_offset]
            self._local_log.replace_segments(swap_segment, old_segments, is_recovered_swap_file=True)

    def _load_segments(self) -> tuple[int, int]:
        """Load or create the segments and return the new recovery point and the next offset."""
        swap_files = self._remove_temp_files_and_collect_swap_files()
        recover_later_from = _LONG_MAX
        if not swap_files and not self._had_clean_shutdown and not self._is_to_be_deleted:
            offsets = [LogFileUtils.offset_from_file(file) for file in self._files() if LogFileUtils.is_log_file(file)]
            # the segment with the recovery point and all after it
            recover_later_from = max((o for o in offsets if o <= self._recovery_point_checkpoint), default=-1)
        self._load_segment_files(recover_later_from)
        # segments that a swap replaces are .deleted before the swap file gets its final name: see replace_segments
        self._complete_swap_operations(swap_files)
        if self._is_to_be_deleted:
            if self._segments.is_empty:
                self._local_log.new_segment(0)
            return self._recovery_point_checkpoint, 0
        next_offset = self._recover_log()
        # room for new entries in the indexes of what is now the active segment
        self._local_log.active_segment.resize_indexes(self._config.max_index_size)
        return next_offset, next_offset

    def _recover_log(self) -> int:
        """Check the segments from the recovery point on, unless the shutdown was clean; return the next offset."""
        if not self._had_clean_shutdown:
            unflushed = self._segments.values_between(self._recovery_point_checkpoint, _LONG_MAX)
            for i, segment in enumerate(unflushed):
                self.info("Recovering unflushed segment %d", segment.base_offset)
                if not self._recover_unflushed_segment(segment, unflushed[i + 1 :]):
                    break
                yield_gil()
        log_start_offset = self._log_start_offset_checkpoint
        if not self._segments.is_empty:
            log_end_offset = self._local_log.active_segment.read_next_offset()
            if log_end_offset < log_start_offset:
                self.warn(
                    "Deleting all segments because logEndOffset (%d) is smaller than logStartOffset %d. This could "
                    "happen if segment files were deleted from the file system.",
                    log_end_offset,
                    log_start_offset,
                )
                self._local_log.delete_newest_first(self._segments.values())
        if self._segments.is_empty:
            if self._leader_epoch_cache.latest_epoch() >= 0:
                self._leader_epoch_cache.clear_and_flush()
            self._local_log.new_segment(log_start_offset)
        return self._local_log.active_segment.read_next_offset()

    def _recover_unflushed_segment(self, segment: LogSegment, later: list[LogSegment]) -> bool:
        """Recover a segment and sync it; False if it had to be cut, so that the ones behind it were deleted."""

        def delete_later() -> None:
            # what comes after a hole cannot be served; first of all, so that a crash leaves no hole either
            self.warn("Corruption found in segment %d, deleting the segments behind it", segment.base_offset)
            self._local_log.delete_newest_first(later)

        try:
            truncated_bytes = self._recover_segment(segment, self._leader_epoch_cache, delete_later)
        except InvalidOffsetException:
            start_offset = segment.base_offset
            self.warn(
                "Found invalid offset during recovery. Deleting the corrupt segment and creating an empty one with "
                "starting offset %d",
                start_offset,
            )
            delete_later()
            truncated_bytes = segment.truncate_to(start_offset)
        # the recovery point will be behind it
        segment.flush()
        return truncated_bytes == 0
