"""Reuse of decompression buffers.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/BufferSupplier.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class BufferSupplier:
    """Keeps released buffers by size; for one thread only (the log cleaner, a request handler).

    Mirrors: org.apache.kafka.common.record.BufferSupplier
    """

    __slots__ = ("_buffers", "_caching")

    NO_CACHING: ClassVar[BufferSupplier]

    def __init__(self, caching: bool = True) -> None:
        self._caching = caching
        self._buffers: dict[int, list[bytearray]] = {}

    @staticmethod
    def create() -> BufferSupplier:
        """Return a supplier that keeps what is released."""
        return BufferSupplier()

    def get(self, capacity: int) -> bytearray:
        """Return a buffer of exactly that size; its contents are undefined."""
        free = self._buffers.get(capacity)
        return free.pop() if free else bytearray(capacity)

    def release(self, buffer: bytearray) -> None:
        """Take a buffer back for the next get of its size."""
        if self._caching:
            self._buffers.setdefault(len(buffer), []).append(buffer)

    def close(self) -> None:
        """Forget all buffers."""
        self._buffers.clear()


BufferSupplier.NO_CACHING = BufferSupplier(caching=False)
