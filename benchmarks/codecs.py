"""Records compressed as producers do it, in the forms that Apache Kafka's broker reads.

Independent of the broker's own codecs, like `frames`; the tests of those codecs read what is written here.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import cramjam
from xxhash import xxh32_intdigest

_SNAPPY_BLOCK = 32 * 1024
_STORED = 1 << 31


class Codec(NamedTuple):
    """What the attributes of a batch say, and how its records are compressed; from which Produce version on."""

    id: int
    compress: Callable[[bytes], bytes]
    produce_version: int = 3


def gzip(data: bytes) -> bytes:
    """One member."""
    compressor = zlib.compressobj(wbits=31)
    return compressor.compress(data) + compressor.flush()


def snappy(data: bytes) -> bytes:
    """Blocks of 32 KiB in the framing of snappy-java, which Kafka's own clients write."""
    parts = [b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)]
    for start in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK]))
        parts += struct.pack(">i", len(block)), block
    return b"".join(parts)


def lz4(
    data: bytes,
    block_size: int = 4,
    block_checksum: bool = False,
    content_checksum: bool = False,
    content_size: bool = False,
) -> bytes:
    """A frame of independent blocks (4: 64 KiB, 5: 256 KiB, 6: 1 MiB, 7: 4 MiB) with the options asked for."""
    flags = 0x60 | block_checksum << 4 | content_size << 3 | content_checksum << 2
    descriptor = bytes((flags, block_size << 4)) + (struct.pack("<Q", len(data)) if content_size else b"")
    parts = [struct.pack("<I", 0x184D2204), descriptor, bytes((xxh32_intdigest(descriptor) >> 8 & 0xFF,))]
    step = 1 << (2 * block_size + 8)
    for start in range(0, len(data), step):
        plain = data[start : start + step]
        block, stored = bytes(cramjam.lz4.compress_block(plain, store_size=False)), 0
        if len(block) >= len(plain):
            block, stored = plain, _STORED
        parts += struct.pack("<I", len(block) | stored), block
        if block_checksum:
            parts.append(struct.pack("<I", xxh32_intdigest(block)))
    parts.append(bytes(4))
    if content_checksum:
        parts.append(struct.pack("<I", xxh32_intdigest(data)))
    return b"".join(parts)


def zstd(data: bytes) -> bytes:
    """One frame, level 3 as librdkafka and Kafka's own clients have it by default."""
    return bytes(cramjam.zstd.compress(data, level=3))


CODECS = {
    "gzip": Codec(1, gzip),
    "snappy": Codec(2, snappy),
    "lz4": Codec(3, lz4),
    "lz4_block_checksum": Codec(3, functools.partial(lz4, block_checksum=True)),
    "lz4_content_checksum": Codec(3, functools.partial(lz4, content_checksum=True, content_size=True)),
    "lz4_4m_all_options": Codec(
        3, functools.partial(lz4, block_size=7, block_checksum=True, content_checksum=True, content_size=True)
    ),
    "zstd": Codec(4, zstd, produce_version=7),
}
