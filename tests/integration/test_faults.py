"""Each verb of the cluster, once, on three real brokers; what it does is seen by a client or in ZooKeeper."""

from __future__ import annotations

import pathlib
import re
import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.testing.cluster import Cluster, FaultError
from kafka_py.testing.faults import FAULTS
from kafka_py.testing.log_tail import KINDS
from tests.integration.clients import consume_confluent, produce, topic_name
from tests.integration.support import wait_until, zookeeper

pytestmark = pytest.mark.slow

PROPERTIES = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "queued.max.requests": "20",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers; each test leaves them all alive, in sync and linked."""
    with Cluster(3, home=tmp_path_factory.mktemp("faults"), properties=PROPERTIES, log_dirs=2) as started:
        yield started


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """One partition on brokers 0, 1 and 2, led by 0."""
    return created(cluster, [0, 1, 2])


def created(cluster: Cluster, replicas: list[int]) -> str:
    """A topic with one record, whose replicas are all in sync."""
    name = created_without_waiting(cluster, replicas)
    cluster.await_leader(name, 0, replicas[0])
    cluster.await_isr(name, 0, replicas)
    write(cluster, name)
    return name


def write(cluster: Cluster, topic: str, **config: object) -> float:
    """Produce one record with acks=all; how long it took, in ms."""
    began = time.monotonic()
    produce(cluster.bootstrap_servers, topic, [(None, b"x")], **config)
    return (time.monotonic() - began) * 1000


def do(cluster: Cluster, line: str) -> str:
    """As a command or a button does it."""
    name, *words = line.split()
    return FAULTS[name].call(cluster, FAULTS[name].named(words))


def test_a_killed_broker_leads_no_more_and_comes_back(cluster: Cluster, topic: str) -> None:
    do(cluster, "kill 0")
    with pytest.raises(FaultError, match="has ended"):
        cluster.kill(0)
    do(cluster, "await_forgotten 0")
    assert cluster.await_leader(topic, 0) in (1, 2)
    cluster.await_isr(topic, 0, [1, 2])
    do(cluster, "start_broker 0")
    do(cluster, f"await_isr {topic} 0 2,1,0")
    do(cluster, f"elect_preferred {topic} 0")
    cluster.await_leader(topic, 0, 0)


def test_restart_and_terminate_hand_over(cluster: Cluster, topic: str) -> None:
    cluster.terminate(0)
    cluster.await_leader(topic, 0, 1, timeout_s=1)
    cluster.await_forgotten(0, timeout_s=1)
    before = cluster.broker(1).process.pid
    cluster.start_broker(0)
    cluster.restart(1)
    assert cluster.broker(1).process.pid != before
    cluster.await_no_under_replicated()


def test_a_stopped_broker_keeps_acks_waiting(cluster: Cluster, topic: str) -> None:
    cluster.stop(2)
    try:
        assert write(cluster, topic) > 300  # until the leader has taken it out of the ISR
        cluster.await_isr(topic, 0, [0, 1])
    finally:
        cluster.cont(2)
    cluster.await_isr(topic, 0, [0, 1, 2])


def test_cut_one_way_shrinks_the_isr_and_heal_grows_it(cluster: Cluster, topic: str) -> None:
    do(cluster, "cut 1 0 --one-way")
    assert cluster.links()["cut"] == ["1>0"]
    cluster.await_isr(topic, 0, [0, 2])
    write(cluster, topic)
    do(cluster, "heal 0 1")
    cluster.await_isr(topic, 0, [0, 1, 2])


def test_a_slow_link_makes_acks_late(cluster: Cluster, topic: str) -> None:
    write(cluster, topic)
    cluster.slow_link(0, 2, 300)
    try:
        assert write(cluster, topic) >= 300
    finally:
        cluster.heal()
    wait_until(lambda: write(cluster, topic) < 250, what="a fast link")
    cluster.await_isr(topic, 0, [0, 1, 2])


def test_a_held_fetcher_falls_behind_alone(cluster: Cluster, topic: str) -> None:
    cluster.hold_fetcher(1)
    cluster.await_isr(topic, 0, [0, 2])
    other = created_without_waiting(cluster, [1, 0])  # the controller still reaches it
    cluster.await_leader(other, 0, 1)
    cluster.release_fetcher(1)
    cluster.await_isr(topic, 0, [0, 1, 2])


def created_without_waiting(cluster: Cluster, replicas: list[int]) -> str:
    name = topic_name("faults")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, 1, replica_assignment=[replicas])]).values():
        future.result(30)
    return name


def test_a_broker_cut_from_zookeeper_is_forgotten_until_it_is_healed(cluster: Cluster) -> None:
    do(cluster, "cut 2 zookeeper")
    cluster.await_forgotten(2)
    do(cluster, "heal")
    do(cluster, "await_registered 2")
    cluster.await_no_under_replicated()


def test_an_expired_session_is_followed_by_another(cluster: Cluster) -> None:
    def owner() -> int:
        with zookeeper(cluster.zookeeper_connect) as client:
            found = client.exists("/brokers/ids/1")
            return 0 if found is None else found.owner_session_id

    before = owner()
    assert cluster.expire_session(1) == before
    wait_until(lambda: owner() not in (0, before), what="the next session")
    cluster.await_no_under_replicated()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_brokers_serve_without_zookeeper_and_meet_it_again(cluster: Cluster, topic: str, how: str) -> None:
    do(cluster, f"stop_zookeeper how={how}")
    try:
        assert not is_ok(cluster)
        write(cluster, topic)
    finally:
        do(cluster, "start_zookeeper")
    for broker in cluster.brokers:
        cluster.await_registered(broker.id)
    cluster.await_no_under_replicated()


def is_ok(cluster: Cluster) -> bool:
    """Whether ZooKeeper says within a second that it is."""
    host, port = cluster.zookeeper_connect.split(":")
    try:
        with socket.create_connection((host, int(port)), 1) as client:
            client.sendall(b"ruok")
            return client.recv(4) == b"imok"
    except OSError:
        return False


def test_a_full_request_queue_makes_clients_wait(cluster: Cluster, topic: str) -> None:
    usual = write(cluster, topic)
    do(cluster, "fill_request_queue 0")
    try:
        assert max(cluster.gauge(0, "RequestQueueSize").values()) >= 15
        assert write(cluster, topic) > usual
    finally:
        do(cluster, "drain_request_queue 0")
    wait_until(lambda: max(cluster.gauge(0, "RequestQueueSize").values()) < 5, what="an empty queue")


def test_leaders_move_to_any_broker(cluster: Cluster) -> None:
    topic = created(cluster, [0, 1])
    do(cluster, f"move_leader {topic} 0 to=1")
    cluster.await_isr(topic, 0, [0, 1])
    cluster.move_leader(topic, 0, 2)  # it had no copy
    cluster.await_isr(topic, 0, [1, 2])
    assert len(consume_confluent(cluster.bootstrap_servers, topic, 1, 1)) == 1


def test_an_unclean_election_loses_what_only_the_leader_had(cluster: Cluster) -> None:
    topic = created(cluster, [1, 2])
    cluster.hold_fetcher(2, 1)
    cluster.await_isr(topic, 0, [1])
    write(cluster, topic)
    cluster.kill(1)
    assert do(cluster, f"unclean_election {topic} 0").endswith(": 2")
    cluster.release_fetcher(2, 1)
    assert len(consume_confluent(cluster.bootstrap_servers, topic, 1, 1)) == 1
    cluster.start_broker(1)
    cluster.await_isr(topic, 0, [1, 2])
    cluster.await_no_under_replicated()


def test_a_corrupt_tail_is_cut_off_and_fetched_again(cluster: Cluster) -> None:
    topics = {what: created(cluster, [0, 1]) for what in KINDS}
    for topic in topics.values():
        write(cluster, topic)
    with pytest.raises(FaultError, match="kill it first"):
        cluster.corrupt_tail(0, topics["torn"], 0)
    cluster.kill(0)
    spoilt = {what: cluster.corrupt_tail(0, topic, 0, what) for what, topic in topics.items()}
    cluster.start_broker(0)
    cluster.await_no_under_replicated()
    for what, topic in topics.items():
        [sound] = cluster.broker(1).home.glob(f"data-*/{topic}-0/*.log")
        assert spoilt[what].with_suffix(".log").read_bytes() == sound.read_bytes()


def test_a_failed_log_dir_takes_its_replicas_offline(cluster: Cluster) -> None:
    topic = created(cluster, [2, 0])
    [log_dir] = [path for path in cluster.broker(2).log_dirs if (path / f"{topic}-0").exists()]
    n = cluster.broker(2).log_dirs.index(log_dir)
    do(cluster, f"fail_log_dir 2 {n}")
    assert list(cluster.gauge(2, "OfflineLogDirectoryCount").values()) == [1]
    cluster.await_leader(topic, 0, 0)
    cluster.await_isr(topic, 0, [0])
    cluster.kill(2)
    do(cluster, f"heal_log_dir 2 {n}")
    cluster.start_broker(2)
    cluster.await_isr(topic, 0, [0, 2])
    cluster.await_no_under_replicated()


def test_a_group_is_awaited(cluster: Cluster, topic: str) -> None:
    group = topic_name("group")
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    consumer.subscribe([topic])
    try:
        wait_until(lambda: consumer.poll(0.1) is None and consumer.assignment(), what="an assignment")
        cluster.await_group_state(group, "Stable")
    finally:
        consumer.close()
    do(cluster, f"await_group_state {group} Empty")


def test_another_controller_is_awaited(cluster: Cluster) -> None:
    first = cluster.await_controller()
    cluster.expire_session(first)
    wait_until(lambda: cluster.await_controller() != first or None, what="another controller")
    cluster.await_registered(first)


def test_the_example_of_the_page_does_what_it_says() -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    example, *_ = re.findall("```python\n(.*?)```", page, re.S)  # that of pytest is run as a test is
    began = time.monotonic()
    exec(compile(example, "docs/testing.md", "exec"), {})
    assert time.monotonic() - began < 40, "a start takes two seconds on a quiet machine, sessions and lags three"
