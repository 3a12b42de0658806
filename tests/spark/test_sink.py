"""The sink: what it refuses, where records go, and what is done until all of them are acknowledged."""

from __future__ import annotations

import collections
import pickle
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_py.common.errors import (
    InvalidTopicException,
    NotEnoughReplicasException,
    RecordTooLargeException,
    TimeoutException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.utils import murmur2 as murmur2_of_one
from kafka_py.spark.broker_client import Question
from kafka_py.spark.partitioner import murmur2, partitions_of
from kafka_py.spark.producer import Acknowledged, KafkaProducer, ProducerSettings
from kafka_py.spark.sink import KafkaBatchWrite, KafkaStreamingWrite, KafkaWriter, KafkaWriteTask
from kafka_py.testing.mock_time import MockTime

A, B = Node(0, "a", 9092), Node(1, "b", 9092)
OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}
Row = tuple[bytes | None, bytes | None]
Step = Errors | type[OSError]


class FakeCluster:
    """Brokers that keep batches and drop copies by producer id and sequence, unless a script says what goes wrong.

    A step of the script is the error of one produced batch, or an OSError, after which the answer is lost (but the
    batch may have been written).
    """

    def __init__(self, partitions: int = 3) -> None:
        self.leaders: dict[str, list[Node | None]] = {"t": [A] * partitions}
        self.errors: dict[str, Errors] = {}
        self.written: dict[tuple[str, int], list[Any]] = collections.defaultdict(list)
        self.sequences: dict[tuple[int, TopicPartition], int] = {}  # by producer id and partition
        self.producers = 0
        self.script: collections.deque[Step] = collections.deque()
        self.lost_answers_are_written = True
        self.requests: list[tuple[Node, list[TopicPartition], int]] = []  # node, partitions, bytes
        self.metadata_asked = 0
        self.on_error: Callable[[], None] = lambda: None
        self.closed = False
        self._answers: list[ProduceResponse | OSError] = []

    def metadata(self, topics: Sequence[str], create: bool) -> MetadataResponse:
        assert create, "producers let topics be created"
        self.metadata_asked += 1
        data = []
        for topic in topics:
            error = self.errors.get(topic, Errors.NONE if topic in self.leaders else Errors.LEADER_NOT_AVAILABLE)
            partitions = [
                MetadataResponse.PartitionMetadata(Errors.NONE, p, leader, [], [], [])
                for p, leader in enumerate(self.leaders.get(topic, []))
            ]
            data.append(MetadataResponse.TopicMetadata(error, topic, False, partitions))
        return MetadataResponse([A, B], "c", 0, data)

    def ask_any(self, request: AbstractRequest.Builder) -> InitProducerIdResponse:
        self.producers += 1
        return InitProducerIdResponse(error_code=0, producer_id=76 + self.producers, producer_epoch=3)

    def start(self, node: Node, request: AbstractRequest.Builder) -> Question:
        assert isinstance(request, ProduceRequest.Builder)
        built = request.build()
        records = built.partition_records_or_fail()
        self.requests.append((node, list(records), sum(r.size_in_bytes() for r in records.values())))
        assert built.acks() in (-1, 1)
        step = self.script.popleft() if self.script else None
        if step is not None:
            self.on_error()
        responses = {}
        for tp, batches in records.items():
            error = step if isinstance(step, Errors) else Errors.NONE
            if self.leaders[tp.topic][tp.partition] != node:
                error = Errors.NOT_LEADER_FOR_PARTITION
            offset = -1
            if error is Errors.NONE and (not isinstance(step, type) or self.lost_answers_are_written):
                error, offset = self._append(tp, batches)
            responses[tp] = ProduceResponse.PartitionResponse(error, offset)
        self._answers.append(step("lost") if isinstance(step, type) else ProduceResponse(responses))
        return Question(node, len(self._answers) - 1)

    def _append(self, tp: TopicPartition, batches: Any) -> tuple[Errors, int]:
        log = self.written[tp]
        (batch,) = batches.batches()
        batch.ensure_valid()
        assert batch.base_offset() == 0
        if batch.producer_id() >= 0:
            state = batch.producer_id(), tp
            expected = self.sequences.get(state, 0)
            if batch.base_sequence() != expected:
                return Errors.DUPLICATE_SEQUENCE_NUMBER, -1
            self.sequences[state] = expected + batch.last_offset() + 1
        offset = len(log)
        log += [
            (r.timestamp(), *(None if b is None else bytes(b) for b in (r.key(), r.value())), tuple(r.headers()))
            for r in batch
        ]
        return Errors.NONE, offset

    def is_answered(self, question: Question) -> bool:
        return False

    def finish(self, question: Question) -> ProduceResponse:
        answer = self._answers[question.correlation_id]
        if isinstance(answer, OSError):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True

    def rows(self, topic: str = "t") -> dict[int, list[Row]]:
        return {p: [(key, value) for _, key, value, _ in log] for (t, p), log in self.written.items() if t == topic}


class Task:
    """A write task over the fake cluster, on a clock of its own."""

    def __init__(self, cluster: FakeCluster, topic: str | None = "t", **properties: str) -> None:
        self.time = MockTime()
        settings = KafkaWriter.producer_settings(
            {**OPTIONS, **{f"kafka.{name.replace('_', '.')}": value for name, value in properties.items()}}
        )
        self.producer = KafkaProducer(settings, cluster, self.time)  # type: ignore[arg-type]
        self.task = KafkaWriteTask(topic, self.producer, self.time)

    def write(self, *tables: dict[str, Any]) -> Any:
        return self.task.execute(pa.RecordBatch.from_pydict(table) for table in tables)


def numbered(first: int, count: int, **columns: Any) -> dict[str, Any]:
    return {"value": [b"%d" % i for i in range(first, first + count)], **columns}


# ---- checks before anything runs


HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]), False)
KINDS: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "array<string>": ArrayType(StringType()),
    "headers": HEADERS,
    "double": DoubleType(),
    "timestamp": TimestampType(),
}


def schema(**columns: str) -> StructType:
    return StructType([StructField(name, KINDS[kind]) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("columns", "topic", "text"),
    [
        ({"value": "string"}, None, "topic option required when no 'topic' attribute is present. Use the topic option"),
        ({"key": "string"}, "t", "Required attribute 'value' not found"),
        ({"value": "int"}, "t", "value attribute unsupported type int. value must be a(n) string or binary"),
        ({"value": "string", "key": "bigint"}, "t", "key attribute unsupported type bigint"),
        ({"value": "string", "topic": "binary"}, None, "topic attribute unsupported type binary. topic must be a"),
        ({"value": "string", "partition": "bigint"}, "t", "partition attribute unsupported type bigint"),
        ({"value": "string", "headers": "array<string>"}, "t", "headers attribute unsupported type array<string>"),
        ({"value": "string", "timestamp": "string"}, "t", "timestamp must be a(n) double or timestamp"),
    ],
)
def test_schemas_that_cannot_be_written(columns: dict[str, str], topic: str | None, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        KafkaWriter.validate_query(schema(**columns), topic)


def test_schemas_that_can_be_written() -> None:
    full = schema(
        value="binary", key="string", topic="string", partition="int", headers="headers", timestamp="timestamp"
    )
    KafkaWriter.validate_query(full, None)
    KafkaWriter.validate_query(schema(value="string", offset="bigint"), "t")
    KafkaWriter.validate_query(schema(value="string", topic="int", timestamp="double"), "t")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kafka.bootstrap.servers": None}, "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka"),
        ({"kafka.acks": "0"}, "kafka.acks must be all, -1 or 1"),
        ({"kafka.acks": "1", "kafka.enable.idempotence": "true"}, "Must set kafka.acks to all"),
        ({"kafka.enable.idempotence": "ture"}, "kafka.enable.idempotence must be true or false, not ture"),
        ({"kafka.compression.type": "brotli"}, "kafka.compression.type must be one of none, gzip"),
        ({"kafka.key.serializer": "x"}, "Kafka option 'key.serializer' is not supported as keys are serialized with"),
        ({"kafka.value.serializer": "x"}, "Kafka option 'value.serializer' is not supported as values are serialized"),
        ({"kafka.transactional.id": "a b"}, "kafka.transactional.id must be a name without spaces"),
        ({"kafka.transactional.id": ""}, "kafka.transactional.id must be a name"),
        (
            {"kafka.transactional.id": "x", "kafka.enable.idempotence": "false"},
            "Cannot set a kafka.transactional.id without also enabling idempotence.",
        ),
        (
            {"kafka.transactional.id": "x", "kafka.transaction.timeout.ms": "0"},
            "kafka.transaction.timeout.ms must be positive",
        ),
        ({"kafka.batch.size": "-1"}, "must not be negative"),
        ({"kafka.security.protocol": "SSL"}, "only PLAINTEXT"),
    ],
)
def test_options_that_are_refused(options: dict[str, str | None], text: str) -> None:
    given = {name: value for name, value in {**OPTIONS, **options}.items() if value is not None}
    with pytest.raises(ValueError, match=re.escape(text)):
        KafkaWriter.producer_settings(given)


def test_writers_are_checked_when_made_and_travel_to_the_tasks() -> None:
    good = schema(value="string")
    for made in (
        KafkaBatchWrite({**OPTIONS, "Topic": "t"}, good, False),
        KafkaStreamingWrite({**OPTIONS, "topic": "t"}, good),
    ):
        assert isinstance(pickle.loads(pickle.dumps(made)), type(made))
    with pytest.raises(ValueError, match="Save mode overwrite not allowed for Kafka"):
        KafkaBatchWrite({**OPTIONS, "topic": "t"}, good, True)
    with pytest.raises(ValueError, match="topic option required"):
        KafkaStreamingWrite(OPTIONS, good)
    assert ProducerSettings.of({"bootstrap.servers": "127.0.0.1:1", "acks": "1"}).idempotent is False


# ---- where records go


def test_the_hash_of_a_column_is_the_hash_of_each_key() -> None:
    rng = random.Random(1)
    keys = [rng.randbytes(rng.choice([0, 1, 2, 3, 4, 5, 8, 11, 60])) for _ in range(500)]
    array = pa.array([b"dropped", *keys])[1:]
    assert murmur2(array).tolist() == [murmur2_of_one(key) & 0xFFFFFFFF for key in keys]
    assert murmur2(pa.array([b""] * 2)).tolist() == [murmur2_of_one(b"") & 0xFFFFFFFF] * 2


def test_one_long_key_does_not_cost_a_step_per_word_for_all() -> None:
    keys = [b"%d" % i for i in range(100)] + [bytes(range(250)) * 80, None, b"x" * 9001]
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "c_call"

    column = pa.array(keys, pa.binary())
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = murmur2(column)
    finally:
        sys.setprofile(before)
    assert [int(h) for h, key in zip(found, keys, strict=True) if key is not None] == [
        murmur2_of_one(key) & 0xFFFFFFFF for key in keys if key is not None
    ]
    assert calls < 500


def test_a_named_partition_wins_over_the_key_and_the_key_over_the_turn() -> None:
    keys = pa.array([b"a", b"a", None, None])
    named = pa.array([1, None, 0, None], pa.int32())
    by_key = (murmur2_of_one(b"a") & 0x7FFFFFFF) % 5
    assert partitions_of(keys, named, 5, 4, 4).tolist() == [1, by_key, 0, 4]
    assert partitions_of(None, None, 5, 2, 3).tolist() == [2, 2, 2]


def test_records_keep_their_order_within_a_partition() -> None:
    cluster = FakeCluster()
    keys = [b"key-%d" % (i % 17) for i in range(900)]
    Task(cluster, batch_size="700").write(
        *(numbered(start, 300, key=keys[start : start + 300]) for start in (0, 300, 600))
    )
    for partition, rows in cluster.rows().items():
        mine = [i for i in range(900) if (murmur2_of_one(keys[i]) & 0x7FFFFFFF) % 3 == partition]
        assert rows == [(keys[i], b"%d" % i) for i in mine]
    assert len(cluster.requests) > 3


def test_records_without_a_key_stay_together_and_take_turns() -> None:
    cluster = FakeCluster()
    Task(cluster).write(*(numbered(start, 10) for start in range(0, 60, 10)))
    assert {p: len(rows) for p, rows in cluster.rows().items()} == {0: 20, 1: 20, 2: 20}


def test_all_columns_arrive() -> None:
    cluster = FakeCluster(1)
    headers = pa.array(
        [[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    task = Task(cluster)
    task.write(
        {
            "key": ["ä", None],
            "value": ["v", None],
            "headers": headers,
            "timestamp": pa.array([1_234_567, None], pa.timestamp("us", "Europe/Berlin")),
        }
    )
    first, second = cluster.written["t", 0]
    assert first[:3] == (1_234, "ä".encode(), b"v")
    assert [(h.key(), h.value()) for h in first[3]] == [("h", b"1"), ("h", None)]
    assert second == (task.time.milliseconds(), None, None, ())
    Task(cluster, topic="t").write({"value": ["x"], "timestamp": [1.5]})
    assert cluster.written["t", 0][2][0] == 1_500


def test_topics_of_a_column_and_of_the_option() -> None:
    cluster = FakeCluster()
    cluster.leaders["other"] = [B]
    rows = {"topic": ["t", "other", "t"], "value": ["1", "2", "3"], "partition": pa.array([0, 0, 0], pa.int32())}
    message = Task(cluster, topic=None).write(rows)
    assert cluster.rows("t") == {0: [(None, b"1"), (None, b"3")]}
    assert cluster.rows("other") == {0: [(None, b"2")]}
    assert message.offsets == {"t": {0: Acknowledged(0, 1, 2)}, "other": {0: Acknowledged(0, 0, 1)}}
    assert (message.producer_id, message.producer_epoch) == (77, 3)
    Task(cluster, topic="t").write(rows)
    assert len(cluster.rows("t")[0]) == 5


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ({"topic": ["t", None], "value": ["1", "2"]}, "null topic present in the data. Use the topic option"),
        ({"topic": ["t"], "value": ["1"], "partition": pa.array([3], pa.int32())}, r"3 is not in the range \[0...3\)"),
        ({"topic": ["t"], "value": ["1"], "timestamp": [-1.0]}, "Invalid timestamp: -1000"),
    ],
)
def test_rows_that_cannot_be_written(rows: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Task(FakeCluster(), topic=None).write(rows)


# ---- until all is acknowledged


def test_batches_of_several_partitions_share_a_request_up_to_its_size() -> None:
    cluster = FakeCluster(6)
    cluster.leaders["t"][4:] = [B, B]
    everywhere = pa.array([i % 6 for i in range(600)], pa.int32())
    Task(cluster, max_request_size="4000").write({"value": ["x" * 10] * 600, "partition": everywhere})
    sizes = [size for _, _, size in cluster.requests]
    assert 2000 < max(sizes) <= 4000
    assert {node for node, _, _ in cluster.requests} == {A, B}
    assert all(len(rows) == 100 for rows in cluster.rows().values())
    assert len(cluster.requests) < 6


@pytest.mark.parametrize(
    "step",
    [
        Errors.NOT_LEADER_FOR_PARTITION,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.REQUEST_TIMED_OUT,
        Errors.NOT_ENOUGH_REPLICAS,
        Errors.KAFKA_STORAGE_ERROR,
        ConnectionError,
    ],
)
def test_after_a_passing_error_a_batch_is_sent_again_to_the_leader_there_is_now(step: Step) -> None:
    cluster = FakeCluster(1)
    cluster.script.extend([step, step])

    def elect() -> None:
        cluster.leaders["t"] = [B]

    cluster.on_error = elect
    message = Task(cluster, batch_size="100").write(numbered(0, 50))
    assert cluster.rows() == {0: [(None, b"%d" % i) for i in range(50)]}
    assert message.offsets["t"][0].records == 50
    assert cluster.metadata_asked >= 2


def test_lost_answers_write_nothing_twice_with_idempotence_and_perhaps_twice_without() -> None:
    for idempotent, expected in (("true", 20), ("false", 40)):
        cluster = FakeCluster(1)
        cluster.script.append(ConnectionError)
        message = Task(cluster, enable_idempotence=idempotent).write(numbered(0, 20))
        assert len(cluster.rows()[0]) == expected
        assert message.offsets["t"][0].records == 20
        assert (message.producer_id == 77) == (idempotent == "true")


def test_a_refusal_for_good_fails_the_task() -> None:
    cluster = FakeCluster(1)
    cluster.script.append(Errors.MESSAGE_TOO_LARGE)
    with pytest.raises(RecordTooLargeException, match=r"20 record\(s\) for t-0 were not written"):
        Task(cluster).write(numbered(0, 20))


def test_retries_are_bounded_by_number_and_by_time() -> None:
    cluster = FakeCluster(1)
    cluster.script.extend([Errors.NOT_ENOUGH_REPLICAS] * 10_000)
    with pytest.raises(NotEnoughReplicasException):
        Task(cluster, retries="3").write(numbered(0, 20))
    assert len(cluster.requests) == 4
    with pytest.raises(TimeoutException, match=r"Expiring 20 record\(s\) for t-0:1000 ms has passed"):
        Task(cluster, delivery_timeout_ms="1000").write(numbered(0, 20))
    assert len(cluster.requests) == 4 + 10


def test_a_topic_that_does_not_come_is_not_waited_for_for_ever() -> None:
    cluster = FakeCluster()
    with pytest.raises(TimeoutException, match=r"Topic new not present in metadata after 500 ms\."):
        Task(cluster, "new", max_block_ms="500").write(numbered(0, 1))
    assert cluster.metadata_asked == 6
    cluster.errors["bad"] = Errors.INVALID_TOPIC_EXCEPTION
    with pytest.raises(InvalidTopicException):
        Task(cluster, "bad").write(numbered(0, 1))


def test_a_partition_without_a_leader_is_waited_for() -> None:
    cluster = FakeCluster(2)
    cluster.leaders["t"] = [None, A]
    task = Task(cluster)

    def elect() -> None:
        cluster.leaders["t"] = [B, A]

    task.time.add_listener(elect)
    task.write({"value": ["a", "b"], "partition": pa.array([0, 1], pa.int32())})
    assert cluster.rows() == {0: [(None, b"a")], 1: [(None, b"b")]}


def test_memory_is_bounded_while_nobody_answers() -> None:
    """Rows are taken from the task's input only as fast as they are written, once the buffer is full."""
    cluster = FakeCluster(1)
    taken = 0

    def tables() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        for _ in range(50):
            taken += 1
            yield pa.RecordBatch.from_pydict({"value": ["x" * 1000] * 10})
            assert taken * 10_000 - len(cluster.written["t", 0]) * 1000 <= 60_000

    Task(cluster, buffer_memory="30000", batch_size="5000").task.execute(tables())
    assert len(cluster.rows()[0]) == 500


def test_a_task_without_rows_asks_nobody() -> None:
    cluster = FakeCluster()
    message = Task(cluster).write()
    assert (message.offsets, cluster.requests, cluster.metadata_asked) == ({}, [], 0)
    assert Task(cluster).write({"value": pa.array([], pa.string())}).offsets == {}
