"""The small values that everything is named by."""

from __future__ import annotations

import pytest

from kafka_py.common.cluster import Cluster
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.partition_info import PartitionInfo
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


def test_topic_partition() -> None:
    tp = TopicPartition("topic", 3)
    assert (str(tp), f"{tp}", str([tp])) == ("topic-3", "topic-3", "[topic-3]")
    assert {tp: 1}[TopicPartition("topic", 3)] == 1


def test_node() -> None:
    node = Node(1, "host", 9092, "r")
    assert str(node) == "host:9092 (id: 1 rack: r)"
    assert (node.id_string(), node.has_rack(), node.is_empty()) == ("1", True, False)
    assert str(Node.no_node()) == ":-1 (id: -1 rack: null)"
    assert Node.no_node().is_empty()


@pytest.mark.ported("PartitionInfoTest.testToString")
def test_partition_info() -> None:
    nodes = [Node(0, "h", 1), Node(1, "h", 2)]
    info = PartitionInfo("t", 2, nodes[0], nodes, nodes[:1], nodes[1:])
    assert (
        str(info)
        == "Partition(topic = t, partition = 2, leader = 0, replicas = [0,1], isr = [0], offlineReplicas = [1])"
    )
    assert "leader = none" in str(info._replace(leader=None))


@pytest.mark.ported("ClusterTest.testBootstrap")
def test_bootstrap_cluster() -> None:
    cluster = Cluster.bootstrap([("a", 1), ("b", 2)])
    assert sorted(cluster.nodes()) == [Node(-2, "b", 2), Node(-1, "a", 1)]
    assert cluster.is_bootstrap_configured()
    assert Cluster.empty().nodes() == []


def test_cluster() -> None:
    node = Node(0, "h", 1)
    info = PartitionInfo("t", 0, node, [node], [node])
    cluster = Cluster("id", [node], []).with_partitions({TopicPartition("t", 0): info})
    assert cluster.partition(TopicPartition("t", 0)) is info
    assert cluster.partitions_for_node(0) == cluster.partitions_for_topic("t") == [info]
    assert (cluster.partition_count_for_topic("t"), cluster.partition_count_for_topic("u")) == (1, None)
    assert cluster.leader_for(TopicPartition("u", 0)) is None
    assert cluster.node_by_id(0) == node
    assert str(cluster).startswith(
        "Cluster(id = id, nodes = [h:1 (id: 0 rack: null)], partitions = [Partition(topic = t"
    )


@pytest.mark.ported("KafkaPrincipalTest.testPrincipalNameCanContainSeparator")
def test_principal() -> None:
    principal = KafkaPrincipal.from_string("User:name:with:colons")
    assert (principal.get_principal_type(), principal.get_name()) == ("User", "name:with:colons")
    assert str(principal) == "User:name:with:colons"
    for text in ("", "User", ":name"):
        with pytest.raises(ValueError, match="principalType:principalName"):
            KafkaPrincipal.from_string(text)


@pytest.mark.ported("KafkaPrincipalTest.testEqualsAndHashCode")
def test_principals_are_equal_by_type_and_name() -> None:
    principal = KafkaPrincipal("User", "a")
    assert principal == KafkaPrincipal("User", "a", token_authenticated=True)
    assert hash(principal) == hash(KafkaPrincipal("User", "a"))
    assert principal not in (KafkaPrincipal("Group", "a"), KafkaPrincipal("User", "b"), "User:a", None)
    assert not KafkaPrincipal.ANONYMOUS.token_authenticated()


def test_security_protocol() -> None:
    assert SecurityProtocol.names() == ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    assert SecurityProtocol.for_id(3) is SecurityProtocol.SASL_SSL
    assert SecurityProtocol.for_id(9) is None
    assert SecurityProtocol.for_name("sasl_ssl") is SecurityProtocol.SASL_SSL
    with pytest.raises(ValueError, match=r"No enum constant org.apache.kafka.common.security.auth.SecurityProtocol.X"):
        SecurityProtocol.for_name("x")


def test_listener_name() -> None:
    name = ListenerName.normalised("external")
    assert (name.value(), str(name)) == ("EXTERNAL", "ListenerName(EXTERNAL)")
    assert name.config_prefix() == "listener.name.external."
    assert name.sasl_mechanism_config_prefix("SCRAM-SHA-256") == "listener.name.external.scram-sha-256."
    assert name == ListenerName("EXTERNAL")
    assert name != ListenerName("external")
    assert ListenerName.for_security_protocol(SecurityProtocol.SSL).value() == "SSL"


def test_isolation_level() -> None:
    assert IsolationLevel.for_id(1) is IsolationLevel.READ_COMMITTED
    with pytest.raises(ValueError, match="Unknown isolation level 2"):
        IsolationLevel.for_id(2)


def test_group_data_by_topic() -> None:
    data = {TopicPartition("a", 0): "x", TopicPartition("b", 0): "y", TopicPartition("a", 1): "z"}
    assert group_data_by_topic(data) == {"a": {0: "x", 1: "z"}, "b": {0: "y"}}
