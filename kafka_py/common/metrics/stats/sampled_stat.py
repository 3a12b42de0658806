"""A statistic over the last few windows of time.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/SampledStat.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.stat import MeasurableStat


class Sample:
    """One window: when it began, how many events it has and what they add up to.

    Mirrors: org.apache.kafka.common.metrics.stats.SampledStat.Sample
    """

    __slots__ = ("event_count", "initial_value", "last_window_ms", "value")

    def __init__(self, initial_value: float, now: int) -> None:
        self.initial_value = initial_value
        self.event_count = 0  # volatile: holder of the sensor's lock
        self.last_window_ms = now  # volatile: holder of the sensor's lock
        self.value = initial_value  # volatile: holder of the sensor's lock

    def reset(self, now: int) -> None:
        """Begin anew at time `now`."""
        self.event_count = 0
        self.last_window_ms = now
        self.value = self.initial_value

    def is_complete(self, time_ms: int, config: MetricConfig) -> bool:
        """Whether the window has lasted, or holds, as much as it may."""
        return time_ms - self.last_window_ms >= config.time_window_ms or self.event_count >= config.event_window


class SampledStat(MeasurableStat, ABC):
    """Records into the current window; measures over all that are not too old. `config.samples` windows at most.

    Mirrors: org.apache.kafka.common.metrics.stats.SampledStat
    """

    def __init__(self, initial_value: float) -> None:
        self._initial_value = initial_value
        self._current = 0  # volatile: holder of the sensor's lock
        self.samples: list[Sample] = []

    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into the current window, or the next if that is complete."""
        sample = self.current(time_ms)
        if sample.is_complete(time_ms, config):
            sample = self._advance(config, time_ms)
        self.update(sample, config, value, time_ms)
        sample.event_count += 1

    def _advance(self, config: MetricConfig, time_ms: int) -> Sample:
        self._current = (self._current + 1) % config.samples
        if self._current >= len(self.samples):
            sample = self.new_sample(time_ms)
            self.samples.append(sample)
            return sample
        sample = self.current(time_ms)
        sample.reset(time_ms)
        return sample

    def new_sample(self, time_ms: int) -> Sample:
        """An empty window."""
        return Sample(self._initial_value, time_ms)

    def measure(self, config: MetricConfig, now: int) -> float:
        """The statistic over the windows that still count."""
        self.purge_obsolete_samples(config, now)
        return self.combine(self.samples, config, now)

    def current(self, time_ms: int) -> Sample:
        """The window being filled."""
        if not self.samples:
            self.samples.append(self.new_sample(time_ms))
        return self.samples[self._current]

    def oldest(self, now: int) -> Sample:
        """The window that began first."""
        if not self.samples:
            self.samples.append(self.new_sample(now))
        return min(self.samples, key=lambda sample: sample.last_window_ms)

    @abstractmethod
    def update(self, sample: Sample, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take a value into this window."""

    @abstractmethod
    def combine(self, samples: Sequence[Sample], config: MetricConfig, now: int) -> float:
        """The statistic over these windows."""

    def purge_obsolete_samples(self, config: MetricConfig, now: int) -> None:
        """Empty the windows that began too long ago, for nobody else does if no events come."""
        expire_age = config.samples * config.time_window_ms
        for sample in self.samples:
            if now - sample.last_window_ms >= expire_age:
                sample.reset(now)
