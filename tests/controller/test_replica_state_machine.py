"""Every legal and illegal step of a replica, and what each makes the controller send."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_channel_manager import Callbacks
from kafka_py.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.replica_state_machine import (
    VALID_PREVIOUS_STATES,
    NewReplica,
    NonExistentReplica,
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaDeletionSuccessful,
    ReplicaState,
    ReplicaStateMachine,
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
REPLICA = PartitionAndReplica(TP, BROKER)
ALL_STATES = list(VALID_PREVIOUS_STATES)


class Machine:
    """A ReplicaStateMachine over doubles, with one replica of one partition that OTHER leads."""

    def __init__(self, state: ReplicaState | None = None) -> None:
        self.context = ControllerContext()
        self.context.epoch = CONTROLLER_EPOCH
        self.context.set_live_broker_and_epochs({broker(BROKER): 0, broker(OTHER): 0})
        self.context.partition_replica_assignment[TP] = [BROKER, OTHER]
        self.zk, self.batch, self.deletion = FakeZkClient(), RecordingBatch(), FakeTopicDeletionManager()
        self.states: dict[PartitionAndReplica, ReplicaState] = {} if state is None else {REPLICA: state}
        fakes: tuple[Any, ...] = (self.deletion, self.zk, self.states, self.batch)
        self.machine = ReplicaStateMachine(config(BROKER), StateChangeLogger(BROKER, True), self.context, *fakes)

    def lead(self, leader: int, isr: list[int]) -> LeaderIsrAndControllerEpoch:
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(leader, isr), CONTROLLER_EPOCH)
        self.context.partition_leadership_info[TP] = self.zk.states[TP] = state
        return state

    def go(self, target: ReplicaState, callbacks: Callbacks | None = None) -> ReplicaState | None:
        self.machine.handle_state_changes([REPLICA], target, callbacks)
        return self.states.get(REPLICA)


@pytest.mark.ported(
    "ReplicaStateMachineTest.testInvalidNonexistentReplicaToOnlineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidNonexistentReplicaToOfflineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidNonexistentReplicaToReplicaDeletionStartedTransition",
    "ReplicaStateMachineTest.testInvalidNonexistentReplicaToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testInvalidNonexistentReplicaToReplicaDeletionSuccessfulTransition",
    "ReplicaStateMachineTest.testInvalidNewReplicaToNonexistentReplicaTransition",
    "ReplicaStateMachineTest.testNewReplicaToOfflineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidNewReplicaToReplicaDeletionStartedTransition",
    "ReplicaStateMachineTest.testInvalidNewReplicaToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testInvalidNewReplicaToReplicaDeletionSuccessfulTransition",
    "ReplicaStateMachineTest.testInvalidOnlineReplicaToNonexistentReplicaTransition",
    "ReplicaStateMachineTest.testInvalidOnlineReplicaToNewReplicaTransition",
    "ReplicaStateMachineTest.testInvalidOnlineReplicaToReplicaDeletionStartedTransition",
    "ReplicaStateMachineTest.testInvalidOnlineReplicaToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testInvalidOnlineReplicaToReplicaDeletionSuccessfulTransition",
    "ReplicaStateMachineTest.testInvalidOfflineReplicaToNonexistentReplicaTransition",
    "ReplicaStateMachineTest.testInvalidOfflineReplicaToNewReplicaTransition",
    "ReplicaStateMachineTest.testInvalidOfflineReplicaToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testInvalidOfflineReplicaToReplicaDeletionSuccessfulTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionStartedToNonexistentReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionStartedToNewReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionStartedToOnlineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionStartedToOfflineReplicaTransition",
    "ReplicaStateMachineTest.testReplicaDeletionStartedToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testReplicaDeletionStartedToReplicaDeletionSuccessfulTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionSuccessfulToNewReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionSuccessfulToOnlineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionSuccessfulToOfflineReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionSuccessfulToReplicaDeletionStartedTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionSuccessfulToReplicaDeletionIneligibleTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionIneligibleToNonexistentReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionIneligibleToNewReplicaTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionIneligibleToReplicaDeletionStartedTransition",
    "ReplicaStateMachineTest.testInvalidReplicaDeletionIneligibleToReplicaDeletionSuccessfulTransition",
    changes="one table for all of them",
)
@pytest.mark.parametrize("before", ALL_STATES, ids=repr)
@pytest.mark.parametrize("after", ALL_STATES, ids=repr)
def test_only_legal_transitions_happen(before: ReplicaState, after: ReplicaState) -> None:
    m = Machine(before)
    m.lead(OTHER, [OTHER, BROKER])
    expected: ReplicaState | None = after if before in VALID_PREVIOUS_STATES[after] else before
    if expected is NonExistentReplica and before is ReplicaDeletionSuccessful:
        expected = None  # forgotten
    assert m.go(after) is expected


@pytest.mark.ported("ReplicaStateMachineTest.testNonexistentReplicaToNewReplicaTransition")
def test_a_new_replica_of_a_led_partition_is_told_its_leader() -> None:
    m = Machine()
    state = m.lead(OTHER, [OTHER])
    assert m.go(NewReplica) is NewReplica
    assert m.batch.leader_and_isr == [([BROKER], TP, state, [BROKER, OTHER], True)]


def test_a_new_replica_cannot_be_the_leader_already() -> None:
    m = Machine()
    m.lead(BROKER, [BROKER])
    assert m.go(NewReplica) is NonExistentReplica


@pytest.mark.ported("ReplicaStateMachineTest.testNewReplicaToOnlineReplicaTransition")
def test_a_replica_that_comes_online_joins_the_assignment() -> None:
    m = Machine(NewReplica)
    m.context.partition_replica_assignment[TP] = [OTHER]
    assert m.go(OnlineReplica) is OnlineReplica
    assert m.context.partition_replica_assignment[TP] == [OTHER, BROKER]
    assert m.batch.leader_and_isr == []


@pytest.mark.ported("ReplicaStateMachineTest.testOnlineReplicaToOnlineReplicaTransition")
@pytest.mark.ported("ReplicaStateMachineTest.testOfflineReplicaToOnlineReplicaTransition")
@pytest.mark.ported("ReplicaStateMachineTest.testReplicaDeletionIneligibleToOnlineReplicaTransition")
@pytest.mark.parametrize("before", [OnlineReplica, OfflineReplica, ReplicaDeletionIneligible], ids=repr)
def test_a_replica_that_comes_back_is_told_its_leader(before: ReplicaState) -> None:
    m = Machine(before)
    state = m.lead(OTHER, [OTHER])
    assert m.go(OnlineReplica) is OnlineReplica
    assert m.batch.leader_and_isr == [([BROKER], TP, state, [BROKER, OTHER], False)]


@pytest.mark.ported("ReplicaStateMachineTest.testOnlineReplicaToOfflineReplicaTransition")
@pytest.mark.parametrize("before", [OnlineReplica, ReplicaDeletionIneligible], ids=repr)
def test_an_offline_replica_is_stopped_and_leaves_the_isr(before: ReplicaState) -> None:
    m = Machine(before)
    m.lead(OTHER, [OTHER, BROKER])
    assert m.go(OfflineReplica) is OfflineReplica
    assert m.batch.stop_replica == [([BROKER], TP, False)]
    (recipients, tp, state, assignment, is_new) = m.batch.leader_and_isr[0]
    assert (recipients, tp, assignment, is_new) == ([OTHER], TP, [BROKER, OTHER], False)
    assert (state.leader_and_isr.leader, state.leader_and_isr.isr) == (OTHER, [OTHER])


def test_the_last_member_stays_in_the_isr_but_leads_no_more() -> None:
    m = Machine(OnlineReplica)
    m.lead(BROKER, [BROKER])
    m.go(OfflineReplica)
    after = m.zk.states[TP].leader_and_isr
    assert (after.leader, after.isr) == (LeaderAndIsr.NO_LEADER, [BROKER])


def test_a_topic_being_deleted_gets_no_leader_and_isr() -> None:
    m = Machine(OnlineReplica)
    m.lead(OTHER, [OTHER, BROKER])
    m.deletion.topics.add("t")
    assert m.go(OfflineReplica) is OfflineReplica
    assert m.batch.leader_and_isr == []


def test_a_shrink_that_collides_with_the_leader_is_repeated() -> None:
    m = Machine(OnlineReplica)
    m.lead(OTHER, [OTHER, BROKER])
    m.zk.conflicts = 1
    assert m.go(OfflineReplica) is OfflineReplica
    assert m.zk.states[TP].leader_and_isr.isr == [OTHER]


@pytest.mark.parametrize(("error", "code"), [(OSError("test"), Code.OK), (None, Code.NOAUTH), (None, Code.NONODE)])
def test_a_replica_stays_online_when_its_state_cannot_be_read(error: Exception | None, code: Code) -> None:
    m = Machine(OnlineReplica)
    m.lead(OTHER, [OTHER, BROKER])
    m.zk.fail_with, m.zk.result_code = error, code
    assert m.go(OfflineReplica) is OnlineReplica


@pytest.mark.ported("ReplicaStateMachineTest.testOfflineReplicaToReplicaDeletionStartedTransition")
def test_deletion_asks_the_broker_and_hands_on_its_answer() -> None:
    answers: list[tuple[Any, int]] = []
    m = Machine(OfflineReplica)
    callbacks = Callbacks(stop_replica_response_callback=lambda response, id: answers.append((response, id)))
    assert m.go(ReplicaDeletionStarted, callbacks) is ReplicaDeletionStarted
    assert m.batch.stop_replica == [([BROKER], TP, True)]
    m.batch.callbacks[0]("answer", BROKER)
    assert answers == [("answer", BROKER)]
    assert m.machine.is_at_least_one_replica_in_deletion_started_state("other") is False
    assert m.machine.replicas_in_state("t", ReplicaDeletionStarted) == {REPLICA}


@pytest.mark.ported("ReplicaStateMachineTest.testReplicaDeletionSuccessfulToNonexistentReplicaTransition")
def test_a_deleted_replica_leaves_the_assignment() -> None:
    m = Machine(ReplicaDeletionSuccessful)
    assert m.go(NonExistentReplica) is None
    assert m.context.partition_replica_assignment[TP] == [OTHER]


def test_startup_tells_live_replicas_and_takes_dead_ones_out_of_the_isr() -> None:
    m = Machine()
    m.lead(BROKER, [BROKER, OTHER])
    m.context.set_live_broker_and_epochs({broker(BROKER): 0})
    m.machine.startup()
    assert m.states == {REPLICA: OnlineReplica, PartitionAndReplica(TP, OTHER): OfflineReplica}
    assert m.zk.states[TP].leader_and_isr.isr == [BROKER]
    told = [(to, state.leader_and_isr.isr) for to, _, state, _, _ in m.batch.leader_and_isr]
    assert told == [([BROKER], [BROKER, OTHER]), ([BROKER], [BROKER])]
    assert not m.machine.are_all_replicas_for_topic_deleted("t")
    m.machine.shutdown()
    assert m.states == {}


def test_startup_takes_the_leadership_from_a_dead_leader() -> None:
    m = Machine()
    m.lead(OTHER, [BROKER, OTHER])
    m.context.set_live_broker_and_epochs({broker(BROKER): 0})
    m.machine.startup()
    after = m.context.partition_leadership_info[TP].leader_and_isr
    assert (after.leader, after.isr) == (LeaderAndIsr.NO_LEADER, [BROKER])


def test_startup_takes_replicas_in_failed_directories_out_of_the_isr() -> None:
    m = Machine()
    m.lead(BROKER, [BROKER, OTHER])
    m.context.replicas_on_offline_dirs[OTHER] = {TP}
    m.machine.startup()
    assert m.states[PartitionAndReplica(TP, OTHER)] is OfflineReplica
    assert m.zk.states[TP].leader_and_isr.isr == [BROKER]


def test_startup_sends_nobody_an_isr_of_a_topic_that_is_being_deleted() -> None:
    m = Machine()
    m.lead(BROKER, [BROKER, OTHER])
    m.deletion.topics.add("t")
    m.context.set_live_broker_and_epochs({broker(BROKER): 0})
    m.machine.startup()
    assert m.states[PartitionAndReplica(TP, OTHER)] is OfflineReplica
    assert len(m.batch.leader_and_isr) == 1


@pytest.mark.parametrize("before", [NewReplica, OnlineReplica, OfflineReplica], ids=repr)
def test_a_replica_of_a_partition_without_a_leader_can_be_deleted(before: ReplicaState) -> None:
    m = Machine(before)
    assert m.go(OfflineReplica) is OfflineReplica
    assert m.go(ReplicaDeletionStarted) is ReplicaDeletionStarted
    assert m.batch.stop_replica == [([BROKER], TP, False), ([BROKER], TP, True)]
    assert m.batch.leader_and_isr == []
