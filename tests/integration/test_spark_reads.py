"""What Spark reads from a running broker's segments is what a consumer is given, up to the high watermark."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Producer, TopicPartition

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name
from tests.integration.support import wait_until
from tests.spark.made_logs import replica_dirs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 3
COUNT = 3000


class Seen(NamedTuple):
    """A record as both sides see it; the kind of its time is 0 for CreateTime and 1 for LogAppendTime."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    kind: int


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def topics(broker: LocalBroker) -> dict[str, str]:
    """A topic per codec, and one whose times are the broker's; all of them below the high watermark on disk."""
    made = {}
    for kind in [*CODECS, "append-time"]:
        config = {"message.timestamp.type": "LogAppendTime"} if kind == "append-time" else {}
        made[kind] = create_topic(broker.address, topic_name(kind), PARTITIONS, config)
        fill(broker, made[kind], "none" if kind == "append-time" else kind, COUNT)
    wait_until(lambda: all(watermarks(broker, topic) == COUNT for topic in made.values()), what="the checkpoint")
    return made


def fill(broker: LocalBroker, topic: str, codec: str, count: int) -> None:
    began = int(time.time() * 1000) - count  # recent, or retention would soon take them away
    producer = Producer({"bootstrap.servers": broker.address, "compression.type": codec, "batch.num.messages": 200})
    for i in range(count):
        key = None if i % 7 == 0 else b"key-%d" % (i % 50)
        value = None if i % 11 == 0 else b"value %d " % i * (i % 40)
        producer.produce(topic, value, key, partition=i % PARTITIONS, timestamp=began + i)
        producer.poll(0)
    assert producer.flush(30) == 0


def watermarks(broker: LocalBroker, topic: str) -> int:
    """The sum over the partitions, as the last checkpoint has it."""
    found = replica_dirs([str(d) for d in broker.log_dirs])
    return sum(replica.high_watermark or 0 for replica in found if replica.topic == topic)


def consumed(broker: LocalBroker, topic: str, count: int) -> list[Seen]:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False})
    rows: list[Seen] = []
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
        while len(rows) < count:
            messages = consumer.consume(count, timeout=10)
            assert messages, f"{len(rows)} of {count} came"
            for m in messages:
                assert m.error() is None
                kind, timestamp = m.timestamp()
                partition, offset = m.partition(), m.offset()
                assert partition is not None
                assert offset is not None
                log_append = int(kind == TIMESTAMP_LOG_APPEND_TIME)
                rows.append(Seen(partition, offset, m.key(), m.value(), timestamp, log_append))
    finally:
        consumer.close()
    return sorted(rows)


def load(spark: SparkSession, broker: LocalBroker, topic: str, **options: str) -> DataFrame:
    dirs = ",".join(str(d) for d in broker.log_dirs)
    return spark.read.format("kafka_segments").options(logDirs=dirs, subscribe=topic, **options).load()


def read(frame: DataFrame) -> list[Seen]:
    columns = ("partition", "offset", "key", "value", "unix_millis(timestamp)", "timestampType")
    rows = frame.selectExpr(*columns).collect()
    return sorted(
        Seen(p, o, None if k is None else bytes(k), None if v is None else bytes(v), t, kind)
        for p, o, k, v, t, kind in rows
    )


@pytest.mark.parametrize("kind", [*CODECS, "append-time"])
def test_spark_reads_what_a_consumer_is_given(
    spark: SparkSession, broker: LocalBroker, topics: dict[str, str], kind: str
) -> None:
    given = consumed(broker, topics[kind], COUNT)
    found = read(load(spark, broker, topics[kind]))
    assert len(found) == COUNT
    assert found == given
    assert {row.kind for row in found} == {int(kind == "append-time")}


def test_a_range_of_offsets(spark: SparkSession, broker: LocalBroker, topics: dict[str, str]) -> None:
    topic = topics["lz4"]
    wanted = {
        "startingOffsets": f'{{"{topic}":{{"0":500,"1":-2,"2":999}}}}',
        "endingOffsets": f'{{"{topic}":{{"0":510,"1":3,"2":-1}}}}',
    }
    found = read(load(spark, broker, topic, **wanted))
    assert [(row.partition, row.offset) for row in found] == [
        *((0, offset) for offset in range(500, 510)), *((1, offset) for offset in range(3)), (2, 999)
    ]  # fmt: skip
    assert set(found) <= set(consumed(broker, topic, COUNT))


def test_spark_stops_at_the_high_watermark_while_others_produce(
    spark: SparkSession, broker: LocalBroker, topics: dict[str, str]
) -> None:
    """Records beyond the checkpointed mark come with a later read; never is there a gap, or one that changes."""
    topic = topics["none"]
    for more in (1, 2):
        fill(broker, topic, "none", COUNT)
        found = read(load(spark, broker, topic))
        given = consumed(broker, topic, COUNT * (1 + more))
        for partition in range(PARTITIONS):
            mine = [row for row in found if row.partition == partition]
            assert mine == [row for row in given if row.partition == partition][: len(mine)]
            assert len(mine) >= COUNT // PARTITIONS
    wait_until(lambda: watermarks(broker, topic) == COUNT * 3, what="the checkpoint")
    assert read(load(spark, broker, topic)) == given


def test_spark_counts_and_projects(spark: SparkSession, broker: LocalBroker, topics: dict[str, str]) -> None:
    frame = load(spark, broker, topics["gzip"])
    assert frame.count() == COUNT
    by_key = {row["key"]: row["count"] for row in frame.groupBy("key").count().collect()}
    expected: dict[bytes | None, int] = {}
    for row in consumed(broker, topics["gzip"], COUNT):
        expected[row.key] = expected.get(row.key, 0) + 1
    assert {None if key is None else bytes(key): count for key, count in by_key.items()} == expected
