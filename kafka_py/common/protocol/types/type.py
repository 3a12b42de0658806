"""The serialisable types that schemas are made of.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/Type.java @ 1.1.1; the compact types,
         UNSIGNED_VARINT, UINT16, FLOAT64 and UUID as in 3.7.1
Read next: schema.py, schema_compiler.py

Where Java reads from a ByteBuffer that carries its own position, ``read_at`` takes the position and gives the next one.
Where Java fills a ByteBuffer of a computed size, ``write`` appends parts to a list that a gathering write sends.
"""

from __future__ import annotations

import struct
import uuid
from typing import Any, ClassVar

from kafka_py.common.errors import SchemaException

_BUFFERS = (bytes, bytearray, memoryview)

Parts = list[Any]
"""What a message is written to: bytes-like objects, and file regions for record sets that stay in their file."""


class Type:
    """A type that can be read from and written to bytes.

    Mirrors: org.apache.kafka.common.protocol.types.Type
    Left out: read -- a memoryview has no position of its own: read_at is told one
    """

    name: str = ""
    nullable: bool = False

    BOOLEAN: ClassVar[FixedType]
    INT8: ClassVar[FixedType]
    INT16: ClassVar[FixedType]
    UINT16: ClassVar[FixedType]
    INT32: ClassVar[FixedType]
    UNSIGNED_INT32: ClassVar[FixedType]
    INT64: ClassVar[FixedType]
    FLOAT64: ClassVar[FixedType]
    STRING: ClassVar[StringType]
    NULLABLE_STRING: ClassVar[StringType]
    BYTES: ClassVar[BytesType]
    NULLABLE_BYTES: ClassVar[BytesType]
    RECORDS: ClassVar[RecordsType]

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        """The value at ``position`` and the position behind it; SchemaException or struct.error if there is none."""
        raise SchemaException(f"{self} at {position} of {len(buffer)} cannot be read")

    def write(self, out: Parts, o: Any) -> None:
        """Append the bytes of a valid value to ``out``."""
        raise SchemaException(f"{self} cannot write {o} after {len(out)} parts")

    def validate(self, o: Any) -> Any:
        """The value itself if it is one of this type, else SchemaException."""
        raise SchemaException(f"{o} is not a {self}.")

    def size_of(self, o: Any) -> int:
        """How many bytes the value takes."""
        out: Parts = []
        self.write(out, o)
        return sum(len(part) if isinstance(part, bytes) else _size_of_part(part) for part in out)

    def is_nullable(self) -> bool:
        """Whether None is a value of the type."""
        return self.nullable

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


def _size_of_part(part: Any) -> int:
    if isinstance(part, _BUFFERS):
        return memoryview(part).nbytes
    size: int = part.size_in_bytes()
    return size


class FixedType(Type):
    """A number of a fixed size, known to ``struct`` by a letter."""

    def __init__(self, name: str, fmt: str, java_class: str, minimum: int | None = None) -> None:
        self.name = name
        self.fmt = fmt
        self._java_class = java_class
        packer = struct.Struct(">" + fmt)
        self.size = packer.size
        self._unpack_from = packer.unpack_from
        self._pack = packer.pack
        bits = 8 * packer.size
        self._min = -(1 << (bits - 1)) if minimum is None else minimum
        self._max = self._min + (1 << bits) - 1

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        return self._unpack_from(buffer, position)[0], position + self.size

    def write(self, out: Parts, o: Any) -> None:
        out.append(self._pack(o))

    def validate(self, o: Any) -> Any:
        if self.fmt == "?":
            if isinstance(o, bool):
                return o
        elif self.fmt == "d":
            if isinstance(o, float):
                return o
        elif isinstance(o, int) and not isinstance(o, bool) and self._min <= o <= self._max:
            return o
        raise SchemaException(f"{_show(o)} is not {self._java_class}.")

    def size_of(self, o: Any) -> int:
        return self.size


def _show(o: Any) -> str:
    return "null" if o is None else str(o)


LONGEST_REPLACEABLE = 32767 // 3
"""Bytes of the longest string that can be written again even if each of them was malformed and became U+FFFD."""


class StringType(Type):
    """UTF-8 text behind a length of two bytes; malformed bytes read as U+FFFD, as in Java.

    Differs: text that could not be written again is refused when it is read. Java reads it; then neither the answer
             nor the error answer, both of which repeat a topic's name, can be made, and the client waits for ever.
    """

    def __init__(self, name: str, nullable: bool) -> None:
        self.name = name
        self.nullable = nullable

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        length = struct.unpack_from(">h", buffer, position)[0]
        position += 2
        if length < 0:
            if self.nullable:
                return None, position
            raise SchemaException(f"String length {length} cannot be negative")
        return _text(buffer, position, length), position + length

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\xff\xff")
            return
        encoded = o.encode("utf-8", "replace")
        if len(encoded) > 32767:
            raise SchemaException(f"String length {len(encoded)} is larger than the maximum string length.")
        out.append(struct.pack(">h", len(encoded)) + encoded)

    def validate(self, o: Any) -> Any:
        if isinstance(o, str) or (o is None and self.nullable):
            return o
        raise SchemaException(f"{_show(o)} is not a String.")


def _text(buffer: memoryview, position: int, length: int) -> str:
    remaining = len(buffer) - position
    if length > remaining:
        raise SchemaException(f"Error reading string of length {length}, only {remaining} bytes available")
    text = str(buffer[position : position + length], "utf-8", "replace")
    if length > LONGEST_REPLACEABLE and len(text.encode()) > 32767:
        raise SchemaException(f"String of {length} bytes is not UTF-8, and too long with its bytes replaced")
    return text


class BytesType(Type):
    """Bytes behind a length of four bytes; read as a slice of the message, never copied."""

    def __init__(self, name: str, nullable: bool) -> None:
        self.name = name
        self.nullable = nullable

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        size = struct.unpack_from(">i", buffer, position)[0]
        position += 4
        if size < 0:
            if self.nullable:
                return None, position
            raise SchemaException(f"Bytes size {size} cannot be negative")
        return _slice(buffer, position, size), position + size

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\xff\xff\xff\xff")
            return
        out.append(struct.pack(">i", _size_of_part(o)))
        out.append(o)

    def validate(self, o: Any) -> Any:
        if isinstance(o, _BUFFERS) or (o is None and self.nullable):
            return o
        raise SchemaException(f"{_show(o)} is not a java.nio.ByteBuffer.")


def _slice(buffer: memoryview, position: int, size: int) -> memoryview:
    remaining = len(buffer) - position
    if size > remaining:
        raise SchemaException(f"Error reading bytes of size {size}, only {remaining} bytes available")
    return buffer[position : position + size]


def record_part(records: Any) -> Any:
    """What stands for a record set in a list of parts: its bytes if it has them, else itself (a region of a file)."""
    return getattr(records, "buffer", records)


class RecordsType(BytesType):
    """A record set: read as a slice of the message, written from bytes, MemoryRecords or a region of a file.

    Differs: reads to bytes (or None), not to MemoryRecords: who needs the records wraps them.
    """

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\xff\xff\xff\xff")
            return
        part = record_part(o)
        out.append(struct.pack(">i", _size_of_part(part)))
        out.append(part)

    def validate(self, o: Any) -> Any:
        if o is None or isinstance(o, _BUFFERS) or hasattr(o, "size_in_bytes"):
            return o
        raise SchemaException(f"{_show(o)} is not an instance of org.apache.kafka.common.record.Records")


def read_unsigned_varint(buffer: memoryview, position: int) -> tuple[int, int]:
    """A number in groups of seven bits, least significant first, and the position behind it."""
    value = shift = 0
    while True:
        try:
            byte = buffer[position]
        except IndexError:
            raise SchemaException("Buffer ends within a variable-length integer") from None
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, position
        shift += 7
        if shift > 28:
            raise SchemaException(f"Varint is too long, the most significant bit in the 5th byte is set: {value:x}")


def unsigned_varint(value: int) -> bytes:
    """The bytes of a number below 2^32 in groups of seven bits."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class UnsignedVarintType(Type):
    """A number below 2^32 in groups of seven bits."""

    name = "UNSIGNED_VARINT"

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        return read_unsigned_varint(buffer, position)

    def write(self, out: Parts, o: Any) -> None:
        out.append(unsigned_varint(o))

    def validate(self, o: Any) -> Any:
        if isinstance(o, int) and 0 <= o < 1 << 32:
            return o
        raise SchemaException(f"{_show(o)} is not an integer")


class CompactStringType(Type):
    """UTF-8 text behind its length plus one as a varint; 0 stands for None."""

    def __init__(self, name: str, nullable: bool) -> None:
        self.name = name
        self.nullable = nullable

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        length, position = read_unsigned_varint(buffer, position)
        length -= 1
        if length < 0:
            if self.nullable:
                return None, position
            raise SchemaException(f"String length {length} cannot be negative")
        if length > 32767:
            raise SchemaException(f"String length {length} is larger than the maximum string length.")
        return _text(buffer, position, length), position + length

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\0")
            return
        encoded = o.encode("utf-8", "replace")
        if len(encoded) > 32767:
            raise SchemaException(f"String length {len(encoded)} is larger than the maximum string length.")
        out.append(unsigned_varint(len(encoded) + 1) + encoded)

    def validate(self, o: Any) -> Any:
        if isinstance(o, str) or (o is None and self.nullable):
            return o
        raise SchemaException(f"{_show(o)} is not a String.")


class CompactBytesType(Type):
    """Bytes behind their length plus one as a varint; 0 stands for None."""

    def __init__(self, name: str, nullable: bool) -> None:
        self.name = name
        self.nullable = nullable

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        size, position = read_unsigned_varint(buffer, position)
        size -= 1
        if size < 0:
            if self.nullable:
                return None, position
            raise SchemaException(f"Bytes size {size} cannot be negative")
        return _slice(buffer, position, size), position + size

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\0")
            return
        part = record_part(o)
        out.append(unsigned_varint(_size_of_part(part) + 1))
        out.append(part)

    def validate(self, o: Any) -> Any:
        if isinstance(o, _BUFFERS) or (o is None and self.nullable) or hasattr(o, "size_in_bytes"):
            return o
        raise SchemaException(f"{_show(o)} is not a java.nio.ByteBuffer.")


class UuidType(Type):
    """Sixteen bytes of a UUID."""

    name = "UUID"

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        return uuid.UUID(bytes=bytes(_slice(buffer, position, 16))), position + 16

    def write(self, out: Parts, o: Any) -> None:
        out.append(o.bytes)

    def validate(self, o: Any) -> Any:
        if isinstance(o, uuid.UUID):
            return o
        raise SchemaException(f"{_show(o)} is not a Uuid.")


BOOLEAN = Type.BOOLEAN = FixedType("BOOLEAN", "?", "a Boolean")
INT8 = Type.INT8 = FixedType("INT8", "b", "a Byte")
INT16 = Type.INT16 = FixedType("INT16", "h", "a Short")
UINT16 = Type.UINT16 = FixedType("UINT16", "H", "an Integer (encoding an unsigned short)", minimum=0)
INT32 = Type.INT32 = FixedType("INT32", "i", "an Integer")
UNSIGNED_INT32 = Type.UNSIGNED_INT32 = FixedType("UINT32", "I", "a Long", minimum=0)
INT64 = Type.INT64 = FixedType("INT64", "q", "a Long")
FLOAT64 = Type.FLOAT64 = FixedType("FLOAT64", "d", "a Double")
STRING = Type.STRING = StringType("STRING", nullable=False)
NULLABLE_STRING = Type.NULLABLE_STRING = StringType("NULLABLE_STRING", nullable=True)
BYTES = Type.BYTES = BytesType("BYTES", nullable=False)
NULLABLE_BYTES = Type.NULLABLE_BYTES = BytesType("NULLABLE_BYTES", nullable=True)
RECORDS = Type.RECORDS = RecordsType("RECORDS", nullable=True)
UNSIGNED_VARINT = UnsignedVarintType()
COMPACT_STRING = CompactStringType("COMPACT_STRING", nullable=False)
COMPACT_NULLABLE_STRING = CompactStringType("COMPACT_NULLABLE_STRING", nullable=True)
COMPACT_BYTES = CompactBytesType("COMPACT_BYTES", nullable=False)
COMPACT_NULLABLE_BYTES = CompactBytesType("COMPACT_NULLABLE_BYTES", nullable=True)
COMPACT_RECORDS = CompactBytesType("COMPACT_RECORDS", nullable=True)
UUID = UuidType()
