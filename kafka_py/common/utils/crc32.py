"""CRC-32 (IEEE 802.3), the checksum of magic 0 and 1 messages.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Crc32.java @ 1.1.1
"""

from __future__ import annotations

import zlib


class Crc32:
    """Computes CRC-32 with zlib, at once or step by step.

    Mirrors: org.apache.kafka.common.utils.Crc32
    """

    __slots__ = ("_crc",)

    def __init__(self) -> None:
        self._crc = 0

    @staticmethod
    def crc32(buffer: bytes | bytearray | memoryview, offset: int = 0, size: int | None = None) -> int:
        """Return the checksum of size bytes from offset (to the end when size is None)."""
        view = memoryview(buffer)
        return zlib.crc32(view[offset:] if size is None else view[offset : offset + size])

    def get_value(self) -> int:
        """Return the checksum of everything fed so far, unsigned."""
        return self._crc

    def reset(self) -> None:
        """Start over."""
        self._crc = 0

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Feed bytes."""
        self._crc = zlib.crc32(data, self._crc)
