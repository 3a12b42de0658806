"""What happened as a trace that Perfetto and Chrome open.

Ours, no original. The form is Chrome's trace events: objects with ``ph`` (M names, X a slice, s and f the ends
of an arrow, C a counter, b and e an asynchronous slice), ``pid``, ``tid``, and ``ts`` and ``dur`` in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
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
    requests: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]], broker: int, seconds: int
) -> Json:
    """``{"traceEvents": […]}`` of the finished requests and the events of the last so many seconds.

    ``requests`` are the journal's entries, with ``startMicros`` on the clock of the broker; ``events`` are the log's,
    whose microseconds count from when it began.
    """
    threads = _Threads()
    found: list[Json] = []
    last = max((entry["startMicros"] for entry in requests), default=0)
    for number, entry in enumerate(requests, start=1):
        if entry["startMicros"] >= last - seconds * 1_000_000:
            found += _request(number, entry, broker, threads)
    newest = events[-1]["us"] if events else 0
    for event in events:
        if event["us"] >= newest - seconds * 1_000_000:
            found += _event(event, broker, threads)
    process = {"ph": "M", "name": "process_name", "pid": broker, "tid": 0, "args": {"name": f"broker {broker}"}}
    return {"traceEvents": [process, *threads.named(broker), *found], "displayTimeUnit": "ms"}


def _request(number: int, entry: Mapping[str, Any], pid: int, threads: _Threads) -> Iterable[Json]:
    stamps, began, api = entry["stampsMicros"], entry["startMicros"], str(entry["api"])
    arguments = {name: entry.get(name) for name in ("clientId", "connection", "correlationId", "version")}
    flow = {"name": api, "cat": "request", "pid": pid, "id": number}
    for first, then, stage, owner in _STAGES:
        ts, duration = began + stamps[first], max(0.0, stamps[then] - stamps[first])
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
    operation = event.get("operation")
    if operation is not None and kind in ("watch", "complete", "expire"):
        name = f"{event.get('purgatory', '')} purgatory"
        phase = "b" if kind == "watch" else "e"
        yield {"ph": phase, "name": name, "cat": "purgatory", "pid": pid, "tid": 0, "id": operation, "ts": ts}
