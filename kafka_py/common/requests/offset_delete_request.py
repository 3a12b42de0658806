"""Forget a group's offsets.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetDeleteRequest.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class OffsetDeleteRequest(RequestMessage, key=ApiKeys.OFFSET_DELETE, latest=0):
    """A group and partitions.

    Mirrors: org.apache.kafka.common.requests.OffsetDeleteRequest @ 2.5.1
    """

    class Topic(Message):
        """Partitions of a topic."""

        class Partition(Message):
            """A partition."""

            partition_index: int = field(INT32)

        name: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    group_id: str = field(STRING)
    topics: list[Topic] = field(ListOf(Topic))
