"""Bytes pass between ends, are kept while a link is cut, come late over a slow one, and all arrive in their order."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from kafka_py.common.utils.time import Time
from kafka_py.testing.links import ZOOKEEPER, Door, Links
from tests.testing.test_first_bytes import first_request

FETCH = first_request("broker-1-fetcher-0")
CONTROL = first_request("1")
QUIET_S = 0.05


class Ends:
    """Broker 0 behind a door, and its ZooKeeper behind another; who calls is broker 1, or broker 0 at ZooKeeper."""

    def __init__(self) -> None:
        self.broker = socket.create_server(("127.0.0.1", 0))
        self.links = Links()
        self.door = self.links.open_door(0, self.broker.getsockname)
        self.zookeeper_door = self.links.open_door(ZOOKEEPER, self.broker.getsockname, 0)
        self.sockets: list[socket.socket] = [self.broker]
        self.port = self.door.port
        self.links.start()

    def call(self, door: Door, first: bytes) -> tuple[socket.socket, socket.socket]:
        """The caller's socket and the one that was accepted for it."""
        caller = socket.create_connection(("127.0.0.1", door.port), 5)
        self.sockets.append(caller)
        caller.sendall(first)
        self.broker.settimeout(5)
        accepted, _ = self.broker.accept()
        self.sockets.append(accepted)
        accepted.settimeout(5)
        return caller, accepted

    def close(self) -> None:
        self.links.close()
        for sock in self.sockets:
            sock.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def comes(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += sock.recv(count - len(data))
    return data


def is_quiet(sock: socket.socket) -> bool:
    """Whether nothing comes for a while."""
    sock.settimeout(QUIET_S)
    try:
        return sock.recv(1) == b"never"
    except TimeoutError:
        return True
    finally:
        sock.settimeout(5)


def test_bytes_and_ends_pass(ends: Ends) -> None:
    caller, accepted = ends.call(ends.door, FETCH)
    assert comes(accepted, len(FETCH)) == FETCH
    big = bytes(range(256)) * 20_000
    accepted.sendall(b"answer")
    assert comes(caller, 6) == b"answer"
    caller.sendall(big)
    caller.shutdown(socket.SHUT_WR)
    assert comes(accepted, len(big)) == big
    assert accepted.recv(1) == b""
    accepted.sendall(b"last words")
    accepted.close()
    assert comes(caller, 10) == b"last words"
    assert caller.recv(1) == b""


def test_what_a_cut_keeps_arrives_after_healing(ends: Ends) -> None:
    rules = ends.links.rules
    rules.cut((1, 0))
    caller, accepted = ends.call(ends.door, CONTROL)
    assert is_quiet(accepted)
    accepted.sendall(b"the other way")
    assert comes(caller, 13) == b"the other way"
    rules.cut((0, 1))
    accepted.sendall(b"not any more")
    assert is_quiet(caller)
    caller.close()
    assert is_quiet(accepted), "nobody hears of the end either"
    rules.heal((1, 0))
    ends.links.notice()
    assert comes(accepted, len(CONTROL)) == CONTROL
    assert accepted.recv(1) == b""


def test_a_slow_link_delays_each_way(ends: Ends) -> None:
    caller, accepted = ends.call(ends.door, CONTROL)
    assert comes(accepted, len(CONTROL)) == CONTROL
    ends.links.rules.delay((1, 0), 60)
    began = Time.SYSTEM.nanoseconds()
    caller.sendall(b"a")
    assert comes(accepted, 1) == b"a"
    assert Time.SYSTEM.nanoseconds() - began >= 55e6
    accepted.sendall(b"b")
    assert comes(caller, 1) == b"b"


def test_only_fetchers_are_held(ends: Ends) -> None:
    ends.links.rules.hold_fetcher(1, 0)
    _, held = ends.call(ends.door, FETCH)
    _, free = ends.call(ends.door, CONTROL)
    assert comes(free, len(CONTROL)) == CONTROL
    assert is_quiet(held)
    ends.links.rules.release_fetcher(1, 0)
    ends.links.notice()
    assert comes(held, len(FETCH)) == FETCH


def test_who_is_no_broker_passes_always(ends: Ends) -> None:
    ends.links.rules.cut((1, 0))
    request = first_request("a client")
    _, accepted = ends.call(ends.door, request)
    assert comes(accepted, len(request)) == request


def test_the_session_is_seen_at_the_door_of_zookeeper(ends: Ends) -> None:
    caller, accepted = ends.call(ends.zookeeper_door, b"connect")
    assert comes(accepted, 7) == b"connect"
    answer = struct.pack(">iiiqi", 37, 0, 6000, 77, 16) + b"p" * 16
    for n in range(0, len(answer), 10):
        accepted.sendall(answer[n : n + 10])
    assert comes(caller, len(answer)) == answer
    session = ends.zookeeper_door.session
    assert session is not None
    assert session.id == 77
    ends.links.rules.cut((0, ZOOKEEPER))
    caller.sendall(b"ping")
    assert is_quiet(accepted)


def test_nobody_behind_the_door_is_nobody_at_the_door(ends: Ends) -> None:
    ends.broker.close()
    with socket.create_connection(("127.0.0.1", ends.door.port), 5) as caller:
        try:
            assert caller.recv(1) == b""
        except ConnectionResetError:
            assert caller.fileno() >= 0


def test_what_is_done_can_be_told(ends: Ends) -> None:
    rules = ends.links.rules
    rules.cut((0, ZOOKEEPER))
    rules.delay((1, 0), 50)
    rules.hold_fetcher(2, 1)
    assert rules.snapshot() == {"cut": ["0>zookeeper"], "slow": ["1>0 50 ms"], "held fetchers": ["2 of 1"]}
    rules.heal_all()
    assert rules.snapshot() == {"cut": [], "slow": [], "held fetchers": []}


def test_links_may_be_closed_once_more(ends: Ends) -> None:
    ends.links.close()
    ends.links.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ends.port), 5)
