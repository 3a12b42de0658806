"""The kafka_segments source, over directories written by hand."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest

from kafka_py.spark.layout import read_offset_checkpoint, replica_dirs, segment_files
from kafka_py.spark.source import KafkaBatch, KafkaSourceOptions, split
from tests.spark.test_arrow_decoder import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_partition(home: pathlib.Path, name: str, first: int, batches: int, index_every: int = 3) -> None:
    """A segment of ten-record batches with an index entry for every few of them (largest offset, position)."""
    directory = home / name
    directory.mkdir(exist_ok=True)
    log, index = bytearray(), bytearray()
    for i in range(batches):
        base = first + i * 10
        if i and i % index_every == 0:
            index += (base + 9 - first).to_bytes(4, "big") + len(log).to_bytes(4, "big")
        log += build(base, [(base + j, b"k%d" % (base + j), b"v%d" % (base + j), []) for j in range(10)])
    (directory / f"{first:020}.log").write_bytes(log)
    (directory / f"{first:020}.index").write_bytes(index + bytes(64))


@pytest.fixture
def log_dir(tmp_path: pathlib.Path) -> pathlib.Path:
    write_partition(tmp_path, "t-0", 0, 10)
    write_partition(tmp_path, "t-0", 100, 10)
    write_partition(tmp_path, "t-1", 40, 5)
    write_partition(tmp_path, "other-0", 0, 2)
    write_partition(tmp_path, "t-2.0123456789abcdef0123456789abcdef-delete", 0, 1)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n3\nt 0 177\nt 1 90\nother 0 20\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    return tmp_path


def options(log_dir: pathlib.Path, **more: str) -> KafkaSourceOptions:
    return KafkaSourceOptions({"logDirs": str(log_dir), "subscribe": "t", **more})


def offsets(log_dir: pathlib.Path, **more: str) -> dict[int, list[int]]:
    reader = KafkaBatch(options(log_dir, **more), ("partition", "offset"))
    found: dict[int, list[int]] = {}
    for piece in reader.partitions():
        for table in reader.read(piece):
            found.setdefault(piece.partition, []).extend(table.column("offset").to_pylist())
    return found


def test_layout(log_dir: pathlib.Path) -> None:
    replicas = {(r.topic, r.partition): r for r in replica_dirs([str(log_dir)])}
    assert set(replicas) == {("t", 0), ("t", 1), ("other", 0)}
    first = replicas["t", 0]
    assert (first.log_start_offset, first.high_watermark, first.log_end_offset) == (5, 177, 200)
    assert replicas["t", 1].log_start_offset == 40
    assert [s.base_offset for s in segment_files(log_dir / "t-0")] == [0, 100]
    assert read_offset_checkpoint(log_dir / "nothing") == {}
    (log_dir / "empty").touch()
    assert read_offset_checkpoint(log_dir / "empty") == {}


def test_reads_from_the_log_start_to_the_high_watermark(log_dir: pathlib.Path) -> None:
    assert offsets(log_dir) == {0: list(range(5, 177)), 1: list(range(40, 90))}
    assert offsets(log_dir, endingOffsets="unsafe-end")[0] == list(range(5, 200))


@pytest.mark.parametrize("max_bytes", ["1", "700", "100000"])
@pytest.mark.parametrize(("start", "end"), [(7, 8), (99, 101), (29, 30), (30, 61), (5, 177)])
def test_any_range_in_any_pieces(log_dir: pathlib.Path, start: int, end: int, max_bytes: str) -> None:
    wanted = {
        "startingOffsets": f'{{"t":{{"0":{start},"1":-2}}}}',
        "endingOffsets": f'{{"t":{{"0":{end},"1":-1}}}}',
        "maxPartitionBytes": max_bytes,
    }
    assert offsets(log_dir, **wanted) == {0: list(range(start, end)), 1: list(range(40, 90))}


def test_a_small_window_reads_few_bytes(log_dir: pathlib.Path) -> None:
    segment = next(iter(segment_files(log_dir / "t-0")))
    pieces = list(split(segment, 50, 60, 1 << 30))
    assert len(pieces) == 1
    assert pieces[0][1] - pieces[0][0] < segment.size


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"startingOffsets": "latest"}, "starting offset can't be latest"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest"),
        ({"assign": "{}"}, "Only one of the following options"),
        ({"includeHeaders": "true"}, "cannot read headers yet"),
        ({"maxPartitionBytes": "0"}, "must be positive"),
        ({"logDirs": "/nowhere/*"}, "No log directory"),
    ],
)
def test_wrong_options_are_refused(log_dir: pathlib.Path, wrong: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        options(log_dir, **wrong)


def test_a_missing_strategy_is_refused(log_dir: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="One of the following options must be specified"):
        KafkaSourceOptions({"logDirs": str(log_dir)})


def test_offsets_that_are_gone_fail_the_query_unless_told_otherwise(log_dir: pathlib.Path) -> None:
    gone = {"startingOffsets": '{"t":{"0":0,"1":40}}'}
    with pytest.raises(ValueError, match="failOnDataLoss"):
        offsets(log_dir, **gone)
    assert offsets(log_dir, failOnDataLoss="false", **gone)[0][0] == 5


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_what_is_there(spark: SparkSession, log_dir: pathlib.Path) -> None:
    df = spark.read.format("kafka_segments").option("logDirs", str(log_dir)).option("subscribePattern", "t|o.*").load()
    assert df.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert {(r["topic"], r["n"]) for r in df.groupBy("topic").count().withColumnRenamed("count", "n").collect()} == {
        ("t", 172 + 50),
        ("other", 20),
    }
    row = df.where("topic = 't' and partition = 1 and offset = 41").collect()[0]
    assert (bytes(row["key"]), bytes(row["value"]), row["timestampType"]) == (b"k41", b"v41", 0)
    narrow = spark.read.schema("offset long").format("kafka_segments").option("subscribe", "t")
    assert narrow.load(str(log_dir)).agg({"offset": "max"}).collect()[0][0] == 176
    empty = spark.read.format("kafka_segments").option("subscribe", "nothing").load(str(log_dir))
    assert empty.count() == 0
