"""The order in which threads passed their points: written down, kept, and forced again.

Ours, no original. A race found once by stepping becomes a test that always runs it.
"""

from __future__ import annotations

import json
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from kafka_py.utils.concurrent import ReentrantLock, untapped
from kafka_py.utils.logging import Logging
from kafka_py.xray import taps
from kafka_py.xray.passage import GATES

if TYPE_CHECKING:
    from kafka_py.utils.concurrent import Condition
    from kafka_py.xray.passage import Passage

MOST_STEPS = 100_000
WAIT_MS = 10_000.0
GRACE_MS = 1_000.0


class Step(NamedTuple):
    """One thread passes one point."""

    thread: str
    point: str
    label: str = ""


class Schedule(NamedTuple):
    """Steps in the order in which they were, or shall be, taken."""

    steps: tuple[Step, ...]

    @classmethod
    def of(cls, *steps: tuple[str, str, str]) -> Schedule:
        """From (thread, point, label)."""
        return cls(tuple(Step(*step) for step in steps))

    @classmethod
    def from_json(cls, text: str | bytes) -> Schedule:
        """From ``{"steps": [["thread", "point", "label"], …]}``; ValueError for anything else."""
        told = json.loads(text)
        steps = told.get("steps") if isinstance(told, dict) else None
        if not isinstance(steps, list) or not all(
            isinstance(step, list) and 2 <= len(step) <= 3 and all(isinstance(part, str) for part in step)
            for step in steps
        ):
            raise ValueError('a schedule is {"steps": [["thread", "point", "label"], ...]}')
        return cls(tuple(Step(*step) for step in steps))

    def to_json(self) -> str:
        """One step a line, for people and version control."""
        lines = ",\n".join("  " + json.dumps(list(step), ensure_ascii=False) for step in self.steps)
        return '{"steps": [\n' + lines + "\n]}\n"


class ScheduleStuck(AssertionError):
    """A replay could not go on; the text says whose turn it was, and who waited where."""


class Recorder:
    """Writes steps down.

    Thread: any.
    Locks:  _lock.
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._steps: list[Step] = []  # guarded by: _lock
        self._recording = False  # guarded by: _lock

    @property
    def is_recording(self) -> bool:
        """Whether steps are written down."""
        with self._lock:
            return self._recording

    def record(self) -> None:
        """Forget the last schedule and begin a new one; nothing happens while one is recorded."""
        with self._lock:
            if self._recording:
                return
            self._recording = True
            self._steps = []
        taps.install(self)

    def stop(self) -> Schedule:
        """What was passed since record; empty if nothing was recorded."""
        with self._lock:
            was, self._recording = self._recording, False
            schedule = Schedule(tuple(self._steps) if was else ())
        if was:
            taps.remove(self)
        return schedule

    def arrive(self, passage: Passage) -> None:
        """Note the step; the first 100,000 of them."""
        if passage.point not in GATES:
            return
        with self._lock:
            if self._recording and len(self._steps) < MOST_STEPS:
                self._steps.append(Step(passage.thread, passage.point, passage.label))

    def leave(self, passage: Passage) -> None:
        """Nothing: steps are noted when they begin."""
        return


class Replay(Logging):
    """Lets threads pass their points in the order of a schedule.

    A thread that comes to a point at which the schedule still wants it waits for its turn; passages that are not in
    what is left of the schedule are free. A step has been taken when its method has returned, or its thread has come
    to its next point, or a second has gone by (it may wait for what a later step does).

    Thread: any passes; `with Replay(schedule):` on whichever started it.
    Locks:  _lock.
    """

    def __init__(self, schedule: Schedule, wait_ms: float = WAIT_MS, grace_ms: float = GRACE_MS) -> None:
        """After ``wait_ms`` in which nobody whose turn it is has come, all go free, and ``stuck`` says why."""
        self.schedule = schedule
        self._wait_ms = wait_ms
        self._grace_ms = grace_ms
        self._lock = ReentrantLock()
        self._changed: Condition = self._lock.new_condition()
        self._next = 0  # guarded by: _lock
        self._left = Counter(schedule.steps)  # guarded by: _lock
        self._busy: str | None = None  # guarded by: _lock
        self._waiting: dict[str, Step] = {}  # guarded by: _lock
        self.stuck: str | None = None  # volatile: writer under _lock

    @property
    def is_done(self) -> bool:
        """Whether every step has begun."""
        with self._lock:
            return self._next >= len(self.schedule.steps)

    def is_waiting(self, thread: str) -> bool:
        """Whether a thread of that name waits for its turn."""
        with self._lock:
            return thread in self._waiting

    def arrive(self, passage: Passage) -> None:
        """Return when it is this thread's turn."""
        step = Step(passage.thread, passage.point, passage.label)
        with untapped(), self._lock:
            self._done(passage.thread)
            if self.stuck is not None or not self._left[step]:
                return
            self._waiting[passage.thread] = step
            try:
                self._await_turn(step)
            finally:
                del self._waiting[passage.thread]

    def leave(self, passage: Passage) -> None:
        """The step is taken."""
        with untapped(), self._lock:
            self._done(passage.thread)

    def _done(self, thread: str) -> None:
        """Caller holds _lock."""
        if self._busy == thread:
            self._busy = None
            self._changed.signal_all()

    def _await_turn(self, step: Step) -> None:
        """Caller holds _lock."""
        while self.stuck is None:
            at = self._next
            mine = at < len(self.schedule.steps) and self.schedule.steps[at] == step
            if mine and self._busy is None:
                self._next += 1
                self._left[step] -= 1
                self._busy = step.thread
                self._changed.signal_all()
                return
            if self._changed.await_(self._grace_ms if mine else self._wait_ms) or self._next != at:
                continue
            if mine:
                self._busy = None
            else:
                self._give_up()

    def _give_up(self) -> None:
        """Caller holds _lock."""
        steps = self.schedule.steps
        turn = " ".join(steps[self._next]) if self._next < len(steps) else "nobody's"
        waiting = "; ".join(f"{name} at {step.point} {step.label}".strip() for name, step in self._waiting.items())
        self.stuck = f"step {self._next + 1} of {len(steps)} ({turn}) was not taken; waiting: {waiting or 'nobody'}"
        self.warn("A schedule cannot go on, and all go free: %s", self.stuck)
        self._changed.signal_all()

    def start(self) -> None:
        """From now on."""
        taps.install(self, first=True)

    def close(self) -> None:
        """No longer; whoever waits goes free."""
        with untapped(), self._lock:
            if self.stuck is None and not self.is_done:
                self._give_up()
            self._changed.signal_all()
        taps.remove(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """ScheduleStuck if the replay could not go on or was not played to its end."""
        self.close()
        if kind is None and self.stuck is not None:
            raise ScheduleStuck(self.stuck)
