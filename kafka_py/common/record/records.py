"""The interface of a sequence of batches, and the layout that all formats share.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/Records.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.common.record.converted_records import ConvertedRecords
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.utils.time import Time

LOG_OVERHEAD: Final = 12  # bytes of offset and size, which the size does not count


class Records(ABC):
    """Batches in memory or in a file: offset (8 bytes), size (4 bytes), and from byte 16 on the magic.

    Mirrors: org.apache.kafka.common.record.Records
    """

    __slots__ = ()

    OFFSET_OFFSET: ClassVar[int] = 0
    SIZE_OFFSET: ClassVar[int] = 8
    LOG_OVERHEAD: ClassVar[int] = LOG_OVERHEAD
    MAGIC_OFFSET: ClassVar[int] = 16
    MAGIC_LENGTH: ClassVar[int] = 1
    HEADER_SIZE_UP_TO_MAGIC: ClassVar[int] = 17

    @abstractmethod
    def size_in_bytes(self) -> int:
        """Return the size, a partial last batch included."""

    @abstractmethod
    def write_to(self, channel: Any, position: int, length: int) -> int:
        """Write up to length bytes from position to the channel; return the bytes written."""

    @abstractmethod
    def batches(self) -> Iterator[RecordBatch]:
        """Iterate over the complete batches."""

    @abstractmethod
    def has_matching_magic(self, magic: int) -> bool:
        """Return whether every batch has exactly that magic."""

    @abstractmethod
    def has_compatible_magic(self, magic: int) -> bool:
        """Return whether no batch has a higher magic."""

    @abstractmethod
    def down_convert(self, to_magic: int, first_offset: int, time: Time) -> ConvertedRecords[Any]:
        """Rebuild all batches above to_magic in that older format."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Iterate over the records of all batches."""
