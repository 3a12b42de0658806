"""The largest value of the last windows.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Max.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.sampled_stat import Sample, SampledStat


class Max(SampledStat):
    """The largest value of the last windows.

    Mirrors: org.apache.kafka.common.metrics.stats.Max
    """

    def __init__(self) -> None:
        super().__init__(float("-inf"))

    def update(self, sample: Sample, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into this window."""
        sample.value = max(sample.value, value)

    def combine(self, samples: Sequence[Sample], config: MetricConfig, now: int) -> float:
        """The statistic over these windows."""
        return max((sample.value for sample in samples), default=float("-inf"))
