"""What delayed operations are watched under.

Mirrors: core/src/main/scala/kafka/server/DelayedOperationKey.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

from kafka_py.common.topic_partition import TopicPartition


class DelayedOperationKey(Protocol):
    """A watch key that can say what it is.

    Mirrors: kafka.server.DelayedOperationKey
    """

    GLOBAL_LABEL: ClassVar[str] = "All"

    @property
    def key_label(self) -> str:
        """The key in metrics and logs."""


class TopicPartitionOperationKey(NamedTuple):
    """Key of delayed produce and fetch operations.

    Mirrors: kafka.server.TopicPartitionOperationKey
    Differs: a tuple, as cheap to make and to look up as that; equal to the TopicPartition itself.
    """

    topic: str
    partition: int

    @staticmethod
    def of(topic_partition: TopicPartition) -> TopicPartitionOperationKey:
        """The key of a partition."""
        return TopicPartitionOperationKey(topic_partition.topic, topic_partition.partition)

    @property
    def key_label(self) -> str:
        """topic-partition"""
        return f"{self.topic}-{self.partition}"


class MemberKey(NamedTuple):
    """Key of a group member's heartbeat.

    Mirrors: kafka.server.MemberKey
    """

    group_id: str
    consumer_id: str

    @property
    def key_label(self) -> str:
        """group-member"""
        return f"{self.group_id}-{self.consumer_id}"


class GroupKey(NamedTuple):
    """Key of a group's rebalance.

    Mirrors: kafka.server.GroupKey
    """

    group_id: str

    @property
    def key_label(self) -> str:
        """group"""
        return self.group_id


class TopicKey(NamedTuple):
    """Key of operations on a topic.

    Mirrors: kafka.server.TopicKey
    """

    topic: str

    @property
    def key_label(self) -> str:
        """topic"""
        return self.topic
