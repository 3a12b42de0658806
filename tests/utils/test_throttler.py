"""Throttler: sleeping down to a rate."""

from __future__ import annotations

from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.throttler import Throttler


def test_nothing_happens_within_the_interval() -> None:
    time = MockTime()
    throttler = Throttler(1000.0, check_interval_ms=100, time=time)
    start = time.milliseconds()
    throttler.maybe_throttle(10**6)
    time.sleep(100)
    throttler.maybe_throttle(10**6)
    assert time.milliseconds() == start + 100


def test_sleeps_until_the_rate_is_right() -> None:
    time = MockTime()
    throttler = Throttler(1000.0, check_interval_ms=100, time=time)
    start = time.milliseconds()
    time.sleep(500)
    throttler.maybe_throttle(2000)  # two seconds' worth in half a second
    assert time.milliseconds() == start + 2000
    # the next period began before the sleep
    throttler.maybe_throttle(1500)
    assert time.milliseconds() == start + 2000


def test_slow_enough() -> None:
    time = MockTime()
    throttler = Throttler(1000.0, check_interval_ms=100, time=time)
    time.sleep(3000)
    now = time.milliseconds()
    throttler.maybe_throttle(2000)
    assert time.milliseconds() == now


def test_throttling_up() -> None:
    time = MockTime()
    throttler = Throttler(1000.0, check_interval_ms=100, throttle_down=False, time=time)
    time.sleep(101)
    now = time.milliseconds()
    throttler.maybe_throttle(10**6)
    assert time.milliseconds() == now


def test_changed_rate_and_meter() -> None:
    time = MockTime()
    throttler = Throttler(1.0, check_interval_ms=100, metric_name="throttler-test", units="bytes", time=time)
    before = throttler._meter.count
    throttler.update_desired_rate_per_sec(1e9)
    time.sleep(1000)
    now = time.milliseconds()
    throttler.maybe_throttle(5000.9)
    assert time.milliseconds() == now
    assert throttler._meter.count == before + 5000
    throttler.remove_metric("throttler-test")
