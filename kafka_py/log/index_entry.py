"""The entries of the two memory-mapped indexes.

Mirrors: core/src/main/scala/kafka/log/IndexEntry.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol


class IndexEntry(Protocol):
    """A key and a value, both integers.

    Mirrors: kafka.log.IndexEntry
    """

    @property
    def index_key(self) -> int:
        """What look-ups by key compare."""

    @property
    def index_value(self) -> int:
        """What look-ups by value compare."""


class OffsetPosition(NamedTuple):
    """A message offset and the byte position of its batch in the segment's file.

    Mirrors: kafka.log.OffsetPosition
    """

    offset: int
    position: int

    @property
    def index_key(self) -> int:
        """The offset."""
        return self.offset

    @property
    def index_value(self) -> int:
        """The position."""
        return self.position


class _TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class TimestampOffset(_TimestampOffset):
    """A timestamp (ms) and an offset: every later timestamp in the segment comes after that offset.

    Mirrors: kafka.log.TimestampOffset
    """

    __slots__ = ()

    UNKNOWN: ClassVar[TimestampOffset]

    @property
    def index_key(self) -> int:
        """The timestamp."""
        return self.timestamp

    @property
    def index_value(self) -> int:
        """The offset."""
        return self.offset


TimestampOffset.UNKNOWN = TimestampOffset(-1, -1)
