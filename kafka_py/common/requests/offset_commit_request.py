"""A group stores how far it has read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetCommitRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, INT64, NULLABLE_STRING, STRING
from kafka_py.common.requests.request_message import RequestMessage


class OffsetCommitRequest(RequestMessage, key=ApiKeys.OFFSET_COMMIT, latest=8, flexible=8):
    """Offsets by partition of a group member.

    Mirrors: org.apache.kafka.common.requests.OffsetCommitRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"responses": "topics", "partition_responses": "partitions"}

    class Topic(Message):
        """The offsets of a topic."""

        class Partition(Message):
            """The offset of a partition."""

            partition: int = field(INT32)
            offset: int = field(INT64)
            leader_epoch: int = field(INT32, "The epoch of the last record read, -1 if not known", since=6, default=-1)
            timestamp: int = field(INT64, "When it was committed, -1 for now", since=1, until=1, default=-1)
            metadata: str | None = field(NULLABLE_STRING, "A text kept beside the offset")

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    group_id: str = field(STRING)
    generation_id: int = field(INT32, since=1, default=-1)
    member_id: str = field(STRING, since=1, default="")
    group_instance_id: str | None = field(NULLABLE_STRING, since=7, default=None)
    retention_time: int = field(
        INT64, "How long to keep the offsets, in ms, -1 for the broker's setting", since=2, until=4, default=-1
    )
    topics: list[Topic] = field(ListOf(Topic))
