"""A transaction stores how far a group has read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/TxnOffsetCommitRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class TxnOffsetCommitRequest(RequestMessage, key=ApiKeys.TXN_OFFSET_COMMIT, latest=3, flexible=3):
    """Producer, group, and offsets by partition.

    Mirrors: org.apache.kafka.common.requests.TxnOffsetCommitRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"topics": "topics", "partitions": "partitions"}

    class Topic(Message):
        """Partitions of a topic."""

        class Partition(Message):
            """How far a partition was read."""

            partition: int = field(INT32)
            offset: int = field(INT64)
            leader_epoch: int = field(INT32, since=2, default=-1)
            metadata: str | None = field(NULLABLE_STRING, "The text kept beside the offset")

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    transactional_id: str = field(STRING)
    group_id: str = field(STRING)
    producer_id: int = field(INT64, "The producer id that the transactional id has now")
    producer_epoch: int = field(INT16)
    generation_id: int = field(INT32, since=3, default=-1)
    member_id: str = field(STRING, since=3, default="")
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    topics: list[Topic] = field(ListOf(Topic))
