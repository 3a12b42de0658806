"""LogSegment on its own: reading, truncating, recovering."""

from __future__ import annotations

import errno
import pathlib
import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log import Log
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.offset_index import OffsetIndex
from kafka_py.log.producer_state_manager import BatchMetadata, ProducerStateEntry, ProducerStateManager
from kafka_py.log.time_index import TimeIndex
from kafka_py.log.transaction_index import TransactionIndex
from kafka_py.testing.mock_time import MockTime
from tests.log.log_harness import log_config

TP = TopicPartition("topic", 0)
INT_MAX = 2**31 - 1
CreateSegment = Callable[..., LogSegment]


@pytest.fixture
def create_segment(tmp_path: pathlib.Path) -> Iterator[CreateSegment]:
    segments: list[LogSegment] = []

    def create(
        offset: int, index_interval_bytes: int = 10, max_segment_ms: int = INT_MAX, time: MockTime | None = None
    ) -> LogSegment:
        segment = LogSegment(
            FileRecords.open(Log.log_file(tmp_path, offset)),
            OffsetIndex(Log.offset_index_file(tmp_path, offset), offset, 1000),
            TimeIndex(Log.time_index_file(tmp_path, offset), offset, 1500),
            TransactionIndex(offset, Log.transaction_index_file(tmp_path, offset)),
            offset,
            index_interval_bytes,
            0,
            max_segment_ms,
            INT_MAX,
            time or MockTime(),
        )
        segments.append(segment)
        return segment

    yield create
    for segment in segments:
        segment.close_handlers()


def records(offset: int, *texts: str, magic: int = 1) -> MemoryRecords:
    return MemoryRecords.with_records(
        *(SimpleRecord(offset * 10, value=text.encode()) for text in texts), magic=magic, initial_offset=offset
    )


def read_offsets(segment: LogSegment, start: int, max_offset: int | None = None, size: int = 10000) -> list[int] | None:
    info = segment.read(start, max_offset, size)
    return None if info is None else [record.offset() for record in info.records.records()]


@pytest.mark.ported("LogSegmentTest.testReadOnEmptySegment")
def test_read_on_empty_segment(create_segment: CreateSegment) -> None:
    assert create_segment(40).read(40, None, 300) is None


@pytest.mark.ported("LogSegmentTest.testReadBeforeFirstOffset")
@pytest.mark.ported("LogSegmentTest.testReadAfterLast")
@pytest.mark.parametrize("magic", [1, 2])
def test_read_before_first_and_after_last(create_segment: CreateSegment, magic: int) -> None:
    segment = create_segment(40)
    segment.append(50, 53, -1, -1, records(50, "hello", "there", "little", "bee", magic=magic))
    assert read_offsets(segment, 41) == [50, 51, 52, 53]
    assert read_offsets(segment, 54) is None


@pytest.mark.ported("LogSegmentTest.testMaxOffset")
def test_max_offset(create_segment: CreateSegment) -> None:
    segment = create_segment(50)
    segment.append(50, 52, -1, -1, records(50, "hello", "there", "beautiful"))
    for offset in (50, 51, 52):
        assert read_offsets(segment, offset, offset + 1) == [offset]


@pytest.mark.ported("LogSegmentTest.testReadFromGap")
@pytest.mark.parametrize("magic", [1, 2])
def test_read_from_gap(create_segment: CreateSegment, magic: int) -> None:
    segment = create_segment(40)
    segment.append(50, 51, -1, -1, records(50, "hello", "there", magic=magic))
    segment.append(60, 61, -1, -1, records(60, "alpha", "beta", magic=magic))
    assert read_offsets(segment, 55) == [60, 61]


@pytest.mark.ported("LogSegmentTest.testTruncate")
@pytest.mark.parametrize("magic", [1, 2])
def test_truncate(create_segment: CreateSegment, magic: int) -> None:
    segment = create_segment(40)
    for offset in range(40, 70):
        for i in (offset, offset + 1):
            segment.append(i, i, -1, -1, records(i, "hello", magic=magic))
        assert read_offsets(segment, offset) == [offset, offset + 1]
        segment.truncate_to(offset + 1)
        assert read_offsets(segment, offset) == [offset]


@pytest.mark.ported("LogSegmentTest.testTruncateEmptySegment")
def test_truncate_empty_segment(create_segment: CreateSegment) -> None:
    max_segment_ms, time = 300000, MockTime()
    segment = create_segment(0, max_segment_ms=max_segment_ms, time=time)
    segment.close()
    reopened = create_segment(0, max_segment_ms=max_segment_ms, time=time)
    assert (reopened.time_index.size_in_bytes, reopened.offset_index.size_in_bytes) == (0, 0)
    time.sleep(500)
    reopened.truncate_to(57)
    assert reopened.time_waited_for_roll(time.milliseconds(), -1) == 0
    assert not reopened.time_index.is_full
    assert not reopened.offset_index.is_full
    assert not reopened.should_roll(1024, -1, 100, time.milliseconds())
    time.sleep(max_segment_ms + 1)
    assert reopened.time_waited_for_roll(time.milliseconds(), -1) == max_segment_ms + 1
    assert not reopened.should_roll(1024, -1, 100, time.milliseconds())  # empty
    assert reopened.should_roll(1024, -1, INT_MAX + 200, time.milliseconds())


@pytest.mark.ported("LogSegmentTest.testReloadLargestTimestampAndNextOffsetAfterTruncation")
def test_reload_largest_timestamp_and_next_offset_after_truncation(create_segment: CreateSegment) -> None:
    segment = create_segment(40, 2 * records(0, "hello").size_in_bytes() - 1)
    for offset in range(40, 70):
        segment.append(offset, offset, offset, offset, records(offset, "hello"))
    assert segment.read_next_offset() == 70
    assert segment.time_index.entries == 14
    segment.truncate_to(41)
    assert segment.time_index.entries == 0
    assert segment.largest_timestamp == 400
    assert segment.read_next_offset() == 41


@pytest.mark.ported("LogSegmentTest.testTruncateFull")
def test_truncate_full(create_segment: CreateSegment) -> None:
    time = MockTime()
    segment = create_segment(40, time=time)
    segment.append(40, 41, -1, -1, records(40, "hello", "there"))
    time.sleep(500)
    assert segment.time_waited_for_roll(time.milliseconds(), -1) == 500
    segment.truncate_to(0)
    assert segment.time_waited_for_roll(time.milliseconds(), -1) == 0
    assert segment.read(0, None, 1024) is None
    segment.append(40, 41, -1, -1, records(40, "hello", "there"))
    assert read_offsets(segment, 40) == [40, 41]


@pytest.mark.ported("LogSegmentTest.shouldTruncateEvenIfOffsetPointsToAGapInTheLog")
def test_truncate_in_a_gap(create_segment: CreateSegment) -> None:
    segment = create_segment(40)
    segment.append(40, 40, -1, -1, records(40, "first", magic=2))
    segment.append(43, 43, -1, -1, records(43, "after gap", magic=2))
    segment.truncate_to(41)
    assert read_offsets(segment, 40) == [40]


@pytest.mark.ported("LogSegmentTest.testFindOffsetByTimestamp")
def test_find_offset_by_timestamp(create_segment: CreateSegment) -> None:
    segment = create_segment(40, records(0, "msg00").size_in_bytes() * 2 - 1)
    for i in range(40, 50):
        segment.append(i, i, i * 10, i, records(i, f"msg{i}"))
    assert segment.largest_timestamp == 490
    for timestamp, offset in ((420, 42), (421, 43), (430, 43), (431, 44), (401, 41), (399, 40)):
        found = segment.find_offset_by_timestamp(timestamp)
        assert found is not None
        assert found.offset == offset
    assert segment.find_offset_by_timestamp(491) is None


@pytest.mark.ported("LogSegmentTest.testNextOffsetCalculation")
def test_next_offset_calculation(create_segment: CreateSegment) -> None:
    segment = create_segment(40)
    assert segment.read_next_offset() == 40
    segment.append(50, 52, -1, -1, records(50, "hello", "there", "you"))
    assert segment.read_next_offset() == 53


@pytest.mark.ported("LogSegmentTest.testChangeFileSuffixes")
def test_change_file_suffixes(create_segment: CreateSegment) -> None:
    segment = create_segment(40)
    before = [segment.log.file, segment.offset_index.file, segment.time_index.file]
    segment.change_file_suffixes("", ".deleted")
    after = [segment.log.file, segment.offset_index.file, segment.time_index.file]
    assert [str(file) + ".deleted" for file in before] == [str(file) for file in after]
    assert all(pathlib.Path(file).exists() for file in after)
    with pytest.raises(ValueError, match="Expected string to end with"):
        segment.change_file_suffixes(".cleaned", ".swap")


@pytest.mark.ported("LogSegmentTest.testRecoveryFixesCorruptIndex")
def test_recovery_fixes_corrupt_index(create_segment: CreateSegment, tmp_path: pathlib.Path) -> None:
    segment = create_segment(0)
    for i in range(100):
        segment.append(i, i, -1, -1, records(i, str(i)))
    with open(segment.offset_index.file, "r+b") as file:
        file.seek(5)
        file.write(random.Random(1).randbytes(900))
    segment.recover(ProducerStateManager(TP, tmp_path))
    assert all(read_offsets(segment, i, i + 1) == [i] for i in range(100))


@pytest.mark.ported("LogSegmentTest.testRecoveryFixesCorruptTimeIndex")
def test_recovery_fixes_corrupt_time_index(create_segment: CreateSegment, tmp_path: pathlib.Path) -> None:
    segment = create_segment(0)
    for i in range(100):
        segment.append(i, i, i * 10, i, records(i, str(i)))
    with open(segment.time_index.file, "r+b") as file:
        file.seek(5)
        file.write(random.Random(1).randbytes(900))
    segment.recover(ProducerStateManager(TP, tmp_path))
    for i in range(99):
        for timestamp, offset in ((i * 10, i), (i * 10 + 1, i + 1)):
            found = segment.find_offset_by_timestamp(timestamp)
            assert found is not None
            assert found.offset == offset


@pytest.mark.ported("LogSegmentTest.testRecoveryWithCorruptMessage")
@pytest.mark.parametrize("seed", range(10))
def test_recovery_with_corrupt_message(create_segment: CreateSegment, tmp_path: pathlib.Path, seed: int) -> None:
    rand = random.Random(seed)
    segment = create_segment(0)
    for i in range(20):
        segment.append(i, i, -1, -1, records(i, str(i)))
    damaged_from = rand.randrange(20)
    place = segment.log.search_for_offset_with_size(damaged_from, 0)
    assert place is not None
    position = place.position + rand.randrange(15)
    with open(segment.log.file, "r+b") as file:
        file.seek(position)
        file.write(rand.randbytes(segment.size - position))
    segment.recover(ProducerStateManager(TP, tmp_path))
    assert [batch.last_offset() for batch in segment.log.batches()] == list(range(damaged_from))


@pytest.mark.ported("LogSegmentTest.testRecoverTransactionIndex")
@pytest.mark.parametrize(("ongoing", "first_offset"), [(False, 102), (True, 75)])
def test_recover_transaction_index(
    create_segment: CreateSegment, tmp_path: pathlib.Path, ongoing: bool, first_offset: int
) -> None:
    segment = create_segment(100)
    pid1, pid2 = 5, 10
    two = [SimpleRecord(value=b"a"), SimpleRecord(value=b"b")]
    for offset, pid in ((100, pid1), (102, pid2)):
        transactional = MemoryRecords.with_transactional_records(
            *two, producer_id=pid, producer_epoch=0, base_sequence=100, initial_offset=offset, partition_leader_epoch=15
        )
        segment.append(offset, offset + 1, -1, offset, transactional)
    segment.append(104, 105, -1, 104, MemoryRecords.with_records(*two, initial_offset=104, partition_leader_epoch=15))
    for offset, pid, type_ in ((106, pid2, ControlRecordType.ABORT), (107, pid1, ControlRecordType.COMMIT)):
        marker = MemoryRecords.with_end_transaction_marker(
            pid, 0, EndTransactionMarker(type_, 0), timestamp=-1, initial_offset=offset, partition_leader_epoch=0
        )
        segment.append(offset, offset, -1, offset, marker)
    manager = ProducerStateManager(TP, tmp_path)
    if ongoing:
        manager.load_producer_entry(ProducerStateEntry(pid2, deque([BatchMetadata(10, 10, 5, -1)]), 0, 0, 75))
    segment.recover(manager)
    assert manager.map_end_offset == 108
    (txn,) = segment.txn_index.all_aborted_txns()
    assert (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset) == (
        pid2,
        first_offset,
        106,
        100,
    )


@pytest.mark.ported("LogSegmentTest.testCreateWithInitFileSizeAppendMessage")
@pytest.mark.ported("LogSegmentTest.testCreateWithInitFileSizeClearShutdown")
def test_preallocated_segment(tmp_path: pathlib.Path) -> None:
    config = log_config(index_interval_bytes=10, segment_index_bytes=1000)
    size = 64 * 1024 * 1024
    segment = LogSegment.open(tmp_path, 40, config, MockTime(), init_file_size=size, preallocate=True)
    segment.append(50, 51, -1, -1, records(50, "hello", "there"))
    segment.append(60, 61, -1, -1, records(60, "alpha", "beta"))
    assert read_offsets(segment, 55) == [60, 61]
    file = pathlib.Path(segment.log.file)
    used = segment.size
    assert file.stat().st_size == size
    segment.close()
    assert file.stat().st_size == used
    reopened = LogSegment.open(
        tmp_path, 40, config, MockTime(), file_already_exists=True, init_file_size=size, preallocate=True
    )
    assert read_offsets(reopened, 55) == [60, 61]
    assert reopened.size == used
    reopened.close()


@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_index_entries_every_interval(create_segment: CreateSegment, size: int) -> None:
    """With 4096 bytes and batches of 1000, at the 6th, 11th, … append: the counter must be above, then starts anew."""
    segment = create_segment(0, index_interval_bytes=4096)
    padding = size - records(0, "").size_in_bytes()
    positions = []
    for i in range(16):
        entries, position = segment.offset_index.entries, segment.size
        segment.append(i, i, i, i, records(i, "x" * padding))
        if segment.offset_index.entries > entries:
            positions.append(position)
    assert positions == [5 * size, 10 * size, 15 * size]
    assert segment.time_index.entries == 3


def test_offset_too_far_from_the_base(create_segment: CreateSegment) -> None:
    segment = create_segment(40)
    assert segment.can_convert_to_relative_offset(40 + INT_MAX)
    with pytest.raises(ValueError, match="can not be safely converted to relative offset"):
        segment.append(41 + INT_MAX, 41 + INT_MAX, -1, -1, records(41 + INT_MAX, "far"))
    assert segment.size == 0


def test_delete_if_exists(create_segment: CreateSegment, tmp_path: pathlib.Path) -> None:
    segment = create_segment(0)
    segment.append(0, 0, -1, -1, records(0, "a"))
    segment.delete_if_exists()
    assert list(tmp_path.iterdir()) == []
    segment.delete_if_exists()
    assert repr(segment).startswith("LogSegment(baseOffset=0, size=")


def test_last_modified(create_segment: CreateSegment) -> None:
    segment = create_segment(0)
    segment.append(0, 0, -1, -1, records(0, "a"))
    segment.last_modified = 123456
    assert segment.last_modified == 123456
    assert segment.largest_timestamp == 123456  # no record has a timestamp


def test_an_append_that_finds_no_descriptor_for_an_index_leaves_nothing_behind(
    create_segment: CreateSegment, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = create_segment(0)
    segment.append(0, 0, 0, 0, records(0, "first, without an index entry"))

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("kafka_py.log.abstract_index.os.open", refuse)
    size = segment.log.size_in_bytes()
    with pytest.raises(OSError, match="Too many open files"):
        segment.append(1, 1, 10, 1, records(1, "second"))
    assert segment.log.size_in_bytes() == size
    monkeypatch.undo()
    segment.append(1, 1, 10, 1, records(1, "second"))
    assert read_offsets(segment, 0) == [0, 1]
    assert (segment.offset_index.entries, segment.time_index.entries) == (1, 1)
