"""What converting or checking records cost.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/RecordsProcessingStats.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class RecordsProcessingStats:
    """Temporary memory, records rebuilt and nanoseconds spent for one append or one down-conversion.

    Mirrors: org.apache.kafka.common.record.RecordsProcessingStats
    """

    __slots__ = ("_conversion_time_nanos", "_num_records_converted", "_temporary_memory_bytes")

    EMPTY: ClassVar[RecordsProcessingStats]

    def __init__(self, temporary_memory_bytes: int, num_records_converted: int, conversion_time_nanos: int) -> None:
        self._temporary_memory_bytes = temporary_memory_bytes
        self._num_records_converted = num_records_converted
        self._conversion_time_nanos = conversion_time_nanos

    def temporary_memory_bytes(self) -> int:
        """Return the bytes of decompressed and rebuilt records together; 0 when nothing was done."""
        return self._temporary_memory_bytes

    def num_records_converted(self) -> int:
        """Return how many records had to be rebuilt."""
        return self._num_records_converted

    def conversion_time_nanos(self) -> int:
        """Return the time spent rebuilding, -1 when nothing was rebuilt."""
        return self._conversion_time_nanos

    def __repr__(self) -> str:
        """Show all three numbers."""
        return (
            f"RecordsProcessingStats(temporaryMemoryBytes={self._temporary_memory_bytes}, "
            f"numRecordsConverted={self._num_records_converted}, conversionTimeNanos={self._conversion_time_nanos})"
        )


RecordsProcessingStats.EMPTY = RecordsProcessingStats(0, 0, -1)
