"""Deletes topics: stops and removes every replica on the brokers, then the topic's znodes.

A topic under /admin/delete_topics is queued here; it is halted ("ineligible") while a broker with one of its
replicas is down or one of its partitions is being reassigned, and resumed when that ends. It is gone when the
StopReplica(delete) of each replica was answered without an error.

Mirrors: core/src/main/scala/kafka/controller/TopicDeletionManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_py.controller.controller_channel_manager import Callbacks
from kafka_py.controller.controller_context import PartitionAndReplica
from kafka_py.controller.partition_state_machine import NonExistentPartition, OfflinePartition
from kafka_py.controller.replica_state_machine import (
    NonExistentReplica,
    OfflineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.controller_event_manager import ControllerEventManager
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class TopicDeletionManager(Logging):
    """Knows which topics are to be deleted, which must wait, and drives the rest to their end.

    Mirrors: kafka.controller.TopicDeletionManager
    Thread:  controller-event-thread owns every field.
    Differs: a topic's overrides go before its znode, not after it: a topic of the same name may be created as soon as
        the znode is gone, and it would lose the overrides that it has just been given. Topics that may be deleted are
        deleted together, as in later Kafka: looking at all of them again for each replica that is gone would make the
        time for many topics grow with the square of their number.
    """

    def __init__(
        self, controller: KafkaController, event_manager: ControllerEventManager, zk_client: KafkaZkClient
    ) -> None:
        self._controller = controller
        self._event_manager = event_manager
        self._zk_client = zk_client
        self.controller_context = controller.controller_context
        self.is_delete_topic_enabled: bool = controller.config.delete_topic_enable
        self.topics_to_be_deleted: set[str] = set()  # thread: event
        self.partitions_to_be_deleted: set[TopicPartition] = set()  # thread: event
        self.topics_ineligible_for_deletion: set[str] = set()  # thread: event
        self.log_ident = f"[Topic Deletion Manager {controller.config.broker_id}], "

    def init(
        self,
        initial_topics_to_be_deleted: Collection[str],
        initial_topics_ineligible_for_deletion: Collection[str],
    ) -> None:
        """Take over what the former controller left; with delete.topic.enable=false the wishes are dropped."""
        if self.is_delete_topic_enabled:
            self.topics_to_be_deleted |= set(initial_topics_to_be_deleted)
            for topic in self.topics_to_be_deleted:
                self._mark_for_deletion(topic)
            halted = set(initial_topics_ineligible_for_deletion) & self.topics_to_be_deleted
            self.topics_ineligible_for_deletion |= halted
        else:
            self.info("Removing %s since delete topic is disabled", initial_topics_to_be_deleted)
            self._zk_client.delete_topic_deletions(
                sorted(initial_topics_to_be_deleted), self.controller_context.epoch_zk_version
            )

    def try_topic_deletion(self) -> None:
        if self.is_delete_topic_enabled:
            self._resume_deletions()

    def reset(self) -> None:
        """Forget everything: this broker is no longer the controller."""
        if self.is_delete_topic_enabled:
            self.topics_to_be_deleted.clear()
            self.partitions_to_be_deleted.clear()
            self.topics_ineligible_for_deletion.clear()

    def enqueue_topics_for_deletion(self, topics: Collection[str]) -> None:
        if self.is_delete_topic_enabled:
            self.topics_to_be_deleted |= set(topics)
            for topic in topics:
                self._mark_for_deletion(topic)
            self._resume_deletions()

    def _mark_for_deletion(self, topic: str) -> None:
        partitions = self.controller_context.partitions_for_topic(topic)
        self.partitions_to_be_deleted |= partitions
        self.controller_context.changed_partitions |= partitions

    def resume_deletion_for_topics(self, topics: Collection[str] = ()) -> None:
        """What halted these topics is over (a broker came back, a reassignment ended): go on with them."""
        if self.is_delete_topic_enabled:
            to_resume = set(topics) & self.topics_to_be_deleted
            if to_resume:
                self.topics_ineligible_for_deletion -= to_resume
                self._resume_deletions()

    def fail_replica_deletion(self, replicas: Collection[PartitionAndReplica]) -> None:
        """These replicas could not be deleted now: halt their topics until something changes."""
        if not self.is_delete_topic_enabled:
            return
        failed = {replica for replica in replicas if self.is_topic_queued_up_for_deletion(replica.topic)}
        if failed:
            topics = {replica.topic for replica in failed}
            self.debug("Deletion failed for replicas %s. Halting deletion for topics %s", failed, topics)
            self._controller.replica_state_machine.handle_state_changes(sorted(failed), ReplicaDeletionIneligible)
            self.mark_topic_ineligible_for_deletion(topics)
            self._resume_deletions()

    def mark_topic_ineligible_for_deletion(self, topics: Collection[str]) -> None:
        if self.is_delete_topic_enabled:
            halted = self.topics_to_be_deleted & set(topics)
            self.topics_ineligible_for_deletion |= halted
            if halted:
                self.info("Halted deletion of topics %s", ",".join(sorted(halted)))

    def _is_topic_ineligible_for_deletion(self, topic: str) -> bool:
        return topic in self.topics_ineligible_for_deletion if self.is_delete_topic_enabled else True

    def _is_topic_deletion_in_progress(self, topic: str) -> bool:
        if not self.is_delete_topic_enabled:
            return False
        return self._controller.replica_state_machine.is_at_least_one_replica_in_deletion_started_state(topic)

    def is_partition_to_be_deleted(self, topic_and_partition: TopicPartition) -> bool:
        return self.is_delete_topic_enabled and topic_and_partition in self.partitions_to_be_deleted

    def is_topic_queued_up_for_deletion(self, topic: str) -> bool:
        return self.is_delete_topic_enabled and topic in self.topics_to_be_deleted

    def complete_replica_deletion(self, replicas: Collection[PartitionAndReplica]) -> None:
        """A broker answered that these replicas are gone."""
        deleted = {replica for replica in replicas if self.is_topic_queued_up_for_deletion(replica.topic)}
        self.debug("Deletion successfully completed for replicas %s", deleted)
        self._controller.replica_state_machine.handle_state_changes(sorted(deleted), ReplicaDeletionSuccessful)
        self._resume_deletions()

    def _is_topic_eligible_for_deletion(self, topic: str) -> bool:
        return (
            topic in self.topics_to_be_deleted
            and not self._is_topic_deletion_in_progress(topic)
            and not self._is_topic_ineligible_for_deletion(topic)
        )

    def _mark_topic_for_deletion_retry(self, topic: str) -> None:
        """Failed replicas go back to OfflineReplica, from where a deletion may start anew."""
        failed = self._controller.replica_state_machine.replicas_in_state(topic, ReplicaDeletionIneligible)
        self.info(
            "Retrying delete topic for topic %s since replicas %s were not successfully deleted",
            topic,
            ",".join(map(str, sorted(failed))),
        )
        self._controller.replica_state_machine.handle_state_changes(sorted(failed), OfflineReplica)

    def _complete_delete_topic(self, topic: str) -> None:
        # The watch goes first, so that it cannot fire for a topic of the same name that is auto-created meanwhile.
        self._controller.unregister_partition_modifications_handlers([topic])
        replicas = self._controller.replica_state_machine.replicas_in_state(topic, ReplicaDeletionSuccessful)
        self._controller.replica_state_machine.handle_state_changes(sorted(replicas), NonExistentReplica)
        partitions = sorted(self.controller_context.partitions_for_topic(topic))
        self._controller.partition_state_machine.handle_state_changes(partitions, OfflinePartition)
        self._controller.partition_state_machine.handle_state_changes(partitions, NonExistentPartition)
        self.topics_to_be_deleted.discard(topic)
        self.partitions_to_be_deleted.difference_update(partitions)
        epoch_zk_version = self.controller_context.epoch_zk_version
        self._zk_client.delete_topic_configs([topic], epoch_zk_version)
        self._zk_client.delete_topic_znode(topic, epoch_zk_version)
        self._zk_client.delete_topic_deletions([topic], epoch_zk_version)
        self.controller_context.remove_topic(topic)

    def _on_topic_deletion(self, topics: Collection[str]) -> None:
        """First the brokers forget the topics (their leader becomes "during delete"), then the replicas go."""
        self.info("Topic deletion callback for %s", ",".join(topics))
        context = self.controller_context
        partitions = set().union(*(context.partitions_for_topic(topic) for topic in topics))
        self._controller.send_update_metadata_request(sorted(context.live_or_shutting_down_broker_ids), partitions)
        self._on_partition_deletion(partitions)

    def _start_replica_deletion(self, replicas_for_topics_to_be_deleted: Collection[PartitionAndReplica]) -> None:
        """Dead replicas are marked ineligible, live ones stopped and then deleted with a callback."""
        machine, context = self._controller.replica_state_machine, self.controller_context
        replicas = set(replicas_for_topics_to_be_deleted)
        alive = {replica for replica in replicas if context.is_replica_online(replica.replica, replica.topic_partition)}
        dead = replicas - alive
        to_delete = set(alive)
        for topic in {replica.topic for replica in replicas}:
            to_delete -= machine.replicas_in_state(topic, ReplicaDeletionSuccessful)
        in_order = sorted(to_delete)
        machine.handle_state_changes(sorted(dead), ReplicaDeletionIneligible)
        machine.handle_state_changes(in_order, OfflineReplica)
        self.debug("Deletion started for replicas %s", in_order)
        machine.handle_state_changes(
            in_order, ReplicaDeletionStarted, Callbacks(stop_replica_response_callback=self._stop_replica_answered)
        )
        if dead:
            topics = {replica.topic for replica in dead}
            self.debug("Dead Replicas (%s) found for topics %s", dead, topics)
            self.mark_topic_ineligible_for_deletion(topics)

    def _stop_replica_answered(self, response: AbstractResponse, replica_id: int) -> None:
        """Runs on: a send thread. Only queues the event that handles the answer."""
        event = self._controller.TopicDeletionStopReplicaResponseReceived(self._controller, response, replica_id)
        self._event_manager.put(event)

    def _on_partition_deletion(self, partitions_to_be_deleted: Collection[TopicPartition]) -> None:
        self.info("Partition deletion callback for %s", ",".join(map(str, sorted(partitions_to_be_deleted))))
        self._start_replica_deletion(self.controller_context.replicas_for_partition(partitions_to_be_deleted))

    def _resume_deletions(self) -> None:
        """One look at every queued topic: finish it, wait for it, retry it or start it.

        Topics are started together, so that each broker gets one StopReplica and this look is taken once per answer.
        """
        machine = self._controller.replica_state_machine
        eligible: list[str] = []
        queued = sorted(self.topics_to_be_deleted)
        if queued:
            self.info("Handling deletion for topics %s", ",".join(queued))
        for topic in queued:
            if machine.are_all_replicas_for_topic_deleted(topic):
                self._complete_delete_topic(topic)
                self.info("Deletion of topic %s successfully completed", topic)
            elif machine.is_at_least_one_replica_in_deletion_started_state(topic):
                started = sorted(machine.replicas_in_state(topic, ReplicaDeletionStarted))
                self.info(
                    "Deletion for replicas %s for partition %s of topic %s in progress",
                    ",".join(str(replica.replica) for replica in started),
                    ",".join(str(replica.topic_partition) for replica in started),
                    topic,
                )
            elif machine.is_any_replica_in_state(topic, ReplicaDeletionIneligible):
                # None is being deleted and not all are: at least one failed, so the deletion starts over.
                self._mark_topic_for_deletion_retry(topic)
            if self._is_topic_eligible_for_deletion(topic):
                self.info("Deletion of topic %s (re)started", topic)
                eligible.append(topic)
            elif self._is_topic_ineligible_for_deletion(topic):
                self.info(
                    "Not retrying deletion of topic %s at this time since it is marked ineligible for deletion", topic
                )
        if eligible:
            self._on_topic_deletion(eligible)
