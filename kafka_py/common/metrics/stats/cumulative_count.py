"""How many values were ever recorded.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/CumulativeCount.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.total import Total


class CumulativeCount(Total):
    """A count without windows.

    Mirrors: org.apache.kafka.common.metrics.stats.CumulativeCount @ 3.7.1
    """

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Count one, whatever the value."""
        super().record(config, 1.0, time_ms)
