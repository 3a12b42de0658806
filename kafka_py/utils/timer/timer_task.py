"""Something to run after a delay.

Mirrors: core/src/main/scala/kafka/utils/timer/TimerTask.scala @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.utils.timer.timer_task_list import TimerTaskEntry


class TimerTask(ABC):
    """Runs once, `delay_ms` after it was added to a timer, unless cancelled before.

    Mirrors: kafka.utils.timer.TimerTask
    Differs: no lock. Whatever the order in which the steps of a cancel and of an add by another thread come, it is as
    if one of the two had been first; the entry's list has a lock of its own.
    """

    delay_ms: int
    _timer_task_entry: TimerTaskEntry | None = None

    @abstractmethod
    def run(self) -> None:
        """What to do when the delay is over."""

    def cancel(self) -> None:
        """Take the task out of its timer."""
        entry = self._timer_task_entry
        # nothing is written if there was none: by now another thread may have added the task
        if entry is not None:
            self._timer_task_entry = None
            entry.remove()

    def set_timer_task_entry(self, entry: TimerTaskEntry) -> None:
        """The task is in a timer now; if it was in one before, it leaves that."""
        old, self._timer_task_entry = self._timer_task_entry, entry
        if old is not None and old is not entry:
            old.remove()

    def get_timer_task_entry(self) -> TimerTaskEntry | None:
        """Its place in a timer, if it has one."""
        return self._timer_task_entry
