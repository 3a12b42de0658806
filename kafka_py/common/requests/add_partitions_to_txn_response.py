"""Whether the partitions belong to the transaction now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnResponse.java @ 1.1.1
         (fields up to 3.7.1)
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition


class AddPartitionsToTxnTopicResult(Message):
    """The errors of a topic."""

    class Partition(ErrorEntry):
        """What became of a partition."""

        partition: int = field(INT32)
        error_code: int = field(INT16)

    topic: str = field(STRING)
    partition_errors: list[Partition] = field(ListOf(Partition))


class AddPartitionsToTxnResult(Message):
    """The errors of one transaction of several."""

    transactional_id: str = field(STRING)
    topic_results: list[AddPartitionsToTxnTopicResult] = field(ListOf(AddPartitionsToTxnTopicResult))

    @staticmethod
    def of(transactional_id: str, errors: Mapping[TopicPartition, Errors]) -> AddPartitionsToTxnResult:
        """The result that says these errors."""
        topics: dict[str, list[AddPartitionsToTxnTopicResult.Partition]] = {}
        for (topic, partition), error in errors.items():
            entry = AddPartitionsToTxnTopicResult.Partition(partition=partition, error_code=error.code)
            topics.setdefault(topic, []).append(entry)
        return AddPartitionsToTxnResult(
            transactional_id=transactional_id,
            topic_results=[
                AddPartitionsToTxnTopicResult(topic=topic, partition_errors=entries)
                for topic, entries in topics.items()
            ],
        )

    def errors(self) -> dict[TopicPartition, Errors]:
        """What became of each partition."""
        return {
            TopicPartition(topic.topic, entry.partition): entry.error
            for topic in self.topic_results
            for entry in topic.partition_errors
        }


class AddPartitionsToTxnResponse(ResponseMessage, key=ApiKeys.ADD_PARTITIONS_TO_TXN, latest=4, flexible=3):
    """An error by partition; in version 4 for all, and by transaction and partition.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnResponse
    """

    Topic = AddPartitionsToTxnTopicResult

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, since=4, default=0)
    results_by_transaction: list[AddPartitionsToTxnResult] = field(
        ListOf(AddPartitionsToTxnResult), since=4, default_factory=list
    )
    errors: list[AddPartitionsToTxnTopicResult] = field(
        ListOf(AddPartitionsToTxnTopicResult), until=3, default_factory=list
    )

    def add_error_codes(self, codes: list[int]) -> None:
        """The error of the whole counts only where it is on the wire: an answer by topics is of a version without."""
        if self.errors:
            for topic in self.errors:
                topic.add_error_codes(codes)
        else:
            super().add_error_codes(codes)
