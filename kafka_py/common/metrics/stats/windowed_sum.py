"""Sum under the name it has in later versions.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/WindowedSum.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.metrics.stats.sum import Sum


class WindowedSum(Sum):
    """What the values of the last windows add up to.

    Mirrors: org.apache.kafka.common.metrics.stats.WindowedSum @ 3.7.1
    """
