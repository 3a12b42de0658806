"""kafka-delete-records and kafka-log-dirs, and how their client finds the broker to ask."""

from __future__ import annotations

import io
import json
import pathlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, cast

import pytest

from kafka_py.admin import broker_api_versions_command, delete_records_command, log_dirs_command
from kafka_py.admin.admin_client import AdminClient, DeleteRecordsResult, ReplicaLogDirInfo
from kafka_py.admin.delete_records_command import DeleteRecordsCommand
from kafka_py.admin.log_dirs_command import LogDirsCommand
from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import (
    AdminCommandFailedException,
    ConfigException,
    IllegalStateException,
    InvalidRequestException,
    NotControllerException,
    OffsetOutOfRangeException,
    TimeoutException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.elect_leaders_request import ElectLeadersRequest
from kafka_py.common.requests.elect_leaders_response import ElectLeadersResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.topic_partition_replica import TopicPartitionReplica
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.json import JsonProcessingException

Capture = pytest.CaptureFixture[str]
T0, T1, NONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("none", 0)
NODES = [Node(1, "one", 9092), Node(2, "two", 9092)]
INFO = DescribeLogDirsResponse.LogDirInfo(
    Errors.NONE,
    {
        T0: DescribeLogDirsResponse.ReplicaInfo(90, 0, False),
        NONE: DescribeLogDirsResponse.ReplicaInfo(1, 5, True),
    },
)


class ScriptedClient(AdminClient):
    """Answers instead of brokers: by the API's name, and by the broker's id."""

    def __init__(self) -> None:
        super().__init__([Node(-1, "dead", 1), Node(-2, "one", 9092)])
        self.asked: list[tuple[str, int]] = []
        self.closed = False
        metadata = MetadataResponse.PartitionMetadata
        partitions = [
            metadata(Errors.NONE, 0, NODES[0], NODES, NODES, []),
            metadata(Errors.NONE, 1, NODES[1], NODES, NODES, []),
            metadata(Errors.LEADER_NOT_AVAILABLE, 2, None, NODES, [], []),
        ]
        topic = MetadataResponse.TopicMetadata
        self.answers: dict[str, Callable[[Any, Node], Any]] = {
            "Metadata": lambda request, node: MetadataResponse(
                NODES,
                "cluster",
                1,
                [
                    topic(Errors.NONE, "t", False, partitions),
                    topic(Errors.UNKNOWN_TOPIC_OR_PARTITION, "none", False, []),
                ],
            )
        }

    def send(self, node: Node, request: Any) -> Any:
        if node.host == "dead":
            raise OSError("nobody there")
        self.asked.append((request.api_key().name, node.id))
        return self.answers[request.api_key().name](request.build(), node)

    def close(self) -> None:
        super().close()
        self.closed = True


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedClient]:
    made = ScriptedClient()
    monkeypatch.setattr(AdminClient, "create", staticmethod(lambda servers: cast("Any", made)))
    yield made
    if not made.closed:
        made.close()


def deleted(request: Any, node: Node) -> DeleteRecordsResponse:
    if node.id == 2:
        raise OSError("broke off")
    response = DeleteRecordsResponse.PartitionResponse
    return DeleteRecordsResponse(
        0, {tp: response(offset, Errors.NONE) for tp, offset in request.partition_offsets().items()}
    )


def test_each_leader_is_asked_for_its_partitions(client: ScriptedClient) -> None:
    client.answers["DeleteRecords"] = deleted
    leaderless, unknown = TopicPartition("t", 2), TopicPartition("t", 9)
    results = client.delete_records_before({NONE: 1, T0: 5, T1: 6, leaderless: 1, unknown: 2})
    assert list(results) == [NONE, T0, T1, leaderless, unknown]
    assert results[T0] == DeleteRecordsResult(5, None)
    found = {tp: type(result.error).__name__ for tp, result in results.items() if result.error is not None}
    assert found == {
        NONE: "UnknownTopicOrPartitionException",
        T1: "OSError",
        leaderless: "LeaderNotAvailableException",
        unknown: "LeaderNotAvailableException",
    }


def test_a_broker_that_leaves_out_a_partition_has_timed_out(client: ScriptedClient) -> None:
    client.answers["DeleteRecords"] = lambda request, node: DeleteRecordsResponse(0, {})
    (result,) = client.delete_records_before({T0: 5}).values()
    assert type(result.error).__name__ == "TimeoutException"


def test_configs_of_brokers(client: ScriptedClient) -> None:
    one, everyone = Resource(ResourceType.BROKER, "2"), Resource(ResourceType.BROKER, "")
    entry = DescribeConfigsResponse.ConfigEntry(
        "a", "1", DescribeConfigsResponse.ConfigSource.DEFAULT_CONFIG, False, False, []
    )
    client.answers["DescribeConfigs"] = lambda request, node: DescribeConfigsResponse(
        0, {r: DescribeConfigsResponse.Config(ApiError.NONE, [entry]) for r in request.resources()}
    )
    client.answers["AlterConfigs"] = lambda request, node: AlterConfigsResponse(
        0, {one: ApiError(Errors.INVALID_REQUEST, "no"), everyone: ApiError.NONE}
    )
    assert list(client.describe_broker_configs("2", True)) == [entry]
    assert client.asked[-1] == ("DescribeConfigs", 2)
    client.alter_broker_configs("", [AlterConfigsRequest.ConfigEntry("a", "2")])
    assert client.asked[-1] == ("AlterConfigs", -2)
    with pytest.raises(InvalidRequestException, match="no"):
        client.alter_broker_configs("2", [])
    with pytest.raises(ValueError, match="must be an integer"):
        client.describe_broker_configs("x", True)
    with pytest.raises(OSError, match="Broker 3 is not available"):
        client.describe_broker_configs("3", True)
    client._bootstrap = client._bootstrap[:1]
    with pytest.raises(OSError, match="nobody there"):
        client.describe_broker_configs("", True)


def test_where_replicas_are(client: ScriptedClient) -> None:
    infos = {
        "/d": INFO,
        "/e": DescribeLogDirsResponse.LogDirInfo(Errors.KAFKA_STORAGE_ERROR, {}),
        "/f": DescribeLogDirsResponse.LogDirInfo(Errors.NONE, {T0: DescribeLogDirsResponse.ReplicaInfo(9, 7, True)}),
    }
    asked: list[Any] = []

    def answer(request: Any, node: Node) -> DescribeLogDirsResponse:
        asked.append((node.id, list(request.topic_partitions())))
        return DescribeLogDirsResponse(0, infos if node.id == 1 else {})

    client.answers["DescribeLogDirs"] = answer
    t0, none, t1 = (TopicPartitionReplica(tp.topic, tp.partition, id) for tp, id in ((T0, 1), (NONE, 1), (T1, 2)))
    found = client.describe_replica_log_dirs([t0, t1, none])
    assert asked == [(1, [T0, NONE]), (2, [T1])]
    assert found == {
        t0: ReplicaLogDirInfo("/d", 0, "/f", 7),
        none: ReplicaLogDirInfo(None, -1, "/d", 5),
        t1: ReplicaLogDirInfo(),
    }
    infos["/d"] = DescribeLogDirsResponse.LogDirInfo(Errors.UNKNOWN_SERVER_ERROR, {})
    with pytest.raises(IllegalStateException, match="The error UNKNOWN_SERVER_ERROR for log directory /d"):
        client.describe_replica_log_dirs([t0])


def test_replicas_are_moved_by_their_own_brokers(client: ScriptedClient) -> None:
    asked: dict[int, dict[str, dict[str, list[int]]]] = {}

    def answer(request: Any, node: Node) -> AlterReplicaLogDirsResponse:
        if node.id == 2:
            raise OSError("broke off")
        asked[node.id] = {d.log_dir: {t.topic: t.partitions for t in d.topics} for d in request.log_dirs}
        topic = AlterReplicaLogDirsResponse.Topic
        codes = {0: Errors.NONE.code, 1: Errors.REPLICA_NOT_AVAILABLE.code}
        partitions = [topic.Partition(partition=p, error_code=code) for p, code in codes.items()]
        return AlterReplicaLogDirsResponse(topics=[topic(topic="t", partitions=partitions)])

    client.answers["AlterReplicaLogDirs"] = answer
    one, two, other = (TopicPartitionReplica("t", p, id) for p, id in ((0, 1), (1, 1), (0, 2)))
    results = client.alter_replica_log_dirs({one: "/d", two: "/e", other: "/d"})
    assert asked == {1: {"/d": {"t": [0]}, "/e": {"t": [1]}}}
    assert results[one] is None
    found = {str(replica): type(error).__name__ for replica, error in results.items() if error is not None}
    assert found == {"t-1-1": "ReplicaNotAvailableException", "t-0-2": "OSError"}


def test_the_controller_has_leaders_elected(client: ScriptedClient) -> None:
    requests: list[ElectLeadersRequest] = []

    def answer(request: Any, node: Node) -> ElectLeadersResponse:
        requests.append(request)
        topic = ElectLeadersResponse.Topic
        codes = {0: Errors.NONE.code, 1: Errors.ELECTION_NOT_NEEDED.code}
        results = [topic.Partition(partition_id=p, error_code=code, error_message=None) for p, code in codes.items()]
        return ElectLeadersResponse(
            error_code=Errors.NONE.code if len(requests) < 3 else Errors.NOT_CONTROLLER.code,
            replica_election_results=[topic(topic="t", partition_results=results)],
        )

    client.answers["ElectLeaders"] = answer
    results = client.elect_leaders(ElectionType.PREFERRED, [T0, T1, NONE], 1000)
    assert client.asked[-1] == ("ElectLeaders", 1)
    assert (results[T0], type(results[T1]).__name__) == (None, "ElectionNotNeededException")
    client.elect_leaders(ElectionType.UNCLEAN, None, 2000)
    with pytest.raises(NotControllerException):
        client.elect_leaders(ElectionType.UNCLEAN, [], 2000)
    topics = [r.topic_partitions and {t.topic: t.partition_ids for t in r.topic_partitions} for r in requests]
    assert topics == [{"t": [0, 1], "none": [0]}, None, []]
    assert [(r.election_type, r.timeout_ms) for r in requests] == [(0, 1000), (1, 2000), (1, 2000)]


def test_a_controller_that_cannot_be_found(client: ScriptedClient) -> None:
    client._time = clock = MockTime()
    answers = [MetadataResponse(NODES, "cluster", -1, []), MetadataResponse(NODES, "cluster", 2, [])]
    client.answers["Metadata"] = lambda request, node: answers.pop(0)
    client.answers["ElectLeaders"] = lambda request, node: ElectLeadersResponse(
        error_code=0, replica_election_results=[]
    )
    assert client.elect_leaders(ElectionType.PREFERRED, None, 1000) == {}
    assert client.asked[-1] == ("ElectLeaders", 2)

    def broken_off(request: Any, node: Node) -> MetadataResponse:
        raise OSError("broke off")

    client.answers["Metadata"] = broken_off
    start = clock.milliseconds()
    with pytest.raises(TimeoutException, match="Timed out waiting to send the call ElectLeaders"):
        client.elect_leaders(ElectionType.PREFERRED, None, 1000)
    assert clock.milliseconds() - start == 1000


# -- kafka-delete-records ----------------------------------------------------------------------------------------------


def offsets_file(tmp_path: pathlib.Path, *entries: tuple[str, int, int]) -> str:
    file = tmp_path / "offsets.json"
    partitions = [{"topic": t, "partition": p, "offset": o} for t, p, o in entries]
    file.write_text(json.dumps({"partitions": partitions, "version": 1}))
    return str(file)


def test_delete_records(client: ScriptedClient, tmp_path: pathlib.Path, capsys: Capture) -> None:
    response = DeleteRecordsResponse.PartitionResponse
    client.answers["DeleteRecords"] = lambda request, node: DeleteRecordsResponse(
        0,
        {
            tp: response(7, Errors.NONE if tp == T0 else Errors.OFFSET_OUT_OF_RANGE)
            for tp in request.partition_offsets()
        },
    )
    file = offsets_file(tmp_path, ("t", 1, 99), ("t", 0, 7))
    assert delete_records_command.main(["--bootstrap-server", "b:1", "--offset-json-file", file]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Executing records delete operation",
        "Records delete operation completed:",
        f"partition: t-1\terror: org.apache.kafka.common.errors.OffsetOutOfRangeException: "
        f"{OffsetOutOfRangeException(Errors.OFFSET_OUT_OF_RANGE.message())}",
        "partition: t-0\tlow_watermark: 7",
    ]
    assert client.closed


def test_no_partition_may_be_named_twice(tmp_path: pathlib.Path) -> None:
    file = offsets_file(tmp_path, ("t", 0, 1), ("t", 1, 1), ("t", 0, 2))
    line = ["--bootstrap-server", "b:1", "--offset-json-file", file]
    with pytest.raises(AdminCommandFailedException, match="contains duplicate topic partitions: t-0"):
        DeleteRecordsCommand.execute(line, io.StringIO())


@pytest.mark.parametrize("text", ['{"partitions": [{"topic": "t"}]}', '{"partitions": 5}', "[]"])
def test_offsets_of_another_form(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(JsonProcessingException):
        delete_records_command.main(["--bootstrap-server", "b:1", "--offset-json-file", str(tmp_path / "bad.json")])


def test_offsets_that_are_no_json_are_none() -> None:
    assert DeleteRecordsCommand.parse_offset_json_string_without_dedup("not json") == []
    assert DeleteRecordsCommand.parse_offset_json_string_without_dedup("{}") == []


@pytest.mark.parametrize("line", [[], ["--bootstrap-server", "b:1"], ["--offset-json-file", "f"], ["--other"]])
def test_delete_records_needs_both_options(capsys: Capture, line: list[str]) -> None:
    with pytest.raises(SystemExit):
        delete_records_command.main(line)
    assert "--offset-json-file" in capsys.readouterr().err


# -- kafka-log-dirs ----------------------------------------------------------------------------------------------------


def log_dirs(*args: str) -> tuple[list[str], Any]:
    out = io.StringIO()
    LogDirsCommand.describe(["--bootstrap-server", "b:1", "--describe", *args], out)
    *lines, text = out.getvalue().splitlines()
    return lines, json.loads(text)


def test_log_dirs_of_all_brokers(client: ScriptedClient) -> None:
    failed = DescribeLogDirsResponse.LogDirInfo(Errors.KAFKA_STORAGE_ERROR, {})
    client.answers["DescribeLogDirs"] = lambda request, node: DescribeLogDirsResponse(
        0, {"/d": INFO} if node.id == 1 else {"/e": failed}
    )
    lines, found = log_dirs()
    assert lines == [
        "Querying brokers for log directories information",
        "Received log directory information from brokers 1,2",
    ]
    assert found == {
        "version": 1,
        "brokers": [
            {
                "broker": 1,
                "logDirs": [
                    {
                        "logDir": "/d",
                        "error": None,
                        "partitions": [
                            {"partition": "t-0", "size": 90, "offsetLag": 0, "isFuture": False},
                            {"partition": "none-0", "size": 1, "offsetLag": 5, "isFuture": True},
                        ],
                    }
                ],
            },
            {
                "broker": 2,
                "logDirs": [
                    {
                        "logDir": "/e",
                        "error": "org.apache.kafka.common.errors.KafkaStorageException",
                        "partitions": [],
                    }
                ],
            },
        ],
    }
    assert client.closed


def test_log_dirs_of_some_brokers_and_topics(client: ScriptedClient) -> None:
    client.answers["DescribeLogDirs"] = lambda request, node: DescribeLogDirsResponse(0, {"/d": INFO})
    _, found = log_dirs("--broker-list", "2", "--topic-list", "none,other")
    (broker,) = found["brokers"]
    assert broker["broker"] == 2
    assert [p["partition"] for p in broker["logDirs"][0]["partitions"]] == ["none-0"]


def test_a_broker_that_is_not_there(client: ScriptedClient, capsys: Capture) -> None:
    line = ["--bootstrap-server", "b:1", "--describe", "--broker-list", "7"]
    with pytest.raises(OSError, match="Broker 7 is not available"):
        log_dirs_command.main(line)
    with pytest.raises(SystemExit):
        log_dirs_command.main(["--describe"])
    assert 'Missing required argument "[bootstrap-server]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (delete_records_command, ["--offset-json-file", "/dev/null"]),
        (log_dirs_command, ["--describe"]),
        (broker_api_versions_command, []),
    ],
)
def test_a_server_without_a_port_is_refused(command: ModuleType, line: list[str]) -> None:
    with pytest.raises(ConfigException, match=r"Invalid url in bootstrap\.servers: localhost"):
        command.main(["--bootstrap-server", "localhost", *line])


def test_servers_may_be_set_apart_by_blanks() -> None:
    made = AdminClient.create(" 127.0.0.1:1 , [::1]:2")
    made.close()
    assert {(node.host, node.port) for node in made._bootstrap} == {("127.0.0.1", 1), ("::1", 2)}
