"""A Fetch that waits for enough data or for its time to run out.

Mirrors: core/src/main/scala/kafka/server/DelayedFetch.scala @ 1.1.1
Posts:   reading-writing-configuring (long polling in the fetch purgatory)
Read next: server/delayed_operation.py, server/replica_manager.py (fetch_messages)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import (
    FencedLeaderEpochException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.delayed_operation import DelayedOperation
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.server.log_read_result import FetchPartitionData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafka_py.common.requests.fetch_request import FetchRequest
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.metrics.yammer import Meter
    from kafka_py.server.fetch_params import FetchParams
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicaQuota


class FetchPartitionStatus:
    """Where one partition of a waiting Fetch began to read, and what it asked for.

    Mirrors: kafka.server.FetchPartitionStatus
    Left out: toString -- `__repr__`
    """

    __slots__ = ("fetch_info", "start_offset_metadata")

    def __init__(self, start_offset_metadata: LogOffsetMetadata, fetch_info: FetchRequest.PartitionData) -> None:
        self.start_offset_metadata = start_offset_metadata
        self.fetch_info = fetch_info

    def __repr__(self) -> str:
        return f"[startOffsetMetadata: {self.start_offset_metadata}, fetchInfo: {self.fetch_info}]"


class DelayedFetch(DelayedOperation):
    """Waits until fetch.min.bytes can be read, or until waiting makes no more sense.

    Mirrors: kafka.server.DelayedFetch
    Thread: any handler (try_complete), executor-{purgatory} (on_expiration)
    Locks: DelayedOperation.lock, while try_complete runs.
    Differs: holds the request as FetchParams, as in 3.7.1, and its partitions; 1.1.1 has FetchMetadata for both.
    """

    def __init__(
        self,
        params: FetchParams,
        fetch_partition_status: Sequence[tuple[TopicPartition, FetchPartitionStatus]],
        replica_manager: ReplicaManager,
        quota: ReplicaQuota,
        response_callback: Callable[[list[tuple[TopicPartition, FetchPartitionData]]], object],
    ) -> None:
        super().__init__(params.max_wait_ms)
        self._params = params
        self._fetch_partition_status = fetch_partition_status
        self._replica_manager = replica_manager
        self._quota = quota
        self._response_callback = response_callback

    def __repr__(self) -> str:
        params = self._params
        return (
            f"[minBytes: {params.min_bytes}, maxBytes:{params.max_bytes}, onlyLeader:{params.fetch_only_leader}, "
            f"onlyCommitted: {params.fetch_only_committed}, replicaId: {params.replica_id}, "
            f"partitionStatus: {self._fetch_partition_status}]"
        )

    def try_complete(self) -> bool:
        """Complete when waiting can bring nothing more.

        Case A: no longer the leader of a partition; B: a partition is gone; C: the fetch offset is in another segment
        than the end (there is plenty to read, or the log was truncated); D: the bytes to be read, at most
        partition.max.bytes of each partition, reach the minimum; E: a partition's log directory is offline;
        F (from 2.1): the reader's leader epoch is no longer the leader's.
        """
        accumulated_size = 0
        for topic_partition, status in self._fetch_partition_status:
            if status.start_offset_metadata == LogOffsetMetadata.UNKNOWN_OFFSET_METADATA:
                continue
            try:
                available = self._bytes_available(topic_partition, status)
            except KafkaStorageException:  # Case E
                self.debug("Partition %s is in an offline log directory, satisfy %s immediately", topic_partition, self)
                return self.force_complete()
            except UnknownTopicOrPartitionException:  # Case B
                self.debug("Broker no longer know of %s, satisfy %s immediately", topic_partition, self)
                return self.force_complete()
            except (FencedLeaderEpochException, UnknownLeaderEpochException):  # Case F
                self.debug("Leader epoch of %s has changed, satisfy %s immediately", topic_partition, self)
                return self.force_complete()
            except NotLeaderForPartitionException:  # Case A
                self.debug("Broker is no longer the leader of %s, satisfy %s immediately", topic_partition, self)
                return self.force_complete()
            if available is None:  # Case C
                return self.force_complete()
            accumulated_size += available
        # Case D
        return self.force_complete() if accumulated_size >= self._params.min_bytes else False

    def _bytes_available(self, topic_partition: TopicPartition, status: FetchPartitionStatus) -> int | None:
        """Bytes this partition adds to the minimum; None when it alone ends the waiting (Case C)."""
        partition, replica = self._replica_manager.get_partition_and_leader_replica_if_local(topic_partition)
        partition.check_current_leader_epoch(status.fetch_info.current_leader_epoch)
        if self._params.isolation_level is IsolationLevel.READ_COMMITTED:
            end_offset = replica.last_stable_offset
        elif self._params.fetch_only_committed:
            end_offset = replica.high_watermark
        else:
            end_offset = replica.log_end_offset
        fetch_offset = status.start_offset_metadata
        # Equal offsets first: after a roll the high watermark may stand at the same offset in the older segment,
        # which is no reason to end the waiting.
        if end_offset.message_offset == fetch_offset.message_offset:
            return 0
        if end_offset.on_older_segment(fetch_offset):
            self.debug(
                "Satisfying fetch %s since it is fetching later segments of partition %s.",
                self,
                topic_partition,
            )
            return None
        throttled = self._replica_manager.should_leader_throttle(self._quota, topic_partition, self._params.replica_id)
        if fetch_offset.on_older_segment(end_offset):
            self.debug(
                "Satisfying fetch %s immediately since it is fetching older segments.",
                self,
            )
            return 0 if throttled else None
        if throttled or fetch_offset.message_offset > end_offset.message_offset:
            return 0
        return min(end_offset.position_diff(fetch_offset), status.fetch_info.max_bytes)

    def on_expiration(self) -> None:
        """Count the expired request under its kind of fetcher."""
        if self._params.is_from_follower:
            DelayedFetchMetrics.FOLLOWER_EXPIRED_REQUEST_METER.mark()
        else:
            DelayedFetchMetrics.CONSUMER_EXPIRED_REQUEST_METER.mark()

    def on_complete(self) -> None:
        """Read whatever there is now and answer with it."""
        log_read_results = self._replica_manager.read_from_local_log(
            self._params,
            [(tp, status.fetch_info) for tp, status in self._fetch_partition_status],
            self._quota,
        )
        self._response_callback([(tp, FetchPartitionData.of(result)) for tp, result in log_read_results])


class DelayedFetchMetrics(KafkaMetricsGroup):
    """Meters of Fetch requests whose max.wait ran out.

    Mirrors: kafka.server.DelayedFetchMetrics
    """

    FETCHER_TYPE_KEY: ClassVar[str] = "fetcherType"
    FOLLOWER_EXPIRED_REQUEST_METER: ClassVar[Meter]
    CONSUMER_EXPIRED_REQUEST_METER: ClassVar[Meter]


DelayedFetchMetrics.FOLLOWER_EXPIRED_REQUEST_METER = DelayedFetchMetrics().new_meter(
    "ExpiresPerSec", "requests", {DelayedFetchMetrics.FETCHER_TYPE_KEY: "follower"}
)
DelayedFetchMetrics.CONSUMER_EXPIRED_REQUEST_METER = DelayedFetchMetrics().new_meter(
    "ExpiresPerSec", "requests", {DelayedFetchMetrics.FETCHER_TYPE_KEY: "consumer"}
)
