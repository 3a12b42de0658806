"""Where the logs start now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class DeleteRecordsResponse(ResponseMessage, key=ApiKeys.DELETE_RECORDS, latest=1):
    """The low watermark by partition: the smallest log start offset of its live replicas.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsResponse
    """

    INVALID_LOW_WATERMARK: ClassVar[int] = -1

    class Topic(Message):
        """What became of a topic's partitions."""

        class PartitionResponse(ErrorEntry):
            """What became of a partition; a DeleteRecords that waits fills it in later.

            Mirrors: org.apache.kafka.common.requests.DeleteRecordsResponse.PartitionResponse
            Differs: knows its partition as soon as it is part of a response.
            """

            partition: int = field(INT32)
            low_watermark: int = field(INT64, "The smallest log start offset of all replicas", default=-1)
            error_code: int = field(INT16)

            def __init__(self, low_watermark: int, error: Errors) -> None:
                self.partition = -1  # volatile: whoever makes the response of it
                self.low_watermark = low_watermark  # volatile: DelayedDeleteRecords
                self.error_code = error.code  # volatile: DelayedDeleteRecords

        topic: str = field(STRING)
        partitions: list[PartitionResponse] = field(ListOf(PartitionResponse))

    PartitionResponse: TypeAlias = Topic.PartitionResponse  # type: ignore[misc]  # an alias, not a field

    throttle_time_ms: int = field(INT32, default=0)
    topics: list[Topic] = field(ListOf(Topic))

    def __init__(self, throttle_time_ms: int, responses: dict[TopicPartition, PartitionResponse]) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = []
        for topic, partitions in group_data_by_topic(responses).items():
            for partition, response in partitions.items():
                assert response.partition in (-1, partition)  # one answer cannot serve two
                response.partition = partition
            self.topics.append(self.Topic(topic=topic, partitions=list(partitions.values())))

    def responses(self) -> dict[TopicPartition, PartitionResponse]:
        """What became of each partition."""
        return {TopicPartition(t.topic, p.partition): p for t in self.topics for p in t.partitions}
