"""What LeaderAndIsr and StopReplica both answer.

Ours: the two classes of Kafka 1.1.1 differ in their names only.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition


class PartitionsResponse(ResponseMessage, ErrorCoded):
    """The error of the whole and of each partition."""

    class Partition(ErrorEntry):
        """What became of a partition."""

        topic: str = field(STRING)
        partition: int = field(INT32)
        error_code: int = field(INT16)

    error_code: int = field(INT16)
    partitions: list[Partition] = field(ListOf(Partition))

    def __init__(self, error: Errors, responses: Mapping[TopicPartition, Errors]) -> None:
        self.error_code = error.code
        self.partitions = [
            self.Partition(topic=tp.topic, partition=tp.partition, error_code=answer.code)
            for tp, answer in responses.items()
        ]

    def responses(self) -> dict[TopicPartition, Errors]:
        """The error of each partition."""
        return {TopicPartition(entry.topic, entry.partition): entry.error for entry in self.partitions}

    def error_counts(self) -> dict[Errors, int]:
        error = self.error()
        if error is not Errors.NONE:
            return {error: len(self.partitions)}  # then every partition failed with it
        return self.error_counts_of(entry.error for entry in self.partitions)

    def __str__(self) -> str:
        return f"{type(self).__name__}(responses={self.responses()}, error={self.error()})"
