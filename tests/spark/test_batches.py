"""The table of batches: every column, the bounds of what is shown, and how segments are cut into tasks."""

from __future__ import annotations

import datetime
import os
import pathlib
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.spark.batches import SCHEMA, BatchOptions, KafkaBatches, KafkaBatchesReader, SegmentScan, grouped
from tests.log.log_harness import Logs, as_leader, log_config, numbered, singleton
from tests.spark.test_arrow_decoder import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def checkpoint(home: pathlib.Path, offset: int, name: str = "replication-offset-checkpoint") -> None:
    (home / name).write_text(f"0\n1\ntopic 0 {offset}\n")


def reader(home: pathlib.Path, schema: pa.Schema = SCHEMA, **options: str) -> KafkaBatchesReader:
    given = options if "brokers" in options else {"logDirs": str(home), **options}
    return KafkaBatchesReader(BatchOptions(given), schema)


def rows(home: pathlib.Path, **options: str) -> list[dict[str, Any]]:
    source = reader(home, **options)
    found: list[dict[str, Any]] = []
    for task in source.partitions():
        for table in source.read(task):
            assert table.schema == SCHEMA
            found += table.to_pylist()
    return found


def bases(home: pathlib.Path, **options: str) -> list[int]:
    return [row["baseOffset"] for row in rows(home, **options)]


def write_segments(home: pathlib.Path, batches_each: int = 10) -> None:
    """Two segments of ten-record batches, with an index entry for each batch but the first."""
    directory = home / "topic-0"
    directory.mkdir(parents=True, exist_ok=True)
    for first in (0, batches_each * 10):
        log, index = bytearray(), bytearray()
        for base in range(first, first + batches_each * 10, 10):
            if log:
                index += struct.pack(">ii", base - first, len(log))
            log += build(base, [(base + i, b"k", b"value", []) for i in range(10)])
        (directory / f"{first:020}.log").write_bytes(log)
        (directory / f"{first:020}.index").write_bytes(index + bytes(80))
    checkpoint(home, batches_each * 20)


# ---- columns ---------------------------------------------------------------------------------------------------------


def test_the_columns_of_a_batch(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(7, 3, b"a", b"b", epoch=2, transactional=True), from_client=False, epoch=5)
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 7, 2), from_client=False, epoch=5)
    as_leader(log, singleton(compression_type=CompressionType.LZ4), epoch=6)
    log.close()
    checkpoint(logs.dir.parent, 4)
    (logs.dir.parent / "meta.properties").write_text("version=0\nbroker.id=12\n")
    first, marker, plain = rows(logs.dir.parent)
    now = datetime.datetime.fromtimestamp(logs.time.milliseconds() / 1000, datetime.UTC)
    header = next(iter(logs.idempotent(7, 3, b"a", b"b", epoch=2, transactional=True).batches()))
    assert first == {
        "broker": 12,
        "topic": "topic",
        "partition": 0,
        "segment": 0,
        "position": 0,
        "sizeInBytes": header.size_in_bytes(),
        "baseOffset": 0,
        "lastOffset": 1,
        "partitionLeaderEpoch": 5,
        "magic": 2,
        "crc": header.checksum(),
        "crcValid": True,
        "codec": "none",
        "timestampType": 0,
        "isTransactional": True,
        "isControl": False,
        "baseTimestamp": now,
        "maxTimestamp": now,
        "producerId": 7,
        "producerEpoch": 2,
        "baseSequence": 3,
        "recordCount": 2,
        "controlType": None,
    }
    assert (marker["isControl"], marker["controlType"], marker["position"]) == (True, "ABORT", first["sizeInBytes"])
    assert (plain["codec"], plain["producerId"], plain["maxTimestamp"], plain["controlType"]) == ("lz4", -1, None, None)


def test_kinds_of_markers(logs: Logs) -> None:
    log = logs.create()
    for kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        as_leader(log, logs.end_txn(kind, 7, 2), from_client=False)
    log.close()
    path = logs.dir / f"{0:020}.log"
    later = bytearray(path.read_bytes())
    later[len(later) // 2 + 69] = 9  # the type in the second marker's key
    assert [row["controlType"] for row in rows(logs.dir.parent, endingOffsets="unsafe-end")] == ["COMMIT", "ABORT"]
    path.write_bytes(later)
    last = rows(logs.dir.parent, endingOffsets="unsafe-end")[1]
    assert (last["controlType"], last["crcValid"]) == ("9", False)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(logs: Logs, magic: int, codec: CompressionType) -> None:
    log = logs.create(log_config(message_format_version=("0.9.0", "0.10.0")[magic]))
    for _ in range(2):
        records = [SimpleRecord(1000 + j, None, b"v") for j in range(3)]
        as_leader(log, MemoryRecords.with_records(*records, magic=magic, compression_type=codec))
    log.close()
    found = rows(logs.dir.parent, endingOffsets="unsafe-end")
    whole = codec is not CompressionType.NONE
    assert [row["baseOffset"] for row in found] == ([0, 3] if whole else list(range(6)))
    assert [row["lastOffset"] for row in found] == ([2, 5] if whole else list(range(6)))
    assert {row["recordCount"] for row in found} == {3 if whole else 1}
    assert {(row["magic"], row["crcValid"], row["producerId"]) for row in found} == {(magic, True, -1)}
    assert {row["timestampType"] for row in found} == {-1 if magic == 0 else 0}
    assert (found[-1]["maxTimestamp"] is None) == (magic == 0)


def test_a_compressed_set_that_cannot_be_inflated_keeps_its_outer_offset(logs: Logs) -> None:
    log = logs.create(log_config(message_format_version="0.10.0"))
    as_leader(log, MemoryRecords.with_records(*numbered(3), magic=1, compression_type=CompressionType.GZIP))
    log.close()
    path = logs.dir / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[36:60] = b"?" * 24
    path.write_bytes(data)
    (row,) = rows(logs.dir.parent, endingOffsets="unsafe-end")
    assert (row["baseOffset"], row["lastOffset"], row["recordCount"], row["crcValid"]) == (2, 2, None, False)


def test_log_append_time_and_times_that_no_calendar_has(tmp_path: pathlib.Path) -> None:
    (tmp_path / "topic-0").mkdir()
    stamped = singleton(timestamp=5)
    next(stamped.batches()).set_max_timestamp(TimestampType.LOG_APPEND_TIME, 7000)
    damaged = bytearray(build(1, [(5, b"k", b"v", [])]))
    damaged[27:43] = struct.pack(">qq", 2**62, -(2**62))
    (tmp_path / "topic-0" / f"{0:020}.log").write_bytes(bytes(stamped.buffer) + damaged)
    first, second = rows(tmp_path, endingOffsets="unsafe-end")
    assert (first["timestampType"], first["maxTimestamp"].timestamp()) == (1, 7)
    assert (second["baseTimestamp"], second["maxTimestamp"], second["crcValid"]) == (None, None, False)


def test_a_wrong_crc_is_a_column_and_may_stay_unchecked(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    path = tmp_path / "topic-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert [row["baseOffset"] for row in rows(tmp_path) if not row["crcValid"]] == [90]
    assert {row["crcValid"] for row in rows(tmp_path, checkCrcs="false")} == {None}


# ---- bounds ----------------------------------------------------------------------------------------------------------


def test_shown_is_what_lies_between_log_start_and_high_watermark(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    checkpoint(tmp_path, 150)
    checkpoint(tmp_path, 25, "log-start-offset-checkpoint")
    assert bases(tmp_path) == list(range(20, 150, 10))
    assert bases(tmp_path, endingOffsets="unsafe-end") == list(range(0, 200, 10))
    start = {"startingOffsets": '{"topic":{"0":103}}'}
    assert bases(tmp_path, **start) == [100, 110, 120, 130, 140]
    assert bases(tmp_path, **start, endingOffsets="unsafe-end") == list(range(100, 200, 10))
    assert bases(tmp_path, endingOffsets='{"topic":{"0":31}}') == [20, 30]
    assert bases(tmp_path, endingOffsets='{"topic":{"0":-1}}') == list(range(20, 150, 10))
    (tmp_path / "replication-offset-checkpoint").unlink()
    assert bases(tmp_path) == []


def test_topics_and_replicas_are_chosen(tmp_path: pathlib.Path) -> None:
    for broker, high_watermark in ((1, 60), (2, 80)):
        write_segments(tmp_path / str(broker))
        checkpoint(tmp_path / str(broker), high_watermark)
    brokers = f"1={tmp_path}/1,2={tmp_path}/2"
    assert {row["broker"] for row in rows(tmp_path, brokers=brokers)} == {2}
    assert len(rows(tmp_path, brokers=brokers, replica="1")) == 6
    assert len(rows(tmp_path, brokers=brokers, replica="all")) == 14
    for choice in ({"subscribe": "x, topic"}, {"subscribePattern": "to.*"}, {"assign": '{"topic":[0]}'}):
        assert len(rows(tmp_path, brokers=brokers, **choice)) == 8
    for choice in ({"subscribe": "top"}, {"subscribePattern": "to"}, {"assign": '{"topic":[1]}'}):
        assert rows(tmp_path, brokers=brokers, **choice) == []


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"subscribe": "t", "assign": "{}"}, "Only one"),
        ({"subscribePattern": "("}, "regular expression"),
        ({"assign": "topic"}, "No topicpartitions to assign"),
        ({"assign": "{topic}"}, "Expected e.g."),
        ({"startingOffsets": "latest"}, "Expected e.g."),
        ({"endingOffsets": "7"}, "Expected e.g."),
        ({"replica": "best"}, "replica must be"),
        ({"checkCrcs": "maybe"}, "true or false"),
        ({"maxPartitionBytes": "0"}, "must be positive"),
        ({"logDirs": "/nowhere/*"}, "No log directory"),
    ],
)
def test_wrong_options_are_refused(tmp_path: pathlib.Path, wrong: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        BatchOptions({"logDirs": str(tmp_path), **wrong})


# ---- tasks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bytes", ["1", "500", "100000"])
def test_segments_in_any_pieces_give_the_same_rows(tmp_path: pathlib.Path, max_bytes: str) -> None:
    write_segments(tmp_path)
    whole = rows(tmp_path)
    assert rows(tmp_path, maxPartitionBytes=max_bytes) == whole
    pieces = [piece for task in reader(tmp_path, maxPartitionBytes=max_bytes).partitions() for piece in task.pieces]
    assert len(pieces) == {"1": 20, "500": 8, "100000": 2}[max_bytes]
    start = {"startingOffsets": '{"topic":{"0":50}}'}
    assert bases(tmp_path, maxPartitionBytes=max_bytes, **start) == list(range(50, 200, 10))


def test_an_index_that_is_wrong_or_missing_changes_no_row(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    whole = rows(tmp_path)
    index = tmp_path / "topic-0" / f"{0:020}.index"
    index.write_bytes(b"".join(struct.pack(">ii", 10 + i, 17 + i * 20) for i in range(20)))
    assert rows(tmp_path, maxPartitionBytes="1") == whole
    assert bases(tmp_path, startingOffsets='{"topic":{"0":55}}') == list(range(50, 200, 10))
    index.unlink()
    assert rows(tmp_path, maxPartitionBytes="1") == whole


def test_small_pieces_share_a_task() -> None:
    assert list(grouped("abcdef", [1] * 6, 1 << 30)) == [tuple("abcdef")]
    big = [40 << 20, 40 << 20, 100 << 20, 1]
    assert list(grouped("abcd", big, 64 << 20)) == [("a",), ("b",), ("c",), ("d",)]
    assert list(grouped("", [], 1)) == []


def test_a_projection_has_only_its_columns(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    narrow = pa.schema([SCHEMA.field("recordCount"), SCHEMA.field("topic")])
    source = reader(tmp_path, narrow)
    (table, _) = (table for task in source.partitions() for table in source.read(task))
    assert table.to_pylist()[0] == {"recordCount": 10, "topic": "topic"}


@pytest.mark.parametrize("chunk", [1, 70, 1000, 1 << 20])
def test_chunks_of_any_size_give_all_batches(tmp_path: pathlib.Path, chunk: int) -> None:
    data = b"".join(build(i, [(0, b"k", b"v" * (i * 37 % 900), [])]) for i in range(40))
    path = tmp_path / "x.log"
    for tail, stop in ((b"", "end"), (build(40, [(0, b"k", b"v", [])])[:-1], "torn"), (bytes(300), "zeros")):
        path.write_bytes(data + tail)
        fd = os.open(path, os.O_RDONLY)
        scan = SegmentScan(fd, 0, len(data + tail), chunk)
        found = [(chunk.start + chunk.headers.position).tolist() for chunk in scan.chunks()]
        os.close(fd)
        assert (sum(map(len, found)), scan.position, scan.stop) == (40, len(data), stop)


@pytest.mark.parametrize("max_bytes", ["300", "100000000"])
@pytest.mark.parametrize("zeros", [False, True])
def test_a_segment_that_was_rolled_ends_with_a_batch(tmp_path: pathlib.Path, max_bytes: str, zeros: bool) -> None:
    """Otherwise batches are missing, as they would behind damage of other kinds; at the log's end they are to come."""
    write_segments(tmp_path)
    found = bases(tmp_path, endingOffsets="unsafe-end")
    for base, kept in ((0, [base for base in found if base != 90]), (100, found[:-1])):
        path = tmp_path / "topic-0" / f"{base:020}.log"
        data = path.read_bytes()
        size = len(data) // 10
        path.write_bytes(data[: 9 * size] + bytes(size) if zeros else data[:-1])
        options = {"endingOffsets": "unsafe-end", "maxPartitionBytes": max_bytes}
        if base == 0:
            with pytest.raises(CorruptRecordException, match=rf"cannot be read behind position {9 * size}"):
                rows(tmp_path, **options)
        else:
            assert bases(tmp_path, **options) == kept
        assert bases(tmp_path, failOnDataLoss="false", **options) == kept
        path.write_bytes(data)


def test_damage_ends_a_segment_with_an_error_or_quietly(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    path = tmp_path / "topic-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    size = len(data) // 10
    data[5 * size + 8 : 5 * size + 12] = struct.pack(">i", 3)
    path.write_bytes(data)
    with pytest.raises(CorruptRecordException, match=f"behind position {5 * size}"):
        rows(tmp_path)
    assert bases(tmp_path, failOnDataLoss="false") == [0, 10, 20, 30, 40, *range(100, 200, 10)]


def test_files_that_change_after_planning(tmp_path: pathlib.Path) -> None:
    write_segments(tmp_path)
    path = tmp_path / "topic-0" / f"{0:020}.log"
    strict, lenient = reader(tmp_path), reader(tmp_path, failOnDataLoss="false")
    (task,) = strict.partitions()
    path.rename(f"{path}.deleted")
    assert sum(table.num_rows for table in strict.read(task)) == 20
    path.write_bytes(b"compacted")
    pathlib.Path(f"{path}.deleted").unlink()
    with pytest.raises(FileNotFoundError, match="run the query again"):
        list(strict.read(task))
    assert sum(table.num_rows for table in lenient.read(task)) == 10


@pytest.mark.spark
@pytest.mark.slow
def test_spark_counts_records_by_their_batches(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    spark.dataSource.register(KafkaBatches)
    write_segments(tmp_path)
    df = spark.read.format("kafka_batches").load(str(tmp_path))
    assert df.columns == SCHEMA.names
    assert df.where("crcValid and codec = 'none'").agg({"recordCount": "sum"}).collect()[0][0] == 200
    narrow = spark.read.schema("baseOffset long").format("kafka_batches").option("subscribe", "topic")
    assert narrow.load(str(tmp_path)).agg({"baseOffset": "max"}).collect()[0][0] == 190
    assert spark.read.format("kafka_batches").option("subscribe", "other").load(str(tmp_path)).count() == 0
