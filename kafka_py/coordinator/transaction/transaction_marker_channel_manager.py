"""Has the end of each transaction written into the partitions it touched, and then the transaction completed.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionMarkerChannelManager.scala @ 1.1.1
Read next: transaction_marker_request_completion_handler.py, delayed_txn_marker.py, common/inter_broker_send_thread.py
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.inter_broker_send_thread import InterBrokerSendThread, RequestAndCompletionHandler
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry, WriteTxnMarkersRequest
from kafka_py.coordinator.transaction.delayed_txn_marker import DelayedTxnMarker
from kafka_py.coordinator.transaction.transaction_marker_request_completion_handler import (
    TransactionMarkerRequestCompletionHandler,
)
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.network_utils import build_network_client
from kafka_py.utils.concurrent import ConcurrentHashMap, LinkedBlockingQueue

if TYPE_CHECKING:
    from kafka_py.clients.kafka_client import KafkaClient
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.requests.transaction_result import TransactionResult
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata, TxnTransitMetadata
    from kafka_py.coordinator.transaction.transaction_state_manager import TransactionStateManager
    from kafka_py.server.delayed_operation import DelayedOperationPurgatory
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache


class TxnIdAndMarkerEntry(NamedTuple):
    """A marker on its way, and whose it is.

    Mirrors: kafka.coordinator.transaction.TxnIdAndMarkerEntry
    """

    txn_id: str
    txn_marker_entry: TxnMarkerEntry


class TxnLogAppend(NamedTuple):
    """What is written into the transaction log when all markers are.

    Mirrors: kafka.coordinator.transaction.TxnLogAppend
    """

    transactional_id: str
    coordinator_epoch: int
    txn_metadata: TransactionMetadata
    new_metadata: TxnTransitMetadata

    def __str__(self) -> str:
        return (
            f"TxnLogAppend(transactionalId={self.transactional_id}, coordinatorEpoch={self.coordinator_epoch}, "
            f"txnMetadata={self.txn_metadata}, newMetadata={self.new_metadata})"
        )


class _Pending(NamedTuple):
    """What a DelayedTxnMarker is watched under: a transactional id at one term of its coordinator."""

    transactional_id: str
    coordinator_epoch: int


class TxnMarkerQueue:
    """The markers for one broker, by partition of the transaction log, so that those of one can be dropped.

    Mirrors: kafka.coordinator.transaction.TxnMarkerQueue
    Thread:  any adds; TxnMarkerSenderThread-{broker} takes out.
    Differs: adding makes the queue and appends in one step, so that a marker is never added to a queue that is being
        dropped (KAFKA-16352).
    Left out: forEachTxnTopicPartition -- drain
    """

    def __init__(self, destination: Node) -> None:
        self.destination = destination  # volatile: whoever adds a marker
        self._markers_per_txn_topic_partition: ConcurrentHashMap[int, LinkedBlockingQueue[TxnIdAndMarkerEntry]] = (
            ConcurrentHashMap()
        )  # atomic

    def remove_markers_for_txn_topic_partition(self, partition: int) -> list[TxnIdAndMarkerEntry]:
        """Take out what a partition of the transaction log has waiting here."""
        removed: list[TxnIdAndMarkerEntry] = []
        queue = self._markers_per_txn_topic_partition.remove(partition)
        if queue is not None:
            queue.drain_to(removed)
        return removed

    def add_markers(self, txn_topic_partition: int, txn_id_and_marker: TxnIdAndMarkerEntry) -> None:
        """Append."""

        def append(
            partition: int, queue: LinkedBlockingQueue[TxnIdAndMarkerEntry] | None
        ) -> LinkedBlockingQueue[TxnIdAndMarkerEntry]:
            queue = LinkedBlockingQueue() if queue is None else queue
            queue.put(txn_id_and_marker)
            return queue

        self._markers_per_txn_topic_partition.compute(txn_topic_partition, append)

    def drain(self) -> list[TxnIdAndMarkerEntry]:
        """Take out everything."""
        drained: list[TxnIdAndMarkerEntry] = []
        for queue in self._markers_per_txn_topic_partition.values():
            queue.drain_to(drained)
        return drained

    def total_num_markers(self, txn_topic_partition: int | None = None) -> int:
        """How many wait, of one partition of the transaction log or of all."""
        if txn_topic_partition is None:
            return sum([queue.size() for queue in self._markers_per_txn_topic_partition.values()])
        queue = self._markers_per_txn_topic_partition.get(txn_topic_partition)
        return 0 if queue is None else queue.size()


class TransactionMarkerChannelManager(InterBrokerSendThread, KafkaMetricsGroup):
    """Sends WriteTxnMarkers to the leaders, this broker too, until each partition of a transaction has its marker.

    Markers wait in a queue per broker; the thread takes all that a broker has waiting into one request. Those whose
    leader is not known or could not write them wait for a later look (every RETRY_BACKOFF_MS).

    Mirrors: kafka.coordinator.transaction.TransactionMarkerChannelManager
    Thread:  TxnMarkerSenderThread-{broker} sends and hears the answers; any thread adds and removes markers.
    Differs: between two tries of a marker that a leader refused, or whose leader is not known, there is a pause; 1.1.1
        tries again as fast as the network answers, with a line in the log each time. What waits for a coordinator's
        term is dropped only for that term: in 1.1.1 a late answer of an earlier term drops that of the present one,
        and the transaction hangs in PrepareCommit (KAFKA-16352, from 3.8 on). A failed append to the log is tried
        again after the pause; 1.1.1 does so when something else happens.
    Left out: completeSendMarkersForTxnId, removeMarkersForTxnId -- take the coordinator epoch as well
    """

    RETRY_BACKOFF_MS = 50

    def __init__(
        self,
        config: KafkaConfig,
        metadata_cache: MetadataCache,
        network_client: KafkaClient,
        txn_state_manager: TransactionStateManager,
        txn_marker_purgatory: DelayedOperationPurgatory[DelayedTxnMarker],
        time: Time,
    ) -> None:
        super().__init__(f"TxnMarkerSenderThread-{config.broker_id}", network_client, time)
        self.log_ident = f"[Transaction Marker Channel Manager {config.broker_id}]: "
        self._metadata_cache = metadata_cache
        self._txn_state_manager = txn_state_manager
        self._txn_marker_purgatory = txn_marker_purgatory
        self._unsent_expiry_ms = config.request_timeout_ms
        self._inter_broker_listener_name = config.inter_broker_listener_name
        self._markers_queue_per_broker: ConcurrentHashMap[int, TxnMarkerQueue] = ConcurrentHashMap()  # atomic
        self._markers_queue_for_unknown_broker = TxnMarkerQueue(Node.no_node())
        self._txn_log_append_retry_queue: LinkedBlockingQueue[TxnLogAppend] = LinkedBlockingQueue()
        self._next_look_ms = 0  # thread: TxnMarkerSenderThread
        self.new_gauge("UnknownDestinationQueueSize", self._markers_queue_for_unknown_broker.total_num_markers)
        self.new_gauge("LogAppendRetryQueueSize", self._txn_log_append_retry_queue.size)

    @classmethod
    def apply(
        cls,
        config: KafkaConfig,
        metrics: Metrics,
        metadata_cache: MetadataCache,
        txn_state_manager: TransactionStateManager,
        txn_marker_purgatory: DelayedOperationPurgatory[DelayedTxnMarker],
        time: Time,
        log_context: str,
    ) -> TransactionMarkerChannelManager:
        """A manager with a client of its own for the inter-broker listener."""
        client_id = f"broker-{config.broker_id}-txn-marker-sender"
        network_client = build_network_client("txn-marker", config, metrics, time, log_context, client_id)
        return cls(config, metadata_cache, network_client, txn_state_manager, txn_marker_purgatory, time)

    @property
    def unsent_expiry_ms(self) -> int:
        """request.timeout.ms."""
        return self._unsent_expiry_ms

    def shutdown(self) -> None:
        """End the thread; what is not written yet is, when the transaction log is loaded again."""
        try:
            super().shutdown()
            self._txn_marker_purgatory.shutdown()
            self._markers_queue_per_broker.clear()
        finally:
            self.remove_metric("UnknownDestinationQueueSize")
            self.remove_metric("LogAppendRetryQueueSize")

    # ---- the sender's turn

    def do_work(self) -> None:
        """One turn, shorter if something waits for another try."""
        waits = self._markers_queue_for_unknown_broker.total_num_markers() or self._txn_log_append_retry_queue.size()
        self.poll_once(self.RETRY_BACKOFF_MS if waits else LONG_MAX)

    def generate_requests(self) -> list[RequestAndCompletionHandler]:
        """A request for each broker that markers wait for."""
        return self.drain_queued_transaction_markers()

    def drain_queued_transaction_markers(self) -> list[RequestAndCompletionHandler]:
        """Try again what is due, then take out what each broker has waiting."""
        now = self._time.milliseconds()
        if now >= self._next_look_ms:
            self._next_look_ms = now + self.RETRY_BACKOFF_MS
            self.retry_log_appends()
            for transactional_id, marker in self._markers_queue_for_unknown_broker.drain():
                self.add_txn_markers_to_broker_queue(
                    transactional_id,
                    marker.producer_id,
                    marker.producer_epoch,
                    marker.transaction_result,
                    marker.coordinator_epoch,
                    marker.partitions,
                )
        requests = []
        for queue in self._markers_queue_per_broker.values():
            entries = queue.drain()
            if entries:
                requests.append(self._request(queue.destination, entries))
        return requests

    def _request(self, node: Node, entries: list[TxnIdAndMarkerEntry]) -> RequestAndCompletionHandler:
        request = WriteTxnMarkersRequest.of(entry.txn_marker_entry for entry in entries)
        handler = TransactionMarkerRequestCompletionHandler(node.id, self._txn_state_manager, self, entries)
        return RequestAndCompletionHandler(node, WriteTxnMarkersRequest.Builder(request), handler)

    def retry_log_appends(self) -> None:
        """Append again what the transaction log would not take."""
        retries: list[TxnLogAppend] = []
        self._txn_log_append_retry_queue.drain_to(retries)
        for txn_log_append in retries:
            self.debug("Retry appending %s transaction log", txn_log_append)
            self._try_append_to_log(txn_log_append)

    # ---- markers in

    def queue_for_broker(self, broker_id: int) -> TxnMarkerQueue | None:
        """The queue of a broker, if it ever had a marker. For tests."""
        return self._markers_queue_per_broker.get(broker_id)

    @property
    def queue_for_unknown_broker(self) -> TxnMarkerQueue:
        """The markers that wait for another look. For tests."""
        return self._markers_queue_for_unknown_broker

    def add_txn_markers_to_send(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        txn_result: TransactionResult,
        txn_metadata: TransactionMetadata,
        new_metadata: TxnTransitMetadata,
    ) -> None:
        """Have the markers of a transaction written, then `new_metadata` into the transaction log."""
        txn_log_append = TxnLogAppend(transactional_id, coordinator_epoch, txn_metadata, new_metadata)

        def append_to_log_callback() -> None:
            self.trace("Completed sending transaction markers for %s as %s", transactional_id, txn_result)
            self._write_txn_completion(txn_log_append)

        with txn_metadata.lock:
            producer_id, producer_epoch = txn_metadata.producer_id, txn_metadata.producer_epoch
            topic_partitions = frozenset(txn_metadata.topic_partitions)
        key = _Pending(transactional_id, coordinator_epoch)
        if self._txn_marker_purgatory.cancel_for_key(key):
            self.info("Replaced the markers that %s was already waiting for with those of %s", key, new_metadata)
        self._txn_marker_purgatory.try_complete_else_watch(
            DelayedTxnMarker(txn_metadata, append_to_log_callback), [key]
        )
        self.add_txn_markers_to_broker_queue(
            transactional_id, producer_id, producer_epoch, txn_result, coordinator_epoch, topic_partitions
        )

    def add_txn_markers_to_broker_queue(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        result: TransactionResult,
        coordinator_epoch: int,
        topic_partitions: Collection[TopicPartition],
    ) -> None:
        """Queue a marker for the leader of each partition; a partition that is gone needs none."""
        txn_topic_partition = self._txn_state_manager.partition_for(transactional_id)
        for broker, partitions in self._by_leader(topic_partitions).items():
            if broker is None:
                self._skip_partitions(transactional_id, coordinator_epoch, partitions)
                continue
            marker = TxnMarkerEntry(producer_id, producer_epoch, coordinator_epoch, result, tuple(partitions))
            txn_id_and_marker = TxnIdAndMarkerEntry(transactional_id, marker)
            if broker == Node.no_node():
                # the leader is known but cannot be reached: the sender looks again later
                self._markers_queue_for_unknown_broker.add_markers(txn_topic_partition, txn_id_and_marker)
            else:
                self.add_markers_for_broker(broker, txn_topic_partition, txn_id_and_marker)
        self.wakeup()

    def _by_leader(self, topic_partitions: Collection[TopicPartition]) -> dict[Node | None, list[TopicPartition]]:
        grouped: dict[Node | None, list[TopicPartition]] = {}
        for topic_partition in topic_partitions:
            leader = self._metadata_cache.get_partition_leader_endpoint(
                topic_partition.topic, topic_partition.partition, self._inter_broker_listener_name
            )
            grouped.setdefault(leader, []).append(topic_partition)
        return grouped

    def add_markers_for_broker(
        self, broker: Node, txn_topic_partition: int, txn_id_and_marker: TxnIdAndMarkerEntry
    ) -> None:
        """Queue a marker for a broker; its address may be a new one."""
        queue = self._markers_queue_per_broker.compute_if_absent(broker.id, lambda _: TxnMarkerQueue(broker))
        queue.destination = broker
        queue.add_markers(txn_topic_partition, txn_id_and_marker)
        self.trace(
            "Added marker %s for transactional id %s to destination broker %s",
            txn_id_and_marker.txn_marker_entry,
            txn_id_and_marker.txn_id,
            broker.id,
        )

    def retry_txn_markers(self, transactional_id: str, txn_marker: TxnMarkerEntry) -> None:
        """Try a marker again after a pause, at whoever leads its partitions by then."""
        self._markers_queue_for_unknown_broker.add_markers(
            self._txn_state_manager.partition_for(transactional_id), TxnIdAndMarkerEntry(transactional_id, txn_marker)
        )

    def _skip_partitions(
        self, transactional_id: str, coordinator_epoch: int, topic_partitions: list[TopicPartition]
    ) -> None:
        """Take partitions that nobody leads any more out of the transaction: they are deleted, most likely."""
        found = self._txn_state_manager.get_transaction_state(transactional_id)
        if isinstance(found, Errors):
            self.info(
                "Encountered %s trying to fetch transaction metadata for %s with coordinator epoch %s; cancel sending "
                "markers to its partition leaders",
                found,
                transactional_id,
                coordinator_epoch,
            )
            self.remove_markers_for_txn_id(transactional_id, coordinator_epoch)
        elif found is None:
            raise self._no_metadata(transactional_id)
        elif found.coordinator_epoch != coordinator_epoch:
            self.info(
                "The cached metadata has changed to %s (old coordinator epoch is %s) since preparing to send markers; "
                "cancel sending markers to its partition leaders",
                found,
                coordinator_epoch,
            )
            self.remove_markers_for_txn_id(transactional_id, coordinator_epoch)
        else:
            self.info(
                "Couldn't find leader endpoint for partitions %s while trying to send transaction markers for %s, "
                "these partitions are likely deleted already and hence can be skipped",
                topic_partitions,
                transactional_id,
            )
            metadata = found.transaction_metadata
            with metadata.lock:
                for topic_partition in topic_partitions:
                    metadata.remove_partition(topic_partition)
            self.complete_send_markers_for_txn_id(transactional_id, coordinator_epoch)

    # ---- markers out

    def remove_markers_for_txn_topic_partition(self, txn_topic_partition_id: int) -> None:
        """Drop what waits for a partition of the transaction log that another broker leads now."""
        queues = [self._markers_queue_for_unknown_broker, *self._markers_queue_per_broker.values()]
        for queue in queues:
            for transactional_id, marker in queue.remove_markers_for_txn_topic_partition(txn_topic_partition_id):
                self.remove_markers_for_txn_id(transactional_id, marker.coordinator_epoch)

    def remove_markers_for_txn_id(self, transactional_id: str, coordinator_epoch: int) -> None:
        """Wait no longer for the markers of a transaction; the queues have been drained of them already."""
        self._txn_marker_purgatory.cancel_for_key(_Pending(transactional_id, coordinator_epoch))

    def complete_send_markers_for_txn_id(self, transactional_id: str, coordinator_epoch: int) -> None:
        """Complete the transaction if that was the last marker."""
        self._txn_marker_purgatory.check_and_complete(_Pending(transactional_id, coordinator_epoch))

    # ---- completion

    def _write_txn_completion(self, txn_log_append: TxnLogAppend) -> None:
        """All markers are written: go on unless this broker's term is over."""
        transactional_id, coordinator_epoch, txn_metadata, new_metadata = txn_log_append
        found = self._txn_state_manager.get_transaction_state(transactional_id)
        if found is Errors.NOT_COORDINATOR:
            self.info(
                "No longer the coordinator for %s with coordinator epoch %s; cancel appending %s to transaction log",
                transactional_id,
                coordinator_epoch,
                new_metadata,
            )
        elif found is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            self.info(
                "Loading the transaction partition that contains %s while my current coordinator epoch is %s; so "
                "cancel appending %s to transaction log since the loading process will continue the remaining work",
                transactional_id,
                coordinator_epoch,
                new_metadata,
            )
        elif isinstance(found, Errors):
            raise IllegalStateException(f"Unhandled error {found} when fetching current transaction state")
        elif found is None:
            raise self._no_metadata(transactional_id)
        elif found.coordinator_epoch == coordinator_epoch:
            self.debug(
                "Sending %s's transaction markers for %s with coordinator epoch %s succeeded, trying to append "
                "complete transaction log now",
                transactional_id,
                txn_metadata,
                coordinator_epoch,
            )
            self._try_append_to_log(txn_log_append)
        else:
            self.info(
                "The cached metadata %s has changed to %s after completed sending the markers with coordinator epoch "
                "%s; abort transiting the metadata to %s as it may have been updated by another process",
                txn_metadata,
                found,
                coordinator_epoch,
                new_metadata,
            )

    def _no_metadata(self, transactional_id: str) -> IllegalStateException:
        message = (
            f"The coordinator still owns the transaction partition for {transactional_id}, but there is no metadata "
            "in the cache; this is not expected"
        )
        self.fatal("%s", message)
        return IllegalStateException(message)

    def _try_append_to_log(self, txn_log_append: TxnLogAppend) -> None:
        def append_callback(error: Errors) -> None:
            self._on_appended(txn_log_append, error)

        self._txn_state_manager.append_transaction_to_log(
            txn_log_append.transactional_id,
            txn_log_append.coordinator_epoch,
            txn_log_append.new_metadata,
            append_callback,
            lambda error: error is Errors.COORDINATOR_NOT_AVAILABLE,
        )

    def _on_appended(self, txn_log_append: TxnLogAppend, error: Errors) -> None:
        """Runs on: whichever thread completes the append."""
        transactional_id = txn_log_append.transactional_id
        if error is Errors.NONE:
            self.trace(
                "Completed transaction for %s with coordinator epoch %s, final state after commit: %s",
                transactional_id,
                txn_log_append.coordinator_epoch,
                txn_log_append.txn_metadata.state,
            )
        elif error is Errors.NOT_COORDINATOR:
            self.info(
                "No longer the coordinator for transactionalId: %s while trying to append to transaction log, skip "
                "writing to transaction log",
                transactional_id,
            )
        elif error is Errors.COORDINATOR_NOT_AVAILABLE:
            self.info(
                "Not available to append %s: possible causes include %s, %s, %s and %s; retry appending",
                txn_log_append,
                Errors.UNKNOWN_TOPIC_OR_PARTITION,
                Errors.NOT_ENOUGH_REPLICAS,
                Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                Errors.REQUEST_TIMED_OUT,
            )
            self._txn_log_append_retry_queue.put(txn_log_append)
            self.wakeup()
        elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            self.info(
                "Coordinator is loading the partition %s and hence cannot complete append of %s; skip writing to "
                "transaction log as the loading process should complete it",
                self._txn_state_manager.partition_for(transactional_id),
                txn_log_append,
            )
        else:
            message = (
                f"Unexpected error {error.exception_name()} while appending to transaction log for {transactional_id}"
            )
            self.fatal("%s", message)
            raise IllegalStateException(message)
