"""When a broker leaves its core, and when it takes one again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_py.metrics.yammer import MetricName, Metrics
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.affinity_follower import AffinityFollower, AffinityRule, Interval, Proc
from kafka_py.utils.cpu_affinity import bind_all_threads, free_all_threads, release_slot

WAIT_S = 60


def interval(own: float, on_0: float, on_1: float, waited: float = 0.0, seconds: float = 0.25) -> Interval:
    return Interval(seconds, own, {0: on_0, 1: on_1}, waited)


class TestRule:
    """Figures in, a decision out; bound to core 1 of two."""

    @pytest.mark.parametrize(
        "calm",
        [
            interval(own=0.9, on_0=1.0, on_1=0.95, waited=3.0),  # our threads wait, but for each other
            interval(own=0.2, on_0=1.0, on_1=1.0, waited=0.1),  # others fill the core up, and make way for us
            interval(own=0.5, on_0=1.0, on_1=1.0, waited=1.0),  # half the time, but no core has more to offer
            interval(own=0.7, on_0=0.1, on_1=1.0, waited=1.0),
            interval(own=0.05, on_0=0.1, on_1=0.2, waited=0.9),  # little is waited for others, whoever waits
        ],
    )
    def test_it_stays_while_it_hardly_waits_for_others(self, calm: Interval) -> None:
        rule = AffinityRule([0, 1])
        assert not any(rule.is_to_leave(1, calm) for _ in range(20))

    @pytest.mark.parametrize(
        "starved",
        [
            interval(own=0.15, on_0=1.0, on_1=1.0, waited=2.5),  # beside ten busy processes
            interval(own=0.04, on_0=1.0, on_1=1.0, waited=0.96),  # beside forty
            interval(own=0.5, on_0=0.1, on_1=1.0, waited=1.0),  # half the time, and another core is idle
        ],
    )
    def test_it_leaves_when_others_have_kept_it_waiting_twice_in_a_row(self, starved: Interval) -> None:
        rule = AffinityRule([0, 1])
        calm = interval(own=0.9, on_0=0.2, on_1=0.95, waited=1.0)
        assert [rule.is_to_leave(1, look) for look in (starved, calm, starved, starved)] == [False, False, False, True]

    def test_it_comes_back_to_the_calmest_core_after_a_second_of_calm(self) -> None:
        rule = AffinityRule([0, 1, 2])
        rule.left(100.0)
        calm = Interval(0.25, 0.3, {0: 0.3, 1: 0.9, 2: 0.31}, 0.0)
        busy = Interval(0.25, 0.3, {0: 1.0, 1: 1.0, 2: 1.0}, 0.0)
        assert [rule.cores_to_take(look) for look in (calm, calm, calm, busy, calm, calm, calm)] == [[]] * 7
        assert rule.cores_to_take(calm) == [2, 0, 1], "of those that are as calm as each other not the first"

    def test_who_had_to_leave_soon_waits_for_more_calm(self) -> None:
        rule = AffinityRule([0, 1])
        calm = interval(own=0.1, on_0=0.1, on_1=0.0, seconds=1.0)
        waited = []
        for bound_s in (1.0, 1.0, 1.0, 1.0, 31.0):
            rule.left(bound_s)
            waited.append(next(i for i in range(1, 100) if rule.cores_to_take(calm)))
        assert waited == [4, 16, 64, 64, 1]


class FakeMachine:
    """Two cores; counters that a test moves on."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.own, self.busy, self.waited = 0, {0: 0, 1: 0}, {7: 0}
        self.looks = 0
        self.walks = 0

    def own_ns(self) -> int:
        return self.own

    def busy_ns(self) -> dict[int, int]:
        self.looks += 1
        return dict(self.busy)

    def waited_ns(self) -> dict[int, int]:
        self.walks += 1
        return dict(self.waited)

    def go_on(self, own: float, on_0: float, on_1: float, waited: float) -> None:
        """A quarter of a second, with these shares of it."""
        self.time.sleep(250)
        self.own += int(own * 250_000_000)
        self.busy[0] += int(on_0 * 250_000_000)
        self.busy[1] += int(on_1 * 250_000_000)
        self.waited[7] += int(waited * 250_000_000)


class TestFollower:
    """What it does with the decisions."""

    @pytest.fixture
    def calls(self) -> list[tuple[str, list[int]]]:
        return []

    @pytest.fixture
    def machine(self) -> FakeMachine:
        return FakeMachine()

    @pytest.fixture
    def follower(self, machine: FakeMachine, calls: list[tuple[str, list[int]]]) -> AffinityFollower:
        def bind(cores: Sequence[int]) -> int:
            calls.append(("bind", list(cores)))
            return cores[0]

        def free(cores: Sequence[int]) -> None:
            calls.append(("free", list(cores)))

        return AffinityFollower([0, 1], 1, machine, machine.time, bind, free)

    @staticmethod
    def gauges() -> tuple[int, int]:
        metrics: dict[MetricName, Any] = dict(Metrics.default_registry().all_metrics())
        return metrics[AffinityFollower.BOUND_CORE].value(), metrics[AffinityFollower.CHANGE_COUNT].value()

    def test_it_leaves_and_comes_back(
        self,
        follower: AffinityFollower,
        machine: FakeMachine,
        calls: list[tuple[str, list[int]]],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level("INFO")
        assert self.gauges() == (1, 0)
        for _ in range(3):  # the first look has nothing to compare with
            assert calls == []
            follower.look()
            machine.go_on(own=0.2, on_0=1.0, on_1=1.0, waited=2.0)
        assert calls == [("free", [0, 1])]
        assert self.gauges() == (-1, 1)
        assert "Not bound to core 1 any more: it works for other processes for 80 % of the time" in caplog.text
        for _ in range(20):
            follower.look()
            machine.go_on(own=0.5, on_0=1.0, on_1=1.0, waited=2.0)
        assert len(calls) == 1
        for _ in range(40):
            follower.look()
            machine.go_on(own=0.5, on_0=0.3, on_1=0.5, waited=0.5)
        assert calls[1:] == [("bind", [0, 1])]
        assert self.gauges() == (0, 2)
        assert "Bound to core 0 again" in caplog.text

    def test_an_idle_process_does_not_even_look(self, follower: AffinityFollower, machine: FakeMachine) -> None:
        machine.looks = 0
        for _ in range(100):
            machine.go_on(own=0.01, on_0=1.0, on_1=1.0, waited=0.0)
            follower.look()
        assert machine.looks == 0

    def test_threads_are_not_walked_through_while_the_core_is_ours(
        self, follower: AffinityFollower, machine: FakeMachine, calls: list[tuple[str, list[int]]]
    ) -> None:
        follower.look()
        machine.walks = 0
        for _ in range(100):
            machine.go_on(own=0.8, on_0=1.0, on_1=0.9, waited=3.0)
            follower.look()
        assert machine.walks == 0
        for _ in range(3):  # one more than without a pause: what was waited before is not known
            assert calls == []
            machine.go_on(own=0.1, on_0=1.0, on_1=1.0, waited=3.0)
            follower.look()
        assert calls == [("free", [0, 1])]

    def test_who_comes_late_is_not_idle(
        self, follower: AffinityFollower, machine: FakeMachine, calls: list[tuple[str, list[int]]]
    ) -> None:
        for _ in range(4):
            machine.go_on(own=0.01, on_0=1.0, on_1=1.0, waited=1.0)
            machine.time.sleep(100)
            follower.look()
        assert calls == [("free", [0, 1])]

    def test_a_machine_that_does_not_tell_is_not_followed(self, machine: FakeMachine) -> None:
        with pytest.raises(ValueError, match=r"how busy the cores \[5\] are"):
            AffinityFollower([0, 1, 5], 1, machine)

    def test_only_a_bound_process_follows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
        assert AffinityFollower.start_if_bound([0, 1]) is None
        assert AffinityFollower.start_if_bound([0]) is None
        assert AffinityFollower.start_if_bound([]) is None


def test_figures_of_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  9 9 9 9\ncpu0 1 2 4 50 7 100 100 0 0 0\ncpu3 10 0 0 1 1 1 1 0 0 0\nintr 5 5\n")
    for thread, text in ((5, "100 2000 3"), (6, "7 80 1")):
        (tmp_path / "self" / "task" / str(thread)).mkdir(parents=True)
        (tmp_path / "self" / "task" / str(thread) / "schedstat").write_text(text)
    (tmp_path / "self" / "task" / "7").mkdir()  # has ended just now
    proc = Proc(str(tmp_path))
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert proc.busy_ns() == {0: 7 * tick, 3: 10 * tick}
    assert proc.waited_ns() == {5: 2000, 6: 80}
    assert proc.own_ns() <= proc.own_ns()


def test_every_thread_is_bound_and_freed_and_those_that_they_start(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    go_on, seen = threading.Event(), []

    def look() -> None:
        seen.append(os.sched_getaffinity(0))

    def wait_and_start() -> None:
        assert go_on.wait(WAIT_S)
        look()
        child = threading.Thread(target=look, name="child")
        child.start()
        child.join()

    thread = threading.Thread(target=wait_and_start, name="parent")
    thread.start()
    try:
        assert bind_all_threads(cores[::-1], str(tmp_path)) == cores[-1]
        go_on.set()
        thread.join()
        assert seen == [{cores[-1]}] * 2
    finally:
        free_all_threads(cores)
        release_slot()
    assert os.sched_getaffinity(0) == set(cores)


def test_threads_take_turns_on_one_core_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unbound and SCHED_BATCH, they would wait behind each busy process for a whole turn of it."""
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr("kafka_py.utils.cpu_affinity._takes_turns", True)
    monkeypatch.setattr(os, "sched_setscheduler", lambda thread, policy, _: set_to.append((thread, policy)))
    cores = sorted(os.sched_getaffinity(0))
    try:
        bind_all_threads(cores, str(tmp_path))
        bound, set_to[:] = list(set_to), []
    finally:
        free_all_threads(cores)
    assert {policy for _, policy in bound} == {os.SCHED_BATCH}
    assert {policy for _, policy in set_to} == {os.SCHED_OTHER}
    assert threading.get_native_id() in {thread for thread, _ in bound} & {thread for thread, _ in set_to}


SPIN = """
import os, sys, time

os.sched_setaffinity(0, eval(sys.argv[1]))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""
BOUND = """
import os, sys, threading
from kafka_py.utils.affinity_follower import AffinityFollower
from kafka_py.utils.cpu_affinity import pin_process

cores = sorted(eval(sys.argv[2]))
os.sched_setaffinity(0, cores)
print(pin_process("auto", sys.argv[1]), flush=True)
follower = AffinityFollower.start_if_bound(cores)
print(follower.core, flush=True)
stop = threading.Event()

def work():
    while not stop.is_set():
        pass

threading.Thread(target=work).start()
while follower.core is not None:
    stop.wait(0.01)
print(all(os.sched_getaffinity(int(thread)) == set(cores) for thread in os.listdir("/proc/self/task")), flush=True)
stop.set()
follower.shutdown()
"""


@contextlib.contextmanager
def spinners(count: int, cores: set[int], seconds: float) -> Iterator[None]:
    """Busy processes, each in a session of its own: the kernel gives each as much of a core as a whole broker."""
    command = [sys.executable, "-c", SPIN, str(cores), str(seconds)]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is but one core")
def test_a_process_that_works_leaves_its_core_beside_busy_ones(tmp_path: Path) -> None:
    """It finds out by itself. That it comes back is not waited for: the machine may have other work than this."""
    cores = set(sorted(os.sched_getaffinity(0))[:2])
    command = [sys.executable, "-c", BOUND, str(tmp_path), str(cores)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("Bound the process to core")
            assert int(process.stdout.readline()) in cores
            with spinners(10, cores, WAIT_S):
                assert process.stdout.readline() == "True\n"
            assert process.wait(WAIT_S) == 0
        finally:
            process.kill()
