"""Batches in memory: cutting, filtering, down-conversion."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    IllegalStateException,
    UnsupportedCompressionTypeException,
)
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.byte_buffer_log_input_stream import ByteBufferLogInputStream
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import BatchRetention, MemoryRecords, RecordFilter
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.testing.mock_time import MockTime

TP = TopicPartition("topic", 0)
FORMATS = [
    (magic, codec)
    for magic in (0, 1, 2)
    for codec in CompressionType.values()
    if magic == 2 or codec is not CompressionType.ZSTD
]


def simple(*keys: bytes | None, timestamp: int = 10) -> list[SimpleRecord]:
    return [SimpleRecord(timestamp + i, key, b"value-%d" % i) for i, key in enumerate(keys)]


class Filter(RecordFilter):
    """Keeps records by a predicate, batches by a fixed decision."""

    def __init__(
        self,
        keep: Callable[[Record], bool] = lambda record: record.has_key(),
        retention: BatchRetention = BatchRetention.DELETE_EMPTY,
    ) -> None:
        self._keep = keep
        self._retention = retention

    def check_batch_retention(self, batch: RecordBatch) -> BatchRetention:
        return self._retention

    def should_retain_record(self, record_batch: RecordBatch, record: Record) -> bool:
        return self._keep(record)


def batches_of(records: MemoryRecords) -> list[RecordBatch]:
    return list(records.batches())


@pytest.mark.ported("MemoryRecordsTest.testIterator")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_iterator(magic: int, codec: CompressionType) -> None:
    records = simple(b"a", b"b", None, b"d")
    stream = ByteBufferOutputStream()
    builder = MemoryRecords.builder(stream, magic, codec, TimestampType.CREATE_TIME, 57)
    for record in records:
        builder.append(record)
    in_memory = builder.build()
    for _ in range(2):
        assert [r.offset() for r in in_memory.records()] == [57, 58, 59, 60]
        assert [r.key() for r in in_memory.records()] == [r.key for r in records]
        assert [r.value() for r in in_memory.records()] == [r.value for r in records]
        expected = [-1] * 4 if magic == 0 else [r.timestamp for r in records]
        assert [r.timestamp() for r in in_memory.records()] == expected
    assert all(batch.is_valid() for batch in in_memory.batches())
    assert len(batches_of(in_memory)) == (4 if magic < 2 and codec is CompressionType.NONE else 1)
    assert in_memory.valid_bytes() == in_memory.size_in_bytes()
    assert in_memory.has_matching_magic(magic)
    assert in_memory.has_compatible_magic(2)
    assert not in_memory.has_compatible_magic(magic - 1)


@pytest.mark.ported("ByteBufferLogInputStreamTest.iteratorIgnoresIncompleteEntries")
def test_partial_last_batch_is_left_out() -> None:
    one = bytes(MemoryRecords.with_records(*simple(b"a")).buffer)
    for cut in range(1, len(one)):
        records = MemoryRecords(one + one[:-cut])
        assert len(batches_of(records)) == 1
        assert records.valid_bytes() == len(one)
        assert records.size_in_bytes() == 2 * len(one) - cut


@pytest.mark.ported("ByteBufferLogInputStreamTest.iteratorRaisesOnTooSmallRecords")
@pytest.mark.ported("ByteBufferLogInputStreamTest.iteratorRaisesOnInvalidMagic")
@pytest.mark.parametrize(("place", "value"), [(8, 9 << 24), (8, -1), (16, 37), (16, -1)])
def test_second_batch_with_wrong_size_or_magic(place: int, value: int) -> None:
    one = bytes(MemoryRecords.with_records(*simple(b"a")).buffer)
    buffer = bytearray(one + one)
    if place == 8:
        struct.pack_into(">i", buffer, len(one) + 8, 9 if value > 0 else -1)
    else:
        struct.pack_into(">b", buffer, len(one) + 16, value)
    records = MemoryRecords(buffer)
    for _ in range(2):
        batches = records.batches()
        assert next(batches).last_offset() == 0
        with pytest.raises(CorruptRecordException):
            next(batches)


@pytest.mark.ported("ByteBufferLogInputStreamTest.iteratorRaisesOnTooLargeRecords")
def test_too_large_batch() -> None:
    buffer = MemoryRecords.with_records(*simple(b"a")).buffer
    with pytest.raises(CorruptRecordException, match="largest allowable"):
        ByteBufferLogInputStream(buffer, 60).next_batch()


def test_changes_of_one_reader_are_seen_by_the_next() -> None:
    records = MemoryRecords(bytearray(MemoryRecords.with_records(*simple(b"a", b"b")).buffer))
    for batch in records.batches():
        batch.set_last_offset(99)
    assert [record.offset() for record in records.records()] == [98, 99]
    assert [batch.last_offset() for batch in MemoryRecords(records.buffer).batches()] == [99]


def test_single_batch_is_the_one_that_batches_gives() -> None:
    one = bytes(MemoryRecords.with_records(SimpleRecord(1, b"k", b"v"), initial_offset=3).buffer)
    records = MemoryRecords(bytearray(one))
    batch = records.single_batch()
    assert batch is not None
    assert next(records.batches()) is batch
    batch.set_last_offset_and_epoch(9, 4)
    assert batch.header == DefaultRecordBatch(records.buffer).header
    assert (batch.base_offset(), batch.last_offset(), batch.partition_leader_epoch()) == (9, 9, 4)
    assert records.single_batch() is batch


@pytest.mark.parametrize("beforehand", [False, True])
def test_anything_but_one_whole_batch_of_magic_2_has_no_single_batch(beforehand: bool) -> None:
    one = bytes(MemoryRecords.with_records(SimpleRecord(1, b"k", b"v")).buffer)
    old = bytes(MemoryRecords.with_records(SimpleRecord(1, b"k", b"v" * 60), magic=1).buffer)
    for data in (b"", one[:-1], one + one, one + one[:40], old):
        records = MemoryRecords(data)
        if beforehand:
            assert len(list(records.batches())) == len(data) // len(one if data is not old else old)
        assert records.single_batch() is None


def test_write_fully_to_goes_on_until_all_is_written() -> None:
    records = MemoryRecords.with_records(*simple(b"a", b"b"))
    channel = SmallChannel()
    assert records.write_fully_to(channel) == records.size_in_bytes()
    assert channel.written == bytes(records.buffer)
    part = SmallChannel()
    assert records.write_to(part, 3, 5) == 5
    assert part.written == bytes(records.buffer[3:8])
    with pytest.raises(ValueError, match="position"):
        records.write_to(part, 3, records.size_in_bytes())


class SmallChannel:
    """Takes 7 bytes at a time."""

    def __init__(self) -> None:
        self.written = b""

    def write(self, data: memoryview) -> int:
        self.written += bytes(data[:7])
        return min(7, len(data))


@pytest.mark.ported("MemoryRecordsTest.testToString")
def test_repr_shows_records_and_corruption() -> None:
    assert repr(MemoryRecords.with_records(SimpleRecord(1000, b"key1", b"value1"))) == (
        "[(record=DefaultRecord(offset=0, timestamp=1000, key=4 bytes, value=6 bytes))]"
    )


@pytest.mark.ported("SimpleMemoryRecordsTest.testToStringIfLz4ChecksumIsCorrupted")
def test_repr_of_corrupted_lz4() -> None:
    buffer = bytearray(MemoryRecords.with_records(*simple(b"a"), compression_type=CompressionType.LZ4).buffer)
    buffer[61 + 6] ^= 0xFF
    assert repr(MemoryRecords(buffer)) == "[(record=CORRUPTED)]"


@pytest.mark.ported("MemoryRecordsTest.testFilterTo")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_filter_to(magic: int, codec: CompressionType) -> None:
    stream = ByteBufferOutputStream()
    for base, keys in ((0, [None, b"b"]), (3, [b"c", None, b"e"]), (6, [b"g", b"h"]), (8, [None])):
        builder = MemoryRecords.builder(stream, magic, codec, TimestampType.CREATE_TIME, base)
        for record in simple(*keys, timestamp=10 * base):
            builder.append(record)
        builder.close()
    records = MemoryRecords(stream.buffer)
    result = records.filter_to(TP, Filter(), 1 << 20, 1 << 20)
    assert (result.messages_read, result.messages_retained) == (8, 5)
    assert result.bytes_read == records.size_in_bytes()
    assert result.bytes_retained == len(result.output)
    assert result.max_offset == 7
    filtered = MemoryRecords(result.output)
    assert [r.offset() for r in filtered.records()] == [1, 3, 5, 6, 7]
    assert [bytes(r.key() or b"") for r in filtered.records()] == [b"b", b"c", b"e", b"g", b"h"]
    assert all(batch.is_valid() for batch in filtered.batches())
    assert all(batch.compression_type() is codec for batch in filtered.batches())
    if magic == 2:
        assert [batch.base_offset() for batch in filtered.batches()] == [0, 3, 6]
        assert [batch.last_offset() for batch in filtered.batches()] == [1, 5, 7]
    if magic > 0:
        assert result.max_timestamp == 61
        assert result.shallow_offset_of_max_timestamp == 7


@pytest.mark.ported("MemoryRecordsTest.testFilterToPreservesProducerInfo")
@pytest.mark.ported("MemoryRecordsTest.testFilterToPreservesPartitionLeaderEpoch")
@pytest.mark.ported("MemoryRecordsTest.testFilterToAlreadyCompactedLog")
def test_filter_to_preserves_header_fields_and_offsets() -> None:
    original = MemoryRecords.with_transactional_records(
        *simple(None, b"b", None, b"d", None),
        producer_id=23,
        producer_epoch=5,
        base_sequence=10,
        initial_offset=40,
        partition_leader_epoch=67,
    )
    once = MemoryRecords(original.filter_to(TP, Filter(), 1 << 20, 1 << 20).output)
    twice = MemoryRecords(once.filter_to(TP, Filter(lambda r: bytes(r.key() or b"") == b"d"), 1 << 20, 1 << 20).output)
    for records, offsets, sequences in ((once, [41, 43], [11, 13]), (twice, [43], [13])):
        batch = next(records.batches())
        batch.ensure_valid()
        assert (batch.base_offset(), batch.last_offset(), batch.next_offset()) == (40, 44, 45)
        assert (batch.producer_id(), batch.producer_epoch()) == (23, 5)
        assert (batch.base_sequence(), batch.last_sequence()) == (10, 14)
        assert batch.partition_leader_epoch() == 67
        assert batch.is_transactional()
        assert [record.offset() for record in batch] == offsets
        assert [record.sequence() for record in batch] == sequences


@pytest.mark.ported("MemoryRecordsTest.testFilterToPreservesLogAppendTime")
@pytest.mark.parametrize("magic", [1, 2])
def test_filter_to_preserves_log_append_time(magic: int) -> None:
    builder = MemoryRecords.builder(
        1024, magic, CompressionType.GZIP, TimestampType.LOG_APPEND_TIME, 0, log_append_time=777
    )
    for record in simple(None, b"b", b"c"):
        builder.append(record)
    filtered = MemoryRecords(builder.build().filter_to(TP, Filter(), 1 << 20, 1 << 20).output)
    batch = next(filtered.batches())
    assert batch.timestamp_type() is TimestampType.LOG_APPEND_TIME
    assert batch.max_timestamp() == 777
    assert [record.timestamp() for record in batch] == [777, 777]


@pytest.mark.ported("MemoryRecordsTest.testFilterToEmptyBatchRetention")
@pytest.mark.ported("MemoryRecordsTest.testEmptyBatchDeletion")
def test_empty_batches_stay_or_go() -> None:
    original = MemoryRecords.with_idempotent_records(
        *simple(b"a", b"b"), producer_id=23, producer_epoch=5, base_sequence=10, initial_offset=3
    )
    nothing: Callable[[Record], bool] = lambda record: False  # noqa: E731
    kept = original.filter_to(TP, Filter(nothing, BatchRetention.RETAIN_EMPTY), 1 << 20, 1 << 20)
    batch = next(MemoryRecords(kept.output).batches())
    batch.ensure_valid()
    assert batch.count_or_null() == 0
    assert (batch.base_offset(), batch.last_offset(), batch.last_sequence()) == (3, 4, 11)
    assert batch.max_timestamp() == 11
    assert (kept.messages_read, kept.messages_retained) == (2, 0)
    assert original.filter_to(TP, Filter(nothing), 1 << 20, 1 << 20).output == b""
    again = MemoryRecords(kept.output).filter_to(TP, Filter(retention=BatchRetention.DELETE), 1 << 20, 1 << 20)
    assert again.output == b""
    assert again.messages_read == 0
    old = MemoryRecords.with_records(*simple(b"a"), magic=1)
    with pytest.raises(IllegalStateException):
        old.filter_to(TP, Filter(nothing, BatchRetention.RETAIN_EMPTY), 1 << 20, 1 << 20)


@pytest.mark.ported("MemoryRecordsTest.testFilterToWithUndersizedBuffer")
def test_filter_to_stops_at_the_buffer_size() -> None:
    stream = ByteBufferOutputStream()
    for base in (0, 2, 4):
        for record in (builder := MemoryRecords.builder(stream, base_offset=base), *simple(b"x" * 100, b"y" * 100))[1:]:
            assert isinstance(record, SimpleRecord)
            builder.append(record)
        builder.close()
    rest = stream.buffer
    outputs = []
    while rest:
        result = MemoryRecords(rest).filter_to(TP, Filter(), bytearray(64), 1 << 20)
        outputs.append(result.output)
        rest = rest[result.bytes_read :]
    assert len(outputs) == 3
    assert b"".join(outputs) == stream.buffer


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4])
@pytest.mark.parametrize("to_magic", [0, 1])
def test_down_convert(codec: CompressionType, to_magic: int) -> None:
    headers = (RecordHeader("h", b"1"),)
    records = [SimpleRecord(5 + i, b"k%d" % i, b"v", headers) for i in range(10)]
    in_memory = MemoryRecords.with_records(*records, initial_offset=20, compression_type=codec)
    converted = in_memory.down_convert(to_magic, 24, MockTime())
    result = list(converted.records().records())
    first = 24 if codec is CompressionType.NONE else 20
    assert [record.offset() for record in result] == list(range(first, 30))
    assert all(record.has_magic(to_magic) for record in result)
    assert all(batch.is_valid() for batch in converted.records().batches())
    assert converted.records_processing_stats().num_records_converted() == len(result)
    assert converted.records_processing_stats().temporary_memory_bytes() > in_memory.size_in_bytes()
    if to_magic == 1:
        assert [record.timestamp() for record in result] == list(range(5 + first - 20, 15))


def test_down_convert_leaves_old_batches_and_drops_control_batches() -> None:
    stream = ByteBufferOutputStream()
    old = MemoryRecords.with_records(*simple(b"a"), magic=1)
    stream.write(old.buffer)
    stream.write(MemoryRecords.with_records(*simple(b"b"), initial_offset=1).buffer)
    control = bytearray(MemoryRecords.with_records(*simple(b"c"), initial_offset=2).buffer)
    control[22] |= 0x20
    stream.write(control)
    converted = MemoryRecords(stream.buffer).down_convert(1, 0, MockTime()).records()
    assert [(r.offset(), bytes(r.key() or b"")) for r in converted.records()] == [(0, b"a"), (1, b"b")]
    assert bytes(converted.buffer[: old.size_in_bytes()]) == bytes(old.buffer)


def test_zstd_has_no_place_in_old_formats() -> None:
    records = MemoryRecords.with_records(*simple(b"a"), compression_type=CompressionType.ZSTD)
    with pytest.raises(UnsupportedCompressionTypeException):
        records.down_convert(1, 0, MockTime())


def test_header_tuple_follows_the_setters() -> None:
    batch = DefaultRecordBatch(MemoryRecords.with_records(*simple(b"a", b"b")).buffer)
    batch.set_last_offset_and_epoch(11, 3)
    batch.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 99)
    assert batch.header == DefaultRecordBatch(batch.buffer).header
    assert batch.header[0] == 10
    assert batch.header[2] == 3
    assert batch.header[8] == 99
