"""kafka-dump-log's decoders: text, numbers, and the records of the two internal topics."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator

import pytest

from kafka_py.common.errors import IllegalStateException, KafkaException, SchemaException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.log import Log
from kafka_py.serializer.decoder import DefaultDecoder, IntegerDecoder, LongDecoder, StringDecoder
from kafka_py.tools.dump_log_segments import main
from kafka_py.tools.message_parsers import (
    DecoderMessageParser,
    MessageParser,
    OffsetsMessageParser,
    Parsed,
    TransactionLogMessageParser,
)
from tests.log.log_harness import Logs, as_leader

Capture = pytest.CaptureFixture[str]


def string(text: str | None) -> bytes:
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text.encode()


def data(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def int16(number: int) -> bytes:
    return struct.pack(">h", number)


OFFSET_KEY = int16(1) + string("group") + string("topic") + struct.pack(">i", 3)
GROUP_KEY = int16(2) + string("group")
ASSIGNMENT = int16(0) + struct.pack(">i", 1) + string("t") + struct.pack(">iii", 2, 0, 1)


def offset_value(version: int, offset: int, metadata: str) -> bytes:
    times = struct.pack(">q", 9) * (2 if version == 1 else 1)
    leader_epoch = struct.pack(">i", 6) if version >= 3 else b""
    return int16(version) + struct.pack(">q", offset) + leader_epoch + string(metadata) + times


def group_value(version: int, protocol_type: str, *members: tuple[str, bytes]) -> bytes:
    timeouts = struct.pack(">i", 10) * (2 if version else 1)
    instance_id = string("static") if version >= 3 else b""
    body = b"".join(
        string(member) + instance_id + string("client") + string("/host") + timeouts + data(b"") + data(assignment)
        for member, assignment in members
    )
    since = struct.pack(">q", 1234) if version >= 2 else b""
    head = string(protocol_type) + struct.pack(">i", 5) + string("range") + string(None) + since
    return int16(version) + head + struct.pack(">i", len(members)) + body


def txn_value(status: int, partitions: bytes) -> bytes:
    head = int16(0) + struct.pack(">qhib", 7, 2, 60000, status)
    return head + partitions + struct.pack(">qq", 1234, 1000)


def parse(parser: MessageParser, key: bytes | None, value: bytes | None) -> Parsed:
    (record,) = MemoryRecords.with_records(SimpleRecord(0, key, value)).records()
    return parser.parse(record)


@pytest.mark.parametrize("version", range(4))
def test_offsets(version: int) -> None:
    parser = OffsetsMessageParser()
    assert parse(parser, OFFSET_KEY, offset_value(version, 42, "")) == ("offset::group:topic:3", "42")
    assert parse(parser, OFFSET_KEY, offset_value(version, 42, "mine"))[1] == "42:mine"
    assert parse(parser, int16(0) + OFFSET_KEY[2:], offset_value(version, 1, ""))[0] == "offset::group:topic:3"


@pytest.mark.parametrize("version", range(4))
def test_groups(version: int) -> None:
    parser = OffsetsMessageParser()
    with_data = ASSIGNMENT + data(b"\x00\xab")
    members = ("m1", ASSIGNMENT + struct.pack(">i", -1)), ("m2", with_data), ("m3", b"")
    assert parse(parser, GROUP_KEY, group_value(version, "consumer", *members)) == (
        '{"metadata":"group"}',
        '{"protocolType":"consumer","protocol":"range","generationId":5,'
        '"assignment":"{m1=[t-0, t-1],m2=[t-0, t-1]:AB,m3=}"}',
    )
    other = parse(parser, GROUP_KEY, group_value(version, "connect", ("w", b"\x0f\x01")))[1]
    assert '"assignment":"{w=F01}"' in other


def test_what_is_no_record_of_consumer_offsets() -> None:
    parser = OffsetsMessageParser()
    assert parse(parser, OFFSET_KEY, None) == (None, None)
    with pytest.raises(KafkaException, match="missing key"):
        parse(parser, None, b"x")
    with pytest.raises(KafkaException, match="Unknown offset message key schema version 3"):
        parse(parser, int16(3), b"x")
    with pytest.raises(KafkaException, match="value schema version 9"):
        parse(parser, OFFSET_KEY, int16(9))
    with pytest.raises(SchemaException):
        parse(parser, OFFSET_KEY, int16(1))
    with pytest.raises(SchemaException, match="Unsupported subscription version"):
        parse(parser, GROUP_KEY, group_value(0, "consumer", ("m", int16(-1))))


def test_transactions() -> None:
    parser = TransactionLogMessageParser()
    key = int16(0) + string("mine")
    partitions = struct.pack(">i", 1) + string("t") + struct.pack(">iii", 2, 0, 4)
    assert parse(parser, key, txn_value(1, partitions)) == (
        "transactionalId=mine",
        "producerId:7,producerEpoch:2,state=Ongoing,partitions=Set(t-0, t-4),txnLastUpdateTimestamp=1234,"
        "txnTimeoutMs=60000",
    )
    value = parse(parser, key, txn_value(0, struct.pack(">i", -1)))[1]
    assert "state=Empty,partitions=Set()," in value
    value = parse(parser, key, txn_value(7, struct.pack(">i", -1)))[1]
    assert value is not None
    assert "state=PrepareEpochFence," in value
    assert parse(parser, key, None) == ("transactionalId=mine", None)
    with pytest.raises(IllegalStateException, match="Unknown transaction state byte 9"):
        parse(parser, key, txn_value(9, struct.pack(">i", -1)))
    with pytest.raises(KafkaException, match="Unknown transaction log message key schema version 1"):
        parse(parser, int16(1) + key[2:], b"")


def test_decoders() -> None:
    assert parse(DecoderMessageParser(StringDecoder(), DefaultDecoder()), b"k", b"\xff") == ("k", b"\xff")
    assert parse(DecoderMessageParser(LongDecoder(), IntegerDecoder()), b"\0" * 7 + b"\5", b"\0\0\1\0") == (5, 256)
    assert parse(DecoderMessageParser(StringDecoder(), StringDecoder()), None, b"\xff") == (None, "\ufffd")
    assert parse(DecoderMessageParser(StringDecoder(), StringDecoder()), b"k", None) == (None, None)
    assert StringDecoder({"serializer.encoding": "latin-1"}).from_bytes(b"\xe4") == "ä"


@pytest.fixture
def file(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    logs = Logs(tmp_path)
    log = logs.create()
    as_leader(log, MemoryRecords.with_records(SimpleRecord(0, OFFSET_KEY, offset_value(1, 42, ""))))
    yield Log.log_file(logs.dir, 0)
    logs.close()


@pytest.mark.parametrize(
    ("options", "end"),
    [
        (["--offsets-decoder"], " key: offset::group:topic:3 payload: 42"),
        (["--value-decoder-class", "kafka.serializer.IntegerDecoder"], " payload: 65536"),
        (["--key-decoder-class", "kafka.serializer.DefaultDecoder"], f" key: {OFFSET_KEY!r} payload: "),
        (
            ["--value-decoder-class", "kafka_py.serializer.decoder.DefaultDecoder"],
            f" payload: {offset_value(1, 42, '')!r}",
        ),
        (["--value-decoder-class"], " payload: \0"),
    ],
)
def test_every_decoder_prints_the_data(file: pathlib.Path, capsys: Capture, options: list[str], end: str) -> None:
    assert main(["--files", str(file), *options]) == 0
    line = capsys.readouterr().out.split("\n")[2]
    assert line.startswith("offset: 0 position: 0 ")
    assert end in line


def test_what_is_no_decoder(file: pathlib.Path, capsys: Capture) -> None:
    with pytest.raises(TypeError, match=r"pathlib\.Path is no decoder"):
        main(["--files", str(file), "--value-decoder-class", "pathlib.Path"])
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--transaction-log-decoder" in capsys.readouterr().err
