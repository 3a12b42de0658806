"""One copy of a partition, on this broker or on another.

Mirrors: core/src/main/scala/kafka/cluster/Replica.scala @ 1.1.1
Posts:   reading-writing-configuring (replication protocol), the-produce-path (append path)
Read next: cluster/partition.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import KafkaException, OffsetOutOfRangeException
from kafka_py.common.utils.time import Time
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.log.log import Log
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache
    from kafka_py.server.log_read_result import LogReadResult

UNKNOWN_LOG_START_OFFSET = -1  # Log.UnknownLogStartOffset; the log package is not needed here at run time


class Replica(Logging):
    """Offsets of one replica: log start, log end and high watermark, and when a follower was last caught up.

    A follower acknowledges by fetching: the offset it asks for is its log end offset, there is no other message.

    Mirrors: kafka.cluster.Replica
    Thread: written by the handlers under Partition's locks (or by the one fetcher of a follower), read by all
    Left out: highWatermark_, logEndOffset_, logStartOffset_, equals, hashCode, toString -- properties' setters,
        `_set_log_end_offset`, `_set_log_start_offset`, `__eq__`, `__hash__` and `__repr__`
    """

    def __init__(
        self,
        broker_id: int,
        topic_partition: TopicPartition,
        time: Time | None = None,
        initial_high_watermark_value: int = 0,
        log: Log | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.topic_partition = topic_partition
        self._time = time if time is not None else Time.SYSTEM
        self.log = log  # volatile: whoever swaps in the future replica, under Partition's write lock
        self._hash = 31 + hash(topic_partition) + 17 * broker_id
        # on a non-leader only the message offset is kept
        self._high_watermark_metadata = LogOffsetMetadata(initial_high_watermark_value)  # volatile: leader or fetcher
        # the next two belong to remote replicas, a local one asks its log
        self._log_end_offset_metadata = LogOffsetMetadata.UNKNOWN_OFFSET_METADATA  # volatile: handler of its Fetch
        self._log_start_offset = UNKNOWN_LOG_START_OFFSET  # volatile: handler of its Fetch
        # the leader's log end offset, and the time, at this follower's previous Fetch
        self._last_fetch_leader_log_end_offset = 0  # volatile: handler of its Fetch
        self._last_fetch_time_ms = 0  # volatile: handler of its Fetch
        # largest t such that the newest fetch offset >= the leader's log end offset at time t
        self._last_caught_up_time_ms = 0  # volatile: handler of its Fetch

        self.info(
            "Replica loaded for partition %s with initial high watermark %d",
            topic_partition,
            initial_high_watermark_value,
        )
        if log is not None:
            log.on_high_watermark_incremented(initial_high_watermark_value)

    @property
    def is_local(self) -> bool:
        """True when the log of this replica is on this broker."""
        return self.log is not None

    @property
    def epochs(self) -> LeaderEpochCache | None:
        """Where the leader epochs of the local log begin, None for a remote replica."""
        log = self.log
        return None if log is None else log.leader_epoch_cache

    def go_on_with(self, log: Log) -> None:
        """Let another log with the same records take the place of the local one, which was moved to another directory.

        Epochs and log start may be newer in the old log than the records tell: they are taken over. The position of
        the high watermark is another one now. Caller holds what keeps appends out.
        """
        old_log = log_of(self)
        for entry in old_log.leader_epoch_cache.epoch_entries():
            if entry.epoch > log.leader_epoch_cache.latest_epoch():
                log.leader_epoch_cache.assign(entry.epoch, entry.start_offset)
        log.maybe_increment_log_start_offset(old_log.log_start_offset)
        self.log = log
        self.convert_hw_to_local_offset_metadata()
        log.on_high_watermark_incremented(self.high_watermark.message_offset)

    @property
    def last_caught_up_time_ms(self) -> int:
        """When this follower had last read up to the leader's log end (ms)."""
        return self._last_caught_up_time_ms

    def update_log_read_result(self, log_read_result: LogReadResult) -> None:
        """Take in what a follower's Fetch says about it.

        It was caught up at the time of this Fetch if it asks for the leader's present end; and it was caught up at
        the time of the previous Fetch if it has now reached what was the end then. The second rule keeps a follower
        in the ISR that is always a few records behind, because the leader takes in small batches all the time.
        """
        fetch_offset_metadata = log_read_result.info.fetch_offset_metadata
        fetch_offset = fetch_offset_metadata.message_offset
        if fetch_offset >= log_read_result.leader_log_end_offset:
            self._last_caught_up_time_ms = max(self._last_caught_up_time_ms, log_read_result.fetch_time_ms)
        elif fetch_offset >= self._last_fetch_leader_log_end_offset:
            self._last_caught_up_time_ms = max(self._last_caught_up_time_ms, self._last_fetch_time_ms)

        self._set_log_start_offset(log_read_result.follower_log_start_offset)
        self._set_log_end_offset(fetch_offset_metadata)
        self._last_fetch_leader_log_end_offset = log_read_result.leader_log_end_offset
        self._last_fetch_time_ms = log_read_result.fetch_time_ms

    def reset_last_caught_up_time(
        self, cur_leader_log_end_offset: int, cur_time_ms: int, last_caught_up_time_ms: int
    ) -> None:
        """Start the lag clock of a follower anew: its leader has just taken office."""
        self._last_fetch_leader_log_end_offset = cur_leader_log_end_offset
        self._last_fetch_time_ms = cur_time_ms
        self._last_caught_up_time_ms = last_caught_up_time_ms

    @property
    def log_end_offset(self) -> LogOffsetMetadata:
        """Where the next record goes; of a remote replica, what its last Fetch asked for."""
        log = self.log
        return log.log_end_offset_metadata if log is not None else self._log_end_offset_metadata

    def _set_log_end_offset(self, new_log_end_offset: LogOffsetMetadata) -> None:
        if self.log is not None:
            raise KafkaException(
                f"Should not set log end offset on partition {self.topic_partition}'s local replica {self.broker_id}"
            )
        self._log_end_offset_metadata = new_log_end_offset
        if self.logger.trace_enabled:
            self.trace(
                "Setting log end offset for replica %d for partition %s to [%s]",
                self.broker_id,
                self.topic_partition,
                new_log_end_offset,
            )

    def maybe_increment_log_start_offset(self, new_log_start_offset: int) -> None:
        """Move the log start offset up.

        KafkaException on a remote replica, OffsetOutOfRangeException above the high watermark.
        """
        log = self.log
        if log is None:
            raise KafkaException(
                f"Should not try to delete records on partition {self.topic_partition}'s "
                f"non-local replica {self.broker_id}"
            )
        if new_log_start_offset > self.high_watermark.message_offset:
            raise OffsetOutOfRangeException(
                f"Cannot increment the log start offset to {new_log_start_offset} of partition {self.topic_partition} "
                f"since it is larger than the high watermark {self.high_watermark.message_offset}"
            )
        log.maybe_increment_log_start_offset(new_log_start_offset)

    @property
    def log_start_offset(self) -> int:
        """First offset that can be read; of a remote replica, what its last Fetch told."""
        log = self.log
        return log.log_start_offset if log is not None else self._log_start_offset

    def _set_log_start_offset(self, new_log_start_offset: int) -> None:
        if self.log is not None:
            raise KafkaException(
                f"Should not set log start offset on partition {self.topic_partition}'s local replica "
                f"{self.broker_id} without attempting to delete records of the log"
            )
        self._log_start_offset = new_log_start_offset
        if self.logger.trace_enabled:
            self.trace(
                "Setting log start offset for remote replica %d for partition %s to [%d]",
                self.broker_id,
                self.topic_partition,
                new_log_start_offset,
            )

    @property
    def high_watermark(self) -> LogOffsetMetadata:
        """Every record below it is on all in-sync replicas."""
        return self._high_watermark_metadata

    @high_watermark.setter
    def high_watermark(self, new_high_watermark: LogOffsetMetadata) -> None:
        """Set it on a local replica; ValueError below zero, KafkaException on a remote replica."""
        log = self.log
        if log is None:
            raise KafkaException(
                f"Should not set high watermark on partition {self.topic_partition}'s "
                f"non-local replica {self.broker_id}"
            )
        offset = new_high_watermark.message_offset
        if offset < 0:
            raise ValueError("High watermark offset should be non-negative")
        self._high_watermark_metadata = new_high_watermark
        log.on_high_watermark_incremented(offset)
        if self.logger.trace_enabled:
            self.trace(
                "Setting high watermark for replica %d partition %s to [%s]",
                self.broker_id,
                self.topic_partition,
                new_high_watermark,
            )

    @property
    def last_stable_offset(self) -> LogOffsetMetadata:
        """Below it every transaction is decided; never above the high watermark. KafkaException on a remote replica."""
        log = self.log
        if log is None:
            raise KafkaException(
                f"Cannot fetch last stable offset on partition {self.topic_partition}'s "
                f"non-local replica {self.broker_id}"
            )
        high_watermark = self._high_watermark_metadata
        first_unstable = log.first_unstable_offset
        if first_unstable is not None and first_unstable.message_offset < high_watermark.message_offset:
            return first_unstable
        return high_watermark

    def convert_hw_to_local_offset_metadata(self) -> None:
        """Find segment and position of the high watermark: a new leader needs them, a follower never had them.

        When the offset is outside the log, the log start offset's, or at worst the first segment's, are taken.
        """
        log = self.log
        if log is None:
            raise KafkaException(
                f"Should not construct complete high watermark on partition {self.topic_partition}'s "
                f"non-local replica {self.broker_id}"
            )
        metadata = log.convert_to_offset_metadata(self._high_watermark_metadata.message_offset)
        if metadata is None:
            metadata = log.convert_to_offset_metadata(self.log_start_offset)
        if metadata is None:
            first_segment_offset = next(iter(log.log_segments)).base_offset
            metadata = LogOffsetMetadata(first_segment_offset, first_segment_offset, 0)
        self._high_watermark_metadata = metadata

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Replica)
            and self.broker_id == other.broker_id
            and self.topic_partition == other.topic_partition
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        text = (
            f"ReplicaId: {self.broker_id}; Topic: {self.topic_partition.topic}; "
            f"Partition: {self.topic_partition.partition}; isLocal: {str(self.is_local).lower()}; "
            f"lastCaughtUpTimeMs: {self.last_caught_up_time_ms}"
        )
        if self.is_local:
            text += f"; Highwatermark: {self.high_watermark}; LastStableOffset: {self.last_stable_offset}"
        return text


def log_of(replica: Replica) -> Log:
    """The log of a local replica."""
    log = replica.log
    assert log is not None, "a local replica has a log"
    return log


def ids(replicas: Iterable[Replica]) -> str:
    """The brokers, for a line of the log."""
    return ",".join(str(i) for i in sorted(r.broker_id for r in replicas))
