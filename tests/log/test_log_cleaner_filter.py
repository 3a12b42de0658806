"""BatchFilter does what MemoryRecords.filter_to does, byte for byte."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kafka_py.common.errors import CorruptRecordException, InvalidRecordException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.buffer_supplier import BufferSupplier
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import HEADER, DefaultRecordBatch
from kafka_py.common.record.memory_records import BatchRetention, MemoryRecords, RecordFilter
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.log.batch_filter import BatchFilter, FilteredBatches
from kafka_py.log.offset_map import OffsetMap, SkimpyOffsetMap
from kafka_py.log.record_keys import SplitRecords, batches_of, index_keys
from tests.log.cleaner_support import TP, FakeOffsetMap, key

HUGE = 10**9


def random_batch(rng: random.Random, base_offset: int) -> tuple[bytes, int]:
    """A batch of some format and codec, and how many records it has."""
    count = rng.choice([1, 2, 3, 10, 60])
    magic = rng.choice([2, 2, 2, 2, 1, 0])
    first_timestamp = rng.choice([-1, 0, 1000, 1_500_000_000_000])
    records = []
    for _ in range(count):
        timestamp = first_timestamp
        if first_timestamp >= 0 and rng.random() < 0.5:
            timestamp += rng.randrange(-500 if first_timestamp > 500 else 0, 20000)
        records.append(
            SimpleRecord(
                -1 if magic == 0 else timestamp,
                None if rng.random() < 0.05 else b"k%d" % rng.randrange(60) * rng.choice([1, 1, 1, 40]),
                None if rng.random() < 0.1 else b"v" * rng.choice([0, 1, 10, 100, 1000]),
                (RecordHeader("h", b"x"), RecordHeader("hh", None)) if magic == 2 and rng.random() < 0.2 else (),
            )
        )
    options: dict[str, Any] = {}
    codecs = [CompressionType.NONE] * 3 + [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]
    if magic == 2:
        options["partition_leader_epoch"] = 3
        codecs.append(CompressionType.ZSTD)
        if rng.random() < 0.4:
            options.update(producer_id=rng.randrange(3), producer_epoch=0, base_sequence=rng.randrange(100))
    if magic > 0 and rng.random() < 0.2:
        options["timestamp_type"] = TimestampType.LOG_APPEND_TIME
    batch = MemoryRecords.with_records(
        *records, magic=magic, initial_offset=base_offset, compression_type=rng.choice(codecs), **options
    )
    return bytes(batch.buffer), count


class Decisions:
    """What the cleaner decides, for both ways."""

    def __init__(self, offset_map: OffsetMap, retain_deletes: bool, active: dict[int, int]) -> None:
        self.map, self.retain_deletes, self.active, self.invalid = offset_map, retain_deletes, active, 0

    def retain_record(self, _: RecordBatch, record: Record) -> bool:
        k = record.key()
        if record.offset() > self.map.latest_offset:
            return True
        if k is None:
            self.invalid_message()
            return False
        return record.offset() >= self.map.get(bytes(k)) and (self.retain_deletes or record.has_value())

    def invalid_message(self) -> None:
        self.invalid += 1

    def filter(self, data: bytes, max_batch: int = HUGE) -> FilteredBatches:
        return BatchFilter(
            TP,
            self.map,
            self.retain_deletes,
            max_batch,
            self.active,
            lambda _: False,
            self.retain_record,
            self.invalid_message,
            BufferSupplier.create(),
        ).filter(data)


class PlainFilter(RecordFilter):
    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    def check_batch_retention(self, batch: RecordBatch) -> BatchRetention:
        active = self._decisions.active
        if batch.has_producer_id() and active.get(batch.producer_id()) == batch.last_offset():
            return BatchRetention.RETAIN_EMPTY
        return BatchRetention.DELETE_EMPTY

    def should_retain_record(self, record_batch: RecordBatch, record: Record) -> bool:
        return self._decisions.retain_record(record_batch, record)


@pytest.mark.parametrize("seed", range(30))
def test_same_bytes_as_filter_to(seed: int) -> None:
    rng = random.Random(seed)
    offset = rng.randrange(1000)
    parts = []
    for _ in range(rng.choice([1, 5, 12])):
        data, count = random_batch(rng, offset)
        parts.append(data)
        offset += count + rng.choice([0, 0, 3])
    whole = b"".join(parts)
    offset_map = SkimpyOffsetMap(24 * 500)
    active = {pid: rng.randrange(1000) for pid in range(3)}
    for batch in MemoryRecords(whole).batches():
        for record in batch:
            k = record.key()
            if k is not None and rng.random() < 0.8:
                offset_map.put(bytes(k), record.offset() + rng.choice([0, 0, 1, 5]))
        if batch.has_producer_id() and rng.random() < 0.5:
            active[batch.producer_id()] = batch.last_offset()
    offset_map.update_latest_offset(rng.choice([offset, offset - 2, offset // 2]))
    plain, fast = (Decisions(offset_map, seed % 2 == 0, active) for _ in range(2))
    # a partial batch at the end is left for the next turn
    data = whole + random_batch(rng, offset)[0][:-1] if rng.random() < 0.5 else whole
    expected = MemoryRecords(data).filter_to(TP, PlainFilter(plain), HUGE, HUGE)
    result = fast.filter(data)
    assert b"".join(batch.data for batch in result.retained) == bytes(expected.output)
    assert (result.bytes_read, result.messages_read) == (len(whole), expected.messages_read)
    assert sum(batch.messages for batch in result.retained) == expected.messages_retained
    assert fast.invalid == plain.invalid
    for batch, kept in zip(MemoryRecords(expected.output).batches(), result.retained, strict=False):
        assert kept.base_offset <= batch.last_offset()
    if result.retained:
        assert max(b.max_timestamp for b in result.retained) >= expected.max_timestamp


def batch_of(*keys: int, **options: Any) -> bytes:
    return bytes(MemoryRecords.with_records(*(SimpleRecord(1, key(k), b"v") for k in keys), **options).buffer)


def test_a_batch_that_grows_is_kept_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(1)
    values = [rng.randbytes(40) for _ in range(50)]
    records = [SimpleRecord(10**6 * (i % 2), key(i), value) for i, value in enumerate(values)]
    batch = bytes(MemoryRecords.with_records(*records).buffer)
    offset_map = FakeOffsetMap(100)
    offset_map.put(key(0), 50)
    offset_map.put(key(1), 51)
    # without the first two records all deltas take three bytes more or less
    result = Decisions(offset_map, True, {}).filter(batch, max_batch=10)
    assert [b.messages for b in result.retained] == [48]
    assert not caplog.records, "it became smaller"
    first = SimpleRecord(10**9, key(0), b"")
    records = [SimpleRecord(10**9, key(i + 1), b"") for i in range(200)]
    batch = bytes(MemoryRecords.with_records(first, SimpleRecord(0, key(201), b""), *records).buffer)
    offset_map = FakeOffsetMap(100)
    offset_map.put(key(0), 500)
    result = Decisions(offset_map, True, {}).filter(batch, max_batch=10)
    assert len(result.retained[0].data) > len(batch)
    assert "exceeded max record batch size 10 after cleaning" in caplog.text


def test_batches_of_a_damaged_file() -> None:
    good = batch_of(1, 2)
    assert [(s, e) for s, e, _ in batches_of(good + good[:40])] == [(0, len(good))]
    header = list(HEADER.unpack_from(good))
    for field, value, message in ((1, 10, "Record size 10"), (1, 48, "Record size 48"), (3, 3, "Invalid magic")):
        changed = [*header[:field], value, *header[field + 1 :]]
        with pytest.raises(CorruptRecordException, match=message):
            list(batches_of(HEADER.pack(*changed) + good[61:]))


def test_records_that_are_not_well_formed() -> None:
    data = bytearray(batch_of(1, 22, 333))
    header = HEADER.unpack_from(data)
    for position, value in ((61, 0x7E), (65, 0x7E), (data.index(b"333") - 1, 0x70)):
        damaged = bytearray(data)
        damaged[position] = value
        with pytest.raises(InvalidRecordException):
            SplitRecords().add(bytes(damaged), 61, header, len(damaged))
    keys: list[bytes] = []
    with pytest.raises(InvalidRecordException):
        index_keys(bytes(data[:66]), 61, header, keys, [])
    with pytest.raises(InvalidRecordException, match="records still remaining"):
        SplitRecords().add(bytes(data) + b"\0", 61, header, len(data) + 1)


def test_large_batches_are_walked_in_turns() -> None:
    count = 5000
    records = [
        SimpleRecord(i * 3, None if i % 100 == 99 else key(i), None if i % 7 == 0 else b"v") for i in range(count)
    ]
    data = bytes(MemoryRecords.with_records(*records, initial_offset=10).buffer)
    header = HEADER.unpack_from(data)
    split = SplitRecords()
    split.add(data, 61, header, len(data))
    assert split.offsets == list(range(10, 10 + count))
    assert split.keyless == list(range(99, count, 100))
    assert split.tombstones == [i for i in range(0, count, 7) if i % 100 != 99]
    assert [d >> 1 for d in split.deltas] == [3 * i for i in range(count)]
    assert split.ends[-1] == len(data)
    keys: list[bytes] = []
    offsets: list[int] = []
    index_keys(data, 61, header, keys, offsets)
    assert keys == [k for k in split.keys if k]
    assert offsets == [10 + i for i in range(count) if i % 100 != 99]
    assert DefaultRecordBatch(data).is_valid()
