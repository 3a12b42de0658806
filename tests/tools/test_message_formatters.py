"""How the console consumer prints a record: by itself, as a number, or as what a coordinator keeps."""

from __future__ import annotations

import io
import logging
import struct
import uuid
import zlib

import pytest

from kafka_py.api.api_version import ApiVersion
from kafka_py.common.errors import IllegalArgumentException, KafkaException
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata_records import (
    group_metadata_key,
    offset_commit_key,
    offset_commit_value,
)
from kafka_py.coordinator.transaction.transaction_log import TransactionLog
from kafka_py.tools.message_formatters import ConsumerRecord, deserializer, formatter_of

RECORD = ConsumerRecord("t", 3, 7, 99, "CreateTime", b"k", b"v")
GROUPS = "kafka.coordinator.group.GroupMetadataManager"


def written(name: str, record: ConsumerRecord, **props: str) -> str:
    formatter = formatter_of(name)
    formatter.init({key.replace("_", "."): value for key, value in props.items()})
    output = io.BytesIO()
    formatter.write_to(record, output)
    return output.getvalue().decode()


@pytest.mark.parametrize(
    ("props", "expected"),
    [
        ({}, "v\n"),
        ({"print_key": "true"}, "k\tv\n"),
        ({"print_key": "TRUE ", "print_timestamp": "true", "key_separator": "|"}, "CreateTime:99|k|v\n"),
        ({"print_value": "false"}, ""),
        ({"print_value": "no", "print_key": "true", "line_separator": ";"}, "k;"),
        ({"print_partition": "true"}, "v\t3\n"),
    ],
)
def test_the_default_formatter(props: dict[str, str], expected: str) -> None:
    assert written("kafka.tools.DefaultMessageFormatter", RECORD, **props) == expected


def test_what_is_not_there_is_null() -> None:
    bare = ConsumerRecord("t", 0, 0, -1, None, None, None)
    props = {"print_key": "true", "print_timestamp": "true", "value_deserializer": "LongDeserializer"}
    assert written("kafka.tools.DefaultMessageFormatter", bare, **props) == "NO_TIMESTAMP\tnull\tnull\n"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("StringDeserializer", "ö".encode(), "ö"),
        ("ByteArrayDeserializer", b"raw", "raw"),
        ("BytesDeserializer", b"a\x00\\", "a\\x00\\x5C"),
        ("ShortDeserializer", struct.pack(">h", -2), "-2"),
        ("IntegerDeserializer", struct.pack(">i", 70_000), "70000"),
        ("LongDeserializer", struct.pack(">q", 1 << 40), str(1 << 40)),
        ("FloatDeserializer", struct.pack(">f", 1.1), "1.1"),
        ("DoubleDeserializer", struct.pack(">d", 1.1), "1.1"),
        ("UUIDDeserializer", str(uuid.UUID(int=5)).encode(), str(uuid.UUID(int=5))),
    ],
)
def test_deserializers(name: str, data: bytes, expected: str) -> None:
    full = f"org.apache.kafka.common.serialization.{name}"
    record = RECORD._replace(value=data)
    assert written("kafka.tools.DefaultMessageFormatter", record, value_deserializer=full) == f"{expected}\n"


def test_bytes_that_are_no_number() -> None:
    with pytest.raises(KafkaException, match="Size of data received by IntegerDeserializer is not 4"):
        deserializer("IntegerDeserializer")(b"12345")
    with pytest.raises(IllegalArgumentException, match=r"Unknown deserializer my\.LongDeserializer"):
        deserializer("my.LongDeserializer")


def test_the_logging_formatter(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka.tools.LoggingMessageFormatter")
    assert written("kafka.tools.LoggingMessageFormatter", RECORD) == "v\n"
    assert written("kafka.tools.LoggingMessageFormatter", RECORD._replace(key=None, timestamp_type=None)) == "v\n"
    assert [(r.name, r.getMessage()) for r in caplog.records] == [
        ("kafka.tools.LoggingMessageFormatter", "CreateTime:99, key:k, value:v"),
        ("kafka.tools.LoggingMessageFormatter", "key:null, value:v"),
    ]


def test_nothing_and_checksums() -> None:
    assert written("kafka.tools.NoOpMessageFormatter", RECORD) == ""
    assert written("kafka.tools.ChecksumMessageFormatter", RECORD, topic="t") == f"t:checksum:{zlib.crc32(b'v')}\n"


@pytest.mark.parametrize("name", [f"{GROUPS}$OffsetsMessageFormatter", f"{GROUPS}\\$OffsetsMessageFormatter"])
def test_committed_offsets(name: str) -> None:
    committed = OffsetAndMetadata(5, None, "why", 1000)
    value = offset_commit_value(committed, ApiVersion.latest_version())
    record = RECORD._replace(key=offset_commit_key("g", TopicPartition("t", 2)), value=value)
    assert written(name, record) == f"[g,t,2]::{committed}\n"
    assert written(name, record._replace(value=None)) == "[g,t,2]::NULL\n"
    assert written(name, record._replace(key=group_metadata_key("g"), value=None)) == ""
    assert written(name, record._replace(key=None)) == ""


def test_groups() -> None:
    name = f"{GROUPS}$GroupMetadataMessageFormatter"
    record = RECORD._replace(key=group_metadata_key("g"), value=None)
    assert written(name, record) == "g::NULL\n"
    assert written(name, record._replace(key=offset_commit_key("g", TopicPartition("t", 2)))) == ""


def test_transactions() -> None:
    name = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"
    assert written(name, RECORD._replace(key=TransactionLog.key_to_bytes("id"), value=None)) == "id::NULL\n"


def test_a_formatter_that_is_not_known() -> None:
    with pytest.raises(IllegalArgumentException, match=r"Unknown formatter my\.Formatter; there are kafka\.tools\.Def"):
        formatter_of("my.Formatter")
