"""Every byte of a batch has its meaning."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.xray.batch_view import decode


def made(compression: CompressionType = CompressionType.NONE) -> bytes:
    """A batch with two records."""
    first, second = SimpleRecord(5, b"k", b"<b>"), SimpleRecord(6, None, b"\xff")
    records = MemoryRecords.with_records(first, second, compression_type=compression)
    return bytes(records.buffer)


def leaves(fields: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Start and end of the fields, records taken apart."""
    found: list[tuple[int, int]] = []
    for field in fields:
        if field["name"] == "record":
            found += leaves(field["children"])
        else:
            found.append((field["start"], field["end"]))
    return found


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.GZIP])
def test_no_byte_is_left_out_and_none_told_twice(compression: CompressionType) -> None:
    data = made(compression)
    places = leaves(decode(data))
    assert places[0][0] == 0
    assert places[-1][1] == len(data)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(places))


def test_values() -> None:
    fields = {field["name"]: field for field in decode(made())}
    assert (fields["magic"]["value"], fields["recordsCount"]["value"]) == (2, 2)
    assert {child["name"]: child["value"] for child in fields["attributes"]["children"]}["compression"] == "none"
    last = {child["name"]: child["value"] for child in fields["record"]["children"]}
    assert last["offsetDelta"] == 1


@pytest.mark.parametrize("cut", [0, 5, 30, 62, 70])
def test_bytes_that_end_too_early_are_shown_as_far_as_they_go(cut: int) -> None:
    places = leaves(decode(made()[:cut]))
    assert places[-1][1] == cut


def test_a_record_that_lies_about_its_length() -> None:
    data = bytearray(made())
    data[65] = 0x7E
    assert leaves(decode(bytes(data)))[-1][1] == len(data)
