"""Who leads which partition, and where the brokers are.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/MetadataResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafka_py.common.cluster import Cluster
from kafka_py.common.errors import InvalidMetadataException
from kafka_py.common.node import Node
from kafka_py.common.partition_info import PartitionInfo
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage

_NOT_ASKED_FOR = -(1 << 31)  # authorized operations that nobody asked for


class MetadataResponse(ResponseMessage, key=ApiKeys.METADATA, latest=9, flexible=9):
    """Brokers, controller, and the partitions of topics.

    Mirrors: org.apache.kafka.common.requests.MetadataResponse
    Differs: the fields of TopicMetadata and PartitionMetadata are attributes.
    """

    NO_CONTROLLER_ID: ClassVar[int] = -1
    NOT_ASKED_FOR: ClassVar[int] = _NOT_ASKED_FOR

    class Broker(Message):
        """Where a broker is."""

        node_id: int = field(INT32)
        host: str = field(STRING)
        port: int = field(INT32)
        rack: str | None = field(NULLABLE_STRING, since=1, default=None)

    class Topic(ErrorEntry):
        """A topic as it is written: brokers by their ids."""

        class Partition(ErrorEntry):
            """A partition as it is written."""

            error_code: int = field(INT16)
            partition: int = field(INT32)
            leader: int = field(INT32, "The leader's broker id, -1 without one")
            leader_epoch: int = field(INT32, since=7, default=-1)
            replicas: list[int] = field(ListOf(INT32))
            isr: list[int] = field(ListOf(INT32))
            offline_replicas: list[int] = field(ListOf(INT32), since=5, default_factory=list)

        error_code: int = field(INT16)
        topic: str = field(STRING)
        is_internal: bool = field(BOOLEAN, "Whether Kafka keeps the topic for itself", since=1, default=False)
        partitions: list[Partition] = field(ListOf(Partition), wire="partition_metadata", default_factory=list)
        topic_authorized_operations: int = field(INT32, since=8, default=_NOT_ASKED_FOR)

    throttle_time_ms: int = field(INT32, since=3, default=0)
    broker_entries: list[Broker] = field(ListOf(Broker), wire="brokers", default_factory=list)
    cluster_id: str | None = field(NULLABLE_STRING, since=2, default=None)
    controller_id: int = field(INT32, "-1 if there is none among the brokers", since=1, default=-1)
    topics: list[Topic] = field(ListOf(Topic), wire="topic_metadata")
    cluster_authorized_operations: int = field(INT32, since=8, default=_NOT_ASKED_FOR)

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
        leader_epoch: int = -1

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
        authorized_operations: int = _NOT_ASKED_FOR

        def __str__(self) -> str:
            return (
                f"(type=TopicMetadata, error={self.error}, topic={self.topic}, "
                f"isInternal={str(self.is_internal).lower()}, partitionMetadata={self.partition_metadata})"
            )

        def __repr__(self) -> str:
            return str(self)

    def __init__(
        self,
        brokers: Sequence[Node],
        cluster_id: str | None,
        controller_id: int,
        topic_metadata: Sequence[TopicMetadata],
        throttle_time_ms: int = 0,
        cluster_authorized_operations: int = _NOT_ASKED_FOR,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.broker_entries = [self.Broker(node_id=n.id, host=n.host, port=n.port, rack=n.rack) for n in brokers]
        self.cluster_id = cluster_id
        known = any(broker.id == controller_id for broker in brokers)
        self.controller_id = controller_id if known else self.NO_CONTROLLER_ID
        self.topics = [_topic_entry(metadata) for metadata in topic_metadata]
        self.cluster_authorized_operations = cluster_authorized_operations

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(topic.error for topic in self.topics)

    def errors(self) -> dict[str, Errors]:
        """The errors of topics that have one."""
        return {t.topic: t.error for t in self.topics if t.error is not Errors.NONE}

    def topics_by_error(self, error: Errors) -> set[str]:
        """The topics that have a given error."""
        return {t.topic for t in self.topics if t.error is error}

    def unavailable_topics(self) -> set[str]:
        """The topics of which something is in motion, so that the client should ask again."""
        return {
            t.topic
            for t in self.topics
            if any(isinstance(e.error.exception(), InvalidMetadataException) for e in (t, *t.partitions))
        }

    def cluster(self) -> Cluster:
        """The same as a Cluster."""
        good = [m for m in self.topic_metadata() if m.error is Errors.NONE]
        return Cluster(
            self.cluster_id,
            self.brokers(),
            [
                PartitionInfo(m.topic, p.partition, p.leader, p.replicas, p.isr, p.offline_replicas)
                for m in good
                for p in m.partition_metadata
            ],
            self.topics_by_error(Errors.TOPIC_AUTHORIZATION_FAILED),
            {m.topic for m in good if m.is_internal},
            self.controller(),
        )

    def brokers(self) -> list[Node]:
        """The brokers that are alive."""
        return list(self._brokers_by_id().values())

    def _brokers_by_id(self) -> dict[int, Node]:
        return {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in self.broker_entries}

    def controller(self) -> Node | None:
        """The controller, if it is among the brokers."""
        return self._brokers_by_id().get(self.controller_id)

    def topic_metadata(self) -> list[TopicMetadata]:
        """The topics that were asked for, with the brokers that their ids stand for."""
        brokers = self._brokers_by_id()

        def nodes(ids: list[int]) -> list[Node]:
            return [brokers.get(id) or Node(id, "", -1) for id in ids]

        return [
            self.TopicMetadata(
                topic.error,
                topic.topic,
                topic.is_internal,
                [
                    self.PartitionMetadata(
                        partition.error,
                        partition.partition,
                        brokers.get(partition.leader),
                        nodes(partition.replicas),
                        nodes(partition.isr),
                        nodes(partition.offline_replicas),
                        partition.leader_epoch,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in self.topics
        ]


def _topic_entry(metadata: MetadataResponse.TopicMetadata) -> MetadataResponse.Topic:
    return MetadataResponse.Topic(
        error_code=metadata.error.code,
        topic=metadata.topic,
        is_internal=metadata.is_internal,
        partitions=[
            MetadataResponse.Topic.Partition(
                error_code=p.error.code,
                partition=p.partition,
                leader=p.leader_id(),
                replicas=[node.id for node in p.replicas],
                isr=[node.id for node in p.isr],
                offline_replicas=[node.id for node in p.offline_replicas],
                leader_epoch=p.leader_epoch,
            )
            for p in metadata.partition_metadata
        ],
        topic_authorized_operations=metadata.authorized_operations,
    )


def _join(nodes: list[Node]) -> str:
    return ",".join(map(str, nodes))
