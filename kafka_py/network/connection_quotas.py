"""How many connections there may be, and how fast new ones may come.

Mirrors: core/src/main/scala/kafka/network/SocketServer.scala (ConnectionQuotas) @ 3.7.1
Posts:   socket-server (per IP, 0.11)
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from kafka_py.common.errors import (
    ConfigException,
    ConnectionThrottledException,
    IllegalStateException,
    QuotaViolationException,
    TooManyConnectionsException,
)
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.quota import Quota
from kafka_py.common.metrics.stats.avg import Avg
from kafka_py.common.metrics.stats.rate import Rate
from kafka_py.common.network.addresses import inet_address
from kafka_py.common.network.listener_reconfigurable import ListenerReconfigurable
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metric_name import MetricName
    from kafka_py.common.metrics.kafka_metric import KafkaMetric
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.utils.time import Time
    from kafka_py.metrics.yammer import Meter

METRICS_GROUP: Final = "socket-server-metrics"
LISTENER_METRIC_TAG: Final = "listener"
_MAX_INT: Final = 0x7FFFFFFF
_IP_CONNECTION_RATE_DEFAULT: Final = _MAX_INT  # connection_creation_rate of an IP without a quota


def close_socket(channel: socket.socket, logging: Logging) -> None:
    """Close a socket; an error is logged, not raised."""
    try:
        channel.close()
    except OSError as e:
        logging.error("%s", e, exc=e)


class ConnectionQuotaEntity(Protocol):
    """Broker, listener or IP: whatever has a quota of new connections per second.

    Mirrors: kafka.network.ConnectionQuotaEntity @ 3.7.1
    """

    @property
    def sensor_name(self) -> str:
        """Name of the sensor that counts."""
        return ""

    @property
    def metric_name(self) -> str:
        """Name of the metric."""
        return ""

    @property
    def sensor_expiration(self) -> int:
        """Seconds after which an unused sensor goes."""
        return 0

    @property
    def metric_tags(self) -> dict[str, str]:
        """Tags of the metric."""
        return {}


class _Entity:
    """A ConnectionQuotaEntity's four values."""

    __slots__ = ("metric_name", "metric_tags", "sensor_expiration", "sensor_name")

    def __init__(self, sensor_name: str, metric_name: str, sensor_expiration: int, tags: dict[str, str]) -> None:
        self.sensor_name = sensor_name
        self.metric_name = metric_name
        self.sensor_expiration = sensor_expiration
        self.metric_tags = tags


_NEVER_SECONDS: Final = 2**62
_INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS: Final = 3600
_RATE_SENSOR: Final = "Connection-Accept-Rate"
_RATE_METRIC: Final = "connection-accept-rate"
_IP_METRIC_TAG: Final = "ip"


def listener_quota_entity(listener_name: str) -> _Entity:
    """One listener."""
    tags = {LISTENER_METRIC_TAG: listener_name}
    return _Entity(f"{_RATE_SENSOR}-{listener_name}", _RATE_METRIC, _NEVER_SECONDS, tags)


def ip_quota_entity(ip: str) -> _Entity:
    """One client address; forgotten after an hour without connections."""
    return _Entity(f"{_RATE_SENSOR}-{ip}", _RATE_METRIC, _INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS, {_IP_METRIC_TAG: ip})


BROKER_QUOTA_ENTITY: Final = _Entity(_RATE_SENSOR, f"broker-{_RATE_METRIC}", _NEVER_SECONDS, {})


class ConnectionQuotas(Logging):
    """Counts connections per IP, per listener and in all, and makes acceptors wait, or refuse, beyond the limits.

    Mirrors: kafka.network.ConnectionQuotas @ 3.7.1
    Thread:  acceptors inc, network threads dec, reconfiguration updates.
    Locks:   _lock; an acceptor waits for `_changed` under it and gives it up meanwhile.
    Differs: addresses are texts. An acceptor that is told to end stops waiting (`stop_waiting`): Kafka's waits on, and
        its broker never ends, when no connection is left whose close could wake it (max.connections=0).
    """

    LISTENER_THROTTLE_PREFIX: ClassVar[str] = ""
    IP_THROTTLE_PREFIX: ClassVar[str] = "ip-"
    logger_name: ClassVar[str] = "kafka.network.ConnectionQuotas"

    def __init__(self, config: KafkaConfig, time: Time, metrics: Metrics) -> None:
        self._config = config
        self._time = time
        self.metrics = metrics
        self._lock = ReentrantLock()
        self._changed = self._lock.new_condition()
        self.default_max_connections_per_ip = config.max_connections_per_ip  # volatile: reconfiguration
        self.max_connections_per_ip_overrides = self._by_address(
            config.max_connections_per_ip_overrides
        )  # volatile: reconfiguration
        self._broker_max_connections = config.max_connections  # volatile: reconfiguration, under _lock
        self._inter_broker_listener_name = config.inter_broker_listener_name
        self._counts: dict[str, int] = {}  # guarded by: _lock
        self._listener_counts: dict[ListenerName, int] = {}  # volatile: acceptors and network, under _lock
        self.max_connections_per_listener: dict[ListenerName, ListenerConnectionQuota] = {}  # volatile: under _lock
        self._ending_listeners: set[ListenerName] = set()  # guarded by: _lock
        self._total_count = 0  # volatile: acceptors and network, under _lock
        self._default_connection_rate_per_ip = _IP_CONNECTION_RATE_DEFAULT  # volatile: reconfiguration, under _lock
        self._connection_rate_per_ip: ConcurrentHashMap[str, int] = ConcurrentHashMap()  # atomic
        self._unlimited_sensors: frozenset[str] = frozenset()  # volatile: reconfiguration; of broker and listeners
        self._broker_connection_rate_sensor = self.get_or_create_connection_rate_quota_sensor(
            config.max_connection_creation_rate, BROKER_QUOTA_ENTITY
        )
        self._max_throttle_time_ms = config.quota_window_size_seconds * 1000

    @staticmethod
    def _by_address(overrides: Mapping[str, int]) -> dict[str, int]:
        return {inet_address(host): int(count) for host, count in overrides.items()}

    def inc(self, listener_name: ListenerName, address: str, acceptor_blocked_percent_meter: Meter) -> None:
        """Count a new connection, waiting for a slot of listener and broker and out of their rate throttle.

        Raises TooManyConnectionsException when the address has its limit (the connection is counted all the same:
        `close_channel` takes it back) and ConnectionThrottledException when it connects too often (not counted).
        """
        with self._lock:
            self._wait_for_connection_slot(listener_name, acceptor_blocked_percent_meter)
            self._record_ip_connection_maybe_throttle(listener_name, address)
            count = self._counts.get(address, 0)
            self._counts[address] = count + 1
            self._total_count += 1
            if listener_name in self._listener_counts:
                self._listener_counts[listener_name] += 1
            limit = self.max_connections_per_ip_overrides.get(address, self.default_max_connections_per_ip)
            if count >= limit:
                raise TooManyConnectionsException(address, limit)

    def update_max_connections_per_ip(self, max_connections_per_ip: int) -> None:
        """Take a new max.connections.per.ip."""
        self.default_max_connections_per_ip = max_connections_per_ip

    def update_max_connections_per_ip_override(self, override_quotas: Mapping[str, int]) -> None:
        """Take new max.connections.per.ip.overrides. Raises OSError for an unknown host."""
        self.max_connections_per_ip_overrides = self._by_address(override_quotas)

    def update_broker_max_connections(self, max_connections: int) -> None:
        """Take a new max.connections of the broker, and let waiting acceptors look again."""
        with self._lock:
            self._broker_max_connections = max_connections
            self._changed.signal_all()

    def update_broker_max_connection_rate(self, max_connection_rate: int) -> None:
        """Take a new max.connection.creation.rate; a connection that waits already waits as it was told."""
        self.update_connection_rate_quota(max_connection_rate, BROKER_QUOTA_ENTITY)

    def update_ip_connection_rate_quota(self, ip: str | None, max_connection_rate: int | None) -> None:
        """Set the rate of one address, or with ``ip`` None the default; a rate of None takes the setting away."""
        if ip is not None:
            with self._lock:
                if max_connection_rate is not None:
                    self.info("Updating max connection rate override for %s to %d", ip, max_connection_rate)
                    self._connection_rate_per_ip.put(ip, max_connection_rate)
                else:
                    self.info("Removing max connection rate override for %s", ip)
                    self._connection_rate_per_ip.remove(ip)
            self.update_connection_rate_quota(self.connection_rate_for_ip(ip), ip_quota_entity(ip))
            return
        with self._lock:
            self._default_connection_rate_per_ip = (
                _IP_CONNECTION_RATE_DEFAULT if max_connection_rate is None else max_connection_rate
            )
        self.info("Updated default max IP connection rate to %d", self._default_connection_rate_per_ip)
        for metric_name, metric in self.metrics.metrics().items():
            if self._is_ip_connection_rate_metric(metric_name):
                quota = self.connection_rate_for_ip(metric_name.tags[_IP_METRIC_TAG])
                if self._should_update_quota(metric, quota):
                    self.debug("Updating existing connection rate quota config for %s to %d", metric_name.tags, quota)
                    metric.config(self._rate_quota_metric_config(quota))

    @staticmethod
    def _is_ip_connection_rate_metric(metric_name: MetricName) -> bool:
        return (
            metric_name.name == _RATE_METRIC
            and metric_name.group == METRICS_GROUP
            and _IP_METRIC_TAG in metric_name.tags
        )

    @staticmethod
    def _should_update_quota(metric: KafkaMetric, quota_limit: int) -> bool:
        quota = metric.config().quota
        return quota is None or quota_limit != quota.bound()

    def connection_rate_for_ip(self, ip: str) -> int:
        """New connections per second that an address may open."""
        return self._connection_rate_per_ip.get(ip, self._default_connection_rate_per_ip)

    def add_listener(self, config: KafkaConfig, listener_name: ListenerName) -> None:
        """Count connections of a listener, and take its prefixed limits."""
        with self._lock:
            self._ending_listeners.discard(listener_name)
            if listener_name not in self.max_connections_per_listener:
                quota = ListenerConnectionQuota(self, self._lock, listener_name)
                self.max_connections_per_listener[listener_name] = quota
                self._listener_counts[listener_name] = 0
                config.add_reconfigurable(quota)
                quota.configure(config.values_with_prefix_override(listener_name.config_prefix()))
            self._changed.signal_all()

    def remove_listener(self, config: KafkaConfig, listener_name: ListenerName) -> None:
        """Forget a listener; an acceptor that waits for a slot of it goes on, to its end."""
        with self._lock:
            quota = self.max_connections_per_listener.pop(listener_name, None)
            if quota is not None:
                self._listener_counts.pop(listener_name, None)
                quota.close()
                self._changed.signal_all()
                config.remove_reconfigurable(quota)

    def stop_waiting(self, listener_name: ListenerName) -> None:
        """Let the listener's acceptor, which is to end, wait for nothing any more. Ours."""
        with self._lock:
            self._ending_listeners.add(listener_name)
            self._changed.signal_all()

    def dec(self, listener_name: ListenerName, address: str) -> None:
        """A connection is gone. Raises ValueError for an address that has none."""
        with self._lock:
            count = self._counts.get(address)
            if count is None:
                raise ValueError(
                    f"Attempted to decrease connection count for address with no connections, address: {address}"
                )
            if count == 1:
                del self._counts[address]
            else:
                self._counts[address] = count - 1
            if self._total_count <= 0:
                self.error("Attempted to decrease total connection count for broker with no connections")
            self._total_count -= 1
            if listener_name in self.max_connections_per_listener:
                if self._listener_counts[listener_name] == 0:
                    self.error(
                        "Attempted to decrease connection count for listener %s with no connections", listener_name
                    )
                else:
                    self._listener_counts[listener_name] -= 1
            self._changed.signal_all()

    def get(self, address: str) -> int:
        """Connections of an address."""
        with self._lock:
            return self._counts.get(address, 0)

    def _wait_for_connection_slot(self, listener_name: ListenerName, acceptor_blocked_percent_meter: Meter) -> None:
        """Caller holds _lock, and gives it up while waiting."""
        start_throttle_time_ms = self._time.milliseconds()
        throttle_time_ms = max(
            self._record_connection_and_get_throttle_time_ms(listener_name, start_throttle_time_ms), 0
        )
        if throttle_time_ms > 0 or not self._connection_slot_available(listener_name):
            start_ns = self._time.nanoseconds()
            end_throttle_time_ms = start_throttle_time_ms + throttle_time_ms
            remaining = throttle_time_ms
            while listener_name not in self._ending_listeners:
                self._changed.await_(remaining if remaining > 0 else None)
                remaining = max(end_throttle_time_ms - self._time.milliseconds(), 0)
                if remaining <= 0 and self._connection_slot_available(listener_name):
                    break
            acceptor_blocked_percent_meter.mark(self._time.nanoseconds() - start_ns)

    def max_connections_exceeded(self, listener_name: ListenerName) -> bool:
        """Whether a connection of this listener is to be closed, since a protected listener needed its slot.

        Read without the lock in every turn of every network thread; a stale answer is put right in the next turn.
        """
        return self._total_count > self._broker_max_connections and not self._protected_listener(listener_name)

    def _connection_slot_available(self, listener_name: ListenerName) -> bool:
        count = self._listener_counts.get(listener_name)
        if count is None:
            if self._listener_counts:
                return True  # removed meanwhile: the acceptor must be able to end
            raise IllegalStateException(f"No connection quota for listener {listener_name}")
        if count >= self._max_listener_connections(listener_name):
            return False
        return self._protected_listener(listener_name) or self._total_count < self._broker_max_connections

    def _protected_listener(self, listener_name: ListenerName) -> bool:
        """Whether it is the brokers' own listener beside others: clients must not crowd them out."""
        return len(self._listener_counts) > 1 and self._inter_broker_listener_name == listener_name

    def _max_listener_connections(self, listener_name: ListenerName) -> int:
        quota = self.max_connections_per_listener.get(listener_name)
        return quota.max_connections() if quota is not None else _MAX_INT

    def _record_connection_and_get_throttle_time_ms(self, listener_name: ListenerName, time_ms: int) -> int:
        """The longer of the delays that bring listener and broker back to their rates, at most a quota window."""
        broker_throttle_time_ms = 0
        if not self._protected_listener(listener_name):
            broker_throttle_time_ms = self._record_and_get_throttle_time_ms(
                self._broker_connection_rate_sensor, time_ms
            )
        quota = self.max_connections_per_listener.get(listener_name)
        if quota is None:
            return 0
        listener_throttle_time_ms = self._record_and_get_throttle_time_ms(quota.connection_rate_sensor, time_ms)
        throttle_time_ms = max(broker_throttle_time_ms, listener_throttle_time_ms)
        if throttle_time_ms > 0:
            quota.listener_connection_rate_throttle_sensor.record(float(throttle_time_ms), time_ms)
        return throttle_time_ms

    def _update_listener_metrics(self, listener_name: ListenerName, throttle_ms: int, time_ms: int) -> None:
        """Note an address's throttle at the listener, and take its connection out of the rates it did not use."""
        if not self._protected_listener(listener_name):
            self._broker_connection_rate_sensor.record(-1.0, time_ms, False)
        quota = self.max_connections_per_listener.get(listener_name)
        if quota is not None:
            quota.ip_connection_rate_throttle_sensor.record(float(throttle_ms), time_ms)
            quota.connection_rate_sensor.record(-1.0, time_ms, False)

    def _record_ip_connection_maybe_throttle(self, listener_name: ListenerName, address: str) -> None:
        """Raises ConnectionThrottledException. Caller holds _lock, so that rate and sensor belong together."""
        rate = self.connection_rate_for_ip(address)
        if rate == _IP_CONNECTION_RATE_DEFAULT:
            return
        sensor = self.get_or_create_connection_rate_quota_sensor(rate, ip_quota_entity(address))
        time_ms = self._time.milliseconds()
        throttle_ms = self._record_and_get_throttle_time_ms(sensor, time_ms)
        if throttle_ms > 0:
            self.trace("Throttling %s for %d ms", address, throttle_ms)
            sensor.record(-1.0, time_ms, False)  # it will not be a connection
            self._update_listener_metrics(listener_name, throttle_ms, time_ms)
            raise ConnectionThrottledException(address, time_ms, throttle_ms)

    def _record_and_get_throttle_time_ms(self, sensor: Sensor, time_ms: int) -> int:
        try:
            # a rate without a limit, which is what most brokers have, need not be worked out for each connection
            sensor.record(1.0, time_ms, sensor.name() not in self._unlimited_sensors)
        except QuotaViolationException as e:
            throttle_time_ms = min(self._throttle_time(e, time_ms), self._max_throttle_time_ms)
            self.debug("Quota violated for sensor (%s). Delay time: %d ms", sensor.name(), throttle_time_ms)
            return throttle_time_ms
        return 0

    @staticmethod
    def _throttle_time(e: QuotaViolationException, time_ms: int) -> int:
        """How long nothing may come for the rate to fall to its bound (org.apache.kafka.server.quota.QuotaUtils)."""
        metric: KafkaMetric = e.metric()
        rate = metric.measurable()
        assert isinstance(rate, Rate), "connection quotas are rates"
        if not e.bound():
            return _MAX_INT  # a rate of 0: no time is long enough
        difference = e.value() - e.bound()
        return int(difference / e.bound() * rate.window_size(metric.config(), time_ms) + 0.5)

    def get_or_create_connection_rate_quota_sensor(self, quota_limit: int, entity: _Entity) -> Sensor:
        """The sensor that counts an entity's new connections, with its quota."""
        sensor = self.metrics.get_sensor(entity.sensor_name)
        if sensor is None:
            sensor = self.metrics.sensor(
                entity.sensor_name,
                config=self._rate_quota_metric_config(quota_limit),
                inactive_sensor_expiration_time_seconds=entity.sensor_expiration,
            )
            sensor.add(self._connection_rate_metric_name(entity), Rate())
            self._note_limit(quota_limit, entity)
        return sensor

    def _note_limit(self, quota_limit: int, entity: _Entity) -> None:
        """Remember whether the rate of the broker or of a listener has a limit; that of an address always has one."""
        if entity.sensor_expiration == _NEVER_SECONDS:
            name = {entity.sensor_name}
            unlimited = self._unlimited_sensors
            self._unlimited_sensors = unlimited | name if quota_limit >= _MAX_INT else unlimited - name

    def update_connection_rate_quota(self, quota_limit: int, entity: _Entity) -> None:
        """Give an entity's sensor, if it has one, a new quota."""
        metric = self.metrics.metric(self._connection_rate_metric_name(entity))
        if metric is not None:
            metric.config(self._rate_quota_metric_config(quota_limit))
            self._note_limit(quota_limit, entity)
            self.info("Updated %s max connection creation rate to %d", entity.metric_name, quota_limit)

    def _connection_rate_metric_name(self, entity: _Entity) -> MetricName:
        return self.metrics.metric_name(
            entity.metric_name,
            METRICS_GROUP,
            "Tracking rate of accepting new connections (per second)",
            entity.metric_tags,
        )

    def _rate_quota_metric_config(self, quota_limit: int) -> MetricConfig:
        return MetricConfig(
            samples=self._config.num_quota_samples,
            time_window_ms=self._config.quota_window_size_seconds * 1000,
            quota=Quota(quota_limit, True),
        )

    def close(self) -> None:
        """Take the sensors away."""
        self.metrics.remove_sensor(self._broker_connection_rate_sensor.name())
        for quota in self.max_connections_per_listener.values():
            quota.close()

    def close_channel(self, log: Logging, listener_name: ListenerName, channel: socket.socket, address: str) -> None:
        """Close a counted connection that no selector owns; ``address`` is its peer's."""
        log.debug("Closing connection from %s", address)
        self.dec(listener_name, address)
        close_socket(channel, log)

    def __repr__(self) -> str:
        return f"ConnectionQuotas(total={self._total_count}/{self._broker_max_connections})"


class ListenerConnectionQuota(ListenerReconfigurable):
    """A listener's limits: connections at a time, and new ones per second.

    Mirrors: kafka.network.ConnectionQuotas.ListenerConnectionQuota @ 3.7.1
    Thread:  any; acceptors read `max_connections` under ConnectionQuotas' lock.
    """

    RECONFIGURABLE: ClassVar[frozenset[str]] = frozenset(
        {KafkaConfig.MAX_CONNECTIONS_PROP, KafkaConfig.MAX_CONNECTION_CREATION_RATE_PROP}
    )

    def __init__(self, quotas: ConnectionQuotas, lock: ReentrantLock, listener: ListenerName) -> None:
        self._quotas = quotas
        self._lock = lock
        self._listener = listener
        self._entity = listener_quota_entity(listener.value())
        self._max_connections = _MAX_INT  # volatile: reconfiguration, under ConnectionQuotas' lock
        self.connection_rate_sensor = quotas.get_or_create_connection_rate_quota_sensor(_MAX_INT, self._entity)
        self.listener_connection_rate_throttle_sensor = self._create_connection_rate_throttle_sensor(
            quotas.LISTENER_THROTTLE_PREFIX
        )
        self.ip_connection_rate_throttle_sensor = self._create_connection_rate_throttle_sensor(
            quotas.IP_THROTTLE_PREFIX
        )

    def max_connections(self) -> int:
        """Connections at a time."""
        return self._max_connections

    def listener_name(self) -> ListenerName:
        """The listener."""
        return self._listener

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the listener's limits."""
        self._max_connections = self._int_of(configs, KafkaConfig.MAX_CONNECTIONS_PROP)
        self._quotas.update_connection_rate_quota(self._max_connection_creation_rate(configs), self._entity)

    def reconfigurable_configs(self) -> set[str]:
        """Both limits."""
        return set(self.RECONFIGURABLE)

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """Both limits must be positive. Raises ConfigException."""
        value = self._int_of(configs, KafkaConfig.MAX_CONNECTIONS_PROP)
        if value <= 0:
            raise ConfigException(f"Invalid {KafkaConfig.MAX_CONNECTIONS_PROP} {value}")
        rate = self._max_connection_creation_rate(configs)
        if rate <= 0:
            raise ConfigException(f"Invalid {KafkaConfig.MAX_CONNECTION_CREATION_RATE_PROP} {rate}")

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Take new limits, and let a waiting acceptor look again."""
        with self._lock:
            self.configure(configs)
            self._quotas._changed.signal_all()

    def close(self) -> None:
        """Take the sensors away."""
        metrics = self._quotas.metrics
        metrics.remove_sensor(self.connection_rate_sensor.name())
        metrics.remove_sensor(self.listener_connection_rate_throttle_sensor.name())
        metrics.remove_sensor(self.ip_connection_rate_throttle_sensor.name())

    @staticmethod
    def _int_of(configs: Mapping[str, Any], name: str) -> int:
        value = configs.get(name)
        return _MAX_INT if value is None else int(value)

    def _max_connection_creation_rate(self, configs: Mapping[str, Any]) -> int:
        return self._int_of(configs, KafkaConfig.MAX_CONNECTION_CREATION_RATE_PROP)

    def _create_connection_rate_throttle_sensor(self, throttle_prefix: str) -> Sensor:
        """Mean of the throttle times that are not 0, as the bandwidth quotas' metrics tell it."""
        metrics = self._quotas.metrics
        name = self._listener.value()
        sensor = metrics.sensor(f"{throttle_prefix}ConnectionRateThrottleTime-{name}")
        sensor.add(
            metrics.metric_name(
                f"{throttle_prefix}connection-accept-throttle-time",
                METRICS_GROUP,
                "Tracking average throttle-time, out of non-zero throttle times, per listener",
                {LISTENER_METRIC_TAG: name},
            ),
            Avg(),
        )
        return sensor
