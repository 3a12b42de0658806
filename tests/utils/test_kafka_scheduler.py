"""Tasks run once, later or periodically, on mock and on real threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicInteger, CountDownLatch
from kafka_py.utils.kafka_scheduler import KafkaScheduler


@pytest.fixture
def time() -> MockTime:
    return MockTime()


@pytest.fixture
def scheduler() -> Iterator[KafkaScheduler]:
    scheduler = KafkaScheduler(1)
    scheduler.startup()
    yield scheduler
    scheduler.shutdown()


@pytest.mark.ported("SchedulerTest.testMockSchedulerNonPeriodicTask")
def test_mock_scheduler_non_periodic_task(time: MockTime) -> None:
    first, second = AtomicInteger(), AtomicInteger()
    time.scheduler.schedule("test1", first.get_and_increment, delay=1)
    time.scheduler.schedule("test2", second.get_and_increment, delay=100)
    assert (first.get(), second.get()) == (0, 0)
    time.sleep(1)
    assert (first.get(), second.get()) == (1, 0)
    time.sleep(100_000)
    assert (first.get(), second.get()) == (1, 1)


@pytest.mark.ported("SchedulerTest.testMockSchedulerPeriodicTask")
def test_mock_scheduler_periodic_task(time: MockTime) -> None:
    first, second = AtomicInteger(), AtomicInteger()
    time.scheduler.schedule("test1", first.get_and_increment, delay=1, period=1)
    time.scheduler.schedule("test2", second.get_and_increment, delay=100, period=100)
    time.sleep(1)
    assert (first.get(), second.get()) == (1, 0)
    time.sleep(100)
    assert (first.get(), second.get()) == (101, 1)


@pytest.mark.ported("SchedulerTest.testReentrantTaskInMockScheduler")
def test_a_task_may_schedule_another(time: MockTime) -> None:
    counter = AtomicInteger()
    time.scheduler.schedule("test1", lambda: time.scheduler.schedule("test2", counter.get_and_increment), delay=1)
    time.sleep(1)
    assert counter.get() == 1


@pytest.mark.ported("SchedulerTest.testRestart")
def test_mock_scheduler_restart(time: MockTime) -> None:
    counter = AtomicInteger()
    time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    time.scheduler.shutdown()
    assert counter.get() == 1, "what waits runs at the end"
    time.scheduler.startup()
    assert time.scheduler.is_started
    time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    time.sleep(1)
    assert counter.get() == 2
    time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    time.scheduler.clear()
    time.sleep(1)
    assert counter.get() == 2


@pytest.mark.ported("SchedulerTest.testNonPeriodicTask")
def test_non_periodic_task(scheduler: KafkaScheduler) -> None:
    ran = CountDownLatch(1)
    names: list[str] = []
    scheduler.schedule_once("test", lambda: names.append(threading.current_thread().name))
    scheduler.schedule("test", ran.count_down, delay=1)
    assert ran.await_(5000)
    assert names == ["kafka-scheduler-0"]


@pytest.mark.ported("SchedulerTest.testPeriodicTask")
def test_periodic_task_goes_on_after_a_failure(scheduler: KafkaScheduler, caplog: pytest.LogCaptureFixture) -> None:
    turns = CountDownLatch(3)

    def fail() -> None:
        turns.count_down()
        raise OSError("broken")

    scheduler.schedule("failing", fail, delay=0, period=1)
    assert turns.await_(5000)
    scheduler.shutdown()
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert errors[0] == "Uncaught exception in scheduled task 'failing'"


def test_start_stop_and_misuse(scheduler: KafkaScheduler) -> None:
    with pytest.raises(IllegalStateException, match="already been started"):
        scheduler.startup()
    scheduler.resize_thread_pool(2)
    never = scheduler.schedule("later", lambda: None, delay=100_000)
    scheduler.shutdown()
    assert never.is_cancelled()
    assert not scheduler.is_started
    scheduler.shutdown()
    with pytest.raises(IllegalStateException, match="not running"):
        scheduler.schedule("late", lambda: None)


def test_mock_time_moves_only_by_hand(time: MockTime) -> None:
    start_ms, start_ns = time.milliseconds(), time.nanoseconds()
    assert time.milliseconds() == start_ms
    ticks: list[int] = []
    time.add_listener(lambda: ticks.append(time.milliseconds()))
    time.sleep(7)
    assert (time.milliseconds(), time.nanoseconds()) == (start_ms + 7, start_ns + 7_000_000)
    assert time.hi_res_clock_ms() == (start_ns + 7_000_000) // 1_000_000
    time.set_current_time_ms(start_ms + 10)
    assert ticks == [start_ms + 7, start_ms + 10]
    with pytest.raises(ValueError, match="is newer"):
        time.set_current_time_ms(start_ms)


def test_auto_tick() -> None:
    time = MockTime(auto_tick_ms=3, current_time_ms=100)
    assert [time.milliseconds(), time.milliseconds()] == [103, 106]
