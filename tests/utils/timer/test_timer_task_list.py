"""A timer's bucket counts its tasks rightly, wherever they move."""

from __future__ import annotations

import pytest

from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicInteger
from kafka_py.utils.timer.timer_task import TimerTask
from kafka_py.utils.timer.timer_task_list import TimerTaskEntry, TimerTaskList


class Task(TimerTask):
    delay_ms = 0
    runs = 0

    def run(self) -> None:
        self.runs += 1


def size(bucket: TimerTaskList) -> int:
    tasks: list[TimerTask] = []
    bucket.foreach(tasks.append)
    return len(tasks)


@pytest.mark.ported("TimerTaskListTest.testAll")
def test_all() -> None:
    counter = AtomicInteger(0)
    first, second, third = (TimerTaskList(counter) for _ in range(3))
    tasks = []
    for i in range(1, 11):
        task = Task()
        first.add(TimerTaskEntry(task, 10))
        assert counter.get() == i
        tasks.append(task)

    # a new entry of a task takes the place of its old one
    for bucket, some in ((second, tasks[:4]), (third, tasks[4:])):
        for task in some:
            bucket.add(TimerTaskEntry(task, 10))
            assert counter.get() == 10
    assert (size(first), size(second), size(third)) == (0, 4, 6)

    second.foreach(lambda task: task.cancel())
    assert (size(second), size(third), counter.get()) == (0, 6, 6)
    third.foreach(lambda task: task.cancel())
    assert (size(third), counter.get()) == (0, 0)


def test_adding_an_entry_elsewhere_moves_it() -> None:
    counter = AtomicInteger(0)
    here, there = TimerTaskList(counter), TimerTaskList(counter)
    entry = TimerTaskEntry(Task(), 10)
    here.add(entry)
    there.add(entry)
    assert (size(here), size(there), counter.get()) == (0, 1, 1)
    assert not entry.cancelled


def test_flush_hands_over_every_entry_and_resets_the_bucket() -> None:
    time = MockTime()
    bucket = TimerTaskList(AtomicInteger(0), time)
    entries = [TimerTaskEntry(Task(), n) for n in (3, 1, 2)]
    for entry in entries:
        bucket.add(entry)
    now = time.hi_res_clock_ms()
    assert bucket.set_expiration(now + 7)
    assert not bucket.set_expiration(now + 7)
    assert bucket.get_delay() == 7
    flushed: list[TimerTaskEntry] = []
    bucket.flush(flushed.append)
    assert flushed == entries
    assert bucket.get_expiration() == -1
    assert size(bucket) == 0


def test_buckets_and_entries_are_ordered_by_time() -> None:
    soon, late = (TimerTaskList(AtomicInteger(0)) for _ in range(2))
    soon.set_expiration(1)
    late.set_expiration(2)
    assert (soon.compare_to(late), late.compare_to(soon), soon.compare_to(soon)) == (-1, 1, 0)
    assert soon < late
    assert TimerTaskEntry(Task(), 1) < TimerTaskEntry(Task(), 2)
    assert TimerTaskEntry(Task(), 3).compare(TimerTaskEntry(Task(), 2)) > 0
