"""Log directories: whose they are, what is in them, and where in a segment something is."""

from __future__ import annotations

import itertools
import os
import pathlib
import random

import pytest

from kafka_py.spark.layout import (
    LogDir,
    LogDirs,
    SegmentFile,
    cuts_between,
    end_offset,
    position_behind,
    position_of,
    position_of_timestamp,
    read_leader_epochs,
    read_offset_checkpoint,
    scan_headers,
    segment_files,
    with_ends,
)
from tests.spark.made_logs import (
    T0,
    BytesRead,
    made_batch,
    make_log_dir,
    replica_dirs,
    write_checkpoint,
    write_epochs,
    write_partition,
    write_segment,
)


@pytest.fixture
def log_dir(tmp_path: pathlib.Path) -> pathlib.Path:
    return make_log_dir(tmp_path / "logs")


def broker_dir(home: pathlib.Path, broker_id: int | None, *partitions: str) -> pathlib.Path:
    home.mkdir()
    for name in partitions:
        write_partition(home, name, 0, 1)
    if broker_id is not None:
        (home / "meta.properties").write_text(f"#\n#Thu Jul 05 10:00:00 UTC 2018\nversion=0\nbroker.id={broker_id}\n")
    return home


def one(directory: pathlib.Path, at: int = 0) -> SegmentFile:
    return list(segment_files(directory))[at]


def test_partitions_and_their_bounds(log_dir: pathlib.Path) -> None:
    write_epochs(log_dir / "t-0", [(0, 0), (3, 120)])
    replicas = {(r.topic, r.partition): r for r in replica_dirs([str(log_dir)])}
    assert set(replicas) == {("t", 0), ("t", 1), ("other", 0)}
    first = replicas["t", 0]
    assert (first.log_start_offset, first.high_watermark, first.log_end_offset) == (5, 177, 200)
    assert (first.last_epoch, first.leader_epochs) == (3, ((0, 0), (3, 120)))
    assert replicas["t", 1].log_start_offset == 40
    assert replicas["t", 1].last_epoch == -1
    assert first.size == sum(path.stat().st_size for path in (log_dir / "t-0").glob("*.log"))
    assert [s.base_offset for s in first.segments_between(99, 100)] == [0]
    assert [s.base_offset for s in first.segments_between(100, 101)] == [100]
    assert [s.base_offset for s in first.segments_between(0, 200)] == [0, 100]
    assert first.segments_between(0, 0) == []


def test_only_live_segments(log_dir: pathlib.Path) -> None:
    directory = log_dir / "t-0"
    (directory / "00000000000000000000.log").rename(directory / "00000000000000000000.log.deleted")
    (directory / "00000000000000000050.log.cleaned").touch()
    assert [s.base_offset for s in segment_files(directory)] == [100]


def test_a_swap_file_stands_for_the_segment_that_it_becomes(log_dir: pathlib.Path) -> None:
    directory = log_dir / "t-0"
    (directory / "00000000000000000000.log").rename(directory / "00000000000000000000.log.swap")
    swap = one(directory)
    assert (swap.base_offset, swap.beside(".index")) == (0, str(directory / "00000000000000000000.index"))
    (directory / "00000000000000000000.log").touch()
    assert one(directory).path.endswith(".log")


def test_checkpoints_that_are_not_there_or_empty(log_dir: pathlib.Path) -> None:
    assert read_offset_checkpoint(log_dir / "nothing") == {}
    (log_dir / "empty").touch()
    assert read_offset_checkpoint(log_dir / "empty") == {}
    assert read_leader_epochs(log_dir / "nothing") == ()
    (log_dir / "newer").write_text("7\n0\n")
    with pytest.raises(ValueError, match="Unrecognized version of the checkpoint file"):
        read_offset_checkpoint(log_dir / "newer")


@pytest.mark.parametrize("text", ["0", "0\n", "0\n2\nt 0 177", "0\n1\nt 0 177\nt 1 90\n", "0\n1\n", "0\n-1\nt 0 177\n"])
def test_a_checkpoint_has_as_many_entries_as_it_says(log_dir: pathlib.Path, text: str) -> None:
    """What is missing would be partitions without committed records."""
    (log_dir / "half").write_text(text)
    with pytest.raises(ValueError, match="entries in checkpoint file"):
        read_offset_checkpoint(log_dir / "half")
    with pytest.raises(ValueError, match="entries in checkpoint file"):
        read_leader_epochs(log_dir / "half")


def test_brokers_are_known_by_their_meta_properties(tmp_path: pathlib.Path) -> None:
    broker_dir(tmp_path / "a1", 1, "t-0")
    broker_dir(tmp_path / "a2", 1, "t-1")
    broker_dir(tmp_path / "b1", 2, "t-0")
    broker_dir(tmp_path / "copy", None, "t-0")
    found = LogDirs.of(f"{tmp_path}/a*, {tmp_path}/b1,{tmp_path}/copy")
    assert [d.broker_id for d in found.dirs] == [1, 1, 2, -1]
    names = {(r.broker_id, str(r.topic_partition)) for r in found.replicas()}
    assert names == {(1, "t-0"), (1, "t-1"), (2, "t-0"), (-1, "t-0")}
    assert [r.partition for r in found.replicas(lambda _, partition: partition == 1)] == [1]


def test_brokers_by_option(tmp_path: pathlib.Path) -> None:
    one, two = broker_dir(tmp_path / "one", None, "t-0"), broker_dir(tmp_path / "two", 2, "t-0")
    assert LogDirs.of(brokers=f"7={one}, 2={two}").dirs == (LogDir(str(one), 7), LogDir(str(two), 2))
    with pytest.raises(ValueError, match=r"was given for broker 3, but its meta.properties says 2"):
        LogDirs.of(brokers=f"3={two}")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "Exactly one of the options 'logDirs'"),
        ({"log_dirs": "/tmp", "brokers": "1=/tmp"}, "Exactly one of the options 'logDirs'"),
        ({"brokers": "/tmp"}, "wants broker=directory, got '/tmp'"),
        ({"log_dirs": "/nowhere/*"}, "No log directory found at /nowhere"),
    ],
)
def test_directories_that_make_no_sense(given: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        LogDirs.of(**given)


def test_a_partition_in_two_directories_of_one_broker(tmp_path: pathlib.Path) -> None:
    broker_dir(tmp_path / "a", 1, "t-0")
    broker_dir(tmp_path / "b", 1, "t-0")
    dirs = LogDirs.of(f"{tmp_path}/a,{tmp_path}/b")
    with pytest.raises(ValueError, match="Broker 1 has t-0 in two log directories"):
        dirs.replicas()
    (tmp_path / "b" / "t-0").rename(tmp_path / "b" / "t-0.0123456789abcdef0123456789abcdef-future")
    assert len(dirs.replicas()) == 1


@pytest.mark.parametrize("last_offsets", [False, True])
@pytest.mark.parametrize("rolled", [False, True])
def test_positions_enclose_every_range(tmp_path: pathlib.Path, last_offsets: bool, rolled: bool) -> None:
    """Whichever offset of an append the index has: no wanted batch is left out, and few others come along."""
    path = write_partition(tmp_path, "t-0", 1000, 40, last_offsets=last_offsets, rolled=rolled)
    segment = one(tmp_path / "t-0")
    size = len(made_batch(1000))
    data = path.read_bytes()
    for start, until in [(1000, 1001), (1029, 1030), (1030, 1031), (1150, 1200), (1399, 1400), (1000, 1400)]:
        first, last = position_of(segment, start), position_behind(segment, until)
        assert int.from_bytes(data[first : first + 8], "big") <= start
        behind = int.from_bytes(data[last : last + 8], "big") if last < len(data) else 1400
        assert behind >= until
        assert last - first <= (until - start) // 10 * size + 9 * size


def test_an_index_that_is_missing_or_wrong_is_not_believed(tmp_path: pathlib.Path) -> None:
    path = write_partition(tmp_path, "t-0", 0, 40)
    index = path.with_suffix(".index")
    right = index.read_bytes()
    assert position_of(one(tmp_path / "t-0"), 300) > 0
    index.write_bytes(b"".join(right[i : i + 4] + (int.from_bytes(right[i + 4 : i + 8], "big") + 5).to_bytes(4, "big")
                               for i in range(0, len(right), 8)))  # fmt: skip
    assert position_of(one(tmp_path / "t-0"), 300) == 0
    index.unlink()
    segment = one(tmp_path / "t-0")
    assert (position_of(segment, 300), position_behind(segment, 10)) == (0, segment.size)
    assert end_offset(segment) == 400


def test_half_an_index_entry_is_none(tmp_path: pathlib.Path) -> None:
    path = write_partition(tmp_path, "t-0", 0, 40)
    index = path.with_suffix(".index")
    index.write_bytes(index.read_bytes()[:-5])
    assert position_of(one(tmp_path / "t-0"), 399) > 0
    index.write_bytes(b"\0\0\0")
    assert position_of(one(tmp_path / "t-0"), 399) == 0


@pytest.mark.parametrize("step", [1, 700, 5000, 1 << 20])
def test_cuts_are_batches_at_index_entries(tmp_path: pathlib.Path, step: int) -> None:
    path = write_partition(tmp_path, "t-0", 0, 40)
    segment, data = one(tmp_path / "t-0"), path.read_bytes()
    cuts = cuts_between(segment, 0, segment.size, step, step)
    assert cuts == sorted(set(cuts))
    assert all(int.from_bytes(data[position : position + 8], "big") == offset for position, offset in cuts)
    positions = [0, *(position for position, _ in cuts)]
    assert all(b - a >= step for a, b in itertools.pairwise(positions))
    assert bool(cuts) == (step < segment.size)


def test_compressed_sets_of_old_magic_do_not_say_where_they_begin(tmp_path: pathlib.Path) -> None:
    path = write_partition(tmp_path, "t-0", 0, 1)
    path.write_bytes(b"".join(made_batch(base, magic=1, codec=1) for base in range(0, 100, 10)))
    size = len(made_batch(0, magic=1, codec=1))
    path.with_suffix(".index").write_bytes((50).to_bytes(4, "big") + (size * 5).to_bytes(4, "big"))
    assert cuts_between(one(tmp_path / "t-0"), 0, path.stat().st_size, 1, 1) == []


@pytest.mark.parametrize("chunk", [20, 300, 1 << 20])
def test_headers_are_scanned_to_the_first_byte_that_is_no_batch(tmp_path: pathlib.Path, chunk: int) -> None:
    path = write_partition(tmp_path, "t-0", 0, 5)
    whole = path.stat().st_size
    for tail in (b"", made_batch(50)[:-1], made_batch(50)[:10], bytes(300)):
        path.write_bytes(path.read_bytes()[:whole] + tail)
        with open(path, "rb") as file:
            found = list(scan_headers(file.fileno(), 0, path.stat().st_size, chunk))
        offsets = [int(o) for _, headers in found for o in headers.base_offset]
        positions = [position + int(p) for position, headers in found for p in headers.position]
        assert offsets == [0, 10, 20, 30, 40]
        assert positions == [path.read_bytes().index(made_batch(offset)) for offset in offsets]
        assert end_offset(one(tmp_path / "t-0")) == 50


def test_the_end_is_found_from_the_last_index_entry(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_partition(tmp_path, "t-0", 0, 3000, rolled=False)
    segment = one(tmp_path / "t-0")
    read = BytesRead(monkeypatch)
    assert end_offset(segment) == 30_000
    assert read.count < segment.size // 100


def test_positions_by_time(tmp_path: pathlib.Path) -> None:
    path = write_partition(tmp_path, "t-0", 0, 40)
    segment, data = one(tmp_path / "t-0"), path.read_bytes()
    for offset in (0, 1, 59, 60, 61, 200, 399):
        position = position_of_timestamp(segment, T0 + 1000 * offset)
        assert int.from_bytes(data[position : position + 8], "big") <= offset
    assert position_of_timestamp(segment, T0 + 399_000) > segment.size // 2
    path.with_suffix(".timeindex").unlink()
    assert position_of_timestamp(segment, T0 + 399_000) == 0


def test_a_directory_that_is_deleted_while_listing_is_left_out(
    log_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir

    def vanishing(path: str) -> list[str]:
        if str(path).endswith("t-1"):
            raise FileNotFoundError(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", vanishing)
    assert [str(r.topic_partition) for r in replica_dirs([str(log_dir)])] == ["other-0", "t-0"]


@pytest.mark.parametrize("seed", range(5))
def test_damaged_indexes_never_hide_a_record(tmp_path: pathlib.Path, seed: int) -> None:
    rng = random.Random(seed)
    path = write_partition(tmp_path, "t-0", 0, 40)
    path.with_suffix(".index").write_bytes(rng.randbytes(rng.randrange(400)))
    path.with_suffix(".timeindex").write_bytes(rng.randbytes(rng.randrange(400)))
    segment, data = one(tmp_path / "t-0"), path.read_bytes()
    for offset in range(0, 400, 7):
        position = position_of(segment, offset)
        assert int.from_bytes(data[position : position + 8], "big") <= offset
    assert end_offset(segment) == 400


def test_a_directory_without_segments(tmp_path: pathlib.Path) -> None:
    """A disk that lost the log, but not what the checkpoint says of it."""
    (tmp_path / "t-0").mkdir()
    write_checkpoint(tmp_path, {"t-0": 177})
    (replica,) = replica_dirs([str(tmp_path)])
    assert (replica.high_watermark, replica.segments, replica.segments_between(0, 177)) == (177, (), [])
    assert list(with_ends(replica.segments)) == []


@pytest.mark.parametrize("magic", [0, 1])
def test_indexes_of_compressed_sets_of_old_magic_are_right(
    tmp_path: pathlib.Path, magic: int, caplog: pytest.LogCaptureFixture
) -> None:
    """In front of such a set stands its last offset; the index has the first one of the append."""
    sets = [(base, base + 9, made_batch(base, magic=magic, codec=1)) for base in range(0, 100, 10)]
    write_segment(tmp_path / "t-0", 0, sets, index_every=1)
    segment = one(tmp_path / "t-0")
    size = [0]
    for _, _, data in sets:
        size.append(size[-1] + len(data))
    for offset in range(10, 100):
        assert position_of(segment, offset) == size[offset // 10]
    assert end_offset(segment) == 100
    assert caplog.messages == []


def test_a_torn_batch_at_an_index_entry_is_told_once(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is in front of it counts, and the index is not to blame."""
    path = write_partition(tmp_path, "t-0", 0, 7, rolled=False)  # entries at 30 and 60
    path.write_bytes(path.read_bytes()[:-30])
    for _ in range(10):
        assert end_offset(one(tmp_path / "t-0")) == 60
    assert len(caplog.messages) == 1
    assert "ends within a batch, at position" in caplog.text
    path.write_bytes(path.read_bytes()[: -len(made_batch(60)) + 35])  # hardly a byte of it
    assert end_offset(one(tmp_path / "t-0")) == 60


def test_a_wrong_index_is_told_once(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_partition(tmp_path, "t-0", 0, 7)
    path.with_suffix(".index").write_bytes((30).to_bytes(4, "big") + (7).to_bytes(4, "big"))
    for _ in range(10):
        assert position_of(one(tmp_path / "t-0"), 35) == 0
    assert len(caplog.messages) == 1
