"""What the active controller knows of the cluster: brokers, topics, assignments, leaders.

Mirrors: core/src/main/scala/kafka/controller/ControllerContext.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_state import ControllerState
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup

if TYPE_CHECKING:
    from kafka_py.cluster.broker import Broker
    from kafka_py.controller.controller_channel_manager import ControllerChannelManager
    from kafka_py.controller.kafka_controller_reassignment import ReassignedPartitionsContext
    from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch

V = TypeVar("V")


class PartitionAndReplica(NamedTuple):
    """One copy of one partition, on one broker.

    Mirrors: kafka.controller.PartitionAndReplica
    """

    topic_partition: TopicPartition
    replica: int

    @property
    def topic(self) -> str:
        return self.topic_partition.topic

    @property
    def partition(self) -> int:
        return self.topic_partition.partition

    def __str__(self) -> str:
        return f"[Topic={self.topic},Partition={self.partition},Replica={self.replica}]"


class TopicPartitionMap(dict[TopicPartition, V], Generic[V]):
    """A dict by partition that finds the partitions of a topic without a look at all others.

    `partitionAssignments` of later Kafka (2.2) is a map of maps for the same reason: who asks for the partitions of a
    topic that is created or deleted would go through all partitions of the cluster each time.

    Thread: controller-event-thread.
    """

    def __init__(self, changed: set[TopicPartition]) -> None:
        """Each partition that is set or removed is put into `changed`."""
        super().__init__()
        self._changed = changed  # thread: event
        self._by_topic: dict[str, set[TopicPartition]] = {}  # thread: event

    def of_topic(self, topic: str) -> set[TopicPartition]:
        """The partitions of the topic that are in the map."""
        return set(self._by_topic.get(topic, ()))

    def __setitem__(self, key: TopicPartition, value: V) -> None:
        super().__setitem__(key, value)
        self._by_topic.setdefault(key.topic, set()).add(key)
        self._changed.add(key)

    def __delitem__(self, key: TopicPartition) -> None:
        super().__delitem__(key)
        self._forget(key)

    def pop(self, key: TopicPartition, *default: Any) -> Any:
        value = super().pop(key, *default)
        self._forget(key)
        return value

    def update(self, other: Mapping[TopicPartition, V]) -> None:  # type: ignore[override]
        for key, value in other.items():
            self[key] = value

    def clear(self) -> None:
        self._changed.update(self)
        self._by_topic.clear()
        super().clear()

    def replace(self, other: Mapping[TopicPartition, V]) -> None:
        """Hold what the other one holds."""
        self.clear()
        self.update(other)

    def _forget(self, key: TopicPartition) -> None:
        self._changed.add(key)
        partitions = self._by_topic.get(key.topic)
        if partitions is not None:
            partitions.discard(key)
            if not partitions:
                del self._by_topic[key.topic]


class ControllerStats(KafkaMetricsGroup):
    """Meters and timers of the controller: unclean elections, and how long each kind of event takes.

    Mirrors: kafka.controller.ControllerStats
    """

    def __init__(self) -> None:
        self.unclean_leader_election_rate = self.new_meter("UncleanLeaderElectionsPerSec", "elections")  # atomic
        self.rate_and_time_metrics = {
            state: self.new_timer(state.rate_and_time_metric_name)
            for state in ControllerState.values
            if state.rate_and_time_metric_name is not None
        }


class ControllerContext:
    """The controller's picture of the cluster, read from ZooKeeper at failover and kept up by events.

    Mirrors: kafka.controller.ControllerContext
    Thread:  all fields: controller-event-thread. The send threads only read ``epoch``, for their log lines.
    Differs: knows each live broker's epoch, the zxid of its registration, as from 2.2 on (KAFKA-7235): that tells a
        broker which has been away from one which has not, and the broker itself what is meant for it (KIP-380).
    Left out: liveBrokers_ -- brokers come with their epochs, see set_live_broker_and_epochs
    """

    def __init__(self) -> None:
        # Constants of KafkaController minus one: the first failover counts them up to 1.
        self.stats = ControllerStats()
        self.controller_channel_manager: ControllerChannelManager | None = None  # thread: event
        self.shutting_down_broker_ids: set[int] = set()  # thread: event
        self.epoch = 0  # volatile: controller-event-thread
        self.epoch_zk_version = 0  # thread: event
        self.all_topics: set[str] = set()  # thread: event
        # whose assignment, leader or deletion has changed since the gauges were last counted
        self.changed_partitions: set[TopicPartition] = set()  # thread: event
        self.partition_replica_assignment: TopicPartitionMap[list[int]] = TopicPartitionMap(
            self.changed_partitions
        )  # thread: event
        self.partition_leadership_info: TopicPartitionMap[LeaderIsrAndControllerEpoch] = TopicPartitionMap(
            self.changed_partitions
        )  # thread: event
        self.partitions_being_reassigned: dict[TopicPartition, ReassignedPartitionsContext] = {}  # thread: event
        self.replicas_on_offline_dirs: dict[int, set[TopicPartition]] = {}  # thread: event
        self._live_brokers_underlying: set[Broker] = set()  # thread: event
        self._live_broker_id_and_epochs_underlying: dict[int, int] = {}  # thread: event

    @property
    def live_brokers(self) -> set[Broker]:
        """Registered brokers, without those in controlled shutdown."""
        return {broker for broker in self._live_brokers_underlying if broker.id not in self.shutting_down_broker_ids}

    def set_live_broker_and_epochs(self, broker_and_epochs: Mapping[Broker, int]) -> None:
        """Forget the brokers known so far: these are all there are."""
        self._live_brokers_underlying = set(broker_and_epochs)
        self._live_broker_id_and_epochs_underlying = {broker.id: epoch for broker, epoch in broker_and_epochs.items()}

    def add_live_brokers_and_epochs(self, broker_and_epochs: Mapping[Broker, int]) -> None:
        """These brokers, whose ids were not known, are there too."""
        self._live_brokers_underlying = self._live_brokers_underlying | set(broker_and_epochs)
        self._live_broker_id_and_epochs_underlying |= {broker.id: epoch for broker, epoch in broker_and_epochs.items()}

    def remove_live_brokers_and_epochs(self, broker_ids: Collection[int]) -> None:
        """These brokers are gone."""
        self._live_brokers_underlying = {b for b in self._live_brokers_underlying if b.id not in broker_ids}
        for broker_id in broker_ids:
            del self._live_broker_id_and_epochs_underlying[broker_id]

    def update_broker_metadata(self, old_metadata: Broker, new_metadata: Broker) -> None:
        """The broker has other endpoints now; it has not been away."""
        self._live_brokers_underlying = (self._live_brokers_underlying - {old_metadata}) | {new_metadata}

    @property
    def live_broker_ids(self) -> set[int]:
        return self._live_broker_id_and_epochs_underlying.keys() - self.shutting_down_broker_ids

    @property
    def live_or_shutting_down_broker_ids(self) -> Set[int]:
        return self._live_broker_id_and_epochs_underlying.keys()

    @property
    def live_broker_id_and_epochs(self) -> dict[int, int]:
        """The epochs of all registered brokers, those in controlled shutdown among them."""
        return self._live_broker_id_and_epochs_underlying

    @property
    def live_or_shutting_down_brokers(self) -> set[Broker]:
        return self._live_brokers_underlying

    def partitions_on_broker(self, broker_id: int) -> set[TopicPartition]:
        return {tp for tp, replicas in self.partition_replica_assignment.items() if broker_id in replicas}

    def is_replica_online(
        self, broker_id: int, topic_partition: TopicPartition, include_shutting_down_brokers: bool = False
    ) -> bool:
        """True when the broker is live and the partition is not in one of its failed log directories."""
        ids = self.live_or_shutting_down_broker_ids if include_shutting_down_brokers else self.live_broker_ids
        return broker_id in ids and topic_partition not in self.replicas_on_offline_dirs.get(broker_id, ())

    def replicas_on_brokers(self, broker_ids: Collection[int]) -> set[PartitionAndReplica]:
        return {
            PartitionAndReplica(tp, broker_id)
            for tp, replicas in self.partition_replica_assignment.items()
            for broker_id in replicas
            if broker_id in broker_ids
        }

    def replicas_for_topic(self, topic: str) -> set[PartitionAndReplica]:
        return self.replicas_for_partition(self.partitions_for_topic(topic))

    def partitions_for_topic(self, topic: str) -> set[TopicPartition]:
        return self.partition_replica_assignment.of_topic(topic)

    def online_and_offline_replicas(self) -> tuple[set[PartitionAndReplica], set[PartitionAndReplica]]:
        """Every assigned replica: those that a live broker can serve, and the others."""
        online: set[PartitionAndReplica] = set()
        offline: set[PartitionAndReplica] = set()
        for tp, replicas in self.partition_replica_assignment.items():
            for id in replicas:
                (online if self.is_replica_online(id, tp) else offline).add(PartitionAndReplica(tp, id))
        return online, offline

    def replicas_for_partition(self, partitions: Collection[TopicPartition]) -> set[PartitionAndReplica]:
        """Every assigned copy of these partitions; KeyError for a partition without an assignment."""
        return {PartitionAndReplica(tp, id) for tp in partitions for id in self.partition_replica_assignment[tp]}

    def remove_topic(self, topic: str) -> None:
        for tp in self.partition_leadership_info.of_topic(topic):
            del self.partition_leadership_info[tp]
        for tp in self.partition_replica_assignment.of_topic(topic):
            del self.partition_replica_assignment[tp]
        self.all_topics = self.all_topics - {topic}
