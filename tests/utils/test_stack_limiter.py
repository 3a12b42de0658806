"""StackLimiter: one stack a minute for each kind of failure."""

from __future__ import annotations

from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.stack_limiter import StackLimiter, in_short


def raised(kind: type[Exception]) -> Exception:
    try:
        raise kind("what was wrong")
    except Exception as e:
        return e


def elsewhere(kind: type[Exception]) -> Exception:
    try:
        raise kind("what was wrong")
    except Exception as e:
        return e


def test_a_kind_of_failure_shows_its_stack_once_a_minute() -> None:
    time = MockTime()
    stacks = StackLimiter(time)
    first, again = raised(ValueError), raised(ValueError)
    assert stacks.stack_of(first) is first
    assert stacks.stack_of(again) is None
    assert stacks.stack_of(raised(OSError)) is not None, "another exception"
    assert stacks.stack_of(elsewhere(ValueError)) is not None, "another place"
    assert stacks.stack_of(again, always=True) is again
    time.sleep(StackLimiter.INTERVAL_MS - 1)
    assert stacks.stack_of(again) is None
    time.sleep(1)
    assert stacks.stack_of(again) is again
    assert stacks.stack_of(KeyError("never raised")) is not None


def test_long_texts_are_cut() -> None:
    assert in_short(ValueError("bad")) == "ValueError: bad"
    assert in_short("x" * 400) == "x" * 400
    assert in_short("x" * 401) == "x" * 397 + "..."
