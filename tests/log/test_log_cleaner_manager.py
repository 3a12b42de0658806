"""LogCleanerManager: choosing logs, pausing, checkpoints."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.errors import IllegalStateException, LogCleaningAbortedException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.cleaner_stats import LogToClean
from kafka_py.log.log import Log
from kafka_py.log.log_cleaner_manager import (
    LogCleanerManager,
    LogCleaningAborted,
    LogCleaningException,
    LogCleaningInProgress,
    LogCleaningPaused,
)
from kafka_py.metrics.yammer import Gauge, Metrics
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.utils.concurrent import ThreadPoolExecutor
from kafka_py.utils.pool import Pool
from tests.log.cleaner_support import (
    TP,
    all_records,
    cleaner_config,
    end_txn,
    fill_segments,
    make_cleaner,
    record,
    to_clean,
)
from tests.log.log_harness import Logs, as_leader

HOUR_MS = 60 * 60 * 1000
OTHER = TopicPartition("other", 3)


def gauge_of(manager: LogCleanerManager, name: str, **tags: str) -> Callable[[], Any]:
    gauge = Metrics.default_registry().all_metrics()[manager.metric_name(name, tags)]
    assert isinstance(gauge, Gauge)
    return gauge.value


def manager_of(logs: Logs, log: Log) -> LogCleanerManager:
    pool: Pool[TopicPartition, Log] = Pool()
    pool.put(log.topic_partition, log)
    return LogCleanerManager([log.dir.parent], pool, logs.channel)


@pytest.fixture
def log(logs: Logs) -> Log:
    log = logs.create(cleaner_config())
    fill_segments(log, 8)
    return log


@pytest.fixture
def manager(logs: Logs, log: Log) -> LogCleanerManager:
    return manager_of(logs, log)


@pytest.mark.ported("LogCleanerManagerTest.testLogsWithSegmentsToDeleteShouldNotConsiderCleanupPolicyDeleteLogs")
@pytest.mark.ported("LogCleanerManagerTest.testLogsWithSegmentsToDeleteShouldConsiderCleanupPolicyCompactDeleteLogs")
@pytest.mark.ported("LogCleanerManagerTest.testLogsWithSegmentsToDeleteShouldNotConsiderCleanupPolicyCompactLogs")
@pytest.mark.parametrize(("policy", "deletable"), [("delete", 0), ("compact,delete", 1), ("compact", 0)])
def test_deletable_logs(logs: Logs, policy: str, deletable: int) -> None:
    log = logs.create(cleaner_config(cleanup_policy=policy, retention_ms=1))
    manager = manager_of(logs, log)
    assert manager.deletable_logs() == [(TP, log)] * deletable
    assert manager.deletable_logs() == [], "it is in progress now"
    if deletable:
        assert manager.cleaning_state(TP) is LogCleaningInProgress


@pytest.mark.ported("LogCleanerManagerTest.testCleanableOffsetsForNone")
def test_cleanable_offsets(logs: Logs, log: Log, manager: LogCleanerManager) -> None:
    now = logs.time.milliseconds()
    assert manager.cleanable_offsets(log, TP, {TP: 0}, now) == (0, log.active_segment.base_offset)
    assert manager.cleanable_offsets(log, TP, {}, now) == (0, log.active_segment.base_offset)
    assert manager.cleanable_offsets(log, TP, {TP: 20}, now) == (20, log.active_segment.base_offset)


def test_what_is_not_replicated_is_not_cleanable(logs: Logs, log: Log, manager: LogCleanerManager) -> None:
    third = log.log_segments[2].base_offset
    log.on_high_watermark_incremented(third + 1)
    assert manager.cleanable_offsets(log, TP, {}, 0) == (0, third + 1)
    assert LogToClean(TP, log, 0, third + 1).first_uncleanable_offset == third, "only whole segments are cleaned"
    assert manager.cleanable_offsets(log, TP, {TP: third + 5}, 0) == (third + 5, third + 5), "nothing, not less"
    log.on_high_watermark_incremented(log.log_end_offset)
    assert manager.cleanable_offsets(log, TP, {}, 0) == (0, log.active_segment.base_offset)


def test_nothing_is_cleanable_before_there_is_a_high_watermark(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    manager = manager_of(logs, log)
    for _ in range(3):
        as_leader(log, record(1, 1))
        log.roll()
    assert manager.cleanable_offsets(log, TP, {}, 0) == (0, 0)
    assert manager.grab_filthiest_compacted_log(logs.time) is None


def test_a_truncation_after_cleaning_leaves_the_last_replicated_value(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    manager = manager_of(logs, log)
    as_leader(log, record(1, b"replicated"))
    log.on_high_watermark_incremented(1)
    log.roll()
    as_leader(log, record(1, b"only here"))
    log.roll()
    first_dirty, uncleanable = manager.cleanable_offsets(log, TP, {}, 0)
    make_cleaner(logs.time).clean(to_clean(log, first_dirty, uncleanable))
    log.truncate_to(1)
    assert [bytes(r.value() or b"") for r in all_records(log)] == [b"replicated"]


@pytest.mark.parametrize("fully", [False, True])
def test_a_truncation_takes_the_high_watermark_down(logs: Logs, log: Log, fully: bool) -> None:
    log.truncate_to(5)
    assert log.high_watermark == log.last_stable_offset == 5
    if fully:
        log.truncate_fully_and_start_at(2)
        assert log.high_watermark == 2
    log.on_high_watermark_incremented(1)
    log.truncate_to(2)
    assert log.high_watermark == 1, "a truncation above changes nothing"


@pytest.mark.ported("LogCleanerManagerTest.testCleanableOffsetsForTime")
@pytest.mark.ported("LogCleanerManagerTest.testCleanableOffsetsForShortTime")
def test_compaction_lag(logs: Logs) -> None:
    log = logs.create(cleaner_config(min_compaction_lag_ms=HOUR_MS))
    manager = manager_of(logs, log)
    fill_segments(log, 4, lambda o: record(o, o, logs.time.milliseconds()))
    active = log.active_segment
    assert manager.cleanable_offsets(log, TP, {TP: 0}, logs.time.milliseconds()) == (0, 0)
    logs.time.sleep(HOUR_MS + 1)
    assert manager.cleanable_offsets(log, TP, {TP: 0}, logs.time.milliseconds()) == (0, active.base_offset)
    fill_segments(log, 8, lambda o: record(o, o, logs.time.milliseconds()))
    assert manager.cleanable_offsets(log, TP, {TP: 0}, logs.time.milliseconds()) == (0, active.base_offset)
    logs.time.sleep(HOUR_MS + 1)
    now = logs.time.milliseconds()
    assert manager.cleanable_offsets(log, TP, {TP: 0}, now) == (0, log.active_segment.base_offset)


@pytest.mark.ported("LogCleanerManagerTest.testUndecidedTransactionalDataNotCleanable")
def test_undecided_transactions_are_not_cleanable(logs: Logs) -> None:
    log = logs.create(cleaner_config(min_compaction_lag_ms=HOUR_MS))
    manager = manager_of(logs, log)
    now = logs.time.milliseconds()
    for sequence, keys in ((0, (b"1", b"2")), (2, (b"3",))):
        as_leader(
            log,
            MemoryRecords.with_transactional_records(
                *(SimpleRecord(now, k, b"v") for k in keys), producer_id=15, producer_epoch=0, base_sequence=sequence
            ),
        )
    log.roll()
    log.on_high_watermark_incremented(3)

    def cleanable() -> tuple[int, int]:
        return manager.cleanable_offsets(log, TP, {TP: 0}, logs.time.milliseconds())

    logs.time.sleep(HOUR_MS + 1)
    assert cleanable() == (0, 0)
    end_txn(logs, log, 15, commit=False)
    log.roll()
    log.on_high_watermark_incremented(4)
    assert cleanable() == (0, 3)
    logs.time.sleep(HOUR_MS + 1)
    assert cleanable() == (0, 4)


def test_checkpoints_that_cannot_be_true(
    logs: Logs, log: Log, manager: LogCleanerManager, caplog: pytest.LogCaptureFixture
) -> None:
    active = log.active_segment.base_offset
    assert manager.cleanable_offsets(log, TP, {TP: log.log_end_offset + 1}, 0) == (0, active)
    assert "is larger than" not in caplog.text.replace("which is larger than the log end offset", "")
    assert "Resetting to the log start offset 0" in caplog.text
    log.on_high_watermark_incremented(log.log_end_offset)
    log.maybe_increment_log_start_offset(log.log_segments[2].base_offset)
    log.update_config((), cleaner_config(cleanup_policy="delete"))
    log.delete_old_segments()
    log.update_config((), cleaner_config())
    start = log.log_segments[0].base_offset
    assert start > 0
    assert manager.cleanable_offsets(log, TP, {TP: 1}, 0) == (start, active)
    assert f"Resetting first dirty offset of topic-0 to log start offset {start}" in caplog.text
    caplog.clear()
    log.update_config((), cleaner_config(cleanup_policy="compact,delete"))
    assert manager.cleanable_offsets(log, TP, {TP: 1}, 0) == (start, active)
    assert not caplog.records


@pytest.mark.ported("LogCleanerManagerTest.testDoneCleaning")
def test_done_cleaning(log: Log, manager: LogCleanerManager) -> None:
    dir = log.dir.parent
    with pytest.raises(IllegalStateException, match="In-progress partition topic-0 cannot be in None state"):
        manager.done_cleaning(TP, dir, 1)
    manager.set_cleaning_state(TP, LogCleaningPaused(1))
    with pytest.raises(IllegalStateException, match=r"cannot be in LogCleaningPaused\(1\) state"):
        manager.done_cleaning(TP, dir, 1)
    manager.set_cleaning_state(TP, LogCleaningInProgress)
    manager.done_cleaning(TP, dir, 1)
    assert manager.cleaning_state(TP) is None
    assert manager.all_cleaner_checkpoints() == {TP: 1}
    manager.set_cleaning_state(TP, LogCleaningAborted)
    manager.done_cleaning(TP, dir, 5)
    assert manager.cleaning_state(TP) == LogCleaningPaused(1)
    assert manager.all_cleaner_checkpoints() == {TP: 1}


@pytest.mark.ported("LogCleanerManagerTest.testDoneDeleting")
def test_done_deleting(manager: LogCleanerManager) -> None:
    with pytest.raises(IllegalStateException):
        manager.done_deleting(TP)
    manager.set_cleaning_state(TP, LogCleaningPaused(1))
    with pytest.raises(IllegalStateException):
        manager.done_deleting(TP)
    manager.set_cleaning_state(TP, LogCleaningInProgress)
    manager.done_deleting(TP)
    assert manager.cleaning_state(TP) is None
    manager.set_cleaning_state(TP, LogCleaningAborted)
    manager.done_deleting(TP)
    assert manager.cleaning_state(TP) == LogCleaningPaused(1)


def test_the_dirtiest_log_is_grabbed_once(
    logs: Logs, log: Log, manager: LogCleanerManager, tmp_path: pathlib.Path
) -> None:
    logs.dir = tmp_path / "data" / "other-3"
    cleaner_log = logs.create(cleaner_config())
    fill_segments(cleaner_log, 8)
    manager.logs.put(OTHER, cleaner_log)
    manager.set_cleaning_state(OTHER, LogCleaningInProgress)
    manager.done_cleaning(OTHER, log.dir.parent, cleaner_log.log_segments[5].base_offset)
    grabbed = manager.grab_filthiest_compacted_log(logs.time)
    assert grabbed is not None
    assert (grabbed.topic_partition, grabbed.cleanable_ratio) == (TP, 1.0)
    assert manager.cleaning_state(TP) is LogCleaningInProgress
    percent = gauge_of(manager, "max-dirty-percent")
    assert percent() == 100
    # two of seven segments are dirty: less than min.cleanable.dirty.ratio
    assert manager.grab_filthiest_compacted_log(logs.time) is None
    assert percent() == 28
    cleaner_log.update_config((), cleaner_config(min_cleanable_dirty_ratio=0.2))
    grabbed = manager.grab_filthiest_compacted_log(logs.time)
    assert grabbed is not None
    assert grabbed.log is cleaner_log
    manager.remove_metrics()
    assert manager.metric_name("max-dirty-percent") not in Metrics.default_registry().all_metrics()


def test_a_log_whose_dirty_part_cannot_be_found(
    logs: Logs, log: Log, manager: LogCleanerManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Log, "log_segments_between", lambda self, a, b: 1 / 0)
    with pytest.raises(LogCleaningException, match="Failed to calculate log cleaning stats") as raised:
        manager.grab_filthiest_compacted_log(logs.time)
    assert raised.value.log is log


def test_pauses_are_counted(logs: Logs, manager: LogCleanerManager) -> None:
    with pytest.raises(IllegalStateException, match="cannot be resumed since it is not paused"):
        manager.resume_cleaning(TP)
    manager.abort_and_pause_cleaning(TP)
    manager.abort_and_pause_cleaning(TP)
    assert manager.cleaning_state(TP) == LogCleaningPaused(2)
    assert manager.grab_filthiest_compacted_log(logs.time) is None
    manager.abort_cleaning(TP)
    manager.resume_cleaning(TP)
    assert manager.cleaning_state(TP) == LogCleaningPaused(1)
    manager.check_cleaning_aborted(TP)
    manager.resume_cleaning(TP)
    assert manager.grab_filthiest_compacted_log(logs.time) is not None
    with pytest.raises(IllegalStateException, match="cannot be resumed since it is in LogCleaningInProgress state"):
        manager.resume_cleaning(TP)


def test_abort_waits_for_the_cleaner(log: Log, manager: LogCleanerManager) -> None:
    manager.set_cleaning_state(TP, LogCleaningInProgress)
    pool = ThreadPoolExecutor(1)
    waiting = pool.submit(lambda: manager.abort_and_pause_cleaning(TP))
    while manager.cleaning_state(TP) is LogCleaningInProgress:
        pass
    assert not waiting.is_done()
    with pytest.raises(LogCleaningAbortedException):
        manager.check_cleaning_aborted(TP)
    with pytest.raises(IllegalStateException, match="cannot be aborted and paused since it is in LogCleaningAborted"):
        manager.abort_and_pause_cleaning(TP)
    manager.done_cleaning(TP, log.dir.parent, 7)
    waiting.get()
    pool.shutdown()
    assert manager.cleaning_state(TP) == LogCleaningPaused(1)
    assert manager.all_cleaner_checkpoints() == {}


def test_checkpoints_of_logs_that_are_gone(logs: Logs, log: Log, manager: LogCleanerManager) -> None:
    dir = log.dir.parent
    manager.update_checkpoints(dir, (OTHER, 3))
    manager.update_checkpoints(dir, (TP, 4))
    assert manager.all_cleaner_checkpoints() == {TP: 4}
    manager.update_checkpoints(dir, partition_to_remove=TP)
    assert manager.all_cleaner_checkpoints() == {}
    manager.update_checkpoints(dir / "unknown", (TP, 4))
    manager.update_checkpoints(dir, (TP, 40))
    manager.maybe_truncate_checkpoint(dir, TP, 50)
    assert manager.all_cleaner_checkpoints() == {TP: 40}
    manager.maybe_truncate_checkpoint(dir, TP, 30)
    assert manager.all_cleaner_checkpoints() == {TP: 30}
    log.update_config((), cleaner_config(cleanup_policy="delete"))
    manager.maybe_truncate_checkpoint(dir, TP, 20)
    manager.maybe_truncate_checkpoint(dir, OTHER, 20)
    assert manager.all_cleaner_checkpoints() == {TP: 30}
    manager.handle_log_dir_failure(str(dir))
    assert manager.all_cleaner_checkpoints() == {}


def test_moving_a_checkpoint(logs: Logs, log: Log, tmp_path: pathlib.Path) -> None:
    pool: Pool[TopicPartition, Log] = Pool()
    pool.put(TP, log)
    source, dest = log.dir.parent, tmp_path / "dest"
    dest.mkdir()
    manager = LogCleanerManager([source, dest], pool, LogDirFailureChannel(2))
    manager.alter_checkpoint_dir(TP, source, dest)
    assert manager.all_cleaner_checkpoints() == {}
    manager.update_checkpoints(source, (TP, 4))
    manager.mark_partition_uncleanable(str(source), TP)
    manager.alter_checkpoint_dir(TP, source, dest)
    assert (dest / "cleaner-offset-checkpoint").read_text() == "0\n1\ntopic 0 4\n"
    assert (source / "cleaner-offset-checkpoint").read_text() == "0\n0\n"
    assert manager.uncleanable_partitions(str(source)) == set()
    assert manager.uncleanable_partitions(str(dest)) == {TP}


def test_uncleanable_partitions(logs: Logs, log: Log, manager: LogCleanerManager) -> None:
    dir = str(log.dir.parent)
    count = gauge_of(manager, "uncleanable-partitions-count", logDirectory=dir)
    size = gauge_of(manager, "uncleanable-bytes", logDirectory=dir)
    assert (count(), size()) == (0, 0)
    manager.mark_partition_uncleanable(dir, TP)
    manager.mark_partition_uncleanable(dir, OTHER)
    assert (count(), size()) == (2, log.size - log.active_segment.size)
    assert manager.grab_filthiest_compacted_log(logs.time) is None
    manager.maintain_uncleanable_partitions()
    assert manager.uncleanable_partitions(dir) == {TP}
    manager.logs.remove(TP)
    manager.maintain_uncleanable_partitions()
    assert count() == 0
    manager.remove_metrics()


def test_an_unreadable_checkpoint_file(
    logs: Logs, log: Log, manager: LogCleanerManager, caplog: pytest.LogCaptureFixture
) -> None:
    (log.dir.parent / "cleaner-offset-checkpoint").write_text("nonsense")
    assert manager.all_cleaner_checkpoints() == {}
    manager.update_checkpoints(log.dir.parent, (TP, 1))
    manager.alter_checkpoint_dir(TP, log.dir.parent, log.dir)
    assert "Failed to access checkpoint file cleaner-offset-checkpoint in dir" in caplog.text
