"""The clock that can stand."""

from __future__ import annotations

import pytest

from kafka_py.testing.mock_time import MockTime
from kafka_py.xray.held_time import HeldTime


@pytest.fixture
def base() -> MockTime:
    return MockTime()


def test_it_is_the_other_clock_until_it_stands(base: MockTime) -> None:
    clock = HeldTime(base)
    base.sleep(5)
    assert (clock.milliseconds(), clock.nanoseconds()) == (base.milliseconds(), base.nanoseconds())


def test_no_time_passes_while_it_stands_and_none_is_made_up_for(base: MockTime) -> None:
    clock = HeldTime(base)
    ms, ns = clock.milliseconds(), clock.nanoseconds()
    clock.stand()
    base.sleep(600_000)
    assert (clock.milliseconds(), clock.nanoseconds(), clock.is_standing) == (ms, ns, True)
    clock.go_on()
    base.sleep(7)
    assert (clock.milliseconds() - ms, clock.hi_res_clock_ms() - ns // 1_000_000) == (7, 7)


def test_it_runs_slower_and_is_moved_on_by_hand(base: MockTime) -> None:
    clock = HeldTime(base)
    start = clock.milliseconds()
    clock.slow(10)
    base.sleep(100)
    assert clock.milliseconds() - start == 10
    clock.stand()
    clock.advance(30_000)
    assert clock.milliseconds() - start == 30_010
    clock.slow(1)
    clock.go_on()
    base.sleep(1)
    assert clock.milliseconds() - start == 30_011


def test_it_never_steps_back(base: MockTime) -> None:
    clock = HeldTime(base)
    with pytest.raises(ValueError, match="does not step back"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="1 or more"):
        clock.slow(0.5)
