"""Which partition a record goes to: the one it names, its key's, or with neither the one whose turn it is.

Mirrors: clients/src/main/java/org/apache/kafka/clients/producer/internals/DefaultPartitioner.java @ 2.4 (a column at a
    time; records without a key stay together, where 1.1.1 scattered them one by one)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int32]
UInts = npt.NDArray[np.uint32]
_FEW = 16  # keys: to hash their words one by one costs about as much as one step of numpy's
_SEED, _M, _R = 0x9747B28C, 0x5BD1E995, 24


def murmur2(keys: pa.Array) -> UInts:
    """The hash of each binary key, as kafka_py.common.utils.utils.murmur2 gives it, unsigned; of nulls any number.

    All keys advance together, four bytes per step, as long as they are many: the few longest then go on alone.
    """
    n = len(keys)
    _, offsets, data = keys.buffers()
    edges = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + n + 1].astype(np.int64)
    octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    u8 = octets.astype(np.uint32)
    start, length = edges[:-1], np.diff(edges)
    m = np.uint32(_M)
    h = np.uint32(_SEED) ^ length.astype(np.uint32)
    words = length >> 2
    longest_first = np.argsort(-words, kind="stable")
    together = int(words[longest_first[_FEW]]) if n > _FEW else 0  # steps in which more than a few keys take part
    falling = words[longest_first]
    live = longest_first
    for i in range(together):
        live = live[: int(np.searchsorted(-falling, -i))]  # those that have more than i words
        at = start[live] + 4 * i
        h[live] = h[live] * m ^ _mixed(
            u8[at] | u8[at + 1] << np.uint32(8) | u8[at + 2] << np.uint32(16) | u8[at + 3] << np.uint32(24)
        )
    for key in longest_first[: int(np.searchsorted(-falling, -together))].tolist():
        first = int(start[key]) + 4 * together
        h[key] = _hash_on(int(h[key]), bytes(octets[first : int(start[key]) + 4 * int(words[key])]))
    rest = length & 3
    behind = start + (words << 2)
    for i in (2, 1, 0):
        live = np.flatnonzero(rest > i)
        h[live] ^= u8[behind[live] + i] << np.uint32(8 * i)
    h[rest > 0] *= m
    h ^= h >> np.uint32(13)
    h *= m
    h ^= h >> np.uint32(15)
    return h


def _mixed(k: UInts) -> UInts:
    """What each word of a key adds to its hash."""
    k = k * np.uint32(_M)
    k ^= k >> np.uint32(_R)
    k *= np.uint32(_M)
    return k


def _hash_on(h: int, words: bytes) -> int:
    """The hash after these words of one key: what they add is found for all at once, only the sum goes one by one."""
    for k in _mixed(np.frombuffer(words, "<u4").astype(np.uint32)).tolist():
        h = (h * _M & 0xFFFFFFFF) ^ k
    return h


def partitions_of(keys: pa.Array | None, named: pa.Array | None, count: int, sticky: int, rows: int) -> Ints:
    """The partition of each of ``rows`` records of a topic with ``count`` partitions.

    ``sticky`` is for records with neither key nor named partition. Raises ValueError for a named partition that the
    topic does not have.
    """
    chosen = np.full(rows, sticky, np.int32)
    if keys is not None and keys.null_count < rows:
        by_key = ((murmur2(keys) & np.uint32(0x7FFFFFFF)) % np.uint32(count)).astype(np.int32)
        with_key = keys.is_valid().to_numpy(zero_copy_only=False)
        chosen[with_key] = by_key[with_key]
    if named is not None and named.null_count < rows:
        given = named.is_valid().to_numpy(zero_copy_only=False)
        numbers = named.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int32)
        wrong = given & ((numbers < 0) | (numbers >= count))
        if wrong.any():
            raise ValueError(
                f"Invalid partition given with record: {numbers[wrong][0]} is not in the range [0...{count})."
            )
        chosen[given] = numbers[given]
    return chosen
