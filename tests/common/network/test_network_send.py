"""Messages that leave in pieces of every size."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.network.network_send import NetworkSend
from tests.common.network.network_support import FakeFileRecords, FakeTransport, frame


def file(size: int, start: int = 0) -> Any:
    return cast("Any", FakeFileRecords(size, start))


@pytest.mark.parametrize("parts", [b"hello", [b"hel", bytearray(b"lo")], [b"", memoryview(b"hello"), b""], []])
@pytest.mark.parametrize("room", [[], [0, 1, 1, 1, 1, 1, 1, 1, 1], [3, 100], [4, 0, 5], [0, 0, 9]])
def test_bytes(parts: Any, room: list[int]) -> None:
    transport = FakeTransport(room=room)
    send = NetworkSend("7", parts)
    whole = frame(b"hello" if parts else b"")
    assert (send.destination(), send.size(), send.completed()) == ("7", len(whole), False)
    total = 0
    for _ in range(20):
        if send.completed():
            break
        total += send.write_to(transport)
    assert (bytes(transport.gathered), total, send.completed(), send.remaining()) == (whole, len(whole), True, 0)


def test_small_message_is_one_write() -> None:
    transport = FakeTransport()
    NetworkSend("0", b"hello").write_to(transport)
    assert transport.events == ["write9"]


def test_header_waits_for_the_file_that_follows() -> None:
    transport = FakeTransport()
    send = NetworkSend("0", [b"head", b"er", file(100, 40), b"between", file(5)])
    assert send.size() == 4 + 6 + 100 + 7 + 5
    assert send.write_to(transport) == send.size()
    assert transport.events == ["writev[8, 2]+", "file40:100", "write7+", "file0:5"]
    assert send.completed()


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50])
def test_files_in_pieces(step: int) -> None:
    send = NetworkSend("0", [b"a" * 10, file(20, 5), file(0), b"b" * 3, file(4)])
    transport = FakeTransport(room=[step] * 100)
    total = 0
    for _ in range(60):
        if send.completed():
            break
        total += send.write_to(transport)
    expected = frame(b"a" * 10 + b"f" * 20 + b"b" * 3 + b"f" * 4)
    assert (bytes(transport.gathered), total) == (expected, len(expected))


def test_a_write_that_fails_in_the_middle_can_go_on() -> None:
    class FailsOnce(FakeFileRecords):
        """A file whose disk has a bad moment."""

        failed = False

        def write_to(self, channel: Any, position: int, length: int) -> int:
            if not self.failed:
                self.failed = True
                raise OSError("input/output error")
            return super().write_to(channel, position, length)

    transport = FakeTransport()
    send = NetworkSend("0", [b"head", cast("Any", FailsOnce(100))])
    with pytest.raises(OSError, match="input/output"):
        send.write_to(transport)
    assert send.remaining() == 100
    assert send.write_to(transport) == 100
    assert (send.completed(), bytes(transport.gathered)) == (True, frame(b"head" + b"f" * 100))


def test_many_parts() -> None:
    parts = [bytes([i % 256]) for i in range(3000)]
    transport = FakeTransport()
    send = NetworkSend("0", parts)
    while not send.completed():
        send.write_to(transport)
    assert bytes(transport.gathered) == frame(b"".join(parts))
