"""Meters, histograms and timers count right, cheaply, from several threads."""

from __future__ import annotations

import random
import threading
import timeit
from collections.abc import Callable

import pytest

from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.kafka_timer import KafkaTimer
from kafka_py.metrics.yammer import (
    EWMA,
    Counter,
    ExponentiallyDecayingSample,
    Histogram,
    Meter,
    MetricName,
    Metrics,
    MetricsRegistry,
    Snapshot,
    Timer,
    UniformSample,
)
from kafka_py.network.request_histogram import SkippingSample
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.free_threading import FREE_THREADED
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER, MBeanServer


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


def on_threads(n: int, action: Callable[[], object]) -> None:
    threads = [threading.Thread(target=action) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def repeat(n: int, action: Callable[[], object]) -> None:
    for _ in range(n):
        action()


class TestMeter:
    def test_rates(self, mock_time: MockTime) -> None:
        meter = Meter("requests", mock_time)
        for _ in range(60):
            meter.mark(100)
            mock_time.sleep(1000)
        assert meter.count == 6000
        assert meter.mean_rate == pytest.approx(100)
        assert 60 <= meter.one_minute_rate <= 100.0001
        assert meter.five_minute_rate == pytest.approx(100)
        mock_time.sleep(60_000)
        assert meter.one_minute_rate == pytest.approx(100 / 2.718281828, rel=0.01), "a minute without events"
        assert meter.fifteen_minute_rate > meter.five_minute_rate > meter.one_minute_rate
        assert meter.mean_rate == pytest.approx(50)

    def test_reading_seldom_gives_the_same_as_ticking(self, mock_time: MockTime) -> None:
        ticked, read = Meter(time=mock_time), Meter(time=mock_time)
        for second in range(120):
            for meter in (ticked, read):
                meter.mark(10)
            mock_time.sleep(1000)
            if second % 5 == 4:
                ticked.tick()
        assert read.one_minute_rate == pytest.approx(ticked.one_minute_rate)

    def test_no_mark_is_lost_among_threads(self) -> None:
        meter = Meter()
        on_threads(8, lambda: repeat(1000, meter.mark))
        assert meter.count == 8000

    def test_attributes(self, mock_time: MockTime) -> None:
        meter = Meter("bytes", mock_time)
        meter.mark(5)
        mock_time.sleep(5000)
        assert {name: read() for name, read in meter.attributes().items()} == {
            "EventType": "bytes",
            "RateUnit": "SECONDS",
            "Count": 5,
            "MeanRate": 1.0,
            "OneMinuteRate": 1.0,
            "FiveMinuteRate": 1.0,
            "FifteenMinuteRate": 1.0,
        }

    def test_ewma_of_several_intervals_at_once(self) -> None:
        one_by_one, at_once = EWMA(1), EWMA(1)
        for ewma in (one_by_one, at_once):
            ewma.tick(100)
        for _ in range(3):
            one_by_one.tick(7)
        at_once.tick(7, intervals=3)
        assert at_once.rate() == pytest.approx(one_by_one.rate())


def test_counter() -> None:
    counter = Counter()
    on_threads(4, lambda: repeat(100, lambda: counter.inc(2)))
    counter.dec()
    assert counter.attributes()["Count"]() == counter.count == 799
    counter.clear()
    assert counter.count == 0


class TestHistogram:
    @pytest.mark.parametrize("biased", [True, False])
    def test_statistics(self, biased: bool) -> None:
        histogram = Histogram(biased)
        for value in range(1, 1001):
            histogram.update(value)
        assert (histogram.count, histogram.sum, histogram.min, histogram.max) == (1000, 500_500, 1, 1000)
        assert histogram.mean == 500.5
        assert histogram.std_dev == pytest.approx(288.8194, abs=0.001)
        snapshot = histogram.snapshot()
        assert snapshot.size() == 1000
        assert snapshot.get_value(0.5) == 500.5
        assert snapshot.get_value(0.99) == pytest.approx(990.99)
        histogram.clear()
        assert (histogram.count, histogram.min, histogram.max, histogram.mean, histogram.std_dev) == (0, 0, 0, 0, 0)
        assert histogram.snapshot().get_value(0.5) == 0.0

    def test_no_update_is_lost_among_threads(self) -> None:
        histogram = Histogram()
        on_threads(4, lambda: [(histogram.update(1), histogram.count if i % 100 == 0 else 0) for i in range(1000)])  # type: ignore[func-returns-value]
        assert histogram.count == 4000
        assert histogram.sum == 4000

    def test_biased_reservoir_forgets_old_values(self, mock_time: MockTime) -> None:
        random.seed(1)
        biased, uniform = Histogram(True, mock_time), Histogram(False, mock_time)
        for value in (1000.0, 1.0):
            for _ in range(3000):
                biased.update(value)
                uniform.update(value)
            biased.tick()
            mock_time.sleep(600_000)
        assert biased.snapshot().get_value(0.95) == 1.0
        assert 300 < sum(v == 1000.0 for v in uniform.snapshot().values) < 700
        assert biased.snapshot().size() == uniform.snapshot().size() == 1028

    def test_biased_reservoir_is_rescaled_after_an_hour(self, mock_time: MockTime) -> None:
        sample = ExponentiallyDecayingSample(size=10, time=mock_time)
        sample.update_all([1.0] * 10)
        for _ in range(200):
            mock_time.sleep(3_600_000)
            sample.update_all([2.0] * 10)
        assert sample.snapshot().values == [2.0] * 10
        sample.clear()
        assert sample.snapshot().size() == 0

    @pytest.mark.parametrize("before", [1, 10])
    @pytest.mark.parametrize("kind", [ExponentiallyDecayingSample, SkippingSample])
    def test_biased_reservoir_after_half_a_day_without_values(
        self, mock_time: MockTime, kind: type[ExponentiallyDecayingSample], before: int
    ) -> None:
        sample = kind(size=10, time=mock_time)
        sample.update_all([1.0] * before)
        mock_time.sleep(14 * 3_600_000)  # e to the power of -0.015 for each second of it is 0.0
        for _ in range(3):
            sample.update_all([2.0] * 20)
        assert sample.snapshot().values == [2.0] * 10

    def test_uniform_reservoir(self) -> None:
        sample = UniformSample(size=3)
        sample.update_all([1.0, 2.0, 3.0])
        assert sample.snapshot().values == [1.0, 2.0, 3.0]
        sample.update_all([9.0] * 1000)
        assert sample.snapshot().size() == 3
        sample.clear()
        assert sample.snapshot().size() == 0

    def test_snapshot_between_values(self) -> None:
        snapshot = Snapshot([5, 1, 2, 3, 4])
        assert [snapshot.get_value(q) for q in (0.0, 0.5, 0.75, 1.0)] == [1, 3, 4.5, 5]

    def test_attributes(self) -> None:
        histogram = Histogram()
        histogram.update(3)
        values = {name: read() for name, read in histogram.attributes().items()}
        assert values["Count"] == 1
        assert values["StdDev"] == 0.0
        assert {values[name] for name in values if name not in ("Count", "StdDev")} == {3}
        assert "999thPercentile" in values


@pytest.mark.ported("KafkaTimerTest.testKafkaTimer")
def test_kafka_timer(mock_time: MockTime) -> None:
    timer = Timer(mock_time)
    kafka_timer = KafkaTimer(timer)
    kafka_timer.time(lambda: mock_time.sleep(1000))
    assert timer.count == 1
    assert timer.max == timer.min == timer.mean == 1000
    with pytest.raises(ZeroDivisionError):
        kafka_timer.time(lambda: 1 // 0)
    assert timer.count == 2
    with timer.time():
        mock_time.sleep(4)
    timer.update(7)
    timer.update(-1)
    timer.update_nanos(-1)
    assert timer.count == 4
    timer.tick()
    values = {name: read() for name, read in timer.attributes().items()}
    assert (values["LatencyUnit"], values["EventType"], values["Count"]) == ("MILLISECONDS", "calls", 4)
    assert timer.snapshot().get_value(1.0) == 1000
    assert timer.mean_rate == pytest.approx(4 / 1.004)
    assert timer.std_dev > 0
    assert (timer.one_minute_rate, timer.five_minute_rate, timer.fifteen_minute_rate) == (0, 0, 0)


class ReplicaManager(KafkaMetricsGroup):
    def metric_name(self, name: str, tags: object = None) -> MetricName:
        return self.explicit_metric_name("kafka.server", "ReplicaManager", name, {} if tags is None else tags)  # type: ignore[arg-type]


class TestRegistryAndGroup:
    def test_names(self) -> None:
        group = KafkaMetricsGroup()
        name = group.metric_name("Size", {"topic": "a.b", "empty": "", "partition": "0"})
        assert name.m_bean_name == "kafka.metrics:type=KafkaMetricsGroup,name=Size,topic=a.b,partition=0"
        assert (name.group, name.type, name.name, name.scope) == (
            "kafka.metrics",
            "KafkaMetricsGroup",
            "Size",
            "partition.0.topic.a_b",
        )
        assert group.explicit_metric_name("g", "T", "").m_bean_name == "g:type=T"
        assert str(MetricName("g", "T", "n", "s")) == '"g":type="T",scope="s",name="n"'

    @pytest.mark.ported("MetricsTest.testWindowsStyleTagNames")
    def test_windows_style_tag_names(self) -> None:
        name = KafkaMetricsGroup().metric_name("test-metric", {"dir": "C:\\windows\\path\\kafka-logs"})
        assert name.m_bean_name.endswith(',dir="C:\\\\windows\\\\path\\\\kafka-logs"')

    @pytest.mark.ported("MetricsTest.testMetricsLeak", changes="the group alone")
    def test_metrics_come_and_go(self) -> None:
        before = len(Metrics.default_registry().all_metrics())
        group = ReplicaManager()
        bean = "kafka.server:type=ReplicaManager,name=TestPartitionCount"
        gauge = group.new_gauge("TestPartitionCount", lambda: 3)
        assert gauge.value() == 3
        assert PLATFORM_MBEAN_SERVER.get_attribute(bean, "Value") == 3
        assert group.new_gauge("TestPartitionCount", lambda: 4) is gauge
        meter = group.new_meter("TestMeter", "events", {"topic": "t"})
        assert group.new_meter("TestMeter", "events", {"topic": "t"}) is meter
        with pytest.raises(TypeError, match="is a Meter already"):
            group.new_histogram("TestMeter", tags={"topic": "t"})
        group.new_histogram("TestHistogram").update(1)
        group.new_timer("TestTimer").update(1)
        for name in ("TestPartitionCount", "TestHistogram", "TestTimer", "TestMeter"):
            group.remove_metric(name, {"topic": "t"} if name == "TestMeter" else {})
        group.remove_metric("TestTimer")
        assert len(Metrics.default_registry().all_metrics()) == before
        assert not PLATFORM_MBEAN_SERVER.is_registered(bean)

    def test_registry_ticks_what_it_holds(self, mock_time: MockTime) -> None:
        registry = MetricsRegistry(mock_time, MBeanServer())
        meter = registry.new_meter(MetricName("g", "T", "m"), "events")
        registry.new_gauge(MetricName("g", "T", "g"), lambda: 1)
        registry.new_counter(MetricName("g", "T", "c")).inc()
        meter.mark(10)
        mock_time.sleep(5000)
        registry.tick()
        assert meter._rates[0].rate() == 2.0
        assert [name.name for name, _ in registry] == ["m", "g", "c"]

    def test_a_metric_made_anew_while_the_old_one_is_removed_keeps_its_bean(self) -> None:
        class Server(MBeanServer):
            def unregister(self, name: str) -> bool:
                registry.new_gauge(metric, lambda: 2)  # as another thread might at this moment
                return super().unregister(name)

        metric = MetricName("g", "t", "n")
        registry = MetricsRegistry(server=(server := Server()))
        registry.new_gauge(metric, lambda: 1)
        registry.remove_metric(metric)
        assert (metric in registry.all_metrics()) == server.is_registered(metric.m_bean_name)
        registry.new_gauge(metric, lambda: 3)
        assert server.get_attribute(metric.m_bean_name, "Value") in (2, 3)


@pytest.mark.skipif(FREE_THREADED, reason="the ratio is that of an interpreter that specialises; 3.13t does not")
def test_marks_and_updates_cost_well_under_half_a_microsecond() -> None:
    """Against the cost of a plain method call, so that a slow machine does not matter."""

    class Plain:
        def call(self, n: int = 1) -> None:
            self.n = n

    plain, meter, histogram = Plain(), Meter(), Histogram()
    unit = min(timeit.repeat(plain.call, number=5000, repeat=5))
    assert min(timeit.repeat(meter.mark, number=5000, repeat=5)) < 8 * unit
    assert min(timeit.repeat(lambda: histogram.update(7), number=5000, repeat=5)) < 20 * unit


def test_a_meter_of_nanoseconds_gives_the_share_of_time() -> None:
    """As the idle and blocked percent meters of Kafka use it: 60 ms marked in 120 ms are half of the time."""
    time = MockTime()
    meter = Meter("percent", time, "NANOSECONDS")
    time.sleep(120)
    meter.mark(60_000_000)
    assert meter.mean_rate == pytest.approx(0.5)
