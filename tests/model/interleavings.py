"""Looks for a schedule after which an invariant does not hold, and makes it as short as it gets.

Two ways: all schedules of a depth, states that were met before left out; and long random ones, each by its seed. A
state cannot be copied, for it is files and objects; it is reached again by the same steps, a millisecond each.
"""

from __future__ import annotations

import contextlib
import pathlib
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.model.invariants import Invariants
from tests.model.three_replicas import IDS, NotPossible, ThreeReplicas

KINDS = (
    *("append", "send", "serve", "take", "late", "elect", "tell", "crash", "notice", "start", "pass", "shrink"),
    *("cut", "break"),
)
# these change much, and would leave no time for what follows from them
_RARE = ("crash", "pass", "elect", "cut", "break")
_MEMORY = pathlib.Path("/dev/shm")


class Counterexample(NamedTuple):
    """A schedule and what is wrong after its last step."""

    schedule: tuple[str, ...]
    broken: tuple[str, ...]

    def as_test(self) -> str:
        """To be pasted into tests/model/test_schedules.py."""
        steps = ", ".join(f'"{step}"' for step in self.schedule)
        why = "".join(f"    # {line}\n" for line in self.broken)
        return f'def test_(new_model: Model) -> None:\n{why}    assert after(new_model(), {steps}) == ""\n'


class Found(NamedTuple):
    """How many states or schedules were looked at, and the first counterexample."""

    looked_at: int
    counterexample: Counterexample | None


class Run:
    """A model that has gone through a schedule, with the invariants looked at after each step."""

    def __init__(
        self,
        directory: pathlib.Path,
        limits: Mapping[str, int] | None = None,
        min_isr: int = 1,
        protocol: str = "2.5",
    ) -> None:
        self.model = ThreeReplicas(directory, limits, min_isr, protocol)
        self._invariants = Invariants(self.model)
        self.schedule: list[str] = []
        self.broken: list[str] = []

    def as_far_as_possible(self, *steps: str) -> Run:
        """Take those of the steps that can be taken."""
        for step in steps:
            with contextlib.suppress(NotPossible):
                self.go(step)
        return self

    def settle(self) -> Run:
        """Nothing more goes wrong: brokers come back, all words arrive, all replicas fetch, until nothing changes."""
        self.as_far_as_possible(*(f"start {i}" for i in IDS))
        for _ in range(60):
            steps = [s for s in self.model.possible() if s.split()[0] in ("tell", "send", "serve", "take", "late")]
            self.as_far_as_possible(*steps)
        return self

    def go(self, *steps: str) -> Run:
        """Take the steps, until an invariant is broken; NotPossible."""
        for step in steps:
            if self.broken:
                break
            self.model.step(step)
            self.schedule.append(step)
            self.broken = self._invariants.broken()
        return self

    @property
    def counterexample(self) -> Counterexample | None:
        return Counterexample(tuple(self.schedule), tuple(self.broken)) if self.broken else None


@contextlib.contextmanager
def new_run(limits: Mapping[str, int] | None = None, min_isr: int = 1, protocol: str = "2.5") -> Iterator[Run]:
    """A model in a directory of its own, in memory if there is such a place."""
    where = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="kafka-py-model-", dir=where) as directory:
        run = Run(pathlib.Path(directory), limits, min_isr, protocol)
        try:
            yield run
        finally:
            run.model.close()


class Search:
    """Looks through the schedules that begin with `prefix`."""

    def __init__(
        self,
        prefix: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
        min_isr: int = 1,
        kinds: Iterable[str] = KINDS,
        protocol: str = "2.5",
    ) -> None:
        self._prefix = list(prefix)
        self._limits = limits
        self._min_isr = min_isr
        self._kinds = frozenset(kinds)
        self._protocol = protocol

    def _new_run(self) -> contextlib.AbstractContextManager[Run]:
        return new_run(self._limits, self._min_isr, self._protocol)

    def _possible(self, run: Run) -> list[str]:
        return [step for step in run.model.possible() if step.split()[0] in self._kinds]

    def exhaustive(self, depth: int, progress: Callable[[str], object] = lambda text: None) -> Found:
        """All states that can be reached in `depth` steps; the first one in which something is broken."""
        seen: set[int] = set()
        level: list[list[str]] = [self._prefix]
        for at in range(depth + 1):
            following: list[list[str]] = []
            for schedule in level:
                with self._new_run() as run:
                    run.go(*schedule)
                    if run.counterexample is not None:
                        return Found(len(seen), run.counterexample)
                    state = run.model.fingerprint()
                    if state not in seen:
                        seen.add(state)
                        following += [[*schedule, step] for step in self._possible(run)]
            progress(f"depth {at}: {len(seen)} states, {len(following)} schedules to go on with")
            level = following
        return Found(len(seen), None)

    def at_random(
        self, schedules: int, depth: int, seed: int = 0, progress: Callable[[str], object] = lambda text: None
    ) -> Found:
        """So many schedules of that depth, the first by `seed`, the next by `seed` + 1 and so on."""
        for n in range(schedules):
            with self._new_run() as run:
                self._walk(run, depth, random.Random(seed + n))
                if run.counterexample is not None:
                    progress(f"seed {seed + n}: {run.broken}")
                    return Found(n + 1, self.shortest(run.counterexample))
            if n % 100 == 99:
                progress(f"seeds {seed} to {seed + n}: nothing")
        return Found(schedules, None)

    def _walk(self, run: Run, depth: int, chance: random.Random) -> None:
        """Each walk prefers other kinds of steps, so that all mixtures come up."""
        weights = {kind: chance.choice((0.1, 0.5, 1, 3)) * (0.3 if kind in _RARE else 1) for kind in KINDS}
        run.go(*self._prefix)
        while len(run.schedule) < depth and not run.broken:
            possible = self._possible(run)
            if not possible:
                return
            run.go(*chance.choices(possible, [weights[step.split()[0]] for step in possible]))

    def shortest(self, found: Counterexample) -> Counterexample:
        """The same without the steps that it does not need."""
        length = len(found.schedule) // 2
        while length:
            at = 0
            while at < len(found.schedule):
                shorter = self._try([*found.schedule[:at], *found.schedule[at + length :]])
                if shorter is None:
                    at += length
                else:
                    found = shorter
            length //= 2
        return found

    def _try(self, schedule: Sequence[str]) -> Counterexample | None:
        """What of a schedule is possible, as far as something is broken."""
        with self._new_run() as run:
            return run.as_far_as_possible(*schedule).counterexample
