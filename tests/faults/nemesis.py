"""Faults by chance: a plan follows from a number, each of its scenarios does something to the cluster and heals it.

What a fault is done to (the leader of which partition, which link, for how long) follows from the number as well, as
far as it is not for the cluster to say who leads. No fault is more than the cluster promises to stand: a log's end is
only spoilt when its broker is out of all ISRs, and disks do not fail while ZooKeeper is away. Where two faults meet,
they befall different brokers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.config_type import ConfigType
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.links import ZOOKEEPER, End
from kafka_py.testing.log_tail import KINDS as DAMAGES
from kafka_py.zk.admin_zk_client import AdminZkClient
from tests.faults.checker import Place
from tests.faults.clocks import Clocks
from tests.faults.history import History
from tests.faults.workload import EVENTS, PLACES, Acknowledged

HEAL_TIMEOUT_S = 120
# In this order everything is healed: a broker is only started when ZooKeeper answers.
CONT, LINKS, ZOO, DISKS, START = range(5)
_ZOOKEEPER_KINDS = ("zookeeper hangs", "zookeeper killed", "zookeeper restarted")
_DISK_KINDS = ("log dir fails", *(f"{what} tail" for what in DAMAGES))
SINGLE = (
    *("leader killed", "follower killed", "controller killed", "leader stopped"),
    *("short hang", "long hang", "session expires"),
    *_ZOOKEEPER_KINDS,
    *("link cut one way", "link cut", "zookeeper link cut one way", "zookeeper link cut"),
    *_DISK_KINDS,
    "clock step",
)
UNCLEAN = "unclean election"
_KILLS = ("leader killed", "follower killed", "controller killed")


class Scenario(NamedTuple):
    """What is done at the same time, and the number that the rest follows from."""

    kinds: tuple[str, ...]
    seed: str

    def __str__(self) -> str:
        return " + ".join(self.kinds)


def is_promised(one: str, two: str) -> bool:
    """Whether acknowledged records survive both at the same time, and writes are accepted afterwards."""
    if one in _DISK_KINDS or two in _DISK_KINDS:
        return {one, two} & set(_KILLS) != set() and not (one in _DISK_KINDS and two in _DISK_KINDS)
    return not (one in _ZOOKEEPER_KINDS and two in _ZOOKEEPER_KINDS)


def plan_of(
    seed: int, count: int, *, double: bool = False, unclean: bool = False, kinds: Sequence[str] = SINGLE
) -> list[Scenario]:
    """Each kind comes once before any comes again. With ``double``, two meet in every second scenario."""
    rng = random.Random(seed)
    turns = _in_turns(rng, kinds)
    plan = []
    for number in range(count):
        found: tuple[str, ...] = (next(turns),)
        if unclean and number % 3 == 1:
            found = (UNCLEAN,)
        elif double and number % 2 == 1:
            one = found[0]
            found = (one, rng.choice([kind for kind in kinds if is_promised(one, kind)]))
        plan.append(Scenario(found, f"{seed}/{number}"))
    return plan


def _in_turns(rng: random.Random, kinds: Sequence[str]) -> Iterator[str]:
    while True:
        yield from rng.sample(kinds, len(kinds))


class Nemesis:
    """Does to a cluster what a scenario says."""

    def __init__(self, cluster: Cluster, history: History, acknowledged: Acknowledged, clocks: Clocks | None) -> None:
        self._cluster = cluster
        self._clocks = clocks
        self._history = history
        self._acknowledged = acknowledged
        self._rng = random.Random()
        self._touched: set[int] = set()
        self._heals: list[tuple[int, Callable[[], object]]] = []
        self._hold_s = 0.0
        self._faults: dict[str, Callable[[], str]] = {
            "leader killed": lambda: self._kill(self._leader()),
            "follower killed": lambda: self._kill(self._follower()),
            "controller killed": lambda: self._kill(self._controller()),
            "leader stopped": self._terminate,
            "short hang": lambda: self._hang(0.2, 1.2),
            "long hang": lambda: self._hang(3, 6),
            "session expires": self._expire,
            "zookeeper hangs": lambda: self._end_zookeeper("stop"),
            "zookeeper killed": lambda: self._end_zookeeper("kill"),
            "zookeeper restarted": lambda: self._end_zookeeper("terminate"),
            "link cut one way": lambda: self._cut_brokers(one_way=True),
            "link cut": lambda: self._cut_brokers(one_way=False),
            "zookeeper link cut one way": lambda: self._cut_zookeeper(one_way=True),
            "zookeeper link cut": lambda: self._cut_zookeeper(one_way=False),
            "log dir fails": self._fail_log_dir,
            **{f"{what} tail": lambda what=what: self._spoil(what) for what in DAMAGES},  # type: ignore[misc]
            "clock step": self._step_clock,
            UNCLEAN: self._elect_uncleanly,
        }

    def carry_out(self, scenario: Scenario) -> tuple[str, float]:
        """Do it, heal it, and wait until all is well; what was done to whom, and how long some partition took no write.

        Raises TimeoutError when it does not become well, RuntimeError for a broker that ended by itself.
        """
        self._look_that_all_run()
        self._rng = random.Random(scenario.seed)
        self._touched, self._heals, self._hold_s = set(), [], 0.0
        self._acknowledged.watch()
        self._history.write("nemesis", "fault", kind=str(scenario))
        try:
            # ZooKeeper last: it says who leads
            kinds = sorted(scenario.kinds, key=lambda kind: kind in _ZOOKEEPER_KINDS)
            done = [self._faults[kind]() for kind in kinds]
            time.sleep(self._hold_s)
        finally:
            for _, heal in sorted(self._heals, key=lambda it: it[0]):
                heal()
        self._history.write("nemesis", "healing", kind=str(scenario))
        self._acknowledged.wait(HEAL_TIMEOUT_S)
        self._cluster.await_no_under_replicated(timeout_s=HEAL_TIMEOUT_S)
        if self._rng.random() < 0.5:
            self._cluster.elect_preferred()
        self._history.write("nemesis", "healed", kind=str(scenario))
        self._look_that_all_run()
        return ", ".join(done), self._acknowledged.pause()

    def _look_that_all_run(self) -> None:
        for broker in self._cluster.brokers:
            if not broker.process.is_running:
                raise RuntimeError(f"broker {broker.id} ended by itself: {broker.process.how_it_ended}")

    def _hold(self, low_s: float, high_s: float) -> None:
        self._hold_s = max(self._hold_s, self._rng.uniform(low_s, high_s))

    def _heal(self, rank: int, action: Callable[[], object]) -> None:
        self._heals.append((rank, action))

    # -- Who is meant

    def _leader(self) -> int:
        """Of some partition; another broker if a fault has befallen that one already."""
        place = TopicPartition(*self._rng.choice(PLACES))
        with self._cluster.zookeeper_client() as client:
            return self._touch(client.get_leader_for_partition(place))

    def _follower(self, places: Sequence[Place] = PLACES) -> int:
        place = TopicPartition(*self._rng.choice(places))
        with self._cluster.zookeeper_client() as client:
            leader = client.get_leader_for_partition(place)
        return self._touch(self._rng.choice([broker.id for broker in self._cluster.brokers if broker.id != leader]))

    def _controller(self) -> int:
        return self._touch(self._cluster.await_controller())

    def _anyone(self) -> int:
        return self._touch(self._rng.randrange(len(self._cluster.brokers)))

    def _touch(self, broker: int | None) -> int:
        free = [one.id for one in self._cluster.brokers if one.id not in self._touched]
        chosen = broker if broker in free else self._rng.choice(free)
        self._touched.add(chosen)
        return chosen

    # -- Processes

    def _kill(self, broker: int) -> str:
        self._cluster.kill(broker)
        self._heal(START, lambda: self._cluster.start_broker(broker))
        self._hold(0, 4)
        return f"broker {broker} killed"

    def _terminate(self) -> str:
        broker = self._leader()
        self._cluster.terminate(broker)
        self._heal(START, lambda: self._cluster.start_broker(broker))
        self._hold(0, 2)
        return f"broker {broker} stopped"

    def _hang(self, low_s: float, high_s: float) -> str:
        broker = self._rng.choice((self._leader, self._follower, self._controller))()
        self._cluster.stop(broker)
        self._heal(CONT, lambda: self._cluster.cont(broker))
        self._hold(low_s, high_s)
        return f"broker {broker} hung"

    def _expire(self) -> str:
        broker = self._rng.choice((self._leader, self._controller))()
        self._cluster.expire_session(broker)
        self._hold(0, 1)
        return f"session of broker {broker} expired"

    def _end_zookeeper(self, how: str) -> str:
        self._cluster.stop_zookeeper(how)
        self._heal(ZOO, self._cluster.start_zookeeper)
        self._hold(0.5, 5)
        return f"zookeeper: {how}"

    # -- Links

    def _cut_brokers(self, one_way: bool) -> str:
        a = self._leader()
        b = self._rng.choice([broker.id for broker in self._cluster.brokers if broker.id != a])
        return self._cut(*self._rng.choice([(a, b), (b, a)]), one_way)

    def _cut_zookeeper(self, one_way: bool) -> str:
        broker = self._rng.choice((self._leader, self._controller))()
        ends: list[tuple[End, End]] = [(broker, ZOOKEEPER), (ZOOKEEPER, broker)]
        return self._cut(*self._rng.choice(ends), one_way)

    def _cut(self, a: End, b: End, one_way: bool) -> str:
        self._cluster.cut(a, b, one_way)
        self._heal(LINKS, lambda: self._cluster.heal(a, b))
        self._hold(1, 6)
        return f"{a} cut from {b}" + " one way" * one_way

    # -- Disks

    def _fail_log_dir(self) -> str:
        broker = self._rng.choice((self._leader, self._follower))()
        n = self._rng.randrange(len(self._cluster.broker(broker).log_dirs))
        self._cluster.fail_log_dir(broker, n)

        def heal() -> None:
            if self._cluster.broker(broker).process.is_running:
                self._cluster.kill(broker)
            self._cluster.heal_log_dir(broker, n)

        self._heal(DISKS, heal)
        self._heal(START, lambda: self._cluster.start_broker(broker))
        self._hold(0, 3)
        return f"log dir {n} of broker {broker} failed"

    def _spoil(self, what: str) -> str:
        broker, place = self._leader(), self._rng.choice(PLACES)
        self._cluster.kill(broker)
        self._heal(START, lambda: self._cluster.start_broker(broker))
        for one in PLACES:  # who is still in an ISR could be elected with what is left
            self._await_out_of_isr(TopicPartition(*one), broker)
        self._cluster.corrupt_tail(broker, *place, what)
        self._hold(0, 2)
        return f"broker {broker} killed, end of {place} there: {what}"

    def _await_out_of_isr(self, tp: TopicPartition, broker: int) -> None:
        deadline = time.monotonic() + HEAL_TIMEOUT_S
        with self._cluster.zookeeper_client() as client:
            while True:
                state = client.get_topic_partition_state(tp)
                if state is not None and broker not in state.leader_and_isr.isr:
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(f"broker {broker} is still in the ISR of {tp}")
                time.sleep(0.05)

    # -- Clocks

    def _step_clock(self) -> str:
        """By as much as an hour, or back by a few seconds: where a clock goes back, Kafka waits for so long to connect.

        It stays as it was set.
        """
        if self._clocks is None:
            raise RuntimeError("no C compiler: clocks cannot be set")
        broker, seconds = self._anyone(), self._rng.choice((-4, -1, 1, 10, 600, 3600))
        self._clocks.step(broker, seconds)
        self._hold(0.5, 2)
        return f"clock of broker {broker} set by {seconds:+} s"

    # -- Unclean elections

    def _elect_uncleanly(self) -> str:
        """One falls behind while the others write on; these are killed, and it leads again what it did not know."""
        mine = [place for place in PLACES if place.topic == EVENTS]
        behind = self._follower(mine)
        others = [broker.id for broker in self._cluster.brokers if broker.id != behind]
        since = self._history.now()
        self._cluster.hold_fetcher(behind)
        self._heal(LINKS, lambda: self._cluster.release_fetcher(behind))
        led = [place for place in mine if self._leader_of(place) != behind]
        for place in led:
            self._await_out_of_isr(TopicPartition(*place), behind)
        time.sleep(self._rng.uniform(0.5, 1.5))  # this is what will be lost
        for broker in others:
            self._cluster.kill(broker)
            self._heal(START, lambda broker=broker: self._cluster.start_broker(broker))  # type: ignore[misc]
        for broker in others:
            self._cluster.await_forgotten(broker)
        self._cluster.unclean_election(*led[0])  # it is the topic that is told that it may be
        for place in led:
            self._cluster.await_leader(*place, behind)
            where = {"topic": place.topic, "partition": place.partition, "since": since}
            self._history.write("nemesis", "unclean", **where)
        with self._cluster.zookeeper_client() as client:
            admin = AdminZkClient(client)
            config = admin.fetch_entity_config(ConfigType.TOPIC, EVENTS)
            config.pop("unclean.leader.election.enable", None)
            admin.change_topic_config(EVENTS, config)
        return f"broker {behind} fell behind and was elected for {', '.join(map(str, led))}"

    def _leader_of(self, place: tuple[str, int]) -> int | None:
        with self._cluster.zookeeper_client() as client:
            return client.get_leader_for_partition(TopicPartition(*place))
