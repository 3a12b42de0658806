"""Log: rolling, flushing, retention, truncation, renaming and deleting."""

from __future__ import annotations

import os

import pytest

from kafka_py.common.errors import KafkaException, KafkaStorageException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.log import Log
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.offset_index import OffsetIndex
from tests.log.log_harness import (
    Logs,
    as_follower,
    as_leader,
    log_config,
    offsets,
    records_of,
    singleton,
    value_of,
    values,
)


def fill(log: Log, count: int, timestamp: int = -1) -> int:
    """Append so many records of equal size; the size."""
    for _ in range(count):
        records = singleton(b"test", timestamp=timestamp)
        as_leader(log, records)
    return records.size_in_bytes()


SIZE = singleton(b"test").size_in_bytes()


# ---- roll


@pytest.mark.ported("LogTest.testTimeBasedLogRoll")
def test_time_based_log_roll(logs: Logs) -> None:
    log = logs.create(log_config(segment_ms=3600))
    segment_ms = log.config.segment_ms
    logs.time.sleep(segment_ms + 1)
    fill(log, 1)
    assert log.number_of_segments == 1  # an empty segment is not rolled
    fill(log, 1)
    assert log.number_of_segments == 2
    for expected in (3, 4):
        logs.time.sleep(segment_ms + 1)
        fill(log, 1)
        assert log.number_of_segments == expected
    # the first message has no timestamp: wall clock
    timestamp = logs.time.milliseconds() + segment_ms + 1
    fill(log, 1, timestamp=timestamp)
    assert log.number_of_segments == 4
    logs.time.sleep(segment_ms + 1)
    fill(log, 1, timestamp=timestamp)
    assert log.number_of_segments == 5
    # now it has one: message time
    logs.time.sleep(segment_ms + 1)
    fill(log, 1, timestamp=timestamp)
    assert log.number_of_segments == 5
    fill(log, 1, timestamp=logs.time.milliseconds())
    assert log.number_of_segments == 6
    logs.time.sleep(segment_ms + 1)
    as_leader(log, MemoryRecords.EMPTY)
    assert log.number_of_segments == 6


@pytest.mark.ported("LogTest.testTimeBasedLogRollJitter")
def test_time_based_log_roll_jitter(logs: Logs) -> None:
    max_jitter = 20 * 60
    log = logs.create(log_config(segment_ms=3600, segment_jitter_ms=max_jitter))
    as_leader(log, logs.now_record())
    logs.time.sleep(log.config.segment_ms - max_jitter)
    as_leader(log, logs.now_record())
    assert log.number_of_segments == 1
    logs.time.sleep(max_jitter - log.active_segment.roll_jitter_ms + 1)
    as_leader(log, logs.now_record())
    assert log.number_of_segments == 2


@pytest.mark.ported("LogTest.testSizeBasedLogRoll")
def test_size_based_log_roll(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=10 * (SIZE - 1)))
    fill(log, 9)
    assert log.number_of_segments == 1
    fill(log, 2)
    assert log.number_of_segments == 2


def test_full_index_rolls(logs: Logs) -> None:
    log = logs.create(log_config(segment_index_bytes=3 * 8, index_interval_bytes=1))
    fill(log, 20)
    assert log.number_of_segments > 3
    assert offsets(log) == list(range(20))


@pytest.mark.ported("LogTest.testLogRolls")
def test_log_rolls(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=100))
    for i in range(100):
        as_leader(log, logs.now_record(str(i).encode()))
    log.flush()
    offset = 0
    for i in range(100):
        head = next(log.read_uncommitted(offset, 1024 * 1024).records.batches())
        assert head.last_offset() == offset
        assert value_of(next(iter(head))) == str(i).encode()
        offset = head.last_offset() + 1
    assert log.read_uncommitted(100, 1024 * 1024, 101).records.size_in_bytes() == 0
    assert log.recovery_point >= log.active_segment.base_offset


def test_rolled_files(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=2 * SIZE, index_interval_bytes=1))
    fill(log, 3)
    names = sorted(file.name for file in logs.dir.iterdir())
    assert names == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000002.index",
        "00000000000000000002.log",
        "00000000000000000002.snapshot",
        "00000000000000000002.timeindex",
        "leader-epoch-checkpoint",
    ]
    # the old segment is trimmed, the new one preallocated
    assert Log.offset_index_file(logs.dir, 0).stat().st_size == 8
    assert Log.offset_index_file(logs.dir, 2).stat().st_size == 64 * 1024
    assert Log.time_index_file(logs.dir, 2).stat().st_size == 64 * 1024 // 12 * 12


@pytest.mark.ported("LogTest.testLogRollAfterLogHandlerClosed")
def test_roll_after_handlers_closed(logs: Logs) -> None:
    log = logs.create()
    log.close_handlers()
    with pytest.raises(KafkaStorageException, match="memory mapped buffer"):
        log.roll(1)
    with pytest.raises(KafkaStorageException):
        fill(log, 1)


@pytest.mark.ported("LogTest.testBuildTimeIndexWhenNotAssigningOffsets")
def test_build_time_index_when_not_assigning_offsets(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=10000, index_interval_bytes=1))
    now = logs.time.milliseconds()
    for i in range(100):
        as_follower(log, singleton(str(i).encode(), timestamp=now + i, initial_offset=100 + i))
    assert sum(segment.time_index.entries for segment in log.log_segments) == 99
    assert log.active_segment.time_index.last_entry.timestamp == now + 99


@pytest.mark.ported("LogTest.testOverCompactedLogRecovery")
def test_offsets_further_apart_than_an_index_can_say(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=1000, index_interval_bytes=1))
    far = 2**31 - 1
    bases = []
    for offset in (0, far + 2, far + 3, far + 4):
        as_follower(log, records_of(b"v", initial_offset=offset))
        bases.append(log.active_segment.base_offset)
    assert bases == [0, 2, far + 3, far + 3]
    assert {2, far + 3} <= set(logs.snapshot_offsets())
    log.close()
    index_files = sorted(logs.dir.glob("*.index"))
    assert len(index_files) == 3
    for file in index_files:
        assert OffsetIndex(file, Log.offset_from_file(file)).last_offset >= 0


@pytest.mark.ported("LogTest.testSizeForLargeLogs")
@pytest.mark.parametrize("size", [0, 4, 8, 12, 23, 24])
def test_indexes_too_small_for_an_entry(logs: Logs, size: int) -> None:
    """Anybody who makes a topic may ask for them; a log that cannot be opened keeps the broker from starting."""
    config = log_config(segment_index_bytes=size, index_interval_bytes=1)
    log = logs.create(config)
    descriptors = len(os.listdir("/proc/self/fd"))
    fill(log, 6)
    assert offsets(log) == list(range(6))
    segments = log.number_of_segments
    assert len(os.listdir("/proc/self/fd")) < descriptors + 6 * segments
    logs.crash(log)
    assert offsets(logs.create(config)) == list(range(6))


def test_a_segment_that_a_truncation_made_active_again_has_the_new_limits(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=2 * SIZE))
    fill(log, 5)
    log.update_config({"segment.bytes"}, log_config(segment_bytes=100 * SIZE))
    log.truncate_to(0)
    as_leader(log, records_of(*[b"test"] * 20))
    assert (log.number_of_segments, log.log_end_offset) == (1, 20)
    fill(log, 5)
    assert log.number_of_segments == 1


def test_size_for_large_logs() -> None:
    class Huge(LogSegment):
        size = 2**31 - 1

        def __init__(self) -> None:
            """Nothing but a size."""

    assert Log.size_in_bytes([Huge(), Huge()]) == 2 * (2**31 - 1)


# ---- flush


def test_flush_by_number_of_messages(logs: Logs) -> None:
    log = logs.create(log_config(flush_messages=3))
    recovery_points = []
    for _ in range(7):
        fill(log, 1)
        recovery_points.append(log.recovery_point)
    assert recovery_points == [0, 0, 3, 3, 3, 6, 6]
    assert log.unflushed_messages == 1


def test_append_does_not_sync(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.create()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    fill(log, 10)
    synced_by_append = list(synced)
    log.flush()
    assert len(synced) > len(synced_by_append)
    # the first append of an epoch syncs the leader-epoch-checkpoint, never the log
    assert len(synced_by_append) == 1
    assert log.recovery_point == 10
    assert log.last_flush_time == logs.time.milliseconds()


# ---- retention


@pytest.mark.ported("LogTest.testDeleteOldSegments")
def test_delete_old_segments(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=SIZE * 5, retention_ms=999))
    old = logs.time.milliseconds() - 1000
    fill(log, 100, timestamp=old)
    log.leader_epoch_cache.assign(0, 40)
    log.leader_epoch_cache.assign(1, 90)
    segments = log.number_of_segments
    assert log.delete_old_segments() == 0  # the high watermark is not known yet
    assert (log.number_of_segments, log.log_start_offset) == (segments, 0)
    for high_watermark in range(25, 31):
        log.on_high_watermark_incremented(high_watermark)
        log.delete_old_segments()
        assert log.log_start_offset <= high_watermark
        assert all(segment.read_next_offset() > high_watermark for segment in log.log_segments)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == 1
    assert [tuple(e) for e in log.leader_epoch_cache.epoch_entries()] == [(1, 100)]
    fill(log, 100, timestamp=old)
    log.delete()
    assert (log.number_of_segments, log.delete_old_segments()) == (0, 0)
    assert log.leader_epoch_cache.epoch_entries() == []
    assert not logs.dir.exists()


@pytest.mark.ported("LogTest.testThatGarbageCollectingSegmentsDoesntChangeOffset")
@pytest.mark.parametrize("messages", [0, 1, 25])
def test_retention_does_not_change_the_end(logs: Logs, messages: int) -> None:
    log = logs.create(log_config(segment_bytes=100, retention_ms=0))
    if messages:
        fill(log, messages, timestamp=logs.time.milliseconds() - 10)
    log.on_high_watermark_incremented(messages)
    log.delete_old_segments()
    assert (log.log_end_offset, log.number_of_segments) == (messages, 1)
    assert log.delete_old_segments() == 0
    assert as_leader(log, logs.now_record()).first_offset == messages


@pytest.mark.ported("LogTest.shouldDeleteSizeBasedSegments")
@pytest.mark.ported("LogTest.shouldNotDeleteSizeBasedSegmentsWhenUnderRetentionSize")
@pytest.mark.parametrize(("retained", "segments"), [(10, 2), (15, 3), (14, 3), (0, 1), (-1, 3)])
def test_size_based_retention(logs: Logs, retained: int, segments: int) -> None:
    log = logs.create(log_config(segment_bytes=SIZE * 5, retention_bytes=SIZE * retained if retained > 0 else retained))
    fill(log, 15)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == segments


@pytest.mark.ported("LogTest.shouldDeleteTimeBasedSegmentsReadyToBeDeleted")
@pytest.mark.ported("LogTest.shouldNotDeleteTimeBasedSegmentsWhenNoneReadyToBeDeleted")
@pytest.mark.ported("LogTest.shouldNotDeleteSegmentsWhenPolicyDoesNotIncludeDelete")
@pytest.mark.ported("LogTest.shouldDeleteSegmentsReadyToBeDeletedWhenCleanupPolicyIsCompactAndDelete")
@pytest.mark.parametrize(
    ("policy", "old", "segments"), [("delete", True, 1), ("delete", False, 3), ("compact", True, 3)]
)
def test_time_based_retention(logs: Logs, policy: str, old: bool, segments: int) -> None:
    size = singleton(b"test", key=b"key").size_in_bytes()
    log = logs.create(log_config(segment_bytes=size * 5, retention_ms=10000, cleanup_policy=policy))
    for _ in range(15):
        as_leader(log, singleton(b"test", key=b"key", timestamp=10 if old else logs.time.milliseconds()))
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert log.number_of_segments == segments
    log.update_config(
        {"cleanup.policy"}, log_config(segment_bytes=size * 5, retention_ms=10000, cleanup_policy="compact,delete")
    )
    log.delete_old_segments()
    assert log.number_of_segments == (1 if old else 3)


@pytest.mark.ported("LogTest.testLogDeletionAfterDeleteRecords")
def test_deletion_by_log_start_offset(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=SIZE * 5))
    fill(log, 15)
    log.on_high_watermark_incremented(log.log_end_offset)
    for start, segments in ((1, 3), (6, 2), (15, 1)):
        log.maybe_increment_log_start_offset(start)
        log.delete_old_segments()
        assert (log.number_of_segments, log.log_start_offset) == (segments, start)
    log.maybe_increment_log_start_offset(3)
    assert log.log_start_offset == 15


@pytest.mark.ported("LogTest.testAsyncDelete")
def test_async_delete(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=SIZE * 5, retention_ms=999, file_delete_delay_ms=1000))
    fill(log, 100, timestamp=logs.time.milliseconds() - 1000)
    segments = log.log_segments
    old_files = [f for s in segments for f in (s.log.file, s.offset_index.file)]
    log.on_high_watermark_incremented(log.log_end_offset)
    info = log.read_uncommitted(0, 1000)
    log.delete_old_segments()
    assert log.number_of_segments == 1
    deleted = [f for s in segments for f in (s.log.file, s.offset_index.file)]
    assert all(file.name.endswith(".deleted") and file.exists() for file in deleted)
    assert not any(file.exists() for file in old_files)
    # a reader that has the segment can finish
    assert next(iter(info.records.records())).offset() == 0
    logs.time.sleep(1001)
    assert not any(file.exists() for file in deleted)


@pytest.mark.ported("LogTest.testLogDeletionAfterClose")
def test_deletion_after_close(logs: Logs) -> None:
    log = logs.create()
    fill(log, 1)
    log.close()
    log.delete()
    assert log.number_of_segments == 0
    assert log.leader_epoch_cache.epoch_entries() == []


@pytest.mark.ported("LogTest.shouldTruncateLeaderEpochsWhenDeletingSegments")
@pytest.mark.ported("LogTest.shouldUpdateOffsetForLeaderEpochsWhenDeletingSegments")
@pytest.mark.parametrize(("second", "left"), [(5, [(1, 5), (2, 10)]), (7, [(0, 5), (1, 7), (2, 10)])])
def test_retention_truncates_epochs(logs: Logs, second: int, left: list[tuple[int, int]]) -> None:
    log = logs.create(log_config(segment_bytes=SIZE * 5, retention_bytes=SIZE * 10))
    fill(log, 15)
    log.leader_epoch_cache.assign(1, second)
    log.leader_epoch_cache.assign(2, 10)
    log.on_high_watermark_incremented(log.log_end_offset)
    log.delete_old_segments()
    assert [tuple(e) for e in log.leader_epoch_cache.epoch_entries()] == left


# ---- truncation


@pytest.mark.ported("LogTest.testTruncateTo")
def test_truncate_to(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=10 * SIZE))
    fill(log, 10)
    size = log.size
    for beyond in (10, 11):
        assert not log.truncate_to(beyond)
        assert (log.log_end_offset, log.size) == (10, size)
    assert log.truncate_to(5)
    assert (log.log_end_offset, log.size) == (5, size // 2)
    log.truncate_to(0)
    assert (log.log_end_offset, log.size) == (0, 0)
    fill(log, 10)
    assert (log.log_end_offset, log.size) == (10, size)
    log.truncate_fully_and_start_at(1)
    assert (log.log_end_offset, log.log_start_offset, log.size) == (1, 1, 0)
    fill(log, 10)
    assert (log.log_end_offset, log.size) == (11, size)
    log.truncate_to(0)  # below the first offset
    assert (log.log_end_offset, log.log_start_offset, log.size) == (0, 0, 0)
    with pytest.raises(ValueError, match=r"negative offset \(-1\)"):
        log.truncate_to(-1)


def test_reads_after_truncation(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=3 * SIZE))
    for i in range(10):
        as_leader(log, singleton(b"old%d" % i))
    log.truncate_to(4)
    for i in range(4, 8):
        as_leader(log, singleton(b"new%d" % i))
    assert values(log) == [b"old0", b"old1", b"old2", b"old3", b"new4", b"new5", b"new6", b"new7"]
    assert value_of(next(iter(log.read_uncommitted(5, 100).records.records()))) == b"new5"


@pytest.mark.ported("LogTest.testTruncateToEmptySegment")
def test_truncate_to_empty_segment(logs: Logs) -> None:
    log = logs.create()
    as_follower(log, records_of(b"v", initial_offset=2**31 + 199))
    assert log.log_segments[0].size == 0
    assert log.number_of_segments == 2
    log.truncate_to(0)
    assert log.number_of_segments == 1
    as_follower(log, records_of(b"v", initial_offset=100))
    assert (log.number_of_segments, log.log_end_offset) == (1, 101)


@pytest.mark.ported("LogTest.testIndexResizingAtTruncation")
def test_index_resizing_at_truncation(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=10 * SIZE, index_interval_bytes=SIZE - 1))
    now = logs.time.milliseconds()
    for i in range(20):
        as_leader(log, singleton(b"test", timestamp=now + i))
    assert log.number_of_segments == 2
    first = log.log_segments[0]
    assert (first.offset_index.max_entries, first.time_index.max_entries) == (9, 9)
    log.truncate_to(0)
    assert log.number_of_segments == 1
    first = log.log_segments[0]
    assert first.offset_index.max_entries == log.config.max_index_size // 8
    assert first.time_index.max_entries == log.config.max_index_size // 12
    fill(log, 10, timestamp=now + 20)
    assert log.number_of_segments == 1


@pytest.mark.ported("LogTest.shouldTruncateLeaderEpochFileWhenTruncatingLog")
def test_truncation_truncates_epochs(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=10 * SIZE))
    fill(log, 20)
    log.leader_epoch_cache.assign(1, 10)
    log.leader_epoch_cache.assign(2, 16)
    sizes = []
    for offset in (20, 11, 10, 0):
        log.truncate_to(offset)
        sizes.append(len(log.leader_epoch_cache.epoch_entries()))
    assert sizes == [3, 2, 1, 0]


# ---- timestamps


def test_fetch_offsets_by_timestamp(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=3 * SIZE, index_interval_bytes=1))
    for i in range(10):
        as_leader(log, singleton(b"test", timestamp=100 + 10 * (i // 2)))
    assert log.fetch_offsets_by_timestamp(-2) == TimestampOffset(-1, 0)
    assert log.fetch_offsets_by_timestamp(-1) == TimestampOffset(-1, 10)
    assert log.fetch_offsets_by_timestamp(0) == TimestampOffset(100, 0)
    for i in range(5):
        assert log.fetch_offsets_by_timestamp(100 + 10 * i) == TimestampOffset(100 + 10 * i, 2 * i)
        assert log.fetch_offsets_by_timestamp(91 + 10 * i) == TimestampOffset(100 + 10 * i, 2 * i)
    assert log.fetch_offsets_by_timestamp(141) is None
    log.maybe_increment_log_start_offset(3)
    assert log.fetch_offsets_by_timestamp(-2) == TimestampOffset(-1, 3)
    assert log.fetch_offsets_by_timestamp(0) == TimestampOffset(110, 3)


# ---- directories


def test_rename_dir(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=3 * SIZE))
    fill(log, 5)
    name = Log.log_delete_dir_name(log.topic_partition)
    log.rename_dir(name)
    assert log.name == name
    assert not logs.dir.exists()
    fill(log, 5)
    assert offsets(log) == list(range(10))
    log.leader_epoch_cache.assign(5, 10)
    assert (log.dir / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n5 10\n"
    log.delete()
    assert list(logs.dir.parent.iterdir()) == []


@pytest.mark.ported("LogTest.testOffsetFromFile")
def test_offset_from_file(logs: Logs) -> None:
    for file in (
        Log.log_file(logs.dir, 23423423),
        Log.offset_index_file(logs.dir, 23423423),
        Log.time_index_file(logs.dir, 23423423, ".deleted"),
        Log.transaction_index_file(logs.dir, 23423423),
        Log.producer_snapshot_file(logs.dir, 23423423),
    ):
        assert Log.offset_from_file(file) == 23423423
    assert Log.filename_prefix_from_offset(42) == "00000000000000000042"


@pytest.mark.ported("LogTest.testParseTopicPartitionName")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameWithPeriodForDeletedTopic")
@pytest.mark.parametrize("topic", ["test_topic", "foo.bar-testtopic", "a-1"])
def test_parse_topic_partition_name(topic: str) -> None:
    tp = TopicPartition(topic, 142)
    for name in (Log.log_dir_name(tp), Log.log_delete_dir_name(tp), Log.log_future_dir_name(tp)):
        assert Log.parse_topic_partition_name(f"/data/{name}") == tp


@pytest.mark.ported("LogTest.testParseTopicPartitionNameForEmptyName")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameForMissingSeparator")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameForMissingTopic")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameForMissingPartition")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameForInvalidPartition")
@pytest.mark.ported("LogTest.testParseTopicPartitionNameForExistingInvalidDir")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "lost+found",
        "testtopic1999",
        "-1",
        "topic-",
        "topic-1999a",
        "topic-0-delete",
        "topic-0-future",
        "-.x-delete",
    ],
)
def test_other_directories_are_refused(name: str) -> None:
    with pytest.raises(KafkaException, match="is not in the form of topic-partition"):
        Log.parse_topic_partition_name(f"/data/{name}" if name else "/")


@pytest.mark.ported("LogTest.testParseTopicPartitionNameForNull")
def test_no_directory_is_refused() -> None:
    with pytest.raises(KafkaException, match="dir should not be null"):
        Log.parse_topic_partition_name(None)
