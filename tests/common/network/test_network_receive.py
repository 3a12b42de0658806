"""Messages that come in pieces of every size."""

from __future__ import annotations

import tracemalloc

import pytest

from kafka_py.common.errors import InvalidReceiveException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.network.network_receive import NetworkReceive
from tests.common.network.network_support import FakeTransport, frame, text


def read_all(receive: NetworkReceive, transport: FakeTransport) -> int:
    total = 0
    while not receive.complete():
        count = receive.read_from(transport)
        if not count:
            break
        total += count
    return total


@pytest.mark.ported("NetworkReceiveTest.testBytesRead")
def test_bytes_read() -> None:
    receive = NetworkReceive(128, "0")
    assert receive.bytes_read() == 0
    message = frame(bytes(range(128)))
    transport = FakeTransport([message[:4], None, message[4:68], message[68:]])
    assert receive.read_from(transport) == 4
    assert (receive.bytes_read(), receive.complete()) == (4, False)
    assert receive.read_from(transport) == 64
    assert (receive.bytes_read(), receive.complete()) == (68, False)
    assert receive.read_from(transport) == 64
    assert (receive.bytes_read(), receive.complete()) == (132, True)
    assert text(receive) == bytes(range(128))


@pytest.mark.parametrize("pool", [MemoryPool.NONE, SimpleMemoryPool(1000, 500, False)], ids=["none", "simple"])
@pytest.mark.parametrize("piece", [1, 2, 3, 4, 5, 7, 100, 1000])
def test_any_pieces(piece: int, pool: MemoryPool) -> None:
    payload = bytes(i % 251 for i in range(300))
    message = frame(payload)
    transport = FakeTransport([message[i : i + piece] for i in range(0, len(message), piece)])
    receive = NetworkReceive(-1, "source", pool)
    assert read_all(receive, transport) == 304
    assert (text(receive), receive.source(), receive.size(), receive.bytes_read()) == (payload, "source", 304, 304)
    view = receive.payload()
    assert view is not None
    assert not view.readonly
    pool.release(view)


def test_one_read_may_hold_several_messages_and_a_part() -> None:
    messages = [b"a", b"", b"ccc" * 10, b"dd"]
    stream = b"".join(map(frame, messages))
    transport = FakeTransport([stream[:-1], stream[-1:]])
    found = []
    for _ in messages:
        receive = NetworkReceive()
        read_all(receive, transport)
        found.append(text(receive))
    assert found == messages
    assert not transport.has_bytes_buffered()


@pytest.mark.parametrize("size", [-1, -(2**31), 129, 2**31 - 1])
def test_invalid_size(size: int) -> None:
    transport = FakeTransport([size.to_bytes(4, "big", signed=True) + b"rest"])
    with pytest.raises(InvalidReceiveException, match=rf"Invalid receive \(size = {size}"):
        NetworkReceive(128, "0").read_from(transport)


def test_end_of_stream() -> None:
    with pytest.raises(EOFError):
        read_all(NetworkReceive(), FakeTransport([frame(b"abc")[:5], b""]))


def test_memory_grows_with_what_arrives_not_with_the_size_field() -> None:
    claimed = 100 * 1024 * 1024
    tracemalloc.start()
    try:
        receives = []
        for _ in range(20):
            transport = FakeTransport([claimed.to_bytes(4, "big") + bytes(100)])
            receive = NetworkReceive(claimed, "0")
            assert receive.read_from(transport) == 104
            receives.append(receive)
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert current < 8 * 1024 * 1024
    assert [r.bytes_read() for r in receives] == [104] * 20
    for receive in receives:
        receive.close()


def test_large_message_in_large_pieces() -> None:
    payload = bytes(range(256)) * 4096
    message = frame(payload)
    transport = FakeTransport([message[i : i + 100_000] for i in range(0, len(message), 100_000)])
    receive = NetworkReceive(len(payload), "0")
    read_all(receive, transport)
    assert text(receive) == payload


def test_used_buffers_are_used_again_once_nobody_looks_at_them() -> None:
    payload = bytes(300_000)

    def receive_one() -> memoryview:
        receive = NetworkReceive(-1, "0")
        message = frame(payload)
        read_all(receive, FakeTransport([message[:1000], message[1000:]]))
        view = receive.payload()
        assert view is not None
        return view

    first = receive_one()
    buffer = first.obj
    reader = first[10:20]
    MemoryPool.NONE.release(first)
    second = receive_one()
    assert second.obj is not buffer, "a slice of it is still being read"
    del first, reader
    MemoryPool.NONE.release(second)
    del second
    assert receive_one().obj is not None


def test_pool_without_memory_leaves_the_rest_where_it_is() -> None:
    pool = SimpleMemoryPool(100, 100, True)
    taken = pool.try_allocate(60)
    assert taken is not None
    transport = FakeTransport([frame(b"x" * 50)])
    receive = NetworkReceive(100, "0", pool)
    assert receive.read_from(transport) == 4
    assert (receive.required_memory_amount_known(), receive.memory_allocated(), receive.complete()) == (
        True,
        False,
        False,
    )
    assert receive.read_from(transport) == 0
    pool.give_back(60, taken)
    assert receive.read_from(transport) == 50
    assert text(receive) == b"x" * 50
    assert pool.available_memory() == 50
    receive.close()
    assert pool.available_memory() == 100
