"""Bytes per second that replication may take.

Mirrors: core/src/main/scala/kafka/server/ReplicationQuotaManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_py.common.errors import QuotaViolationException
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.simple_rate import SimpleRate
from kafka_py.server.sensor_access import SensorAccess
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantReadWriteLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.metrics.quota import Quota
    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.server.quota_type import QuotaType


INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS = 3600
_RECORD_NOTHING_INTERVAL_MS = 60_000


class ReplicationQuotaManagerConfig(NamedTuple):
    """Default quota and how its rate is measured: ten whole windows and the current one.

    Mirrors: kafka.server.ReplicationQuotaManagerConfig
    """

    quota_bytes_per_second_default: int = 2**63 - 1
    num_quota_samples: int = 11
    quota_window_size_seconds: int = 1


class ReplicaQuota(Protocol):
    """What reading for a replica asks of a quota.

    Mirrors: kafka.server.ReplicaQuota
    """

    def is_throttled(self, topic_partition: TopicPartition) -> bool:
        """Whether the quota is about this partition at all."""

    def is_quota_exceeded(self) -> bool:
        """Whether the rate is above the quota."""


class Constants:
    """Values shared by quotas.

    Mirrors: kafka.server.Constants
    """

    ALL_REPLICAS: tuple[int, ...] = (-1,)


class ReplicationQuotaManager(Logging):
    """Tracks which partitions are throttled and how fast they are copied.

    Mirrors: kafka.server.ReplicationQuotaManager
    Thread: fetcher threads and request handlers measure; the configuration thread sets quota and partitions.
    Locks: lock, while the quota or its sensor changes.
    Differs: markThrottled without partitions is mark_throttled(topic). While nothing is throttled Kafka records
        nothing (zero bytes) at each Fetch, which keeps the rate among the metrics; here that is done once a minute.
    """

    def __init__(
        self,
        config: ReplicationQuotaManagerConfig,
        metrics: Metrics,
        replication_type: QuotaType,
        time: Time,
    ) -> None:
        """No quota and no throttled partition yet."""
        self.config = config
        self._metrics = metrics
        self._replication_type = replication_type
        self._time = time
        self._lock = ReentrantReadWriteLock()
        self._throttled_partitions: ConcurrentHashMap[str, Sequence[int]] = ConcurrentHashMap()  # atomic
        self._quota: Quota | None = None  # volatile: configuration thread under the write lock
        self._next_record_of_nothing_ms = 0  # volatile: whichever handler is first; a second one does no harm
        self._sensor_access = SensorAccess(self._lock, metrics)
        self._rate_metric_name = metrics.metric_name(
            "byte-rate", str(replication_type), f"Tracking byte-rate for {replication_type}"
        )

    def update_quota(self, quota: Quota) -> None:
        """Set the quota, of the running measurement, too."""
        with self._lock.write_lock():
            self._quota = quota
            metric = self._metrics.metric(self._rate_metric_name)
            if metric is not None:
                metric.config(self._get_quota_metric_config(quota))

    def is_quota_exceeded(self) -> bool:
        """Whether the rate is above the quota now."""
        try:
            self._sensor().check_quotas()
        except QuotaViolationException as e:
            self.trace("%s: Quota violated for sensor (%s): %s", self._replication_type, self._sensor().name(), e)
            return True
        return False

    def is_throttled(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition counts against the quota."""
        partitions = self._throttled_partitions.get(topic_partition.topic)
        if partitions is None:
            return False
        return partitions is Constants.ALL_REPLICAS or topic_partition.partition in partitions

    @property
    def any_throttled(self) -> bool:
        """Whether there is a throttled partition: without one nothing has to be measured."""
        return len(self._throttled_partitions) > 0

    def record(self, value: int) -> None:
        """Count bytes; a violation is for is_quota_exceeded to tell."""
        try:
            self._sensor().record(value)
        except QuotaViolationException as e:
            self.trace("Record: Quota violated, but ignored, for sensor (%s): %s", self._sensor().name(), e)

    def record_nothing(self) -> None:
        """Let the rate be seen although no partition is throttled."""
        now = self._time.milliseconds()
        if now >= self._next_record_of_nothing_ms:
            self._next_record_of_nothing_ms = now + _RECORD_NOTHING_INTERVAL_MS
            self.record(0)

    def mark_throttled(self, topic: str, partitions: Sequence[int] = Constants.ALL_REPLICAS) -> None:
        """Throttle these partitions of the topic, or all of it."""
        self._throttled_partitions.put(topic, partitions)

    def remove_throttle(self, topic: str) -> None:
        """Throttle nothing of the topic."""
        self._throttled_partitions.remove(topic)

    def upper_bound(self) -> int:
        """The quota in bytes per second."""
        with self._lock.read_lock():
            return 2**63 - 1 if self._quota is None else int(self._quota.bound())

    def _get_quota_metric_config(self, quota: Quota | None) -> MetricConfig:
        return MetricConfig(
            samples=self.config.num_quota_samples,
            time_window_ms=self.config.quota_window_size_seconds * 1000,
            quota=quota,
        )

    def _sensor(self) -> Sensor:
        return self._sensor_access.get_or_create(
            str(self._replication_type),
            INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS,
            lambda: self._rate_metric_name,
            lambda: self._get_quota_metric_config(self._quota),
            SimpleRate,
        )
