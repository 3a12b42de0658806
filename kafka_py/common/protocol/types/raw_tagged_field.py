"""A tagged field that the reader does not know.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/RawTaggedField.java @ 3.7.1
"""

from __future__ import annotations

from typing import NamedTuple


class RawTaggedField(NamedTuple):
    """Tag and bytes of an unknown field: skipped by the reader, kept for the writer.

    Mirrors: org.apache.kafka.common.protocol.types.RawTaggedField @ 3.7.1
    """

    tag: int
    data: bytes | memoryview

    def size(self) -> int:
        """How many bytes of data there are."""
        return len(self.data)
