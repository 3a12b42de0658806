"""What is settled about a partition at one moment, to be read as a whole without a lock.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 3.7.1 (PartitionState)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_py.cluster.replica import Replica


class LeaderState(NamedTuple):
    """What an append needs to know, published as one immutable value while this broker leads the partition.

    Ours, no original: Kafka replaces its PartitionState so, which is the ISR alone.
    """

    leader_replica: Replica
    leader_epoch: int
    in_sync_size: int
    alone: bool  # the leader is the only assigned replica
