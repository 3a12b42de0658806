"""What is remembered of one producer, and how the next append from it is checked.

Mirrors: core/src/main/scala/kafka/log/ProducerStateManager.scala @ 1.1.1 (its upper half; 3.7.1 has these classes in
         files of their own too)
Read next: producer_state_manager.py
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_py.common.errors import (
    InvalidTxnStateException,
    OutOfOrderSequenceException,
    ProducerFencedException,
    TransactionCoordinatorFencedException,
    UnknownProducerIdException,
)
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.server.log_offset_metadata import LogOffsetMetadata

if TYPE_CHECKING:
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.log.verification_guard import VerificationStateEntry

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
_INT_MAX = 2**31 - 1


class CompletedTxn(NamedTuple):
    """A transaction whose marker was appended.

    `last_offset` is the offset of the COMMIT or ABORT marker itself.

    Mirrors: kafka.log.CompletedTxn
    Differs: Scala keeps it in Log.scala; log.py re-exports it.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool

    def __str__(self) -> str:
        return (
            f"CompletedTxn(producerId={self.producer_id}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset}, isAborted={self.is_aborted})"
        )


class ValidationType:
    """How much of an append is checked against the producer's state.

    REPLICATED: nothing at all, for followers, and for state rebuilt from the log. EPOCH_ONLY: what the coordinators
    write; offset commits of transactional producers carry no sequence. FULL: produce requests.

    Mirrors: kafka.log.ValidationType
    Differs: REPLICATED. 1.1.1 checks markers on followers and while loading as well, where a broker that has not yet
        forgotten a producer may refuse what the leader took: then replication stops, or the start (KAFKA-9144). As
        from 2.5 on, what a coordinator writes has its epoch checked: in 1.1.1 a producer that was fenced could still
        commit offsets, within the transaction of its successor.
    Left out: None -- REPLICATED
    """

    REPLICATED: ClassVar[ValidationType]
    EPOCH_ONLY: ClassVar[ValidationType]
    FULL: ClassVar[ValidationType]

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


ValidationType.REPLICATED = ValidationType("Replicated")
ValidationType.EPOCH_ONLY = ValidationType("EpochOnly")
ValidationType.FULL = ValidationType("Full")


class TxnMetadata:
    """An open transaction: where it began, and where its marker is once it has one.

    Mirrors: kafka.log.TxnMetadata
    Thread: holders of Log.lock.
    """

    __slots__ = ("first_offset", "last_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: LogOffsetMetadata | int, last_offset: int | None = None) -> None:
        self.producer_id = producer_id
        self.first_offset = (
            first_offset if isinstance(first_offset, LogOffsetMetadata) else LogOffsetMetadata(first_offset)
        )  # volatile: writer under Log.lock
        self.last_offset = last_offset  # volatile: writer under Log.lock

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TxnMetadata) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.producer_id)

    def __repr__(self) -> str:
        return (
            f"TxnMetadata(producerId={self.producer_id}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset})"
        )


class BatchMetadata(NamedTuple):
    """One remembered batch of a producer.

    Mirrors: kafka.log.BatchMetadata
    Differs: `offset_delta` of a batch whose sequences wrap past 2^31-1 is its true length, so that its first
        sequence and first offset come out right; Kafka 1.1.1 subtracts without wrapping.
    """

    last_seq: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_seq(self) -> int:
        """Sequence of its first record."""
        first = self.last_seq - self.offset_delta
        return first if first >= 0 or self.offset_delta == 0 else first + _INT_MAX + 1

    @property
    def first_offset(self) -> int:
        """Offset of its first record."""
        return self.last_offset - self.offset_delta

    def __str__(self) -> str:
        return (
            f"BatchMetadata(firstSeq={self.first_seq}, lastSeq={self.last_seq}, firstOffset={self.first_offset}, "
            f"lastOffset={self.last_offset}, timestamp={self.timestamp})"
        )


class ProducerStateEntry:
    """The last five batches of a producer, its epoch, and its open transaction if it has one.

    Five is what a client may have in flight; a batch that is sent again is recognised among them.

    Mirrors: kafka.log.ProducerStateEntry
    Thread: holders of Log.lock.
    Left out: removeBatchesOlderThan -- in 1.1.1 it computes a shorter queue and drops it, so it changes nothing
    """

    __slots__ = ("batch_metadata", "coordinator_epoch", "current_txn_first_offset", "producer_epoch", "producer_id")

    NUM_BATCHES_TO_RETAIN = 5

    def __init__(
        self,
        producer_id: int,
        batch_metadata: deque[BatchMetadata],
        producer_epoch: int,
        coordinator_epoch: int,
        current_txn_first_offset: int | None,
    ) -> None:
        self.producer_id = producer_id
        # oldest first
        self.batch_metadata = batch_metadata  # volatile: writer under Log.lock
        self.producer_epoch = producer_epoch  # volatile: writer under Log.lock
        self.coordinator_epoch = coordinator_epoch  # volatile: writer under Log.lock
        self.current_txn_first_offset = current_txn_first_offset  # volatile: writer under Log.lock

    @classmethod
    def empty(cls, producer_id: int) -> ProducerStateEntry:
        """The state of a producer that never wrote."""
        return cls(producer_id, deque(), NO_PRODUCER_EPOCH, -1, None)

    @property
    def first_seq(self) -> int:
        """First sequence of the oldest batch, -1 if none."""
        return self.batch_metadata[0].first_seq if self.batch_metadata else NO_SEQUENCE

    @property
    def first_offset(self) -> int:
        """First offset of the oldest batch, -1 if none."""
        return self.batch_metadata[0].first_offset if self.batch_metadata else -1

    @property
    def last_seq(self) -> int:
        """Last sequence of the newest batch, -1 if none."""
        return self.batch_metadata[-1].last_seq if self.batch_metadata else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """Last offset of the newest batch, -1 if none."""
        return self.batch_metadata[-1].last_offset if self.batch_metadata else -1

    @property
    def last_timestamp(self) -> int:
        """Timestamp of the newest batch, -1 if none."""
        return self.batch_metadata[-1].timestamp if self.batch_metadata else NO_TIMESTAMP

    @property
    def last_offset_delta(self) -> int:
        """Last minus first offset of the newest batch, 0 if none."""
        return self.batch_metadata[-1].offset_delta if self.batch_metadata else 0

    @property
    def is_empty(self) -> bool:
        """Whether no batch is remembered."""
        return not self.batch_metadata

    def add_batch(
        self, producer_epoch: int, last_seq: int, last_offset: int, offset_delta: int, timestamp: int
    ) -> None:
        """Remember a batch, forgetting the sixth; a new epoch forgets all before it."""
        self.maybe_update_epoch(producer_epoch)
        self._add_batch_metadata(BatchMetadata(last_seq, last_offset, offset_delta, timestamp))

    def maybe_update_epoch(self, producer_epoch: int) -> bool:
        """Take a different epoch and forget the batches of the old one; False if it is the same."""
        if self.producer_epoch == producer_epoch:
            return False
        self.batch_metadata.clear()
        self.producer_epoch = producer_epoch
        return True

    def _add_batch_metadata(self, batch: BatchMetadata) -> None:
        if len(self.batch_metadata) == self.NUM_BATCHES_TO_RETAIN:
            self.batch_metadata.popleft()
        self.batch_metadata.append(batch)

    def update(self, next_entry: ProducerStateEntry) -> None:
        """Take over epoch, batches and transaction of `next_entry`, whose batches are moved here."""
        self.maybe_update_epoch(next_entry.producer_epoch)
        while next_entry.batch_metadata:
            self._add_batch_metadata(next_entry.batch_metadata.popleft())
        self.coordinator_epoch = next_entry.coordinator_epoch
        self.current_txn_first_offset = next_entry.current_txn_first_offset

    def find_duplicate_batch(self, batch: RecordBatch) -> BatchMetadata | None:
        """The remembered batch that `batch` repeats, None if it is new."""
        if batch.producer_epoch() != self.producer_epoch:
            return None
        return self.batch_with_sequence_range(batch.base_sequence(), batch.last_sequence())

    def batch_with_sequence_range(self, first_seq: int, last_seq: int) -> BatchMetadata | None:
        """The remembered batch with exactly these sequences."""
        for metadata in self.batch_metadata:
            if last_seq == metadata.last_seq and first_seq == metadata.first_seq:
                return metadata
        return None

    def __repr__(self) -> str:
        return (
            f"ProducerStateEntry(producerId={self.producer_id}, producerEpoch={self.producer_epoch}, "
            f"currentTxnFirstOffset={self.current_txn_first_offset}, coordinatorEpoch={self.coordinator_epoch}, "
            f"batchMetadata={list(self.batch_metadata)})"
        )


class ProducerAppendInfo:
    """Checks the batches one producer adds in one append, and collects what will change if the append succeeds.

    Nothing of `current_entry` changes before ProducerStateManager.update.

    Mirrors: kafka.log.ProducerAppendInfo
    Thread: holders of Log.lock.
    Differs: the overload of `append` that takes single values is `append_data_batch`, its name in later versions.
    """

    __slots__ = (
        "_transactions",
        "_updated_entry",
        "_verification_state_entry",
        "current_entry",
        "producer_id",
        "validation_type",
    )

    def __init__(
        self,
        producer_id: int,
        current_entry: ProducerStateEntry,
        validation_type: ValidationType,
        verification_state_entry: VerificationStateEntry | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.current_entry = current_entry
        self.validation_type = validation_type
        self._verification_state_entry = verification_state_entry
        self._transactions: list[TxnMetadata] = []  # volatile: writer under Log.lock
        self._updated_entry = ProducerStateEntry(
            producer_id,
            deque(),
            current_entry.producer_epoch,
            current_entry.coordinator_epoch,
            current_entry.current_txn_first_offset,
        )  # volatile: writer under Log.lock

    def _maybe_validate_append(self, producer_epoch: int, first_seq: int) -> None:
        if self.validation_type is ValidationType.REPLICATED:
            return
        self._check_producer_epoch(producer_epoch)
        if self.validation_type is ValidationType.FULL:
            self._check_sequence(producer_epoch, first_seq)

    def _check_producer_epoch(self, producer_epoch: int) -> None:
        if producer_epoch < self._updated_entry.producer_epoch:
            raise ProducerFencedException(
                f"Producer's epoch is no longer valid. There is probably another producer with a newer epoch. "
                f"{producer_epoch} (request epoch), {self._updated_entry.producer_epoch} (server epoch)"
            )

    def _check_sequence(self, producer_epoch: int, append_first_seq: int) -> None:
        verification = self._verification_state_entry
        if verification is not None and append_first_seq > verification.lowest_sequence:
            raise OutOfOrderSequenceException(
                f"Out of order sequence number for producerId {self.producer_id}: {append_first_seq} (incoming seq. "
                f"number), {verification.lowest_sequence} (earliest seen sequence)"
            )
        updated = self._updated_entry
        if producer_epoch != updated.producer_epoch:
            if append_first_seq != 0:
                if updated.producer_epoch != NO_PRODUCER_EPOCH:
                    raise OutOfOrderSequenceException(
                        f"Invalid sequence number for new epoch: {producer_epoch} (request epoch), {append_first_seq} "
                        f"(seq. number)"
                    )
                raise UnknownProducerIdException(
                    f"Found no record of producerId={self.producer_id} on the broker. It is possible that the last "
                    f"message with the producerId={self.producer_id} has been removed due to hitting the retention "
                    f"limit."
                )
            return
        if not updated.is_empty:
            current_last_seq = updated.last_seq
        elif producer_epoch == self.current_entry.producer_epoch:
            current_last_seq = self.current_entry.last_seq
        else:
            current_last_seq = NO_SEQUENCE
        if current_last_seq == NO_SEQUENCE and append_first_seq != 0:
            # a control record raised the epoch, so the producer must begin again at 0
            raise OutOfOrderSequenceException(
                f"Out of order sequence number for producerId {self.producer_id}: found {append_first_seq} "
                f"(incoming seq. number), but expected 0"
            )
        if not self._in_sequence(current_last_seq, append_first_seq):
            raise OutOfOrderSequenceException(
                f"Out of order sequence number for producerId {self.producer_id}: {append_first_seq} (incoming seq. "
                f"number), {current_last_seq} (current end sequence number)"
            )

    @staticmethod
    def _in_sequence(last_seq: int, next_seq: int) -> bool:
        return next_seq == last_seq + 1 or (next_seq == 0 and last_seq == _INT_MAX)

    def append(self, batch: RecordBatch) -> CompletedTxn | None:
        """Check and note one batch; the transaction it ended if it is a marker.

        Raises ProducerFencedException, OutOfOrderSequenceException, UnknownProducerIdException,
        InvalidTxnStateException or TransactionCoordinatorFencedException.
        """
        if batch.is_control_batch():
            record = next(iter(batch), None)
            if record is None:  # a newer broker's cleaner emptied it: nothing is left of the transaction
                return None
            marker = EndTransactionMarker.deserialize(record)
            return self.append_end_txn_marker(marker, batch.producer_epoch(), batch.base_offset(), record.timestamp())
        self.append_data_batch(
            batch.producer_epoch(),
            batch.base_sequence(),
            batch.last_sequence(),
            batch.max_timestamp(),
            batch.last_offset(),
            batch.is_transactional(),
        )
        return None

    def append_data_batch(
        self, epoch: int, first_seq: int, last_seq: int, last_timestamp: int, last_offset: int, is_transactional: bool
    ) -> None:
        """Check and note one batch given by its values; raises as `append`."""
        self._maybe_validate_append(epoch, first_seq)
        offset_delta = (last_seq - first_seq) & _INT_MAX  # sequences wrap from 2^31-1 to 0
        updated = self._updated_entry
        updated.add_batch(epoch, last_seq, last_offset, offset_delta, last_timestamp)
        if updated.current_txn_first_offset is None:
            if is_transactional:
                first_offset = last_offset - offset_delta
                updated.current_txn_first_offset = first_offset
                self._transactions.append(TxnMetadata(self.producer_id, first_offset))
        elif not is_transactional:
            raise InvalidTxnStateException(f"Expected transactional write from producer {self.producer_id}")

    def append_end_txn_marker(
        self, end_txn_marker: EndTransactionMarker, producer_epoch: int, offset: int, timestamp: int
    ) -> CompletedTxn:
        """Check and note a COMMIT or ABORT marker at `offset`; a transaction without data begins at its marker."""
        updated = self._updated_entry
        if self.validation_type is not ValidationType.REPLICATED:
            self._check_producer_epoch(producer_epoch)
            if updated.coordinator_epoch > end_txn_marker.coordinator_epoch():
                raise TransactionCoordinatorFencedException(
                    f"Invalid coordinator epoch: {end_txn_marker.coordinator_epoch()} (zombie), "
                    f"{updated.coordinator_epoch} (current)"
                )
        updated.maybe_update_epoch(producer_epoch)
        first_offset = updated.current_txn_first_offset
        if first_offset is None:
            self._transactions.append(TxnMetadata(self.producer_id, offset))
            first_offset = offset
        updated.current_txn_first_offset = None
        updated.coordinator_epoch = end_txn_marker.coordinator_epoch()
        is_aborted = end_txn_marker.control_type() is ControlRecordType.ABORT
        return CompletedTxn(self.producer_id, first_offset, offset, is_aborted)

    def to_entry(self) -> ProducerStateEntry:
        """The collected state."""
        return self._updated_entry

    @property
    def started_transactions(self) -> list[TxnMetadata]:
        """The transactions that began in this append."""
        return list(self._transactions)

    def maybe_cache_txn_first_offset_metadata(self, log_offset_metadata: LogOffsetMetadata) -> None:
        """Give the first transaction begun here its place on disk, if this append starts with it.

        On a leader it always does, because an append holds one producer's data.
        """
        if self._transactions:
            txn = self._transactions[0]
            if txn.first_offset.message_offset == log_offset_metadata.message_offset:
                txn.first_offset = log_offset_metadata

    def __repr__(self) -> str:
        updated = self._updated_entry
        return (
            f"ProducerAppendInfo(producerId={self.producer_id}, producerEpoch={updated.producer_epoch}, "
            f"firstSequence={updated.first_seq}, lastSequence={updated.last_seq}, "
            f"currentTxnFirstOffset={updated.current_txn_first_offset}, "
            f"coordinatorEpoch={updated.coordinator_epoch}, startedTransactions={self._transactions})"
        )
