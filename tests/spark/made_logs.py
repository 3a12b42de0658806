"""Log directories for the tests of the sources: files written by hand, or by the broker's own Log."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.spark.layout import LogDir, LogDirs, ReplicaDir, broker_id_of
from kafka_py.spark.options import KafkaSourceOptions
from kafka_py.spark.source import KafkaBatch
from tests.spark.arrow_data import batch

if TYPE_CHECKING:
    import pytest

T0 = 1_500_000_000_000  # the time of offset 0 in milliseconds; each record is a second younger than the one before


def made_batch(base: int, count: int = 10, **options: Any) -> bytes:
    """A batch of records whose keys, values and times follow from their offsets."""
    records = [SimpleRecord(T0 + 1000 * o, b"k%d" % o, b"v%d" % o) for o in range(base, base + count)]
    return batch(base, records, **options)


def write_segment(
    directory: pathlib.Path,
    base: int,
    batches: Sequence[tuple[int, int, bytes]],
    *,
    index_every: int = 3,
    last_offsets: bool = False,
    rolled: bool = True,
) -> pathlib.Path:
    """A segment of (first offset, last offset, bytes), with both indexes.

    Offset index entries are those of 1.1 (an append's first offset) or of later brokers (its last). Indexes of a
    segment that was not rolled are preallocated, and the last records are not in the time index.
    """
    directory.mkdir(parents=True, exist_ok=True)
    log, index, times = bytearray(), bytearray(), bytearray()
    for i, (first, last, data) in enumerate(batches):
        if i and i % index_every == 0:
            index += ((last if last_offsets else first) - base).to_bytes(4, "big") + len(log).to_bytes(4, "big")
            times += (T0 + 1000 * last).to_bytes(8, "big") + (last - base).to_bytes(4, "big")
        log += data
    if rolled:
        last = batches[-1][1]
        times += (T0 + 1000 * last).to_bytes(8, "big") + (last - base).to_bytes(4, "big")
    zeros = b"" if rolled else bytes(480)
    path = directory / f"{base:020}.log"
    path.write_bytes(log)
    path.with_suffix(".index").write_bytes(index + zeros)
    path.with_suffix(".timeindex").write_bytes(times + zeros)
    return path


def write_partition(home: pathlib.Path, name: str, first: int, batches: int, **options: Any) -> pathlib.Path:
    """A segment of ten-record batches."""
    made = [(base, base + 9, made_batch(base)) for base in range(first, first + 10 * batches, 10)]
    return write_segment(home / name, first, made, **options)


def write_checkpoint(
    home: pathlib.Path, offsets: Mapping[str, int], name: str = "replication-offset-checkpoint"
) -> None:
    """High watermarks (or another checkpoint) by names such as ``t-0``."""
    lines = [f"{tp.rpartition('-')[0]} {tp.rpartition('-')[2]} {offset}" for tp, offset in offsets.items()]
    (home / name).write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def write_epochs(directory: pathlib.Path, epochs: Iterable[tuple[int, int]]) -> None:
    """leader-epoch-checkpoint: (epoch, first offset)."""
    lines = [f"{epoch} {offset}" for epoch, offset in epochs]
    (directory / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))


def make_log_dir(home: pathlib.Path) -> pathlib.Path:
    """t-0: offsets 0-199 in two segments, readable 5-176; t-1: 40-89; another topic; a partition being deleted."""
    home.mkdir(exist_ok=True)
    write_partition(home, "t-0", 0, 10)
    write_partition(home, "t-0", 100, 10, rolled=False)
    write_partition(home, "t-1", 40, 5, rolled=False)
    write_partition(home, "other-0", 0, 2, rolled=False)
    write_partition(home, "t-2.0123456789abcdef0123456789abcdef-delete", 0, 1)
    write_partition(home, "t-0.0123456789abcdef0123456789abcdef-future", 0, 1)
    write_checkpoint(home, {"t-0": 177, "t-1": 90, "other-0": 20})
    write_checkpoint(home, {"t-0": 5}, "log-start-offset-checkpoint")
    return home


def options(log_dir: pathlib.Path | str, streaming: bool = False, /, **more: str) -> KafkaSourceOptions:
    """The options of a source that reads topic t, unless others are given."""
    chosen = {} if more.keys() & {"subscribe", "subscribePattern", "assign"} else {"subscribe": "t"}
    return KafkaSourceOptions({"logDirs": str(log_dir), **chosen, **more}, streaming)


def read_offsets(reader: Any, pieces: Iterable[Any]) -> dict[int, list[int]]:
    """Partition -> offsets that the tasks give, in their order."""
    found: dict[int, list[int]] = {}
    for piece in pieces:
        for table in reader.read(piece):
            found.setdefault(piece.partition, []).extend(table.column("offset").to_pylist())
    return found


def offsets(log_dir: pathlib.Path | str, **more: str) -> dict[int, list[int]]:
    """Partition -> offsets that a batch query reads."""
    reader = KafkaBatch(options(log_dir, **more), ("offset",))
    return read_offsets(reader, reader.partitions())


def replica_dirs(log_dirs: Iterable[str]) -> list[ReplicaDir]:
    """Every partition in these log directories, as it is now."""
    return LogDirs(LogDir(log_dir, broker_id_of(log_dir)) for log_dir in log_dirs).replicas()


class BytesRead:
    """Counts what is read of files through the os module."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        pread, preadv = os.pread, os.preadv

        def counting_pread(fd: int, length: int, offset: int) -> bytes:
            data = pread(fd, length, offset)
            self.count += len(data)
            return data

        def counting_preadv(fd: int, buffers: Any, offset: int) -> int:
            got = preadv(fd, buffers, offset)
            self.count += got
            return got

        monkeypatch.setattr(os, "pread", counting_pread)
        monkeypatch.setattr(os, "preadv", counting_preadv)


def segment_names(directory: pathlib.Path) -> Iterator[str]:
    """The names of a partition's .log files."""
    return (path.name for path in sorted(directory.glob("*.log")))
