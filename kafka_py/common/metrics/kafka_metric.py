"""One named number.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/KafkaMetric.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import Gauge, Measurable
from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ReentrantLock

MetricValueProvider = Measurable | Gauge | Callable[[MetricConfig, int], Any]


class KafkaMetric:
    """A metric: its name, its configuration and where its value comes from.

    Mirrors: org.apache.kafka.common.metrics.KafkaMetric
    Differs: the provider may be a function of (config, now ms) as well.
    """

    __slots__ = ("_config", "_lock", "_metric_name", "_provider", "_time")

    def __init__(
        self,
        lock: ReentrantLock,
        metric_name: MetricName,
        provider: MetricValueProvider,
        config: MetricConfig,
        time: Time,
    ) -> None:
        self._lock = lock
        self._metric_name = metric_name
        self._provider = provider
        self._config = config  # volatile: writer under _lock
        self._time = time

    def metric_name(self) -> MetricName:
        """The name."""
        return self._metric_name

    def metric_value(self) -> Any:
        """The value now."""
        now = self._time.milliseconds()
        with self._lock:
            return self._read(now)

    def value(self) -> float:
        """The value now, as a number: 0.0 if it is none."""
        value = self.metric_value()
        return float(value) if isinstance(value, int | float) else 0.0

    def _read(self, now: int) -> Any:
        provider = self._provider
        if isinstance(provider, Measurable):
            return provider.measure(self._config, now)
        if isinstance(provider, Gauge):
            return provider.value(self._config, now)
        return provider(self._config, now)

    def measurable(self) -> Measurable:
        """What measures; IllegalStateException if the metric is no measurable."""
        if isinstance(self._provider, Measurable):
            return self._provider
        raise IllegalStateException(f"Not a measurable: {self._provider}")

    def measurable_value(self, time_ms: int) -> float:
        """The number at that time; 0 if the metric is no measurable."""
        provider = self._provider
        if not isinstance(provider, Measurable):
            return 0.0
        with self._lock:
            return provider.measure(self._config, time_ms)

    def config(self, config: MetricConfig | None = None) -> MetricConfig:
        """The configuration; set first if one is given."""
        if config is not None:
            with self._lock:
                self._config = config
        return self._config

    def __repr__(self) -> str:
        return f"KafkaMetric({self._metric_name!r}, {self._config.quota})"
