"""A transaction is about to write to these partitions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, STRING
from kafka_py.common.requests.request_message import RequestMessage


class AddPartitionsToTxnRequest(RequestMessage, key=ApiKeys.ADD_PARTITIONS_TO_TXN, latest=1):
    """Producer and partitions.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"errors": "topics", "partition_errors": "partitions"}

    class Topic(Message):
        """Partitions of a topic."""

        topic: str = field(STRING)
        partitions: list[int] = field(ListOf(INT32))

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64, "The producer id that the transactional id has now")
    producer_epoch: int = field(INT16)
    topics: list[Topic] = field(ListOf(Topic))
