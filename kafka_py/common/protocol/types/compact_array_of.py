"""Arrays of flexible versions.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/CompactArrayOf.java @ 3.7.1
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.type import Parts, Type, read_unsigned_varint, unsigned_varint


class CompactArrayOf(ArrayOf):
    """A list of values of one type behind its count plus one as a varint; 0 stands for None.

    Mirrors: org.apache.kafka.common.protocol.types.CompactArrayOf @ 3.7.1
    Left out: arrayElementType, documentation, read, typeName -- ``type`` tells the elements' type, ``name`` its own; a
              memoryview has no position of its own: read_at is told one
    """

    def __init__(self, type: Type, nullable: bool = False) -> None:
        super().__init__(type, nullable)
        self.name = f"COMPACT_ARRAY({type})"

    def read_at(self, buffer: memoryview, position: int) -> tuple[Any, int]:
        size, position = read_unsigned_varint(buffer, position)
        size -= 1
        if size < 0:
            if self.nullable:
                return None, position
            raise SchemaException("This array is not nullable.")
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
            out.append(b"\0")
            return
        out.append(unsigned_varint(len(o) + 1))
        write = self.type.write
        for value in o:
            write(out, value)
