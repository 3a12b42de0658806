"""Holding the broker's threads at their hand-overs, and letting them go step by step.

Ours, no original.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock, untapped
from kafka_py.xray.passage import GATES, Passage, may_be_held

if TYPE_CHECKING:
    from kafka_py.utils.concurrent import Condition
    from kafka_py.xray.event_log import EventLog
    from kafka_py.xray.held_time import HeldTime

MOST_WAIT_MS = 2000.0
"""A thread that is slowed down waits at most so long at one gate."""
MOST_HELD_MS = 1000.0
"""A held thread looks so often whether it was let go, whoever forgot to tell it."""
_FIELDS = {"points", "thread", "api", "client", "topic"}


class Rule(NamedTuple):
    """Which passages are held: those that every given part says yes to."""

    points: frozenset[str] | None = None
    thread: str | None = None
    api: str | None = None
    client: str | None = None
    topic: str | None = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Rule:
        """From its JSON form; ValueError for what is no rule."""
        unknown = set(told) - _FIELDS
        if unknown:
            raise ValueError(f"a rule has no {', '.join(sorted(unknown))}; it may have {', '.join(sorted(_FIELDS))}")
        points = told.get("points")
        if points is not None:
            if not isinstance(points, (list, tuple)) or not points:
                raise ValueError("points is a list of names, or null for all")
            wrong = [point for point in points if point not in GATES]
            if wrong:
                raise ValueError(f"no such point: {', '.join(map(str, wrong))}")
            points = frozenset(points)
        patterns = {name: told.get(name) for name in ("thread", "api", "client", "topic")}
        for name, pattern in patterns.items():
            if pattern is not None and not isinstance(pattern, str):
                raise ValueError(f"{name} is a text, or null for all")
        return cls(points, **patterns)

    @property
    def is_all(self) -> bool:
        """Whether it holds everything."""
        return all(part is None for part in self)

    def selects(self, passage: Passage) -> bool:
        """Whether this passage is held; `thread`, `client` and `topic` may have wildcards."""
        request = passage.request
        return (
            (self.points is None or passage.point in self.points)
            and (self.thread is None or fnmatchcase(passage.thread, self.thread))
            and (self.api is None or (request is not None and request.api == self.api))
            and (self.client is None or (request is not None and fnmatchcase(request.client_id, self.client)))
            and (self.topic is None or any(fnmatchcase(topic, self.topic) for topic in passage.topics))
        )


class _Held:
    """A thread that stands at a gate.

    Locks: the holder's _lock guards `passes`.
    """

    __slots__ = ("order", "passage", "passes", "since_ns")

    def __init__(self, passage: Passage, since_ns: int, order: int) -> None:
        self.passage = passage
        self.since_ns = since_ns
        self.order = order
        self.passes = 0


class Holder:
    """Holds the threads that its rules select, each at the point that it comes to next.

    Nothing is held while there are no rules, and a thread that waits for something (a selector, a queue, a lock) is
    not at a point: it is held when it comes to one. With a rule that holds everything the clock stands from `hold`
    to `resume`; with others while a thread is held.

    Thread: any of the broker's arrives; HTTP threads and tests hold, step and resume.
    Locks:  _lock; a held thread waits without it, so that who looks or lets go never waits for who is held.
    """

    def __init__(
        self,
        clock: HeldTime | None = None,
        events: EventLog | None = None,
        time: Time = Time.SYSTEM,
        holdable: Callable[[str], bool] = may_be_held,
        listen: Callable[[bool], None] | None = None,
    ) -> None:
        """``holdable`` says by its name whether a thread may be held at all.

        ``listen(True)`` is called when passages are to come here, ``listen(False)`` when they need not any more.
        """
        self._clock = clock
        self._events = events
        self._time = time
        self._holdable = holdable
        self._listen = listen
        self._lock = ReentrantLock()
        self._changed: Condition = self._lock.new_condition()
        self._rules: tuple[Rule, ...] = ()  # volatile: writer under _lock
        self._factor = 1.0  # volatile: writer under _lock
        self._held: dict[str, _Held] = {}  # guarded by: _lock
        self._passes: dict[str, int] = {}  # guarded by: _lock
        self._arrivals = 0  # guarded by: _lock
        self._cpu_ns: ConcurrentHashMap[str, int] = ConcurrentHashMap()  # atomic
        self._closed = False  # volatile: writer under _lock

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What is held now."""
        return self._rules

    @property
    def factor(self) -> float:
        """How many times slower than they could the threads go."""
        return self._factor

    # -- what the taps call, on the thread that passes

    def arrive(self, passage: Passage) -> None:
        """Return when the thread may go on."""
        if passage.point not in GATES:
            return
        rules = self._rules
        if rules and any(rule.selects(passage) for rule in rules) and self._holdable(passage.thread):
            self._stand(passage)
        elif self._factor > 1 and self._holdable(passage.thread):
            self._dawdle(passage.thread)

    def leave(self, passage: Passage) -> None:
        """Nothing: who has passed is held at its next point."""
        return

    def _stand(self, passage: Passage) -> None:
        name = passage.thread
        with untapped(), self._lock:
            if self._spend(name) or not self._rules:
                return
            self._arrivals += 1
            held = self._held[name] = _Held(passage, self._time.nanoseconds(), self._arrivals)
            self._set_clock()
            self._tell(passage, "held")
            self._changed.signal_all()
            try:
                while self._rules and held.passes == 0:
                    self._changed.await_(MOST_HELD_MS)
            finally:
                del self._held[name]
                if held.passes > 1:
                    self._passes[name] = held.passes - 1
                self._set_clock()
                self._tell(passage, "running")
                self._changed.signal_all()

    def _spend(self, name: str) -> bool:
        """Use up one of the steps the thread was given beforehand; False if it has none. Caller holds _lock."""
        left = self._passes.pop(name, 0)
        if left > 1:
            self._passes[name] = left - 1
        return left > 0

    def _dawdle(self, name: str) -> None:
        """Wait factor - 1 times the processor time that the thread used since its last gate."""
        now = time.thread_time_ns()
        took = now - self._cpu_ns.get(name, now)
        self._cpu_ns[name] = now
        wait_ms = min(took * (self._factor - 1) / 1e6, MOST_WAIT_MS)
        if wait_ms >= 0.1:
            with untapped(), self._lock:
                if self._factor > 1:
                    self._changed.await_(wait_ms)

    def _tell(self, passage: Passage, state: str) -> None:
        if self._events is not None:
            fields: dict[str, Any] = {"thread": passage.thread, "state": state, "on": passage.point}
            if passage.request is not None:
                fields["request"] = passage.request.short()
            self._events.put("thread", fields)

    def _set_clock(self) -> None:
        """Caller holds _lock."""
        clock = self._clock
        if clock is None:
            return
        stands = bool(self._held) or any(rule.is_all for rule in self._rules)
        if stands and not clock.is_standing:
            clock.stand()
        elif not stands and clock.is_standing:
            clock.go_on()

    # -- what people call

    def hold(self, rules: Iterable[Mapping[str, Any]] = ({},)) -> None:
        """Hold what these rules select, in place of what was; an empty rule selects everything.

        Threads that are held stay so, whatever the new rules say, until they are stepped or resumed. ValueError for
        no rules or bad ones; RuntimeError when the broker is stopping.
        """
        made = tuple(Rule.of(rule) for rule in rules)
        if not made:
            raise ValueError("no rules: nothing to hold; resume lets go")
        with untapped(), self._lock:
            if self._closed:
                raise RuntimeError("the broker is stopping: nothing is held any more")
            self._rules = made
            self._passes.clear()
            self._set_clock()
        self._ask_for_passages()

    def held(self) -> list[dict[str, Any]]:
        """Who is held where, longest first: thread, point, request, partition, method, since_us."""
        with untapped(), self._lock:
            waiting = sorted(self._held.values(), key=lambda held: held.order)
            now = self._time.nanoseconds()
        return [
            {
                "thread": held.passage.thread,
                "point": held.passage.point,
                "request": None if held.passage.request is None else held.passage.request.whole(),
                "partition": held.passage.fields.get("partition"),
                "method": held.passage.method,
                "label": held.passage.label,
                "since_us": (now - held.since_ns) // 1000,
            }
            for held in waiting
        ]

    def step(self, thread: str | None = None, n: int = 1) -> str | None:
        """Let that thread, or the one held longest, pass n gates; its name, None if nobody is held.

        ValueError for n below 1, KeyError if that thread is not held.
        """
        if n < 1:
            raise ValueError(f"a step is 1 gate or more, not {n}")
        with untapped(), self._lock:
            ready = [held for held in self._held.values() if held.passes == 0]
            if thread is not None:
                ready = [held for held in ready if held.passage.thread == thread]
                if not ready:
                    raise KeyError(f"{thread} is not held")
            if not ready:
                return None
            chosen = min(ready, key=lambda held: held.order)
            chosen.passes = n
            self._changed.signal_all()
            return chosen.passage.thread

    def await_held(
        self, thread: str | None = None, point: str | None = None, timeout_ms: float = 5000
    ) -> dict[str, Any] | None:
        """Wait for a thread (of that name, at that point) to be held; what `held` says of it, None if time ran out."""
        deadline = self._time.nanoseconds() + int(timeout_ms * 1_000_000)
        while True:
            for held in self.held():
                if (thread is None or fnmatchcase(held["thread"], thread)) and point in (None, held["point"]):
                    return held
            left_ms = (deadline - self._time.nanoseconds()) / 1e6
            if left_ms <= 0:
                return None
            with untapped(), self._lock:
                self._changed.await_(min(left_ms, 20.0))

    def resume(self) -> None:
        """Let everybody go, at full speed, and the clock with them."""
        with untapped(), self._lock:
            self._rules = ()
            self._passes.clear()
            self._slow(1.0)
            self._set_clock()
            if self._clock is not None and not self._held and self._clock.is_standing:
                self._clock.go_on()
            self._changed.signal_all()
        self._ask_for_passages()

    def _ask_for_passages(self) -> None:
        if self._listen is not None:
            self._listen(bool(self._rules) or self._factor > 1)

    def slow(self, factor: float) -> None:
        """From now on every thread takes so many times longer from gate to gate; 1 is full speed. ValueError."""
        if not 1 <= factor <= 10_000:
            raise ValueError(f"slow down by 1 to 10000, not {factor}")
        with untapped(), self._lock:
            self._slow(float(factor))
        self._ask_for_passages()

    def _slow(self, factor: float) -> None:
        """Caller holds _lock."""
        self._factor = factor
        self._cpu_ns.clear()
        if self._clock is not None:
            self._clock.slow(factor)
        self._changed.signal_all()

    def advance(self, ms: int) -> None:
        """Move the clock on by hand. ValueError for a step back, RuntimeError where the clock cannot be moved."""
        if self._clock is None:
            raise RuntimeError("this broker's clock is the machine's: kafka.py.xray=step gives it one of its own")
        self._clock.advance(ms)

    def close(self) -> None:
        """Let everybody go for good: the broker stops."""
        with untapped(), self._lock:
            self._closed = True
        self.resume()

    def __repr__(self) -> str:
        return f"Holder(rules={len(self._rules)}, factor={self._factor:g})"
