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
    Differs: getters are the plain attributes quota, samples, event_window, time_window_ms, tags, record_level; what the
    fluent setters set is given to the constructor.
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
        self.samples = samples
        self.time_window_ms = time_window_ms
        self.event_window = event_window
        self.quota = quota
        self.tags: dict[str, str] = dict(tags or {})
        self.record_level = record_level
