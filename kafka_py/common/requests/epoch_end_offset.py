"""Where a leader epoch ends in a leader's log.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/EpochEndOffset.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.errors import Errors


class EpochEndOffset:
    """The first offset behind an epoch, or why it is not known.

    Mirrors: org.apache.kafka.common.requests.EpochEndOffset
    Differs: ``leader_epoch`` is sent from version 1 on, -1 before.
    """

    __slots__ = ("_end_offset", "_error", "_leader_epoch")

    UNDEFINED_EPOCH_OFFSET: ClassVar[int] = -1
    UNDEFINED_EPOCH: ClassVar[int] = -1

    def __init__(self, error: Errors, end_offset: int, leader_epoch: int = UNDEFINED_EPOCH) -> None:
        self._error = error
        self._end_offset = end_offset
        self._leader_epoch = leader_epoch

    @staticmethod
    def of(end_offset: int) -> EpochEndOffset:
        """An end offset without an error."""
        return EpochEndOffset(Errors.NONE, end_offset)

    def error(self) -> Errors:
        """Why the offset is not known, NONE if it is."""
        return self._error

    def has_error(self) -> bool:
        """Whether there is an error."""
        return self._error is not Errors.NONE

    def end_offset(self) -> int:
        """The first offset behind the epoch."""
        return self._end_offset

    def leader_epoch(self) -> int:
        """The epoch that the offset ends."""
        return self._leader_epoch

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EpochEndOffset)
            and self._error is other._error
            and self._end_offset == other._end_offset
            and self._leader_epoch == other._leader_epoch
        )

    def __hash__(self) -> int:
        return hash((self._error.code, self._end_offset))

    def __str__(self) -> str:
        return f"EpochEndOffset{{error={self._error}, endOffset={self._end_offset}}}"

    __repr__ = __str__
