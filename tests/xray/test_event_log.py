"""The ring of events: order, bounds, slow watchers."""

from __future__ import annotations

import json
import threading

from kafka_py.testing.mock_time import MockTime
from kafka_py.xray.event_log import EventLog, json_of


def log_of(count: int, capacity: int = 10) -> tuple[EventLog, MockTime]:
    time = MockTime()
    log = EventLog(capacity, time)
    for n in range(count):
        time.sleep(1)
        log.emit("receive", n=n)
    return log, time


def test_events_are_numbered_and_stamped_from_the_beginning_of_the_log() -> None:
    log, _ = log_of(3)
    assert [(e["id"], e["us"], e["n"]) for e in log.after(0)] == [(1, 1000, 0), (2, 2000, 1), (3, 3000, 2)]
    assert log.after(0)[0]["thread"] == threading.current_thread().name
    assert [e["id"] for e in log.after(1, limit=1)] == [2]
    assert log.after(3) == []


def test_the_ring_forgets_and_a_slow_watcher_goes_on_from_the_newest() -> None:
    log, _ = log_of(25)
    dropped, newest = log.after(3)
    assert (dropped["kind"], dropped["dropped"], newest["id"]) == ("dropped", 21, 25)
    assert log.missed == 21
    assert [e["id"] for e in log.after(15)] == list(range(16, 26))


def test_a_hundred_thousand_events_take_no_more_memory_than_the_ring() -> None:
    log, _ = log_of(100_000, capacity=50)
    assert (log.last_id, len(log._ring)) == (100_000, 50)


def test_whoever_waits_is_woken_by_the_next_event() -> None:
    log, _ = log_of(1)
    found: list[object] = []
    watcher = threading.Thread(target=lambda: found.extend(log.after(1, timeout_ms=5000)), name="watcher")
    watcher.start()
    while not log._waiting:
        continue
    log.emit("send")
    watcher.join()
    assert [e["kind"] for e in found] == ["send"]  # type: ignore[index]


def test_samplers_are_asked_when_somebody_reads_but_not_too_often() -> None:
    log, time = log_of(0)
    log.add_sampler(lambda: log.emit("thread"))
    time.sleep(100)
    assert [e["kind"] for e in log.after(0)] == ["thread"]
    assert log.after(1) == []
    time.sleep(100)
    assert len(log.after(1)) == 1


def test_an_event_is_written_as_json_once_for_all_who_watch() -> None:
    log, _ = log_of(2)
    events = log.after(0)
    assert json.loads(json_of(events)) == events
    assert log.after(0)[0].text is events[0].text
    assert json_of([]) == "[]"
