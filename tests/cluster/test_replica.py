"""Replica: offsets of a local log, and of a follower that is known only by its Fetches."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import KafkaException, OffsetOutOfRangeException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.server.log_read_result import LogReadResult
from kafka_py.testing.mock_time import MockTime
from tests.server.replica_support import FakeLogManager, records

TP = TopicPartition("foo", 0)


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[FakeLogManager]:
    manager = FakeLogManager(tmp_path, MockTime(), {"segment.bytes": "1000", "retention.ms": "1000"})
    yield manager
    manager.close()


@pytest.fixture
def local(logs: FakeLogManager) -> Replica:
    log = logs.get_or_create_log(TP, logs.current_default_config, True)
    return Replica(0, TP, logs.time, 0, log)


def remote() -> Replica:
    return Replica(2, TP, MockTime())


def read_result(fetch_offset: int, leader_end: int, at: int, follower_start: int = 0) -> LogReadResult:
    info = FetchDataInfo(LogOffsetMetadata(fetch_offset, 0, 0), MemoryRecords.EMPTY)
    return LogReadResult(info, 0, 0, leader_end, follower_start, at, 100, None)


def append(replica: Replica, count: int) -> None:
    assert replica.log is not None
    for i in range(count):
        replica.log.append_as_leader(records(b"%d" % i), 0)


@pytest.mark.ported("ReplicaTest.testSegmentDeletionWithHighWatermarkInitialization")
def test_segments_below_the_initial_high_watermark_may_be_deleted(logs: FakeLogManager) -> None:
    log = logs.get_or_create_log(TP, logs.current_default_config, True)
    for i in range(100):
        log.append_as_leader(records(b"%d" % i), 0)
    initial_high_watermark = 25
    replica = Replica(0, TP, logs.time, initial_high_watermark, log)
    logs.time.sleep(2_000)
    assert log.delete_old_segments() > 0
    assert log.log_start_offset <= initial_high_watermark
    assert replica.log_start_offset == log.log_start_offset


@pytest.mark.ported("ReplicaTest.testCannotDeleteSegmentsAtOrAboveHighWatermark")
def test_segments_above_the_high_watermark_are_kept(local: Replica, logs: FakeLogManager) -> None:
    append(local, 100)
    logs.time.sleep(2_000)
    assert local.log is not None
    for hw in (0, 10, 50, 99):
        local.high_watermark = LogOffsetMetadata(hw)
        local.log.delete_old_segments()
        assert local.log_start_offset <= hw


@pytest.mark.ported("ReplicaTest.testCannotIncrementLogStartOffsetPastHighWatermark")
def test_log_start_offset_stays_below_the_high_watermark(local: Replica) -> None:
    append(local, 100)
    local.high_watermark = LogOffsetMetadata(25)
    with pytest.raises(OffsetOutOfRangeException):
        local.maybe_increment_log_start_offset(26)
    local.maybe_increment_log_start_offset(25)
    assert local.log_start_offset == 25


def test_a_follower_that_reads_to_the_end_is_caught_up_now() -> None:
    replica = remote()
    replica.update_log_read_result(read_result(fetch_offset=10, leader_end=10, at=500, follower_start=3))
    assert replica.last_caught_up_time_ms == 500
    assert replica.log_end_offset.message_offset == 10
    assert replica.log_start_offset == 3


def test_a_follower_that_reaches_the_end_of_last_time_was_caught_up_then() -> None:
    replica = remote()
    replica.update_log_read_result(read_result(fetch_offset=5, leader_end=10, at=100))
    assert replica.last_caught_up_time_ms == 0, "the end of the term before (0) was reached at time 0"
    replica.update_log_read_result(read_result(fetch_offset=10, leader_end=20, at=200))
    assert replica.last_caught_up_time_ms == 100
    replica.update_log_read_result(read_result(fetch_offset=15, leader_end=30, at=300))
    assert replica.last_caught_up_time_ms == 100, "15 is below 20, the end at the Fetch before"


def test_reset_starts_the_lag_clock_anew() -> None:
    replica = remote()
    replica.reset_last_caught_up_time(50, 1_000, 900)
    assert replica.last_caught_up_time_ms == 900
    replica.update_log_read_result(read_result(fetch_offset=50, leader_end=60, at=1_100))
    assert replica.last_caught_up_time_ms == 1_000


def test_a_remote_replica_has_no_log_to_change() -> None:
    replica = remote()
    with pytest.raises(KafkaException, match="non-local replica 2"):
        replica.high_watermark = LogOffsetMetadata(1)
    with pytest.raises(KafkaException, match="non-local replica 2"):
        replica.maybe_increment_log_start_offset(1)
    with pytest.raises(KafkaException, match="non-local replica 2"):
        _ = replica.last_stable_offset
    with pytest.raises(KafkaException, match="non-local replica 2"):
        replica.convert_hw_to_local_offset_metadata()


def test_a_local_replica_follows_its_log(local: Replica) -> None:
    with pytest.raises(KafkaException, match="local replica 0"):
        local.update_log_read_result(read_result(1, 1, 1))
    append(local, 3)
    assert local.log_end_offset.message_offset == 3
    local.high_watermark = LogOffsetMetadata(3)
    assert local.last_stable_offset.message_offset == 3
    with pytest.raises(ValueError, match="non-negative"):
        local.high_watermark = LogOffsetMetadata(-1)


def test_an_open_transaction_holds_the_last_stable_offset_back(local: Replica) -> None:
    assert local.log is not None
    append(local, 2)
    batch = records(b"t", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    local.log.append_as_leader(batch, 0)
    append(local, 2)
    local.high_watermark = local.log_end_offset
    assert local.last_stable_offset.message_offset == 2
    local.high_watermark = LogOffsetMetadata(1)
    assert local.last_stable_offset.message_offset == 1, "never above the high watermark"


def test_a_new_leader_looks_its_high_watermark_up_in_the_log(local: Replica) -> None:
    append(local, 5)
    local.high_watermark = LogOffsetMetadata(3)
    assert local.high_watermark.message_offset_only
    local.convert_hw_to_local_offset_metadata()
    assert local.high_watermark.message_offset == 3
    assert not local.high_watermark.message_offset_only


def test_a_high_watermark_outside_the_log_becomes_the_log_start(logs: FakeLogManager) -> None:
    log = logs.get_or_create_log(TP, logs.current_default_config, True)
    log.append_as_leader(records(b"a"), 0)
    replica = Replica(0, TP, logs.time, 99, log)
    replica.convert_hw_to_local_offset_metadata()
    assert replica.high_watermark == LogOffsetMetadata(0, 0, 0)


def test_equal_by_broker_and_partition_and_printed_with_offsets(local: Replica) -> None:
    assert remote() == remote()
    assert remote() != local
    assert len({remote(), remote(), local}) == 2
    assert repr(local).startswith("ReplicaId: 0; Topic: foo; Partition: 0; isLocal: true; lastCaughtUpTimeMs: 0;")
    assert "Highwatermark: 0" in repr(local)
    assert "Highwatermark" not in repr(remote())
