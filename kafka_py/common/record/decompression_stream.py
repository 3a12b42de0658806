"""Decompressed bytes, one bounded piece at a time.

Ours: Kafka stacks java.io streams here; this class is their common shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kafka_py.common.utils.byte_utils import ByteUtils

_read_varint = ByteUtils.read_varint
_read_varlong = ByteUtils.read_varlong

# A record that decompresses to more is refused: nothing that large can be stored, and a small batch may hold it.
MAX_RECORD_SIZE = 128 * 1024 * 1024


class EndOfStreamError(EOFError):
    """The data ended cleanly, but before the bytes asked for; truncated data is a plain EOFError."""


class DecompressionStream(ABC):
    """A source of decompressed chunks with readers for varints and whole records on top.

    Memory stays at one chunk (256 KB, or one block of the codec) plus the record asked for, and a record grows with
    the bytes that really come, never with the length it claims.

    Errors are java.io's: OSError for damaged data, EOFError for data that ends too early.
    """

    __slots__ = ("_data", "_position")

    def __init__(self) -> None:
        self._data: bytes = b""  # thread: of its owner
        self._position = 0  # thread: of its owner

    @abstractmethod
    def next_chunk(self) -> bytes:
        """Return the next bytes, b"" at the end; OSError if damaged, EOFError if truncated."""

    def close(self) -> None:
        """Release what was read ahead."""
        self._data = b""
        self._position = 0

    def next_byte(self) -> int | None:
        """Return the next byte, None at the end."""
        if self._position == len(self._data):
            self._data = self.next_chunk()
            self._position = 0
            if not self._data:
                return None
        self._position += 1
        return self._data[self._position - 1]

    def read_varint(self) -> tuple[int, int]:
        """Read a zig-zag 32-bit integer; return it with the number of bytes it took."""
        start = self._position
        if start + 5 <= len(self._data):
            value, self._position = _read_varint(self._data, start)
            return value, self._position - start
        encoded = self._varint_bytes(5)
        return _read_varint(encoded, 0)[0], len(encoded)

    def read_varlong(self) -> tuple[int, int]:
        """Read a zig-zag 64-bit integer; return it with the number of bytes it took."""
        encoded = self._varint_bytes(10)
        return _read_varlong(encoded, 0)[0], len(encoded)

    def _varint_bytes(self, longest: int) -> bytearray:
        encoded = bytearray()
        while len(encoded) < longest:
            byte = self.next_byte()
            if byte is None:
                raise EndOfStreamError("stream ends within a varint")
            encoded.append(byte)
            if byte < 0x80:
                break
        return encoded

    def skip_nullable(self, limit: int) -> tuple[int, int]:
        """Pass over a field with a length in front; return its length (negative for null) and the bytes passed.

        ValueError if it is longer than limit.
        """
        length, size = self.read_varint()
        if length > limit:
            raise ValueError(f"field of {length} bytes exceeds the record")
        if length > 0:
            self.skip_fully(length)
            size += length
        return length, size

    def push_back(self, data: bytes) -> None:
        """Let the next reads begin with data, which was taken as a chunk before."""
        self._data = data
        self._position = 0

    def take_rest(self) -> bytes:
        """Return what is left of the current chunk; the next chunk follows it."""
        rest = self._data[self._position :]
        self.push_back(b"")
        return rest

    def read_fully(self, size: int) -> memoryview:
        """Return exactly size bytes; EOFError if there are fewer."""
        position = self._position
        end = position + size
        if end <= len(self._data):
            self._position = end
            return memoryview(self._data)[position:end]
        if size > MAX_RECORD_SIZE:
            raise OSError(f"record of {size} bytes is larger than {MAX_RECORD_SIZE} bytes")
        result = bytearray(self._data[position:])
        while len(result) < size:
            chunk = self.next_chunk()
            if not chunk:
                raise EndOfStreamError(f"stream ends {size - len(result)} bytes early")
            missing = size - len(result)
            result += chunk if len(chunk) <= missing else memoryview(chunk)[:missing]
            self._data = chunk
            self._position = min(missing, len(chunk))
        return memoryview(result)

    def skip_fully(self, size: int) -> None:
        """Pass over exactly size bytes without keeping them; EOFError if there are fewer."""
        end = self._position + size
        while end > len(self._data):
            end -= len(self._data)
            self._data = self.next_chunk()
            if not self._data:
                self._position = 0
                raise EndOfStreamError(f"stream ends {end} bytes early")
        self._position = end


class BytesInputStream(DecompressionStream):
    """The stream of codec NONE: the bytes as they are."""

    __slots__ = ("_rest",)

    def __init__(self, buffer: memoryview) -> None:
        super().__init__()
        self._rest: memoryview | None = buffer  # thread: of its owner

    def next_chunk(self) -> bytes:
        """Return everything at once, then b""."""
        rest, self._rest = self._rest, None
        return b"" if rest is None else bytes(rest)
