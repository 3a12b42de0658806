"""What a transaction may become, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.common.errors import IllegalArgumentException, IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_metadata import (
    VALID_PREVIOUS_STATES,
    CompleteAbort,
    CompleteCommit,
    Dead,
    Empty,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    PrepareEpochFence,
    TransactionMetadata,
    TransactionState,
    TxnTransitMetadata,
)

NOW = 1_500_000_000_000
PRODUCER_ID = 23423
SHORT_MAX = 32767
EPOCH = 735
TOPIC1 = TopicPartition("topic1", 0)
TOPIC2 = TopicPartition("topic2", 0)


def metadata(
    state: TransactionState = Empty, epoch: int = 1, last_epoch: int = -1, start: int = -1, last_id: int = -1
) -> TransactionMetadata:
    return TransactionMetadata("txnlId", PRODUCER_ID, last_id, epoch, last_epoch, 30000, state, (), start, NOW)


def step(made: TransactionMetadata, transit: TxnTransitMetadata | Errors) -> None:
    assert isinstance(transit, TxnTransitMetadata)
    made.complete_transition_to(transit)


def ids(made: TransactionMetadata) -> tuple[int, int, int]:
    return made.producer_id, made.producer_epoch, made.last_producer_epoch


def times(made: TransactionMetadata) -> tuple[int, int]:
    """Start and last update, as they differ from now."""
    return made.txn_start_timestamp - NOW, made.txn_last_update_timestamp - NOW


@pytest.mark.ported("TransactionMetadataTest.testInitializeEpoch")
def test_the_first_epoch_is_0() -> None:
    made = metadata(epoch=-1)
    step(made, made.prepare_increment_producer_epoch(30000, None, NOW))
    assert ids(made) == (PRODUCER_ID, 0, -1)


@pytest.mark.ported("TransactionMetadataTest.testNormalEpochBump")
def test_a_producer_that_starts_takes_the_next_epoch() -> None:
    made = metadata(epoch=EPOCH, last_epoch=EPOCH - 1)
    step(made, made.prepare_increment_producer_epoch(20000, None, NOW))
    assert ids(made) == (PRODUCER_ID, EPOCH + 1, -1)
    assert made.txn_timeout_ms == 20000


@pytest.mark.ported("TransactionMetadataTest.testBumpEpochNotAllowedIfEpochsExhausted")
def test_the_last_epoch_is_not_given_out() -> None:
    made = metadata(epoch=SHORT_MAX - 1)
    assert made.is_producer_epoch_exhausted
    with pytest.raises(IllegalStateException, match="any more producer epochs for producerId 23423"):
        made.prepare_increment_producer_epoch(30000, None, NOW)
    assert not TransactionMetadata.is_epoch_exhausted(SHORT_MAX - 2)


@pytest.mark.ported("TransactionMetadataTest.testAttemptedEpochBumpWithNewlyCreatedMetadata")
def test_an_expected_epoch_does_not_matter_to_an_id_without_one() -> None:
    made = metadata(epoch=-1)
    step(made, made.prepare_increment_producer_epoch(30000, EPOCH, NOW))
    assert ids(made) == (PRODUCER_ID, 0, -1)


@pytest.mark.ported("TransactionMetadataTest.testEpochBumpWithCurrentEpochProvided")
def test_a_producer_that_goes_on_after_an_error_takes_the_next_epoch() -> None:
    made = metadata(epoch=EPOCH)
    step(made, made.prepare_increment_producer_epoch(30000, EPOCH, NOW))
    assert ids(made) == (PRODUCER_ID, EPOCH + 1, EPOCH)


@pytest.mark.ported("TransactionMetadataTest.testAttemptedEpochBumpWithLastEpoch")
def test_a_repeated_request_gets_what_the_first_one_got() -> None:
    made = metadata(epoch=EPOCH, last_epoch=EPOCH - 1)
    step(made, made.prepare_increment_producer_epoch(30000, EPOCH - 1, NOW))
    assert ids(made) == (PRODUCER_ID, EPOCH, EPOCH - 1)


@pytest.mark.ported("TransactionMetadataTest.testAttemptedEpochBumpWithFencedEpoch")
def test_a_fenced_producer_gets_no_epoch() -> None:
    made = metadata(epoch=EPOCH, last_epoch=EPOCH - 1, last_id=PRODUCER_ID)
    assert made.prepare_increment_producer_epoch(30000, EPOCH - 2, NOW) is Errors.INVALID_PRODUCER_EPOCH
    assert not made.pending_transition_in_progress


@pytest.mark.ported("TransactionMetadataTest.testTolerateUpdateTimeShiftDuringEpochBump")
def test_the_clock_may_go_back_while_an_epoch_is_taken() -> None:
    made = metadata(start=1)
    step(made, made.prepare_increment_producer_epoch(30000, 1, NOW - 1))
    assert ids(made) == (PRODUCER_ID, 2, 1)
    assert made.txn_start_timestamp == 1
    assert made.txn_last_update_timestamp == NOW - 1


@pytest.mark.ported("TransactionMetadataTest.testTolerateUpdateTimeResetDuringProducerIdRotation")
@pytest.mark.ported("TransactionMetadataTest.testRotateProducerId")
@pytest.mark.parametrize(("remembered", "last_epoch"), [(True, SHORT_MAX - 1), (False, -1)])
def test_another_producer_id_begins_at_epoch_0(remembered: bool, last_epoch: int) -> None:
    made = metadata(epoch=SHORT_MAX - 1, start=1)
    step(made, made.prepare_producer_id_rotation(9893, 30000, NOW - 1, remembered))
    assert ids(made) == (9893, 0, last_epoch)
    assert made.last_producer_id == PRODUCER_ID
    assert made.txn_start_timestamp == 1
    assert made.txn_last_update_timestamp == NOW - 1


@pytest.mark.ported("TransactionMetadataTest.testRotateProducerIdInOngoingState")
@pytest.mark.ported("TransactionMetadataTest.testRotateProducerIdInPrepareAbortState")
@pytest.mark.ported("TransactionMetadataTest.testRotateProducerIdInPrepareCommitState")
@pytest.mark.parametrize("state", [Ongoing, PrepareAbort, PrepareCommit])
def test_the_producer_id_stays_while_a_transaction_is_open(state: TransactionState) -> None:
    made = metadata(state, epoch=SHORT_MAX - 1, last_id=PRODUCER_ID)
    with pytest.raises(IllegalStateException, match="Cannot rotate producer ids"):
        made.prepare_producer_id_rotation(9893, 30000, NOW, False)


@pytest.mark.ported("TransactionMetadataTest.testTolerateTimeShiftDuringAddPartitions")
def test_the_first_partition_starts_the_transaction() -> None:
    made = metadata(start=NOW)
    step(made, made.prepare_add_partitions({TOPIC1}, NOW - 1))
    assert made.topic_partitions == {TOPIC1}
    assert ids(made) == (PRODUCER_ID, 1, -1)
    assert times(made) == (-1, -1)
    step(made, made.prepare_add_partitions({TOPIC2}, NOW - 2))
    assert made.topic_partitions == {TOPIC1, TOPIC2}
    assert times(made) == (-1, -2)


@pytest.mark.ported("TransactionMetadataTest.testTolerateTimeShiftDuringPrepareCommit")
@pytest.mark.ported("TransactionMetadataTest.testTolerateTimeShiftDuringPrepareAbort")
@pytest.mark.parametrize("outcome", [PrepareCommit, PrepareAbort])
def test_the_clock_may_go_back_before_an_outcome(outcome: TransactionState) -> None:
    made = metadata(Ongoing, start=1)
    step(made, made.prepare_abort_or_commit(outcome, NOW - 1))
    assert made.state is outcome
    assert ids(made) == (PRODUCER_ID, 1, -1)
    assert made.txn_start_timestamp == 1
    assert made.txn_last_update_timestamp == NOW - 1


@pytest.mark.ported("TransactionMetadataTest.testTolerateTimeShiftDuringCompleteCommit")
@pytest.mark.ported("TransactionMetadataTest.testTolerateTimeShiftDuringCompleteAbort")
@pytest.mark.parametrize(("before", "after"), [(PrepareCommit, CompleteCommit), (PrepareAbort, CompleteAbort)])
def test_the_clock_may_go_back_before_the_end(before: TransactionState, after: TransactionState) -> None:
    made = metadata(before, start=1)
    made.add_partitions({TOPIC1})
    step(made, made.prepare_complete(NOW - 1))
    assert made.state is after
    assert ids(made) == (PRODUCER_ID, 1, -1)
    assert made.txn_start_timestamp == 1
    assert made.txn_last_update_timestamp == NOW - 1
    assert made.topic_partitions == set()


@pytest.mark.ported("TransactionMetadataTest.testFenceProducerAfterEpochsExhausted")
def test_one_epoch_is_kept_to_fence_with() -> None:
    made = metadata(Ongoing, epoch=SHORT_MAX - 1)
    fencing = made.prepare_fence_producer_epoch()
    assert fencing.producer_epoch == SHORT_MAX
    assert fencing.last_producer_epoch == -1
    assert made.pending_state is PrepareEpochFence
    made.pending_state = None  # as the coordinator does before it aborts
    transit = made.prepare_abort_or_commit(PrepareAbort, NOW)
    made.complete_transition_to(transit)
    assert transit.producer_id == PRODUCER_ID


@pytest.mark.ported("TransactionMetadataTest.testFenceProducerNotAllowedIfItWouldOverflow")
def test_no_epoch_is_left_to_fence_with() -> None:
    with pytest.raises(IllegalStateException, match="would overflow"):
        metadata(Ongoing, epoch=SHORT_MAX).prepare_fence_producer_epoch()


def test_a_fencing_that_failed_does_not_take_another_epoch() -> None:
    made = metadata(Ongoing, epoch=5)
    assert made.prepare_fence_producer_epoch().producer_epoch == 6
    made.producer_epoch, made.pending_state, made.has_failed_epoch_fence = 6, None, True
    assert made.prepare_fence_producer_epoch().producer_epoch == 6
    made.pending_state = None
    step(made, made.prepare_abort_or_commit(PrepareAbort, NOW))
    made.txn_start_timestamp = 1
    step(made, made.prepare_complete(NOW))
    assert not made.has_failed_epoch_fence
    step(made, made.prepare_add_partitions({TOPIC1}, NOW))
    assert made.prepare_fence_producer_epoch().producer_epoch == 7


def test_a_second_step_waits_for_the_first() -> None:
    made = metadata()
    made.prepare_add_partitions({TOPIC1}, NOW)
    assert made.pending_transition_in_progress
    with pytest.raises(IllegalStateException, match="to Dead while it already a pending state Ongoing"):
        made.prepare_dead()


@pytest.mark.parametrize("before", VALID_PREVIOUS_STATES)
@pytest.mark.parametrize("after", VALID_PREVIOUS_STATES)
def test_only_steps_of_the_table_are_prepared(before: TransactionState, after: TransactionState) -> None:
    made = metadata(before)
    if TransactionMetadata.is_valid_transition(before, after):
        assert made.prepare_abort_or_commit(after, NOW).txn_state is after
        assert made.pending_state is after
    else:
        with pytest.raises(IllegalStateException, match="is not a valid previous state of the current state"):
            made.prepare_abort_or_commit(after, NOW)
        assert made.pending_state is None


def test_ids_and_epochs_below_0_are_refused_but_to_expire() -> None:
    made = TransactionMetadata.apply("t", -1, 0, 1000, NOW)
    with pytest.raises(IllegalArgumentException, match="Illegal new producer id -1"):
        made.prepare_add_partitions({TOPIC1}, NOW)
    made = TransactionMetadata.apply("t", 1, -1, 1000, NOW)
    with pytest.raises(IllegalArgumentException, match="Illegal new producer epoch -1"):
        made.prepare_add_partitions({TOPIC1}, NOW)
    assert made.prepare_dead().producer_epoch == -1


def opened(state: TransactionState) -> TransactionMetadata:
    made = metadata(state, start=NOW)
    made.add_partitions(() if state is Empty else {TOPIC1})
    return made


STEPS: list[tuple[TransactionState, Any]] = [
    (Empty, lambda made: made.prepare_increment_producer_epoch(30000, None, NOW)),
    (Ongoing, lambda made: made.prepare_add_partitions({TOPIC2}, NOW)),
    (Ongoing, lambda made: made.prepare_abort_or_commit(PrepareCommit, NOW)),
    (PrepareCommit, lambda made: made.prepare_complete(NOW)),
]


@pytest.mark.parametrize(("state", "prepare"), STEPS)
@pytest.mark.parametrize(
    "change",
    [
        {"producer_epoch": 9},
        {"producer_epoch": 9, "producer_id": 4},
        {"txn_state": CompleteAbort},
        {"txn_timeout_ms": 1, "txn_start_timestamp": 7, "topic_partitions": frozenset({TopicPartition("other", 1)})},
    ],
)
def test_what_does_not_follow_is_not_taken_over(state: TransactionState, prepare: Any, change: dict[str, Any]) -> None:
    made = opened(state)
    transit = prepare(made)
    with pytest.raises(IllegalStateException, match="due to unexpected metadata"):
        made.complete_transition_to(transit._replace(**change))
    assert made.state is state
    assert made.pending_state is transit.txn_state
    made.complete_transition_to(transit)
    assert made.state is transit.txn_state


def test_an_outcome_has_the_partitions_of_the_transaction_and_an_end_its_start() -> None:
    made = opened(Ongoing)
    transit = made.prepare_abort_or_commit(PrepareAbort, NOW)
    for change in ({"topic_partitions": frozenset({TOPIC1, TOPIC2})}, {"txn_start_timestamp": 7}):
        with pytest.raises(IllegalStateException):
            made.complete_transition_to(transit._replace(**change))
    made.complete_transition_to(transit)
    transit = made.prepare_complete(NOW)
    with pytest.raises(IllegalStateException):
        made.complete_transition_to(transit._replace(txn_start_timestamp=-1))


def test_nothing_pending_nothing_dead_and_no_fence_is_taken_over() -> None:
    made = opened(Ongoing)
    with pytest.raises(IllegalStateException, match="does not have a pending state"):
        made.complete_transition_to(made.prepare_no_transit())
    fence = made.prepare_fence_producer_epoch()
    with pytest.raises(IllegalStateException, match="failed transition to state TxnTransitMetadata"):
        made.complete_transition_to(fence)
    made = opened(Empty)
    with pytest.raises(IllegalStateException, match="trying to complete a transition to Dead"):
        made.complete_transition_to(made.prepare_dead())


def test_partitions_go_only_while_markers_are_written() -> None:
    made = opened(Ongoing)
    with pytest.raises(IllegalStateException, match="current state is Ongoing, and its pending state is None"):
        made.remove_partition(TOPIC1)
    made.state = PrepareAbort
    made.remove_partition(TOPIC1)
    made.remove_partition(TOPIC1)
    assert made.topic_partitions == set()


def test_states_have_the_bytes_of_the_log() -> None:
    assert [TransactionMetadata.byte_to_state(byte).name for byte in range(8)] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    with pytest.raises(IllegalStateException, match="Unknown transaction state byte 8 "):
        TransactionMetadata.byte_to_state(8)
    assert {state for state in VALID_PREVIOUS_STATES if state.is_expiration_allowed} == VALID_PREVIOUS_STATES[Dead]


def test_equal_ones_and_the_words_of_the_log() -> None:
    made, same = opened(Ongoing), opened(Ongoing)
    same.pending_state, same.last_producer_id = PrepareCommit, 5
    assert made == same
    same.last_producer_epoch = 0
    assert made != same
    assert made.in_lock(made.lock.is_held_by_current_thread)
    assert str(made) == (
        "TransactionMetadata(transactionalId=txnlId, producerId=23423, producerEpoch=1, txnTimeoutMs=30000, "
        f"state=Ongoing, pendingState=None, topicPartitions=Set(topic1-0), txnStartTimestamp={NOW}, "
        f"txnLastUpdateTimestamp={NOW})"
    )
    assert str(made.prepare_no_transit()) == (
        "TxnTransitMetadata(producerId=23423, lastProducerId=-1, producerEpoch=1, lastProducerEpoch=-1, "
        f"txnTimeoutMs=30000, txnState=Ongoing, topicPartitions=Set(topic1-0), txnStartTimestamp={NOW}, "
        f"txnLastUpdateTimestamp={NOW})"
    )
