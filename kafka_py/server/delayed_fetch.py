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


class FetchMetadata:
    """The request as a waiting Fetch remembers it.

    Mirrors: kafka.server.FetchMetadata
    Left out: toString -- `__repr__`
    """

    __slots__ = (
        "fetch_max_bytes",
        "fetch_min_bytes",
        "fetch_only_committed",
        "fetch_only_leader",
        "fetch_partition_status",
        "hard_max_bytes_limit",
        "is_from_follower",
        "replica_id",
    )

    def __init__(
        self,
        fetch_min_bytes: int,
        fetch_max_bytes: int,
        hard_max_bytes_limit: bool,
        fetch_only_leader: bool,
        fetch_only_committed: bool,
        is_from_follower: bool,
        replica_id: int,
        fetch_partition_status: Sequence[tuple[TopicPartition, FetchPartitionStatus]],
    ) -> None:
        self.fetch_min_bytes = fetch_min_bytes
        self.fetch_max_bytes = fetch_max_bytes
        self.hard_max_bytes_limit = hard_max_bytes_limit
        self.fetch_only_leader = fetch_only_leader
        self.fetch_only_committed = fetch_only_committed
        self.is_from_follower = is_from_follower
        self.replica_id = replica_id
        self.fetch_partition_status = fetch_partition_status

    def __repr__(self) -> str:
        return (
            f"[minBytes: {self.fetch_min_bytes}, maxBytes:{self.fetch_max_bytes}, onlyLeader:{self.fetch_only_leader}, "
            f"onlyCommitted: {self.fetch_only_committed}, replicaId: {self.replica_id}, "
            f"partitionStatus: {self.fetch_partition_status}]"
        )


class DelayedFetch(DelayedOperation):
    """Waits until fetch.min.bytes can be read, or until waiting makes no more sense.

    Mirrors: kafka.server.DelayedFetch
    Thread: any handler (try_complete), ExpirationReaper (on_expiration)
    """

    def __init__(
        self,
        delay_ms: int,
        fetch_metadata: FetchMetadata,
        replica_manager: ReplicaManager,
        quota: ReplicaQuota,
        isolation_level: IsolationLevel,
        response_callback: Callable[[list[tuple[TopicPartition, FetchPartitionData]]], object],
    ) -> None:
        super().__init__(delay_ms)
        self.fetch_metadata = fetch_metadata
        self._replica_manager = replica_manager
        self._quota = quota
        self._isolation_level = isolation_level
        self._response_callback = response_callback

    def try_complete(self) -> bool:
        """Complete when waiting can bring nothing more.

        Case A: no longer the leader of a partition; B: a partition is gone; C: the fetch offset is in another segment
        than the end (there is plenty to read, or the log was truncated); D: the bytes to be read, at most
        partition.max.bytes of each partition, reach the minimum; E: a partition's log directory is offline;
        F (from 2.1): the reader's leader epoch is no longer the leader's.
        """
        metadata = self.fetch_metadata
        accumulated_size = 0
        for topic_partition, status in metadata.fetch_partition_status:
            if status.start_offset_metadata == LogOffsetMetadata.UNKNOWN_OFFSET_METADATA:
                continue
            try:
                available = self._bytes_available(topic_partition, status)
            except KafkaStorageException:  # Case E
                self.debug(
                    "Partition %s is in an offline log directory, satisfy %s immediately", topic_partition, metadata
                )
                return self.force_complete()
            except UnknownTopicOrPartitionException:  # Case B
                self.debug("Broker no longer know of %s, satisfy %s immediately", topic_partition, metadata)
                return self.force_complete()
            except (FencedLeaderEpochException, UnknownLeaderEpochException):  # Case F
                self.debug("Leader epoch of %s has changed, satisfy %s immediately", topic_partition, metadata)
                return self.force_complete()
            except NotLeaderForPartitionException:  # Case A
                self.debug("Broker is no longer the leader of %s, satisfy %s immediately", topic_partition, metadata)
                return self.force_complete()
            if available is None:  # Case C
                return self.force_complete()
            accumulated_size += available
        # Case D
        return self.force_complete() if accumulated_size >= metadata.fetch_min_bytes else False

    def _bytes_available(self, topic_partition: TopicPartition, status: FetchPartitionStatus) -> int | None:
        """Bytes this partition adds to the minimum; None when it alone ends the waiting (Case C)."""
        partition, replica = self._replica_manager.get_partition_and_leader_replica_if_local(topic_partition)
        partition.check_current_leader_epoch(status.fetch_info.current_leader_epoch)
        if self._isolation_level is IsolationLevel.READ_COMMITTED:
            end_offset = replica.last_stable_offset
        elif self.fetch_metadata.fetch_only_committed:
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
                self.fetch_metadata,
                topic_partition,
            )
            return None
        throttled = self._replica_manager.should_leader_throttle(
            self._quota, topic_partition, self.fetch_metadata.replica_id
        )
        if fetch_offset.on_older_segment(end_offset):
            self.debug(
                "Satisfying fetch %s immediately since it is fetching older segments.",
                self.fetch_metadata,
            )
            return 0 if throttled else None
        if throttled or fetch_offset.message_offset > end_offset.message_offset:
            return 0
        return min(end_offset.position_diff(fetch_offset), status.fetch_info.max_bytes)

    def on_expiration(self) -> None:
        """Count the expired request under its kind of fetcher."""
        if self.fetch_metadata.is_from_follower:
            DelayedFetchMetrics.FOLLOWER_EXPIRED_REQUEST_METER.mark()
        else:
            DelayedFetchMetrics.CONSUMER_EXPIRED_REQUEST_METER.mark()

    def on_complete(self) -> None:
        """Read whatever there is now and answer with it."""
        metadata = self.fetch_metadata
        log_read_results = self._replica_manager.read_from_local_log(
            replica_id=metadata.replica_id,
            fetch_only_from_leader=metadata.fetch_only_leader,
            read_only_committed=metadata.fetch_only_committed,
            fetch_max_bytes=metadata.fetch_max_bytes,
            hard_max_bytes_limit=metadata.hard_max_bytes_limit,
            read_partition_info=[(tp, status.fetch_info) for tp, status in metadata.fetch_partition_status],
            quota=self._quota,
            isolation_level=self._isolation_level,
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
