"""The vectorised decoder gives what a record-by-record reader gives, for every shape of batch."""

from __future__ import annotations

import pathlib
import random
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from kafka_py.common.errors import CorruptRecordException
from kafka_py.spark.arrow_decoder import COLUMNS, RecordBatchDecoder, iter_segment
from kafka_py.spark.batch_headers import HEADER_SIZE, LOG_OVERHEAD, batch_headers

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[bytes | None, bytes | None, int, int, int]  # key, value, offset, timestamp ms, timestampType


def build(base_offset: int, records: list[tuple[int, Any, Any, list[Any]]], codec: int = 0) -> bytes:
    """A batch made by another implementation: (timestamp, key, value, headers) per record."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for i, (timestamp, key, value, headers) in enumerate(records):
        assert builder.append(i, timestamp, key, value, headers) is not None
    data = bytearray(builder.build())
    data[0:8] = base_offset.to_bytes(8, "big")
    return bytes(data)


def expected(data: bytes) -> list[Row]:
    rows: list[Row] = []
    headers, _ = batch_headers(memoryview(data), len(data))
    for position, size in zip(headers.position.tolist(), headers.size.tolist(), strict=True):
        records = DefaultRecordBatch(data[position : position + size])
        rows += [(r.key, r.value, r.offset, r.timestamp, r.timestamp_type) for r in records]
    return rows


def read(path: pathlib.Path, from_offset: int = 0, until: int = 1 << 40, chunk: int = 1 << 16) -> list[Row]:
    decoder = RecordBatchDecoder("t", 3)
    with open(path, "rb", buffering=0) as file:
        tables = list(iter_segment(file, decoder, 0, path.stat().st_size, from_offset, until, chunk))
    return rows_of(tables)


def rows_of_buffer(data: bytes) -> list[Row]:
    """Rows of a buffer that ends with its last batch."""
    tables, consumed = RecordBatchDecoder("t", 3).decode_buffer(memoryview(data), len(data), 0, 1 << 40)
    assert consumed == len(data)
    return rows_of(tables)


def rows_of(tables: list[pa.RecordBatch]) -> list[Row]:
    rows: list[Row] = []
    for table in tables:
        table.validate(full=True)
        assert tuple(table.schema.names) == COLUMNS
        assert set(table.column("topic").to_pylist()) == {"t"}
        assert set(table.column("partition").to_pylist()) == {3}
        stamps = table.column("timestamp").cast("int64").to_pylist()
        for key, value, offset, stamp, kind in zip(
            *(table.column(name).to_pylist() for name in ("key", "value", "offset")),
            stamps,
            table.column("timestampType").to_pylist(),
            strict=True,
        ):
            rows.append((key, value, offset, stamp // 1000, kind))
    return rows


def random_batches(seed: int, count: int) -> bytes:
    rng = random.Random(seed)

    def blob(limit: int) -> bytes | None:
        size = rng.choice([0, 1, 5, 63, 64, 127, rng.randrange(limit)])
        return None if rng.random() < 0.1 else rng.randbytes(size)

    offset, parts = rng.randrange(1000), []
    for _ in range(count):
        base = rng.randrange(1 << 41)
        records = [
            (
                base + rng.choice([0, 3, 200, -70, 1 << 33]) * (i > 0),
                blob(300),
                blob(9000),
                [("h", b"1")] * (i % 3 == 2),
            )
            for i in range(rng.choice([1, 2, 7, 70, 200]))
        ]
        parts.append(build(offset, records, rng.choice([0, 0, 1, 2, 3, 4])))
        offset += len(records)
    return b"".join(parts)


@pytest.mark.parametrize("seed", range(8))
def test_decoded_rows_equal_another_reader(tmp_path: pathlib.Path, seed: int) -> None:
    data = random_batches(seed, 20)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    assert read(path, chunk=random.Random(seed).choice([300, 5_000, 1 << 20])) == expected(data)


def test_lock_step_and_single_walk_agree(tmp_path: pathlib.Path) -> None:
    many_small = b"".join(build(i * 2, [(10 + i, b"k", b"v" * (i % 200), []), (5, None, b"", [])]) for i in range(400))
    few_large = build(0, [(i, b"%d" % i, b"v" * (i % 300), []) for i in range(9_000)])
    for data in (many_small, few_large):
        path = tmp_path / "x.log"
        path.write_bytes(data)
        assert read(path, chunk=1 << 20) == expected(data)


# Numbers of one, two and three bytes for each field, and so for what precedes the key: up to eight bytes and more.
SIZES = (0, 1, 63, 64, 8191, 8192, 9000)


@pytest.mark.parametrize("key_size", SIZES)
@pytest.mark.parametrize("value_size", SIZES)
def test_fields_of_every_width(key_size: int, value_size: int) -> None:
    times = [0, 63, 64, -64, -65, 8191, 8192, 1 << 20, 1 << 40]
    records = [(1 << 41) + time for time in times for _ in range(9)]
    data = build(5, [(time, b"k" * key_size, b"v" * value_size, []) for time in records])
    assert rows_of_buffer(data) == expected(data)


def test_offset_deltas_of_three_bytes() -> None:
    data = build(0, [(i, b"key", b"v" * (i % 7), []) for i in range(17_000)])
    assert rows_of_buffer(data) == expected(data)


@pytest.mark.parametrize("count", [1, 2, 300])
@pytest.mark.parametrize("value", [None, b"", b"v"])
def test_the_shortest_records_may_end_with_the_buffer(value: bytes | None, count: int) -> None:
    data = build(0, [(0, None, value, [])] * count)
    assert rows_of_buffer(data) == expected(data)


@pytest.mark.parametrize("with_nulls", ["neither", "first", "second"])
def test_columns_of_one_size_beside_some_that_differ(with_nulls: str) -> None:
    parts = []
    for base, name in ((0, "first"), (500, "second")):
        keys = [None if name == with_nulls and i % 3 == 0 else b"%08d" % i for i in range(500)]
        parts.append(build(base, [(i, key, b"%016d" % i, []) for i, key in enumerate(keys)]))
    data = b"".join(parts)
    assert rows_of_buffer(data) == expected(data)


def test_a_length_in_more_bytes_than_it_needs() -> None:
    data = bytearray(build(0, [(7, b"key", b"v" * 70, [])]))
    assert data[HEADER_SIZE] >= 0x80 > data[HEADER_SIZE + 1]
    data[HEADER_SIZE + 1 : HEADER_SIZE + 2] = bytes([data[HEADER_SIZE + 1] | 0x80, 0])
    data[8:12] = (len(data) - LOG_OVERHEAD).to_bytes(4, "big")
    tables, _ = RecordBatchDecoder("t", 3, check_crcs=False).decode_buffer(memoryview(data), len(data), 0, 1 << 40)
    assert rows_of(tables) == [(b"key", b"v" * 70, 0, 7, 0)]


def test_rows_stay_when_the_buffer_is_used_again() -> None:
    first = build(0, [(i, b"%08d" % i, b"v" * (i % 9), []) for i in range(50)])
    buffer = bytearray(first)
    tables, _ = RecordBatchDecoder("t", 3).decode_buffer(memoryview(buffer), len(buffer), 0, 1 << 40)
    buffer[:] = bytes(len(buffer))
    assert rows_of(tables) == expected(first)


def test_only_wanted_offsets(tmp_path: pathlib.Path) -> None:
    data = b"".join(build(i * 10, [(0, b"k", b"%d" % (i * 10 + j), []) for j in range(10)]) for i in range(10))
    path = tmp_path / "x.log"
    path.write_bytes(data)
    assert [row[2] for row in read(path, 15, 33)] == list(range(15, 33))
    assert [row[2] for row in read(path, 99, 1 << 40)] == [99]
    assert read(path, 100) == []


@pytest.mark.parametrize("cut", range(1, 80, 7))
def test_a_torn_tail_and_preallocated_zeros_end_the_file(tmp_path: pathlib.Path, cut: int) -> None:
    whole, torn = build(0, [(0, b"k", b"v", [])]), build(1, [(0, b"k", b"value" * 10, [])])
    path = tmp_path / "x.log"
    path.write_bytes(whole + torn[:-cut])
    assert read(path) == expected(whole)
    path.write_bytes(whole + bytes(500))
    assert read(path) == expected(whole)


def test_every_flipped_byte_is_noticed(tmp_path: pathlib.Path) -> None:
    data = build(0, [(7, b"key", b"value", [])] * 3)
    path = tmp_path / "x.log"
    for at in range(17, len(data)):
        broken = bytearray(data)
        broken[at] ^= 0x5A
        path.write_bytes(bytes(broken))
        with pytest.raises(CorruptRecordException):
            read(path)


def test_a_projection_decodes_only_its_columns() -> None:
    data = build(5, [(7, b"key", b"value", [])])
    tables, consumed = RecordBatchDecoder("t", 0, ["offset", "value"]).decode_buffer(
        memoryview(data), len(data), 0, 100
    )
    assert consumed == len(data)
    assert [table.to_pydict() for table in tables] == [{"offset": [5], "value": [b"value"]}]
