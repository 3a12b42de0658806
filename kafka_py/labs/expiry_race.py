"""The schedule of lab 4: an operation that runs out of time while a follower's fetch is about to complete it.

Ours, no original. The purgatory is the broker's own. Run by child.py; also what tests/xray/test_schedules.py races.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Final

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.labs.child import attempt
from kafka_py.labs.finding import Finding
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.testing.mock_timer import MockTimer
from kafka_py.xray.schedule import Replay, Schedule, ScheduleStuck, Step

KEY: Final = "a-0"
OPERATION: Final = "ProduceLike"
WATCHED: Final = Step("handler-0", "watch", OPERATION)
FETCHED: Final = Step("handler-1", "complete", OPERATION)
EXPIRES: Final = Step("executor", "expire", OPERATION)
TIMED_OUT: Final = Step("executor", "complete", OPERATION)
USUAL: Final = Schedule((WATCHED, FETCHED, EXPIRES))
_GRACE_MS: Final = 200.0
_WAIT_MS: Final = 2000.0


class ProduceLike(DelayedOperation):
    """Waits, as a Produce with acks=all does, until somebody says that the replicas have it; notes its answers."""

    def __init__(self) -> None:
        super().__init__(1000)
        self.replicated = False  # volatile: the fetch writes it
        self.answers: list[str] = []  # atomic: append, list(), slices
        self.expired = 0  # thread: executor

    def try_complete(self) -> bool:
        """When the replicas have it."""
        return self.replicated and self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        self.answers.append("ok" if self.replicated else "timed out")

    def on_expiration(self) -> None:
        """Count it."""
        self.expired += 1


def race(purgatory: DelayedOperationPurgatory[ProduceLike], schedule: Schedule) -> ProduceLike:
    """A follower's fetch completes the operation while its time runs out, in the order of the schedule.

    Raises ScheduleStuck.
    """
    operation = ProduceLike()

    def produce() -> None:
        purgatory.try_complete_else_watch(operation, [KEY])

    def fetch() -> None:
        operation.replicated = True
        purgatory.check_and_complete(KEY)

    with Replay(schedule, wait_ms=_WAIT_MS, grace_ms=_GRACE_MS) as replay:
        _started("handler-0", produce).join()
        fetcher = _started("handler-1", fetch)
        while fetcher.is_alive() and not replay.is_waiting("handler-1"):
            Time.SYSTEM.sleep(1)  # it is to have seen that the operation is not completed
        _started("executor", operation.run).join()
        fetcher.join()
    return operation


def _started(name: str, target: Callable[[], None]) -> KafkaThread:
    thread = KafkaThread.daemon_thread(name, target)
    thread.start()
    return thread


def findings(file: pathlib.Path) -> list[Finding]:
    """What is wrong with the file, or what its order leads to."""
    try:
        schedule = Schedule.from_json(file.read_bytes())
    except ValueError as e:
        return [Finding(f"{file.name} is a schedule", False, str(e))]
    return [
        attempt("the fetch comes, too", lambda: "" if FETCHED in schedule.steps else "it has no step of handler-1"),
        attempt("the order can be taken, and the operation expires", _expires, schedule),
    ]


def _expires(schedule: Schedule) -> str:
    purgatory: DelayedOperationPurgatory[ProduceLike] = DelayedOperationPurgatory(
        "Produce", MockTimer(), reaper_enabled=False
    )
    try:
        operation = race(purgatory, schedule)
    except ScheduleStuck as e:
        return str(e)
    finally:
        purgatory.shutdown()
    if len(operation.answers) != 1:
        return f"it was answered {len(operation.answers)} times"
    return "" if operation.expired else "the fetch completed it, and nothing expired"
