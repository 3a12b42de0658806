"""Members that join: who is let in, when the rebalance is complete, and what begins another."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
from kafka_py.coordinator.group.group_metadata import CompletingRebalance, Dead, Empty, PreparingRebalance, Stable
from kafka_py.coordinator.group.group_results import JoinGroupResult
from tests.coordinator.group.coordinator_support import (
    FOLLOWER,
    GROUP,
    INITIAL_DELAY,
    LEADER,
    MAX_SESSION_TIMEOUT,
    MAX_SIZE,
    MIN_SESSION_TIMEOUT,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    PROTOCOLS,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    SUPERSET,
    Answer,
    Rig,
)

NEW_MEMBER_TIMEOUT = GroupCoordinator.NEW_MEMBER_JOIN_TIMEOUT_MS


# -- Who is let in


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupWrongCoordinator")
def test_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.join(group_id=OTHER_GROUP).error is Errors.NOT_COORDINATOR
    assert rig.static_join(LEADER, group_id=OTHER_GROUP).error is Errors.NOT_COORDINATOR


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupSessionTimeoutTooSmall")
@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupSessionTimeoutTooLarge")
def test_the_session_timeout_has_limits(rig: Rig) -> None:
    assert rig.join(session_timeout=MIN_SESSION_TIMEOUT - 1).error is Errors.INVALID_SESSION_TIMEOUT
    assert rig.join(session_timeout=MAX_SESSION_TIMEOUT + 1).error is Errors.INVALID_SESSION_TIMEOUT
    assert rig.manager.get_group(GROUP) is None
    assert rig.join(session_timeout=MIN_SESSION_TIMEOUT, rebalance_timeout=100).error is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupUnknownConsumerNewGroup")
def test_an_id_of_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.join("memberId").error is Errors.UNKNOWN_MEMBER_ID
    assert rig.static_join(LEADER, "memberId").error is Errors.UNKNOWN_MEMBER_ID
    assert rig.manager.get_group(GROUP) is None


@pytest.mark.ported("GroupCoordinatorTest.testInvalidGroupId")
def test_a_group_has_a_name(rig: Rig) -> None:
    assert rig.join(group_id="").error is Errors.INVALID_GROUP_ID


@pytest.mark.ported("GroupCoordinatorTest.testValidJoinGroup")
def test_the_first_member_is_the_leader(rig: Rig) -> None:
    joined = rig.join(protocols=[("range", b"what I read")])
    assert (joined.error, joined.generation_id, joined.leader_id) == (Errors.NONE, 1, joined.member_id)
    assert joined.member_id.startswith("clientId-")
    assert [(m.member_id, m.group_instance_id, bytes(m.member_metadata)) for m in joined.members] == [
        (joined.member_id, None, b"what I read")
    ]


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupInconsistentProtocolType")
def test_all_members_are_of_one_kind(rig: Rig) -> None:
    assert rig.join().error is Errors.NONE
    refused = rig.send_join(protocol_type="connect", protocols=PROTOCOLS)
    assert refused.value.error is Errors.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupWithEmptyProtocolType")
@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupWithEmptyGroupProtocol")
def test_a_member_is_of_some_kind_and_can_do_something(rig: Rig) -> None:
    assert rig.join(protocol_type="").error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert rig.static_join(LEADER, protocol_type="").error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert rig.join(protocols=[]).error is Errors.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupInconsistentGroupProtocol")
def test_members_have_a_protocol_in_common(rig: Rig) -> None:
    joined = rig.send_join(protocols=[("range", b"")])
    refused = rig.join(protocols=[("roundrobin", b"")])
    rig.advance(INITIAL_DELAY + 1)
    assert joined.value.error is Errors.NONE
    assert refused.error is Errors.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupUnknownConsumerExistingGroup")
def test_an_id_that_nobody_was_given(rig: Rig) -> None:
    assert rig.join().error is Errors.NONE
    assert rig.send_join("memberId").value.error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupUnknownConsumerNewDeadGroup")
def test_a_dead_group_takes_nobody(rig: Rig) -> None:
    rig.add_dead_group()
    assert rig.join().error is Errors.COORDINATOR_NOT_AVAILABLE
    assert rig.send_join("memberId").value == JoinGroupResult.failed("memberId", Errors.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs")
def test_an_error_comes_without_a_protocol_type(rig: Rig) -> None:
    refused = rig.send_join("fake-id", protocols=SUPERSET, instance_id=LEADER).value
    assert (refused.error, refused.protocol_type) == (Errors.UNKNOWN_MEMBER_ID, None)


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupReturnsTheProtocolType")
def test_all_members_are_told_the_protocol_type(rig: Rig) -> None:
    leader = rig.send_join(protocols=SUPERSET, instance_id=LEADER)
    follower = rig.send_join(protocols=SUPERSET, instance_id=FOLLOWER)
    rig.advance(INITIAL_DELAY + 1)
    rig.advance(REBALANCE_TIMEOUT + 1)
    assert (leader.value.error, leader.value.protocol_type) == (Errors.NONE, PROTOCOL_TYPE)
    assert (follower.value.error, follower.value.protocol_type) == (Errors.NONE, PROTOCOL_TYPE)
    assert len(leader.value.members) == 2
    assert follower.value.members == []


# -- group.max.size


def joined_at_once(rig: Rig, number: int, require_known_member_id: bool = False) -> list[Answer[JoinGroupResult]]:
    """So many that have all asked before the first rebalance of the group is over."""
    answers = [
        rig.send_join(rebalance_timeout=INITIAL_DELAY * 2, require_known_member_id=require_known_member_id)
        for _ in range(number)
    ]
    if require_known_member_id:
        answers = [rig.send_join(answer.value.member_id, rebalance_timeout=INITIAL_DELAY * 2) for answer in answers]
    rig.advance(INITIAL_DELAY + 1)
    rig.advance(INITIAL_DELAY + 1)
    return answers


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupShouldReceiveErrorIfGroupOverMaxSize")
def test_a_full_group_lets_nobody_in(rig: Rig) -> None:
    assert [a.value.error for a in joined_at_once(rig, MAX_SIZE)] == [Errors.NONE] * MAX_SIZE
    refused = rig.send_join(rebalance_timeout=INITIAL_DELAY * 2)
    assert refused.value == JoinGroupResult.failed("", Errors.GROUP_MAX_SIZE_REACHED)
    assert rig.state() is CompletingRebalance


@pytest.mark.parametrize("require_known_member_id", [False, True])
def test_of_many_that_come_at_once_so_many_get_in_as_there_is_room(rig: Rig, require_known_member_id: bool) -> None:
    """Those that were given an id while the group had none, too (KAFKA-9885)."""
    answers = joined_at_once(rig, MAX_SIZE + 3, require_known_member_id)
    errors = [answer.value.error for answer in answers]
    assert errors == [Errors.NONE] * MAX_SIZE + [Errors.GROUP_MAX_SIZE_REACHED] * 3
    assert rig.group().size == MAX_SIZE
    assert rig.group().num_pending == 0


def test_who_is_refused_is_not_waited_for(rig: Rig) -> None:
    """Its id is forgotten, so that the rebalance of the others goes on."""
    answers = joined_at_once(rig, MAX_SIZE - 1)
    members = [answer.value.member_id for answer in answers]
    rig.sync(1, members[0])
    late = rig.join_partial()
    again = [rig.send_join(member) for member in members]  # the rebalance waits for the one that has an id now
    assert not any(answer.is_completed for answer in again)
    new = rig.send_join()
    assert rig.group().size == MAX_SIZE
    assert rig.send_join(late.member_id).value.error is Errors.GROUP_MAX_SIZE_REACHED
    assert [answer.value.error for answer in [*again, new]] == [Errors.NONE] * MAX_SIZE


def test_a_group_that_is_too_large_loses_those_that_come_last(rig: Rig) -> None:
    """As when the broker was restarted with a lower limit (KAFKA-7641)."""
    members = [answer.value.member_id for answer in joined_at_once(rig, MAX_SIZE)]
    rig.sync(1, members[0])
    rig.coordinator._joins._group_config = rig.coordinator.group_config._replace(group_max_size=2)
    again = [rig.send_join(member) for member in members]
    errors = [answer.value.error for answer in again]
    assert errors == [Errors.NONE] * 2 + [Errors.GROUP_MAX_SIZE_REACHED] * 2
    assert rig.group().all_members == {members[0], members[1]}


def test_a_static_member_comes_back_into_a_full_group(rig: Rig) -> None:
    static = rig.send_join(instance_id=LEADER)
    joined_at_once(rig, MAX_SIZE - 1)
    rig.sync(1, static.value.member_id)
    assert rig.group().size == MAX_SIZE
    assert rig.send_join(instance_id=FOLLOWER).value.error is Errors.GROUP_MAX_SIZE_REACHED
    back = rig.send_join(instance_id=LEADER).value
    assert back.error is Errors.NONE
    assert back.member_id != static.value.member_id
    assert rig.group().size == MAX_SIZE


# -- The first rebalance


@pytest.mark.ported("GroupCoordinatorTest.shouldDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup")
def test_the_first_rebalance_waits_for_its_delay(rig: Rig) -> None:
    joined = rig.send_join()
    rig.advance(INITIAL_DELAY // 2)
    assert not joined.is_completed
    rig.advance(INITIAL_DELAY // 2 + 1)
    assert joined.value.error is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.shouldResetRebalanceDelayWhenNewMemberJoinsGroupInInitialRebalance")
def test_it_waits_again_if_somebody_comes_meanwhile(rig: Rig) -> None:
    first = rig.send_join(rebalance_timeout=INITIAL_DELAY * 3)
    rig.advance(INITIAL_DELAY - 1)
    second = rig.send_join(rebalance_timeout=INITIAL_DELAY * 3)
    rig.advance(2)
    rig.advance(INITIAL_DELAY // 2 + 1)
    assert not first.is_completed
    assert not second.is_completed
    rig.advance(INITIAL_DELAY // 2)
    assert (first.value.error, second.value.error) == (Errors.NONE, Errors.NONE)


@pytest.mark.ported("GroupCoordinatorTest.shouldDelayRebalanceUptoRebalanceTimeout")
def test_it_waits_no_longer_than_the_rebalance_timeout(rig: Rig) -> None:
    joins = [rig.send_join(rebalance_timeout=INITIAL_DELAY * 2) for _ in range(2)]
    rig.advance(INITIAL_DELAY + 1)
    joins.append(rig.send_join(rebalance_timeout=INITIAL_DELAY * 2))
    rig.advance(INITIAL_DELAY)
    assert not any(join.is_completed for join in joins)
    rig.advance(1)
    assert [join.value.error for join in joins] == [Errors.NONE] * 3


def test_without_a_rebalance_timeout_nobody_is_waited_for(rig: Rig) -> None:
    """A rebalance timeout below 0 may come from a client; it counts as 0."""
    first = rig.send_join(rebalance_timeout=-1)
    rig.advance(INITIAL_DELAY + 1)
    assert first.value.error is Errors.NONE


# -- New members that are not answered (KAFKA-7610)


@pytest.mark.ported("GroupCoordinatorTest.testNewMemberTimeoutCompletion")
def test_once_it_has_joined_a_new_member_lives_by_its_session(rig: Rig) -> None:
    session_timeout = NEW_MEMBER_TIMEOUT + 5000
    join = rig.send_join(session_timeout=session_timeout)
    rig.advance(INITIAL_DELAY + 1)
    joined = join.value
    group = rig.group()
    assert joined.error is Errors.NONE
    assert [member.is_new for member in group.all_member_metadata] == [False]
    assert rig.sync(joined.generation_id, joined.member_id, {joined.member_id: b""}).error is Errors.NONE
    rig.advance(NEW_MEMBER_TIMEOUT + 100)
    assert group.size == 1
    rig.advance(session_timeout + 100)
    assert group.size == 0


@pytest.mark.ported("GroupCoordinatorTest.testNewMemberJoinExpiration")
def test_a_new_member_that_a_rebalance_keeps_waiting_is_given_up(rig: Rig) -> None:
    session_timeout, rebalance_timeout = NEW_MEMBER_TIMEOUT + 5000, NEW_MEMBER_TIMEOUT * 2
    first = rig.join(session_timeout=session_timeout, rebalance_timeout=rebalance_timeout)
    group = rig.group()
    waiting = rig.send_join(session_timeout=session_timeout, rebalance_timeout=rebalance_timeout)
    assert not waiting.is_completed
    assert sorted(member.is_new for member in group.all_member_metadata) == [False, True]
    rig.advance(NEW_MEMBER_TIMEOUT + 1)
    assert waiting.value == JoinGroupResult.failed("", Errors.UNKNOWN_MEMBER_ID)
    assert [(m.member_id, m.is_new) for m in group.all_member_metadata] == [(first.member_id, False)]


def session_expires(rig: Rig) -> None:
    rig.advance(SESSION_TIMEOUT + 1)
    assert rig.state() is Empty
    assert rig.group().size == 0


@pytest.mark.ported("GroupCoordinatorTest.testNewMemberFailureAfterJoinGroupCompletion")
def test_members_fail_after_they_have_joined(rig: Rig) -> None:
    rig.two_members()
    session_expires(rig)


@pytest.mark.ported("GroupCoordinatorTest.testNewMemberFailureAfterSyncGroupCompletion")
def test_members_fail_after_they_have_their_assignment(rig: Rig) -> None:
    first, second = rig.two_members()
    waiting = rig.send_sync(second.generation_id, second.member_id)
    assignment = {first.member_id: b"", second.member_id: b""}
    assert rig.sync(first.generation_id, first.member_id, assignment).error is Errors.NONE
    assert waiting.value.error is Errors.NONE
    session_expires(rig)


# -- Members that join again


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupFromUnchangedFollowerDoesNotRebalance")
def test_a_follower_that_says_the_same_again_gets_the_generation_there_is(rig: Rig) -> None:
    first, second = rig.two_members()
    for again in (rig.send_join(second.member_id).value, rig.send_join(first.member_id).value):
        # while the leader assigns, either may have missed our answer
        assert (again.error, again.generation_id) == (Errors.NONE, first.generation_id)
    rig.sync(first.generation_id, first.member_id)
    again = rig.send_join(second.member_id).value
    assert (again.error, again.generation_id, again.members) == (Errors.NONE, first.generation_id, [])
    assert rig.state() is Stable


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupFromUnchangedLeaderShouldRebalance")
@pytest.mark.ported("GroupCoordinatorTest.testGenerationIdIncrementsOnRebalance")
def test_a_leader_that_joins_again_begins_a_rebalance(rig: Rig) -> None:
    first = rig.stable_member()
    assert first.generation_id == 1
    second = rig.send_join(first.member_id).value
    assert (second.error, second.generation_id) == (Errors.NONE, 2)


def test_a_member_that_says_something_new_begins_a_rebalance(rig: Rig) -> None:
    first, second = rig.two_members()
    waiting = rig.send_sync(second.generation_id, second.member_id)
    changed = rig.send_join(second.member_id, protocols=[("range", b"new")])
    # it had asked for its assignment before, and would wait for it in vain
    assert waiting.value.error is Errors.REBALANCE_IN_PROGRESS
    assert rig.state() is PreparingRebalance
    assert not changed.is_completed
    leader = rig.send_join(first.member_id).value
    assert changed.value.generation_id == leader.generation_id == first.generation_id + 1
    metadata = {member.member_id: bytes(member.member_metadata) for member in leader.members}
    assert metadata == {first.member_id: b"", second.member_id: b"new"}


def test_a_member_that_does_not_come_back_in_time_is_out(rig: Rig) -> None:
    first, second = rig.two_members()
    rig.sync(first.generation_id, first.member_id)
    again = rig.send_join(first.member_id)
    rig.heartbeat(second.member_id, second.generation_id)  # alive, and late
    rig.advance(REBALANCE_TIMEOUT - 100)
    rig.heartbeat(second.member_id, second.generation_id)
    rig.advance(101)
    assert [member.member_id for member in again.value.members] == [first.member_id]
    assert rig.heartbeat(second.member_id, second.generation_id) is Errors.UNKNOWN_MEMBER_ID


def test_a_member_in_an_empty_or_dead_group_begins_anew(rig: Rig) -> None:
    joined = rig.stable_member()
    group = rig.group()
    group.transition_to(PreparingRebalance)
    group.transition_to(Empty)  # which cannot be with members in it
    assert rig.send_join(joined.member_id).value.error is Errors.UNKNOWN_MEMBER_ID


@pytest.mark.ported("GroupCoordinatorTest.testRebalanceCompletesBeforeMemberJoins")
def test_a_static_member_that_does_not_come_back_stays_until_its_session_is_over(rig: Rig) -> None:
    first = rig.static_join(LEADER, rebalance_timeout=1200, session_timeout=1000)
    assert (first.error, first.leader_id) == (Errors.NONE, first.member_id)
    assert rig.sync(first.generation_id, first.member_id, {first.member_id: b""}).error is Errors.NONE

    other_join = rig.send_join()
    for _ in range(2):
        rig.advance(SESSION_TIMEOUT)
        assert rig.heartbeat(first.member_id, first.generation_id) is Errors.REBALANCE_IN_PROGRESS
    rig.advance(SESSION_TIMEOUT)
    other = other_join.value
    assert other.error is Errors.NONE
    assert rig.sync(other.generation_id, other.member_id, {other.member_id: b""}).error is Errors.NONE
    assert rig.heartbeat(first.member_id, first.generation_id) is Errors.ILLEGAL_GENERATION

    for expected in (Errors.NONE, Errors.NONE, Errors.REBALANCE_IN_PROGRESS):
        rig.advance(SESSION_TIMEOUT)
        assert rig.heartbeat(other.member_id, other.generation_id) is expected
    again = rig.send_join(other.member_id).value
    assert again.error is Errors.NONE
    assert rig.sync(again.generation_id, again.member_id, {again.member_id: b""}).error is Errors.NONE
    for _ in range(20):
        rig.advance(SESSION_TIMEOUT)
        assert rig.heartbeat(other.member_id, again.generation_id) is Errors.NONE


@pytest.mark.parametrize("instance_id", [None, LEADER])
def test_the_timeouts_of_a_member_are_those_it_said_last(rig: Rig, instance_id: str | None) -> None:
    """A static member that was restarted may have a new configuration (KAFKA-14009)."""
    first = rig.static_join(LEADER) if instance_id else rig.join()
    rig.sync(first.generation_id, first.member_id)
    member_id = "" if instance_id else first.member_id
    again = rig.send_join(member_id, instance_id=instance_id, session_timeout=2000, rebalance_timeout=3000).value
    member = rig.group().get(again.member_id)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (2000, 3000)
    rig.sync(again.generation_id, again.member_id)
    rig.advance(1900)
    assert rig.heartbeat(again.member_id, again.generation_id) is Errors.NONE


def test_an_answer_that_cannot_be_sent_is_no_others_concern(rig: Rig) -> None:
    answers: list[JoinGroupResult] = []

    def refuse(result: JoinGroupResult) -> None:
        answers.append(result)
        if result.error is Errors.NONE:
            raise ValueError("no such struct")

    rig.coordinator.handle_join_group(GROUP, "", None, False, "c", "h", 500, 500, PROTOCOL_TYPE, PROTOCOLS, refuse)
    second = rig.send_join()
    rig.advance(INITIAL_DELAY + 1)
    rig.advance(REBALANCE_TIMEOUT + 1)
    assert [answer.error for answer in answers] == [Errors.NONE, Errors.UNKNOWN_SERVER_ERROR]
    assert second.value.error is Errors.NONE
    assert rig.state() is CompletingRebalance


# -- Static members that are restarted: the new id is in the log first (KAFKA-10284)


def test_the_new_id_of_a_static_member_is_stored_before_it_is_told(rig: Rig) -> None:
    members = rig.static_members()
    rig.replica_manager.hold = True
    stored = len(rig.replica_manager.appended)
    back = rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)
    assert not back.is_completed
    assert len(rig.replica_manager.appended) == stored + 1
    rig.replica_manager.release()
    assert (back.value.error, back.value.generation_id) == (Errors.NONE, members.generation)
    assert rig.state() is Stable
    assert rig.group().has(back.value.member_id)


def test_the_session_of_a_static_member_begins_with_the_answer(rig: Rig) -> None:
    """While its new id is stored nothing is held against it, and nothing watches it."""
    members = rig.static_members()
    rig.replica_manager.hold = True
    back = rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)
    for released in (False, True):
        if released:
            rig.replica_manager.release()
        for _ in range(2):
            assert rig.group().size == 2
            rig.advance(SESSION_TIMEOUT - 200)
            rig.heartbeat(members.leader_id, members.generation)
    assert back.value.error is Errors.NONE
    assert rig.group().all_members == {members.leader_id}


def test_a_leader_that_is_restarted_does_not_take_itself_for_the_leader(rig: Rig) -> None:
    members = rig.static_members()
    back = rig.send_join(instance_id=LEADER, protocols=SUPERSET).value
    assert (back.error, back.leader_id, back.members) == (Errors.NONE, members.leader_id, [])
    assert back.member_id != members.leader_id
    assert rig.group().is_leader(back.member_id)


def test_a_static_member_whose_new_id_cannot_be_stored_keeps_the_old_one(rig: Rig) -> None:
    members = rig.static_members()
    rig.replica_manager.error = Errors.NOT_ENOUGH_REPLICAS
    back = rig.send_join(instance_id=LEADER, protocols=[("range", b"other")], session_timeout=2000)
    assert (back.value.error, back.value.member_id) == (Errors.COORDINATOR_NOT_AVAILABLE, "")
    group = rig.group()
    assert group.current_state is Stable
    assert group.all_members == {members.leader_id, members.follower_id}
    assert group.get_static_member_id(LEADER) == group.leader_or_null == members.leader_id
    assert group.get(members.leader_id).matches(SUPERSET)
    assert group.get(members.leader_id).session_timeout_ms == SESSION_TIMEOUT


@pytest.mark.parametrize("error", [Errors.NONE, Errors.NOT_ENOUGH_REPLICAS])
def test_a_rebalance_that_begins_meanwhile_answers_the_static_member(rig: Rig, error: Errors) -> None:
    members = rig.static_members()
    rig.replica_manager.hold, rig.replica_manager.error = True, error
    back = rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)
    leader = rig.send_join(members.leader_id, protocols=SUPERSET, instance_id=LEADER)
    assert back.value.generation_id == leader.value.generation_id == members.generation + 1
    rig.replica_manager.release()
    assert rig.state() is CompletingRebalance
    assert rig.group().all_members == {members.leader_id, back.value.member_id}


def test_a_group_that_goes_away_meanwhile_sends_the_static_member_to_its_coordinator(rig: Rig) -> None:
    rig.static_members()
    rig.replica_manager.hold = True
    back = rig.send_join(instance_id=FOLLOWER, protocols=SUPERSET)
    rig.coordinator._on_group_unloaded(rig.group())
    rig.replica_manager.release()
    assert back.value == JoinGroupResult.failed("", Errors.NOT_COORDINATOR)


def test_a_static_member_that_changes_what_the_group_follows_begins_a_rebalance(rig: Rig) -> None:
    members = rig.static_members()
    assert rig.group().protocol_name == "range"
    back = rig.send_join(instance_id=FOLLOWER, protocols=[("roundrobin", b"")])
    assert not back.is_completed
    assert rig.state() is PreparingRebalance
    leader = rig.send_join(members.leader_id, protocols=SUPERSET, instance_id=LEADER)
    assert (back.value.protocol_name, leader.value.protocol_name) == ("roundrobin", "roundrobin")


def test_a_static_member_cannot_be_in_a_dead_group(rig: Rig) -> None:
    rig.static_members()
    group = rig.group()
    group.transition_to(Dead)
    joining = rig.send_join(instance_id=FOLLOWER)
    assert joining.value.error is Errors.COORDINATOR_NOT_AVAILABLE


def test_a_static_member_of_an_empty_group_cannot_be(rig: Rig) -> None:
    rig.static_members()
    group = rig.group()
    group.transition_to(PreparingRebalance)
    group.transition_to(Empty)
    with pytest.raises(IllegalStateException, match="was not supposed to be in the state Empty"):
        rig.send_join(instance_id=FOLLOWER)
