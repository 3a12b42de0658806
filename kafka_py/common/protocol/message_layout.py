"""How the values of a schema become the attributes of a message, and the other way round.

Ours; see message.py. The compiled readers and writers (types/schema_compiler.py) know it by heart; the walk here is for
messages that they refuse, and says why.
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.message_field import TAGS, FieldSpec
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.schema_compiler import Unboxed
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Type


class Layout:
    """How a schema's values become a message's attributes: what the compiler needs besides the schema."""

    def __init__(self, cls: Any, version: int, absent: list[FieldSpec]) -> None:
        self.cls = cls
        self.version = version
        self.absent = absent
        self.attributes = {spec.wire: spec.name for spec in cls.FIELDS}
        self.tagged = {spec.tag: spec for spec in cls.FIELDS if spec.tag is not None and spec not in absent}

    def to_struct(self, schema: Schema, message: Any) -> Struct:
        """The struct that says what a message says at this version."""
        self.check(message)
        values = []
        for bound in schema.fields:
            name, type_ = bound.definition.name, bound.definition.type
            if name == TAGS:
                values.append(self.tags(message))
            else:
                values.append(_to_struct(type_, getattr(message, self.attributes[name])))
        return Struct(schema, values)

    def from_struct(self, struct: Struct) -> Any:
        """The message that says what a struct says."""
        message = self.cls.blank()
        for attribute, argument in self.cls.ARGUMENTS.items():
            setattr(message, attribute, argument.default)
        for spec in self.absent:
            setattr(message, spec.name, spec.absent_value())
        for bound, value in zip(struct.schema.fields, struct.values, strict=True):
            if bound.definition.name == TAGS:
                self.set_tags(message, value)
            else:
                attribute = self.attributes[bound.definition.name]
                setattr(message, attribute, _from_struct(bound.definition.type, value))
        return message

    def check(self, message: Any) -> None:
        """UnsupportedVersionException if the message says what this version cannot say."""
        for spec in self.absent:
            if not spec.ignorable and getattr(message, spec.name) != spec.absent_value():
                raise UnsupportedVersionException(
                    f"Attempted to write a non-default {spec.name} at version {self.version}"
                )

    def tags(self, message: Any) -> dict[int, Any]:
        """The tagged fields that differ from their defaults, and those that were read and are not known."""
        values: dict[int, Any] = dict(message.unknown_tagged_fields())
        for tag, spec in self.tagged.items():
            value = getattr(message, spec.name)
            if value != spec.absent_value():
                values[tag] = _to_struct(spec.type_at(self.version, True), value)
        return values

    def set_tags(self, message: Any, values: dict[int, Any]) -> None:
        """Take the tagged fields that were read; those that are not known are kept as they are."""
        for tag, spec in self.tagged.items():
            known = tag in values
            value = _from_struct(spec.type_at(self.version, True), values.pop(tag)) if known else spec.absent_value()
            setattr(message, spec.name, value)
        if values:
            message.unknown_tags = values


def _to_struct(type_: Type, value: Any) -> Any:
    if isinstance(type_, ArrayOf):
        return None if value is None else [_to_struct(type_.type, item) for item in value]
    if not isinstance(type_, Schema) or value is None:
        return value
    if type_.layout is Unboxed:
        return Struct(type_, [_to_struct(type_.fields[0].definition.type, value), {}])
    return type_.layout.to_struct(type_, value)


def _from_struct(type_: Type, value: Any) -> Any:
    if isinstance(type_, ArrayOf):
        return None if value is None else [_from_struct(type_.type, item) for item in value]
    if not isinstance(type_, Schema):
        return value
    if type_.layout is Unboxed:
        return _from_struct(type_.fields[0].definition.type, value.values[0])
    return type_.layout.from_struct(value)
