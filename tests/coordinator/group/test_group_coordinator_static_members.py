"""Static members: who comes back takes its place again, and whoever has it still is fenced.

What is stored before a restarted member is answered: test_group_coordinator_joins.py.
"""

from __future__ import annotations

import pytest

from kafka_py.common.errors import IllegalArgumentException, IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import CompletingRebalance, Dead, Empty, PreparingRebalance, Stable
from kafka_py.coordinator.group.group_results import JoinGroupResult
from tests.coordinator.group.coordinator_support import (
    FOLLOWER,
    INITIAL_DELAY,
    LEADER,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    PROTOCOLS,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    SUPERSET,
    Answer,
    Rebalanced,
    Rig,
)

NEW = "newMember"
INVALID = "invalidMember"
ROUND_ROBIN = [("roundrobin", b"")]
LONG_SESSION = SESSION_TIMEOUT * 2
PARTITION = TopicPartition("topic", 0)


def instances(joined: JoinGroupResult) -> set[str | None]:
    """The members a leader is told of; others are told of none."""
    return {member.group_instance_id for member in joined.members}


def assert_joined(joined: JoinGroupResult, generation: int, told: set[str | None], leader_id: str) -> None:
    assert (joined.error, joined.generation_id, joined.leader_id) == (Errors.NONE, generation, leader_id)
    assert joined.protocol_type == PROTOCOL_TYPE
    assert len(joined.members) == len(told)
    assert instances(joined) == told


def assert_fenced(joined: JoinGroupResult) -> None:
    assert (joined.error, joined.generation_id, joined.members) == (Errors.FENCED_INSTANCE_ID, -1, [])
    assert joined.protocol_type is None


# -- Coming for the first time, and again


@pytest.mark.ported("GroupCoordinatorTest.staticMemberJoinAsFirstMember")
@pytest.mark.ported("GroupCoordinatorTest.staticMemberReJoinWithExplicitUnknownMemberId")
def test_an_id_that_was_not_given_to_the_instance_is_fenced(rig: Rig) -> None:
    assert rig.static_join(LEADER).error is Errors.NONE
    assert_fenced(rig.static_join(LEADER, "unknown_member"))


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithKnownMemberId")
def test_who_missed_the_answer_gets_it_again(rig: Rig) -> None:
    first = rig.static_join(LEADER)
    again = rig.static_join(LEADER, first.member_id, clock_advance=1)
    assert again == first
    assert rig.state() is CompletingRebalance
    synced = rig.sync(
        again.generation_id, again.member_id, {again.member_id: b""}, protocol_name="range", instance_id=LEADER
    )
    assert synced.error is Errors.NONE
    assert rig.state() is Stable


@pytest.mark.ported("GroupCoordinatorTest.shouldGetDifferentStaticMemberIdAfterEachRejoin")
def test_each_time_it_is_restarted_a_member_gets_another_id(rig: Rig) -> None:
    first = rig.static_members().leader_id
    ids = [first, *(rig.static_join(LEADER, clock_advance=1).member_id for _ in range(5))]
    assert len(set(ids)) == 6
    assert all(member_id.startswith(f"{LEADER}-") for member_id in ids)
    assert rig.group().size == 2


# -- In a stable group


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndUnknownMemberId")
def test_a_leader_that_is_restarted_begins_no_rebalance(rig: Rig) -> None:
    members = rig.static_members()
    back = rig.static_join(LEADER, clock_advance=1, protocols=SUPERSET)
    assert_joined(back, members.generation, set(), members.leader_id)
    assert rig.state() is Stable
    assert_fenced(rig.static_join(LEADER, members.leader_id, clock_advance=1, protocols=SUPERSET))
    old = rig.sync(members.generation, members.leader_id, instance_id=LEADER)
    assert old.error is Errors.FENCED_INSTANCE_ID
    # the leader it is told of is its former self, which nobody is any more
    assert rig.sync(members.generation, back.leader_id or "").error is Errors.UNKNOWN_MEMBER_ID
    assert rig.sync(members.generation, back.member_id, instance_id=LEADER).error is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndKnownMemberId")
def test_a_leader_that_joins_again_begins_a_rebalance_and_who_stays_away_too_long_is_out(rig: Rig) -> None:
    members = rig.static_members(session_timeout=REBALANCE_TIMEOUT // 2)
    again = rig.static_join(LEADER, members.leader_id, clock_advance=REBALANCE_TIMEOUT + 1, protocols=SUPERSET)
    assert not rig.group().has_static_member(FOLLOWER)
    assert_joined(again, members.generation + 1, {LEADER}, members.leader_id)
    assert again.member_id == members.leader_id
    assert rig.state() is CompletingRebalance


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinAsFollowerWithUnknownMemberId")
def test_a_follower_that_is_restarted_gets_the_assignment_of_its_former_self(rig: Rig) -> None:
    members = assigned(rig)
    back = rig.static_join(FOLLOWER, clock_advance=1, protocols=SUPERSET)
    assert rig.group().has_static_member(LEADER)
    assert_joined(back, members.generation, set(), members.leader_id)
    assert back.member_id != members.follower_id
    assert rig.state() is Stable
    synced = rig.sync(members.generation, back.member_id)
    assert (synced.error, synced.member_assignment) == (Errors.NONE, b"follower's")


def assigned(rig: Rig) -> Rebalanced:
    """Two static members with assignments that can be told apart."""
    members = rig.static_members()
    group = rig.group()
    group.get(members.leader_id).assignment = b"leader's"
    group.get(members.follower_id).assignment = b"follower's"
    return members


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange")
def test_a_follower_that_joins_again_with_nothing_new_begins_no_rebalance(rig: Rig) -> None:
    members = rig.static_members()
    again = rig.static_join(FOLLOWER, members.follower_id, clock_advance=1, protocols=SUPERSET)
    assert rig.group().has_static_member(LEADER)
    assert_joined(again, members.generation, set(), members.leader_id)
    assert again.member_id == members.follower_id
    assert rig.state() is Stable


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithFollowerIdAndChangeOfProtocol")
def test_a_follower_with_other_protocols_begins_a_rebalance_and_leads_if_the_leader_does_not_come(rig: Rig) -> None:
    members = rig.static_members(session_timeout=LONG_SESSION)
    again = rig.static_join(FOLLOWER, members.follower_id, clock_advance=SESSION_TIMEOUT + 1, protocols=ROUND_ROBIN)
    assert again.member_id == members.follower_id
    assert rig.group().is_leader(members.follower_id)
    assert_joined(again, members.generation + 1, {LEADER, FOLLOWER}, members.follower_id)
    assert rig.state() is CompletingRebalance


@pytest.mark.ported(
    "GroupCoordinatorTest.staticMemberRejoinWithUnknownMemberIdAndChangeOfProtocol",
    changes="the protocols leave the group's choice as it is; if not, later Kafka rebalances, and so do we",
)
def test_a_restarted_member_whose_protocols_change_nothing_for_the_group_begins_no_rebalance(rig: Rig) -> None:
    members = assigned(rig)
    assert rig.group().protocol_name == "range"
    back = rig.static_join(FOLLOWER, clock_advance=1, protocols=PROTOCOLS)
    assert_joined(back, members.generation, set(), members.leader_id)
    assert rig.state() is Stable
    assert back.member_id != members.follower_id
    assert_fenced(rig.static_join(FOLLOWER, members.follower_id, clock_advance=1, protocols=PROTOCOLS))
    old = rig.sync(members.generation, members.follower_id, instance_id=FOLLOWER)
    assert old.error is Errors.FENCED_INSTANCE_ID
    synced = rig.sync(members.generation, back.member_id, instance_id=FOLLOWER)
    assert (synced.error, synced.member_assignment) == (Errors.NONE, b"follower's")


@pytest.mark.ported(
    "GroupCoordinatorTest.staticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol"
)
def test_a_rebalance_that_a_follower_begins_with_other_protocols_goes_on_without_a_leader_that_is_away(
    rig: Rig,
) -> None:
    members = rig.static_members()
    leader = rig.send_join(members.leader_id, instance_id=LEADER, protocols=SUPERSET)
    follower = rig.send_join(members.follower_id, instance_id=FOLLOWER, protocols=SUPERSET)
    rig.advance(1)
    assert_joined(leader.value, members.generation + 1, {LEADER, FOLLOWER}, members.leader_id)
    assert_joined(follower.value, members.generation + 1, set(), members.leader_id)
    assert rig.state() is CompletingRebalance
    changed = rig.send_join(members.follower_id, instance_id=FOLLOWER, protocols=PROTOCOLS)
    assert rig.state() is PreparingRebalance
    rig.advance(REBALANCE_TIMEOUT + 1)
    assert_joined(changed.value, members.generation + 2, {FOLLOWER}, members.follower_id)
    assert changed.value.member_id == members.follower_id


# -- Two of one instance id


@pytest.mark.ported("GroupCoordinatorTest.staticMemberFenceDuplicateRejoinedFollower")
def test_who_waits_for_its_join_is_fenced_by_another_of_its_name(rig: Rig) -> None:
    members = rig.static_members()
    rig.send_join()
    rig.advance(1)
    assert rig.state() is PreparingRebalance
    old = rig.send_join(members.follower_id, instance_id=FOLLOWER)
    rig.advance(1)
    duplicate = rig.send_join(instance_id=FOLLOWER)
    assert_fenced(old.value)
    assert not duplicate.is_completed
    assert rig.state() is PreparingRebalance


@pytest.mark.ported("GroupCoordinatorTest.staticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged")
def test_who_waits_for_its_sync_is_fenced_by_another_of_its_name(rig: Rig) -> None:
    members = rig.static_members()
    leader = rig.send_join(members.leader_id, instance_id=LEADER)
    assert rig.state() is PreparingRebalance
    old = rig.send_join(members.follower_id, instance_id=FOLLOWER)
    assert_joined(leader.value, members.generation + 1, {LEADER, FOLLOWER}, members.leader_id)
    assert_joined(old.value, members.generation + 1, set(), members.leader_id)
    assert rig.state() is CompletingRebalance
    rig.advance(1)  # so that the leader's session is over before the next rebalance is

    syncing = rig.send_sync(old.value.generation_id, members.follower_id, protocol_name="range", instance_id=FOLLOWER)
    duplicate = rig.send_join(instance_id=FOLLOWER)
    assert syncing.value.error is Errors.FENCED_INSTANCE_ID
    assert rig.state() is PreparingRebalance

    rig.advance(INITIAL_DELAY + 1)
    rig.advance(REBALANCE_TIMEOUT + 1)
    # the leader has not come again
    assert_joined(duplicate.value, members.generation + 2, {FOLLOWER}, duplicate.value.member_id)
    assert rig.state() is CompletingRebalance


@pytest.mark.ported("GroupCoordinatorTest.staticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged")
def test_who_comes_after_another_of_its_name_is_fenced(rig: Rig) -> None:
    members = rig.static_members()
    leader = rig.send_join(members.leader_id, instance_id=LEADER)
    assert rig.state() is PreparingRebalance
    duplicate = rig.send_join(instance_id=FOLLOWER)
    rig.advance(1)
    old = rig.send_join(members.follower_id, instance_id=FOLLOWER)
    assert_joined(leader.value, members.generation + 1, {LEADER, FOLLOWER}, members.leader_id)
    assert_joined(duplicate.value, members.generation + 1, set(), members.leader_id)
    assert duplicate.value.member_id != members.follower_id
    assert_fenced(old.value)
    assert rig.state() is CompletingRebalance


# -- Ids and instance ids that do not belong together


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinAsFollowerWithMismatchedMemberId")
@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinAsLeaderWithMismatchedMemberId")
def test_nobody_joins_with_the_id_of_another_instance(rig: Rig) -> None:
    members = rig.static_members()
    assert_fenced(rig.static_join(LEADER, members.follower_id, clock_advance=1, protocols=SUPERSET))
    assert_fenced(rig.static_join(FOLLOWER, members.leader_id, clock_advance=1, protocols=SUPERSET))
    assert rig.state() is Stable


@pytest.mark.ported("GroupCoordinatorTest.staticMemberJoinWithUnknownInstanceIdAndKnownMemberId")
def test_nobody_joins_with_an_id_and_an_instance_id_that_is_not_there(rig: Rig) -> None:
    members = rig.static_members()
    joined = rig.static_join("unknown_instance", members.leader_id, clock_advance=1, protocols=SUPERSET)
    assert joined.error is Errors.UNKNOWN_MEMBER_ID
    assert rig.group().all_static_members == {LEADER, FOLLOWER}


@pytest.mark.ported("GroupCoordinatorTest.staticMemberSyncAsLeaderWithInvalidMemberId")
def test_nobody_assigns_under_another_id(rig: Rig) -> None:
    members = rig.static_members()
    assert rig.sync(members.generation, INVALID, instance_id=LEADER).error is Errors.FENCED_INSTANCE_ID


@pytest.mark.ported("GroupCoordinatorTest.staticMemberHeartbeatLeaderWithInvalidMemberId")
def test_nobody_is_alive_under_another_id(rig: Rig) -> None:
    members = rig.static_members()
    assert rig.heartbeat(members.leader_id, members.generation) is Errors.NONE
    assert rig.heartbeat(INVALID, members.generation, instance_id=LEADER) is Errors.FENCED_INSTANCE_ID


@pytest.mark.ported("GroupCoordinatorTest.staticMemberCommitOffsetWithInvalidMemberId")
def test_nobody_commits_under_another_id(rig: Rig) -> None:
    members = rig.static_members()
    assert rig.commit({PARTITION: 0}, members.leader_id, members.generation)[PARTITION] is Errors.NONE
    refused = rig.commit({PARTITION: 1}, INVALID, members.generation, instance_id=LEADER)
    assert refused[PARTITION] is Errors.FENCED_INSTANCE_ID
    assert rig.fetch(PARTITION)[PARTITION].offset == 0


# -- What cannot be


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndUnexpectedDeadGroup")
def test_in_a_dead_group_a_leader_looks_for_the_coordinator(rig: Rig) -> None:
    members = rig.static_members()
    rig.group().transition_to(Dead)
    joined = rig.static_join(LEADER, members.leader_id, clock_advance=1)
    assert joined.error is Errors.COORDINATOR_NOT_AVAILABLE


@pytest.mark.ported("GroupCoordinatorTest.staticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup")
def test_in_an_empty_group_nobody_has_an_id(rig: Rig) -> None:
    members = rig.static_members()
    rig.group().transition_to(PreparingRebalance)
    rig.group().transition_to(Empty)
    assert rig.static_join(LEADER, members.leader_id, clock_advance=1).error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.staticMemberReJoinWithIllegalStateAsUnknownMember")
def test_in_an_empty_group_nobody_is_restarted(rig: Rig) -> None:
    rig.static_members()
    rig.group().transition_to(PreparingRebalance)
    rig.group().transition_to(Empty)
    with pytest.raises(IllegalStateException, match=f"groupId was not supposed .* {FOLLOWER} rejoins"):
        rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)


@pytest.mark.ported("GroupCoordinatorTest.staticMemberReJoinWithIllegalArgumentAsMissingOldMember")
def test_nobody_takes_the_place_of_a_member_that_is_not_there(rig: Rig) -> None:
    rig.static_members()
    rig.group().add_static_member(FOLLOWER, "invalid_member_id")
    with pytest.raises(IllegalArgumentException, match="invalid_member_id"):
        rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)


@pytest.mark.ported("GroupCoordinatorTest.staticMemberJoinWithIllegalStateAsPendingMember")
def test_a_static_member_that_joins_is_not_pending(rig: Rig) -> None:
    follower_id = pending_follower(rig)
    with pytest.raises(IllegalStateException, match=f"{FOLLOWER} .* {follower_id}"):
        rig.send_join(follower_id, instance_id=FOLLOWER, protocols=SUPERSET)


@pytest.mark.ported("GroupCoordinatorTest.staticMemberLeaveWithIllegalStateAsPendingMember")
def test_a_static_member_that_leaves_is_not_pending(rig: Rig) -> None:
    follower_id = pending_follower(rig)
    with pytest.raises(IllegalStateException, match=f"{FOLLOWER} .* {follower_id}"):
        rig.leave((follower_id, FOLLOWER))


def pending_follower(rig: Rig) -> str:
    """The id of a follower that stands among those that were only given an id."""
    follower_id = rig.static_members().follower_id
    rig.group().add_pending_member(follower_id)
    rig.group().remove(follower_id)
    return follower_id


# -- Members that do not come back in time


@pytest.mark.ported("GroupCoordinatorTest.testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout")
def test_a_follower_that_is_away_during_a_rebalance_stays_a_member(rig: Rig) -> None:
    members = rig.static_members(session_timeout=LONG_SESSION)
    new = rig.send_join(instance_id=NEW, protocols=SUPERSET)
    assert rig.state() is PreparingRebalance
    leader = rig.static_join(LEADER, members.leader_id, clock_advance=REBALANCE_TIMEOUT + 1, protocols=SUPERSET)
    assert leader.member_id == members.leader_id
    assert_joined(leader, members.generation + 1, {LEADER, FOLLOWER, NEW}, members.leader_id)
    assert_joined(new.value, members.generation + 1, set(), members.leader_id)
    assert rig.state() is CompletingRebalance


@pytest.mark.ported("GroupCoordinatorTest.testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout")
def test_a_leader_that_is_away_during_a_rebalance_stays_a_member_and_leads_no_more(rig: Rig) -> None:
    members = rig.static_members(session_timeout=LONG_SESSION)
    new = rig.send_join(instance_id=NEW, protocols=SUPERSET)
    rig.advance(1)
    assert rig.state() is PreparingRebalance
    follower = rig.static_join(FOLLOWER, members.follower_id, clock_advance=REBALANCE_TIMEOUT + 1, protocols=SUPERSET)
    # of those that have joined the one that is longest in the group leads
    assert_joined(follower, members.generation + 1, {LEADER, FOLLOWER, NEW}, members.follower_id)
    assert_joined(new.value, members.generation + 1, set(), members.follower_id)
    assert rig.state() is CompletingRebalance


def nobody_joins(rig: Rig) -> None:
    """A rebalance in which nobody joins: the one member that is left is a static one, and its session is not over."""
    members = rig.static_members(session_timeout=LONG_SESSION)
    dynamic: Answer[JoinGroupResult] = rig.send_join(protocols=SUPERSET, session_timeout=LONG_SESSION)
    rig.advance(REBALANCE_TIMEOUT + 1)
    assert_joined(dynamic.value, 2, {LEADER, FOLLOWER, None}, dynamic.value.member_id)
    assert rig.state() is CompletingRebalance
    assert rig.leave(members.follower_id).top_level_error is Errors.NONE
    assert rig.state() is PreparingRebalance
    rig.advance(REBALANCE_TIMEOUT + 1)
    assert rig.group().all_members == {members.leader_id}
    assert (rig.state(), rig.group().generation_id) == (PreparingRebalance, 2)


@pytest.mark.ported("GroupCoordinatorTest.testLeaderFailToRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout")
def test_a_group_whose_last_static_member_does_not_come_back_is_empty_when_its_session_is_over(rig: Rig) -> None:
    nobody_joins(rig)
    rig.advance(REBALANCE_TIMEOUT + 1)
    group = rig.group()
    assert (group.all_members, group.leader_or_null, group.generation_id) == (set(), None, 3)
    assert rig.state() is Empty


@pytest.mark.ported("GroupCoordinatorTest.testLeaderRejoinBeforeFinalRebalanceTimeoutWithLongSessionTimeout")
def test_a_group_whose_last_static_member_comes_back_goes_on(rig: Rig) -> None:
    nobody_joins(rig)
    back = rig.static_join(LEADER)
    assert_joined(back, 3, {LEADER}, back.member_id)
    assert rig.state() is CompletingRebalance
    assert rig.group().all_members == {back.member_id}
    assert rig.group().is_leader(back.member_id)


# -- Leaving, several at once


@pytest.mark.ported("GroupCoordinatorTest.testStaticMembersValidBatchLeaveGroup")
@pytest.mark.ported("GroupCoordinatorTest.testStaticMembersFencedInstanceBatchLeaveGroup")
@pytest.mark.ported("GroupCoordinatorTest.testStaticMembersUnknownInstanceBatchLeaveGroup")
@pytest.mark.parametrize(
    ("first", "second", "errors", "left"),
    [
        (("", LEADER), ("", FOLLOWER), (Errors.NONE, Errors.NONE), set()),
        (("", LEADER), (INVALID, FOLLOWER), (Errors.NONE, Errors.FENCED_INSTANCE_ID), {FOLLOWER}),
        (("", "unknown-instance"), ("", FOLLOWER), (Errors.UNKNOWN_MEMBER_ID, Errors.NONE), {LEADER}),
    ],
    ids=["both", "a fenced one", "an unknown one"],
)
def test_of_several_that_leave_each_is_answered_for_itself(
    rig: Rig, first: tuple[str, str], second: tuple[str, str], errors: tuple[Errors, Errors], left: set[str]
) -> None:
    rig.static_members()
    answer = rig.leave(first, second)
    assert answer.top_level_error is Errors.NONE
    assert [response.error for response in answer.member_responses] == list(errors)
    assert rig.group().all_static_members == left


@pytest.mark.ported("GroupCoordinatorTest.testStaticMembersWrongCoordinatorBatchLeaveGroup")
def test_several_leave_a_group_of_another_coordinator(rig: Rig) -> None:
    rig.static_members()
    answer = rig.leave(("", LEADER), ("", FOLLOWER), group_id=OTHER_GROUP)
    assert answer == (Errors.NOT_COORDINATOR, [])
    assert rig.group().all_static_members == {LEADER, FOLLOWER}


@pytest.mark.ported("GroupCoordinatorTest.testStaticMembersUnknownGroupBatchLeaveGroup")
def test_several_leave_a_group_that_is_not_there(rig: Rig) -> None:
    answer = rig.leave(("", LEADER), ("", FOLLOWER))
    assert answer.top_level_error is Errors.NONE
    assert [response.error for response in answer.member_responses] == [Errors.UNKNOWN_MEMBER_ID] * 2
