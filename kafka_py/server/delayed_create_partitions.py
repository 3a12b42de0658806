"""The creation of topics or partitions, waiting until every new partition has a leader.

Mirrors: core/src/main/scala/kafka/server/DelayedCreatePartitions.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.server.admin_manager import AdminManager


class CreatePartitionsMetadata(NamedTuple):
    """One topic of the request: its new assignment, and what went wrong so far.

    Mirrors: kafka.server.CreatePartitionsMetadata
    """

    topic: str
    replica_assignments: Mapping[int, Sequence[int]]
    error: ApiError


class DelayedCreatePartitions(DelayedOperation):
    """Done when every topic without an error exists and each of its partitions has a leader.

    Mirrors: kafka.server.DelayedCreatePartitions
    Thread: the handler that creates; the handler of the UpdateMetadata request that completes; the reaper.
    """

    def __init__(
        self,
        delay_ms: int,
        create_metadata: Sequence[CreatePartitionsMetadata],
        admin_manager: AdminManager,
        response_callback: Callable[[dict[str, ApiError]], None],
    ) -> None:
        """Wait at most delay_ms."""
        super().__init__(delay_ms)
        self.create_metadata = create_metadata
        self._admin_manager = admin_manager
        self._response_callback = response_callback

    def try_complete(self) -> bool:
        """Complete if no partition is without a leader."""
        self.trace("Trying to complete operation for %s", self.create_metadata)
        leaderless = sum(
            self._missing_leader_count(metadata.topic, metadata.replica_assignments.keys())
            for metadata in self.create_metadata
            if metadata.error.is_success()
        )
        if leaderless == 0:
            self.trace("All partitions have a leader, completing the delayed operation")
            return self.force_complete()
        self.trace("%s partitions do not have a leader, not completing the delayed operation", leaderless)
        return False

    def on_complete(self) -> None:
        """Answer, with a time-out for topics that still lack a leader."""
        self.trace("Completing operation for %s", self.create_metadata)
        results = {}
        for metadata in self.create_metadata:
            error = metadata.error
            if error.is_success() and self._missing_leader_count(metadata.topic, metadata.replica_assignments.keys()):
                error = ApiError(Errors.REQUEST_TIMED_OUT, None)
            results[metadata.topic] = error
        self._response_callback(results)

    def on_expiration(self) -> None:
        """Nothing beyond on_complete, which has seen that leaders are missing."""
        return

    def _missing_leader_count(self, topic: str, partitions: Collection[int]) -> int:
        return sum(self._is_missing_leader(topic, partition) for partition in partitions)

    def _is_missing_leader(self, topic: str, partition: int) -> bool:
        info = self._admin_manager.metadata_cache.get_partition_info(topic, partition)
        return info is None or info.base_partition_state.leader == LeaderAndIsr.NO_LEADER
