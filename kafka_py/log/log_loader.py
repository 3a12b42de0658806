"""Opening the files of a log, and repairing them after a crash.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (the part that 3.7.1 keeps in LogLoader.scala)
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

from kafka_py.common.errors import CorruptIndexException, InvalidOffsetException
from kafka_py.log.local_log import LocalLog
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.yield_gil import GilYielder, yield_gil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.record.records import Records
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_config import LogConfig
    from kafka_py.log.producer_state_entry import CompletedTxn, ProducerAppendInfo
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


class LogLoader(LocalLog):
    """Loads segments and producer state when a log is opened.

    In order: delete `.deleted` and `.cleaned` files; open every segment and rebuild broken indexes; complete
    interrupted swaps; unless the shutdown was clean, check every batch from the recovery point on and cut the log at
    the first bad one; rebuild the producer state from the newest good snapshot.

    Thread: the one that opens the log; loading producer state again after a truncation holds `lock`.
    Differs: OSError is not turned into KafkaStorageException here, as in Kafka: LogManager does that. A segment
        that recovery will go through anyhow is not repaired twice because its index was left preallocated by a crash.
        An interrupted swap replaces the swapped segment's originals only, as from 2.0 on; 1.1.1 may take the segment
        before them away. A log that ends before its log start begins anew there, as in 3.7.1; in 1.1.1 it cannot be
        read. Recovered segments are synced, for the recovery point says so, and the segments behind a damaged one go
        before it is cut: in 1.1.1 a second crash can lose the one and leave a hole by the other.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str],
        config: LogConfig,
        log_start_offset: int,
        recovery_point: int,
        scheduler: Scheduler,
        time: Time,
        max_producer_id_expiration_ms: int,
        topic_partition: TopicPartition,
        producer_state_manager: ProducerStateManager,
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        super().__init__(dir, config, scheduler, time, topic_partition, log_dir_failure_channel)
        self._tags = {"topic": topic_partition.topic, "partition": str(topic_partition.partition)}
        if self.is_future:
            self._tags["is-future"] = "true"
        self.log_start_offset = log_start_offset  # volatile: writer under lock
        self.recovery_point = recovery_point  # volatile: writer under lock
        self.max_producer_id_expiration_ms = max_producer_id_expiration_ms
        self.producer_state_manager = producer_state_manager
        # where the oldest open transaction begins, from which the last stable offset is computed; if that record has
        # been deleted from the log, this is the log start
        self.first_unstable_offset: LogOffsetMetadata | None = None  # volatile: writer under lock

    @property
    def _has_clean_shutdown_file(self) -> bool:
        return (self.dir.parent / self.CLEAN_SHUTDOWN_FILE).exists()

    def _load(self) -> None:
        """Load everything; the log can be used afterwards. Raises OSError."""
        start_ms = self._time.milliseconds()
        next_offset = self._load_segments()
        active = self.active_segment
        self.next_offset_metadata = LogOffsetMetadata(next_offset, active.base_offset, active.size)
        self._leader_epoch_cache.clear_and_flush_latest(next_offset)
        self.log_start_offset = max(self.log_start_offset, self.log_segments[0].base_offset)
        # an earlier crash may have kept the file from being written
        self._leader_epoch_cache.clear_and_flush_earliest(self.log_start_offset)
        self._load_producer_state(next_offset, reload_from_clean_shutdown=self._has_clean_shutdown_file)
        self.info(
            "Completed load of log with %d segments, log start offset %d and log end offset %d in %d ms",
            self.number_of_segments,
            self.log_start_offset,
            next_offset,
            self._time.milliseconds() - start_ms,
        )

    def _files(self) -> Iterator[pathlib.Path]:
        """The files by name; what is deleted while going through them is skipped."""
        for file in sorted(self.dir.iterdir()):
            if file.is_file():
                yield file

    def _remove_temp_files_and_collect_swap_files(self) -> list[pathlib.Path]:
        """Delete what a crash left behind; return the `.log.swap` files, whose swaps are to be completed."""
        swap_files = []
        for file in self._files():
            if not os.access(file, os.R_OK):
                raise OSError(f"Could not read file {file}")
            if file.name.endswith((self.DELETED_FILE_SUFFIX, self.CLEANED_FILE_SUFFIX)):
                self.debug("Deleting stray temporary file %s", file)
                file.unlink(missing_ok=True)
            elif file.name.endswith(self.SWAP_FILE_SUFFIX):
                base_file = pathlib.Path(str(file)[: -len(self.SWAP_FILE_SUFFIX)])
                if self._is_index_file(base_file):
                    self._delete_indices_if_exist(base_file, file, "index")
                    file.unlink(missing_ok=True)  # or a later swap would take it for its own
                elif self._is_log_file(base_file):
                    self._delete_indices_if_exist(base_file, file, "log")
                    swap_files.append(file)
        return swap_files

    def _delete_indices_if_exist(self, base_file: pathlib.Path, swap_file: pathlib.Path, file_type: str) -> None:
        self.info(
            "Found %s file %s from interrupted swap operation. Deleting index files (if they exist).",
            file_type,
            swap_file,
        )
        offset = self.offset_from_file(base_file)
        for index_file in (self.offset_index_file, self.time_index_file, self.transaction_index_file):
            index_file(self.dir, offset).unlink(missing_ok=True)

    def _load_segment_files(self, recover_later_from: int) -> None:
        """Open the segments, oldest first: a transaction of one may have begun in another before it."""
        for file in self._files():
            if self._is_index_file(file):
                if not self.log_file(self.dir, self.offset_from_file(file)).exists():
                    self.warn("Found an orphaned index file %s, with no corresponding log file.", file)
                    file.unlink(missing_ok=True)
            elif self._is_log_file(file):
                self._load_segment_file(self.offset_from_file(file), recover_later_from)

    def _load_segment_file(self, base_offset: int, recover_later_from: int) -> None:
        offset_index_newly_created = not self.offset_index_file(self.dir, base_offset).exists()
        time_index_newly_created = not self.time_index_file(self.dir, base_offset).exists()
        segment = LogSegment.open(self.dir, base_offset, self.config, self._time, file_already_exists=True)
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
        self.add_segment(segment)

    def _recover_segment(
        self,
        segment: LogSegment,
        leader_epoch_cache: LeaderEpochCache | None = None,
        before_truncation: Callable[[], None] | None = None,
    ) -> int:
        """Rebuild a segment's indexes and cut it at the first bad batch; the bytes cut off."""
        with self.lock:
            state_manager = ProducerStateManager(self.topic_partition, self.dir, self.max_producer_id_expiration_ms)
            state_manager.truncate_and_reload(self.log_start_offset, segment.base_offset, self._time.milliseconds())
            for earlier in self.log_segments_between(state_manager.map_end_offset, segment.base_offset):
                start_offset = max(earlier.base_offset, state_manager.map_end_offset)
                fetch_data_info = earlier.read(start_offset, None, _INT_MAX)
                if fetch_data_info is not None:
                    self._load_producers_from_log(state_manager, fetch_data_info.records)
            state_manager.update_map_end_offset(segment.base_offset)
            # a second crash will find these snapshots and need not begin at the first segment again
            state_manager.take_snapshot()
            bytes_truncated = segment.recover(state_manager, leader_epoch_cache, before_truncation)
            state_manager.take_snapshot()
            return bytes_truncated

    def _complete_swap_operations(self, swap_files: list[pathlib.Path]) -> None:
        for swap_file in swap_files:
            base_offset = self.offset_from_file(swap_file)
            swap_segment = LogSegment.open(
                self.dir, base_offset, self.config, self._time, file_suffix=self.SWAP_FILE_SUFFIX
            )
            self.info("Found log file %s from interrupted swap operation, repairing.", swap_file)
            self._recover_segment(swap_segment)
            end = max(swap_segment.read_next_offset, base_offset + 1)  # it may be empty
            # where its first original is gone already, the segment before it is none of the originals
            old_segments = [s for s in self.log_segments_between(base_offset, end) if s.base_offset >= base_offset]
            self.replace_segments(swap_segment, old_segments, is_recovered_swap_file=True)

    def _load_segments(self) -> int:
        """Load or create the segments and return the next offset."""
        swap_files = self._remove_temp_files_and_collect_swap_files()
        recover_later_from = _LONG_MAX
        if not swap_files and not self._has_clean_shutdown_file and not self.dir.name.endswith(self.DELETE_DIR_SUFFIX):
            offsets = [self.offset_from_file(file) for file in self._files() if self._is_log_file(file)]
            # the segment with the recovery point and all after it
            recover_later_from = max((o for o in offsets if o <= self.recovery_point), default=-1)
        self._load_segment_files(recover_later_from)
        # segments that a swap replaces are .deleted before the swap file gets its final name: see replace_segments
        self._complete_swap_operations(swap_files)
        if self.dir.name.endswith(self.DELETE_DIR_SUFFIX):
            if self.segments.is_empty:
                self._add_first_segment(0)
            return 0
        next_offset = self._recover_log()
        # room for new entries in the indexes of what is now the active segment
        self.active_segment.resize_indexes(self.config.max_index_size)
        return next_offset

    def _add_first_segment(self, base_offset: int) -> None:
        self.add_segment(
            LogSegment.open(
                self.dir,
                base_offset,
                self.config,
                self._time,
                file_already_exists=False,
                init_file_size=self.init_file_size,
                preallocate=self.config.preallocate,
            )
        )

    def _recover_log(self) -> int:
        """Check the segments from the recovery point on, unless the shutdown was clean; return the next offset."""
        if not self._has_clean_shutdown_file:
            unflushed = self.log_segments_between(self.recovery_point, _LONG_MAX)
            for i, segment in enumerate(unflushed):
                self.info("Recovering unflushed segment %d", segment.base_offset)
                if not self._recover_unflushed_segment(segment, unflushed[i + 1 :]):
                    break
                yield_gil()
        if not self.segments.is_empty and self.active_segment.read_next_offset < self.log_start_offset:
            self.warn(
                "Deleting all segments because logEndOffset (%d) is smaller than logStartOffset %d. This could happen "
                "if segment files were deleted from the file system.",
                self.active_segment.read_next_offset,
                self.log_start_offset,
            )
            self._delete_newest_first(self.log_segments)
        if self.segments.is_empty:
            if self._leader_epoch_cache.latest_epoch() >= 0:
                self._leader_epoch_cache.clear_and_flush()
            self._add_first_segment(self.log_start_offset)
        self.recovery_point = self.active_segment.read_next_offset
        return self.recovery_point

    def _recover_unflushed_segment(self, segment: LogSegment, later: list[LogSegment]) -> bool:
        """Recover a segment and sync it; False if it had to be cut, so that the ones behind it were deleted."""

        def delete_later() -> None:
            # what comes after a hole cannot be served; first of all, so that a crash leaves no hole either
            self.warn("Corruption found in segment %d, deleting the segments behind it", segment.base_offset)
            self._delete_newest_first(later)

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

    def _load_producer_state(self, last_offset: int, reload_from_clean_shutdown: bool) -> None:
        """Bring the producer state to `last_offset`: from a snapshot, then from the segments behind it.

        A log without any snapshot was written by an older broker if the shutdown was clean or its format has no
        producer ids: then nothing is scanned, and empty snapshots are written where a truncation may need them.
        """
        with self.lock:
            self._check_if_memory_mapped_buffer_closed()
            message_format_version = self.config.message_format_version.message_format_version.value
            self.info(
                "Loading producer state from offset %d with message format version %d",
                last_offset,
                message_format_version,
            )
            manager = self.producer_state_manager
            if manager.latest_snapshot_offset is None and (message_format_version < 2 or reload_from_clean_shutdown):
                active = self.active_segment
                before = self._lower_segment(active.base_offset)
                earlier = [] if before is None else [before.base_offset]
                for offset in (*earlier, active.base_offset, last_offset):
                    manager.update_map_end_offset(offset)
                    manager.take_snapshot()
                return
            # nothing known and nothing to learn: truncation cannot bring producers back
            is_empty_before_truncation = manager.is_empty and manager.map_end_offset >= last_offset
            manager.truncate_and_reload(self.log_start_offset, last_offset, self._time.milliseconds())
            if last_offset > manager.map_end_offset and not is_empty_before_truncation:
                for segment in self.log_segments_between(manager.map_end_offset, last_offset):
                    start_offset = max(segment.base_offset, manager.map_end_offset, self.log_start_offset)
                    manager.update_map_end_offset(start_offset)
                    manager.take_snapshot()
                    fetch_data_info = segment.read(start_offset, last_offset, _INT_MAX)
                    if fetch_data_info is not None:
                        self._load_producers_from_log(manager, fetch_data_info.records)
            manager.update_map_end_offset(last_offset)
            self._update_first_unstable_offset()

    def _load_producers_from_log(self, producer_state_manager: ProducerStateManager, records: Records) -> None:
        loaded_producers: dict[int, ProducerAppendInfo] = {}
        completed_txns: list[CompletedTxn] = []
        yielder = GilYielder()
        for batch in records.batches():
            if batch.has_producer_id():
                completed_txn = self._update_producers(
                    producer_state_manager, batch, loaded_producers, is_from_client=False, is_replicated=True
                )
                if completed_txn is not None:
                    completed_txns.append(completed_txn)
            yielder.maybe_yield()
        for append_info in loaded_producers.values():
            producer_state_manager.update(append_info)
        for completed_txn in completed_txns:
            producer_state_manager.complete_txn(completed_txn)

    def _update_producers(
        self,
        manager: ProducerStateManager,
        batch: RecordBatch,
        producers: dict[int, ProducerAppendInfo],
        is_from_client: bool,
        is_replicated: bool,
    ) -> CompletedTxn | None:
        """Check a batch against its producer's state as collected in `producers`; the transaction it ends."""
        producer_id = batch.producer_id()
        append_info = producers.get(producer_id)
        if append_info is None:
            append_info = manager.prepare_update(producer_id, is_from_client, is_replicated)
            producers[producer_id] = append_info
        return append_info.append(batch)

    def _update_first_unstable_offset(self) -> None:
        """Take the oldest open transaction from the producer state, with its place on disk."""
        with self.lock:
            self._check_if_memory_mapped_buffer_closed()
            updated = self.producer_state_manager.first_unstable_offset
            if updated is not None and (updated.message_offset_only or updated.message_offset < self.log_start_offset):
                offset = max(updated.message_offset, self.log_start_offset)
                segment = self.segments.floor_segment(offset)
                position = None if segment is None else segment.translate_offset(offset)
                if segment is None or position is None:
                    updated = LogOffsetMetadata(offset)
                else:
                    updated = LogOffsetMetadata(offset, segment.base_offset, position.position)
            if updated != self.first_unstable_offset:
                self.debug("First unstable offset updated to %s", updated)
                self.first_unstable_offset = updated

    # ---- producer snapshots ---------------------------------------------------------------------------------------

    def delete_snapshots_after_recovery_point_checkpoint(self) -> int:
        """Delete the snapshots that neither recovery nor a truncation will need; the lowest offset kept.

        Kept are those of the last two segments, for truncations, and those from the recovery point on, so that
        recovery never has to begin at an older segment.
        """
        min_offset_to_retain = self.min_snapshots_offset_to_retain
        self.producer_state_manager.delete_snapshots_before(min_offset_to_retain)
        return min_offset_to_retain

    @property
    def min_snapshots_offset_to_retain(self) -> int:
        """The lowest offset whose snapshot is worth keeping."""
        with self.lock:
            active = self.active_segment
            two_segments_min_offset = (self._lower_segment(active.base_offset) or active).base_offset
            lower = self._lower_segment(self.recovery_point)
            recovery_point_offset = self.recovery_point if lower is None else lower.base_offset
            return min(recovery_point_offset, two_segments_min_offset)

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
            self._check_if_memory_mapped_buffer_closed()
            self.producer_state_manager.take_snapshot()

    @property
    def latest_producer_snapshot_offset(self) -> int | None:
        """Offset of the newest snapshot."""
        with self.lock:
            return self.producer_state_manager.latest_snapshot_offset

    @property
    def oldest_producer_snapshot_offset(self) -> int | None:
        """Offset of the oldest snapshot."""
        with self.lock:
            return self.producer_state_manager.oldest_snapshot_offset

    @property
    def latest_producer_state_end_offset(self) -> int:
        """The offset up to which the producer state is known."""
        with self.lock:
            return self.producer_state_manager.map_end_offset

    # ---- metrics --------------------------------------------------------------------------------------------------

    def _register_metrics(self) -> None:
        self.new_gauge("NumLogSegments", lambda: self.number_of_segments, self._tags)
        self.new_gauge("LogStartOffset", lambda: self.log_start_offset, self._tags)
        self.new_gauge("LogEndOffset", lambda: self.log_end_offset, self._tags)
        self.new_gauge("Size", lambda: self.size, self._tags)

    def remove_log_metrics(self) -> None:
        """Take the gauges of this log away."""
        for name in ("NumLogSegments", "LogStartOffset", "LogEndOffset", "Size"):
            self.remove_metric(name, self._tags)
