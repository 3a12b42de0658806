"""What a group has committed, is about to commit, and forgets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import (
    CommitRecordMetadataAndOffset,
    CompletingRebalance,
    Empty,
    GroupMetadata,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.testing.mock_time import MockTime
from tests.coordinator.group.coordinator_support import GROUP, PROTOCOL_TYPE, subscription

FOO = TopicPartition("foo", 0)
BAR = TopicPartition("bar", 0)
PRODUCER = 13232
RETENTION = 1000
START = 10_000
FIRST, SECOND = OffsetAndMetadata(37, None, "", START), OffsetAndMetadata(57, None, "", START)
IN_TXN, PLAIN = FIRST, SECOND


@pytest.fixture
def group() -> GroupMetadata:
    return GroupMetadata(GROUP, Empty, MockTime(current_time_ms=START))


def at(offset: int, committed: OffsetAndMetadata) -> CommitRecordMetadataAndOffset:
    return CommitRecordMetadataAndOffset(offset, committed)


# -- Commits


@pytest.mark.ported("GroupMetadataTest.testOffsetCommit")
def test_a_commit_counts_when_it_is_in_the_log(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    assert group.has_offsets
    assert group.offset(FOO) is None
    group.on_offset_commit_append(FOO, at(3, FIRST))
    assert group.has_offsets
    assert group.offset(FOO) == FIRST
    assert group.offset_with_record_metadata(FOO) == at(3, FIRST)
    assert not group.has_pending_offset_commits_for_topic_partition(FOO)


@pytest.mark.ported("GroupMetadataTest.testOffsetCommitFailure")
def test_a_commit_that_failed_leaves_nothing(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    group.fail_pending_offset_write(FOO, FIRST)
    assert not group.has_offsets
    assert group.offset(FOO) is None


@pytest.mark.ported("GroupMetadataTest.testOffsetCommitFailureWithAnotherPending")
def test_a_commit_that_failed_leaves_the_one_behind_it(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    group.prepare_offset_commit({FOO: SECOND})
    group.fail_pending_offset_write(FOO, FIRST)
    assert group.has_offsets
    assert group.offset(FOO) is None
    group.on_offset_commit_append(FOO, at(3, SECOND))
    assert group.offset(FOO) == SECOND


@pytest.mark.ported("GroupMetadataTest.testOffsetCommitWithAnotherPending")
def test_of_two_commits_on_their_way_each_counts_in_its_turn(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    group.prepare_offset_commit({FOO: SECOND})
    group.on_offset_commit_append(FOO, at(4, FIRST))
    assert group.offset(FOO) == FIRST
    assert group.has_pending_offset_commits_for_topic_partition(FOO)
    group.on_offset_commit_append(FOO, at(5, SECOND))
    assert group.offset(FOO) == SECOND


def test_a_commit_that_is_told_of_late_does_not_undo_a_later_one(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    group.prepare_offset_commit({FOO: SECOND})
    group.on_offset_commit_append(FOO, at(5, FIRST))
    group.on_offset_commit_append(FOO, at(4, SECOND))
    assert group.offset(FOO) == FIRST


def test_a_commit_is_in_the_log_somewhere(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    with pytest.raises(IllegalStateException, match="without providing the metadata of the record"):
        group.on_offset_commit_append(FOO, CommitRecordMetadataAndOffset(None, FIRST))
    assert group.offset(FOO) is None


def test_a_commit_of_a_topic_that_is_deleted_meanwhile_does_not_come_back(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    assert group.remove_offsets([FOO]) == {}
    group.on_offset_commit_append(FOO, at(3, FIRST))
    assert not group.has_offsets


# -- Commits in transactions


@pytest.mark.ported("GroupMetadataTest.testConsumerBeatsTransactionalOffsetCommit")
def test_a_plain_commit_behind_that_of_a_transaction_wins(group: GroupMetadata) -> None:
    group.prepare_txn_offset_commit(PRODUCER, {FOO: IN_TXN})
    assert group.has_offsets
    assert group.offset(FOO) is None
    group.prepare_offset_commit({FOO: PLAIN})
    group.on_txn_offset_commit_append(PRODUCER, FOO, at(3, IN_TXN))
    group.on_offset_commit_append(FOO, at(4, PLAIN))
    assert group.offset(FOO) == PLAIN
    group.complete_pending_txn_offset_commit(PRODUCER, is_commit=True)
    assert group.offset(FOO) == PLAIN  # the order in the log counts, not that of the markers
    assert group.active_producers == set()


@pytest.mark.ported("GroupMetadataTest.testTransactionBeatsConsumerOffsetCommit")
@pytest.mark.ported("GroupMetadataTest.testTransactionalCommitIsAbortedAndConsumerCommitWins")
@pytest.mark.parametrize(("is_commit", "counts"), [(True, IN_TXN), (False, PLAIN)])
def test_a_transactions_commit_behind_a_plain_one_wins_if_it_is_committed(
    group: GroupMetadata, is_commit: bool, counts: OffsetAndMetadata
) -> None:
    group.prepare_txn_offset_commit(PRODUCER, {FOO: IN_TXN})
    group.prepare_offset_commit({FOO: PLAIN})
    group.on_offset_commit_append(FOO, at(3, PLAIN))
    group.on_txn_offset_commit_append(PRODUCER, FOO, at(4, IN_TXN))
    assert group.offset(FOO) == PLAIN
    group.complete_pending_txn_offset_commit(PRODUCER, is_commit)
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)
    assert group.offset(FOO) == counts


@pytest.mark.ported("GroupMetadataTest.testFailedTxnOffsetCommitLeavesNoPendingState")
def test_a_transactions_commit_that_failed_leaves_nothing(group: GroupMetadata) -> None:
    group.prepare_txn_offset_commit(PRODUCER, {FOO: IN_TXN})
    assert group.has_pending_offset_commits_from_producer(PRODUCER)
    group.fail_pending_txn_offset_commit(PRODUCER, FOO)
    for _ in range(2):
        assert not group.has_offsets
        assert not group.has_pending_offset_commits_from_producer(PRODUCER)
        group.complete_pending_txn_offset_commit(PRODUCER, is_commit=True)
    group.fail_pending_txn_offset_commit(PRODUCER, FOO)  # the group has moved
    assert not group.has_offsets


def test_a_transaction_is_not_complete_before_its_commits_are_in_the_log(group: GroupMetadata) -> None:
    group.prepare_txn_offset_commit(PRODUCER, {FOO: IN_TXN})
    with pytest.raises(IllegalStateException, match="hasn't been appended to the log"):
        group.complete_pending_txn_offset_commit(PRODUCER, is_commit=True)
    assert group.offset(FOO) is None


def test_another_answer_of_the_log_does_not_complete_a_transactions_commit(group: GroupMetadata) -> None:
    """The producer has committed again meanwhile: only the append of the newer one counts for it."""
    group.prepare_txn_offset_commit(PRODUCER, {FOO: FIRST})
    group.prepare_txn_offset_commit(PRODUCER, {FOO: SECOND})
    group.on_txn_offset_commit_append(PRODUCER, FOO, at(4, SECOND))
    group.on_txn_offset_commit_append(PRODUCER, FOO, at(3, FIRST))
    group.complete_pending_txn_offset_commit(PRODUCER, is_commit=True)
    assert group.offset_with_record_metadata(FOO) == at(4, SECOND)


@pytest.mark.ported("GroupMetadataTest.testHasPendingNonTxnOffsets")
@pytest.mark.ported("GroupMetadataTest.testHasPendingTxnOffsets")
def test_what_is_pending(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    group.prepare_txn_offset_commit(5, {BAR: FIRST})
    assert group.has_pending_offset_commits_for_topic_partition(FOO)
    assert group.has_pending_offset_commits_for_topic_partition(BAR)
    assert not group.has_pending_offset_commits_for_topic_partition(TopicPartition("non-exist", 0))


def test_a_generation_commits_in_one_way(group: GroupMetadata) -> None:
    group.prepare_offset_commit({FOO: FIRST})
    consistent = [group.has_received_consistent_offset_commits]
    group.prepare_txn_offset_commit(PRODUCER, {FOO: FIRST})
    consistent.append(group.has_received_consistent_offset_commits)
    group.transition_to(PreparingRebalance)
    group.init_next_generation()
    consistent.append(group.has_received_consistent_offset_commits)
    assert consistent == [True, False, True]


def test_what_is_removed_is_told(group: GroupMetadata) -> None:
    group.initialize_offsets({FOO: at(1, FIRST), BAR: at(2, SECOND)}, {PRODUCER: {FOO: at(3, SECOND)}})
    assert group.remove_offsets([FOO, TopicPartition("non-exist", 0)]) == {FOO: FIRST}
    assert not group.has_pending_offset_commits_for_topic_partition(FOO)
    assert (group.num_offsets, group.all_offsets) == (1, {BAR: SECOND})
    assert group.remove_all_offsets() == {BAR: SECOND}
    assert group.num_offsets == 0


# -- Expiry (KIP-211)


def commits(group: GroupMetadata, expire_timestamp: int | None = None) -> None:
    """FOO and BAR, both committed at START."""
    committed = OffsetAndMetadata(1, None, "", START, expire_timestamp)
    group.initialize_offsets({FOO: at(1, committed), BAR: at(2, committed)}, {})


def expired(group: GroupMetadata, now: int) -> set[str]:
    return {partition.topic for partition in group.remove_expired_offsets(now, RETENTION)}


def join(group: GroupMetadata, protocol_type: str = PROTOCOL_TYPE) -> None:
    """A member that reads FOO's topic; the group completes its rebalance."""
    said = [("range", subscription(FOO.topic))]
    made = MemberMetadata("memberId", GROUP, None, "c", "h", 60000, 10000, protocol_type, said)
    group.transition_to(PreparingRebalance)
    group.add(made)
    group.init_next_generation()


def test_who_only_commits_keeps_an_offset_for_the_retention_from_the_commit_on(group: GroupMetadata) -> None:
    commits(group)
    assert expired(group, START + RETENTION - 1) == set()
    assert expired(group, START + RETENTION) == {"foo", "bar"}
    assert not group.has_offsets


def empty_since(group: GroupMetadata, timestamp: int | None) -> None:
    """The group had members until then."""
    join(group)
    group.transition_to(PreparingRebalance)
    group.remove("memberId")
    group.init_next_generation()
    assert group.current_state is Empty
    group.current_state_timestamp = timestamp


@pytest.mark.parametrize("since", [START + 700, None], ids=["known", "a record from before KIP-211"])
def test_the_retention_begins_when_the_last_member_leaves(group: GroupMetadata, since: int | None) -> None:
    commits(group)
    empty_since(group, since)
    end = (START if since is None else since) + RETENTION
    assert expired(group, end - 1) == set()
    assert expired(group, end) == {"foo", "bar"}


@pytest.mark.parametrize("empty", [False, True], ids=["who only commits", "a group without members"])
def test_a_time_of_expiry_that_a_client_set_counts_alone(group: GroupMetadata, empty: bool) -> None:
    """As in 1.1.1, where every offset has one."""
    commits(group, expire_timestamp=START + 5 * RETENTION)
    if empty:
        empty_since(group, START)
    assert expired(group, START + 5 * RETENTION - 1) == set()
    assert expired(group, START + 5 * RETENTION) == {"foo", "bar"}


def test_in_a_stable_group_of_consumers_what_nobody_reads_expires(group: GroupMetadata) -> None:
    commits(group)
    join(group)
    group.transition_to(Stable)
    assert expired(group, START + RETENTION - 1) == set()
    assert expired(group, START + 9 * RETENTION) == {"bar"}
    assert group.offset(FOO) is not None


def rebalancing(group: GroupMetadata) -> None:
    join(group)
    assert group.current_state is CompletingRebalance


def other_protocol(group: GroupMetadata) -> None:
    join(group, "connect")
    group.transition_to(Stable)


@pytest.mark.parametrize("become", [rebalancing, other_protocol])
def test_where_nobody_knows_what_is_read_nothing_expires(
    group: GroupMetadata, become: Callable[[GroupMetadata], None]
) -> None:
    """Neither while a group rebalances (KAFKA-13636) nor if its members are no consumers."""
    commits(group)
    become(group)
    assert expired(group, START + 9 * RETENTION) == set()
    assert group.num_offsets == 2


def test_what_is_about_to_be_committed_again_does_not_expire(group: GroupMetadata) -> None:
    commits(group)
    group.prepare_offset_commit({FOO: SECOND})
    assert expired(group, START + 9 * RETENTION) == {"bar"}
    group.on_offset_commit_append(FOO, at(3, SECOND))
    assert group.offset(FOO) == SECOND
