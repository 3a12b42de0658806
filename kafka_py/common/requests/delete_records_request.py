"""Delete everything below these offsets.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32, INT64
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

TOPICS_KEY_NAME = "topics"
TIMEOUT_KEY_NAME = "timeout"
PARTITIONS_KEY_NAME = "partitions"
OFFSET_KEY_NAME = "offset"

DELETE_RECORDS_REQUEST_PARTITION_V0 = Schema(
    PARTITION_ID, Field(OFFSET_KEY_NAME, INT64, "Where the log is to start, -1 for the high watermark")
)

DELETE_RECORDS_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(DELETE_RECORDS_REQUEST_PARTITION_V0), "The partitions")
)

DELETE_RECORDS_REQUEST_V0 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(DELETE_RECORDS_REQUEST_TOPIC_V0), "The topics"),
    Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms"),
)


class DeleteRecordsRequest(AbstractRequest):
    """An offset by partition; HIGH_WATERMARK deletes everything that is committed.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsRequest
    """

    __slots__ = ("_partition_offsets", "_timeout")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_RECORDS
    HIGH_WATERMARK: ClassVar[int] = -1

    class Builder(AbstractRequest.Builder):
        """Offsets by partition; timeout in ms.

        Mirrors: org.apache.kafka.common.requests.DeleteRecordsRequest.Builder
        """

        def __init__(self, timeout: int, partition_offsets: dict[TopicPartition, int]) -> None:
            super().__init__(ApiKeys.DELETE_RECORDS)
            self._timeout = timeout
            self._partition_offsets = partition_offsets

        def build(self, version: int | None = None) -> DeleteRecordsRequest:
            return DeleteRecordsRequest(self._timeout, self._partition_offsets, self._version_or_latest(version))

        def __str__(self) -> str:
            return f"(type=DeleteRecordsRequest, timeout={self._timeout}, partitionOffsets=({self._partition_offsets}))"

    def __init__(self, timeout: int, partition_offsets: dict[TopicPartition, int], version: int) -> None:
        super().__init__(version)
        self._timeout = timeout
        self._partition_offsets = partition_offsets

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_RECORDS_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> DeleteRecordsRequest:
        partition_offsets = {
            TopicPartition(topic.get(TOPIC_NAME), partition.get(PARTITION_ID)): partition.get(OFFSET_KEY_NAME)
            for topic in struct.get(TOPICS_KEY_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME)
        }
        return cls(struct.get(TIMEOUT_KEY_NAME), partition_offsets, version)

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.DELETE_RECORDS.request_schema(self._version))
        topics = []
        for topic, offsets in group_data_by_topic(self._partition_offsets).items():
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            partitions = [
                entry.instance(PARTITIONS_KEY_NAME).set(PARTITION_ID, partition).set(OFFSET_KEY_NAME, offset)
                for partition, offset in offsets.items()
            ]
            topics.append(entry.set(PARTITIONS_KEY_NAME, partitions))
        return result.set(TOPICS_KEY_NAME, topics).set(TIMEOUT_KEY_NAME, self._timeout)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DeleteRecordsResponse:
        error = Errors.for_exception(e)
        response = DeleteRecordsResponse.PartitionResponse
        invalid = DeleteRecordsResponse.INVALID_LOW_WATERMARK
        return DeleteRecordsResponse(throttle_time_ms, {tp: response(invalid, error) for tp in self._partition_offsets})

    def timeout(self) -> int:
        """How long to wait for the replicas, in ms."""
        return self._timeout

    def partition_offsets(self) -> dict[TopicPartition, int]:
        """Where each partition is to start."""
        return self._partition_offsets
