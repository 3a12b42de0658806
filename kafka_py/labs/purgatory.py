"""Lab 4: a record with acks=all waits for a follower, another one runs out of time, and the race between the two ends.

Ours, no original.
"""

from __future__ import annotations

import random
from typing import Any, Final

from kafka_py.labs import child, expiry_race
from kafka_py.labs.clients import create_topic, send
from kafka_py.labs.event_watch import EventWatch
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding

TOPIC: Final = "journal"
SCHEDULE: Final = "schedule-4.json"
# Followers fetch twice a second when nothing comes; who has waited longer has waited for one that is held.
_WAITED_US: Final = 1_000_000
Event = dict[str, Any]


def _operations(bench: Bench) -> list[tuple[Event, Event]]:
    """(watch, complete) of each Produce that waited and is over."""
    watch: EventWatch = bench.notes["watch"]
    mine = [event for event in watch.events() if event.get("purgatory") == "Produce"]
    began = {event["operation"]: event for event in mine if event["kind"] == "watch"}
    ended = {event["operation"]: event for event in mine if event["kind"] == "complete"}
    return [(began[number], ended[number]) for number in sorted(began.keys() & ended.keys())]


def _waited(bench: Bench) -> tuple[Event, Event] | None:
    """The first that waited for a follower."""
    for began, ended in _operations(bench):
        if "follower" in ended["by"] and ended["us"] - began["us"] >= _WAITED_US:
            return began, ended
    return None


def _completed_by(bench: Bench) -> list[str]:
    found = _waited(bench)
    return [] if found is None else [str(found[1]["by"]["follower"])]


def _high_watermark(bench: Bench) -> list[str]:
    """What it was while the record waited: what the move that let the record go began with."""
    found = _waited(bench)
    if found is None:
        return []
    watch: EventWatch = bench.notes["watch"]
    began, ended = (event["us"] for event in found)
    moves = [e for e in watch.events() if e["kind"] == "high-watermark" and began < e["us"] <= ended]
    return [str(min(move["from"] for move in moves))] if moves else []


class Purgatory(Exercise):
    """Three brokers and a topic that all three have; nobody leaves the ISR for being late."""

    about = About(
        number=4,
        slug="purgatory",
        title="Purgatory and high watermark",
        title_zh="炼狱与高水位",
        kinds=("observe", "break", "schedule"),
        minutes=35,
        pages=("the-produce-path", "reading-writing-configuring"),
        brokers=3,
        properties={"replica.lag.time.max.ms": "3600000"},
        questions=(
            Question("purgatory", "In which purgatory does the record's request wait?", lambda bench: "Produce"),
            Question("high_watermark", "What is the leader's high watermark while it waits?", _high_watermark),
            Question("completed_by", "Which broker's fetch completed the request?", _completed_by),
            Question(
                "error",
                "What does the producer get when the request runs out of time?",
                lambda bench: ("REQUEST_TIMED_OUT", "Request timed out", "Broker: Request timed out", "7"),
            ),
            Question("in_log", "Is that record in the log all the same (yes, no)?", lambda bench: "yes"),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """A topic with some records; the leader is whoever comes first."""
        brokers = random.sample(range(3), 3)
        create_topic(bench.servers, TOPIC, assignment=[brokers])
        leader = bench.cluster.await_leader(TOPIC, 0)
        count = random.randint(3, 9)
        send(bench.servers, TOPIC, [f"entry {number}" for number in range(count)], acks="all")
        kinds = ("watch", "complete", "expire", "high-watermark")
        bench.notes.update(leader=leader, watch=EventWatch(bench.xray(leader), kinds))
        bench.write_new(SCHEDULE, expiry_race.USUAL.to_json())

    def check_work(self, bench: Bench) -> list[Finding]:
        """One record waited, one expired, nobody is held, the replicas are equal; the schedule."""
        watch: EventWatch = bench.notes["watch"]
        expired = [e for e in watch.events() if e["kind"] == "expire" and e.get("purgatory") == "Produce"]
        held = bench.cluster.links()["held fetchers"]
        return [
            Finding("a record waited for a follower", _waited(bench) is not None, "none has yet"),
            Finding("a record ran out of time", bool(expired), "none has yet"),
            Finding("no fetcher is held", not held, f"that of broker {', '.join(held)} is"),
            self._equal(bench),
            *child.run(expiry_race.__name__, bench.file(SCHEDULE)),
        ]

    @staticmethod
    def _equal(bench: Bench) -> Finding:
        """Whether every replica has what the leader has, and all of it is below the high watermark."""
        (partition,) = bench.xray(bench.notes["leader"]).state("partitions", topic=TOPIC)
        ends = {replica["broker"]: replica["logEnd"] for replica in partition["replicas"]}
        mark = next(replica["highWatermark"] for replica in partition["replicas"] if replica["local"])
        good = set(ends.values()) == {mark} and len(ends) == 3
        return Finding("all replicas have all records", good, f"log ends are {ends}, the high watermark is {mark}")
