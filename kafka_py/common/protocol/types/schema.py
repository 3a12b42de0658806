"""The layout of one message at one version.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/Schema.java @ 1.1.1
Read next: schema_compiler.py
"""

from __future__ import annotations

import struct
from typing import Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import BoundField, Field
from kafka_py.common.protocol.types.schema_compiler import FAILURES, Reader, Writer, compile_reader, compile_writer
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import Parts, Type


class Schema(Type):
    """Fields in the order of their bytes; nested and in arrays a type like any other.

    Mirrors: org.apache.kafka.common.protocol.types.Schema
    Left out: walk, handleNode -- retains_buffer_reference looks into nested types by itself
    Differs: on first use the schema is compiled to a flat reader and writer (schema_compiler.py). The field by field
             walk of Java is kept: it tells, with Java's words, what is wrong with bytes or values that the compiled
             code refuses.
    """

    name = "STRUCT"

    def __init__(self, *fields: Field) -> None:
        self.fields_by_name: dict[str, BoundField] = {}
        self.fields: list[BoundField] = []
        for index, definition in enumerate(fields):
            if definition.name in self.fields_by_name:
                raise SchemaException(f"Schema contains a duplicate field: {definition.name}")
            bound = BoundField(definition, self, index)
            self.fields.append(bound)
            self.fields_by_name[definition.name] = bound
        self.is_flexible = bool(fields) and isinstance(fields[-1].type, TaggedFields)
        self.layout: Any = None  # volatile: whoever declares a message with this schema, before anybody uses it
        self._reader: Reader | None = None  # volatile: any thread that reads first; all make the same
        self._writer: Writer | None = None  # volatile: as the reader
        self._message_reader: Reader | None = None  # volatile: as the reader
        self._message_writer: Writer | None = None  # volatile: as the reader

    def read(self, buffer: Any, position: int = 0) -> Struct:
        """The struct at ``position`` of a buffer; SchemaException if the bytes do not fit."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        return self.read_from(view, position)[0]

    def read_from(self, buffer: memoryview, position: int) -> tuple[Struct, int]:
        """The struct at ``position`` and the position behind it, by the compiled reader."""
        reader = self._reader
        if reader is None:
            reader = self._reader = compile_reader(self)
        try:
            return reader(buffer, position)
        except FAILURES:
            return self.read_at(buffer, position)

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        """As ``read_from``, field by field."""
        values = []
        for field in self.fields:
            try:
                value, position = field.definition.type.read_at(buffer, position)
            except FAILURES as e:
                raise SchemaException(f"Error reading field '{field.definition.name}': {_reason(e)}") from None
            values.append(value)
        return Struct(self, values), position

    def write(self, out: Parts, o: Any) -> None:
        """Append the struct's bytes to ``out`` by the compiled writer; SchemaException if a value does not fit."""
        writer = self._writer
        if writer is None:
            writer = self._writer = compile_writer(self)
        length = len(out)
        try:
            writer(out.append, o)
        except FAILURES:
            del out[length:]
            self.write_walking(out, o)

    def write_walking(self, out: Parts, o: Struct) -> None:
        """As ``write``, field by field, with validation and defaults."""
        for field in self.fields:
            try:
                type_ = field.definition.type
                type_.write(out, type_.validate(o.get(field)))
            except FAILURES as e:
                raise SchemaException(f"Error writing field '{field.definition.name}': {_reason(e)}") from None

    def message_reader(self) -> Reader:
        """Reads messages of the class that the schema's layout names; raises FAILURES."""
        reader = self._message_reader
        if reader is None:
            reader = self._message_reader = compile_reader(self, messages=True)
        return reader

    def message_writer(self) -> Writer:
        """Writes such messages; raises FAILURES."""
        writer = self._message_writer
        if writer is None:
            writer = self._message_writer = compile_writer(self, messages=True)
        return writer

    def size_of(self, o: Any) -> int:
        """How many bytes the struct takes."""
        size = 0
        for field in self.fields:
            try:
                size += field.definition.type.size_of(o.get(field))
            except FAILURES as e:
                raise SchemaException(
                    f"Error computing size for field '{field.definition.name}': {_reason(e)}"
                ) from None
        return size

    def num_fields(self) -> int:
        """The number of fields."""
        return len(self.fields)

    def get(self, key: int | str) -> BoundField | None:
        """The field of a slot or of a name; None for a name that is not there."""
        return self.fields[key] if isinstance(key, int) else self.fields_by_name.get(key)

    def validate(self, o: Any) -> Any:
        if not isinstance(o, Struct):
            raise SchemaException("Not a Struct.")
        for field in self.fields:
            try:
                field.definition.type.validate(o.get(field))
            except FAILURES as e:
                raise SchemaException(f"Invalid value for field '{field.definition.name}': {_reason(e)}") from None
        return o

    def retains_buffer_reference(self) -> bool:
        """Whether what is read keeps slices of the message, so that its buffer must outlive the parsing."""
        return any(_retains(field.definition.type) for field in self.fields)

    def __str__(self) -> str:
        return "{" + ",".join(str(field) for field in self.fields) + "}"

    __repr__ = __str__


def _retains(type_: Type) -> bool:
    if isinstance(type_, ArrayOf):
        return _retains(type_.type)
    if isinstance(type_, Schema):
        return type_.retains_buffer_reference()
    return "BYTES" in type_.name or "RECORDS" in type_.name


def _reason(e: Exception) -> str:
    """What Java's exception would say: reading behind the end is a BufferUnderflowException without a message."""
    if isinstance(e, SchemaException):
        return str(e)
    if isinstance(e, struct.error | IndexError):
        return "java.nio.BufferUnderflowException"
    return str(e) or type(e).__name__
