"""A committed offset.

Mirrors: core/src/main/scala/kafka/common/OffsetMetadataAndError.scala @ 2.5.1 (of it, OffsetAndMetadata)
"""

from __future__ import annotations

from typing import NamedTuple

NO_METADATA = ""


class OffsetAndMetadata(NamedTuple):
    """What a group committed for a partition; times in ms.

    `leader_epoch` is that of the last record read, None if the client did not say. `expire_timestamp` is None unless
    the client, or a broker before KIP-211, set one.

    Mirrors: kafka.common.OffsetAndMetadata @ 2.5.1
    """

    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None = None

    def __str__(self) -> str:
        return (
            f"OffsetAndMetadata(offset={self.offset}, leaderEpoch={self.leader_epoch}, metadata={self.metadata}, "
            f"commitTimestamp={self.commit_timestamp}, expireTimestamp={self.expire_timestamp})"
        )
