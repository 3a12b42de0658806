"""What a partition consists of: its replicas, who leads, who is in sync, and its gauges.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 1.1.1 (the fields and look-ups of Partition)
Read next: cluster/partition.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.api.request_or_response import Request
from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import (
    FencedLeaderEpochException,
    IllegalStateException,
    ReplicaNotAvailableException,
    UnknownLeaderEpochException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log_config import LogConfig
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.checkpoints.offset_checkpoint_file import LazyOffsetCheckpoints
from kafka_py.server.config_type import ConfigType
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.utils.concurrent import ReentrantLock, ReentrantReadWriteLock
from kafka_py.utils.pool import Pool
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.utils.time import Time
    from kafka_py.log.log import Log
    from kafka_py.server.log_offset_metadata import LogOffsetMetadata
    from kafka_py.server.replica_manager import ReplicaManager

INITIAL_CONTROLLER_EPOCH = 1  # KafkaController.InitialControllerEpoch, of a layer above this one
_NONE = Errors.NONE


class LeaderState(NamedTuple):
    """What an append needs to know, published as one immutable value while this broker leads the partition."""

    leader_replica: Replica
    leader_epoch: int
    in_sync_size: int
    alone: bool  # the leader is the only assigned replica


class PartitionReplicas(KafkaMetricsGroup):
    """Replicas and leadership of a Partition, and the snapshot of them that appends read.

    Differs: as from 2.5 on (KAFKA-8813), settings that change while a log is made reach it; 1.1.1 misses them, a
        min.insync.replicas for example, until the next change. The replicas of one LeaderAndIsr request share what
        was read of the checkpoints, as from 2.4 on (KAFKA-8333).
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
        self._request_key = TopicPartitionOperationKey(topic, partition_id)
        self._tags = {"topic": topic, "partition": str(partition_id)}
        self.log_ident = f"[Partition {self.topic_partition} broker={self._local_broker_id}] "
        if not is_offline:
            self._new_partition_metrics()

    def _new_partition_metrics(self) -> None:
        tags = self._tags
        self.new_gauge("UnderReplicated", lambda: int(self.is_under_replicated), tags)
        self.new_gauge(
            "InSyncReplicasCount", lambda: len(self.in_sync_replicas) if self._is_leader_replica_local else 0, tags
        )
        self.new_gauge("UnderMinIsr", lambda: int(self.is_under_min_isr), tags)
        self.new_gauge(
            "ReplicasCount", lambda: len(self.assigned_replicas) if self._is_leader_replica_local else 0, tags
        )
        self.new_gauge("LastStableOffsetLag", self._last_stable_offset_lag, tags)

    def remove_partition_metrics(self) -> None:
        """Unregister the gauges of this partition."""
        for name in ("UnderReplicated", "UnderMinIsr", "InSyncReplicasCount", "ReplicasCount", "LastStableOffsetLag"):
            self.remove_metric(name, self._tags)

    def _last_stable_offset_lag(self) -> int:
        replica = self.leader_replica_if_local
        if replica is None:
            return 0
        return replica.high_watermark.message_offset - replica.last_stable_offset.message_offset

    # ---- who is who

    def _is_replica_local(self, replica_id: int) -> bool:
        return replica_id in (self._local_broker_id, Request.FUTURE_LOCAL_REPLICA_ID)

    @property
    def _is_leader_replica_local(self) -> bool:
        return self.leader_replica_if_local is not None

    @property
    def is_under_replicated(self) -> bool:
        """True when this broker leads and some assigned replica is out of sync."""
        return self._is_leader_replica_local and len(self.in_sync_replicas) < len(self.assigned_replicas)

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
                    alone = self.assigned_replicas == {replica}
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

    def _leader_replica_if_local(self) -> LeaderState | None:
        return self._leader_state

    @property
    def leader_replica_if_local(self) -> Replica | None:
        """The local replica if this broker leads the partition."""
        state = self._leader_state
        return None if state is None else state.leader_replica

    @property
    def get_leader_epoch(self) -> int:
        """Epoch of the leader that this broker last heard of."""
        return self._leader_epoch

    @property
    def leader_epoch(self) -> int:
        """The same; Partition.scala has both names."""
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
        """The topic's settings, from ZooKeeper, over the broker's defaults."""
        props = AdminZkClient(self.replica_manager.zk_client).fetch_entity_config(ConfigType.TOPIC, self.topic)
        defaults = self.replica_manager.log_manager.current_default_config
        return LogConfig.from_props(defaults.originals(), props)

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

    @property
    def assigned_replicas(self) -> set[Replica]:
        """Replicas on brokers, without the future replica."""
        return {r for r in self._all_replicas_map.values if r.broker_id >= 0}

    @property
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

    def remove_future_local_replica(self) -> None:
        """Forget the future replica; its log is the caller's concern."""
        with self.leader_isr_update_lock.write_lock():
            self._remove_replica(Request.FUTURE_LOCAL_REPLICA_ID)

    def maybe_replace_current_with_future_replica(self) -> bool:
        """Put the future log in the place of the current one if it has caught up; True if it has."""
        replica = self.get_replica_or_exception()
        future_replica = self.get_replica_or_exception(Request.FUTURE_LOCAL_REPLICA_ID)
        if replica.log_end_offset != future_replica.log_end_offset:
            return False
        # nothing may be appended to or cut off the current log between the comparison and the swap
        with self.leader_isr_update_lock.write_lock(), self._append_lock:
            if replica.log_end_offset != future_replica.log_end_offset:
                return False
            self.replica_manager.log_manager.replace_current_with_future_log(self.topic_partition)
            replica.log = future_replica.log
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


def log_of(replica: Replica) -> Log:
    log = replica.log
    assert log is not None, "a local replica has a log"
    return log


def ids(replicas: Iterable[Replica]) -> str:
    return ",".join(str(i) for i in sorted(r.broker_id for r in replicas))


def message_offset(metadata: LogOffsetMetadata) -> int:
    return metadata.message_offset
