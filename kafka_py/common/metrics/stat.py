"""What a sensor's numbers flow into.

Mirrors: Stat, Measurable, MeasurableStat, CompoundStat and Gauge in
clients/src/main/java/org/apache/kafka/common/metrics/ @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.metric_config import MetricConfig


class Measurable(ABC):
    """A number that can be asked for.

    Mirrors: org.apache.kafka.common.metrics.Measurable
    """

    @abstractmethod
    def measure(self, config: MetricConfig, now: int) -> float:
        """The number at time `now` (ms)."""


class Gauge(ABC):
    """A value of any kind that can be asked for.

    Mirrors: org.apache.kafka.common.metrics.Gauge
    """

    @abstractmethod
    def value(self, config: MetricConfig, now: int) -> Any:
        """The value at time `now` (ms)."""


class Stat(ABC):
    """Takes values in.

    Mirrors: org.apache.kafka.common.metrics.Stat
    """

    @abstractmethod
    def record(self, config: MetricConfig, value: float, time_ms: int) -> None:
        """Take one value in."""


class MeasurableStat(Stat, Measurable, ABC):
    """Takes values in and answers one number about them.

    Mirrors: org.apache.kafka.common.metrics.MeasurableStat
    """


class NamedMeasurable(NamedTuple):
    """One of the numbers of a CompoundStat.

    Mirrors: org.apache.kafka.common.metrics.CompoundStat.NamedMeasurable
    """

    name: MetricName
    stat: Measurable


class CompoundStat(Stat, ABC):
    """Takes values in and answers several numbers about them.

    Mirrors: org.apache.kafka.common.metrics.CompoundStat
    """

    @abstractmethod
    def stats(self) -> list[NamedMeasurable]:
        """The numbers and their names."""
