"""Values per unit of time.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/Rate.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import MeasurableStat
from kafka_py.common.metrics.stats.sampled_stat import SampledStat
from kafka_py.common.metrics.stats.sum import Sum

# unit -> how many milliseconds it has
UNITS = {
    "NANOSECONDS": 1e-6,
    "MICROSECONDS": 1e-3,
    "MILLISECONDS": 1.0,
    "SECONDS": 1000.0,
    "MINUTES": 60_000.0,
    "HOURS": 3_600_000.0,
    "DAYS": 86_400_000.0,
}


class Rate(MeasurableStat):
    """A sampled statistic (default: the sum) divided by the time its windows span.

    `unit` is the name of a TimeUnit: SECONDS, MINUTES …

    Mirrors: org.apache.kafka.common.metrics.stats.Rate
    """

    class SampledTotal(Sum):
        """The sum of the values of the last windows.

        Mirrors: org.apache.kafka.common.metrics.stats.Rate.SampledTotal
        """

    def __init__(self, stat: SampledStat | None = None, unit: str = "SECONDS") -> None:
        if unit not in UNITS:
            raise ValueError(f"Unknown unit: {unit}")
        self.stat = stat if stat is not None else Rate.SampledTotal()
        self._unit = unit
        self._unit_ms = UNITS[unit]

    def unit_name(self) -> str:
        """second, minute …"""
        return self._unit[:-1].lower()

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Hand the value to the statistic."""
        self.stat.record(config, value, time_ms)

    def measure(self, config: MetricConfig, now: int) -> float:
        """The statistic per unit."""
        value = self.stat.measure(config, now)
        window_ms = self.window_size(config, now)
        return value * self._unit_ms / window_ms if window_ms else (float("nan") if value == 0 else float("inf"))

    def window_size(self, config: MetricConfig, now: int) -> int:
        """The ms to divide by: what has passed since the oldest window began, but at least all windows but one.

        So the first values after a pause do not look like a high rate.
        """
        self.stat.purge_obsolete_samples(config, now)
        elapsed_ms = now - self.stat.oldest(now).last_window_ms
        missing_windows = config.samples - 1 - elapsed_ms // config.time_window_ms
        if missing_windows > 0:
            elapsed_ms += missing_windows * config.time_window_ms
        return elapsed_ms
