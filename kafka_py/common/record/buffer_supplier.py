"""Reuse of decompression buffers.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/BufferSupplier.java @ 1.1.1
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

_SHARED_OF_A_SIZE = 2


class BufferSupplier:
    """Keeps released buffers by size; for one thread only (the log cleaner), but for SHARED.

    Mirrors: org.apache.kafka.common.record.BufferSupplier
    Differs: SHARED keeps a few buffers of each size for all threads. Later versions give each request handler a
        supplier of its own and pass it down to the validator (RequestLocal).
    """

    __slots__ = ("_buffers", "_caching")

    NO_CACHING: ClassVar[BufferSupplier]
    SHARED: ClassVar[BufferSupplier]

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


class _SharedBufferSupplier(BufferSupplier):
    """Two buffers of a size stay, whoever releases them; a deque's ends may be used by several threads."""

    __slots__ = ("_free",)

    def __init__(self) -> None:
        super().__init__()
        self._free: dict[int, deque[bytearray]] = {}

    def get(self, capacity: int) -> bytearray:
        """Return a buffer of exactly that size; its contents are undefined."""
        free = self._free.get(capacity)
        if free:
            try:
                return free.pop()
            except IndexError:  # another thread was quicker
                return bytearray(capacity)
        return bytearray(capacity)

    def release(self, buffer: bytearray) -> None:
        """Take a buffer back for the next get of its size, or let it go if there are enough."""
        capacity = len(buffer)
        free = self._free.get(capacity)
        if free is None:
            free = self._free.setdefault(capacity, deque(maxlen=_SHARED_OF_A_SIZE))
        free.append(buffer)

    def close(self) -> None:
        """Forget all buffers."""
        self._free.clear()


BufferSupplier.SHARED = _SharedBufferSupplier()
BufferSupplier.NO_CACHING = BufferSupplier(caching=False)
