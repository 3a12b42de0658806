"""Fetch requests, responses and session metadata."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.common.errors import NotLeaderForPartitionException, SchemaException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_response import join_parts
from kafka_py.common.requests.fetch_metadata import FetchMetadata
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_request_data import FetchRequestData
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition

VERSIONS = range(12)
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def request(version: int) -> FetchRequest:
    data = {
        A0: FetchRequest.PartitionData(10, 1, 1000, 4),
        B0: FetchRequest.PartitionData(20, 2, 2000, 5),
        A1: FetchRequest.PartitionData(30, 3, 3000, 6),
    }
    builder = FetchRequest.Builder(version, version, 1, 500, 1, data).set_max_bytes(9999)
    builder.isolation_level(IsolationLevel.READ_COMMITTED).metadata(FetchMetadata(7, 8)).rack_id("r")
    built = builder.to_forget([B0, A1]).build()
    assert isinstance(built, FetchRequest)
    return built


@pytest.mark.ported("RequestResponseTest.testFetchRequestMaxBytesOldVersions")
@pytest.mark.ported("RequestResponseTest.testFetchRequestIsolationLevel")
@pytest.mark.ported("RequestResponseTest.testFetchRequestWithMetadata")
@pytest.mark.parametrize("version", VERSIONS)
def test_flat_reader_reads_what_the_schema_writes(version: int) -> None:
    original = request(version)
    data = b"".join(original.to_parts())
    read = FetchRequest.parse(data, version)
    by_schema = FetchRequest._from_data(FetchRequestData.read(original.to_struct().to_bytes(), version)[0], version)
    for parsed in (read, by_schema):
        assert (parsed.replica_id(), parsed.max_wait(), parsed.min_bytes()) == (1, 500, 1)
        assert parsed.is_from_follower()
        assert parsed.max_bytes() == (9999 if version >= 3 else 0x7FFFFFFF)
        committed = version >= 4
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        assert parsed.isolation_level() is level
        assert parsed.metadata() == (FetchMetadata(7, 8) if version >= 7 else FetchMetadata.LEGACY)
        assert parsed.to_forget() == ([B0, A1] if version >= 7 else [])
        assert parsed.rack_id() == ("r" if version >= 11 else "")
        assert list(parsed.fetch_data()) == [A0, B0, A1]
        assert parsed.fetch_data()[B0] == FetchRequest.PartitionData(
            20, 2 if version >= 5 else -1, 2000, 5 if version >= 9 else -1
        )
    assert b"".join(read.to_parts()) == data


def test_unknown_isolation_level_is_refused() -> None:
    data = bytearray(b"".join(request(4).to_parts()))
    data[16] = 9
    with pytest.raises(ValueError, match="Unknown isolation level 9"):
        FetchRequest.parse(data, 4)


@pytest.mark.parametrize("version", VERSIONS)
def test_long_topics_are_read_if_they_could_be_written_again(version: int) -> None:
    def body(topic: bytes) -> bytes:
        return data.replace(b"\0\x01b", len(topic).to_bytes(2, "big") + topic)

    data = b"".join(request(version).to_parts())
    parsed = FetchRequest.parse(body(b"b" * 32767), version)
    assert list(parsed.fetch_data()) == [A0, TopicPartition("b" * 32767, 0), A1]
    with pytest.raises(SchemaException, match="String of 32767 bytes is not UTF-8"):
        FetchRequest.parse(body(b"\xff" * 32767), version)


def test_array_sizes_beyond_the_buffer() -> None:
    for version in VERSIONS:
        data = bytearray(b"".join(request(version).to_parts()))
        position = data.index(b"\0\x01a") - 4
        for size in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"):
            data[position : position + 4] = size
            with pytest.raises(SchemaException):
                FetchRequest.parse(data, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_error_response(version: int) -> None:
    response = request(version).get_error_response(3, NotLeaderForPartitionException())
    assert list(response.response_data()) == [A0, B0, A1]
    assert response.error_counts() == {Errors.NOT_LEADER_FOR_PARTITION: 3}
    assert (response.error(), response.session_id()) == (Errors.NOT_LEADER_FOR_PARTITION, 7)
    assert join_parts(response.to_parts(version)) == response.to_struct(version).to_bytes()


def response(error: Errors = Errors.NONE) -> FetchResponse:
    part = FetchResponse.PartitionData
    aborted = [FetchResponse.AbortedTransaction(1, 2), FetchResponse.AbortedTransaction(3, 4)]
    records = MemoryRecords.readable_records(b"x" * 100)
    return FetchResponse(
        error,
        {
            A0: part(error, 10, 9, 1, None, records),
            A1: part(error, 20, 19, 2, aborted, MemoryRecords.EMPTY, 6),
            B0: part(error, 30, 29, 3, [], records),
        },
        5,
        77,
    )


@pytest.mark.ported("RequestResponseTest.verifyFetchResponseFullWrites")
@pytest.mark.ported("RequestResponseTest.fetchResponseVersionTest")
@pytest.mark.parametrize("version", VERSIONS)
def test_flat_writer_writes_what_the_schema_writes(version: int) -> None:
    original = response()
    parts = original.to_parts(version)
    written = join_parts(parts)
    assert written == original.to_struct(version).to_bytes()
    assert join_parts(original.to_parts(version, b"head")) == b"head" + written
    assert len(written) + 4 == FetchResponse.size_of(version, original.response_data().items())
    # header, records of a-0, header, records of b-0: what is empty makes no part of its own
    assert [len(p) == 100 for p in parts] == [False, True, False, True]
    read = FetchResponse.parse(written, version)
    assert read.throttle_time_ms() == (5 if version >= 1 else 0)
    assert read.session_id() == (77 if version >= 7 else 0)
    data = read.response_data()
    assert data[A0].high_watermark == 10
    assert bytes(data[B0].records.buffer) == b"x" * 100
    if version >= 4:
        assert data[A1].aborted_transactions == [(1, 2), (3, 4)]
        assert data[A0].aborted_transactions is None
        assert data[B0].aborted_transactions == []
    assert data[A1].log_start_offset == (2 if version >= 5 else -1)
    assert data[A1].preferred_read_replica == (6 if version >= 11 else -1)


def test_region_of_a_file_stays_a_part(tmp_path: pathlib.Path) -> None:
    file_records = pytest.importorskip("kafka_py.common.record.file_records")
    records = file_records.FileRecords.open(tmp_path / "log")
    try:
        records.append(MemoryRecords.readable_records(b"0123456789"))
        region = records.slice(2, 5)
        data = {A0: FetchResponse.PartitionData(Errors.NONE, 1, 1, 0, None, region)}
        parts = FetchResponse(Errors.NONE, data, 0, 0).to_parts(11)
        assert parts[-1] is region
        assert join_parts(parts).endswith(b"\0\0\0\x0523456")
    finally:
        records.close()


def test_order_of_topics_is_kept_even_if_they_come_back() -> None:
    part = FetchResponse.PartitionData(Errors.NONE, 1, 1, 0, None, MemoryRecords.EMPTY)
    original = FetchResponse(Errors.NONE, {A0: part, B0: part, A1: part}, 0, 0)
    read = FetchResponse.parse(join_parts(original.to_parts(7)), 7)
    assert list(read.response_data()) == [A0, B0, A1]


def test_old_clients_do_not_know_the_storage_error() -> None:
    for version in VERSIONS:
        written = join_parts(response(Errors.KAFKA_STORAGE_ERROR).to_parts(version))
        expected = Errors.NOT_LEADER_FOR_PARTITION if version <= 5 else Errors.KAFKA_STORAGE_ERROR
        assert FetchResponse.parse(written, version).error_counts() == {expected: 3}


def test_client_throttles_itself_from_version_8_on() -> None:
    assert [response().should_client_throttle(v) for v in (7, 8)] == [False, True]


@pytest.mark.ported("FetchMetadataTest.testNextEpoch")
def test_next_epoch() -> None:
    assert FetchMetadata.next_epoch(-1) == -1
    assert FetchMetadata.next_epoch(0) == 1
    assert FetchMetadata.next_epoch(0x7FFFFFFF) == 1


def test_metadata() -> None:
    assert FetchMetadata.INITIAL.is_full()
    assert FetchMetadata.LEGACY.is_full()
    session = FetchMetadata.new_incremental(9)
    assert (session.session_id(), session.epoch(), session.is_full()) == (9, 1, False)
    assert session.next_incremental() == FetchMetadata(9, 2)
    assert session.next_close_existing() == FetchMetadata(9, 0)
    assert [str(m) for m in (FetchMetadata.INITIAL, FetchMetadata.LEGACY, session)] == [
        "(sessionId=INVALID, epoch=INITIAL)",
        "(sessionId=INVALID, epoch=FINAL)",
        "(sessionId=9, epoch=1)",
    ]
    assert len({session, FetchMetadata(9, 1)}) == 1
