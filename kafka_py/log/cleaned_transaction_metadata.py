"""What the cleaner knows of transactions while it goes through a log.

Mirrors: core/src/main/scala/kafka/log/LogCleaner.scala @ 1.1.1 (the classes at its end)
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.record.control_record_type import ControlRecordType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.log.transaction_index import AbortedTxn, TransactionIndex


class AbortedTransactionMetadata:
    """An aborted transaction the cleaner is in the middle of, and the last batch of it that it saw.

    Mirrors: kafka.log.AbortedTransactionMetadata
    Thread: cleaner.
    """

    __slots__ = ("aborted_txn", "last_observed_batch_offset")

    def __init__(self, aborted_txn: AbortedTxn) -> None:
        self.aborted_txn = aborted_txn
        self.last_observed_batch_offset: int | None = None  # thread: cleaner


class CleanedTransactionMetadata:
    """Decides which transaction markers and which aborted batches can go, and writes the cleaned transaction index.

    Batches of an aborted transaction go at once. A marker may go when a whole pass came across no batch of its
    transaction any more.

    Mirrors: kafka.log.CleanedTransactionMetadata
    Thread: cleaner.
    Differs: as from 2.5 on, one object serves all segments of a pass (`add_aborted_transactions`,
        `transaction_index` is exchanged), because a marker often lies in another segment than its batches; and an
        emptied control batch, which newer brokers leave, is no error. Non-transactional batches need not be shown.
    """

    EMPTY: ClassVar[CleanedTransactionMetadata]

    def __init__(
        self, aborted_transactions: Iterable[AbortedTxn] = (), transaction_index: TransactionIndex | None = None
    ) -> None:
        # a heap by first offset; the number keeps two of one offset from being compared
        self.aborted_transactions: list[tuple[int, int, AbortedTxn]] = []  # thread: cleaner
        self._added = 0  # thread: cleaner
        self.transaction_index = transaction_index  # thread: cleaner
        self.ongoing_committed_txns: set[int] = set()  # thread: cleaner
        self.ongoing_aborted_txns: dict[int, AbortedTransactionMetadata] = {}  # thread: cleaner
        self.add_aborted_transactions(aborted_transactions)

    @classmethod
    def apply(
        cls, aborted_transactions: Iterable[AbortedTxn], transaction_index: TransactionIndex | None = None
    ) -> CleanedTransactionMetadata:
        """A new state that knows these transactions."""
        return cls(aborted_transactions, transaction_index)

    def add_aborted_transactions(self, aborted_transactions: Iterable[AbortedTxn]) -> None:
        """Make the transactions of the next segments known."""
        for txn in aborted_transactions:
            heapq.heappush(self.aborted_transactions, (txn.first_offset, self._added, txn))
            self._added += 1

    def on_control_batch_read(self, control_batch: RecordBatch) -> bool:
        """Note a marker; whether it can be thrown away."""
        self._consume_aborted_txns_up_to(control_batch.last_offset())
        control_record = next(iter(control_batch), None)
        if control_record is None:
            return True
        control_type = ControlRecordType.parse(control_record.key() or b"")
        producer_id = control_batch.producer_id()
        if control_type is ControlRecordType.ABORT:
            metadata = self.ongoing_aborted_txns.pop(producer_id, None)
            if metadata is None or metadata.last_observed_batch_offset is None:
                return True
            if self.transaction_index is not None:
                self.transaction_index.append(metadata.aborted_txn)
            return False
        if control_type is ControlRecordType.COMMIT:
            if producer_id not in self.ongoing_committed_txns:
                return True
            self.ongoing_committed_txns.remove(producer_id)
        return False

    def on_batch_read(self, batch: RecordBatch) -> bool:
        """Note a batch of records; whether it belongs to an aborted transaction, so that it can be thrown away."""
        self._consume_aborted_txns_up_to(batch.last_offset())
        if not batch.is_transactional():
            return False
        metadata = self.ongoing_aborted_txns.get(batch.producer_id())
        if metadata is None:
            self.ongoing_committed_txns.add(batch.producer_id())
            return False
        metadata.last_observed_batch_offset = batch.last_offset()
        return True

    def _consume_aborted_txns_up_to(self, offset: int) -> None:
        waiting = self.aborted_transactions
        while waiting and waiting[0][0] <= offset:
            txn = heapq.heappop(waiting)[2]
            # one that spans segments was added for each of them
            self.ongoing_aborted_txns.setdefault(txn.producer_id, AbortedTransactionMetadata(txn))


CleanedTransactionMetadata.EMPTY = CleanedTransactionMetadata()
