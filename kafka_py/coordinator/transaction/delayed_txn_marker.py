"""A transaction that waits until every partition has its marker.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/DelayedTxnMarker.scala @ 1.1.1
Read next: transaction_marker_channel_manager.py, server/delayed_operation.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException
from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata

_HUNDRED_YEARS_MS = 100 * 365 * 24 * 3600 * 1000


class DelayedTxnMarker(DelayedOperation):
    """Completes when the transaction has no partition left that a marker is missing in. It never expires.

    Mirrors: kafka.coordinator.transaction.DelayedTxnMarker
    Thread:  tried by TxnMarkerSenderThread-{broker} and by whoever ends a transaction.
    Locks:   its own `lock` is only tried; that of the metadata is given back before the callback is called.
    Differs: has a lock of its own. In 1.1.1 that is the coordinator's state lock, which others hold for reasons of
        their own: who found it taken left a mark that nobody looked at, and the transaction hung for ever (KAFKA-9777,
        where 2.6 drops the purgatory).
    """

    def __init__(self, txn_metadata: TransactionMetadata, completion_callback: Callable[[], None]) -> None:
        super().__init__(_HUNDRED_YEARS_MS)
        self._txn_metadata = txn_metadata
        self._completion_callback = completion_callback

    def try_complete(self) -> bool:
        """Complete if all markers are written."""
        with self._txn_metadata.lock:
            if self._txn_metadata.topic_partitions:
                return False
        return self.force_complete()

    def on_expiration(self) -> None:
        """Never: there is no timer."""
        raise IllegalStateException(
            f"Delayed write txn marker operation for metadata {self._txn_metadata} has timed out, "
            "this should never happen."
        )

    def on_complete(self) -> None:
        """Go on with the transaction."""
        self._completion_callback()
