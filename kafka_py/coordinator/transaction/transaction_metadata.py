"""The life of a transaction as its coordinator keeps it, and the steps it may take.

VALID_PREVIOUS_STATES says which steps there are; docs/states.md draws it.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionMetadata.scala @ 1.1.1 (the epochs of KIP-360 as
    in 2.5.1, what 3.7.1 mended as there)
Read next: transaction_log.py, transaction_state_manager.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple, TypeVar

from kafka_py.common.errors import IllegalArgumentException, IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging, shown

T = TypeVar("T")
_SHORT_MAX = 32767


class TransactionState:
    """One station of a transaction: its name, its byte in the log, and the stations it may be reached from.

    Mirrors: kafka.coordinator.transaction.TransactionState
    Differs: says, as in later Kafka, whether an id may expire in it.
    """

    def __init__(self, name: str, byte: int, is_expiration_allowed: bool = False) -> None:
        self.name = name
        self.byte = byte
        self.is_expiration_allowed = is_expiration_allowed
        self.valid_previous_states: frozenset[TransactionState] = frozenset()

    def __repr__(self) -> str:
        return self.name


# nothing is open: the producer has its id, or what it had open has ended
Empty = TransactionState("Empty", 0, is_expiration_allowed=True)
# partitions were added since the last transaction
Ongoing = TransactionState("Ongoing", 1)
# the outcome is in the log: from here the markers are written, whatever fails
PrepareCommit = TransactionState("PrepareCommit", 2)
PrepareAbort = TransactionState("PrepareAbort", 3)
# every partition has its marker
CompleteCommit = TransactionState("CompleteCommit", 4, is_expiration_allowed=True)
CompleteAbort = TransactionState("CompleteAbort", 5, is_expiration_allowed=True)
# long unused: its tombstone is being written
Dead = TransactionState("Dead", 6)
# a newer producer came, or the time was over: the old one's epoch is taken from it before the transaction is aborted
PrepareEpochFence = TransactionState("PrepareEpochFence", 7)

VALID_PREVIOUS_STATES = {
    Empty: frozenset({Empty, CompleteCommit, CompleteAbort}),
    Ongoing: frozenset({Ongoing, Empty, CompleteCommit, CompleteAbort}),
    PrepareCommit: frozenset({Ongoing}),
    PrepareAbort: frozenset({Ongoing, PrepareEpochFence}),
    CompleteCommit: frozenset({PrepareCommit}),
    CompleteAbort: frozenset({PrepareAbort}),
    Dead: frozenset({Empty, CompleteAbort, CompleteCommit}),
    PrepareEpochFence: frozenset({Ongoing}),
}
for _state, _previous in VALID_PREVIOUS_STATES.items():
    _state.valid_previous_states = _previous
_STATES = {state.byte: state for state in VALID_PREVIOUS_STATES}


class TxnTransitMetadata(NamedTuple):
    """What a transaction shall be after a step: written to the log first, and only then taken over.

    Mirrors: kafka.coordinator.transaction.TxnTransitMetadata
    Left out: toString -- is __str__
    Thread: any; immutable.
    """

    producer_id: int
    last_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    txn_timeout_ms: int
    txn_state: TransactionState
    topic_partitions: frozenset[TopicPartition]
    txn_start_timestamp: int
    txn_last_update_timestamp: int

    def __str__(self) -> str:
        """The text of Kafka's log lines."""
        return (
            f"TxnTransitMetadata(producerId={self.producer_id}, lastProducerId={self.last_producer_id}, "
            f"producerEpoch={self.producer_epoch}, lastProducerEpoch={self.last_producer_epoch}, "
            f"txnTimeoutMs={self.txn_timeout_ms}, txnState={self.txn_state}, "
            f"topicPartitions={shown(self.topic_partitions)}, txnStartTimestamp={self.txn_start_timestamp}, "
            f"txnLastUpdateTimestamp={self.txn_last_update_timestamp})"
        )

    def __repr__(self) -> str:
        return str(self)


class TransactionMetadata(Logging):
    """What the coordinator knows of one transactional id.

    A step has two halves. `prepare_…` notes the state it leads to as pending, which refuses any other step, and
    answers what to write to the log; `complete_transition_to` takes that over once it is written and replicated.

    Mirrors: kafka.coordinator.transaction.TransactionMetadata
    Thread:  request handlers, transaction-log-manager-0, the sender of markers; one at a time, by `lock`.
    Locks:   lock, taken within TransactionStateManager's state read lock and never the other way round. No append and
        no wait for one is made under it.
    Differs: partitions that a step names are checked without copying them. As in later Kafka an id that never got a
        producer epoch may expire, two that differ in the last producer epoch are not equal, and a fencing whose
        record could not be written does not take a second epoch when it is tried again (has_failed_epoch_fence, which
        the coordinator sets).
    """

    def __init__(
        self,
        transactional_id: str,
        producer_id: int,
        last_producer_id: int,
        producer_epoch: int,
        last_producer_epoch: int,
        txn_timeout_ms: int,
        state: TransactionState,
        topic_partitions: Iterable[TopicPartition],
        txn_start_timestamp: int,
        txn_last_update_timestamp: int,
    ) -> None:
        """Timestamps are in ms; a start of -1 says that nothing has been started."""
        self.lock = ReentrantLock()
        self.transactional_id = transactional_id
        self.producer_id = producer_id  # volatile: holders of lock
        self.last_producer_id = last_producer_id  # volatile: holders of lock
        self.producer_epoch = producer_epoch  # volatile: holders of lock
        self.last_producer_epoch = last_producer_epoch  # volatile: holders of lock
        self.txn_timeout_ms = txn_timeout_ms  # volatile: holders of lock
        self.state = state  # volatile: holders of lock
        self.topic_partitions = set(topic_partitions)
        self.txn_start_timestamp = txn_start_timestamp  # volatile: holders of lock
        self.txn_last_update_timestamp = txn_last_update_timestamp  # volatile: holders of lock
        # the state of a step that is being written to the log; None when there is no such step
        self.pending_state: TransactionState | None = None  # volatile: holders of lock
        # a fenced epoch may or may not be in the log: the next attempt must not take yet another one
        self.has_failed_epoch_fence = False  # volatile: holders of lock

    @classmethod
    def apply(
        cls,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        txn_timeout_ms: int,
        timestamp: int,
        *,
        state: TransactionState = Empty,
        last_producer_id: int = RecordBatch.NO_PRODUCER_ID,
        last_producer_epoch: int = RecordBatch.NO_PRODUCER_EPOCH,
    ) -> TransactionMetadata:
        """One without partitions, both of whose timestamps are `timestamp` (ms)."""
        return cls(
            transactional_id,
            producer_id,
            last_producer_id,
            producer_epoch,
            last_producer_epoch,
            txn_timeout_ms,
            state,
            (),
            timestamp,
            timestamp,
        )

    @staticmethod
    def byte_to_state(byte: int) -> TransactionState:
        """The state that a byte of the log stands for; IllegalStateException for a byte that none has."""
        state = _STATES.get(byte)
        if state is None:
            raise IllegalStateException(f"Unknown transaction state byte {byte} from the transaction status message")
        return state

    @staticmethod
    def is_valid_transition(old_state: TransactionState, new_state: TransactionState) -> bool:
        """Whether the table has the step."""
        return old_state in new_state.valid_previous_states

    @staticmethod
    def is_epoch_exhausted(producer_epoch: int) -> bool:
        """Whether an epoch is the last a client gets: one above it is kept, to fence that client with."""
        return producer_epoch >= _SHORT_MAX - 1

    def in_lock(self, fun: Callable[[], T]) -> T:
        """Call under the lock."""
        with self.lock:
            return fun()

    def add_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Make partitions part of the transaction."""
        self.topic_partitions.update(partitions)

    def remove_partition(self, topic_partition: TopicPartition) -> None:
        """Forget a partition that has its marker; IllegalStateException unless markers are being written."""
        if self.state is not PrepareCommit and self.state is not PrepareAbort:
            raise IllegalStateException(
                f"Transaction metadata's current state is {self.state}, and its pending state is "
                f"{self.pending_state} while trying to remove partitions whose txn marker has been sent, this is not "
                f"expected"
            )
        self.topic_partitions.discard(topic_partition)

    # ---- the first half of each step

    def prepare_no_transit(self) -> TxnTransitMetadata:
        """What it is now, with nothing pending: another step may be prepared before this one is written."""
        return TxnTransitMetadata(
            self.producer_id,
            self.last_producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.txn_timeout_ms,
            self.state,
            frozenset(self.topic_partitions),
            self.txn_start_timestamp,
            self.txn_last_update_timestamp,
        )

    def prepare_fence_producer_epoch(self) -> TxnTransitMetadata:
        """Take the next epoch, so that the producer which has the present one can do nothing more."""
        if self.producer_epoch == _SHORT_MAX:
            raise IllegalStateException(
                "Cannot fence producer with epoch equal to Short.MaxValue since this would overflow"
            )
        # an epoch taken by an attempt that failed was never told to a client: it will do
        bumped_epoch = self.producer_epoch if self.has_failed_epoch_fence else self.producer_epoch + 1
        return self._prepare_transition_to(
            PrepareEpochFence,
            self.producer_id,
            bumped_epoch,
            RecordBatch.NO_PRODUCER_EPOCH,
            self.txn_timeout_ms,
            self.topic_partitions,
            self.txn_start_timestamp,
            self.txn_last_update_timestamp,
        )

    def prepare_increment_producer_epoch(
        self, new_txn_timeout_ms: int, expected_producer_epoch: int | None, update_timestamp: int
    ) -> TxnTransitMetadata | Errors:
        """The next epoch for a producer that begins (expects none) or goes on after an error (expects its own).

        INVALID_PRODUCER_EPOCH for one that expects an epoch which was taken from it meanwhile.
        """
        if self.is_producer_epoch_exhausted:
            raise IllegalStateException(f"Cannot allocate any more producer epochs for producerId {self.producer_id}")
        epochs = self._bumped_epochs(expected_producer_epoch)
        if epochs is None:
            self.info(
                "Expected producer epoch %s does not match current producer epoch %d or previous producer epoch %d",
                expected_producer_epoch,
                self.producer_epoch,
                self.last_producer_epoch,
            )
            return Errors.INVALID_PRODUCER_EPOCH
        next_epoch, last_epoch = epochs
        return self._prepare_transition_to(
            Empty, self.producer_id, next_epoch, last_epoch, new_txn_timeout_ms, (), -1, update_timestamp
        )

    def _bumped_epochs(self, expected_epoch: int | None) -> tuple[int, int] | None:
        """The next epoch and the one before it, as they shall be remembered; None for a fenced producer.

        A new id has epoch -1, so that its first is 0.
        """
        bumped_epoch = self.producer_epoch + 1
        if expected_epoch is None:
            # A producer that begins knows no earlier epoch: nobody can repeat its request by naming one.
            return bumped_epoch, RecordBatch.NO_PRODUCER_EPOCH
        if self.producer_epoch in (RecordBatch.NO_PRODUCER_EPOCH, expected_epoch):
            return bumped_epoch, self.producer_epoch
        if expected_epoch == self.last_producer_epoch:
            # The answer to this producer's request got lost, and it asks again: it gets what it was given. It cannot
            # be another's epoch, for a producer that begins sets the last epoch to -1. The log does not keep the last
            # epoch, so a request that is repeated to another coordinator is refused.
            return self.producer_epoch, self.last_producer_epoch
        return None

    def prepare_producer_id_rotation(
        self, new_producer_id: int, new_txn_timeout_ms: int, update_timestamp: int, record_last_epoch: bool
    ) -> TxnTransitMetadata:
        """Begin again with epoch 0 of another producer id, when this one's epochs are used up."""
        if self._has_pending_transaction:
            raise IllegalStateException("Cannot rotate producer ids while a transaction is still pending")
        last_epoch = self.producer_epoch if record_last_epoch else RecordBatch.NO_PRODUCER_EPOCH
        return self._prepare_transition_to(
            Empty, new_producer_id, 0, last_epoch, new_txn_timeout_ms, (), -1, update_timestamp
        )

    def prepare_add_partitions(
        self, added_topic_partitions: Iterable[TopicPartition], update_timestamp: int
    ) -> TxnTransitMetadata:
        """More partitions; the first ones start the transaction."""
        starts = self.state in (Empty, CompleteAbort, CompleteCommit)
        return self._prepare_transition_to(
            Ongoing,
            self.producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.txn_timeout_ms,
            self.topic_partitions.union(added_topic_partitions),
            update_timestamp if starts else self.txn_start_timestamp,
            update_timestamp,
        )

    def prepare_abort_or_commit(self, new_state: TransactionState, update_timestamp: int) -> TxnTransitMetadata:
        """PrepareCommit or PrepareAbort, with the partitions that shall get markers."""
        return self._prepare_transition_to(
            new_state,
            self.producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.txn_timeout_ms,
            self.topic_partitions,
            self.txn_start_timestamp,
            update_timestamp,
        )

    def prepare_complete(self, update_timestamp: int) -> TxnTransitMetadata:
        """The end, after all markers: CompleteCommit or CompleteAbort."""
        new_state = CompleteCommit if self.state is PrepareCommit else CompleteAbort
        # the outcome is in the log, and with it the epoch
        self.has_failed_epoch_fence = False
        return self._prepare_transition_to(
            new_state,
            self.producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.txn_timeout_ms,
            (),
            self.txn_start_timestamp,
            update_timestamp,
        )

    def prepare_dead(self) -> TxnTransitMetadata:
        """The removal of an id that was not used for long."""
        return self._prepare_transition_to(
            Dead,
            self.producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.txn_timeout_ms,
            (),
            self.txn_start_timestamp,
            self.txn_last_update_timestamp,
        )

    @property
    def is_producer_epoch_exhausted(self) -> bool:
        """Whether the producer id has no epoch left for a client."""
        return self.is_epoch_exhausted(self.producer_epoch)

    @property
    def _has_pending_transaction(self) -> bool:
        return self.state in (Ongoing, PrepareAbort, PrepareCommit)

    @property
    def pending_transition_in_progress(self) -> bool:
        """Whether a step is being written to the log."""
        return self.pending_state is not None

    def _prepare_transition_to(
        self,
        new_state: TransactionState,
        new_producer_id: int,
        new_epoch: int,
        new_last_epoch: int,
        new_txn_timeout_ms: int,
        new_topic_partitions: Iterable[TopicPartition],
        new_txn_start_timestamp: int,
        update_timestamp: int,
    ) -> TxnTransitMetadata:
        """Note the state as pending.

        IllegalStateException while another is, or when the table lacks the step; IllegalArgumentException for an id
        or an epoch below 0.
        """
        if self.pending_state is not None:
            raise IllegalStateException(
                f"Preparing transaction state transition to {new_state} while it already a pending state "
                f"{self.pending_state}"
            )
        if new_producer_id < 0:
            raise IllegalArgumentException(f"Illegal new producer id {new_producer_id}")
        # an id that was made and never got further has epoch -1 still when it expires
        if new_epoch < 0 and new_state is not Dead:
            raise IllegalArgumentException(f"Illegal new producer epoch {new_epoch}")
        if self.state not in new_state.valid_previous_states:
            raise IllegalStateException(
                f"Preparing transaction state transition to {new_state} failed since the target state {new_state} is "
                f"not a valid previous state of the current state {self.state}"
            )
        transit_metadata = TxnTransitMetadata(
            new_producer_id,
            self.producer_id,
            new_epoch,
            new_last_epoch,
            new_txn_timeout_ms,
            new_state,
            frozenset(new_topic_partitions),
            new_txn_start_timestamp,
            update_timestamp,
        )
        if self.is_debug_enabled:
            self.debug(
                "TransactionalId %s prepare transition from %s to %s",
                self.transactional_id,
                self.state,
                transit_metadata,
            )
        self.pending_state = new_state
        return transit_metadata

    # ---- the second half

    def complete_transition_to(self, transit_metadata: TxnTransitMetadata) -> None:
        """Take over what is in the log now; IllegalStateException if it does not follow from what is here.

        It follows when its state is the pending one, its epoch is ours or the next (or 0 of another producer id), no
        partition got lost, and what the step does not touch is as it was.
        """
        to_state = self.pending_state
        if to_state is None:
            self.fatal(
                "%s's transition to %s failed since pendingState is not defined: this should not happen",
                self,
                transit_metadata,
            )
            raise IllegalStateException(
                f"TransactionalId {self.transactional_id} completing transaction state transition while it does not "
                f"have a pending state"
            )
        if to_state is Dead:
            raise IllegalStateException(
                f"TransactionalId {self.transactional_id} is trying to complete a transition to {to_state}. This means "
                f"that the transactionalId was being expired, and the only acceptable completion of this operation is "
                f"to remove the transaction metadata from the cache, not to persist the {to_state} in the log."
            )
        take_over = self._TAKE_OVER.get(to_state)
        if to_state is not transit_metadata.txn_state or take_over is None or not take_over(self, transit_metadata):
            self._throw_state_transition_failure(transit_metadata)
        if self.is_debug_enabled:
            self.debug(
                "TransactionalId %s complete transition from %s to %s",
                self.transactional_id,
                self.state,
                transit_metadata,
            )
        self.txn_last_update_timestamp = transit_metadata.txn_last_update_timestamp
        self.pending_state = None
        self.state = to_state

    def _take_over_empty(self, transit: TxnTransitMetadata) -> bool:
        """After InitProducerId: another epoch, and perhaps another id. False if that does not follow."""
        if (
            (self.producer_epoch != transit.producer_epoch and not self._valid_producer_epoch_bump(transit))
            or transit.topic_partitions
            or transit.txn_start_timestamp != -1
        ):
            return False
        self.txn_timeout_ms = transit.txn_timeout_ms
        self.producer_epoch = transit.producer_epoch
        self.last_producer_epoch = transit.last_producer_epoch
        self.producer_id = transit.producer_id
        self.last_producer_id = transit.last_producer_id
        return True

    def _take_over_ongoing(self, transit: TxnTransitMetadata) -> bool:
        """After AddPartitionsToTxn and AddOffsetsToTxn. False if it does not follow."""
        if (
            not self._valid_producer_epoch(transit)
            or not self.topic_partitions <= transit.topic_partitions
            or self.txn_timeout_ms != transit.txn_timeout_ms
        ):
            return False
        self.txn_start_timestamp = transit.txn_start_timestamp
        self.add_partitions(transit.topic_partitions)
        return True

    def _take_over_outcome(self, transit: TxnTransitMetadata) -> bool:
        """After EndTxn: nothing but the state changes. False if it does not follow."""
        return (
            self._valid_producer_epoch(transit)
            and self.topic_partitions == transit.topic_partitions
            and self.txn_timeout_ms == transit.txn_timeout_ms
            and self.txn_start_timestamp == transit.txn_start_timestamp
        )

    def _take_over_completion(self, transit: TxnTransitMetadata) -> bool:
        """After the last marker. False if it does not follow."""
        if (
            not self._valid_producer_epoch(transit)
            or self.txn_timeout_ms != transit.txn_timeout_ms
            or transit.txn_start_timestamp == -1
        ):
            return False
        self.txn_start_timestamp = transit.txn_start_timestamp
        self.topic_partitions.clear()
        return True

    # PrepareEpochFence is missing: that state is pending only, and becomes PrepareAbort before anything is written.
    _TAKE_OVER: ClassVar[dict[TransactionState, Callable[[TransactionMetadata, TxnTransitMetadata], bool]]] = {
        Empty: _take_over_empty,
        Ongoing: _take_over_ongoing,
        PrepareCommit: _take_over_outcome,
        PrepareAbort: _take_over_outcome,
        CompleteCommit: _take_over_completion,
        CompleteAbort: _take_over_completion,
    }

    def _valid_producer_epoch(self, transit_metadata: TxnTransitMetadata) -> bool:
        return (
            transit_metadata.producer_epoch == self.producer_epoch and transit_metadata.producer_id == self.producer_id
        )

    def _valid_producer_epoch_bump(self, transit_metadata: TxnTransitMetadata) -> bool:
        transit_epoch = transit_metadata.producer_epoch
        return transit_epoch == self.producer_epoch + 1 or (
            transit_epoch == 0 and transit_metadata.producer_id != self.producer_id
        )

    def _throw_state_transition_failure(self, transit_metadata: TxnTransitMetadata) -> None:
        self.fatal("%s's transition to %s failed: this should not happen", self, transit_metadata)
        raise IllegalStateException(
            f"TransactionalId {self.transactional_id} failed transition to state {transit_metadata} due to unexpected "
            f"metadata"
        )

    def __str__(self) -> str:
        return (
            f"TransactionMetadata(transactionalId={self.transactional_id}, producerId={self.producer_id}, "
            f"producerEpoch={self.producer_epoch}, txnTimeoutMs={self.txn_timeout_ms}, state={self.state}, "
            f"pendingState={self.pending_state}, topicPartitions={shown(self.topic_partitions)}, "
            f"txnStartTimestamp={self.txn_start_timestamp}, txnLastUpdateTimestamp={self.txn_last_update_timestamp})"
        )

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TransactionMetadata) and self._compared() == other._compared()

    def _compared(self) -> dict[str, object]:
        """What two equal ones have in common: all but the pending step and the last producer id."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("lock", "pending_state", "has_failed_epoch_fence", "last_producer_id")
        }

    __hash__ = None  # type: ignore[assignment]  # mutable
