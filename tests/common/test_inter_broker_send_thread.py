"""The thread that sends requests to other brokers, turn by turn on the test's own thread."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from kafka_py.clients.client_request import ClientRequest
from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.clients.kafka_client import KafkaClient
from kafka_py.common.errors import AuthenticationException, DisconnectException
from kafka_py.common.inter_broker_send_thread import InterBrokerSendThread, RequestAndCompletionHandler
from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.node import Node
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.utils.exit import Exit
from kafka_py.testing.mock_time import MockTime

NODE = Node(1, "localhost", 8080)
OTHER = Node(2, "localhost", 8081)
REQUEST_TIMEOUT_MS = 1000


class FakeClient:
    """A network client whose nodes are ready, or failed, as the test says."""

    def __init__(self) -> None:
        self.ready_nodes: set[Node] = set()
        self.failed_nodes: set[Node] = set()
        self.refusals: dict[Node, AuthenticationException] = {}
        self.delay = 0
        self.sent: list[ClientRequest] = []
        self.polls: list[int] = []
        self.poll_error: BaseException | None = None
        self.closing = threading.Event()
        self.closed = 0
        self.wakeups = 0

    def new_client_request(
        self, node_id: str, builder: AbstractRequest.Builder, created: int, expect_response: bool, callback: object
    ) -> ClientRequest:
        assert expect_response
        return ClientRequest(node_id, builder, 7, "client", created, True, cast("Recorder", callback))

    def ready(self, node: Node, now: int) -> bool:
        return node in self.ready_nodes

    def send(self, request: ClientRequest, now: int) -> None:
        self.sent.append(request)

    def poll(self, timeout: int, now: int) -> list[ClientResponse]:
        self.polls.append(timeout)
        if self.poll_error is not None:
            raise self.poll_error
        return []

    def connection_delay(self, node: Node, now: int) -> int:
        return self.delay

    def connection_failed(self, node: Node) -> bool:
        return node in self.failed_nodes

    def authentication_exception(self, node: Node) -> AuthenticationException | None:
        return self.refusals.get(node)

    def wakeup(self) -> None:
        self.wakeups += 1

    def initiate_close(self) -> None:
        self.closing.set()

    def close(self, node_id: str | None = None) -> None:
        self.closed += 1


class Recorder:
    """A completion handler that keeps what it is told."""

    def __init__(self) -> None:
        self.responses: list[ClientResponse] = []

    def __call__(self, response: ClientResponse) -> None:
        self.responses.append(response)

    @property
    def disconnected(self) -> list[bool]:
        return [response.was_disconnected() for response in self.responses]


class SendThread(InterBrokerSendThread):
    """Has the requests that the test gave it."""

    def __init__(self, client: FakeClient, time: MockTime, requests: list[RequestAndCompletionHandler]) -> None:
        super().__init__("name", cast("KafkaClient", client), time)
        self.requests = requests

    def generate_requests(self) -> list[RequestAndCompletionHandler]:
        requests, self.requests = self.requests, []
        return requests

    @property
    def unsent_expiry_ms(self) -> int:
        return REQUEST_TIMEOUT_MS


def end_txn() -> EndTxnRequest.Builder:
    return EndTxnRequest.Builder(
        EndTxnRequest(transactional_id="t", producer_id=1, producer_epoch=0, transaction_result=True)
    )


@pytest.fixture
def time() -> MockTime:
    return MockTime()


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.mark.ported("InterBrokerSendThreadTest.shouldNotSendAnythingWhenNoRequests")
def test_without_requests_it_only_polls(client: FakeClient, time: MockTime) -> None:
    SendThread(client, time, []).do_work()
    assert client.polls == [LONG_MAX]
    assert client.sent == []


@pytest.mark.ported("InterBrokerSendThreadTest.shouldCreateClientRequestAndSendWhenNodeIsReady")
def test_a_ready_node_gets_its_requests(client: FakeClient, time: MockTime) -> None:
    handler, builders = Recorder(), [end_txn(), end_txn()]
    client.ready_nodes = {NODE}
    thread = SendThread(client, time, [RequestAndCompletionHandler(NODE, builder, handler) for builder in builders])
    thread.do_work()
    assert [request.request_builder() for request in client.sent] == builders
    assert client.sent[0].destination() == "1"
    assert client.sent[0].created_time_ms() == time.milliseconds()
    assert client.polls == [LONG_MAX]
    assert not thread.has_unsent_requests
    assert handler.responses == []


@pytest.mark.ported("InterBrokerSendThreadTest.shouldCallCompletionHandlerWithDisconnectedResponseWhenNodeNotReady")
@pytest.mark.parametrize("refused", [False, True])
def test_a_failed_connection_ends_what_was_not_sent(client: FakeClient, time: MockTime, refused: bool) -> None:
    handler = Recorder()
    client.failed_nodes = {NODE}
    if refused:
        client.refusals[NODE] = AuthenticationException("no")
    thread = SendThread(client, time, [RequestAndCompletionHandler(NODE, end_txn(), handler) for _ in range(2)])
    thread.do_work()
    assert client.polls == [0]
    assert handler.disconnected == [True, True]
    assert handler.responses[0].destination() == "1"
    assert not thread.has_unsent_requests


@pytest.mark.ported("InterBrokerSendThreadTest.testFailingExpiredRequests")
def test_what_waits_for_too_long_ends(client: FakeClient, time: MockTime) -> None:
    old, young, other = Recorder(), Recorder(), Recorder()
    client.delay = 50
    thread = SendThread(
        client,
        time,
        [RequestAndCompletionHandler(NODE, end_txn(), old), RequestAndCompletionHandler(NODE, end_txn(), old)],
    )
    thread.do_work()
    assert client.polls == [50]
    time.sleep(REQUEST_TIMEOUT_MS)
    thread.requests = [RequestAndCompletionHandler(NODE, end_txn(), young)]
    thread.do_work()
    assert old.responses == []  # not yet: more than the timeout
    time.sleep(1)
    thread.requests = [RequestAndCompletionHandler(OTHER, end_txn(), other)]
    thread.do_work()
    assert old.disconnected == [True, True]
    assert young.responses == other.responses == []
    assert thread.has_unsent_requests
    client.ready_nodes = {NODE, OTHER}
    thread.do_work()
    assert len(client.sent) == 2
    assert not thread.has_unsent_requests


def test_one_request_in_flight_keeps_the_next_until_the_node_is_ready_again(client: FakeClient, time: MockTime) -> None:
    handler = Recorder()
    client.ready_nodes, client.delay = {NODE}, LONG_MAX
    thread = SendThread(client, time, [RequestAndCompletionHandler(NODE, end_txn(), handler) for _ in range(2)])
    send = client.send

    def send_and_be_busy(request: ClientRequest, now: int) -> None:
        send(request, now)
        client.ready_nodes = set()

    client.send = send_and_be_busy  # type: ignore[method-assign]
    thread.do_work()
    assert len(client.sent) == 1
    assert thread.has_unsent_requests
    client.ready_nodes = {NODE}
    thread.do_work()
    assert len(client.sent) == 2


@pytest.mark.parametrize("where", ["poll", "requests"])
def test_the_unforeseen_ends_the_process(client: FakeClient, time: MockTime, where: str) -> None:
    thread = SendThread(client, time, [])
    if where == "poll":
        client.poll_error = DisconnectException("not asked for")
    else:
        thread.requests = cast("list[RequestAndCompletionHandler]", None)
    with pytest.raises(FatalExitError):
        thread.do_work()


def test_a_shutdown_ends_the_poll_and_closes_the_client(client: FakeClient, time: MockTime) -> None:
    polling = threading.Event()

    def poll(timeout: int, now: int) -> list[ClientResponse]:
        polling.set()
        client.closing.wait(10)
        raise DisconnectException("closing")

    client.poll = poll  # type: ignore[method-assign]
    exits: list[int] = []
    Exit.set_exit_procedure(lambda status, _: exits.append(status))
    try:
        thread = SendThread(client, time, [])
        thread.start()
        assert polling.wait(10)
        thread.wakeup()
        thread.shutdown()
    finally:
        Exit.reset_exit_procedure()
    assert thread.is_shutdown_complete
    assert (client.wakeups, client.closed, exits) == (1, 1, [])


def test_a_thread_that_was_never_started_can_be_shut_down(client: FakeClient, time: MockTime) -> None:
    SendThread(client, time, []).shutdown()
    assert client.closed == 1
