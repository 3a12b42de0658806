"""A Metadata request that came before the controller has told this broker of the cluster.

Kafka has no such thing: it answers that there are no brokers and no controller. See KafkaApisMetadata.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.server.metadata_cache import MetadataCache


class DelayedMetadata(DelayedOperation):
    """Done when the first UpdateMetadata request has come.

    Thread: the handler of the Metadata request; the handler of the UpdateMetadata request that completes; the reaper.
    """

    def __init__(self, delay_ms: int, metadata_cache: MetadataCache, response_callback: Callable[[], None]) -> None:
        """Wait at most delay_ms."""
        super().__init__(delay_ms)
        self._metadata_cache = metadata_cache
        self._response_callback = response_callback

    def try_complete(self) -> bool:
        """Complete if this broker knows of brokers, itself among them."""
        return not self._metadata_cache.is_empty and self.force_complete()

    def on_complete(self) -> None:
        """Answer with what is known now."""
        self._response_callback()

    def on_expiration(self) -> None:
        """Nothing beyond on_complete, which has answered what Kafka answers at once."""
        return
