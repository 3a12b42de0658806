"""The name of a copy of a partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/TopicPartitionReplica.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.common.topic_partition import TopicPartition


class TopicPartitionReplica(NamedTuple):
    """A partition and the broker that has the copy: hashable, equal by value, printed as ``topic-partition-broker``.

    Mirrors: org.apache.kafka.common.TopicPartitionReplica
    """

    topic: str
    partition: int
    broker_id: int

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it is a copy of."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"

    def __repr__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"
