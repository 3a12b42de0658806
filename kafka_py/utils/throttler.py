"""Slowing down a process to a rate.

Mirrors: core/src/main/scala/kafka/utils/Throttler.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.utils.time import Time
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import ReentrantLock

_NS_PER_MS = 1_000_000
_NS_PER_SEC = 1_000_000_000
_MS_PER_SEC = 1000


class Throttler(KafkaMetricsGroup):
    """Lets its callers sleep so that what they observe (bytes, entries) comes at no more than a rate per second.

    With `throttle_down=False` it sleeps when the rate is too low instead.

    Mirrors: kafka.utils.Throttler
    Thread: any; all callers share the one rate.
    Locks: `_lock`, also while sleeping: the others have to wait as well.
    Differs: the rate can be changed, as from 3.1 on, so that a change of the option reaches the cleaner.
    Left out: main -- a demonstration
    """

    def __init__(
        self,
        desired_rate_per_sec: float,
        check_interval_ms: int = 100,
        throttle_down: bool = True,
        metric_name: str = "throttler",
        units: str = "entries",
        time: Time = Time.SYSTEM,
    ) -> None:
        self._desired_rate_per_sec = desired_rate_per_sec  # volatile: update_desired_rate_per_sec
        self._throttle_down = throttle_down
        self._time = time
        self._lock = ReentrantLock()
        self._meter = self.new_meter(metric_name, units)  # atomic
        self._check_interval_ns = check_interval_ms * _NS_PER_MS
        self._period_start_ns = time.nanoseconds()  # guarded by: _lock
        self._observed_so_far = 0.0  # guarded by: _lock

    def update_desired_rate_per_sec(self, desired_rate_per_sec: float) -> None:
        """Use another rate from the next check on."""
        self._desired_rate_per_sec = desired_rate_per_sec

    def maybe_throttle(self, observed: float) -> None:
        """Count what was observed, and once per interval sleep as long as the rate demands."""
        self._meter.mark(int(observed))
        with self._lock:
            self._observed_so_far += observed
            now = self._time.nanoseconds()
            elapsed_ns = now - self._period_start_ns
            if elapsed_ns <= self._check_interval_ns or self._observed_so_far <= 0:
                return
            desired_rate = self._desired_rate_per_sec
            rate_in_secs = self._observed_so_far * _NS_PER_SEC / elapsed_ns
            if self._throttle_down == (rate_in_secs > desired_rate):
                # how long the whole interval would have had to be, less what it was
                elapsed_ms = elapsed_ns // _NS_PER_MS
                sleep_time = round(self._observed_so_far / (desired_rate / _MS_PER_SEC) - elapsed_ms)
                if sleep_time > 0:
                    self.trace(
                        "Natural rate is %f per second but desired rate is %f, sleeping for %d ms to compensate.",
                        rate_in_secs,
                        desired_rate,
                        sleep_time,
                    )
                    self._time.sleep(sleep_time)
            self._period_start_ns = now
            self._observed_so_far = 0.0
