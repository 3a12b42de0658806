"""The zstd codec (Kafka 2.1 and newer).

Ours: stands for zstd-jni's streams; 1.1.1 has no codec 4, today's clients have.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import cramjam

from kafka_py.common.record.decompression_stream import DecompressionStream

if TYPE_CHECKING:
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
_MAX_BLOCK_SIZE = 128 * 1024
_CHUNK_SIZE = 256 * 1024
_WRITE_SIZE = 64 * 1024

# Up to here memory comes from the heap: there it is used again and again, whereas each new page costs a page fault.
_MAX_HEAP_SIZE = 512 * 1024

# The library decompresses a frame at once. What one batch may expand to is bounded by this, so that a bomb costs
# at most that much memory, and only as much of it as is really written (anonymous pages).
MAX_DECOMPRESSED_SIZE = 208 * 1024 * 1024


class ZstdInputStream(DecompressionStream):
    """Decompresses into memory of a bounded size, anonymous if it is much, and hands it out in chunks."""

    __slots__ = ("_decompressed", "_offset", "_size")

    def __init__(self, buffer: memoryview) -> None:
        super().__init__()
        bound = _upper_bound(buffer)
        limit = max(min(bound, MAX_DECOMPRESSED_SIZE), 1)
        self._offset = 0  # thread: of its owner
        self._decompressed: bytearray | mmap.mmap = (
            bytearray(limit)
            if limit <= _MAX_HEAP_SIZE
            else mmap.mmap(-1, limit, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        )  # thread: of its owner
        try:
            self._size = int(cramjam.zstd.decompress_into(buffer, self._decompressed))  # thread: of its owner
        except (cramjam.DecompressionError, OSError) as e:
            self._release()
            if bound > MAX_DECOMPRESSED_SIZE:
                raise OSError(f"zstd data is damaged or expands to more than {MAX_DECOMPRESSED_SIZE} bytes") from e
            raise OSError(str(e)) from e

    def next_chunk(self) -> bytes:
        """Return the next bytes, b"" at the end."""
        end = min(self._offset + _CHUNK_SIZE, self._size)
        chunk = bytes(memoryview(self._decompressed)[self._offset : end])
        self._offset = end
        return chunk

    def close(self) -> None:
        """Give the memory back."""
        super().close()
        self._release()

    def _release(self) -> None:
        self._offset = self._size = 0
        memory, self._decompressed = self._decompressed, bytearray()
        if isinstance(memory, mmap.mmap):
            memory.close()


class ZstdOutputStream:
    """Compresses into a buffer."""

    __slots__ = ("_compressor", "_out", "_pending")

    def __init__(self, out: ByteBufferOutputStream) -> None:
        self._out = out
        self._compressor = cramjam.zstd.Compressor()
        self._pending = bytearray()  # thread: of its owner

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Compress data."""
        self._pending += data
        if len(self._pending) >= _WRITE_SIZE:
            self._compress()

    def close(self) -> None:
        """Write the rest and end the frame."""
        self._compress()
        self._out.write(bytes(self._compressor.finish()))

    def _compress(self) -> None:
        self._compressor.compress(bytes(self._pending))
        self._pending.clear()


def _upper_bound(buffer: memoryview) -> int:
    """Return what the blocks of all frames can yield at most, from their headers alone; OSError if cut off."""
    total = position = 0
    while position < len(buffer):
        magic = bytes(buffer[position : position + 4])
        if magic[1:] == _SKIPPABLE_MAGIC and magic[0] & 0xF0 == 0x50:
            position += 8 + int.from_bytes(buffer[position + 4 : position + 8], "little")
            continue
        if magic != _MAGIC or len(buffer) - position < 6:
            raise OSError("not in zstd format")
        size, position = _frame_bound(buffer, position + 4)
        total += size
    return total


def _frame_bound(buffer: memoryview, position: int) -> tuple[int, int]:
    descriptor = buffer[position]
    single_segment = descriptor >> 5 & 1
    content_size_length = (single_segment, 2, 4, 8)[descriptor >> 6]
    position += 1 + (not single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size_length
    total = 0
    while True:
        if len(buffer) - position < 3:
            raise OSError("zstd frame is cut off")
        block = int.from_bytes(buffer[position : position + 3], "little")
        block_type, size = block >> 1 & 3, block >> 3
        total += size if block_type < 2 else _MAX_BLOCK_SIZE
        position += 3 + (1 if block_type == 1 else size)
        if block & 1:
            return total, position + (4 if descriptor & 4 else 0)
