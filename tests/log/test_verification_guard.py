"""A transaction begins in a log only with the guard of the question that its coordinator has answered."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import InvalidTxnStateException, OutOfOrderSequenceException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.log.log import Log
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.verification_guard import VerificationGuard, VerificationStateEntry
from tests.log.log_harness import Logs, as_leader, numbered

SENTINEL = VerificationGuard.SENTINEL
PID = 7


def batch(sequence: int, epoch: int = 0) -> MemoryRecords:
    return MemoryRecords.with_records(
        *numbered(1), producer_id=PID, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
    )


def write(log: Log, sequence: int, guard: VerificationGuard | None, **options: int) -> LogAppendInfo:
    return log.append_as_leader(batch(sequence, **options), 0, verification_guard=guard)


@pytest.mark.ported("VerificationGuardTest.testEqualsAndHashCode")
@pytest.mark.ported("VerificationGuardTest.testVerify")
def test_a_guard_is_equal_to_itself_only() -> None:
    one, other = VerificationGuard(), VerificationGuard()
    assert len({one, other, SENTINEL}) == 3
    assert one != other
    assert one.verify(one)
    assert not one.verify(other)
    assert not one.verify(SENTINEL)
    assert not SENTINEL.verify(SENTINEL)
    assert repr(SENTINEL) == "VerificationGuard(value=0)"


def test_the_lowest_sequence_of_the_highest_epoch() -> None:
    entry = VerificationStateEntry(0, 5, 1)
    seen = []
    for sequence, epoch in ((6, 1), (3, 1), (4, 0), (8, 2), (9, 2)):
        entry.maybe_update_lowest_sequence_and_epoch(sequence, epoch)
        seen.append((entry.lowest_sequence, entry.epoch))
    assert seen == [(5, 1), (3, 1), (3, 1), (8, 2), (8, 2)]


@pytest.mark.ported("UnifiedLogTest.testTransactionIsOngoingAndVerificationGuard")
def test_the_guard_goes_with_the_first_batch_and_with_the_marker(logs: Logs) -> None:
    log = logs.create()
    manager = log.producer_state_manager
    guard = log.maybe_start_transaction_verification(PID, 0, 0)
    assert guard != SENTINEL
    assert log.maybe_start_transaction_verification(PID, 0, 0) == guard
    write(log, 0, guard)
    assert manager.has_ongoing_transaction(PID)
    assert manager.verification_state_entry(PID) is None
    assert log.maybe_start_transaction_verification(PID, 1, 0) == SENTINEL
    write(log, 1, SENTINEL)
    as_leader(log, logs.end_txn(ControlRecordType.COMMIT, PID, 0), from_client=False)
    assert not manager.has_ongoing_transaction(PID)
    with pytest.raises(InvalidTxnStateException, match="not part of an ongoing transaction"):
        write(log, 2, SENTINEL)
    with pytest.raises(InvalidTxnStateException):
        write(log, 2, guard)
    assert log.maybe_start_transaction_verification(PID, 2, 0) not in (SENTINEL, guard)


@pytest.mark.ported("UnifiedLogTest.testEmptyTransactionStillClearsVerificationGuard")
def test_an_answer_that_comes_after_the_abort_begins_nothing(logs: Logs) -> None:
    """KAFKA-14402: the late batch became part of the next transaction, or of none that anybody knew."""
    log = logs.create()
    guard = log.maybe_start_transaction_verification(PID, 0, 0)
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, PID, 0), from_client=False)
    next_guard = log.maybe_start_transaction_verification(PID, 0, 0)
    assert next_guard != guard
    with pytest.raises(InvalidTxnStateException):
        write(log, 0, guard)
    assert log.log_end_offset == 1
    write(log, 0, next_guard)


@pytest.mark.ported("UnifiedLogTest.testEnablingVerificationWhenRequestIsAtLogLayer")
@pytest.mark.ported("UnifiedLogTest.testDisabledVerificationClearsVerificationGuard")
def test_without_a_guard_nobody_asks(logs: Logs) -> None:
    log = logs.create()
    log.maybe_start_transaction_verification(PID, 0, 0)
    write(log, 0, None)
    assert log.producer_state_manager.verification_state_entry(PID) is None


@pytest.mark.ported("UnifiedLogTest.testAllowNonZeroSequenceOnFirstAppendNonZeroEpoch", changes="a higher one waits")
def test_a_higher_sequence_waits_for_the_lowest(logs: Logs) -> None:
    log = logs.create()
    log.maybe_start_transaction_verification(PID, 0, 0)
    guard = log.maybe_start_transaction_verification(PID, 1, 0)
    with pytest.raises(OutOfOrderSequenceException, match="earliest seen sequence"):
        write(log, 1, guard)
    write(log, 0, guard)
    write(log, 1, SENTINEL)
    assert log.log_end_offset == 2


def test_a_question_that_nobody_needed_is_forgotten(logs: Logs) -> None:
    log = logs.create(max_producer_id_expiration_ms=100)
    log.maybe_start_transaction_verification(PID, 0, 0)
    manager = log.producer_state_manager
    manager.remove_expired_producers(logs.time.milliseconds() + 99)
    assert manager.verification_state_entry(PID) is not None
    manager.remove_expired_producers(logs.time.milliseconds() + 100)
    assert manager.verification_state_entry(PID) is None
