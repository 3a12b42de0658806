"""What all values ever recorded add up to.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Total.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import MeasurableStat


class Total(MeasurableStat):
    """A sum without windows.

    Mirrors: org.apache.kafka.common.metrics.stats.Total
    """

    def __init__(self, value: float = 0.0) -> None:
        self._total = value  # volatile: holder of the sensor's lock

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Add the value."""
        self._total += value

    def measure(self, config: MetricConfig, now: int) -> float:
        """The sum."""
        return self._total
