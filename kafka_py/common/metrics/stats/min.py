"""The smallest value of the last windows.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Min.java @ 1.1.1
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stats.sampled_stat import Sample, SampledStat


class Min(SampledStat):
    """The smallest value of the last windows.

    Mirrors: org.apache.kafka.common.metrics.stats.Min
    """

    def __init__(self) -> None:
        super().__init__(sys.float_info.max)

    def update(self, sample: Sample, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into this window."""
        sample.value = min(sample.value, value)

    def combine(self, samples: Sequence[Sample], config: MetricConfig, now: int) -> float:
        """The statistic over these windows."""
        return min((sample.value for sample in samples), default=sys.float_info.max)
