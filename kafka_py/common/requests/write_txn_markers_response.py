"""Which markers were written.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersResponse.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition


class WriteTxnMarkersResponse(ResponseMessage, key=ApiKeys.WRITE_TXN_MARKERS, latest=0):
    """An error by producer and partition.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersResponse
    """

    class Marker(Message):
        """The errors of a transaction."""

        class Topic(Message):
            """The errors of a topic."""

            class Partition(ErrorEntry):
                """What became of a partition."""

                partition: int = field(INT32)
                error_code: int = field(INT16)

            topic: str = field(STRING)
            partitions: list[Partition] = field(ListOf(Partition))

        producer_id: int = field(INT64)
        topics: list[Topic] = field(ListOf(Topic))

    transaction_markers: list[Marker] = field(ListOf(Marker))

    @staticmethod
    def of(errors: Mapping[int, Mapping[TopicPartition, Errors]]) -> WriteTxnMarkersResponse:
        """The response that says these errors, by producer id and partition."""
        marker_class = WriteTxnMarkersResponse.Marker
        made = []
        for producer_id, by_partition in errors.items():
            topics: dict[str, list[WriteTxnMarkersResponse.Marker.Topic.Partition]] = {}
            for (topic, partition), error in by_partition.items():
                entry = marker_class.Topic.Partition(partition=partition, error_code=error.code)
                topics.setdefault(topic, []).append(entry)
            made.append(
                marker_class(
                    producer_id=producer_id,
                    topics=[marker_class.Topic(topic=topic, partitions=entries) for topic, entries in topics.items()],
                )
            )
        return WriteTxnMarkersResponse(transaction_markers=made)

    def errors(self, producer_id: int) -> dict[TopicPartition, Errors] | None:
        """What became of each partition of a producer's markers; None if the producer is not named."""
        found: dict[TopicPartition, Errors] | None = None
        for marker in self.transaction_markers:
            if marker.producer_id == producer_id:
                found = {} if found is None else found
                for topic in marker.topics:
                    found.update({TopicPartition(topic.topic, p.partition): p.error for p in topic.partitions})
        return found
