"""The `.txnindex` file: which transactions of a segment were aborted.

Mirrors: core/src/main/scala/kafka/log/TransactionIndex.scala @ 1.1.1

An entry is 34 bytes: version (int16, 0), producer id, first offset, last offset, last stable offset at the time of
the abort (int64 each). Most segments have no such file.
"""

from __future__ import annotations

import os
import pathlib
import struct
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.errors import KafkaException
from kafka_py.common.record.file_channel import FileChannel
from kafka_py.log.corrupt_index_exception import CorruptIndexException
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.log.log import CompletedTxn

_ENTRY = struct.Struct(">hqqqq")


class TxnIndexSearchResult(NamedTuple):
    """The aborted transactions found, and whether later segments need not be asked.

    Mirrors: kafka.log.TxnIndexSearchResult
    """

    aborted_transactions: list[AbortedTxn]
    is_complete: bool


class TransactionIndex(Logging):
    """The aborted transactions whose markers lie in one segment.

    A transaction may have begun in an earlier segment, so rebuilding this file needs the producer state at the
    segment's start.

    Mirrors: kafka.log.TransactionIndex
    Thread: writers hold Log.lock; any may read.
    """

    def __init__(self, start_offset: int, file: str | os.PathLike[str]) -> None:
        self.start_offset = start_offset
        self.file = pathlib.Path(file)  # volatile: renamer under Log.lock
        self._maybe_channel: FileChannel | None = None  # volatile: writer under Log.lock
        self._last_offset: int | None = None  # volatile: writer under Log.lock
        if self.file.exists():
            self._open_channel()

    def append(self, aborted_txn: AbortedTxn) -> None:
        """Add an aborted transaction; raises ValueError unless its last offset is above the previous one's."""
        if self._last_offset is not None and self._last_offset >= aborted_txn.last_offset:
            raise ValueError("The last offset of appended transactions must increase sequentially")
        channel = self._channel()
        data = memoryview(aborted_txn.buffer)
        while data:
            data = data[channel.write(data) :]
        self._last_offset = aborted_txn.last_offset

    def flush(self) -> None:
        """Write the entries through to the disk."""
        if self._maybe_channel is not None:
            self._maybe_channel.force()

    def delete_if_exists(self) -> bool:
        """Close and delete the file; False if there was none. Raises OSError."""
        self.close()
        try:
            os.unlink(self.file)
        except FileNotFoundError:
            return False
        return True

    def _channel(self) -> FileChannel:
        return self._open_channel() if self._maybe_channel is None else self._maybe_channel

    def _open_channel(self) -> FileChannel:
        channel = FileChannel.open(self.file, mutable=True)
        channel.position = channel.size()
        self._maybe_channel = channel
        return channel

    def reset(self) -> None:
        """Forget all entries."""
        if self._maybe_channel is not None:
            self._maybe_channel.truncate(0)
        self._last_offset = None

    def close(self) -> None:
        """Close the file, if it was ever opened."""
        channel, self._maybe_channel = self._maybe_channel, None
        if channel is not None:
            channel.close()

    def rename_to(self, f: str | os.PathLike[str]) -> None:
        """Rename the file if there is one; raises OSError."""
        try:
            if self.file.exists():
                os.replace(self.file, f)
        finally:
            self.file = pathlib.Path(f)

    def truncate_to(self, offset: int) -> None:
        """Forget the transactions that ended at `offset` or later."""
        new_last_offset = None
        for aborted_txn, position in self._iterator():
            if aborted_txn.last_offset >= offset:
                self._channel().truncate(position)
                self._last_offset = new_last_offset
                return
            new_last_offset = aborted_txn.last_offset

    def _iterator(self) -> Iterator[tuple[AbortedTxn, int]]:
        """Entries with their positions; raises KafkaException if the file cannot be read or is of a newer version."""
        channel = self._maybe_channel
        if channel is None:
            return
        position = 0
        while channel.position - position >= AbortedTxn.TOTAL_SIZE:
            try:
                data = channel.read(AbortedTxn.TOTAL_SIZE, position)
            except OSError as e:
                # the consumer gets an unknown error and asks again
                raise KafkaException(f"Failed to read from the transaction index {self.file}") from e
            if len(data) < AbortedTxn.TOTAL_SIZE:
                raise KafkaException(f"Failed to read from the transaction index {self.file}")
            aborted_txn = AbortedTxn(data)
            if aborted_txn.version > AbortedTxn.CURRENT_VERSION:
                raise KafkaException(
                    f"Unexpected aborted transaction version {aborted_txn.version}, current version is "
                    f"{AbortedTxn.CURRENT_VERSION}"
                )
            yield aborted_txn, position
            position += AbortedTxn.TOTAL_SIZE

    def all_aborted_txns(self) -> list[AbortedTxn]:
        """All entries."""
        return [txn for txn, _ in self._iterator()]

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> TxnIndexSearchResult:
        """The entries that overlap [fetch_offset, upper_bound_offset), and whether later segments can hold more."""
        aborted_transactions = []
        for txn, _ in self._iterator():
            if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
                aborted_transactions.append(txn)
            if txn.last_stable_offset >= upper_bound_offset:
                return TxnIndexSearchResult(aborted_transactions, is_complete=True)
        return TxnIndexSearchResult(aborted_transactions, is_complete=False)

    def sanity_check(self) -> None:
        """Raise CorruptIndexException if an entry ends before the segment begins, or the file is not of this kind."""
        try:
            for txn, _ in self._iterator():
                if txn.last_offset < self.start_offset:
                    raise CorruptIndexException(
                        f"Last offset of aborted transaction {txn} is less than start offset {self.start_offset}"
                    )
        except KafkaException as e:
            # Kafka lets this end the start-up; the file is rebuilt from the log like the other indexes
            raise CorruptIndexException(str(e)) from e


class AbortedTxn:
    """One entry of the transaction index, kept as its 34 bytes.

    Mirrors: kafka.log.AbortedTxn
    Thread: any; immutable.
    """

    __slots__ = ("buffer", "first_offset", "last_offset", "last_stable_offset", "producer_id", "version")

    TOTAL_SIZE = _ENTRY.size
    CURRENT_VERSION = 0

    def __init__(self, buffer: bytes) -> None:
        self.buffer = buffer
        (self.version, self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset) = _ENTRY.unpack(
            buffer
        )

    @classmethod
    def of(cls, producer_id: int, first_offset: int, last_offset: int, last_stable_offset: int) -> AbortedTxn:
        """An entry of the current version."""
        return cls(_ENTRY.pack(cls.CURRENT_VERSION, producer_id, first_offset, last_offset, last_stable_offset))

    @classmethod
    def from_completed_txn(cls, completed_txn: CompletedTxn, last_stable_offset: int) -> AbortedTxn:
        """The entry for a transaction that just ended."""
        return cls.of(
            completed_txn.producer_id, completed_txn.first_offset, completed_txn.last_offset, last_stable_offset
        )

    def as_aborted_transaction(self) -> FetchResponse.AbortedTransaction:
        """What a fetch response says of it."""
        from kafka_py.common.requests.fetch_response import FetchResponse

        return FetchResponse.AbortedTransaction(self.producer_id, self.first_offset)

    def __repr__(self) -> str:
        return (
            f"AbortedTxn(version={self.version}, producerId={self.producer_id}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset}, lastStableOffset={self.last_stable_offset})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbortedTxn) and self.buffer == other.buffer

    def __hash__(self) -> int:
        return hash(self.buffer)
