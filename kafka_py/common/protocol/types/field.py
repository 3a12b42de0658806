"""A named member of a schema.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/Field.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kafka_py.common.protocol.types.type import INT8, INT16, INT32, INT64, NULLABLE_STRING, STRING, Type

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.schema import Schema


class _NoDefault:
    """Tells a field without a default from one whose default is None."""


NO_DEFAULT = _NoDefault()


class Field:
    """Name, type, documentation and default of a member of a schema.

    Mirrors: org.apache.kafka.common.protocol.types.Field
    """

    __slots__ = ("default_value", "doc_string", "has_default_value", "name", "type")

    Int8: ClassVar[type[_Int8]]
    Int16: ClassVar[type[_Int16]]
    Int32: ClassVar[type[_Int32]]
    Int64: ClassVar[type[_Int64]]
    Str: ClassVar[type[_Str]]
    NullableStr: ClassVar[type[_NullableStr]]

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


class _Int8(Field):
    """A field of type INT8.

    Mirrors: org.apache.kafka.common.protocol.types.Field.Int8
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None, default_value: Any = NO_DEFAULT) -> None:
        super().__init__(name, INT8, doc_string, default_value)


class _Int16(Field):
    """A field of type INT16.

    Mirrors: org.apache.kafka.common.protocol.types.Field.Int16
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None, default_value: Any = NO_DEFAULT) -> None:
        super().__init__(name, INT16, doc_string, default_value)


class _Int32(Field):
    """A field of type INT32.

    Mirrors: org.apache.kafka.common.protocol.types.Field.Int32
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None, default_value: Any = NO_DEFAULT) -> None:
        super().__init__(name, INT32, doc_string, default_value)


class _Int64(Field):
    """A field of type INT64.

    Mirrors: org.apache.kafka.common.protocol.types.Field.Int64
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None, default_value: Any = NO_DEFAULT) -> None:
        super().__init__(name, INT64, doc_string, default_value)


class _Str(Field):
    """A field of type STRING.

    Mirrors: org.apache.kafka.common.protocol.types.Field.Str
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None) -> None:
        super().__init__(name, STRING, doc_string)


class _NullableStr(Field):
    """A field of type NULLABLE_STRING.

    Mirrors: org.apache.kafka.common.protocol.types.Field.NullableStr
    """

    __slots__ = ()

    def __init__(self, name: str, doc_string: str | None = None) -> None:
        super().__init__(name, NULLABLE_STRING, doc_string)


Field.Int8 = _Int8
Field.Int16 = _Int16
Field.Int32 = _Int32
Field.Int64 = _Int64
Field.Str = _Str
Field.NullableStr = _NullableStr


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
