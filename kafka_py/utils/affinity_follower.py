"""Keeps a broker on one core as long as it has that core, and off it while others want it too.

Ours, no original. One core is best for threads of one interpreter (`cpu_affinity.py`), but a process bound to a core
that others use gets only its share of that one, and cannot go where there is room: beside 10 busy processes on two
cores a bound broker answers a quarter of the requests of an unbound one, beside 40 a tenth. So `auto` looks four times
a second and follows the machine.

How long threads wait for a core says too little by itself: bound to one, ours wait for each other. What they wait for
*others* is at most what the core has worked for others meanwhile; the smaller of the two is taken.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kafka_py.common.utils.time import Time
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import Metrics
from kafka_py.utils.cpu_affinity import bind_all_threads, free_all_threads
from kafka_py.utils.logging import get_logger
from kafka_py.utils.shutdownable_thread import ShutdownableThread

INTERVAL_MS = 250
_IDLE_SHARE = 0.02  # of a core: who uses less has nothing to gain from any of this ...
_LATE_SHARE = 0.1  # ... unless it uses so little because it does not get more: then our own thread comes late
_STARVED_SHARE = 0.25  # of an interval: a wait below this is nobody's harm
_STARVED_RATIO = 1.25  # waiting for others, to running: a bound process does more in its time, so some wait pays
_ELSEWHERE_RATIO = 0.8  # the same if another core is half idle: it pays to go there
_STARVED_INTERVALS = 2
_ROOM = 0.1  # cores that others may use beyond all but one, for it to count as calm
_CALM_S = 1.0
_MOST_CALM_S = 64.0
_SHORT_BINDING_S = 30.0  # a binding that lasted less was a mistake: more calm is wanted before the next

_log = get_logger("kafka_py.utils.AffinityFollower")


class Interval(NamedTuple):
    """What happened between two looks; all but the first in shares of its length, 1.0 being one core.

    ``waited`` is 0 where it was not asked for.
    """

    seconds: float
    own: float
    busy: Mapping[int, float]
    waited: float


class Machine(Protocol):
    """Where the figures come from."""

    def own_ns(self) -> int:
        """Processor time of this process."""

    def busy_ns(self) -> dict[int, int]:
        """By core, the time it has worked for any process."""

    def waited_ns(self) -> dict[int, int]:
        """By thread of this process, the time it could have run and had no core."""


class Proc:
    """Linux's figures, out of /proc."""

    def __init__(self, root: str = "/proc") -> None:
        """``root`` is another folder in tests."""
        self._stat = f"{root}/stat"
        self._tasks = f"{root}/self/task"
        self._ns_per_tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

    def own_ns(self) -> int:
        """Processor time of this process."""
        return clock.process_time_ns()

    def busy_ns(self) -> dict[int, int]:
        """By core, the time in user and system mode; not that of interrupts, most of which are the work of our own."""
        found = {}
        with open(self._stat) as lines:
            for line in lines:
                name, *ticks = line.split()
                if not name.startswith("cpu"):
                    break
                if name != "cpu":
                    user, nice, system = ticks[:3]
                    found[int(name[3:])] = (int(user) + int(nice) + int(system)) * self._ns_per_tick
        return found

    def waited_ns(self) -> dict[int, int]:
        """By thread, the second field of its schedstat."""
        found = {}
        for thread in os.listdir(self._tasks):
            try:
                with open(f"{self._tasks}/{thread}/schedstat") as file:
                    found[int(thread)] = int(file.read().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
        return found


class AffinityRule:
    """When to leave the core and when to take one again: figures in, a decision out.

    Thread: the follower's.
    """

    def __init__(self, cores: Sequence[int]) -> None:
        """The process may run on these cores."""
        self._cores = cores
        self._starved = 0  # thread: follower
        self._calm_s = 0.0  # thread: follower
        self._calm_wanted_s = _CALM_S  # thread: follower
        self._busy_while_calm: dict[int, float] = {}  # thread: follower

    @staticmethod
    def used_by_others(core: int, interval: Interval) -> float:
        """The share of the interval in which the core, to which the process is bound, has worked for others."""
        return max(0.0, interval.busy[core] - interval.own)

    @classmethod
    def is_suspect(cls, core: int, interval: Interval) -> bool:
        """Whether others have used so much of the core that it matters how long our threads have waited."""
        return cls.used_by_others(core, interval) >= _STARVED_SHARE

    def is_to_leave(self, core: int, interval: Interval) -> bool:
        """Whether the process, bound to the core, should be let go: others have kept it waiting twice in a row."""
        wait = min(interval.waited, self.used_by_others(core, interval))
        is_room_elsewhere = any(interval.busy[other] < 0.5 for other in self._cores if other != core)
        ratio = _ELSEWHERE_RATIO if is_room_elsewhere else _STARVED_RATIO
        is_starved = wait >= _STARVED_SHARE and wait >= ratio * interval.own
        self._starved = self._starved + 1 if is_starved else 0
        return self._starved >= _STARVED_INTERVALS

    def nothing_wanted(self) -> None:
        """The process was idle."""
        self._starved = 0

    def left(self, seconds_bound: float) -> None:
        """The process was let go, after so long."""
        is_mistake = seconds_bound < _SHORT_BINDING_S
        self._calm_wanted_s = min(4 * self._calm_wanted_s, _MOST_CALM_S) if is_mistake else _CALM_S
        self._starved, self._calm_s = 0, 0.0
        self._busy_while_calm.clear()

    def cores_to_take(self, interval: Interval) -> list[int]:
        """The cores, calmest first, when it has been calm for long enough to be bound again; else none.

        Calm is a machine whose other processes leave one core to us.
        """
        others = sum(interval.busy[core] for core in self._cores) - interval.own
        if others > len(self._cores) - 1 + _ROOM:
            self._calm_s = 0.0
            self._busy_while_calm.clear()
            return []
        self._calm_s += interval.seconds
        for core in self._cores:
            before = self._busy_while_calm.get(core, 0.0)
            self._busy_while_calm[core] = before + interval.busy[core] * interval.seconds
        if self._calm_s < self._calm_wanted_s:
            return []
        # Of cores that are as calm as each other not the first, which serves most interrupts.
        return sorted(
            [*self._cores[1:], self._cores[0]], key=lambda core: round(self._busy_while_calm[core] / self._calm_s, 1)
        )


class _Look(NamedTuple):
    at_ns: int
    own_ns: int
    busy_ns: Mapping[int, int]
    waited_ns: Mapping[int, int] | None = None


class AffinityFollower(ShutdownableThread):
    """Binds the process to a core while it has that to itself, and lets it go while it has not.

    Metrics: `kafka.server:type=CpuAffinity,name=BoundCore` is the core, -1 while there is none; `name=ChangeCount`
        how often that has changed.

    Thread: its own; the gauges are read by whoever asks.
    """

    BOUND_CORE = KafkaMetricsGroup.explicit_metric_name("kafka.server", "CpuAffinity", "BoundCore")
    CHANGE_COUNT = KafkaMetricsGroup.explicit_metric_name("kafka.server", "CpuAffinity", "ChangeCount")

    def __init__(
        self,
        cores: Sequence[int],
        core: int,
        machine: Machine | None = None,
        time: Time | None = None,
        bind: Callable[[Sequence[int]], int] = bind_all_threads,
        free: Callable[[Sequence[int]], None] = free_all_threads,
    ) -> None:
        """The process may run on ``cores``, and is bound to ``core``.

        Raises OSError or ValueError when the machine does not tell what is to be known.
        """
        super().__init__("cpu-affinity-follower")
        self.core: int | None = core  # volatile: follower
        self.change_count = 0  # volatile: follower
        self._cores = cores
        self._machine = machine or Proc()
        self._time = time or Time.SYSTEM
        self._bind = bind
        self._free = free
        self._rule = AffinityRule(cores)
        unknown = set(cores) - self._machine.busy_ns().keys()
        if unknown:
            raise ValueError(f"the kernel does not tell how busy the cores {sorted(unknown)} are")
        self._machine.waited_ns()
        self._seen_ns = self._bound_ns = self._time.nanoseconds()  # thread: follower
        self._own_ns = self._machine.own_ns()  # thread: follower
        self._before: _Look | None = None  # thread: follower
        registry = Metrics.default_registry()
        registry.new_gauge(self.BOUND_CORE, lambda: -1 if self.core is None else self.core)
        registry.new_gauge(self.CHANGE_COUNT, lambda: self.change_count)

    @classmethod
    def start_if_bound(cls, cores: Sequence[int]) -> AffinityFollower | None:
        """Follow the machine if the process, which might run on all these cores, is bound to one of them."""
        if len(cores) < 2:  # or a system without such a thing
            return None
        bound = os.sched_getaffinity(0)
        if len(bound) != 1:
            return None
        try:
            follower = cls(cores, min(bound))
        except (OSError, ValueError) as e:
            _log.warn("The process stays bound to core %d, however busy others make it: %s", min(bound), e)
            return None
        follower.start()
        return follower

    def shutdown(self) -> None:
        """Stop following; the process stays as it is."""
        super().shutdown()
        for name in (self.BOUND_CORE, self.CHANGE_COUNT):
            Metrics.default_registry().remove_metric(name)

    def do_work(self) -> None:
        """Wait, and look."""
        self.pause(INTERVAL_MS)
        if self.is_running:
            self.look()

    def look(self) -> None:
        """See what has happened since the last time, and bind or let go if it is time for it.

        An idle process on its core costs a system call or two for this, one that works there 50 us of processor time.
        How long its threads have waited takes a millisecond, and is asked for only while others use the core.
        """
        if self.core is not None and self._is_idle():
            self._before = None
            self._rule.nothing_wanted()
            return
        machine = self._machine
        before, now = self._before, _Look(self._time.nanoseconds(), machine.own_ns(), machine.busy_ns())
        if self.core is not None and (before is None or self._rule.is_suspect(self.core, _between(before, now))):
            now = now._replace(waited_ns=machine.waited_ns())
        self._before = now
        if before is not None:
            self._decide(_between(before, now))

    def _decide(self, interval: Interval) -> None:
        if self.core is None:
            cores = self._rule.cores_to_take(interval)
            if cores:
                self._take(cores)
        elif self._rule.is_to_leave(self.core, interval):
            self._leave(self.core, interval)

    def _is_idle(self) -> bool:
        now, own = self._time.nanoseconds(), self._machine.own_ns()
        passed, used = now - self._seen_ns, own - self._own_ns
        self._seen_ns, self._own_ns = now, own
        return used < _IDLE_SHARE * passed and passed < (1 + _LATE_SHARE) * INTERVAL_MS * 1_000_000

    def _leave(self, core: int, interval: Interval) -> None:
        self._free(self._cores)
        self.core = None
        self._changed()
        self._rule.left((self._time.nanoseconds() - self._bound_ns) / 1e9)
        self.info(
            "Not bound to core %d any more: it works for other processes for %d %% of the time, while ours wait "
            "(kafka.py.cpu.affinity=auto)",
            core,
            100 * self._rule.used_by_others(core, interval),
        )

    def _take(self, cores: Sequence[int]) -> None:
        self.core = self._bind(cores)
        self._changed()
        self._bound_ns = self._seen_ns = self._time.nanoseconds()
        self._own_ns = self._machine.own_ns()
        self.info(
            "Bound to core %d again: other processes leave one to this (kafka.py.cpu.affinity=auto)",
            self.core,
        )

    def _changed(self) -> None:
        self._before = None  # what follows is another time
        self.change_count += 1


def _between(before: _Look, after: _Look) -> Interval:
    passed = max(1, after.at_ns - before.at_ns)
    busy = {core: (ns - before.busy_ns.get(core, ns)) / passed for core, ns in after.busy_ns.items()}
    waited = 0
    if before.waited_ns is not None and after.waited_ns is not None:
        waited = sum(ns - before.waited_ns.get(thread, 0) for thread, ns in after.waited_ns.items())
    return Interval(passed / 1e9, (after.own_ns - before.own_ns) / passed, busy, waited / passed)
