"""Asking the coordinators of transactions whether partitions belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import pytest

from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.kafka_client import KafkaClient
from kafka_py.common.inter_broker_send_thread import RequestAndCompletionHandler
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_response import AddPartitionsToTxnResponse, AddPartitionsToTxnResult
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.testing.mock_time import MockTime

TP, TP2 = TopicPartition("foo", 1), TopicPartition("bar", 2)
HERE, NODE1, NODE2 = Node(0, "here", 9092), Node(1, "one", 9092), Node(2, "two", 9092)
NONE, FENCED = Errors.NONE, Errors.INVALID_PRODUCER_EPOCH


class Brokers:
    """A manager, the coordinators that it finds, and what it tells."""

    def __init__(self, protocol_version: str = "2.5-IV0") -> None:
        self.time = MockTime()
        self.coordinators: dict[str, Node | None] = {"one": NODE1, "two": NODE2, "here": HERE}
        self.local: dict[TopicPartition, Errors] = {}
        self.wakeups = 0
        self.answers: list[tuple[str, dict[TopicPartition, Errors]]] = []
        props = {"zookeeper.connect": "z", "broker.id": "0", "inter.broker.protocol.version": protocol_version}
        self.manager = AddPartitionsToTxnManager(
            KafkaConfig.from_props(props, do_log=False),
            cast("KafkaClient", self),
            cast("MetadataCache", self),
            self,
            self.time,
        )

    # as the client
    def wakeup(self) -> None:
        self.wakeups += 1

    def initiate_close(self) -> None:
        self.wakeups += 1

    def close(self) -> None:
        self.wakeups += 1

    # as the metadata cache
    def get_partition_leader_endpoint(self, topic: str, partition: int, listener_name: ListenerName) -> Node | None:
        assert (topic, listener_name) == ("__transaction_state", ListenerName("PLAINTEXT"))
        return list(self.coordinators.values())[partition]

    # as the coordinator
    def partition_for(self, transactional_id: str) -> int:
        return list(self.coordinators).index(transactional_id)

    def handle_verify_partitions_in_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        response_callback: Callable[[Mapping[TopicPartition, Errors]], None],
    ) -> None:
        assert (transactional_id, producer_id, producer_epoch) == ("here", 10, 0)
        response_callback({tp: self.local.get(tp, NONE) for tp in partitions})

    def ask(self, txn_id: str, epoch: int = 0, partitions: Sequence[TopicPartition] = (TP, TP2), as_: str = "") -> None:
        name = as_ or txn_id
        self.manager.verify_transaction(
            txn_id, 10, epoch, partitions, lambda errors: self.answers.append((name, errors))
        )

    def answer(self, request: RequestAndCompletionHandler, body: AddPartitionsToTxnResponse | None) -> None:
        header = RequestHeader(ApiKeys.ADD_PARTITIONS_TO_TXN, 4, "client", 1)
        request.handler(ClientResponse(header, None, "1", 0, 0, body is None, None, body))


def asked(request: RequestAndCompletionHandler) -> dict[str, tuple[int, list[TopicPartition]]]:
    built = cast("AddPartitionsToTxnRequest", request.request.build(request.request.latest_allowed_version()))
    assert built.version() == request.request.oldest_allowed_version() == 4
    assert all(transaction.verify_only for transaction in built.transactions)
    return {t.transactional_id: (t.producer_epoch, t.partitions()) for t in built.transactions}


def results(**by_transaction: dict[TopicPartition, Errors]) -> AddPartitionsToTxnResponse:
    made = [AddPartitionsToTxnResult.of(txn_id, errors) for txn_id, errors in by_transaction.items()]
    return AddPartitionsToTxnResponse(results_by_transaction=made)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    made = Brokers()
    yield made
    made.manager.shutdown()


@pytest.mark.ported("AddPartitionsToTxnManagerTest.testAddTxnData")
def test_of_two_questions_about_an_id_one_is_asked(brokers: Brokers) -> None:
    brokers.ask("one", 1, as_="first")
    brokers.ask("two", 1)
    brokers.ask("one", 1, as_="again")
    assert brokers.answers == [("first", dict.fromkeys((TP, TP2), Errors.NETWORK_EXCEPTION))]
    brokers.ask("one", 0, as_="older")
    brokers.ask("one", 2, as_="newer")
    assert brokers.answers[1:] == [
        ("older", dict.fromkeys((TP, TP2), FENCED)),
        ("again", dict.fromkeys((TP, TP2), FENCED)),
    ]
    assert brokers.manager.verification_failure_rate.count == 6
    one, two = brokers.manager.generate_requests()
    assert (asked(one), asked(two)) == ({"one": (2, [TP, TP2])}, {"two": (1, [TP, TP2])})


@pytest.mark.ported("AddPartitionsToTxnManagerTest.testGenerateRequests")
def test_a_coordinator_gets_one_request_at_a_time(brokers: Brokers) -> None:
    brokers.ask("one")
    brokers.ask("two")
    one, two = brokers.manager.generate_requests()
    assert (one.destination, two.destination) == (NODE1, NODE2)
    brokers.coordinators["two"] = NODE1
    brokers.ask("one", 1)
    brokers.ask("two", 1)
    assert brokers.manager.generate_requests() == []
    wakeups = brokers.wakeups
    brokers.answer(one, results(one={TP: NONE, TP2: NONE}))
    assert brokers.wakeups == wakeups + 1
    [both] = brokers.manager.generate_requests()
    assert asked(both) == {"one": (1, [TP, TP2]), "two": (1, [TP, TP2])}
    assert brokers.answers == [("one", {})]


@pytest.mark.ported("AddPartitionsToTxnManagerTest.testTransactionCoordinatorResolution")
@pytest.mark.parametrize("node", [None, Node.no_node()])
def test_without_a_coordinator_nothing_is_verified(brokers: Brokers, node: Node | None) -> None:
    brokers.coordinators["one"] = node
    brokers.ask("one")
    assert brokers.answers == [("one", dict.fromkeys((TP, TP2), Errors.COORDINATOR_NOT_AVAILABLE))]
    assert brokers.manager.generate_requests() == []


def test_the_brokers_own_coordinator_is_asked_without_a_request(brokers: Brokers) -> None:
    brokers.local = {TP2: Errors.INVALID_TXN_STATE}
    brokers.ask("here")
    assert brokers.answers == [("here", {TP2: Errors.INVALID_TXN_STATE})]
    assert brokers.manager.generate_requests() == []


def test_a_coordinator_that_cannot_be_asked_verifies_nothing() -> None:
    brokers = Brokers("1.1")
    try:
        brokers.ask("one")
        brokers.local = {TP: Errors.INVALID_TXN_STATE}
        brokers.ask("here")
        assert brokers.answers == [("one", {}), ("here", {TP: Errors.INVALID_TXN_STATE})]
        assert brokers.manager.generate_requests() == []
    finally:
        brokers.manager.shutdown()


@pytest.mark.ported("AddPartitionsToTxnManagerTest.testAddPartitionsToTxnHandlerErrorHandling")
@pytest.mark.parametrize(
    ("response", "error"),
    [
        (None, Errors.NETWORK_EXCEPTION),
        (AddPartitionsToTxnResponse(error_code=Errors.UNKNOWN_SERVER_ERROR.code), Errors.UNKNOWN_SERVER_ERROR),
        (AddPartitionsToTxnResponse(error_code=Errors.CLUSTER_AUTHORIZATION_FAILED.code), Errors.INVALID_TXN_STATE),
        (results(two={TP: NONE}), Errors.NETWORK_EXCEPTION),
    ],
)
def test_an_answer_that_verifies_nothing(
    brokers: Brokers, response: AddPartitionsToTxnResponse | None, error: Errors
) -> None:
    brokers.ask("one")
    [request] = brokers.manager.generate_requests()
    brokers.answer(request, response)
    assert brokers.answers == [("one", dict.fromkeys((TP, TP2), error))]


def test_the_partitions_that_are_not_verified(brokers: Brokers) -> None:
    brokers.coordinators["two"] = NODE1
    brokers.ask("one")
    brokers.ask("two")
    [request] = brokers.manager.generate_requests()
    brokers.answer(request, results(one={TP: NONE, TP2: FENCED}, two={TP: NONE, TP2: NONE}))
    assert brokers.answers == [("one", {TP2: FENCED}), ("two", {})]


@pytest.mark.ported("AddPartitionsToTxnManagerTest.testAddPartitionsToTxnManagerMetrics")
def test_metrics(brokers: Brokers) -> None:
    prefix = "kafka.server:type=AddPartitionsToTxnManager,name="
    names = {f"{prefix}VerificationFailureRate", f"{prefix}VerificationTimeMs"}
    registry = Metrics.default_registry()
    assert names <= {str(name) for name in registry.all_metrics()}
    brokers.ask("one")
    [request] = brokers.manager.generate_requests()
    brokers.time.sleep(30)
    brokers.answer(request, None)
    assert brokers.manager.verification_failure_rate.count == 2
    assert brokers.manager.verification_time_ms.max == 30
    brokers.manager.shutdown()
    assert not names & {str(name) for name in registry.all_metrics()}
