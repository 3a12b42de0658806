"""The command line of kafka-console-producer, its reader, and records that the client refuses."""

from __future__ import annotations

import io
import pathlib
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka
import pytest

from kafka_py.tools import console_producer
from kafka_py.tools.console_producer import LineMessageReader, ProducerConfig, get_new_producer_props, main

Capture = pytest.CaptureFixture[str]
REQUIRED = ["--broker-list", "h:1", "--topic", "t"]


class StubProducer:
    """Keeps what is sent; refuses a value of "large" as librdkafka does a record above message.max.bytes."""

    sent: list[tuple[Any, Any, Any]]
    flushed: bool

    def __init__(self, props: Mapping[str, Any]) -> None:
        StubProducer.sent = []
        StubProducer.flushed = False

    def produce(self, topic: str, value: bytes, key: bytes | None, on_delivery: Any) -> None:
        if value == b"large":
            raise confluent_kafka.KafkaException(
                confluent_kafka.KafkaError(confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE)
            )
        self.sent.append((topic, key, value))
        if value == b"end":
            signal.raise_signal(signal.SIGTERM)

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self) -> int:
        StubProducer.flushed = True
        return 0


@pytest.fixture(autouse=True)
def sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def refused(*args: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        ProducerConfig([*REQUIRED, *args])
    assert exit_.value.code == 1


def read(text: bytes, **props: str) -> list[tuple[bytes | None, bytes]]:
    reader = LineMessageReader()
    reader.init(io.BytesIO(text), {"topic": "t", **{name.replace("_", "."): value for name, value in props.items()}})
    return [(record.key, record.value) for record in iter(reader.read_message, None)]


def test_reader() -> None:
    assert read(b"a\tb\r\n\nlast") == [(None, b"a\tb"), (None, b""), (None, b"last")]
    assert read(b"a\tb\tc\n\tx\nd\t", parse_key="True") == [(b"a", b"b\tc"), (b"", b"x"), (b"d", b"")]
    assert read(b"a::b\nc\n", parse_key="true", key_separator="::", ignore_error="true") == [(b"a", b"b"), (None, b"c")]


def test_an_empty_separator_is_found_at_the_start_of_every_line() -> None:
    assert read(b"ab\n\n", parse_key="true", key_separator="") == [(b"", b"ab"), (b"", b"")]


@pytest.mark.parametrize("brokers", ["localhost", "a:1,b", "a:1,,b:2", ",", "a:x"])
def test_brokers_need_ports(brokers: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        ProducerConfig(["--broker-list", brokers, "--topic", "t"])
    assert capsys.readouterr().err.startswith("Please provide valid host:port like host1:9091,host2:9092\n")


def test_only_the_default_reader(capsys: Capture) -> None:
    refused("--line-reader", "foo.Bar")
    assert "There is no line reader but kafka.tools.ConsoleProducer$LineMessageReader." in capsys.readouterr().err
    assert ProducerConfig([*REQUIRED, "--line-reader", "kafka.tools.ConsoleProducer$LineMessageReader"]).topic == "t"


def test_an_option_given_wins_over_properties_and_these_over_its_default(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=0\nlinger.ms=7\nretry.backoff.ms=8\n")
    args = ["--producer.config", str(file), "--producer-property", "linger.ms=9", "--retry-backoff-ms", "10"]
    props = get_new_producer_props(ProducerConfig([*REQUIRED, *args]))
    assert (props["acks"], props["linger.ms"], props["retry.backoff.ms"]) == ("0", "9", 10)
    assert (props["request.timeout.ms"], props["compression.type"]) == (1500, "none")
    assert get_new_producer_props(ProducerConfig([*REQUIRED, "--sync"]))["linger.ms"] == 0


def test_a_record_that_the_client_refuses_does_not_end_the_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(console_producer, "Producer", StubProducer)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nlarge\nb\n")))
    assert main(REQUIRED) == 1
    assert StubProducer.sent == [("t", None, b"a"), ("t", None, b"b")]
    assert (
        "Error when sending message to topic t with key: null, value: 5 bytes with error: " in capsys.readouterr().err
    )


def test_what_was_read_is_sent_when_the_tool_is_terminated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_producer, "Producer", StubProducer)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\nend\nb\n")))
    with pytest.raises(SystemExit) as exit_:
        main(REQUIRED)
    assert exit_.value.code == 128 + signal.SIGTERM
    assert [value for _, _, value in StubProducer.sent] == [b"a", b"end"]
    assert StubProducer.flushed


@pytest.mark.parametrize("args", [["--producer-property", "acks=bar"], ["--producer.config", "/nowhere/at/all"]])
def test_settings_that_cannot_be_are_told_without_a_stack(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main([*REQUIRED, *args]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
