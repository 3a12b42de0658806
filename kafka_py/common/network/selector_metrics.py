"""What a selector counts.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selector.java (SelectorMetrics) @ 3.7.1
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from kafka_py.common.metrics.stat import Measurable

if TYPE_CHECKING:
    from kafka_py.common.metric_name import MetricName
    from kafka_py.common.metrics.metric_config import MetricConfig
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.cipher_information import CipherInformation
    from kafka_py.common.network.client_information import ClientInformation

K = TypeVar("K", bound=Hashable)
_MAX_SUITE_ENTRIES = 100


class ThreadSensor:
    """A sensor that one thread records into and any thread may measure.

    Thread:  record: the one that polls the selector; the measures: any.
    Locks:   none; the numbers are read one by one, as a scrape may.
    Differs: Kafka's Sensor takes two locks and updates each of its stats per value, 5 us in Python. This one keeps
        count, sum and maximum per time window, of which rate, average, maximum and total are worked out when somebody
        asks; `record` takes many values at once.
    """

    __slots__ = ("_samples", "_window_ms", "count", "name", "total")

    def __init__(self, name: str, now_ms: int, window_ms: int, samples: int) -> None:
        self.name = name
        self.count = 0  # thread: poller
        self.total = 0.0  # thread: poller
        self._window_ms = window_ms
        # each: start, count, sum, maximum; the newest last
        self._samples: collections.deque[list[float]] = collections.deque([[now_ms, 0, 0, 0]], maxlen=max(samples, 1))

    def record(self, value: float, now_ms: int, count: int = 1, largest: float | None = None) -> None:
        """Add ``count`` values whose sum is ``value`` and whose greatest is ``largest``."""
        self.count += count
        self.total += value
        sample = self._samples[-1]
        if now_ms - sample[0] >= self._window_ms:
            sample = [now_ms, 0, 0, 0]
            self._samples.append(sample)
        sample[1] += count
        sample[2] += value
        top = value if largest is None else largest
        if top > sample[3]:
            sample[3] = top

    def _snapshot(self) -> list[list[float]]:
        while True:
            try:
                return list(self._samples)
            except RuntimeError:  # without the GIL, when a window has ended meanwhile
                continue

    def _recent(self, now_ms: int) -> list[list[float]]:
        """Samples that are not older than all windows together."""
        samples = self._snapshot()
        horizon = now_ms - self._window_ms * (self._samples.maxlen or 1)
        return [sample for sample in samples if sample[0] > horizon]

    def elapsed_ms(self, now_ms: int) -> float:
        """Length of time the samples cover, counted as at least all windows but one, as Kafka's Rate does."""
        recent = self._recent(now_ms)
        elapsed = now_ms - recent[0][0] if recent else 0
        full = int(elapsed // self._window_ms)
        least = (self._samples.maxlen or 1) - 1
        return elapsed + max(least - full, 0) * self._window_ms or self._window_ms

    def rate(self, now_ms: int) -> float:
        """Sum of the values per second."""
        return sum(sample[2] for sample in self._recent(now_ms)) * 1000 / self.elapsed_ms(now_ms)

    def count_rate(self, now_ms: int) -> float:
        """Number of values per second."""
        return sum(sample[1] for sample in self._recent(now_ms)) * 1000 / self.elapsed_ms(now_ms)

    def ratio(self, now_ms: int) -> float:
        """Values that are nanoseconds, as a fraction of the time."""
        return sum(sample[2] for sample in self._recent(now_ms)) / 1e6 / self.elapsed_ms(now_ms)

    def avg(self, now_ms: int) -> float:
        """Mean of the values; NaN without any."""
        recent = self._recent(now_ms)
        count = sum(sample[1] for sample in recent)
        return sum(sample[2] for sample in recent) / count if count else float("nan")

    def max(self, now_ms: int) -> float:
        """Greatest of the values; NaN without any."""
        recent = self._recent(now_ms)
        return max(sample[3] for sample in recent) if any(sample[1] for sample in recent) else float("nan")

    def value_total(self, now_ms: int) -> float:
        """Sum of all values ever."""
        return self.total

    def count_total(self, now_ms: int) -> float:
        """Number of all values ever."""
        return float(self.count)


class _Measure(Measurable):
    """A number of a ThreadSensor, under a metric's name."""

    def __init__(self, measure: Callable[[int], float]) -> None:
        self._measure = measure

    def measure(self, config: MetricConfig, now: int) -> float:
        return self._measure(now)


class IntGaugeSuite(Generic[K]):
    """A gauge for each of the things counted, while there are any of it.

    Mirrors: org.apache.kafka.common.metrics.internals.IntGaugeSuite @ 3.7.1
    Thread:  increment, decrement, update_gauges, close: the one that polls the selector.
    Differs: gauges come and go with `update_gauges`, every 10 ms at most. A connection that says one thing and is gone
        would else cost four changes of the registry, more than all the rest of it.
    """

    def __init__(self, metrics: Metrics, name_of: Callable[[K], MetricName], max_entries: int) -> None:
        self._metrics = metrics
        self._name_of = name_of
        self._max_entries = max_entries
        self._counts: dict[K, int] = {}
        self._gauges: dict[K, MetricName] = {}
        # which things there are, since the last update_gauges
        self._has_changed = False  # thread: poller
        self._closed = False  # thread: poller

    def increment(self, key: K) -> None:
        """One more; beyond the bound of entries new keys are not counted."""
        if self._closed:
            return
        if key in self._counts:
            self._counts[key] += 1
        elif len(self._counts) < self._max_entries:
            self._counts[key] = 1
            self._has_changed = True

    def decrement(self, key: K) -> None:
        """One less; the last one takes the gauge away."""
        left = self._counts.get(key, 0) - 1
        if left > 0:
            self._counts[key] = left
        elif left == 0:
            del self._counts[key]
            self._has_changed = True

    def update_gauges(self) -> None:
        """Register gauges of what has come since the last time, and remove those of what has gone."""
        if not self._has_changed:
            return
        self._has_changed = False
        for key in [key for key in self._gauges if key not in self._counts]:
            self._metrics.remove_metric(self._gauges.pop(key))
        for key in self._counts:
            if key not in self._gauges:
                self._gauges[key] = name = self._name_of(key)
                self._metrics.add_metric(name, self._gauge_of(key))

    def _gauge_of(self, key: K) -> _Measure:
        return _Measure(lambda now: float(self._counts.get(key, 0)))

    def close(self) -> None:
        """Take all gauges away."""
        self._closed = True
        for name in self._gauges.values():
            self._metrics.remove_metric(name)
        self._gauges.clear()
        self._counts.clear()


class SelectorMetrics:
    """The sensors of a selector, in the group ``<prefix>-metrics``.

    Mirrors: org.apache.kafka.common.network.Selector.SelectorMetrics @ 3.7.1
    Thread:  the one that polls the selector.
    Differs: sensors are ThreadSensors; sends and receives are recorded once per poll, not one by one.
    """

    def __init__(
        self,
        metrics: Metrics,
        metric_grp_prefix: str,
        metric_tags: Mapping[str, str],
        metrics_per_connection: bool,
        channel_count: Callable[[], int],
        now_ms: int,
    ) -> None:
        self._metrics = metrics
        self._metric_tags = dict(metric_tags)
        self.metrics_per_connection = metrics_per_connection
        self._metric_grp_name = metric_grp_prefix + "-metrics"
        self._per_connection_metric_grp_name = metric_grp_prefix + "-node-metrics"
        self._names: list[MetricName] = []
        self._node_sensors: dict[str, dict[str, ThreadSensor]] = {}
        self._now_ms = now_ms
        self._window_ms = metrics.config().time_window_ms
        self._samples = metrics.config().samples
        self.connection_closed = self._metered("connections-closed", "connection-close", "connections closed")
        self.connection_created = self._metered(
            "connections-created", "connection-creation", "new connections established"
        )
        self._add_authentication_sensors()
        self.bytes_transferred = self._sensor("bytes-sent-received")
        self._count_meter(
            self.bytes_transferred, "network-io", "network operations (reads or writes) on all connections"
        )
        self.bytes_sent = self._metered("bytes-sent", "outgoing-byte", "outgoing bytes sent to all servers")
        self.requests_sent = self._sensor("requests-sent")
        self._add_request_metrics(self.requests_sent, self._metric_grp_name, self._metric_tags)
        self.bytes_received = self._metered("bytes-received", "incoming-byte", "bytes read off all sockets")
        self.responses_received = self._sensor("responses-received")
        self._count_meter(self.responses_received, "response", "responses received")
        self._add_time_sensors()
        self.connections_by_cipher: IntGaugeSuite[CipherInformation] = IntGaugeSuite(
            metrics, self._cipher_metric_name, _MAX_SUITE_ENTRIES
        )
        self.connections_by_client: IntGaugeSuite[ClientInformation] = IntGaugeSuite(
            metrics, self._client_metric_name, _MAX_SUITE_ENTRIES
        )
        self._add("connection-count", "The current number of active connections.", lambda now: float(channel_count()))

    def _add_authentication_sensors(self) -> None:
        self.successful_authentication = self._metered(
            "successful-authentication", "successful-authentication", "connections with successful authentication"
        )
        self.successful_reauthentication = self._metered(
            "successful-reauthentication", "successful-reauthentication", "successful re-authentication of connections"
        )
        self.successful_authentication_no_reauth = self._sensor("successful-authentication-no-reauth")
        self._add(
            "successful-authentication-no-reauth-total",
            "The total number of connections whose client authenticated but cannot do so again",
            self.successful_authentication_no_reauth.value_total,
        )
        self.failed_authentication = self._metered(
            "failed-authentication", "failed-authentication", "connections with failed authentication"
        )
        self.failed_reauthentication = self._metered(
            "failed-reauthentication", "failed-reauthentication", "failed re-authentication of connections"
        )
        self.reauthentication_latency = self._sensor("reauthentication-latency")
        self._add("reauthentication-latency-max", "The longest re-authentication", self.reauthentication_latency.max)
        self._add("reauthentication-latency-avg", "The mean re-authentication", self.reauthentication_latency.avg)

    def _add_time_sensors(self) -> None:
        self.select_time = self._sensor("select-time")
        self._count_meter(self.select_time, "select", "times the I/O layer checked for new I/O to perform")
        self._add("io-wait-time-ns-avg", "The mean time of a wait for a ready socket, ns.", self.select_time.avg)
        self._add("io-wait-ratio", "The fraction of time the I/O thread spent waiting", self.select_time.ratio)
        self._add("io-waittime-total", "*Deprecated* see io-wait-time-ns-total", self.select_time.value_total)
        self._add("io-wait-time-ns-total", "All time the I/O thread spent waiting, ns", self.select_time.value_total)
        self.io_time = self._sensor("io-time")
        self._add("io-time-ns-avg", "The mean time of I/O per select call, ns.", self.io_time.avg)
        self._add("io-ratio", "The fraction of time the I/O thread spent doing I/O", self.io_time.ratio)
        self._add("iotime-total", "*Deprecated* see io-time-ns-total", self.io_time.value_total)
        self._add("io-time-ns-total", "All time the I/O thread spent doing I/O, ns", self.io_time.value_total)

    def _sensor(self, name: str) -> ThreadSensor:
        return ThreadSensor(name, self._now_ms, self._window_ms, self._samples)

    def _metered(self, sensor_name: str, base: str, what: str) -> ThreadSensor:
        """A sensor with the rate and the total of its values."""
        sensor = self._sensor(sensor_name)
        self._add(f"{base}-rate", f"The number of {what} per second", sensor.rate)
        self._add(f"{base}-total", f"The total number of {what}", sensor.value_total)
        return sensor

    def _count_meter(self, sensor: ThreadSensor, base: str, what: str) -> None:
        """The rate and the total of the number of values."""
        self._add(f"{base}-rate", f"The number of {what} per second", sensor.count_rate)
        self._add(f"{base}-total", f"The total number of {what}", sensor.count_total)

    def _add_request_metrics(self, sensor: ThreadSensor, group: str, tags: Mapping[str, str]) -> None:
        self._add("request-rate", "The number of requests sent per second", sensor.count_rate, group, tags)
        self._add("request-total", "The total number of requests sent", sensor.count_total, group, tags)
        self._add("request-size-avg", "The average size of requests sent.", sensor.avg, group, tags)
        self._add("request-size-max", "The maximum size of any request sent.", sensor.max, group, tags)

    def _add(
        self,
        name: str,
        description: str,
        measure: Callable[[int], float],
        group: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        metric_name = self._metrics.metric_name(
            name, group or self._metric_grp_name, description, dict(self._metric_tags if tags is None else tags)
        )
        self._metrics.add_metric(metric_name, _Measure(measure))
        self._names.append(metric_name)

    def _cipher_metric_name(self, cipher: CipherInformation) -> MetricName:
        tags = {"cipher": cipher.cipher(), "protocol": cipher.protocol(), **self._metric_tags}
        return self._metrics.metric_name(
            "connections", self._metric_grp_name, "The number of connections with this SSL cipher and protocol.", tags
        )

    def _client_metric_name(self, client: ClientInformation) -> MetricName:
        tags = {
            "clientSoftwareName": client.software_name(),
            "clientSoftwareVersion": client.software_version(),
            **self._metric_tags,
        }
        return self._metrics.metric_name(
            "connections", self._metric_grp_name, "The number of connections with this client and version.", tags
        )

    def update_gauges(self) -> None:
        """Let the gauges of ciphers and client libraries be those of the connections there are now."""
        self.connections_by_cipher.update_gauges()
        self.connections_by_client.update_gauges()

    def maybe_register_connection_metrics(self, connection_id: str) -> None:
        """Make the sensors of one connection, if there are to be such and they do not exist yet."""
        if not connection_id or not self.metrics_per_connection or connection_id in self._node_sensors:
            return
        tags = {**self._metric_tags, "node-id": "node-" + connection_id}
        group = self._per_connection_metric_grp_name
        made = {
            kind: self._sensor(f"node-{connection_id}.{kind}")
            for kind in ("requests-sent", "bytes-sent", "responses-received", "bytes-received")
        }
        self._add_request_metrics(made["requests-sent"], group, tags)
        for kind, base, what in (
            ("bytes-sent", "outgoing-byte", "outgoing bytes"),
            ("bytes-received", "incoming-byte", "incoming bytes"),
        ):
            self._add(f"{base}-rate", f"The number of {what} per second", made[kind].rate, group, tags)
            self._add(f"{base}-total", f"The total number of {what}", made[kind].value_total, group, tags)
        responses = made["responses-received"]
        self._add("response-rate", "The number of responses received per second", responses.count_rate, group, tags)
        self._add("response-total", "The total number of responses received", responses.count_total, group, tags)
        self._node_sensors[connection_id] = made

    def record_node(self, connection_id: str, kind: str, value: float, now_ms: int) -> None:
        """Record into a sensor of one connection, if there is one."""
        sensors = self._node_sensors.get(connection_id)
        if sensors is not None:
            sensors[kind].record(value, now_ms)

    def close(self) -> None:
        """Take all metrics of this selector away."""
        for name in self._names:
            self._metrics.remove_metric(name)
        self._names.clear()
        self._node_sensors.clear()
        self.connections_by_cipher.close()
        self.connections_by_client.close()
