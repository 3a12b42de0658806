"""What this broker knows of the cluster: live brokers, topics, leaders and replicas.

Mirrors: core/src/main/scala/kafka/server/MetadataCache.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.internals.topic import Topic
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest

    PartitionStates = dict[int, UpdateMetadataRequest.PartitionState]


class MetadataSnapshot:
    """The cache at one moment; never changed once it is published."""

    __slots__ = ("alive_brokers", "alive_nodes", "cache", "controller_id")

    def __init__(
        self,
        cache: dict[str, PartitionStates],
        controller_id: int | None,
        alive_brokers: dict[int, Broker],
        alive_nodes: dict[int, dict[ListenerName, Node]],
    ) -> None:
        """Take the four maps, which the caller gives away."""
        self.cache = cache
        self.controller_id = controller_id
        self.alive_brokers = alive_brokers
        self.alive_nodes = alive_nodes


class MetadataCache(Logging):
    """The copy of the cluster's state that the controller keeps up to date with UpdateMetadata requests.

    Mirrors: kafka.server.MetadataCache
    Thread: handlers read; the handler of an UpdateMetadata request writes.
    Locks: _partition_metadata_lock, only for writing.
    Differs: Kafka takes a read lock per look-up; here a reader takes the published snapshot, which an update
        replaces, for a lock would cost more than the look-up. contains(TopicPartition) is contains_partition.
    """

    def __init__(self, broker_id: int) -> None:
        """Start empty."""
        self.broker_id = broker_id
        self.log_ident = f"[MetadataCache brokerId={broker_id}] "
        self._partition_metadata_lock = ReentrantLock()
        self._snapshot = MetadataSnapshot({}, None, {}, {})  # volatile: handler of UpdateMetadata
        self._state_change_logger = StateChangeLogger(broker_id, in_controller_context=False)

    def _get_endpoints(
        self,
        snapshot: MetadataSnapshot,
        brokers: Iterable[int],
        listener_name: ListenerName,
        filter_unavailable_endpoints: bool,
    ) -> list[Node]:
        """Addresses of the brokers; a dead one is left out or shown without address."""
        result = []
        alive_nodes = snapshot.alive_nodes
        for broker_id in brokers:
            nodes = alive_nodes.get(broker_id)
            node = None if nodes is None else nodes.get(listener_name)
            if node is not None:
                result.append(node)
            elif not filter_unavailable_endpoints:
                result.append(Node(broker_id, "", -1))
        return result

    def _get_partition_metadata(
        self, snapshot: MetadataSnapshot, topic: str, listener_name: ListenerName, error_unavailable_endpoints: bool
    ) -> list[MetadataResponse.PartitionMetadata] | None:
        partitions = snapshot.cache.get(topic)
        if partitions is None:
            return None
        result = []
        for partition_id, state in partitions.items():
            base = state.base_partition_state
            replicas = self._get_endpoints(snapshot, base.replicas, listener_name, error_unavailable_endpoints)
            offline = self._get_endpoints(snapshot, state.offline_replicas, listener_name, error_unavailable_endpoints)
            leader = self._get_alive_endpoint(snapshot, base.leader, listener_name)
            isr: list[Node] = []
            if leader is None:
                self.debug("Error while fetching metadata for %s-%s: leader not available", topic, partition_id)
                error = Errors.LEADER_NOT_AVAILABLE
                leader = Node.no_node()
            else:
                isr = self._get_endpoints(snapshot, base.isr, listener_name, error_unavailable_endpoints)
                if len(replicas) < len(base.replicas) or len(isr) < len(base.isr):
                    self._debug_not_available(topic, partition_id, base.replicas, replicas, base.isr, isr)
                    error = Errors.REPLICA_NOT_AVAILABLE
                else:
                    error = Errors.NONE
            result.append(
                MetadataResponse.PartitionMetadata(
                    error, partition_id, leader, replicas, isr, offline, base.leader_epoch
                )
            )
        return result

    def _debug_not_available(
        self,
        topic: str,
        partition_id: int,
        replicas: Collection[int],
        replica_info: list[Node],
        isr: Collection[int],
        isr_info: list[Node],
    ) -> None:
        if not self.is_debug_enabled:
            return
        words, wanted, found = "replica", replicas, replica_info
        if len(replica_info) == len(replicas):
            words, wanted, found = "in sync replica", isr, isr_info
        missing = [broker for broker in wanted if broker not in {node.id for node in found}]
        self.debug(
            "Error while fetching metadata for %s-%s: %s information not available for following brokers %s",
            topic,
            partition_id,
            words,
            ",".join(map(str, missing)),
        )

    @staticmethod
    def _get_alive_endpoint(snapshot: MetadataSnapshot, broker_id: int, listener_name: ListenerName) -> Node | None:
        """None for a dead broker, and for one that has no such listener (yet)."""
        nodes = snapshot.alive_nodes.get(broker_id)
        return None if nodes is None else nodes.get(listener_name)

    def get_topic_metadata(
        self, topics: Iterable[str], listener_name: ListenerName, error_unavailable_endpoints: bool = False
    ) -> list[MetadataResponse.TopicMetadata]:
        """Metadata of those of the topics that exist; a dead replica is an error only where Metadata v0 wants it."""
        snapshot = self._snapshot
        result = []
        for topic in topics:
            partitions = self._get_partition_metadata(snapshot, topic, listener_name, error_unavailable_endpoints)
            if partitions is not None:
                result.append(MetadataResponse.TopicMetadata(Errors.NONE, topic, Topic.is_internal(topic), partitions))
        return result

    def get_all_topics(self) -> set[str]:
        """The names of all topics."""
        return set(self._snapshot.cache)

    def get_all_partitions(self) -> list[TopicPartition]:
        """All partitions of all topics [2.2]."""
        return [TopicPartition(topic, id) for topic, states in self._snapshot.cache.items() for id in states]

    def get_non_existing_topics(self, topics: Iterable[str]) -> set[str]:
        """Those of the names that no topic has."""
        cache = self._snapshot.cache
        return {topic for topic in topics if topic not in cache}

    @property
    def is_empty(self) -> bool:
        """Whether the controller has said nothing yet: whatever it says names a broker."""
        return not self._snapshot.alive_brokers

    def is_broker_alive(self, broker_id: int) -> bool:
        """Whether the controller counts the broker as alive."""
        return broker_id in self._snapshot.alive_brokers

    def get_alive_brokers(self) -> list[Broker]:
        """The brokers the controller counts as alive."""
        return list(self._snapshot.alive_brokers.values())

    def get_alive_broker_node(self, broker_id: int, listener_name: ListenerName) -> Node | None:
        """Where a broker that is alive has that listener; None for a dead one, and for one without it [3.0]."""
        return self._get_alive_endpoint(self._snapshot, broker_id, listener_name)

    def get_partition_info(self, topic: str, partition_id: int) -> UpdateMetadataRequest.PartitionState | None:
        """Leader, ISR and replicas of a partition; None for one that is not known."""
        partitions = self._snapshot.cache.get(topic)
        return None if partitions is None else partitions.get(partition_id)

    def get_partition_leader_endpoint(self, topic: str, partition_id: int, listener_name: ListenerName) -> Node | None:
        """Address of a partition's leader: None for an unknown partition, Node.no_node() for an unreachable leader."""
        snapshot = self._snapshot
        partitions = snapshot.cache.get(topic)
        info = None if partitions is None else partitions.get(partition_id)
        if info is None:
            return None
        return self._get_alive_endpoint(snapshot, info.base_partition_state.leader, listener_name) or Node.no_node()

    def get_controller_id(self) -> int | None:
        """The controller's broker id, if there is a controller."""
        return self._snapshot.controller_id

    def update_cache(self, correlation_id: int, update_metadata_request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Take over what the controller says; answers the partitions that are being deleted."""
        request = update_metadata_request
        with self._partition_metadata_lock:
            cache = dict(self._snapshot.cache)
            alive_brokers, alive_nodes = self._live_brokers(request)
            copied: set[str] = set()
            deleted_partitions = []
            tracing = self._state_change_logger.is_trace_enabled
            controller_id, controller_epoch = request.controller_id, request.controller_epoch
            for tp, info in request.partition_states().items():
                if tp.topic not in copied:
                    copied.add(tp.topic)
                    cache[tp.topic] = dict(cache.get(tp.topic, ()))
                if info.base_partition_state.leader == LeaderAndIsr.LEADER_DURING_DELETE:
                    self._remove_partition_info(cache, tp.topic, tp.partition)
                    if tp.topic not in cache:
                        copied.discard(tp.topic)
                    deleted_partitions.append(tp)
                    words = "Deleted partition %s from metadata cache in response to UpdateMetadata request"
                    shown: tuple[object, ...] = (tp,)
                else:
                    self._add_or_update_partition_info(cache, tp.topic, tp.partition, info)
                    words = "Cached leader info %s for partition %s in response to UpdateMetadata request"
                    shown = (info, tp)
                if tracing:
                    self._state_change_logger.trace(
                        words + " sent by controller %s epoch %s with correlation id %s",
                        *shown,
                        controller_id,
                        controller_epoch,
                        correlation_id,
                    )
            self._snapshot = MetadataSnapshot(
                cache, None if controller_id < 0 else controller_id, alive_brokers, alive_nodes
            )
            return deleted_partitions

    def _live_brokers(
        self, request: UpdateMetadataRequest
    ) -> tuple[dict[int, Broker], dict[int, dict[ListenerName, Node]]]:
        alive_brokers: dict[int, Broker] = {}
        alive_nodes: dict[int, dict[ListenerName, Node]] = {}
        for broker in request.live_brokers():
            end_points = tuple(
                EndPoint(ep.host, ep.port, ep.listener_name, ep.security_protocol) for ep in broker.end_points
            )
            alive_brokers[broker.id] = Broker(broker.id, end_points, broker.rack)
            # The rack is no part of a node here: Metadata answers of 1.1.1 carry none for replicas.
            alive_nodes[broker.id] = {ep.listener_name: Node(broker.id, ep.host or "", ep.port) for ep in end_points}
        own = alive_nodes.get(self.broker_id)
        if own is not None and any(nodes.keys() != own.keys() for nodes in alive_nodes.values()):
            self.error("Listeners are not identical across brokers: %s", alive_nodes)
        return alive_brokers, alive_nodes

    @staticmethod
    def _add_or_update_partition_info(
        cache: dict[str, PartitionStates],
        topic: str,
        partition_id: int,
        state_info: UpdateMetadataRequest.PartitionState,
    ) -> None:
        cache.setdefault(topic, {})[partition_id] = state_info

    @staticmethod
    def _remove_partition_info(cache: dict[str, PartitionStates], topic: str, partition_id: int) -> bool:
        infos = cache.get(topic)
        if infos is None:
            return False
        infos.pop(partition_id, None)
        if not infos:
            del cache[topic]
        return True

    def contains(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return topic in self._snapshot.cache

    def contains_partition(self, tp: TopicPartition) -> bool:
        """Whether there is such a partition."""
        return self.get_partition_info(tp.topic, tp.partition) is not None

    @classmethod
    def zk_metadata_cache(cls, broker_id: int) -> MetadataCache:
        """A cache fed by UpdateMetadata requests: what makes one in 3.6, which has one fed by the metadata log, too."""
        return cls(broker_id)
