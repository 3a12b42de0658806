"""docs/answers.md answers every exercise of every page, and what it computes is so."""

from __future__ import annotations

import pathlib
import re

import pytest

from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.log import Log
from kafka_py.log.log_segment import LogSegment
from kafka_py.log.offset_index import OffsetIndex
from kafka_py.log.time_index import TimeIndex
from kafka_py.log.transaction_index import TransactionIndex
from kafka_py.testing.mock_time import MockTime

ROOT = pathlib.Path(__file__).parents[2]
ANSWERS = (ROOT / "docs/answers.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"^(\d+)\. ", re.M)
SECTIONS = dict(re.findall(r"^\(\[the page\]\((.+?)\)\)\n(.*?)(?=^## |\Z)", ANSWERS, re.M | re.S))
PAGES = [
    page for page in sorted((ROOT / "docs").glob("*.md")) if "\n## Exercises\n" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_exercise_has_an_answer(page: pathlib.Path) -> None:
    exercises = page.read_text(encoding="utf-8").partition("\n## Exercises\n")[2]
    assert NUMBER.findall(SECTIONS[page.name]) == NUMBER.findall(exercises)


def test_the_tests_that_it_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", ANSWERS)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_how_many_entries_the_index_of_a_thousand_small_batches_has(tmp_path: pathlib.Path) -> None:
    segment = LogSegment(
        FileRecords.open(Log.log_file(tmp_path, 0)),
        OffsetIndex(Log.offset_index_file(tmp_path, 0), 0, 1000),
        TimeIndex(Log.time_index_file(tmp_path, 0), 0, 1500),
        TransactionIndex(0, Log.transaction_index_file(tmp_path, 0)),
        0,
        4096,
        0,
        2**31 - 1,
        2**31 - 1,
        MockTime(),
    )
    for offset in range(1000):
        batch = MemoryRecords.with_records(SimpleRecord(1, value=b"v"), initial_offset=offset)
        assert batch.size_in_bytes() == 69
        segment.append(offset, offset, 1, offset, batch)
    index = segment.offset_index
    assert [index.entry(n).offset for n in range(index.entries)] == list(range(60, 1000, 60))
    assert index.entries == 16
    segment.close_handlers()


def test_where_partition_7_goes() -> None:
    assigned = AdminUtils.assign_replicas_to_brokers([BrokerMetadata(id, None) for id in range(5)], 8, 3, 0, 0)
    assert assigned[7] == [2, 4, 0]
