"""Where Kafka's nodes stand in ZooKeeper, and what their bytes mean.

Mirrors: core/src/main/scala/kafka/zk/ZkData.scala @ 1.1.1
Read next: zk/zk_data_admin.py (notifications and administrators' wishes), zk/kafka_zk_client.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import KafkaException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.server.config_type import ConfigType
from kafka_py.zk import scala_map_order
from kafka_py.zk.zk_data_admin import (
    AdminZNode,
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationSequenceZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationSequenceZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
)
from kafka_py.zk.zk_json import encode_as_bytes, parse_bytes, required
from kafka_py.zookeeper.zoo_defs import ACL, Ids, Stat

__all__ = [
    "AclChangeNotificationSequenceZNode",
    "AclChangeNotificationZNode",
    "AclZNode",
    "AdminZNode",
    "BrokerIdZNode",
    "BrokerIdsZNode",
    "BrokerInfo",
    "BrokerSequenceIdZNode",
    "BrokersZNode",
    "ClusterIdZNode",
    "ClusterZNode",
    "ConfigEntityChangeNotificationSequenceZNode",
    "ConfigEntityChangeNotificationZNode",
    "ConfigEntityTypeZNode",
    "ConfigEntityZNode",
    "ConfigZNode",
    "ConsumerOffset",
    "ControllerEpochZNode",
    "ControllerZNode",
    "DelegationTokenAuthZNode",
    "DelegationTokensZNode",
    "DeleteTopicsTopicZNode",
    "DeleteTopicsZNode",
    "IsrChangeNotificationSequenceZNode",
    "IsrChangeNotificationZNode",
    "LogDirEventNotificationSequenceZNode",
    "LogDirEventNotificationZNode",
    "PreferredReplicaElectionZNode",
    "ProducerIdBlockZNode",
    "ReassignPartitionsZNode",
    "ResourceTypeZNode",
    "StateChangeHandlers",
    "TopicPartitionStateZNode",
    "TopicPartitionZNode",
    "TopicPartitionsZNode",
    "TopicZNode",
    "TopicsZNode",
    "ZkData",
    "ZkStat",
    "ZkVersion",
]


class ControllerZNode:
    """The ephemeral node of the broker that is the controller.

    Mirrors: kafka.zk.ControllerZNode
    """

    path: Final = "/controller"

    @staticmethod
    def encode(broker_id: int, timestamp: int) -> bytes:
        """timestamp in ms since 1970; written as text."""
        return encode_as_bytes({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp)})

    @staticmethod
    def decode(data: bytes) -> int | None:
        """Id of the controller; None for what is no JSON."""
        fields = parse_bytes(data)
        return None if fields is None else int(required(fields, "brokerid"))


class ControllerEpochZNode:
    """How many controllers there have been, as decimal text.

    Mirrors: kafka.zk.ControllerEpochZNode
    """

    path: Final = "/controller_epoch"

    @staticmethod
    def encode(epoch: int) -> bytes:
        """Decimal text."""
        return str(epoch).encode()

    @staticmethod
    def decode(data: bytes) -> int:
        """The epoch; raises ValueError for other text."""
        return int(data)


class ConfigZNode:
    """Root of the dynamic configuration.

    Mirrors: kafka.zk.ConfigZNode
    """

    path: Final = "/config"


class BrokersZNode:
    """Root of brokers and topics.

    Mirrors: kafka.zk.BrokersZNode
    """

    path: Final = "/brokers"


class BrokerIdsZNode:
    """Parent of the live brokers' nodes.

    Mirrors: kafka.zk.BrokerIdsZNode
    """

    path: Final = f"{BrokersZNode.path}/ids"
    encode: Final[bytes | None] = None


@dataclass(frozen=True)
class BrokerInfo:
    """A broker with what only its registration knows: the format version and the JMX port.

    Mirrors: kafka.zk.BrokerInfo
    """

    broker: Broker
    version: int
    jmx_port: int

    @classmethod
    def create(cls, broker: Broker, api_version: Any, jmx_port: int) -> BrokerInfo:
        """Choose the format by the inter-broker protocol: 4 from 0.10.0-IV1 on, else 2, which 0.9 can still read."""
        from kafka_py.api.api_version import KAFKA_0_10_0_IV1  # api stands above zk

        return cls(broker, 4 if api_version >= KAFKA_0_10_0_IV1 else 2, jmx_port)

    @property
    def path(self) -> str:
        """Where the broker registers."""
        return BrokerIdZNode.path(self.broker.id)

    def to_json_bytes(self) -> bytes:
        """The node's data, stamped with the time of now."""
        return BrokerIdZNode.encode_broker_info(self)


class BrokerIdZNode:
    """The ephemeral node of one live broker.

    Mirrors: kafka.zk.BrokerIdZNode
    Differs: the second encode is encode_broker_info.
    """

    @staticmethod
    def path(broker_id: int) -> str:
        """/brokers/ids/ID."""
        return f"{BrokerIdsZNode.path}/{broker_id}"

    @staticmethod
    def encode(
        version: int,
        host: str | None,
        port: int,
        advertised_endpoints: Iterable[EndPoint],
        jmx_port: int,
        rack: str | None,
        timestamp_ms: int | None = None,
    ) -> bytes:
        """The registration; host and port are for clients that know of one plaintext listener only."""
        endpoints = list(advertised_endpoints)
        fields: dict[str, Any] = {
            "version": version,
            "host": host,
            "port": port,
            "endpoints": [endpoint.connection_string for endpoint in endpoints],
            "jmx_port": jmx_port,
            "timestamp": str(Time.SYSTEM.milliseconds() if timestamp_ms is None else timestamp_ms),
        }
        if rack is not None and version >= 3:
            fields["rack"] = rack
        if version >= 4:
            fields["listener_security_protocol_map"] = scala_map_order.immutable_map(
                {endpoint.listener_name.value(): endpoint.security_protocol.name for endpoint in endpoints}
            )
        return encode_as_bytes(scala_map_order.mutable_map(fields))

    @classmethod
    def encode_broker_info(cls, broker_info: BrokerInfo, timestamp_ms: int | None = None) -> bytes:
        """The registration, with the first plaintext listener as the one for old clients (null and -1 without one)."""
        broker = broker_info.broker
        plaintext = (e for e in broker.end_points if e.security_protocol == SecurityProtocol.PLAINTEXT)
        host, port = next(((e.host, e.port) for e in plaintext), (None, -1))
        return cls.encode(
            broker_info.version, host, port, broker.end_points, broker_info.jmx_port, broker.rack, timestamp_ms
        )

    @classmethod
    def decode(cls, broker_id: int, json_bytes: bytes) -> BrokerInfo:
        """Read a registration of version 1 (host and port), 2 (endpoints), 3 (rack) or 4 (listener names).

        Raises KafkaException for what is no JSON or has a version below 1.
        """
        try:
            fields = json.loads(json_bytes)
        except ValueError as e:
            raise KafkaException(
                f"Failed to parse ZooKeeper registration for broker {broker_id}: {_text(json_bytes)}"
            ) from e
        version = int(required(fields, "version"))
        if version < 1:
            raise KafkaException(f"Unsupported version of broker registration: {_text(json_bytes)}")
        broker = Broker(broker_id, tuple(cls._end_points(version, fields)), fields.get("rack"))
        return BrokerInfo(broker, version, int(required(fields, "jmx_port")))

    @staticmethod
    def _end_points(version: int, fields: dict[str, Any]) -> list[EndPoint]:
        if version == 1:
            protocol = SecurityProtocol.PLAINTEXT
            name = ListenerName.for_security_protocol(protocol)
            return [EndPoint(required(fields, "host"), int(required(fields, "port")), name, protocol)]
        names = fields.get("listener_security_protocol_map")
        protocols = None
        if names is not None:
            protocols = {ListenerName(name): SecurityProtocol.for_name(p) for name, p in names.items()}
        return [EndPoint.create_end_point(text, protocols) for text in required(fields, "endpoints")]


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


class TopicsZNode:
    """Parent of the topics.

    Mirrors: kafka.zk.TopicsZNode
    """

    path: Final = f"{BrokersZNode.path}/topics"


class TopicZNode:
    """A topic: which brokers hold each of its partitions.

    Mirrors: kafka.zk.TopicZNode
    """

    @staticmethod
    def path(topic: str) -> str:
        """/brokers/topics/TOPIC."""
        return f"{TopicsZNode.path}/{topic}"

    @staticmethod
    def encode(assignment: Mapping[TopicPartition, Iterable[int]]) -> bytes:
        """Replicas of each partition, the preferred leader first."""
        partitions = {str(tp.partition): list(replicas) for tp, replicas in assignment.items()}
        return encode_as_bytes({"version": 1, "partitions": scala_map_order.immutable_map(partitions)})

    @staticmethod
    def decode(topic: str, data: bytes) -> dict[TopicPartition, list[int]]:
        """Replicas of each partition; empty for what is no JSON or has no partitions."""
        partitions = (parse_bytes(data) or {}).get("partitions") or {}
        return {TopicPartition(topic, int(partition)): list(replicas) for partition, replicas in partitions.items()}


class TopicPartitionsZNode:
    """Parent of a topic's partitions.

    Mirrors: kafka.zk.TopicPartitionsZNode
    """

    @staticmethod
    def path(topic: str) -> str:
        """/brokers/topics/TOPIC/partitions."""
        return f"{TopicZNode.path(topic)}/partitions"


class TopicPartitionZNode:
    """One partition.

    Mirrors: kafka.zk.TopicPartitionZNode
    """

    @staticmethod
    def path(partition: TopicPartition) -> str:
        """/brokers/topics/TOPIC/partitions/N."""
        return f"{TopicPartitionsZNode.path(partition.topic)}/{partition.partition}"


class TopicPartitionStateZNode:
    """Who leads a partition and who keeps up with it; written by the controller and by the leader.

    Mirrors: kafka.zk.TopicPartitionStateZNode
    """

    @staticmethod
    def path(partition: TopicPartition) -> str:
        """/brokers/topics/TOPIC/partitions/N/state."""
        return f"{TopicPartitionZNode.path(partition)}/state"

    @staticmethod
    def encode(leader_isr_and_controller_epoch: LeaderIsrAndControllerEpoch) -> bytes:
        """Leader, leader epoch, controller epoch and ISR, in the order that Kafka's map has them."""
        state = leader_isr_and_controller_epoch.leader_and_isr
        return encode_as_bytes(
            {
                "controller_epoch": leader_isr_and_controller_epoch.controller_epoch,
                "leader": state.leader,
                "version": 1,
                "leader_epoch": state.leader_epoch,
                "isr": list(state.isr),
            }
        )

    @staticmethod
    def decode(data: bytes, stat: Stat) -> LeaderIsrAndControllerEpoch | None:
        """The state with the node's version in it; None for what is no JSON."""
        fields = parse_bytes(data)
        if fields is None:
            return None
        leader, epoch, isr = (required(fields, key) for key in ("leader", "leader_epoch", "isr"))
        return LeaderIsrAndControllerEpoch(
            LeaderAndIsr(int(leader), int(epoch), [int(replica) for replica in isr], stat.version),
            int(required(fields, "controller_epoch")),
        )


class ConfigEntityTypeZNode:
    """Parent of the configurations of one kind.

    Mirrors: kafka.zk.ConfigEntityTypeZNode
    """

    @staticmethod
    def path(entity_type: str) -> str:
        """/config/TYPE."""
        return f"{ConfigZNode.path}/{entity_type}"


class ConfigEntityZNode:
    """Overrides of one topic, client, user or broker.

    Mirrors: kafka.zk.ConfigEntityZNode
    """

    @staticmethod
    def path(entity_type: str, entity_name: str) -> str:
        """/config/TYPE/NAME."""
        return f"{ConfigEntityTypeZNode.path(entity_type)}/{entity_name}"

    @staticmethod
    def encode(config: Mapping[str, str]) -> bytes:
        """The overrides, in the order that java.util.Properties has them."""
        return encode_as_bytes({"version": 1, "config": scala_map_order.properties(config)})

    @staticmethod
    def decode(data: bytes | None) -> dict[str, str]:
        """The overrides; empty for a node without data, or with data of another shape."""
        fields = parse_bytes(data)
        config = fields.get("config") if isinstance(fields, dict) else None
        return {key: str(value) for key, value in config.items()} if isinstance(config, dict) else {}


class ConfigEntityChangeNotificationZNode:
    """Parent of the notes that a configuration has changed.

    Mirrors: kafka.zk.ConfigEntityChangeNotificationZNode
    """

    path: Final = f"{ConfigZNode.path}/changes"


class ConfigEntityChangeNotificationSequenceZNode:
    """One note that a configuration has changed.

    Mirrors: kafka.zk.ConfigEntityChangeNotificationSequenceZNode
    """

    SEQUENCE_NUMBER_PREFIX: Final = "config_change_"
    create_path: Final = f"{ConfigEntityChangeNotificationZNode.path}/{SEQUENCE_NUMBER_PREFIX}"

    @staticmethod
    def encode(sanitized_entity_path: str) -> bytes:
        """The path below /config, as `topics/T`."""
        return encode_as_bytes({"version": 2, "entity_path": sanitized_entity_path})


class ConsumerOffset:
    """Where an old consumer group stands in a partition.

    Mirrors: kafka.zk.ConsumerOffset
    """

    @staticmethod
    def path(group: str, topic: str, partition: int) -> str:
        """/consumers/GROUP/offsets/TOPIC/N."""
        return f"/consumers/{group}/offsets/{topic}/{partition}"

    @staticmethod
    def encode(offset: int) -> bytes:
        """Decimal text."""
        return str(offset).encode()

    @staticmethod
    def decode(data: bytes | None) -> int | None:
        """The offset; None for a node without data."""
        return None if data is None else int(data)


class ZkVersion:
    """Versions that are none.

    Mirrors: kafka.zk.ZkVersion
    """

    NO_VERSION: Final = -1


class ZkStat:
    """The state of a node that is not there.

    Mirrors: kafka.zk.ZkStat
    """

    NO_STAT: Final = Stat()


class StateChangeHandlers:
    """Names of the handlers around a new session.

    Mirrors: kafka.zk.StateChangeHandlers
    """

    CONTROLLER_HANDLER: Final = "controller-state-change-handler"

    @staticmethod
    def zk_node_change_listener_handler(seq_node_root: str) -> str:
        """Of the listener to that node's children."""
        return f"change-notification-{seq_node_root}"


class AclZNode:
    """Root of the access lists, one child for each type of resource.

    Mirrors: kafka.zk.AclZNode
    """

    path: Final = "/kafka-acl"


class ResourceTypeZNode:
    """Parent of the access lists of one type of resource.

    Mirrors: kafka.zk.ResourceTypeZNode
    """

    @staticmethod
    def path(resource_type: str) -> str:
        """/kafka-acl/TYPE."""
        return f"{AclZNode.path}/{resource_type}"


class AclChangeNotificationZNode:
    """Parent of the notes that access lists have changed.

    Mirrors: kafka.zk.AclChangeNotificationZNode
    """

    path: Final = "/kafka-acl-changes"


class AclChangeNotificationSequenceZNode:
    """One note that an access list has changed: the resource as plain text.

    Mirrors: kafka.zk.AclChangeNotificationSequenceZNode
    """

    SEQUENCE_NUMBER_PREFIX: Final = "acl_changes_"
    create_path: Final = f"{AclChangeNotificationZNode.path}/{SEQUENCE_NUMBER_PREFIX}"

    @staticmethod
    def delete_path(sequence_node: str) -> str:
        """The node of that name."""
        return f"{AclChangeNotificationZNode.path}/{sequence_node}"

    @staticmethod
    def encode(resource_name: str) -> bytes:
        """UTF-8."""
        return resource_name.encode()

    @staticmethod
    def decode(data: bytes) -> str:
        """UTF-8."""
        return data.decode()


class ClusterZNode:
    """Root of what belongs to the whole cluster.

    Mirrors: kafka.zk.ClusterZNode
    """

    path: Final = "/cluster"


class ClusterIdZNode:
    """The cluster's id.

    Mirrors: kafka.zk.ClusterIdZNode
    """

    path: Final = f"{ClusterZNode.path}/id"

    @staticmethod
    def to_json(cluster_id: str) -> bytes:
        """The version is text here, unlike everywhere else."""
        return encode_as_bytes({"version": "1", "id": cluster_id})

    @staticmethod
    def from_json(cluster_id_json: bytes) -> str:
        """The id; raises KafkaException for what is no JSON."""
        fields = parse_bytes(cluster_id_json)
        if fields is None:
            raise KafkaException(f"Failed to parse the cluster id json {_text(cluster_id_json)}")
        return str(required(fields, "id"))


class BrokerSequenceIdZNode:
    """Its version counts the broker ids that were generated.

    Mirrors: kafka.zk.BrokerSequenceIdZNode
    """

    path: Final = f"{BrokersZNode.path}/seqid"


class ProducerIdBlockZNode:
    """The block of producer ids that was handed out last.

    Mirrors: kafka.zk.ProducerIdBlockZNode
    """

    path: Final = "/latest_producer_id_block"


class DelegationTokenAuthZNode:
    """Root of the delegation tokens.

    Mirrors: kafka.zk.DelegationTokenAuthZNode
    """

    path: Final = "/delegation_token"


class DelegationTokensZNode:
    """Parent of the delegation tokens.

    Mirrors: kafka.zk.DelegationTokensZNode
    """

    path: Final = f"{DelegationTokenAuthZNode.path}/tokens"


class ZkData:
    """Which paths there are from the start, and who may see them.

    Mirrors: kafka.zk.ZkData
    """

    # A new top-level path of Kafka's must be added here.
    SECURE_ROOT_PATHS: ClassVar[tuple[str, ...]] = (
        AdminZNode.path,
        BrokersZNode.path,
        ClusterZNode.path,
        ConfigZNode.path,
        ControllerZNode.path,
        ControllerEpochZNode.path,
        IsrChangeNotificationZNode.path,
        AclZNode.path,
        AclChangeNotificationZNode.path,
        ProducerIdBlockZNode.path,
        LogDirEventNotificationZNode.path,
        DelegationTokenAuthZNode.path,
    )

    # What a broker creates at its start; the first is where old consumers keep their offsets.
    PERSISTENT_ZK_PATHS: ClassVar[tuple[str, ...]] = (
        "/consumers",
        BrokerIdsZNode.path,
        TopicsZNode.path,
        ConfigEntityChangeNotificationZNode.path,
        DeleteTopicsZNode.path,
        BrokerSequenceIdZNode.path,
        IsrChangeNotificationZNode.path,
        ProducerIdBlockZNode.path,
        LogDirEventNotificationZNode.path,
        *map(ConfigEntityTypeZNode.path, ConfigType.ALL),
    )

    SENSITIVE_ROOT_PATHS: ClassVar[tuple[str, ...]] = (
        ConfigEntityTypeZNode.path(ConfigType.USER),
        ConfigEntityTypeZNode.path(ConfigType.BROKER),
        DelegationTokensZNode.path,
    )

    @classmethod
    def sensitive_path(cls, path: str | None) -> bool:
        """Whether the node may hold secrets, so that not everyone may read it."""
        return path is not None and path.startswith(cls.SENSITIVE_ROOT_PATHS)

    @classmethod
    def default_acls(cls, is_secure: bool, path: str) -> list[ACL]:
        """Access list for a new node: open to all, or its creator's with read access for all but the secrets."""
        if not is_secure:
            return Ids.OPEN_ACL_UNSAFE
        return Ids.CREATOR_ALL_ACL + ([] if cls.sensitive_path(path) else Ids.READ_ACL_UNSAFE)
