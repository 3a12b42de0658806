"""The command line of kafka-console-consumer, and which partitions it reads from where."""

from __future__ import annotations

import io
import os
import pathlib
import signal
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TIMESTAMP_CREATE_TIME, KafkaError, KafkaException

from kafka_py.common.errors import KafkaException as KafkaException_
from kafka_py.tools import console_consumer
from kafka_py.tools.console_consumer import ConsoleConsumer, ConsumerConfig, main
from kafka_py.tools.message_formatters import DefaultMessageFormatter

Capture = pytest.CaptureFixture[str]
BROKER = ["--bootstrap-server", "h:1", "--max-messages", "0"]


class StubConsumer:
    """A cluster of some topics; a topic that it is asked for comes about at the second time."""

    partitions: dict[str, int]
    error: int

    def __init__(self, props: Mapping[str, Any]) -> None:
        self.assigned: list[tuple[str, int, int]] | None = None
        self.props = props
        self.subscribed: list[str] | None = None
        self.on_assign: Any = None
        self.messages: list[Any] = []
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

    def subscribe(self, topics: list[str], on_assign: Any = None) -> None:
        self.subscribed = topics
        self.on_assign = on_assign

    def poll(self, timeout: float) -> Any:
        if self.messages:
            return self.messages.pop(0)
        self.polls += 1
        if self.polls == 3:
            signal.raise_signal(signal.SIGTERM)
        return None

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


def test_a_whitelist_is_subscribed_to_so_that_topics_to_come_are_read_too() -> None:
    stub = consume("--whitelist", "a1|b.*", "--from-beginning")
    assert stub.assigned is None
    assert stub.subscribed == ["^(a1|b.*)$"]
    assert stub.props["enable.auto.commit"] is False, "nobody could find the offsets of a group without a name"
    assert stub.props["topic.blacklist"] == "^__consumer_offsets$,^__transaction_state$"


def test_a_whitelist_may_be_meant_for_internal_topics() -> None:
    stub = consume("--whitelist", "__.*", "--consumer-property", "exclude.internal.topics=false")
    assert "topic.blacklist" not in stub.props
    assert "exclude.internal.topics" not in stub.props, "librdkafka does not know it"


def test_with_a_group_the_coordinator_assigns() -> None:
    assert consume("--whitelist", "a|b", "--group", "g").subscribed == ["^(a|b)$"]
    stub = consume("--topic", "a1", "--consumer-property", "group.id=g")
    assert (stub.subscribed, stub.props["enable.auto.commit"], stub.props["group.id"]) == (["a1"], True, "g")


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


class Record:
    """A message of librdkafka's."""

    def __init__(self, value: bytes | None, key: bytes | None = None, error: KafkaError | None = None) -> None:
        self._value, self._key, self._error = value, key, error

    def topic(self) -> str:
        return "a1"

    def partition(self) -> int:
        return 1

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_CREATE_TIME, 99

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def error(self) -> KafkaError | None:
        return self._error


def printed(*args: str, records: list[Record]) -> tuple[bytes, ConsoleConsumer]:
    config = ConsumerConfig(["--bootstrap-server", "h:1", "--topic", "a1", "--timeout-ms", "1", *args])
    consumer = ConsoleConsumer(config)
    cast("StubConsumer", consumer._consumer).messages = cast("list[Any]", records)
    output = io.BytesIO()
    consumer.run(output)
    return output.getvalue(), consumer


@pytest.mark.ported("ConsoleConsumerTest.shouldLimitReadsToMaxMessageLimit")
def test_as_many_as_asked_for(capsys: Capture) -> None:
    output, consumer = printed("--max-messages", "2", records=[Record(b"%d" % i) for i in range(5)])
    assert output == b"0\n1\n"
    assert len(cast("StubConsumer", consumer._consumer).messages) == 3, "nothing was taken that is not printed"
    assert capsys.readouterr().err == "Processed a total of 2 messages\n"


@pytest.mark.ported("ConsoleConsumerTest.shouldStopWhenOutputCheckErrorFails")
def test_nobody_listens_any_more(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return -1

    monkeypatch.setattr(os, "dup2", lambda *_: None)
    consumer = ConsoleConsumer(ConsumerConfig(["--bootstrap-server", "h:1", "--topic", "a1"]))
    cast("StubConsumer", consumer._consumer).messages = [Record(b"1"), Record(b"2")]
    consumer.run(Closed())
    assert capsys.readouterr().err == (
        "Unable to write to standard out, closing consumer.\nProcessed a total of 1 messages\n"
    )


def test_a_record_that_cannot_be_printed_is_skipped_if_asked(caplog: pytest.LogCaptureFixture) -> None:
    numbers = ["--value-deserializer", "org.apache.kafka.common.serialization.LongDeserializer"]
    records = [Record(b"x"), Record((5).to_bytes(8, "big"))]
    with pytest.raises(KafkaException_, match="Size of data received by LongDeserializer is not 8"):
        printed(*numbers, records=list(records))
    output, consumer = printed(*numbers, "--skip-message-on-error", records=records)
    assert (output, consumer.message_count) == (b"5\n", 2)
    assert "Error processing message, skipping this message:" in caplog.text


def test_a_topic_that_a_group_waits_for_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    not_yet = Record(None, error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert printed("--max-messages", "1", records=[not_yet, Record(b"v")])[0] == b"v\n"
    with pytest.raises(KafkaException):
        printed(records=[Record(None, error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))])


def test_the_time_until_a_group_has_come_about_does_not_count() -> None:
    consumer = ConsoleConsumer(
        ConsumerConfig(["--bootstrap-server", "h:1", "--topic", "a1", "--group", "g", "--timeout-ms", "1"])
    )
    stub = cast("StubConsumer", consumer._consumer)
    assigned_after = 2

    def poll(timeout: float) -> None:
        stub.polls += 1
        if stub.polls == assigned_after:
            stub.on_assign(stub, [])

    stub.poll = poll  # type: ignore[method-assign]
    polls = []
    stub.close = lambda: polls.append(stub.polls)  # type: ignore[method-assign]
    consumer.run(io.BytesIO())
    assert polls == [assigned_after]


# -- Kafka's own cases of the command line


def config_of(*args: str) -> ConsumerConfig:
    return ConsumerConfig(["--bootstrap-server", "localhost:9092", "--topic", "test", *args])


@pytest.mark.ported("ConsoleConsumerTest.testDefaultConsumer")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewConsumerValidConfig")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewSimpleConsumerValidConfigWithNumericOffset")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewSimpleConsumerValidConfigWithStringOffset")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewConsumerConfigWithAutoOffsetResetLatest")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewConsumerConfigWithAutoOffsetResetEarliest")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewConsumerConfigWithAutoOffsetResetAndMatchingFromBeginning")
@pytest.mark.ported("ConsoleConsumerTest.shouldParseValidNewConsumerConfigWithNoOffsetReset")
@pytest.mark.parametrize(
    ("args", "partition", "offset", "reset"),
    [
        (["--from-beginning"], None, OFFSET_BEGINNING, "earliest"),
        (["--partition", "0", "--offset", "3"], 0, 3, "latest"),
        (["--partition", "0", "--offset", "LatEst"], 0, OFFSET_END, "latest"),
        (["--consumer-property", "auto.offset.reset=latest"], None, OFFSET_END, "latest"),
        (["--consumer-property", "auto.offset.reset=earliest"], None, OFFSET_BEGINNING, "earliest"),
        (["--consumer-property", "auto.offset.reset=earliest", "--from-beginning"], None, OFFSET_BEGINNING, "earliest"),
        ([], None, OFFSET_END, "latest"),
        (["--group", "test-group", "--from-beginning"], None, OFFSET_BEGINNING, "earliest"),
        (["--group", "test-group"], None, OFFSET_END, "latest"),
    ],
)
def test_what_the_options_mean(args: list[str], partition: int | None, offset: int, reset: str) -> None:
    config = config_of(*args, "--property", "print.value=false")
    assert (config.props["bootstrap.servers"], config.topic) == ("localhost:9092", "test")
    assert (config.partition, config.offset, config.props["auto.offset.reset"]) == (partition, offset, reset)
    assert isinstance(config.formatter, DefaultMessageFormatter)
    assert config.formatter.print_value is False


@pytest.mark.ported(
    "ConsoleConsumerTest.shouldExitOnInvalidConfigWithAutoOffsetResetAndConflictingFromBeginningNewConsumer"
)
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


@pytest.mark.ported("ConsoleConsumerTest.shouldParseConfigsFromFile")
def test_a_file_of_properties(tmp_path: pathlib.Path) -> None:
    (tmp_path / "c").write_text("request.timeout.ms=1000\ngroup.id=group1\nisolation.level=read_committed\n")
    config = config_of("--consumer.config", str(tmp_path / "c"))
    wanted = {"request.timeout.ms": "1000", "group.id": "group1", "isolation.level": "read_committed"}
    assert wanted.items() <= config.props.items()
    named = config_of("--consumer.config", str(tmp_path / "c"), "--isolation-level", "read_uncommitted")
    assert named.props["isolation.level"] == "read_uncommitted"


@pytest.mark.ported("ConsoleConsumerTest.groupIdsProvidedInDifferentPlacesMustMatch")
@pytest.mark.parametrize(
    ("file", "prop", "option", "group"),
    [
        ("a", "b", "c", None),
        ("a", "a", "a", "a"),
        ("a", "b", None, None),
        (None, "b", "c", None),
        ("a", None, "c", None),
        (None, None, "c", "c"),
    ],
)
def test_groups_named_in_several_places(
    tmp_path: pathlib.Path, file: str | None, prop: str | None, option: str | None, group: str | None
) -> None:
    args = []
    if file:
        (tmp_path / "c").write_text(f"group.id={file}")
        args += ["--consumer.config", str(tmp_path / "c")]
    args += ["--consumer-property", f"group.id={prop}"] if prop else []
    args += ["--group", option] if option else []
    if group:
        assert config_of(*args).props["group.id"] == group
        return
    with pytest.raises(SystemExit):
        config_of(*args)


def test_an_offset_needs_a_partition_and_a_partition_a_topic(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        config_of("--offset", "10")
    assert "The partition is required when offset is specified." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        ConsumerConfig(["--bootstrap-server", "h:1", "--whitelist", "t", "--partition", "0"])
    assert "The topic is required when partition is specified." in capsys.readouterr().err
    for offset in ("-1", "x", "1.5"):
        with pytest.raises(SystemExit):
            config_of("--partition", "0", "--offset", offset)
        assert f"The provided offset value '{offset}' is incorrect." in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--formatter", "my.Formatter"], ["--property", "key.deserializer=my.D"]])
def test_classes_that_are_not_known(capsys: Capture, option: list[str]) -> None:
    with pytest.raises(SystemExit):
        config_of(*option)
    assert "Unknown" in capsys.readouterr().err


def test_the_end_is_told_to_system_tests(capsys: Capture) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        line = ["--bootstrap-server", "h:1", "--topic", "a1", "--max-messages", "0", "--enable-systest-events"]
        assert main(line) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().out == "shutdown_complete\n"
