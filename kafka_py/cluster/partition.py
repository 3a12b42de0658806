"""One topic partition on this broker: who leads it, who is in sync, how far it is replicated.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 1.1.1
Posts:   reading-writing-configuring (replication protocol), the-produce-path (appendRecordsToLeader line by line)
Read next: cluster/partition_replicas.py (the fields), cluster/replica.py, server/replica_manager.py, log/log.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.api.request_or_response import Request
from kafka_py.cluster.partition_replicas import PartitionReplicas, ids, log_of, message_offset
from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import (
    NotEnoughReplicasException,
    NotLeaderForPartitionException,
    PolicyViolationException,
    UnexpectedAppendOffsetException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.server.log_read_result import LogReadResult
from kafka_py.utils.replication_utils import ReplicationUtils

if TYPE_CHECKING:
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
    from kafka_py.log.log_append_info import LogAppendInfo
    from kafka_py.server.checkpoints.offset_checkpoint_file import LazyOffsetCheckpoints
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata


_NONE = Errors.NONE


class Partition(PartitionReplicas):
    """Leader or follower state of one partition: assigned replicas, ISR, epochs, high watermark.

    Mirrors: kafka.cluster.Partition
    Thread: request handlers; the ISR expiration task; fetcher threads (append as follower, truncation)
    Locks: leader_isr_update_lock -> _append_lock -> Log.lock. ZooKeeper is written under leader_isr_update_lock (as
        in Kafka: an ISR that is in use but not recorded could lose data), never under _append_lock.
    Differs: appends and fetches read `_leader_state`, replaced as a whole under leader_isr_update_lock, instead of
        taking the read lock per request; `_append_lock` keeps a change of leader or high watermark out of an append
        in progress. A follower's Fetch takes the write lock only if the ISR has to grow; meanwhile others may move
        the high watermark, but not past the replica that joins. As from 2.0.1 and 2.1 on, a replica joins the ISR
        only with all that the leader had at its election (KAFKA-7128), and a leader epoch is noted in the epoch cache
        when it begins (KAFKA-7415); a follower that missed a leader epoch cuts its log anew (KAFKA-7164). 1.1.1 could
        lose acknowledged records in all three cases. An ISR whose way to ZooKeeper ended without an answer counts for
        the high watermark until the state has been read again, as since KIP-497; 1.1.1 goes on with the old ISR.
        While ZooKeeper is away no follower's Fetch tries to change the ISR, and never do two at once: in 1.1.1 each
        occupies a handler until ZooKeeper is back, until none is left. KIP-497 took the write out of the handlers
        altogether; here one still waits for it.
    Left out: equals, hashCode, toString -- `__eq__`, `__hash__`, `__repr__`
    """

    # ---- leadership

    def make_leader(
        self,
        controller_id: int,
        partition_state_info: LeaderAndIsrRequest.PartitionState,
        correlation_id: int,
        offset_checkpoints: LazyOffsetCheckpoints | None = None,
    ) -> bool:
        """Lead the partition with the ISR and epoch of the controller; False if this broker led it before.

        What was known of the followers' log ends dates from an earlier term and is forgotten.
        """
        with self.leader_isr_update_lock.write_lock():
            base_state = partition_state_info.base_partition_state
            is_new = partition_state_info.is_new
            new_assigned_replicas = list(base_state.replicas)
            # kept for ISR updates: the state in ZooKeeper names the controller that made the leadership decision
            self._controller_epoch = base_state.controller_epoch
            new_in_sync_replicas = frozenset(
                self.get_or_create_replica(r, is_new, offset_checkpoints) for r in base_state.isr
            )
            for removed in {r.broker_id for r in self.assigned_replicas} - set(new_assigned_replicas):
                self._remove_replica(removed)
            self.in_sync_replicas = new_in_sync_replicas
            self._forget_isr_in_doubt()
            leader_replica = self.get_or_create_replica(self._local_broker_id, is_new, offset_checkpoints)
            cur_leader_log_end_offset = leader_replica.log_end_offset.message_offset
            self.info(
                "%s starts at Leader Epoch %d from offset %d. Previous Leader Epoch was: %d",
                self.topic_partition,
                base_state.leader_epoch,
                cur_leader_log_end_offset,
                self._leader_epoch,
            )
            for replica_id in new_assigned_replicas:
                self.get_or_create_replica(replica_id, is_new, offset_checkpoints)
            self._zk_version = base_state.zk_version
            is_new_leader = self._leader_replica_id_opt != self._local_broker_id
            self._reset_followers(leader_replica, cur_leader_log_end_offset, is_new_leader)
            # no append of the old epoch may come between the start of the new one and its publication
            with self._append_lock:
                self._leader_epoch = base_state.leader_epoch
                self._start_leader_epoch(leader_replica)
                # last of all: from here on appends are let in
                self.leader_replica_id_opt = self._local_broker_id
            # with an ISR of one the high watermark may move at once
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_replica)
        if leader_hw_incremented:
            self._try_complete_delayed_requests()
        return is_new_leader

    def _start_leader_epoch(self, leader_replica: Replica) -> None:
        """Note where this leader epoch begins, also in the epoch cache. Caller holds _append_lock.

        With the first append it would be too late: until then a follower that has records of an epoch between the
        leader's last two would hear of no end of it, and cut its log at a high watermark that lags (KAFKA-7415).
        Nothing can be lost that way while the log has never had a record. In formats below 2 batches have no epoch,
        and the cache stays empty.
        """
        log = log_of(leader_replica)
        start_offset = self._leader_epoch_start_offset = log.log_end_offset
        epochs = leader_replica.epochs
        magic = log.config.message_format_version.message_format_version.value
        if epochs is not None and start_offset > 0 and magic >= RecordBatch.MAGIC_VALUE_V2:
            epochs.assign(self._leader_epoch, start_offset)

    def _reset_followers(self, leader_replica: Replica, leader_log_end_offset: int, is_new_leader: bool) -> None:
        """Start the lag clocks of all followers; those in sync count as caught up now."""
        cur_time_ms = self._time.milliseconds()
        followers = self.assigned_replicas - {leader_replica}
        for replica in followers:
            last_caught_up_time_ms = cur_time_ms if replica in self._in_sync_replicas else 0
            replica.reset_last_caught_up_time(leader_log_end_offset, cur_time_ms, last_caught_up_time_ms)
        if is_new_leader:
            leader_replica.convert_hw_to_local_offset_metadata()
            for replica in followers:
                replica.update_log_read_result(LogReadResult.UNKNOWN_LOG_READ_RESULT)

    def make_follower(
        self,
        controller_id: int,
        partition_state_info: LeaderAndIsrRequest.PartitionState,
        correlation_id: int,
        offset_checkpoints: LazyOffsetCheckpoints | None = None,
    ) -> bool:
        """Follow the leader named by the controller; False if it is the same leader as before.

        True as well when an epoch was missed: another may have led in it, to whose log the leader has cut its own.
        """
        with self.leader_isr_update_lock.write_lock():
            base_state = partition_state_info.base_partition_state
            old_leader = self._leader_replica_id_opt
            self._give_up_leadership()
            new_assigned_replicas = list(base_state.replicas)
            self._controller_epoch = base_state.controller_epoch
            for replica_id in new_assigned_replicas:
                self.get_or_create_replica(replica_id, partition_state_info.is_new, offset_checkpoints)
            for removed in {r.broker_id for r in self.assigned_replicas} - set(new_assigned_replicas):
                self._remove_replica(removed)
            self._in_sync_replicas = frozenset()
            same_leader = old_leader == base_state.leader and base_state.leader_epoch <= self._leader_epoch + 1
            self._leader_epoch = base_state.leader_epoch
            self._zk_version = base_state.zk_version
            self.leader_replica_id_opt = base_state.leader
            return not same_leader

    def last_offset_for_leader_epoch(self, leader_epoch: int) -> EpochEndOffset:
        """Where the records of that leader epoch end in the leader's log, or NOT_LEADER_FOR_PARTITION."""
        with self.leader_isr_update_lock.read_lock():
            leader_replica = self.leader_replica_if_local
            if leader_replica is None or leader_replica.epochs is None:
                return EpochEndOffset(Errors.NOT_LEADER_FOR_PARTITION, EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
            return EpochEndOffset(_NONE, leader_replica.epochs.end_offset_for(leader_epoch))

    # ---- the leader's side of replication

    def update_replica_log_read_result(self, replica: Replica, log_read_result: LogReadResult) -> bool:
        """Take in a follower's Fetch; True if high or low watermark moved (delayed requests were then looked at)."""
        watches = self.replica_manager.delayed_delete_records_purgatory.watches
        key = self._request_key
        # The low watermark matters only to a DeleteRecords that waits. It is in the watch list before it looks a last
        # time, in the timer, which Kafka asks, only afterwards.
        old_leader_lw = self._low_watermark_or_unknown() if watches(key) else -1
        replica.update_log_read_result(log_read_result)
        new_leader_lw = self._low_watermark_or_unknown() if watches(key) else -1
        leader_hw_incremented = self.maybe_expand_isr(replica.broker_id, log_read_result)
        result = new_leader_lw > old_leader_lw or leader_hw_incremented
        if result:
            self._try_complete_delayed_requests()
        if self.logger.debug_enabled:
            self.debug(
                "Recorded replica %d log end offset (LEO) position %d.",
                replica.broker_id,
                log_read_result.info.fetch_offset_metadata.message_offset,
            )
        return result

    def maybe_expand_isr(self, replica_id: int, log_read_result: LogReadResult) -> bool:
        """Let an assigned replica into the ISR when it has all that may be committed; True if the high watermark moved.

        That is: all below the high watermark, and all that the leader had when its epoch began, for a new leader's
        high watermark may lag behind what its predecessor had committed. A replica that lags longer than
        replica.lag.time.max.ms is let in as well: followers judge by offset too.
        """
        replica = self.get_replica(replica_id)
        if replica is not None and replica not in self._in_sync_replicas and self._can_change_isr():
            with self.leader_isr_update_lock.write_lock():
                leader_replica = self.leader_replica_if_local
                if leader_replica is None:
                    return False
                self._look_up_isr_if_in_doubt()
                if (
                    replica not in self._in_sync_replicas
                    and any(r.broker_id == replica_id for r in self.assigned_replicas)
                    and self._begin_to_join(replica, leader_replica)
                ):
                    new_in_sync_replicas = self._in_sync_replicas | {replica}
                    self.info("Expanding ISR from %s to %s", ids(self._in_sync_replicas), ids(new_in_sync_replicas))
                    self._update_isr(new_in_sync_replicas)
                    self.replica_manager.isr_expand_rate.mark()
        leader_replica = self.leader_replica_if_local
        if leader_replica is None:
            return False  # a deposed leader has no high watermark to move
        # even of a replica that was in the ISR before, the log end may have been what held the high watermark back
        return self._maybe_increment_leader_hw(leader_replica, log_read_result.fetch_time_ms)

    def _can_change_isr(self) -> bool:
        """Whether to try now; False rather than have one handler after the other wait for ZooKeeper.

        Nothing is lost: the follower fetches again. Later Kafka sends no second ISR while one is in flight, either.
        """
        return not self._isr_change_under_way and self.replica_manager.zk_client.is_connected

    def _begin_to_join(self, replica: Replica, leader_replica: Replica) -> bool:
        """If the replica may join the ISR, have it hold the high watermark back from this moment on.

        While the new ISR is on its way to ZooKeeper, the other replicas' Fetches go on moving the high watermark; and
        when no answer comes back, the replica may count as in sync there (KIP-497's maximal ISR).
        """
        with self._append_lock:
            end = replica.log_end_offset
            if end.offset_diff(leader_replica.high_watermark) < 0:
                return False
            if end.message_offset < self._leader_epoch_start_offset:
                return False
            self._maybe_in_sync |= {replica}
            return True

    def check_enough_replicas_reach_offset(self, required_offset: int) -> tuple[bool, Errors]:
        """For acks=-1: (is everything below `required_offset` on all of the ISR, error).

        NOT_ENOUGH_REPLICAS_AFTER_APPEND when the ISR shrank below min.insync.replicas while the request waited.
        """
        state = self._leader_state
        if state is None:
            return False, Errors.NOT_LEADER_FOR_PARTITION
        if self.logger.trace_enabled:
            self._trace_acks(required_offset)
        leader_replica = state.leader_replica
        if leader_replica.high_watermark.message_offset < required_offset:
            return False, _NONE
        # looked at again: it may have been the ISR shrinking, just now, that let the high watermark move
        state = self._leader_state
        if state is None:
            return False, Errors.NOT_LEADER_FOR_PARTITION
        if log_of(leader_replica).config.min_in_sync_replicas <= state.in_sync_size:
            return True, _NONE
        return True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def _trace_acks(self, required_offset: int) -> None:
        num_acks = 0
        for replica in self._in_sync_replicas:
            if replica.is_local:
                num_acks += 1
            elif replica.log_end_offset.message_offset >= required_offset:
                self.trace("Replica %d received offset %d", replica.broker_id, required_offset)
                num_acks += 1
        self.trace("%d acks satisfied with acks = -1", num_acks)

    def _maybe_increment_leader_hw(self, leader_replica: Replica, cur_time: int | None = None) -> bool:
        """Move the high watermark up to the smallest log end of the in-sync and caught-up replicas; True if it moved.

        A caught-up replica outside the ISR holds it back too, else a follower could chase a high watermark that runs
        away with the leader's log end and never be let in. It never moves back; an equal offset counts when the log
        has rolled in between, since the position then lies in a newer segment.
        """
        with self._append_lock:
            state = self._leader_state
            if state is None:
                return False  # deposed meanwhile: the high watermark is the fetcher's now
            if state.alone:
                new_high_watermark = leader_replica.log_end_offset
            else:
                new_high_watermark = self._smallest_log_end_offset(cur_time)
            old_high_watermark = leader_replica.high_watermark
            old_offset = old_high_watermark[0]  # message_offset
            new_offset = new_high_watermark[0]
            if old_offset < new_offset or (
                old_offset == new_offset and old_high_watermark.on_older_segment(new_high_watermark)
            ):
                leader_replica.high_watermark = new_high_watermark
                if self.logger.debug_enabled:
                    self.debug("High watermark updated to %s", new_high_watermark)
                return True
        if self.logger.debug_enabled:
            self.debug(
                "Skipping update high watermark since new hw %s is not larger than old hw %s. All LEOs are %s",
                new_high_watermark,
                old_high_watermark,
                [str(r.log_end_offset) for r in self.assigned_replicas],
            )
        return False

    def _smallest_log_end_offset(self, cur_time: int | None) -> LogOffsetMetadata:
        """Of the replicas that count for the high watermark. Caller holds _append_lock."""
        now = self._time.milliseconds() if cur_time is None else cur_time
        max_lag = self.replica_manager.config.replica_lag_time_max_ms
        in_sync, maybe_in_sync = self._in_sync_replicas, self._maybe_in_sync
        return min(
            (
                r.log_end_offset
                for r in self.assigned_replicas
                if now - r.last_caught_up_time_ms <= max_lag or r in in_sync or r in maybe_in_sync
            ),
            key=message_offset,
        )

    @property
    def low_watermark_if_leader(self) -> int:
        """Smallest log start offset of the live replicas; NotLeaderForPartitionException on a follower.

        DeleteRecords is done when it reaches the requested offset. It moves with Fetch and DeleteRecords.
        """
        if not self._is_leader_replica_local:
            raise self._not_leader()
        cache = self.replica_manager.metadata_cache
        return min(
            (
                r.log_start_offset
                for r in self.all_replicas
                if r.broker_id == Request.FUTURE_LOCAL_REPLICA_ID or cache.is_broker_alive(r.broker_id)
            ),
            default=0,
        )

    def _low_watermark_or_unknown(self) -> int:
        """-1 on a deposed leader, whose other partitions a follower's Fetch is to be answered for."""
        try:
            return self.low_watermark_if_leader
        except NotLeaderForPartitionException:
            return -1

    def _try_complete_delayed_requests(self) -> None:
        """Look at the requests that wait for this partition. Called without leader_isr_update_lock.

        Mostly nothing waits; the managers' debug line about that is written only if debug lines are.
        """
        manager = self.replica_manager
        key = self._request_key
        debug = manager.logger.debug_enabled
        if debug or manager.delayed_fetch_purgatory.watches(key):
            manager.try_complete_delayed_fetch(key)
        if debug or manager.delayed_produce_purgatory.watches(key):
            manager.try_complete_delayed_produce(key)
        if debug or manager.delayed_delete_records_purgatory.watches(key):
            manager.try_complete_delayed_delete_records(key)

    def maybe_shrink_isr(self, replica_max_lag_time_ms: int) -> None:
        """Take lagging followers out of the ISR, in ZooKeeper and here; the high watermark may then move."""
        with self.leader_isr_update_lock.write_lock():
            leader_replica = self.leader_replica_if_local
            if leader_replica is None:
                return
            was_in_doubt = self._look_up_isr_if_in_doubt()
            out_of_sync_replicas = self.get_out_of_sync_replicas(leader_replica, replica_max_lag_time_ms)
            if not out_of_sync_replicas and not was_in_doubt:
                return
            if out_of_sync_replicas:
                new_in_sync_replicas = self._in_sync_replicas - out_of_sync_replicas
                assert new_in_sync_replicas, "the leader never leaves its own ISR"
                self.info("Shrinking ISR from %s to %s", ids(self._in_sync_replicas), ids(new_in_sync_replicas))
                self._update_isr(new_in_sync_replicas)
                self.replica_manager.isr_shrink_rate.mark()
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_replica)
        if leader_hw_incremented:
            self._try_complete_delayed_requests()

    def get_out_of_sync_replicas(self, leader_replica: Replica, max_lag_ms: int) -> set[Replica]:
        """Followers of the ISR that were last caught up more than `max_lag_ms` ago.

        One rule for two cases: a stuck follower does not fetch at all, a slow one fetches but never reaches the end.
        """
        now = self._time.milliseconds()
        lagging_replicas = {
            r
            for r in self._in_sync_replicas
            if r.broker_id != leader_replica.broker_id and now - r.last_caught_up_time_ms > max_lag_ms
        }
        if lagging_replicas:
            self.debug("Lagging replicas are %s", ids(lagging_replicas))
        return lagging_replicas

    def _update_isr(self, new_isr: frozenset[Replica]) -> None:
        """Write the ISR to ZooKeeper under the known version, then use it. Caller holds leader_isr_update_lock.

        The one place where an ISR changes: what later became AlterIsrManager. An exception leaves open what ZooKeeper
        has now; the next one who looks at the ISR asks.
        """
        manager = self.replica_manager
        new_leader_and_isr = LeaderAndIsr(
            self._local_broker_id, self._leader_epoch, [r.broker_id for r in new_isr], self._zk_version
        )
        self._isr_in_doubt = self._isr_change_under_way = True
        try:
            update_succeeded, new_version = ReplicationUtils.update_leader_and_isr(
                manager.zk_client, self.topic_partition, new_leader_and_isr, self._controller_epoch
            )
        finally:
            self._isr_change_under_way = False
        if update_succeeded:
            manager.record_isr_change(self.topic_partition)
            self.in_sync_replicas = new_isr
            self._zk_version = new_version
            self._forget_isr_in_doubt()
            self.trace("ISR updated to [%s] and zkVersion updated to [%d]", ids(new_isr), self._zk_version)
        else:
            manager.failed_isr_updates_rate.mark()
            self.info(
                "Cached zkVersion [%d] not equal to that in zookeeper, skip updating ISR",
                self._zk_version,
            )
            self._look_up_isr_if_in_doubt()

    def _look_up_isr_if_in_doubt(self) -> bool:
        """Learn from ZooKeeper what became of an ISR; True if it was asked. Caller holds leader_isr_update_lock.

        Under its own epoch nobody but the leader writes, so a state of this epoch is taken over, with its version.
        In one of another epoch the controller has decided anew, and its LeaderAndIsr is on the way: until it is here
        the replicas that the state lists hold the high watermark back, too.
        """
        if not self._isr_in_doubt:
            return False
        state = self.replica_manager.zk_client.get_topic_partition_state(self.topic_partition)
        listed: frozenset[Replica] = frozenset()
        if state is not None:
            found = state.leader_and_isr
            listed = frozenset(r for r in self.assigned_replicas if r.broker_id in found.isr)
            if (found.leader, found.leader_epoch) == (self._local_broker_id, self._leader_epoch):
                self._take_over_isr(listed, found.zk_version)
        self._isr_in_doubt = False
        with self._append_lock:
            self._maybe_in_sync = listed
        return True

    def _take_over_isr(self, isr: frozenset[Replica], zk_version: int) -> None:
        """Use the ISR that ZooKeeper has. Caller holds leader_isr_update_lock."""
        self._zk_version = zk_version
        if isr != self._in_sync_replicas:
            self.info("ISR in ZooKeeper is %s, and was %s here", ids(isr), ids(self._in_sync_replicas))
            self.replica_manager.record_isr_change(self.topic_partition)
            self.in_sync_replicas = isr

    # ---- appending, reading, truncating

    def append_records_to_leader(
        self, records: MemoryRecords, is_from_client: bool, required_acks: int = 0
    ) -> LogAppendInfo:
        """Append a producer's batch; the log assigns offsets in place.

        NotLeaderForPartitionException; NotEnoughReplicasException for acks=-1 while the ISR is below
        min.insync.replicas; whatever Log.append_as_leader raises.
        """
        with self._append_lock:
            state = self._leader_state
            if state is None:
                raise self._not_leader()
            leader_replica, leader_epoch, in_sync_size, alone = state
            log = leader_replica.log
            assert log is not None, "a local replica has a log"
            if required_acks == -1 and in_sync_size < log.config.min_in_sync_replicas:
                raise NotEnoughReplicasException(
                    f"Number of insync replicas for partition {self.topic_partition} is [{in_sync_size}], "
                    f"below required minimum [{log.config.min_in_sync_replicas}]"
                )
            info = log.append_as_leader(records, leader_epoch, is_from_client)
            if not alone:
                # followers read up to the log end; consumers are looked at when the high watermark has moved
                self.replica_manager.try_complete_delayed_fetch(self._request_key)
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_replica)
        if leader_hw_incremented:
            self._try_complete_delayed_requests()
        return info

    def _not_leader(self) -> NotLeaderForPartitionException:
        return NotLeaderForPartitionException(
            f"Leader not local for partition {self.topic_partition} on broker {self._local_broker_id}"
        )

    def _do_append_records_to_follower_or_future_replica(self, records: MemoryRecords, is_future: bool) -> None:
        if is_future:
            log_of(self.get_replica_or_exception(Request.FUTURE_LOCAL_REPLICA_ID)).append_as_follower(records)
        else:
            # the read lock keeps the future replica from being swapped in during the append
            with self.leader_isr_update_lock.read_lock():
                log_of(self.get_replica_or_exception()).append_as_follower(records)

    def append_records_to_follower_or_future_replica(self, records: MemoryRecords, is_future: bool) -> None:
        """Append what was fetched, offsets and epochs as the leader (or the current replica) has them.

        When the log start offset of the source lies inside a batch, the first batch begins below it: an empty log is
        then started anew at the batch's first offset. That is done here and not in Log.append, because the recovery
        point moves back and must be checkpointed before the append.
        """
        try:
            self._do_append_records_to_follower_or_future_replica(records, is_future)
        except UnexpectedAppendOffsetException as e:
            replica = self.get_replica_or_exception(Request.FUTURE_LOCAL_REPLICA_ID if is_future else None)
            log_end_offset = replica.log_end_offset.message_offset
            if not (log_end_offset == replica.log_start_offset and e.first_offset < log_end_offset <= e.last_offset):
                raise
            replica_name = "future replica" if is_future else "follower"
            self.info(
                "Unexpected offset in append to %s. First offset %d is less than log start offset %d. Since this is "
                "the first record to be appended to the %s's log, will start the log from offset %d.",
                self.topic_partition,
                e.first_offset,
                replica.log_start_offset,
                replica_name,
                e.first_offset,
            )
            self.truncate_fully_and_start_at(e.first_offset, is_future)
            self._do_append_records_to_follower_or_future_replica(records, is_future)

    @property
    def log_start_offset(self) -> int:
        """First offset of the leader's log, -1 on a follower."""
        with self.leader_isr_update_lock.read_lock():
            leader_replica = self.leader_replica_if_local
            return -1 if leader_replica is None else log_of(leader_replica).log_start_offset

    def delete_records_on_leader(self, offset: int) -> int:
        """Move the log start offset up to `offset`; the low watermark. Segments may be rolled and deleted.

        NotLeaderForPartitionException, PolicyViolationException unless cleanup.policy has delete,
        OffsetOutOfRangeException above the high watermark.
        """
        with self.leader_isr_update_lock.read_lock():
            leader_replica = self.leader_replica_if_local
            if leader_replica is None:
                raise self._not_leader()
            if not log_of(leader_replica).config.delete:
                raise PolicyViolationException(
                    f"Records of partition {self.topic_partition} can not be deleted due to the configured policy"
                )
            leader_replica.maybe_increment_log_start_offset(offset)
            return self.low_watermark_if_leader

    def truncate_to(self, offset: int, is_future: bool) -> None:
        """Cut the local log at `offset` and checkpoint the recovery point."""
        # the read lock keeps the future replica from being swapped in meanwhile
        with self.leader_isr_update_lock.read_lock():
            self.replica_manager.log_manager.truncate_to({self.topic_partition: offset}, is_future)

    def truncate_fully_and_start_at(self, new_offset: int, is_future: bool) -> None:
        """Delete all data of the local log and start it at `new_offset`."""
        # the read lock keeps the future replica from being swapped in meanwhile
        with self.leader_isr_update_lock.read_lock():
            self.replica_manager.log_manager.truncate_fully_and_start_at(self.topic_partition, new_offset, is_future)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partition)
            and self.partition_id == other.partition_id
            and self.topic == other.topic
            and self.is_offline == other.is_offline
        )

    def __hash__(self) -> int:
        return 31 + hash(self.topic) + 17 * self.partition_id + int(self.is_offline)

    def __repr__(self) -> str:
        return (
            f"Topic: {self.topic}; Partition: {self.partition_id}; Leader: {self._leader_replica_id_opt}; "
            f"AllReplicas: {','.join(str(k) for k in sorted(self._all_replicas_map.keys))}; "
            f"InSyncReplicas: {ids(self._in_sync_replicas)}"
        )
