"""The snappy codec in the framing of xerial's snappy-java.

Ours: stands for SnappyInputStream and SnappyOutputStream, which Kafka takes from snappy-java.

    header: 82 'SNAPPY' 00 | version int32 = 1 | compatible version int32 = 1
    then blocks: compressed length int32 | raw snappy of up to 32 KiB
Without that header the whole input is one raw snappy block (other clients write that).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import cramjam

from kafka_py.common.record.decompression_stream import DecompressionStream

if TYPE_CHECKING:
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = struct.Struct(">8sii")
_HEADER_BYTES = _HEADER.pack(_MAGIC, 1, 1)
_MINIMUM_COMPATIBLE_VERSION = 1
_INT32 = struct.Struct(">i")
_BLOCK_SIZE = 32 * 1024

# A copy element makes at most 64 bytes out of 3: whoever claims more lies about its length.
_MAX_EXPANSION = 22


class SnappyInputStream(DecompressionStream):
    """Decompresses block after block; a length that the input cannot yield is refused before allocating."""

    __slots__ = ("_input", "_offset", "_raw")

    def __init__(self, buffer: memoryview) -> None:
        super().__init__()
        if len(buffer) == 0:
            raise OSError("Cannot decompress empty stream")
        self._input = buffer
        self._offset = 0  # thread: of its owner
        self._raw = len(buffer) < _HEADER.size or bytes(buffer[:8]) != _MAGIC
        if not self._raw:
            self._read_header()

    def next_chunk(self) -> bytes:
        """Return the next non-empty block, b"" at the end; OSError for damaged data."""
        if self._raw:
            if self._offset:
                return b""
            self._offset = len(self._input)
            return _uncompress(self._input)
        while len(self._input) - self._offset >= 4:
            if bytes(self._input[self._offset : self._offset + 8]) == _MAGIC:
                self._read_header()  # streams written one behind the other
                continue
            size = _INT32.unpack_from(self._input, self._offset)[0]
            start = self._offset + 4
            if size <= 0 or size > len(self._input) - start:
                raise OSError(f"failed to read chunk of {size} bytes")
            self._offset = start + size
            chunk = _uncompress(self._input[start : self._offset])
            if chunk:
                return chunk
        return b""

    def _read_header(self) -> None:
        if len(self._input) - self._offset < _HEADER.size:
            raise OSError("snappy header is cut off")
        version = _HEADER.unpack_from(self._input, self._offset)[1]
        if version < _MINIMUM_COMPATIBLE_VERSION:
            raise OSError(f"compressed with an incompatible codec version {version}")
        self._offset += _HEADER.size


class SnappyOutputStream:
    """Compresses 32 KiB blocks into a buffer."""

    __slots__ = ("_block", "_out")

    def __init__(self, out: ByteBufferOutputStream) -> None:
        self._out = out
        self._block = bytearray()  # thread: of its owner
        out.write(_HEADER_BYTES)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Compress data once a block is full."""
        self._block += data
        while len(self._block) >= _BLOCK_SIZE:
            self._write_block(_BLOCK_SIZE)

    def close(self) -> None:
        """Write the last, shorter block."""
        if self._block:
            self._write_block(len(self._block))

    def _write_block(self, size: int) -> None:
        compressed = bytes(cramjam.snappy.compress_raw(bytes(self._block[:size])))
        del self._block[:size]
        self._out.write(_INT32.pack(len(compressed)))
        self._out.write(compressed)


def _uncompress(block: memoryview) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(block) > len(block) * _MAX_EXPANSION:
            raise OSError("snappy block claims a length that it cannot have")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as e:
        raise OSError(str(e)) from e
