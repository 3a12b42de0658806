"""The transactions that this broker coordinates, and the topic that remembers them.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionStateManager.scala @ 1.1.1 (2.5.1 in its form,
    3.7.1 where a class says so)
Read next: transaction_log.py, transaction_metadata.py; docs/states.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.metrics.stats.avg import Avg
from kafka_py.common.metrics.stats.max import Max
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.coordinator_partition import partition_for_id
from kafka_py.coordinator.transaction.transaction_log import TransactionLog, UnknownKey
from kafka_py.coordinator.transaction.transaction_metadata import (
    Dead,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafka_py.log.log_config import LogConfig
from kafka_py.message.compression_codec import UncompressedCodec
from kafka_py.utils.concurrent import AtomicBoolean, ReentrantReadWriteLock
from kafka_py.utils.logging import Logging
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.records import Records
    from kafka_py.common.requests.produce_response import ProduceResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.utils.kafka_scheduler import Scheduler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

# id, epoch of the coordinator, how it ends, the transaction, and what is to be written when the markers are there
SendTxnMarkersCallback = Callable[
    [str, int, TransactionResult, TransactionMetadata, TxnTransitMetadata],
    object,
]
ResponseCallback = Callable[[Errors], object]
Transactions = Pool[str, TransactionMetadata]
_MAX_TOMBSTONES_BYTES = 16384

# What the log's errors mean for a producer, which speaks to a coordinator and not to a leader.
_COORDINATOR_ERRORS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_FOR_PARTITION: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
}
_OUTCOMES = {PrepareAbort: TransactionResult.ABORT, PrepareCommit: TransactionResult.COMMIT}


class TxnMetadataCacheEntry(NamedTuple):
    """The transactional ids of one partition of the topic, and the leader epoch they were loaded in.

    Mirrors: kafka.coordinator.transaction.TxnMetadataCacheEntry
    """

    coordinator_epoch: int
    metadata_per_transactional_id: Transactions

    def __str__(self) -> str:
        """The text of Kafka's log lines."""
        return (
            f"TxnMetadataCacheEntry(coordinatorEpoch={self.coordinator_epoch}, "
            f"numTransactionalEntries={len(self.metadata_per_transactional_id)})"
        )


class CoordinatorEpochAndTxnMetadata(NamedTuple):
    """A transaction, and the epoch in which this broker coordinates it.

    Mirrors: kafka.coordinator.transaction.CoordinatorEpochAndTxnMetadata
    """

    coordinator_epoch: int
    transaction_metadata: TransactionMetadata


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """The broker's options for transactions; times in ms, sizes in bytes.

    Mirrors: kafka.coordinator.transaction.TransactionConfig
    Thread: any; immutable.
    """

    transactional_id_expiration_ms: int = 7 * 24 * 60 * 60 * 1000
    transaction_max_timeout_ms: int = 15 * 60 * 1000
    transaction_log_num_partitions: int = TransactionLog.DEFAULT_NUM_PARTITIONS
    transaction_log_replication_factor: int = TransactionLog.DEFAULT_REPLICATION_FACTOR
    transaction_log_segment_bytes: int = TransactionLog.DEFAULT_SEGMENT_BYTES
    transaction_log_load_buffer_size: int = TransactionLog.DEFAULT_LOAD_BUFFER_SIZE
    transaction_log_min_insync_replicas: int = TransactionLog.DEFAULT_MIN_IN_SYNC_REPLICAS
    abort_timed_out_transactions_interval_ms: int = 60 * 1000
    remove_expired_transactional_ids_interval_ms: int = 60 * 60 * 1000
    request_timeout_ms: int = 30 * 1000


class TransactionalIdAndProducerIdEpoch(NamedTuple):
    """A transaction whose time is over.

    Mirrors: kafka.coordinator.transaction.TransactionalIdAndProducerIdEpoch
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return (
            f"(transactionalId={self.transactional_id}, producerId={self.producer_id}, "
            f"producerEpoch={self.producer_epoch})"
        )


class TransactionPartitionAndLeaderEpoch(NamedTuple):
    """A partition of the topic that is being loaded, in the epoch that made this broker its leader.

    Mirrors: kafka.coordinator.transaction.TransactionPartitionAndLeaderEpoch
    """

    txn_partition_id: int
    coordinator_epoch: int


class TransactionalIdCoordinatorEpochAndMetadata(NamedTuple):
    """An id whose tombstone is being written.

    Mirrors: kafka.coordinator.transaction.TransactionalIdCoordinatorEpochAndMetadata
    """

    transactional_id: str
    coordinator_epoch: int
    transit_metadata: TxnTransitMetadata


class TransactionalIdCoordinatorEpochAndTransitMetadata(NamedTuple):
    """A transaction that was found decided when its partition was loaded, and still needs its markers.

    Mirrors: kafka.coordinator.transaction.TransactionalIdCoordinatorEpochAndTransitMetadata
    """

    transactional_id: str
    coordinator_epoch: int
    result: TransactionResult
    txn_metadata: TransactionMetadata
    transit_metadata: TxnTransitMetadata


class TransactionStateManager(Logging):
    """Keeps the transactions whose partition of __transaction_state this broker leads, and writes what becomes of them.

    Mirrors: kafka.coordinator.transaction.TransactionStateManager
    Thread:  request handlers; transaction-log-manager-0 (loading, expiry); whoever completes an append.
    Locks:   _state_lock, then TransactionMetadata.lock, never the other way round. Loading alone takes them as writer
        and then metadata that nobody else can have yet. append_records runs under the read lock, and never under that
        of a transaction: so no partition can be given away and taken back between the look at the epoch and the append.
    Differs: as in later Kafka the append hands no lock to the purgatory. With the read lock there, as in 1.1.1 to 2.5,
        whoever found it taken by a writer left the completion to somebody who never came, and the transaction hung.
        Ids expire partition by partition, in batches that the topic takes, and one that is in a step of its own is
        left for the next time, where 1.1.1 gives up on all of them and leaves some pending for good. The time of a
        load is measured once, from when it was asked for, in a sensor of its own. Loading goes on behind a batch
        without records and behind keys of an unknown version.
    Left out: stateReadLock -- nobody may complete an operation with it, see above
    """

    TRANSACTION_LOAD_SENSOR: ClassVar[str] = "TransactionsPartitionLoadTime"
    METRICS_GROUP: ClassVar[str] = "transaction-coordinator-metrics"

    def __init__(
        self,
        broker_id: int,
        zk_client: KafkaZkClient,
        scheduler: Scheduler,
        replica_manager: ReplicaManager,
        config: TransactionConfig,
        time: Time,
        metrics: Metrics,
    ) -> None:
        """Ask ZooKeeper how many partitions the topic has."""
        self.log_ident = f"[Transaction State Manager {broker_id}]: "
        self._zk_client = zk_client
        self._scheduler = scheduler
        self._replica_manager = replica_manager
        self._config = config
        self._time = time
        self._shutting_down = AtomicBoolean(False)  # atomic
        # Protects the two collections below, not what is in them.
        self._state_lock = ReentrantReadWriteLock()
        self.loading_partitions: set[TransactionPartitionAndLeaderEpoch] = set()
        self.transaction_metadata_cache: dict[int, TxnMetadataCacheEntry] = {}  # by partition of the topic
        self._transaction_topic_partition_count = self._get_transaction_topic_partition_count()
        self._partition_load_sensor = metrics.sensor(self.TRANSACTION_LOAD_SENSOR)
        self._partition_load_sensor.add(
            metrics.metric_name(
                "partition-load-time-max",
                self.METRICS_GROUP,
                "The max time it took to load the partitions in the last 30sec",
            ),
            Max(),
        )
        self._partition_load_sensor.add(
            metrics.metric_name(
                "partition-load-time-avg",
                self.METRICS_GROUP,
                "The avg time it took to load the partitions in the last 30sec",
            ),
            Avg(),
        )

    def add_loading_partition(self, partition_id: int, coordinator_epoch: int) -> None:
        """Say that a partition is being loaded. For tests."""
        with self._state_lock.write_lock():
            self.loading_partitions.add(TransactionPartitionAndLeaderEpoch(partition_id, coordinator_epoch))

    # ---- looking transactions up

    def timed_out_transactions(self) -> list[TransactionalIdAndProducerIdEpoch]:
        """Those that are open for longer than their timeout.

        Looked at without their locks: whoever aborts them looks again.
        """
        now = self._time.milliseconds()
        with self._state_lock.read_lock():
            return [
                TransactionalIdAndProducerIdEpoch(txn_id, metadata.producer_id, metadata.producer_epoch)
                for entry in self.transaction_metadata_cache.values()
                for txn_id, metadata in entry.metadata_per_transactional_id.items()
                if not metadata.pending_transition_in_progress
                and metadata.state is Ongoing
                and metadata.txn_start_timestamp + metadata.txn_timeout_ms < now
            ]

    def get_transaction_state(self, transactional_id: str) -> CoordinatorEpochAndTxnMetadata | Errors | None:
        """The transaction of an id; None if there is none.

        NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self._get_and_maybe_add_transaction_state(transactional_id, None)

    def put_transaction_state_if_not_exists(
        self, txn_metadata: TransactionMetadata
    ) -> CoordinatorEpochAndTxnMetadata | Errors:
        """The transaction of an id, which is this one unless there was one before; the errors of the other look-up."""
        found = self._get_and_maybe_add_transaction_state(txn_metadata.transactional_id, txn_metadata)
        if found is None:
            raise IllegalStateException(f"Unexpected empty transaction metadata returned while putting {txn_metadata}")
        return found

    def _get_and_maybe_add_transaction_state(
        self, transactional_id: str, created_txn_metadata: TransactionMetadata | None
    ) -> CoordinatorEpochAndTxnMetadata | Errors | None:
        with self._state_lock.read_lock():
            partition_id = self.partition_for(transactional_id)
            if any(loading.txn_partition_id == partition_id for loading in self.loading_partitions):
                return Errors.COORDINATOR_LOAD_IN_PROGRESS
            cache_entry = self.transaction_metadata_cache.get(partition_id)
            if cache_entry is None:
                return Errors.NOT_COORDINATOR
            transactions = cache_entry.metadata_per_transactional_id
            metadata = transactions.get(transactional_id)
            if metadata is None:
                if created_txn_metadata is None:
                    return None
                there_before = transactions.put_if_not_exists(transactional_id, created_txn_metadata)
                metadata = created_txn_metadata if there_before is None else there_before
            return CoordinatorEpochAndTxnMetadata(cache_entry.coordinator_epoch, metadata)

    def validate_transaction_timeout_ms(self, txn_timeout_ms: int) -> bool:
        """Whether a producer may ask for this timeout."""
        return 0 < txn_timeout_ms <= self._config.transaction_max_timeout_ms

    @property
    def transaction_topic_configs(self) -> dict[str, str]:
        """The options that the topic is created with."""
        return {
            LogConfig.UNCLEAN_LEADER_ELECTION_ENABLE_PROP: "false",
            LogConfig.COMPRESSION_TYPE_PROP: UncompressedCodec.name,
            LogConfig.CLEANUP_POLICY_PROP: LogConfig.COMPACT,
            LogConfig.MIN_IN_SYNC_REPLICAS_PROP: str(self._config.transaction_log_min_insync_replicas),
            LogConfig.SEGMENT_BYTES_PROP: str(self._config.transaction_log_segment_bytes),
        }

    def partition_for(self, transactional_id: str) -> int:
        """The partition of the topic, whose leader coordinates the id."""
        return partition_for_id(transactional_id, self._transaction_topic_partition_count)

    def _get_transaction_topic_partition_count(self) -> int:
        """As ZooKeeper has it, or as the topic will be created."""
        count = self._zk_client.get_topic_partition_count(Topic.TRANSACTION_STATE_TOPIC_NAME)
        return self._config.transaction_log_num_partitions if count is None else count

    # ---- expiry

    def enable_transactional_id_expiration(self) -> None:
        """Forget ids that were not used for long, every now and then."""
        interval = self._config.remove_expired_transactional_ids_interval_ms
        self._scheduler.schedule(
            "transactionalId-expiration", self.remove_expired_transactional_ids, delay=interval, period=interval
        )

    def remove_expired_transactional_ids(self) -> None:
        """Write tombstones for ids that were not used for transactional.id.expiration.ms, and forget them then."""
        with self._state_lock.read_lock():
            for partition_id, entry in list(self.transaction_metadata_cache.items()):
                partition = TopicPartition(Topic.TRANSACTION_STATE_TOPIC_NAME, partition_id)
                log = self._replica_manager.get_log(partition)
                if log is None:
                    self.warn(
                        "Transaction expiration for partition %s failed because the log config was not available, "
                        "which likely means the partition is not online or is no longer local.",
                        partition,
                    )
                else:
                    self._expire_partition(partition, entry, log.config.max_message_size)

    def _expire_partition(self, partition: TopicPartition, entry: TxnMetadataCacheEntry, max_batch_size: int) -> None:
        """Append tombstones in batches of at most max_batch_size bytes. Caller holds _state_lock for reading."""
        now = self._time.milliseconds()
        expired = []
        for transactional_id, metadata in entry.metadata_per_transactional_id.items():
            with metadata.lock:
                if self._should_expire(metadata, now):
                    epoch, transit = entry.coordinator_epoch, metadata.prepare_dead()
                    expired.append(TransactionalIdCoordinatorEpochAndMetadata(transactional_id, epoch, transit))
        for some, tombstones in _tombstone_batches(expired, now, min(_MAX_TOMBSTONES_BYTES, max_batch_size)):
            self._write_tombstones_for_expired_transactional_ids(partition, some, tombstones)

    def _should_expire(self, metadata: TransactionMetadata, now: int) -> bool:
        return (
            metadata.pending_state is None
            and metadata.state.is_expiration_allowed
            and metadata.txn_last_update_timestamp <= now - self._config.transactional_id_expiration_ms
        )

    def _write_tombstones_for_expired_transactional_ids(
        self,
        partition: TopicPartition,
        expired: list[TransactionalIdCoordinatorEpochAndMetadata],
        tombstones: MemoryRecords,
    ) -> None:
        """Caller holds _state_lock for reading."""

        def remove_from_cache_callback(responses: dict[TopicPartition, ProduceResponse.PartitionResponse]) -> None:
            error = responses[partition].error
            with self._state_lock.read_lock():
                entry = self.transaction_metadata_cache.get(partition.partition)
                if entry is not None:
                    for id_epoch_and_metadata in expired:
                        self._remove_from_cache(entry, id_epoch_and_metadata, error)

        self._replica_manager.append_records(
            self._config.request_timeout_ms,
            TransactionLog.ENFORCED_REQUIRED_ACKS,
            internal_topics_allowed=True,
            is_from_client=False,
            entries_per_partition={partition: tombstones},
            response_callback=remove_from_cache_callback,
        )

    def _remove_from_cache(
        self, entry: TxnMetadataCacheEntry, expired: TransactionalIdCoordinatorEpochAndMetadata, error: Errors
    ) -> None:
        """Forget an id whose tombstone is written, or let it live on. Caller holds _state_lock for reading."""
        transactional_id = expired.transactional_id
        metadata = entry.metadata_per_transactional_id.get(transactional_id)
        if metadata is None:  # the partition went, and came back without the id
            return
        with metadata.lock:
            if (
                entry.coordinator_epoch == expired.coordinator_epoch
                and metadata.pending_state is Dead
                and metadata.producer_epoch == expired.transit_metadata.producer_epoch
                and error is Errors.NONE
            ):
                entry.metadata_per_transactional_id.remove(transactional_id)
                return
            self.warn(
                "Failed to remove expired transactionalId: %s from cache. Tombstone append error code: %s, "
                "pendingState: %s, producerEpoch: %d, expected producerEpoch: %d, coordinatorEpoch: %d, expected "
                "coordinatorEpoch: %d",
                transactional_id,
                error,
                metadata.pending_state,
                metadata.producer_epoch,
                expired.transit_metadata.producer_epoch,
                entry.coordinator_epoch,
                expired.coordinator_epoch,
            )
            if metadata.pending_state is Dead and entry.coordinator_epoch == expired.coordinator_epoch:
                metadata.pending_state = None

    # ---- loading and unloading

    def load_transactions_for_txn_topic_partition(
        self, partition_id: int, coordinator_epoch: int, send_txn_markers: SendTxnMarkersCallback
    ) -> None:
        """Have a partition loaded that this broker leads now, and the markers sent that are missing.

        Whatever an earlier load or unload left behind does not matter.
        """
        partition_and_epoch = TransactionPartitionAndLeaderEpoch(partition_id, coordinator_epoch)
        topic_partition = TopicPartition(Topic.TRANSACTION_STATE_TOPIC_NAME, partition_id)
        with self._state_lock.write_lock():
            self.loading_partitions.add(partition_and_epoch)
        start_ms = self._time.milliseconds()
        self._scheduler.schedule(
            f"load-txns-for-partition-{topic_partition}",
            lambda: self._load_transactions(topic_partition, partition_and_epoch, start_ms, send_txn_markers),
        )

    def _load_transactions(
        self,
        topic_partition: TopicPartition,
        partition_and_epoch: TransactionPartitionAndLeaderEpoch,
        start_ms: int,
        send_txn_markers: SendTxnMarkersCallback,
    ) -> None:
        coordinator_epoch = partition_and_epoch.coordinator_epoch
        scheduler_time_ms = self._time.milliseconds() - start_ms
        self.info("Loading transaction metadata from %s at epoch %d", topic_partition, coordinator_epoch)
        self._validate_transaction_topic_partition_count_is_stable()
        loaded = self._load_transaction_metadata(topic_partition, coordinator_epoch)
        end_ms = self._time.milliseconds()
        self._partition_load_sensor.record(end_ms - start_ms, end_ms, False)
        self.info(
            "Finished loading %d transaction metadata from %s in %d milliseconds, of which %d milliseconds was spent "
            "in the scheduler.",
            len(loaded),
            topic_partition,
            end_ms - start_ms,
            scheduler_time_ms,
        )
        with self._state_lock.write_lock():
            if partition_and_epoch in self.loading_partitions:
                self.add_loaded_transactions_to_cache(topic_partition.partition, coordinator_epoch, loaded)
                pending = self._transactions_pending_for_completion(loaded, coordinator_epoch)
                # The partition is loaded before the markers are sent: for each transaction the end is appended then,
                # which loading would refuse.
                self.loading_partitions.discard(partition_and_epoch)
                for transaction in pending:
                    send_txn_markers(*transaction)
        self.info(
            "Completed loading transaction metadata from %s for coordinator epoch %d",
            topic_partition,
            coordinator_epoch,
        )

    def _transactions_pending_for_completion(
        self, loaded: Transactions, coordinator_epoch: int
    ) -> list[TransactionalIdCoordinatorEpochAndTransitMetadata]:
        """Those that are decided but not complete: their markers may or may not be written."""
        pending = []
        for transactional_id, metadata in loaded.items():
            with metadata.lock:
                result = _OUTCOMES.get(metadata.state)
                if result is not None:
                    transit = metadata.prepare_complete(self._time.milliseconds())
                    pending.append(
                        TransactionalIdCoordinatorEpochAndTransitMetadata(
                            transactional_id, coordinator_epoch, result, metadata, transit
                        )
                    )
        return pending

    def _load_transaction_metadata(self, topic_partition: TopicPartition, coordinator_epoch: int) -> Transactions:
        """The last record of each id, up to the end of the log; what was found before an error if there is one."""
        loaded: Transactions = Pool()
        log = self._replica_manager.get_log(topic_partition)
        if log is None:
            self.warn("Attempted to load transaction metadata from %s, but found no log", topic_partition)
            return loaded
        try:
            self._read_log(log, topic_partition, coordinator_epoch, loaded)
        except Exception as e:  # noqa: BLE001  the other partitions are to be loaded all the same
            self.error("Error loading transactions from transaction log %s", topic_partition, exc=e)
        return loaded

    def _read_log(
        self, log: Log, topic_partition: TopicPartition, coordinator_epoch: int, loaded: Transactions
    ) -> None:
        """Read until the end, the end of the leadership, or the broker's."""
        curr_offset = log.log_start_offset
        buffer = bytearray()
        # there is no log end offset, and the loop ends, once another broker leads
        while (
            curr_offset < self._log_end_offset(topic_partition)
            and not self._shutting_down.get()
            and self._is_loading(topic_partition.partition, coordinator_epoch)
        ):
            records = log.read(curr_offset, self._config.transaction_log_load_buffer_size, min_one_message=True).records
            if records.size_in_bytes() == 0:
                return
            if isinstance(records, FileRecords) and len(buffer) < records.size_in_bytes():
                buffer = self._grown_buffer(topic_partition, records.size_in_bytes())
            for batch in _in_memory(records, buffer).batches():
                for record in batch:
                    self._load_record(record, topic_partition, loaded)
                curr_offset = batch.next_offset()

    def _log_end_offset(self, topic_partition: TopicPartition) -> int:
        end = self._replica_manager.get_log_end_offset(topic_partition)
        return -1 if end is None else end

    def _is_loading(self, partition_id: int, coordinator_epoch: int) -> bool:
        with self._state_lock.read_lock():
            return TransactionPartitionAndLeaderEpoch(partition_id, coordinator_epoch) in self.loading_partitions

    def _grown_buffer(self, topic_partition: TopicPartition, size: int) -> bytearray:
        """A buffer for what was found, which may be one batch that is larger than the option says."""
        load_buffer_size = self._config.transaction_log_load_buffer_size
        if load_buffer_size < size:
            self.warn(
                "Loaded transaction metadata from %s with buffer larger (%d bytes) than configured "
                "transaction.state.log.load.buffer.size (%d bytes)",
                topic_partition,
                size,
                load_buffer_size,
            )
        return bytearray(max(size, load_buffer_size))

    def _load_record(self, record: Record, topic_partition: TopicPartition, loaded: Transactions) -> None:
        key = record.key()
        if key is None:
            raise KafkaException("Transaction state log's key should not be null")
        txn_key = TransactionLog.read_txn_record_key(key)
        if isinstance(txn_key, UnknownKey):
            self.warn(
                "Unknown message key with version %d while loading transaction state from %s. Ignoring it. It could "
                "be a left over from an aborted upgrade.",
                txn_key.version,
                topic_partition,
            )
            return
        metadata = TransactionLog.read_txn_record_value(txn_key.transactional_id, record.value())
        if metadata is None:
            loaded.remove(txn_key.transactional_id)
        else:
            loaded.put(txn_key.transactional_id, metadata)

    def add_loaded_transactions_to_cache(
        self, txn_topic_partition: int, coordinator_epoch: int, loaded_transactions: Transactions
    ) -> None:
        """Take over what was loaded. Caller holds _state_lock for writing (or is a test)."""
        previous = self.transaction_metadata_cache.get(txn_topic_partition)
        self.transaction_metadata_cache[txn_topic_partition] = TxnMetadataCacheEntry(
            coordinator_epoch, loaded_transactions
        )
        if previous is not None:
            self.warn(
                "Unloaded transaction metadata %s from %d as part of loading metadata at epoch %d",
                previous,
                txn_topic_partition,
                coordinator_epoch,
            )

    def remove_transactions_for_txn_topic_partition(
        self, partition_id: int, coordinator_epoch: int | None = None
    ) -> None:
        """Forget the transactions of a partition that another broker leads from this epoch on.

        Without an epoch the partition was deleted here: no load of it, of any epoch, goes on.
        """
        topic_partition = TopicPartition(Topic.TRANSACTION_STATE_TOPIC_NAME, partition_id)
        with self._state_lock.write_lock():
            self.loading_partitions.difference_update(
                loading
                for loading in list(self.loading_partitions)
                if loading.txn_partition_id == partition_id and coordinator_epoch in (None, loading.coordinator_epoch)
            )
            entry = self.transaction_metadata_cache.pop(partition_id, None)
            why = "following local partition deletion"
            if coordinator_epoch is not None:
                why = "on become-follower transition"
            if entry is not None:
                self.info("Unloaded transaction metadata %s for %s %s", entry, topic_partition, why)
            elif coordinator_epoch is not None:
                self.info(
                    "No cached transaction metadata found for %s during become-follower transition", topic_partition
                )

    def _validate_transaction_topic_partition_count_is_stable(self) -> None:
        count = self._get_transaction_topic_partition_count()
        if count != self._transaction_topic_partition_count:
            raise KafkaException(
                f"Transaction topic number of partitions has changed from {self._transaction_topic_partition_count} "
                f"to {count}"
            )

    # ---- writing

    def append_transaction_to_log(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        new_metadata: TxnTransitMetadata,
        response_callback: ResponseCallback,
        retry_on_error: Callable[[Errors], bool] = lambda _: False,
    ) -> None:
        """Write a prepared step, complete it when all in-sync replicas have it, and call back, exactly once.

        On an error the step is no longer pending, unless `retry_on_error` says that the caller will try again. Errors:
        NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, and what the log may answer besides.
        """
        append = _TransactionAppend(
            self, transactional_id, coordinator_epoch, new_metadata, response_callback, retry_on_error
        )
        records = MemoryRecords.with_records(
            SimpleRecord(
                self._time.milliseconds(),
                TransactionLog.key_to_bytes(transactional_id),
                TransactionLog.value_to_bytes(new_metadata),
            ),
            compression_type=TransactionLog.ENFORCED_COMPRESSION_TYPE,
        )
        # Held until the local append returns. Else the partition could go and come back after the look, and the record
        # of an old epoch would follow those of the new one in the log, on all replicas.
        with self._state_lock.read_lock():
            error = self._why_not_appended(transactional_id, coordinator_epoch)
            if error is not None:
                response_callback(error)
                return
            self._replica_manager.append_records(
                new_metadata.txn_timeout_ms,
                TransactionLog.ENFORCED_REQUIRED_ACKS,
                internal_topics_allowed=True,
                is_from_client=False,
                entries_per_partition={append.topic_partition: records},
                response_callback=append.update_cache_callback,
            )
            if self.is_trace_enabled:
                self.trace(
                    "Appending new metadata %s for transaction id %s with coordinator epoch %d to the local "
                    "transaction log",
                    new_metadata,
                    transactional_id,
                    coordinator_epoch,
                )

    def _why_not_appended(self, transactional_id: str, coordinator_epoch: int) -> Errors | None:
        found = self.get_transaction_state(transactional_id)
        if isinstance(found, Errors):
            return found
        # Under the same epoch nobody else can change what has a pending step: no need to look at the transaction.
        if found is None or found.coordinator_epoch != coordinator_epoch:
            return Errors.NOT_COORDINATOR
        return None

    def shutdown(self) -> None:
        """Forget everything; a load that is running ends."""
        self._shutting_down.set(True)
        with self._state_lock.write_lock():
            self.loading_partitions.clear()
            self.transaction_metadata_cache.clear()
        self.info("Shutdown complete")


class _TransactionAppend(Logging):
    """One step on its way into the log: what happens when the answer comes.

    Thread: whoever completes the append: a request handler, executor-Produce.
    Locks:  the state manager's for reading, then the transaction's.
    Differs: in Kafka these are functions within appendTransactionToLog.
    """

    logger_name = "kafka.coordinator.transaction.TransactionStateManager"

    def __init__(
        self,
        manager: TransactionStateManager,
        transactional_id: str,
        coordinator_epoch: int,
        new_metadata: TxnTransitMetadata,
        response_callback: ResponseCallback,
        retry_on_error: Callable[[Errors], bool],
    ) -> None:
        self.log_ident = manager.log_ident
        self._manager = manager
        self._transactional_id = transactional_id
        self._coordinator_epoch = coordinator_epoch
        self._new_metadata = new_metadata
        self._response_callback = response_callback
        self._retry_on_error = retry_on_error
        self.topic_partition = TopicPartition(
            Topic.TRANSACTION_STATE_TOPIC_NAME, manager.partition_for(transactional_id)
        )

    def update_cache_callback(self, response_status: dict[TopicPartition, ProduceResponse.PartitionResponse]) -> None:
        """Complete the step or take it back, and answer."""
        if list(response_status) != [self.topic_partition]:
            raise IllegalStateException(
                f"Append status {response_status} should only have one partition {self.topic_partition}"
            )
        status_error = response_status[self.topic_partition].error
        if status_error is Errors.NONE:
            error = self._complete_transition()
        else:
            self.debug(
                "Appending %s's new metadata %s failed due to %s",
                self._transactional_id,
                self._new_metadata,
                status_error.exception_name,
            )
            error = _COORDINATOR_ERRORS.get(status_error, status_error)
            self._abort_transition(error)
        self._response_callback(error)

    def _complete_transition(self) -> Errors:
        """Take the step in memory as well, in place, unless the transaction is not ours any more."""
        found = self._manager.get_transaction_state(self._transactional_id)
        if isinstance(found, Errors):
            self.info(
                "Accessing the cached transaction metadata for %s returns %s error; aborting transition to the new "
                "metadata and setting the error in the callback",
                self._transactional_id,
                found,
            )
            return found
        if found is None:
            self._log_not_coordinator("The cached coordinator metadata does not exist in the cache anymore for %s")
            return Errors.NOT_COORDINATOR
        metadata = found.transaction_metadata
        with metadata.lock:
            if found.coordinator_epoch != self._coordinator_epoch:
                # the partition went and came back: what was loaded has this record, or another took its place
                self._log_not_coordinator(
                    f"The cached coordinator epoch for %s has changed to {found.coordinator_epoch}"
                )
                return Errors.NOT_COORDINATOR
            metadata.complete_transition_to(self._new_metadata)
        if self.is_debug_enabled:
            self.debug(
                "Updating %s's transaction state to %s with coordinator epoch %d for %s succeeded",
                self._transactional_id,
                self._new_metadata,
                self._coordinator_epoch,
                self._transactional_id,
            )
        return Errors.NONE

    def _log_not_coordinator(self, what: str) -> None:
        self.info(
            what + " after appended its new metadata %s to the transaction log (txn topic partition %d) while it was "
            "%d before appending; aborting transition to the new metadata and returning %s in the callback",
            self._transactional_id,
            self._new_metadata,
            self.topic_partition.partition,
            self._coordinator_epoch,
            Errors.NOT_COORDINATOR,
        )

    def _abort_transition(self, error: Errors) -> None:
        """Nothing is pending any more, unless the caller tries again."""
        found = self._manager.get_transaction_state(self._transactional_id)
        if found is None:
            self._log_failure(error, "since metadata is not available in the cache anymore")
        elif isinstance(found, Errors):
            self._log_failure(error, f"since retrieving metadata returned {found}")
        else:
            metadata = found.transaction_metadata
            with metadata.lock:
                if found.coordinator_epoch != self._coordinator_epoch:
                    self._log_failure(
                        error,
                        f"since the coordinator epoch has changed from {found.coordinator_epoch} to "
                        f"{self._coordinator_epoch}",
                    )
                elif self._retry_on_error(error):
                    self.info(
                        "TransactionalId %s append transaction log for %s transition failed due to %s, not resetting "
                        "pending state %s but just returning the error in the callback to let the caller retry",
                        self._transactional_id,
                        self._new_metadata,
                        error,
                        metadata.pending_state,
                    )
                else:
                    self.info(
                        "TransactionalId %s append transaction log for %s transition failed due to %s, resetting "
                        "pending state from %s, aborting state transition and returning %s in the callback",
                        self._transactional_id,
                        self._new_metadata,
                        error,
                        metadata.pending_state,
                        error,
                    )
                    metadata.pending_state = None

    def _log_failure(self, error: Errors, why: str) -> None:
        self.info(
            "TransactionalId %s append transaction log for %s transition failed due to %s, aborting state transition "
            "and returning the error in the callback %s",
            self._transactional_id,
            self._new_metadata,
            error,
            why,
        )


def _in_memory(records: Records, buffer: bytearray) -> MemoryRecords:
    """The records themselves, or a file's in the buffer, which is large enough."""
    if isinstance(records, MemoryRecords):
        return records
    assert isinstance(records, FileRecords)
    return MemoryRecords.readable_records(records.read_into(memoryview(buffer)[: records.size_in_bytes()], 0))


def _tombstone_batches(
    expired: list[TransactionalIdCoordinatorEpochAndMetadata], now: int, max_batch_size: int
) -> Iterator[tuple[list[TransactionalIdCoordinatorEpochAndMetadata], MemoryRecords]]:
    """The ids, some at a time, with a batch of their tombstones, which is larger than allowed only for a single one."""
    some: list[TransactionalIdCoordinatorEpochAndMetadata] = []
    builder = MemoryRecords.builder(max_batch_size)
    for entry in expired:
        key = TransactionLog.key_to_bytes(entry.transactional_id)
        if not builder.has_room_for(now, key, None):
            yield some, builder.build()
            some, builder = [], MemoryRecords.builder(max_batch_size)
        builder.append(SimpleRecord(now, key, None))
        some.append(entry)
    if some:
        yield some, builder.build()
