"""The ring of events: order, bounds, slow watchers."""

from __future__ import annotations

import json
import threading

from kafka_py.testing.mock_time import MockTime
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.passage import Passage, RequestInfo


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
    assert (log.last_id, len(log.after(99_950)), len(log._unread)) == (100_000, 50, 0)
    assert sum(len(block.events()) for block in log._ring) <= 2 * log.capacity


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


def test_a_block_is_written_as_json_once_for_all_who_watch() -> None:
    log, _ = log_of(2)
    events = log.after(0)
    batch = log.batch(0, 10, 0)
    assert batch is not None
    assert (batch.last_id, json.loads(batch.text)) == (2, events)
    assert log.after(0) == events
    block = log._ring[0]
    assert block.text is block.text


def test_a_batch_begins_behind_what_the_watcher_has() -> None:
    log, _ = log_of(3)
    assert log.last_id == 3  # three events in a block
    for n in (3, 4):
        log.emit("receive", n=n)
        assert log.last_id == n + 1
    for last in range(5):
        batch = log.batch(last, 10, 0)
        assert batch is not None
        assert batch.last_id == 5
        assert [event["n"] for event in json.loads(batch.text)] == list(range(last, 5))
    assert log.batch(5, 10, 0) is None
    first = log.batch(0, 3, 0)
    assert first is not None
    assert first.last_id == 3


def test_a_batch_for_a_watcher_that_was_overtaken() -> None:
    log, _ = log_of(25)
    batch = log.batch(3, 10, 0)
    assert batch is not None
    dropped, newest = json.loads(batch.text)
    assert (batch.last_id, dropped["dropped"], newest["id"], log.missed) == (25, 21, 25, 21)


def test_events_of_many_threads_are_numbered_without_gaps_while_others_read() -> None:
    log = EventLog(100_000)
    found: list[int] = []

    def write() -> None:
        for n in range(5000):
            log.emit("send", n=n)

    writers = [threading.Thread(target=write, name=f"writer-{i}") for i in range(4)]
    for writer in writers:
        writer.start()
    while len(found) < 20_000:
        batch = log.batch(found[-1] if found else 0, 1000, 5000)
        assert batch is not None
        found += [event["id"] for event in json.loads(batch.text)]
    for writer in writers:
        writer.join()
    assert found == list(range(1, 20_001))


def test_json_by_hand_says_what_the_encoder_says() -> None:
    info = RequestInfo(7, "Produce", 8, 'p "1"', "c", 5, ("a",))
    passages = [
        Passage("receive", "A.b", info, fields={"request": info.whole(), "processor": 2}),
        Passage("end", "A.b", info, fields={"stampsUs": [0, None, 5], "by": {"thread": "x"}, "flag": True}),
        Passage("isr", "A.b", None, fields={"isr": [1, 2], "text": 'é "quoted"\n', "none": None, "part": 0.5}),
        Passage("group", "A.b", None),
    ]
    log = EventLog()
    for passage in passages:
        log.put(passage.point, passage)
    log.put("thread", {"thread": "x", "state": "running", "on": ""})
    made = log.after(0)
    batch = log.batch(0, 10, 0)
    assert batch is not None
    assert json.loads(batch.text) == made
    assert [event["kind"] for event in made] == ["receive", "end", "isr", "group", "thread"]
    assert (made[0]["request"]["clientId"], made[1]["request"], made[1]["method"]) == ('p "1"', {"id": 7}, "A.b")
