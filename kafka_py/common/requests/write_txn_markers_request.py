"""Write the markers that end transactions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.topic_partition import TopicPartition


class TxnMarkerEntry(NamedTuple):
    """The end of one transaction, and the partitions to write it to.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersRequest.TxnMarkerEntry
    Left out: toString, equals, hashCode -- a NamedTuple's own
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    transaction_result: TransactionResult
    partitions: tuple[TopicPartition, ...]


class WriteTxnMarkersRequest(RequestMessage, key=ApiKeys.WRITE_TXN_MARKERS, latest=0):
    """Producer, result and partitions of each transaction.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {
        "transaction_markers": "transaction_markers",
        "topics": "topics",
        "partitions": "partitions",
    }

    class Marker(Message):
        """The end of a transaction."""

        class Topic(Message):
            """Partitions of a topic."""

            topic: str = field(STRING)
            partitions: list[int] = field(ListOf(INT32))

        producer_id: int = field(INT64)
        producer_epoch: int = field(INT16)
        transaction_result: bool = field(BOOLEAN, "Whether to commit")
        topics: list[Topic] = field(ListOf(Topic))
        coordinator_epoch: int = field(INT32, "The epoch of the transaction's coordinator")

    transaction_markers: list[Marker] = field(ListOf(Marker))

    @staticmethod
    def of(markers: Iterable[TxnMarkerEntry]) -> WriteTxnMarkersRequest:
        """The request that asks for these markers."""
        made = []
        for entry in markers:
            topics: dict[str, list[int]] = {}
            for topic, partition in entry.partitions:
                topics.setdefault(topic, []).append(partition)
            made.append(
                WriteTxnMarkersRequest.Marker(
                    producer_id=entry.producer_id,
                    producer_epoch=entry.producer_epoch,
                    transaction_result=entry.transaction_result.id,
                    topics=[
                        WriteTxnMarkersRequest.Marker.Topic(topic=topic, partitions=partitions)
                        for topic, partitions in topics.items()
                    ],
                    coordinator_epoch=entry.coordinator_epoch,
                )
            )
        return WriteTxnMarkersRequest(transaction_markers=made)

    def markers(self) -> list[TxnMarkerEntry]:
        """The markers asked for."""
        return [
            TxnMarkerEntry(
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                TransactionResult.for_id(marker.transaction_result),
                tuple(
                    TopicPartition(topic.topic, partition) for topic in marker.topics for partition in topic.partitions
                ),
            )
            for marker in self.transaction_markers
        ]
