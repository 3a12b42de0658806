"""The producer of a Spark task: batches of Arrow rows to the leaders of their partitions, each acknowledged.

A producer for tables, not for single records: rows are encoded column by column, and the task itself does the sending.
While a request is under way the next batches are made. One request per broker and one batch per partition are under way
at a time, so batches can be sent again without changing their order; a producer id and sequence numbers let the leader
drop the copies.

Mirrors: org.apache.kafka.clients.producer.KafkaProducer and internals.Sender @ 1.1.1 (what is retried, when it is given
    up, and the texts)
Read next: sink.py, whose tasks write through it; arrow_encoder.py; broker_client.py
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

import pyarrow as pa

from kafka_py.common.errors import (
    ApiException,
    LeaderNotAvailableException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.broker_client import PASSING, BrokerClient, ClientSettings, Question
from kafka_py.spark.transactions import DEFAULT_TRANSACTION_TIMEOUT_MS, TaskTransaction, TransactionSettings
from kafka_py.utils.logging import Logging

T = TypeVar("T")
_ACKS = {"all": -1, "-1": -1, "1": 1}
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_SEQUENCE_MASK = 0x7FFFFFFF


class ProducerSettings(NamedTuple):
    """The ``kafka.*`` options of a sink; sizes in bytes, times in milliseconds.

    batch_size is larger than Kafka's 16,384: a task has its rows at hand and waits for none.
    """

    client: ClientSettings
    acks: int = -1
    idempotent: bool = True
    compression: str = "none"
    batch_size: int = 256 << 10
    max_request_size: int = 1 << 20
    buffer_memory: int = 32 << 20
    delivery_timeout_ms: int = 120_000
    max_block_ms: int = 60_000
    retries: int = 0x7FFFFFFF
    retry_backoff_ms: int = 100
    transaction: TransactionSettings | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ProducerSettings:
        """From producer properties (names without ``kafka.``, lower case). Raises ValueError for wrong values."""

        def number(name: str, default: int) -> int:
            found = int(properties.get(name, default))
            if found < 0:
                raise ValueError(f"kafka.{name} must not be negative")
            return found

        acks = properties.get("acks", "all").lower()
        if acks not in _ACKS:
            raise ValueError(f"kafka.acks must be all, -1 or 1, not {acks}: nobody would know of lost records")
        said = properties.get("enable.idempotence", str(_ACKS[acks] == -1)).strip().lower()
        if said not in ("true", "false"):
            raise ValueError(f"kafka.enable.idempotence must be true or false, not {said}")
        idempotent = said == "true"
        if idempotent and _ACKS[acks] != -1:
            raise ValueError("Must set kafka.acks to all in order to use the idempotent producer.")
        compression = properties.get("compression.type", "none").lower()
        if compression not in _CODECS:
            raise ValueError(f"kafka.compression.type must be one of {', '.join(_CODECS)}, not {compression}")
        defaults = cls(ClientSettings.of(properties))
        return defaults._replace(
            acks=_ACKS[acks],
            idempotent=idempotent,
            compression=compression,
            batch_size=max(1, number("batch.size", defaults.batch_size)),  # 0 as with Kafka: no batching
            max_request_size=number("max.request.size", defaults.max_request_size),
            buffer_memory=number("buffer.memory", defaults.buffer_memory),
            delivery_timeout_ms=number("delivery.timeout.ms", defaults.delivery_timeout_ms),
            max_block_ms=number("max.block.ms", defaults.max_block_ms),
            retries=number("retries", defaults.retries),
            retry_backoff_ms=number("retry.backoff.ms", defaults.retry_backoff_ms),
            transaction=cls._transaction(properties, idempotent, number("max.block.ms", defaults.max_block_ms)),
        )

    @staticmethod
    def _transaction(properties: Mapping[str, str], idempotent: bool, max_block_ms: int) -> TransactionSettings | None:
        prefix = properties.get("transactional.id")
        if prefix is None:
            return None
        if not prefix or " " in prefix:
            raise ValueError("kafka.transactional.id must be a name without spaces")
        if not idempotent:
            raise ValueError("Cannot set a kafka.transactional.id without also enabling idempotence.")
        timeout_ms = int(properties.get("transaction.timeout.ms", DEFAULT_TRANSACTION_TIMEOUT_MS))
        if timeout_ms <= 0:
            raise ValueError("kafka.transaction.timeout.ms must be positive")
        return TransactionSettings(prefix, timeout_ms, max_block_ms)


class Acknowledged(NamedTuple):
    """The offsets of a task's first and last acknowledged record in a partition; others' may lie between them."""

    first_offset: int
    last_offset: int
    records: int


class ProducerBatch:
    """A batch on its way: it keeps its sequence number however often it is sent.

    Mirrors: org.apache.kafka.clients.producer.internals.ProducerBatch
    """

    __slots__ = ("attempts", "count", "created_ms", "data", "number", "retry_at_ms", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, data: memoryview, count: int, number: int, now: int) -> None:
        self.topic_partition = topic_partition
        self.data = data
        self.count = count
        self.number = number  # of all batches of the producer; those made first are sent first
        self.created_ms = now
        self.retry_at_ms = now
        self.attempts = 0


class KafkaProducer(Logging):
    """Takes rows, partition by partition, and delivers them or fails.

    Mirrors: org.apache.kafka.clients.producer.KafkaProducer
    Thread: its task's
    """

    def __init__(
        self,
        settings: ProducerSettings,
        client: BrokerClient | None = None,
        time: Time = Time.SYSTEM,
        transaction: TaskTransaction | None = None,
    ) -> None:
        """Connects only when there is something to send."""
        self._settings = settings
        self._transaction = transaction
        self._client = BrokerClient(settings.client, time) if client is None else client
        self._time = time
        self._leaders: dict[TopicPartition, Node] = {}
        self._partition_counts: dict[str, int] = {}
        self._leaders_are_stale = False  # thread: task
        # id and epoch
        self._producer: tuple[int, int] | None = None  # thread: task
        self._sequences: dict[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, list[pa.RecordBatch]] = {}  # rows that do not fill a batch yet
        self._waiting_bytes = 0  # thread: task
        self._queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self._queued_bytes = 0  # thread: task
        self._made = 0  # thread: task
        self._in_flight: dict[Node, tuple[Question, list[ProducerBatch]]] = {}
        self.acknowledged: dict[TopicPartition, Acknowledged] = {}

    @property
    def producer_id_and_epoch(self) -> tuple[int, int]:
        """What the leaders know this producer by; (-1, -1) without idempotence, and before anything was sent."""
        return self._producer or (-1, -1)

    # ---- topics

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has; it is created if the brokers do that.

        Raises TimeoutException after max.block.ms, and at once what the brokers refuse for good.
        """
        if topic not in self._partition_counts:
            try:
                self._until_it_passes(lambda: self._learn([topic]))
            except PASSING as e:
                raise TimeoutException(
                    f"Topic {topic} not present in metadata after {self._settings.max_block_ms} ms."
                ) from e
        return self._partition_counts[topic]

    def any_partition(self, topic: str) -> int:
        """One for records that may go anywhere: a random one of those with a leader."""
        count = self.partition_count(topic)
        led = [p for p in range(count) if TopicPartition(topic, p) in self._leaders]
        return random.choice(led or range(count))

    def _learn(self, topics: Iterable[str]) -> None:
        """Ask for the leaders of topics. Raises OSError, and the error of a topic."""
        for topic in self._client.metadata(list(topics), create=True).topic_metadata():
            topic.error.maybe_throw()
            if not topic.partition_metadata:
                raise UnknownTopicOrPartitionException(f"Topic {topic.topic} has no partitions")
            self._partition_counts[topic.topic] = len(topic.partition_metadata)
            for partition in topic.partition_metadata:
                tp = TopicPartition(topic.topic, partition.partition)
                if partition.leader is None:
                    self._leaders.pop(tp, None)
                else:
                    self._leaders[tp] = partition.leader

    def _until_it_passes(self, ask: Callable[[], T]) -> T:
        """What is asked, again and again for up to max.block.ms. Raises the last failure."""
        deadline = self._time.milliseconds() + self._settings.max_block_ms
        while True:
            try:
                return ask()
            except PASSING:
                if self._time.milliseconds() >= deadline:
                    raise
                self._time.sleep(self._settings.retry_backoff_ms)

    # ---- rows

    def send(self, topic: str, partition: int, rows: pa.RecordBatch) -> None:
        """Take rows with the encoder's columns. Blocks only while buffer.memory is full. Raises as flush."""
        tp = TopicPartition(topic, partition)
        waiting = self._waiting.setdefault(tp, [])
        waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        if sum(table.nbytes for table in waiting) >= self._settings.batch_size:
            self._encode(tp)
        elif self._waiting_bytes > self._settings.buffer_memory:
            self._encode_all()
        self._take_answers_that_are_here()
        self._send_what_can_be_sent()
        while self._queued_bytes > self._settings.buffer_memory:
            self._wait_for_one()
            self._send_what_can_be_sent()

    def flush(self) -> None:
        """Deliver all that was sent. Raises the error that a broker gave for good, or TimeoutException for a batch that
        was not acknowledged within delivery.timeout.ms."""
        self._encode_all()
        while self._queued_bytes:
            self._send_what_can_be_sent()
            self._wait_for_one()

    def close(self) -> None:
        """Close all connections; what was not flushed is not sent."""
        self._client.close()

    def _encode_all(self) -> None:
        for tp in list(self._waiting):
            self._encode(tp)

    def _encode(self, tp: TopicPartition) -> None:
        table = pa.Table.from_batches(self._waiting.pop(tp))
        self._waiting_bytes -= table.nbytes
        producer_id, epoch = self._producer_id_and_epoch()
        sequence = self._sequences.get(tp, 0) if producer_id >= 0 else -1
        encoder = RecordBatchEncoder(
            self._settings.compression,
            self._settings.batch_size,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=self._transaction is not None,
        )
        queue = self._queues.setdefault(tp, deque())
        now = self._time.milliseconds()
        for batch in encoder.encode_batches(table, 0):
            count = batch.last_offset - batch.base_offset + 1
            data = bytearray(batch.data)
            data[:8] = bytes(8)  # a producer's batches all begin at offset 0
            queue.append(ProducerBatch(tp, memoryview(data), count, self._made, now))
            self._made += 1
            self._queued_bytes += len(data)
        if producer_id >= 0:
            self._sequences[tp] = (sequence + table.num_rows) & _SEQUENCE_MASK

    def _producer_id_and_epoch(self) -> tuple[int, int]:
        if not self._settings.idempotent:
            return -1, -1
        if self._producer is None:
            self._producer = (
                self._until_it_passes(self._ask_for_producer_id)
                if self._transaction is None
                else self._transaction.producer_id_and_epoch
            )
        return self._producer

    def _ask_for_producer_id(self) -> tuple[int, int]:
        response = self._client.ask_any(InitProducerIdRequest.Builder(None))
        assert isinstance(response, InitProducerIdResponse)
        response.error().maybe_throw()
        return response.producer_id, response.producer_epoch

    # ---- batches

    def _send_what_can_be_sent(self) -> None:
        """One request to every broker that has none, with the oldest batch of each partition it leads."""
        now = self._time.milliseconds()
        flying = {batch.topic_partition for _, batches in self._in_flight.values() for batch in batches}
        heads = [queue[0] for tp, queue in self._queues.items() if queue and tp not in flying]
        for batch in heads:
            self._check_age(batch, now)
        due = sorted((head for head in heads if head.retry_at_ms <= now), key=lambda head: head.number)
        by_leader: dict[Node, list[ProducerBatch]] = {}
        sizes: dict[Node, int] = {}
        for batch in self._with_leaders(due):
            leader = self._leaders[batch.topic_partition]
            size = sizes.get(leader, 0) + len(batch.data)
            if leader not in self._in_flight and (leader not in sizes or size <= self._settings.max_request_size):
                sizes[leader] = size
                by_leader.setdefault(leader, []).append(batch)
        for leader, batches in by_leader.items():
            records = {batch.topic_partition: MemoryRecords.readable_records(batch.data) for batch in batches}
            transactional_id = None
            if self._transaction is not None:
                self._transaction.require(records)
                transactional_id = self._transaction.transactional_id
            request = ProduceRequest.Builder.for_magic(
                RecordBatch.CURRENT_MAGIC_VALUE,
                self._settings.acks,
                self._settings.client.request_timeout_ms,
                records,
                transactional_id,
            )
            try:
                self._in_flight[leader] = self._client.start(leader, request), batches
            except OSError as e:
                self._retry(batches, e)

    def _with_leaders(self, batches: list[ProducerBatch]) -> list[ProducerBatch]:
        """Those whose leaders are known, looked up if need be; the others are put off."""
        if batches and self._leaders_are_stale:
            try:
                self._learn(self._partition_counts)
                self._leaders_are_stale = False
            except PASSING as e:
                self._retry(batches, e)
                return []
        for batch in batches:
            if batch.topic_partition not in self._leaders:
                self._retry([batch], LeaderNotAvailableException(f"There is no leader for {batch.topic_partition}"))
        return [batch for batch in batches if batch.topic_partition in self._leaders]

    def _take_answers_that_are_here(self) -> None:
        for leader, (question, _) in list(self._in_flight.items()):
            if self._client.is_answered(question):
                self._take_answer(leader)

    def _wait_for_one(self) -> None:
        """Until the oldest request is answered, or, with none under way, until the next batch may be tried again."""
        if self._in_flight:
            self._take_answer(next(iter(self._in_flight)))
        else:
            next_try = min(queue[0].retry_at_ms for queue in self._queues.values() if queue)
            self._time.sleep(max(0, next_try - self._time.milliseconds()))

    def _take_answer(self, leader: Node) -> None:
        question, batches = self._in_flight.pop(leader)
        try:
            response = self._client.finish(question)
        except OSError as e:
            self._retry(batches, e)
            return
        assert isinstance(response, ProduceResponse)
        for batch in batches:
            result = response.responses()[batch.topic_partition]
            failure = result.error.exception()
            # a copy of a batch that was there already: only the first answer was lost
            if failure is None or result.error is Errors.DUPLICATE_SEQUENCE_NUMBER:
                self._delivered(batch, result.base_offset)
            elif isinstance(failure, PASSING):
                self._retry([batch], failure)
            else:
                raise _for_good(failure, batch)

    def _delivered(self, batch: ProducerBatch, base_offset: int) -> None:
        tp = batch.topic_partition
        self._queues[tp].popleft()
        self._queued_bytes -= len(batch.data)
        last = base_offset + batch.count - 1 if base_offset >= 0 else -1
        before = self.acknowledged.get(tp)
        if before is None:
            self.acknowledged[tp] = Acknowledged(base_offset, last, batch.count)
        else:
            self.acknowledged[tp] = Acknowledged(
                before.first_offset, max(before.last_offset, last), before.records + batch.count
            )

    def _retry(self, batches: Iterable[ProducerBatch], failure: Exception) -> None:
        """Put batches off; the leaders are looked up before they are sent again. Raises when retries are used up."""
        self._leaders_are_stale = True
        for batch in batches:
            batch.attempts += 1
            if batch.attempts > self._settings.retries:
                raise _for_good(failure, batch)
            self.info("Batch %d of %s is tried again", batch.number, batch.topic_partition, exc=failure)
            batch.retry_at_ms = self._time.milliseconds() + self._settings.retry_backoff_ms

    def _check_age(self, batch: ProducerBatch, now: int) -> None:
        if now - batch.created_ms >= self._settings.delivery_timeout_ms:
            raise TimeoutException(
                f"Expiring {batch.count} record(s) for {batch.topic_partition}:{now - batch.created_ms} ms has passed "
                "since batch creation"
            )


def _for_good(failure: Exception, batch: ProducerBatch) -> ApiException:
    """The failure, saying what was not written."""
    kind = type(failure) if isinstance(failure, ApiException) else ApiException
    lost = kind(f"{batch.count} record(s) for {batch.topic_partition} were not written: {failure}")
    lost.__cause__ = failure
    return lost
