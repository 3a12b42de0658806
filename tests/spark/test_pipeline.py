"""The pipeline's steps, what it says of itself, and its command line."""

from __future__ import annotations

import datetime
import math
import pathlib
import random
from typing import TYPE_CHECKING, Any

import pytest

from kafka_py.spark import access_log
from kafka_py.spark.pipeline import BATCH, STREAM, load_steps, parse_arguments
from kafka_py.spark.pipeline_picture import Sample, draw, lag_of, scale_of, steps_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)


def progress(**changes: Any) -> dict[str, Any]:
    source = {"endOffset": '{"t": {"0": 10, "1": 5}}', "latestOffset": '{"t": {"0": 14, "1": 5, "2": 3}}'}
    return {
        "batchId": 3,
        "timestamp": "2026-11-22T12:00:00.500Z",
        "numInputRows": 100,
        "durationMs": {"triggerExecution": 250},
        "sources": [source],
        **changes,
    }


def test_a_sample_of_a_querys_progress() -> None:
    sample = Sample.of(progress())
    assert sample == Sample(3, NOON.timestamp() + 0.5, 100, 0.25, 7)
    assert sample.rows_per_second == 400
    assert Sample.of(progress(durationMs={})).rows_per_second == 0


def test_lag_is_what_was_there_beyond_the_end() -> None:
    assert lag_of({"endOffset": {"t": {"0": 4}}, "latestOffset": {"t": {"0": 9}}}) == 5
    assert lag_of({"endOffset": {"t": {"0": 9}}, "latestOffset": {"t": {"0": 4}}}) == 0
    assert lag_of({"endOffset": {"t": {"0": 9}}, "latestOffset": None}) == 0


def test_the_picture(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "picture.png"
    draw([Sample(i, 1000.0 + i, 100 * i, 0.5, 10 - i) for i in range(10)], path, "t")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(ValueError, match="nothing to draw"):
        draw([], path, "t")


def test_a_curve_is_level_for_as_long_as_a_micro_batch_took() -> None:
    samples = [Sample(0, 100.0, 40, 20.0, 900), Sample(1, 120.0, 30, 2.0, 10), Sample(2, 125.0, 5, 1.0, 0)]
    edges, levels = steps_of(samples, lambda sample: sample.rows_per_second)
    assert edges == [0, 20, 22, 25, 26]
    assert levels[:2] == [2, 15]
    assert math.isnan(levels[2])  # nothing ran there
    assert levels[3] == 5


def test_the_warm_up_does_not_set_the_scale() -> None:
    samples = [Sample(0, 100.0, 40, 20.0, 900), Sample(1, 120.0, 30, 2.0, 10)]
    assert scale_of(samples, lambda sample: sample.seconds) == pytest.approx(2.3)
    assert scale_of(samples, lambda sample: sample.rows_per_second, 100) == pytest.approx(115)
    assert scale_of(samples[:1], lambda sample: sample.seconds) == pytest.approx(23)
    assert scale_of(samples[:1], lambda sample: 0.0) == 1


def test_samples_are_lines_that_parse_reads() -> None:
    key, value = access_log.sample(random.Random(7), NOON)
    time, client, method, path, status, size, ms = value.decode().split()
    assert (time, client, method) == ("2026-11-22T12:00:00.000Z", key.decode(), "GET")
    assert path.startswith("/")
    assert (int(status) in (200, 304, 404, 500), int(size) > 0, float(ms) > 0) == (True, True, True)


def test_options() -> None:
    demo = parse_arguments(["--demo", "--rate", "100"])
    assert (demo.topic, demo.sink_topic, demo.mode, demo.seconds) == ("access-log", "page-views", STREAM, 40)
    assert demo.max_offsets_per_trigger == 600
    given = parse_arguments(["--log-dirs", "/d", "--topic", "t", "--mode", "batch"])
    assert (given.mode, given.sink_topic, given.seconds) == (BATCH, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "or --demo"),
        (["--topic", "t"], "--log-dirs and --bootstrap-server"),
        (["--log-dirs", "/d"], "--topic"),
        (["--log-dirs", "/d", "--topic", "t", "--sink-topic", "s"], "--sink-topic needs --bootstrap-server"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(arguments)
    assert message in capsys.readouterr().err


def test_steps_of_ones_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "steps.py"
    with pytest.raises(ValueError, match="is not a Python file"):
        load_steps(str(path))
    path.write_text("def parse(records): return records\ndef aggregate(parsed): return parsed\n")
    with pytest.raises(ValueError, match="has no function to_records"):
        load_steps(str(path))
    path.write_text(path.read_text() + "def to_records(sums): return 'mine'\n")
    assert load_steps(str(path)).to_records(None) == "mine"
    assert load_steps(None) is access_log


@pytest.mark.spark
@pytest.mark.slow
def test_page_views(spark: SparkSession) -> None:
    came = NOON.replace(hour=13)
    lines = [
        (b"2026-11-22T12:00:01.000Z 10.0.0.1 GET /a 200 10 2.0", came),
        (b"2026-11-22T12:00:09.999Z 10.0.0.1 GET /a 500 20 4.0", came),
        (b"2026-11-22T12:00:10.000Z 10.0.0.1 GET /a 200 30 6.0", came),
        (b"2026-11-22T12:00:02.000Z 10.0.0.1 GET /b 200 40 8.0", came),
        (b"what is this", came),
        (b"2026-11-22T12:00:02.000Z 10.0.0.1 GET /b two 40 8.0", came),
    ]
    records = spark.createDataFrame(lines, "value binary, timestamp timestamp")
    sums = access_log.aggregate(access_log.parse(records))
    rows = {(r["start"].strftime("%H:%M:%S"), r["path"]): tuple(r)[3:] for r in sums.collect()}
    assert rows == {
        ("12:00:00", "/a"): (2, 1, 30, 3.0),
        ("12:00:10", "/a"): (1, 0, 30, 6.0),
        ("12:00:00", "/b"): (1, 0, 40, 8.0),
        ("13:00:00", access_log.UNREADABLE): (2, 0, None, None),
    }
    first = access_log.to_records(sums.where("path = '/b'")).first()
    assert first is not None
    assert first["key"] == "2026-11-22T12:00:00Z /b"
    assert '"views":1' in first["value"]
