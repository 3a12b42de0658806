"""A group's states, its members and what they have in common. Its offsets: test_group_metadata_offsets.py."""

from __future__ import annotations

import itertools
import struct

import pytest

from kafka_py.common.errors import IllegalArgumentException, IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.coordinator.group.group_metadata import (
    VALID_PREVIOUS_STATES,
    CompletingRebalance,
    Dead,
    Empty,
    GroupMetadata,
    GroupState,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.group_results import JoinGroupResult, SyncGroupResult
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.testing.mock_time import MockTime
from tests.coordinator.group.coordinator_support import PROTOCOL_TYPE, Answer, subscription

GROUP = "groupId"
INSTANCE = "groupInstanceId"
WAYS: dict[GroupState, list[GroupState]] = {
    Empty: [],
    PreparingRebalance: [PreparingRebalance],
    CompletingRebalance: [PreparingRebalance, CompletingRebalance],
    Stable: [PreparingRebalance, CompletingRebalance, Stable],
    Dead: [PreparingRebalance, Dead],
}
ALLOWED = {
    (Empty, PreparingRebalance),
    (Empty, Dead),
    (PreparingRebalance, CompletingRebalance),
    (PreparingRebalance, Empty),
    (PreparingRebalance, Dead),
    (CompletingRebalance, Stable),
    (CompletingRebalance, PreparingRebalance),
    (CompletingRebalance, Dead),
    (Stable, PreparingRebalance),
    (Stable, Dead),
    (Dead, Dead),
}


@pytest.fixture
def group() -> GroupMetadata:
    return GroupMetadata(GROUP, Empty, MockTime())


def group_in(state: GroupState) -> GroupMetadata:
    made = GroupMetadata(GROUP, Empty, MockTime())
    for step in WAYS[state]:
        made.transition_to(step)
    assert made.current_state is state
    return made


def member(
    member_id: str,
    *protocols: str,
    metadata: bytes = b"",
    instance_id: str | None = None,
    protocol_type: str = PROTOCOL_TYPE,
) -> MemberMetadata:
    said = [(name, metadata) for name in protocols or ("range", "roundrobin")]
    return MemberMetadata(member_id, GROUP, instance_id, "clientId", "clientHost", 60000, 10000, protocol_type, said)


def waiting() -> Answer[JoinGroupResult]:
    """The callback of a member that has sent its JoinGroup."""
    return Answer()


def topics_of(group: GroupMetadata) -> set[str] | None:
    return group.get_subscribed_topics


# -- States


@pytest.mark.ported("GroupMetadataTest.testStableToPreparingRebalanceTransition")
@pytest.mark.ported("GroupMetadataTest.testStableToDeadTransition")
@pytest.mark.ported("GroupMetadataTest.testAwaitingRebalanceToPreparingRebalanceTransition")
@pytest.mark.ported("GroupMetadataTest.testPreparingRebalanceToDeadTransition")
@pytest.mark.ported("GroupMetadataTest.testPreparingRebalanceToEmptyTransition")
@pytest.mark.ported("GroupMetadataTest.testEmptyToDeadTransition")
@pytest.mark.ported("GroupMetadataTest.testAwaitingRebalanceToStableTransition")
@pytest.mark.ported("GroupMetadataTest.testDeadToDeadIllegalTransition", changes="which is legal, as it asserts")
@pytest.mark.parametrize(("origin", "target"), sorted(ALLOWED, key=str))
def test_a_step_the_group_may_take(origin: GroupState, target: GroupState) -> None:
    made = group_in(origin)
    made.transition_to(target)
    assert [state for state in VALID_PREVIOUS_STATES if made.is_(state)] == [target]


@pytest.mark.ported("GroupMetadataTest.testEmptyToStableIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testStableToStableIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testEmptyToAwaitingRebalanceIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testPreparingRebalanceToPreparingRebalanceIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testPreparingRebalanceToStableIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testAwaitingRebalanceToAwaitingRebalanceIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testDeadToStableIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testDeadToPreparingRebalanceIllegalTransition")
@pytest.mark.ported("GroupMetadataTest.testDeadToAwaitingRebalanceIllegalTransition")
@pytest.mark.parametrize(("origin", "target"), sorted(set(itertools.product(WAYS, WAYS)) - ALLOWED, key=str))
def test_a_step_the_group_may_not_take(origin: GroupState, target: GroupState) -> None:
    made = group_in(origin)
    with pytest.raises(
        IllegalStateException, match=f"before moving to {target} state. Instead it is in {origin} state"
    ):
        made.transition_to(target)
    assert made.current_state is origin


@pytest.mark.ported("GroupMetadataTest.testCanRebalanceWhenStable")
@pytest.mark.ported("GroupMetadataTest.testCanRebalanceWhenCompletingRebalance")
@pytest.mark.ported("GroupMetadataTest.testCannotRebalanceWhenPreparingRebalance")
@pytest.mark.ported("GroupMetadataTest.testCannotRebalanceWhenDead")
def test_a_group_that_neither_rebalances_nor_is_dead_can_rebalance() -> None:
    assert {state for state in WAYS if group_in(state).can_rebalance} == {Empty, CompletingRebalance, Stable}


def test_each_step_has_its_time() -> None:
    time = MockTime()
    made = GroupMetadata(GROUP, Empty, time)
    time.sleep(7)
    made.transition_to(PreparingRebalance)
    assert made.current_state_timestamp_or_default == time.milliseconds()
    made.current_state_timestamp = None
    assert made.current_state_timestamp_or_default == -1


# -- What the members have in common


@pytest.mark.ported("GroupMetadataTest.testSelectProtocol")
def test_the_protocol_that_most_prefer(group: GroupMetadata) -> None:
    group.add(member("memberId", "range", "roundrobin"))
    assert group.select_protocol() == "range"
    group.add(member("otherMemberId", "roundrobin", "range"))
    assert group.select_protocol() in {"range", "roundrobin"}
    group.add(member("lastMemberId", "roundrobin", "range"))
    assert group.select_protocol() == "roundrobin"


@pytest.mark.ported("GroupMetadataTest.testSelectProtocolRaisesIfNoMembers")
def test_without_members_there_is_no_protocol(group: GroupMetadata) -> None:
    with pytest.raises(IllegalStateException, match="empty group"):
        group.select_protocol()


@pytest.mark.ported("GroupMetadataTest.testSelectProtocolChoosesCompatibleProtocol")
def test_the_protocol_is_one_that_all_know(group: GroupMetadata) -> None:
    group.add(member("memberId", "range", "roundrobin"))
    group.add(member("otherMemberId", "roundrobin", "blah"))
    assert group.select_protocol() == "roundrobin"


@pytest.mark.ported("GroupMetadataTest.testSupportsProtocols")
def test_who_can_join(group: GroupMetadata) -> None:
    assert group.supports_protocols(PROTOCOL_TYPE, {"roundrobin", "range"})
    assert not group.supports_protocols("", {"range"})
    assert not group.supports_protocols(PROTOCOL_TYPE, set())
    group.add(member("memberId", "range", "roundrobin"))
    group.transition_to(PreparingRebalance)
    assert group.supports_protocols(PROTOCOL_TYPE, {"roundrobin", "foo"})
    assert group.supports_protocols(PROTOCOL_TYPE, {"range", "foo"})
    assert not group.supports_protocols(PROTOCOL_TYPE, {"foo", "bar"})
    group.add(member("otherMemberId", "roundrobin", "blah"))
    assert group.supports_protocols(PROTOCOL_TYPE, {"roundrobin", "foo"})
    assert not group.supports_protocols("invalid_type", {"roundrobin", "foo"})
    assert not group.supports_protocols(PROTOCOL_TYPE, {"range", "foo"})


def test_who_leaves_or_changes_its_mind_does_not_count_any_more(group: GroupMetadata) -> None:
    first, other = member("memberId", "range", "roundrobin"), member("otherMemberId", "roundrobin")
    group.transition_to(PreparingRebalance)
    group.add(first)
    group.add(other)
    assert not group.supports_protocols(PROTOCOL_TYPE, {"range"})
    group.update_member(other, [("range", b"")], None)
    assert group.select_protocol() == "range"
    assert not group.supports_protocols(PROTOCOL_TYPE, {"roundrobin"})
    group.remove("otherMemberId")
    assert group.supports_protocols(PROTOCOL_TYPE, {"roundrobin"})


# -- Subscribed topics


@pytest.mark.ported("GroupMetadataTest.testSubscribedTopics")
def test_the_topics_a_group_of_consumers_reads(group: GroupMetadata) -> None:
    assert topics_of(group) is None
    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "range", metadata=subscription("foo")))
    group.add(member("other", "range", metadata=subscription("foo", "bar")))
    group.init_next_generation()
    assert topics_of(group) == {"foo", "bar"}
    assert group.is_subscribed_to_topic("foo")
    assert not group.is_subscribed_to_topic("baz")

    group.transition_to(PreparingRebalance)
    group.remove("memberId")
    group.remove("other")
    group.init_next_generation()
    assert topics_of(group) == set()

    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "range", metadata=b""))
    group.init_next_generation()
    assert topics_of(group) is None
    assert group.is_subscribed_to_topic("baz")  # nobody knows


@pytest.mark.ported("GroupMetadataTest.testSubscribedTopicsNonConsumerGroup")
def test_of_other_groups_no_topics_are_known(group: GroupMetadata) -> None:
    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "range", metadata=subscription("foo"), protocol_type="My Protocol"))
    group.init_next_generation()
    assert topics_of(group) is None


@pytest.mark.parametrize("version", [1, 2, 7])
def test_later_versions_of_a_subscription_begin_like_the_first(group: GroupMetadata, version: int) -> None:
    said = struct.pack(">h", version) + subscription("foo")[2:] + b"what a later version adds"
    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "range", metadata=said))
    group.init_next_generation()
    assert topics_of(group) == {"foo"}


@pytest.mark.parametrize(
    "said",
    [
        subscription("foo")[:-5],
        b"\xff\xff" + subscription("foo")[2:],
        b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x00\x7f\xff\xff\xff",
        b"\x00",
    ],
    ids=["cut", "negative version", "no topics", "more than there is", "half a version"],
)
def test_what_cannot_be_read_does_not_keep_the_group_from_its_generation(group: GroupMetadata, said: bytes) -> None:
    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "range", metadata=subscription("foo")))
    group.add(member("other", "range", metadata=said))
    group.init_next_generation()
    assert topics_of(group) is None
    assert group.current_state is CompletingRebalance


# -- Generations


@pytest.mark.ported("GroupMetadataTest.testInitNextGeneration")
def test_the_first_generation(group: GroupMetadata) -> None:
    group.transition_to(PreparingRebalance)
    group.add(member("memberId", "roundrobin"), waiting())
    assert (group.generation_id, group.protocol_name) == (0, None)
    group.init_next_generation()
    assert (group.generation_id, group.protocol_name) == (1, "roundrobin")


@pytest.mark.ported("GroupMetadataTest.testInitNextGenerationEmptyGroup")
def test_a_generation_of_nobody(group: GroupMetadata) -> None:
    assert (group.current_state, group.generation_id, group.protocol_name) == (Empty, 0, None)
    group.transition_to(PreparingRebalance)
    group.init_next_generation()
    assert (group.current_state, group.generation_id, group.protocol_name) == (Empty, 1, None)


@pytest.mark.parametrize("state", [PreparingRebalance, Dead])
def test_while_it_is_not_settled_nobody_is_told_what_the_members_said(state: GroupState) -> None:
    with pytest.raises(IllegalStateException, match=f"in state {state}"):
        _ = group_in(state).current_member_metadata


def test_a_stable_group_has_a_protocol() -> None:
    with pytest.raises(IllegalStateException, match="Invalid null group protocol"):
        group_in(Stable).summary()


# -- Members, and who leads them


def test_the_group_waits_for_ids_it_has_given_out(group: GroupMetadata) -> None:
    """An id that has no owner yet holds the rebalance, so that its owner is in it (KIP-394)."""
    group.add(member("memberId"), waiting())
    joined = [group.has_all_members_joined]
    group.add_pending_member("pending")
    assert (group.num_pending, group.is_pending_member("pending")) == (1, True)
    joined.append(group.has_all_members_joined)
    assert group.remove_pending_member("pending")
    assert not group.remove_pending_member("pending")
    joined.append(group.has_all_members_joined)
    assert joined == [True, False, True]


def test_who_waits_for_its_join_is_counted_once(group: GroupMetadata) -> None:
    first = member("memberId")
    group.add(first, waiting())
    group.add(member("other"))
    assert (group.num_awaiting, [each.member_id for each in group.not_yet_rejoined_members]) == (1, ["other"])
    group.update_member(first, first.supported_protocols, waiting())
    assert group.num_awaiting == 1
    group.update_member(first, first.supported_protocols, None)
    assert group.num_awaiting == 0
    group.update_member(first, first.supported_protocols, waiting())
    group.remove("memberId")
    assert group.num_awaiting == 0


def test_a_leader_that_leaves_is_followed_by_another(group: GroupMetadata) -> None:
    group.add(member("memberId"))
    group.add(member("other"))
    assert group.is_leader("memberId")
    group.remove("memberId")
    assert group.is_leader("other")
    group.remove("other")
    assert group.leader_or_null is None
    assert not group.maybe_elect_new_joined_leader()


def test_a_leader_that_does_not_join_again_is_followed_by_one_that_did(group: GroupMetadata) -> None:
    group.add(member("memberId"))
    group.add(member("other"))
    assert not group.maybe_elect_new_joined_leader()
    assert group.is_leader("memberId")
    other = group.get("other")
    group.update_member(other, other.supported_protocols, waiting())
    assert group.maybe_elect_new_joined_leader()
    assert group.is_leader("other")
    assert group.maybe_elect_new_joined_leader()


# -- Static members


def static_member(group: GroupMetadata) -> MemberMetadata:
    made = member("memberId", instance_id=INSTANCE)
    group.add(made)
    group.add_static_member(INSTANCE, "memberId")
    return made


@pytest.mark.ported("GroupMetadataTest.testReplaceGroupInstanceWithEmptyGroupInstanceId")
def test_a_dynamic_member_is_not_replaced(group: GroupMetadata) -> None:
    static_member(group)
    assert group.is_leader("memberId")
    assert group.get_static_member_id(INSTANCE) == "memberId"
    with pytest.raises(IllegalArgumentException, match=r"null group\.instance\.id in replaceGroupInstance"):
        group.replace_group_instance("memberId", "newMemberId", None)
    assert group.all_members == {"memberId"}


@pytest.mark.ported("GroupMetadataTest.testReplaceGroupInstanceWithNonExistingMember")
def test_a_member_that_is_not_there_is_not_replaced(group: GroupMetadata) -> None:
    with pytest.raises(IllegalArgumentException, match="non-existing member id memberId"):
        group.replace_group_instance("memberId", "newMemberId", INSTANCE)
    assert not group.has_static_member(INSTANCE)


@pytest.mark.ported("GroupMetadataTest.testReplaceGroupInstance")
def test_who_waits_under_the_old_id_is_fenced(group: GroupMetadata) -> None:
    made = static_member(group)
    joined: Answer[JoinGroupResult] = Answer()
    synced: Answer[SyncGroupResult] = Answer()
    group.update_member(made, made.supported_protocols, joined)
    made.awaiting_sync_callback = synced
    assert group.replace_group_instance("memberId", "newMemberId", INSTANCE) is made
    assert group.is_leader("newMemberId")
    assert group.get_static_member_id(INSTANCE) == made.member_id == "newMemberId"
    assert joined.value == JoinGroupResult.failed("memberId", Errors.FENCED_INSTANCE_ID)
    assert synced.value == SyncGroupResult.failed(Errors.FENCED_INSTANCE_ID)
    assert (made.is_awaiting_join, made.is_awaiting_sync, group.num_awaiting) == (False, False, 0)


def test_the_old_id_of_a_static_member_is_fenced(group: GroupMetadata) -> None:
    static_member(group)
    assert not group.is_static_member_fenced("memberId", INSTANCE, "join-group")
    assert group.is_static_member_fenced("another", INSTANCE, "join-group")
    assert not group.is_static_member_fenced("another", "unknown", "join-group")
    assert not group.is_static_member_fenced("another", None, "join-group")


def test_what_only_static_members_have_is_asked_of_no_other(group: GroupMetadata) -> None:
    with pytest.raises(IllegalArgumentException, match="in getStaticMemberId"):
        group.get_static_member_id(None)
    with pytest.raises(IllegalArgumentException, match="in addStaticMember"):
        group.add_static_member(None, "memberId")
    static_member(group)
    group.remove_static_member(None)
    assert group.all_static_members == {INSTANCE}


def test_an_id_begins_with_what_its_owner_calls_itself(group: GroupMetadata) -> None:
    assert group.generate_member_id("clientId", None).startswith("clientId-")
    assert group.generate_member_id("clientId", INSTANCE).startswith(f"{INSTANCE}-")
    assert group.generate_member_id("clientId", None) != group.generate_member_id("clientId", None)


def test_a_group_is_loaded_with_its_static_members_and_topics() -> None:
    members = [
        member("a", "range", metadata=subscription("foo"), instance_id=INSTANCE),
        member("b", "range", metadata=subscription("bar")),
    ]
    loaded = GroupMetadata.load_group(GROUP, Stable, 5, PROTOCOL_TYPE, "range", "b", 12, members, MockTime())
    assert (loaded.generation_id, loaded.leader_or_null, loaded.current_state_timestamp) == (5, "b", 12)
    assert loaded.get_static_member_id(INSTANCE) == "a"
    assert loaded.all_static_members == {INSTANCE}
    assert loaded.get_subscribed_topics == {"foo", "bar"}
    assert loaded.num_awaiting == 0
    assert [each.member_id for each in loaded.summary().members] == ["a", "b"]


# -- Answers


@pytest.mark.ported("GroupMetadataTest.testInvokeJoinCallback")
@pytest.mark.ported("GroupMetadataTest.testNotInvokeJoinCallback")
def test_a_join_is_answered_once(group: GroupMetadata) -> None:
    made, joined = member("memberId"), Answer[JoinGroupResult]()
    group.add(made, joined)
    assert group.has_all_members_joined
    result = JoinGroupResult.failed("memberId", Errors.NONE)
    for _ in range(2):
        group.maybe_invoke_join_callback(made, result)
        assert not made.is_awaiting_join
        assert group.num_awaiting == 0
    assert joined.value == result


@pytest.mark.ported("GroupMetadataTest.testInvokeSyncCallback")
@pytest.mark.ported("GroupMetadataTest.testNotInvokeSyncCallback")
def test_a_sync_is_answered_once(group: GroupMetadata) -> None:
    made, synced = member("memberId"), Answer[SyncGroupResult]()
    group.add(made)
    made.awaiting_sync_callback = synced
    result = SyncGroupResult.failed(Errors.NONE)
    assert group.maybe_invoke_sync_callback(made, result)
    assert not made.is_awaiting_sync
    assert not group.maybe_invoke_sync_callback(made, result)
    assert synced.value == result
