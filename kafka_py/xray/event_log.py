"""What happened inside the broker, in order: a ring of numbered events for any number of watchers.

Ours, no original. Who writes never waits for who reads: the ring forgets its oldest events, and a watcher that was too
slow is told how many it has missed.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ReentrantLock, untapped

if TYPE_CHECKING:
    from kafka_py.utils.concurrent import Condition

CAPACITY = 20_000
SAMPLE_INTERVAL_NS = 50_000_000
_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


class Event(dict[str, Any]):
    """An event: a dict that also keeps its JSON, so that several watchers have it written once.

    Thread: any; two that write it at once write the same.
    """

    __slots__ = ("_text",)
    _text: str

    @property
    def text(self) -> str:
        """The event as JSON."""
        try:
            return self._text
        except AttributeError:
            self._text = _encode(self)
            return self._text


def json_of(events: Sequence[Event]) -> str:
    """The JSON array of these events; an event's part of it is made once, whoever asks how often."""
    return "[" + ",".join([event.text for event in events]) + "]"


class EventLog:
    """A bounded ring of events with ids 1, 2, 3 …

    An event is a dict that JSON can write: ``id``, ``us`` (microseconds since the log began), ``thread``, ``kind``, and
    what else is known of it.

    Thread: any emits; HTTP threads read.
    Locks:  _lock, held for a few instructions by writers; nothing is called while it is held.
    """

    def __init__(self, capacity: int = CAPACITY, time: Time = Time.SYSTEM) -> None:
        """``time`` stamps the events: the machine's clock, which runs on while threads are held."""
        self.capacity = capacity
        self._nanoseconds = time.nanoseconds
        self._began = time.nanoseconds()
        self._lock = ReentrantLock()
        self._changed: Condition = self._lock.new_condition()
        self._ring: deque[Event] = deque(maxlen=capacity)  # guarded by: _lock
        self._last_id = 0  # volatile: writer under _lock
        self._waiting = 0  # guarded by: _lock
        self._missed = 0  # guarded by: _lock
        self._samplers: tuple[Callable[[], None], ...] = ()  # volatile: whoever adds one
        self._sampled_at = 0  # volatile: HTTP threads; a sample too many does no harm

    @property
    def began_micros(self) -> float:
        """When the log began: microseconds of the machine's clock."""
        return self._began / 1000

    @property
    def last_id(self) -> int:
        """The id of the newest event, 0 before there is one."""
        return self._last_id

    @property
    def missed(self) -> int:
        """How many events watchers have missed because they came too late for them."""
        with self._lock:
            return self._missed

    def emit(self, kind: str, **fields: Any) -> None:
        """Note an event of the calling thread, now."""
        fields.setdefault("thread", threading.current_thread().name)
        self.put(kind, fields)

    def put(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Note an event whose fields are in a mapping; it names its thread itself."""
        us = (self._nanoseconds() - self._began) // 1000
        with self._lock:
            self._last_id = last = self._last_id + 1
            self._ring.append(Event(fields, id=last, us=us, kind=kind))
            if self._waiting:
                self._changed.signal_all()

    def add_sampler(self, sampler: Callable[[], None]) -> None:
        """Call this, which may emit, before events are read: at most every 50 ms, and never while nobody reads."""
        self._samplers = (*self._samplers, sampler)

    def after(self, id: int, limit: int = 10_000, timeout_ms: float = 0) -> list[Event]:
        """The events behind that id, oldest first, at most ``limit``; waits up to timeout_ms for the first of them.

        Where events have been forgotten, one ``dropped`` event tells how many. A watcher that is so slow that the
        ring has overtaken it goes on from the newest.
        """
        self._sample()
        with untapped(), self._lock:
            if id >= self._last_id and timeout_ms > 0:
                self._waiting += 1
                try:
                    self._changed.await_(timeout_ms)
                finally:
                    self._waiting -= 1
            return self._read(id, limit)

    def _read(self, id: int, limit: int) -> list[Event]:
        """Caller holds _lock."""
        ring = self._ring
        if not ring or id >= self._last_id:
            return []
        first = ring[0]["id"]
        if id + 1 >= first:
            start = id + 1 - first
            return list(islice(ring, start, start + limit))
        newest = ring[-1]
        dropped = newest["id"] - 1 - id
        self._missed += dropped
        told = Event(id=newest["id"] - 1, us=newest["us"], kind="dropped", thread="", dropped=dropped)
        return [told, newest]

    def _sample(self) -> None:
        now = self._nanoseconds()
        if now - self._sampled_at < SAMPLE_INTERVAL_NS:
            return
        self._sampled_at = now
        for sampler in self._samplers:
            sampler()

    def __repr__(self) -> str:
        return f"EventLog(last={self.last_id}, capacity={self.capacity})"
