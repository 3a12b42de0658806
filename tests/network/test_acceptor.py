"""Acceptors: limits, throttled connections, and processors without room."""

from __future__ import annotations

import errno
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from kafka_py.common.network.addresses import AcceptedSocket
from kafka_py.common.network.nio_selector import OP_ACCEPT
from kafka_py.network.processor import Processor
from kafka_py.network.socket_server import SocketServer
from kafka_py.testing.mock_time import MockTime
from tests.network.socket_server_support import (
    ANSWER,
    PLAINTEXT,
    Client,
    acceptor_of,
    answer_next,
    heartbeat,
    make,
    stop,
    wait_until,
)


@pytest.fixture
def server() -> Iterator[SocketServer]:
    made = make()
    yield made
    stop(made)


def head(correlation_id: int = 77) -> bytes:
    return struct.pack(">i", correlation_id)


@pytest.mark.ported("SocketServerTest.testMaxConnectionsPerIp")
def test_max_connections_per_ip() -> None:
    made = make(max_connections_per_ip=3)
    clients = [Client(made) for _ in range(3)]
    wait_until(lambda: made.connection_count("127.0.0.1") == 3)
    with Client(made) as refused:
        assert refused.is_closed()
    clients.pop().sock.close()
    wait_until(lambda: made.connection_count("127.0.0.1") == 2)
    with Client(made) as client:
        heartbeat(client)
        answer_next(made)
        assert client.receive() == head() + ANSWER
    for open_client in clients:
        open_client.sock.close()
    stop(made)


@pytest.mark.ported("SocketServerTest.testZeroMaxConnectionsPerIp")
def test_overrides_of_max_connections_per_ip() -> None:
    made = make(max_connections_per_ip=1, max_connections_per_ip_overrides="localhost:2")
    clients = [Client(made) for _ in range(2)]
    wait_until(lambda: made.connection_count("127.0.0.1") == 2)
    with Client(made) as refused:
        assert refused.is_closed()
    made.connection_quotas.update_max_connections_per_ip_override({})
    clients.pop().sock.close()
    wait_until(lambda: made.connection_count("127.0.0.1") == 1)
    with Client(made) as refused:
        assert refused.is_closed()
    clients[0].sock.close()
    stop(made)


@pytest.mark.parametrize(("error", "pause_ms"), [(errno.EMFILE, 100), (errno.ENOMEM, 100), (errno.ECONNABORTED, 0)])
def test_without_descriptors_the_acceptor_pauses(monkeypatch: pytest.MonkeyPatch, error: int, pause_ms: int) -> None:
    time = MockTime()
    made = make(time=time, start=False)
    acceptor = acceptor_of(made)
    assert acceptor.server_channel is not None
    key = acceptor._nio_selector.register(acceptor.server_channel, OP_ACCEPT)

    def fail(_: socket.socket) -> AcceptedSocket:
        raise OSError(error, "test")

    monkeypatch.setattr(AcceptedSocket, "accept_from", fail)
    before = time.milliseconds()
    for _ in range(3):
        with pytest.raises(OSError, match="test"):
            acceptor.accept(key)
    assert time.milliseconds() - before == 3 * pause_ms
    stop(made)


@pytest.mark.ported("SocketServerTest.testExceptionInAcceptor")
def test_exception_in_acceptor(server: SocketServer) -> None:
    acceptor = acceptor_of(server)
    failed = threading.Event()
    original = acceptor.configure_accepted_socket_channel

    def fail_once(channel: socket.socket) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError("test IOException")
        original(channel)

    acceptor.configure_accepted_socket_channel = fail_once  # type: ignore[method-assign, assignment]
    with Client(server) as client:
        assert client.is_closed()
    with Client(server) as client:
        heartbeat(client)
        answer_next(server)
        assert client.receive() == head() + ANSWER
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)


@pytest.mark.ported("SocketServerTest.testConnectionRatePerIp")
def test_connection_rate_per_ip_closes_late() -> None:
    time = MockTime()
    made = make(time=time, quota_window_size_seconds=1, quota_window_num=2)
    made.connection_quotas.update_ip_connection_rate_quota("127.0.0.1", 1)
    acceptor = acceptor_of(made)
    clients = [Client(made) for _ in range(3)]
    wait_until(lambda: len(acceptor.throttled_sockets) + made.connection_count("127.0.0.1") == 3)
    throttled = len(acceptor.throttled_sockets)
    assert throttled >= 1
    time.sleep(5000)
    acceptor.wakeup()
    wait_until(lambda: not acceptor.throttled_sockets)
    assert sum(not client.stays_open(5) for client in clients) == throttled
    for client in clients:
        client.sock.close()
    stop(made)


@pytest.mark.ported("SocketServerTest.testThrottledSocketsClosedOnShutdown")
def test_throttled_sockets_close_on_shutdown() -> None:
    made = make(time=MockTime())
    made.connection_quotas.update_ip_connection_rate_quota(None, 1)
    acceptor = acceptor_of(made)
    clients = [Client(made) for _ in range(40)]
    wait_until(lambda: bool(acceptor.throttled_sockets))
    stop(made)
    assert all(client.is_closed() for client in clients)
    assert acceptor.throttled_sockets == []
    for client in clients:
        client.sock.close()


def test_each_throttled_socket_closes_when_its_own_time_comes() -> None:
    time = MockTime()
    made = make(time=time, start=False)
    acceptor = acceptor_of(made)
    from heapq import heappush

    from kafka_py.network.acceptor import DelayedCloseSocket

    pairs = [socket.socketpair() for _ in range(3)]
    now = time.milliseconds()
    for (ours, _), delay in zip(pairs, (300, 100, 200), strict=True):
        heappush(acceptor.throttled_sockets, DelayedCloseSocket(ours, now + delay))
    left = []
    for _ in range(4):
        time.sleep(101)
        acceptor.close_throttled_connections()
        left.append([ours.fileno() >= 0 for ours, _ in pairs])
    assert left == [[True, False, True], [True, False, False], [False, False, False], [False, False, False]]
    for _, theirs in pairs:
        theirs.close()
    stop(made)


def test_queue_full_of_new_connections_then_the_next_processor_gets_them() -> None:
    made = make(start=False, num_network_threads=2)
    acceptor = acceptor_of(made)
    first, second = acceptor.processors
    pairs = [socket.socketpair() for _ in range(41)]
    for ours, _ in pairs[:40]:
        acceptor._assign_to_a_processor(ours)
    assert (first.new_connections.size(), second.new_connections.size()) == (20, 20)
    assert not first.accept(pairs[40][0], False, acceptor._blocked_percent_meter)
    before = acceptor._blocked_percent_meter.count
    taken = threading.Thread(target=lambda: first.new_connections.poll(5000))
    blocked = threading.Thread(target=acceptor._assign_to_a_processor, args=(pairs[40][0],))
    blocked.start()
    second.new_connections.poll()
    taken.start()
    blocked.join(5)
    assert not blocked.is_alive()
    taken.join()
    assert acceptor._blocked_percent_meter.count >= before
    stop(made)
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_an_override_for_a_host_that_cannot_be_a_name(server: SocketServer) -> None:
    with pytest.raises(OSError, match="not known"):
        server.connection_quotas.update_max_connections_per_ip_override({"no..host": 1})


def stopped(server: SocketServer) -> bool:
    """Stop it on a thread of its own; whether that came to an end."""
    stopping = threading.Thread(target=stop, args=(server,), daemon=True)
    stopping.start()
    stopping.join(3)
    return not stopping.is_alive()


def test_shutdown_while_an_acceptor_waits_for_a_slot_that_never_comes() -> None:
    made = make(max_connections=0)
    with Client(made) as client:
        assert client.stays_open()
        assert stopped(made)
        assert client.is_closed()
    assert made.connection_count("127.0.0.1") == 0


def test_shutdown_while_a_processor_waits_for_handlers_that_do_not_come(caplog: pytest.LogCaptureFixture) -> None:
    made = make(queued_max_requests=1)
    queue = made.data_plane_request_channel.request_queue
    selector = acceptor_of(made).processors[0].selector
    with Client(made) as first, Client(made) as second:
        heartbeat(first)
        wait_until(lambda: queue.remaining_capacity() == 0 and not selector.completed_receives())
        heartbeat(second)
        wait_until(lambda: bool(selector.completed_receives()))
        assert stopped(made)
        assert first.is_closed()
        assert second.is_closed()
    assert made.connection_count("127.0.0.1") == 0
    assert "uncaught" not in caplog.text


def test_a_connection_that_a_processor_gets_after_its_end_is_closed(server: SocketServer) -> None:
    acceptor = acceptor_of(server)
    acceptor.add_processors(1)
    last = acceptor.processors[-1]
    acceptor.remove_processors(1)
    quotas = server.connection_quotas
    with socket.create_server(("127.0.0.1", 0)) as listening:
        for _ in range(Processor.CONNECTION_QUEUE_SIZE + 1):  # none of them may wait for a place either
            client = socket.create_connection(listening.getsockname(), 5)
            quotas.inc(PLAINTEXT, "127.0.0.1", acceptor._blocked_percent_meter)
            # the acceptor chose it before it was removed
            assert last.accept(AcceptedSocket.accept_from(listening), True, acceptor._blocked_percent_meter)
            assert client.recv(1) == b""
            client.close()
    assert server.connection_count("127.0.0.1") == 0
