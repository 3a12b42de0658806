"""ZooKeeper's serialisation (jute): big-endian numbers, and a length before everything of variable size.

A length of -1 stands for null. Shared by the wire protocol and by the transaction log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kafka_py.zookeeper.zoo_defs import ACL, Id, Stat

_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_STAT = struct.Struct(">qqqqiiiqiiq")


class JuteException(ValueError):
    """The bytes do not hold what they should."""


class Reader:
    """Reads values one after the other from a buffer; raises JuteException when it ends too early."""

    __slots__ = ("_data", "position")

    def __init__(self, data: bytes | bytearray | memoryview, position: int = 0) -> None:
        """Start at that position."""
        self._data = memoryview(data)
        self.position = position  # thread: of its owner

    @property
    def remaining(self) -> int:
        """Bytes that have not been read."""
        return len(self._data) - self.position

    def read_int(self) -> int:
        """A signed 32-bit number."""
        return self._unpack(_INT)

    def read_long(self) -> int:
        """A signed 64-bit number."""
        return self._unpack(_LONG)

    def read_bool(self) -> bool:
        """One byte: 0 is false."""
        return self._take(1)[0] != 0

    def read_buffer(self) -> bytes | None:
        """Bytes, or None."""
        length = self.read_int()
        if length == -1:
            return None
        return bytes(self._take(length))

    def read_string(self) -> str:
        """Text; null is read as the empty text. Raises JuteException for what is not UTF-8."""
        try:
            return (self.read_buffer() or b"").decode()
        except UnicodeDecodeError as e:
            raise JuteException(str(e)) from e

    def read_strings(self) -> list[str]:
        """A vector of texts."""
        return [self.read_string() for _ in range(self._count())]

    def read_acl(self) -> list[ACL]:
        """A vector of access rights."""
        return [ACL(self.read_int(), Id(self.read_string(), self.read_string())) for _ in range(self._count())]

    def _count(self) -> int:
        count = self.read_int()
        if count > self.remaining:  # each element takes a byte at least: keeps a wild count from filling the memory
            raise JuteException(f"vector of {count} elements in {self.remaining} bytes")
        return max(count, 0)

    def _unpack(self, codec: struct.Struct) -> int:
        value: int = codec.unpack(self._take(codec.size))[0]
        return value

    def _take(self, length: int) -> memoryview:
        end = self.position + length
        if length < 0 or end > len(self._data):
            raise JuteException(f"{length} bytes wanted, {self.remaining} left")
        taken = self._data[self.position : end]
        self.position = end
        return taken


class Writer:
    """Writes values one after the other; every method returns the writer."""

    __slots__ = ("out",)

    def __init__(self) -> None:
        """Start empty."""
        self.out = bytearray()  # thread: of its owner

    def write_int(self, value: int) -> Writer:
        """A signed 32-bit number."""
        self.out += _INT.pack(value)
        return self

    def write_long(self, value: int) -> Writer:
        """A signed 64-bit number."""
        self.out += _LONG.pack(value)
        return self

    def write_bool(self, value: bool) -> Writer:
        """One byte."""
        self.out.append(1 if value else 0)
        return self

    def write_buffer(self, value: bytes | None) -> Writer:
        """Bytes, or None."""
        if value is None:
            return self.write_int(-1)
        self.out += _INT.pack(len(value))
        self.out += value
        return self

    def write_string(self, value: str) -> Writer:
        """Text as UTF-8."""
        return self.write_buffer(value.encode())

    def write_strings(self, values: Iterable[str]) -> Writer:
        """A vector of texts."""
        listed = list(values)
        self.write_int(len(listed))
        for value in listed:
            self.write_string(value)
        return self

    def write_acl(self, acl: Iterable[ACL]) -> Writer:
        """A vector of access rights."""
        listed = list(acl)
        self.write_int(len(listed))
        for perms, (scheme, name) in listed:
            self.write_int(perms).write_string(scheme).write_string(name)
        return self

    def write_stat(self, stat: Stat) -> Writer:
        """A node's state."""
        self.out += _STAT.pack(*stat)
        return self
