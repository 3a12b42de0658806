"""Calls that let other threads run, since only one of a Python process can.

Ours, no original: a JVM runs its threads side by side. Measured: one thread computing without pause turns an answer
of 5 us into one of 10 ms; with a yield about every 100 us it stays at 5 us. And a waiting Fetch is answered a third
sooner if the thread that has completed it lets the network thread run at once. Where there is no interpreter's lock
nobody waits for it, and these calls do nothing.
"""

from __future__ import annotations

import os
import time

from kafka_py.utils.free_threading import gil_enabled

_GIL = gil_enabled()
_sleep = time.sleep  # noqa: TID251  # not to wait: sleep(0) gives the interpreter's lock away and takes it back
_now = time.perf_counter_ns


def yield_gil() -> None:
    """Let another thread run; call about every 100 us of computing."""
    if _GIL:
        _sleep(0)


def yield_core() -> None:
    """Let a thread that was just woken have the interpreter's lock and our core, on which it waits (cpu_affinity.py).

    Unlike yield_gil, which takes the lock back before the woken thread has got as far as asking for it.
    """
    if _GIL:
        os.sched_yield()


class GilYielder:
    """Yields by itself when enough time has passed: `maybe_yield()` per item, for items of unknown size."""

    __slots__ = ("_interval_ns", "_last_ns")

    def __init__(self, interval_us: int = 100) -> None:
        self._interval_ns = interval_us * 1000
        self._last_ns = _now()  # thread: of its owner

    def maybe_yield(self) -> bool:
        """Yield if the interval has passed since the last time; whether it did."""
        if _now() - self._last_ns < self._interval_ns:
            return False
        yield_gil()
        self._last_ns = _now()
        return True
