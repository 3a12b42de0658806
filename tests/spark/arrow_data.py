"""Logs for the tests of decoder and encoder, made and read by the project's own record classes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import crc32c

from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.spark.arrow_decoder import COLUMNS, SCHEMA_WITH_HEADERS, RecordBatchDecoder

ALL_COLUMNS = (*COLUMNS, "headers")
Headers = list[tuple[str, bytes | None]]
# key, value, offset, timestamp in milliseconds, timestamp type, headers (None for none)
Row = tuple[bytes | None, bytes | None, int, int, int, Headers | None]
FAR = 1 << 60


def batch(
    base_offset: int,
    records: Sequence[SimpleRecord],
    *,
    magic: int = 2,
    codec: int = 0,
    append_time: int | None = None,
    offsets: Sequence[int] | None = None,
    producer_id: int = -1,
    transactional: bool = False,
) -> bytes:
    """One batch; ``offsets`` of the records where some are missing, ``append_time`` in milliseconds."""
    kind = TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME
    if magic == 0:
        kind = TimestampType.NO_TIMESTAMP_TYPE
    builder = MemoryRecords.builder(
        None,
        magic,
        CompressionType.for_id(codec),
        kind,
        base_offset,
        -1 if append_time is None else append_time,
        producer_id,
        0 if producer_id >= 0 else -1,
        0 if producer_id >= 0 else -1,
        transactional,
    )
    for at, record in enumerate(records):
        builder.append_with_offset(base_offset + at if offsets is None else offsets[at], record)
    return bytes(builder.build().buffer)


def marker(offset: int, producer_id: int, *, abort: bool) -> bytes:
    """The control batch at the end of a transaction."""
    kind = ControlRecordType.ABORT if abort else ControlRecordType.COMMIT
    records = MemoryRecords.with_end_transaction_marker(producer_id, 0, EndTransactionMarker(kind, 0), 5, offset)
    return bytes(records.buffer)


def record(
    value: bytes | None = b"v", key: bytes | None = None, timestamp: int = 1, headers: Iterable[Any] = ()
) -> SimpleRecord:
    return SimpleRecord(timestamp, key, value, [RecordHeader(name, data) for name, data in headers])


def expected(data: bytes) -> list[Row]:
    """What the record classes read, without control batches."""
    rows: list[Row] = []
    for found in MemoryRecords.readable_records(data).batches():
        if found.is_control_batch():
            continue
        for each in found:
            kind = found.timestamp_type() if found.magic() == 2 else each.timestamp_type()  # type: ignore[attr-defined]
            key, value = each.key(), each.value()
            rows.append(
                (
                    None if key is None else bytes(key),
                    None if value is None else bytes(value),
                    each.offset(),
                    each.timestamp(),
                    kind.id,
                    [(header.key(), header.value()) for header in each.headers()] or None,
                )
            )
    return rows


def rows_of(tables: Iterable[Any]) -> list[Row]:
    """Rows of Arrow batches that have all columns, those of topic and partition checked on the way."""
    rows: list[Row] = []
    for table in tables:
        assert table.schema.equals(SCHEMA_WITH_HEADERS.with_metadata(None))
        table.validate(full=True)
        assert set(table.column("topic").to_pylist()) <= {"t"}
        assert set(table.column("partition").to_pylist()) <= {3}
        lists = (table.column(name) for name in ("key", "value", "offset", "timestamp", "timestampType", "headers"))
        for key, value, offset, micros, kind, headers in zip(
            *(column.cast("int64").to_pylist() if i == 3 else column.to_pylist() for i, column in enumerate(lists)),
            strict=True,
        ):
            pairs = None if headers is None else [(pair["key"], pair["value"]) for pair in headers]
            rows.append((key, value, offset, micros // 1000, kind, pairs))
    return rows


def decoded(data: bytes, from_offset: int = 0, until_offset: int = FAR, **options: Any) -> list[Row]:
    decoder = RecordBatchDecoder("t", 3, ALL_COLUMNS, **options)
    return rows_of(decoder.decode_buffer(memoryview(data), len(data), from_offset, until_offset)[0])


def with_crc(data: bytes) -> bytes:
    """A batch of magic 2 with the checksum that its bytes ask for."""
    return data[:17] + crc32c.crc32c(data[21:]).to_bytes(4, "big") + data[21:]


def random_log(rng: random.Random, batches: int, *, magics: Sequence[int] = (0, 1, 2), largest: int = 3000) -> bytes:
    """Batches of all sorts behind one another."""

    def blob(limit: int) -> bytes | None:
        size = rng.choice([0, 1, 5, 63, 64, 127, rng.randrange(limit)])
        return None if rng.random() < 0.1 else rng.randbytes(size)

    def headers() -> Headers:
        return [(rng.choice(["", "a", "trace", "ü" * 40]), blob(40)) for _ in range(rng.choice([0, 0, 1, 3]))]

    offset, parts = rng.randrange(1 << rng.choice([1, 10, 40])), []
    for _ in range(batches):
        magic = rng.choice(magics)
        codec = rng.choice([0, 0, 1, 2, 3, 4] if magic == 2 else [0, 0, 1, 2, 3])
        count = 1 if magic < 2 and codec == 0 else rng.choice([1, 2, 7, 70, 150])
        start = -1 if magic == 0 else rng.randrange(1 << 41)
        records = [
            record(
                blob(largest),
                blob(300),
                start if magic == 0 or i == 0 else max(-1, start + rng.choice([0, 3, 200, -70, 1 << 33])),
                headers() if magic == 2 else (),
            )
            for i in range(count)
        ]
        kept = list(range(offset, offset + count))
        if magic == 2 and rng.random() < 0.3:  # compacted: some are gone
            kept = sorted(rng.sample(range(offset, offset + 3 * count), count))
        append_time = rng.randrange(1 << 41) if magic and rng.random() < 0.2 else None
        producer_id = rng.choice([-1, 7]) if magic == 2 else -1
        parts.append(
            batch(
                offset,
                records,
                magic=magic,
                codec=codec,
                append_time=append_time,
                offsets=kept,
                producer_id=producer_id,
            )
        )
        offset = kept[-1] + 1
        if magic == 2 and rng.random() < 0.1:
            parts.append(marker(offset, 7, abort=rng.random() < 0.5))
            offset += 1
        offset += rng.choice([0, 0, 0, 5])
    return b"".join(parts)
