"""Record batches of a segment into Arrow columns, by the million per second and without a Python object per record.

A chunk of the file holds many batches. Their headers are walked one by one; then all batches of the chunk advance in
lock-step: one numpy operation reads the i-th length prefix of every batch at once, which gives the position of every
record. From there on each field of all records is one vectorised varint read, and keys and values are gathered by
Arrow's own ``take`` from one array laid over the raw buffer.

Needs numpy and pyarrow, neither Spark nor a broker.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import cramjam
import crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_py.common.errors import CorruptRecordException

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
COLUMNS = tuple(SCHEMA.names)

# base offset, length, leader epoch, magic, crc, attributes, last offset delta, first and max timestamp, producer id,
# producer epoch, base sequence, record count
_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE = _HEADER.size
LOG_OVERHEAD = 12
_CRC_START = 21
# Places in the tuples of walk_batches: (position, size) and then the header's fields.
POSITION, SIZE, BASE_OFFSET, MAGIC, CRC, ATTRIBUTES, LAST_OFFSET_DELTA, FIRST_TS, MAX_TS, COUNT = (
    0, 1, 2, 5, 6, 7, 8, 9, 10, 14,
)  # fmt: skip
_CODEC_MASK, _TIMESTAMP_TYPE_BIT, _CONTROL_BIT = 0x07, 0x08, 0x20
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER_SIZE = 16
_GZIP, _SNAPPY, _LZ4, _ZSTD = 1, 2, 3, 4
BatchTuple = tuple[int, ...]


def walk_batches(buffer: memoryview, end: int) -> tuple[list[BatchTuple], int]:
    """Headers of the whole batches in buffer[:end], and the position of the first byte behind them.

    Ends at a torn batch and at preallocated zeros. Raises CorruptRecordException for a size no batch can have.
    """
    batches: list[BatchTuple] = []
    position = 0
    unpack = _HEADER.unpack_from
    while position + HEADER_SIZE <= end:
        header = unpack(buffer, position)
        size = header[1] + LOG_OVERHEAD
        if header[1] == 0 and header[0] == 0:
            break  # the zeros of a preallocated file
        if header[3] != 2:
            raise CorruptRecordException(
                f"Found a batch of magic {header[3]} at offset {header[0]}: only magic 2 can be decoded to Arrow"
            )
        if size < HEADER_SIZE:
            raise CorruptRecordException(f"Record batch at offset {header[0]} is too small: {size} bytes")
        if position + size > end:
            break
        batches.append((position, size, *header))
        position += size
    return batches, position


def batch_size_at(buffer: memoryview, position: int, end: int) -> int:
    """Bytes of the batch that starts there, 0 when not even its size field is within the buffer."""
    if position + LOG_OVERHEAD > end:
        return 0
    return int.from_bytes(buffer[position + 8 : position + 12], "big") + LOG_OVERHEAD


def decompress(codec: int, data: memoryview) -> Any:
    """The records of one batch, inflated; CorruptRecordException for bytes the codec does not understand."""
    try:
        if codec == _GZIP:
            return cramjam.gzip.decompress(data)
        if codec == _SNAPPY:
            return _unsnappy(data)
        if codec == _LZ4:
            return cramjam.lz4.decompress(data)
        if codec == _ZSTD:
            return cramjam.zstd.decompress(data)
    except cramjam.DecompressionError as e:
        raise CorruptRecordException(f"Cannot decompress a batch of codec {codec}: {e}") from e
    raise CorruptRecordException(f"Unknown compression codec {codec}")


def _unsnappy(data: memoryview) -> bytes:
    """Raw snappy, or the framing of snappy-java: a header, then blocks that each say their size."""
    if bytes(data[:8]) != _XERIAL:
        return bytes(cramjam.snappy.decompress_raw(data))
    blocks = []
    position = _XERIAL_HEADER_SIZE
    while position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        blocks.append(bytes(cramjam.snappy.decompress_raw(data[position + 4 : position + 4 + size])))
        position += 4 + size
    return b"".join(blocks)


def _varints(u8: Bytes, position: Int32) -> Int32:
    """One zigzag varint (of up to five bytes) per position; moves the positions behind them, in place."""
    byte = u8[position]
    position += 1
    if byte.max() < 128:
        x = byte.astype(np.int32)
    else:
        more = byte >> 7
        second = u8[position]  # read for all; where there is none, the mask drops it
        x = (byte & 0x7F).astype(np.int32)
        x |= ((second & 0x7F) * more).astype(np.int32) << 7
        position += more
        more &= second >> 7
        rest = np.flatnonzero(more)
        shift = 14
        while rest.size:
            if shift > 28:
                raise CorruptRecordException("Varint is too long, the most significant bit in the 5th byte is set")
            at = position[rest]
            byte = u8[at]
            if shift == 28 and bool((byte & 0x70).any()):
                raise CorruptRecordException("Varint is too long, it does not fit 32 bits")
            x[rest] |= ((byte & 0x7F).astype(np.int64) << shift).astype(np.int32)
            position[rest] = at + 1
            rest = rest[byte > 127]
            shift += 7
    unsigned = x.view(np.uint32)
    return (unsigned >> np.uint32(1)).view(np.int32) ^ -(x & 1)


def _varlongs(u8: Bytes, position: Int32) -> Int64:
    """Like _varints, for zigzag numbers of up to ten bytes (timestamps far from the batch's first one)."""
    x = np.zeros(len(position), np.uint64)
    rest = np.arange(len(position))
    shift = 0
    while rest.size:
        if shift > 63:
            raise CorruptRecordException("Varlong is too long, the most significant bit in the 10th byte is set")
        at = position[rest]
        byte = u8[at]
        x[rest] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        position[rest] = at + 1
        rest = rest[byte > 127]
        shift += 7
    return (x >> np.uint64(1)).view(np.int64) ^ -(x & np.uint64(1)).view(np.int64)


def _record_starts_in_lock_step(u8: Bytes, starts: Int64, counts: Int64, ends: Int64) -> Int32:
    """Position of every record's body, batch after batch; all batches advance by one record per step."""
    order = np.argsort(-counts, kind="stable")
    position = starts[order].astype(np.int32)
    sorted_counts = counts[order]
    first = np.zeros(len(starts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    target = first[order]
    out = np.empty(int(counts.sum()), np.int32)
    live = (len(starts) - np.searchsorted(sorted_counts[::-1], np.arange(int(counts.max())), side="right")).tolist()
    lanes = position
    for width in live:  # lanes that have no records left drop off at the tail
        if width != len(lanes):
            lanes, target = lanes[:width], target[:width]
        length = _varints(u8, lanes)
        if length.min() < 0:
            raise CorruptRecordException("Found a record with a negative size")
        out[target] = lanes
        target += 1
        lanes += length
    if not np.array_equal(position, ends[order]):
        raise CorruptRecordException("The records of a batch do not end where the batch ends")
    return out


def _record_starts_one_by_one(data: Any, starts: Sequence[int], counts: Sequence[int], ends: Sequence[int]) -> Int32:
    """The same for few batches with many records, where lock-step would take too many steps."""
    out: list[int] = []
    append = out.append
    for position, count, end in zip(starts, counts, ends, strict=True):
        for _ in range(count):
            x = data[position]
            position += 1
            if x > 127:
                x &= 0x7F
                shift = 7
                while True:
                    y = data[position]
                    position += 1
                    x |= (y & 0x7F) << shift
                    if y < 128:
                        break
                    shift += 7
            if x & 1 or position + (x >> 1) > end:
                raise CorruptRecordException("Found a record whose size does not fit its batch")
            append(position)
            position += x >> 1
        if position != end:
            raise CorruptRecordException("The records of a batch do not end where the batch ends")
    return np.array(out, np.int32)


class RecordBatchDecoder:
    """Turns the batches of one partition into Arrow record batches of the wanted columns.

    The columns are those of Spark's Kafka source, in the order given; keys and values are copied out of the buffer, so
    the buffer may be used again when decode has returned.
    """

    def __init__(
        self, topic: str, partition: int, columns: Sequence[str] = COLUMNS, *, check_crcs: bool = True
    ) -> None:
        self._topic = topic.encode()
        self._partition = partition
        self._columns = tuple(columns)
        self._check_crcs = check_crcs
        self.schema = pa.schema([SCHEMA.field(name) for name in columns])

    def decode(
        self, buffer: memoryview, batches: Sequence[BatchTuple], from_offset: int, until_offset: int
    ) -> pa.RecordBatch | None:
        """The records with from_offset <= offset < until_offset of these batches, None when there are none.

        The buffer must reach at least one byte beyond the last batch (the varint reader looks ahead). Control batches
        are skipped. Raises CorruptRecordException for a wrong CRC or records that do not fit.
        """
        wanted = [
            b
            for b in batches
            if b[BASE_OFFSET] < until_offset
            and b[BASE_OFFSET] + b[LAST_OFFSET_DELTA] >= from_offset
            and not b[ATTRIBUTES] & _CONTROL_BIT
            and b[COUNT] > 0
        ]
        if not wanted:
            return None
        if self._check_crcs:
            _check(buffer, wanted)
        data, starts, ends = _records_area(buffer, wanted)
        try:
            decoded = self._columns_of(data, np.array(wanted, np.int64), starts, ends)
        except IndexError as e:
            raise CorruptRecordException("A record reaches beyond its batch") from e
        first, last = wanted[0], wanted[-1]
        if first[BASE_OFFSET] >= from_offset and last[BASE_OFFSET] + last[LAST_OFFSET_DELTA] < until_offset:
            return self._table(decoded, None)
        offsets = decoded["offset"]
        inside = np.flatnonzero((offsets >= from_offset) & (offsets < until_offset))
        return self._table(decoded, inside) if inside.size else None

    def _columns_of(self, data: Any, headers: Int64, starts: Int64, ends: Int64) -> dict[str, Any]:
        u8 = np.frombuffer(data, np.uint8)
        counts = headers[:, COUNT]
        n = int(counts.sum())
        if n > 64 * int(counts.max()):
            position = _record_starts_in_lock_step(u8, starts, counts, ends)
        else:
            position = _record_starts_one_by_one(data, starts.tolist(), counts.tolist(), ends.tolist())
        position += 1  # the record's attributes, unused since they exist
        before = position.copy()
        try:
            timestamp_delta: Any = _varints(u8, position)
        except CorruptRecordException:
            position = before
            timestamp_delta = _varlongs(u8, position)
        offset_delta = _offset_deltas(u8, position, headers, counts)
        offsets = np.repeat(headers[:, BASE_OFFSET], counts)
        offsets += offset_delta
        decoded: dict[str, Any] = {"offset": offsets, "headers": headers, "counts": counts}
        if "timestamp" in self._columns:
            decoded["timestamp"] = _timestamps(headers, counts, timestamp_delta)
        if "key" in self._columns or "value" in self._columns:
            decoded |= _keys_and_values(data, u8, position, n, self._columns)
        return decoded

    def _table(self, decoded: dict[str, Any], inside: Int64 | None) -> pa.RecordBatch:
        n = len(decoded["offset"])
        columns = [self._column(name, decoded, n) for name in self._columns]
        table = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return table if inside is None else table.take(pa.array(inside))

    def _column(self, name: str, decoded: dict[str, Any], n: int) -> pa.Array:
        if name == "topic":
            width = len(self._topic)
            offsets = np.arange(0, (n + 1) * width, width, dtype=np.int32)
            return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(self._topic * n))
        if name == "partition":
            return _fixed(pa.int32(), np.full(n, self._partition, np.int32))
        if name == "timestampType":
            types = ((decoded["headers"][:, ATTRIBUTES] & _TIMESTAMP_TYPE_BIT) >> 3).astype(np.int32)
            return _fixed(pa.int32(), np.repeat(types, decoded["counts"]))
        if name == "offset":
            return _fixed(pa.int64(), decoded["offset"])
        if name == "timestamp":
            return _fixed(pa.timestamp("us", "UTC"), decoded["timestamp"])
        return decoded[name]


def _fixed(kind: pa.DataType, values: Any) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _check(buffer: memoryview, batches: Sequence[BatchTuple]) -> None:
    crc = crc32c.crc32c
    for b in batches:
        if crc(buffer[b[POSITION] + _CRC_START : b[POSITION] + b[SIZE]]) != b[CRC]:
            raise CorruptRecordException(f"Record is corrupt (stored crc = {b[CRC]}) in batch at {b[BASE_OFFSET]}")


def _records_area(buffer: memoryview, batches: Sequence[BatchTuple]) -> tuple[Any, Int64, Int64]:
    """One buffer that holds the records of all batches, inflated where needed, and where each batch begins and ends."""
    if not any(b[ATTRIBUTES] & _CODEC_MASK for b in batches):
        starts = np.array([b[POSITION] + HEADER_SIZE for b in batches], np.int64)
        ends = np.array([b[POSITION] + b[SIZE] for b in batches], np.int64)
        return buffer, starts, ends
    parts: list[Any] = []
    edges = [0]
    for b in batches:
        codec = b[ATTRIBUTES] & _CODEC_MASK
        area = buffer[b[POSITION] + HEADER_SIZE : b[POSITION] + b[SIZE]]
        part = decompress(codec, area) if codec else area
        parts.append(part)
        edges.append(edges[-1] + len(part))
    parts.append(b"\0")  # the varint reader looks one byte ahead
    both = np.array(edges, np.int64)
    return b"".join(parts), both[:-1], both[1:]


def _offset_deltas(u8: Bytes, position: Int32, headers: Int64, counts: Int64) -> Int32:
    """Counted where nothing was compacted away (then the deltas can only be 0, 1, 2 …), read otherwise."""
    if not bool((headers[:, LAST_OFFSET_DELTA] + 1 == counts).all()):
        return _varints(u8, position)
    first = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    deltas: Int32 = np.arange(int(counts.sum()), dtype=np.int32) - np.repeat(first.astype(np.int32), counts)
    position += 1
    for limit in (1 << 6, 1 << 13, 1 << 20, 1 << 27):  # each further byte of the zigzag varint that was skipped
        if int(counts.max()) > limit:
            position += deltas >= limit
    return deltas


def _timestamps(headers: Int64, counts: Int64, deltas: Any) -> Int64:
    """Microseconds: first timestamp plus delta, or the batch's max timestamp for LogAppendTime."""
    result = np.repeat(headers[:, FIRST_TS], counts)
    result += deltas
    append_time = (headers[:, ATTRIBUTES] & _TIMESTAMP_TYPE_BIT) != 0
    if append_time.any():
        result = np.where(np.repeat(append_time, counts), np.repeat(headers[:, MAX_TS], counts), result)
    result *= 1000
    return result


def _keys_and_values(data: Any, u8: Bytes, position: Int32, n: int, columns: Sequence[str]) -> dict[str, pa.Array]:
    """Keys and values by Arrow's take from one array over the whole buffer: its slots are key, gap, value, gap, …"""
    edges = np.empty((n, 4), np.int32)
    nulls = {}
    for at, name in ((0, "key"), (2, "value")):
        length = _varints(u8, position)
        nulls[name] = length < 0
        length[nulls[name]] = 0
        edges[:, at] = position
        position += length
        edges[:, at + 1] = position
    flat = edges.reshape(-1)
    if int(flat.max()) > len(u8) or bool((np.diff(flat) < 0).any()):
        raise CorruptRecordException("A key or value reaches beyond its record")
    slots = pa.Array.from_buffers(pa.binary(), 4 * n - 1, [None, pa.py_buffer(flat), pa.py_buffer(data)])
    result = {}
    for at, name in ((0, "key"), (2, "value")):
        if name in columns:
            index = np.arange(at, 4 * n, 4, dtype=np.int32)
            result[name] = slots.take(pa.array(index, mask=nulls[name]) if nulls[name].any() else pa.array(index))
    return result


def iter_segment(
    file: io.RawIOBase,
    decoder: RecordBatchDecoder,
    start: int,
    end: int,
    from_offset: int,
    until_offset: int,
    chunk_bytes: int = 4 << 20,
) -> Iterator[pa.RecordBatch]:
    """Record batches of the bytes [start, end) of an open segment; start must be a batch boundary.

    Reads into one reused buffer and grows it only for a batch that is larger. Stops at the first batch at or above
    until_offset, at a torn tail and at preallocated zeros.
    """
    buffer = bytearray(min(chunk_bytes, max(end - start, 1)) + 1)  # one byte more: the varint reader looks ahead
    position, kept = start, 0
    while position < end:
        view = memoryview(buffer)
        got = os.preadv(file.fileno(), [view[kept : min(len(buffer) - 1, kept + end - position)]], position)
        if not got:
            return
        position += got
        filled = kept + got
        batches, consumed = walk_batches(view, filled)
        if batches:
            table = decoder.decode(view, batches, from_offset, until_offset)
            if table is not None:
                yield table
            if batches[-1][BASE_OFFSET] + batches[-1][LAST_OFFSET_DELTA] + 1 >= until_offset:
                return
        kept = filled - consumed
        rest = bytes(view[consumed:filled])
        needed = batch_size_at(view, consumed, filled)
        view.release()
        if needed >= len(buffer):
            buffer = bytearray(needed + 1)
        buffer[:kept] = rest
