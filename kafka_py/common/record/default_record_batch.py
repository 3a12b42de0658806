"""Batches of magic 2: a 61-byte header, then records, compressed together or not.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java @ 1.1.1

    0 BaseOffset int64 | 8 Length int32 | 12 PartitionLeaderEpoch int32 | 16 Magic int8 | 17 CRC uint32
    | 21 Attributes int16 | 23 LastOffsetDelta int32 | 27 FirstTimestamp int64 | 35 MaxTimestamp int64
    | 43 ProducerId int64 | 51 ProducerEpoch int16 | 53 BaseSequence int32 | 57 RecordsCount int32 | 61 Records

The CRC-32C covers everything from the attributes on, so that a broker stamps offset and epoch without touching it.
Attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control. Compaction keeps the first and the last
offset (and sequence) of the batch even if those records go, and an empty batch may stay for its producer's state.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, ClassVar, Final

import crc32c

from kafka_py.common.errors import InvalidRecordException, KafkaException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record import DefaultRecord, increment_sequence
from kafka_py.common.record.mutable_record_batch import MutableRecordBatch
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.record.timestamp_type import TimestampType

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.decompression_stream import DecompressionStream
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.simple_record import SimpleRecord
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

    Buffer = bytes | bytearray | memoryview

HEADER = struct.Struct(">qiibIhiqqqhii")
BatchHeader = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]

# Places of the header's fields in what HEADER unpacks. A NamedTuple would take twice the time, to make and to read.
BASE_OFFSET: Final = 0
LENGTH: Final = 1
PARTITION_LEADER_EPOCH: Final = 2
MAGIC: Final = 3
CRC: Final = 4
ATTRIBUTES: Final = 5
LAST_OFFSET_DELTA: Final = 6
FIRST_TIMESTAMP: Final = 7
MAX_TIMESTAMP: Final = 8
PRODUCER_ID: Final = 9
PRODUCER_EPOCH: Final = 10
BASE_SEQUENCE: Final = 11
RECORDS_COUNT: Final = 12

_INT64 = struct.Struct(">q")
_UP_TO_EPOCH = struct.Struct(">qii")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT16 = struct.Struct(">h")
_unpack_header = HEADER.unpack_from
_crc32c = crc32c.crc32c

_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
_COMPRESSION_CODEC_MASK = 0x07
_TIMESTAMP_TYPE_MASK = 0x08
_TRANSACTIONAL_FLAG_MASK = 0x10
_CONTROL_FLAG_MASK = 0x20


class DefaultRecordBatch(MutableRecordBatch):
    """A magic 2 batch over the bytes it was received or read in.

    `header` holds all 13 header fields, in the order of the module docstring, unpacked once; hot code may take
    the tuple apart instead of calling 13 getters. Setters write into the buffer and refresh the tuple.

    Mirrors: org.apache.kafka.common.record.DefaultRecordBatch
    Differs: iterating a compressed batch always streams; it never holds the decompressed batch.
    """

    __slots__ = ("buffer", "header")

    BASE_OFFSET_OFFSET: ClassVar[int] = 0
    LENGTH_OFFSET: ClassVar[int] = 8
    PARTITION_LEADER_EPOCH_OFFSET: ClassVar[int] = 12
    MAGIC_OFFSET: ClassVar[int] = 16
    CRC_OFFSET: ClassVar[int] = 17
    ATTRIBUTES_OFFSET: ClassVar[int] = 21
    LAST_OFFSET_DELTA_OFFSET: ClassVar[int] = 23
    FIRST_TIMESTAMP_OFFSET: ClassVar[int] = 27
    MAX_TIMESTAMP_OFFSET: ClassVar[int] = 35
    PRODUCER_ID_OFFSET: ClassVar[int] = 43
    PRODUCER_EPOCH_OFFSET: ClassVar[int] = 51
    BASE_SEQUENCE_OFFSET: ClassVar[int] = 53
    RECORDS_COUNT_OFFSET: ClassVar[int] = 57
    RECORDS_OFFSET: ClassVar[int] = 61
    RECORD_BATCH_OVERHEAD: ClassVar[int] = 61

    def __init__(self, buffer: Buffer, header: BatchHeader | None = None) -> None:
        """``header`` spares unpacking where it was unpacked already."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        self.buffer: memoryview = view
        if header is not None:
            self.header: BatchHeader = header  # thread: of its owner
        elif len(view) < 61:  # too short to be valid: ensure_valid says so, getters see zeros
            self.header = _unpack_header(bytes(view) + bytes(61 - len(view)))
        else:
            self.header = _unpack_header(view)

    def magic(self) -> int:
        """Return the magic byte."""
        return self.header[MAGIC]

    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if the size or the checksum is wrong."""
        header = self.header
        if header[LENGTH] < 49:
            raise InvalidRecordException(
                f"Record batch is corrupt (the size {self.size_in_bytes()} is smaller than the minimum allowed "
                f"overhead {DefaultRecordBatch.RECORD_BATCH_OVERHEAD})"
            )
        if header[CRC] != _crc32c(self.buffer[21:], gil_release_mode=0):
            raise InvalidRecordException(
                f"Record is corrupt (stored crc = {self.checksum()}, computed crc = {self._compute_checksum()})"
            )

    def is_valid(self) -> bool:
        """Return whether the size allows a header and the checksum is right."""
        return self.size_in_bytes() >= 61 and self.header[CRC] == self._compute_checksum()

    def first_timestamp(self) -> int:
        """Return the create time of the first record, -1 if the batch is empty."""
        return self.header[FIRST_TIMESTAMP]

    def max_timestamp(self) -> int:
        """Return the largest create time, or the append time."""
        return self.header[MAX_TIMESTAMP]

    def timestamp_type(self) -> TimestampType:
        """Return create time or append time."""
        return TimestampType.LOG_APPEND_TIME if self.header[ATTRIBUTES] & 8 else TimestampType.CREATE_TIME

    def base_offset(self) -> int:
        """Return the offset of the first record before compaction."""
        return self.header[BASE_OFFSET]

    def last_offset(self) -> int:
        """Return the offset of the last record before compaction."""
        header = self.header
        return header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]

    def next_offset(self) -> int:
        """Return the offset that follows the batch."""
        header = self.header
        return header[BASE_OFFSET] + header[LAST_OFFSET_DELTA] + 1

    def producer_id(self) -> int:
        """Return the producer id, -1 if there is none."""
        return self.header[PRODUCER_ID]

    def has_producer_id(self) -> bool:
        """Return whether a producer id is set."""
        return self.header[PRODUCER_ID] > -1

    def producer_epoch(self) -> int:
        """Return the producer epoch, -1 if there is none."""
        return self.header[PRODUCER_EPOCH]

    def base_sequence(self) -> int:
        """Return the first sequence number, -1 if there is none."""
        return self.header[BASE_SEQUENCE]

    def last_sequence(self) -> int:
        """Return the last sequence number, -1 if there is none."""
        base_sequence = self.header[BASE_SEQUENCE]
        if base_sequence == RecordBatch.NO_SEQUENCE:
            return RecordBatch.NO_SEQUENCE
        return increment_sequence(base_sequence, self.header[LAST_OFFSET_DELTA])

    def compression_type(self) -> CompressionType:
        """Return the codec; ValueError for an unknown one."""
        return CompressionType.for_id(self.header[ATTRIBUTES] & 7)

    def is_compressed(self) -> bool:
        """Return whether the records are compressed; ValueError for an unknown codec."""
        return CompressionType.for_id(self.header[ATTRIBUTES] & 7).id != 0

    def size_in_bytes(self) -> int:
        """Return header and records as the length field says."""
        return LOG_OVERHEAD + self.header[LENGTH]

    def count_or_null(self) -> int:
        """Return the number of records that the header claims."""
        return self.header[RECORDS_COUNT]

    def write_to(self, out: ByteBufferOutputStream) -> None:
        """Append the bytes of the batch to out."""
        out.write(self.buffer)

    def is_transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return self.header[ATTRIBUTES] & 0x10 != 0

    def is_control_batch(self) -> bool:
        """Return whether the batch holds a transaction marker."""
        return self.header[ATTRIBUTES] & 0x20 != 0

    def partition_leader_epoch(self) -> int:
        """Return the epoch of the leader that appended the batch, -1 if unknown."""
        return self.header[PARTITION_LEADER_EPOCH]

    def checksum(self) -> int:
        """Return the stored checksum."""
        return self.header[CRC]

    def set_last_offset(self, offset: int) -> None:
        """Move the batch so that it ends with offset; the checksum does not cover this."""
        _INT64.pack_into(self.buffer, 0, offset - self.header[LAST_OFFSET_DELTA])
        self.header = _unpack_header(self.buffer)

    def set_partition_leader_epoch(self, epoch: int) -> None:
        """Set the epoch of the appending leader; the checksum does not cover this."""
        _INT32.pack_into(self.buffer, 12, epoch)
        self.header = _unpack_header(self.buffer)

    def set_last_offset_and_epoch(self, offset: int, epoch: int) -> None:
        """Do what set_last_offset and set_partition_leader_epoch do, at once."""
        header = self.header
        base_offset = offset - header[LAST_OFFSET_DELTA]
        _UP_TO_EPOCH.pack_into(self.buffer, 0, base_offset, header[LENGTH], epoch)
        self.header = (base_offset, header[LENGTH], epoch, *header[MAGIC:])

    def set_max_timestamp(self, timestamp_type: TimestampType, max_timestamp: int) -> None:
        """Set type and value; the checksum is recomputed only if one of them changes."""
        header = self.header
        if header[MAX_TIMESTAMP] == max_timestamp and (timestamp_type is _LOG_APPEND_TIME) == (
            header[ATTRIBUTES] & 8 != 0
        ):
            return
        attributes = compute_attributes(
            self.compression_type(), timestamp_type, self.is_transactional(), self.is_control_batch()
        )
        buffer = self.buffer
        _INT16.pack_into(buffer, 21, attributes)
        _INT64.pack_into(buffer, 35, max_timestamp)
        _UINT32.pack_into(buffer, 17, self._compute_checksum())
        self.header = _unpack_header(buffer)

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records; InvalidRecordException where the structure is wrong."""
        if self.header[RECORDS_COUNT] == 0:
            return iter(())
        return self.streaming_iterator()

    def streaming_iterator(self, buffer_supplier: BufferSupplier | None = None) -> Generator[Record, None, None]:
        """Iterate over the records, decompressing piece by piece.

        InvalidRecordException for a wrong structure or a stream that ends too early, KafkaException for damaged
        compressed data, ValueError for an endless length varint or a negative length inside compressed data.
        """
        count = self.header[RECORDS_COUNT]
        if count < 0:
            raise InvalidRecordException(f"Found invalid record count {count} in magic v{self.magic()} batch")
        if self.is_compressed():
            return self._compressed_iterator(count, buffer_supplier)
        return self._uncompressed_iterator(count)

    def _uncompressed_iterator(self, count: int) -> Generator[Record, None, None]:
        header = self.header
        base_offset, first_timestamp, base_sequence = (
            header[BASE_OFFSET],
            header[FIRST_TIMESTAMP],
            header[BASE_SEQUENCE],
        )
        log_append_time = header[MAX_TIMESTAMP] if header[ATTRIBUTES] & _TIMESTAMP_TYPE_MASK else None
        buffer = self.buffer
        position = 61
        for left in range(count - 1, -1, -1):
            try:
                record, position = DefaultRecord.read_from(
                    buffer, position, base_offset, first_timestamp, base_sequence, log_append_time
                )
            except IndexError:
                raise InvalidRecordException("Incorrect declared batch size, premature EOF reached") from None
            if left == 0 and position != len(buffer):
                raise InvalidRecordException("Incorrect declared batch size, records still remaining in file")
            yield record

    def _compressed_iterator(self, count: int, buffer_supplier: BufferSupplier | None) -> Generator[Record, None, None]:
        header = self.header
        base_offset, first_timestamp, base_sequence = (
            header[BASE_OFFSET],
            header[FIRST_TIMESTAMP],
            header[BASE_SEQUENCE],
        )
        log_append_time = header[MAX_TIMESTAMP] if header[ATTRIBUTES] & _TIMESTAMP_TYPE_MASK else None
        stream = self.compression_type().wrap_for_input(self.buffer[61:], header[MAGIC], buffer_supplier)
        try:
            for left in range(count - 1, -1, -1):
                try:
                    body_size, size_in_bytes = stream.read_varint()
                    if body_size < 0:
                        raise ValueError(f"negative record length {body_size} in a compressed batch")
                    body = stream.read_fully(body_size)
                except EOFError:
                    raise InvalidRecordException("Incorrect declared batch size, premature EOF reached") from None
                except OSError as e:
                    raise KafkaException("Failed to decompress record stream") from e
                record, end = DefaultRecord.read_body(
                    body, 0, size_in_bytes + body_size, base_offset, first_timestamp, base_sequence, log_append_time
                )
                if end != body_size:
                    raise InvalidRecordException(
                        f"Invalid record size: expected to read {body_size} bytes in record payload, "
                        f"but instead read {end}"
                    )
                if left == 0:
                    ensure_none_remaining(stream)
                yield record
        finally:
            stream.close()

    def __eq__(self, other: object) -> bool:
        """Equal when the bytes are."""
        return type(other) is type(self) and self.buffer == other.buffer

    def __hash__(self) -> int:
        """Hash of the header (the buffer may be writable)."""
        return hash(self.header)

    def __repr__(self) -> str:
        """Show format, offsets and checksum."""
        return (
            f"RecordBatch(magic={self.magic()}, offsets=[{self.base_offset()}, {self.last_offset()}], "
            f"compression={self.header[ATTRIBUTES] & _COMPRESSION_CODEC_MASK}, timestampType={self.timestamp_type()}, "
            f"crc={self.checksum()})"
        )

    def _compute_checksum(self) -> int:
        return int(_crc32c(self.buffer[21:], gil_release_mode=0))

    @staticmethod
    def write_empty_header(
        out: ByteBufferOutputStream,
        magic: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        base_offset: int,
        last_offset: int,
        partition_leader_epoch: int,
        timestamp_type: TimestampType,
        timestamp: int,
        is_transactional: bool,
        is_control_record: bool,
    ) -> None:
        """Append a batch without records, which keeps offsets and sequence numbers after compaction."""
        start = out.position()
        out.set_position(start + 61)
        DefaultRecordBatch.write_header(
            out.buffer,
            start,
            base_offset,
            last_offset - base_offset,
            DefaultRecordBatch.RECORD_BATCH_OVERHEAD,
            magic,
            CompressionType.NONE,
            timestamp_type,
            RecordBatch.NO_TIMESTAMP,
            timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            is_transactional,
            is_control_record,
            partition_leader_epoch,
            0,
        )

    @staticmethod
    def write_header(
        buffer: bytearray,
        position: int,
        base_offset: int,
        last_offset_delta: int,
        size_in_bytes: int,
        magic: int,
        compression_type: CompressionType,
        timestamp_type: TimestampType,
        first_timestamp: int,
        max_timestamp: int,
        producer_id: int,
        epoch: int,
        sequence: int,
        is_transactional: bool,
        is_control_batch: bool,
        partition_leader_epoch: int,
        num_records: int,
    ) -> None:
        """Write the header of a batch of size_in_bytes at position; the records must already be behind it."""
        if magic < RecordBatch.CURRENT_MAGIC_VALUE:
            raise ValueError(f"Invalid magic value {magic}")
        if first_timestamp < 0 and first_timestamp != RecordBatch.NO_TIMESTAMP:
            raise ValueError(f"Invalid message timestamp {first_timestamp}")
        HEADER.pack_into(
            buffer,
            position,
            base_offset,
            size_in_bytes - LOG_OVERHEAD,
            partition_leader_epoch,
            magic,
            0,
            compute_attributes(compression_type, timestamp_type, is_transactional, is_control_batch),
            last_offset_delta,
            first_timestamp,
            max_timestamp,
            producer_id,
            epoch,
            sequence,
            num_records,
        )
        with memoryview(buffer)[position + 21 : position + size_in_bytes] as covered:
            crc = _crc32c(covered, gil_release_mode=0)
        _UINT32.pack_into(buffer, position + DefaultRecordBatch.CRC_OFFSET, crc)

    @staticmethod
    def size_in_bytes_of(records: Iterable[SimpleRecord]) -> int:
        """Return the uncompressed size of a batch of these records (Java's static sizeInBytes)."""
        size = 0
        first_timestamp = None
        for offset_delta, record in enumerate(records):
            if first_timestamp is None:
                size = DefaultRecordBatch.RECORD_BATCH_OVERHEAD
                first_timestamp = record.timestamp
            size += DefaultRecord.size_in_bytes_of(
                offset_delta, record.timestamp - first_timestamp, record.key, record.value, record.headers
            )
        return size

    @staticmethod
    def increment_sequence(base_sequence: int, increment: int) -> int:
        """Add to a sequence number; after 2^31 - 1 follows 0."""
        return increment_sequence(base_sequence, increment)


def ensure_none_remaining(stream: DecompressionStream) -> None:
    """Check that a decompressed stream ends where the last record did.

    InvalidRecordException if there is more, KafkaException if the stream is damaged at its end.
    """
    try:
        more = stream.next_byte()
    except (OSError, EOFError) as e:
        raise KafkaException("Error checking for remaining bytes after reading batch") from e
    if more is not None:
        raise InvalidRecordException("Incorrect declared batch size, records still remaining in file")


def compute_attributes(
    compression_type: CompressionType, timestamp_type: TimestampType, is_transactional: bool, is_control: bool
) -> int:
    """Return the attribute bits of a batch header; ValueError without a timestamp type."""
    if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
        raise ValueError("Timestamp type must be provided to compute attributes for message format v2 and above")
    attributes = _TRANSACTIONAL_FLAG_MASK if is_transactional else 0
    if is_control:
        attributes |= _CONTROL_FLAG_MASK
    if compression_type.id > 0:
        attributes |= _COMPRESSION_CODEC_MASK & compression_type.id
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= _TIMESTAMP_TYPE_MASK
    return attributes
