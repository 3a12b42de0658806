"""Many threads at once: what holds without the GIL. Each test is bounded and asserts no times.

A wake-up that was lost shows as a wait that came back with nothing: waits here have half a minute, and need none.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.common.memory.buffer_recycler import SMALLEST_RECYCLED, BufferRecycler
from kafka_py.common.network import nio_selector
from kafka_py.common.network.nio_selector import NioSelector
from kafka_py.common.network.selector_metrics import ThreadSensor
from kafka_py.metrics.yammer import Counter, Histogram, Meter
from kafka_py.network.request_histogram import RequestHistogram, RequestTimes
from kafka_py.server import delayed_operation
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.utils import concurrent_locks, concurrent_queues, free_threading
from kafka_py.utils.concurrent import (
    ArrayBlockingQueue,
    AtomicInteger,
    CompletableFuture,
    ConcurrentHashMap,
    ConcurrentLinkedQueue,
    LinkedBlockingDeque,
    LinkedBlockingQueue,
    ReentrantLock,
    ReentrantReadWriteLock,
    ThreadPoolExecutor,
)
from kafka_py.utils.pool import Pool
from kafka_py.utils.timer.timer import SystemTimer
from kafka_py.utils.timer.timer_task import TimerTask

THREADS = 4
PATIENCE_MS = 30_000
# Without the GIL a race shows within some thousand rounds; with it these tests only have to be right.
ROUNDS = 10_000 if free_threading.FREE_THREADED else 2_000
TURNS = ROUNDS // 10  # where each round is a change of threads, which takes milliseconds on a busy machine


@pytest.fixture(params=["free-threaded", "with the GIL"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either form of what has two; that for the GIL only where there is one."""
    free = request.param == "free-threaded"
    if free_threading.FREE_THREADED and not free:
        pytest.skip("would not be right here")
    for module in (concurrent_queues, concurrent_locks, nio_selector, delayed_operation):
        monkeypatch.setattr(module, "FREE_THREADED", free)


def at_once(*jobs: Callable[[], object]) -> None:
    """Run the jobs on threads that start together; raises what the first that failed raised."""
    errors: list[BaseException] = []
    together = threading.Barrier(len(jobs))

    def run(job: Callable[[], object]) -> None:
        try:
            together.wait()
            job()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def times(n: int, fn: Callable[[], object]) -> Callable[[], None]:
    def job() -> None:
        for _ in range(n):
            fn()

    return job


def test_no_module_of_the_broker_brings_the_gil_back() -> None:
    """One extension module that does not say it can do without is enough for the interpreter to switch it on."""
    if not free_threading.FREE_THREADED:
        assert (free_threading.gil_enabled(), free_threading.describe()) == (True, "with the GIL")
        return
    program = (
        "import kafka_py.server.kafka_server_startable, kafka_py.kafka, crc32c, cramjam\n"
        "from kafka_py.utils import free_threading\n"
        "print(free_threading.describe())"
    )
    said = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (said.stdout, said.stderr) == ("free-threaded, without the GIL\n", "")


@pytest.mark.parametrize(
    "make", [lambda: ArrayBlockingQueue[int](2), LinkedBlockingDeque[int], LinkedBlockingQueue[int]]
)
@pytest.mark.usefixtures("form")
def test_no_wake_up_of_a_queue_is_lost(make: Callable[[], ArrayBlockingQueue[int]]) -> None:
    there, back = make(), make()

    def ask() -> None:
        for i in range(1, TURNS):
            there.put(i)
            assert back.poll(PATIENCE_MS) == i

    def answer() -> None:
        for i in range(1, TURNS):
            assert there.poll(PATIENCE_MS) == i
            back.put(i)

    at_once(ask, answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [lambda: ArrayBlockingQueue[int](8), LinkedBlockingDeque[int], LinkedBlockingQueue[int]]
)
@pytest.mark.usefixtures("form")
def test_each_item_comes_out_once(make: Callable[[], ArrayBlockingQueue[int]]) -> None:
    queue, seen = make(), [list[int]() for _ in range(THREADS)]

    def consume(mine: list[int]) -> None:
        while True:
            item = queue.poll(PATIENCE_MS)
            assert item is not None
            if item == 0:
                return
            mine.append(item)

    def produce(first: int) -> None:
        for i in range(first, THREADS * ROUNDS + 1, THREADS):
            queue.put(i)

    def all_of_them() -> None:
        at_once(*[lambda first=i: produce(first) for i in range(1, THREADS + 1)])
        queue.put_all([0] * THREADS)

    at_once(all_of_them, *[lambda mine=mine: consume(mine) for mine in seen])
    assert sorted(itertools.chain(*seen)) == list(range(1, THREADS * ROUNDS + 1))
    assert queue.size() == 0


@pytest.mark.usefixtures("form")
def test_no_wake_up_of_a_selector_is_lost() -> None:
    selector, work, done = NioSelector(), deque[int](), LinkedBlockingQueue[int]()

    def poll() -> None:
        for _ in range(TURNS):
            while not work:
                selector.select(PATIENCE_MS)
            done.put(work.popleft())

    def ask() -> None:
        for i in range(1, TURNS + 1):
            work.append(i)
            selector.wakeup()
            assert done.poll(PATIENCE_MS // 2) == i

    at_once(poll, ask)
    selector.close()


def test_counts_are_exact() -> None:
    counter, meter, atomic, histogram = Counter(), Meter(), AtomicInteger(), Histogram()
    table = RequestTimes()
    table.columns.append(RequestHistogram())

    def count() -> None:
        for i in range(ROUNDS):
            counter.inc(2)
            counter.dec()
            meter.mark()
            atomic.increment_and_get()
            histogram.update(i)
            table.record((i,))

    def read() -> None:
        for _ in range(100):
            assert counter.count + meter.count + histogram.count <= 3 * THREADS * ROUNDS
            table.flush()

    at_once(read, *[count] * THREADS)
    table.flush()
    total = THREADS * ROUNDS
    assert (counter.count, meter.count, atomic.get(), histogram.count) == (total,) * 4
    assert table.columns[0].count == total
    assert histogram.sum == table.columns[0].sum == THREADS * ROUNDS * (ROUNDS - 1) / 2
    counter.clear()
    counter.inc()
    assert counter.count == 1


def test_the_shelf_of_buffers_keeps_count_and_gives_each_to_one() -> None:
    shelf, taken = BufferRecycler(max_bytes=20 * SMALLEST_RECYCLED), ConcurrentHashMap[int, bool]()

    def use() -> None:
        for _ in range(ROUNDS // 4):
            buffer = shelf.take(SMALLEST_RECYCLED) or bytearray(SMALLEST_RECYCLED)
            assert taken.put_if_absent(id(buffer), True) is None
            taken.remove(id(buffer))
            shelf.offer(buffer)

    at_once(*[use] * THREADS)
    left = shelf.held_bytes
    while shelf.take(1) is not None:
        left -= SMALLEST_RECYCLED
    assert (left, shelf.held_bytes) == (0, 0)


class _Operation(DelayedOperation):
    """Can be completed from a number on."""

    def __init__(self, state: list[int], needed: int) -> None:
        super().__init__(delay_ms=PATIENCE_MS)
        self._state = state
        self._needed = needed
        self.done = threading.Event()

    def on_expiration(self) -> None:
        raise AssertionError("expired")

    def on_complete(self) -> None:
        self.done.set()

    def try_complete(self) -> bool:
        return self._state[0] >= self._needed and self.force_complete()


@pytest.mark.usefixtures("form")
def test_no_delayed_operation_is_forgotten() -> None:
    """Who changes something and then checks, and who watches and then looks: one of the two sees the other."""
    purgatory = DelayedOperationPurgatory[_Operation]("Race", reaper_enabled=False, timer_enabled=False)
    state, asked = [0], LinkedBlockingQueue[_Operation]()

    def watch() -> None:
        for i in range(1, TURNS + 1):
            operation = _Operation(state, i)
            asked.put(operation)
            purgatory.try_complete_else_watch(operation, ["key"])
            assert operation.done.wait(PATIENCE_MS / 1000)

    def change() -> None:
        for i in range(1, TURNS + 1):
            asked.take()
            state[0] = i
            if purgatory.watches("key"):
                purgatory.check_and_complete("key")

    at_once(watch, change)
    purgatory.advance_clock(0)
    assert (purgatory.watched, purgatory.delayed) == (0, 0)
    purgatory.shutdown()


@pytest.mark.usefixtures("form")
def test_a_try_that_meets_another_is_not_lost() -> None:
    """maybe_try_complete: who finds the lock taken leaves a mark, and the holder looks again."""
    for _ in range(TURNS // 10):
        state = [0]
        operation = _Operation(state, 2)

        def change(state: list[int] = state, operation: _Operation = operation, guard: ReentrantLock = _GUARD) -> None:
            with guard:
                state[0] += 1
            operation.maybe_try_complete()

        at_once(change, change)
        assert operation.is_completed


_GUARD = ReentrantLock()


class _Task(TimerTask):
    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms

    def run(self) -> None:
        return


def test_the_timer_counts_what_it_holds() -> None:
    timer = SystemTimer("Race")

    def add_and_cancel() -> None:
        for i in range(ROUNDS // 4):
            task = _Task(60_000 + i)
            timer.add(task)
            task.cancel()
            task.cancel()

    def turn() -> None:
        for _ in range(50):
            timer.advance_clock(0)

    at_once(turn, *[add_and_cancel] * THREADS)
    assert timer.size == 0
    timer.shutdown()


def test_the_concurrent_map_and_the_pool() -> None:
    counts, made = ConcurrentHashMap[int, int](), AtomicInteger()
    pool: Pool[int, int] = Pool(lambda key: made.increment_and_get())
    winners = AtomicInteger()

    def use() -> None:
        for i in range(ROUNDS // 2):
            counts.compute(i % 7, lambda _, n: (n or 0) + 1)
            if counts.put_if_absent(-i - 1, 1) is None:
                winners.increment_and_get()
            pool.get_and_maybe_put(i % 100)
            if i % 500 == 0:
                assert all(n is not None for n in counts.values())
                assert len(counts.keys()) <= 7 + ROUNDS // 2

    at_once(*[use] * THREADS)
    assert sum(counts[i] for i in range(7)) == THREADS * (ROUNDS // 2)
    assert (winners.get(), made.get()) == (ROUNDS // 2, 100)


class _Changing(deque[Any]):
    """Is changed by another thread the first time it is walked."""

    walks = 0

    def __iter__(self) -> Iterator[Any]:
        self.walks += 1
        if self.walks == 1:
            raise RuntimeError("deque mutated during iteration")
        return super().__iter__()


@pytest.mark.parametrize("queue", [ConcurrentLinkedQueue[int](), LinkedBlockingDeque[int]()])
def test_a_queue_that_changed_under_a_walk_is_walked_again(queue: ConcurrentLinkedQueue[int]) -> None:
    queue._items = _Changing([1, 2])
    assert list(queue) == [1, 2]


def test_a_thread_sensor_that_changed_under_a_read_is_read_again() -> None:
    sensor = ThreadSensor("race", 0, window_ms=1000, samples=2)
    sensor._samples = _Changing([[0, 3, 7.0, 5.0]], 2)
    assert sensor.avg(1) == 7 / 3


@pytest.mark.parametrize("make", [ConcurrentLinkedQueue[int], LinkedBlockingDeque[int]])
def test_a_queue_is_walked_while_it_changes(make: Callable[[], ConcurrentLinkedQueue[int]]) -> None:
    queue, over = make(), threading.Event()
    for i in range(50):
        queue.add(i)

    def change() -> None:
        while not over.wait(0.0001):  # who is changed without a pause cannot be walked
            for _ in range(20):
                queue.add(0)
                queue.poll()

    def walk() -> None:
        try:
            for _ in range(TURNS):
                assert 50 <= len(list(queue)) <= 51
        finally:
            over.set()

    at_once(change, walk)


def test_a_thread_sensor_is_read_while_it_changes() -> None:
    sensor, over, windows = ThreadSensor("race", 0, window_ms=1, samples=50), threading.Event(), itertools.count(1)

    def record() -> None:
        while not over.wait(0.0001):
            sensor.record(1.0, next(windows))

    def read() -> None:
        try:
            for _ in range(TURNS):
                assert sensor.rate(0) >= 0
        finally:
            over.set()

    at_once(record, read)
    assert sensor.count_total(0) == next(windows) - 1


def test_a_future_completes_once_and_calls_back_once() -> None:
    for _ in range(TURNS // 10):
        future, calls, wins = CompletableFuture[int](), AtomicInteger(), AtomicInteger()

        def complete(future: CompletableFuture[int] = future, wins: AtomicInteger = wins) -> None:
            wins.add_and_get(future.complete(1))

        at_once(complete, complete, lambda f=future, c=calls: f.when_complete(lambda *_: c.increment_and_get()))  # type: ignore[misc]
        assert (wins.get(), calls.get(), future.get(0)) == (1, 1, 1)


def test_writers_are_alone_and_readers_see_both_halves() -> None:
    lock, pair = ReentrantReadWriteLock(), [0, 0]

    def write() -> None:
        for _ in range(TURNS):
            with lock.write_lock():
                pair[0] += 1
                pair[1] += 1

    def read() -> None:
        for _ in range(TURNS):
            with lock.read_lock():
                assert pair[0] == pair[1]

    at_once(write, write, read, read)
    assert pair == [2 * (TURNS)] * 2


def test_no_signal_of_a_condition_is_lost() -> None:
    lock = ReentrantLock()
    turn, changed = [0], lock.new_condition()

    def play(me: int) -> None:
        for _ in range(TURNS):
            with lock:
                while turn[0] != me:
                    assert changed.await_(PATIENCE_MS)
                turn[0] = 1 - me
                changed.signal()

    at_once(lambda: play(0), lambda: play(1))


def test_a_pool_runs_each_task_once() -> None:
    pool, ran = ThreadPoolExecutor(THREADS), AtomicInteger()
    at_once(*[times(ROUNDS // 20, lambda: pool.submit(ran.increment_and_get))] * THREADS)
    pool.shutdown()
    assert pool.await_termination(PATIENCE_MS)
    assert ran.get() == THREADS * (ROUNDS // 20)
