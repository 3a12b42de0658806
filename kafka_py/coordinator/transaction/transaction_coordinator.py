"""Gives producers their ids.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionCoordinator.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.coordinator.transaction.producer_id_manager import ProducerIdManager
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class InitProducerIdResult(NamedTuple):
    """A producer's id and epoch, or the error why it has none.

    Mirrors: kafka.coordinator.transaction.InitProducerIdResult
    """

    producer_id: int
    producer_epoch: int
    error: Errors


InitProducerIdCallback = Callable[[InitProducerIdResult], None]


class TransactionCoordinator(Logging):
    """Answers InitProducerId: idempotent producers get a fresh id; for transactional ones nobody is there yet.

    Mirrors: kafka.coordinator.transaction.TransactionCoordinator
    Thread: request handlers.
    Left out: initTransactionMetadata, prepareInitProduceIdTransit, handleAddPartitionsToTransaction,
        handleTxnImmigration, handleTxnEmigration, handleEndTransaction, logInvalidStateTransitionAndReturnError,
        abortTimedOutTransactions, transactionTopicConfigs, partitionFor, sendTxnMarkersCallback,
        onEndTransactionComplete, sendResponseCallback -- transactions come with their own stage
    """

    def __init__(self, broker_id: int, transaction_max_timeout_ms: int, producer_id_manager: ProducerIdManager) -> None:
        """Give out ids from this manager."""
        self.log_ident = f"[TransactionCoordinator id={broker_id}] "
        self._transaction_max_timeout_ms = transaction_max_timeout_ms
        self._producer_id_manager = producer_id_manager
        self._is_active = AtomicBoolean(False)  # atomic

    @classmethod
    def apply(cls, config: KafkaConfig, zk_client: KafkaZkClient) -> TransactionCoordinator:
        """A coordinator for this broker, with its first block of producer ids."""
        return cls(config.broker_id, config.transaction_max_timeout_ms, ProducerIdManager(config.broker_id, zk_client))

    @staticmethod
    def _init_transaction_error(error: Errors) -> InitProducerIdResult:
        return InitProducerIdResult(RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, error)

    def handle_init_producer_id(
        self, transactional_id: str | None, transaction_timeout_ms: int, response_callback: InitProducerIdCallback
    ) -> None:
        """Call back with an id, or with the error why there is none."""
        if transactional_id is None:
            result = InitProducerIdResult(self._producer_id_manager.generate_producer_id(), 0, Errors.NONE)
        elif not transactional_id:
            result = self._init_transaction_error(Errors.INVALID_REQUEST)
        elif not 0 < transaction_timeout_ms <= self._transaction_max_timeout_ms:
            result = self._init_transaction_error(Errors.INVALID_TRANSACTION_TIMEOUT)
        else:
            # As FindCoordinator says of every transactional id, for now.
            result = self._init_transaction_error(Errors.COORDINATOR_NOT_AVAILABLE)
        response_callback(result)

    def startup(self) -> None:
        """Begin to answer."""
        self.info("Starting up.")
        self._is_active.set(True)
        self.info("Startup complete.")

    def shutdown(self) -> None:
        """Stop answering."""
        self.info("Shutting down.")
        self._is_active.set(False)
        self._producer_id_manager.shutdown()
        self.info("Shutdown complete.")
