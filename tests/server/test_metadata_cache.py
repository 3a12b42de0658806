"""The broker's copy of the cluster's state."""

from __future__ import annotations

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.metadata_cache import MetadataCache
from tests.server.kafka_apis_support import PLAINTEXT, update_metadata

SSL = ListenerName("SSL")


def cache(*args: object, **kwargs: object) -> MetadataCache:
    found = MetadataCache(1)
    found.update_cache(0, update_metadata(*args, **kwargs))  # type: ignore[arg-type]
    return found


@pytest.mark.ported("MetadataCacheTest.getTopicMetadataNonExistingTopics")
def test_a_topic_that_does_not_exist_is_left_out() -> None:
    assert MetadataCache(1).get_topic_metadata(["topic"], PLAINTEXT) == []


@pytest.mark.ported("MetadataCacheTest.getTopicMetadata")
def test_topic_metadata() -> None:
    found = cache(("t0", "t1"), partitions=3, leader=2, replicas=(0, 1, 2), brokers=(0, 1, 2), isr=(1, 2))
    [topic] = found.get_topic_metadata(["t0"], PLAINTEXT)
    assert (topic.error, topic.topic, topic.is_internal) == (Errors.NONE, "t0", False)
    assert [p.partition for p in topic.partition_metadata] == [0, 1, 2]
    partition = topic.partition_metadata[0]
    assert partition.error is Errors.NONE
    assert partition.leader == Node(2, "broker2", 9092)
    assert [n.id for n in partition.replicas] == [0, 1, 2]
    assert [n.id for n in partition.isr] == [1, 2]
    assert partition.offline_replicas == []


@pytest.mark.ported("MetadataCacheTest.getTopicMetadataPartitionLeaderNotAvailable")
def test_a_dead_leader() -> None:
    found = cache(("t",), leader=5, replicas=(0,), brokers=(0,))
    [topic] = found.get_topic_metadata(["t"], PLAINTEXT)
    [partition] = topic.partition_metadata
    assert partition.error is Errors.LEADER_NOT_AVAILABLE
    assert partition.leader is not None
    assert partition.leader.is_empty()
    assert partition.isr == []
    assert [n.id for n in partition.replicas] == [0]


@pytest.mark.ported("MetadataCacheTest.getTopicMetadataReplicaNotAvailable")
@pytest.mark.ported("MetadataCacheTest.getTopicMetadataIsrNotAvailable")
def test_a_dead_replica_is_an_error_for_version_0_only() -> None:
    found = cache(("t",), leader=0, replicas=(0, 1), brokers=(0,))
    [partition] = found.get_topic_metadata(["t"], PLAINTEXT, error_unavailable_endpoints=True)[0].partition_metadata
    assert partition.error is Errors.REPLICA_NOT_AVAILABLE
    assert [n.id for n in partition.replicas] == [0]
    [partition] = found.get_topic_metadata(["t"], PLAINTEXT)[0].partition_metadata
    assert partition.error is Errors.NONE
    assert [(n.id, n.host, n.port) for n in partition.replicas] == [(0, "broker0", 9092), (1, "", -1)]


@pytest.mark.ported("MetadataCacheTest.getTopicMetadataWithNonSupportedSecurityProtocol")
def test_a_leader_without_the_listener() -> None:
    [topic] = cache(("t",)).get_topic_metadata(["t"], SSL)
    assert topic.partition_metadata[0].error is Errors.LEADER_NOT_AVAILABLE


@pytest.mark.ported("MetadataCacheTest.getAliveBrokersShouldNotBeMutatedByUpdateCache")
def test_what_was_handed_out_does_not_change() -> None:
    found = cache(("t",), brokers=(0, 1, 2))
    before = found.get_alive_brokers()
    snapshot = found._snapshot
    found.update_cache(1, update_metadata(("t", "u"), brokers=(0,)))
    assert [b.id for b in sorted(before, key=lambda b: b.id)] == [0, 1, 2]
    assert [b.id for b in found.get_alive_brokers()] == [0]
    assert set(snapshot.cache) == {"t"}
    assert found.get_all_topics() == {"t", "u"}


def test_small_look_ups() -> None:
    found = cache(("t",), leader=2, replicas=(2,), brokers=(1, 2), controller=2)
    assert found.contains("t")
    assert not found.contains("u")
    assert found.contains_partition(TopicPartition("t", 0))
    assert not found.contains_partition(TopicPartition("t", 1))
    assert found.get_non_existing_topics(["t", "u"]) == {"u"}
    assert found.is_broker_alive(2)
    assert not found.is_broker_alive(3)
    assert found.get_controller_id() == 2
    assert found.get_partition_leader_endpoint("t", 0, PLAINTEXT) == Node(2, "broker2", 9092)
    assert found.get_partition_leader_endpoint("t", 0, SSL) == Node.no_node()
    assert found.get_partition_leader_endpoint("u", 0, PLAINTEXT) is None
    assert found.get_alive_brokers()[0].rack in ("rack1", "rack2")
    assert cache((), controller=-1).get_controller_id() is None


def test_deleted_partitions_go_and_are_answered() -> None:
    found = cache(("t", "u"), partitions=2)
    gone = found.update_cache(1, update_metadata(("t",), partitions=2, leader=LeaderAndIsr.LEADER_DURING_DELETE))
    assert gone == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert found.get_all_topics() == {"u"}
    assert found.update_cache(2, update_metadata(("v",), leader=LeaderAndIsr.LEADER_DURING_DELETE)) == [
        TopicPartition("v", 0)
    ]
    assert found.get_all_topics() == {"u"}


def test_brokers_with_different_listeners_are_told(caplog: pytest.LogCaptureFixture) -> None:
    request = update_metadata((), brokers=(1, 2))
    for broker in request.broker_entries:
        if broker.id == 2:
            broker.end_points[0].listener_name = SSL.value()
    MetadataCache(1).update_cache(0, request)
    assert any("Listeners are not identical across brokers" in message for message in caplog.messages)
