"""The life of one copy of a partition, and what each step makes the controller send.

VALID_PREVIOUS_STATES says which steps there are; docs/states.md draws it.

Mirrors: core/src/main/scala/kafka/controller/ReplicaStateMachine.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import ControllerMovedException, IllegalStateException, StateChangeFailedException
from kafka_py.controller.controller_channel_manager import Callbacks
from kafka_py.controller.controller_context import PartitionAndReplica
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import TopicPartitionStateZNode
from kafka_py.zookeeper.keeper_exception import Code

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.controller_channel_manager import ControllerBrokerRequestBatch
    from kafka_py.controller.controller_context import ControllerContext
    from kafka_py.controller.state_change_logger import StateChangeLogger
    from kafka_py.controller.topic_deletion_manager import TopicDeletionManager
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ReplicaState:
    """One station of a replica's life and the stations it may be reached from.

    Mirrors: kafka.controller.ReplicaState
    """

    def __init__(self, name: str, state: int) -> None:
        self.name = name
        self.state = state
        self.valid_previous_states: frozenset[ReplicaState] = frozenset()

    def __repr__(self) -> str:
        return self.name


NewReplica = ReplicaState("NewReplica", 1)
OnlineReplica = ReplicaState("OnlineReplica", 2)
OfflineReplica = ReplicaState("OfflineReplica", 3)
ReplicaDeletionStarted = ReplicaState("ReplicaDeletionStarted", 4)
ReplicaDeletionSuccessful = ReplicaState("ReplicaDeletionSuccessful", 5)
ReplicaDeletionIneligible = ReplicaState("ReplicaDeletionIneligible", 6)
NonExistentReplica = ReplicaState("NonExistentReplica", 7)

VALID_PREVIOUS_STATES = {
    NewReplica: frozenset({NonExistentReplica}),
    OnlineReplica: frozenset({NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible}),
    OfflineReplica: frozenset({NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible}),
    ReplicaDeletionStarted: frozenset({OfflineReplica}),
    ReplicaDeletionSuccessful: frozenset({ReplicaDeletionStarted}),
    ReplicaDeletionIneligible: frozenset({ReplicaDeletionStarted}),
    NonExistentReplica: frozenset({ReplicaDeletionSuccessful}),
}
for _state, _previous in VALID_PREVIOUS_STATES.items():
    _state.valid_previous_states = _previous


class ReplicaStateMachine(Logging):
    """Keeps a ReplicaState per replica; every legal step batches the LeaderAndIsr or StopReplica it calls for.

    Mirrors: kafka.controller.ReplicaStateMachine
    Thread:  controller-event-thread owns every field.
    Differs: a replica whose partition has no leader yet goes offline like the others, as in later Kafka; a topic
        whose state znodes are gone (a controller that ended in the middle of deleting it) could never be deleted else.
        Replicas that are not there when a controller takes over go offline then, as from 2.4 on (KAFKA-3143).
    """

    def __init__(
        self,
        config: KafkaConfig,
        state_change_logger: StateChangeLogger,
        controller_context: ControllerContext,
        topic_deletion_manager: TopicDeletionManager,
        zk_client: KafkaZkClient,
        replica_state: dict[PartitionAndReplica, ReplicaState],
        controller_broker_request_batch: ControllerBrokerRequestBatch,
    ) -> None:
        self._state_change_logger = state_change_logger
        self._controller_context = controller_context
        self._topic_deletion_manager = topic_deletion_manager
        self._zk_client = zk_client
        self._replica_state = replica_state  # thread: event
        self._controller_broker_request_batch = controller_broker_request_batch  # thread: event
        self._controller_id = config.broker_id
        self.log_ident = f"[ReplicaStateMachine controllerId={self._controller_id}] "
        # What each target state does with the valid replicas of one broker.
        self._steps: dict[ReplicaState, Callable[[int, list[PartitionAndReplica], Callbacks], None]] = {
            NewReplica: self._to_new,
            OnlineReplica: self._to_online,
            OfflineReplica: self._to_offline,
            ReplicaDeletionStarted: self._to_deletion_started,
            ReplicaDeletionIneligible: self._to_deletion_ineligible,
            ReplicaDeletionSuccessful: self._to_deletion_successful,
            NonExistentReplica: self._to_non_existent,
        }

    def startup(self) -> None:
        """Take over after an election: the live replicas are told their leaders, the others leave the ISRs."""
        self.info("Initializing replica state")
        self._initialize_replica_state()
        self.info("Triggering online replica state changes")
        online, offline = self._controller_context.online_and_offline_replicas()
        self.handle_state_changes(sorted(online), OnlineReplica)
        self.info("Triggering offline replica state changes")
        self.handle_state_changes(sorted(offline), OfflineReplica)
        self.info("Started replica state machine with initial state -> %s", self._replica_state)

    def shutdown(self) -> None:
        self._replica_state.clear()
        self.info("Stopped replica state machine")

    def _initialize_replica_state(self) -> None:
        # A replica on a dead broker may belong to a topic that is being deleted: to be safe it counts as failed.
        for tp, replicas in self._controller_context.partition_replica_assignment.items():
            for id in replicas:
                online = self._controller_context.is_replica_online(id, tp)
                self._replica_state[PartitionAndReplica(tp, id)] = (
                    OnlineReplica if online else ReplicaDeletionIneligible
                )

    def handle_state_changes(
        self,
        replicas: Collection[PartitionAndReplica],
        target_state: ReplicaState,
        callbacks: Callbacks | None = None,
    ) -> None:
        """Move the replicas to the state, broker by broker, and send what follows from it; failures are logged."""
        if not replicas:
            return
        by_broker: dict[int, list[TopicPartition]] = {}
        for replica in replicas:
            by_broker.setdefault(replica.replica, []).append(replica.topic_partition)
        try:
            self._controller_broker_request_batch.new_batch()
            for replica_id, partitions in by_broker.items():
                self._do_handle_state_changes(replica_id, partitions, target_state, callbacks or Callbacks())
            self._controller_broker_request_batch.send_requests_to_brokers(self._controller_context.epoch)
        except ControllerMovedException as e:
            self.error("Controller moved to another broker when moving some replicas to %s state", target_state, exc=e)
            raise
        except Exception as e:  # noqa: BLE001 -- as in Kafka: the event goes on with its other steps
            self.error("Error while moving some replicas to %s state", target_state, exc=e)

    def _do_handle_state_changes(
        self, replica_id: int, partitions: Sequence[TopicPartition], target_state: ReplicaState, callbacks: Callbacks
    ) -> None:
        valid = []
        for replica in [PartitionAndReplica(tp, replica_id) for tp in partitions]:
            self._replica_state.setdefault(replica, NonExistentReplica)
            if self._is_valid_transition(replica, target_state):
                valid.append(replica)
            else:
                self._log_invalid_transition(replica, target_state)
        self._steps[target_state](replica_id, valid, callbacks)

    def _to_new(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        context = self._controller_context
        for replica in valid:
            tp = replica.topic_partition
            state = context.partition_leadership_info.get(tp)
            if state is not None:
                if state.leader_and_isr.leader == replica_id:
                    e = StateChangeFailedException(
                        f"Replica {replica_id} for partition {tp} cannot be moved to NewReplica state as it is being "
                        "requested to become leader"
                    )
                    self._log_failed_state_change(replica, self._replica_state[replica], OfflineReplica, e)
                    continue
                self._controller_broker_request_batch.add_leader_and_isr_request_for_brokers(
                    [replica_id], tp, state, context.partition_replica_assignment[tp], is_new=True
                )
            self._moved(replica, NewReplica)

    def _to_online(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        context = self._controller_context
        for replica in valid:
            tp = replica.topic_partition
            assignment = context.partition_replica_assignment[tp]
            if self._replica_state[replica] is NewReplica:
                if replica_id not in assignment:
                    context.partition_replica_assignment[tp] = [*assignment, replica_id]
            elif (state := context.partition_leadership_info.get(tp)) is not None:
                self._controller_broker_request_batch.add_leader_and_isr_request_for_brokers(
                    [replica_id], tp, state, assignment, is_new=False
                )
            self._moved(replica, OnlineReplica)

    def _to_offline(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        """Stop the replica, take it out of the ISR, tell the others."""
        context = self._controller_context
        batch = self._controller_broker_request_batch
        for replica in valid:
            batch.add_stop_replica_request_for_brokers(
                [replica_id], replica.topic_partition, delete_partition=False, callback=ignore_response
            )
        with_leader = [r.topic_partition for r in valid if r.topic_partition in context.partition_leadership_info]
        for tp, state in self._remove_replicas_from_isr(replica_id, with_leader).items():
            if not self._topic_deletion_manager.is_partition_to_be_deleted(tp):
                assignment = context.partition_replica_assignment[tp]
                others = [id for id in assignment if id != replica_id]
                batch.add_leader_and_isr_request_for_brokers(others, tp, state, assignment, is_new=False)
            self._moved(PartitionAndReplica(tp, replica_id), OfflineReplica)
        for replica in valid:
            if replica.topic_partition not in context.partition_leadership_info:
                self._moved(replica, OfflineReplica)

    def _to_deletion_started(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        for replica in valid:
            self._moved(replica, ReplicaDeletionStarted)
            self._controller_broker_request_batch.add_stop_replica_request_for_brokers(
                [replica_id],
                replica.topic_partition,
                delete_partition=True,
                callback=callbacks.stop_replica_response_callback,
            )

    def _to_deletion_ineligible(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        for replica in valid:
            self._moved(replica, ReplicaDeletionIneligible)

    def _to_deletion_successful(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        for replica in valid:
            self._moved(replica, ReplicaDeletionSuccessful)

    def _to_non_existent(self, replica_id: int, valid: list[PartitionAndReplica], callbacks: Callbacks) -> None:
        assignments = self._controller_context.partition_replica_assignment
        for replica in valid:
            tp = replica.topic_partition
            assignments[tp] = [id for id in assignments[tp] if id != replica_id]
            self._moved(replica, NonExistentReplica)
            del self._replica_state[replica]

    def _remove_replicas_from_isr(
        self, replica_id: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Shrink the ISR in ZooKeeper, again and again where a leader wrote at the same moment."""
        results: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        remaining = list(partitions)
        while remaining:
            removed, remaining, failed = self._do_remove_replicas_from_isr(replica_id, remaining)
            results |= removed
            for tp, e in failed.items():
                replica = PartitionAndReplica(tp, replica_id)
                self._log_failed_state_change(replica, self._replica_state[replica], OfflineReplica, e)
        return results

    def _do_remove_replicas_from_isr(
        self, replica_id: int, partitions: Sequence[TopicPartition]
    ) -> tuple[
        dict[TopicPartition, LeaderIsrAndControllerEpoch], list[TopicPartition], dict[TopicPartition, Exception]
    ]:
        """One round: (new states, to retry because the znode changed meanwhile, failed for good).

        The last member of an ISR stays in it: an empty ISR would let nobody, or anybody, lead later.
        """
        context = self._controller_context
        leader_and_isrs, without_state, failed = self._get_topic_partition_states_from_zk(partitions)
        adjusted = {}
        for tp, current in leader_and_isrs.items():
            if replica_id in current.isr:
                leader = LeaderAndIsr.NO_LEADER if replica_id == current.leader else current.leader
                isr = current.isr if len(current.isr) == 1 else [id for id in current.isr if id != replica_id]
                adjusted[tp] = current.new_leader_and_isr(leader, isr)
        result = self._zk_client.update_leader_and_isr(adjusted, context.epoch, context.epoch_zk_version)
        for tp in without_state:
            if not self._topic_deletion_manager.is_partition_to_be_deleted(tp):
                failed[tp] = StateChangeFailedException(
                    f"Failed to change state of replica {replica_id} for partition {tp} since the leader and isr path "
                    "in zookeeper is empty"
                )
        settled = {tp: current for tp, current in leader_and_isrs.items() if tp not in adjusted}
        settled |= result.successful_partitions
        states = {tp: LeaderIsrAndControllerEpoch(current, context.epoch) for tp, current in settled.items()}
        context.partition_leadership_info.update(states)
        return states, list(result.partitions_to_retry), failed | result.failed_partitions

    def _get_topic_partition_states_from_zk(
        self, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition], dict[TopicPartition, Exception]]:
        """(states read, partitions without a state znode, reads that failed or were written by a newer controller)."""
        states: dict[TopicPartition, LeaderAndIsr] = {}
        without_state: list[TopicPartition] = []
        failed: dict[TopicPartition, Exception] = {}
        try:
            responses = self._zk_client.get_topic_partition_states_raw(partitions)
        except Exception as e:  # noqa: BLE001 -- the reason of every partition's failure
            return {}, [], dict.fromkeys(partitions, e)
        epoch = self._controller_context.epoch
        for response in responses:
            tp = response.ctx
            if response.result_code not in (Code.OK, Code.NONODE):
                failed[tp] = response.failure
                continue
            found = response.result_code == Code.OK
            state = TopicPartitionStateZNode.decode(response.data or b"", response.stat) if found else None
            if state is None:
                without_state.append(tp)
            elif state.controller_epoch > epoch:
                failed[tp] = StateChangeFailedException(
                    "Leader and isr path written by another controller. This probably means the current controller "
                    f"with epoch {epoch} went through a soft failure and another controller was elected with epoch "
                    f"{state.controller_epoch}. Aborting state change by this controller"
                )
            else:
                states[tp] = state.leader_and_isr
        return states, without_state, failed

    def is_at_least_one_replica_in_deletion_started_state(self, topic: str) -> bool:
        replicas = self._controller_context.replicas_for_topic(topic)
        return any(self._replica_state[replica] is ReplicaDeletionStarted for replica in replicas)

    def replicas_in_state(self, topic: str, state: ReplicaState) -> set[PartitionAndReplica]:
        replicas = self._controller_context.replicas_for_topic(topic)
        return {replica for replica in replicas if self._replica_state.get(replica) is state}

    def are_all_replicas_for_topic_deleted(self, topic: str) -> bool:
        replicas = self._controller_context.replicas_for_topic(topic)
        return all(self._replica_state[replica] is ReplicaDeletionSuccessful for replica in replicas)

    def is_any_replica_in_state(self, topic: str, state: ReplicaState) -> bool:
        return bool(self.replicas_in_state(topic, state))

    def _is_valid_transition(self, replica: PartitionAndReplica, target_state: ReplicaState) -> bool:
        return self._replica_state[replica] in target_state.valid_previous_states

    def _moved(self, replica: PartitionAndReplica, state: ReplicaState) -> None:
        self._log_successful_transition(replica.replica, replica.topic_partition, self._replica_state[replica], state)
        self._replica_state[replica] = state

    def _log_successful_transition(
        self, replica_id: int, partition: TopicPartition, current: ReplicaState, target: ReplicaState
    ) -> None:
        self._state_change_logger.with_controller_epoch(self._controller_context.epoch).trace(
            "Changed state of replica %s for partition %s from %s to %s", replica_id, partition, current, target
        )

    def _log_invalid_transition(self, replica: PartitionAndReplica, target_state: ReplicaState) -> None:
        current = self._replica_state[replica]
        allowed = ",".join(sorted(map(repr, target_state.valid_previous_states)))
        e = IllegalStateException(
            f"Replica {replica} should be in the {allowed} states before moving to {target_state} state. "
            f"Instead it is in {current} state"
        )
        self._log_failed_state_change(replica, current, target_state, e)

    def _log_failed_state_change(
        self, replica: PartitionAndReplica, current: ReplicaState, target: ReplicaState, e: BaseException | None
    ) -> None:
        self._state_change_logger.with_controller_epoch(self._controller_context.epoch).error(
            "Controller %s epoch %s initiated state change of replica %s for partition %s from %s to %s failed",
            self._controller_id,
            self._controller_context.epoch,
            replica.replica,
            replica.topic_partition,
            current,
            target,
            exc=e,
        )


def ignore_response(response: object, broker_id: int) -> None:
    """For a StopReplica whose answer changes nothing; all partitions with it travel in one request."""
    return None
