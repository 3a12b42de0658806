"""The bytes of the nodes: as Kafka 1.1.1 writes them, and as it reads what others wrote."""

from __future__ import annotations

import pytest

from kafka_py.api.api_version import KAFKA_0_9_0, KAFKA_0_10_0_IV1
from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import KafkaException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.zk.zk_data import (
    BrokerIdZNode,
    BrokerInfo,
    ClusterIdZNode,
    ConfigEntityChangeNotificationSequenceZNode,
    ConfigEntityZNode,
    ConsumerOffset,
    ControllerEpochZNode,
    ControllerZNode,
    IsrChangeNotificationSequenceZNode,
    LogDirEventNotificationSequenceZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicZNode,
    ZkData,
)
from kafka_py.zookeeper.zoo_defs import Ids, Stat

TP = TopicPartition("t", 3)


def plaintext(host: str = "localhost", port: int = 9092) -> EndPoint:
    return EndPoint(host, port, ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT)


def test_controller() -> None:
    data = ControllerZNode.encode(0, 1530688013454)
    assert data == b'{"version":1,"brokerid":0,"timestamp":"1530688013454"}'
    assert ControllerZNode.decode(data) == 0
    assert ControllerZNode.decode(b"no json") is None
    assert ControllerEpochZNode.decode(ControllerEpochZNode.encode(12)) == 12


def test_broker_registration_of_version_4() -> None:
    info = BrokerInfo.create(Broker(1, (plaintext(),)), KAFKA_0_10_0_IV1, 9999)
    data = BrokerIdZNode.encode_broker_info(info, timestamp_ms=1530688013454)
    assert data == (
        b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://localhost:9092"],'
        b'"jmx_port":9999,"host":"localhost","timestamp":"1530688013454","port":9092,"version":4}'
    )
    assert BrokerIdZNode.decode(1, data) == info
    assert info.path == "/brokers/ids/1"
    assert BrokerIdZNode.decode(1, info.to_json_bytes()) == info


def test_broker_registration_with_rack_and_without_plaintext() -> None:
    listeners = (
        EndPoint("h", 1, ListenerName("CLIENT"), SecurityProtocol.SSL),
        EndPoint("h", 2, ListenerName("INTERNAL"), SecurityProtocol.SASL_SSL),
    )
    data = BrokerIdZNode.encode_broker_info(BrokerInfo(Broker(7, listeners, "dc1"), 4, -1), timestamp_ms=5)
    assert data == (
        b'{"listener_security_protocol_map":{"CLIENT":"SSL","INTERNAL":"SASL_SSL"},'
        b'"endpoints":["CLIENT://h:1","INTERNAL://h:2"],"rack":"dc1","jmx_port":-1,"host":null,"timestamp":"5",'
        b'"port":-1,"version":4}'
    )
    assert BrokerIdZNode.decode(7, data).broker == Broker(7, listeners, "dc1")


def test_old_inter_broker_protocol_registers_in_version_2() -> None:
    info = BrokerInfo.create(Broker(1, (plaintext(),), "rack"), KAFKA_0_9_0, -1)
    data = BrokerIdZNode.encode_broker_info(info, timestamp_ms=1)
    assert info.version == 2
    assert b"rack" not in data
    assert b"listener_security_protocol_map" not in data


def test_broker_registrations_that_cannot_be_read() -> None:
    with pytest.raises(KafkaException, match="Failed to parse ZooKeeper registration for broker 1: junk"):
        BrokerIdZNode.decode(1, b"junk")
    with pytest.raises(KafkaException, match="Unsupported version of broker registration"):
        BrokerIdZNode.decode(1, b'{"version":0}')


def test_topic() -> None:
    data = TopicZNode.encode({TopicPartition("t", 1): [1, 2], TopicPartition("t", 0): [2, 1]})
    assert data == b'{"version":1,"partitions":{"1":[1,2],"0":[2,1]}}'
    assert TopicZNode.decode("t", data) == {TopicPartition("t", 0): [2, 1], TopicPartition("t", 1): [1, 2]}
    assert TopicZNode.decode("t", b"") == TopicZNode.decode("t", b'{"version":1}') == {}
    many = TopicZNode.encode({TopicPartition("t", i): [0] for i in range(50)})
    assert many.startswith(b'{"version":1,"partitions":{"45":[0],"34":[0],"12":[0],"8":[0]')


def test_partition_state() -> None:
    state = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 5, [1, 2], 0), 9)
    data = TopicPartitionStateZNode.encode(state)
    assert data == b'{"controller_epoch":9,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2]}'
    read = TopicPartitionStateZNode.decode(data, Stat(version=7))
    assert read is not None
    assert read.controller_epoch == 9
    assert (read.leader_and_isr.leader, read.leader_and_isr.leader_epoch) == (1, 5)
    assert (list(read.leader_and_isr.isr), read.leader_and_isr.zk_version) == ([1, 2], 7)
    assert TopicPartitionStateZNode.decode(b"", Stat()) is None
    assert TopicPartitionStateZNode.path(TP) == "/brokers/topics/t/partitions/3/state"


def test_configuration() -> None:
    data = ConfigEntityZNode.encode({"retention.ms": "5", "cleanup.policy": "compact"})
    assert ConfigEntityZNode.decode(data) == {"retention.ms": "5", "cleanup.policy": "compact"}
    assert data.startswith(b'{"version":1,"config":{"')
    assert ConfigEntityZNode.encode({}) == b'{"version":1,"config":{}}'
    assert ConfigEntityZNode.decode(None) == ConfigEntityZNode.decode(b"[]") == {}
    assert ConfigEntityZNode.decode(b'{"config":7}') == {}
    note = ConfigEntityChangeNotificationSequenceZNode.encode("topics/t")
    assert note == b'{"version":2,"entity_path":"topics/t"}'


def test_notifications() -> None:
    isr = IsrChangeNotificationSequenceZNode
    data = isr.encode([TP])
    assert data == b'{"version":1,"partitions":[{"topic":"t","partition":3}]}'
    assert isr.decode(data) == {TP}
    assert isr.decode(b"") == set()
    assert isr.path() == "/isr_change_notification/isr_change_"
    assert isr.sequence_number(isr.path("0000000007")) == "0000000007"
    log_dir = LogDirEventNotificationSequenceZNode
    assert log_dir.encode(4) == b'{"version":1,"broker":4,"event":1}'
    assert log_dir.decode(log_dir.encode(4)) == 4
    assert log_dir.decode(b"") is None
    assert log_dir.sequence_number(log_dir.path("0000000002")) == "0000000002"


def test_wishes_of_administrators() -> None:
    data = ReassignPartitionsZNode.encode({TP: [1, 2]})
    assert data == b'{"version":1,"partitions":[{"topic":"t","partition":3,"replicas":[1,2]}]}'
    assert ReassignPartitionsZNode.decode(data) == {TP: [1, 2]}
    assert ReassignPartitionsZNode.decode(b"") == {}
    election = PreferredReplicaElectionZNode.encode({TP})
    assert election == b'{"version":1,"partitions":[{"topic":"t","partition":3}]}'
    assert PreferredReplicaElectionZNode.decode(election) == {TP}


def test_cluster_id_and_offsets() -> None:
    assert ClusterIdZNode.to_json("abc") == b'{"version":"1","id":"abc"}'
    assert ClusterIdZNode.from_json(ClusterIdZNode.to_json("abc")) == "abc"
    with pytest.raises(KafkaException, match="Failed to parse the cluster id json"):
        ClusterIdZNode.from_json(b"")
    assert ConsumerOffset.decode(ConsumerOffset.encode(123)) == 123
    assert ConsumerOffset.decode(None) is None
    assert ConsumerOffset.path("g", "t", 0) == "/consumers/g/offsets/t/0"


def test_secrets_are_for_their_creator_alone() -> None:
    assert ZkData.default_acls(False, "/config/users") == Ids.OPEN_ACL_UNSAFE
    assert ZkData.default_acls(True, "/brokers/ids") == Ids.CREATOR_ALL_ACL + Ids.READ_ACL_UNSAFE
    for path in ("/config/users/u", "/config/brokers/1", "/delegation_token/tokens/x"):
        assert ZkData.sensitive_path(path)
        assert ZkData.default_acls(True, path) == Ids.CREATOR_ALL_ACL
    assert "/config/topics" in ZkData.PERSISTENT_ZK_PATHS
    assert all(path.count("/") == 1 for path in ZkData.SECURE_ROOT_PATHS)
