"""Lab 4: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pathlib

import pytest
from confluent_kafka import KafkaException

from kafka_py.labs import child, expiry_race
from kafka_py.labs.clients import Sender, wait_for
from kafka_py.labs.expiry_race import EXPIRES, FETCHED, TIMED_OUT, WATCHED
from kafka_py.labs.purgatory import TOPIC, _waited
from kafka_py.xray.schedule import Schedule
from tests.labs.conftest import Room, Start

pytestmark = pytest.mark.slow

WINS = Schedule((WATCHED, EXPIRES, TIMED_OUT, FETCHED))


def produce_while_held(room: Room, follower: int, expires: bool) -> None:
    bench, leader = room.bench, room.bench.notes["leader"]
    bench.cluster.hold_fetcher(follower, leader)
    settings: dict[str, str | int] = {"acks": "all", "message.send.max.retries": 0}
    if expires:
        settings["request.timeout.ms"] = 1000
    sender = Sender(bench.servers, "student", **settings)
    sender.send(TOPIC, "one more", 0)
    if expires:
        with pytest.raises(KafkaException, match="timed out"):
            sender.flush()
        assert "no fetcher is held" in room.missing()
    else:
        xray = bench.xray(leader)
        wait_for(lambda: xray.state("purgatories")[0]["delayed"], "a Produce that waits")
        began = xray.state("broker")["uptimeUs"]
        wait_for(lambda: xray.state("broker")["uptimeUs"] - began > 1_000_000, "some time")
        assert "all replicas have all records" in room.missing()
    bench.cluster.release_fetcher(follower, leader)
    if not expires:
        sender.flush()


def test_the_right_way(start: Start) -> None:
    room = start(4)
    bench, leader = room.bench, room.bench.notes["leader"]
    untouched = room.missing()
    assert {"a record waited for a follower", "a record ran out of time", "high_watermark"} <= untouched.keys()
    assert untouched["the order can be taken, and the operation expires"].endswith("nothing expired")

    follower = (leader + 1) % 3
    (before,) = bench.xray(leader).state("partitions", topic=TOPIC)
    mark = next(str(replica["highWatermark"]) for replica in before["replicas"] if replica["local"])
    produce_while_held(room, follower, expires=False)
    wait_for(lambda: _waited(bench) is not None, "the end of the wait being told")
    produce_while_held(room, (leader + 2) % 3, expires=True)
    bench.file("schedule-4.json").write_text(WINS.to_json())
    right = {"high_watermark": mark, "completed_by": str(follower), "error": "REQUEST_TIMED_OUT", "in_log": "yes"}
    room.answer(purgatory="Produce", **right)
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(purgatory="Fetch", **{**right, "completed_by": str((leader + 2) % 3), "high_watermark": "0"})
    assert set(room.missing()) == {"purgatory", "completed_by", "high_watermark"}


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        (expiry_race.USUAL, "nothing expired"),
        (Schedule((WATCHED, EXPIRES, FETCHED, TIMED_OUT)), "nothing expired"),
        (Schedule((WATCHED, EXPIRES, TIMED_OUT)), "no step of handler-1"),
        (Schedule((FETCHED, WATCHED)), "was not taken"),
    ],
)
def test_schedules_that_do_not_do_it(tmp_path: pathlib.Path, schedule: Schedule, why: str) -> None:
    file = tmp_path / "schedule-4.json"
    file.write_text(schedule.to_json())
    found = [finding.why for finding in child.run(expiry_race.__name__, file) if not finding.good]
    assert any(why in one for one in found), found
