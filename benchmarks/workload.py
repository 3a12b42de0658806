"""What a workload is, and how one that runs in a process of its own reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from benchmarks.measure import Figures
from benchmarks.raw_client import Session


@dataclasses.dataclass(frozen=True)
class Workload:
    """A load with a name; ``metric`` is the figure by which brokers are compared under it."""

    name: str
    run: Callable[[Session], Figures]
    metric: str
    about: str
    by_default: bool = True

    @property
    def more_is_better(self) -> bool:
        return is_more_better(self.metric)


def is_more_better(metric: str) -> bool:
    """Whether a larger figure is the better one: rates are, times and costs are not."""
    return metric.endswith("_s") and not metric.startswith(("ready", "first", "cpu", "wall"))


@dataclasses.dataclass
class Outcome:
    """Figures of one run, or why there are none."""

    figures: Figures = dataclasses.field(default_factory=dict)
    error: str | None = None
    skipped: str | None = None

    @property
    def trouble(self) -> str | None:
        return f"FAILED: {self.error}" if self.error else f"skipped: {self.skipped}" if self.skipped else None


GROUPS: Mapping[str, Sequence[str]] = {
    "quick": ("raw_latency", "raw_rps_64", "raw_produce_64k", "raw_produce_16k_100b", "raw_fetch", "conn_churn"),
    "warm_up": ("raw_rps_8", "raw_produce_64k", "raw_produce_16k_100b", "raw_fetch", "raw_e2e", "conn_churn"),
}


def choose(text: str, workloads: Mapping[str, Workload]) -> list[str]:
    """The names that a comma separated list stands for.

    Knows names, beginnings (``raw_*``), the groups, and ``all``: those that run by default. Raises ValueError.
    """
    chosen: list[str] = []
    for part in text.split(","):
        if part == "all":
            chosen += [workload.name for workload in workloads.values() if workload.by_default]
        elif part in GROUPS:
            chosen += GROUPS[part]
        elif part.endswith("*") and any(name.startswith(part[:-1]) for name in workloads):
            chosen += [name for name in workloads if name.startswith(part[:-1])]
        elif part in workloads:
            chosen.append(part)
        else:
            raise ValueError(f"no workload {part!r}; `list` shows them")
    return list(dict.fromkeys(chosen))
