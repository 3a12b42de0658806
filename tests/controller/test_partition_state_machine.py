"""Every legal and illegal step of a partition, and the elections behind them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import StateChangeFailedException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_context import ControllerContext
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.partition_leader_election import (
    ControlledShutdownPartitionLeaderElectionStrategy,
    OfflinePartitionLeaderElectionStrategy,
    PartitionLeaderElectionAlgorithms,
    PartitionLeaderElectionStrategy,
    PreferredReplicaPartitionLeaderElectionStrategy,
    ReassignPartitionLeaderElectionStrategy,
)
from kafka_py.controller.partition_state_machine import (
    VALID_PREVIOUS_STATES,
    NewPartition,
    NonExistentPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionState,
    PartitionStateMachine,
)
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.zookeeper.keeper_exception import Code
from tests.controller.fakes import (
    CONTROLLER_EPOCH,
    FakeTopicDeletionManager,
    FakeZkClient,
    RecordingBatch,
    broker,
    config,
)

BROKER, OTHER = 5, 6
TP = TopicPartition("t", 0)
ALL_STATES = list(VALID_PREVIOUS_STATES)


class Machine:
    """A PartitionStateMachine over doubles, with one partition."""

    def __init__(self, state: PartitionState | None = None, live: tuple[int, ...] = (BROKER,)) -> None:
        self.context = ControllerContext()
        self.context.epoch = CONTROLLER_EPOCH
        self.context.set_live_broker_and_epochs({broker(id): 0 for id in live})
        self.zk, self.batch, self.deletion = FakeZkClient(), RecordingBatch(), FakeTopicDeletionManager()
        self.states: dict[TopicPartition, PartitionState] = {} if state is None else {TP: state}
        fakes: tuple[Any, ...] = (self.deletion, self.zk, self.states, self.batch)
        self.machine = PartitionStateMachine(config(BROKER), StateChangeLogger(BROKER, True), self.context, *fakes)

    def lead(self, leader: int, isr: list[int], assignment: list[int], epoch: int = CONTROLLER_EPOCH) -> LeaderAndIsr:
        current = LeaderAndIsr.create(leader, isr)
        self.context.partition_replica_assignment[TP] = assignment
        state = LeaderIsrAndControllerEpoch(current, epoch)
        self.context.partition_leadership_info[TP] = self.zk.states[TP] = state
        return current

    def go(self, target: PartitionState, strategy: PartitionLeaderElectionStrategy | None = None) -> PartitionState:
        self.machine.handle_state_changes([TP], target, strategy)
        return self.states[TP]

    @property
    def elected(self) -> LeaderAndIsr:
        return self.context.partition_leadership_info[TP].leader_and_isr


@pytest.mark.ported(
    "PartitionStateMachineTest.testInvalidNonexistentPartitionToOnlinePartitionTransition",
    "PartitionStateMachineTest.testInvalidNonexistentPartitionToOfflinePartitionTransition",
    "PartitionStateMachineTest.testNewPartitionToOfflinePartitionTransition",
    "PartitionStateMachineTest.testInvalidNewPartitionToNonexistentPartitionTransition",
    "PartitionStateMachineTest.testOnlinePartitionToOfflineTransition",
    "PartitionStateMachineTest.testInvalidOnlinePartitionToNonexistentPartitionTransition",
    "PartitionStateMachineTest.testInvalidOnlinePartitionToNewPartitionTransition",
    "PartitionStateMachineTest.testOfflinePartitionToNonexistentPartitionTransition",
    "PartitionStateMachineTest.testInvalidOfflinePartitionToNewPartitionTransition",
    changes="one table for all of them",
)
@pytest.mark.parametrize("before", ALL_STATES, ids=repr)
@pytest.mark.parametrize("after", ALL_STATES, ids=repr)
def test_only_legal_transitions_happen(before: PartitionState, after: PartitionState) -> None:
    m = Machine(before)
    m.lead(BROKER, [BROKER], [BROKER])
    if before is NewPartition:
        m.zk.states.clear()
    expected = after if before in VALID_PREVIOUS_STATES[after] else before
    assert m.go(after, OfflinePartitionLeaderElectionStrategy) is expected


@pytest.mark.ported("PartitionStateMachineTest.testNonexistentPartitionToNewPartitionTransition")
def test_an_unknown_partition_may_become_new() -> None:
    m = Machine()
    m.context.partition_replica_assignment[TP] = [BROKER]
    assert m.go(NewPartition) is NewPartition


@pytest.mark.ported("PartitionStateMachineTest.testNewPartitionToOnlinePartitionTransition")
def test_first_live_replica_leads_a_new_partition() -> None:
    m = Machine(NewPartition)
    m.context.partition_replica_assignment[TP] = [OTHER, BROKER]
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OnlinePartition
    state = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(BROKER, [BROKER]), CONTROLLER_EPOCH)
    assert m.zk.states[TP] == state
    assert m.batch.leader_and_isr == [([BROKER], TP, state, [OTHER, BROKER], True)]
    assert m.batch.sent_epochs == [CONTROLLER_EPOCH]


@pytest.mark.ported(
    "PartitionStateMachineTest.testNewPartitionToOnlinePartitionTransitionZkUtilsExceptionFromCreateStates"
)
@pytest.mark.ported("PartitionStateMachineTest.testNewPartitionToOnlinePartitionTransitionErrorCodeFromCreateStates")
@pytest.mark.parametrize(("error", "code"), [(OSError("test"), Code.OK), (None, Code.NODEEXISTS)])
def test_a_new_partition_stays_new_when_its_state_cannot_be_created(error: Exception | None, code: Code) -> None:
    m = Machine(NewPartition)
    m.context.partition_replica_assignment[TP] = [BROKER]
    m.zk.fail_with, m.zk.result_code = error, code
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is NewPartition
    assert m.batch.leader_and_isr == []


def test_a_new_partition_without_a_live_replica_stays_new() -> None:
    m = Machine(NewPartition)
    m.context.partition_replica_assignment[TP] = [OTHER]
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is NewPartition
    assert m.zk.states == {}


@pytest.mark.ported("PartitionStateMachineTest.testOnlinePartitionToOnlineTransition")
def test_preferred_replica_election() -> None:
    m = Machine(OnlinePartition, live=(BROKER, OTHER))
    before = m.lead(OTHER, [OTHER, BROKER], [BROKER, OTHER])
    assert m.go(OnlinePartition, PreferredReplicaPartitionLeaderElectionStrategy) is OnlinePartition
    assert m.elected == before.new_leader(BROKER).with_zk_version(1)
    assert m.batch.leader_and_isr[0][0] == [BROKER, OTHER]


@pytest.mark.ported("PartitionStateMachineTest.testOnlinePartitionToOnlineTransitionForControlledShutdown")
def test_controlled_shutdown_moves_the_leader_and_shrinks_the_isr() -> None:
    m = Machine(OnlinePartition, live=(BROKER, OTHER))
    m.lead(BROKER, [BROKER, OTHER], [BROKER, OTHER])
    m.context.shutting_down_broker_ids.add(BROKER)
    m.go(OnlinePartition, ControlledShutdownPartitionLeaderElectionStrategy)
    assert (m.elected.leader, m.elected.isr, m.elected.leader_epoch) == (OTHER, [OTHER], 1)
    assert m.batch.leader_and_isr[0][0] == [OTHER]


@pytest.mark.ported("PartitionStateMachineTest.testOfflinePartitionToOnlinePartitionTransition")
def test_an_offline_partition_is_led_by_a_live_member_of_the_isr() -> None:
    m = Machine(OfflinePartition, live=(BROKER,))
    m.lead(OTHER, [OTHER, BROKER], [OTHER, BROKER])
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OnlinePartition
    assert (m.elected.leader, m.elected.isr) == (BROKER, [BROKER])


def test_reassignment_elects_from_the_new_replicas() -> None:
    m = Machine(OnlinePartition, live=(BROKER, OTHER))
    m.lead(BROKER, [BROKER, OTHER], [BROKER, OTHER])
    m.context.partitions_being_reassigned[TP] = type("Context", (), {"new_replicas": [OTHER]})()
    m.go(OnlinePartition, ReassignPartitionLeaderElectionStrategy)
    assert m.elected.leader == OTHER


def test_nobody_in_sync_needs_an_unclean_election() -> None:
    m = Machine(OfflinePartition, live=(BROKER,))
    m.lead(OTHER, [OTHER], [OTHER, BROKER])
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OfflinePartition
    m.zk.unclean["t"] = True
    marked = m.context.stats.unclean_leader_election_rate.count
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OnlinePartition
    assert (m.elected.leader, m.elected.isr) == (BROKER, [BROKER])
    assert m.context.stats.unclean_leader_election_rate.count == marked + 1


@pytest.mark.ported("PartitionStateMachineTest.testOfflinePartitionToOnlinePartitionTransitionErrorCodeFromStateLookup")
@pytest.mark.ported(
    "PartitionStateMachineTest.testOfflinePartitionToOnlinePartitionTransitionZkUtilsExceptionFromStateLookup"
)
@pytest.mark.parametrize(("error", "code"), [(OSError("test"), Code.OK), (None, Code.NONODE), (None, Code.NOAUTH)])
def test_a_partition_stays_offline_when_its_state_cannot_be_read(error: Exception | None, code: Code) -> None:
    m = Machine(OfflinePartition)
    m.lead(BROKER, [BROKER], [BROKER])
    m.zk.fail_with, m.zk.result_code = error, code
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OfflinePartition


def test_a_state_of_a_newer_controller_is_left_alone() -> None:
    m = Machine(OfflinePartition)
    m.lead(BROKER, [BROKER], [BROKER], epoch=CONTROLLER_EPOCH + 1)
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OfflinePartition


def test_an_election_that_collides_with_a_leader_is_repeated() -> None:
    m = Machine(OfflinePartition)
    m.lead(BROKER, [BROKER], [BROKER])
    m.zk.conflicts = 2
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OnlinePartition
    m.zk.update_failure = StateChangeFailedException("no")
    m.states[TP] = OfflinePartition
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OfflinePartition


def test_startup_derives_the_states_and_brings_partitions_online() -> None:
    m = Machine(live=(BROKER,))
    m.lead(OTHER, [OTHER, BROKER], [OTHER, BROKER])
    new, going = TopicPartition("new", 0), TopicPartition("going", 0)
    m.context.partition_replica_assignment[new] = m.context.partition_replica_assignment[going] = [BROKER]
    m.deletion.topics.add("going")
    m.machine.startup()
    assert m.states == {TP: OnlinePartition, new: OnlinePartition, going: NewPartition}
    assert m.machine.partitions_in_state(NewPartition) == {going}
    m.machine.shutdown()
    assert m.states == {}
    assert NonExistentPartition.state == 3


class TestElectionAlgorithms:
    """Mirrors PartitionLeaderElectionAlgorithmsTest."""

    CASES: ClassVar[tuple[tuple[list[int], list[int], set[int], int | None], ...]] = (
        ([2, 4], [2, 4], {4}, 4),
        ([2, 4], [2], {4}, None),
        ([2, 4], [4], set(), None),
    )

    @pytest.mark.ported(
        "PartitionLeaderElectionAlgorithmsTest.testOfflinePartitionLeaderElection",
        "PartitionLeaderElectionAlgorithmsTest.testOfflinePartitionLeaderElectionLastIsrOfflineUncleanLeaderElectionDisabled",
        "PartitionLeaderElectionAlgorithmsTest.testOfflinePartitionLeaderElectionLastIsrOfflineUncleanLeaderElectionEnabled",
    )
    @pytest.mark.parametrize(("assignment", "isr", "live", "leader"), CASES)
    def test_offline(self, assignment: list[int], isr: list[int], live: set[int], leader: int | None) -> None:
        elect = PartitionLeaderElectionAlgorithms.offline_partition_leader_election
        context = ControllerContext()
        assert elect(assignment, isr, live, False, context) == leader
        assert elect(assignment, isr, live, True, context) == (4 if live else None)

    @pytest.mark.ported(
        "PartitionLeaderElectionAlgorithmsTest.testReassignPartitionLeaderElection",
        "PartitionLeaderElectionAlgorithmsTest.testReassignPartitionLeaderElectionWithNoLiveIsr",
        "PartitionLeaderElectionAlgorithmsTest.testReassignPartitionLeaderElectionWithEmptyIsr",
    )
    @pytest.mark.parametrize(("assignment", "isr", "live", "leader"), CASES)
    def test_reassign(self, assignment: list[int], isr: list[int], live: set[int], leader: int | None) -> None:
        elect = PartitionLeaderElectionAlgorithms.reassign_partition_leader_election
        assert elect(assignment, isr, live) == leader
        assert elect(assignment, [], live) is None

    @pytest.mark.ported(
        "PartitionLeaderElectionAlgorithmsTest.testPreferredReplicaPartitionLeaderElection",
        "PartitionLeaderElectionAlgorithmsTest.testPreferredReplicaPartitionLeaderElectionPreferredReplicaInIsrNotLive",
        "PartitionLeaderElectionAlgorithmsTest.testPreferredReplicaPartitionLeaderElectionPreferredReplicaNotInIsrLive",
        "PartitionLeaderElectionAlgorithmsTest.testPreferredReplicaPartitionLeaderElectionPreferredReplicaNotInIsrNotLive",
    )
    def test_preferred(self) -> None:
        elect = PartitionLeaderElectionAlgorithms.preferred_replica_partition_leader_election
        assert elect([2, 4], [2, 4], {2, 4}) == 2
        assert elect([2, 4], [4], {2, 4}) is None
        assert elect([2, 4], [2, 4], {4}) is None
        assert elect([2, 4], [], set()) is None
        assert elect([], [], set()) is None

    @pytest.mark.ported(
        "PartitionLeaderElectionAlgorithmsTest.testControlledShutdownPartitionLeaderElection",
        "PartitionLeaderElectionAlgorithmsTest.testControlledShutdownPartitionLeaderElectionLastIsrShuttingDown",
        "PartitionLeaderElectionAlgorithmsTest.testControlledShutdownPartitionLeaderElectionAllIsrSimultaneouslyShutdown",
    )
    def test_controlled_shutdown(self) -> None:
        elect = PartitionLeaderElectionAlgorithms.controlled_shutdown_partition_leader_election
        assert elect([2, 4], [2, 4], {2, 4}, {2}) == 4
        assert elect([2, 4], [2], {2, 4}, {2}) is None
        assert elect([2, 4], [2, 4], {2, 4}, {2, 4}) is None


def test_a_first_state_that_was_created_before_the_connection_broke_counts() -> None:
    m = Machine(NewPartition)
    m.context.partition_replica_assignment[TP] = [BROKER]
    m.zk.exists_already = True
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is OnlinePartition
    assert (m.elected.leader, m.elected.isr) == (BROKER, [BROKER])
    ((recipients, tp, _, _, is_new),) = m.batch.leader_and_isr
    assert (recipients, tp, is_new) == ([BROKER], TP, True)


def test_a_first_state_that_somebody_else_has_created_does_not_count() -> None:
    m = Machine(NewPartition)
    m.lead(OTHER, [OTHER], [BROKER])
    m.context.partition_leadership_info.clear()
    m.zk.exists_already = True
    assert m.go(OnlinePartition, OfflinePartitionLeaderElectionStrategy) is NewPartition
    assert m.batch.leader_and_isr == []
