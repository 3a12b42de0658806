"""Which offset a timestamp has.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListOffsetResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

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

RESPONSES_KEY_NAME = "responses"
PARTITIONS_KEY_NAME = "partition_responses"
OFFSETS_KEY_NAME = "offsets"
TIMESTAMP_KEY_NAME = "timestamp"
OFFSET_KEY_NAME = "offset"

LIST_OFFSET_RESPONSE_PARTITION_V0 = Schema(
    PARTITION_ID, ERROR_CODE, Field(OFFSETS_KEY_NAME, ArrayOf(INT64), "The offsets found")
)

LIST_OFFSET_RESPONSE_PARTITION_V1 = Schema(
    PARTITION_ID,
    ERROR_CODE,
    Field(TIMESTAMP_KEY_NAME, INT64, "The timestamp to look for; -1 the end, -2 the start"),
    Field(OFFSET_KEY_NAME, INT64, "The offset found"),
)

LIST_OFFSET_RESPONSE_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(LIST_OFFSET_RESPONSE_PARTITION_V0))
)

LIST_OFFSET_RESPONSE_TOPIC_V1 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(LIST_OFFSET_RESPONSE_PARTITION_V1))
)

LIST_OFFSET_RESPONSE_V0 = Schema(Field(RESPONSES_KEY_NAME, ArrayOf(LIST_OFFSET_RESPONSE_TOPIC_V0)))

LIST_OFFSET_RESPONSE_V1 = Schema(Field(RESPONSES_KEY_NAME, ArrayOf(LIST_OFFSET_RESPONSE_TOPIC_V1)))

LIST_OFFSET_RESPONSE_V2 = Schema(THROTTLE_TIME_MS, Field(RESPONSES_KEY_NAME, ArrayOf(LIST_OFFSET_RESPONSE_TOPIC_V1)))


class ListOffsetResponse(AbstractResponse):
    """Offset and timestamp by partition.

    Mirrors: org.apache.kafka.common.requests.ListOffsetResponse
    """

    __slots__ = ("_response_data", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LIST_OFFSETS
    UNKNOWN_TIMESTAMP: ClassVar[int] = -1
    UNKNOWN_OFFSET: ClassVar[int] = -1

    class PartitionData(NamedTuple):
        """The answer for a partition: ``offsets`` in version 0, timestamp and offset from version 1 on.

        Mirrors: org.apache.kafka.common.requests.ListOffsetResponse.PartitionData
        """

        error: Errors
        timestamp: int | None = None
        offset: int | None = None
        offsets: list[int] | None = None

        def __str__(self) -> str:
            offsets = "null" if self.offsets is None else f"[{','.join(map(str, self.offsets))}]"
            return (
                f"PartitionData{{errorCode: {self.error.code}, timestamp: {_show(self.timestamp)}, "
                f"offset: {_show(self.offset)}, offsets: {offsets}}}"
            )

    def __init__(self, throttle_time_ms: int, response_data: dict[TopicPartition, PartitionData]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._response_data = response_data

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LIST_OFFSET_RESPONSE_V0, LIST_OFFSET_RESPONSE_V1, LIST_OFFSET_RESPONSE_V2]

    @classmethod
    def from_struct(cls, struct: Struct) -> ListOffsetResponse:
        response_data = {}
        for topic in struct.get(RESPONSES_KEY_NAME):
            name = topic.get(TOPIC_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME):
                error = Errors.for_code(partition.get(ERROR_CODE))
                if partition.has_field(OFFSETS_KEY_NAME):
                    data = cls.PartitionData(error, offsets=partition.get(OFFSETS_KEY_NAME))
                else:
                    data = cls.PartitionData(error, partition.get(TIMESTAMP_KEY_NAME), partition.get(OFFSET_KEY_NAME))
                response_data[TopicPartition(name, partition.get(PARTITION_ID))] = data
        return cls(struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME), response_data)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.LIST_OFFSETS.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        topics = []
        for topic, partitions in group_data_by_topic(self._response_data).items():
            entry = result.instance(RESPONSES_KEY_NAME).set(TOPIC_NAME, topic)
            parts = []
            for partition, data in partitions.items():
                part = entry.instance(PARTITIONS_KEY_NAME)
                part.set(PARTITION_ID, partition).set(ERROR_CODE, data.error.code)
                if version == 0:
                    part.set(OFFSETS_KEY_NAME, data.offsets)
                else:
                    part.set(TIMESTAMP_KEY_NAME, data.timestamp).set(OFFSET_KEY_NAME, data.offset)
                parts.append(part)
            topics.append(entry.set(PARTITIONS_KEY_NAME, parts))
        return result.set(RESPONSES_KEY_NAME, topics)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def response_data(self) -> dict[TopicPartition, PartitionData]:
        """The answers."""
        return self._response_data

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(data.error for data in self._response_data.values())

    def __str__(self) -> str:
        return f"(type=ListOffsetResponse, throttleTimeMs={self._throttle_time_ms}, responseData={self._response_data})"


def _show(value: int | None) -> str:
    return "null" if value is None else str(value)
