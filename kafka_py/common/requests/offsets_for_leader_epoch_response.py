"""Where leader epochs end in the leader's log.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetsForLeaderEpochResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, STRING
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class OffsetsForLeaderEpochResponse(ResponseMessage, key=ApiKeys.OFFSET_FOR_LEADER_EPOCH, latest=3):
    """The end offset of an epoch by partition.

    Mirrors: org.apache.kafka.common.requests.OffsetsForLeaderEpochResponse
    """

    class Topic(Message):
        """The answers for a topic."""

        class Partition(ErrorEntry):
            """The answer for a partition."""

            error_code: int = field(INT16)
            partition: int = field(INT32)
            leader_epoch: int = field(INT32, "The epoch that the offset ends", since=1, default=-1)
            end_offset: int = field(INT64, "The first offset behind the epoch", default=-1)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, since=2, default=0)
    topics: list[Topic] = field(ListOf(Topic))

    def __init__(self, epochs_by_topic: dict[TopicPartition, EpochEndOffset]) -> None:
        self.throttle_time_ms = 0
        self.topics = [
            self.Topic(
                topic=topic,
                partitions=[
                    self.Topic.Partition(
                        error_code=end.error().code,
                        partition=partition,
                        leader_epoch=end.leader_epoch(),
                        end_offset=end.end_offset(),
                    )
                    for partition, end in ends.items()
                ],
            )
            for topic, ends in group_data_by_topic(epochs_by_topic).items()
        ]

    def responses(self) -> dict[TopicPartition, EpochEndOffset]:
        """The end offsets."""
        return {
            TopicPartition(t.topic, p.partition): EpochEndOffset(p.error, p.end_offset, p.leader_epoch)
            for t in self.topics
            for p in t.partitions
        }
