"""The picture of a stream's run: how much it did, how far it was behind, how long its micro-batches took."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Mapping, Sequence
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


def draw(samples: Sequence[Sample], path: pathlib.Path, title: str) -> None:
    """Write a PNG of three curves over time. Raises OSError; ValueError without samples."""
    if not samples:
        raise ValueError("There is nothing to draw")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    times = [sample.began - samples[0].began for sample in samples]
    panels = (
        ("records/s", [sample.rows_per_second for sample in samples], "tab:blue"),
        ("records behind", [sample.lag for sample in samples], "tab:red"),
        ("s per micro-batch", [sample.seconds for sample in samples], "tab:green"),
    )
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(9, 7), sharex=True, layout="constrained")
    try:
        figure.suptitle(title)
        for axis, (label, values, colour) in zip(axes, panels, strict=True):
            axis.plot(times, values, color=colour, marker=".")
            axis.set_ylabel(label)
            axis.set_ylim(bottom=0)
            axis.grid(alpha=0.3)
            axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes[-1].set_xlabel("seconds")
        figure.savefig(path, dpi=110)
    finally:
        pyplot.close(figure)
