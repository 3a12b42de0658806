"""Log and LogManager: crashes between two changes of the disk, one test for each window that once lost something."""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.log.log_segment import LogSegment
from kafka_py.server.broker_states import BrokerState
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CountDownLatch
from tests.log.cleaner_support import LONG_MAX
from tests.log.log_harness import Logs, as_leader, concatenated, log_config, offsets, records_of, singleton, values

CONFIG = log_config(segment_bytes=200, index_interval_bytes=1, segment_index_bytes=240)
TP = TopicPartition("topic", 0)
T = TypeVar("T")


class Crash(BaseException):
    """Nothing is done from here on."""


class Crashes:
    """Ends an action before its n-th rename or cut of a file, n going up until the action runs through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = -1
        for name in ("replace", "ftruncate", "unlink"):
            monkeypatch.setattr(f"os.{name}", self._counted(getattr(os, name)))

    def _counted(self, original: Callable[..., None]) -> Callable[..., None]:
        def call(*args: object) -> None:
            self._left -= 1
            if self._left == 0:
                raise Crash
            original(*args)

        return call

    def everywhere(self, prepare: Callable[[], T], action: Callable[[T], object]) -> Iterator[None]:
        """Prepare and act, again and again; what comes after the crash is the caller's."""
        for n in range(1, 1000):
            prepared = prepare()
            self._left = n
            try:
                action(prepared)
            except Crash:
                yield
            else:
                self._left = -1
                assert n > 1
                return
        raise AssertionError("it never ends")


@pytest.fixture
def crashes(monkeypatch: pytest.MonkeyPatch) -> Crashes:
    return Crashes(monkeypatch)


def empty(logs: Logs) -> None:
    logs.time.scheduler.clear()
    for file in logs.dir.iterdir():
        os.remove(file)


def fill(log: Log, count: int) -> None:
    for i in range(count):
        as_leader(log, singleton(b"value%04d" % i))


# ---- truncation and recovery


def test_a_truncation_leaves_no_gap(logs: Logs, crashes: Crashes) -> None:
    """The newest segments go first, so that what is left ends earlier and has no hole."""

    def prepare() -> Log:
        empty(logs)
        log = logs.create(CONFIG)
        fill(log, 10)
        log.flush()
        assert log.number_of_segments > 3
        return log

    ends = set()
    for _ in crashes.everywhere(prepare, lambda log: log.truncate_to(1)):
        log = logs.create(CONFIG, recovery_point=10)
        assert offsets(log) == list(range(log.log_end_offset))
        ends.add(log.log_end_offset)
        logs.crash(log)
    assert len(ends) > 3


def test_a_second_crash_during_recovery_leaves_no_gap(logs: Logs, crashes: Crashes) -> None:
    """The segments behind a damaged one are deleted before it is cut, or a second recovery would find it whole."""
    log = logs.create(CONFIG)
    fill(log, 10)
    damaged = log.log_segments[1].base_offset
    logs.crash(log)
    files = {file: file.read_bytes() for file in logs.dir.iterdir()}
    file = Log.log_file(logs.dir, damaged)
    files[file] = files[file][:-1]
    whole = damaged + 1  # two records in a segment

    def prepare() -> None:
        empty(logs)
        for path, content in files.items():
            path.write_bytes(content)

    for _ in crashes.everywhere(prepare, lambda _: logs.crash(logs.create(CONFIG))):
        log = logs.create(CONFIG)
        assert offsets(log) == list(range(whole))
        logs.crash(log)


def test_what_was_recovered_is_synced(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """For from now on the recovery point says so."""
    log = logs.create(CONFIG)
    fill(log, 10)
    logs.time.scheduler.clear()  # the flushes of rolled segments
    expected = {os.fspath(segment.log.file) for segment in log.log_segments[2:]}
    recovery_point = log.log_segments[2].base_offset
    logs.crash(log)
    synced = set()
    fsync = os.fsync

    def spy(fd: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr("os.fsync", spy)
    log = logs.create(CONFIG, recovery_point=recovery_point)
    assert log.recovery_point == 10
    assert {name for name in synced if name.endswith(".log")} == expected


def test_a_flush_brings_new_files_to_the_disk_with_their_names(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure may else take the whole segment (KAFKA-3968)."""
    log = logs.create(CONFIG)
    synced = []
    fsync = os.fsync

    def spy(fd: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{fd}"), log.recovery_point))
        fsync(fd)

    monkeypatch.setattr("os.fsync", spy)
    fill(log, 1)
    log.flush()
    assert (os.fspath(logs.dir), 0) in synced, "before the recovery point says so"
    fill(log, 1)
    synced.clear()
    log.flush()
    assert os.fspath(logs.dir) not in dict(synced), "once for each segment is enough"


def test_more_batches_than_index_entries(logs: Logs) -> None:
    """One append of several batches gives one entry, but recovery comes by each of them."""
    config = log_config(index_interval_bytes=1, segment_index_bytes=36)
    log = logs.create(config)
    log.append_as_follower(concatenated([records_of(b"%d" % i, initial_offset=i) for i in range(20)]))
    logs.crash(log)
    log = logs.create(config)
    assert values(log) == [b"%d" % i for i in range(20)]
    assert [next(log.read_uncommitted(i, 100).records.batches()).base_offset() for i in range(20)] == [*range(20)]
    as_leader(log, singleton())
    assert offsets(log) == [*range(21)]


def test_files_of_an_unfinished_swap_are_not_kept(logs: Logs) -> None:
    """A transaction index left under a .swap name would become the next cleaned segment's."""
    log = logs.create(CONFIG)
    fill(log, 10)
    logs.crash(log)
    for suffix in ("index", "timeindex", "txnindex"):
        (logs.dir / f"{0:020}.{suffix}.swap").write_bytes(bytes(34 * 24))
    log = logs.create(CONFIG, recovery_point=10)
    assert list(logs.dir.glob("*.swap")) == []
    assert offsets(log) == [*range(10)]


@pytest.mark.parametrize("without_segments", [False, True])
def test_a_log_that_ends_before_its_start_begins_there(logs: Logs, without_segments: bool) -> None:
    log = logs.create(CONFIG)
    for sequence in range(10):
        as_leader(log, logs.idempotent(7, sequence), epoch=3)
    logs.crash(log)
    if without_segments:
        for file in logs.dir.glob("*.log"):
            file.unlink()
    log = logs.create(CONFIG, log_start_offset=20, recovery_point=10)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (20, 20, 20)
    assert log.leader_epoch_cache.epoch_entries() == []
    assert log.producer_state_manager.is_empty
    fill(log, 3)
    logs.crash(log)
    log = logs.create(CONFIG, log_start_offset=20, recovery_point=20)
    assert (offsets(log), log.log_start_offset) == ([20, 21, 22], 20)


def test_a_flush_says_nothing_of_what_was_cut_off_meanwhile(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.create(CONFIG)
    fill(log, 10)
    logs.time.scheduler.clear()
    flush = LogSegment.flush
    flushed = []

    def flush_and_truncate(segment: LogSegment) -> None:
        flush(segment)
        flushed.append(segment.base_offset)
        if log.log_end_offset == 10:
            log.truncate_to(4)

    monkeypatch.setattr(LogSegment, "flush", flush_and_truncate)
    log.flush()
    assert log.recovery_point <= log.log_end_offset == 4
    fill(log, 2)
    flushed.clear()
    log.flush()
    assert (log.recovery_point, log.log_end_offset) == (6, 6)
    assert flushed[-1] == log.active_segment.base_offset


# ---- the manager's checkpoints


class Managers:
    """Opens managers over one directory, each after the crash of the one before."""

    def __init__(self, dir: pathlib.Path) -> None:
        self.dir = dir
        self.time = MockTime()
        self._opened: LogManager | None = None

    def open(self) -> LogManager:
        self.crash()
        self._opened = LogManager(
            log_dirs=[self.dir],
            initial_offline_dirs=(),
            topic_configs={},
            initial_default_config=LogConfig({"cleanup.policy": "compact", "segment.index.bytes": 240}),
            cleaner_config=CleanerConfig(),  # its threads are not started
            recovery_threads_per_data_dir=1,
            flush_check_ms=1000,
            flush_recovery_offset_checkpoint_ms=1000,
            flush_start_offset_checkpoint_ms=1000,
            retention_check_ms=1000,
            max_pid_expiration_ms=LONG_MAX,
            scheduler=self.time.scheduler,
            broker_state=BrokerState(),
            broker_topic_stats=BrokerTopicStats(),
            log_dir_failure_channel=LogDirFailureChannel(1),
            time=self.time,
        )
        return self._opened

    def log(self, manager: LogManager) -> Log:
        return manager.get_or_create_log(TP, manager.current_default_config)

    def crash(self) -> None:
        if self._opened is not None:
            for log in self._opened.all_logs:
                log.close_handlers()
            self._opened._directories.unlock_all()
            self.time.scheduler.clear()


@pytest.fixture
def managers(tmp_path: pathlib.Path) -> Iterator[Managers]:
    managers = Managers(tmp_path / "data")
    yield managers
    managers.crash()


def keyed(log: Log, count: int) -> None:
    for i in range(count):
        as_leader(log, singleton(b"value", key=b"%d" % i))


def test_a_checkpoint_in_the_making_does_not_bring_a_deleted_log_back(
    managers: Managers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was put together before the log went, and written afterwards: a new log would begin at the old one's start."""
    manager = managers.open()
    log = managers.log(manager)
    keyed(log, 10)
    log.maybe_increment_log_start_offset(5)
    deleted = CountDownLatch(1)
    logs_by_dir = manager._logs_by_dir

    def delete() -> None:
        manager.async_delete(TP)
        deleted.count_down()

    thread = threading.Thread(target=delete)

    def delete_meanwhile() -> dict[str, dict[TopicPartition, Log]]:
        logs = logs_by_dir()
        monkeypatch.undo()
        thread.start()
        deleted.await_(200)
        return logs

    monkeypatch.setattr(manager, "_logs_by_dir", delete_meanwhile)
    manager.checkpoint_log_start_offsets()
    thread.join()
    assert OffsetCheckpointFile(log.dir.parent / "log-start-offset-checkpoint").read() == {}


@pytest.mark.parametrize("fully", [False, True])
def test_records_behind_a_truncation_are_not_below_the_old_start(managers: Managers, fully: bool) -> None:
    """The log start goes down with the truncation, on the disk as well."""
    manager = managers.open()
    log = managers.log(manager)
    keyed(log, 20)
    log.maybe_increment_log_start_offset(15)
    manager.checkpoint_log_start_offsets()
    if fully:
        manager.truncate_fully_and_start_at(TP, 5, is_future=False)
    else:
        manager.truncate_to({TP: 5}, is_future=False)
    keyed(log, 3)
    log = managers.log(managers.open())
    assert (log.log_start_offset, log.log_end_offset) == (5, 8)
    assert offsets(log)[-3:] == [5, 6, 7]


def test_a_deleted_log_leaves_nothing_to_one_of_the_same_name(
    managers: Managers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was the only one of its directory, and when the crash came in the middle."""
    manager = managers.open()
    log = managers.log(manager)
    keyed(log, 20)
    log.flush()
    log.maybe_increment_log_start_offset(15)
    manager.checkpoint_log_recovery_offsets()
    manager.checkpoint_log_start_offsets()

    def crash_after(log: Log, name: str) -> None:
        rename_dir(log, name)
        raise Crash

    rename_dir = Log.rename_dir
    monkeypatch.setattr(Log, "rename_dir", crash_after)
    with pytest.raises(Crash):
        manager.async_delete(TP)
    monkeypatch.undo()
    log = managers.log(managers.open())
    keyed(log, 3)
    log = managers.log(managers.open())
    assert (log.log_start_offset, log.log_end_offset) == (0, 3)


@pytest.mark.parametrize("fully", [False, True])
def test_the_cleaner_does_not_take_new_records_for_clean(
    managers: Managers, monkeypatch: pytest.MonkeyPatch, fully: bool
) -> None:
    """After a crash within a truncation the log may grow past the old end before the cleaner looks at it."""
    manager = managers.open()
    log = managers.log(manager)
    keyed(log, 10)
    log.roll()
    keyed(log, 10)
    cleaner = manager.cleaner
    assert cleaner is not None
    cleaner.cleaner_manager.update_checkpoints(managers.dir, (TP, 10))
    name = "truncate_fully_and_start_at" if fully else "truncate_to"
    truncate = getattr(Log, name)

    def crash_after(log: Log, offset: int) -> None:
        truncate(log, offset)
        raise Crash

    monkeypatch.setattr(Log, name, crash_after)
    if fully:
        with pytest.raises(Crash):
            manager.truncate_fully_and_start_at(TP, 4, is_future=False)
    else:
        with pytest.raises(Crash):
            manager.truncate_to({TP: 4}, is_future=False)
    monkeypatch.undo()
    manager = managers.open()
    log = managers.log(manager)
    assert log.log_end_offset == 4
    keyed(log, 30)
    log.roll()
    log.on_high_watermark_incremented(log.log_end_offset)
    cleaner = manager.cleaner
    assert cleaner is not None
    dirty = cleaner.cleaner_manager.grab_filthiest_compacted_log(managers.time)
    assert dirty is not None
    assert dirty.first_dirty_offset == log.log_segments[0].base_offset
