"""Compaction of a piece of a segment, as bytes.

Ours: what `MemoryRecords.filter_to` does, whose result it equals byte for byte (a test compares the two), but without
an object for each record. Batches that lose nothing are copied; the others are put together again from the bytes of
the records that stay.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import compress, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import crc32c

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    CRC,
    FIRST_TIMESTAMP,
    LAST_OFFSET_DELTA,
    MAX_TIMESTAMP,
    PARTITION_LEADER_EPOCH,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORDS_COUNT,
    DefaultRecordBatch,
)
from kafka_py.common.record.memory_records import BatchRetention, MemoryRecords, RecordFilter
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.log.record_keys import SplitRecords, batches_of, records_data
from kafka_py.utils.logging import Logging
from kafka_py.utils.yield_gil import GilYielder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.default_record_batch import BatchHeader
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.log.offset_map import OffsetMap

_crc32c = crc32c.crc32c
_PREFIX = struct.Struct(">qiibI")
_CHECKED_HEADER = struct.Struct(">hiqqqhii")
_CHECKED_FROM = 21

_APPEND_TIME = 0x08
_CONTROL = 0x20
_TRANSACTIONAL_OR_CONTROL = 0x30
_KNOWN_ATTRIBUTES = 0x3F

_NO_PRODUCER_ID = -1
_NO_TIMESTAMP = -1

# Bytes of records that are gathered before their keys are looked up.
_PENDING_BYTES = 4 * 1024 * 1024
_YIELD_US = 1000


class RetainedBatch(NamedTuple):
    """A batch that stays, as bytes, with what a segment notes of it."""

    data: bytes | memoryview
    base_offset: int
    last_offset: int
    max_timestamp: int
    shallow_offset_of_max_timestamp: int
    messages: int


class FilteredBatches(NamedTuple):
    """What a piece of a segment became."""

    retained: list[RetainedBatch]
    messages_read: int
    bytes_read: int


# A batch that waits for the keys of its records to be looked up: start, end, header; in which bytes and where from its
# records lie; the first of their numbers and the one after the last; whether to keep the header when no record is kept.
_PendingBatch: TypeAlias = "tuple[int, int, BatchHeader, bytes, int, int, int, bool]"


class _RecordFilter(RecordFilter):
    """The same decisions for the formats before magic 2, where batches have no producer and no transaction."""

    def __init__(self, retain_record: Callable[[RecordBatch, Record], bool]) -> None:
        self._retain_record = retain_record

    def check_batch_retention(self, batch: RecordBatch) -> BatchRetention:
        """Such a batch stays while it has records."""
        return BatchRetention.DELETE_EMPTY

    def should_retain_record(self, record_batch: RecordBatch, record: Record) -> bool:
        """Ask the cleaner."""
        return self._retain_record(record_batch, record)


class BatchFilter(Logging):
    """Keeps of each batch the records that are the last ones with their key.

    The last batch of an active producer stays even when it is empty, otherwise the producer would later be told that
    its sequence is out of order.

    Thread: cleaner.
    Differs: unlike `filter_to` the checksum is checked before a batch gets a new one, so that damage is not hidden;
        and transaction markers are not looked up in the map, where a record may happen to have such a key. The last
        batch of a producer is known by its offset, as from 2.3 on: offset commits in transactions all have the same
        sequence numbers, so that in 1.1.1 none of them ever goes (KAFKA-8335).
    """

    logger_name = "kafka.log.LogCleaner"

    def __init__(
        self,
        partition: TopicPartition,
        offset_map: OffsetMap,
        retain_deletes: bool,
        max_record_batch_size: int,
        active_producers: Mapping[int, int],
        should_discard_batch: Callable[[RecordBatch], bool],
        should_retain_record: Callable[[RecordBatch, Record], bool],
        invalid_message: Callable[[], None],
        supplier: BufferSupplier,
    ) -> None:
        self._partition = partition
        self._map = offset_map
        self._retain_deletes = retain_deletes
        self._max_record_batch_size = max_record_batch_size
        self._active_producers = active_producers
        self._should_discard_batch = should_discard_batch
        self._record_filter = _RecordFilter(should_retain_record)
        self._invalid_message = invalid_message
        self._supplier = supplier
        self._yielder = GilYielder(_YIELD_US)  # thread: cleaner
        self._data = b""  # thread: cleaner
        self._view = memoryview(b"")  # thread: cleaner
        self._split = SplitRecords()  # thread: cleaner
        # batches that are decided, and those that wait, in the order of the log
        self._waiting: list[RetainedBatch | _PendingBatch] = []  # thread: cleaner
        self._retained: list[RetainedBatch] = []  # thread: cleaner

    def filter(self, data: bytes) -> FilteredBatches:
        """Filter the whole batches at the beginning of data; the caller goes on after `bytes_read`.

        Raises CorruptRecordException, and KafkaException for what cannot be decompressed.
        """
        self._data, self._view = data, memoryview(data)
        self._retained = []
        messages_read = bytes_read = pending_bytes = 0
        for start, end, header in batches_of(data):
            bytes_read = end
            if header is None:
                self._look_up()
                messages_read += self._filter_legacy(start, end)
            else:
                messages, size = self._take(start, end, header)
                messages_read += messages
                pending_bytes += size
                if pending_bytes > _PENDING_BYTES:
                    self._look_up()
                    pending_bytes = 0
            self._yielder.maybe_yield()
        self._look_up()
        return FilteredBatches(self._retained, messages_read, bytes_read)

    def _take(self, start: int, end: int, header: BatchHeader) -> tuple[int, int]:
        """Decide on a batch as a whole, or take its records apart; the messages read, the bytes that wait now."""
        attributes, producer_id, count = header[ATTRIBUTES], header[PRODUCER_ID], header[RECORDS_COUNT]
        control = attributes & _CONTROL
        discard = False
        if attributes & _TRANSACTIONAL_OR_CONTROL:
            discard = self._should_discard_batch(DefaultRecordBatch(self._view[start:end]))
        if control:
            if discard:
                return 0, 0
            self._waiting.append(_as_it_is(self._view[start:end], header))
            return count, 0
        last_offset = header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
        keep_empty = producer_id > _NO_PRODUCER_ID and self._active_producers.get(producer_id) == last_offset
        if discard or count == 0:
            if keep_empty:
                self._waiting.append(_emptied(header))
                return count, 0
            return 0, 0
        records, records_start = records_data(self._data, start, end, header, self._supplier)
        in_place = records is self._data
        split = self._split
        first = len(split.keys)
        split.add(records, records_start, header, end if in_place else len(records))
        self._waiting.append((start, end, header, records, records_start, first, len(split.keys), keep_empty))
        return count, end - start if in_place else len(records)

    def _look_up(self) -> None:
        """Decide on all records that wait."""
        waiting, self._waiting = self._waiting, []
        split, self._split = self._split, SplitRecords()
        if not waiting:
            return
        flags = self._map.have_no_later(split.keys, split.offsets)
        known = bisect_right(split.offsets, self._map.latest_offset)
        if not self._retain_deletes:
            for i in split.tombstones:
                flags[i] = 0
        for i in split.keyless:
            flags[i] = 0
            if i < known:
                self._invalid_message()
        # what the map does not know of stays
        flags[known:] = b"\1" * (len(flags) - known)
        retained = self._retained
        for batch in waiting:
            if isinstance(batch, RetainedBatch):
                retained.append(batch)
                continue
            start, end, header, _, _, first, last, keep_empty = batch
            kept = flags.count(1, first, last)
            if kept == last - first:
                retained.append(_as_it_is(self._view[start:end], header))
            elif kept:
                retained.append(self._rebuild(batch, flags[first:last], kept, split))
                self._yielder.maybe_yield()
            elif keep_empty:
                retained.append(_emptied(header))

    def _rebuild(self, batch: _PendingBatch, flags: bytearray, kept: int, split: SplitRecords) -> RetainedBatch:
        """The batch without some of its records; its offsets, sequence numbers and codec stay."""
        start, end, header, records, records_start, first, last, _ = batch
        if _crc32c(self._view[start + _CHECKED_FROM : end], gil_release_mode=0) != header[CRC]:
            raise CorruptRecordException(
                f"Record batch with base offset {header[BASE_OFFSET]} of {self._partition} is corrupt "
                f"(stored crc = {header[CRC]})"
            )
        starts = [records_start, *split.ends[first : last - 1]]
        ends = split.ends[first:last]
        deltas = [delta >> 1 ^ -(delta & 1) for delta in compress(split.deltas[first:last], flags)]
        new_deltas: Iterable[int]
        if header[ATTRIBUTES] & _APPEND_TIME:
            first_timestamp = max_timestamp = header[MAX_TIMESTAMP]
            unchanged, new_deltas = not any(deltas), repeat(0)
        else:
            # timestamps are told from the first record on, which is another one now
            shift = deltas[0]
            first_timestamp, max_timestamp = header[FIRST_TIMESTAMP] + shift, header[FIRST_TIMESTAMP] + max(deltas)
            unchanged, new_deltas = not shift, (delta - shift for delta in deltas)
        if unchanged:
            parts = _runs(records, starts, ends, flags)
        else:
            parts = _with_deltas(records, compress(starts, flags), compress(ends, flags), new_deltas)
        data = _build(header, kept, first_timestamp, max_timestamp, parts)
        if len(data) > end - start and len(data) > self._max_record_batch_size:
            self.warn(
                "Record batch from %s with last offset %d exceeded max record batch size %d after cleaning (new size "
                "is %d). Consumers with version earlier than 0.10.1.0 may need to increase their fetch sizes.",
                self._partition,
                header[BASE_OFFSET] + header[LAST_OFFSET_DELTA],
                self._max_record_batch_size,
                len(data),
            )
        return _retained(data, header, max_timestamp, kept)

    def _filter_legacy(self, start: int, end: int) -> int:
        records = MemoryRecords(self._view[start:end])
        result = records.filter_to(
            self._partition, self._record_filter, end - start, self._max_record_batch_size, self._supplier
        )
        if result.output:
            first = next(MemoryRecords(result.output).batches())
            self._retained.append(
                RetainedBatch(
                    bytes(result.output),
                    first.base_offset(),
                    result.max_offset,
                    result.max_timestamp,
                    result.shallow_offset_of_max_timestamp,
                    result.messages_retained,
                )
            )
        return result.messages_read


def _retained(data: bytes | memoryview, header: BatchHeader, max_timestamp: int, messages: int) -> RetainedBatch:
    last_offset = header[BASE_OFFSET] + header[LAST_OFFSET_DELTA]
    return RetainedBatch(data, header[BASE_OFFSET], last_offset, max_timestamp, last_offset, messages)


def _as_it_is(data: memoryview, header: BatchHeader) -> RetainedBatch:
    return _retained(data, header, header[MAX_TIMESTAMP], header[RECORDS_COUNT])


def _emptied(header: BatchHeader) -> RetainedBatch:
    """The header alone, without codec."""
    codec_less = (*header[:ATTRIBUTES], header[ATTRIBUTES] & ~7, *header[LAST_OFFSET_DELTA:])
    return _retained(_build(codec_less, 0, _NO_TIMESTAMP, header[MAX_TIMESTAMP], []), header, header[MAX_TIMESTAMP], 0)


def _build(
    header: BatchHeader, count: int, first_timestamp: int, max_timestamp: int, records: list[bytes | memoryview]
) -> bytes:
    """A batch with the header's offsets, epoch, producer and attributes, and these records."""
    codec = header[ATTRIBUTES] & 7
    if codec:
        compressed = ByteBufferOutputStream()
        stream = CompressionType.for_id(codec).wrap_for_output(compressed, 2)
        stream.write(b"".join(records))
        stream.close()  # type: ignore[attr-defined]  # a codec's stream is a Compressor
        records = [bytes(compressed.buffer)]
    checked = _CHECKED_HEADER.pack(
        header[ATTRIBUTES] & _KNOWN_ATTRIBUTES,
        header[LAST_OFFSET_DELTA],
        first_timestamp,
        max_timestamp,
        header[PRODUCER_ID],
        header[PRODUCER_EPOCH],
        header[BASE_SEQUENCE],
        count,
    )
    body = b"".join([checked, *records])
    crc = _crc32c(body, gil_release_mode=0)
    return (
        _PREFIX.pack(
            header[BASE_OFFSET], _CHECKED_FROM - LOG_OVERHEAD + len(body), header[PARTITION_LEADER_EPOCH], 2, crc
        )
        + body
    )


def _runs(data: bytes, starts: list[int], ends: list[int], flags: bytearray) -> list[bytes | memoryview]:
    """The bytes of the flagged records; neighbours in one piece."""
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    first = flags.find(1)
    while first >= 0:
        after = flags.find(0, first)
        if after < 0:
            after = len(flags)
        parts.append(view[starts[first] : ends[after - 1]])
        first = flags.find(1, after)
    return parts


def _with_deltas(
    data: bytes, starts: Iterable[int], ends: Iterable[int], deltas: Iterable[int]
) -> list[bytes | memoryview]:
    """The bytes of the records with other timestamp deltas, and therefore other sizes."""
    parts: list[bytes | memoryview] = []
    write_varint, write_varlong = ByteUtils.write_varint, ByteUtils.write_varlong
    for start, end, delta in zip(starts, ends, deltas, strict=False):
        while data[start] > 0x7F:  # the size
            start += 1
        start += 2  # and the attributes, which nobody uses yet
        while data[start] > 0x7F:  # the old delta
            start += 1
        encoded = bytearray()
        write_varlong(delta, encoded)
        front = bytearray()
        write_varint(1 + len(encoded) + end - start - 1, front)
        front.append(0)
        parts.append(bytes(front + encoded))
        parts.append(data[start + 1 : end])
    return parts
