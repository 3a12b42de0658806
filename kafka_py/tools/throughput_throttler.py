"""Keeps a producer from being faster than it is meant to be.

Mirrors: tools/src/main/java/org/apache/kafka/tools/ThroughputThrottler.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.utils.time import Time

_NS_PER_SEC = 1_000_000_000
_MIN_SLEEP_MS = 2
_SLICE_MS = 100


class ThroughputThrottler:
    """Sleeps a little whenever more has been sent than should have been; messages or bytes, per second.

    Mirrors: org.apache.kafka.tools.ThroughputThrottler
    Thread: the producing one; ``wakeup`` also from a signal handler
    Differs: sleeps in slices and looks whether it was woken, so that a signal handler need take no lock.
    """

    def __init__(self, target_throughput: int, start_ms: int, time: Time = Time.SYSTEM) -> None:
        """``start_ms`` is when the first message was sent; a negative target means as fast as can be, 0 not at all."""
        self._target_throughput = target_throughput
        self._start_ms = start_ms
        self._time = time
        self._sleep_time_ms = 1000 / target_throughput if target_throughput > 0 else 0.0
        self._sleep_deficit_ms = 0.0  # thread: the producing one
        self._wakeup = False  # volatile: a signal handler of the same thread sets it

    def should_throttle(self, amount_so_far: int, send_start_ms: int) -> bool:
        """Whether ``amount_so_far`` is more than should have been sent until then."""
        if self._target_throughput < 0:
            return False
        elapsed_sec = (send_start_ms - self._start_ms) / 1000
        return elapsed_sec > 0 and amount_so_far / elapsed_sec > self._target_throughput

    def throttle(self) -> None:
        """Sleep until so much time has been waited in vain as messages have been too early; with target 0 for ever."""
        if self._target_throughput == 0:
            while not self._wakeup:
                self._time.sleep(_SLICE_MS)
            return
        self._sleep_deficit_ms += self._sleep_time_ms
        if self._sleep_deficit_ms < _MIN_SLEEP_MS:
            return
        began = self._time.nanoseconds()
        while not self._wakeup:
            remaining = self._sleep_deficit_ms - (self._time.nanoseconds() - began) * 1000 / _NS_PER_SEC
            if remaining <= 0:
                break
            self._time.sleep(min(int(remaining) or 1, _SLICE_MS))
        self._sleep_deficit_ms = 0

    def wakeup(self) -> None:
        """Have the present or the next sleep end."""
        self._wakeup = True
