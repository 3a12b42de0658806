"""A list of record headers that can be closed for writing.

Mirrors: clients/src/main/java/org/apache/kafka/common/header/internals/RecordHeaders.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.header.internals.record_header import RecordHeader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafka_py.common.header.header import Header


class RecordHeaders:
    """Headers in the order they were added, read-only once a record has been sent.

    Mirrors: org.apache.kafka.common.header.internals.RecordHeaders
    """

    __slots__ = ("_headers", "_is_read_only")

    def __init__(self, headers: Iterable[Header] | None = None) -> None:
        self._headers: list[Header] = list(headers) if headers is not None else []
        self._is_read_only = False

    def add(self, header: Header) -> RecordHeaders:
        """Append a header; IllegalStateException once read-only."""
        self._can_write()
        self._headers.append(header)
        return self

    def add_key_value(self, key: str, value: bytes | None) -> RecordHeaders:
        """Append a header made of key and value (Java's second overload of add)."""
        return self.add(RecordHeader(key, value))

    def remove(self, key: str) -> RecordHeaders:
        """Drop every header of that key; IllegalStateException once read-only."""
        self._can_write()
        self._headers = [header for header in self._headers if header.key() != key]
        return self

    def last_header(self, key: str) -> Header | None:
        """Return the header of that key that was added last, or None."""
        return next((header for header in reversed(self._headers) if header.key() == key), None)

    def headers(self, key: str) -> list[Header]:
        """Return the headers of that key in order."""
        return [header for header in self._headers if header.key() == key]

    def set_read_only(self) -> None:
        """Refuse changes from now on."""
        self._is_read_only = True

    def to_array(self) -> tuple[Header, ...]:
        """Return all headers in order."""
        return tuple(self._headers)

    def __iter__(self) -> Iterator[Header]:
        """Iterate over all headers in order."""
        return iter(self._headers)

    def __eq__(self, other: object) -> bool:
        """Equal when the headers are equal one by one."""
        return isinstance(other, RecordHeaders) and self._headers == other._headers

    def __hash__(self) -> int:
        """Hash of the headers in order."""
        return hash(tuple(self._headers))

    def __repr__(self) -> str:
        """Show headers and state."""
        return f"RecordHeaders(headers = {self._headers}, isReadOnly = {str(self._is_read_only).lower()})"

    def _can_write(self) -> None:
        if self._is_read_only:
            raise IllegalStateException("RecordHeaders has been closed.")
