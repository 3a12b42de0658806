"""The mean of the values of the last windows.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Avg.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.sampled_stat import Sample, SampledStat


class Avg(SampledStat):
    """The mean of the values of the last windows.

    Mirrors: org.apache.kafka.common.metrics.stats.Avg
    """

    def __init__(self) -> None:
        super().__init__(0.0)

    def update(self, sample: Sample, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into this window."""
        sample.value += value

    def combine(self, samples: Sequence[Sample], config: MetricConfig, now: int) -> float:
        """The statistic over these windows."""
        count = sum(sample.event_count for sample in samples)
        return sum(sample.value for sample in samples) / count if count else 0.0
