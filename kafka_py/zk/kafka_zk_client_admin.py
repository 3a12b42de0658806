"""What brokers, administrators and the controller tell each other through ZooKeeper.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala @ 1.1.1 (configurations, notifications, deletions,
reassignments, elections and the old consumers' offsets)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.zk.kafka_zk_client_base import KafkaZkClientBase
from kafka_py.zk.zk_data import (
    ConfigEntityChangeNotificationSequenceZNode,
    ConfigEntityChangeNotificationZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ConsumerOffset,
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationSequenceZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationSequenceZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    ZkVersion,
)
from kafka_py.zookeeper.keeper_exception import Code, NodeExistsException
from kafka_py.zookeeper.requests import (
    CreateRequest,
    DeleteRequest,
    GetChildrenRequest,
    GetDataRequest,
    SetDataRequest,
    SetDataResponse,
)
from kafka_py.zookeeper.zoo_defs import CreateMode

# What decoding raises for JSON of another shape.
_UNREADABLE = (ValueError, TypeError, AttributeError)


class KafkaZkClientAdmin(KafkaZkClientBase):
    """The part of KafkaZkClient that carries wishes and news: see there."""

    # ----- configurations -----

    def get_entity_configs(self, root_entity_type: str, sanitized_entity_name: str) -> dict[str, str]:
        """Overrides of one entity, empty when it has none."""
        path = ConfigEntityZNode.path(root_entity_type, sanitized_entity_name)
        return ConfigEntityZNode.decode(self._data_or_none(path))

    def set_or_create_entity_configs(
        self, root_entity_type: str, sanitized_entity_name: str, config: Mapping[str, str]
    ) -> None:
        """Write the overrides; of two that do so at once the later wins."""
        path = ConfigEntityZNode.path(root_entity_type, sanitized_entity_name)
        data = ConfigEntityZNode.encode(config)
        response = self._set(path, data)
        if response.result_code is not Code.NONODE:
            response.maybe_throw()
            return
        try:
            self.create_recursive(path, data)
        except NodeExistsException:
            self._set(path, data).maybe_throw()

    def _set(self, path: str, data: bytes) -> SetDataResponse:
        return self._retry_request_until_connected(SetDataRequest(path, data, ZkVersion.NO_VERSION))

    def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        """Names of the entities of that type that have a node."""
        return self._names(ConfigEntityTypeZNode.path(entity_type))

    def create_config_change_notification(self, sanitized_entity_path: str) -> None:
        """Tell all brokers that the configuration below that path has changed."""
        self.make_sure_persistent_path_exists(ConfigEntityChangeNotificationZNode.path)
        self.create_sequential_persistent_path(
            ConfigEntityChangeNotificationSequenceZNode.create_path,
            ConfigEntityChangeNotificationSequenceZNode.encode(sanitized_entity_path),
        )

    # ----- log directories that failed -----

    def propagate_log_dir_event(self, broker_id: int) -> None:
        """Tell the controller that a log directory of that broker has failed."""
        path = self.create_sequential_persistent_path(
            LogDirEventNotificationSequenceZNode.path(""), LogDirEventNotificationSequenceZNode.encode(broker_id)
        )
        self.debug("Added %s for broker %d", path, broker_id)

    @property
    def get_all_log_dir_event_notifications(self) -> list[str]:
        """Numbers of the notes that wait."""
        names = self._names(LogDirEventNotificationZNode.path)
        return [LogDirEventNotificationSequenceZNode.sequence_number(name) for name in names]

    def get_broker_ids_from_log_dir_events(self, sequence_numbers: Sequence[str]) -> list[int]:
        """Ids of the brokers that those notes name."""
        paths = [LogDirEventNotificationSequenceZNode.path(number) for number in sequence_numbers]
        ids = (LogDirEventNotificationSequenceZNode.decode(data) for data in self._data_of(paths))
        return [broker_id for broker_id in ids if broker_id is not None]

    def delete_log_dir_event_notifications(self, sequence_numbers: Sequence[str] | None = None) -> None:
        """Delete the notes of those numbers, or all of them."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_log_dir_event_notifications
        self._delete([LogDirEventNotificationSequenceZNode.path(number) for number in sequence_numbers])

    # ----- ISRs that changed -----

    def propagate_isr_changes(self, isr_change_set: Collection[TopicPartition]) -> None:
        """Tell the controller which partitions have another ISR now."""
        path = self.create_sequential_persistent_path(
            IsrChangeNotificationSequenceZNode.path(), IsrChangeNotificationSequenceZNode.encode(isr_change_set)
        )
        self.debug("Added %s for %s", path, isr_change_set)

    @property
    def get_all_isr_change_notifications(self) -> list[str]:
        """Numbers of the notes that wait."""
        names = self._names(IsrChangeNotificationZNode.path)
        return [IsrChangeNotificationSequenceZNode.sequence_number(name) for name in names]

    def get_partitions_from_isr_change_notifications(self, sequence_numbers: Sequence[str]) -> list[TopicPartition]:
        """The partitions that those notes name."""
        paths = [IsrChangeNotificationSequenceZNode.path(number) for number in sequence_numbers]
        return [tp for data in self._data_of(paths) for tp in IsrChangeNotificationSequenceZNode.decode(data)]

    def delete_isr_change_notifications(self, sequence_numbers: Sequence[str] | None = None) -> None:
        """Delete the notes of those numbers, or all of them."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_isr_change_notifications
        self._delete([IsrChangeNotificationSequenceZNode.path(number) for number in sequence_numbers])

    # ----- topics to delete -----

    def create_delete_topic_path(self, topic_name: str) -> None:
        """Ask the controller to delete the topic; raises NodeExistsException when that was asked already."""
        self.create_recursive(DeleteTopicsTopicZNode.path(topic_name))

    def is_topic_marked_for_deletion(self, topic: str) -> bool:
        """Whether the topic is to be deleted."""
        return self.path_exists(DeleteTopicsTopicZNode.path(topic))

    @property
    def get_topic_deletions(self) -> list[str]:
        """Names of the topics to delete."""
        return self._names(DeleteTopicsZNode.path)

    def delete_topic_deletions(self, topics: Sequence[str]) -> None:
        """Forget the wish to delete those topics."""
        self._delete([DeleteTopicsTopicZNode.path(topic) for topic in topics])

    # ----- partitions to move -----

    @property
    def get_partition_reassignment(self) -> dict[TopicPartition, list[int]]:
        """Partitions to move, with their new replicas; none if what is written there cannot be read."""
        data = self._data_or_none(ReassignPartitionsZNode.path)
        try:
            return {} if data is None else ReassignPartitionsZNode.decode(data)
        except _UNREADABLE as e:
            self.warn("Ignoring partition reassignment due to invalid json: %s", e)
            return {}

    def set_or_create_partition_reassignment(self, reassignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Write the partitions to move; raises KeeperException."""
        path, data = ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode(reassignment)
        response = self._set(path, data)
        if response.result_code is Code.NONODE:
            request = CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT)
            self._retry_request_until_connected(request).maybe_throw()
        else:
            response.maybe_throw()

    def create_partition_reassignment(self, reassignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Ask the controller to move partitions; raises NodeExistsException while it is moving others."""
        self.create_recursive(ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode(reassignment))

    def delete_partition_reassignment(self) -> None:
        """Forget what was to move."""
        self._delete([ReassignPartitionsZNode.path])

    def reassign_partitions_in_progress(self) -> bool:
        """Whether partitions are being moved."""
        return self.path_exists(ReassignPartitionsZNode.path)

    # ----- preferred leaders -----

    def create_preferred_replica_election(self, partitions: Collection[TopicPartition]) -> None:
        """Ask the controller to give leadership back to the first replicas; raises NodeExistsException."""
        self.create_recursive(PreferredReplicaElectionZNode.path, PreferredReplicaElectionZNode.encode(partitions))

    @property
    def get_preferred_replica_election(self) -> set[TopicPartition]:
        """The partitions for which that was asked; none if what is written there cannot be read."""
        data = self._data_or_none(PreferredReplicaElectionZNode.path)
        try:
            return set() if data is None else PreferredReplicaElectionZNode.decode(data)
        except _UNREADABLE as e:
            self.warn("Ignoring preferred replica election due to invalid json: %s", e)
            return set()

    def delete_preferred_replica_election(self) -> None:
        """Forget that it was asked."""
        self._delete([PreferredReplicaElectionZNode.path])

    # ----- offsets of old consumers -----

    def get_consumer_offset(self, group: str, topic_partition: TopicPartition) -> int | None:
        """Committed offset of the group, None when there is none."""
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        return ConsumerOffset.decode(self._data_or_none(path))

    def set_or_create_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> None:
        """Commit the offset for the group."""
        response = self._set_consumer_offset(group, topic_partition, offset)
        if response.result_code is Code.NONODE:
            self._create_consumer_offset(group, topic_partition, offset)
        else:
            response.maybe_throw()

    def _set_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> SetDataResponse:
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        return self._set(path, ConsumerOffset.encode(offset))

    def _create_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> None:
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        self.create_recursive(path, ConsumerOffset.encode(offset))

    # ----- what they share -----

    def _names(self, path: str) -> list[str]:
        response = self._retry_request_until_connected(GetChildrenRequest(path))
        if response.result_code is Code.NONODE:
            return []
        response.maybe_throw()
        return response.children

    def _data_or_none(self, path: str) -> bytes | None:
        response = self._retry_request_until_connected(GetDataRequest(path))
        if response.result_code is Code.NONODE:
            return None
        response.maybe_throw()
        return response.data

    def _data_of(self, paths: Sequence[str]) -> list[bytes]:
        """Data of those of the nodes that exist and have any."""
        found = []
        for response in self._retry_requests_until_connected([GetDataRequest(path) for path in paths]):
            if response.result_code is Code.NONODE:
                continue
            response.maybe_throw()
            if response.data is not None:
                found.append(response.data)
        return found

    def _delete(self, paths: Sequence[str]) -> None:
        """Delete the nodes; one that is not there is as good as deleted, and other errors show at the next read."""
        self._retry_requests_until_connected([DeleteRequest(path, ZkVersion.NO_VERSION) for path in paths])
