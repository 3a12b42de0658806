"""Session id and epoch of an incremental fetch.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FetchMetadata.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

_INVALID_SESSION_ID = 0
_INITIAL_EPOCH = 0
_FINAL_EPOCH = -1
_MAX_INT = 0x7FFFFFFF


class FetchMetadata:
    """Which fetch session a request belongs to and its number within it (KIP-227).

    Mirrors: org.apache.kafka.common.requests.FetchMetadata
    """

    __slots__ = ("_epoch", "_session_id")

    INVALID_SESSION_ID: ClassVar[int] = _INVALID_SESSION_ID
    INITIAL_EPOCH: ClassVar[int] = _INITIAL_EPOCH
    FINAL_EPOCH: ClassVar[int] = _FINAL_EPOCH
    INITIAL: ClassVar[FetchMetadata]
    LEGACY: ClassVar[FetchMetadata]

    def __init__(self, session_id: int, epoch: int) -> None:
        self._session_id = session_id
        self._epoch = epoch

    def session_id(self) -> int:
        """The session's id, INVALID_SESSION_ID without a session."""
        return self._session_id

    def epoch(self) -> int:
        """The number of the request within the session."""
        return self._epoch

    @staticmethod
    def next_epoch(prev_epoch: int) -> int:
        """The epoch that follows: FINAL_EPOCH stays, the largest int wraps to 1."""
        if prev_epoch < 0:
            return _FINAL_EPOCH
        return 1 if prev_epoch == _MAX_INT else prev_epoch + 1

    @staticmethod
    def new_incremental(session_id: int) -> FetchMetadata:
        """The first incremental fetch of a session."""
        return FetchMetadata(session_id, FetchMetadata.next_epoch(_INITIAL_EPOCH))

    def is_full(self) -> bool:
        """Whether the request lists all partitions: without a session, or to start one."""
        return self._epoch in (_INITIAL_EPOCH, _FINAL_EPOCH)

    def next_close_existing(self) -> FetchMetadata:
        """The fetch that ends this session and starts another."""
        return FetchMetadata(self._session_id, _INITIAL_EPOCH)

    def next_incremental(self) -> FetchMetadata:
        """The next fetch of this session."""
        return FetchMetadata(self._session_id, FetchMetadata.next_epoch(self._epoch))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FetchMetadata) and self._session_id == other._session_id and self._epoch == other._epoch
        )

    def __hash__(self) -> int:
        return hash((self._session_id, self._epoch))

    def __str__(self) -> str:
        session_id = "INVALID" if self._session_id == _INVALID_SESSION_ID else str(self._session_id)
        epoch = {_INITIAL_EPOCH: "INITIAL", _FINAL_EPOCH: "FINAL"}.get(self._epoch, str(self._epoch))
        return f"(sessionId={session_id}, epoch={epoch})"

    __repr__ = __str__


FetchMetadata.INITIAL = FetchMetadata(_INVALID_SESSION_ID, _INITIAL_EPOCH)
FetchMetadata.LEGACY = FetchMetadata(_INVALID_SESSION_ID, _FINAL_EPOCH)
