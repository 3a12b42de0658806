"""Log: idempotent and transactional producers."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import (
    OutOfOrderSequenceException,
    ProducerFencedException,
    TransactionCoordinatorFencedException,
)
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import BatchRetention, MemoryRecords, RecordFilter
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from tests.log.log_harness import (
    Logs,
    aborted,
    append_mixed_transactions,
    as_follower,
    as_leader,
    concatenated,
    log_config,
    numbered,
    offsets,
    records_of,
    singleton,
    transactional,
    unstable,
)

ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT


@pytest.mark.ported("LogTest.testNonSequentialAppend")
def test_non_sequential_append(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(1, 0))
    with pytest.raises(OutOfOrderSequenceException):
        as_leader(log, logs.idempotent(1, 2))
    assert offsets(log) == [0]


@pytest.mark.ported("LogTest.testDuplicateAppends")
def test_duplicate_appends(logs: Logs) -> None:
    log = logs.create()
    for sequence in range(6):
        as_leader(log, logs.idempotent(1, sequence))
    first = as_leader(log, logs.idempotent(1, 6, b"a", b"b", b"c"))
    assert (first.first_offset, first.last_offset) == (6, 8)
    logs.time.sleep(10)
    again = as_leader(log, logs.idempotent(1, 6, b"a", b"b", b"c"))
    assert (again.first_offset, again.last_offset, again.log_start_offset) == (6, 8, 0)
    assert log.log_end_offset == 9
    # overlaps the newest batch only in part
    with pytest.raises(OutOfOrderSequenceException):
        as_leader(log, logs.idempotent(1, 7, b"b", b"c"))
    # one of the last five
    assert as_leader(log, logs.idempotent(1, 2)).first_offset == 2
    # the sixth last
    with pytest.raises(OutOfOrderSequenceException):
        as_leader(log, logs.idempotent(1, 1))
    original = as_leader(log, logs.idempotent(1, 9))
    duplicate = as_leader(log, logs.idempotent(1, 9))
    assert (duplicate.first_offset, duplicate.last_offset) == (original.first_offset, original.last_offset)
    assert offsets(log) == list(range(10))


@pytest.mark.ported("LogTest.testDuplicateAppendToFollower")
def test_duplicate_append_to_follower(logs: Logs) -> None:
    log = logs.create()
    for offset in (0, 2):
        as_follower(log, logs.idempotent(1, 0, b"a", b"b", initial_offset=offset))
    assert log.log_end_offset == 4


@pytest.mark.ported("LogTest.testMultipleProducerIdsPerMemoryRecord")
@pytest.mark.ported("LogTest.testMultipleProducersWithDuplicatesInSingleAppend")
def test_many_producers_in_one_follower_append(logs: Logs) -> None:
    log = logs.create()
    batches = [(1, 0), (2, 0), (1, 1), (2, 1), (1, 1)]
    records = concatenated(
        logs.idempotent(pid, sequence, initial_offset=i) for i, (pid, sequence) in enumerate(batches)
    )
    log.append_as_follower(records)
    assert log.log_end_offset == 5
    read = [(b.producer_id(), b.base_sequence()) for b in log.read_uncommitted(0, 10**6).records.batches()]
    assert read == batches
    assert log.active_producers_with_last_sequence() == {1: 1, 2: 1}


@pytest.mark.ported("LogTest.testOldProducerEpoch")
def test_old_producer_epoch(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(1, 0, epoch=1))
    with pytest.raises(ProducerFencedException):
        as_leader(log, logs.idempotent(1, 0, epoch=0))


@pytest.mark.ported("LogTest.testPeriodicProducerIdExpiration")
def test_periodic_producer_id_expiration(logs: Logs) -> None:
    log = logs.create(max_producer_id_expiration_ms=200, producer_id_expiration_check_interval_ms=100)
    as_leader(log, logs.idempotent(23, 0))
    known = []
    for _ in range(2):
        logs.time.sleep(100)
        known.append(set(log.active_producers_with_last_sequence()))
    assert known == [{23}, set()]


@pytest.mark.ported("LogTest.testProducerIdMapOffsetUpdatedForNonIdempotentData")
def test_snapshot_of_plain_data(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, logs.now_record())
    log.take_producer_snapshot()
    assert log.producer_state_manager.latest_snapshot_offset() == 1


@pytest.mark.ported("LogTest.testProducerIdMapTruncateTo")
def test_truncation_and_snapshots(logs: Logs) -> None:
    log = logs.create()
    for _ in range(2):
        as_leader(log, singleton())
    log.take_producer_snapshot()
    as_leader(log, singleton())
    log.take_producer_snapshot()
    log.truncate_to(2)
    assert (log.producer_state_manager.latest_snapshot_offset(), log.producer_state_manager.map_end_offset) == (2, 2)
    log.truncate_to(1)
    assert (log.producer_state_manager.latest_snapshot_offset(), log.producer_state_manager.map_end_offset) == (None, 1)


@pytest.mark.ported("LogTest.testProducerIdMapTruncateToWithNoSnapshots")
def test_truncation_without_snapshots(logs: Logs) -> None:
    log = logs.create()
    for sequence in range(2):
        as_leader(log, logs.idempotent(1, sequence))
    logs.delete_producer_snapshot_files()
    log.truncate_to(1)
    assert log.active_producers_with_last_sequence() == {1: 0}


class WithoutKeys(RecordFilter):
    """Keeps the records that have no key, and what the batches say of their producer."""

    def check_batch_retention(self, batch: RecordBatch) -> BatchRetention:
        return BatchRetention.RETAIN_EMPTY

    def should_retain_record(self, record_batch: RecordBatch, record: Record) -> bool:
        return not record.has_key()


@pytest.mark.ported("LogTest.testUpdateProducerIdMapWithCompactedData")
@pytest.mark.ported("LogTest.testRebuildProducerIdMapWithCompactedData")
@pytest.mark.ported("LogTest.testRebuildProducerStateWithEmptyCompactedBatch")
@pytest.mark.parametrize("keys", [(None, b"k", None, b"k"), (b"k", b"k")], ids=["gaps", "nothing left"])
def test_producer_state_from_compacted_batches(logs: Logs, keys: tuple[bytes | None, ...]) -> None:
    """The last sequence is the batch's, not the one of the last record that compaction left."""
    original = MemoryRecords.with_records(
        *(SimpleRecord(logs.time.milliseconds(), key, b"v") for key in keys),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        initial_offset=23,
        partition_leader_epoch=0,
    )
    compacted = original.filter_to(TopicPartition("foo", 0), WithoutKeys(), 2048, 2**31 - 1).output
    end = 23 + len(keys)
    log = logs.create()
    log.append_as_follower(MemoryRecords.readable_records(compacted))
    assert [offset - 23 for offset in offsets(log)] == [i for i, key in enumerate(keys) if key is None]
    assert log.active_producers_with_last_sequence() == {1: len(keys) - 1}
    as_follower(log, records_of(b"e", b"f", initial_offset=end))
    log.truncate_to(end)  # the state is built again, from the log
    assert log.log_end_offset == end
    assert log.active_producers_with_last_sequence() == {1: len(keys) - 1}


@pytest.mark.ported("LogTest.testLoadProducersAfterDeleteRecordsMidSegment")
@pytest.mark.ported("LogTest.testLoadProducersAfterDeleteRecordsOnSegment")
@pytest.mark.parametrize("roll", [False, True])
def test_producers_after_delete_records(logs: Logs, roll: bool) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(1, 0))
    if roll:
        log.roll()
    as_leader(log, logs.idempotent(2, 0))
    log.maybe_increment_log_start_offset(1)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == 1
    assert log.active_producers_with_last_sequence() == {2: 0}
    log.close()
    assert logs.create(log_start_offset=1).active_producers_with_last_sequence() == {2: 0}


@pytest.mark.ported("LogTest.testProducerIdMapTruncateFullyAndStartAt")
def test_truncate_fully_forgets_producers(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=singleton().size_in_bytes()))
    for i in range(3):
        as_leader(log, singleton())
        if i != 1:
            log.take_producer_snapshot()
    assert (log.producer_state_manager.map_end_offset, log.producer_state_manager.latest_snapshot_offset()) == (3, 3)
    log.truncate_fully_and_start_at(29)
    assert log.number_of_segments == 1
    assert (log.producer_state_manager.map_end_offset, log.producer_state_manager.latest_snapshot_offset()) == (
        29,
        None,
    )


@pytest.mark.ported("LogTest.testProducerIdExpirationOnSegmentDeletion")
def test_producers_go_with_their_segments(logs: Logs) -> None:
    size = logs.idempotent(1, 0).size_in_bytes()
    log = logs.create(log_config(segment_bytes=size, retention_bytes=size * 2))
    for pid, sequence in ((1, 0), (2, 0), (2, 1)):
        as_leader(log, logs.idempotent(pid, sequence))
    assert set(log.active_producers_with_last_sequence()) == {1, 2}
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == 2
    assert set(log.active_producers_with_last_sequence()) == {2}


@pytest.mark.ported("LogTest.testTakeSnapshotOnRollAndDeleteSnapshotOnRecoveryPointCheckpoint")
def test_snapshots_on_roll(logs: Logs) -> None:
    log = logs.create()
    states = log.producer_state_manager
    for i in range(1, 4):
        as_leader(log, singleton())
        log.roll(i)
        assert (states.latest_snapshot_offset(), states.oldest_snapshot_offset()) == (i, 1)
    # one for each of the last two segments stays
    log.delete_snapshots_after_recovery_point_checkpoint()
    assert states.oldest_snapshot_offset() == 2
    as_leader(log, singleton())
    log.flush(4)
    assert (states.latest_snapshot_offset(), states.oldest_snapshot_offset()) == (3, 2)


@pytest.mark.ported("LogTest.testProducerSnapshotAfterSegmentRollOnAppend")
def test_snapshot_of_a_roll_does_not_hold_the_append_that_caused_it(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=1024))
    for sequence in range(2):
        as_leader(log, logs.idempotent(1, sequence, bytes(512)))
    assert (log.number_of_segments, log.active_segment.base_offset) == (2, 1)
    assert log.producer_state_manager.latest_snapshot_offset() == 1
    log.truncate_to(1)
    assert (log.number_of_segments, log.active_segment.size) == (2, 0)
    entry = log.producer_state_manager.last_entry(1)
    assert entry is not None
    assert (entry.first_offset, entry.last_data_offset) == (0, 0)


# ---- transactions


@pytest.mark.ported("LogTest.testFirstUnstableOffsetNoTransactionalData")
def test_plain_data_is_stable(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, records_of(b"foo", b"bar"))
    assert log.first_unstable_offset is None


@pytest.mark.ported("LogTest.testFirstUnstableOffsetWithTransactionalData")
def test_first_unstable_offset(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, singleton())
    append = transactional(log, 137, 5)
    append(3)
    assert unstable(log) == 1
    assert log.first_unstable_offset is not None
    assert log.first_unstable_offset.relative_position_in_segment == singleton().size_in_bytes()
    append(1)
    assert unstable(log) == 1
    commit = as_leader(log, logs.end_txn(COMMIT, 137, 5), from_client=False)
    assert unstable(log) == 1  # the marker is not replicated yet
    log.on_high_watermark_incremented(commit.last_offset + 1)
    assert unstable(log) is None


@pytest.mark.ported("LogTest.testLastStableOffsetWithMixedProducerData")
def test_last_stable_offset_with_mixed_producers(logs: Logs) -> None:
    log = logs.create()
    one, two = transactional(log, 137, 5), transactional(log, 983, 5)
    one(3)
    as_leader(log, records_of(b"g", b"h", b"i"))
    two(3)
    assert unstable(log) == 0
    info = as_leader(log, logs.end_txn(ABORT, 137, 5), from_client=False)
    log.on_high_watermark_incremented(info.last_offset + 1)
    assert unstable(log) == 6
    info = as_leader(log, logs.end_txn(COMMIT, 983, 5), from_client=False)
    log.on_high_watermark_incremented(info.last_offset + 1)
    assert unstable(log) is None


@pytest.mark.ported("LogTest.testTransactionIndexUpdated")
def test_transaction_index_updated(logs: Logs) -> None:
    log = logs.create()
    assert append_mixed_transactions(logs, log) == aborted(log)
    assert log.collect_aborted_transactions(0, 100) == aborted(log)
    assert [t.producer_id for t in log.collect_aborted_transactions(30, 100)] == [2]


@pytest.mark.ported("LogTest.testTransactionIndexUpdatedThroughReplication")
def test_transaction_index_updated_through_replication(logs: Logs) -> None:
    sequences = dict.fromkeys((1, 2, 3, 4), 0)
    parts: list[MemoryRecords] = []
    offset = 0
    for pid, what in (
        (1, 5), (0, 3), (2, 2), (1, 4), (3, 3), (0, 2), (1, 10), (1, ABORT), (2, 6), (4, 3), (0, 10), (3, 9),
        (3, COMMIT), (4, 8), (2, 7), (2, ABORT), (0, 10), (4, 4), (4, COMMIT),
    ):  # fmt: skip
        if isinstance(what, ControlRecordType):
            parts.append(logs.end_txn(what, pid, 0, offset=offset))
            offset += 1
            continue
        if pid:
            parts.append(
                MemoryRecords.with_transactional_records(
                    *numbered(what),
                    producer_id=pid,
                    producer_epoch=0,
                    base_sequence=sequences[pid],
                    initial_offset=offset,
                )
            )
            sequences[pid] += what
        else:
            parts.append(MemoryRecords.with_records(*numbered(what), initial_offset=offset))
        offset += what
    log = logs.create()
    log.append_as_follower(concatenated(parts))
    assert [(t.producer_id, t.first_offset, t.last_offset, t.last_stable_offset) for t in aborted(log)] == [
        (1, 0, 29, 8),
        (2, 8, 74, 36),
    ]


@pytest.mark.ported("LogTest.testZombieCoordinatorFenced")
def test_zombie_coordinator_fenced(logs: Logs) -> None:
    log = logs.create()
    append = transactional(log, 1, 0)
    append(10)
    as_leader(log, logs.end_txn(ABORT, 1, 0, coordinator_epoch=1), from_client=False)
    append(5)
    as_leader(log, logs.end_txn(COMMIT, 1, 0, coordinator_epoch=2), from_client=False)
    end = log.log_end_offset
    with pytest.raises(TransactionCoordinatorFencedException):
        as_leader(log, logs.end_txn(ABORT, 1, 0, coordinator_epoch=1), from_client=False)
    assert log.log_end_offset == end


@pytest.mark.parametrize(("producer_epoch", "coordinator_epoch"), [(4, 7), (5, 6)], ids=["producer", "coordinator"])
def test_a_follower_takes_the_markers_that_its_leader_took(
    logs: Logs, producer_epoch: int, coordinator_epoch: int
) -> None:
    """The leader may have forgotten the producer when the marker of a zombie came, and the follower not yet."""
    log = logs.create()
    as_follower(log, logs.idempotent(1, 0, epoch=5, transactional=True))
    as_follower(log, logs.end_txn(COMMIT, 1, 5, coordinator_epoch=7, offset=1))
    zombie = logs.end_txn(ABORT, 1, producer_epoch, coordinator_epoch, offset=2)
    with pytest.raises((ProducerFencedException, TransactionCoordinatorFencedException)):
        as_leader(log, logs.end_txn(ABORT, 1, producer_epoch, coordinator_epoch), from_client=False)
    as_follower(log, zombie)
    assert log.log_end_offset == 3
    logs.crash(log)
    assert logs.create().log_end_offset == 3, "nor does it keep the log from being recovered"
    logs.delete_producer_snapshot_files()
    logs.mark_clean_shutdown()
    assert logs.create().log_end_offset == 3


def test_a_follower_takes_emptied_control_batches(logs: Logs) -> None:
    """Brokers from 2.x on may leave one, for the epoch of a producer."""
    log = logs.create()
    out = ByteBufferOutputStream()
    DefaultRecordBatch.write_empty_header(out, 2, 1, 0, -1, 0, 0, 0, TimestampType.CREATE_TIME, 5, True, True)
    log.append_as_follower(MemoryRecords(out.buffer))
    assert (log.log_end_offset, unstable(log)) == (1, None)
    logs.crash(log)
    assert logs.create().log_end_offset == 1


@pytest.mark.ported("LogTest.testFirstUnstableOffsetDoesNotExceedLogStartOffsetMidSegment")
@pytest.mark.ported("LogTest.testFirstUnstableOffsetDoesNotExceedLogStartOffsetAfterSegmentDeletion")
@pytest.mark.parametrize(("start", "segments"), [(5, 2), (8, 1)])
def test_first_unstable_offset_is_not_below_the_log_start(logs: Logs, start: int, segments: int) -> None:
    log = logs.create()
    append = transactional(log, 1, 0)
    append(5)
    as_leader(log, MemoryRecords.with_records(*numbered(3)))
    log.roll()
    append(5)
    assert unstable(log) == 0
    log.maybe_increment_log_start_offset(start)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == segments
    assert unstable(log) == start


@pytest.mark.ported("LogTest.testAbortedTransactionSpanningMultipleSegments")
def test_aborted_transaction_spanning_segments(logs: Logs) -> None:
    size = MemoryRecords.with_transactional_records(
        *numbered(3), producer_id=1, producer_epoch=0, base_sequence=0
    ).size_in_bytes()
    log = logs.create(log_config(segment_bytes=size))
    append = transactional(log, 137, 5)
    append(3)
    append(3)
    assert log.log_end_offset_metadata.segment_base_offset == 3
    assert unstable(log) == 0
    info = as_leader(log, logs.end_txn(ABORT, 137, 5), from_client=False)
    log.on_high_watermark_incremented(info.last_offset + 1)
    assert unstable(log) is None
    fetched = log.read(0, 2048, isolation_level=IsolationLevel.READ_COMMITTED).aborted_transactions
    assert fetched is not None
    assert [(t.producer_id, t.first_offset) for t in fetched] == [(137, 0)]
