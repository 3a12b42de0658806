"""What administrators do in ZooKeeper: topics, partitions and configurations.

Mirrors: core/src/main/scala/kafka/zk/AdminZkClient.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.common.errors import (
    AdminOperationException,
    BrokerNotAvailableException,
    IllegalArgumentException,
    InvalidPartitionsException,
    InvalidReplicaAssignmentException,
    InvalidTopicException,
    TopicAlreadyMarkedForDeletionException,
    TopicExistsException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.internals.topic import Topic
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.config_type import ConfigEntityName, ConfigType
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import TopicZNode
from kafka_py.zookeeper.keeper_exception import NodeExistsException

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

Assignment = Mapping[int, Sequence[int]]


class AdminZkClient(Logging):
    """Checks what an administrator wants, and writes it where the controller and the brokers look for it.

    Mirrors: kafka.zk.AdminZkClient
    Locks: _topics_lock, one for all of a process, is held while ZooKeeper is asked: no other lock is taken under it
    Differs: the overload of changeBrokerConfig for one broker or the default is change_broker_config with an int or
        None in place of the list. Two threads do not create or grow topics at the same time: in the original the
        overrides of a topic that is refused can replace those of its namesake that was created meanwhile, and of two
        that grow a topic the later can take the partitions of the other out of the assignment, records and all.
    """

    logger_name = "kafka.zk.AdminZkClient"
    _topics_lock: ClassVar[ReentrantLock] = ReentrantLock()

    def __init__(self, zk_client: KafkaZkClient) -> None:
        """Work through that client."""
        self._zk_client = zk_client

    # ----- topics -----

    def create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        topic_config: Mapping[str, str] | None = None,
        rack_aware_mode: RackAwareMode = RackAwareMode.Enforced,
    ) -> None:
        """Create a topic with replicas on the live brokers; see the methods it calls for what they raise."""
        broker_metadatas = self.get_broker_metadatas(rack_aware_mode)
        replica_assignment = AdminUtils.assign_replicas_to_brokers(broker_metadatas, partitions, replication_factor)
        self.create_or_update_topic_partition_assignment_path_in_zk(topic, replica_assignment, topic_config or {})

    def get_broker_metadatas(
        self, rack_aware_mode: RackAwareMode = RackAwareMode.Enforced, broker_list: Sequence[int] | None = None
    ) -> list[BrokerMetadata]:
        """The live brokers (of the list) by id, with their racks where the mode wants them.

        Raises AdminOperationException when racks are enforced and only some of the brokers have one.
        """
        brokers = self._zk_client.get_all_brokers_in_cluster()
        if broker_list is not None:
            brokers = [broker for broker in brokers if broker.id in broker_list]
        with_rack = sum(1 for broker in brokers if broker.rack is not None)
        if rack_aware_mode is RackAwareMode.Enforced and 0 < with_rack < len(brokers):
            raise AdminOperationException(
                "Not all brokers have rack information. Add --disable-rack-aware in command line"
                " to make replica assignment without rack information."
            )
        without = rack_aware_mode is RackAwareMode.Disabled or with_rack < len(brokers)
        metadatas = [BrokerMetadata(broker.id, None if without else broker.rack) for broker in brokers]
        return sorted(metadatas, key=lambda metadata: metadata.id)

    def create_or_update_topic_partition_assignment_path_in_zk(
        self,
        topic: str,
        partition_replica_assignment: Assignment,
        config: Mapping[str, str] | None = None,
        update: bool = False,
    ) -> None:
        """Write a topic's assignment, and for a new topic its configuration before that (two writes, not one)."""
        config = config or {}
        with self._topics_lock:
            self.validate_create_or_update_topic(topic, partition_replica_assignment, config, update)
            if not update:
                self._zk_client.set_or_create_entity_configs(ConfigType.TOPIC, topic, config)
            self._write_topic_partition_assignment(topic, partition_replica_assignment, update)

    def validate_create_or_update_topic(
        self, topic: str, partition_replica_assignment: Assignment, config: Mapping[str, str], update: bool
    ) -> None:
        """Check before a write.

        Raises InvalidTopicException, TopicExistsException, InvalidReplicaAssignmentException, and for a new topic what
        LogConfig.validate raises.
        """
        Topic.validate(topic)
        if not update:
            self._check_name_is_free(topic)
        replicas = list(partition_replica_assignment.values())
        if len({len(r) for r in replicas}) != 1:
            raise InvalidReplicaAssignmentException("All partitions should have the same number of replicas")
        if any(len(r) != len(set(r)) for r in replicas):
            raise InvalidReplicaAssignmentException(
                f"Duplicate replica assignment found: {_scala_map(partition_replica_assignment)}"
            )
        if not update:
            from kafka_py.log.log_config import LogConfig  # log stands beside zk: only the checks of overrides need it

            LogConfig.validate(config)

    def _check_name_is_free(self, topic: str) -> None:
        if self._zk_client.topic_exists(topic):
            raise TopicExistsException(f"Topic '{topic}' already exists.")
        if not Topic.has_collision_chars(topic):
            return
        all_topics = self._zk_client.get_all_topics_in_cluster()
        if topic in all_topics:  # created in the meantime: it must not be said to collide with itself
            raise TopicExistsException(f"Topic '{topic}' already exists.")
        colliding = [other for other in all_topics if Topic.has_collision(topic, other)]
        if colliding:
            raise InvalidTopicException(f"Topic '{topic}' collides with existing topics: {', '.join(colliding)}")

    def _write_topic_partition_assignment(self, topic: str, replica_assignment: Assignment, update: bool) -> None:
        assignment = {TopicPartition(topic, partition): replicas for partition, replicas in replica_assignment.items()}
        try:
            if update:
                self.info("Topic update %s", assignment)
                self._zk_client.set_topic_assignment(topic, assignment)
            else:
                self.info("Topic creation %s", assignment)
                self._zk_client.create_topic_assignment(topic, assignment)
            self.debug("Updated path %s with %s for replica assignment", TopicZNode.path(topic), assignment)
        except NodeExistsException as e:
            raise TopicExistsException(f"Topic '{topic}' already exists.") from e
        except Exception as e:
            raise AdminOperationException(str(e)) from e

    def delete_topic(self, topic: str) -> None:
        """Ask the controller to delete a topic.

        Raises UnknownTopicOrPartitionException, TopicAlreadyMarkedForDeletionException, AdminOperationException.
        """
        if not self._zk_client.topic_exists(topic):
            raise UnknownTopicOrPartitionException(f"Topic `{topic}` to delete does not exist")
        try:
            self._zk_client.create_delete_topic_path(topic)
        except NodeExistsException as e:
            raise TopicAlreadyMarkedForDeletionException(f"topic {topic} is already marked for deletion") from e
        except Exception as e:
            raise AdminOperationException(str(e)) from e

    # ----- partitions -----

    def add_partitions(
        self,
        topic: str,
        existing_assignment: Assignment,
        all_brokers: Sequence[BrokerMetadata],
        num_partitions: int = 1,
        replica_assignment: Assignment | None = None,
        validate_only: bool = False,
    ) -> dict[int, Sequence[int]]:
        """Grow a topic to num_partitions, and return the whole assignment; the old partitions stay as they are.

        Raises AdminOperationException, InvalidPartitionsException, InvalidReplicaAssignmentException,
        BrokerNotAvailableException.
        """
        first = existing_assignment.get(0)
        if first is None:
            raise AdminOperationException(
                f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is missing. "
                f"Assignment: {_scala_map(existing_assignment)}"
            )
        partitions_to_add = num_partitions - len(existing_assignment)
        if partitions_to_add <= 0:
            raise InvalidPartitionsException(
                f"The number of partitions for a topic can only be increased. Topic {topic} currently has "
                f"{len(existing_assignment)} partitions, {num_partitions} would not be an increase."
            )
        if replica_assignment is not None:
            self._validate_replica_assignment(replica_assignment, len(first), {broker.id for broker in all_brokers})
            new: Assignment = replica_assignment
        else:
            start_index = next((i for i, broker in enumerate(all_brokers) if broker.id >= first[0]), 0)
            new = AdminUtils.assign_replicas_to_brokers(
                all_brokers, partitions_to_add, len(first), start_index, len(existing_assignment)
            )
        proposed = {**existing_assignment, **new}
        if not validate_only:
            self.info(
                "Creating %d partitions for '%s' with the following replica assignment: %s.",
                partitions_to_add,
                topic,
                _scala_map(new),
            )
            with self._topics_lock:
                now = self._zk_client.get_replica_assignment_for_topics([topic])
                if len(now) > len(existing_assignment):
                    raise InvalidPartitionsException(
                        f"The number of partitions of topic {topic} was increased to {len(now)} in the meantime."
                    )
                self.create_or_update_topic_partition_assignment_path_in_zk(topic, proposed, update=True)
        return proposed

    def _validate_replica_assignment(
        self, replica_assignment: Assignment, expected_replication_factor: int, available_broker_ids: set[int]
    ) -> None:
        for partition_id, replicas in replica_assignment.items():
            if not replicas:
                raise InvalidReplicaAssignmentException(
                    f"Cannot have replication factor of 0 for partition id {partition_id}."
                )
            listed = ", ".join(map(str, replicas))
            if len(replicas) != len(set(replicas)):
                raise InvalidReplicaAssignmentException(
                    f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {partition_id}."
                )
            if not set(replicas) <= available_broker_ids:
                raise BrokerNotAvailableException(
                    f"Some brokers specified for partition id {partition_id} are not available. Specified brokers: "
                    f"{listed}, available brokers: {', '.join(map(str, sorted(available_broker_ids)))}."
                )
        bad = {p: len(r) for p, r in sorted(replica_assignment.items()) if len(r) != expected_replication_factor}
        if bad:
            raise InvalidReplicaAssignmentException(
                f"Inconsistent replication factor between partitions, partition 0 has {expected_replication_factor} "
                f"while partitions [{', '.join(map(str, bad))}] have replication factors "
                f"[{', '.join(map(str, bad.values()))}], respectively."
            )

    # ----- configurations -----

    def change_configs(self, entity_type: str, entity_name: str, configs: Mapping[str, str]) -> None:
        """Replace the overrides of a topic, client, user or broker; raises for another type or a bad id."""
        if entity_type == ConfigType.TOPIC:
            self.change_topic_config(entity_name, configs)
        elif entity_type == ConfigType.CLIENT:
            self.change_client_id_config(entity_name, configs)
        elif entity_type == ConfigType.USER:
            self.change_user_or_user_client_id_config(entity_name, configs)
        elif entity_type == ConfigType.BROKER:
            self.change_broker_config([_parse_broker(entity_name)], configs)
        else:
            raise IllegalArgumentException(
                f"{entity_type} is not a known entityType. Should be one of {ConfigType.TOPIC}, {ConfigType.CLIENT}, "
                f"{ConfigType.BROKER}"
            )

    def change_client_id_config(self, sanitized_client_id: str, configs: Mapping[str, str]) -> None:
        """Replace the quotas of a client id, or of all others for <default>; those of users come before them."""
        from kafka_py.server.dynamic_config import DynamicConfig  # server stands above zk

        DynamicConfig.Client.validate(configs)
        self._change_entity_config(ConfigType.CLIENT, sanitized_client_id, configs)

    def change_user_or_user_client_id_config(self, sanitized_entity_name: str, configs: Mapping[str, str]) -> None:
        """Replace the quotas of USER or USER/clients/CLIENT, each of which may be <default>."""
        from kafka_py.server.dynamic_config import DynamicConfig  # server stands above zk

        if sanitized_entity_name == ConfigEntityName.DEFAULT or "/clients" in sanitized_entity_name:
            DynamicConfig.Client.validate(configs)
        else:
            DynamicConfig.User.validate(configs)
        self._change_entity_config(ConfigType.USER, sanitized_entity_name, configs)

    def validate_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        """Raise AdminOperationException for an unknown topic, and what LogConfig.validate raises."""
        from kafka_py.log.log_config import LogConfig  # log stands beside zk: only the checks of overrides need it

        Topic.validate(topic)
        if not self._zk_client.topic_exists(topic):
            raise AdminOperationException(f'Topic "{topic}" does not exist.')
        LogConfig.validate(configs)

    def change_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        """Replace the overrides of a topic, and tell the brokers."""
        self.validate_topic_config(topic, configs)
        self._change_entity_config(ConfigType.TOPIC, topic, configs)

    def change_broker_config(self, brokers: Sequence[int] | int | None, configs: Mapping[str, str]) -> None:
        """Replace the overrides of brokers, or (None) the defaults of all; they outlive the brokers' restarts."""
        self.validate_broker_config(configs)
        if brokers is None:
            names = [ConfigEntityName.DEFAULT]
        else:
            names = [str(brokers)] if isinstance(brokers, int) else [str(broker) for broker in brokers]
        for name in names:
            self._change_entity_config(ConfigType.BROKER, name, configs)

    def validate_broker_config(self, configs: Mapping[str, str]) -> None:
        """Raise for a setting that cannot be changed while the broker runs."""
        from kafka_py.server.dynamic_config import DynamicConfig  # server stands above zk

        DynamicConfig.Broker.validate(configs)

    def _change_entity_config(
        self, root_entity_type: str, full_sanitized_entity_name: str, configs: Mapping[str, str]
    ) -> None:
        self._zk_client.set_or_create_entity_configs(root_entity_type, full_sanitized_entity_name, configs)
        self._zk_client.create_config_change_notification(f"{root_entity_type}/{full_sanitized_entity_name}")

    def fetch_entity_config(self, root_entity_type: str, sanitized_entity_name: str) -> dict[str, str]:
        """Overrides of one entity (USER/clients/CLIENT for a user's client), empty when it has none."""
        return self._zk_client.get_entity_configs(root_entity_type, sanitized_entity_name)

    def get_all_topic_configs(self) -> dict[str, dict[str, str]]:
        """Topic -> its overrides, for all topics."""
        topics = self._zk_client.get_all_topics_in_cluster()
        return {topic: self.fetch_entity_config(ConfigType.TOPIC, topic) for topic in topics}

    def fetch_all_entity_configs(self, entity_type: str) -> dict[str, dict[str, str]]:
        """Name -> overrides, for all entities of the type that have a node."""
        names = self._zk_client.get_all_entities_with_config(entity_type)
        return {name: self.fetch_entity_config(entity_type, name) for name in names}

    def fetch_all_child_entity_configs(
        self, root_entity_type: str, child_entity_type: str
    ) -> dict[str, dict[str, str]]:
        """NAME/CHILD_TYPE/CHILD -> overrides, for all children of that type of all entities of the root type."""
        names = self._zk_client.get_all_entities_with_config
        return {
            f"{name}/{child_entity_type}/{child}": self.fetch_entity_config(
                root_entity_type, f"{name}/{child_entity_type}/{child}"
            )
            for name in names(root_entity_type)
            for child in names(f"{root_entity_type}/{name}/{child_entity_type}")
        }


def _parse_broker(broker: str) -> int:
    try:
        return int(broker)
    except ValueError:
        raise IllegalArgumentException(
            f"Error parsing broker {broker}. The broker's Entity Name must be a single integer value"
        ) from None


def _scala_map(assignment: Assignment) -> str:
    """The assignment as Scala prints it in Kafka's messages."""
    entries = (f"{partition} -> List({', '.join(map(str, r))})" for partition, r in assignment.items())
    return f"Map({', '.join(entries)})"
