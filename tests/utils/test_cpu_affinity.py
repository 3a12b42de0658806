"""Which core a broker binds itself to."""

from __future__ import annotations

import fcntl
import os
import pathlib
import sys
from collections.abc import Iterator

import pytest

from kafka_py.utils.cpu_affinity import parse_cpus, pin_process, release_slot


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[int]]]:
    """A machine of four cores; what the process was bound to."""
    calls: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_RR)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: calls.append(set(cpus)))
    yield calls
    release_slot()


@pytest.mark.parametrize(("text", "cpus"), [("0", {0}), ("0,2", {0, 2}), ("1-3", {1, 2, 3}), ("0, 2-3", {0, 2, 3})])
def test_lists(text: str, cpus: set[int], bound: list[set[int]]) -> None:
    assert parse_cpus(text) == cpus
    assert str(sorted(cpus)) in pin_process(text)
    assert bound == [cpus]


@pytest.mark.parametrize("text", ["", "all", "1-", "-1", "0,,1"])
def test_other_values_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be auto, none or a list of cores"):
        pin_process(text)


def test_a_core_that_is_not_there(bound: list[set[int]]) -> None:
    with pytest.raises(ValueError, match=r"names cores \[9\]"):
        pin_process("0,9")
    assert bound == []


def test_none(bound: list[set[int]]) -> None:
    assert pin_process("none") == "Not binding the process to a core"
    assert bound == []


def test_brokers_spread_themselves(bound: list[set[int]], tmp_path: pathlib.Path) -> None:
    others = []
    for expected in (1, 2, 3, 0):
        assert f"core {expected} of" in pin_process("auto", str(tmp_path))
        release_slot()
        other = open(tmp_path / f"kafka_py-{os.getuid()}-core-{expected}.lock")  # noqa: SIM115  another broker's
        fcntl.flock(other, fcntl.LOCK_EX)
        others.append(other)
    assert bound == [{1}, {2}, {3}, {0}]
    pin_process("auto", str(tmp_path))
    assert bound[-1] == {os.getpid() % 4}, "all are taken"
    for other in others:
        other.close()
    pin_process("auto", str(tmp_path))
    assert bound[-1] == {1}


@pytest.mark.parametrize(("has_lock", "expected"), [(True, [{1}]), (False, [])])
def test_threads_that_run_side_by_side_are_not_bound(
    has_lock: bool,
    expected: list[set[int]],
    bound: list[set[int]],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: has_lock, raising=False)
    assert pin_process("auto", str(tmp_path)).startswith("Bound" if has_lock else "Not binding the process to a core: ")
    assert bound == expected


def test_one_core_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, bound: list[set[int]]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {2})
    assert pin_process("auto") == "The process is bound to core 2 already"
    assert bound == []


class TestTurns:
    """Whether a woken thread may interrupt another one."""

    @pytest.fixture
    def policies(self, monkeypatch: pytest.MonkeyPatch, bound: list[set[int]]) -> list[int]:
        """The policies that were set; before, the process has the system's usual one."""
        policies: list[int] = []
        monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_OTHER)
        monkeypatch.setattr(os, "sched_setscheduler", lambda pid, policy, param: policies.append(policy))
        return policies

    def test_on_one_core_it_waits_its_turn(self, policies: list[int], tmp_path: pathlib.Path) -> None:
        assert pin_process("auto", str(tmp_path)).endswith(", its threads as SCHED_BATCH")
        pin_process("3")
        assert policies == [os.SCHED_BATCH] * 2

    def test_on_several_it_may(self, policies: list[int]) -> None:
        pin_process("0-1")
        pin_process("none")
        assert policies == []

    def test_a_policy_that_was_chosen_stays(self, policies: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_FIFO)
        pin_process("3")
        assert policies == []

    def test_a_refusal_is_told(self, policies: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(pid: int, policy: int, param: os.sched_param) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "sched_setscheduler", refuse)
        assert "SCHED_BATCH was refused: [Errno 1]" in pin_process("3")
