"""The threads of a running broker, and what it does with many connections: names, order, limits, leaks, the end."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.utils.kafka_thread import os_thread_name
from kafka_py.testing.local_cluster import BIN, LocalBroker, LocalCluster
from tests.integration.clients import by_partition, consume_confluent, create_topic, topic_name, wait_for_leaders
from tests.integration.conftest import SMALL
from tests.integration.support import fds, rss, sockets, thread_names, wait_until, wait_until_forgotten, zookeeper
from tests.integration.wire import (
    API_VERSIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    Connection,
    batch,
    codes,
    crowd,
    fetch,
    list_offsets,
    metadata,
    produce,
    record,
    request,
    values_of,
)

pytestmark = pytest.mark.slow

MB = 1 << 20
NETWORK = "data-plane-kafka-network-thread-0-ListenerName(PLAINTEXT)-PLAINTEXT-{}"
HANDLER = "data-plane-kafka-request-handler-{}"
STRANGER = "127.0.0.3"  # another client on this machine, with a limit of its own


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker with a journal of its requests and of their threads."""
    more = {"num.network.threads": "3", "num.io.threads": "4", "background.threads": "2", "kafka.py.xray": "on"}
    with LocalCluster(home=tmp_path_factory.mktemp("watched"), properties={**SMALL, **more}) as cluster:
        yield cluster.brokers[0]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker with short queues and little patience."""
    more = {
        "num.network.threads": "2",
        "num.io.threads": "1",
        "queued.max.requests": "2",
        "connections.max.idle.ms": "2000",
        "max.connections.per.ip.overrides": f"{STRANGER}:5",
    }
    with LocalCluster(home=tmp_path_factory.mktemp("strict"), properties={**SMALL, **more}) as cluster:
        yield cluster.brokers[0]


def page(broker: LocalBroker, path: str, **query: str) -> Any:
    url = f"http://127.0.0.1:{broker.metrics_port}{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)


def journal(broker: LocalBroker, client: str, count: int) -> list[dict[str, Any]]:
    """A client's requests, as soon as so many have ended."""

    def ended() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = page(broker, "/xray/requests", clientId=client)["requests"]
        return found if len(found) >= count else []

    return wait_until(ended)


def counted(broker: LocalBroker, name: str) -> int:
    return thread_names(broker.process.pid).count(os_thread_name(name))


# -- Names -----------------------------------------------------------------------------------------------------------


def test_the_threads_have_kafkas_names(watched: LocalBroker) -> None:
    """As `top -H` and `/proc/PID/task/*/comm` show them: the first 7 and the last 6 characters."""
    expected = [
        "data-plane-kafka-socket-acceptor-ListenerName(PLAINTEXT)-PLAINTEXT-0",
        *(NETWORK.format(i) for i in range(3)),
        *(HANDLER.format(i) for i in range(4)),
        "kafka-scheduler-0",
        "kafka-scheduler-1",
        "controller-event-thread",
        "Controller-0-to-broker-0-send-thread",
        "LogDirFailureHandler",
        "ExpirationReaper-0-Produce",
        "ExpirationReaper-0-Fetch",
        "ExpirationReaper-0-DeleteRecords",
        "ExpirationReaper-0-topic",
        "/config/changes-event-process-thread",
    ]
    # the other two of the acceptor's and processor 0's short name fall together
    wait_until(lambda: counted(watched, "kafka-scheduler-1"))  # pools grow with their work
    missing = collections.Counter(map(os_thread_name, expected))
    missing.subtract(thread_names(watched.process.pid))
    assert +missing == collections.Counter()


def test_the_log_names_threads_that_start(watched: LocalBroker) -> None:
    said = watched.process.text()
    for name in ("ExpirationReaper-0-Produce", "LogDirFailureHandler", "/config/changes-event-process-thread"):
        assert f"[{name}]: Starting" in said


# -- From the connection to the handler ------------------------------------------------------------------------------


def test_connections_are_dealt_round_robin(watched: LocalBroker) -> None:
    client = topic_name("robin")
    with contextlib.ExitStack() as stack:
        for i in range(9):
            connection = stack.enter_context(Connection(watched))
            connection.call(API_VERSIONS, 0, b"", i, client.encode())
        requests = journal(watched, client, 9)
    threads = [r["networkThread"] for r in sorted(requests, key=lambda r: int(r["correlationId"]))]
    assert sorted(set(threads)) == [NETWORK.format(i) for i in range(3)]
    assert threads == threads[:3] * 3


def test_a_connection_stays_with_its_processor_and_uses_all_handlers(watched: LocalBroker) -> None:
    client = topic_name("handlers")
    with Connection(watched) as connection:
        for i in range(100):
            connection.call(METADATA, 5, metadata(), i, client.encode())
        requests = journal(watched, client, 100)
    assert len({r["networkThread"] for r in requests}) == 1
    assert {r["handlerThread"] for r in requests} <= {HANDLER.format(i) for i in range(4)}
    assert [r["correlationId"] for r in requests] == list(range(100))
    assert len({r["connection"] for r in requests}) == 1


def test_one_request_of_a_connection_is_in_flight(watched: LocalBroker) -> None:
    """A request behind a fetch that waits is not even looked at; other connections are."""
    name = create_topic(watched.address, topic_name("inflight"))
    wait_for_leaders(watched.address, name, 1)
    with Connection(watched) as connection, Connection(watched) as other:
        began = time.monotonic()
        waiting = request(FETCH, 7, fetch(name.encode(), max_wait=2000), 1)
        connection.send(waiting + request(PRODUCE, 5, produce(name.encode(), batch()), 2))
        assert codes(other.call(API_VERSIONS, 0, b"")) == [0]
        assert connection.is_silent(0.05)
        answer = connection.answer(FETCH, 7, 1)
        assert time.monotonic() - began >= 2, "the produce request behind it would have ended the wait"
        assert [len(records) for records in values_of(answer, "record_set")] == [0]
        assert codes(connection.answer(PRODUCE, 5, 2)) == [0]


def test_a_waiting_fetch_is_answered_by_what_another_produces(watched: LocalBroker) -> None:
    name = create_topic(watched.address, topic_name("purgatory"))
    wait_for_leaders(watched.address, name, 1)
    with Connection(watched) as reader, Connection(watched) as writer:
        reader.send(request(FETCH, 7, fetch(name.encode(), max_wait=10_000)))
        assert reader.is_silent(0.05)
        writer.call(PRODUCE, 5, produce(name.encode(), batch()))
        answer = reader.answer(FETCH, 7)
        assert [len(records) for records in values_of(answer, "record_set")] == [len(batch())]


# -- Limits ----------------------------------------------------------------------------------------------------------


def test_a_full_request_queue_pushes_back(strict: LocalBroker) -> None:
    """One handler, room for two requests, 200 connections: all wait their turn and are answered."""
    slow = metadata(*(b"no-such-topic-%d" % i for i in range(300)))
    deepest = 0
    with crowd(strict, 200) as connections:
        began = time.monotonic()
        for i, connection in enumerate(connections):
            connection.send(request(METADATA, 5, slow, i))
        with Connection(strict) as late:  # a connection is accepted all the same, and waits as the others do
            late.send(request(API_VERSIONS, 0, b""))
            deepest = max(deepest, queue_size(strict))
            for i, connection in enumerate(connections):
                assert codes(connection.answer(METADATA, 5, i)) == [3] * 300
                if i % 20 == 0:
                    deepest = max(deepest, queue_size(strict))
            late.answer(API_VERSIONS, 0)
        took = time.monotonic() - began
    assert deepest <= 2
    assert took < 20


def queue_size(broker: LocalBroker) -> int:
    beans = page(broker, "/jmx", qry="kafka.network:type=RequestChannel,name=RequestQueueSize")
    found: list[dict[str, Any]] = beans["beans"]
    return int(found[0]["Value"])


def test_max_connections_per_ip(strict: LocalBroker) -> None:
    """Five of eight are served; the others are accepted and closed without a byte."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(Connection(strict, source=STRANGER)) for _ in range(8)]
        for connection in made[:5]:
            assert codes(connection.call(API_VERSIONS, 0, b"")) == [0]
        assert [connection.receive() for connection in made[5:]] == [None] * 3
        with Connection(strict) as another:  # of another address
            assert codes(another.call(API_VERSIONS, 0, b"")) == [0]
        made[0].close()

        def served() -> bool:
            with Connection(strict, source=STRANGER) as again:
                again.send(request(API_VERSIONS, 0, b""))
                return again.receive() is not None

        wait_until(served, what="room for one more")
        assert codes(made[1].call(API_VERSIONS, 0, b"")) == [0], "the others are not touched"
    assert f"Rejected connection from {STRANGER}, address already has the configured maximum" in strict.process.text()


def test_idle_connections_are_closed(strict: LocalBroker) -> None:
    """After connections.max.idle.ms, and not while there is something to do."""
    with Connection(strict) as idle, Connection(strict) as busy:
        began = time.monotonic()
        assert codes(idle.call(API_VERSIONS, 0, b"")) == [0]
        while time.monotonic() - began < 1.5:
            assert codes(busy.call(API_VERSIONS, 0, b"")) == [0]
        assert idle.receive() is None
        assert time.monotonic() - began >= 1.9
        assert codes(busy.call(API_VERSIONS, 0, b"")) == [0]


# -- Crowds and leaks ------------------------------------------------------------------------------------------------


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 6000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this user may open {hard} files only (ulimit -Hn); 5,000 connections need {wanted}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_5000_idle_connections(watched: LocalBroker, many_files: None) -> None:
    pid = watched.process.pid
    resource.prlimit(pid, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
    before, memory = sockets(pid), rss(pid)
    with crowd(watched, 5000) as connections:
        wait_until(lambda: sockets(pid) >= before + 5000)
        for connection in connections[::500]:
            assert codes(connection.call(API_VERSIONS, 0, b"")) == [0]
        with Connection(watched) as late:
            assert codes(late.call(API_VERSIONS, 0, b"")) == [0]
        assert rss(pid) - memory <= 150 * MB
    wait_until(lambda: sockets(pid) <= before, what="the sockets' end")


def cycle(broker: LocalBroker, count: int) -> None:
    """Connect, ask, close; now and then without reading the answer."""
    for i in range(count):
        with Connection(broker) as connection:
            connection.send(request(API_VERSIONS, 0, b""))
            if i % 7:
                connection.answer(API_VERSIONS, 0)


def test_10000_short_connections_leave_nothing_behind(watched: LocalBroker) -> None:
    pid = watched.process.pid
    cycle(watched, 200)
    wait_until(lambda: sockets(pid) < 30)
    open_files, memory, threads = fds(pid), rss(pid), len(thread_names(pid))
    cycle(watched, 10_000)
    wait_until(lambda: fds(pid) <= open_files, what="the sockets' end")
    assert rss(pid) - memory <= 8 * MB
    assert len(thread_names(pid)) <= threads + 2


# -- Resizing --------------------------------------------------------------------------------------------------------


def reconfigure(broker: LocalBroker, **config: str) -> None:
    """As kafka-configs --alter --entity-type brokers does it."""
    with zookeeper(broker.properties["zookeeper.connect"]) as client:
        client.ensure_path("/config/brokers")
        entity = f"/config/brokers/{broker.id}"
        data = json.dumps({"version": 1, "config": {k.replace("_", "."): v for k, v in config.items()}}).encode()
        if client.exists(entity):
            client.set(entity, data)
        else:
            client.create(entity, data)
        note = json.dumps({"version": 2, "entity_path": f"brokers/{broker.id}"}).encode()
        client.create("/config/changes/config_change_", note, sequence=True)


def pool(broker: LocalBroker, name: str, most: int = 12) -> int:
    """How many threads of a numbered kind there are."""
    names = thread_names(broker.process.pid)
    return sum(os_thread_name(name.format(i)) in names for i in range(1, most))


def test_thread_pools_change_their_size_while_they_work(watched: LocalBroker) -> None:
    """num.io.threads and num.network.threads through ZooKeeper; a connection's requests go on meanwhile."""
    stop = threading.Event()
    answers: list[int] = []

    def ask() -> None:
        with contextlib.ExitStack() as stack:
            made = [stack.enter_context(Connection(watched)) for _ in range(2)]
            while not stop.is_set():
                for connection in made:
                    answers.extend(codes(connection.call(API_VERSIONS, 0, b"")))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert (pool(watched, HANDLER), pool(watched, NETWORK)) == (3, 2)  # number 0 is not counted
        reconfigure(watched, num_io_threads="8", num_network_threads="5")
        wait_until(lambda: (pool(watched, HANDLER), pool(watched, NETWORK)) == (7, 4), what="larger pools")
        client = topic_name("resized")
        with crowd(watched, 10) as connections:
            for i, connection in enumerate(connections):
                connection.call(API_VERSIONS, 0, b"", i, client.encode())
            requests = journal(watched, client, 10)
        assert {r["networkThread"] for r in requests} == {NETWORK.format(i) for i in (0, 1, 2, 3, 4)}
        reconfigure(watched, num_io_threads="4", num_network_threads="5")
        wait_until(lambda: (pool(watched, HANDLER), pool(watched, NETWORK)) == (3, 4), what="fewer handlers")
    finally:
        stop.set()
        asking.join()
    assert answers
    assert set(answers) == {0}
    reconfigure(watched, num_io_threads="4", num_network_threads="3")
    wait_until(lambda: pool(watched, NETWORK) == 2, what="fewer network threads")
    with crowd(watched, 6) as connections:
        assert [codes(connection.call(API_VERSIONS, 0, b"")) for connection in connections] == [[0]] * 6


def test_an_impossible_size_is_refused(watched: LocalBroker) -> None:
    before = pool(watched, HANDLER)
    reconfigure(watched, num_io_threads="100")
    wait_until(lambda: "should not be greater than double the current value" in watched.process.text())
    assert pool(watched, HANDLER) == before
    reconfigure(watched)


# -- The end ---------------------------------------------------------------------------------------------------------


class Load:
    """Connections that produce with acks=all as fast as they are answered, and count what was acknowledged."""

    def __init__(self, broker: LocalBroker, topic: str, count: int) -> None:
        self.acked: list[set[int]] = [set() for _ in range(count)]
        self._broker, self._topic = broker, topic.encode()
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(count)]

    def _run(self, partition: int) -> None:
        """Until the broker closes or refuses."""
        with Connection(self._broker) as connection, contextlib.suppress(ConnectionError):
            while True:
                data = batch(record(b"%d" % len(self.acked[partition])))
                answer = connection.call(PRODUCE, 5, produce(self._topic, data, partition))
                if codes(answer) != [0]:
                    return
                self.acked[partition].add(next(values_of(answer, "base_offset")))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    @property
    def total(self) -> int:
        return sum(map(len, self.acked))


def test_sigterm_under_load(own_cluster: LocalCluster) -> None:
    """It ends in good order, and everything that was acknowledged is there afterwards."""
    broker = own_cluster.start().brokers[0]
    name = create_topic(broker.address, topic_name("load"), partitions=3)
    wait_for_leaders(broker.address, name, 3)
    with Load(broker, name, 3) as load:
        wait_until(lambda: load.total > 500)
        assert broker.process.stop() == 0
    assert (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
    said = broker.process.text()
    assert "shut down completed" in said
    assert "Traceback" not in said
    broker.start()
    wait_for_leaders(broker.address, name, 3)
    ends = []
    for partition, acked in enumerate(load.acked):
        with Connection(broker) as connection:
            end = next(values_of(connection.call(LIST_OFFSETS, 1, list_offsets(name.encode(), partition)), "offset"))
        assert acked == set(range(len(acked)))
        assert end in (len(acked), len(acked) + 1), "at most one more, whose answer was cut off"
        ends.append(end)
    found = by_partition(consume_confluent(broker.address, name, 3, sum(ends)))
    for partition, acked in enumerate(load.acked):
        assert [value for _, _, value in found[partition][: len(acked)]] == [b"%d" % i for i in range(len(acked))]


def test_a_second_sigterm_changes_nothing(own_cluster: LocalCluster) -> None:
    process = own_cluster.start().brokers[0].process
    process.signal(signal.SIGTERM)
    wait_until(lambda: "shutting down" in process.text())
    process.signal(signal.SIGTERM)
    process.signal(signal.SIGINT)
    assert process.stop() == 0
    assert process.text().count("Terminating process due to signal") >= 2
    assert process.text().count("shut down completed") == 1
    assert "Traceback" not in process.text()


def test_sigterm_while_starting(own_cluster: LocalCluster) -> None:
    """Whenever it comes, the process ends soon, and the next start finds nothing in its way."""
    own_cluster.start_zookeeper()
    broker = own_cluster.brokers[0]
    broker.properties["zookeeper.connect"] = own_cluster.zookeeper_connect
    path = broker.home / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in broker.properties.items()))
    for seen in (b"Connecting to zookeeper", b"Loading logs", b"Creating /brokers/ids", b"Enabling request processing"):
        command = [sys.executable, str(BIN / "kafka-server-start.py"), str(path)]
        env = {**os.environ, "LOG_DIR": str(broker.home / "logs")}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if seen in line:
                    break
            process.terminate()
            process.stdout.read()
            assert process.wait(30) in (0, 1, -signal.SIGTERM), seen
        wait_until_forgotten(own_cluster, broker)
    broker.start()
    assert broker.process.stop() == 0
