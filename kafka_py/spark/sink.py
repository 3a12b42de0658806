"""The sink ``kafka_segments``: rows of a DataFrame to the topics of a running broker, batch or streaming.

    df.write.format("kafka_segments").mode("append").option("kafka.bootstrap.servers", "h:9092").option("topic", "t")
        .save()

Columns and options are those of Spark's own sink: value (string or binary, required), key, headers, topic, partition,
timestamp; the option topic wins over the column; producer options begin with ``kafka.``.

Every record is written at least once, as with Spark's sink: a task whose result is lost runs again and writes its
records again. Within one run of a task nothing is written twice (unless kafka.enable.idempotence is false), and a task
with a record that could not be delivered fails.

With kafka.transactional.id, which Spark's sink refuses, consumers that read committed records find each row exactly
once: tasks leave their transactions open, and ``commit`` ends them all, for a streaming query after it has written down
which these are (transactions.py). Without a query, as of ``df.write``, that holds unless the driver dies in the middle
of its commit.

Mirrors: connector/kafka-0-10-sql: KafkaWriter, KafkaWriteTask, KafkaBatchWrite, KafkaStreamingWrite of Spark 4
Read next: producer.py, partitioner.py, transactions.py
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_py.clients.client_utils import BOOTSTRAP_SERVERS_CONFIG
from kafka_py.common.utils.time import Time
from kafka_py.spark.partitioner import partitions_of
from kafka_py.spark.producer import Acknowledged, KafkaProducer, ProducerSettings
from kafka_py.spark.transactions import (
    ENDED_OTHERWISE,
    Decision,
    OpenTransaction,
    TaskTransaction,
    TransactionClient,
    places_for,
)

TOPIC_OPTION = "topic"
_PREFIX = "kafka."
# local properties of the tasks of a streaming query, in Spark's names
_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_COLUMNS: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (_HEADERS,),
    "partition": (IntegerType(),),
    "timestamp": (DoubleType(), TimestampType()),
}


@dataclass
class KafkaWriterCommitMessage(WriterCommitMessage):
    """What one task wrote: topic -> partition -> offsets, and the producer it wrote as ((-1, -1) if not idempotent).

    With transactions also the one that waits for its end (None if nothing was written), and the query's id.

    Mirrors: org.apache.spark.sql.kafka010.KafkaDataWriterCommitMessage (which is empty)
    """

    offsets: dict[str, dict[int, Acknowledged]] = field(default_factory=dict)
    producer_id: int = -1
    producer_epoch: int = -1
    transaction: OpenTransaction | None = None
    query: str = ""


class KafkaWriter:
    """Checks what is to be written before any task runs.

    Mirrors: org.apache.spark.sql.kafka010.KafkaWriter
    """

    @staticmethod
    def validate_query(schema: StructType, topic: str | None) -> None:
        """Raises ValueError, with Spark's texts, for a missing column or one of a wrong type."""
        names = schema.fieldNames()
        if topic is None and "topic" not in names:
            raise ValueError(
                "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
            )
        if "value" not in names:
            raise ValueError("Required attribute 'value' not found")
        for name, allowed in _COLUMNS.items():
            if name not in names or (name == "topic" and topic is not None):
                continue
            found = schema[name].dataType.simpleString()
            texts = [kind.simpleString() for kind in allowed]
            if found not in texts:
                raise ValueError(f"{name} attribute unsupported type {found}. {name} must be a(n) {' or '.join(texts)}")

    @staticmethod
    def producer_settings(options: Mapping[str, str]) -> ProducerSettings:
        """The options that begin with kafka. Raises ValueError, with Spark's texts where it has one."""
        given = {name.lower(): value for name, value in options.items()}
        properties = {name.removeprefix(_PREFIX): v for name, v in given.items() if name.startswith(_PREFIX)}
        for name in ("key.serializer", "value.serializer"):
            if name in properties:
                raise ValueError(
                    f"Kafka option '{name}' is not supported as {name.partition('.')[0]}s are serialized with "
                    "ByteArraySerializer."
                )
        if BOOTSTRAP_SERVERS_CONFIG not in properties:
            option = f"{_PREFIX}{BOOTSTRAP_SERVERS_CONFIG}"
            raise ValueError(f"Option '{option}' must be specified for configuring Kafka producer")
        return ProducerSettings.of(properties)


class KafkaWrite:
    """What batch and streaming writes have in common: made and checked in the driver, carried out by tasks.

    Mirrors: org.apache.spark.sql.kafka010.KafkaWrite
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        """Raises ValueError for options or columns that the sink cannot take."""
        self._topic = {name.lower(): value for name, value in options.items()}.get(TOPIC_OPTION)
        KafkaWriter.validate_query(schema, self._topic)
        self._settings = KafkaWriter.producer_settings(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> KafkaWriterCommitMessage:
        """Runs in an executor: deliver all rows of a task. Raises what KafkaWriteTask.execute raises."""
        if self._settings.transaction is None:
            return self._execute(iterator, None)
        context = TaskContext.get()
        assert context is not None, "rows are written by tasks"
        query = context.getLocalProperty(_QUERY_ID) or ""
        with self._transactions() as client:
            batch = context.getLocalProperty(_BATCH_ID)
            if query and batch is not None and is_decided(client.decided(query), int(batch)):
                return KafkaWriterCommitMessage(query=query)
            task = context.partitionId()
            transaction = TaskTransaction(client, task, self._settings.transaction.id_of(task))
            message = self._execute(iterator, transaction)
            return replace(message, transaction=transaction.left_open(), query=query)

    def _execute(
        self, iterator: Iterator[pa.RecordBatch], transaction: TaskTransaction | None
    ) -> KafkaWriterCommitMessage:
        task = KafkaWriteTask(self._topic, KafkaProducer(self._settings, transaction=transaction))
        try:
            return task.execute(iterator)
        finally:
            task.close()

    @contextlib.contextmanager
    def _transactions(self) -> Iterator[TransactionClient]:
        assert self._settings.transaction is not None
        client = TransactionClient(self._settings.transaction, self._settings.client)
        try:
            yield client
        finally:
            client.close()

    def _end(self, messages: Iterable[WriterCommitMessage | None], commit: bool) -> None:
        """End what tasks have left open. Raises what ended a transaction otherwise, if it was to be committed."""
        left = [told.transaction for told in _written(messages) if told.transaction is not None]
        if not left:
            return
        with self._transactions() as client:
            for transaction in left:
                # one that is to be aborted may be it already: somebody fenced its producer, or it took too long
                with contextlib.suppress(*(() if commit else ENDED_OTHERWISE)):
                    client.end(transaction, commit)


def _written(messages: Iterable[WriterCommitMessage | None]) -> list[KafkaWriterCommitMessage]:
    """The messages of tasks that came to their end."""
    return [message for message in messages if isinstance(message, KafkaWriterCommitMessage)]


def is_decided(decision: Decision | None, batch: int) -> bool:
    """Whether a batch has nothing to write any more: it, or a later one, is committed."""
    return decision is not None and decision.batch >= batch


class KafkaBatchWrite(KafkaWrite, DataSourceArrowWriter):
    """The writer of ``df.write``; without transactions there is nothing to commit, as what is acknowledged can be read,
    and nothing to abort.

    Mirrors: org.apache.spark.sql.kafka010.KafkaBatchWrite
    """

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        """Raises ValueError also for mode overwrite: a topic is only appended to."""
        if overwrite:
            raise ValueError("Save mode overwrite not allowed for Kafka. The allowed save mode is append.")
        super().__init__(options, schema)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Runs in the driver when all tasks have ended: their records can be read from now on."""
        self._end(messages, True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Runs in the driver when a task or the commit has failed."""
        self._end(messages, False)


class KafkaStreamingWrite(KafkaWrite, DataSourceStreamArrowWriter):
    """The writer of ``df.writeStream``; in mode complete every result is appended as a whole, as with Spark's sink.

    Mirrors: org.apache.spark.sql.kafka010.KafkaStreamingWrite
    """

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Runs in the driver when all tasks have ended, and again if it died before Spark had noted the batch.

        Raises TransactionLostError, and ProducerFencedException while nothing has been decided yet.
        """
        told = _written(messages)
        if self._settings.transaction is None or not told:
            return
        with self._transactions() as client:
            decision = client.decided(told[0].query)
            if not is_decided(decision, batchId):
                decision = self._decide(client, told, batchId)
            if decision is not None and decision.batch == batchId:
                client.commit_all(decision)

    def _decide(
        self, client: TransactionClient, told: Sequence[KafkaWriterCommitMessage], batch: int
    ) -> Decision | None:
        """From here on the batch is written, whatever happens; None if it is empty."""
        left = tuple(message.transaction for message in told if message.transaction is not None)
        if not left:
            return None
        for transaction in left:
            client.add_partitions(transaction, transaction.partitions)  # they are in it: is it still open?
        decision = Decision(told[0].query, batch, left)
        client.decide(decision, places_for(message.offsets for message in told))
        return decision

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Runs in the driver when a task has failed, or the commit: what was decided is left to the next run."""
        told = _written(messages)
        if self._settings.transaction is None or not told:
            return
        with self._transactions() as client:
            if is_decided(client.decided(told[0].query), batchId):
                return
        self._end(messages, False)


class KafkaWriteTask:
    """Writes the rows of one task.

    Mirrors: org.apache.spark.sql.kafka010.KafkaWriteTask, KafkaRowWriter (with whole columns in place of rows)
    Thread: the task's
    """

    def __init__(self, topic: str | None, producer: KafkaProducer, time: Time = Time.SYSTEM) -> None:
        self._topic = topic
        self._producer = producer
        self._time = time
        self._sticky: dict[str, int] = {}  # topic -> where records that may go anywhere went last

    def execute(self, iterator: Iterator[pa.RecordBatch]) -> KafkaWriterCommitMessage:
        """Send all rows and wait until they are acknowledged.

        Raises ValueError for a row that names no topic or a partition that there is not, and what KafkaProducer raises.
        """
        for rows in iterator:
            for topic, part in self._by_topic(rows):
                self._send(topic, part)
        self._producer.flush()
        offsets: dict[str, dict[int, Acknowledged]] = {}
        for tp, acknowledged in self._producer.acknowledged.items():
            offsets.setdefault(tp.topic, {})[tp.partition] = acknowledged
        return KafkaWriterCommitMessage(offsets, *self._producer.producer_id_and_epoch)

    def close(self) -> None:
        """Close the producer."""
        self._producer.close()

    def _by_topic(self, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._topic is not None:
            yield self._topic, rows
            return
        topics = rows.column("topic")
        if topics.null_count:
            raise ValueError("null topic present in the data. Use the topic option for setting a default topic.")
        encoded = topics.dictionary_encode()
        codes = encoded.indices.to_numpy()
        for code, topic in enumerate(encoded.dictionary.to_pylist()):
            yield topic, rows if len(encoded.dictionary) == 1 else _rows(rows, np.flatnonzero(codes == code))

    def _send(self, topic: str, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        count = self._producer.partition_count(topic)
        columns = self._record_columns(rows)
        named = rows.column("partition") if "partition" in rows.schema.names else None
        key = columns.column("key") if "key" in columns.schema.names else None
        chosen = partitions_of(key, named, count, self._next_sticky(topic, count), rows.num_rows)
        order = np.argsort(chosen, kind="stable")
        partitions, starts = np.unique(chosen[order], return_index=True)
        for partition, indexes in zip(partitions.tolist(), np.split(order, starts[1:]), strict=True):
            self._producer.send(topic, partition, columns if len(partitions) == 1 else _rows(columns, indexes))

    def _next_sticky(self, topic: str, count: int) -> int:
        """Another partition for each batch of rows: together they compress well, and in the end all have their share"""
        before = self._sticky.get(topic)
        self._sticky[topic] = self._producer.any_partition(topic) if before is None else (before + 1) % count
        return self._sticky[topic]

    def _record_columns(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The encoder's columns: key and value as bytes, times in microseconds, now where none is given."""
        names = rows.schema.names
        columns = {name: rows.column(name).cast(pa.binary()) for name in ("key", "value") if name in names}
        if "headers" in names:
            columns["headers"] = rows.column("headers")
        now = pa.scalar(self._time.milliseconds() * 1000, pa.int64())
        if "timestamp" in names:
            columns["timestamp"] = _microseconds(rows.column("timestamp")).fill_null(now)
        else:
            columns["timestamp"] = pa.repeat(now, rows.num_rows)
        columns["timestamp"] = columns["timestamp"].cast(pa.timestamp("us", "UTC"))
        return pa.RecordBatch.from_pydict(columns)


def _rows(rows: pa.RecordBatch, indexes: np.ndarray) -> pa.RecordBatch:
    return rows.take(pa.array(indexes))


def _microseconds(times: pa.Array) -> pa.Array:
    """Spark's two kinds of times, seconds as a fraction or timestamps, as numbers. Raises ValueError below zero."""
    if pa.types.is_floating(times.type):
        numbers = pc.multiply(times, 1e6).cast(pa.int64(), safe=False)
    else:
        numbers = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())
    smallest = pc.min(numbers).as_py()
    if smallest is not None and smallest < 0:
        raise ValueError(f"Invalid timestamp: {smallest // 1000}. Timestamp should always be non-negative or null.")
    return numbers
