"""Names metrics after the class that makes them and registers them.

Mirrors: core/src/main/scala/kafka/metrics/KafkaMetricsGroup.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.metrics.yammer import Gauge, Histogram, Meter, MetricName, Metrics, Timer
from kafka_py.utils.logging import Logging, kafka_name

_NO_TAGS: Mapping[str, str] = {}


class KafkaMetricsGroup(Logging):
    """Gives a class new_gauge, new_meter, new_histogram, new_timer and remove_metric.

    A metric's bean is called `kafka.server:type=ReplicaManager,name=PartitionCount,tag=value`: package and class of
    the object, then the name. Creating a metric that exists answers the one there is.

    Mirrors: kafka.metrics.KafkaMetricsGroup
    Left out: consumerMetricNameList, producerMetricNameList, removeAllConsumerMetrics, removeAllProducerMetrics, \
removeAllMetricsInList -- metrics of the old Scala clients
    """

    def metric_name(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """The name of a metric of this object's class."""
        group, _, type_name = kafka_name(type(self).__module__, type(self).__name__).rpartition(".")
        return self.explicit_metric_name(group, type_name, name, tags)

    @staticmethod
    def explicit_metric_name(group: str, type_name: str, name: str, tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """A metric's name with group (package) and type (class) given."""
        bean = f"{group}:type={type_name}"
        if name:
            bean += f",name={name}"
        tags_name = KafkaMetricsGroup._to_m_bean_name(tags)
        if tags_name is not None:
            bean += f",{tags_name}"
        return MetricName(group, type_name, name, KafkaMetricsGroup._to_scope(tags), bean)

    def new_gauge(self, name: str, metric: Callable[[], Any], tags: Mapping[str, str] = _NO_TAGS) -> Gauge[Any]:
        """A value that `metric()` computes when it is read."""
        return Metrics.default_registry().new_gauge(self.metric_name(name, tags), metric)

    def new_meter(
        self, name: str, event_type: str, tags: Mapping[str, str] = _NO_TAGS, rate_unit: str = "SECONDS"
    ) -> Meter:
        """A meter of events, with its rates per SECONDS or per NANOSECONDS."""
        return Metrics.default_registry().new_meter(self.metric_name(name, tags), event_type, rate_unit)

    def new_histogram(self, name: str, biased: bool = True, tags: Mapping[str, str] = _NO_TAGS) -> Histogram:
        """A histogram, biased towards recent values or not."""
        return Metrics.default_registry().new_histogram(self.metric_name(name, tags), biased)

    def new_timer(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> Timer:
        """A timer of ms and calls per s."""
        return Metrics.default_registry().new_timer(self.metric_name(name, tags))

    def remove_metric(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> None:
        """Unregister a metric."""
        Metrics.default_registry().remove_metric(self.metric_name(name, tags))

    @staticmethod
    def _to_m_bean_name(tags: Mapping[str, str]) -> str | None:
        """`k=v,k=v`, without tags that have no value; None if there are none."""
        return ",".join(f"{k}={Sanitizer.jmx_sanitize(v)}" for k, v in tags.items() if v) or None

    @staticmethod
    def _to_scope(tags: Mapping[str, str]) -> str | None:
        """`k.v.k.v` by key, dots in values made `_` for reporters that use dots as levels; None without tags."""
        return ".".join(f"{k}.{tags[k].replace('.', '_')}" for k in sorted(tags) if tags[k]) or None
