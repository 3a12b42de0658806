"""The picture of a stream's run: how much it did, how far it was behind, how long its micro-batches took."""

from __future__ import annotations

import datetime
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Sample(NamedTuple):
    """One micro-batch: when it began (seconds since the epoch), its records, seconds, and the records left after it."""

    batch: int
    began: float
    rows: int
    seconds: float
    lag: int

    @property
    def rows_per_second(self) -> float:
        """Its throughput."""
        return self.rows / self.seconds if self.seconds else 0.0

    @staticmethod
    def of(progress: Mapping[str, Any]) -> Sample:
        """Of a query's progress as Spark reports it; the lag is what its sources had beyond the batch's end."""
        began = datetime.datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
        return Sample(
            progress["batchId"],
            began,
            progress["numInputRows"],
            progress["durationMs"].get("triggerExecution", 0) / 1000,
            sum(lag_of(source) for source in progress["sources"]),
        )


def lag_of(source: Mapping[str, Any]) -> int:
    """Records between where a batch ended and what was there: latestOffset less endOffset over all partitions."""
    import json

    def offsets(text: Any) -> dict[tuple[str, str], int]:
        found = json.loads(text) if isinstance(text, str) else text
        return {(t, p): int(o) for t, parts in (found or {}).items() for p, o in parts.items()}

    ends = offsets(source["endOffset"])
    return sum(max(0, latest - ends.get(tp, 0)) for tp, latest in offsets(source["latestOffset"]).items())


class Steps(NamedTuple):
    """A curve that is level for as long as each micro-batch took: edges has one element more than levels."""

    edges: list[float]
    levels: list[float]


def steps_of(samples: Sequence[Sample], level: Callable[[Sample], float]) -> Steps:
    """The value of each micro-batch from its begin to its end; nan in between, where there was none."""
    edges: list[float] = []
    levels: list[float] = []
    for sample in samples:
        began = sample.began - samples[0].began
        if edges and began > edges[-1]:
            levels.append(math.nan)
            edges.append(began)
        elif not edges:
            edges.append(began)
        levels.append(level(sample))
        edges.append(max(edges[-1], began + sample.seconds))
    return Steps(edges, levels)


def scale_of(samples: Sequence[Sample], level: Callable[[Sample], float], least: float = 0.0) -> float:
    """Where an axis ends: above all batches but the first, in which Spark compiles the query, if there are others."""
    return 1.15 * max([least, *(level(sample) for sample in samples[1:] or samples)]) or 1.0


def draw(samples: Sequence[Sample], path: pathlib.Path, title: str, sent_per_second: float | None = None) -> None:
    """Write a PNG of three curves over time. Raises OSError; ValueError without samples.

    What a batch did holds for as long as it took, so curves are steps; ``sent_per_second`` is the line to compare with.
    A first batch that is off the scale has its value written at the edge.
    """
    if not samples:
        raise ValueError("There is nothing to draw")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: tuple[tuple[str, Callable[[Sample], float], str, float | None], ...] = (
        ("records/s", lambda sample: sample.rows_per_second, "tab:blue", sent_per_second),
        ("records behind", lambda sample: float(sample.lag), "tab:red", None),
        ("s per micro-batch", lambda sample: sample.seconds, "tab:green", None),
    )
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(9, 7), sharex=True, layout="constrained")
    try:
        figure.suptitle(title)
        for axis, (label, level, colour, beside) in zip(axes, panels, strict=True):
            steps = steps_of(samples, level)
            axis.stairs(steps.levels, steps.edges, color=colour, fill=True, alpha=0.25)
            axis.stairs(steps.levels, steps.edges, color=colour, baseline=None, linewidth=1.6, label="read")
            top = scale_of(samples, level, beside or 0.0)
            if beside is not None:
                axis.axhline(beside, color="black", linestyle="--", linewidth=1, label=f"sent: {beside:,.0f}")
                axis.legend(loc="upper right")
            first = level(samples[0])
            if first > top:
                axis.annotate(
                    f"{first:,.10g} \N{UPWARDS ARROW}", (0, top), (4, -12), textcoords="offset points", color=colour
                )
            axis.set_ylabel(label)
            axis.set_ylim(0, top)
            axis.set_xlim(left=0)
            axis.grid(alpha=0.3)
            axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes[-1].set_xlabel("seconds; a step is as wide as its micro-batch took")
        figure.savefig(path, dpi=110)
    finally:
        pyplot.close(figure)
