"""Members that were given an id and have to come back with it."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.coordinator.group.group_metadata import CompletingRebalance, Empty, Stable
from tests.coordinator.group.coordinator_support import INITIAL_DELAY, Rig, pending_member


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupSecondJoinInconsistentProtocol")
def test_who_comes_back_with_nothing_in_common_is_refused_and_may_try_again(rig: Rig) -> None:
    first = rig.send_join(require_known_member_id=True).value
    assert first.error is Errors.MEMBER_ID_REQUIRED
    refused = rig.send_join(first.member_id, protocols=[], require_known_member_id=True)
    assert refused.value.error is Errors.INCONSISTENT_GROUP_PROTOCOL
    joined = rig.send_join(first.member_id, require_known_member_id=True)
    rig.advance(INITIAL_DELAY + 1)
    assert (joined.value.error, joined.value.member_id) == (Errors.NONE, first.member_id)


def test_an_old_client_is_let_in_at_once(rig: Rig) -> None:
    """It would not understand MEMBER_ID_REQUIRED."""
    joined = rig.send_join(require_known_member_id=False)
    assert rig.group().num_pending == 0
    rig.advance(INITIAL_DELAY + 1)
    assert joined.value.error is Errors.NONE


def test_a_static_member_is_let_in_at_once(rig: Rig) -> None:
    """KafkaApis asks nobody for an id that names an instance; nor would a group that has the instance."""
    first = rig.static_join("instance")
    rig.sync(first.generation_id, first.member_id)
    again = rig.send_join(instance_id="instance", require_known_member_id=True).value
    assert again.error is Errors.NONE
    assert again.member_id != first.member_id


@pytest.mark.ported("GroupCoordinatorTest.testSecondMemberPartiallyJoinAndTimeout")
def test_who_does_not_come_back_disturbs_nobody(rig: Rig) -> None:
    first = rig.stable_member()
    rig.advance(100)
    group = rig.group()
    assert (group.size, group.num_pending) == (1, 0)
    assert rig.join_partial().error is Errors.MEMBER_ID_REQUIRED
    assert (group.size, group.num_pending, group.current_state) == (1, 1, Stable)
    rig.advance(300)
    assert rig.heartbeat(first.member_id, 1) is Errors.NONE
    rig.advance(300)
    assert (group.size, group.num_pending, group.current_state) == (1, 0, Stable)
    assert group.has(first.member_id)


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupCompletionWhenPendingMemberJoins")
def test_a_rebalance_waits_for_those_that_have_been_given_an_id(rig: Rig) -> None:
    pending = pending_member(rig)
    assert rig.send_join(pending.member_id).value.error is Errors.NONE
    group = rig.group()
    assert (group.current_state, group.size, group.num_pending) == (CompletingRebalance, 3, 0)


@pytest.mark.ported("GroupCoordinatorTest.testJoinGroupCompletionWhenPendingMemberTimesOut")
def test_it_waits_no_longer_than_their_session(rig: Rig) -> None:
    pending_member(rig)
    rig.advance(120)
    group = rig.group()
    assert (group.current_state, group.size, group.num_pending) == (CompletingRebalance, 2, 0)


@pytest.mark.ported("GroupCoordinatorTest.testPendingMembersLeavesGroup")
def test_it_goes_on_when_they_leave(rig: Rig) -> None:
    pending = pending_member(rig)
    assert rig.leave(pending.member_id).member_responses == [(pending.member_id, None, Errors.NONE)]
    group = rig.group()
    assert (group.current_state, group.size, group.num_pending) == (CompletingRebalance, 2, 0)


def test_an_id_that_was_not_used_in_time_is_nobodys(rig: Rig) -> None:
    pending = rig.join_partial(session_timeout=100)
    rig.advance(101)
    assert rig.group().num_pending == 0
    assert rig.send_join(pending.member_id).value.error is Errors.UNKNOWN_MEMBER_ID
    assert rig.state() is Empty


def test_who_has_joined_in_time_is_not_taken_for_pending_when_that_time_is_over(rig: Rig) -> None:
    pending = rig.join_partial(session_timeout=100)
    joined = rig.send_join(pending.member_id)
    rig.advance(INITIAL_DELAY + 1)
    assert joined.value.error is Errors.NONE
    rig.sync(1, pending.member_id)
    rig.advance(51)
    assert rig.heartbeat(pending.member_id, 1) is Errors.NONE


def test_a_pending_member_does_not_come_back_as_a_static_one(rig: Rig) -> None:
    pending = rig.join_partial()
    with pytest.raises(IllegalStateException, match=f"static member instance .* {pending.member_id}"):
        rig.send_join(pending.member_id, instance_id="instance")
