"""What a client knows of the cluster.

Mirrors: clients/src/main/java/org/apache/kafka/common/Cluster.java @ 1.1.1
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping

from kafka_py.common.cluster_resource import ClusterResource
from kafka_py.common.node import Node
from kafka_py.common.partition_info import PartitionInfo
from kafka_py.common.topic_partition import TopicPartition


class Cluster:
    """An immutable picture of nodes, topics and partitions, indexed for look-up.

    Mirrors: org.apache.kafka.common.Cluster
    """

    def __init__(
        self,
        cluster_id: str | None,
        nodes: Collection[Node],
        partitions: Collection[PartitionInfo],
        unauthorized_topics: Iterable[str] = (),
        internal_topics: Iterable[str] = (),
        controller: Node | None = None,
        is_bootstrap_configured: bool = False,
    ) -> None:
        self._is_bootstrap_configured = is_bootstrap_configured
        self._cluster_resource = ClusterResource(cluster_id)
        # Shuffled, so that not every client asks the same node first.
        self._nodes = random.sample(list(nodes), len(nodes))
        self._nodes_by_id = {node.id: node for node in nodes}
        self._partitions_by_topic_partition = {TopicPartition(p.topic, p.partition): p for p in partitions}
        self._partitions_by_topic: dict[str, list[PartitionInfo]] = {}
        self._partitions_by_node: dict[int, list[PartitionInfo]] = {node.id: [] for node in nodes}
        for p in partitions:
            self._partitions_by_topic.setdefault(p.topic, []).append(p)
            if p.leader is not None:
                self._partitions_by_node[p.leader.id].append(p)
        self._available_partitions_by_topic = {
            topic: [p for p in infos if p.leader is not None] for topic, infos in self._partitions_by_topic.items()
        }
        self._unauthorized_topics = frozenset(unauthorized_topics)
        self._internal_topics = frozenset(internal_topics)
        self._controller = controller

    @staticmethod
    def empty() -> Cluster:
        """A cluster of which nothing is known."""
        return Cluster(None, [], [])

    @staticmethod
    def bootstrap(addresses: Iterable[tuple[str, int]]) -> Cluster:
        """A cluster of which only addresses are known; they get the ids -1, -2 and so on."""
        nodes = [Node(-1 - i, host, port) for i, (host, port) in enumerate(addresses)]
        return Cluster(None, nodes, [], is_bootstrap_configured=True)

    def with_partitions(self, partitions: Mapping[TopicPartition, PartitionInfo]) -> Cluster:
        """A copy with the given partitions added or replaced."""
        combined = {**self._partitions_by_topic_partition, **partitions}
        return Cluster(
            self._cluster_resource.cluster_id(),
            self._nodes,
            list(combined.values()),
            self._unauthorized_topics,
            self._internal_topics,
            self._controller,
        )

    def nodes(self) -> list[Node]:
        """The nodes in random order."""
        return self._nodes

    def node_by_id(self, id: int) -> Node | None:
        """The node of an id."""
        return self._nodes_by_id.get(id)

    def leader_for(self, topic_partition: TopicPartition) -> Node | None:
        """The leader, or None if the partition is unknown or has none."""
        info = self._partitions_by_topic_partition.get(topic_partition)
        return None if info is None else info.leader

    def partition(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        """What is known of a partition."""
        return self._partitions_by_topic_partition.get(topic_partition)

    def partitions_for_topic(self, topic: str) -> list[PartitionInfo]:
        """All partitions of a topic."""
        return self._partitions_by_topic.get(topic, [])

    def partition_count_for_topic(self, topic: str) -> int | None:
        """The number of partitions, or None for an unknown topic."""
        partitions = self._partitions_by_topic.get(topic)
        return None if partitions is None else len(partitions)

    def available_partitions_for_topic(self, topic: str) -> list[PartitionInfo]:
        """The partitions of a topic that have a leader."""
        return self._available_partitions_by_topic.get(topic, [])

    def partitions_for_node(self, node_id: int) -> list[PartitionInfo]:
        """The partitions that a node leads."""
        return self._partitions_by_node.get(node_id, [])

    def topics(self) -> set[str]:
        """The names of all topics."""
        return set(self._partitions_by_topic)

    def unauthorized_topics(self) -> frozenset[str]:
        """Topics that the client may not see."""
        return self._unauthorized_topics

    def internal_topics(self) -> frozenset[str]:
        """Topics that Kafka keeps for itself."""
        return self._internal_topics

    def is_bootstrap_configured(self) -> bool:
        """Whether only bootstrap addresses are known."""
        return self._is_bootstrap_configured

    def cluster_resource(self) -> ClusterResource:
        """The cluster's id."""
        return self._cluster_resource

    def controller(self) -> Node | None:
        """The controller, where known."""
        return self._controller

    def __str__(self) -> str:
        partitions = ", ".join(map(str, self._partitions_by_topic_partition.values()))
        return (
            f"Cluster(id = {self._cluster_resource.cluster_id() or 'null'}, nodes = {self._nodes}, "
            f"partitions = [{partitions}])"
        )
