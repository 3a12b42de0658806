"""Where does a leader epoch end in the leader's log.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetsForLeaderEpochRequest.java @ 1.1.1
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
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
LEADER_EPOCH = "leader_epoch"

OFFSET_FOR_LEADER_EPOCH_REQUEST_PARTITION_V0 = Schema(PARTITION_ID, Field(LEADER_EPOCH, INT32, "The leader's epoch"))

OFFSET_FOR_LEADER_EPOCH_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_FOR_LEADER_EPOCH_REQUEST_PARTITION_V0), "The partitions")
)

OFFSET_FOR_LEADER_EPOCH_REQUEST_V0 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_FOR_LEADER_EPOCH_REQUEST_TOPIC_V0), "The topics")
)


class OffsetsForLeaderEpochRequest(AbstractRequest):
    """A leader epoch by partition, as a follower knows it.

    Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest
    """

    __slots__ = ("_epochs_by_partition",)

    API_KEY: ClassVar[ApiKeys] = ApiKeys.OFFSET_FOR_LEADER_EPOCH

    class Builder(AbstractRequest.Builder):
        """Collects partitions.

        Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochRequest.Builder
        """

        def __init__(self, epochs_by_partition: dict[TopicPartition, int] | None = None) -> None:
            super().__init__(ApiKeys.OFFSET_FOR_LEADER_EPOCH)
            self._epochs_by_partition = {} if epochs_by_partition is None else epochs_by_partition

        def add(self, topic_partition: TopicPartition, epoch: int) -> OffsetsForLeaderEpochRequest.Builder:
            """Ask for one more partition."""
            self._epochs_by_partition[topic_partition] = epoch
            return self

        def build(self, version: int | None = None) -> OffsetsForLeaderEpochRequest:
            return OffsetsForLeaderEpochRequest(self._version_or_latest(version), self._epochs_by_partition)

        def __str__(self) -> str:
            return f"(type=OffsetForLeaderEpochRequest, epochsByTopic={self._epochs_by_partition})"

    def __init__(self, version: int, epochs_by_partition: dict[TopicPartition, int]) -> None:
        super().__init__(version)
        self._epochs_by_partition = epochs_by_partition

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [OFFSET_FOR_LEADER_EPOCH_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> OffsetsForLeaderEpochRequest:
        epochs = {
            TopicPartition(topic.get(TOPIC_NAME), partition.get(PARTITION_ID)): partition.get(LEADER_EPOCH)
            for topic in struct.get(TOPICS_KEY_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME)
        }
        return cls(version, epochs)

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.OFFSET_FOR_LEADER_EPOCH.request_schema(self._version))
        topics = []
        for topic, partitions in group_data_by_topic(self._epochs_by_partition).items():
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            parts = [
                entry.instance(PARTITIONS_KEY_NAME).set(PARTITION_ID, partition).set(LEADER_EPOCH, epoch)
                for partition, epoch in partitions.items()
            ]
            topics.append(entry.set(PARTITIONS_KEY_NAME, parts))
        return result.set(TOPICS_KEY_NAME, topics)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> OffsetsForLeaderEpochResponse:
        end_offset = EpochEndOffset(Errors.for_exception(e), EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
        return OffsetsForLeaderEpochResponse(dict.fromkeys(self._epochs_by_partition, end_offset))

    def epochs_by_topic_partition(self) -> dict[TopicPartition, int]:
        """The epochs asked for."""
        return self._epochs_by_partition
