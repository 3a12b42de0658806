"""A byte buffer that grows while it is written.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/ByteBufferOutputStream.java @ 1.1.1
"""

from __future__ import annotations


class ByteBufferOutputStream:
    """Collects bytes in a bytearray; its position is its length.

    Mirrors: org.apache.kafka.common.utils.ByteBufferOutputStream
    Differs: a bytearray grows by itself, so capacity is only remembered (writers take it as their write limit).
    """

    __slots__ = ("_initial_capacity", "buffer")

    def __init__(self, initial_capacity: int = 0) -> None:
        self.buffer = bytearray()  # thread: of its owner
        self._initial_capacity = initial_capacity

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append data."""
        self.buffer += data

    def position(self) -> int:
        """Return the number of bytes so far."""
        return len(self.buffer)

    def set_position(self, position: int) -> None:
        """Skip forward over zero bytes, or drop what was written after position."""
        missing = position - len(self.buffer)
        if missing >= 0:
            self.buffer += bytes(missing)
        else:
            del self.buffer[position:]

    def initial_capacity(self) -> int:
        """Return the size that the creator expected."""
        return self._initial_capacity
