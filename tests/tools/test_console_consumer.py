"""The command line of kafka-console-consumer, and which partitions it reads from where."""

from __future__ import annotations

import io
import signal
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException

from kafka_py.tools import console_consumer
from kafka_py.tools.console_consumer import ConsoleConsumer, ConsumerConfig, main

Capture = pytest.CaptureFixture[str]
BROKER = ["--bootstrap-server", "h:1", "--max-messages", "0"]


class StubConsumer:
    """A cluster of some topics; a topic that it is asked for comes about at the second time."""

    partitions: dict[str, int]
    error: int

    def __init__(self, props: Mapping[str, Any]) -> None:
        self.assigned: list[tuple[str, int, int]] | None = None
        self.subscribed: list[str] | None = None
        self.polls = 0

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        assert timeout > 0
        if topic is None or topic in self.partitions:
            described = {t: dict.fromkeys(range(n)) for t, n in self.partitions.items() if topic in (None, t)}
            return SimpleNamespace(topics={t: SimpleNamespace(partitions=p, error=None) for t, p in described.items()})
        if self.polls and self.error == KafkaError.LEADER_NOT_AVAILABLE:
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None}, error=None)})
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={}, error=KafkaError(self.error))})

    def assign(self, partitions: list[Any]) -> None:
        self.assigned = [(tp.topic, tp.partition, tp.offset) for tp in partitions]

    def subscribe(self, topics: list[str]) -> None:
        self.subscribed = topics

    def poll(self, timeout: float) -> None:
        self.polls += 1
        if self.polls == 3:
            signal.raise_signal(signal.SIGTERM)

    def close(self) -> None:
        self.polls = -1


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        StubConsumer, "partitions", {"b1": 1, "a1": 2, "xa1": 1, "__consumer_offsets": 1}, raising=False
    )
    monkeypatch.setattr(StubConsumer, "error", KafkaError.LEADER_NOT_AVAILABLE, raising=False)
    monkeypatch.setattr(console_consumer, "Consumer", StubConsumer)


def consume(*args: str) -> StubConsumer:
    consumer = ConsoleConsumer(ConsumerConfig([*BROKER, *args]))
    consumer.run(io.BytesIO())
    return cast("StubConsumer", consumer._consumer)


@pytest.mark.parametrize(
    ("args", "offset"),
    [
        ([], OFFSET_END),
        (["--from-beginning"], OFFSET_BEGINNING),
        (["--consumer-property", "auto.offset.reset=earliest"], OFFSET_BEGINNING),
        (["--consumer-property", "auto.offset.reset=latest"], OFFSET_END),
    ],
)
def test_where_a_topic_is_read_from(args: list[str], offset: int) -> None:
    assert consume("--topic", "a1", *args).assigned == [("a1", 0, offset), ("a1", 1, offset)]


def test_a_partition_is_read_from_its_end_unless_options_say_otherwise() -> None:
    partition = ["--topic", "a1", "--partition", "1"]
    assert consume(*partition, "--consumer-property", "auto.offset.reset=earliest").assigned == [("a1", 1, OFFSET_END)]
    assert consume(*partition, "--from-beginning").assigned == [("a1", 1, OFFSET_BEGINNING)]
    assert consume(*partition, "--offset", "5").assigned == [("a1", 1, 5)]
    assert consume(*partition, "--offset", "Earliest").assigned == [("a1", 1, OFFSET_BEGINNING)]


def test_a_whitelist_without_a_group_needs_no_coordinator() -> None:
    stub = consume("--whitelist", "a1|b.*|__.*", "--from-beginning")
    assert stub.subscribed is None
    assert stub.assigned == [("a1", 0, OFFSET_BEGINNING), ("a1", 1, OFFSET_BEGINNING), ("b1", 0, OFFSET_BEGINNING)]


def test_with_a_group_the_coordinator_assigns() -> None:
    assert consume("--whitelist", "a|b", "--group", "g").subscribed == ["^(a|b)$"]
    assert consume("--topic", "a1", "--consumer-property", "group.id=g").subscribed == ["a1"]


def test_a_topic_that_is_not_there_is_made_unless_properties_say_otherwise() -> None:
    name = "allow.auto.create.topics"
    assert ConsumerConfig([*BROKER, "--topic", "t"]).props[name] is True
    assert ConsumerConfig([*BROKER, "--topic", "t", "--consumer-property", f"{name}=false"]).props[name] == "false"


def test_a_topic_that_is_being_made_is_waited_for() -> None:
    assert consume("--topic", "new").assigned == [("new", 0, OFFSET_END)]


def test_a_topic_that_cannot_be_is_reported_at_once(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(StubConsumer, "error", KafkaError.TOPIC_EXCEPTION)
    with pytest.raises(KafkaException):
        consume("--topic", "bad topic")
    assert "Processed a total of 0 messages" in capsys.readouterr().err


def test_the_count_is_told_when_the_tool_is_terminated(capsys: Capture) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as exit_:
            main(["--bootstrap-server", "h:1", "--topic", "a1"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert exit_.value.code == 128 + signal.SIGTERM
    assert "Processed a total of 0 messages" in capsys.readouterr().err


def test_from_beginning_and_another_reset_do_not_go_together(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        consume("--topic", "a1", "--from-beginning", "--consumer-property", "auto.offset.reset=latest")
    assert "Can't simultaneously specify --from-beginning" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [["--csv-reporter-enabled"], ["--csv-reporter-enabled", "--metrics-dir", "d"], ["--delete-consumer-offsets"]],
)
def test_options_of_the_old_consumer_are_taken_and_do_nothing(options: list[str], capsys: Capture) -> None:
    config = ConsumerConfig([*BROKER, "--topic", "a1", *options])
    assert config.topic == "a1"
    named = [option.removeprefix("--") for option in options if option.startswith("--")]
    assert capsys.readouterr().err == "".join(f"Option {name} has no effect here and is ignored.\n" for name in named)
