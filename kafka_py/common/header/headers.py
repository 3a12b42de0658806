"""The interface of an ordered collection of headers.

Mirrors: clients/src/main/java/org/apache/kafka/common/header/Headers.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafka_py.common.header.header import Header


class Headers(Protocol):
    """Headers of one record in the order in which they were added; keys may repeat.

    Mirrors: org.apache.kafka.common.header.Headers
    """

    def add(self, header: Header) -> Headers:
        """Append a header; IllegalStateException once read-only."""

    def remove(self, key: str) -> Headers:
        """Drop every header of that key; IllegalStateException once read-only."""

    def last_header(self, key: str) -> Header | None:
        """Return the header of that key that was added last, or None."""

    def headers(self, key: str) -> Iterable[Header]:
        """Return the headers of that key in order."""

    def to_array(self) -> tuple[Header, ...]:
        """Return all headers in order."""

    def __iter__(self) -> Iterator[Header]:
        """Iterate over all headers in order."""
