"""Takes numbers and hands them to its statistics and its parents.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/Sensor.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.common.errors import QuotaViolationException
from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.kafka_metric import KafkaMetric
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.recording_level import RecordingLevel as _RecordingLevel
from kafka_py.common.metrics.stat import CompoundStat, MeasurableStat, Stat
from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics

_MAX_MS = 2**63 - 1


class Sensor:
    """A place where values are recorded: message sizes, waiting times; each may feed several metrics.

    Mirrors: org.apache.kafka.common.metrics.Sensor
    Locks: one for the sensor's statistics and the metrics that read them.
    Differs: Kafka has two locks, so that reading a metric need not wait for a quota check; here the check runs under
    the one lock, which a thread may take again.
    """

    RecordingLevel = _RecordingLevel

    def __init__(
        self,
        registry: Metrics,
        name: str,
        parents: Sequence[Sensor],
        config: MetricConfig,
        time: Time,
        inactive_sensor_expiration_time_seconds: int = _MAX_MS // 1000,
        recording_level: _RecordingLevel = _RecordingLevel.INFO,
    ) -> None:
        self._registry = registry
        self._name = name
        self._parents = tuple(parents)
        self._metrics: list[KafkaMetric] = []
        self._stats: tuple[Stat, ...] = ()  # guarded by: lock
        self._config = config
        self._time = time
        self._inactive_sensor_expiration_time_ms = inactive_sensor_expiration_time_seconds * 1000
        self._last_record_time = time.milliseconds()  # volatile: any
        self._recording_level = recording_level
        self.lock = ReentrantLock()
        self._check_forest(set())

    def _check_forest(self, sensors: set[Sensor]) -> None:
        """ValueError if a sensor is its own ancestor, or reached twice."""
        if self in sensors:
            raise ValueError(f"Circular dependency in sensors: {self._name} is its own parent.")
        sensors.add(self)
        for parent in self._parents:
            parent._check_forest(sensors)

    def name(self) -> str:
        """The name under which Metrics knows the sensor."""
        return self._name

    def should_record(self) -> bool:
        """Whether the configured level lets this sensor record."""
        return self._recording_level.should_record(self._config.record_level.id)

    def record(self, value: float = 1.0, time_ms: int | None = None, check_quotas: bool = True) -> None:
        """Take a value in; QuotaViolationException if a metric then lies beyond its quota (the value counts)."""
        if not self.should_record():
            return
        if time_ms is None:
            time_ms = self._time.milliseconds()
        self._last_record_time = time_ms
        with self.lock:
            config = self._config
            for stat in self._stats:
                stat.record(config, value, time_ms)
            if check_quotas:
                self.check_quotas(time_ms)
        for parent in self._parents:
            parent.record(value, time_ms, check_quotas)

    def check_quotas(self, time_ms: int | None = None) -> None:
        """QuotaViolationException if one of the metrics lies beyond its quota."""
        for metric in self._metrics:
            quota = metric.config().quota
            if quota is not None:
                value = metric.measurable_value(self._time.milliseconds() if time_ms is None else time_ms)
                if not quota.acceptable(value):
                    raise QuotaViolationException(metric, value, quota.bound())

    def add(
        self,
        metric_name: MetricName | CompoundStat,
        stat: MeasurableStat | None = None,
        config: MetricConfig | None = None,
    ) -> None:
        """Feed a statistic, as a metric of that name: `add(name, stat)`; or a compound one: `add(compound)`."""
        with self.lock:
            if isinstance(metric_name, CompoundStat):
                for named in metric_name.stats():
                    self._register(KafkaMetric(self.lock, named.name, named.stat, config or self._config, self._time))
                self._stats = (*self._stats, metric_name)
            else:
                if stat is None:
                    raise ValueError("a name needs a stat")
                self._register(KafkaMetric(self.lock, metric_name, stat, config or self._config, self._time))
                self._stats = (*self._stats, stat)

    def _register(self, metric: KafkaMetric) -> None:
        self._registry.register_metric(metric)
        self._metrics.append(metric)

    def has_metrics(self) -> bool:
        """Whether any statistic is fed."""
        return bool(self._metrics)

    def has_expired(self) -> bool:
        """Whether nothing was recorded for longer than the sensor may be idle."""
        return self._time.milliseconds() - self._last_record_time > self._inactive_sensor_expiration_time_ms

    def metrics(self) -> list[KafkaMetric]:
        """The metrics the sensor feeds."""
        with self.lock:
            return list(self._metrics)
