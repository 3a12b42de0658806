"""Exactly once: what a query's tasks and its driver do to the coordinators, whatever dies between two steps."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructField, StructType

from kafka_py.common.errors import (
    CoordinatorNotAvailableException,
    ProducerFencedException,
    TransactionalIdAuthorizationException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_response import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.end_txn_response import EndTxnResponse
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark import sink
from kafka_py.spark.producer import KafkaProducer
from kafka_py.spark.sink import KafkaBatchWrite, KafkaStreamingWrite, KafkaWriterCommitMessage
from kafka_py.spark.transactions import (
    Decision,
    OpenTransaction,
    TaskTransaction,
    TransactionClient,
    TransactionLostError,
    TransactionSettings,
)
from kafka_py.testing.mock_time import MockTime
from tests.spark.test_sink import OPTIONS, A, B, FakeCluster

if TYPE_CHECKING:
    from pyspark.sql.datasource import WriterCommitMessage

SETTINGS = TransactionSettings("sums")
QUERY = "0b1c"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SCHEMA = StructType([StructField("value", StringType())])
Key = tuple[int, str]
Record = tuple[tuple[int, int], bytes]


class Transactional:
    """One transactional id, as its coordinator knows it."""

    def __init__(self, producer_id: int) -> None:
        self.producer = [producer_id, -1]
        self.partitions: set[TopicPartition] = set()
        self.state = "Empty"


class FakeCoordinators(FakeCluster):
    """Brokers with coordinators of transactions and groups; records are read where their transaction is committed.

    A script of errors is answered first, an OSError in it loses the answer of what was done.
    """

    def __init__(self) -> None:
        super().__init__(2)
        self.ids: dict[str, Transactional] = {}
        self.offsets: dict[tuple[str, str, int], tuple[int, str | None]] = {}
        self.coordinator_script: collections.deque[Errors | type[OSError]] = collections.deque()
        self.committed: set[tuple[int, int]] = set()
        self.asked: list[str] = []
        self.moved = 0

    def ask_any(self, request: AbstractRequest.Builder) -> Any:
        built = request.build()
        if isinstance(built, FindCoordinatorRequest):
            self.moved += 1
            return FindCoordinatorResponse(Errors.NONE, (A, B)[self.moved % 2])
        raise AssertionError("with a transactional id everything is asked of its coordinator")

    def ask(self, node: Node, request: AbstractRequest.Builder) -> Any:
        built: Any = request.build(2) if isinstance(request.build(), OffsetFetchRequest) else request.build()
        self.asked.append(type(built).__name__)
        step = self.coordinator_script.popleft() if self.coordinator_script else Errors.NONE
        answer = self._answer(built, step if isinstance(step, Errors) else Errors.NONE)
        if isinstance(step, type):
            raise step("lost")
        return answer

    def _answer(self, request: Any, error: Errors) -> Any:
        match request:
            case InitProducerIdRequest():
                return self._init(request.transactional_id or "", error)
            case AddPartitionsToTxnRequest():
                return self._add(request, error)
            case EndTxnRequest():
                return EndTxnResponse(error_code=self._end(request, error).code)
            case OffsetCommitRequest():
                return self._commit(request, error)
            case OffsetFetchRequest():
                return self._fetch(request.group_id, error)
        raise AssertionError(request)

    def _init(self, id: str, error: Errors) -> InitProducerIdResponse:
        if error is not Errors.NONE:
            return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)
        known = self.ids.setdefault(id, Transactional(1000 + len(self.ids)))
        known.producer[1] += 1
        known.partitions, known.state = set(), "Empty"
        return InitProducerIdResponse(error_code=0, producer_id=known.producer[0], producer_epoch=known.producer[1])

    def _known(self, request: Any, error: Errors) -> tuple[Transactional, Errors]:
        known = self.ids[request.transactional_id]
        if error is Errors.NONE and known.producer != [request.producer_id, request.producer_epoch]:
            error = Errors.INVALID_PRODUCER_EPOCH
        return known, error

    def _add(self, request: AddPartitionsToTxnRequest, error: Errors) -> AddPartitionsToTxnResponse:
        known, error = self._known(request, error)
        if error is Errors.NONE:
            known.state = "Ongoing"
            known.partitions |= {TopicPartition(t.topic, p) for t in request.topics for p in t.partitions}
        entry = AddPartitionsToTxnTopicResult
        return AddPartitionsToTxnResponse(
            errors=[
                entry(topic=t.topic, partition_errors=[entry.Partition(partition=p, error_code=error.code)])
                for t in request.topics
                for p in t.partitions
            ]
        )

    def _end(self, request: EndTxnRequest, error: Errors) -> Errors:
        known, error = self._known(request, error)
        wanted = "CompleteCommit" if request.transaction_result else "CompleteAbort"
        if error is not Errors.NONE or known.state == wanted:
            return error
        if known.state != "Ongoing":
            return Errors.INVALID_TXN_STATE
        known.state = wanted
        if request.transaction_result:
            self.committed.add((request.producer_id, request.producer_epoch))
        return Errors.NONE

    def _commit(self, request: OffsetCommitRequest, error: Errors) -> OffsetCommitResponse:
        entry = OffsetCommitResponse.Topic
        if error is Errors.NONE:
            for topic in request.topics:
                for part in topic.partitions:
                    self.offsets[request.group_id, topic.topic, part.partition] = part.offset, part.metadata
        return OffsetCommitResponse(
            responses=[
                entry(
                    topic=topic.topic,
                    partition_responses=[
                        entry.Partition(partition=part.partition, error_code=error.code) for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _fetch(self, group: str, error: Errors) -> OffsetFetchResponse:
        entry = OffsetFetchResponse.Topic
        return OffsetFetchResponse(
            error_code=error.code,
            responses=[
                entry(
                    topic=topic,
                    partition_responses=[
                        entry.Partition(partition=partition, offset=offset, metadata=text, error_code=0)
                    ],
                )
                for (of_group, topic, partition), (offset, text) in self.offsets.items()
                if of_group == group
            ],
        )

    # -- what is read

    def _append(self, tp: TopicPartition, batches: Any) -> tuple[Errors, int]:
        (batch,) = batches.batches()
        assert batch.is_transactional()
        owner = (batch.producer_id(), batch.producer_epoch())
        if not any(tuple(id.producer) == owner and tp in id.partitions for id in self.ids.values()):
            return Errors.INVALID_PRODUCER_EPOCH, -1
        self.sequences.setdefault((batch.producer_id(), tp), 0)
        if batch.base_sequence() == 0:
            self.sequences[batch.producer_id(), tp] = 0
        log = self.written[tp]
        log += [(owner, bytes(record.value() or b"")) for record in batch]
        return Errors.NONE, len(log) - batch.last_offset() - 1

    def read_committed(self) -> list[bytes]:
        return sorted(value for log in self.written.values() for owner, value in log if owner in self.committed)


class Query:
    """A streaming query with two tasks, over the fake cluster; each run of it makes its writers anew, as Spark does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = FakeCoordinators()
        self.time = MockTime()
        self.properties: dict[str, str] = {"sql.streaming.queryId": QUERY}
        self.task = 0
        monkeypatch.setattr(sink, "TransactionClient", lambda settings, client: self.client(settings))
        monkeypatch.setattr(
            sink,
            "KafkaProducer",
            lambda settings, transaction: KafkaProducer(settings, self.cluster, self.time, transaction),  # type: ignore[arg-type]
        )
        context = SimpleNamespace(getLocalProperty=self.properties.get, partitionId=lambda: self.task)
        monkeypatch.setattr(TaskContext, "get", lambda: context)

    def client(self, settings: TransactionSettings = SETTINGS) -> TransactionClient:
        return TransactionClient(settings, self.cluster, self.time)  # type: ignore[arg-type]

    def writer(self) -> KafkaStreamingWrite:
        return KafkaStreamingWrite({**OPTIONS, "topic": "t", "kafka.transactional.id": "sums"}, SCHEMA)

    def write(self, batch: int, rows: Sequence[Sequence[str]]) -> list[Any]:
        """The commit messages of tasks with these rows."""
        messages = []
        for task, values in enumerate(rows):
            self.task = task
            self.properties["streaming.sql.batchId"] = str(batch)
            table = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.string())})
            messages.append(self.writer().write(iter([table])))
        return messages

    def run(self, batch: int, rows: Sequence[Sequence[str]]) -> None:
        self.writer().commit(self.write(batch, rows), batch)


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Iterator[Query]:
    made = Query(monkeypatch)
    yield made
    assert made.cluster.closed


ROWS = [["a", "b"], ["c"]]
READ = [b"a", b"b", b"c"]


def test_rows_can_be_read_when_the_batch_is_committed(query: Query) -> None:
    messages = query.write(0, ROWS)
    assert sum(map(len, query.cluster.written.values())) == 3
    assert query.cluster.read_committed() == []
    query.writer().commit(messages, 0)
    assert query.cluster.read_committed() == READ
    query.run(1, [["d"]])
    assert query.cluster.read_committed() == [*READ, b"d"]


def test_a_batch_that_died_before_the_decision_is_written_anew(query: Query) -> None:
    query.write(0, ROWS)
    query.run(0, [["a"], ["b", "c"]])  # the rows may be dealt out otherwise
    assert query.cluster.read_committed() == READ


@pytest.mark.parametrize("ended", [0, 1, 2])
def test_a_batch_that_died_after_the_decision_is_not_written_again(query: Query, ended: int) -> None:
    """However many of its transactions had been ended."""
    messages = query.write(0, ROWS)
    steps = [Errors.NONE] * (1 + 2 + 1 + ended)  # the look, two that are still open, the decision
    query.cluster.coordinator_script.extend([*steps, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED])
    if ended < 2:
        with pytest.raises(TransactionalIdAuthorizationException):
            query.writer().commit(messages, 0)
        query.writer().abort(messages, 0)  # as Spark does when a commit fails
    else:
        query.writer().commit(messages, 0)
    query.cluster.coordinator_script.clear()
    again = query.write(0, [["x"], ["y"], ["z"]])
    assert [message.offsets for message in again] == [{}, {}, {}]
    query.writer().commit(again, 0)
    assert query.cluster.read_committed() == READ
    query.run(1, [["d"], ["e"]])
    assert query.cluster.read_committed() == [*READ, b"d", b"e"]


def test_without_the_decision_rows_would_be_doubled(query: Query) -> None:
    """What the other tests look for can be seen: here the decision is lost."""
    query.run(0, ROWS)
    query.cluster.offsets.clear()
    query.run(0, ROWS)
    assert query.cluster.read_committed() == sorted(READ * 2)


def test_a_task_that_runs_again_fences_the_one_before(query: Query) -> None:
    first = query.write(0, ROWS)
    query.task = 1
    table = pa.RecordBatch.from_pydict({"value": pa.array(["c"], pa.string())})
    second = query.writer().write(iter([table]))
    with pytest.raises(ProducerFencedException):
        query.writer().commit(first, 0)
    assert query.cluster.read_committed() == []
    query.writer().commit([first[0], second], 0)
    assert query.cluster.read_committed() == READ


def test_a_failed_batch_is_aborted(query: Query) -> None:
    messages = query.write(0, ROWS)
    query.writer().abort([messages[0], None], 0)
    assert [id.state for id in query.cluster.ids.values()] == ["CompleteAbort", "Ongoing"]
    query.writer().abort([messages[0], messages[1]], 0)  # once more does no harm
    assert query.cluster.read_committed() == []
    query.writer().abort([None], 0)


def test_a_decided_transaction_that_was_aborted_is_not_passed_over(query: Query) -> None:
    messages = query.write(0, ROWS)
    query.cluster.coordinator_script.extend([Errors.NONE] * 4 + [Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED])
    with pytest.raises(TransactionalIdAuthorizationException):
        query.writer().commit(messages, 0)
    query.cluster.ids["sums-1"].producer[1] += 1  # as when its time is over
    with pytest.raises(TransactionLostError, match=r"Batch 0 .* task 1 \(sums-1\) had been aborted"):
        query.writer().commit(query.write(0, ROWS), 0)


def test_a_query_without_rows_leaves_nothing_open(query: Query) -> None:
    query.run(0, [[], []])
    assert {id.state for id in query.cluster.ids.values()} == {"Empty"}
    assert query.cluster.offsets == {}


def test_what_another_query_decided_is_of_no_concern(query: Query) -> None:
    """A new checkpoint counts its batches from 0 again."""
    query.run(7, ROWS)
    query.properties["sql.streaming.queryId"] = "another"
    query.run(0, [["d"]])
    assert query.cluster.read_committed() == [*READ, b"d"]


def test_a_batch_write_ends_what_its_tasks_left_open(query: Query) -> None:
    del query.properties["sql.streaming.queryId"]
    options = {**OPTIONS, "topic": "t", "kafka.transactional.id": "sums"}
    table = pa.RecordBatch.from_pydict({"value": pa.array(["a"], pa.string())})
    messages: list[WriterCommitMessage | None] = [KafkaBatchWrite(options, SCHEMA, False).write(iter([table]))]
    KafkaBatchWrite(options, SCHEMA, False).commit(messages)
    assert query.cluster.read_committed() == [b"a"]
    messages = [KafkaBatchWrite(options, SCHEMA, False).write(iter([table]))]
    KafkaBatchWrite(options, SCHEMA, False).abort(messages)
    assert query.cluster.read_committed() == [b"a"]
    assert query.cluster.offsets == {}


# -- the client


@pytest.mark.parametrize(
    "step",
    [
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.NOT_COORDINATOR,
        Errors.CONCURRENT_TRANSACTIONS,
        ConnectionError,
    ],
)
def test_coordinators_that_move_are_asked_again(query: Query, step: Errors | type[OSError]) -> None:
    calls: Mapping[str, Callable[[TransactionClient, OpenTransaction], object]] = {
        "InitProducerIdRequest": lambda client, _: client.begin(5),
        "AddPartitionsToTxnRequest": lambda client, open: client.add_partitions(open, [T0]),
        "EndTxnRequest": lambda client, open: client.end(open, True),
        "OffsetFetchRequest": lambda client, _: client.decided(QUERY),
    }
    with_client = query.client()
    opened = with_client.begin(3)
    with_client.add_partitions(opened, [T1, T0])
    for name, call in calls.items():
        query.cluster.asked.clear()
        found_before = query.cluster.moved
        query.cluster.coordinator_script.extend([step, step])
        call(with_client, opened)
        assert query.cluster.asked == [name] * 3
        if name in ("AddPartitionsToTxnRequest", "EndTxnRequest"):  # of the others it is not known where they are
            assert (query.cluster.moved > found_before) == (step is not Errors.CONCURRENT_TRANSACTIONS)
    with_client.close()


def test_nobody_is_asked_for_ever(query: Query) -> None:
    client = query.client(SETTINGS._replace(max_block_ms=1000))
    query.cluster.coordinator_script.extend([Errors.COORDINATOR_NOT_AVAILABLE] * 100)
    before = query.time.milliseconds()
    with pytest.raises(CoordinatorNotAvailableException):
        client.begin(0)
    assert query.time.milliseconds() - before == 1000
    client.close()


def test_partitions_are_added_once(query: Query) -> None:
    client = query.client()
    transaction = TaskTransaction(client, 0, "sums-0")
    assert transaction.left_open() is None
    query.cluster.asked.clear()
    for partitions in ([T0], [T0], [T0, T1], [T1]):
        transaction.require(partitions)
    assert query.cluster.asked == ["AddPartitionsToTxnRequest"] * 2
    assert transaction.left_open() == OpenTransaction(0, *transaction.producer_id_and_epoch, (T0, T1))
    client.close()


# -- the decision


def test_a_decision_is_its_texts() -> None:
    few = Decision(QUERY, 7, (OpenTransaction(0, 2**62, 32767), OpenTransaction(9, 0, 0)))
    many = Decision(QUERY, 8, tuple(OpenTransaction(task, task * 10**12, task) for task in range(500)))
    for decision, pieces in ((few, 1), (many, 3)):
        texts = decision.texts()
        assert len(texts) == pieces
        assert max(map(len, texts)) <= 4096
        assert Decision.of(decision.batch, reversed(texts)) == decision
    with pytest.raises(ValueError, match="there are 2 of 3 pieces"):
        Decision.of(8, many.texts()[1:])


def test_a_decision_needs_partitions_to_stand_at(query: Query) -> None:
    many = Decision(QUERY, 8, tuple(OpenTransaction(task, 1, 1) for task in range(500)))
    client = query.client()
    with pytest.raises(ValueError, match="500 tasks with transactions are too many for topics of 2 partitions"):
        client.decide(many, [T0, T1])
    client.decide(many, [T0, T1, T1._replace(partition=2)])
    assert client.decided(QUERY) == many
    client.decide(many._replace(batch=9, transactions=many.transactions[:1]), [T1])
    newest = client.decided(QUERY)
    assert newest is not None
    assert (newest.batch, len(newest.transactions)) == (9, 1)
    client.close()


def test_messages_travel() -> None:
    message = KafkaWriterCommitMessage(transaction=OpenTransaction(1, 2, 3, (T0,)), query=QUERY)
    assert message.transaction is not None
    assert message.transaction.partitions == (T0,)
