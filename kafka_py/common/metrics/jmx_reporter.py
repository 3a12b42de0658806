"""Shows metrics as attributes of management beans.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/JmxReporter.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.kafka_metric import KafkaMetric
from kafka_py.common.metrics.metrics_reporter import MetricsReporter
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER, MBeanServer


class JmxReporter(MetricsReporter):
    """One bean per group and tags, one attribute per metric.

    Mirrors: org.apache.kafka.common.metrics.JmxReporter
    """

    def __init__(self, prefix: str = "", server: MBeanServer = PLATFORM_MBEAN_SERVER) -> None:
        self._prefix = prefix
        self._server = server
        self._lock = ReentrantLock()
        self._mbeans: dict[str, dict[str, Callable[[], object]]] = {}

    @staticmethod
    def get_m_bean_name(prefix: str, metric_name: MetricName) -> str:
        """`prefix:type=group,tag=value`; tags without a name or a value are left out."""
        tags = "".join(f",{k}={Sanitizer.jmx_sanitize(v)}" for k, v in metric_name.tags.items() if k and v)
        return f"{prefix}:type={metric_name.group}{tags}"

    def init(self, metrics: list[KafkaMetric]) -> None:
        """Register what is there."""
        for metric in metrics:
            self.metric_change(metric)

    def contains_mbean(self, mbean_name: str) -> bool:
        """Whether this reporter registered that bean."""
        return mbean_name in self._mbeans

    def metric_change(self, metric: KafkaMetric) -> None:
        """Add the metric's attribute to its bean."""
        name = self.get_m_bean_name(self._prefix, metric.metric_name())
        with self._lock:
            # a new dict each time: readers walk the registered one without a lock
            attributes = {**self._mbeans.get(name, {}), metric.metric_name().name: metric.metric_value}
            self._mbeans[name] = attributes
            self._server.register(name, attributes)

    def metric_removal(self, metric: KafkaMetric) -> None:
        """Take the attribute away, and the bean with its last one."""
        name = self.get_m_bean_name(self._prefix, metric.metric_name())
        with self._lock:
            attributes = dict(self._mbeans.get(name, {}))
            attributes.pop(metric.metric_name().name, None)
            if attributes:
                self._mbeans[name] = attributes
                self._server.register(name, attributes)
            elif self._mbeans.pop(name, None) is not None:
                self._server.unregister(name)

    def close(self) -> None:
        """Unregister every bean."""
        with self._lock:
            for name in self._mbeans:
                self._server.unregister(name)
            self._mbeans.clear()
