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
    latest = {k.split(".")[0]: max(int(n.split(".")[2][1:]) for n in SCHEMAS_1_1_1 if n.startswith(k.split(".")[0] + ".")) for k in SCHEMAS_1_1_1}  # fmt: skip # noqa: E501
    later = {key.name: key.latest_version() for key in ApiKeys.values() if key.latest_version() != latest[str(key.id)]}
    assert later == {"Produce": 7, "Fetch": 11, "ApiVersions": 3}


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
