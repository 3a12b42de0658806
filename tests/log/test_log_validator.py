"""Validation, conversion and offset assignment of produced batches."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    InvalidTimestampException,
    KafkaException,
    UnsupportedForMessageFormatException,
)
from kafka_py.common.long_ref import LongRef
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.decompression_stream import MAX_RECORD_SIZE
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.common.utils.crc32c import Crc32C
from kafka_py.log import log_validator
from kafka_py.log.log_validator import LogValidator, ValidationAndOffsetAssignResult
from kafka_py.message.compression_codec import CompressionCodec
from kafka_py.testing.mock_time import MockTime

NONE, GZIP = CompressionType.NONE, CompressionType.GZIP
CREATE_TIME, LOG_APPEND_TIME = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
TIME = MockTime()
NOW = TIME.milliseconds()
LONG_MAX = (1 << 63) - 1


def records_of(
    magic: int, timestamp: int = NOW, codec: CompressionType = NONE, count: int = 3, key: bytes | None = b"k"
) -> MemoryRecords:
    simple = [SimpleRecord(timestamp + i, key, b"hello%d" % i) for i in range(count)]
    return owned(MemoryRecords.with_records(*simple, magic=magic, compression_type=codec))


def owned(records: MemoryRecords) -> MemoryRecords:
    """A copy that may be written to, as a received request may."""
    return MemoryRecords(memoryview(bytearray(records.buffer)))


def validate(
    records: MemoryRecords,
    magic: int,
    source: CompressionType = NONE,
    target: CompressionType | None = None,
    *,
    offset: int = 0,
    compacted: bool = False,
    timestamp_type: TimestampType = CREATE_TIME,
    diff: int = LONG_MAX,
    epoch: int = 7,
    from_client: bool = True,
    now: int = NOW,
) -> ValidationAndOffsetAssignResult:
    return LogValidator.validate_messages_and_assign_offsets(
        records,
        LongRef(offset),
        TIME,
        now,
        CompressionCodec.get_compression_codec(source.id),
        CompressionCodec.get_compression_codec((source if target is None else target).id),
        compacted,
        magic,
        timestamp_type,
        diff,
        epoch,
        from_client,
    )


def offsets_of(records: MemoryRecords) -> list[int]:
    return [record.offset() for record in records.records()]


def check_batches(records: MemoryRecords, magic: int, codec: CompressionType) -> None:
    for batch in records.batches():
        batch.ensure_valid()
        assert batch.magic() == magic
        assert batch.compression_type() is codec


@pytest.mark.ported("LogValidatorTest.testLogAppendTimeNonCompressedV1")
@pytest.mark.ported("LogValidatorTest.testLogAppendTimeNonCompressedV2")
@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_non_compressed(magic: int) -> None:
    records = records_of(magic, timestamp=1234)
    result = validate(records, magic, timestamp_type=LOG_APPEND_TIME, diff=1000)
    assert result.validated_records is records
    assert result.validated_records.size_in_bytes() == records.size_in_bytes()
    assert not result.message_size_maybe_changed
    assert result.max_timestamp == NOW
    assert result.shallow_offset_of_max_timestamp == (2 if magic == 2 else 0)
    check_batches(records, magic, NONE)
    assert all(batch.timestamp_type() is LOG_APPEND_TIME for batch in records.batches())
    assert {record.timestamp() for record in records.records()} == {NOW}
    assert result.records_processing_stats.num_records_converted() == 0
    assert result.records_processing_stats.temporary_memory_bytes() == 0
    assert result.record_conversion_stats is result.records_processing_stats


@pytest.mark.ported("LogValidatorTest.testLogAppendTimeWithRecompressionV1")
@pytest.mark.ported("LogValidatorTest.testLogAppendTimeWithRecompressionV2")
@pytest.mark.parametrize("target", [1, 2])
def test_log_append_time_with_recompression(target: int) -> None:
    records = records_of(0, codec=GZIP)
    result = validate(records, target, GZIP, timestamp_type=LOG_APPEND_TIME, diff=1000)
    assert result.message_size_maybe_changed
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW, 2)
    check_batches(result.validated_records, target, GZIP)
    assert {record.timestamp() for record in result.validated_records.records()} == {NOW}
    assert result.records_processing_stats.num_records_converted() == 3
    assert result.records_processing_stats.temporary_memory_bytes() > result.validated_records.size_in_bytes()


@pytest.mark.ported("LogValidatorTest.testLogAppendTimeWithoutRecompressionV1")
@pytest.mark.ported("LogValidatorTest.testLogAppendTimeWithoutRecompressionV2")
@pytest.mark.parametrize("magic", [1, 2])
def test_log_append_time_without_recompression(magic: int) -> None:
    records = records_of(magic, timestamp=1234, codec=GZIP)
    result = validate(records, magic, GZIP, timestamp_type=LOG_APPEND_TIME, diff=1000)
    assert result.validated_records is records
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW, 2)
    check_batches(records, magic, GZIP)
    assert {record.timestamp() for record in records.records()} == {NOW}
    assert result.records_processing_stats.num_records_converted() == 0


@pytest.mark.ported("LogValidatorTest.testInvalidOffsetRangeAndRecordCount")
@pytest.mark.parametrize(
    ("delta", "count", "fine"),
    [
        *((2, 3, True), (0, 3, False), (15, 3, False), (-3, 3, False), (2, -3, False), (2, 6, False)),
        *((2, 0, False), (-3, -2, False), ((1 << 31) - 1, 3, False), (5, 6, False), (1, 2, False)),
    ],
)
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_invalid_offset_range_and_record_count(delta: int, count: int, fine: bool, codec: CompressionType) -> None:
    records = records_of(2, codec=codec)
    struct.pack_into(">i", records.buffer, DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, delta)
    struct.pack_into(">i", records.buffer, DefaultRecordBatch.RECORDS_COUNT_OFFSET, count)
    if fine:
        validate(records, 2, codec)
    else:
        with pytest.raises(InvalidRecordException):
            validate(records, 2, codec)


@pytest.mark.ported("LogValidatorTest.testNonCompressedV1")
@pytest.mark.ported("LogValidatorTest.testNonCompressedV2")
@pytest.mark.parametrize("magic", [1, 2])
def test_non_compressed(magic: int) -> None:
    timestamps = [NOW - 1, NOW + 1, NOW]
    state = {"producer_id": 1324, "producer_epoch": 10, "base_sequence": 984} if magic == 2 else {}
    records = owned(
        MemoryRecords.with_records(
            *(SimpleRecord(t, None, b"v") for t in timestamps),
            magic=magic,
            **state,  # type: ignore[arg-type]
        )
    )
    result = validate(records, magic, diff=1000, offset=50)
    assert offsets_of(result.validated_records) == [50, 51, 52]
    check_batches(records, magic, NONE)
    assert [record.timestamp() for record in records.records()] == timestamps
    assert result.max_timestamp == NOW + 1
    assert result.shallow_offset_of_max_timestamp == 51
    for batch in records.batches():
        assert batch.timestamp_type() is CREATE_TIME
        assert (batch.producer_id(), batch.base_sequence()) == ((1324, 984) if magic == 2 else (-1, -1))
        assert batch.partition_leader_epoch() == (7 if magic == 2 else -1)


@pytest.mark.ported("LogValidatorTest.testRecompressionV1")
@pytest.mark.ported("LogValidatorTest.testRecompressionV2")
@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("target", CompressionType.values()[1:4])
def test_recompression(magic: int, target: CompressionType) -> None:
    timestamps = [NOW - 1, NOW + 1, NOW]
    state: dict[str, Any] = {}
    if magic == 2:
        state = {"producer_id": 1324, "producer_epoch": 10, "base_sequence": 984, "is_transactional": True}
    records = MemoryRecords.with_records(*(SimpleRecord(t, b"k", b"v") for t in timestamps), magic=magic, **state)
    result = validate(records, magic, NONE, target, diff=1000, offset=10, epoch=40)
    assert result.message_size_maybe_changed
    check_batches(result.validated_records, magic, target)
    for batch in result.validated_records.batches():
        of_the_producer = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence(), batch.is_transactional())
        assert of_the_producer == ((1324, 10, 984, True) if magic == 2 else (-1, -1, -1, False))
        assert batch.partition_leader_epoch() == (40 if magic == 2 else -1)
    assert [record.timestamp() for record in result.validated_records.records()] == timestamps
    assert offsets_of(result.validated_records) == [10, 11, 12]
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW + 1, 12)
    assert result.records_processing_stats.num_records_converted() == 3


@pytest.mark.ported("LogValidatorTest.testCreateTimeUpConversionV0ToV1")
@pytest.mark.ported("LogValidatorTest.testCreateTimeUpConversionV0ToV2")
@pytest.mark.parametrize("target", [1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_create_time_up_conversion_from_v0(target: int, codec: CompressionType) -> None:
    result = validate(records_of(0, codec=codec), target, codec, diff=1000)
    check_batches(result.validated_records, target, codec)
    assert {record.timestamp() for record in result.validated_records.records()} == {-1}
    assert all(batch.max_timestamp() == -1 for batch in result.validated_records.batches())
    assert result.max_timestamp == -1
    assert result.message_size_maybe_changed


@pytest.mark.ported("LogValidatorTest.testCreateTimeUpConversionV1ToV2")
def test_create_time_up_conversion_v1_to_v2() -> None:
    result = validate(records_of(1, codec=GZIP), 2, GZIP, diff=1000, offset=5)
    check_batches(result.validated_records, 2, GZIP)
    assert [record.timestamp() for record in result.validated_records.records()] == [NOW, NOW + 1, NOW + 2]
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW + 2, 7)
    assert next(result.validated_records.batches()).partition_leader_epoch() == 7


@pytest.mark.ported("LogValidatorTest.testCompressedV1")
@pytest.mark.ported("LogValidatorTest.testCompressedV2")
@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("codec", CompressionType.values()[1:4])
def test_compressed_batches_are_kept(magic: int, codec: CompressionType) -> None:
    records = records_of(magic, codec=codec, count=200)
    before = bytes(records.buffer)
    result = validate(records, magic, codec, diff=1000, offset=1000)
    assert result.validated_records is records
    assert not result.message_size_maybe_changed
    after = bytes(records.buffer)
    payload = 16 if magic == 2 else 12
    assert after[payload:] == before[payload:]
    assert offsets_of(records) == list(range(1000, 1200))
    check_batches(records, magic, codec)
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW + 199, 1199)
    assert result.records_processing_stats.num_records_converted() == 0
    assert result.records_processing_stats.temporary_memory_bytes() > 200 * 8


@pytest.mark.ported("LogValidatorTest.testInvalidCreateTimeNonCompressedV1")
@pytest.mark.ported("LogValidatorTest.testInvalidCreateTimeNonCompressedV2")
@pytest.mark.ported("LogValidatorTest.testInvalidCreateTimeCompressedV1")
@pytest.mark.ported("LogValidatorTest.testInvalidCreateTimeCompressedV2")
@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("shift", [-1001, 999])
def test_invalid_create_time(magic: int, codec: CompressionType, shift: int) -> None:
    validate(records_of(magic, NOW + shift + (1 if shift < 0 else -1), codec), magic, codec, diff=1000)
    with pytest.raises(InvalidTimestampException, match="out of range"):
        validate(records_of(magic, NOW + shift, codec), magic, codec, diff=1000)
    records = MemoryRecords.with_records(*[SimpleRecord(-1, None, b"v")] * 3, magic=magic, compression_type=codec)
    assert validate(owned(records), magic, codec, diff=1000).max_timestamp == -1


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_producers_must_not_set_log_append_time(magic: int, codec: CompressionType) -> None:
    builder = MemoryRecords.builder(100, magic, codec, LOG_APPEND_TIME, log_append_time=NOW)
    builder.append(NOW, b"k", b"v")
    with pytest.raises(InvalidTimestampException, match="should not set timestamp type"):
        validate(owned(builder.build()), magic, codec)


@pytest.mark.ported("LogValidatorTest.testAbsoluteOffsetAssignmentNonCompressed")
@pytest.mark.ported("LogValidatorTest.testAbsoluteOffsetAssignmentCompressed")
@pytest.mark.ported("LogValidatorTest.testRelativeOffsetAssignmentNonCompressedV1")
@pytest.mark.ported("LogValidatorTest.testRelativeOffsetAssignmentNonCompressedV2")
@pytest.mark.ported("LogValidatorTest.testRelativeOffsetAssignmentCompressedV1")
@pytest.mark.ported("LogValidatorTest.testRelativeOffsetAssignmentCompressedV2")
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_offset_assignment(magic: int, codec: CompressionType) -> None:
    records = records_of(magic, codec=codec)
    assert offsets_of(records) == [0, 1, 2]
    result = validate(records, magic, codec, offset=1_234_567, diff=5000)
    assert offsets_of(result.validated_records) == [1_234_567, 1_234_568, 1_234_569]
    check_batches(result.validated_records, magic, codec)


@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV0ToV1NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV0ToV2NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV0ToV1Compressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV0ToV2Compressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV1ToV2NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterUpConversionV1ToV2Compressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV1ToV0NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV1ToV0Compressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV2ToV1NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV2ToV1Compressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV2ToV0NonCompressed")
@pytest.mark.ported("LogValidatorTest.testOffsetAssignmentAfterDownConversionV2ToV0Compressed")
@pytest.mark.parametrize(("magic", "target"), [(0, 1), (0, 2), (1, 2), (1, 0), (2, 1), (2, 0)])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_offset_assignment_after_conversion(magic: int, target: int, codec: CompressionType) -> None:
    result = validate(records_of(magic, codec=codec), target, codec, offset=1_234_567, diff=5000)
    assert offsets_of(result.validated_records) == [1_234_567, 1_234_568, 1_234_569]
    check_batches(result.validated_records, target, codec)
    assert result.message_size_maybe_changed
    assert result.records_processing_stats.num_records_converted() == 3


@pytest.mark.ported("LogValidatorTest.testControlRecordsNotAllowedFromClients")
@pytest.mark.ported("LogValidatorTest.testControlRecordsNotCompressed")
def test_control_records() -> None:
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
    records = owned(MemoryRecords.with_end_transaction_marker(23423, 5, marker, timestamp=NOW))
    for target in (NONE, GZIP):
        with pytest.raises(InvalidRecordException, match="Invalid sequence number"):
            validate(records, 2, NONE, target)
    sequenced = owned(records)
    struct.pack_into(">i", sequenced.buffer, DefaultRecordBatch.BASE_SEQUENCE_OFFSET, 0)
    with pytest.raises(InvalidRecordException, match="control records"):
        validate(sequenced, 2)
    result = validate(records, 2, NONE, GZIP, offset=1_234_567, from_client=False)
    assert offsets_of(result.validated_records) == [1_234_567]
    check_batches(result.validated_records, 2, NONE)


@pytest.mark.ported("LogValidatorTest.testDownConversionOfTransactionalRecordsNotPermitted")
@pytest.mark.ported("LogValidatorTest.testDownConversionOfIdempotentRecordsNotPermitted")
@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("transactional", [False, True])
def test_no_down_conversion_of_producer_state(codec: CompressionType, transactional: bool) -> None:
    records = MemoryRecords.with_records(
        SimpleRecord(NOW, b"k", b"v"),
        compression_type=codec,
        producer_id=1324,
        producer_epoch=10,
        base_sequence=984,
        is_transactional=transactional,
    )
    message = "Transactional" if transactional else "Idempotent"
    with pytest.raises(UnsupportedForMessageFormatException, match=message):
        validate(owned(records), 1, codec)


def test_producer_id_needs_a_sequence() -> None:
    records = records_of(2)
    struct.pack_into(">qhi", records.buffer, DefaultRecordBatch.PRODUCER_ID_OFFSET, 5, 0, -1)
    with pytest.raises(InvalidRecordException, match="Invalid sequence number"):
        validate(records, 2)
    assert offsets_of(validate(records, 2, from_client=False).validated_records) == [0, 1, 2]


@pytest.mark.ported("LogValidatorTest.testInvalidInnerMagicVersion")
@pytest.mark.parametrize(("outer", "inner"), [(1, 0), (0, 1)])
def test_invalid_inner_magic_version(outer: int, inner: int) -> None:
    builder = MemoryRecords.builder(1024, outer, GZIP)
    for offset in range(20):
        record = LegacyRecord.create(inner, 20, b"k", b"v")
        builder.append_unchecked_with_offset(offset, record)
    with pytest.raises(InvalidRecordException, match="does not match outer magic"):
        validate(owned(builder.build()), outer, GZIP)


def test_inner_messages_of_a_wrapper_are_checked_by_their_own_checksum() -> None:
    builder = MemoryRecords.builder(1024, 1, GZIP)
    damaged = bytearray(LegacyRecord.create(1, 20, b"k", b"v").buffer())
    damaged[-1] ^= 1
    builder.append_unchecked_with_offset(0, LegacyRecord(damaged))
    with pytest.raises(InvalidRecordException, match="Record is corrupt"):
        validate(owned(builder.build()), 1, GZIP)


@pytest.mark.ported("LogValidatorTest.testCompressedBatchWithoutRecordsNotAllowed")
@pytest.mark.ported("LogValidatorTest.testUncompressedBatchWithoutRecordsNotAllowed")
@pytest.mark.ported("LogValidatorTest.testRecompressedBatchWithoutRecordsNotAllowed")
@pytest.mark.parametrize(("source", "target"), [(NONE, NONE), (GZIP, GZIP), (NONE, GZIP)])
def test_batch_without_records_not_allowed(source: CompressionType, target: CompressionType) -> None:
    records = records_of(2, codec=source)
    empty = bytearray(records.buffer[:61])
    struct.pack_into(">i", empty, 8, 49)
    struct.pack_into(">i", empty, DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, 0)
    struct.pack_into(">i", empty, DefaultRecordBatch.RECORDS_COUNT_OFFSET, 0)
    with pytest.raises(InvalidRecordException, match="Invalid reported count"):
        validate(MemoryRecords(empty), 2, source, target)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [NONE, GZIP])
def test_compacted_topics_need_keys(magic: int, codec: CompressionType) -> None:
    validate(records_of(magic, codec=codec), magic, codec, compacted=True)
    simple = [SimpleRecord(NOW, b"k", b"v")] * 5 + [SimpleRecord(NOW, None, b"v")] + [SimpleRecord(NOW, b"k", b"v")]
    records = owned(MemoryRecords.with_records(*simple, magic=magic, compression_type=codec))
    with pytest.raises(InvalidRecordException, match="without key"):
        validate(records, magic, codec, compacted=True)


@pytest.mark.parametrize("walked", [True, False])
@pytest.mark.parametrize("codec", [NONE, GZIP], ids=str)
@pytest.mark.parametrize("deltas", [(0, 2, 4), (0, 7), (5, 6)])
def test_wrong_offset_deltas_are_mended(
    codec: CompressionType, deltas: tuple[int, ...], walked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = MemoryRecords.builder(100, 2, codec)
    for delta in deltas:
        builder.append_with_offset(delta, NOW, b"k", b"%d" % delta)
    records = owned(builder.build())
    count = len(deltas)
    struct.pack_into(">i", records.buffer, DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, count - 1)
    if not walked:
        monkeypatch.setattr(log_validator, "_walk_records", lambda *_: None)
    result = validate(records, 2, codec, offset=10, epoch=12)
    assert result.message_size_maybe_changed
    check_batches(result.validated_records, 2, codec)
    assert offsets_of(result.validated_records) == list(range(10, 10 + count))
    (batch,) = result.validated_records.batches()
    assert (batch.last_offset(), batch.partition_leader_epoch()) == (9 + count, 12)
    assert [bytes(r.value() or b"") for r in batch] == [b"%d" % delta for delta in deltas]


def test_wrong_offset_deltas_of_a_second_batch_are_mended() -> None:
    builder = MemoryRecords.builder(100, 2)
    for delta in (0, 1 << 30):
        builder.append_with_offset(delta, NOW, b"k", b"v")
    wrong = bytearray(builder.build().buffer)
    struct.pack_into(">i", wrong, DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, 1)
    records = owned(MemoryRecords(bytes(records_of(2).buffer) + bytes(wrong)))
    assert offsets_of(validate(records, 2, offset=10).validated_records) == [10, 11, 12, 13, 14]


def test_a_valid_batch_is_only_stamped() -> None:
    records = records_of(2, count=100)
    before = bytes(records.buffer)
    result = validate(records, 2, offset=77, epoch=12)
    after = bytes(records.buffer)
    assert after[:8] == (77).to_bytes(8, "big")
    assert after[8:12] == before[8:12]
    assert after[12:16] == (12).to_bytes(4, "big")
    assert after[16:] == before[16:]
    assert (result.max_timestamp, result.shallow_offset_of_max_timestamp) == (NOW + 99, 77 + 99)


def test_a_wrong_max_timestamp_of_the_header_is_mended() -> None:
    records = records_of(2)
    struct.pack_into(">q", records.buffer, DefaultRecordBatch.MAX_TIMESTAMP_OFFSET, 5)
    validate(records, 2)
    batch = next(records.batches())
    assert batch.max_timestamp() == NOW + 2
    batch.ensure_valid()


def body_of(*fields: int | bytes, length: int | None = None) -> bytes:
    body = bytearray(b"\x00")
    for field in fields:
        if isinstance(field, int):
            ByteUtils.write_varint(field, body)
        else:
            body += field
    record = bytearray()
    ByteUtils.write_varint(len(body) if length is None else length, record)
    return bytes(record + body)


def batch_with(body: bytes, codec: CompressionType = NONE) -> MemoryRecords:
    """A batch of one record with that body and a right checksum."""
    records = records_of(2, codec=NONE, count=1)
    if codec is not NONE:
        body = gzip.compress(body)  # the standard library's framing, not ours
    out = bytearray(records.buffer[:61]) + body
    out[22] = codec.id
    struct.pack_into(">i", out, 8, len(out) - 12)
    struct.pack_into(">I", out, 17, Crc32C.compute(out, 21))
    return MemoryRecords(out)


GOOD = body_of(0, 0, 1, b"k", 1, b"v", 0)


@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (GOOD, None),
        (body_of(0, 0, -9, 1, b"v", 0), None),
        (body_of(0, 0, -1, -1, 0), None),
        (body_of(0, 0, 1, b"k", 1, b"v", 0, length=200), InvalidRecordException),
        (body_of(0, 0, 1, b"k", 1, b"v", 0, length=7), InvalidRecordException),
        (body_of(0, 0, 200, b"k", 1, b"v", 0), InvalidRecordException),
        (body_of(0, 0, 1, b"k", 1, b"v", -1), InvalidRecordException),
        (body_of(0, 0, 1, b"k", 1, b"v", 2_000_000), InvalidRecordException),
        (body_of(0, 0, 1, b"k", 1, b"v", 1, -1, 1, b"h"), InvalidRecordException),
        (body_of(0, 0, 1, b"k", 1, b"v", 1, 1, b"h", -1), None),
        (body_of(b"\xff" * 10, 0, 1, b"k", 1, b"v", 0), InvalidRecordException),
        (GOOD + b"\x00", InvalidRecordException),
        (GOOD + GOOD, InvalidRecordException),
        (GOOD[:-1], InvalidRecordException),
        (b"", InvalidRecordException),
        (b"\xff" * 11, ValueError),
    ],
)
def test_malformed_records(codec: CompressionType, body: bytes, error: type[Exception] | None) -> None:
    if error is None:
        validate(batch_with(body, codec), 2, codec)
        return
    with pytest.raises(error) as raised:
        validate(batch_with(body, codec), 2, codec)
    assert isinstance(raised.value, CorruptRecordException) == (error is InvalidRecordException)


def test_negative_record_length() -> None:
    body = body_of(0, 0, 1, b"k", 1, b"v", 0, length=-5)
    with pytest.raises(InvalidRecordException):
        validate(batch_with(body), 2)
    with pytest.raises(ValueError, match="negative record length"):
        validate(batch_with(body, GZIP), 2, GZIP)


def many_records_of_zeros(count: int, size: int) -> bytes:
    """Compressed records of so many bytes each, to be put together without holding them all at once."""
    compressed = bytearray()
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    for i in range(count):
        compressed += packer.compress(body_of(0, i, 1, b"k", size, bytes(size), 0))
    return bytes(compressed + packer.flush())


def peak_memory_of(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("counted", [16, 1], ids=["as many as the header says", "more than the header says"])
def test_a_small_batch_that_unpacks_to_much_is_never_held_as_a_whole(counted: int) -> None:
    packed = many_records_of_zeros(16, 1 << 20)
    records = batch_with(packed)
    for at, number in (
        (DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET, counted - 1),
        (DefaultRecordBatch.RECORDS_COUNT_OFFSET, counted),
    ):
        struct.pack_into(">i", records.buffer, at, number)
    records.buffer[22] = GZIP.id
    assert len(packed) < 1 << 15

    def check() -> None:
        if counted == 16:
            assert validate(records, 2, GZIP).validated_records is records
        else:
            with pytest.raises(InvalidRecordException):
                validate(records, 2, GZIP)

    assert peak_memory_of(check) < 6 << 20, "of 16 MB"


@pytest.mark.parametrize("claimed", [MAX_RECORD_SIZE + 1, (1 << 31) - 1])
def test_a_record_longer_than_anything_that_could_be_stored_is_refused(claimed: int) -> None:
    """On its claim alone: nothing is set aside for it, and its bytes are not waited for."""
    records = batch_with(body_of(0, 0, 1, b"k", claimed - 8, bytes(1 << 20), length=claimed), GZIP)

    def check() -> None:
        with pytest.raises(KafkaException, match="Failed to decompress record stream"):
            validate(records, 2, GZIP)

    assert peak_memory_of(check) < 3 << 20


@pytest.mark.parametrize("codec", CompressionType.values()[1:])
def test_garbage_instead_of_compressed_data(codec: CompressionType) -> None:
    records = batch_with(bytes(range(60, 160)))
    records.buffer[22] = codec.id
    with pytest.raises(KafkaException) as raised:
        validate(MemoryRecords(records.buffer), 2, codec)
    assert not isinstance(raised.value, CorruptRecordException)


@pytest.mark.parametrize("codec", [NONE, GZIP])
@pytest.mark.parametrize("timestamp_type", [CREATE_TIME, LOG_APPEND_TIME])
def test_the_walk_and_the_objects_lead_to_the_same_result(
    monkeypatch: pytest.MonkeyPatch, codec: CompressionType, timestamp_type: TimestampType
) -> None:
    rnd = random.Random(8)
    for _ in range(20):
        simple = [
            SimpleRecord(NOW + rnd.randrange(-50, 500), rnd.choice([None, b"key"]), rnd.randbytes(rnd.randrange(90)))
            for _ in range(rnd.randrange(1, 90))
        ]
        batch = bytes(MemoryRecords.with_records(*simple, compression_type=codec).buffer)
        results = []
        for walk in (True, False):
            records = MemoryRecords(bytearray(batch))
            with monkeypatch.context() as patch:
                if not walk:
                    patch.setattr(log_validator, "_walk_records", lambda *_: None)
                result = validate(records, 2, codec, timestamp_type=timestamp_type, diff=100_000, offset=5)
            stats = result.records_processing_stats
            results.append((bytes(result.validated_records.buffer), result[1:4], stats.temporary_memory_bytes()))
        assert results[0] == results[1]


def test_batches_of_internal_writers_may_begin_anywhere() -> None:
    records = owned(MemoryRecords.with_records(SimpleRecord(NOW, b"k", b"v"), initial_offset=40))
    validate(records, 2, offset=3, from_client=False)
    assert offsets_of(records) == [3]
    assert next(records.batches()).partition_leader_epoch() == 7
    assert RecordBatch.NO_PARTITION_LEADER_EPOCH == -1
