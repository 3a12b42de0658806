"""How a metric samples: how many windows, how long, and its quota.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/MetricConfig.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.common.metrics.quota import Quota
from kafka_py.common.metrics.recording_level import RecordingLevel

_MAX_LONG = 2**63 - 1


class MetricConfig:
    """Sampling, tags and quota of a metric.

    Mirrors: org.apache.kafka.common.metrics.MetricConfig
    Differs: getters are the plain attributes quota, samples, event_window, time_window_ms, tags, record_level; the
    fluent setters carry the prefix `with_`.
    """

    def __init__(
        self,
        samples: int = 2,
        time_window_ms: int = 30_000,
        event_window: int = _MAX_LONG,
        quota: Quota | None = None,
        tags: Mapping[str, str] | None = None,
        record_level: RecordingLevel = RecordingLevel.INFO,
    ) -> None:
        if samples < 1:
            raise ValueError("The number of samples must be at least 1.")
        self.samples = samples  # thread: of its owner
        self.time_window_ms = time_window_ms  # thread: of its owner
        self.event_window = event_window  # thread: of its owner
        self.quota = quota  # thread: of its owner
        self.tags: dict[str, str] = dict(tags or {})  # thread: of its owner
        self.record_level = record_level  # thread: of its owner

    def with_quota(self, quota: Quota | None) -> MetricConfig:
        """Set the quota."""
        self.quota = quota
        return self

    def with_samples(self, samples: int) -> MetricConfig:
        """Set the number of windows; ValueError below 1."""
        if samples < 1:
            raise ValueError("The number of samples must be at least 1.")
        self.samples = samples
        return self

    def with_event_window(self, event_window: int) -> MetricConfig:
        """Set after how many events a window is full."""
        self.event_window = event_window
        return self

    def with_time_window(self, window_ms: int) -> MetricConfig:
        """Set how long a window is."""
        self.time_window_ms = window_ms
        return self

    def with_tags(self, tags: Mapping[str, str]) -> MetricConfig:
        """Set the tags every metric gets."""
        self.tags = dict(tags)
        return self

    def with_record_level(self, record_level: RecordingLevel) -> MetricConfig:
        """Set which sensors record."""
        self.record_level = record_level
        return self
