"""Which offset does a timestamp have.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListOffsetRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

from kafka_py.common.errors import RuntimeException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT8, INT32, INT64, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic, named_twice


class ListOffsetRequest(RequestMessage, key=ApiKeys.LIST_OFFSETS, latest=5):
    """Timestamps by partition; -1 asks for the end, -2 for the start.

    Mirrors: org.apache.kafka.common.requests.ListOffsetRequest
    """

    EARLIEST_TIMESTAMP: ClassVar[int] = -2
    LATEST_TIMESTAMP: ClassVar[int] = -1
    CONSUMER_REPLICA_ID: ClassVar[int] = -1
    DEBUGGING_REPLICA_ID: ClassVar[int] = -2
    ANSWERED: ClassVar[Mapping[str, str]] = {"responses": "topics", "partition_responses": "partitions"}
    EACH_ONCE: ClassVar[bool] = True

    class Topic(Message):
        """What is asked of a topic."""

        class Partition(Message):
            """What is asked of a partition."""

            partition: int = field(INT32)
            current_leader_epoch: int = field(INT32, "The client's epoch, -1 for any", since=4, default=-1)
            timestamp: int = field(INT64, "The timestamp to look for; -1 the end, -2 the start")
            max_num_offsets: int = field(INT32, "How many offsets to answer at most", until=0, default=1)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    replica_id: int = field(INT32, "The asking broker's id, -1 for consumers, -2 for debugging tools")
    isolation_level: int = field(INT8, "0 up to the high watermark, 1 to the last stable offset", since=2, default=0)
    topics: list[Topic] = field(ListOf(Topic))

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        """As for every request; ValueError for an isolation level that does not exist."""
        request = super().parse(buffer, version)
        IsolationLevel.for_id(request.isolation_level)
        return request

    class PartitionData(NamedTuple):
        """What version 0 asks of a partition: starts of segments before a time, and how many at most.

        Mirrors: org.apache.kafka.common.requests.ListOffsetRequest.PartitionData
        """

        timestamp: int
        max_num_offsets: int

    class Builder(AbstractRequest.Builder):
        """Knows which version a question needs.

        Mirrors: org.apache.kafka.common.requests.ListOffsetRequest.Builder
        """

        def __init__(
            self,
            oldest_allowed_version: int,
            latest_allowed_version: int,
            replica_id: int,
            isolation_level: IsolationLevel,
        ) -> None:
            super().__init__(ApiKeys.LIST_OFFSETS, oldest_allowed_version, latest_allowed_version)
            self._replica_id = replica_id
            self._isolation_level = isolation_level  # thread: its maker
            offset_data: dict[TopicPartition, ListOffsetRequest.PartitionData] | None = None
            self._offset_data = offset_data  # thread: its maker
            self._partition_timestamps: dict[TopicPartition, int] | None = None  # thread: its maker
            self._current_leader_epochs: Mapping[TopicPartition, int] = {}  # thread: its maker

        @staticmethod
        def for_replica(allowed_version: int, replica_id: int) -> ListOffsetRequest.Builder:
            """A follower's question, at any version up to the given one."""
            return ListOffsetRequest.Builder(0, allowed_version, replica_id, IsolationLevel.READ_UNCOMMITTED)

        @staticmethod
        def for_consumer(require_timestamp: bool, isolation_level: IsolationLevel) -> ListOffsetRequest.Builder:
            """A consumer's question."""
            min_version = 1 if require_timestamp else 0
            if isolation_level is IsolationLevel.READ_COMMITTED:
                min_version = 2
            return ListOffsetRequest.Builder(
                min_version,
                ApiKeys.LIST_OFFSETS.latest_version(),
                ListOffsetRequest.CONSUMER_REPLICA_ID,
                isolation_level,
            )

        def set_offset_data(
            self, offset_data: dict[TopicPartition, ListOffsetRequest.PartitionData]
        ) -> ListOffsetRequest.Builder:
            """What to ask in version 0."""
            self._offset_data = offset_data
            return self

        def set_target_times(
            self,
            partition_timestamps: dict[TopicPartition, int],
            current_leader_epochs: Mapping[TopicPartition, int] | None = None,
        ) -> ListOffsetRequest.Builder:
            """What to ask from version 1 on; from version 4 on the epochs are told in which the asker follows."""
            self._partition_timestamps = partition_timestamps
            self._current_leader_epochs = {} if current_leader_epochs is None else current_leader_epochs
            return self

        def build(self, version: int | None = None) -> ListOffsetRequest:
            version = self._version_or_latest(version)
            targets = self._offset_data
            if targets is not None and version > 0:
                raise RuntimeException(f"Cannot create a v{version} ListOffsetRequest with v0 PartitionData.")
            if targets is None:
                if self._partition_timestamps is None:
                    needed = "partitionTimestamps or offsetData" if version == 0 else "partitionTimestamps"
                    raise RuntimeException(f"Must set {needed} when creating a v{version} ListOffsetRequest")
                times = self._partition_timestamps.items()
                targets = {tp: ListOffsetRequest.PartitionData(timestamp, 1) for tp, timestamp in times}
            return ListOffsetRequest(
                version=version,
                replica_id=self._replica_id,
                isolation_level=self._isolation_level.id,
                topics=[
                    ListOffsetRequest.Topic(
                        topic=topic,
                        partitions=[
                            ListOffsetRequest.Topic.Partition(
                                partition=partition,
                                current_leader_epoch=self._current_leader_epochs.get(
                                    TopicPartition(topic, partition), -1
                                ),
                                timestamp=data.timestamp,
                                max_num_offsets=data.max_num_offsets,
                            )
                            for partition, data in partitions.items()
                        ],
                    )
                    for topic, partitions in group_data_by_topic(targets).items()
                ],
            )

        def __str__(self) -> str:
            data = "" if self._offset_data is None else f", offsetData={self._offset_data}"
            times = "" if self._partition_timestamps is None else f", partitionTimestamps={self._partition_timestamps}"
            return (
                f"(type=ListOffsetRequest, replicaId={self._replica_id}{data}{times}, "
                f"isolationLevel={self._isolation_level})"
            )

    def offset_data(self) -> dict[TopicPartition, PartitionData]:
        """The questions of version 0."""
        return {
            TopicPartition(t.topic, p.partition): self.PartitionData(p.timestamp, p.max_num_offsets)
            for t in self.topics
            for p in t.partitions
        }

    def partition_timestamps(self) -> dict[TopicPartition, int]:
        """The questions from version 1 on."""
        return {TopicPartition(t.topic, p.partition): p.timestamp for t in self.topics for p in t.partitions}

    def current_leader_epochs(self) -> dict[TopicPartition, int]:
        """The leader epochs that the asker knows, -1 where it does not say."""
        return {TopicPartition(t.topic, p.partition): p.current_leader_epoch for t in self.topics for p in t.partitions}

    def duplicate_partitions(self) -> set[TopicPartition]:
        """Partitions that the request names more than once."""
        return named_twice(TopicPartition(t.topic, p.partition) for t in self.topics for p in t.partitions)
