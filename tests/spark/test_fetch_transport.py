"""Reading a partition over the wire: what is asked, what is done about errors, and where the pieces are cut."""

from __future__ import annotations

import collections
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    LeaderNotAvailableException,
    TopicAuthorizationException,
    UnsupportedVersionException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark import fetch_transport
from kafka_py.spark.broker_client import ClientSettings, Question, bootstrap_nodes
from kafka_py.spark.fetch_transport import (
    ConsumerSettings,
    Fetched,
    FetchRange,
    FetchTransport,
    KafkaDataConsumer,
)
from kafka_py.spark.transport import DataLossError, PartitionOffsets, ReadOptions
from kafka_py.testing.mock_time import MockTime
from tests.spark.test_arrow_decoder import build

A, B = Node(0, "a", 9092), Node(1, "b", 9092)
TP = TopicPartition("t", 0)
OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:9092,127.0.0.1:9093", "fetchOffset.retryIntervalMs": "10"}
Step = Errors | type[OSError] | None


class FakeCluster:
    """One partition of ten-record batches, led by A; answers as a broker would, or with the next error of a script."""

    def __init__(self, log_start: int = 0, end: int = 100) -> None:
        self.log_start, self.end, self.stable = log_start, end, end
        self.leader: Node | None = A
        self.script: collections.deque[Step] = collections.deque()
        self.between: Callable[[], None] = lambda: None  # what happens in the cluster when the script has an error
        self.aborted: list[tuple[int, int]] = []
        self.visible = end  # what a leader would give; less than end while it is behind
        self.cleaned_from = end  # compaction has left nothing from here on
        self.throttled: collections.deque[int] = collections.deque()  # ms for which next fetches are put off
        self.fetched: list[tuple[Node, int, int]] = []  # node, offset, isolation level
        self.other_topics: list[tuple[str, Node | None]] = []
        self.log_dirs = True
        self.garbage = b""  # what it gives instead of records
        self._questions: dict[int, AbstractRequest.Builder] = {}
        self.closed = False

    # ---- what BrokerClient offers

    def start(self, node: Node, request: AbstractRequest.Builder) -> Question:
        number = len(self._questions)
        self._questions[number] = request
        if isinstance(request, FetchRequest.Builder):
            self.fetched.append((node, request.fetch_data()[TP].fetch_offset, request.build().isolation_level().id))
        return Question(node, number)

    def finish(self, question: Question) -> Any:
        request = self._questions[question.correlation_id]
        if isinstance(request, FetchRequest.Builder):
            return self._fetch(question.node, request.build().fetch_data()[TP])
        if isinstance(request, ListOffsetRequest.Builder):
            return self._list_offsets(request.build())
        assert isinstance(request, DescribeLogDirsRequest.Builder)
        if not self.log_dirs:
            raise UnsupportedVersionException("too old")
        replicas = {TP: DescribeLogDirsResponse.ReplicaInfo(1_000, 0, False)}
        return DescribeLogDirsResponse(0, {"/d": DescribeLogDirsResponse.LogDirInfo(Errors.NONE, replicas)})

    def ask(self, node: Node, request: AbstractRequest.Builder) -> Any:
        return self.finish(self.start(node, request))

    def metadata(self, topics: Sequence[str] | None) -> MetadataResponse:
        wanted = [(TP.topic, self.leader), *self.other_topics]
        data = [
            MetadataResponse.TopicMetadata(
                Errors.NONE, name, False, [MetadataResponse.PartitionMetadata(Errors.NONE, 0, leader, [], [], [])]
            )
            for name, leader in wanted
            if topics is None or name in topics
        ]
        return MetadataResponse([A, B], "c", 0, data)

    def close(self) -> None:
        self.closed = True

    # ---- the broker

    def _fetch(self, node: Node, wanted: FetchRequest.PartitionData) -> FetchResponse:
        if self.throttled:
            return FetchResponse(Errors.NONE, {}, self.throttled.popleft(), 0)
        step = self.script.popleft() if self.script else None
        if step is not None:
            self.between()
        if isinstance(step, type):
            raise step("gone")
        offset = wanted.fetch_offset
        error = step or Errors.NONE
        if error is Errors.NONE and node != self.leader:
            error = Errors.NOT_LEADER_FOR_PARTITION
        if error is Errors.NONE and not self.log_start <= offset <= self.end:
            error = Errors.OFFSET_OUT_OF_RANGE
        records = bytearray(self.garbage)
        if error is Errors.NONE and not records:
            bases = range(offset // 10 * 10, min(self.visible, self.cleaned_from, offset // 10 * 10 + 30), 10)
            batches = [build(base, [(base + i, b"k", b"%d" % (base + i), []) for i in range(10)]) for base in bases]
            records += b"".join(batches) + b"torn"
        aborted = [FetchResponse.AbortedTransaction(*pair) for pair in self.aborted] or None
        data = FetchResponse.PartitionData(
            error,
            min(self.end, self.visible),
            min(self.stable, self.visible),
            self.log_start,
            aborted,
            MemoryRecords.readable_records(records),
        )
        return FetchResponse(Errors.NONE, {TP: data}, 0, 0)

    def _list_offsets(self, request: ListOffsetRequest) -> ListOffsetResponse:
        def answer(timestamp: int) -> int:
            if timestamp == -1:
                return self.stable if request.isolation_level == IsolationLevel.READ_COMMITTED.id else self.end
            return self.log_start if timestamp == -2 else timestamp if timestamp < self.end else -1

        data = {
            tp: ListOffsetResponse.PartitionData(Errors.NONE, timestamp, answer(timestamp))
            for tp, timestamp in request.partition_timestamps().items()
        }
        return ListOffsetResponse(0, data)


class Reading:
    """A consumer over the fake cluster, on a clock of its own."""

    def __init__(self, cluster: FakeCluster, first: int, until: int, **options: Any) -> None:
        self.time = MockTime()
        settings = ConsumerSettings.of(OPTIONS)._replace(poll_timeout_ms=1_000)
        work = FetchRange("t", 0, first, until, A, settings)
        columns = ("offset", "value")
        self.consumer = KafkaDataConsumer(work, ReadOptions(columns, **options), cluster, self.time)  # type: ignore[arg-type]

    def offsets(self) -> list[int]:
        found: list[int] = []
        for table in self.consumer.tables():
            assert table.column("value").to_pylist() == [b"%d" % o for o in table.column("offset").to_pylist()]
            found += table.column("offset").to_pylist()
        return found


@pytest.mark.parametrize(("first", "until"), [(0, 100), (7, 8), (29, 31), (30, 60), (95, 100)])
def test_any_range_is_read_whole(first: int, until: int) -> None:
    assert Reading(FakeCluster(), first, until).offsets() == list(range(first, until))


def test_the_next_request_is_sent_before_the_records_are_handed_out() -> None:
    cluster = FakeCluster()
    tables = Reading(cluster, 0, 70).consumer.tables()
    next(tables)
    assert [offset for _, offset, _ in cluster.fetched] == [0, 30]
    assert len(list(tables)) == 2
    assert [offset for _, offset, _ in cluster.fetched] == [0, 30, 60], "nothing is asked beyond the range"


@pytest.mark.parametrize(
    "error",
    [
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.NOT_LEADER_FOR_PARTITION,
        Errors.REQUEST_TIMED_OUT,
        Errors.BROKER_NOT_AVAILABLE,
        Errors.REPLICA_NOT_AVAILABLE,
        Errors.KAFKA_STORAGE_ERROR,
        ConnectionError,
    ],
)
def test_after_a_passing_error_the_leader_is_looked_up_anew(error: Step) -> None:
    cluster = FakeCluster()
    cluster.script.extend([None, error, error, None])

    def elect() -> None:
        cluster.leader = B

    cluster.between = elect
    assert Reading(cluster, 0, 100).offsets() == list(range(100))
    assert {node for node, _, _ in cluster.fetched[-2:]} == {B}


def test_a_partition_without_a_leader_is_waited_for() -> None:
    cluster = FakeCluster()
    reading = Reading(cluster, 0, 10)
    cluster.leader = None
    reading.consumer._leader = None

    def elect() -> None:
        cluster.leader = B

    reading.time.add_listener(elect)
    assert reading.offsets() == list(range(10))


def test_who_never_answers_is_not_asked_for_ever() -> None:
    cluster = FakeCluster()
    cluster.script.extend([ConnectionError] * 1_000)
    reading = Reading(cluster, 5, 100)
    with pytest.raises(TimeoutError, match="Cannot fetch record for offset 5 in 1000 milliseconds"):
        reading.offsets()
    assert len(cluster.fetched) == 101, "once, and then every 10 of 1000 ms"


def test_a_leader_that_is_behind_is_asked_again() -> None:
    cluster = FakeCluster()
    cluster.visible = 30
    reading = Reading(cluster, 0, 50)
    reading.time.auto_tick_ms = 1  # the broker would wait for fetch.max.wait.ms

    def catch_up() -> None:
        cluster.visible = 100 if len(cluster.fetched) > 4 else 30

    reading.time.add_listener(catch_up)
    assert reading.offsets() == list(range(50))


@pytest.mark.parametrize("read_committed", [False, True])
def test_records_at_the_end_that_were_compacted_away_are_not_waited_for(read_committed: bool) -> None:
    cluster = FakeCluster()
    cluster.cleaned_from = 60
    for stable in (100, 90):
        cluster.stable = stable
        reading = Reading(cluster, 0, 100, read_committed=read_committed)
        reading.time.auto_tick_ms = 1
        if read_committed and stable == 90:  # what is above it is in doubt, and not to be left out
            with pytest.raises(TimeoutError, match="Cannot fetch record for offset 60"):
                reading.offsets()
        else:
            assert reading.offsets() == list(range(60))


def test_a_quota_puts_fetches_off() -> None:
    cluster = FakeCluster()
    cluster.throttled.extend([300, 40])
    reading = Reading(cluster, 0, 50)
    began = reading.time.milliseconds()
    assert reading.offsets() == list(range(50))
    assert reading.time.milliseconds() - began == 340


def test_a_refusal_for_good_ends_the_task() -> None:
    cluster = FakeCluster()
    cluster.script.append(Errors.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(TopicAuthorizationException):
        Reading(cluster, 0, 100).offsets()
    assert len(cluster.fetched) == 1


def test_lost_offsets_fail_the_task_unless_told_otherwise() -> None:
    with pytest.raises(DataLossError, match=r'Some data may have been lost.*"failOnDataLoss" to "false"'):
        Reading(FakeCluster(log_start=35), 5, 100).offsets()
    keep = {"fail_on_data_loss": False}
    assert Reading(FakeCluster(log_start=35), 5, 100, **keep).offsets() == list(range(35, 100))
    assert Reading(FakeCluster(log_start=35), 5, 20, **keep).offsets() == []
    assert Reading(FakeCluster(end=50), 60, 100, **keep).offsets() == [], "cut off by an unclean leader"


def test_a_deleted_topic_is_data_loss_too() -> None:
    for fails in (True, False):
        cluster = FakeCluster()
        cluster.script.append(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        cluster.metadata = lambda topics: MetadataResponse([A], "c", 0, [])  # type: ignore[method-assign]
        reading = Reading(cluster, 0, 100, fail_on_data_loss=fails)
        if fails:
            with pytest.raises(DataLossError, match="There is no partition t-0"):
                reading.offsets()
        else:
            assert reading.offsets() == []


def test_isolation_and_aborted_transactions() -> None:
    cluster = FakeCluster()
    assert Reading(cluster, 0, 30, read_committed=True).offsets() == list(range(30))
    assert [level for _, _, level in cluster.fetched] == [1]
    cluster.aborted = [(7, 0)]  # of another producer than any of the batches, which are not transactional
    assert Reading(cluster, 0, 30).offsets() == list(range(30))
    assert cluster.fetched[-1][2] == 0


def transport(cluster: FakeCluster, **options: str) -> FetchTransport:
    return FetchTransport({**OPTIONS, **options}, cluster, MockTime())  # type: ignore[arg-type]


def test_offsets_of_partitions() -> None:
    cluster = FakeCluster(log_start=5)
    cluster.stable = 80
    planner = transport(cluster)
    assert planner.partitions() == {("t", 0): PartitionOffsets(5, 100, 80, 100)}
    assert planner.offset_for_timestamp("t", 0, 42) == 42
    assert planner.offset_for_timestamp("t", 0, 1_000) is None
    planner.close()
    assert cluster.closed


def test_a_lost_leader_fails_queries_that_want_the_partition_and_no_others() -> None:
    cluster = FakeCluster()
    cluster.other_topics = [("lost", None)]
    with pytest.raises(LeaderNotAvailableException, match="lost-0"):
        transport(cluster).partitions()
    assert set(transport(cluster).partitions(lambda topic, partition: topic == "t")) == {("t", 0)}


def test_pieces_are_cut_by_the_average_size_of_records() -> None:
    """The log of 1,000 bytes holds 100 offsets."""
    planner = transport(FakeCluster())
    planner.partitions()
    for max_bytes, count in ((250, 4), (1_000, 1), (999_999, 1), (1, 100)):
        pieces = planner.plan("t", 0, 0, 100, max_bytes, False)
        edges = [piece.from_offset for piece in pieces] + [100]
        assert len(pieces) == count
        assert [piece.until_offset for piece in pieces] == edges[1:]
        assert edges == sorted(set(edges))
        assert edges[0] == 0
    assert planner.plan("t", 0, 7, 7, 1, False) == []


def test_a_broker_that_does_not_tell_sizes_gives_one_piece_per_partition() -> None:
    cluster = FakeCluster()
    cluster.log_dirs = False
    planner = transport(cluster)
    planner.partitions()
    assert [(p.from_offset, p.until_offset) for p in planner.plan("t", 0, 3, 90, 1, False)] == [(3, 90)]


def test_pieces_and_planners_travel() -> None:
    planner = transport(FakeCluster())
    planner.partitions()
    (piece,) = planner.plan("t", 0, 0, 100, 1 << 20, False)
    assert pickle.loads(pickle.dumps(piece)) == piece
    with_connections = FetchTransport(OPTIONS)
    copy = pickle.loads(pickle.dumps(with_connections))
    with_connections.close()
    copy.close()


def test_settings() -> None:
    settings = ConsumerSettings.of(
        {
            "KAFKA.Bootstrap.Servers": "127.0.0.1:1, [::1]:2",
            "kafka.fetch.max.bytes": "100",
            "fetchoffset.numretries": "7",
            "kafkaconsumer.polltimeoutms": "5",
            "kafka.request.timeout.ms": "9",
        }
    )
    assert {(n.host, n.port) for n in settings.client.bootstrap} == {("127.0.0.1", 1), ("::1", 2)}
    assert (settings.max_bytes, settings.num_retries, settings.poll_timeout_ms) == (100, 7, 5)
    assert settings.client.request_timeout_ms == 9


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"kafka.bootstrap.servers": "nohost"}, "Invalid url in bootstrap.servers: nohost"),
        ({"kafka.bootstrap.servers": " , "}, "No resolvable bootstrap urls"),
        ({"kafka.security.protocol": "SASL_SSL"}, "only PLAINTEXT"),
        ({"fetchOffset.numRetries": "-1"}, "must not be negative"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ConsumerSettings.of({**OPTIONS, **wrong})


def test_bootstrap_nodes_cannot_be_taken_for_brokers() -> None:
    assert sorted(node.id for node in bootstrap_nodes("127.0.0.1:1, 127.0.0.1:2")) == [-2, -1]
    assert ClientSettings.of({"bootstrap.servers": "127.0.0.1:1"}).request_timeout_ms == 30_000


def behind(records: MemoryRecords | bytes) -> int:
    """Of a response with these records."""
    if isinstance(records, bytes):
        records = MemoryRecords.readable_records(records)
    return Fetched.of(FetchResponse.PartitionData(Errors.NONE, 0, 0, 0, None, records)).behind


def test_where_a_response_ends() -> None:
    batch = build(40, [(0, b"k", b"v", [])] * 7)
    assert behind(batch) == 47
    assert behind(batch + build(90, [(0, b"", b"", [])])[:-1]) == 47, "a torn batch does not count"
    assert behind(b"") == -1
    message = MemoryRecords.builder(1 << 10, magic=1, base_offset=12)
    message.append(0, b"k", b"v")
    message.append(0, b"k", b"v")
    assert behind(message.build()) == 14


def test_what_are_no_batches_is_an_error_that_does_not_pass() -> None:
    cluster = FakeCluster()
    cluster.garbage = b"garbage that goes on and on"
    reading = Reading(cluster, 0, 100)
    with pytest.raises(CorruptRecordException):
        reading.offsets()
    assert len(cluster.fetched) == 1, "asking again would give the same"


def test_rows_do_not_change_when_the_memory_of_a_response_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def use_again(buffer: memoryview) -> None:
        buffer[:] = b"\xff" * len(buffer)

    monkeypatch.setattr(fetch_transport, "recycle", use_again)
    assert Reading(FakeCluster(), 0, 100).offsets() == list(range(100))
