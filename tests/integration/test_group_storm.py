"""Rebalance storms: members join, leave and die at random, coordinators are killed, and no promise of a group breaks.

In CI a short one; `KAFKA_PY_STORM=50,300` runs 50 members for 300 seconds.
"""

from __future__ import annotations

import os
import pathlib
import random
import time

import pytest

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic
from tests.integration.group_storm import STUCK_S, Ledger, Member
from tests.integration.support import wait_until, wait_until_forgotten
from tests.integration.wire import FIND_COORDINATOR, Connection, string

pytestmark = pytest.mark.slow

MEMBERS, SECONDS = map(int, os.environ.get("KAFKA_PY_STORM", "12,30").split(","))
PARTITIONS = 40
GROUP = "storm"
PROPERTIES = {
    "zookeeper.session.timeout.ms": "2000",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "500",
    "num.partitions": "1",
}


class Storm:
    """The members of one group, and the weather."""

    def __init__(self, cluster: LocalCluster, topic: str, seed: int) -> None:
        self.cluster = cluster
        self.ledger = Ledger(PARTITIONS)
        self.random = random.Random(seed)
        self._topic = topic
        self._count = 0
        self.members: list[Member] = []
        self.gone: list[Member] = []

    def _ports(self) -> list[int]:
        return [broker.port for broker in self.cluster.brokers if broker.process.is_running]

    def add(self) -> None:
        self._count += 1
        self.members.append(Member(self._count, self._ports, GROUP, self._topic, self.ledger))
        self.members[-1].start()

    def change(self) -> None:
        """One member goes, politely or not, or comes."""
        choice = self.random.random()
        if choice < 0.55 and len(self.members) < MEMBERS:
            self.add()
        elif len(self.members) > MEMBERS // 2:
            member = self.members.pop(self.random.randrange(len(self.members)))
            self.gone.append(member)
            (member.leave if choice < 0.8 else member.die)()

    def check(self) -> None:
        everybody = [*self.members, *self.gone]
        assert [m.failure for m in everybody if m.failure is not None] == []
        assert [m.name for m in everybody if m.is_stuck] == []
        assert self.ledger.violations == []

    def is_calm(self) -> bool:
        """Whether the members that are left share all partitions in one generation."""
        self.check()
        generations = {member.generation for member in self.members}
        shares = [partition for member in self.members for partition in member.partitions]
        return len(generations) == 1 and sorted(shares) == list(range(PARTITIONS))

    def end(self) -> None:
        for member in self.members:
            member.leave()
        for member in [*self.members, *self.gone]:
            member.join(STUCK_S)
            assert not member.is_alive(), member.name


def coordinator(cluster: LocalCluster, group: str) -> LocalBroker:
    """Where the group's partition of __consumer_offsets is led."""

    def found() -> LocalBroker | None:
        broker = next(broker for broker in cluster.brokers if broker.process.is_running)
        with Connection(broker) as connection:
            answer = connection.call(FIND_COORDINATOR, 0, string(group.encode()))
        port = answer.get("coordinator").get("port")
        return next((broker for broker in cluster.brokers if broker.port == port), None)

    return wait_until(found, STUCK_S, "a coordinator")


@pytest.mark.parametrize("seed", [1])
def test_members_come_and_go_while_coordinators_die(tmp_path: pathlib.Path, seed: int) -> None:
    with LocalCluster(3, home=tmp_path, properties=PROPERTIES) as cluster:
        topic = create_topic(cluster.bootstrap_servers, "storm", partitions=PARTITIONS)
        storm = Storm(cluster, topic, seed)
        try:
            for _ in range(MEMBERS):
                storm.add()
            kill_every = max(SECONDS / 3, 12)
            next_kill, end = time.monotonic() + kill_every, time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(storm.random.uniform(0.2, 2.0))
                storm.change()
                storm.check()
                if time.monotonic() > next_kill:
                    victim = coordinator(cluster, GROUP)
                    victim.process.kill()
                    time.sleep(storm.random.uniform(0, 3))
                    wait_until_forgotten(cluster, victim)  # or its own session refuses it
                    victim.start()
                    next_kill = time.monotonic() + kill_every
            wait_until(storm.is_calm, STUCK_S, "one generation that shares all partitions")
            assert storm.ledger.commits > 100
            assert storm.ledger.generations > 5
        finally:
            storm.end()
        storm.check()
