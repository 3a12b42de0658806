"""A record of a schema's fields.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/Struct.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import BoundField, Field
from kafka_py.common.protocol.types.type import Parts

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema

Key = str | Field | BoundField


class Struct:
    """Values in the order of a schema's fields, with access by name, by field or by bound field.

    Mirrors: org.apache.kafka.common.protocol.types.Struct
    Left out: validateField -- the schema's validate looks at every field
    Differs: one ``get``, ``set`` and ``get_or_else`` serve all types of fields, where Java has an overload for each.
    """

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: list[Any] | None = None) -> None:
        self.schema = schema
        found: list[Any] = [None] * len(schema.fields) if values is None else values
        self.values = found  # thread: the one that makes or has read the struct

    def _bound(self, key: Key) -> BoundField:
        if isinstance(key, BoundField):
            if key.schema is not self.schema:
                raise SchemaException(
                    f"Attempt to access field '{key.definition.name}' from a different schema instance."
                )
            return key
        name = key if isinstance(key, str) else key.name
        field = self.schema.fields_by_name.get(name)
        if field is None:
            raise SchemaException(f"No such field: {name}")
        return field

    def _get_field_or_default(self, field: BoundField) -> Any:
        value = self.values[field.index]
        if value is not None:
            return value
        definition = field.definition
        if definition.has_default_value:
            return definition.default_value
        if definition.type.nullable:
            return None
        raise SchemaException(f"Missing value for field '{definition.name}' which has no default value.")

    def get(self, key: Key) -> Any:
        """The value or the default of a field; SchemaException if there is neither, or no such field."""
        return self._get_field_or_default(self._bound(key))

    def get_or_else(self, key: Key, alternative: Any) -> Any:
        """The value of a field, or ``alternative`` where the schema has no such field."""
        return self.get(key) if self.has_field(key) else alternative

    def has_field(self, key: Key) -> bool:
        """Whether the schema has the field."""
        if isinstance(key, BoundField):
            return key.schema is self.schema
        return (key if isinstance(key, str) else key.name) in self.schema.fields_by_name

    def set(self, key: Key, value: Any) -> Struct:
        """Set a field and return the struct, so that calls can be chained."""
        self.values[self._bound(key).index] = value
        return self

    def set_if_exists(self, key: Key, value: Any) -> Struct:
        """Set a field if this version of the schema has it."""
        if self.has_field(key):
            self.set(key, value)
        return self

    def instance(self, key: Key) -> Struct:
        """A new struct of the schema that a field, or each element of an array field, has."""
        type_ = self._bound(key).definition.type
        if isinstance(type_, ArrayOf):
            type_ = type_.type
        if not hasattr(type_, "fields_by_name"):
            raise SchemaException(f"Field '{key}' is not a container type, it is of type {type_}.")
        return Struct(type_)  # type: ignore[arg-type]  # a Schema, which this module cannot import

    def clear(self) -> None:
        """Forget all values."""
        self.values = [None] * len(self.values)

    def size_of(self) -> int:
        """How many bytes the struct takes."""
        return self.schema.size_of(self)

    def write_to(self, out: Parts) -> None:
        """Append the struct's bytes to a list of parts."""
        self.schema.write(out, self)

    def to_bytes(self) -> bytes:
        """The struct's bytes; not for structs that hold regions of files."""
        out: Parts = []
        self.schema.write(out, self)
        return b"".join(out)

    def validate(self) -> None:
        """Raise SchemaException unless every value fits its field."""
        self.schema.validate(self)

    def get_byte(self, key: Key) -> int:
        """The value of an INT8 field."""
        value: int = self.get(key)
        return value

    get_short = get_int = get_unsigned_int = get_long = get_byte

    def get_string(self, key: Key) -> Any:
        """The text of a field, None where that is allowed."""
        return self.get(key)

    def get_boolean(self, key: Key) -> bool:
        """The value of a BOOLEAN field."""
        value: bool = self.get(key)
        return value

    def get_array(self, key: Key) -> Any:
        """The list of an array field, None where that is allowed."""
        return self.get(key)

    def get_struct(self, key: Key) -> Struct:
        """The struct of a nested schema."""
        value: Struct = self.get(key)
        return value

    def get_bytes(self, key: Key) -> Any:
        """The slice of a BYTES field, None where that is allowed."""
        return self.get(key)

    def get_records(self, key: Key) -> Any:
        """The record set of a RECORDS field as it was read or set."""
        return self.get(key)

    def __str__(self) -> str:
        shown = ",".join(
            f"{field.definition.name}={show(value)}"
            for field, value in zip(self.schema.fields, self.values, strict=True)
        )
        return "{" + shown + "}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.schema is other.schema and self.values == other.values

    __hash__ = None  # type: ignore[assignment]  # mutable


def show(value: Any) -> str:
    """A value in the words of Java."""
    if isinstance(value, list | tuple):
        return f"[{','.join(map(show, value))}]"
    return "null" if value is None else str(value)
