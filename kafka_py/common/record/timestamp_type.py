"""What the timestamp of a record means.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/TimestampType.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class TimestampType:
    """Create time (set by the producer), append time (set by the broker) or none (magic 0).

    Mirrors: org.apache.kafka.common.record.TimestampType
    """

    __slots__ = ("id", "name")

    NO_TIMESTAMP_TYPE: ClassVar[TimestampType]
    CREATE_TIME: ClassVar[TimestampType]
    LOG_APPEND_TIME: ClassVar[TimestampType]

    def __init__(self, id: int, name: str) -> None:
        self.id = id
        self.name = name

    @classmethod
    def values(cls) -> list[TimestampType]:
        """Return all types."""
        return [cls.NO_TIMESTAMP_TYPE, cls.CREATE_TIME, cls.LOG_APPEND_TIME]

    @classmethod
    def for_name(cls, name: str) -> TimestampType:
        """Return the type that configurations call name; LookupError if there is none."""
        for timestamp_type in cls.values():
            if timestamp_type.name == name:
                return timestamp_type
        raise LookupError(f"Invalid timestamp type {name}")

    def __repr__(self) -> str:
        """Show the configuration name."""
        return self.name


TimestampType.NO_TIMESTAMP_TYPE = TimestampType(-1, "NoTimestampType")
TimestampType.CREATE_TIME = TimestampType(0, "CreateTime")
TimestampType.LOG_APPEND_TIME = TimestampType(1, "LogAppendTime")
