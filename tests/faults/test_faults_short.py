"""A few faults of different kinds, one after another on one cluster under load: nothing is lost, nothing else is wrong.

`python -m tests.faults` does the same with as many as one likes.
"""

from __future__ import annotations

import pathlib

import pytest

from tests.faults.nemesis import SINGLE, UNCLEAN, Scenario, is_promised, plan_of
from tests.faults.run import FaultRun

SEED = 5
PLAN = [
    ("leader killed",),
    ("zookeeper link cut one way",),
    ("short hang",),
    ("torn tail",),
    ("session expires",),
    ("zookeeper killed",),
    ("link cut", "controller killed"),
]


def test_a_plan_follows_from_its_number() -> None:
    plan = plan_of(3, 40)
    assert plan == plan_of(3, 40) != plan_of(4, 40)
    assert {scenario.kinds for scenario in plan[: len(SINGLE)]} == {(kind,) for kind in SINGLE}
    assert len({scenario.seed for scenario in plan}) == 40


def test_double_faults_and_unclean_elections_take_turns_with_others() -> None:
    double = plan_of(3, 40, double=True)
    assert [len(scenario.kinds) for scenario in double] == [1, 2] * 20
    assert all(is_promised(*scenario.kinds) for scenario in double[1::2])
    unclean = plan_of(3, 9, unclean=True)
    assert [scenario.kinds == (UNCLEAN,) for scenario in unclean] == [False, True, False] * 3


@pytest.mark.parametrize(
    ("one", "two", "promised"),
    [
        ("leader killed", "follower killed", True),
        ("torn tail", "leader killed", True),
        ("torn tail", "crc tail", False),
        ("torn tail", "link cut", False),
        ("zookeeper killed", "log dir fails", False),
        ("zookeeper killed", "zookeeper hangs", False),
        ("zookeeper killed", "link cut", True),
    ],
)
def test_what_may_meet(one: str, two: str, promised: bool) -> None:
    assert is_promised(one, two) == is_promised(two, one) == promised


@pytest.mark.slow
def test_nothing_goes_wrong_under_faults(tmp_path: pathlib.Path) -> None:
    lines: list[str] = []
    plan = [Scenario(kinds, f"{SEED}/{number}") for number, kinds in enumerate(PLAN)]
    result = FaultRun(tmp_path, SEED, lines.append).carry_out(plan)
    assert result.violations == [], "\n".join([*lines, *map(str, result.violations)])
    assert len(lines) == len(result.rows) == len(PLAN)
    assert result.table().count("\n") == len(PLAN)
    for what in ("ack", "read", "txn", "commit", "fetched"):
        assert result.counts[what] > 0
