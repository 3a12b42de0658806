"""kafka-leader-election; ported from Kafka's LeaderElectionCommandTest as far as no broker is needed."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from kafka_py.admin import leader_election_command
from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.leader_election_command import LeaderElectionCommand
from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import (
    AdminCommandFailedException,
    AdminOperationException,
    ClusterAuthorizationException,
    ElectionNotNeededException,
    PreferredLeaderNotAvailableException,
    TimeoutException,
)
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.throwables import stack_trace

Capture = pytest.CaptureFixture[str]
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
SERVER = ("--bootstrap-server", "127.0.0.1:1")


class FakeClient:
    """Has elections, or fails."""

    def __init__(self) -> None:
        self.asked: list[tuple[ElectionType, Collection[TopicPartition] | None, int]] = []
        self.results: dict[TopicPartition, Exception | None] = {}
        self.failure: Exception | None = None
        self.closed = False

    def elect_leaders(self, kind: ElectionType, partitions: Any, timeout_ms: int) -> Any:
        self.asked.append((kind, partitions, timeout_ms))
        if self.failure is not None:
            raise self.failure
        return self.results

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClient]:
    made = FakeClient()
    monkeypatch.setattr(AdminClient, "create", lambda servers: made)
    yield made
    assert made.closed or not made.asked


def run(*args: str) -> int:
    return leader_election_command.main([*SERVER, *args])


@pytest.mark.ported(
    "LeaderElectionCommandTest.testTopicWithoutPartition",
    "LeaderElectionCommandTest.testPartitionWithoutTopic",
    "LeaderElectionCommandTest.testMissingElectionType",
    "LeaderElectionCommandTest.testMissingTopicPartitionSelection",
)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--bootstrap-server b:1 --election-type unclean --topic t", "Missing required option(s): partition"),
        (
            "--bootstrap-server b:1 --election-type unclean --all-topic-partitions --partition 0",
            "Option partition is only allowed if topic is used",
        ),
        ("--bootstrap-server b:1 --topic t --partition 0", "Missing required option(s): election-type"),
        ("--topic t --partition 0", "Missing required option(s): election-type, bootstrap-server"),
        (
            "--bootstrap-server b:1 --election-type preferred",
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file",
        ),
        (
            "--bootstrap-server b:1 --election-type preferred --topic t --partition 0 --path-to-json-file f",
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file",
        ),
    ],
)
def test_lines_that_are_refused(line: str, message: str) -> None:
    with pytest.raises(AdminCommandFailedException) as failure:
        leader_election_command.main(line.split())
    assert str(failure.value) == message


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "This tool attempts to elect a new leader for a set of topic partitions."),
        (["--help"], "This tool attempts to elect a new leader for a set of topic partitions."),
        (["--election-type", "any"], "Cannot parse argument 'any' of option election-type"),
        (["--partition", "x"], "Cannot parse argument 'x' of option partition"),
    ],
)
def test_usage(args: list[str], said: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="1"):
        leader_election_command.main(args)
    assert capsys.readouterr().err.startswith(said)


def test_version(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="0"):
        leader_election_command.main(["--version"])
    assert " (Commit:" in capsys.readouterr().out


def test_what_is_asked(client: FakeClient, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "partitions.json"
    path.write_text('{"partitions": [{"topic": "b", "partition": 0}, {"topic": "a", "partition": 1}]}')
    config = tmp_path / "client.properties"
    config.write_text("")
    run("--election-type", "UNCLEAN", "--all-topic-partitions", "--admin.config", str(config))
    run("--election-type", "preferred", "--topic", "a", "--partition", "1")
    run("--election-type", "Preferred", "--path-to-json-file", str(path))
    assert client.asked == [
        (ElectionType.UNCLEAN, None, 30_000),
        (ElectionType.PREFERRED, [A1], 30_000),
        (ElectionType.PREFERRED, [A1, B0], 30_000),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        (
            '{"partitions": [{"topic": "a", "partition": 1}, {"topic": "a", "partition": 1}]}',
            "Replica election data contains duplicate partitions: a-1",
        ),
    ],
)
def test_files_that_are_refused(client: FakeClient, tmp_path: pathlib.Path, text: str, message: str) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(text)
    with pytest.raises(AdminOperationException) as failure:
        run("--election-type", "preferred", "--path-to-json-file", str(path))
    assert str(failure.value) == message


def test_what_is_told(client: FakeClient, capsys: Capture) -> None:
    client.results = {A0: None, A1: ElectionNotNeededException("as it should be"), B0: None}
    assert run("--election-type", "preferred", "--all-topic-partitions") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Successfully completed leader election (PREFERRED) for partitions a-0, b-0",
        "Valid replica already elected for partitions a-1",
    ]
    client.results = {A1: PreferredLeaderNotAvailableException("nobody")}
    with pytest.raises(AdminCommandFailedException) as failure:
        run("--election-type", "preferred", "--all-topic-partitions")
    nobody = "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: nobody"
    assert capsys.readouterr().out.splitlines() == [
        f"Error completing leader election (PREFERRED) for partition: a-1: {nobody}"
    ]
    assert stack_trace(failure.value).splitlines() == [
        "kafka.common.AdminCommandFailedException: 1 replica(s) could not be elected",
        f"\tSuppressed: {nobody}",
    ]


@pytest.mark.ported(
    "PreferredReplicaLeaderElectionCommandTest.testAuthzFailure", changes="the broker's answer is given"
)
@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (TimeoutException("late"), "Timeout waiting for election results"),
        (ClusterAuthorizationException("no"), "Not authorized to perform leader election"),
    ],
)
def test_failures_of_the_whole(client: FakeClient, failure: Exception, message: str, capsys: Capture) -> None:
    client.failure = failure
    with pytest.raises(AdminCommandFailedException) as raised:
        run("--election-type", "preferred", "--all-topic-partitions")
    assert (str(raised.value), raised.value.__cause__) == (message, failure)
    assert capsys.readouterr().out == f"{message}\n"


@pytest.mark.ported(
    "LeaderElectionCommandTest.testInvalidBroker", "PreferredReplicaLeaderElectionCommandTest.testInvalidBrokerGiven"
)
def test_a_broker_that_is_not_there() -> None:
    line = [*SERVER, "--election-type", "unclean", "--all-topic-partitions"]
    with pytest.raises(AdminCommandFailedException) as failure:
        LeaderElectionCommand.run(line, timeout_ms=50)
    assert isinstance(failure.value.__cause__, TimeoutException)
