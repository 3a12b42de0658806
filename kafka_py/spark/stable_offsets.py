"""What readers of committed data need to know, from files: the last stable offset, and which transactions were aborted.

The last stable offset is on no disk. It follows from the newest producer snapshot at or below the high watermark, which
names the transactions that were open then, and from the headers of the batches between that snapshot and the high
watermark. Aborted transactions stand in the .txnindex files, each in that of the segment with its marker.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import numpy as np

from kafka_py.common.errors import CorruptSnapshotException
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.log.transaction_index import AbortedTxn
from kafka_py.spark.batch_headers import BatchHeaders
from kafka_py.spark.layout import ReplicaDir, position_of, scan_headers, with_ends
from kafka_py.utils.logging import Logging

AbortedTransaction = tuple[int, int, int]  # producer id, first offset, offset of the marker
_TRANSACTION_INDEX = ".txnindex"
_SCAN_BYTES = 1 << 20


class OngoingTransactions(Logging):
    """The transactions that are open at some offset of one replica; moves on from there when asked again.

    Thread: its user's
    """

    def __init__(self) -> None:
        # producer id -> first and last offset of its open transaction
        self._open: dict[int, tuple[int, int]] = {}  # thread: of its owner
        # batches below it are accounted for
        self._next_offset = -1  # thread: of its owner
        # base offset and CRC of the last of them that was read
        self._last_batch: tuple[int, int] | None = None  # thread: of its owner

    def last_stable_offset(self, replica: ReplicaDir, high_watermark: int) -> int:
        """The offset below which every transaction is decided, at most the high watermark.

        Transactions whose marker is at or above the high watermark are undecided, as they are for a consumer; those
        that are below the log's start altogether are forgotten, as brokers do. Raises FileNotFoundError when a segment
        goes away meanwhile, CorruptRecordException for a damaged one.
        """
        if not replica.log_start_offset <= self._next_offset <= high_watermark or not self._is_same_log(replica):
            self._load_snapshot(replica, high_watermark)
        for headers in _headers_between(replica, self._next_offset, high_watermark):
            self._account_for(headers)
        self._next_offset = max(self._next_offset, high_watermark)
        start = replica.log_start_offset
        self._open = {producer_id: (first, last) for producer_id, (first, last) in self._open.items() if last >= start}
        stable = min((first for first, _ in self._open.values()), default=high_watermark)
        return max(start, min(stable, high_watermark))

    def _is_same_log(self, replica: ReplicaDir) -> bool:
        """Whether the last batch that was read still stands there: a topic may have been deleted and created again."""
        if self._last_batch is None:
            return False
        base_offset, crc = self._last_batch
        found = next((h for h in _headers_between(replica, base_offset, base_offset + 1) if len(h)), None)
        return found is not None and int(found.crc[0]) == crc

    def _load_snapshot(self, replica: ReplicaDir, high_watermark: int) -> None:
        """Begin with the newest readable snapshot at or below the high watermark, else at the log's start."""
        self._open, self._last_batch = {}, None
        self._next_offset = replica.segments[0].base_offset if replica.segments else replica.log_start_offset
        files = {LogFileUtils.offset_from_file(f): f for f in ProducerStateManager.list_snapshot_files(replica.path)}
        for offset in sorted((at for at in files if self._next_offset < at <= high_watermark), reverse=True):
            try:
                entries = ProducerStateManager.read_snapshot(files[offset])
            except (CorruptSnapshotException, FileNotFoundError) as e:
                self.warn("Cannot use the producer snapshot %s", files[offset], exc=e)
                continue
            self._next_offset = offset
            self._open = {
                entry.producer_id: (entry.current_txn_first_offset, entry.last_data_offset)
                for entry in entries
                if entry.current_txn_first_offset is not None
            }
            return

    def _account_for(self, headers: BatchHeaders) -> None:
        if len(headers):
            self._last_batch = int(headers.base_offset[-1]), int(headers.crc[-1])
        control = headers.is_control
        for at in np.flatnonzero(control | headers.is_transactional).tolist():
            producer_id = int(headers.producer_id[at])
            if control[at]:
                self._open.pop(producer_id, None)
            else:
                first, _ = self._open.get(producer_id, (int(headers.base_offset[at]), 0))
                self._open[producer_id] = first, int(headers.last_offset[at])


def _headers_between(replica: ReplicaDir, from_offset: int, until_offset: int) -> Iterator[BatchHeaders]:
    """Headers of the batches that begin in [from_offset, until_offset)."""
    for segment in replica.segments_between(from_offset, until_offset):
        with open(segment.path, "rb", buffering=0) as file:
            position = position_of(segment, from_offset)
            for _, headers in scan_headers(file.fileno(), position, os.fstat(file.fileno()).st_size, _SCAN_BYTES):
                yield headers.select((headers.base_offset >= from_offset) & (headers.base_offset < until_offset))
                if headers.base_offset[-1] >= until_offset:
                    return


def aborted_transactions(replica: ReplicaDir, from_offset: int, until_offset: int) -> tuple[AbortedTransaction, ...]:
    """The aborted transactions that have records in [from_offset, until_offset).

    A transaction is listed where its marker is, so the search goes on behind ``until_offset``, up to the first entry
    that says that everything before that offset was decided.
    """
    found = []
    for segment, end in with_ends(replica.segments):
        if end is not None and end <= from_offset:
            continue
        for txn in read_transaction_index(segment.beside(_TRANSACTION_INDEX)):
            if txn.last_offset >= from_offset and txn.first_offset < until_offset:
                found.append((txn.producer_id, txn.first_offset, txn.last_offset))
            if txn.last_stable_offset >= until_offset:
                return tuple(found)
    return tuple(found)


def read_transaction_index(path: str) -> list[AbortedTxn]:
    """The entries of a .txnindex file, none without one; what is half written at its end is not one yet."""
    try:
        data = pathlib.Path(path).read_bytes()
    except FileNotFoundError:
        return []  # made with the first aborted transaction
    size = AbortedTxn.TOTAL_SIZE
    return [AbortedTxn(data[at : at + size]) for at in range(0, len(data) // size * size, size)]
