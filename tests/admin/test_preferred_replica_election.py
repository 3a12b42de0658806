"""kafka-preferred-replica-election; the cases without a running broker."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.admin import preferred_replica_leader_election_command
from kafka_py.admin.preferred_replica_leader_election_command import PreferredReplicaLeaderElectionCommand
from kafka_py.common.errors import AdminCommandFailedException, AdminOperationException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import PreferredReplicaElectionZNode

Capture = pytest.CaptureFixture[str]
A1, B1, ABSENT = TopicPartition("test", 1), TopicPartition("test2", 1), TopicPartition("absent", 0)
parse = PreferredReplicaLeaderElectionCommand.parse_preferred_replica_election_data


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    for tp in (A1, B1):
        client.create_topic_assignment(tp.topic, {tp: [0, 1, 2]})
        client.make_sure_persistent_path_exists(f"/brokers/topics/{tp.topic}/partitions/{tp.partition}")
    yield client
    client.close()


@pytest.mark.ported(
    "AdminTest.testPreferredReplicaJsonData", "PreferredReplicaLeaderElectionCommandTest.testPreferredReplicaJsonData"
)
def test_what_is_written_can_be_parsed(zk: KafkaZkClient, capsys: Capture) -> None:
    PreferredReplicaLeaderElectionCommand.write_preferred_replica_election_data(zk, {A1, B1})
    data, _ = zk.get_data_and_stat(PreferredReplicaElectionZNode.path)
    assert data is not None
    assert parse(data.decode()) == zk.get_preferred_replica_election() == {A1, B1}
    assert capsys.readouterr().out == "Created preferred replica election path with test-1,test2-1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "Preferred replica election data is empty"),
        ("{}", "Preferred replica election data is empty"),
        (
            json.dumps({"partitions": [{"topic": "a", "partition": 1}, {"topic": "a", "partition": 1}]}),
            "Preferred replica election data contains duplicate partitions: a-1",
        ),
    ],
)
def test_data_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(AdminOperationException) as failure:
        parse(text)
    assert str(failure.value) == message


def test_partitions_that_are_not_there_are_left_out(zk: KafkaZkClient, capsys: Capture) -> None:
    PreferredReplicaLeaderElectionCommand(zk, {A1, ABSENT}).move_leader_to_preferred_replica()
    assert zk.get_preferred_replica_election() == {A1}
    assert capsys.readouterr().out.splitlines() == [
        "Created preferred replica election path with test-1",
        "Successfully started preferred replica election for partitions Set(test-1)",
        "Skipping preferred replica leader election for partition absent-0 since it doesn't exist.",
    ]
    with pytest.raises(AdminCommandFailedException, match="Admin command failed") as failure:
        PreferredReplicaLeaderElectionCommand(zk, {B1}).move_leader_to_preferred_replica()
    assert str(failure.value.__cause__) == (
        "Preferred replica leader election currently in progress for test-1. Aborting operation"
    )


def test_the_tool(zk: KafkaZkClient, zk_connect: str, tmp_path: pathlib.Path, capsys: Capture) -> None:
    main, path = preferred_replica_leader_election_command.main, tmp_path / "partitions.json"
    assert main(["--zookeeper", zk_connect]) == 0
    assert zk.get_preferred_replica_election() == {A1, B1}
    zk.delete_preferred_replica_election()
    path.write_text('{"partitions": [{"topic": "test", "partition": 1}]}')
    assert main(["--zookeeper", zk_connect, "--path-to-json-file", str(path)]) == 0
    assert zk.get_preferred_replica_election() == {A1}
    capsys.readouterr()
    assert main(["--zookeeper", zk_connect]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "Failed to start preferred replica election",
        "kafka.common.AdminCommandFailedException: Admin command failed",
    ]
    assert lines[2].startswith("Caused by: kafka.admin.AdminOperationException: Preferred replica leader election")


@pytest.mark.parametrize(
    ("args", "message"),
    [([], "This tool causes leadership"), (["--path-to-json-file", "x"], 'Missing required argument "[zookeeper]"')],
)
def test_lines_that_are_refused(args: list[str], message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="1"):
        PreferredReplicaLeaderElectionCommand.main(args)
    assert capsys.readouterr().err.startswith(message)
