"""The order in which the maps of Kafka's own build hand out their entries, so that our JSON has the same bytes.

Kafka 1.1.1 writes its ZooKeeper nodes from Scala 2.11 maps and java.util.Properties, whose orders follow from the hash
codes of the keys. Nobody may rely on an order within a JSON object, but a node that is equal byte by byte can be
compared with one line of shell, and the original's examples in books and mails then match what students see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

V = TypeVar("V")
_MASK = 0xFFFFFFFF
_SMALL_MAP = 4  # Scala's maps of up to four entries keep them as they came
_MAGIC = 0x9E3775CD


def java_string_hash(text: str) -> int:
    """java.lang.String.hashCode as an unsigned 32-bit number."""
    value = 0
    for high, low in zip(*[iter(text.encode("utf-16-be"))] * 2, strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK
    return value


def immutable_map(entries: Mapping[str, V]) -> dict[str, V]:
    """The entries in the order of scala.collection.immutable.Map (insertion up to 4, then a hash trie)."""
    if len(entries) <= _SMALL_MAP:
        return dict(entries)
    return {key: entries[key] for key in sorted(entries, key=_trie_path)}


def _trie_path(key: str) -> tuple[int, ...]:
    h = java_string_hash(key)
    h = (h + (~(h << 9) & _MASK)) & _MASK
    h ^= h >> 14
    h = (h + (h << 4)) & _MASK
    h ^= h >> 10
    return tuple(h >> shift & 31 for shift in range(0, 32, 5))  # five bits a level, lowest first


def mutable_map(entries: Mapping[str, V]) -> dict[str, V]:
    """The entries in the order of scala.collection.mutable.Map, for up to 12 entries (a table of 16 buckets)."""
    size = 16
    while len(entries) > size * 3 // 4:
        size *= 2
    buckets: list[list[str]] = [[] for _ in range(size)]
    for key in entries:
        buckets[_table_index(key, size)].insert(0, key)
    return {key: entries[key] for bucket in reversed(buckets) for key in bucket}


def _table_index(key: str, size: int) -> int:
    bits = size.bit_length() - 1
    h = java_string_hash(key) * _MAGIC & _MASK
    h = int.from_bytes(h.to_bytes(4, "big"), "little") * _MAGIC & _MASK
    rotated = (h >> bits | h << (32 - bits)) & _MASK
    return rotated >> (32 - bits)


def properties(entries: Mapping[str, V]) -> dict[str, V]:
    """The entries in the order of java.util.Properties (Hashtable of Java 8)."""
    table: list[list[str]] = [[] for _ in range(11)]
    for count, key in enumerate(entries):
        if count >= len(table) * 3 // 4:
            table = _rehash(table)
        table[_hashtable_index(key, len(table))].insert(0, key)
    return {key: entries[key] for key in _downwards(table)}


def _rehash(table: list[list[str]]) -> list[list[str]]:
    bigger: list[list[str]] = [[] for _ in range(2 * len(table) + 1)]
    for key in _downwards(table):
        bigger[_hashtable_index(key, len(bigger))].insert(0, key)
    return bigger


def _downwards(table: list[list[str]]) -> Iterable[str]:
    return [key for bucket in reversed(table) for key in bucket]


def _hashtable_index(key: str, size: int) -> int:
    return (java_string_hash(key) & 0x7FFFFFFF) % size
