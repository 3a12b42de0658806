"""A timer whose clock stands still until a test moves it.

Mirrors: core/src/test/scala/unit/kafka/utils/timer/MockTimer.scala @ 1.1.1
"""

from __future__ import annotations

import heapq

from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.timer.timer import Timer
from kafka_py.utils.timer.timer_task import TimerTask
from kafka_py.utils.timer.timer_task_list import TimerTaskEntry


class MockTimer(Timer):
    """Runs what is due on the thread that calls advance_clock, in the order in which it falls due.

    A task that is due at the very moment at which the clock stops waits for the next call.

    Mirrors: MockTimer of core/src/test (kafka.utils.timer)
    """

    def __init__(self, time: MockTime | None = None) -> None:
        self.time = MockTime() if time is None else time
        self._task_queue: list[TimerTaskEntry] = []

    def add(self, timer_task: TimerTask) -> None:
        """Run the task when its delay is over; at once if it has none."""
        if timer_task.delay_ms <= 0:
            timer_task.run()
        else:
            entry = TimerTaskEntry(timer_task, timer_task.delay_ms + self.time.milliseconds())
            heapq.heappush(self._task_queue, entry)

    def advance_clock(self, timeout_ms: int) -> bool:
        """Move the clock on by timeout_ms and run what is due; whether anything was."""
        self.time.sleep(timeout_ms)
        executed = False
        now = self.time.milliseconds()
        while self._task_queue and now > self._task_queue[0].expiration_ms:
            entry = heapq.heappop(self._task_queue)
            if not entry.cancelled and entry.timer_task is not None:
                entry.timer_task.run()
                executed = True
        return executed

    @property
    def size(self) -> int:
        """How many tasks wait, those included that have been cancelled."""
        return len(self._task_queue)

    def shutdown(self) -> None:
        """What waits will not run."""
        self._task_queue.clear()
