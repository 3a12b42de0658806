"""Processors: one turn at a time, throttled channels, and errors in each of the seven steps."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.errors import KafkaException
from kafka_py.common.network.kafka_channel import ChannelMuteState
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.selector_support import CloseMode
from kafka_py.network.processor import Processor
from kafka_py.network.request_channel import SendResponse
from kafka_py.network.socket_server import SocketServer
from kafka_py.utils.control_throwable import ControlThrowable
from tests.network.socket_server_support import (
    ANSWER,
    Client,
    TestableSocketServer,
    acceptor_of,
    answer,
    answer_next,
    heartbeat,
    make,
    receive_request,
    stop,
    wait_until,
)


@pytest.fixture
def server() -> Iterator[SocketServer]:
    made = make()
    yield made
    stop(made)


@pytest.fixture
def testable() -> Iterator[TestableSocketServer]:
    made = make(TestableSocketServer)
    assert isinstance(made, TestableSocketServer)
    yield made
    stop(made)


def head(correlation_id: int = 77) -> bytes:
    return struct.pack(">i", correlation_id)


@pytest.mark.parametrize("no_op", [False, True])
@pytest.mark.parametrize("throttle_in_progress", [True, False])
@pytest.mark.ported("SocketServerTest.testSendActionResponseWithThrottledChannelWhereThrottlingInProgress")
def test_throttled_channel(server: SocketServer, no_op: bool, throttle_in_progress: bool) -> None:
    channel = server.data_plane_request_channel
    processor = server._data_plane_processors()[0]
    with Client(server) as client:
        heartbeat(client)
        request = receive_request(channel)
        id = request.context.connection_id

        def state() -> Any:
            found = processor.open_or_closing_channel(id)
            return None if found is None else found.mute_state()

        wait_until(lambda: state() is ChannelMuteState.MUTED_AND_RESPONSE_PENDING)
        channel.start_throttling(request)
        wait_until(lambda: state() is ChannelMuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING)
        if not throttle_in_progress:
            channel.end_throttling(request)
            wait_until(lambda: state() is ChannelMuteState.MUTED_AND_RESPONSE_PENDING)
        if no_op:
            channel.send_no_op_response(request)
        else:
            answer(channel, request)
            assert client.receive() == head() + ANSWER
        if throttle_in_progress:
            wait_until(lambda: state() is ChannelMuteState.MUTED_AND_THROTTLED)
            heartbeat(client)
            assert channel.receive_request(5) is None
            channel.end_throttling(request)
            receive_request(channel)
        wait_until(lambda: state() is not ChannelMuteState.MUTED_AND_THROTTLED)


def failing(testable: TestableSocketServer, operation: str, error: Exception) -> None:
    testable.testable_selector.fail_once[operation] = error


def verify_fine(testable: TestableSocketServer) -> None:
    with Client(testable) as client:
        heartbeat(client)
        answer_next(testable)
        assert client.receive() == head() + ANSWER
    wait_until(lambda: testable.connection_count("127.0.0.1") == 0)
    assert testable.processor.thread.is_alive()


@pytest.mark.ported("SocketServerTest.configureNewConnectionException")
def test_configure_new_connection_exception(testable: TestableSocketServer) -> None:
    failing(testable, "register", RuntimeError("test exception"))
    with Client(testable) as client:
        assert client.is_closed()
    verify_fine(testable)


@pytest.mark.parametrize("error", [RuntimeError("test exception"), OSError("test"), KafkaException("test")])
@pytest.mark.ported("SocketServerTest.processNewResponseException")
def test_process_new_response_exception(testable: TestableSocketServer, error: Exception) -> None:
    with Client(testable) as client:
        heartbeat(client)
        failing(testable, "send", error)
        answer_next(testable)
        assert client.is_closed()
    assert testable.processor.inflight_response_count == 0
    verify_fine(testable)


@pytest.mark.ported("SocketServerTest.processCompletedReceiveException")
def test_process_completed_receive_exception(testable: TestableSocketServer) -> None:
    with Client(testable) as client:
        failing(testable, "mute", RuntimeError("test exception"))
        heartbeat(client)
        assert client.is_closed()
    receive_request(testable.data_plane_request_channel)
    verify_fine(testable)


@pytest.mark.ported("SocketServerTest.processCompletedSendException")
def test_process_completed_send_exception(testable: TestableSocketServer) -> None:
    with Client(testable) as client:
        heartbeat(client)
        failing(testable, "unmute", RuntimeError("test exception"))
        answer_next(testable)
        assert client.receive() == head() + ANSWER
        assert client.is_closed()
    verify_fine(testable)


def test_a_callback_that_fails_closes_its_connection(testable: TestableSocketServer) -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("test exception")

    channel = testable.data_plane_request_channel
    with Client(testable) as client:
        heartbeat(client)
        answer(channel, receive_request(channel), on_complete=fail)
        assert client.receive() == head() + ANSWER
        assert client.is_closed()
    verify_fine(testable)


@pytest.mark.ported("SocketServerTest.processDisconnectedException")
def test_process_disconnected_exception(testable: TestableSocketServer) -> None:
    testable.processor.fixed_connection_id = "notAValidConnectionId"
    client = Client(testable)
    heartbeat(client)
    answer_next(testable)
    client.receive()
    client.sock.close()
    wait_until(lambda: not testable.processor.selector.channels)
    testable.processor.fixed_connection_id = None
    with Client(testable) as other:
        heartbeat(other)
        answer_next(testable)
        assert other.receive() == head() + ANSWER


@pytest.mark.parametrize("error", [OSError("test"), RuntimeError("test")])
@pytest.mark.ported("SocketServerTest.pollException")
def test_poll_exception(testable: TestableSocketServer, error: Exception) -> None:
    failing(testable, "poll", error)
    testable.processor.wakeup()
    wait_until(lambda: testable.testable_selector.failed == ["poll"])
    verify_fine(testable)


@pytest.mark.ported("SocketServerTest.controlThrowable")
def test_control_throwable_is_not_caught(testable: TestableSocketServer) -> None:
    processor = testable.processor
    with pytest.raises(ControlThrowable):
        processor.process_exception("never logged", ControlThrowable())
    processor.process_exception("logged", RuntimeError("test"))


def test_one_turn_of_a_processor_on_this_thread() -> None:
    made = make(TestableSocketServer, start=False)
    assert isinstance(made, TestableSocketServer)
    processor, channel = made.processor, made.data_plane_request_channel
    acceptor = acceptor_of(made)
    assert acceptor.server_channel is not None
    client = Client(made)
    acceptor._nio_selector.register(acceptor.server_channel, 16)
    acceptor.accept_new_connections()
    assert repr(processor) == (
        "Processor(id=0, listener=PLAINTEXT, connections=0, new=1, responses=0, inflight=0, running=True)"
    )
    heartbeat(client)
    processor.configure_new_connections()
    processor.poll()
    processor.process_completed_receives()
    assert channel.request_queue.size() == 1
    (open_channel,) = processor.selector.channels.values()
    assert open_channel.mute_state() is ChannelMuteState.MUTED_AND_RESPONSE_PENDING
    request = receive_request(channel)
    send = NetworkSend(request.context.connection_id, bytes(30_000_000))
    channel.send_response(SendResponse(request, send))
    assert "responses=1" in repr(processor)
    processor.process_new_responses()
    assert "inflight=1" in repr(processor)
    reader = threading.Thread(target=client.receive)
    reader.start()
    for _ in range(100_000):
        processor.poll()
        processor.process_completed_sends()
        if not processor.inflight_response_count:
            break
    reader.join()
    assert open_channel.mute_state() is ChannelMuteState.NOT_MUTED
    client.sock.close()
    processor.poll()
    processor.process_disconnected()
    assert made.connection_count("127.0.0.1") == 0
    assert "connections=0" in repr(processor)
    stop(made)


def test_threads_have_latches_of_old(server: SocketServer) -> None:
    acceptor = acceptor_of(server)
    for thread in (acceptor, acceptor.processors[0]):
        thread.await_startup()
        assert thread.is_running
        assert (thread.startup_latch.get_count(), thread.shutdown_latch.get_count()) == (0, 1)
    acceptor.processors[0].shutdown()
    assert not acceptor.processors[0].is_running
    assert acceptor.processors[0].shutdown_latch.get_count() == 0


def test_closing_connections_give_their_quota_back_at_the_end(server: SocketServer) -> None:
    processor = server._data_plane_processors()[0]
    client = Client(server)
    heartbeat(client)
    receive_request(server.data_plane_request_channel)
    wait_until(lambda: "muted=1" in repr(processor.selector))
    (channel,) = processor.selector.channels.values()
    processor.selector._close_channel(channel, CloseMode.GRACEFUL)
    assert processor.selector.closing_channels() == {channel.id: channel}
    acceptor_of(server).close()
    assert server.connection_count("127.0.0.1") == 0
    client.sock.close()


def test_an_answer_whose_file_became_shorter_closes_the_connection_and_ends_the_request(server: SocketServer) -> None:
    class Truncated:
        """Records of a follower that had to truncate its log meanwhile."""

        def size_in_bytes(self) -> int:
            return 100

        def write_to(self, *_: object) -> int:
            raise KafkaException("has been truncated during write")

    channel = server.data_plane_request_channel
    histogram = channel.metrics["Heartbeat"].total_time_hist
    before = histogram.count
    with Client(server) as client:
        heartbeat(client)
        request = receive_request(channel)
        parts: list[Any] = [head(), Truncated()]
        channel.send_response(SendResponse(request, NetworkSend(request.context.connection_id, parts)))
        with pytest.raises((EOFError, ConnectionError)):
            client.receive()
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)
    assert histogram.count == before + 1
    assert server._data_plane_processors()[0].inflight_response_count == 0


POOLED: dict[str, Any] = {"queued_max_request_bytes": 2_000_000, "socket_request_max_bytes": 1_000_000}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(struct.pack(">hhih", 99, 0, 1, 0), id="an API that nobody knows"),
        pytest.param(struct.pack(">hhih", 12, 9, 1, 0), id="a version that nobody knows"),
        pytest.param(struct.pack(">hhih", 12, 0, 1, 500), id="a header that ends too early"),
        pytest.param(struct.pack(">hhih", 12, 0, 1, 0) + b"\0\xff", id="a body that ends too early"),
        pytest.param(struct.pack(">hhih", 0, 3, 1, 0) + b"\0\xff", id="a Produce without end"),
    ],
)
def test_a_bad_request_gives_its_memory_back(body: bytes) -> None:
    made = make(**POOLED)
    pool = made._memory_pool
    padded = body.ljust(900_000, b"\xff") if body.endswith(b"\xff") or len(body) == 10 else body
    for _ in range(3):  # the third would find the pool empty
        with Client(made) as client:
            client.sock.sendall(struct.pack(">i", len(padded)) + padded)
            assert client.is_closed()
    wait_until(lambda: made.connection_count("127.0.0.1") == 0)
    assert pool.available_memory() == pool.size()
    stop(made)


def test_memory_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(**POOLED)
    pool = made._memory_pool
    with Client(made) as client:
        heartbeat(client)
        answer_next(made)
        assert client.receive() == head() + ANSWER
        assert pool.available_memory() == pool.size()

        def fail(*_: object) -> None:
            raise KafkaException("after the request was made")

        monkeypatch.setattr(Processor, "_register_client_information", fail)
        client.send(18, 0, b"")
        assert client.is_closed()
    assert pool.available_memory() == pool.size()
    stop(made)


def test_bad_requests_are_a_line_each_and_one_stack_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    made = make(num_network_threads=1)
    for _ in range(4):
        with Client(made) as client:
            client.sock.sendall(struct.pack(">ihhih", 10, 99, 0, 1, 0))
            assert client.is_closed()
    stop(made)
    told = [record for record in caplog.records if record.levelname == "ERROR"]
    assert ["because of error: InvalidRequestException: " in record.getMessage() for record in told] == [True] * 4
    assert [bool(record.exc_info) for record in told] == [True, False, False, False]
