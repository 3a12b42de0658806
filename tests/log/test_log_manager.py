"""LogManager: directories, loading, retention, flushing, checkpoints, deletion, failures."""

from __future__ import annotations

import errno
import logging
import os
import pathlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafka_py.common.errors import (
    IllegalStateException,
    KafkaException,
    KafkaStorageException,
    LogDirNotFoundException,
    OffsetOutOfRangeException,
)
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.exit import Exit
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.server.broker_states import BrokerState, RecoveringFromUncleanShutdown
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.checkpoints.checkpoint_file import CheckpointFile
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime
from tests.log.log_harness import as_leader, log_config, offsets, singleton

MAX_LOG_AGE_MS = 10 * 60 * 1000
TP = TopicPartition("kafka", 0)
CONFIG = log_config(segment_bytes=1024, retention_ms=MAX_LOG_AGE_MS, segment_index_bytes=4096)


class Managers:
    """Creates managers over directories of one test."""

    def __init__(self, tmp_path: pathlib.Path) -> None:
        self.dir = tmp_path / "logs"
        self.time = MockTime()
        self.channel = LogDirFailureChannel(10)
        self.state = BrokerState()
        self.created: list[LogManager] = []

    def create(
        self, dirs: Sequence[pathlib.Path] | None = None, offline: Sequence[pathlib.Path] = (), threads: int = 2
    ) -> LogManager:
        manager = LogManager(
            log_dirs=dirs or [self.dir],
            initial_offline_dirs=offline,
            topic_configs={},
            initial_default_config=CONFIG,
            cleaner_config=CleanerConfig(enable_cleaner=False),
            recovery_threads_per_data_dir=threads,
            flush_check_ms=1000,
            flush_recovery_offset_checkpoint_ms=10000,
            flush_start_offset_checkpoint_ms=10000,
            retention_check_ms=1000,
            max_pid_expiration_ms=60 * 60 * 1000,
            scheduler=self.time.scheduler,
            broker_state=self.state,
            broker_topic_stats=BrokerTopicStats(),
            log_dir_failure_channel=self.channel,
            time=self.time,
        )
        self.created.append(manager)
        return manager

    def crash(self, manager: LogManager) -> None:
        """The process died: nothing is written, the locks are gone."""
        for log in manager.all_logs:
            log.close_handlers()
            log.remove_log_metrics()
        manager._directories.unlock_all()
        self.time.scheduler.clear()


@pytest.fixture
def managers(tmp_path: pathlib.Path) -> Iterator[Managers]:
    managers = Managers(tmp_path)
    yield managers
    for manager in managers.created:
        managers.crash(manager)
        manager._remove_metrics()


@pytest.fixture
def manager(managers: Managers) -> LogManager:
    manager = managers.create()
    manager.startup()
    return manager


def fill(log: Log, count: int, key: bytes | None = None) -> None:
    for _ in range(count):
        as_leader(log, singleton(b"test", key=key))


@pytest.mark.ported("LogManagerTest.testCreateLog")
def test_create_log(managers: Managers, manager: LogManager) -> None:
    log = manager.get_or_create_log(TP, CONFIG)
    assert (managers.dir / "kafka-0").is_dir()
    fill(log, 1)
    assert manager.get_or_create_log(TP, CONFIG) is log
    assert manager.get_log(TP) is log
    assert manager.logs_by_topic("kafka") == [log] == manager.all_logs


@pytest.mark.ported("LogManagerTest.testGetNonExistentLog")
def test_get_non_existent_log(managers: Managers, manager: LogManager) -> None:
    assert manager.get_log(TP) is None
    assert not (managers.dir / "kafka-0").exists()


@pytest.mark.ported("LogManagerTest.testCleanupExpiredSegments")
def test_cleanup_expired_segments(managers: Managers, manager: LogManager) -> None:
    log = manager.get_or_create_log(TP, CONFIG)
    fill(log, 200)
    assert log.number_of_segments > 1
    log.on_high_watermark_incremented(log.log_end_offset)
    for segment in log.log_segments:
        segment.last_modified = managers.time.milliseconds()
    managers.time.sleep(MAX_LOG_AGE_MS + 1)
    assert log.number_of_segments == 1
    managers.time.sleep(log.config.file_delete_delay_ms + 1)
    assert len(list(log.dir.glob("*.log*"))) == 1
    assert log.read_uncommitted(200, 1024).records.size_in_bytes() == 0
    with pytest.raises(OffsetOutOfRangeException):
        log.read_uncommitted(0, 1024)
    fill(log, 1)


@pytest.mark.ported("LogManagerTest.testCleanupSegmentsToMaintainSize")
def test_cleanup_segments_to_maintain_size(managers: Managers, manager: LogManager) -> None:
    size = singleton(b"test").size_in_bytes()
    config = LogConfig.from_props(
        CONFIG.originals(), {"segment.bytes": 10 * size, "retention.bytes": 5 * 10 * size + 10}
    )
    log = manager.get_or_create_log(TP, config)
    fill(log, 200)
    log.on_high_watermark_incremented(log.log_end_offset)
    assert log.number_of_segments == 20
    managers.time.sleep(manager.INITIAL_TASK_DELAY_MS)
    assert log.number_of_segments == 6
    assert log.log_start_offset == 140


@pytest.mark.ported("LogManagerTest.testDoesntCleanLogsWithCompactDeletePolicy")
def test_compacted_logs_are_left_to_the_cleaner(managers: Managers, manager: LogManager) -> None:
    config = LogConfig.from_props(CONFIG.originals(), {"cleanup.policy": "compact,delete"})
    log = manager.get_or_create_log(TP, config)
    fill(log, 200, key=b"key")
    segments = log.number_of_segments
    assert segments > 1
    log.on_high_watermark_incremented(log.log_end_offset)
    for segment in log.log_segments:
        segment.last_modified = managers.time.milliseconds()
    managers.time.sleep(MAX_LOG_AGE_MS + 1)
    assert log.number_of_segments == segments


def test_retention_goes_on_after_a_log_that_fails(
    managers: Managers, manager: LogManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = (manager.get_or_create_log(TopicPartition(topic, 0), CONFIG) for topic in ("bad", "good"))
    real = Log.delete_old_segments

    def delete_old_segments(self: Log) -> int:
        if self is bad:
            raise PermissionError(1, "Operation not permitted")
        return real(self)

    fill(good, 200)
    good.on_high_watermark_incremented(good.log_end_offset)
    for segment in good.log_segments:
        segment.last_modified = managers.time.milliseconds()
    monkeypatch.setattr(Log, "delete_old_segments", delete_old_segments)
    managers.time.sleep(MAX_LOG_AGE_MS + 1)
    assert good.number_of_segments == 1
    assert "Error deleting old segments of bad-0" in caplog.text


@pytest.mark.ported("LogManagerTest.testTimeBasedFlush")
def test_time_based_flush(managers: Managers, manager: LogManager) -> None:
    config = LogConfig.from_props(CONFIG.originals(), {"flush.ms": 1000, "segment.bytes": 10**6})
    log = manager.get_or_create_log(TP, config)
    fill(log, 10)
    last_flush = log.last_flush_time
    assert log.recovery_point == 0
    managers.time.sleep(manager.INITIAL_TASK_DELAY_MS)
    assert log.last_flush_time != last_flush
    assert log.recovery_point == 10


@pytest.mark.ported("LogManagerTest.testLeastLoadedAssignment")
def test_least_loaded_assignment(managers: Managers, tmp_path: pathlib.Path) -> None:
    manager = managers.create([tmp_path / name for name in "abc"])
    for partition in range(20):
        manager.get_or_create_log(TopicPartition("test", partition), CONFIG)
        counts = Counter(log.dir.parent for log in manager.all_logs)
        assert sum(counts.values()) == partition + 1
        assert max(counts.values()) <= min([counts[tmp_path / name] for name in "abc"]) + 1


@pytest.mark.ported("LogManagerTest.testTwoLogManagersUsingSameDirFails")
def test_two_managers_using_the_same_dir(managers: Managers, manager: LogManager) -> None:
    with pytest.raises(KafkaException) as raised:
        managers.create()
    assert str(raised.value) == (
        f"Failed to acquire lock on file .lock in {managers.dir}. A Kafka instance in another process or thread is "
        "using this directory."
    )
    assert manager.is_log_dir_online(str(managers.dir))


def test_duplicate_directories(managers: Managers, tmp_path: pathlib.Path) -> None:
    with pytest.raises(KafkaException, match="Duplicate log directory found"):
        managers.create([tmp_path / "a", tmp_path / "b" / ".." / "a"])


@pytest.mark.ported("LogManagerTest.testCheckpointRecoveryPoints")
def test_checkpoint_recovery_points(managers: Managers, manager: LogManager) -> None:
    partitions = [TopicPartition("test-a", 1), TopicPartition("test-b", 1)]
    logs = [manager.get_or_create_log(tp, CONFIG) for tp in partitions]
    for log in logs:
        fill(log, 50)
        log.flush()
    manager.checkpoint_log_recovery_offsets()
    checkpoints = OffsetCheckpointFile(managers.dir / "recovery-point-offset-checkpoint").read()
    assert checkpoints == dict.fromkeys(partitions, 50)
    for log in logs:
        assert log.producer_state_manager.oldest_snapshot_offset() == log._local_log.min_snapshots_offset_to_retain


@pytest.mark.ported("LogManagerTest.testRecoveryDirectoryMappingWithTrailingSlash")
@pytest.mark.ported("LogManagerTest.testRecoveryDirectoryMappingWithRelativeDirectory")
def test_directory_spellings(managers: Managers, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    manager = managers.create([pathlib.Path("relative/")])
    fill(manager.get_or_create_log(TP, CONFIG), 5)
    manager.checkpoint_log_recovery_offsets()
    assert OffsetCheckpointFile(tmp_path / "relative" / "recovery-point-offset-checkpoint").read() == {TP: 0}
    assert manager.live_log_dirs == [tmp_path / "relative"]


@pytest.mark.ported("LogManagerTest.testFileReferencesAfterAsyncDelete")
def test_async_delete(managers: Managers, manager: LogManager) -> None:
    log = manager.get_or_create_log(TP, CONFIG)
    removed = manager.async_delete(TP)
    assert removed is log
    assert manager.get_log(TP) is None
    segment = log.active_segment
    for file in (segment.log.file, segment.offset_index.file, segment.time_index.file, segment.txn_index.file):
        assert pathlib.Path(file).parent == log.dir
    assert log.name.startswith("kafka-0.")
    assert log.name.endswith("-delete")
    waiting = []
    for ms in (manager.INITIAL_TASK_DELAY_MS, manager.current_default_config.file_delete_delay_ms):
        managers.time.sleep(ms)
        waiting.append(manager.has_logs_to_be_deleted)
    assert waiting == [True, False]
    assert not log.dir.exists()
    assert manager.async_delete(TP) is None


def test_deleted_directory_found_at_start_is_deleted(managers: Managers, manager: LogManager) -> None:
    fill(manager.get_or_create_log(TP, CONFIG), 5)
    log = manager.async_delete(TP)
    assert log is not None
    managers.crash(manager)
    log.close_handlers()
    again = managers.create()
    again.startup()
    assert again.get_log(TP) is None
    assert again.has_logs_to_be_deleted
    managers.time.sleep(again.INITIAL_TASK_DELAY_MS)
    managers.time.sleep(again.current_default_config.file_delete_delay_ms)
    assert not log.dir.exists()


# ---- restarts


def test_clean_shutdown(managers: Managers, manager: LogManager) -> None:
    fill(manager.get_or_create_log(TP, CONFIG), 50)
    manager.shutdown()
    assert (managers.dir / ".kafka_cleanshutdown").exists()
    assert OffsetCheckpointFile(managers.dir / "recovery-point-offset-checkpoint").read() == {TP: 50}
    managers.state = BrokerState()
    again = managers.create()
    assert not (managers.dir / ".kafka_cleanshutdown").exists()
    assert managers.state.current_state != RecoveringFromUncleanShutdown.state
    log = again.get_log(TP)
    assert log is not None
    assert offsets(log) == list(range(50))


@pytest.mark.parametrize("threads", [1, 4])
def test_unclean_shutdown(managers: Managers, manager: LogManager, threads: int) -> None:
    partitions = [TopicPartition("t", i) for i in range(6)]
    for tp in partitions:
        fill(manager.get_or_create_log(tp, CONFIG), 30 + tp.partition)
    managers.crash(manager)
    again = managers.create(threads=threads)
    assert managers.state.current_state == RecoveringFromUncleanShutdown.state
    for tp in partitions:
        log = again.get_log(tp)
        assert log is not None
        assert log.log_end_offset == 30 + tp.partition


@pytest.mark.parametrize(("ms_per_log", "said"), [(0, [8]), (3000, [2, 4, 6, 8]), (60_000, [1, 2, 3, 4, 5, 6, 7, 8])])
def test_loading_says_how_far_it_is(
    managers: Managers,
    manager: LogManager,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ms_per_log: int,
    said: list[int],
) -> None:
    for i in range(8):
        fill(manager.get_or_create_log(TopicPartition("t", i), CONFIG), 1)
    managers.crash(manager)
    load = LogManager._load_log

    def slow_load(self: LogManager, *args: Any) -> None:
        managers.time.sleep(ms_per_log)
        load(self, *args)

    monkeypatch.setattr(LogManager, "_load_log", slow_load)
    with caplog.at_level(logging.INFO):
        managers.create(threads=1)
    lines = [line for line in caplog.messages if line.startswith(("Recovering the", "Finished with"))]
    assert lines == [
        f"Recovering the 8 logs of {managers.dir}, because it holds no clean shutdown file",
        *(f"Finished with {n} of 8 logs in {managers.dir} after {n * ms_per_log} ms" for n in said),
    ]


def test_a_log_that_cannot_be_read_takes_its_directory_offline(
    managers: Managers, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    dirs = [tmp_path / name for name in "ab"]
    manager = managers.create(dirs)
    logs = [manager.get_or_create_log(TopicPartition("t", i), CONFIG) for i in range(4)]
    managers.crash(manager)
    broken, fine = logs[0].dir.parent, logs[1].dir.parent
    Log.log_file(logs[0].dir, 0).unlink()
    Log.log_file(logs[0].dir, 0).mkdir()  # opening the file fails, as on a bad disk
    with caplog.at_level(logging.INFO):
        again = managers.create(dirs)
    assert managers.channel.take_next_offline_log_dir() == str(broken)
    again.handle_log_dir_failure(str(broken))  # what ReplicaManager does with it
    assert {log.dir.parent for log in again.all_logs} == {fine}
    # the log that failed counts as well
    assert f"Finished with 2 of 2 logs in {broken} after 0 ms" in caplog.messages


def test_log_start_offset_survives_a_restart(managers: Managers, manager: LogManager) -> None:
    log = manager.get_or_create_log(TP, CONFIG)
    fill(log, 5)
    log.maybe_increment_log_start_offset(3)
    manager.checkpoint_log_start_offsets()
    assert OffsetCheckpointFile(managers.dir / "log-start-offset-checkpoint").read() == {TP: 3}
    managers.crash(manager)
    reopened = managers.create().get_log(TP)
    assert reopened is not None
    assert reopened.log_start_offset == 3


def test_foreign_directory_ends_the_start(managers: Managers) -> None:
    (managers.dir / "lost+found").mkdir(parents=True)
    with pytest.raises(KafkaException, match="not in the form of topic-partition"):
        managers.create()
    # the lock is free again
    (managers.dir / "lost+found").rmdir()
    assert managers.create().all_logs == []


def test_corrupt_recovery_checkpoint_is_reported_and_taken_as_zero(managers: Managers, manager: LogManager) -> None:
    fill(manager.get_or_create_log(TP, CONFIG), 5)
    managers.crash(manager)
    (managers.dir / "recovery-point-offset-checkpoint").write_text("garbage\n")
    again = managers.create()
    assert managers.channel.take_next_offline_log_dir() == str(managers.dir)
    log = again.get_log(TP)
    assert log is not None
    assert log.log_end_offset == 5


def copies(managers: Managers, tmp_path: pathlib.Path, count: int) -> list[pathlib.Path]:
    """Two directories with the same log of so many records, in the state that a crash at the end of a move leaves."""
    dirs = [tmp_path / "a", tmp_path / "b"]
    manager = managers.create(dirs[:1])
    fill(manager.get_or_create_log(TP, CONFIG), count)
    managers.crash(manager)
    shutil.copytree(dirs[0] / "kafka-0", dirs[1] / "kafka-0")
    return dirs


@pytest.mark.parametrize(("count", "start"), [(0, 0), (3, 1)])
def test_of_two_logs_with_the_same_records_one_is_kept(
    managers: Managers, tmp_path: pathlib.Path, count: int, start: int
) -> None:
    dirs = copies(managers, tmp_path, count)
    (dirs[0] / "log-start-offset-checkpoint").write_text(f"0\n1\nkafka 0 {start}\n")  # of deleted records
    manager = managers.create(dirs)
    log = manager.get_log(TP)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (start, count)
    names = [d.name for log_dir in dirs for d in log_dir.glob("kafka-0*")]
    assert sorted(name.endswith("-delete") for name in names) == [False, True]
    assert manager.has_logs_to_be_deleted
    fill(log, 1)
    assert log.log_end_offset == count + 1


def test_same_partition_in_two_directories(managers: Managers, tmp_path: pathlib.Path) -> None:
    """One of them has been written to since, or in another epoch: somebody has to decide."""
    dirs = copies(managers, tmp_path, 3)
    epochs = dirs[1] / "kafka-0/leader-epoch-checkpoint"
    epochs.write_text("0\n1\n1 0\n")
    with pytest.raises(IllegalStateException, match="Duplicate log directories for kafka-0"):
        managers.create(dirs)
    shutil.rmtree(dirs[1])
    manager = managers.create(dirs[1:])
    fill(manager.get_or_create_log(TP, CONFIG), 4)
    managers.crash(manager)
    with pytest.raises(IllegalStateException, match="Duplicate log directories for kafka-0"):
        managers.create(dirs)


# ---- truncation


def test_truncate_to(managers: Managers, manager: LogManager) -> None:
    log = manager.get_or_create_log(TP, CONFIG)
    fill(log, 50)
    log.flush()
    manager.truncate_to({TP: 20, TopicPartition("unknown", 0): 3}, is_future=False)
    assert log.log_end_offset == 20
    file = managers.dir / "recovery-point-offset-checkpoint"
    assert OffsetCheckpointFile(file).read() == {TP: 20}
    manager.truncate_fully_and_start_at(TP, 7, is_future=False)
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    assert OffsetCheckpointFile(file).read() == {TP: 7}


# ---- failing directories


def test_directory_failure(managers: Managers, tmp_path: pathlib.Path) -> None:
    manager = managers.create([tmp_path / "a", tmp_path / "b"])
    logs = [manager.get_or_create_log(TopicPartition("t", i), CONFIG) for i in range(4)]
    fill(logs[0], 1)
    failed, alive = logs[0].dir.parent, logs[1].dir.parent
    manager.handle_log_dir_failure(str(failed))
    assert manager.live_log_dirs == [alive]
    assert not manager.is_log_dir_online(str(failed))
    assert {log.dir.parent for log in manager.all_logs} == {alive}
    with pytest.raises(KafkaStorageException):
        fill(logs[0], 1)
    # the log may be in the directory that failed
    with pytest.raises(KafkaStorageException, match="are offline"):
        manager.get_or_create_log(TopicPartition("t", 0), CONFIG)
    assert manager.get_or_create_log(TopicPartition("new", 0), CONFIG, is_new=True).dir.parent == alive
    with pytest.raises(KafkaStorageException, match="may be in one of the offline directories"):
        manager.async_delete(TopicPartition("t", 0))
    with pytest.raises(LogDirNotFoundException):
        manager.is_log_dir_online("/nowhere")


def test_last_directory_failure_halts(managers: Managers, manager: LogManager) -> None:
    halted: list[int] = []
    Exit.set_halt_procedure(lambda status, message: halted.append(status))
    try:
        manager.handle_log_dir_failure(str(managers.dir))
    finally:
        Exit.reset_halt_procedure()
    assert halted == [1]


def test_unusable_directory_at_start_goes_offline(managers: Managers, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "locked" / ".lock").mkdir(parents=True)
    manager = managers.create(
        [tmp_path / "file", tmp_path / "locked", tmp_path / "good", tmp_path / "gone"], [tmp_path / "gone"]
    )
    assert manager.live_log_dirs == [tmp_path / "good"]
    offline = {managers.channel.take_next_offline_log_dir() for _ in range(3)}
    assert offline == {str(tmp_path / name) for name in ("file", "locked", "gone")}


# ---- moving a replica to another directory


def test_future_log_replaces_the_current_one(managers: Managers, tmp_path: pathlib.Path) -> None:
    manager = managers.create([tmp_path / "a", tmp_path / "b"])
    manager.startup()
    log = manager.get_or_create_log(TP, CONFIG)
    fill(log, 3)
    other = next(d for d in manager.live_log_dirs if d != log.dir.parent)
    with pytest.raises(IllegalStateException, match="without having a preferred log directory"):
        manager.get_or_create_log(TP, CONFIG, is_future=True)
    manager.maybe_update_preferred_log_dir(TP, str(log.dir.parent))  # it is there already
    with pytest.raises(IllegalStateException):
        manager.get_or_create_log(TP, CONFIG, is_future=True)
    manager.maybe_update_preferred_log_dir(TP, str(other))
    future = manager.get_or_create_log(TP, CONFIG, is_future=True)
    assert future.is_future
    assert future.dir.parent == other
    fill(future, 3)
    manager.replace_current_with_future_log(TP)
    assert manager.get_log(TP) is future
    assert manager.get_log(TP, is_future=True) is None
    assert future.name == "kafka-0"
    assert offsets(future) == [0, 1, 2]
    assert log.name.endswith("-delete")
    managers.time.sleep(manager.INITIAL_TASK_DELAY_MS)
    managers.time.sleep(manager.current_default_config.file_delete_delay_ms)
    assert not log.dir.exists()


# ---- many partitions


def test_logs_that_are_deleted_together_are_checkpointed_once(
    managers: Managers, manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = [TopicPartition("kafka", n) for n in range(5)]
    logs = [manager.get_or_create_log(tp, CONFIG) for tp in partitions]
    writes: Counter[str] = Counter()
    write_current = CheckpointFile.write_current

    def counted(checkpoint: CheckpointFile[Any], entries_now: Any) -> None:
        writes[checkpoint.file.name] += 1
        write_current(checkpoint, entries_now)

    monkeypatch.setattr(CheckpointFile, "write_current", counted)
    failed: list[TopicPartition] = []
    manager.async_delete_all([*partitions[1:], TopicPartition("nosuch", 0)], lambda tp, e: failed.append(tp))
    assert writes == {"recovery-point-offset-checkpoint": 1, "log-start-offset-checkpoint": 1}
    assert failed == []
    assert manager.all_logs == logs[:1]
    assert all(log.name.endswith("-delete") for log in logs[1:])


def test_of_logs_that_are_deleted_together_one_that_fails_is_named(
    managers: Managers, manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = (manager.get_or_create_log(TopicPartition("kafka", n), CONFIG) for n in range(2))

    def fail(name: str) -> None:
        raise KafkaStorageException("the disk is gone")

    monkeypatch.setattr(bad, "rename_dir", fail)
    failed: list[tuple[TopicPartition, str]] = []
    manager.async_delete_all([bad.topic_partition, good.topic_partition], lambda tp, e: failed.append((tp, str(e))))
    assert failed == [(bad.topic_partition, "the disk is gone")]
    assert good.name.endswith("-delete")


def test_settings_that_change_while_a_log_is_made_are_fetched_when_it_is_done(manager: LogManager) -> None:
    other = TopicPartition("other", 0)
    fetched: list[str] = []

    def fetch() -> LogConfig:
        fetched.append("fetched")
        return log_config(segment_bytes=77)

    changes = (lambda: None, lambda: manager.topic_config_updated("kafka"), manager.broker_config_updated)
    for times, change in enumerate(changes):
        manager.initializing_log(TP)
        manager.initializing_log(other)
        change()
        log = manager.get_or_create_log(TP, CONFIG)
        manager.finished_initializing_log(TP, log, fetch)
        assert len(fetched) == times
        manager.finished_initializing_log(other, None, fetch)
        assert len(fetched) == times
    assert log.config.segment_size == 77


def refuse_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had no descriptor left when it comes to an index."""
    open_file = os.open

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        if os.fspath(path).endswith("index"):
            raise OSError(errno.EMFILE, "Too many open files")
        return open_file(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)


def test_without_descriptors_a_partition_is_refused_and_the_directory_stays(
    managers: Managers, manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_indexes(monkeypatch)
    with pytest.raises(KafkaStorageException, match="Error while creating log for kafka-0"):
        manager.get_or_create_log(TP, CONFIG, is_new=True)
    monkeypatch.undo()
    assert manager.is_log_dir_online(str(managers.dir))
    assert not managers.channel.has_offline_log_dir(str(managers.dir))
    fill(manager.get_or_create_log(TP, CONFIG, is_new=True), 1)


def test_a_broker_that_cannot_open_all_its_logs_does_not_start(
    managers: Managers, manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(manager.get_or_create_log(TP, CONFIG), 1)
    managers.crash(manager)

    refuse_indexes(monkeypatch)
    with pytest.raises(OSError, match="Too many open files"):
        managers.create()
