"""Apache's Java clients and command-line tools, as they come, on our broker and our ZooKeeper."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_py.common.utils.time import Time
from kafka_py.testing.local_cluster import BIN, LocalCluster
from tests.integration.clients import Row, consume_confluent, create_topic, produce, topic_name
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.raw import zookeeper_tree

pytestmark = pytest.mark.slow

PRODUCER, CONSUMER = "kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"
CODECS = ("none", "gzip", "snappy", "lz4")
LINES = [f"key {i % 7}\tvalue {i} ünï {'x' * (i % 90)}" for i in range(800)]
RECORDS: list[tuple[bytes | None, bytes | None]] = [
    (key.encode(), value.encode()) for key, value in (line.split("\t") for line in LINES)
]


@pytest.fixture(scope="module")
def cluster(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(home=tmp_path_factory.mktemp("tools")) as started:
        yield started


def until(true: Callable[[], object], what: str) -> None:
    for _ in range(500):
        if true():
            return
        Time.SYSTEM.sleep(20)
    raise AssertionError(f"never: {what}")


def console_produce(apache: ApacheKafka, address: str, topic: str, lines: list[str], *options: str) -> None:
    """kafka.tools.ConsoleProducer with keys before a tab."""
    arguments = ["--broker-list", address, "--topic", topic, "--request-required-acks", "-1", *options]
    apache.output_of(PRODUCER, *arguments, "--property", "parse.key=true", stdin="".join(f"{line}\n" for line in lines))


def console_consume(apache: ApacheKafka, topic: str, count: int, *options: str) -> list[str]:
    """kafka.tools.ConsoleConsumer until it has ``count`` records."""
    done = apache.run(
        *(CONSUMER, "--topic", topic, "--max-messages", str(count), "--property", "print.key=true", *options)
    )
    assert done.returncode == 0, done.stderr
    assert f"Processed a total of {count} messages" in done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("codec", CODECS)
def test_console_producer(apache: ApacheKafka, cluster: LocalCluster, codec: str) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name())
    console_produce(apache, cluster.bootstrap_servers, topic, LINES, "--compression-codec", codec)
    found = consume_confluent(cluster.bootstrap_servers, topic, 1, len(LINES))
    assert found == [Row(0, i, key, value) for i, (key, value) in enumerate(RECORDS)]


def test_console_consumer(apache: ApacheKafka, cluster: LocalCluster) -> None:
    address = cluster.bootstrap_servers
    topic = create_topic(address, topic_name())
    for codec in CODECS:
        produce(address, topic, RECORDS, compression_type=codec)
    options = ["--bootstrap-server", address, "--consumer-property", "enable.auto.commit=false"]
    options += ["--partition", "0", "--offset", "earliest"]
    assert console_consume(apache, topic, 4 * len(LINES), *options) == 4 * LINES
    found = console_consume(apache, topic, 5, *options[:-1], "1000", "--isolation-level", "read_committed")
    assert found == LINES[200:205]


def test_old_console_consumer(apache: ApacheKafka, cluster: LocalCluster) -> None:
    """The consumer of 0.8, which coordinates through ZooKeeper and wants the record format of its day."""
    address = cluster.bootstrap_servers
    topic = create_topic(address, topic_name())
    for codec in CODECS:
        produce(address, topic, RECORDS, compression_type=codec)
    options = ["--zookeeper", cluster.zookeeper_connect, "--from-beginning"]
    assert console_consume(apache, topic, 4 * len(LINES), *options) == 4 * LINES


def test_idempotent_console_producer(apache: ApacheKafka, cluster: LocalCluster) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name())
    console_produce(apache, cluster.bootstrap_servers, topic, LINES, "--producer-property", "enable.idempotence=true")
    (log,) = cluster.brokers[0].log_dirs[0].glob(f"{topic}-0/*.log")
    printed, complaints = apache.dump([log])
    assert complaints == ""
    assert "producerId: -1" not in printed
    assert f"lastOffset: {len(LINES) - 1} " in printed


def test_get_offset_shell(apache: ApacheKafka, cluster: LocalCluster) -> None:
    address = cluster.bootstrap_servers
    topic = create_topic(address, topic_name(), partitions=2)
    acked = produce(address, topic, RECORDS[:50])
    printed = apache.output_of("kafka.tools.GetOffsetShell", "--broker-list", address, "--topic", topic, "--time", "-1")
    assert sorted(printed.splitlines()) == [f"{topic}:{p}:{len(acked.get(p, []))}" for p in (0, 1)]


def test_broker_api_versions(apache: ApacheKafka, cluster: LocalCluster) -> None:
    """What our broker offers is what the Java client of its version can use."""
    command = "kafka.admin.BrokerApiVersionsCommand"
    printed = apache.output_of(command, "--bootstrap-server", cluster.bootstrap_servers)
    assert f"{cluster.bootstrap_servers} (id: 0 rack: null) -> (" in printed
    for line in ("Produce(0): 0 to 8 [usable: 5]", "Metadata(3): 0 to 9 [usable: 5]", "CreateTopics(19): 0 to 2"):
        assert line in printed
    assert "Fetch(1): 0 to 11 [usable: 7]" in printed


def test_a_topic_made_in_zookeeper_is_served(apache: ApacheKafka, cluster: LocalCluster) -> None:
    address, zookeeper = cluster.bootstrap_servers, cluster.zookeeper_connect
    topic = topic_name()
    made = apache.topics(
        zookeeper, "--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1",
        "--config", "max.message.bytes=20000",
    )  # fmt: skip
    assert made == f'Created topic "{topic}".\n'
    admin = AdminClient({"bootstrap.servers": address})

    def leaders() -> dict[int, int]:
        found = admin.list_topics(topic, timeout=10).topics[topic].partitions
        return {partition: meta.leader for partition, meta in found.items() if meta.error is None}

    until(lambda: leaders() == {0: 0, 1: 0}, "two partitions with leaders")
    acked = produce(address, topic, RECORDS, batch_size=5000)
    assert sum(map(len, acked.values())) == len(RECORDS)
    assert len(consume_confluent(address, topic, 2, len(RECORDS))) == len(RECORDS)
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        produce(address, topic, [(None, b"x" * 30_000)])

    assert "Adding partitions succeeded!" in apache.topics(zookeeper, "--alter", "--topic", topic, "--partitions", "3")
    until(lambda: leaders() == {0: 0, 1: 0, 2: 0}, "three partitions with leaders")

    apache.output_of(
        "kafka.admin.ConfigCommand", "--zookeeper", zookeeper, "--alter", "--entity-type", "topics",
        "--entity-name", topic, "--add-config", "max.message.bytes=40000",
    )  # fmt: skip

    def takes_more() -> bool:
        try:
            produce(address, topic, [(None, b"x" * 30_000)])
        except KafkaException:
            return False
        return True

    until(takes_more, "the new limit")
    assert "marked for deletion" in apache.topics(zookeeper, "--delete", "--topic", topic)
    until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic deleted")
    until(lambda: f"/brokers/topics/{topic}" not in zookeeper_tree(zookeeper), "its nodes deleted")


# Each is run by Apache's tool on Apache's broker and by ours on ours.
TOPIC_COMMANDS = (
    "--list",
    "--create --topic a --partitions 1 --replication-factor 1",
    "--create --topic a --partitions 1 --replication-factor 1",
    "--create --topic a --partitions 1 --replication-factor 1 --if-not-exists",
    "--create --topic b.c_d --partitions 3 --replication-factor 1 --config retention.ms=1000000",
    "--create --topic e --replica-assignment 0,0",
    "--create --topic no --partitions 1 --replication-factor 2",
    "--create --topic no --partitions 0 --replication-factor 1",
    "--create --topic n/o --partitions 1 --replication-factor 1",
    "--create --topic no --partitions 1 --replication-factor 1 --config nonsense=1",
    "--create --topic no --partitions 1 --replication-factor 1 --config retention.ms=x",
    "--describe",
    "--describe --topics-with-overrides",
    "--describe --under-replicated-partitions",
    "--alter --topic a --partitions 2",
    "--alter --topic a --partitions 2",
    "--alter --topic e --config cleanup.policy=compact",
    "--alter --topic e --delete-config cleanup.policy",
    "--alter --topic none --partitions 2",
    "--list",
    "--describe --topic a",
    "--delete --topic none",
    "--delete --topic none --if-exists",
    "--delete --topic e",
    "--list",
)


def test_topic_command(apache: ApacheKafka, tmp_path: pathlib.Path) -> None:
    """Ours prints what Apache's prints, and leaves the same in ZooKeeper."""
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
    with LocalCluster(home=tmp_path / "ours") as ours, apache.cluster(tmp_path / "theirs") as theirs:
        for line in TOPIC_COMMANDS:
            expected = apache.run("kafka.admin.TopicCommand", "--zookeeper", theirs.zookeeper_connect, *line.split())
            command = [sys.executable, str(BIN / "kafka-topics.py"), "--zookeeper", ours.zookeeper_connect]
            done = subprocess.run([*command, *line.split()], capture_output=True, text=True, timeout=60)
            printed = done.stdout.replace(ours.zookeeper_connect, theirs.zookeeper_connect)
            assert (printed, done.returncode) == (expected.stdout, expected.returncode), f"{line}\n{done.stderr}"
        paths = [set(zookeeper_tree(side.zookeeper_connect)) for side in (ours, theirs)]
        assert paths[0] == paths[1]
