"""Readiness, lazy muting and wake-ups."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kafka_py.common.network.nio_selector import OP_READ, OP_WRITE, NioSelector
from tests.common.network.network_support import socket_pair


@pytest.fixture
def selector() -> Iterator[NioSelector]:
    made = NioSelector()
    yield made
    made.close()


def test_muting_costs_no_system_call_until_data_comes(selector: NioSelector) -> None:
    ours, theirs = socket_pair()
    with ours, theirs:
        key = selector.register(ours, OP_READ)
        key.remove(OP_READ)
        assert key.registered == OP_READ
        theirs.send(b"x")
        assert selector.select(100) == []
        assert key.registered == 0
        assert selector.select(0) == []
        key.add(OP_READ)
        assert (selector.select(100), key.ready, key.registered) == ([key], OP_READ, 0)
        assert (selector.select(100), key.ready, key.registered) == ([key], OP_READ, OP_READ), "it was not muted again"
        key.cancel()
        assert not list(selector.keys())


def test_who_sends_early_is_served_without_epoll(selector: NioSelector) -> None:
    """Requests that wait in the socket: each is read, muted, answered, and the next is taken for granted."""
    ours, theirs = socket_pair()
    with ours, theirs:
        key = selector.register(ours, OP_READ)
        theirs.send(b"abc")
        for expected in b"abc":
            assert selector.select(100) == [key]
            assert ours.recv(1) == bytes([expected])
            key.remove(OP_READ)
            assert selector.select(0) == []
            assert key.registered == 0, "epoll found data that nobody wanted"
            key.add(OP_READ)
            assert key.registered == 0
        # nothing has come: it was reported once in vain, and then epoll looks after it
        assert (selector.select(100), key.registered) == ([key], 0)
        assert (selector.select(0), key.registered) == ([], OP_READ)
        theirs.send(b"d")
        assert selector.select(100) == [key]


def test_early_senders_that_change_their_mind(selector: NioSelector) -> None:
    ours, theirs = socket_pair()
    with ours, theirs:
        key = selector.register(ours, OP_READ)
        key.remove(OP_READ)
        theirs.send(b"x")
        assert selector.select(100) == []
        for _ in range(3):
            key.add(OP_READ)
            key.remove(OP_READ)
        assert selector.select(0) == []
        key.add(OP_READ)
        assert selector.select(0) == [key], "once, however often it was told"
        key.add(OP_WRITE)
        assert key.registered, "epoll alone knows when there is room"
        assert selector.select(0) == [key]
        assert key.is_readable()
        assert key.is_writable()
        key.remove(OP_WRITE)
        key.remove(OP_READ)
        assert selector.select(0) == []
        key.add(OP_READ)
        key.cancel()
        assert selector.select(0) == []
        assert selector.select(0) == []


def test_a_broken_connection_does_not_spin_while_muted(selector: NioSelector) -> None:
    ours, theirs = socket_pair()
    with ours:
        key = selector.register(ours, OP_READ)
        key.remove(OP_READ)
        theirs.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: a reset
        theirs.close()
        assert selector.select(100) == []
        assert key.registered == 0
        key.add(OP_READ)
        assert selector.select(100) == [key]
        key.cancel()


def test_write_interest(selector: NioSelector) -> None:
    ours, theirs = socket_pair()
    with ours, theirs:
        key = selector.register(ours, OP_READ)
        assert selector.select(0) == []
        key.add(OP_WRITE)
        assert selector.select(0) == [key]
        assert key.is_writable()
        assert not key.is_readable()
        key.remove(OP_WRITE)
        assert selector.select(0) == []


def test_wakeup_before_select_makes_it_return_at_once(selector: NioSelector) -> None:
    assert not selector.wakeup(), "nobody sleeps"
    start = time.perf_counter()
    assert selector.select(5000) == []
    assert time.perf_counter() - start < 1


def test_wakeup_of_a_sleeping_select(selector: NioSelector) -> None:
    woken = threading.Event()

    def sleep() -> None:
        selector.select(5000)
        woken.set()

    thread = threading.Thread(target=sleep)
    thread.start()
    while not selector._sleeping:
        pass
    # the sleeper goes on as soon as the first is written, so nothing is certain of the later ones
    assert selector.wakeup()
    for _ in range(2):
        selector.wakeup()
    assert woken.wait(2)
    thread.join()
    selector.select(0)
    assert not selector._written
    assert "sleeping=False" in repr(selector)


def test_no_wakeup_is_lost() -> None:
    selector = NioSelector()
    rounds = 300
    turns: list[int] = []
    go = threading.Semaphore(0)

    def sleeper() -> None:
        for turn in range(rounds):
            go.release()
            selector.select(5000)
            turns.append(turn)

    thread = threading.Thread(target=sleeper)
    start = time.perf_counter()
    thread.start()
    for _ in range(rounds):
        go.acquire()
        selector.wakeup()
    thread.join()
    selector.close()
    assert len(turns) == rounds
    assert time.perf_counter() - start < 4


def test_closed_selector_ignores_wakeup() -> None:
    selector = NioSelector()
    selector.close()
    selector.close()
    assert not selector.wakeup()
    assert not selector.is_open()


def test_a_wakeup_that_comes_after_close_writes_nothing() -> None:
    """The waker may have seen it asleep just before it was closed; its descriptor is somebody else's by now."""
    selector = NioSelector()
    selector.close()
    selector._sleeping = True
    selector.wakeup()
    assert not selector._written
