"""Which partitions are being moved.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListPartitionReassignmentsRequest.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class ListPartitionReassignmentsRequest(RequestMessage, key=ApiKeys.LIST_PARTITION_REASSIGNMENTS, latest=0, flexible=0):
    """Partitions, None for all.

    Mirrors: org.apache.kafka.common.requests.ListPartitionReassignmentsRequest @ 2.5.1
    """

    class Topic(Message):
        """Partitions of a topic."""

        name: str = field(STRING)
        partition_indexes: list[int] = field(ListOf(INT32))

    timeout_ms: int = field(INT32, "How long to wait, in ms", default=60000)
    topics: list[Topic] | None = field(ListOf(Topic), "None for all", nullable=0, default=None)
