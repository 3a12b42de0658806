"""How much of open transactions a reader sees.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/IsolationLevel.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class IsolationLevel:
    """READ_UNCOMMITTED reads up to the high watermark, READ_COMMITTED up to the last stable offset.

    Mirrors: org.apache.kafka.common.requests.IsolationLevel
    """

    __slots__ = ("id", "name")

    READ_UNCOMMITTED: ClassVar[IsolationLevel]
    READ_COMMITTED: ClassVar[IsolationLevel]

    def __init__(self, id: int, name: str) -> None:
        self.id = id
        self.name = name

    @staticmethod
    def for_id(id: int) -> IsolationLevel:
        """The level of a wire id; ValueError for any other."""
        if id == 0:
            return IsolationLevel.READ_UNCOMMITTED
        if id == 1:
            return IsolationLevel.READ_COMMITTED
        raise ValueError(f"Unknown isolation level {id}")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"IsolationLevel.{self.name}"


IsolationLevel.READ_UNCOMMITTED = IsolationLevel(0, "READ_UNCOMMITTED")
IsolationLevel.READ_COMMITTED = IsolationLevel(1, "READ_COMMITTED")
