"""The life of a partition, and the elections that move it.

VALID_PREVIOUS_STATES says which steps there are; docs/states.md draws it.

Mirrors: core/src/main/scala/kafka/controller/PartitionStateMachine.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import ControllerMovedException, IllegalStateException, StateChangeFailedException
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.partition_leader_election import (
    ControlledShutdownPartitionLeaderElectionStrategy,
    OfflinePartitionAllowUncleanLeaderElectionStrategy,
    OfflinePartitionLeaderElectionStrategy,
    PartitionLeaderElectionAlgorithms,
    PartitionLeaderElectionStrategy,
    PreferredReplicaPartitionLeaderElectionStrategy,
    ReassignPartitionLeaderElectionStrategy,
)
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

# (partition, leader and ISR it shall have or None when nobody can lead, brokers that must be told)
Election = tuple["TopicPartition", LeaderAndIsr | None, list[int]]
# partition -> its new leader and ISR, or why it could not be elected
Elected = dict["TopicPartition", LeaderAndIsr | Exception]
CurrentState = list[tuple["TopicPartition", LeaderIsrAndControllerEpoch]]


class PartitionState:
    """One station of a partition's life and the stations it may be reached from.

    Mirrors: kafka.controller.PartitionState
    """

    def __init__(self, name: str, state: int) -> None:
        self.name = name
        self.state = state
        self.valid_previous_states: frozenset[PartitionState] = frozenset()

    def __repr__(self) -> str:
        return self.name


NewPartition = PartitionState("NewPartition", 0)
OnlinePartition = PartitionState("OnlinePartition", 1)
OfflinePartition = PartitionState("OfflinePartition", 2)
NonExistentPartition = PartitionState("NonExistentPartition", 3)

VALID_PREVIOUS_STATES = {
    NewPartition: frozenset({NonExistentPartition}),
    OnlinePartition: frozenset({NewPartition, OnlinePartition, OfflinePartition}),
    OfflinePartition: frozenset({NewPartition, OnlinePartition, OfflinePartition}),
    NonExistentPartition: frozenset({OfflinePartition}),
}
for _state, _previous in VALID_PREVIOUS_STATES.items():
    _state.valid_previous_states = _previous


class PartitionStateMachine(Logging):
    """Keeps a PartitionState per partition, elects leaders, and batches what the brokers must be told.

    Mirrors: kafka.controller.PartitionStateMachine
    Thread:  controller-event-thread owns every field.
    Differs: elect_leader_for_partitions retries only the partitions that are left, not all of them again, and a state
        znode that cannot be decoded fails its own partition instead of the whole batch (both mended in later Kafka).
        A first state whose creation was answered by a lost connection, and by "exists" when it was repeated, counts
        as created: the partition would never get a leader else.
    """

    def __init__(
        self,
        config: KafkaConfig,
        state_change_logger: StateChangeLogger,
        controller_context: ControllerContext,
        topic_deletion_manager: TopicDeletionManager,
        zk_client: KafkaZkClient,
        partition_state: dict[TopicPartition, PartitionState],
        controller_broker_request_batch: ControllerBrokerRequestBatch,
    ) -> None:
        self._config = config
        self._state_change_logger = state_change_logger
        self._controller_context = controller_context
        self._topic_deletion_manager = topic_deletion_manager
        self._zk_client = zk_client
        self._partition_state = partition_state  # thread: event
        self._controller_broker_request_batch = controller_broker_request_batch  # thread: event
        self._controller_id = config.broker_id
        self.log_ident = f"[PartitionStateMachine controllerId={self._controller_id}] "

    def startup(self) -> None:
        """Take over after an election: set every partition's state, then try to bring the others online."""
        self.info("Initializing partition state")
        self._initialize_partition_state()
        self.info("Triggering online partition state changes")
        self.trigger_online_partition_state_change()
        self.info("Started partition state machine with initial state -> %s", self._partition_state)

    def shutdown(self) -> None:
        self._partition_state.clear()
        self.info("Stopped partition state machine")

    def _initialize_partition_state(self) -> None:
        context = self._controller_context
        for tp in context.partition_replica_assignment:
            info = context.partition_leadership_info.get(tp)
            if info is None:
                self._partition_state[tp] = NewPartition
            elif context.is_replica_online(info.leader_and_isr.leader, tp):
                self._partition_state[tp] = OnlinePartition
            else:
                self._partition_state[tp] = OfflinePartition

    def trigger_online_partition_state_change(self) -> None:
        """Try to elect a leader for every new or offline partition whose topic is not being deleted."""
        partitions = [
            tp
            for tp, state in self._partition_state.items()
            if state in (OfflinePartition, NewPartition)
            and not self._topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic)
        ]
        self.handle_state_changes(partitions, OnlinePartition, OfflinePartitionLeaderElectionStrategy)

    def handle_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target_state: PartitionState,
        partition_leader_election_strategy: PartitionLeaderElectionStrategy | None = None,
    ) -> Elected:
        """Move the partitions to the state and send the brokers what follows from it; failures are logged.

        What has become of those for which there was an election is given back, as from 2.4 on.
        """
        if not partitions:
            return {}
        try:
            self._controller_broker_request_batch.new_batch()
            elected = self._do_handle_state_changes(partitions, target_state, partition_leader_election_strategy)
            self._controller_broker_request_batch.send_requests_to_brokers(self._controller_context.epoch)
        except ControllerMovedException as e:
            self.error(
                "Controller moved to another broker when moving some partitions to %s state", target_state, exc=e
            )
            raise
        except Exception as e:  # noqa: BLE001 -- as in Kafka: the event goes on with its other steps
            self.error("Error while moving some partitions to %s state", target_state, exc=e)
            return dict.fromkeys(partitions, e)
        return elected

    def partitions_in_state(self, state: PartitionState) -> set[TopicPartition]:
        return {tp for tp, current in self._partition_state.items() if current is state}

    def _do_handle_state_changes(
        self,
        partitions: Sequence[TopicPartition],
        target_state: PartitionState,
        strategy: PartitionLeaderElectionStrategy | None,
    ) -> Elected:
        for tp in partitions:
            self._partition_state.setdefault(tp, NonExistentPartition)
        valid = []
        for tp in partitions:
            if self._is_valid_transition(tp, target_state):
                valid.append(tp)
            else:
                self._log_invalid_transition(tp, target_state)
        if target_state is OnlinePartition:
            return self._bring_online(valid, strategy)
        log = self._state_change_logger.with_controller_epoch(self._controller_context.epoch)
        for tp in valid:
            tail = ""
            if target_state is NewPartition:
                replicas = ",".join(map(str, self._controller_context.partition_replica_assignment[tp]))
                tail = f" with assigned replicas {replicas}"
            log.trace("Changed partition %s state from %s to %s%s", tp, self._partition_state[tp], target_state, tail)
            self._partition_state[tp] = target_state
        return {}

    def _bring_online(
        self, valid: Sequence[TopicPartition], strategy: PartitionLeaderElectionStrategy | None
    ) -> Elected:
        """A new partition gets its first state znode; an offline or online one an election."""
        uninitialized = [tp for tp in valid if self._partition_state[tp] is NewPartition]
        to_elect = [tp for tp in valid if self._partition_state[tp] in (OfflinePartition, OnlinePartition)]
        successful: list[TopicPartition] = []
        elected: Elected = {}
        if uninitialized:
            successful += self._initialize_leader_and_isr_for_partitions(uninitialized)
        if to_elect:
            if strategy is None:
                raise IllegalStateException(f"No election strategy given for {to_elect}")
            elected = self._elect_leader_for_partitions(to_elect, strategy)
            successful += [tp for tp, result in elected.items() if isinstance(result, LeaderAndIsr)]
        log = self._state_change_logger.with_controller_epoch(self._controller_context.epoch)
        for tp in successful:
            log.trace(
                "Changed partition %s from %s to %s with state %s",
                tp,
                self._partition_state[tp],
                OnlinePartition,
                self._controller_context.partition_leadership_info[tp].leader_and_isr,
            )
            self._partition_state[tp] = OnlinePartition
        return elected

    def _initialize_leader_and_isr_for_partitions(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Write the first state znode: leader = first live replica, ISR = all live ones. Gives those that worked."""
        context = self._controller_context
        first_states: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        for tp in partitions:
            replicas = context.partition_replica_assignment[tp]
            live = [id for id in replicas if context.is_replica_online(id, tp)]
            if live:
                first_states[tp] = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(live[0], live), context.epoch)
                continue
            message = (
                f"Controller {self._controller_id} epoch {context.epoch} encountered error during state change of "
                f"partition {tp} from New to Online, assigned replicas are [{','.join(map(str, replicas))}], live "
                f"brokers are [{context.live_broker_ids}]. No assigned replica is alive."
            )
            self._log_failed_state_change(tp, NewPartition, OnlinePartition, StateChangeFailedException(message))
        try:
            responses = self._zk_client.create_topic_partition_states_raw(first_states, context.epoch_zk_version)
        except ControllerMovedException as e:
            self.error("Controller moved to another broker while creating the state znodes of partitions", exc=e)
            raise
        except Exception as e:  # noqa: BLE001 -- each partition's failure is logged
            for tp in first_states:
                self._log_failed_state_change(tp, self._partition_state[tp], NewPartition, e)
            return []
        successful = []
        for response in responses:
            tp = response.ctx
            state = first_states[tp]
            if response.result_code == Code.OK or (
                response.result_code == Code.NODEEXISTS and self._is_in_zk(tp, state)
            ):
                context.partition_leadership_info[tp] = state
                self._controller_broker_request_batch.add_leader_and_isr_request_for_brokers(
                    state.leader_and_isr.isr, tp, state, context.partition_replica_assignment[tp], is_new=True
                )
                successful.append(tp)
            else:
                self._log_failed_state_change(tp, NewPartition, OnlinePartition, response.failure)
        return successful

    def _is_in_zk(self, partition: TopicPartition, state: LeaderIsrAndControllerEpoch) -> bool:
        """Whether the partition's znode holds just that state: then we created it, and only the answer was lost."""
        try:
            (response,) = self._zk_client.get_topic_partition_states_raw([partition])
        except Exception as e:  # noqa: BLE001 -- then this partition fails, and the others go on
            self.warn("Cannot read the state of partition %s that is there already", partition, exc=e)
            return False
        if response.result_code != Code.OK:
            return False
        return TopicPartitionStateZNode.decode(response.data or b"", response.stat) == state

    def _elect_leader_for_partitions(
        self, partitions: Sequence[TopicPartition], strategy: PartitionLeaderElectionStrategy
    ) -> Elected:
        """Elect until none is left to retry; a retry follows when a leader wrote its ISR at the same moment."""
        finished: Elected = {}
        remaining = list(partitions)
        while remaining:
            elected, remaining, failed = self._do_elect_leader_for_partitions(remaining, strategy)
            finished |= elected
            finished |= failed
            for tp, e in failed.items():
                self._log_failed_state_change(tp, self._partition_state[tp], OnlinePartition, e)
        return finished

    def _do_elect_leader_for_partitions(
        self, partitions: Sequence[TopicPartition], strategy: PartitionLeaderElectionStrategy
    ) -> tuple[dict[TopicPartition, LeaderAndIsr], list[TopicPartition], dict[TopicPartition, Exception]]:
        """One round: (elected, to retry because the znode changed meanwhile, failed for good)."""
        context = self._controller_context
        try:
            current, failed = self._read_current_states(partitions)
        except Exception as e:  # noqa: BLE001 -- the reason of every partition's failure
            return {}, [], dict.fromkeys(partitions, e)
        if not current:
            return {}, [], failed
        elections = self._leaders_for(strategy, current)
        for tp, leader_and_isr, _ in elections:
            if leader_and_isr is None:
                message = f"Failed to elect leader for partition {tp} under strategy {strategy}"
                failed[tp] = StateChangeFailedException(message)
        recipients = {tp: ids for tp, leader_and_isr, ids in elections if leader_and_isr is not None}
        adjusted = {tp: leader_and_isr for tp, leader_and_isr, _ in elections if leader_and_isr is not None}
        result = self._zk_client.update_leader_and_isr(adjusted, context.epoch, context.epoch_zk_version)
        for tp, leader_and_isr in result.successful_partitions.items():
            state = LeaderIsrAndControllerEpoch(leader_and_isr, context.epoch)
            context.partition_leadership_info[tp] = state
            self._controller_broker_request_batch.add_leader_and_isr_request_for_brokers(
                recipients[tp], tp, state, context.partition_replica_assignment[tp], is_new=False
            )
        return result.successful_partitions, list(result.partitions_to_retry), failed | result.failed_partitions

    def _read_current_states(
        self, partitions: Sequence[TopicPartition]
    ) -> tuple[CurrentState, dict[TopicPartition, Exception]]:
        """Leader and ISR as ZooKeeper has them now, without those a newer controller has written."""
        context = self._controller_context
        current: CurrentState = []
        failed: dict[TopicPartition, Exception] = {}
        for response in self._zk_client.get_topic_partition_states_raw(partitions):
            tp = response.ctx
            state = None
            if response.result_code == Code.OK:
                state = TopicPartitionStateZNode.decode(response.data or b"", response.stat)
            elif response.result_code != Code.NONODE:
                failed[tp] = response.failure
                continue
            if state is None:
                failed[tp] = StateChangeFailedException(
                    f"LeaderAndIsr information doesn't exist for partition {tp} in {self._partition_state[tp]} state"
                )
            elif state.controller_epoch > context.epoch:
                failed[tp] = StateChangeFailedException(
                    f"aborted leader election for partition {tp} since the LeaderAndIsr path was already written by "
                    f"another controller. This probably means that the current controller {self._controller_id} went "
                    f"through a soft failure and another controller was elected with epoch {state.controller_epoch}."
                )
            else:
                current.append((tp, state))
        return current, failed

    def _leaders_for(self, strategy: PartitionLeaderElectionStrategy, current: CurrentState) -> list[Election]:
        elect: dict[PartitionLeaderElectionStrategy, Callable[[CurrentState], list[Election]]] = {
            OfflinePartitionLeaderElectionStrategy: self._leader_for_offline,
            OfflinePartitionAllowUncleanLeaderElectionStrategy: lambda states: self._leader_for_offline(states, True),
            ReassignPartitionLeaderElectionStrategy: self._leader_for_reassign,
            PreferredReplicaPartitionLeaderElectionStrategy: self._leader_for_preferred_replica,
        }
        if strategy is ControlledShutdownPartitionLeaderElectionStrategy:
            return self._leader_for_controlled_shutdown(current, set(self._controller_context.shutting_down_broker_ids))
        return elect[strategy](current)

    def _leader_for_offline(self, current: CurrentState, allow_unclean: bool = False) -> list[Election]:
        context = self._controller_context
        nobody_in_sync = [tp for tp, state in current if not self._online(state.leader_and_isr.isr, tp)]
        # Topic configs are read only for partitions that could need an unclean election.
        log_configs, failed = self._zk_client.get_log_configs(
            sorted({tp.topic for tp in nobody_in_sync if not allow_unclean}), self._config.originals()
        )
        elections: list[Election] = []
        for tp, state in current:
            assignment = context.partition_replica_assignment[tp]
            live = self._online(assignment, tp)
            unclean = allow_unclean
            if tp in nobody_in_sync and not allow_unclean:
                if tp.topic in failed:
                    self._log_failed_state_change(tp, self._partition_state[tp], OnlinePartition, failed[tp.topic])
                    elections.append((tp, None, live))
                    continue
                unclean = log_configs[tp.topic].unclean_leader_election_enable
            isr = state.leader_and_isr.isr
            leader = PartitionLeaderElectionAlgorithms.offline_partition_leader_election(
                assignment, isr, live, unclean, context
            )
            chosen = None
            if leader is not None:
                new_isr = self._online(isr, tp) if leader in isr else [leader]
                chosen = state.leader_and_isr.new_leader_and_isr(leader, new_isr)
            elections.append((tp, chosen, live))
        return elections

    def _leader_for_reassign(self, current: CurrentState) -> list[Election]:
        elections: list[Election] = []
        for tp, state in current:
            reassignment = self._controller_context.partitions_being_reassigned[tp].new_replicas
            leader = PartitionLeaderElectionAlgorithms.reassign_partition_leader_election(
                reassignment, state.leader_and_isr.isr, self._online(reassignment, tp)
            )
            chosen = None if leader is None else state.leader_and_isr.new_leader(leader)
            elections.append((tp, chosen, list(reassignment)))
        return elections

    def _leader_for_preferred_replica(self, current: CurrentState) -> list[Election]:
        elections: list[Election] = []
        for tp, state in current:
            assignment = self._controller_context.partition_replica_assignment[tp]
            leader = PartitionLeaderElectionAlgorithms.preferred_replica_partition_leader_election(
                assignment, state.leader_and_isr.isr, self._online(assignment, tp)
            )
            chosen = None if leader is None else state.leader_and_isr.new_leader(leader)
            elections.append((tp, chosen, list(assignment)))
        return elections

    def _leader_for_controlled_shutdown(
        self, current: CurrentState, shutting_down_brokers: Collection[int]
    ) -> list[Election]:
        elections: list[Election] = []
        for tp, state in current:
            assignment = self._controller_context.partition_replica_assignment[tp]
            live = self._online(assignment, tp)
            isr = state.leader_and_isr.isr
            leader = PartitionLeaderElectionAlgorithms.controlled_shutdown_partition_leader_election(
                assignment, isr, live, shutting_down_brokers
            )
            new_isr = [id for id in isr if id not in self._controller_context.shutting_down_broker_ids]
            chosen = None if leader is None else state.leader_and_isr.new_leader_and_isr(leader, new_isr)
            elections.append((tp, chosen, live))
        return elections

    def _online(self, replicas: Sequence[int], tp: TopicPartition) -> list[int]:
        return [id for id in replicas if self._controller_context.is_replica_online(id, tp)]

    def _is_valid_transition(self, partition: TopicPartition, target_state: PartitionState) -> bool:
        return self._partition_state[partition] in target_state.valid_previous_states

    def _log_invalid_transition(self, partition: TopicPartition, target_state: PartitionState) -> None:
        current = self._partition_state[partition]
        allowed = ",".join(sorted(map(repr, target_state.valid_previous_states)))
        e = IllegalStateException(
            f"Partition {partition} should be in one of {allowed} states before moving to {target_state} state. "
            f"Instead it is in {current} state"
        )
        self._log_failed_state_change(partition, current, target_state, e)

    def _log_failed_state_change(
        self, partition: TopicPartition, current: PartitionState, target: PartitionState, e: BaseException | None
    ) -> None:
        self._state_change_logger.with_controller_epoch(self._controller_context.epoch).error(
            "Controller %s epoch %s failed to change state for partition %s from %s to %s",
            self._controller_id,
            self._controller_context.epoch,
            partition,
            current,
            target,
            exc=e,
        )
