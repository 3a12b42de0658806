"""Arrays of one type.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/ArrayOf.java @ 1.1.1
"""

from __future__ import annotations

import struct
from typing import Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.type import Parts, Type


class ArrayOf(Type):
    """A list of values of one type behind a count of four bytes; -1 stands for None where that is allowed.

    Mirrors: org.apache.kafka.common.protocol.types.ArrayOf
    Left out: read -- a memoryview has no position of its own: read_at is told one
    Differs: the nullable array, ``ArrayOf.nullable(type)`` in Java, is ``ArrayOf(type, nullable=True)``.
    """

    def __init__(self, type: Type, nullable: bool = False) -> None:
        self.type = type
        self.nullable = nullable
        self.name = f"ARRAY({type})"

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        size = struct.unpack_from(">i", buffer, position)[0]
        position += 4
        if size < 0:
            if self.nullable:
                return None, position
            raise SchemaException(f"Array size {size} cannot be negative")
        remaining = len(buffer) - position
        if size > remaining:
            raise SchemaException(f"Error reading array of size {size}, only {remaining} bytes available")
        read_at = self.type.read_at
        values = []
        for _ in range(size):
            value, position = read_at(buffer, position)
            values.append(value)
        return values, position

    def write(self, out: Parts, o: Any) -> None:
        if o is None:
            out.append(b"\xff\xff\xff\xff")
            return
        out.append(struct.pack(">i", len(o)))
        write = self.type.write
        for value in o:
            write(out, value)

    def validate(self, o: Any) -> Any:
        if o is None and self.nullable:
            return None
        if not isinstance(o, list | tuple):
            raise SchemaException("Not an Object[].")
        for value in o:
            self.type.validate(value)
        return o
