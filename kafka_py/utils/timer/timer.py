"""Runs tasks after a delay; made for many tasks, most of which are cancelled.

Mirrors: core/src/main/scala/kafka/utils/timer/Timer.scala @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import (
    AtomicInteger,
    DelayQueue,
    ReentrantLock,
    RejectedExecutionException,
    ThreadPoolExecutor,
)
from kafka_py.utils.logging import get_logger
from kafka_py.utils.timer.timer_task import TimerTask
from kafka_py.utils.timer.timer_task_list import TimerTaskEntry, TimerTaskList
from kafka_py.utils.timer.timing_wheel import TimingWheel

_log = get_logger("kafka.utils.timer.SystemTimer")


class Timer(ABC):
    """What a purgatory needs of a timer.

    Mirrors: kafka.utils.timer.Timer
    """

    @abstractmethod
    def add(self, timer_task: TimerTask) -> None:
        """Run the task when its delay, counted from now, is over."""

    @abstractmethod
    def advance_clock(self, timeout_ms: int) -> bool:
        """Run what is due, waiting up to timeout_ms for something to be; whether anything was."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many tasks wait."""

    @abstractmethod
    def shutdown(self) -> None:
        """End; the waiting tasks do not run."""


class SystemTimer(Timer):
    """A timing wheel that somebody turns by calling advance_clock, and a thread that runs what fell due.

    Mirrors: kafka.utils.timer.SystemTimer
    Thread: executor-{name} runs the tasks; the purgatory's reaper turns the wheel; any thread adds.
    Locks: _lock around the wheel and the delay queue.
    Differs: one lock in place of a read-write lock, whose read half costs five times as much here and allows nothing
    that the interpreter would do side by side. The clock may be given.
    Left out: reinsert, readLock, writeLock -- a function passed by name; the one lock
    """

    def __init__(
        self,
        executor_name: str,
        tick_ms: int = 1,
        wheel_size: int = 20,
        start_ms: int | None = None,
        time: Time = Time.SYSTEM,
    ) -> None:
        self._time = time
        self._task_executor = ThreadPoolExecutor(
            1, lambda run: KafkaThread.non_daemon(f"executor-{executor_name}", run)
        )
        self._delay_queue: DelayQueue[TimerTaskList] = DelayQueue(name=f"timer-{executor_name}")
        self._task_counter = AtomicInteger(0)
        start = time.hi_res_clock_ms() if start_ms is None else start_ms
        self._timing_wheel = TimingWheel(tick_ms, wheel_size, start, self._task_counter, self._delay_queue, time)
        self._lock = ReentrantLock()

    def add(self, timer_task: TimerTask) -> None:
        """Run the task when its delay, counted from now, is over."""
        with self._lock:
            self._add_timer_task_entry(TimerTaskEntry(timer_task, timer_task.delay_ms + self._time.hi_res_clock_ms()))

    def _add_timer_task_entry(self, timer_task_entry: TimerTaskEntry) -> None:
        # Not taken by the wheel: due already, or cancelled.
        if not self._timing_wheel.add(timer_task_entry) and not timer_task_entry.cancelled:
            assert timer_task_entry.timer_task is not None
            task = timer_task_entry.timer_task
            try:
                self._task_executor.submit(task.run).when_complete(_log_failure)
            except RejectedExecutionException:
                _log.debug("%s fell due after the timer was shut down", task)

    def advance_clock(self, timeout_ms: int) -> bool:
        """Run what is due, waiting up to timeout_ms for something to be; whether anything was."""
        bucket = self._delay_queue.poll(timeout_ms)
        if bucket is None:
            return False
        with self._lock:
            while bucket is not None:
                self._timing_wheel.advance_clock(bucket.get_expiration())
                bucket.flush(self._add_timer_task_entry)
                bucket = self._delay_queue.poll()
        return True

    @property
    def size(self) -> int:
        """How many tasks wait."""
        return self._task_counter.get()

    def shutdown(self) -> None:
        """End; the waiting tasks do not run."""
        self._task_executor.shutdown()


def _log_failure(_: object, error: BaseException | None) -> None:
    if error is not None:
        _log.error("Uncaught exception in a timer's task", exc=error)
