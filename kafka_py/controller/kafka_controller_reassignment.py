"""Moving partitions to other brokers, step by step, so that a controller that dies in between can be followed.

RAR = reassigned replicas, OAR = original replicas, AR = assigned replicas as ZooKeeper has them. For OAR = {1,2,3} and
RAR = {4,5,6}:

    AR                 leader/isr
    {1,2,3}            1/{1,2,3}           before
    {1,2,3,4,5,6}      1/{1,2,3}           the new replicas are added and start to fetch
    {1,2,3,4,5,6}      1/{1,2,3,4,5,6}     they have caught up
    {1,2,3,4,5,6}      4/{1,2,3,4,5,6}     one of them leads
    {1,2,3,4,5,6}      4/{4,5,6}           the old ones have left the ISR
    {4,5,6}            4/{4,5,6}           the old ones are deleted

AR is written last: until then it is the only durable place that still names OAR.

Mirrors: the reassignment methods of core/src/main/scala/kafka/controller/KafkaController.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.errors import (
    AdminOperationException,
    ControllerMovedException,
    IllegalStateException,
    KafkaException,
    StateChangeFailedException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.controller.controller_context import PartitionAndReplica
from kafka_py.controller.kafka_controller_handlers import PartitionReassignmentIsrChangeHandler
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.partition_leader_election import ReassignPartitionLeaderElectionStrategy
from kafka_py.controller.partition_state_machine import OnlinePartition
from kafka_py.controller.replica_state_machine import (
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
)
from kafka_py.utils.logging import Logging
from kafka_py.utils.scala_text import as_scala
from kafka_py.zk.zk_data import ReassignPartitionsZNode
from kafka_py.zookeeper.keeper_exception import Code, KeeperException, NodeExistsException

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ReassignedPartitionsContext:
    """A partition on its way to other brokers: where it goes, and the watch on its ISR.

    Mirrors: kafka.controller.ReassignedPartitionsContext
    """

    def __init__(
        self, new_replicas: list[int], reassign_isr_change_handler: PartitionReassignmentIsrChangeHandler
    ) -> None:
        self.new_replicas = new_replicas  # thread: event
        # where it was: what a cancellation goes back to; [] if another controller has begun, None before the first step
        self.original_replicas: list[int] | None = None  # thread: event
        self.reassign_isr_change_handler = reassign_isr_change_handler

    def register_reassign_isr_change_handler(self, zk_client: KafkaZkClient) -> None:
        zk_client.register_znode_change_handler(self.reassign_isr_change_handler)

    def unregister_reassign_isr_change_handler(self, zk_client: KafkaZkClient) -> None:
        zk_client.unregister_znode_change_handler(self.reassign_isr_change_handler.path)


class OngoingReassignment(NamedTuple):
    """A partition that is being moved: all of its replicas, and which of them come and go.

    Stands in for what 2.5.1's kafka.controller.ReplicaAssignment tells of one
    """

    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]


class KafkaControllerReassignment(Logging):
    """What the controller does to bring a partition to other brokers.

    The state of a move is in ControllerContext.partitions_being_reassigned.

    Mirrors: the methods of kafka.controller.KafkaController whose names speak of reassignment
    Thread:  controller-event-thread.
    Differs: a list of new replicas that is empty, or names a broker twice or a negative id, is refused as by later
        Kafka: with an empty one all replicas would count as caught up, and every copy would be deleted.
    """

    logger_name = "kafka.controller.KafkaController"

    def __init__(self, controller: KafkaController) -> None:
        """Part of the controller, whose state machines and request batch exist already."""
        self.log_ident = controller.log_ident
        self._controller = controller
        self._context = controller.controller_context
        self._zk_client = controller.zk_client
        self._topic_deletion_manager = controller.topic_deletion_manager
        self._replica_state_machine = controller.replica_state_machine
        self._partition_state_machine = controller.partition_state_machine
        self._broker_request_batch = controller.broker_request_batch
        self._state_change_logger = controller.state_change_logger

    def on_partition_reassignment(
        self,
        topic_partition: TopicPartition,
        reassigned_partition_context: ReassignedPartitionsContext,
    ) -> None:
        """Called when the move starts, and again whenever the ISR or the brokers have changed, until it is complete."""
        context = self._context
        reassigned = reassigned_partition_context.new_replicas
        named = ",".join(map(str, reassigned))
        if not self._are_replicas_in_isr(topic_partition, reassigned):
            self.info(
                "New replicas %s for partition %s being reassigned not yet caught up with the leader",
                named,
                topic_partition,
            )
            old = context.partition_replica_assignment[topic_partition]
            both = list(dict.fromkeys([*reassigned, *old]))
            if reassigned_partition_context.original_replicas is None:
                # All of RAR are there already where another controller has begun: OAR cannot be told any more.
                reassigned_partition_context.original_replicas = list(old) if set(reassigned) - set(old) else []
            # 1. AR = OAR + RAR in ZooKeeper.  2. Every replica of it gets a LeaderAndIsr with a new leader epoch.
            self._update_assigned_replicas_for_partition(topic_partition, both)
            self._update_leader_epoch_and_send_request(
                topic_partition, context.partition_replica_assignment[topic_partition], both
            )
            # 3. RAR - OAR -> NewReplica: they start to fetch.
            self._start_new_replicas_for_reassigned_partition(topic_partition, set(reassigned) - set(old))
            self.info(
                "Waiting for new replicas %s for partition %s being reassigned to catch up with the leader",
                named,
                topic_partition,
            )
            return
        # 4. All of RAR are in the ISR.  5. RAR -> OnlineReplica.
        old_replicas = set(context.partition_replica_assignment[topic_partition]) - set(reassigned)
        for id in reassigned:
            self._replica_state_machine.handle_state_changes([PartitionAndReplica(topic_partition, id)], OnlineReplica)
        # 6. AR = RAR in memory.  7. A leader out of RAR, or at least a new leader epoch.
        self._move_reassigned_partition_leader_if_required(topic_partition, reassigned_partition_context)
        # 8. OAR - RAR -> OfflineReplica (out of the ISR).  9. -> NonExistentReplica (deleted on disk).
        self._stop_old_replicas_of_reassigned_partition(topic_partition, old_replicas)
        # 10. AR = RAR in ZooKeeper.  11. The wish is fulfilled.  12. Everybody gets the new metadata.
        self._update_assigned_replicas_for_partition(topic_partition, reassigned)
        self._remove_partition_from_reassigned_partitions(topic_partition)
        self._controller.send_update_metadata_request(
            sorted(context.live_or_shutting_down_broker_ids), {topic_partition}
        )
        self._topic_deletion_manager.resume_deletion_for_topics({topic_partition.topic})

    def maybe_trigger_partition_reassignment(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ApiError]:
        """Start what can be started, drop what is pointless; for each what there is to say to who asked by API.

        All wishes must be in partitions_being_reassigned before this is called, or the znode would be deleted with
        the first that ends. Raises IllegalStateException for a partition that is not in there.
        """
        return {tp: self._trigger_partition_reassignment(tp) for tp in topic_partitions}

    def _trigger_partition_reassignment(self, tp: TopicPartition) -> ApiError:
        context = self._context
        not_there = ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if self._topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic):
            self.error("Skipping reassignment of %s since the topic is currently being deleted", tp)
            self._remove_partition_from_reassigned_partitions(tp)
            return not_there
        reassignment = context.partitions_being_reassigned.get(tp)
        if reassignment is None:
            raise IllegalStateException(
                f"Initiating reassign replicas for partition {tp} not present in partitionsBeingReassigned: "
                f"{', '.join(map(str, context.partitions_being_reassigned))}"
            )
        assigned = context.partition_replica_assignment.get(tp)
        named = ",".join(map(str, reassignment.new_replicas))
        if assigned is None:
            self.error("Ignoring request to reassign partition %s that doesn't exist.", tp)
            self._remove_partition_from_reassigned_partitions(tp)
            return not_there
        if (problem := _problem_of(reassignment.new_replicas)) is not None:
            self.error("Ignoring request to reassign partition %s to replicas %s: %s", tp, named, problem)
            self._remove_partition_from_reassigned_partitions(tp)
            return ApiError(Errors.INVALID_REPLICA_ASSIGNMENT, problem)
        if list(assigned) == list(reassignment.new_replicas):
            self.info(
                "Partition %s to be reassigned is already assigned to replicas %s. Ignoring request for partition "
                "reassignment.",
                tp,
                named,
            )
            self._remove_partition_from_reassigned_partitions(tp)
            return ApiError.NONE
        try:
            self.info("Handling reassignment of partition %s to new replicas %s", tp, named)
            reassignment.register_reassign_isr_change_handler(self._zk_client)
            self._topic_deletion_manager.mark_topic_ineligible_for_deletion({tp.topic})
            self.on_partition_reassignment(tp, reassignment)
        except ControllerMovedException as e:
            self.error(
                "Error completing reassignment of partition %s because controller has moved to another broker",
                tp,
                exc=e,
            )
            raise
        except Exception as e:  # noqa: BLE001 -- the admin client must not wait for ever
            self.error("Error completing reassignment of partition %s", tp, exc=e)
            self._remove_partition_from_reassigned_partitions(tp)
            return ApiError(Errors.UNKNOWN_SERVER_ERROR)
        return ApiError.NONE

    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ApiError]:
        """Begin moves, send running ones elsewhere, or (None) back; for each what became of it.

        The wishes are written to /admin/reassign_partitions before anything is done, so that the next controller, which
        may be one of Kafka's, goes on with them.
        """
        self._take_up_wishes()
        results: dict[TopicPartition, ApiError] = {}
        accepted: dict[TopicPartition, list[int]] = {}
        for tp, replicas in reassignments.items():
            found = self._origin_of(tp) if replicas is None else self._validate_replicas(tp, replicas)
            if isinstance(found, ApiError):
                results[tp] = found
            else:
                accepted[tp] = found
        if accepted:
            self._write_wishes(accepted)
            self.add_partitions_being_reassigned(accepted)
            results |= self.maybe_trigger_partition_reassignment(accepted)
        return results

    def _take_up_wishes(self) -> None:
        """Those of /admin/reassign_partitions that this controller has not heard of yet."""
        known = self._context.partitions_being_reassigned
        unseen = {tp: ids for tp, ids in self._zk_client.get_partition_reassignment().items() if tp not in known}
        self.add_partitions_being_reassigned(unseen)
        self.maybe_trigger_partition_reassignment(unseen)

    def _write_wishes(self, accepted: Mapping[TopicPartition, list[int]]) -> None:
        """Those that are being carried out, and these; a tool may write there at the same moment."""
        if not self._context.partitions_being_reassigned:
            try:
                self._zk_client.create_partition_reassignment(accepted)
            except NodeExistsException:
                self._take_up_wishes()
            else:
                return
        running = {tp: context.new_replicas for tp, context in self._context.partitions_being_reassigned.items()}
        self._zk_client.set_or_create_partition_reassignment(running | dict(accepted), self._context.epoch_zk_version)

    def _validate_replicas(self, topic_partition: TopicPartition, replicas: Sequence[int]) -> list[int] | ApiError:
        """The replicas, or why the partition cannot have them."""
        assigned = self._context.partition_replica_assignment.get(topic_partition)
        refused = Errors.INVALID_REPLICA_ASSIGNMENT
        if not replicas:
            return ApiError(refused, "Empty replica list specified in partition reassignment.")
        if len(set(replicas)) != len(replicas):
            named = as_scala(replicas, "ArrayBuffer")
            return ApiError(refused, f"Duplicate replica ids in partition reassignment replica list: {named}")
        if min(replicas) < 0:
            return ApiError(refused, f"Invalid broker id in replica list: {as_scala(replicas, 'ArrayBuffer')}")
        running = self._context.partitions_being_reassigned.get(topic_partition)
        before = (running.original_replicas if running is not None else None) or assigned or ()
        added, live = [id for id in replicas if id not in before], self._context.live_broker_ids
        if not set(added) <= set(live):
            return ApiError(
                refused,
                "Replica assignment has brokers that are not alive. Replica list: "
                f"{as_scala(added, 'ArrayBuffer')}, live broker list: {as_scala(set(live))}",
            )
        being_deleted = self._topic_deletion_manager.is_topic_queued_up_for_deletion(topic_partition.topic)
        if assigned is None or being_deleted:
            return ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        return list(replicas)

    def _origin_of(self, topic_partition: TopicPartition) -> list[int] | ApiError:
        """Where a partition was that is being moved, or why it cannot go back there."""
        reassignment = self._context.partitions_being_reassigned.get(topic_partition)
        if reassignment is None:
            return ApiError(Errors.NO_REASSIGNMENT_IN_PROGRESS)
        if not reassignment.original_replicas:
            return ApiError(
                Errors.INVALID_REPLICA_ASSIGNMENT,
                f"Another controller has begun to move partition {topic_partition}; only that one knew where it was. "
                "Name the replicas that it shall have.",
            )
        return reassignment.original_replicas

    def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, OngoingReassignment]:
        """Those of the partitions (None: of all) that are being moved.

        Where another controller has begun, replicas of the new list that are not in sync yet count as added.
        """
        being_reassigned = self._context.partitions_being_reassigned
        found = {}
        for tp in being_reassigned if partitions is None else partitions:
            reassignment = being_reassigned.get(tp)
            if reassignment is None:
                continue
            replicas = self._context.partition_replica_assignment.get(tp, [])
            before = reassignment.original_replicas
            if not before:
                state = self._context.partition_leadership_info.get(tp)
                isr = [] if state is None else state.leader_and_isr.isr
                before = [id for id in replicas if id in isr or id not in reassignment.new_replicas]
            adding = [id for id in replicas if id not in before]
            removing = [id for id in replicas if id not in reassignment.new_replicas]
            found[tp] = OngoingReassignment(list(replicas), adding, removing)
        return found

    def initialize_partition_reassignment(self) -> None:
        wanted = self._zk_client.get_partition_reassignment()
        self.info("Partitions being reassigned: %s", wanted)
        self.add_partitions_being_reassigned(wanted)
        if not wanted:
            self._controller.watch_for_partition_reassignment()  # there may be a znode that names nothing

    def drop_partition_reassignment(self) -> None:
        """Take away a znode that names no partition: it would keep every later wish out."""
        self.info("No partitions need to be reassigned. Deleting zk path %s", ReassignPartitionsZNode.path)
        self._zk_client.delete_partition_reassignment(self._context.epoch_zk_version)
        # The watch was used up: this event sets it anew, so that the next wish is seen.
        self._controller.watch_for_partition_reassignment()

    def add_partitions_being_reassigned(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Remember the wishes, each with a watch (not set yet) on its partition's ISR."""
        controller = self._controller
        for tp, replicas in wanted.items():
            handler = PartitionReassignmentIsrChangeHandler(controller, controller.event_manager, tp)
            context = ReassignedPartitionsContext(list(replicas), handler)
            before = self._context.partitions_being_reassigned.get(tp)
            context.original_replicas = None if before is None else before.original_replicas
            self._context.partitions_being_reassigned[tp] = context

    def _are_replicas_in_isr(self, partition: TopicPartition, replicas: Collection[int]) -> bool:
        state = self._zk_client.get_topic_partition_states([partition]).get(partition)
        return state is not None and set(replicas) <= set(state.leader_and_isr.isr)

    def _move_reassigned_partition_leader_if_required(
        self,
        topic_partition: TopicPartition,
        reassigned_partition_context: ReassignedPartitionsContext,
    ) -> None:
        context = self._context
        reassigned = reassigned_partition_context.new_replicas
        leader = context.partition_leadership_info[topic_partition].leader_and_isr.leader
        # The cache gets the new list first: it goes out with the LeaderAndIsr and keeps old replicas out of the ISR.
        old_and_new = context.partition_replica_assignment[topic_partition]
        context.partition_replica_assignment[topic_partition] = list(reassigned)
        named = ",".join(map(str, reassigned))
        if leader not in reassigned:
            self.info(
                "Leader %s for partition %s being reassigned, is not in the new list of replicas %s. "
                "Re-electing leader",
                leader,
                topic_partition,
                named,
            )
        elif context.is_replica_online(leader, topic_partition):
            self.info(
                "Leader %s for partition %s being reassigned, is already in the new list of replicas %s and is alive",
                leader,
                topic_partition,
                named,
            )
            self._update_leader_epoch_and_send_request(topic_partition, old_and_new, reassigned)
            return
        else:
            self.info(
                "Leader %s for partition %s being reassigned, is already in the new list of replicas %s but is dead",
                leader,
                topic_partition,
                named,
            )
        self._partition_state_machine.handle_state_changes(
            [topic_partition], OnlinePartition, ReassignPartitionLeaderElectionStrategy
        )

    def _stop_old_replicas_of_reassigned_partition(
        self, topic_partition: TopicPartition, old_replicas: Collection[int]
    ) -> None:
        replicas = [PartitionAndReplica(topic_partition, id) for id in sorted(old_replicas)]
        for state in (OfflineReplica, ReplicaDeletionStarted, ReplicaDeletionSuccessful, NonExistentReplica):
            self._replica_state_machine.handle_state_changes(replicas, state)

    def _update_assigned_replicas_for_partition(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        assignment = {
            tp: ids for tp, ids in self._context.partition_replica_assignment.items() if tp.topic == partition.topic
        }
        assignment[partition] = list(replicas)
        response = self._zk_client.set_topic_assignment_raw(partition.topic, assignment, self._context.epoch_zk_version)
        if response.result_code == Code.NONODE:
            raise IllegalStateException(f"Topic {partition.topic} doesn't exist")
        if response.result_code != Code.OK:
            raise KafkaException(str(response.failure)) from response.failure
        named = ",".join(map(str, replicas))
        self.info("Updated assigned replicas for partition %s being reassigned to %s", partition, named)
        self._context.partition_replica_assignment[partition] = list(replicas)

    def _start_new_replicas_for_reassigned_partition(
        self, topic_partition: TopicPartition, new_replicas: Collection[int]
    ) -> None:
        for id in sorted(new_replicas):
            self._replica_state_machine.handle_state_changes([PartitionAndReplica(topic_partition, id)], NewReplica)

    def _update_leader_epoch_and_send_request(
        self,
        partition: TopicPartition,
        replicas_to_receive_request: Sequence[int],
        new_assigned_replicas: Sequence[int],
    ) -> None:
        log = self._state_change_logger.with_controller_epoch(self._context.epoch)
        named = ",".join(map(str, new_assigned_replicas))
        updated = self._update_leader_epoch(partition)
        if updated is None:
            log.error(
                "Failed to send LeaderAndIsr request with new assigned replica list %s to leader for partition being "
                "reassigned %s",
                named,
                partition,
            )
            return
        try:
            self._broker_request_batch.new_batch()
            self._broker_request_batch.add_leader_and_isr_request_for_brokers(
                replicas_to_receive_request, partition, updated, new_assigned_replicas, is_new=False
            )
            self._broker_request_batch.send_requests_to_brokers(self._context.epoch)
        except IllegalStateException as e:
            self._controller.handle_illegal_state(e)
        log.trace(
            "Sent LeaderAndIsr request %s with new assigned replica list %s to leader %s for partition being "
            "reassigned %s",
            updated,
            named,
            updated.leader_and_isr.leader,
            partition,
        )

    def _update_leader_epoch(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        """Write the partition's state with the next leader epoch and the rest as it is; retried until it sticks."""
        self.debug("Updating leader epoch for partition %s", partition)
        while True:
            current = self._zk_client.get_topic_partition_states([partition]).get(partition)
            if current is None:
                raise IllegalStateException(
                    f"Cannot update leader epoch for partition {partition} as leaderAndIsr path is empty. This could "
                    "mean we somehow tried to reassign a partition that doesn't exist"
                )
            if current.controller_epoch > self._context.epoch:
                raise StateChangeFailedException(
                    "Leader and isr path written by another controller. This probably means the current controller "
                    f"with epoch {self._context.epoch} went through a soft failure and another controller was elected "
                    f"with epoch {current.controller_epoch}. Aborting state change by this controller"
                )
            new_state = current.leader_and_isr.new_epoch_and_zk_version
            result = self._zk_client.update_leader_and_isr(
                {partition: new_state}, self._context.epoch, self._context.epoch_zk_version
            )
            if partition in result.successful_partitions:
                written = result.successful_partitions[partition]
                self.info("Updated leader epoch for partition %s to %s", partition, written.leader_epoch)
                return LeaderIsrAndControllerEpoch(written, self._context.epoch)
            if partition in result.failed_partitions:
                raise result.failed_partitions[partition]

    def unregister_partition_reassignment_isr_change_handlers(self) -> None:
        for reassignment in self._context.partitions_being_reassigned.values():
            reassignment.unregister_reassign_isr_change_handler(self._zk_client)

    def _remove_partition_from_reassigned_partitions(self, topic_partition: TopicPartition) -> None:
        """Take the wish off the znode, and the znode away when it was the last one."""
        being_reassigned = self._context.partitions_being_reassigned
        if topic_partition in being_reassigned:
            being_reassigned[topic_partition].unregister_reassign_isr_change_handler(self._zk_client)
        left = {tp: context.new_replicas for tp, context in being_reassigned.items() if tp != topic_partition}
        self.info("Removing partition %s from the list of reassigned partitions in zookeeper", topic_partition)
        if not left:
            self.info("No more partitions need to be reassigned. Deleting zk path %s", ReassignPartitionsZNode.path)
            self._zk_client.delete_partition_reassignment(self._context.epoch_zk_version)
            # The watch was used up: this event sets it anew, so that the next wish is seen.
            self._controller.watch_for_partition_reassignment()
        else:
            try:
                self._zk_client.set_or_create_partition_reassignment(left, self._context.epoch_zk_version)
            except KeeperException as e:
                raise AdminOperationException(str(e)) from e
        being_reassigned.pop(topic_partition, None)


def _problem_of(new_replicas: Sequence[int]) -> str | None:
    """Why a partition cannot have these replicas."""
    if not new_replicas:
        return "the list is empty"
    if len(set(new_replicas)) != len(new_replicas):
        return "a broker is named twice"
    return "an id is negative" if min(new_replicas) < 0 else None
