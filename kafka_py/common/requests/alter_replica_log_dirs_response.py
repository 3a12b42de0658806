"""Whether the replicas are moving.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterReplicaLogDirsResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class AlterReplicaLogDirsResponse(ResponseMessage, key=ApiKeys.ALTER_REPLICA_LOG_DIRS, latest=1):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.AlterReplicaLogDirsResponse
    """

    class Topic(Message):
        """What became of a topic's partitions."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition: int = field(INT32)
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    topics: list[Topic] = field(ListOf(Topic))

    @classmethod
    def of(cls, throttle_time_ms: int, responses: dict[TopicPartition, Errors]) -> AlterReplicaLogDirsResponse:
        """The response with these errors (Java's constructor)."""
        topics = [
            cls.Topic(
                topic=topic,
                partitions=[cls.Topic.Partition(partition=p, error_code=e.code) for p, e in partitions.items()],
            )
            for topic, partitions in group_data_by_topic(responses).items()
        ]
        return cls(throttle_time_ms=throttle_time_ms, topics=topics)

    def responses(self) -> dict[TopicPartition, Errors]:
        """Whether each partition is moving, or why not."""
        return {TopicPartition(t.topic, p.partition): p.error for t in self.topics for p in t.partitions}
