"""The versions of the on-disk format that log.message.format.version chooses from.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/RecordFormat.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class RecordFormat:
    """A format version; its value is the magic byte.

    Mirrors: org.apache.kafka.common.record.RecordFormat
    """

    __slots__ = ("name", "value")

    V0: ClassVar[RecordFormat]
    V1: ClassVar[RecordFormat]
    V2: ClassVar[RecordFormat]

    def __init__(self, value: int) -> None:
        self.value = value
        self.name = f"V{value}"

    @classmethod
    def lookup(cls, version: int) -> RecordFormat:
        """Return the format of that magic; ValueError if unknown."""
        formats = (cls.V0, cls.V1, cls.V2)
        if not 0 <= version < len(formats):
            raise ValueError(f"Unknown format version: {version}")
        return formats[version]

    @classmethod
    def current(cls) -> RecordFormat:
        """Return the newest format."""
        return cls.V2

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


RecordFormat.V0 = RecordFormat(0)
RecordFormat.V1 = RecordFormat(1)
RecordFormat.V2 = RecordFormat(2)
