"""What the broker measures of every request, by API.

Mirrors: core/src/main/scala/kafka/network/RequestChannel.scala (RequestMetrics) @ 3.7.1
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import Meter, Metrics
from kafka_py.network.request_histogram import RequestTimes
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.common.protocol.errors import Errors
    from kafka_py.metrics.yammer import Histogram, MetricName

_MS: Final = 1_000_000
_HALF_MS: Final = 500_000


def milliseconds_between(earlier: Sequence[int], later: Sequence[int]) -> Sequence[int]:
    """Differences of nanoseconds in milliseconds, half up; below 0 is 0. They come in ascending order."""
    nanos = list(map(sub, later, earlier))
    if max(nanos) < _HALF_MS:
        return (0,) * len(nanos)
    nanos.sort()
    result: list[int] = []
    done = 0
    while done < len(nanos):
        ms = max((nanos[done] + _HALF_MS) // _MS, 0)
        end = bisect_left(nanos, ms * _MS + _HALF_MS, done)
        result += [ms] * (end - done)
        done = end
    return result


class RequestRows(RequestTimes):
    """What requests wrote down of themselves: moments and sizes; the times are worked out many at once.

    Thread:  record, flush: any.
    Locks:   _lock, before the histograms'.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0  # guarded by: _lock

    def columns_of(self, rows: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[float]]:
        """Count the requests; the values for each histogram. Caller holds _lock."""
        (
            start,
            dequeue,
            local_complete,
            callback,
            complete,
            response_dequeue,
            end,
            throttle_ms,
            size,
            conversions,
            temporary_memory,
        ) = zip(*rows, strict=True)
        n = len(rows)
        self.requests += n
        local_end = local_complete
        if any(callback):
            local_end = tuple(moment + nanos for moment, nanos in zip(local_complete, callback, strict=True))
        zeros = (0,) * n
        conversion_ms = milliseconds_between(zeros, conversions) if any(conversions) else zeros
        return (
            milliseconds_between(start, dequeue),
            milliseconds_between(dequeue, local_end),
            milliseconds_between(local_end, complete),
            throttle_ms,
            milliseconds_between(complete, response_dequeue),
            milliseconds_between(response_dequeue, end),
            milliseconds_between(start, end),
            size,
            conversion_ms,  # this and the next: Produce and Fetch only
            temporary_memory,
        )


class RequestRate(Meter):
    """The requests of an API, counted where their rows are.

    Differs: from Meter in that nobody marks it.
    """

    def __init__(self) -> None:
        super().__init__("requests")
        self._tables: list[RequestRows] = []  # volatile: whoever makes a RequestMetrics

    @staticmethod
    def registered(name: MetricName, table: RequestRows) -> RequestRate:
        """The registry's meter of that name, from now on fed by ``table`` too."""
        meter = Metrics.default_registry()._get_or_add(name, RequestRate, RequestRate)
        meter._tables.append(table)
        return meter

    @property
    def count(self) -> int:
        """How many requests there were."""
        for table in self._tables:
            table.flush()
        return sum(table.requests for table in self._tables)


class ErrorMeter(KafkaMetricsGroup):
    """The meter of one error of one API, made when the error first happens.

    Mirrors: kafka.network.RequestMetrics.ErrorMeter @ 3.7.1
    Thread:  any.
    Locks:   _lock, while the meter is made.
    """

    def __init__(self, name: str, error: Errors) -> None:
        self._tags = {"request": name, "error": error.name}
        self._lock = ReentrantLock()
        self.meter: Meter | None = None  # volatile: whoever holds _lock

    def metric_name(self, name: str, tags: Mapping[str, str] = MappingProxyType({})) -> MetricName:
        """A name among those of RequestMetrics, whose meter this is."""
        return self.explicit_metric_name("kafka.network", "RequestMetrics", name, tags)

    def get_or_create_meter(self) -> Meter:
        """The meter, registered on the first call."""
        meter = self.meter
        if meter is None:
            with self._lock:
                meter = self.meter
                if meter is None:
                    meter = self.meter = self.new_meter(RequestMetrics.ERRORS_PER_SEC, "requests", self._tags)
        return meter

    def remove_meter(self) -> None:
        """Take the meter out of the registry."""
        with self._lock:
            if self.meter is not None:
                self.remove_metric(RequestMetrics.ERRORS_PER_SEC, self._tags)
                self.meter = None


class RequestMetrics(KafkaMetricsGroup):
    """Meters and histograms of one API (or of consumers' or followers' Fetch).

    Mirrors: kafka.network.RequestMetrics @ 3.7.1
    Thread:  network threads record; scrapes read.
    Differs: an API has one RequestsPerSec, as in 1.1.1, whose dashboards ask for it by that name; from 2.0 on there
        is one for each version (KIP-272).
    Left out: requestRateInternal, tagsWithVersion, deprecatedRequestRate, tagsWithVersionAndClientInfo -- no API \
version is deprecated in 1.1.1, nor counted for itself
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
        self.name = name
        self.tags = {"request": name}
        self._lock = ReentrantLock()
        self._error_meters: dict[Errors, ErrorMeter] = {}  # volatile: whoever holds _lock
        self._times = RequestRows()
        self.request_rate: Meter = RequestRate.registered(
            self.metric_name(self.REQUESTS_PER_SEC, self.tags), self._times
        )
        # in the order of the stations: the queue, the handler, purgatory, quota, the response queue, the socket
        self.request_queue_time_hist = self._column(self.REQUEST_QUEUE_TIME_MS)
        self.local_time_hist = self._column(self.LOCAL_TIME_MS)
        self.remote_time_hist = self._column(self.REMOTE_TIME_MS)
        self.throttle_time_hist = self._column(self.THROTTLE_TIME_MS)
        self.response_queue_time_hist = self._column(self.RESPONSE_QUEUE_TIME_MS)
        self.response_send_time_hist = self._column(self.RESPONSE_SEND_TIME_MS)
        self.total_time_hist = self._column(self.TOTAL_TIME_MS)
        self.request_bytes_hist = self._column(self.REQUEST_BYTES)
        self.message_conversions_time_hist: Histogram | None = None
        self.temp_memory_bytes_hist: Histogram | None = None
        self._converts = name in (ApiKeys.FETCH.name, ApiKeys.PRODUCE.name)
        if self._converts:
            self.message_conversions_time_hist = self._column(self.MESSAGE_CONVERSIONS_TIME_MS)
            self.temp_memory_bytes_hist = self._column(self.TEMPORARY_MEMORY_BYTES)
        self.record = self._times.record
        """Take in one request's row, as Request.update_request_metrics writes it."""

    def _column(self, name: str) -> Histogram:
        return self._times.add_column(self.metric_name(name, self.tags))

    def mark_error_meter(self, error: Errors, count: int) -> None:
        """Count errors that an answer told of; NONE is counted too."""
        error_meter = self._error_meters.get(error)
        if error_meter is None:
            with self._lock:
                error_meter = self._error_meters.setdefault(error, ErrorMeter(self.name, error))
        (error_meter.meter or error_meter.get_or_create_meter()).mark(count)

    def remove_metrics(self) -> None:
        """Take all of them out of the registry."""
        with self._lock:
            for error_meter in self._error_meters.values():
                error_meter.remove_meter()
            self._error_meters.clear()
        for metric in (
            self.REQUESTS_PER_SEC,
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
