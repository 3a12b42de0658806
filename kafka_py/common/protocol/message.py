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

from collections.abc import Callable
from typing import Any, ClassVar, Self, dataclass_transform

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message_field import TAGS, Argument, FieldSpec, ListOf, field
from kafka_py.common.protocol.message_layout import Layout
from kafka_py.common.protocol.types.field import NO_DEFAULT, Field
from kafka_py.common.protocol.types.raw_tagged_field import RawTaggedField
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.schema_compiler import FAILURES, Reader, Writer
from kafka_py.common.protocol.types.struct import Struct, show
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import Parts

__all__ = ["ErrorCoded", "ErrorEntry", "FieldSpec", "ListOf", "Message", "MessageType", "field"]


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class MessageType(type):
    """Makes classes of declarations.

    Keywords of a class: ``key`` and ``latest``, its API and its last version; ``flexible``, the first version with
    compact types and tags; ``bare`` for a nested struct of Kafka 1.1.1 that later versions dissolved, so that it has
    no tags of its own; ``init=False`` keeps the constructor of the base. A field of the base that is declared anew,
    with other versions, takes its place.
    """

    FIELDS: tuple[FieldSpec, ...]
    ARGUMENTS: dict[str, Argument]
    LATEST: int
    FLEXIBLE: int
    BARE: bool
    ERROR: FieldSpec | None  # the field with the message's own error code
    ERROR_HOLDERS: tuple[str, ...]  # the fields whose messages have error codes
    _schemas: dict[tuple[int, bool], Schema]
    _readers: dict[int, Reader]  # by version, as the writers
    _writers: dict[int, Writer]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *,
        key: Any = None, latest: int | None = None, flexible: int = 32767, bare: bool = False, init: bool = True,
    ) -> MessageType:  # fmt: skip
        own = [(attribute, spec) for attribute, spec in namespace.items() if isinstance(spec, FieldSpec)]
        arguments = {a: namespace.pop(a) for a, spec in list(namespace.items()) if isinstance(spec, Argument)}
        for attribute, spec in own:
            spec.name = attribute
            spec.wire = spec.wire or attribute
            del namespace[attribute]
        declared = [b for b in bases if isinstance(b, MessageType)]
        anew = dict(own)
        before = next((b.FIELDS for b in declared if b.FIELDS), ())
        inherited = tuple(anew.pop(spec.name, spec) for spec in before)
        own = list(anew.items())
        has_tags = any(hasattr(base, "unknown_tags") for base in bases)
        tags = ("unknown_tags",) if (own or key is not None) and not has_tags else ()
        stored = (a for a in arguments if a != "_version")  # which AbstractRequest has a slot for
        namespace["__slots__"] = (*(a for a, _ in own), *tags, *stored, *namespace.get("__slots__", ()))
        if key is not None:
            namespace["API_KEY"] = key
        cls = super().__new__(mcs, name, bases, namespace)
        cls.FIELDS = (*inherited, *(spec for _, spec in own))
        held = ((spec.name, spec.nested()) for spec in cls.FIELDS)
        cls.ERROR_HOLDERS = tuple(n for n, nested in held if nested and (nested.ERROR or nested.ERROR_HOLDERS))
        cls.ERROR = next((spec for spec in cls.FIELDS if spec.name == "error_code"), None)
        cls._schemas = {}
        cls._readers = {}
        cls._writers = {}
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


def _schema_of(cls: MessageType, version: int, flexible: bool) -> Schema:
    fields, tagged = [], {}
    absent = []
    for spec in cls.FIELDS:
        if not spec.is_in(version) or (spec.tag is not None and not flexible):
            absent.append(spec)
            continue
        # 1.1.1 states the default of every throttle time.
        default = spec.default if spec.stated or spec.name == "throttle_time_ms" else NO_DEFAULT
        member = Field(spec.wire, spec.type_at(version, flexible), spec.about, default)
        if spec.tag is None:
            fields.append(member)
        else:
            tagged[spec.tag] = member
    if flexible and not cls.BARE:
        fields.append(Field(TAGS, TaggedFields(tagged)))
    schema = Schema(*fields)
    schema.layout = Layout(cls, version, absent)
    return schema


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
    ERROR: ClassVar[FieldSpec | None]
    LATEST: ClassVar[int]
    FLEXIBLE: ClassVar[int]

    @classmethod
    def read(cls, buffer: Any, version: int) -> tuple[Self, int]:
        """The message at the start of a buffer and where it ends; SchemaException if the bytes do not fit."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        reader = cls._readers.get(version)
        if reader is None:
            reader = cls._readers[version] = cls.schema(version).message_reader()
        try:
            return reader(view, 0)
        except FAILURES:
            schema = cls.schema(version)
            found, end = schema.read_at(view, 0)  # says what is wrong with the bytes
            return schema.layout.from_struct(found), end

    def write(self, out: Parts, version: int) -> None:
        """Append the message's bytes at a version; SchemaException if a value does not fit."""
        cls = type(self)
        writer = cls._writers.get(version)
        if writer is None:
            writer = cls._writers[version] = cls.schema(version).message_writer()
        length = len(out)
        try:
            writer(out.append, self)
        except FAILURES:
            del out[length:]
            schema = cls.schema(version)
            schema.write_walking(out, schema.layout.to_struct(schema, self))

    def struct_at(self, version: int) -> Struct:
        """The same as a struct of a version's schema."""
        schema = type(self).schema(version)
        found: Struct = schema.layout.to_struct(schema, self)
        return found

    def unknown_tagged_fields(self) -> dict[int, RawTaggedField]:
        """The tags that were read without a field for them; they are written again."""
        found: dict[int, RawTaggedField] | None = getattr(self, "unknown_tags", None)
        return found or {}

    def add_error_codes(self, codes: list[int]) -> None:
        """Append the error codes of the message and of its nested messages; no 0 of one that some version lacks."""
        cls = type(self)
        if cls.ERROR is not None:
            code = getattr(self, "error_code")  # noqa: B009 -- the type checker knows it of no message in general
            if code or not cls.ERROR.since:
                codes.append(code)
        for name in cls.ERROR_HOLDERS:
            value = getattr(self, name)
            for item in value if isinstance(value, list) else () if value is None else (value,):
                item.add_error_codes(codes)

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
