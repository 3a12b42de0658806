"""Arrow columns into record batches of magic 2, without a Python object per record: the decoder's other direction.

Where batches begin is decided for the whole table; then a run of batches at a time is made: numpy computes each small
field of a record and its bytes, and Arrow joins them with keys, values and headers into one buffer. A batch is a slice
of that buffer behind a header with its checksum.

Ours: Kafka appends record by record (MemoryRecordsBuilder).
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from typing import Any

import crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.spark.arrow_codecs import deflate
from kafka_py.spark.batch_headers import HEADER_SIZE, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT

Int64 = npt.NDArray[np.int64]
Longs = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

DEFAULT_BATCH_SIZE = 16384
# Bytes of the smallest record, and of the fields of a record without key, value and headers at most.
_SMALLEST_RECORD, _SMALL_FIELDS = 7, 40
# Bytes of a run, in which batches are made: the arrays of a run stay in the processor's caches.
_RUN_BYTES = 2 << 20
_MAX_OFFSET_DELTA = (1 << 31) - 1
_PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_BEFORE_CRC = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, crc
# attributes, last offset delta, first and max timestamp, producer id, producer epoch, base sequence, record count
_BEHIND_CRC = struct.Struct(">hiqqqhii")
_LENGTH_WITHOUT_RECORDS = 49
_HEADER_TYPE = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedBatch:
    """One record batch as it stands in a file, and what an index needs to know of it (timestamps in milliseconds).

    The offset for the time index is the batch's last one, as Kafka has it for this format.
    """

    data: bytes
    base_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    """The numbers of all records of a table, and the first record of each batch (and the end)."""

    offset: Int64
    timestamp: Int64  # milliseconds, -1 for none
    append_time: npt.NDArray[np.bool_]
    cuts: Int64
    size: Int64  # bytes of all records up to and with this one, at most


class RecordBatchEncoder:
    """Makes record batches of at most batch_size bytes (before compression) of the rows of Arrow tables.

    Only a record that is larger by itself gets a batch that is larger, too.

    Columns: ``value`` and ``key`` (binary or string), ``timestamp`` (a timestamp, or integers of milliseconds; null for
    none), ``offset``, ``timestampType`` and ``headers``. All but the value may be missing, others are ignored; what
    the decoder gives comes back the same, whatever its columns. Given a producer id, the batches of each call have
    sequence numbers from base_sequence on.
    """

    def __init__(
        self,
        codec: str = "none",
        batch_size: int = DEFAULT_BATCH_SIZE,
        *,
        leader_epoch: int = RecordBatch.NO_PARTITION_LEADER_EPOCH,
        producer_id: int = RecordBatch.NO_PRODUCER_ID,
        producer_epoch: int = RecordBatch.NO_PRODUCER_EPOCH,
        base_sequence: int = RecordBatch.NO_SEQUENCE,
        is_transactional: bool = False,
    ) -> None:
        """Raises ValueError for an unknown codec or a batch size that is not positive."""
        if batch_size <= 0:
            raise ValueError(f"batch_size must be positive, it is {batch_size}")
        self._codec = CompressionType.for_name(codec).id
        self._batch_size = batch_size
        self._leader_epoch = leader_epoch
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._flags = TRANSACTIONAL_BIT if is_transactional else 0

    def encode(self, table: pa.Table | pa.RecordBatch, base_offset: int | None = None) -> bytes:
        """All batches behind one another, as a file or a Produce request has them. Raises as encode_batches does."""
        return b"".join(batch.data for batch in self.encode_batches(table, base_offset))

    def encode_batches(
        self, table: pa.Table | pa.RecordBatch, base_offset: int | None = None
    ) -> Iterator[EncodedBatch]:
        """The batches one after the other, in the order of the rows.

        Offsets are counted from base_offset; without it they are those of column ``offset``, which must rise but may
        have gaps, or counted from 0 where there is no such column. Rows of LogAppendTime (timestampType 1) share a
        batch only if their timestamps are the same. Raises ValueError for a table without values, offsets that do not
        rise and negative timestamps, and Arrow's errors (ValueError, NotImplementedError) for types that do not fit.
        """
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if "value" not in table.column_names:
            raise ValueError("Required attribute 'value' not found")
        table = _without_views(table)
        plan = self._plan(table, base_offset)
        sequence = self._base_sequence
        start = 0
        while start + 1 < len(plan.cuts):
            first = int(plan.cuts[start])
            done = int(plan.size[first - 1]) if first else 0
            # Whole batches up to the bound, but one at least.
            stop = int(np.searchsorted(plan.size[plan.cuts[start + 1 :] - 1], done + _RUN_BYTES, side="right"))
            stop = start + max(1, stop)
            for batch in self._run(table, plan, plan.cuts[start : stop + 1], sequence):
                yield batch
                if sequence != RecordBatch.NO_SEQUENCE:
                    sequence = DefaultRecordBatch.increment_sequence(sequence, batch.count)
            start = stop

    def _plan(self, table: pa.Table, base_offset: int | None) -> _Plan:
        offset = _offsets(table, base_offset)
        timestamp = _timestamps(table)
        append_time = _integers(table, "timestampType", 0) == 1
        size = self._sizes(table, offset, timestamp)
        breaks = append_time[1:] != append_time[:-1]
        breaks |= append_time[1:] & (timestamp[1:] != timestamp[:-1])
        return _Plan(offset, timestamp, append_time, self._cuts(size, offset, np.flatnonzero(breaks) + 1), size)

    def _sizes(self, table: pa.Table, offset: Int64, timestamp: Int64) -> Int64:
        """What the records up to and with each take at most: data, and each small field as if it were the largest."""
        n = len(offset)
        if n == 0:
            return np.zeros(0, np.int64)
        span = int(offset[-1]) - int(offset[0])
        largest = [int(timestamp.max()) - int(timestamp.min())]
        largest.append(span if span != n - 1 else min(span, self._batch_size // _SMALLEST_RECORD))
        size = np.zeros(n, np.int64)
        for name in ("key", "value"):
            if name in table.column_names:
                length = np.maximum(_lengths(table.column(name)), 0)
                largest.append(int(length.max()))
                size += length
        if "headers" in table.column_names:
            size += _header_sizes(table.column("headers"))
        # The number of headers, and the length of the record with its small fields.
        largest += [int(size.max()), int(size.max()) + _SMALL_FIELDS]
        size += 2 + sum(_largest_varint(x) for x in largest)  # 2: attributes, and the length of a key that is not there
        return np.cumsum(size)

    def _cuts(self, size: Int64, offset: Int64, breaks: npt.NDArray[np.intp]) -> Int64:
        """The first record of each batch, and the end: batches are full, but end before each break."""
        n = len(size)
        room = max(self._batch_size - HEADER_SIZE, 0)
        far_apart = n > 0 and int(offset[-1]) - int(offset[0]) > _MAX_OFFSET_DELTA
        ends = iter([*breaks.tolist(), n])
        limit = next(ends)
        cuts, at = [0], 0
        while at < n:
            if at == limit:
                limit = next(ends)
            taken = int(size[at - 1]) if at else 0
            stop = min(max(at + 1, int(size.searchsorted(taken + room, side="right"))), limit)
            if far_apart:
                stop = min(stop, int(offset.searchsorted(offset[at] + _MAX_OFFSET_DELTA, side="right")))
            cuts.append(stop)
            at = stop
        return np.array(cuts, np.int64)

    def _run(self, table: pa.Table, plan: _Plan, cuts: Int64, sequence: int) -> Iterator[EncodedBatch]:
        start, stop = int(cuts[0]), int(cuts[-1])
        counts = np.diff(cuts)
        first = cuts[:-1] - start
        offset, timestamp = plan.offset[start:stop], plan.timestamp[start:stop]
        records = _records(
            table.slice(start, stop - start),
            timestamp - np.repeat(timestamp[first], counts),
            offset - np.repeat(offset[first], counts),
        )
        edges = np.frombuffer(records.buffers()[1], np.int32)[records.offset :][cuts - start].tolist()
        data = memoryview(records.buffers()[2])
        types = np.where(plan.append_time[cuts[:-1]], TIMESTAMP_TYPE_BIT, 0)
        fields = zip(
            offset[first].tolist(),
            offset[cuts[1:] - start - 1].tolist(),
            timestamp[first].tolist(),
            np.maximum.reduceat(timestamp, first).tolist(),
            types.tolist(),
            counts.tolist(),
            strict=True,
        )
        for at, (base, last, first_timestamp, max_timestamp, time_type, count) in enumerate(fields):
            body = deflate(self._codec, data[edges[at] : edges[at + 1]])
            behind_crc = _BEHIND_CRC.pack(
                self._codec | time_type | self._flags,
                last - base,
                first_timestamp,
                max_timestamp,
                self._producer_id,
                self._producer_epoch,
                sequence,
                count,
            )
            if sequence != RecordBatch.NO_SEQUENCE:
                sequence = DefaultRecordBatch.increment_sequence(sequence, count)
            crc = crc32c.crc32c(body, crc32c.crc32c(behind_crc))
            length = _LENGTH_WITHOUT_RECORDS + len(body)
            before_crc = _BEFORE_CRC.pack(base, length, self._leader_epoch, RecordBatch.CURRENT_MAGIC_VALUE, crc)
            yield EncodedBatch(b"".join((before_crc, behind_crc, body)), base, last, max_timestamp, last, count)


def _without_views(table: pa.Table) -> pa.Table:
    """Arrow measures and joins all binary types but views."""
    for at, field in enumerate(table.schema):
        if pa.types.is_binary_view(field.type) or pa.types.is_string_view(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.large_binary()))
    return table


def _integers(table: pa.Table, name: str, default: int) -> Int64:
    """A column of integers, the default where there is none or it is null."""
    if name not in table.column_names:
        return np.full(table.num_rows, default, np.int64)
    column = table.column(name).cast(pa.int64())
    return np.asarray(column.fill_null(default).to_numpy(), np.int64)


def _offsets(table: pa.Table, base_offset: int | None) -> Int64:
    if base_offset is not None or "offset" not in table.column_names:
        start = base_offset or 0
        return np.arange(start, start + table.num_rows, dtype=np.int64)
    offset = _integers(table, "offset", -1)
    if len(offset) and (int(offset[0]) < 0 or bool((offset[1:] <= offset[:-1]).any())):
        raise ValueError("Column offset must have a value in each row and rise from row to row")
    return offset


def _timestamps(table: pa.Table) -> Int64:
    """Milliseconds, rounded down; raises ValueError for negative ones other than -1 (none), as Kafka does."""
    missing = RecordBatch.NO_TIMESTAMP
    kind = table.schema.field("timestamp").type if "timestamp" in table.column_names else None
    if kind is None or not pa.types.is_timestamp(kind):
        timestamp = _integers(table, "timestamp", missing)
    elif kind.unit == "s":
        column = table.column("timestamp").cast(pa.timestamp("ms", kind.tz)).cast(pa.int64())
        timestamp = np.asarray(column.fill_null(missing).to_numpy(), np.int64)
    else:
        per_ms = _PER_MILLISECOND[kind.unit]
        column = table.column("timestamp").cast(pa.int64()).fill_null(missing * per_ms)
        timestamp = np.asarray(column.to_numpy(), np.int64) // per_ms
    if len(timestamp) and timestamp.min() < missing:
        raise ValueError(f"Invalid message timestamp {timestamp.min()}")
    return timestamp


def _lengths(column: pa.ChunkedArray | pa.Array) -> Int64:
    """Bytes of each value, -1 for null."""
    return np.asarray(pc.binary_length(column).cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _header_sizes(column: pa.ChunkedArray) -> Int64:
    """What the headers of each record take at most."""
    sizes = [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        headers = chunk.cast(_HEADER_TYPE)
        key, value = (np.maximum(_lengths(field), 0) for field in headers.flatten().flatten())
        lengths = sum(_largest_varint(int(field.max(initial=0))) for field in (key, value))
        total = np.zeros(len(key) + 1, np.int64)
        np.cumsum(key + value + lengths, out=total[1:])
        counts = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
        ends = np.cumsum(counts)
        sizes.append(total[ends] - total[ends - counts])
    return np.concatenate(sizes)


def _records(table: pa.Table, timestamp_delta: Int64, offset_delta: Int64) -> pa.Array:
    """The bytes of each record of the rows, as one array of binaries."""
    columns = {name: _one_array(table, name) for name in ("key", "value", "headers") if name in table.column_names}
    n = table.num_rows
    key = columns.get("key")
    key_length = np.full(n, -1, np.int64) if key is None else _lengths(key)
    value_length = _lengths(columns["value"])
    header_counts, headers = _headers(columns["headers"]) if "headers" in columns else (np.zeros(n, np.int64), None)
    fields = [_zigzag(x) for x in (timestamp_delta, offset_delta, key_length, value_length, header_counts)]
    sizes = [_varint_sizes(field) for field in fields]
    body = 1 + sum(sizes) + np.maximum(key_length, 0) + np.maximum(value_length, 0)
    if headers is not None:
        body += _lengths(headers)
    length = _zigzag(body)
    front = _varint_blobs([length, None, *fields[:3]], [_varint_sizes(length), None, *sizes[:3]])
    parts = [front, *([] if key is None else [key]), _varint_blobs(fields[3:4], sizes[3:4]), columns["value"]]
    if headers is None:
        parts.append(pa.scalar(b"\0"))
    else:
        parts += [_varint_blobs(fields[4:], sizes[4:]), headers]
    return pc.binary_join_element_wise(*parts, pa.scalar(b""), null_handling="replace", null_replacement="")


def _one_array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name).cast(_HEADER_TYPE if name == "headers" else pa.binary()).combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _headers(column: pa.Array) -> tuple[Int64, pa.Array]:
    """How many headers each row has (null is none), and their bytes without that number.

    Raises ValueError for a header without a key.
    """
    key, value = column.flatten().flatten()
    if key.null_count:
        raise ValueError("Invalid null header key found in headers")
    lengths = _zigzag(_lengths(key)), _zigzag(_lengths(value))
    key_size, value_size = (_varint_blobs([x], [_varint_sizes(x)]) for x in lengths)
    each = pc.binary_join_element_wise(
        key_size, key, value_size, value, pa.scalar(b""), null_handling="replace", null_replacement=""
    )
    counts = np.asarray(pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    # The headers of a row stand behind one another already: only the offsets have to be of rows.
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    if not len(each):
        return counts, pa.array([b""] * len(counts), pa.binary())
    offsets = np.frombuffer(each.buffers()[1], np.int32)[each.offset :][ends]
    return counts, pa.Array.from_buffers(pa.binary(), len(counts), [None, pa.py_buffer(offsets), each.buffers()[2]])


def _zigzag(x: Int64) -> Longs:
    return ((x << 1) ^ (x >> 63)).view(np.uint64)


def _largest_varint(x: int) -> int:
    """Bytes of the zigzag varint of x, or of anything nearer to 0; at most those of 64 bits."""
    return ByteUtils.size_of_varlong(min(x, (1 << 63) - 1))


def _varint_sizes(x: Longs) -> npt.NDArray[np.int64]:
    sizes = np.ones(len(x), np.int64)
    largest = int(x.max()) if len(x) else 0
    for bits in range(7, 64, 7):
        if largest >> bits == 0:
            break
        sizes += x >= np.uint64(1 << bits)
    return sizes


def _varint_blobs(fields: list[Any], sizes: list[Any]) -> pa.Array:
    """The varints of each row behind one another, as binaries; a field of None is one zero byte."""
    n = len(fields[0])
    widths = [1 if size is None else int(size.max()) if n else 1 for size in sizes]
    bytes_of = np.zeros((n, sum(widths)), np.uint8)
    there = np.ones((n, sum(widths)), np.bool_)
    at = 0
    for x, size, width in zip(fields, sizes, widths, strict=True):
        for i in range(width if x is not None else 0):
            column = bytes_of[:, at + i]
            np.copyto(column, (x >> np.uint64(7 * i)) & np.uint64(0x7F), casting="unsafe")
            if i + 1 < width:
                column |= (size > i + 1).view(np.uint8) << 7
            if i:
                there[:, at + i] = size > i
        at += width
    total = sum(1 if size is None else size for size in sizes)
    offsets = np.zeros(n + 1, np.int32)
    np.cumsum(total, out=offsets[1:])
    packed = bytes_of.reshape(-1) if int(offsets[-1]) == bytes_of.size else bytes_of[there]
    return pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(packed)])
