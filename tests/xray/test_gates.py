"""Holding threads at gates, stepping them and letting them go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.testing.mock_time import MockTime
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.gates import Holder, Rule
from kafka_py.xray.held_time import HeldTime
from kafka_py.xray.passage import Passage, RequestInfo, may_be_held

PRODUCE = RequestInfo(1, "Produce", client_id="p-1", topics=("a",))
FETCH = RequestInfo(2, "Fetch", client_id="c-1", topics=("b",))


@pytest.fixture
def clock() -> HeldTime:
    return HeldTime(MockTime())


@pytest.fixture
def events() -> EventLog:
    return EventLog()


@pytest.fixture
def holder(clock: HeldTime, events: EventLog) -> Iterator[Holder]:
    found = Holder(clock, events, holdable=lambda name: True)
    yield found
    found.close()


@pytest.fixture
def start() -> Iterator[Callable[..., threading.Thread]]:
    made: list[threading.Thread] = []

    def started(name: str, run: Callable[[], Any]) -> threading.Thread:
        thread = threading.Thread(target=run, name=name)
        made.append(thread)
        thread.start()
        return thread

    yield started
    for thread in made:
        thread.join(5)


def walk(holder: Holder, done: list[str], *points: str, request: RequestInfo | None = None) -> Callable[[], None]:
    def run() -> None:
        for point in points:
            passage = Passage(point, "A.b", request)
            holder.arrive(passage)
            done.append(point)
            holder.leave(passage)

    return run


def test_a_held_thread_goes_one_gate_a_step(holder: Holder, start: Any) -> None:
    done: list[str] = []
    holder.hold()
    start("h", walk(holder, done, "handle", "append", "response-queue", "send"))
    for n, point in enumerate(("handle", "append")):
        found = holder.await_held("h", point)
        assert found is not None
        assert (found["method"], len(done)) == ("A.b", n)
        assert holder.step() == "h"
    assert holder.await_held("h", "response-queue") is not None
    holder.step("h", 2)
    while len(done) < 4:
        continue
    assert done == ["handle", "append", "response-queue", "send"]
    assert holder.held() == []


def test_the_one_held_longest_goes_first_and_resume_lets_all_go(holder: Holder, start: Any) -> None:
    first: list[str] = []
    second: list[str] = []
    holder.hold()
    start("one", walk(holder, first, "handle", "append"))
    assert holder.await_held("one") is not None
    start("two", walk(holder, second, "handle"))
    assert holder.await_held("two") is not None
    assert [held["thread"] for held in holder.held()] == ["one", "two"]
    assert holder.step() == "one"
    assert holder.await_held("one", "append") is not None
    assert (first, second) == (["handle"], [])
    holder.resume()
    while len(first) + len(second) < 3:
        continue
    assert holder.rules == ()


@pytest.mark.parametrize(
    ("rule", "held"),
    [
        ({"api": "Produce"}, True),
        ({"api": "Fetch"}, False),
        ({"client": "p-*"}, True),
        ({"client": "c-*"}, False),
        ({"topic": "a"}, True),
        ({"topic": "b*"}, False),
        ({"points": ["append"]}, True),
        ({"points": ["send"]}, False),
        ({"thread": "*-handler-*"}, True),
        ({"thread": "*-network-*"}, False),
        ({"api": "Produce", "topic": "b"}, False),
        ({}, True),
    ],
)
def test_a_rule_selects_what_all_its_parts_select(rule: dict[str, Any], held: bool, start: Any) -> None:
    selected: list[bool] = []
    passing = threading.Thread(
        target=lambda: selected.append(Rule.of(rule).selects(Passage("append", "A.b", PRODUCE))), name="x-handler-1"
    )
    passing.start()
    passing.join()
    assert selected == [held]


def test_bad_rules_are_refused(holder: Holder) -> None:
    bad: list[dict[str, Any]] = [{"point": ["append"]}, {"points": ["nowhere"]}, {"points": []}, {"api": 3}]
    for rule in bad:
        with pytest.raises(ValueError, match=r"."):
            holder.hold([rule])
    with pytest.raises(ValueError, match="no rules"):
        holder.hold([])
    with pytest.raises(KeyError, match="nobody"):
        holder.step("nobody")
    assert holder.step() is None


def test_the_clock_stands_while_all_is_held_and_while_a_narrow_rule_holds_somebody(
    holder: Holder, clock: HeldTime, start: Any
) -> None:
    def stands() -> bool:
        return clock.is_standing

    holder.hold()
    assert stands()
    holder.resume()
    assert not stands()
    holder.hold([{"api": "Produce"}])
    assert not stands()
    done: list[str] = []
    start("fetches", walk(holder, done, "handle", request=FETCH)).join()
    assert done == ["handle"]
    start("produces", walk(holder, done, "handle", request=PRODUCE))
    assert holder.await_held("produces") is not None
    assert stands()
    holder.step()
    while len(done) < 2 or stands():
        continue
    holder.advance(5)
    with pytest.raises(RuntimeError, match="machine's"):
        Holder().advance(5)


def test_nobody_is_held_once_the_broker_stops(holder: Holder, events: EventLog, start: Any) -> None:
    done: list[str] = []
    holder.hold()
    thread = start("h", walk(holder, done, "handle", "append"))
    assert holder.await_held("h") is not None
    holder.close()
    thread.join(5)
    assert done == ["handle", "append"]
    with pytest.raises(RuntimeError, match="stopping"):
        holder.hold()
    states = [(e["state"], e["on"]) for e in events.after(0)]
    assert states == [("held", "handle"), ("running", "handle")]


def test_only_threads_of_the_broker_are_held() -> None:
    assert may_be_held("data-plane-kafka-request-handler-0")
    assert may_be_held("executor-Produce")
    for name in ("MainThread", "kafka-py-metrics-0", "Thread-7", "zk-session-expiry-handler0", "kazoo-1"):
        assert not may_be_held(name)


def test_slow_threads_wait_at_their_gates_and_the_clock_runs_as_slowly(holder: Holder, clock: HeldTime) -> None:
    asked: list[bool] = []
    slowed = Holder(clock, holdable=lambda name: True, listen=asked.append)
    slowed.slow(20)
    assert (clock.factor, slowed.factor) == (20, 20)
    slowed.arrive(Passage("handle", "A.b"))
    slowed.resume()
    assert (clock.factor, asked) == (1, [True, False])
    with pytest.raises(ValueError, match="slow down"):
        slowed.slow(0)
