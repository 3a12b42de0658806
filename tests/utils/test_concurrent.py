"""java.util.concurrent's classes keep their promises."""

from __future__ import annotations

import threading
import timeit
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest

from kafka_py.utils import concurrent_locks
from kafka_py.utils.concurrent import (
    ArrayBlockingQueue,
    AtomicBoolean,
    AtomicInteger,
    AtomicReference,
    CancellationException,
    CompletableFuture,
    ConcurrentHashMap,
    ConcurrentLinkedQueue,
    CopyOnWriteArrayList,
    CountDownLatch,
    DelayQueue,
    ExecutionException,
    Gate,
    InterruptedException,
    LinkedBlockingDeque,
    LinkedBlockingQueue,
    ReentrantLock,
    ReentrantReadWriteLock,
    RejectedExecutionException,
    ScheduledThreadPoolExecutor,
    Semaphore,
    ThreadPoolExecutor,
    install_tap,
    interrupt,
    is_interrupted,
    remove_tap,
)
from kafka_py.utils.free_threading import FREE_THREADED

Run = Callable[[Callable[[], object]], threading.Thread]


@pytest.fixture
def run() -> Iterator[Run]:
    """Starts threads and joins them at the end."""
    threads: list[threading.Thread] = []

    def start(target: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=target, daemon=True)
        threads.append(thread)
        thread.start()
        return thread

    yield start
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def in_turn(*calls: Callable[[], object]) -> Callable[[], None]:
    """A function that calls these one after the other."""

    def call_all() -> None:
        for call in calls:
            call()

    return call_all


def await_true(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.001)
    raise AssertionError("condition did not come true")


class TestArrayBlockingQueue:
    def test_is_first_in_first_out_and_bounded(self) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(2)
        assert queue.offer(1)
        assert queue.offer(2)
        assert not queue.offer(3)
        assert not queue.offer(3, timeout_ms=1)
        assert (queue.size(), len(queue), queue.remaining_capacity()) == (2, 2, 0)
        assert [queue.poll(), queue.take(), queue.poll(), queue.poll(1)] == [1, 2, None, None]
        assert queue.is_empty()
        with pytest.raises(ValueError, match="capacity"):
            ArrayBlockingQueue(0)

    def test_add_raises_when_full(self) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(1)
        queue.add(1)
        with pytest.raises(RuntimeError, match="Queue full"):
            queue.add(2)

    def test_put_waits_for_a_place(self, run: Run) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(1)
        queue.put(1)
        done = CountDownLatch(1)
        run(in_turn(lambda: queue.put(2), done.count_down))
        assert not done.await_(10)
        assert queue.poll() == 1
        assert done.await_(2000)
        assert queue.take() == 2

    def test_poll_waits_for_an_item(self, run: Run) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(1)
        got: list[int | None] = []
        thread = run(lambda: got.append(queue.poll(5000)))
        queue.put(7)
        thread.join(5)
        assert got == [7]

    def test_put_all_drain_and_clear(self) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(5)
        queue.put_all(range(5))
        drained: list[int] = []
        assert queue.drain_to(drained, 2) == 2
        assert drained == [0, 1]
        queue.clear()
        assert queue.is_empty()
        assert queue.remaining_capacity() == 5

    def test_eight_producers_and_eight_consumers_lose_nothing_and_keep_the_bound(self, run: Run) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(3)
        taken: ConcurrentLinkedQueue[int] = ConcurrentLinkedQueue()
        largest = [0]

        def produce(base: int) -> None:
            for i in range(50):
                queue.put(base + i)
                largest[0] = max(largest[0], queue.size())

        producers = [run(lambda base=base: produce(base)) for base in range(0, 800, 100)]  # type: ignore[misc]
        consumers = [run(lambda: [taken.add(queue.take()) for _ in range(50)]) for _ in range(8)]
        for thread in producers + consumers:
            thread.join(5)
        assert sorted(taken) == sorted(base + i for base in range(0, 800, 100) for i in range(50))
        assert largest[0] <= 3
        assert queue.remaining_capacity() == 3

    def test_interrupted_put_and_take_leave(self, run: Run) -> None:
        full: ArrayBlockingQueue[int] = ArrayBlockingQueue(1)
        full.put(1)
        empty: LinkedBlockingQueue[int] = LinkedBlockingQueue()
        left = CountDownLatch(2)

        def wait(block: Callable[[], object]) -> None:
            with pytest.raises(InterruptedException):
                block()
            left.count_down()

        for block in (lambda: full.put(2), empty.take):
            interrupt(run(lambda block=block: wait(block)))  # type: ignore[misc]
        assert left.await_(2000)
        assert full.size() == 1

    @pytest.mark.skipif(FREE_THREADED, reason="the ratio is that of an interpreter that specialises; 3.13t does not")
    def test_an_uncontended_pair_costs_little_more_than_simple_queue(self) -> None:
        queue: ArrayBlockingQueue[int] = ArrayBlockingQueue(500)
        plain: SimpleQueue[int] = SimpleQueue()
        ours = min(timeit.repeat(in_turn(lambda: queue.put(1), queue.poll), number=2000, repeat=5))
        theirs = min(timeit.repeat(in_turn(lambda: plain.put(1), plain.get), number=2000, repeat=5))
        assert ours < 6 * theirs


class TestLinkedQueues:
    def test_blocking_queue(self) -> None:
        queue: LinkedBlockingQueue[int] = LinkedBlockingQueue()
        queue.put(1)
        queue.put_all([2, 3])
        assert queue.offer(4)
        assert queue.add(5)
        assert queue.size() == 5
        assert queue.remaining_capacity() == 2**31 - 1 - 5
        assert (queue.take(), queue.poll(), queue.poll(1)) == (1, 2, 3)
        drained: list[int] = []
        assert queue.drain_to(drained) == 2
        assert queue.is_empty()
        assert queue.poll() is None
        assert queue.poll(1) is None

    def test_deque_has_two_ends(self) -> None:
        deque: LinkedBlockingDeque[int] = LinkedBlockingDeque()
        deque.put_last(2)
        deque.put_first(1)
        deque.put_all([3, 4])
        assert list(deque) == [1, 2, 3, 4]
        assert deque.peek_first() == 1
        assert (deque.poll_last(), deque.take_first(), deque.take_last()) == (4, 1, 3)
        assert deque.remove(2)
        assert not deque.remove(2)
        assert (deque.poll(), deque.poll_last(1), deque.peek()) == (None, None, None)
        deque.add_first(1)
        deque.add(2)
        drained: list[int] = []
        assert deque.drain_to(drained, 1) == 1
        deque.clear()
        assert deque.is_empty()
        assert drained == [1]

    def test_deque_wakes_who_waits(self, run: Run) -> None:
        deque: LinkedBlockingDeque[int] = LinkedBlockingDeque()
        got: list[int | None] = []
        threads = [run(lambda: got.append(deque.poll(5000))) for _ in range(3)]
        deque.put_all([1, 2])
        deque.put(3)
        for thread in threads:
            thread.join(5)
        assert sorted(filter(None, got)) == [1, 2, 3]

    def test_linked_queue(self) -> None:
        queue = ConcurrentLinkedQueue(["a", "b", "c"])
        assert queue.peek() == "a"
        assert queue.remove("b")
        assert not queue.remove("b")
        assert "c" in queue
        assert (queue.poll(), queue.poll(), queue.poll(), queue.peek()) == ("a", "c", None, None)
        assert queue.is_empty()


class Due:
    """Due at a time of a clock the test moves."""

    now = 0

    def __init__(self, at: int) -> None:
        self.at = at

    def get_delay(self) -> int:
        return self.at - Due.now

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Due) and self.at < other.at


class TestDelayQueue:
    def test_gives_items_when_due_soonest_first(self) -> None:
        Due.now = 0
        queue: DelayQueue[Due] = DelayQueue()
        late, soon, gone = Due(20), Due(10), Due(5)
        for item in (late, soon, gone):
            queue.offer(item)
        assert queue.remove(gone)
        assert not queue.remove(gone)
        assert queue.poll() is None
        assert queue.peek() is soon
        Due.now = 10
        assert queue.poll() is soon
        assert queue.poll(1) is None
        Due.now = 30
        assert queue.take() is late
        assert queue.is_empty()

    def test_an_earlier_item_wakes_who_waits_for_a_later_one(self, run: Run) -> None:
        Due.now = 0
        queue: DelayQueue[Due] = DelayQueue()
        queue.put(Due(100_000))
        got: list[Due | None] = []
        thread = run(lambda: got.append(queue.poll(5000)))
        ripe = Due(-1)
        queue.put(ripe)
        thread.join(5)
        assert got == [ripe]


class TestLocks:
    def test_lock_knows_its_holder(self, run: Run) -> None:
        lock = ReentrantLock()
        assert not lock.is_held_by_current_thread()
        with lock:
            lock.lock()
            assert lock.is_held_by_current_thread()
            seen: list[bool] = []
            run(lambda: seen.extend([lock.is_held_by_current_thread(), lock.try_lock()])).join()
            assert seen == [False, False]
            lock.unlock()
        assert lock.try_lock(1)
        lock.unlock()
        with pytest.raises(RuntimeError):
            lock.unlock()

    def test_condition_wakes_and_times_out(self, run: Run) -> None:
        lock = ReentrantLock()
        changed = lock.new_condition()
        ready: list[int] = []
        with lock:
            assert not changed.await_(1)
            assert not changed.await_(101)
            run(in_turn(lock.lock, lambda: ready.append(1), changed.signal_all, lock.unlock))
            while not ready:
                assert changed.await_(5000)
        assert ready == [1]

    @pytest.mark.parametrize("forever", [False, True])
    def test_a_signal_at_the_end_of_a_wait_is_not_lost(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, forever: bool
    ) -> None:
        monkeypatch.setattr("kafka_py.utils.concurrent_locks.INTERRUPT_SLICE_S", 0.005)
        late, signalled = threading.Event(), threading.Event()

        class LateLock(ReentrantLock):  # type: ignore[misc]  # as ReentrantLock itself
            """Lets the signal come between the end of a wait's time and the waiter's return."""

            def _acquire_restore(self, state: object) -> None:
                late.set()
                assert signalled.wait(5)
                super()._acquire_restore(state)  # type: ignore[misc]  # threading.Condition uses it as well

        lock = LateLock()
        changed = lock.new_condition()
        began: list[int] = []
        answers: list[bool] = []

        def wait() -> None:
            with lock:
                began.append(1)
                answers.append(changed.await_(None if forever else 20))

        thread = run(wait)
        await_true(lambda: bool(began))
        assert late.wait(0.02 if forever else 5) or forever
        with lock:  # so it waits by now, or has stopped waiting
            changed.signal()
        signalled.set()
        thread.join(2)
        assert answers == [True]

    def test_an_interrupted_waiter_passes_its_signal_on(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kafka_py.utils.concurrent_locks.INTERRUPT_SLICE_S", 0.005)
        late, signalled = threading.Event(), threading.Event()

        class LateLock(ReentrantLock):  # type: ignore[misc]  # as ReentrantLock itself
            """Holds the interrupted one back until it is signalled as well."""

            def _acquire_restore(self, state: object) -> None:
                if threading.current_thread() is first:
                    late.set()
                    assert signalled.wait(5)
                super()._acquire_restore(state)  # type: ignore[misc]  # as above

        lock = LateLock()
        changed = lock.new_condition()
        began: list[int] = []
        answers: list[object] = []

        def wait() -> None:
            with lock:
                began.append(1)
                try:
                    answers.append(changed.await_(5000))
                except InterruptedException:
                    answers.append("interrupted")

        first = run(wait)
        await_true(lambda: len(began) == 1)
        run(wait)
        await_true(lambda: len(began) == 2)
        interrupt(first)
        assert late.wait(5)
        with lock:  # so the second waits by now
            changed.signal()
        signalled.set()
        await_true(lambda: len(answers) == 2)
        assert set(answers) == {"interrupted", True}

    def test_a_condition_is_for_holders_of_its_lock(self) -> None:
        changed = ReentrantLock().new_condition()
        for call in (changed.signal, changed.signal_all, lambda: changed.await_(1)):
            with pytest.raises(RuntimeError):
                call()

    @pytest.mark.slow
    def test_a_thread_is_not_interrupted_for_one_that_had_its_id_before(self) -> None:
        """A thread may end between the look of who interrupts it and the flag; its id is used again."""
        me = threading.current_thread()
        ended = threading.Thread(target=lambda: None)
        assert me.ident is not None
        concurrent_locks._interrupted[me.ident] = ended
        assert not is_interrupted()
        concurrent_locks.check_interrupted()
        assert me.ident not in concurrent_locks._interrupted
        interrupt(me)
        assert is_interrupted()
        with pytest.raises(InterruptedException):
            concurrent_locks.check_interrupted()
        assert not is_interrupted(me)

    def test_interrupt_ends_waits(self, run: Run) -> None:
        lock = ReentrantLock()
        left = CountDownLatch(2)

        def waits() -> None:
            for wait in (CountDownLatch(1).await_, CompletableFuture[int]().get):
                with pytest.raises(InterruptedException):
                    wait()
                left.count_down()

        with lock:
            thread = run(waits)
            for count in (1, 0):
                interrupt(thread)
                await_true(lambda count=count: left.get_count() <= count)  # type: ignore[misc]

    def test_readers_share_and_a_writer_is_alone(self, run: Run) -> None:
        lock = ReentrantReadWriteLock()
        log: list[str] = []
        with lock.read_lock(), lock.read_lock():
            other = run(in_turn(lock.read_lock().lock, lambda: log.append("reader"), lock.read_lock().unlock))
            other.join(5)
            writer = run(in_turn(lock.write_lock().lock, lambda: log.append("writer"), lock.write_lock().unlock))
            await_true(lambda: lock._waiting_writers == 1)
            late = run(in_turn(lock.read_lock().lock, lambda: log.append("late"), lock.read_lock().unlock))
            assert log == ["reader"]
            assert lock.get_read_hold_count() == 2
        writer.join(5)
        late.join(5)
        assert sorted(log) == ["late", "reader", "writer"]
        assert log[0] == "reader"
        assert lock.get_read_hold_count() == 0

    def test_a_writer_may_read_but_a_reader_may_not_write(self) -> None:
        lock = ReentrantReadWriteLock()
        with lock.write_lock(), lock.write_lock(), lock.read_lock():
            assert lock.write_lock().is_held_by_current_thread()
            assert lock.read_lock().is_held_by_current_thread()
        assert not lock.is_write_locked_by_current_thread()
        with lock.read_lock(), pytest.raises(RuntimeError, match="read lock"):
            lock.write_lock().lock()
        with pytest.raises(RuntimeError):
            lock.write_lock().unlock()
        with pytest.raises(RuntimeError):
            lock.read_lock().unlock()

    def test_latch(self, run: Run) -> None:
        latch = CountDownLatch(2)
        latch.count_down()
        assert latch.get_count() == 1
        assert not latch.await_(1)
        thread = run(latch.await_)
        latch.count_down()
        latch.count_down()
        thread.join(5)
        assert latch.await_()
        assert latch.get_count() == 0

    def test_semaphore(self, run: Run) -> None:
        semaphore = Semaphore(1)
        semaphore.acquire()
        thread = run(semaphore.acquire)
        semaphore.release()
        thread.join(5)
        assert not thread.is_alive()


class TestAtomics:
    def test_eight_threads_lose_no_increment(self, run: Run) -> None:
        number = AtomicInteger()
        for thread in [run(lambda: [number.increment_and_get() for _ in range(2000)]) for _ in range(8)]:
            thread.join(10)
        assert number.get() == 16_000

    def test_integer(self) -> None:
        number = AtomicInteger(5)
        assert number.get_and_increment() == 5
        assert number.get_and_add(2) == 6
        assert number.add_and_get(2) == 10
        assert number.decrement_and_get() == 9
        assert number.get_and_set(1) == 9
        assert not number.compare_and_set(2, 3)
        assert number.compare_and_set(1, 3)
        number.set(0)
        assert repr(number) == "0"

    def test_boolean_and_reference(self) -> None:
        flag = AtomicBoolean()
        assert flag.compare_and_set(False, True)
        assert not flag.compare_and_set(False, True)
        assert flag.get_and_set(False)
        one, other = [1], [1]
        reference = AtomicReference(one)
        assert not reference.compare_and_set(other, other)
        assert reference.compare_and_set(one, other)
        assert reference.get() is other


class TestCollections:
    def test_hash_map(self) -> None:
        table: ConcurrentHashMap[str, int] = ConcurrentHashMap()
        assert table.put("a", 1) is None
        assert table.put("a", 2) == 1
        assert table.put_if_absent("a", 3) == 2
        assert table.put_if_absent("b", 3) is None
        assert table.compute_if_absent("c", lambda key: 9) == 9
        assert table.compute_if_present("c", lambda key, old: old + 1) == 10
        assert table.compute_if_present("x", lambda key, old: old + 1) is None
        assert table.compute("c", lambda key, old: None) is None
        assert table.remove("b", 4) is None
        assert table.remove("b", 3) == 3
        assert table.replace("a", 2, 5)
        assert not table.replace("a", 2, 6)
        assert (table.keys(), table.values(), table.items(), table.size()) == (["a"], [5], [("a", 5)], 1)

    def test_hash_map_may_change_while_it_is_walked(self) -> None:
        table: ConcurrentHashMap[int, int] = ConcurrentHashMap({1: 1, 2: 2})
        for key in table:
            table[key + 10] = 0
        for key, value in table.items():
            assert table.pop(key) == value
        assert table.is_empty()

    def test_compute_if_absent_runs_once(self, run: Run) -> None:
        table: ConcurrentHashMap[str, int] = ConcurrentHashMap()
        calls = AtomicInteger()
        for thread in [
            run(lambda: table.compute_if_absent("k", lambda _: calls.increment_and_get())) for _ in range(8)
        ]:
            thread.join(5)
        assert calls.get() == 1

    def test_copy_on_write_list(self) -> None:
        items = CopyOnWriteArrayList([1, 2])
        for item in items:
            items.add(item + 10)
        assert list(items) == [1, 2, 11, 12]
        assert items.remove(1)
        assert not items.remove(1)
        assert 2 in items
        assert items[0] == 2
        items.clear()
        assert items.is_empty()


class TestFutures:
    def test_complete_and_callbacks(self) -> None:
        future: CompletableFuture[int] = CompletableFuture()
        seen: list[object] = []
        future.when_complete(lambda value, error: seen.append((value, error)))
        doubled = future.then_apply(lambda value: value * 2)
        assert not future.is_done()
        with pytest.raises(TimeoutError):
            future.get(1)
        assert future.complete(4)
        assert not future.complete(5)
        assert seen == [(4, None)]
        assert (future.join(), doubled.get()) == (4, 8)
        assert future.handle(lambda value, error: error is None).get()

    def test_failure_travels(self) -> None:
        future: CompletableFuture[int] = CompletableFuture()
        after = future.then_apply(lambda value: value + 1)
        error = OSError("broken")
        future.complete_exceptionally(error)
        assert future.exception_now() is error
        with pytest.raises(ExecutionException) as caught:
            after.get()
        assert caught.value.__cause__ is error
        one: CompletableFuture[int] = CompletableFuture()
        raising = one.then_apply(lambda value: value / 0)
        one.complete(1)
        assert isinstance(raising.exception_now(), ZeroDivisionError)

    def test_all_of(self) -> None:
        first: CompletableFuture[int] = CompletableFuture()
        second: CompletableFuture[int] = CompletableFuture()
        both = CompletableFuture.all_of([first, second])
        first.complete_exceptionally(OSError())
        assert not both.is_done()
        second.complete(1)
        assert isinstance(both.exception_now(), OSError)
        assert CompletableFuture.all_of([]).is_done()

    def test_cancel(self) -> None:
        future: CompletableFuture[int] = CompletableFuture()
        assert future.cancel()
        assert future.is_cancelled()
        with pytest.raises(CancellationException):
            future.get()


class TestExecutors:
    def test_fixed_pool_runs_tasks_on_its_threads(self) -> None:
        names: list[str] = []

        def factory(run: Callable[[], None]) -> threading.Thread:
            return threading.Thread(target=run, name=f"pool-{len(names)}", daemon=True)

        pool = ThreadPoolExecutor(2, factory)
        futures = pool.invoke_all([lambda: names.append(threading.current_thread().name)] * 3)
        assert all(future.is_done() for future in futures)
        failed = pool.submit(lambda: 1 // 0)
        with pytest.raises(ExecutionException):
            failed.get(5000)
        assert all(name.startswith("pool-") for name in names)
        assert pool.get_pool_size() == 2
        pool.shutdown()
        assert pool.await_termination(5000)
        assert pool.is_terminated()
        with pytest.raises(RejectedExecutionException):
            pool.submit(lambda: None)

    def test_shutdown_now_drops_what_waits(self) -> None:
        pool = ThreadPoolExecutor(1)
        entered, go = CountDownLatch(1), CountDownLatch(1)
        pool.submit(in_turn(entered.count_down, lambda: go.await_(5000)))
        assert entered.await_(5000)
        waiting = pool.submit(lambda: None)
        assert pool.shutdown_now() == [waiting]
        go.count_down()
        assert pool.await_termination(5000)

    def test_scheduled_pool(self) -> None:
        pool = ScheduledThreadPoolExecutor(1)
        order: list[str] = []
        done = CountDownLatch(3)
        pool.schedule(lambda: order.append("later"), 20)
        assert pool.schedule(lambda: "now", 0).get(5000) == "now"
        repeated = pool.schedule_at_fixed_rate(done.count_down, 0, 1)
        assert done.await_(5000)
        assert repeated.cancel()
        never = pool.schedule(lambda: order.append("never"), 100_000)
        assert never.get_delay() > 90_000
        assert pool.get_queue_size() >= 1
        pool.shutdown()
        assert pool.await_termination(5000)
        assert never.is_cancelled()
        assert "never" not in order
        with pytest.raises(RejectedExecutionException):
            pool.schedule(lambda: None, 0)

    def test_a_periodic_task_that_raises_stops(self) -> None:
        pool = ScheduledThreadPoolExecutor(1)
        future = pool.schedule_at_fixed_rate(lambda: 1 // 0, 0, 1)
        await_true(future.is_done)
        assert isinstance(future.exception_now(), ZeroDivisionError)
        pool.shutdown_now()
        assert pool.await_termination(5000)

    def test_cancelled_tasks_leave_nothing_behind(self) -> None:
        """Half of the heap at most, without the tasks; looking for each of many would take for ever."""
        pool = ScheduledThreadPoolExecutor(1)
        tasks = [threading.Event() for _ in range(100)]  # something that can be referred to weakly
        left = [weakref.ref(task) for task in tasks]
        futures = [pool.schedule_at_fixed_rate(task.set, 100_000 + n, 100_000) for n, task in enumerate(tasks)]
        del tasks
        for n, future in enumerate(futures[:90]):
            assert future.cancel()
            assert future.cancel(), "again changes nothing"
            assert pool.get_queue_size() == 99 - n
            assert len(pool._heap) <= 2 * pool.get_queue_size() + 1
        del future
        assert [ref() is None for ref in left] == [True] * 90 + [False] * 10
        soon = pool.schedule(lambda: "ran", 0)
        assert soon.get(5000) == "ran"
        assert len(pool.shutdown_now()) == 10
        assert pool.await_termination(5000)

    def test_a_thread_that_takes_a_task_leaves_the_next_one_to_another(self) -> None:
        pool = ScheduledThreadPoolExecutor(2)
        entered, go = CountDownLatch(1), CountDownLatch(1)
        pool.schedule(in_turn(entered.count_down, lambda: go.await_(5000)), 0)
        second = pool.schedule(lambda: "meanwhile", 1)
        assert entered.await_(5000)
        assert second.get(5000) == "meanwhile"
        go.count_down()
        pool.shutdown()
        assert pool.await_termination(5000)

    def test_pool_shrinks(self) -> None:
        pool = ThreadPoolExecutor(3)
        pool.invoke_all([lambda: None] * 3)
        pool.set_core_pool_size(1)
        await_true(lambda: pool.get_pool_size() == 1)
        pool.shutdown()
        assert pool.await_termination(5000)

    def test_a_task_that_gets_no_thread_is_refused(self) -> None:
        class NoThread(threading.Thread):
            """One more than the machine can bear."""

            def start(self) -> None:
                raise RuntimeError("can't start new thread")

        pool = ThreadPoolExecutor(1, lambda run: NoThread(target=run))
        scheduled = ScheduledThreadPoolExecutor(1, lambda run: NoThread(target=run))
        ran: list[int] = []
        with pytest.raises(RuntimeError, match="can't start"):
            pool.submit(lambda: ran.append(1))
        with pytest.raises(RuntimeError, match="can't start"):
            scheduled.schedule(lambda: ran.append(2), 0)
        assert (pool.get_pool_size(), scheduled.get_pool_size(), scheduled.get_queue_size()) == (0, 0, 0)
        assert pool.shutdown_now() == []
        scheduled.shutdown()
        assert pool.await_termination(1)
        assert scheduled.await_termination(1)


class RecordingTap:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, object]] = []

    def before(self, op: str, target: object, item: object) -> None:
        self.seen.append((f"before {op}", type(target).__name__, item))

    def after(self, op: str, target: object, item: object) -> None:
        self.seen.append((f"after {op}", type(target).__name__, item))


class TestTapAndGate:
    def test_tap_sees_every_hand_off_once(self) -> None:
        tap = RecordingTap()
        original = ArrayBlockingQueue.put
        install_tap(tap)
        try:
            queue: ArrayBlockingQueue[str] = ArrayBlockingQueue(5)
            queue.put("a")
            queue.add("b")
            queue.put_all(iter(["c"]))
            queue.poll()
            deque: LinkedBlockingDeque[str] = LinkedBlockingDeque()
            deque.offer("d")
            deque.take()
            CountDownLatch(0).await_()
        finally:
            remove_tap(tap)
        queue.put("unseen")
        assert ArrayBlockingQueue.put is original
        assert [entry for entry in tap.seen if entry[0].startswith("after")] == [
            ("after put", "ArrayBlockingQueue", "a"),
            ("after put", "ArrayBlockingQueue", "b"),
            ("after put_all", "ArrayBlockingQueue", ["c"]),
            ("after take", "ArrayBlockingQueue", "a"),
            ("after put", "LinkedBlockingDeque", "d"),
            ("after take", "LinkedBlockingDeque", "d"),
            ("after wait", "CountDownLatch", True),
        ]
        assert len(tap.seen) == 14

    def test_a_tap_of_some_ops_leaves_the_methods_of_others_alone(self) -> None:
        waits, all_ = RecordingTap(), RecordingTap()
        put, poll = ArrayBlockingQueue.put, ArrayBlockingQueue.poll
        queue: ArrayBlockingQueue[str] = ArrayBlockingQueue(5)
        install_tap(waits, {"take", "wait"})
        try:
            assert ArrayBlockingQueue.put is put
            assert ArrayBlockingQueue.poll is not poll
            install_tap(all_)
            queue.put("a")
            remove_tap(all_)
            assert ArrayBlockingQueue.put is put
            queue.put("b")
            queue.poll()
        finally:
            remove_tap(waits)
        assert ArrayBlockingQueue.poll is poll
        assert [entry[0] for entry in all_.seen] == ["before put", "after put"]
        assert [entry[0] for entry in waits.seen] == ["before put", "after put", "before take", "after take"]

    def test_gate_holds_threads_and_lets_them_pass_one_by_one(self, run: Run) -> None:
        queue: ArrayBlockingQueue[str] = ArrayBlockingQueue(5, name="requests")
        gate = Gate(lambda op, target, item: target is queue and op == "put")
        install_tap(gate)
        try:
            gate.close()
            run(lambda: queue.put("first"))
            assert gate.await_held(1)
            second = run(lambda: queue.put("second"))
            assert gate.await_held(2)
            assert queue.is_empty()
            assert {item for _, _, item in gate.held.values()} == {"first", "second"}
            gate.step()
            await_true(lambda: queue.size() == 1)
            assert len(gate.held) == 1
            gate.open()
            second.join(5)
            await_true(lambda: queue.size() == 2)
        finally:
            remove_tap(gate)

    def test_an_open_gate_costs_nothing_to_pass(self) -> None:
        gate = Gate()
        install_tap(gate)
        try:
            queue: LinkedBlockingQueue[int] = LinkedBlockingQueue()
            queue.put(1)
            assert queue.take() == 1
        finally:
            remove_tap(gate)
        assert gate.held == {}


def test_put_if_absent_puts_when_the_key_goes_meanwhile() -> None:
    class Leaving(ConcurrentHashMap[str, int]):
        """Another thread removes the key as soon as it has been found."""

        def __contains__(self, key: object) -> bool:
            found = super().__contains__(key)
            self.pop("key", None)
            return found

    leaving = Leaving(key=1)
    assert leaving.put_if_absent("key", 2) == 1 or leaving["key"] == 2
