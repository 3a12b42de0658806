"""The end of a log is spoilt where its last batch is, and nowhere else."""

from __future__ import annotations

import pathlib
import struct

import pytest

from kafka_py.testing.log_tail import batches, corrupt_tail


def a_batch(offset: int, size: int) -> bytes:
    return struct.pack(">qi", offset, size - 12) + bytes([7]) * (size - 12)


@pytest.fixture
def partition(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two segments with records and an empty one."""
    (tmp_path / "00000000000000000000.log").write_bytes(a_batch(0, 100))
    (tmp_path / "00000000000000000001.log").write_bytes(a_batch(1, 100) + a_batch(2, 80))
    (tmp_path / "00000000000000000001.index").write_bytes(b"\0" * 8)
    (tmp_path / "00000000000000000003.log").write_bytes(b"")
    return tmp_path


def test_torn(partition: pathlib.Path) -> None:
    before = (partition / "00000000000000000001.log").read_bytes()
    spoilt = corrupt_tail(partition)
    assert spoilt.name == "00000000000000000001.log"
    assert spoilt.read_bytes() == before[:140]
    assert list(batches(spoilt)) == [(0, 100), (100, 140)]


def test_crc(partition: pathlib.Path) -> None:
    before = (partition / "00000000000000000001.log").read_bytes()
    assert corrupt_tail(partition, "crc").read_bytes() == before[:-1] + bytes([before[-1] ^ 1])


def test_index(partition: pathlib.Path) -> None:
    spoilt = corrupt_tail(partition, "index")
    assert spoilt.name == "00000000000000000001.index"
    assert len(spoilt.read_bytes()) % 8 != 0


def test_what_cannot_be_spoilt(partition: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="none of torn, crc, index"):
        corrupt_tail(partition, "melted")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="No records"):
        corrupt_tail(tmp_path / "empty")


def test_zeros_at_the_end_count_as_one_batch(tmp_path: pathlib.Path) -> None:
    segment = tmp_path / "0.log"
    segment.write_bytes(a_batch(0, 50) + bytes(30))
    assert list(batches(segment)) == [(0, 50), (50, 80)]
