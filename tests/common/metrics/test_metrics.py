"""Sensors, metrics, quotas and reporters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.errors import IllegalStateException, QuotaViolationException
from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.jmx_reporter import JmxReporter
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.metrics.quota import Quota
from kafka_py.common.metrics.recording_level import RecordingLevel
from kafka_py.common.metrics.sensor import Sensor
from kafka_py.common.metrics.stat import Gauge
from kafka_py.common.metrics.stats.avg import Avg
from kafka_py.common.metrics.stats.count import Count
from kafka_py.common.metrics.stats.max import Max
from kafka_py.common.metrics.stats.meter import Meter
from kafka_py.common.metrics.stats.min import Min
from kafka_py.common.metrics.stats.rate import Rate
from kafka_py.common.metrics.stats.simple_rate import SimpleRate
from kafka_py.common.metrics.stats.sum import Sum
from kafka_py.common.metrics.stats.total import Total
from kafka_py.common.metrics.stats.value import Value
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.mbeans import MBeanServer


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def server() -> MBeanServer:
    return MBeanServer()


@pytest.fixture
def metrics(mock_time: MockTime, server: MBeanServer) -> Iterator[Metrics]:
    with Metrics(MetricConfig(), [JmxReporter(server=server)], mock_time) as metrics:
        yield metrics


@pytest.fixture
def value(metrics: Metrics) -> Callable[[str], float]:
    """Reads the metric of that name."""

    def read(name: str) -> float:
        metric = metrics.metric(metrics.metric_name(name, "grp1"))
        assert metric is not None
        return metric.value()

    return read


@pytest.mark.ported("MetricsTest.testMetricName")
def test_metric_name() -> None:
    with Metrics(MetricConfig(tags={"own": "1"})) as metrics:
        name = metrics.metric_name("name", "group", "description", {"key": "value"})
        assert name == MetricName("name", "group", "other", {"key": "value", "own": "1"})
        assert name != MetricName("name", "group", "description", {"key": "value"})
        assert hash(name) == hash(MetricName("name", "group", "", {"own": "1", "key": "value"}))
        assert repr(name) == "MetricName [name=name, group=group, description=description, tags={own=1, key=value}]"


@pytest.mark.ported("MetricsTest.testSimpleStats", changes="no percentiles")
def test_simple_stats(metrics: Metrics, mock_time: MockTime, value: Callable[[str], float]) -> None:
    def name(text: str) -> MetricName:
        return metrics.metric_name(text, "grp1")

    metrics.add_metric(name("direct"), lambda config, now: 0.5)
    sensor = metrics.sensor("test.sensor")
    sensor.add(name("avg"), Avg())
    sensor.add(name("max"), Max())
    sensor.add(name("min"), Min())
    sensor.add(name("sum"), Sum())
    sensor.add(name("count"), Count())
    sensor.add(name("value"), Value())
    sensor.add(Meter(name("rate"), name("total")))
    sensor.add(Meter(name("occurrences"), name("occurrences.total"), Count()))
    for i in range(10):
        sensor.record(i)
    assert value("occurrences") == pytest.approx(10 / 30)
    mock_time.sleep(2000)
    assert value("direct") == 0.5
    assert (value("avg"), value("max"), value("min"), value("sum")) == (4.5, 9, 0, 45)
    assert (value("count"), value("value"), value("total")) == (10, 9, 45)
    assert value("rate") == pytest.approx(45 / 32)
    assert value("occurrences") == pytest.approx(10 / 32)
    assert sensor.has_metrics()


@pytest.mark.ported("MetricsTest.testHierarchicalSensors")
def test_hierarchical_sensors(metrics: Metrics) -> None:
    def sensor(name: str, *parents: Sensor) -> Sensor:
        made = metrics.sensor(name, *parents)
        made.add(metrics.metric_name(name + ".count", "grp1"), Count())
        return made

    parent1, parent2 = sensor("parent1"), sensor("parent2")
    child1, child2 = sensor("child1", parent1, parent2), sensor("child2", parent1)
    grandchild = sensor("grandchild", child1)
    everyone = (parent1, parent2, child1, child2, grandchild)
    for each in everyone:
        each.record()
    assert [each.metrics()[0].value() for each in everyone] == [4, 3, 2, 1, 1]
    assert metrics.children_sensors().get(parent1) == [child1, child2]
    assert metrics.children_sensors().get(parent2) == [child1]
    assert metrics.children_sensors().get(grandchild) is None
    assert metrics.sensor("child1") is child1


@pytest.mark.ported("MetricsTest.testBadSensorHierarchy")
def test_bad_sensor_hierarchy(metrics: Metrics) -> None:
    parent = metrics.sensor("parent")
    child1, child2 = metrics.sensor("child1", parent), metrics.sensor("child2", parent)
    with pytest.raises(ValueError, match="Circular dependency"):
        metrics.sensor("grandchild", child1, child2)


@pytest.mark.ported("MetricsTest.testRemoveSensor")
def test_remove_sensor(metrics: Metrics) -> None:
    size = len(metrics.metrics())
    parent1, parent2 = metrics.sensor("parent1"), metrics.sensor("parent2")
    child = metrics.sensor("child", parent1, parent2)
    for i, each in enumerate((parent1, parent2, child)):
        each.add(metrics.metric_name(f"count{i}", "grp1"), Count())
    metrics.remove_sensor("parent1")
    assert metrics.get_sensor("parent1") is None
    assert metrics.get_sensor("child") is None, "children go with a parent"
    assert metrics.get_sensor("parent2") is parent2
    assert metrics.children_sensors().get(parent1) is None
    metrics.remove_sensor("parent2")
    metrics.remove_sensor("unknown")
    assert len(metrics.metrics()) == size


@pytest.mark.ported("MetricsTest.testRemoveInactiveMetrics")
def test_remove_inactive_metrics(metrics: Metrics, mock_time: MockTime) -> None:
    for name, seconds in (("s1", 1), ("s2", 3)):
        sensor = metrics.sensor(name, inactive_sensor_expiration_time_seconds=seconds)
        sensor.add(metrics.metric_name(name + ".count", "grp1"), Count())
    metrics.expire_sensors()
    assert metrics.get_sensor("s1") is not None
    mock_time.sleep(1001)
    metrics.expire_sensors()
    assert metrics.get_sensor("s1") is None
    assert metrics.metric(metrics.metric_name("s1.count", "grp1")) is None
    second = metrics.get_sensor("s2")
    assert second is not None
    second.record()  # starts its time anew
    mock_time.sleep(2000)
    metrics.expire_sensors()
    assert metrics.get_sensor("s2") is second
    mock_time.sleep(1001)
    metrics.expire_sensors()
    assert metrics.get_sensor("s2") is None


def test_expiration_thread_ends_with_the_registry() -> None:
    metrics = Metrics(enable_expiration=True)
    assert metrics._metrics_scheduler is not None
    metrics.close()
    assert metrics._metrics_scheduler.is_terminated()


@pytest.mark.ported("MetricsTest.testRemoveMetric")
def test_remove_metric(metrics: Metrics) -> None:
    name = metrics.metric_name("test1", "grp1")
    metrics.add_metric(name, Count())
    metric = metrics.metric(name)
    assert metric is not None
    assert metrics.remove_metric(name) is metric
    assert metrics.remove_metric(name) is None


@pytest.mark.ported("MetricsTest.testEventWindowing")
def test_event_windowing(mock_time: MockTime) -> None:
    count = Count()
    config = MetricConfig(event_window=1, samples=2)
    now = mock_time.milliseconds()
    count.record(config, 1.0, now)
    count.record(config, 1.0, now)
    assert count.measure(config, now) == 2.0
    count.record(config, 1.0, now)
    assert count.measure(config, now) == 2.0, "the first window is used again"


@pytest.mark.ported("MetricsTest.testTimeWindowing")
def test_time_windowing(mock_time: MockTime) -> None:
    count = Count()
    config = MetricConfig(time_window_ms=1, samples=2)
    for _ in range(3):
        count.record(config, 1.0, mock_time.milliseconds())
        mock_time.sleep(1)
    mock_time.sleep(-1)
    assert count.measure(config, mock_time.milliseconds()) == 2.0


@pytest.mark.ported("MetricsTest.testOldDataHasNoEffect")
@pytest.mark.ported("MetricsTest.testSampledStatInitialValue")
def test_old_data_has_no_effect(mock_time: MockTime) -> None:
    config = MetricConfig(time_window_ms=100, samples=2)
    stats = (Max(), Min(), Avg(), Count(), Rate.SampledTotal())
    for stat in stats:
        stat.record(config, 50, mock_time.milliseconds())
    mock_time.sleep(200)
    assert [stat.measure(config, mock_time.milliseconds()) for stat in stats] == [
        float("-inf"),
        1.7976931348623157e308,
        0.0,
        0.0,
        0.0,
    ]


@pytest.mark.ported("MetricsTest.testDuplicateMetricName")
def test_duplicate_metric_name(metrics: Metrics) -> None:
    name = metrics.metric_name("test", "grp1")
    metrics.sensor("test").add(name, Avg())
    with pytest.raises(ValueError, match="already exists"):
        metrics.sensor("test2").add(name, Total())
    with pytest.raises(ValueError, match="needs a stat"):
        metrics.sensor("test2").add(metrics.metric_name("x", "grp1"))


@pytest.mark.ported("MetricsTest.testQuotas")
def test_quotas(metrics: Metrics, value: Callable[[str], float]) -> None:
    sensor = metrics.sensor("test")
    upper, lower = MetricConfig(quota=Quota.upper_bound(5.0)), MetricConfig(quota=Quota.lower_bound(0.0))
    sensor.add(metrics.metric_name("total1", "grp1"), Total(), upper)
    sensor.add(metrics.metric_name("total2", "grp1"), Total(), lower)
    sensor.record(5.0)
    with pytest.raises(QuotaViolationException) as caught:
        sensor.record(1.0)
    assert "violated quota. Actual: 6.000000, Threshold: 5.000000" in str(caught.value)
    assert value("total1") == 6.0, "the value counts all the same"
    sensor.record(-6.0)
    with pytest.raises(QuotaViolationException):
        sensor.record(-1.0)
    sensor.record(-1.0, check_quotas=False)
    with pytest.raises(QuotaViolationException):
        sensor.check_quotas()


@pytest.mark.ported("MetricsTest.testQuotasEquality")
def test_quota_equality() -> None:
    assert Quota.upper_bound(10.5) != Quota.lower_bound(10.5)
    assert Quota.lower_bound(10.5) == Quota(10.5, upper=False)
    assert hash(Quota.lower_bound(10.5)) == hash(Quota(10.5, upper=False))
    assert Quota.upper_bound(1).is_upper_bound()
    assert repr(Quota.upper_bound(1.0)) == "upper=1.0"


@pytest.mark.ported("MetricsTest.testRateWindowing")
def test_rate_windowing(metrics: Metrics, mock_time: MockTime, value: Callable[[str], float]) -> None:
    config = MetricConfig(samples=3)
    sensor = metrics.sensor("test.sensor", config=config)
    rate = Rate()
    sensor.add(metrics.metric_name("rate", "grp1"), rate)
    for _ in range(2):
        sensor.record(100)
        mock_time.sleep(config.time_window_ms)
    mock_time.sleep(config.time_window_ms // 2)
    assert rate.window_size(config, mock_time.milliseconds()) == 75_000
    assert value("rate") == pytest.approx(200 / 75)
    assert Rate(unit="MINUTES").unit_name() == "minute"
    with pytest.raises(ValueError, match="Unknown unit"):
        Rate(unit="FORTNIGHTS")


@pytest.mark.ported("MetricsTest.testSimpleRate")
def test_simple_rate(mock_time: MockTime) -> None:
    config = MetricConfig(samples=10, time_window_ms=1000)
    rate = SimpleRate()

    def measured() -> float:
        return rate.measure(config, mock_time.milliseconds())

    rate.record(config, 5, mock_time.milliseconds())
    assert measured() == 5.0
    mock_time.sleep(100)
    rate.record(config, 5, mock_time.milliseconds())
    assert measured() == 10.0, "less than a window counts as one"
    mock_time.sleep(1400)
    assert measured() == pytest.approx(10 / 1.5)


@pytest.mark.ported("SensorTest.testRecordLevelEnum")
@pytest.mark.ported("SensorTest.testShouldRecord")
def test_recording_levels(metrics: Metrics) -> None:
    info, debug = RecordingLevel.INFO, RecordingLevel.DEBUG
    assert [level.should_record(config.id) for level in (info, debug) for config in (info, debug)] == [
        True,
        True,
        False,
        True,
    ]
    assert RecordingLevel.for_id(1) is RecordingLevel.for_name("debug") is debug
    with pytest.raises(ValueError, match="Unexpected RecordLevel"):
        RecordingLevel.for_id(2)
    with pytest.raises(ValueError, match="No RecordingLevel"):
        RecordingLevel.for_name("loud")
    sensor = metrics.sensor("quiet", recording_level=debug)
    sensor.add(metrics.metric_name("count", "grp1"), Count())
    sensor.record()
    assert sensor.metrics()[0].value() == 0.0


def test_gauges_and_measurables(metrics: Metrics) -> None:
    class Name(Gauge):
        def value(self, config: MetricConfig, now: int) -> str:
            return "text"

    metrics.add_metric(metrics.metric_name("gauge", "grp1"), Name())
    metric = metrics.metric(metrics.metric_name("gauge", "grp1"))
    assert metric is not None
    assert metric.metric_value() == "text"
    assert (metric.value(), metric.measurable_value(0)) == (0.0, 0.0)
    with pytest.raises(IllegalStateException):
        metric.measurable()
    config = MetricConfig(quota=Quota.upper_bound(1))
    assert metric.config(config) is config


@pytest.mark.ported("JmxReporterTest.testJmxRegistration")
@pytest.mark.ported("JmxReporterTest.testJmxRegistrationSanitization")
def test_jmx_reporter(metrics: Metrics, server: MBeanServer) -> None:
    sensor = metrics.sensor("kafka.requests")
    sensor.add(metrics.metric_name("pack.bean1.avg", "grp1"), Avg())
    sensor.add(metrics.metric_name("pack.bean2.total", "grp2", "", {"tag": "foo*", "none": ""}), Total())
    sensor.record(4)
    assert server.get_attribute(":type=grp1", "pack.bean1.avg") == 4.0
    assert server.get_attribute(':type=grp2,tag="foo\\*"', "pack.bean2.total") == 4.0
    late = JmxReporter("kafka.server", server)
    metrics.add_reporter(late)
    assert late.contains_mbean("kafka.server:type=grp1")
    metrics.remove_sensor("kafka.requests")
    assert not server.is_registered(":type=grp1")
    metrics.remove_reporter(late)
    assert metrics.reporters() != []
    assert not server.is_registered("kafka.server:type=kafka-metrics-count")


@pytest.mark.parametrize("samples", [0, -1])
def test_at_least_one_sample(samples: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        MetricConfig(samples=samples)
    with pytest.raises(ValueError, match="at least 1"):
        MetricConfig(samples=samples)
