"""The segments of a log by base offset.

Mirrors: org.apache.kafka.storage.internals.log.LogSegments @ 3.7.1; 1.1.1 uses a ConcurrentSkipListMap in Log itself
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.log.log_segment import LogSegment

_Snapshot = tuple[tuple[int, ...], tuple["LogSegment", ...]]


class LogSegments:
    """A sorted map that is copied when it changes, so that readers need no lock.

    Segments change once in a gigabyte or a week; look-ups happen with every fetch.

    Thread: writers hold Log.lock; any may read.
    """

    __slots__ = ("snapshot",)

    def __init__(self) -> None:
        # base offsets and segments, in the same order; take it once and use both halves
        self.snapshot: _Snapshot = ((), ())  # volatile: writer under Log.lock

    def __len__(self) -> int:
        return len(self.snapshot[0])

    @property
    def is_empty(self) -> bool:
        """Whether there is no segment."""
        return not self.snapshot[0]

    def values(self) -> list[LogSegment]:
        """All segments, oldest first."""
        return list(self.snapshot[1])

    def add(self, segment: LogSegment) -> LogSegment | None:
        """Add a segment; the one it replaces, if any."""
        offsets, segments = self.snapshot
        i = bisect_left(offsets, segment.base_offset)
        replaced = segments[i] if i < len(offsets) and offsets[i] == segment.base_offset else None
        rest = i if replaced is None else i + 1
        self.snapshot = (
            (*offsets[:i], segment.base_offset, *offsets[rest:]),
            (*segments[:i], segment, *segments[rest:]),
        )
        return replaced

    def remove(self, base_offset: int) -> None:
        """Remove the segment with that base offset, if there is one."""
        offsets, segments = self.snapshot
        if base_offset in offsets:
            i = offsets.index(base_offset)
            self.snapshot = (offsets[:i] + offsets[i + 1 :], segments[:i] + segments[i + 1 :])

    def clear(self) -> None:
        """Remove all."""
        self.snapshot = ((), ())

    @property
    def first_segment(self) -> LogSegment | None:
        """The oldest segment."""
        segments = self.snapshot[1]
        return segments[0] if segments else None

    @property
    def last_segment(self) -> LogSegment | None:
        """The newest segment."""
        segments = self.snapshot[1]
        return segments[-1] if segments else None

    def floor_segment(self, offset: int) -> LogSegment | None:
        """The segment that holds `offset` if any does: the last one that does not begin after it."""
        offsets, segments = self.snapshot
        i = bisect_right(offsets, offset) - 1
        return segments[i] if i >= 0 else None

    def lower_segment(self, offset: int) -> LogSegment | None:
        """The last segment that begins before `offset`."""
        offsets, segments = self.snapshot
        i = bisect_left(offsets, offset) - 1
        return segments[i] if i >= 0 else None

    def higher_segment(self, offset: int) -> LogSegment | None:
        """The first segment that begins after `offset`."""
        offsets, segments = self.snapshot
        i = bisect_right(offsets, offset)
        return segments[i] if i < len(segments) else None

    def values_between(self, from_: int, to: int) -> list[LogSegment]:
        """The segments from the one that holds `from_` up to the last that begins before `to`."""
        offsets, segments = self.snapshot
        return list(segments[max(bisect_right(offsets, from_) - 1, 0) : bisect_left(offsets, to)])
