"""Which logs are being cleaned, which may be, and up to where each has been.

Mirrors: core/src/main/scala/kafka/log/LogCleanerManager.scala @ 1.1.1
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Final

from kafka_py.common.errors import IllegalStateException, KafkaStorageException, LogCleaningAbortedException
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner_stats import LogToClean
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.log.log import Log
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.pool import Pool

_PAUSE_CHECK_MS = 100


class LogCleaningException(Exception):
    """An error while a log was cleaned that has nothing to do with the disk. Kafka has this class since 2.1."""

    def __init__(self, log: Log, message: str, exception: BaseException) -> None:
        super().__init__(message)
        self.log = log
        self.exception = exception


class LogCleaningState:
    """What a partition that must not be cleaned right now is in.

    Mirrors: kafka.log.LogCleaningState
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


LogCleaningInProgress: Final = LogCleaningState("LogCleaningInProgress")
LogCleaningAborted: Final = LogCleaningState("LogCleaningAborted")


class LogCleaningPaused(LogCleaningState):
    """How often it was paused; it goes on after as many calls of resume_cleaning.

    Mirrors: kafka.log.LogCleaningPaused
    Differs: has the count, as from 2.1 on.
    """

    __slots__ = ("paused_count",)

    def __init__(self, paused_count: int = 1) -> None:
        super().__init__(f"LogCleaningPaused({paused_count})")
        self.paused_count = paused_count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogCleaningPaused) and other.paused_count == self.paused_count

    def __hash__(self) -> int:
        return hash(self.paused_count)


class LogCleanerManager(KafkaMetricsGroup):
    """Gives each cleaner thread the dirtiest log that no other one has, and keeps the checkpoints.

    A partition that is cleaned is LogCleaningInProgress. Whoever wants to truncate, move or delete its log makes it
    LogCleaningAborted and waits; the thread notices, gives up, and the partition is LogCleaningPaused until it is
    resumed. The checkpoint file of each log directory holds for each partition the first offset not cleaned yet.

    Mirrors: kafka.log.LogCleanerManager
    Thread: any.
    Locks: `_lock`, also while the checkpoint files are read and written.
    Differs: as in newer versions pauses are counted, so that a truncation does not end the pause of a move; a
        partition whose cleaning fails for a reason of its own is left alone from then on, where 1.1.1 loses the
        cleaner thread; a checkpoint beyond the log's end is not believed; and retention keeps away from a log that is
        being cleaned although its policy was changed to delete (`pause_for_retention`, KAFKA-7322). Nothing at or above
        the high watermark is cleaned (KAFKA-13194).
    """

    logger_name = "kafka.log.LogCleaner"
    offset_checkpoint_file = "cleaner-offset-checkpoint"

    def __init__(
        self,
        log_dirs: Sequence[pathlib.Path],
        logs: Pool[TopicPartition, Log],
        log_dir_failure_channel: LogDirFailureChannel | None,
    ) -> None:
        self.log_dirs = [pathlib.Path(dir) for dir in log_dirs]
        self.logs = logs
        self.log_dir_failure_channel = log_dir_failure_channel
        self._checkpoints = {
            dir: OffsetCheckpointFile(dir / self.offset_checkpoint_file, log_dir_failure_channel)
            for dir in self.log_dirs
        }  # guarded by: _lock
        self._lock = ReentrantLock()
        self._in_progress: dict[TopicPartition, LogCleaningState] = {}  # guarded by: _lock
        # by log directory (absolute path)
        self._uncleanable_partitions: dict[str, set[TopicPartition]] = {}  # guarded by: _lock
        self._paused_cleaning_cond = self._lock.new_condition()
        self._dirtiest_log_cleanable_ratio = 0.0  # volatile: grab_filthiest_compacted_log
        self._time_of_last_run = Time.SYSTEM.milliseconds()  # volatile: grab_filthiest_compacted_log
        self.new_gauge("max-dirty-percent", lambda: int(100 * self._dirtiest_log_cleanable_ratio))
        self.new_gauge("time-since-last-run-ms", lambda: Time.SYSTEM.milliseconds() - self._time_of_last_run)
        for dir in self.log_dirs:
            tags = {"logDirectory": str(dir)}
            self.new_gauge("uncleanable-partitions-count", _counter(self, str(dir)), tags)
            self.new_gauge("uncleanable-bytes", _byte_counter(self, str(dir)), tags)

    def remove_metrics(self) -> None:
        """Take the gauges away."""
        self.remove_metric("max-dirty-percent")
        self.remove_metric("time-since-last-run-ms")
        for dir in self.log_dirs:
            self.remove_metric("uncleanable-partitions-count", {"logDirectory": str(dir)})
            self.remove_metric("uncleanable-bytes", {"logDirectory": str(dir)})

    # ---- what to clean --------------------------------------------------------------------------------------------

    def all_cleaner_checkpoints(self) -> dict[TopicPartition, int]:
        """The first offset not cleaned yet of each log that ever was."""
        with self._lock:
            offsets: dict[TopicPartition, int] = {}
            for checkpoint in self._checkpoints.values():
                try:
                    offsets.update(checkpoint.read())
                except KafkaStorageException as e:
                    self._failed_to_access(checkpoint, e)
            return offsets

    def _failed_to_access(self, checkpoint: OffsetCheckpointFile, e: KafkaStorageException) -> None:
        self.error(
            "Failed to access checkpoint file %s in dir %s",
            checkpoint.file.name,
            checkpoint.file.absolute().parent,
            exc=e,
        )

    def cleaning_state(self, tp: TopicPartition) -> LogCleaningState | None:
        """The state of a partition, None if it may be cleaned."""
        with self._lock:
            return self._in_progress.get(tp)

    def set_cleaning_state(self, tp: TopicPartition, state: LogCleaningState) -> None:
        """Set the state of a partition (tests do)."""
        with self._lock:
            self._in_progress[tp] = state

    def grab_filthiest_compacted_log(self, time: Time) -> LogToClean | None:
        """Choose the log with the largest dirty share, if that is worth it, and mark it as in progress.

        Raises LogCleaningException with the log whose dirty part could not be found out.
        """
        with self._lock:
            now = time.milliseconds()
            self._time_of_last_run = now
            last_clean = self.all_cleaner_checkpoints()
            dirty_logs = []
            for topic_partition, log in self.logs.items():
                if (
                    not log.config.compact
                    or topic_partition in self._in_progress
                    or self._is_uncleanable_partition(log, topic_partition)
                ):
                    continue
                try:
                    first_dirty, first_uncleanable = self.cleanable_offsets(log, topic_partition, last_clean, now)
                    dirty_logs.append(LogToClean(topic_partition, log, first_dirty, first_uncleanable))
                except Exception as e:
                    raise LogCleaningException(
                        log, f"Failed to calculate log cleaning stats for partition {topic_partition}", e
                    ) from e
            dirty_logs = [ltc for ltc in dirty_logs if ltc.total_bytes > 0]
            self._dirtiest_log_cleanable_ratio = max((ltc.cleanable_ratio for ltc in dirty_logs), default=0.0)
            cleanable_logs = [ltc for ltc in dirty_logs if ltc.cleanable_ratio > ltc.log.config.min_cleanable_ratio]
            if not cleanable_logs:
                return None
            filthiest = max(cleanable_logs)
            self._in_progress[filthiest.topic_partition] = LogCleaningInProgress
            return filthiest

    def deletable_logs(self) -> list[tuple[TopicPartition, Log]]:
        """The logs with both policies, to which retention is to be applied; they are marked as in progress."""
        with self._lock:
            to_clean = [
                (topic_partition, log)
                for topic_partition, log in self.logs.items()
                if topic_partition not in self._in_progress and self.is_compact_and_delete(log)
            ]
            for topic_partition, _ in to_clean:
                self._in_progress[topic_partition] = LogCleaningInProgress
            return to_clean

    # ---- abort, pause, resume -------------------------------------------------------------------------------------

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """Return when the partition is not being cleaned; it may be again afterwards."""
        with self._lock:
            self.abort_and_pause_cleaning(topic_partition)
            self.resume_cleaning(topic_partition)
        self.info("The cleaning for partition %s is aborted", topic_partition)

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Return when the partition is not being cleaned, and let nobody clean it until it is resumed.

        IllegalStateException while somebody else waits for the same.
        """
        with self._lock:
            state = self._in_progress.get(topic_partition)
            if state is None:
                self._in_progress[topic_partition] = LogCleaningPaused(1)
            elif state is LogCleaningInProgress:
                # the cleaner thread will see it, and done_cleaning or done_deleting make it paused
                self._in_progress[topic_partition] = LogCleaningAborted
            elif isinstance(state, LogCleaningPaused):
                self._in_progress[topic_partition] = LogCleaningPaused(state.paused_count + 1)
            else:
                raise IllegalStateException(
                    f"Compaction for partition {topic_partition} cannot be aborted and paused since it is in {state} "
                    "state."
                )
            while not isinstance(self._in_progress.get(topic_partition), LogCleaningPaused):
                self._paused_cleaning_cond.await_(_PAUSE_CHECK_MS)
        self.info("The cleaning for partition %s is aborted and paused", topic_partition)

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """Undo one abort_and_pause_cleaning; IllegalStateException if there was none."""
        with self._lock:
            self._resume(topic_partition)
        self.info("Compaction for partition %s is resumed", topic_partition)

    def _resume(self, topic_partition: TopicPartition) -> None:
        """Take one pause off. Caller holds _lock."""
        state = self._in_progress.get(topic_partition)
        if state is None:
            raise IllegalStateException(
                f"Compaction for partition {topic_partition} cannot be resumed since it is not paused."
            )
        if not isinstance(state, LogCleaningPaused):
            raise IllegalStateException(
                f"Compaction for partition {topic_partition} cannot be resumed since it is in {state} state."
            )
        if state.paused_count > 1:
            self._in_progress[topic_partition] = LogCleaningPaused(state.paused_count - 1)
        else:
            del self._in_progress[topic_partition]

    def pause_for_retention(self, topic_partition: TopicPartition) -> bool:
        """Let nobody clean the partition until it is resumed; False, and no pause, if it is being cleaned right now.

        Retention must not take segments away from a cleaner whose log has just lost the policy to compact.
        """
        with self._lock:
            state = self._in_progress.get(topic_partition)
            if state is not None and not isinstance(state, LogCleaningPaused):
                return False
            self._in_progress[topic_partition] = LogCleaningPaused(1 if state is None else state.paused_count + 1)
            return True

    def resume_after_retention(self, topic_partition: TopicPartition) -> None:
        """Undo pause_for_retention, which happens to every log every few minutes, without a word in the log."""
        with self._lock:
            self._resume(topic_partition)

    def _is_cleaning_in_state(self, topic_partition: TopicPartition, expected_state: LogCleaningState) -> bool:
        """Whether the partition is in that state. Caller holds _lock."""
        return self._in_progress.get(topic_partition) is expected_state

    def check_cleaning_aborted(self, topic_partition: TopicPartition) -> None:
        """Raise LogCleaningAbortedException if somebody waits for the cleaner to give up."""
        with self._lock:
            if self._is_cleaning_in_state(topic_partition, LogCleaningAborted):
                raise LogCleaningAbortedException()

    # ---- checkpoints ----------------------------------------------------------------------------------------------

    def update_checkpoints(
        self,
        data_dir: pathlib.Path,
        update: tuple[TopicPartition, int] | None = None,
        partition_to_remove: TopicPartition | None = None,
    ) -> None:
        """Write a directory's checkpoints: without logs that are gone, with one added or removed."""
        with self._lock:
            checkpoint = self._checkpoints.get(data_dir)
            if checkpoint is None:
                return
            try:
                offsets = {tp: offset for tp, offset in checkpoint.read().items() if tp in self.logs}
                if partition_to_remove is not None:
                    offsets.pop(partition_to_remove, None)
                if update is not None:
                    offsets[update[0]] = update[1]
                checkpoint.write(offsets)
            except KafkaStorageException as e:
                self._failed_to_access(checkpoint, e)

    def alter_checkpoint_dir(
        self, topic_partition: TopicPartition, source_log_dir: pathlib.Path, dest_log_dir: pathlib.Path
    ) -> None:
        """Move a partition's checkpoint to the directory that its log was moved to."""
        with self._lock:
            try:
                checkpoint = self._checkpoints.get(source_log_dir)
                offset = None if checkpoint is None else checkpoint.read().get(topic_partition)
                if offset is not None:
                    self.update_checkpoints(source_log_dir, partition_to_remove=topic_partition)
                    self.update_checkpoints(dest_log_dir, (topic_partition, offset))
            except KafkaStorageException as e:
                self.error("Failed to access checkpoint file in dir %s", source_log_dir, exc=e)
            uncleanable = self._uncleanable_partitions.get(str(source_log_dir), set())
            if topic_partition in uncleanable:
                uncleanable.remove(topic_partition)
                self.mark_partition_uncleanable(str(dest_log_dir), topic_partition)

    def handle_log_dir_failure(self, dir: str) -> None:
        """Leave a directory (absolute path) alone."""
        self.info("Stopping cleaning logs in dir %s", dir)
        with self._lock:
            self._checkpoints = {path: file for path, file in self._checkpoints.items() if str(path) != dir}

    def maybe_truncate_checkpoint(self, data_dir: pathlib.Path, topic_partition: TopicPartition, offset: int) -> None:
        """Take the checkpoint of a compacted log down to `offset` if it is above."""
        with self._lock:
            log = self.logs.get(topic_partition)
            checkpoint = self._checkpoints.get(data_dir)
            if log is None or not log.config.compact or checkpoint is None:
                return
            existing = checkpoint.read()
            if existing.get(topic_partition, 0) > offset:
                checkpoint.write({**existing, topic_partition: offset})

    def done_cleaning(self, topic_partition: TopicPartition, data_dir: pathlib.Path, end_offset: int) -> None:
        """The thread has finished, or given up: write the checkpoint, or say so to who waits for it."""
        with self._lock:
            state = self._in_progress.get(topic_partition)
            if state is LogCleaningInProgress:
                self.update_checkpoints(data_dir, (topic_partition, end_offset))
                del self._in_progress[topic_partition]
            else:
                self._pause_aborted(topic_partition, state)

    def done_deleting(self, topic_partition: TopicPartition) -> None:
        """The thread has applied retention to the log."""
        with self._lock:
            state = self._in_progress.get(topic_partition)
            if state is LogCleaningInProgress:
                del self._in_progress[topic_partition]
            else:
                self._pause_aborted(topic_partition, state)

    def _pause_aborted(self, topic_partition: TopicPartition, state: LogCleaningState | None) -> None:
        """Aborted becomes paused; IllegalStateException for any other state. Caller holds _lock."""
        if state is not LogCleaningAborted:
            raise IllegalStateException(f"In-progress partition {topic_partition} cannot be in {state} state.")
        self._in_progress[topic_partition] = LogCleaningPaused(1)
        self._paused_cleaning_cond.signal_all()

    # ---- uncleanable partitions -----------------------------------------------------------------------------------

    def uncleanable_partitions(self, log_dir: str) -> set[TopicPartition]:
        """The partitions of a directory (absolute path) that are not cleaned any more."""
        with self._lock:
            return set(self._uncleanable_partitions.get(log_dir, ()))

    def mark_partition_uncleanable(self, log_dir: str, partition: TopicPartition) -> None:
        """Do not clean a partition again before the broker restarts."""
        with self._lock:
            self._uncleanable_partitions.setdefault(log_dir, set()).add(partition)

    def _is_uncleanable_partition(self, log: Log, topic_partition: TopicPartition) -> bool:
        with self._lock:
            return topic_partition in self._uncleanable_partitions.get(str(log.dir.parent), ())

    def maintain_uncleanable_partitions(self) -> None:
        """Forget the partitions that are gone."""
        with self._lock:
            for partitions in self._uncleanable_partitions.values():
                partitions.intersection_update(self.logs.keys)
            self._uncleanable_partitions = {d: p for d, p in self._uncleanable_partitions.items() if p}

    def uncleanable_bytes(self, log_dir: str) -> int:
        """What could be cleaned of a directory's uncleanable partitions."""
        now = Time.SYSTEM.milliseconds()
        total = 0
        partitions = self.uncleanable_partitions(log_dir)
        last_clean = self.all_cleaner_checkpoints() if partitions else {}
        for topic_partition in partitions:
            log = self.logs.get(topic_partition)
            if log is not None:
                offsets = self.cleanable_offsets(log, topic_partition, last_clean, now)
                total += LogToClean(topic_partition, log, *offsets).cleanable_bytes
        return total

    # ---- offsets --------------------------------------------------------------------------------------------------

    @staticmethod
    def is_compact_and_delete(log: Log) -> bool:
        """Whether a log has both policies."""
        return log.config.compact and log.config.delete

    def cleanable_offsets(
        self, log: Log, topic_partition: TopicPartition, last_clean: Mapping[TopicPartition, int], now: int
    ) -> tuple[int, int]:
        """The first dirty offset and the first offset that must not be cleaned, of the checkpoints and ms given."""
        last_clean_offset = last_clean.get(topic_partition)
        first_dirty_offset = self._first_dirty_offset(log, last_clean_offset)
        active_base_offset = log.active_segment.base_offset
        # What is not replicated may be truncated, but the older values that it replaced would stay gone; and what is
        # neither committed nor aborted may turn out to replace nothing.
        bounds = [active_base_offset, log.last_stable_offset]
        compaction_lag_ms = max(log.config.compaction_lag_ms, 0)
        if compaction_lag_ms > 0:
            for segment in log.log_segments_between(first_dirty_offset, active_base_offset):
                is_uncleanable = segment.largest_timestamp > now - compaction_lag_ms
                self.debug(
                    "Checking if log segment may be cleaned: log='%s' segment.baseOffset=%d "
                    "segment.largestTimestamp=%d; now - compactionLag=%d; is uncleanable=%s",
                    log.name,
                    segment.base_offset,
                    segment.largest_timestamp,
                    now - compaction_lag_ms,
                    is_uncleanable,
                )
                if is_uncleanable:
                    bounds.append(segment.base_offset)
                    break
        first_uncleanable_dirty_offset = max(first_dirty_offset, min(bounds))
        self.debug(
            "Finding range of cleanable offsets for log=%s topicPartition=%s. Last clean offset=%s now=%d => "
            "firstDirtyOffset=%d firstUncleanableOffset=%d activeSegment.baseOffset=%d",
            log.name,
            topic_partition,
            last_clean_offset,
            now,
            first_dirty_offset,
            first_uncleanable_dirty_offset,
            active_base_offset,
        )
        return first_dirty_offset, first_uncleanable_dirty_offset

    def _first_dirty_offset(self, log: Log, last_clean_offset: int | None) -> int:
        """The checkpoint, or the beginning of the log if there is none or it cannot be true."""
        log_start_offset = log.log_segments[0].base_offset
        if last_clean_offset is None:
            return log_start_offset
        if last_clean_offset < log_start_offset:
            if not self.is_compact_and_delete(log):  # there it happens all the time
                self.warn(
                    "Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %d is "
                    "invalid.",
                    log.name,
                    log_start_offset,
                    last_clean_offset,
                )
            return log_start_offset
        if last_clean_offset > log.log_end_offset:
            self.warn(
                "The last checkpoint dirty offset for partition %s is %d, which is larger than the log end offset %d. "
                "Resetting to the log start offset %d.",
                log.name,
                last_clean_offset,
                log.log_end_offset,
                log_start_offset,
            )
            return log_start_offset
        return last_clean_offset


def _counter(manager: LogCleanerManager, dir: str) -> Callable[[], int]:
    return lambda: len(manager.uncleanable_partitions(dir))


def _byte_counter(manager: LogCleanerManager, dir: str) -> Callable[[], int]:
    return lambda: manager.uncleanable_bytes(dir)
