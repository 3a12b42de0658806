"""The meters of topics, and of all topics together.

Mirrors: core/src/main/scala/kafka/server/KafkaRequestHandler.scala (BrokerTopicMetrics, BrokerTopicStats) @ 3.7.1
Posts:   the-produce-path
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import Meter
from kafka_py.utils.concurrent import ConcurrentHashMap
from kafka_py.utils.logging import Logging
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.utils.mbeans import Attributes, MBeanServer


class _LazyMeter:
    """A meter made when it is first asked for, and an ordinary attribute from then on."""

    def __init__(self, metric_type: str, event_type: str) -> None:
        self.metric_type = metric_type
        self._event_type = event_type
        self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    def __get__(self, instance: BrokerTopicMetrics, owner: type | None = None) -> Meter:
        # two threads that come first at once both get the registry's one meter
        meter = instance.new_meter(self.metric_type, self._event_type, instance.tags)
        instance.__dict__[self.attribute] = meter
        return meter


class _LazyBrokerMeter:
    """A meter that exists for the broker as a whole, not for a topic."""

    def __init__(self, metric_type: str) -> None:
        self._meter = _LazyMeter(metric_type, "bytes")

    @property
    def metric_type(self) -> str:
        return self._meter.metric_type

    @property
    def attribute(self) -> str:
        return self._meter.attribute

    def __set_name__(self, owner: type, name: str) -> None:
        self._meter.attribute = name

    def __get__(self, instance: BrokerTopicMetrics, owner: type | None = None) -> Meter | None:
        return self._meter.__get__(instance) if instance.topic is None else None


class BrokerTopicMetrics(KafkaMetricsGroup):
    """The meters of one topic, or of all.

    Mirrors: kafka.server.BrokerTopicMetrics @ 3.7.1
    Thread:  any.
    Differs: a meter is found by an attribute look-up instead of two map look-ups and a volatile read. A topic's
        meter is made at its first event, as in 3.7.1; the ten that 1.1.1 makes together with the topic's first are
        shown as zeros until then (`silent_beans`), without the cost of meters that nobody marks.
    Left out: metricGaugeMap -- its gauges belong to tiered storage
    """

    messages_in_rate = _LazyMeter("MessagesInPerSec", "messages")
    bytes_in_rate = _LazyMeter("BytesInPerSec", "bytes")
    bytes_out_rate = _LazyMeter("BytesOutPerSec", "bytes")
    bytes_rejected_rate = _LazyMeter("BytesRejectedPerSec", "bytes")
    failed_produce_request_rate = _LazyMeter("FailedProduceRequestsPerSec", "requests")
    failed_fetch_request_rate = _LazyMeter("FailedFetchRequestsPerSec", "requests")
    total_produce_request_rate = _LazyMeter("TotalProduceRequestsPerSec", "requests")
    total_fetch_request_rate = _LazyMeter("TotalFetchRequestsPerSec", "requests")
    fetch_message_conversions_rate = _LazyMeter("FetchMessageConversionsPerSec", "requests")
    produce_message_conversions_rate = _LazyMeter("ProduceMessageConversionsPerSec", "requests")
    no_key_compacted_topic_records_per_sec = _LazyMeter("NoKeyCompactedTopicRecordsPerSec", "requests")
    invalid_magic_number_records_per_sec = _LazyMeter("InvalidMagicNumberRecordsPerSec", "requests")
    invalid_message_crc_records_per_sec = _LazyMeter("InvalidMessageCrcRecordsPerSec", "requests")
    invalid_offset_or_sequence_records_per_sec = _LazyMeter("InvalidOffsetOrSequenceRecordsPerSec", "requests")
    replication_bytes_in_rate = _LazyBrokerMeter("ReplicationBytesInPerSec")
    replication_bytes_out_rate = _LazyBrokerMeter("ReplicationBytesOutPerSec")
    reassignment_bytes_in_per_sec = _LazyBrokerMeter("ReassignmentBytesInPerSec")
    reassignment_bytes_out_per_sec = _LazyBrokerMeter("ReassignmentBytesOutPerSec")

    def __init__(self, name: str | None) -> None:
        """``name`` None means all topics: these meters exist from the start."""
        self.topic = name
        self.tags = {} if name is None else {"topic": name}
        if name is None:
            for attribute in _ATTRIBUTES.values():
                getattr(self, attribute)

    def metric_map(self) -> dict[str, Meter]:
        """The meters made so far, by metric name."""
        found = {kind: self.__dict__.get(attribute) for kind, attribute in _ATTRIBUTES.items()}
        return {kind: meter for kind, meter in found.items() if meter is not None}

    def silent_beans(self) -> Iterator[tuple[str, Attributes]]:
        """The beans of those meters of 1.1.1 that nobody has marked yet."""
        made = self.__dict__
        for metric_type, event_type in _SINCE_THE_FIRST_EVENT.items():
            if _ATTRIBUTES[metric_type] not in made:
                yield self.metric_name(metric_type, self.tags).m_bean_name, _silent_attributes(event_type)

    def close_metric(self, metric_type: str) -> None:
        """Take one meter out of the registry; asked for again, it begins anew."""
        if self.__dict__.pop(_ATTRIBUTES[metric_type], None) is not None:
            self.remove_metric(metric_type, self.tags)

    def close(self) -> None:
        """Take all meters out of the registry."""
        for metric_type in _ATTRIBUTES:
            self.close_metric(metric_type)


# metric name -> attribute
_ATTRIBUTES = {
    value.metric_type: name
    for name, value in vars(BrokerTopicMetrics).items()
    if isinstance(value, _LazyMeter | _LazyBrokerMeter)
}

# the meters that a topic has in 1.1.1 from its first event on, with what they count
_SINCE_THE_FIRST_EVENT = {
    "MessagesInPerSec": "messages",
    "BytesInPerSec": "bytes",
    "BytesOutPerSec": "bytes",
    "BytesRejectedPerSec": "bytes",
    "FailedProduceRequestsPerSec": "requests",
    "FailedFetchRequestsPerSec": "requests",
    "TotalProduceRequestsPerSec": "requests",
    "TotalFetchRequestsPerSec": "requests",
    "FetchMessageConversionsPerSec": "requests",
    "ProduceMessageConversionsPerSec": "requests",
}


@cache
def _silent_attributes(event_type: str) -> Attributes:
    """What every meter shows that was never marked."""
    return Meter(event_type).attributes()


class AggregatedMetric:
    """A sum of values that parts report each for itself.

    Mirrors: kafka.server.AggregatedMetric @ 3.7.1
    Thread:  any.
    """

    def __init__(self) -> None:
        self._metric_values: ConcurrentHashMap[str, int] = ConcurrentHashMap()  # atomic

    def set_value(self, key: str, value: int) -> None:
        """A part's value."""
        self._metric_values.put(key, value)

    def remove_key(self, key: str) -> int | None:
        """Forget a part; the value it had."""
        return self._metric_values.remove(key)

    def value(self) -> int:
        """The sum."""
        return sum(self._metric_values.values())

    def close(self) -> None:
        """Forget all parts."""
        self._metric_values.clear()


class BrokerTopicStats(Logging):
    """The meters of all topics, one by one and together.

    Mirrors: kafka.server.BrokerTopicStats @ 3.7.1
    Thread:  any.
    Differs: taking away the meters of a role does not make those of a topic that has none.
    """

    MESSAGES_IN_PER_SEC: ClassVar[str] = "MessagesInPerSec"
    BYTES_IN_PER_SEC: ClassVar[str] = "BytesInPerSec"
    BYTES_OUT_PER_SEC: ClassVar[str] = "BytesOutPerSec"
    BYTES_REJECTED_PER_SEC: ClassVar[str] = "BytesRejectedPerSec"
    REPLICATION_BYTES_IN_PER_SEC: ClassVar[str] = "ReplicationBytesInPerSec"
    REPLICATION_BYTES_OUT_PER_SEC: ClassVar[str] = "ReplicationBytesOutPerSec"
    FAILED_PRODUCE_REQUESTS_PER_SEC: ClassVar[str] = "FailedProduceRequestsPerSec"
    FAILED_FETCH_REQUESTS_PER_SEC: ClassVar[str] = "FailedFetchRequestsPerSec"
    TOTAL_PRODUCE_REQUESTS_PER_SEC: ClassVar[str] = "TotalProduceRequestsPerSec"
    TOTAL_FETCH_REQUESTS_PER_SEC: ClassVar[str] = "TotalFetchRequestsPerSec"
    FETCH_MESSAGE_CONVERSIONS_PER_SEC: ClassVar[str] = "FetchMessageConversionsPerSec"
    PRODUCE_MESSAGE_CONVERSIONS_PER_SEC: ClassVar[str] = "ProduceMessageConversionsPerSec"
    REASSIGNMENT_BYTES_IN_PER_SEC: ClassVar[str] = "ReassignmentBytesInPerSec"
    REASSIGNMENT_BYTES_OUT_PER_SEC: ClassVar[str] = "ReassignmentBytesOutPerSec"

    def __init__(self, mbeans: MBeanServer | None = None) -> None:
        """``mbeans`` is told of the topics' silent meters, until close."""
        self._stats: Pool[str, BrokerTopicMetrics] = Pool(BrokerTopicMetrics)  # atomic
        self.all_topics_stats = BrokerTopicMetrics(None)
        self._mbeans = mbeans
        if mbeans is not None:
            mbeans.add_source(self.silent_beans)

    def silent_beans(self) -> Iterator[tuple[str, Attributes]]:
        """The beans of the topics' meters that nobody has marked yet."""
        for metrics in self._stats.values:
            yield from metrics.silent_beans()

    def is_topic_stats_existed(self, topic: str) -> bool:
        """Whether the topic has meters."""
        return self._stats.contains(topic)

    def topic_stats(self, topic: str) -> BrokerTopicMetrics:
        """The topic's meters, made if need be."""
        return self._stats.get(topic) or self._stats.get_and_maybe_put(topic)

    def update_replication_bytes_in(self, value: int) -> None:
        """Bytes fetched from a leader."""
        meter = self.all_topics_stats.replication_bytes_in_rate
        if meter is not None:
            meter.mark(value)

    def _update_replication_bytes_out(self, value: int) -> None:
        meter = self.all_topics_stats.replication_bytes_out_rate
        if meter is not None:
            meter.mark(value)

    def update_reassignment_bytes_in(self, value: int) -> None:
        """Bytes fetched for a replica that is being added."""
        meter = self.all_topics_stats.reassignment_bytes_in_per_sec
        if meter is not None:
            meter.mark(value)

    def update_reassignment_bytes_out(self, value: int) -> None:
        """Bytes given to a replica that is being added."""
        meter = self.all_topics_stats.reassignment_bytes_out_per_sec
        if meter is not None:
            meter.mark(value)

    def remove_old_leader_metrics(self, topic: str) -> None:
        """Take away what only a leader of one of the topic's partitions marks."""
        metrics = self._stats.get(topic)
        if metrics is None:
            return
        for metric_type in (
            self.MESSAGES_IN_PER_SEC,
            self.BYTES_IN_PER_SEC,
            self.BYTES_REJECTED_PER_SEC,
            self.FAILED_PRODUCE_REQUESTS_PER_SEC,
            self.TOTAL_PRODUCE_REQUESTS_PER_SEC,
            self.PRODUCE_MESSAGE_CONVERSIONS_PER_SEC,
            self.REPLICATION_BYTES_OUT_PER_SEC,
            self.REASSIGNMENT_BYTES_OUT_PER_SEC,
        ):
            metrics.close_metric(metric_type)

    def remove_old_follower_metrics(self, topic: str) -> None:
        """Take away what only a follower marks."""
        metrics = self._stats.get(topic)
        if metrics is not None:
            metrics.close_metric(self.REPLICATION_BYTES_IN_PER_SEC)
            metrics.close_metric(self.REASSIGNMENT_BYTES_IN_PER_SEC)

    def remove_metrics(self, topic: str) -> None:
        """Take all meters of a topic away."""
        metrics = self._stats.remove(topic)
        if metrics is not None:
            metrics.close()

    def update_bytes_out(self, topic: str, is_follower: bool, value: int, is_reassignment: bool = False) -> None:
        """Bytes of a topic given to a follower or to a consumer."""
        if is_follower:
            if is_reassignment:
                self.update_reassignment_bytes_out(value)
            self._update_replication_bytes_out(value)
        else:
            self.topic_stats(topic).bytes_out_rate.mark(value)
            self.all_topics_stats.bytes_out_rate.mark(value)

    def close(self) -> None:
        """Take all meters away."""
        if self._mbeans is not None:
            self._mbeans.remove_source(self.silent_beans)
        self.all_topics_stats.close()
        for metrics in self._stats.values:
            metrics.close()
        self.info("Broker and topic stats closed")
