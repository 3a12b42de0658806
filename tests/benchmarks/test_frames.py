"""The load generators' requests, read by our schemas, and answers written by our schemas, read by them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from benchmarks import frames
from benchmarks.frames import Address, BrokerError
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.request_header import RequestHeader

NOW = 1_500_000_000_000


def read(request: bytes, key: ApiKeys) -> dict[str, Any]:
    """The fields of a request; all of its bytes belong to it."""
    (size,) = struct.unpack_from(">i", request)
    assert size == len(request) - 4
    header = RequestHeader.parse(memoryview(request)[4:])
    assert header.api_key is key
    assert header.client_id == frames.CLIENT_ID
    body = request[4 + header.size :]
    found = key.request_schema(header.api_version).read(memoryview(body))
    assert found.size_of() == len(body)
    fields: dict[str, Any] = plain(found)
    return fields


def plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.definition.name: plain(value.get(field)) for field in value.schema.fields}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def fill(target: Struct, values: dict[str, Any]) -> Struct:
    for name, value in values.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            target.set(name, [fill(target.instance(name), item) for item in value])
        elif isinstance(value, dict):
            target.set(name, fill(target.instance(name), value))
        else:
            target.set(name, value)
    return target


def answer(schema: Schema, values: dict[str, Any]) -> bytes:
    """A whole answer: size, correlation id, body."""
    body = fill(Struct(schema), values).to_bytes()
    return struct.pack(">ii", 4 + len(body), 7) + body


@pytest.mark.parametrize("value", [0, -1, 1, 63, 64, -64, -65, 8191, 8192, 2**31 - 1])
def test_varint_is_zigzag(value: int) -> None:
    encoded = frames.varint(value)
    number = sum((byte & 0x7F) << 7 * at for at, byte in enumerate(encoded))
    assert (number >> 1) ^ -(number & 1) == value
    assert all(byte & 0x80 for byte in encoded[:-1])


def test_record_batch_is_what_a_producer_builds() -> None:
    values = [b"a", b"bb" * 100, b""]
    expected = MemoryRecords.with_records(*(SimpleRecord(NOW, None, value, []) for value in values))
    built = bytearray(frames.record_batch(values, NOW))
    (batch,) = MemoryRecords(built).batches()
    batch.ensure_valid()
    batch.set_partition_leader_epoch(-1)  # what only a broker sets; of no account here
    assert bytes(built) == bytes(expected.buffer)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_produce_request(version: int) -> None:
    batch = frames.record_batch([b"x"], NOW)
    found = read(frames.produce_request(version, "top", 3, batch), ApiKeys.PRODUCE)
    (topic,) = found["topic_data"]
    assert (found["transactional_id"], found["acks"], topic["topic"]) == (None, 1, "top")
    (partition,) = topic["data"]
    assert partition["partition"] == 3
    assert bytes(getattr(partition["record_set"], "buffer", partition["record_set"])) == batch


@pytest.mark.parametrize("version", [4, 5, 6, 7])
def test_fetch_request(version: int) -> None:
    found = read(frames.fetch_request(version, "top", 2, 77, 4096, 300), ApiKeys.FETCH)
    assert (found["replica_id"], found["max_wait_time"], found["min_bytes"], found["max_bytes"]) == (-1, 300, 1, 4096)
    (topic,) = found["topics"]
    (partition,) = topic["partitions"]
    assert (topic["topic"], partition["partition"], partition["fetch_offset"]) == ("top", 2, 77)
    assert partition["max_bytes"] == 4096
    if version == 7:
        assert (found["session_id"], found["epoch"]) == (0, -1)


def test_requests_about_topics() -> None:
    created = read(frames.create_topic_request("top", 4), ApiKeys.CREATE_TOPICS)
    (topic,) = created["create_topic_requests"]
    assert (topic["topic"], topic["num_partitions"], topic["replication_factor"]) == ("top", 4, 1)
    assert read(frames.delete_topics_request(["a", "b"]), ApiKeys.DELETE_TOPICS)["topics"] == ["a", "b"]
    metadata = read(frames.metadata_request("top"), ApiKeys.METADATA)
    assert metadata == {"topics": ["top"], "allow_auto_topic_creation": False}
    read(frames.api_versions_request(), ApiKeys.API_VERSIONS)


def test_end_offset() -> None:
    found = read(frames.end_offset_request("top", 5), ApiKeys.LIST_OFFSETS)
    assert found["topics"] == [{"topic": "top", "partitions": [{"partition": 5, "timestamp": -1}]}]
    partition = {"partition": 5, "error_code": 0, "timestamp": -1, "offset": 123}
    response = {"responses": [{"topic": "top", "partition_responses": [partition]}]}
    assert frames.parse_end_offset(answer_without_throttle(response)) == 123


def answer_without_throttle(values: dict[str, Any]) -> bytes:
    return answer(ApiKeys.LIST_OFFSETS.response_schema(1), values)


def test_metadata_of_several_brokers_and_partitions() -> None:
    def partition(number: int, leader: int, error: int = 0) -> dict[str, Any]:
        return {
            "error_code": error,
            "partition": number,
            "leader": leader,
            "replicas": [1, 2],
            "isr": [leader],
        }

    response = {
        "throttle_time_ms": 0,
        "brokers": [
            {"node_id": 1, "host": "one", "port": 9001, "rack": None},
            {"node_id": 2, "host": "two", "port": 9002, "rack": "r"},
        ],
        "cluster_id": "c",
        "controller_id": 1,
        "topic_metadata": [
            {
                "error_code": 0,
                "topic": "top",
                "is_internal": False,
                "partition_metadata": [partition(0, 2), partition(1, 1), partition(2, -1, 5)],
            }
        ],
    }
    leaders = frames.parse_metadata(answer(ApiKeys.METADATA.response_schema(4), response))
    assert leaders == {0: Address("two", 9002), 1: Address("one", 9001)}


def test_api_versions() -> None:
    versions = [
        {"api_key": 0, "min_version": 0, "max_version": 5},
        {"api_key": 1, "min_version": 4, "max_version": 7},
    ]
    schema = ApiKeys.API_VERSIONS.response_schema(0)
    assert frames.parse_api_versions(answer(schema, {"error_code": 0, "api_versions": versions})) == {
        0: (0, 5),
        1: (4, 7),
    }
    with pytest.raises(BrokerError, match="error 35"):
        frames.parse_api_versions(answer(schema, {"error_code": 35, "api_versions": []}))


def test_refused_topics() -> None:
    refused = {"topic": "top", "error_code": 36, "error_message": "there"}
    created = answer(ApiKeys.CREATE_TOPICS.response_schema(2), {"throttle_time_ms": 0, "topic_errors": [refused]})
    with pytest.raises(BrokerError, match="CreateTopics of top: error 36") as caught:
        frames.parse_create_topic(created)
    assert caught.value.code == 36
    codes = [{"topic": "a", "error_code": 0}, {"topic": "b", "error_code": 3}]
    deleted = answer(ApiKeys.DELETE_TOPICS.response_schema(1), {"throttle_time_ms": 0, "topic_error_codes": codes})
    with pytest.raises(BrokerError, match="DeleteTopics of b: error 3"):
        frames.parse_delete_topics(deleted)


@pytest.mark.parametrize("version", [3, 5])
def test_error_of_a_produce(version: int) -> None:
    def response(code: int) -> bytes:
        partition = {"partition": 0, "error_code": code, "base_offset": 9, "log_append_time": -1}
        if version >= 5:
            partition["log_start_offset"] = 0
        values = {"responses": [{"topic": "top", "partition_responses": [partition]}], "throttle_time_ms": 0}
        return answer(ApiKeys.PRODUCE.response_schema(version), values)

    at = frames.produce_error_at("top")
    frames.check_produced(b"before" + response(0), at, 6)
    with pytest.raises(BrokerError, match="Produce: error 87"):
        frames.check_produced(response(87), at)


@pytest.mark.parametrize("version", [4, 5, 7])
@pytest.mark.parametrize("aborted", [None, [{"producer_id": 1, "first_offset": 2}] * 2])
def test_fetched_records(version: int, aborted: list[dict[str, int]] | None) -> None:
    batch = frames.record_batch([b"x"], NOW)
    header = {
        "partition": 0,
        "error_code": 0,
        "high_watermark": 11,
        "last_stable_offset": 11,
        "aborted_transactions": aborted,
    }
    if version >= 5:
        header["log_start_offset"] = 0
    partition = {"partition_header": header, "record_set": MemoryRecords(batch)}
    values: dict[str, Any] = {
        "throttle_time_ms": 0,
        "responses": [{"topic": "top", "partition_responses": [partition]}],
    }
    if version >= 7:
        values |= {"error_code": 0, "session_id": 0}
    whole = answer(ApiKeys.FETCH.response_schema(version), values)
    found = frames.parse_fetch(whole, version, len(whole))
    assert whole[found.start : found.end] == batch
    assert (found.end, found.high_watermark) == (len(whole), 11)


def test_fetch_without_partitions_brings_nothing() -> None:
    values = {"throttle_time_ms": 0, "error_code": 0, "session_id": 0, "responses": []}
    whole = answer(ApiKeys.FETCH.response_schema(7), values)
    found = frames.parse_fetch(whole, 7, len(whole))
    assert found.start == found.end
