"""Feeding integers into a running checksum.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Checksums.java @ 1.1.1
"""

from __future__ import annotations

from typing import Protocol


class Checksum(Protocol):
    """A running checksum (java.util.zip.Checksum)."""

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Feed bytes."""

    def get_value(self) -> int:
        """Return the checksum of everything fed so far."""


class Checksums:
    """Helpers that write numbers into a Checksum in big-endian order.

    Mirrors: org.apache.kafka.common.utils.Checksums
    """

    @staticmethod
    def update(checksum: Checksum, buffer: bytes | bytearray | memoryview, offset: int, length: int) -> None:
        """Feed length bytes of buffer from offset."""
        checksum.update(memoryview(buffer)[offset : offset + length])

    @staticmethod
    def update_int(checksum: Checksum, value: int) -> None:
        """Feed the low 32 bits of value."""
        checksum.update((value & 0xFFFFFFFF).to_bytes(4, "big"))

    @staticmethod
    def update_long(checksum: Checksum, value: int) -> None:
        """Feed the low 64 bits of value."""
        checksum.update((value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "big"))
