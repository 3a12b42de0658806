"""What records in memory and in files share: magic checks, size estimates, down-conversion.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/AbstractRecords.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import UnsupportedCompressionTypeException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.converted_records import ConvertedRecords
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import Records
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.record.memory_records_builder import MemoryRecordsBuilder
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.simple_record import SimpleRecord
    from kafka_py.common.utils.time import Time

    Buffer = bytes | bytearray | memoryview


class AbstractRecords(Records):
    """Batches as an iterable, wherever they lie.

    Mirrors: org.apache.kafka.common.record.AbstractRecords
    """

    __slots__ = ()

    def has_matching_magic(self, magic: int) -> bool:
        """Return whether every batch has exactly that magic."""
        for batch in self.batches():  # noqa: SIM110  # all() with a generator costs 0.3 us more, per append
            if batch.magic() != magic:
                return False
        return True

    def has_compatible_magic(self, magic: int) -> bool:
        """Return whether no batch has a higher magic."""
        return all(batch.magic() <= magic for batch in self.batches())

    def records(self) -> Iterator[Record]:
        """Iterate over the records of all batches."""
        for batch in self.batches():
            yield from batch

    def _down_convert(
        self, batches: Iterable[RecordBatch], to_magic: int, first_offset: int, time: Time
    ) -> ConvertedRecords[MemoryRecords]:
        """Rebuild batches above to_magic in that format, one after the other into one buffer.

        Uncompressed records of magic 0 and 1 are not batched: of an uncompressed magic 2 batch that begins before
        first_offset, the records before it are left out (some clients rely on that). Control batches vanish.
        """
        from kafka_py.common.record.memory_records import MemoryRecords

        start_nanos = time.nanoseconds()
        stream = ByteBufferOutputStream()
        temporary_memory_bytes = 0
        num_records_converted = 0
        for batch in batches:
            if to_magic < RecordBatch.MAGIC_VALUE_V2 and batch.is_control_batch():
                continue
            if batch.magic() <= to_magic:
                temporary_memory_bytes += batch.size_in_bytes()
                batch.write_to(stream)
                continue
            builder = _convert_record_batch(to_magic, stream, batch, first_offset)
            if builder is not None:
                temporary_memory_bytes += batch.size_in_bytes() + builder.uncompressed_bytes_written()
                num_records_converted += builder.num_records()
        stats = RecordsProcessingStats(temporary_memory_bytes, num_records_converted, time.nanoseconds() - start_nanos)
        return ConvertedRecords(MemoryRecords.readable_records(stream.buffer), stats)

    @staticmethod
    def estimate_size_in_bytes(magic: int, compression_type: CompressionType, records: Iterable[SimpleRecord]) -> int:
        """Return a first guess for the buffer that a batch of these records needs."""
        if magic <= RecordBatch.MAGIC_VALUE_V1:
            size = sum(12 + LegacyRecord.record_size(magic, record.key, record.value) for record in records)
        else:
            size = DefaultRecordBatch.size_in_bytes_of(records)
        return _estimate_compressed_size_in_bytes(size, compression_type)

    @staticmethod
    def record_batch_header_size_in_bytes(magic: int, compression_type: CompressionType) -> int:
        """Return the bytes in front of the records: 0 for uncompressed messages, which stand alone."""
        if magic > RecordBatch.MAGIC_VALUE_V1:
            return DefaultRecordBatch.RECORD_BATCH_OVERHEAD
        if compression_type is not CompressionType.NONE:
            return Records.LOG_OVERHEAD + LegacyRecord.record_overhead(magic)
        return 0


def _convert_record_batch(
    magic: int, stream: ByteBufferOutputStream, batch: RecordBatch, first_offset: int
) -> MemoryRecordsBuilder | None:
    """Append batch in the format of magic to stream; None if no record is left of it."""
    from kafka_py.common.record.memory_records import MemoryRecords

    if magic < RecordBatch.MAGIC_VALUE_V2 and batch.compression_type() is CompressionType.ZSTD:
        raise UnsupportedCompressionTypeException("Down-conversion of zstandard-compressed batches is not supported")
    keep_all = magic > RecordBatch.MAGIC_VALUE_V1 or batch.is_compressed()
    log_append_time = (
        batch.max_timestamp() if batch.timestamp_type() is TimestampType.LOG_APPEND_TIME else RecordBatch.NO_TIMESTAMP
    )
    builder: MemoryRecordsBuilder | None = None
    for record in batch:
        if not keep_all and record.offset() < first_offset:
            continue
        if builder is None:
            keeps_base = min(magic, batch.magic()) >= RecordBatch.MAGIC_VALUE_V2
            base_offset = batch.base_offset() if keeps_base else record.offset()
            builder = MemoryRecords.builder(
                stream, magic, batch.compression_type(), batch.timestamp_type(), base_offset, log_append_time
            )
        if magic > RecordBatch.MAGIC_VALUE_V1:
            builder.append(record)
        else:  # headers have no place in the old formats
            builder.append_with_offset(record.offset(), record.timestamp(), record.key(), record.value())
    if builder is not None:
        builder.close()
    return builder


def _estimate_compressed_size_in_bytes(size: int, compression_type: CompressionType) -> int:
    return size if compression_type is CompressionType.NONE else min(max(size // 2, 1024), 1 << 16)
