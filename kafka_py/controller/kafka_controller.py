"""The controller: elected through /controller, it keeps every partition led and every broker informed.

Election and failover are here, what each event does is in kafka_controller_events, the moving of partitions between
brokers in kafka_controller_reassignment: the controller owns both.

Mirrors: core/src/main/scala/kafka/controller/KafkaController.scala @ 1.1.1
Posts:   why-fast-and-available (controller, failover order)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import ControllerMovedException, IllegalStateException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller import kafka_controller_api_events as api_events
from kafka_py.controller import kafka_controller_events as events
from kafka_py.controller.controller_channel_manager import ControllerBrokerRequestBatch, ControllerChannelManager
from kafka_py.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.controller.controller_event_manager import ControllerEventManager
from kafka_py.controller.kafka_controller_handlers import (
    BrokerChangeHandler,
    BrokerModificationsHandler,
    ControllerChangeHandler,
    ControllerStateChangeHandler,
    IsrChangeNotificationHandler,
    LogDirEventNotificationHandler,
    PartitionModificationsHandler,
    PartitionReassignmentHandler,
    PreferredReplicaElectionHandler,
    TopicChangeHandler,
    TopicDeletionHandler,
)
from kafka_py.controller.kafka_controller_reassignment import KafkaControllerReassignment
from kafka_py.controller.partition_leader_election import (
    OfflinePartitionLeaderElectionStrategy,
    PreferredReplicaPartitionLeaderElectionStrategy,
)
from kafka_py.controller.partition_state_machine import (
    NewPartition,
    OfflinePartition,
    OnlinePartition,
    PartitionStateMachine,
)
from kafka_py.controller.replica_state_machine import NewReplica, OfflineReplica, OnlineReplica, ReplicaStateMachine
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.controller.topic_deletion_manager import TopicDeletionManager
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.kafka_scheduler import KafkaScheduler
from kafka_py.zk.zk_data import ControllerZNode
from kafka_py.zookeeper.keeper_exception import Code, NodeExistsException

if TYPE_CHECKING:
    from kafka_py.common.election_type import ElectionType
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.protocol.api_keys import ApiKeys
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.controller.controller_state import ControllerState
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.zk.kafka_zk_client import KafkaZkClient
    from kafka_py.zk.zk_data import BrokerInfo


class KafkaController(KafkaMetricsGroup):
    """One per broker; active only on the broker whose id stands in /controller.

    Mirrors: kafka.controller.KafkaController
    Thread:  every state change runs on controller-event-thread; the gauges read volatile counts.
    Differs: what an administrator wrote is doubted: a preferred election or a reassignment that cannot be read, or
        names partitions that do not exist or have no leader yet, is logged and taken off the list. (The original
        fails the event and leaves the znode there, which blocks every later wish, or fails each failover.)
    """

    # The events are its members, as in Scala.
    AutoPreferredReplicaLeaderElection = events.AutoPreferredReplicaLeaderElection
    ControlledShutdown = events.ControlledShutdown
    LeaderAndIsrResponseReceived = events.LeaderAndIsrResponseReceived
    TopicDeletionStopReplicaResponseReceived = events.TopicDeletionStopReplicaResponseReceived
    Startup = events.Startup
    BrokerChange = events.BrokerChange
    BrokerModifications = events.BrokerModifications
    TopicChange = events.TopicChange
    LogDirEventNotification = events.LogDirEventNotification
    PartitionModifications = events.PartitionModifications
    TopicDeletion = events.TopicDeletion
    PartitionReassignment = events.PartitionReassignment
    PartitionReassignmentIsrChange = events.PartitionReassignmentIsrChange
    IsrChangeNotification = events.IsrChangeNotification
    PreferredReplicaLeaderElection = events.PreferredReplicaLeaderElection
    ControllerChange = events.ControllerChange
    Reelect = events.Reelect
    RegisterBrokerAndReelect = events.RegisterBrokerAndReelect
    Expire = events.Expire

    INITIAL_CONTROLLER_EPOCH = 1
    INITIAL_CONTROLLER_EPOCH_ZK_VERSION = 1

    def __init__(
        self,
        config: KafkaConfig,
        zk_client: KafkaZkClient,
        time: Time,
        metrics: Metrics,
        initial_broker_info: BrokerInfo,
        token_manager: Any,
        thread_name_prefix: str | None = None,
    ) -> None:
        self.config = config
        self.zk_client = zk_client
        self._time = time
        self._metrics = metrics
        self._token_manager = token_manager
        self._thread_name_prefix = thread_name_prefix
        self.log_ident = f"[Controller id={config.broker_id}] "
        self.broker_info = initial_broker_info  # volatile: the thread that changes listeners
        self.state_change_logger = StateChangeLogger(config.broker_id, in_controller_context=True)
        self.controller_context = ControllerContext()  # thread: event
        # Its own scheduler: started and stopped with the term of office, not with the broker.
        self.kafka_scheduler = KafkaScheduler(1)
        self.event_manager = ControllerEventManager(
            config.broker_id,
            self.controller_context.stats.rate_and_time_metrics,
            lambda event: self._update_metrics(),
            time,
        )
        self.topic_deletion_manager = TopicDeletionManager(self, self.event_manager, zk_client)  # thread: event
        self.broker_request_batch = ControllerBrokerRequestBatch(self, self.state_change_logger)  # thread: event
        self.replica_state_machine = ReplicaStateMachine(  # thread: event
            config,
            self.state_change_logger,
            self.controller_context,
            self.topic_deletion_manager,
            zk_client,
            {},
            ControllerBrokerRequestBatch(self, self.state_change_logger),
        )  # thread: event
        self.partition_state_machine = PartitionStateMachine(  # thread: event
            config,
            self.state_change_logger,
            self.controller_context,
            self.topic_deletion_manager,
            zk_client,
            {},
            ControllerBrokerRequestBatch(self, self.state_change_logger),
        )  # thread: event
        self.reassignment = KafkaControllerReassignment(self)  # thread: event
        self.controller_change_handler = ControllerChangeHandler(self, self.event_manager)
        self.broker_change_handler = BrokerChangeHandler(self, self.event_manager)
        self.broker_modifications_handlers: dict[int, BrokerModificationsHandler] = {}  # thread: event
        self.topic_change_handler = TopicChangeHandler(self, self.event_manager)
        self.topic_deletion_handler = TopicDeletionHandler(self, self.event_manager)
        self.partition_modifications_handlers: dict[str, PartitionModificationsHandler] = {}  # thread: event
        self.partition_reassignment_handler = PartitionReassignmentHandler(self, self.event_manager)
        self.preferred_replica_election_handler = PreferredReplicaElectionHandler(self, self.event_manager)
        self.isr_change_notification_handler = IsrChangeNotificationHandler(self, self.event_manager)
        self.log_dir_event_notification_handler = LogDirEventNotificationHandler(self, self.event_manager)
        self.active_controller_id = -1  # volatile: controller-event-thread
        # what the next three were counted from
        self._offline_partitions: set[TopicPartition] = set()  # thread: event
        self._imbalanced_partitions: set[TopicPartition] = set()  # thread: event
        self._counted_with_brokers: frozenset[int] = frozenset()  # thread: event
        self._offline_partition_count = 0  # volatile: controller-event-thread
        self._preferred_replica_imbalance_count = 0  # volatile: controller-event-thread
        self._global_topic_count = 0  # volatile: controller-event-thread
        self._global_partition_count = 0  # volatile: controller-event-thread
        self.token_clean_scheduler = KafkaScheduler(1, thread_name_prefix="delegation-token-cleaner")
        self._register_metrics()

    @property
    def is_active(self) -> bool:
        """True while this broker is the controller."""
        return self.active_controller_id == self.config.broker_id

    @property
    def epoch(self) -> int:
        return self.controller_context.epoch

    @property
    def _state(self) -> ControllerState:
        return self.event_manager.state

    def startup(self) -> None:
        """Watch for session expiry, queue the first election, start the event thread. Does not wait for either."""
        self.zk_client.register_state_change_handler(ControllerStateChangeHandler(self, self.event_manager))
        self.event_manager.put(self.Startup(self))
        self.event_manager.start()

    def shutdown(self) -> None:
        """End the event thread, then lay down the office if this broker holds it."""
        self.event_manager.close()
        self._on_controller_resignation()

    def controlled_shutdown(
        self, id: int, controlled_shutdown_callback: Callable[[set[TopicPartition] | Exception], None]
    ) -> None:
        """Move leadership off a broker that wants to stop.

        The callback gets the partitions the broker still leads, or the exception that stopped the move
        (ControllerMovedException when this broker is not the controller). It runs on the event thread.
        """
        self.event_manager.put(self.ControlledShutdown(self, id, controlled_shutdown_callback))

    def elect_leaders(
        self,
        partitions: Collection[TopicPartition],
        election_type: ElectionType,
        callback: api_events.ElectLeadersCallback,
    ) -> None:
        """Have leaders elected [2.4]; the callback runs on the event thread, as those of the next two."""
        self.event_manager.put(api_events.ReplicaLeaderElection(self, partitions, election_type, callback))

    def list_partition_reassignments(
        self,
        partitions: Collection[TopicPartition] | None,
        callback: api_events.ListReassignmentsCallback,
    ) -> None:
        """Tell which of the partitions, or (None) of all, are being moved [2.4]."""
        self.event_manager.put(api_events.ListPartitionReassignments(self, partitions, callback))

    def alter_partition_reassignments(
        self,
        partitions: Mapping[TopicPartition, Sequence[int] | None],
        callback: api_events.AlterReassignmentsCallback,
    ) -> None:
        """Move partitions, or (None) leave them where they are [2.4]."""
        self.event_manager.put(api_events.ApiPartitionReassignment(self, partitions, callback))

    def update_broker_info(self, new_broker_info: BrokerInfo) -> None:
        self.broker_info = new_broker_info
        self.zk_client.update_broker_info_in_zk(new_broker_info)

    def _on_controller_failover(self) -> None:
        """Take office; the order of the steps is the point.

        Watches come before the reads, so that nothing changes unseen between them. UpdateMetadata comes before the
        state machines, because a broker can follow a LeaderAndIsr only if it knows who is alive. Whatever fails here
        makes the broker resign, so that the cluster always has a controller that works.
        """
        self.info("Reading controller epoch from ZooKeeper")
        self._read_controller_epoch_from_zoo_keeper()
        self.info("Incrementing controller epoch in ZooKeeper")
        self._increment_controller_epoch()
        self.info("Registering handlers")
        for child_handler in (
            self.broker_change_handler,
            self.topic_change_handler,
            self.topic_deletion_handler,
            self.log_dir_event_notification_handler,
            self.isr_change_notification_handler,
        ):
            self.zk_client.register_znode_child_change_handler(child_handler)
        for node_handler in (self.preferred_replica_election_handler, self.partition_reassignment_handler):
            self.zk_client.register_znode_change_handler_and_check_existence(node_handler)
        self.info("Deleting log dir event notifications")
        self.zk_client.delete_log_dir_event_notifications()
        self.info("Deleting isr change notifications")
        self.zk_client.delete_isr_change_notifications()
        self.info("Initializing controller context")
        self._initialize_controller_context()
        self.info("Fetching topic deletions in progress")
        to_be_deleted, ineligible = self._fetch_topic_deletions_in_progress()
        self.info("Initializing topic deletion manager")
        self.topic_deletion_manager.init(to_be_deleted, ineligible)
        self.info("Sending update metadata request")
        self.send_update_metadata_request(sorted(self.controller_context.live_or_shutting_down_broker_ids))
        self.replica_state_machine.startup()
        self.partition_state_machine.startup()
        self.info("Ready to serve as the new controller with epoch %s", self.epoch)
        self._maybe_trigger_partition_reassignment(set(self.controller_context.partitions_being_reassigned))
        self.topic_deletion_manager.try_topic_deletion()
        self._on_preferred_replica_election(self._fetch_pending_preferred_replica_elections())
        self.info("Starting the controller scheduler")
        self.kafka_scheduler.startup()
        if self.config.auto_leader_rebalance_enable:
            self._schedule_auto_leader_rebalance_task(delay_ms=5_000)
        if self._token_manager is not None and self.config.token_auth_enabled:
            self.info("starting the token expiry check scheduler")
            self.token_clean_scheduler.startup()
            self.token_clean_scheduler.schedule(
                "delete-expired-tokens",
                self._token_manager.expire_tokens,
                period=self.config.delegation_token_expiry_check_interval_ms,
            )

    def _maybe_trigger_partition_reassignment(self, topic_partitions: Collection[TopicPartition]) -> None:
        """Start moving those of the partitions that can be moved; all have to be in partitions_being_reassigned."""
        self.reassignment.maybe_trigger_partition_reassignment(topic_partitions)

    def _schedule_auto_leader_rebalance_task(self, delay_ms: int) -> None:
        event = self.AutoPreferredReplicaLeaderElection(self)
        self.kafka_scheduler.schedule(
            "auto-leader-rebalance-task", lambda: self.event_manager.put(event), delay=delay_ms
        )

    def _on_controller_resignation(self) -> None:
        """Undo the failover: watches, schedulers, state machines, send threads, context."""
        self.debug("Resigning")
        zk = self.zk_client
        zk.unregister_znode_child_change_handler(self.isr_change_notification_handler.path)
        zk.unregister_znode_change_handler(self.partition_reassignment_handler.path)
        zk.unregister_znode_change_handler(self.preferred_replica_election_handler.path)
        zk.unregister_znode_child_change_handler(self.log_dir_event_notification_handler.path)
        self._unregister_broker_modifications_handler(list(self.broker_modifications_handlers))
        self.topic_deletion_manager.reset()
        self.kafka_scheduler.shutdown()
        self._offline_partition_count = 0
        self._preferred_replica_imbalance_count = 0
        self._global_topic_count = 0
        self._global_partition_count = 0
        if self.token_clean_scheduler.is_started:
            self.token_clean_scheduler.shutdown()
        self.reassignment.unregister_partition_reassignment_isr_change_handlers()
        self.partition_state_machine.shutdown()
        zk.unregister_znode_child_change_handler(self.topic_change_handler.path)
        self.unregister_partition_modifications_handlers(list(self.partition_modifications_handlers))
        zk.unregister_znode_child_change_handler(self.topic_deletion_handler.path)
        self.replica_state_machine.shutdown()
        zk.unregister_znode_child_change_handler(self.broker_change_handler.path)
        self._reset_controller_context()
        self.info("Resigned")

    def on_broker_log_dir_failure(self, broker_ids: Collection[int]) -> None:
        """Ask those brokers about every replica they have: a LeaderAndIsr answer names the ones that are offline."""
        replicas = self.controller_context.replicas_on_brokers(set(broker_ids))
        self.replica_state_machine.handle_state_changes(sorted(replicas), OnlineReplica)

    def on_broker_startup(self, new_brokers: Collection[int]) -> None:
        """Metadata to everybody, replicas online on the new brokers, then elections, reassignments and deletions."""
        self.info("New broker startup callback for %s", ",".join(map(str, new_brokers)))
        context = self.controller_context
        for id in new_brokers:
            context.replicas_on_offline_dirs.pop(id, None)
        # The new brokers learn of the cluster at once, and the others learn of them.
        self.send_update_metadata_request(sorted(context.live_or_shutting_down_broker_ids))
        replicas = context.replicas_on_brokers(set(new_brokers))
        self.replica_state_machine.handle_state_changes(sorted(replicas), OnlineReplica)
        self.partition_state_machine.trigger_online_partition_state_change()
        for tp, reassignment in list(context.partitions_being_reassigned.items()):
            if set(reassignment.new_replicas) & set(new_brokers):
                self.reassignment.on_partition_reassignment(tp, reassignment)
        to_be_deleted = {r for r in replicas if self.topic_deletion_manager.is_topic_queued_up_for_deletion(r.topic)}
        if to_be_deleted:
            self.info(
                "Some replicas %s for topics scheduled for deletion %s are on the newly restarted brokers %s. "
                "Signaling restart of topic deletion for these topics",
                ",".join(map(str, sorted(to_be_deleted))),
                ",".join(sorted(self.topic_deletion_manager.topics_to_be_deleted)),
                ",".join(map(str, new_brokers)),
            )
            self.topic_deletion_manager.resume_deletion_for_topics({replica.topic for replica in to_be_deleted})
        self._register_broker_modifications_handler(new_brokers)

    def _register_broker_modifications_handler(self, broker_ids: Iterable[int]) -> None:
        self.debug("Register BrokerModifications handler for %s", broker_ids)
        for broker_id in broker_ids:
            handler = BrokerModificationsHandler(self, self.event_manager, broker_id)
            self.zk_client.register_znode_change_handler_and_check_existence(handler)
            self.broker_modifications_handlers[broker_id] = handler

    def _unregister_broker_modifications_handler(self, broker_ids: Iterable[int]) -> None:
        self.debug("Unregister BrokerModifications handler for %s", broker_ids)
        for broker_id in broker_ids:
            handler = self.broker_modifications_handlers.pop(broker_id, None)
            if handler is not None:
                self.zk_client.unregister_znode_change_handler(handler.path)

    def on_broker_failure(self, dead_brokers: Collection[int]) -> None:
        self.info("Broker failure callback for %s", ",".join(map(str, dead_brokers)))
        context = self.controller_context
        for id in dead_brokers:
            context.replicas_on_offline_dirs.pop(id, None)
        were_shutting_down = [id for id in dead_brokers if id in context.shutting_down_broker_ids]
        context.shutting_down_broker_ids -= set(were_shutting_down)
        self.info("Removed %s from list of shutting down brokers.", were_shutting_down)
        self.on_replicas_become_offline(context.replicas_on_brokers(set(dead_brokers)))
        self._unregister_broker_modifications_handler(dead_brokers)

    def on_broker_update(self, updated_broker_id: int) -> None:
        self.info("Broker info update callback for %s", updated_broker_id)
        self.send_update_metadata_request(sorted(self.controller_context.live_or_shutting_down_broker_ids))

    def on_replicas_become_offline(self, new_offline_replicas: Collection[PartitionAndReplica]) -> None:
        """Partitions that lost their leader get a new one; the replicas leave their ISRs; deletions halt."""
        context, deletion = self.controller_context, self.topic_deletion_manager
        for_deletion = {r for r in new_offline_replicas if deletion.is_topic_queued_up_for_deletion(r.topic)}
        others = set(new_offline_replicas) - for_deletion
        without_leader = [
            tp
            for tp, state in context.partition_leadership_info.items()
            if not context.is_replica_online(state.leader_and_isr.leader, tp)
            and not deletion.is_topic_queued_up_for_deletion(tp.topic)
        ]
        self.partition_state_machine.handle_state_changes(without_leader, OfflinePartition)
        self.partition_state_machine.trigger_online_partition_state_change()
        self.replica_state_machine.handle_state_changes(sorted(others), OfflineReplica)
        if for_deletion:
            # Not deletable while their directory is away; left in "deletion started" they would never be retried.
            deletion.fail_replica_deletion(for_deletion)
        if not without_leader:
            # No election was needed, so no request has told the brokers about the offline replicas yet.
            self.send_update_metadata_request(sorted(context.live_or_shutting_down_broker_ids))

    def on_new_partition_creation(self, new_partitions: Collection[TopicPartition]) -> None:
        """NonExistent -> New -> Online for the partitions and for their replicas, in turns."""
        self.info("New partition creation callback for %s", ",".join(map(str, new_partitions)))
        partitions = list(new_partitions)
        self.partition_state_machine.handle_state_changes(partitions, NewPartition)
        replicas = self.controller_context.replicas_for_partition(partitions)
        self.replica_state_machine.handle_state_changes(sorted(replicas), NewReplica)
        self.partition_state_machine.handle_state_changes(
            partitions, OnlinePartition, OfflinePartitionLeaderElectionStrategy
        )
        replicas = self.controller_context.replicas_for_partition(partitions)
        self.replica_state_machine.handle_state_changes(sorted(replicas), OnlineReplica)

    def _on_preferred_replica_election(
        self, partitions: Collection[TopicPartition], is_triggered_by_auto_rebalance: bool = False
    ) -> None:
        named = ",".join(map(str, partitions))
        self.info("Starting preferred replica leader election for partitions %s", named)
        try:
            self.partition_state_machine.handle_state_changes(
                list(partitions), OnlinePartition, PreferredReplicaPartitionLeaderElectionStrategy
            )
        except Exception as e:  # noqa: BLE001 -- the wish is taken off the list whatever came of it
            self.error("Error completing preferred replica leader election for partitions %s", named, exc=e)
        finally:
            self._remove_partitions_from_preferred_replica_election(partitions, is_triggered_by_auto_rebalance)

    def _increment_controller_epoch(self) -> None:
        """Write epoch + 1, but only over the version that was read; ControllerMovedException if another was faster."""
        context = self.controller_context
        moved = "Controller moved to another broker. Aborting controller startup procedure"
        new_epoch = context.epoch + 1
        response = self.zk_client.set_controller_epoch_raw(new_epoch, context.epoch_zk_version)
        if response.result_code == Code.OK:
            context.epoch_zk_version = response.stat.version
            context.epoch = new_epoch
        elif response.result_code == Code.NONODE:
            created = self.zk_client.create_controller_epoch_raw(self.INITIAL_CONTROLLER_EPOCH)
            if created.result_code == Code.OK:
                context.epoch = self.INITIAL_CONTROLLER_EPOCH
                context.epoch_zk_version = self.INITIAL_CONTROLLER_EPOCH_ZK_VERSION
            elif created.result_code == Code.NODEEXISTS:
                raise ControllerMovedException(moved)
            else:
                exception = created.failure
                self.error("Error while incrementing controller epoch", exc=exception)
                raise exception
        else:
            raise ControllerMovedException(moved)
        self.info("Epoch incremented to %s", context.epoch)

    def _initialize_controller_context(self) -> None:
        context, zk = self.controller_context, self.zk_client
        context.set_live_broker_and_epochs(zk.get_all_broker_and_epochs_in_cluster())
        self.info("Initialized broker epochs cache: %s", context.live_broker_id_and_epochs)
        context.all_topics = set(zk.get_all_topics_in_cluster())
        self.register_partition_modifications_handlers(sorted(context.all_topics))
        context.partition_replica_assignment.replace(zk.get_replica_assignment_for_topics(context.all_topics))
        context.partition_leadership_info.clear()
        context.shutting_down_broker_ids = set()
        self._register_broker_modifications_handler(sorted(broker.id for broker in context.live_brokers))
        self._update_leader_and_isr_cache()
        self._start_channel_manager()
        self.reassignment.initialize_partition_reassignment()
        self.info("Currently active brokers in the cluster: %s", context.live_broker_ids)
        self.info("Currently shutting brokers in the cluster: %s", context.shutting_down_broker_ids)
        self.info("Current list of topics in the cluster: %s", context.all_topics)

    def _fetch_pending_preferred_replica_elections(self) -> set[TopicPartition]:
        """The wishes under /admin/preferred_replica_election that are neither fulfilled nor pointless."""
        context = self.controller_context
        wanted = set(self.zk_client.get_preferred_replica_election())
        completed = set()
        for tp in wanted:
            replicas = context.partition_replica_assignment.get(tp)
            state = context.partition_leadership_info.get(tp)
            if replicas is None or (state is not None and state.leader_and_isr.leader in replicas[:1]):
                completed.add(tp)
        left = wanted - completed
        skipped = {tp for tp in left if self.topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic)}
        pending = left - skipped
        self.info("Partitions undergoing preferred replica election: %s", ",".join(map(str, wanted)))
        self.info("Partitions that completed preferred replica election: %s", ",".join(map(str, completed)))
        self.info(
            "Skipping preferred replica election for partitions due to topic deletion: %s", ",".join(map(str, skipped))
        )
        self.info("Resuming preferred replica election for partitions: %s", ",".join(map(str, pending)))
        return pending

    def _reset_controller_context(self) -> None:
        context = self.controller_context
        if context.controller_channel_manager is not None:
            context.controller_channel_manager.shutdown()
            context.controller_channel_manager = None
        context.shutting_down_broker_ids.clear()
        context.epoch = 0
        context.epoch_zk_version = 0
        context.all_topics = set()
        context.partition_replica_assignment.clear()
        context.partition_leadership_info.clear()
        context.partitions_being_reassigned.clear()
        context.set_live_broker_and_epochs({})

    def _fetch_topic_deletions_in_progress(self) -> tuple[set[str], set[str]]:
        """(topics to be deleted, topics that cannot be now: a replica is offline or a reassignment runs)."""
        context = self.controller_context
        to_be_deleted = set(self.zk_client.get_topic_deletions())
        with_offline_replicas = {
            tp.topic
            for tp, replicas in context.partition_replica_assignment.items()
            if any(not context.is_replica_online(id, tp) for id in replicas)
        }
        ineligible = with_offline_replicas | {tp.topic for tp in context.partitions_being_reassigned}
        self.info("List of topics to be deleted: %s", ",".join(sorted(to_be_deleted)))
        self.info("List of topics ineligible for deletion: %s", ",".join(sorted(ineligible)))
        return to_be_deleted, ineligible

    def _start_channel_manager(self) -> None:
        manager = ControllerChannelManager(
            self.controller_context,
            self.config,
            self._time,
            self._metrics,
            self.state_change_logger,
            self._thread_name_prefix,
        )
        self.controller_context.controller_channel_manager = manager
        manager.startup()

    def _update_leader_and_isr_cache(self, partitions: Collection[TopicPartition] | None = None) -> None:
        context = self.controller_context
        wanted = list(context.partition_replica_assignment if partitions is None else partitions)
        context.partition_leadership_info.update(self.zk_client.get_topic_partition_states(wanted))

    def register_partition_modifications_handlers(self, topics: Collection[str]) -> None:
        for topic in topics:
            handler = PartitionModificationsHandler(self, self.event_manager, topic)
            self.partition_modifications_handlers[topic] = handler
        for handler in self.partition_modifications_handlers.values():
            self.zk_client.register_znode_change_handler(handler)

    def unregister_partition_modifications_handlers(self, topics: Collection[str]) -> None:
        for topic in topics:
            handler = self.partition_modifications_handlers.pop(topic, None)
            if handler is not None:
                self.zk_client.unregister_znode_change_handler(handler.path)

    def _read_controller_epoch_from_zoo_keeper(self) -> None:
        found = self.zk_client.get_controller_epoch()
        if found is not None:
            epoch, stat = found
            self.controller_context.epoch = epoch
            self.controller_context.epoch_zk_version = stat.version
            self.info("Initialized controller epoch to %s and zk version %s", epoch, stat.version)

    def _remove_partitions_from_preferred_replica_election(
        self, partitions_to_be_removed: Collection[TopicPartition], is_triggered_by_auto_rebalance: bool
    ) -> None:
        context = self.controller_context
        for tp in partitions_to_be_removed:
            state = context.partition_leadership_info.get(tp)
            leader = None if state is None else state.leader_and_isr.leader
            preferred = context.partition_replica_assignment[tp][0]
            if leader == preferred:
                self.info("Partition %s completed preferred replica leader election. New leader is %s", tp, preferred)
            else:
                self.warn("Partition %s failed to complete preferred replica leader election. Leader is %s", tp, leader)
        if not is_triggered_by_auto_rebalance:
            self.zk_client.delete_preferred_replica_election()
            # The watch was used up: this event sets it anew, so that the next wish is seen.
            self.event_manager.put(self.PreferredReplicaLeaderElection(self))

    def send_request(
        self,
        broker_id: int,
        api_key: ApiKeys,
        request: AbstractRequest.Builder,
        callback: Callable[[AbstractResponse], None] | None = None,
    ) -> None:
        manager = self.controller_context.controller_channel_manager
        if manager is None:
            raise IllegalStateException("The channel manager is not running: this broker is not the controller")
        manager.send_request(broker_id, api_key, request, callback)

    def send_update_metadata_request(
        self, brokers: Collection[int], partitions: Collection[TopicPartition] = ()
    ) -> None:
        """Tell these brokers who is alive and who leads the partitions (none given: all of them)."""
        try:
            self.broker_request_batch.new_batch()
            self.broker_request_batch.add_update_metadata_request_for_brokers(list(brokers), partitions)
            self.broker_request_batch.send_requests_to_brokers(self.epoch)
        except IllegalStateException as e:
            self.handle_illegal_state(e)

    def _check_and_trigger_auto_leader_rebalance(self) -> None:
        """For every broker: if too many of the partitions it should lead are led elsewhere, elect it for those."""
        self.trace("Checking need to trigger auto leader balancing")
        context = self.controller_context
        by_preferred: dict[int, list[TopicPartition]] = {}
        for tp, replicas in context.partition_replica_assignment.items():
            if not self.topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic):
                by_preferred.setdefault(replicas[0], []).append(tp)
        self.debug("Preferred replicas by broker %s", by_preferred)
        for broker_id, partitions in by_preferred.items():
            elsewhere = [
                tp
                for tp in partitions
                if (state := context.partition_leadership_info.get(tp)) and state.leader_and_isr.leader != broker_id
            ]
            self.debug("Topics not in preferred replica for broker %s %s", broker_id, elsewhere)
            ratio = len(elsewhere) / len(partitions)
            self.trace("Leader imbalance ratio for broker %s is %s", broker_id, ratio)
            if ratio > self.config.leader_imbalance_per_broker_percentage / 100:
                for tp in elsewhere:
                    if (
                        context.is_replica_online(broker_id, tp)
                        and not context.partitions_being_reassigned
                        and not self.topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic)
                        and tp.topic in context.all_topics
                    ):
                        self._on_preferred_replica_election({tp}, is_triggered_by_auto_rebalance=True)

    def handle_illegal_state(self, e: IllegalStateException) -> None:
        """A batch that cannot be sent means that brokers and controller disagree: resign, and always raise ``e``."""
        self.error("Forcing the controller to resign")
        self.broker_request_batch.clear()
        self._trigger_controller_move()
        raise e

    def _trigger_controller_move(self) -> None:
        self._on_controller_resignation()
        self.active_controller_id = -1
        self.zk_client.delete_controller()

    def elect(self) -> None:
        """Become controller unless there is one: whoever creates the ephemeral /controller first has won."""
        timestamp = self._time.milliseconds()
        self.active_controller_id = self._controller_in_zk()
        # Start-up and the deletion of /controller both lead here; by now this very broker may have been elected.
        if self.active_controller_id != -1:
            self.debug(
                "Broker %s has been elected as the controller, so stopping the election process.",
                self.active_controller_id,
            )
            return
        try:
            self.zk_client.checked_ephemeral_create(
                ControllerZNode.path, ControllerZNode.encode(self.config.broker_id, timestamp)
            )
            self.info("%s successfully elected as the controller", self.config.broker_id)
            self.active_controller_id = self.config.broker_id
            self._on_controller_failover()
        except NodeExistsException:
            self.active_controller_id = self._controller_in_zk()
            if self.active_controller_id != -1:
                self.debug(
                    "Broker %s was elected as controller instead of broker %s",
                    self.active_controller_id,
                    self.config.broker_id,
                )
            else:
                self.warn(
                    "A controller has been elected but just resigned, this will result in another round of election"
                )
        except Exception as e:  # noqa: BLE001 -- whatever it was: somebody else shall try
            self.error("Error while electing or becoming controller on broker %s", self.config.broker_id, exc=e)
            self._trigger_controller_move()

    def _controller_in_zk(self) -> int:
        id = self.zk_client.get_controller_id()
        return -1 if id is None else id

    def resign_if_no_longer_active(self, was_active_before_change: bool) -> None:
        if was_active_before_change and not self.is_active:
            self._on_controller_resignation()

    def watch_for_partition_reassignment(self) -> None:
        """Queue the event that sets the watch on /admin/reassign_partitions anew, and reads it if it is there."""
        self.event_manager.put(self.PartitionReassignment(self))

    def _update_metrics(self) -> None:
        """After each event, on the event thread: count once here what the gauges show any time.

        Only the partitions that the event has changed are looked at, and all of them when a broker has come or gone: to
        look at all after each event would make every topic dearer than the one before (KAFKA-6753).
        """
        context, changed = self.controller_context, self.controller_context.changed_partitions
        if not self.is_active:
            self._offline_partitions.clear()
            self._imbalanced_partitions.clear()
            self._counted_with_brokers = frozenset()
            changed.clear()
            self._offline_partition_count = self._preferred_replica_imbalance_count = 0
            self._global_topic_count = self._global_partition_count = 0
            return
        live = frozenset(context.live_or_shutting_down_broker_ids)
        if live != self._counted_with_brokers:
            self._counted_with_brokers = live
            changed.update(context.partition_leadership_info, context.partition_replica_assignment)
        for tp in changed:
            self._classify(tp)
        changed.clear()
        self._offline_partition_count = len(self._offline_partitions)
        self._preferred_replica_imbalance_count = len(self._imbalanced_partitions)
        self._global_topic_count = len(context.all_topics)
        self._global_partition_count = len(context.partition_leadership_info)

    def _classify(self, tp: TopicPartition) -> None:
        """Note whether the partition has a live leader, and the one it should have."""
        self._offline_partitions.discard(tp)
        self._imbalanced_partitions.discard(tp)
        context = self.controller_context
        state = context.partition_leadership_info.get(tp)
        if state is None or self.topic_deletion_manager.is_topic_queued_up_for_deletion(tp.topic):
            return
        leader = state.leader_and_isr.leader
        if leader not in self._counted_with_brokers:
            self._offline_partitions.add(tp)
        replicas = context.partition_replica_assignment.get(tp)
        if replicas and leader != replicas[0]:
            self._imbalanced_partitions.add(tp)

    def _register_metrics(self) -> None:
        self.new_gauge("ActiveControllerCount", lambda: 1 if self.is_active else 0)
        self.new_gauge("OfflinePartitionsCount", lambda: self._offline_partition_count)
        self.new_gauge("PreferredReplicaImbalanceCount", lambda: self._preferred_replica_imbalance_count)
        self.new_gauge("ControllerState", lambda: self._state.value)
        self.new_gauge("GlobalTopicCount", lambda: self._global_topic_count)
        self.new_gauge("GlobalPartitionCount", lambda: self._global_partition_count)
