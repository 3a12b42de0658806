"""Apache Kafka as the other side: what Spark's tasks read from it over the wire, and what they write to it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from kafka_py.spark.fetch_transport import FetchTransport
from kafka_py.spark.producer import KafkaProducer, ProducerSettings
from kafka_py.spark.sink import KafkaWriteTask
from kafka_py.spark.transport import ReadOptions
from tests.interop.apache_kafka import ONE_BROKER, ApacheKafka

pytestmark = [pytest.mark.slow]

PROPERTIES = {**ONE_BROKER, "log.segment.bytes": "100000", "num.partitions": "1"}
TIMEOUT_S = 60


@pytest.fixture(scope="module")
def address(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with apache.cluster(tmp_path_factory.mktemp("apache"), PROPERTIES) as cluster:
        yield cluster.brokers[0].address


def consumed(address: str, topic: str, until: int, level: str = "read_uncommitted") -> list[tuple[int, bytes | None]]:
    """What librdkafka gives below an offset that somebody else's records have reached."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": level,
            "enable.partition.eof": True,
        }
    )
    found: list[Message] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            if message.error() is not None:  # the end of the partition
                return [(m.offset() or 0, m.value()) for m in found if (m.offset() or 0) < until]
            found.append(message)
    finally:
        consumer.close()


def read(transport: FetchTransport, topic: str, until: int, committed: bool) -> list[tuple[int, bytes | None]]:
    pieces = transport.plan(topic, 0, 0, until, 1 << 30, committed)
    tables = [t for p in pieces for t in p.tables(ReadOptions(("offset", "value"), read_committed=committed))]
    table = pa.Table.from_batches(tables)
    return list(zip(table.column("offset").to_pylist(), table.column("value").to_pylist(), strict=True))


def test_transactions_are_read_as_a_consumer_reads_them(address: str) -> None:
    """Committed, aborted and open ones of two producers, between records of a third."""
    topic = "transactions"
    plain = Producer({"bootstrap.servers": address})
    producers = [Producer({"bootstrap.servers": address, "transactional.id": f"id-{i}"}) for i in range(2)]
    for producer in producers:
        producer.init_transactions(TIMEOUT_S)
    for round_ in range(6):
        for i, producer in enumerate(producers):
            producer.begin_transaction()
            for number in range(30):
                producer.produce(topic, b"round %d producer %d number %d" % (round_, i, number))
            assert producer.flush(TIMEOUT_S) == 0
        plain.produce(topic, b"plain %d" % round_)
        assert plain.flush(TIMEOUT_S) == 0
        producers[0].commit_transaction(TIMEOUT_S) if round_ % 2 else producers[0].abort_transaction(TIMEOUT_S)
        if round_ < 5:
            producers[1].commit_transaction(TIMEOUT_S) if round_ % 3 else producers[1].abort_transaction(TIMEOUT_S)
    transport = FetchTransport({"kafka.bootstrap.servers": address, "kafka.max.partition.fetch.bytes": "3000"})
    try:
        offsets = transport.partitions(lambda name, _: name == topic)[topic, 0]
        assert offsets.last_stable_offset < offsets.high_watermark
        everything = read(transport, topic, offsets.high_watermark, False)
        assert everything == consumed(address, topic, offsets.high_watermark)
        assert len(everything) == 6 * 61
        stable = read(transport, topic, offsets.last_stable_offset, True)
        assert stable == consumed(address, topic, offsets.last_stable_offset, "read_committed")
        assert 0 < len(stable) < len(everything)
    finally:
        transport.close()
        producers[1].abort_transaction(TIMEOUT_S)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_apache_kafka_takes_what_a_task_writes(address: str, codec: str) -> None:
    topic = f"written-{codec}"
    settings = ProducerSettings.of(
        {"bootstrap.servers": address, "compression.type": codec, "batch.size": "2000", "max.request.size": "5000"}
    )
    task = KafkaWriteTask(topic, KafkaProducer(settings))
    values = [b"value %d" % i * (i % 20) for i in range(2000)]
    try:
        message = task.execute(iter(pa.Table.from_pydict({"value": values}).to_batches(300)))
    finally:
        task.close()
    assert message.producer_id >= 0
    assert consumed(address, topic, 1 << 60) == list(enumerate(values))
    transport = FetchTransport({"kafka.bootstrap.servers": address})
    transport.partitions(lambda name, _: name == topic)
    assert read(transport, topic, 2000, True) == list(enumerate(values))
    transport.close()
