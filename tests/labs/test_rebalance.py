"""Lab 7: the right way through it passes, and each omission is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.labs.clients import wait_for
from kafka_py.labs.rebalance import GROUP, STATIC, TOPIC
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


def test_the_right_way(start: Start) -> None:
    room = start(7)
    notes = room.bench.notes
    untouched = room.missing()
    assert untouched["three members shared the partitions"] == "they have not yet"
    assert "one of the first two was killed" in untouched
    assert "the group is stable" not in untouched
    assert room.bench.file("members-7.txt").read_text().count("pid") == 2

    with member(room, "eve"):
        wait_for(lambda: shares(room) == [2, 2, 2], "three that share")
    wait_for(lambda: shares(room) == [3, 3], "two that share")
    assert "three members shared the partitions" not in room.missing()
    with member(room, "console", group_instance_id=STATIC):
        wait_for(lambda: shares(room) == [2, 2, 2], "a static member")
    assert "a static member came back without a rebalance" in room.missing()
    with member(room, "console", group_instance_id=STATIC):
        wait_for(lambda: "a static member came back without a rebalance" not in room.missing(), "its return")
        notes["members"][0].kill()
        wait_for(lambda: "the group has noticed" in room.missing(), "a member that is dead")
        wait_for(lambda: shares(room) == [3, 3], "the end of its session")
        generation = str(notes["watch"].stable[-1].generation)
        right = {"first": notes["first"], "states": "PreparingRebalance, CompletingRebalance", "share": "2"}
        room.answer(**right, generation=generation)
        wait_for(lambda: not room.missing(), "the exercise being done")
        room.answer(**{**right, "states": "Dead", "share": "6"}, generation="1")
        assert set(room.missing()) == {"states", "share", "generation"}
