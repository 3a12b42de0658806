"""Lab 7: the right way through it passes, and each omission is told."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.labs import late_commit
from kafka_py.labs.clients import wait_for
from kafka_py.labs.rebalance import COMMIT, GROUP, STATIC, TOPIC
from kafka_py.utils.concurrent import CountDownLatch
from tests.labs.conftest import Room, Start

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def member(room: Room, client: str, **settings: str) -> Iterator[None]:
    """One more in the group, as long as it lasts."""
    over = CountDownLatch(1)
    consumer = Consumer(
        {
            "bootstrap.servers": room.bench.servers,
            "group.id": GROUP,
            "client.id": client,
            "session.timeout.ms": 30000,
            "heartbeat.interval.ms": 300,
            "partition.assignment.strategy": "range",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )

    def poll() -> None:
        consumer.subscribe([TOPIC])
        while not over.await_(0):
            consumer.poll(0.05)
        consumer.close()

    thread = KafkaThread.daemon_thread("member", poll)
    thread.start()
    yield
    over.count_down()
    thread.join()


def shares(room: Room) -> list[int]:
    """How many partitions each member has, once the group is stable; [] before."""
    looks = room.bench.notes["watch"].looks
    return sorted(looks[-1].partitions.values()) if looks and looks[-1].state == "Stable" else []


def commits(room: Room, member: str, generation: int) -> str:
    """What somebody sees who commits in that name."""
    command = [str(room.bench.file(COMMIT)), member, str(generation)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_commit_wants_a_member_and_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert late_commit.main(["127.0.0.1:1", GROUP, TOPIC, "anna"]) == 2
    assert late_commit.main(["127.0.0.1:1", GROUP, TOPIC, "anna", "two"]) == 2
    assert capsys.readouterr().err == "usage: MEMBER_ID GENERATION\n" * 2


def test_the_right_way(start: Start) -> None:
    room = start(7)
    notes = room.bench.notes
    untouched = room.missing()
    assert untouched["three members shared the partitions"] == "they have not yet"
    assert "one of the first two was killed" in untouched
    assert "the group is stable" not in untouched
    assert room.bench.file("members-7.txt").read_text().count("pid") == 2

    first = notes["watch"].stable[-1]
    with member(room, "eve"):
        wait_for(lambda: shares(room) == [2, 2, 2], "three that share")
        generations = [notes["watch"].stable[-1].generation]
    wait_for(lambda: shares(room) == [3, 3], "two that share")
    generations.append(notes["watch"].stable[-1].generation)
    assert "three members shared the partitions" not in room.missing()
    with member(room, "console", group_instance_id=STATIC):
        wait_for(lambda: shares(room) == [2, 2, 2], "a static member")
    assert "a static member came back without a rebalance" in room.missing()
    with member(room, "console", group_instance_id=STATIC):
        wait_for(lambda: "a static member came back without a rebalance" not in room.missing(), "its return")
        before = notes["watch"].stable[-1].generation
        notes["members"][0].kill()
        wait_for(lambda: "the group has noticed" in room.missing(), "a member that is dead")
        wait_for(lambda: shares(room) == [3, 3], "the end of its session")
        look = notes["watch"].stable[-1]
        generation = str(look.generation)
        generations.append(generations[-1] + look.generation - before)
        (living,) = [id for id in look.partitions if not id.startswith(STATIC)]
        (dead,) = set(first.partitions) - {living}
        zombie = commits(room, dead, first.generation)
        late = commits(room, living, look.generation - 1)
        assert commits(room, living, look.generation) == "NONE", "that is how a commit is taken"
        right = {"first": notes["first"], "states": "PreparingRebalance, CompletingRebalance", "share": "2"}
        right |= {"predicted": ", ".join(map(str, generations)), "zombie": zombie, "late": late}
        room.answer(**right, generation=generation)
        wait_for(lambda: not room.missing(), "the exercise being done")
        wrong = {"states": "Dead", "share": "6", "predicted": "2, 2, 3", "zombie": late, "late": zombie}
        room.answer(**{**right, **wrong}, generation="1")
        assert set(room.missing()) == {*wrong, "generation"}
