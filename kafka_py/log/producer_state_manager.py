"""Which producers wrote to a partition lately, for idempotence and transactions.

Mirrors: core/src/main/scala/kafka/log/ProducerStateManager.scala @ 1.1.1 (the classes it starts with are in
         producer_state_entry.py and re-exported here)

A snapshot file `<offset>.snapshot` holds the state before that offset: version (int16, 1), CRC-32C of what follows
(uint32), number of entries (int32), and 46 bytes for each producer: id (int64), epoch (int16), last sequence (int32),
last offset (int64), offset delta (int32), timestamp (int64), coordinator epoch (int32), first offset of the open
transaction or -1 (int64). Only the newest batch of a producer survives a restart.
"""

from __future__ import annotations

import os
import pathlib
import struct
from collections import deque
from typing import TYPE_CHECKING, ClassVar

import crc32c

from kafka_py.common.errors import CorruptSnapshotException
from kafka_py.common.internals.topic import Topic
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.producer_state_entry import (
    NO_PRODUCER_ID,
    BatchMetadata,
    CompletedTxn,
    ProducerAppendInfo,
    ProducerStateEntry,
    TxnMetadata,
    ValidationType,
)
from kafka_py.log.verification_guard import VerificationStateEntry
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata

__all__ = [
    "BatchMetadata",
    "CorruptSnapshotException",
    "ProducerAppendInfo",
    "ProducerStateEntry",
    "ProducerStateManager",
    "TxnMetadata",
    "ValidationType",
]

_HEADER = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_PRODUCER_ENTRIES_OFFSET = 6
_INT_MAX = 2**31 - 1


class ProducerStateManager(Logging):
    """Maps producer ids to their latest batches and knows which transactions are open.

    A producer stays known until it has written nothing for `max_producer_id_expiration_ms` or its last record is
    deleted from the log; one with an open transaction does not expire.

    Mirrors: kafka.log.ProducerStateManager
    Thread: holders of Log.lock; deleting old snapshots needs none.
    """

    PRODUCER_SNAPSHOT_VERSION: ClassVar[int] = 1

    def __init__(
        self,
        topic_partition: TopicPartition,
        log_dir: str | os.PathLike[str],
        max_producer_id_expiration_ms: int = 60 * 60 * 1000,
    ) -> None:
        self.log_ident = f"[ProducerStateManager partition={topic_partition}] "
        self.topic_partition = topic_partition
        self.log_dir = pathlib.Path(log_dir)  # volatile: Log.rename_dir
        self.max_producer_id_expiration_ms = max_producer_id_expiration_ms
        self._producers: dict[int, ProducerStateEntry] = {}  # volatile: writer under Log.lock
        self._last_map_offset = 0  # volatile: writer under Log.lock
        self._last_snap_offset = 0  # volatile: writer under Log.lock
        # producers whose next transaction is being asked for
        self._verification_states: dict[int, VerificationStateEntry] = {}  # volatile: writer under Log.lock
        # open transactions by first offset
        self._ongoing_txns: dict[int, TxnMetadata] = {}  # volatile: writer under Log.lock
        # transactions whose marker lies above the high watermark, by first offset
        self._unreplicated_txns: dict[int, TxnMetadata] = {}  # volatile: writer under Log.lock

    # ---- transactions ---------------------------------------------------------------------------------------------

    @property
    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """Start of the oldest transaction that is undecided, or decided by a marker that is not yet replicated."""
        ongoing, unreplicated = self._ongoing_txns, self._unreplicated_txns
        if not ongoing and not unreplicated:
            return None
        firsts = [txns[min(txns)].first_offset for txns in (unreplicated, ongoing) if txns]
        return min(firsts, key=lambda metadata: metadata.message_offset)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Count transactions whose marker is below `high_watermark` as stable."""
        self._remove_unreplicated_transactions(high_watermark)

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the oldest transaction without a marker."""
        return min(self._ongoing_txns) if self._ongoing_txns else None

    def complete_txn(self, completed_txn: CompletedTxn) -> int:
        """Close a transaction and return the last stable offset; raises ValueError if it was not open."""
        txn_metadata = self._ongoing_txns.pop(completed_txn.first_offset, None)
        if txn_metadata is None:
            raise ValueError(
                f"Attempted to complete transaction {completed_txn} on partition {self.topic_partition} "
                f"which was not started"
            )
        txn_metadata.last_offset = completed_txn.last_offset
        self._unreplicated_txns[completed_txn.first_offset] = txn_metadata
        first_undecided = self.first_undecided_offset
        return completed_txn.last_offset + 1 if first_undecided is None else first_undecided

    def _remove_evicted_ongoing_transactions(self, expired_producer_ids: set[int]) -> None:
        for offset, txn in list(self._ongoing_txns.items()):
            if txn.producer_id in expired_producer_ids:
                del self._ongoing_txns[offset]

    def _remove_unreplicated_transactions(self, offset: int) -> None:
        if self._unreplicated_txns:
            for first_offset, txn in list(self._unreplicated_txns.items()):
                if txn.last_offset is not None and txn.last_offset < offset:
                    del self._unreplicated_txns[first_offset]

    # ---- producers ------------------------------------------------------------------------------------------------

    @property
    def map_end_offset(self) -> int:
        """The offset up to which (exclusive) the log is taken into account."""
        return self._last_map_offset

    @property
    def active_producers(self) -> dict[int, ProducerStateEntry]:
        """A copy of the map from producer id to its state."""
        return dict(self._producers)

    @property
    def is_empty(self) -> bool:
        """Whether no producer and no unreplicated transaction is known."""
        return not self._producers and not self._unreplicated_txns

    def last_entry(self, producer_id: int) -> ProducerStateEntry | None:
        """The state of a producer, None if it is unknown."""
        return self._producers.get(producer_id)

    def prepare_update(self, producer_id: int, is_from_client: bool, is_replicated: bool = False) -> ProducerAppendInfo:
        """Start checking an append of this producer; nothing is checked if it was appended before (`is_replicated`)."""
        if is_replicated:
            validation = ValidationType.REPLICATED
        elif not is_from_client or self.topic_partition.topic == Topic.GROUP_METADATA_TOPIC_NAME:
            validation = ValidationType.EPOCH_ONLY
        else:
            validation = ValidationType.FULL
        entry = self._producers.get(producer_id)
        return ProducerAppendInfo(
            producer_id,
            entry or ProducerStateEntry.empty(producer_id),
            validation,
            self._verification_states.get(producer_id),
        )

    def update(self, append_info: ProducerAppendInfo) -> None:
        """Take over what an append of one producer changed; raises ValueError for producer id -1."""
        producer_id = append_info.producer_id
        if producer_id == NO_PRODUCER_ID:
            raise ValueError(f"Invalid producer id {producer_id} passed to update for partition {self.topic_partition}")
        if self.is_trace_enabled:
            self.trace("Updated producer %d state to %s", producer_id, append_info)
        updated_entry = append_info.to_entry()
        current_entry = self._producers.get(producer_id)
        if current_entry is None:
            self._producers[producer_id] = updated_entry
        else:
            current_entry.update(updated_entry)
        for txn in append_info.started_transactions:
            self._ongoing_txns[txn.first_offset.message_offset] = txn

    def update_map_end_offset(self, last_offset: int) -> None:
        """Say that the log below `last_offset` is taken into account."""
        self._last_map_offset = last_offset

    def load_producer_entry(self, entry: ProducerStateEntry) -> None:
        """Put one producer's state into the map, as read from a snapshot."""
        self._producers[entry.producer_id] = entry
        offset = entry.current_txn_first_offset
        if offset is not None:
            self._ongoing_txns[offset] = TxnMetadata(entry.producer_id, offset)

    def _is_producer_expired(self, current_time_ms: int, producer_state: ProducerStateEntry) -> bool:
        return (
            producer_state.current_txn_first_offset is None
            and current_time_ms - producer_state.last_timestamp >= self.max_producer_id_expiration_ms
        )

    def remove_expired_producers(self, current_time_ms: int) -> None:
        """Forget the producers that have been silent too long, and the questions about theirs that nobody needed."""
        expired = [i for i, entry in self._producers.items() if self._is_producer_expired(current_time_ms, entry)]
        for producer_id in expired:
            del self._producers[producer_id]
        for producer_id, state in list(self._verification_states.items()):
            if current_time_ms - state.timestamp >= self.max_producer_id_expiration_ms:
                del self._verification_states[producer_id]

    # ---- verification of transactions -----------------------------------------------------------------------------

    def maybe_create_verification_state_entry(
        self, producer_id: int, sequence: int, epoch: int, now_ms: int
    ) -> VerificationStateEntry:
        """The entry of a producer, made if there is none [3.7.1]."""
        entry = self._verification_states.get(producer_id)
        if entry is None:
            entry = self._verification_states[producer_id] = VerificationStateEntry(now_ms, sequence, epoch)
        entry.maybe_update_lowest_sequence_and_epoch(sequence, epoch)
        return entry

    def has_ongoing_transaction(self, producer_id: int) -> bool:
        """Whether a transaction of the producer is open here [3.7.1, of UnifiedLog]."""
        entry = self._producers.get(producer_id)
        return entry is not None and entry.current_txn_first_offset is not None

    def verification_state_entry(self, producer_id: int) -> VerificationStateEntry | None:
        """The entry of a producer [3.7.1]."""
        return self._verification_states.get(producer_id)

    def clear_verification_state_entry(self, producer_id: int) -> None:
        """Forget the entry: the transaction has begun here, or ended [3.7.1]."""
        self._verification_states.pop(producer_id, None)

    def _is_producer_retained(self, producer_state_entry: ProducerStateEntry, log_start_offset: int) -> bool:
        return producer_state_entry.last_data_offset >= log_start_offset

    # ---- truncation and snapshots ---------------------------------------------------------------------------------

    def _load_from_snapshot(self, log_start_offset: int, current_time: int) -> None:
        while (file := self._latest_snapshot_file()) is not None:
            try:
                self.info("Loading producer state from snapshot file '%s'", file)
                for entry in self.read_snapshot(file):
                    if self._is_producer_retained(entry, log_start_offset) and not self._is_producer_expired(
                        current_time, entry
                    ):
                        self.load_producer_entry(entry)
                self._last_snap_offset = LogFileUtils.offset_from_file(file)
                self._last_map_offset = self._last_snap_offset
                return
            except CorruptSnapshotException as e:
                self.warn("Failed to load producer snapshot from '%s': %s", file, e)
                file.unlink(missing_ok=True)
        self._last_snap_offset = log_start_offset
        self._last_map_offset = log_start_offset

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, current_time_ms: int) -> None:
        """Drop what lies outside [log start, log end) and load the newest snapshot inside it.

        The log end is assumed not to be above the high watermark, so unreplicated transactions may go.
        """
        self._delete_snapshot_files(self.log_dir, lambda snap: snap > log_end_offset or snap <= log_start_offset)
        if log_end_offset != self.map_end_offset:
            self._producers.clear()
            self._ongoing_txns.clear()
            self._unreplicated_txns.clear()
            self._load_from_snapshot(log_start_offset, current_time_ms)
        else:
            self.truncate_head(log_start_offset)

    def take_snapshot(self) -> None:
        """Write the state at the map's end offset, unless that was done before."""
        if self._last_map_offset > self._last_snap_offset:
            snapshot_file = LogFileUtils.producer_snapshot_file(self.log_dir, self._last_map_offset)
            self.info("Writing producer snapshot at offset %d", self._last_map_offset)
            self._write_snapshot(snapshot_file, self._producers)
            self._last_snap_offset = self._last_map_offset

    def latest_snapshot_offset(self) -> int | None:
        """Offset of the newest snapshot file."""
        file = self._latest_snapshot_file()
        return None if file is None else LogFileUtils.offset_from_file(file)

    def oldest_snapshot_offset(self) -> int | None:
        """Offset of the oldest snapshot file."""
        file = self._oldest_snapshot_file()
        return None if file is None else LogFileUtils.offset_from_file(file)

    def truncate_head(self, log_start_offset: int) -> None:
        """Forget producers and transactions whose last record lies below the new log start, and older snapshots.

        A newer snapshot may still name such producers; they are dropped when it is loaded.
        """
        evicted = {i for i, e in self._producers.items() if not self._is_producer_retained(e, log_start_offset)}
        for producer_id in evicted:
            del self._producers[producer_id]
        self._remove_evicted_ongoing_transactions(evicted)
        self._remove_unreplicated_transactions(log_start_offset)
        self._last_map_offset = max(self._last_map_offset, log_start_offset)
        self.delete_snapshots_before(log_start_offset)
        latest = self.latest_snapshot_offset()
        self._last_snap_offset = log_start_offset if latest is None else latest

    def truncate(self) -> None:
        """Forget everything and delete all snapshots."""
        self._producers.clear()
        self._ongoing_txns.clear()
        self._unreplicated_txns.clear()
        self._delete_snapshot_files(self.log_dir, lambda _: True)
        self._last_snap_offset = 0
        self._last_map_offset = 0

    def delete_snapshots_before(self, offset: int) -> None:
        """Delete the snapshots below `offset`."""
        self._delete_snapshot_files(self.log_dir, lambda snap: snap < offset)

    def _oldest_snapshot_file(self) -> pathlib.Path | None:
        return min(self.list_snapshot_files(self.log_dir), key=LogFileUtils.offset_from_file, default=None)

    def _latest_snapshot_file(self) -> pathlib.Path | None:
        return max(self.list_snapshot_files(self.log_dir), key=LogFileUtils.offset_from_file, default=None)

    @classmethod
    def read_snapshot(cls, file: str | os.PathLike[str]) -> list[ProducerStateEntry]:
        """The entries of a snapshot file; raises CorruptSnapshotException, or OSError if it cannot be read."""
        buffer = pathlib.Path(file).read_bytes()
        if len(buffer) < _HEADER.size:
            raise CorruptSnapshotException(f"Snapshot failed schema validation: it has only {len(buffer)} bytes")
        version, crc, count = _HEADER.unpack_from(buffer)
        if count < 0 or _HEADER.size + count * _ENTRY.size > len(buffer):
            raise CorruptSnapshotException(
                f"Snapshot failed schema validation: {count} entries do not fit in {len(buffer)} bytes"
            )
        if version != cls.PRODUCER_SNAPSHOT_VERSION:
            raise CorruptSnapshotException(f"Snapshot contained an unknown file version {version}")
        computed_crc = crc32c.crc32c(memoryview(buffer)[_PRODUCER_ENTRIES_OFFSET:])
        if crc != computed_crc:
            raise CorruptSnapshotException(
                f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed_crc}"
            )
        entries = []
        for at in range(_HEADER.size, _HEADER.size + count * _ENTRY.size, _ENTRY.size):
            producer_id, epoch, seq, offset, delta, timestamp, coordinator, txn = _ENTRY.unpack_from(buffer, at)
            batch = BatchMetadata(seq, offset, delta & _INT_MAX, timestamp)
            entries.append(
                ProducerStateEntry(producer_id, deque((batch,)), epoch, coordinator, txn if txn >= 0 else None)
            )
        return entries

    @classmethod
    def _write_snapshot(cls, file: pathlib.Path, entries: dict[int, ProducerStateEntry]) -> None:
        body = struct.pack(">i", len(entries)) + b"".join(
            _ENTRY.pack(
                producer_id,
                entry.producer_epoch,
                entry.last_seq,
                entry.last_data_offset,
                entry.last_offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
            )
            for producer_id, entry in entries.items()
        )
        file.write_bytes(struct.pack(">hI", cls.PRODUCER_SNAPSHOT_VERSION, crc32c.crc32c(body)) + body)

    @staticmethod
    def _is_snapshot_file(file: pathlib.Path) -> bool:
        return file.name.endswith(LogFileUtils.PRODUCER_SNAPSHOT_FILE_SUFFIX)

    @classmethod
    def list_snapshot_files(cls, dir: str | os.PathLike[str]) -> list[pathlib.Path]:
        """The snapshot files in a directory, none if there is no such directory."""
        path = pathlib.Path(dir)
        if not path.is_dir():
            return []
        return [f for f in path.iterdir() if cls._is_snapshot_file(f) and f.is_file()]

    @classmethod
    def _delete_snapshot_files(cls, dir: pathlib.Path, predicate: Callable[[int], bool]) -> None:
        for file in cls.list_snapshot_files(dir):
            if predicate(LogFileUtils.offset_from_file(file)):
                file.unlink(missing_ok=True)
