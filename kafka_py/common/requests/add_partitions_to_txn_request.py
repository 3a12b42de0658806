"""A transaction is about to write to these partitions; between brokers: does it, as far as its coordinator knows?

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnRequest.java @ 1.1.1
         (fields up to 3.7.1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition


class AddPartitionsToTxnTopic(Message):
    """Partitions of a topic."""

    topic: str = field(STRING)
    partitions: list[int] = field(ListOf(INT32))


class AddPartitionsToTxnTransaction(Message):
    """One transaction of several."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    verify_only: bool = field(BOOLEAN, "Whether to look if the partitions belong to it, and to add none", default=False)
    topics: list[AddPartitionsToTxnTopic] = field(ListOf(AddPartitionsToTxnTopic))

    def partitions(self) -> list[TopicPartition]:
        """The partitions that are named."""
        return [TopicPartition(topic.topic, partition) for topic in self.topics for partition in topic.partitions]


class AddPartitionsToTxnRequest(RequestMessage, key=ApiKeys.ADD_PARTITIONS_TO_TXN, latest=4, flexible=3):
    """Producer and partitions, up to version 3; in version 4, which brokers send to brokers, several transactions.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"errors": "topics", "partition_errors": "partitions"}
    LAST_CLIENT_VERSION: ClassVar[int] = 3
    LAST_BROKER_VERSION: ClassVar[int] = 4

    class Builder(RequestMessage.Builder):
        """Of a client's request, or of a broker's.

        Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnRequest.Builder
        """

        def __init__(
            self,
            request: AddPartitionsToTxnRequest,
            oldest_allowed_version: int = 0,
            latest_allowed_version: int = 1,
        ) -> None:
            super().__init__(request, oldest_allowed_version, latest_allowed_version)

        @classmethod
        def for_broker(cls, transactions: Iterable[AddPartitionsToTxnTransaction]) -> AddPartitionsToTxnRequest.Builder:
            """Of several transactions, for a broker that knows version 4."""
            version = AddPartitionsToTxnRequest.LAST_BROKER_VERSION
            return cls(AddPartitionsToTxnRequest(transactions=list(transactions)), version, version)

    Topic = AddPartitionsToTxnTopic

    transactions: list[AddPartitionsToTxnTransaction] = field(
        ListOf(AddPartitionsToTxnTransaction), since=4, default_factory=list
    )
    transactional_id: str = field(STRING, until=3, default="")
    producer_id: int = field(INT64, "The producer id that the transactional id has now", until=3, default=0)
    producer_epoch: int = field(INT16, until=3, default=0)
    topics: list[AddPartitionsToTxnTopic] = field(ListOf(AddPartitionsToTxnTopic), until=3, default_factory=list)

    def answered(self) -> Mapping[str, str]:
        """From version 4 on there is an error for all."""
        return self.ANSWERED if self._version <= self.LAST_CLIENT_VERSION else {}
