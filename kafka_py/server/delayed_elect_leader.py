"""Elections whose results the brokers have yet to hear of.

Mirrors: core/src/main/scala/kafka/server/DelayedElectLeader.scala @ 2.5.1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.metadata_cache import MetadataCache


class DelayedElectLeader(DelayedOperation):
    """Done when this broker's metadata has the elected leaders, so that a client that asks next hears of them.

    Mirrors: kafka.server.DelayedElectLeader @ 2.5.1
    Thread: the controller's event thread makes it; the handler of the UpdateMetadata request completes it; the reaper.
    """

    def __init__(
        self,
        delay_ms: int,
        expected_leaders: Mapping[TopicPartition, int],
        results: Mapping[TopicPartition, ApiError],
        metadata_cache: MetadataCache,
        response_callback: Callable[[Mapping[TopicPartition, ApiError]], None],
    ) -> None:
        """Wait at most delay_ms; results are those of the partitions without an election."""
        super().__init__(delay_ms)
        self._waiting_partitions = dict(expected_leaders)  # thread: any; two may take the same partition off
        self._full_results = dict(results)  # thread: any; likewise
        self._metadata_cache = metadata_cache
        self._response_callback = response_callback

    def on_expiration(self) -> None:
        """Nothing beyond on_complete, which has seen what is missing."""
        return

    def on_complete(self) -> None:
        """Answer, with a time-out for what this broker has not heard of."""
        self._update_waiting()
        timed_out = dict.fromkeys(self._waiting_partitions, ApiError(Errors.REQUEST_TIMED_OUT))
        self._response_callback(timed_out | self._full_results)

    def try_complete(self) -> bool:
        """Complete if every leader is known."""
        self._update_waiting()
        self.debug("tryComplete() waitingPartitions: %s", self._waiting_partitions)
        return not self._waiting_partitions and self.force_complete()

    def _update_waiting(self) -> None:
        for tp, leader in list(self._waiting_partitions.items()):
            info = self._metadata_cache.get_partition_info(tp.topic, tp.partition)
            if info is not None and info.base_partition_state.leader == leader:
                self._full_results[tp] = ApiError.NONE
                self._waiting_partitions.pop(tp, None)
