"""Checking the records of a magic 2 batch without making an object of each.

Ours: Kafka iterates DefaultRecord objects; here that costs 1,000 ns a record, the walk 450. Records that are like the
one before them cost less: a run of equal sizes about 15 (their fields are then columns, compared by strided slices in
C), equal but for the size of their values about 200. Compiled, the plain walk takes 15 to 20 ns, and only long runs
still pay.

A walk answers what LogValidator needs to know of a batch: whether every record is well-formed, the largest and the
smallest timestamp delta, whether keys are there, whether offset deltas count up from the first. It only ever says
"fine" or "not fine"; which error it is, and at which record, is then found out by iterating the Record objects.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, lru_cache
from types import FunctionType
from typing import TYPE_CHECKING

from kafka_py.common.record.decompression_stream import MAX_RECORD_SIZE
from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.utils.yield_gil import yield_gil

if TYPE_CHECKING:
    from kafka_py.common.record.decompression_stream import DecompressionStream

_read_varint = ByteUtils.read_varint
_read_zigzag = ByteUtils.read_unsigned_varint  # without the last step: odd means negative
_read_varlong = ByteUtils.read_varlong

# Columns of the zig-zag encoded offset deltas 0, 1, 2 ... by encoded width: what a well-behaved producer sends.
_LOW = bytes(range(128, 256, 2)) * 1024
_MIDDLE = b"".join(bytes((0x80 | group,)) * 64 for group in range(128)) * 8
_OFFSETS_1 = bytes(range(0, 128, 2))
_OFFSETS_2_HIGH = b"".join(bytes((group,)) * 64 for group in range(128))
_OFFSETS_3_HIGH = b"".join(bytes((group,)) * 8192 for group in range(8))

_START_OF_RECORD = struct.Struct("6B").unpack_from
_SMALLEST_BATCH = 61 + 7  # with one record that has neither key nor value

_HIGH_BYTES = bytes(range(128, 256))
_ODD = bytes(value & 1 for value in range(256))
_RANKS = bytes(64 + ((byte >> 1) ^ -(byte & 1)) for byte in range(128)) + bytes(128)  # deltas in rising order
_UP_TO = tuple(bytes(range(value + 1)) for value in range(256))

# What one or two bytes of a varint decode to, left zig-zag encoded, by those bytes as a little-endian number. Negative
# where they are no varint of that width, or an odd (negative) one: such records are walked byte by byte.
_NO_VARINT = -(1 << 40)
_DECODED_1 = [byte if byte < 0x80 and not byte & 1 else _NO_VARINT for byte in range(256)]
_DECODED_2 = [_NO_VARINT] * 65536
_DELTAS_1 = [_NO_VARINT if byte > 0x7F else -1 - byte if byte & 1 else byte for byte in range(256)]
for _high in range(128):
    _DECODED_2[_high * 256 + 128 : _high * 256 + 256 : 2] = range(_high * 128, _high * 128 + 128, 2)

# Records that are walked one by one after an attempt at a run that found little.
_MIN_WORTHWHILE_RUN = 8

# Records, and bytes of decompressed data, after which other threads get the GIL: about every millisecond, because a
# yield costs about 60 us on Linux.
_RECORDS_PER_TURN = 4096
_BYTES_PER_YIELD = 1024 * 1024

# Bytes up to which chunks are joined before they are walked: most batches are then walked in one go, and no run of
# equal records ends with a codec's block.
_BYTES_PER_WALK = 256 * 1024

# A record that does not fit into so much decompressed data is passed over field by field instead of being joined.
_LARGE_RECORD = 256 * 1024

# The longest varint of a record length: data is walked up to here, so that no length is cut off.
_MAX_VARINT = 5


class RecordWalk:
    """The progress and the findings of walking one batch.

    index: records done; position: where the next one begins; size: bytes of the records of a decompressed walk;
    max_delta: the largest timestamp minus the first one, index_of_max its first record; min_delta: a lower bound;
    sequential: the offset deltas are 0, 1, 2 ...; has_null_key: some record has no key.
    """

    __slots__ = (
        "_next_attempt",
        "_wait",
        "count",
        "has_null_key",
        "index",
        "index_of_max",
        "max_delta",
        "min_delta",
        "position",
        "sequential",
        "size",
    )

    def __init__(self, count: int) -> None:
        self.count = count
        self.position = self.index = self.size = 0  # thread: of its owner
        self._next_attempt = _FIRST_ATTEMPT  # thread: of its owner
        self._wait = _FIRST_WAIT  # thread: of its owner
        self.max_delta = -1 << 63  # thread: of its owner
        self.min_delta = 1 << 63  # thread: of its owner
        self.index_of_max = -1  # thread: of its owner
        self.sequential = True  # thread: of its owner
        self.has_null_key = False  # thread: of its owner

    def walk_all(self, data: bytes, position: int) -> bool:
        """Walk an uncompressed batch whose records begin at position; return whether it is well-formed."""
        self.position = position
        count = self.count
        size = len(data)
        try:
            while True:
                index = self.index
                until = index + _RECORDS_PER_TURN
                if until >= count:
                    return self._walk(data, count, size) and self.index == count and self.position == size
                if not self._walk(data, until, size) or self.index < until:
                    return False
                yield_gil()
        except (IndexError, ValueError):
            return False

    def walk_stream(self, stream: DecompressionStream) -> bool:
        """Walk a compressed batch chunk by chunk; return whether it is well-formed to the end of the stream."""
        try:
            return self._walk_stream(stream)
        except (IndexError, ValueError, OSError, EOFError):
            return False

    def _walk_stream(self, stream: DecompressionStream) -> bool:
        data = b""
        since_yield = 0
        while self.index < self.count:
            data, ended = _gather(stream, data)
            since_yield += len(data)
            if not self._walk_gathered(data, len(data) if ended else len(data) - _MAX_VARINT):
                return False
            self.size += self.position
            data = data[self.position :]
            if self.index < self.count:
                if ended:
                    return False
                if len(data) >= _LARGE_RECORD:
                    stream.push_back(data)
                    if not self._walk_large(stream):
                        return False
                    data = stream.take_rest()
            if since_yield >= _BYTES_PER_YIELD:
                since_yield = 0
                yield_gil()
        return not data and not stream.next_chunk()

    def _walk_gathered(self, data: bytes, stop: int) -> bool:
        """Walk from the beginning of data as far as whole records go; False if one is malformed."""
        self.position = 0
        count = self.count
        while True:
            until = self.index + _RECORDS_PER_TURN
            if until >= count:
                return self._walk(data, count, stop)
            if not self._walk(data, until, stop):
                return False
            if self.index < until:
                return True
            yield_gil()

    def _walk(self, data: bytes, until: int, stop: int) -> bool:  # noqa: C901, PLR0912, PLR0915  # inlined: 2x
        """Walk until that many records are done, or one begins at stop or later, or is not there as a whole.

        False, IndexError or ValueError if a record is malformed.
        """
        position, index = self.position, self.index
        max_delta, min_delta, index_of_max = self.max_delta << 1, self.min_delta << 1, self.index_of_max
        limit = len(data)
        next_attempt = self._next_attempt
        while index < until and position < stop:
            size = data[position]
            body = position + 1
            if size > 0x7F:
                if (high := data[body]) < 0x80:
                    size = size & 0x7F | high << 7
                    body += 1
                else:
                    size, body = _read_zigzag(data, position)
            if size & 1:
                return False
            end = body + (size >> 1)
            if end > limit:
                break
            delta = data[body + 1]
            at = body + 2
            if delta > 0x7F:
                if (high := data[at]) < 0x80:
                    delta = delta & 0x7F | high << 7
                    at += 1
                else:
                    value, at = _read_varlong(data, body + 1)
                    delta = value << 1 if value >= 0 else (-value << 1) - 1
            offset = data[at]
            at += 1
            if offset > 0x7F:
                if (high := data[at]) < 0x80:
                    offset = offset & 0x7F | high << 7
                    at += 1
                else:
                    offset, at = _read_zigzag(data, at - 1)
            if offset != index << 1:
                self.sequential = False
            length = data[at]
            at += 1
            if length > 0x7F:
                length, at = _read_zigzag(data, at - 1)
            if length & 1:
                self.has_null_key = True
            else:
                at += length >> 1
            length = data[at]
            at += 1
            if length > 0x7F:
                if (high := data[at]) < 0x80:
                    length = length & 0x7F | high << 7
                    at += 1
                else:
                    length, at = _read_zigzag(data, at - 1)
            if not length & 1:
                at += length >> 1
            at = _walk_headers(data, at) if data[at] else at + 1
            if at != end:
                return False
            if delta & 1:  # deltas stay doubled while they are not negative: one step less to decode
                delta = -1 - delta
            if delta > max_delta:
                max_delta, index_of_max = delta, index
            if delta < min_delta:
                min_delta = delta
            index += 1
            size, position = end - position, end
            if next_attempt <= index < until:
                self.max_delta, self.min_delta, self.index_of_max = max_delta >> 1, min_delta >> 1, index_of_max
                self.position, self.index = position, index
                next_attempt = self._walk_alike(data, end - size, until, stop)
                position, index = self.position, self.index
                max_delta, min_delta, index_of_max = self.max_delta << 1, self.min_delta << 1, self.index_of_max
        self._next_attempt = next_attempt
        self.max_delta, self.min_delta, self.index_of_max = max_delta >> 1, min_delta >> 1, index_of_max
        self.position, self.index = position, index
        return True

    def _walk_alike(self, data: bytes, template: int, until: int, stop: int) -> int:
        """Take the records that are like the one at template, just walked; return from where on to try that again."""
        before, position = self.index, self.position
        if data[template : template + 2] == data[position : position + 2]:
            self._walk_run(data, position - template, until)
        if _INTERPRETED and self.index - before < _MIN_WORTHWHILE_RUN and self.index < until:
            self._walk_shape(data, template, until, stop)
        if self.index - before >= _MIN_WORTHWHILE_RUN:
            self._wait = _FIRST_WAIT
        elif before > 1:
            self._wait = min(self._wait * 2, 512)
        return self.index + self._wait

    def _walk_shape(self, data: bytes, template: int, until: int, stop: int) -> None:
        """Take the records that differ from template only in the size of their value.

        One unpack brings all fields, and a value's length must be what the record's size leaves for it.
        """
        shape = _shape(data, template)
        if shape is None:
            return
        unpack_from, width, decode_delta, decode_offset, key, overhead = shape
        decode = _DECODED_2
        position, index = self.position, self.index
        max_delta, index_of_max = self.max_delta << 1, self.index_of_max
        min_delta = 0
        limit = len(data)
        stop = min(stop, limit - width + 1)
        last_delta = -1
        while index < until and position < stop:
            size, delta, offset, length, value = unpack_from(data, position)
            size = decode[size]
            end = position + 2
            if size < 0:  # a size of one byte: everything lies one byte nearer
                size, delta, offset, length, value = unpack_from(data, position - 1)
                size = _DECODED_1[size >> 8]
                end = position + 1
            end += size >> 1
            if length != key or decode_offset[offset] != index << 1 or end > limit or data[end - 1]:
                break
            if decode[value] + overhead != size and _DECODED_1[value & 0xFF] + overhead - 2 != size:
                break
            if delta != last_delta:
                last_delta = delta
                delta = decode_delta[delta]
                if delta < 0:
                    if delta == _NO_VARINT:
                        break
                    min_delta = min(min_delta, delta)
                if delta > max_delta:
                    max_delta, index_of_max = delta, index
            index += 1
            position = end
        self.min_delta = min(self.min_delta, min_delta >> 1)
        self.max_delta, self.index_of_max = max_delta >> 1, index_of_max
        self.position, self.index = position, index

    def _walk_run(self, data: bytes, stride: int, until: int) -> None:
        """Take the records that are laid out exactly like the one that was just walked.

        A column is the same byte of each record. If all length fields (sizes of record, key, value and headers)
        equal those of the first record, each record begins where the one before it ends, so that the columns hold
        what they seem to hold.
        """
        first = self.position
        template = first - stride
        count = min(until - self.index, (len(data) - first) // stride)
        if count < 2:
            return
        fixed, delta_at, offset_at, offset_end = _layout(data, template, stride)
        last = (count - 1) * stride + 1
        for at in fixed:
            start = first + at
            column = data[start : start + last : stride]
            byte = data[template + at : template + at + 1]
            if column != byte * count:
                count -= len(column.lstrip(byte))
                if count < 2:
                    return
                last = (count - 1) * stride + 1
        if not _expected_offsets(data, first + offset_at, offset_end - offset_at, self.index, count, last, stride):
            return
        deltas = _largest_delta(data, first + delta_at, offset_at - delta_at, count, last, stride)
        if deltas is None:
            return
        largest, index_of_largest, smallest = deltas
        if largest > self.max_delta:
            self.max_delta = largest
            self.index_of_max = self.index + index_of_largest
        self.min_delta = min(self.min_delta, smallest)
        self.position = first + count * stride
        self.index += count

    def _walk_large(self, stream: DecompressionStream) -> bool:
        """Pass over one large record without holding it; return whether it is well-formed."""
        body, size = stream.read_varint()
        if not 0 <= body <= MAX_RECORD_SIZE:
            return False
        self.size += size + body
        stream.next_byte()  # attributes
        delta, delta_size = stream.read_varlong()
        offset, offset_size = stream.read_varint()
        left = body - 1 - delta_size - offset_size
        key_length, key_size = stream.skip_nullable(left)
        if key_length < 0:
            self.has_null_key = True
        left -= key_size
        left -= stream.skip_nullable(left)[1]
        headers, size = stream.read_varint()
        if headers < 0:
            return False
        left -= size
        for _ in range(headers):
            length, size = stream.skip_nullable(left)
            if length < 0:
                return False
            left -= size
            left -= stream.skip_nullable(left)[1]
        if left:
            return False
        if offset != self.index:
            self.sequential = False
        if delta > self.max_delta:
            self.max_delta = delta
            self.index_of_max = self.index
        self.min_delta = min(self.min_delta, delta)
        self.index += 1
        return True


def _gather(stream: DecompressionStream, data: bytes) -> tuple[bytes, bool]:
    """Return data with what the stream has next behind it, and whether that was all."""
    pieces = [data] if data else []
    missing = _BYTES_PER_WALK
    while missing > 0:
        chunk = stream.next_chunk()
        if not chunk:
            break
        pieces.append(chunk)
        missing -= len(chunk)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), missing > 0


def walk_only_record(batch: memoryview) -> bool | None:
    """Walk the only record of an uncompressed batch; return whether it has a key, None if it is unusual in any way.

    Usual are both deltas 0, no headers, a key of up to 63 bytes, all of it up to 8 KB: most requests of a producer
    that does not wait for more records. RecordWalk is there for the others.
    """
    size = len(batch)
    if size < _SMALLEST_BATCH:
        return None
    length, high, delta, offset, key, last = _START_OF_RECORD(batch, 61)
    at = 66
    if length > 0x7F:  # a size of two bytes: everything lies one byte further on
        if high > 0x7F:
            return None
        length = length & 0x7F | high << 7
        delta, offset, key = offset, key, last
        at = 67
    if length & 1 or at - 4 + (length >> 1) != size or delta or offset or key > 0x7F or batch[size - 1]:
        return None
    if not key & 1:
        at += key >> 1
    if at >= size - 1:
        return None
    value = batch[at]
    at += 1
    if value > 0x7F:
        high = batch[at]
        if high > 0x7F:
            return None
        value = value & 0x7F | high << 7
        at += 1
    if not value & 1:
        at += value >> 1
    return not key & 1 if at == size - 1 else None


def _walk_headers(data: bytes, at: int) -> int:
    """Return where the headers end that begin at their count; ValueError if they are malformed."""
    count, at = _read_zigzag(data, at)
    if count & 1:
        raise ValueError("negative number of headers")
    for _ in range(count >> 1):
        length = data[at]
        at += 1
        if length > 0x7F:
            length, at = _read_zigzag(data, at - 1)
        if length & 1:
            raise ValueError("null header key")
        at += length >> 1
        length = data[at]
        at += 1
        if length > 0x7F:
            length, at = _read_zigzag(data, at - 1)
        if not length & 1:
            at += length >> 1
    return at


_Unpack = Callable[[bytes, int], tuple[int, int, int, int, int]]


def _shape(data: bytes, start: int) -> tuple[_Unpack, int, list[int], list[int], int, int] | None:
    """Say how to unpack records like the one at start whatever the size of their value.

    Returns the function that brings size, deltas of timestamp and offset, key length and value length, the bytes it
    needs, the tables that decode the two deltas, the key length byte, and twice the bytes of a record's body besides
    the value if the value has a length of two bytes. None for headers, long keys and large deltas.
    """
    _, body = _read_varint(data, start)
    _, at = _read_varlong(data, body + 1)
    delta_width = at - body - 1
    _, offset_end = _read_varint(data, at)
    offset_width = offset_end - at
    key = data[offset_end]
    key_size = 0 if key & 1 else key >> 1
    at = offset_end + 1 + key_size
    length, at = _read_varint(data, at)
    if delta_width > 2 or offset_width > 2 or key > 0x7F or length < 0 or data[at + length]:
        return None
    unpack = _unpack_of(delta_width, offset_width, key_size)
    return (
        unpack.unpack_from,
        unpack.size,
        _DELTAS_1 if delta_width == 1 else _DECODED_2,
        _DECODED_1 if offset_width == 1 else _DECODED_2,
        key,
        2 * (3 + delta_width + offset_width + key_size + 2),
    )


@cache
def _unpack_of(delta_width: int, offset_width: int, key_size: int) -> struct.Struct:
    widths = (" ", "B", "H")
    return struct.Struct(f"<Hx{widths[delta_width]}{widths[offset_width]}B{key_size}xH")


def _layout(data: bytes, start: int, stride: int) -> tuple[list[int], int, int, int]:
    """Take a well-formed record apart: the places of its length fields, where timestamp and offset delta begin and
    where the latter ends, all counted from the start of the record.
    """
    body = 1 if data[start] < 0x80 else 2
    delta_at = body + 1
    offset_at = delta_at + 1 if data[start + delta_at] < 0x80 else delta_at + 2
    offset_end = offset_at + 1 if data[start + offset_at] < 0x80 else offset_at + 2
    if (data[start + body - 1] | data[start + offset_at - 1] | data[start + offset_end - 1]) > 0x7F:
        return _full_layout(data, start)  # a field is longer than two bytes
    plain = _plain_layout(stride, body, offset_at, offset_end, data[start + offset_end])
    if plain is not None:
        value_at, value_length, layout = plain
        if data[start + value_at : start + value_at + len(value_length)] == value_length:
            return layout
    return _full_layout(data, start)


@lru_cache(maxsize=4096)
def _plain_layout(
    stride: int, body: int, offset_at: int, offset_end: int, key: int
) -> tuple[int, bytes, tuple[list[int], int, int, int]] | None:
    """Return the layout of a record without headers, with the place and the bytes that its value length then has.

    None if it cannot be one, seen from the first bytes of its fields.
    """
    value_at = offset_end + 1 + (0 if key & 1 else key >> 1)
    for width in (1, 2, 3):
        length = bytearray()
        ByteUtils.write_varint(max(0, stride - value_at - width - 1), length)
        if len(length) == width and value_at + width < stride and key < 0x80:
            fixed = [*range(body), offset_end, *range(value_at, value_at + width), stride - 1]
            return value_at, bytes(length), (fixed, body + 1, offset_at, offset_end)
    return None


def _full_layout(data: bytes, start: int) -> tuple[list[int], int, int, int]:
    _, at = _read_varint(data, start)
    fixed = list(range(at - start))
    delta_at = at + 1 - start
    _, at = _read_varlong(data, at + 1)
    offset_at = at - start
    _, at = _read_varint(data, at)
    offset_end = at - start
    at = _length_fields(data, start, at, 2, fixed)
    headers, after = _read_varint(data, at)
    fixed.extend(range(at - start, after - start))
    _length_fields(data, start, after, 2 * headers, fixed)
    return fixed, delta_at, offset_at, offset_end


def _length_fields(data: bytes, start: int, at: int, count: int, fixed: list[int]) -> int:
    """Note the places of `count` length fields, with what they measure in between; return where that ends."""
    for _ in range(count):
        length, after = _read_varint(data, at)
        fixed.extend(range(at - start, after - start))
        at = after + max(0, length)
    return at


def _expected_offsets(data: bytes, start: int, width: int, index: int, count: int, span: int, stride: int) -> bool:
    """Compare the columns of the offset deltas with those of index, index + 1 ..."""
    high = data[start + width - 1 : start + width - 1 + span : stride]
    end = index + count
    if width == 1:
        return high == _OFFSETS_1[index:end]
    low = data[start : start + span : stride]
    if width == 2:
        return high == _OFFSETS_2_HIGH[index:end] and low == _LOW[index:end]
    if width == 3:
        middle = data[start + 1 : start + 1 + span : stride]
        return high == _OFFSETS_3_HIGH[index:end] and low == _LOW[index:end] and middle == _MIDDLE[index:end]
    return False


def _largest_delta(
    data: bytes, start: int, width: int, count: int, span: int, stride: int
) -> tuple[int, int, int] | None:
    """Return the largest timestamp delta, its first place, and a lower bound of all.

    None if a delta has more than two bytes, two and is negative, or is no varint of this width.
    """
    low = data[start : start + span : stride]
    if width == 1 and low == low[:1] * count:
        value = _DELTAS_1[low[0]]
        return None if value == _NO_VARINT else (value >> 1, 0, value >> 1)
    negative = 1 in low.translate(_ODD)
    if width == 1:
        if not low.isascii():
            return None
        # Timestamps mostly rise: then the last one is the largest, which a deletion in C confirms.
        ranks = low.translate(_RANKS)
        last = ranks[-1]
        largest = max(ranks) if ranks.translate(None, _UP_TO[last]) else last
        return largest - 64, ranks.index(largest), min(ranks) - 64 if negative else 0
    high = data[start + 1 : start + 1 + span : stride]
    if width > 2 or negative or not high.isascii() or low.translate(None, _HIGH_BYTES):
        return None
    pairs = bytearray(2 * count)
    pairs[::2] = low
    pairs[1::2] = high
    values = struct.unpack(f"<{count}H", pairs)
    largest = max(values)
    return (largest >> 8 << 7 | largest & 0x7F) >> 1, values.index(largest), 0


# From which record on others like it are looked for, and how long not again when there were few. Compiled, a look costs
# as much as a hundred records, and records that differ in size never pay.
_INTERPRETED = isinstance(_gather, FunctionType)
_FIRST_ATTEMPT = 0 if _INTERPRETED else 256
_FIRST_WAIT = 1 if _INTERPRETED else 256
