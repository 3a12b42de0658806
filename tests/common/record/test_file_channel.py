"""FileChannel: a number that was given back is not used any more."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.common.record.file_channel import FileChannel
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord


@pytest.fixture
def channel(tmp_path: Path) -> FileChannel:
    channel = FileChannel.open(tmp_path / "one", mutable=True)
    channel.write(b"one" * 10)
    return channel


class Thief:
    """Closes a channel just before a system call, and opens another file, which gets the lowest free number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, call: str, other: Path, close: Callable[[], None]) -> None:
        other.write_bytes(b"two" * 1000)
        self.other = -1
        real = getattr(os, call)

        def stealing(*args: Any) -> Any:
            monkeypatch.setattr(os, call, real)
            close()
            self.other = os.open(other, os.O_RDWR)
            return real(*args)

        monkeypatch.setattr(os, call, stealing)

    def close(self) -> None:
        assert self.other >= 0
        assert os.pread(self.other, 4000, 0) == b"two" * 1000
        os.close(self.other)


def filled(channel: FileChannel, size: int) -> bytes:
    buffer = bytearray(size)
    return bytes(buffer[: channel.read_into(buffer, 0)])


CALLS: list[tuple[str, Callable[[FileChannel], Any], Any]] = [
    ("pread", lambda channel: channel.read(6, 0), b"oneone"),
    ("preadv", lambda channel: filled(channel, 6), b"oneone"),
    ("pwrite", lambda channel: channel.write(b"more"), 4),
    ("fstat", lambda channel: channel.size(), 30),
    ("ftruncate", lambda channel: channel.truncate(3), None),
]


@pytest.mark.parametrize(("call", "use", "expected"), CALLS, ids=[call for call, _, _ in CALLS])
def test_a_call_goes_on_with_the_file_it_began_with(
    channel: FileChannel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    use: Callable[[FileChannel], Any],
    expected: Any,
) -> None:
    thief = Thief(monkeypatch, call, tmp_path / "two", channel.close)
    assert use(channel) == expected
    thief.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        use(channel)


def test_a_send_goes_on_with_the_file_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = FileRecords.open(tmp_path / "x.log")
    records.append(MemoryRecords.with_records(SimpleRecord(0, None, b"v")))
    part = records.slice(0, 1000)
    thief = Thief(monkeypatch, "sendfile", tmp_path / "two", records.close_handlers)
    left, right = socket.socketpair()
    with left, right:
        assert part.write_to(left, 0, 1000) == part.size_in_bytes()
        assert right.recv(4096) == records.file.read_bytes()
    thief.close()


def test_the_number_is_given_back_at_once_when_nobody_uses_it(channel: FileChannel, tmp_path: Path) -> None:
    with open(tmp_path / "one", "rb") as probe:
        number = probe.fileno()
    channel.close()
    channel.close()
    assert not channel.is_open()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        channel.force()
    with open(tmp_path / "one", "rb") as probe:
        assert probe.fileno() < number
