"""Which partition of its coordinator's topic a group, or a transactional id, belongs to.

Mirrors: nothing of its own; `Utils.abs(id.hashCode) % partitions` stands in both coordinators
"""

from __future__ import annotations

from kafka_py.zk.scala_map_order import java_string_hash

_INT_MIN = -(1 << 31)


def partition_for_id(id: str, partitions: int) -> int:
    """The partition, by Java's hash of the id, taken without its sign."""
    unsigned = java_string_hash(id)
    signed = unsigned - (unsigned >> 31 << 32)
    return (0 if signed == _INT_MIN else abs(signed)) % partitions
