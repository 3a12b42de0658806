"""The walk says "fine" exactly where iterating Record objects does, and finds the same things."""

from __future__ import annotations

import random
import struct

import pytest

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record import record_walker
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.decompression_stream import DecompressionStream
from kafka_py.common.record.default_record import DefaultRecord
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_walker import RecordWalk, walk_only_record
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

Fields = tuple[bytes | None, bytes | None, tuple[RecordHeader, ...], int]


def shapes(rnd: random.Random, kind: int, count: int) -> list[Fields]:
    """Records of one kind: equal, varying, keyed, with headers, with all sorts of timestamps."""
    header = (RecordHeader("trace", b"0123456789"),)
    made: list[Fields] = []
    for i in range(count):
        size = (93, rnd.randrange(150), rnd.randrange(40, 80), 300, rnd.choice((60, 61)), 0)[kind % 6]
        key = (None, b"key", b"k" * rnd.randrange(90), b"")[kind // 6 % 4]
        headers = ((), header, header * rnd.randrange(3))[kind // 24 % 3]
        delta = (0, i, i // 5, rnd.randrange(-60, 64), i * 40, rnd.randrange(1 << 40))[
            rnd.randrange(6) if kind % 5 == 4 else kind % 5
        ]
        made.append((key, None if size == 0 and i % 2 else rnd.randbytes(size), headers, 1_000_000 + delta))
    return made


def batch_of(fields: list[Fields], codec: CompressionType = CompressionType.NONE) -> DefaultRecordBatch:
    builder = MemoryRecords.builder(0, compression_type=codec)
    for key, value, headers, timestamp in fields:
        builder.append(timestamp, key, value, headers)
    return DefaultRecordBatch(builder.build().buffer)


def walk_of(batch: DefaultRecordBatch) -> RecordWalk | None:
    """Walk as LogValidator does; None for "not fine"."""
    walk = RecordWalk(batch.count_or_null())
    if batch.is_compressed():
        try:
            stream = batch.compression_type().wrap_for_input(batch.buffer[61:], 2)
        except KafkaException:
            return None
        fine = walk.walk_stream(stream)
        stream.close()
    else:
        fine = walk.walk_all(bytes(batch.buffer), 61)
    return walk if fine else None


def check_against_objects(batch: DefaultRecordBatch) -> bool:
    """Assert that walking and iterating agree; return whether the batch is well-formed."""
    walk = walk_of(batch)
    try:
        records = list(batch)
    except (CorruptRecordException, KafkaException, ValueError):
        assert walk is None
        return False
    if walk is None:
        return True  # allowed: the objects then decide; the callers count how often
    timestamps = [record.timestamp() for record in records]
    largest = max(timestamps)
    assert walk.index == len(records)
    assert batch.first_timestamp() + walk.max_delta == largest
    assert walk.index_of_max == timestamps.index(largest)
    assert batch.first_timestamp() + walk.min_delta <= min(timestamps)
    base = batch.base_offset()
    assert walk.sequential is ([r.offset() - base for r in records] == list(range(len(records))))
    assert walk.has_null_key is any(not r.has_key() for r in records)
    return True


@pytest.mark.parametrize("kind", range(72))
def test_walk_equals_iteration(kind: int) -> None:
    rnd = random.Random(kind)
    for count in (1, 2, 3, 70, 150):
        batch = batch_of(shapes(rnd, kind, count))
        assert walk_of(batch) is not None
        assert check_against_objects(batch)


@pytest.mark.parametrize("codec", CompressionType.values()[1:])
def test_compressed_walk_equals_iteration(codec: CompressionType) -> None:
    rnd = random.Random(3)
    for kind in range(0, 72, 5):
        fields = shapes(rnd, kind, 120)
        batch = batch_of(fields, codec)
        walk = walk_of(batch)
        assert walk is not None
        assert check_against_objects(batch)
        assert walk.size == len(batch_of(fields).buffer) - 61


def test_offset_deltas_of_three_bytes() -> None:
    for size in (0, 70):
        fields: list[Fields] = [(None, b"v" * size, (), i) for i in range(9000)]
        batch = batch_of(fields)
        walk = walk_of(batch)
        assert walk is not None
        assert walk.sequential
        assert (walk.index, walk.index_of_max, walk.max_delta) == (9000, 8999, 8999)


def raw_batch(deltas: list[int], value: bytes = b"v" * 80) -> DefaultRecordBatch:
    """A batch with these offset deltas."""
    batch = batch_of([(None, value, (), 0)])
    body = bytearray()
    for delta in deltas:
        DefaultRecord.write_to(body, delta, 0, None, value, ())
    out = bytearray(batch.buffer[:61]) + body
    struct.pack_into(">i", out, 8, len(out) - 12)
    struct.pack_into(">i", out, 57, len(deltas))
    return DefaultRecordBatch(out)


@pytest.mark.parametrize("place", [0, 1, 2, 10, 63, 64, 65, 99])
def test_wrong_offset_deltas_are_well_formed_but_not_sequential(place: int) -> None:
    deltas = list(range(100))
    deltas[place] += 1
    batch = raw_batch(deltas)
    walk = walk_of(batch)
    assert walk is not None
    assert not walk.sequential
    assert check_against_objects(batch)


@pytest.mark.parametrize("place", range(0, 100, 9))
def test_one_bad_record_in_a_run_is_found(place: int) -> None:
    """Every length field of a record in the middle of equal ones, changed by one."""
    batch = raw_batch(list(range(100)))
    starts = [61]
    for i in range(100):
        starts.append(starts[-1] + (89 if i < 64 else 90))
    assert starts[-1] == len(batch.buffer)
    start, end = starts[place], starts[place + 1]
    offset_width = 1 if place < 64 else 2
    key_at = start + 4 + offset_width
    for at in (start, start + 1, key_at, key_at + 1, key_at + 2, end - 1):
        damaged = bytearray(batch.buffer)
        damaged[at] ^= 2 if at != key_at else 3  # the null key becomes one of a byte
        assert not check_against_objects(DefaultRecordBatch(damaged))


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize("seed", range(6))
def test_mutated_batches(codec: CompressionType, seed: int) -> None:
    """Seeded fuzz: the walk agrees with the objects, which raise nothing but their documented errors."""
    rnd = random.Random(seed)
    sources = [batch_of(shapes(rnd, kind, 30)) for kind in range(seed, 72, 6)]
    outcomes = [0, 0]
    for _ in range(150):
        data = bytearray(rnd.choice(sources).buffer)
        for _ in range(rnd.randrange(1, 3)):
            change = rnd.randrange(4)
            at = rnd.randrange(57, len(data))
            if change == 0:
                data[at] = rnd.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rnd.randrange(256)))
            elif change == 1:
                del data[at : at + rnd.randrange(1, 4)]
            elif change == 2:
                data[at:at] = rnd.randbytes(rnd.randrange(1, 4))
            else:
                data[57:61] = rnd.randrange(-1, 64).to_bytes(4, "big", signed=True)
        if len(data) <= 61:
            continue
        if codec is not CompressionType.NONE:
            data[61:] = compress(bytes(data[61:]), codec)
            data[22] = codec.id
        outcomes[check_against_objects(DefaultRecordBatch(data))] += 1
    assert min(outcomes) > 5


def compress(data: bytes, codec: CompressionType) -> bytes:
    out = ByteBufferOutputStream()
    stream = codec.wrap_for_output(out, 2)
    stream.write(data)
    stream.close()  # type: ignore[attr-defined]
    return bytes(out.buffer)


def test_mutated_compressed_bytes_and_headers_raise_only_documented_errors() -> None:
    rnd = random.Random(99)
    sources = [
        bytes(batch_of(shapes(rnd, kind, 40), codec).buffer) for kind, codec in enumerate(CompressionType.values() * 2)
    ]
    for _ in range(600):
        data = bytearray(rnd.choice(sources))
        at = rnd.randrange(len(data))
        data[at] ^= 1 << rnd.randrange(8)
        try:
            for batch in MemoryRecords(data).batches():
                batch.is_valid()
                if batch.magic() == 2:
                    assert isinstance(batch, DefaultRecordBatch)
                    if batch.count_or_null() > 0:
                        check_against_objects(batch)
        except (CorruptRecordException, KafkaException, ValueError):
            continue


class Chunks(DecompressionStream):
    """Hands out pieces of a given size."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__()
        self._left = data
        self._size = size

    def next_chunk(self) -> bytes:
        chunk, self._left = self._left[: self._size], self._left[self._size :]
        return chunk


@pytest.mark.parametrize("size", [1, 7, 61, 1000])
@pytest.mark.parametrize("joined", [1, 100, 1 << 18])
def test_chunk_borders_fall_anywhere(size: int, joined: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_walker, "_BYTES_PER_WALK", joined)
    rnd = random.Random(5)
    batch = batch_of(shapes(rnd, 1, 60))
    data = bytes(batch.buffer[61:])
    walk = RecordWalk(60)
    assert walk.walk_stream(Chunks(data, size))
    assert walk.sequential
    assert walk.size == len(data)
    assert not RecordWalk(60).walk_stream(Chunks(data[:-1], size))
    assert not RecordWalk(60).walk_stream(Chunks(data + b"x", size))
    assert not RecordWalk(61).walk_stream(Chunks(data, size))


def test_others_get_the_gil_between_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []
    walk = RecordWalk(60)
    monkeypatch.setattr(record_walker, "yield_gil", lambda: turns.append(walk.index))
    monkeypatch.setattr(record_walker, "_RECORDS_PER_TURN", 20)
    data = bytes(batch_of(shapes(random.Random(5), 1, 60)).buffer[61:])
    assert walk.walk_stream(Chunks(data, 1 << 20))
    assert turns == [20, 40]
    monkeypatch.setattr(record_walker, "_BYTES_PER_WALK", 1)
    monkeypatch.setattr(record_walker, "_BYTES_PER_YIELD", 1000)
    turns.clear()
    walk = RecordWalk(60)
    assert walk.walk_stream(Chunks(data, 500))
    assert len(turns) > 3, "after so many bytes, too"


def test_large_records_are_passed_over() -> None:
    header = (RecordHeader("h", b"v"), RecordHeader("n", None))
    fields: list[Fields] = [
        (b"k", b"small", (), 5),
        (b"k" * 700_000, b"v" * 900_000, header, 9),
        (None, b"v" * 600_000, (), 7),
        (b"k", None, (), 8),
    ]
    batch = batch_of(fields)
    data = bytes(batch.buffer[61:])
    walk = RecordWalk(4)
    assert walk.walk_stream(Chunks(data, 65536))
    assert (walk.index_of_max, walk.max_delta, walk.size) == (1, 4, len(data))
    assert walk.sequential
    assert walk.has_null_key
    for at in (data.index(b"\x00", 20), len(data) - 20):
        damaged = bytearray(data)
        damaged[at + 1] ^= 0x55
        assert not RecordWalk(5).walk_stream(Chunks(bytes(damaged), 65536))


def test_the_only_record_is_walked_as_any_other() -> None:
    """Whatever the short cut accepts, intact or damaged, the walk accepts with the same findings."""
    rnd = random.Random(11)
    accepted = 0
    for kind in range(1200):
        key = (None, b"", b"k" * rnd.randrange(1, 64))[kind % 3]
        value = None if kind % 20 == 7 else rnd.randbytes(rnd.choice((0, 1, 40, 50, 57, 62, 63, 64, 100, 1000)))
        data = bytearray(batch_of([(key, value, (), 1_000_000)]).buffer)
        if kind % 2:
            for _ in range(rnd.randrange(1, 3)):
                data[rnd.randrange(61, min(len(data), 150))] = rnd.randrange(256)
        batch = DefaultRecordBatch(data)
        has_key = walk_only_record(batch.buffer)
        walk = walk_of(batch)
        if has_key is None:
            assert kind % 2, "an ordinary record goes the short way"
            continue
        accepted += 1
        assert walk is not None
        assert walk.has_null_key is not has_key
        assert (walk.max_delta, walk.min_delta, walk.index_of_max, walk.sequential) == (0, 0, 0, True)
    assert accepted > 700


def test_the_only_record_goes_the_long_way_if_it_is_unusual() -> None:
    header = (RecordHeader("h", b"v"),)
    for fields in ((b"k" * 64, b"v", ()), (None, b"v" * 9000, ()), (b"k", b"v", header)):
        batch = batch_of([(fields[0], fields[1], fields[2], 5)])
        assert walk_only_record(batch.buffer) is None
        assert check_against_objects(batch)
    assert walk_only_record(memoryview(bytes(67))) is None
