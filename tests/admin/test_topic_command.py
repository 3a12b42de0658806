"""kafka-topics; ported from Kafka's TopicCommandTest, and its output to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_py.admin.admin_client_topic_service import AdminClientTopicService
from kafka_py.admin.topic_command import TopicCommand, select_topics
from kafka_py.admin.topic_command_options import TopicCommandOptions
from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import (
    AdminCommandFailedException,
    AdminOperationException,
    InvalidConfigurationException,
    TopicExistsException,
)
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    for broker_id, rack in enumerate(("r1", "r2", "r1")):
        end_point = EndPoint("host", 9092, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT)
        client.register_broker_in_zk(BrokerInfo(Broker(broker_id, (end_point,), rack), 4, -1))
    yield client
    client.close()


def options(line: str) -> TopicCommandOptions:
    return TopicCommandOptions(line.split())


def run(zk: KafkaZkClient, action: str, line: str) -> None:
    getattr(TopicCommand(), f"{action}_topic" if action != "list" else "list_topics")(zk, options(line))


@pytest.mark.ported("TopicCommandTest.testConfigPreservationAcrossPartitionAlteration")
def test_overrides_survive_new_partitions(zk: KafkaZkClient, capsys: Capture) -> None:
    run(zk, "create", "--partitions 1 --replication-factor 1 --config cleanup.policy=compact --topic test")
    run(zk, "alter", "--partitions 3 --topic test")
    assert zk.get_topic_partition_count("test") == 3
    assert zk.get_entity_configs("topics", "test") == {"cleanup.policy": "compact"}
    assert capsys.readouterr().out == (
        'Created topic "test".\n'
        "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the "
        "messages will be affected\n"
        "Adding partitions succeeded!\n"
    )


@pytest.mark.ported("TopicCommandTest.testTopicDeletion")
def test_deletion(zk: KafkaZkClient, capsys: Capture) -> None:
    for topic in ("test", "__consumer_offsets"):
        run(zk, "create", f"--replica-assignment 0,1 --topic {topic}")
    run(zk, "delete", "--topic test")
    run(zk, "delete", "--topic test")
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "Topic test is marked for deletion.",
        "Note: This will have no impact if delete.topic.enable is not set to true.",
        "Topic test is already marked for deletion.",
    ]
    with pytest.raises(AdminOperationException, match="is a kafka internal topic and is not allowed to be marked"):
        run(zk, "delete", "--topic __consumer_offsets")
    assert zk.get_topic_deletions() == ["test"]


@pytest.mark.ported("TopicCommandTest.testDeleteIfExists")
@pytest.mark.ported("TopicCommandTest.testAlterIfExists")
@pytest.mark.parametrize("action", ["alter", "delete"])
def test_topics_that_are_not_there(zk: KafkaZkClient, action: str) -> None:
    with pytest.raises(ValueError, match="Topic absent does not exist on ZK path"):
        run(zk, action, "--topic absent --zookeeper z")
    run(zk, action, "--topic absent --if-exists")


@pytest.mark.ported("TopicCommandTest.testCreateIfNotExists")
def test_topics_that_are_there(zk: KafkaZkClient, capsys: Capture) -> None:
    line = "--partitions 1 --replication-factor 1 --topic a.b"
    run(zk, "create", line)
    assert capsys.readouterr().out.startswith("WARNING: Due to limitations in metric names")
    with pytest.raises(TopicExistsException, match=r"Topic 'a\.b' already exists"):
        run(zk, "create", line)
    run(zk, "create", f"{line} --if-not-exists")


@pytest.mark.ported("TopicCommandTest.testCreateAlterTopicWithRackAware")
def test_racks(zk: KafkaZkClient) -> None:
    racks = {0: "r1", 1: "r2", 2: "r1"}
    run(zk, "create", "--partitions 6 --replication-factor 2 --topic aware")
    run(zk, "alter", "--partitions 9 --topic aware")
    assignment = zk.get_partition_assignment_for_topics(["aware"])["aware"]
    assert len(assignment) == 9
    assert all({racks[broker] for broker in replicas} == {"r1", "r2"} for replicas in assignment.values())
    run(zk, "create", "--partitions 6 --replication-factor 3 --topic unaware --disable-rack-aware")


def test_alter_config_and_partitions_by_hand(zk: KafkaZkClient, capsys: Capture) -> None:
    run(zk, "create", "--replica-assignment 0:1,1:2 --topic test --config retention.ms=1")
    run(zk, "alter", "--topic test --config segment.bytes=2048 --delete-config retention.ms")
    assert zk.get_entity_configs("topics", "test") == {"segment.bytes": "2048"}
    assert 'Updated config for topic "test".' in capsys.readouterr().out
    run(zk, "alter", "--topic test --partitions 3 --replica-assignment 0:1,1:2,2:0")
    assert zk.get_partition_assignment_for_topics(["test"])["test"] == {0: [0, 1], 1: [1, 2], 2: [2, 0]}
    with pytest.raises(InvalidConfigurationException):
        run(zk, "alter", "--topic test --delete-config no.such.config")
    with pytest.raises(ValueError, match='must be in the format "key=val"'):
        run(zk, "alter", "--topic test --config nonsense")


@pytest.mark.ported("TopicCommandTest.testDescribeAndListTopicsMarkedForDeletion")
def test_list_and_describe(zk: KafkaZkClient, capsys: Capture) -> None:
    run(zk, "create", "--replica-assignment 0:1,1:9 --topic test --config retention.ms=1")
    run(zk, "create", "--replica-assignment 0 --topic other")
    states = {
        TopicPartition("test", 0): LeaderIsrAndControllerEpoch(LeaderAndIsr(0, 0, [0, 1], 0), 1),
        TopicPartition("test", 1): LeaderIsrAndControllerEpoch(LeaderAndIsr(9, 0, [9], 0), 1),
    }
    zk.create_topic_partition_states_raw(states)
    capsys.readouterr()
    run(zk, "list", "")
    assert capsys.readouterr().out == "other\ntest\n"
    run(zk, "describe", "")
    other, healthy, broken = (
        "\tTopic: other\tPartition: 0\tLeader: none\tReplicas: 0\tIsr: \n",
        "\tTopic: test\tPartition: 0\tLeader: 0\tReplicas: 0,1\tIsr: 0,1\n",
        "\tTopic: test\tPartition: 1\tLeader: 9\tReplicas: 1,9\tIsr: 9\n",
    )
    other_head = "Topic:other\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n"
    head = "Topic:test\tPartitionCount:2\tReplicationFactor:2\tConfigs:retention.ms=1"
    assert capsys.readouterr().out == other_head + other + head + "\n" + healthy + broken
    for line, expected in (
        ("--topics-with-overrides", head + "\n"),
        ("--under-replicated-partitions --topic test", broken),
        ("--unavailable-partitions", other + broken),
    ):
        run(zk, "describe", line)
        assert capsys.readouterr().out == expected
    run(zk, "delete", "--topic test")
    capsys.readouterr()
    run(zk, "list", "--topic te.*")
    run(zk, "describe", "--topic test")
    run(zk, "describe", "--unavailable-partitions --topic test")
    assert capsys.readouterr().out == (
        f"test - marked for deletion\n{head}\tMarkedForDeletion:true\n{healthy}{broken}"
        f"{broken.rstrip()}\tMarkedForDeletion: true\n"
    )


def test_replica_assignments_that_are_none() -> None:
    assert TopicCommand.parse_replica_assignment("1:2,2:3") == {0: [1, 2], 1: [2, 3]}
    with pytest.raises(AdminCommandFailedException, match="may not contain duplicate entries: 1"):
        TopicCommand.parse_replica_assignment("1:1")
    with pytest.raises(AdminOperationException, match="Partition 1 has different replication factor"):
        TopicCommand.parse_replica_assignment("1:2,2")


def test_expressions_for_topics() -> None:
    topics = ["a", "b", "ab", "c.d"]
    assert select_topics(topics, None) == ["a", "ab", "b", "c.d"]
    assert select_topics(topics, "a, b") == ["a", "b"]
    assert select_topics(topics, "'a.*'") == ["a", "ab"]
    assert select_topics(topics, "c.d") == ["c.d"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Create, delete, describe, or change a topic."),
        ("--zookeeper z --list --create", "Command must include exactly one action"),
        ("--list", 'Missing required argument "[zookeeper]"'),
        ("--zookeeper z --create", 'Missing required argument "[topic]"'),
        ("--zookeeper z --list --partitions 3", 'Option "[partitions]" can\'t be used with option"[list]"'),
        ("--zookeeper z --bootstrap-server b --list", 'can\'t be used with option"[zookeeper]"'),
        ("--zookeeper z --describe --if-exists", 'Option "[if-exists]" can\'t be used with option"[describe]"'),
        ("--nonsense", "unrecognized arguments: --nonsense"),
    ],
)
def test_command_lines_that_are_refused(line: str, message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as raised:
        TopicCommand.main(line.split())
    assert raised.value.code == 1
    assert message in capsys.readouterr().err


def test_main_connects_and_exits(
    zk_connect: str, zk: KafkaZkClient, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    for factor, code, output in (
        ("1", 0, 'Created topic "fine".\n'),
        ("9", 1, "Error while executing topic command : Replication factor: 9 larger than available brokers: 3.\n"),
    ):
        topic = "fine" if code == 0 else "refused"
        line = f"--zookeeper {zk_connect} --create --topic {topic} --partitions 1 --replication-factor {factor}"
        with pytest.raises(SystemExit) as raised:
            TopicCommand.main(line.split())
        assert raised.value.code == code
        assert capsys.readouterr().out == output
    # as Kafka's: the class and the message, for the stack is of no use to who has asked for too much
    (record,) = caplog.records
    assert (record.name, record.levelname, record.exc_info) == ("kafka.admin.TopicCommand$", "ERROR", None)
    assert record.getMessage() == (
        "org.apache.kafka.common.errors.InvalidReplicationFactorException: "
        "Replication factor: 9 larger than available brokers: 3.\n"
    )
    assert zk.get_all_topics_in_cluster() == ["fine"]


class Future:
    """Of something that is done."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def result(self, timeout: float) -> Any:
        return self.value


class FakeAdminClient:
    """Notes what it is asked, and knows one topic."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def list_topics(self, timeout: float) -> Any:
        partition = SimpleNamespace(id=0, leader=1, replicas=[1, 2], isrs=[1])
        topics = {"test": SimpleNamespace(partitions={0: partition})}
        return SimpleNamespace(topics=topics, brokers={1: None, 2: None})

    def describe_configs(self, resources: list[Any]) -> dict[Any, Future]:
        entries = {
            "retention.ms": SimpleNamespace(value="5", source=1),
            "segment.bytes": SimpleNamespace(value="1", source=5),
        }
        return {resources[0]: Future(entries)}

    def alter_configs(self, resources: list[Any]) -> dict[Any, Future]:
        self.asked.append(resources[0].set_config_dict)
        return {resources[0]: Future()}

    def create_topics(self, topics: list[Any]) -> dict[str, Future]:
        self.asked.append((topics[0].topic, topics[0].num_partitions, topics[0].replication_factor, topics[0].config))
        return {topics[0].topic: Future()}

    def create_partitions(self, partitions: list[Any]) -> dict[str, Future]:
        self.asked.append((partitions[0].topic, partitions[0].new_total_count))
        return {partitions[0].topic: Future()}

    def delete_topics(self, topics: list[str]) -> dict[str, Future]:
        self.asked.append(topics)
        return {topic: Future() for topic in topics}


def test_the_same_through_a_broker(capsys: Capture) -> None:
    admin = FakeAdminClient()
    service = AdminClientTopicService(admin)
    for action, line in (
        ("create", "--topic new --partitions 2 --replication-factor 1 --config retention.ms=7"),
        ("list", ""),
        ("describe", "--topic test"),
        ("describe", "--under-replicated-partitions"),
        ("alter", "--topic test --partitions 3 --config segment.bytes=99 --delete-config retention.ms"),
        ("delete", "--topic test"),
    ):
        service.run(action, options(f"--bootstrap-server b {line}"))
    assert admin.asked == [("new", 2, 1, {"retention.ms": "7"}), {"segment.bytes": "99"}, ("test", 3), ["test"]]
    described = "\tTopic: test\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"
    assert capsys.readouterr().out == (
        'Created topic "new".\ntest\n'
        f"Topic:test\tPartitionCount:1\tReplicationFactor:2\tConfigs:retention.ms=5\n{described}{described}"
        'Updated config for topic "test".\n'
        "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the "
        "messages will be affected\nAdding partitions succeeded!\n"
        "Topic test is marked for deletion.\n"
        "Note: This will have no impact if delete.topic.enable is not set to true.\n"
    )
    with pytest.raises(ValueError, match="Topic absent does not exist"):
        service.run("delete", options("--topic absent"))


@pytest.mark.parametrize(
    ("code", "raised"),
    [(KafkaError.TOPIC_ALREADY_EXISTS, TopicExistsException), (KafkaError._TRANSPORT, KafkaException)],
)
def test_what_a_broker_answers_is_its_exception(code: int, raised: type[Exception]) -> None:
    class Failed(Future):
        def result(self, timeout: float) -> Any:
            raise KafkaException(KafkaError(code, "Topic 'new' already exists."))

    admin = FakeAdminClient()
    admin.create_topics = lambda topics: {"new": Failed()}  # type: ignore[method-assign]
    line = "--bootstrap-server b --topic new --partitions 2 --replication-factor 1"
    with pytest.raises(raised, match=r"Topic 'new' already exists\."):
        AdminClientTopicService(admin).run("create", options(line))
