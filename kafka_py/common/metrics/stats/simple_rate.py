"""A rate that looks no further back than its windows.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/SimpleRate.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.rate import Rate


class SimpleRate(Rate):
    """Divides by the time since the oldest window began, at least one window.

    Mirrors: org.apache.kafka.common.metrics.stats.SimpleRate
    """

    def window_size(self, config: MetricConfig, now: int) -> int:
        """The ms to divide by."""
        self.stat.purge_obsolete_samples(config, now)
        return max(now - self.stat.oldest(now).last_window_ms, config.time_window_ms)
