"""Which segments of a log are too old, too many or below its start, and may go.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (its part on retention)
Read next: log_manager.py, which asks for it every log.retention.check.interval.ms
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.log.log_segment import LogSegment

    Predicate = Callable[[LogSegment, LogSegment | None], bool]


class LogRetention:
    """Applies a topic's retention.ms and retention.bytes to one log, whole segments at a time, oldest first.

    Thread: the scheduler's; the cleaner's for topics that are compacted and deleted.
    Locks: Log.lock from the choice of segments to their deletion.
    """

    def __init__(self, log: Log, time: Time) -> None:
        self._log = log
        self._time = time

    def delete_old_segments(self) -> int:
        """Apply retention by time, by size and by log start offset; the number of segments deleted."""
        if not self._log.config.delete:
            return 0
        return (
            self._delete_retention_ms_breached_segments()
            + self._delete_retention_size_breached_segments()
            + self._delete_log_start_offset_breached_segments()
        )

    def _delete_retention_ms_breached_segments(self) -> int:
        retention_ms = self._log.config.retention_ms
        if retention_ms < 0:
            return 0
        start_ms = self._time.milliseconds()
        return self._delete_old_segments(
            lambda segment, _: start_ms - segment.largest_timestamp > retention_ms,
            reason=f"retention time {retention_ms}ms breach",
        )

    def _delete_retention_size_breached_segments(self) -> int:
        retention_size = self._log.config.retention_size
        if retention_size < 0 or self._log.size < retention_size:
            return 0
        diff = self._log.size - retention_size

        def should_delete(segment: LogSegment, _: LogSegment | None) -> bool:
            nonlocal diff
            if diff - segment.size < 0:
                return False
            diff -= segment.size
            return True

        return self._delete_old_segments(should_delete, reason=f"retention size in bytes {retention_size} breach")

    def _delete_log_start_offset_breached_segments(self) -> int:
        log = self._log
        return self._delete_old_segments(
            lambda _, after: after is not None and after.base_offset <= log.log_start_offset,
            reason=f"log start offset {log.log_start_offset} breach",
        )

    def _delete_old_segments(self, predicate: Predicate, reason: str) -> int:
        """Delete segments from the oldest on while `predicate(segment, next segment)` holds; how many."""
        with self._log.lock:
            deletable = self._deletable_segments(predicate)
            if deletable:
                self._log.info(
                    "Found deletable segments with base offsets [%s] due to %s",
                    ",".join(str(segment.base_offset) for segment in deletable),
                    reason,
                )
            return self._delete_segments(deletable)

    def _deletable_segments(self, predicate: Predicate) -> list[LogSegment]:
        """The oldest segments for which `predicate` holds, none of them reaching the high watermark.

        An empty last segment is not among them: it would only be made again.
        """
        log = self._log
        high_watermark = log.replica_high_watermark
        segments = log.log_segments
        if not segments or high_watermark is None:
            return []
        deletable = []
        for segment, next_segment in zip(segments, [*segments[1:], None], strict=True):
            upper_bound_offset = log.log_end_offset if next_segment is None else next_segment.base_offset
            is_last_segment_and_empty = next_segment is None and segment.size == 0
            if high_watermark < upper_bound_offset or not predicate(segment, next_segment) or is_last_segment_and_empty:
                break
            deletable.append(segment)
        return deletable

    def _delete_segments(self, deletable: list[LogSegment]) -> int:
        """Delete the oldest segments, beginning a new one if there would be none; how many. Caller holds Log.lock."""
        log = self._log
        with log.maybe_handle_io_exception(f"Error while deleting segments for {log.place}"):
            if deletable:
                # a log has at least one segment
                if log.number_of_segments == len(deletable):
                    log.roll()
                for segment in deletable:
                    log.delete_segment(segment)
                log.maybe_increment_log_start_offset(log.segments.snapshot[0][0])
            return len(deletable)
