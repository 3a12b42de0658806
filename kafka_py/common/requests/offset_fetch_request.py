"""How far has a group read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetFetchRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class OffsetFetchRequest(RequestMessage, key=ApiKeys.OFFSET_FETCH, latest=7, flexible=6):
    """Partitions of a group; None, from version 2 on, asks for all.

    Mirrors: org.apache.kafka.common.requests.OffsetFetchRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"responses": "topics", "partition_responses": "partitions"}

    class Topic(Message):
        """Partitions of a topic."""

        class Partition(Message, bare=True):
            """A partition."""

            partition: int = field(INT32)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    group_id: str = field(STRING)
    topics: list[Topic] | None = field(ListOf(Topic), nullable=2)
    require_stable: bool = field(BOOLEAN, "Whether to wait for transactions under way", since=7, default=False)

    def answered(self) -> Mapping[str, str]:
        """Versions 0 and 1 have no place for an error but the partitions."""
        return self.ANSWERED if self._version < 2 else {}
