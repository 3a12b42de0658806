"""Segments into Arrow and back: the decoder beside other readers, the encoder, and the headers of batches.

    python -m benchmarks.arrow [-r RECORDS] [-n ROUNDS] [-d DATA,...]

Makes its own data, in memory and in one temporary file. Every contestant of a data set runs once a round, one after
the other (A B C A B C ...); the best round of each counts, in processor seconds of this process, so that a busy machine
disturbs the ratios little. All readers give the same columns. Ours checks every CRC, the others none; so does copying,
and the decoder with its checks switched off is there to be held against it.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import pathlib
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords

from benchmarks.report import environment, markdown, number
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.spark.arrow_decoder import CHUNK_BYTES, COLUMNS, SCHEMA, RecordBatchDecoder, iter_segment
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.batch_headers import batch_headers

TOPIC = "clicks"
KEYS = 10_000
VALUE_BYTES = 100
# For a reader on its own; Spark's tasks, of which many run at a time, read half as much at once.
# What the readers of single records are given at most, so that a round ends soon.
FAST_READER_RECORDS, SLOW_READER_RECORDS = 100_000, 20_000
_ROWS_PER_TABLE = 10_000
_UNTIL = 1 << 60
Run = Callable[[], int]

# What to reach: (contestant, beside what, data set, at least).
BARS = (
    ("decode", "aiokafka C -> Arrow", "plain", 5.0),
    ("decode, CRCs unchecked", "memcpy", "plain", 1 / 8),
    ("batch headers + CRC", "", "plain", 1.0),
)


def rows(records: int, *, spread: bool = False, headers: bool = False) -> pa.Table:
    """JSON-like values of VALUE_BYTES (``spread``: of 20 to 180 bytes), keys of 8 bytes, some records a millisecond."""
    rng = random.Random(1)
    words = [f"{rng.getrandbits(28):x}" for _ in range(64)]
    values = []
    for _ in range(records):
        size = rng.randint(20, 180) if spread else VALUE_BYTES
        text = f'{{"id":"{rng.getrandbits(64):016x}","event":"{rng.choice(words)}","page":"{rng.choice(words)}"'
        values.append(f"{text:{size - 1}}"[: size - 1].encode() + b"}")
    columns: dict[str, Any] = {
        "key": pa.array([b"k%07d" % rng.randrange(KEYS) for _ in range(records)]),
        "value": pa.array(values),
        "timestamp": pa.array(1_700_000_000_000 + np.arange(records) // 7),
    }
    if headers:
        columns["headers"] = pa.array([[{"key": "trace", "value": rng.randbytes(16)}] for _ in range(records)])
    return pa.table(columns)


# Data set -> its rows and its encoder.
DATA: dict[str, tuple[Callable[[int], pa.Table], RecordBatchEncoder]] = {
    "plain": (rows, RecordBatchEncoder()),
    "spread sizes": (functools.partial(rows, spread=True), RecordBatchEncoder()),
    "headers": (functools.partial(rows, headers=True), RecordBatchEncoder()),
    "1 MB batches": (rows, RecordBatchEncoder(batch_size=1_000_000)),
    "10 records a batch": (rows, RecordBatchEncoder(batch_size=1_200)),
    **{codec: (rows, RecordBatchEncoder(codec)) for codec in ("gzip", "snappy", "lz4", "zstd")},
}


def decode(path: pathlib.Path, columns: tuple[str, ...], check_crcs: bool = True) -> int:
    """Ours; returns the number of records."""
    decoder = RecordBatchDecoder(TOPIC, 0, columns, check_crcs=check_crcs)
    with open(path, "rb", buffering=0) as file:
        tables = iter_segment(file, decoder, 0, path.stat().st_size, 0, _UNTIL, CHUNK_BYTES)
        return sum(table.num_rows for table in tables)


def aiokafka_to_arrow(data: bytes) -> int:
    """A reader that makes an object per record in C."""

    def records() -> Iterator[tuple[Any, ...]]:
        found = AiokafkaRecords(data)
        while found.has_next():
            batch = found.next_batch()
            assert batch is not None
            for record in batch:
                yield record.key, record.value, record.offset, record.timestamp, record.timestamp_type

    return _to_arrow(records())


def python_to_arrow(data: bytes) -> int:
    """The broker's own record classes."""

    def records() -> Iterator[tuple[Any, ...]]:
        for batch in MemoryRecords.readable_records(data).batches():
            kind = batch.timestamp_type().id
            for record in batch:
                yield record.key(), record.value(), record.offset(), record.timestamp(), kind

    return _to_arrow(records())


def _to_arrow(records: Iterator[tuple[Any, ...]]) -> int:
    total = 0
    while chunk := list(itertools.islice(records, _ROWS_PER_TABLE)):
        keys, values, offsets, timestamps, kinds = zip(*chunk, strict=True)
        n = len(chunk)
        columns = [
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            pa.array([TOPIC] * n, pa.string()),
            pa.array(np.zeros(n, np.int32)),
            pa.array(offsets, pa.int64()),
            pa.array(np.array(timestamps, np.int64) * 1000).cast(SCHEMA.field("timestamp").type),
            pa.array(kinds, pa.int32()),
        ]
        total += pa.RecordBatch.from_arrays(columns, schema=SCHEMA).num_rows
    return total


def check_headers(data: bytes) -> int:
    """Headers of all batches and their checksums; returns the number of records."""
    view, records = memoryview(data), 0
    while len(view):
        headers, consumed = batch_headers(view, min(len(view), CHUNK_BYTES))
        assert headers.crc_valid(view).all()
        records += int(headers.count.sum())
        view = view[consumed:]
    return records


def contest(contestants: dict[str, Run], rounds: int) -> dict[str, float]:
    """Contestant -> records per processor second, of its best round."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.process_time()
            records = run()
            best[name] = max(best.get(name, 0.0), records / (time.process_time() - start))
    return best


def measure(name: str, records: int, rounds: int, home: pathlib.Path) -> tuple[dict[str, float], float]:
    """The figures of one data set, and the bytes of one of its records."""
    make, encoder = DATA[name]
    table = make(records)
    data = encoder.encode(table)
    path = home / f"{name}.log"
    path.write_bytes(data)
    few = encoder.encode(table.slice(0, FAST_READER_RECORDS))
    fewer = encoder.encode(table.slice(0, SLOW_READER_RECORDS))
    with_headers = (*COLUMNS, "headers") if name == "headers" else COLUMNS
    target = memoryview(bytearray(data))

    def copy() -> int:
        target[:] = data
        return records

    contestants: dict[str, Run] = {
        "decode": lambda: decode(path, with_headers),
        "decode, CRCs unchecked": lambda: decode(path, with_headers, check_crcs=False),
        "decode value only": lambda: decode(path, ("value",)),
        "aiokafka C -> Arrow": lambda: aiokafka_to_arrow(few),
        "record classes -> Arrow": lambda: python_to_arrow(fewer),
        "encode": lambda: sum(batch.count for batch in encoder.encode_batches(table)),
        "batch headers + CRC": lambda: check_headers(data),
        "memcpy": copy,
    }
    figures = contest(contestants, rounds)
    path.unlink()
    return figures, len(data) / records


def bars(figures: dict[str, dict[str, float]], bytes_of: dict[str, float]) -> Iterator[list[str]]:
    """The bars that can be held against what was measured."""
    for what, beside, data, floor in BARS:
        if data in figures:
            found = figures[data]
            measured = found[what] / found[beside] if beside else found[what] * bytes_of[data] / 1e9
            text = f"{what} / {beside}" if beside else f"{what}, GB/s"
            yield [text, number(floor), number(measured), "reached" if measured >= floor else "missed"]


def main(arguments: Iterable[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.arrow")
    parser.add_argument("-r", "--records", type=int, default=500_000)
    parser.add_argument("-n", "--rounds", type=int, default=9)
    parser.add_argument("-d", "--data", default=",".join(DATA), help=f"of {', '.join(DATA)}")
    options = parser.parse_args(None if arguments is None else list(arguments))
    machine = environment()
    print(f"{machine['cpu']}, Python {machine['python']}, numpy {np.__version__}, pyarrow {pa.__version__}")
    figures: dict[str, dict[str, float]] = {}
    bytes_of: dict[str, float] = {}
    lines = []
    with tempfile.TemporaryDirectory() as home:
        for name in options.data.split(","):
            found, size = measure(name, options.records, options.rounds, pathlib.Path(home))
            figures[name], bytes_of[name] = found, size
            for contestant, rate in found.items():
                lines.append(
                    [
                        name,
                        contestant,
                        number(rate / 1e6),
                        number(rate * size / 1e6),
                        number(found["decode"] / rate),
                    ]
                )
    print(markdown(("data", "what", "M records/s", "MB/s of file", "decode is so many times as fast"), lines))
    print(markdown(("bar", "at least", "measured", ""), list(bars(figures, bytes_of))))


if __name__ == "__main__":
    main()
