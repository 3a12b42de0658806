"""Gives producers their ids, and takes each transaction from its first partition to its end.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionCoordinator.scala @ 1.1.1 (in the form of 2.5.1)
Read next: transaction_metadata.py (the states), transaction_state_manager.py (the log),
    transaction_marker_channel_manager.py

The life of a transaction: InitProducerId gives the producer an id and the next epoch, which fences whoever had the one
before; AddPartitionsToTxn makes it Ongoing; EndTxn writes PrepareCommit or PrepareAbort, and with that record the
outcome is decided and the producer answered; then each partition gets its marker, and CompleteCommit or CompleteAbort
closes it. Each step is prepared under the lock of the metadata, appended to the log without it, and in force when the
append is on all replicas in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.coordinator.transaction.producer_id_manager import ProducerIdManager
from kafka_py.coordinator.transaction.transaction_marker_channel_manager import TransactionMarkerChannelManager
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteAbort,
    CompleteCommit,
    Dead,
    Empty,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    PrepareEpochFence,
    TransactionMetadata,
    TransactionState,
    TxnTransitMetadata,
)
from kafka_py.coordinator.transaction.transaction_state_manager import (
    CoordinatorEpochAndTxnMetadata,
    TransactionConfig,
    TransactionStateManager,
)
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.producer_id_and_epoch import ProducerIdAndEpoch
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.transaction.delayed_txn_marker import DelayedTxnMarker
    from kafka_py.coordinator.transaction.transaction_state_manager import TransactionalIdAndProducerIdEpoch
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.utils.kafka_scheduler import Scheduler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class InitProducerIdResult(NamedTuple):
    """A producer's id and epoch, or the error why it has none.

    Mirrors: kafka.coordinator.transaction.InitProducerIdResult
    """

    producer_id: int
    producer_epoch: int
    error: Errors


class PreparedTransition(NamedTuple):
    """A step that may be appended to the log, and the term in which it may (a pair in Scala)."""

    coordinator_epoch: int
    new_metadata: TxnTransitMetadata
    is_epoch_fence: bool = False


class _EndTxn(NamedTuple):
    """Who wants which end for his transaction, and who is told."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    result: TransactionResult
    response_callback: EndTxnCallback


InitProducerIdCallback: TypeAlias = Callable[[InitProducerIdResult], None]
AddPartitionsCallback: TypeAlias = Callable[[Errors], None]
VerifyPartitionsCallback: TypeAlias = Callable[[Mapping["TopicPartition", Errors]], None]
EndTxnCallback: TypeAlias = Callable[[Errors], None]

# What EndTxn makes of an ongoing transaction, and the state in which the same request again finds it done.
_PREPARED = {TransactionResult.COMMIT: PrepareCommit, TransactionResult.ABORT: PrepareAbort}
_COMPLETED = {TransactionResult.COMMIT: CompleteCommit, TransactionResult.ABORT: CompleteAbort}


class TransactionCoordinator(Logging):
    """Answers for the transactional ids whose partition of the transaction log this broker leads.

    Mirrors: kafka.coordinator.transaction.TransactionCoordinator
    Thread:  request handlers; transaction-log-manager-0 aborts what took too long; callbacks of appends run on
        whichever thread completes them.
    Locks:   that of a transaction's metadata, while a step is prepared; none while one is appended or a callback
        called.
    Differs: as in later Kafka a client's EndTxn has to name the very epoch (KAFKA-9600; in 2.5.1 a greater one ends the
        transaction as well), and a fencing that could not be written costs no further epoch (KAFKA-9666). A client's
        EndTxn that comes in the middle of a fencing is to try again. One transaction that cannot be aborted does not
        keep the others that took too long from it.
    Left out: prepareInitProduceIdTransit -- _prepare_init_producer_id_transit, as it is called from 2.5 on;
        sendTxnMarkersCallback, sendResponseCallback -- _on_end_appended and within its callers
    """

    def __init__(
        self,
        broker_id: int,
        txn_config: TransactionConfig,
        scheduler: Scheduler,
        producer_id_manager: ProducerIdManager,
        txn_manager: TransactionStateManager,
        txn_marker_channel_manager: TransactionMarkerChannelManager,
        time: Time,
    ) -> None:
        self.log_ident = f"[TransactionCoordinator id={broker_id}] "
        self._txn_config = txn_config
        self._scheduler = scheduler
        self._producer_id_manager = producer_id_manager
        self._txn_manager = txn_manager
        self._txn_marker_channel_manager = txn_marker_channel_manager
        self._time = time
        self._is_active = AtomicBoolean(False)  # atomic

    @classmethod
    def apply(
        cls,
        config: KafkaConfig,
        replica_manager: ReplicaManager,
        scheduler: Scheduler,
        zk_client: KafkaZkClient,
        metrics: Metrics,
        metadata_cache: MetadataCache,
        time: Time,
    ) -> TransactionCoordinator:
        """A coordinator for this broker, with its first block of producer ids; `scheduler` becomes its own."""
        txn_config = TransactionConfig(
            transactional_id_expiration_ms=config.transactional_id_expiration_ms,
            transaction_max_timeout_ms=config.transaction_max_timeout_ms,
            transaction_log_num_partitions=config.transaction_topic_partitions,
            transaction_log_replication_factor=config.transaction_topic_replication_factor,
            transaction_log_segment_bytes=config.transaction_topic_segment_bytes,
            transaction_log_load_buffer_size=config.transactions_load_buffer_size,
            transaction_log_min_insync_replicas=config.transaction_topic_min_isr,
            abort_timed_out_transactions_interval_ms=config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            remove_expired_transactional_ids_interval_ms=(
                config.transaction_remove_expired_transactional_id_cleanup_interval_ms
            ),
            request_timeout_ms=config.request_timeout_ms,
        )
        producer_id_manager = ProducerIdManager(config.broker_id, zk_client)
        # Nothing in it expires, and what is completed is taken out at once: it needs neither timer nor reaper.
        txn_marker_purgatory: DelayedOperationPurgatory[DelayedTxnMarker] = DelayedOperationPurgatory(
            "txn-marker-purgatory", broker_id=config.broker_id, reaper_enabled=False, timer_enabled=False
        )
        txn_manager = TransactionStateManager(
            config.broker_id, zk_client, scheduler, replica_manager, txn_config, time, metrics
        )
        txn_marker_channel_manager = TransactionMarkerChannelManager.apply(
            config,
            metrics,
            metadata_cache,
            txn_manager,
            txn_marker_purgatory,
            time,
            f"[TransactionCoordinator id={config.broker_id}] ",
        )
        return cls(
            config.broker_id,
            txn_config,
            scheduler,
            producer_id_manager,
            txn_manager,
            txn_marker_channel_manager,
            time,
        )

    # ---- InitProducerId

    @staticmethod
    def _init_transaction_error(error: Errors) -> InitProducerIdResult:
        return InitProducerIdResult(RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH, error)

    @staticmethod
    def _init_transaction_metadata(txn_metadata: TxnTransitMetadata) -> InitProducerIdResult:
        return InitProducerIdResult(txn_metadata.producer_id, txn_metadata.producer_epoch, Errors.NONE)

    def handle_init_producer_id(
        self,
        transactional_id: str | None,
        transaction_timeout_ms: int,
        expected_producer_id_and_epoch: ProducerIdAndEpoch | None,
        response_callback: InitProducerIdCallback,
    ) -> None:
        """Call back with an id and an epoch, or with the error why there is none.

        Without a transactional id any broker gives out a new id. A producer that goes on after an error says which id
        and epoch it has; if they are not the last ones another has taken its place, and it is fenced (KIP-360).
        """
        if transactional_id is None:
            producer_id = self._producer_id_manager.generate_producer_id()
            response_callback(InitProducerIdResult(producer_id, 0, Errors.NONE))
            return
        if not transactional_id:
            response_callback(self._init_transaction_error(Errors.INVALID_REQUEST))
            return
        if not self._txn_manager.validate_transaction_timeout_ms(transaction_timeout_ms):
            response_callback(self._init_transaction_error(Errors.INVALID_TRANSACTION_TIMEOUT))
            return
        result = self._init_transit(transactional_id, transaction_timeout_ms, expected_producer_id_and_epoch)
        if isinstance(result, Errors):
            response_callback(self._init_transaction_error(result))
        elif result.new_metadata.txn_state is PrepareEpochFence:
            self._abort_before_init(transactional_id, result.new_metadata, response_callback)
        else:
            self._append_init(transactional_id, result, response_callback)

    def _init_transit(
        self, transactional_id: str, transaction_timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Errors | PreparedTransition:
        """The step that gives the producer its epoch, of an id that is made if it is a new one."""
        found = self._txn_manager.get_transaction_state(transactional_id)
        if found is None:
            found = self._txn_manager.put_transaction_state_if_not_exists(
                TransactionMetadata(
                    transactional_id,
                    producer_id=self._producer_id_manager.generate_producer_id(),
                    last_producer_id=RecordBatch.NO_PRODUCER_ID,
                    producer_epoch=RecordBatch.NO_PRODUCER_EPOCH,
                    last_producer_epoch=RecordBatch.NO_PRODUCER_EPOCH,
                    txn_timeout_ms=transaction_timeout_ms,
                    state=Empty,
                    topic_partitions=(),
                    txn_start_timestamp=-1,
                    txn_last_update_timestamp=self._time.milliseconds(),
                )
            )
        if isinstance(found, Errors):
            return found
        txn_metadata = found.transaction_metadata
        with txn_metadata.lock:
            prepared = self._prepare_init_producer_id_transit(transaction_timeout_ms, txn_metadata, expected)
        return prepared if isinstance(prepared, Errors) else PreparedTransition(found.coordinator_epoch, prepared)

    def _prepare_init_producer_id_transit(
        self, transaction_timeout_ms: int, txn_metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None
    ) -> Errors | TxnTransitMetadata:
        """Caller holds the metadata's lock."""
        if txn_metadata.pending_transition_in_progress:
            return Errors.CONCURRENT_TRANSACTIONS  # the client tries again
        if expected is not None and not self._is_valid_producer_id(txn_metadata, expected):
            return Errors.INVALID_PRODUCER_EPOCH
        state = txn_metadata.state
        if state in (PrepareAbort, PrepareCommit):
            return Errors.CONCURRENT_TRANSACTIONS
        if state is Ongoing:
            # Nobody is ever given this epoch. The client asks again after the abort, and gets the next one; if there
            # is none left, a new id.
            return txn_metadata.prepare_fence_producer_epoch()
        if state not in (CompleteAbort, CompleteCommit, Empty):
            raise self._illegal_state(txn_metadata)
        now = self._time.milliseconds()
        if txn_metadata.is_producer_epoch_exhausted and (
            expected is None or expected.epoch == txn_metadata.producer_epoch
        ):
            return txn_metadata.prepare_producer_id_rotation(
                self._producer_id_manager.generate_producer_id(), transaction_timeout_ms, now, expected is not None
            )
        return txn_metadata.prepare_increment_producer_epoch(
            transaction_timeout_ms, None if expected is None else expected.epoch, now
        )

    @staticmethod
    def _is_valid_producer_id(txn_metadata: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
        """Whether the producer's id is right, so that only the epoch has to be looked at.

        It is when the transactional id has been forgotten and made anew (epoch -1), when it is the present id, and
        when it is the one before it with its epochs used up: then the answer that told of the new id got lost.
        Caller holds the metadata's lock.
        """
        return (
            txn_metadata.producer_epoch == RecordBatch.NO_PRODUCER_EPOCH
            or expected.producer_id == txn_metadata.producer_id
            or (
                expected.producer_id == txn_metadata.last_producer_id
                and TransactionMetadata.is_epoch_exhausted(expected.epoch)
            )
        )

    def _illegal_state(self, txn_metadata: TransactionMetadata) -> IllegalStateException:
        message = (
            f"Found transactionalId {txn_metadata.transactional_id} with state {txn_metadata.state}. This is illegal "
            "as we should never have transitioned to this state."
        )
        self.fatal("%s", message)
        return IllegalStateException(message)

    def _abort_before_init(
        self, transactional_id: str, new_metadata: TxnTransitMetadata, response_callback: InitProducerIdCallback
    ) -> None:
        """Abort what the producer before left open; the client is told to try again."""

        def send_retriable_error_callback(error: Errors) -> None:
            retriable = Errors.CONCURRENT_TRANSACTIONS if error is Errors.NONE else error
            response_callback(self._init_transaction_error(retriable))

        self._end_transaction(
            transactional_id,
            new_metadata.producer_id,
            new_metadata.producer_epoch,
            TransactionResult.ABORT,
            False,
            send_retriable_error_callback,
        )

    def _append_init(
        self, transactional_id: str, prepared: PreparedTransition, response_callback: InitProducerIdCallback
    ) -> None:
        new_metadata = prepared.new_metadata

        def send_pid_response_callback(error: Errors) -> None:
            if error is Errors.NONE:
                self.info(
                    "Initialized transactionalId %s with producerId %s and producer epoch %s on partition %s-%s",
                    transactional_id,
                    new_metadata.producer_id,
                    new_metadata.producer_epoch,
                    Topic.TRANSACTION_STATE_TOPIC_NAME,
                    self._txn_manager.partition_for(transactional_id),
                )
                response_callback(self._init_transaction_metadata(new_metadata))
            else:
                self.info("Returning %s error code to client for %s's InitProducerId request", error, transactional_id)
                response_callback(self._init_transaction_error(error))

        self._txn_manager.append_transaction_to_log(
            transactional_id, prepared.coordinator_epoch, new_metadata, send_pid_response_callback
        )

    # ---- AddPartitionsToTxn, AddOffsetsToTxn

    def handle_add_partitions_to_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        response_callback: AddPartitionsCallback,
    ) -> None:
        """Call back with NONE when the log says that the partitions belong to the transaction, else with the error."""
        if not transactional_id:
            self.debug(
                "Returning %s error code to client for %s's AddPartitions request",
                Errors.INVALID_REQUEST,
                transactional_id,
            )
            response_callback(Errors.INVALID_REQUEST)
            return
        result: Errors | PreparedTransition
        found = self._txn_manager.get_transaction_state(transactional_id)
        if found is None:
            result = Errors.INVALID_PRODUCER_ID_MAPPING
        elif isinstance(found, Errors):
            result = found
        else:
            result = self._prepare_add_partitions(found, producer_id, producer_epoch, partitions)
        if isinstance(result, Errors):
            self.debug("Returning %s error code to client for %s's AddPartitions request", result, transactional_id)
            response_callback(result)
        else:
            self._txn_manager.append_transaction_to_log(
                transactional_id, result.coordinator_epoch, result.new_metadata, response_callback
            )

    def _prepare_add_partitions(
        self,
        epoch_and_metadata: CoordinatorEpochAndTxnMetadata,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> Errors | PreparedTransition:
        txn_metadata = epoch_and_metadata.transaction_metadata
        with txn_metadata.lock:
            if txn_metadata.producer_id != producer_id:
                return Errors.INVALID_PRODUCER_ID_MAPPING
            if txn_metadata.producer_epoch != producer_epoch:
                return Errors.INVALID_PRODUCER_EPOCH
            if txn_metadata.pending_transition_in_progress or txn_metadata.state in (PrepareCommit, PrepareAbort):
                return Errors.CONCURRENT_TRANSACTIONS  # the client tries again
            if txn_metadata.state is Ongoing and txn_metadata.topic_partitions.issuperset(partitions):
                return Errors.NONE  # the log says so already
            new_metadata = txn_metadata.prepare_add_partitions(frozenset(partitions), self._time.milliseconds())
        return PreparedTransition(epoch_and_metadata.coordinator_epoch, new_metadata)

    # ---- verification (between brokers)

    def handle_verify_partitions_in_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        response_callback: VerifyPartitionsCallback,
    ) -> None:
        """Call back with what speaks against a write to each partition, NONE if the transaction has it [3.7.1]."""
        result = self._verify_partitions(transactional_id, producer_id, producer_epoch, partitions)
        if isinstance(result, Errors):
            self.debug(
                "Returning %s error code to client for %s's AddPartitions request for verification",
                result,
                transactional_id,
            )
            response_callback(dict.fromkeys(partitions, result))
        else:
            response_callback(result)

    def _verify_partitions(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> Errors | dict[TopicPartition, Errors]:
        """A step under way is of no interest: the log looks again when it appends."""
        if not transactional_id:
            return Errors.INVALID_REQUEST
        found = self._txn_manager.get_transaction_state(transactional_id)
        if isinstance(found, Errors):
            return found
        if found is None:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        txn_metadata = found.transaction_metadata
        with txn_metadata.lock:
            if txn_metadata.producer_id != producer_id:
                return Errors.INVALID_PRODUCER_ID_MAPPING
            if txn_metadata.producer_epoch != producer_epoch:
                return Errors.INVALID_PRODUCER_EPOCH
            if txn_metadata.state in (PrepareCommit, PrepareAbort):
                return Errors.CONCURRENT_TRANSACTIONS
            there = txn_metadata.topic_partitions
            return {p: Errors.NONE if p in there else Errors.INVALID_TXN_STATE for p in partitions}

    # ---- leadership

    def handle_txn_immigration(self, txn_topic_partition_id: int, coordinator_epoch: int) -> None:
        """This broker leads the partition of the transaction log from now on: load it.

        First what an earlier term has left behind is dropped, so that loading begins with nothing.
        """
        self._txn_marker_channel_manager.remove_markers_for_txn_topic_partition(txn_topic_partition_id)
        self._txn_manager.load_transactions_for_txn_topic_partition(
            txn_topic_partition_id, coordinator_epoch, self._txn_marker_channel_manager.add_txn_markers_to_send
        )

    def handle_txn_emigration(self, txn_topic_partition_id: int, coordinator_epoch: int | None) -> None:
        """Another broker leads the partition, or (without an epoch) this one has no replica of it any more."""
        self._txn_manager.remove_transactions_for_txn_topic_partition(txn_topic_partition_id, coordinator_epoch)
        self._txn_marker_channel_manager.remove_markers_for_txn_topic_partition(txn_topic_partition_id)

    # ---- EndTxn

    def _log_invalid_state_transition_and_return_error(
        self, transactional_id: str, transaction_state: TransactionState, transaction_result: TransactionResult
    ) -> Errors:
        self.debug(
            "TransactionalId: %s's state is %s, but received transaction marker result to send: %s",
            transactional_id,
            transaction_state,
            transaction_result,
        )
        return Errors.INVALID_TXN_STATE

    def handle_end_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        txn_marker_result: TransactionResult,
        response_callback: EndTxnCallback,
    ) -> None:
        """Call back with NONE when the outcome is in the log, from where nothing takes it away, else with the error."""
        self._end_transaction(transactional_id, producer_id, producer_epoch, txn_marker_result, True, response_callback)

    def _end_transaction(
        self,
        transactional_id: str | None,
        producer_id: int,
        producer_epoch: int,
        txn_marker_result: TransactionResult,
        is_from_client: bool,
        response_callback: EndTxnCallback,
    ) -> None:
        if not transactional_id:
            response_callback(Errors.INVALID_REQUEST)
            return
        request = _EndTxn(transactional_id, producer_id, producer_epoch, txn_marker_result, response_callback)
        result: Errors | PreparedTransition
        found = self._txn_manager.get_transaction_state(transactional_id)
        if found is None:
            result = Errors.INVALID_PRODUCER_ID_MAPPING
        elif isinstance(found, Errors):
            result = found
        else:
            result = self._prepare_end(found, request, is_from_client)
        if isinstance(result, Errors):
            self.debug(
                "Aborting append of %s to transaction log with coordinator and returning %s error to client for %s's "
                "EndTransaction request",
                txn_marker_result,
                result,
                transactional_id,
            )
            response_callback(result)
            return
        prepared = result

        def send_txn_markers_callback(error: Errors) -> None:
            self._on_end_appended(request, prepared, error)

        self._txn_manager.append_transaction_to_log(
            transactional_id, prepared.coordinator_epoch, prepared.new_metadata, send_txn_markers_callback
        )

    def _prepare_end(
        self, epoch_and_metadata: CoordinatorEpochAndTxnMetadata, request: _EndTxn, is_from_client: bool
    ) -> Errors | PreparedTransition:
        """The step to PrepareCommit or PrepareAbort, or what to answer without one."""
        txn_metadata = epoch_and_metadata.transaction_metadata
        with txn_metadata.lock:
            epoch = txn_metadata.producer_epoch
            is_epoch_fence = not is_from_client and txn_metadata.pending_state is PrepareEpochFence
            if txn_metadata.producer_id != request.producer_id:
                return Errors.INVALID_PRODUCER_ID_MAPPING
            # Only the coordinator itself takes a greater epoch, to fence the producer that has the present one.
            if request.producer_epoch < epoch or (is_from_client and request.producer_epoch != epoch):
                return Errors.INVALID_PRODUCER_EPOCH
            if txn_metadata.pending_transition_in_progress and not is_epoch_fence:
                return Errors.CONCURRENT_TRANSACTIONS
            if txn_metadata.state is not Ongoing:
                return self._answer_without_append(txn_metadata, request)
            if is_epoch_fence:
                # The fence makes way for the abort, whose record carries the new epoch.
                txn_metadata.pending_state = None
                txn_metadata.producer_epoch = request.producer_epoch
                txn_metadata.last_producer_epoch = RecordBatch.NO_PRODUCER_EPOCH
            new_metadata = txn_metadata.prepare_abort_or_commit(_PREPARED[request.result], self._time.milliseconds())
        return PreparedTransition(epoch_and_metadata.coordinator_epoch, new_metadata, is_epoch_fence)

    def _answer_without_append(self, txn_metadata: TransactionMetadata, request: _EndTxn) -> Errors:
        """What the second of two same requests is told, and one that comes to no transaction.

        Caller holds the metadata's lock.
        """
        state = txn_metadata.state
        if state is _COMPLETED[request.result]:
            return Errors.NONE
        if state is _PREPARED[request.result]:
            return Errors.CONCURRENT_TRANSACTIONS
        if state in (Dead, PrepareEpochFence):
            raise self._illegal_state(txn_metadata)
        return self._log_invalid_state_transition_and_return_error(request.transactional_id, state, request.result)

    def _on_end_appended(self, request: _EndTxn, prepared: PreparedTransition, error: Errors) -> None:
        """The outcome is in the log, or is not: answer, and begin to write the markers.

        Runs on: whichever thread completes the append.
        """
        if error is not Errors.NONE:
            self.info(
                "Aborting sending of transaction markers and returning %s error to client for %s's EndTransaction "
                "request of %s, since appending %s to transaction log with coordinator epoch %s failed",
                error,
                request.transactional_id,
                request.result,
                prepared.new_metadata,
                prepared.coordinator_epoch,
            )
            if prepared.is_epoch_fence:
                self._remember_failed_epoch_fence(request.transactional_id, prepared, error)
            request.response_callback(error)
            return
        result = self._prepare_completion(request, prepared.coordinator_epoch)
        if isinstance(result, Errors):
            self.info(
                "Aborting sending of transaction markers after appended %s to transaction log and returning %s error "
                "to client for %s's EndTransaction request",
                request.result,
                result,
                request.transactional_id,
            )
            request.response_callback(result)
            return
        txn_metadata, new_pre_send_metadata = result
        try:
            # decided: the client need not wait for the markers
            request.response_callback(Errors.NONE)
        finally:
            self._txn_marker_channel_manager.add_txn_markers_to_send(
                request.transactional_id,
                prepared.coordinator_epoch,
                request.result,
                txn_metadata,
                new_pre_send_metadata,
            )

    def _remember_failed_epoch_fence(self, transactional_id: str, prepared: PreparedTransition, error: Errors) -> None:
        """The epoch that was taken is in memory only: the next attempt uses it again."""
        found = self._txn_manager.get_transaction_state(transactional_id)
        if found is None:
            self.warn(
                "The coordinator still owns the transaction partition for %s, but there is no metadata in the cache; "
                "this is not expected",
                transactional_id,
            )
        elif not isinstance(found, Errors) and found.coordinator_epoch == prepared.coordinator_epoch:
            with found.transaction_metadata.lock:
                found.transaction_metadata.has_failed_epoch_fence = True
            self.warn(
                "The coordinator failed to write an epoch fence transition for producer %s to the transaction log with "
                "error %s. The epoch was increased to %s but not returned to the client",
                transactional_id,
                error,
                prepared.new_metadata.producer_epoch,
            )

    def _prepare_completion(
        self, request: _EndTxn, coordinator_epoch: int
    ) -> Errors | tuple[TransactionMetadata, TxnTransitMetadata]:
        """The step to CompleteCommit or CompleteAbort, to be made when the markers are written."""
        found = self._txn_manager.get_transaction_state(request.transactional_id)
        if isinstance(found, Errors):
            return found
        if found is None:
            message = (
                f"The coordinator still owns the transaction partition for {request.transactional_id}, but there is "
                "no metadata in the cache; this is not expected"
            )
            self.fatal("%s", message)
            raise IllegalStateException(message)
        if found.coordinator_epoch != coordinator_epoch:
            self.debug(
                "The transaction coordinator epoch has changed to %s after %s was successfully appended to the log for "
                "%s with old epoch %s",
                found.coordinator_epoch,
                request.result,
                request.transactional_id,
                coordinator_epoch,
            )
            return Errors.NOT_COORDINATOR
        txn_metadata = found.transaction_metadata
        with txn_metadata.lock:
            if txn_metadata.producer_id != request.producer_id:
                return Errors.INVALID_PRODUCER_ID_MAPPING
            if txn_metadata.producer_epoch != request.producer_epoch:
                return Errors.INVALID_PRODUCER_EPOCH
            if txn_metadata.pending_transition_in_progress:
                return Errors.CONCURRENT_TRANSACTIONS
            if txn_metadata.state in (Dead, PrepareEpochFence):
                raise self._illegal_state(txn_metadata)
            if txn_metadata.state is not _PREPARED[request.result]:
                return self._log_invalid_state_transition_and_return_error(
                    request.transactional_id, txn_metadata.state, request.result
                )
            return txn_metadata, txn_metadata.prepare_complete(self._time.milliseconds())

    # ---- the topic

    @property
    def transaction_topic_configs(self) -> dict[str, str]:
        """The settings with which __transaction_state is made."""
        return self._txn_manager.transaction_topic_configs

    def partition_for(self, transactional_id: str) -> int:
        """The partition of __transaction_state that an id belongs to; its leader is the id's coordinator."""
        return self._txn_manager.partition_for(transactional_id)

    # ---- timeouts

    def abort_timed_out_transactions(
        self, on_complete: Callable[[TransactionalIdAndProducerIdEpoch, Errors], None]
    ) -> None:
        """Abort every transaction that is open for longer than its producer said, and fence the producer."""
        for txn_id_and_pid_epoch in self._txn_manager.timed_out_transactions():
            try:
                self._abort_timed_out(txn_id_and_pid_epoch, on_complete)
            except Exception as e:  # noqa: BLE001  # the others have waited long enough
                self.error("Failed to abort the timed out transaction %s", txn_id_and_pid_epoch, exc=e)

    def _abort_timed_out(
        self,
        txn_id_and_pid_epoch: TransactionalIdAndProducerIdEpoch,
        on_complete: Callable[[TransactionalIdAndProducerIdEpoch, Errors], None],
    ) -> None:
        transactional_id = txn_id_and_pid_epoch.transactional_id
        found = self._txn_manager.get_transaction_state(transactional_id)
        if isinstance(found, Errors):
            return  # another coordinator's affair by now
        if found is None:
            self.error(
                "Could not find transaction metadata when trying to timeout transaction for %s", txn_id_and_pid_epoch
            )
            return
        txn_metadata = found.transaction_metadata
        with txn_metadata.lock:
            if txn_metadata.producer_id != txn_id_and_pid_epoch.producer_id:
                self.error(
                    "Found incorrect producerId when expiring transactionalId: %s. Expected producerId: %s. Found "
                    "producerId: %s",
                    transactional_id,
                    txn_id_and_pid_epoch.producer_id,
                    txn_metadata.producer_id,
                )
                return
            if txn_metadata.pending_transition_in_progress:
                self.debug(
                    "Skipping abort of timed out transaction %s since there is a pending state transition",
                    txn_id_and_pid_epoch,
                )
                return
            new_metadata = txn_metadata.prepare_fence_producer_epoch()
        self._end_transaction(
            transactional_id,
            new_metadata.producer_id,
            new_metadata.producer_epoch,
            TransactionResult.ABORT,
            False,
            lambda error: on_complete(txn_id_and_pid_epoch, error),
        )

    def _on_end_transaction_complete(
        self, txn_id_and_pid_epoch: TransactionalIdAndProducerIdEpoch, error: Errors
    ) -> None:
        transactional_id = txn_id_and_pid_epoch.transactional_id
        if error is Errors.NONE:
            self.info(
                "Completed rollback of ongoing transaction for transactionalId %s due to timeout", transactional_id
            )
        elif error in (
            Errors.INVALID_PRODUCER_ID_MAPPING,
            Errors.INVALID_PRODUCER_EPOCH,
            Errors.CONCURRENT_TRANSACTIONS,
        ):
            self.debug(
                "Rollback of ongoing transaction for transactionalId %s has been cancelled due to error %s",
                transactional_id,
                error,
            )
        else:
            self.warn(
                "Rollback of ongoing transaction for transactionalId %s failed due to error %s", transactional_id, error
            )

    # ---- start and end

    def startup(self, enable_transactional_id_expiration: bool = True) -> None:
        """Begin to abort what takes too long and to write markers; the log's partitions come as they are led."""
        self.info("Starting up.")
        self._scheduler.startup()
        self._scheduler.schedule(
            "transaction-abort",
            lambda: self.abort_timed_out_transactions(self._on_end_transaction_complete),
            self._txn_config.abort_timed_out_transactions_interval_ms,
            self._txn_config.abort_timed_out_transactions_interval_ms,
        )
        if enable_transactional_id_expiration:
            self._txn_manager.enable_transactional_id_expiration()
        self._txn_marker_channel_manager.start()
        self._is_active.set(True)
        self.info("Startup complete.")

    def shutdown(self) -> None:
        """The reverse; whatever is open then is taken up by the next leaders of the log's partitions."""
        self.info("Shutting down.")
        self._is_active.set(False)
        self._scheduler.shutdown()
        self._producer_id_manager.shutdown()
        self._txn_manager.shutdown()
        self._txn_marker_channel_manager.shutdown()
        self.info("Shutdown complete.")
