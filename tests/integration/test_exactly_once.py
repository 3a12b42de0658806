"""What is consumed, transformed and produced in transactions is there exactly once, whoever is killed meanwhile.

tests/integration/exactly_once.py says how, and how to have many more killed than here.
"""

from __future__ import annotations

import pathlib

import pytest
from confluent_kafka import Producer

from tests.integration.exactly_once import (
    OUTPUTS,
    Copy,
    ExactlyOnce,
    Reader,
    Verdict,
    copies,
    judge,
    plan_of,
)

KILLS = 6
SOURCE = {(0, 0): "a", (0, 1): "b", (1, 0): "c"}
RIGHT = [
    Copy(0, 0, (0, 0), "a", "w-1", False),
    Copy(0, 2, (0, 1), "b", "w-2", False),
    Copy(1, 0, (1, 0), "c", "v-1", False),
]
LATER = RIGHT[0]._replace(offset=9, attempt="v-2")


def test_what_is_right_is_exactly_once() -> None:
    verdict = judge(SOURCE, RIGHT)
    assert verdict.is_exactly_once
    assert str(verdict) == "exactly once"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (RIGHT[1:], Verdict([(0, 0)], [], [], [], [])),
        ([*RIGHT, LATER], Verdict([], [(0, 0)], [], [], [LATER])),
        ([*RIGHT, it := RIGHT[0]._replace(offset=1, to_be_aborted=True)], Verdict([], [], [it], [], [])),
        ([*RIGHT, it := RIGHT[0]._replace(offset=7, payload="z")], Verdict([], [], [], [it], [])),
        ([*RIGHT, it := RIGHT[0]._replace(offset=7, source=(3, 3))], Verdict([], [], [], [it], [])),
        ([*RIGHT[1:], LATER], Verdict([], [], [], [], [LATER])),
        ([RIGHT[0]._replace(partition=1), *RIGHT[1:]], Verdict([(0, 0)], [], [], [RIGHT[0]._replace(partition=1)], [])),
    ],
    ids=["missing", "twice", "aborted", "other payload", "no source", "order", "other partition"],
)
def test_what_is_wrong_is_found(found: list[Copy], expected: Verdict) -> None:
    verdict = judge(SOURCE, found)
    assert verdict == expected
    assert not verdict.is_exactly_once
    assert "exactly once" not in str(verdict)


def test_a_copy_says_what_it_is() -> None:
    assert Copy.of(0, 2, Copy.value((0, 1), "b", "w-2", False)) == RIGHT[1]
    assert Copy.of(3, 5, Copy.value((3, 4), "x", "w-3", True)).to_be_aborted


def test_a_plan_kills_every_kind() -> None:
    plan = plan_of(3, 50)
    assert plan == plan_of(3, 50) != plan_of(4, 50)
    kinds = {kind: plan.count(kind) for kind in plan}
    assert kinds.pop("zombie") == 6
    assert sorted(kinds.values()) == [12, 12, 13, 13]


def plant(run: ExactlyOnce, topic: str, copy: Copy) -> None:
    """A record as a worker would write it, in a transaction that is committed."""
    producer = Producer({"bootstrap.servers": run.cluster.bootstrap_servers, "transactional.id": "planter"})
    producer.init_transactions(30)
    producer.begin_transaction()
    value = Copy.value(copy.source, copy.payload, copy.attempt, copy.to_be_aborted)
    producer.produce(topic, value, partition=copy.partition)
    producer.commit_transaction(30)


@pytest.mark.slow
def test_exactly_once_while_clients_leaders_and_coordinators_are_killed(tmp_path: pathlib.Path) -> None:
    with ExactlyOnce(tmp_path, seed=2) as run:
        run.carry_out(plan_of(2, KILLS))
        source = run.finish()
        verdicts = run.verdicts(source)
        assert {str(verdict) for verdict in verdicts.values()} == {"exactly once"}, verdicts
        assert run.unexpected_ends == {}
        assert len(source) > 100

        # The aborted copies were there to be read: who does not ask for committed records reads them.
        bootstrap, (topic, other) = run.cluster.bootstrap_servers, OUTPUTS
        everything = copies(Reader(bootstrap, OUTPUTS, "read_uncommitted").read_to_the_end()[topic])
        assert judge(source, everything).aborted
        # One that is planted, and one too many, are found.
        first = next(copy for copy in everything if not copy.to_be_aborted)
        plant(run, topic, first)
        plant(run, other, first._replace(to_be_aborted=True))
        rows = Reader(bootstrap, OUTPUTS).read_to_the_end()
        assert judge(source, copies(rows[topic])).twice == [first.source]
        assert [copy.source for copy in judge(source, copies(rows[other])).aborted] == [first.source]
