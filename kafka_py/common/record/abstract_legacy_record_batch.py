"""Batches of magic 0 and 1: one message, or a wrapper around a compressed set of messages.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/AbstractLegacyRecordBatch.java @ 1.1.1

Inner messages of a magic 1 wrapper have offsets relative to the first; the wrapper has the offset of the last.
Inner messages of a magic 0 wrapper have absolute offsets.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from typing import TYPE_CHECKING

from kafka_py.common.errors import CorruptRecordException, InvalidRecordException, KafkaException
from kafka_py.common.record.abstract_record_batch import AbstractRecordBatch
from kafka_py.common.record.decompression_stream import EndOfStreamError
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.mutable_record_batch import MutableRecordBatch
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.record.timestamp_type import TimestampType

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kafka_py.common.header.header import Header
    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.compression_type import CompressionType
    from kafka_py.common.record.decompression_stream import DecompressionStream
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_OFFSET_AND_SIZE = struct.Struct(">qi")
_INT64 = struct.Struct(">q")
_UINT32 = struct.Struct(">I")


class AbstractLegacyRecordBatch(AbstractRecordBatch, Record):
    """A message that is a batch and, if it is not compressed, its only record as well.

    Mirrors: org.apache.kafka.common.record.AbstractLegacyRecordBatch
    """

    __slots__ = ()

    @abstractmethod
    def outer_record(self) -> LegacyRecord:
        """Return the message."""

    @abstractmethod
    def offset(self) -> int:
        """Return the offset in front of the message."""

    def last_offset(self) -> int:
        """Return the offset of the last record, which is that of the message."""
        return self.offset()

    def is_valid(self) -> bool:
        """Return whether the checksum is right."""
        return self.outer_record().is_valid()

    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if size or checksum is wrong."""
        self.outer_record().ensure_valid()

    def key_size(self) -> int:
        """Return the length of the key, negative for null."""
        return self.outer_record().key_size()

    def has_key(self) -> bool:
        """Return whether the key is not null."""
        return self.outer_record().has_key()

    def key(self) -> memoryview | None:
        """Return a view of the key, None if null."""
        return self.outer_record().key()

    def value_size(self) -> int:
        """Return the length of the value, negative for null."""
        return self.outer_record().value_size()

    def has_value(self) -> bool:
        """Return whether the value is not null."""
        return not self.outer_record().has_null_value()

    def value(self) -> memoryview | None:
        """Return a view of the value, None if null."""
        return self.outer_record().value()

    def headers(self) -> tuple[Header, ...]:
        """Return no headers: the format has none."""
        return Record.EMPTY_HEADERS

    def has_magic(self, magic: int) -> bool:
        """Return whether the message has that magic."""
        return magic == self.outer_record().magic()

    def has_timestamp_type(self, timestamp_type: TimestampType) -> bool:
        """Return whether the message has that timestamp type."""
        return self.outer_record().timestamp_type() is timestamp_type

    def checksum_or_null(self) -> int | None:
        """Return the stored checksum."""
        return self.checksum()

    def checksum(self) -> int:
        """Return the stored checksum."""
        return self.outer_record().checksum()

    def max_timestamp(self) -> int:
        """Return the timestamp of the message (a wrapper has the largest of its records)."""
        return self.timestamp()

    def timestamp(self) -> int:
        """Return the timestamp of the message."""
        return self.outer_record().timestamp()

    def timestamp_type(self) -> TimestampType:
        """Return the timestamp type of the message."""
        return self.outer_record().timestamp_type()

    def base_offset(self) -> int:
        """Return the offset of the first record; decompresses a wrapper."""
        return next(iter(self)).offset()

    def magic(self) -> int:
        """Return the format version."""
        return self.outer_record().magic()

    def compression_type(self) -> CompressionType:
        """Return the codec of the message."""
        return self.outer_record().compression_type()

    def size_in_bytes(self) -> int:
        """Return the size with offset and size fields."""
        return self.outer_record().size_in_bytes() + LOG_OVERHEAD

    def sequence(self) -> int:
        """Return -1: the format has no sequence numbers."""
        return RecordBatch.NO_SEQUENCE

    def write_to(self, out: ByteBufferOutputStream) -> None:
        """Append offset, size and message to out."""
        out.write(_OFFSET_AND_SIZE.pack(self.offset(), self.outer_record().size_in_bytes()))
        out.write(self.outer_record().buffer())

    def __repr__(self) -> str:
        """Show offset and message."""
        return f"LegacyRecordBatch(offset={self.offset()}, {self.outer_record()})"

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the message itself, or over the messages inside of a wrapper."""
        return self.streaming_iterator()

    def streaming_iterator(self, buffer_supplier: BufferSupplier | None = None) -> Generator[Record, None, None]:
        """Iterate over the message itself, or over the messages inside of a wrapper.

        InvalidRecordException or CorruptRecordException for a wrong structure, KafkaException for damaged data.
        """
        if self.is_compressed():
            return _deep_records(self, buffer_supplier)
        return self._shallow_record()

    def _shallow_record(self) -> Generator[Record, None, None]:
        yield self

    @staticmethod
    def write_header(out: bytearray, offset: int, size: int) -> None:
        """Append offset and size, which precede each message."""
        out += _OFFSET_AND_SIZE.pack(offset, size)


class BasicLegacyRecordBatch(AbstractLegacyRecordBatch):
    """A message with an offset that was computed, not read (the inside of a wrapper).

    Mirrors: org.apache.kafka.common.record.AbstractLegacyRecordBatch.BasicLegacyRecordBatch
    """

    __slots__ = ("_offset", "_record")

    def __init__(self, offset: int, record: LegacyRecord) -> None:
        self._offset = offset
        self._record = record

    def offset(self) -> int:
        """Return the absolute offset."""
        return self._offset

    def outer_record(self) -> LegacyRecord:
        """Return the message."""
        return self._record

    def __eq__(self, other: object) -> bool:
        """Equal when offset and message are."""
        return (
            isinstance(other, BasicLegacyRecordBatch)
            and self._offset == other._offset
            and self._record == other._record
        )

    def __hash__(self) -> int:
        """Hash of offset and message."""
        return hash((self._offset, self._record))


class ByteBufferLegacyRecordBatch(MutableRecordBatch, AbstractLegacyRecordBatch):
    """A message over the bytes it was received or read in.

    Mirrors: org.apache.kafka.common.record.AbstractLegacyRecordBatch.ByteBufferLegacyRecordBatch
    """

    __slots__ = ("_record", "buffer")

    def __init__(self, buffer: bytes | bytearray | memoryview) -> None:
        self.buffer = memoryview(buffer)
        self._record = LegacyRecord(self.buffer[LOG_OVERHEAD:])

    def offset(self) -> int:
        """Return the offset in front of the message."""
        return int(_INT64.unpack_from(self.buffer)[0])

    def outer_record(self) -> LegacyRecord:
        """Return the message."""
        return self._record

    def set_last_offset(self, offset: int) -> None:
        """Write the offset; the checksum does not cover it."""
        _INT64.pack_into(self.buffer, 0, offset)

    def set_max_timestamp(self, timestamp_type: TimestampType, max_timestamp: int) -> None:
        """Set type and value, recomputing the checksum only if one changes; TypeError for magic 0."""
        record = self._record
        if record.magic() == RecordBatch.MAGIC_VALUE_V0:
            raise TypeError("Cannot set timestamp for a record with magic = 0")
        if record.timestamp_type() is timestamp_type and record.timestamp() == max_timestamp:
            return
        attributes = LegacyRecord.compute_attributes(self.magic(), self.compression_type(), timestamp_type)
        self.buffer[LOG_OVERHEAD + LegacyRecord.ATTRIBUTES_OFFSET] = attributes
        _INT64.pack_into(self.buffer, LOG_OVERHEAD + LegacyRecord.TIMESTAMP_OFFSET, max_timestamp)
        _UINT32.pack_into(self.buffer, LOG_OVERHEAD + LegacyRecord.CRC_OFFSET, record.compute_checksum())

    def set_partition_leader_epoch(self, epoch: int) -> None:
        """Refuse with TypeError: the format has no leader epoch."""
        raise TypeError(f"Magic versions prior to 2 do not support partition leader epoch {epoch}")

    def write_to(self, out: ByteBufferOutputStream) -> None:
        """Append the bytes to out."""
        out.write(self.buffer)

    def __eq__(self, other: object) -> bool:
        """Equal when the bytes are."""
        return isinstance(other, ByteBufferLegacyRecordBatch) and self.buffer == other.buffer

    def __hash__(self) -> int:
        """Hash of the stored checksum."""
        return hash(self.checksum())


def _deep_records(
    wrapper: AbstractLegacyRecordBatch, buffer_supplier: BufferSupplier | None
) -> Generator[Record, None, None]:
    """Yield the messages inside of a wrapper with absolute offsets (Kafka: DeepRecordsIterator).

    Where Kafka decompresses everything into a queue to learn the last inner offset, this goes through the stream
    twice, so that a small wrapper around gigabytes costs time but no memory.
    """
    record = wrapper.outer_record()
    magic = record.magic()
    if magic not in (RecordBatch.MAGIC_VALUE_V0, RecordBatch.MAGIC_VALUE_V1):
        raise InvalidRecordException(f"Invalid wrapper magic found in legacy deep record iterator {magic}")
    value = record.value()
    if value is None:
        raise InvalidRecordException(f"Found invalid compressed record set with null value (magic = {magic})")
    codec = record.compression_type()
    base_offset = _absolute_base_offset(
        codec.wrap_for_input(value, magic, buffer_supplier), magic, wrapper.last_offset()
    )
    timestamp, timestamp_type = record.timestamp(), record.timestamp_type()
    stream = codec.wrap_for_input(value, magic, buffer_supplier)
    try:
        while (entry := _next_inner(stream)) is not None:
            offset, inner = entry
            if inner.magic() == RecordBatch.MAGIC_VALUE_V1:
                inner = LegacyRecord(inner.buffer(), timestamp, timestamp_type)
            batch = BasicLegacyRecordBatch(base_offset + offset, inner)
            if batch.is_compressed():
                raise InvalidRecordException("Inner messages must not be compressed")
            yield batch
    finally:
        stream.close()


def _absolute_base_offset(stream: DecompressionStream, wrapper_magic: int, last_offset_from_wrapper: int) -> int:
    """Return what must be added to inner offsets, after checking the whole chain of inner sizes."""
    last_inner_offset = None
    try:
        while (header := _next_inner_header(stream)) is not None:
            offset, size = header
            try:
                stream.skip_fully(size)
            except EndOfStreamError:
                break
            last_inner_offset = offset
    except (OSError, EOFError) as e:
        raise KafkaException(str(e)) from e
    finally:
        stream.close()
    if last_inner_offset is None:
        raise InvalidRecordException("Found invalid compressed record set with no inner records")
    if wrapper_magic == RecordBatch.MAGIC_VALUE_V0 or last_offset_from_wrapper == 0:
        # Magic 0 has absolute offsets inside; a wrapper with 0 comes from a producer that did not set it.
        return 0
    if last_offset_from_wrapper < last_inner_offset:
        raise InvalidRecordException(
            "Found invalid wrapper offset in compressed v1 message set, wrapper offset "
            f"'{last_offset_from_wrapper}' is less than the last inner message offset '{last_inner_offset}' "
            "and it is not zero."
        )
    return last_offset_from_wrapper - last_inner_offset


def _next_inner_header(stream: DecompressionStream) -> tuple[int, int] | None:
    try:
        offset, size = _OFFSET_AND_SIZE.unpack(stream.read_fully(LOG_OVERHEAD))
    except EndOfStreamError:
        return None
    if size < LegacyRecord.RECORD_OVERHEAD_V0:
        raise CorruptRecordException(
            f"Record size is less than the minimum record overhead ({LegacyRecord.RECORD_OVERHEAD_V0})"
        )
    return offset, size


def _next_inner(stream: DecompressionStream) -> tuple[int, LegacyRecord] | None:
    header = _next_inner_header(stream)
    if header is None:
        return None
    offset, size = header
    try:
        return offset, LegacyRecord(stream.read_fully(size))
    except EndOfStreamError:
        return None
