"""What a broker leaves on its disks: directories, segments and checkpoints, retention and deletion, restarts."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_py.testing.local_cluster import BIN, LocalBroker, LocalCluster
from tests.integration.clients import (
    by_partition,
    consume_confluent,
    create_topic,
    produce,
    topic_name,
    wait_for_leaders,
)
from tests.integration.conftest import SMALL
from tests.integration.support import children, wait_until, zookeeper
from tests.integration.wire import FETCH, LIST_OFFSETS, Connection, codes, fetch, list_offsets, values_of

pytestmark = pytest.mark.slow

CHECKPOINTS = ["log-start-offset-checkpoint", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"]
# Kafka looks at retention and at what is to be deleted for the first time 30 s after its start.
FIRST_LOOK_S = 45


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


def directories(broker: LocalBroker, topic: str) -> list[pathlib.Path]:
    """The directories of a topic's partitions, also those that are about to be deleted."""
    return sorted(d for log_dir in broker.log_dirs for d in log_dir.glob(f"{topic}-*"))


def segments(broker: LocalBroker, topic: str, partition: int = 0) -> list[pathlib.Path]:
    found = [d for d in directories(broker, topic) if d.name == f"{topic}-{partition}"]
    return sorted(found[0].glob("*.log")) if found else []


def offset(broker: LocalBroker, topic: str, timestamp: int) -> int:
    """-2: the first that is there; -1: the next that will be."""
    with Connection(broker) as connection:
        answer = connection.call(LIST_OFFSETS, 1, list_offsets(topic.encode(), timestamp=timestamp))
        found: int = next(values_of(answer, "offset"))
        return found


def produce_at(broker: LocalBroker, topic: str, began: int, count: int, step: int = 1) -> None:
    """Records of some hundred bytes whose times begin there, ``step`` ms apart; in small batches."""
    failed: list[object] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append((error, message))

    producer = Producer({"bootstrap.servers": broker.address, "batch.num.messages": 10})
    for i in range(count):
        producer.produce(topic, b"%d " % i * 100, timestamp=began + step * i, on_delivery=delivered)
    assert producer.flush(20) == 0
    assert failed == []


def read_at(broker: LocalBroker, topic: str, offset: int) -> Message:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        return message
    finally:
        consumer.close()


# -- Files and restarts ---------------------------------------------------------------------------------------------


@pytest.fixture
def two_disks(tmp_path: pathlib.Path) -> Iterator[LocalBroker]:
    with LocalCluster(home=tmp_path, properties={**SMALL, "log.segment.bytes": "20000"}, log_dirs=2) as cluster:
        yield cluster.brokers[0]


def test_the_files_of_a_broker_and_a_restart(two_disks: LocalBroker) -> None:
    """Partitions on both disks; stopped, everything lies as Kafka lays it; started, all is served again."""
    broker = two_disks
    topic = create_topic(broker.address, topic_name("files"), partitions=4)
    assert [len(list(d.glob(f"{topic}-*"))) for d in broker.log_dirs] == [2, 2], "the disk with fewer takes the next"
    records = [(b"key-%d" % i, b"value %d " % i * 20) for i in range(2000)]
    acked = produce(broker.address, topic, records, batch_size=8000)
    for log_dir in broker.log_dirs:
        lines = (log_dir / "meta.properties").read_text().splitlines()
        assert [line for line in lines if not line.startswith("#")] == ["version=0", "broker.id=0"]
        assert (log_dir / ".lock").exists()
        assert not (log_dir / ".kafka_cleanshutdown").exists()

    assert broker.process.stop() == 0
    stored = {}
    for log_dir in broker.log_dirs:
        files = [".kafka_cleanshutdown", ".lock", "cleaner-offset-checkpoint", "meta.properties", *CHECKPOINTS]
        assert sorted(f.name for f in log_dir.iterdir() if f.is_file()) == sorted(files)
        mine = sorted(d.name for d in log_dir.iterdir() if d.is_dir())
        for name in CHECKPOINTS:
            assert_checkpoint(log_dir / name, topic, mine, acked, empty=name == CHECKPOINTS[0])
    for d in directories(broker, topic):
        partition = int(d.name.rpartition("-")[2])
        logs = sorted(d.glob("*.log"))
        stored.update({log: log.read_bytes() for log in logs})
        end = len(acked[partition])
        names = [f"{log.stem}.{kind}" for log in logs for kind in ("index", "log", "timeindex")]
        # the snapshot of the producers' state is written at the end of the log
        assert sorted(f.name for f in d.iterdir() if f.suffix != ".snapshot") == [*names, "leader-epoch-checkpoint"]
        assert (d / f"{end:020}.snapshot").exists()
        assert (d / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
        assert_readable(logs, end)

    broker.start()
    wait_for_leaders(broker.address, topic, 4)
    assert {log: log.read_bytes() for log in stored} == stored
    assert by_partition(consume_confluent(broker.address, topic, 4, 2000)) == {p: sorted(r) for p, r in acked.items()}
    more = produce(broker.address, topic, records[:100], batch_size=8000)
    for partition, rows in more.items():
        assert min(rows)[0] == len(acked[partition])
    assert "Recovering unflushed segment" not in broker.process.text()


def assert_checkpoint(
    path: pathlib.Path, topic: str, mine: list[str], acked: dict[int, list[tuple[int, bytes | None, bytes | None]]],
    empty: bool,
) -> None:  # fmt: skip
    """A version, a count, and topic, partition, offset: the ends of this disk's partitions, or nothing."""
    version, count, *lines = path.read_text().splitlines()
    assert (version, count) == ("0", str(len(lines)))
    ends = sorted(f"{topic} {p} {len(rows)}" for p, rows in acked.items() if f"{topic}-{p}" in mine)
    assert sorted(lines) == ([] if empty else ends)


def assert_readable(logs: list[pathlib.Path], end: int) -> None:
    """Segments begin where the one before ended, and kafka-dump-log finds every record in them."""
    command = [sys.executable, str(BIN / "kafka-dump-log.py"), "--deep-iteration", "--files", ",".join(map(str, logs))]
    dumped = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    position = 0
    for line in dumped.splitlines():
        if line.startswith("Starting offset: "):
            assert line == f"Starting offset: {position}"
        elif line.startswith("offset: "):
            assert line.startswith(f"offset: {position} position: ")
            assert " isvalid: true " in line
            position += 1
    assert position == end


def test_every_offset_is_found_through_the_indexes(two_disks: LocalBroker) -> None:
    topic = create_topic(two_disks.address, topic_name("index"), config={"index.interval.bytes": "500"})
    produce(two_disks.address, topic, [(None, b"%d " % i * 30) for i in range(1000)], batch_num_messages=7)
    assert len(segments(two_disks, topic)) > 5
    for wanted in (0, 1, 499, 500, 777, 999):
        message = read_at(two_disks, topic, wanted)
        assert (message.offset(), message.value()) == (wanted, b"%d " % wanted * 30)


def test_times_are_found_through_the_indexes(two_disks: LocalBroker) -> None:
    """Also after a restart, when the indexes come from the disk."""
    topic = create_topic(two_disks.address, topic_name("times"))
    began = int(time.time() * 1000) - 1_000_000
    produce_at(two_disks, topic, began, 600, step=1000)
    for _ in range(2):
        assert len(segments(two_disks, topic)) > 2
        for wanted in (0, 1, 299, 599):
            assert offset(two_disks, topic, began + 1000 * wanted) == wanted
            assert offset(two_disks, topic, began + 1000 * wanted - 1) == wanted
        assert offset(two_disks, topic, began + 1000 * 600) == -1
        assert two_disks.process.stop() == 0
        two_disks.start()
        wait_for_leaders(two_disks.address, topic, 1)


# -- Retention and deletion -----------------------------------------------------------------------------------------


def test_retention_by_size(broker: LocalBroker) -> None:
    topic = create_topic(
        broker.address,
        topic_name("size"),
        config={"segment.bytes": "50000", "retention.bytes": "120000", "file.delete.delay.ms": "100"},
    )
    produce(broker.address, topic, [(None, b"%d " % i * 100) for i in range(1500)], batch_num_messages=20)
    wait_until(lambda: 0 < sum(f.stat().st_size for f in segments(broker, topic)) <= 170_000, FIRST_LOOK_S)
    first = int(segments(broker, topic)[0].stem)
    assert 0 < first == offset(broker, topic, -2)
    assert offset(broker, topic, -1) == 1500
    with Connection(broker) as connection:
        assert codes(connection.call(FETCH, 7, fetch(topic.encode(), first - 1))) == [0, 1]
        assert codes(connection.call(FETCH, 7, fetch(topic.encode(), first))) == [0, 0]
    rows = consume_confluent(broker.address, topic, 1, 1500 - first)
    assert [row.offset for row in rows] == list(range(first, 1500))
    assert [row.value for row in rows] == [b"%d " % i * 100 for i in range(first, 1500)]
    wait_until(lambda: not list(directories(broker, topic)[0].glob("*.deleted")))
    assert all(int(f.stem) >= first for f in directories(broker, topic)[0].glob("*.*index"))


def test_retention_by_time(broker: LocalBroker) -> None:
    """Everything is too old, the active segment as well: the log is empty, and goes on where it was."""
    topic = create_topic(
        broker.address,
        topic_name("time"),
        config={"segment.bytes": "50000", "retention.ms": "60000", "file.delete.delay.ms": "100"},
    )
    produce_at(broker, topic, int(time.time() * 1000) - 3_600_000, 500)
    wait_until(lambda: [f.stat().st_size for f in segments(broker, topic)] == [0], FIRST_LOOK_S)
    assert (offset(broker, topic, -2), offset(broker, topic, -1)) == (500, 500)
    produce(broker.address, topic, [(None, b"fresh")])
    rows = consume_confluent(broker.address, topic, 1, 1)
    assert [(row.offset, row.value) for row in rows] == [(500, b"fresh")]


def test_without_limits_nothing_is_deleted(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("all"), config={"segment.bytes": "50000", "retention.ms": "-1"})
    produce_at(broker, topic, 1000, 500)
    checks = broker.process.text().count("Found deletable segments")
    watched = create_topic(broker.address, topic_name("old"), config={"retention.ms": "1", "file.delete.delay.ms": "1"})
    produce_at(broker, watched, 1000, 1)
    wait_until(lambda: broker.process.text().count("Found deletable segments") > checks, FIRST_LOOK_S)
    assert offset(broker, topic, -2) == 0
    assert len(segments(broker, topic)) >= 3


def test_log_append_time(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("append"), config={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    produce_at(broker, topic, 1000, 1)
    kind, stamp = read_at(broker, topic, 0).timestamp()
    assert kind != TIMESTAMP_CREATE_TIME
    assert before <= stamp <= time.time() * 1000


def test_deleting_a_topic_removes_its_directories(embedded_cluster: LocalCluster, broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("delete"), partitions=4)
    produce(broker.address, topic, [(b"%d" % i, b"v") for i in range(100)])
    assert len(directories(broker, topic)) == 4
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.delete_topics([topic], operation_timeout=20)[topic].result(20)
    wait_until(lambda: all(d.name.endswith("-delete") for d in directories(broker, topic)), what="the renaming")
    with zookeeper(embedded_cluster.zookeeper_connect) as client:
        wait_until(lambda: topic not in children(client, "/brokers/topics"), what="the deletion in ZooKeeper")
    create_topic(broker.address, topic)
    wait_for_leaders(broker.address, topic, 1)
    assert offset(broker, topic, -1) == 0, "the new topic has nothing of the old one"
    produce(broker.address, topic, [(None, b"new")])
    wait_until(lambda: [d.name for d in directories(broker, topic)] == [f"{topic}-0"], FIRST_LOOK_S)
    assert [row.value for row in consume_confluent(broker.address, topic, 1, 1)] == [b"new"]
