"""What the logs of test_kill_cycles.py must hold, according to the ledger alone, and how to see whether they do.

Bytes on disk are parsed with MemoryRecords; everything else here is independent of kafka_py.log.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import pathlib
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from tests.integration.kill_cycle_worker import (
    COMPACTED,
    FOLLOWER,
    LEADERS,
    RETENTION_BYTES,
    key_bytes,
    value_bytes,
)

KeyValue = tuple[bytes | None, bytes | None]
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_BATCH_START = struct.Struct(">qi")


@dataclasses.dataclass(frozen=True)
class Batch:
    """A batch as it stands in a file."""

    position: int
    size: int
    base: int
    last: int
    magic: int
    epoch: int
    pid: int
    transactional: bool
    timestamp: int
    commit: bool | None  # of a marker
    records: tuple[tuple[int, bytes | None, bytes | None], ...]


def parse(data: bytes) -> list[Batch]:
    """All batches; AssertionError if one is damaged, or something is left behind them."""
    batches, position = [], 0
    for batch in MemoryRecords.readable_records(bytearray(data)).batches():
        batch.ensure_valid()
        modern = batch.magic() >= 2
        marker = ControlRecordType.parse(next(iter(batch)).key() or b"") if batch.is_control_batch() else None
        records = tuple((r.offset(), _copy(r.key()), _copy(r.value())) for r in batch) if marker is None else ()
        batches.append(
            Batch(
                position,
                batch.size_in_bytes(),
                batch.base_offset(),
                batch.last_offset(),
                batch.magic(),
                batch.partition_leader_epoch() if modern else -1,
                batch.producer_id() if modern else -1,
                batch.is_transactional() if modern else False,
                batch.max_timestamp(),
                None if marker is None else marker is ControlRecordType.COMMIT,
                records,
            )
        )
        position += batch.size_in_bytes()
    assert position == len(data), f"{len(data) - position} bytes behind the last batch"
    return batches


def _copy(data: bytes | bytearray | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


class Disk:
    """The segments of one partition, read anew only where a file has changed."""

    def __init__(self, dir: pathlib.Path) -> None:
        self.dir = dir
        self.segments: dict[int, list[Batch]] = {}  # by base offset
        self._known: dict[tuple[int, int, int], list[Batch]] = {}  # by inode, size and time

    def read(self, sizes: Mapping[int, int]) -> None:
        """Parse the segments, of which so many bytes count: an active one may be preallocated."""
        known, self._known, self.segments = self._known, {}, {}
        for file in sorted(self.dir.glob("*.log")):
            base, status = int(file.stem), file.stat()
            key = (status.st_ino, sizes[base], status.st_mtime_ns)
            self._known[key] = known.get(key) or parse(file.read_bytes()[: sizes[base]])
            self.segments[base] = self._known[key]

    def batches(self) -> Iterator[Batch]:
        for _, batches in sorted(self.segments.items()):
            yield from batches

    @property
    def size(self) -> int:
        return sum(batch.size for batch in self.batches())


@dataclasses.dataclass
class Pending:
    """What the ledger says was begun, without saying that it was done: it may have happened, or a part of it."""

    kind: str
    target: int
    old_end: int
    records: dict[int, KeyValue]
    batches: Sequence[Any] = ()


@dataclasses.dataclass
class Transaction:
    """Open until it is ended by a marker."""

    first: int
    aborted: bool | None = None


class Partition:
    """What one partition must hold."""

    def __init__(self, dir: pathlib.Path) -> None:
        self.topic = dir.name.rpartition("-")[0]
        self.disk = Disk(dir)
        self.end = 0
        # up to where the log's beginning may have been deleted, and the least that it must have been
        self.deletable = self.durable_start = 0
        # whether it was ever large enough for retention to delete from it, since it was looked at last
        self.was_large = False
        self.flushed = 0
        self.torn_at: int | None = None
        self.records: dict[int, KeyValue] = {}
        self.transaction_of: dict[int, Transaction] = {}
        # by producer id: epoch, last sequence and last offset
        self.producers: dict[int, tuple[int, int, int]] = {}
        self.open: dict[int, Transaction] = {}
        # producer id, first offset, offset of the marker, last stable offset when it was written
        self.aborted: list[tuple[int, int, int, int]] = []
        self.pending: Pending | None = None

    # ---- what the ledger says -------------------------------------------------------------------------------------

    def append(self, first: int, epoch: int | None, batches: Sequence[Any]) -> None:
        """A batch is [producer id, epoch, sequence, transactional, entries], a marker [id, epoch, -1, commit, null]."""
        assert first == self.end, f"{self.topic}: the child appended at {first}, not at {self.end}"
        records: dict[int, KeyValue] = {}
        offset = first
        for *_, entries in batches:
            for i, (key, number, size) in enumerate(entries or ()):
                records[offset + i] = (key_bytes(key), value_bytes(number, size))
            offset += _count(entries)
        self.pending = Pending("append", first, offset, records, batches)

    def truncate(self, target: int, kind: str) -> None:
        """Everything from the target on goes, all else too if it is a restart; "either" may be both."""
        self.pending = Pending(kind, target, self.end, self.records)

    def delete(self, target: int) -> None:
        """What lies before the target may go from now on."""
        self.deletable = max(self.deletable, target)

    def done(self) -> None:
        """What was begun has happened."""
        pending, self.pending = self.pending, None
        if pending is None:
            return
        if pending.kind == "append":
            self._take(pending, pending.old_end)
        else:
            self._cut(pending.target)
            if pending.kind == "restart":
                self.records = {}
                self.deletable = self.durable_start = pending.target

    def _cut(self, end: int) -> None:
        self.records = {offset: record for offset, record in self.records.items() if offset < end}
        self.end = end
        self.flushed, self.deletable, self.durable_start = (
            min(offset, end) for offset in (self.flushed, self.deletable, self.durable_start)
        )

    def _take(self, pending: Pending, end: int) -> None:
        """Make what an append has written below `end` a part of what is expected."""
        offset = pending.target
        self.records.update({o: record for o, record in pending.records.items() if o < end})
        for pid, epoch, sequence, flag, entries in pending.batches:
            if offset >= end:
                break
            count = _count(entries)
            if pid >= 0 and entries is None:
                self._end_transaction(pid, offset, commit=flag)
            elif pid >= 0:
                self.producers[pid] = (epoch, sequence + count - 1, offset + count - 1)
                if flag:
                    transaction = self.open.setdefault(pid, Transaction(offset))
                    self.transaction_of.update(dict.fromkeys(range(offset, offset + count), transaction))
            offset += count
        self.end = end

    def _end_transaction(self, pid: int, marker: int, commit: bool) -> None:
        transaction = self.open.pop(pid)
        transaction.aborted = not commit
        if transaction.aborted:
            stable = min((other.first for other in self.open.values()), default=marker + 1)
            self.aborted.append((pid, transaction.first, marker, stable))

    # ---- a loss of power ------------------------------------------------------------------------------------------

    def tear(self, rng: random.Random, recovery_point: int) -> bool:
        """Cut the log off within a batch that nobody said was on the disk, and damage the indexes of its segment."""
        last = max(self.disk.dir.glob("*.log"))
        data = last.read_bytes()
        unflushed, position = [], 0
        while position + _BATCH_START.size <= len(data):
            base, length = _BATCH_START.unpack_from(data, position)
            size = _BATCH_START.size + length
            if length == 0 or position + size > len(data):
                break
            if base >= max(self.flushed, recovery_point):
                unflushed.append((base, position, size))
            position += size
        if self.torn_at is not None or not unflushed:
            return False
        self.torn_at, position, size = rng.choice(unflushed)
        os.truncate(last, position + rng.randrange(size))
        for suffix in (".index", ".timeindex"):
            index = last.with_suffix(suffix)
            if index.exists() and rng.random() < 0.5:
                index.write_bytes(rng.randbytes(index.stat().st_size))
        return True

    # ---- what a child found ---------------------------------------------------------------------------------------

    def check(self, found: Mapping[str, Any]) -> None:
        """Compare with what the child says of the log that it opened, and with the disk; the child does nothing now."""
        self.disk.read({segment["base"]: segment["size"] for segment in found["segments"]})
        batches = list(self.disk.batches())
        first = min(self.disk.segments)
        assert batches == sorted(batches, key=lambda batch: batch.base)
        assert all(before.last < after.base for before, after in itertools.pairwise(batches)), "offsets twice"
        self._resolve(found["end"], empty=not batches)
        assert found["end"] == self.end
        assert found["recovery_point"] == self.end
        is_large = self.disk.size >= RETENTION_BYTES
        if self.topic in ("retained", "both") and (is_large or self.was_large):
            self.deletable = max(self.deletable, first)
        self.was_large = is_large
        assert first <= self.deletable, "deleted too much"
        assert max(first, self.durable_start) <= found["start"] <= max(first, self.deletable)
        assert found["start"] <= found["end"]
        if self.topic in COMPACTED:
            self._check_compacted(batches, first)
        else:
            self._check_all_there(batches, first)
        self.records = {offset: record for offset, record in self.records.items() if offset >= first}
        self._check_producers(found, batches)
        self._check_epochs(found["epochs"], batches, max(found["start"], self.deletable))
        for segment in found["segments"]:
            self._check_indexes(segment)
        for offset, answer in found["reads"]:
            expected = next(([batch.base, batch.last] for batch in batches if batch.last >= offset), None)
            assert answer == expected, f"read at {offset}"
        self._check_files()

    def _resolve(self, end: int, empty: bool) -> None:
        """See how far the pending operation has come."""
        pending, self.pending = self.pending, None
        if pending is None:
            pass
        elif pending.kind == "append":
            if self.torn_at is None:
                assert pending.target <= end <= pending.old_end
            if end > pending.target:
                self._take(pending, end)
        elif end == pending.old_end and not empty:
            if pending.kind != "truncate":
                self.deletable, self.durable_start = end, 0
        elif pending.kind == "restart" or empty:
            assert empty, "neither the old log nor an empty one"
            # of a restart that was killed, the active segment may be left, and nothing may have been in it yet
            is_active_left = pending.kind != "truncate" and end == pending.old_end
            assert end in (0, pending.target) or end <= self.deletable or is_active_left
            self.records, self.end, self.deletable, self.durable_start = {}, end, end, end
        else:
            assert pending.target <= end <= pending.old_end
            self._cut(end)
        if self.torn_at is not None:
            assert end == self.torn_at
            self._cut(self.torn_at)
            self.torn_at = None

    def _check_all_there(self, batches: Sequence[Batch], first: int) -> None:
        expected_base = first
        for base, segment in sorted(self.disk.segments.items()):
            assert base == expected_base, f"a gap before {base}"
            for batch in segment:
                assert batch.base == expected_base, f"a gap before {batch.base}"
                expected_base = batch.last + 1
        assert expected_base == self.end
        stored = {offset: (key, value) for batch in batches for offset, key, value in batch.records}
        assert stored == {offset: record for offset, record in self.records.items() if offset >= first}

    def _check_compacted(self, batches: Sequence[Batch], first: int) -> None:
        """The last value of each key is there, and nothing that was not written so."""
        stored: dict[bytes | None, tuple[int, bytes | None]] = {}
        offsets = set()
        for offset, key, value in (record for batch in batches for record in batch.records):
            assert self.records[offset] == (key, value)
            offsets.add(offset)
            if self._is_visible(offset):
                stored[key] = (offset, value)
        last: dict[bytes | None, tuple[int, bytes | None]] = {}
        for offset, (key, value) in sorted(self.records.items()):
            transaction = self.transaction_of.get(offset)
            if transaction is not None and transaction.aborted is None:
                assert offset in offsets, f"record {offset} of an open transaction is gone"
            if offset >= first and self._is_visible(offset):
                last[key] = (offset, value)
        for key, (offset, value) in last.items():
            if value is None:
                assert stored.get(key, (offset, None)) == (offset, None), f"{key!r}, deleted at {offset}, is back"
            else:
                assert stored.get(key) == (offset, value), f"the last value of {key!r} is gone"
        assert set(stored) <= set(last)

    def _is_visible(self, offset: int) -> bool:
        transaction = self.transaction_of.get(offset)
        return transaction is None or transaction.aborted is False

    def _check_producers(self, found: Mapping[str, Any], batches: Sequence[Batch]) -> None:
        opened = {pid: transaction.first for pid, transaction in self.open.items()}
        expected = {str(pid): [*state, opened.get(pid)] for pid, state in self.producers.items()}
        assert found["producers"] == expected
        assert found["unstable"] == min(opened.values(), default=None)
        aborted = [tuple(entry) for segment in found["segments"] for entry in segment["aborted"]]
        if self.topic not in COMPACTED:
            assert aborted == self.aborted
        for batch in batches:
            if batch.transactional and batch.records:
                covered = any(t[0] == batch.pid and t[1] <= batch.base <= t[2] for t in aborted)
                assert covered == (self.transaction_of[batch.base].aborted is True), f"batch at {batch.base}"

    def _check_epochs(self, epochs: Sequence[Sequence[int]], batches: Sequence[Batch], start: int) -> None:
        assert all(before < after for before, after in itertools.pairwise([tuple(entry) for entry in epochs]))
        assert all(begin <= self.end for _, begin in epochs), "an epoch begins behind the log's end"
        for batch in batches:
            if batch.magic >= 2 and batch.base >= start:
                assert batch.epoch == max((e for e, begin in epochs if begin <= batch.base), default=None)

    def _check_indexes(self, segment: Mapping[str, Any]) -> None:
        """Each entry points at a batch, and the last time index entry of a rolled segment says its largest time."""
        base, batches = segment["base"], self.disk.segments[segment["base"]]
        by_position = {batch.position: batch for batch in batches}
        path = self.disk.dir / f"{base:020}"
        data = path.with_suffix(".index").read_bytes()[: segment["offsets"] * _OFFSET_ENTRY.size]
        entries = [(base + offset, position) for offset, position in _OFFSET_ENTRY.iter_unpack(data)]
        assert entries == sorted(set(entries))
        for offset, position in entries:
            assert by_position[position].base == offset
        data = path.with_suffix(".timeindex").read_bytes()[: segment["times"] * _TIME_ENTRY.size]
        times = [(timestamp, base + offset) for timestamp, offset in _TIME_ENTRY.iter_unpack(data)]
        assert times == sorted(set(times))
        assert [offset for _, offset in times] == sorted({offset for _, offset in times})
        for timestamp, offset in times:
            assert any(b.base <= offset <= b.last and b.timestamp == timestamp for b in batches)
        if times and base != max(self.disk.segments):
            assert times[-1][0] == max(batch.timestamp for batch in batches)

    def _check_files(self) -> None:
        """No half of a cleaned segment, and no index without its segment."""
        names = {file.name for file in self.disk.dir.iterdir()}
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        for name in names:
            if name.endswith((".index", ".timeindex", ".txnindex")):
                assert f"{name.partition('.')[0]}.log" in names, name


def _count(entries: Sequence[Any] | None) -> int:
    return 1 if entries is None else len(entries)


class Model:
    """All partitions of one directory, and how far its ledger was read."""

    def __init__(self, dir: pathlib.Path, ledger: pathlib.Path) -> None:
        self._ledger = ledger
        self._read = 0
        self.partitions = {f"{topic}-0": Partition(dir / f"{topic}-0") for topic in (*LEADERS, FOLLOWER)}
        self.counts: collections.Counter[str] = collections.Counter()

    def follow(self) -> None:
        """Read what the child that is dead now has written.

        A kill may come while the kernel is between two pages of a line: what it told is not said, and is cut off.
        """
        data = self._ledger.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(self._ledger, whole)
        lines = data[self._read : whole].splitlines()
        self._read = whole
        latest: Partition | None = None
        for line in lines:
            kind, *what = json.loads(line)
            self.counts[kind] += 1
            if kind == "done":
                assert latest is not None
                latest.done()
            elif kind == "starts":
                for name, start in what[0].items():
                    self.partitions[name].durable_start = start
            elif kind == "flushed":
                self.partitions[what[0]].flushed = max(self.partitions[what[0]].flushed, what[1])
            elif kind == "large":
                self.partitions[what[0]].was_large = True
            elif kind in ("append", "truncate", "restart", "either", "delete"):
                latest = self.partitions[what[0]]
                if kind == "append":
                    latest.append(*what[1:])
                elif kind == "delete":
                    latest.delete(what[1])
                else:
                    latest.truncate(what[1], kind)

    def check(self, found: Mapping[str, Any], high_watermarks: Mapping[str, int]) -> None:
        """Compare with what the next child found."""
        for name, partition in self.partitions.items():
            if name in found:
                try:
                    partition.check(found[name])
                except AssertionError as error:
                    error.add_note(f"partition {name}, found {found[name]}")
                    raise
            else:
                assert partition.end == 0
        for name, offset in high_watermarks.items():
            if name not in ("plain-0", "replica-0"):  # these are cut off
                assert offset <= self.partitions[name].end
