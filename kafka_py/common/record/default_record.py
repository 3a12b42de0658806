"""Records of magic 2: varint fields, deltas against the batch header.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java @ 1.1.1

    Length varint | Attributes int8 | TimestampDelta varlong | OffsetDelta varint
    | key length varint (-1 = null), key | value length varint, value | header count varint, headers
    Header: key length varint, key (UTF-8) | value length varint (-1 = null), value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidRecordException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.utils.byte_utils import ByteUtils

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_py.common.header.header import Header
    from kafka_py.common.record.timestamp_type import TimestampType

    Buffer = bytes | bytearray | memoryview

_read_varint = ByteUtils.read_varint
_read_varlong = ByteUtils.read_varlong
_write_varint = ByteUtils.write_varint
_size_of_varint = ByteUtils.size_of_varint
_NULL_VARINT_SIZE_BYTES = ByteUtils.size_of_varint(-1)
_INT_MAX = 0x7FFFFFFF
_LONG_SIGN = 1 << 63
_LONG_MASK = (1 << 64) - 1


class DefaultRecord(Record):
    """One record of a magic 2 batch; key and value are views of the batch's (decompressed) bytes.

    Mirrors: org.apache.kafka.common.record.DefaultRecord
    Differs: only readers and tools build these objects; the produce path walks the bytes (record_walker).
    """

    __slots__ = (
        "_attributes",
        "_headers",
        "_key",
        "_offset",
        "_sequence",
        "_size_in_bytes",
        "_timestamp",
        "_value",
    )

    MAX_RECORD_OVERHEAD: ClassVar[int] = 21

    def __init__(
        self,
        size_in_bytes: int,
        attributes: int,
        offset: int,
        timestamp: int,
        sequence: int,
        key: memoryview | None,
        value: memoryview | None,
        headers: tuple[Header, ...],
    ) -> None:
        self._size_in_bytes = size_in_bytes
        self._attributes = attributes
        self._offset = offset
        self._timestamp = timestamp
        self._sequence = sequence
        self._key = key
        self._value = value
        self._headers = headers

    def offset(self) -> int:
        """Return the absolute offset."""
        return self._offset

    def sequence(self) -> int:
        """Return the producer's sequence number, -1 if there is none."""
        return self._sequence

    def size_in_bytes(self) -> int:
        """Return the size with the length field."""
        return self._size_in_bytes

    def timestamp(self) -> int:
        """Return the create time, or the append time of the batch."""
        return self._timestamp

    def attributes(self) -> int:
        """Return the attribute byte (unused by the format so far)."""
        return self._attributes

    def checksum_or_null(self) -> None:
        """Return None: the batch has the only checksum."""
        return None

    def is_valid(self) -> bool:
        """Return True: the batch has the only checksum."""
        return True

    def ensure_valid(self) -> None:
        """Accept any record: the batch has the only checksum."""
        assert self.is_valid()

    def key_size(self) -> int:
        """Return the bytes of the key, -1 for a null key."""
        return -1 if self._key is None else len(self._key)

    def has_key(self) -> bool:
        """Return whether the key is not null."""
        return self._key is not None

    def key(self) -> memoryview | None:
        """Return a view of the key, None if null."""
        return self._key

    def value_size(self) -> int:
        """Return the bytes of the value, -1 for a null value."""
        return -1 if self._value is None else len(self._value)

    def has_value(self) -> bool:
        """Return whether the value is not null."""
        return self._value is not None

    def value(self) -> memoryview | None:
        """Return a view of the value, None if null."""
        return self._value

    def headers(self) -> tuple[Header, ...]:
        """Return the headers in order."""
        return self._headers

    def has_magic(self, magic: int) -> bool:
        """Return whether magic is 2 or newer."""
        return magic >= RecordBatch.MAGIC_VALUE_V2

    def is_compressed(self) -> bool:
        """Return False: only whole batches are compressed."""
        return False

    def has_timestamp_type(self, timestamp_type: TimestampType) -> bool:
        """Return False: only the batch has a timestamp type."""
        return False

    def __eq__(self, other: object) -> bool:
        """Equal when every field is."""
        return isinstance(other, DefaultRecord) and all(
            getattr(self, field) == getattr(other, field) for field in DefaultRecord.__slots__
        )

    def __hash__(self) -> int:
        """Hash of the numbers (key and value may be writable)."""
        return hash((self._size_in_bytes, self._offset, self._timestamp, self._sequence))

    def __repr__(self) -> str:
        """Show position and sizes, not the payload."""
        return (
            f"DefaultRecord(offset={self._offset}, timestamp={self._timestamp}, "
            f"key={max(0, self.key_size())} bytes, value={max(0, self.value_size())} bytes)"
        )

    @staticmethod
    def write_to(
        out: bytearray,
        offset_delta: int,
        timestamp_delta: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[Header],
    ) -> int:
        """Append one record to out and return its size; ValueError for a header without key."""
        start = len(out)
        body = DefaultRecord._size_of_body_in_bytes(
            offset_delta,
            timestamp_delta,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            headers,
        )
        _write_varint(body, out)
        out.append(0)  # no attribute is in use
        ByteUtils.write_varlong(timestamp_delta, out)
        _write_varint(offset_delta, out)
        _write_nullable(key, out)
        _write_nullable(value, out)
        _write_varint(len(headers), out)
        for header in headers:
            _write_nullable(header.key().encode("utf-8", "surrogatepass"), out)
            _write_nullable(header.value(), out)
        return len(out) - start

    @staticmethod
    def read_from(
        buffer: memoryview,
        position: int,
        base_offset: int,
        base_timestamp: int,
        base_sequence: int,
        log_append_time: int | None,
    ) -> tuple[DefaultRecord, int]:
        """Parse the record at position; return it with the position after it.

        InvalidRecordException for a wrong structure, ValueError for an endless length varint,
        IndexError when the buffer ends within the length varint.
        """
        body_size, start = _read_varint(buffer, position)
        if len(buffer) - start < body_size:
            raise InvalidRecordException("Incorrect declared batch size, premature EOF reached")
        size_in_bytes = _size_of_varint(body_size) + body_size
        record, end = DefaultRecord.read_body(
            buffer, start, size_in_bytes, base_offset, base_timestamp, base_sequence, log_append_time
        )
        if end - start != body_size:
            raise InvalidRecordException(
                f"Invalid record size: expected to read {body_size} bytes in record payload, "
                f"but instead read {end - start}"
            )
        return record, end

    @staticmethod
    def read_body(
        buffer: memoryview,
        position: int,
        size_in_bytes: int,
        base_offset: int,
        base_timestamp: int,
        base_sequence: int,
        log_append_time: int | None,
    ) -> tuple[DefaultRecord, int]:
        """Parse what follows the length varint; return the record with the position after it."""
        try:
            attributes = buffer[position]
            timestamp_delta, position = _read_varlong(buffer, position + 1)
            offset_delta, position = _read_varint(buffer, position)
            key, position = _read_nullable(buffer, position)
            value, position = _read_nullable(buffer, position)
            num_headers, position = _read_varint(buffer, position)
            if num_headers < 0:
                raise InvalidRecordException(f"Found invalid number of record headers {num_headers}")
            headers: tuple[Header, ...] = ()
            if num_headers:
                headers, position = _read_headers(buffer, position, num_headers)
        except (IndexError, ValueError) as e:
            raise InvalidRecordException("Found invalid record structure") from e
        if log_append_time is None:
            timestamp = (base_timestamp + timestamp_delta + _LONG_SIGN & _LONG_MASK) - _LONG_SIGN
        else:
            timestamp = log_append_time
        sequence = increment_sequence(base_sequence, offset_delta) if base_sequence >= 0 else -1
        record = DefaultRecord(
            size_in_bytes, attributes, base_offset + offset_delta, timestamp, sequence, key, value, headers
        )
        return record, position

    @staticmethod
    def size_in_bytes_of(
        offset_delta: int,
        timestamp_delta: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[Header],
    ) -> int:
        """Return the size that write_to will produce (Java's static sizeInBytes)."""
        body = DefaultRecord._size_of_body_in_bytes(
            offset_delta,
            timestamp_delta,
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            headers,
        )
        return body + _size_of_varint(body)

    @staticmethod
    def _size_of_body_in_bytes(
        offset_delta: int, timestamp_delta: int, key_size: int, value_size: int, headers: Sequence[Header]
    ) -> int:
        return (
            1
            + _size_of_varint(offset_delta)
            + ByteUtils.size_of_varlong(timestamp_delta)
            + _size_of(key_size, value_size, headers)
        )


def increment_sequence(base_sequence: int, increment: int) -> int:
    """Add to a sequence number; after 2^31 - 1 follows 0."""
    if base_sequence > _INT_MAX - increment:
        return increment - (_INT_MAX - base_sequence) - 1
    return base_sequence + increment


def _size_of(key_size: int, value_size: int, headers: Sequence[Header]) -> int:
    if headers is None:
        raise ValueError("Headers cannot be null")
    size = _NULL_VARINT_SIZE_BYTES if key_size < 0 else _size_of_varint(key_size) + key_size
    size += _NULL_VARINT_SIZE_BYTES if value_size < 0 else _size_of_varint(value_size) + value_size
    size += _size_of_varint(len(headers))
    for header in headers:
        header_key = header.key()
        if header_key is None:
            raise ValueError("Invalid null header key found in headers")
        header_key_size = len(header_key.encode("utf-8", "surrogatepass"))
        size += _size_of_varint(header_key_size) + header_key_size
        header_value = header.value()
        if header_value is None:
            size += _NULL_VARINT_SIZE_BYTES
        else:
            size += _size_of_varint(len(header_value)) + len(header_value)
    return size


def _write_nullable(data: Buffer | None, out: bytearray) -> None:
    if data is None:
        out.append(1)  # zig-zag of -1
    else:
        _write_varint(len(data), out)
        out += data


def _read_nullable(buffer: memoryview, position: int) -> tuple[memoryview | None, int]:
    size, position = _read_varint(buffer, position)
    if size < 0:
        return None, position
    end = position + size
    if end > len(buffer):
        raise ValueError(f"field of {size} bytes exceeds the buffer")
    return buffer[position:end], end


def _read_headers(buffer: memoryview, position: int, num_headers: int) -> tuple[tuple[Header, ...], int]:
    # A list that grows with what is there: the count itself may be a lie of 2 billion.
    headers: list[Header] = []
    for _ in range(num_headers):
        key_size, position = _read_varint(buffer, position)
        if key_size < 0:
            raise InvalidRecordException(f"Invalid negative header key size {key_size}")
        end = position + key_size
        if end > len(buffer):
            raise ValueError(f"header key of {key_size} bytes exceeds the buffer")
        key = bytes(buffer[position:end]).decode("utf-8", "replace")
        value, position = _read_nullable(buffer, end)
        headers.append(RecordHeader(key, value))
    return tuple(headers), position
