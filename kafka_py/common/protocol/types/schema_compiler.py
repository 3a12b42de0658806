"""Turns a schema into one flat function that reads a message and one that writes it.

Ours; Kafka walks its schemas field by field, and later generates Java from JSON for the same reason. A walk in Python
costs two to three times as much as the generated code: neighbouring numbers become one ``unpack_from``, strings and
byte slices are cut in place, and nested arrays are nested loops of one function.

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
from kafka_py.common.protocol.types.type import (
    LONGEST_REPLACEABLE,
    BytesType,
    FixedType,
    RecordsType,
    StringType,
    Type,
)

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema

Reader = Callable[[memoryview, int], tuple[Struct, int]]
Writer = Callable[[Callable[[Any], None], Struct], None]


class _Source:
    """Lines of a function under construction, its names and the objects it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "unpack_from": struct.unpack_from,
            "pack": struct.pack,
            "Struct": Struct,
            "new": Struct.__new__,
            "SchemaException": SchemaException,
        }
        self._count = 0

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


def compile_reader(schema: Schema) -> Reader:
    """A function ``read(buffer, position)`` that gives the struct and the position behind it."""
    source = _Source()
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
    result = source.variable()
    source.add(
        indent,
        f"{result} = new(Struct); {result}.schema = {source.bind(schema)}; {result}.values = [{', '.join(variables)}]",
    )
    return result


def _read_value(source: _Source, type_: Type, name: str, indent: str) -> None:
    null = f"{name} = None" if type_.nullable else 'raise SchemaException("null")'
    if isinstance(type_, FixedType):
        source.add(indent, f"{name}, = {source.unpacker(type_.fmt)}(b, p); p += {type_.size}")
    elif isinstance(type_, StringType | BytesType):
        size, fmt = (2, "h") if isinstance(type_, StringType) else (4, "i")
        cut = 'str(b[p:q], "utf-8", "replace")' if isinstance(type_, StringType) else "b[p:q]"
        source.add(
            indent,
            f"n, = {source.unpacker(fmt)}(b, p); p += {size}",
            f"if n < 0: {null}",
            "else:",
            " q = p + n",
            ' if q > end: raise SchemaException("short")',
            f" {name} = {cut}; p = q",
        )
        if isinstance(type_, StringType):
            long = f"n > {LONGEST_REPLACEABLE} and len({name}.encode()) > 32767"
            source.add(indent, f' if {long}: raise SchemaException("long")')
    elif isinstance(type_, ArrayOf) and not isinstance(type_, CompactArrayOf):
        _read_array(source, type_, name, null, indent)
    elif _is_struct(type_):
        source.add(indent, f"{name} = {_read_struct(source, type_, indent)}")
    else:
        source.add(indent, f"{name}, p = {source.bind(type_.read_at)}(b, p)")


def _read_array(source: _Source, type_: ArrayOf, name: str, null: str, indent: str) -> None:
    count = source.variable()
    source.add(
        indent,
        f"{count}, = {source.unpacker('i')}(b, p); p += 4",
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


def compile_writer(schema: Schema) -> Writer:
    """A function ``write(append, struct)`` that appends the struct's bytes as parts."""
    source = _Source()
    _write_struct(source, schema, "o", " ")
    write: Writer = source.function("def write(out, o):", " return None")
    return write


def _write_struct(source: _Source, schema: Any, struct_name: str, indent: str) -> None:
    values = source.variable()
    source.add(indent, f"{values} = {struct_name}.values")
    for run in _runs(schema):
        if isinstance(run[0][1], FixedType):
            fmt = "".join(t.fmt for _, t in run if isinstance(t, FixedType))
            arguments = ", ".join(f"{values}[{index}]" for index, _ in run)
            source.add(indent, f"out({_checked_pack(source, fmt)}({arguments}))")
        else:
            _write_value(source, run[0][1], f"{values}[{run[0][0]}]", indent)


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
    elif isinstance(type_, StringType):
        null = r'out(b"\xff\xff")' if type_.nullable else 'raise SchemaException("null")'
        source.add(
            indent,
            f"if {name} is None: {null}",
            f"else: {name} = {name}.encode(); out({source.packer('h')}(len({name})) + {name})",
        )
    elif isinstance(type_, BytesType) and not isinstance(type_, RecordsType):
        null = r'out(b"\xff\xff\xff\xff")' if type_.nullable else 'raise SchemaException("null")'
        source.add(
            indent,
            f"if {name} is None: {null}",
            f"else: out({source.packer('i')}(len({name}))); out({name})",
        )
    elif isinstance(type_, ArrayOf) and not isinstance(type_, CompactArrayOf):
        _write_array(source, type_, name, indent)
    else:
        source.add(indent, f"{source.bind(type_.write)}(out.__self__, {name})")


def _write_array(source: _Source, type_: ArrayOf, name: str, indent: str) -> None:
    null = r'out(b"\xff\xff\xff\xff")' if type_.nullable else 'raise SchemaException("null")'
    source.add(indent, f"if {name} is None: {null}", "else:")
    element = type_.type
    if isinstance(element, FixedType):
        source.add(indent, f' out(pack(">i%d{element.fmt}" % len({name}), len({name}), *{name}))')
        return
    source.add(indent, f" out({source.packer('i')}(len({name})))")
    item = source.variable()
    source.add(indent, f" for {item} in {name}:")
    if _is_struct(element):
        _write_struct(source, element, item, indent + "  ")
    else:
        _write_value(source, element, item, indent + "  ")
