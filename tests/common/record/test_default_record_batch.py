"""Headers and iteration of magic 2 batches."""

from __future__ import annotations

import struct

import pytest

from kafka_py.common.errors import CorruptRecordException, InvalidRecordException, KafkaException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

CODECS = CompressionType.values()
RECORDS = [SimpleRecord(1, b"a", b"1"), SimpleRecord(2, b"b", b"2"), SimpleRecord(3, b"c", b"3" * 100)]


def batch_of(
    *records: SimpleRecord, codec: CompressionType = CompressionType.NONE, offset: int = 0
) -> DefaultRecordBatch:
    records_in_memory = MemoryRecords.with_records(*records, compression_type=codec, initial_offset=offset)
    return DefaultRecordBatch(records_in_memory.buffer)


def with_count(codec: CompressionType, count: int) -> DefaultRecordBatch:
    batch = batch_of(*RECORDS, codec=codec)
    struct.pack_into(">i", batch.buffer, DefaultRecordBatch.RECORDS_COUNT_OFFSET, count)
    return DefaultRecordBatch(batch.buffer)


@pytest.mark.ported("DefaultRecordBatchTest.testWriteEmptyHeader")
@pytest.mark.parametrize("timestamp_type", [TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
@pytest.mark.parametrize(("transactional", "control"), [(False, False), (True, False), (True, True)])
def test_write_empty_header(timestamp_type: TimestampType, transactional: bool, control: bool) -> None:
    out = ByteBufferOutputStream()
    DefaultRecordBatch.write_empty_header(
        out, 2, 23423, 145, 983, 15, 37, 15, timestamp_type, 1_518_000_000_000, transactional, control
    )
    batch = DefaultRecordBatch(out.buffer)
    batch.ensure_valid()
    assert (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()) == (23423, 145, 983)
    assert batch.last_sequence() == 983 + 22
    assert (batch.base_offset(), batch.last_offset(), batch.next_offset()) == (15, 37, 38)
    assert batch.partition_leader_epoch() == 15
    assert (batch.is_transactional(), batch.is_control_batch()) == (transactional, control)
    assert batch.timestamp_type() is timestamp_type
    assert batch.max_timestamp() == 1_518_000_000_000
    assert batch.first_timestamp() == RecordBatch.NO_TIMESTAMP
    assert not batch.is_compressed()
    assert batch.count_or_null() == 0
    assert list(batch) == []


@pytest.mark.ported("DefaultRecordBatchTest.buildDefaultRecordBatch")
@pytest.mark.ported("DefaultRecordBatchTest.buildDefaultRecordBatchWithProducerId")
def test_build_default_record_batch_with_producer_id() -> None:
    builder = MemoryRecords.builder(2048, base_offset=1234567, producer_id=23423, producer_epoch=145, base_sequence=983)
    builder.append_with_offset(1234567, 1, b"a", b"v")
    builder.append_with_offset(1234568, 2, b"b", b"v")
    records = builder.build()
    batches = list(records.batches())
    assert len(batches) == 1
    batch = batches[0]
    assert batch.is_valid()
    assert (batch.base_offset(), batch.last_offset()) == (1234567, 1234568)
    assert (batch.max_timestamp(), batch.producer_id(), batch.producer_epoch()) == (2, 23423, 145)
    assert (batch.base_sequence(), batch.last_sequence()) == (983, 984)
    assert [record.sequence() for record in batch] == [983, 984]


@pytest.mark.ported("DefaultRecordBatchTest.buildDefaultRecordBatchWithSequenceWrapAround")
def test_sequence_wraps_around() -> None:
    records = MemoryRecords.with_idempotent_records(
        *RECORDS, producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2
    )
    batch = next(records.batches())
    assert batch.last_sequence() == 0
    assert [record.sequence() for record in batch] == [(1 << 31) - 2, (1 << 31) - 1, 0]


@pytest.mark.ported("DefaultRecordBatchTest.testIncrementSequence")
def test_increment_sequence() -> None:
    assert DefaultRecordBatch.increment_sequence(0, 10) == 10
    assert DefaultRecordBatch.increment_sequence((1 << 31) - 1, 1) == 0
    assert DefaultRecordBatch.increment_sequence((1 << 31) - 1, 10) == 9


@pytest.mark.ported("DefaultRecordBatchTest.testSizeInBytes")
def test_size_in_bytes() -> None:
    assert DefaultRecordBatch.size_in_bytes_of(RECORDS) == batch_of(*RECORDS).size_in_bytes()
    assert DefaultRecordBatch.size_in_bytes_of([]) == 0


@pytest.mark.ported("DefaultRecordBatchTest.testInvalidRecordSize")
def test_invalid_record_size() -> None:
    batch = batch_of(*RECORDS)
    struct.pack_into(">i", batch.buffer, DefaultRecordBatch.LENGTH_OFFSET, 10)
    with pytest.raises(InvalidRecordException, match="smaller than the minimum"):
        DefaultRecordBatch(batch.buffer).ensure_valid()


@pytest.mark.parametrize("size", [26, 40, 60])
def test_batch_shorter_than_a_header_is_invalid_not_an_error_of_its_own(size: int) -> None:
    buffer = bytearray(size)
    struct.pack_into(">i", buffer, 8, size - 12)
    buffer[16] = 2
    batch = next(MemoryRecords(buffer).batches())
    assert not batch.is_valid()
    assert batch.last_offset() == batch.base_offset()
    with pytest.raises(InvalidRecordException):
        batch.ensure_valid()


@pytest.mark.ported("DefaultRecordBatchTest.testInvalidRecordCountTooManyNonCompressedV2")
@pytest.mark.ported("DefaultRecordBatchTest.testInvalidRecordCountTooLittleNonCompressedV2")
@pytest.mark.ported("DefaultRecordBatchTest.testInvalidRecordCountTooManyCompressedV2")
@pytest.mark.ported("DefaultRecordBatchTest.testInvalidRecordCountTooLittleCompressedV2")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [-1, 1, 2, 4, (1 << 31) - 1])
def test_invalid_record_count(codec: CompressionType, count: int) -> None:
    with pytest.raises(InvalidRecordException):
        list(with_count(codec, count))


@pytest.mark.ported("DefaultRecordBatchTest.testInvalidCrc")
def test_invalid_crc() -> None:
    batch = batch_of(*RECORDS)
    batch.buffer[DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET + 3] += 23
    broken = DefaultRecordBatch(batch.buffer)
    assert not broken.is_valid()
    with pytest.raises(InvalidRecordException, match="Record is corrupt"):
        broken.ensure_valid()


@pytest.mark.ported("DefaultRecordBatchTest.testSetLastOffset")
def test_set_last_offset_keeps_the_checksum() -> None:
    batch = batch_of(*RECORDS)
    batch.set_last_offset(1000)
    assert (batch.base_offset(), batch.last_offset()) == (998, 1000)
    assert [record.offset() for record in batch] == [998, 999, 1000]
    DefaultRecordBatch(batch.buffer).ensure_valid()


@pytest.mark.ported("DefaultRecordBatchTest.testSetPartitionLeaderEpoch")
def test_set_partition_leader_epoch_keeps_the_checksum() -> None:
    batch = batch_of(*RECORDS)
    batch.set_last_offset_and_epoch(12, 500)
    assert batch.partition_leader_epoch() == 500
    batch.set_partition_leader_epoch(501)
    again = DefaultRecordBatch(batch.buffer)
    assert (again.partition_leader_epoch(), again.last_offset()) == (501, 12)
    again.ensure_valid()


@pytest.mark.ported("DefaultRecordBatchTest.testSetLogAppendTime")
def test_set_log_append_time() -> None:
    batch = batch_of(*RECORDS)
    before = batch.checksum()
    batch.set_max_timestamp(TimestampType.CREATE_TIME, 3)
    assert batch.checksum() == before
    batch.set_max_timestamp(TimestampType.LOG_APPEND_TIME, 15_000)
    assert batch.timestamp_type() is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp() for record in batch] == [15_000] * 3
    DefaultRecordBatch(batch.buffer).ensure_valid()


@pytest.mark.ported("DefaultRecordBatchTest.testSetNoTimestampTypeNotAllowed")
def test_set_no_timestamp_type_not_allowed() -> None:
    with pytest.raises(ValueError, match="Timestamp type"):
        batch_of(*RECORDS).set_max_timestamp(TimestampType.NO_TIMESTAMP_TYPE, -1)


@pytest.mark.ported("DefaultRecordBatchTest.testReadAndWriteControlBatch")
@pytest.mark.ported("MemoryRecordsTest.testBuildEndTxnMarker")
def test_read_and_write_control_batch() -> None:
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 347)
    records = MemoryRecords.with_end_transaction_marker(
        73, 13, marker, timestamp=1_000, initial_offset=983, partition_leader_epoch=5
    )
    assert records.size_in_bytes() == 61 + EndTransactionMarker.CURRENT_END_TXN_SCHEMA_RECORD_SIZE
    batch = next(records.batches())
    batch.ensure_valid()
    assert batch.is_control_batch()
    assert batch.is_transactional()
    assert (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()) == (73, 13, RecordBatch.NO_SEQUENCE)
    assert (batch.base_offset(), batch.partition_leader_epoch()) == (983, 5)
    record = next(iter(batch))
    assert EndTransactionMarker.deserialize(record) == marker


@pytest.mark.ported("DefaultRecordBatchTest.testStreamingIteratorConsistency")
@pytest.mark.parametrize("codec", CODECS)
def test_streaming_iterator_consistency(codec: CompressionType) -> None:
    records = [SimpleRecord(1000 + i, b"%d" % i if i % 3 else None, b"v" * (i * 37 % 500)) for i in range(700)]
    batch = batch_of(*records, codec=codec, offset=77)
    assert list(batch) == list(batch.streaming_iterator())
    assert [(r.timestamp(), r.key(), r.value()) for r in batch] == [(r.timestamp, r.key, r.value) for r in records]
    assert [r.offset() for r in batch] == list(range(77, 777))


@pytest.mark.parametrize(
    ("codec", "damage", "error"),
    [
        (CompressionType.GZIP, "garbage", KafkaException),
        (CompressionType.GZIP, "cut", InvalidRecordException),
        (CompressionType.GZIP, "trailer", KafkaException),
        (CompressionType.SNAPPY, "garbage", KafkaException),
        (CompressionType.SNAPPY, "cut", KafkaException),
        (CompressionType.LZ4, "garbage", KafkaException),
        (CompressionType.LZ4, "cut", KafkaException),
        (CompressionType.ZSTD, "garbage", KafkaException),
        (CompressionType.ZSTD, "cut", KafkaException),
    ],
)
def test_damaged_compressed_data(codec: CompressionType, damage: str, error: type[Exception]) -> None:
    values = [bytes((i * j * 7919) >> 3 & 0xFF for j in range(200)) for i in range(50)]
    buffer = bytes(batch_of(*(SimpleRecord(0, None, value) for value in values), codec=codec).buffer)
    if damage == "cut":
        buffer = buffer[: len(buffer) * 2 // 3]
    elif damage == "trailer":
        buffer = buffer[:-8] + b"\x00" * 8
    else:
        buffer = buffer[:61] + bytes(range(100, 200)) * 3
    with pytest.raises(error) as raised:
        list(DefaultRecordBatch(buffer))
    assert isinstance(raised.value, CorruptRecordException) == (error is InvalidRecordException)


def test_unknown_codec_is_an_illegal_argument() -> None:
    batch = batch_of(*RECORDS)
    batch.buffer[22] = 5
    with pytest.raises(ValueError, match="Unknown compression type id"):
        list(DefaultRecordBatch(batch.buffer))
