"""How kafka-console-consumer prints records.

Mirrors: core/src/main/scala/kafka/tools/ConsoleConsumer.scala @ 1.1.1 (the formatters), and
core/src/main/scala/kafka/common/MessageFormatter.scala
"""

from __future__ import annotations

import struct
import uuid
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from kafka_py.common.errors import IllegalArgumentException, KafkaException
from kafka_py.common.utils.time import Time
from kafka_py.coordinator.group.group_metadata_message import format_group_metadata_message, format_offsets_message
from kafka_py.coordinator.transaction.transaction_log import TransactionLog
from kafka_py.utils.logging import Logging

_TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "CreateTime", TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime"}


class ConsumerRecord(NamedTuple):
    """As much of a record as formatters need; the type of its timestamp is CreateTime, LogAppendTime or, without one,
    None.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str | None
    key: bytes | None
    value: bytes | None

    @classmethod
    def of(cls, message: Message) -> ConsumerRecord:
        """What librdkafka received."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None, "a message without an error has one"
        assert partition is not None
        assert offset is not None
        kind, timestamp = message.timestamp()
        key, value = message.key(), message.value()
        return cls(topic, partition, offset, timestamp, _TIMESTAMP_TYPES.get(kind), key, value)


class MessageFormatter(ABC):
    """Writes records, one after the other.

    Mirrors: kafka.common.MessageFormatter
    Left out: close -- nothing to close
    """

    def init(self, props: Mapping[str, str]) -> None:  # noqa: B027 -- most need nothing
        """Take the --property of the command line."""

    @abstractmethod
    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        """Write what there is to write of a record; raises for one that cannot be understood."""


def _decoder(kind: str, what: str) -> Callable[[bytes], str]:
    """Of a number of this form."""
    form = struct.Struct(kind)

    def decode(data: bytes) -> str:
        if len(data) != form.size:
            raise KafkaException(f"Size of data received by {what}Deserializer is not {form.size}")
        return str(form.unpack(data)[0])

    return decode


def _shortest(number: str) -> str:
    """The shortest text of a 32-bit number: 1.1, not 1.100000023841858."""
    texts = (f"{float(number):.{digits}g}" for digits in range(1, 10))
    return str(float(next(t for t in texts if struct.pack(">f", float(t)) == struct.pack(">f", float(number)))))


# What Kafka's own deserializers make of bytes, printed; by the end of the class's name.
DESERIALIZERS: Mapping[str, Callable[[bytes], str]] = {
    "StringDeserializer": lambda data: data.decode(errors="replace"),
    "ByteArrayDeserializer": lambda data: data.decode(errors="replace"),
    "BytesDeserializer": lambda data: "".join(
        chr(b) if 0x20 <= b < 0x7F and b != 0x5C else f"\\x{b:02X}" for b in data
    ),
    "ShortDeserializer": _decoder(">h", "Short"),
    "IntegerDeserializer": _decoder(">i", "Integer"),
    "LongDeserializer": _decoder(">q", "Long"),
    "FloatDeserializer": lambda data: _shortest(_decoder(">f", "Float")(data)),
    "DoubleDeserializer": _decoder(">d", "Double"),
    "UUIDDeserializer": lambda data: str(uuid.UUID(data.decode())),
}


def deserializer(class_name: str) -> Callable[[bytes], str]:
    """By the name of one of Kafka's classes; IllegalArgumentException for any other."""
    package, _, name = class_name.rpartition(".")
    if package not in ("", "org.apache.kafka.common.serialization") or name not in DESERIALIZERS:
        raise IllegalArgumentException(f"Unknown deserializer {class_name}; there are {', '.join(DESERIALIZERS)}")
    return DESERIALIZERS[name]


class DefaultMessageFormatter(MessageFormatter):
    """Writes a record as its value, on demand with timestamp and key before it and, as in 2.5.1, partition behind.

    Mirrors: kafka.tools.DefaultMessageFormatter
    """

    def __init__(self) -> None:
        self.print_timestamp = False  # thread: main
        self.print_key = False  # thread: main
        self.print_value = True  # thread: main
        self.print_partition = False  # thread: main
        self.key_separator = b"\t"  # thread: main
        self.line_separator = b"\n"  # thread: main
        self.key_deserializer: Callable[[bytes], str] | None = None  # thread: main
        self.value_deserializer: Callable[[bytes], str] | None = None  # thread: main

    def init(self, props: Mapping[str, str]) -> None:
        def flag(name: str, default: bool) -> bool:
            return props[name].strip().lower() == "true" if name in props else default

        self.print_timestamp = flag("print.timestamp", self.print_timestamp)
        self.print_key = flag("print.key", self.print_key)
        self.print_value = flag("print.value", self.print_value)
        self.print_partition = flag("print.partition", self.print_partition)
        self.key_separator = props.get("key.separator", "\t").encode()
        self.line_separator = props.get("line.separator", "\n").encode()
        if "key.deserializer" in props:
            self.key_deserializer = deserializer(props["key.deserializer"])
        if "value.deserializer" in props:
            self.value_deserializer = deserializer(props["value.deserializer"])

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        parts: list[bytes] = []
        if self.print_timestamp:
            known = record.timestamp_type
            parts.append(f"{known}:{record.timestamp}".encode() if known else b"NO_TIMESTAMP")
        if self.print_key:
            parts.append(_converted(record.key, self.key_deserializer))
        if self.print_value:
            parts.append(_converted(record.value, self.value_deserializer))
        if self.print_partition:
            parts.append(b"%d" % record.partition)
        if parts:
            output.write(self.key_separator.join(parts) + self.line_separator)


def _converted(data: bytes | None, convert: Callable[[bytes], str] | None) -> bytes:
    """Differs: `null` stands for what is not there whatever the deserializer, where Kafka has it read that word."""
    if data is None:
        return b"null"
    return bytes(data) if convert is None else convert(bytes(data)).encode()


class LoggingMessageFormatter(MessageFormatter, Logging):
    """Writes a record and logs it at INFO.

    Mirrors: kafka.tools.LoggingMessageFormatter
    """

    def __init__(self) -> None:
        self._default_writer = DefaultMessageFormatter()

    def init(self, props: Mapping[str, str]) -> None:
        self._default_writer.init(props)

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        self._default_writer.write_to(record, output)
        timestamp = f"{record.timestamp_type}:{record.timestamp}, " if record.timestamp_type else ""
        key, value = (_converted(data, None).decode(errors="replace") for data in (record.key, record.value))
        self.info("%skey:%s, value:%s", timestamp, key, value)


class ChecksumMessageFormatter(MessageFormatter):
    """Writes the CRC-32 of each value: two topics can be compared without showing them.

    Mirrors: kafka.tools.ChecksumMessageFormatter
    Differs: checksums the value, as records of magic 2 have no checksum of their own
    """

    def __init__(self) -> None:
        self._topic_str = ""  # thread: main

    def init(self, props: Mapping[str, str]) -> None:
        self._topic_str = f"{props['topic']}:" if "topic" in props else ""

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        output.write(f"{self._topic_str}checksum:{zlib.crc32(_converted(record.value, None))}\n".encode())


class NoOpMessageFormatter(MessageFormatter):
    """Writes nothing: to see how fast records can be consumed.

    Mirrors: kafka.tools.NoOpMessageFormatter
    """

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        return None


class OffsetsMessageFormatter(MessageFormatter):
    """Of __consumer_offsets the committed offsets: `[group,topic,partition]::` and the offset, NULL where it ended.

    Mirrors: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter
    """

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        line = format_offsets_message(record.key, record.value)
        if line is not None:
            output.write(f"{line}\n".encode())


class GroupMetadataMessageFormatter(MessageFormatter):
    """Of __consumer_offsets the groups with their members, NULL where they ended.

    Mirrors: kafka.coordinator.group.GroupMetadataManager.GroupMetadataMessageFormatter
    """

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        line = format_group_metadata_message(record.key, record.value, Time.SYSTEM)
        if line is not None:
            output.write(f"{line}\n".encode())


class TransactionLogMessageFormatter(MessageFormatter):
    """Of __transaction_state the transactional ids and where their transactions are, NULL where they ended.

    Mirrors: kafka.coordinator.transaction.TransactionLog.TransactionLogMessageFormatter
    """

    def __init__(self) -> None:
        self._formatter = TransactionLog.TransactionLogMessageFormatter()

    def write_to(self, record: ConsumerRecord, output: BinaryIO) -> None:
        self._formatter.write_to(record, output)


_GROUPS = "kafka.coordinator.group.GroupMetadataManager$"
FORMATTERS: Mapping[str, type[MessageFormatter]] = {
    "kafka.tools.DefaultMessageFormatter": DefaultMessageFormatter,
    "kafka.tools.LoggingMessageFormatter": LoggingMessageFormatter,
    "kafka.tools.ChecksumMessageFormatter": ChecksumMessageFormatter,
    "kafka.tools.NoOpMessageFormatter": NoOpMessageFormatter,
    f"{_GROUPS}OffsetsMessageFormatter": OffsetsMessageFormatter,
    f"{_GROUPS}GroupMetadataMessageFormatter": GroupMetadataMessageFormatter,
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": TransactionLogMessageFormatter,
}


def formatter_of(class_name: str) -> MessageFormatter:
    """By the name of Kafka's class, also written as in its documentation, `\\$` for `$`, or with a dot.

    IllegalArgumentException for any other.
    """
    wanted = class_name.replace("\\", "").replace("$", ".")
    for name, formatter in FORMATTERS.items():
        if name.replace("$", ".") == wanted:
            return formatter()
    raise IllegalArgumentException(f"Unknown formatter {class_name}; there are {', '.join(FORMATTERS)}")
