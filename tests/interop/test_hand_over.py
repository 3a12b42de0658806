"""A log directory goes from our broker to Apache's and back; each serves what the other wrote and goes on writing."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import Row, create_topic, produce
from tests.interop.apache_kafka import ApacheBroker
from tests.interop.awaiting import wait_until_gone, watermarks
from tests.interop.raw import zookeeper_tree

pytestmark = pytest.mark.slow

COUNT = 1500  # records a turn and topic; some segments
PARTITIONS = 2
IDEMPOTENT = {"enable_idempotence": True}
TOPICS = {
    "none": {},
    "gzip": IDEMPOTENT,
    "snappy": {},
    "lz4": IDEMPOTENT,
}
OLD = {"message.format.version": "0.10.0"}
WAYS = ["stop", "kill"]

Written = dict[str, list[Row]]
ApacheBrokerOf = Callable[[LocalBroker], ApacheBroker]


def topic_configs() -> dict[str, dict[str, str]]:
    """Topic -> its configuration; each codec once in today's format and once in that of 0.10."""
    return {**{codec: {} for codec in TOPICS}, **{f"{codec}-old": OLD for codec in TOPICS}}


def write(broker: LocalBroker, written: Written, turn: int) -> None:
    """Append as many records to every topic and note what was acknowledged and where."""
    for topic in topic_configs():
        codec = topic.removesuffix("-old")
        records = [
            (b"%d" % (i % 13) if i % 3 else None, b"%s %d %d " % (topic.encode(), turn, i) + b"x" * (i % 150))
            for i in range(COUNT)
        ]
        options = {} if topic.endswith("-old") else TOPICS[codec]
        acked = produce(broker.address, topic, records, compression_type=codec, batch_num_messages=50, **options)
        for partition, rows in acked.items():
            written.setdefault(topic, []).extend(Row(partition, *row) for row in rows)


def check(broker: LocalBroker, written: Written) -> None:
    """Everything that was acknowledged is served, at its offset and in order, and nothing else."""
    expected = {
        (topic, p): sorted((row for row in rows if row.partition == p), key=lambda row: row.offset)
        for topic, rows in written.items()
        for p in range(PARTITIONS)
    }
    found: dict[tuple[str, int], list[Row]] = {partition: [] for partition in expected}
    consumer = Consumer(
        {"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
    )
    try:
        for partition, rows in expected.items():
            assert [row.offset for row in rows] == list(range(len(rows)))
            assert watermarks(consumer, *partition) == (0, len(rows))
        consumer.assign([TopicPartition(*partition, 0) for partition in expected])
        left = sum(map(len, expected.values()))
        while left > 0:
            messages = consumer.consume(min(left, 200), timeout=10)
            assert messages, f"{left} records were not served"
            left -= len(messages)
            for m in messages:
                assert m.error() is None
                topic, number, offset = m.topic(), m.partition(), m.offset()
                assert topic is not None
                assert number is not None
                assert offset is not None
                found[topic, number].append(Row(number, offset, m.key(), m.value()))
    finally:
        consumer.close()
    assert found == expected


def leave(broker: LocalBroker, way: str, zookeeper: str) -> None:
    """Stop or kill the broker, and wait until ZooKeeper has forgotten it."""
    if way == "kill":
        broker.process.kill()
    else:
        assert broker.process.stop() in (0, 128 + signal.SIGTERM)  # a JVM ends with the signal it was sent
    wait_until_gone(zookeeper, broker.id)


def is_clean(data: pathlib.Path) -> bool:
    return (data / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("way", WAYS)
def test_ours_then_apache_then_ours(own_cluster: LocalCluster, apache_broker_of: ApacheBrokerOf, way: str) -> None:
    own_cluster.start()
    ours = own_cluster.brokers[0]
    (data,) = ours.log_dirs
    for topic, config in topic_configs().items():
        create_topic(ours.address, topic, PARTITIONS, config)
    written: Written = {}
    write(ours, written, 1)
    leave(ours, way, own_cluster.zookeeper_connect)
    assert is_clean(data) == (way == "stop")

    theirs = apache_broker_of(ours)
    theirs.start()
    check(theirs, written)
    write(theirs, written, 2)
    leave(theirs, way, own_cluster.zookeeper_connect)
    assert is_clean(data) == (way == "stop")
    assert theirs.errors() == []

    ours.start()
    check(ours, written)
    write(ours, written, 3)
    check(ours, written)
    assert not [line for line in ours.process.text().splitlines() if "] ERROR" in line]


@pytest.mark.parametrize("way", WAYS)
def test_apache_then_ours(own_cluster: LocalCluster, apache_broker_of: ApacheBrokerOf, way: str) -> None:
    """Here Apache's broker has made the cluster: its id, the topics, and all else that is in ZooKeeper."""
    own_cluster.start_zookeeper()
    ours = own_cluster.brokers[0]
    ours.properties["zookeeper.connect"] = own_cluster.zookeeper_connect
    theirs = apache_broker_of(ours)
    theirs.start()
    for topic, config in topic_configs().items():
        create_topic(theirs.address, topic, PARTITIONS, config)
    written: Written = {}
    write(theirs, written, 1)
    leave(theirs, way, own_cluster.zookeeper_connect)
    before = zookeeper_tree(own_cluster.zookeeper_connect)

    ours.start()
    check(ours, written)
    write(ours, written, 2)
    leave(ours, way, own_cluster.zookeeper_connect)
    after = zookeeper_tree(own_cluster.zookeeper_connect)
    assert after["/cluster/id"] == before["/cluster/id"]
    assert after["/controller_epoch"].data == b"2"
    topics = [path for path in before if path.startswith("/brokers/topics")]
    assert {path: after[path].data for path in topics if not path.endswith("/state")} == {
        path: before[path].data for path in topics if not path.endswith("/state")
    }
    ours.start()
    check(ours, written)
