"""The requests of benchmarks/coordinator.py, read by our schemas, and answers written by our schemas, read by it."""

from __future__ import annotations

import pytest

from benchmarks import coordinator
from benchmarks.frames import BrokerError
from kafka_py.common.protocol.api_keys import ApiKeys
from tests.benchmarks.test_frames import answer, read

IDS = range(coordinator.PARTITIONS)


def values_of(fields: object) -> list[object]:
    """All numbers and texts, in their order."""
    if isinstance(fields, dict):
        return [value for each in fields.values() for value in values_of(each)]
    if isinstance(fields, list):
        return [value for each in fields for value in values_of(each)]
    return [fields]


def test_offset_commit() -> None:
    found = values_of(read(coordinator.offset_commit_request("g", "t", 7), ApiKeys.OFFSET_COMMIT))
    assert found == ["g", -1, "", -1, "t", *(value for partition in IDS for value in (partition, 7, ""))]


def test_offset_fetch() -> None:
    assert values_of(read(coordinator.offset_fetch_request("g", "t"), ApiKeys.OFFSET_FETCH)) == ["g", "t", *IDS]


def told(key: ApiKeys, version: int, *of_each: object) -> bytes:
    """The answer about topic t whose partitions all say the same behind their number."""
    schema = key.response_schema(version)
    topics = schema.fields[-1].definition
    topic, partitions = (field.definition for field in topics.type.type.fields)  # type: ignore[attr-defined]
    names = [field.definition.name for field in partitions.type.type.fields]
    rows = [dict(zip(names, (partition, *of_each), strict=True)) for partition in IDS]
    return answer(schema, {topics.name: [{topic.name: "t", partitions.name: rows}]})


def test_answers() -> None:
    coordinator.parse_offset_commit(told(ApiKeys.OFFSET_COMMIT, 2, 0), "t")
    assert coordinator.parse_offset_fetch(told(ApiKeys.OFFSET_FETCH, 1, 7, "said", 0), "t") == {7}


def test_answers_of_a_coordinator_that_is_not_there_yet() -> None:
    with pytest.raises(BrokerError, match="OffsetCommit: error 14"):
        coordinator.parse_offset_commit(told(ApiKeys.OFFSET_COMMIT, 2, 14), "t")
    with pytest.raises(BrokerError, match="OffsetFetch: error 14"):
        coordinator.parse_offset_fetch(told(ApiKeys.OFFSET_FETCH, 1, -1, "", 14), "t")
