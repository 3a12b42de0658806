"""One topic partition on this broker: who leads it, who is in sync, how far it is replicated.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 1.1.1
Posts:   reading-writing-configuring (replication protocol), the-produce-path (appendRecordsToLeader line by line)
Read next: cluster/zk_partition_state_store.py, cluster/delayed_operations.py, cluster/replica.py, log/log.py,
           server/replica_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.api.request_or_response import Request
from kafka_py.cluster.delayed_operations import DelayedOperations
from kafka_py.cluster.partition_metrics import PartitionMetrics
from kafka_py.cluster.partition_state import LeaderState
from kafka_py.cluster.replica import Replica, ids, log_of
from kafka_py.cluster.zk_partition_state_store import ZkPartitionStateStore
from kafka_py.common.errors import (
    FencedLeaderEpochException,
    IllegalStateException,
    NotEnoughReplicasException,
    NotLeaderForPartitionException,
    PolicyViolationException,
    ReplicaNotAvailableException,
    UnexpectedAppendOffsetException,
    UnknownLeaderEpochException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log_config import LogConfig
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.checkpoints.offset_checkpoint_file import LazyOffsetCheckpoints
from kafka_py.server.log_read_result import LogReadResult
from kafka_py.utils.concurrent import ReentrantLock, ReentrantReadWriteLock
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_append_info import LogAppendInfo
    from kafka_py.log.verification_guard import VerificationGuard
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata
    from kafka_py.server.replica_manager import ReplicaManager

INITIAL_CONTROLLER_EPOCH = 1  # KafkaController.InitialControllerEpoch, of a layer above this one
_NONE = Errors.NONE


class Partition(KafkaMetricsGroup):
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
        While ZooKeeper is away no follower's Fetch tries to change the ISR, and never do two at once: _can_change_isr.
        As from 2.5 on (KAFKA-8813), settings that change while a log is made reach it; 1.1.1 misses them, a
        min.insync.replicas for example, until the next change. The replicas of one LeaderAndIsr request share what was
        read of the checkpoints, as from 2.4 on (KAFKA-8333).
    Left out: equals, hashCode, toString -- `__eq__`, `__hash__`, `__repr__`
    """

    def __init__(
        self,
        topic: str,
        partition_id: int,
        time: Time | None,
        replica_manager: ReplicaManager | None,
        is_offline: bool = False,
    ) -> None:
        self.topic = topic
        self.partition_id = partition_id
        self.is_offline = is_offline
        self.topic_partition = TopicPartition(topic, partition_id)
        self._local_broker_id = -1 if replica_manager is None else replica_manager.config.broker_id
        # An offline partition has neither clock nor manager, and none of its methods is ever called.
        if time is not None and replica_manager is not None:
            self._time = time
            self.replica_manager = replica_manager
            self._state_store = ZkPartitionStateStore(self.topic_partition, replica_manager)
            self._delayed_operations = DelayedOperations(self.topic_partition, replica_manager)
        # the assigned replicas, and the future replica while data moves to another log directory
        self._all_replicas_map: Pool[int, Replica] = Pool()  # atomic
        self.leader_isr_update_lock = ReentrantReadWriteLock()
        self._append_lock = ReentrantLock()
        self._zk_version = LeaderAndIsr.INITIAL_ZK_VERSION  # volatile: writer under leader_isr_update_lock
        self._leader_epoch = LeaderAndIsr.INITIAL_LEADER_EPOCH - 1  # volatile: writer under leader_isr_update_lock
        self._leader_replica_id_opt: int | None = None  # volatile: writer under leader_isr_update_lock
        self._in_sync_replicas: frozenset[Replica] = frozenset()  # volatile: writer under leader_isr_update_lock
        self._leader_state: LeaderState | None = None  # volatile: writer under _append_lock
        # not in our ISR, but perhaps in ZooKeeper's: count for the high watermark
        self._maybe_in_sync: frozenset[Replica] = frozenset()  # guarded by: _append_lock
        self._isr_change_under_way = False  # volatile: writer under leader_isr_update_lock
        # an ISR was sent to ZooKeeper, and nobody knows what became of it
        self._isr_in_doubt = False  # volatile: writer under leader_isr_update_lock
        self._leader_epoch_start_offset = 0  # guarded by: _append_lock
        # of the controller that decided on the present leader; a broker learns it from its first LeaderAndIsr
        self._controller_epoch = INITIAL_CONTROLLER_EPOCH - 1  # volatile: writer under leader_isr_update_lock
        self.log_ident = f"[Partition {self.topic_partition} broker={self._local_broker_id}] "
        self._metrics = PartitionMetrics(self)
        if not is_offline:
            self._metrics.register()

    def remove_partition_metrics(self) -> None:
        """Unregister the gauges of this partition."""
        self._metrics.unregister()

    # ---- who is who

    def _is_replica_local(self, replica_id: int) -> bool:
        return replica_id in (self._local_broker_id, Request.FUTURE_LOCAL_REPLICA_ID)

    @property
    def _is_leader_replica_local(self) -> bool:
        return self.leader_replica_if_local is not None

    @property
    def is_under_replicated(self) -> bool:
        """True when this broker leads and some assigned replica is out of sync."""
        return self._is_leader_replica_local and len(self.in_sync_replicas) < len(self.assigned_replicas())

    @property
    def is_under_min_isr(self) -> bool:
        """True when this broker leads and the ISR is smaller than min.insync.replicas."""
        leader_replica = self.leader_replica_if_local
        if leader_replica is None:
            return False
        return len(self.in_sync_replicas) < log_of(leader_replica).config.min_in_sync_replicas

    @property
    def in_sync_replicas(self) -> frozenset[Replica]:
        """The ISR, leader included; empty on a follower. An immutable set, replaced as a whole."""
        return self._in_sync_replicas

    @in_sync_replicas.setter
    def in_sync_replicas(self, replicas: Iterable[Replica]) -> None:
        # nobody may see the high watermark of the new ISR beside the size of the old one
        with self._append_lock:
            self._in_sync_replicas = frozenset(replicas)
            self._publish()

    @property
    def leader_replica_id_opt(self) -> int | None:
        """Broker id of the leader, None before the first LeaderAndIsr."""
        return self._leader_replica_id_opt

    @leader_replica_id_opt.setter
    def leader_replica_id_opt(self, leader_replica_id: int | None) -> None:
        self._leader_replica_id_opt = leader_replica_id
        self._publish()

    def _publish(self) -> None:
        """Make the present leadership visible to appends; returns when no append with the old one is under way."""
        with self._append_lock:
            state = None
            if self._leader_replica_id_opt == self._local_broker_id:
                replica = self._all_replicas_map.get(self._local_broker_id)
                if replica is not None:
                    alone = self.assigned_replicas() == {replica}
                    state = LeaderState(replica, self._leader_epoch, len(self._in_sync_replicas), alone)
            self._leader_state = state

    def _give_up_leadership(self) -> None:
        """Let no append in any more, before replicas and ISR are taken apart. Caller holds leader_isr_update_lock.

        An append in between would compute the high watermark over an ISR that is half empty, and acknowledge records
        that the next leader may lack.
        """
        if self._leader_state is not None:
            self.leader_replica_id_opt = None
        self._forget_isr_in_doubt()

    def _forget_isr_in_doubt(self) -> None:
        """What ZooKeeper has is known. Caller holds leader_isr_update_lock."""
        self._isr_in_doubt = False
        with self._append_lock:
            self._maybe_in_sync = frozenset()

    @property
    def leader_replica_if_local(self) -> Replica | None:
        """The local replica if this broker leads the partition."""
        state = self._leader_state
        return None if state is None else state.leader_replica

    @property
    def get_leader_epoch(self) -> int:
        """Epoch of the leader that this broker last heard of."""
        return self._leader_epoch

    def check_current_leader_epoch(self, current_leader_epoch: int) -> None:
        """Refuse a reader that knows another leader epoch than ours (KIP-320, as 2.1 does); -1 is not checked.

        FencedLeaderEpochException when its epoch is over, UnknownLeaderEpochException when it is news to us.
        """
        if current_leader_epoch < 0 or current_leader_epoch == self._leader_epoch:
            return
        if current_leader_epoch < self._leader_epoch:
            raise FencedLeaderEpochException(
                f"Leader epoch {current_leader_epoch} of {self.topic_partition} is older than {self._leader_epoch}"
            )
        raise UnknownLeaderEpochException(
            f"Leader epoch {current_leader_epoch} of {self.topic_partition} is newer than {self._leader_epoch}"
        )

    def get_or_create_replica(
        self,
        replica_id: int | None = None,
        is_new: bool = False,
        offset_checkpoints: LazyOffsetCheckpoints | None = None,
    ) -> Replica:
        """The replica of that id (default: the local one); a local one is created together with its log.

        Its high watermark starts from the checkpoint, capped by the log end. Errors of the log directory pass through.
        Who creates several replicas gives their checkpoints, so that each file is read once for all of them.
        """
        wanted = self._local_broker_id if replica_id is None else replica_id
        replica = self._all_replicas_map.get(wanted)
        if replica is None:
            replica = self._all_replicas_map.get_and_maybe_put(
                wanted, lambda: self._new_replica(wanted, is_new, offset_checkpoints)
            )
            self._publish()
        return replica

    def _new_replica(self, replica_id: int, is_new: bool, offset_checkpoints: LazyOffsetCheckpoints | None) -> Replica:
        if not self._is_replica_local(replica_id):
            return Replica(replica_id, self.topic_partition, self._time)
        manager = self.replica_manager
        log_manager = manager.log_manager
        is_future = replica_id == Request.FUTURE_LOCAL_REPLICA_ID
        log = None
        log_manager.initializing_log(self.topic_partition)
        try:
            log = log_manager.get_or_create_log(self.topic_partition, self._log_config(), is_new, is_future)
        finally:
            log_manager.finished_initializing_log(self.topic_partition, log, self._log_config)
        checkpoints = offset_checkpoints or LazyOffsetCheckpoints(manager.high_watermark_checkpoints)
        checkpointed = checkpoints.fetch(log.parent_dir, self.topic_partition)
        if checkpointed is None:
            self.info("No checkpointed highwatermark is found for partition %s", self.topic_partition)
        offset = min(checkpointed or 0, log.log_end_offset)
        return Replica(replica_id, self.topic_partition, self._time, offset, log)

    def _log_config(self) -> LogConfig:
        """The topic's settings over the broker's defaults."""
        defaults = self.replica_manager.log_manager.current_default_config
        return LogConfig.from_props(defaults.originals(), self._state_store.fetch_topic_config())

    def get_replica(self, replica_id: int | None = None) -> Replica | None:
        """The replica of that id (default: the local one), or None."""
        return self._all_replicas_map.get(self._local_broker_id if replica_id is None else replica_id)

    def get_replica_or_exception(self, replica_id: int | None = None) -> Replica:
        """Like get_replica, but ReplicaNotAvailableException when there is none."""
        wanted = self._local_broker_id if replica_id is None else replica_id
        replica = self._all_replicas_map.get(wanted)
        if replica is None:
            raise ReplicaNotAvailableException(
                f"Replica {wanted} is not available for partition {self.topic_partition}"
            )
        return replica

    def add_replica_if_not_exists(self, replica: Replica) -> Replica | None:
        """Add a replica that was made elsewhere; the one that was there already, or None."""
        existing = self._all_replicas_map.put_if_not_exists(replica.broker_id, replica)
        self._publish()
        return existing

    def assigned_replicas(self) -> set[Replica]:
        """Replicas on brokers, without the future replica."""
        return {r for r in self._all_replicas_map.values if r.broker_id >= 0}

    def all_replicas(self) -> set[Replica]:
        """Replicas on brokers and the future replica."""
        return set(self._all_replicas_map.values)

    def _remove_replica(self, replica_id: int) -> None:
        self._all_replicas_map.remove(replica_id)

    # ---- moving data to another log directory

    def maybe_create_future_replica(self, log_dir: str) -> bool:
        """Create the future replica unless the data is in `log_dir` already or on its way there; True if created.

        IllegalStateException when it is on its way to another directory. The local replica must exist.
        """
        # the read lock keeps others from moving the current replica or removing the future one in between
        with self.leader_isr_update_lock.read_lock():
            if log_of(self.get_replica_or_exception()).parent_dir == log_dir:
                return False
            future_replica = self.get_replica(Request.FUTURE_LOCAL_REPLICA_ID)
            if future_replica is None:
                self.get_or_create_replica(Request.FUTURE_LOCAL_REPLICA_ID)
                return True
            future_replica_log_dir = log_of(future_replica).parent_dir
            if future_replica_log_dir != log_dir:
                raise IllegalStateException(
                    f"The future log dir {future_replica_log_dir} of {self.topic_partition} "
                    f"is different from the requested log dir {log_dir}"
                )
            return False

    def future_replica_dir_changed(self, new_destination_dir: str) -> bool:
        """Whether the data is on its way to another directory than this one (KAFKA-6949)."""
        with self.leader_isr_update_lock.read_lock():
            future_replica = self.get_replica(Request.FUTURE_LOCAL_REPLICA_ID)
            return future_replica is not None and log_of(future_replica).parent_dir != new_destination_dir

    def remove_future_local_replica(self, delete_from_log_dir: bool = True) -> None:
        """Give up the future replica and, unless its directory has failed, delete its log."""
        with self.leader_isr_update_lock.write_lock():
            self._remove_replica(Request.FUTURE_LOCAL_REPLICA_ID)
            log_manager = self.replica_manager.log_manager
            if delete_from_log_dir and log_manager.get_log(self.topic_partition, is_future=True) is not None:
                log_manager.async_delete(self.topic_partition, is_future=True)

    def maybe_replace_current_with_future_replica(self) -> bool:
        """Put the future log in the place of the current one if it has caught up; True if it has.

        Only offsets are compared: the two may have rolled their segments elsewhere (KAFKA-8002).
        """
        replica = self.get_replica_or_exception()
        future_replica = self.get_replica_or_exception(Request.FUTURE_LOCAL_REPLICA_ID)
        if replica.log_end_offset.message_offset != future_replica.log_end_offset.message_offset:
            return False
        log_of(future_replica).flush()  # the other copy may be on disk
        # nothing may be appended to or cut off the current log between the comparison and the swap
        with self.leader_isr_update_lock.write_lock(), self._append_lock:
            if replica.log_end_offset.message_offset != future_replica.log_end_offset.message_offset:
                return False
            self.replica_manager.log_manager.replace_current_with_future_log(self.topic_partition)
            replica.go_on_with(log_of(future_replica))
            future_replica.log = None
            self._remove_replica(Request.FUTURE_LOCAL_REPLICA_ID)
            return True

    def delete(self) -> None:
        """Forget all replicas; afterwards the log may be deleted, which ReplicaManager does for many at a time."""
        # the lock keeps an append from running into a log that is being deleted
        with self.leader_isr_update_lock.write_lock():
            self._give_up_leadership()
            self.leader_replica_id_opt = None
            self._all_replicas_map.clear()
            self._in_sync_replicas = frozenset()
            self.remove_partition_metrics()

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
            for removed in {r.broker_id for r in self.assigned_replicas()} - set(new_assigned_replicas):
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
            self._delayed_operations.check_and_complete_all()
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
        followers = self.assigned_replicas() - {leader_replica}
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
        """Follow the leader named by the controller; False if it is the same leader as before, in the same epoch.

        In another epoch another may have led meanwhile, to whose log the leader has cut its own; and the requests of
        followers bear the epoch (KIP-320).
        """
        with self.leader_isr_update_lock.write_lock():
            base_state = partition_state_info.base_partition_state
            old_leader = self._leader_replica_id_opt
            self._give_up_leadership()
            new_assigned_replicas = list(base_state.replicas)
            self._controller_epoch = base_state.controller_epoch
            for replica_id in new_assigned_replicas:
                self.get_or_create_replica(replica_id, partition_state_info.is_new, offset_checkpoints)
            for removed in {r.broker_id for r in self.assigned_replicas()} - set(new_assigned_replicas):
                self._remove_replica(removed)
            self._in_sync_replicas = frozenset()
            same_leader = old_leader == base_state.leader and base_state.leader_epoch == self._leader_epoch
            self._leader_epoch = base_state.leader_epoch
            self._zk_version = base_state.zk_version
            self.leader_replica_id_opt = base_state.leader
            return not same_leader

    @property
    def is_high_watermark_behind_epoch(self) -> bool:
        """Whether not all that this leader had at its election counts as committed yet (KIP-207)."""
        state = self._leader_state
        if state is None:
            return False
        with self._append_lock:
            return state.leader_replica.high_watermark.message_offset < self._leader_epoch_start_offset

    def last_offset_for_leader_epoch(
        self, leader_epoch: int, current_leader_epoch: int | None = None
    ) -> EpochEndOffset:
        """Where the records of that leader epoch end in the leader's log, or NOT_LEADER_FOR_PARTITION.

        Who tells its current leader epoch (-1: any) is refused if it is not ours, and gets the answer of KIP-279.
        """
        with self.leader_isr_update_lock.read_lock():
            leader_replica = self.leader_replica_if_local
            if leader_replica is None or leader_replica.epochs is None:
                return EpochEndOffset(Errors.NOT_LEADER_FOR_PARTITION, EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
            if current_leader_epoch is None:
                return EpochEndOffset(_NONE, leader_replica.epochs.end_offset_for(leader_epoch))
            try:
                self.check_current_leader_epoch(current_leader_epoch)
            except (FencedLeaderEpochException, UnknownLeaderEpochException) as e:
                return EpochEndOffset(Errors.for_exception(e), EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
            epoch, end_offset = leader_replica.epochs.epoch_and_end_offset_for(leader_epoch)
            return EpochEndOffset(_NONE, end_offset, epoch)

    # ---- the leader's side of replication

    def update_replica_log_read_result(self, replica: Replica, log_read_result: LogReadResult) -> bool:
        """Take in a follower's Fetch; True if high or low watermark moved (delayed requests were then looked at)."""
        # the low watermark matters only to a DeleteRecords that waits
        delayed = self._delayed_operations
        old_leader_lw = self._low_watermark_or_unknown() if delayed.has_delayed_delete else -1
        replica.update_log_read_result(log_read_result)
        new_leader_lw = self._low_watermark_or_unknown() if delayed.has_delayed_delete else -1
        leader_hw_incremented = self.maybe_expand_isr(replica.broker_id, log_read_result)
        result = new_leader_lw > old_leader_lw or leader_hw_incremented
        if result:
            delayed.check_and_complete_all()
        if self.logger.debug_enabled:
            end = log_read_result.info.fetch_offset_metadata.message_offset
            self.debug("Recorded replica %d log end offset (LEO) position %d.", replica.broker_id, end)
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
                    and any(r.broker_id == replica_id for r in self.assigned_replicas())
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
        """Whether to try now; False rather than have one handler after the other wait for ZooKeeper, as in 1.1.1.

        Nothing is lost: the follower fetches again. Later Kafka sends no second ISR while one is in flight, either, and
        since KIP-497 none from a handler.
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
        isr = self._in_sync_replicas
        acked = [r for r in isr if r.is_local or r.log_end_offset.message_offset >= required_offset]
        self.trace("%d acks satisfied with acks = -1: %s received offset %d", len(acked), ids(acked), required_offset)

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
                [str(r.log_end_offset) for r in self.assigned_replicas()],
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
                for r in self.assigned_replicas()
                if now - r.last_caught_up_time_ms <= max_lag or r in in_sync or r in maybe_in_sync
            ),
            key=message_offset,
        )

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
                for r in self.all_replicas()
                if r.broker_id == Request.FUTURE_LOCAL_REPLICA_ID or cache.is_broker_alive(r.broker_id)
            ),
            default=0,
        )

    def _low_watermark_or_unknown(self) -> int:
        """-1 on a deposed leader, whose other partitions a follower's Fetch is to be answered for."""
        try:
            return self.low_watermark_if_leader()
        except NotLeaderForPartitionException:
            return -1

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
            self._delayed_operations.check_and_complete_all()

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
        new_leader_and_isr = LeaderAndIsr(
            self._local_broker_id, self._leader_epoch, [r.broker_id for r in new_isr], self._zk_version
        )
        self._isr_in_doubt = self._isr_change_under_way = True
        try:
            new_version = self._state_store.update_isr(self._controller_epoch, new_leader_and_isr)
        finally:
            self._isr_change_under_way = False
        if new_version is not None:
            self.in_sync_replicas = new_isr
            self._zk_version = new_version
            self._forget_isr_in_doubt()
            self.trace("ISR updated to [%s] and zkVersion updated to [%d]", ids(new_isr), self._zk_version)
        else:
            self.info("Cached zkVersion [%d] not equal to that in zookeeper, skip updating ISR", self._zk_version)
            self._look_up_isr_if_in_doubt()

    def _look_up_isr_if_in_doubt(self) -> bool:
        """Learn from ZooKeeper what became of an ISR; True if it was asked. Caller holds leader_isr_update_lock.

        Under its own epoch nobody but the leader writes, so a state of this epoch is taken over, with its version.
        In one of another epoch the controller has decided anew, and its LeaderAndIsr is on the way: until it is here
        the replicas that the state lists hold the high watermark back, too.
        """
        if not self._isr_in_doubt:
            return False
        state = self._state_store.fetch_state()
        listed: frozenset[Replica] = frozenset()
        if state is not None:
            found = state.leader_and_isr
            listed = frozenset(r for r in self.assigned_replicas() if r.broker_id in found.isr)
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
        self,
        records: MemoryRecords,
        is_from_client: bool,
        required_acks: int = 0,
        verification_guard: VerificationGuard | None = None,
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
            info = log.append_as_leader(records, leader_epoch, is_from_client, verification_guard)
            if not alone:
                # followers read up to the log end; consumers are looked at when the high watermark has moved
                self._delayed_operations.check_and_complete_fetch()
            leader_hw_incremented = self._maybe_increment_leader_hw(leader_replica)
        if leader_hw_incremented:
            self._delayed_operations.check_and_complete_all()
        return info

    def maybe_start_transaction_verification(
        self, producer_id: int, sequence: int, producer_epoch: int
    ) -> VerificationGuard:
        """As of the leader's log [3.7.1]; NotLeaderForPartitionException."""
        state = self._leader_state
        if state is None:
            raise self._not_leader()
        log = state[0].log
        assert log is not None, "a local replica has a log"
        return log.maybe_start_transaction_verification(producer_id, sequence, producer_epoch)

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
            return self.low_watermark_if_leader()

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


def message_offset(metadata: LogOffsetMetadata) -> int:
    return metadata.message_offset
