"""Elect leaders for these partitions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ElectLeadersRequest.java @ 2.5.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT8, INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class ElectLeadersRequest(RequestMessage, key=ApiKeys.ELECT_LEADERS, latest=2, flexible=2):
    """Partitions, and whether their preferred replica or any may lead.

    Mirrors: org.apache.kafka.common.requests.ElectLeadersRequest @ 2.5.1
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {
        "replica_election_results": "topic_partitions",
        "partition_results": "partition_ids",
    }

    class TopicPartitions(Message):
        """Partitions of a topic."""

        topic: str = field(STRING)
        partition_ids: list[int] = field(ListOf(INT32))

    election_type: int = field(INT8, "0 the preferred leader, 1 any replica", since=1, default=0)
    topic_partitions: list[TopicPartitions] | None = field(ListOf(TopicPartitions), "None for all", nullable=0)
    timeout_ms: int = field(INT32, "How long to wait, in ms", default=60000)
