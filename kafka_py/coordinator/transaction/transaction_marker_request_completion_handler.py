"""What becomes of a transaction when a broker has answered a WriteTxnMarkers request, or has not.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionMarkerRequestCompletionHandler.scala @ 1.1.1
Read next: transaction_marker_channel_manager.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.coordinator.transaction.transaction_marker_channel_manager import (
        TransactionMarkerChannelManager,
        TxnIdAndMarkerEntry,
    )
    from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata
    from kafka_py.coordinator.transaction.transaction_state_manager import TransactionStateManager

# The leader will take the marker later, or another leader will.
RETRIABLE = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.NOT_LEADER_FOR_PARTITION,
        Errors.NOT_ENOUGH_REPLICAS,
        Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Errors.REQUEST_TIMED_OUT,
        Errors.KAFKA_STORAGE_ERROR,
    }
)
# Another producer or another coordinator has taken over: the transaction is its affair.
FENCED = frozenset({Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED})
# The log's format knows no transactions, so the producer cannot have written there: no marker is needed.
NO_MARKER_NEEDED = frozenset({Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT, Errors.UNSUPPORTED_VERSION})
FATAL = frozenset(
    {
        Errors.CORRUPT_MESSAGE,
        Errors.MESSAGE_TOO_LARGE,
        Errors.RECORD_LIST_TOO_LARGE,
        Errors.INVALID_REQUIRED_ACKS,
    }
)


class TransactionMarkerRequestCompletionHandler(Logging):
    """Takes the partitions that have their marker out of their transactions, and has the others tried again.

    Mirrors: kafka.coordinator.transaction.TransactionMarkerRequestCompletionHandler
    Thread:  TxnMarkerSenderThread-{broker}
    Locks:   that of a transaction's metadata, while its partitions are gone through.
    Differs: each transaction of the request gets its turn whatever goes wrong with another; in Kafka those after it
        hang. Two entries of one producer take each its own partitions from the answer, not both all, so nothing is
        sent twice. What a leader refused is tried again after a pause.
    """

    def __init__(
        self,
        broker_id: int,
        txn_state_manager: TransactionStateManager,
        txn_marker_channel_manager: TransactionMarkerChannelManager,
        txn_id_and_marker_entries: list[TxnIdAndMarkerEntry],
    ) -> None:
        self.log_ident = f"[Transaction Marker Request Completion Handler {broker_id}]: "
        self._txn_state_manager = txn_state_manager
        self._txn_marker_channel_manager = txn_marker_channel_manager
        self._txn_id_and_marker_entries = txn_id_and_marker_entries

    def __call__(self, response: ClientResponse) -> None:
        """As on_complete."""
        self.on_complete(response)

    def on_complete(self, response: ClientResponse) -> None:
        """Take the answer, or the news of a disconnect; IllegalStateException for an answer that cannot be."""
        header = response.request_header()
        if response.was_disconnected():
            self.trace(
                "Cancelled request with header %s due to node %s being disconnected", header, response.destination()
            )
            self._for_each_entry(self._on_disconnect)
            return
        self.debug(
            "Received WriteTxnMarker response %s from node %s with correlation id %s",
            response,
            response.destination(),
            header.correlation_id,
        )
        body = response.response_body()
        assert isinstance(body, WriteTxnMarkersResponse), "the answer to WriteTxnMarkers"
        self._for_each_entry(lambda txn_id, marker: self._on_answer(txn_id, marker, body.errors(marker.producer_id)))

    def _for_each_entry(self, action: Callable[[str, TxnMarkerEntry], None]) -> None:
        """Run the action for every transaction of the request; raises what the first one raised that failed."""
        failure: Exception | None = None
        for transactional_id, txn_marker in self._txn_id_and_marker_entries:
            try:
                action(transactional_id, txn_marker)
            except Exception as e:  # noqa: BLE001  # the others have their markers all the same
                self.error("Failed to complete the markers %s of %s", txn_marker, transactional_id, exc=e)
                failure = failure or e
        if failure is not None:
            raise failure

    def _on_disconnect(self, transactional_id: str, txn_marker: TxnMarkerEntry) -> None:
        if self._current_metadata(transactional_id, txn_marker) is None:
            return
        self.trace(
            "Re-enqueuing %s transaction markers for transactional id %s under coordinator epoch %s",
            txn_marker.transaction_result,
            transactional_id,
            txn_marker.coordinator_epoch,
        )
        self._txn_marker_channel_manager.add_txn_markers_to_broker_queue(
            transactional_id,
            txn_marker.producer_id,
            txn_marker.producer_epoch,
            txn_marker.transaction_result,
            txn_marker.coordinator_epoch,
            txn_marker.partitions,
        )

    def _on_answer(
        self, transactional_id: str, txn_marker: TxnMarkerEntry, errors: Mapping[TopicPartition, Errors] | None
    ) -> None:
        if errors is None:
            raise IllegalStateException(
                f"WriteTxnMarkerResponse does not contain expected error map for producer id {txn_marker.producer_id}"
            )
        txn_metadata = self._current_metadata(transactional_id, txn_marker)
        if txn_metadata is None:
            return
        to_retry = self._settle_partitions(transactional_id, txn_marker, errors, txn_metadata)
        if to_retry is None:
            self._txn_marker_channel_manager.remove_markers_for_txn_id(transactional_id, txn_marker.coordinator_epoch)
        elif to_retry:
            self.debug(
                "Re-enqueuing %s transaction markers for transactional id %s under coordinator epoch %s",
                txn_marker.transaction_result,
                transactional_id,
                txn_marker.coordinator_epoch,
            )
            self._txn_marker_channel_manager.retry_txn_markers(
                transactional_id, txn_marker._replace(partitions=tuple(to_retry))
            )
        else:
            self._txn_marker_channel_manager.complete_send_markers_for_txn_id(
                transactional_id, txn_marker.coordinator_epoch
            )

    def _current_metadata(self, transactional_id: str, txn_marker: TxnMarkerEntry) -> TransactionMetadata | None:
        """The transaction, if this broker is still in the term in which it sent the marker; else nothing waits more."""
        found = self._txn_state_manager.get_transaction_state(transactional_id)
        if found is Errors.NOT_COORDINATOR:
            self.info(
                "I am no longer the coordinator for %s; cancel sending transaction markers %s to the brokers",
                transactional_id,
                txn_marker,
            )
        elif found is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            self.info(
                "I am loading the transaction partition that contains %s which means the current markers have to be "
                "obsoleted; cancel sending transaction markers %s to the brokers",
                transactional_id,
                txn_marker,
            )
        elif isinstance(found, Errors):
            raise IllegalStateException(f"Unhandled error {found} when fetching current transaction state")
        elif found is None:
            raise IllegalStateException(
                f"The coordinator still owns the transaction partition for {transactional_id}, but there is no "
                "metadata in the cache; this is not expected"
            )
        elif found.coordinator_epoch != txn_marker.coordinator_epoch:
            self.info(
                "Transaction coordinator epoch for %s has changed from %s to %s; cancel sending transaction markers %s "
                "to the brokers",
                transactional_id,
                txn_marker.coordinator_epoch,
                found.coordinator_epoch,
                txn_marker,
            )
        else:
            return found.transaction_metadata
        self._txn_marker_channel_manager.remove_markers_for_txn_id(transactional_id, txn_marker.coordinator_epoch)
        return None

    def _settle_partitions(
        self,
        transactional_id: str,
        txn_marker: TxnMarkerEntry,
        errors: Mapping[TopicPartition, Errors],
        txn_metadata: TransactionMetadata,
    ) -> list[TopicPartition] | None:
        """Take out what is done; the partitions to try again, or None if the transaction is to be left alone."""
        to_retry: list[TopicPartition] = []
        fenced = False
        with txn_metadata.lock:
            for topic_partition in txn_marker.partitions:
                error = errors.get(topic_partition)
                if error is Errors.NONE:
                    txn_metadata.remove_partition(topic_partition)
                elif error in NO_MARKER_NEEDED:
                    self.info(
                        "Sending %s's transaction marker from partition %s has failed with %s. This partition will be "
                        "removed from the set of partitions waiting for completion",
                        transactional_id,
                        topic_partition,
                        error,
                    )
                    txn_metadata.remove_partition(topic_partition)
                elif error in RETRIABLE:
                    self.info(
                        "Sending %s's transaction marker for partition %s has failed with error %s, retrying with "
                        "current coordinator epoch %s",
                        transactional_id,
                        topic_partition,
                        error,
                        txn_marker.coordinator_epoch,
                    )
                    to_retry.append(topic_partition)
                elif error in FENCED:
                    self.info(
                        "Sending %s's transaction marker for partition %s has permanently failed with error %s with "
                        "the current coordinator epoch %s; cancel sending any more transaction markers %s to the "
                        "brokers",
                        transactional_id,
                        topic_partition,
                        error,
                        txn_marker.coordinator_epoch,
                        txn_marker,
                    )
                    fenced = True
                else:
                    raise self._unexpected(transactional_id, error)
        return None if fenced else to_retry

    @staticmethod
    def _unexpected(transactional_id: str, error: Errors | None) -> IllegalStateException:
        if error is None:
            return IllegalStateException(f"No error code for a partition of the txn marker for {transactional_id}")
        kind = "Received fatal error" if error in FATAL else "Unexpected error"
        return IllegalStateException(f"{kind} {error.exception_name()} while sending txn marker for {transactional_id}")
