"""Partitions move between the log directories of a broker under load, and over its death (KIP-113)."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient as ConfluentAdminClient
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from kafka_py.admin.admin_client import AdminClient
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import BIN, LocalBroker
from kafka_py.zk.admin_zk_client import AdminZkClient
from tests.integration.clients import consume_confluent, topic_name
from tests.integration.conftest import SMALL
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

MOVES = {
    **SMALL,
    "zookeeper.session.timeout.ms": "2000",
    "replica.fetch.backoff.ms": "100",
    "replica.fetch.max.bytes": "200000",  # of one read: the throttle looks between two
}
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Load:
    """Produces to one partition with acks=all until it is told to end; keeps what was acknowledged at which offset."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acked: dict[int, bytes] = {}
        self.failed: list[KafkaError] = []
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            offset, value = message.offset(), message.value()
            assert offset is not None
            assert value is not None
            assert offset not in self.acked
            self.acked[offset] = value

    def _run(self) -> None:
        n = 0
        while not self._end.is_set():
            with contextlib.suppress(BufferError):
                self._producer.produce(self._topic, b"%08d" % n * 50, partition=0, on_delivery=self._delivered)
                n += 1
            self._producer.poll(0.001)
        assert self._producer.flush(60) == 0

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._end.set()
        self._thread.join()

    def await_more(self, count: int) -> None:
        wanted = len(self.acked) + count
        wait_until(lambda: len(self.acked) >= wanted, 60, f"{wanted} acknowledged records")


class Copy(NamedTuple):
    """What kafka-log-dirs tells of a partition in one directory."""

    log_dir: str
    size: int
    lag: int
    is_future: bool


def log_dirs(broker: LocalBroker, tp: TopicPartition) -> list[Copy]:
    """Where kafka-log-dirs finds the partition, the current log first."""
    command = [sys.executable, str(BIN / "kafka-log-dirs.py"), "--bootstrap-server", broker.address, "--describe"]
    command += ["--broker-list", str(broker.id), "--topic-list", tp.topic]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    (told,) = json.loads(run.stdout.splitlines()[-1])["brokers"]
    found = [
        Copy(log_dir["logDir"], partition["size"], partition["offsetLag"], partition["isFuture"])
        for log_dir in told["logDirs"]
        for partition in log_dir["partitions"]
        if partition["partition"] == str(tp)
    ]
    return sorted(found, key=lambda copy: copy.is_future)


def move(broker: LocalBroker, tp: TopicPartition) -> pathlib.Path:
    """Have the broker move its replica to its other directory, and return that."""
    (now,) = log_dirs(broker, tp)
    destination = next(d for d in broker.log_dirs if str(d) != now.log_dir)
    admin_client = AdminClient.create(broker.address)
    try:
        request = AlterReplicaLogDirsRequest.Builder({tp: str(destination)})
        response = admin_client.send(admin_client._node(broker.id), request)
        assert isinstance(response, AlterReplicaLogDirsResponse)
        assert response.responses() == {tp: Errors.NONE}
    finally:
        admin_client.close()
    return destination


def await_moved(broker: LocalBroker, tp: TopicPartition, destination: pathlib.Path) -> None:
    wait_until(lambda: (destination / str(tp)).is_dir(), 60, f"{tp} in {destination}")
    (now,) = log_dirs(broker, tp)
    assert (now.log_dir, now.is_future) == (str(destination), False)
    left = [d.name for other in broker.log_dirs if other != destination for d in other.glob(f"{tp}*")]
    assert all(name.endswith("-delete") for name in left), left


def throttle(cluster: Cluster, broker: LocalBroker, bytes_per_second: int | None) -> None:
    with cluster.zookeeper_client() as client:
        limit = {} if bytes_per_second is None else {THROTTLE: str(bytes_per_second)}
        AdminZkClient(client).change_broker_config(broker.id, limit)


def assert_nothing_lost(bootstrap: str, topic: str, load: Load) -> None:
    assert load.failed == []
    rows = consume_confluent(bootstrap, topic, 1, len(load.acked))
    read = {row.offset: row.value for row in rows}
    assert {offset: value for offset, value in load.acked.items() if read.get(offset) != value} == {}


def stored(broker: LocalBroker, tp: TopicPartition) -> bytes:
    """The bytes of the replica; how they are cut into segments differs after a move."""
    (directory,) = [d / str(tp) for d in broker.log_dirs if (d / str(tp)).is_dir()]
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))


@contextlib.contextmanager
def moving_cluster(home: pathlib.Path, brokers: int, **properties: Any) -> Iterator[Cluster]:
    with Cluster(brokers, home=home, properties=MOVES | properties, log_dirs=2) as cluster:
        yield cluster


def test_leader_and_follower_move_there_and_back_under_load(tmp_path: pathlib.Path) -> None:
    with moving_cluster(tmp_path, 2) as cluster:
        bootstrap = ",".join(broker.address for broker in cluster.brokers)
        topic = topic_name("moves")
        tp = TopicPartition(topic, 0)
        admin = ConfluentAdminClient({"bootstrap.servers": bootstrap})
        wanted = NewTopic(topic, 1, 2, config={"min.insync.replicas": "2"})
        admin.create_topics([wanted])[topic].result(30)
        cluster.await_isr(topic, 0, [0, 1])
        with Load(bootstrap, topic) as load:
            load.await_more(2000)
            for _ in range(2):
                destinations = {broker.id: move(broker, tp) for broker in cluster.brokers}
                for broker in cluster.brokers:
                    await_moved(broker, tp, destinations[broker.id])
                load.await_more(1000)
        cluster.await_isr(topic, 0, [0, 1])
        assert_nothing_lost(bootstrap, topic, load)
        a, b = cluster.brokers
        wait_until(lambda: stored(a, tp) == stored(b, tp), what="the same bytes on both brokers")


def test_a_move_goes_on_after_the_broker_was_killed(tmp_path: pathlib.Path) -> None:
    with moving_cluster(tmp_path, 1) as cluster:
        (broker,) = cluster.brokers
        topic = topic_name("moves")
        tp = TopicPartition(topic, 0)
        admin = ConfluentAdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        with Load(broker.address, topic) as load:
            load.await_more(8000)
            throttle(cluster, broker, 100_000)
            destination = move(broker, tp)
            wait_until(lambda: log_dirs(broker, tp)[-1].size > 0, 60, "the first bytes of the copy")
            current, future = log_dirs(broker, tp)
            assert (future.log_dir, future.is_future, current.is_future) == (str(destination), True, False)
            assert future.lag > 0
            assert future.size < current.size
            cluster.kill(0)
            assert [d.name.endswith("-future") for d in destination.glob(f"{topic}-*")] == [True]
            cluster.start_broker(0)
            load.await_more(500)
            current, future = log_dirs(broker, tp)
            assert (future.log_dir, future.is_future, current.is_future) == (str(destination), True, False)
            assert future.lag > 0, "it is throttled still"
            throttle(cluster, broker, None)
            await_moved(broker, tp, destination)
            load.await_more(500)
        assert_nothing_lost(broker.address, topic, load)
        cluster.restart(0, "kill")
        assert_nothing_lost(broker.address, topic, load)
        (now,) = log_dirs(broker, tp)
        assert now.log_dir == str(destination)


def test_a_directory_that_fails_ends_the_move_to_it_and_nothing_else(tmp_path: pathlib.Path) -> None:
    with moving_cluster(tmp_path, 1) as cluster:
        (broker,) = cluster.brokers
        topic = topic_name("moves")
        tp = TopicPartition(topic, 0)
        admin = ConfluentAdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        with Load(broker.address, topic) as load:
            load.await_more(4000)
            throttle(cluster, broker, 100_000)
            destination = move(broker, tp)
            wait_until(lambda: log_dirs(broker, tp)[-1].size > 0, 60, "the first bytes of the copy")
            cluster.fail_log_dir(0, broker.log_dirs.index(destination))
            wait_until(lambda: len(log_dirs(broker, tp)) == 1, 60, "the end of the move")
            (now,) = log_dirs(broker, tp)
            assert (now.log_dir != str(destination), now.is_future) == (True, False)
            load.await_more(500)
        assert_nothing_lost(broker.address, topic, load)


def test_the_tool_for_reassignments_moves_between_directories(tmp_path: pathlib.Path) -> None:
    with moving_cluster(tmp_path, 1) as cluster:
        (broker,) = cluster.brokers
        topic = topic_name("moves")
        tp = TopicPartition(topic, 0)
        admin = ConfluentAdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
        (now,) = log_dirs(broker, tp)
        destination = next(d for d in broker.log_dirs if str(d) != now.log_dir)
        wanted = {"topic": topic, "partition": 0, "replicas": [broker.id], "log_dirs": [str(destination)]}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))

        def reassign(*options: str) -> str:
            command = [
                sys.executable,
                str(BIN / "kafka-reassign-partitions.py"),
                "--zookeeper",
                cluster.zookeeper_connect,
            ]
            command += ["--bootstrap-server", broker.address, "--reassignment-json-file", str(plan), *options]
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

        with Load(broker.address, topic) as load:
            load.await_more(500)
            reassign("--execute")
            await_moved(broker, tp, destination)
            told = reassign("--verify")
            assert f"Reassignment of replica {topic}-0-{broker.id} completed successfully" in told
        assert_nothing_lost(broker.address, topic, load)
