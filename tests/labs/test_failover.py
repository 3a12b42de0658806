"""Lab 5: the right way through it passes, and each omission is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kafka_py.labs import invariants
from kafka_py.labs.clients import wait_for
from kafka_py.labs.failover import RISKY, STEADY, session_of
from tests.labs.conftest import Start

pytestmark = pytest.mark.slow


def test_the_right_way(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
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
    cluster.expire_session(controller)
    wait_for(lambda: session_of(bench, controller) not in (0, notes["session"]), "a new session")
    assert invariants.controller_epoch(bench) > notes["epochs"]["controller"]
    cluster.unclean_election(RISKY, 0)
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
    room.answer(
        **{**right, "isr": f"{leader},{controller}", "next_leader": str(leader)},
        controller_epoch="0",
        leader_epoch="0",
        lost="0",
    )
    assert set(room.missing()) == {"isr", "next_leader", "controller_epoch", "leader_epoch", "lost"}
    ahead = invariants.epochs_only_grow(bench, {"controller": 99, STEADY: 0, RISKY: 99})
    assert not ahead.good
    assert {line.split(":")[0] for line in ahead.why.split("; ")} == {"controller", RISKY}
    monkeypatch.setattr(invariants, "state_of", lambda *_: SimpleNamespace(leader=leader, leader_epoch=99))
    assert invariants.one_leader(bench, RISKY).why.startswith(f"ZooKeeper says ({leader}, 99), the brokers {{")


class _Moving:
    """A consumer whose partition's leader moves once, or that fails for another reason."""

    def __init__(self, code: int) -> None:
        self.answers: list[KafkaException | tuple[int, int]] = [KafkaException(KafkaError(code)), (0, 7)]

    def get_watermark_offsets(self, *_: object, **__: object) -> tuple[int, int]:
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer


def test_a_leader_that_has_moved_is_asked_for_again() -> None:
    partition = TopicPartition(STEADY, 0)
    assert invariants._end(cast("Consumer", _Moving(KafkaError.NOT_LEADER_FOR_PARTITION)), partition) == 7
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        invariants._end(cast("Consumer", _Moving(KafkaError.TOPIC_AUTHORIZATION_FAILED)), partition)


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
