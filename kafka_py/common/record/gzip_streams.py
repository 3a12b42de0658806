"""The gzip codec as java.util.zip reads and writes it.

Ours: stands for GZIPInputStream and GZIPOutputStream, which Kafka takes from the JDK.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from kafka_py.common.record.decompression_stream import DecompressionStream

if TYPE_CHECKING:
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"
_TRAILER = struct.Struct("<II")

_INPUT_SIZE = 8 * 1024
_OUTPUT_SIZE = 64 * 1024
_GZIP_WBITS = 31
_RAW_WBITS = -15


class GzipInputStream(DecompressionStream):
    """Inflates 8 KiB of input at a time into at most 64 KiB of output, whatever the input expands to.

    Further gzip members follow on as in the JDK; other bytes behind the first member are ignored as there.
    """

    __slots__ = ("_decompressor", "_input", "_offset", "_tail")

    def __init__(self, buffer: memoryview) -> None:
        super().__init__()
        if len(buffer) < len(_HEADER):
            raise EOFError("input ends within the gzip header")
        if bytes(buffer[:3]) != _HEADER[:3]:
            raise OSError("Not in GZIP format")
        self._input = buffer
        self._offset = 0  # thread: of its owner
        self._tail: bytes = b""  # thread: of its owner
        self._decompressor = zlib.decompressobj(_GZIP_WBITS)  # thread: of its owner

    def next_chunk(self) -> bytes:
        """Return the next bytes; OSError for damaged data, EOFError if the input ends too early."""
        while True:
            if self._decompressor.eof and not self._next_member():
                return b""
            piece = self._tail
            if not piece:
                piece = bytes(self._input[self._offset : self._offset + _INPUT_SIZE])
                self._offset += len(piece)
            exhausted = not piece
            try:
                out = self._decompressor.decompress(piece, _OUTPUT_SIZE)
            except zlib.error as e:
                raise OSError(str(e)) from e
            self._tail = self._decompressor.unconsumed_tail
            if out:
                return out
            if exhausted and not self._decompressor.eof:
                raise EOFError("Unexpected end of ZLIB input stream")

    def _next_member(self) -> bool:
        """Start on what follows a finished member; False if that is nothing or no gzip."""
        start = self._offset - len(self._decompressor.unused_data)
        # The JDK looks for another member only if more than its own trailer and a minimal one are left.
        if len(self._input) - start <= 18 or bytes(self._input[start : start + 3]) != _HEADER[:3]:
            return False
        self._offset = start
        self._tail = b""
        self._decompressor = zlib.decompressobj(_GZIP_WBITS)
        return True


class GzipOutputStream:
    """Deflates into a buffer, with the fixed header that the JDK writes."""

    __slots__ = ("_compressor", "_crc", "_out", "_size")

    def __init__(self, out: ByteBufferOutputStream) -> None:
        self._out = out
        self._compressor = zlib.compressobj(wbits=_RAW_WBITS)
        self._crc = 0  # thread: of its owner
        self._size = 0  # thread: of its owner
        out.write(_HEADER)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Compress data."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._out.write(self._compressor.compress(data))

    def close(self) -> None:
        """Write what is held back, and the trailer."""
        self._out.write(self._compressor.flush())
        self._out.write(_TRAILER.pack(self._crc, self._size & 0xFFFFFFFF))
