"""Turns what the taps see into events: passages, and what each thread is at.

Ours, no original.
"""

from __future__ import annotations

import threading
from collections import deque
from threading import get_ident
from typing import TYPE_CHECKING, Any

from kafka_py.common.network.nio_selector import NioSelector
from kafka_py.utils.concurrent import ConcurrentHashMap, add_point

if TYPE_CHECKING:
    from kafka_py.xray.event_log import EventLog
    from kafka_py.xray.passage import Passage

# What is told when it is done, under the name of the point.
_DONE = {"appended": "append", "completed": "complete"}
_TOLD_WHEN_DONE = frozenset(_DONE.values())
_STATES = {"take": "waiting-queue", "wait": "waiting-lock", "lock": "waiting-lock", "select": "select"}
WAITS = frozenset(_STATES)
"""The hand-overs at which a thread may have to wait: those that ThreadStates is to be told of."""
_RUNNING = ("", None)
MOST_SENT = 12  # to each broker
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
        if point not in _TOLD_WHEN_DONE:
            self._events.put(_DONE.get(point, point), passage)

    def leave(self, passage: Passage) -> None:
        """Nothing: what matters has been told."""
        return


class SentByController:
    """A listener that remembers the last requests that the controller sent to each broker while somebody watched.

    Thread: each send thread writes for its broker; HTTP threads read.
    """

    def __init__(self) -> None:
        self._sent: ConcurrentHashMap[int, deque[dict[str, Any]]] = ConcurrentHashMap()  # atomic

    def arrive(self, passage: Passage) -> None:
        """Remember it, if it is a request of the controller's."""
        if passage.point == "controller-send":
            told = dict(passage.fields)
            self._sent.setdefault(told.pop("broker"), deque(maxlen=MOST_SENT)).append(told)

    def leave(self, passage: Passage) -> None:
        """Nothing: it was told when it was sent."""
        return

    def to(self, broker: int) -> list[dict[str, Any]]:
        """The last ones to a broker, the newest last."""
        return list(self._sent.get(broker) or ())


class ThreadStates:
    """A tap of queues, locks and selectors that knows what each thread waits for, and tells of changes when asked.

    Thread: each writes its own entry, in as few steps as can be; HTTP threads read.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        # thread id -> what it does to what
        self._now: ConcurrentHashMap[int, tuple[str, object]] = ConcurrentHashMap()  # atomic
        self._told: dict[str, tuple[str, str]] = {}  # thread: HTTP threads, through EventLog's samplers

    def before(self, op: str, target: object, item: object) -> None:
        """The calling thread is about to wait, if it does not put something."""
        if op in _STATES:
            self._now[get_ident()] = (op, target)

    def after(self, op: str, target: object, item: object) -> None:
        """It goes on."""
        if op in _STATES:
            self._now[get_ident()] = _RUNNING

    def of(self, thread: str) -> tuple[str, str]:
        """State of a thread and what it is at; running where nothing is known."""
        return self._named().get(thread, ("running", ""))

    def _named(self) -> dict[str, tuple[str, str]]:
        """The state of each thread that is alive and was seen, by its name; the others are forgotten."""
        alive = {thread.ident: thread.name for thread in threading.enumerate()}
        found = {}
        for ident, (op, target) in self._now.items():
            name = alive.get(ident)
            if name is None:
                self._now.pop(ident, None)
                continue
            on = getattr(target, "name", None)
            text = on if isinstance(on, str) and on else type(target).__name__
            found[name] = ("running", "") if target is None else (_STATES[op], text)
        return found

    def sample(self) -> None:
        """Tell of the threads whose state is another than was told last, and of those that have ended."""
        named = self._named()
        for name, now in named.items():
            if self._told.get(name) != now:
                self._told[name] = now
                self._events.put("thread", {"thread": name, "state": now[0], "on": now[1]})
        for name in [name for name in self._told if name not in named]:
            del self._told[name]
            self._events.put("thread", {"thread": name, "state": "ended", "on": ""})
