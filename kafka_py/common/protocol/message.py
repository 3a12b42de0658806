"""Messages that are declared once, with the range of versions of every field.

Ours in its form; Kafka has declared its messages so since 2.4, in JSON from which it generates Java
(generator/src/main/java/org/apache/kafka/message/ @ 2.5.1). Here the declaration is a class, and the class is the
message: its fields are attributes that the type checker knows. From it come the schema of every version, a flat reader
and writer for each (schema_compiler.py), the constructor, equality and text.

    class HeartbeatResponse(ResponseMessage, ErrorCoded, key=ApiKeys.HEARTBEAT, latest=4, flexible=4):
        throttle_time_ms: int = field(INT32, since=1, default=0)
        error_code: int = field(INT16)

Read next: common/requests/heartbeat_request.py; common/requests/request_message.py; types/schema_compiler.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, dataclass_transform

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.compact_array_of import CompactArrayOf
from kafka_py.common.protocol.types.field import NO_DEFAULT, Field
from kafka_py.common.protocol.types.raw_tagged_field import RawTaggedField
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.schema_compiler import FAILURES, Unboxed
from kafka_py.common.protocol.types.struct import Struct, show
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
    Parts,
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
_TAGS = "_tagged_fields"  # the section of tags at the end of a flexible struct


class ListOf:
    """The type of a field that is a list: of one type, or of a message's nested messages.

    With ``boxed`` the elements, plain values, became structs with tags of their own in flexible versions; what tags
    they carry is read and dropped.
    """

    def __init__(self, element: Type | MessageType | ListOf, boxed: bool = False) -> None:
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
        self, type: Type | MessageType | ListOf | None, about: str, since: int, until: int, nullable: int | None,
        default: Any, factory: Callable[[], Any] | None, tag: int | None, ignorable: bool, wire: str, stated: bool,
    ) -> None:  # fmt: skip
        self.name = ""  # volatile: MessageType gives it when the class is made
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

    def nested(self) -> MessageType | None:
        """The class of the messages that the field holds, alone or in a list."""
        type_ = self.type
        while isinstance(type_, ListOf):
            type_ = type_.element
        return type_ if isinstance(type_, MessageType) else None


def field(
    type: Type | MessageType | ListOf | None,
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
        return _Argument(alias or "", default)
    if default is NO_DEFAULT and default_factory is None and (since or until < 32767 or tag is not None):
        raise TypeError("a field that some version lacks needs a default")
    return FieldSpec(type, about, since, until, nullable, default, default_factory, tag, ignorable, wire, stated)


class _Argument:
    """An attribute that is an argument of the constructor and not on the wire."""

    def __init__(self, alias: str, default: Any) -> None:
        self.alias = alias
        self.default = default


def _type_at(declared: Type | MessageType | ListOf, version: int, flexible: bool, nullable: bool) -> Type:
    if isinstance(declared, ListOf):
        element = _type_at(declared.element, version, flexible, False)
        if declared.boxed and flexible:
            element = Schema(Field("value", element), Field(_TAGS, TaggedFields()))
            element.layout = Unboxed
        return (CompactArrayOf if flexible else ArrayOf)(element, nullable)
    if isinstance(declared, MessageType):
        return declared.schema(version, flexible)
    if nullable:
        declared = _NULLABLE.get(declared, declared)
    return _COMPACT.get(declared, declared) if flexible else declared


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class MessageType(type):
    """Makes classes of declarations.

    Keywords of a class: ``key`` and ``latest``, its API and its last version; ``flexible``, the first version with
    compact types and tags; ``bare`` for a nested struct of Kafka 1.1.1 that later versions dissolved, so that it has
    no tags of its own; ``init=False`` keeps the constructor of the base.
    """

    FIELDS: tuple[FieldSpec, ...]
    ARGUMENTS: dict[str, _Argument]
    LATEST: int
    FLEXIBLE: int
    BARE: bool
    _schemas: dict[tuple[int, bool], Schema]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *,
        key: Any = None, latest: int | None = None, flexible: int = 32767, bare: bool = False, init: bool = True,
    ) -> MessageType:  # fmt: skip
        own = [(attribute, spec) for attribute, spec in namespace.items() if isinstance(spec, FieldSpec)]
        arguments = {a: namespace.pop(a) for a, spec in list(namespace.items()) if isinstance(spec, _Argument)}
        for attribute, spec in own:
            spec.name = attribute
            spec.wire = spec.wire or attribute
            del namespace[attribute]
        declared = [b for b in bases if isinstance(b, MessageType)]
        inherited = next((b.FIELDS for b in declared if b.FIELDS), ())
        tags = ("unknown_tags",) if own and not inherited else ()
        stored = (a for a in arguments if a != "_version")  # which AbstractRequest has a slot for
        namespace["__slots__"] = (*(a for a, _ in own), *tags, *stored, *namespace.get("__slots__", ()))
        if key is not None:
            namespace["API_KEY"] = key
        cls = super().__new__(mcs, name, bases, namespace)
        cls.FIELDS = (*inherited, *(spec for _, spec in own))
        cls._schemas = {}
        for base in declared:
            arguments = {**base.ARGUMENTS, **arguments}
        cls.ARGUMENTS = arguments
        if latest is not None:
            cls.LATEST, cls.FLEXIBLE = latest, flexible
        cls.BARE = bare
        if init and own and "__init__" not in namespace:
            cls.__init__ = _first_init(cls)  # type: ignore[misc]
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any) -> None:
        super().__init__(name, bases, namespace)

    def schema(cls, version: int, flexible: bool | None = None) -> Schema:
        """The layout at a version; ValueError if there is no such version.

        A nested message is given by the outer one whether the version is flexible.
        """
        if flexible is None:
            if not 0 <= version <= cls.LATEST:
                raise ValueError(f"Invalid version for {cls.__name__}: {version}")
            flexible = version >= cls.FLEXIBLE
        schema = cls._schemas.get((version, flexible))
        if schema is None:
            schema = cls._schemas[version, flexible] = _schema_of(cls, version, flexible)
        return schema

    def blank(cls) -> Any:
        """An instance without any attribute."""
        new: Any = cls
        return new.__new__(new)

    def retains_buffer_reference(cls) -> bool:
        """Whether a message that was read keeps slices of its buffer in any version."""
        return any(cls.schema(version).retains_buffer_reference() for version in range(cls.LATEST + 1))


def _schema_of(cls: MessageType, version: int, flexible: bool) -> Schema:
    fields, tagged = [], {}
    absent = []
    for spec in cls.FIELDS:
        if not spec.is_in(version) or (spec.tag is not None and not flexible):
            absent.append(spec)
            continue
        default = spec.default if spec.stated or spec.name == "throttle_time_ms" else NO_DEFAULT
        member = Field(spec.wire, spec.type_at(version, flexible), spec.about, default)
        if spec.tag is None:
            fields.append(member)
        else:
            tagged[spec.tag] = member
    if flexible and not cls.BARE:
        fields.append(Field(_TAGS, TaggedFields(tagged)))
    schema = Schema(*fields)
    schema.layout = Layout(cls, version, absent)
    return schema


class Layout:
    """How a schema's values become a message's attributes: what the compiler needs besides the schema."""

    def __init__(self, cls: MessageType, version: int, absent: list[FieldSpec]) -> None:
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
            if name == _TAGS:
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
            if bound.definition.name == _TAGS:
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
    layout = type_.layout
    return Struct(type_, [_to_struct(type_.fields[0].definition.type, value), {}]) if layout is Unboxed else (
        layout.to_struct(type_, value)
    )  # fmt: skip


def _from_struct(type_: Type, value: Any) -> Any:
    if isinstance(type_, ArrayOf):
        return None if value is None else [_from_struct(type_.type, item) for item in value]
    if not isinstance(type_, Schema):
        return value
    layout = type_.layout
    return _from_struct(type_.fields[0].definition.type, value.values[0]) if layout is Unboxed else (
        layout.from_struct(value)
    )  # fmt: skip


def _first_init(cls: MessageType) -> Callable[..., None]:
    """A constructor that makes the real one when it is first called: most messages are only ever read."""

    def init(self: Any, **values: Any) -> None:
        made = _compile_init(cls)
        cls.__init__ = made  # type: ignore[misc]
        made(self, **values)

    return init


def _compile_init(cls: MessageType) -> Callable[..., None]:
    names: dict[str, Any] = {}
    arguments, lines = [], []
    for attribute, argument in cls.ARGUMENTS.items():
        names[f"d_{attribute}"] = argument.default
        arguments.append(f"{argument.alias}=d_{attribute}")
        lines.append(f" self.{attribute} = {argument.alias}")
    for spec in cls.FIELDS:
        name = spec.name
        if spec.factory is not None:
            names[f"f_{name}"] = spec.factory
            arguments.append(f"{name}=None")
            lines.append(f" self.{name} = f_{name}() if {name} is None else {name}")
        else:
            names[f"d_{name}"] = spec.default
            arguments.append(name if spec.default is NO_DEFAULT else f"{name}=d_{name}")
            lines.append(f" self.{name} = {name}")
    source = f"def __init__(self, *, {', '.join(arguments)}):\n" + "\n".join(lines)
    exec(compile(source, f"<{cls.__name__}>", "exec"), names)
    made: Callable[..., None] = names["__init__"]
    return made


class Message(metaclass=MessageType):
    """A struct of some protocol: its fields are attributes."""

    FIELDS: ClassVar[tuple[FieldSpec, ...]]
    LATEST: ClassVar[int]
    FLEXIBLE: ClassVar[int]

    @classmethod
    def read(cls, buffer: Any, version: int) -> tuple[Self, int]:
        """The message at the start of a buffer and where it ends; SchemaException if the bytes do not fit."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        schema = cls.schema(version)
        message: Self
        try:
            message, end = schema.message_reader()(view, 0)
        except FAILURES:
            found, end = schema.read_at(view, 0)  # says what is wrong with the bytes
            message = schema.layout.from_struct(found)
        return message, end

    def write(self, out: Parts, version: int) -> None:
        """Append the message's bytes at a version; SchemaException if a value does not fit."""
        schema = type(self).schema(version)
        length = len(out)
        try:
            schema.message_writer()(out.append, self)
        except FAILURES:
            del out[length:]
            schema.write_walking(out, schema.layout.to_struct(schema, self))

    def struct_at(self, version: int) -> Struct:
        """The same as a struct of a version's schema."""
        schema = type(self).schema(version)
        found: Struct = schema.layout.to_struct(schema, self)
        return found

    @classmethod
    def of_struct(cls, struct: Struct) -> Self:
        """The message that a struct of one of its schemas holds."""
        found: Self = struct.schema.layout.from_struct(struct)
        return found

    def unknown_tagged_fields(self) -> dict[int, RawTaggedField]:
        """The tags that were read without a field for them; they are written again."""
        found: dict[int, RawTaggedField] | None = getattr(self, "unknown_tags", None)
        return found or {}

    def error_codes(self) -> Iterator[int]:
        """Every error code in the message and in its nested messages."""
        for spec in type(self).FIELDS:
            if spec.name == "error_code":
                yield getattr(self, spec.name)
            elif spec.nested() is not None:
                value = getattr(self, spec.name)
                for item in value if isinstance(value, list) else () if value is None else (value,):
                    yield from item.error_codes()

    def __eq__(self, other: object) -> bool:
        cls = type(self)
        return type(other) is cls and all(getattr(self, s.name) == getattr(other, s.name) for s in cls.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __str__(self) -> str:
        shown = ",".join(f"{spec.name}={show(getattr(self, spec.name))}" for spec in type(self).FIELDS)
        return "{" + shown + "}"

    def __repr__(self) -> str:
        return str(self)


class ErrorCoded(Message):
    """A response with an error code for the whole."""

    error_code: int

    def error(self) -> Errors:
        """What the error code stands for."""
        return Errors.for_code(self.error_code)


class ErrorEntry(Message):
    """An entry of a response with an error code of its own."""

    error_code: int

    @property
    def error(self) -> Errors:
        """What the error code stands for."""
        return Errors.for_code(self.error_code)
