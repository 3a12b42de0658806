"""Who leads which partition, and where the brokers are.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/MetadataResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.cluster import Cluster
from kafka_py.common.errors import InvalidMetadataException
from kafka_py.common.node import Node
from kafka_py.common.partition_info import PartitionInfo
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_response import AbstractResponse

BROKERS_KEY_NAME = "brokers"
TOPIC_METADATA_KEY_NAME = "topic_metadata"
NODE_ID_KEY_NAME = "node_id"
HOST_KEY_NAME = "host"
PORT_KEY_NAME = "port"
RACK_KEY_NAME = "rack"
CONTROLLER_ID_KEY_NAME = "controller_id"
CLUSTER_ID_KEY_NAME = "cluster_id"
IS_INTERNAL_KEY_NAME = "is_internal"
PARTITION_METADATA_KEY_NAME = "partition_metadata"
LEADER_KEY_NAME = "leader"
REPLICAS_KEY_NAME = "replicas"
ISR_KEY_NAME = "isr"
OFFLINE_REPLICAS_KEY_NAME = "offline_replicas"

METADATA_BROKER_V0 = Schema(
    Field(NODE_ID_KEY_NAME, INT32, "The broker's id"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(PORT_KEY_NAME, INT32, "The port"),
)

PARTITION_METADATA_V0 = Schema(
    ERROR_CODE,
    PARTITION_ID,
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
)

TOPIC_METADATA_V0 = Schema(ERROR_CODE, TOPIC_NAME, Field(PARTITION_METADATA_KEY_NAME, ArrayOf(PARTITION_METADATA_V0)))

METADATA_RESPONSE_V0 = Schema(
    Field(BROKERS_KEY_NAME, ArrayOf(METADATA_BROKER_V0)), Field(TOPIC_METADATA_KEY_NAME, ArrayOf(TOPIC_METADATA_V0))
)

METADATA_BROKER_V1 = Schema(
    Field(NODE_ID_KEY_NAME, INT32, "The broker's id"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(PORT_KEY_NAME, INT32, "The port"),
    Field(RACK_KEY_NAME, NULLABLE_STRING, "The rack, null if there is none"),
)

PARTITION_METADATA_V1 = PARTITION_METADATA_V0

PARTITION_METADATA_V2 = Schema(
    ERROR_CODE,
    PARTITION_ID,
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
    Field(OFFLINE_REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of replicas that are offline"),
)

TOPIC_METADATA_V1 = Schema(
    ERROR_CODE,
    TOPIC_NAME,
    Field(IS_INTERNAL_KEY_NAME, BOOLEAN, "Whether Kafka keeps the topic for itself"),
    Field(PARTITION_METADATA_KEY_NAME, ArrayOf(PARTITION_METADATA_V1)),
)

TOPIC_METADATA_V2 = Schema(
    ERROR_CODE,
    TOPIC_NAME,
    Field(IS_INTERNAL_KEY_NAME, BOOLEAN, "Whether Kafka keeps the topic for itself"),
    Field(PARTITION_METADATA_KEY_NAME, ArrayOf(PARTITION_METADATA_V2)),
)

METADATA_RESPONSE_V1 = Schema(
    Field(BROKERS_KEY_NAME, ArrayOf(METADATA_BROKER_V1)),
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(TOPIC_METADATA_KEY_NAME, ArrayOf(TOPIC_METADATA_V1)),
)

METADATA_RESPONSE_V2 = Schema(
    Field(BROKERS_KEY_NAME, ArrayOf(METADATA_BROKER_V1)),
    Field(CLUSTER_ID_KEY_NAME, NULLABLE_STRING, "The cluster's id"),
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(TOPIC_METADATA_KEY_NAME, ArrayOf(TOPIC_METADATA_V1)),
)

METADATA_RESPONSE_V3 = Schema(
    THROTTLE_TIME_MS,
    Field(BROKERS_KEY_NAME, ArrayOf(METADATA_BROKER_V1)),
    Field(CLUSTER_ID_KEY_NAME, NULLABLE_STRING, "The cluster's id"),
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(TOPIC_METADATA_KEY_NAME, ArrayOf(TOPIC_METADATA_V1)),
)

METADATA_RESPONSE_V4 = METADATA_RESPONSE_V3

METADATA_RESPONSE_V5 = Schema(
    THROTTLE_TIME_MS,
    Field(BROKERS_KEY_NAME, ArrayOf(METADATA_BROKER_V1)),
    Field(CLUSTER_ID_KEY_NAME, NULLABLE_STRING, "The cluster's id"),
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(TOPIC_METADATA_KEY_NAME, ArrayOf(TOPIC_METADATA_V2)),
)


class MetadataResponse(AbstractResponse):
    """Brokers, controller, and the partitions of topics.

    Mirrors: org.apache.kafka.common.requests.MetadataResponse
    Differs: the fields of TopicMetadata and PartitionMetadata are attributes.
    """

    __slots__ = ("_brokers", "_cluster_id", "_controller", "_throttle_time_ms", "_topic_metadata")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.METADATA
    NO_CONTROLLER_ID: ClassVar[int] = -1

    class PartitionMetadata(NamedTuple):
        """Leader and replicas of a partition; leader is None while there is none.

        Mirrors: org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata
        """

        error: Errors
        partition: int
        leader: Node | None
        replicas: list[Node]
        isr: list[Node]
        offline_replicas: list[Node]

        def leader_id(self) -> int:
            """The leader's broker id, -1 without one."""
            return -1 if self.leader is None else self.leader.id

        def __str__(self) -> str:
            return (
                f"(type=PartitionMetadata, error={self.error}, partition={self.partition}, "
                f"leader={'null' if self.leader is None else self.leader}, replicas={_join(self.replicas)}, "
                f"isr={_join(self.isr)}, offlineReplicas={_join(self.offline_replicas)})"
            )

        def __repr__(self) -> str:
            return str(self)

    class TopicMetadata(NamedTuple):
        """The partitions of a topic.

        Mirrors: org.apache.kafka.common.requests.MetadataResponse.TopicMetadata
        """

        error: Errors
        topic: str
        is_internal: bool
        partition_metadata: list[MetadataResponse.PartitionMetadata]

        def __str__(self) -> str:
            return (
                f"(type=TopicMetadata, error={self.error}, topic={self.topic}, "
                f"isInternal={str(self.is_internal).lower()}, partitionMetadata={self.partition_metadata})"
            )

        def __repr__(self) -> str:
            return str(self)

    def __init__(
        self,
        brokers: list[Node],
        cluster_id: str | None,
        controller_id: int,
        topic_metadata: list[TopicMetadata],
        throttle_time_ms: int = 0,
    ) -> None:
        self._brokers = brokers
        self._cluster_id = cluster_id
        self._controller = next((broker for broker in brokers if broker.id == controller_id), None)
        self._topic_metadata = topic_metadata
        self._throttle_time_ms = throttle_time_ms

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            METADATA_RESPONSE_V0,
            METADATA_RESPONSE_V1,
            METADATA_RESPONSE_V2,
            METADATA_RESPONSE_V3,
            METADATA_RESPONSE_V4,
            METADATA_RESPONSE_V5,
        ]

    @classmethod
    def from_struct(cls, struct: Struct) -> MetadataResponse:
        brokers = {}
        for b in struct.get(BROKERS_KEY_NAME):
            node = Node(
                b.get(NODE_ID_KEY_NAME), b.get(HOST_KEY_NAME), b.get(PORT_KEY_NAME), b.get_or_else(RACK_KEY_NAME, None)
            )
            brokers[node.id] = node

        def nodes(ids: list[int]) -> list[Node]:
            return [brokers.get(id) or Node(id, "", -1) for id in ids]

        topics = []
        for topic in struct.get(TOPIC_METADATA_KEY_NAME):
            partitions = [
                cls.PartitionMetadata(
                    Errors.for_code(partition.get(ERROR_CODE)),
                    partition.get(PARTITION_ID),
                    brokers.get(partition.get(LEADER_KEY_NAME)),
                    nodes(partition.get(REPLICAS_KEY_NAME)),
                    nodes(partition.get(ISR_KEY_NAME)),
                    nodes(partition.get_or_else(OFFLINE_REPLICAS_KEY_NAME, [])),
                )
                for partition in topic.get(PARTITION_METADATA_KEY_NAME)
            ]
            topics.append(
                cls.TopicMetadata(
                    Errors.for_code(topic.get(ERROR_CODE)),
                    topic.get(TOPIC_NAME),
                    topic.get_or_else(IS_INTERNAL_KEY_NAME, False),
                    partitions,
                )
            )
        return cls(
            list(brokers.values()),
            struct.get_or_else(CLUSTER_ID_KEY_NAME, None),
            struct.get_or_else(CONTROLLER_ID_KEY_NAME, cls.NO_CONTROLLER_ID),
            topics,
            struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME),
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.METADATA.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        brokers = []
        for node in self._brokers:
            broker = result.instance(BROKERS_KEY_NAME)
            broker.set(NODE_ID_KEY_NAME, node.id).set(HOST_KEY_NAME, node.host).set(PORT_KEY_NAME, node.port)
            brokers.append(broker.set_if_exists(RACK_KEY_NAME, node.rack))
        result.set(BROKERS_KEY_NAME, brokers)
        controller_id = self.NO_CONTROLLER_ID if self._controller is None else self._controller.id
        result.set_if_exists(CONTROLLER_ID_KEY_NAME, controller_id)
        result.set_if_exists(CLUSTER_ID_KEY_NAME, self._cluster_id)
        topics = []
        for metadata in self._topic_metadata:
            topic = result.instance(TOPIC_METADATA_KEY_NAME)
            topic.set(TOPIC_NAME, metadata.topic).set(ERROR_CODE, metadata.error.code)
            topic.set_if_exists(IS_INTERNAL_KEY_NAME, metadata.is_internal)
            partitions = []
            for p in metadata.partition_metadata:
                partition = topic.instance(PARTITION_METADATA_KEY_NAME)
                partition.set(ERROR_CODE, p.error.code).set(PARTITION_ID, p.partition)
                partition.set(LEADER_KEY_NAME, p.leader_id())
                partition.set(REPLICAS_KEY_NAME, [node.id for node in p.replicas])
                partition.set(ISR_KEY_NAME, [node.id for node in p.isr])
                partition.set_if_exists(OFFLINE_REPLICAS_KEY_NAME, [node.id for node in p.offline_replicas])
                partitions.append(partition)
            topics.append(topic.set(PARTITION_METADATA_KEY_NAME, partitions))
        return result.set(TOPIC_METADATA_KEY_NAME, topics)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def errors(self) -> dict[str, Errors]:
        """The errors of topics that have one."""
        return {m.topic: m.error for m in self._topic_metadata if m.error is not Errors.NONE}

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(metadata.error for metadata in self._topic_metadata)

    def topics_by_error(self, error: Errors) -> set[str]:
        """The topics that have a given error."""
        return {m.topic for m in self._topic_metadata if m.error is error}

    def unavailable_topics(self) -> set[str]:
        """The topics of which something is in motion, so that the client should ask again."""
        return {
            m.topic
            for m in self._topic_metadata
            if any(
                isinstance(error.exception(), InvalidMetadataException)
                for error in (m.error, *(p.error for p in m.partition_metadata))
            )
        }

    def cluster(self) -> Cluster:
        """The same as a Cluster."""
        good = [m for m in self._topic_metadata if m.error is Errors.NONE]
        return Cluster(
            self._cluster_id,
            self._brokers,
            [
                PartitionInfo(m.topic, p.partition, p.leader, p.replicas, p.isr, p.offline_replicas)
                for m in good
                for p in m.partition_metadata
            ],
            self.topics_by_error(Errors.TOPIC_AUTHORIZATION_FAILED),
            {m.topic for m in good if m.is_internal},
            self._controller,
        )

    def brokers(self) -> list[Node]:
        """The brokers that are alive."""
        return self._brokers

    def topic_metadata(self) -> list[TopicMetadata]:
        """The topics that were asked for."""
        return self._topic_metadata

    def controller(self) -> Node | None:
        """The controller, if it is among the brokers."""
        return self._controller

    def cluster_id(self) -> str | None:
        """The cluster's id."""
        return self._cluster_id


def _join(nodes: list[Node]) -> str:
    return ",".join(map(str, nodes))
