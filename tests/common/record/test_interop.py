"""Our batches against those of aiokafka and kafka-python, both ways."""

from __future__ import annotations

import random
import warnings

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioLegacyBuilder

from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its resources the old way
    from kafka.record.default_records import DefaultRecordBatch as KpBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KpBuilder
    from kafka.record.memory_records import MemoryRecords as KpMemoryRecords

rnd = random.Random(11)
Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
ROWS: list[Row] = [
    (
        1_600_000_000_000 + rnd.randrange(-3, 9000),
        rnd.choice([None, b"", rnd.randbytes(rnd.randrange(100))]),
        rnd.choice([None, b"", rnd.randbytes(rnd.randrange(300)), b"v" * 200]),
        [("h\u00e9ader", b"1"), ("n", None)][: rnd.randrange(3)],
    )
    for _ in range(120)
]
CODECS = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]


def ours(codec: CompressionType, rows: list[Row] = ROWS, magic: int = 2) -> MemoryRecords:
    records = [
        SimpleRecord(timestamp, key, value, [RecordHeader(k, v) for k, v in headers])
        for timestamp, key, value, headers in rows
    ]
    return MemoryRecords.with_records(
        *records,
        magic=magic,
        compression_type=codec,
        **({"producer_id": 77, "producer_epoch": 3, "base_sequence": 12} if magic == 2 else {}),  # type: ignore[arg-type]
    )


def rows_of(records: MemoryRecords) -> list[Row]:
    return [
        (
            record.timestamp(),
            None if (key := record.key()) is None else bytes(key),
            None if (value := record.value()) is None else bytes(value),
            [(header.key(), header.value()) for header in record.headers()],
        )
        for record in records.records()
    ]


def build(builder: AioBuilder | KpBuilder) -> bytes:
    for offset, (timestamp, key, value, headers) in enumerate(ROWS):
        builder.append(offset, timestamp=timestamp, key=key, value=value, headers=headers)
    return bytes(builder.build())


def theirs(cls: type[AioBuilder] | type[KpBuilder], codec: CompressionType) -> bytes:
    return build(
        cls(
            magic=2,
            compression_type=codec.id,
            is_transactional=False,
            producer_id=77,
            producer_epoch=3,
            base_sequence=12,
            batch_size=1 << 20,
        )
    )


@pytest.mark.parametrize("cls", [AioBuilder, KpBuilder])
def test_uncompressed_bytes_are_equal_up_to_the_leader_epoch(cls: type[AioBuilder] | type[KpBuilder]) -> None:
    mine, other = bytes(ours(CompressionType.NONE).buffer), theirs(cls, CompressionType.NONE)
    assert mine[:12] + mine[16:] == other[:12] + other[16:]


@pytest.mark.parametrize("cls", [AioBuilder, KpBuilder])
@pytest.mark.parametrize("codec", CODECS[:3])
def test_we_read_theirs(cls: type[AioBuilder] | type[KpBuilder], codec: CompressionType) -> None:
    records = MemoryRecords(theirs(cls, codec))
    assert rows_of(records) == ROWS
    for batch in records.batches():
        batch.ensure_valid()
        assert batch.compression_type() is codec
        assert (batch.producer_id(), batch.producer_epoch(), batch.base_sequence()) == (77, 3, 12)


@pytest.mark.parametrize("cls", [AioBatch, KpBatch])
@pytest.mark.parametrize("codec", CODECS)
def test_they_read_ours(cls: type[AioBatch] | type[KpBatch], codec: CompressionType) -> None:
    if codec is CompressionType.LZ4 and cls is KpBatch:
        pytest.skip("kafka-python needs the lz4 package")
    batch = cls(bytes(ours(codec).buffer))
    assert batch.validate_crc()
    read = [
        (r.timestamp, r.key, None if r.value is None else bytes(r.value), [(k, v) for k, v in r.headers]) for r in batch
    ]
    assert read == ROWS


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS[:3])
def test_old_formats(magic: int, codec: CompressionType) -> None:
    rows: list[Row] = [(1_000 + i, key, value, []) for i, (_, key, value, _) in enumerate(ROWS)]
    expected = [(timestamp if magic else -1, key, value, headers) for timestamp, key, value, headers in rows]
    builder = AioLegacyBuilder(magic=magic, compression_type=codec.id, batch_size=1 << 20)
    for offset, (timestamp, key, value, _) in enumerate(rows):
        builder.append(offset, timestamp=timestamp, key=key, value=value)
    other = bytes(builder.build())
    assert rows_of(MemoryRecords(other)) == expected
    mine = bytes(ours(codec, rows, magic).buffer)
    if codec is CompressionType.NONE:
        assert mine == other
    reader = KpMemoryRecords(mine)
    read: list[Row] = []
    while reader.has_next():
        read.extend((r.timestamp if magic else -1, r.key, r.value, []) for r in reader.next_batch())
    assert read == expected
