"""ProducerStateManager: sequences, epochs, transactions, snapshots, expiry."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Callable

import crc32c
import pytest

from kafka_py.common.errors import (
    CorruptSnapshotException,
    InvalidTxnStateException,
    OutOfOrderSequenceException,
    ProducerFencedException,
    TransactionCoordinatorFencedException,
    UnknownProducerIdException,
)
from kafka_py.common.internals.topic import Topic
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.producer_state_entry import CompletedTxn
from kafka_py.log.producer_state_manager import (
    ProducerAppendInfo,
    ProducerStateEntry,
    ProducerStateManager,
    TxnMetadata,
    ValidationType,
)
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.testing.mock_time import MockTime

PARTITION = TopicPartition("test", 0)
PID = 1
EXPIRATION_MS = 60 * 1000
INT_MAX = 2**31 - 1


class States:
    """A manager, a clock, and appends of single records."""

    def __init__(self, log_dir: pathlib.Path) -> None:
        self.log_dir = log_dir
        self.time = MockTime()
        self.manager = self.reopen()

    def reopen(self, partition: TopicPartition = PARTITION) -> ProducerStateManager:
        return ProducerStateManager(partition, self.log_dir, EXPIRATION_MS)

    def append(
        self,
        epoch: int,
        seq: int,
        offset: int,
        timestamp: int | None = None,
        pid: int = PID,
        transactional: bool = False,
        from_client: bool = True,
        manager: ProducerStateManager | None = None,
    ) -> None:
        manager = manager or self.manager
        info = manager.prepare_update(pid, from_client)
        timestamp = self.time.milliseconds() if timestamp is None else timestamp
        info.append_data_batch(epoch, seq, seq, timestamp, offset, transactional)
        manager.update(info)
        manager.update_map_end_offset(offset + 1)

    def end_txn(
        self, epoch: int, type_: ControlRecordType, offset: int, coordinator_epoch: int = 0, pid: int = PID
    ) -> tuple[CompletedTxn, int]:
        info = self.manager.prepare_update(pid, is_from_client=True)
        marker = EndTransactionMarker(type_, coordinator_epoch)
        completed = info.append_end_txn_marker(marker, epoch, offset, self.time.milliseconds())
        self.manager.update(info)
        last_stable_offset = self.manager.complete_txn(completed)
        self.manager.update_map_end_offset(offset + 1)
        return completed, last_stable_offset

    def entry(self, pid: int = PID) -> ProducerStateEntry:
        entry = self.manager.last_entry(pid)
        assert entry is not None
        return entry

    def unstable(self) -> int | None:
        metadata = self.manager.first_unstable_offset
        return None if metadata is None else metadata.message_offset

    def undecided_and_unstable(self) -> tuple[int | None, int | None]:
        return self.manager.first_undecided_offset, self.unstable()

    def snapshots(self) -> set[int]:
        return {LogFileUtils.offset_from_file(file) for file in self.log_dir.iterdir()}


@pytest.fixture
def states(tmp_path: pathlib.Path) -> States:
    return States(tmp_path)


@pytest.mark.ported("ProducerStateManagerTest.testBasicIdMapping")
def test_basic_id_mapping(states: States) -> None:
    states.append(0, 0, 0, 0)
    states.append(0, 1, 0, 1)
    with pytest.raises(OutOfOrderSequenceException):
        states.append(0, 1, 0, 1)
    with pytest.raises(OutOfOrderSequenceException):
        states.append(0, 5, 0, 2)
    states.append(1, 0, 0, 3)
    with pytest.raises(ProducerFencedException):
        states.append(0, 0, 0, 4)


@pytest.mark.ported("ProducerStateManagerTest.testProducerSequenceWrapAround")
def test_sequence_wrap_around(states: States) -> None:
    states.append(15, INT_MAX, 735, from_client=False)
    states.append(15, 0, 735 + 500)
    assert states.entry().producer_epoch == 15
    assert (states.entry().first_seq, states.entry().last_seq) == (INT_MAX, 0)


@pytest.mark.ported("ProducerStateManagerTest.testProducerSequenceInvalidWrapAround")
def test_sequence_invalid_wrap_around(states: States) -> None:
    states.append(15, INT_MAX, 735, from_client=False)
    with pytest.raises(OutOfOrderSequenceException):
        states.append(15, 1, 735 + 500)


def test_batch_that_wraps_keeps_its_first_sequence_and_offset(states: States) -> None:
    info = states.manager.prepare_update(PID, is_from_client=False)
    info.append_data_batch(0, INT_MAX - 9, 9, 0, 119, True)
    states.manager.update(info)
    entry = states.entry()
    assert (entry.first_seq, entry.last_seq, entry.first_offset) == (INT_MAX - 9, 9, 100)
    assert entry.batch_with_sequence_range(INT_MAX - 9, 9) is not None
    assert states.unstable() == 100


@pytest.mark.ported("ProducerStateManagerTest.testNoValidationOnFirstEntryWhenLoadingLog")
def test_no_validation_on_first_entry_when_loading_log(states: States) -> None:
    states.append(5, 16, 735, from_client=False)
    entry = states.entry()
    assert (entry.producer_epoch, entry.first_seq, entry.last_seq) == (5, 16, 16)
    assert (entry.first_offset, entry.last_data_offset) == (735, 735)


def test_what_a_coordinator_writes_for_an_older_epoch_is_refused(states: States) -> None:
    states.append(5, 0, 0, from_client=False, transactional=True)
    with pytest.raises(ProducerFencedException):
        states.append(4, 0, 1, from_client=False, transactional=True)
    states.append(5, 0, 1, from_client=False, transactional=True)  # its sequence is always 0
    assert states.entry().last_data_offset == 1


@pytest.mark.ported("ProducerStateManagerTest.testControlRecordBumpsEpoch")
def test_control_record_bumps_epoch(states: States) -> None:
    states.append(0, 0, 0)
    completed, last_stable_offset = states.end_txn(1, ControlRecordType.ABORT, 1)
    assert completed == CompletedTxn(PID, 1, 1, True)
    assert last_stable_offset == 2
    entry = states.entry()
    assert (entry.producer_epoch, entry.current_txn_first_offset) == (1, None)
    assert (entry.first_seq, entry.last_seq) == (-1, -1)
    states.append(1, 0, 2)
    assert states.entry().first_seq == 0


@pytest.mark.ported("ProducerStateManagerTest.testTxnFirstOffsetMetadataCached")
@pytest.mark.ported("ProducerStateManagerTest.testNonMatchingTxnFirstOffsetMetadataNotCached")
@pytest.mark.parametrize("matching", [True, False])
def test_txn_first_offset_metadata(states: States, matching: bool) -> None:
    offset = 992342
    info = ProducerAppendInfo(PID, ProducerStateEntry.empty(PID), ValidationType.FULL)
    info.append_data_batch(0, 0, 0, states.time.milliseconds(), offset, True)
    metadata = LogOffsetMetadata(offset if matching else offset - 23429, 990000, 234224)
    info.maybe_cache_txn_first_offset_metadata(metadata)
    states.manager.update(info)
    assert states.manager.first_unstable_offset == (metadata if matching else LogOffsetMetadata(offset))


@pytest.mark.ported("ProducerStateManagerTest.testPrepareUpdateDoesNotMutate")
def test_prepare_update_does_not_mutate(states: States) -> None:
    info = states.manager.prepare_update(PID, is_from_client=True)
    info.append_data_batch(0, 0, 5, 0, 20, False)
    assert states.manager.last_entry(PID) is None
    states.manager.update(info)
    following = states.manager.prepare_update(PID, is_from_client=True)
    following.append_data_batch(0, 6, 10, 0, 30, False)
    entry = states.entry()
    assert (entry.first_seq, entry.last_seq, entry.last_data_offset) == (0, 5, 20)
    states.manager.update(following)
    entry = states.entry()
    assert (entry.first_seq, entry.last_seq, entry.last_data_offset) == (0, 10, 30)


@pytest.mark.ported("ProducerStateManagerTest.updateProducerTransactionState")
def test_update_producer_transaction_state(states: States) -> None:
    states.append(0, 0, 9)
    info = states.manager.prepare_update(PID, is_from_client=True)
    for first_seq, last_seq, offset in ((1, 5, 20), (6, 10, 30)):
        info.append_data_batch(0, first_seq, last_seq, 0, offset, True)
        entry = info.to_entry()
        assert (entry.first_seq, entry.last_seq) == (1, last_seq)
        assert (entry.first_offset, entry.last_data_offset) == (16, offset)
        assert entry.current_txn_first_offset == 16
        assert info.started_transactions == [TxnMetadata(PID, 16)]
    completed = info.append_end_txn_marker(EndTransactionMarker(ControlRecordType.COMMIT, 15), 0, 40, 0)
    assert completed == CompletedTxn(PID, 16, 40, False)
    entry = info.to_entry()
    # the marker leaves the remembered batches alone
    assert (entry.first_seq, entry.last_seq, entry.last_data_offset) == (1, 10, 30)
    assert (entry.coordinator_epoch, entry.current_txn_first_offset) == (15, None)
    assert info.started_transactions == [TxnMetadata(PID, 16)]


@pytest.mark.ported("ProducerStateManagerTest.testOutOfSequenceAfterControlRecordEpochBump")
def test_out_of_sequence_after_control_record_epoch_bump(states: States) -> None:
    states.append(0, 0, 0, transactional=True)
    states.append(0, 1, 1, transactional=True)
    states.end_txn(1, ControlRecordType.ABORT, 1)
    for epoch in (1, 2):
        with pytest.raises(OutOfOrderSequenceException):
            states.append(epoch, 2, 2, transactional=True)
    states.append(1, 0, 0, transactional=True)
    assert (states.entry().producer_epoch, states.entry().last_seq) == (1, 0)


@pytest.mark.ported("ProducerStateManagerTest.testNonTransactionalAppendWithOngoingTransaction")
def test_non_transactional_append_with_ongoing_transaction(states: States) -> None:
    states.append(0, 0, 0, transactional=True)
    with pytest.raises(InvalidTxnStateException):
        states.append(0, 1, 1, transactional=False)


@pytest.mark.ported("ProducerStateManagerTest.testTruncateAndReloadRemovesOutOfRangeSnapshots")
def test_truncate_and_reload_removes_out_of_range_snapshots(states: States) -> None:
    for i in range(5):
        states.append(0, i, i)
        states.manager.take_snapshot()
    states.manager.truncate_and_reload(1, 3, states.time.milliseconds())
    assert states.manager.oldest_snapshot_offset() == 2
    assert states.manager.latest_snapshot_offset() == 3


@pytest.mark.ported("ProducerStateManagerTest.testTakeSnapshot")
def test_snapshot_bytes(states: States) -> None:
    states.append(3, 0, 0, 1000)
    states.append(3, 1, 1, 2000)
    states.append(4, 0, 2, 3000, pid=7, transactional=True)
    states.manager.take_snapshot()
    body = struct.pack(">i", 2)
    body += struct.pack(">qhiqiqiq", 1, 3, 1, 1, 0, 2000, -1, -1)
    body += struct.pack(">qhiqiqiq", 7, 4, 0, 2, 0, 3000, -1, 2)
    expected = struct.pack(">hI", 1, crc32c.crc32c(body)) + body
    assert (states.log_dir / "00000000000000000003.snapshot").read_bytes() == expected


@pytest.mark.ported("ProducerStateManagerTest.testRecoverFromSnapshot")
def test_recover_from_snapshot(states: States) -> None:
    states.append(0, 0, 0)
    states.append(0, 1, 1)
    states.manager.take_snapshot()
    recovered = states.reopen()
    recovered.truncate_and_reload(0, 3, states.time.milliseconds())
    states.append(0, 2, 2, manager=recovered)
    entry = recovered.last_entry(PID)
    assert entry is not None
    assert entry.last_seq == 2


@pytest.mark.ported("ProducerStateManagerTest.testRemoveExpiredPidsOnReload")
@pytest.mark.ported("ProducerStateManagerTest.testAcceptAppendWithoutProducerStateOnReplica")
def test_expired_producer_is_not_loaded(states: States) -> None:
    states.append(0, 0, 0, 0)
    states.append(0, 1, 1, 1)
    states.manager.take_snapshot()
    recovered = states.reopen()
    recovered.truncate_and_reload(0, 1, 70000)
    assert PID not in recovered.active_producers
    with pytest.raises(UnknownProducerIdException):
        states.append(0, 2, 2, 70001, manager=recovered)
    states.append(0, 2, 2, 70001, manager=recovered, from_client=False)
    entry = recovered.active_producers[PID]
    assert (entry.producer_epoch, entry.first_seq, entry.last_seq) == (0, 2, 2)


@pytest.mark.ported("ProducerStateManagerTest.testAcceptAppendWithSequenceGapsOnReplica")
def test_accept_append_with_sequence_gaps_on_replica(states: States) -> None:
    states.append(0, 0, 0, 0)
    with pytest.raises(OutOfOrderSequenceException):
        states.append(0, 3, 1, 1)
    assert states.entry().last_seq == 0
    states.append(0, 3, 1, 1, from_client=False)
    assert states.entry().last_seq == 3


@pytest.mark.ported("ProducerStateManagerTest.testDeleteSnapshotsBefore")
def test_delete_snapshots_before(states: States) -> None:
    states.append(0, 0, 0)
    states.append(0, 1, 1)
    states.manager.take_snapshot()
    states.append(0, 2, 2)
    states.manager.take_snapshot()
    assert states.snapshots() == {2, 3}
    states.manager.delete_snapshots_before(3)
    assert states.snapshots() == {3}
    states.manager.delete_snapshots_before(4)
    assert states.snapshots() == set()


@pytest.mark.ported("ProducerStateManagerTest.testTruncate")
def test_truncate(states: States) -> None:
    for i in range(3):
        states.append(0, i, i)
        states.manager.take_snapshot()
    states.manager.truncate()
    assert states.snapshots() == set()
    assert states.manager.is_empty
    states.append(0, 0, 0)
    states.manager.take_snapshot()
    assert states.snapshots() == {1}


@pytest.mark.ported("ProducerStateManagerTest.testFirstUnstableOffsetAfterTruncation")
def test_first_unstable_offset_after_truncation(states: States) -> None:
    states.append(0, 0, 99, transactional=True)
    assert states.unstable() == 99
    states.manager.take_snapshot()
    states.end_txn(0, ControlRecordType.COMMIT, 105)
    states.manager.on_high_watermark_updated(106)
    assert states.unstable() is None
    states.manager.take_snapshot()
    states.append(0, 1, 106)
    states.manager.truncate_and_reload(0, 106, states.time.milliseconds())
    assert states.unstable() is None
    states.manager.truncate_and_reload(0, 100, states.time.milliseconds())
    assert states.unstable() == 99


@pytest.mark.ported("ProducerStateManagerTest.testFirstUnstableOffsetAfterEviction")
def test_first_unstable_offset_after_eviction(states: States) -> None:
    states.append(0, 0, 99, transactional=True)
    assert states.unstable() == 99
    states.append(0, 0, 106, pid=2, transactional=True)
    states.manager.truncate_head(100)
    assert states.unstable() == 106


@pytest.mark.ported("ProducerStateManagerTest.testTruncateHead")
def test_truncate_head(states: States) -> None:
    for pid, offset in ((PID, 0), (PID, 1), (2, 2), (2, 3)):
        states.append(0, offset % 2, offset, pid=pid)
        if offset % 2:
            states.manager.take_snapshot()
    assert states.snapshots() == {2, 4}
    states.manager.truncate_head(2)
    assert states.snapshots() == {2, 4}
    assert set(states.manager.active_producers) == {2}
    assert states.entry(2).last_data_offset == 3
    states.manager.truncate_head(3)
    assert set(states.manager.active_producers) == {2}
    assert states.snapshots() == {4}
    assert states.manager.map_end_offset == 4
    states.manager.truncate_head(5)
    assert states.manager.active_producers == {}
    assert states.snapshots() == set()
    assert states.manager.map_end_offset == 5


@pytest.mark.ported("ProducerStateManagerTest.testLoadFromSnapshotRemovesNonRetainedProducers")
def test_load_from_snapshot_removes_non_retained_producers(states: States) -> None:
    states.append(0, 0, 0)
    states.append(0, 0, 1, pid=2)
    states.manager.take_snapshot()
    states.manager.truncate_and_reload(1, 2, states.time.milliseconds())
    assert set(states.manager.active_producers) == {2}
    assert (states.entry(2).last_seq, states.entry(2).last_data_offset) == (0, 1)


@pytest.mark.ported("ProducerStateManagerTest.testSkipSnapshotIfOffsetUnchanged")
def test_skip_snapshot_if_offset_unchanged(states: States) -> None:
    states.append(0, 0, 0)
    states.manager.take_snapshot()
    file = states.log_dir / "00000000000000000001.snapshot"
    file.write_bytes(b"untouched")
    states.manager.take_snapshot()
    assert file.read_bytes() == b"untouched"
    assert states.snapshots() == {1}


@pytest.mark.ported("ProducerStateManagerTest.testStartOffset")
def test_snapshot_above_the_log_end_is_not_loaded(states: States) -> None:
    states.append(0, 0, 0, 1, pid=2)
    for i in range(3):
        states.append(0, i, i + 1, i + 2)
    states.manager.take_snapshot()
    recovered = states.reopen()
    recovered.truncate_and_reload(0, 1, states.time.milliseconds())
    with pytest.raises(UnknownProducerIdException):
        states.append(0, 1, 4, 5, pid=2, manager=recovered)


@pytest.mark.ported("ProducerStateManagerTest.testPidExpirationTimeout")
def test_pid_expiration_timeout(states: States) -> None:
    states.append(5, 0, 1)
    states.time.sleep(EXPIRATION_MS + 1)
    states.manager.remove_expired_producers(states.time.milliseconds())
    with pytest.raises(UnknownProducerIdException):
        states.append(5, 1, 1)


@pytest.mark.ported("ProducerStateManagerTest.testFirstUnstableOffset")
def test_first_unstable_offset(states: States) -> None:
    manager = states.manager
    assert manager.first_undecided_offset is None
    states.append(5, 0, 99, transactional=True)
    assert states.undecided_and_unstable() == (99, 99)
    states.append(5, 0, 105, pid=2, transactional=True)
    assert states.undecided_and_unstable() == (99, 99)
    states.end_txn(5, ControlRecordType.COMMIT, 109)
    assert states.undecided_and_unstable() == (105, 99)
    manager.on_high_watermark_updated(100)
    assert states.unstable() == 99
    manager.on_high_watermark_updated(110)
    assert states.unstable() == 105
    states.end_txn(5, ControlRecordType.ABORT, 112, pid=2)
    assert states.undecided_and_unstable() == (None, 105)
    manager.on_high_watermark_updated(113)
    assert states.unstable() is None


@pytest.mark.ported("ProducerStateManagerTest.testProducersWithOngoingTransactionsDontExpire")
def test_producers_with_ongoing_transactions_dont_expire(states: States) -> None:
    states.append(5, 0, 99, transactional=True)
    states.time.sleep(EXPIRATION_MS + 1)
    states.manager.remove_expired_producers(states.time.milliseconds())
    assert states.manager.last_entry(PID) is not None
    assert states.manager.first_undecided_offset == 99


@pytest.mark.ported("ProducerStateManagerTest.testSequenceNotValidatedForGroupMetadataTopic")
def test_sequence_not_validated_for_group_metadata_topic(states: States) -> None:
    manager = states.reopen(TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 0))
    states.append(0, -1, 99, transactional=True, manager=manager)
    states.append(0, -1, 100, transactional=True, manager=manager)
    assert manager.map_end_offset == 101
    with pytest.raises(ProducerFencedException):
        states.append(-1, -1, 101, transactional=True, manager=manager)


@pytest.mark.ported("ProducerStateManagerTest.testOldEpochForControlRecord")
def test_old_epoch_for_control_record(states: States) -> None:
    states.append(5, 0, 99, transactional=True)
    with pytest.raises(ProducerFencedException):
        states.end_txn(3, ControlRecordType.COMMIT, 100)


@pytest.mark.ported("ProducerStateManagerTest.testCoordinatorFencing")
@pytest.mark.ported("ProducerStateManagerTest.testCoordinatorFencedAfterReload")
def test_coordinator_fencing(states: States) -> None:
    states.append(5, 0, 99, transactional=True)
    states.end_txn(5, ControlRecordType.COMMIT, 100, coordinator_epoch=1)
    assert states.entry().coordinator_epoch == 1
    states.end_txn(5, ControlRecordType.COMMIT, 101, coordinator_epoch=1)
    states.end_txn(5, ControlRecordType.COMMIT, 102, coordinator_epoch=2)
    with pytest.raises(TransactionCoordinatorFencedException):
        states.end_txn(5, ControlRecordType.COMMIT, 103, coordinator_epoch=1)
    states.manager.take_snapshot()
    states.manager = states.reopen()
    states.manager.truncate_and_reload(0, 104, states.time.milliseconds())
    with pytest.raises(TransactionCoordinatorFencedException):
        states.end_txn(5, ControlRecordType.COMMIT, 104, coordinator_epoch=1)


def test_complete_txn_that_was_not_started(states: States) -> None:
    with pytest.raises(ValueError, match="which was not started"):
        states.manager.complete_txn(CompletedTxn(PID, 4, 5, False))


@pytest.mark.ported("ProducerStateManagerTest.testLoadFromEmptySnapshotFile")
@pytest.mark.ported("ProducerStateManagerTest.testLoadFromTruncatedSnapshotFile")
@pytest.mark.ported("ProducerStateManagerTest.testLoadFromCorruptSnapshotFile")
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[: len(data) // 2] + b"\x25" + data[len(data) // 2 + 1 :],
        lambda data: data + b"\0",
        lambda data: struct.pack(">hIi", 1, 0, -1),
        lambda data: struct.pack(">h", 2) + data[2:],
    ],
)
def test_corrupt_snapshot_is_deleted_and_the_one_before_loaded(
    states: States, damage: Callable[[bytes], bytes]
) -> None:
    states.append(0, 0, 0)
    states.manager.take_snapshot()
    states.append(0, 1, 1)
    states.manager.take_snapshot()
    latest = LogFileUtils.producer_snapshot_file(states.log_dir, 2)
    latest.write_bytes(damage(latest.read_bytes()))
    reloaded = states.reopen()
    reloaded.truncate_and_reload(0, 20, states.time.milliseconds())
    assert not latest.exists()
    assert reloaded.active_producers[PID].last_data_offset == 0


def test_every_prefix_of_a_snapshot_is_corrupt(states: States) -> None:
    states.append(0, 0, 0)
    states.append(0, 0, 1, pid=2)
    states.manager.take_snapshot()
    file = LogFileUtils.producer_snapshot_file(states.log_dir, 2)
    data = file.read_bytes()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        with pytest.raises(CorruptSnapshotException):
            ProducerStateManager.read_snapshot(file)
