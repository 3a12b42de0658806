"""Reading the fields of many records at once: varints by the vector, and where the records of many batches begin.

Records follow each other without an index: the second begins where the length of the first says. One batch must
therefore be walked record by record, but many batches can be walked in lock-step: one numpy operation reads the i-th
length of every batch. Afterwards each field of all records is one vectorised read.

Positions are int64 and may run off the buffer when lengths lie. Reads are clipped to the buffer, never out of it, so
nothing read counts before the caller has compared the positions with where the records end.

Ours: Kafka reads record by record (DefaultRecord.readFrom).
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.utils.byte_utils import ByteUtils

Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.uint64]

VARINT_BYTES, VARLONG_BYTES = 5, 10
# Costs in microseconds, measured: one step of all lanes, and one record of the plain walk. Only their ratio matters.
_STEP_COST, _RECORD_COST = 6.0, 0.17
_HEADERS_IN_LOCK_STEP = 32


def _advances() -> Int64:
    """For each two bytes at a record's begin: the bytes to the next record, 0 when two bytes do not tell."""
    first, second = np.arange(1 << 16) & 0xFF, np.arange(1 << 16) >> 8
    one = 1 + (first >> 1)
    two = 2 + ((first & 0x7F | second << 7) >> 1)
    known = (first & 1 == 0) & ((first < 0x80) | (second < 0x80))  # the lowest bit is the sign
    return np.where(known, np.where(first < 0x80, one, two), 0)


_ADVANCES = _advances()


def read_varints(u8: Bytes, position: Int64, longest: int = VARINT_BYTES) -> Int64:
    """One zigzag varint per position; moves the positions behind them, in place.

    Raises CorruptRecordException for one of more bytes than longest, or that does not fit 32 bits (of VARINT_BYTES).
    """
    byte = u8.take(position, mode="clip")
    position += 1
    largest = byte.max() if len(byte) else 0
    if not largest:  # as nearly all numbers of headers are
        return np.zeros(len(byte), np.int64)
    if largest < 0x80:
        return ((byte >> 1) ^ -(byte & 1)).view(np.int8).astype(np.int64)
    # Both bytes are read for all; where there is no second, it is multiplied away. 14 bits are enough for now.
    second = u8.take(position, mode="clip")
    more = byte >> 7
    x = ((second & 0x7F) * more).astype(np.uint16)
    x <<= 7
    x |= byte & 0x7F
    position += more
    more &= second >> 7
    if not more.any():
        return ((x >> 1) ^ -(x & 1)).view(np.int16).astype(np.int64)
    wide = x.astype(np.uint64)
    _read_rest(u8, position, wide, np.flatnonzero(more), longest)
    return ((wide >> np.uint64(1)) ^ -(wide & np.uint64(1))).view(np.int64)


def _read_rest(u8: Bytes, position: Int64, x: Longs, rest: npt.NDArray[np.intp], longest: int) -> None:
    """The third and further bytes of the varints numbered in rest."""
    for at in range(2, longest):
        where = position[rest]
        byte = u8.take(where, mode="clip")
        if at == VARINT_BYTES - 1 == longest - 1 and bool((byte & 0x70).any()):
            raise CorruptRecordException("Varint is too long, it does not fit 32 bits")
        x[rest] |= (byte & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * at)
        position[rest] = where + 1
        rest = rest[byte > 0x7F]
        if not rest.size:
            return
    raise CorruptRecordException(f"Varint is too long, the most significant bit in byte {longest} is set")


def record_bounds(u8: Bytes, starts: Int64, ends: Int64, counts: Int64) -> tuple[Int64, Int64]:
    """Where each record begins (behind its length) and where it ends, batch after batch.

    ``starts`` and ``ends`` bound the records of each batch. Raises CorruptRecordException unless exactly ``counts``
    records, one at least, fill each batch. A record may still be too short for anything.
    """
    first = np.zeros(len(starts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    out = np.empty(int(counts.sum()), np.int64)
    order = np.argsort(-counts, kind="stable")
    alone = _walked_alone(counts[order])
    for batch in order[:alone].tolist():
        at = int(first[batch])
        _walk_alone(u8, int(starts[batch]), int(ends[batch]), out[at : at + int(counts[batch])])
    together = order[alone:]
    lanes = starts[together], ends[together], counts[together], first[together]
    short = not len(together) or _walk_short(u8, *lanes, out)
    if not short:
        _walk_any(u8, *lanes, out)
    record_ends = np.empty_like(out)
    record_ends[:-1] = out[1:]
    record_ends[first + counts - 1] = ends
    byte = u8.take(out, mode="clip")
    out += 1
    out += byte >> 7
    if alone or not short:
        _skip_rest(u8, out, np.flatnonzero(byte > 0x7F))
    return out, record_ends


def _skip_rest(u8: Bytes, position: Int64, rest: npt.NDArray[np.intp]) -> None:
    """Move the positions numbered in rest, which stand behind the second byte of a varint, behind its last."""
    for _ in range(VARINT_BYTES - 2):
        rest = rest[u8.take(position[rest] - 1, mode="clip") > 0x7F]
        position[rest] += 1


def _walked_alone(counts: Int64) -> int:
    """How many of the batches (largest first) to walk alone, so that all together takes the least time."""
    alone = np.zeros(len(counts) + 1)
    np.cumsum(counts, out=alone[1:])
    steps = np.append(counts, 0)
    return int(np.argmin(alone * _RECORD_COST + steps * _STEP_COST))


def _widths(counts: Int64) -> list[int]:
    """For each step, how many lanes still have a record; counts must fall."""
    steps = np.arange(int(counts[0]))
    widths: list[int] = (len(counts) - np.searchsorted(counts[::-1], steps, side="right")).tolist()
    return widths


def _walk_short(u8: Bytes, starts: Int64, ends: Int64, counts: Int64, first: Int64, out: Int64) -> bool:
    """All lanes at once, if every length has one or two bytes; otherwise, and for a wrong one, returns False.

    A lane that meets another length never moves again, so it does not arrive at the end of its batch.
    """
    pairs = np.ndarray(len(u8) - 1, "<u2", u8.data, 0, (1,))  # overlapping
    # Where each lane is, and where in ``out`` that goes; both are moved by one addition.
    state = all_lanes = np.array([starts, first])
    step = np.ones_like(state)
    lanes, target = state
    try:
        for width in _widths(counts):
            if width != len(lanes):  # lanes that have no records left drop off at the tail
                state, step = state[:, :width], step[:, :width]
                lanes, target = state
            out[target] = lanes
            _ADVANCES.take(pairs[lanes], out=step[0], mode="clip")
            state += step
    except IndexError:
        return False
    return np.array_equal(all_lanes[0], ends)


def _walk_any(u8: Bytes, starts: Int64, ends: Int64, counts: Int64, first: Int64, out: Int64) -> None:
    """The same for lengths of any size, which is slower, and finds out what is wrong."""
    all_lanes = lanes = starts.copy()
    target = first.copy()
    for width in _widths(counts):
        if width != len(lanes):
            lanes, target = lanes[:width], target[:width]
        out[target] = lanes
        target += 1
        length = read_varints(u8, lanes)
        if length.min() < 0:
            raise CorruptRecordException("Found a record with a negative size")
        lanes += length
    if not np.array_equal(all_lanes, ends):
        raise CorruptRecordException("The records of a batch do not end where the batch ends")


def _walk_alone(u8: Bytes, start: int, end: int, out: Int64) -> None:
    """The same for one batch of many records, where lock-step would take too many steps."""
    data = u8[start:end].tobytes()
    advances = _advances_list()
    position = 0
    found: list[int] = []
    append = found.append
    try:
        for _ in range(len(out)):
            append(position)
            advance = advances[data[position] | data[position + 1] << 8]
            if not advance:
                length, behind = ByteUtils.read_varint(data, position)
                if length < 0:
                    raise CorruptRecordException("Found a record with a negative size")
                advance = behind - position + length
            position += advance
    except (IndexError, ValueError) as e:
        raise CorruptRecordException("A record reaches beyond its batch") from e
    if position != len(data):
        raise CorruptRecordException("The records of a batch do not end where the batch ends")
    out[:] = found
    out += start


@functools.cache
def _advances_list() -> list[int]:
    """_ADVANCES for plain Python, made when it is first wanted."""
    advances: list[int] = _ADVANCES.tolist()
    return advances


def header_edges(u8: Bytes, position: Int64, ends: Int64, counts: Int64) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Begin and end of the key and of the value of every header, record after record, and which values are null.

    ``position``: of each record's first header, ``ends``: of the records, ``counts``: headers of each. The edges have
    four columns. Raises CorruptRecordException where the headers do not fill their record exactly.
    """
    if bool((counts < 0).any()) or bool((counts * 2 > ends - position).any()):
        raise CorruptRecordException("Found an invalid number of record headers")
    first = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    edges = np.zeros((int(counts.sum()), 4), np.int64)
    nulls = np.zeros(len(edges), np.bool_)
    many = counts > _HEADERS_IN_LOCK_STEP
    for record in np.flatnonzero(many).tolist():
        at, till = int(first[record]), int(first[record] + counts[record])
        position[record] = _headers_alone(u8, int(position[record]), int(ends[record]), edges[at:till], nulls[at:till])
    step = 0
    lanes = np.flatnonzero((counts > 0) & ~many)
    while lanes.size:
        where = position[lanes]
        target = first[lanes] + step
        _read_header(u8, where, edges, nulls, target)
        position[lanes] = where
        step += 1
        lanes = lanes[counts[lanes] > step]
    if not np.array_equal(position, ends):
        raise CorruptRecordException("The headers of a record do not end where the record ends")
    return edges, nulls


def _read_header(
    u8: Bytes, position: Int64, edges: Int64, nulls: npt.NDArray[np.bool_], target: npt.NDArray[np.int64]
) -> None:
    """One header of each lane into the rows ``target``; moves the positions behind it."""
    key_size = read_varints(u8, position)
    if key_size.min() < 0:
        raise CorruptRecordException("Invalid negative header key size")
    edges[target, 0] = position
    position += key_size
    edges[target, 1] = position
    value_size = read_varints(u8, position)
    nulls[target] = value_size < 0
    edges[target, 2] = position
    position += np.maximum(value_size, 0)
    edges[target, 3] = position


def _headers_alone(u8: Bytes, position: int, end: int, edges: Int64, nulls: npt.NDArray[np.bool_]) -> int:
    """All headers of one record that has very many; returns the position behind them."""
    data = u8[position:end].tobytes()
    at = 0
    rows = []
    try:
        for _ in range(len(edges)):
            key_size, at = ByteUtils.read_varint(data, at)
            if key_size < 0:
                raise CorruptRecordException("Invalid negative header key size")
            value_size, value_at = ByteUtils.read_varint(data, at + key_size)
            rows.append((at, at + key_size, value_at, value_at + max(value_size, 0), value_size < 0))
            at = value_at + max(value_size, 0)
    except (IndexError, ValueError) as e:
        raise CorruptRecordException("The headers of a record reach beyond it") from e
    table = np.array(rows, np.int64)
    edges[:] = table[:, :4] + position
    nulls[:] = table[:, 4] != 0
    return position + at
