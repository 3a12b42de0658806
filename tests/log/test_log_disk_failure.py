"""A log whose disk has failed: nothing more is done to its files, so that what was acknowledged can be recovered."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from kafka_py.common.errors import KafkaStorageException
from kafka_py.common.record.file_records import FileRecords
from tests.log.log_harness import Logs, as_leader, log_config, singleton, values

INDEXED = {"index_interval_bytes": 1}


def failing_once(real: Callable[..., int], number: int, half_first: bool = False) -> Callable[..., int]:
    """The function, but one call fails; before that, with `half_first`, one writes half of its bytes."""
    calls = iter(["half", "fail"] if half_first else ["fail"])

    def call(fd: int, data: bytes, at: int) -> int:
        step = next(calls, None)
        if step == "fail":
            raise OSError(number, os.strerror(number))
        return real(fd, memoryview(data)[: len(data) // 2] if step == "half" else data, at)

    return call


@pytest.mark.parametrize("half_first", [False, True])
def test_nothing_is_appended_behind_a_failed_append(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, half_first: bool
) -> None:
    """The directory is taken out of service a moment later; appends that come in between must not follow torn bytes."""
    log = logs.create()
    as_leader(log, singleton(b"kept"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing_once(os.pwrite, errno.ENOSPC, half_first))
        for value in (b"the disk is full here", b"and has room again"):
            with pytest.raises(KafkaStorageException):
                as_leader(log, singleton(value))
    assert log.log_end_offset == 1
    assert logs.channel.take_next_offline_log_dir() == str(logs.dir.parent)
    logs.crash(log)
    assert values(logs.create()) == [b"kept"]


def test_an_offset_is_not_given_twice_when_the_index_fails(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch is in the log, its index entry is not: an answer must not give its offset to the next one."""
    log = logs.create(log_config(**INDEXED))
    as_leader(log, singleton(b"first"))
    real = os.pwrite

    def full_for_indexes(fd: int, data: bytes, at: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith(".index"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data, at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full_for_indexes)
        with pytest.raises(KafkaStorageException):
            as_leader(log, singleton(b"second"))
    with pytest.raises(KafkaStorageException):
        as_leader(log, singleton(b"third"))
    logs.crash(log)
    recovered = logs.create()
    assert values(recovered) == [b"first", b"second"]
    assert recovered.log_end_offset == 2


def test_the_other_logs_of_the_directory_stop_as_well(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, singleton(b"kept"))
    logs.channel.maybe_add_offline_log_dir(str(logs.dir.parent), "another log's disk error", OSError("broken"))
    calls: list[Callable[[], object]] = [
        lambda: as_leader(log, singleton(b"refused")),
        log.roll,
        log.flush,
        lambda: log.truncate_to(0),
        lambda: log.fetch_offsets_by_timestamp(0),
    ]
    for call in calls:
        with pytest.raises(KafkaStorageException):
            call()
    assert values(log) == [b"kept"]


@pytest.mark.parametrize("timestamp", [None, 3])
def test_a_segment_that_is_deleted_while_it_is_read_is_no_disk_failure(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, timestamp: int | None
) -> None:
    """Whoever may set file.delete.delay.ms to 0 would take the directory offline, and with it the broker."""
    log = logs.create(log_config(segment_bytes=100, file_delete_delay_ms=0, retention_bytes=0))
    for _ in range(4):
        as_leader(log, singleton(b"value", timestamp=5))
    log.on_high_watermark_incremented(4)
    real = FileRecords.search_for_offset_with_size if timestamp is None else FileRecords.search_for_timestamp

    def delete_first(records: FileRecords, *args: int) -> object:
        if log.log_start_offset == 0:
            log.delete_old_segments()
            logs.time.sleep(1)
        return real(records, *args)

    monkeypatch.setattr(FileRecords, real.__name__, delete_first)
    log.log_segments[0]._tail.clear()
    with pytest.raises(KafkaStorageException, match="was closed meanwhile"):
        log.read_uncommitted(0, 1000) if timestamp is None else log.fetch_offsets_by_timestamp(timestamp)
    assert log.log_start_offset > 0
    assert not logs.channel.has_offline_log_dir(str(logs.dir.parent))


def test_readers_of_a_closed_log_are_told_to_come_again(logs: Logs) -> None:
    """The directory failed: they find the partition elsewhere. An unknown error would end a consumer."""
    log = logs.create(log_config(**INDEXED))
    for _ in range(4):
        as_leader(log, singleton(b"value"))
    log.flush()
    log.close()
    log = logs.create(log_config(**INDEXED))  # places of batches are only in the index now
    log.close_handlers()
    for offset in range(4):
        with pytest.raises(KafkaStorageException):
            log.read_uncommitted(offset, 1000)


def test_a_segment_that_is_deleted_while_it_is_flushed_is_no_disk_failure(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logs.create(log_config(segment_bytes=100, file_delete_delay_ms=0, retention_bytes=0))
    for _ in range(4):
        as_leader(log, singleton(b"value"))
    log.on_high_watermark_incremented(4)
    real = FileRecords.flush

    def delete_first(records: FileRecords) -> None:
        log.delete_old_segments()
        logs.time.sleep(1)
        real(records)

    monkeypatch.setattr(FileRecords, "flush", delete_first)
    with pytest.raises(KafkaStorageException, match="was closed meanwhile"):
        log.flush()
    monkeypatch.undo()
    log.flush()
    assert log.recovery_point == log.log_end_offset == 4
    assert not logs.channel.has_offline_log_dir(str(logs.dir.parent))


def test_batches_that_cannot_be_read(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterating over a file wraps the disk's error; it is the disk's all the same."""
    log = logs.create()
    as_leader(log, singleton(b"value", timestamp=5))

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", fail)
        patch.setattr(os, "preadv", fail)
        with pytest.raises(KafkaStorageException):
            log.fetch_offsets_by_timestamp(3)
    assert logs.channel.take_next_offline_log_dir() == str(logs.dir.parent)
