"""kafka-reassign-partitions; ported from Kafka's ReassignPartitionsCommandTest, ...ArgsTest and AdminTest."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from kafka_py.admin import reassign_partitions_command
from kafka_py.admin.admin_client import AdminClient, ReplicaLogDirInfo
from kafka_py.admin.reassign_partitions_command import (
    ReassignmentStatus,
    ReassignPartitionsCommand,
    Throttle,
)
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import (
    AdminCommandFailedException,
    LogDirNotFoundException,
    ReplicaNotAvailableException,
)
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.topic_partition_replica import TopicPartitionReplica
from kafka_py.common.utils.time import Time
from kafka_py.log.log_config import LogConfig
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.testing.mock_time import MockTime
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo

Capture = pytest.CaptureFixture[str]
LEADERS = LogConfig.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP
FOLLOWERS = LogConfig.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP
LEADER_RATE = DynamicConfig.Broker.LEADER_REPLICATION_THROTTLED_RATE_PROP
FOLLOWER_RATE = DynamicConfig.Broker.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP
LOG_DIRS_RATE = DynamicConfig.Broker.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP
DONE = ReassignmentStatus.COMPLETED


def tp(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def assignment(**replicas: Sequence[int]) -> dict[TopicPartition, Sequence[int]]:
    """``topic1_0=[1, 2]``."""
    return {tp(name.replace("_", "-")): ids for name, ids in replicas.items()}


class FakeZk:
    """A KafkaZkClient that knows replicas and brokers."""

    def __init__(self, existing: Mapping[TopicPartition, Sequence[int]], brokers: Sequence[int] = ()) -> None:
        self._existing = existing
        self._brokers = brokers

    def get_replica_assignment_for_topics(self, topics: object) -> Mapping[TopicPartition, Sequence[int]]:
        return self._existing

    def get_all_brokers_in_cluster(self) -> list[Broker]:
        return [broker(id) for id in self._brokers]


class FakeAdminZk:
    """An AdminZkClient that has the same settings for everybody, and remembers the changes."""

    def __init__(self, topic: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None) -> None:
        self._settings = {"topics": dict(topic or {}), "brokers": dict(broker or {})}
        self.topics: dict[str, dict[str, str]] = {}
        self.brokers: dict[int, dict[str, str]] = {}

    def fetch_entity_config(self, kind: str, name: str) -> dict[str, str]:
        return dict(self._settings[kind])

    def change_topic_config(self, topic: str, configs: dict[str, str]) -> None:
        self.topics[topic] = configs

    def change_broker_config(self, brokers: Sequence[int], configs: dict[str, str]) -> None:
        self.brokers |= dict.fromkeys(brokers, configs)


def command(
    admin: FakeAdminZk | None = None,
    existing: Mapping[TopicPartition, Sequence[int]] | None = None,
    proposed: Mapping[TopicPartition, Sequence[int]] | None = None,
    replicas: Mapping[TopicPartitionReplica, str] | None = None,
) -> ReassignPartitionsCommand:
    zk, fake = cast("Any", FakeZk(existing or {})), cast("Any", admin)
    return ReassignPartitionsCommand(zk, None, proposed or {}, replicas or {}, fake)


# -- Which replicas move ---------------------------------------------------------------------------------------------

CONTROL = [100, 102]


@pytest.mark.ported(
    "ReassignPartitionsCommandTest.shouldFindMovingReplicas",
    "ReassignPartitionsCommandTest.shouldFindMovingReplicasWhenProposedIsSubsetOfExisting",
    "ReassignPartitionsCommandTest.shouldFindMovingReplicasMultiplePartitions",
    "ReassignPartitionsCommandTest.shouldFindMovingReplicasMultipleTopics",
    "ReassignPartitionsCommandTest.shouldFindMovingReplicasMultipleTopicsAndPartitions",
    "ReassignPartitionsCommandTest.shouldFindTwoMovingReplicasInSamePartition",
    changes="one table",
)
@pytest.mark.parametrize(
    ("existing", "proposed", "throttled"),
    [
        (
            assignment(topic1_0=[100, 101], topic1_1=CONTROL),
            assignment(topic1_0=[101, 102], topic1_1=CONTROL),
            {"topic1": ("0:100,0:101", "0:102")},
        ),
        (
            assignment(topic1_0=[100, 101], topic1_1=[100, 102], topic1_2=[100, 101], topic2_0=[100, 101, 102]),
            assignment(topic1_0=[101, 102], topic1_1=[102], topic1_2=[100, 101, 102]),
            {"topic1": ("0:100,0:101,2:100,2:101", "0:102,2:102")},
        ),
        (
            assignment(topic1_0=[100, 101], topic1_1=[100, 101], topic1_2=CONTROL),
            assignment(topic1_0=[101, 102], topic1_1=[101, 102], topic1_2=CONTROL),
            {"topic1": ("0:100,0:101,1:100,1:101", "0:102,1:102")},
        ),
        (
            assignment(topic1_0=[100, 101], topic2_0=[101, 102], topic1_1=CONTROL),
            assignment(topic1_0=[101, 102], topic2_0=[100, 102], topic1_1=CONTROL),
            {"topic1": ("0:100,0:101", "0:102"), "topic2": ("0:101,0:102", "0:100")},
        ),
        (
            assignment(topic1_0=[100, 101], topic1_1=[100, 101], topic2_0=[101, 102], topic2_1=[101, 102]),
            assignment(topic1_0=[101, 102], topic1_1=[101, 102], topic2_0=[100, 102], topic2_1=[101, 100]),
            {
                "topic1": ("0:100,0:101,1:100,1:101", "0:102,1:102"),
                "topic2": ("0:101,0:102,1:101,1:102", "0:100,1:100"),
            },
        ),
        (
            assignment(topic1_0=[100, 101, 102, 103], topic1_1=CONTROL),
            assignment(topic1_0=[100, 101, 104, 105], topic1_1=CONTROL),
            {"topic1": ("0:100,0:101,0:102,0:103", "0:104,0:105")},
        ),
    ],
    ids=["one", "subset", "partitions", "topics", "topics and partitions", "two in a partition"],
)
def test_which_replicas_are_throttled(
    existing: dict[TopicPartition, Sequence[int]],
    proposed: dict[TopicPartition, Sequence[int]],
    throttled: dict[str, tuple[str, str]],
) -> None:
    admin = FakeAdminZk()
    command().assign_throttled_replicas(existing, proposed, cast("Any", admin))
    assert {topic: (c[LEADERS], c[FOLLOWERS]) for topic, c in admin.topics.items()} == throttled


@pytest.mark.ported("ReassignPartitionsCommandTest.shouldNotOverwriteEntityConfigsWhenUpdatingThrottledReplicas")
def test_other_settings_of_the_topic_stay() -> None:
    admin = FakeAdminZk(topic={"some-key": "some-value"})
    existing, proposed = assignment(topic1_0=[100, 101]), assignment(topic1_0=[101, 102])
    command().assign_throttled_replicas(existing, proposed, cast("Any", admin))
    assert admin.topics["topic1"] == {"some-key": "some-value", LEADERS: "0:100,0:101", FOLLOWERS: "0:102"}


# -- Limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.ported(
    "ReassignPartitionsCommandTest.shouldSetQuotaLimit",
    "ReassignPartitionsCommandTest.shouldUpdateQuotaLimit",
    "ReassignPartitionsCommandTest.shouldNotOverwriteExistingPropertiesWhenLimitIsAdded",
    changes="one table",
)
@pytest.mark.parametrize(
    "before", [{}, {LEADER_RATE: "100", FOLLOWER_RATE: "10"}, {"useful.key": "useful.value"}], ids=str
)
def test_limits_of_all_brokers_that_take_part(before: dict[str, str]) -> None:
    admin = FakeAdminZk(broker=before)
    moving = command(admin, assignment(topic1_0=[100, 101]), assignment(topic1_0=[101, 102]))
    moving.maybe_limit(Throttle(1000))
    assert admin.brokers == dict.fromkeys((100, 101, 102), before | {LEADER_RATE: "1000", FOLLOWER_RATE: "1000"})


def test_limits_of_moves_between_directories() -> None:
    admin = FakeAdminZk()
    moving = command(admin, replicas={TopicPartitionReplica("t", 0, 7): "/d"})
    moving.maybe_limit(Throttle(-1, -1))
    assert admin.brokers == {}
    moving.maybe_limit(Throttle(-1, 2000))
    assert admin.brokers == {7: {LOG_DIRS_RATE: "2000"}}


@pytest.mark.ported("ReassignPartitionsCommandTest.shouldRemoveThrottleLimitFromAllBrokers")
def test_all_brokers_are_freed(capsys: Capture) -> None:
    admin = FakeAdminZk(broker={LEADER_RATE: "100", FOLLOWER_RATE: "10", LOG_DIRS_RATE: "1", "useful.key": "value"})
    zk = cast("Any", FakeZk({}, [100, 101, 102]))
    ReassignPartitionsCommand.remove_throttle(zk, {tp("topic1-0"): DONE}, {}, cast("Any", admin))
    assert admin.brokers == {id: {"useful.key": "value"} for id in (100, 101, 102)}
    assert admin.topics == {}
    assert capsys.readouterr().out == "Throttle was removed.\n"


@pytest.mark.ported("ReassignPartitionsCommandTest.shouldRemoveThrottleReplicaListBasedOnProposedAssignment")
def test_all_topics_that_were_moved_are_freed() -> None:
    admin = FakeAdminZk(topic={LEADERS: "1:100,2:100", FOLLOWERS: "1:101,2:101", "useful.key": "value"})
    zk = cast("Any", FakeZk({}, [100, 101]))
    statuses = {tp("topic1-0"): DONE, tp("topic2-0"): DONE}
    replicas = {TopicPartitionReplica("topic3", 0, 100): DONE}
    ReassignPartitionsCommand.remove_throttle(zk, statuses, replicas, cast("Any", admin))
    assert admin.topics == {topic: {"useful.key": "value"} for topic in ("topic1", "topic2", "topic3")}
    assert admin.brokers == {}


@pytest.mark.parametrize("status", [ReassignmentStatus.FAILED, ReassignmentStatus.IN_PROGRESS])
def test_nobody_is_freed_before_the_last_is_there(status: ReassignmentStatus, capsys: Capture) -> None:
    admin = FakeAdminZk(topic={LEADERS: "1:100"}, broker={LEADER_RATE: "100"})
    zk = cast("Any", FakeZk({}, [100]))
    replica = TopicPartitionReplica("t", 0, 100)
    ReassignPartitionsCommand.remove_throttle(zk, {tp("t-0"): DONE, tp("t-1"): status}, {}, cast("Any", admin))
    ReassignPartitionsCommand.remove_throttle(zk, {tp("t-0"): DONE}, {replica: status}, cast("Any", admin))
    assert (admin.topics, admin.brokers, capsys.readouterr().out) == ({}, {}, "")


# -- The command line ------------------------------------------------------------------------------------------------

EXECUTE = "--zookeeper localhost:1234 --execute --reassignment-json-file myfile.json"
GENERATE = "--zookeeper localhost:1234 --generate --broker-list 101,102 --topics-to-move-json-file myfile.json"
VERIFY = "--zookeeper localhost:1234 --verify --reassignment-json-file myfile.json"


@pytest.mark.ported(
    "ReassignPartitionsCommandArgsTest.shouldCorrectlyParseValidMinimumGenerateOptions",
    "ReassignPartitionsCommandArgsTest.shouldCorrectlyParseValidMinimumExecuteOptions",
    "ReassignPartitionsCommandArgsTest.shouldCorrectlyParseValidMinimumVerifyOptions",
    "ReassignPartitionsCommandArgsTest.shouldAllowThrottleOptionOnExecute",
)
@pytest.mark.parametrize("line", [GENERATE, EXECUTE, VERIFY, f"{EXECUTE} --throttle 100"])
def test_lines_that_are_taken(line: str) -> None:
    opts = ReassignPartitionsCommand.validate_and_parse_args(line.split())
    assert opts.options.value_of(opts.zk_connect_opt) == "localhost:1234"
    assert opts.options.value_of(opts.inter_broker_throttle_opt) == (100 if "--throttle" in line else -1)


@pytest.mark.ported("ReassignPartitionsCommandArgsTest.shouldUseDefaultsIfEnabled")
def test_defaults() -> None:
    opts = ReassignPartitionsCommand.validate_and_parse_args(EXECUTE.split())
    assert opts.options.value_of(opts.timeout_opt) == 10000
    assert opts.options.value_of(opts.inter_broker_throttle_opt) == -1
    assert opts.options.value_of(opts.replica_alter_log_dirs_throttle_opt) == -1


AFTER_EXECUTE = (
    "If --execute option is used, command must include --reassignment-json-file that was output during the --generate "
    "option"
)
AFTER_VERIFY = (
    "If --verify option is used, command must include --reassignment-json-file that was used during the --execute "
    "option"
)
AFTER_GENERATE = (
    "If --generate option is used, command must include both --topics-to-move-json-file and --broker-list options"
)


@pytest.mark.ported(
    "ReassignPartitionsCommandArgsTest.shouldFailIfNoArgs",
    "ReassignPartitionsCommandArgsTest.shouldFailIfBlankArg",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowExecuteWithTopicsOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowExecuteWithBrokers",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowExecuteWithoutReassignmentOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowGenerateWithoutBrokersAndTopicsOptions",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowGenerateWithoutBrokersOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowGenerateWithoutTopicsOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowGenerateWithThrottleOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowGenerateWithReassignmentOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowVerifyWithoutReassignmentOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowBrokersListWithVerifyOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowThrottleWithVerifyOption",
    "ReassignPartitionsCommandArgsTest.shouldNotAllowTopicsOptionWithVerify",
    changes="one table",
)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "This command moves topic partitions between replicas."),
        ([" "], "Command must include exactly one action: --generate, --execute or --verify"),
        (f"{EXECUTE} --verify".split(), "Command must include exactly one action: --generate, --execute or --verify"),
        (EXECUTE.split()[2:], 'Missing required argument "[zookeeper]"'),
        (
            f"{EXECUTE} --topics-to-move-json-file f".split(),
            'Option "[execute]" can\'t be used with option"[topics-to-move-json-file]"',
        ),
        (f"{EXECUTE} --broker-list 1,2".split(), 'Option "[execute]" can\'t be used with option"[broker-list]"'),
        (EXECUTE.split()[:3], AFTER_EXECUTE),
        (GENERATE.split()[:3], AFTER_GENERATE),
        (GENERATE.split()[:5], AFTER_GENERATE),
        (GENERATE.split()[:3] + GENERATE.split()[5:], AFTER_GENERATE),
        (f"{GENERATE} --throttle 100".split(), 'Option "[generate]" can\'t be used with option"[throttle]"'),
        (
            f"{GENERATE} --reassignment-json-file f".split(),
            'Option "[generate]" can\'t be used with option"[reassignment-json-file]"',
        ),
        (VERIFY.split()[:3], AFTER_VERIFY),
        (f"{VERIFY} --broker-list 1".split(), 'Option "[verify]" can\'t be used with option"[broker-list]"'),
        (f"{VERIFY} --throttle 100".split(), 'Option "[verify]" can\'t be used with option"[throttle]"'),
        (
            f"{VERIFY} --topics-to-move-json-file f".split(),
            'Option "[verify]" can\'t be used with option"[topics-to-move-json-file]"',
        ),
        (f"{EXECUTE} --throttle x".split(), "Cannot parse argument 'x' of option throttle"),
    ],
    ids=lambda value: None if isinstance(value, list) else "",
)
def test_lines_that_are_refused(args: list[str], message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="1"):
        ReassignPartitionsCommand.validate_and_parse_args(args)
    assert capsys.readouterr().err.splitlines()[0] == message


# -- With ZooKeeper --------------------------------------------------------------------------------------------------


def broker(id: int, rack: str | None = None) -> Broker:
    end_point = EndPoint("host", 9092, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT)
    return Broker(id, (end_point,), rack)


RACKS = ("rack1", "rack2", "rack2", "rack1", "rack3", "rack3")


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    """Six brokers in three racks, and a topic on the first three."""
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    for id, rack in enumerate(RACKS):
        client.register_broker_in_zk(BrokerInfo(broker(id, rack), 4, -1))
    AdminZkClient(client).create_or_update_topic_partition_assignment_path_in_zk("foo", {0: [0, 1], 1: [1, 2]})
    yield client
    client.close()


def execute(zk: KafkaZkClient, partitions: object, admin: AdminClient | None = None, **throttle: int) -> None:
    text = json.dumps({"version": 1, "partitions": partitions})
    limit = Throttle(throttle.get("inter", -1), throttle.get("dirs", -1))
    ReassignPartitionsCommand.execute_assignment(zk, admin, text, limit, timeout_ms=1000)


def partition(number: int, replicas: Sequence[int], **more: object) -> dict[str, object]:
    return {"topic": "foo", "partition": number, "replicas": replicas, **more}


def test_execute(zk: KafkaZkClient, capsys: Capture) -> None:
    execute(zk, [partition(0, [3, 1])], inter=5000)
    assert zk.get_partition_reassignment() == {tp("foo-0"): [3, 1]}
    current = ReassignPartitionsCommand.format_as_reassignment_json(assignment(foo_0=[0, 1], foo_1=[1, 2]), {})
    assert capsys.readouterr().out == (
        f"Current partition replica assignment\n\n{current}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
        "Warning: You must run Verify periodically, until the reassignment completes, to ensure the throttle is "
        "removed. You can also alter the throttle by rerunning the Execute command passing a new value.\n"
        "The inter-broker throttle limit was set to 5000 B/s\n"
        "Successfully started reassignment of partitions.\n"
    )
    assert zk.get_entity_configs("topics", "foo") == {LEADERS: "0:0,0:1", FOLLOWERS: "0:3"}
    rates = {id: zk.get_entity_configs("brokers", str(id)) for id in range(6)}
    limited = {LEADER_RATE: "5000", FOLLOWER_RATE: "5000"}
    assert rates == {id: limited if id < 4 else {} for id in range(6)}

    execute(zk, [partition(0, [3, 1])], inter=9000)
    assert capsys.readouterr().out == "There is an existing assignment running.\n"
    assert zk.get_entity_configs("brokers", "3")[LEADER_RATE] == "9000"


def test_verify(zk: KafkaZkClient, capsys: Capture) -> None:
    text = json.dumps({"partitions": [partition(0, [3, 1]), partition(1, [1, 2])]})
    execute(zk, [partition(0, [3, 1])], inter=5000)
    capsys.readouterr()
    ReassignPartitionsCommand.verify_assignment(zk, None, text)
    assert capsys.readouterr().out == (
        "Status of partition reassignment: \n"
        "Reassignment of partition foo-0 is still in progress\n"
        "Reassignment of partition foo-1 completed successfully\n"
    )
    zk.delete_partition_reassignment()
    ReassignPartitionsCommand.verify_assignment(zk, None, text)
    assert capsys.readouterr().out == (
        "Status of partition reassignment: \n"
        "ERROR: Assigned replicas (0,1) don't match the list of replicas for reassignment (3,1) for partition foo-0\n"
        "Reassignment of partition foo-0 failed\n"
        "Reassignment of partition foo-1 completed successfully\n"
    )
    zk.set_topic_assignment("foo", assignment(foo_0=[3, 1], foo_1=[1, 2]))
    ReassignPartitionsCommand.verify_assignment(zk, None, text)
    assert capsys.readouterr().out.splitlines()[-1] == "Throttle was removed."
    assert zk.get_entity_configs("topics", "foo") == zk.get_entity_configs("brokers", "3") == {}


@pytest.mark.ported(
    "ReassignPartitionsClusterTest.shouldFailIfProposedDoesNotMatchExisting",
    "ReassignPartitionsClusterTest.shouldFailIfProposedHasEmptyReplicaList",
    "ReassignPartitionsClusterTest.shouldFailIfProposedHasInvalidBrokerID",
    "ReassignPartitionsClusterTest.shouldFailIfProposedHasInconsistentReplicasAndLogDirs",
    changes="one table; brokers are there in ZooKeeper only",
)
@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([], "Partition reassignment data file is empty"),
        ([partition(0, [])], "Partition replica list cannot be empty"),
        ([partition(2, [1])], "The proposed assignment contains non-existent partitions: ListBuffer(foo-2)"),
        ([partition(0, [7, 1, 9])], "The proposed assignment contains non-existent brokerIDs: 7,9"),
        (
            [partition(0, [1], log_dirs=["/a", "/b"])],
            "Size of replicas list List(1) is different from size of log dirs list List(/a, /b) for partition foo-0",
        ),
        (
            [partition(0, [1]), partition(0, [2])],
            "Partition reassignment contains duplicate topic partitions: foo-0",
        ),
        (
            [partition(0, [1, 1]), partition(1, [2, 3, 2, 3])],
            "Partition replica lists may not contain duplicate entries: foo-0 contains multiple entries for 1. "
            "foo-1 contains multiple entries for 2,3",
        ),
        (
            [partition(0, [1], log_dirs=["/a"])],
            "bootstrap-server needs to be provided in order to reassign replica to the specified log directory",
        ),
    ],
    ids=lambda value: None if isinstance(value, list) else "",
)
def test_assignments_that_are_refused(zk: KafkaZkClient, partitions: list[object], message: str) -> None:
    with pytest.raises(AdminCommandFailedException) as failure:
        execute(zk, partitions)
    assert str(failure.value) == message
    assert not zk.reassign_partitions_in_progress()


@pytest.mark.ported("AdminTest.testReassigningNonExistingPartition")
def test_a_partition_that_is_not_there(zk: KafkaZkClient, caplog: pytest.LogCaptureFixture) -> None:
    proposed = {tp("test-0"): [2, 3], tp("foo-9"): [2, 3]}
    moving = ReassignPartitionsCommand(zk, None, proposed, {}, AdminZkClient(zk))
    assert not moving.reassign_partitions()
    assert not zk.reassign_partitions_in_progress()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "Skipping reassignment of partition [test,0] since topic test doesn't exist",
        "Skipping reassignment of partition [foo,9] since it doesn't exist",
    ]


def test_a_second_one_has_to_wait(zk: KafkaZkClient) -> None:
    def moving(*replicas: int) -> ReassignPartitionsCommand:
        return ReassignPartitionsCommand(zk, None, {tp("foo-0"): replicas}, {}, AdminZkClient(zk))

    assert moving(2, 3).reassign_partitions()
    with pytest.raises(AdminCommandFailedException) as failure:
        moving(4, 5).reassign_partitions()
    assert str(failure.value) == (
        "Partition reassignment currently in progress for Map(foo-0 -> List(2, 3)). Aborting operation"
    )


@pytest.mark.ported("ReassignPartitionsIntegrationTest.testRackAwareReassign")
def test_generate_spreads_over_racks(zk: KafkaZkClient) -> None:
    replicas = {number: [number % 6, (number + 1) % 6, (number + 2) % 6] for number in range(18)}
    AdminZkClient(zk).create_or_update_topic_partition_assignment_path_in_zk("bar", replicas)
    text = '{"topics": [{"topic": "bar"}], "version":1}'
    proposed, current = ReassignPartitionsCommand.generate_assignment(zk, list(range(6)), text, False)
    assert {p.partition: ids for p, ids in current.items()} == replicas
    assert len(proposed) == 18
    for ids in proposed.values():
        assert len({RACKS[id] for id in ids}) == 3
    for id in range(6):
        assert sum(ids[0] == id for ids in proposed.values()) == 3
        assert sum(id in ids for ids in proposed.values()) == 9


def test_topics_that_are_named_twice(zk: KafkaZkClient) -> None:
    text = '{"topics": [{"topic": "foo"}, {"topic": "foo"}]}'
    with pytest.raises(AdminCommandFailedException, match="List of topics to reassign contains duplicate entries: foo"):
        ReassignPartitionsCommand.generate_assignment(zk, [1], text, True)


# -- Log directories -------------------------------------------------------------------------------------------------


class FakeAdminClient:
    """Brokers that answer once per request: why the replicas do not move, in turn."""

    def __init__(self, *answers: Mapping[str, Exception | None]) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.infos: dict[TopicPartitionReplica, ReplicaLogDirInfo] = {}

    def alter_replica_log_dirs(self, assignment: Mapping[TopicPartitionReplica, str]) -> object:
        self.asked.append({str(replica): log_dir for replica, log_dir in assignment.items()})
        answers = self._answers.pop(0) if self._answers else {}
        return {replica: answers.get(str(replica), ReplicaNotAvailableException()) for replica in assignment}

    def describe_replica_log_dirs(self, replicas: object) -> object:
        return self.infos


R0, R1 = TopicPartitionReplica("foo", 0, 3), TopicPartitionReplica("foo", 0, 4)


def moving_dirs(zk: KafkaZkClient, admin: FakeAdminClient, clock: Time) -> ReassignPartitionsCommand:
    proposed = {tp("foo-0"): [3, 4]}
    return ReassignPartitionsCommand(zk, cast("Any", admin), proposed, {R0: "/d0", R1: "/d1"}, AdminZkClient(zk), clock)


def test_brokers_are_asked_until_the_replicas_are_there(zk: KafkaZkClient) -> None:
    admin = FakeAdminClient({}, {"foo-0-3": None}, {}, {"foo-0-4": None})
    clock = MockTime()
    start = clock.milliseconds()
    assert moving_dirs(zk, admin, clock).reassign_partitions(timeout_ms=1000)
    both = {"foo-0-3": "/d0", "foo-0-4": "/d1"}
    assert admin.asked == [both, both, {"foo-0-4": "/d1"}, {"foo-0-4": "/d1"}]
    assert clock.milliseconds() - start == 300


def test_replicas_that_do_not_come_in_time(zk: KafkaZkClient) -> None:
    admin = FakeAdminClient({}, {"foo-0-3": None})
    assert not moving_dirs(zk, admin, MockTime()).reassign_partitions(timeout_ms=1000)
    assert len(admin.asked) == 11
    assert zk.reassign_partitions_in_progress()


@pytest.mark.ported(
    "ReassignPartitionsClusterTest.shouldFailIfProposedHasInvalidLogDir", changes="the broker's answer is given"
)
def test_a_directory_that_the_broker_does_not_have(zk: KafkaZkClient) -> None:
    admin = FakeAdminClient({"foo-0-3": LogDirNotFoundException("no such directory")})
    with pytest.raises(AdminCommandFailedException, match="Failed to alter dir for foo-0-3"):
        moving_dirs(zk, admin, MockTime()).reassign_partitions()
    assert not zk.reassign_partitions_in_progress()


def test_verify_log_dirs(zk: KafkaZkClient, capsys: Capture) -> None:
    admin = FakeAdminClient()
    places = {
        0: ReplicaLogDirInfo("/d"),
        1: ReplicaLogDirInfo("/x", 0, "/d", 5),
        2: ReplicaLogDirInfo("/x", 0, "/y", 5),
        3: ReplicaLogDirInfo("/x"),
        4: ReplicaLogDirInfo(None),
    }
    admin.infos = {TopicPartitionReplica("foo", 0, id): info for id, info in places.items()}
    zk.set_topic_assignment("foo", assignment(foo_0=range(6)))
    text = json.dumps({"partitions": [partition(0, list(range(6)), log_dirs=["/d"] * 6)]})
    ReassignPartitionsCommand.verify_assignment(zk, cast("Any", admin), text)
    assert capsys.readouterr().out.splitlines() == [
        "Status of partition reassignment: ",
        "Partition foo-0 on broker 2 is being moved to log dir /y instead of /d",
        "Partition foo-0 on broker 3 is not being moved from log dir /x to /d",
        "Partition foo-0 is not found in any live log dir on broker 4. There is likely offline log directory on the "
        "broker.",
        "Partition foo-0 is not found in any live log dir on broker 5.",
        "Reassignment of partition foo-0 completed successfully",
        "Reassignment of replica foo-0-0 completed successfully",
        "Reassignment of replica foo-0-1 is still in progress",
        *(f"Reassignment of replica foo-0-{id} failed" for id in (2, 3, 4, 5)),
    ]
    with pytest.raises(AdminCommandFailedException, match="bootstrap-server needs to be provided"):
        ReassignPartitionsCommand.verify_assignment(zk, None, text)


# -- The whole tool --------------------------------------------------------------------------------------------------


@pytest.fixture
def tool(zk: KafkaZkClient, zk_connect: str, tmp_path: pathlib.Path, capsys: Capture) -> Callable[..., list[str]]:
    def run(file: object, *arguments: str) -> list[str]:
        path = tmp_path / "file.json"
        path.write_text(json.dumps(file))
        line = [str(path) if word == "FILE" else word for word in arguments]
        assert reassign_partitions_command.main(["--zookeeper", zk_connect, *line]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def test_what_generate_prints_can_be_executed_and_verified(tool: Callable[..., list[str]]) -> None:
    topics = {"topics": [{"topic": "foo"}], "version": 1}
    lines = tool(topics, "--generate", "--topics-to-move-json-file", "FILE", "--broker-list", "3,4",
                 "--disable-rack-aware")  # fmt: skip
    assert lines[0] == "Current partition replica assignment"
    assert lines[2:4] == ["", "Proposed partition reassignment configuration"]
    proposed = json.loads(lines[4])
    assert {id for p in proposed["partitions"] for id in p["replicas"]} == {3, 4}
    assert [p["log_dirs"] for p in proposed["partitions"]] == [["any", "any"]] * 2
    assert tool(proposed, "--execute", "--reassignment-json-file", "FILE")[-1] == (
        "Successfully started reassignment of partitions."
    )
    assert tool(proposed, "--verify", "--reassignment-json-file", "FILE")[1:] == [
        "Reassignment of partition foo-0 is still in progress",
        "Reassignment of partition foo-1 is still in progress",
    ]


def test_what_goes_wrong_is_told(tool: Callable[..., list[str]]) -> None:
    generate = ("--generate", "--topics-to-move-json-file", "FILE", "--broker-list")
    assert tool({}, *generate, "1,2,1")[:2] == [
        "Partitions reassignment failed due to Broker list contains duplicate entries: 1",
        "kafka.common.AdminCommandFailedException: Broker list contains duplicate entries: 1",
    ]
    assert tool({}, *generate, "1,x")[0] == 'Partitions reassignment failed due to For input string: "x"'
    failed = tool(
        {"partitions": []}, "--execute", "--reassignment-json-file", "FILE", "--bootstrap-server", "127.0.0.1:1"
    )
    assert failed[0] == "Partitions reassignment failed due to Partition reassignment data file is empty"
