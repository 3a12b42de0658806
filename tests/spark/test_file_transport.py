"""Reading files while a broker works on them: which replica, up to where, and that no record is lost or given twice."""

from __future__ import annotations

import gc
import os
import pathlib
import pickle
import random
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log import Log
from kafka_py.spark import file_transport, layout
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.file_transport import (
    LOG,
    FileTransport,
    SegmentReader,
    choose_replica,
    committed_offset,
    divergence,
    first_offset_since,
)
from kafka_py.spark.layout import LogDirs, ReplicaDir, SegmentFile, end_offset, segment_files
from kafka_py.spark.transport import DataLossError, PartitionOffsets, ReadOptions
from kafka_py.testing.mock_time import MockTime
from tests.log.cleaner_support import all_records, cleaner_config, fill_segments, make_cleaner, record, to_clean
from tests.log.log_harness import Logs, append_mixed_transactions, as_leader, log_config, transactional, unstable
from tests.spark import arrow_data
from tests.spark.made_logs import (
    T0,
    BytesRead,
    made_batch,
    make_log_dir,
    write_checkpoint,
    write_epochs,
    write_partition,
    write_segment,
)
from tests.spark.made_topics import MadeTopics

TP = TopicPartition("topic", 0)
T_0 = TopicPartition("t", 0)
ANY_SIZE = 1 << 40


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def transport_of(home: pathlib.Path | str, read_committed: bool = False, **options: Any) -> FileTransport:
    transport = FileTransport(LogDirs.of(str(home)), read_committed=read_committed, time=MockTime(), **options)
    transport.partitions()
    return transport


def read(pieces: Sequence[Any], read_committed: bool = False, fail: bool = True) -> list[int]:
    """Offsets in the order in which they come; pieces go through pickle as they do in Spark."""
    options = ReadOptions(("offset",), read_committed=read_committed, fail_on_data_loss=fail)
    found: list[int] = []
    for piece in pickle.loads(pickle.dumps(pieces)):
        for table in SegmentReader(piece, options, MockTime()).tables():
            found += table.column("offset").to_pylist()
    return found


def planned(home: pathlib.Path, start: int, until: int, max_bytes: int = ANY_SIZE) -> list[Any]:
    return list(transport_of(home).plan("topic", 0, start, until, max_bytes, False))


def kept(log: Log) -> list[int]:
    return [r.offset() for r in all_records(log)]


# ----- pieces -----


@pytest.mark.parametrize("seed", range(25))
def test_any_range_in_any_pieces(tmp_path: pathlib.Path, seed: int) -> None:
    """Whatever the indexes are like: each piece gives its offsets, all of them give all, and no byte is read twice."""
    rng = random.Random(seed)
    base, last = 0, rng.random() < 0.5
    for i in range(segments := rng.randrange(1, 5)):
        count = rng.randrange(1, 12)
        rolled = i < segments - 1
        write_partition(tmp_path, "t-0", base, count, index_every=rng.randrange(1, 5), last_offsets=last, rolled=rolled)
        base += 10 * count
    if rng.random() < 0.2:
        rng.choice(list((tmp_path / "t-0").glob("*.index"))).unlink()
    write_checkpoint(tmp_path, {"t-0": base})
    transport = transport_of(tmp_path)
    for _ in range(10):
        start, until = sorted(rng.sample(range(base + 1), 2))
        pieces = transport.plan("t", 0, start, until, rng.choice([1, 300, 900, 2500, ANY_SIZE]), False)
        edges = [start, *(piece.until_offset for piece in pieces)]
        assert [piece.from_offset for piece in pieces] == edges[:-1]
        assert edges[-1] == until
        assert read(pieces) == list(range(start, until))


def test_a_piece_spans_small_segments(tmp_path: pathlib.Path) -> None:
    for base in range(0, 1000, 50):
        write_partition(tmp_path, "t-0", base, 5)
    write_checkpoint(tmp_path, {"t-0": 1000})
    size = (tmp_path / "t-0" / "00000000000000000000.log").stat().st_size
    pieces = transport_of(tmp_path).plan("t", 0, 0, 1000, size * 5, False)
    assert 4 <= len(pieces) <= 5
    assert read(pieces) == list(range(1000))


def test_nothing_is_planned_for_nothing(tmp_path: pathlib.Path) -> None:
    transport = transport_of(make_log_dir(tmp_path / "logs"))
    assert transport.plan("t", 0, 7, 7, ANY_SIZE, False) == []
    assert transport.plan("t", 9, 0, 7, ANY_SIZE, False) == []


@pytest.mark.parametrize("seed", range(10))
def test_never_above_the_high_watermark(tmp_path: pathlib.Path, seed: int) -> None:
    """Of a log that is longer than its high watermark, and torn at its end, only what is below it is offered."""
    rng = random.Random(seed)
    path = write_partition(tmp_path, "t-0", 0, rng.randrange(5, 30), rolled=False)
    count = len(read(transport_of(tmp_path, offsets_source=LOG).plan("t", 0, 0, 50, ANY_SIZE, False)))
    assert count == 50
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - rng.randrange(1, 100))
    high_watermark = rng.randrange(41)
    write_checkpoint(tmp_path, {"t-0": high_watermark})
    transport = transport_of(tmp_path)
    offsets = transport.partitions()["t", 0]
    assert offsets.high_watermark == offsets.last_stable_offset == high_watermark <= offsets.log_end_offset
    found = read(transport.plan("t", 0, 0, offsets.high_watermark, ANY_SIZE, False))
    assert found == list(range(high_watermark))
    since = transport.offset_for_timestamp("t", 0, T0 + 1000 * high_watermark)
    assert since is None


def test_the_log_end_for_forensics(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    assert transport_of(home).partitions()[T_0] == PartitionOffsets(5, 177, 177, 200)
    assert transport_of(home, offsets_source=LOG).partitions()[T_0] == PartitionOffsets(5, 200, 200, 200)


def test_a_log_that_ends_below_its_high_watermark_is_a_loss(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    write_checkpoint(home, {"t-0": 300})
    transport = transport_of(home)
    assert transport.partitions()[T_0] == PartitionOffsets(5, 300, 300, 200)
    pieces = transport.plan("t", 0, 150, 300, ANY_SIZE, False)
    with pytest.raises(DataLossError, match=r"Cannot fetch records in \[200, 300\)"):
        read(pieces)
    assert read(pieces, fail=False) == list(range(150, 200))


def test_a_damaged_batch_is_an_error_even_where_loss_is_not(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    path = home / "t-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"v55")] ^= 1
    path.write_bytes(data)
    pieces = transport_of(home).plan("t", 0, 5, 100, ANY_SIZE, False)
    with pytest.raises(CorruptRecordException):
        read(pieces, fail=False)


@pytest.mark.parametrize("tail", ["torn", "zeros"])
@pytest.mark.parametrize("max_bytes", [300, ANY_SIZE])
@pytest.mark.parametrize("until", [100, 177])
def test_a_segment_that_ends_too_early_is_no_gap(tmp_path: pathlib.Path, tail: str, max_bytes: int, until: int) -> None:
    """What compaction leaves ends with a batch; other bytes at the end of a segment that was rolled were records."""
    home = make_log_dir(tmp_path / "logs")
    path = home / "t-0" / "00000000000000000000.log"
    data = path.read_bytes()
    last = data.rindex(b"k90") - 70  # within the batch before
    at = data.rindex((90).to_bytes(8, "big"), last, last + 70)
    path.write_bytes(data[:-30] if tail == "torn" else data[:at] + bytes(len(data) - at))
    pieces = transport_of(home).plan("t", 0, 5, until, max_bytes, False)
    with pytest.raises(DataLossError, match=r"Cannot fetch records in \[90, 100\)"):
        read(pieces)
    assert read(pieces, fail=False) == [*range(5, 90), *range(100, until)]


# ----- little is read -----


def test_a_window_of_offsets_reads_few_bytes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = large_partition(tmp_path)
    bytes_read = BytesRead(monkeypatch)
    transport = transport_of(tmp_path)
    assert read(transport.plan("t", 0, 123_456, 124_456, ANY_SIZE, False)) == list(range(123_456, 124_456))
    assert bytes_read.count < size // 50


def test_a_window_of_time_reads_few_bytes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = large_partition(tmp_path)
    bytes_read = BytesRead(monkeypatch)
    transport = transport_of(tmp_path)
    start = transport.offset_for_timestamp("t", 0, T0 + 123_456_000)
    until = transport.offset_for_timestamp("t", 0, T0 + 124_455_001)
    assert start is not None
    assert until is not None
    assert read(transport.plan("t", 0, start, until, ANY_SIZE, False)) == list(range(123_456, 124_456))
    assert bytes_read.count < size // 25


def large_partition(home: pathlib.Path) -> int:
    """200,000 records of 100 bytes in four segments, in batches of 16 KiB, each with an index entry; the size."""
    total = 0
    for base in range(0, 200_000, 50_000):
        offsets = np.arange(base, base + 50_000)
        values = pa.array([b"%0100d" % offset for offset in offsets])
        times = pa.array((T0 + 1000 * offsets) * 1000).cast(pa.timestamp("us", "UTC"))
        table = pa.table({"value": values, "offset": offsets, "timestamp": times})
        batches = [(b.base_offset, b.last_offset, b.data) for b in RecordBatchEncoder().encode_batches(table)]
        path = write_segment(home / "t-0", base, batches, index_every=1, rolled=base < 150_000)
        total += path.stat().st_size
    write_checkpoint(home, {"t-0": 200_000})
    return total


# ----- by time -----


@pytest.mark.parametrize("seconds", [0, 1, 5, 6, 99, 100, 101, 150, 176])
def test_the_first_record_that_is_not_older(tmp_path: pathlib.Path, seconds: int) -> None:
    transport = transport_of(make_log_dir(tmp_path / "logs"))
    assert transport.offset_for_timestamp("t", 0, T0 + 1000 * seconds) == max(5, seconds)
    assert transport.offset_for_timestamp("t", 0, T0 + 1000 * seconds - 999) == max(5, seconds)


def test_times_that_nothing_has(tmp_path: pathlib.Path) -> None:
    transport = transport_of(make_log_dir(tmp_path / "logs"))
    assert transport.offset_for_timestamp("t", 0, T0 + 177_000) is None
    assert transport.offset_for_timestamp("t", 1, 0) == 40
    assert transport.offset_for_timestamp("t", 7, 0) is None


@pytest.mark.parametrize(("timestamp", "offset"), [(T0, 10), (T0 * 10**6, 20), (-5, 0), (-(2**63), 0), (2**63, None)])
def test_times_that_do_not_fit_microseconds(tmp_path: pathlib.Path, timestamp: int, offset: int | None) -> None:
    """A producer whose milliseconds are nanoseconds, say: whoever starts at a time need not read the time."""
    times = {0: 5, 10: 10**18, 20: 2**63 - 1}
    batches = [(o, o, arrow_data.batch(o, [SimpleRecord(time, b"k", b"v")])) for o, time in times.items()]
    write_segment(tmp_path / "t-0", 0, batches, rolled=False)
    write_checkpoint(tmp_path, {"t-0": 21})
    assert transport_of(tmp_path).offset_for_timestamp("t", 0, timestamp) == offset


def test_times_that_go_back(logs: Logs) -> None:
    log = logs.create(log_config(index_interval_bytes=100, segment_bytes=1000))
    rng = random.Random(1)
    times = [rng.randrange(1000) for _ in range(100)]
    for time in times:
        as_leader(log, record(1, 1, timestamp=time))
    write_checkpoint(logs.dir.parent, {"topic-0": 100})
    transport = transport_of(logs.dir.parent)
    for wanted in range(0, 1001, 13):
        first = next((offset for offset, time in enumerate(times) if time >= wanted), None)
        assert transport.offset_for_timestamp("topic", 0, wanted) == first


def test_times_without_time_indexes(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    for path in (home / "t-0").glob("*.timeindex"):
        path.unlink()
    assert transport_of(home).offset_for_timestamp("t", 0, T0 + 142_000) == 142
    gone = next(segment_files(home / "t-0"))
    os.unlink(gone.path)
    assert first_offset_since(gone, T0, 0, 100) is None


# ----- what brokers do meanwhile -----


def test_segments_are_rolled_and_grow_meanwhile(logs: Logs) -> None:
    log = logs.create(cleaner_config())
    fill_segments(log, 3)
    end = log.log_end_offset
    write_checkpoint(logs.dir.parent, {"topic-0": end})
    pieces = planned(logs.dir.parent, 0, end, 1500)
    fill_segments(log, 6)
    assert read(pieces) == list(range(end))


def test_retention_renames_segments_before_it_deletes_them(logs: Logs) -> None:
    log = logs.create(cleaner_config(cleanup_policy="delete", retention_bytes=1))
    fill_segments(log, 5)
    end = log.log_end_offset
    write_checkpoint(logs.dir.parent, {"topic-0": end})
    pieces = planned(logs.dir.parent, 0, end, 1500)
    log.on_high_watermark_incremented(end)
    assert log.delete_old_segments() == 4
    assert read(pieces) == list(range(end))
    logs.time.sleep(log.config.file_delete_delay_ms + 1)
    start = log.active_segment.base_offset
    with pytest.raises(DataLossError, match=rf"Cannot fetch records in \[0, {start}\) \(TopicPartition: topic-0\)"):
        read([planned_as_one(pieces)])
    assert read(pieces, fail=False) == list(range(start, end))
    assert read(planned(logs.dir.parent, start, end)) == list(range(start, end))


def planned_as_one(pieces: Sequence[Any]) -> Any:
    """The first piece, made to reach to the end of the last: its hints are of segments that are gone."""
    first, last = pickle.loads(pickle.dumps((pieces[0], pieces[-1])))
    first.until_offset = last.until_offset
    return first


def test_an_open_file_survives_its_deletion(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=1 << 24))
    for offset in range(500):
        as_leader(log, record(offset, b"x" * 3000))
    write_checkpoint(logs.dir.parent, {"topic-0": 500})
    (piece,) = planned(logs.dir.parent, 0, 500)
    piece.hints = (piece.hints[0]._replace(end=1),)  # read in small steps
    tables = SegmentReader(piece, ReadOptions(("offset",)), MockTime()).tables()
    found = next(tables).column("offset").to_pylist()
    assert len(found) < 500
    for path in logs.dir.glob("*.log"):
        path.unlink()
    found += [offset for table in tables for offset in table.column("offset").to_pylist()]
    assert found == list(range(500))


@pytest.mark.parametrize("max_bytes", [700, ANY_SIZE])
def test_old_segments_are_read_while_cleaned_ones_are_in_their_place(logs: Logs, max_bytes: int) -> None:
    log = log_with_few_keys(logs)
    end = log.log_end_offset
    pieces = planned(logs.dir.parent, 0, end, max_bytes)
    make_cleaner(logs.time).clean(to_clean(log))
    assert len(kept(log)) < end
    assert read(pieces) == list(range(end))
    assert read(planned(logs.dir.parent, 0, end, max_bytes)) == kept(log)


@pytest.mark.parametrize("max_bytes", [700, ANY_SIZE])
def test_records_are_found_by_offset_in_cleaned_and_merged_segments(logs: Logs, max_bytes: int) -> None:
    log = log_with_few_keys(logs)
    end, segments = log.log_end_offset, log.number_of_segments
    pieces = planned(logs.dir.parent, 0, end, max_bytes)
    for _ in range(2):
        make_cleaner(logs.time).clean(to_clean(log))
    logs.time.sleep(log.config.file_delete_delay_ms + 1)
    assert not list(logs.dir.glob("*.deleted"))
    assert log.number_of_segments < segments
    assert read(pieces) == kept(log)
    assert len(kept(log)) < end


def log_with_few_keys(logs: Logs) -> Log:
    log = logs.create(cleaner_config())
    fill_segments(log, 6, lambda offset: record(offset % 7, offset))
    write_checkpoint(logs.dir.parent, {"topic-0": log.log_end_offset})
    return log


def test_a_file_with_the_inode_of_another_is_not_taken_for_it(tmp_path: pathlib.Path) -> None:
    """File systems give inodes out again: what is at the position must be the batch that was there, too."""
    home = make_log_dir(tmp_path / "logs")
    pieces = transport_of(home).plan("t", 0, 70, 100, ANY_SIZE, False)
    path = home / "t-0" / "00000000000000000000.log"
    inode, data = path.stat().st_ino, path.read_bytes()
    path.write_bytes(data[int.from_bytes(data[8:12], "big") + 12 :])  # as if the first batch had been cleaned away
    path.with_suffix(".index").unlink()
    assert path.stat().st_ino == inode
    assert read(pieces) == list(range(70, 100))


def without_hints(pieces: Sequence[Any]) -> Any:
    """The only piece, which does not know any more where its records are."""
    (piece,) = pieces
    piece.hints = ()
    return piece


def test_a_segment_that_is_replaced_while_it_is_looked_up(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions of the new file's index are none of the old one's, open or not."""
    home = make_log_dir(tmp_path / "logs")
    piece = without_hints(transport_of(home).plan("t", 0, 70, 100, ANY_SIZE, False))
    path = home / "t-0" / "00000000000000000000.log"
    swapped = write_segment(
        tmp_path / "cleaned", 0, [(o, o + 9, made_batch(o)) for o in range(10, 100, 10)], index_every=1
    )

    def replacing(segment: SegmentFile, offset: int) -> int:
        for suffix in (".log", ".index"):
            if swapped.with_suffix(suffix).exists():
                swapped.with_suffix(suffix).rename(path.with_suffix(suffix))
        return layout.position_of(segment, offset)

    monkeypatch.setattr(file_transport, "position_of", replacing)
    assert read([piece]) == list(range(70, 100))


def test_a_segment_that_goes_away_while_its_end_is_looked_for(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_log_dir(tmp_path / "logs")
    piece = without_hints(transport_of(home).plan("t", 0, 100, 177, ANY_SIZE, False))
    calls: list[SegmentFile] = []

    def vanishing(segment: SegmentFile) -> int:
        calls.append(segment)
        if len(calls) == 1:
            raise FileNotFoundError(segment.path)
        return end_offset(segment)

    monkeypatch.setattr(file_transport, "end_offset", vanishing)
    assert read([piece]) == list(range(100, 177))
    gc.collect()  # an unclosed file would warn


@pytest.mark.parametrize("at_once", [True, False])
def test_a_replica_that_is_moved_to_another_log_directory(tmp_path: pathlib.Path, at_once: bool) -> None:
    homes = make_log_dir(tmp_path / "one"), tmp_path / "two"
    homes[1].mkdir()
    for home in homes:
        (home / "meta.properties").write_text("version=0\nbroker.id=1\n")
    pieces: list[Any] = list(transport_of(f"{homes[0]},{homes[1]}").plan("t", 0, 5, 177, 700, False))
    assert len(pieces) > 2
    # In its place is the copy, a file of its own; what was there is about to be deleted.
    shutil.copytree(homes[0] / "t-0", homes[1] / "t-0.0123456789abcdef0123456789abcdef-future")
    (homes[0] / "t-0").rename(homes[0] / "t-0.0123456789abcdef0123456789abcdef-delete")

    def arrive() -> None:
        for future in homes[1].glob("*-future"):
            future.rename(homes[1] / "t-0")

    time = MockTime()
    time.add_listener(arrive)
    if at_once:
        arrive()
    reader = SegmentReader(pieces[0], ReadOptions(("offset",)), time)
    first = [offset for table in reader.tables() for offset in table.column("offset").to_pylist()]
    assert first + read(pieces[1:]) == list(range(5, 177))


def test_a_deleted_topic(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    pieces = transport_of(home).plan("t", 0, 5, 177, ANY_SIZE, False)
    (home / "t-0").rename(home / "t-0.0123456789abcdef0123456789abcdee-delete")
    with pytest.raises(DataLossError, match=r"\[5, 177\).*the topic may have been deleted"):
        read(pieces)
    assert read(pieces, fail=False) == []


@pytest.mark.parametrize("gone", ["the log directory", "the partition's directory"])
@pytest.mark.parametrize("fail", [True, False])
def test_a_directory_that_an_executor_does_not_see(tmp_path: pathlib.Path, gone: str, fail: bool) -> None:
    """Whatever failOnDataLoss says: nothing was deleted, the task runs where the directory is not."""
    home = make_log_dir(tmp_path / "logs")
    pieces = transport_of(home).plan("t", 0, 5, 177, ANY_SIZE, False)
    moved = home if gone == "the log directory" else home / "t-0"
    moved.rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"does not see the directory.*every executor must see") as raised:
        read(pieces, fail=fail)
    assert raised.value.filename == str(home / "t-0")


def test_a_directory_without_segments_has_lost_them(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    for file in (home / "t-0").iterdir():
        file.unlink()
    pieces = transport_of(home).plan("t", 0, 5, 177, ANY_SIZE, False)
    with pytest.raises(DataLossError, match=r"Cannot fetch records in \[5, 177\)"):
        read(pieces)
    assert read(pieces, fail=False) == []


def test_a_copy_without_its_checkpoint(tmp_path: pathlib.Path) -> None:
    """Nothing in it is known to be committed, which is no reason to find nothing without a word."""
    home = make_log_dir(tmp_path / "logs")
    (home / "replication-offset-checkpoint").unlink()
    with pytest.raises(ValueError, match=r"has no replication-offset-checkpoint.*offsetsSource=log"):
        transport_of(home)
    assert transport_of(home, offsets_source=LOG).partitions()[T_0].high_watermark == 200
    (home / "replication-offset-checkpoint").write_text("")  # as a broker makes it
    assert transport_of(home).partitions()[T_0].high_watermark == 5


def test_what_another_host_writes_may_show_late(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    path = home / "t-0" / "00000000000000000100.log"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    class LateTime(MockTime):
        def sleep(self, ms: int) -> None:
            path.write_bytes(whole)

    write_checkpoint(home, {"t-0": 200})
    transport = FileTransport(LogDirs.of(str(home)), time=LateTime())
    assert transport.partitions()[T_0].log_end_offset == 200
    (piece,) = transport.plan("t", 0, 100, 200, ANY_SIZE, False)
    path.write_bytes(whole[: len(whole) // 2])
    tables = SegmentReader(piece, ReadOptions(("offset",)), LateTime()).tables()  # type: ignore[arg-type]
    assert [offset for table in tables for offset in table.column("offset").to_pylist()] == list(range(100, 200))


# ----- committed data -----


@pytest.mark.parametrize("segment_bytes", [300, 1000, 1 << 20])
@pytest.mark.parametrize("snapshots", [True, False])
def test_the_last_stable_offset_is_the_broker_s(logs: Logs, segment_bytes: int, snapshots: bool) -> None:
    log = logs.create(log_config(segment_bytes=segment_bytes))
    append_mixed_transactions(logs, log)
    if not snapshots:
        logs.delete_producer_snapshot_files()
    one = FileTransport(LogDirs.of(str(logs.dir.parent)), read_committed=True)
    ends = [batch.next_offset() for segment in log.log_segments for batch in segment.log.batches()]
    for high_watermark in ends:
        write_checkpoint(logs.dir.parent, {"topic-0": high_watermark})
        log.on_high_watermark_incremented(high_watermark)
        first_unstable = unstable(log)
        expected = high_watermark if first_unstable is None else min(first_unstable, high_watermark)
        fresh = transport_of(logs.dir.parent, read_committed=True)
        assert fresh.partitions()[TP].last_stable_offset == expected
        assert one.partitions()[TP].last_stable_offset == expected  # it goes on from where it was


def test_the_last_stable_offset_goes_back_with_the_high_watermark(logs: Logs) -> None:
    log = logs.create(log_config())
    append_mixed_transactions(logs, log)
    transport = FileTransport(LogDirs.of(str(logs.dir.parent)), read_committed=True)
    for high_watermark, expected in [(90, 90), (20, 0), (30, 8), (0, 0)]:
        write_checkpoint(logs.dir.parent, {"topic-0": high_watermark})
        assert transport.partitions()[TP].last_stable_offset == expected


@pytest.mark.parametrize("records", [5, 30])
def test_transactions_of_a_topic_that_was_created_again(logs: Logs, records: int) -> None:
    """Another log in the same place: what was open in the old one is not, and what is open in it is found."""
    log = logs.create(log_config())
    transactional(log, 1, 0)(5)
    home = logs.dir.parent
    write_checkpoint(home, {"topic-0": 5})
    transport = FileTransport(LogDirs.of(str(home)), read_committed=True)
    assert transport.partitions()[TP].last_stable_offset == 0
    shutil.rmtree(logs.dir)
    plain = [(o, o + 4, made_batch(o, 5)) for o in range(0, records, 5)]
    opened = made_batch(records, 5, producer_id=7, transactional=True)
    write_segment(logs.dir, 0, [*plain, (records, records + 4, opened)], rolled=False)
    write_checkpoint(home, {"topic-0": records + 5})
    for _ in range(2):
        assert transport.partitions()[TP] == PartitionOffsets(0, records + 5, records, records + 5)


@pytest.mark.parametrize("snapshots", [True, False])
def test_a_transaction_whose_records_were_deleted_holds_nobody_up(logs: Logs, snapshots: bool) -> None:
    log = logs.create(log_config(segment_bytes=1 << 20))
    transactional(log, 1, 0)(5)
    two = transactional(log, 2, 0)
    two(5)
    as_leader(log, logs.now_record())
    if snapshots:
        log.roll()
    write_checkpoint(logs.dir.parent, {"topic-0": 11})
    one = FileTransport(LogDirs.of(str(logs.dir.parent)), read_committed=True)
    assert one.partitions()[TP].last_stable_offset == 0
    log.on_high_watermark_incremented(11)
    for start, expected in [(3, 3), (7, 7), (10, 11)]:
        log.maybe_increment_log_start_offset(start)
        write_checkpoint(logs.dir.parent, {"topic-0": start}, "log-start-offset-checkpoint")
        assert (unstable(log) or 11) == expected
        fresh = transport_of(logs.dir.parent, read_committed=True)
        assert fresh.partitions()[TP] == one.partitions()[TP] == PartitionOffsets(start, 11, expected, 11)


def test_a_damaged_snapshot_is_not_used(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=300))
    transactional(log, 1, 0)(5)
    for _ in range(20):
        as_leader(log, logs.now_record())
    write_checkpoint(logs.dir.parent, {"topic-0": 25})
    newest = max(logs.dir.glob("*.snapshot"))
    newest.write_bytes(newest.read_bytes()[:-1] + b"?")
    assert transport_of(logs.dir.parent, read_committed=True).partitions()[TP].last_stable_offset == 0


@pytest.mark.parametrize("segment_bytes", [300, 1 << 20])
@pytest.mark.parametrize("max_bytes", [1, 500, ANY_SIZE])
def test_only_committed_records(logs: Logs, segment_bytes: int, max_bytes: int) -> None:
    log = logs.create(log_config(segment_bytes=segment_bytes, index_interval_bytes=100))
    aborted = append_mixed_transactions(logs, log)
    write_checkpoint(logs.dir.parent, {"topic-0": 90})
    transport = transport_of(logs.dir.parent, read_committed=True)
    committed = []
    for segment in log.log_segments:
        for batch in segment.log.batches():
            taken_back = any(
                batch.producer_id() == txn.producer_id and txn.first_offset <= batch.base_offset() <= txn.last_offset
                for txn in aborted
            )
            if not batch.is_control_batch() and not taken_back:
                committed += [r.offset() for r in batch]
    for start, until in [(0, 90), (3, 80), (30, 31), (8, 20), (74, 90)]:
        pieces = transport.plan("topic", 0, start, until, max_bytes, True)
        assert read(pieces, read_committed=True) == [offset for offset in committed if start <= offset < until]
    everything = [r.offset() for s in log.log_segments for b in s.log.batches() if not b.is_control_batch() for r in b]
    assert read(transport.plan("topic", 0, 0, 90, max_bytes, False)) == everything


def test_an_aborted_transaction_whose_marker_is_not_readable_yet(logs: Logs) -> None:
    log = logs.create(log_config())
    transactional(log, 1, 0)(5)
    as_leader(log, logs.now_record())
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 1, 0), from_client=False)
    write_checkpoint(logs.dir.parent, {"topic-0": 6})
    assert transport_of(logs.dir.parent, read_committed=True).partitions()[TP] == PartitionOffsets(0, 6, 0, 7)
    write_checkpoint(logs.dir.parent, {"topic-0": 7})
    transport = transport_of(logs.dir.parent, read_committed=True)
    assert transport.partitions()[TP].last_stable_offset == 7
    assert read(transport.plan("topic", 0, 0, 7, ANY_SIZE, True), read_committed=True) == [5]


# ----- replicas -----


def replica(broker_id: int, high_watermark: int, *epochs: tuple[int, int], start: int = 0) -> ReplicaDir:
    return ReplicaDir(f"/{broker_id}/t-0", "t", 0, start, high_watermark, (), broker_id, epochs)


def test_the_replica_with_the_newest_epoch_and_the_highest_mark_is_read() -> None:
    old, new, newer = replica(1, 100, (0, 0)), replica(2, 90, (0, 0), (4, 80)), replica(3, 95, (0, 0), (4, 80))
    assert choose_replica([old, new, newer]) == newer
    assert choose_replica([old, new, newer], leader=2) == new
    assert choose_replica([old, new, newer], leader=9) == newer


def test_a_new_leader_s_checkpoint_takes_nothing_back() -> None:
    leader, follower = replica(1, 90, (0, 0), (4, 80)), replica(2, 100, (0, 0), (4, 80))
    assert committed_offset(leader, [leader, follower]) == 100


def test_what_another_history_has_committed_does_not_count() -> None:
    chosen = replica(1, 90, (0, 0), (4, 80))
    behind = replica(2, 100, (0, 0))  # went on in epoch 0 where the chosen one has epoch 4: will truncate
    assert committed_offset(chosen, [chosen, behind]) == 90
    assert committed_offset(chosen, [chosen, replica(3, 100, (0, 0), (4, 85))]) == 90
    assert committed_offset(chosen, [chosen, replica(3, 100)]) == 90
    assert committed_offset(replica(1, 90), [replica(1, 90), replica(3, 100)]) == 100


def test_divergence() -> None:
    same = [replica(1, 0, (0, 0), (4, 80)), replica(2, 0, (0, 0)), replica(3, 0, (4, 90), start=90)]
    assert divergence(same) is None
    conflict = divergence([*same, replica(4, 0, (0, 0), (4, 70))])
    assert conflict is not None
    assert (conflict[0].broker_id, conflict[1].broker_id, conflict[2]) == (1, 4, 4)


def two_brokers(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    homes = tmp_path / "one", tmp_path / "two"
    for at, home in enumerate(homes):
        make_log_dir(home)
        (home / "meta.properties").write_text(f"version=0\nbroker.id={at + 1}\n")
    write_checkpoint(homes[0], {"t-0": 150})
    return homes


def test_brokers_with_the_same_partition(tmp_path: pathlib.Path) -> None:
    one, two = two_brokers(tmp_path)
    dirs = LogDirs.of(f"{one},{two}")
    (piece,) = planned_by(FileTransport(dirs))
    assert piece.directory == str(two / "t-0")
    (piece,) = planned_by(FileTransport(dirs, replica=1))
    assert piece.directory == str(one / "t-0")
    assert FileTransport(dirs, replica=1).partitions()[T_0].high_watermark == 150
    (piece,) = planned_by(FileTransport(dirs, leaders=lambda partitions: dict.fromkeys(partitions, 1)))
    assert piece.directory == str(one / "t-0")


def planned_by(transport: FileTransport) -> list[Any]:
    transport.partitions()
    return list(transport.plan("t", 0, 100, 120, ANY_SIZE, False))


def test_live_offsets_take_the_place_of_the_checkpoint(tmp_path: pathlib.Path) -> None:
    dirs = LogDirs.of(str(make_log_dir(tmp_path / "logs")))
    live = MadeTopics({T_0: PartitionOffsets(0, 190, 185, 190)})
    found = FileTransport(dirs, live=live, read_committed=True).partitions()
    assert found[T_0] == PartitionOffsets(5, 190, 185, 200)
    assert found["other", 0].high_watermark == 20  # the broker does not know it: the checkpoint does
    live = MadeTopics({T_0: PartitionOffsets(0, 900, 900, 900)})  # this replica is behind
    found = FileTransport(dirs, live=live, time=MockTime()).partitions()
    assert found[T_0] == PartitionOffsets(5, 200, 200, 200)


@pytest.mark.parametrize("given", [{}, {"replica": 1}, {"reads_leaders": False}])
@pytest.mark.parametrize(("leader", "end"), [(1, 190), (2, 150)])
def test_live_offsets_are_the_leader_s(tmp_path: pathlib.Path, given: dict[str, Any], leader: int, end: int) -> None:
    """The end of a replica that does not lead may be what it has to truncate."""
    one, _ = two_brokers(tmp_path)
    live = MadeTopics({T_0: PartitionOffsets(0, 190, 190, 190)})
    transport = FileTransport(LogDirs.of(str(one)), live=live, leaders=lambda _: {T_0: leader}, **given)
    assert transport.partitions()[T_0] == PartitionOffsets(5, end, end, 200)


def test_a_change_of_leaders_takes_nothing_back(tmp_path: pathlib.Path) -> None:
    """What was given out while the replica led stays there, unless the new leader has not got it."""
    one, _ = two_brokers(tmp_path)
    leaders, high_watermarks = iter([1, 2, 2, 2]), iter([190, 195, 180, 195])

    class Live(MadeTopics):
        def partitions(self, wanted: Any = None) -> Any:
            end = next(high_watermarks)
            return {T_0: PartitionOffsets(0, end, end, end)}

    transport = FileTransport(LogDirs.of(str(one)), live=Live({}), leaders=lambda _: {T_0: next(leaders)})
    assert [transport.partitions()[T_0].high_watermark for _ in range(4)] == [190, 190, 180, 190]


def test_a_marker_that_is_not_in_the_files_yet(logs: Logs) -> None:
    """What the broker calls stable is so by an abort marker which this replica has not got."""
    log = logs.create(log_config())
    transactional(log, 1, 0)(5)
    as_leader(log, logs.now_record())
    live = MadeTopics({TP: PartitionOffsets(0, 7, 7, 7)})
    transport = FileTransport(LogDirs.of(str(logs.dir.parent)), read_committed=True, live=live, time=MockTime())
    assert transport.partitions()[TP] == PartitionOffsets(0, 6, 0, 6)
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 1, 0), from_client=False)
    assert transport.partitions()[TP] == PartitionOffsets(0, 7, 7, 7)
    assert read(transport.plan("topic", 0, 0, 7, ANY_SIZE, True), read_committed=True) == [5]


def test_diverging_replicas_are_told_of_once(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = two_brokers(tmp_path)
    write_epochs(one / "t-0", [(0, 0), (1, 50)])
    write_epochs(two / "t-0", [(0, 0), (1, 60)])
    transport = FileTransport(LogDirs.of(f"{one},{two}"))
    transport.partitions()
    transport.partitions()
    told = [r.getMessage() for r in caplog.records if "differ" in r.getMessage()]
    assert len(told) == 1
    assert "epoch 1 begins at another offset" in told[0]


def test_a_replica_that_goes_away_while_it_is_looked_at(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_log_dir(tmp_path / "logs")
    transport = FileTransport(LogDirs.of(str(home)))

    def vanishing(segment: SegmentFile) -> int:
        if "other" in segment.path:
            shutil.rmtree(home / "other-0", ignore_errors=True)
        return end_offset(segment)

    monkeypatch.setattr(layout, "end_offset", vanishing)
    assert set(transport.partitions()) == {("t", 0), ("t", 1)}
    transport.close()
    assert transport.plan("t", 0, 5, 10, ANY_SIZE, False) == []
