"""A pool with a bound, set by queued.max.request.bytes.

Mirrors: clients/src/main/java/org/apache/kafka/common/memory/SimpleMemoryPool.java @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.memory.memory_pool import MemoryPool, first_piece, recycle
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.utils.time import Time


class SimpleMemoryPool(Logging, MemoryPool):
    """Counts the bytes given out and refuses when none are left.

    Mirrors: org.apache.kafka.common.memory.SimpleMemoryPool @ 3.7.1
    Thread:  network threads allocate, handler threads release.
    Locks:   one lock around the count, where Java spins on a compare-and-set.
    """

    def __init__(
        self,
        size_in_bytes: int,
        max_single_allocation_bytes: int,
        strict: bool,
        oom_period_sensor: Sensor | None = None,
        time: Time | None = None,
    ) -> None:
        """``strict`` refuses what does not fit whole; else one allocation may overdraw the pool. Raises ValueError."""
        if not 0 < max_single_allocation_bytes <= size_in_bytes:
            raise ValueError(
                "must provide a positive size and max single allocation size smaller than size."
                f"provided {size_in_bytes} and {max_single_allocation_bytes} respectively"
            )
        self._size_bytes = size_in_bytes
        self._strict = strict
        self._max_single_allocation_size = max_single_allocation_bytes
        self._oom_time_sensor = oom_period_sensor
        self._time = time
        self._lock = ReentrantLock()
        self._available_memory = size_in_bytes  # guarded by: _lock
        self._start_of_no_mem_period = 0  # guarded by: _lock

    def try_allocate(self, size_bytes: int) -> bytearray | None:
        """Book ``size_bytes``; None when refused. Raises ValueError for a size outside 1..max single allocation."""
        if size_bytes < 1:
            raise ValueError(f"requested size {size_bytes}<=0")
        if size_bytes > self._max_single_allocation_size:
            raise ValueError(
                f"requested size {size_bytes} is larger than maxSingleAllocationSize {self._max_single_allocation_size}"
            )
        with self._lock:
            if self._available_memory < (size_bytes if self._strict else 1):
                if not self._start_of_no_mem_period:
                    self._start_of_no_mem_period = self._nanoseconds()
                refused = True
            else:
                self._available_memory -= size_bytes
                self._maybe_record_end_of_dry_spell()
                refused = False
        if refused:
            self.trace("refused to allocate buffer of size %d", size_bytes)
            return None
        return first_piece(size_bytes)

    def release(self, previously_allocated: memoryview | bytearray) -> None:
        """Take back a whole payload."""
        size = len(previously_allocated)
        recycle(previously_allocated)
        self.give_back(size, None)

    def give_back(self, size_bytes: int, buffer: bytearray | None) -> None:
        """Free ``size_bytes`` of a receive that never completed, and its partly filled buffer."""
        super().give_back(size_bytes, buffer)
        with self._lock:
            self._available_memory += size_bytes
            self._maybe_record_end_of_dry_spell()

    def size(self) -> int:
        """The bound of the pool, bytes."""
        return self._size_bytes

    def available_memory(self) -> int:
        """Bytes left; below zero after an overdraft."""
        with self._lock:
            return self._available_memory

    def is_out_of_memory(self) -> bool:
        """Whether nothing is left."""
        with self._lock:
            return self._available_memory <= 0

    def _maybe_record_end_of_dry_spell(self) -> None:
        """Caller holds _lock."""
        start = self._start_of_no_mem_period
        if start:
            self._start_of_no_mem_period = 0
            if self._oom_time_sensor is not None:
                self._oom_time_sensor.record((self._nanoseconds() - start) / 1e6)

    def _nanoseconds(self) -> int:
        return self._time.nanoseconds() if self._time is not None else 1

    def __str__(self) -> str:
        used = self._size_bytes - self.available_memory()
        return f"SimpleMemoryPool{{{used}/{self._size_bytes} used}}"
