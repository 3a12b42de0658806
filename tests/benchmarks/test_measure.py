"""Quantiles, rates, and what is read out of /proc."""

from __future__ import annotations

import os

import pytest

from benchmarks.measure import Measurement, latencies, process_cpu_s, process_rss_mb, quantile, rates


def test_quantiles_are_values_that_occurred() -> None:
    ordered = [float(n) for n in range(1000)]
    assert [quantile(ordered, share) for share in (0.0, 0.5, 0.99, 0.999, 1.0)] == [0, 500, 990, 999, 999]
    assert quantile([3.0], 0.5) == 3.0
    with pytest.raises(IndexError):
        quantile([], 0.5)


def test_latencies_are_sorted_and_in_microseconds() -> None:
    found = latencies([0.003, 0.001, 0.002])
    assert found == {"lat_p50_us": 2000, "lat_p99_us": 3000, "lat_p999_us": 3000, "lat_max_us": 3000}
    assert latencies([]) == {}


def test_rates() -> None:
    found = rates(2.0, 0.5, nbytes=4_000_000_000, requests=1000, records=6000)
    assert found == {
        "mb_s": 2000,
        "cpu_s_per_gb": 0.125,
        "requests": 1000,
        "requests_s": 500,
        "cpu_us_per_request": 500,
        "records_s": 3000,
    }
    assert rates(2.0, None, nbytes=2_000_000, requests=0, records=0) == {"mb_s": 1}


def test_measurement_of_ourselves() -> None:
    measurement = Measurement(os.getpid())
    figures = measurement.stop(requests=1)
    assert figures["rss_max_mb"] >= 1
    assert figures["wall_s"] > 0
    assert {"broker_share", "client_share", "others_share", "cpu_us_per_request"} <= figures.keys()
    assert process_rss_mb(os.getpid()) > 1
    assert sum(process_cpu_s(os.getpid())) > 0


def test_measurement_without_a_process_has_no_costs() -> None:
    figures = Measurement(None).stop(requests=2, nbytes=10)
    assert figures["requests"] == 2
    assert not {"broker_share", "rss_max_mb", "cpu_s_per_gb"} & figures.keys()
