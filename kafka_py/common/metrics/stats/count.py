"""How many values there were in the last windows.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Count.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.sampled_stat import Sample, SampledStat


class Count(SampledStat):
    """How many values there were in the last windows.

    Mirrors: org.apache.kafka.common.metrics.stats.Count
    """

    def __init__(self) -> None:
        super().__init__(0.0)

    def update(self, sample: Sample, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into this window."""
        sample.value += 1.0

    def combine(self, samples: Sequence[Sample], config: MetricConfig, now: int) -> float:
        """The statistic over these windows."""
        return sum(sample.value for sample in samples)
