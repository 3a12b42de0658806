"""What the encoder makes of Arrow columns is what Kafka's own builders would make, and reads back the same."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch

from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.spark.arrow_decoder import HEADERS_FIELD, SCHEMA_WITH_HEADERS, RecordBatchDecoder
from kafka_py.spark.arrow_encoder import EncodedBatch, RecordBatchEncoder
from tests.spark.arrow_data import ALL_COLUMNS, FAR, batch, decoded, expected, random_log, record

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def table_of(data: bytes) -> pa.Table:
    tables, _ = RecordBatchDecoder("t", 3, ALL_COLUMNS).decode_buffer(memoryview(data), len(data), 0, FAR)
    return pa.Table.from_batches(tables, SCHEMA_WITH_HEADERS)


def offsets_of(batches: list[EncodedBatch]) -> list[tuple[int, int]]:
    return [(each.base_offset, each.last_offset) for each in batches]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("codec", CODECS)
def test_a_log_comes_back_as_it_was(codec: str, seed: int) -> None:
    """Keys, values, offsets with gaps, timestamps, their types and headers; only magic 0 gets a timestamp type."""
    data = random_log(random.Random(seed), 10)
    rows = [(*row[:4], max(row[4], 0), row[5]) for row in expected(data)]
    batch_size = random.Random(seed).choice([100, 1000, 16384, 1 << 20])
    batches = list(RecordBatchEncoder(codec, batch_size).encode_batches(table_of(data)))
    again = b"".join(each.data for each in batches)
    assert expected(again) == rows
    assert decoded(again) == rows
    if codec == "none":
        assert all(len(each.data) <= batch_size or each.count == 1 for each in batches)


def test_the_bytes_are_those_of_the_record_classes() -> None:
    records = [
        record(b"value", b"key", 1000, [("h", b"1"), ("i", None)]),
        record(None, None, 999),
        record(b"", b"", 1_000_000),
        record(b"x" * 10_000, b"k" * 70, 1 << 40),
    ]
    data = batch(40, records)
    assert RecordBatchEncoder(batch_size=1 << 20).encode(table_of(data)) == data


def test_another_reader_finds_the_checksums_right() -> None:
    table = pa.table({"value": [b"%d" % i for i in range(3000)], "timestamp": list(range(3000))})
    seen = []
    for each in RecordBatchEncoder("gzip", 1000).encode_batches(table, 5):
        found = AiokafkaBatch(each.data)
        assert found.validate_crc()
        records = [(r.offset, r.timestamp, r.value) for r in found]
        assert (each.base_offset, each.last_offset) == (records[0][0], records[-1][0])
        assert (each.count, each.max_timestamp) == (len(records), records[-1][1])
        seen += records
    assert seen == [(5 + i, i, b"%d" % i) for i in range(3000)]


def test_batches_are_about_as_large_as_asked() -> None:
    table = pa.table({"key": [b"k" * 8] * 5000, "value": [b"v" * 100] * 5000})
    for size in (500, 16384, 100_000):
        sizes = [len(each.data) for each in RecordBatchEncoder(batch_size=size).encode_batches(table)]
        assert max(sizes) <= size
        assert all(each > 0.75 * size for each in sizes[:-1])


def test_a_record_larger_than_a_batch_has_one_of_its_own() -> None:
    table = pa.table({"value": [b"a", b"b" * 5000, b"c", b"d"]})
    batches = list(RecordBatchEncoder(batch_size=200).encode_batches(table))
    assert offsets_of(batches) == [(0, 0), (1, 1), (2, 3)]


def test_runs_of_batches_join_without_a_seam() -> None:
    """More bytes than are encoded at a time, in chunks that end anywhere."""
    values = [bytes([i % 251]) * 997 for i in range(6000)]
    table = pa.chunked_array([values[:10], values[10:4321], values[4321:]])
    data = RecordBatchEncoder(batch_size=10_000).encode(pa.table({"value": table, "key": table.slice(0)}))
    assert [row[:3] for row in decoded(data)] == [(value, value, i) for i, value in enumerate(values)]


def test_offsets_far_apart_are_in_batches_of_their_own() -> None:
    offsets = [0, 5, (1 << 31) - 1, 1 << 31, (1 << 33) + 7]
    table = pa.table({"value": [b"v"] * 5, "offset": offsets})
    batches = list(RecordBatchEncoder().encode_batches(table))
    assert offsets_of(batches) == [(0, (1 << 31) - 1), (1 << 31, 1 << 31), ((1 << 33) + 7, (1 << 33) + 7)]
    assert [row[2] for row in decoded(b"".join(each.data for each in batches))] == offsets


def test_a_base_offset_stands_in_for_the_column() -> None:
    table = pa.table({"value": [b"a", b"b"], "offset": [7, 9]})
    encoder = RecordBatchEncoder()
    assert [row[2] for row in decoded(encoder.encode(table))] == [7, 9]
    assert [row[2] for row in decoded(encoder.encode(table, 100))] == [100, 101]
    assert [row[2] for row in decoded(encoder.encode(table.select(["value"])))] == [0, 1]


def test_append_time_is_of_a_whole_batch() -> None:
    table = pa.table({"value": [b"v"] * 6, "timestamp": [5, 5, 6, 7, 7, 7], "timestampType": [1, 1, 1, 0, 0, 1]})
    batches = list(RecordBatchEncoder().encode_batches(table))
    assert offsets_of(batches) == [(0, 1), (2, 2), (3, 4), (5, 5)]
    rows = decoded(b"".join(each.data for each in batches))
    assert [row[3:5] for row in rows] == [(5, 1), (5, 1), (6, 1), (7, 0), (7, 0), (7, 1)]


@pytest.mark.parametrize(
    ("column", "milliseconds"),
    [
        (pa.array([1_999, None], pa.timestamp("us", "UTC")), [1, -1]),
        (pa.array([1_999_999, -1], pa.timestamp("ns")), [1, -1]),
        (pa.array([3, None], pa.timestamp("ms")), [3, -1]),
        (pa.array([3, 0], pa.timestamp("s", "UTC")), [3000, 0]),
        (pa.array([None, 12], pa.int32()), [-1, 12]),
    ],
)
def test_times_of_every_unit(column: pa.Array, milliseconds: list[int]) -> None:
    data = RecordBatchEncoder().encode(pa.table({"value": [b"v"] * 2, "timestamp": column}))
    assert [row[3] for row in decoded(data)] == milliseconds


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view(), pa.binary(3)]
)
def test_values_of_every_type_of_bytes(kind: pa.DataType) -> None:
    values = pa.array([b"abc", None, b"xyz"], pa.binary()).cast(pa.string()).cast(kind)
    data = RecordBatchEncoder().encode(pa.table({"value": values, "key": values}))
    assert [row[:2] for row in decoded(data)] == [(b"abc", b"abc"), (None, None), (b"xyz", b"xyz")]


def test_slices_of_tables() -> None:
    rows: list[dict[str, Any]] = [
        {"key": None, "value": b"a", "headers": [{"key": "x", "value": b"1"}]},
        {"key": b"k", "value": None, "headers": None},
        {"key": b"", "value": b"c", "headers": [{"key": "y", "value": None}, {"key": "", "value": b""}]},
        {"key": b"l", "value": b"d", "headers": []},
    ]
    schema = pa.schema([("key", pa.binary()), ("value", pa.binary()), HEADERS_FIELD])
    part = pa.RecordBatch.from_pylist(rows * 50, schema).slice(2, 100)
    again = decoded(RecordBatchEncoder(batch_size=300).encode(part))
    assert [row[:2] for row in again] == [(row["key"], row["value"]) for row in (rows * 50)[2:102]]
    assert [row[5] for row in again[:2]] == [[("y", None), ("", b"")], None]
    assert [row[5] for row in again[2:4]] == [[("x", b"1")], None]


def test_nothing_gives_no_batch() -> None:
    for table in (pa.table({"value": pa.array([], pa.binary())}), SCHEMA_WITH_HEADERS.empty_table()):
        assert RecordBatchEncoder().encode(table) == b""


def test_producer_and_leader_are_in_every_batch() -> None:
    encoder = RecordBatchEncoder(
        batch_size=200, leader_epoch=4, producer_id=77, producer_epoch=3, base_sequence=(1 << 31) - 3
    )
    found: list[Any] = list(
        MemoryRecords.readable_records(encoder.encode(pa.table({"value": [b"v" * 50] * 5}))).batches()
    )
    assert [(each.producer_id(), each.producer_epoch(), each.partition_leader_epoch()) for each in found] == [
        (77, 3, 4)
    ] * len(found)
    assert [each.base_sequence() for each in found] == [(1 << 31) - 3, (1 << 31) - 1, 1]
    for each in found:
        each.ensure_valid()


def test_the_framings_are_those_of_java() -> None:
    table = pa.table({"value": [b"v" * 100_000]})
    records = {codec: RecordBatchEncoder(codec).encode(table)[61:] for codec in CODECS}
    assert records["snappy"][:16] == b"\x82SNAPPY\x00\0\0\0\x01\0\0\0\x01"
    assert records["lz4"][:7] == b"\x04\x22\x4d\x18\x60\x40\x82"
    assert records["gzip"][:3] == b"\x1f\x8b\x08"
    assert records["zstd"][:4] == b"\x28\xb5\x2f\xfd"
    assert all(len(records[codec]) < 20_000 for codec in CODECS[1:])


def test_what_cannot_be_compressed_is_stored() -> None:
    values = [random.Random(i).randbytes(100_000) for i in range(3)]
    data = RecordBatchEncoder("lz4", 1 << 20).encode(pa.table({"value": values}))
    assert [row[0] for row in decoded(data)] == [None] * 3
    assert [row[1] for row in decoded(data)] == values
    assert [row[1] for row in expected(data)] == values


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": [b"k"]}, "value"),
        ({"value": [b"a", b"b"], "offset": [3, 3]}, "rise"),
        ({"value": [b"a", b"b"], "offset": [3, None]}, "rise"),
        ({"value": [b"a"], "offset": [-1]}, "rise"),
        ({"value": [b"a"], "timestamp": [-2]}, "Invalid message timestamp -2"),
        ({"value": [b"a"], "headers": [[{"key": None, "value": b"v"}]]}, "null header key"),
    ],
)
def test_columns_that_no_batch_can_hold(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RecordBatchEncoder().encode(pa.table(columns))


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="brotli"):
        RecordBatchEncoder("brotli")
    with pytest.raises(ValueError, match="batch_size"):
        RecordBatchEncoder(batch_size=0)
