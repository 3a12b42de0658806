"""Clocks: every part of the broker reads the time through one of these, handed to it.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Time.java, SystemTime.java @ 1.1.1
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import ClassVar


class Time(ABC):
    """A clock; `Time.SYSTEM` is the machine's, tests pass a MockTime.

    Mirrors: org.apache.kafka.common.utils.Time
    """

    SYSTEM: ClassVar[SystemTime]

    @abstractmethod
    def milliseconds(self) -> int:
        """Milliseconds since 1970, wall clock."""

    @abstractmethod
    def nanoseconds(self) -> int:
        """Nanoseconds since some moment; only differences mean anything."""

    def hi_res_clock_ms(self) -> int:
        """nanoseconds() in milliseconds."""
        return self.nanoseconds() // 1_000_000

    @abstractmethod
    def sleep(self, ms: int) -> None:
        """Let milliseconds pass."""


class SystemTime(Time):
    """The machine's clocks.

    Mirrors: org.apache.kafka.common.utils.SystemTime
    Differs: nanoseconds() is the C function itself; a request reads the clock a dozen times.
    """

    nanoseconds = staticmethod(time.monotonic_ns)
    """Nanoseconds of the monotonic clock."""

    def milliseconds(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def hi_res_clock_ms(self) -> int:
        """Milliseconds of the monotonic clock."""
        return time.monotonic_ns() // 1_000_000

    def sleep(self, ms: int) -> None:
        """Block the calling thread for a number of milliseconds."""
        time.sleep(ms / 1000)


Time.SYSTEM = SystemTime()
