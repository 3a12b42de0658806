"""Topics into Parquet files, each offset once; and the manifest that keeps account of it."""

from __future__ import annotations

import io
import json
import pathlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from kafka_py.spark.archive import COLUMNS, ArchiveSettings, archive, archive_topics, run_here
from kafka_py.spark.arrow_decoder import SCHEMA_WITH_HEADERS
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED
from kafka_py.spark.parquet_manifest import LOCK, ArchivedFile, OffsetRange, ParquetManifest
from kafka_py.spark.progress import Progress
from kafka_py.spark.restore import restore
from kafka_py.spark.transport import DataLossError, PartitionOffsets
from kafka_py.utils.file_lock import FileLock
from tests.spark.made_logs import made_batch, write_checkpoint, write_segment
from tests.spark.made_topics import MadeTopics, record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = ArchiveSettings(max_file_bytes=100)


def topics(until: int = 250, start: int = 0, stable: int | None = None, without: int = 0) -> MadeTopics:
    offsets = PartitionOffsets(start, until, until if stable is None else stable, until)
    return MadeTopics({("t", 0): offsets, ("t", 1): offsets, ("other", 0): offsets}, without)


def archive_made(target: pathlib.Path, source: MadeTopics, settings: ArchiveSettings = SETTINGS) -> list[str]:
    new = archive_topics(source, lambda topic, _: topic == "t", target, settings, run_here)
    return [file.path for file in new["t"]]


def archived(target: pathlib.Path, partition: int) -> list[dict[str, object]]:
    tables = ParquetManifest(target / "t", "t").tables(partition, COLUMNS)
    return [{**row, "partition": partition} for table in tables for row in table.to_pylist()]


def name(partition: int, start: int, until: int) -> str:
    return f"partition={partition}/{start:020}-{until:020}.parquet"


def test_files_have_their_offsets_in_their_names(tmp_path: pathlib.Path) -> None:
    edges = [(0, 100), (100, 200), (200, 250)]
    assert archive_made(tmp_path, topics()) == [name(p, *edge) for p in range(2) for edge in edges]
    assert not (tmp_path / "other").exists()
    for partition in range(2):
        assert archived(tmp_path, partition) == [record("t", partition, offset) for offset in range(250)]


def test_files_can_be_read_without_the_manifest(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics())
    found = pa.dataset.dataset(tmp_path / "t", format="parquet", partitioning="hive").to_table()
    assert sorted(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True)) == [
        (partition, offset) for partition in range(2) for offset in range(250)
    ]
    with pq.ParquetFile(tmp_path / "t" / name(1, 100, 200)) as content:
        said = content.schema_arrow.metadata
    assert (said[b"kafka.topic"], said[b"kafka.partition"], said[b"kafka.from"]) == (b"t", b"1", b"100")


def test_the_next_run_goes_on_where_the_last_one_ended(tmp_path: pathlib.Path) -> None:
    source = topics(until=120)
    archive_made(tmp_path, source)
    assert archive_made(tmp_path, source) == []
    assert archive_made(tmp_path, topics(until=260)) == [
        name(p, *e) for p in range(2) for e in [(120, 220), (220, 260)]
    ]
    assert [row["offset"] for row in archived(tmp_path, 1)] == list(range(260))


def test_it_begins_at_the_start_of_the_log(tmp_path: pathlib.Path) -> None:
    assert archive_made(tmp_path, topics(start=240)) == [name(0, 240, 250), name(1, 240, 250)]


def test_ranges_without_records_count_as_archived(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(without=1))
    manifest = ParquetManifest(tmp_path / "t", "t")
    assert [file.rows for file in manifest.files] == [0] * 6
    assert archive_made(tmp_path, topics()) == []
    archive_made(tmp_path, topics(until=300))
    assert [row["offset"] for row in archived(tmp_path, 0)] == list(range(250, 300))


def test_committed_records_end_at_the_last_stable_offset(tmp_path: pathlib.Path) -> None:
    committed = SETTINGS._replace(isolation=READ_COMMITTED)
    assert archive_made(tmp_path, topics(stable=150), committed)[1] == name(0, 100, 150)
    with pytest.raises(ValueError, match="cannot go on with read_uncommitted"):
        archive_made(tmp_path, topics())
    assert archive_made(tmp_path, topics(stable=250), committed) == [name(0, 150, 250), name(1, 150, 250)]


@pytest.mark.parametrize("change", [{"start": 121, "until": 200}, {"until": 119}])
def test_records_that_went_away_unarchived_are_an_error(tmp_path: pathlib.Path, change: dict[str, int]) -> None:
    archive_made(tmp_path, topics(until=120))
    with pytest.raises(DataLossError, match="was archived up to offset 120"):
        archive_made(tmp_path, topics(**change))
    new = archive_made(tmp_path, topics(**change), SETTINGS._replace(fail_on_data_loss=False))
    assert new == ([name(0, 121, 200), name(1, 121, 200)] if "start" in change else [])


def test_a_loss_is_told_once(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(until=120))
    archive_made(tmp_path, topics(start=121, until=200), SETTINGS._replace(fail_on_data_loss=False))
    assert archive_made(tmp_path, topics(start=150, until=201)) == [name(0, 200, 201), name(1, 200, 201)]


def test_the_log_may_lose_what_is_archived(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(until=120))
    assert archive_made(tmp_path, topics(start=120, until=130)) == [name(0, 120, 130), name(1, 120, 130)]


def test_one_run_at_a_time(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(until=10))
    lock = FileLock(tmp_path / "t" / LOCK)
    assert lock.try_lock()
    with pytest.raises(BlockingIOError, match="Another run"):
        archive_made(tmp_path, topics())
    lock.destroy()
    assert archive_made(tmp_path, topics(until=20)) == [name(0, 10, 20), name(1, 10, 20)]


def test_a_run_that_fails_keeps_what_is_complete(tmp_path: pathlib.Path) -> None:
    source = topics()
    source.bad_from = 200
    with pytest.raises(RuntimeError, match="the disk is on fire"):
        archive_made(tmp_path, source)
    assert [file.path for file in ParquetManifest(tmp_path / "t", "t").files] == [name(0, 0, 100), name(0, 100, 200)]
    source.bad_from = None
    archive_made(tmp_path, source)
    assert [row["offset"] for row in archived(tmp_path, 0)] == list(range(250))
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_a_killed_run_left_is_taken_in_or_thrown_away(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics())
    home = tmp_path / "t"
    whole = ParquetManifest(home, "t").files
    document = json.loads((home / "_manifest.json").read_text())
    document["files"] = document["files"][:2]  # the files of partition 1, and one of 0, were named but not noted
    (home / "_manifest.json").write_text(json.dumps(document))
    half = home / f".{name(0, 200, 250).rpartition('/')[2]}.abc.tmp"
    half.with_name("x").parent.joinpath("partition=0", half.name).write_bytes(b"PAR1")
    assert archive_made(tmp_path, topics()) == []
    assert ParquetManifest(home, "t").files == whole
    assert not list(home.rglob("*.tmp"))


def test_a_file_whose_offsets_are_there_already_is_thrown_away(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(until=100))
    archive_made(tmp_path / "later", topics(until=120), SETTINGS._replace(max_file_bytes=120))
    twice = tmp_path / "t" / name(0, 0, 120)
    (tmp_path / "later" / "t" / name(0, 0, 120)).rename(twice)
    archive_made(tmp_path, topics(until=120))
    assert not twice.exists()
    assert [row["offset"] for row in archived(tmp_path, 0)] == list(range(120))


def test_files_that_are_not_what_they_say_stop_the_run(tmp_path: pathlib.Path) -> None:
    archive_made(tmp_path, topics(until=100))
    (tmp_path / "t" / name(0, 0, 100)).rename(tmp_path / "t" / name(0, 100, 200))
    with pytest.raises(FileNotFoundError, match="lacks files of its manifest"):
        archive_made(tmp_path, topics())
    (tmp_path / "t" / "_manifest.json").unlink()
    with pytest.raises(ValueError, match="does not hold what its name says"):
        archive_made(tmp_path, topics())
    (tmp_path / "t" / name(0, 100, 200)).rename(tmp_path / "t" / "partition=0" / "notes.txt")
    with pytest.raises(ValueError, match="is no file of an archive"):
        archive_made(tmp_path, topics())


@pytest.mark.parametrize(
    ("start", "until", "gaps"),
    [
        (0, 5, [(0, 5)]),
        (0, 10, [(0, 10)]),
        (0, 12, [(0, 10)]),
        (10, 20, []),
        (12, 18, []),
        (15, 35, [(20, 30)]),
        (5, 50, [(5, 10), (20, 30), (40, 50)]),
        (40, 41, [(40, 41)]),
        (20, 20, []),
    ],
)
def test_missing_ranges(tmp_path: pathlib.Path, start: int, until: int, gaps: list[tuple[int, int]]) -> None:
    manifest = ParquetManifest(tmp_path, "t")
    files = [ArchivedFile(0, 10, 20, 10, 1), ArchivedFile(0, 30, 40, 10, 1), ArchivedFile(1, 0, 100, 1, 1)]
    for file in files:
        written = tmp_path / "written"
        written.touch()
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        manifest.publish([(file, written)])
    assert ParquetManifest(tmp_path, "t").missing(0, OffsetRange(start, until)) == gaps
    assert manifest.end_offset(0) == 40
    with pytest.raises(ValueError, match="is of version 1 for the topic t"):
        ParquetManifest(tmp_path, "u")


@pytest.mark.slow
def test_every_offset_is_there_once_wherever_the_process_is_killed(tmp_path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "tests.spark.killed_archive", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


class Terminal(io.StringIO):
    """An output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_only() -> None:
    shown, hidden = Terminal(), io.StringIO()
    for out in (shown, hidden):
        with Progress("archiving t", 4, out) as progress:
            progress.advance(1)
            progress.advance(3)
    lines = shown.getvalue().split("\r")
    assert [line.rpartition("]")[2].strip() for line in lines[1:]] == ["0 %", "25 %", "100 %"]
    assert hidden.getvalue() == ""


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({}, "One of the following options must be specified"),
        ({"subscribe": "t", "assign": '{"t":[0]}'}, "Only one of the following options"),
        ({"subscribe": "t", "settings": ArchiveSettings(isolation="serializable")}, "isolation.level must be one of"),
        ({"subscribe": "t", "options": {"startingOffsets": "earliest"}}, "option startingoffsets has no meaning"),
        (
            {"subscribe": "t", "options": {"kafka.isolation.level": READ_UNCOMMITTED}},
            "ArchiveSettings say what option kafka.isolation.level would",
        ),
        ({"subscribe": "t", "settings": ArchiveSettings(max_file_bytes=0)}, "max_file_bytes must be positive, not 0"),
        ({"subscribe": "t", "options": {"FailOnDataLoss": "false"}}, "ArchiveSettings say what option FailOnDataLoss"),
    ],
)
def test_wrong_options_are_refused(tmp_path: pathlib.Path, wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        archive(None, str(tmp_path), tmp_path / "archive", **wrong)
    assert not (tmp_path / "archive").exists()


def test_isolation_in_capitals_is_the_same(tmp_path: pathlib.Path) -> None:
    log_dir = tmp_path / "data"
    opened = made_batch(10, producer_id=7, transactional=True)
    write_segment(log_dir / "t-0", 0, [(0, 9, made_batch(0)), (10, 19, opened)], rolled=False)
    write_checkpoint(log_dir, {"t-0": 20})
    settings = ArchiveSettings(isolation="READ_COMMITTED")
    (file,) = archive(None, str(log_dir), tmp_path / "archive", subscribe="t", settings=settings)["t"]
    assert (file.until_offset, file.rows) == (10, 10)
    assert ParquetManifest(tmp_path / "archive" / "t", "t").isolation == READ_COMMITTED


def segments(home: pathlib.Path, codec: str, count: int) -> pathlib.Path:
    """Two partitions in segments of a hundred offsets, of which the high watermark leaves out the last ten."""
    encoder = RecordBatchEncoder(codec, 2000)
    schema = pa.schema([SCHEMA_WITH_HEADERS.field(name) for name in COLUMNS])
    for partition in range(2):
        directory = home / f"t-{partition}"
        directory.mkdir(parents=True, exist_ok=True)
        for base in range(0, 100 * count, 100):
            rows = [record("t", partition, offset) for offset in range(base, base + 100)]
            kept = [{n: row[n] for n in COLUMNS} for row in rows if row["offset"] not in (7, 8, 9)]
            (directory / f"{base:020}.log").write_bytes(encoder.encode(pa.Table.from_pylist(kept, schema)))
    end = count * 100 - 10
    (home / "replication-offset-checkpoint").write_text(f"0\n2\nt 0 {end}\nt 1 {end}\n")
    return home


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_from_segments(tmp_path: pathlib.Path, codec: str) -> None:
    log_dir = segments(tmp_path / "data", codec, 5)
    settings = ArchiveSettings(max_file_bytes=4000)
    new = archive(None, str(log_dir), tmp_path, subscribe_pattern="t|u", settings=settings)["t"]
    assert len(new) > 2
    segments(tmp_path / "data", codec, 6)
    archive(None, str(log_dir), tmp_path, subscribe="t", settings=settings)
    for partition in range(2):
        assert archived(tmp_path, partition) == [
            record("t", partition, offset) for offset in range(590) if offset not in (7, 8, 9)
        ]


@pytest.mark.slow
@pytest.mark.spark
def test_spark_writes_the_same_files(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    log_dir = str(segments(tmp_path / "data", "lz4", 5))
    settings = ArchiveSettings(max_file_bytes=500)
    new = archive(spark, log_dir, tmp_path / "by-spark", subscribe="t", settings=settings)
    assert new == archive(None, log_dir, tmp_path / "here", subscribe="t", settings=settings)
    assert len(new["t"]) > 8  # more than one job's
    assert archived(tmp_path / "by-spark", 1) == archived(tmp_path / "here", 1)
    frame = spark.read.parquet(str(tmp_path / "by-spark" / "t"))
    assert frame.where("partition = 1").count() == 487
    assert frame.where("partition = 0 and offset = 300").select("headers.key").collect()[0][0] == ["h", "none"]
    restored = restore(spark, tmp_path / "by-spark", tmp_path / "restored")
    assert [(done.partition, done.records) for done in restored] == [(0, 487), (1, 487)]
    assert not list((tmp_path / "restored").glob("*-delete"))
