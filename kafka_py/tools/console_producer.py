"""Reads lines from standard input and produces each as a record.

Mirrors: core/src/main/scala/kafka/tools/ConsoleProducer.scala @ 1.1.1
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka import KafkaException as ClientException

from kafka_py.common.errors import KafkaException
from kafka_py.common.utils.throwables import stack_trace
from kafka_py.common.utils.utils import get_port, load_props
from kafka_py.tools.client_settings import connected
from kafka_py.tools.tools_utils import log_to_stderr
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser, OptionSet

# Options of Kafka's tool that only the Scala producer of 0.8 or a Java class loader could honour.
_WITHOUT_EFFECT = ("old-producer", "queue-size", "queue-enqueuetimeout-ms", "key-serializer", "value-serializer")
_INT32_MAX = (1 << 31) - 1
_LINE_READER = "kafka.tools.ConsoleProducer$LineMessageReader"
# librdkafka's name of each setting that an option sets
_SETTINGS = {
    "message-send-max-retries": "message.send.max.retries",
    "retry-backoff-ms": "retry.backoff.ms",
    "timeout": "linger.ms",
    "batch-size": "batch.num.messages",
    "max-partition-memory-bytes": "batch.size",
    "max-memory-bytes": "queue.buffering.max.kbytes",
    "request-timeout-ms": "request.timeout.ms",
    "metadata-expiry-ms": "topic.metadata.refresh.interval.ms",
    "socket-buffer-size": "socket.send.buffer.bytes",
    "request-required-acks": "acks",
}


class ProducerRecord(NamedTuple):
    """One record to send."""

    topic: str
    key: bytes | None
    value: bytes


class LineMessageReader:
    """Turns lines into records; with parse.key=true the text before the separator is the key.

    Mirrors: kafka.tools.ConsoleProducer.LineMessageReader
    """

    def __init__(self) -> None:
        self.topic = ""  # thread: main
        self.parse_key = False  # thread: main
        self.key_separator = "\t"  # thread: main
        self.ignore_error = False  # thread: main
        self.line_number = 0  # thread: main
        self._lines: BinaryIO = sys.stdin.buffer  # thread: main

    def init(self, input_stream: BinaryIO, props: Mapping[str, str]) -> None:
        self._lines = input_stream
        self.topic = props["topic"]
        self.parse_key = props.get("parse.key", "").strip().lower() == "true"
        self.key_separator = props.get("key.separator", self.key_separator)
        self.ignore_error = props.get("ignore.error", "").strip().lower() == "true"

    def read_message(self) -> ProducerRecord | None:
        """The next record, None at the end; KafkaException for a line that has no key but needs one."""
        self.line_number += 1
        sys.stdout.write(">")
        sys.stdout.flush()
        raw = self._lines.readline()
        if not raw:
            return None
        line = raw.rstrip(b"\n").removesuffix(b"\r")
        if not self.parse_key:
            return ProducerRecord(self.topic, None, line)
        separator = self.key_separator.encode()
        key, found, value = line.partition(separator) if separator else (b"", b"", line)
        if found or not separator:
            return ProducerRecord(self.topic, key, value)
        if self.ignore_error:
            return ProducerRecord(self.topic, None, line)
        raise KafkaException(f"No key found on line {self.line_number}: {line.decode(errors='replace')}")


class ProducerConfig:
    """The command line, checked.

    Mirrors: kafka.tools.ConsoleProducer.ProducerConfig
    """

    def __init__(self, args: list[str]) -> None:
        self.parser = OptionParser(allow_abbreviations=False)
        self._declare_options()
        if not args:
            CommandLineUtils.print_usage_and_die(self.parser, "Read data from standard input and publish it to Kafka.")
        self.options: OptionSet = CommandLineUtils.parse(self.parser, args)
        CommandLineUtils.check_required_args(self.parser, self.options, self._topic)
        if not self.options.has("broker-list") and not self.options.has("bootstrap-server"):
            CommandLineUtils.print_usage_and_die(self.parser, 'Missing required argument "[broker-list]"')
        self.topic: str = self.options.value_of("topic")
        self.broker_list: str = self.options.value_of("broker-list") or self.options.value_of("bootstrap-server")
        if any(get_port(broker) is None for broker in self.broker_list.rstrip(",").split(",")):
            CommandLineUtils.print_usage_and_die(
                self.parser, "Please provide valid host:port like host1:9091,host2:9092\n "
            )
        if self.options.value_of("line-reader") != _LINE_READER:
            CommandLineUtils.print_usage_and_die(self.parser, f"There is no line reader but {_LINE_READER}.")
        self.sync = self.options.has("sync")
        self.cmd_line_props = CommandLineUtils.parse_key_value_args(self.options.values_of("property"))
        self.extra_producer_props = CommandLineUtils.parse_key_value_args(self.options.values_of("producer-property"))

    def _declare_options(self) -> None:
        accepts = self.parser.accepts
        self._topic = accepts("topic", "REQUIRED: The topic to send the records to.").with_required_arg()
        self._topic.described_as("topic")
        brokers = "REQUIRED: The brokers to start from, as HOST1:PORT1,HOST2:PORT2."
        accepts("broker-list", brokers).with_required_arg().described_as("broker-list")
        accepts("bootstrap-server", "The same as broker-list (the name of newer versions).").with_required_arg()
        accepts("sync", "Wait for the answer to each record before the next one is sent.")
        codec = "The codec: 'none', 'gzip', 'snappy', 'lz4' or 'zstd'; 'gzip' if the option has no value."
        accepts("compression-codec", codec).with_optional_arg().described_as("compression-codec")
        for name, meaning, default in (
            ("batch-size", "Records in one batch, if not sent one by one.", 200),
            ("message-send-max-retries", "How often a record is sent again before it is given up.", 3),
            ("retry-backoff-ms", "How long to wait before a record is sent again.", 100),
            ("timeout", "How long a record may wait for others of its batch, in ms.", 1000),
            ("queue-size", "Without effect (a setting of the producer of 0.8).", 10000),
            ("queue-enqueuetimeout-ms", "Without effect (a setting of the producer of 0.8).", _INT32_MAX),
            ("request-timeout-ms", "How long the broker may take for its acknowledgement.", 1500),
            ("metadata-expiry-ms", "After how many ms the metadata is asked for again in any case.", 300_000),
            ("max-block-ms", "How long sending may block when the buffer is full.", 60_000),
            ("max-memory-bytes", "Memory for records that wait to be sent.", 32 << 20),
            ("max-partition-memory-bytes", "Bytes of a batch of one partition.", 16 << 10),
            ("socket-buffer-size", "Size of the TCP send buffer.", 102400),
        ):
            accepts(name, meaning).with_required_arg().of_type(int, "Integer").defaults_to(default)
        accepts(
            "request-required-acks", "How many replicas must have a record: 0, 1 or -1."
        ).with_required_arg().defaults_to("1")
        for name in ("key-serializer", "value-serializer"):
            accepts(name, "Without effect: bytes are sent as they are.").with_required_arg()
        accepts("line-reader", "Only the default reader can be used.").with_required_arg().defaults_to(_LINE_READER)
        accepts("property", "key=value for the reader: parse.key, key.separator, ignore.error.").with_required_arg()
        accepts("producer-property", "key=value for the producer.").with_required_arg()
        accepts("producer.config", "File of producer properties; producer-property wins.").with_required_arg()
        accepts("old-producer", "Without effect: there is only one producer.")

    @property
    def compression_codec(self) -> str:
        if not self.options.has("compression-codec"):
            return "none"
        return self.options.value_of("compression-codec") or "gzip"


def get_reader_props(config: ProducerConfig) -> dict[str, str]:
    return {"topic": config.topic, **config.cmd_line_props}


def get_new_producer_props(config: ProducerConfig) -> dict[str, Any]:
    """The settings under librdkafka's names: those of options given, else of producer-property, else of
    producer.config, else the options' defaults.
    """
    has, value = config.options.has, config.options.value_of
    from_file = load_props(value("producer.config")) if has("producer.config") else {}
    values = {option: value(option) for option in _SETTINGS}
    values["timeout"] = min(values["timeout"], 100) if not config.sync else 0
    values["batch-size"] = max(values["batch-size"], 1)
    values["max-memory-bytes"] = max(values["max-memory-bytes"] >> 10, 1)
    return {
        **{name: values[option] for option, name in _SETTINGS.items()},
        **from_file,
        **config.extra_producer_props,
        **{name: values[option] for option, name in _SETTINGS.items() if has(option)},
        "bootstrap.servers": config.broker_list,
        "compression.type": config.compression_codec,
        "client.id": "console-producer",
    }


class NewShinyProducer:
    """Sends records with librdkafka and reports those that could not be delivered.

    Mirrors: kafka.producer.NewShinyProducer
    """

    def __init__(self, props: Mapping[str, Any], sync: bool) -> None:
        self._producer = connected(Producer, props)
        self._sync = sync
        self.failures = 0  # thread: main

    def send(self, record: ProducerRecord) -> None:
        while True:
            try:
                self._producer.produce(record.topic, record.value, record.key, on_delivery=self._delivered)
                break
            except BufferError:
                self._producer.poll(0.1)
            except ClientException as e:  # too large, say: the lines behind it are sent all the same
                self._failed(record.topic, record.key, record.value, e.args[0])
                return
        if self._sync:
            self._producer.flush()
        else:
            self._producer.poll(0)

    def close(self) -> None:
        """Waits until everything is sent or has failed."""
        self._producer.flush()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed(message.topic(), message.key(), message.value(), error)

    def _failed(self, topic: Any, key: Any, value: Any, error: KafkaError) -> None:
        self.failures += 1
        print(
            f"Error when sending message to topic {topic} with key: {_size(key)}, value: {_size(value)} with error: "
            f"{error.str()}",
            file=sys.stderr,
        )


def _size(data: Any) -> str:
    return "null" if data is None else f"{len(data)} bytes"


def main(args: list[str]) -> int:
    """The tool; 0 when all input was sent, 1 for wrong options, a bad line or a record that was not delivered."""
    log_to_stderr()
    config = ProducerConfig(args)
    for name in _WITHOUT_EFFECT:
        if config.options.has(name):
            print(f"Option {name} has no effect here and is ignored.", file=sys.stderr)
    reader = LineMessageReader()
    reader.init(sys.stdin.buffer, get_reader_props(config))
    try:
        producer = NewShinyProducer(get_new_producer_props(config), config.sync)
    except (ClientException, OSError) as e:
        print(e.args[0].str() if isinstance(e, ClientException) else e, file=sys.stderr)
        return 1
    status = 0
    # Java's tool has a shutdown hook for it: what was read is sent, whoever ends the tool.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        while (record := reader.read_message()) is not None:
            producer.send(record)
    except KafkaException as e:
        print(stack_trace(e), end="", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        producer.close()
    return status or int(producer.failures > 0)
