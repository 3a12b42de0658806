"""The measurement of the ring's memory measures something."""

from __future__ import annotations

from benchmarks import event_memory


def test_a_short_run_has_all_figures() -> None:
    figures = event_memory.run(event_memory.parser().parse_args(["--rate", "2000", "--seconds", "0.2"]))
    assert set(figures) == {"events_s", "read_mb", "missed", "quarter_mb", "end_mb"}
    assert figures["read_mb"] > 0
    assert figures["end_mb"] > 1
