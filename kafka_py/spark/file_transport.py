"""Records from the files of log directories: which replica is read, up to where, and which bytes a task reads.

A task is given offsets; the files and bytes that go with them are a hint from the time of planning. An open file
survives its deletion, so what can happen to a segment before it is opened is: it was renamed to ``.deleted`` (still the
same file, read on), or another took its place (compaction), or it is gone (retention). In the last two cases the
directory is listed again and the records are found by their offsets. So a job gives the same records whatever the
broker does meanwhile, as long as it keeps them.

Mirrors: connector/kafka-0-10-sql: KafkaDataConsumer of Spark 4, in what it does when offsets are gone
Read next: layout.py (the files), stable_offsets.py (read_committed), transport.py (the seam)
"""

from __future__ import annotations

import contextlib
import errno
import glob
import io
import os
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyspark.sql.datasource import InputPartition

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.arrow_decoder import RecordBatchDecoder, SegmentEnd, iter_segment
from kafka_py.spark.layout import (
    DELETED,
    DELETED_DIR,
    HIGH_WATERMARKS,
    NO_EPOCH,
    UNKNOWN_BROKER,
    BatchStart,
    LogDirs,
    ReplicaDir,
    SegmentFile,
    batch_start,
    cuts_between,
    end_offset,
    largest_timestamp,
    position_behind,
    position_of,
    position_of_timestamp,
    scan_headers,
    segment_files,
)
from kafka_py.spark.listings import Listings
from kafka_py.spark.stable_offsets import AbortedTransaction, OngoingTransactions, aborted_transactions
from kafka_py.spark.transport import (
    PartitionOffsets,
    Piece,
    ReadOptions,
    TopicPartitionName,
    Transport,
    report_data_loss,
)
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    import pyarrow as pa

CHECKPOINT, BROKER, LOG = "checkpoint", "broker", "log"  # option offsetsSource
MIN_CHUNK_BYTES, MAX_CHUNK_BYTES = 64 << 10, 4 << 20
_ATTEMPTS = 5
_PAUSE_MS = 100
LeaderIds = Callable[[Iterable[TopicPartition]], Mapping[TopicPartition, int]]


class SegmentHint(NamedTuple):
    """Where a piece's records were when it was planned: bytes [start, end) of a file.

    ``end`` says how much to read at once, not where to stop. ``first`` is what stands at ``start``: inode numbers are
    used again, so both must be the same for the file to be.
    """

    path: str
    base_offset: int
    start: int
    end: int
    inode: int
    first: BatchStart | None


@dataclass
class SegmentRange(InputPartition):
    """The work of one task: offsets of one partition, the directory they are in, and where they were in it.

    ``homes`` are the broker's other log directories, to which the partition may be moved meanwhile.
    """

    topic: str
    partition: int
    from_offset: int
    until_offset: int
    directory: str
    hints: tuple[SegmentHint, ...]
    aborted: tuple[AbortedTransaction, ...] = ()
    homes: tuple[str, ...] = ()

    def tables(self, options: ReadOptions) -> Iterator[pa.RecordBatch]:
        """Arrow batches of the wanted columns, in offset order. Raises DataLossError for records that are gone (if it
        shall fail then) and CorruptRecordException."""
        return SegmentReader(self, options).tables()


class SegmentReader(Logging):
    """Reads the records of one piece.

    Thread: its task's
    """

    def __init__(self, work: SegmentRange, options: ReadOptions, time: Time = Time.SYSTEM) -> None:
        self._work = work
        self._options = options
        self._time = time
        self._decoder = RecordBatchDecoder(
            work.topic,
            work.partition,
            options.columns,
            check_crcs=options.check_crcs,
            aborted=work.aborted if options.read_committed else None,
        )

    def tables(self) -> Iterator[pa.RecordBatch]:
        """The piece's records; see SegmentRange.tables."""
        work = self._work
        offset = work.from_offset
        is_torn = False
        for hint in work.hints:
            if is_torn and offset < hint.base_offset:
                break  # what is missing there is no gap
            file = self._open(hint)
            offset = max(offset, hint.base_offset)
            if file is None:
                self.info("%s is not what it was: finding its records by offset", hint.path)
                break
            with file:
                offset, is_torn = yield from self._records(file, hint.start, hint.end, offset, work.until_offset)
        yield from self._by_offset(offset)  # nothing is left, unless files changed or end too early

    @staticmethod
    def _open(hint: SegmentHint) -> io.FileIO | None:
        """The file of a hint, be it on its way to deletion; None when it is another file, or gone."""
        for path in (hint.path, hint.path + DELETED):
            try:
                file = io.FileIO(path)
            except FileNotFoundError:
                continue
            if os.fstat(file.fileno()).st_ino == hint.inode and batch_start(file.fileno(), hint.start) == hint.first:
                return file
            file.close()
        return None

    def _records(
        self, file: io.FileIO, start: int, end: int, from_offset: int, until_offset: int
    ) -> Generator[pa.RecordBatch, None, SegmentEnd]:
        """Records from a position on; returns the offset behind the last batch, or from_offset. ``end`` is a hint."""
        size = os.fstat(file.fileno()).st_size
        chunk = max(MIN_CHUNK_BYTES, min(end - start, MAX_CHUNK_BYTES))
        reached, is_torn = yield from iter_segment(file, self._decoder, start, size, from_offset, until_offset, chunk)
        return SegmentEnd(max(from_offset, reached), is_torn)

    def _by_offset(self, offset: int) -> Iterator[pa.RecordBatch]:
        """The records from an offset on, from the directory as it is now.

        What is not there at the log's end is looked for again, since another host's file system may show it late.
        """
        work = self._work
        attempts = _ATTEMPTS
        while offset < work.until_offset:
            segments = self._segments()
            at = sum(segment.base_offset <= offset for segment in segments) - 1
            if at < 0 < len(segments):
                offset = self._offset_after_loss(offset, segments)
                continue
            opened = None
            if at >= 0:
                following = segments[at + 1].base_offset if at + 1 < len(segments) else None
                start = position_of(segments[at], offset)  # of the listed file if that is still in its place afterwards
                opened = self._open_listed(segments[at], following)
            if opened is not None:
                file, reached = opened
                with file:
                    until = min(reached, work.until_offset)
                    end = position_behind(segments[at], until)
                    there = yield from self._records(file, start, end, offset, until)
                if there.is_torn:
                    reached = there.offset  # up to the next segment is no gap: records cannot be read
                if reached > offset:
                    attempts, offset = _ATTEMPTS, reached
                    continue
            attempts -= 1
            if attempts:
                self._time.sleep(_PAUSE_MS)
                continue
            self._check_that_directories_are_visible()
            attempts, offset = _ATTEMPTS, self._offset_after_loss(offset, segments)

    def _segments(self) -> list[SegmentFile]:
        for directory in self._directories():
            try:
                return list(segment_files(directory))
            except FileNotFoundError:
                continue  # the replica was moved, or is not there in the moment between two renamings
        return []  # or the topic was deleted

    def _directories(self) -> list[str]:
        """Where the partition was, and where it may have been moved to."""
        work = self._work
        name = f"{work.topic}-{work.partition}"
        return [work.directory, *(os.path.join(home, name) for home in work.homes)]

    def _check_that_directories_are_visible(self) -> None:
        """Raise FileNotFoundError if this process sees no directory of the partition, nor that it was deleted.

        What a query was planned on is then on another machine, whatever option failOnDataLoss says: it is about records
        that are gone.
        """
        directories = self._directories()
        if any(os.path.isdir(path) or glob.glob(f"{glob.escape(path)}.*{DELETED_DIR}") for path in directories):
            return
        raise FileNotFoundError(
            errno.ENOENT,
            f"Host {socket.gethostname()} does not see the directory that the driver has planned to read (every "
            "executor must see the log directories under the same path; elsewhere use Fetch: kafka.bootstrap.servers "
            "without logDirs)",
            directories[0],
        )

    @staticmethod
    def _open_listed(segment: SegmentFile, following: int | None) -> tuple[io.FileIO, int] | None:
        """A segment and the offset where it ends; None if it is not the file any more that was listed."""
        with contextlib.ExitStack() as on_failure:
            try:
                file = on_failure.enter_context(io.FileIO(segment.path))
                if os.fstat(file.fileno()).st_ino != segment.inode:
                    return None
                reached = end_offset(segment) if following is None else following
            except FileNotFoundError:
                return None
            on_failure.pop_all()
            return file, reached

    def _offset_after_loss(self, offset: int, segments: list[SegmentFile]) -> int:
        """Where to go on behind offsets that are gone. Raises DataLossError unless the query shall go on."""
        work = self._work
        behind = min([work.until_offset, *(s.base_offset for s in segments if s.base_offset > offset)])
        report_data_loss(
            f"Cannot fetch records in [{offset}, {behind}) (TopicPartition: {work.topic}-{work.partition}) from "
            f"{work.directory}",
            self._options.fail_on_data_loss,
        )
        return behind


class FileTransport(Logging):
    """Plans the reading of partitions from the replicas in log directories.

    ``replica`` is the broker to read from, None for the leader if ``reads_leaders``, else, or where it is not here, for
    the replica with the newest epoch and the highest high watermark. ``leaders`` tells the leaders now; ``live``, which
    is closed with this one, the offsets now. Without it the high watermarks are those of the checkpoints, up to five
    seconds old. So are those of replicas that do not lead: a leader's high watermark says nothing about what another
    one has there, which may have been away, and truncate when it is back.

    Thread: the driver's
    """

    def __init__(
        self,
        log_dirs: LogDirs,
        *,
        replica: int | None = None,
        offsets_source: str = CHECKPOINT,
        read_committed: bool = False,
        leaders: LeaderIds | None = None,
        reads_leaders: bool = True,
        live: Transport | None = None,
        time: Time = Time.SYSTEM,
    ) -> None:
        self._log_dirs = log_dirs
        self._replica = replica
        self._offsets_source = offsets_source
        self._read_committed = read_committed
        self._leaders = leaders
        self._reads_leaders = reads_leaders
        self._live = live
        self._time = time
        self._chosen: dict[TopicPartition, ReplicaDir] = {}  # thread: driver
        self._offsets: dict[TopicPartitionName, PartitionOffsets] = {}  # thread: driver
        self._transactions: dict[str, OngoingTransactions] = {}  # thread: driver
        self._led_up_to: dict[str, int] = {}  # path -> the live high watermark when its replica led last
        self._warned: set[TopicPartition] = set()
        self._listings = Listings()  # thread: driver

    def partitions(
        self, wanted: Callable[[str, int], bool] | None = None
    ) -> dict[TopicPartitionName, PartitionOffsets]:
        """Every partition, or those wanted, with its offsets as they are now.

        The last stable offset is worked out for transports of committed data only, and is the high watermark for
        others. Raises ValueError when a broker has a partition twice.
        """
        # Asked first: what a broker promises is then in the files.
        live = self._live.partitions(wanted) if self._live is not None else {}
        candidates: dict[TopicPartition, list[ReplicaDir]] = {}
        for replica in self._log_dirs.replicas(wanted, self._listings):
            if self._replica is None or replica.broker_id == self._replica:
                candidates.setdefault(replica.topic_partition, []).append(replica)
        leaders = self._leaders(candidates) if self._leaders is not None else {}
        self._chosen, self._offsets = {}, {}
        for tp, replicas in sorted(candidates.items()):
            self._warn_about_divergence(tp, replicas)
            chosen = choose_replica(replicas, leaders.get(tp) if self._reads_leaders else None)
            known = live.get(tp)
            if known is not None and leaders.get(tp, chosen.broker_id) != chosen.broker_id:
                replicas = [*replicas, self._as_it_led(chosen, known)]
                known = None
            self._look_at(tp, chosen, replicas, known)
        return dict(self._offsets)

    def _as_it_led(self, chosen: ReplicaDir, live: PartitionOffsets) -> ReplicaDir:
        """A replica with the high watermark that was given out while it led: that much it has for good.

        Its own checkpoint may not know it yet. Records that an unclean election took back are above the live one.
        """
        led = min(self._led_up_to.get(chosen.path, 0), live.high_watermark)
        return chosen._replace(high_watermark=max(chosen.high_watermark, led))

    def _look_at(
        self, tp: TopicPartition, chosen: ReplicaDir, replicas: list[ReplicaDir], live: PartitionOffsets | None
    ) -> None:
        """Note a replica and its offsets; lists it again when a file goes away, and gives up when it is gone."""
        for _ in range(_ATTEMPTS):
            try:
                self._offsets[tp] = self._offsets_of(chosen, replicas, live)
                if live is not None:
                    self._led_up_to[chosen.path] = self._offsets[tp].high_watermark
                self._chosen[tp] = chosen
                return
            except FileNotFoundError:
                found = [r for r in self._log_dirs.replicas(lambda *name: name == tp) if r.path == chosen.path]
                if not found:
                    return
                chosen = found[0]

    def _warn_about_divergence(self, tp: TopicPartition, replicas: list[ReplicaDir]) -> None:
        conflict = divergence(replicas)
        if conflict is not None and tp not in self._warned:
            self._warned.add(tp)
            first, second, epoch = conflict
            self.warn(
                "The replicas of %s differ: epoch %d begins at another offset in %s than in %s. Below the high "
                "watermark they should not; was there an unclean leader election?",
                tp,
                epoch,
                first.path,
                second.path,
            )

    def _offsets_of(
        self, chosen: ReplicaDir, replicas: list[ReplicaDir], live: PartitionOffsets | None
    ) -> PartitionOffsets:
        start = chosen.log_start_offset
        committed = committed_offset(chosen, replicas) if live is None else live.high_watermark
        end = self._log_end_offset(chosen, committed if live is not None else chosen.high_watermark)
        high_watermark = end if self._offsets_source == LOG else max(start, min(committed, end))
        if self._offsets_source == CHECKPOINT and high_watermark == start < end:
            _check_that_there_is_a_checkpoint(chosen)
        if live is None and chosen.high_watermark > end and self._offsets_source != LOG:
            # The broker said that it had them: a reader shall find out that they are lost, not never hear of them.
            self.warn("%s ends at %d, below its high watermark %d", chosen.path, end, chosen.high_watermark)
            high_watermark = chosen.high_watermark
        stable = high_watermark
        if self._read_committed:
            if live is not None and live.high_watermark <= end:
                stable = min(live.last_stable_offset, high_watermark)
            else:  # markers that the files do not show yet are not among the aborted transactions either
                ongoing = self._transactions.setdefault(chosen.path, OngoingTransactions())
                stable = ongoing.last_stable_offset(chosen, high_watermark)
        return PartitionOffsets(start, high_watermark, stable, end)

    def _log_end_offset(self, replica: ReplicaDir, committed: int) -> int:
        """Where the log ends; looked at again when that is below the high watermark, as caches of other hosts lag."""
        if not replica.segments:
            return replica.log_end_offset
        end = self._listings.of(replica.segments[-1].path, "end", lambda: replica.log_end_offset)
        for _ in range(_ATTEMPTS - 1):
            if end >= committed:
                break
            self._time.sleep(_PAUSE_MS)
            segments = tuple(segment_files(replica.path))
            end = replica._replace(segments=segments).log_end_offset
        return end

    def offset_for_timestamp(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset whose record is not older than this (milliseconds since the epoch), None without one.

        Only records below the high watermark count. Call ``partitions`` first: this looks at what it found.
        """
        tp = TopicPartition(topic, partition)
        replica = self._chosen.get(tp)
        if replica is None:
            return None
        start, end = self._offsets[tp].log_start_offset, self._offsets[tp].high_watermark
        for at, segment in enumerate(replica.segments):
            rolled = at + 1 < len(replica.segments)
            if rolled and replica.segments[at + 1].base_offset <= start:
                continue
            largest = largest_timestamp(segment) if rolled else None
            if largest is not None and largest < timestamp:
                continue
            offset = first_offset_since(segment, timestamp, start, end)
            if offset is not None:
                return offset
        return None

    def size_between(self, topic: str, partition: int, from_offset: int, until_offset: int) -> int:
        """About how many bytes these offsets take: by the indexes where that makes a difference to a task."""
        replica = self._chosen.get(TopicPartition(topic, partition))
        if replica is None:
            return 0
        segments = replica.segments_between(from_offset, until_offset)
        at_most = sum(segment.size for segment in segments)
        if at_most <= MAX_CHUNK_BYTES:
            return at_most
        return sum(
            max(0, position_behind(segment, until_offset) - position_of(segment, from_offset)) for segment in segments
        )

    def plan(
        self, topic: str, partition: int, from_offset: int, until_offset: int, max_bytes: int, read_committed: bool
    ) -> list[Piece]:
        """Pieces of about max_bytes, cut where index entries are. Call ``partitions`` first."""
        replica = self._chosen.get(TopicPartition(topic, partition))
        if replica is None or from_offset >= until_offset:
            return []
        aborted = aborted_transactions(replica, from_offset, until_offset) if read_committed else ()
        home, broker_id = os.path.dirname(replica.path), replica.broker_id
        known = [d.path for d in self._log_dirs.dirs if d.broker_id == broker_id != UNKNOWN_BROKER]
        homes = tuple(path for path in known if path != home)
        return [
            SegmentRange(
                topic,
                partition,
                first,
                last,
                replica.path,
                hints,
                tuple(txn for txn in aborted if txn[1] < last and txn[2] >= first),
                homes,
            )
            for first, last, hints in hinted_ranges(replica, from_offset, until_offset, max_bytes)
        ]

    def close(self) -> None:
        """Forget what was found, and give back the connections of live offsets."""
        if self._live is not None:
            self._live.close()
        self._chosen, self._offsets, self._transactions, self._listings = {}, {}, {}, Listings()


def _check_that_there_is_a_checkpoint(replica: ReplicaDir) -> None:
    """Raise ValueError if nothing can be read for want of the file. A broker makes it, empty, when it starts."""
    home = os.path.dirname(replica.path)
    if not os.path.exists(os.path.join(home, HIGH_WATERMARKS)):
        raise ValueError(
            f"{home} has no {HIGH_WATERMARKS}, so nothing says which records of {replica.topic_partition} are "
            f"committed. Copy that file too, or read all that is there with option offsetsSource={LOG}"
        )


def choose_replica(replicas: list[ReplicaDir], leader: int | None = None) -> ReplicaDir:
    """The leader's, if it is among them; else the one with the newest epoch, and of those the highest high watermark.

    Every replica's records below its own high watermark are committed: the choice is about freshness only.
    """
    return max(
        replicas, key=lambda r: (leader is not None and r.broker_id == leader, r.last_epoch, r.high_watermark, r.path)
    )


def committed_offset(chosen: ReplicaDir, replicas: list[ReplicaDir]) -> int:
    """The highest high watermark of all replicas that holds for the chosen one too.

    A new leader's checkpoint may be behind the old one's, and must not take records back that were given out. But what
    another replica has from epochs that the chosen one ended earlier is not part of its history.
    """
    best = chosen.high_watermark
    for other in replicas:
        shared = other.high_watermark
        if other.last_epoch != NO_EPOCH:
            newer = [offset for epoch, offset in chosen.leader_epochs if epoch > other.last_epoch]
            shared = min([shared, *newer])
        elif chosen.last_epoch != NO_EPOCH:
            continue
        if divergence([chosen, other]) is None:
            best = max(best, shared)
    return best


def divergence(replicas: list[ReplicaDir]) -> tuple[ReplicaDir, ReplicaDir, int] | None:
    """Two replicas and an epoch that begins at different offsets in them; None if all tell the same history."""
    seen: dict[int, tuple[int, ReplicaDir]] = {}
    for replica in replicas:
        start = replica.log_start_offset
        for epoch, offset in replica.leader_epochs:
            if offset <= start:
                continue  # moved to the log's start when older records were deleted
            known, other = seen.setdefault(epoch, (offset, replica))
            if known != offset and known > start and offset > other.log_start_offset:
                return other, replica, epoch
    return None


def hinted_ranges(
    replica: ReplicaDir, from_offset: int, until_offset: int, max_bytes: int
) -> Iterator[tuple[int, int, tuple[SegmentHint, ...]]]:
    """(from, until, hints) that cover the offsets without overlap, each of about max_bytes."""
    hints: list[SegmentHint] = []
    first, filled = from_offset, 0
    for segment in replica.segments_between(from_offset, until_offset):
        if filled >= max_bytes:
            yield first, segment.base_offset, tuple(hints)
            hints, first, filled = [], segment.base_offset, 0
        start, end = position_of(segment, from_offset), position_behind(segment, until_offset)
        for position, offset in cuts_between(segment, start, end, max_bytes - filled, max_bytes):
            if not first < offset < until_offset:
                continue
            hints.append(_hint(segment, start, position))
            yield first, offset, tuple(hints)
            hints, first, filled, start = [], offset, 0, position
        hints.append(_hint(segment, start, end))
        filled += max(0, end - start)
    if first < until_offset:
        yield first, until_offset, tuple(hints)


def _hint(segment: SegmentFile, start: int, end: int) -> SegmentHint:
    try:
        with io.FileIO(segment.path) as file:
            first = batch_start(file.fileno(), start)
    except FileNotFoundError:
        first = None  # fits no file: its reader will look for the records
    return SegmentHint(segment.path, segment.base_offset, start, end, segment.inode, first)


def first_offset_since(segment: SegmentFile, timestamp: int, from_offset: int, until_offset: int) -> int | None:
    """The first of these offsets in a segment whose record is not older than the timestamp (ms); None without one."""
    decoder = RecordBatchDecoder("", 0, ("offset",))
    try:
        file = io.FileIO(segment.path)
    except FileNotFoundError:
        return None  # retention took it, and with it the answer
    with file:
        size = os.fstat(file.fileno()).st_size
        for position, headers in scan_headers(file.fileno(), position_of_timestamp(segment, timestamp), size):
            young = (headers.max_timestamp >= timestamp) & (headers.last_offset >= from_offset)
            for at in np.flatnonzero(young).tolist():
                batch = os.pread(file.fileno(), int(headers.size[at]), position + int(headers.position[at]))
                for offset, time in decoder.offsets_and_times(memoryview(batch), len(batch)):
                    found = offset[(time >= timestamp) & (offset >= from_offset) & (offset < until_offset)]
                    if len(found):
                        return int(found[0])
            if headers.base_offset[-1] >= until_offset:
                return None
    return None
