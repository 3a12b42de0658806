"""Reading the fields of many records at once: varints by the vector, and where the records of many batches begin.

Records follow each other without an index: the second begins where the length of the first says. One batch must
therefore be walked record by record, but many batches can be walked in lock-step: one numpy operation reads the i-th
length of every batch. Afterwards the fields of all records are read at once: of nearly all records the first fields lie
within eight bytes, which are gathered as one number and taken apart by shifts.

Positions are int64 and may run off the buffer when lengths lie. Reads are clipped to the buffer, never out of it, so
nothing read counts before the caller has compared the positions with where the records end.

Ours: Kafka reads record by record (DefaultRecord.readFrom).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.utils.byte_utils import ByteUtils

Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.uint64]

VARINT_BYTES, VARLONG_BYTES = 5, 10
# Costs in microseconds, measured: one step of all lanes, and one record of the plain walk. Only their ratio matters.
_STEP_COST, _RECORD_COST = 1.8, 0.17
_HEADERS_IN_LOCK_STEP = 32


def _advances() -> Int64:
    """For each two bytes at a record's begin: the bytes to the next record, 0 when two bytes do not tell."""
    first, second = np.arange(1 << 16) & 0xFF, np.arange(1 << 16) >> 8
    one = 1 + (first >> 1)
    two = 2 + ((first & 0x7F | second << 7) >> 1)
    known = (first & 1 == 0) & ((first < 0x80) | (second < 0x80))  # the lowest bit is the sign
    return np.where(known, np.where(first < 0x80, one, two), 0)


def _varints() -> Int64:
    """For each two bytes at a varint's begin: its number, and in the lowest eight bits how many bits it takes.

    The latter is 255 when the two bytes do not tell.
    """
    byte, second = np.arange(1 << 16) & 0xFF, np.arange(1 << 16) >> 8
    x = np.where(byte < 0x80, byte, byte & 0x7F | second << 7)
    bits = np.where(byte < 0x80, 8, np.where(second < 0x80, 16, 255))
    return ((x >> 1) ^ -(x & 1)) << 8 | bits


# 512 KiB each, of which real data touches little. All are only read.
_ADVANCES = _advances()
_VARINTS = _varints()
_NUMBERS = _VARINTS[:0x80] >> 8  # of varints of one byte
_WORD = 8  # bytes read of a record at once
# So many records at a time, whose numbers fit the nearest caches. Smaller blocks cost more calls than they save.
_BLOCK = 8192


def read_varints(u8: Bytes, position: Int64, longest: int = VARINT_BYTES) -> Int64:
    """One zigzag varint per position; moves the positions behind them, in place.

    Raises CorruptRecordException for one of more bytes than longest, or that does not fit 32 bits (of VARINT_BYTES).
    """
    byte = u8.take(position, mode="clip")
    largest = byte.max() if len(byte) else 0
    if largest < 0x80:
        position += 1
        if not largest:  # as nearly all numbers of headers are
            return np.zeros(len(byte), np.int64)
        return _NUMBERS.take(byte)
    # Two bytes are read for all, if there is a second or not.
    second = u8.take(position + 1, mode="clip")
    number = _VARINTS.take(second.astype(np.uint16) << 8 | byte)
    size = number & 0xFF
    number >>= 8
    size >>= 3
    if size.max() > 2:
        rest = np.flatnonzero(size > 2)
        where = position[rest]
        number[rest] = _read_long(u8, where, longest)
        position += size
        position[rest] = where
    else:
        position += size
    return number


def _read_long(u8: Bytes, position: Int64, longest: int) -> Int64:
    """The same for varints of more than two bytes."""
    x = np.zeros(len(position), np.uint64)
    rest = np.arange(len(position))
    for at in range(longest):
        byte = u8.take(position[rest], mode="clip")
        if at == VARINT_BYTES - 1 == longest - 1 and bool((byte & 0x70).any()):
            raise CorruptRecordException("Varint is too long, it does not fit 32 bits")
        x[rest] |= (byte & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * at)
        position[rest] += 1
        rest = rest[byte > 0x7F]
        if not rest.size:
            return ((x >> np.uint64(1)) ^ -(x & np.uint64(1))).view(np.int64)
    raise CorruptRecordException(f"Varint is too long, the most significant bit in byte {longest} is set")


def record_bounds(u8: Bytes, starts: Int64, ends: Int64, counts: Int64) -> tuple[Int64, Int64]:
    """Where each record begins (with its length) and where it ends, batch after batch.

    ``starts`` and ``ends`` bound the records of each batch, one batch behind the other within the first 2 GiB. Raises
    CorruptRecordException unless exactly ``counts`` records, one at least, fill each batch. A record may still be too
    short for anything.
    """
    order = np.argsort(-counts, kind="stable")
    alone = _walked_alone(counts[order])
    found = [
        _walk_alone(u8, start, end, count)
        for start, end, count in zip(*(x[order[:alone]].tolist() for x in (starts, ends, counts)), strict=True)
    ]
    if alone < len(order):
        lanes = [x[order[alone:]] for x in (starts, ends, counts)]
        walked = _walk_short(u8, *lanes)
        found.append(_walk_any(u8, *lanes) if walked is None else walked)
    # Each was found to lie within its batch, so the order of the file is that of rising positions. Sorting 32-bit
    # numbers (numpy does it with vector instructions) takes less time than putting each in its place.
    narrow: npt.NDArray[np.int32] = np.concatenate(found, dtype=np.int32, casting="unsafe")
    narrow.sort()
    begin = narrow.astype(np.int64)
    record_ends = np.empty_like(begin)
    record_ends[:-1] = begin[1:]
    record_ends[np.cumsum(counts) - 1] = ends
    return begin, record_ends


class RecordFields(NamedTuple):
    """What records consist of, one element of each array per record. Positions are those of the buffer."""

    timestamp_delta: Int64
    offset_delta: Int64
    key_start: Int64
    key_length: Int64  # below 0: no key
    value_start: Int64
    value_length: Int64  # below 0: no value
    end: Int64  # of the value: there is the number of headers


def record_fields(u8: Bytes, begin: Int64, record_ends: Int64) -> tuple[RecordFields, bool]:
    """The fields of the records that begin there, in rising order, and whether all of them end as they should.

    True: behind each value is the byte for "no headers", and then the record ends. False: there are headers, or records
    are damaged, and nothing was compared with where records end. Raises CorruptRecordException as read_varints does.
    """
    found = RecordFields(*(np.empty(len(begin), np.int64) for _ in RecordFields._fields))
    whole = True
    for at in range(0, len(begin), _BLOCK):
        block = RecordFields(*(column[at : at + _BLOCK] for column in found))
        _read_up_to_key(u8, begin[at : at + _BLOCK], block)
        np.add(block.key_start, _sizes(block.key_length), out=block.value_start)
        block.value_length[:] = read_varints(u8, block.value_start)
        np.add(block.value_start, _sizes(block.value_length), out=block.end)
        whole = (
            whole
            and np.array_equal(block.end + 1, record_ends[at : at + _BLOCK])
            and not u8.take(block.end, mode="clip").any()
        )
    return found, whole


def _sizes(length: Int64) -> Int64:
    """Lengths as numbers of bytes: none where there is no key or value."""
    return length if length.min() >= 0 else np.maximum(length, 0)


def _read_up_to_key(u8: Bytes, begin: Int64, out: RecordFields) -> None:
    """Both deltas, the length of the key and where it is: for nearly all records from one read of eight bytes.

    The next field always stands in the lowest bits of a word; it is shifted out, zeros come in. Fields of more than two
    bytes, or beyond the eighth, make ``bits`` too many: such records are read again.
    """
    last = len(u8) - _WORD
    if last < 0:
        _read_apart(u8, begin, out, slice(None))
        return
    torn = bool(begin[-1] > last)  # the last records may be shorter than a word
    words = np.ndarray(last + 1, "<u8", u8.data, 0, (1,))  # overlapping
    word = words[np.minimum(begin, last) if torn else begin]
    other = (word & 0x8080) == 0x8080  # lengths of more than two bytes
    bits = word >> 4
    bits &= 8  # what the second byte of the length takes
    word >>= 16  # one byte of the length, and the attributes, unused since they exist
    word >>= bits
    for number in (out.timestamp_delta, out.offset_delta, out.key_length):
        byte = word.astype(np.uint8)
        if byte.max() < 0x80:
            _NUMBERS.take(byte, mode="clip", out=number)
            word >>= 8
            bits += 8
        else:
            entry = _VARINTS.take((word & 0xFFFF).view(np.int64))
            np.right_shift(entry, 8, out=number)
            entry &= 0xFF
            word >>= entry.view(np.uint64)
            bits += entry.view(np.uint64)
    other |= bits > 8 * (_WORD - 2)
    if torn:
        other |= begin > last
    bits >>= 3
    bits += 2
    np.add(begin, bits.view(np.int64), out=out.key_start)
    if other.any():
        _read_apart(u8, begin, out, np.flatnonzero(other))


def _read_apart(u8: Bytes, begin: Int64, out: RecordFields, which: npt.NDArray[np.intp] | slice) -> None:
    """The same for some of the records, each field on its own and of any size."""
    position = begin[which].copy()
    read_varints(u8, position)
    position += 1
    out.timestamp_delta[which] = read_varints(u8, position, VARLONG_BYTES)
    out.offset_delta[which] = read_varints(u8, position)
    out.key_length[which] = read_varints(u8, position)
    out.key_start[which] = position


def _walked_alone(counts: Int64) -> int:
    """How many of the batches (largest first) to walk alone, so that all together takes the least time."""
    cost = np.zeros(len(counts) + 1)
    np.cumsum(counts, out=cost[1:])
    cost *= _RECORD_COST
    cost[:-1] += counts * _STEP_COST
    return int(cost.argmin())


def _widths(counts: Int64) -> list[int]:
    """For each step, how many lanes still have a record; counts must fall."""
    steps = np.arange(int(counts[0]))
    widths: list[int] = (len(counts) - np.searchsorted(counts[::-1], steps, side="right")).tolist()
    return widths


def _walk_short(u8: Bytes, starts: Int64, ends: Int64, counts: Int64) -> Int64 | None:
    """All lanes at once, if every length has one or two bytes; otherwise, and for a wrong one, returns None.

    A lane that meets another length never moves again, so it does not arrive at the end of its batch.
    """
    pairs = np.ndarray(len(u8) - 1, "<u2", u8.data, 0, (1,))  # overlapping
    advances = _ADVANCES.take
    widths = _widths(counts)
    total = int(counts.sum())
    # Step after step, of each as many as there are lanes left, and room for a whole step behind the last.
    walked = np.empty(total + len(starts), np.int64)
    lanes = walked[: len(starts)]
    lanes[:] = starts
    begin = len(starts)
    arrived = np.empty_like(starts)
    try:
        for width in [*widths[1:], 0]:
            following = walked[begin : begin + len(lanes)]
            np.add(lanes, advances(pairs[lanes], mode="clip"), out=following)
            if width != len(lanes):  # lanes that have no records left drop off at the tail
                arrived[width : len(lanes)] = following[width:]
                following = following[:width]
            lanes = following
            begin += width
    except IndexError:
        return None
    return walked[:total] if np.array_equal(arrived, ends) else None


def _walk_any(u8: Bytes, starts: Int64, ends: Int64, counts: Int64) -> Int64:
    """The same for lengths of any size, which is slower, and finds out what is wrong."""
    all_lanes = lanes = starts.copy()
    walked = []
    for width in _widths(counts):
        lanes = lanes[:width]
        walked.append(lanes.copy())
        length = read_varints(u8, lanes)
        if length.min() < 0:
            raise CorruptRecordException("Found a record with a negative size")
        lanes += length
    if not np.array_equal(all_lanes, ends):
        raise CorruptRecordException("The records of a batch do not end where the batch ends")
    return np.concatenate(walked)


def _walk_alone(u8: Bytes, start: int, end: int, count: int) -> Int64:
    """The same for one batch of many records, where lock-step would take too many steps."""
    data = u8[start:end].tobytes()
    advances = _advances_list()
    position = 0
    found: list[int] = []
    append = found.append
    try:
        for _ in range(count):
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
    return np.array(found, np.int64) + start


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
