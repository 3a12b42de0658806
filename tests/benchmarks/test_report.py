"""Pairs, ratios, bars and tables."""

from __future__ import annotations

import pytest

from benchmarks import report
from benchmarks.report import BARS, Bar, Compared, compare
from benchmarks.worker import WORKLOADS
from benchmarks.workload import GROUPS, Outcome, choose, is_more_better


def outcomes(metric: str, *values: float | None) -> list[Outcome]:
    return [Outcome(error="broke") if value is None else Outcome({metric: value}) for value in values]


def test_ratios_are_of_neighbours_not_of_medians() -> None:
    # The machine was slow in the second round: both sides fell, their ratio did not.
    found = compare(outcomes("mb_s", 100, 20, 110), outcomes("mb_s", 50, 10, 100), "mb_s")
    assert found == Compared(median_a=100, median_b=50, ratio=2.0, lowest=1.1, highest=2.0)


def test_a_round_that_failed_on_one_side_is_no_pair() -> None:
    found = compare(outcomes("mb_s", 100, None, 30), outcomes("mb_s", 50, 10), "mb_s")
    assert found == Compared(100, 50, 2.0, 2.0, 2.0)
    assert compare(outcomes("mb_s", None), outcomes("mb_s", 1), "mb_s") is None
    assert compare(outcomes("mb_s", 1), outcomes("mb_s", 0), "mb_s") is None


@pytest.mark.parametrize(
    ("metric", "better"),
    [
        ("mb_s", True),
        ("requests_s", True),
        ("lat_p50_us", False),
        ("cpu_s_per_gb", False),
        ("first_produce_s", False),
        ("rss_max_mb", False),
        ("p50_ratio", False),
    ],
)
def test_what_is_better(metric: str, better: bool) -> None:
    assert is_more_better(metric) is better


def test_verdicts() -> None:
    rate = Bar("P", "", "w", "mb_s", 0.4, 0.7, 1.0)
    assert [rate.verdict(x) for x in (0.3, 0.4, 0.7, 1.0)] == ["missed", "floor", "target", "moonshot"]
    time = Bar("P", "", "w", "lat_p50_us", 1.8, 1.3, 1.0)
    assert [time.verdict(x) for x in (1.9, 1.8, 1.3, 0.9)] == ["missed", "floor", "target", "moonshot"]


def test_bars_are_ordered_and_measured_by_workloads_there_are() -> None:
    for bar in BARS:
        steps = [bar.floor, bar.target, bar.moonshot]
        assert steps == sorted(steps, reverse=not bar.more_is_better), bar.id
        assert bar.workload in (*WORKLOADS, "startup", report.ANY_WORKLOAD), bar.id


def test_bars_table() -> None:
    a = {
        "raw_rps_64": [Outcome({"requests_s": 80.0, "lat_p999_us": 5.0, "cpu_us_per_request": 20.0, "rss_max_mb": 70})],
        "startup": [Outcome({"first_produce_s": x, "rss_idle_mb": 45}) for x in (9.0, 0.5, 0.1)],
        "conn_idle": [Outcome({"rss_kib_per_connection": x}) for x in (0.1, 1.4, 0.2)],
    }
    b = {"raw_rps_64": [Outcome({"requests_s": 100.0, "lat_p999_us": 10.0, "cpu_us_per_request": 32.0})]}
    rows = {line.split(" | ")[0][2:] + line.split(" | ")[1]: line for line in report.bars_table(a, b).splitlines()[2:]}
    assert rows["P1raw_rps_64 requests/s"].endswith("| 0.8x | - | - | target |")
    assert rows["P3raw_rps_64 p99.9"].endswith("| 0.5x | - | - | target |")
    assert rows["P10resident memory under load, MiB"].endswith("| 70 | - | - | target |")
    assert rows["P10memory of an idle connection, KiB"].endswith("| 1.4 | - | - | floor |")
    assert rows["P11start to first Produce, s"].endswith("| 0.5 | - | - | floor |")
    assert rows["P13CPU us per small produce, 64 connections"].endswith("| 20 | 32 | 10 | moonshot |")
    assert not any(row.startswith("P2") for row in rows)


def test_pair_table() -> None:
    a = {"w": outcomes("mb_s", 2000.0, None), "v": outcomes("mb_s", None)}
    b = {"w": outcomes("mb_s", 1000.0, 5.0), "v": outcomes("mb_s", None)}
    a["w"][0].figures |= {"client_share": 0.5, "others_share": 0.2, "cpu_s_per_gb": 1.5}
    _, _, w, v = report.pair_table(a, b, {"w": "mb_s", "v": "mb_s"}).splitlines()
    assert w.startswith("| w | mb_s | 2,000 | 1,000 | **2.00** | 2.00-2.00 | 0.5 / - | 1.5 / - s/GB |")
    assert w.endswith("| others used 20%, 1 runs failed |")
    assert v.endswith("| FAILED: broke |")
    assert len({line.count("|") for line in (w, v)}) == 1


def test_numbers() -> None:
    assert [report.number(x) for x in (None, 0.0, 0.1234, 12.34, 123.4, 12345.6)] == [
        "-",
        "0",
        "0.123",
        "12.3",
        "123",
        "12,346",
    ]


def test_choice_of_workloads() -> None:
    everything = choose("all", WORKLOADS)
    assert "raw_latency" in everything
    assert "raw_zstd" not in everything
    assert choose("conn_*,quick,raw_rps_pipe", WORKLOADS) == [
        "conn_churn",
        "conn_idle",
        *GROUPS["quick"][:-1],
        "raw_rps_pipe",
    ]
    with pytest.raises(ValueError, match="no workload 'raw_x'"):
        choose("raw_x", WORKLOADS)
    for members in GROUPS.values():
        assert set(members) <= set(WORKLOADS)
