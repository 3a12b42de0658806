"""Where the logs start now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
LOW_WATERMARK_KEY_NAME = "low_watermark"

DELETE_RECORDS_RESPONSE_PARTITION_V0 = Schema(
    PARTITION_ID, Field(LOW_WATERMARK_KEY_NAME, INT64, "The smallest log start offset of all replicas"), ERROR_CODE
)

DELETE_RECORDS_RESPONSE_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(DELETE_RECORDS_RESPONSE_PARTITION_V0), "The partitions")
)

DELETE_RECORDS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(TOPICS_KEY_NAME, ArrayOf(DELETE_RECORDS_RESPONSE_TOPIC_V0), "The topics")
)


class DeleteRecordsResponse(AbstractResponse):
    """The low watermark by partition: the smallest log start offset of its live replicas.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsResponse
    """

    __slots__ = ("_responses", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_RECORDS
    INVALID_LOW_WATERMARK: ClassVar[int] = -1

    class PartitionResponse:
        """What became of a partition; a DeleteRecords that waits fills it in later.

        Mirrors: org.apache.kafka.common.requests.DeleteRecordsResponse.PartitionResponse
        """

        __slots__ = ("error", "low_watermark")

        def __init__(self, low_watermark: int, error: Errors) -> None:
            self.low_watermark = low_watermark
            self.error = error

        def __str__(self) -> str:
            return f"{{low_watermark: {self.low_watermark},error: {self.error}}}"

        __repr__ = __str__

    def __init__(self, throttle_time_ms: int, responses: dict[TopicPartition, PartitionResponse]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._responses = responses

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_RECORDS_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> DeleteRecordsResponse:
        responses = {
            TopicPartition(topic.get(TOPIC_NAME), partition.get(PARTITION_ID)): cls.PartitionResponse(
                partition.get(LOW_WATERMARK_KEY_NAME), Errors.for_code(partition.get(ERROR_CODE))
            )
            for topic in struct.get(TOPICS_KEY_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME)
        }
        return cls(struct.get(THROTTLE_TIME_MS), responses)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.DELETE_RECORDS.response_schema(version))
        topics = []
        for topic, responses in group_data_by_topic(self._responses).items():
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            partitions = []
            for partition, response in responses.items():
                one = entry.instance(PARTITIONS_KEY_NAME).set(PARTITION_ID, partition)
                one.set(LOW_WATERMARK_KEY_NAME, response.low_watermark).set(ERROR_CODE, response.error.code)
                partitions.append(one)
            topics.append(entry.set(PARTITIONS_KEY_NAME, partitions))
        return result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(TOPICS_KEY_NAME, topics)

    def responses(self) -> dict[TopicPartition, PartitionResponse]:
        """What became of each partition."""
        return self._responses

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(response.error for response in self._responses.values())
