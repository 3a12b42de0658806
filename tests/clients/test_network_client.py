"""NetworkClient: connect, send, match answers, time out; on a selector that does what the test says."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.clients.node_api_versions import NodeApiVersions
from kafka_py.common.errors import (
    AuthenticationException,
    DisconnectException,
    IllegalStateException,
    SaslAuthenticationException,
    UnsupportedVersionException,
)
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.network.send import Send
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.response_header import ResponseHeader
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time
from kafka_py.testing.mock_time import MockTime

NODE = Node(0, "localhost", 9092)


class FakeReceive:
    def __init__(self, source: str, payload: bytes) -> None:
        self._source, self._payload = source, payload

    def source(self) -> str:
        return self._source

    def payload(self) -> memoryview:
        return memoryview(self._payload)


class MockSelector(Selectable):
    """Connects and sends at once; answers what `answers` holds."""

    def __init__(self, time: MockTime) -> None:
        self.time = time
        self.initiated: list[str] = []
        self._connected: list[str] = []
        self._completed_sends: list[Send] = []
        self._receives: list[FakeReceive] = []
        self._disconnected: dict[str, ChannelState] = {}
        self.closed: list[str | None] = []
        self.to_receive: list[FakeReceive] = []
        self.to_disconnect: dict[str, ChannelState] = {}
        self.refuse = False
        self.sent: list[Send] = []
        self.unfinished = False
        self.poll_timeouts: list[int] = []

    def connect(self, id: str, address: tuple[str, int], send_buffer_size: int, receive_buffer_size: int) -> None:
        if self.refuse:
            raise OSError("injected")
        self.initiated.append(id)

    def wakeup(self) -> None:
        self.woken = True

    def close(self, id: str | None = None) -> None:
        self.closed.append(id)

    def send(self, send: Send) -> None:
        cast("MockSend", send).done = not self.unfinished
        self.sent.append(send)

    def poll(self, timeout: int) -> None:
        self.poll_timeouts.append(timeout)
        self._connected, self.initiated = self.initiated, []
        self._completed_sends, self.sent = self.sent, []
        self._receives, self.to_receive = self.to_receive, []
        self._disconnected, self.to_disconnect = self.to_disconnect, {}
        if not (self._connected or self._completed_sends or self._receives or self._disconnected):
            self.time.sleep(timeout)

    def completed_sends(self) -> list[Send]:
        return self._completed_sends

    def completed_receives(self) -> list[NetworkReceive]:
        return cast("list[NetworkReceive]", self._receives)

    def disconnected(self) -> dict[str, ChannelState]:
        return self._disconnected

    def connected(self) -> list[str]:
        return self._connected

    def mute(self, id: str) -> None:
        raise AssertionError

    unmute = mute

    def mute_all(self) -> None:
        raise AssertionError

    unmute_all = mute_all

    def is_channel_ready(self, id: str) -> bool:
        return True


class MockSend:
    """Stands for the bytes; `done` once the selector has taken them."""

    def __init__(self, destination: str, request: object, header: RequestHeader) -> None:
        self._destination, self.request, self.header, self.done = destination, request, header, False

    def destination(self) -> str:
        return self._destination

    def completed(self) -> bool:
        return self.done


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def selector(mock_time: MockTime, monkeypatch: pytest.MonkeyPatch) -> MockSelector:
    from kafka_py.common.requests.abstract_request import AbstractRequest

    monkeypatch.setattr(AbstractRequest, "to_send", lambda self, dest, header: MockSend(dest, self, header))
    return MockSelector(mock_time)


def new_client(
    selector: Selectable, time: Time, discover: bool = False, max_in_flight: int = 100, backoff: int = 10_000
) -> NetworkClient:
    return NetworkClient(
        selector,
        ManualMetadataUpdater([NODE]),
        "mock",
        max_in_flight,
        backoff,
        10 * 10_000 if backoff else 0,
        64 * 1024,
        64 * 1024,
        1000,
        time,
        discover,
        ApiVersions(),
    )


@pytest.fixture
def client(selector: MockSelector, mock_time: MockTime) -> NetworkClient:
    return new_client(selector, mock_time)


def await_ready(client: NetworkClient, time: MockTime) -> None:
    while not client.ready(NODE, time.milliseconds()):
        client.poll(1, time.milliseconds())


def builder() -> ApiVersionsRequest.Builder:
    return ApiVersionsRequest.Builder(0)


def answer(correlation_id: int, version: int = 0, error: Errors = Errors.NONE) -> bytes:
    body = ApiVersionsResponse(0, error, [ApiVersionsResponse.ApiVersion(k.id, 0, 1) for k in ApiKeys.values()])
    return body.serialize(version, ResponseHeader(correlation_id))


@pytest.mark.ported("NetworkClientTest.testSendToUnreadyNode")
def test_a_request_to_a_node_that_is_not_ready_is_refused(client: NetworkClient, mock_time: MockTime) -> None:
    request = client.new_client_request("5", builder(), mock_time.milliseconds(), False)
    with pytest.raises(IllegalStateException, match="node 5 which is not ready"):
        client.send(request, mock_time.milliseconds())
    with pytest.raises(ValueError, match="Cannot connect to empty node"):
        client.ready(Node.no_node(), 0)


def test_a_client_that_is_to_close_wakes_up_and_works_no_more(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True)

    def close_meanwhile(timeout: int) -> None:
        selector.__class__.poll(selector, timeout)
        client.initiate_close()

    selector.poll = close_meanwhile  # type: ignore[method-assign]
    with pytest.raises(OSError, match="Client was shutdown before response was read"):
        NetworkClientUtils.send_and_receive(client, request, mock_time)
    assert selector.woken
    assert not client.active()
    assert len(selector.poll_timeouts) == 2  # one of await_ready
    with pytest.raises(DisconnectException, match="no longer active, state is CLOSING"):
        client.poll(1, mock_time.milliseconds())
    with pytest.raises(DisconnectException):
        client.send(request, mock_time.milliseconds())
    client.close()
    assert selector.closed == [None]
    client.initiate_close()
    with pytest.raises(DisconnectException, match="state is CLOSED"):
        client.poll(1, mock_time.milliseconds())


@pytest.mark.ported("NetworkClientTest.testReadyAndDisconnect")
def test_connecting_begins_with_ready_and_ends_with_a_disconnect(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    assert not client.ready(NODE, mock_time.milliseconds())
    client.poll(1, mock_time.milliseconds())
    assert client.is_ready(NODE, mock_time.milliseconds())
    assert client.has_ready_nodes()
    selector.to_disconnect["0"] = ChannelState.READY
    client.poll(1, mock_time.milliseconds())
    assert not client.is_ready(NODE, mock_time.milliseconds())
    assert client.connection_failed(NODE)


@pytest.mark.ported("NetworkClientTest.testSimpleRequestResponse")
def test_the_answer_is_matched_with_its_request(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    heard: list[ClientResponse] = []
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True, heard.append)
    client.send(request, mock_time.milliseconds())
    assert client.poll(1, mock_time.milliseconds()) == []
    assert (client.in_flight_request_count(), client.in_flight_request_count("0")) == (1, 1)
    assert client.has_in_flight_requests("0")
    mock_time.sleep(5)
    selector.to_receive.append(FakeReceive("0", answer(request.correlation_id())))
    (response,) = client.poll(1, mock_time.milliseconds())
    assert heard == [response]
    assert response.has_response()
    assert response.request_latency_ms() == 5
    assert response.request_header().correlation_id == request.correlation_id()
    body = response.response_body()
    assert isinstance(body, ApiVersionsResponse)
    assert body.error() is Errors.NONE
    assert not client.has_in_flight_requests()
    assert "correlationId=" in repr(response)


def test_an_answer_to_another_request_is_an_error(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True)
    client.send(request, mock_time.milliseconds())
    selector.to_receive.append(FakeReceive("0", answer(request.correlation_id() + 1)))
    with pytest.raises(IllegalStateException, match="does not match request"):
        client.poll(1, mock_time.milliseconds())


def test_a_request_without_an_answer_ends_with_its_send(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    one = client.new_client_request("0", builder(), mock_time.milliseconds(), False)
    two = client.new_client_request("0", builder(), mock_time.milliseconds(), True)
    three = client.new_client_request("0", builder(), mock_time.milliseconds(), False)
    for request in (one, two, three):
        client.send(request, mock_time.milliseconds())
    ended = client.poll(1, mock_time.milliseconds())
    assert [r.request_header().correlation_id for r in ended] == [one.correlation_id(), three.correlation_id()]
    assert client.in_flight_request_count() == 1


def test_no_more_than_the_maximum_is_in_flight(selector: MockSelector, mock_time: MockTime) -> None:
    client = new_client(selector, mock_time, max_in_flight=1)
    await_ready(client, mock_time)
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True)
    client.send(request, mock_time.milliseconds())
    assert not client.is_ready(NODE, mock_time.milliseconds())
    selector.to_receive.append(FakeReceive("0", answer(request.correlation_id())))
    client.poll(1, mock_time.milliseconds())
    assert client.is_ready(NODE, mock_time.milliseconds())
    selector.unfinished = True
    client.send(client.new_client_request("0", builder(), 0, True), mock_time.milliseconds())
    assert not client.is_ready(NODE, mock_time.milliseconds()), "the newest is not yet sent"


@pytest.mark.ported("NetworkClientTest.testRequestTimeout")
def test_a_node_that_does_not_answer_loses_its_connection(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True)
    client.send(request, mock_time.milliseconds())
    client.poll(1, mock_time.milliseconds())
    mock_time.sleep(1001)
    (response,) = client.poll(1, mock_time.milliseconds())
    assert response.was_disconnected()
    assert selector.closed == ["0"]
    assert not client.has_in_flight_requests()


@pytest.mark.ported("NetworkClientTest.testDisconnectDuringUserMetadataRequest", changes="any request")
def test_requests_of_a_lost_connection_end_as_disconnected(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    client.send(client.new_client_request("0", MetadataRequest.Builder.all_topics(), 0, True), mock_time.milliseconds())
    selector.to_disconnect["0"] = ChannelState.READY
    (response,) = client.poll(1, mock_time.milliseconds())
    assert response.was_disconnected()
    assert not response.has_response()


@pytest.mark.ported("NetworkClientTest.testConnectionDelayDisconnected")
def test_the_backoff_after_a_disconnect(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    assert client.connection_delay(NODE, mock_time.milliseconds()) == 0
    await_ready(client, mock_time)
    assert client.connection_delay(NODE, mock_time.milliseconds()) == LONG_MAX
    selector.to_disconnect["0"] = ChannelState.READY
    client.poll(1, mock_time.milliseconds())
    delay = client.connection_delay(NODE, mock_time.milliseconds())
    assert 8_000 <= delay <= 12_000
    assert not client.can_connect(NODE, mock_time.milliseconds())
    mock_time.sleep(delay)
    assert client.can_connect(NODE, mock_time.milliseconds())
    client.ready(NODE, mock_time.milliseconds())
    selector.to_disconnect["0"] = ChannelState.NOT_CONNECTED
    selector.initiated.clear()
    client.poll(1, mock_time.milliseconds())
    assert 16_000 <= client.connection_delay(NODE, mock_time.milliseconds()) <= 24_000, "doubled"


def test_a_connect_that_fails_at_once(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    selector.refuse = True
    assert not client.ready(NODE, mock_time.milliseconds())
    assert client.connection_failed(NODE)


@pytest.mark.ported("NetworkClientTest.testClose")
def test_close_forgets_the_requests_of_a_node(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    client.send(client.new_client_request("0", builder(), mock_time.milliseconds(), True), mock_time.milliseconds())
    client.close("0")
    assert not client.has_in_flight_requests("0")
    assert not client.is_ready(NODE, mock_time.milliseconds())
    assert client.poll(1, mock_time.milliseconds()) == [], "the finished send of a closed connection is nobody's"
    client.close()
    assert selector.closed == ["0", None]


@pytest.mark.ported("NetworkClientTest.testCallDisconnect")
def test_disconnect_ends_requests_with_the_next_poll(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    await_ready(client, mock_time)
    client.send(client.new_client_request("0", builder(), mock_time.milliseconds(), True), mock_time.milliseconds())
    client.disconnect("0")
    assert client.connection_failed(NODE)
    client.disconnect("0")  # once more changes nothing
    (response,) = client.poll(1, mock_time.milliseconds())
    assert response.was_disconnected()


@pytest.mark.ported("NetworkClientTest.testLeastLoadedNode")
def test_the_least_loaded_node(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    assert client.least_loaded_node(mock_time.milliseconds()) == NODE
    await_ready(client, mock_time)
    assert client.least_loaded_node(mock_time.milliseconds()) == NODE
    selector.to_disconnect["0"] = ChannelState.READY
    client.poll(1, mock_time.milliseconds())
    assert client.least_loaded_node(mock_time.milliseconds()) is None


def test_a_callbacks_fault_is_logged_and_forgotten(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(response: ClientResponse) -> None:
        raise RuntimeError("injected")

    lines: list[str] = []
    monkeypatch.setattr(client, "error", lambda msg, *args, exc=None: lines.append(f"{msg} {exc}"))
    await_ready(client, mock_time)
    client.send(client.new_client_request("0", builder(), 0, False, fail), mock_time.milliseconds())
    assert len(client.poll(1, mock_time.milliseconds())) == 1
    assert lines == ["Uncaught error in request completion: injected"]


@pytest.mark.ported("NetworkClientTest.testSimpleRequestResponse / ApiVersions handling")
def test_versions_are_asked_for_first(selector: MockSelector, mock_time: MockTime) -> None:
    client = new_client(selector, mock_time, discover=True)
    assert client.discover_broker_versions()
    client.ready(NODE, mock_time.milliseconds())
    client.poll(1, mock_time.milliseconds())
    assert not client.is_ready(NODE, mock_time.milliseconds())
    (send,) = cast("list[MockSend]", selector.sent)
    assert isinstance(send.request, ApiVersionsRequest)
    correlation_id = send.header.correlation_id
    # the broker does not know this version: ask again with version 0
    selector.to_receive.append(
        FakeReceive("0", answer(correlation_id, send.header.api_version, Errors.UNSUPPORTED_VERSION))
    )
    client.poll(1, mock_time.milliseconds())
    (send,) = cast("list[MockSend]", selector.sent)
    assert send.header.api_version == 0
    selector.to_receive.append(FakeReceive("0", answer(send.header.correlation_id)))
    client.poll(1, mock_time.milliseconds())
    assert client.is_ready(NODE, mock_time.milliseconds())
    # and now the versions count: METADATA goes with version 1, the highest of both
    client.send(client.new_client_request("0", MetadataRequest.Builder.all_topics(), 0, True), mock_time.milliseconds())
    (send,) = cast("list[MockSend]", selector.sent)
    assert send.header.api_version == 1


def test_an_error_instead_of_versions_disconnects(selector: MockSelector, mock_time: MockTime) -> None:
    client = new_client(selector, mock_time, discover=True)
    client.ready(NODE, mock_time.milliseconds())
    client.poll(1, mock_time.milliseconds())
    (send,) = cast("list[MockSend]", selector.sent)
    payload = answer(send.header.correlation_id, send.header.api_version, Errors.INVALID_REQUEST)
    selector.to_receive.append(FakeReceive("0", payload))
    client.poll(1, mock_time.milliseconds())
    assert selector.closed == ["0"]
    assert client.connection_failed(NODE)


@pytest.mark.ported("NetworkClientTest.testUnsupportedVersionDuringInternalMetadataRequest", changes="a user's request")
def test_a_request_the_node_does_not_know_ends_unsent(selector: MockSelector, mock_time: MockTime) -> None:
    client = new_client(selector, mock_time)
    await_ready(client, mock_time)
    too_old = ApiVersionsResponse.ApiVersion(ApiKeys.METADATA.id, 100, 101)
    client._api_versions.update("0", NodeApiVersions.create([too_old]))
    client.send(client.new_client_request("0", MetadataRequest.Builder.all_topics(), 0, True), mock_time.milliseconds())
    assert selector.sent == []
    (response,) = client.poll(1, mock_time.milliseconds())
    assert isinstance(response.version_mismatch(), UnsupportedVersionException)


def test_an_authentication_failure_is_kept_for_the_node(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime
) -> None:
    client.ready(NODE, mock_time.milliseconds())
    failure = SaslAuthenticationException("injected")
    selector.initiated.clear()
    selector.to_disconnect["0"] = ChannelState(ChannelState.State.AUTHENTICATION_FAILED, failure)
    client.poll(1, mock_time.milliseconds())
    assert client.authentication_exception(NODE) is failure
    assert client.connection_failed(NODE)


# ---- NetworkClientUtils


def test_await_ready(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    assert NetworkClientUtils.await_ready(client, NODE, mock_time, 1000)
    with pytest.raises(ValueError, match="Timeout"):
        NetworkClientUtils.await_ready(client, NODE, mock_time, -1)


def test_await_ready_of_a_node_that_refuses(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    selector.refuse = True
    with pytest.raises(OSError, match="Connection to localhost:9092"):
        NetworkClientUtils.await_ready(client, NODE, mock_time, 1000)


def test_await_ready_gives_up_in_time(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    start = mock_time.milliseconds()
    client.ready(NODE, start)
    selector.initiated.clear()  # the connect never completes
    assert not NetworkClientUtils.await_ready(client, NODE, mock_time, 500)
    assert 500 <= mock_time.milliseconds() - start <= 1500


def test_await_ready_passes_an_authentication_failure_on(
    client: NetworkClient, selector: MockSelector, mock_time: MockTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.ready(NODE, mock_time.milliseconds())
    selector.initiated.clear()
    NetworkClientUtils.is_ready(client, NODE, mock_time.milliseconds())
    failed = ChannelState(ChannelState.State.AUTHENTICATION_FAILED, AuthenticationException("injected"))
    monkeypatch.setattr(NetworkClientUtils, "is_ready", staticmethod(lambda *args: False))
    selector.to_disconnect["0"] = failed
    with pytest.raises(AuthenticationException, match="injected"):
        NetworkClientUtils.await_ready(client, NODE, mock_time, 500)


def test_send_and_receive_without_an_answer(client: NetworkClient, selector: MockSelector, mock_time: MockTime) -> None:
    await_ready(client, mock_time)
    request = client.new_client_request("0", builder(), mock_time.milliseconds(), True)
    with pytest.raises(OSError, match="was disconnected before the response was read"):
        NetworkClientUtils.send_and_receive(client, request, mock_time)


# ---- on real sockets


@pytest.fixture
def broker() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def serve_one(server: socket.socket, seen: list[RequestHeader]) -> None:
    connection, _ = server.accept()
    with connection:
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        header = RequestHeader.parse(connection.recv(size, socket.MSG_WAITALL))
        seen.append(header)
        payload = answer(header.correlation_id)
        connection.sendall(struct.pack(">i", len(payload)) + payload)
        connection.recv(1)  # until the client closes


def test_one_round_trip_on_a_real_selector(broker: socket.socket) -> None:
    seen: list[RequestHeader] = []
    thread = threading.Thread(target=serve_one, args=(broker, seen))
    thread.start()
    node = Node(3, *broker.getsockname())
    metrics = Metrics()
    selector = Selector(
        NetworkReceive.UNLIMITED,
        Selector.NO_IDLE_TIMEOUT_MS,
        metrics,
        Time.SYSTEM,
        "test",
        {},
        ChannelBuilders.client_channel_builder(SecurityProtocol.PLAINTEXT),
        metrics_per_connection=False,
    )
    client = new_client(selector, Time.SYSTEM, max_in_flight=1, backoff=0)
    try:
        assert NetworkClientUtils.await_ready(client, node, Time.SYSTEM, 5_000)
        request = client.new_client_request("3", builder(), Time.SYSTEM.milliseconds(), True)
        response = NetworkClientUtils.send_and_receive(client, request, Time.SYSTEM)
        body = response.response_body()
        assert isinstance(body, ApiVersionsResponse)
        assert seen[0].client_id == "mock"
        assert seen[0].api_key is ApiKeys.API_VERSIONS
    finally:
        client.close()
        thread.join()
        metrics.close()
