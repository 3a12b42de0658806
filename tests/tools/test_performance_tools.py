"""kafka-producer-perf-test and kafka-consumer-perf-test print how fast they were, in Kafka's lines."""

from __future__ import annotations

import io
import itertools
import pathlib
import re
from contextlib import redirect_stdout
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.testing.mock_time import MockTime
from kafka_py.tools import consumer_performance, producer_performance
from kafka_py.tools.consumer_performance import (
    ConsumerPerfConfig,
    ConsumerPerformance,
    Progress,
    print_consumer_progress,
    print_header,
)
from kafka_py.tools.perf_config import SimpleDateFormat, four_digits, ratio
from kafka_py.tools.producer_performance import ProducerPerformance, Stats, payloads_of, producer_properties
from kafka_py.tools.tools_utils import ClientMetrics
from tests.tools.fake_clients import FakeConsumer, FakeMessage, FakeProducer

Capture = pytest.CaptureFixture[str]
LINE = ["--topic", "t", "--num-records", "10", "--throughput", "-1", "--producer-props", "bootstrap.servers=b:1"]
SIZED = [*LINE, "--record-size", "5"]


def options_of(*args: str) -> Any:
    return producer_performance.arg_parser().parse([*SIZED, *args])


# -- the producer


def test_lines_and_percentiles(capsys: Capture) -> None:
    """1000 records of 1 KiB, one each 10 ms, which take 1 to 1000 ms."""
    time = MockTime()
    stats = Stats(1000, 5000, time)
    for latency in range(1, 1001):
        time.sleep(10)
        stats.record(latency, 1024, time.milliseconds())
    stats.print_total()
    assert capsys.readouterr().out.splitlines() == [
        "500 records sent, 100.0 records/sec (0.10 MB/sec), 250.5 ms avg latency, 500.0 max latency.",
        "500 records sent, 100.0 records/sec (0.10 MB/sec), 750.5 ms avg latency, 1000.0 max latency.",
        "1000 records sent, 100.000000 records/sec (0.10 MB/sec), 500.50 ms avg latency, 1000.00 ms max latency, "
        "501 ms 50th, 951 ms 95th, 991 ms 99th, 1000 ms 99.9th.",
    ]


def test_many_records_are_sampled() -> None:
    stats = Stats(1_500_000, 5000, MockTime())
    for i in range(9):
        stats.record(i, 1, 0)
    assert stats._latencies == [0, 3, 6]


def test_nothing_was_sent(capsys: Capture) -> None:
    Stats(0, 5000, MockTime()).print_total()
    assert capsys.readouterr().out.startswith("0 records sent, nan records/sec (nan MB/sec), nan ms avg latency")


def test_a_run() -> None:
    fake = FakeProducer(fail=[4], latency_s=0.0123)
    stats = ProducerPerformance(cast("Any", fake), options_of(), MockTime()).run(itertools.repeat(b"payload"))
    assert (stats.count, stats.failures, len(fake.sent)) == (9, 1, 10)
    assert (stats._bytes, stats._max_latency) == (9 * 7, 12)
    assert fake.calls == ["flush"]


def test_a_run_in_transactions() -> None:
    fake, time = FakeProducer(), MockTime(auto_tick_ms=1)
    ProducerPerformance(cast("Any", fake), options_of("--transaction-duration-ms", "4"), time).run(
        itertools.repeat(b"payload")
    )
    assert fake.calls[0] == "init"
    assert fake.calls[1:-1] == ["begin", "commit"] * (len(fake.calls) // 2 - 1)
    assert len(fake.calls) > 4, "there was more than one"
    assert fake.calls[-1] == "flush"


def test_payloads(tmp_path: pathlib.Path, capsys: Capture) -> None:
    one, again = itertools.islice(payloads_of(options_of()), 2)
    assert re.fullmatch(rb"[A-Z]{5}", one)
    assert one == again
    file = tmp_path / "lines"
    file.write_text("a;bc;d;")
    args = [*LINE, "--payload-file", str(file), "--payload-delimiter", ";"]
    lines = payloads_of(producer_performance.arg_parser().parse(args))
    assert set(itertools.islice(lines, 100)) == {b"a", b"bc", b"d"}
    assert capsys.readouterr().out == f"Reading payloads from: {file}\nNumber of messages read: 3\n"
    file.write_text("")
    with pytest.raises(IllegalArgumentException, match="File does not exist or empty file provided"):
        payloads_of(producer_performance.arg_parser().parse(args))


def test_properties_of_a_producer(tmp_path: pathlib.Path) -> None:
    (tmp_path / "p").write_text("acks=0\nlinger.ms=5\n")
    found = producer_properties(
        options_of("--producer-props", "bootstrap.servers=b:1", "acks=all", "--producer.config", str(tmp_path / "p"))
    )
    assert found == {"bootstrap.servers": "b:1", "acks": "all", "linger.ms": "5"}
    in_transactions = producer_properties(options_of("--transaction-duration-ms", "1", "--transactional-id", "x"))
    assert in_transactions["transactional.id"] == "x"
    with pytest.raises(IllegalArgumentException, match="Invalid property: acks"):
        producer_properties(options_of("--producer-props", "acks="))


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ([], 0, "usage: producer-performance"),
        (LINE, 1, "one of the arguments --record-size --payload-file is required"),
        ([*SIZED, "--payload-file", "f"], 1, "not allowed with argument"),
        (SIZED[:-4] + SIZED[-2:], 1, "Either --producer-props or --producer.config must be specified."),
    ],
)
def test_options_that_make_no_sense(args: list[str], code: int, said: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        producer_performance.main(args)
    assert ended.value.code == code
    assert said in "".join(capsys.readouterr())


def test_metrics_of_a_client(capsys: Capture) -> None:
    metrics = ClientMetrics()
    metrics.settings()["stats_cb"]('{"client_id": "c", "type": "producer", "tx": 5, "rate": 0.25, "brokers": {}}')
    metrics.print_metrics()
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Metric Name                           Value",
        "producer-metrics:rate:{client-id=c} : 0.250",
        "producer-metrics:tx:{client-id=c}   : 5",
    ]


# -- the consumer


def config_of(*args: str) -> ConsumerPerfConfig:
    return ConsumerPerfConfig(["--broker-list", "b:1", "--topic", "t", "--messages", "10", *args])


def columns(text: str) -> list[list[str]]:
    return [line.split(", ") for line in text.splitlines()]


@pytest.mark.ported("ConsumerPerformanceTest.testDetailedHeaderMatchBody", changes="there is no old consumer")
def test_the_heading_of_details(capsys: Capture) -> None:
    print_header(show_detailed_stats=True)
    date_format = SimpleDateFormat("yyyy-MM-dd HH:mm:ss:SSS")
    print_consumer_progress(1, Progress(), Progress(1, 1024 * 1024, 2), date_format, 1)
    heading, line = columns(capsys.readouterr().out)
    assert len(heading) == len(line)
    assert line[1:] == ["1", "1.0000", "500.0000", "1", "500.0000", "1", "1", "1000.0000", "1000.0000"]


def run(fake: FakeConsumer, *args: str) -> list[list[str]]:
    time = MockTime()
    fake._on_empty = lambda: time.sleep(100)
    out = io.StringIO()
    with redirect_stdout(out):
        ConsumerPerformance(cast("Any", fake), config_of(*args), time).run()
    return columns(out.getvalue())


def records(count: int) -> list[FakeMessage]:
    return [FakeMessage(b"v" * 100, b"k" * 24) for _ in range(count)]


@pytest.mark.ported("ConsumerPerformanceTest.testNonDetailedHeaderMatchBody", changes="there is no old consumer")
def test_a_run_of_a_consumer() -> None:
    heading, line = run(FakeConsumer(records(4), records(6), records(1)))
    assert len(heading) == len(line)
    assert [line[2], line[4], line[6]] == ["0.0012", "10", "0"]
    assert run(FakeConsumer(records(10)), "--hide-header")[0][4] == "10"


def test_nothing_comes_any_more() -> None:
    *_, warning, line = run(FakeConsumer(records(4)), "--timeout", "250")
    assert ", ".join(warning) == (
        "WARNING: Exiting before consuming the expected number of messages: timeout (250 ms) exceeded. You can use the "
        "--timeout option to increase the timeout."
    )
    assert (line[4], line[7]) == ("4", "300")


def test_progress_is_told() -> None:
    time = MockTime(auto_tick_ms=1000)
    fake = FakeConsumer(records(3), records(3), records(4))
    out = io.StringIO()
    with redirect_stdout(out):
        ConsumerPerformance(
            cast("Any", fake), config_of("--show-detailed-stats", "--reporting-interval", "1500"), time
        ).run()
    heading, *lines = columns(out.getvalue())
    assert heading[:2] == ["time", "threadId"]
    assert [line[4] for line in lines] == ["3", "10"]
    assert [int(line[6]) > 0 for line in lines] == [True, False], "the time of the rebalance counts once"


def test_errors_of_a_consumer() -> None:
    passing = FakeMessage(None, error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert run(FakeConsumer([passing], records(10)))[1][4] == "10"
    with pytest.raises(KafkaException):
        run(FakeConsumer([FakeMessage(None, error=KafkaError(KafkaError._FATAL, "over", fatal=True))]))


def test_settings_of_a_consumer(tmp_path: pathlib.Path) -> None:
    (tmp_path / "c").write_text("fetch.min.bytes=7\n")
    props = config_of("--from-latest", "--group", "g", "--consumer.config", str(tmp_path / "c")).props
    assert props == {
        "bootstrap.servers": "b:1",
        "group.id": "g",
        "fetch.min.bytes": "7",
        "auto.offset.reset": "latest",
        "receive.buffer.bytes": 2 * 1024 * 1024,
        "max.partition.fetch.bytes": 1024 * 1024,
        "check.crcs": False,
    }
    assert config_of("--bootstrap-server", "x:1").props["bootstrap.servers"] == "x:1"
    assert re.fullmatch(r"perf-consumer-\d+", config_of().props["group.id"])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--topic", "t", "--messages", "1"], 'Missing required argument "[broker-list]"'),
        (["--broker-list", "b:1", "--topic", "t"], 'Missing required argument "[messages]"'),
        (["--zookeeper", "z"], "The consumer over ZooKeeper is not supported"),
    ],
)
def test_options_of_a_consumer_that_make_no_sense(args: list[str], said: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        consumer_performance.main(args)
    assert said in capsys.readouterr().err
    with pytest.raises(IllegalArgumentException, match="Reporting interval must be greater than 0"):
        config_of("--reporting-interval", "0")


def test_numbers_as_java_prints_them() -> None:
    values = [ratio(1, 2), ratio(1, 0), ratio(-1, 0), ratio(0, 0)]
    assert [four_digits(value) for value in values] == ["0.5000", "Infinity", "-Infinity", "NaN"]
