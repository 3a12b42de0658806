"""Prints the records of a topic on standard output.

Mirrors: core/src/main/scala/kafka/tools/ConsoleConsumer.scala @ 1.1.1
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.utils.throwables import to_string
from kafka_py.common.utils.utils import load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.message_formatters import ConsumerRecord, MessageFormatter, formatter_of
from kafka_py.tools.tools_utils import log_to_stderr
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionParser, OptionSet

# Those of the old consumer; Kafka's own tool takes them with the new one, too, and does nothing that shows.
_WITHOUT_EFFECT = ("csv-reporter-enabled", "metrics-dir", "delete-consumer-offsets")
_POLL_S = 0.5
_METADATA_TIMEOUT_S = 30
_EARLIEST = ("earliest", "beginning", "smallest")  # librdkafka knows three words for it
_INTERNAL_TOPICS = (Topic.GROUP_METADATA_TOPIC_NAME, Topic.TRANSACTION_STATE_TOPIC_NAME)
# What a topic's metadata says while the topic is being made
_NOT_YET = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE)


class ConsumerConfig:
    """The command line, checked.

    Mirrors: kafka.tools.ConsoleConsumer.ConsumerConfig
    Left out: invalidOffset, tryParse -- parts of _offset and of CommandLineUtils.parse
    """

    def __init__(self, args: list[str]) -> None:
        self.parser = OptionParser(allow_abbreviations=False)
        self._declare_options()
        if not args:
            self._die("The console consumer is a tool that reads data from Kafka and outputs it to standard output.")
        self.options: OptionSet = CommandLineUtils.parse(self.parser, args)
        has, value = self.options.has, self.options.value_of
        if has("zookeeper") or has("blacklist"):
            self._die("The consumer over ZooKeeper is not supported: use --bootstrap-server.")
        if has("topic") == has("whitelist"):
            self._die("Exactly one of whitelist/topic is required.")
        if has("partition"):
            if not has("topic"):
                self._die("The topic is required when partition is specified.")
            if has("from-beginning") and has("offset"):
                self._die("Options from-beginning and offset cannot be specified together.")
        elif has("offset"):
            self._die("The partition is required when offset is specified.")
        CommandLineUtils.check_required_args(self.parser, self.options, self._bootstrap_server)
        if has("new-consumer"):
            print(
                "The --new-consumer option is deprecated and will be removed in a future major release."
                "The new consumer is used by default if the --bootstrap-server option is provided.",
                file=sys.stderr,
            )
        for name in _WITHOUT_EFFECT:
            if has(name):
                print(f"Option {name} has no effect here and is ignored.", file=sys.stderr)
        self.topic: str = value("topic") or ""
        self.whitelist: str | None = value("whitelist")
        self.partition: int | None = value("partition") if has("partition") else None
        offset = self._offset()
        self.max_messages: int = value("max-messages") if has("max-messages") else -1
        self.timeout_ms: int = value("timeout-ms") if has("timeout-ms") else -1
        self.skip_message_on_error = has("skip-message-on-error")
        self.formatter = self._formatter(value("formatter"))
        self.props, self.group_id_passed = self._consumer_props()
        reset = OFFSET_BEGINNING if self.props["auto.offset.reset"] in _EARLIEST else OFFSET_END
        self.offset: int = reset if offset is None else offset

    def _die(self, message: str) -> None:
        CommandLineUtils.print_usage_and_die(self.parser, message)

    def _declare_options(self) -> None:
        accepts = self.parser.accepts
        accepts("topic", "The topic to read.").with_required_arg().described_as("topic")
        accepts("whitelist", "Regular expression for the topics to read.").with_required_arg()
        accepts("blacklist", "Not supported (old consumer).").with_required_arg()
        accepts(
            "partition", "The partition to read, from its end unless '--offset' says otherwise."
        ).with_required_arg().of_type(int, "Integer")
        accepts("offset", "Where to begin: a number, 'earliest' or 'latest'.").with_required_arg().defaults_to("latest")
        accepts("zookeeper", "Not supported (old consumer).").with_required_arg().described_as("urls")
        accepts("consumer-property", "key=value for the consumer.").with_required_arg()
        accepts("consumer.config", "File of consumer properties; consumer-property wins.").with_required_arg()
        accepts("formatter", "How records are printed.").with_required_arg().described_as("class").defaults_to(
            "kafka.tools.DefaultMessageFormatter"
        )
        accepts(
            "property",
            "key=value for the formatter: print.timestamp, print.key, print.value, print.partition, key.separator, "
            "line.separator, key.deserializer, value.deserializer.",
        ).with_required_arg()
        accepts("from-beginning", "Begin with the oldest record instead of the next one.")
        accepts("max-messages", "End after this many records.").with_required_arg().of_type(int, "Integer")
        accepts("timeout-ms", "End when nothing came for this long.").with_required_arg().of_type(int, "Integer")
        accepts("skip-message-on-error", "Go on after a record that could not be printed.")
        accepts("new-consumer", "Deprecated: there is no other.")
        self._bootstrap_server = accepts("bootstrap-server", "REQUIRED: The broker to connect to.").with_required_arg()
        for side in ("key", "value"):
            accepts(f"{side}-deserializer", "One of Kafka's, such as LongDeserializer.").with_required_arg()
        accepts("csv-reporter-enabled", "Without effect: the consumer has no metrics for files.")
        accepts("metrics-dir", "Without effect, as csv-reporter-enabled.").with_required_arg().described_as(
            "metrics directory"
        )
        accepts("delete-consumer-offsets", "Without effect: only the old consumer kept its offsets in ZooKeeper.")
        accepts("enable-systest-events", "Print 'shutdown_complete' at the end.")
        accepts("isolation-level", "read_committed or read_uncommitted.").with_required_arg().defaults_to(
            "read_uncommitted"
        )
        accepts("group", "The consumer group.").with_required_arg().described_as("consumer group id")

    def _offset(self) -> int | None:
        """Where to begin; None where auto.offset.reset says it."""
        if not self.options.has("offset"):
            if self.partition is None:
                return None
            return OFFSET_BEGINNING if self.options.has("from-beginning") else OFFSET_END
        text = str(self.options.value_of("offset"))
        words = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}
        if text.lower() in words:
            return words[text.lower()]
        if not text.isascii() or not text.isdigit():
            self._die(
                f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
                "non-negative long."
            )
        return int(text)

    def _formatter(self, name: str) -> MessageFormatter:
        props = CommandLineUtils.parse_key_value_args(self.options.values_of("property"))
        for side in ("key", "value"):
            if self.options.value_of(f"{side}-deserializer"):
                props[f"{side}.deserializer"] = self.options.value_of(f"{side}-deserializer")
        try:
            formatter = formatter_of(name)
            formatter.init(props)
        except IllegalArgumentException as e:
            self._die(str(e))
            raise
        return formatter

    def _consumer_props(self) -> tuple[dict[str, Any], bool]:
        has, value = self.options.has, self.options.value_of
        from_file = load_props(value("consumer.config")) if has("consumer.config") else {}
        extra = CommandLineUtils.parse_key_value_args(self.options.values_of("consumer-property"))
        groups = {g for g in (value("group"), from_file.get("group.id"), extra.get("group.id")) if g is not None}
        if len(groups) > 1:
            named = ", ".join(f"'{g}'" for g in sorted(groups))
            self._die(
                "The group ids provided in different places (directly using '--group', via '--consumer-property', or "
                f"via '--consumer.config') do not match. Detected group ids: {named}"
            )
        props = {
            "allow.auto.create.topics": True,  # as Java's consumer of 1.1.1 asks; librdkafka's does not by itself
            **from_file,
            **extra,
            "bootstrap.servers": value("bootstrap-server"),
            "group.id": next(iter(groups), f"console-consumer-{random.randrange(100_000)}"),
        }
        if has("isolation-level") or "isolation.level" not in props:
            props["isolation.level"] = value("isolation-level")
        reset = props.setdefault("auto.offset.reset", "earliest" if has("from-beginning") else "latest")
        if has("from-beginning") and reset != "earliest":
            print(
                f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one "
                "option",
                file=sys.stderr,
            )
            raise SystemExit(1)
        return props, bool(groups)


class ConsoleConsumer(Logging):
    """Receives records one by one, formats them, counts them.

    Mirrors: kafka.tools.ConsoleConsumer
    Left out: checkZk, checkZkPathExists, checkAndMaybeDeleteOldPath, getOldConsumerProps, getNewConsumerProps,
        setAutoOffsetResetValue, addShutdownHook, main, checkErr -- old consumer, or part of ConsumerConfig and main
    Differs: without --group the partitions of a --topic are assigned directly: they are read at once, where a group of
        one must first come about, and nobody could ever find the offsets of the random group that Kafka's tool would
        make up. A topic that cannot be is reported at once; one that does not come about, or a broker that cannot be
        reached, after 30 s or --timeout-ms. The time until a group has come about does not count as --timeout-ms.
    """

    logger_name = "kafka.tools.ConsoleConsumer$"

    def __init__(self, config: ConsumerConfig) -> None:
        self._config = config
        props: dict[str, Any] = {"enable.auto.commit": config.group_id_passed, **config.props}
        if config.whitelist and str(props.get("exclude.internal.topics", "true")).lower() == "true":
            # As Java's consumer by itself: a pattern is not meant for Kafka's own topics.
            props.setdefault("topic.blacklist", ",".join(f"^{name}$" for name in _INTERNAL_TOPICS))
        self._consumer: Consumer = connected(Consumer, props)
        self._is_assigned = False  # thread: main
        self.message_count = 0  # thread: main
        self._metadata_timeout_s: float = _METADATA_TIMEOUT_S
        if config.timeout_ms > 0:
            self._metadata_timeout_s = min(_METADATA_TIMEOUT_S, config.timeout_ms / 1000)

    def run(self, output: BinaryIO) -> None:
        """Until the end that the options ask for, or the end of the output; raises what goes wrong."""
        try:
            self._subscribe()
            self.process(output)
        finally:
            self._consumer.close()
            self.report_record_count()

    def _subscribe(self) -> None:
        config = self._config
        if config.partition is not None:
            self._assign([(config.topic, config.partition)])
        elif config.whitelist:
            self._consumer.subscribe([f"^({config.whitelist})$"], on_assign=self._on_assign)
        elif config.group_id_passed:
            self._consumer.subscribe([config.topic], on_assign=self._on_assign)
        else:
            self._assign(self._partitions())

    def _assign(self, partitions: list[tuple[str, int]]) -> None:
        offset = self._config.offset
        self._consumer.assign([TopicPartition(topic, partition, offset) for topic, partition in partitions])
        self._is_assigned = True

    def _on_assign(self, *_: object) -> None:
        self._is_assigned = True

    def _partitions(self) -> list[tuple[str, int]]:
        """The topic's partitions; asking for a topic that is not there creates it, as subscribing would."""
        topic, timeout = self._config.topic, self._metadata_timeout_s
        for _ in range(max(int(timeout / _POLL_S), 1)):
            metadata = self._consumer.list_topics(topic, timeout=timeout).topics[topic]
            if metadata.partitions:
                return [(topic, partition) for partition in sorted(metadata.partitions)]
            if metadata.error is not None and metadata.error.code() not in _NOT_YET:
                break
            self._consumer.poll(_POLL_S)
        raise KafkaException(metadata.error)

    def process(self, output: BinaryIO) -> None:
        """Write what comes; raises what goes wrong with a record, unless such are to be skipped."""
        config = self._config
        for message in self._receive():
            self.message_count += 1
            try:
                config.formatter.write_to(ConsumerRecord.of(message), output)
                output.flush()
            except BrokenPipeError:
                # Nobody listens any more; keep the interpreter from flushing into the same pipe at exit.
                print("Unable to write to standard out, closing consumer.", file=sys.stderr)
                os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
                return
            except (RuntimeError, ValueError) as e:
                if not config.skip_message_on_error:
                    raise
                self.error("Error processing message, skipping this message: %s", to_string(e))
            if self.message_count == config.max_messages:
                return

    def _receive(self) -> Iterator[Message]:
        timeout_ms = self._config.timeout_ms
        if self._config.max_messages == 0:
            return
        waited = 0.0
        while timeout_ms < 0 or waited * 1000 < timeout_ms:
            wait = _POLL_S if timeout_ms < 0 else min(_POLL_S, timeout_ms / 1000)
            message = self._consumer.poll(wait)
            if message is None:
                waited += wait if self._is_assigned else 0
                continue
            error = message.error()
            if error is not None and error.code() in _NOT_YET:
                self.warn("%s", error.str())
                continue
            if error is not None:
                raise KafkaException(error)
            waited = 0.0
            yield message

    def report_record_count(self) -> None:
        print(f"Processed a total of {self.message_count} messages", file=sys.stderr)


def main(args: list[str]) -> int:
    """The tool; 0 at a regular end, 1 for wrong options or an error of the consumer."""
    log_to_stderr()
    config = ConsumerConfig(args)
    status = 0
    # Java's tool has a shutdown hook for it: the consumer is closed and the count printed, whoever ends the tool.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        ConsoleConsumer(config).run(sys.stdout.buffer)
    except KafkaException as e:
        print(f"Error processing message, terminating consumer process: {e}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        if config.options.has("enable-systest-events"):
            print("shutdown_complete", flush=True)
    return status
