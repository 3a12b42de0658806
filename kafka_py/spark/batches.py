"""The source ``kafka_batches``: one row per record batch, from the headers in the segments of log directories.

    spark.read.format("kafka_batches").option("logDirs", "/var/kafka").option("subscribe", "t").load()

Options beside those of LogDirOptions:

- ``startingOffsets``: ``earliest`` (the log start), or JSON as ``{"t":{"0":17}}``; partitions not named: earliest;
- ``endingOffsets``: ``latest`` (below the high watermark, as records are read), ``unsafe-end`` (everything in the
  files, uncommitted or not), or JSON; partitions not named: latest;
- ``replica``: where several directories hold a partition, ``max-hw`` (the one with the highest epoch, then the highest
  high watermark), ``all``, or a broker's id;
- ``checkCrcs``: true, or false to leave ``crcValid`` null and the records unread;
- ``failOnDataLoss``: true, or false to end quietly where a segment is damaged or was deleted meanwhile. A wrong CRC is
  no failure here but a column; `verify` lists all kinds of damage;
- ``maxPartitionBytes``: the most bytes of log for one task, 134217728.
"""

from __future__ import annotations

import bisect
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.batch_headers import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    UNKNOWN_COUNT,
    BatchHeaders,
    batch_headers,
)
from kafka_py.spark.file_transport import choose_replica, committed_offset
from kafka_py.spark.layout import DELETED, SWAP, ReplicaDir, SegmentFile, cuts_between, position_of
from kafka_py.spark.offsets import JsonUtils
from kafka_py.spark.tables import LogDirOptions, broker_or_none, projection, timestamps

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

T = TypeVar("T")

SCHEMA = pa.schema(
    [
        ("broker", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("segment", pa.int64()),  # base offset of the segment
        ("position", pa.int64()),
        ("sizeInBytes", pa.int32()),
        ("baseOffset", pa.int64()),
        ("lastOffset", pa.int64()),
        ("partitionLeaderEpoch", pa.int32()),
        ("magic", pa.int32()),
        ("crc", pa.int64()),
        ("crcValid", pa.bool_()),
        ("codec", pa.string()),
        ("timestampType", pa.int32()),  # -1: none (magic 0), 0: CreateTime, 1: LogAppendTime
        ("isTransactional", pa.bool_()),
        ("isControl", pa.bool_()),
        ("baseTimestamp", pa.timestamp("us", "UTC")),
        ("maxTimestamp", pa.timestamp("us", "UTC")),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int32()),
        ("baseSequence", pa.int32()),
        ("recordCount", pa.int32()),  # null for a compressed set of magic 0 or 1 that cannot be inflated
        ("controlType", pa.string()),  # ABORT or COMMIT, or the number of a kind that came later
    ]
)
CODECS = pa.array(["none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"])
MIN_OFFSET, MAX_OFFSET = 0, 2**63 - 1
EARLIEST, LATEST, UNSAFE_END = "earliest", "latest", "unsafe-end"
MAX_HIGH_WATERMARK, ALL_REPLICAS = "max-hw", "all"
DEFAULT_MAX_PARTITION_BYTES = 128 << 20
_MIN_TASK_BYTES = 64 << 20
_CHUNK_BYTES = 8 << 20
_CONTROL_TYPES = {0: "ABORT", 1: "COMMIT"}
_CONTROL_KEY_AT = HEADER_SIZE + 5  # behind length, attributes, two deltas and key length of one byte each
_CONTROL_KEY_END = _CONTROL_KEY_AT + 4


class Chunk(NamedTuple):
    """Some whole batches of a segment. ``start``: the file position of the buffer's first byte.

    The buffer is used again for the next chunk.
    """

    start: int
    buffer: memoryview
    headers: BatchHeaders


class SegmentScan:
    """Reads the bytes [start, end) of an open segment chunk by chunk, as far as there are batches.

    After the last chunk ``position`` is where the batches end and ``stop`` says why: END, TORN (a batch that is not
    whole), ZEROS (the room of a preallocated file) or DAMAGED (``error`` says what no batch can have).
    """

    END, TORN, ZEROS, DAMAGED = "end", "torn", "zeros", "damaged"

    def __init__(self, fd: int, start: int, end: int, chunk_bytes: int = _CHUNK_BYTES) -> None:
        self._fd = fd
        self._end = end
        self._chunk_bytes = chunk_bytes
        self.position = start  # thread: of its owner
        self.stop = self.END  # thread: of its owner
        self.error = ""  # thread: of its owner

    def chunks(self) -> Iterator[Chunk]:
        """The chunks, of one batch at least. Raises OSError."""
        buffer = bytearray(max(min(self._chunk_bytes, self._end - self.position), HEADER_SIZE))
        kept = 0
        while True:
            view = memoryview(buffer)
            room = min(len(buffer), self._end - self.position)
            got = os.preadv(self._fd, [view[kept:room]], self.position + kept) if kept < room else 0
            filled = kept + got
            headers, consumed = self._headers(view, filled)
            if consumed:
                yield Chunk(self.position, view, headers)
            self.position += consumed
            kept = filled - consumed
            rest = bytes(view[consumed:filled])
            if self.stop == self.DAMAGED or self._is_over(rest, got):
                return
            needed = _batch_size(rest)
            if needed > len(buffer):
                buffer = bytearray(needed)
            buffer[:kept] = rest

    def _headers(self, view: memoryview, filled: int) -> tuple[BatchHeaders, int]:
        try:
            return batch_headers(view, filled)
        except CorruptRecordException as e:
            self.stop, self.error = self.DAMAGED, str(e)
            # the batches before the damaged one: all that can be walked without an error
            whole = bisect.bisect_left(range(filled + 1), True, key=lambda end: _is_damaged(view, end))
            return batch_headers(view, whole - 1)

    def _is_over(self, rest: bytes, got: int) -> bool:
        """Whether no further batch can follow, because of the end of the file or of what is there instead."""
        if not rest and self.position >= self._end:
            return True
        if len(rest) > LOG_OVERHEAD and not any(rest[: LOG_OVERHEAD + 5]):
            self.stop = self.ZEROS
            return True
        if not got or self.position + max(_batch_size(rest), len(rest) + 1) > self._end:
            self.stop = self.TORN if rest else self.END
            return True
        return False


def _is_damaged(view: memoryview, end: int) -> bool:
    try:
        batch_headers(view, end)
    except CorruptRecordException:
        return True
    return False


def _batch_size(start: bytes) -> int:
    """Bytes of the batch that begins with these, 0 if its size is not among them."""
    return int.from_bytes(start[8:LOG_OVERHEAD], "big") + LOG_OVERHEAD if len(start) >= LOG_OVERHEAD else 0


def is_batch_at(fd: int, position: int, end: int) -> bool:
    """Whether a batch with the right CRC begins at a position below ``end`` of an open segment."""
    chunk = next(SegmentScan(fd, position, end, chunk_bytes=4096).chunks(), None)
    return chunk is not None and bool(chunk.headers.select(slice(0, 1)).crc_valid(chunk.buffer)[0])


def with_inner_offsets(headers: BatchHeaders, buffer: memoryview) -> BatchHeaders:
    """The same, with what compressed sets of magic 0 and 1 have inside: base offset, last offset delta and count.

    A set that cannot be inflated keeps what is known from outside.
    """
    unknown = np.flatnonzero(headers.count == UNKNOWN_COUNT)
    if not unknown.size:
        return headers
    base, delta, count = headers.base_offset.copy(), headers.last_offset_delta.copy(), headers.count.copy()
    for at in unknown.tolist():
        start = int(headers.position[at])
        try:
            batch = next(MemoryRecords(bytearray(buffer[start : start + int(headers.size[at])])).batches())
            offsets = [record.offset() for record in batch]
        except (KafkaException, ValueError):
            continue
        if offsets and 0 <= base[at] - offsets[0] < 2**31:
            delta[at], count[at] = base[at] - offsets[0], len(offsets)
            base[at] = offsets[0]
    return dataclasses.replace(headers, base_offset=base, last_offset_delta=delta, count=count)


def control_types(headers: BatchHeaders, buffer: memoryview) -> list[str | None]:
    """ABORT, COMMIT or another number for control batches, None for other batches and for a marker that is damaged."""
    result: list[str | None] = [None] * len(headers)
    for at in np.flatnonzero(headers.is_control & (headers.size >= _CONTROL_KEY_END)).tolist():
        start = int(headers.position[at])
        before = buffer[start + HEADER_SIZE : start + _CONTROL_KEY_AT]
        if max(before) < 0x80 and before[-1] >= 8 and not headers.codec[at]:  # 8: the key has 4 bytes or more
            kind = int.from_bytes(buffer[start + _CONTROL_KEY_AT + 2 : start + _CONTROL_KEY_END], "big")
            result[at] = _CONTROL_TYPES.get(kind, str(kind))
    return result


# ---- the source ------------------------------------------------------------------------------------------------------


class SegmentPiece(NamedTuple):
    """Bytes of one segment to read, and the offsets wanted of them. ``segment`` is as it was planned.

    ``is_tail``: they end where the log ends, where half a batch or zeros may be.
    """

    broker_id: int
    topic: str
    partition: int
    segment: SegmentFile
    start: int
    end: int
    from_offset: int
    until_offset: int
    is_tail: bool


@dataclass
class Pieces(InputPartition):
    """The work of one task."""

    pieces: tuple[SegmentPiece, ...]


class KafkaBatches(DataSource):
    """Spark asks this class for the schema and for a reader."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kafka_batches"

    def schema(self) -> StructType:
        """The 22 columns of a batch, and the broker whose directory it is in."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A schema of the user's with fewer columns is a projection. Raises ValueError for wrong options."""
        return KafkaBatchesReader(BatchOptions(self.options), projection(SCHEMA, schema))


class BatchOptions(LogDirOptions):
    """The options, checked. Raises ValueError for those that are missing or wrong."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        given = self.given
        self._starting = _offsets(given.get("startingoffsets", EARLIEST), EARLIEST)
        ending = given.get("endingoffsets", LATEST)
        self.unsafe_end = ending.lower() == UNSAFE_END
        self._ending = {} if self.unsafe_end else _offsets(ending, LATEST)
        self.replica = given.get("replica", MAX_HIGH_WATERMARK)
        if self.replica not in (MAX_HIGH_WATERMARK, ALL_REPLICAS) and not self.replica.isdecimal():
            raise ValueError(f"replica must be '{MAX_HIGH_WATERMARK}', '{ALL_REPLICAS}' or a broker's id")
        self.check_crcs = _boolean(given, "checkcrcs")
        self.fail_on_data_loss = _boolean(given, "failondataloss")
        size = given.get("maxpartitionbytes", str(DEFAULT_MAX_PARTITION_BYTES))
        if not size.isdecimal() or int(size) == 0:
            raise ValueError("maxPartitionBytes must be positive")
        self.max_partition_bytes = int(size)

    def bounds(self, replica: ReplicaDir, high_watermark: int) -> tuple[int, int]:
        """The first offset wanted of a replica, and the one behind the last."""
        starting = self._starting.get(replica.topic_partition, MIN_OFFSET)
        if self.unsafe_end:
            return starting, MAX_OFFSET
        ending = self._ending.get(replica.topic_partition, MAX_OFFSET)
        return max(starting, replica.log_start_offset), min(ending, high_watermark)


def _offsets(text: str, word: str) -> dict[TopicPartition, int]:
    """The offsets of an option that is that word or JSON; -1 and -2 stand for the word."""
    if text.lower() == word:
        return {}
    return {tp: offset for tp, offset in JsonUtils.partition_offsets(text).items() if offset >= 0}


def _boolean(given: dict[str, str], name: str) -> bool:
    text = given.get(name, "true").strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"Option {name} must be true or false, not {text}")
    return text == "true"


class KafkaBatchesReader(DataSourceReader):
    """Plans who reads which bytes of which segments, and reads them."""

    def __init__(self, options: BatchOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> list[Pieces]:
        """Pieces of all partitions, small ones put together. Raises OSError, or ValueError for a bad checkpoint."""
        found = chosen_replicas(self._options.log_dirs.replicas(self._options.selects), self._options.replica)
        pieces = [piece for replica, high_watermark in found for piece in self._pieces(replica, high_watermark)]
        sizes = [piece.end - piece.start for piece in pieces]
        return [Pieces(group) for group in grouped(pieces, sizes, self._options.max_partition_bytes)]

    def _pieces(self, replica: ReplicaDir, high_watermark: int) -> Iterator[SegmentPiece]:
        start, until = self._options.bounds(replica, high_watermark)
        for segment in replica.segments_between(start, until):
            if segment.size:
                for first, last in split(segment, start, self._options.max_partition_bytes):
                    tail = segment == replica.segments[-1] and last == segment.size
                    yield SegmentPiece(
                        replica.broker_id, replica.topic, replica.partition, segment, first, last, start, until, tail
                    )

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: Arrow batches. Raises CorruptRecordException, or OSError if a segment is gone."""
        for piece in partition.pieces if isinstance(partition, Pieces) else ():
            try:
                yield from self._read(piece)
            except (CorruptRecordException, FileNotFoundError):
                if self._options.fail_on_data_loss:
                    raise

    def _read(self, piece: SegmentPiece) -> Iterator[pa.RecordBatch]:
        fd = open_segment(piece.segment)
        try:
            scan = SegmentScan(fd, piece.start, piece.end)
            for chunk in scan.chunks():
                last = chunk.headers.last_offset
                wanted = (last >= piece.from_offset) & (chunk.headers.base_offset < piece.until_offset)
                headers = chunk.headers if wanted.all() else chunk.headers.select(wanted)
                if len(headers):
                    yield self._table(piece, chunk, headers)
                if chunk.headers.base_offset[-1] >= piece.until_offset:
                    return
            if scan.stop == scan.DAMAGED or (scan.stop != scan.END and not piece.is_tail):
                what = scan.error or f"no batch begins there ({scan.stop})"
                raise CorruptRecordException(
                    f"{piece.segment.path} cannot be read behind position {scan.position}: {what}. "
                    "verify() tells more; with failOnDataLoss=false the segment ends there."
                )
        finally:
            os.close(fd)

    def _table(self, piece: SegmentPiece, chunk: Chunk, headers: BatchHeaders) -> pa.RecordBatch:
        headers = with_inner_offsets(headers, chunk.buffer)
        columns = [self._column(name, piece, chunk, headers) for name in self._schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, name: str, piece: SegmentPiece, chunk: Chunk, headers: BatchHeaders) -> pa.Array:
        n = len(headers)
        if name == "crcValid":
            return pa.array(headers.crc_valid(chunk.buffer)) if self._options.check_crcs else pa.nulls(n, pa.bool_())
        if name == "controlType":
            return pa.array(control_types(headers, chunk.buffer), pa.string())
        constants = {
            "broker": broker_or_none(piece.broker_id),
            "topic": piece.topic,
            "partition": piece.partition,
            "segment": piece.segment.base_offset,
        }
        kind = self._schema.field(name).type
        if name in constants:
            return pa.repeat(pa.scalar(constants[name], kind), n)
        return _HEADER_COLUMNS[name](headers, chunk.start).cast(kind)


_HEADER_COLUMNS: dict[str, Callable[[BatchHeaders, int], pa.Array]] = {
    "position": lambda headers, start: pa.array(headers.position + start),
    "sizeInBytes": lambda headers, _: pa.array(headers.size),
    "baseOffset": lambda headers, _: pa.array(headers.base_offset),
    "lastOffset": lambda headers, _: pa.array(headers.last_offset),
    "partitionLeaderEpoch": lambda headers, _: pa.array(headers.leader_epoch),
    "magic": lambda headers, _: pa.array(headers.magic),
    "crc": lambda headers, _: pa.array(headers.crc),
    "codec": lambda headers, _: CODECS.take(pa.array(headers.codec)),
    "timestampType": lambda headers, _: pa.array(
        np.where(headers.magic == 0, -1, (headers.attributes & TIMESTAMP_TYPE_BIT) != 0)
    ),
    "isTransactional": lambda headers, _: pa.array(headers.is_transactional),
    "isControl": lambda headers, _: pa.array(headers.is_control),
    "baseTimestamp": lambda headers, _: timestamps(headers.first_timestamp),
    "maxTimestamp": lambda headers, _: timestamps(headers.max_timestamp),
    "producerId": lambda headers, _: pa.array(headers.producer_id),
    "producerEpoch": lambda headers, _: pa.array(headers.producer_epoch),
    "baseSequence": lambda headers, _: pa.array(headers.base_sequence),
    "recordCount": lambda headers, _: pa.array(headers.count, mask=headers.count == UNKNOWN_COUNT),
}


# ---- planning --------------------------------------------------------------------------------------------------------


def chosen_replicas(replicas: Sequence[ReplicaDir], choice: str) -> list[tuple[ReplicaDir, int]]:
    """Those to read, by topic and partition, as option ``replica`` says, each with its high watermark."""
    by_partition: dict[TopicPartition, list[ReplicaDir]] = {}
    for replica in sorted(replicas, key=lambda replica: (replica.topic_partition, replica.path)):
        by_partition.setdefault(replica.topic_partition, []).append(replica)
    if choice == MAX_HIGH_WATERMARK:
        best = [(choose_replica(group), group) for group in by_partition.values()]
        return [(replica, committed_offset(replica, group)) for replica, group in best]
    return [
        (replica, replica.high_watermark)
        for group in by_partition.values()
        for replica in group
        if choice == ALL_REPLICAS or replica.broker_id == int(choice)
    ]


def split(segment: SegmentFile, start: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Byte ranges of a segment that hold the offsets from ``start`` on, each of about ``max_bytes``.

    They are cut where index entries point to batches, and an entry that does not is passed over. A segment that is gone
    is one range: its reader decides what that means.
    """
    try:
        fd = open_segment(segment)
    except FileNotFoundError:
        yield 0, segment.size
        return
    try:
        at = position_of(segment, start) if start > segment.base_offset else 0
        if at and not is_batch_at(fd, at, segment.size):
            at = 0
        for cut, _ in cuts_between(segment, at, segment.size, max_bytes, max_bytes):
            if is_batch_at(fd, cut, segment.size):
                yield at, cut
                at = cut
        yield at, segment.size
    finally:
        os.close(fd)


def open_segment(segment: SegmentFile) -> int:
    """A descriptor of the planned file, though it may have lost or got a suffix meanwhile.

    Raises FileNotFoundError if it is gone or another file has its name (the cleaner has compacted it).
    """
    for path in (segment.path, segment.path.removesuffix(SWAP), segment.path + DELETED):
        try:
            fd = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        status = os.fstat(fd)
        if status.st_ino == segment.inode and status.st_size >= segment.size:
            return fd
        os.close(fd)
    raise FileNotFoundError(
        f"{segment.path} was deleted or compacted after the query was planned: run the query again, or set "
        "failOnDataLoss to false to go without its data"
    )


def grouped(items: Sequence[T], sizes: Sequence[int], max_bytes: int) -> Iterator[tuple[T, ...]]:
    """Items put together to tasks: enough of them for all cores, but none below 64 MiB because each costs time."""
    goal = min(max_bytes, max(_MIN_TASK_BYTES, sum(sizes) // (4 * (os.cpu_count() or 1))))
    group: list[T] = []
    bytes_of_group = 0
    for item, size in zip(items, sizes, strict=True):
        if group and bytes_of_group + size > goal:
            yield tuple(group)
            group, bytes_of_group = [], 0
        group.append(item)
        bytes_of_group += size
    if group:
        yield tuple(group)
