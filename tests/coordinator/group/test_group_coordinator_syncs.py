"""Members that ask for their assignment."""

from __future__ import annotations

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import CompletingRebalance, PreparingRebalance, Stable
from kafka_py.coordinator.group.group_results import SyncGroupResult
from tests.coordinator.group.coordinator_support import (
    FOLLOWER,
    INITIAL_DELAY,
    LEADER,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    SUPERSET,
    Rig,
)

TP = TopicPartition("topic", 0)


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupNotCoordinator")
def test_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.sync(1, "memberId", group_id=OTHER_GROUP) == SyncGroupResult.failed(Errors.NOT_COORDINATOR)


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupFromUnknownGroup")
def test_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.sync(1, "memberId").error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testSyncDeadGroup")
def test_a_dead_group(rig: Rig) -> None:
    rig.add_dead_group()
    assert rig.sync(1, "memberId").error is Errors.COORDINATOR_NOT_AVAILABLE


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupFromUnknownMember")
def test_a_member_that_is_not_there(rig: Rig) -> None:
    joined = rig.stable_member()
    assert rig.sync(joined.generation_id, "blah").error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupFromIllegalGeneration")
def test_a_generation_that_is_not_there(rig: Rig) -> None:
    joined = rig.join()
    refused = rig.sync(joined.generation_id + 1, joined.member_id, {joined.member_id: b""})
    assert refused.error is Errors.ILLEGAL_GENERATION
    assert rig.state() is CompletingRebalance


def test_while_a_rebalance_is_prepared_nobody_has_an_assignment(rig: Rig) -> None:
    first, second = rig.two_members()
    rig.sync(first.generation_id, first.member_id)
    rig.send_join(first.member_id)
    assert rig.state() is PreparingRebalance
    assert rig.sync(second.generation_id, second.member_id).error is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupEmptyAssignment")
def test_whom_the_leader_forgets_gets_nothing(rig: Rig) -> None:
    joined = rig.join()
    synced = rig.sync(joined.generation_id, joined.member_id, {})
    assert synced == SyncGroupResult(PROTOCOL_TYPE, "range", b"", Errors.NONE)
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupFollowerAfterLeader")
def test_a_follower_that_asks_after_the_leader_is_answered_at_once(rig: Rig) -> None:
    leader, follower = rig.two_members()
    generation = leader.generation_id
    assignment = {leader.member_id: b"\0", follower.member_id: b"\1"}
    synced = rig.sync(generation, leader.member_id, assignment)
    assert (synced.error, synced.member_assignment) == (Errors.NONE, b"\0")
    synced = rig.sync(generation, follower.member_id)
    assert (synced.error, synced.member_assignment) == (Errors.NONE, b"\1")


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupLeaderAfterFollower")
def test_a_follower_that_asks_before_the_leader_waits_for_it(rig: Rig) -> None:
    leader, follower = rig.two_members()
    generation = leader.generation_id
    waiting = rig.send_sync(generation, follower.member_id)
    assert not waiting.is_completed
    synced = rig.sync(generation, leader.member_id, {leader.member_id: b"\0", follower.member_id: b"\1"})
    assert (synced.error, synced.member_assignment) == (Errors.NONE, b"\0")
    assert (waiting.value.error, waiting.value.member_assignment) == (Errors.NONE, b"\1")


@pytest.mark.ported("GroupCoordinatorTest.testLeaderFailureInSyncGroup")
def test_if_the_leader_does_not_assign_the_followers_join_again(rig: Rig) -> None:
    leader, follower = rig.two_members()
    waiting = rig.send_sync(leader.generation_id, follower.member_id)
    rig.advance(SESSION_TIMEOUT + 100)
    assert waiting.value.error is Errors.REBALANCE_IN_PROGRESS
    assert rig.group().all_members == {follower.member_id}


def test_a_leader_that_shows_itself_but_does_not_assign_is_out_with_its_session(rig: Rig) -> None:
    """As from 2.7 on heartbeats would keep it in, and another timer is needed to let the others go on (KAFKA-12890)."""
    leader, follower = rig.two_members()
    generation = leader.generation_id
    waiting = rig.send_sync(generation, follower.member_id)
    rejoined = Errors.REBALANCE_IN_PROGRESS
    for _ in range(4):
        assert rig.heartbeat(leader.member_id, generation) is rejoined
        assert rig.commit({TP: 1}, leader.member_id, generation) == {TP: rejoined}
        rig.advance(SESSION_TIMEOUT // 4)
    rig.advance(1)
    assert rig.heartbeat(leader.member_id, generation) is Errors.UNKNOWN_MEMBER_ID
    assert waiting.value.error is Errors.REBALANCE_IN_PROGRESS


def test_nobody_is_told_an_assignment_that_is_not_in_the_log(rig: Rig) -> None:
    leader, follower = rig.two_members()
    waiting = rig.send_sync(leader.generation_id, follower.member_id)
    rig.replica_manager.hold = True
    synced = rig.send_sync(leader.generation_id, leader.member_id, {follower.member_id: b"\1"})
    assert not synced.is_completed
    assert not waiting.is_completed
    assert rig.state() is CompletingRebalance
    rig.replica_manager.release()
    assert (synced.value.error, waiting.value.member_assignment) == (Errors.NONE, b"\1")
    assert rig.state() is Stable


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_FOR_PARTITION, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_is_nobodys(rig: Rig, error: Errors, told: Errors) -> None:
    leader, follower = rig.two_members()
    waiting = rig.send_sync(leader.generation_id, follower.member_id)
    rig.replica_manager.error = error
    synced = rig.sync(leader.generation_id, leader.member_id, {follower.member_id: b"\1"})
    assert synced == waiting.value == SyncGroupResult.failed(told)
    assert rig.state() is PreparingRebalance


def test_an_assignment_that_is_stored_too_late_is_nobodys(rig: Rig) -> None:
    """A member that joined meanwhile has begun a rebalance, and those that waited were told so."""
    leader, follower = rig.two_members()
    rig.replica_manager.hold = True
    synced = rig.send_sync(leader.generation_id, leader.member_id, {leader.member_id: b"\0", follower.member_id: b"\1"})
    new = rig.send_join()
    assert synced.value.error is Errors.REBALANCE_IN_PROGRESS
    rig.send_join(leader.member_id)
    rig.send_join(follower.member_id)
    assert new.value.generation_id == leader.generation_id + 1
    rig.replica_manager.release()
    assert rig.state() is CompletingRebalance
    assert rig.group().get(follower.member_id).assignment == b""


def test_a_session_that_ran_out_while_its_member_waited_begins_anew_with_the_answer(rig: Rig) -> None:
    """While it waited nothing was held against it, and nothing watched it any more."""
    joined = rig.join(session_timeout=100)
    rig.replica_manager.hold = True
    synced = rig.send_sync(joined.generation_id, joined.member_id)
    rig.advance(101)
    assert rig.group().has(joined.member_id)
    rig.replica_manager.release()
    assert synced.value.error is Errors.NONE
    rig.advance(99)
    assert rig.heartbeat(joined.member_id, joined.generation_id) is Errors.NONE
    rig.advance(101)
    assert rig.heartbeat(joined.member_id, joined.generation_id) is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent")
@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent")
@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided")
@pytest.mark.ported("GroupCoordinatorTest.testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent")
@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "error"),
    [
        ("whatever", None, Errors.INCONSISTENT_GROUP_PROTOCOL),
        (None, "whatever", Errors.INCONSISTENT_GROUP_PROTOCOL),
        (None, None, Errors.NONE),
        (PROTOCOL_TYPE, "range", Errors.NONE),
    ],
)
def test_what_a_member_takes_for_the_protocol(
    rig: Rig, protocol_type: str | None, protocol_name: str | None, error: Errors
) -> None:
    leader = rig.send_join(protocols=SUPERSET, instance_id=LEADER)
    follower = rig.send_join(protocols=SUPERSET, instance_id=FOLLOWER)
    rig.advance(INITIAL_DELAY + 1)
    rig.advance(REBALANCE_TIMEOUT + 1)
    expected = (error, PROTOCOL_TYPE, "range") if error is Errors.NONE else (error, None, None)
    leader_id = leader.value.member_id
    for member_id, assignment in ((leader_id, {leader_id: b""}), (follower.value.member_id, None)):
        synced = rig.sync(
            leader.value.generation_id,
            member_id,
            assignment,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
        )
        assert (synced.error, synced.protocol_type, synced.protocol_name) == expected
