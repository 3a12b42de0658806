"""Compaction of transactions: markers, aborted records, and the last batches of producers."""

from __future__ import annotations

import struct

import pytest

from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.crc32c import Crc32C
from kafka_py.log.cleaned_transaction_metadata import CleanedTransactionMetadata
from kafka_py.log.transaction_index import AbortedTxn
from tests.log.cleaner_support import (
    LONG_MAX,
    all_records,
    cleaner_config,
    end_txn,
    key,
    keys_in_log,
    last_offsets_per_batch,
    last_sequences,
    make_cleaner,
    offsets_in_log,
    producer,
    record,
    to_clean,
)
from tests.log.log_harness import Logs, as_leader


@pytest.mark.ported("LogCleanerTest.testBasicTransactionAwareCleaning")
def test_aborted_records_go_at_once(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=2048))
    one, two = (producer(logs, log, pid, transactional=True) for pid in (1, 2))
    one(1, 2)
    two(2, 3)
    one(3, 4)
    end_txn(logs, log, 1, commit=False)
    end_txn(logs, log, 2, commit=True)
    one(2)
    end_txn(logs, log, 1, commit=True)
    aborted = log.collect_aborted_transactions(0, log.log_end_offset)
    log.roll()
    make_cleaner(logs.time).clean(to_clean(log))
    assert keys_in_log(log) == [3, 2]
    assert offsets_in_log(log) == [3, 6, 7, 8, 9]
    assert log.collect_aborted_transactions(0, log.log_end_offset) == aborted != []


@pytest.mark.ported("LogCleanerTest.testCleanWithTransactionsSpanningSegments")
def test_transactions_that_span_segments(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    cleaner = make_cleaner(logs.time)
    one, two, three = (producer(logs, log, pid, transactional=True) for pid in (1, 2, 3))
    one(1, 2)
    three(2, 3)
    two(3, 4)
    log.roll()
    two(5, 6)
    three(6, 7)
    one(7, 8)
    end_txn(logs, log, 2, commit=False)
    three(8, 9)
    end_txn(logs, log, 3, commit=True)
    one(9, 10)
    end_txn(logs, log, 1, commit=False)
    dirty, _ = cleaner.clean(to_clean(log))
    assert keys_in_log(log) == [2, 3, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    log.roll()
    two(11)
    one(12)
    cleaner.clean(to_clean(log, dirty))
    assert keys_in_log(log) == [2, 3, 6, 7, 8, 9, 11, 12]


@pytest.mark.ported("LogCleanerTest.testCommitMarkerRemoval")
def test_commit_marker_removal(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=256))
    cleaner = make_cleaner(logs.time)
    append = producer(logs, log, 1, transactional=True)
    append(1)
    append(2, 3)
    end_txn(logs, log, 1, commit=True)
    append(2)
    end_txn(logs, log, 1, commit=True)
    log.roll()
    # there are still records of that transaction
    dirty, _ = cleaner.do_clean(to_clean(log, 0, 100), LONG_MAX)
    assert keys_in_log(log) == [1, 3, 2]
    assert offsets_in_log(log) == [0, 2, 3, 4, 5]
    append(1, 3)
    end_txn(logs, log, 1, commit=True)
    log.roll()
    dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [2, 1, 3]
    assert offsets_in_log(log) == [3, 4, 5, 6, 7, 8]
    # there are none, but it is too early
    dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), 0)
    assert offsets_in_log(log) == [3, 4, 5, 6, 7, 8]
    cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [2, 1, 3]
    assert offsets_in_log(log) == [4, 5, 6, 7, 8]


@pytest.mark.ported("LogCleanerTest.testDeletedBatchesWithNoMessagesRead")
def test_batches_deleted_without_being_read(logs: Logs) -> None:
    log = logs.create(cleaner_config(max_message_bytes=100, segment_bytes=1000))
    cleaner = make_cleaner(logs.time, max_message_size=100)
    append = producer(logs, log, 1, transactional=True)
    append(1)
    end_txn(logs, log, 1, commit=False)
    append(2)
    append(2)
    end_txn(logs, log, 1, commit=True)
    log.roll()
    for left in ([1, 3, 4], [3, 4]):
        cleaner.do_clean(to_clean(log, 0, 100), LONG_MAX)
        assert keys_in_log(log) == [2]
        assert offsets_in_log(log) == left


@pytest.mark.ported("LogCleanerTest.testCommitMarkerRetentionWithEmptyBatch")
def test_an_empty_batch_keeps_its_commit_marker(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=256))
    cleaner = make_cleaner(logs.time)
    append = producer(logs, log, 1, transactional=True)
    append(2, 3)
    end_txn(logs, log, 1, commit=True)
    log.roll()
    as_leader(log, record(2, 2))
    as_leader(log, record(3, 3))
    log.roll()
    dirty = 0
    for _ in range(2):  # the batch with the last sequence number stays, and its marker with it
        dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
        assert keys_in_log(log) == [2, 3]
        assert offsets_in_log(log) == [2, 3, 4]
        assert last_offsets_per_batch(log) == [1, 2, 3, 4]
    append(1)
    log.roll()
    dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [2, 3, 1]
    assert offsets_in_log(log) == last_offsets_per_batch(log) == [2, 3, 4, 5]
    cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [2, 3, 1]
    assert offsets_in_log(log) == last_offsets_per_batch(log) == [3, 4, 5]


@pytest.mark.ported("LogCleanerTest.testAbortMarkerRemoval")
def test_abort_marker_removal(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=256))
    cleaner = make_cleaner(logs.time)
    append = producer(logs, log, 1, transactional=True)
    append(1)
    append(2, 3)
    end_txn(logs, log, 1, commit=False)
    append(3)
    end_txn(logs, log, 1, commit=True)
    log.roll()
    dirty, _ = cleaner.do_clean(to_clean(log, 0, 100), 0)
    assert keys_in_log(log) == [3]
    assert offsets_in_log(log) == [3, 4, 5]
    cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [3]
    assert offsets_in_log(log) == [4, 5]


@pytest.mark.ported("LogCleanerTest.testAbortMarkerRetentionWithEmptyBatch")
def test_an_empty_batch_keeps_its_abort_marker(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=256))
    cleaner = make_cleaner(logs.time)
    append = producer(logs, log, 1, transactional=True)
    append(2, 3)
    end_txn(logs, log, 1, commit=False)
    log.roll()

    def indexed() -> list[tuple[int, int, int]]:
        return [(t.producer_id, t.first_offset, t.last_offset) for t in log.collect_aborted_transactions(0, 100)]

    assert indexed() == [(1, 0, 2)]
    dirty = 0
    for _ in range(2):
        dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
        assert indexed() == [(1, 0, 2)]
        assert keys_in_log(log) == []
        assert offsets_in_log(log) == [2]
        assert last_offsets_per_batch(log) == [1, 2]
    append(1)
    log.roll()
    dirty, _ = cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert indexed() == [(1, 0, 2)]
    assert keys_in_log(log) == [1]
    # the marker not yet: the empty batch was there when this pass began
    assert offsets_in_log(log) == last_offsets_per_batch(log) == [2, 3]
    cleaner.do_clean(to_clean(log, dirty, 100), LONG_MAX)
    assert keys_in_log(log) == [1]
    assert offsets_in_log(log) == last_offsets_per_batch(log) == [3]
    assert indexed() == []


@pytest.mark.ported("LogCleanerTest.testLogCleanerRetainsLastSequenceEvenIfTransactionAborted")
def test_last_sequence_of_an_aborted_transaction_is_kept(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    cleaner = make_cleaner(logs.time, 10)
    append = producer(logs, log, 1, transactional=True)
    append(1)
    append(2, 3)
    end_txn(logs, log, 1, commit=False)
    log.roll()
    cleaner.clean(to_clean(log))
    assert last_offsets_per_batch(log) == [2, 3]
    assert last_sequences(log) == {1: 2}
    assert keys_in_log(log) == []
    assert offsets_in_log(log) == [3]
    append(1, 5)
    log.roll()
    cleaner.clean(to_clean(log))
    assert last_offsets_per_batch(log) == [3, 5]
    assert last_sequences(log) == {1: 4}
    assert keys_in_log(log) == [1, 5]
    assert offsets_in_log(log) == [3, 4, 5]


# ---- what Kafka's tests do not ask


def test_batches_with_the_same_sequence_do_not_pile_up(logs: Logs) -> None:
    """Offsets committed in transactions all have sequence 0 (KAFKA-8335); the last batch tells the producer's epoch."""
    log = logs.create(cleaner_config())
    for value in range(4):
        commit = record(
            1, value, logs.time.milliseconds(), producer_id=1, producer_epoch=3, base_sequence=0, is_transactional=True
        )
        as_leader(log, commit, from_client=False)
        as_leader(log, logs.end_txn(ControlRecordType.COMMIT, 1, 3), from_client=False)
    as_leader(log, record(1, 9))
    log.roll()
    cleaner = make_cleaner(logs.time)
    for _ in range(2):
        cleaner.do_clean(to_clean(log), LONG_MAX)
    assert last_offsets_per_batch(log) == [6, 7, 8]
    assert offsets_in_log(log) == [7, 8]


def test_wrong_offset_deltas_do_not_outlive_later_records(logs: Logs) -> None:
    """A client may number its records as it likes; a key's record far ahead would make all that follow obsolete."""
    log = logs.create(cleaner_config())
    builder = MemoryRecords.builder(100, 2)
    builder.append_with_offset(1 << 30, 5, key(1), b"wrong")
    wrong = bytearray(builder.build().buffer)
    struct.pack_into(">i", wrong, DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, 0)
    checksum = Crc32C.compute(bytes(wrong[DefaultRecordBatch.ATTRIBUTES_OFFSET :]))
    struct.pack_into(">I", wrong, DefaultRecordBatch.CRC_OFFSET, checksum)
    as_leader(log, MemoryRecords(wrong))
    as_leader(log, record(1, b"right"))
    log.roll()
    make_cleaner(logs.time).clean(to_clean(log))
    assert [(r.offset(), bytes(r.value() or b"")) for r in all_records(log)] == [(1, b"right")]


def test_a_sequence_number_of_an_older_epoch_is_not_kept(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    for epoch in (0, 1):
        for sequence in (0, 1) if epoch else (0,):
            as_leader(log, record(1, 1, producer_id=1, producer_epoch=epoch, base_sequence=sequence))
    as_leader(log, record(1, 2, producer_id=1, producer_epoch=2, base_sequence=0))
    as_leader(log, record(1, 3))
    log.roll()
    make_cleaner(logs.time).do_clean(to_clean(log), LONG_MAX)
    assert last_offsets_per_batch(log) == [3, 4]


def test_a_marker_in_a_later_segment_than_its_batches_stays(logs: Logs) -> None:
    """1.1.1 looks at each segment alone, drops such a marker, and the producer's transaction never ends again."""
    log = logs.create(cleaner_config())
    append = producer(logs, log, 1, transactional=True)
    append(1, 2)
    log.roll()
    end_txn(logs, log, 1, commit=True)
    log.roll()
    make_cleaner(logs.time).do_clean(to_clean(log), LONG_MAX)
    assert offsets_in_log(log) == [0, 1, 2]
    logs.crash(log)
    logs.delete_producer_snapshot_files()
    assert logs.create(cleaner_config()).first_unstable_offset is None


def test_aborted_transactions_behind_the_end_of_the_map_stay_in_the_index(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    as_leader(log, record(1, 1))
    as_leader(log, record(2, 2))
    append = producer(logs, log, 1, transactional=True)
    append(3, 4)
    end_txn(logs, log, 1, commit=False)
    aborted = log.collect_aborted_transactions(0, 100)
    log.roll()
    end, _ = make_cleaner(logs.time, 2).clean(to_clean(log))  # there is room for one key
    assert end == 1
    assert log.collect_aborted_transactions(0, 100) == aborted != []


def test_a_record_with_the_key_of_a_marker_does_not_replace_it(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    append = producer(logs, log, 1, transactional=True)
    append(1)
    end_txn(logs, log, 1, commit=True)
    as_leader(log, MemoryRecords.with_records(SimpleRecord(1, ControlRecordType.COMMIT.record_key(), b"v")))
    log.roll()
    make_cleaner(logs.time).clean(to_clean(log))
    assert [r.offset() for r in all_records(log)] == [0, 1, 2]


def test_an_emptied_control_batch_goes(logs: Logs) -> None:
    """Brokers from 2.x on may leave one, for the epoch of a producer."""
    log = logs.create(cleaner_config())
    out = ByteBufferOutputStream()
    DefaultRecordBatch.write_empty_header(out, 2, 1, 0, -1, 0, 0, 0, TimestampType.CREATE_TIME, 5, True, True)
    log.active_segment.append(0, 0, 5, 0, MemoryRecords(out.buffer))
    log.active_segment.append(1, 1, 5, 1, record(1, 1, initial_offset=1))
    log._update_log_end_offset(2)
    log.roll()
    make_cleaner(logs.time).do_clean(to_clean(log), LONG_MAX)
    assert last_offsets_per_batch(log) == [1]


def test_metadata_of_the_same_transaction_twice() -> None:
    txn = AbortedTxn.of(producer_id=1, first_offset=5, last_offset=20, last_stable_offset=5)
    other = AbortedTxn.of(producer_id=2, first_offset=5, last_offset=21, last_stable_offset=5)
    metadata = CleanedTransactionMetadata.apply([other, txn, txn])
    assert [t[2] for t in sorted(metadata.aborted_transactions)] == [other, txn, txn]

    def batch(offset: int, pid: int = 1) -> DefaultRecordBatch:
        records = MemoryRecords.with_transactional_records(
            SimpleRecord(1, key(1), b"v"), producer_id=pid, producer_epoch=0, base_sequence=0, initial_offset=offset
        )
        return DefaultRecordBatch(records.buffer)

    assert not metadata.on_batch_read(batch(4))
    assert metadata.ongoing_committed_txns == {1}
    assert metadata.on_batch_read(batch(6))
    first = metadata.ongoing_aborted_txns[1]
    metadata.add_aborted_transactions([txn])
    assert metadata.on_batch_read(batch(7))
    assert metadata.ongoing_aborted_txns[1] is first
    assert first.last_observed_batch_offset == 7
    assert not metadata.on_batch_read(batch(8, pid=3))
    assert CleanedTransactionMetadata.EMPTY.aborted_transactions == []
