"""Hierarchical timing wheels: adding and cancelling a task take the same short time however many tasks there are.

Mirrors: core/src/main/scala/kafka/utils/timer/TimingWheel.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import AtomicInteger, DelayQueue, ReentrantLock
from kafka_py.utils.timer.timer_task_list import TimerTaskEntry, TimerTaskList


class TimingWheel:
    """A ring of `wheel_size` buckets of `tick_ms` each, turning with the clock.

    A task due within one turn goes into the bucket of its tick. One due later goes to the overflow wheel, whose tick
    is a whole turn of this one; when that bucket falls due, its tasks come back to the finer wheel. Buckets with
    tasks stand in the delay queue, so the clock jumps from one to the next and never ticks through empty ones.

    Mirrors: kafka.utils.timer.TimingWheel
    Locks: the timer's lock is held by whoever calls.
    """

    def __init__(
        self,
        tick_ms: int,
        wheel_size: int,
        start_ms: int,
        task_counter: AtomicInteger,
        queue: DelayQueue[TimerTaskList],
        time: Time = Time.SYSTEM,
    ) -> None:
        self._tick_ms = tick_ms
        self._wheel_size = wheel_size
        self._task_counter = task_counter
        self._queue = queue
        self._time = time
        self._interval = tick_ms * wheel_size
        self._buckets = [TimerTaskList(task_counter, time) for _ in range(wheel_size)]
        self._current_time = start_ms - start_ms % tick_ms  # volatile: writer under the timer's lock
        self._overflow_wheel: TimingWheel | None = None  # volatile: writer under _lock
        self._lock = ReentrantLock()

    def _add_overflow_wheel(self) -> TimingWheel:
        with self._lock:
            if self._overflow_wheel is None:
                self._overflow_wheel = TimingWheel(
                    self._interval, self._wheel_size, self._current_time, self._task_counter, self._queue, self._time
                )
            return self._overflow_wheel

    def add(self, timer_task_entry: TimerTaskEntry) -> bool:
        """Put the entry into the bucket of its time; False if it is due already or cancelled."""
        expiration = timer_task_entry.expiration_ms
        if timer_task_entry.cancelled:
            return False
        if expiration < self._current_time + self._tick_ms:
            return False
        if expiration < self._current_time + self._interval:
            virtual_id = expiration // self._tick_ms
            bucket = self._buckets[virtual_id % self._wheel_size]
            bucket.add(timer_task_entry)
            task = timer_task_entry.timer_task
            if task is None or task._timer_task_entry is not timer_task_entry:
                bucket.remove(timer_task_entry)  # cancelled on its way in
            # A bucket enters the queue once per turn: when the wheel has turned and it gets its next time.
            if bucket.set_expiration(virtual_id * self._tick_ms):
                self._queue.offer(bucket)
            return True
        return (self._overflow_wheel or self._add_overflow_wheel()).add(timer_task_entry)

    def advance_clock(self, time_ms: int) -> None:
        """Turn this wheel, and the coarser ones, to the time."""
        if time_ms >= self._current_time + self._tick_ms:
            self._current_time = time_ms - time_ms % self._tick_ms
            if self._overflow_wheel is not None:
                self._overflow_wheel.advance_clock(self._current_time)
