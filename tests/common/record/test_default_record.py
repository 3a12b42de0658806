"""Single records of magic 2, and what makes them invalid."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import InvalidRecordException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.default_record import DefaultRecord
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.utils.byte_utils import ByteUtils

HEADERS = (RecordHeader("foo", b"value"), RecordHeader("bar", None), RecordHeader("\U0001f984", b""))


def body_of(*fields: int | bytes) -> bytearray:
    """Attributes, then varints and raw bytes, with the right length in front."""
    body = bytearray(b"\x00")
    for field in fields:
        if isinstance(field, int):
            ByteUtils.write_varint(field, body)
        else:
            body += field
    record = bytearray()
    ByteUtils.write_varint(len(body), record)
    return record + body


def read(buffer: bytes | bytearray) -> DefaultRecord:
    return DefaultRecord.read_from(memoryview(buffer), 0, 0, 0, RecordBatch.NO_SEQUENCE, None)[0]


@pytest.mark.ported("DefaultRecordTest.testBasicSerde")
@pytest.mark.parametrize("key", [None, b"", b"hi"])
@pytest.mark.parametrize("value", [None, b"", b"there" * 40])
@pytest.mark.parametrize("headers", [(), HEADERS])
@pytest.mark.parametrize(("timestamp_delta", "offset_delta"), [(0, 0), (10, 23), (-323, 8192), (1 << 40, 0)])
def test_basic_serde(
    key: bytes | None,
    value: bytes | None,
    headers: tuple[RecordHeader, ...],
    timestamp_delta: int,
    offset_delta: int,
) -> None:
    out = bytearray(b"??")
    size = DefaultRecord.write_to(out, offset_delta, timestamp_delta, key, value, headers)
    assert size == len(out) - 2
    assert size == DefaultRecord.size_in_bytes_of(offset_delta, timestamp_delta, key, value, headers)
    record, end = DefaultRecord.read_from(memoryview(out + b"tail"), 2, 37, 15_000, 123, None)
    assert end == len(out)
    assert record.size_in_bytes() == size
    assert record.offset() == 37 + offset_delta
    assert record.sequence() == 123 + offset_delta
    assert record.timestamp() == 15_000 + timestamp_delta
    assert record.key() == key
    assert record.value() == value
    assert record.has_key() is (key is not None)
    assert record.value_size() == (-1 if value is None else len(value))
    assert record.headers() == headers
    assert [header.value() for header in record.headers()] == [header.value() for header in headers]


@pytest.mark.ported("DefaultRecordTest.testSerdeNoSequence")
def test_serde_no_sequence() -> None:
    out = bytearray()
    DefaultRecord.write_to(out, 10, 0, b"k", b"v", ())
    assert read(out).sequence() == RecordBatch.NO_SEQUENCE


def test_log_append_time_replaces_the_timestamp() -> None:
    out = bytearray()
    DefaultRecord.write_to(out, 0, 5, None, b"v", ())
    assert DefaultRecord.read_from(memoryview(out), 0, 0, 100, -1, 777)[0].timestamp() == 777


@pytest.mark.ported("DefaultRecordTest.testInvalidKeySize")
def test_invalid_key_size() -> None:
    with pytest.raises(InvalidRecordException):
        read(body_of(0, 0, 105, b"x" * 30))


@pytest.mark.ported("DefaultRecordTest.testInvalidValueSize")
def test_invalid_value_size() -> None:
    with pytest.raises(InvalidRecordException):
        read(body_of(0, 0, -1, 105, b"x" * 30))


@pytest.mark.ported("DefaultRecordTest.testBasicSerdeInvalidHeaderCountTooHigh")
@pytest.mark.ported("DefaultRecordTest.testBasicSerdeInvalidHeaderCountTooLow")
@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2_000_000, (1 << 31) - 1])
def test_invalid_header_count(count: int) -> None:
    with pytest.raises(InvalidRecordException):
        read(body_of(0, 0, -1, 1, b"v", count, 1, b"a", 1, b"1", 1, b"b", -1))


def test_null_header_key() -> None:
    with pytest.raises(InvalidRecordException, match="negative header key size"):
        read(body_of(0, 0, -1, -1, 1, -1, 1, b"1"))


def test_any_negative_key_length_is_null() -> None:
    assert read(body_of(0, 0, -9, 1, b"v", 0)).key() is None


@pytest.mark.ported("DefaultRecordTest.testUnderflowReadingTimestamp")
@pytest.mark.ported("DefaultRecordTest.testUnderflowReadingVarlong")
@pytest.mark.ported("DefaultRecordTest.testInvalidVarlong")
@pytest.mark.parametrize("body", [b"\x00", b"\x00\xff", b"\x00" + b"\xff" * 11])
def test_broken_timestamp(body: bytes) -> None:
    record = bytearray()
    ByteUtils.write_varint(len(body), record)
    with pytest.raises(InvalidRecordException):
        read(record + body)


@pytest.mark.parametrize("cut", range(1, 12))
def test_cut_off_record(cut: int) -> None:
    out = bytearray()
    DefaultRecord.write_to(out, 1, 2, b"key", b"value", ())
    with pytest.raises(InvalidRecordException):
        read(out[:-cut])


def test_endless_length_is_an_illegal_argument() -> None:
    with pytest.raises(ValueError, match="Varint is too long"):
        read(b"\xff" * 11)


def test_invalid_utf8_in_header_keys_is_replaced() -> None:
    assert read(body_of(0, 0, -1, -1, 1, 2, b"\xff\xfe", -1)).headers()[0].key() == "\ufffd\ufffd"
