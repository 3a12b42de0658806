"""Lab 5: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pytest

from kafka_py.labs import invariants
from kafka_py.labs.clients import wait_for
from kafka_py.labs.failover import RISKY, STEADY, session_of
from tests.labs.conftest import Start

pytestmark = pytest.mark.slow


def test_the_right_way(start: Start) -> None:
    room = start(5)
    bench, cluster, notes = room.bench, room.bench.cluster, room.bench.notes
    leader, controller = notes["leader"], notes["controller"]
    untouched = room.missing()
    assert {"the leader was killed, and started again", "the controller lost its session, and nothing else"} <= (
        untouched.keys()
    )
    assert "fetchers" in untouched["no link is cut and no fetcher is held"]

    cluster.kill(leader)
    cluster.await_forgotten(leader)
    assert cluster.await_leader(STEADY, 0) == controller == notes["second"]
    assert f"broker {leader} does not" in room.missing()["all brokers run"]
    cluster.unclean_election(RISKY, 0)
    cluster.expire_session(controller)
    wait_for(lambda: session_of(bench, controller) not in (0, notes["session"]), "a new session")
    cluster.heal()
    cluster.start_broker(leader)
    cluster.await_no_under_replicated()
    assert "the first replicas lead again" in room.missing()
    cluster.elect_preferred()
    for topic in (STEADY, RISKY):
        cluster.await_leader(topic, 0, leader)

    right = {"controller": str(controller), "isr": str(leader), "next_leader": str(controller)}
    epochs = {
        "controller_epoch": str(invariants.controller_epoch(bench)),
        "leader_epoch": str(invariants.state_of(bench, STEADY).leader_epoch),
    }
    room.answer(**right, **epochs, lost=str(len(notes["lost"])))
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(**{**right, "isr": f"{leader},{controller}"}, controller_epoch="0", leader_epoch="0", lost="0")
    assert set(room.missing()) == {"isr", "controller_epoch", "leader_epoch", "lost"}


def test_a_restart_in_good_order_loses_nothing_and_is_not_the_way(start: Start) -> None:
    room = start(5)
    cluster, leader = room.bench.cluster, room.bench.notes["leader"]
    cluster.heal()
    cluster.await_isr(RISKY, 0, [leader, 3 - leader - room.bench.notes["controller"]])
    cluster.restart(leader, "kill")
    cluster.await_no_under_replicated()
    missing = room.missing()
    assert missing[f"{RISKY} was led by who was not in sync"] == "nothing was lost"
    assert "the controller lost its session, and nothing else" in missing
