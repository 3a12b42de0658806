"""Total under the name it has in later versions.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/stats/CumulativeSum.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.metrics.stats.total import Total


class CumulativeSum(Total):
    """What all values ever recorded add up to.

    Mirrors: org.apache.kafka.common.metrics.stats.CumulativeSum @ 3.7.1
    """
