"""A streaming query that dies at every step of its batches writes each row once, for readers of committed records."""

from __future__ import annotations

import contextlib
import pathlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from pyspark import TaskContext, cloudpickle
from pyspark.errors import StreamingQueryException

from kafka_py.spark.sink import KafkaStreamingWrite, KafkaWriterCommitMessage
from kafka_py.spark.source import KafkaSourceProvider
from kafka_py.spark.transactions import Decision, OpenTransaction, TransactionClient
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import WriterCommitMessage
    from pyspark.sql.types import StructType

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PARTITIONS = 2
ROWS = 1200
PER_BATCH = 200
# what goes wrong, once, in which batch
FAULTS = {0: "task", 1: "before", 2: "decided", 3: "half", 4: "after"}


class DiedError(Exception):
    """The process would be gone here."""


class FaultyClient(TransactionClient):
    """Dies behind the step that it is told."""

    fault = ""
    ended = 0
    forgets = False

    def decided(self, query: str) -> Decision | None:
        return None if self.forgets else super().decided(query)

    def decide(self, decision: Decision, places: Any) -> None:
        if self.fault == "before":
            raise DiedError(self.fault)
        super().decide(decision, places)
        if self.fault == "decided":
            raise DiedError(self.fault)

    def end(self, transaction: OpenTransaction, commit: bool) -> None:
        super().end(transaction, commit)
        self.ended += 1
        if self.fault == "half" and commit:
            raise DiedError(self.fault)


class FaultyWrite(KafkaStreamingWrite):
    """The sink, which fails in each of some batches once: that it has is a file in the directory ``marks``."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        super().__init__({name: value for name, value in options.items() if name != "marks"}, schema)
        self._marks = pathlib.Path(options["marks"])
        self._forgets = (self._marks / "forgets").exists()
        self._fault = ""

    def _is_due(self, batch: int, *faults: str) -> bool:
        mark = self._marks / str(batch)
        if FAULTS.get(batch) not in faults or mark.exists():
            return False
        mark.touch()
        return True

    @contextlib.contextmanager
    def _transactions(self) -> Iterator[TransactionClient]:
        assert self._settings.transaction is not None
        client = FaultyClient(self._settings.transaction, self._settings.client)
        client.fault, client.forgets = self._fault, self._forgets
        try:
            yield client
        finally:
            client.close()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaWriterCommitMessage:
        message = super().write(iterator)
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 0 and self._is_due(
            int(context.getLocalProperty("streaming.sql.batchId") or 0), "task"
        ):
            raise DiedError("a task that has written everything")
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if self._is_due(batchId, "before", "decided", "half", "after"):
            self._fault = FAULTS[batchId]
        super().commit(messages, batchId)
        if self._fault:
            raise DiedError("after")


class FaultyProvider(KafkaSourceProvider):
    """The source and the sink under another name."""

    @classmethod
    def name(cls) -> str:
        return "faulty_segments"

    def streamWriter(self, schema: StructType, overwrite: bool) -> FaultyWrite:  # noqa: N802
        return FaultyWrite(dict(self.options), schema)


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def source(broker: LocalBroker) -> str:
    """A topic of numbers."""
    topic = create_topic(broker.address, topic_name("numbers"), PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.address})
    for i in range(ROWS):
        producer.produce(topic, b"%d" % i, partition=i % PARTITIONS)
    assert producer.flush(30) == 0
    return topic


@pytest.fixture
def faulty(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that knows the faulty sink, whose workers get its source with it."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    spark.dataSource.register(FaultyProvider)
    yield spark
    cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def run_until_done(spark: SparkSession, broker: LocalBroker, source: str, sink: str, home: pathlib.Path) -> list[str]:
    """Start the query anew after each failure; gives what it died of."""
    (home / "marks").mkdir(exist_ok=True)
    died: list[str] = []
    while len(died) <= len(FAULTS):
        options = {"kafka.bootstrap.servers": broker.address, "subscribe": source, "startingOffsets": "earliest"}
        frame = spark.readStream.format("kafka_segments").options(**options, maxOffsetsPerTrigger=PER_BATCH).load()
        query = (
            frame.select("value")
            .writeStream.format("faulty_segments")
            .option("kafka.bootstrap.servers", broker.address)
            .option("kafka.transactional.id", sink)
            .option("marks", str(home / "marks"))
            .option("topic", sink)
            .option("checkpointLocation", str(home / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except StreamingQueryException as e:
            if "DiedError" not in str(e):
                raise
            died.append(str(e))
        else:
            return died
    raise AssertionError(f"the query never ends: {died}")


def read_committed(broker: LocalBroker, topic: str) -> Counter[int]:
    """How often each number can be read; the whole topic, which nothing holds back."""
    settings = {"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "enable.partition.eof": True})
    found: Counter[int] = Counter()
    try:
        for partition in range(PARTITIONS):
            consumer.assign([Position(topic, partition, 0)])
            for value in until_the_end(consumer):
                found[int(value)] += 1
            _, end = consumer.get_watermark_offsets(Position(topic, partition), 10)
            assert consumer.position([Position(topic, partition)])[0].offset == end, "the last stable offset is the end"
    finally:
        consumer.close()
    return found


def until_the_end(consumer: Consumer) -> Iterable[bytes]:
    while True:
        message = consumer.poll(20)
        assert message is not None, "the end of the partition does not come"
        if message.error() is not None:
            return
        yield message.value() or b""


def test_each_row_once_whatever_dies(
    faulty: SparkSession, broker: LocalBroker, source: str, tmp_path: pathlib.Path
) -> None:
    sink = create_topic(broker.address, topic_name("once"), PARTITIONS)
    died = run_until_done(faulty, broker, source, sink, tmp_path)
    assert len(died) == len(FAULTS)
    assert {path.name for path in (tmp_path / "marks").iterdir()} == set(map(str, FAULTS))
    assert read_committed(broker, sink) == Counter(range(ROWS))


def test_the_check_sees_a_sink_that_forgets_its_decisions(
    faulty: SparkSession, broker: LocalBroker, source: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "marks").mkdir()
    for mark in ("forgets", "0", "1", "2", "3"):  # only the last fault is to come
        (tmp_path / "marks" / mark).touch()
    sink = create_topic(broker.address, topic_name("twice"), PARTITIONS)
    run_until_done(faulty, broker, source, sink, tmp_path)
    found = read_committed(broker, sink)
    assert set(found) == set(range(ROWS))
    assert max(found.values()) == 2
