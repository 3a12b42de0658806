"""The value recorded last.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Value.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import MeasurableStat


class Value(MeasurableStat):
    """Remembers one value.

    Mirrors: org.apache.kafka.common.metrics.stats.Value
    """

    def __init__(self) -> None:
        self._value = 0.0  # volatile: holder of the sensor's lock

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Remember the value."""
        self._value = value

    def measure(self, config: MetricConfig, now: int) -> float:
        """The value."""
        return self._value
