"""A scheduler whose clock stands still until a test moves it.

Mirrors: core/src/test/scala/unit/kafka/utils/MockScheduler.scala @ 1.1.1
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.kafka_scheduler import Scheduler


class MockTask:
    """A task and the time it is due, in ms; `period` < 0: runs once.

    Mirrors: MockTask of core/src/test (kafka.utils)
    """

    def __init__(self, name: str, fun: Callable[[], Any], next_execution: int, period: int, sequence: int) -> None:
        self.name = name
        self.fun = fun
        self.next_execution = next_execution
        self.period = period
        self.sequence = sequence

    @property
    def periodic(self) -> bool:
        """Whether the task runs again."""
        return self.period >= 0

    def __lt__(self, other: MockTask) -> bool:
        return (self.next_execution, self.sequence) < (other.next_execution, other.sequence)


class MockScheduler(Scheduler):
    """Runs due tasks on the thread that calls tick(), in the order they fall due.

    A MockTime ticks its scheduler whenever it moves. Shutting down runs what is left, once.

    Mirrors: MockScheduler of core/src/test (kafka.utils)
    """

    def __init__(self, time: Time) -> None:
        self.time = time
        self.tasks: list[MockTask] = []
        self._lock = ReentrantLock()
        self._sequence = 0  # guarded by: _lock

    @property
    def is_started(self) -> bool:
        """Always: there are no threads to start."""
        return True

    def startup(self) -> None:
        """Nothing to start."""
        return

    def shutdown(self) -> None:
        """Run every waiting task once and forget it."""
        with self._lock:
            for task in sorted(self.tasks):
                task.fun()
            self.tasks.clear()

    def tick(self) -> None:
        """Run the tasks that are due by now."""
        with self._lock:
            now = self.time.milliseconds()
            while self.tasks and self.tasks[0].next_execution <= now:
                task = heapq.heappop(self.tasks)
                task.fun()
                if task.periodic:
                    task.next_execution += task.period
                    self._push(task)

    def _push(self, task: MockTask) -> None:
        """Keep the tasks in the order they fall due. Caller holds _lock."""
        self._sequence += 1
        task.sequence = self._sequence
        heapq.heappush(self.tasks, task)

    def schedule(self, name: str, fun: Callable[[], Any], delay: int = 0, period: int = -1) -> None:
        """Run fun in delay ms, then every period ms if period >= 0; what is due now runs before this returns."""
        with self._lock:
            self._push(MockTask(name, fun, self.time.milliseconds() + delay, period, 0))
            self.tick()

    def clear(self) -> None:
        """Forget every task."""
        with self._lock:
            self.tasks.clear()
