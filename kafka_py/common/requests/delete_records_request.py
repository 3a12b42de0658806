"""Delete everything below these offsets.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class DeleteRecordsRequest(RequestMessage, key=ApiKeys.DELETE_RECORDS, latest=1):
    """An offset by partition; HIGH_WATERMARK deletes everything that is committed.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsRequest
    """

    HIGH_WATERMARK: ClassVar[int] = -1
    ANSWERED: ClassVar[Mapping[str, str]] = {"topics": "topics", "partitions": "partitions"}
    EACH_ONCE: ClassVar[bool] = True

    class Topic(Message):
        """Partitions of a topic."""

        class Partition(Message):
            """Where a partition's log is to start."""

            partition: int = field(INT32)
            offset: int = field(INT64, "Where the log is to start, -1 for the high watermark")

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    topics: list[Topic] = field(ListOf(Topic))
    timeout: int = field(INT32, "How long to wait for the replicas, in ms")

    class Builder(RequestMessage.Builder):
        """Offsets by partition; timeout in ms.

        Mirrors: org.apache.kafka.common.requests.DeleteRecordsRequest.Builder
        """

        def __init__(self, timeout: int, partition_offsets: dict[TopicPartition, int]) -> None:
            super().__init__(DeleteRecordsRequest(topics=_topics(partition_offsets), timeout=timeout))
            self._timeout = timeout
            self._partition_offsets = partition_offsets

        def __str__(self) -> str:
            return f"(type=DeleteRecordsRequest, timeout={self._timeout}, partitionOffsets=({self._partition_offsets}))"

    def partition_offsets(self) -> dict[TopicPartition, int]:
        """Where the logs are to start."""
        return {TopicPartition(t.topic, p.partition): p.offset for t in self.topics for p in t.partitions}


def _topics(partition_offsets: dict[TopicPartition, int]) -> list[DeleteRecordsRequest.Topic]:
    partition = DeleteRecordsRequest.Topic.Partition
    return [
        DeleteRecordsRequest.Topic(topic=topic, partitions=[partition(partition=p, offset=o) for p, o in found.items()])
        for topic, found in group_data_by_topic(partition_offsets).items()
    ]
