"""Produce requests and responses."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    IllegalStateException,
    InvalidRecordException,
    NotLeaderForPartitionException,
    SchemaException,
    UnsupportedCompressionTypeException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition

TP = TopicPartition("topic", 1)


def batch(magic: int = 2, attributes: int = 0, producer_id: int = -1, size: int = 80) -> bytes:
    """A batch whose header is good enough for the request: nothing else of it is looked at there."""
    data = bytearray(size)
    struct.pack_into(">qiib", data, 0, 0, size - 12, -1, magic)
    if size >= 61:
        struct.pack_into(">h20xqhii", data, 21, attributes, producer_id, -1, -1, 1)
    return bytes(data)


def body(version: int, *record_sets: bytes | None, transactional_id: str | None = None, acks: int = -1) -> bytes:
    head = b""
    if version >= 3:
        encoded = None if transactional_id is None else transactional_id.encode()
        head = b"\xff\xff" if encoded is None else struct.pack(">h", len(encoded)) + encoded
    head += struct.pack(">hii", acks, 1500, 1) + struct.pack(">h", 5) + b"topic" + struct.pack(">i", len(record_sets))
    for partition, records in enumerate(record_sets, 1):
        head += struct.pack(">ii", partition, -1 if records is None else len(records)) + (records or b"")
    return head


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("transactional_id", [None, "tx"])
def test_parse(version: int, count: int, transactional_id: str | None) -> None:
    data = body(version, *[batch()] * count, transactional_id=transactional_id)
    request = ProduceRequest.parse(data, version)
    assert (request.version(), request.acks(), request.timeout()) == (version, -1, 1500)
    assert request.transactional_id() == (transactional_id if version >= 3 else None)
    records = request.partition_records_or_fail()
    assert list(records) == [TopicPartition("topic", n) for n in range(1, count + 1)]
    assert all(bytes(r.buffer) == batch() for r in records.values())
    assert b"".join(request.to_parts()) == data


def test_record_sets_are_slices_of_the_message() -> None:
    data = bytearray(body(7, batch()))
    records = ProduceRequest.parse(memoryview(data), 7).partition_records_or_fail()[TP]
    data[-1] = 0x55
    assert records.buffer[-1] == 0x55


@pytest.mark.ported("ProduceRequestTest.shouldBeFlaggedAsTransactionalWhenTransactionalRecords")
@pytest.mark.ported("ProduceRequestTest.shouldNotBeFlaggedAsTransactionalWhenNoRecords")
@pytest.mark.ported("ProduceRequestTest.shouldNotBeFlaggedAsIdempotentWhenRecordsNotIdempotent")
@pytest.mark.ported("ProduceRequestTest.shouldBeFlaggedAsIdempotentWhenRecordsAreIdempotent")
@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("producer_id", [-1, 0, 7])
def test_flags(transactional: bool, producer_id: int) -> None:
    marked = batch(attributes=0x10 if transactional else 0, producer_id=producer_id)
    for record_sets in ([marked], [marked, batch()], [batch(), marked]):
        request = ProduceRequest.parse(body(7, *record_sets), 7)
        assert request.is_transactional() == transactional
        assert request.is_idempotent() == (producer_id >= 0)
    assert not ProduceRequest.parse(body(2, marked), 2).is_transactional()


@pytest.mark.ported("ProduceRequestTest.testV3AndAboveShouldContainOnlyOneRecordBatch")
@pytest.mark.ported("ProduceRequestTest.testV3AndAboveCannotHaveNoRecordBatches")
@pytest.mark.ported("ProduceRequestTest.testV3AndAboveCannotUseMagicV0")
@pytest.mark.ported("ProduceRequestTest.testV3AndAboveCannotUseMagicV1")
@pytest.mark.parametrize(
    ("records", "error", "reason"),
    [
        (batch() + batch(), InvalidRecordException, "exactly one record batch"),
        (b"", InvalidRecordException, "at least one record batch"),
        (bytes(11), InvalidRecordException, "at least one record batch"),
        (batch(magic=0), InvalidRecordException, "magic version 2"),
        (batch(magic=1), InvalidRecordException, "magic version 2"),
        (batch(magic=3), CorruptRecordException, "Invalid magic found in record: 3"),
        (batch(magic=-1), CorruptRecordException, "Invalid magic found in record: -1"),
        (batch()[:60], InvalidRecordException, "at least one record batch"),
        (batch(size=50), InvalidRecordException, "ends within its header"),
        (batch()[:8] + b"\xff\xff\xff\xff" + batch()[12:], CorruptRecordException, "minimum record overhead"),
        (batch()[:8] + b"\0\0\0\x0d" + batch()[12:], CorruptRecordException, "minimum record overhead"),
        (batch()[:8] + b"\x7f\0\0\0" + batch()[12:], InvalidRecordException, "at least one record batch"),
        (batch() + bytes(12), CorruptRecordException, "minimum record overhead"),
        (None, SchemaException, "record_set"),
    ],
)
def test_record_sets_that_version_3_refuses(records: bytes | None, error: type[Exception], reason: str) -> None:
    for version in (3, 5, 7):
        with pytest.raises(error, match=reason):
            ProduceRequest.parse(body(version, records), version)


def test_incomplete_second_batch_is_let_through() -> None:
    records = ProduceRequest.parse(body(7, batch() + batch()[:-1]), 7).partition_records_or_fail()[TP]
    assert records.size_in_bytes() == 159


@pytest.mark.parametrize("records", [batch() + batch(), b"", batch(magic=0), batch(magic=3), bytes(11)])
def test_older_versions_are_not_checked(records: bytes) -> None:
    request = ProduceRequest.parse(body(2, records), 2)
    assert request.partition_records_or_fail()[TP].size_in_bytes() == len(records)


def test_builder_checks_as_well() -> None:
    records = {TP: MemoryRecords.readable_records(batch(magic=1))}
    builder = ProduceRequest.Builder.for_magic(2, 1, 5, records, None)
    assert (builder.oldest_allowed_version(), builder.latest_allowed_version()) == (3, 8)
    with pytest.raises(InvalidRecordException):
        builder.build()
    old = ProduceRequest.Builder.for_magic(1, 1, 5, records, None)
    assert (old.oldest_allowed_version(), old.latest_allowed_version()) == (2, 2)
    assert old.build().version() == 2


@pytest.mark.parametrize("version", [3, 6, 7, 8])
def test_zstd_needs_version_7(version: int) -> None:
    request = ProduceRequest.parse(body(version, batch(attributes=4)), version)
    records = request.partition_records_or_fail()[TP]
    if version >= 7:
        ProduceRequest.validate_records(version, records)
    else:
        with pytest.raises(UnsupportedCompressionTypeException) as e:
            ProduceRequest.validate_records(version, records)
        assert Errors.for_exception(e.value) is Errors.UNSUPPORTED_COMPRESSION_TYPE
    ProduceRequest.validate_records(version, MemoryRecords.readable_records(batch(attributes=3)))


@pytest.mark.ported("RequestResponseTest.produceRequestGetErrorResponseTest")
def test_error_response_after_the_records_were_let_go() -> None:
    request = ProduceRequest.parse(body(5, batch(), batch()), 5)
    before = request.get_error_response(7, NotLeaderForPartitionException())
    request.clear_partition_records()
    after = request.get_error_response(7, NotLeaderForPartitionException())
    assert before is not None
    assert after is not None
    assert after.responses() == before.responses()
    assert after.error_counts() == {Errors.NOT_LEADER_FOR_PARTITION: 2}
    assert after.get_throttle_time() == 7
    assert request.error_counts(NotLeaderForPartitionException()) == {Errors.NOT_LEADER_FOR_PARTITION: 2}
    with pytest.raises(IllegalStateException, match="no longer available"):
        request.partition_records_or_fail()


@pytest.mark.ported("RequestResponseTest.produceRequestToStringTest")
def test_in_words() -> None:
    request = ProduceRequest.parse(body(5, batch()), 5)
    assert request.to_string(True) == "{acks=-1,timeout=1500,partitionSizes=[topic-1=80]}"
    request.clear_partition_records()
    assert request.to_string(False) == "{acks=-1,timeout=1500,numPartitions=1}"


def test_acks_0_is_not_answered() -> None:
    request = ProduceRequest.parse(body(7, batch(), acks=0), 7)
    assert request.get_error_response(0, NotLeaderForPartitionException()) is None


def test_required_magic() -> None:
    assert [ProduceRequest.required_magic_for_version(v) for v in range(8)] == [0, 0, 1, 2, 2, 2, 2, 2]
    with pytest.raises(ValueError, match="Magic value to use for produce request version 8 is not known"):
        ProduceRequest.required_magic_for_version(8)


@pytest.mark.parametrize("data", [b"", b"\xff\xff\0\x01", b"\x7f\xff" + bytes(7), bytes(8) + b"\x7f\xff\xff\xff"])
def test_malformed_bytes(data: bytes) -> None:
    for version in range(8):
        with pytest.raises(SchemaException):
            ProduceRequest.parse(data, version)


@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("count", [1, 2])
def test_long_topics_are_read_if_they_could_be_written_again(version: int, count: int) -> None:
    data = body(version, *[batch()] * count)
    parsed = ProduceRequest.parse(data.replace(b"\0\x05topic", b"\x7f\xff" + b"t" * 32767), version)
    assert {tp.topic for tp in parsed.partitions()} == {"t" * 32767}
    with pytest.raises(SchemaException, match="String of 32767 bytes is not UTF-8"):
        ProduceRequest.parse(data.replace(b"\0\x05topic", b"\x7f\xff" + b"\xff" * 32767), version)


def response(error: Errors = Errors.NONE, partitions: int = 1) -> ProduceResponse:
    part = ProduceResponse.PartitionResponse
    return ProduceResponse(
        {TopicPartition(f"t{n % 2}", n): part(error, 10000 + n, 5, 100) for n in range(partitions)}, 10
    )


@pytest.mark.ported("RequestResponseTest.produceResponseV5Test")
@pytest.mark.ported("RequestResponseTest.produceResponseVersionTest")
@pytest.mark.parametrize("version", range(8))
@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_response_is_written_as_its_schema_says(version: int, partitions: int) -> None:
    original = response(partitions=partitions)
    written = b"".join(original.to_parts(version))
    assert written == original.to_struct(version).to_bytes()
    assert original.to_parts(version, b"head") == [b"head" + written]
    read = ProduceResponse.parse(written, version)
    assert read.responses().keys() == original.responses().keys()
    assert read.get_throttle_time() == (10 if version >= 1 else 0)
    for part in read.responses().values():
        assert part.log_append_time == (5 if version >= 2 else -1)
        assert part.log_start_offset == (100 if version >= 5 else -1)


def test_old_clients_do_not_know_the_storage_error() -> None:
    for version, partitions in [(v, p) for v in range(8) for p in (1, 2)]:
        read = ProduceResponse.parse(
            b"".join(response(Errors.KAFKA_STORAGE_ERROR, partitions).to_parts(version)), version
        )
        expected = Errors.NOT_LEADER_FOR_PARTITION if version <= 3 else Errors.KAFKA_STORAGE_ERROR
        assert read.error_counts() == {expected: partitions}


def test_client_throttles_itself_from_version_6_on() -> None:
    assert [response().should_client_throttle(v) for v in (5, 6, 7)] == [False, True, True]


def test_partition_response_in_words() -> None:
    shown: Any = ProduceResponse.PartitionResponse(Errors.NONE, 1)
    assert str(shown) == "{error: NONE,offset: 1,logAppendTime: -1, logStartOffset: -1}"
