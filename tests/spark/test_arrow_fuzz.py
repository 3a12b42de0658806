"""Damaged logs: the decoder reads what is right or raises CorruptRecordException, and nothing else ever happens."""

from __future__ import annotations

import functools
import pathlib
import random
import resource
from collections.abc import Callable

import pytest

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.spark.arrow_decoder import RecordBatchDecoder, iter_segment
from kafka_py.spark.batch_headers import HEADER_SIZE, BatchHeaders, batch_headers
from tests.spark.arrow_data import ALL_COLUMNS, FAR, Row, decoded, expected, random_log, rows_of, with_crc

# More than the arena that a batch may inflate to, far less than what lying lengths and counts ask for.
MEMORY_KIB = 500 << 10
# How many different logs and batches are damaged, each in many ways: to make one takes longer than to read it.
LOGS = 500
SPREAD_NUMBERS = (0, 1, 2, 127, 1 << 16, 1 << 30, (1 << 31) - 1, -1, -2, -(1 << 31))


def flip(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] ^= rng.randrange(1, 256)


def truncate(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    del data[rng.randrange(len(data)) :]


def cut_out(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.choice([1, 7, 100, 3000])]


def insert(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    start = rng.randrange(len(data))
    data[start:start] = rng.randbytes(rng.choice([1, 5, 61, 500]))


def blank(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    start = rng.randrange(len(data))
    size = min(rng.choice([4, 61, 1000]), len(data) - start)
    data[start : start + size] = bytes(size)


def repeat(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randrange(2000)]


def lie_about_size(rng: random.Random, data: bytearray, headers: BatchHeaders) -> None:
    at = int(rng.choice(headers.position.tolist())) + 8
    data[at : at + 4] = rng.choice(SPREAD_NUMBERS).to_bytes(4, "big", signed=True)


DAMAGES: list[Callable[[random.Random, bytearray, BatchHeaders], None]] = [
    *[flip] * 3,
    truncate,
    cut_out,
    insert,
    blank,
    repeat,
    lie_about_size,
]


def frozen(row: Row, with_offset: bool) -> tuple[object, ...]:
    key, value, offset, timestamp, kind, headers = row
    return key, value, offset if with_offset else None, timestamp, kind, tuple(headers or ())


@functools.cache
def small_log(seed: int) -> tuple[bytes, BatchHeaders, frozenset[tuple[object, ...]]]:
    """A log, where its batches are, and its rows without their offsets."""
    rng = random.Random(seed)
    data = random_log(rng, rng.choice([1, 3, 6]), largest=400)
    headers, _ = batch_headers(memoryview(data), len(data))
    return data, headers, frozenset(frozen(row, with_offset=False) for row in expected(data))


def check_damaged(seed: int, file: pathlib.Path) -> bool:
    """Whether the damage was noticed. With checksums on, what is read must have been written."""
    rng = random.Random(seed)
    data, headers, written = small_log(seed % LOGS)
    broken = bytearray(data)
    rng.choice(DAMAGES)(rng, broken, headers)
    file.write_bytes(broken)
    rows: list[Row] = []
    noticed = False
    with open(file, "rb", buffering=0) as opened:
        decoder = RecordBatchDecoder("t", 3, ALL_COLUMNS)
        try:
            for table in iter_segment(opened, decoder, 0, len(broken), 0, FAR, rng.choice([100, 3000, 1 << 20])):
                rows += rows_of([table])
        except CorruptRecordException:
            noticed = True
    # No checksum covers the eight bytes of the base offset: damaged there, a batch may claim other offsets.
    assert {frozen(row, with_offset=False) for row in rows} <= written
    with pytest_raises_nothing_else():
        decoded(bytes(broken), check_crcs=False)
    return noticed


class pytest_raises_nothing_else:  # noqa: N801 - reads as a function of pytest's would
    """Lets CorruptRecordException pass, as a with-block; any other exception fails the test."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, CorruptRecordException)


@functools.cache
def small_batch(seed: int) -> bytes:
    """A batch of magic 2 with records."""
    rng = random.Random(seed)
    while True:
        data = random_log(rng, 1, magics=(2,), largest=400)
        headers, _ = batch_headers(memoryview(data), len(data))
        size = int(headers.size[0])
        if size > HEADER_SIZE:
            return data[:size]


def lying_batch(seed: int) -> bytes:
    """A batch of magic 2 whose content was changed and whose checksum is right: written so by a bad client."""
    rng = random.Random(seed)
    broken = bytearray(small_batch(seed % LOGS))
    what = rng.randrange(6)
    if what == 0:  # the record count
        broken[57:61] = rng.choice(SPREAD_NUMBERS).to_bytes(4, "big", signed=True)
    elif what == 1:  # the last offset delta
        broken[23:27] = rng.choice(SPREAD_NUMBERS).to_bytes(4, "big", signed=True)
    elif what == 2:  # codec and other attributes
        broken[22] ^= rng.randrange(1, 256) & ~0x20
    elif what == 3:  # any byte of the records
        for _ in range(rng.choice([1, 2, 5])):
            broken[rng.randrange(HEADER_SIZE, len(broken))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    elif what == 4:  # a varint that does not end
        at = rng.randrange(HEADER_SIZE, len(broken))
        broken[at : at + rng.choice([0, 4, 9])] = b"\xff" * rng.choice([4, 5, 9, 10, 11])
    else:  # records too short or too long
        at = rng.randrange(HEADER_SIZE, len(broken))
        broken[at:at] = rng.randbytes(rng.choice([1, 30]))
    broken[8:12] = (len(broken) - 12).to_bytes(4, "big")
    return with_crc(bytes(broken))


def check_lying(seed: int) -> tuple[bool, bool]:
    """Whether the record classes and the decoder read it. Where both do, the rows must be the same."""
    data = lying_batch(seed)
    theirs: list[Row] | None
    ours: list[Row] | None
    try:
        theirs = expected(data)
    except (KafkaException, ValueError):
        theirs = None
    try:
        ours = decoded(data, -FAR)
    except CorruptRecordException:
        ours = None
    if theirs is not None and ours is not None:
        assert ours == theirs
    return theirs is not None, ours is not None


def memory_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_damage_gives_no_wrong_row(tmp_path: pathlib.Path, first: int) -> None:
    noticed = [check_damaged(seed, tmp_path / "x.log") for seed in range(first, first + 30)]
    assert any(noticed)
    assert not all(noticed)  # some damage only shortens the log


def test_lies_with_a_right_checksum() -> None:
    before = memory_kib()
    outcomes = [check_lying(seed) for seed in range(150)]
    assert {(False, False), (True, True)} <= set(outcomes)
    assert memory_kib() - before < MEMORY_KIB


@pytest.mark.slow
def test_ten_thousand_damaged_logs(tmp_path: pathlib.Path) -> None:
    before = memory_kib()
    for seed in range(1_000, 6_000):
        check_damaged(seed, tmp_path / "x.log")
    disagreed = sum(theirs != ours for theirs, ours in map(check_lying, range(1_000, 6_000)))
    assert disagreed < 500
    assert memory_kib() - before < MEMORY_KIB
