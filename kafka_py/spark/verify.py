"""`verify`: everything that is wrong with the files of log directories, one row per finding.

    verify(spark, "/var/kafka").show(truncate=False)

What DumpLogSegments prints for one file this does for whole directories, a segment (or many small ones) to a task. A
directory without damage gives no rows. The kinds of findings, the first five under the names that DumpLogSegments has:

================================== ======================================================================
``kind``                           meaning
================================== ======================================================================
misMatchesForIndexFilesMap         an entry of an .index does not lead to its batch
nonConsecutivePairsForLogFilesMap  offsets are missing between two batches (unless the topic is compacted)
misMatchesForTimeIndexFilesMap     a .timeindex entry has not the largest timestamp of its batch
outOfOrderTimestamp                a .timeindex entry is not above the one before
shallowOffsetNotFound              no batch has the offset of a .timeindex entry
outOfOrderOffset                   a batch begins at or below the last offset before, or outside its segment
invalidBatch                       a batch has a wrong CRC, or a header that no batch can have
invalidBytes                       bytes at the end of a segment that are no batch
indexSanityCheck                   an index is missing or its length is impossible: a broker would rebuild it
misMatchesForTxnIndex              a .txnindex and the abort markers in the log disagree
corruptSnapshot                    a broker would not load this .snapshot
corruptCheckpoint                  a broker would not load this checkpoint file
highWatermarkBeyondLogEnd          the checkpointed high watermark is above the end of the log
unreadableFile                     the disk does not give the file
================================== ======================================================================

Where the log itself is damaged, index entries into the damaged part are not judged, and reading goes on at the next
index entry that leads to a sound batch. An index entry may have the first offset of an append (as 1.1 writes it) or the
last one (other versions). Files deleted meanwhile are passed over, and a directory that a broker writes to may be
verified: what is half written at that moment is no finding.

Mirrors: core/src/main/scala/kafka/tools/DumpLogSegments.scala @ 1.1.1 (what it finds; headers only, and for all files)
"""

from __future__ import annotations

import itertools
import os
import pathlib
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafka_py.common.errors import CorruptSnapshotException
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.spark.batch_headers import UNKNOWN_COUNT, BatchHeaders
from kafka_py.spark.batches import (
    DEFAULT_MAX_PARTITION_BYTES,
    MAX_OFFSET,
    Chunk,
    SegmentScan,
    control_types,
    grouped,
    is_batch_at,
    with_inner_offsets,
)
from kafka_py.spark.layout import HIGH_WATERMARKS, LEADER_EPOCHS, LogDir, SegmentFile, segment_files, with_ends
from kafka_py.spark.tables import (
    CLEANER_OFFSETS,
    LIVE,
    OFFSET_CHECKPOINTS,
    OFFSET_ENTRY,
    TIME_ENTRY,
    TXN_ENTRY,
    LogDirOptions,
    LogDirsOf,
    Place,
    broker_or_none,
    index_bytes,
    leader_epochs,
    log_dir_options,
    names_in,
    offset_checkpoint,
    projection,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("broker", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("path", pa.string()),
        ("position", pa.int64()),
        ("offset", pa.int64()),
        ("detail", pa.string()),
    ]
)
COMPACTED_TOPICS = "__consumer_offsets|__transaction_state"
_GROWTH_TRIES = 10
_SMALL_FILES_BYTES = 64 << 10  # what a directory's small files count when tasks are made


class Finding(NamedTuple):
    """One thing that is wrong. ``position`` is in the file at ``path``, ``offset`` is absolute."""

    kind: str
    path: str
    detail: str
    position: int | None = None
    offset: int | None = None


class SegmentToVerify(NamedTuple):
    """One segment as planned.

    ``next_base`` is the next segment's base offset, None for the active segment; ``compacted``: offsets and transaction
    markers may be missing; ``high_watermark`` is the partition's.
    """

    segment: SegmentFile
    next_base: int | None = None
    compacted: bool = False
    high_watermark: int = 0


class Lookup:
    """Finds batches for many index entries while the batches go by.

    Each key is answered by the first batch whose ``upper`` is not below it; the arrays have one element per key, -1
    where there was none yet.
    """

    def __init__(self, keys: Ints) -> None:
        self.keys = keys
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]
        self._answered = 0  # thread: of its owner
        self.position = np.full(len(keys), -1, np.int64)
        self.base_offset = np.full(len(keys), -1, np.int64)
        self.last_offset = np.full(len(keys), -1, np.int64)
        self.max_timestamp = np.full(len(keys), -1, np.int64)
        self.legacy = np.zeros(len(keys), np.bool_)
        self.unknown = np.zeros(len(keys), np.bool_)  # whether the batch, or what is before it, is damaged

    def feed(self, upper: Ints, headers: BatchHeaders, start: int, unknown: Bools) -> None:
        """Take the next batches; ``upper`` does not fall."""
        if not len(upper):
            return
        until = int(np.searchsorted(self._sorted, upper[-1], side="right"))
        keys = self._order[self._answered : until]
        if not len(keys):
            return
        at = np.searchsorted(upper, self.keys[keys])
        self.position[keys] = headers.position[at] + start
        self.base_offset[keys] = headers.base_offset[at]
        self.last_offset[keys] = headers.last_offset[at]
        self.max_timestamp[keys] = headers.max_timestamp[at]
        self.legacy[keys] = headers.magic[at] < 2
        self.unknown[keys] = unknown[at]
        self._answered = until


class Gaps:
    """The byte ranges of a segment that could not be read as batches."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        """Note the bytes [start, end)."""
        self._ranges.append((start, end))

    def hold(self, positions: Ints) -> Bools:
        """Which of the positions lie in one of them."""
        result = np.zeros(len(positions), np.bool_)
        for start, end in self._ranges:
            result |= (positions >= start) & (positions < end)
        return result


class OffsetIndexCheck:
    """An ``.index`` beside its log: read before the log is, then compared with the batches as they go by."""

    def __init__(self, work: SegmentToVerify) -> None:
        self._path = work.segment.beside(".index")
        found = index_bytes(self._path, OFFSET_ENTRY.itemsize)
        entries = np.frombuffer(found.entries, OFFSET_ENTRY)
        self._odd = found.odd
        self._may_be_stale = work.next_base is None and found.reserved > 0
        self._offsets = entries["offset"].astype(np.int64) + work.segment.base_offset
        self.positions = entries["position"].astype(np.int64)
        self._by_position = Lookup(self.positions)
        self._by_offset = Lookup(self._offsets)

    def feed(self, headers: BatchHeaders, start: int, unknown: Bools, known: BatchHeaders, before: Bools) -> None:
        """Take the next batches: all of them, and those whose offsets can be relied on."""
        self._by_position.feed(headers.position + start, headers, start, unknown)
        self._by_offset.feed(np.maximum.accumulate(known.last_offset), known, start, before)

    def findings(self, gaps: Gaps, log_bytes: int) -> Iterator[Finding]:
        """What is wrong; to be asked after the last batch."""
        if self._odd:
            yield Finding("indexSanityCheck", self._path, f"{self._odd} bytes at the end do not fill an entry")
        at, by = self._by_position, self._by_offset
        rising = np.ones(len(self.positions), np.bool_)
        rising[1:] = (np.diff(self._offsets) > 0) & (np.diff(self.positions) > 0)
        boundary = at.position == self.positions
        is_first = at.base_offset == self._offsets
        is_first |= at.legacy & (at.base_offset <= self._offsets) & (self._offsets <= at.last_offset)
        until = np.append(self.positions[1:], log_bytes)
        is_last = (by.last_offset == self._offsets) & (by.position >= self.positions) & (by.position < until)
        unknown = at.unknown | (by.unknown & (by.base_offset > self._offsets))
        wrong = ~(rising & boundary & (is_first | is_last | unknown)) & ~gaps.hold(self.positions)
        if self._may_be_stale:
            wrong = _without_tail(wrong)
        for i in np.flatnonzero(wrong).tolist():
            log_offset = int(at.base_offset[i]) if boundary[i] else -1
            yield Finding(
                "misMatchesForIndexFilesMap",
                self._path,
                f"entry {i}: index offset {self._offsets[i]}, position {self.positions[i]}, log offset {log_offset}"
                + ("" if rising[i] else ", not above the entry before"),
                i * OFFSET_ENTRY.itemsize,
                int(self._offsets[i]),
            )


class TimeIndexCheck:
    """A ``.timeindex`` beside its log; an entry's offset is in the batch that has the largest timestamp so far."""

    def __init__(self, work: SegmentToVerify) -> None:
        self._path = work.segment.beside(".timeindex")
        found = index_bytes(self._path, TIME_ENTRY.itemsize)
        entries = np.frombuffer(found.entries, TIME_ENTRY)
        self._odd = found.odd
        self._may_be_stale = work.next_base is None and found.reserved > 0
        self._timestamps = entries["timestamp"].astype(np.int64)
        self._offsets = entries["offset"].astype(np.int64) + work.segment.base_offset
        self._by_offset = Lookup(self._offsets)

    def feed(self, start: int, known: BatchHeaders, before: Bools) -> None:
        """Take the next batches whose offsets can be relied on."""
        self._by_offset.feed(np.maximum.accumulate(known.last_offset), known, start, before)

    def findings(self, end_unknown: bool) -> Iterator[Finding]:
        """What is wrong; ``end_unknown`` tells that the last offsets of the log are damaged."""
        if self._odd:
            yield Finding("indexSanityCheck", self._path, f"{self._odd} bytes at the end do not fill an entry")
        by = self._by_offset
        rising = np.ones(len(self._offsets), np.bool_)
        rising[1:] = (np.diff(self._timestamps) > 0) & (np.diff(self._offsets) >= 0)
        inside = (by.position >= 0) & (by.base_offset <= self._offsets)
        missing = ~inside & ~np.where(by.position < 0, end_unknown, by.unknown)
        other_time = inside & (by.max_timestamp != self._timestamps)
        wrong = missing | other_time | ~rising
        if self._may_be_stale:
            wrong = _without_tail(wrong)
        for i in np.flatnonzero(wrong).tolist():
            offset, timestamp = int(self._offsets[i]), int(self._timestamps[i])
            at = i * TIME_ENTRY.itemsize
            if missing[i]:
                detail = f"entry {i}: indexed offset {offset}, found log offset {by.last_offset[i]}"
                yield Finding("shallowOffsetNotFound", self._path, detail, at, offset)
            if other_time[i]:
                detail = f"entry {i}: index timestamp {timestamp}, log timestamp {by.max_timestamp[i]}"
                yield Finding("misMatchesForTimeIndexFilesMap", self._path, detail, at, offset)
            if not rising[i]:
                detail = f"entry {i}: index timestamp {timestamp}, previously indexed {self._timestamps[i - 1]}"
                yield Finding("outOfOrderTimestamp", self._path, detail, at, offset)


def _without_tail(wrong: Bools) -> Bools:
    """The same without the wrong entries that no right one follows.

    A truncation leaves its entries in the file of an active segment: they are overwritten in time, and nobody reads
    them until then.
    """
    right = np.flatnonzero(~wrong)
    result = wrong.copy()
    result[int(right[-1]) + 1 if right.size else 0 :] = False
    return result


class TxnIndexCheck:
    """A ``.txnindex`` beside its log: one entry for each abort marker, and none without."""

    def __init__(self, work: SegmentToVerify) -> None:
        self._path = work.segment.beside(".txnindex")
        self._compacted = work.compacted
        self._base_offset = work.segment.base_offset
        self._before = self._read()
        self._markers: dict[int, int] = {}  # offset -> producer id

    def _read(self) -> bytes:
        try:
            return pathlib.Path(self._path).read_bytes()
        except FileNotFoundError:
            return b""  # most segments have none

    def feed(self, headers: BatchHeaders, buffer: memoryview) -> None:
        """Take the next sound batches."""
        control = headers.select(headers.is_control)
        if len(control):
            for i, kind in enumerate(control_types(control, buffer)):
                if kind == "ABORT":
                    self._markers[int(control.base_offset[i])] = int(control.producer_id[i])

    def findings(self, damaged: bool) -> Iterator[Finding]:
        """What is wrong; ``damaged`` tells that there may be markers that could not be read."""
        size = TXN_ENTRY.itemsize
        if len(self._before) % size:
            detail = f"{len(self._before) % size} bytes at the end do not fill an entry"
            yield Finding("indexSanityCheck", self._path, detail)
        previous = -1
        for i, entry in enumerate(self._entries(self._before)):
            wrong = self._wrong(entry, previous, damaged)
            previous = entry[3]
            if wrong:
                detail = f"entry {i} (producer {entry[1]}, offsets {entry[2]} to {entry[3]}): {wrong}"
                yield Finding("misMatchesForTxnIndex", self._path, detail, i * size, entry[3])
        if self._compacted:
            return  # the cleaner drops entries earlier than markers
        # read again: while the log was walked, a broker may have added markers with their entries
        noted = {entry[3] for entry in self._entries(self._read())}
        for offset, producer_id in self._markers.items():
            if offset not in noted:
                detail = f"no entry for the abort marker of producer {producer_id} at offset {offset}"
                yield Finding("misMatchesForTxnIndex", self._path, detail, None, offset)

    @staticmethod
    def _entries(data: bytes) -> list[tuple[int, ...]]:
        whole = len(data) // TXN_ENTRY.itemsize * TXN_ENTRY.itemsize
        return [tuple(entry) for entry in np.frombuffer(data[:whole], TXN_ENTRY).tolist()]

    def _wrong(self, entry: tuple[int, ...], previous: int, damaged: bool) -> str:
        version, producer_id, first, last, last_stable = entry
        if version != 0:
            return f"unknown version {version}"
        if not first <= last or last <= previous or last_stable > last + 1:
            return f"its offsets, or the last stable offset {last_stable}, are not in order"
        if last < self._base_offset:
            return "it ends before the segment begins"
        if self._markers.get(last) != producer_id and not (damaged and last not in self._markers):
            return "the log has no abort marker of that producer there"
        return ""


class SegmentVerifier:
    """Walks one segment and compares its indexes with it."""

    def __init__(self, work: SegmentToVerify) -> None:
        self._work = work
        self._path = work.segment.path
        self._gaps = Gaps()
        self._index: OffsetIndexCheck | None = None  # thread: of its owner
        self._time_index: TimeIndexCheck | None = None  # thread: of its owner
        self._txn_index = TxnIndexCheck(work)
        # the last offset so far, None where it is not known because of damage
        self._last: int | None = work.segment.base_offset - 1  # thread: of its owner
        self._found_damage = False  # thread: of its owner

    def findings(self) -> Iterator[Finding]:
        """All that is wrong with the segment, nothing if it was deleted or compacted meanwhile. Raises OSError."""
        try:
            fd = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            # the indexes first: what they say must then be in the log
            found = [*self._open_indexes(), *self._walk(fd)]
            size = os.fstat(fd).st_size
            found += self._end_of_log()
            found += () if self._index is None else self._index.findings(self._gaps, size)
            found += () if self._time_index is None else self._time_index.findings(self._last is None)
            found += self._txn_index.findings(self._found_damage)
            if _is_still(self._path, fd):
                yield from found
        finally:
            os.close(fd)

    def _open_indexes(self) -> Iterator[Finding]:
        try:
            self._index = OffsetIndexCheck(self._work)
        except FileNotFoundError:
            yield Finding("indexSanityCheck", self._work.segment.beside(".index"), "the file is missing")
        try:
            self._time_index = TimeIndexCheck(self._work)
        except FileNotFoundError:
            yield Finding("indexSanityCheck", self._work.segment.beside(".timeindex"), "the file is missing")

    def _walk(self, fd: int) -> Iterator[Finding]:
        position, tries = 0, 0
        size = os.fstat(fd).st_size
        while position < size:
            scan = SegmentScan(fd, position, size)
            for chunk in scan.chunks():
                yield from self._batches(chunk)
            position = scan.position
            if scan.stop == scan.END:
                return
            grown = os.fstat(fd).st_size
            if scan.stop == scan.TORN and grown > size and tries < _GROWTH_TRIES:
                size, tries = grown, tries + 1  # a broker was writing that batch
                continue
            if scan.stop == scan.ZEROS and self._work.next_base is None and _only_zeros(fd, position, size):
                return  # the room of a preallocated active segment
            following = self._next_sound_batch(fd, position, size)
            yield self._damage(scan, size, following)
            position = size if following is None else following

    def _next_sound_batch(self, fd: int, position: int, size: int) -> int | None:
        """Where the next batch is that the index knows and that has the right CRC."""
        known = () if self._index is None else np.unique(self._index.positions).tolist()
        return next((at for at in known if at > position and is_batch_at(fd, at, size)), None)

    def _damage(self, scan: SegmentScan, size: int, following: int | None) -> Finding:
        """Note that there are no batches from the scan's end to the following one."""
        self._gaps.add(scan.position, size if following is None else following)
        self._last = None
        self._found_damage = True
        if scan.stop == scan.DAMAGED:
            return Finding("invalidBatch", self._path, scan.error, scan.position)
        if following is not None:
            detail = f"no batch can be read here, the next one known is at position {following}"
            return Finding("invalidBatch", self._path, detail, scan.position)
        detail = f"Found {size - scan.position} invalid bytes at the end"
        return Finding("invalidBytes", self._path, detail, scan.position)

    def _batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Check the next batches and show them to the indexes."""
        headers = with_inner_offsets(chunk.headers, chunk.buffer)
        valid = headers.crc_valid(chunk.buffer)
        usable = valid & (headers.count != UNKNOWN_COUNT)
        for i in np.flatnonzero(~valid).tolist():
            at, offset = chunk.start + int(headers.position[i]), int(headers.base_offset[i])
            yield Finding("invalidBatch", self._path, f"wrong CRC, {headers.crc[i]} is stored", at, offset)
        for i in np.flatnonzero(valid & ~usable).tolist():
            at, offset = chunk.start + int(headers.position[i]), int(headers.base_offset[i])
            yield Finding("invalidBatch", self._path, "the messages inside cannot be read", at, offset)
        before_first = self._last is None
        odd = yield from self._offsets(chunk, headers, usable)
        excluded = ~usable | odd
        self._found_damage |= bool(excluded.any())
        known = headers.select(~excluded)
        before = np.append(before_first, excluded[:-1])[~excluded]
        if self._index is not None:
            self._index.feed(headers, chunk.start, ~valid, known, before)
        if self._time_index is not None:
            self._time_index.feed(chunk.start, known, before)
        self._txn_index.feed(headers.select(usable), chunk.buffer)
        self._last = None if excluded[-1] else int(headers.last_offset[-1])

    def _offsets(self, chunk: Chunk, headers: BatchHeaders, usable: Bools) -> Generator[Finding, None, Bools]:
        """Check that offsets grow by one, and return which batches seem to have offsets that are not theirs."""
        base, last = headers.base_offset, headers.last_offset
        previous = np.append(-1 if self._last is None else self._last, last[:-1])
        comparable = usable & np.append(self._last is not None, usable[:-1])
        falls = comparable & (base <= previous)
        misses = comparable & (base > previous + 1) & (not self._work.compacted)
        outside = usable & ((base < self._work.segment.base_offset) | (last >= (self._work.next_base or MAX_OFFSET)))
        sparse = usable & (headers.magic == 2) & (headers.count != headers.last_offset_delta + 1)
        if self._work.compacted:
            sparse[:] = False
        for i in np.flatnonzero(falls | misses | outside | sparse).tolist():
            at, offset = chunk.start + int(headers.position[i]), int(base[i])
            if falls[i] or outside[i]:
                detail = f"{previous[i]} is followed by {offset} to {last[i]}"
                yield Finding("outOfOrderOffset", self._path, detail, at, offset)
            elif misses[i]:
                detail = f"{previous[i]} is followed by {offset}"
                yield Finding("nonConsecutivePairsForLogFilesMap", self._path, detail, at, offset)
            else:
                detail = f"{headers.count[i]} records have the offsets {offset} to {last[i]}"
                yield Finding("nonConsecutivePairsForLogFilesMap", self._path, detail, at, offset)
        strange = falls | misses
        alone: Bools = strange & np.append(strange[1:], False)
        return outside | alone

    def _end_of_log(self) -> Iterator[Finding]:
        if self._last is None:
            return
        next_base, end = self._work.next_base, self._last + 1
        if next_base is None:
            if end < self._work.high_watermark:
                detail = f"the high watermark is {self._work.high_watermark}, but the log ends at {end}"
                yield Finding("highWatermarkBeyondLogEnd", self._path, detail, None, end)
        elif end < next_base and not self._work.compacted:
            detail = f"{self._last} is followed by {next_base}, where the next segment begins"
            yield Finding("nonConsecutivePairsForLogFilesMap", self._path, detail, None, self._last)


def _is_still(path: str, fd: int) -> bool:
    """Whether the open file still has that name: if not, its indexes may be gone or another's."""
    try:
        return os.stat(path).st_ino == os.fstat(fd).st_ino
    except FileNotFoundError:
        return False


def _only_zeros(fd: int, position: int, size: int) -> bool:
    while position < size:
        data = os.pread(fd, 1 << 20, position)
        if not data or data.strip(b"\0"):
            return not data
        position += len(data)
    return True


def small_files(place: Place) -> Iterator[Finding]:
    """What is wrong with the snapshots and checkpoints of a directory. Raises OSError."""
    for name in names_in(place.path):
        path = os.path.join(place.path, name)
        try:
            if place.topic is None and name in OFFSET_CHECKPOINTS:
                offset_checkpoint(pathlib.Path(path))
            elif place.topic is not None and name == LEADER_EPOCHS:
                yield from _leader_epochs(path)
            elif place.topic is not None and name.endswith(".snapshot"):
                ProducerStateManager.read_snapshot(path)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except CorruptSnapshotException as e:
            yield Finding("corruptSnapshot", path, str(e))
        except ValueError as e:
            yield Finding("corruptCheckpoint", path, str(e))


def _leader_epochs(path: str) -> Iterator[Finding]:
    for (epoch, start), (next_epoch, next_start) in itertools.pairwise(leader_epochs(pathlib.Path(path))):
        if next_epoch <= epoch or next_start < start:
            detail = f"epoch {epoch} from offset {start} is followed by epoch {next_epoch} from offset {next_start}"
            yield Finding("corruptCheckpoint", path, detail, None, next_start)


# ---- the source ------------------------------------------------------------------------------------------------------


class Check(NamedTuple):
    """One segment, or without one the small files of a directory.

    ``promised`` is the high watermark of a directory that has no segment at all.
    """

    place: Place
    segment: SegmentToVerify | None = None
    promised: int = 0


@dataclass
class Checks(InputPartition):
    """The work of one task."""

    checks: tuple[Check, ...]


class KafkaVerify(DataSource):
    """The source ``kafka_verify``: what `verify` reads. Option ``compacted``: a pattern of the topics whose offsets may
    have gaps, beside those that a cleaner's checkpoint names; the internal topics if it is not given."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kafka_verify"

    def schema(self) -> StructType:
        """The columns of a finding."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A schema of the user's with fewer columns is a projection. Raises ValueError for wrong options."""
        return KafkaVerifyReader(LogDirOptions(self.options), projection(SCHEMA, schema))


class KafkaVerifyReader(DataSourceReader):
    """Plans what each task verifies, and verifies it."""

    def __init__(self, options: LogDirOptions, schema: pa.Schema) -> None:
        self._options = options
        self._compacted = re.compile(options.given.get("compacted", COMPACTED_TOPICS))
        self._schema = schema

    def partitions(self) -> list[Checks]:
        """Each segment and each directory, small ones put together. Raises OSError."""
        log_dirs = self._options.log_dirs.dirs
        high_watermarks = {log_dir: _noted(log_dir, HIGH_WATERMARKS) for log_dir in log_dirs}
        # a replica of a cleaned log is compacted too, though its own cleaner may not have seen it yet
        cleaned = {name for log_dir in log_dirs for name in _noted(log_dir, CLEANER_OFFSETS)}
        checks: list[Check] = []
        for place in self._options.places():
            if place.state == LIVE and place.topic is None:
                checks.append(Check(place))
            elif place.state == LIVE and place.topic is not None:
                name = place.topic, place.partition or 0
                compacted = name in cleaned or self._compacted.fullmatch(place.topic) is not None
                high_watermark = high_watermarks[place.log_dir].get(name, 0)
                segments = list(_segments(place, compacted, high_watermark))
                checks.append(Check(place, promised=0 if segments else high_watermark))
                checks += segments
        sizes = [_SMALL_FILES_BYTES if check.segment is None else check.segment.segment.size for check in checks]
        return [Checks(group) for group in grouped(checks, sizes, DEFAULT_MAX_PARTITION_BYTES)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: the findings of each check."""
        for check in partition.checks if isinstance(partition, Checks) else ():
            found = list(findings(check))
            if found:
                yield self._table(check.place, found)

    def _table(self, place: Place, found: Sequence[Finding]) -> pa.RecordBatch:
        columns: dict[str, Any] = {name: [getattr(one, name) for one in found] for name in Finding._fields}
        columns["broker"] = [broker_or_none(place.log_dir.broker_id)] * len(found)
        columns["topic"] = [place.topic] * len(found)
        columns["partition"] = [place.partition] * len(found)
        return pa.RecordBatch.from_arrays(
            [pa.array(columns[column.name], column.type) for column in self._schema], schema=self._schema
        )


def _noted(log_dir: LogDir, checkpoint: str) -> dict[tuple[str, int], int]:
    try:
        return offset_checkpoint(pathlib.Path(log_dir.path, checkpoint))
    except ValueError:
        return {}  # a finding of its own


def _segments(place: Place, compacted: bool, high_watermark: int) -> Iterator[Check]:
    try:
        segments = list(segment_files(place.path))
    except FileNotFoundError:
        return  # deleted meanwhile
    for segment, next_base in with_ends(segments):
        yield Check(place, SegmentToVerify(segment, next_base, compacted, high_watermark))


def findings(check: Check) -> Iterator[Finding]:
    """What is wrong with a segment or a directory; a file that the disk does not give is a finding too."""
    try:
        if check.segment is not None:
            yield from SegmentVerifier(check.segment).findings()
            return
        if check.promised and os.path.isdir(check.place.path):
            detail = f"the high watermark is {check.promised}, but there is no segment"
            yield Finding("highWatermarkBeyondLogEnd", check.place.path, detail, None, 0)
        yield from small_files(check.place)
    except OSError as e:
        yield Finding("unreadableFile", str(e.filename or check.place.path), str(e))


def verify(spark: SparkSession, log_dirs: LogDirsOf, **options: str) -> DataFrame:
    """Findings about all files of the log directories: kind, broker, topic, partition, path, position, offset, detail.

    ``log_dirs`` are one or several directories, or for several brokers a mapping from broker to directories. Options:
    subscribe, subscribePattern or assign to look at some topics only, and ``compacted`` (see KafkaVerify). Raises
    ValueError when the query runs, for directories and options that are wrong.
    """
    return spark.read.format(KafkaVerify.name()).options(**log_dir_options(log_dirs), **options).load()
