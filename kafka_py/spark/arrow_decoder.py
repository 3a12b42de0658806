"""Record batches of a segment or a Fetch response into Arrow columns, without a Python object per record.

A buffer holds many batches. Their headers are gathered at once (batch_headers); compressed batches are inflated one
behind the other (arrow_codecs); then all batches are walked in lock-step (lock_step), which gives the position of every
record. Then the fields of all records are read by a few vectorised operations, and keys and values are gathered by
Arrow's own ``take`` from one array laid over the raw buffer.

Needs numpy and pyarrow, neither Spark nor a broker.

Ours: Spark's connector makes a Java object per record (KafkaRecordToRowConverter).
"""

from __future__ import annotations

import io
import itertools
import os
import struct
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_py.common.errors import CorruptRecordException
from kafka_py.spark.arrow_codecs import Arena
from kafka_py.spark.batch_headers import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    AbortedFilter,
    BatchHeaders,
    aborted_from_index,
    batch_headers,
)
from kafka_py.spark.legacy_decoder import LegacyRow, legacy_rows
from kafka_py.spark.lock_step import (
    Bytes,
    Int64,
    RecordFields,
    header_edges,
    read_varints,
    record_bounds,
    record_fields,
)

TIMESTAMP = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestampType", pa.int32()),
    ]
)
COLUMNS = tuple(SCHEMA.names)
# Named and nullable as Spark's to_arrow_schema has it; null where a record has no headers.
HEADERS_FIELD = pa.field(
    "headers", pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
)
SCHEMA_WITH_HEADERS = SCHEMA.append(HEADERS_FIELD)

CHUNK_BYTES = 4 << 20
_INT32 = struct.Struct(">i")
# Bytes of uncompressed batches that are decoded at a time; their fields then fit the processor's caches.
_WINDOW_BYTES = 4 << 20
# The buffer for a segment is this many times as large, and the segment is read into its first part. What is behind is
# touched only for a batch larger than a chunk, so it takes no memory; but it makes room for the slot that _copied
# invents. Besides, glibc keeps freed memory up to twice the largest block it was ever given back: the next columns need
# no fresh pages.
_ROOM = 4
_SMALLEST_RECORD = 7  # bytes: length, attributes, two deltas, two lengths, header count
_MAX_ARROW_OFFSET = (1 << 31) - 1
_MAX_MILLISECONDS = (1 << 63) // 1000 - 1
# Rows of one Arrow batch at most: columns of strings have 32-bit offsets.
MAX_ROWS = 1 << 20
_MIN_OFFSET = -(1 << 63)


class _Records(NamedTuple):
    """The decoded fields of some batches' records, before they are columns."""

    offset: Int64
    timestamp: Int64  # milliseconds
    timestamp_type: npt.NDArray[np.int32]
    binaries: dict[str, pa.Array]  # key, value and headers, as far as wanted

    def rows(self, start: int, stop: int) -> _Records:
        """Return the records from start to stop, nothing copied."""
        return _Records(
            self.offset[start:stop],
            self.timestamp[start:stop],
            self.timestamp_type[start:stop],
            {name: column.slice(start, stop - start) for name, column in self.binaries.items()},
        )

    def chosen(self, which: npt.NDArray[np.intp]) -> _Records:
        """Return the records of these numbers."""
        index = _fixed(pa.int64(), which.astype(np.int64, copy=False))
        return _Records(
            self.offset[which],
            self.timestamp[which],
            self.timestamp_type[which],
            {name: column.take(index) for name, column in self.binaries.items()},
        )


class RecordBatchDecoder:
    """Turns the batches of one partition into Arrow record batches of the wanted columns.

    The columns are those of Spark's Kafka source, in the order given; keys and values are copied out of the buffer, so
    the buffer may be used again when a method has returned. Control batches are never shown, nor are transactions in
    ``aborted``: (producer id, first offset, offset of the abort marker), or a filter.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        columns: Sequence[str] = COLUMNS,
        *,
        check_crcs: bool = True,
        aborted: Sequence[tuple[int, int, int]] | AbortedFilter | None = None,
    ) -> None:
        self._topic = topic.encode()
        self._partition = partition
        self._columns = tuple(columns)
        self._check_crcs = check_crcs
        self._aborted = aborted if isinstance(aborted, AbortedFilter) else aborted_from_index(aborted or ())
        # made for the first compressed batch
        self._arena: Arena | None = None  # thread: of its owner
        # the longest column of topics so far; all are its beginnings
        self._topics = pa.nulls(0, pa.string())  # thread: of its owner
        self.schema = pa.schema([SCHEMA_WITH_HEADERS.field(name) for name in columns])

    def decode_buffer(
        self,
        buffer: memoryview,
        end: int,
        from_offset: int,
        until_offset: int,
        *,
        aborted: AbortedFilter | None = None,
    ) -> tuple[list[pa.RecordBatch], int]:
        """Records with from_offset <= offset < until_offset of the whole batches in buffer[:end], and where those end.

        Batches may be of magic 0, 1 and 2; what follows the last whole one is left alone (a Fetch response may end
        anywhere). ``aborted`` stands in for the decoder's own filter, as each Fetch response brings one. Raises
        CorruptRecordException for a wrong CRC, offsets that do not rise (both if check_crcs), and whatever cannot be
        decoded.
        """
        headers, consumed = batch_headers(buffer, end)
        return self.decode_batches(buffer, headers, from_offset, until_offset, aborted=aborted), consumed

    def decode_batches(
        self,
        buffer: memoryview,
        headers: BatchHeaders,
        from_offset: int,
        until_offset: int,
        *,
        aborted: AbortedFilter | None = None,
        behind: int = _MIN_OFFSET,
    ) -> list[pa.RecordBatch]:
        """Like decode_buffer, for batches whose headers were read already; ``behind`` is where those before end."""
        if not len(headers):
            return []
        try:
            if self._check_crcs and headers.base_offset[0] < behind:
                raise CorruptRecordException(
                    f"Batch at offset {headers.base_offset[0]} follows one that ends with offset {behind - 1}"
                )
            return self._tables_of(buffer, headers, from_offset, until_offset, aborted or self._aborted)
        except CorruptRecordException as e:
            raise CorruptRecordException(f"{self._topic.decode()}-{self._partition}: {e}") from e

    def offsets_and_times(self, buffer: memoryview, end: int) -> Iterator[tuple[Int64, Int64]]:
        """Offset and time (ms) of each record of the whole batches in buffer[:end]; of control batches none.

        Unlike in the column ``timestamp`` any time is possible. Raises CorruptRecordException as decode_buffer does.
        """
        headers, _ = batch_headers(buffer, end)
        if self._check_crcs:
            _check(buffer, headers)
        for records in self._decode(buffer, headers.select(~headers.is_control & (headers.count != 0))):
            yield records.offset, records.timestamp

    def _tables_of(
        self,
        buffer: memoryview,
        headers: BatchHeaders,
        from_offset: int,
        until_offset: int,
        aborted: AbortedFilter | None,
    ) -> list[pa.RecordBatch]:
        below = _lowest_offset(headers) < until_offset
        if not below.all():
            headers = headers.select(below)
        if self._check_crcs:
            _check(buffer, headers)
        wanted = ~headers.is_control & (headers.last_offset >= from_offset) & (headers.count != 0)
        dropped = aborted.aborted(headers, buffer) if aborted else None
        if dropped is not None:
            wanted &= ~dropped
        if not wanted.all():
            headers = headers.select(wanted)
        return [
            table
            for records in self._decode(buffer, headers)
            for table in self._tables(_between(records, from_offset, until_offset))
        ]

    def _decode(self, buffer: memoryview, headers: BatchHeaders) -> Iterator[_Records]:
        """Batches by runs of the old and the new format, which are decoded by different means."""
        is_default = headers.magic == 2
        edges = [0, *(np.flatnonzero(np.diff(is_default)) + 1).tolist(), len(headers)]
        for start, stop in itertools.pairwise(edges):
            run = headers.select(slice(start, stop))
            if not len(run):
                continue
            if not is_default[start]:
                yield self._legacy_records(buffer, run)
            elif run.codec.any():
                yield from self._inflated_records(buffer, run)
            else:
                yield from self._plain_records(buffer, run)

    def _plain_records(self, buffer: memoryview, headers: BatchHeaders) -> Iterator[_Records]:
        ends = headers.position + headers.size
        at = 0
        while at < len(headers):
            base = int(headers.position[at])
            stop = max(at + 1, int(np.searchsorted(ends, base + _WINDOW_BYTES, side="right")))
            window = headers.select(slice(at, stop))
            data = buffer[base : base + _MAX_ARROW_OFFSET]
            starts = window.position - base + HEADER_SIZE
            yield self._records(data, window, starts, ends[at:stop] - base)
            at = stop

    def _inflated_records(self, buffer: memoryview, headers: BatchHeaders) -> Iterator[_Records]:
        if self._arena is None:
            self._arena = Arena()
        arena = self._arena
        edges = [0]
        start = 0
        arena.used = 0
        for at, (position, size, codec) in enumerate(
            zip(headers.position.tolist(), headers.size.tolist(), headers.codec.tolist(), strict=True), 1
        ):
            arena.add(codec, buffer[position + HEADER_SIZE : position + size])
            edges.append(arena.used)
            if arena.is_full or at == len(headers):
                both = np.array(edges, np.int64)
                yield self._records(arena.view, headers.select(slice(start, at)), both[:-1], both[1:])
                edges, start, arena.used = [0], at, 0

    def _records(self, data: memoryview, headers: BatchHeaders, starts: Int64, ends: Int64) -> _Records:
        """The records of batches whose records lie in data from starts to ends."""
        counts = headers.count.astype(np.int64)
        if ends[-1] > _MAX_ARROW_OFFSET:
            raise CorruptRecordException(f"A batch of {ends[-1]} bytes is too large")
        if bool((counts < 0).any()) or bool((counts * _SMALLEST_RECORD > ends - starts).any()):
            raise CorruptRecordException("Found a batch whose record count does not fit its size")
        u8 = np.frombuffer(data, np.uint8)
        begin, record_ends = record_bounds(u8, starts, ends, counts)
        fields, whole = record_fields(u8, begin, record_ends)
        timestamp = np.repeat(headers.first_timestamp, counts)
        timestamp += fields.timestamp_delta
        append_time = headers.attributes & TIMESTAMP_TYPE_BIT != 0
        types = np.zeros(len(timestamp), np.int32)
        if append_time.any():
            types = np.repeat(append_time.astype(np.int32), counts)
            timestamp = np.where(types, np.repeat(headers.max_timestamp, counts), timestamp)
        offset = np.repeat(headers.base_offset, counts)
        offset += fields.offset_delta
        return _Records(offset, timestamp, types, self._binaries(data, u8, fields, None if whole else record_ends))

    def _binaries(
        self, data: memoryview, u8: Bytes, fields: RecordFields, record_ends: Int64 | None
    ) -> dict[str, pa.Array]:
        """Keys, values and headers, as far as wanted. Checks that they end with their record.

        ``record_ends`` is None if it is known that they do, and that there are no headers.
        """
        result = {}
        if record_ends is not None:
            position = fields.end
            # Positions only rise, so this finds a record that ended within its deltas, too.
            if bool((position >= record_ends).any()):
                raise CorruptRecordException("A key or value reaches beyond its record")
            header_counts = read_varints(u8, position)
            if "headers" in self._columns:
                result["headers"] = _headers(data, u8, position, record_ends, header_counts)
            elif bool(((position != record_ends) & (header_counts == 0)).any()):
                raise CorruptRecordException("A record does not end where its fields end")
        elif "headers" in self._columns:
            result["headers"] = pa.nulls(len(fields.end), HEADERS_FIELD.type)
        if "key" in self._columns:
            result["key"] = _copied(data, fields.key_start, fields.key_length)
        if "value" in self._columns:
            result["value"] = _copied(data, fields.value_start, fields.value_length)
        return result

    def _legacy_records(self, buffer: memoryview, headers: BatchHeaders) -> _Records:
        rows: list[LegacyRow] = []
        for position, size in zip(headers.position.tolist(), headers.size.tolist(), strict=True):
            rows += legacy_rows(buffer[position : position + size], self._check_crcs)
        keys, values, offsets, timestamps, types = zip(*rows, strict=True)
        return _Records(
            np.array(offsets, np.int64),
            np.array(timestamps, np.int64),
            np.array(types, np.int32),
            {
                "key": pa.array(keys, pa.binary()),
                "value": pa.array(values, pa.binary()),
                "headers": pa.nulls(len(rows), HEADERS_FIELD.type),
            },
        )

    def _tables(self, records: _Records) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(records.offset), MAX_ROWS):
            part = records.rows(start, min(start + MAX_ROWS, len(records.offset)))
            columns = [self._column(name, part) for name in self._columns]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _column(self, name: str, records: _Records) -> pa.Array:
        n = len(records.offset)
        if name == "topic":
            if n > len(self._topics):
                offsets = np.arange(n + 1, dtype=np.int32) * np.int32(len(self._topic))
                self._topics = pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(self._topic * n))
            return self._topics.slice(0, n)
        if name == "partition":
            return _fixed(pa.int32(), np.full(n, self._partition, np.int32))
        if name == "offset":
            return _fixed(pa.int64(), records.offset)
        if name == "timestamp":
            return _fixed(TIMESTAMP, _microseconds(records.timestamp))
        if name == "timestampType":
            return _fixed(pa.int32(), records.timestamp_type)
        return records.binaries[name]


def _lowest_offset(headers: BatchHeaders) -> Int64:
    """What the offset of each batch's first record is at least; compressed sets of old magics tell only their last."""
    sets = (headers.magic < 2) & (headers.codec != 0)
    if not sets.any():
        return headers.base_offset
    behind = np.append(np.int64(_MIN_OFFSET), headers.last_offset[:-1] + 1)
    return np.where(sets, behind, headers.base_offset)


def _check(buffer: memoryview, headers: BatchHeaders) -> None:
    """Checksums, and what they do not cover: no base offset may lie within the batch before."""
    valid = headers.crc_valid(buffer)
    if not valid.all():
        bad = headers.select(~valid)
        raise CorruptRecordException(f"Record is corrupt (stored crc = {bad.crc[0]}) in batch at {bad.base_offset[0]}")
    falling = np.flatnonzero(headers.base_offset[1:] <= headers.last_offset[:-1])
    if falling.size:
        raise CorruptRecordException(
            f"Batch at offset {headers.base_offset[falling[0] + 1]} follows one that ends with offset "
            f"{headers.last_offset[falling[0]]}"
        )


def _between(records: _Records, from_offset: int, until_offset: int) -> _Records:
    offset = records.offset
    if not len(offset) or (offset.min() >= from_offset and offset.max() < until_offset):
        return records
    inside = np.flatnonzero((offset >= from_offset) & (offset < until_offset))
    if not inside.size or inside[-1] - inside[0] + 1 == inside.size:
        start = int(inside[0]) if inside.size else 0
        return records.rows(start, start + inside.size)
    return records.chosen(inside)


def _fixed(kind: pa.DataType, values: npt.NDArray[Any], nulls: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """A column of numbers, nothing copied. pa.array would import pandas: a third of a second in each new process."""
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def _microseconds(milliseconds: Int64) -> Int64:
    """Raises CorruptRecordException where Spark's own source fails, too: the time is too far away for microseconds."""
    if len(milliseconds) and (milliseconds.max() > _MAX_MILLISECONDS or milliseconds.min() < -_MAX_MILLISECONDS):
        raise CorruptRecordException("Found a timestamp that does not fit 64 bits of microseconds (long overflow)")
    return milliseconds * 1000


def _copied(data: memoryview, start: Int64, length: Int64) -> pa.Array:
    """A column of copies of the bytes at each start, null for a negative length.

    The starts must rise, and all bytes lie within the first 2 GiB of data.
    """
    if not len(start):
        return pa.nulls(0, pa.binary())
    shortest, longest = int(length.min()), int(length.max())
    if shortest == longest > 0:
        return _copied_of_one_size(data, start, longest)
    nulls = None
    if shortest < 0:
        nulls = length < 0
        length = np.maximum(length, 0)
    # Slots are the bytes wanted and those between by turns, so that Arrow's own take copies every second one.
    edges = np.empty(2 * len(start) + 1, np.int32)
    edges[:-1:2] = start
    np.add(start, length, out=edges[1::2], casting="unsafe")
    # It reserves for each copy as much as slots have on average, and moves all when that was too little. So the slot
    # behind the last, which is never copied, is made as long as brings the average up to that of the bytes wanted.
    enough = int(start[0]) + 2 * (int(length.sum()) + len(start))
    edges[-1] = max(int(edges[-2]), min(enough, len(data), _MAX_ARROW_OFFSET))
    slots = pa.Array.from_buffers(pa.binary(), len(edges) - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)])
    return pc.take(slots, _fixed(pa.int32(), np.arange(0, len(edges) - 1, 2, dtype=np.int32), nulls), boundscheck=False)


def _copied_of_one_size(data: memoryview, start: Int64, size: int) -> pa.Array:
    """The same where all have one size, as keys often have (numbers, UUIDs): numpy gathers them in less time."""
    everywhere = np.ndarray(len(data) - size + 1, f"V{size}", data, 0, (1,))  # overlapping
    rows = everywhere[start]
    offsets = np.arange(0, len(start) * size + 1, size, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), len(start), [None, pa.py_buffer(offsets), pa.py_buffer(rows)])


def _headers(data: memoryview, u8: Bytes, position: Int64, record_ends: Int64, counts: Int64) -> pa.Array:
    """The column of headers; checks that the headers of each record end where it ends."""
    edges, nulls = header_edges(u8, position, record_ends, counts)
    if not len(edges):
        return pa.nulls(len(counts), HEADERS_FIELD.type)
    keys = _strings(_copied(data, edges[:, 0], edges[:, 1] - edges[:, 0]))
    element = HEADERS_FIELD.type.value_field.type
    value_length = edges[:, 3] - edges[:, 2]
    value_length[nulls] = -1
    values = _copied(data, edges[:, 2], value_length)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(element))
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pairs, type=HEADERS_FIELD.type, mask=pa.array(counts == 0))


def _strings(keys: pa.Array) -> pa.Array:
    """Keys as strings; what is not UTF-8 becomes replacement characters, as in Java."""
    strings = pa.Array.from_buffers(pa.string(), len(keys), keys.buffers())
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
    return strings


class SegmentEnd(NamedTuple):
    """Where reading a segment ended: the offset behind the last whole batch, and whether other bytes follow it."""

    offset: int
    is_torn: bool


def iter_segment(
    file: io.RawIOBase,
    decoder: RecordBatchDecoder,
    start: int,
    end: int,
    from_offset: int,
    until_offset: int,
    chunk_bytes: int = CHUNK_BYTES,
) -> Generator[pa.RecordBatch, None, SegmentEnd]:
    """Record batches of the bytes [start, end) of an open segment; start must be a batch boundary.

    Reads into one reused buffer and makes a larger one only for a batch that needs it and is in the file. Stops at the
    first batch at or above until_offset, at a torn tail and at preallocated zeros. Returns (to ``yield from``) where it
    ended, from_offset without a batch: less than until_offset says that the file ended early, and torn that it should
    not have. Raises CorruptRecordException as decode_buffer does.
    """
    size = max(min(chunk_bytes, end - start), HEADER_SIZE)
    buffer = np.empty(_ROOM * size, np.uint8).data
    position, kept, reached, behind = start, 0, from_offset, _MIN_OFFSET
    while position < end:
        got = os.preadv(file.fileno(), [buffer[kept : min(size, kept + end - position)]], position)
        if not got:
            break
        position += got
        filled = kept + got
        headers, consumed = batch_headers(buffer, filled)
        yield from decoder.decode_batches(buffer, headers, from_offset, until_offset, behind=behind)
        if len(headers):
            reached = behind = int(headers.last_offset[-1]) + 1
            if reached >= until_offset:
                return SegmentEnd(reached, False)
        kept = filled - consumed
        needed = _size_at(buffer, consumed, filled)
        if needed > kept + min(end, os.fstat(file.fileno()).st_size) - position:
            break  # torn: the file ends before the batch does
        rest = buffer[consumed:filled]
        if needed > size:
            size = needed
            if size > len(buffer):
                buffer = np.empty(size, np.uint8).data
        buffer[:kept] = rest
    return SegmentEnd(reached, kept > 0 or position < end)


def _size_at(buffer: memoryview, position: int, end: int) -> int:
    """Bytes of the batch that begins there, 0 when not even its size field is within the buffer."""
    if position + LOG_OVERHEAD > end:
        return 0
    (length,) = _INT32.unpack_from(buffer, position + 8)
    return int(length) + LOG_OVERHEAD
