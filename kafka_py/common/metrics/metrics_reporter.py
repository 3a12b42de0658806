"""Told about each metric that comes and goes.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/MetricsReporter.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from kafka_py.common.metrics.kafka_metric import KafkaMetric


class MetricsReporter(ABC):
    """A plug-in that publishes metrics somewhere.

    Mirrors: org.apache.kafka.common.metrics.MetricsReporter
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the broker's configuration; by default nothing is kept of it."""
        return

    @abstractmethod
    def init(self, metrics: list[KafkaMetric]) -> None:
        """Told once which metrics there are."""

    @abstractmethod
    def metric_change(self, metric: KafkaMetric) -> None:
        """A metric was added or replaced."""

    @abstractmethod
    def metric_removal(self, metric: KafkaMetric) -> None:
        """A metric was removed."""

    @abstractmethod
    def close(self) -> None:
        """No more metrics will come."""
