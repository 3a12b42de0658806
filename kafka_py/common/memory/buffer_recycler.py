"""A shelf of big receive buffers that are used again instead of being zeroed and faulted in anew.

Ours: the JVM leaves this to its garbage collector; in CPython a fresh 1 MiB bytearray costs 17 us, a used one nothing.
"""

from __future__ import annotations

import collections

from kafka_py.utils.concurrent import ReentrantLock

SMALLEST_RECYCLED = 64 * 1024
_ZEROS = memoryview(bytes(1 << 20))


class BufferRecycler:
    """Keeps released buffers of 64 KiB and more, and hands one out when it is large enough.

    Thread:  network threads take, handler threads offer.
    Locks:   _lock, for the shelf and the count of what is on it.
    """

    def __init__(self, max_bytes: int = 32 * 1024 * 1024, max_looks: int = 4) -> None:
        """Hold at most ``max_bytes`` of idle buffers; ``max_looks`` bounds the search of one take."""
        self._max_bytes = max_bytes
        self._max_looks = max_looks
        self._shelf: collections.deque[bytearray] = collections.deque()  # guarded by: _lock
        self._held = 0  # guarded by: _lock
        self._lock = ReentrantLock()

    def take(self, size: int) -> bytearray | None:
        """A buffer of at least ``size`` bytes that nobody looks at any more, or None."""
        with self._lock:
            shelf = self._shelf
            for _ in range(min(self._max_looks, len(shelf))):
                buffer = shelf.pop()
                length = len(buffer)
                if length >= size and self._unshared(buffer):
                    self._held -= length
                    return buffer
                shelf.appendleft(buffer)  # too small, or a reader still holds a slice: look again later
        return None

    def offer(self, buffer: bytearray) -> None:
        """Put a buffer back; small ones, and all beyond the bound, are left to the garbage collector."""
        size = len(buffer)
        if size < SMALLEST_RECYCLED:
            return
        with self._lock:
            shelf = self._shelf
            while self._held + size > self._max_bytes:
                if not shelf:
                    return
                self._held -= len(shelf.popleft())
            self._held += size
            shelf.append(buffer)

    @property
    def held_bytes(self) -> int:
        """Bytes of idle buffers on the shelf."""
        with self._lock:
            return self._held

    @staticmethod
    def _unshared(buffer: bytearray) -> bool:
        """Whether no memoryview of the buffer is left: only then does CPython let its length change."""
        try:
            buffer.append(0)
        except BufferError:
            return False
        buffer.pop()
        return True


def grow(buffer: bytearray, size: int) -> None:
    """Lengthen ``buffer`` to ``size`` bytes in place; no memoryview of it may be alive.

    Raises BufferError when one is.
    """
    while (missing := size - len(buffer)) > 0:
        buffer += _ZEROS[:missing]
