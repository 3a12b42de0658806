"""Batches in files."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.file_channel import FileChannel
from kafka_py.common.record.file_records import FileRecords, LogOffsetPosition, TimestampAndOffset
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.testing.mock_time import MockTime

VALUES = [b"abcd", b"efgh", b"ijkl"]
FORMATS = [(magic, codec) for magic in (0, 1, 2) for codec in (CompressionType.NONE, CompressionType.GZIP)]


@pytest.fixture
def file_records(tmp_path: Path) -> Iterator[FileRecords]:
    records = FileRecords.open(tmp_path / "00000000000000000000.log")
    for offset, value in enumerate(VALUES):
        records.append(MemoryRecords.with_records(SimpleRecord(0, None, value), initial_offset=offset))
    records.flush()
    yield records
    records.close()


def write_behind(records: FileRecords, data: bytes, position: int | None = None) -> None:
    """Past the records themselves, at their end by default."""
    with open(records.file, "r+b") as file:
        file.seek(records.size_in_bytes() if position is None else position)
        file.write(data)


def values_of(records: FileRecords | MemoryRecords) -> list[bytes]:
    return [bytes(record.value() or b"") for record in records.records()]


@pytest.mark.ported("FileRecordsTest.testFileSize")
def test_file_size(file_records: FileRecords) -> None:
    assert file_records.size_in_bytes() == os.path.getsize(file_records.file)
    before = file_records.file.read_bytes()
    more = MemoryRecords.with_records(SimpleRecord(0, None, b"z" * 1000))
    for _ in range(20):
        assert file_records.append(more) == more.size_in_bytes()
    after = file_records.file.read_bytes()
    assert after == before + bytes(more.buffer) * 20
    assert file_records.size_in_bytes() == len(after)


@pytest.mark.ported("FileRecordsTest.testIterationOverPartialAndTruncation")
@pytest.mark.parametrize("size", [0, 1, 2, 4, 5, 6, 11, 12, 16, 17, 60])
def test_partial_batch_at_the_end_is_ignored(file_records: FileRecords, size: int) -> None:
    write_behind(file_records, bytes(size))
    assert values_of(file_records) == VALUES
    reopened = FileRecords.open(file_records.file, mutable=False)
    if size <= 17:
        assert values_of(reopened) == VALUES
    else:
        with pytest.raises(CorruptRecordException):
            values_of(reopened)
    reopened.close_handlers()


@pytest.mark.ported("FileRecordsTest.testIterationDoesntChangePosition")
def test_iteration_does_not_change_where_appends_go(file_records: FileRecords) -> None:
    assert values_of(file_records) == VALUES
    file_records.append(MemoryRecords.with_records(SimpleRecord(0, None, b"last"), initial_offset=3))
    assert values_of(file_records) == [*VALUES, b"last"]


@pytest.mark.ported("FileRecordsTest.testRead")
def test_slices(file_records: FileRecords) -> None:
    batches = list(file_records.batches())
    whole = file_records.slice(0, file_records.size_in_bytes())
    assert values_of(whole) == VALUES
    second = batches[1]
    start, size = second.position(), second.size_in_bytes()
    rest = file_records.slice(start, file_records.size_in_bytes())
    assert values_of(rest) == VALUES[1:]
    assert values_of(rest.slice(0, size)) == VALUES[1:2]
    assert values_of(rest.read(size, size)) == VALUES[2:]
    assert values_of(file_records.slice(start, size - 1)) == []
    assert file_records.slice(start, 1 << 31).size_in_bytes() == file_records.size_in_bytes() - start
    for position, length in ((-1, 5), (0, -1)):
        with pytest.raises(ValueError, match="Invalid"):
            file_records.slice(position, length)


@pytest.mark.ported("FileRecordsTest.testSearch")
def test_search(file_records: FileRecords) -> None:
    file_records.append(MemoryRecords.with_records(SimpleRecord(0, None, b"test"), initial_offset=50))
    positions = [(batch.position(), batch.size_in_bytes()) for batch in file_records.batches()]
    for target, index in ((0, 0), (1, 1), (2, 2), (3, 3), (50, 3)):
        offset = 50 if index == 3 else index
        expected = LogOffsetPosition(offset, *positions[index])
        for start in range(index + 1):
            assert file_records.search_for_offset_with_size(target, positions[start][0]) == expected
    assert file_records.search_for_offset_with_size(51, 0) is None
    assert file_records.search_for_offset_with_size(0, file_records.size_in_bytes()) is None


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_search_over_many_chunks_equals_iteration(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    records = FileRecords.open(tmp_path / "x.log")
    offset = 0
    for i in range(60):
        simple = [SimpleRecord(1000 + i, b"k", os.urandom(i * 53 % 700)) for _ in range(1 + i % 3)]
        records.append(MemoryRecords.with_records(*simple, magic=magic, compression_type=codec, initial_offset=offset))
        offset += len(simple) + i % 2
    batches = list(records.batches())
    for target in range(0, offset, 7):
        expected = next(
            (
                LogOffsetPosition(b.last_offset(), b.position(), b.size_in_bytes())
                for b in batches
                if b.last_offset() >= target
            ),
            None,
        )
        assert records.search_for_offset_with_size(target, 0) == expected
    records.close()


def test_search_refuses_impossible_sizes(file_records: FileRecords) -> None:
    second = list(file_records.batches())[1].position()
    write_behind(file_records, struct.pack(">i", 3), second + 8)
    with pytest.raises(CorruptRecordException):
        file_records.search_for_offset_with_size(2, 0)
    with pytest.raises(CorruptRecordException):
        list(file_records.batches())


def test_search_for_timestamp(tmp_path: Path) -> None:
    records = FileRecords.open(tmp_path / "x.log")
    for base in range(0, 30, 10):
        simple = [SimpleRecord(100 + base + i, b"k", b"v") for i in range(10)]
        records.append(MemoryRecords.with_records(*simple, initial_offset=base))
    assert records.search_for_timestamp(0, 0, 0) == TimestampAndOffset(100, 0)
    assert records.search_for_timestamp(115, 0, 0) == TimestampAndOffset(115, 15)
    assert records.search_for_timestamp(115, 0, 18) == TimestampAndOffset(118, 18)
    assert records.search_for_timestamp(130, 0, 0) is None
    assert records.largest_timestamp_after(0) == TimestampAndOffset(129, 29)
    assert records.largest_timestamp_after(records.size_in_bytes()) == TimestampAndOffset(-1, -1)
    records.close()


@pytest.mark.ported("FileRecordsTest.testIteratorWithLimits")
def test_iterator_with_limits(file_records: FileRecords) -> None:
    second = file_records.search_for_offset_with_size(1, 0)
    assert second is not None
    assert values_of(file_records.slice(second.position, second.size)) == VALUES[1:2]
    assert values_of(file_records.slice(second.position, second.size - 1)) == []


@pytest.mark.ported("FileRecordsTest.testTruncate")
@pytest.mark.ported("FileRecordsTest.testTruncateNotCalledIfSizeIsSameAsTargetSize")
@pytest.mark.ported("FileRecordsTest.testTruncateNotCalledIfSizeIsBiggerThanTargetSize")
@pytest.mark.ported("FileRecordsTest.testTruncateIfSizeIsDifferentToTargetSize")
def test_truncate(file_records: FileRecords) -> None:
    size = file_records.size_in_bytes()
    third = list(file_records.batches())[2].position()
    for wrong in (size + 1, -1):
        with pytest.raises(KafkaException, match="Attempt to truncate"):
            file_records.truncate_to(wrong)
    os.utime(file_records.file, (1, 1))
    assert file_records.truncate_to(size) == 0
    assert file_records.file.stat().st_mtime == 1
    assert file_records.truncate_to(third) == size - third
    assert file_records.size_in_bytes() == third == os.path.getsize(file_records.file)
    file_records.append(MemoryRecords.with_records(SimpleRecord(0, None, b"new"), initial_offset=2))
    assert values_of(file_records) == [*VALUES[:2], b"new"]


@pytest.mark.ported("FileRecordsTest.testPreallocateTrue")
@pytest.mark.ported("FileRecordsTest.testPreallocateFalse")
@pytest.mark.ported("FileRecordsTest.testPreallocateClearShutdown")
def test_preallocate(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    records = FileRecords.open(path, init_file_size=512 * 1024, preallocate=True)
    assert (records.size_in_bytes(), os.path.getsize(path)) == (0, 512 * 1024)
    one = MemoryRecords.with_records(SimpleRecord(0, None, b"v"))
    records.append(one)
    assert (records.size_in_bytes(), os.path.getsize(path)) == (one.size_in_bytes(), 512 * 1024)
    assert values_of(records) == [b"v"]
    records.close()
    assert os.path.getsize(path) == one.size_in_bytes()
    again = FileRecords.open(path, True, True, 512 * 1024, True)
    assert again.size_in_bytes() == one.size_in_bytes()
    again.append(one)
    assert values_of(again) == [b"v", b"v"]
    again.close()
    plain = FileRecords.open(tmp_path / "y.log", init_file_size=512 * 1024)
    assert os.path.getsize(plain.file) == 0
    plain.close()


def test_rename_and_delete(file_records: FileRecords) -> None:
    old = file_records.file
    new = old.with_suffix(".log.deleted")
    file_records.rename_to(new)
    assert file_records.file == new
    assert not old.exists()
    assert values_of(file_records) == VALUES
    assert file_records.delete_if_exists()
    assert not file_records.delete_if_exists()
    assert not file_records.channel().is_open()


def test_a_slice_of_a_closed_file_is_closed_too(tmp_path: Path) -> None:
    records = FileRecords.open(tmp_path / "x.log")
    records.append(MemoryRecords.with_records(SimpleRecord(0, None, b"v")))
    part = records.slice(0, 1000)
    records.close()
    assert not part.channel().is_open()
    with pytest.raises(KafkaException):
        list(part.batches())
    with pytest.raises(OSError, match="Bad file descriptor"):
        part.write_to(None, 0, 10)


def test_read_into(file_records: FileRecords) -> None:
    second = list(file_records.batches())[1]
    buffer = bytearray(1000)
    view = file_records.read_into(buffer, second.position())
    assert values_of(MemoryRecords(view)) == VALUES[1:]
    part = file_records.slice(second.position(), 1000)
    assert bytes(part.read_into(bytearray(20), 0)) == file_records.file.read_bytes()[second.position() :][:20]


def test_write_to_sends_with_sendfile(file_records: FileRecords) -> None:
    second = list(file_records.batches())[1]
    part = file_records.slice(second.position(), 1000)
    left, right = socket.socketpair()
    with left, right:
        assert part.write_to(left, 0, 5) == 5
        assert part.write_to(left, 5, 1000) == part.size_in_bytes() - 5
        data = right.recv(4096)
    content = file_records.file.read_bytes()
    assert data == content[second.position() :]


class Layer:
    """Notes what a transport layer is asked to send."""

    def __init__(self) -> None:
        self.asked: list[tuple[FileChannel, int, int]] = []

    def transfer_from(self, file_channel: FileChannel, position: int, count: int) -> int:
        self.asked.append((file_channel, position, count))
        return count


def test_write_to_a_transport_layer_uses_absolute_positions(file_records: FileRecords) -> None:
    layer = Layer()
    part = file_records.slice(70, 50)
    assert part.write_to(layer, 8, 40) == 40
    assert layer.asked == [(file_records.channel(), 78, 40)]


def test_write_to_notices_truncation(file_records: FileRecords) -> None:
    part = file_records.slice(0, file_records.size_in_bytes())
    file_records.truncate_to(10)
    with pytest.raises(KafkaException, match="has been truncated during write"):
        part.write_to(Layer(), 0, 100)


@pytest.mark.ported("FileRecordsTest.testConversion")
@pytest.mark.ported("FileRecordsTest.testFormatConversionWithPartialMessage")
def test_down_convert(file_records: FileRecords) -> None:
    converted = file_records.down_convert(1, 1, MockTime())
    assert isinstance(converted.records(), MemoryRecords)
    assert [record.offset() for record in converted.records().records()] == [1, 2]
    second = list(file_records.batches())[1]
    partial = file_records.slice(second.position(), second.size_in_bytes() - 1)
    assert partial.down_convert(0, 0, MockTime()).records() is partial


@pytest.mark.ported("FileLogInputStreamTest.testWriteTo")
@pytest.mark.ported("FileLogInputStreamTest.testSimpleBatchIteration")
@pytest.mark.ported("FileLogInputStreamTest.testBatchIterationWithMultipleRecordsPerBatch")
@pytest.mark.ported("FileLogInputStreamTest.testBatchIterationV2")
@pytest.mark.ported("FileLogInputStreamTest.testBatchIterationIncompleteBatch")
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_batches_of_a_file_equal_those_in_memory(tmp_path: Path, magic: int, codec: CompressionType) -> None:
    records = FileRecords.open(tmp_path / "x.log")
    content = b""
    for base in (0, 10, 20):
        simple = [SimpleRecord(100 + base + i, b"k%d" % i, b"v" * i) for i in range(3)]
        state = {"producer_id": 7, "producer_epoch": 1, "base_sequence": base} if magic == 2 else {}
        part = MemoryRecords.with_records(
            *simple,
            magic=magic,
            compression_type=codec,
            initial_offset=base,
            **state,  # type: ignore[arg-type]
        )
        records.append(part)
        content += bytes(part.buffer)
    write_behind(records, content[:40])
    in_file, in_memory = list(records.batches()), list(MemoryRecords(content).batches())
    assert len(in_file) == len(in_memory)
    for one, other in zip(in_file, in_memory, strict=True):
        for field in (
            "magic", "base_offset", "last_offset", "next_offset", "producer_id", "producer_epoch", "base_sequence",
            "last_sequence", "compression_type", "timestamp_type", "max_timestamp", "checksum", "size_in_bytes",
            "count_or_null", "is_transactional", "is_control_batch", "partition_leader_epoch", "is_valid",
            "is_compressed", "has_producer_id",
        ):  # fmt: skip
            assert getattr(one, field)() == getattr(other, field)(), field
        assert [(r.offset(), r.key(), r.timestamp()) for r in one] == [
            (r.offset(), r.key(), r.timestamp()) for r in other
        ]
        one.ensure_valid()
    assert in_file == list(records.batches())
    records.close()
