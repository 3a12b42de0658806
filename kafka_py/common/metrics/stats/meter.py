"""A rate and a total of the same values.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Meter.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import CompoundStat, NamedMeasurable
from kafka_py.common.metrics.stats.rate import Rate
from kafka_py.common.metrics.stats.sampled_stat import SampledStat
from kafka_py.common.metrics.stats.total import Total


class Meter(CompoundStat):
    """Feeds two metrics.

    Mirrors: org.apache.kafka.common.metrics.stats.Meter
    Differs: the unit and the rate's statistic come last, by keyword.
    """

    def __init__(
        self,
        rate_metric_name: MetricName,
        total_metric_name: MetricName,
        rate_stat: SampledStat | None = None,
        unit: str = "SECONDS",
    ) -> None:
        self._rate_metric_name = rate_metric_name
        self._total_metric_name = total_metric_name
        self._rate = Rate(rate_stat, unit)
        self._total = Total()

    def stats(self) -> list[NamedMeasurable]:
        """Total and rate."""
        return [
            NamedMeasurable(self._total_metric_name, self._total),
            NamedMeasurable(self._rate_metric_name, self._rate),
        ]

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take the value into both."""
        self._rate.record(config, value, time_ms)
        self._total.record(config, value, time_ms)
