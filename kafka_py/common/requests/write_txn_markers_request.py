"""Write the markers that end transactions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage


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
