"""kafka-replica-verification; ported from Kafka's ReplicaVerificationToolTest, and what it does with differences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.admin.admin_client import AdminClient
from kafka_py.common.errors import RuntimeException
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.exit import Exit
from kafka_py.testing.mock_time import MockTime
from kafka_py.tools import replica_verification_tool
from kafka_py.tools.replica_verification_tool import ReplicaBuffer

Capture = pytest.CaptureFixture[str]
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def fetched(count: int = 6, offset: int = 4, value: str = "value", hw: int = 20) -> FetchResponse.PartitionData:
    records = [SimpleRecord(0, f"key {i}".encode(), f"{value} {i}".encode()) for i in range(count)]
    data = MemoryRecords.with_records(*records, initial_offset=offset)
    return FetchResponse.PartitionData(Errors.NONE, hw, -1, -1, None, data)


class Buffer(ReplicaBuffer):
    """Two replicas of a partition, with nobody behind."""

    def __init__(self, **expected: int) -> None:
        self.clock = MockTime()
        replicas = {TopicPartition(name[0], int(name[1])): count for name, count in expected.items()}
        super().__init__(replicas, {}, 2, {}, 0, 0, self.clock)

    def verified(self) -> list[str]:
        """What is said, without the times."""
        self.clock.sleep(1)
        lines: list[str] = []
        self.verify_check_sum(lines.append)
        return [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}: ", "", line) for line in lines]


@pytest.mark.ported("ReplicaVerificationToolTest.testReplicaBufferVerifyChecksum")
def test_replicas_that_are_the_same() -> None:
    buffer = Buffer(a0=3, a1=3, b0=2)
    for tp, count in ((A0, 3), (A1, 3), (B0, 2)):
        for replica in range(count):
            buffer.add_fetched_data(tp, replica, fetched())
    assert buffer.verified() == ["max lag is 10 for partition a-0 at offset 10 among 3 partitions"]
    assert [buffer.get_offset(tp) for tp in (A0, A1, B0)] == [10, 10, 10]


def test_only_what_all_have_below_the_high_watermark_counts() -> None:
    buffer = Buffer(a0=2)
    buffer.add_fetched_data(A0, 1, fetched(hw=9))
    buffer.add_fetched_data(A0, 2, fetched(hw=20))
    assert buffer.verified() == ["max lag is 20 for partition a-0 at offset 0 among 1 partitions"]
    buffer.add_fetched_data(A0, 1, fetched(count=0))
    buffer.add_fetched_data(A0, 2, fetched())
    buffer.verified()
    assert buffer.get_offset(A0) == 0


def test_bytes_that_differ() -> None:
    buffer = Buffer(a0=2)
    buffer.add_fetched_data(A0, 1, fetched())
    buffer.add_fetched_data(A0, 2, fetched(value="other"))
    line, _ = buffer.verified()
    told = r"partition a-0 has unmatched checksum at offset 9; replica 1's checksum \d+; replica 2's checksum \d+"
    assert re.fullmatch(told, line)
    assert buffer.get_offset(A0) == 10


@pytest.fixture
def exits() -> Iterator[list[int]]:
    codes: list[int] = []
    Exit.set_exit_procedure(lambda code, message: codes.append(code))
    yield codes
    Exit.reset_exit_procedure()


def test_offsets_that_differ_end_the_process(exits: list[int]) -> None:
    buffer = Buffer(a0=2)
    buffer.add_fetched_data(A0, 1, fetched())
    buffer.add_fetched_data(A0, 2, fetched(offset=5))
    assert buffer.verified()[0] == "partition a-0: replica 1's offset 9 doesn't match replica 2's offset 10"
    assert exits == [1]


def test_a_replica_that_was_not_read() -> None:
    buffer = Buffer(a0=2)
    buffer.add_fetched_data(A0, 1, fetched())
    with pytest.raises(RuntimeException, match="fetched 1 replicas for a-0, but expected 2 replicas"):
        buffer.verified()
    broken: Any = fetched()._replace(records=None)
    buffer.add_fetched_data(A0, 2, broken)
    with pytest.raises(AttributeError):
        buffer.verified()
    buffer.add_fetched_data(A0, 1, fetched())
    broken = fetched()._replace(records=SimpleNamespace(batches=lambda: [object()]))
    buffer.add_fetched_data(A0, 2, broken)
    with pytest.raises(RuntimeException, match="Error in processing replica 2 in partition a-0 at offset 0"):
        buffer.verified()


# -- With answers instead of brokers -----------------------------------------------------------------------------------

NODES = [Node(1, "one", 9092), Node(2, "two", 9092)]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Any, Node], Any]]:
    """By the API's name; two replicas of a-0, of which broker 1 leads."""
    partition = MetadataResponse.PartitionMetadata(Errors.NONE, 0, NODES[0], NODES, NODES, [])
    topics = [MetadataResponse.TopicMetadata(Errors.NONE, "a", False, [partition])]
    found: dict[str, Callable[[Any, Node], Any]] = {
        "Metadata": lambda request, node: MetadataResponse(NODES, "cluster", 1, topics),
        "ListOffsets": lambda request, node: ListOffsetResponse(
            0, {A0: ListOffsetResponse.PartitionData(Errors.NONE, offset=4)}
        ),
        "Fetch": lambda request, node: FetchResponse(Errors.NONE, {A0: fetched()}, 0, 0),
    }
    monkeypatch.setattr(
        AdminClient, "send", lambda self, node, request: found[request.api_key().name](request.build(), node)
    )
    monkeypatch.setattr(AdminClient, "create", classmethod(lambda cls, servers: cls(NODES)))
    return found


def run(*args: str) -> int:
    return replica_verification_tool.main(["--broker-list", "one:9092,two:9092", "--report-interval-ms", "0", *args])


def test_the_tool_ends_when_a_fetcher_ends(answers: dict[str, Any], capsys: Capture) -> None:
    """The second round has batches that cannot be read."""
    asked: list[tuple[int, int]] = []

    def fetch(request: Any, node: Node) -> FetchResponse:
        asked.append((node.id, request.fetch_data()[A0].fetch_offset))
        assert request.replica_id() == -2
        broken: Any = fetched() if len(asked) <= 2 else fetched()._replace(records=None)
        return FetchResponse(Errors.NONE, {A0: broken}, 0, 0)

    answers["Fetch"] = fetch
    assert run("--time", "-2") == 1
    assert sorted(asked[:4]) == [(1, 4), (1, 10), (2, 4), (2, 10)]
    assert capsys.readouterr().out.splitlines()[0].endswith(": verification process is started.")


def test_brokers_that_cannot_be_reached_are_waited_for(answers: dict[str, Any], capsys: Capture) -> None:
    rounds: dict[int, int] = {1: 0, 2: 0}

    def fetch(request: Any, node: Node) -> FetchResponse:
        rounds[node.id] += 1
        if node.id == 2 and rounds[2] == 1:
            raise OSError("nobody there")
        if rounds[1] > 2:
            raise ValueError("enough")
        return FetchResponse(Errors.NONE, {A0: fetched()}, 0, 0)

    answers["Fetch"] = fetch
    assert run("--max-wait-ms", "1") == 1
    assert rounds[2] >= 2


def test_the_end_where_no_record_is_as_new(answers: dict[str, Any]) -> None:
    times: list[int] = []

    def offsets(request: Any, node: Node) -> ListOffsetResponse:
        times.append(request.topics[0].partitions[0].timestamp)
        offset = 7 if times[-1] == -1 else -1
        return ListOffsetResponse(0, {A0: ListOffsetResponse.PartitionData(Errors.NONE, offset=offset)})

    answers["ListOffsets"] = offsets
    buffer = ReplicaBuffer({A0: 2}, {1: [A0]}, 2, {node.id: node for node in NODES}, 12345, 0)
    assert (times, buffer.get_offset(A0)) == ([12345, -1], 7)
    answers["ListOffsets"] = lambda request, node: ListOffsetResponse(
        0, {A0: ListOffsetResponse.PartitionData(Errors.NOT_LEADER_FOR_PARTITION)}
    )
    with pytest.raises(RuntimeException, match=r"assertion failed: \(a-0,error: .*NotLeaderForPartitionException\)"):
        run()


def test_partitions_and_brokers_that_are_away(answers: dict[str, Any]) -> None:
    metadata = MetadataResponse.PartitionMetadata

    def cluster(partition: MetadataResponse.PartitionMetadata) -> Callable[[Any, Node], MetadataResponse]:
        topics = [MetadataResponse.TopicMetadata(Errors.NONE, "a", False, [partition])]
        return lambda request, node: MetadataResponse(NODES[:1], "cluster", 1, topics)

    answers["Metadata"] = cluster(metadata(Errors.LEADER_NOT_AVAILABLE, 0, None, NODES, [], []))
    with pytest.raises(RuntimeException, match="Partition a-0 has no leader"):
        run()
    answers["Metadata"] = cluster(metadata(Errors.NONE, 0, NODES[0], NODES, NODES, []))
    with pytest.raises(RuntimeException, match="Brokers that have replicas are not there: 2"):
        run()


def test_no_topic_is_chosen(answers: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SystemExit, match="1"):
        run("--topic-white-list", "x.*,y")
    assert "No topics found. [topic-white-list], if specified, is either filtering out all" in caplog.text
    with pytest.raises(RuntimeException, match="is an invalid regex"):
        run("--topic-white-list", "(")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Validate that all replicas for a set of topics have the same data."),
        ("--time 0", 'Missing required argument "[broker-list]"'),
        ("--broker-list one:1,two", "Please provide valid host:port like host1:9091,host2:9092"),
    ],
)
def test_lines_that_are_refused(line: str, message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="1"):
        replica_verification_tool.main(line.split())
    assert capsys.readouterr().err.startswith(message)
