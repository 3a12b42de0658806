"""Bases for requests and responses that are no more than the fields of their schema.

Ours: the classes that need more than this grow their own fields and lose this base.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Type
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse


def values_of(struct: Struct) -> dict[str, Any]:
    """A struct's fields by name; nested structs become dicts as well."""
    return {field.definition.name: _plain(struct.get(field)) for field in struct.schema.fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return values_of(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def struct_of(schema: Schema, values: dict[str, Any]) -> Struct:
    """A struct of those fields that the schema has; what it has and ``values`` lack is left to the defaults."""
    struct = Struct(schema)
    for field in schema.fields:
        definition = field.definition
        if definition.name in values:
            struct.values[field.index] = _structured(definition.type, values[definition.name])
    return struct


def _structured(type_: Type, value: Any) -> Any:
    if isinstance(type_, Schema) and isinstance(value, dict):
        return struct_of(type_, value)
    if isinstance(type_, ArrayOf) and value is not None:
        return [_structured(type_.type, item) for item in value]
    return value


class SchemaBackedRequest(AbstractRequest):
    """A request that holds its fields under their names.

    ``values`` may hold fields that only some versions have: to_struct takes those that its version has.
    """

    __slots__ = ("values",)

    class Builder(AbstractRequest.Builder):
        """Holds the fields until the version is known."""

        def __init__(
            self,
            request_class: type[SchemaBackedRequest],
            values: dict[str, Any],
            oldest_allowed_version: int | None = None,
            latest_allowed_version: int | None = None,
        ) -> None:
            super().__init__(request_class.API_KEY, oldest_allowed_version, latest_allowed_version)
            self._request_class = request_class
            self._values = values

        def build(self, version: int | None = None) -> SchemaBackedRequest:
            return self._request_class(self._version_or_latest(version), self._values)

        def __str__(self) -> str:
            return f"(type={self._request_class.__name__}, {self._values})"

    def __init__(self, version: int, values: dict[str, Any]) -> None:
        super().__init__(version)
        self.values = values

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> Self:
        return cls(version, values_of(struct))

    def to_struct(self) -> Struct:
        return struct_of(self.API_KEY.request_schema(self._version), self.values)


class SchemaBackedResponse(AbstractResponse):
    """A response that holds its fields under their names, whatever the version it will be written in."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @classmethod
    def from_struct(cls, struct: Struct) -> Self:
        return cls(values_of(struct))

    def to_struct(self, version: int) -> Struct:
        return struct_of(self.API_KEY.response_schema(version), self.values)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return int(self.values.get("throttle_time_ms", self.DEFAULT_THROTTLE_TIME))

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(Errors.for_code(code) for code in _error_codes(self.values))


def _error_codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "error_code":
                yield item
            else:
                yield from _error_codes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _error_codes(item)
