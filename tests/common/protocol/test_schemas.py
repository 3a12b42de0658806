"""The schemas are those of Kafka 1.1.1, and read and write what others have written."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Type
from kafka_py.common.requests.fetch_request_data import FetchRequestData
from kafka_py.common.requests.fetch_response_data import FetchResponseData
from kafka_py.common.requests.produce_request_data import ProduceRequestData
from kafka_py.common.requests.produce_response_data import ProduceResponseData
from tests.common.protocol.golden import ALL_KEYS, DATA, golden, golden_of, latest_declared

SCHEMAS_1_1_1: dict[str, Any] = json.loads((DATA / "protocol_schemas_1_1_1.json").read_text())
KEYS = ALL_KEYS


def described(type_: Type) -> Any:
    if isinstance(type_, Schema):
        return [field_described(type_, i) for i in range(type_.num_fields())]
    if isinstance(type_, ArrayOf):
        return {"nullable_array" if type_.nullable else "array": described(type_.type)}
    return type_.name


def field_described(schema: Schema, slot: int) -> list[Any]:
    definition = schema.fields[slot].definition
    row = [definition.name, described(definition.type)]
    if definition.has_default_value:
        row.append("null" if definition.default_value is None else str(definition.default_value))
    return row


def plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.definition.name: plain(value.get(field)) for field in value.schema.fields}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, memoryview):
        return base64.b64encode(value).decode()
    return value


def test_there_are_176_schemas_of_1_1_1() -> None:
    assert len(SCHEMAS_1_1_1) == 176


@pytest.mark.parametrize("name", SCHEMAS_1_1_1)
def test_schema_equals_that_of_1_1_1(name: str) -> None:
    key_id, key_name, version, kind = name.split(".")
    key = ApiKeys.for_id(int(key_id))
    assert key.name == key_name
    schema = (key.request_schema if kind == "request" else key.response_schema)(int(version[1:]))
    assert described(schema) == SCHEMAS_1_1_1[name]


def test_only_these_keys_have_later_versions_than_1_1_1() -> None:
    of_1_1_1 = [key for key in ApiKeys.values() if key.id <= 42]
    latest = {k.split(".")[0]: max(int(n.split(".")[2][1:]) for n in SCHEMAS_1_1_1 if n.startswith(k.split(".")[0] + ".")) for k in SCHEMAS_1_1_1}  # fmt: skip # noqa: E501
    later = {key.name: key.latest_version() for key in of_1_1_1 if key.latest_version() != latest[str(key.id)]}
    assert later == {
        "Produce": 8,
        "Fetch": 11,
        "ListOffsets": 5,
        "Metadata": 9,
        "LeaderAndIsr": 4,
        "StopReplica": 2,
        "UpdateMetadata": 6,
        "ControlledShutdown": 3,
        "OffsetCommit": 8,
        "OffsetFetch": 7,
        "FindCoordinator": 3,
        "JoinGroup": 7,
        "Heartbeat": 4,
        "LeaveGroup": 4,
        "SyncGroup": 5,
        "DescribeGroups": 5,
        "ListGroups": 3,
        "ApiVersions": 3,
        "InitProducerId": 3,
        "OffsetForLeaderEpoch": 3,
        "AddPartitionsToTxn": 4,
        "AddOffsetsToTxn": 1,
        "EndTxn": 1,
        "TxnOffsetCommit": 3,
        "DeleteGroups": 2,
    }


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.name)
def test_golden_messages_are_read_and_written_again(key: ApiKeys) -> None:
    messages = golden_of(key)
    assert messages
    for message in messages:
        view = memoryview(message.body)
        struct, end = message.schema.read_from(view, 0)
        assert end == len(view), message.id
        assert struct.to_bytes() == message.body, message.id
        assert struct.size_of() == len(message.body), message.id
        if message.values is not None:
            assert plain(struct) == message.values, message.id


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.name)
def test_compiled_code_does_what_the_walk_does(key: ApiKeys) -> None:
    for message in golden_of(key):
        schema = message.schema
        struct, _ = schema.read_at(memoryview(message.body), 0)
        assert struct == schema.read(message.body), message.id
        parts: list[Any] = []
        schema.write_walking(parts, struct)
        assert b"".join(parts) == message.body, message.id


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.name)
def test_every_strict_prefix_raises_schema_exception(key: ApiKeys) -> None:
    for message in golden_of(key):
        if not message.id.endswith(".typical"):
            continue
        size = len(message.body)
        for cut in range(0, size, 1 + size // 100):
            with pytest.raises(SchemaException):
                message.schema.read(message.body[:cut])


@pytest.mark.parametrize("key", KEYS, ids=lambda k: k.name)
def test_flipped_bytes_are_read_or_raise_schema_exception(key: ApiKeys) -> None:
    read = refused = 0
    for message in golden_of(key):
        if not message.id.endswith(".typical"):
            continue
        for position in range(0, len(message.body), 1 + len(message.body) // 40):
            damaged = bytearray(message.body)
            damaged[position] ^= 0xFF
            try:
                message.schema.read(damaged)
                read += 1
            except SchemaException:
                refused += 1
    assert read + refused > 0 or key is ApiKeys.LIST_GROUPS


def test_golden_messages_cover_every_schema() -> None:
    covered = {(message.key.id, message.is_request, message.version) for message in golden()}
    wanted = {
        (key.id, is_request, version)
        for key in KEYS
        for version in range(latest_declared(key) + 1)
        for is_request in (True, False)
    }
    assert wanted - covered == set()


# Latest version and first flexible one of Kafka 2.5.1's client surface; 4 to 7 and 27, for brokers only, as in 1.1.1;
# 24 as in 3.7.1, for what brokers ask brokers
NONE = 32767
DECLARED = {
    0: (8, NONE), 1: (11, NONE), 2: (5, NONE), 3: (9, 9), 4: (4, 4), 5: (2, 2), 6: (6, 6), 7: (3, 3),
    8: (8, 8), 9: (7, 6), 10: (3, 3), 11: (7, 6), 12: (4, 4), 13: (4, 4), 14: (5, 4), 15: (5, 5), 16: (3, 3),
    17: (1, NONE), 18: (3, 3), 19: (5, 5), 20: (4, 4), 21: (1, NONE), 22: (3, 2), 23: (3, NONE), 24: (4, 3),
    25: (1, NONE), 26: (1, NONE), 27: (0, NONE), 28: (3, 3), 29: (2, 2), 30: (2, 2), 31: (2, 2), 32: (2, NONE),
    33: (1, NONE), 34: (1, NONE), 35: (1, NONE), 36: (2, 2), 37: (2, 2), 38: (2, 2), 39: (2, 2), 40: (2, 2),
    41: (2, 2), 42: (2, 2), 43: (2, 2), 44: (1, 1), 45: (0, 0), 46: (0, 0), 47: (0, NONE),
}  # fmt: skip


def test_all_versions_of_the_client_surface_are_declared() -> None:
    assert {key.id for key in KEYS} == set(DECLARED)
    flat = {
        ApiKeys.PRODUCE: (ProduceRequestData, ProduceResponseData),
        ApiKeys.FETCH: (FetchRequestData, FetchResponseData),
    }
    for key in KEYS:
        for declared in flat.get(key) or (key.request_class(), key.response_class()):
            latest_and_flexible = (declared.LATEST, declared.FLEXIBLE)
            assert latest_and_flexible == DECLARED[key.id], declared
        assert key.latest_version() <= DECLARED[key.id][0]
