"""The interface of a stored record.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/Record.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from kafka_py.common.header.header import Header
    from kafka_py.common.record.timestamp_type import TimestampType


class Record(ABC):
    """A record with its offset, whatever the format version it is stored in.

    Mirrors: org.apache.kafka.common.record.Record
    """

    __slots__ = ()

    EMPTY_HEADERS: ClassVar[tuple[Header, ...]] = ()

    @abstractmethod
    def offset(self) -> int:
        """Return the absolute offset."""

    @abstractmethod
    def sequence(self) -> int:
        """Return the producer's sequence number, -1 if there is none."""

    @abstractmethod
    def size_in_bytes(self) -> int:
        """Return the size on disk, size field included."""

    @abstractmethod
    def timestamp(self) -> int:
        """Return the timestamp in ms, -1 if there is none."""

    @abstractmethod
    def checksum_or_null(self) -> int | None:
        """Return the record's own CRC; None from magic 2 on."""

    @abstractmethod
    def is_valid(self) -> bool:
        """Return whether the record's own CRC is right (always, from magic 2 on)."""

    @abstractmethod
    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if is_valid() is false."""

    @abstractmethod
    def key_size(self) -> int:
        """Return the bytes of the key, -1 for a null key."""

    @abstractmethod
    def has_key(self) -> bool:
        """Return whether the key is not null."""

    @abstractmethod
    def key(self) -> memoryview | None:
        """Return the key where it lies, None if null."""

    @abstractmethod
    def value_size(self) -> int:
        """Return the bytes of the value, -1 for a null value."""

    @abstractmethod
    def has_value(self) -> bool:
        """Return whether the value is not null."""

    @abstractmethod
    def value(self) -> memoryview | None:
        """Return the value where it lies, None if null."""

    @abstractmethod
    def has_magic(self, magic: int) -> bool:
        """Return whether the record is stored in the format of that magic."""

    @abstractmethod
    def is_compressed(self) -> bool:
        """Return whether the record itself is a compressed set (magic 0 and 1 only)."""

    @abstractmethod
    def has_timestamp_type(self, timestamp_type: TimestampType) -> bool:
        """Return whether the record itself carries that timestamp type (magic 1 only)."""

    @abstractmethod
    def headers(self) -> tuple[Header, ...]:
        """Return the headers; empty below magic 2."""
