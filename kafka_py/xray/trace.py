"""What happened as a trace that Perfetto and Chrome open.

Ours, no original. The form is Chrome's trace events: objects with ``ph`` (M names, X a slice, s and f the ends
of an arrow, C a counter, b and e an asynchronous slice), ``pid``, ``tid``, and ``ts`` and ``dur`` in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
_FLOWS_OF_A_BROKER = 1_000_000  # so that the traces of several brokers can be put into one
# From one of the journal's stamps to the next: what the time was spent on, and on whose thread (None: on no one's).
_STAGES = (
    ("start", "requestDequeue", "request queue", None),
    ("requestDequeue", "apiLocalComplete", "local", "handlerThread"),
    ("apiLocalComplete", "responseComplete", "purgatory", None),
    ("responseComplete", "responseDequeue", "response queue", None),
    ("responseDequeue", "end", "send", "networkThread"),
)


class _Threads:
    """Numbers for names, in the order they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def named(self, pid: int) -> Iterable[Json]:
        """The metadata that tells the names."""
        for name, number in self._numbers.items():
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": name}}


def trace(
    requests: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    broker: int,
    seconds: int,
    zero_micros: float = 0.0,
) -> Json:
    """``{"traceEvents": […]}`` of the finished requests and the events of the last so many seconds.

    All times count from when the event log began. ``requests`` are the journal's entries: each has ``endMicros`` on the
    machine's clock, on which the log began at ``zero_micros``, and stamps on the broker's clock, which tell how long
    each stage took (while the broker is held that clock stands, and so a stage is as long as it would have been).
    """
    threads = _Threads()
    ended = [(entry["endMicros"] - zero_micros, entry) for entry in requests]
    now = max([end for end, _ in ended] + [event["us"] for event in events[-1:]], default=0.0)
    begin = now - seconds * 1_000_000
    found: list[Json] = []
    for number, (end, entry) in enumerate(ended, start=1):
        if end >= begin:
            found += _request(broker * _FLOWS_OF_A_BROKER + number, entry, end, broker, threads)
    shown = [event for event in events if event["us"] >= begin]
    for event in shown:
        found += _event(event, broker, threads)
    found += _stays(shown, broker, now)
    return {"traceEvents": [*_names(broker, threads), *found], "displayTimeUnit": "ms"}


def _names(pid: int, threads: _Threads) -> Iterable[Json]:
    """Of the process, of what is on nobody's thread, and of the threads."""
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": f"broker {pid}"}}
    yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": 0, "args": {"name": "queues and purgatories"}}
    yield from threads.named(pid)


def _request(number: int, entry: Mapping[str, Any], end: float, pid: int, threads: _Threads) -> Iterable[Json]:
    stamps, api = entry["stampsMicros"], str(entry["api"])
    arguments = {name: entry.get(name) for name in ("clientId", "connection", "correlationId", "version")}
    flow = {"name": api, "cat": "request", "pid": pid, "id": number}
    for first, then, stage, owner in _STAGES:
        ts, duration = end - (stamps["end"] - stamps[first]), stamps[then] - stamps[first]
        if stamps[first] < 0 or duration < 0:
            continue  # it never came to this stage: there is nothing to write where no answer is sent
        if owner is not None:
            tid = threads(str(entry.get(owner)))
            title = f"{api} {stage}"
            yield {"ph": "X", "name": title, "cat": stage, "pid": pid, "tid": tid, "ts": ts, "dur": duration,
                   "args": arguments}  # fmt: skip
            arrow: Json = {"ph": "s"} if owner == "handlerThread" else {"ph": "f", "bp": "e"}
            yield {**flow, **arrow, "tid": tid, "ts": ts}
        elif duration > 0:
            place = {"name": f"{api} {stage}", "cat": stage, "pid": pid, "tid": 0, "id": number}
            yield {"ph": "b", **place, "ts": ts, "args": arguments}
            yield {"ph": "e", **place, "ts": ts + duration}


def _stays(events: Sequence[Mapping[str, Any]], pid: int, now: float) -> Iterable[Json]:
    """From when an operation came into a purgatory to its completion, or to now."""
    watched: dict[int, Mapping[str, Any]] = {}
    for event in events:
        operation = event.get("operation")
        if operation is not None and event["kind"] == "watch":
            watched[operation] = event
        elif operation in watched and event["kind"] == "complete":
            yield from _stay(watched.pop(operation), pid, event["us"])
    for event in watched.values():
        yield from _stay(event, pid, now)


def _stay(event: Mapping[str, Any], pid: int, until: float) -> Iterable[Json]:
    name = f"{event.get('purgatory', '')} purgatory"
    place = {"name": name, "cat": "purgatory", "pid": pid, "tid": 0, "id": event["operation"]}
    yield {"ph": "b", **place, "ts": event["us"], "args": {"keys": event.get("keys")}}
    yield {"ph": "e", **place, "ts": until}


def _event(event: Mapping[str, Any], pid: int, threads: _Threads) -> Iterable[Json]:
    """A mark on the thread, and a counter where a depth or an offset is told."""
    kind, ts = str(event["kind"]), event["us"]
    tid = threads(str(event.get("thread") or "?"))
    shown = {name: value for name, value in event.items() if name not in ("id", "us", "kind", "thread")}
    yield {"ph": "i", "s": "t", "name": kind, "cat": "event", "pid": pid, "tid": tid, "ts": ts, "args": shown}
    for name, unit in (("depth", "queue"), ("highWatermark", "partition")):
        value = event.get(name)
        if isinstance(value, int):
            series = f"{name} {event.get(unit, '')}"
            yield {"ph": "C", "name": series, "pid": pid, "tid": 0, "ts": ts, "args": {name: value}}
