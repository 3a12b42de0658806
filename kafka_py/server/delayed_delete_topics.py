"""The deletion of topics, waiting until they are gone from the metadata.

Mirrors: core/src/main/scala/kafka/server/DelayedDeleteTopics.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.protocol.errors import Errors
from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.server.admin_manager import AdminManager


class DeleteTopicMetadata(NamedTuple):
    """One topic of the request, and what went wrong so far.

    Mirrors: kafka.server.DeleteTopicMetadata
    """

    topic: str
    error: Errors


class DelayedDeleteTopics(DelayedOperation):
    """Done when no topic without an error exists any more.

    Mirrors: kafka.server.DelayedDeleteTopics
    Thread: the handler that deletes; the handler of the UpdateMetadata request that completes; the reaper.
    """

    def __init__(
        self,
        delay_ms: int,
        delete_metadata: Sequence[DeleteTopicMetadata],
        admin_manager: AdminManager,
        response_callback: Callable[[dict[str, Errors]], None],
    ) -> None:
        """Wait at most delay_ms."""
        super().__init__(delay_ms)
        self.delete_metadata = delete_metadata
        self._admin_manager = admin_manager
        self._response_callback = response_callback

    def try_complete(self) -> bool:
        """Complete if all topics are gone."""
        self.trace("Trying to complete operation for %s", self.delete_metadata)
        existing = sum(m.error is Errors.NONE and self._topic_exists(m.topic) for m in self.delete_metadata)
        if existing == 0:
            self.trace("All topics have been deleted or have errors, completing the delayed operation")
            return self.force_complete()
        self.trace("%s topics still exist, not completing the delayed operation", existing)
        return False

    def on_complete(self) -> None:
        """Answer, with a time-out for topics that still exist."""
        self.trace("Completing operation for %s", self.delete_metadata)
        results = {}
        for metadata in self.delete_metadata:
            error = metadata.error
            if error is Errors.NONE and self._topic_exists(metadata.topic):
                error = Errors.REQUEST_TIMED_OUT
            results[metadata.topic] = error
        self._response_callback(results)

    def on_expiration(self) -> None:
        """Nothing beyond on_complete, which has seen that topics are left."""
        return

    def _topic_exists(self, topic: str) -> bool:
        return self._admin_manager.metadata_cache.contains(topic)
