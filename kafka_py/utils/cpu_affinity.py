"""One core for each broker, on which a thread that is woken waits its turn.

Ours: threads of one Python process cannot run Python at the same time, and handing the interpreter from core to core
costs more than it gives. A process bound to one core answers 1.6 to 3.1 times the requests; what it loses is 15 % on
four connections of 1 MiB batches. `kafka.py.cpu.affinity` says which: auto, none, or a list such as 0,2-3. `auto` lets
the process go while others keep its core busy, and binds it again when they do not (`affinity_follower.py`).

On one core Linux would let a thread that is woken interrupt the one that woke it. That one holds the interpreter, so
the woken thread could only go to sleep again: two changes of threads for nothing, at every hand-over. Threads of
SCHED_BATCH do not interrupt; a broker answers 6 to 25 % more requests, with shorter tails.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

AUTO = "auto"
NONE = "none"
_slot: IO[str] | None = None  # the lock on our core's file; held as long as the process lives
_takes_turns = False  # whether it was we who made the threads SCHED_BATCH


def parse_cpus(text: str) -> set[int]:
    """The cores of a list such as ``0,2-3``. Raises ValueError."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"kafka.py.cpu.affinity must be auto, none or a list of cores, not {text!r}")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def pin_process(config_value: str, directory: str | None = None) -> str:
    """Bind this process, before it starts threads, as ``config_value`` says; a sentence for the start-up log.

    ``auto`` takes the first core that no other broker of this machine has taken, each marking its own by a lock on a
    file in ``directory`` (default: the temporary directory), which the kernel drops when the process ends. When all
    are taken, brokers are spread by process id. A Python without a global lock is not bound by it: its threads run
    side by side. Raises ValueError for a value of another form or a core not there.
    """
    value = config_value.strip().lower()
    if value == NONE or not hasattr(os, "sched_setaffinity"):
        return "Not binding the process to a core"
    allowed = sorted(os.sched_getaffinity(0))
    if value == AUTO:
        if not _has_global_lock():
            return "Not binding the process to a core: the threads of this Python run side by side"
        if len(allowed) == 1:
            return f"The process is bound to core {allowed[0]} already{_take_turns()}"
        # Core 0 serves most interrupts: it is the last choice.
        cpu = _take_slot([*allowed[1:], allowed[0]], directory)
        if cpu is None:
            cpu = allowed[os.getpid() % len(allowed)]
        os.sched_setaffinity(0, {cpu})
        return f"Bound the process to core {cpu} of {allowed} (kafka.py.cpu.affinity=auto){_take_turns()}"
    cpus = parse_cpus(value)
    missing = cpus - set(allowed)
    if missing:
        raise ValueError(f"kafka.py.cpu.affinity names cores {sorted(missing)}, but there are only {allowed}")
    os.sched_setaffinity(0, cpus)
    turns = _take_turns() if len(cpus) == 1 else ""
    return f"Bound the process to cores {sorted(cpus)} (kafka.py.cpu.affinity={config_value}){turns}"


def _take_turns() -> str:
    """Keep woken threads from interrupting; who gave the process a policy of their own keeps it."""
    global _takes_turns
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        return ""
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError as e:
        return f"; its threads may interrupt each other, since SCHED_BATCH was refused: {e}"
    _takes_turns = True
    return ", its threads as SCHED_BATCH"


def _has_global_lock() -> bool:
    is_enabled = getattr(sys, "_is_gil_enabled", None)  # since 3.13
    return is_enabled is None or is_enabled()


def bind_all_threads(cores: Sequence[int], directory: str | None = None) -> int:
    """Bind the running process to the first of the cores that no other broker has taken, else to the first; which."""
    cpu = _take_slot(cores, directory)
    if cpu is None:
        cpu = cores[0]
    _move_all_threads({cpu}, os.SCHED_BATCH)
    return cpu


def free_all_threads(cores: Sequence[int]) -> None:
    """Let the running process use all these cores, and another broker have its own.

    Its threads are ordinary ones then: as SCHED_BATCH they would wait behind every busy process for a whole turn.
    """
    _move_all_threads(set(cores), os.SCHED_OTHER)
    release_slot()


def _move_all_threads(cpus: set[int], policy: int) -> None:
    """To these cores, and to this policy if they take turns at our wish.

    Each thread there is: the kernel knows cores of threads only; new ones inherit those of who starts them.
    """
    done: set[int] = set()
    while True:
        # Again, until no new ones are found: one that was not bound yet may have started another meanwhile.
        threads = {int(name) for name in os.listdir("/proc/self/task")} - done
        if not threads:
            return
        for thread in threads:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(thread, cpus)
                if _takes_turns:
                    os.sched_setscheduler(thread, policy, os.sched_param(0))
        done |= threads


def _take_slot(cores: Sequence[int], directory: str | None) -> int | None:
    """The first core whose lock was free, and is ours now; None when none was."""
    global _slot
    for cpu in cores:
        # The user's id keeps users out of each other's files.
        path = os.path.join(directory or tempfile.gettempdir(), f"kafka_py-{os.getuid()}-core-{cpu}.lock")
        try:
            slot = open(path, "a")  # noqa: SIM115  it stays open: the lock is the slot
        except OSError:
            return None
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            slot.close()
            continue
        release_slot()
        _slot = slot
        return cpu
    return None


def release_slot() -> None:
    """Let another broker have our core; for tests, the end of the process does the same."""
    global _slot
    if _slot is not None:
        _slot.close()
        _slot = None
