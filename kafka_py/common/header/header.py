"""The interface of a record header.

Mirrors: clients/src/main/java/org/apache/kafka/common/header/Header.java @ 1.1.1
"""

from __future__ import annotations

from typing import Protocol


class Header(Protocol):
    """A named value attached to a record.

    Mirrors: org.apache.kafka.common.header.Header
    """

    def key(self) -> str:
        """Return the name of the header."""

    def value(self) -> bytes | None:
        """Return the bytes of the header, or None for a null value."""
