"""Each kind of small file as a table; damaged ones say so in their row."""

from __future__ import annotations

import datetime
import pathlib
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kafka_py.spark.tables import (
    TABLES,
    KafkaLogFiles,
    KafkaLogFilesReader,
    LogDirOptions,
    index_bytes,
    log_dir_options,
)
from tests.log.log_harness import Logs, append_mixed_transactions, as_leader, log_config, singleton

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def rows(logs: Logs, table: str, **options: str) -> list[dict[str, Any]]:
    schema = TABLES[table].schema
    reader = KafkaLogFilesReader(LogDirOptions({"logDirs": str(logs.dir.parent), **options}), table, schema)
    found: list[dict[str, Any]] = []
    for task in reader.partitions():
        for batch in reader.read(task):
            assert batch.schema == schema
            found += batch.to_pylist()
    return found


def time(milliseconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)


def indexed(logs: Logs) -> int:
    """An open log of two segments, 10 to 12 and 13 to 16, with an index entry per batch; the size of a batch."""
    log = logs.create(log_config(index_interval_bytes=1))
    log.truncate_fully_and_start_at(10)
    for i in range(7):
        if i == 3:
            log.roll()
        as_leader(log, singleton(b"v", timestamp=1000 + i))
    return len(singleton(b"v", timestamp=1000).buffer)


def test_offset_index_without_the_zeros_behind(logs: Logs) -> None:
    size = indexed(logs)
    assert [(r["path"][-26:-6], r["entry"], r["offset"], r["position"]) for r in rows(logs, "offset_index")] == [
        (f"{10:020}", 0, 11, size),
        (f"{10:020}", 1, 12, 2 * size),
        (f"{13:020}", 0, 14, size),
        (f"{13:020}", 1, 15, 2 * size),
        (f"{13:020}", 2, 16, 3 * size),
    ]
    row = rows(logs, "offset_index")[0]
    assert (row["broker"], row["topic"], row["partition"], row["error"]) == (None, "topic", 0, None)


def test_time_index(logs: Logs) -> None:
    indexed(logs)
    assert [(r["entry"], r["offset"], r["timestamp"]) for r in rows(logs, "time_index")] == [
        (0, 11, time(1001)),
        (1, 12, time(1002)),
        (0, 14, time(1004)),
        (1, 15, time(1005)),
        (2, 16, time(1006)),
    ]


def test_only_zeros_at_the_end_and_whole_entries_count(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.index"
    entry = struct.pack(">ii", 1, 256)  # ends with a zero byte
    path.write_bytes(bytes(8) + entry + bytes(16) + b"\0\0\1")
    assert index_bytes(path, 8) == (bytes(8) + entry + bytes(16), 0, 3)
    path.write_bytes(entry + bytes(20))
    assert index_bytes(path, 8) == (entry, 16, 4)
    path.write_bytes(b"")
    assert index_bytes(path, 8) == (b"", 0, 0)


def test_aborted_transactions_and_producers(logs: Logs) -> None:
    log = logs.create()
    aborted = append_mixed_transactions(logs, log)
    log.take_producer_snapshot()
    found = rows(logs, "transaction_index")
    assert [(r["producerId"], r["firstOffset"], r["lastOffset"], r["lastStableOffset"]) for r in found] == [
        (txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset) for txn in aborted
    ]
    assert {(r["version"], r["entry"]) for r in found} == {(0, i) for i in range(len(aborted))}
    producers = {r["producerId"]: r for r in rows(logs, "producer_snapshot")}
    assert set(producers) == {1, 2, 3, 4}
    assert {(r["snapshotOffset"], r["producerEpoch"], r["coordinatorEpoch"]) for r in producers.values()} == {
        (90, 0, 0)
    }
    state = log.active_producers_with_last_sequence()
    assert {pid: r["lastSequence"] for pid, r in producers.items()} == state
    assert {r["currentTxnFirstOffset"] for r in producers.values()} == {None}


def test_an_open_transaction_shows_where_it_began(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, singleton())
    as_leader(log, logs.idempotent(7, 0, b"a", b"b", epoch=4, transactional=True))
    log.take_producer_snapshot()
    (row,) = rows(logs, "producer_snapshot")
    assert (row["producerId"], row["producerEpoch"], row["currentTxnFirstOffset"]) == (7, 4, 1)
    assert (row["firstSequence"], row["lastSequence"], row["offsetDelta"], row["lastOffset"]) == (0, 1, 1, 2)
    assert row["timestamp"] == time(logs.time.milliseconds())


def test_text_files(logs: Logs) -> None:
    home = logs.dir.parent
    (logs.dir / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 17\n")
    (home / "replication-offset-checkpoint").write_text("0\n2\ntopic 0 5\nother.topic 11 7\n")
    (home / "log-start-offset-checkpoint").write_text("0\n0\n")
    (home / "recovery-point-offset-checkpoint").write_text("")
    (home / "meta.properties").write_text("#\n#Sat Nov 21\nversion=0\nbroker.id=3\n")
    assert [(r["broker"], r["epoch"], r["startOffset"]) for r in rows(logs, "leader_epochs")] == [(3, 0, 0), (3, 3, 17)]
    assert [(r["checkpoint"], r["topic"], r["partition"], r["offset"]) for r in rows(logs, "checkpoints")] == [
        ("replication-offset-checkpoint", "topic", 0, 5),
        ("replication-offset-checkpoint", "other.topic", 11, 7),
    ]
    assert {r["key"]: r["value"] for r in rows(logs, "meta")} == {"version": "0", "broker.id": "3"}


def test_files_of_every_state(logs: Logs) -> None:
    indexed(logs)
    (logs.dir.parent / f"gone-1.{'a' * 32}-delete").mkdir()
    (logs.dir.parent / f"gone-1.{'a' * 32}-delete" / f"{0:020}.log").write_bytes(b"12345")
    (logs.dir / f"{3:020}.log.cleaned").touch()
    (logs.dir.parent / "lost+found").mkdir()
    (logs.dir.parent / ".lock").touch()
    found = {(r["topic"], r["partition"], r["state"], r["name"]): r for r in rows(logs, "files")}
    deleted = found["gone", 1, "deleted", f"{0:020}.log"]
    assert (deleted["suffix"], deleted["baseOffset"], deleted["sizeInBytes"]) == (".log", 0, 5)
    assert found["topic", 0, "live", f"{3:020}.log.cleaned"]["suffix"] == ".log.cleaned"
    index = found["topic", 0, "live", f"{13:020}.index"]
    assert index["sizeInBytes"] == 64 * 1024 > index["allocatedBytes"]
    assert found[None, None, "live", ".lock"]["baseOffset"] is None
    assert {r["path"] for r in found.values()} == {str(p) for p in logs.dir.parent.rglob("*") if p.is_file()}
    assert len(rows(logs, "offset_index", subscribe="gone")) == 0


@pytest.mark.parametrize(
    ("table", "name", "content", "error"),
    [
        ("producer_snapshot", f"topic-0/{9:020}.snapshot", b"\0\1\0\0\0\0\0\0\0\0", "CRC is no longer valid"),
        ("producer_snapshot", f"topic-0/{9:020}.snapshot", b"\0\1", "only 2 bytes"),
        ("leader_epochs", "topic-0/leader-epoch-checkpoint", b"1\n0\n", "Unrecognized version"),
        ("leader_epochs", "topic-0/leader-epoch-checkpoint", b"0\n2\n1 2\n", "Expected 2 entries"),
        ("leader_epochs", "topic-0/leader-epoch-checkpoint", b"0\n1\n1 99999999999999999999\n", "too large|too big"),
        ("checkpoints", "cleaner-offset-checkpoint", b"0\n1\ntopic 0\n", "Malformed line"),
        ("checkpoints", "cleaner-offset-checkpoint", b"\xff\xfe\n1\n", "Unrecognized version"),
        ("checkpoints", "cleaner-offset-checkpoint", b"0\n1\ntopic x 1\n", "invalid literal"),
        ("offset_index", "topic-0/notes.index", b"12345678", "invalid literal"),
    ],
)
def test_a_damaged_file_says_so_in_its_row(logs: Logs, table: str, name: str, content: bytes, error: str) -> None:
    (logs.dir.parent / name).write_bytes(content)
    (row,) = rows(logs, table)
    assert row["path"] == str(logs.dir.parent / name)
    assert pa.compute.match_substring_regex(pa.array([row["error"]]), error).to_pylist() == [True], row["error"]


def test_directories_deleted_after_planning_give_no_rows(logs: Logs) -> None:
    reader = KafkaLogFilesReader(LogDirOptions({"path": str(logs.dir.parent)}), "files", TABLES["files"].schema)
    tasks = reader.partitions()
    logs.dir.rename(logs.dir.parent / f"topic-0.{'a' * 32}-delete")
    assert [batch for task in tasks for batch in reader.read(task)] == []
    assert list(reader.read(None)) == []


def test_log_dir_options() -> None:
    assert log_dir_options("/a,/b") == log_dir_options(["/a", "/b"]) == {"logDirs": "/a,/b"}
    assert log_dir_options({1: "/a", 2: ["/b", "/c"]}) == {"brokers": "1=/a,2=/b,2=/c"}


@pytest.mark.parametrize(
    ("given", "selected"),
    [
        ({}, {"t-0", "t-1", "__consumer_offsets-0"}),
        ({"subscribe": " t "}, {"t-0", "t-1"}),
        ({"subscribePattern": ".*offsets"}, {"__consumer_offsets-0"}),
        ({"assign": '{"t": [1], "none": [0]}'}, {"t-1"}),
    ],
)
def test_which_partitions_are_meant(tmp_path: pathlib.Path, given: dict[str, str], selected: set[str]) -> None:
    for name in ("t-0", "t-1", "__consumer_offsets-0"):
        (tmp_path / name).mkdir()
    options = LogDirOptions({"logDirs": str(tmp_path), **given})
    assert {f"{place.topic}-{place.partition}" for place in options.places() if place.topic} == selected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"subscribe": " , "}, "No topics to subscribe to"),
        ({"subscribePattern": "("}, "not a regular expression"),
        ({"assign": "t-0"}, "No topicpartitions to assign"),
        ({"subscribe": "t", "assign": "{}"}, "Only one of these options can be given: subscribe, assign"),
    ],
)
def test_partitions_that_are_named_wrongly(tmp_path: pathlib.Path, given: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LogDirOptions({"logDirs": str(tmp_path), **given})


@pytest.mark.parametrize("wrong", [{}, {"table": "tables"}])
def test_a_table_must_be_named(tmp_path: pathlib.Path, wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must be one of files, offset_index"):
        KafkaLogFiles({"path": str(tmp_path), **wrong}).schema()


def test_an_unknown_column_is_refused(tmp_path: pathlib.Path) -> None:
    source = KafkaLogFiles({"path": str(tmp_path), "Table": "meta"})
    other = KafkaLogFiles({"path": str(tmp_path), "Table": "leader_epochs"}).schema()
    with pytest.raises(ValueError, match="no column epoch, startOffset"):
        source.reader(other)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_the_tables(spark: SparkSession, logs: Logs) -> None:
    spark.dataSource.register(KafkaLogFiles)
    indexed(logs)
    (logs.dir.parent / "meta.properties").write_text("version=0\nbroker.id=3\n")
    tables = spark.read.format("kafka_log_files").option("logDirs", str(logs.dir.parent))
    entries = sorted(
        tables.option("table", "time_index").load().where("timestamp > '1970-01-01 00:00:01.004'").collect()
    )
    assert [(row["broker"], row["offset"]) for row in entries] == [(3, 15), (3, 16)]
    assert tables.option("table", "producer_snapshot").load().collect() == []
