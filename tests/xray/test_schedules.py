"""Orders of events that were looked for with the X-ray, and are run here again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.labs.expiry_race import EXPIRES, FETCHED, KEY, TIMED_OUT, WATCHED, ProduceLike, race
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.testing.mock_timer import MockTimer
from kafka_py.xray import taps
from kafka_py.xray.schedule import Recorder, Replay, Schedule, ScheduleStuck, Step


@pytest.fixture
def purgatory() -> Any:
    found: DelayedOperationPurgatory[ProduceLike] = DelayedOperationPurgatory(
        "Produce", MockTimer(), reaper_enabled=False
    )
    yield found
    found.shutdown()


def run(*named: tuple[str, Callable[[], object]]) -> None:
    threads = [threading.Thread(target=target, name=name) for name, target in named]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)


@pytest.mark.parametrize(
    ("order", "expired"),
    [
        ((WATCHED, FETCHED, EXPIRES), 0),
        # both have seen that it is not completed, and are at the gate behind that look: the timer goes first
        ((WATCHED, EXPIRES, TIMED_OUT, FETCHED), 1),
        ((WATCHED, EXPIRES, FETCHED, TIMED_OUT), 0),
    ],
)
def test_an_operation_that_expires_as_it_is_completed_is_answered_once(
    purgatory: Any, order: tuple[Step, ...], expired: int
) -> None:
    for _ in range(3):
        operation = race(purgatory, Schedule(order))
        assert len(operation.answers) == 1
        assert operation.expired == expired


def test_a_schedule_is_recorded_as_it_happened_and_kept_as_text(purgatory: Any) -> None:
    recorder = Recorder()
    recorder.record()
    operation = ProduceLike()
    run(("handler-0", lambda: purgatory.try_complete_else_watch(operation, [KEY])))
    operation.replicated = True
    run(("handler-1", lambda: purgatory.check_and_complete(KEY)))
    schedule = recorder.stop()
    assert schedule == Schedule((WATCHED, FETCHED))
    assert Schedule.from_json(schedule.to_json()) == schedule
    assert recorder.stop() == Schedule(())
    assert taps._listeners == ()
    for text in ("[]", '{"steps": [["a"]]}', '{"steps": 1}', "no JSON"):
        with pytest.raises(ValueError, match=r"."):
            Schedule.from_json(text)


def test_a_replay_that_cannot_go_on_says_who_waited_where(purgatory: Any) -> None:
    operation = ProduceLike()
    purgatory.try_complete_else_watch(operation, [KEY])
    schedule = Schedule.of(("nobody", "append", "a-0"), WATCHED)
    with (
        pytest.raises(ScheduleStuck, match=r"step 1 of 2 \(nobody append a-0\).*handler-0 at watch ProduceLike"),
        Replay(schedule, wait_ms=20),
    ):
        run(("handler-0", lambda: purgatory.try_complete_else_watch(ProduceLike(), [KEY])))
    assert taps._listeners == ()
