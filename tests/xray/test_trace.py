"""The trace has the form that Chrome and Perfetto read."""

from __future__ import annotations

import json
import time
from typing import Any

from kafka_py.xray.trace import trace

# What each kind of trace event must have, and of what type: Chrome's format, as far as it is used here.
NUMBER = (int, float)
COMMON = {"ph": str, "name": str, "pid": int, "tid": int}
FORMS: dict[str, dict[str, Any]] = {
    "M": {**COMMON, "args": dict},
    "X": {**COMMON, "ts": NUMBER, "dur": NUMBER, "cat": str},
    "s": {**COMMON, "ts": NUMBER, "id": int, "cat": str},
    "f": {**COMMON, "ts": NUMBER, "id": int, "cat": str, "bp": str},
    "b": {**COMMON, "ts": NUMBER, "id": int, "cat": str},
    "e": {**COMMON, "ts": NUMBER, "id": int, "cat": str},
    "i": {**COMMON, "ts": NUMBER, "s": str},
    "C": {**COMMON, "ts": NUMBER, "args": dict},
}


def check(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The events, each of which has its form; AssertionError for one that has not."""
    events: list[dict[str, Any]] = json.loads(json.dumps(told, allow_nan=False))["traceEvents"]
    for event in events:
        for name, kind in FORMS[event["ph"]].items():
            assert isinstance(event[name], kind), (name, event)
        assert event.get("dur", 0) >= 0
    return events


def entry(n: int) -> dict[str, Any]:
    """A finished request."""
    names = ("start", "requestDequeue", "apiLocalComplete", "responseComplete", "responseDequeue", "end")
    return {
        "api": "Produce", "version": 8, "clientId": "<script>", "correlationId": n, "connection": "c",
        "networkThread": "network-0", "handlerThread": "handler-0", "endMicros": 1000.0 * n + 50.0,
        "stampsMicros": {name: 10.0 * i for i, name in enumerate(names)},
    }  # fmt: skip


def test_a_request_is_slices_on_two_threads_with_an_arrow() -> None:
    events = check(trace([entry(1)], [], 0, 60))
    assert [(e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"] == [
        ("Produce local", 1010.0, 10.0),
        ("Produce send", 1040.0, 10.0),
    ]
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    arrow = [(threads[e["tid"]], e["id"]) for e in events if e["ph"] in "sf"]
    assert arrow == [("handler-0", 1), ("network-0", 1)]


def test_purgatories_and_counters() -> None:
    told = [
        {"id": 1, "us": 5, "kind": "watch", "thread": "h", "operation": 3, "purgatory": "Produce"},
        {"id": 2, "us": 6, "kind": "request-queue", "thread": "n", "queue": "requestQueue", "depth": 4},
        {"id": 3, "us": 9, "kind": "complete", "thread": "h", "operation": 3, "purgatory": "Produce"},
    ]
    events = check(trace([], told, 0, 60))
    assert [(e["ph"], e["ts"]) for e in events if e["ph"] in "be"] == [("b", 5), ("e", 9)]
    assert [e["args"] for e in events if e["ph"] == "C"] == [{"depth": 4}]


def test_only_the_last_seconds_of_both() -> None:
    requests = [entry(1), entry(5000)]
    assert sum(e["ph"] == "X" for e in check(trace(requests, [], 0, 1))) == 2
    mark = {"id": 1, "us": 9_000_000, "kind": "end", "thread": "n"}
    assert [e["ph"] for e in check(trace(requests, [mark], 0, 1)) if e["ph"] != "M"] == ["i"]


def test_requests_and_events_have_one_zero() -> None:
    mark = {"id": 1, "us": 1030, "kind": "respond", "thread": "network-0"}
    events = check(trace([{**entry(1), "endMicros": 7_001_050.0}], [mark], 0, 60, zero_micros=7_000_000.0))
    assert [e["ts"] for e in events if e["ph"] == "X"] == [1010.0, 1040.0]
    assert [e["ts"] for e in events if e["ph"] == "i"] == [1030]


def test_every_stay_has_both_ends_and_every_arrow_too() -> None:
    came, went = {"us": 5, "kind": "watch", "operation": 1}, {"us": 9, "kind": "complete", "operation": 2}
    later = {"us": 20, "kind": "tick"}
    events = check(trace([entry(1), entry(2)], [{"id": 1, "thread": "h", **e} for e in (came, went, later)], 3, 60))
    stays = [(e["ph"], e["id"], e["ts"]) for e in events if e["name"] == " purgatory"]
    assert stays == [("b", 1, 5), ("e", 1, 2050.0)]
    starts, ends = ([e["id"] for e in events if e["ph"] == phase] for phase in "sf")
    assert starts == ends == [3_000_001, 3_000_002]
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert {e["tid"] for e in events} <= named


def test_a_stage_that_was_never_reached_is_no_slice() -> None:
    unanswered = entry(1)
    unanswered["stampsMicros"]["responseDequeue"] = -7.0
    assert [e["name"] for e in check(trace([unanswered], [], 0, 60)) if e["ph"] == "X"] == ["Produce local"]


def test_a_thousand_requests_take_less_than_a_second() -> None:
    began = time.perf_counter()
    json.dumps(trace([entry(n) for n in range(1000)], [], 0, 60))
    assert time.perf_counter() - began < 1
