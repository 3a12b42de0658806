"""kafka-verifiable-producer and -consumer tell in lines of JSON what happens to them."""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_py.testing.mock_time import MockTime
from kafka_py.tools import verifiable_consumer, verifiable_producer
from kafka_py.tools.throughput_throttler import ThroughputThrottler
from kafka_py.tools.verifiable_consumer import VerifiableConsumer
from kafka_py.tools.verifiable_producer import VerifiableProducer
from tests.tools.fake_clients import FakeConsumer, FakeMessage, FakeProducer

Capture = pytest.CaptureFixture[str]
PRODUCER_LINE = ["--topic", "t", "--bootstrap-server", "127.0.0.1:1"]
CONSUMER_LINE = [*PRODUCER_LINE, "--group-id", "g"]


def events(out: io.StringIO) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert all(list(event)[:2] == ["timestamp", "name"] for event in found)
    for event in found:
        del event["timestamp"]
    return found


# -- the producer


def produced(fake: FakeProducer, count: int, **options: Any) -> list[dict[str, Any]]:
    out, time = io.StringIO(), MockTime()
    producer = VerifiableProducer(cast("Any", fake), "t", out=out, time=time, **options)
    producer.run(ThroughputThrottler(-1, time.milliseconds(), time), count)
    producer.close(-1)
    return events(out)


def test_what_a_producer_tells() -> None:
    first, *sends, shutdown, summary = produced(FakeProducer(fail=[1]), 3)
    assert (first, shutdown) == ({"name": "startup_complete"}, {"name": "shutdown_complete"})
    sent = {"key": None, "topic": "t"}
    assert sends == [
        {"name": "producer_send_success", **sent, "value": "0", "partition": 0, "offset": 0},
        {"name": "producer_send_error", **sent, "value": "1",
         "exception": "class org.apache.kafka.common.errors.TimeoutException", "message": "Local: Message timed out"},
        {"name": "producer_send_success", **sent, "value": "2", "partition": 0, "offset": 2},
    ]  # fmt: skip
    assert summary == {"name": "tool_data", "sent": 3, "acked": 2, "target_throughput": -1, "avg_throughput": 0.0}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "org.apache.kafka.common.errors.TopicAuthorizationException"),
        (KafkaError._TIMED_OUT, "org.apache.kafka.common.errors.TimeoutException"),
        (KafkaError._TRANSPORT, "org.apache.kafka.common.KafkaException"),
    ],
)
def test_errors_have_the_names_of_java(code: int, name: str) -> None:
    assert verifiable_producer.exception_name(KafkaError(code)) == name


def test_more_than_the_queue_holds_is_sent() -> None:
    told = produced(FakeProducer(), 10)
    assert [event["value"] for event in told if "value" in event] == [str(i) for i in range(10)]


def test_keys_prefixes_and_times() -> None:
    fake = FakeProducer()
    produced(fake, 5, value_prefix=7, repeating_keys=2, create_time=1000)
    assert [sent[:2] for sent in fake.sent] == [("0", "7.0"), ("1", "7.1"), ("0", "7.2"), ("1", "7.3"), ("0", "7.4")]
    assert [sent[2] for sent in fake.sent] == [1000] * 5


def test_a_producer_that_is_told_to_stop() -> None:
    fake = FakeProducer()
    producer = VerifiableProducer(cast("Any", fake), "t", out=io.StringIO(), time=MockTime())
    throttler = ThroughputThrottler(-1, 0)
    producer.stop_producing = True
    producer.run(throttler)
    assert fake.sent == []


def test_throttling() -> None:
    time = MockTime()
    began = time.milliseconds()
    throttler = ThroughputThrottler(100, began, time)
    for i in range(1000):
        now = time.milliseconds()
        if throttler.should_throttle(i, now):
            throttler.throttle()
        time.sleep(1)
    assert 9_000 < time.milliseconds() - began < 11_000
    assert not ThroughputThrottler(-1, 0, time).should_throttle(1 << 40, 1)
    stopped = ThroughputThrottler(0, began, time)
    assert stopped.should_throttle(1, began + 1)
    stopped.wakeup()
    stopped.throttle()


# -- the consumer


def consumed(fake: FakeConsumer, max_messages: int = -1, **options: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    consumer = VerifiableConsumer(cast("Any", fake), "t", max_messages, out=out, time=MockTime(), **options)
    fake._on_empty = consumer.close
    consumer.run()
    assert fake.closed
    return events(out)


PARTITIONS = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
BEGIN = [{"name": "startup_complete"}, {"name": "partitions_assigned", "partitions": PARTITIONS}]
END = [{"name": "partitions_revoked", "partitions": PARTITIONS}, {"name": "shutdown_complete"}]


def batch(*offsets: int, partition: int = 0) -> list[FakeMessage]:
    return [FakeMessage(b"v%d" % offset, None, offset, partition) for offset in offsets]


def test_what_a_consumer_tells() -> None:
    fake = FakeConsumer([*batch(3, 4), *batch(8, partition=1)], batch(5))
    told = consumed(fake)
    assert told[:2] + told[-2:] == BEGIN + END
    assert told[2:-2] == [
        {"name": "records_consumed", "count": 3, "partitions": [
            {"topic": "t", "partition": 0, "count": 2, "minOffset": 3, "maxOffset": 4},
            {"topic": "t", "partition": 1, "count": 1, "minOffset": 8, "maxOffset": 8}]},
        {"name": "offsets_committed", "offsets": [
            {"topic": "t", "partition": 0, "offset": 5}, {"topic": "t", "partition": 1, "offset": 9}],
         "success": True},
        {"name": "records_consumed", "count": 1, "partitions": [
            {"topic": "t", "partition": 0, "count": 1, "minOffset": 5, "maxOffset": 5}]},
        {"name": "offsets_committed", "offsets": [{"topic": "t", "partition": 0, "offset": 6}], "success": True},
    ]  # fmt: skip


def test_no_more_than_asked_for_is_committed() -> None:
    fake = FakeConsumer(batch(0, 1, 2), batch(3))
    told = consumed(fake, 2, verbose=True)
    assert [event for event in told if event["name"] == "record_data"] == [
        {"name": "record_data", "key": None, "value": f"v{i}", "topic": "t", "partition": 0, "offset": i}
        for i in range(2)
    ]
    assert [[tp.offset for tp in offsets] for offsets in fake.committed] == [[2]]
    assert fake.batches, "the rest was not even asked for"


def test_the_client_may_commit_by_itself() -> None:
    fake = FakeConsumer(batch(0))
    assert not [event for event in consumed(fake, use_auto_commit=True) if event["name"] == "offsets_committed"]
    assert fake.committed == []


def test_a_commit_that_fails() -> None:
    fake = FakeConsumer(batch(0), batch(1))
    fake.commit_error = KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))
    told = [event for event in consumed(fake) if event["name"] == "offsets_committed"]
    assert [(event["success"], event["error"]) for event in told] == [
        (False, "Broker: Group rebalance in progress")
    ] * 2


def test_what_ends_a_consumer(caplog: pytest.LogCaptureFixture) -> None:
    fenced = FakeConsumer(batch(0), batch(1))
    fenced.commit_error = KafkaException(KafkaError(KafkaError.FENCED_INSTANCE_ID))
    told = consumed(fenced)
    assert [event["name"] for event in told][-3:] == ["records_consumed", "partitions_revoked", "shutdown_complete"]
    fatal = FakeConsumer([FakeMessage(None, error=KafkaError(KafkaError._FATAL, "over", fatal=True))], batch(1))
    assert consumed(fatal) == BEGIN + END
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_an_error_that_may_pass_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    passing = FakeMessage(None, error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    told = consumed(FakeConsumer([passing], batch(0)))
    assert [event["name"] for event in told][2:-2] == ["records_consumed", "offsets_committed"]
    assert "Unknown topic or partition" in caplog.text


# -- command lines


def test_settings_of_the_command_lines(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []

    def connect(client: object, settings: dict[str, Any]) -> Any:
        given.append(settings)

    monkeypatch.setattr(verifiable_producer, "connected", connect)
    monkeypatch.setattr(verifiable_consumer, "connected", connect)
    (tmp_path / "p").write_text("acks=0\nretries=5\n")
    (tmp_path / "c").write_text("group.id=other\nfetch.min.bytes=5\n")
    options = verifiable_producer.arg_parser().parse([*PRODUCER_LINE, "--acks", "1"])
    VerifiableProducer.create_from_args(options)
    file = ["--producer.config", str(tmp_path / "p"), "--message-create-time", "5"]
    VerifiableProducer.create_from_args(verifiable_producer.arg_parser().parse([*PRODUCER_LINE, *file]))
    rest = ["--group-instance-id", "i", "--enable-autocommit", "--consumer.config", str(tmp_path / "c")]
    VerifiableConsumer.create_from_args(verifiable_consumer.arg_parser().parse([*CONSUMER_LINE, *rest]))
    assert [(props["acks"], props["retries"]) for props in given[:2]] == [(1, 0), ("0", "5")]
    assert given[2] == {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "g",
        "group.instance.id": "i",
        "fetch.min.bytes": "5",
        "enable.auto.commit": True,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 30000,
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    }


@pytest.mark.parametrize("tool", [verifiable_producer, verifiable_consumer])
def test_options_that_make_no_sense(tool: Any, capsys: Capture) -> None:
    for args, code, said in (
        ([], 0, "usage: verifiable-"),
        (
            ["--topic", "t", *CONSUMER_LINE[4:] * (tool is verifiable_consumer)],
            1,
            "error: one of the arguments --bootstrap-server --broker-list is required",
        ),
        ([*CONSUMER_LINE, "--broker-list", "b:1"], 1, "not allowed with argument"),
        ([*CONSUMER_LINE, "--max-messages", "x"], 1, "invalid int value: 'x'"),
        (["--nonsense"], 1, "error:"),
    ):
        with pytest.raises(SystemExit) as ended:
            tool.main(args)
        assert ended.value.code == code
        assert said in "".join(capsys.readouterr())


def test_settings_that_make_no_sense(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        verifiable_consumer.main([*CONSUMER_LINE, "--reset-policy", "odd"])
    assert ended.value.code == 1
    assert 'Invalid value "odd" for configuration property "auto.offset.reset"' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        verifiable_producer.main([*PRODUCER_LINE, "--producer.config", "/nowhere"])
    assert "No such file or directory" in capsys.readouterr().err
