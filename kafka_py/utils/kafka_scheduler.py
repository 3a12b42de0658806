"""Background tasks: once, later, or again and again.

Mirrors: core/src/main/scala/kafka/utils/KafkaScheduler.scala @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.utils.concurrent import AtomicInteger, ReentrantLock, ScheduledThreadPoolExecutor
from kafka_py.utils.logging import Logging

_ONE_DAY_MS = 24 * 60 * 60 * 1000


class Scheduler(ABC):
    """Runs functions later.

    Mirrors: kafka.utils.Scheduler
    """

    @abstractmethod
    def startup(self) -> None:
        """Get ready to take tasks."""

    @abstractmethod
    def shutdown(self) -> None:
        """End; no task runs once this has returned."""

    @property
    @abstractmethod
    def is_started(self) -> bool:
        """Whether tasks are taken."""

    @abstractmethod
    def schedule(self, name: str, fun: Callable[[], Any], delay: int = 0, period: int = -1) -> Any:
        """Run fun in delay ms, and if period >= 0 every period ms after that."""


class KafkaScheduler(Scheduler, Logging):
    """Runs tasks on a fixed number of threads; a task that raises is logged, and a periodic one runs again.

    Mirrors: kafka.utils.KafkaScheduler
    Thread: kafka-scheduler-{n} runs the tasks; any thread may schedule.
    Locks: _lock.
    Differs: schedule answers a future, as later versions of Kafka do.
    """

    def __init__(self, threads: int, thread_name_prefix: str = "kafka-scheduler-", daemon: bool = True) -> None:
        self.threads = threads
        self.thread_name_prefix = thread_name_prefix
        self.daemon = daemon
        self._lock = ReentrantLock()
        self._executor: ScheduledThreadPoolExecutor | None = None  # volatile: writer under _lock
        self._scheduler_thread_id = AtomicInteger(0)

    def startup(self) -> None:
        """Make the pool; IllegalStateException if it has been made already."""
        self.debug("Initializing task scheduler.")
        with self._lock:
            if self.is_started:
                raise IllegalStateException("This scheduler has already been started!")
            self._executor = ScheduledThreadPoolExecutor(self.threads, self._new_thread)

    def _new_thread(self, runnable: Callable[[], None]) -> KafkaThread:
        name = self.thread_name_prefix + str(self._scheduler_thread_id.get_and_increment())
        return KafkaThread(name, runnable, self.daemon)

    def shutdown(self) -> None:
        """Drop the waiting tasks and wait for the running ones."""
        self.debug("Shutting down task scheduler.")
        executor = self._executor  # another thread may shut us down at the same time
        if executor is not None:
            with self._lock:
                executor.shutdown()
                self._executor = None
            executor.await_termination(_ONE_DAY_MS)

    def schedule_once(self, name: str, fun: Callable[[], Any]) -> Any:
        """Run fun as soon as a thread is free."""
        return self.schedule(name, fun, delay=0, period=-1)

    def schedule(self, name: str, fun: Callable[[], Any], delay: int = 0, period: int = -1) -> Any:
        """Run fun in delay ms, and if period >= 0 every period ms after that; IllegalStateException if not running."""
        self.debug("Scheduling task %s with initial delay %d ms and period %d ms.", name, delay, period)
        with self._lock:
            self._ensure_running()
            assert self._executor is not None

            def runnable() -> None:
                self._run_task(name, fun)

            if period >= 0:
                return self._executor.schedule_at_fixed_rate(runnable, delay, period)
            return self._executor.schedule(runnable, delay)

    def _run_task(self, name: str, fun: Callable[[], Any]) -> None:
        self.trace("Beginning execution of scheduled task '%s'.", name)
        try:
            fun()
        except BaseException as e:  # noqa: BLE001  # one bad task must not take the thread from the others
            self.error("Uncaught exception in scheduled task '%s'", name, exc=e)
        finally:
            self.trace("Completed execution of scheduled task '%s'.", name)

    def resize_thread_pool(self, new_size: int) -> None:
        """Change the number of threads."""
        with self._lock:
            self._ensure_running()
            assert self._executor is not None
            self._executor.set_core_pool_size(new_size)

    @property
    def is_started(self) -> bool:
        """Whether startup has been called and shutdown has not."""
        return self._executor is not None

    def _ensure_running(self) -> None:
        if not self.is_started:
            raise IllegalStateException("Kafka scheduler is not running.")
