"""Which offset a timestamp has.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListOffsetResponse.java @ 1.1.1 (fields up to 2.5.1)
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


class ListOffsetResponse(ResponseMessage, key=ApiKeys.LIST_OFFSETS, latest=5):
    """Offset and timestamp by partition.

    Mirrors: org.apache.kafka.common.requests.ListOffsetResponse
    """

    UNKNOWN_TIMESTAMP: ClassVar[int] = -1
    UNKNOWN_OFFSET: ClassVar[int] = -1

    class Topic(Message):
        """The answers for a topic."""

        class PartitionData(ErrorEntry):
            """The answer for a partition: ``offsets`` in version 0, timestamp and offset from version 1 on.

            Mirrors: org.apache.kafka.common.requests.ListOffsetResponse.PartitionData
            Differs: knows its partition as soon as it is part of a response.
            """

            partition: int = field(INT32)
            error_code: int = field(INT16)
            offsets: list[int] = field(ListOf(INT64), until=0, default_factory=list)
            timestamp: int = field(INT64, since=1, default=-1)
            offset: int = field(INT64, since=1, default=-1)
            leader_epoch: int = field(INT32, since=4, default=-1)

            def __init__(
                self,
                error: Errors,
                timestamp: int = -1,
                offset: int = -1,
                offsets: list[int] | None = None,
                leader_epoch: int = -1,
            ) -> None:
                self.partition = -1  # volatile: whoever makes the response of it
                self.error_code = error.code
                self.offsets = offsets or []
                self.timestamp = timestamp
                self.offset = offset
                self.leader_epoch = leader_epoch

        topic: str = field(STRING)
        partition_responses: list[PartitionData] = field(ListOf(PartitionData))

    PartitionData: TypeAlias = Topic.PartitionData  # type: ignore[misc]  # an alias, not a field

    throttle_time_ms: int = field(INT32, since=2, default=0)
    responses: list[Topic] = field(ListOf(Topic))

    def __init__(self, throttle_time_ms: int, response_data: dict[TopicPartition, PartitionData]) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = []
        for topic, partitions in group_data_by_topic(response_data).items():
            for partition, data in partitions.items():
                assert data.partition in (-1, partition)  # one answer cannot serve two
                data.partition = partition
            self.responses.append(self.Topic(topic=topic, partition_responses=list(partitions.values())))

    def response_data(self) -> dict[TopicPartition, PartitionData]:
        """The answers by partition."""
        return {TopicPartition(t.topic, p.partition): p for t in self.responses for p in t.partition_responses}
