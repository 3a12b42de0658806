"""Every format that a log may hold: old magics, headers, compaction, transactions, and batches that hold oddities."""

from __future__ import annotations

import os
import pathlib
import random
from collections.abc import Generator
from typing import Any

import cramjam
import numpy as np
import pytest

from kafka_py.common.errors import CorruptRecordException
from kafka_py.spark import arrow_codecs, arrow_decoder
from kafka_py.spark.arrow_decoder import (
    HEADERS_FIELD,
    SCHEMA_WITH_HEADERS,
    RecordBatchDecoder,
    SegmentEnd,
    iter_segment,
)
from kafka_py.spark.batch_headers import UNKNOWN_COUNT, aborted_from_fetch, aborted_from_index, batch_headers
from tests.spark.arrow_data import ALL_COLUMNS, FAR, batch, decoded, expected, marker, random_log, record, with_crc


def consume(tables: Generator[Any, None, SegmentEnd]) -> tuple[list[Any], SegmentEnd]:
    """Everything that comes, and where it ended."""
    found: list[Any] = []
    while True:
        try:
            found.append(next(tables))
        except StopIteration as end:
            return found, end.value


@pytest.mark.parametrize("seed", range(12))
def test_logs_of_all_formats_read_like_the_record_classes(seed: int) -> None:
    rng = random.Random(seed)
    data = random_log(rng, 15)
    rows = expected(data)
    assert decoded(data) == rows
    low = rng.randrange(rows[0][2], rows[-1][2] + 1)
    high = rng.randrange(low, rows[-1][2] + 2)
    assert decoded(data, low, high) == [row for row in rows if low <= row[2] < high]


@pytest.mark.parametrize("seed", range(5))
def test_segments_of_all_formats_in_chunks_of_any_size(seed: int, tmp_path: pathlib.Path) -> None:
    rng = random.Random(seed)
    data = random_log(rng, 12)
    path = tmp_path / "x.log"
    path.write_bytes(data)
    rows = expected(data)
    until = rows[-1][2] + 1
    decoder = RecordBatchDecoder("t", 3, ["offset"])
    for chunk in (1, 100, rng.randrange(1, 5000), 1 << 20):
        with open(path, "rb", buffering=0) as file:
            tables, (reached, _) = consume(iter_segment(file, decoder, 0, len(data), 0, until, chunk))
        assert reached >= until
        offsets = [offset for table in tables for offset in table.column("offset").to_pylist()]
        assert offsets == [row[2] for row in rows]


def test_a_file_that_ends_early_says_so(tmp_path: pathlib.Path) -> None:
    data = batch(0, [record()] * 3) + batch(3, [record(b"long" * 100)] * 2)
    path = tmp_path / "x.log"
    decoder = RecordBatchDecoder("t", 3)
    ends = ((len(data), 5, False), (len(data) - 1, 3, True), (10, 1, True), (len(batch(0, [record()] * 3)), 3, True))
    for size, reached, is_torn in ends:
        path.write_bytes(data[:size])
        with open(path, "rb", buffering=0) as file:
            assert consume(iter_segment(file, decoder, 0, len(data), 1, FAR))[1] == (reached, is_torn)


def test_a_size_beyond_the_file_takes_no_memory(tmp_path: pathlib.Path) -> None:
    data = bytearray(batch(0, [record()]))
    data[8:12] = (0x7FFFFFFF).to_bytes(4, "big")
    path = tmp_path / "x.log"
    path.write_bytes(data)
    os.truncate(path, 1 << 20)
    with open(path, "rb", buffering=0) as file:
        assert list(iter_segment(file, RecordBatchDecoder("t", 3), 0, 1 << 40, 0, FAR, 1000)) == []


@pytest.mark.parametrize("cut", [0, 1, 11, 12, 17, 60, 61, 73])
def test_a_fetch_response_may_end_anywhere(cut: int) -> None:
    whole, partial = batch(0, [record()] * 3), batch(3, [record(b"second")])
    data = whole + partial[:cut]
    tables, consumed = RecordBatchDecoder("t", 3, ALL_COLUMNS).decode_buffer(memoryview(data), len(data), 0, FAR)
    assert consumed == len(whole)
    assert sum(table.num_rows for table in tables) == 3


def test_magic_0_has_the_time_that_spark_shows_for_none() -> None:
    data = batch(5, [record(b"old", timestamp=-1)], magic=0)
    (table,), _ = RecordBatchDecoder("t", 3).decode_buffer(memoryview(data), len(data), 0, FAR)
    assert table.column("timestamp").cast("string").to_pylist() == ["1969-12-31 23:59:59.999000Z"]
    assert table.column("timestampType").to_pylist() == [-1]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_compressed_set_is_cut_by_the_offsets_inside(magic: int) -> None:
    records = [record(b"%d" % i, timestamp=-1 if magic == 0 else i) for i in range(10)]
    data = batch(100, records, magic=magic, codec=1)
    assert [row[2] for row in decoded(data, 103, 107)] == [103, 104, 105, 106]
    assert decoded(data, 110) == []
    data = batch(90, records, magic=magic, codec=1) + data
    assert [row[2] for row in decoded(data, 98, 102)] == [98, 99, 100, 101]


def test_a_wrong_checksum_inside_of_a_set_is_noticed() -> None:
    inner = bytearray(batch(0, [record(b"abc")], magic=1) + batch(1, [record(b"def")], magic=1))
    inner[-1] ^= 1
    builder = batch(1, [record(deflate_set(bytes(inner)))], magic=1)
    data = legacy_with_codec(builder, 1)
    with pytest.raises(CorruptRecordException, match="corrupt"):
        decoded(data)
    assert [row[1] for row in decoded(data, check_crcs=False)] == [b"abc", b"deg"]


def deflate_set(inner: bytes) -> bytes:
    return bytes(arrow_codecs.deflate(1, memoryview(inner)))


def legacy_with_codec(data: bytes, codec: int) -> bytes:
    import zlib

    changed = bytearray(data)
    changed[17] = codec
    changed[12:16] = zlib.crc32(changed[16:]).to_bytes(4, "big")
    return bytes(changed)


def test_headers_are_null_where_there_are_none() -> None:
    many = [(f"h{i}", b"%d" % i if i % 3 else None) for i in range(100)]  # more than are read in lock-step
    records = [
        record(headers=[("a", b"1"), ("b", None), ("a", b"")]),
        record(),
        record(headers=many),
        record(headers=[("", b"x" * 9000)]),
    ]
    data = batch(0, records)
    assert [row[5] for row in decoded(data)] == [
        [("a", b"1"), ("b", None), ("a", b"")],
        None,
        many,
        [("", b"x" * 9000)],
    ]
    assert decoded(data) == expected(data)


def test_header_keys_that_are_not_utf_8_become_readable() -> None:
    data = bytearray(batch(0, [record(headers=[("key", b"v")])]))
    at = data.index(b"key")
    data[at : at + 3] = b"\xffey"
    broken = with_crc(bytes(data))
    assert [row[5] for row in decoded(broken)] == [[("\N{REPLACEMENT CHARACTER}ey", b"v")]]
    assert decoded(broken) == expected(broken)


def test_the_schema_is_the_one_spark_checks_against() -> None:
    pandas_types = pytest.importorskip("pyspark.sql.pandas.types")
    types = pytest.importorskip("pyspark.sql.types")
    pair = types.StructType(
        [types.StructField("key", types.StringType()), types.StructField("value", types.BinaryType())]
    )
    fields = [("key", types.BinaryType()), ("value", types.BinaryType()), ("topic", types.StringType())]
    fields += [("partition", types.IntegerType()), ("offset", types.LongType()), ("timestamp", types.TimestampType())]
    fields += [("timestampType", types.IntegerType()), ("headers", types.ArrayType(pair))]
    schema = types.StructType([types.StructField(name, kind) for name, kind in fields])
    assert pandas_types.to_arrow_schema(schema, timezone="UTC").equals(SCHEMA_WITH_HEADERS)
    data = batch(0, [record(headers=[("a", b"1")]), record()])
    (table,), _ = RecordBatchDecoder("t", 3, ALL_COLUMNS).decode_buffer(memoryview(data), len(data), 0, FAR)
    assert table.schema.equals(SCHEMA_WITH_HEADERS)
    assert table.column("headers").type.equals(HEADERS_FIELD.type)


def test_offset_deltas_are_read_even_where_they_could_be_counted() -> None:
    """Some clients left the delta of each record at 0; what is shown is what stands there, as in Kafka's consumer."""
    data = bytearray(batch(10, [record()] * 3))
    records = [at for at in range(61, len(data) - 3) if bytes(data[at : at + 2]) in (b"\x00\x02", b"\x00\x04")]
    for at in records:  # the timestamp delta is 0, the offset delta behind it 1 or 2
        data[at + 1] = 0
    assert [row[2] for row in decoded(with_crc(bytes(data)))] == [10, 10, 10]


def test_a_time_that_microseconds_cannot_hold_is_refused() -> None:
    data = batch(0, [record(timestamp=(1 << 63) - 1)])
    with pytest.raises(CorruptRecordException, match="long overflow"):
        decoded(data)
    (table,), _ = RecordBatchDecoder("t", 3, ["value"]).decode_buffer(memoryview(data), len(data), 0, FAR)
    assert table.num_rows == 1


def test_deltas_of_timestamps_reach_over_the_whole_range() -> None:
    stamps = [0, (1 << 53) // 1000, 5, (1 << 62) // 1000]
    data = batch(0, [record(timestamp=stamp) for stamp in stamps])
    assert [row[3] for row in decoded(data)] == stamps


def test_batches_without_records_are_passed_over() -> None:
    from kafka_py.common.record.default_record_batch import DefaultRecordBatch
    from kafka_py.common.record.timestamp_type import TimestampType
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

    out = ByteBufferOutputStream()
    DefaultRecordBatch.write_empty_header(out, 2, 7, 0, 0, 3, 9, -1, TimestampType.CREATE_TIME, 5, False, False)
    data = batch(0, [record()]) + bytes(out.buffer) + batch(10, [record()])
    assert [row[2] for row in decoded(data)] == [0, 10]
    assert decoded(bytes(out.buffer)) == []


def test_offsets_that_fall_are_noticed() -> None:
    data = batch(10, [record()] * 2) + batch(11, [record()])
    with pytest.raises(CorruptRecordException, match="Batch at offset 11 follows one that ends with offset 11"):
        decoded(data)
    assert [row[2] for row in decoded(data, check_crcs=False)] == [10, 11, 11]


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_offsets_that_fall_are_noticed_from_chunk_to_chunk(tmp_path: pathlib.Path, chunk: int) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(batch(10, [record()] * 3) + batch(12, [record()]))
    with open(path, "rb", buffering=0) as file:
        tables = iter_segment(file, RecordBatchDecoder("t", 3), 0, path.stat().st_size, 0, FAR, chunk)
        with pytest.raises(CorruptRecordException, match="Batch at offset 12 follows one that ends with offset 12"):
            list(tables)
        unchecked = RecordBatchDecoder("t", 3, check_crcs=False)
        rows = sum(table.num_rows for table in iter_segment(file, unchecked, 0, path.stat().st_size, 0, FAR, chunk))
    assert rows == 4


@pytest.mark.parametrize("field", [22, 26, 57])
def test_a_dropped_batch_is_checked_first(field: int) -> None:
    """A damaged attribute, last offset or count must not make a batch look as one that nobody wants."""
    data = bytearray(batch(10, [record()] * 2))
    data[field] ^= 0x20 if field == 22 else 0x80
    with pytest.raises(CorruptRecordException):
        decoded(bytes(data), 11)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of some kilobytes whose records would take more memory than any batch may."""
    monkeypatch.setattr(arrow_codecs, "MAX_DECOMPRESSED_SIZE", 1 << 20)
    for size, refused in (((1 << 20) - 7, False), ((1 << 20) + 1, True)):
        bomb = bytes(arrow_codecs.deflate(codec, memoryview(bytes(size))))
        data = bytearray(batch(0, [record()])[:61] + bomb)
        data[8:12] = (len(data) - 12).to_bytes(4, "big")
        data[22] = codec
        # What fits is read, and then found to be no record.
        with pytest.raises(CorruptRecordException, match="Cannot decompress" if refused else "batch"):
            decoded(with_crc(bytes(data)))


def test_frames_of_other_lz4_writers() -> None:
    """The library's own frames have linked blocks or checksums; they are left to the library."""
    records = b"".join(bytes(batch(0, [record(b"x" * 1000)] * 300))[61:] for _ in range(1))
    data = bytearray(batch(0, [record(b"x" * 1000)] * 300)[:61] + bytes(cramjam.lz4.compress(records)))
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[22] = 3
    assert [row[1] for row in decoded(with_crc(bytes(data)))] == [b"x" * 1000] * 300


def test_transactions_that_were_aborted_are_left_out() -> None:
    def transactional(offset: int, producer_id: int, count: int = 2) -> bytes:
        return batch(offset, [record()] * count, producer_id=producer_id, transactional=True)

    data = b"".join(
        [
            transactional(0, 7),  # aborted
            transactional(2, 8),  # committed, between
            batch(4, [record()], producer_id=7),  # not part of a transaction
            transactional(5, 7),  # aborted
            marker(7, 7, abort=True),
            transactional(8, 7),  # committed
            marker(10, 8, abort=False),
            marker(11, 7, abort=False),
            transactional(12, 8),  # aborted
            marker(14, 8, abort=True),
        ]
    )
    kept = [2, 3, 4, 8, 9]
    index = [(7, 0, 7), (8, 12, 14)]
    assert [row[2] for row in decoded(data)] == [0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 13]
    assert [row[2] for row in decoded(data, aborted=index)] == kept
    assert [row[2] for row in decoded(data, 3, 9, aborted=index)] == [3, 4, 8]
    in_fetch = [(8, 12), (7, 0)]
    assert [row[2] for row in decoded(data, aborted=aborted_from_fetch(in_fetch))] == kept
    # The same in pieces: the filter remembers whose transaction is open.
    decoder, aborted, offsets = RecordBatchDecoder("t", 3), aborted_from_fetch(in_fetch), []
    headers, end = batch_headers(memoryview(data), len(data))
    for start, stop in zip(headers.position.tolist(), [*headers.position[1:].tolist(), end], strict=True):
        part = memoryview(data)[start:stop]
        for table in decoder.decode_buffer(part, len(part), 0, FAR, aborted=aborted)[0]:
            offsets += table.column("offset").to_pylist()
    assert offsets == kept


def test_without_aborted_transactions_there_is_no_filter() -> None:
    assert aborted_from_index([]) is None
    assert aborted_from_fetch([]) is None


def test_headers_of_batches_say_what_the_record_classes_say() -> None:
    from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
    from kafka_py.common.record.memory_records import MemoryRecords

    data = random_log(random.Random(3), 40)
    headers, consumed = batch_headers(memoryview(data + bytes(100)), len(data) + 100)
    assert consumed == len(data)
    assert headers.crc_valid(memoryview(data)).all()
    found: list[Any] = list(MemoryRecords.readable_records(data).batches())
    assert len(headers) == len(found)
    for at, each in enumerate(found):
        legacy = isinstance(each, ByteBufferLegacyRecordBatch)
        assert headers.size[at] == each.size_in_bytes()
        assert headers.magic[at] == each.magic()
        assert headers.crc[at] == each.checksum()
        assert headers.last_offset[at] == each.last_offset()
        assert headers.codec[at] == each.compression_type().id
        assert headers.max_timestamp[at] == each.max_timestamp()
        assert headers.is_control[at] == (not legacy and each.is_control_batch())
        if legacy:
            assert headers.count[at] == (UNKNOWN_COUNT if each.is_compressed() else 1)
        else:
            assert headers.base_offset[at] == each.base_offset()
            assert headers.producer_id[at] == each.producer_id()
            assert headers.base_sequence[at] == each.base_sequence()
            assert headers.leader_epoch[at] == each.partition_leader_epoch()
            assert headers.first_timestamp[at] == each.first_timestamp()
            assert headers.count[at] == each.count_or_null()


def test_only_damaged_batches_have_a_wrong_checksum() -> None:
    data = bytearray(random_log(random.Random(5), 10))
    headers, _ = batch_headers(memoryview(data), len(data))
    for at in (2, 7):
        data[int(headers.position[at] + headers.size[at]) - 1] ^= 1
    assert np.flatnonzero(~headers.crc_valid(memoryview(data))).tolist() == [2, 7]


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [(16, b"\x03", "Invalid magic 3"), (8, b"\0\0\0\x05", "too small"), (8, b"\xff" * 4, "too small")],
)
def test_headers_that_cannot_be(at: int, value: bytes, message: str) -> None:
    data = bytearray(batch(0, [record()]))
    data[at : at + len(value)] = value
    with pytest.raises(CorruptRecordException, match=message):
        batch_headers(memoryview(data), len(data))


def test_a_table_holds_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_decoder, "MAX_ROWS", 1000)
    data = batch(0, [record()] * 2005)
    tables, _ = RecordBatchDecoder("t", 3).decode_buffer(memoryview(data), len(data), 4, FAR)
    assert [table.num_rows for table in tables] == [1000, 1000, 1]
    assert [offset for table in tables for offset in table.column("offset").to_pylist()] == list(range(4, 2005))
