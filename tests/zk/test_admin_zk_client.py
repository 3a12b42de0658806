"""AdminZkClient against both servers; ported from Kafka's AdminZkClientTest."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest

from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import (
    AdminOperationException,
    BrokerNotAvailableException,
    InvalidPartitionsException,
    InvalidReplicaAssignmentException,
    InvalidTopicException,
    TopicAlreadyMarkedForDeletionException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    yield client
    client.close()


@pytest.fixture
def admin(zk: KafkaZkClient) -> AdminZkClient:
    return AdminZkClient(zk)


def register(zk: KafkaZkClient, racks: Mapping[int, str | None]) -> None:
    for broker_id, rack in racks.items():
        end_point = EndPoint("host", 9092, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT)
        zk.register_broker_in_zk(BrokerInfo(Broker(broker_id, (end_point,), rack), 4, -1))


def test_two_that_grow_a_topic_at_once_do_not_take_each_others_partitions(
    zk: KafkaZkClient, admin: AdminZkClient
) -> None:
    brokers = [BrokerMetadata(0)]
    existing = {0: [0]}
    admin.create_or_update_topic_partition_assignment_path_in_zk("test", existing)
    admin.add_partitions("test", existing, brokers, 5)
    with pytest.raises(InvalidPartitionsException, match="increased to 5 in the meantime"):
        admin.add_partitions("test", existing, brokers, 3)
    assert zk.get_topic_partition_count("test") == 5


def test_a_topic_keeps_its_overrides_when_another_thread_creates_it_at_the_same_time(
    zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, created = CountDownLatch(1), CountDownLatch(1)
    configs: dict[str, dict[str, str]] = {"slow": {}, "fast": {"cleanup.policy": "compact"}}
    won: list[str] = []

    def create(name: str) -> None:
        try:
            create_in_zk = AdminZkClient(zk).create_or_update_topic_partition_assignment_path_in_zk
            create_in_zk("test", {0: [0]}, configs[name])
            won.append(name)
        except TopicExistsException:
            created.count_down()

    write = zk.set_or_create_entity_configs

    def give_the_fast_one_time(kind: str, topic: str, config: Mapping[str, str]) -> None:
        if threading.current_thread() is slow:
            checked.count_down()
            created.await_(100)
        write(kind, topic, config)

    monkeypatch.setattr(zk, "set_or_create_entity_configs", give_the_fast_one_time)
    slow = threading.Thread(target=create, args=["slow"], daemon=True)
    slow.start()
    assert checked.await_(10_000)
    create("fast")
    slow.join()
    (winner,) = won
    assert zk.get_entity_configs("topics", "test") == configs[winner]


@pytest.mark.ported("AdminZkClientTest.testManualReplicaAssignment")
def test_manual_assignments_are_checked(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    create = admin.create_or_update_topic_partition_assignment_path_in_zk
    bad: list[Mapping[int, Sequence[int]]] = [{0: [0, 0], 1: [0, 1]}, {0: [0, 1], 1: [0]}, {}]
    for assignment in bad:
        with pytest.raises(InvalidReplicaAssignmentException):
            create("test", assignment)
    good = {0: [0, 1, 2], 1: [1, 2, 3]}
    create("test", good)
    assert zk.get_partition_assignment_for_topics({"test"}) == {"test": good}


@pytest.mark.ported("AdminZkClientTest.testTopicCreationInZK")
def test_a_topic_is_created_once_with_its_config(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    register(zk, {0: None, 1: None, 2: None})
    admin.create_topic("test", 6, 3, {"segment.bytes": "2048"})
    assignment = zk.get_partition_assignment_for_topics({"test"})["test"]
    assert [sorted(assignment[partition]) for partition in range(6)] == [[0, 1, 2]] * 6
    assert admin.fetch_entity_config("topics", "test") == {"segment.bytes": "2048"}
    assert admin.get_all_topic_configs() == {"test": {"segment.bytes": "2048"}}
    with pytest.raises(TopicExistsException, match="Topic 'test' already exists"):
        admin.create_topic("test", 1, 1)


@pytest.mark.ported("AdminZkClientTest.testTopicCreationWithCollision")
def test_topics_whose_metrics_would_collide_are_refused(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    register(zk, {0: None})
    admin.create_topic("foo.bar", 1, 1)
    with pytest.raises(InvalidTopicException, match=r"Topic 'foo_bar' collides with existing topics: foo\.bar"):
        admin.create_topic("foo_bar", 1, 1)
    with pytest.raises(InvalidTopicException):
        admin.create_topic("no/slashes", 1, 1)


@pytest.mark.ported("AdminZkClientTest.testMockedConcurrentTopicCreation")
def test_a_topic_that_another_creates_at_the_same_time(
    zk: KafkaZkClient, admin: AdminZkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.create_or_update_topic_partition_assignment_path_in_zk("test.topic", {0: [0]})
    monkeypatch.setattr(zk, "topic_exists", lambda topic: False)
    with pytest.raises(TopicExistsException):
        admin.validate_create_or_update_topic("test.topic", {0: [0]}, {}, update=False)
    admin.create_or_update_topic_partition_assignment_path_in_zk("plain", {0: [0]})
    with pytest.raises(TopicExistsException):
        admin.create_or_update_topic_partition_assignment_path_in_zk("plain", {0: [0]})


def test_delete_topic(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    with pytest.raises(UnknownTopicOrPartitionException, match="Topic `test` to delete does not exist"):
        admin.delete_topic("test")
    admin.create_or_update_topic_partition_assignment_path_in_zk("test", {0: [0]})
    admin.delete_topic("test")
    assert zk.get_topic_deletions() == ["test"]
    with pytest.raises(TopicAlreadyMarkedForDeletionException, match="topic test is already marked for deletion"):
        admin.delete_topic("test")


def test_add_partitions(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    brokers = [BrokerMetadata(i) for i in range(3)]
    existing = {0: [1, 2]}
    admin.create_or_update_topic_partition_assignment_path_in_zk("test", existing)
    proposed = admin.add_partitions("test", existing, brokers, 3, validate_only=True)
    assert proposed == {0: [1, 2], 1: [2, 1], 2: [0, 2]}
    assert zk.get_topic_partition_count("test") == 1
    admin.add_partitions("test", existing, brokers, 3)
    assert zk.get_partition_assignment_for_topics({"test"}) == {"test": proposed}
    admin.add_partitions("test", proposed, brokers, 4, {3: [0, 2]})
    assert zk.get_partition_assignment_for_topics({"test"})["test"][3] == [0, 2]


@pytest.mark.parametrize(
    ("existing", "count", "new", "error"),
    [
        ({1: [0]}, 2, None, AdminOperationException),
        ({0: [0]}, 1, None, InvalidPartitionsException),
        ({0: [0]}, 2, {1: []}, InvalidReplicaAssignmentException),
        ({0: [0, 1]}, 2, {1: [1, 1]}, InvalidReplicaAssignmentException),
        ({0: [0, 1]}, 2, {1: [1]}, InvalidReplicaAssignmentException),
        ({0: [0]}, 2, {1: [9]}, BrokerNotAvailableException),
    ],
)
def test_partitions_that_cannot_be_added(
    admin: AdminZkClient,
    existing: dict[int, list[int]],
    count: int,
    new: dict[int, list[int]] | None,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        admin.add_partitions("test", existing, [BrokerMetadata(0), BrokerMetadata(1)], count, new)


@pytest.mark.ported("AdminZkClientTest.testTopicConfigChange", changes="without brokers that hear of it")
def test_a_config_change_is_written_and_told(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    with pytest.raises(AdminOperationException, match='Topic "test" does not exist'):
        admin.change_configs("topics", "test", {})
    admin.create_or_update_topic_partition_assignment_path_in_zk("test", {0: [0]})
    admin.change_configs("topics", "test", {"retention.ms": "1000"})
    assert admin.fetch_all_entity_configs("topics") == {"test": {"retention.ms": "1000"}}
    (note,) = zk.get_children("/config/changes")
    assert zk.get_data_and_version(f"/config/changes/{note}")[0] == b'{"version":2,"entity_path":"topics/test"}'
    with pytest.raises(ValueError, match="is not a known entityType"):
        admin.change_configs("nonsense", "test", {})
    with pytest.raises(ValueError, match="The broker's Entity Name must be a single integer value"):
        admin.change_configs("brokers", "x", {})


def test_configs_of_a_users_clients(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    zk.set_or_create_entity_configs("users", "u/clients/c", {"producer_byte_rate": "5"})
    assert admin.fetch_all_child_entity_configs("users", "clients") == {"u/clients/c": {"producer_byte_rate": "5"}}


@pytest.mark.ported("AdminZkClientTest.testGetBrokerMetadatas")
def test_broker_metadatas(zk: KafkaZkClient, admin: AdminZkClient) -> None:
    register(zk, {1: "r1", 0: None})
    without = [BrokerMetadata(0), BrokerMetadata(1)]
    with pytest.raises(AdminOperationException, match="Add --disable-rack-aware"):
        admin.get_broker_metadatas(RackAwareMode.Enforced)
    assert admin.get_broker_metadatas(RackAwareMode.Safe) == without
    assert admin.get_broker_metadatas(RackAwareMode.Disabled) == without
    assert admin.get_broker_metadatas(RackAwareMode.Enforced, [1]) == [BrokerMetadata(1, "r1")]
