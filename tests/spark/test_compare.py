"""Replicas side by side: the offsets that can be compared, and the batches that are not the same."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, cast

import pytest

from kafka_py.spark.batches import KafkaBatches
from kafka_py.spark.compare import (
    SCHEMA,
    KafkaReplicas,
    KafkaReplicasReader,
    common_bounds,
    compare,
    find_replicas,
    first_divergence,
    replicas,
)
from kafka_py.spark.tables import LogDirOptions, log_dir_options
from tests.spark.test_arrow_decoder import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_broker(home: pathlib.Path, batches: list[bytes], high_watermark: int, partition: str = "t-0") -> str:
    """A log directory with one partition of these batches."""
    directory = home / partition
    directory.mkdir(parents=True)
    (directory / f"{0:020}.log").write_bytes(b"".join(batches))
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 20\n")
    topic, _, number = partition.rpartition("-")
    (home / "replication-offset-checkpoint").write_text(f"0\n1\n{topic} {number} {high_watermark}\n")
    return str(home)


def batch(base: int, value: bytes = b"v") -> bytes:
    return build(base, [(base + i, b"k", value, []) for i in range(10)])


@pytest.fixture
def brokers(tmp_path: pathlib.Path) -> dict[int, str]:
    """Three replicas of 90, 80 and 70 committed offsets. The second has another batch at 30, and none at 50."""
    same = [batch(i * 10) for i in range(10)]
    other = [*same[:3], batch(30, b"other"), same[4], *same[6:]]
    return {
        1: write_broker(tmp_path / "one", same, 90),
        2: write_broker(tmp_path / "two", other, 80),
        5: write_broker(tmp_path / "five", same[:8], 70),
    }


def options(brokers: dict[int, str]) -> LogDirOptions:
    return LogDirOptions(log_dir_options(brokers))


def test_replicas(brokers: dict[int, str]) -> None:
    (pathlib.Path(brokers[5]) / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 12\n")
    reader = KafkaReplicasReader(options(brokers), SCHEMA)
    rows: list[dict[str, Any]] = []
    for task in reader.partitions():
        for table in reader.read(task):
            rows += table.to_pylist()
    assert [(r["broker"], r["highWatermark"], r["logEndOffset"], r["firstDirtyOffset"]) for r in rows] == [
        (1, 90, 100, None),
        (2, 80, 100, None),
        (5, 70, 80, 12),
    ]
    size = pathlib.Path(rows[2]["path"], f"{0:020}.log").stat().st_size
    assert (rows[2]["lastEpoch"], rows[2]["lastEpochStartOffset"], rows[2]["sizeInBytes"]) == (3, 20, size)


def test_a_replica_that_is_gone_gives_no_row(brokers: dict[int, str]) -> None:
    reader = KafkaReplicasReader(options(brokers), SCHEMA)
    tasks = reader.partitions()
    pathlib.Path(brokers[2], "t-0", f"{0:020}.log").unlink()
    assert [row["broker"] for task in tasks for table in reader.read(task) for row in table.to_pylist()] == [1, 5]


def test_compared_is_what_all_replicas_must_have(brokers: dict[int, str], tmp_path: pathlib.Path) -> None:
    write_broker(tmp_path / "alone", [batch(0)], 10, "lonely-3")
    brokers[9] = str(tmp_path / "alone")
    (bounds,) = common_bounds(find_replicas(options(brokers)), uncommitted=False)
    assert bounds == (("t", 0), (1, 2, 5), 0, 70)
    (bounds,) = common_bounds(find_replicas(options(brokers)), uncommitted=True)
    assert bounds.until == 80
    (pathlib.Path(brokers[2]) / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 12\n")
    (pathlib.Path(brokers[1]) / "log-start-offset-checkpoint").write_text("0\n1\nt 0 20\n")
    (bounds,) = common_bounds(find_replicas(options(brokers)), uncommitted=False)
    assert bounds.start == 20


@pytest.mark.spark
@pytest.mark.slow
def test_spark_finds_the_batches_that_differ(spark: SparkSession, brokers: dict[int, str]) -> None:
    for source in (KafkaBatches, KafkaReplicas):
        spark.dataSource.register(source)
    rows = sorted(compare(spark, brokers, check_crcs=False).collect())
    assert [(r["topic"], r["partition"], r["baseOffset"], r["kind"]) for r in rows] == [
        ("t", 0, 30, "different"),
        ("t", 0, 50, "missing"),
    ]
    assert [one["broker"] for one in rows[0]["replicas"]] == [1, 2, 5]
    assert rows[0]["replicas"][0]["crc"] == rows[0]["replicas"][2]["crc"] != rows[0]["replicas"][1]["crc"]
    assert [one["lastOffset"] for one in rows[1]["replicas"]] == [59, None, 59]
    log = pathlib.Path(brokers[5], "t-0", f"{0:020}.log")
    data = bytearray(log.read_bytes())
    data[len(batch(0)) - 1] ^= 1
    log.write_bytes(data)
    two = {1: brokers[1], 5: brokers[5]}
    assert [tuple(row) for row in first_divergence(spark, two, uncommitted=True).collect()] == [("t", 0, 0)]
    assert sorted(row["logEndOffset"] for row in replicas(spark, brokers).collect()) == [80, 100, 100]


def test_one_broker_cannot_be_compared(brokers: dict[int, str]) -> None:
    with pytest.raises(ValueError, match="two brokers"):
        compare(cast("SparkSession", None), {1: brokers[1]})
