"""A log whose disk has failed: nothing more is done to its files, so that what was acknowledged can be recovered."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from kafka_py.common.errors import KafkaStorageException
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
