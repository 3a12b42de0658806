"""Sessions: members that show themselves, and members that do not."""

from __future__ import annotations

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Dead, Empty, GroupMetadata, PreparingRebalance
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from tests.coordinator.group.coordinator_support import (
    GROUP,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    SUPERSET,
    Rig,
)

TP = TopicPartition("topic", 0)


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatWrongCoordinator")
def test_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.heartbeat("memberId", -1, OTHER_GROUP) is Errors.NOT_COORDINATOR


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatUnknownGroup")
def test_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.heartbeat("memberId", -1) is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testheartbeatDeadGroup")
def test_a_dead_group(rig: Rig) -> None:
    rig.add_dead_group()
    assert rig.heartbeat("memberId", 1) is Errors.COORDINATOR_NOT_AVAILABLE


@pytest.mark.ported("GroupCoordinatorTest.testheartbeatEmptyGroup")
def test_an_empty_group(rig: Rig) -> None:
    group = GroupMetadata(GROUP, Empty, rig.time)
    group.add(
        MemberMetadata(
            "memberId",
            GROUP,
            "groupInstanceId",
            "consumer-test",
            "localhost",
            REBALANCE_TIMEOUT,
            SESSION_TIMEOUT,
            PROTOCOL_TYPE,
            SUPERSET,
        )
    )
    rig.manager.add_group(group)
    assert rig.heartbeat("memberId", 0) is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatUnknownConsumerExistingGroup")
def test_a_member_that_is_not_there(rig: Rig) -> None:
    rig.stable_member()
    assert rig.heartbeat("memberId", 1) is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatRebalanceInProgress")
def test_while_the_rebalance_is_completed(rig: Rig) -> None:
    joined = rig.join()
    assert rig.heartbeat(joined.member_id, 1) is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatDuringRebalanceCausesRebalanceInProgress")
def test_while_a_rebalance_is_prepared(rig: Rig) -> None:
    joined = rig.join()
    rig.send_join()
    assert rig.state() is PreparingRebalance
    assert rig.heartbeat(joined.member_id, joined.generation_id) is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatIllegalGeneration")
def test_a_generation_that_is_not_there(rig: Rig) -> None:
    joined = rig.stable_member()
    assert rig.heartbeat(joined.member_id, 2) is Errors.ILLEGAL_GENERATION


@pytest.mark.ported("GroupCoordinatorTest.testValidHeartbeat")
def test_in_a_stable_group(rig: Rig) -> None:
    joined = rig.stable_member()
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE


def test_a_heartbeat_is_answered_under_no_lock(rig: Rig) -> None:
    """So that who sends the answer holds nobody up (KAFKA-13134)."""
    joined = rig.stable_member()
    held: list[bool] = []

    def answer(error: Errors) -> None:
        held.append(rig.group().lock.is_held_by_current_thread())

    rig.coordinator.handle_heartbeat(GROUP, joined.member_id, None, 1, answer)
    assert held == [False]


@pytest.mark.ported("GroupCoordinatorTest.testSessionTimeout")
def test_who_is_silent_is_out(rig: Rig) -> None:
    joined = rig.stable_member()
    rig.advance(SESSION_TIMEOUT + 100)
    assert rig.heartbeat(joined.member_id, 1) is Errors.UNKNOWN_MEMBER_ID
    assert rig.state() is Empty


@pytest.mark.ported("GroupCoordinatorTest.testHeartbeatMaintainsSession")
def test_a_heartbeat_begins_the_session_anew(rig: Rig) -> None:
    joined = rig.stable_member(rebalance_timeout=1000, session_timeout=1000)
    rig.advance(500)
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE
    rig.advance(600)
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testCommitMaintainsSession")
def test_a_commit_begins_the_session_anew(rig: Rig) -> None:
    joined = rig.stable_member(rebalance_timeout=1000, session_timeout=1000)
    rig.advance(500)
    assert rig.commit({TP: 0}, joined.member_id, joined.generation_id) == {TP: Errors.NONE}
    rig.advance(600)
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE


def test_a_sync_begins_the_session_anew(rig: Rig) -> None:
    joined = rig.stable_member(rebalance_timeout=1000, session_timeout=1000)
    rig.advance(500)
    assert rig.sync(joined.generation_id, joined.member_id).error is Errors.NONE
    rig.advance(600)
    assert rig.heartbeat(joined.member_id, 1) is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testSessionTimeoutDuringRebalance")
def test_who_is_silent_during_a_rebalance_is_out(rig: Rig) -> None:
    first = rig.stable_member(rebalance_timeout=2000, session_timeout=1000)
    other = rig.send_join()
    rig.advance(500)
    assert rig.heartbeat(first.member_id, first.generation_id) is Errors.REBALANCE_IN_PROGRESS
    rig.advance(1100)
    assert rig.heartbeat(first.member_id, first.generation_id) is Errors.UNKNOWN_MEMBER_ID
    assert other.value.error is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testCompleteHeartbeatWithGroupDead")
def test_in_a_dead_group_nobody_is_watched(rig: Rig) -> None:
    members = rig.static_members()
    rig.heartbeat(members.leader_id, members.generation)
    group = rig.group()
    group.transition_to(Dead)
    assert rig.coordinator.try_complete_heartbeat(group, members.leader_id, False, lambda: True)
    rig.coordinator.on_expire_heartbeat(group, members.leader_id, False)
    assert group.has(members.leader_id)


@pytest.mark.ported("GroupCoordinatorTest.testCompleteHeartbeatWithMemberAlreadyRemoved")
def test_who_is_out_is_not_watched(rig: Rig) -> None:
    members = rig.static_members()
    rig.heartbeat(members.leader_id, members.generation)
    group = rig.group()
    group.remove(members.leader_id)
    assert rig.coordinator.try_complete_heartbeat(group, members.leader_id, False, lambda: True)
    rig.coordinator.on_expire_heartbeat(group, members.leader_id, False)
    assert group.has(members.follower_id)


def test_sessions_that_went_on_leave_nothing_behind(rig: Rig) -> None:
    joined = rig.stable_member(session_timeout=60_000)
    for _ in range(100):
        assert rig.heartbeat(joined.member_id, 1) is Errors.NONE
    assert rig.coordinator.heartbeat_purgatory.watched == 1
    rig.leave(joined.member_id)
    assert rig.coordinator.heartbeat_purgatory.watched == 0
