"""Offsets that are committed, in transactions and without, and looked up."""

from __future__ import annotations

import pytest

from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Empty, PreparingRebalance, Stable
from kafka_py.log.verification_guard import VerificationGuard
from tests.coordinator.group.coordinator_support import (
    GROUP,
    LEADER,
    MAX_SESSION_TIMEOUT,
    OTHER_GROUP,
    Answer,
    Rig,
    empty_group,
    subscription,
)

TP = TopicPartition("topic", 0)
OTHER_TP = TopicPartition("other-topic", 0)
PRODUCER = 1000
EPOCH = 2


def offsets(rig: Rig, *partitions: TopicPartition, group_id: str = GROUP) -> list[int]:
    found = rig.fetch(*partitions, group_id=group_id)
    return [found[tp].offset for tp in partitions]


# -- Commits


@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetFromUnknownGroup")
def test_a_member_of_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.commit({TP: 0}, "memberId", 1) == {TP: Errors.ILLEGAL_GENERATION}


@pytest.mark.ported("GroupCoordinatorTest.testOffsetCommitDeadGroup")
def test_a_dead_group(rig: Rig) -> None:
    rig.add_dead_group()
    assert rig.commit({TP: 0}, "memberId", 1) == {TP: Errors.COORDINATOR_NOT_AVAILABLE}
    assert rig.txn_commit({TP: 0}) == {TP: Errors.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetWithDefaultGeneration")
def test_a_consumer_without_a_group_may_keep_its_offsets_here(rig: Rig) -> None:
    assert rig.commit({TP: 7}) == {TP: Errors.NONE}
    assert offsets(rig, TP) == [7]


@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetsAfterGroupIsEmpty")
def test_a_tool_sets_the_offsets_of_a_group_that_everybody_has_left(rig: Rig) -> None:
    empty_group(rig)
    assert rig.commit({TP: 0}) == {TP: Errors.NONE}
    assert offsets(rig, TP) == [0]


def test_a_member_that_was_does_not_commit_once_everybody_has_left(rig: Rig) -> None:
    joined = empty_group(rig)
    assert rig.commit({TP: 0}, joined.member_id, joined.generation_id) == {TP: Errors.UNKNOWN_MEMBER_ID}


def test_a_tool_does_not_set_the_offsets_of_a_group_with_members(rig: Rig) -> None:
    rig.stable_member()
    assert rig.commit({TP: 0}) == {TP: Errors.UNKNOWN_MEMBER_ID}


@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetInCompletingRebalance")
@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetInCompletingRebalanceFromUnknownMemberId")
@pytest.mark.ported("GroupCoordinatorTest.testCommitOffsetInCompletingRebalanceFromIllegalGeneration")
def test_while_a_rebalance_is_completed(rig: Rig) -> None:
    joined = rig.join()
    generation = joined.generation_id
    assert rig.commit({TP: 0}, joined.member_id, generation) == {TP: Errors.REBALANCE_IN_PROGRESS}
    assert rig.commit({TP: 0}, "", generation) == {TP: Errors.UNKNOWN_MEMBER_ID}
    assert rig.commit({TP: 0}, joined.member_id, generation + 1) == {TP: Errors.ILLEGAL_GENERATION}


def test_while_a_rebalance_is_prepared_a_member_may_commit_what_it_has_read(rig: Rig) -> None:
    joined = rig.stable_member()
    rig.send_join()
    assert rig.state() is PreparingRebalance
    assert rig.commit({TP: 3}, joined.member_id, joined.generation_id) == {TP: Errors.NONE}
    assert offsets(rig, TP) == [3]


def test_a_static_member_that_was_replaced_commits_nothing(rig: Rig) -> None:
    members = rig.static_members()
    fenced = {TP: Errors.FENCED_INSTANCE_ID}
    assert rig.commit({TP: 3}, "invalidMember", members.generation, instance_id=LEADER) == fenced
    assert rig.commit({TP: 3}, members.leader_id, members.generation, instance_id=LEADER) == {TP: Errors.NONE}


def test_a_commit_is_answered_when_it_is_in_the_log(rig: Rig) -> None:
    rig.replica_manager.hold = True
    answer: Answer[dict[TopicPartition, Errors]] = Answer()
    rig.coordinator.handle_commit_offsets(GROUP, "", None, -1, {TP: rig.offset(5)}, answer)
    assert not answer.is_completed
    assert offsets(rig, TP) == [-1]
    rig.replica_manager.release()
    assert answer.value == {TP: Errors.NONE}
    assert offsets(rig, TP) == [5]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.REQUEST_TIMED_OUT, Errors.REQUEST_TIMED_OUT),
        (Errors.NOT_LEADER_FOR_PARTITION, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_a_commit_that_is_not_in_the_log_does_not_count(rig: Rig, error: Errors, told: Errors) -> None:
    rig.commit({TP: 1})
    rig.replica_manager.error = error
    assert rig.commit({TP: 2}) == {TP: told}
    assert offsets(rig, TP) == [1]


# -- Look-ups


@pytest.mark.ported("GroupCoordinatorTest.testFetchOffsets")
def test_an_offset_comes_back_with_epoch_and_text(rig: Rig) -> None:
    answer: Answer[dict[TopicPartition, Errors]] = Answer()
    committed = OffsetAndMetadata(97, 15, "some metadata", rig.time.milliseconds(), None)
    rig.coordinator.handle_commit_offsets(GROUP, "", None, -1, {TP: committed}, answer)
    assert answer.value == {TP: Errors.NONE}
    found = rig.fetch(TP)[TP]
    assert (found.offset, found.leader_epoch, found.metadata) == (97, 15, "some metadata")


@pytest.mark.ported("GroupCoordinatorTest.testFetchOffsetForUnknownPartition")
def test_what_was_not_committed(rig: Rig) -> None:
    assert offsets(rig, TP) == [-1]
    assert rig.fetch(TP)[TP].error is Errors.NONE


@pytest.mark.ported("GroupCoordinatorTest.testFetchOffsetNotCoordinatorForGroup")
def test_looking_up_with_another_coordinator(rig: Rig) -> None:
    assert rig.coordinator.handle_fetch_offsets(OTHER_GROUP, True, [TP]) == (Errors.NOT_COORDINATOR, {})


@pytest.mark.ported("GroupCoordinatorTest.testFetchAllOffsets")
def test_all_offsets_of_a_group(rig: Rig) -> None:
    assert rig.coordinator.handle_fetch_offsets(GROUP, True) == (Errors.NONE, {})
    committed = {TP: 15, TopicPartition("topic", 1): 16, OTHER_TP: 17}
    assert rig.commit(committed) == dict.fromkeys(committed, Errors.NONE)
    found = rig.fetch()
    assert {tp: data.offset for tp, data in found.items()} == committed
    assert {data.error for data in found.values()} == {Errors.NONE}


@pytest.mark.ported("GroupCoordinatorTest.testCommitAndFetchOffsetsWithEmptyGroup")
def test_the_group_without_a_name_has_offsets_only(rig: Rig) -> None:
    rig.manager.add_partition_ownership(rig.coordinator.partition_for(""))
    assert rig.commit({TP: 0}, group_id="") == {TP: Errors.NONE}
    assert offsets(rig, TP, group_id="") == [0]
    error, summary = rig.coordinator.handle_describe_group("")
    assert (error, summary.state) == (Errors.NONE, str(Empty))
    assert rig.coordinator.handle_delete_groups({""}) == {"": Errors.NONE}
    assert offsets(rig, TP, group_id="") == [-1]
    assert rig.heartbeat("memberId", 1, "") is Errors.INVALID_GROUP_ID
    assert rig.txn_commit({TP: 0}, group_id="") == {TP: Errors.INVALID_GROUP_ID}


# -- Transactions


def test_a_commit_waits_until_its_transaction_is_verified_and_shows_the_guard(rig: Rig) -> None:
    manager = rig.replica_manager
    manager.guard, manager.hold = VerificationGuard(), True
    answer = rig.send_txn_commit({TP: 0})
    partition = TopicPartition("__consumer_offsets", rig.partition)
    assert manager.verified == [(partition, "txn", PRODUCER, EPOCH, -1)]
    assert (manager.appended, answer.is_completed) == ([], False)
    manager.release()
    assert answer.value == {TP: Errors.NONE}
    assert manager.guards == [{partition: manager.guard}]


def test_a_commit_that_is_not_verified_is_shown_no_guard(rig: Rig) -> None:
    assert rig.txn_commit({TP: 0}) == {TP: Errors.NONE}
    assert rig.replica_manager.guards == [None]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.INVALID_TXN_STATE, Errors.INVALID_TXN_STATE),
        (Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.NOT_LEADER_FOR_PARTITION, Errors.NOT_COORDINATOR),
        (Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_LOAD_IN_PROGRESS),
        (Errors.NETWORK_EXCEPTION, Errors.COORDINATOR_LOAD_IN_PROGRESS),
    ],
    ids=str,
)
def test_a_commit_whose_transaction_is_not_open_is_not_written(rig: Rig, error: Errors, told: Errors) -> None:
    rig.replica_manager.verdict = error
    assert rig.txn_commit({TP: 0}) == {TP: told}
    assert rig.replica_manager.appended == []
    assert not rig.group().has_offsets


def test_who_left_while_its_transaction_was_verified_commits_nothing(rig: Rig) -> None:
    member = rig.stable_member()
    rig.replica_manager.hold = True
    answer = rig.send_txn_commit({TP: 0}, member_id=member.member_id, generation=member.generation_id)
    rig.group().remove(member.member_id)
    rig.replica_manager.release()
    assert answer.value == {TP: Errors.UNKNOWN_MEMBER_ID}


def test_a_transactions_commit_needs_a_format_that_knows_transactions(rig: Rig) -> None:
    rig.replica_manager.magic = 1
    assert rig.txn_commit({TP: 0}) == {TP: Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT}


@pytest.mark.ported("GroupCoordinatorTest.testBasicFetchTxnOffsets")
def test_an_offset_counts_when_its_transaction_is_committed(rig: Rig) -> None:
    assert rig.txn_commit({TP: 0}) == {TP: Errors.NONE}
    assert offsets(rig, TP) == [-1]
    rig.complete_txn(PRODUCER, is_commit=True)
    assert offsets(rig, TP) == [0]


@pytest.mark.ported("GroupCoordinatorTest.testFetchTxnOffsetsWithAbort")
@pytest.mark.ported("GroupCoordinatorTest.testFetchTxnOffsetsIgnoreSpuriousCommit")
def test_an_offset_whose_transaction_is_aborted_never_counts(rig: Rig) -> None:
    assert rig.txn_commit({TP: 0}) == {TP: Errors.NONE}
    assert offsets(rig, TP) == [-1]
    rig.complete_txn(PRODUCER, is_commit=False)
    assert offsets(rig, TP) == [-1]
    rig.complete_txn(PRODUCER, is_commit=True)  # a marker that has nothing to do any more
    assert offsets(rig, TP) == [-1]


@pytest.mark.ported("GroupCoordinatorTest.testFetchPendingTxnOffsetsWithAbort")
@pytest.mark.ported("GroupCoordinatorTest.testFetchPendingTxnOffsetsWithCommit")
@pytest.mark.parametrize(("is_commit", "offset"), [(False, -1), (True, 25)])
def test_who_requires_stable_offsets_is_told_which_are_not(rig: Rig, is_commit: bool, offset: int) -> None:
    assert rig.txn_commit({TP: 25}) == {TP: Errors.NONE}
    found = rig.fetch(TP, OTHER_TP)
    assert (found[TP].offset, found[TP].error) == (-1, Errors.UNSTABLE_OFFSET_COMMIT)
    assert (found[OTHER_TP].offset, found[OTHER_TP].error) == (-1, Errors.NONE)
    found = rig.fetch(TP, require_stable=False)
    assert (found[TP].offset, found[TP].error) == (-1, Errors.NONE)
    rig.complete_txn(PRODUCER, is_commit)
    found = rig.fetch(TP)
    assert (found[TP].offset, found[TP].error) == (offset, Errors.NONE)


@pytest.mark.ported("GroupCoordinatorTest.testFetchTxnOffsetsOneProducerMultipleGroups")
def test_a_marker_counts_for_the_groups_of_its_partition(rig: Rig) -> None:
    rig.manager.add_partition_ownership(rig.other_partition)
    partitions = (TopicPartition("topic1", 0), TopicPartition("topic2", 0))
    rig.txn_commit({partitions[0]: 10})
    rig.txn_commit({partitions[1]: 15}, group_id=OTHER_GROUP)
    rig.complete_txn(PRODUCER, is_commit=True)
    assert offsets(rig, *partitions) == [10, -1]
    assert offsets(rig, *partitions, group_id=OTHER_GROUP) == [-1, -1]
    rig.complete_txn(PRODUCER, is_commit=True, partition=rig.other_partition)
    assert offsets(rig, *partitions) == [10, -1]
    assert offsets(rig, *partitions, group_id=OTHER_GROUP) == [-1, 15]


@pytest.mark.ported("GroupCoordinatorTest.testFetchTxnOffsetsMultipleProducersOneGroup")
def test_a_marker_counts_for_its_producer(rig: Rig) -> None:
    partitions = (TopicPartition("topic1", 0), TopicPartition("topic2", 0))
    rig.txn_commit({partitions[0]: 10}, PRODUCER, 3)
    rig.txn_commit({partitions[1]: 15}, PRODUCER + 5, 4)
    rig.complete_txn(PRODUCER, is_commit=True)
    assert offsets(rig, *partitions) == [10, -1]
    rig.complete_txn(PRODUCER + 5, is_commit=True)
    assert offsets(rig, *partitions) == [10, 15]


@pytest.mark.ported("GroupCoordinatorTest.testTxnCommitOffsetWithFencedInstanceId")
def test_in_a_transaction_a_static_member_that_was_replaced_commits_nothing(rig: Rig) -> None:
    members = rig.static_members()
    for member_id in ("", "invalid-member"):
        assert rig.txn_commit({TP: 0}, member_id=member_id, instance_id=LEADER) == {TP: Errors.FENCED_INSTANCE_ID}
    assert rig.txn_commit({TP: 0}, member_id=members.leader_id, instance_id=LEADER) == {TP: Errors.NONE}


@pytest.mark.ported("GroupCoordinatorTest.testTxnCommitOffsetWithInvalidMemberId")
@pytest.mark.ported("GroupCoordinatorTest.testTxnCommitOffsetWithKnownMemberId")
@pytest.mark.ported("GroupCoordinatorTest.testTxnCommitOffsetWithIllegalGeneration")
@pytest.mark.ported("GroupCoordinatorTest.testTxnCommitOffsetWithLegalGeneration")
def test_in_a_transaction_member_and_generation_count_where_they_are_given(rig: Rig) -> None:
    joined = rig.join()
    member_id, generation = joined.member_id, joined.generation_id
    assert rig.txn_commit({TP: 0}, member_id="invalid-member") == {TP: Errors.UNKNOWN_MEMBER_ID}
    assert rig.txn_commit({TP: 0}, member_id=member_id) == {TP: Errors.NONE}
    illegal = rig.txn_commit({TP: 0}, member_id=member_id, generation=generation + 5)
    assert illegal == {TP: Errors.ILLEGAL_GENERATION}
    assert rig.txn_commit({TP: 0}, member_id=member_id, generation=generation) == {TP: Errors.NONE}
    assert rig.txn_commit({TP: 0}) == {TP: Errors.NONE}  # as producers before KIP-447 do


def test_while_a_group_rebalances_its_offsets_do_not_expire(rig: Rig) -> None:
    """Which topics its members will read nobody knows yet (KAFKA-13636)."""
    retention_ms = rig.coordinator.offset_config.offsets_retention_ms
    joined = rig.stable_member(protocols=[("range", subscription("read"))], session_timeout=MAX_SESSION_TIMEOUT)
    rig.commit({TP: 1}, joined.member_id, joined.generation_id)
    rig.time.sleep(retention_ms + 1)
    group = rig.group()
    group.transition_to(PreparingRebalance)
    assert group.remove_expired_offsets(rig.time.milliseconds(), retention_ms) == {}
    group.init_next_generation()
    assert group.remove_expired_offsets(rig.time.milliseconds(), retention_ms) == {}
    group.transition_to(Stable)
    assert list(group.remove_expired_offsets(rig.time.milliseconds(), retention_ms)) == [TP]


def test_offsets_of_partitions_that_are_deleted_are_forgotten(rig: Rig) -> None:
    rig.commit({TP: 1, OTHER_TP: 2})
    rig.coordinator.handle_deleted_partitions([TP])
    assert offsets(rig, TP, OTHER_TP) == [-1, 2]
    assert len(rig.replica_manager.tombstones) == 1
