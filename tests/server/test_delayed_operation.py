"""The purgatory completes each operation once, when it can be or when its time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.server.delayed_operation_key import GroupKey, MemberKey, TopicKey, TopicPartitionOperationKey
from kafka_py.testing.mock_time import MockTime
from kafka_py.testing.mock_timer import MockTimer
from kafka_py.utils.concurrent import AtomicInteger, CountDownLatch, ReentrantLock, ThreadPoolExecutor
from kafka_py.utils.timer.timer import SystemTimer
from kafka_py.utils.timer.timer_task import TimerTask


class MockDelayedOperation(DelayedOperation):
    def __init__(
        self, delay_ms: int, lock: ReentrantLock | None = None, response_lock: ReentrantLock | None = None
    ) -> None:
        super().__init__(delay_ms, lock)
        self.response_lock = response_lock
        self.completable = False
        self.completions = AtomicInteger()
        self.expired = CountDownLatch(1)

    def try_complete(self) -> bool:
        return self.completable and self.force_complete()

    def on_expiration(self) -> None:
        self.expired.count_down()

    def on_complete(self) -> None:
        if self.response_lock is not None:
            if not self.response_lock.try_lock():
                raise IllegalStateException("Response callback lock could not be acquired in callback")
            self.response_lock.unlock()
        self.completions.increment_and_get()


Purgatory = DelayedOperationPurgatory[MockDelayedOperation]


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def purgatory(mock_time: MockTime) -> Iterator[Purgatory]:
    purgatory = Purgatory("mock", SystemTimer("mock", time=mock_time), reaper_enabled=False)
    yield purgatory
    purgatory.shutdown()


@pytest.fixture
def other_thread() -> Iterator[Callable[[Callable[[], object]], object]]:
    executor = ThreadPoolExecutor(1)
    yield lambda fun: executor.submit(fun).get(5000)
    executor.shutdown()
    assert executor.await_termination(5000)


@pytest.mark.ported("DelayedOperationTest.testRequestSatisfaction")
def test_request_satisfaction(purgatory: Purgatory) -> None:
    first, second = MockDelayedOperation(100_000), MockDelayedOperation(100_000)
    assert purgatory.check_and_complete("test1") == 0
    assert not purgatory.try_complete_else_watch(first, ["test1"])
    assert purgatory.check_and_complete("test1") == 0
    assert not purgatory.try_complete_else_watch(second, ["test2"])
    assert purgatory.check_and_complete("test2") == 0
    first.completable = True
    assert purgatory.check_and_complete("test1") == 1
    assert purgatory.check_and_complete("test1") == 0
    second.completable = True
    assert purgatory.check_and_complete("test2") == 1
    assert purgatory.check_and_complete("test2") == 0
    assert (first.completions.get(), second.completions.get()) == (1, 1)


@pytest.mark.ported("DelayedOperationTest.testRequestExpiry", changes="MockTime")
def test_request_expiry(purgatory: Purgatory, mock_time: MockTime) -> None:
    first, second = MockDelayedOperation(20), MockDelayedOperation(200_000)
    purgatory.try_complete_else_watch(first, ["test1"])
    purgatory.try_complete_else_watch(second, ["test2"])
    mock_time.sleep(19)
    purgatory.advance_clock(0)
    assert first.completions.get() == 0
    mock_time.sleep(1)
    purgatory.advance_clock(0)
    assert first.expired.await_(3000)
    assert first.is_completed
    assert not second.is_completed


@pytest.mark.ported("DelayedOperationTest.testRequestExpiry")
def test_the_reaper_expires() -> None:
    purgatory = Purgatory("reaped", broker_id=7)
    operation = MockDelayedOperation(5)
    purgatory.try_complete_else_watch(operation, ["key"])
    assert operation.expired.await_(5000)
    assert purgatory._expiration_reaper.name == "ExpirationReaper-7-reaped"
    purgatory.shutdown()


@pytest.mark.ported("DelayedOperationTest.testRequestPurge")
def test_request_purge(purgatory: Purgatory) -> None:
    first, second, third = (MockDelayedOperation(100_000) for _ in range(3))
    purgatory.try_complete_else_watch(first, ["test1"])
    purgatory.try_complete_else_watch(second, ["test1", "test2"])
    purgatory.try_complete_else_watch(third, ["test1", "test2", "test3"])
    assert (purgatory.delayed, purgatory.watched) == (3, 6)
    for operation, left in ((second, 2), (third, 1)):
        operation.completable = True
        operation.try_complete()
        assert purgatory.delayed == left, "a completed operation leaves the timer at once"
    for key, left in (("test1", 4), ("test2", 2), ("test3", 1)):
        purgatory.check_and_complete(key)
        assert purgatory.watched == left, "and a list when it is looked at"


def test_advance_clock_purges_when_many_completed_operations_are_watched(mock_time: MockTime) -> None:
    purgatory = Purgatory("purged", SystemTimer("purged", time=mock_time), purge_interval=3, reaper_enabled=False)
    operations = [MockDelayedOperation(100_000) for _ in range(4)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, ["a", "b"])
    for operation in operations[:3]:
        operation.force_complete()
    purgatory.advance_clock(0)
    assert purgatory.watched == 8, "three are not more than the interval"
    operations[3].force_complete()
    purgatory.advance_clock(0)
    assert purgatory.watched == 0
    purgatory.shutdown()


@pytest.mark.ported("DelayedOperationTest.shouldCancelForKeyReturningCancelledOperations")
def test_cancel_for_key(purgatory: Purgatory) -> None:
    for key in ("key", "key", "key2"):
        purgatory.try_complete_else_watch(MockDelayedOperation(10_000), [key])
    cancelled = purgatory.cancel_for_key("key")
    assert [operation.is_completed for operation in cancelled] == [False, False]
    assert (purgatory.delayed, purgatory.watched) == (1, 1)


@pytest.mark.ported("DelayedOperationTest.shouldReturnNilOperationsOnCancelForKeyWhenKeyDoesntExist")
def test_cancel_for_an_unknown_key(purgatory: Purgatory) -> None:
    assert purgatory.cancel_for_key("key") == []


@pytest.mark.ported("DelayedOperationTest.testTryCompleteLockContention", changes="latches in place of a semaphore")
def test_a_check_that_finds_the_lock_taken_is_made_up_for(purgatory: Purgatory) -> None:
    entered, go = CountDownLatch(1), CountDownLatch(1)

    class Slow(MockDelayedOperation):
        tries = 0

        def try_complete(self) -> bool:
            self.tries += 1
            seen = self.completable
            if self.tries == 3:  # the other thread's first try: what it saw grows old while it waits
                entered.count_down()
                go.await_(5000)
            return seen and self.force_complete()

    operation = Slow(100_000)
    purgatory.try_complete_else_watch(operation, ["key"])
    executor = ThreadPoolExecutor(1)
    future = executor.submit(lambda: purgatory.check_and_complete("key"))
    assert entered.await_(5000)
    operation.completable = True
    assert purgatory.check_and_complete("key") == 0, "neither waits for the lock nor completes"
    assert operation.completions.get() == 0
    go.count_down()
    assert future.get(5000) == 1
    assert operation.is_completed
    executor.shutdown()
    assert executor.await_termination(5000)


@pytest.mark.ported("DelayedOperationTest.testTryCompleteWithMultipleThreads", changes="no random delays")
def test_many_threads_miss_no_completion(purgatory: Purgatory) -> None:
    executor = ThreadPoolExecutor(8)
    operations = [MockDelayedOperation(10_000) for _ in range(20)]
    remaining = [AtomicInteger(10) for _ in operations]
    for i, operation in enumerate(operations):
        purgatory.try_complete_else_watch(operation, [f"key{i}"])

    def attempt(i: int) -> None:
        if remaining[i].decrement_and_get() == 0:
            operations[i].completable = True
        purgatory.check_and_complete(f"key{i}")

    executor.invoke_all([lambda i=i: attempt(i) for _ in range(10) for i in range(20)])  # type: ignore[misc]
    assert all(operation.is_completed for operation in operations)
    assert {operation.completions.get() for operation in operations} == {1}
    assert purgatory.watched == 0
    executor.shutdown()
    assert executor.await_termination(5000)


@pytest.mark.ported("DelayedOperationTest.testDelayedOperationLock")
def test_operations_locked_by_another_thread_are_skipped(
    purgatory: Purgatory, other_thread: Callable[[Callable[[], object]], object]
) -> None:
    first, second = MockDelayedOperation(100_000), MockDelayedOperation(100_000)
    for operation in (first, second):
        purgatory.try_complete_else_watch(operation, ["key"])
        operation.completable = True
    other_thread(first.lock.lock)
    assert purgatory.check_and_complete("key") == 1
    assert (first.is_completed, second.is_completed) == (False, True)
    other_thread(first.lock.unlock)
    with first.lock:  # a lock of our own is no obstacle
        assert purgatory.check_and_complete("key") == 1
    assert first.is_completed


@pytest.mark.ported("DelayedOperationTest.testDelayedOperationLockOverride")
def test_lock_of_the_response_as_lock_of_the_operation(
    purgatory: Purgatory, other_thread: Callable[[Callable[[], object]], object]
) -> None:
    lock = ReentrantLock()
    matched = MockDelayedOperation(100_000, lock, lock)
    purgatory.try_complete_else_watch(matched, ["key"])
    matched.completable = True
    other_thread(lock.lock)
    assert purgatory.check_and_complete("key") == 0
    other_thread(lock.unlock)
    with lock:  # the timer's thread looks again by itself; either it was first or it waits for us
        purgatory.check_and_complete("key")
        assert matched.is_completed

    mismatched = MockDelayedOperation(100_000, None, lock)
    purgatory.try_complete_else_watch(mismatched, ["key"])
    mismatched.completable = True
    other_thread(lock.lock)
    with pytest.raises(IllegalStateException):
        purgatory.check_and_complete("key")
    other_thread(lock.unlock)


class RememberingTimer(MockTimer):
    def __init__(self, time: MockTime) -> None:
        super().__init__(time)
        self.added: list[TimerTask] = []

    def add(self, timer_task: TimerTask) -> None:
        self.added.append(timer_task)


def test_who_finds_a_foreign_lock_taken_has_the_timer_look_again(
    mock_time: MockTime, other_thread: Callable[[Callable[[], object]], object]
) -> None:
    """Its holder may be at anything, and would not look again when it lets go (KAFKA-8334)."""
    timer = RememberingTimer(mock_time)
    purgatory = Purgatory("mock", timer, reaper_enabled=False)
    group_lock = ReentrantLock()
    operation = MockDelayedOperation(100_000, group_lock)
    purgatory.try_complete_else_watch(operation, ["key"])
    timer.added.clear()
    operation.completable = True
    other_thread(group_lock.lock)
    assert purgatory.check_and_complete("key") == 0
    other_thread(group_lock.unlock)
    assert not operation.is_completed
    (look,) = timer.added
    assert look.delay_ms == 0
    look.run()
    assert operation.completions.get() == 1
    assert not operation.is_missed


def test_a_completable_operation_is_not_watched(purgatory: Purgatory) -> None:
    operation = MockDelayedOperation(100_000)
    operation.completable = True
    assert purgatory.try_complete_else_watch(operation, ["key"])
    assert (purgatory.watched, purgatory.delayed) == (0, 0)
    with pytest.raises(AssertionError):
        purgatory.try_complete_else_watch(MockDelayedOperation(1), [])


def test_an_operation_that_becomes_completable_while_it_is_being_watched_completes(purgatory: Purgatory) -> None:
    class SecondTry(MockDelayedOperation):
        tries = 0

        def try_complete(self) -> bool:
            self.tries += 1
            return self.tries == 2 and self.force_complete()

    operation = SecondTry(100_000)
    assert purgatory.try_complete_else_watch(operation, ["key"])
    assert purgatory.delayed == 0


def test_only_one_completes(purgatory: Purgatory) -> None:
    operation = MockDelayedOperation(1)
    assert operation.force_complete()
    assert not operation.force_complete()
    operation.run()
    assert operation.expired.get_count() == 1, "the timer came too late"


def test_gauges_and_repr(purgatory: Purgatory) -> None:
    purgatory.try_complete_else_watch(MockDelayedOperation(100_000), ["a", "b"])
    gauges = {
        name.name: metric.attributes()["Value"]()
        for name, metric in Metrics.default_registry()
        if name.scope == "delayedOperation.mock"
    }
    assert gauges == {"PurgatorySize": 2, "NumDelayedOperations": 1}
    assert repr(purgatory) == "<DelayedOperationPurgatory mock watched=2 delayed=1>"


def test_keys() -> None:
    assert TopicPartitionOperationKey("t", 1).key_label == "t-1"
    assert MemberKey("g", "m").key_label == "g-m"
    assert GroupKey("g").key_label == "g"
    assert TopicKey("t").key_label == "t"
