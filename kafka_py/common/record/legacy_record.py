"""Messages of magic 0 and 1.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java @ 1.1.1

    0 CRC uint32 (CRC-32 of all that follows) | 4 Magic int8 | 5 Attributes int8 | (magic 1: 6 Timestamp int64)
    | key length int32 (-1 = null), key | value length int32 (-1 = null), value
Attributes: bits 0-2 codec, 3 timestamp type. With a codec the value is a compressed set of messages.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidRecordException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.timestamp_type import TimestampType

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_UINT32 = struct.Struct(">I")

_COMPRESSION_CODEC_MASK = 0x07
_TIMESTAMP_TYPE_MASK = 0x08


class LegacyRecord:
    """One message over the bytes it lies in; inner messages know the timestamp of their wrapper.

    Getters raise ValueError where a length field points out of the message.

    Mirrors: org.apache.kafka.common.record.LegacyRecord
    """

    __slots__ = ("_buffer", "_wrapper_record_timestamp", "_wrapper_record_timestamp_type")

    CRC_OFFSET: ClassVar[int] = 0
    MAGIC_OFFSET: ClassVar[int] = 4
    MAGIC_LENGTH: ClassVar[int] = 1
    ATTRIBUTES_OFFSET: ClassVar[int] = 5
    TIMESTAMP_OFFSET: ClassVar[int] = 6
    HEADER_SIZE_V0: ClassVar[int] = 6
    HEADER_SIZE_V1: ClassVar[int] = 14
    RECORD_OVERHEAD_V0: ClassVar[int] = 14
    NO_TIMESTAMP: ClassVar[int] = -1

    def __init__(
        self,
        buffer: Buffer,
        wrapper_record_timestamp: int | None = None,
        wrapper_record_timestamp_type: TimestampType | None = None,
    ) -> None:
        self._buffer = memoryview(buffer)
        self._wrapper_record_timestamp = wrapper_record_timestamp
        self._wrapper_record_timestamp_type = wrapper_record_timestamp_type

    def compute_checksum(self) -> int:
        """Return the CRC-32 of the bytes as they are."""
        return zlib.crc32(self._buffer[4:])

    def checksum(self) -> int:
        """Return the stored CRC-32."""
        return int(_UINT32.unpack_from(self._buffer)[0])

    def is_valid(self) -> bool:
        """Return whether size and checksum are right."""
        return self.size_in_bytes() >= LegacyRecord.RECORD_OVERHEAD_V0 and self.checksum() == self.compute_checksum()

    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if size or checksum is wrong."""
        if self.size_in_bytes() < LegacyRecord.RECORD_OVERHEAD_V0:
            raise InvalidRecordException(
                "Record is corrupt (crc could not be retrieved as the record is too small, "
                f"size = {self.size_in_bytes()})"
            )
        if not self.is_valid():
            raise InvalidRecordException(
                f"Record is corrupt (stored crc = {self.checksum()}, computed crc = {self.compute_checksum()})"
            )

    def wrapper_record_timestamp(self) -> int | None:
        """Return the timestamp of the wrapper, None if this is no inner message."""
        return self._wrapper_record_timestamp

    def wrapper_record_timestamp_type(self) -> TimestampType | None:
        """Return the timestamp type of the wrapper, None if this is no inner message."""
        return self._wrapper_record_timestamp_type

    def size_in_bytes(self) -> int:
        """Return the size without offset and size fields."""
        return len(self._buffer)

    def key_size(self) -> int:
        """Return the length field of the key, negative for null."""
        return self._int_at(self._key_size_offset())

    def has_key(self) -> bool:
        """Return whether the key is not null."""
        return self.key_size() >= 0

    def value_size(self) -> int:
        """Return the length field of the value, negative for null."""
        return self._int_at(self._value_size_offset())

    def has_null_value(self) -> bool:
        """Return whether the value is null."""
        return self.value_size() < 0

    def magic(self) -> int:
        """Return the format version."""
        magic = self._buffer[4]
        return magic if magic < 128 else magic - 256

    def attributes(self) -> int:
        """Return the attribute byte."""
        return self._buffer[5]

    def timestamp(self) -> int:
        """Return the create time, the append time (that of the wrapper for inner messages), or -1 for magic 0."""
        if self._buffer[4] == RecordBatch.MAGIC_VALUE_V0:
            return RecordBatch.NO_TIMESTAMP
        if (
            self._wrapper_record_timestamp_type is TimestampType.LOG_APPEND_TIME
            and self._wrapper_record_timestamp is not None
        ):
            return self._wrapper_record_timestamp
        return int(_INT64.unpack_from(self._buffer, LegacyRecord.TIMESTAMP_OFFSET)[0])

    def timestamp_type(self) -> TimestampType:
        """Return the timestamp type, that of the wrapper for inner messages."""
        return LegacyRecord.timestamp_type_of(self.magic(), self._wrapper_record_timestamp_type, self._buffer[5])

    def compression_type(self) -> CompressionType:
        """Return the codec of the value; ValueError for an unknown one."""
        return CompressionType.for_id(self._buffer[5] & _COMPRESSION_CODEC_MASK)

    def value(self) -> memoryview | None:
        """Return a view of the value, None if null."""
        return self._size_delimited(self._value_size_offset())

    def key(self) -> memoryview | None:
        """Return a view of the key, None if null."""
        return self._size_delimited(self._key_size_offset())

    def buffer(self) -> memoryview:
        """Return the bytes of the message."""
        return self._buffer

    def _key_size_offset(self) -> int:
        return 6 if self._buffer[4] == RecordBatch.MAGIC_VALUE_V0 else 14

    def _value_size_offset(self) -> int:
        key_size_offset = self._key_size_offset()
        return key_size_offset + 4 + max(0, self._int_at(key_size_offset))

    def _int_at(self, index: int) -> int:
        if index + 4 > len(self._buffer):
            raise ValueError(f"field at {index} lies outside of a message of {len(self._buffer)} bytes")
        return int(_INT32.unpack_from(self._buffer, index)[0])

    def _size_delimited(self, start: int) -> memoryview | None:
        size = self._int_at(start)
        if size < 0:
            return None
        end = start + 4 + size
        if end > len(self._buffer):
            raise ValueError(f"field of {size} bytes at {start} exceeds a message of {len(self._buffer)} bytes")
        return self._buffer[start + 4 : end]

    def __eq__(self, other: object) -> bool:
        """Equal when the bytes are."""
        return isinstance(other, LegacyRecord) and self._buffer == other._buffer

    def __hash__(self) -> int:
        """Hash of the stored checksum."""
        return hash(self.checksum())

    def __repr__(self) -> str:
        """Show header fields and sizes, not the payload."""
        time = f"{self.timestamp_type()}={self.timestamp()}, " if self.magic() > 0 else ""
        return (
            f"Record(magic={self.magic()}, attributes={self.attributes()}, compression={self.compression_type()}, "
            f"crc={self.checksum()}, {time}key={max(0, self.key_size())} bytes, "
            f"value={max(0, self.value_size())} bytes)"
        )

    @staticmethod
    def create(
        magic: int,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        compression_type: CompressionType = CompressionType.NONE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    ) -> LegacyRecord:
        """Build a message; with a codec, value must be compressed already."""
        out = bytearray()
        LegacyRecord.write(out, magic, timestamp, key, value, compression_type, timestamp_type)
        return LegacyRecord(out)

    @staticmethod
    def write_compressed_record_header(
        buffer: bytearray,
        position: int,
        magic: int,
        record_size: int,
        timestamp: int,
        compression_type: CompressionType,
        timestamp_type: TimestampType,
    ) -> None:
        """Write the header of a wrapper in front of its compressed value, which already lies in buffer."""
        header = bytearray()
        LegacyRecord.write(header, magic, timestamp, None, None, compression_type, timestamp_type)
        buffer[position : position + len(header)] = header
        overhead = LegacyRecord.record_overhead(magic)
        _INT32.pack_into(buffer, position + overhead - 4, record_size - overhead)
        with memoryview(buffer)[position + 4 : position + record_size] as covered:
            crc = zlib.crc32(covered)
        _UINT32.pack_into(buffer, position, crc)

    @staticmethod
    def write(
        out: bytearray,
        magic: int,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        compression_type: CompressionType,
        timestamp_type: TimestampType,
    ) -> int:
        """Append a message to out and return its checksum."""
        attributes = LegacyRecord.compute_attributes(magic, compression_type, timestamp_type)
        start = len(out)
        LegacyRecord.write_raw(out, magic, 0, attributes, timestamp, key, value)
        with memoryview(out)[start + 4 :] as covered:
            crc = zlib.crc32(covered)
        _UINT32.pack_into(out, start, crc)
        return crc

    @staticmethod
    def write_raw(
        out: bytearray,
        magic: int,
        crc: int,
        attributes: int,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
    ) -> None:
        """Append a message of the given fields without checking that they fit together."""
        if magic not in (RecordBatch.MAGIC_VALUE_V0, RecordBatch.MAGIC_VALUE_V1):
            raise ValueError(f"Invalid magic value {magic}")
        if timestamp < 0 and timestamp != RecordBatch.NO_TIMESTAMP:
            raise ValueError(f"Invalid message timestamp {timestamp}")
        out += _UINT32.pack(crc & 0xFFFFFFFF)
        out.append(magic)
        out.append(attributes)
        if magic > RecordBatch.MAGIC_VALUE_V0:
            out += _INT64.pack(timestamp)
        for field in (key, value):
            if field is None:
                out += b"\xff\xff\xff\xff"
            else:
                out += _INT32.pack(len(field))
                out += field

    @staticmethod
    def record_size(magic: int, key: Buffer | None, value: Buffer | None) -> int:
        """Return the size of a message with that key and value."""
        return LegacyRecord.record_overhead(magic) + len(key or b"") + len(value or b"")

    @staticmethod
    def compute_attributes(magic: int, compression_type: CompressionType, timestamp_type: TimestampType) -> int:
        """Return the attribute byte; ValueError if magic 1 has no timestamp type."""
        attributes = _COMPRESSION_CODEC_MASK & compression_type.id
        if magic > RecordBatch.MAGIC_VALUE_V0:
            if timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
                raise ValueError("Timestamp type must be provided to compute attributes for message format v1")
            if timestamp_type is TimestampType.LOG_APPEND_TIME:
                attributes |= _TIMESTAMP_TYPE_MASK
        return attributes

    @staticmethod
    def record_overhead(magic: int) -> int:
        """Return the bytes of a message besides key and value."""
        return LegacyRecord.header_size(magic) + 8

    @staticmethod
    def header_size(magic: int) -> int:
        """Return the bytes before the key length; ValueError above magic 1."""
        if magic == RecordBatch.MAGIC_VALUE_V0:
            return LegacyRecord.HEADER_SIZE_V0
        if magic == RecordBatch.MAGIC_VALUE_V1:
            return LegacyRecord.HEADER_SIZE_V1
        raise ValueError(f"Invalid magic used in LegacyRecord: {magic}")

    @staticmethod
    def timestamp_type_of(
        magic: int, wrapper_record_timestamp_type: TimestampType | None, attributes: int
    ) -> TimestampType:
        """Return the timestamp type that magic, wrapper and attributes make together."""
        if magic == RecordBatch.MAGIC_VALUE_V0:
            return TimestampType.NO_TIMESTAMP_TYPE
        if wrapper_record_timestamp_type is not None:
            return wrapper_record_timestamp_type
        if attributes & _TIMESTAMP_TYPE_MASK:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME
