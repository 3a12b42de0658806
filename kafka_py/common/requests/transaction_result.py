"""How a transaction ends.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/TransactionResult.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class TransactionResult:
    """ABORT or COMMIT; `id` is what stands on the wire, True for COMMIT.

    Mirrors: org.apache.kafka.common.requests.TransactionResult
    """

    __slots__ = ("id", "name")

    ABORT: ClassVar[TransactionResult]
    COMMIT: ClassVar[TransactionResult]

    def __init__(self, id: bool, name: str) -> None:
        self.id = id
        self.name = name

    @staticmethod
    def for_id(id: bool) -> TransactionResult:
        """The result that the wire means."""
        return TransactionResult.COMMIT if id else TransactionResult.ABORT

    def __repr__(self) -> str:
        return self.name


TransactionResult.ABORT = TransactionResult(False, "ABORT")
TransactionResult.COMMIT = TransactionResult(True, "COMMIT")
