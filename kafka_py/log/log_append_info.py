"""What is found out about one append, and the first look at its batches.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (3.7.1 has LogAppendInfo in a file of its own, too)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    OffsetsOutOfOrderException,
    RecordTooLargeException,
    UnexpectedAppendOffsetException,
)
from kafka_py.common.record.default_record_batch import (
    ATTRIBUTES,
    BASE_OFFSET,
    LAST_OFFSET_DELTA,
    LENGTH,
    MAX_TIMESTAMP,
    DefaultRecordBatch,
)
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.message.compression_codec import BrokerCompressionCodec, CompressionCodec, NoCompressionCodec

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition

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


def analyze_and_validate_records(
    records: MemoryRecords,
    is_from_client: bool,
    max_message_size: int,
    compression_type: str,
    log_start_offset: int,
) -> LogAppendInfo:
    """Check size and checksum of each batch; note offsets, largest timestamp, codec, count and valid bytes.

    `compression_type` is the topic's, "producer" for that of the batches. Raises InvalidRecordException,
    RecordTooLargeException.
    """
    shallow_message_count = 0
    valid_bytes_count = 0
    first_offset = last_offset = -1
    source_codec = NoCompressionCodec
    monotonic = True
    max_timestamp = _NO_TIMESTAMP
    offset_of_max_timestamp = -1
    for batch in records.batches():
        compressed = True  # until it is known not to be
        if type(batch) is DefaultRecordBatch:
            header = batch.header
            compressed = header[ATTRIBUTES] & 7 != 0  # the codec's bits
            batch_first_offset = header[BASE_OFFSET]
            # older formats come from older clients, which do not always begin at 0
            if is_from_client and batch_first_offset != 0:
                raise InvalidRecordException(
                    f"The baseOffset of the record batch should be 0, but it is {batch_first_offset}"
                )
            batch_last_offset = batch_first_offset + header[LAST_OFFSET_DELTA]
            batch_size = header[LENGTH] + LOG_OVERHEAD
            batch_max_timestamp = header[MAX_TIMESTAMP]
        else:
            batch_first_offset = batch_last_offset = batch.last_offset()
            batch_size = batch.size_in_bytes()
            batch_max_timestamp = batch.max_timestamp()
        if first_offset < 0:
            first_offset = batch_first_offset
        if last_offset >= batch_last_offset:
            monotonic = False
        last_offset = batch_last_offset
        if batch_size > max_message_size:
            raise RecordTooLargeException(
                f"The record batch size is {batch_size} bytes which exceeds the maximum configured value of "
                f"{max_message_size}."
            )
        batch.ensure_valid()
        if batch_max_timestamp > max_timestamp:
            max_timestamp = batch_max_timestamp
            offset_of_max_timestamp = last_offset
        shallow_message_count += 1
        valid_bytes_count += batch_size
        if compressed and (codec_id := batch.compression_type().id):
            source_codec = CompressionCodec.get_compression_codec(codec_id)
    target_codec = source_codec
    if compression_type != "producer":
        target_codec = BrokerCompressionCodec.get_target_compression_codec(compression_type, source_codec)
    return LogAppendInfo(
        first_offset,
        last_offset,
        max_timestamp,
        offset_of_max_timestamp,
        _NO_TIMESTAMP,
        log_start_offset,
        RecordsProcessingStats.EMPTY,
        source_codec,
        target_codec,
        shallow_message_count,
        valid_bytes_count,
        monotonic,
    )


def trim_invalid_bytes(records: MemoryRecords, info: LogAppendInfo) -> MemoryRecords:
    """The records without the partial batch at their end; raises CorruptRecordException."""
    valid_bytes = info.valid_bytes
    if valid_bytes < 0:
        raise CorruptRecordException(
            f"Illegal length of message set {valid_bytes} Message set cannot be appended to log. Possible causes "
            "are corrupted produce requests"
        )
    return MemoryRecords.readable_records(records.buffer[:valid_bytes])


def check_given_offsets(
    records: MemoryRecords,
    append_info: LogAppendInfo,
    next_offset: int,
    topic_partition: TopicPartition,
    log_start_offset: int,
) -> None:
    """Refuse a follower's append that goes backwards, in itself or against the log.

    Raises OffsetsOutOfOrderException, UnexpectedAppendOffsetException.
    """
    if not append_info.offsets_monotonic:
        raise OffsetsOutOfOrderException(
            f"Out of order offsets found in append to {topic_partition}: "
            f"{[record.offset() for record in records.records()]}"
        )
    if append_info.first_offset < next_offset:
        # an empty log can still take it: DeleteRecords may have moved the leader's start into a batch; that needs
        # the true first offset, which may have to be decompressed
        first_offset = next(iter(records.batches())).base_offset()
        offsets = [record.offset() for record, _ in zip(records.records(), range(10), strict=False)]
        raise UnexpectedAppendOffsetException(
            f"Unexpected offset in append to {topic_partition}. First offset or last offset of the first "
            f"batch {append_info.first_offset} is less than the next offset {next_offset}. First 10 offsets in "
            f"append: {offsets}, last offset in append: {append_info.last_offset}. Log start offset = "
            f"{log_start_offset}",
            first_offset,
            append_info.last_offset,
        )
