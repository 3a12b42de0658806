"""Turns what the taps see into events: passages, and what each thread is at.

Ours, no original.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from kafka_py.common.network.nio_selector import NioSelector
from kafka_py.utils.concurrent import add_point

if TYPE_CHECKING:
    from kafka_py.xray.event_log import EventLog
    from kafka_py.xray.passage import Passage

# What is told when it is done, under the name of the point.
_DONE = {"appended": "append", "completed": "complete"}
_TOLD_WHEN_DONE = frozenset(_DONE.values())
_STATES = {"take": "waiting-queue", "put": "running", "put_all": "running", "wait": "waiting-lock"} | {
    "lock": "waiting-lock",
    "select": "select",
}
add_point(NioSelector, "select", "select")


class EventWriter:
    """A listener that writes passages into the event log.

    Thread: any.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events

    def arrive(self, passage: Passage) -> None:
        """Tell of it; of an append and a completion when they are done, for only then is known what came of them."""
        point = passage.point
        if point in _TOLD_WHEN_DONE:
            return
        fields: dict[str, Any] = {"thread": passage.thread, "method": passage.method}
        if passage.request is not None:
            fields["request"] = passage.request.short()
        fields.update(passage.fields)
        self._events.put(_DONE.get(point, point), fields)

    def leave(self, passage: Passage) -> None:
        """Nothing: what matters has been told."""
        return


class ThreadStates:
    """A tap of queues, locks and selectors that knows what each thread waits for, and tells of changes when asked.

    Thread: each writes its own entry; HTTP threads read.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._now: dict[str, tuple[str, str]] = {}  # atomic
        self._told: dict[str, tuple[str, str]] = {}  # thread: HTTP threads, through EventLog's samplers

    def before(self, op: str, target: object, item: object) -> None:
        """The calling thread is about to wait."""
        name = getattr(target, "name", None)
        on = name if isinstance(name, str) and name else type(target).__name__
        self._now[threading.current_thread().name] = (_STATES[op], on)

    def after(self, op: str, target: object, item: object) -> None:
        """It goes on."""
        self._now[threading.current_thread().name] = ("running", "")

    def of(self, thread: str) -> tuple[str, str]:
        """State of a thread and what it is at; running where nothing is known."""
        return self._now.get(thread, ("running", ""))

    def sample(self) -> None:
        """Tell of the threads whose state is another than was told last, and of those that have ended."""
        alive = {thread.name for thread in threading.enumerate()}
        for name, now in list(self._now.items()):
            if name not in alive:
                now = ("ended", "")
                self._now.pop(name, None)
            if self._told.get(name) != now:
                self._told[name] = now
                self._events.put("thread", {"thread": name, "state": now[0], "on": now[1]})
                if now[0] == "ended":
                    self._told.pop(name, None)
