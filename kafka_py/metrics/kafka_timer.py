"""Times a function.

Mirrors: core/src/main/scala/kafka/metrics/KafkaTimer.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafka_py.metrics.yammer import Timer

A = TypeVar("A")


class KafkaTimer:
    """Records how long calls take, whether they return or raise.

    Mirrors: kafka.metrics.KafkaTimer
    """

    def __init__(self, metric: Timer) -> None:
        self._metric = metric

    def time(self, f: Callable[[], A]) -> A:
        """Call f, record its time, answer its result."""
        context = self._metric.time()
        try:
            return f()
        finally:
            context.stop()
