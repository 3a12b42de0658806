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
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def scheduler() -> Iterator[KafkaScheduler]:
    scheduler = KafkaScheduler(1)
    scheduler.startup()
    yield scheduler
    scheduler.shutdown()


@pytest.mark.ported("SchedulerTest.testMockSchedulerNonPeriodicTask")
def test_mock_scheduler_non_periodic_task(mock_time: MockTime) -> None:
    first, second = AtomicInteger(), AtomicInteger()
    mock_time.scheduler.schedule("test1", first.get_and_increment, delay=1)
    mock_time.scheduler.schedule("test2", second.get_and_increment, delay=100)
    assert (first.get(), second.get()) == (0, 0)
    mock_time.sleep(1)
    assert (first.get(), second.get()) == (1, 0)
    mock_time.sleep(100_000)
    assert (first.get(), second.get()) == (1, 1)


@pytest.mark.ported("SchedulerTest.testMockSchedulerPeriodicTask")
def test_mock_scheduler_periodic_task(mock_time: MockTime) -> None:
    first, second = AtomicInteger(), AtomicInteger()
    mock_time.scheduler.schedule("test1", first.get_and_increment, delay=1, period=1)
    mock_time.scheduler.schedule("test2", second.get_and_increment, delay=100, period=100)
    mock_time.sleep(1)
    assert (first.get(), second.get()) == (1, 0)
    mock_time.sleep(100)
    assert (first.get(), second.get()) == (101, 1)


@pytest.mark.ported("SchedulerTest.testReentrantTaskInMockScheduler")
def test_a_task_may_schedule_another(mock_time: MockTime) -> None:
    counter = AtomicInteger()
    mock_time.scheduler.schedule(
        "test1", lambda: mock_time.scheduler.schedule("test2", counter.get_and_increment), delay=1
    )
    mock_time.sleep(1)
    assert counter.get() == 1


@pytest.mark.ported("SchedulerTest.testRestart")
def test_mock_scheduler_restart(mock_time: MockTime) -> None:
    counter = AtomicInteger()
    mock_time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    mock_time.scheduler.shutdown()
    assert counter.get() == 1, "what waits runs at the end"
    mock_time.scheduler.startup()
    assert mock_time.scheduler.is_started
    mock_time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    mock_time.sleep(1)
    assert counter.get() == 2
    mock_time.scheduler.schedule("test1", counter.get_and_increment, delay=1)
    mock_time.scheduler.clear()
    mock_time.sleep(1)
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


def test_mock_time_moves_only_by_hand(mock_time: MockTime) -> None:
    start_ms, start_ns = mock_time.milliseconds(), mock_time.nanoseconds()
    assert mock_time.milliseconds() == start_ms
    ticks: list[int] = []
    mock_time.add_listener(lambda: ticks.append(mock_time.milliseconds()))
    mock_time.sleep(7)
    assert (mock_time.milliseconds(), mock_time.nanoseconds()) == (start_ms + 7, start_ns + 7_000_000)
    assert mock_time.hi_res_clock_ms() == (start_ns + 7_000_000) // 1_000_000
    mock_time.set_current_time_ms(start_ms + 10)
    assert ticks == [start_ms + 7, start_ms + 10]
    with pytest.raises(ValueError, match="is newer"):
        mock_time.set_current_time_ms(start_ms)


def test_auto_tick() -> None:
    time = MockTime(auto_tick_ms=3, current_time_ms=100)
    assert [time.milliseconds(), time.milliseconds()] == [103, 106]
