"""What is in log directories: brokers, partitions, segments, and where in a segment an offset or a time is.

Reads the files that the broker writes and never changes, creates or locks one; no broker is needed. A file that
vanishes while it is looked at (retention, compaction, deletion of a topic) is not an error here: the reader finds out
and says so.

    meta.properties                   which broker the directory belongs to
    replication-offset-checkpoint     high watermarks, written every 5 s
    log-start-offset-checkpoint       log starts that DeleteRecords moved into a segment
    t-0/                              a partition; t-0.<uuid>-delete and t-0.<uuid>-future are not partitions
    t-0/leader-epoch-checkpoint       at which offset each leader's epoch began
    t-0/00000000000000000000.log      records; .index, .timeindex, .txnindex and .snapshot beside it

Read next: file_transport.py (which replica, which bytes), batch_headers.py
"""

from __future__ import annotations

import bisect
import glob
import itertools
import os
import pathlib
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.batch_headers import CODEC_MASK, LOG_OVERHEAD, BatchHeaders, batch_headers
from kafka_py.spark.legacy_decoder import legacy_rows
from kafka_py.spark.listings import Listings
from kafka_py.utils.logging import get_logger

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
META_PROPERTIES = "meta.properties"
UNKNOWN_BROKER = -1
NO_EPOCH = -1
DELETED, SWAP = ".deleted", ".swap"
DELETED_DIR = "-delete"  # ends the name of a partition that is being deleted
_PARTITION_DIR = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)$")
_SEGMENT = re.compile(r"(?P<base>\d{20})\.log(?P<swap>\.swap)?$")
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_SCAN_BYTES = 64 << 10
_HEAD_ENTRIES = 256  # of an index, read at once
_ABOVE_ALL = 1 << 63
SMALLEST_HEADER = 18  # bytes of a batch up to its attributes, in any format
_log = get_logger(__name__)
_told: set[tuple[str, str]] = set()  # files and what has been said of them; atomic
_LISTINGS = 5  # a directory is listed until two listings agree, at most so often


def _warn_once(path: str, text: str, *args: object, exc: BaseException | None = None) -> None:
    """A warning about a file that a query may look at many times. ``text`` begins with the path."""
    if (path, text) not in _told:
        _told.add((path, text))
        _log.warn(text, path, *args, exc=exc)


class LogDir(NamedTuple):
    """One of the directories in a broker's log.dirs."""

    path: str
    broker_id: int = UNKNOWN_BROKER


class SegmentFile(NamedTuple):
    """One ``.log`` file as it was when its directory was listed; size in bytes."""

    path: str
    base_offset: int
    size: int
    inode: int = 0

    def beside(self, suffix: str) -> str:
        """The path of another file of the segment, by its suffix (``.index``)."""
        return self.path.removesuffix(SWAP).removesuffix(".log") + suffix


class ReplicaDir(NamedTuple):
    """One partition's directory, with the offsets that bound what may be read of it.

    ``high_watermark`` is the checkpoint's, 0 without one. ``leader_epochs`` are (epoch, first offset), oldest first.
    """

    path: str
    topic: str
    partition: int
    log_start_offset: int
    high_watermark: int
    segments: tuple[SegmentFile, ...]
    broker_id: int = UNKNOWN_BROKER
    leader_epochs: tuple[tuple[int, int], ...] = ()

    @property
    def topic_partition(self) -> TopicPartition:
        """Its name."""
        return TopicPartition(self.topic, self.partition)

    @property
    def log_end_offset(self) -> int:
        """The offset behind the last whole batch; reads the tail of the last segment."""
        return max((end_offset(segment) for segment in self.segments[-1:]), default=self.log_start_offset)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last leader that this replica has records of, NO_EPOCH if it is not known."""
        return self.leader_epochs[-1][0] if self.leader_epochs else NO_EPOCH

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    def segments_between(self, from_offset: int, until_offset: int) -> list[SegmentFile]:
        """The segments that can hold offsets of [from_offset, until_offset)."""
        return [
            segment
            for segment, end in with_ends(self.segments)
            if segment.base_offset < until_offset and (end is None or end > from_offset)
        ]


def with_ends(segments: Sequence[SegmentFile]) -> Iterator[tuple[SegmentFile, int | None]]:
    """Each segment with the offset at which the next one begins, None for the last; nothing where there is none."""
    return itertools.zip_longest(segments, [following.base_offset for following in segments[1:]])


class LogDirs:
    """The log directories of one or several brokers.

    Thread: any; it has no state but the paths.
    """

    def __init__(self, dirs: Iterable[LogDir]) -> None:
        self.dirs = tuple(dirs)

    @classmethod
    def of(cls, log_dirs: str | None = None, brokers: str | None = None) -> LogDirs:
        """From ``/a,/b*`` (brokers by their meta.properties) or from ``1=/a,2=/b``. Globs may be used.

        Raises ValueError when both or none are given, nothing is there, or meta.properties names another broker.
        """
        if bool(log_dirs) == bool(brokers):
            raise ValueError(
                "Exactly one of the options 'logDirs' (the log.dirs of the brokers, separated by commas) and 'brokers' "
                "(such as 1=/logs/one,2=/logs/two) must be set"
            )
        if log_dirs:
            return cls([LogDir(path, broker_id_of(path)) for part in log_dirs.split(",") for path in _expand(part)])
        found = []
        for part in (brokers or "").split(","):
            number, equals, pattern = part.partition("=")
            if not equals or not number.strip().isdecimal():
                raise ValueError(f"Option 'brokers' wants broker=directory, got {part.strip()!r}")
            found += [LogDir(path, int(number)) for path in _expand(pattern)]
        for log_dir in found:
            if broker_id_of(log_dir.path) not in (UNKNOWN_BROKER, log_dir.broker_id):
                raise ValueError(
                    f"{log_dir.path} was given for broker {log_dir.broker_id}, but its {META_PROPERTIES} says "
                    f"{broker_id_of(log_dir.path)}"
                )
        return cls(found)

    def replicas(
        self, wanted: Callable[[str, int], bool] | None = None, listings: Listings | None = None
    ) -> list[ReplicaDir]:
        """Every partition, or those wanted, in all directories; ``listings`` spare looking at all of it again.

        Raises ValueError when a broker has a partition twice: then nobody can tell which of them is its log.
        """
        seen: dict[tuple[int, str, int], str] = {}
        found = []
        for log_dir in self.dirs:
            for replica in replicas_in(log_dir, wanted, listings):
                if replica.broker_id != UNKNOWN_BROKER:
                    name = replica.broker_id, replica.topic, replica.partition
                    if name in seen:
                        raise ValueError(
                            f"Broker {replica.broker_id} has {replica.topic_partition} in two log directories: "
                            f"{seen[name]} and {replica.path}"
                        )
                    seen[name] = replica.path
                found.append(replica)
        return found


def _expand(pattern: str) -> list[str]:
    found = sorted(path for path in glob.glob(pattern.strip()) if os.path.isdir(path))
    if not found:
        raise ValueError(f"No log directory found at {pattern.strip()}")
    return found


def broker_id_of(log_dir: str) -> int:
    """The broker that ``meta.properties`` names, UNKNOWN_BROKER without one (a directory that was copied, say)."""
    try:
        lines = pathlib.Path(log_dir, META_PROPERTIES).read_text(encoding="iso-8859-1").splitlines()
    except FileNotFoundError:
        return UNKNOWN_BROKER
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() in ("broker.id", "node.id") and value.strip().isdecimal():
            return int(value)
    return UNKNOWN_BROKER


def read_offset_checkpoint(path: pathlib.Path) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset; empty without a file or entries. Raises ValueError for a malformed file."""
    entries = {}
    for line in _checkpoint_lines(path):
        topic, partition, offset = line.split()
        entries[topic, int(partition)] = int(offset)
    return entries


def read_leader_epochs(path: pathlib.Path) -> tuple[tuple[int, int], ...]:
    """(epoch, first offset) as written; empty without a file or entries. Raises ValueError for a malformed file."""
    entries = []
    for line in _checkpoint_lines(path):
        epoch, offset = line.split()
        entries.append((int(epoch), int(offset)))
    return tuple(entries)


def _checkpoint_lines(path: pathlib.Path) -> list[str]:
    try:
        lines = path.read_text().split("\n")
    except FileNotFoundError:
        return []
    if lines == [""]:
        return []  # made by the broker, nothing written yet
    if lines[0].strip() != "0":
        raise ValueError(f"Unrecognized version of the checkpoint file {path}: {lines[0]}")
    entries = [line for line in lines[2:] if line]
    if lines[1:2] != [str(len(entries))]:  # half of a file would read as if partitions had no high watermark
        raise ValueError(f"Expected {lines[1:2]} entries in checkpoint file {path}, but found {len(entries)}")
    return entries


def replicas_in(
    log_dir: LogDir, wanted: Callable[[str, int], bool] | None = None, listings: Listings | None = None
) -> Iterator[ReplicaDir]:
    """The partitions of one log directory, or those wanted, by name."""
    home = pathlib.Path(log_dir.path)
    listings = listings or Listings()
    # The checkpoints first: what they promise is then in the segments that are listed.
    high_watermarks = _kept_checkpoint(home / HIGH_WATERMARKS, listings)
    start_offsets = _kept_checkpoint(home / LOG_START_OFFSETS, listings)
    for path, topic, partition in listings.of(home, "partitions", lambda: _partition_dirs(log_dir.path)):
        name = topic, partition
        if wanted is not None and not wanted(*name):
            continue
        try:
            segments, epochs = _kept_files(path, listings)
        except FileNotFoundError:
            continue  # the topic was deleted meanwhile
        first = segments[0].base_offset if segments else 0
        start = max(first, start_offsets.get(name, 0))
        yield ReplicaDir(path, *name, start, high_watermarks.get(name, 0), segments, log_dir.broker_id, epochs)


def _partition_dirs(home: str) -> list[tuple[str, str, int]]:
    """(path, topic, partition), without those on their way out or in, whose names end with -delete or -future."""
    with os.scandir(home) as entries:
        found = [(entry.path, match) for entry in entries if (match := _PARTITION_DIR.match(entry.name))]
    return sorted((path, match["topic"], int(match["partition"])) for path, match in found if os.path.isdir(path))


def _kept_checkpoint(path: pathlib.Path, listings: Listings) -> dict[tuple[str, int], int]:
    try:
        return listings.of(path, "checkpoint", lambda: read_offset_checkpoint(path))
    except FileNotFoundError:
        return {}


def _kept_files(path: str, listings: Listings) -> tuple[tuple[SegmentFile, ...], tuple[tuple[int, int], ...]]:
    """The segments and leader epochs of a partition. Raises FileNotFoundError."""

    def find() -> tuple[tuple[SegmentFile, ...], tuple[tuple[int, int], ...]]:
        return tuple(segment_files(path)), read_leader_epochs(pathlib.Path(path, LEADER_EPOCHS))

    segments, epochs = listings.of(path, "files", find)
    if segments:  # the last one grows without a trace in the directory
        size = os.stat(segments[-1].path).st_size
        if size != segments[-1].size:
            segments = (*segments[:-1], segments[-1]._replace(size=size))
    return segments, epochs


def segment_files(directory: str | os.PathLike[str]) -> Iterator[SegmentFile]:
    """The live segments in offset order; .deleted and .cleaned files are not live.

    While the cleaner puts a segment in another's place, there is only a ``.swap`` file for a moment: that one is live.
    Raises FileNotFoundError if there is no such directory.
    """
    names = set(os.listdir(directory))
    for _ in range(_LISTINGS):  # a name that is changed during a listing may be in it twice, or not at all
        again = set(os.listdir(directory))
        if again == names:
            break
        names = again
    for name in sorted(names):
        match = _SEGMENT.match(name)
        if match is None or (match["swap"] and name.removesuffix(SWAP) in names):
            continue
        path = os.path.join(directory, name)
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            continue  # retention was faster
        yield SegmentFile(path, int(match["base"]), stat.st_size, stat.st_ino)


class IndexFile:
    """An offset or time index, read entry by entry: of a big one only what a binary search looks at.

    The file of an active segment is preallocated with zeros; ``end`` tells whether an entry is one of those. To be used
    in a with-statement; a file that does not exist is empty.
    """

    def __init__(self, path: str, entry: struct.Struct, end: Callable[[tuple[int, int]], bool]) -> None:
        self._path = path
        self._entry = entry
        self._end = end
        self._fd = -1  # thread: of its owner
        self._head = b""  # thread: of its owner
        self._count = 0  # thread: of its owner

    @classmethod
    def offsets(cls, segment: SegmentFile) -> IndexFile:
        """(offset relative to the segment's base, position) of batches, both growing. No real entry has position 0."""
        return cls(segment.beside(".index"), _OFFSET_ENTRY, lambda entry: entry[1] <= 0 or entry[1] >= segment.size)

    @classmethod
    def times(cls, segment: SegmentFile) -> IndexFile:
        """(largest time so far in ms, relative offset of its record), both growing."""
        return cls(segment.beside(".timeindex"), _TIME_ENTRY, lambda entry: entry == (0, 0))

    def __enter__(self) -> IndexFile:
        """Open the file and find the last real entry."""
        try:
            self._fd = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return self
        self._head = os.pread(self._fd, _HEAD_ENTRIES * self._entry.size, 0)
        self._count = os.fstat(self._fd).st_size // self._entry.size
        within = min(self._count, _HEAD_ENTRIES)
        # Most indexes that are being written end within what was read: nothing else of the room behind is looked at.
        if within < self._count and not self._end(self[within - 1]):
            within = self._count
        self._count = bisect.bisect_left(self, True, 0, within, key=self._end)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)

    def __len__(self) -> int:
        """Return the number of real entries."""
        return self._count

    def __getitem__(self, at: int) -> tuple[int, int]:
        """One entry; zeros where the file was cut meanwhile."""
        if not 0 <= at < self._count:
            raise IndexError(at)
        size = self._entry.size
        if (at + 1) * size <= len(self._head):
            return self._entry.unpack_from(self._head, at * size)
        first, second = self._entry.unpack(os.pread(self._fd, size, at * size).ljust(size, b"\0"))
        return first, second


class BatchStart(NamedTuple):
    """What the first bytes of a batch say; ``size`` in bytes, with offset and length field.

    A compressed set of magic 0 or 1 has the offset of its last message there, so it does not tell where it begins.
    """

    base_offset: int
    size: int
    is_first_offset: bool


def batch_start(file_descriptor: int, position: int) -> BatchStart | None:
    """The batch at a position, None when no batch can be there."""
    data = os.pread(file_descriptor, SMALLEST_HEADER, position)
    if len(data) < SMALLEST_HEADER:
        return None
    offset, length, magic = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big"), data[16]
    if length == 0 or magic > 2:
        return None
    return BatchStart(offset, length + LOG_OVERHEAD, magic == 2 or data[17] & CODEC_MASK == 0)


def position_of(segment: SegmentFile, offset: int) -> int:
    """A batch boundary at or before the batch that holds the offset: from the index, 0 if it is missing or wrong."""
    with IndexFile.offsets(segment) as index:
        at = bisect.bisect_right(index, offset - segment.base_offset, key=lambda entry: entry[0])
        position = index[at - 1][1] if at else 0
    if position and not _is_boundary_before(segment, position, offset):
        _warn_once(segment.path, "The offset index of %s is wrong at position %d: reading from the start", position)
        return 0
    return position


def _is_boundary_before(segment: SegmentFile, position: int, offset: int) -> bool:
    """Whether a batch at or below the offset begins there; True if the segment is gone: its reader will see."""
    try:
        file_descriptor = os.open(segment.path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        start = batch_start(file_descriptor, position)
        if start is None or start.base_offset < segment.base_offset:
            return False
        if start.is_first_offset or start.base_offset <= offset:
            return start.base_offset <= offset
        return _first_offset_inside(file_descriptor, position, start.size) <= offset
    finally:
        os.close(file_descriptor)


def _first_offset_inside(file_descriptor: int, position: int, size: int) -> int:
    """The first offset of a compressed set of magic 0 or 1, in whose front only its last one stands.

    Above all others where no such set can be read.
    """
    batch = os.pread(file_descriptor, size, position)
    try:
        first = next(legacy_rows(memoryview(batch), check_crcs=False), None)
    except CorruptRecordException:
        first = None
    return _ABOVE_ALL if first is None else first.offset


def position_behind(segment: SegmentFile, offset: int) -> int:
    """About where all records below the offset end, by the index; without one the segment's size. Not to be relied on.

    An entry holds the first (later brokers: the last) offset of an append and the position where it begins. So the
    append of the first entry at or above the offset may still hold records below it; the one after cannot.
    """
    with IndexFile.offsets(segment) as index:
        at = bisect.bisect_left(index, offset - segment.base_offset, key=lambda entry: entry[0]) + 1
        return index[at][1] if at < len(index) else segment.size


def cuts_between(segment: SegmentFile, start: int, end: int, first: int, step: int) -> list[tuple[int, int]]:
    """(position, offset) of batches where the bytes [start, end) can be cut, the first at least ``first`` behind start,
    then ``step`` apart. Few index entries are looked at, and one header for each cut."""
    cuts: list[tuple[int, int]] = []
    if start + first >= end:
        return cuts
    try:
        file_descriptor = os.open(segment.path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        with IndexFile.offsets(segment) as index:
            wanted = start + first
            while wanted < end:
                at = bisect.bisect_left(index, wanted, key=lambda entry: entry[1])
                if at >= len(index) or index[at][1] >= end:
                    break
                position = index[at][1]
                batch = batch_start(file_descriptor, position)
                if batch is not None and batch.is_first_offset and position > start:
                    cuts.append((position, batch.base_offset))
                    wanted = position + step
                else:
                    wanted = position + 1
    finally:
        os.close(file_descriptor)
    return cuts


def scan_headers(
    file_descriptor: int, start: int, end: int, chunk_bytes: int = _SCAN_BYTES
) -> Iterator[tuple[int, BatchHeaders]]:
    """Headers of the whole batches in the bytes [start, end) of a segment, chunk after chunk.

    Each comes with what is to be added to its positions to have those of the file. Ends at a torn batch and at
    preallocated zeros; raises CorruptRecordException for bytes that cannot be batches.
    """
    position, size = start, chunk_bytes
    while position < end:
        chunk = os.pread(file_descriptor, min(size, end - position), position)
        headers, consumed = batch_headers(memoryview(chunk), len(chunk))
        if consumed:
            yield position, headers
            position += consumed
            size = chunk_bytes
            continue
        batch = batch_start(file_descriptor, position)
        if batch is None or batch.size <= len(chunk) or position + batch.size > end:
            return
        size = batch.size  # one batch that is larger than a chunk


def end_offset(segment: SegmentFile) -> int:
    """The offset behind the segment's last whole batch; reads headers only, from the last index entry on.

    Raises FileNotFoundError if the segment is gone.
    """
    for offset, position in _last_entries(segment):
        if not _is_boundary_before(segment, position, segment.base_offset + offset):
            break
        end = _end_offset_from(segment, position)
        if end is not None:
            return end
        if not _is_torn_at(segment, position):
            break
    else:
        return _from_the_start(segment)
    _warn_once(segment.path, "The offset index of %s is wrong: looking for the end from the start")
    return _from_the_start(segment)


def _last_entries(segment: SegmentFile) -> list[tuple[int, int]]:
    """The last entry of the offset index, and the one before: the batch of the last may be half written."""
    with IndexFile.offsets(segment) as index:
        return [index[at] for at in range(len(index) - 1, max(len(index) - 3, -1), -1)]


def _from_the_start(segment: SegmentFile) -> int:
    end = _end_offset_from(segment, 0)
    return segment.base_offset if end is None else end


def _is_torn_at(segment: SegmentFile, position: int) -> bool:
    """Whether the batch there reaches beyond the end of the file: a copy that broke off, or a crash."""
    with open(segment.path, "rb", buffering=0) as file:
        start, size = batch_start(file.fileno(), position), os.fstat(file.fileno()).st_size
    if start is None:
        return size - position < SMALLEST_HEADER
    if position + start.size <= size:
        return False
    _warn_once(segment.path, "%s ends within a batch, at position %d: what is before it counts", position)
    return True


def _end_offset_from(segment: SegmentFile, position: int) -> int | None:
    """The offset behind the last whole batch from a position on; None if there is none, or other bytes."""
    end = None
    with open(segment.path, "rb", buffering=0) as file:
        try:
            for _, headers in scan_headers(file.fileno(), position, os.fstat(file.fileno()).st_size):
                end = int(headers.last_offset[-1]) + 1
        except CorruptRecordException as e:
            _warn_once(segment.path, "%s does not end with a whole batch", exc=e)
            return None if position else end
    return end


def largest_timestamp(segment: SegmentFile) -> int | None:
    """The largest time (ms) in a segment that is complete, by its time index; None if that does not tell."""
    with IndexFile.times(segment) as index:
        return index[len(index) - 1][0] if len(index) else None


def position_of_timestamp(segment: SegmentFile, timestamp: int) -> int:
    """A batch boundary before which every record is older than this (ms): from the indexes, 0 without them."""
    with IndexFile.times(segment) as index:
        at = bisect.bisect_left(index, timestamp, key=lambda entry: entry[0])
        if not at:
            return 0
        offset = segment.base_offset + index[at - 1][1]
    return position_of(segment, offset)
