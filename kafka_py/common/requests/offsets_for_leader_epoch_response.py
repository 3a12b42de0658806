"""Where leader epochs end in the leader's log.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetsForLeaderEpochResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
END_OFFSET_KEY_NAME = "end_offset"

OFFSET_FOR_LEADER_EPOCH_RESPONSE_PARTITION_V0 = Schema(
    ERROR_CODE, PARTITION_ID, Field(END_OFFSET_KEY_NAME, INT64, "The first offset behind the epoch")
)

OFFSET_FOR_LEADER_EPOCH_RESPONSE_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_FOR_LEADER_EPOCH_RESPONSE_PARTITION_V0), "The partitions")
)

OFFSET_FOR_LEADER_EPOCH_RESPONSE_V0 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_FOR_LEADER_EPOCH_RESPONSE_TOPIC_V0), "The topics")
)


class OffsetsForLeaderEpochResponse(AbstractResponse):
    """The end offset of an epoch by partition.

    Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochResponse
    """

    __slots__ = ("_epoch_end_offsets_by_partition",)

    API_KEY: ClassVar[ApiKeys] = ApiKeys.OFFSET_FOR_LEADER_EPOCH

    def __init__(self, epochs_by_topic: dict[TopicPartition, EpochEndOffset]) -> None:
        self._epoch_end_offsets_by_partition = epochs_by_topic

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [OFFSET_FOR_LEADER_EPOCH_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> OffsetsForLeaderEpochResponse:
        end_offsets = {
            TopicPartition(topic.get(TOPIC_NAME), partition.get(PARTITION_ID)): EpochEndOffset(
                Errors.for_code(partition.get(ERROR_CODE)), partition.get(END_OFFSET_KEY_NAME)
            )
            for topic in struct.get(TOPICS_KEY_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME)
        }
        return cls(end_offsets)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.OFFSET_FOR_LEADER_EPOCH.response_schema(version))
        topics = []
        for topic, partitions in group_data_by_topic(self._epoch_end_offsets_by_partition).items():
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            parts = []
            for partition, end in partitions.items():
                part = entry.instance(PARTITIONS_KEY_NAME).set(ERROR_CODE, end.error().code)
                parts.append(part.set(PARTITION_ID, partition).set(END_OFFSET_KEY_NAME, end.end_offset()))
            topics.append(entry.set(PARTITIONS_KEY_NAME, parts))
        return result.set(TOPICS_KEY_NAME, topics)

    def responses(self) -> dict[TopicPartition, EpochEndOffset]:
        """The end offsets."""
        return self._epoch_end_offsets_by_partition

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(end.error() for end in self._epoch_end_offsets_by_partition.values())
