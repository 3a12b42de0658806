"""Requests about groups and transactions that no client sends: each is answered, nothing breaks, nobody else notices.

They are well-formed, and what stands in their fields was thrown by dice: names of internal topics, of nothing and of
too much, the largest and the smallest numbers, members and producers that never were.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ListOf
from kafka_py.common.requests.join_group_request import JoinGroupRequest
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.server.kafka_apis import KafkaApis
from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.canary import Canary
from tests.integration.clients import create_topic
from tests.integration.test_groups import filled_topic, read_confluent
from tests.integration.test_transactions import producer_of, will_read, write
from tests.integration.wire import Connection

pytestmark = pytest.mark.slow

REQUESTS = 2000
GROUPS = (
    ApiKeys.OFFSET_COMMIT, ApiKeys.OFFSET_FETCH, ApiKeys.FIND_COORDINATOR, ApiKeys.JOIN_GROUP, ApiKeys.HEARTBEAT,
    ApiKeys.LEAVE_GROUP, ApiKeys.SYNC_GROUP, ApiKeys.DESCRIBE_GROUPS, ApiKeys.LIST_GROUPS, ApiKeys.DELETE_GROUPS,
    ApiKeys.OFFSET_DELETE,
)  # fmt: skip
TRANSACTIONS = (
    ApiKeys.INIT_PRODUCER_ID, ApiKeys.ADD_PARTITIONS_TO_TXN, ApiKeys.ADD_OFFSETS_TO_TXN, ApiKeys.END_TXN,
    ApiKeys.TXN_OFFSET_COMMIT, ApiKeys.WRITE_TXN_MARKERS,
)  # fmt: skip
# As in Kafka: a batch with such ids cannot be made, and no path in ZooKeeper of such names.
MAY_FAIL = {ApiKeys.WRITE_TXN_MARKERS, ApiKeys.TXN_OFFSET_COMMIT, ApiKeys.OFFSET_COMMIT, ApiKeys.OFFSET_FETCH}
STRINGS = ("", "dice", "x", "consumer", "range", "__consumer_offsets", "__transaction_state", "a" * 300, "ü", "../x")
NUMBERS = (-5, -1, -1, 0, 0, 1, 2, 1000)


class Dice:
    """Throws requests of some APIs, at any version that is served."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._of: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("STRING", lambda: self._random.choice(STRINGS)),
            ("BYTES", lambda: self._random.choice((b"", b"abc", bytes(50)))),
            ("BOOL", lambda: self._random.random() < 0.5),
            ("INT8", lambda: self._random.choice((0, 0, 1, 1, -1))),
            ("INT16", lambda: self._number(15)),
            ("INT32", lambda: self._number(31)),
            ("INT64", lambda: self._number(63)),
        )

    def _number(self, bits: int) -> int:
        return self._random.choice((*NUMBERS, -(1 << bits), (1 << bits) - 1))

    def _value(self, kind: Any) -> Any:
        if isinstance(kind, ListOf):
            return [self._value(kind.element) for _ in range(self._random.choice((0, 1, 1, 2, 3)))]
        if isinstance(kind, type):
            return self._message(kind)
        text = str(kind).upper()
        if "NULLABLE" in text and self._random.random() < 0.2:
            return None
        return next(throw for name, throw in self._of if name in text)()

    def _message(self, kind: Any) -> Any:
        made = kind.blank()
        for spec in kind.FIELDS:
            setattr(made, spec.name, self._value(spec.type))
        return made

    def request(self, keys: tuple[ApiKeys, ...]) -> Any:
        key = self._random.choice(keys)
        handler = KafkaApis.HANDLERS[key]
        request = self._message(key.request_class())
        request._version = self._random.randint(handler.min_version, handler.max_version)
        if isinstance(request, JoinGroupRequest):  # or it waits for minutes
            request.session_timeout, request.rebalance_timeout = self._random.choice((0, 500)), 200
        return request


def call(connection: Connection, request: Any) -> Any:
    """The response; None when the broker has closed instead."""
    key, version = request.API_KEY, request.version()
    message = bytes(request.serialize(RequestHeader(key, version, "dice", 1)))
    connection.send(struct.pack(">i", len(message)) + message)
    answer = connection.receive()
    if answer is None:
        return None
    response_class = key.response_class()
    flexible = version >= response_class.FLEXIBLE
    return response_class.parse(memoryview(bytearray(answer))[5 if flexible else 4 :], version)


@pytest.fixture(scope="module")
def served(embedded_cluster: LocalCluster) -> LocalCluster:
    """A broker whose coordinators are at work."""
    address = embedded_cluster.bootstrap_servers
    read_confluent(address, "before", filled_topic(address))
    producer_of(address, "before")
    create_topic(address, "dice", partitions=2)
    return embedded_cluster


@pytest.mark.parametrize("keys", [GROUPS, TRANSACTIONS], ids=["groups", "transactions"])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_asked_is_answered(
    served: LocalCluster, canary: Canary, keys: tuple[ApiKeys, ...], seed: int
) -> None:
    dice = Dice(seed)
    left = REQUESTS
    while left:
        with Connection(served.brokers[0]) as connection:
            left -= until_it_is_closed(connection, dice, keys, left)
    canary.beat()


def until_it_is_closed(connection: Connection, dice: Dice, keys: tuple[ApiKeys, ...], count: int) -> int:
    """How many requests were sent: `count`, or less when one of them had the connection closed."""
    for n in range(1, count + 1):
        request = dice.request(keys)
        response = call(connection, request)
        if response is None:
            assert request.API_KEY is ApiKeys.FIND_COORDINATOR, f"closed after {request}"  # of an unknown kind
            return n
        if Errors.UNKNOWN_SERVER_ERROR in response.error_counts():
            assert request.API_KEY in MAY_FAIL, f"{request} -> {response}"
    return count


def test_groups_and_transactions_go_on(served: LocalCluster, canary: Canary) -> None:
    address = served.bootstrap_servers
    topic = filled_topic(address)
    read_confluent(address, topic, topic)
    target = create_topic(address, f"{topic}-out")
    producer = producer_of(address, "before")
    producer.begin_transaction()
    write(producer, target, b"yes")
    producer.commit_transaction(30)
    will_read(address, target, b"yes")
