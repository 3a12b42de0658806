"""Where does a leader epoch end in the leader's log.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetsForLeaderEpochRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class OffsetsForLeaderEpochRequest(RequestMessage, key=ApiKeys.OFFSET_FOR_LEADER_EPOCH, latest=3):
    """A leader epoch by partition, as a follower knows it.

    Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"topics": "topics", "partitions": "partitions"}
    EACH_ONCE: ClassVar[bool] = True

    class Topic(Message):
        """What is asked of a topic."""

        class Partition(Message):
            """What is asked of a partition."""

            partition: int = field(INT32)
            current_leader_epoch: int = field(INT32, "The asker's epoch, -1 for any", since=2, default=-1)
            leader_epoch: int = field(INT32, "The epoch whose end is asked for")

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    replica_id: int = field(INT32, "The asking broker's id, -1 for consumers", since=3, default=-2)
    topics: list[Topic] = field(ListOf(Topic))

    class Builder(AbstractRequest.Builder):
        """Collects partitions; without for_follower asks as followers of 1.1.1 do, in version 0.

        Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest.Builder
        """

        def __init__(
            self,
            epochs_by_partition: dict[TopicPartition, int] | None = None,
            version: int = 0,
            current_leader_epochs: Mapping[TopicPartition, int] | None = None,
            replica_id: int = -2,
        ) -> None:
            super().__init__(ApiKeys.OFFSET_FOR_LEADER_EPOCH, version, version)
            self._epochs_by_partition = {} if epochs_by_partition is None else epochs_by_partition
            self._current_leader_epochs = (
                {} if current_leader_epochs is None else current_leader_epochs
            )  # thread: its maker
            self._replica_id = replica_id

        @staticmethod
        def for_follower(
            version: int,
            epochs_by_partition: dict[TopicPartition, int],
            current_leader_epochs: Mapping[TopicPartition, int],
            replica_id: int,
        ) -> OffsetsForLeaderEpochRequest.Builder:
            """A follower's question, at the version that the inter-broker protocol says."""
            return OffsetsForLeaderEpochRequest.Builder(epochs_by_partition, version, current_leader_epochs, replica_id)

        def add(self, topic_partition: TopicPartition, epoch: int) -> OffsetsForLeaderEpochRequest.Builder:
            """Ask for one more partition."""
            self._epochs_by_partition[topic_partition] = epoch
            return self

        def build(self, version: int | None = None) -> OffsetsForLeaderEpochRequest:
            topic_class = OffsetsForLeaderEpochRequest.Topic
            current = self._current_leader_epochs
            topics = [
                topic_class(
                    topic=topic,
                    partitions=[
                        topic_class.Partition(
                            partition=p,
                            current_leader_epoch=current.get(TopicPartition(topic, p), -1),
                            leader_epoch=epoch,
                        )
                        for p, epoch in epochs.items()
                    ],
                )
                for topic, epochs in group_data_by_topic(self._epochs_by_partition).items()
            ]
            return OffsetsForLeaderEpochRequest(
                version=self._version_or_latest(version), replica_id=self._replica_id, topics=topics
            )

        def __str__(self) -> str:
            return f"(type=OffsetForLeaderEpochRequest, epochsByTopic={self._epochs_by_partition})"

    def current_leader_epochs(self) -> dict[TopicPartition, int]:
        """The leader epochs that the asker knows, -1 where it does not say."""
        return {TopicPartition(t.topic, p.partition): p.current_leader_epoch for t in self.topics for p in t.partitions}

    def epochs_by_topic_partition(self) -> dict[TopicPartition, int]:
        """The epochs asked for."""
        return {TopicPartition(t.topic, p.partition): p.leader_epoch for t in self.topics for p in t.partitions}
