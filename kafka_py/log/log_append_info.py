"""What is found out about one append.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (3.7.1 has LogAppendInfo in a file of its own, too)
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.message.compression_codec import CompressionCodec, NoCompressionCodec

_NO_TIMESTAMP = -1
_FIELDS = (
    "first_offset",
    "last_offset",
    "log_append_time",
    "log_start_offset",
    "max_timestamp",
    "offset_of_max_timestamp",
    "offsets_monotonic",
    "records_processing_stats",
    "shallow_count",
    "source_codec",
    "target_codec",
    "valid_bytes",
)


class LogAppendInfo:
    """What is found out about a set of batches before and while it is appended.

    `first_offset` of a follower's append in a format before magic 2 is the last offset of the first batch, so that
    nothing need be decompressed. `shallow_count` counts batches.

    Mirrors: kafka.log.LogAppendInfo
    Thread: the appending one.
    """

    __slots__ = _FIELDS

    UNKNOWN_LOG_APPEND_INFO: ClassVar[LogAppendInfo]

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        max_timestamp: int,
        offset_of_max_timestamp: int,
        log_append_time: int,
        log_start_offset: int,
        records_processing_stats: RecordsProcessingStats,
        source_codec: CompressionCodec,
        target_codec: CompressionCodec,
        shallow_count: int,
        valid_bytes: int,
        offsets_monotonic: bool,
    ) -> None:
        self.first_offset = first_offset  # thread: the appending one
        self.last_offset = last_offset  # thread: the appending one
        self.max_timestamp = max_timestamp  # thread: the appending one
        self.offset_of_max_timestamp = offset_of_max_timestamp  # thread: the appending one
        self.log_append_time = log_append_time  # thread: the appending one
        self.log_start_offset = log_start_offset  # thread: the appending one
        self.records_processing_stats = records_processing_stats  # thread: the appending one
        self.source_codec = source_codec
        self.target_codec = target_codec
        self.shallow_count = shallow_count
        self.valid_bytes = valid_bytes
        self.offsets_monotonic = offsets_monotonic

    @classmethod
    def unknown_log_append_info_with_log_start_offset(cls, log_start_offset: int) -> LogAppendInfo:
        """For an error answer: -1 everywhere but in `log_start_offset`."""
        none = NoCompressionCodec
        stats = RecordsProcessingStats.EMPTY
        return cls(-1, -1, _NO_TIMESTAMP, -1, _NO_TIMESTAMP, log_start_offset, stats, none, none, -1, -1, False)

    def __repr__(self) -> str:
        return "LogAppendInfo(" + ", ".join(f"{name}={getattr(self, name)}" for name in _FIELDS) + ")"


LogAppendInfo.UNKNOWN_LOG_APPEND_INFO = LogAppendInfo.unknown_log_append_info_with_log_start_offset(-1)
