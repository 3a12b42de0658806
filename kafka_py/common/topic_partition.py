"""The name of a partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/TopicPartition.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic's name and a partition's number: hashable, equal by value, printed as ``topic-partition``.

    Mirrors: org.apache.kafka.common.TopicPartition
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    def __repr__(self) -> str:
        # Collections of partitions appear in log lines, where Java prints topic-partition as well.
        return f"{self.topic}-{self.partition}"
