"""What the controller has to get along with: brokers that hang, a ZooKeeper that is gone, clients that come early."""

from __future__ import annotations

import contextlib
import pathlib
import re
import signal
import socket
import struct
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, wait_for_leaders
from tests.integration.support import wait_until
from tests.integration.wire import METADATA

pytestmark = pytest.mark.slow

HOUR = "3600000"
TOLD_TO_STOP = re.compile("Starting controlled shutdown")
SHORT_SESSION = {"zookeeper.session.timeout.ms": "2000"}


@pytest.fixture
def patient_cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    """Three brokers that would wait for each other's answers for an hour."""
    patient = {**SHORT_SESSION, "request.timeout.ms": HOUR, "controller.socket.timeout.ms": HOUR}
    with Cluster(3, home=tmp_path, properties={**patient, "controlled.shutdown.enable": "false"}) as started:
        yield started


def test_a_broker_that_hangs_does_not_keep_others_from_being_elected(patient_cluster: Cluster) -> None:
    """Its session ends while the controller waits for its answer to a request."""
    controller = patient_cluster.broker(patient_cluster.await_controller())
    hung, other = (broker for broker in patient_cluster.brokers if broker is not controller)
    led = "led-by-the-one-that-hangs"
    admin = AdminClient({"bootstrap.servers": controller.address})
    for future in admin.create_topics([NewTopic(led, 1, replica_assignment=[[hung.id, other.id]])]).values():
        future.result(30)
    patient_cluster.await_leader(led, 0, hung.id)
    patient_cluster.stop(hung.id)
    # The hung broker is told of it, and does not answer.
    for future in admin.create_topics([NewTopic("meanwhile", 1, replica_assignment=[[other.id]])]).values():
        future.result(30)
    patient_cluster.await_leader("meanwhile", 0, other.id)
    patient_cluster.await_forgotten(hung.id)
    patient_cluster.await_leader(led, 0, other.id)


def test_who_comes_early_hears_of_a_controller(embedded_cluster: LocalCluster, tmp_path: pathlib.Path) -> None:
    """A client that has waited for the port to open, as one with a bootstrap list does."""
    with socket.create_server(("127.0.0.1", 0)) as chooser:
        port = chooser.getsockname()[1]
    address = f"PLAINTEXT://127.0.0.1:{port}"
    log_dir = str(tmp_path / "data")
    connect = embedded_cluster.zookeeper_connect + "/early"
    early = LocalBroker(
        7, tmp_path, {"broker.id": "7", "listeners": address, "log.dirs": log_dir, "zookeeper.connect": connect}
    )
    answers: list[tuple[int, int]] = []
    client = threading.Thread(target=lambda: answers.append(ask_for_metadata(port)))
    client.start()
    try:
        early.start()
        client.join()
    finally:
        early.process.stop()
    assert answers == [(1, 7)]


def ask_for_metadata(port: int) -> tuple[int, int]:
    """How many brokers there are, and which one is the controller, in the answer to the first request served."""

    def connect() -> socket.socket | None:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), 60)
        return None

    with wait_until(connect, 60, "the port") as connection:
        connection.sendall(struct.pack(">ihhihi", 14, METADATA, 1, 0, -1, 0))  # of no topic
        with connection.makefile("rb") as reader:
            answer = reader.read(int.from_bytes(reader.read(4), "big"))
    # Behind the correlation id the brokers; before the topics, of which there are none, the controller.
    return int.from_bytes(answer[4:8], "big"), int.from_bytes(answer[-8:-4], "big", signed=True)


def test_what_the_controller_says_comes_over_the_control_plane(tmp_path: pathlib.Path) -> None:
    """A topic is created over the other listener, and the requests that make its leader come over this one."""
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "control.plane.listener.name": "CONTROLLER",
    }
    with LocalCluster(home=tmp_path, properties=listeners) as cluster:
        [broker] = cluster.brokers
        opened = re.findall(r"Opened wildcard endpoint (\S+) \(kafka.network.(\w+)\)", broker.process.text())
        clients_address = next(address for address, kind in opened if kind == "DataPlaneAcceptor")
        before = requests_on(broker, "CONTROLLER")
        create_topic(clients_address, "t")
        wait_for_leaders(clients_address, "t", 1)
        told = before + 2  # LeaderAndIsr and UpdateMetadata
        wait_until(lambda: requests_on(broker, "CONTROLLER") >= told, what="their answers")


def requests_on(broker: LocalBroker, listener: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{broker.metrics_port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    name = "kafka_server_socket_server_metrics_request_total"
    return sum(int(float(n)) for n in re.findall(rf'^{name}{{listener="{listener}".*}} (\S+)$', text, re.MULTILINE))


class TestStopWithoutZooKeeper:
    """Two brokers, one of which is the controller, with a partition that has to be led by the other one."""

    @pytest.fixture
    def pair(self, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
        with LocalCluster(2, home=tmp_path, properties=request.param) as started:
            admin = AdminClient({"bootstrap.servers": started.bootstrap_servers})
            topics = [NewTopic(f"led-by-{n}", 1, replica_assignment=[[n, 1 - n]]) for n in (0, 1)]
            for future in admin.create_topics(topics).values():
                future.result(30)
            assert started.zookeeper is not None
            yield started
            started.zookeeper.kill()
            for broker in started.brokers:
                broker.process.kill()

    @pytest.mark.parametrize("pair", [{"request.timeout.ms": "3000"}], indirect=True, ids=[""])
    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["gone", "silent"])
    def test_brokers_stop_in_order(self, pair: LocalCluster, how: signal.Signals) -> None:
        self.take_zookeeper_away(pair, how)
        for broker in pair.brokers:
            broker.process.signal(signal.SIGTERM)
        for broker in pair.brokers:
            self.check_end(broker)

    @pytest.mark.parametrize(
        "pair", [{"request.timeout.ms": HOUR, "zookeeper.connection.timeout.ms": HOUR}], indirect=True, ids=[""]
    )
    def test_a_second_signal_ends_all_waits(self, pair: LocalCluster) -> None:
        self.take_zookeeper_away(pair, signal.SIGKILL)
        for broker in pair.brokers:
            broker.process.signal(signal.SIGTERM)
            broker.process.wait_for(TOLD_TO_STOP)
            broker.process.signal(signal.SIGTERM)
            self.check_end(broker)

    @staticmethod
    def take_zookeeper_away(cluster: LocalCluster, how: signal.Signals) -> None:
        assert cluster.zookeeper is not None
        cluster.zookeeper.signal(how)

    @staticmethod
    def check_end(broker: LocalBroker) -> None:
        """By itself, and with its logs marked as closed in order."""
        wait_until(lambda: not broker.process.is_running, 120, f"the end of broker {broker.id}")
        assert broker.process.stop() == 0
        assert "shut down completed" in broker.process.text()
        assert (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
