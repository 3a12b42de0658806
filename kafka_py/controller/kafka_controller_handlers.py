"""The watches of the controller: each turns a change in ZooKeeper into an event on the controller's queue.

None of them does anything else, because they run on ZooKeeper's thread and the controller's state belongs to its own.

Mirrors: the handler classes of core/src/main/scala/kafka/controller/KafkaController.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.zk.zk_data import (
    BrokerIdsZNode,
    BrokerIdZNode,
    ControllerZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    StateChangeHandlers,
    TopicPartitionStateZNode,
    TopicsZNode,
    TopicZNode,
)
from kafka_py.zookeeper.zoo_keeper_client import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.controller_event_manager import ControllerEventManager
    from kafka_py.controller.kafka_controller import KafkaController


class ControllerStateChangeHandler(StateChangeHandler):
    """What the controller does when its ZooKeeper session is lost and when there is a new one.

    Mirrors: the anonymous StateChangeHandler of KafkaController.startup
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.name = StateChangeHandlers.CONTROLLER_HANDLER
        self._controller = controller
        self._event_manager = event_manager

    def after_initializing_session(self) -> None:
        self._event_manager.put(self._controller.RegisterBrokerAndReelect(self._controller))

    def before_initializing_session(self) -> None:
        """Drop every event of the old session and wait until the controller has begun to resign.

        The new session is made only after that: nothing decided in the old one may be written in the new one.
        """
        expire = self._controller.Expire(self._controller)
        self._event_manager.clear_and_put(expire)
        expire.wait_until_processing_started()


class BrokerChangeHandler(ZNodeChildChangeHandler):
    """Watches /brokers/ids: brokers come and go.

    Mirrors: kafka.controller.BrokerChangeHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = BrokerIdsZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_child_change(self) -> None:
        self._event_manager.put(self._controller.BrokerChange(self._controller))


class BrokerModificationsHandler(ZNodeChangeHandler):
    """Watches /brokers/ids/ID: a live broker changes its listeners.

    Mirrors: kafka.controller.BrokerModificationsHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager, broker_id: int) -> None:
        self.path = BrokerIdZNode.path(broker_id)
        self._controller = controller
        self._event_manager = event_manager
        self._broker_id = broker_id

    def handle_data_change(self) -> None:
        self._event_manager.put(self._controller.BrokerModifications(self._controller, self._broker_id))


class TopicChangeHandler(ZNodeChildChangeHandler):
    """Watches /brokers/topics: topics are created and deleted.

    Mirrors: kafka.controller.TopicChangeHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = TopicsZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_child_change(self) -> None:
        self._event_manager.put(self._controller.TopicChange(self._controller))


class LogDirEventNotificationHandler(ZNodeChildChangeHandler):
    """Watches /log_dir_event_notification: a broker lost a log directory.

    Mirrors: kafka.controller.LogDirEventNotificationHandler
    """

    VERSION = 1

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = LogDirEventNotificationZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_child_change(self) -> None:
        self._event_manager.put(self._controller.LogDirEventNotification(self._controller))


class PartitionModificationsHandler(ZNodeChangeHandler):
    """Watches /brokers/topics/TOPIC: partitions are added.

    Mirrors: kafka.controller.PartitionModificationsHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager, topic: str) -> None:
        self.path = TopicZNode.path(topic)
        self._controller = controller
        self._event_manager = event_manager
        self._topic = topic

    def handle_data_change(self) -> None:
        self._event_manager.put(self._controller.PartitionModifications(self._controller, self._topic))


class TopicDeletionHandler(ZNodeChildChangeHandler):
    """Watches /admin/delete_topics: somebody wants a topic gone.

    Mirrors: kafka.controller.TopicDeletionHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = DeleteTopicsZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_child_change(self) -> None:
        self._event_manager.put(self._controller.TopicDeletion(self._controller))


class PartitionReassignmentHandler(ZNodeChangeHandler):
    """Watches /admin/reassign_partitions: somebody wants partitions on other brokers.

    Mirrors: kafka.controller.PartitionReassignmentHandler

    The event is queued for the creation only. When the controller itself deletes the node it queues one more, which
    sets the watch again; that does not depend on which change used the watch up.
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = ReassignPartitionsZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_creation(self) -> None:
        self._event_manager.put(self._controller.PartitionReassignment(self._controller))


class PartitionReassignmentIsrChangeHandler(ZNodeChangeHandler):
    """Watches the state of a partition that is being reassigned: have the new replicas caught up?

    Mirrors: kafka.controller.PartitionReassignmentIsrChangeHandler
    """

    def __init__(
        self, controller: KafkaController, event_manager: ControllerEventManager, partition: TopicPartition
    ) -> None:
        self.path = TopicPartitionStateZNode.path(partition)
        self._controller = controller
        self._event_manager = event_manager
        self._partition = partition

    def handle_data_change(self) -> None:
        self._event_manager.put(self._controller.PartitionReassignmentIsrChange(self._controller, self._partition))


class IsrChangeNotificationHandler(ZNodeChildChangeHandler):
    """Watches /isr_change_notification: a leader changed its ISR.

    Mirrors: kafka.controller.IsrChangeNotificationHandler
    """

    VERSION = 1

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = IsrChangeNotificationZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_child_change(self) -> None:
        self._event_manager.put(self._controller.IsrChangeNotification(self._controller))


class PreferredReplicaElectionHandler(ZNodeChangeHandler):
    """Watches /admin/preferred_replica_election: somebody wants the first replicas to lead.

    Mirrors: kafka.controller.PreferredReplicaElectionHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = PreferredReplicaElectionZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_creation(self) -> None:
        self._event_manager.put(self._controller.PreferredReplicaLeaderElection(self._controller))


class ControllerChangeHandler(ZNodeChangeHandler):
    """Watches /controller: another broker was elected, or the place is free.

    Mirrors: kafka.controller.ControllerChangeHandler
    """

    def __init__(self, controller: KafkaController, event_manager: ControllerEventManager) -> None:
        self.path = ControllerZNode.path
        self._controller = controller
        self._event_manager = event_manager

    def handle_creation(self) -> None:
        self._event_manager.put(self._controller.ControllerChange(self._controller))

    def handle_deletion(self) -> None:
        self._event_manager.put(self._controller.Reelect(self._controller))

    def handle_data_change(self) -> None:
        self._event_manager.put(self._controller.ControllerChange(self._controller))
