"""What the batches of a log say of their producers, before they are appended and when they are read again.

Mirrors: core/src/main/scala/kafka/log/Log.scala @ 1.1.1 (analyzeAndValidateProducerState, loadProducerState,
         loadProducersFromLog, updateProducers; functions of the object UnifiedLog in 3.7.1)
Read next: producer_state_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import InvalidTxnStateException
from kafka_py.utils.yield_gil import GilYielder

if TYPE_CHECKING:
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.record.records import Records
    from kafka_py.log.local_log import LocalLog
    from kafka_py.log.producer_state_entry import BatchMetadata, CompletedTxn, ProducerAppendInfo
    from kafka_py.log.producer_state_manager import ProducerStateManager
    from kafka_py.log.verification_guard import VerificationGuard

_INT_MAX = 2**31 - 1


def analyze_and_validate_producer_state(
    manager: ProducerStateManager,
    records: MemoryRecords,
    is_from_client: bool,
    is_replicated: bool,
    verification_guard: VerificationGuard | None = None,
) -> tuple[dict[int, ProducerAppendInfo], list[CompletedTxn], BatchMetadata | None]:
    """What batches to be appended change for their producers, the transactions they end, and a duplicate if one is.

    With a `verification_guard`, which may be the sentinel, a transaction begins only if its coordinator knows of it.
    Raises OutOfOrderSequenceException, ProducerFencedException, InvalidTxnStateException and what else
    ProducerAppendInfo objects to.
    """
    updated_producers: dict[int, ProducerAppendInfo] = {}
    completed_txns: list[CompletedTxn] = []
    for batch in records.batches():
        if not batch.has_producer_id():
            continue
        if is_from_client:
            # any of the producer's last five batches may come again
            last_entry = manager.last_entry(batch.producer_id())
            duplicate = None if last_entry is None else last_entry.find_duplicate_batch(batch)
            if duplicate is not None:
                return updated_producers, completed_txns, duplicate
        if (
            verification_guard is not None
            and batch.is_transactional()
            and not manager.has_ongoing_transaction(batch.producer_id())
            and not batch.is_control_batch()
            and not _is_verified(manager, batch.producer_id(), verification_guard)
        ):
            raise InvalidTxnStateException("Record was not part of an ongoing transaction")
        completed_txn = update_producers(manager, batch, updated_producers, is_from_client, is_replicated)
        if completed_txn is not None:
            completed_txns.append(completed_txn)
    return updated_producers, completed_txns, None


def _is_verified(manager: ProducerStateManager, producer_id: int, verification_guard: VerificationGuard) -> bool:
    """Whether nothing has happened to the producer's transaction here since the guard was made for the question."""
    entry = manager.verification_state_entry(producer_id)
    return entry is not None and entry.verification_guard.verify(verification_guard)


def rebuild_producer_state(
    manager: ProducerStateManager,
    local_log: LocalLog,
    log_start_offset: int,
    last_offset: int,
    reload_from_clean_shutdown: bool = False,
) -> None:
    """Bring the producer state to `last_offset`: from a snapshot, then from the segments behind it.

    A log without any snapshot was written by an older broker if the shutdown was clean or its format has no
    producer ids: then nothing is scanned, and empty snapshots are written where a truncation may need them.
    Caller holds Log.lock, or the log is being opened.
    """
    message_format_version = local_log.config.message_format_version.message_format_version.value
    local_log.info(
        "Loading producer state from offset %d with message format version %d", last_offset, message_format_version
    )
    segments = local_log.segments
    if manager.latest_snapshot_offset() is None and (message_format_version < 2 or reload_from_clean_shutdown):
        active = local_log.active_segment
        before = segments.lower_segment(active.base_offset)
        earlier = [] if before is None else [before.base_offset]
        for offset in (*earlier, active.base_offset, last_offset):
            manager.update_map_end_offset(offset)
            manager.take_snapshot()
        return
    # nothing known and nothing to learn: truncation cannot bring producers back
    is_empty_before_truncation = manager.is_empty and manager.map_end_offset >= last_offset
    manager.truncate_and_reload(log_start_offset, last_offset, local_log.time.milliseconds())
    if last_offset > manager.map_end_offset and not is_empty_before_truncation:
        for segment in segments.values_between(manager.map_end_offset, last_offset):
            start_offset = max(segment.base_offset, manager.map_end_offset, log_start_offset)
            manager.update_map_end_offset(start_offset)
            manager.take_snapshot()
            fetch_data_info = segment.read(start_offset, last_offset, _INT_MAX)
            if fetch_data_info is not None:
                load_producers_from_records(manager, fetch_data_info.records)
    manager.update_map_end_offset(last_offset)


def load_producers_from_records(manager: ProducerStateManager, records: Records) -> None:
    """Take in what batches of the log say of their producers."""
    loaded_producers: dict[int, ProducerAppendInfo] = {}
    completed_txns: list[CompletedTxn] = []
    yielder = GilYielder()
    for batch in records.batches():
        if batch.has_producer_id():
            completed_txn = update_producers(manager, batch, loaded_producers, is_from_client=False, is_replicated=True)
            if completed_txn is not None:
                completed_txns.append(completed_txn)
        yielder.maybe_yield()
    for append_info in loaded_producers.values():
        manager.update(append_info)
    for completed_txn in completed_txns:
        manager.complete_txn(completed_txn)


def update_producers(
    manager: ProducerStateManager,
    batch: RecordBatch,
    producers: dict[int, ProducerAppendInfo],
    is_from_client: bool,
    is_replicated: bool,
) -> CompletedTxn | None:
    """Check a batch against its producer's state as collected in `producers`; the transaction it ends."""
    producer_id = batch.producer_id()
    append_info = producers.get(producer_id)
    if append_info is None:
        append_info = manager.prepare_update(producer_id, is_from_client, is_replicated)
        producers[producer_id] = append_info
    completed_txn = append_info.append(batch)
    if batch.is_transactional():
        # begun or ended: a guard of before says nothing about what comes next
        manager.clear_verification_state_entry(producer_id)
    return completed_txn
