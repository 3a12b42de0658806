"""Log, cleaner and checkpoints under kill -9: whatever the moment, what was appended is there at the next start.

A child process (kill_cycle_worker.py) works on a directory and is killed: by this one after a while, or by itself
before its n-th change of the disk, also while it recovers, compacts or shuts down. The next one opens what is left,
and says what it found; that and the bytes on the disk must be what the ledger says (kill_cycle_model.py). In some
cycles a part of what was never flushed is cut off as well, as if the power had gone.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.integration.kill_cycle_model import Model

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[2]
CYCLES = 36
# what must have happened in them; on a machine with much else to do, it takes more of them
KINDS = ("append", "truncate", "restart", "delete", "flushed", "starts", "stopped")
MOST_CYCLES = 4 * CYCLES
# in the middle of what a child kills itself: of anything, its start, operations, background threads
PLACES = (
    *("", "", "load", "load", "_truncate", "_truncate", "_restart", "_roll", "_append"),
    *("kafka-log-cleaner", "kafka-scheduler"),
)


class Worker:
    """The process that forks the children."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.kill_cycle_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # a line that can be heard is not in a buffer of ours
            cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.child = 0

    def _say(self, line: str) -> None:
        self._in.write(line.encode() + b"\n")

    def can_hear(self, within_s: float) -> bool:
        return bool(select.select([self._out], [], [], within_s)[0])

    def hear(self) -> str:
        return self._out.readline().decode().rstrip("\n")

    def begin(self, spec: dict[str, object]) -> None:
        self._say(json.dumps(spec))
        word, _, pid = self.hear().partition(" ")
        assert word == "pid"
        self.child = int(pid)

    def go(self) -> None:
        self._say("go")

    def kill_child(self) -> None:
        os.kill(self.child, signal.SIGKILL)

    def bury(self) -> None:
        """The child is dead; its process id may be used again."""
        self.child = 0
        self._say("bury")

    def close(self) -> None:
        """End it; a child that a failed test has left alive is killed first."""
        if self.child:
            self.kill_child()
            self.bury()
        self._in.close()
        assert self._process.wait(30) == 0
        self._out.close()


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker()
    yield started
    started.close()


def read_offsets(path: pathlib.Path) -> dict[str, int]:
    """A checkpoint file of offsets: version, count, then topic, partition and offset in each line."""
    lines = path.read_text().split("\n")[2:-1] if path.exists() else []
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in map(str.split, lines)}


class Cycles:
    """One directory and its children."""

    def __init__(self, worker: Worker, home: pathlib.Path, seed: int) -> None:
        self._worker = worker
        self._rng = random.Random(seed)
        self._seed = seed
        self._dir, self._state, self._errors = home / "data", home / "state.json", home / "errors.txt"
        self._ledger = home / "ledger.txt"
        self._dir.mkdir()
        self._ledger.touch()
        self.model = Model(self._dir, self._ledger)
        self.kills = self.checks = self.tears = self.number = 0

    def cycle(self, kind: str) -> None:
        """Start a child, look at what it found, let it work, and see it dead."""
        rng, worker = self._rng, self._worker
        self.number += 1
        where = rng.choice(PLACES)
        steps = rng.randrange(1, rng.choice([5, 40]) if where else 400)
        worker.begin(
            {
                "dir": str(self._dir),
                "ledger": str(self._ledger),
                "state": str(self._state),
                "errors": str(self._errors),
                "seed": self._seed,
                "number": self.number,
                "steps": steps if kind == "steps" else 0,
                "where": where,
                "renames": rng.random() < 0.5,
                "operations": rng.randrange(300) if kind == "stop" else None,
            }
        )
        if kind == "early":
            time.sleep(rng.uniform(0, 0.1))
            worker.kill_child()
        heard = worker.hear()
        if heard == "ready":
            self._check()
            worker.go()
            if kind == "late":
                time.sleep(rng.uniform(0.02, 0.5))
                worker.kill_child()
            elif kind == "steps" and not worker.can_hear(within_s=0.6):
                worker.kill_child()
            heard = worker.hear()
        worker.bury()
        assert not self._errors.exists() or self._errors.read_text() == ""
        assert heard == ("ended 0" if kind == "stop" else "ended -9")
        self.kills += kind != "stop"
        self.model.follow()

    def _check(self) -> None:
        self.checks += 1
        self.model.check(json.loads(self._state.read_text()), read_offsets(self._dir / "replication-offset-checkpoint"))

    @property
    def have_seen_all(self) -> bool:
        """Whether there was enough of everything for the cycles to mean something."""
        counts = self.model.counts
        return self.checks > CYCLES // 2 and self.tears > 0 and all(counts[kind] > 0 for kind in KINDS)

    def lose_power(self) -> None:
        """Take away a part of what was appended last and not flushed."""
        recovery_point = read_offsets(self._dir / "recovery-point-offset-checkpoint").get("plain-0", 0)
        plain = self.model.partitions["plain-0"]
        if plain.disk.dir.exists() and not (self._dir / ".kafka_cleanshutdown").exists():
            self.tears += plain.tear(self._rng, recovery_point)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_moment_of_the_kill(worker: Worker, tmp_path: pathlib.Path, seed: int) -> None:
    cycles = Cycles(worker, tmp_path, seed)
    chosen = random.Random(seed)
    while cycles.kills < CYCLES or (cycles.kills < MOST_CYCLES and not cycles.have_seen_all):
        cycles.cycle(chosen.choices(["late", "steps", "early", "stop"], [35, 45, 12, 8])[0])
        if chosen.random() < 0.4:
            cycles.lose_power()
    cycles.cycle("stop")
    cycles.cycle("late")
    assert cycles.have_seen_all, cycles.model.counts
