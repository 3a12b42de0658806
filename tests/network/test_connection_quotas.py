"""Limits of connections and of their rate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.errors import ConfigException, ConnectionThrottledException, TooManyConnectionsException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.utils.time import Time
from kafka_py.metrics.yammer import Meter
from kafka_py.network.connection_quotas import ConnectionQuotas
from kafka_py.testing.mock_time import MockTime
from tests.network.socket_server_support import config, wait_until

EXTERNAL, ADMIN, REPLICATION = map(ListenerName, ("EXTERNAL", "ADMIN", "REPLICATION"))
ADDRESS = {EXTERNAL: "192.168.1.1", ADMIN: "192.168.1.2", REPLICATION: "192.168.1.3"}
UNLIMITED = 2**31 - 1


class World:
    """Quotas of a broker with three listeners; REPLICATION is the brokers' own."""

    def __init__(self, time: Time = Time.SYSTEM, listeners: bool = True, **props: object) -> None:
        self.config = config(
            listeners="EXTERNAL://localhost:0,REPLICATION://localhost:1,ADMIN://localhost:2",
            listener_security_protocol_map="EXTERNAL:PLAINTEXT,REPLICATION:PLAINTEXT,ADMIN:PLAINTEXT",
            inter_broker_listener_name="REPLICATION",
            quota_window_num=2,
            **{"quota_window_size_seconds": 1, **props},
        )
        self.time = time
        self.metrics = Metrics(time=time)
        self.quotas = ConnectionQuotas(self.config, time, self.metrics)
        self.meters = {name: Meter() for name in ADDRESS}
        if listeners:
            for name in ADDRESS:
                self.quotas.add_listener(self.config, name)
                if not any(prop.startswith("listener_name") for prop in props):
                    # else the broker's limits are those of each listener too
                    self.quotas.max_connections_per_listener[name].configure({})

    def inc(self, listener: ListenerName, address: str | None = None) -> None:
        self.quotas.inc(listener, address or ADDRESS[listener], self.meters[listener])

    def dec(self, listener: ListenerName) -> None:
        self.quotas.dec(listener, ADDRESS[listener])

    def inc_on_a_thread(self, listener: ListenerName) -> threading.Thread:
        thread = threading.Thread(target=self.inc, args=(listener,))
        thread.start()
        return thread

    def value(self, name: str, **tags: str) -> float:
        metric = self.metrics.metric(self.metrics.metric_name(name, "socket-server-metrics", "", tags))
        assert metric is not None, name
        return metric.value()

    def close(self) -> None:
        self.quotas.close()
        self.metrics.close()


@pytest.fixture
def make() -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make_one(**kwargs: object) -> World:
        made.append(World(**kwargs))  # type: ignore[arg-type]
        return made[-1]

    yield make_one
    for world in made:
        world.close()


Make = Callable[..., World]


@pytest.mark.ported("ConnectionQuotasTest.testFailWhenNoListeners")
def test_without_listeners(make: Make) -> None:
    with pytest.raises(RuntimeError, match="No connection quota for listener"):
        make(listeners=False).inc(EXTERNAL)


@pytest.mark.ported("ConnectionQuotasTest.testFailDecrementForUnknownIp")
def test_dec_of_an_unknown_address(make: Make) -> None:
    with pytest.raises(ValueError, match=r"with no connections, address: 192\.168\.2\.0"):
        make().quotas.dec(EXTERNAL, "192.168.2.0")


@pytest.mark.ported("ConnectionQuotasTest.testNoConnectionLimitsByDefault")
def test_no_limits_by_default(make: Make) -> None:
    world = make()
    for name in ADDRESS:
        for _ in range(50):
            world.inc(name)
        assert world.quotas.get(ADDRESS[name]) == 50
        assert not world.quotas.max_connections_exceeded(name)
        assert world.meters[name].count == 0
    assert world.value("broker-connection-accept-rate") > 0
    for name in ADDRESS:
        for _ in range(50):
            world.dec(name)
        assert world.quotas.get(ADDRESS[name]) == 0


@pytest.mark.ported("ConnectionQuotasTest.testMaxConnectionsPerIp")
def test_max_connections_per_ip(make: Make) -> None:
    world = make(max_connections_per_ip=3)
    for _ in range(3):
        world.inc(EXTERNAL)
    with pytest.raises(TooManyConnectionsException, match=r"Too many connections from 192\.168\.1\.1 \(maximum = 3\)"):
        world.inc(EXTERNAL)
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 4, "counted, to be given back by close_channel"
    world.dec(EXTERNAL)
    world.dec(EXTERNAL)
    world.inc(EXTERNAL)
    world.quotas.update_max_connections_per_ip(5)
    world.inc(EXTERNAL)
    world.inc(ADMIN)
    world.quotas.update_max_connections_per_ip_override({ADDRESS[ADMIN]: 1})
    with pytest.raises(TooManyConnectionsException):
        world.inc(ADMIN)


@pytest.mark.ported("ConnectionQuotasTest.testMaxBrokerWideConnectionLimit")
def test_max_broker_wide_connections(make: Make) -> None:
    world = make(max_connections=4)
    for _ in range(2):
        world.inc(EXTERNAL)
        world.inc(ADMIN)
    assert not world.quotas.max_connections_exceeded(EXTERNAL)
    world.inc(REPLICATION)  # the brokers' own listener takes a slot that is not there
    assert world.quotas.max_connections_exceeded(EXTERNAL)
    assert not world.quotas.max_connections_exceeded(REPLICATION)
    waiting = world.inc_on_a_thread(EXTERNAL)
    world.dec(EXTERNAL)
    waiting.join(0.03)
    assert waiting.is_alive(), "still none free"
    world.dec(EXTERNAL)
    waiting.join(5)
    assert not waiting.is_alive()
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 1
    assert world.meters[EXTERNAL].count > 0
    assert world.meters[REPLICATION].count == 0


def test_a_higher_limit_lets_the_waiting_in(make: Make) -> None:
    world = make(max_connections=1)
    world.inc(EXTERNAL)
    waiting = world.inc_on_a_thread(ADMIN)
    world.quotas.update_broker_max_connections(2)
    waiting.join(5)
    assert world.quotas.get(ADDRESS[ADMIN]) == 1


@pytest.mark.ported("ConnectionQuotasTest.testMaxListenerConnectionLimits")
def test_max_listener_connections(make: Make) -> None:
    world = make(listener_name_external_max_connections=2)
    quota = world.quotas.max_connections_per_listener[EXTERNAL]
    assert quota.max_connections() == 2
    for _ in range(2):
        world.inc(EXTERNAL)
        world.inc(ADMIN)
    world.inc(ADMIN)
    waiting = world.inc_on_a_thread(EXTERNAL)
    waiting.join(0.03)
    assert waiting.is_alive()
    world.dec(EXTERNAL)
    waiting.join(5)
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 2
    waiting = world.inc_on_a_thread(EXTERNAL)
    quota.reconfigure({"max.connections": 3})
    waiting.join(5)
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 3


def test_a_removed_listener_lets_its_acceptor_end(make: Make) -> None:
    world = make(listener_name_external_max_connections=1)
    world.inc(EXTERNAL)
    waiting = world.inc_on_a_thread(EXTERNAL)
    waiting.join(0.03)
    assert waiting.is_alive()
    world.quotas.remove_listener(world.config, EXTERNAL)
    waiting.join(5)
    assert not waiting.is_alive()
    assert world.metrics.get_sensor("Connection-Accept-Rate-EXTERNAL") is None


@pytest.mark.parametrize("where", ["broker", "listener"])
def test_a_rate_of_0_delays_each_connection_for_a_whole_window(make: Make, where: str) -> None:
    prefix = "" if where == "broker" else "listener_name_external_"
    world = make(time=MockTime(), **{f"{prefix}max_connection_creation_rate": 0})
    waiting = world.inc_on_a_thread(EXTERNAL)
    wait_until(lambda: world.value("connection-accept-throttle-time", listener="EXTERNAL") == 1000)
    world.quotas.stop_waiting(EXTERNAL)
    waiting.join(5)
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 1


def test_an_ip_with_a_rate_of_0_is_refused(make: Make) -> None:
    world = make(time=MockTime())
    world.quotas.update_ip_connection_rate_quota(ADDRESS[EXTERNAL], 0)
    with pytest.raises(ConnectionThrottledException) as refused:
        world.inc(EXTERNAL)
    assert refused.value.throttle_time_ms == 1000
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 0


@pytest.mark.parametrize("limit", ["slots", "rate"])
def test_an_acceptor_that_ends_waits_no_longer(make: Make, limit: str) -> None:
    if limit == "slots":
        world = make(max_connections=0)
    else:
        world = make(max_connection_creation_rate=0, quota_window_size_seconds=3600)
    waiting = world.inc_on_a_thread(EXTERNAL)
    waiting.join(0.03)
    assert waiting.is_alive()
    world.quotas.stop_waiting(EXTERNAL)
    waiting.join(5)
    assert not waiting.is_alive()
    # who adds the listener again waits again
    world.quotas.remove_listener(world.config, EXTERNAL)
    world.quotas.add_listener(world.config, EXTERNAL)
    waiting = world.inc_on_a_thread(EXTERNAL)
    waiting.join(0.03)
    assert waiting.is_alive()
    world.quotas.stop_waiting(EXTERNAL)
    waiting.join(5)


@pytest.mark.ported("ConnectionQuotasTest.testBrokerConnectionRateLimitWhenActualRateAboveLimit")
def test_broker_rate_limit(make: Make) -> None:
    world = make(max_connection_creation_rate=100)
    for _ in range(110):
        world.inc(EXTERNAL)
    assert world.meters[EXTERNAL].count > 0
    tags = {"listener": "EXTERNAL"}
    assert world.value("connection-accept-throttle-time", **tags) > 0
    assert (
        world.value("ip-connection-accept-throttle-time", **tags) == 0
        or not world.value("ip-connection-accept-throttle-time", **tags) > 0
    )


@pytest.mark.ported("ConnectionQuotasTest.testBrokerConnectionRateLimitWhenActualRateBelowLimit")
def test_rate_below_the_limit_is_not_throttled(make: Make) -> None:
    time = MockTime()
    world = make(time=time, max_connection_creation_rate=125)
    for _ in range(100):
        world.inc(EXTERNAL)
        time.sleep(10)
    assert world.meters[EXTERNAL].count == 0
    assert 90 <= world.value("broker-connection-accept-rate") <= 110


def test_the_brokers_own_listener_is_not_held_to_the_broker_wide_rate(make: Make) -> None:
    world = make(time=MockTime(), max_connection_creation_rate=10)
    for _ in range(100):
        world.inc(REPLICATION)
    assert world.meters[REPLICATION].count == 0


@pytest.mark.ported("ConnectionQuotasTest.testListenerConnectionRateLimitWhenActualRateAboveLimit")
def test_listener_rate_limit(make: Make) -> None:
    world = make(listener_name_admin_max_connection_creation_rate=100)
    for _ in range(105):
        world.inc(ADMIN)
        world.inc(EXTERNAL)
    assert world.meters[ADMIN].count > 0
    assert world.meters[EXTERNAL].count == 0


@pytest.mark.ported("ConnectionQuotasTest.testIpConnectionRateWhenActualRateAboveLimit")
def test_ip_rate_limit_throttles_and_does_not_count(make: Make) -> None:
    time = MockTime()
    world = make(time=time)
    world.quotas.update_ip_connection_rate_quota(ADDRESS[EXTERNAL], 10)
    accepted = 0
    refused: list[ConnectionThrottledException] = []
    for _ in range(40):
        try:
            world.inc(EXTERNAL)
            accepted += 1
        except ConnectionThrottledException as e:
            refused.append(e)
    assert {(e.ip, e.start_throttle_time_ms) for e in refused} == {(ADDRESS[EXTERNAL], time.milliseconds())}
    assert accepted == world.quotas.get(ADDRESS[EXTERNAL])
    assert 10 <= accepted <= 20
    assert all(0 < e.throttle_time_ms <= 1000 for e in refused)
    assert world.value("ip-connection-accept-throttle-time", listener="EXTERNAL") > 0
    # refused connections are taken out of the rates of listener and broker
    rate = world.value("connection-accept-rate", listener="EXTERNAL")
    assert rate == pytest.approx(world.value("broker-connection-accept-rate"))
    assert rate == pytest.approx(accepted)
    world.inc(ADMIN)


@pytest.mark.ported("ConnectionQuotasTest.testIpConnectionRateMetricUpdate")
def test_ip_rate_quotas_are_updated(make: Make) -> None:
    world = make(time=MockTime())
    quotas, known = world.quotas, "192.168.10.0"
    assert quotas.connection_rate_for_ip(known) == UNLIMITED

    def bound(ip: str) -> float:
        name = world.metrics.metric_name("connection-accept-rate", "socket-server-metrics", "", {"ip": ip})
        metric = world.metrics.metric(name)
        assert metric is not None
        quota = metric.config().quota
        assert quota is not None
        return quota.bound()

    quotas.update_ip_connection_rate_quota(None, 500)
    world.inc(EXTERNAL, known)
    assert (quotas.connection_rate_for_ip(known), bound(known)) == (500, 500)
    quotas.update_ip_connection_rate_quota(known, 100)
    assert (quotas.connection_rate_for_ip(known), bound(known)) == (100, 100)
    world.inc(EXTERNAL, "192.168.10.1")
    quotas.update_ip_connection_rate_quota(None, 200)
    assert (bound("192.168.10.1"), bound(known)) == (200, 100)
    quotas.update_ip_connection_rate_quota(known, None)
    assert (quotas.connection_rate_for_ip(known), bound(known)) == (200, 200)
    quotas.update_ip_connection_rate_quota(None, None)
    assert quotas.connection_rate_for_ip(known) == UNLIMITED


@pytest.mark.ported("ConnectionQuotasTest.testMaxBrokerConnectionRateReconfiguration")
def test_broker_rate_is_updated(make: Make) -> None:
    world = make(time=MockTime(), max_connection_creation_rate=10)
    world.quotas.update_broker_max_connection_rate(1000)
    for _ in range(100):
        world.inc(EXTERNAL)
    assert world.meters[EXTERNAL].count == 0


@pytest.mark.ported("ConnectionQuotasTest.testMaxListenerConnectionListenerMustBeAboveZero")
@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
@pytest.mark.parametrize("value", [0, -1])
def test_listener_limits_must_be_positive(make: Make, name: str, value: int) -> None:
    quota = make().quotas.max_connections_per_listener[EXTERNAL]
    quota.validate_reconfiguration({name: "1"})
    with pytest.raises(ConfigException, match=f"Invalid {name} {value}"):
        quota.validate_reconfiguration({name: str(value)})
    assert quota.reconfigurable_configs() == {"max.connections", "max.connection.creation.rate"}
    assert quota.listener_name() == EXTERNAL


def test_count_is_kept_under_many_threads(make: Make) -> None:
    world = make(max_connections=8)
    done = threading.Event()

    def come_and_go() -> None:
        for _ in range(100):
            world.inc(EXTERNAL)
            assert world.quotas._total_count <= 8
            world.dec(EXTERNAL)
        done.set()

    threads = [threading.Thread(target=come_and_go) for _ in range(12)]
    for thread in threads:
        thread.start()
    wait_until(done.is_set)
    for thread in threads:
        thread.join(10)
    assert world.quotas.get(ADDRESS[EXTERNAL]) == 0
    assert repr(world.quotas) == "ConnectionQuotas(total=0/8)"
