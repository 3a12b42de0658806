"""The section of optional fields that ends every struct of a flexible version.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/TaggedFields.java @ 3.7.1
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.raw_tagged_field import RawTaggedField
from kafka_py.common.protocol.types.type import Parts, Type, read_unsigned_varint, unsigned_varint


class TaggedFields(Type):
    """Values by tag, in ascending order of the tags; an unknown one is kept as RawTaggedField.

    Mirrors: org.apache.kafka.common.protocol.types.TaggedFields @ 3.7.1
    Left out: documentation, numFields, of, read, typeName -- the constructor takes a dict, and ``name`` tells the
              type; a memoryview has no position of its own: read_at is told one
    """

    def __init__(self, fields: dict[int, Field] | None = None) -> None:
        self.fields = fields or {}
        listed = ", ".join(f"{tag}: {field.name}" for tag, field in sorted(self.fields.items()))
        self.name = f"TAGGED_FIELDS_TYPE_NAME({listed})"

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        count, position = read_unsigned_varint(buffer, position)
        if count > len(buffer) - position:
            raise SchemaException(f"Error reading {count} tagged fields, only {len(buffer) - position} bytes available")
        values: dict[int, Any] = {}
        previous = -1
        for _ in range(count):
            tag, position = read_unsigned_varint(buffer, position)
            if tag <= previous:
                raise SchemaException(f"Invalid or out-of-order tag {tag}")
            previous = tag
            size, position = read_unsigned_varint(buffer, position)
            end = position + size
            if end > len(buffer):
                raise SchemaException(
                    f"Error reading field {tag} of size {size}, only {len(buffer) - position} bytes available"
                )
            field = self.fields.get(tag)
            if field is None:
                values[tag] = RawTaggedField(tag, bytes(buffer[position:end]))
            else:
                values[tag] = field.type.read_at(buffer[:end], position)[0]
            position = end
        return values, position

    def write(self, out: Parts, o: Any) -> None:
        values: dict[int, Any] = o or {}
        out.append(unsigned_varint(len(values)))
        for tag in sorted(values):
            value = values[tag]
            out.append(unsigned_varint(tag))
            if isinstance(value, RawTaggedField):
                out.append(unsigned_varint(len(value.data)))
                out.append(value.data)
                continue
            body: Parts = []
            self.fields[tag].type.write(body, value)
            data = b"".join(body)
            out.append(unsigned_varint(len(data)))
            out.append(data)

    def validate(self, o: Any) -> Any:
        if o is None:
            return {}
        if not isinstance(o, dict):
            raise SchemaException("Not a NavigableMap.")
        for tag, value in o.items():
            field = self.fields.get(tag)
            if field is not None:
                field.type.validate(value)
            elif not isinstance(value, RawTaggedField):
                raise SchemaException(f"The value associated with tag {tag} must be a RawTaggedField in this library.")
        return o
