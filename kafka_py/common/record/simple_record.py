"""A record independent of any format version.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/SimpleRecord.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_py.common.header.header import Header
    from kafka_py.common.record.record import Record

Buffer = bytes | bytearray | memoryview


class SimpleRecord:
    """Timestamp, key, value and headers, as a producer hands them over.

    Mirrors: org.apache.kafka.common.record.SimpleRecord
    Differs: getters are attributes; one constructor with defaults stands for Java's eight.
    """

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(
        self,
        timestamp: int = -1,
        key: Buffer | None = None,
        value: Buffer | None = None,
        headers: Sequence[Header] = (),
    ) -> None:
        if headers is None:
            raise TypeError("Headers must be non-null")
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = tuple(headers)

    @classmethod
    def of(cls, record: Record) -> SimpleRecord:
        """Copy the fields of a stored record."""
        return cls(record.timestamp(), record.key(), record.value(), record.headers())

    def __eq__(self, other: object) -> bool:
        """Equal when all four fields are."""
        return (
            isinstance(other, SimpleRecord)
            and self.timestamp == other.timestamp
            and self.key == other.key
            and self.value == other.value
            and self.headers == other.headers
        )

    def __hash__(self) -> int:
        """Hash of timestamp and headers (buffers may be writable)."""
        return hash((self.timestamp, self.headers))

    def __repr__(self) -> str:
        """Show the sizes, not the payload."""
        return (
            f"SimpleRecord(timestamp={self.timestamp}, key={len(self.key or b'')} bytes, "
            f"value={len(self.value or b'')} bytes)"
        )
