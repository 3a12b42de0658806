"""The headers of many batches as arrays, and which transactional batches a reader of committed data leaves out.

A file is a row of batches; only where each begins must be found one by one. All their header fields are then gathered
at once. The table of batches (format ``kafka_batches``) is made of this, and the record decoder begins with it.

Ours: Kafka walks batches with LogInputStream, one object for each.
"""

from __future__ import annotations

import dataclasses
import heapq
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import crc32c
import numpy as np
import numpy.typing as npt

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.default_record_batch import DefaultRecordBatch

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.signedinteger]

LOG_OVERHEAD = 12
HEADER_SIZE = 61
CODEC_MASK, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT, CONTROL_BIT = 0x07, 0x08, 0x10, 0x20
UNKNOWN_COUNT = -1
_WALK_FIELDS = struct.Struct(">qiib")  # offset, size, whatever the format has there, magic
_SMALLEST = {0: 26, 1: 34, 2: HEADER_SIZE}  # magic -> bytes of an empty batch, offset and size included
_CRC_COVERS_FROM = {0: 16, 1: 16, 2: 21}

_DEFAULT_HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("first_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
# The timestamp is there from magic 1 on; a message of magic 0 is never shorter than this.
_LEGACY_HEADER = np.dtype(
    [("base_offset", ">i8"), ("length", ">i4"), ("crc", ">u4"), ("magic", "i1"), ("attributes", "i1"), ("time", ">i8")]
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BatchHeaders:
    """One array per header field, one element per batch, in the order of the file.

    Magic 0 and 1 know less: base_offset is the offset in front of the message (of a compressed set: its last), the
    fields of producers and leaders are -1, and count is UNKNOWN_COUNT for a compressed set.
    """

    position: npt.NDArray[np.int64]  # of the batch, in the buffer
    size: npt.NDArray[np.int64]  # bytes, with offset and length field
    base_offset: npt.NDArray[np.int64]
    last_offset_delta: npt.NDArray[np.int32]
    leader_epoch: npt.NDArray[np.int32]
    magic: npt.NDArray[np.int8]
    crc: npt.NDArray[np.int64]  # as stored: 0 … 2^32 - 1
    attributes: npt.NDArray[np.int16]
    first_timestamp: npt.NDArray[np.int64]  # milliseconds
    max_timestamp: npt.NDArray[np.int64]  # milliseconds
    producer_id: npt.NDArray[np.int64]
    producer_epoch: npt.NDArray[np.int16]
    base_sequence: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.position)

    @property
    def last_offset(self) -> npt.NDArray[np.int64]:
        """The offset of each batch's last record (before compaction)."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> npt.NDArray[np.int16]:
        """The id of each batch's compression codec."""
        return self.attributes & CODEC_MASK

    @property
    def is_control(self) -> Bools:
        """Which batches hold transaction markers."""
        control: Bools = np.logical_and(self.attributes & CONTROL_BIT, self.magic == 2)
        return control

    @property
    def is_transactional(self) -> Bools:
        """Which batches are part of a transaction."""
        transactional: Bools = np.logical_and(self.attributes & TRANSACTIONAL_BIT, self.magic == 2)
        return transactional

    def select(self, which: Bools | slice) -> BatchHeaders:
        """Return the headers of some of the batches."""
        return BatchHeaders(*(getattr(self, field.name)[which] for field in dataclasses.fields(self)))

    def crc_valid(self, buffer: memoryview) -> Bools:
        """Return for each batch whether its bytes in buffer have the stored checksum."""
        end = self.position + self.size
        if bool((self.magic == 2).all()):
            crc = crc32c.crc32c
            starts = (self.position + _CRC_COVERS_FROM[2]).tolist()
            crcs = [crc(buffer[start:stop]) for start, stop in zip(starts, end.tolist(), strict=True)]
        else:
            crcs = [
                (crc32c.crc32c if magic == 2 else zlib.crc32)(buffer[position + _CRC_COVERS_FROM[magic] : stop])
                for position, stop, magic in zip(self.position.tolist(), end.tolist(), self.magic.tolist(), strict=True)
            ]
        valid: Bools = np.array(crcs, np.int64) == self.crc
        return valid


def batch_headers(buffer: memoryview, end: int) -> tuple[BatchHeaders, int]:
    """Headers of the whole batches of any magic in buffer[:end], and the position of the first byte behind them.

    Ends at a torn batch and at preallocated zeros. Raises CorruptRecordException for a size that no batch can have and
    for an unknown magic. Nothing else is checked: see crc_valid.
    """
    positions, consumed = _walk(buffer, end)
    edges = np.array([*positions, consumed], np.int64)
    position, size = edges[:-1], edges[1:] - edges[:-1]
    u8 = np.frombuffer(buffer, np.uint8, end)
    magic = u8[position + 16]
    is_default = magic == 2
    if bool(is_default.all()):
        return _default_headers(u8, position, size), consumed
    if not bool(is_default.any()):
        return _legacy_headers(u8, position, size), consumed
    return _merged(u8, position, size, is_default), consumed


def _walk(buffer: memoryview, end: int) -> tuple[list[int], int]:
    positions: list[int] = []
    append = positions.append
    position = 0
    unpack = _WALK_FIELDS.unpack_from
    smallest = _SMALLEST[2]
    while position + _WALK_FIELDS.size <= end:
        offset, length, other, magic = unpack(buffer, position)
        size = length + LOG_OVERHEAD
        if magic != 2 or size < smallest:
            if length == 0 and offset == 0 and other == 0 and magic == 0:
                break  # the zeros of a preallocated file
            if size < _SMALLEST.get(magic, 0):
                raise CorruptRecordException(
                    f"Record batch at offset {offset} is too small: {size} bytes of magic {magic}"
                )
            if magic not in _SMALLEST:
                raise CorruptRecordException(f"Invalid magic {magic} found in the batch at offset {offset}")
        following = position + size
        if following > end:
            break
        append(position)
        position = following
    return positions, position


def _gather(
    u8: npt.NDArray[np.uint8], position: npt.NDArray[np.int64], kind: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    """The header at each position; it must lie within the bytes."""
    everywhere = np.ndarray(max(len(u8) - kind.itemsize + 1, 0), kind, u8.data, 0, (1,))  # overlapping
    return everywhere[position]


def _default_headers(
    u8: npt.NDArray[np.uint8], position: npt.NDArray[np.int64], size: npt.NDArray[np.int64]
) -> BatchHeaders:
    raw = _gather(u8, position, _DEFAULT_HEADER)
    return BatchHeaders(
        position,
        size,
        raw["base_offset"].astype(np.int64),
        raw["last_offset_delta"].astype(np.int32),
        raw["leader_epoch"].astype(np.int32),
        raw["magic"].astype(np.int8),
        raw["crc"].astype(np.int64),
        raw["attributes"].astype(np.int16),
        raw["first_timestamp"].astype(np.int64),
        raw["max_timestamp"].astype(np.int64),
        raw["producer_id"].astype(np.int64),
        raw["producer_epoch"].astype(np.int16),
        raw["base_sequence"].astype(np.int32),
        raw["count"].astype(np.int32),
    )


def _legacy_headers(
    u8: npt.NDArray[np.uint8], position: npt.NDArray[np.int64], size: npt.NDArray[np.int64]
) -> BatchHeaders:
    raw = _gather(u8, position, _LEGACY_HEADER)
    n = len(position)
    attributes = raw["attributes"].astype(np.int16)
    timestamp = np.where(raw["magic"] == 0, -1, raw["time"].astype(np.int64))
    return BatchHeaders(
        position,
        size,
        raw["base_offset"].astype(np.int64),
        np.zeros(n, np.int32),
        np.full(n, -1, np.int32),
        raw["magic"].astype(np.int8),
        raw["crc"].astype(np.int64),
        attributes,
        timestamp,
        timestamp,
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int16),
        np.full(n, -1, np.int32),
        np.where(attributes & CODEC_MASK, UNKNOWN_COUNT, 1).astype(np.int32),
    )


def _merged(
    u8: npt.NDArray[np.uint8], position: npt.NDArray[np.int64], size: npt.NDArray[np.int64], is_default: Bools
) -> BatchHeaders:
    old = _legacy_headers(u8, position[~is_default], size[~is_default])
    new = _default_headers(u8, position[is_default], size[is_default])
    merged = []
    for field in dataclasses.fields(BatchHeaders):
        column = np.empty(len(position), getattr(new, field.name).dtype)
        column[is_default] = getattr(new, field.name)
        column[~is_default] = getattr(old, field.name)
        merged.append(column)
    return BatchHeaders(*merged)


class AbortedFilter(ABC):
    """Knows which transactional batches belong to aborted transactions."""

    @abstractmethod
    def aborted(self, headers: BatchHeaders, buffer: memoryview) -> Bools | None:
        """Which of the batches to leave out, None for none. To be called once per batch, in the order of offsets."""


class AbortedRanges(AbortedFilter):
    """Aborted transactions by (producer id, first offset, offset of the marker), as .txnindex files have them."""

    def __init__(self, transactions: Iterable[tuple[int, int, int]]) -> None:
        rows = np.array(list(transactions), np.int64).reshape(-1, 3)
        self._producer_id, self._first, self._last = rows.T

    def aborted(self, headers: BatchHeaders, buffer: memoryview) -> Bools | None:
        """Which batches lie within an aborted transaction of their producer."""
        if not len(headers):
            return None
        low, high = int(headers.base_offset[0]), int(headers.last_offset[-1])
        near = np.flatnonzero((self._last >= low) & (self._first <= high)).tolist()
        if not near:
            return None
        result = np.zeros(len(headers), np.bool_)
        for at in near:
            inside = (headers.base_offset >= self._first[at]) & (headers.base_offset <= self._last[at])
            result |= inside & (headers.producer_id == self._producer_id[at])
        return result & headers.is_transactional


class AbortedUntilMarkers(AbortedFilter):
    """Aborted transactions by (producer id, first offset), as Fetch responses have them.

    A transaction begins at its first offset and ends with the abort marker that comes by: hence one object serves the
    batches of one response only, in their order.

    Mirrors: org.apache.kafka.clients.consumer.internals.Fetcher.PartitionRecords (its handling of transactions)
    """

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        self._ahead = [(first, producer_id) for producer_id, first in transactions]  # heap by first offset
        heapq.heapify(self._ahead)
        self._producer_ids: set[int] = set()  # whose transaction is open and will be aborted

    def aborted(self, headers: BatchHeaders, buffer: memoryview) -> Bools | None:
        """Which batches lie between the first offset of an aborted transaction and its marker."""
        if not self._ahead and not self._producer_ids:
            return None
        result = np.zeros(len(headers), np.bool_)
        last, producer = headers.last_offset, headers.producer_id
        control = headers.is_control
        for at in np.flatnonzero(headers.is_transactional).tolist():
            while self._ahead and self._ahead[0][0] <= last[at]:
                self._producer_ids.add(heapq.heappop(self._ahead)[1])
            producer_id = int(producer[at])
            if control[at]:
                start = int(headers.position[at])
                if _is_abort_marker(buffer[start : start + int(headers.size[at])]):
                    self._producer_ids.discard(producer_id)
            else:
                result[at] = producer_id in self._producer_ids
        return result


def _is_abort_marker(batch: memoryview) -> bool:
    """Whether the first record of a control batch is an abort; CorruptRecordException if it cannot be told."""
    for record in DefaultRecordBatch(batch):
        key = record.key()
        return key is not None and ControlRecordType.parse(key) is ControlRecordType.ABORT
    return False


def aborted_from_index(transactions: Sequence[tuple[int, int, int]]) -> AbortedFilter | None:
    """The filter for (producer id, first offset, offset of the marker); None, which costs nothing, without any."""
    return AbortedRanges(transactions) if transactions else None


def aborted_from_fetch(transactions: Sequence[tuple[int, int]]) -> AbortedFilter | None:
    """The filter for one Fetch response's (producer id, first offset); None, which costs nothing, without any."""
    return AbortedUntilMarkers(transactions) if transactions else None
