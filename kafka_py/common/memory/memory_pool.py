"""Where the memory of requests comes from.

Mirrors: clients/src/main/java/org/apache/kafka/common/memory/MemoryPool.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import ClassVar

from kafka_py.common.memory.buffer_recycler import SMALLEST_RECYCLED, BufferRecycler

_UNBOUNDED = (1 << 63) - 1


class MemoryPool(abc.ABC):
    """Gives out the buffers that requests are received into, and takes them back.

    Mirrors: org.apache.kafka.common.memory.MemoryPool @ 3.7.1
    Differs: a buffer starts small and grows with what arrives, so `try_allocate` books the whole size but may return
        less memory than that; what is handed back is the view of the received bytes, whose length is the booked size.
    """

    NONE: ClassVar[MemoryPool]

    @abc.abstractmethod
    def try_allocate(self, size_bytes: int) -> bytearray | None:
        """Book ``size_bytes`` and return the first piece of memory for them, or None when the pool is empty now."""

    @abc.abstractmethod
    def release(self, previously_allocated: memoryview | bytearray) -> None:
        """Return a buffer: the view of the whole payload, or the bytes booked so far for one that was given up."""

    @abc.abstractmethod
    def size(self) -> int:
        """The total number of bytes of this pool."""

    @abc.abstractmethod
    def available_memory(self) -> int:
        """Bytes not booked now; negative when a pool that is not strict has overdrawn."""

    @abc.abstractmethod
    def is_out_of_memory(self) -> bool:
        """Whether a request of any size would be refused now."""

    def give_back(self, size_bytes: int, buffer: bytearray | None) -> None:
        """End a receive that never completed: ``size_bytes`` are free again."""
        if buffer is not None:
            _recycler.offer(buffer)


_recycler = BufferRecycler()


def first_piece(size_bytes: int) -> bytearray:
    """Memory for the start of a message that claims ``size_bytes``: a used buffer that fits, or 64 KiB at most."""
    if size_bytes >= SMALLEST_RECYCLED and (used := _recycler.take(size_bytes)) is not None:
        return used
    return bytearray(min(size_bytes, SMALLEST_RECYCLED))


def recycle(previously_allocated: memoryview | bytearray) -> None:
    """Put the memory behind a released payload back on the shelf of big buffers."""
    if len(previously_allocated) >= SMALLEST_RECYCLED:
        base = previously_allocated.obj if isinstance(previously_allocated, memoryview) else previously_allocated
        if isinstance(base, bytearray):
            _recycler.offer(base)


class _NoPool(MemoryPool):
    """The pool without a bound."""

    def try_allocate(self, size_bytes: int) -> bytearray:
        return first_piece(size_bytes)

    def release(self, previously_allocated: memoryview | bytearray) -> None:
        recycle(previously_allocated)

    def size(self) -> int:
        return _UNBOUNDED

    def available_memory(self) -> int:
        return _UNBOUNDED

    def is_out_of_memory(self) -> bool:
        return False

    def __str__(self) -> str:
        return "NONE"


MemoryPool.NONE = _NoPool()
