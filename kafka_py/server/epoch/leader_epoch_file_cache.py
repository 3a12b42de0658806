"""Which offset each leader epoch of a replica began at.

A follower asks its leader where the follower's last epoch ended, and truncates there (KIP-101).

Mirrors: core/src/main/scala/kafka/server/epoch/LeaderEpochFileCache.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpoint
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata

__all__ = ["UNDEFINED_EPOCH", "UNDEFINED_EPOCH_OFFSET", "EpochEntry", "LeaderEpochCache", "LeaderEpochFileCache"]

UNDEFINED_EPOCH = -1  # as org.apache.kafka.common.requests.EpochEndOffset
UNDEFINED_EPOCH_OFFSET = -1


class LeaderEpochCache(Protocol):
    """What Log, Partition and ReplicaManager need of the cache.

    Mirrors: kafka.server.epoch.LeaderEpochCache
    """

    def assign(self, epoch: int, offset: int) -> None:
        """Note that `epoch` begins at `offset`."""

    def latest_epoch(self) -> int:
        """The newest epoch, -1 if none."""

    def end_offset_for(self, requested_epoch: int) -> int:
        """The offset after the last message of an epoch, -1 if unknown."""

    def epoch_and_end_offset_for(self, requested_epoch: int) -> tuple[int, int]:
        """The newest epoch up to the requested one, and the offset after its last message; -1, -1 if unknown."""

    def clear_and_flush_latest(self, offset: int) -> None:
        """Drop epochs that begin at or after `offset`."""

    def clear_and_flush_earliest(self, offset: int) -> None:
        """Drop epochs that ended before `offset`."""

    def clear_and_flush_if_begun(self, offset: int) -> None:
        """Drop everything if the newest epoch begins at or before `offset`."""

    def clear_and_flush(self) -> None:
        """Drop everything, on disk as well."""

    def clear(self) -> None:
        """Drop everything in memory."""


class LeaderEpochFileCache(Logging):
    """The (epoch, start offset) entries of one replica, kept in its leader-epoch-checkpoint file.

    Mirrors: kafka.server.epoch.LeaderEpochFileCache
    Thread: any; writers hold the lock.
    Locks: _lock, for writers.
    Differs: Kafka takes a read-write lock for every look-up. Here the entries are an immutable tuple, replaced under
        the lock and read without it, so an append of a known epoch costs one comparison. `clear_and_flush_if_begun`
        does what Log does in its own way from 2.1.1 on.
    """

    def __init__(
        self, topic_partition: TopicPartition, leo: Callable[[], LogOffsetMetadata], checkpoint: LeaderEpochCheckpoint
    ) -> None:
        self._topic_partition = topic_partition
        self._leo = leo
        self._checkpoint = checkpoint
        self._lock = ReentrantLock()
        self._epochs: tuple[EpochEntry, ...] = tuple(checkpoint.read())  # volatile: writer under _lock

    def assign(self, epoch: int, offset: int) -> None:
        """Record that `epoch` starts at `offset`, if it is newer than all others; later calls change nothing."""
        epochs = self._epochs
        if epochs and epochs[-1].epoch == epoch and offset >= epochs[-1].start_offset:
            return  # every append but the first of an epoch ends here
        with self._lock:
            if epoch >= 0 and epoch > self.latest_epoch() and offset >= self._latest_offset():
                self.info(
                    "Updated PartitionLeaderEpoch. %s. Cache now contains %d entries.",
                    self.epoch_change_msg(epoch, offset),
                    len(self._epochs),
                )
                self._epochs = (*self._epochs, EpochEntry(epoch, offset))
                self._flush()
            else:
                self.validate_and_maybe_warn(epoch, offset)

    def latest_epoch(self) -> int:
        """The newest epoch that has messages, -1 if there is none."""
        epochs = self._epochs
        return epochs[-1].epoch if epochs else UNDEFINED_EPOCH

    def end_offset_for(self, requested_epoch: int) -> int:
        """Where the requested epoch ended: the start of the next one, or the log end for the newest; -1 if unknown.

        An epoch below the first known one gives -1, so that a follower falls back to its high watermark.
        """
        epochs = self._epochs
        offset = UNDEFINED_EPOCH_OFFSET
        if requested_epoch == UNDEFINED_EPOCH or not epochs:
            offset = UNDEFINED_EPOCH_OFFSET
        elif requested_epoch == epochs[-1].epoch:
            offset = self._leo().message_offset
        elif requested_epoch >= epochs[0].epoch:
            offset = next((e.start_offset for e in epochs if e.epoch > requested_epoch), UNDEFINED_EPOCH_OFFSET)
        self.debug(
            "Processed offset for epoch request for partition %s epoch:%d and returning offset %d from epoch list of "
            "size %d",
            self._topic_partition,
            requested_epoch,
            offset,
            len(epochs),
        )
        return offset

    def epoch_and_end_offset_for(self, requested_epoch: int) -> tuple[int, int]:
        """As end_offset_for, with the epoch that ends there, which may be older (KIP-279: endOffsetFor from 2.0 on).

        An epoch below the first known one ends where that begins: what it had is deleted.
        """
        epochs = self._epochs
        if epochs and UNDEFINED_EPOCH < requested_epoch < epochs[0].epoch:
            return requested_epoch, epochs[0].start_offset
        offset = self.end_offset_for(requested_epoch)
        if offset == UNDEFINED_EPOCH_OFFSET:
            return UNDEFINED_EPOCH, offset
        return max(e.epoch for e in epochs if e.epoch <= requested_epoch), offset

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which a record of that offset was written, -1 if unknown."""
        return max((e.epoch for e in self._epochs if e.start_offset <= offset), default=UNDEFINED_EPOCH)

    def clear_and_flush_latest(self, offset: int) -> None:
        """Remove the entries that start at `offset` or later."""
        with self._lock:
            before = self._epochs
            if 0 <= offset <= self._latest_offset():
                self._epochs = tuple(e for e in before if e.start_offset < offset)
                self._flush()
                self.info(
                    "Cleared latest %s entries from epoch cache based on passed offset %d leaving %d in EpochFile for "
                    "partition %s",
                    before[len(self._epochs) :],
                    offset,
                    len(self._epochs),
                    self._topic_partition,
                )

    def clear_and_flush_earliest(self, offset: int) -> None:
        """Remove the entries before `offset`; the epoch that `offset` belongs to then starts at `offset`."""
        with self._lock:
            before = self._epochs
            if not (offset >= 0 and self._earliest_offset() < offset):
                return
            earliest = tuple(e for e in before if e.start_offset < offset)
            if not earliest:
                return
            rest = tuple(e for e in before if e.start_offset >= offset)
            if not rest or offset < rest[0].start_offset:
                rest = (EpochEntry(earliest[-1].epoch, offset), *rest)
            self._epochs = rest
            self._flush()
            self.info(
                "Cleared earliest %d entries from epoch cache based on passed offset %d leaving %d in EpochFile for "
                "partition %s",
                len(set(before) - set(rest)),
                offset,
                len(rest),
                self._topic_partition,
            )

    def clear_and_flush_if_begun(self, offset: int) -> None:
        """Remove all entries if the newest epoch begins at or before `offset`, where a batch has no epoch.

        Else that epoch would seem to go on there, after a step back of the message format (KAFKA-7897).
        """
        with self._lock:
            if self._epochs and self._latest_offset() <= offset:
                self.warn("Clearing the leader epochs because of a batch without one at offset %d", offset)
                self.clear_and_flush()

    def clear_and_flush(self) -> None:
        """Remove all entries, from the file as well."""
        with self._lock:
            self._epochs = ()
            self._flush()

    def clear(self) -> None:
        """Remove all entries from memory only."""
        with self._lock:
            self._epochs = ()

    def epoch_entries(self) -> list[EpochEntry]:
        """A copy of the entries, oldest first."""
        return list(self._epochs)

    def _earliest_offset(self) -> int:
        return self._epochs[0].start_offset if self._epochs else -1

    def _latest_offset(self) -> int:
        return self._epochs[-1].start_offset if self._epochs else -1

    def _flush(self) -> None:
        self._checkpoint.write(self._epochs)

    def epoch_change_msg(self, epoch: int, offset: int) -> str:
        """The text that names the offered entry and the newest one."""
        return (
            f"New: {{epoch:{epoch}, offset:{offset}}}, Current: {{epoch:{self.latest_epoch()}, "
            f"offset:{self._latest_offset()}}} for Partition: {self._topic_partition}"
        )

    def validate_and_maybe_warn(self, epoch: int, offset: int) -> None:
        """Warn about an assignment that goes back in epoch or offset; AssertionError for a negative epoch."""
        if epoch < 0:
            raise AssertionError(
                "Received a PartitionLeaderEpoch assignment for an epoch < 0. This should not happen. "
                + self.epoch_change_msg(epoch, offset)
            )
        if epoch < self.latest_epoch():
            self.warn(
                "Received a PartitionLeaderEpoch assignment for an epoch < latestEpoch. This implies messages have "
                "arrived out of order. %s",
                self.epoch_change_msg(epoch, offset),
            )
        elif offset < self._latest_offset():
            self.warn(
                "Received a PartitionLeaderEpoch assignment for an offset < latest offset for the most recent, stored "
                "PartitionLeaderEpoch. This implies messages have arrived out of order. %s",
                self.epoch_change_msg(epoch, offset),
            )
