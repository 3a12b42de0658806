"""Over the wire Spark reads what is in the files, and what it writes is what a consumer is given."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from kafka_py.spark.arrow_decoder import COLUMNS, RecordBatchDecoder, iter_segment
from kafka_py.spark.fetch_transport import FetchTransport
from kafka_py.spark.producer import KafkaProducer, ProducerSettings
from kafka_py.spark.sink import KafkaWriteTask
from kafka_py.spark.transport import ReadOptions
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name
from tests.integration.support import wait_until, wait_until_forgotten
from tests.spark.made_logs import replica_dirs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 3
COUNT = 3000
ALL = ReadOptions((*COLUMNS, "headers"))


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def topics(broker: LocalBroker) -> dict[str, str]:
    """A topic per codec, filled by librdkafka: keys and values that are null or empty, headers, several segments."""
    made = {}
    for codec in CODECS:
        made[codec] = create_topic(broker.address, topic_name(codec), PARTITIONS, {"segment.bytes": "60000"})
        fill(broker, made[codec], codec)
    return made


def fill(broker: LocalBroker, topic: str, codec: str) -> None:
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer({"bootstrap.servers": broker.address, "compression.type": codec, "batch.num.messages": 100})
    for i in range(COUNT):
        producer.produce(
            topic,
            None if i % 11 == 0 else b"value %d " % i * (i % 40),
            None if i % 7 == 0 else b"key-%d" % (i % 50),
            partition=i % PARTITIONS,
            headers=[("h", b"%d" % i), ("h", None)] if i % 5 == 0 else None,
            on_delivery=delivered,
        )
        producer.poll(0)
    assert (producer.flush(30), errors) == (0, [])


@pytest.fixture
def transport(broker: LocalBroker) -> Iterator[FetchTransport]:
    made = FetchTransport({"kafka.bootstrap.servers": broker.address, "kafka.max.partition.fetch.bytes": "30000"})
    yield made
    made.close()


def from_files(broker: LocalBroker, topic: str) -> dict[int, pa.Table]:
    """Every record of the topic's segments, below the log end or not."""
    found = {}
    for replica in replica_dirs([str(d) for d in broker.log_dirs]):
        if replica.topic == topic:
            decoder = RecordBatchDecoder(topic, replica.partition, ALL.columns)
            tables: list[pa.RecordBatch] = []
            for segment in replica.segments:
                with open(segment.path, "rb", buffering=0) as file:
                    tables += iter_segment(file, decoder, 0, pathlib.Path(segment.path).stat().st_size, 0, 1 << 60)
            found[replica.partition] = pa.Table.from_batches(tables, decoder.schema).combine_chunks()
    return found


def from_broker(transport: FetchTransport, topic: str, max_bytes: int) -> dict[int, pa.Table]:
    found = {}
    for (name, partition), offsets in transport.partitions(lambda name, _: name == topic).items():
        pieces = transport.plan(name, partition, offsets.log_start_offset, offsets.high_watermark, max_bytes, False)
        tables = [table for piece in pieces for table in piece.tables(ALL)]
        found[partition] = pa.Table.from_batches(tables).combine_chunks()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_files_and_fetch_responses_hold_the_same_records(
    broker: LocalBroker, topics: dict[str, str], transport: FetchTransport, codec: str
) -> None:
    files = from_files(broker, topics[codec])
    assert sum(table.num_rows for table in files.values()) == COUNT
    for max_bytes in (1 << 30, 50_000):
        assert from_broker(transport, topics[codec], max_bytes) == files


def test_any_offsets_are_read_from_the_batches_that_hold_them(
    topics: dict[str, str], transport: FetchTransport
) -> None:
    topic = topics["lz4"]
    transport.partitions(lambda name, _: name == topic)
    for first, until in ((0, 1), (17, 431), (999, 1000)):
        (piece,) = transport.plan(topic, 1, first, until, 1 << 30, False)
        tables = list(piece.tables(ReadOptions(("offset",))))
        assert [offset for table in tables for offset in table.column("offset").to_pylist()] == [*range(first, until)]


def test_offsets_of_times(broker: LocalBroker, transport: FetchTransport) -> None:
    topic = create_topic(broker.address, topic_name("times"), 1, {"retention.ms": "-1"})
    producer = Producer({"bootstrap.servers": broker.address, "batch.num.messages": 10})
    for i in range(100):
        producer.produce(topic, b"v", partition=0, timestamp=1_000_000 + i * 10)
    assert producer.flush(30) == 0
    assert transport.offset_for_timestamp(topic, 0, 0) == 0
    assert transport.offset_for_timestamp(topic, 0, 1_000_421) == 43
    assert transport.offset_for_timestamp(topic, 0, 2_000_000) is None


def test_records_deleted_before_they_were_read(broker: LocalBroker, transport: FetchTransport) -> None:
    from confluent_kafka.admin import AdminClient

    topic = create_topic(broker.address, topic_name("deleted"), 1)
    producer = Producer({"bootstrap.servers": broker.address})
    for i in range(100):
        producer.produce(topic, b"%d" % i, partition=0)
    assert producer.flush(30) == 0
    transport.partitions(lambda name, _: name == topic)
    (piece,) = transport.plan(topic, 0, 0, 100, 1 << 30, False)
    admin = AdminClient({"bootstrap.servers": broker.address})
    for future in admin.delete_records([TopicPartition(topic, 0, 60)]).values():
        future.result(30)
    with pytest.raises(ValueError, match="failOnDataLoss"):
        list(piece.tables(ReadOptions(("offset",))))
    kept = list(piece.tables(ReadOptions(("offset",), fail_on_data_loss=False)))
    assert [offset for table in kept for offset in table.column("offset").to_pylist()] == list(range(60, 100))
    assert transport.partitions(lambda name, _: name == topic)[topic, 0].log_start_offset == 60


def consumed(broker: LocalBroker, topic: str, partitions: int, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False})
    found: list[Message] = []
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        while len(found) < count:
            messages = consumer.consume(count, timeout=10)
            assert messages, f"{len(found)} of {count} came"
            assert all(m.error() is None for m in messages)
            found += messages
        assert not consumer.consume(1, timeout=0.2), "more came than was written"
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_a_task_writes_what_a_consumer_is_given(broker: LocalBroker, codec: str) -> None:
    topic = create_topic(broker.address, topic_name(f"sink-{codec}"), PARTITIONS)
    task = write_task(broker, topic, **{"compression.type": codec, "batch.size": "5000"})
    keys = [None if i % 5 == 0 else b"key-%d" % (i % 50) for i in range(COUNT)]
    values = [None if i % 11 == 0 else b"value %d " % i * (i % 40) for i in range(COUNT)]
    headers = [None if i % 3 else [{"key": "n", "value": b"%d" % i}] for i in range(COUNT)]
    schema = pa.schema(
        [
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ]
    )
    table = pa.Table.from_pydict({"key": keys, "value": values, "headers": headers}, schema)
    message = task.execute(iter(table.to_batches(500)))
    task.close()
    given = consumed(broker, topic, PARTITIONS, COUNT)
    wanted = [
        (key, value, [("n", b"%d" % i)] if i % 3 == 0 else None)
        for i, (key, value) in enumerate(zip(keys, values, strict=True))
    ]
    assert sorted(map(repr, wanted)) == sorted(repr((m.key(), m.value(), m.headers())) for m in given)
    ends = {p: max(m.offset() or 0 for m in given if m.partition() == p) for p in range(PARTITIONS)}
    assert {p: a.last_offset for p, a in message.offsets[topic].items()} == ends


def write_task(broker: LocalBroker, topic: str, **properties: str) -> KafkaWriteTask:
    settings = ProducerSettings.of({"bootstrap.servers": broker.address, **properties})
    return KafkaWriteTask(topic, KafkaProducer(settings))


def test_keys_go_where_java_and_librdkafka_would_send_them(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("murmur"), 5)
    keys = [b"key-%d" % i for i in range(200)]
    producer = Producer({"bootstrap.servers": broker.address, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(topic, b"theirs", key)
    assert producer.flush(30) == 0
    task = write_task(broker, topic)
    task.execute(iter([pa.RecordBatch.from_pydict({"key": keys, "value": [b"ours"] * len(keys)})]))
    task.close()
    places: dict[Any, set[int | None]] = {}
    for message in consumed(broker, topic, 5, 400):
        places.setdefault(message.key(), set()).add(message.partition())
    assert len(places) == 200
    assert {len(partitions) for partitions in places.values()} == {1}


def test_a_broker_that_restarts_costs_neither_records_nor_doubles_them(own_cluster: LocalCluster) -> None:
    """Killed while a task writes and while another one reads."""
    with own_cluster:
        broker = own_cluster.brokers[0]
        topic = create_topic(broker.address, topic_name("restart"), 1)
        task = write_task(broker, topic, **{"batch.size": "2000", "max.request.size": "2000"})

        def restart() -> None:
            broker.process.kill()
            wait_until_forgotten(own_cluster, broker)
            broker.start()

        def rows() -> Iterator[pa.RecordBatch]:
            for i in range(40):
                if i == 20:
                    restart()
                yield pa.RecordBatch.from_pydict({"value": [b"%d" % (i * 50 + j) for j in range(50)]})

        message = task.execute(rows())
        task.close()
        assert message.offsets[topic][0].records == 2000
        transport = FetchTransport(
            {
                "kafka.bootstrap.servers": broker.address,
                "kafka.max.partition.fetch.bytes": "5000",
                "fetchOffset.retryIntervalMs": "100",
            }
        )
        wait_until(lambda: transport.partitions()[topic, 0].high_watermark == 2000, what="the high watermark")
        (piece,) = transport.plan(topic, 0, 0, 2000, 1 << 30, False)
        transport.close()
        values: list[bytes] = []
        for i, table in enumerate(piece.tables(ReadOptions(("value",)))):
            if i == 2:
                restart()
            values += table.column("value").to_pylist()
        assert values == [b"%d" % i for i in range(2000)]


@pytest.mark.spark
def test_spark_reads_the_same_from_brokers_and_from_files(
    spark: SparkSession, broker: LocalBroker, topics: dict[str, str]
) -> None:
    options = {"subscribe": topics["gzip"], "includeHeaders": "true", "kafka.bootstrap.servers": broker.address}
    wire = spark.read.format("kafka_segments").options(**options, minPartitions="6").load()
    dirs = ",".join(str(d) for d in broker.log_dirs)
    files = spark.read.format("kafka_segments").options(**options, logDirs=dirs).load()
    assert wire.schema == files.schema
    assert wire.rdd.getNumPartitions() == 6
    found = sorted(wire.collect(), key=lambda row: (row["partition"], row["offset"]))
    assert len(found) == COUNT
    assert found == sorted(files.collect(), key=lambda row: (row["partition"], row["offset"]))


@pytest.mark.spark
def test_spark_writes_a_batch(spark: SparkSession, broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("df"), PARTITIONS)
    frame = spark.range(0, 1000, 1, 4).selectExpr(
        "CAST(id % 10 AS STRING) key",
        "CAST(id AS STRING) value",
        "array(named_struct('key', 'n', 'value', CAST(CAST(id AS STRING) AS BINARY))) headers",
        f"'{topic}' topic",
    )
    frame.write.format("kafka_segments").mode("append").option("kafka.bootstrap.servers", broker.address).save()
    given = consumed(broker, topic, PARTITIONS, 1000)
    assert {(m.key(), m.value()) for m in given} == {(b"%d" % (i % 10), b"%d" % i) for i in range(1000)}
    assert all(m.headers() == [("n", m.value())] for m in given)
    with pytest.raises(Exception, match="Required attribute 'value' not found"):
        frame.drop("value").write.format("kafka_segments").mode("append").option(
            "kafka.bootstrap.servers", broker.address
        ).save()


@pytest.mark.spark
def test_spark_writes_a_stream(spark: SparkSession, broker: LocalBroker, tmp_path: pathlib.Path) -> None:
    topic = create_topic(broker.address, topic_name("stream"), PARTITIONS)
    source = tmp_path / "in"
    source.mkdir()
    frame = spark.readStream.schema("value string").text(str(source))

    def run() -> None:
        query = (
            frame.writeStream.format("kafka_segments")
            .option("kafka.bootstrap.servers", broker.address)
            .option("topic", topic)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(60)

    for batch in range(2):
        (source / f"{batch}.txt").write_text("".join(f"{batch}-{i}\n" for i in range(100)))
        run()
    values = {m.value() for m in consumed(broker, topic, PARTITIONS, 200)}
    assert values == {b"%d-%d" % (batch, i) for batch in range(2) for i in range(100)}
