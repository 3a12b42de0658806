"""The registry of sensors and metrics.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/Metrics.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.kafka_metric import KafkaMetric, MetricValueProvider
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.metrics_reporter import MetricsReporter
from kafka_py.common.metrics.recording_level import RecordingLevel
from kafka_py.common.metrics.sensor import Sensor
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock, ScheduledThreadPoolExecutor
from kafka_py.utils.logging import get_logger

log = get_logger("org.apache.kafka.common.metrics.Metrics")
_NEVER_SECONDS = 2**62


class Metrics:
    """Sensors by name, metrics by MetricName, and the reporters told about them.

    Mirrors: org.apache.kafka.common.metrics.Metrics
    Locks: a sensor's lock is taken before the registry's.
    Left out: toHtmlTable -- writes Kafka's own web page
    """

    def __init__(
        self,
        default_config: MetricConfig | None = None,
        reporters: Sequence[MetricsReporter] = (),
        time: Time = Time.SYSTEM,
        enable_expiration: bool = False,
    ) -> None:
        self._config = default_config or MetricConfig()
        self._sensors: ConcurrentHashMap[str, Sensor] = ConcurrentHashMap()
        self._metrics: ConcurrentHashMap[MetricName, KafkaMetric] = ConcurrentHashMap()
        self._children_sensors: ConcurrentHashMap[Sensor, list[Sensor]] = ConcurrentHashMap()
        self._reporters = list(reporters)
        self._time = time
        self._lock = ReentrantLock()
        for reporter in self._reporters:
            reporter.init([])
        self._metrics_scheduler: ScheduledThreadPoolExecutor | None = None
        if enable_expiration:
            self._metrics_scheduler = ScheduledThreadPoolExecutor(
                1, lambda run: KafkaThread.daemon_thread("SensorExpiryThread", run)
            )
            self._metrics_scheduler.schedule_at_fixed_rate(self.expire_sensors, 30_000, 30_000)
        name = self.metric_name("count", "kafka-metrics-count", "total number of registered metrics")
        self.add_metric(name, lambda config, now: float(len(self._metrics)))

    def metric_name(
        self, name: str, group: str, description: str = "", tags: Mapping[str, str] | None = None
    ) -> MetricName:
        """A name with the registry's own tags added."""
        return MetricName(name, group, description, {**self._config.tags, **(tags or {})})

    def config(self) -> MetricConfig:
        """The configuration of metrics that bring none."""
        return self._config

    def get_sensor(self, name: str) -> Sensor | None:
        """The sensor of that name, if there is one."""
        return self._sensors.get(name)

    def sensor(
        self,
        name: str,
        *parents: Sensor,
        config: MetricConfig | None = None,
        inactive_sensor_expiration_time_seconds: int = _NEVER_SECONDS,
        recording_level: RecordingLevel = RecordingLevel.INFO,
    ) -> Sensor:
        """The sensor of that name, made if there is none; what it records, its parents record too."""
        with self._lock:
            sensor = self._sensors.get(name)
            if sensor is None:
                sensor = Sensor(
                    self,
                    name,
                    parents,
                    config or self._config,
                    self._time,
                    inactive_sensor_expiration_time_seconds,
                    recording_level,
                )
                self._sensors[name] = sensor
                for parent in parents:
                    self._children_sensors.compute_if_absent(parent, lambda _: []).append(sensor)
                log.debug("Added sensor with name %s", name)
            return sensor

    def remove_sensor(self, name: str) -> None:
        """Remove a sensor, its metrics and its children."""
        sensor = self._sensors.get(name)
        if sensor is None:
            return
        children: list[Sensor] = []
        with sensor.lock, self._lock:
            if self._sensors.remove(name, sensor) is not None:
                for metric in sensor.metrics():
                    self.remove_metric(metric.metric_name())
                log.debug("Removed sensor with name %s", name)
                children = self._children_sensors.pop(sensor, [])
        for child in children:
            self.remove_sensor(child.name())

    def add_metric(
        self, metric_name: MetricName, provider: MetricValueProvider, config: MetricConfig | None = None
    ) -> None:
        """Add a metric without a sensor: a Measurable, a Gauge or a function of (config, now ms)."""
        self.register_metric(KafkaMetric(ReentrantLock(), metric_name, provider, config or self._config, self._time))

    def remove_metric(self, metric_name: MetricName) -> KafkaMetric | None:
        """Remove a metric and tell the reporters; the metric, if there was one."""
        with self._lock:
            metric = self._metrics.remove(metric_name)
            if metric is not None:
                for reporter in self._reporters:
                    reporter.metric_removal(metric)
            return metric

    def add_reporter(self, reporter: MetricsReporter) -> None:
        """Tell another reporter, starting with what there is."""
        with self._lock:
            reporter.init(self._metrics.values())
            self._reporters.append(reporter)

    def remove_reporter(self, reporter: MetricsReporter) -> None:
        """Close a reporter and forget it."""
        with self._lock:
            if reporter in self._reporters:
                self._reporters.remove(reporter)
                reporter.close()

    def register_metric(self, metric: KafkaMetric) -> None:
        """Add a metric; ValueError if its name is taken."""
        with self._lock:
            name = metric.metric_name()
            if name in self._metrics:
                raise ValueError(f"A metric named '{name}' already exists, can't register another one.")
            self._metrics[name] = metric
            for reporter in self._reporters:
                reporter.metric_change(metric)

    def metrics(self) -> ConcurrentHashMap[MetricName, KafkaMetric]:
        """All metrics by name."""
        return self._metrics

    def reporters(self) -> list[MetricsReporter]:
        """The reporters."""
        return self._reporters

    def metric(self, metric_name: MetricName) -> KafkaMetric | None:
        """The metric of that name, if there is one."""
        return self._metrics.get(metric_name)

    def children_sensors(self) -> ConcurrentHashMap[Sensor, list[Sensor]]:
        """Sensor -> those that have it as parent."""
        return self._children_sensors

    def expire_sensors(self) -> None:
        """Remove the sensors that have been idle for too long."""
        for name, sensor in self._sensors.items():
            with sensor.lock:
                if sensor.has_expired():
                    log.debug("Removing expired sensor %s", name)
                    self.remove_sensor(name)

    def close(self) -> None:
        """Stop expiring and close the reporters."""
        if self._metrics_scheduler is not None:
            self._metrics_scheduler.shutdown()
            self._metrics_scheduler.await_termination(30_000)
        for reporter in self._reporters:
            reporter.close()

    def __enter__(self) -> Metrics:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
