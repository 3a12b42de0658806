"""Lab 5: the leader dies, the controller loses its session, and a topic comes back with less than it had.

Ours, no original.
"""

from __future__ import annotations

import random
from typing import Final

from kafka_py.labs import invariants
from kafka_py.labs.clients import create_topic, send
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding
from kafka_py.zk.zk_data import BrokerIdZNode

STEADY, RISKY = "steady", "risky"
_LAG_MS: Final = "2000"


def session_of(bench: Bench, broker: int) -> int:
    """The ZooKeeper session that a broker is registered with, 0 if it is not."""
    with bench.cluster.zookeeper_client() as client:
        _, stat = client.get_data_and_stat(BrokerIdZNode.path(broker))
    return 0 if stat is None else stat.ephemeral_owner


class Failover(Exercise):
    """One broker leads two topics: of the one another replica is in sync, of the other nobody."""

    about = About(
        number=5,
        slug="failover",
        title="Controller and failover",
        title_zh="控制器与故障转移",
        kinds=("observe", "break"),
        minutes=40,
        pages=("why-fast-and-available",),
        brokers=3,
        properties={"zookeeper.session.timeout.ms": "2000", "replica.lag.time.max.ms": _LAG_MS},
        questions=(
            Question("controller", "Who was the controller at the beginning?", lambda b: str(b.notes["controller"])),
            Question("isr", "Who was in the ISR of risky at the beginning?", lambda b: str(b.notes["leader"])),
            Question("next_leader", "Who led steady after its leader was killed?", lambda b: str(b.notes["second"])),
            Question("lost", "How many records of risky were lost?", lambda bench: str(len(bench.notes["lost"]))),
            Question(
                "controller_epoch", "What is the controller epoch now?", lambda b: str(invariants.controller_epoch(b))
            ),
            Question(
                "leader_epoch",
                "What is the leader epoch of steady now?",
                lambda bench: str(invariants.state_of(bench, STEADY).leader_epoch),
            ),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """The follower of risky has fallen behind, and its leader has records that nobody else has."""
        cluster = bench.cluster
        controller = cluster.await_controller()
        leader, follower = random.sample([id for id in range(3) if id != controller], 2)
        create_topic(bench.servers, STEADY, assignment=[[leader, controller, follower]])
        create_topic(bench.servers, RISKY, assignment=[[leader, follower]])
        steady = [f"steady {number}" for number in range(random.randint(5, 20))]
        send(bench.servers, STEADY, steady, acks="all")
        send(bench.servers, RISKY, [f"kept {number}" for number in range(random.randint(5, 20))], acks="all")
        cluster.hold_fetcher(follower, leader)
        cluster.await_isr(RISKY, 0, [leader])
        cluster.await_isr(STEADY, 0, [leader, controller])
        lost = [f"lost {number}" for number in range(random.randint(3, 12))]
        send(bench.servers, RISKY, lost, acks="all")
        bench.notes.update(leader=leader, second=controller, controller=controller, steady=steady, lost=lost)
        bench.notes.update(
            pid=cluster.broker(leader).process.pid,
            session=session_of(bench, controller),
            controller_pid=cluster.broker(controller).process.pid,
            epochs=invariants.epochs(bench, (STEADY, RISKY)),
        )

    def check_work(self, bench: Bench) -> list[Finding]:
        """What was to be done was done, and everything is well again but for what an unclean election loses."""
        cluster, notes = bench.cluster, bench.notes
        killed = cluster.broker(notes["leader"]).process.pid != notes["pid"]
        same = cluster.broker(notes["controller"]).process.pid == notes["controller_pid"]
        expired = same and session_of(bench, notes["controller"]) != notes["session"]
        found = [
            Finding("the leader was killed, and started again", killed, "it is still the first process"),
            Finding("the controller lost its session, and nothing else", expired, "its session is the first one"),
            invariants.all_run(bench),
            invariants.nothing_is_held(bench),
        ]
        if not all(finding.good for finding in found[2:]):
            return found
        return [*found, *self._of_the_topics(bench)]

    @staticmethod
    def _of_the_topics(bench: Bench) -> list[Finding]:
        notes = bench.notes
        leaders = {topic: invariants.state_of(bench, topic).leader for topic in (STEADY, RISKY)}
        unclean = not set(notes["lost"]) & set(invariants.values_of(bench.servers, RISKY))
        return [
            invariants.nothing_lost(bench, STEADY, notes["steady"]),
            Finding(f"{RISKY} was led by who was not in sync", unclean, "nothing was lost"),
            invariants.replicas_agree(bench, STEADY, 3),
            invariants.replicas_agree(bench, RISKY, 2),
            invariants.one_leader(bench, STEADY),
            invariants.one_leader(bench, RISKY),
            invariants.epochs_only_grow(bench, notes["epochs"]),
            Finding(
                "the first replicas lead again",
                set(leaders.values()) == {notes["leader"]},
                f"the leaders are {leaders}",
            ),
        ]
