"""The keys of the records of a magic 2 batch, without making an object of each record.

Ours: Kafka iterates DefaultRecord objects, which cost 1,000 ns a record here; these loops about 300.

Read next: batch_filter.py and cleaner.py, which use it; common/record/default_record.py for the layout of a record
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import CorruptRecordException, InvalidRecordException, KafkaException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import ATTRIBUTES, BASE_OFFSET, HEADER, LENGTH, MAGIC, RECORDS_COUNT
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.utils.yield_gil import yield_gil

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.default_record_batch import BatchHeader

_read_zigzag = ByteUtils.read_unsigned_varint  # without the last step: odd means negative
_read_varlong = ByteUtils.read_varlong

_MIN_SIZE = 14  # RECORD_OVERHEAD_V0
_HEADER_SIZE = 61
_MAGIC_AT = 16
_NULL_LENGTH = 1  # the varint of -1

# Records between two moments at which other threads get the GIL: about a millisecond.
_RECORDS_PER_TURN = 2048


def batches_of(data: bytes) -> Iterator[tuple[int, int, BatchHeader | None]]:
    """Start, end and header fields of each whole batch; without fields for the formats before magic 2.

    CorruptRecordException for an impossible size or magic.
    """
    unpack_from = HEADER.unpack_from
    position = 0
    limit = len(data)
    while limit - position > _MAGIC_AT:
        if limit - position < _HEADER_SIZE:  # what is left may still be a short message of an older format
            header = unpack_from(data[position:].ljust(_HEADER_SIZE, b"\0"))
        else:
            header = unpack_from(data, position)
        size = header[LENGTH]
        end = position + LOG_OVERHEAD + size
        magic = header[MAGIC]
        if size < _MIN_SIZE or (magic == 2 and size < _HEADER_SIZE - LOG_OVERHEAD):
            raise CorruptRecordException(f"Record size {size} is less than the minimum record overhead")
        if end > limit:
            return
        if magic > 2:
            raise CorruptRecordException(f"Invalid magic found in record: {magic}")
        yield position, end, header if magic == 2 else None
        position = end


def records_data(data: bytes, start: int, end: int, header: BatchHeader, supplier: BufferSupplier) -> tuple[bytes, int]:
    """Where the records of a batch are: in which bytes, and from where on; decompressed if need be.

    The records end with those bytes, or with the batch. KafkaException if they cannot be decompressed.
    """
    codec = header[ATTRIBUTES] & 7
    if not codec:
        return data, start + _HEADER_SIZE
    view = memoryview(data)[start + _HEADER_SIZE : end]
    try:
        stream = CompressionType.for_id(codec).wrap_for_input(view, 2, supplier)
        chunks = []
        while chunk := stream.next_chunk():
            chunks.append(chunk)
        stream.close()
    except (OSError, EOFError, ValueError) as e:  # must not be taken for an error of the disk
        raise KafkaException("Failed to decompress record stream") from e
    return b"".join(chunks), 0


def index_keys(data: bytes, position: int, header: BatchHeader, keys: list[bytes], offsets: list[int]) -> None:
    """Append key and offset of each record that has a key.

    InvalidRecordException if the records are not well-formed.
    """
    base_offset, count = header[BASE_OFFSET], header[RECORDS_COUNT]
    try:
        while count > _RECORDS_PER_TURN:
            position = _index_turn(data, position, _RECORDS_PER_TURN, base_offset, keys, offsets)
            count -= _RECORDS_PER_TURN
            yield_gil()
        _index_turn(data, position, count, base_offset, keys, offsets)
    except (IndexError, ValueError) as e:
        raise InvalidRecordException("Found invalid record structure") from e


def _index_turn(data: bytes, at: int, count: int, base_offset: int, keys: list[bytes], offsets: list[int]) -> int:
    add_key, add_offset = keys.append, offsets.append
    for _ in range(count):
        size = data[at]
        at += 1
        if size > 0x7F:
            if (high := data[at]) < 0x80:
                size = size & 0x7F | high << 7
                at += 1
            else:
                size, at = _read_zigzag(data, at - 1)
        end = at + (size >> 1)
        at += 1
        while data[at] > 0x7F:  # the timestamp delta
            at += 1
        delta = data[at + 1]
        at += 2
        if delta > 0x7F:
            if (high := data[at]) < 0x80:
                delta = delta & 0x7F | high << 7
                at += 1
            else:
                delta, at = _read_zigzag(data, at - 1)
        length = data[at]
        at += 1
        if length > 0x7F:
            length, at = _read_zigzag(data, at - 1)
        if not length & 1:
            stop = at + (length >> 1)
            if stop >= end:
                raise ValueError("key exceeds the record")
            add_key(data[at:stop])
            add_offset(base_offset + (delta >> 1))
        at = end
    return at


class SplitRecords:
    """The records of several batches in columns, one entry for each record.

    keys: empty for a record without one; offsets; ends: where the record ends in its bytes; deltas: of its timestamp,
    still zig-zag encoded. keyless, tombstones: the numbers of the records without key, and with key but without value.

    Thread: cleaner.
    """

    __slots__ = ("deltas", "ends", "keyless", "keys", "offsets", "tombstones")

    def __init__(self) -> None:
        self.keys: list[bytes] = []  # thread: cleaner
        self.offsets: list[int] = []  # thread: cleaner
        self.ends: list[int] = []  # thread: cleaner
        self.deltas: list[int] = []  # thread: cleaner
        self.keyless: list[int] = []  # thread: cleaner
        self.tombstones: list[int] = []  # thread: cleaner

    def add(self, data: bytes, position: int, header: BatchHeader, limit: int) -> None:
        """Append the records of a batch, which must end at limit; InvalidRecordException unless well-formed."""
        base_offset, count = header[BASE_OFFSET], header[RECORDS_COUNT]
        try:
            while count > _RECORDS_PER_TURN:
                position = self._add_turn(data, position, _RECORDS_PER_TURN, base_offset)
                count -= _RECORDS_PER_TURN
                yield_gil()
            position = self._add_turn(data, position, count, base_offset)
        except (IndexError, ValueError) as e:
            raise InvalidRecordException("Found invalid record structure") from e
        if position != limit:
            raise InvalidRecordException("Incorrect declared batch size, records still remaining in file")

    def _add_turn(self, data: bytes, at: int, count: int, base_offset: int) -> int:  # inlined: 2x
        add_key, add_offset, add_end, add_delta = (
            self.keys.append,
            self.offsets.append,
            self.ends.append,
            self.deltas.append,
        )
        for _ in range(count):
            size = data[at]
            at += 1
            if size > 0x7F:
                if (high := data[at]) < 0x80:
                    size = size & 0x7F | high << 7
                    at += 1
                else:
                    size, at = _read_zigzag(data, at - 1)
            end = at + (size >> 1)
            delta = data[at + 1]
            at += 2
            if delta > 0x7F:
                if (high := data[at]) < 0x80:
                    delta = delta & 0x7F | high << 7
                    at += 1
                else:
                    value, at = _read_varlong(data, at - 1)
                    delta = value << 1 if value >= 0 else (-value << 1) - 1
            offset = data[at]
            at += 1
            if offset > 0x7F:
                if (high := data[at]) < 0x80:
                    offset = offset & 0x7F | high << 7
                    at += 1
                else:
                    offset, at = _read_zigzag(data, at - 1)
            length = data[at]
            at += 1
            if length > 0x7F:
                length, at = _read_zigzag(data, at - 1)
            if length & 1:
                self.keyless.append(len(self.keys))
                add_key(b"")
            else:
                stop = at + (length >> 1)
                if stop >= end:
                    raise ValueError("key exceeds the record")
                add_key(data[at:stop])
                if data[stop] == _NULL_LENGTH:
                    self.tombstones.append(len(self.keys) - 1)
            add_offset(base_offset + (offset >> 1))
            add_end(end)
            add_delta(delta)
            at = end
        return at
