"""The timing wheel runs tasks in the order they fall due, and no cancelled one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicInteger, CountDownLatch, DelayQueue
from kafka_py.utils.timer.timer import SystemTimer
from kafka_py.utils.timer.timer_task import TimerTask
from kafka_py.utils.timer.timer_task_list import TimerTaskEntry, TimerTaskList
from kafka_py.utils.timer.timing_wheel import TimingWheel


class Task(TimerTask):
    def __init__(self, delay_ms: int, latch: CountDownLatch, output: list[int]) -> None:
        self.delay_ms = delay_ms
        self._latch = latch
        self._output = output

    def run(self) -> None:
        self._output.append(self.delay_ms)
        self._latch.count_down()


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


@pytest.fixture
def timer(mock_time: MockTime) -> Iterator[SystemTimer]:
    timer = SystemTimer("test", tick_ms=1, wheel_size=3, time=mock_time)
    yield timer
    timer.shutdown()


def turn(timer: SystemTimer, time: MockTime, ms: int) -> None:
    for _ in range(ms):
        time.sleep(1)
        timer.advance_clock(0)


@pytest.mark.ported("TimerTest.testAlreadyExpiredTask")
def test_already_expired_tasks_run_at_once(timer: SystemTimer) -> None:
    latch = CountDownLatch(5)
    output: list[int] = []
    for delay in range(-5, 0):
        timer.add(Task(delay, latch, output))
    timer.advance_clock(0)
    assert latch.await_(3000)
    assert set(output) == {-5, -4, -3, -2, -1}


@pytest.mark.ported("TimerTest.testTaskExpiration", changes="MockTime; fewer tasks")
def test_tasks_run_in_the_order_they_fall_due(timer: SystemTimer, mock_time: MockTime) -> None:
    delays = [*range(5), *range(10, 50), *range(10, 50), *range(50, 130)]
    latch = CountDownLatch(len(delays))
    output: list[int] = []
    for delay in delays:
        timer.add(Task(delay, latch, output))
    assert timer.size == len(delays) - 1  # the one without delay has gone to its thread
    turn(timer, mock_time, 131)
    assert latch.await_(3000)
    assert output == sorted(delays)
    assert timer.size == 0


def test_nothing_runs_early(timer: SystemTimer, mock_time: MockTime) -> None:
    latch = CountDownLatch(1)
    timer.add(Task(1000, latch, []))
    turn(timer, mock_time, 998)
    assert not latch.await_(1)
    turn(timer, mock_time, 3)
    assert latch.await_(3000)


def test_a_cancelled_task_leaves_and_does_not_run(timer: SystemTimer, mock_time: MockTime) -> None:
    latch = CountDownLatch(1)
    output: list[int] = []
    cancelled, kept = Task(20, latch, output), Task(21, latch, output)
    timer.add(cancelled)
    timer.add(kept)
    cancelled.cancel()
    cancelled.cancel()
    assert timer.size == 1
    turn(timer, mock_time, 22)
    assert latch.await_(3000)
    assert output == [21]


def test_a_task_that_raises_does_not_end_the_timer(timer: SystemTimer) -> None:
    class Failing(Task):
        def run(self) -> None:
            raise OSError("broken")

    latch = CountDownLatch(1)
    timer.add(Failing(-1, latch, []))
    timer.add(Task(-1, latch, []))
    assert latch.await_(3000)


def test_tasks_run_on_the_executor(timer: SystemTimer) -> None:
    names: list[str] = []

    class Named(Task):
        def run(self) -> None:
            names.append(threading.current_thread().name)
            super().run()

    latch = CountDownLatch(1)
    timer.add(Named(0, latch, []))
    assert latch.await_(3000)
    assert names == ["executor-test"]


@pytest.mark.ported("TimerTest.testTaskExpiration", changes="the real clock, one task")
def test_real_clock() -> None:
    timer = SystemTimer("real")
    latch = CountDownLatch(1)
    timer.add(Task(5, latch, []))
    assert timer.advance_clock(2000)
    assert latch.await_(2000)
    assert not timer.advance_clock(1)
    timer.shutdown()


def test_wheel_takes_what_is_due_later_and_overflows() -> None:
    queue: DelayQueue[TimerTaskList] = DelayQueue()
    wheel = TimingWheel(1, 3, start_ms=100, task_counter=AtomicInteger(0), queue=queue)

    def entry(expiration: int) -> TimerTaskEntry:
        return TimerTaskEntry(Task(0, CountDownLatch(0), []), expiration)

    assert not wheel.add(entry(100))
    assert wheel.add(entry(101))
    assert wheel.add(entry(101))
    assert queue.size() == 1, "a bucket stands in the queue once"
    assert wheel.add(entry(150)), "in the wheel above"
    assert queue.size() == 2
    wheel.advance_clock(102)
    assert not wheel.add(entry(102))
    cancelled = entry(104)
    assert cancelled.timer_task is not None
    cancelled.timer_task.cancel()
    assert not wheel.add(cancelled)


class HookedTask(Task):
    """Runs a hook between the first look at its place in a timer and what follows from it."""

    def __init__(self) -> None:
        super().__init__(1000, CountDownLatch(1), [])
        self.hooks: list[Callable[[], None]] = []
        self._place: TimerTaskEntry | None = None

    @property
    def _timer_task_entry(self) -> TimerTaskEntry | None:
        place = self._place
        if self.hooks:
            self.hooks.pop()()
        return place

    @_timer_task_entry.setter
    def _timer_task_entry(self, place: TimerTaskEntry | None) -> None:
        self._place = place


def test_a_cancel_that_came_too_early_does_not_hide_the_task_from_the_next_one(timer: SystemTimer) -> None:
    task = HookedTask()
    task.hooks.append(lambda: timer.add(task))
    task.cancel()
    task.cancel()
    assert timer.size == 0


def test_a_task_cancelled_on_its_way_into_the_timer_does_not_stay(
    timer: SystemTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = HookedTask()
    add = TimerTaskList.add

    def overtaken(bucket: TimerTaskList, entry: TimerTaskEntry) -> None:
        task.cancel()
        add(bucket, entry)

    monkeypatch.setattr(TimerTaskList, "add", overtaken)
    timer.add(task)
    assert timer.size == 0
