"""Archives back into segments: the same records at the same offsets, in directories that a broker can open."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from kafka_py.log.log_directories import LogDirectories
from kafka_py.spark.archive import ArchiveSettings, archive_topics, run_here
from kafka_py.spark.arrow_decoder import SCHEMA_WITH_HEADERS
from kafka_py.spark.file_transport import FileTransport
from kafka_py.spark.layout import LogDirs, read_leader_epochs, read_offset_checkpoint
from kafka_py.spark.restore import RestoreSettings, restore
from kafka_py.spark.transport import PartitionOffsets, ReadOptions
from kafka_py.utils.file_lock import FileLock
from tests.log.log_harness import Logs, log_config
from tests.spark.made_topics import MadeTopics, record

COLUMNS = tuple(SCHEMA_WITH_HEADERS.names)
SMALL = RestoreSettings(segment_bytes=3000, index_interval_bytes=300, batch_bytes=500)


def archived(home: pathlib.Path, start: int = 0, until: int = 300, without: int = 0) -> pathlib.Path:
    """An archive of two partitions of topic t, in files of 100 offsets."""
    offsets = PartitionOffsets(start, until, until, until)
    source = MadeTopics({("t", 0): offsets, ("t", 1): offsets}, without)
    archive_topics(source, lambda *_: True, home / "archive", ArchiveSettings(max_file_bytes=100), run_here)
    return home / "archive"


def rows_of(log_dir: pathlib.Path, partition: int) -> list[dict[str, Any]]:
    """What the segment reader finds below the high watermark."""
    transport = FileTransport(LogDirs.of(str(log_dir)))
    offsets = transport.partitions()["t", partition]
    pieces = transport.plan("t", partition, offsets.log_start_offset, offsets.high_watermark, 1 << 30, False)
    return [row for piece in pieces for table in piece.tables(ReadOptions(COLUMNS)) for row in table.to_pylist()]


def names(directory: pathlib.Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    made = Logs(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("without", [0, 4])
def test_records_come_back_as_they_were(tmp_path: pathlib.Path, codec: str, without: int) -> None:
    source = archived(tmp_path, without=without)
    restored = restore(None, source, tmp_path / "data", settings=SMALL._replace(codec=codec))
    wanted = [offset for offset in range(300) if not without or offset % without]
    assert [(done.partition, done.records) for done in restored] == [(0, len(wanted)), (1, len(wanted))]
    for partition in range(2):
        assert rows_of(tmp_path / "data", partition) == [record("t", partition, offset) for offset in wanted]


def test_files_that_a_killed_archive_has_named_are_restored(tmp_path: pathlib.Path) -> None:
    source = archived(tmp_path)
    manifest = source / "t" / "_manifest.json"
    document = json.loads(manifest.read_text())
    document["files"] = document["files"][:2]
    manifest.write_text(json.dumps(document))
    half = source / "t" / "partition=1" / f".{300:020}-{400:020}.parquet.abc.tmp"
    half.write_bytes(b"PAR1")
    before = names(source / "t" / "partition=1")
    done = restore(None, source, tmp_path / "data", settings=SMALL)
    assert [(one.partition, one.log_end_offset, one.records) for one in done] == [(0, 300, 300), (1, 300, 300)]
    assert json.loads(manifest.read_text()) == document, "an archive is only read"
    assert names(source / "t" / "partition=1") == before


def test_an_archive_of_a_restored_topic_is_the_same_archive(tmp_path: pathlib.Path) -> None:
    restore(None, archived(tmp_path, start=20, without=3), tmp_path / "data", settings=SMALL)
    transport = FileTransport(LogDirs.of(str(tmp_path / "data")))
    new = archive_topics(transport, lambda *_: True, tmp_path / "again", ArchiveSettings(), run_here)
    assert [file[:4] for file in new["t"]] == [(0, 20, 300, 187), (1, 20, 300, 187)]
    restore(None, tmp_path / "again", tmp_path / "twice", settings=SMALL)
    for partition in range(2):
        assert rows_of(tmp_path / "twice", partition) == rows_of(tmp_path / "data", partition)


def test_segments_are_a_brokers(tmp_path: pathlib.Path, logs: Logs) -> None:
    restored = restore(None, archived(tmp_path, start=50), tmp_path / "data", settings=SMALL)
    directory = tmp_path / "data" / "t-1"
    segments = sorted(directory.glob("*.log"))
    assert len(segments) == restored[1].segments > 3
    assert segments[0].name == f"{50:020}.log"
    assert all(2000 < path.stat().st_size <= SMALL.segment_bytes for path in segments[:-1])
    assert read_leader_epochs(directory / "leader-epoch-checkpoint") == ((0, 50),)
    logs.dir = directory
    log = logs.create(log_config(segment_bytes=SMALL.segment_bytes), recovery_point=300)
    assert (log.log_start_offset, log.log_end_offset) == (50, 300)
    for segment in log.log_segments:
        segment.sanity_check(time_index_file_newly_created=False)
        assert segment.offset_index.entries > 2 or segment is log.active_segment
        assert segment.offset_index.entries < 10
        assert segment.time_index.last_entry.timestamp == segment.largest_timestamp
    found = [r.offset() for batch in log.read(137, 1 << 20).records.batches() for r in batch]
    assert found[0] <= 137 < 138 <= found[-1]


@pytest.mark.parametrize("without", [1, 299])
def test_the_log_ends_where_the_archive_ends(tmp_path: pathlib.Path, logs: Logs, without: int) -> None:
    """Offsets at the end whose records are gone are not given out again."""
    restored = restore(None, archived(tmp_path, without=without), tmp_path / "data")
    assert {done.log_end_offset for done in restored} == {300}
    logs.dir = tmp_path / "data" / "t-0"
    log = logs.create(log_config())
    assert log.log_end_offset == 300
    batches = list(log.read(299, 1 << 20).records.batches())
    assert (batches[-1].last_offset(), list(batches[-1])) == (299, [])


def test_the_checkpoints_say_that_the_partitions_are_whole(tmp_path: pathlib.Path) -> None:
    source, data = archived(tmp_path, start=50), tmp_path / "data"
    data.mkdir()
    for name, line in (
        ("replication-offset", "u 0 7"),
        ("recovery-point-offset", "u 0 7"),
        ("log-start-offset", "t 0 9"),
    ):
        (data / f"{name}-checkpoint").write_text(f"0\n1\n{line}\n")
    restore(None, source, data)
    ends = {("u", 0): 7, ("t", 0): 300, ("t", 1): 300}
    assert read_offset_checkpoint(data / "replication-offset-checkpoint") == ends
    assert read_offset_checkpoint(data / "recovery-point-offset-checkpoint") == ends
    assert read_offset_checkpoint(data / "log-start-offset-checkpoint") == {}
    assert not (data / "cleaner-offset-checkpoint").exists()


def test_partitions_with_records_are_not_touched(tmp_path: pathlib.Path) -> None:
    source, data = archived(tmp_path), tmp_path / "data"
    (data / "t-1").mkdir(parents=True)
    (data / "t-1" / f"{0:020}.log").write_bytes(b"records")
    with pytest.raises(FileExistsError, match="has records of t-1 already"):
        restore(None, source, data)
    assert names(data) == {"t-1", ".lock"}
    (data / "t-1" / f"{0:020}.log").rename(data / "t-1" / f"{9:020}.log")
    (data / "t-1" / f"{9:020}.log").write_bytes(b"")  # all its records were deleted, but it had some
    with pytest.raises(FileExistsError, match="t-1"):
        restore(None, source, data)


def test_empty_partitions_of_a_new_topic_are_replaced(tmp_path: pathlib.Path) -> None:
    source, data = archived(tmp_path), tmp_path / "data"
    (data / "t-1").mkdir(parents=True)
    for suffix in ("log", "index", "timeindex"):
        (data / "t-1" / f"{0:020}.{suffix}").touch()
    restore(None, source, data)
    assert {"t-0", "t-1"} <= names(data)
    assert not list(data.glob("*-delete"))
    assert len(rows_of(data, 1)) == 300


def test_a_running_broker_is_not_disturbed(tmp_path: pathlib.Path) -> None:
    source, data = archived(tmp_path), tmp_path / "data"
    data.mkdir()
    lock = FileLock(data / LogDirectories.LOCK_FILE)
    assert lock.try_lock()
    with pytest.raises(BlockingIOError, match="stop its broker first"):
        restore(None, source, data)
    lock.destroy()
    assert len(restore(None, source, data)) == 2


def test_a_restore_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    source, data = archived(tmp_path), tmp_path / "data"
    damaged = next((source / "t" / "partition=1").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-8])
    with pytest.raises(pa.ArrowInvalid, match="Parquet"):
        restore(None, source, data)
    assert names(data) == {".lock"}
    with pytest.raises(FileNotFoundError, match="has no archive of u"):
        restore(None, source, data, topics=["u"])
