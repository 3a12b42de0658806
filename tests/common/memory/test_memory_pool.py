"""Pools with and without a bound, and the shelf of used buffers."""

from __future__ import annotations

import threading

import pytest

from kafka_py.common.memory.buffer_recycler import BufferRecycler, grow
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.metrics.stats.total import Total
from kafka_py.testing.mock_time import MockTime


def test_no_bound() -> None:
    pool = MemoryPool.NONE
    buffer = pool.try_allocate(100)
    assert buffer is not None
    assert len(buffer) == 100
    pool.release(memoryview(buffer))
    pool.give_back(100, buffer)
    assert (pool.size(), pool.available_memory(), pool.is_out_of_memory(), str(pool)) == (
        2**63 - 1,
        2**63 - 1,
        False,
        "NONE",
    )


def test_a_pool_that_is_not_strict_may_be_overdrawn_once() -> None:
    pool = SimpleMemoryPool(100, 80, False)
    first = pool.try_allocate(80)
    second = pool.try_allocate(80)
    assert first is not None
    assert second is not None
    assert (pool.available_memory(), pool.is_out_of_memory(), pool.try_allocate(1)) == (-60, True, None)
    pool.release(memoryview(first))
    assert (pool.available_memory(), pool.is_out_of_memory()) == (20, False)
    assert str(pool) == "SimpleMemoryPool{80/100 used}"


def test_a_strict_pool_gives_only_what_it_has() -> None:
    pool = SimpleMemoryPool(100, 80, True)
    assert pool.try_allocate(80) is not None
    assert pool.try_allocate(21) is None
    assert pool.try_allocate(20) is not None


@pytest.mark.parametrize("size", [0, -1, 81])
def test_sizes_outside_the_bounds(size: int) -> None:
    with pytest.raises(ValueError, match="requested size"):
        SimpleMemoryPool(100, 80, False).try_allocate(size)


@pytest.mark.parametrize(("size", "single"), [(0, 0), (10, 0), (10, 11), (-1, -1)])
def test_bad_bounds(size: int, single: int) -> None:
    with pytest.raises(ValueError, match="must provide a positive size"):
        SimpleMemoryPool(size, single, False)


def test_time_without_memory_is_recorded() -> None:
    time = MockTime()
    metrics = Metrics(time=time)
    sensor = metrics.sensor("depleted")
    name = metrics.metric_name("total", "test")
    sensor.add(name, Total())
    pool = SimpleMemoryPool(10, 10, True, sensor, time)
    buffer = pool.try_allocate(10)
    assert pool.try_allocate(10) is None
    time.sleep(30)
    assert pool.try_allocate(10) is None
    time.sleep(20)
    pool.give_back(10, buffer)
    metric = metrics.metric(name)
    assert metric is not None
    assert metric.value() == 50
    metrics.close()


def test_the_shelf_is_bounded_and_keeps_the_newest() -> None:
    shelf = BufferRecycler(max_bytes=300_000)
    buffers = [bytearray(100_000) for _ in range(4)]
    for buffer in buffers:
        shelf.offer(buffer)
    assert shelf.held_bytes == 300_000
    assert shelf.take(100_000) is buffers[3]
    shelf.offer(bytearray(1000))
    assert shelf.held_bytes == 200_000
    assert shelf.take(200_000) is None
    view = memoryview(buffers[2])
    assert shelf.take(1) is buffers[1]
    assert shelf.take(1) is None
    view.release()
    assert shelf.take(1) is buffers[2]
    assert shelf.take(1) is None


def test_grow() -> None:
    buffer = bytearray(b"abc")
    grow(buffer, 3_000_000)
    assert (len(buffer), bytes(buffer[:4])) == (3_000_000, b"abc\0")
    with memoryview(buffer), pytest.raises(BufferError):
        grow(buffer, 3_000_001)


def test_the_count_of_the_shelf_is_right_when_another_thread_comes_in_between() -> None:
    shelf = BufferRecycler(max_bytes=200_000)
    others: list[threading.Thread] = []

    class Interrupted(bytearray):
        """Another thread has its turn while this one's length is asked for."""

        meanwhile: bytearray | None = None

        def __len__(self) -> int:
            buffer, self.meanwhile = self.meanwhile, None
            if buffer is not None:
                others.append(threading.Thread(target=shelf.offer, args=(buffer,)))
                others[-1].start()
                others[-1].join(0.05)  # as far as it gets: the shelf may be locked
            return super().__len__()

    first = Interrupted(100_000)
    shelf.offer(first)
    shelf.offer(bytearray(100_000))
    first.meanwhile = bytearray(70_000)
    shelf.offer(bytearray(100_000))  # for which the first has to go
    for other in others:
        other.join()
    assert others
    while shelf.take(1) is not None:
        continue
    assert shelf.held_bytes == 0
