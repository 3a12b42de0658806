"""From outcomes to medians, ratios, tables, and the bars that the project has set for itself."""

from __future__ import annotations

import dataclasses
import os
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import confluent_kafka

from benchmarks.measure import CPUS
from benchmarks.workload import Outcome, is_more_better

SHOWN = (
    "mb_s",
    "records_s",
    "requests_s",
    "lat_p50_us",
    "lat_p99_us",
    "lat_p999_us",
    "p50_ratio",
    "rss_kib_per_connection",
    "ready_s",
    "first_produce_s",
    "rss_idle_mb",
    "cpu_s_per_gb",
    "cpu_us_per_request",
    "rss_max_mb",
    "client_share",
    "others_share",
)
# Above this share of the machine used by others, figures are marked.
DISTURBED = 0.08


@dataclasses.dataclass(frozen=True)
class Bar:
    """What to reach: a ratio A/B of a figure, or (``of_a``) the figure of A itself.

    A bar of processor time was set on a machine where Kafka took ``kafkas``; what is measured elsewhere is held against
    it after scaling by what Kafka takes there.
    """

    id: str
    goal: str
    workload: str
    metric: str
    floor: float
    target: float
    moonshot: float
    of_a: bool = False
    kafkas: float = 0.0

    @property
    def more_is_better(self) -> bool:
        return is_more_better(self.metric)

    def verdict(self, measured: float) -> str:
        """The best of the three that was reached."""
        for name, bar in (("moonshot", self.moonshot), ("target", self.target), ("floor", self.floor)):
            if measured >= bar if self.more_is_better else measured <= bar:
                return name
        return "missed"


ANY_WORKLOAD = "*"
BARS = (
    Bar("P1", "raw_rps_64 requests/s", "raw_rps_64", "requests_s", 0.40, 0.70, 1.0),
    Bar("P2", "raw_latency p50", "raw_latency", "lat_p50_us", 1.8, 1.3, 1.0),
    Bar("P3", "raw_rps_64 p99.9", "raw_rps_64", "lat_p999_us", 1.0, 0.6, 0.4),
    Bar("P4", "raw_e2e p50", "raw_e2e", "lat_p50_us", 1.0, 0.7, 0.5),
    Bar("P5", "raw_fetch MB/s", "raw_fetch", "mb_s", 0.9, 1.2, 1.4),
    Bar("P6", "raw_produce_64k MB/s", "raw_produce_64k", "mb_s", 0.6, 1.0, 1.3),
    Bar("P7", "raw_produce_16k_100b MB/s", "raw_produce_16k_100b", "mb_s", 0.3, 0.65, 1.2),
    Bar("P7", "raw_produce_16k_vary MB/s", "raw_produce_16k_vary", "mb_s", 0.4, 0.85, 1.0),
    Bar("P8", "rd_produce_1k MB/s", "rd_produce_1k", "mb_s", 0.6, 1.0, 1.3),
    Bar("P9", "raw_latency_busy p99", "raw_latency_busy", "lat_p99_us", 6.0, 2.5, 1.0),
    Bar("P10", "resident memory idle, MiB", "startup", "rss_idle_mb", 60, 40, 30, True),
    Bar("P10", "resident memory under load, MiB", ANY_WORKLOAD, "rss_max_mb", 120, 80, 50, True),
    Bar("P10", "memory of an idle connection, KiB", "conn_idle", "rss_kib_per_connection", 4, 1, 0.4, True),
    Bar("P11", "start to first Produce, s", "startup", "first_produce_s", 1.8, 0.4, 0.2, True),
    Bar("P12", "CPU s per GB produced", "raw_produce_64k", "cpu_s_per_gb", 2.0, 1.2, 0.9, True, 1.12),
    Bar("P12", "CPU s per GB fetched", "raw_fetch", "cpu_s_per_gb", 0.5, 0.3, 0.2, True, 0.34),
    Bar("P13", "CPU us per small produce, 64 connections", "raw_rps_64", "cpu_us_per_request", 28, 18, 13, True, 16.0),
    Bar("P13", "CPU us per small produce, sequential", "raw_latency", "cpu_us_per_request", 70, 45, 31, True, 31.3),
    Bar("P14", "p50 beside 5,000 idle connections / none", "conn_idle", "p50_ratio", 1.5, 1.1, 1.0, True),
)


@dataclasses.dataclass(frozen=True)
class Compared:
    """One figure of a workload on both sides; ratios are of runs next to each other."""

    median_a: float
    median_b: float
    ratio: float
    lowest: float
    highest: float


def values(outcomes: Sequence[Outcome], metric: str) -> list[float]:
    return [outcome.figures[metric] for outcome in outcomes if metric in outcome.figures]


def compare(a: Sequence[Outcome], b: Sequence[Outcome], metric: str) -> Compared | None:
    """Medians of each side and the median of the paired ratios A/B; None without one pair that has the figure."""
    pairs = [
        (one.figures[metric], other.figures[metric])
        for one, other in zip(a, b, strict=False)
        if metric in one.figures and other.figures.get(metric)
    ]
    if not pairs:
        return None
    ratios = [one / other for one, other in pairs]
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    return Compared(medians[0], medians[1], statistics.median(ratios), min(ratios), max(ratios))


def number(value: float | None) -> str:
    """Three significant digits, thousands separated; a dash for nothing."""
    if value is None:
        return "-"
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def line(outcome: Outcome) -> str:
    """The figures of one run on one line."""
    if outcome.trouble:
        return outcome.trouble
    return " ".join(f"{name}={number(outcome.figures[name])}" for name in SHOWN if name in outcome.figures)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


Outcomes = Mapping[str, Sequence[Outcome]]


def pair_table(a: Outcomes, b: Outcomes, metrics: Mapping[str, str]) -> str:
    """A line for each workload: medians, ratio and its range, the client's share, the broker's cost."""
    rows = []
    for name, metric in metrics.items():
        compared = compare(a[name], b[name], metric)
        if compared is None:
            trouble = next((found for found in [*a[name], *b[name]] if found.trouble), None)
            rows.append([name, metric, *["-"] * 6, trouble.trouble or "" if trouble else "no pair"])
            continue
        costs = _costs(a[name], b[name])
        disturbed = max(values([*a[name], *b[name]], "others_share"), default=0.0)
        failed = sum(bool(outcome.trouble) for outcome in [*a[name], *b[name]])
        remarks = [f"others used {disturbed:.0%}"] if disturbed > DISTURBED else []
        remarks += [f"{failed} runs failed"] if failed else []
        rows.append(
            [
                name,
                metric,
                number(compared.median_a),
                number(compared.median_b),
                f"**{compared.ratio:.2f}**",
                f"{compared.lowest:.2f}-{compared.highest:.2f}",
                _both(a[name], b[name], "client_share"),
                costs,
                ", ".join(remarks),
            ]
        )
    header = ("workload", "figure", "A", "B", "A/B", "range", "client share A / B", "broker CPU A / B", "")
    return markdown(header, rows)


def _both(a: Sequence[Outcome], b: Sequence[Outcome], metric: str) -> str:
    sides = [values(side, metric) for side in (a, b)]
    return " / ".join(number(statistics.median(side)) if side else "-" for side in sides)


def _costs(a: Sequence[Outcome], b: Sequence[Outcome]) -> str:
    for metric, unit in (("cpu_s_per_gb", "s/GB"), ("cpu_us_per_request", "us")):
        if values(a, metric) or values(b, metric):
            return f"{_both(a, b, metric)} {unit}"
    return ""


def bars_table(a: Outcomes, b: Outcomes) -> str:
    """The bars beside what was measured; only those whose workload was run."""
    rows = []
    for bar in BARS:
        measured = measure_bar(bar, a, b)
        if measured is None:
            continue
        other = measure_bar(bar, b, a) if bar.of_a else None
        unit = "" if bar.of_a else "x"
        wanted = [f"{number(value)}{unit}" for value in (bar.floor, bar.target, bar.moonshot)]
        scaled = measured * bar.kafkas / other if bar.kafkas and other else None
        verdict = bar.verdict(measured if scaled is None else scaled)
        rows.append([bar.id, bar.goal, *wanted, f"{number(measured)}{unit}", number(other), number(scaled), verdict])
    return markdown(("id", "goal", "floor", "target", "moonshot", "measured", "of B", "scaled", "reached"), rows)


def measure_bar(bar: Bar, a: Outcomes, b: Outcomes) -> float | None:
    """What a bar is held against, None when it was not measured."""
    if bar.workload == ANY_WORKLOAD:
        return max((value for outcomes in a.values() for value in values(outcomes, bar.metric)), default=None)
    if bar.of_a:
        found = values(a.get(bar.workload, ()), bar.metric)
        # Memory is taken at its largest: what a first round has allocated, the later ones use again.
        judge = max if bar.metric.startswith("rss") else statistics.median
        return judge(found) if found else None
    compared = compare(a.get(bar.workload, ()), b.get(bar.workload, ()), bar.metric)
    return compared.ratio if compared else None


def environment() -> dict[str, Any]:
    """The machine and the tools, for who compares runs later."""
    with open("/proc/cpuinfo") as file:
        models = [text.partition(":")[2].strip() for text in file if text.startswith("model name")]
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "cpu": models[0] if models else platform.machine(),
        "cpus": CPUS,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "librdkafka": confluent_kafka.libversion()[0],
        "load": os.getloadavg(),
    }
