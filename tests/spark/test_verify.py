"""Every kind of damage gives its finding, a directory without damage gives none, and nothing makes a check fail."""

from __future__ import annotations

import pathlib
import random
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.log import Log
from kafka_py.spark.tables import LogDirOptions
from kafka_py.spark.verify import SCHEMA, KafkaVerify, KafkaVerifyReader, verify
from tests.log.cleaner_support import LONG_MAX, cleaner_config, end_txn, make_cleaner, producer, to_clean
from tests.log.log_harness import (
    Logs,
    append_mixed_transactions,
    as_follower,
    as_leader,
    concatenated,
    log_config,
    numbered,
    records_of,
    singleton,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = len(singleton(b"x" * 100, timestamp=1).buffer)


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def findings(logs: Logs, **options: str) -> list[dict[str, Any]]:
    reader = KafkaVerifyReader(LogDirOptions({"logDirs": str(logs.dir.parent), **options}), SCHEMA)
    found: list[dict[str, Any]] = []
    for task in reader.partitions():
        for table in reader.read(task):
            found += table.to_pylist()
    return found


def kinds(logs: Logs, **options: str) -> set[str]:
    return {row["kind"] for row in findings(logs, **options)}


def checkpoint(logs: Logs, high_watermark: int, name: str = "replication-offset-checkpoint") -> None:
    (logs.dir.parent / name).write_text(f"0\n1\ntopic 0 {high_watermark}\n")


def write_log(logs: Logs, batches: int = 60, **config: Any) -> Log:
    """A closed log of three segments: batches of one record with an index entry for each but the first."""
    log = logs.create(log_config(segment_bytes=20 * BATCH, index_interval_bytes=1, **config))
    for i in range(batches):
        as_leader(log, singleton(b"%100d" % i, timestamp=1000 + i))
    log.close()
    checkpoint(logs, batches)
    return log


def change(path: pathlib.Path, how: Callable[[bytearray], object]) -> None:
    data = bytearray(path.read_bytes())
    how(data)
    path.write_bytes(data)


def put(at: int, data: bytes) -> Callable[[bytearray], object]:
    def apply(file: bytearray) -> None:
        file[at : at + len(data)] = data

    return apply


def file(logs: Logs, suffix: str, base: int = 0) -> pathlib.Path:
    return logs.dir / f"{base:020}{suffix}"


# ---- no damage -------------------------------------------------------------------------------------------------------


def test_a_clean_log_gives_no_rows(logs: Logs) -> None:
    write_log(logs)
    assert len(list(logs.dir.glob("*.log"))) == 3
    assert findings(logs) == []


def test_a_log_that_is_being_written_gives_no_rows(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=20 * BATCH, index_interval_bytes=1))
    for i in range(30):
        as_leader(log, singleton(b"%100d" % i, timestamp=1000 + i))
    assert file(logs, ".index", 20).stat().st_size == 64 * 1024
    assert findings(logs) == []
    log.truncate_to(25)  # leaves old entries in the files of the indexes
    assert findings(logs) == []
    as_leader(log, records_of(b"a" * 50, b"b"))
    assert findings(logs) == []


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP, CompressionType.LZ4])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_all_formats_and_codecs_are_clean(logs: Logs, magic: int, codec: CompressionType) -> None:
    if magic == 0 and codec is CompressionType.LZ4:
        codec = CompressionType.SNAPPY  # magic 0 has another lz4
    log = logs.create(log_config(index_interval_bytes=1, message_format_version=("0.9.0", "0.10.0", "1.1")[magic]))
    for i in range(5):
        as_leader(log, MemoryRecords.with_records(*numbered(4, i * 4), magic=magic, compression_type=codec))
    log.close()
    assert findings(logs) == []


def test_the_largest_time_in_the_middle_of_a_batch_is_clean(logs: Logs) -> None:
    log = logs.create(log_config(index_interval_bytes=1))
    for i in range(5):
        as_leader(log, MemoryRecords.with_records(*(SimpleRecord(i * 10 + t, None, b"v") for t in (1, 9, 4))))
    log.close()
    assert findings(logs) == []


def test_transactions_and_epochs_and_snapshots_are_clean(logs: Logs) -> None:
    log = logs.create(log_config(index_interval_bytes=1, segment_bytes=1024))
    assert append_mixed_transactions(logs, log)
    log.take_producer_snapshot()
    log.close()
    assert file(logs, ".snapshot", 90).exists()
    assert any(path.stat().st_size for path in logs.dir.glob("*.txnindex"))
    assert findings(logs) == []


def test_index_entries_with_the_last_offset_of_an_append_are_clean(logs: Logs) -> None:
    log = logs.create(log_config(index_interval_bytes=1))
    for i in range(6):
        parts = [MemoryRecords.with_records(*numbered(3), initial_offset=i * 6 + 3 * j) for j in range(2)]
        as_follower(log, concatenated(parts))
    log.close()
    assert findings(logs) == []
    index = file(logs, ".index")
    entries = list(struct.iter_unpack(">ii", index.read_bytes()))
    assert len(entries) == 5
    index.write_bytes(b"".join(struct.pack(">ii", offset + 5, position) for offset, position in entries))
    assert findings(logs) == []
    index.write_bytes(b"".join(struct.pack(">ii", offset + 4, position) for offset, position in entries))
    assert [row["kind"] for row in findings(logs)] == ["misMatchesForIndexFilesMap"] * 5


def test_gaps_of_a_compacted_topic_are_clean(logs: Logs) -> None:
    write_log(logs)
    data = file(logs, ".log").read_bytes()
    file(logs, ".log").write_bytes(data[: 5 * BATCH] + data[6 * BATCH :])
    for name in (".index", ".timeindex"):
        file(logs, name).write_bytes(b"")
    assert kinds(logs) == {"nonConsecutivePairsForLogFilesMap"}
    assert findings(logs, compacted="topic") == []
    checkpoint(logs, 30, "cleaner-offset-checkpoint")
    assert findings(logs) == []


@pytest.mark.parametrize("commit", [True, False])
def test_cleaned_segments_are_clean(logs: Logs, commit: bool) -> None:
    log = logs.create(cleaner_config(segment_bytes=700, index_interval_bytes=1))
    one, two = (producer(logs, log, pid, transactional=True) for pid in (1, 2))
    for i in range(6):
        one(1, 2, i)
        two(2, 3)
        logs.time.sleep(10)
        end_txn(logs, log, 1, commit=True)
        end_txn(logs, log, 2, commit=commit)
    log.roll()
    make_cleaner(logs.time).do_clean(to_clean(log), LONG_MAX)
    checkpoint(logs, log.log_end_offset)
    assert kinds(logs) == {"nonConsecutivePairsForLogFilesMap"}
    checkpoint(logs, log.active_segment.base_offset, "cleaner-offset-checkpoint")
    assert findings(logs) == []


def test_the_room_of_a_preallocated_segment_is_clean(logs: Logs) -> None:
    write_log(logs)
    with open(file(logs, ".log", 40), "ab") as out:
        out.write(bytes(10_000))
    assert findings(logs) == []
    with open(file(logs, ".log", 20), "ab") as out:
        out.write(bytes(10_000))
    assert kinds(logs) == {"invalidBytes"}


# ---- damage ----------------------------------------------------------------------------------------------------------


def damage_crc(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH + 90, b"?"))


def damage_base_offset(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH, struct.pack(">q", 7)))


def damage_base_offset_upwards(logs: Logs) -> None:
    change(file(logs, ".log", 40), put(5 * BATCH, struct.pack(">q", 47)))


def damage_size(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH + 8, struct.pack(">i", 5)))


def damage_size_upwards(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH + 8, struct.pack(">i", 1 << 30)))


def damage_magic(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH + 16, b"\x09"))


def tear_the_tail(logs: Logs) -> None:
    change(file(logs, ".log", 40), lambda data: data.__delitem__(slice(-3, None)))


def append_garbage(logs: Logs) -> None:
    change(file(logs, ".log", 40), lambda data: data.extend(b"\x00\x00\x00\x00\x00\x00\x00\x3c\x00\x00\x40\x00garbage"))


def lose_a_batch(logs: Logs) -> None:
    change(file(logs, ".log", 40), lambda data: data.__delitem__(slice(-BATCH, None)))


def lose_a_segment(logs: Logs) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        file(logs, suffix, 20).unlink()


def zero_a_page(logs: Logs) -> None:
    change(file(logs, ".log", 20), put(5 * BATCH, bytes(3 * BATCH)))


def shift_index_position(logs: Logs) -> None:
    change(file(logs, ".index", 20), put(3 * 8 + 4, struct.pack(">i", 4 * BATCH + 1)))


def shift_index_offset(logs: Logs) -> None:
    change(file(logs, ".index", 20), put(3 * 8, struct.pack(">i", 17)))


def index_beyond_the_log(logs: Logs) -> None:
    change(file(logs, ".index", 40), lambda data: data.extend(struct.pack(">ii", 20, 20 * BATCH)))


def zero_in_an_index(logs: Logs) -> None:
    change(file(logs, ".index", 20), put(3 * 8, bytes(8)))


def cut_an_index(logs: Logs) -> None:
    change(file(logs, ".index", 20), lambda data: data.__delitem__(slice(-3, None)))


def lose_an_index(logs: Logs) -> None:
    file(logs, ".index", 20).unlink()


def lose_a_time_index(logs: Logs) -> None:
    file(logs, ".timeindex", 20).unlink()


def time_index_with_another_time(logs: Logs) -> None:
    change(file(logs, ".timeindex"), lambda data: data.extend(struct.pack(">qi", 2000, 19)))


def time_index_with_an_unknown_offset(logs: Logs) -> None:
    change(file(logs, ".timeindex"), lambda data: data.extend(struct.pack(">qi", 2000, 25)))


def time_index_going_back(logs: Logs) -> None:
    change(file(logs, ".timeindex"), lambda data: data.extend(struct.pack(">qi", 1018, 18)))


def high_watermark_too_high(logs: Logs) -> None:
    checkpoint(logs, 61)


def malformed_checkpoint(logs: Logs) -> None:
    (logs.dir.parent / "recovery-point-offset-checkpoint").write_text("0\n2\ntopic 0 1\n")


def malformed_epochs(logs: Logs) -> None:
    (logs.dir / "leader-epoch-checkpoint").write_text("0\n1\nzero 0\n")


def falling_epochs(logs: Logs) -> None:
    (logs.dir / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n2 10\n")


def corrupt_snapshot(logs: Logs) -> None:
    file(logs, ".snapshot", 20).write_bytes(b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")


DAMAGES: list[tuple[Callable[[Logs], None], set[str], str, int | None]] = [
    (damage_crc, {"invalidBatch"}, ".log", 5 * BATCH),
    (damage_base_offset, {"outOfOrderOffset", "nonConsecutivePairsForLogFilesMap"}, ".log", 5 * BATCH),
    (damage_base_offset_upwards, {"nonConsecutivePairsForLogFilesMap", "outOfOrderOffset"}, ".log", 5 * BATCH),
    (damage_size, {"invalidBatch"}, ".log", 5 * BATCH),
    (damage_size_upwards, {"invalidBatch"}, ".log", 5 * BATCH),
    (damage_magic, {"invalidBatch"}, ".log", 5 * BATCH),
    (tear_the_tail, {"invalidBytes"}, ".log", 19 * BATCH),
    (append_garbage, {"invalidBatch"}, ".log", 20 * BATCH),
    (zero_a_page, {"invalidBatch"}, ".log", 5 * BATCH),
    (lose_a_batch, {"highWatermarkBeyondLogEnd", "misMatchesForIndexFilesMap", "shallowOffsetNotFound"}, ".log", None),
    (lose_a_segment, {"nonConsecutivePairsForLogFilesMap"}, ".log", None),
    (shift_index_position, {"misMatchesForIndexFilesMap"}, ".index", 24),
    (shift_index_offset, {"misMatchesForIndexFilesMap"}, ".index", 24),
    (index_beyond_the_log, {"misMatchesForIndexFilesMap"}, ".index", 19 * 8),
    (zero_in_an_index, {"misMatchesForIndexFilesMap"}, ".index", 24),
    (cut_an_index, {"indexSanityCheck"}, ".index", None),
    (lose_an_index, {"indexSanityCheck"}, ".index", None),
    (lose_a_time_index, {"indexSanityCheck"}, ".timeindex", None),
    (time_index_with_another_time, {"misMatchesForTimeIndexFilesMap"}, ".timeindex", 19 * 12),
    (time_index_with_an_unknown_offset, {"shallowOffsetNotFound"}, ".timeindex", 19 * 12),
    (time_index_going_back, {"outOfOrderTimestamp"}, ".timeindex", 19 * 12),
    (high_watermark_too_high, {"highWatermarkBeyondLogEnd"}, ".log", None),
    (malformed_checkpoint, {"corruptCheckpoint"}, "recovery-point-offset-checkpoint", None),
    (malformed_epochs, {"corruptCheckpoint"}, "leader-epoch-checkpoint", None),
    (falling_epochs, {"corruptCheckpoint"}, "leader-epoch-checkpoint", None),
    (corrupt_snapshot, {"corruptSnapshot"}, ".snapshot", None),
]


@pytest.mark.parametrize(
    ("damage", "expected", "suffix", "position"), DAMAGES, ids=[damage[0].__name__ for damage in DAMAGES]
)
def test_damage_gives_its_finding(
    logs: Logs, damage: Callable[[Logs], None], expected: set[str], suffix: str, position: int | None
) -> None:
    write_log(logs)
    damage(logs)
    found = findings(logs)
    assert {row["kind"] for row in found} == expected
    first = next(row for row in found if row["path"].endswith(suffix))
    assert (first["topic"], first["partition"]) in ((None, None), ("topic", 0))
    if position is not None:
        assert first["position"] == position


def test_reading_goes_on_behind_a_damaged_batch(logs: Logs) -> None:
    write_log(logs)
    change(file(logs, ".log", 20), put(5 * BATCH + 8, struct.pack(">i", 5)))
    change(file(logs, ".log", 20), put(9 * BATCH + 90, b"?"))
    change(file(logs, ".log", 20), put(15 * BATCH + 8, struct.pack(">i", 1 << 30)))
    assert [(row["kind"], row["position"]) for row in findings(logs)] == [
        ("invalidBatch", 5 * BATCH),
        ("invalidBatch", 9 * BATCH),
        ("invalidBatch", 15 * BATCH),
    ]


def test_the_transaction_index_and_the_markers_must_agree(logs: Logs) -> None:
    log = logs.create()
    aborted = append_mixed_transactions(logs, log)
    log.close()
    index = file(logs, ".txnindex")
    data = index.read_bytes()
    last = aborted[0].last_offset
    index.write_bytes(data[34:])
    assert [(row["kind"], row["offset"]) for row in findings(logs)] == [("misMatchesForTxnIndex", last)]
    index.unlink()
    assert len(findings(logs)) == len(aborted)
    assert findings(logs, compacted="topic") == []
    for at, wrong in ((1, b"\x07"), (9, b"\x63"), (17, b"\x7f"), (25, b"\x05"), (33, b"\xff")):
        broken = bytearray(data)
        broken[at : at + 1] = wrong
        index.write_bytes(broken)
        row = findings(logs)[0]
        assert (row["kind"], row["position"]) == ("misMatchesForTxnIndex", 0), at
    index.write_bytes(data + b"\0\0")
    assert kinds(logs) == {"indexSanityCheck"}


def test_a_commit_marker_wants_no_entry(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(7, 0, b"a", transactional=True))
    as_leader(log, logs.end_txn(ControlRecordType.COMMIT, 7, 0), from_client=False)
    log.close()
    assert findings(logs) == []
    file(logs, ".txnindex").write_bytes(struct.pack(">hqqqq", 0, 7, 0, 1, 2))
    assert kinds(logs) == {"misMatchesForTxnIndex"}


@pytest.mark.parametrize("seed", range(6))
def test_no_damage_makes_a_check_fail(logs: Logs, seed: int) -> None:
    log = logs.create(log_config(index_interval_bytes=1, segment_bytes=2048))
    append_mixed_transactions(logs, log)
    log.take_producer_snapshot()
    log.close()
    checkpoint(logs, 90)
    rng = random.Random(seed)
    files = sorted(path for path in logs.dir.iterdir() if path.suffix != ".log" or path.stat().st_size)
    sound = {path: path.read_bytes() for path in files}
    logged = [path for path in files if path.suffix == ".log"]
    for _ in range(25):
        path = rng.choice(files + logged)
        data = bytearray(sound[path])
        for _ in range(rng.choice([1, 1, 3])):
            at = rng.randrange(len(data) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                del data[at:]
            elif kind == 1:
                data[at:at] = rng.randbytes(rng.choice([1, 7, 100]))
            else:
                data[at : at + 4] = rng.choice([rng.randbytes(4), bytes(4), b"\xff" * 4])
        path.write_bytes(data)
        found = findings(logs)
        if path.suffix == ".log" and bytes(data) != sound[path]:
            assert found, "a change of the log was not noticed"
        path.write_bytes(sound[path])
    assert findings(logs) == []


def test_files_that_are_gone_or_unreadable(logs: Logs) -> None:
    write_log(logs)
    reader = KafkaVerifyReader(LogDirOptions({"logDirs": str(logs.dir.parent)}), SCHEMA)
    tasks = reader.partitions()
    file(logs, ".log", 0).unlink()
    file(logs, ".index", 20).unlink()
    file(logs, ".index", 20).mkdir()
    rows = [row for task in tasks for table in reader.read(task) for row in table.to_pylist()]
    assert [(row["kind"], row["path"]) for row in rows] == [("unreadableFile", str(file(logs, ".index", 20)))]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_lists_the_findings(spark: SparkSession, logs: Logs) -> None:
    spark.dataSource.register(KafkaVerify)
    write_log(logs)
    assert verify(spark, str(logs.dir.parent)).count() == 0
    damage_crc(logs)
    corrupt_snapshot(logs)
    rows = verify(spark, {3: [str(logs.dir.parent)]}, subscribe="topic").orderBy("kind").collect()
    assert [(row["kind"], row["broker"], row["topic"], row["partition"]) for row in rows] == [
        ("corruptSnapshot", 3, "topic", 0),
        ("invalidBatch", 3, "topic", 0),
    ]
    assert verify(spark, [str(logs.dir.parent)], subscribe="other").count() == 0
