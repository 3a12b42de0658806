"""How ReplicaManager obeys the controller, and what it does when a log directory fails.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (becomeLeaderOrFollower, stopReplicas,
         maybeUpdateMetadataCache, handleLogDirFailure)
Read next: cluster/partition.py (make_leader, make_follower), server/replica_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_py.common.errors import ControllerMovedException, KafkaStorageException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.server.checkpoints.offset_checkpoint_file import LazyOffsetCheckpoints
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.server.hosted_partitions import FUTURE_LOCAL_REPLICA_ID, OFFLINE_PARTITION, HostedPartitions
from kafka_py.server.replica_manager_log_dirs import ReplicaManagerLogDirs
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafka_py.cluster.partition import Partition
    from kafka_py.cluster.replica import Replica
    from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
    from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
    from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.high_watermark_checkpoints import HighWatermarkCheckpoints
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.utils.kafka_scheduler import Scheduler


INITIAL_CONTROLLER_EPOCH = 1  # KafkaController.InitialControllerEpoch


class _Order(NamedTuple):
    """Who sent a LeaderAndIsr request, as its log lines name it."""

    controller_id: int
    epoch: int
    correlation_id: int
    offset_checkpoints: LazyOffsetCheckpoints  # each file is read once for all partitions of the request


class ReplicaManagerLeadership(Logging):
    """LeaderAndIsr, StopReplica, UpdateMetadata and failed log directories: what changes the set of partitions.

    Thread: request handlers; LogDirFailureHandler.
    Locks: _replica_state_change_lock around each request as a whole -> Partition.leader_isr_update_lock. ZooKeeper
        and log directories are read under it, as in Kafka.
    Differs: StopReplica with deletion leaves an offline partition offline (KAFKA-7313, in 2.1); 1.1.1 forgets it, so
        that the second attempt answers NONE, and the data are back with the disk. A failed directory that the
        controller could not be told of is told again; in Kafka the LogDirFailureHandler ends with that error.
    """

    logger_name: ClassVar[str] = "kafka.server.ReplicaManager"
    LOG_DIR_EVENT_RETRY_MS: ClassVar[int] = 5_000

    def __init__(
        self,
        manager: ReplicaManager,
        partitions: HostedPartitions,
        checkpoints: HighWatermarkCheckpoints,
        scheduler: Scheduler,
    ) -> None:
        self._manager = manager
        self._partitions = partitions
        self._all_partitions = partitions.pool
        self._checkpoints = checkpoints
        self._scheduler = scheduler
        self._config = manager.config
        self._local_broker_id = manager.config.broker_id
        self.log_ident = manager.log_ident
        self._state_change_logger = StateChangeLogger(manager.config.broker_id, in_controller_context=False)
        self._replica_state_change_lock = ReentrantLock()
        # epoch of the controller that last changed a leader here
        self.controller_epoch = INITIAL_CONTROLLER_EPOCH - 1  # volatile: writer under _replica_state_change_lock
        self.log_dirs = ReplicaManagerLogDirs(manager, partitions, self._replica_state_change_lock)
        self._hw_thread_initialized = False  # guarded by: _replica_state_change_lock

    # ---- StopReplica

    def stop_replica(self, topic_partition: TopicPartition, delete_partition: bool) -> None:
        """Stop serving a partition; with `delete_partition` forget it. KafkaStorageException when offline.

        The log itself and the topic's metrics go afterwards, with those of the request's other partitions.
        """
        logger = self._state_change_logger
        flag = str(delete_partition).lower()
        logger.trace("Handling stop replica (delete=%s) for partition %s", flag, topic_partition)
        if delete_partition:
            # it stays known as offline: else the controller's next attempt would find nothing and count as success
            if self._all_partitions.get(topic_partition) is OFFLINE_PARTITION:
                raise KafkaStorageException(f"Partition {topic_partition} is on an offline disk")
            removed_partition = self._all_partitions.remove(topic_partition)
            if removed_partition is not None:
                removed_partition.delete()
            else:
                logger.trace(
                    "Ignoring stop replica (delete=%s) for partition %s as replica doesn't exist on broker",
                    flag,
                    topic_partition,
                )
        logger.trace("Finished handling stop replica (delete=%s) for partition %s", flag, topic_partition)

    def _maybe_remove_topic_metrics(self, topics: Iterable[str]) -> None:
        """Of those topics that have no partition here any more. An offline partition does not bear its topic's name."""
        present = {partition.topic for partition in list(self._all_partitions.values)}
        for topic in topics:
            if topic not in present:
                self._manager.broker_topic_stats.remove_metrics(topic)

    def _delete_stopped(self, partitions: list[TopicPartition], response_map: dict[TopicPartition, Errors]) -> None:
        """Delete the logs, also of a partition this broker was never told of: it was down when the topic went."""

        def failed(topic_partition: TopicPartition, e: Exception) -> None:
            self._log_stop_replica_failure(topic_partition, True, e)
            response_map[topic_partition] = Errors.KAFKA_STORAGE_ERROR

        self._manager.log_manager.async_delete_all(partitions, failed)
        self._maybe_remove_topic_metrics({topic_partition.topic for topic_partition in partitions})

    def _log_stop_replica_failure(self, topic_partition: TopicPartition, delete: bool, e: Exception) -> None:
        self._state_change_logger.error(
            "Ignoring stop replica (delete=%s) for partition %s due to storage exception",
            str(delete).lower(),
            topic_partition,
            exc=e,
        )

    def stop_replicas(self, stop_replica_request: StopReplicaRequest) -> tuple[dict[TopicPartition, Errors], Errors]:
        """Handle StopReplica: error per partition, and STALE_CONTROLLER_EPOCH when the sender was deposed."""
        response_map: dict[TopicPartition, Errors] = {}
        with self._replica_state_change_lock:
            controller_epoch = stop_replica_request.controller_epoch
            if controller_epoch < self.controller_epoch:
                self._state_change_logger.warn(
                    "Received stop replica request from an old controller epoch %d. "
                    "Latest known controller epoch is %d",
                    controller_epoch,
                    self.controller_epoch,
                )
                return response_map, Errors.STALE_CONTROLLER_EPOCH
            partitions = set(stop_replica_request.partitions())
            delete_partitions = stop_replica_request.delete_partitions
            self.controller_epoch = controller_epoch
            # all fetchers first: none shall write to a log that is on its way out
            self._manager.replica_fetcher_manager.remove_fetcher_for_partitions(partitions)
            self._manager.replica_alter_log_dirs_manager.remove_fetcher_for_partitions(partitions)
            for topic_partition in partitions:
                try:
                    self.stop_replica(topic_partition, delete_partitions)
                    response_map[topic_partition] = Errors.NONE
                except KafkaStorageException as e:
                    self._log_stop_replica_failure(topic_partition, delete_partitions, e)
                    response_map[topic_partition] = Errors.KAFKA_STORAGE_ERROR
            if delete_partitions:
                self._delete_stopped([tp for tp, e in response_map.items() if e is Errors.NONE], response_map)
            return response_map, Errors.NONE

    # ---- UpdateMetadata

    def maybe_update_metadata_cache(
        self, correlation_id: int, update_metadata_request: UpdateMetadataRequest
    ) -> list[TopicPartition]:
        """Pass UpdateMetadata on to the cache; the partitions it deleted. ControllerMovedException if deposed."""
        with self._replica_state_change_lock:
            controller_epoch = update_metadata_request.controller_epoch
            if controller_epoch < self.controller_epoch:
                message = (
                    f"Received update metadata request with correlation id {correlation_id} from an old controller "
                    f"{update_metadata_request.controller_id} with epoch {controller_epoch}. "
                    f"Latest known controller epoch is {self.controller_epoch}"
                )
                self._state_change_logger.warn(message)
                raise ControllerMovedException(self._state_change_logger.message_with_prefix(message))
            deleted_partitions = self._manager.metadata_cache.update_cache(correlation_id, update_metadata_request)
            self.controller_epoch = controller_epoch
            return list(deleted_partitions)

    # ---- LeaderAndIsr

    def become_leader_or_follower(
        self,
        correlation_id: int,
        leader_and_isr_request: LeaderAndIsrRequest,
        on_leadership_change: Callable[[Iterable[Partition], Iterable[Partition]], object],
    ) -> LeaderAndIsrResponse:
        """Handle LeaderAndIsr: make this broker leader or follower of each partition, then tell the coordinators."""
        request = leader_and_isr_request
        logger = self._state_change_logger
        controller_id = request.controller_id
        states = request.partition_states()
        if logger.is_trace_enabled:
            for topic_partition, state_info in states.items():
                logger.trace(
                    "Received LeaderAndIsr request %s correlation id %d from controller %d epoch %d for partition %s",
                    state_info,
                    correlation_id,
                    controller_id,
                    request.controller_epoch,
                    topic_partition,
                )
        with self._replica_state_change_lock:
            if request.controller_epoch < self.controller_epoch:
                logger.warn(
                    "Ignoring LeaderAndIsr request from controller %d with correlation id %d since its controller "
                    "epoch %d is old. Latest known controller epoch is %d",
                    controller_id,
                    correlation_id,
                    request.controller_epoch,
                    self.controller_epoch,
                )
                return request.get_error_response(0, ControllerMovedException(Errors.STALE_CONTROLLER_EPOCH.message()))
            self.controller_epoch = request.controller_epoch
            response_map: dict[TopicPartition, Errors] = {}
            order = _Order(
                controller_id,
                self.controller_epoch,
                correlation_id,
                LazyOffsetCheckpoints(self._checkpoints.by_directory),
            )
            partition_state = self._partitions_to_change(order, states, response_map)
            to_be_leader: dict[Partition, LeaderAndIsrRequest.PartitionState] = {}
            to_be_follower: dict[Partition, LeaderAndIsrRequest.PartitionState] = {}
            for partition, state_info in partition_state.items():
                leads = state_info.base_partition_state.leader == self._local_broker_id
                (to_be_leader if leads else to_be_follower)[partition] = state_info
            become_leader = self.make_leaders(order, to_be_leader, response_map) if to_be_leader else set()
            become_follower = self.make_followers(order, to_be_follower, response_map) if to_be_follower else set()
            for topic_partition in states:
                # the partition was created here, but its log directory refused to create the replica
                if self._partitions.get_replica(topic_partition) is None:
                    self._all_partitions.put(topic_partition, OFFLINE_PARTITION)
            # only now are all partitions there: an earlier checkpoint would lose those not yet loaded
            if not self._hw_thread_initialized:
                self._checkpoints.schedule(self._scheduler, self._config.replica_high_watermark_checkpoint_interval_ms)
                self._hw_thread_initialized = True
            self.log_dirs.maybe_add_log_dir_fetchers(states)
            self._manager.replica_fetcher_manager.shutdown_idle_fetcher_threads()
            self._manager.replica_alter_log_dirs_manager.shutdown_idle_fetcher_threads()
            on_leadership_change(become_leader, become_follower)
            return LeaderAndIsrResponse(Errors.NONE, response_map)

    def _partitions_to_change(
        self,
        order: _Order,
        states: dict[TopicPartition, LeaderAndIsrRequest.PartitionState],
        response_map: dict[TopicPartition, Errors],
    ) -> dict[Partition, LeaderAndIsrRequest.PartitionState]:
        """Partitions whose leader epoch is news to this broker; the others get their error in `response_map`."""
        partition_state: dict[Partition, LeaderAndIsrRequest.PartitionState] = {}
        prefix = "Ignoring LeaderAndIsr request from controller %d with correlation id %d epoch %d for partition %s "
        for topic_partition, state_info in states.items():
            partition = self._all_partitions.get_and_maybe_put(topic_partition)
            base_state = state_info.base_partition_state
            who = (order.controller_id, order.correlation_id, order.epoch, topic_partition)
            if partition is OFFLINE_PARTITION:
                self._state_change_logger.warn(
                    prefix + "as the local replica for the partition is in an offline log directory", *who
                )
                response_map[topic_partition] = Errors.KAFKA_STORAGE_ERROR
            elif partition.get_leader_epoch >= base_state.leader_epoch:
                self._state_change_logger.warn(
                    prefix + "since its associated leader epoch %d is not higher than the current leader epoch %d",
                    *who,
                    base_state.leader_epoch,
                    partition.get_leader_epoch,
                )
                response_map[topic_partition] = Errors.STALE_CONTROLLER_EPOCH
            elif self._local_broker_id not in base_state.replicas:
                self._state_change_logger.warn(
                    prefix + "as itself is not in assigned replica list %s",
                    *who,
                    ",".join(map(str, base_state.replicas)),
                )
                response_map[topic_partition] = Errors.UNKNOWN_TOPIC_OR_PARTITION
            else:
                partition_state[partition] = state_info
        return partition_state

    def make_leaders(
        self,
        order: _Order,
        partition_state: dict[Partition, LeaderAndIsrRequest.PartitionState],
        response_map: dict[TopicPartition, Errors],
    ) -> set[Partition]:
        """Stop fetching for the partitions, then lead them; those that were not led here before.

        A failed log directory is that partition's error; anything else goes up to KafkaApis, which answers with it
        for every partition, since nobody knows which one caused it.
        """
        self._trace_transition(order, partition_state, "starting the become-leader transition for partition %s")
        for partition in partition_state:
            response_map[partition.topic_partition] = Errors.NONE
        partitions_to_make_leaders: set[Partition] = set()
        try:
            self._manager.replica_fetcher_manager.remove_fetcher_for_partitions(
                {p.topic_partition for p in partition_state}
            )
            for partition, state_info in partition_state.items():
                self._make_one_leader(order, partition, state_info, response_map, partitions_to_make_leaders)
        except Exception as e:
            for partition in partition_state:
                self._state_change_logger.error(
                    "Error while processing LeaderAndIsr request correlationId %d received from controller %d epoch %d "
                    "for partition %s",
                    order.correlation_id,
                    order.controller_id,
                    order.epoch,
                    partition.topic_partition,
                    exc=e,
                )
            raise
        self._trace_completed(order, partition_state, "become-leader")
        return partitions_to_make_leaders

    def _make_one_leader(
        self,
        order: _Order,
        partition: Partition,
        state_info: LeaderAndIsrRequest.PartitionState,
        response_map: dict[TopicPartition, Errors],
        made: set[Partition],
    ) -> None:
        who = (
            order.controller_id,
            order.epoch,
            order.correlation_id,
            partition.topic_partition,
            state_info.base_partition_state.controller_epoch,
        )
        try:
            if partition.make_leader(order.controller_id, state_info, order.correlation_id, order.offset_checkpoints):
                made.add(partition)
                self._state_change_logger.trace(
                    "Stopped fetchers as part of become-leader request from controller %d epoch %d with "
                    "correlation id %d for partition %s (last update controller epoch %d)",
                    *who,
                )
            else:
                self._state_change_logger.info(
                    "Skipped the become-leader state change after marking its partition as leader from controller %d "
                    "epoch %d with correlation id %d for partition %s (last update controller epoch %d) since it is "
                    "already the leader for the partition.",
                    *who,
                )
        except KafkaStorageException as e:
            self._replica_is_offline("leader", who, partition, e, response_map)

    def make_followers(
        self,
        order: _Order,
        partition_state: dict[Partition, LeaderAndIsrRequest.PartitionState],
        response_map: dict[TopicPartition, Errors],
    ) -> set[Partition]:
        """Follow the new leaders; the partitions whose leader changed.

        The order matters: mark as follower (no more appends from producers), stop the old fetchers, wake the requests
        that waited here (they get their error), and only then fetch from the new leader. Errors as in make_leaders.
        """
        logger = self._state_change_logger
        self._trace_transition(order, partition_state, "starting the become-follower transition for partition %s")
        for partition in partition_state:
            response_map[partition.topic_partition] = Errors.NONE
        partitions_to_make_follower: set[Partition] = set()
        try:
            for partition, state_info in partition_state.items():
                if self._make_one_follower(order, partition, state_info, response_map):
                    partitions_to_make_follower.add(partition)
            self._manager.replica_fetcher_manager.remove_fetcher_for_partitions(
                {p.topic_partition for p in partitions_to_make_follower}
            )
            self._trace_follower(
                "Stopped fetchers as part of become-follower request", order, partitions_to_make_follower
            )
            for partition in partitions_to_make_follower:
                key = TopicPartitionOperationKey(partition.topic, partition.partition_id)
                self._manager.try_complete_delayed_produce(key)
                self._manager.try_complete_delayed_fetch(key)
            self._trace_follower(
                "Truncated logs and checkpointed recovery boundaries as part of become-follower request",
                order,
                partitions_to_make_follower,
            )
            if self._manager.is_shutting_down.get():
                self._trace_follower(
                    "Skipped the adding-fetcher step of the become-follower state change, since it is shutting down,",
                    order,
                    partitions_to_make_follower,
                )
            else:
                self._start_fetching(partitions_to_make_follower)
                self._trace_follower(
                    "Started fetcher to new leader as part of become-follower request",
                    order,
                    partitions_to_make_follower,
                )
        except Exception as e:
            logger.error(
                "Error while processing LeaderAndIsr request with correlationId %d received from controller %d "
                "epoch %d",
                order.correlation_id,
                order.controller_id,
                order.epoch,
                exc=e,
            )
            raise
        self._trace_completed(order, partition_state, "become-follower")
        return partitions_to_make_follower

    def _make_one_follower(
        self,
        order: _Order,
        partition: Partition,
        state_info: LeaderAndIsrRequest.PartitionState,
        response_map: dict[TopicPartition, Errors],
    ) -> bool:
        base_state = state_info.base_partition_state
        who = (
            order.controller_id,
            order.epoch,
            order.correlation_id,
            partition.topic_partition,
            base_state.controller_epoch,
        )
        try:
            if any(b.id == base_state.leader for b in self._manager.metadata_cache.get_alive_brokers()):
                if partition.make_follower(
                    order.controller_id, state_info, order.correlation_id, order.offset_checkpoints
                ):
                    return True
                self._state_change_logger.info(
                    "Skipped the become-follower state change after marking its partition as follower from controller "
                    "%d epoch %d with correlation id %d for partition %s (last update controller epoch %d) since the "
                    "new leader %d is the same as the old leader",
                    *who,
                    base_state.leader,
                )
            else:
                self._state_change_logger.error(
                    "Received LeaderAndIsrRequest from controller %d epoch %d with correlation id %d for partition %s "
                    "(last update controller epoch %d) but cannot become follower since the new leader %d is "
                    "unavailable.",
                    *who,
                    base_state.leader,
                )
                # without a replica its high watermark would drop out of the checkpoint
                partition.get_or_create_replica(is_new=state_info.is_new, offset_checkpoints=order.offset_checkpoints)
        except KafkaStorageException as e:
            self._replica_is_offline("follower", who, partition, e, response_map)
        return False

    def _start_fetching(self, partitions: set[Partition]) -> None:
        from kafka_py.server.abstract_fetcher_manager import BrokerAndInitialOffset

        listener_name = self._config.inter_broker_listener_name
        brokers = {b.id: b for b in self._manager.metadata_cache.get_alive_brokers()}
        self._manager.replica_fetcher_manager.add_fetcher_for_partitions(
            {
                p.topic_partition: BrokerAndInitialOffset(
                    # that the leader is alive was checked when the partition was made follower
                    brokers[p.leader_replica_id_opt if p.leader_replica_id_opt is not None else -1].broker_end_point(
                        listener_name
                    ),
                    p.get_replica_or_exception().high_watermark.message_offset,
                    p.get_leader_epoch,
                )
                for p in partitions
            }
        )

    def _replica_is_offline(
        self,
        role: str,
        who: tuple[object, ...],
        partition: Partition,
        e: KafkaStorageException,
        response_map: dict[TopicPartition, Errors],
    ) -> None:
        self._state_change_logger.error(
            "Skipped the become-" + role + " state change from controller %d epoch %d with correlation id %d for "
            "partition %s (last update controller epoch %d) since the replica for the partition is offline due to "
            "disk error %s",
            *who,
            e,
        )
        directory = self._partitions.get_log_dir(partition.topic_partition)
        self.error("Error while making broker the %s for partition %s in dir %s", role, partition, directory, exc=e)
        response_map[partition.topic_partition] = Errors.KAFKA_STORAGE_ERROR

    def _trace_transition(self, order: _Order, partitions: Iterable[Partition], text: str) -> None:
        if self._state_change_logger.is_trace_enabled:
            for partition in partitions:
                self._state_change_logger.trace(
                    "Handling LeaderAndIsr request correlationId %d from controller %d epoch %d " + text,
                    order.correlation_id,
                    order.controller_id,
                    order.epoch,
                    partition.topic_partition,
                )

    def _trace_completed(self, order: _Order, partitions: Iterable[Partition], transition: str) -> None:
        if self._state_change_logger.is_trace_enabled:
            for partition in partitions:
                self._state_change_logger.trace(
                    "Completed LeaderAndIsr request correlationId %d from controller %d epoch %d for the %s transition "
                    "for partition %s",
                    order.correlation_id,
                    order.controller_id,
                    order.epoch,
                    transition,
                    partition.topic_partition,
                )

    def _trace_follower(self, step: str, order: _Order, partitions: Iterable[Partition]) -> None:
        if self._state_change_logger.is_trace_enabled:
            for partition in partitions:
                self._state_change_logger.trace(
                    "%s from controller %d epoch %d with correlation id %d for partition %s",
                    step,
                    order.controller_id,
                    order.epoch,
                    order.correlation_id,
                    partition.topic_partition,
                )

    # ---- failed log directories (KIP-112)

    def handle_log_dir_failure(self, directory: str) -> None:
        """Take all replicas in `directory` (absolute path) out of service; tell the controller through ZooKeeper."""
        if not self._manager.log_manager.is_log_dir_online(directory):
            return
        self.info("Stopping serving replicas in dir %s", directory)
        with self._replica_state_change_lock:
            new_offline_partitions = {
                p.topic_partition
                for p in self._partitions.non_offline_partitions()
                if _is_in(p.get_replica(self._local_broker_id), directory)
            }
            partitions_with_offline_future_replica = {
                p
                for p in self._partitions.non_offline_partitions()
                if _is_in(p.get_replica(FUTURE_LOCAL_REPLICA_ID), directory)
            }
            self._manager.replica_fetcher_manager.remove_fetcher_for_partitions(new_offline_partitions)
            self._manager.replica_alter_log_dirs_manager.remove_fetcher_for_partitions(
                new_offline_partitions | {p.topic_partition for p in partitions_with_offline_future_replica}
            )
            for partition in partitions_with_offline_future_replica:
                partition.remove_future_local_replica(delete_from_log_dir=False)
            for topic_partition in new_offline_partitions:
                offline = self._all_partitions.put(topic_partition, OFFLINE_PARTITION)
                if offline is not None:
                    offline.remove_partition_metrics()
            self._maybe_remove_topic_metrics({tp.topic for tp in new_offline_partitions})
            self._checkpoints.forget(directory)
            self.info(
                "Broker %d stopped fetcher for partitions %s and stopped moving logs for partitions %s because they "
                "are in the failed log directory %s.",
                self._local_broker_id,
                ",".join(map(str, new_offline_partitions)),
                ",".join(str(p.topic_partition) for p in partitions_with_offline_future_replica),
                directory,
            )
        self._manager.log_manager.handle_log_dir_failure(directory)
        self._propagate_log_dir_event()
        self.info("Stopped serving replicas in dir %s", directory)

    def _propagate_log_dir_event(self) -> None:  # runs on: LogDirFailureHandler, kafka-scheduler
        """Tell the controller that a directory of this broker has failed; once more after a while if that fails."""
        try:
            self._manager.zk_client.propagate_log_dir_event(self._local_broker_id)
        except Exception as e:  # noqa: BLE001  whatever it is, the controller must hear of the directory in the end
            self.error(
                "Could not tell the controller of a failed log directory, trying again in %d ms",
                self.LOG_DIR_EVENT_RETRY_MS,
                exc=e,
            )
            self._scheduler.schedule(
                "log-dir-event-propagation", self._propagate_log_dir_event, delay=self.LOG_DIR_EVENT_RETRY_MS
            )


def _is_in(replica: Replica | None, directory: str) -> bool:
    return replica is not None and replica.log is not None and replica.log.parent_dir == directory
