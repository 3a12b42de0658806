"""Building batches of every format and codec."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.memory_records_builder import MemoryRecordsBuilder
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

CODECS = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]


def builder_of(
    magic: int = 2,
    codec: CompressionType = CompressionType.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time: int = 0,
    limit: int = 1024,
) -> MemoryRecordsBuilder:
    return MemoryRecords.builder(limit, magic, codec, timestamp_type, 0, log_append_time)


@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteEmptyRecordSet")
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", CODECS)
def test_write_empty_record_set(magic: int, codec: CompressionType) -> None:
    stream = ByteBufferOutputStream(128)
    stream.write(b"before")
    records = MemoryRecords.builder(stream, magic, codec).build()
    assert records.size_in_bytes() == 0
    assert stream.buffer == b"before"


@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteTransactionalRecordSet")
def test_write_transactional_record_set() -> None:
    builder = MemoryRecords.builder(128, producer_id=9809, producer_epoch=15, base_sequence=2342, is_transactional=True)
    builder.append(1_000, b"foo", b"bar")
    batches = list(builder.build().batches())
    assert [batch.is_transactional() for batch in batches] == [True]


@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteTransactionalNotAllowedMagicV0")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteTransactionalNotAllowedMagicV1")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteControlBatchNotAllowedMagicV0")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteControlBatchNotAllowedMagicV1")
@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_have_no_transactions(magic: int) -> None:
    with pytest.raises(ValueError, match="Transactional"):
        MemoryRecords.builder(128, magic, is_transactional=True)
    with pytest.raises(ValueError, match="Control"):
        MemoryRecords.builder(128, magic, is_control_batch=True)


@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteTransactionalWithInvalidPID")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteIdempotentWithInvalidEpoch")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteIdempotentWithInvalidBaseSequence")
@pytest.mark.parametrize(
    ("producer_id", "epoch", "sequence", "transactional"),
    [(-1, 15, 2342, True), (9809, -1, 2342, True), (9809, 15, -1, False)],
)
def test_impossible_producer_states(producer_id: int, epoch: int, sequence: int, transactional: bool) -> None:
    builder = MemoryRecords.builder(
        128, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=transactional
    )
    builder.append(1, b"k", b"v")
    with pytest.raises(ValueError, match=r"valid producer ID|negative"):
        builder.close()


@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteEndTxnMarkerNonTransactionalBatch")
@pytest.mark.ported("MemoryRecordsBuilderTest.testWriteEndTxnMarkerNonControlBatch")
@pytest.mark.parametrize(("transactional", "control"), [(False, True), (True, False)])
def test_end_txn_marker_needs_a_transactional_control_batch(transactional: bool, control: bool) -> None:
    builder = MemoryRecords.builder(
        128, producer_id=9809, producer_epoch=15, is_transactional=transactional, is_control_batch=control
    )
    with pytest.raises(ValueError, match=r"transactional flag|control batches"):
        builder.append_end_txn_marker(1, EndTransactionMarker(ControlRecordType.ABORT, 0))


@pytest.mark.ported("MemoryRecordsBuilderTest.testCompressionRateV0")
@pytest.mark.ported("MemoryRecordsBuilderTest.testCompressionRateV1")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_compression_rate(codec: CompressionType, magic: int) -> None:
    records = [
        LegacyRecord.create(magic, 0, b"a", b"1"),
        LegacyRecord.create(magic, 1, b"b", b"2" * 500),
        LegacyRecord.create(magic, 2, b"c", b"3"),
    ]
    builder = builder_of(magic, codec)
    uncompressed = 0
    for record in records:
        uncompressed += record.size_in_bytes() + 12
        builder.append(record)
    built = builder.build()
    if codec is CompressionType.NONE:
        assert builder.compression_ratio() == 1.0
    else:
        compressed = built.size_in_bytes() - 12 - LegacyRecord.record_overhead(magic)
        assert builder.compression_ratio() == pytest.approx(compressed / uncompressed)


@pytest.mark.ported("MemoryRecordsBuilderTest.testEstimatedSizeInBytes")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_estimated_size_in_bytes(codec: CompressionType, magic: int) -> None:
    builder = builder_of(magic, codec)
    before = builder.estimated_size_in_bytes()
    for i in range(10):
        builder.append(SimpleRecord(i, b"key", b"value-%d" % i))
        assert builder.estimated_size_in_bytes() > before
        before = builder.estimated_size_in_bytes()
    size = builder.build().size_in_bytes()
    assert builder.estimated_size_in_bytes() == size
    if codec is CompressionType.NONE:
        assert before == size


@pytest.mark.ported("MemoryRecordsBuilderTest.buildUsingLogAppendTime")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [1, 2])
def test_build_using_log_append_time(codec: CompressionType, magic: int) -> None:
    builder = builder_of(magic, codec, TimestampType.LOG_APPEND_TIME, 1_000)
    for _ in range(3):
        builder.append(0, b"a", b"1")
    records = builder.build()
    info = builder.info()
    assert info.max_timestamp == 1_000
    whole = codec is not CompressionType.NONE or magic == 2
    assert info.shallow_offset_of_max_timestamp == (2 if whole else 0)
    for batch in records.batches():
        assert batch.timestamp_type() is TimestampType.LOG_APPEND_TIME
        assert all(record.timestamp() == 1_000 for record in batch)


@pytest.mark.ported("MemoryRecordsBuilderTest.buildUsingCreateTime")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_build_using_create_time(codec: CompressionType, magic: int) -> None:
    builder = builder_of(magic, codec)
    for timestamp in (0, 2, 1):
        builder.append(timestamp, b"a", b"1")
    records = builder.build()
    info = builder.info()
    if magic == 0:
        assert info.max_timestamp == -1
        return
    assert info.max_timestamp == 2
    whole = codec is not CompressionType.NONE or magic == 2
    assert info.shallow_offset_of_max_timestamp == (2 if whole else 1)
    assert [record.timestamp() for record in records.records()] == [0, 2, 1]


@pytest.mark.ported("MemoryRecordsBuilderTest.testAppendedChecksumConsistency")
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_appended_checksum_consistency(magic: int) -> None:
    builder = builder_of(magic)
    checksum = builder.append(1, b"key", b"value")
    record = next(builder.build().records())
    assert record.checksum_or_null() == checksum
    assert (checksum is None) is (magic == 2)


@pytest.mark.ported("MemoryRecordsBuilderTest.testSmallWriteLimit")
@pytest.mark.ported("MemoryRecordsBuilderTest.writePastLimit")
@pytest.mark.ported("MemoryRecordsTest.testHasRoomForMethod")
@pytest.mark.ported("MemoryRecordsTest.testHasRoomForMethodWithHeaders")
def test_the_first_record_always_fits() -> None:
    builder = builder_of(limit=0)
    assert not builder.is_full()
    assert builder.has_room_for(0, b"foo", b"bar")
    builder.append(0, b"foo", b"bar")
    assert builder.is_full()
    assert not builder.has_room_for(1, b"foo", b"bar")
    assert [bytes(record.key() or b"") for record in builder.build().records()] == [b"foo"]
    room = builder_of(limit=120)
    room.append(0, b"a", b"1")
    assert room.has_room_for(1, b"b", b"2" * 20)
    assert not room.has_room_for(1, b"b", b"2" * 20, (RecordHeader("h" * 10, b"v" * 20),))


@pytest.mark.ported("MemoryRecordsBuilderTest.testAppendAtInvalidOffset")
def test_append_at_invalid_offset() -> None:
    builder = builder_of()
    builder.append_with_offset(10, 1, b"a", None)
    for offset in (9, 10):
        with pytest.raises(ValueError, match="increase monotonically"):
            builder.append_with_offset(offset, 1, b"b", None)
    with pytest.raises(ValueError, match="offset delta"):
        builder.append_with_offset(1 << 31, 1, b"b", None)
    with pytest.raises(ValueError, match="negative timestamp"):
        builder.append_with_offset(12, -2, b"b", None)
    with pytest.raises(ValueError, match="does not support record headers"):
        builder_of(1).append(1, b"k", b"v", (RecordHeader("h", b""),))


@pytest.mark.ported("MemoryRecordsBuilderTest.shouldThrowIllegalStateExceptionOnBuildWhenAborted")
@pytest.mark.ported("MemoryRecordsBuilderTest.shouldThrowIllegalStateExceptionOnCloseWhenAborted")
@pytest.mark.ported("MemoryRecordsBuilderTest.shouldThrowIllegalStateExceptionOnAppendWhenAborted")
@pytest.mark.ported("MemoryRecordsBuilderTest.shouldResetBufferToInitialPositionOnAbort")
@pytest.mark.parametrize("codec", CODECS)
def test_abort(codec: CompressionType) -> None:
    stream = ByteBufferOutputStream()
    stream.write(b"before")
    builder = MemoryRecords.builder(stream, 2, codec)
    builder.append(0, b"a", b"1")
    builder.abort()
    assert stream.buffer == b"before"
    with pytest.raises(IllegalStateException):
        builder.build()
    with pytest.raises(IllegalStateException):
        builder.close()
    with pytest.raises(IllegalStateException):
        builder.append(0, b"a", b"1")


def test_producer_state_can_be_set_until_closed_and_rewritten_after() -> None:
    builder = builder_of()
    builder.append(0, b"a", b"1")
    builder.set_producer_state(5, 1, 7, False)
    assert next(builder.build().batches()).base_sequence() == 7
    with pytest.raises(IllegalStateException):
        builder.set_producer_state(5, 1, 8, False)
    builder.reopen_and_rewrite_producer_state(5, 2, 9, True)
    batch = next(builder.build().batches())
    batch.ensure_valid()
    assert (batch.producer_epoch(), batch.base_sequence(), batch.is_transactional()) == (2, 9, True)


def test_builders_may_share_a_stream() -> None:
    stream = ByteBufferOutputStream(4096)
    built = []
    for base in (0, 1, 2):
        builder = MemoryRecords.builder(stream, base_offset=base)
        builder.append(base, b"k", b"v")
        built.append(builder.build())
    assert b"".join(bytes(records.buffer) for records in built) == stream.buffer
    assert [record.offset() for record in MemoryRecords(stream.buffer).records()] == [0, 1, 2]
