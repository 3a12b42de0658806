"""kafka-reassign-partitions with brokers that run; from ReassignPartitionsClusterTest and AdminTest of Kafka."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import pytest

from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.reassign_partitions_command import ReassignmentStatus, ReassignPartitionsCommand, Throttle
from kafka_py.common.errors import AdminCommandFailedException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.topic_partition_replica import TopicPartitionReplica
from kafka_py.log.log_config import LogConfig
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import BIN
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from tests.integration.clients import produce, topic_name, wait_for_leaders
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

Moves = Mapping[TopicPartition, Sequence[int]]
RATES = (
    DynamicConfig.Broker.LEADER_REPLICATION_THROTTLED_RATE_PROP,
    DynamicConfig.Broker.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP,
)
LISTS = (
    LogConfig.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP,
    LogConfig.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP,
)


class Moving:
    """A cluster of four brokers, and the tool."""

    def __init__(self, cluster: Cluster, zk: KafkaZkClient) -> None:
        self.cluster, self.zk = cluster, zk
        self.admin_zk = AdminZkClient(zk)

    def create(self, assignment: Mapping[int, Sequence[int]]) -> str:
        topic = topic_name("move")
        replicas = {partition: list(ids) for partition, ids in assignment.items()}
        self.admin_zk.create_or_update_topic_partition_assignment_path_in_zk(topic, replicas)
        wait_for_leaders(self.cluster.bootstrap_servers, topic, len(assignment))
        return topic

    def fill(self, topic: str, megabytes: int) -> None:
        records = [(None, b"x" * 100_000)] * (megabytes * 10)
        produce(self.cluster.bootstrap_servers, topic, records)

    def execute(
        self,
        moves: Moves,
        throttle: Throttle = ReassignPartitionsCommand.NO_THROTTLE,
        admin: AdminClient | None = None,
        log_dirs: Mapping[TopicPartitionReplica, str] | None = None,
    ) -> str:
        text = ReassignPartitionsCommand.format_as_reassignment_json(moves, log_dirs or {})
        ReassignPartitionsCommand.execute_assignment(self.zk, admin, text, throttle)
        return text

    def command(self, moves: Moves) -> ReassignPartitionsCommand:
        return ReassignPartitionsCommand(self.zk, None, moves, {}, self.admin_zk)

    def await_end(self) -> None:
        wait_until(lambda: not self.zk.reassign_partitions_in_progress(), 40, "the end of the moves")

    def replicas(self, topic: str) -> dict[int, list[int]]:
        return self.zk.get_partition_assignment_for_topics({topic})[topic]

    def brokers_with(self, topic: str, partition: int) -> set[int]:
        name = f"{topic}-{partition}"
        return {b.id for b in self.cluster.brokers if any((d / name).is_dir() for d in b.log_dirs)}

    def lists(self, topic: str) -> list[set[str]]:
        """(leader-throttled replicas, follower-throttled replicas) of a topic."""
        configs = self.zk.get_entity_configs("topics", topic)
        return [set(configs[name].split(",")) for name in LISTS if name in configs]

    def rates(self) -> dict[int, set[str]]:
        configs = {broker.id: self.zk.get_entity_configs("brokers", str(broker.id)) for broker in self.cluster.brokers}
        return {id: {found[name] for name in RATES if name in found} for id, found in configs.items()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    properties = {"auto.leader.rebalance.enable": "false", "controlled.shutdown.enable": "false"}
    home = tmp_path_factory.mktemp("reassign")
    with Cluster(4, home=home, properties=properties, log_dirs=2) as started:
        yield started


@pytest.fixture
def moving(cluster: Cluster) -> Iterator[Moving]:
    with cluster.zookeeper_client() as zk:
        yield Moving(cluster, zk)


@pytest.mark.ported(
    "AdminTest.testPartitionReassignmentWithLeaderInNewReplicas",
    "AdminTest.testPartitionReassignmentWithLeaderNotInNewReplicas",
    "AdminTest.testPartitionReassignmentNonOverlappingReplicas",
    changes="three partitions of one topic",
)
@pytest.mark.ported("ReassignPartitionsClusterTest.testHwAfterPartitionReassignment", changes="records are produced")
def test_old_and_new_leaders(moving: Moving) -> None:
    topic = moving.create({0: [0, 1, 2], 1: [0, 1, 2], 2: [0, 1, 2]})
    moving.fill(topic, 1)
    moves = {TopicPartition(topic, p): ids for p, ids in enumerate(([0, 2, 3], [1, 2, 3], [3]))}
    assert moving.command(moves).reassign_partitions()
    moving.await_end()
    for tp, ids in moves.items():
        status = ReassignPartitionsCommand.check_if_partition_reassignment_succeeded(moving.zk, tp, moves, {})
        assert status is ReassignmentStatus.COMPLETED
        assert moving.replicas(topic)[tp.partition] == ids
        moving.cluster.await_isr(topic, tp.partition, ids)
        wait_until(lambda tp=tp, ids=ids: moving.brokers_with(topic, tp.partition) == set(ids))  # type: ignore[misc]
        assert moving.zk.get_leader_for_partition(tp) in ids


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldExpandCluster", changes="without log directories")
@pytest.mark.ported("ReassignPartitionsClusterTest.shouldShrinkCluster")
def test_brokers_come_and_go(moving: Moving) -> None:
    topic = moving.create({partition: [0, 1] for partition in range(3)})
    topics = json.dumps({"topics": [{"topic": topic}], "version": 1})
    for brokers in ([0, 1, 2], [0, 1]):
        proposed, _ = ReassignPartitionsCommand.generate_assignment(moving.zk, brokers, topics, True)
        moving.execute(proposed)
        moving.await_end()
        assert {id for ids in moving.replicas(topic).values() for id in ids} == set(brokers)


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldMoveSubsetOfPartitions", changes="without log directories")
@pytest.mark.ported("ReassignPartitionsClusterTest.shouldPerformThrottledReassignmentOverVariousTopics")
@pytest.mark.ported("ReassignPartitionsClusterTest.shouldOnlyThrottleMovingReplicas", changes="with four brokers")
def test_some_partitions_of_some_topics(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    orders = moving.create({0: [0, 1, 2], 1: [0, 1, 2]})
    payments = moving.create({0: [0, 1], 1: [0, 1]})
    deliveries = moving.create({0: [0]})
    customers = moving.create({p: [p] for p in range(4)})
    moves = {
        TopicPartition(orders, 0): [0, 2, 3],
        TopicPartition(orders, 1): [0, 1, 2],
        TopicPartition(payments, 1): [1, 2],
        TopicPartition(deliveries, 0): [1, 2],
    }
    text = moving.execute(moves, Throttle(1000))
    assert moving.lists(orders) == [{"0:0", "0:1", "0:2"}, {"0:3"}]
    assert moving.lists(payments) == [{"1:0", "1:1"}, {"1:2"}]
    assert moving.lists(deliveries) == [{"0:0"}, {"0:1", "0:2"}]
    assert moving.rates() == {id: {"1000"} for id in range(4)}
    moving.await_end()
    assert moving.replicas(orders) == {0: [0, 2, 3], 1: [0, 1, 2]}
    assert moving.replicas(payments) == {0: [0, 1], 1: [1, 2]}
    assert moving.replicas(deliveries) == {0: [1, 2]}
    assert moving.replicas(customers) == {p: [p] for p in range(4)}
    ReassignPartitionsCommand.verify_assignment(moving.zk, None, text)
    assert capsys.readouterr().out.splitlines()[-1] == "Throttle was removed."
    assert moving.rates() == {id: set() for id in range(4)}
    assert moving.lists(orders) == moving.lists(payments) == moving.lists(deliveries) == []


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldExecuteThrottledReassignment")
@pytest.mark.ported("ReassignPartitionsClusterTest.shouldChangeThrottleOnRerunAndRemoveOnVerify")
def test_a_move_is_as_fast_as_is_allowed(moving: Moving) -> None:
    topic = moving.create({0: [0, 1]})
    moving.fill(topic, 8)
    moves = {TopicPartition(topic, 0): [1, 2]}
    start = time.monotonic()
    # the brokers hear of their limits before the copy begins
    heard = Throttle(1_000_000, -1, lambda: time.sleep(1))
    text = moving.execute(moves, heard)
    assert moving.lists(topic) == [{"0:0", "0:1"}, {"0:2"}]
    assert moving.rates() == {id: {"1000000"} if id < 3 else set() for id in range(4)}
    ReassignPartitionsCommand.verify_assignment(moving.zk, None, text)
    assert moving.lists(topic) == [{"0:0", "0:1"}, {"0:2"}], "nobody is freed while the partition moves"
    wait_until(lambda: time.monotonic() - start > 4)
    assert moving.zk.reassign_partitions_in_progress(), "8 MB at 1 MB/s take longer"
    moving.execute(moves, Throttle(1_000_000_000))
    assert moving.rates() == {id: {"1000000000"} if id < 3 else set() for id in range(4)}
    moving.await_end()
    assert moving.replicas(topic) == {0: [1, 2]}
    ReassignPartitionsCommand.verify_assignment(moving.zk, None, text)
    assert (moving.lists(topic), moving.rates()) == ([], {id: set() for id in range(4)})


def test_replicas_are_compared_while_the_brokers_serve(moving: Moving) -> None:
    """kafka-replica-verification reads from leaders and followers alike, and ends when it is interrupted."""
    topic = moving.create({0: [0, 1], 1: [1, 2]})
    produce(moving.cluster.bootstrap_servers, topic, [(b"%d" % i, b"value") for i in range(50)])
    line = ["--broker-list", moving.cluster.bootstrap_servers, "--topic-white-list", topic, "--time", "-2",
            "--report-interval-ms", "100", "--max-wait-ms", "50"]  # fmt: skip
    command = [sys.executable, str(BIN / "kafka-replica-verification.py"), *line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:
        assert tool.stdout is not None
        assert ": verification process is started." in tool.stdout.readline()
        reports = (line for line in tool.stdout if f"for partition {topic}-" in line)
        caught_up = next(line for line in reports if "max lag is 0 " in line)
        assert caught_up.endswith(" among 2 partitions\n")
        tool.send_signal(signal.SIGINT)
        assert tool.wait(20) == 130


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldPerformMultipleReassignmentOperationsOverVariousTopics")
def test_one_after_the_other(moving: Moving) -> None:
    """A wish that is written at once after the last was fulfilled is seen as well."""
    orders = moving.create({0: [0, 1, 2], 1: [0, 1, 2]})
    payments = moving.create({0: [0, 1], 1: [0, 1]})
    first = {TopicPartition(orders, 0): [0, 2, 3], TopicPartition(payments, 1): [1, 2]}
    second = {TopicPartition(orders, 1): [3, 1, 2], TopicPartition(payments, 1): [2, 1]}
    for moves in (first, second):
        assert moving.command(moves).reassign_partitions()
        moving.await_end()
    assert moving.replicas(orders) == {0: [0, 2, 3], 1: [3, 1, 2]}
    assert moving.replicas(payments) == {0: [0, 1], 1: [2, 1]}
    assert moving.command({TopicPartition(orders, 0): [1, 2, 3]}).reassign_partitions()

    def written() -> bool:
        try:
            return moving.command({TopicPartition(payments, 1): [2, 3]}).reassign_partitions()
        except AdminCommandFailedException:
            return False

    wait_until(written, what="the end of the third")
    moving.await_end()
    assert moving.replicas(orders) == {0: [1, 2, 3], 1: [3, 1, 2]}
    assert moving.replicas(payments) == {0: [0, 1], 1: [2, 3]}


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldTriggerReassignmentOnControllerStartup")
@pytest.mark.ported("AdminTest.testResumePartitionReassignmentThatWasCompleted", changes="two partitions of a topic")
def test_a_wish_that_was_written_before_there_was_a_controller(moving: Moving) -> None:
    topic = moving.create({0: [0, 1], 1: [1, 2]})
    for broker in moving.cluster.brokers:
        moving.cluster.terminate(broker.id)
    absent = TopicPartition("not-there", 0)
    wishes = {TopicPartition(topic, 0): [2, 1], TopicPartition(topic, 1): [1, 2], absent: [1, 2]}
    moving.zk.set_or_create_partition_reassignment(wishes)
    for broker in moving.cluster.brokers:
        moving.cluster.start_broker(broker.id)
    moving.await_end()
    assert moving.replicas(topic) == {0: [2, 1], 1: [1, 2]}
    assert moving.zk.get_replicas_for_partition(absent) == []
    moving.cluster.await_isr(topic, 0, [1, 2])


# -- Log directories -------------------------------------------------------------------------------------------------


@pytest.mark.ported("ReassignPartitionsClusterTest.shouldMoveSinglePartition")
@pytest.mark.ported("ReassignPartitionsClusterTest.shouldMoveSinglePartitionWithinBroker")
def test_replicas_go_to_the_directories_that_are_named(moving: Moving) -> None:
    """To another broker, where the replica is made in that directory; and then within that broker."""
    topic = moving.create({0: [0]})
    replica = TopicPartitionReplica(topic, 0, 1)
    admin = AdminClient.create(moving.cluster.bootstrap_servers)
    try:
        for log_dir in moving.cluster.broker(1).log_dirs:
            moving.execute({TopicPartition(topic, 0): [1]}, admin=admin, log_dirs={replica: str(log_dir)})
            moving.await_end()

            def is_there(wanted: str = str(log_dir)) -> bool:
                return admin.describe_replica_log_dirs([replica])[replica].current_replica_log_dir == wanted

            wait_until(is_there, 20, f"{replica} in {log_dir}")
        assert moving.replicas(topic) == {0: [1]}
    finally:
        admin.close()
