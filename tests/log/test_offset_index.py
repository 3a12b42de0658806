"""OffsetIndex: look-ups, bounds, truncation, the bytes in the file, and a full disk."""

from __future__ import annotations

import errno
import os
import pathlib
import random
import struct

import pytest

from kafka_py.common.errors import CorruptIndexException, InvalidOffsetException
from kafka_py.log.index_entry import OffsetPosition
from kafka_py.log.offset_index import OffsetIndex

BASE_OFFSET = 45
MAX_ENTRIES = 30


@pytest.fixture
def idx(tmp_path: pathlib.Path) -> OffsetIndex:
    return OffsetIndex(tmp_path / "0.index", BASE_OFFSET, MAX_ENTRIES * 8)


def monotonic_seq(rand: random.Random, base: int, length: int) -> list[int]:
    values, last = [], base
    for _ in range(length):
        last += rand.randrange(15) + 1
        values.append(last)
    return values


@pytest.mark.ported("OffsetIndexTest.randomLookupTest")
def test_random_lookup(idx: OffsetIndex) -> None:
    assert idx.lookup(92) == OffsetPosition(BASE_OFFSET, 0)
    rand = random.Random(1)
    values = list(
        zip(monotonic_seq(rand, BASE_OFFSET + 1, MAX_ENTRIES), monotonic_seq(rand, 0, MAX_ENTRIES), strict=True)
    )
    for offset, position in values:
        idx.append(offset, position)
    for offset in range(BASE_OFFSET, values[-1][0] + 10):
        below = [v for v in values if v[0] <= offset]
        assert idx.lookup(offset) == (OffsetPosition(*below[-1]) if below else OffsetPosition(BASE_OFFSET, 0))


@pytest.mark.ported("OffsetIndexTest.lookupExtremeCases")
def test_lookup_extreme_cases(idx: OffsetIndex) -> None:
    assert idx.lookup(BASE_OFFSET) == OffsetPosition(BASE_OFFSET, 0)
    for i in range(idx.max_entries):
        idx.append(BASE_OFFSET + i + 1, i)
    assert idx.lookup(BASE_OFFSET) == OffsetPosition(BASE_OFFSET, 0)
    assert idx.lookup(BASE_OFFSET + MAX_ENTRIES) == OffsetPosition(BASE_OFFSET + MAX_ENTRIES, MAX_ENTRIES - 1)


@pytest.mark.ported("OffsetIndexTest.appendTooMany")
def test_append_too_many(idx: OffsetIndex) -> None:
    for i in range(MAX_ENTRIES):
        idx.append(BASE_OFFSET + i + 1, i)
    with pytest.raises(ValueError, match="full index"):
        idx.append(1000, 1)


@pytest.mark.ported("OffsetIndexTest.appendOutOfOrder")
def test_append_out_of_order(idx: OffsetIndex) -> None:
    idx.append(51, 0)
    with pytest.raises(InvalidOffsetException):
        idx.append(50, 1)


@pytest.mark.ported("OffsetIndexTest.testFetchUpperBoundOffset")
def test_fetch_upper_bound_offset(tmp_path: pathlib.Path) -> None:
    idx = OffsetIndex(tmp_path / "0.index", 0, MAX_ENTRIES * 8)
    first, second = OffsetPosition(0, 0), OffsetPosition(1, 10)
    third, fourth = OffsetPosition(2, 23), OffsetPosition(3, 37)
    assert idx.fetch_upper_bound_offset(first, 5) is None
    for entry in (first, second, third, fourth):
        idx.append(*entry)
    assert idx.fetch_upper_bound_offset(first, 5) == second
    assert idx.fetch_upper_bound_offset(first, 10) == second
    assert idx.fetch_upper_bound_offset(first, 23) == third
    assert idx.fetch_upper_bound_offset(first, 22) == third
    assert idx.fetch_upper_bound_offset(second, 24) == fourth
    assert idx.fetch_upper_bound_offset(fourth, 1) is None
    assert idx.fetch_upper_bound_offset(first, 200) is None
    assert idx.fetch_upper_bound_offset(second, 200) is None


@pytest.mark.ported("OffsetIndexTest.testReopen")
def test_reopen(idx: OffsetIndex) -> None:
    idx.append(51, 0)
    idx.append(52, 1)
    idx.close()
    reopened = OffsetIndex(idx.file, BASE_OFFSET)
    assert reopened.lookup(51) == OffsetPosition(51, 0)
    assert reopened.lookup(52) == OffsetPosition(52, 1)
    assert reopened.last_offset == 52
    assert reopened.entries == 2
    with pytest.raises(ValueError, match="full index"):
        reopened.append(53, 1)


@pytest.mark.ported("OffsetIndexTest.truncate")
def test_truncate(tmp_path: pathlib.Path) -> None:
    idx = OffsetIndex(tmp_path / "0.index", 0, 10 * 8)
    for i in range(1, 10):
        idx.append(i, i)
    for truncate_to, last in ((12, 9), (10, 9), (9, 8), (5, 4)):
        if truncate_to == 10:
            idx.append(10, 10)
        idx.truncate_to(truncate_to)
        assert idx.lookup(10) == OffsetPosition(last, last)
        assert idx.last_offset == last
    idx.truncate_to(0)
    assert idx.entries == 0
    idx.append(0, 0)
    assert idx.entries == 1


@pytest.mark.ported("OffsetIndexTest.forceUnmapTest")
def test_force_unmap(idx: OffsetIndex) -> None:
    idx.append(50, 0)
    idx._force_unmap()
    with pytest.raises(OSError, match="closed"):
        idx.lookup(47)


def test_file_is_preallocated_and_trimmed_and_holds_big_endian_pairs(idx: OffsetIndex) -> None:
    assert idx.file.stat().st_size == MAX_ENTRIES * 8
    idx.append(51, 7)
    idx.append(60, 4100)
    idx.trim_to_valid_size()
    assert idx.file.read_bytes() == struct.pack(">iiii", 6, 7, 15, 4100)
    assert idx.max_entries == 2
    idx.resize(MAX_ENTRIES * 8)
    idx.append(61, 5000)
    assert idx.entries == 3
    assert idx.lookup(1000) == OffsetPosition(61, 5000)


def test_max_index_size_is_rounded_down_and_checked(tmp_path: pathlib.Path) -> None:
    assert OffsetIndex(tmp_path / "1.index", 1, 67).max_entries == 8
    with pytest.raises(ValueError, match="Invalid max index size: 7"):
        OffsetIndex(tmp_path / "2.index", 2, 7)


def test_sanity_check(idx: OffsetIndex, tmp_path: pathlib.Path) -> None:
    idx.sanity_check()
    odd = tmp_path / "45.index"
    odd.write_bytes(struct.pack(">ii", 3, 0) + b"xyz")
    with pytest.raises(CorruptIndexException, match="neither positive nor a multiple of 8"):
        OffsetIndex(odd, BASE_OFFSET).sanity_check()
    odd.write_bytes(bytes(16))
    with pytest.raises(CorruptIndexException, match="no greater than the base offset 45"):
        OffsetIndex(odd, BASE_OFFSET).sanity_check()


def test_empty_file_is_an_empty_index(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "45.index"
    file.touch()
    idx = OffsetIndex(file, BASE_OFFSET, 80)
    assert idx.entries == 0
    assert idx.lookup(100) == OffsetPosition(BASE_OFFSET, 0)
    idx.sanity_check()


def test_full_disk_raises_oserror_and_changes_nothing(idx: OffsetIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    idx.append(50, 0)

    def no_space(fd: int, data: bytes, position: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", no_space)
    with pytest.raises(OSError, match="No space left"):
        idx.append(51, 100)
    assert (idx.entries, idx.last_offset) == (1, 50)


def test_read_only_index_takes_no_append(idx: OffsetIndex) -> None:
    idx.append(50, 0)
    idx.close()
    read_only = OffsetIndex(idx.file, BASE_OFFSET, writable=False)
    assert read_only.lookup(50) == OffsetPosition(50, 0)
    with pytest.raises(ValueError, match="full index"):
        read_only.append(51, 1)


def test_rename_and_delete(idx: OffsetIndex, tmp_path: pathlib.Path) -> None:
    idx.append(50, 3)
    idx.rename_to(tmp_path / "0.index.deleted")
    assert idx.file.name == "0.index.deleted"
    idx.append(51, 4)
    assert idx.delete_if_exists()
    assert not idx.delete_if_exists()


# ---- open files


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the files of this process")
def test_files_are_open_only_as_long_as_there_is_something_to_write_or_find(tmp_path: pathlib.Path) -> None:
    before = open_files()
    idx = OffsetIndex(tmp_path / "0.index", BASE_OFFSET, MAX_ENTRIES * 8)
    assert idx.lookup(BASE_OFFSET + 7) == OffsetPosition(BASE_OFFSET, 0)
    assert open_files() - before == 0, "an index without entries"
    idx.append(BASE_OFFSET + 1, 1)
    idx.append(BASE_OFFSET + 5, 2)
    assert idx.lookup(BASE_OFFSET + 7) == OffsetPosition(BASE_OFFSET + 5, 2)
    assert open_files() - before == 1, "what reads at the end needs no map"
    assert idx.lookup(BASE_OFFSET + 2) == OffsetPosition(BASE_OFFSET + 1, 1)
    idx.trim_to_valid_size()
    assert open_files() - before <= 1, "a segment that is not written to any more"
    assert idx.lookup(BASE_OFFSET + 2) == OffsetPosition(BASE_OFFSET + 1, 1)
    idx.truncate_to(BASE_OFFSET)
    idx.reset()
    idx.append(BASE_OFFSET + 3, 9)
    assert idx.entry(0) == OffsetPosition(3, 9)
    idx.delete_if_exists()
    assert open_files() - before == 0
    with pytest.raises(OSError, match="The index is closed"):
        idx.lookup(BASE_OFFSET + 1)


def test_without_a_descriptor_for_the_map_the_entries_are_read(
    idx: OffsetIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("kafka_py.log.abstract_index._new_map", refuse)
    for i in range(1, 5):
        idx.append(BASE_OFFSET + 2 * i, i)
    assert idx.lookup(BASE_OFFSET + 5) == OffsetPosition(BASE_OFFSET + 4, 2)
    idx.trim_to_valid_size()
    assert idx.lookup(BASE_OFFSET + 3) == OffsetPosition(BASE_OFFSET + 2, 1)
    monkeypatch.undo()
    assert idx.lookup(BASE_OFFSET + 5) == OffsetPosition(BASE_OFFSET + 4, 2)
