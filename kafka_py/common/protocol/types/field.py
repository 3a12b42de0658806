"""A named member of a schema.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/Field.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema
    from kafka_py.common.protocol.types.type import Type


class _NoDefault:
    """Tells a field without a default from one whose default is None."""


NO_DEFAULT = _NoDefault()


class Field:
    """Name, type, documentation and default of a member of a schema.

    Mirrors: org.apache.kafka.common.protocol.types.Field
    """

    __slots__ = ("default_value", "doc_string", "has_default_value", "name", "type")

    def __init__(self, name: str, type: Type, doc_string: str | None = None, default_value: Any = NO_DEFAULT) -> None:
        self.name = name
        self.type = type
        self.doc_string = doc_string
        self.has_default_value = default_value is not NO_DEFAULT
        self.default_value = None if default_value is NO_DEFAULT else default_value
        if self.has_default_value:
            type.validate(default_value)

    def __repr__(self) -> str:
        return f"{self.name}:{self.type}"


class BoundField:
    """A field at its place in one schema.

    Mirrors: org.apache.kafka.common.protocol.types.BoundField
    """

    __slots__ = ("definition", "index", "schema")

    def __init__(self, definition: Field, schema: Schema, index: int) -> None:
        self.definition = definition
        self.schema = schema
        self.index = index

    def __str__(self) -> str:
        return f"{self.definition.name}:{self.definition.type}"
