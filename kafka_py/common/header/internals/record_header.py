"""A record header whose value may still lie in the batch's buffer.

Mirrors: clients/src/main/java/org/apache/kafka/common/header/internals/RecordHeader.java @ 1.1.1
"""

from __future__ import annotations


class RecordHeader:
    """A header key and its value; the value is copied out of the batch only when asked for.

    Mirrors: org.apache.kafka.common.header.internals.RecordHeader
    """

    __slots__ = ("_key", "_value")

    def __init__(self, key: str, value: bytes | bytearray | memoryview | None) -> None:
        if key is None:
            raise TypeError("Null header keys are not permitted")
        self._key = key
        self._value = value  # thread: of its owner

    def key(self) -> str:
        """Return the name of the header."""
        return self._key

    def value(self) -> bytes | None:
        """Return the bytes of the header, or None for a null value."""
        value = self._value
        if value is not None and type(value) is not bytes:
            value = self._value = bytes(value)
        return value

    def __eq__(self, other: object) -> bool:
        """Headers are equal when key and value bytes are."""
        return isinstance(other, RecordHeader) and self._key == other._key and self.value() == other.value()

    def __hash__(self) -> int:
        """Hash of key and value."""
        return hash((self._key, self.value()))

    def __repr__(self) -> str:
        """Show key and value."""
        return f"RecordHeader(key = {self._key}, value = {self.value()!r})"
