"""An offset together with where its record lies on disk.

Mirrors: core/src/main/scala/kafka/server/LogOffsetMetadata.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.errors import KafkaException

UNKNOWN_SEG_BASE_OFFSET = -1
UNKNOWN_FILE_POSITION = -1


class _LogOffsetMetadata(NamedTuple):
    message_offset: int
    segment_base_offset: int = UNKNOWN_SEG_BASE_OFFSET
    relative_position_in_segment: int = UNKNOWN_FILE_POSITION


class LogOffsetMetadata(_LogOffsetMetadata):
    """A message offset, the base offset of its segment and its byte position in that segment.

    Mirrors: kafka.server.LogOffsetMetadata
    Thread: any; immutable.
    Differs: an offset whose segment is not known has -1 for both other fields, as in Kafka; `OffsetOrdering` is not
        needed because `offset_diff` compares plain integers.
    """

    __slots__ = ()

    UNKNOWN_OFFSET_METADATA: ClassVar[LogOffsetMetadata]
    UNKNOWN_SEG_BASE_OFFSET: ClassVar[int] = UNKNOWN_SEG_BASE_OFFSET
    UNKNOWN_FILE_POSITION: ClassVar[int] = UNKNOWN_FILE_POSITION

    def on_older_segment(self, that: LogOffsetMetadata) -> bool:
        """Whether this offset lies in a segment before that one's; raises KafkaException without segment info."""
        if self.message_offset_only:
            raise KafkaException(
                f"{self} cannot compare its segment info with {that} since it only has message offset info"
            )
        return self.segment_base_offset < that.segment_base_offset

    def on_same_segment(self, that: LogOffsetMetadata) -> bool:
        """Whether both lie in one segment; raises KafkaException without segment info."""
        if self.message_offset_only:
            raise KafkaException(
                f"{self} cannot compare its segment info with {that} since it only has message offset info"
            )
        return self.segment_base_offset == that.segment_base_offset

    def offset_diff(self, that: LogOffsetMetadata) -> int:
        """Number of messages from `that` up to this offset."""
        return self.message_offset - that.message_offset

    def position_diff(self, that: LogOffsetMetadata) -> int:
        """Number of bytes from `that` up to this one, both in one segment; raises KafkaException otherwise."""
        if not self.on_same_segment(that):
            raise KafkaException(
                f"{self} cannot compare its segment position with {that} since they are not on the same segment"
            )
        return self.relative_position_in_segment - that.relative_position_in_segment

    @property
    def message_offset_only(self) -> bool:
        """Whether the place on disk is unknown."""
        return (
            self.segment_base_offset == UNKNOWN_SEG_BASE_OFFSET
            and self.relative_position_in_segment == UNKNOWN_FILE_POSITION
        )

    def __str__(self) -> str:
        return f"{self.message_offset} [{self.segment_base_offset} : {self.relative_position_in_segment}]"

    def __repr__(self) -> str:
        return str(self)


LogOffsetMetadata.UNKNOWN_OFFSET_METADATA = LogOffsetMetadata(-1, 0, 0)
