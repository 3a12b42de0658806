"""What the transaction coordinator's parts are tested against: a state manager whose log does what the test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafka_py.common.protocol.errors import Errors
from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata, TxnTransitMetadata
from kafka_py.coordinator.transaction.transaction_state_manager import (
    CoordinatorEpochAndTxnMetadata,
    TransactionalIdAndProducerIdEpoch,
)


class Append(NamedTuple):
    """One append that was asked for."""

    transactional_id: str
    coordinator_epoch: int
    new_metadata: TxnTransitMetadata
    callback: Callable[[Errors], None]
    retry_on_error: Callable[[Errors], bool]


class FakeTransactionStateManager:
    """Keeps states; an append is answered at once with the next of `answers`, or kept if there is none."""

    def __init__(self) -> None:
        self.states: dict[str, CoordinatorEpochAndTxnMetadata | Errors] = {}
        self.partitions: dict[str, int] = {}
        self.appends: list[Append] = []
        self.answers: list[Errors] = []
        self.put_error: Errors | None = None
        self.timeout_is_valid = True
        self.timed_out: list[TransactionalIdAndProducerIdEpoch] = []
        self.coordinator_epoch = 0
        self.removed: list[tuple[int, int | None]] = []
        self.loaded: list[tuple[int, int, Callable[..., Any]]] = []
        self.is_shut_down = False

    def have(self, metadata: TransactionMetadata, coordinator_epoch: int = 0) -> TransactionMetadata:
        self.states[metadata.transactional_id] = CoordinatorEpochAndTxnMetadata(coordinator_epoch, metadata)
        return metadata

    def partition_for(self, transactional_id: str) -> int:
        return self.partitions.get(transactional_id, 0)

    def get_transaction_state(self, transactional_id: str) -> CoordinatorEpochAndTxnMetadata | Errors | None:
        return self.states.get(transactional_id)

    def put_transaction_state_if_not_exists(
        self, metadata: TransactionMetadata
    ) -> CoordinatorEpochAndTxnMetadata | Errors:
        if self.put_error is not None:
            return self.put_error
        if metadata.transactional_id not in self.states:
            self.have(metadata, self.coordinator_epoch)
        return self.states[metadata.transactional_id]

    def validate_transaction_timeout_ms(self, txn_timeout_ms: int) -> bool:
        return self.timeout_is_valid

    @property
    def transaction_topic_configs(self) -> dict[str, str]:
        return {"cleanup.policy": "compact"}

    def timed_out_transactions(self) -> list[TransactionalIdAndProducerIdEpoch]:
        return self.timed_out

    def append_transaction_to_log(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        new_metadata: TxnTransitMetadata,
        response_callback: Callable[[Errors], None],
        retry_on_error: Callable[[Errors], bool] = lambda _: False,
    ) -> None:
        append = Append(transactional_id, coordinator_epoch, new_metadata, response_callback, retry_on_error)
        found = self.states[transactional_id]
        if isinstance(found, CoordinatorEpochAndTxnMetadata):
            held = found.transaction_metadata.lock.is_held_by_current_thread()
            assert not held, "an append is not made under a transaction's lock"
        self.appends.append(append)
        if self.answers:
            self.answer(append, self.answers.pop(0))

    def answer(self, append: Append, error: Errors) -> None:
        """End an append as the real manager does."""
        found = self.states[append.transactional_id]
        if isinstance(found, CoordinatorEpochAndTxnMetadata):
            metadata = found.transaction_metadata
            with metadata.lock:
                if error is Errors.NONE:
                    metadata.complete_transition_to(append.new_metadata)
                elif not append.retry_on_error(error):
                    metadata.pending_state = None
        append.callback(error)

    def load_transactions_for_txn_topic_partition(
        self, partition_id: int, coordinator_epoch: int, send_txn_markers: Callable[..., Any]
    ) -> None:
        self.loaded.append((partition_id, coordinator_epoch, send_txn_markers))

    def remove_transactions_for_txn_topic_partition(
        self, partition_id: int, coordinator_epoch: int | None = None
    ) -> None:
        self.removed.append((partition_id, coordinator_epoch))

    def shutdown(self) -> None:
        self.is_shut_down = True
