"""A bucket of the timing wheel: the tasks that fall due together.

Mirrors: core/src/main/scala/kafka/utils/timer/TimerTaskList.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import AtomicInteger, ReentrantLock
from kafka_py.utils.timer.timer_task import TimerTask


class TimerTaskEntry:
    """A task's place in a bucket.

    Mirrors: kafka.utils.timer.TimerTaskEntry
    """

    __slots__ = ("expiration_ms", "list", "next", "prev", "timer_task")

    def __init__(self, timer_task: TimerTask | None, expiration_ms: int) -> None:
        self.timer_task = timer_task
        self.expiration_ms = expiration_ms
        self.list: TimerTaskList | None = None
        self.next: TimerTaskEntry = self
        self.prev: TimerTaskEntry = self
        if timer_task is not None:
            timer_task.set_timer_task_entry(self)

    @property
    def cancelled(self) -> bool:
        """Whether the task has been cancelled, or added anew."""
        return self.timer_task is None or self.timer_task.get_timer_task_entry() is not self

    def remove(self) -> None:
        """Leave the bucket.

        Another thread may be moving the entry to a bucket of another wheel, so look again until it is in none; that
        thread may still put it into one afterwards, where it will be found cancelled.
        """
        current = self.list
        while current is not None:
            current.remove(self)
            current = self.list

    def compare(self, that: TimerTaskEntry) -> int:
        """Negative, zero or positive: due before, with or after that one."""
        return self.expiration_ms - that.expiration_ms

    def __lt__(self, that: TimerTaskEntry) -> bool:
        return self.expiration_ms < that.expiration_ms


class TimerTaskList:
    """A ring of entries around a root without a task; a DelayQueue orders the buckets by when they fall due.

    Mirrors: kafka.utils.timer.TimerTaskList
    Locks: one per bucket, for its ring; never two at a time.
    Differs: entries have no lock; an entry's `list` changes only under the lock of the bucket it enters or leaves, and
    only the thread that moves it enters it anywhere. getDelay asks the timer's own clock.
    """

    def __init__(self, task_counter: AtomicInteger, time: Time = Time.SYSTEM) -> None:
        self._task_counter = task_counter
        self._time = time
        self._lock = ReentrantLock()
        self._root = TimerTaskEntry(None, -1)
        self._expiration = -1  # volatile: writer under _lock

    def set_expiration(self, expiration_ms: int) -> bool:
        """Set when the bucket falls due; whether that is a change."""
        with self._lock:
            old, self._expiration = self._expiration, expiration_ms
            return old != expiration_ms

    def get_expiration(self) -> int:
        """When the bucket falls due; -1 for a bucket out of use."""
        return self._expiration

    def foreach(self, f: Callable[[TimerTask], object]) -> None:
        """Call f with every task that has not been cancelled."""
        with self._lock:
            entry = self._root.next
            while entry is not self._root:
                following = entry.next
                if not entry.cancelled:
                    f(cast("TimerTask", entry.timer_task))
                entry = following

    def add(self, timer_task_entry: TimerTaskEntry) -> None:
        """Put an entry at the end; it leaves the bucket it was in."""
        done = False
        while not done:
            # outside our own lock, for it takes that of the other bucket
            timer_task_entry.remove()
            with self._lock:
                if timer_task_entry.list is None:
                    tail = self._root.prev
                    timer_task_entry.next = self._root
                    timer_task_entry.prev = tail
                    timer_task_entry.list = self
                    tail.next = timer_task_entry
                    self._root.prev = timer_task_entry
                    self._task_counter.increment_and_get()
                    done = True

    def remove(self, timer_task_entry: TimerTaskEntry) -> None:
        """Take an entry out, if it is in this bucket."""
        with self._lock:
            if timer_task_entry.list is self:
                timer_task_entry.next.prev = timer_task_entry.prev
                timer_task_entry.prev.next = timer_task_entry.next
                timer_task_entry.next = timer_task_entry.prev = timer_task_entry
                timer_task_entry.list = None
                self._task_counter.decrement_and_get()

    def flush(self, f: Callable[[TimerTaskEntry], object]) -> None:
        """Take every entry out and hand it to f; the bucket is out of use then."""
        with self._lock:
            head = self._root.next
            while head is not self._root:
                self.remove(head)
                f(head)
                head = self._root.next
            self._expiration = -1

    def get_delay(self) -> int:
        """Milliseconds until due."""
        return max(self._expiration - self._time.hi_res_clock_ms(), 0)

    def compare_to(self, other: TimerTaskList) -> int:
        """-1, 0 or 1: due before, with or after the other."""
        mine, theirs = self._expiration, other._expiration
        return (mine > theirs) - (mine < theirs)

    def __lt__(self, other: object) -> bool:
        return isinstance(other, TimerTaskList) and self._expiration < other._expiration
