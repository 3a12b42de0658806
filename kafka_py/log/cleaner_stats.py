"""What one pass over a log did, and which log it was.

Mirrors: core/src/main/scala/kafka/log/LogCleaner.scala @ 1.1.1 (the two structs near its end)
"""

from __future__ import annotations

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.log.log import Log


class CleanerStats:
    """Counts of one pass. The map's ones are those of the first half, in which the offset map is built.

    Mirrors: kafka.log.CleanerStats
    Thread: cleaner writes; gauges read when the pass is over.
    """

    def __init__(self, time: Time = Time.SYSTEM) -> None:
        self._time = time
        self.start_time = time.milliseconds()
        self.map_complete_time = -1  # thread: cleaner
        self.end_time = -1  # thread: cleaner
        self.bytes_read = 0  # thread: cleaner
        self.bytes_written = 0  # thread: cleaner
        self.map_bytes_read = 0  # thread: cleaner
        self.map_messages_read = 0  # thread: cleaner
        self.messages_read = 0  # thread: cleaner
        self.invalid_messages_read = 0  # thread: cleaner
        self.messages_written = 0  # thread: cleaner
        self.buffer_utilization = 0.0  # thread: cleaner

    def read_messages(self, messages_read: int, bytes_read: int) -> None:
        """Count what was read to be cleaned."""
        self.messages_read += messages_read
        self.bytes_read += bytes_read

    def invalid_message(self) -> None:
        """Count a message without key."""
        self.invalid_messages_read += 1

    def recopy_messages(self, messages_written: int, bytes_written: int) -> None:
        """Count what was kept."""
        self.messages_written += messages_written
        self.bytes_written += bytes_written

    def index_messages_read(self, size: int) -> None:
        """Count messages read for the map."""
        self.map_messages_read += size

    def index_bytes_read(self, size: int) -> None:
        """Count bytes read for the map."""
        self.map_bytes_read += size

    def index_done(self) -> None:
        """The map is complete."""
        self.map_complete_time = self._time.milliseconds()

    def all_done(self) -> None:
        """The pass is over."""
        self.end_time = self._time.milliseconds()

    @property
    def elapsed_secs(self) -> float:
        """Duration of the pass."""
        return (self.end_time - self.start_time) / 1000.0

    @property
    def elapsed_index_secs(self) -> float:
        """Duration of its first half."""
        return (self.map_complete_time - self.start_time) / 1000.0


class LogToClean:
    """A log with the offsets between which it is dirty and may be cleaned; sorts by the share of such bytes.

    Mirrors: kafka.log.LogToClean
    Thread: cleaner.
    """

    __slots__ = (
        "_first_uncleanable_segment",
        "clean_bytes",
        "cleanable_bytes",
        "cleanable_ratio",
        "first_dirty_offset",
        "first_uncleanable_offset",
        "log",
        "topic_partition",
        "total_bytes",
        "uncleanable_offset",
    )

    def __init__(self, topic_partition: TopicPartition, log: Log, first_dirty_offset: int, uncleanable_offset: int):
        self.topic_partition = topic_partition
        self.log = log
        self.first_dirty_offset = first_dirty_offset
        self.uncleanable_offset = uncleanable_offset
        between, size_of, active = log.log_segments_between, log.size_in_bytes, log.active_segment
        self.clean_bytes = size_of(between(-1, first_dirty_offset))
        # only whole segments are cleaned
        self._first_uncleanable_segment = next(iter(between(uncleanable_offset, active.base_offset)), active)
        self.first_uncleanable_offset = self._first_uncleanable_segment.base_offset
        self.cleanable_bytes = size_of(
            between(first_dirty_offset, max(first_dirty_offset, self.first_uncleanable_offset))
        )
        self.total_bytes = self.clean_bytes + self.cleanable_bytes
        self.cleanable_ratio = self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    def compare(self, that: LogToClean) -> int:
        """Negative, 0 or positive as this one is cleaner, as dirty, or dirtier."""
        return (self.cleanable_ratio > that.cleanable_ratio) - (self.cleanable_ratio < that.cleanable_ratio)

    def __lt__(self, that: LogToClean) -> bool:
        return self.compare(that) < 0
