"""Elections and moves that are asked for by API, and the tools for elections, with brokers that run.

From Kafka's LeaderElectionCommandTest, PreferredReplicaLeaderElectionCommandTest and AdminTest.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import ElectionType as ClientElectionType
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient as ConfluentAdminClient

from kafka_py.admin import leader_election_command
from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.leader_election_command import LeaderElectionCommand
from kafka_py.admin.preferred_replica_leader_election_command import PreferredReplicaLeaderElectionCommand
from kafka_py.common.errors import (
    AdminCommandFailedException,
    PreferredLeaderNotAvailableException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kafka_py.common.requests.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.testing.cluster import Cluster
from kafka_py.zk.admin_zk_client import AdminZkClient
from tests.integration.clients import produce, topic_name, wait_for_leaders
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    properties = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "3000"}
    with Cluster(3, home=tmp_path_factory.mktemp("elect"), properties=properties) as started:
        yield started


def create(cluster: Cluster, replicas: Sequence[int], partitions: int = 1) -> str:
    topic = topic_name("elect")
    with cluster.zookeeper_client() as zk:
        assignment = {partition: list(replicas) for partition in range(partitions)}
        AdminZkClient(zk).create_or_update_topic_partition_assignment_path_in_zk(topic, assignment)
    wait_for_leaders(cluster.bootstrap_servers, topic, partitions)
    for partition in range(partitions):
        cluster.await_isr(topic, partition, replicas)
    return topic


def elect(cluster: Cluster, *line: str) -> None:
    assert leader_election_command.main(["--bootstrap-server", cluster.bootstrap_servers, *line]) == 0


def file_of(path: pathlib.Path, *partitions: TopicPartition) -> str:
    path.write_text(json.dumps({"partitions": [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]}))
    return str(path)


@pytest.mark.ported(
    "LeaderElectionCommandTest.testAllTopicPartition",
    "LeaderElectionCommandTest.testTopicPartition",
    "LeaderElectionCommandTest.testPathToJsonFile",
    changes="one after the other",
)
def test_unclean_elections(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    topics = [create(cluster, [1, 2]) for _ in range(3)]
    cluster.terminate(2)
    for topic in topics:
        cluster.await_isr(topic, 0, [1])
    cluster.kill(1)
    cluster.await_forgotten(1)
    cluster.start_broker(2)
    cluster.await_registered(2)
    named = file_of(tmp_path / "partitions.json", TopicPartition(topics[1], 0))
    for topic, line in (
        (topics[0], ("--topic", topics[0], "--partition", "0")),
        (topics[1], ("--path-to-json-file", named)),
        (topics[2], ("--all-topic-partitions",)),
    ):
        with cluster.zookeeper_client() as zk:
            assert zk.get_leader_for_partition(TopicPartition(topic, 0)) in (-1, 1)
        elect(cluster, "--election-type", "unclean", *line)
        cluster.await_leader(topic, 0, 2)
    cluster.start_broker(1)
    for topic in topics:
        cluster.await_isr(topic, 0, [1, 2])


@pytest.mark.ported("LeaderElectionCommandTest.testPreferredReplicaElection")
@pytest.mark.ported(
    "PreferredReplicaLeaderElectionCommandTest.testMultipleBrokersGiven",
    "PreferredReplicaLeaderElectionCommandTest.testNoPartitionsGiven",
    "PreferredReplicaLeaderElectionCommandTest.testSingletonPartitionGiven",
    "PreferredReplicaLeaderElectionCommandTest.testMultiplePartitionsSameAssignment",
    "PreferredReplicaLeaderElectionCommandTest.testNoopElection",
    "PreferredReplicaLeaderElectionCommandTest.testWithOfflinePreferredReplica",
    "PreferredReplicaLeaderElectionCommandTest.testBasicPreferredReplicaElection",
    changes="asked by kafka-leader-election; one after the other",
)
@pytest.mark.ported("AdminTest.testBasicPreferredReplicaElection", changes="another replica leads after a restart")
def test_preferred_elections(cluster: Cluster, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    topic = create(cluster, [1, 2, 0], partitions=4)
    partitions = [TopicPartition(topic, p) for p in range(4)]
    first = file_of(tmp_path / "first.json", partitions[0])
    elect(cluster, "--election-type", "preferred", "--path-to-json-file", first)
    assert capsys.readouterr().out == f"Valid replica already elected for partitions {topic}-0\n"
    cluster.terminate(1)
    cluster.await_leader(topic, 0, 2)
    with pytest.raises(AdminCommandFailedException, match=r"1 replica\(s\) could not be elected") as failure:
        elect(cluster, "--election-type", "preferred", "--path-to-json-file", first)
    (suppressed,) = failure.value.suppressed
    assert isinstance(suppressed, PreferredLeaderNotAvailableException)
    assert "under strategy PreferredReplicaPartitionLeaderElectionStrategy" in str(suppressed)
    cluster.start_broker(1)
    for tp in partitions:
        cluster.await_isr(topic, tp.partition, [0, 1, 2])
    with cluster.zookeeper_client() as zk:
        PreferredReplicaLeaderElectionCommand(zk, {partitions[0]}).move_leader_to_preferred_replica()
    cluster.await_leader(topic, 0, 1)
    two = file_of(tmp_path / "two.json", partitions[0], partitions[1])
    elect(cluster, "--election-type", "preferred", "--path-to-json-file", two)
    client = ConfluentAdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    wanted = ClientTopicPartition(topic, 2)
    results = client.elect_leaders(ClientElectionType.PREFERRED, [wanted]).result(20)
    assert results == {wanted: None}
    elect(cluster, "--election-type", "preferred", "--all-topic-partitions")
    with cluster.zookeeper_client() as zk:
        assert [zk.get_leader_for_partition(tp) for tp in partitions] == [1] * 4


@pytest.mark.ported(
    "LeaderElectionCommandTest.testTopicDoesNotExist", "PreferredReplicaLeaderElectionCommandTest.testTopicDoesNotExist"
)
def test_a_topic_that_is_not_there(cluster: Cluster) -> None:
    with pytest.raises(AdminCommandFailedException) as failure:
        elect(cluster, "--election-type", "preferred", "--topic", "unknown-topic-name", "--partition", "0")
    assert isinstance(failure.value.suppressed[0], UnknownTopicOrPartitionException)


class Controller:
    """Asks the controller for moves as clients from 2.4 on do."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = AdminClient.create(cluster.bootstrap_servers)

    def close(self) -> None:
        self._client.close()

    def alter(self, moves: Mapping[TopicPartition, list[int] | None]) -> dict[TopicPartition, Errors]:
        topic = AlterPartitionReassignmentsRequest.Topic
        topics = [
            topic(name=tp.topic, partitions=[topic.Partition(partition_index=tp.partition, replicas=ids)])
            for tp, ids in moves.items()
        ]
        response: Any = self._client._send_to_controller(
            RequestMessage.Builder(AlterPartitionReassignmentsRequest(topics=topics)), 20_000
        )
        assert response.error_code == 0
        return {TopicPartition(t.name, p.partition_index): p.error for t in response.responses for p in t.partitions}

    def list(self) -> dict[TopicPartition, tuple[list[int], list[int], list[int]]]:
        response: Any = self._client._send_to_controller(
            RequestMessage.Builder(ListPartitionReassignmentsRequest(topics=None)), 20_000
        )
        assert response.error_code == 0
        return {
            TopicPartition(t.name, p.partition_index): (p.replicas, p.adding_replicas, p.removing_replicas)
            for t in response.topics
            for p in t.partitions
        }


def test_moves_by_api(cluster: Cluster) -> None:
    topic = create(cluster, [0])
    tp, absent = TopicPartition(topic, 0), TopicPartition("absent", 0)
    produce(cluster.bootstrap_servers, topic, [(None, b"x")] * 10)
    cluster.hold_fetcher(1)
    controller = Controller(cluster)
    try:
        with cluster.zookeeper_client() as zk:
            assert controller.alter({tp: [1], absent: [1]}) == {
                tp: Errors.NONE,
                absent: Errors.UNKNOWN_TOPIC_OR_PARTITION,
            }
            assert controller.list() == {tp: ([1, 0], [1], [0])}
            assert zk.get_partition_reassignment() == {tp: [1]}, "Kafka's own controller would go on with it"
            assert controller.alter({tp: None, absent: None}) == {
                tp: Errors.NONE,
                absent: Errors.NO_REASSIGNMENT_IN_PROGRESS,
            }
            wait_until(lambda: not zk.reassign_partitions_in_progress())
            assert (controller.list(), zk.get_replicas_for_partition(tp)) == ({}, [0])
            cluster.release_fetcher(1)
            assert controller.alter({tp: [2, 1]}) == {tp: Errors.NONE}
            wait_until(lambda: not zk.reassign_partitions_in_progress())
            assert zk.get_replicas_for_partition(tp) == [2, 1]
        cluster.await_isr(topic, 0, [1, 2])
    finally:
        controller.close()


@pytest.mark.ported("PreferredReplicaLeaderElectionCommandTest.testTimeout", changes="asked by kafka-leader-election")
def test_a_controller_that_has_just_died(cluster: Cluster) -> None:
    controller = cluster.await_controller()
    other = next(broker for broker in cluster.brokers if broker.id != controller)
    cluster.kill(controller)
    line = ["--bootstrap-server", other.address, "--election-type", "preferred", "--all-topic-partitions"]
    with pytest.raises(AdminCommandFailedException, match="Timeout waiting for election results") as failure:
        LeaderElectionCommand.run(line, timeout_ms=500)
    assert isinstance(failure.value.__cause__, TimeoutException)
    cluster.await_forgotten(controller)
    cluster.start_broker(controller)
