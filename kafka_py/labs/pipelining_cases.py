"""The schedule of lab 1: without muting it answers a connection's second request first, with muting it cannot be taken.

Ours, no original. Run by child.py.
"""

from __future__ import annotations

import pathlib
from typing import Final

from kafka_py.labs.child import attempt
from kafka_py.labs.finding import Finding
from kafka_py.labs.pipelining import HANDLERS, LABEL, POINT, REQUESTS, answered, without_muting
from kafka_py.xray.schedule import Schedule, ScheduleStuck

USUAL: Final = Schedule.of(*((name, POINT, LABEL) for name in HANDLERS))


def findings(file: pathlib.Path) -> list[Finding]:
    """What is wrong with the file, or what its order leads to."""
    try:
        schedule = Schedule.from_json(file.read_bytes())
    except ValueError as e:
        return [Finding(f"{file.name} is a schedule", False, str(e))]
    if sorted(schedule.steps) != sorted(USUAL.steps):
        return [Finding(f"{file.name} has the two steps", False, "it has other steps than the two that were given")]
    return [
        attempt("without muting, the second request is answered first", _without, schedule),
        attempt("with muting, that order cannot be taken", _with, schedule),
    ]


def _without(schedule: Schedule) -> str:
    with without_muting():
        got = answered(schedule)
    return "" if got == list(reversed(REQUESTS)) else f"the client got the answers in the order {got}"


def _with(schedule: Schedule) -> str:
    try:
        answered(schedule)
    except ScheduleStuck:
        return ""
    return "it can"
