"""Which partitions the stopping broker still leads.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ControlledShutdownResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Set

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition


class ControlledShutdownResponse(ResponseMessage, ErrorCoded, key=ApiKeys.CONTROLLED_SHUTDOWN, latest=3, flexible=3):
    """The partitions whose leadership could not be moved; empty when the broker may stop.

    Mirrors: org.apache.kafka.common.requests.ControlledShutdownResponse
    """

    class Partition(Message):
        """A partition that the broker still leads."""

        topic: str = field(STRING)
        partition: int = field(INT32)

    error_code: int = field(INT16)
    remaining_entries: list[Partition] = field(ListOf(Partition), wire="partitions_remaining", default_factory=list)

    def __init__(self, error: Errors, partitions_remaining: Set[TopicPartition]) -> None:
        self.error_code = error.code
        self.remaining_entries = [self.Partition(topic=tp.topic, partition=tp.partition) for tp in partitions_remaining]

    def partitions_remaining(self) -> set[TopicPartition]:
        """The partitions that the broker still leads."""
        return {TopicPartition(entry.topic, entry.partition) for entry in self.remaining_entries}
