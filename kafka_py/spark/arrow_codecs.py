"""Compression of whole batches, at the speed of the libraries and within a bounded memory.

The codecs are those of kafka_py.common.record; here a batch is inflated in one call into memory that is there already,
where the record classes stream. What a batch may inflate to is bounded by that memory.

Ours: Kafka stacks streams (CompressionType.wrapForInput and wrapForOutput).
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Callable

import cramjam

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.zstd_streams import MAX_DECOMPRESSED_SIZE

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
# Batches are inflated one behind the other until there is this much; the last of them may be of the largest size.
ENOUGH = 8 << 20

_XERIAL_HEADER = struct.pack(">8sii", b"\x82SNAPPY\x00", 1, 1)
_SNAPPY_BLOCK = 32 << 10
_INT32 = struct.Struct(">i")

_LZ4_MAGIC = 0x184D2204
# Version 1, independent blocks of at most 64 KiB, no checksums; the last byte is the checksum of the two before it.
_LZ4_HEADER = struct.pack("<IBBB", _LZ4_MAGIC, 0x60, 0x40, 0x82)
_LZ4_BLOCK = 64 << 10
_LZ4_STORED = 0x80000000
_UINT32_LE = struct.Struct("<I")

_GZIP_LEVEL, _GZIP_WBITS, _ZSTD_LEVEL = 6, 31, 3  # the defaults of Kafka's clients


class Arena:
    """Memory into which batches are inflated one behind the other; only what is written to is really taken."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, MAX_DECOMPRESSED_SIZE + ENOUGH, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.view = memoryview(self._memory)
        # bytes
        self.used = 0  # thread: of its owner

    @property
    def is_full(self) -> bool:
        """Whether there may be too little room for a further batch."""
        return self.used >= ENOUGH

    def add(self, codec: int, data: memoryview) -> None:
        """Append the records of one batch, inflated if codec is not 0.

        Raises CorruptRecordException for bytes that the codec does not understand, and for a batch that inflates to
        more than MAX_DECOMPRESSED_SIZE bytes. May be called while not is_full.
        """
        out = self.view[self.used : self.used + MAX_DECOMPRESSED_SIZE]
        inflate = _INFLATE.get(codec)
        if inflate is None:
            raise CorruptRecordException(f"Unknown compression codec {codec}")
        try:
            self.used += inflate(data, out)
        except (cramjam.DecompressionError, OSError, ValueError, struct.error) as e:
            raise CorruptRecordException(f"Cannot decompress a batch of codec {codec}: {e}") from e


def _copy(data: memoryview, out: memoryview) -> int:
    out[: len(data)] = data
    return len(data)


def _ungzip(data: memoryview, out: memoryview) -> int:
    return int(cramjam.gzip.decompress_into(data, out))


def _unzstd(data: memoryview, out: memoryview) -> int:
    return int(cramjam.zstd.decompress_into(data, out))


def _unsnappy(data: memoryview, out: memoryview) -> int:
    """Raw snappy, or the framing of snappy-java: a header, then blocks that each say their size."""
    if bytes(data[:8]) != _XERIAL_HEADER[:8]:
        return int(cramjam.snappy.decompress_raw_into(data, out))
    position, used = len(_XERIAL_HEADER), 0
    while position + _INT32.size <= len(data):
        (size,) = _INT32.unpack_from(data, position)
        if bytes(data[position : position + 8]) == _XERIAL_HEADER[:8]:
            position += len(_XERIAL_HEADER)  # streams written one behind the other
            continue
        position += 4
        if not 0 < size <= len(data) - position:
            raise ValueError(f"failed to read chunk of {size} bytes")
        used += int(cramjam.snappy.decompress_raw_into(data[position : position + size], out[used:]))
        position += size
    return used


def _unlz4(data: memoryview, out: memoryview) -> int:
    """A frame of independent blocks, as Kafka's clients write it, block by block; the library reads all others."""
    magic, flags, block_size = struct.unpack_from("<IBB", data)
    if magic != _LZ4_MAGIC or flags != 0x60:
        return int(cramjam.lz4.decompress_into(data, out))
    largest = 1 << (2 * (block_size >> 4 & 7) + 8)
    position, used = len(_LZ4_HEADER), 0
    while True:
        (size,) = _UINT32_LE.unpack_from(data, position)
        position += 4
        if size == 0:
            return used
        stored, size = size & _LZ4_STORED, size & ~_LZ4_STORED
        if size > len(data) - position or size > largest:
            raise ValueError(f"block of {size} bytes exceeds the batch or the largest block, {largest} bytes")
        block = data[position : position + size]
        rest = out[used:]
        if stored:
            used += _copy(block, rest)
        else:
            used += int(cramjam.lz4.decompress_block_into(block, rest, output_len=min(largest, len(rest))))
        position += size


_INFLATE: dict[int, Callable[[memoryview, memoryview], int]] = {
    0: _copy,
    GZIP: _ungzip,
    SNAPPY: _unsnappy,
    LZ4: _unlz4,
    ZSTD: _unzstd,
}


def deflate(codec: int, data: memoryview) -> bytes | memoryview:
    """The records of one batch as a codec's bytes, in the framing that Kafka's Java client writes; codec 0 is no copy.

    Raises ValueError for an unknown codec.
    """
    if codec == 0:
        return data
    if codec == GZIP:
        return zlib.compress(data, _GZIP_LEVEL, _GZIP_WBITS)
    if codec == SNAPPY:
        parts = [_XERIAL_HEADER]
        for start in range(0, len(data), _SNAPPY_BLOCK):
            block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK]))
            parts += (_INT32.pack(len(block)), block)
        return b"".join(parts)
    if codec == LZ4:
        return _lz4(data)
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data, _ZSTD_LEVEL))
    raise ValueError(f"Unknown compression type id: {codec}")


def _lz4(data: memoryview) -> bytes:
    parts: list[bytes] = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK):
        block = bytes(data[start : start + _LZ4_BLOCK])
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += (_UINT32_LE.pack(len(packed)), packed)
        else:
            parts += (_UINT32_LE.pack(len(block) | _LZ4_STORED), block)
    parts.append(_UINT32_LE.pack(0))
    return b"".join(parts)
