"""KafkaZkClient against both servers; ported from Kafka's KafkaZkClientTest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo, TopicPartitionStateZNode, ZkData, ZkStat, ZkVersion
from kafka_py.zookeeper.keeper_exception import Code, NodeExistsException, NoNodeException
from kafka_py.zookeeper.zoo_keeper import States
from kafka_py.zookeeper.zoo_keeper_client import (
    AsyncRequest,
    ResponseMetadata,
    SetDataRequest,
    SetDataResponse,
    ZNodeChangeHandler,
    ZooKeeperClient,
    ZooKeeperClientTimeoutException,
)

T0, T1 = TopicPartition("topic", 0), TopicPartition("topic", 1)


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    yield client
    client.close()


@pytest.fixture
def other(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    yield client
    client.close()


def info(broker_id: int, host: str = "test.host", port: int = 9999, rack: str | None = None) -> BrokerInfo:
    end_point = EndPoint(host, port, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT)
    return BrokerInfo(Broker(broker_id, (end_point,), rack), 4, port + 10)


def state(leader: int, isr: Sequence[int], zk_version: int = 0, leader_epoch: int = 0) -> LeaderAndIsr:
    return LeaderAndIsr(leader, leader_epoch, list(isr), zk_version)


@pytest.mark.ported(
    "KafkaZkClientTest.testSetAndGetConsumerOffset",
    "KafkaZkClientTest.testConsumerOffsetPath",
)
def test_consumer_offsets(zk: KafkaZkClient) -> None:
    assert zk.get_consumer_offset("group", T0) is None
    zk.set_or_create_consumer_offset("group", T0, 123)
    zk.set_or_create_consumer_offset("group", T0, 124)
    assert zk.get_consumer_offset("group", T0) == 124


@pytest.mark.ported("KafkaZkClientTest.testGetConsumerOffsetNoData")
def test_consumer_offset_without_data(zk: KafkaZkClient) -> None:
    zk.create_recursive("/consumers/group/offsets/topic/0")
    assert zk.get_consumer_offset("group", T0) is None


def test_delete_recursive_waits_once_for_each_level(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(5):
        zk.create_recursive(f"/many/partitions/{n}/state", b"")
    batches: list[int] = []
    handle_requests = zk._zoo_keeper_client.handle_requests

    def counted(requests: Any) -> Any:
        batches.append(len(requests))
        return handle_requests(requests)

    monkeypatch.setattr(zk._zoo_keeper_client, "handle_requests", counted)
    assert zk.delete_recursive("/many")
    assert batches == [1, 1, 5, 5, 5, 5, 1, 1], "children from the top, deletions from the bottom"
    assert not zk.path_exists("/many")


@pytest.mark.ported(
    "KafkaZkClientTest.testDeleteRecursive",
    "KafkaZkClientTest.testDeletePath",
)
def test_delete_recursive(zk: KafkaZkClient) -> None:
    zk.create_recursive("/a/b/c")
    zk.create_recursive("/a/d")
    assert zk.delete_recursive("/a")
    assert not zk.path_exists("/a")
    assert not zk.delete_path("/does-not-exist")
    zk.create_recursive("/a/b")
    assert zk.delete_path("/a")
    assert not zk.path_exists("/a")


@pytest.mark.ported("KafkaZkClientTest.testCreateRecursive")
def test_create_recursive(zk: KafkaZkClient) -> None:
    zk.create_recursive("/create-newrootpath")
    zk.create_recursive("/some/path")
    zk.create_recursive("/some/path", throw_if_path_exists=False)
    with pytest.raises(NodeExistsException):
        zk.create_recursive("/some/path")
    with pytest.raises(ValueError, match="Path must start with / character"):
        zk.create_recursive("create-invalid-path")


@pytest.mark.ported(
    "KafkaZkClientTest.testTopicAssignmentMethods",
    "KafkaZkClientTest.testDeleteTopicZNode",
)
def test_topic_assignments(zk: KafkaZkClient) -> None:
    assert zk.get_all_topics_in_cluster() == []
    assignment: dict[TopicPartition, Sequence[int]] = {T0: [0, 1], T1: [0, 1], TopicPartition("topic", 2): [1, 2, 3]}
    zk.create_topic_assignment("topic", assignment)
    assert zk.topic_exists("topic")
    assert not zk.topic_exists("other")
    assert zk.get_replica_assignment_for_topics({"topic"}) == assignment
    assert zk.get_partition_assignment_for_topics(["topic", "other"]) == {"topic": {0: [0, 1], 1: [0, 1], 2: [1, 2, 3]}}
    assert zk.get_partitions_for_topics({"topic"}) == {"topic": [0, 1, 2]}
    assert zk.get_replicas_for_partition(T1) == [0, 1]
    assert zk.get_replicas_for_partition(TopicPartition("topic", 9)) == []
    assert (zk.get_topic_partition_count("topic"), zk.get_topic_partition_count("other")) == (3, None)
    zk.set_topic_assignment("topic", {T0: [5]})
    assert zk.get_replica_assignment_for_topics({"topic"}) == {T0: [5]}
    with pytest.raises(NoNodeException):
        zk.set_topic_assignment("other", {})
    zk.create_topic_assignment("second", {})
    assert sorted(zk.get_all_topics_in_cluster()) == ["second", "topic"]
    zk.delete_topic_znode("topic")
    assert zk.get_all_topics_in_cluster() == ["second"]


@pytest.mark.ported(
    "KafkaZkClientTest.testGetDataAndStat",
    "KafkaZkClientTest.testGetDataAndVersion",
    "KafkaZkClientTest.testGetChildren",
)
def test_data_with_version_and_state(zk: KafkaZkClient) -> None:
    assert zk.get_data_and_version("/absent") == (None, ZkVersion.NO_VERSION)
    data, stat = zk.get_data_and_stat("/absent")
    assert data is None
    assert stat is ZkStat.NO_STAT
    zk.create_recursive("/node", b"version1")
    assert zk.get_data_and_version("/node") == (b"version1", 0)
    assert zk.get_data_and_stat("/node")[1].version == 0
    assert zk.get_children("/absent") == []
    zk.create_recursive("/node/child")
    assert zk.get_children("/node") == ["child"]


@pytest.mark.ported("KafkaZkClientTest.testConditionalUpdatePath")
def test_conditional_update(zk: KafkaZkClient) -> None:
    asked: list[Any] = []

    def checker(client: KafkaZkClient, path: str, data: bytes) -> tuple[bool, int]:
        asked.append((client, path, data))
        return True, 5

    assert zk.conditional_update_path("/node", b"x", 0) == (False, -1)
    zk.create_recursive("/node", b"old")
    assert zk.conditional_update_path("/node", b"new", 1) == (False, -1)
    assert zk.conditional_update_path("/node", b"new", 0) == (True, 1)
    assert zk.get_data_and_version("/node") == (b"new", 1)
    assert zk.conditional_update_path("/node", b"newer", 0, checker) == (True, 5)
    assert asked == [(zk, "/node", b"newer")]


@pytest.mark.ported("KafkaZkClientTest.testCreateSequentialPersistentPath")
def test_sequential_paths(zk: KafkaZkClient) -> None:
    zk.create_recursive("/seq")
    assert zk.create_sequential_persistent_path("/seq/n_", b"1") == "/seq/n_0000000000"
    assert zk.create_sequential_persistent_path("/seq/n_", b"2") == "/seq/n_0000000001"
    assert zk.get_data_and_version("/seq/n_0000000001")[0] == b"2"


@pytest.mark.ported(
    "KafkaZkClientTest.testIsrChangeNotificationGetters",
    "KafkaZkClientTest.testPropagateIsrChanges",
    "KafkaZkClientTest.testIsrChangeNotificationsDeletion",
)
def test_isr_change_notifications(zk: KafkaZkClient) -> None:
    assert zk.get_all_isr_change_notifications() == []
    zk.delete_isr_change_notifications()
    zk.create_recursive("/isr_change_notification")
    zk.propagate_isr_changes({T0, T1})
    zk.propagate_isr_changes({T0})
    zk.propagate_isr_changes({T1})
    assert sorted(zk.get_all_isr_change_notifications()) == ["0000000000", "0000000001", "0000000002"]
    assert set(zk.get_partitions_from_isr_change_notifications(["0000000000", "9999999999"])) == {T0, T1}
    zk.delete_isr_change_notifications(["0000000001"])
    assert sorted(zk.get_all_isr_change_notifications()) == ["0000000000", "0000000002"]
    zk.delete_isr_change_notifications()
    assert zk.get_all_isr_change_notifications() == []


@pytest.mark.ported(
    "KafkaZkClientTest.testLogDirEventNotificationsDeletion",
    "KafkaZkClientTest.testPropagateLogDir",
    "KafkaZkClientTest.testLogDirGetters",
)
def test_log_dir_events(zk: KafkaZkClient) -> None:
    assert zk.get_all_log_dir_event_notifications() == []
    zk.create_recursive("/log_dir_event_notification")
    for broker_id in (3, 4, 5):
        zk.propagate_log_dir_event(broker_id)
    numbers = sorted(zk.get_all_log_dir_event_notifications())
    assert zk.get_broker_ids_from_log_dir_events(numbers) == [3, 4, 5]
    zk.delete_log_dir_event_notifications(numbers[1:])
    assert zk.get_all_log_dir_event_notifications() == numbers[:1]
    zk.delete_log_dir_event_notifications()
    assert zk.get_all_log_dir_event_notifications() == []


@pytest.mark.ported(
    "KafkaZkClientTest.testSetGetAndDeletePartitionReassignment",
    "KafkaZkClientTest.testReassignPartitionsInProgress",
)
def test_partition_reassignment(zk: KafkaZkClient) -> None:
    zk.create_recursive("/admin")
    assert zk.get_partition_reassignment() == {}
    assert not zk.reassign_partitions_in_progress()
    for reassignment in ({T0: [0, 1], T1: [0]}, {T0: [4]}):
        zk.set_or_create_partition_reassignment(reassignment)
        assert zk.get_partition_reassignment() == reassignment
    assert zk.reassign_partitions_in_progress()
    with pytest.raises(NodeExistsException):
        zk.create_partition_reassignment({T0: [1]})
    zk.delete_partition_reassignment()
    assert zk.get_partition_reassignment() == {}
    zk.delete_partition_reassignment()
    zk.create_partition_reassignment({T0: [1]})
    assert zk.get_partition_reassignment() == {T0: [1]}


@pytest.mark.ported("KafkaZkClientTest.testDeleteTopicPathMethods")
def test_topic_deletions(zk: KafkaZkClient) -> None:
    assert zk.get_topic_deletions() == []
    for topic in ("t1", "t2"):
        zk.create_delete_topic_path(topic)
        assert zk.is_topic_marked_for_deletion(topic)
    with pytest.raises(NodeExistsException):
        zk.create_delete_topic_path("t1")
    assert sorted(zk.get_topic_deletions()) == ["t1", "t2"]
    zk.delete_topic_deletions(["t1", "t2"])
    assert zk.get_topic_deletions() == []


@pytest.mark.ported("KafkaZkClientTest.testEntityConfigManagementMethods")
def test_entity_configs(zk: KafkaZkClient) -> None:
    assert zk.get_entity_configs("topics", "t") == {}
    zk.set_or_create_entity_configs("topics", "t", {"retention.ms": "1000"})
    zk.set_or_create_entity_configs("topics", "t", {"retention.ms": "2000", "segment.bytes": "9"})
    zk.set_or_create_entity_configs("topics", "u", {})
    assert zk.get_entity_configs("topics", "t") == {"retention.ms": "2000", "segment.bytes": "9"}
    assert sorted(zk.get_all_entities_with_config("topics")) == ["t", "u"]
    zk.delete_topic_configs(["t", "absent"])
    assert zk.get_all_entities_with_config("topics") == ["u"]


@pytest.mark.ported("KafkaZkClientTest.testCreateConfigChangeNotification")
def test_config_change_notification(zk: KafkaZkClient) -> None:
    zk.create_config_change_notification("topics/t")
    assert zk.get_children("/config/changes") == ["config_change_0000000000"]
    data = zk.get_data_and_version("/config/changes/config_change_0000000000")[0]
    assert data == b'{"version":2,"entity_path":"topics/t"}'


@pytest.mark.ported("KafkaZkClientTest.testGetLogConfigs")
def test_log_configs(zk: KafkaZkClient) -> None:
    zk.set_or_create_entity_configs("topics", "t", {"segment.bytes": "2048"})
    configs, failed = zk.get_log_configs(["t", "plain"], {"segment.bytes": "4096"})
    assert failed == {}
    assert {topic: config.segment_size for topic, config in configs.items()} == {"t": 2048, "plain": 4096}


@pytest.mark.ported("KafkaZkClientTest.testRegisterBrokerInfo")
def test_register_broker(zk: KafkaZkClient, other: KafkaZkClient) -> None:
    zk.create_top_level_paths()
    zk.register_broker_in_zk(info(1))
    zk.register_broker_in_zk(info(1))  # by the same session it is no error
    assert zk.get_broker(1) == info(1).broker
    with pytest.raises(NodeExistsException):
        other.register_broker_in_zk(info(1, "elsewhere"))
    assert other.get_broker(1) == info(1).broker


@pytest.mark.ported("KafkaZkClientTest.testGetBrokerMethods")
def test_brokers(zk: KafkaZkClient) -> None:
    zk.create_top_level_paths()
    assert zk.get_all_brokers_in_cluster() == []
    assert zk.get_broker(0) is None
    for broker_id in (10, 2, 1):
        zk.register_broker_in_zk(info(broker_id))
    assert zk.get_sorted_broker_list() == [1, 2, 10]
    assert zk.get_all_brokers_in_cluster() == [info(i).broker for i in (1, 2, 10)]


def test_under_a_limit_no_request_is_queued_without_a_connection(
    zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = zk._zoo_keeper_client
    zk.limit_waits(0)
    zk.create_top_level_paths()  # a connection is no wait
    monkeypatch.setattr(ZooKeeperClient, "connection_state", States.CONNECTING)
    monkeypatch.setattr(client, "handle_requests", lambda requests: pytest.fail("queued"))
    with pytest.raises(ZooKeeperClientTimeoutException):
        zk.path_exists("/")
    assert [zk.is_connected] == [False]
    monkeypatch.undo()
    assert [zk.is_connected, zk.path_exists("/")] == [True, True]


def test_each_life_of_a_broker_has_an_epoch(zk: KafkaZkClient) -> None:
    zk.create_top_level_paths()
    zk.register_broker_in_zk(info(1))
    zk.register_broker_in_zk(info(2))
    first = zk.get_all_broker_and_epochs_in_cluster()
    assert first[info(1).broker] < first[info(2).broker]
    zk.update_broker_info_in_zk(info(2))  # is no new life
    zk.delete_path("/brokers/ids/1")
    zk.register_broker_in_zk(info(1))
    assert zk.get_all_broker_and_epochs_in_cluster()[info(1).broker] > first[info(2).broker]
    assert zk.get_all_broker_and_epochs_in_cluster()[info(2).broker] == first[info(2).broker]


@pytest.mark.ported("KafkaZkClientTest.testUpdateBrokerInfo")
def test_update_broker(zk: KafkaZkClient) -> None:
    zk.create_top_level_paths()
    with pytest.raises(NoNodeException):
        zk.update_broker_info_in_zk(info(1))
    zk.register_broker_in_zk(info(1))
    zk.update_broker_info_in_zk(info(1, "newhost", 9093, "rack"))
    assert zk.get_broker(1) == info(1, "newhost", 9093, "rack").broker


@pytest.mark.ported("ZKEphemeralTest.testEphemeralNodeCleanup")
def test_registration_ends_with_its_session(zk: KafkaZkClient, zk_connect: str) -> None:
    zk.create_top_level_paths()
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.register_broker_in_zk(info(1))
    assert zk.get_sorted_broker_list() == [1]
    client.close()
    assert zk.get_sorted_broker_list() == []


@pytest.mark.ported("KafkaZkClientTest.testUpdateLeaderAndIsr")
def test_update_leader_and_isr(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = zk.update_leader_and_isr({T0: state(1, [1])}, 4)
    assert isinstance(failed.failed_partitions[T0], NoNodeException)
    zk.create_recursive("/brokers/topics/topic")
    states = {tp: LeaderIsrAndControllerEpoch(state(1, [1, 2]), 4) for tp in (T0, T1)}
    created = zk.create_topic_partition_states_raw(states)
    assert [(response.result_code, response.ctx) for response in created] == [(Code.OK, T0), (Code.OK, T1)]
    result = zk.update_leader_and_isr({T0: state(2, [2], 0), T1: state(2, [2], 7)}, 4)
    assert list(result.successful_partitions) == [T0]
    assert result.successful_partitions[T0].zk_version == 1
    assert result.partitions_to_retry == [T1]
    assert result.failed_partitions == {}
    written = zk.get_topic_partition_state(T0)
    assert written is not None
    assert (written.controller_epoch, written.leader_and_isr.leader, written.leader_and_isr.isr) == (4, 2, [2])

    def broken(*args: object) -> list[SetDataResponse]:
        raise RuntimeError("broken")

    monkeypatch.setattr(zk, "set_topic_partition_states_raw", broken)
    assert set(zk.update_leader_and_isr({T0: state(1, [1])}, 4).failed_partitions) == {T0}


@pytest.mark.ported(
    "KafkaZkClientTest.testSetTopicPartitionStatesRaw",
    "KafkaZkClientTest.testCreateAndGetTopicPartitionStatesRaw",
    "KafkaZkClientTest.testGetTopicPartitionStates",
    "KafkaZkClientTest.testGetTopicsAndPartitions",
)
def test_partition_states(zk: KafkaZkClient) -> None:
    assert [r.result_code for r in zk.get_topic_partition_states_raw([T0])] == [Code.NONODE]
    assert zk.get_topic_partition_states([T0, T1]) == {}
    assert zk.get_leader_for_partition(T0) is None
    assert zk.get_all_partitions() == set()
    zk.create_recursive("/brokers/topics/topic")
    zk.create_topic_partition_states_raw({T0: LeaderIsrAndControllerEpoch(state(1, [1, 2]), 4)})
    new = {T0: LeaderIsrAndControllerEpoch(state(3, [3], 0), 5), T1: LeaderIsrAndControllerEpoch(state(3, [3], 0), 5)}
    assert [r.result_code for r in zk.set_topic_partition_states_raw(new)] == [Code.OK, Code.NONODE]
    found = zk.get_topic_partition_states([T0, T1])
    assert list(found) == [T0]
    assert found[T0].leader_and_isr.zk_version == 1
    assert zk.get_leader_for_partition(T0) == 3
    assert zk.get_all_partitions() == {T0}
    assert zk.path_exists(TopicPartitionStateZNode.path(T0))


@pytest.mark.ported("KafkaZkClientTest.testControllerEpochMethods")
def test_controller_epoch(zk: KafkaZkClient) -> None:
    assert not zk.get_controller_epoch()
    assert zk.create_controller_epoch_raw(0).result_code is Code.OK
    assert zk.create_controller_epoch_raw(0).result_code is Code.NODEEXISTS
    assert zk.set_controller_epoch_raw(1, 0).stat.version == 1
    assert zk.set_controller_epoch_raw(2, 0).result_code is Code.BADVERSION
    epoch, stat = zk.get_controller_epoch() or (0, ZkStat.NO_STAT)
    assert (epoch, stat.version) == (1, 1)


@pytest.mark.ported("KafkaZkClientTest.testControllerManagementMethods")
def test_controller(zk: KafkaZkClient, other: KafkaZkClient) -> None:
    assert zk.get_controller_id() is None
    zk.checked_ephemeral_create("/controller", b'{"version":1,"brokerid":8,"timestamp":"1"}')
    with pytest.raises(NodeExistsException):
        other.checked_ephemeral_create("/controller", b"{}")
    assert other.get_controller_id() == 8
    zk.delete_controller()
    assert zk.get_controller_id() is None
    zk.delete_controller()


def test_an_ephemeral_node_that_is_left_from_our_session_before_is_replaced(
    zk: KafkaZkClient, other: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    zk.create_top_level_paths()
    zk.register_broker_in_zk(info(1))
    other.register_broker_in_zk(info(2))
    # As after an expiry: the client goes on with another session, and the ensemble still keeps the node of the old one.
    monkeypatch.setattr(zk, "_zoo_keeper_client", other._zoo_keeper_client)
    zk.register_broker_in_zk(info(1, "new.host"))
    found = zk.get_broker(1)
    assert found is not None
    assert found.end_points[0].host == "new.host"
    _, stat = zk.get_data_and_stat("/brokers/ids/1")
    assert stat.ephemeral_owner == other._zoo_keeper_client.session_id


@pytest.mark.ported("KafkaZkClientTest.testZNodeChangeHandlerForDataChange")
def test_change_handler_with_existence_check(zk: KafkaZkClient) -> None:
    latch = CountDownLatch(1)

    class Handler(ZNodeChangeHandler):
        path = "/node"

        def handle_creation(self) -> None:
            latch.count_down()

    assert not zk.register_znode_change_handler_and_check_existence(Handler())
    zk.create_recursive("/node")
    assert latch.await_(10_000)
    assert zk.register_znode_change_handler_and_check_existence(Handler())


@pytest.mark.ported("KafkaZkClientTest.testClusterIdMethods")
def test_cluster_id(zk: KafkaZkClient) -> None:
    assert zk.get_cluster_id() is None
    assert zk.create_or_get_cluster_id("first") == "first"
    assert zk.create_or_get_cluster_id("second") == "first"
    assert zk.get_cluster_id() == "first"


@pytest.mark.ported("KafkaZkClientTest.testBrokerSequenceIdMethods")
def test_broker_sequence_ids(zk: KafkaZkClient) -> None:
    assert [zk.generate_broker_sequence_id() for _ in range(3)] == [1, 2, 3]


@pytest.mark.ported("KafkaZkClientTest.testCreateTopLevelPaths")
def test_top_level_paths(zk: KafkaZkClient) -> None:
    zk.create_top_level_paths()
    zk.create_top_level_paths()
    assert all(zk.path_exists(path) for path in ZkData.PERSISTENT_ZK_PATHS)


@pytest.mark.ported("KafkaZkClientTest.testPreferredReplicaElectionMethods")
def test_preferred_replica_election(zk: KafkaZkClient) -> None:
    assert zk.get_preferred_replica_election() == set()
    zk.create_preferred_replica_election({T0, T1})
    assert zk.get_preferred_replica_election() == {T0, T1}
    with pytest.raises(NodeExistsException):
        zk.create_preferred_replica_election({T0})
    zk.delete_preferred_replica_election()
    assert zk.get_preferred_replica_election() == set()
    zk.delete_preferred_replica_election()


class FakeZooKeeperClient:
    """Loses the connection for chosen paths, once each."""

    def __init__(self, lose: set[str]) -> None:
        self.lose = lose
        self.batches: list[list[str]] = []
        self.waits = 0
        self.must_wait_first = False

    def handle_requests(self, requests: Sequence[AsyncRequest[Any]]) -> list[SetDataResponse]:
        self.batches.append([request.path for request in requests])
        lost, self.lose = self.lose, set()
        responses = []
        for request in requests:
            code = Code.CONNECTIONLOSS if request.path in lost else Code.OK
            responses.append(SetDataResponse(code, request.path, None, ResponseMetadata(0, 1), replace_stat()))
        return responses

    def wait_until_connected(self) -> None:
        self.waits += 1

    def close(self) -> None:
        self.batches.clear()


def replace_stat() -> Any:
    return ZkStat.NO_STAT


def test_only_lost_requests_are_sent_again() -> None:
    fake: Any = FakeZooKeeperClient({"/b"})
    zk = KafkaZkClient(fake, False, Time.SYSTEM)
    responses = zk._retry_requests_until_connected([SetDataRequest(path, b"", -1) for path in ("/a", "/b", "/c")])
    assert fake.batches == [["/a", "/b", "/c"], ["/b"]]
    assert fake.waits == 1
    assert [response.path for response in responses] == ["/a", "/c", "/b"]
    zk.close()


def test_metrics_have_kafkas_names(zk_connect: str) -> None:
    client = ZooKeeperClient(zk_connect, 6000, 6000, 1, Time.SYSTEM, "kafka.server", "SessionExpireListener")
    zk = KafkaZkClient(client, False, Time.SYSTEM)
    assert "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs" in str(
        zk.metric_name("ZooKeeperRequestLatencyMs")
    )
    assert "kafka.server:type=SessionExpireListener,name=SessionState" in str(client.metric_name("SessionState"))
    zk.close()


def test_broker_info_is_a_value() -> None:
    assert replace(info(1), version=2) != info(1)


def test_a_closed_client_is_not_connected(zk_connect: str) -> None:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    assert client.is_connected
    client.close()
    assert not client.is_connected
