"""What the broker measures of every request, by API.

Mirrors: core/src/main/scala/kafka/network/RequestChannel.scala (RequestMetrics) @ 3.7.1
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.network.request_histogram import RequestTimes
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.common.protocol.errors import Errors
    from kafka_py.metrics.yammer import Histogram, Meter, MetricName


class ErrorMeter(KafkaMetricsGroup):
    """The meter of one error of one API, made when the error first happens.

    Mirrors: kafka.network.RequestMetrics.ErrorMeter @ 3.7.1
    Thread:  any.
    """

    def __init__(self, name: str, error: Errors) -> None:
        self._tags = {"request": name, "error": error.name}  # const
        self._lock = ReentrantLock()
        self._meter: Meter | None = None  # volatile: whoever holds _lock

    def metric_name(self, name: str, tags: Mapping[str, str] = MappingProxyType({})) -> MetricName:
        """A name among those of RequestMetrics, whose meter this is."""
        return self.explicit_metric_name("kafka.network", "RequestMetrics", name, tags)

    def get_or_create_meter(self) -> Meter:
        """The meter, registered on the first call."""
        meter = self._meter
        if meter is None:
            with self._lock:
                meter = self._meter
                if meter is None:
                    meter = self._meter = self.new_meter(RequestMetrics.ERRORS_PER_SEC, "requests", self._tags)
        return meter

    def remove_meter(self) -> None:
        """Take the meter out of the registry."""
        with self._lock:
            if self._meter is not None:
                self.remove_metric(RequestMetrics.ERRORS_PER_SEC, self._tags)
                self._meter = None


class RequestMetrics(KafkaMetricsGroup):
    """Meters and histograms of one API (or of consumers' or followers' Fetch).

    Mirrors: kafka.network.RequestMetrics @ 3.7.1
    Thread:  network threads record; scrapes read.
    Left out: deprecatedRequestRate, tagsWithVersionAndClientInfo -- no API version is deprecated in 1.1.1
    """

    CONSUMER_FETCH_METRIC_NAME: ClassVar[str] = ApiKeys.FETCH.name + "Consumer"
    FOLLOW_FETCH_METRIC_NAME: ClassVar[str] = ApiKeys.FETCH.name + "Follower"
    REQUESTS_PER_SEC: ClassVar[str] = "RequestsPerSec"
    REQUEST_QUEUE_TIME_MS: ClassVar[str] = "RequestQueueTimeMs"
    LOCAL_TIME_MS: ClassVar[str] = "LocalTimeMs"
    REMOTE_TIME_MS: ClassVar[str] = "RemoteTimeMs"
    THROTTLE_TIME_MS: ClassVar[str] = "ThrottleTimeMs"
    RESPONSE_QUEUE_TIME_MS: ClassVar[str] = "ResponseQueueTimeMs"
    RESPONSE_SEND_TIME_MS: ClassVar[str] = "ResponseSendTimeMs"
    TOTAL_TIME_MS: ClassVar[str] = "TotalTimeMs"
    REQUEST_BYTES: ClassVar[str] = "RequestBytes"
    MESSAGE_CONVERSIONS_TIME_MS: ClassVar[str] = "MessageConversionsTimeMs"
    TEMPORARY_MEMORY_BYTES: ClassVar[str] = "TemporaryMemoryBytes"
    ERRORS_PER_SEC: ClassVar[str] = "ErrorsPerSec"

    def __init__(self, name: str) -> None:
        self.name = name  # const
        self.tags = {"request": name}  # const
        self._lock = ReentrantLock()
        self._request_rate: dict[int, Meter] = {}  # volatile: whoever holds _lock
        self._error_meters: dict[Errors, ErrorMeter] = {}  # volatile: whoever holds _lock
        self._times = RequestTimes()  # const
        # in the order of the stations: the queue, the handler, purgatory, quota, the response queue, the socket
        self.request_queue_time_hist = self._column(self.REQUEST_QUEUE_TIME_MS)  # const
        self.local_time_hist = self._column(self.LOCAL_TIME_MS)  # const
        self.remote_time_hist = self._column(self.REMOTE_TIME_MS)  # const
        self.throttle_time_hist = self._column(self.THROTTLE_TIME_MS)  # const
        self.response_queue_time_hist = self._column(self.RESPONSE_QUEUE_TIME_MS)  # const
        self.response_send_time_hist = self._column(self.RESPONSE_SEND_TIME_MS)  # const
        self.total_time_hist = self._column(self.TOTAL_TIME_MS)  # const
        self.request_bytes_hist = self._column(self.REQUEST_BYTES)  # const
        self.message_conversions_time_hist: Histogram | None = None  # const
        self.temp_memory_bytes_hist: Histogram | None = None  # const
        self._converts = name in (ApiKeys.FETCH.name, ApiKeys.PRODUCE.name)  # const
        if self._converts:
            self.message_conversions_time_hist = self._column(self.MESSAGE_CONVERSIONS_TIME_MS)  # const
            self.temp_memory_bytes_hist = self._column(self.TEMPORARY_MEMORY_BYTES)  # const
        self.record = self._times.record  # const
        """Take in one request's numbers, in the order of the histograms above; further ones are not looked at."""

    def _column(self, name: str) -> Histogram:
        return self._times.add_column(self.metric_name(name, self.tags))

    def request_rate(self, version: int) -> Meter:
        """The meter of one version of the API."""
        meter = self._request_rate.get(version)
        if meter is None:
            with self._lock:
                meter = self._request_rate.get(version)
                if meter is None:
                    meter = self.new_meter(self.REQUESTS_PER_SEC, "requests", self._tags_with_version(version))
                    self._request_rate[version] = meter
        return meter

    def _tags_with_version(self, version: int) -> dict[str, str]:
        return {**self.tags, "version": str(version)}

    def mark_error_meter(self, error: Errors, count: int) -> None:
        """Count errors that an answer told of; NONE is counted too."""
        error_meter = self._error_meters.get(error)
        if error_meter is None:
            with self._lock:
                error_meter = self._error_meters.setdefault(error, ErrorMeter(self.name, error))
        error_meter.get_or_create_meter().mark(count)

    def remove_metrics(self) -> None:
        """Take all of them out of the registry."""
        with self._lock:
            for version in self._request_rate:
                self.remove_metric(self.REQUESTS_PER_SEC, self._tags_with_version(version))
            self._request_rate.clear()
            for error_meter in self._error_meters.values():
                error_meter.remove_meter()
            self._error_meters.clear()
        for metric in (
            self.REQUEST_QUEUE_TIME_MS,
            self.LOCAL_TIME_MS,
            self.REMOTE_TIME_MS,
            self.THROTTLE_TIME_MS,
            self.RESPONSE_QUEUE_TIME_MS,
            self.RESPONSE_SEND_TIME_MS,
            self.TOTAL_TIME_MS,
            self.REQUEST_BYTES,
        ):
            self.remove_metric(metric, self.tags)
        if self._converts:
            self.remove_metric(self.MESSAGE_CONVERSIONS_TIME_MS, self.tags)
            self.remove_metric(self.TEMPORARY_MEMORY_BYTES, self.tags)
