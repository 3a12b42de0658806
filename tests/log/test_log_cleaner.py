"""Cleaner: one pass over one log."""

from __future__ import annotations

import itertools
import logging
import os
import pathlib
from collections.abc import Iterable

import crc32c
import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    IllegalStateException,
    KafkaException,
    LogCleaningAbortedException,
)
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.cleaner_stats import CleanerStats
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.offset_map import SkimpyOffsetMap
from tests.log.cleaner_support import (
    INT_MAX,
    LONG_MAX,
    FakeOffsetMap,
    all_records,
    cleaner_config,
    damage,
    fill_segments,
    key,
    keys_in_log,
    last_offsets_per_batch,
    last_sequences,
    make_cleaner,
    offsets_in_log,
    producer,
    put_all,
    record,
    to_clean,
)
from tests.log.log_harness import GZIP, LZ4, Logs, as_follower, as_leader, singleton, value_of


@pytest.mark.ported("LogCleanerTest.testCleanSegments")
def test_clean_segments(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    fill_segments(log, 4)
    keys_found = keys_in_log(log)
    assert keys_found == list(range(log.log_end_offset))
    gone = {1, 3, 5, 7, 9}
    table = put_all(FakeOffsetMap(INT_MAX), gone)
    segments = log.log_segments[:3]
    stats = CleanerStats()
    expected_bytes_read = sum(segment.size for segment in segments)
    make_cleaner(logs.time).clean_segments(log, segments, table, 0, stats)
    assert keys_in_log(log) == [k for k in keys_found if k not in gone]
    assert offsets_in_log(log) == keys_in_log(log)
    assert stats.bytes_read == expected_bytes_read
    assert stats.messages_read - stats.messages_written == 5
    assert log.number_of_segments == 2


@pytest.mark.ported("LogCleanerTest.testSizeTrimmedForPreallocatedAndCompactedTopic")
def test_a_preallocated_file_is_trimmed(logs: Logs) -> None:
    log = logs.create(cleaner_config(preallocate="true"))
    for i in (0, 1, 0, 1, 0):
        as_leader(log, record(i, i))
    log.roll()
    make_cleaner(logs.time, 2).clean(to_clean(log, 2))
    first = log.log_segments[0]
    assert first.log.channel().size() == first.size < 1024


@pytest.mark.ported("LogCleanerTest.testDuplicateCheckAfterCleaning")
def test_duplicates_are_still_known_after_cleaning(logs: Logs) -> None:
    config = cleaner_config(segment_bytes=2048)
    log = logs.create(config)
    cleaner = make_cleaner(logs.time)
    producer(logs, log, 1)(1, 2, 3)
    producer(logs, log, 2)(3, 1, 4)
    producer(logs, log, 3)(1, 4)
    log.roll()
    cleaner.clean(to_clean(log))
    assert last_offsets_per_batch(log) == [2, 5, 7]
    assert last_sequences(log) == {1: 2, 2: 2, 3: 1}
    assert keys_in_log(log) == [2, 3, 1, 4]
    assert offsets_in_log(log) == [1, 3, 6, 7]
    # the producers' state is read from the cleaned log now
    log.close()
    logs.delete_producer_snapshot_files()
    log = logs.create(config)
    for pid, keys, first, last in ((1, (1, 2, 3), 0, 2), (3, (1, 4), 6, 7), (2, (3, 1, 4), 3, 5)):
        info = producer(logs, log, pid)(*keys)
        assert (info.first_offset, info.last_offset) == (first, last)
    producer(logs, log, 4)(2)
    log.roll()
    cleaner.clean(to_clean(log))
    assert last_sequences(log) == {1: 2, 2: 2, 3: 1, 4: 0}
    assert last_offsets_per_batch(log) == [2, 5, 7, 8]
    assert keys_in_log(log) == [3, 1, 4, 2]
    assert offsets_in_log(log) == [3, 6, 7, 8]
    log.close()
    logs.delete_producer_snapshot_files()
    log = logs.create(config)
    info = producer(logs, log, 1)(1, 2, 3)
    assert (info.first_offset, info.last_offset) == (0, 2)


@pytest.mark.ported("LogCleanerTest.testLargeMessage")
def test_a_message_larger_than_the_buffers(logs: Logs) -> None:
    size = 64 * 1024
    log = logs.create(cleaner_config(segment_bytes=size * 8, segment_index_bytes=8192, max_message_bytes=size * 2))
    fill_segments(log, 2, lambda offset: record(offset, bytes(size)))
    before = keys_in_log(log)
    gone = {1, 3, 5}
    table = put_all(FakeOffsetMap(INT_MAX), gone)
    cleaner = make_cleaner(logs.time, max_message_size=1024)
    cleaner.clean_segments(log, log.log_segments[:1], table, 0, CleanerStats())
    assert keys_in_log(log) == [k for k in before if k not in gone]
    assert cleaner._read_buffer == 1024, "back to the configured size"


def test_a_message_larger_than_the_topic_allows_by_now(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=4096, max_message_bytes=2048))
    for i in (1, 2, 1):
        as_leader(log, record(i, bytes(1500)))
    log.roll()
    log.update_config((), cleaner_config(segment_bytes=4096, max_message_bytes=100))
    cleaner = make_cleaner(logs.time, max_message_size=100)
    cleaner.clean(to_clean(log))
    assert offsets_in_log(log) == [1, 2]


def test_a_batch_that_says_to_be_longer_than_the_file(logs: Logs) -> None:
    log = logs.create(cleaner_config(max_message_bytes=500))
    for i in range(3):
        as_leader(log, record(i, i))
    log.roll()
    segment = log.log_segments[0]
    damage(segment.log.file, segment.size // 3 + 9)  # 64 KB more in the length of the second batch
    cleaner = make_cleaner(logs.time, max_message_size=100)
    with pytest.raises(CorruptRecordException, match="Log segment may be corrupt, batch size 65"):
        cleaner.clean(to_clean(log))
    assert not list(logs.dir.glob("*.cleaned"))
    with pytest.raises(IllegalStateException, match="larger than maximum allowable size of 100"):
        cleaner.grow_buffers(100)


@pytest.mark.ported("LogCleanerTest.testCleaningWithDeletes")
def test_cleaning_with_deletes(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    fill_segments(log, 2)
    end = log.log_end_offset
    for k in range(0, end, 2):
        as_leader(log, record(k, None))
    fill_segments(log, 4)
    make_cleaner(logs.time).clean(to_clean(log))
    assert not set(range(0, end, 2)) & set(keys_in_log(log))


def test_tombstones_go_when_their_time_is_over(logs: Logs) -> None:
    log = logs.create(cleaner_config(delete_retention_ms=1000))
    for k in (1, 2, 3):
        as_leader(log, record(k, k))
    log.roll()
    as_leader(log, record(2, None))
    log.roll()
    cleaner = make_cleaner(logs.time)
    dirty, _ = cleaner.clean(to_clean(log))
    assert [r.offset() for r in all_records(log)] == [0, 2, 3]
    # the segment with the tombstone is clean now; nothing happens until another one is half a second younger
    modified = log.log_segments[0].last_modified
    for age, left in ((500, [0, 2, 3, 4]), (1500, [0, 2, 5])):
        as_leader(log, record(9, 9))
        log.roll()
        log.log_segments[-2].last_modified = modified + age
        horizon = modified + age - 1000
        dirty, stats = cleaner.do_clean(to_clean(log, dirty), horizon)
        assert [r.offset() for r in all_records(log)] == left
    assert stats.messages_read - stats.messages_written == 2


@pytest.mark.ported("LogCleanerTest.testLogCleanerStats")
def test_cleaner_stats(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    for i in (0, 1, 0, 1, 0):
        as_leader(log, record(i, i))
    log.roll()
    initial_size = log.size
    end_offset, stats = make_cleaner(logs.time, 2).clean(to_clean(log, 2))
    # 0.75 * 2 slots: one key fits
    assert end_offset == 3
    assert (stats.messages_read, stats.bytes_read) == (5, initial_size)
    assert (stats.messages_written, stats.bytes_written) == (4, log.size)
    assert stats.invalid_messages_read == 0
    assert stats.map_messages_read == 3
    assert stats.end_time >= stats.map_complete_time >= stats.start_time
    assert stats.buffer_utilization == 0.5


@pytest.mark.ported("LogCleanerTest.testLogCleanerRetainsProducerLastSequence")
def test_last_sequences_are_kept(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    as_leader(log, record(0, 0))
    for pid, k, value, sequence in ((1, 0, 1, 0), (2, 0, 2, 0), (3, 0, 3, 0), (2, 1, 1, 1)):
        as_leader(log, record(k, value, producer_id=pid, producer_epoch=0, base_sequence=sequence))
    log.roll()
    make_cleaner(logs.time, 10).clean(to_clean(log))
    assert last_offsets_per_batch(log) == [1, 3, 4]
    assert last_sequences(log) == {1: 0, 2: 1, 3: 0}
    assert keys_in_log(log) == [0, 1]
    assert offsets_in_log(log) == [3, 4]


@pytest.mark.ported("LogCleanerTest.testPartialSegmentClean")
def test_partial_segment_clean(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    cleaner = make_cleaner(logs.time, 2)
    for i in (0, 1, 0, 1, 0):
        as_leader(log, record(i, i))
    log.roll()
    # one key at a time
    for dirty, keys, kept in ((2, [1, 0, 1, 0], [1, 2, 3, 4]), (3, [0, 1, 0], [2, 3, 4]), (4, [1, 0], [3, 4])):
        cleaner.clean(to_clean(log, dirty))
        assert keys_in_log(log) == keys
        assert offsets_in_log(log) == kept


@pytest.mark.ported("LogCleanerTest.testCleaningWithUncleanableSection")
def test_what_is_uncleanable_stays(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    keys, cleanable, total = 5, 2, 7

    def make(offset: int) -> MemoryRecords:
        return record(offset % keys, offset)

    fill_segments(log, cleanable + 1, make)
    first_uncleanable_offset = log.log_end_offset + 1  # inside a segment, which is not cleaned then
    fill_segments(log, total - 1, make)

    def distinct() -> list[int]:
        return [len({value_of(r) for r in segment.log.records()}) for segment in log.log_segments]

    before = distinct()
    assert all(n > keys for n in before[:-1])
    make_cleaner(logs.time).clean(to_clean(log, 0, first_uncleanable_offset))
    after = distinct()
    assert after == [0, keys, *before[cleanable:]]


@pytest.mark.ported("LogCleanerTest.testLogToClean")
def test_log_to_clean(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=100))
    for _ in range(6):
        as_leader(log, singleton(bytes(25), key=b"1"))
    ltc = to_clean(log, log.active_segment.base_offset)
    assert ltc.total_bytes == log.size - log.active_segment.size
    assert ltc.cleanable_ratio == 0


@pytest.mark.ported("LogCleanerTest.testLogToCleanWithUncleanableSection")
def test_log_to_clean_with_uncleanable_section(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=100))
    for _ in range(6):
        as_leader(log, singleton(bytes(25), key=b"1"))
    segments = log.log_segments
    ltc = to_clean(log, segments[2].base_offset, segments[4].base_offset)
    clean, cleanable = (sum(s.size for s in part) for part in (segments[:2], segments[2:4]))
    assert (ltc.clean_bytes, ltc.cleanable_bytes, ltc.total_bytes) == (clean, cleanable, clean + cleanable)
    assert ltc.cleanable_ratio == cleanable / (clean + cleanable)
    dirtier = to_clean(log, segments[1].base_offset, segments[4].base_offset)
    assert max(ltc, dirtier) is dirtier
    assert (ltc.compare(dirtier), ltc.compare(ltc)) == (-1, 0)


@pytest.mark.ported("LogCleanerTest.testCleaningWithUnkeyedMessages")
def test_records_without_key_go(logs: Logs) -> None:
    log = logs.create(cleaner_config(cleanup_policy="delete"))
    fill_segments(log, 2, lambda offset: singleton(key(offset)))
    unkeyed = sum(1 for r in all_records(log) if not r.has_key())
    size_with_unkeyed = log.size
    fill_segments(log, 3)
    expected = log.size - size_with_unkeyed
    _, stats = make_cleaner(logs.time).clean(to_clean(log))
    assert all(r.has_key() for r in all_records(log))
    assert log.size == expected
    assert stats.invalid_messages_read == unkeyed


@pytest.mark.ported("LogCleanerTest.testCleanSegmentsWithAbort")
def test_abort(logs: Logs) -> None:
    def check_done(_: TopicPartition) -> None:
        raise LogCleaningAbortedException()

    log = logs.create(cleaner_config())
    fill_segments(log, 4)
    table = put_all(FakeOffsetMap(INT_MAX), keys_in_log(log))
    before = keys_in_log(log)
    with pytest.raises(LogCleaningAbortedException):
        make_cleaner(logs.time, check_done=check_done).clean_segments(
            log, log.log_segments[:3], table, 0, CleanerStats()
        )
    assert not list(logs.dir.glob("*.cleaned"))
    assert keys_in_log(log) == before


def check_segment_order(groups: list[list[LogSegment]]) -> None:
    offsets = [segment.base_offset for group in groups for segment in group]
    assert offsets == sorted(offsets)


@pytest.mark.ported("LogCleanerTest.testSegmentGrouping")
def test_segment_grouping(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=300, index_interval_bytes=1))
    cleaner = make_cleaner(logs.time)
    fill_segments(log, 10, lambda _: singleton(b"hello", key=b"hello"))
    segments = log.log_segments

    def sizes(max_size: int, max_index_size: int) -> list[int]:
        groups = cleaner.group_segments_by_size(segments, max_size, max_index_size, log.log_end_offset)
        check_segment_order(groups)
        return [len(group) for group in groups]

    assert sizes(INT_MAX, INT_MAX) == [10]
    assert sizes(1, INT_MAX) == [1] * 10
    assert sizes(INT_MAX, 1) == [1] * 10
    assert sizes(sum(s.size for s in segments[:3]) + 1, INT_MAX)[:-1] == [3, 3, 3]
    index_size = sum(s.offset_index.size_in_bytes for s in segments[:3]) + 1
    assert set(sizes(INT_MAX, index_size)[:-1]) == {3}


def at_offset(offset: int) -> MemoryRecords:
    return singleton(b"hello", key=b"hello", initial_offset=offset)


@pytest.mark.ported("LogCleanerTest.testSegmentGroupingWithSparseOffsets")
def test_segment_grouping_with_sparse_offsets(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=400, index_interval_bytes=1))
    cleaner = make_cleaner(logs.time)

    def group() -> list[list[LogSegment]]:
        groups = cleaner.group_segments_by_size(log.log_segments, INT_MAX, INT_MAX, log.log_end_offset)
        check_segment_order(groups)
        return groups

    fill_segments(log, 2, lambda _: singleton(b"hello", key=b"hello"))
    as_follower(log, at_offset(INT_MAX - 1))
    as_leader(log, singleton(b"hello", key=b"hello"))
    assert log.active_segment.offset_index.last_offset == INT_MAX
    assert len(group()) == 1
    as_leader(log, singleton(b"hello", key=b"hello"))
    assert len(group()) == 2
    fill_segments(log, 4, lambda _: singleton(b"hello", key=b"hello"))
    groups = group()
    assert len(groups) == log.number_of_segments - 1
    for segments in groups:
        assert segments[-1].offset_index.last_offset - segments[0].base_offset <= INT_MAX


@pytest.mark.ported("LogCleanerTest.testSegmentGroupingFollowingLoadOfZeroIndex")
def test_segment_grouping_without_index_entries(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=400, index_interval_bytes=400))
    as_follower(log, at_offset(0))
    as_follower(log, at_offset(1))
    log.roll(INT_MAX // 2)
    as_follower(log, at_offset(INT_MAX // 2))
    as_follower(log, at_offset(INT_MAX + 1))
    assert log.log_end_offset - 1 - log.log_start_offset > INT_MAX
    groups = make_cleaner(logs.time).group_segments_by_size(log.log_segments, INT_MAX, INT_MAX, log.log_end_offset)
    assert len(groups) == 2
    for group in groups:
        assert group[-1].read_next_offset() - 1 - group[0].base_offset <= INT_MAX


@pytest.mark.ported("LogCleanerTest.testBuildOffsetMap")
def test_build_offset_map(logs: Logs) -> None:
    table = FakeOffsetMap(1000)
    log = logs.create(cleaner_config())
    cleaner = make_cleaner(logs.time)
    for i in range(100):
        as_leader(log, record(i, i))

    segments = log.log_segments
    bounds = [0, segments[1].base_offset, segments[3].base_offset, log.log_end_offset]
    for start, end in itertools.pairwise(bounds):
        stats = CleanerStats()
        cleaner.build_offset_map(log, start, end, table, stats)
        assert table.latest_offset + 1 == end
        assert table.map == {key(i): i for i in range(start, end)}
        assert stats.map_messages_read == end - start
    assert stats.map_bytes_read == sum(segment.size for segment in segments[3:])


@pytest.mark.ported("LogCleanerTest.testBuildOffsetMapFakeLarge")
def test_build_offset_map_with_a_gap(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=120, segment_index_bytes=120))
    table = FakeOffsetMap(1000)
    for i, offset in enumerate((0, 7206178)):
        as_follower(log, record(i, i, initial_offset=offset))
    make_cleaner(logs.time).build_offset_map(log, 0, 2, table, CleanerStats())
    assert table.latest_offset == 7206178
    assert table.map == {b"0": 0, b"1": 7206178}


@pytest.mark.ported("LogCleanerTest.testBuildPartialOffsetMap")
@pytest.mark.parametrize("in_one_batch", [False, True])
def test_build_partial_offset_map(logs: Logs, in_one_batch: bool) -> None:
    log = logs.create(cleaner_config())
    table = FakeOffsetMap(3)
    cleaner = make_cleaner(logs.time, 2)
    if in_one_batch:
        as_leader(log, MemoryRecords.with_records(*(SimpleRecord(-1, key(i), key(i)) for i in range(5))))
    else:
        for i in range(5):
            as_leader(log, record(i, i))
    log.roll()
    stats = CleanerStats()
    cleaner.build_offset_map(log, 2, INT_MAX, table, stats)
    assert table.map == {b"2": 2, b"3": 3}
    assert table.latest_offset == 3
    assert stats.map_messages_read == 4


def test_known_keys_take_no_room(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=10**6, segment_index_bytes=8192))
    for _ in range(3):
        as_leader(log, MemoryRecords.with_records(*(SimpleRecord(-1, key(i % 40), b"v") for i in range(100))))
    as_leader(log, MemoryRecords.with_records(*(SimpleRecord(-1, key(i), b"v") for i in range(35, 60))))
    log.roll()
    table = SkimpyOffsetMap(70 * 24)  # 0.75 of them: 52 keys
    stats = CleanerStats()
    make_cleaner(logs.time).build_offset_map(log, 0, log.log_end_offset, table, stats)
    assert table.size == 52
    assert table.latest_offset == 300 + 52 - 35 - 1
    assert stats.map_messages_read == table.latest_offset + 1
    assert table.get(b"35") == 300


def invalid_cleaned_message(first: int, keys: Iterable[int]) -> MemoryRecords:
    """KAFKA-4298: magic 1 outside, 0 inside. The values are the offsets."""
    builder = MemoryRecords.builder(1024, 1, GZIP, base_offset=first)
    for i, k in enumerate(keys):
        inner = LegacyRecord.create(0, RecordBatch.NO_TIMESTAMP, key(k), key(first + i))
        builder.append_unchecked_with_offset(first + i, inner)
    return builder.build()


@pytest.mark.ported("LogCleanerTest.testClientHandlingOfCorruptMessageSet")
def test_readers_cope_with_wrappers_that_hold_an_older_magic() -> None:
    records = MemoryRecords.readable_records(invalid_cleaned_message(50, range(1, 10)).buffer)
    assert [(r.offset(), int(value_of(r))) for r in records.records()] == [(o, o) for o in range(50, 59)]


@pytest.mark.ported("LogCleanerTest.testCleanCorruptMessageSet")
def test_wrappers_that_hold_an_older_magic_are_mended(logs: Logs) -> None:
    log = logs.create(cleaner_config(compression_type="gzip", segment_bytes=10**6, segment_index_bytes=8192))
    log.append_as_follower(invalid_cleaned_message(25, [0, 1, 0, 1]))
    log.append_as_follower(invalid_cleaned_message(50, [3, 4]))
    log.roll()
    make_cleaner(logs.time, 10).clean(to_clean(log))
    found = []
    for segment in log.log_segments:
        for batch in segment.log.batches():
            for r in batch:
                assert r.has_magic(batch.magic())
                assert r.offset() == int(value_of(r))
                found.append(r.offset())
    assert found == [27, 28, 50, 51]


@pytest.mark.ported("LogCleanerTest.testCleanTombstone")
def test_a_tombstone_with_an_old_timestamp_stays(logs: Logs) -> None:
    config = cleaner_config(segment_bytes=10**6, segment_index_bytes=8192)
    log = logs.create(config)
    cleaner = make_cleaner(logs.time, 10)
    now, retention = logs.time.milliseconds(), config.delete_retention_ms
    as_leader(log, record(0, 0, now + retention + 10000))
    log.roll()
    cleaner.clean(to_clean(log))
    as_leader(log, record(0, None, now - retention - 10000))
    log.roll()
    cleaner.clean(to_clean(log, 1))
    assert next(iter(log.log_segments[0].log.batches())).last_offset() == 1
    as_leader(log, record(1, 1, now))
    log.roll()
    cleaner.clean(to_clean(log, 2))
    assert next(iter(log.log_segments[0].log.batches())).last_offset() == 1


# ---- what Kafka's tests do not ask


def test_a_batch_that_loses_nothing_is_copied(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=10**5, segment_index_bytes=8192))
    for codec in (CompressionType.NONE, GZIP, LZ4):
        as_leader(
            log,
            MemoryRecords.with_records(
                *(SimpleRecord(1, key(i + 10 * codec.id), b"value") for i in range(10)), compression_type=codec
            ),
        )
    log.roll()
    before = pathlib.Path(log.log_segments[0].log.file).read_bytes()
    modified = log.log_segments[0].last_modified
    make_cleaner(logs.time).clean(to_clean(log))
    assert pathlib.Path(log.log_segments[0].log.file).read_bytes() == before
    assert log.log_segments[0].last_modified == modified


def test_damage_is_not_hidden_under_a_new_checksum(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=10**5, segment_index_bytes=8192))
    for _ in range(2):
        as_leader(log, MemoryRecords.with_records(*(SimpleRecord(1, key(i), b"value") for i in range(5))))
    as_leader(log, record(3, 3))
    log.roll()
    segment = log.log_segments[0]
    size = segment.size
    damage(segment.log.file, size - 100)  # in a value of the second batch
    cleaner = make_cleaner(logs.time)
    with pytest.raises(CorruptRecordException, match="Record is corrupt"):
        cleaner.clean(to_clean(log))
    table = put_all(FakeOffsetMap(10), [3])
    with pytest.raises(CorruptRecordException, match="with base offset 5 of topic-0 is corrupt"):
        cleaner.clean_segments(log, [segment], table, 0, CleanerStats())
    assert not list(logs.dir.glob("*.cleaned"))
    assert segment.size == size


def test_compressed_damage_is_no_disk_error(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=10**5, segment_index_bytes=8192))
    batch = MemoryRecords.with_records(SimpleRecord(1, b"k", b"v" * 100), compression_type=GZIP)
    batch.buffer[-10] ^= 0xFF
    batch.buffer[17:21] = crc32c.crc32c(batch.buffer[21:]).to_bytes(4, "big")
    segment = log.active_segment
    segment.append(0, 0, 1, 0, MemoryRecords(batch.buffer))
    with pytest.raises(KafkaException, match="Failed to decompress") as raised:
        make_cleaner(logs.time).build_offset_map(log, 0, 1, FakeOffsetMap(10), CleanerStats())
    assert not isinstance(raised.value, OSError)


def test_reads_by_offset_and_time_after_cleaning(logs: Logs) -> None:
    log = logs.create(cleaner_config(segment_bytes=200_000, segment_index_bytes=8192, index_interval_bytes=1000))
    for i in range(400):
        as_leader(log, MemoryRecords.with_records(*(SimpleRecord(1000 + i, key(i % 90), bytes(400)) for _ in range(2))))
    log.roll()
    make_cleaner(logs.time).clean(to_clean(log))
    left = offsets_in_log(log)
    assert left == list(range(621, 800, 2))
    segment = log.log_segments[1]
    assert segment.offset_index.entries > 1
    for offset in range(0, 800, 7):
        info = log.read_uncommitted(offset, 100_000)
        first = next(iter(info.records.records())).offset()
        assert first == min(o for o in left if o >= offset)
    found = log.fetch_offsets_by_timestamp(1350)
    assert found is not None
    assert (found.timestamp, found.offset) == (1350, 701)
    assert segment.largest_timestamp == 1399


def test_io_errors_leave_the_log_alone(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.create(cleaner_config())
    fill_segments(log, 3)
    before = keys_in_log(log)

    def full(self: LogSegment) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(LogSegment, "flush", full)
    with pytest.raises(OSError, match="No space left"):
        make_cleaner(logs.time).clean(to_clean(log))
    assert keys_in_log(log) == before
    assert sorted(name for name in os.listdir(logs.dir) if "." in name and not name.endswith(("index", "log"))) == [
        name for name in sorted(os.listdir(logs.dir)) if name.endswith("snapshot")
    ]


def test_too_small_a_map(logs: Logs) -> None:
    with pytest.raises(ValueError, match="offset map is too small to fit in even a single message"):
        make_cleaner(logs.time, capacity=1)


def test_log_lines(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    log = logs.create(cleaner_config())
    for i in (1, 1):
        as_leader(log, record(i, i))
    log.roll()
    with caplog.at_level(logging.INFO, logger="kafka.log.LogCleaner"):
        make_cleaner(logs.time).clean(to_clean(log))
    lines = [r.getMessage() for r in caplog.records if r.name == "kafka.log.LogCleaner"]
    assert lines[0] == "Cleaner 0: Beginning cleaning of log topic-0."
    assert lines[1] == "Cleaner 0: Building offset map for topic-0..."
    assert lines[2] == "Cleaner 0: Building offset map for log topic-0 for 1 segments in offset range [0, 2)."
    assert lines[3] == "Cleaner 0: Offset map for log topic-0 complete."
    assert lines[4].startswith("Cleaner 0: Cleaning log topic-0 (cleaning prior to ")
    assert "discarding tombstones prior to Thu Jan 01 " in lines[4]
    assert lines[5].startswith("Cleaner 0: Cleaning segment 0 in log topic-0 (largest timestamp ")
    assert lines[5].endswith(") into 0, retaining deletes.")
    assert lines[6] == "Cleaner 0: Swapping in cleaned segment 0 for segment(s) 0 in log topic-0"


def test_delete_horizon_forever(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    as_leader(log, record(1, None))
    log.roll()
    cleaner: Cleaner = make_cleaner(logs.time)
    cleaner.do_clean(to_clean(log), LONG_MAX)
    assert list(all_records(log)) == []
    assert log.log_end_offset == 1
