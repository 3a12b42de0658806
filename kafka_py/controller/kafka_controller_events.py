"""What the controller does about each event: the case classes inside Kafka's KafkaController, in its order.

KafkaController has them as members of the same names, as in Scala.

They reach into the controller as their originals do; they run one at a time on controller-event-thread.

Mirrors: the ControllerEvent classes of core/src/main/scala/kafka/controller/KafkaController.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, cast

from kafka_py.common.errors import (
    BrokerNotAvailableException,
    ControllerMovedException,
    IllegalStateException,
    StaleBrokerEpochException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.controller.controller_context import PartitionAndReplica
from kafka_py.controller.controller_event_manager import ControllerEvent
from kafka_py.controller.controller_state import ControllerState
from kafka_py.controller.partition_leader_election import ControlledShutdownPartitionLeaderElectionStrategy
from kafka_py.controller.partition_state_machine import OnlinePartition
from kafka_py.controller.replica_state_machine import OfflineReplica, ignore_response
from kafka_py.utils.concurrent import CountDownLatch

if TYPE_CHECKING:
    from kafka_py.cluster.broker import Broker
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
    from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController

UNKNOWN_BROKER_EPOCH = -1  # AbstractControlRequest.UNKNOWN_BROKER_EPOCH: of a broker that does not know of epochs
ControlledShutdownCallback = Callable[["set[TopicPartition] | Exception"], None]


class OnController(ControllerEvent):
    """Base of the events below: knows its controller (in Scala the enclosing instance)."""

    def __init__(self, controller: KafkaController) -> None:
        self.controller = controller


class AutoPreferredReplicaLeaderElection(OnController):
    """Now and then: see whether leadership has drifted from the preferred replicas, then schedule the next look."""

    state = ControllerState.AutoLeaderBalance

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        try:
            controller._check_and_trigger_auto_leader_rebalance()
        finally:
            interval_s = controller.config.leader_imbalance_check_interval_seconds
            controller._schedule_auto_leader_rebalance_task(delay_ms=interval_s * 1000)


class ControlledShutdown(OnController):
    """A broker wants to stop: move what it leads to other members of the ISR, and take it out of every ISR."""

    state = ControllerState.ControlledShutdown

    def __init__(
        self,
        controller: KafkaController,
        id: int,
        broker_epoch: int,
        controlled_shutdown_callback: ControlledShutdownCallback,
    ) -> None:
        super().__init__(controller)
        self.id = id
        self.broker_epoch = broker_epoch
        self.controlled_shutdown_callback = controlled_shutdown_callback

    def process(self) -> None:
        result: set[TopicPartition] | Exception
        try:
            result = self._do_controlled_shutdown(self.id)
        except Exception as e:  # noqa: BLE001 -- the broker that waits gets the reason
            result = e
        self.controlled_shutdown_callback(result)

    def preempt(self) -> None:
        self.controlled_shutdown_callback(
            ControllerMovedException("Controller moved to another broker. Aborting controlled shutdown")
        )

    def _do_controlled_shutdown(self, id: int) -> set[TopicPartition]:
        """The partitions the broker still leads afterwards."""
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            raise ControllerMovedException("Controller moved to another broker. Aborting controlled shutdown")
        cached_broker_epoch = context.live_broker_id_and_epochs.get(id)
        if cached_broker_epoch is not None and UNKNOWN_BROKER_EPOCH != self.broker_epoch < cached_broker_epoch:
            stale = (
                f"Received controlled shutdown request from an old broker epoch {self.broker_epoch} for broker {id}. "
                f"Current broker epoch is {cached_broker_epoch}."
            )
            controller.info(stale)
            raise StaleBrokerEpochException(stale)
        controller.info("Shutting down broker %s", id)
        if id not in context.live_or_shutting_down_broker_ids:
            raise BrokerNotAvailableException(f"Broker id {id} does not exist.")
        context.shutting_down_broker_ids.add(id)
        controller.debug("All shutting down brokers: %s", context.shutting_down_broker_ids)
        controller.debug("Live brokers: %s", context.live_broker_ids)

        info = context.partition_leadership_info
        replicated = [
            tp
            for tp in sorted(context.partitions_on_broker(id))
            if len(context.partition_replica_assignment[tp]) > 1 and tp in info
        ]
        led = [tp for tp in replicated if info[tp].leader_and_isr.leader == id]
        followed = [tp for tp in replicated if info[tp].leader_and_isr.leader != id]
        controller.partition_state_machine.handle_state_changes(
            led, OnlinePartition, ControlledShutdownPartitionLeaderElectionStrategy
        )
        try:
            batch = controller.broker_request_batch
            batch.new_batch()
            for tp in followed:
                batch.add_stop_replica_request_for_brokers([id], tp, delete_partition=False, callback=ignore_response)
            batch.send_requests_to_brokers(controller.epoch)
        except IllegalStateException as e:
            controller.handle_illegal_state(e)
        controller.replica_state_machine.handle_state_changes(
            [PartitionAndReplica(tp, id) for tp in followed], OfflineReplica
        )
        controller.trace("All leaders = %s", info)
        return {
            tp
            for tp, state in info.items()
            if state.leader_and_isr.leader == id and len(context.partition_replica_assignment[tp]) > 1
        }


class LeaderAndIsrResponseReceived(OnController):
    """A broker answered a LeaderAndIsr: replicas it cannot reach on disk go offline."""

    state = ControllerState.LeaderAndIsrResponseReceived

    def __init__(
        self, controller: KafkaController, leader_and_isr_response_obj: AbstractResponse, broker_id: int
    ) -> None:
        super().__init__(controller)
        self.leader_and_isr_response_obj = leader_and_isr_response_obj
        self.broker_id = broker_id

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        response = cast("LeaderAndIsrResponse", self.leader_and_isr_response_obj)
        if response.error() is not Errors.NONE:
            controller.state_change_logger.error(
                "Received error in LeaderAndIsr response %s from broker %s", response, self.broker_id
            )
            return
        answers = response.responses()
        offline = {tp for tp, error in answers.items() if error is Errors.KAFKA_STORAGE_ERROR}
        online = {tp for tp, error in answers.items() if error is Errors.NONE}
        offline_dirs = controller.controller_context.replicas_on_offline_dirs
        previous = offline_dirs.get(self.broker_id, set())
        offline_dirs[self.broker_id] = (previous - online) | offline
        new_offline = offline_dirs[self.broker_id] - previous
        if new_offline:
            controller.state_change_logger.info(
                "Mark replicas %s on broker %s as offline", ",".join(map(str, sorted(new_offline))), self.broker_id
            )
            controller.on_replicas_become_offline({PartitionAndReplica(tp, self.broker_id) for tp in new_offline})


class TopicDeletionStopReplicaResponseReceived(OnController):
    """A broker answered a StopReplica(delete): its replicas are gone, or could not be deleted."""

    state = ControllerState.TopicDeletion

    def __init__(
        self, controller: KafkaController, stop_replica_response_obj: AbstractResponse, replica_id: int
    ) -> None:
        super().__init__(controller)
        self.stop_replica_response_obj = stop_replica_response_obj
        self.replica_id = replica_id

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        response = cast("StopReplicaResponse", self.stop_replica_response_obj)
        controller.debug("Delete topic callback invoked for %s", response)
        answers = response.responses()
        all_failed = response.error() is not Errors.NONE
        in_error = {tp for tp, error in answers.items() if all_failed or error is not Errors.NONE}
        deletion = controller.topic_deletion_manager
        deletion.fail_replica_deletion({PartitionAndReplica(tp, self.replica_id) for tp in in_error})
        if len(in_error) != len(answers):
            deleted = {PartitionAndReplica(tp, self.replica_id) for tp in answers if tp not in in_error}
            deletion.complete_replica_deletion(deleted)


class Startup(OnController):
    """The broker has started: watch /controller and run for office."""

    state = ControllerState.ControllerChange

    def process(self) -> None:
        controller = self.controller
        controller.zk_client.register_znode_change_handler_and_check_existence(controller.controller_change_handler)
        controller.elect()


class BrokerChange(OnController):
    """The children of /brokers/ids changed: greet the new brokers, bury the dead ones.

    One that was gone and is back before we look has bounced: it is there, but it knows nothing, so it is buried
    and greeted (KAFKA-7235, 2.2; 1.1.1 would send it no request, nor elect it again after a controlled shutdown).
    """

    state = ControllerState.BrokerChange

    def process(self) -> None:
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            return
        current = controller.zk_client.get_all_broker_and_epochs_in_cluster()
        epochs = {broker.id: epoch for broker, epoch in current.items()}
        known = context.live_broker_id_and_epochs
        new = sorted(epochs.keys() - known.keys())
        dead = sorted(known.keys() - epochs.keys())
        bounced = sorted(id for id in epochs.keys() & known.keys() if epochs[id] > known[id])
        controller.info(
            "Newly added brokers: %s, deleted brokers: %s, bounced brokers: %s, all live brokers: %s",
            ",".join(map(str, new)),
            ",".join(map(str, dead)),
            ",".join(map(str, bounced)),
            ",".join(map(str, sorted(epochs))),
        )
        new_brokers = {broker: epoch for broker, epoch in current.items() if broker.id in new}
        bounced_brokers = {broker: epoch for broker, epoch in current.items() if broker.id in bounced}
        self._renew_channels(new_brokers, bounced_brokers, dead)
        if new:
            context.add_live_brokers_and_epochs(new_brokers)
            controller.on_broker_startup(new)
        if bounced:
            context.remove_live_brokers_and_epochs(bounced)
            controller.on_broker_failure(bounced)
            context.add_live_brokers_and_epochs(bounced_brokers)
            controller.on_broker_startup(bounced)
        if dead:
            context.remove_live_brokers_and_epochs(dead)
            controller.on_broker_failure(dead)
        if new or bounced or dead:
            controller.info("Updated broker epochs cache: %s", context.live_broker_id_and_epochs)

    def _renew_channels(self, new: Collection[Broker], bounced: Collection[Broker], dead: Collection[int]) -> None:
        """A bounced broker gets a new one: its port may have changed, and what is queued is for its former life."""
        manager = self.controller.controller_context.controller_channel_manager
        assert manager is not None, "an active controller has a channel manager"
        for broker in new:
            manager.add_broker(broker)
        for broker in bounced:
            manager.remove_broker(broker.id)
        for broker in bounced:
            manager.add_broker(broker)
        for id in dead:
            manager.remove_broker(id)


class BrokerModifications(OnController):
    """A live broker registered other endpoints: everybody must know them."""

    state = ControllerState.BrokerChange

    def __init__(self, controller: KafkaController, broker_id: int) -> None:
        super().__init__(controller)
        self.broker_id = broker_id

    def process(self) -> None:
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            return
        new = controller.zk_client.get_broker(self.broker_id)
        old = next((broker for broker in context.live_brokers if broker.id == self.broker_id), None)
        if new is not None and old is not None and new.end_points != old.end_points:
            controller.info("Updated broker: %s", new)
            context.update_broker_metadata(old, new)
            controller.on_broker_update(self.broker_id)


class TopicChange(OnController):
    """The children of /brokers/topics changed: partitions of new topics are created, deleted topics forgotten."""

    state = ControllerState.TopicChange

    def process(self) -> None:
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            return
        topics = set(controller.zk_client.get_all_topics_in_cluster())
        new = topics - context.all_topics
        deleted = context.all_topics - topics
        context.all_topics = topics
        controller.register_partition_modifications_handlers(sorted(new))
        added = controller.zk_client.get_replica_assignment_for_topics(new)
        for topic in deleted:
            # Differs: its leaders go too, as in later Kafka; metadata without replicas cannot be sent.
            context.remove_topic(topic)
        context.partition_replica_assignment.update(added)
        controller.info(
            "New topics: [%s], deleted topics: [%s], new partition replica assignment [%s]", new, deleted, added
        )
        if added:
            controller.on_new_partition_creation(list(added))


class LogDirEventNotification(OnController):
    """Brokers reported failed log directories: ask them what is still online."""

    state = ControllerState.LogDirChange

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        sequence_numbers = controller.zk_client.get_all_log_dir_event_notifications()
        try:
            broker_ids = controller.zk_client.get_broker_ids_from_log_dir_events(sequence_numbers)
            controller.on_broker_log_dir_failure(broker_ids)
        finally:
            controller.zk_client.delete_log_dir_event_notifications(
                sequence_numbers, controller.controller_context.epoch_zk_version
            )


class PartitionModifications(OnController):
    """A topic's assignment changed: create the partitions that were added."""

    state = ControllerState.TopicChange

    def __init__(self, controller: KafkaController, topic: str) -> None:
        super().__init__(controller)
        self.topic = topic

    def process(self) -> None:
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            return
        assignment = controller.zk_client.get_replica_assignment_for_topics({self.topic})
        added = {tp: ids for tp, ids in assignment.items() if tp not in context.partition_replica_assignment}
        if controller.topic_deletion_manager.is_topic_queued_up_for_deletion(self.topic):
            controller.error(
                "Skipping adding partitions %s for topic %s since it is currently being deleted",
                ",".join(str(tp.partition) for tp in added),
                self.topic,
            )
        elif added:
            controller.info("New partitions to be added %s", added)
            context.partition_replica_assignment.update(added)
            controller.on_new_partition_creation(list(added))


class TopicDeletion(OnController):
    """The children of /admin/delete_topics changed: queue the topics, or drop the wish if deletion is disabled."""

    state = ControllerState.TopicDeletion

    def process(self) -> None:
        controller, context = self.controller, self.controller.controller_context
        if not controller.is_active:
            return
        topics = set(controller.zk_client.get_topic_deletions())
        controller.debug("Delete topics listener fired for topics %s to be deleted", topics)
        unknown = topics - context.all_topics
        if unknown:
            # Differs: a topic may have been created, and its deletion asked for, before we heard of it. Look first.
            TopicChange(controller).process()
            unknown = topics - context.all_topics
        if unknown:
            controller.warn("Ignoring request to delete non-existing topics %s", ",".join(sorted(unknown)))
            controller.zk_client.delete_topic_deletions(sorted(unknown), context.epoch_zk_version)
        topics -= unknown
        if not controller.config.delete_topic_enable:
            controller.info("Removing %s since delete topic is disabled", topics)
            controller.zk_client.delete_topic_deletions(sorted(topics), context.epoch_zk_version)
        elif topics:
            controller.info("Starting topic deletion for topics %s", ",".join(sorted(topics)))
            being_reassigned = {tp.topic for tp in context.partitions_being_reassigned}
            for topic in topics & being_reassigned:
                controller.topic_deletion_manager.mark_topic_ineligible_for_deletion({topic})
            controller.topic_deletion_manager.enqueue_topics_for_deletion(topics)


class PartitionReassignment(OnController):
    """/admin/reassign_partitions was written: start moving what it names."""

    state = ControllerState.PartitionReassignment

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        # Setting the watch tells whether the node is there as well, so a later wish is seen in any case.
        handler = controller.partition_reassignment_handler
        if controller.zk_client.register_znode_change_handler_and_check_existence(handler):
            wanted = controller.zk_client.get_partition_reassignment()
            # What came by API is there already, and only made this node.
            known = controller.controller_context.partitions_being_reassigned
            new = {tp: ids for tp, ids in wanted.items() if tp not in known or known[tp].new_replicas != ids}
            controller.reassignment.add_partitions_being_reassigned(new)
            controller._maybe_trigger_partition_reassignment(new)
            if not wanted and not controller.controller_context.partitions_being_reassigned:
                controller.reassignment.drop_partition_reassignment()


class PartitionReassignmentIsrChange(OnController):
    """The ISR of a partition on the move changed: go on if all new replicas are in it."""

    state = ControllerState.PartitionReassignment

    def __init__(self, controller: KafkaController, partition: TopicPartition) -> None:
        super().__init__(controller)
        self.partition = partition

    def process(self) -> None:
        controller, tp = self.controller, self.partition
        if not controller.is_active:
            return
        reassignment = controller.controller_context.partitions_being_reassigned.get(tp)
        if reassignment is None:
            return
        wanted = set(reassignment.new_replicas)
        current = controller.zk_client.get_topic_partition_states([tp]).get(tp)
        if current is None:
            controller.error(
                "Error handling reassignment of partition %s to replicas %s as it was never created", tp, wanted
            )
            return
        caught_up = wanted & set(current.leader_and_isr.isr)
        progress = "%s/%s replicas have caught up with the leader for partition %s being reassigned. %s"
        if caught_up == wanted:
            controller.info(progress, len(caught_up), len(wanted), tp, "Resuming partition reassignment")
            controller.reassignment.on_partition_reassignment(tp, reassignment)
        else:
            behind = ",".join(map(str, sorted(wanted - caught_up)))
            controller.info(progress, len(caught_up), len(wanted), tp, f"Replica(s) {behind} still need to catch up")


class IsrChangeNotification(OnController):
    """Leaders changed their ISRs: read the new ones and tell every broker."""

    state = ControllerState.IsrChange

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        sequence_numbers = controller.zk_client.get_all_isr_change_notifications()
        try:
            partitions = controller.zk_client.get_partitions_from_isr_change_notifications(sequence_numbers)
            if partitions:
                controller._update_leader_and_isr_cache(partitions)
                self._process_update_notifications(set(partitions))
        finally:
            controller.zk_client.delete_isr_change_notifications(
                sequence_numbers, controller.controller_context.epoch_zk_version
            )

    def _process_update_notifications(self, partitions: set[TopicPartition]) -> None:
        live = sorted(self.controller.controller_context.live_or_shutting_down_broker_ids)
        self.controller.debug("Sending MetadataRequest to Brokers: %s for TopicPartitions: %s", live, partitions)
        self.controller.send_update_metadata_request(live, partitions)


class PreferredReplicaLeaderElection(OnController):
    """/admin/preferred_replica_election was written: let the first replicas lead."""

    state = ControllerState.ManualLeaderBalance

    def process(self) -> None:
        controller = self.controller
        if not controller.is_active:
            return
        handler = controller.preferred_replica_election_handler
        if controller.zk_client.register_znode_change_handler_and_check_existence(handler):
            partitions = set(controller.zk_client.get_preferred_replica_election())
            deletion = controller.topic_deletion_manager
            being_deleted = {tp for tp in partitions if deletion.is_topic_queued_up_for_deletion(tp.topic)}
            if being_deleted:
                controller.error(
                    "Skipping preferred replica election for partitions %s since the respective topics are being "
                    "deleted",
                    being_deleted,
                )
            unknown = partitions - being_deleted - set(controller.controller_context.partition_replica_assignment)
            if unknown:
                controller.error(
                    "Skipping preferred replica election for partitions %s since they do not exist", unknown
                )
            controller._on_preferred_replica_election(partitions - being_deleted - unknown)


class ControllerChange(OnController):
    """/controller was created or rewritten: learn who it is, and resign if it was this broker."""

    state = ControllerState.ControllerChange

    def process(self) -> None:
        self.controller.maybe_resign()


class Reelect(ControllerChange):
    """/controller is gone: resign if it was this broker, then run for office."""

    def process(self) -> None:
        super().process()
        self.controller.elect()


class RegisterBrokerAndReelect(Reelect):
    """There is a new ZooKeeper session: the broker's own znode went with the old one, write it again first."""

    def process(self) -> None:
        self.controller.broker_epoch = self.controller.zk_client.register_broker_in_zk(self.controller.broker_info)
        super().process()


class Expire(OnController):
    """The ZooKeeper session is over: whatever this broker was, it is not the controller any more."""

    state = ControllerState.ControllerChange

    def __init__(self, controller: KafkaController) -> None:
        super().__init__(controller)
        self._processing_started = CountDownLatch(1)  # atomic

    def process(self) -> None:
        self._processing_started.count_down()
        self.controller.active_controller_id = -1
        self.controller._on_controller_resignation()

    def preempt(self) -> None:
        self._processing_started.count_down()

    def wait_until_processing_started(self) -> None:
        """Blocks until the event thread is done with everything before and has reached this event, or has ended."""
        self._processing_started.await_()
