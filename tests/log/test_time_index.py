"""TimeIndex: look-ups, what may be appended, truncation, sanity checks."""

from __future__ import annotations

import pathlib
import struct

import pytest

from kafka_py.common.errors import CorruptIndexException, IllegalStateException, InvalidOffsetException
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.time_index import TimeIndex

BASE_OFFSET = 45
MAX_ENTRIES = 30


@pytest.fixture
def idx(tmp_path: pathlib.Path) -> TimeIndex:
    return TimeIndex(tmp_path / "45.timeindex", BASE_OFFSET, MAX_ENTRIES * 12)


def append_entries(idx: TimeIndex, number: int) -> None:
    for i in range(1, number + 1):
        idx.maybe_append(i * 10, i * 10 + BASE_OFFSET)


@pytest.mark.ported("TimeIndexTest.testLookUp")
def test_lookup(idx: TimeIndex) -> None:
    assert idx.lookup(100) == TimestampOffset(-1, BASE_OFFSET)
    append_entries(idx, MAX_ENTRIES - 1)
    assert idx.lookup(9) == TimestampOffset(-1, BASE_OFFSET)
    assert idx.lookup(25) == TimestampOffset(20, 65)
    assert idx.lookup(30) == TimestampOffset(30, 75)
    assert idx.lookup(10**15) == TimestampOffset(290, 335)


@pytest.mark.ported("TimeIndexTest.testTruncate")
def test_truncate(idx: TimeIndex) -> None:
    append_entries(idx, MAX_ENTRIES - 1)
    idx._truncate()
    assert idx.entries == 0
    append_entries(idx, MAX_ENTRIES - 1)
    idx.truncate_to(10 + BASE_OFFSET)
    assert idx.entries == 0
    append_entries(idx, 3)
    idx.truncate_to(25 + BASE_OFFSET)
    assert idx.last_entry == TimestampOffset(20, 65)


@pytest.mark.ported("TimeIndexTest.testAppend")
def test_append(idx: TimeIndex) -> None:
    append_entries(idx, MAX_ENTRIES - 1)
    with pytest.raises(ValueError, match="full time index"):
        idx.maybe_append(10000, 1000)
    with pytest.raises(InvalidOffsetException):
        idx.maybe_append(10000, (MAX_ENTRIES - 2) * 10, skip_full_check=True)
    with pytest.raises(IllegalStateException):
        idx.maybe_append(5, 1000, skip_full_check=True)
    idx.maybe_append(10000, 1000, skip_full_check=True)
    assert idx.entries == MAX_ENTRIES


def test_same_timestamp_is_ignored(idx: TimeIndex) -> None:
    idx.maybe_append(10, 50)
    idx.maybe_append(10, 51)
    idx.maybe_append(-1, 40) if idx.entries == 0 else None
    assert idx.entries == 1
    idx.close()
    assert idx.file.read_bytes() == struct.pack(">qi", 10, 5)


@pytest.mark.ported("TimeIndexTest.testSanityCheck", changes="the file is damaged instead of overriding methods")
def test_sanity_check(idx: TimeIndex) -> None:
    idx.sanity_check()
    append_entries(idx, 5)
    idx.sanity_check()
    idx.close()
    good = idx.file.read_bytes()
    for damaged in (
        good[:-12] + struct.pack(">qi", 50, -1),  # last offset below the base
        good[:-12] + struct.pack(">qi", 9, 50),  # last timestamp below the first
        good[:-1],
    ):
        idx.file.write_bytes(damaged)
        with pytest.raises(CorruptIndexException):
            TimeIndex(idx.file, BASE_OFFSET).sanity_check()
    idx.file.write_bytes(good)
    TimeIndex(idx.file, BASE_OFFSET).sanity_check()


def test_last_entry_follows_resizes(idx: TimeIndex) -> None:
    append_entries(idx, 2)
    idx.trim_to_valid_size()
    assert idx.last_entry == TimestampOffset(20, 65)
    assert not idx.resize(24)
    assert idx.resize(MAX_ENTRIES * 12)
    append_entries_from = TimestampOffset(30, 75)
    idx.maybe_append(*append_entries_from)
    assert idx.last_entry == append_entries_from
    assert idx.entry(2) == TimestampOffset(30, 30)
    with pytest.raises(ValueError, match="3th entry"):
        idx.entry(3)
