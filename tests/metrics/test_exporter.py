"""The HTTP endpoint names series as jmx_exporter does."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator, Mapping

import pytest

from kafka_py.metrics import exporter as exporter_module
from kafka_py.metrics.exporter import MBeanCollector, MetricsExporter, Page
from kafka_py.metrics.jmx_rules import RuleBook, Series
from kafka_py.metrics.yammer import MetricName, MetricsRegistry
from kafka_py.utils.mbeans import MBeanServer


@pytest.mark.parametrize(
    ("bean", "attribute", "name", "labels"),
    [
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
            "Count",
            "kafka_server_brokertopicmetrics_bytesin_total",
            {},
        ),
        (
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t",
            "Count",
            "kafka_server_brokertopicmetrics_bytesin_total",
            {"topic": "t"},
        ),
        (
            "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=Produce,error=NONE",
            "Count",
            "kafka_network_requestmetrics_errors_total",
            {"request": "Produce", "error": "NONE"},
        ),
        (
            "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce",
            "99thPercentile",
            "kafka_network_requestmetrics_totaltimems",
            {"request": "Produce", "quantile": "0.99"},
        ),
        (
            "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce",
            "Count",
            "kafka_network_requestmetrics_totaltimems_count",
            {"request": "Produce"},
        ),
        (
            "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
            "MeanRate",
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
            {},
        ),
        (
            "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
            "Value",
            "kafka_server_replicamanager_underreplicatedpartitions",
            {},
        ),
        (
            "kafka.log:type=Log,name=Size,topic=t,partition=0",
            "Value",
            "kafka_log_log_size",
            {"topic": "t", "partition": "0"},
        ),
        (
            "kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups",
            "Value",
            "kafka_coordinator_group_groupmetadatamanager_numgroups",
            {},
        ),
        (
            "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=c,topic=t,partition=1",
            "Value",
            "kafka_server_fetcherlagmetrics_consumerlag",
            {"clientId": "c", "topic": "t", "partition": "1"},
        ),
        (
            "kafka.server:type=Fetch,user=u,client-id=c",
            "byte-rate",
            "kafka_server_quota_byte_rate",
            {"resource": "Fetch", "user": "u", "clientId": "c"},
        ),
        (
            "kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor=1",
            "connection-count",
            "kafka_server_socket_server_metrics_connection_count",
            {"listener": "PLAINTEXT", "networkProcessor": "1"},
        ),
        (
            'kafka.log:type=LogManager,name=Size,dir="/tmp/a\\*b"',
            "Value",
            "kafka_log_logmanager_size",
            {"dir": "/tmp/a*b"},
        ),
    ],
)
def test_names(bean: str, attribute: str, name: str, labels: dict[str, str]) -> None:
    series = RuleBook().series(bean, attribute)
    assert series is not None
    assert (series.name, dict(series.labels)) == (name, labels)


def test_attributes_no_rule_wants() -> None:
    book = RuleBook()
    assert book.series("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec", "FiveMinuteRate") is None
    assert book.series("java.lang:type=Memory", "Value") is None
    assert book.series("kafka.server:type=A,name=B", "Value") == Series("kafka_server_a_b", "gauge", ())
    assert len(book) == 3
    book.forget()
    assert len(book) == 0


@pytest.fixture
def server() -> MBeanServer:
    server = MBeanServer()
    registry = MetricsRegistry(server=server)

    def name(type_: str, name: str, tags: str = "") -> MetricName:
        return MetricName("kafka.server", type_, name, None, f"kafka.server:type={type_},name={name}{tags}")

    registry.new_meter(name("BrokerTopicMetrics", "BytesInPerSec"), "bytes").mark(5)
    registry.new_histogram(name("X", "Time", ",request=Fetch")).update(3)
    registry.new_gauge(name("KafkaServer", "ClusterId"), lambda: "abc")
    registry.new_gauge(name("KafkaServer", "Broken"), lambda: 1 // 0)
    registry.new_gauge(name("KafkaServer", "Endless"), lambda: float("inf"))
    return server


def test_collector_skips_what_is_no_number(server: MBeanServer) -> None:
    samples = {
        sample.name: sample.value
        for family in MBeanCollector(server).collect()
        for sample in family.samples
        if sample.labels.get("quantile") in (None, "0.99")
    }
    assert samples == {
        "kafka_server_brokertopicmetrics_bytesin_total": 5.0,
        "kafka_server_x_time": 3.0,
        "kafka_server_x_time_count": 1.0,
        "kafka_server_kafkaserver_endless": float("inf"),
    }


Get = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def exporter(server: MBeanServer) -> Iterator[MetricsExporter]:
    exporter = MetricsExporter("127.0.0.1:0", server)
    exporter.startup()
    yield exporter
    exporter.shutdown()


@pytest.fixture
def get(exporter: MetricsExporter) -> Get:
    def request(path: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.getheader("Content-Type") or "", response.read().decode()
        finally:
            connection.close()

    return request


def test_metrics_page(get: Get) -> None:
    status, content_type, body = get("/metrics")
    assert status == 200
    assert content_type.startswith("text/plain")
    assert "# TYPE kafka_server_brokertopicmetrics_bytesin_total counter\n" in body
    assert "\nkafka_server_brokertopicmetrics_bytesin_total 5.0\n" in body
    assert 'kafka_server_x_time{quantile="0.99",request="Fetch"} 3.0\n' in body
    assert "process_resident_memory_bytes" in body


def test_jmx_page(get: Get) -> None:
    beans = {bean.pop("name"): bean for bean in json.loads(get("/jmx")[2])["beans"]}
    assert beans["kafka.server:type=KafkaServer,name=ClusterId"] == {"Value": "abc"}
    assert beans["kafka.server:type=KafkaServer,name=Endless"] == {"Value": "Infinity"}
    assert beans["kafka.server:type=KafkaServer,name=Broken"]["Value"].startswith("ZeroDivisionError")
    assert beans["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]["Count"] == 5
    some = json.loads(get("/jmx?qry=kafka.server:type=X,*")[2])["beans"]
    assert [bean["name"] for bean in some] == ["kafka.server:type=X,name=Time,request=Fetch"]
    one = json.loads(get("/jmx?get=kafka.server:type=KafkaServer,name=ClusterId::Value")[2])["beans"]
    assert one == [{"name": "kafka.server:type=KafkaServer,name=ClusterId", "Value": "abc"}]


def test_other_pages(get: Get, exporter: MetricsExporter) -> None:
    assert get("/nothing")[0] == 404
    exporter.add_page("/hello", lambda query: Page(200, "text/plain", query["name"].encode()))
    assert get("/hello?name=you")[2] == "you"
    assert '<a href="/hello">' in get("/")[2]


@pytest.mark.parametrize("error", [ZeroDivisionError("a page's own"), BrokenPipeError("the client left")])
def test_what_goes_wrong_with_a_page_is_logged_unless_the_client_left(
    get: Get,
    exporter: MetricsExporter,
    error: Exception,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail(query: Mapping[str, str]) -> Page:
        raise error

    exporter.add_page("/fails", fail)
    with caplog.at_level("INFO"), pytest.raises(http.client.RemoteDisconnected):
        get("/fails")
    assert get("/")[0] == 200
    assert ("a page's own" in caplog.text) == isinstance(error, ZeroDivisionError)
    assert "the client left" not in caplog.text
    assert capfd.readouterr().err == ""


def test_a_client_that_says_nothing_is_let_go(exporter: MetricsExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = exporter_module._Handler
    assert handler.timeout is not None
    monkeypatch.setattr(handler, "timeout", 0.01)
    with socket.create_connection(("127.0.0.1", exporter.port), timeout=5) as silent:
        assert silent.recv(1) == b""


def test_a_taken_port_is_stepped_over(server: MBeanServer, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        exporter = MetricsExporter(f"127.0.0.1:{port}", server)
        exporter.startup()
        try:
            assert port < exporter.port < port + 16
            assert "trying the next port" in caplog.text
        finally:
            exporter.shutdown()
    assert exporter.port == 0
