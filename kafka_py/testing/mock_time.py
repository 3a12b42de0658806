"""A clock that moves only when a test moves it.

Mirrors: clients/src/test/java/org/apache/kafka/common/utils/MockTime.java and
core/src/test/scala/unit/kafka/utils/MockTime.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.common.utils.time import Time
from kafka_py.testing.mock_scheduler import MockScheduler
from kafka_py.utils.concurrent import AtomicLong, CopyOnWriteArrayList


class MockTime(Time):
    """sleep(ms) moves the clock, then runs the listeners and the tasks of `scheduler` that fell due.

    `auto_tick_ms`: how far each look at the clock moves it.

    Mirrors: org.apache.kafka.common.utils.MockTime, and MockTime of core/src/test (kafka.utils)
    """

    def __init__(
        self, auto_tick_ms: int = 0, current_time_ms: int | None = None, current_hi_res_time_ns: int | None = None
    ) -> None:
        system = Time.SYSTEM
        self._time_ms = AtomicLong(system.milliseconds() if current_time_ms is None else current_time_ms)
        # The two clocks start apart, as the real ones do, so that mixing them up is noticed.
        self._hi_res_ns = AtomicLong(system.nanoseconds() if current_hi_res_time_ns is None else current_hi_res_time_ns)
        self.auto_tick_ms = auto_tick_ms
        self._listeners: CopyOnWriteArrayList[Callable[[], Any]] = CopyOnWriteArrayList()
        self.scheduler = MockScheduler(self)

    def add_listener(self, listener: Callable[[], Any]) -> None:
        """Call the listener whenever the clock moves."""
        self._listeners.add(listener)

    def milliseconds(self) -> int:
        """The wall clock."""
        if self.auto_tick_ms:
            self.sleep(self.auto_tick_ms)
        return self._time_ms.get()

    def nanoseconds(self) -> int:
        """The high-resolution clock."""
        if self.auto_tick_ms:
            self.sleep(self.auto_tick_ms)
        return self._hi_res_ns.get()

    def sleep(self, ms: int) -> None:
        """Move both clocks on and run what fell due."""
        self._time_ms.add_and_get(ms)
        self._hi_res_ns.add_and_get(ms * 1_000_000)
        self._tick()

    def set_current_time_ms(self, new_ms: int) -> None:
        """Set the clock; ValueError if that would move it back."""
        old_ms = self._time_ms.get_and_set(new_ms)
        if old_ms > new_ms:
            self._time_ms.set(old_ms)
            raise ValueError(f"Setting the time to {new_ms} while current time {old_ms} is newer; this is not allowed")
        self._hi_res_ns.set(new_ms * 1_000_000)
        self._tick()

    def _tick(self) -> None:
        for listener in self._listeners:
            listener()
        if not self.auto_tick_ms:
            self.scheduler.tick()
