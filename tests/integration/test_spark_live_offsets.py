"""Files of a broker that runs: leaders and offsets are asked of it, segments come and go while they are read."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ConsumerPartition

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.options import KafkaSourceOptions, leaders_in_zookeeper, leaders_of_brokers
from kafka_py.spark.source import KafkaBatch
from kafka_py.spark.stream import KafkaMicroBatchStream
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name
from tests.integration.support import wait_until

pytestmark = [pytest.mark.slow]

COUNT = 2000


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


def given(broker: LocalBroker, topic: str, **more: str) -> dict[str, str]:
    return {"logDirs": ",".join(str(d) for d in broker.log_dirs), "subscribe": topic, **more}


def live(broker: LocalBroker, topic: str, **more: str) -> dict[str, str]:
    return given(broker, topic, **{"kafka.bootstrap.servers": broker.address, **more})


def offsets(options: dict[str, str]) -> list[int]:
    """Offsets of the only partition, in the order of the tasks."""
    reader = KafkaBatch(KafkaSourceOptions(options), ("offset",))
    return [o for piece in reader.partitions() for t in reader.read(piece) for o in t.column("offset").to_pylist()]


def fill(
    broker: LocalBroker, topic: str, count: int = COUNT, key: Callable[[int], bytes | None] = lambda i: None
) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "batch.num.messages": 50, "linger.ms": 1})
    for i in range(count):
        producer.produce(topic, b"value %d " % i * 5, key(i), partition=0)
        producer.poll(0)
    assert producer.flush(30) == 0


def test_what_is_acknowledged_can_be_read_at_once(broker: LocalBroker) -> None:
    """The broker is asked for its high watermark: the checkpoint would be seconds behind."""
    topic = create_topic(broker.address, topic_name("live"), 1)
    for n in (1, 2, 3):
        fill(broker, topic, 100)
        assert offsets(live(broker, topic)) == list(range(100 * n))


def test_a_query_starts_where_a_group_has_committed(broker: LocalBroker) -> None:
    topic, group = create_topic(broker.address, topic_name("committed"), 1), topic_name("group")
    fill(broker, topic, 100)
    options = {"startingOffsets": "committed", "kafka.group.id": group}
    assert offsets(live(broker, topic, **options)) == list(range(100)), "it has not committed yet"
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.commit(offsets=[ConsumerPartition(topic, 0, 42)], asynchronous=False)
    finally:
        consumer.close()
    by_brokers = {"kafka.bootstrap.servers": broker.address, "subscribe": topic, **options}
    assert offsets(live(broker, topic, **options)) == offsets(by_brokers) == list(range(42, 100))
    files_only = given(broker, topic, **options)
    wait_until(lambda: offsets(files_only) == list(range(42, 100)), what="the checkpoint of the high watermarks")


def test_leaders_are_known_to_brokers_and_to_zookeeper(embedded_cluster: LocalCluster, broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("led"), 2)
    partitions = [TopicPartition(topic, p) for p in (0, 1)]
    asked = leaders_of_brokers({"kafka.bootstrap.servers": broker.address})
    assert {tp: asked[tp] for tp in partitions} == dict.fromkeys(partitions, broker.id)
    found = leaders_in_zookeeper(embedded_cluster.zookeeper_connect, partitions)
    assert found == dict.fromkeys(partitions, broker.id)
    fill(broker, topic, 10)
    options = given(broker, topic, **{"kafka.zookeeper.connect": embedded_cluster.zookeeper_connect})
    wait_until(lambda: offsets(options) == list(range(10)), what="the checkpoint")


def test_segments_are_rolled_while_they_are_read(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("rolled"), 1, {"segment.bytes": "20000"})
    producer = Producer({"bootstrap.servers": broker.address, "batch.num.messages": 20, "linger.ms": 1})
    options = live(broker, topic, maxPartitionBytes="30000")
    before = 0
    for _ in range(10):
        for i in range(300):
            producer.produce(topic, b"value %d" % i * 5, partition=0)
        producer.poll(0)
        found = offsets(options)
        assert found == list(range(len(found)))
        assert len(found) >= before
        before = len(found)
    assert producer.flush(30) == 0
    assert offsets(options) == list(range(3000))


def test_a_compacted_topic_is_read_while_it_is_compacted(broker: LocalBroker) -> None:
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "20000",
        "min.cleanable.dirty.ratio": "0.01",
        "file.delete.delay.ms": "100",
    }
    topic = create_topic(broker.address, topic_name("compacted"), 1, config)
    fill(broker, topic, COUNT, lambda i: b"key %d" % (i % 37))
    sizes = []

    def shrunk() -> bool:
        found = offsets(live(broker, topic, maxPartitionBytes="30000"))
        assert all(a < b for a, b in itertools.pairwise(found))
        assert found[-1] == COUNT - 1
        sizes.append(len(found))
        return sizes[-1] < COUNT // 2

    wait_until(shrunk, what="the cleaner")
    assert sizes == sorted(sizes, reverse=True)
    # the cleaner may come between the two looks
    wait_until(lambda: offsets(live(broker, topic)) == consumed(broker, topic), what="both seeing the same")


def consumed(broker: LocalBroker, topic: str) -> list[int]:
    """Offsets that a consumer is given of the only partition."""
    settings = {"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    found: list[int] = []
    try:
        consumer.assign([ConsumerPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(10)
            assert message is not None
            if message.error() is not None:
                return found  # the end of the partition
            offset = message.offset()
            assert offset is not None
            found.append(offset)
    finally:
        consumer.close()


def test_a_stream_follows_the_broker(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("followed"), 1, {"segment.bytes": "20000"})
    options = KafkaSourceOptions(
        live(broker, topic, startingOffsets="earliest", maxOffsetsPerTrigger="150"), streaming=True
    )
    reader = KafkaMicroBatchStream(options, ("offset",))
    try:
        offset, found = reader.initialOffset(), []
        for n in range(1, 4):
            fill(broker, topic, 200)
            while (end := reader.latestOffset(offset, reader.getDefaultReadLimit())) != offset:
                pieces = reader.partitions(offset, end)
                found += [o for p in pieces for t in reader.read(p) for o in t.column("offset").to_pylist()]
                offset = end
            assert found == list(range(200 * n))
    finally:
        reader.stop()
