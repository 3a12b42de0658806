"""What a declaration says of one field of a message.

Ours; see message.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.compact_array_of import CompactArrayOf
from kafka_py.common.protocol.types.field import NO_DEFAULT, Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.schema_compiler import Unboxed
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import (
    BYTES,
    COMPACT_BYTES,
    COMPACT_NULLABLE_BYTES,
    COMPACT_NULLABLE_STRING,
    COMPACT_RECORDS,
    COMPACT_STRING,
    NULLABLE_BYTES,
    NULLABLE_STRING,
    RECORDS,
    STRING,
    Type,
)

_NULLABLE: dict[Type, Type] = {STRING: NULLABLE_STRING, BYTES: NULLABLE_BYTES}
_COMPACT: dict[Type, Type] = {
    STRING: COMPACT_STRING,
    NULLABLE_STRING: COMPACT_NULLABLE_STRING,
    BYTES: COMPACT_BYTES,
    NULLABLE_BYTES: COMPACT_NULLABLE_BYTES,
    RECORDS: COMPACT_RECORDS,
}
TAGS = "_tagged_fields"  # the section of tags at the end of a flexible struct


class ListOf:
    """The type of a field that is a list: of one type, or of a message's nested messages.

    With ``boxed`` the elements, plain values, became structs with tags of their own in flexible versions; what tags
    they carry is read and dropped.
    """

    def __init__(self, element: Type | type[Any] | ListOf, boxed: bool = False) -> None:
        self.element = element
        self.boxed = boxed


class FieldSpec:
    """What ``field`` says of an attribute; its name is known when the class is made."""

    __slots__ = (
        "about",
        "default",
        "factory",
        "ignorable",
        "name",
        "nullable",
        "since",
        "stated",
        "tag",
        "type",
        "until",
        "wire",
    )

    def __init__(
        self, type: Type | type[Any] | ListOf | None, about: str, since: int, until: int, nullable: int | None,
        default: Any, factory: Callable[[], Any] | None, tag: int | None, ignorable: bool, wire: str, stated: bool,
    ) -> None:  # fmt: skip
        self.name = ""  # volatile: type[Any] gives it when the class is made
        self.wire = wire  # volatile: as name
        self.type = type
        self.about = about
        self.since = since
        self.until = until
        self.nullable = nullable
        self.default = default
        self.factory = factory
        self.tag = tag
        self.ignorable = ignorable
        self.stated = stated

    def is_in(self, version: int) -> bool:
        """Whether the field exists at a version."""
        return self.since <= version <= self.until

    def type_at(self, version: int, flexible: bool) -> Type:
        """How the field is written at a version."""
        nullable = self.nullable is not None and version >= self.nullable
        assert self.type is not None
        return _type_at(self.type, version, flexible, nullable)

    def absent_value(self) -> Any:
        """What the attribute holds when it was not read."""
        if self.factory is not None:
            return self.factory()
        if self.default is NO_DEFAULT:
            return [] if isinstance(self.type, ListOf) else None
        return self.default

    def nested(self) -> type[Any] | None:
        """The class of the messages that the field holds, alone or in a list."""
        type_ = self.type
        while isinstance(type_, ListOf):
            type_ = type_.element
        return type_ if isinstance(type_, type) else None


def field(
    type: Type | type[Any] | ListOf | None,
    about: str = "",
    *,
    since: int = 0,
    until: int = 32767,
    nullable: int | None = None,
    default: Any = NO_DEFAULT,
    default_factory: Callable[[], Any] | None = None,
    tag: int | None = None,
    ignorable: bool = True,
    wire: str = "",
    stated: bool = False,
    alias: str | None = None,
) -> Any:
    """Declare a field of a message.

    ``since`` and ``until`` are the first and the last version that have it, ``nullable`` the first that may say null;
    ``tag`` is its number if it is a tagged field. One that some version lacks needs a default. If it is not
    ``ignorable``, a version without it refuses to be written with another value than the default. ``wire`` is its name
    in Kafka's schemas where the attribute has another; ``stated``, that those of 1.1.1 state the default. A field
    without a type is not on the wire: it is an argument of the constructor, under its alias.
    """
    if type is None:
        return Argument(alias or "", default)
    if default is NO_DEFAULT and default_factory is None and (since or until < 32767 or tag is not None):
        raise TypeError("a field that some version lacks needs a default")
    return FieldSpec(type, about, since, until, nullable, default, default_factory, tag, ignorable, wire, stated)


class Argument:
    """An attribute that is an argument of the constructor and not on the wire."""

    def __init__(self, alias: str, default: Any) -> None:
        self.alias = alias
        self.default = default


def _type_at(declared: Type | type[Any] | ListOf, version: int, flexible: bool, nullable: bool) -> Type:
    if isinstance(declared, ListOf):
        element = _type_at(declared.element, version, flexible, False)
        if declared.boxed and flexible:
            element = Schema(Field("value", element), Field(TAGS, TaggedFields()))
            element.layout = Unboxed
        return (CompactArrayOf if flexible else ArrayOf)(element, nullable)
    if isinstance(declared, type):
        nested: Schema = declared.schema(version, flexible)
        return nested
    if nullable:
        declared = _NULLABLE.get(declared, declared)
    return _COMPACT.get(declared, declared) if flexible else declared
