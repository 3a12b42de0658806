"""Messages of magic 0 and 1, alone and inside of wrappers."""

from __future__ import annotations

import struct
import zlib

import pytest

from kafka_py.common.errors import CorruptRecordException, InvalidRecordException, KafkaException
from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

SIMPLE = [SimpleRecord(1, b"a", b"1"), SimpleRecord(2, b"b", b"2"), SimpleRecord(3, b"c", b"3")]
CODECS = [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]


def wrapper(magic: int, offset: int = 0, codec: CompressionType = CompressionType.GZIP) -> ByteBufferLegacyRecordBatch:
    records = MemoryRecords.with_records(*SIMPLE, magic=magic, compression_type=codec, initial_offset=offset)
    return ByteBufferLegacyRecordBatch(records.buffer)


def wrapper_of(value: bytes | None, magic: int = 1, codec: CompressionType = CompressionType.GZIP) -> MemoryRecords:
    record = LegacyRecord.create(magic, 5, None, value, codec)
    return MemoryRecords(bytearray(struct.pack(">qi", 0, record.size_in_bytes()) + bytes(record.buffer())))


def compressed(data: bytes, codec: CompressionType = CompressionType.GZIP, magic: int = 1) -> bytes:
    out = ByteBufferOutputStream()
    stream = codec.wrap_for_output(out, magic)
    stream.write(data)
    stream.close()  # type: ignore[attr-defined]
    return bytes(out.buffer)


@pytest.mark.ported("LegacyRecordTest.testFields")
@pytest.mark.ported("LegacyRecordTest.testChecksum")
@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("key", [None, b"", b"key"])
@pytest.mark.parametrize("value", [None, b"", b"value"])
def test_fields_and_checksum(magic: int, key: bytes | None, value: bytes | None) -> None:
    record = LegacyRecord.create(magic, 10, key, value)
    assert (record.key(), record.value()) == (key, value)
    assert record.has_key() is (key is not None)
    assert record.has_null_value() is (value is None)
    assert record.magic() == magic
    assert record.timestamp() == (10 if magic else RecordBatch.NO_TIMESTAMP)
    expected = TimestampType.CREATE_TIME if magic else TimestampType.NO_TIMESTAMP_TYPE
    assert record.timestamp_type() is expected
    assert record.size_in_bytes() == LegacyRecord.record_size(magic, key, value)
    assert record.checksum() == record.compute_checksum() == zlib.crc32(record.buffer()[4:])
    record.ensure_valid()
    for place in range(4, record.size_in_bytes()):
        damaged = bytearray(record.buffer())
        damaged[place] ^= 69
        assert not LegacyRecord(damaged).is_valid()
        with pytest.raises(InvalidRecordException):
            LegacyRecord(damaged).ensure_valid()
    assert record == LegacyRecord(bytes(record.buffer()))


@pytest.mark.ported("SimpleLegacyRecordTest.testIsValidWithTooSmallBuffer")
def test_too_small_buffer() -> None:
    record = LegacyRecord(bytes(2))
    assert not record.is_valid()
    with pytest.raises(InvalidRecordException, match="too small"):
        record.ensure_valid()


def test_lengths_that_point_outside() -> None:
    record = LegacyRecord(struct.pack(">IBBqii", 0, 1, 0, 7, 100, 3))
    with pytest.raises(ValueError, match="outside"):
        record.value_size()
    with pytest.raises(ValueError, match="exceeds"):
        record.key()


@pytest.mark.ported("SimpleLegacyRecordTest.testCompressedIterationWithNullValue")
def test_compressed_iteration_with_null_value() -> None:
    with pytest.raises(InvalidRecordException, match="null value"):
        list(wrapper_of(None).records())


@pytest.mark.ported("SimpleLegacyRecordTest.testCompressedIterationWithEmptyRecords")
@pytest.mark.parametrize("codec", CODECS)
def test_compressed_iteration_with_empty_records(codec: CompressionType) -> None:
    empty = compressed(b"", codec)
    if codec is CompressionType.SNAPPY:
        assert len(empty) == 16
    with pytest.raises(InvalidRecordException, match="no inner records"):
        list(wrapper_of(empty, codec=codec).records())


@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetLastOffsetCompressed")
@pytest.mark.parametrize("codec", CODECS)
def test_set_last_offset_compressed(codec: CompressionType) -> None:
    batch = wrapper(1, codec=codec)
    batch.set_last_offset(20)
    assert (batch.base_offset(), batch.last_offset()) == (18, 20)
    assert [record.offset() for record in batch] == [18, 19, 20]
    assert batch.is_valid()


@pytest.mark.ported("AbstractLegacyRecordBatchTest.testIterateCompressedRecordWithWrapperOffsetZero")
@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_offset_zero(magic: int) -> None:
    batch = wrapper(magic)
    batch.set_last_offset(0)
    assert [record.offset() for record in batch] == [0, 1, 2]


@pytest.mark.ported("AbstractLegacyRecordBatchTest.testInvalidWrapperOffsetV1")
def test_invalid_wrapper_offset_v1() -> None:
    batch = wrapper(1)
    batch.set_last_offset(1)
    with pytest.raises(InvalidRecordException, match="invalid wrapper offset"):
        list(batch)


@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetLogAppendTimeV1")
@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetCreateTimeV1")
def test_set_timestamps_v1() -> None:
    batch = wrapper(1)
    before = batch.checksum()
    batch.set_max_timestamp(TimestampType.CREATE_TIME, 3)
    assert batch.checksum() == before
    batch.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 1_000)
    assert batch.timestamp_type() is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp() for record in batch] == [1_000] * 3
    assert batch.is_valid()
    batch.set_max_timestamp(TimestampType.CREATE_TIME, 2_000)
    assert [record.timestamp() for record in batch] == [1, 2, 3]
    assert batch.is_valid()


@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetNoTimestampTypeNotAllowed")
@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetLogAppendTimeNotAllowedV0")
@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetPartitionLeaderEpochNotAllowedV0")
@pytest.mark.ported("AbstractLegacyRecordBatchTest.testSetPartitionLeaderEpochNotAllowedV1")
def test_setters_that_the_formats_do_not_allow() -> None:
    with pytest.raises(ValueError, match="Timestamp type"):
        wrapper(1).set_max_timestamp(TimestampType.NO_TIMESTAMP_TYPE, -1)
    with pytest.raises(TypeError):
        wrapper(0).set_max_timestamp(TimestampType.LOG_APPEND_TIME, 7)
    for magic in (0, 1):
        with pytest.raises(TypeError):
            wrapper(magic).set_partition_leader_epoch(15)


def test_nested_compression_is_refused() -> None:
    inner = wrapper(1)
    with pytest.raises(InvalidRecordException, match="must not be compressed"):
        list(wrapper_of(compressed(bytes(inner.buffer))).records())


def test_inner_size_too_small() -> None:
    with pytest.raises(CorruptRecordException, match="minimum record overhead"):
        list(wrapper_of(compressed(struct.pack(">qi", 0, 3) + b"abc")).records())


def test_partial_last_inner_message_is_left_out() -> None:
    whole = bytes(MemoryRecords.with_records(*SIMPLE, magic=1).buffer)
    records = list(wrapper_of(compressed(whole[:-1])).records())
    assert [bytes(record.value() or b"") for record in records] == [b"1", b"2"]


def test_cut_off_gzip_is_damaged_data() -> None:
    whole = bytes(MemoryRecords.with_records(*SIMPLE, magic=1).buffer)
    with pytest.raises(KafkaException) as raised:
        list(wrapper_of(compressed(whole)[:-12]).records())
    assert not isinstance(raised.value, CorruptRecordException)
