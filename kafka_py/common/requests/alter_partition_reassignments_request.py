"""Move these partitions to other brokers, or no more.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterPartitionReassignmentsRequest.java @ 2.5.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class AlterPartitionReassignmentsRequest(
    RequestMessage, key=ApiKeys.ALTER_PARTITION_REASSIGNMENTS, latest=0, flexible=0
):
    """Replicas by partition.

    Mirrors: org.apache.kafka.common.requests.AlterPartitionReassignmentsRequest @ 2.5.1
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"responses": "topics", "partitions": "partitions"}

    class Topic(Message):
        """What to move of a topic."""

        class Partition(Message):
            """Where to move a partition."""

            partition_index: int = field(INT32)
            replicas: list[int] | None = field(ListOf(INT32), "None to cancel", nullable=0, default=None)

        name: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    timeout_ms: int = field(INT32, "How long to wait, in ms", default=60000)
    topics: list[Topic] = field(ListOf(Topic))
