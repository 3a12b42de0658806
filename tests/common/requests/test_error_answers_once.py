"""The answer to a request that names something twice, or nothing under a name, is what Kafka's maps make of it."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_py.common.errors import UnknownServerException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest

Topic = ListOffsetRequest.Topic


def topic(name: str, *partitions: int) -> ListOffsetRequest.Topic:
    return Topic(topic=name, partitions=[Topic.Partition(partition=p, timestamp=-1) for p in partitions])


def test_what_is_named_twice_is_answered_once() -> None:
    topics = [topic("a", 0, 1), topic("empty"), topic("a", 1, 2)]
    request = ListOffsetRequest(version=1, replica_id=-1, topics=topics)
    answer = request.get_error_response(0, UnknownServerException("no"))
    named = [(t.topic, [p.partition for p in t.partition_responses]) for t in answer.responses]
    assert named == [("a", [0, 1, 2])]


def test_a_question_that_is_a_list_is_answered_as_it_was_asked() -> None:
    assert OffsetsForLeaderEpochRequest.EACH_ONCE
    body = b"\x00\x00\x00\x02\x00\x01a\x00\x01a"
    metadata: Any = AbstractRequest.parse_request(ApiKeys.METADATA, 1, memoryview(body))
    answer = metadata.get_error_response(0, UnknownServerException("no"))
    assert [t.topic for t in answer.topic_metadata()] == ["a", "a"]


@pytest.mark.parametrize("level", [2, 9, -1])
def test_an_isolation_level_that_does_not_exist_is_refused_when_it_is_read(level: int) -> None:
    body = ListOffsetRequest(version=2, replica_id=-1, isolation_level=level, topics=[]).to_struct().to_bytes()
    with pytest.raises(ValueError, match=str(level)):
        AbstractRequest.parse_request(ApiKeys.LIST_OFFSETS, 2, memoryview(body))


@pytest.mark.parametrize("key", [ApiKeys.DESCRIBE_CONFIGS, ApiKeys.ALTER_CONFIGS])
def test_a_type_of_resource_that_does_not_exist_is_answered_as_unknown(key: ApiKeys) -> None:
    body = b"\x00\x00\x00\x01\x09\x00\x01a\x00\x00\x00\x00\x00"
    request: Any = AbstractRequest.parse_request(key, 0, memoryview(body))
    answer = request.get_error_response(0, UnknownServerException("no"))
    assert [(entry.resource_type, entry.resource_name) for entry in answer.resources] == [(0, "a")]
