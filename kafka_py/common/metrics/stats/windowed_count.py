"""Count under the name it has in later versions.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/WindowedCount.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.metrics.stats.count import Count


class WindowedCount(Count):
    """How many values there were in the last windows.

    Mirrors: org.apache.kafka.common.metrics.stats.WindowedCount @ 3.7.1
    """
