"""Turns a schema into one flat function that reads a message and one that writes it.

Ours; Kafka walks its schemas field by field, and later generates Java from JSON for the same reason. A walk in Python
costs two to three times as much as the generated code: neighbouring numbers become one ``unpack_from``, strings and
byte slices are cut in place, and nested arrays are nested loops of one function. The functions deal in Structs, or, for
the schema of a declared message (common/protocol/message.py), in objects of its class.

Every size is checked against the end of the buffer before anything is made of that size. The generated code only says
that something is wrong; Schema then walks the same bytes to say what.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.compact_array_of import CompactArrayOf
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import (
    LONGEST_REPLACEABLE,
    BytesType,
    CompactBytesType,
    CompactStringType,
    FixedType,
    RecordsType,
    StringType,
    Type,
    read_unsigned_varint,
    unsigned_varint,
)

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema

Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[Callable[[Any], None], Any], None]

FAILURES = (SchemaException, struct.error, IndexError, TypeError, ValueError, AttributeError, KeyError, OverflowError)
"""What the compiled functions raise if bytes or values do not fit."""


class Unboxed:
    """The layout of a struct that stands for the one value in it: its tags are read and dropped."""


class _Source:
    """Lines of a function under construction, its names and the objects it refers to."""

    def __init__(self, messages: bool) -> None:
        self.messages = messages  # whether it deals in messages where a schema has a layout for them
        self.lines: list[str] = []  # thread: the one that compiles
        self.names: dict[str, Any] = {
            "unpack_from": struct.unpack_from,
            "pack": struct.pack,
            "Struct": Struct,
            "new": Struct.__new__,
            "SchemaException": SchemaException,
            "read_varint": read_unsigned_varint,
            "varint": unsigned_varint,
        }
        self._count = 0  # thread: the one that compiles

    def variable(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def bind(self, o: Any) -> str:
        name = f"K{len(self.names)}"
        self.names[name] = o
        return name

    def add(self, indent: str, *lines: str) -> None:
        self.lines += [indent + line for line in lines]

    def function(self, header: str, footer: str) -> Any:
        source = "\n".join([header, *self.lines, footer]) + "\n"
        exec(compile(source, "<schema>", "exec"), self.names)
        function = self.names[header[4 : header.index("(")]]
        function.source = source
        return function

    def packer(self, fmt: str) -> str:
        return self.bind(struct.Struct(">" + fmt).pack)

    def unpacker(self, fmt: str) -> str:
        return self.bind(struct.Struct(">" + fmt).unpack_from)


def _is_struct(type_: Type) -> bool:
    return hasattr(type_, "fields_by_name")


def _runs(schema: Any) -> list[list[tuple[int, Type]]]:
    """The fields with their slots, neighbouring fixed-size ones together."""
    runs: list[list[tuple[int, Type]]] = []
    for field in schema.fields:
        item = (field.index, field.definition.type)
        if runs and isinstance(item[1], FixedType) and isinstance(runs[-1][-1][1], FixedType):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def compile_reader(schema: Schema, messages: bool = False) -> Reader:
    """A function ``read(buffer, position)`` that gives the struct or message and the position behind it."""
    source = _Source(messages)
    result = _read_struct(source, schema, " ")
    read: Reader = source.function("def read(b, p):\n end = len(b)", f" return {result}, p")
    return read


def _read_struct(source: _Source, schema: Any, indent: str) -> str:
    variables = []
    for run in _runs(schema):
        names = [source.variable() for _ in run]
        if isinstance(run[0][1], FixedType):
            fmt = "".join(t.fmt for _, t in run if isinstance(t, FixedType))
            unpack = source.unpacker(fmt)
            source.add(indent, f"{','.join(names)}, = {unpack}(b, p); p += {struct.calcsize('>' + fmt)}")
        else:
            _read_value(source, run[0][1], names[0], indent)
        variables += names
    if source.messages and schema.layout is not None:
        return variables[0] if schema.layout is Unboxed else _made_message(source, schema, variables, indent)
    result = source.variable()
    source.add(
        indent,
        f"{result} = new(Struct); {result}.schema = {source.bind(schema)}; {result}.values = [{', '.join(variables)}]",
    )
    return result


def _made_message(source: _Source, schema: Any, variables: list[str], indent: str) -> str:
    """A new object of the layout's class with what was read and, for what this version lacks, the defaults."""
    layout = schema.layout
    result = source.variable()
    made = [f"{result} = {source.bind(layout.cls.__new__)}({source.bind(layout.cls)})"]
    tags = None
    for bound, variable in zip(schema.fields, variables, strict=True):
        if isinstance(bound.definition.type, TaggedFields):
            tags = variable
        else:
            made.append(f"{result}.{layout.attributes[bound.definition.name]} = {variable}")
    for attribute, argument in layout.cls.ARGUMENTS.items():
        made.append(f"{result}.{attribute} = {argument.default!r}")
    for spec in layout.absent:
        value = "[]" if spec.factory is list else f"{source.bind(spec.absent_value)}()"
        if spec.factory is None:
            value = repr(spec.default) if isinstance(spec.default, int | str | None) else source.bind(spec.default)
        made.append(f"{result}.{spec.name} = {value}")
    source.add(indent, "; ".join(made))
    if tags is not None:
        source.add(
            indent, f"{f'if {tags}: ' if not layout.tagged else ''}{source.bind(layout.set_tags)}({result}, {tags})"
        )
    return result


def _read_value(source: _Source, type_: Type, name: str, indent: str) -> None:
    null = f"{name} = None" if type_.nullable else 'raise SchemaException("null")'
    if isinstance(type_, FixedType):
        source.add(indent, f"{name}, = {source.unpacker(type_.fmt)}(b, p); p += {type_.size}")
    elif isinstance(type_, StringType | BytesType):
        size, fmt = (2, "h") if isinstance(type_, StringType) else (4, "i")
        source.add(indent, f"n, = {source.unpacker(fmt)}(b, p); p += {size}")
        _read_sized(source, isinstance(type_, StringType), name, null, indent)
    elif isinstance(type_, CompactStringType | CompactBytesType):
        _read_varint(source, "n", indent)
        _read_sized(source, isinstance(type_, CompactStringType), name, null, indent)
    elif isinstance(type_, ArrayOf):
        _read_array(source, type_, name, null, indent)
    elif isinstance(type_, TaggedFields):
        source.add(indent, f"if b[p]: {name}, p = {source.bind(type_.read_at)}(b, p)", f"else: {name} = {{}}; p += 1")
    elif _is_struct(type_):
        source.add(indent, f"{name} = {_read_struct(source, type_, indent)}")
    else:
        source.add(indent, f"{name}, p = {source.bind(type_.read_at)}(b, p)")


def _read_varint(source: _Source, name: str, indent: str) -> None:
    """The number in front of something compact, which is one more than its length."""
    source.add(indent, f"{name} = b[p] - 1; p += 1", f"if {name} > 126: {name}, p = read_varint(b, p - 1); {name} -= 1")


def _read_sized(source: _Source, is_text: bool, name: str, null: str, indent: str) -> None:
    """The ``n`` bytes at ``p``."""
    cut = 'str(b[p:q], "utf-8", "replace")' if is_text else "b[p:q]"
    source.add(
        indent,
        f"if n < 0: {null}",
        "else:",
        " q = p + n",
        ' if q > end: raise SchemaException("short")',
        f" {name} = {cut}; p = q",
    )
    if is_text:
        long = f"n > {LONGEST_REPLACEABLE} and len({name}.encode()) > 32767"
        source.add(indent, f' if {long}: raise SchemaException("long")')


def _read_array(source: _Source, type_: ArrayOf, name: str, null: str, indent: str) -> None:
    count = source.variable()
    if isinstance(type_, CompactArrayOf):
        _read_varint(source, count, indent)
    else:
        source.add(indent, f"{count}, = {source.unpacker('i')}(b, p); p += 4")
    source.add(
        indent,
        f"if {count} < 0: {null}",
        f'elif {count} > end - p: raise SchemaException("short")',
        "else:",
    )
    element = type_.type
    if isinstance(element, FixedType):
        source.add(
            indent,
            f' {name} = list(unpack_from(">%d{element.fmt}" % {count}, b, p)); p += {element.size} * {count}',
        )
        return
    source.add(indent, f" {name} = []", f" for _ in range({count}):")
    inner = indent + "  "
    if _is_struct(element):
        value = _read_struct(source, element, inner)
    else:
        value = source.variable()
        _read_value(source, element, value, inner)
    source.add(inner, f"{name}.append({value})")


def compile_writer(schema: Schema, messages: bool = False) -> Writer:
    """A function ``write(append, o)`` that appends the bytes of a struct or message as parts."""
    source = _Source(messages)
    _write_struct(source, schema, "o", " ")
    write: Writer = source.function("def write(out, o):", " return None")
    return write


def _write_struct(source: _Source, schema: Any, name: str, indent: str) -> None:
    layout = schema.layout if source.messages else None
    if layout is Unboxed:
        _write_value(source, schema.fields[0].definition.type, name, indent)
        source.add(indent, r'out(b"\0")')
        return
    if layout is None:
        values = source.variable()
        source.add(indent, f"{values} = {name}.values")
    elif any(not spec.ignorable for spec in layout.absent):
        source.add(indent, f"{source.bind(layout.check)}({name})")

    def value_of(index: int) -> str:
        attribute = schema.fields[index].definition.name
        return f"{values}[{index}]" if layout is None else f"{name}.{layout.attributes[attribute]}"

    for run in _runs(schema):
        index, type_ = run[0]
        if isinstance(type_, FixedType):
            fmt = "".join(t.fmt for _, t in run if isinstance(t, FixedType))
            arguments = ", ".join(value_of(index) for index, _ in run)
            source.add(indent, f"out({_checked_pack(source, fmt)}({arguments}))")
        elif isinstance(type_, TaggedFields):
            tags = value_of(index) if layout is None else f"{source.bind(layout.tags)}({name})"
            _write_tags(source, type_, tags, indent)
        else:
            _write_value(source, type_, value_of(index), indent)


def _write_tags(source: _Source, type_: TaggedFields, tags: str, indent: str) -> None:
    name = source.variable()
    source.add(
        indent,
        f"{name} = {tags}",
        f"if {name}: {source.bind(type_.write)}(out.__self__, {name})",
        r'else: out(b"\0")',
    )


def _checked_pack(source: _Source, fmt: str) -> str:
    """A packer; None must not pass for False, so booleans are packed as numbers."""
    return source.packer(fmt.replace("?", "b"))


def _write_value(source: _Source, type_: Type, expression: str, indent: str) -> None:
    name = source.variable()
    source.add(indent, f"{name} = {expression}")
    if _is_struct(type_):
        _write_struct(source, type_, name, indent)
    elif isinstance(type_, FixedType):
        source.add(indent, f"out({_checked_pack(source, type_.fmt)}({name}))")
    elif isinstance(type_, StringType | CompactStringType):
        inner = _write_null(source, type_, name, indent)
        size = f"{source.packer('h')}(len({name}))" if isinstance(type_, StringType) else f"varint(len({name}) + 1)"
        source.add(inner, f"{name} = {name}.encode(); out({size} + {name})")
        if isinstance(type_, CompactStringType):
            source.add(inner, f'if len({name}) > 32767: raise SchemaException("long")')
    elif isinstance(type_, BytesType) and not isinstance(type_, RecordsType):
        inner = _write_null(source, type_, name, indent)
        source.add(inner, f"out({source.packer('i')}(len({name}))); out({name})")
    elif isinstance(type_, ArrayOf):
        _write_array(source, type_, name, _write_null(source, type_, name, indent))
    else:
        if not type_.nullable:
            source.add(indent, f'if {name} is None: raise SchemaException("null")')
        source.add(indent, f"{source.bind(type_.write)}(out.__self__, {name})")


def _write_null(source: _Source, type_: Type, name: str, indent: str) -> str:
    """What stands for None; gives the indent of what writes a value, which fails of itself if None may not be."""
    if not type_.nullable:
        return indent
    if isinstance(type_, CompactArrayOf | CompactStringType):
        written = r'out(b"\0")'
    else:
        written = r'out(b"\xff\xff")' if isinstance(type_, StringType) else r'out(b"\xff\xff\xff\xff")'
    source.add(indent, f"if {name} is None: {written}", "else:")
    return indent + " "


def _write_array(source: _Source, type_: ArrayOf, name: str, indent: str) -> None:
    element = type_.type
    compact = isinstance(type_, CompactArrayOf)
    if isinstance(element, FixedType) and not compact:
        source.add(indent, f'out(pack(">i%d{element.fmt}" % len({name}), len({name}), *{name}))')
        return
    count = f"varint(len({name}) + 1)" if compact else f"{source.packer('i')}(len({name}))"
    source.add(indent, f"out({count})")
    item = source.variable()
    source.add(indent, f"for {item} in {name}:")
    if _is_struct(element):
        _write_struct(source, element, item, indent + " ")
    else:
        _write_value(source, element, item, indent + " ")
