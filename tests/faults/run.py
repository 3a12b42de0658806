"""A run: three brokers, the clients, a plan of faults; then everything is checked and the replicas are compared."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafka_py.testing.cluster import Cluster
from tests.faults.checker import Checker, Place, Violation, compare_replicas
from tests.faults.clocks import Clocks, has_compiler
from tests.faults.history import History, read_history
from tests.faults.nemesis import Nemesis, Scenario
from tests.faults.workload import PLACES, Workload

BROKERS = 3
_START_TIMEOUT_S = 120
_BAR_WIDTH = 20
PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "replica.socket.timeout.ms": "5000",
    "controller.socket.timeout.ms": "5000",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "controlled.shutdown.retry.backoff.ms": "200",
    "num.recovery.threads.per.data.dir": "1",
}


class Row(NamedTuple):
    """What became of a scenario."""

    scenario: Scenario
    pause_s: float


class Result(NamedTuple):
    """What became of a run."""

    rows: list[Row]
    violations: list[Violation]
    counts: collections.Counter[str]

    def table(self) -> str:
        """Kind of fault, how often, and for how long some partition took no writes meanwhile: median and most."""
        times: dict[str, list[float]] = collections.defaultdict(list)
        for row in self.rows:
            times[str(row.scenario)].append(row.pause_s)
        width = max(map(len, times), default=0)
        lines = [f"{'fault':{width}}  count  median  most (seconds in which some partition took no writes)"]
        for kind, found in sorted(times.items()):
            lines.append(f"{kind:{width}}  {len(found):5}  {statistics.median(found):6.2f}  {max(found):4.2f}")
        return "\n".join(lines)


class FaultRun:
    """One cluster in a directory; ``history.jsonl`` there tells everything."""

    def __init__(
        self, home: pathlib.Path, seed: int, say: Callable[[str], None], properties: Mapping[str, str] | None = None
    ) -> None:
        self._home = home
        self._seed = seed
        self._say = say
        self._began = time.monotonic()
        known = {**PROPERTIES, **(properties or {})}
        self.cluster = Cluster(BROKERS, home=home / "cluster", properties=known, log_dirs=2)

    def carry_out(self, plan: Sequence[Scenario]) -> Result:
        """Raises TimeoutError or RuntimeError when the cluster does not become well again, or a client does not end."""
        history = History(self._home / "history.jsonl")
        rows = []
        with contextlib.ExitStack() as closing:
            closing.callback(history.close)
            clocks = None
            if has_compiler():
                clocks = closing.enter_context(Clocks(self.cluster, self._home).preloaded())
            closing.enter_context(self.cluster)
            workload = Workload(self.cluster.bootstrap_servers, history, self._seed)
            workload.create_topics(BROKERS)
            self.cluster.await_no_under_replicated()
            closing.enter_context(workload.running())
            workload.acknowledged.wait(_START_TIMEOUT_S)
            nemesis = Nemesis(self.cluster, history, workload.acknowledged, clocks)
            for number, scenario in enumerate(plan):
                self._show(number, len(plan), f"{scenario} ...")
                done, pause_s = nemesis.carry_out(scenario)
                rows.append(Row(scenario, pause_s))
                self._show(number + 1, len(plan), f"{scenario}: {done}; writes paused for {pause_s:.2f} s", True)
            ends = workload.finish()
            violations = self._stop_brokers()
        checker = Checker(read_history(history.path))
        violations += checker.check() + self._compare(ends)
        return Result(rows, violations, checker.counts)

    def _show(self, done: int, total: int, text: str, lasting: bool = False) -> None:
        filled = _BAR_WIDTH * done // total
        line = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {done}/{total} {time.monotonic() - self._began:6.1f} s"
        if lasting:
            self._say(f"{line}  {text}")
        elif sys.stderr.isatty():
            print(f"\r{line}  {text}", end="\r", file=sys.stderr, flush=True)

    def _stop_brokers(self) -> list[Violation]:
        """All at once, and each is told once: a second signal could come when Python itself ends."""
        with concurrent.futures.ThreadPoolExecutor(BROKERS) as pool:
            codes = list(pool.map(lambda broker: broker.process.stop(), self.cluster.brokers))
        return [Violation("did not stop", f"broker {id} ended with {code}") for id, code in enumerate(codes) if code]

    def _compare(self, ends: dict[Place, int]) -> list[Violation]:
        found = []
        for place in PLACES:
            directories = {}
            for broker in self.cluster.brokers:
                here = [path / str(place) for path in broker.log_dirs if (path / str(place)).is_dir()]
                if len(here) == 1:
                    directories[broker.id] = here[0]
                else:
                    found.append(Violation("differ", f"{place} is in {len(here)} directories of broker {broker.id}"))
            found += compare_replicas(place, directories, ends[place])
        return found
