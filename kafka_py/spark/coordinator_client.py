"""Asks the coordinators of groups and transactions, wherever they are just now.

Mirrors: org.apache.kafka.clients.consumer.internals.AbstractCoordinator @ 1.1.1 (only how the coordinator is found, and
    found again)
Read next: broker_client.py; transactions.py and options.py, which ask
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kafka_py.common.errors import ConcurrentTransactionsException
from kafka_py.common.node import Node
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.broker_client import PASSING, BrokerClient, ClientSettings

T = TypeVar("T")
CoordinatorType = FindCoordinatorRequest.CoordinatorType
_PAUSE_MS = 100
_FIRST_VERSION_WITH_ALL = 2


class Committed(NamedTuple):
    """What a group has committed for a partition: an offset, and a text beside it."""

    offset: int
    text: str


class CoordinatorClient:
    """Finds the coordinator of a group or a transactional id, and again when it has moved.

    Thread: the one that made it
    """

    def __init__(
        self, client: ClientSettings | BrokerClient, max_block_ms: int = 60_000, time: Time = Time.SYSTEM
    ) -> None:
        """``max_block_ms``: how long a question may wait for a coordinator. Connects when something is asked."""
        self._client = BrokerClient(client, time) if isinstance(client, ClientSettings) else client
        self._max_block_ms = max_block_ms
        self._time = time
        self._coordinators: dict[tuple[int, str], Node] = {}

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def ask(self, kind: CoordinatorType, key: str, request: AbstractRequest.Builder) -> AbstractResponse:
        """The coordinator's answer. Raises OSError, and RetriableException while there is no coordinator."""
        known = self._coordinators.get((kind.id, key))
        if known is None:
            found = self._client.ask_any(FindCoordinatorRequest.Builder(kind, key))
            assert isinstance(found, FindCoordinatorResponse)
            found.error().maybe_throw()
            known = self._coordinators[kind.id, key] = found.node()
        return self._client.ask(known, request)

    def until_it_passes(self, ask: Callable[[], T]) -> T:
        """What is asked, again and again for up to max_block_ms while the failure may pass. Raises the last one."""
        deadline = self._time.milliseconds() + self._max_block_ms
        while True:
            try:
                return ask()
            except (*PASSING, ConcurrentTransactionsException) as e:
                if self._time.milliseconds() >= deadline:
                    raise
                if not isinstance(e, ConcurrentTransactionsException):
                    self._coordinators.clear()  # it may have moved
                self._time.sleep(_PAUSE_MS)

    def committed(self, group: str) -> dict[TopicPartition, Committed]:
        """All that a group has committed; nothing for one that nobody knows."""
        request = RequestMessage.Builder(OffsetFetchRequest(group_id=group, topics=None), _FIRST_VERSION_WITH_ALL)

        def ask() -> dict[TopicPartition, Committed]:
            response = self.ask(CoordinatorType.GROUP, group, request)
            assert isinstance(response, OffsetFetchResponse)
            response.error().maybe_throw()
            return {
                TopicPartition(topic.topic, entry.partition): Committed(entry.offset, entry.metadata or "")
                for topic in response.responses
                for entry in topic.partition_responses
                if entry.offset >= 0
            }

        return self.until_it_passes(ask)
