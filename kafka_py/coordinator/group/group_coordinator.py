"""Runs groups: who is a member, who does what, and how far the group has read.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupCoordinator.scala @ 1.1.1 (in 2.5.1's form: static members,
         members that must come back with their id, group.max.size)
Read next: group_metadata.py (the states of a group), group_metadata_manager.py (what of it is in the log),
           delayed_join.py, group_offsets.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.metrics.stats.meter import Meter
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.coordinator.group.delayed_heartbeat import DelayedHeartbeat
from kafka_py.coordinator.group.delayed_join import DelayedJoin, InitialDelayedJoin
from kafka_py.coordinator.group.group_joins import GroupJoins, join_result
from kafka_py.coordinator.group.group_metadata import (
    CompletingRebalance,
    Dead,
    Empty,
    GroupMetadata,
    GroupSummary,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafka_py.coordinator.group.group_offsets import GroupOffsets
from kafka_py.coordinator.group.group_results import (
    NO_GENERATION,
    NO_LEADER,
    NO_PROTOCOL,
    NO_PROTOCOL_TYPE,
    NO_STATE,
    UNKNOWN_MEMBER_ID,
    GroupConfig,
    JoinGroupResult,
    JoiningMember,
    LeaveGroupResult,
    LeaveMemberResponse,
    SyncGroupResult,
)
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.coordinator.group.offset_config import OffsetConfig
from kafka_py.log.log_config import LogConfig
from kafka_py.message.compression_codec import ProducerCompressionCodec
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.server.delayed_operation_key import GroupKey, MemberKey
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.logging import Logging, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_metadata import GroupOverview
    from kafka_py.coordinator.group.group_results import (
        HeartbeatCallback,
        JoinCallback,
        LeaveCallback,
        SyncCallback,
    )
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

_NONE = Errors.NONE
# The APIs that take the empty group id: offsets could once be committed under it.
_EMPTY_GROUP_ID_ALLOWED = frozenset(
    {ApiKeys.OFFSET_COMMIT, ApiKeys.OFFSET_FETCH, ApiKeys.DESCRIBE_GROUPS, ApiKeys.DELETE_GROUPS}
)


class GroupCoordinator(Logging):
    """Coordinates the groups whose names fall on partitions of the offsets topic that this broker leads.

    Every handler looks at the group's state and answers through its callback, at once or, if the member has to wait
    for others, later: JoinGroup when the rebalance is complete, SyncGroup when the leader's assignment is in the log.

    Mirrors: kafka.coordinator.group.GroupCoordinator
    Thread: request handlers; executor-Rebalance and executor-Heartbeat, when time is up; group-metadata-manager-0
        (on_group_loaded, on_group_unloaded).
    Locks: the group's around each look at it and around the answer; before those of the GroupMetadataManager, of
        partitions and of logs. Delayed operations have the lock of their group, so that who completes them has it.
    Differs: what joins is in GroupJoins, what is about offsets in GroupOffsets.
    """

    NO_STATE: ClassVar[str] = NO_STATE
    NO_PROTOCOL_TYPE: ClassVar[str] = NO_PROTOCOL_TYPE
    NO_PROTOCOL: ClassVar[str] = NO_PROTOCOL
    NO_LEADER: ClassVar[str] = NO_LEADER
    NO_GENERATION: ClassVar[int] = NO_GENERATION
    EMPTY_GROUP: ClassVar[GroupSummary] = GroupSummary(NO_STATE, NO_PROTOCOL_TYPE, NO_PROTOCOL, [])
    DEAD_GROUP: ClassVar[GroupSummary] = GroupSummary(str(Dead), NO_PROTOCOL_TYPE, NO_PROTOCOL, [])
    NEW_MEMBER_JOIN_TIMEOUT_MS: ClassVar[int] = 5 * 60 * 1000

    def __init__(
        self,
        broker_id: int,
        group_config: GroupConfig,
        offset_config: OffsetConfig,
        group_manager: GroupMetadataManager,
        heartbeat_purgatory: DelayedOperationPurgatory[DelayedHeartbeat],
        join_purgatory: DelayedOperationPurgatory[DelayedJoin],
        time: Time,
        metrics: Metrics,
    ) -> None:
        self.broker_id = broker_id
        self.group_config = group_config
        self.offset_config = offset_config
        self.group_manager = group_manager
        self.heartbeat_purgatory = heartbeat_purgatory
        self.join_purgatory = join_purgatory
        self._time = time
        self.log_ident = f"[GroupCoordinator {broker_id}]: "
        self._is_active = AtomicBoolean(False)  # atomic
        self.offset_deletion_sensor = _meter(
            metrics, "OffsetDeletions", "offset-deletion", "administrative deleted offsets"
        )
        self.group_completed_rebalance_sensor = _meter(
            metrics, "CompletedRebalances", "group-completed-rebalance", "completed rebalance"
        )
        self._joins = GroupJoins(self, group_manager, time)
        # All about offsets, and the deletion of groups, is done there; the names are found here as in Kafka.
        offsets = GroupOffsets(self, group_manager, time, self.offset_deletion_sensor)
        self.handle_commit_offsets = offsets.handle_commit_offsets
        self.handle_txn_commit_offsets = offsets.handle_txn_commit_offsets
        self.handle_fetch_offsets = offsets.handle_fetch_offsets
        self.handle_delete_groups = offsets.handle_delete_groups
        self.handle_delete_offsets = offsets.handle_delete_offsets
        self.handle_deleted_partitions = offsets.handle_deleted_partitions

    @classmethod
    def apply(
        cls,
        config: KafkaConfig,
        zk_client: KafkaZkClient,
        replica_manager: ReplicaManager,
        time: Time,
        metrics: Metrics,
        heartbeat_purgatory: DelayedOperationPurgatory[DelayedHeartbeat] | None = None,
        join_purgatory: DelayedOperationPurgatory[DelayedJoin] | None = None,
    ) -> GroupCoordinator:
        """A coordinator as the configuration wants it, with purgatories of its own if none are given."""
        broker_id = config.broker_id
        offset_config = cls._offset_config(config)
        group_config = GroupConfig(
            config.group_min_session_timeout_ms,
            config.group_max_session_timeout_ms,
            config.group_max_size,
            config.group_initial_rebalance_delay,
        )
        group_manager = GroupMetadataManager(
            broker_id, config.inter_broker_protocol_version, offset_config, replica_manager, zk_client, time, metrics
        )
        return cls(
            broker_id,
            group_config,
            offset_config,
            group_manager,
            heartbeat_purgatory or DelayedOperationPurgatory("Heartbeat", broker_id=broker_id, time=time),
            join_purgatory or DelayedOperationPurgatory("Rebalance", broker_id=broker_id, time=time),
            time,
            metrics,
        )

    @staticmethod
    def _offset_config(config: KafkaConfig) -> OffsetConfig:
        return OffsetConfig(
            max_metadata_size=config.offset_metadata_max_size,
            load_buffer_size=config.offsets_load_buffer_size,
            offsets_retention_ms=config.offsets_retention_minutes * 60 * 1000,
            offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
            offsets_topic_num_partitions=config.offsets_topic_partitions,
            offsets_topic_segment_bytes=config.offsets_topic_segment_bytes,
            offsets_topic_replication_factor=config.offsets_topic_replication_factor,
            offsets_topic_compression_codec=config.offsets_topic_compression_codec,
            offset_commit_timeout_ms=config.offset_commit_timeout_ms,
            offset_commit_required_acks=config.offset_commit_required_acks,
        )

    @property
    def offsets_topic_configs(self) -> dict[str, str]:
        """The settings that the offsets topic is created with."""
        return {
            LogConfig.CLEANUP_POLICY_PROP: LogConfig.COMPACT,
            LogConfig.SEGMENT_BYTES_PROP: str(self.offset_config.offsets_topic_segment_bytes),
            LogConfig.COMPRESSION_TYPE_PROP: ProducerCompressionCodec.name,
        }

    def startup(self, enable_metadata_expiration: bool = True) -> None:
        """Answer from now on, and look for offsets to forget from time to time."""
        self.info("Starting up.")
        self.group_manager.startup(enable_metadata_expiration)
        self._is_active.set(True)
        self.info("Startup complete.")

    def shutdown(self) -> None:
        """Answer COORDINATOR_NOT_AVAILABLE from now on; what waits is left as it is."""
        self.info("Shutting down.")
        self._is_active.set(False)
        self.group_manager.shutdown()
        self.heartbeat_purgatory.shutdown()
        self.join_purgatory.shutdown()
        self.info("Shutdown complete.")

    # -- JoinGroup: see GroupJoins

    def handle_join_group(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        require_known_member_id: bool,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: list[tuple[str, bytes]],
        response_callback: JoinCallback,
    ) -> None:
        """Let a member join; answered when the rebalance is complete, or at once with an error.

        `require_known_member_id`: a member without an id is given one (MEMBER_ID_REQUIRED) and has to come back with
        it. Clients of JoinGroup before version 4 do not know that answer.
        """
        joining = JoiningMember(
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout_ms,
            session_timeout_ms,
            protocol_type,
            protocols,
        )
        self._joins.handle_join_group(group_id, joining, require_known_member_id, response_callback)

    # -- SyncGroup

    def handle_sync_group(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        protocol_type: str | None,
        protocol_name: str | None,
        group_instance_id: str | None,
        group_assignment: Mapping[str, bytes],
        response_callback: SyncCallback,
    ) -> None:
        """Give a member its assignment, when the leader has sent all of them (member id -> bytes)."""
        error = self.validate_group_status(group_id, ApiKeys.SYNC_GROUP)
        group = self.group_manager.get_group(group_id) if error is None else None
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance is lost with the coordinator that ran it: the member shall join again. It need not look for
            # the coordinator again, and old clients do not expect the error that we have found.
            response_callback(SyncGroupResult.failed(Errors.REBALANCE_IN_PROGRESS))
        elif group is None:
            response_callback(SyncGroupResult.failed(error or Errors.UNKNOWN_MEMBER_ID))
        else:
            with group.lock:
                error = self._sync_error(group, generation, member_id, protocol_type, protocol_name, group_instance_id)
                if error is not None:
                    response_callback(SyncGroupResult.failed(error))
                else:
                    self._do_sync_group(group, generation, member_id, group_assignment, response_callback)

    @staticmethod
    def _sync_error(
        group: GroupMetadata,
        generation_id: int,
        member_id: str,
        protocol_type: str | None,
        protocol_name: str | None,
        group_instance_id: str | None,
    ) -> Errors | None:
        error = _member_error(group, member_id, group_instance_id, generation_id, "sync-group")
        if error is not None:
            return error
        # clients before version 5 name neither
        if (protocol_type is not None and protocol_type != group.protocol_type) or (
            protocol_name is not None and protocol_name != group.protocol_name
        ):
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if group.is_(Empty):
            return Errors.UNKNOWN_MEMBER_ID
        return Errors.REBALANCE_IN_PROGRESS if group.is_(PreparingRebalance) else None

    def _do_sync_group(
        self,
        group: GroupMetadata,
        generation_id: int,
        member_id: str,
        group_assignment: Mapping[str, bytes],
        response_callback: SyncCallback,
    ) -> None:
        """Answer in a stable group, wait in one that is completing its rebalance. Caller holds the group's lock."""
        member = group.get(member_id)
        if group.is_(Stable):
            response_callback(SyncGroupResult(group.protocol_type, group.protocol_name, member.assignment, _NONE))
            self.complete_and_schedule_next_heartbeat_expiration(group, member)
            return
        member.awaiting_sync_callback = response_callback
        if group.is_leader(member_id):
            self._store_assignment(group, generation_id, member_id, group_assignment)
            self.group_completed_rebalance_sensor.record()

    def _store_assignment(
        self, group: GroupMetadata, generation_id: int, member_id: str, group_assignment: Mapping[str, bytes]
    ) -> None:
        """Write the leader's assignment; the members get theirs once it is in the log."""
        self.info("Assignment received from leader for group %s for generation %s", group.group_id, group.generation_id)
        missing = set(group.all_members) - group_assignment.keys()
        if missing:
            self.warn(
                "Setting empty assignments for members %s of %s for generation %s",
                shown(missing),
                group.group_id,
                group.generation_id,
            )
        assignment = {**group_assignment, **dict.fromkeys(missing, b"")}

        def stored(error: Errors) -> None:
            """Runs on: the handler that appended, or whoever completes the append."""
            with group.lock:
                # somebody may have joined meanwhile, and then this assignment is nobody's
                if not group.is_(CompletingRebalance) or generation_id != group.generation_id:
                    return
                if error is not _NONE:
                    self._reset_and_propagate_assignment_error(group, error)
                    self.maybe_prepare_rebalance(
                        group, f"error when storing group assignment during SyncGroup (member: {member_id})"
                    )
                else:
                    self._set_and_propagate_assignment(group, assignment)
                    group.transition_to(Stable)

        self.group_manager.store_group(group, assignment, stored)

    # -- LeaveGroup

    def handle_leave_group(
        self, group_id: str, leaving_members: Sequence[LeaveGroupRequest.Member], response_callback: LeaveCallback
    ) -> None:
        """Take members out of their group, at once; one answer for each."""
        error = self.validate_group_status(group_id, ApiKeys.LEAVE_GROUP)
        if error is not None:
            response_callback(LeaveGroupResult(error, []))
            return
        group = self.group_manager.get_group(group_id)
        if group is None:
            answers = [_leave_response(leaving, Errors.UNKNOWN_MEMBER_ID) for leaving in leaving_members]
            response_callback(LeaveGroupResult(_NONE, answers))
            return
        with group.lock:
            if group.is_(Dead):
                response_callback(LeaveGroupResult(Errors.COORDINATOR_NOT_AVAILABLE, []))
                return
            answers = [_leave_response(leaving, self._leave(group, leaving)) for leaving in leaving_members]
            response_callback(LeaveGroupResult(_NONE, answers))

    def _leave(self, group: GroupMetadata, leaving: LeaveGroupRequest.Member) -> Errors:
        """Take one member out. An administrator names a static member by its instance id alone."""
        member_id, instance_id = leaving.member_id, leaving.group_instance_id
        if member_id != UNKNOWN_MEMBER_ID and group.is_static_member_fenced(member_id, instance_id, "leave-group"):
            return Errors.FENCED_INSTANCE_ID
        if group.is_pending_member(member_id):
            if instance_id is not None:
                raise IllegalStateException(
                    f"the static member {instance_id} was not expected to be leaving from pending member bucket with "
                    f"member id {member_id}"
                )
            self.info("Pending member %s is leaving group %s.", member_id, group.group_id)
            self._remove_pending_member_and_update_group(group, member_id)
            self.heartbeat_purgatory.check_and_complete(MemberKey(group.group_id, member_id))
            return _NONE
        is_static = group.has_static_member(instance_id)
        if not is_static and not group.has(member_id):
            return Errors.UNKNOWN_MEMBER_ID
        member = group.get(group.get_static_member_id(instance_id) if is_static else member_id)
        self._remove_heartbeat_for_leaving_member(group, member)
        self.info(
            "Member[group.instance.id %s, member.id %s] in group %s has left, removing it from the group",
            member.group_instance_id,
            member.member_id,
            group.group_id,
        )
        self._remove_member_and_update_group(group, member, f"removing member {member_id} on LeaveGroup")
        return _NONE

    # -- Heartbeat

    def handle_heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        response_callback: HeartbeatCallback,
    ) -> None:
        """A member is alive: answered with what it has to know of its group."""
        error = self.validate_group_status(group_id, ApiKeys.HEARTBEAT)
        group = self.group_manager.get_group(group_id) if error is None else None
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            # nothing is known of the group yet, so nothing is held against its members
            error = _NONE
        elif group is None:
            error = error or Errors.UNKNOWN_MEMBER_ID
        else:
            with group.lock:
                error = _member_error(group, member_id, group_instance_id, generation_id, "heartbeat")
                if error is None:
                    error = self._do_heartbeat(group, group.get(member_id))
        # under no lock: of all requests of a group these are the most (KAFKA-13134)
        response_callback(error)

    def _do_heartbeat(self, group: GroupMetadata, member: MemberMetadata) -> Errors:
        """Caller holds the group's lock."""
        if group.is_(Empty):
            return Errors.UNKNOWN_MEMBER_ID
        if group.is_(CompletingRebalance):
            # it has had its generation and should fetch its assignment, not say that it is alive
            return Errors.REBALANCE_IN_PROGRESS
        self.complete_and_schedule_next_heartbeat_expiration(group, member)
        return Errors.REBALANCE_IN_PROGRESS if group.is_(PreparingRebalance) else _NONE

    # -- Transactions

    def schedule_handle_txn_completion(
        self, producer_id: int, offsets_partitions: Iterable[TopicPartition], transaction_result: TransactionResult
    ) -> None:
        """Let the producer's pending offsets count, or drop them, as these partitions of the offsets topic say."""
        partitions = set(offsets_partitions)
        assert all(tp.topic == Topic.GROUP_METADATA_TOPIC_NAME for tp in partitions)
        is_commit = transaction_result is TransactionResult.COMMIT
        self.group_manager.schedule_handle_txn_completion(producer_id, {tp.partition for tp in partitions}, is_commit)

    # -- What administrators ask

    def handle_list_groups(self) -> tuple[Errors, list[GroupOverview]]:
        """All groups here; with COORDINATOR_LOAD_IN_PROGRESS, there may be more."""
        if not self._is_active.get():
            return Errors.COORDINATOR_NOT_AVAILABLE, []
        manager = self.group_manager
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS if manager.is_loading else _NONE
        return error, [group.overview() for group in manager.current_groups]

    def handle_describe_group(self, group_id: str) -> tuple[Errors, GroupSummary]:
        """State, protocol and members of a group; one that is not here counts as dead."""
        error = self.validate_group_status(group_id, ApiKeys.DESCRIBE_GROUPS)
        if error is not None:
            return error, self.EMPTY_GROUP
        group = self.group_manager.get_group(group_id)
        if group is None:
            return _NONE, self.DEAD_GROUP
        with group.lock:
            return _NONE, group.summary()

    def validate_group_status(self, group_id: str, api: ApiKeys) -> Errors | None:
        """Why requests for the group cannot be answered here now; None if they can."""
        if group_id is None or (not group_id and api not in _EMPTY_GROUP_ID_ALLOWED):
            return Errors.INVALID_GROUP_ID
        if not self._is_active.get():
            return Errors.COORDINATOR_NOT_AVAILABLE
        if self._is_coordinator_load_in_progress(group_id):
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        return None if self._is_coordinator_for_group(group_id) else Errors.NOT_COORDINATOR

    # -- Groups that come and go with the leadership of their partition

    def handle_group_immigration(self, offset_topic_partition_id: int) -> None:
        """This broker leads the partition now: load its groups (onElection in 2.5.1)."""
        self.group_manager.schedule_load_group_and_offsets(offset_topic_partition_id, self._on_group_loaded)

    def handle_group_emigration(self, offset_topic_partition_id: int) -> None:
        """This broker does not lead the partition any more: send its groups' members away (onResignation in 2.5.1)."""
        self.group_manager.remove_groups_for_partition(offset_topic_partition_id, self._on_group_unloaded)

    def _on_group_unloaded(self, group: GroupMetadata) -> None:
        with group.lock:
            self.info("Unloading group metadata for %s with generation %s", group.group_id, group.generation_id)
            previous_state = group.current_state
            group.transition_to(Dead)
            if previous_state is PreparingRebalance:
                for member in group.all_member_metadata:
                    failed = JoinGroupResult.failed(member.member_id, Errors.NOT_COORDINATOR)
                    group.maybe_invoke_join_callback(member, failed)
                self.join_purgatory.check_and_complete(GroupKey(group.group_id))
            elif previous_state is Stable or previous_state is CompletingRebalance:
                for member in group.all_member_metadata:
                    group.maybe_invoke_sync_callback(member, SyncGroupResult.failed(Errors.NOT_COORDINATOR))
                    self.heartbeat_purgatory.check_and_complete(MemberKey(group.group_id, member.member_id))

    def _on_group_loaded(self, group: GroupMetadata) -> None:
        with group.lock:
            self.info("Loading group metadata for %s with generation %s", group.group_id, group.generation_id)
            assert group.is_(Stable) or group.is_(Empty)
            if self._group_is_over_capacity(group):
                self.prepare_rebalance(
                    group,
                    f"Freshly-loaded group is over capacity ({self.group_config.group_max_size}). Rebalancing in order "
                    "to give a chance for consumers to commit offsets",
                )
            for member in group.all_member_metadata:
                self.complete_and_schedule_next_heartbeat_expiration(group, member)

    # -- Assignments

    def _set_and_propagate_assignment(self, group: GroupMetadata, assignment: Mapping[str, bytes]) -> None:
        assert group.is_(CompletingRebalance)
        for member in group.all_member_metadata:
            member.assignment = assignment[member.member_id]
        self._propagate_assignment(group, _NONE)

    def _reset_and_propagate_assignment_error(self, group: GroupMetadata, error: Errors) -> None:
        assert group.is_(CompletingRebalance)
        for member in group.all_member_metadata:
            member.assignment = b""
        self._propagate_assignment(group, error)

    def _propagate_assignment(self, group: GroupMetadata, error: Errors) -> None:
        protocol_type, protocol_name = (group.protocol_type, group.protocol_name) if error is _NONE else (None, None)
        for member in group.all_member_metadata:
            if not member.assignment and error is _NONE:
                self.warn(
                    "Sending empty assignment to member %s of %s for generation %s with no errors",
                    member.member_id,
                    group.group_id,
                    group.generation_id,
                )
            result = SyncGroupResult(protocol_type, protocol_name, member.assignment, error)
            if group.maybe_invoke_sync_callback(member, result):
                # Whose session ran out while it waited for this was spared, and nothing watches it any more.
                self.complete_and_schedule_next_heartbeat_expiration(group, member)

    # -- Sessions

    def complete_and_schedule_next_heartbeat_expiration(self, group: GroupMetadata, member: MemberMetadata) -> None:
        """The member has shown that it is alive: its session begins anew. Caller holds the group's lock."""
        self.complete_and_schedule_next_expiration(group, member, member.session_timeout_ms)

    def complete_and_schedule_next_expiration(
        self, group: GroupMetadata, member: MemberMetadata, timeout_ms: int
    ) -> None:
        member_key = MemberKey(group.group_id, member.member_id)
        member.heartbeat_satisfied = True
        self.heartbeat_purgatory.check_and_complete(member_key)
        member.heartbeat_satisfied = False
        delayed_heartbeat = DelayedHeartbeat(self, group, member.member_id, False, timeout_ms)
        self.heartbeat_purgatory.try_complete_else_watch(delayed_heartbeat, [member_key])

    def add_pending_member_expiration(self, group: GroupMetadata, pending_member_id: str, timeout_ms: int) -> None:
        delayed_heartbeat = DelayedHeartbeat(self, group, pending_member_id, True, timeout_ms)
        pending_member_key = MemberKey(group.group_id, pending_member_id)
        self.heartbeat_purgatory.try_complete_else_watch(delayed_heartbeat, [pending_member_key])

    def _remove_heartbeat_for_leaving_member(self, group: GroupMetadata, member: MemberMetadata) -> None:
        member.is_leaving = True
        self.heartbeat_purgatory.check_and_complete(MemberKey(group.group_id, member.member_id))

    def try_complete_heartbeat(
        self, group: GroupMetadata, member_id: str, is_pending: bool, force_complete: Callable[[], bool]
    ) -> bool:
        """Whether nothing has to be waited for any more: a sign of life, the member's or the group's end."""
        with group.lock:
            if group.is_(Dead):
                return force_complete()
            if is_pending:
                return group.has(member_id) and force_complete()
            return self.should_complete_non_pending_heartbeat(group, member_id) and force_complete()

    def should_complete_non_pending_heartbeat(self, group: GroupMetadata, member_id: str) -> bool:
        """Whether a member need not be watched any more. Caller holds the group's lock."""
        if group.has(member_id):
            member = group.get(member_id)
            return member.has_satisfied_heartbeat or member.is_leaving
        self.info("Member id %s was not found in %s during heartbeat completion check", member_id, group.group_id)
        return True

    def on_expire_heartbeat(self, group: GroupMetadata, member_id: str, is_pending: bool) -> None:
        """A session is over: the member goes, and the others rebalance."""
        with group.lock:
            if group.is_(Dead):
                self.info(
                    "Received notification of heartbeat expiration for member %s after group %s had already been "
                    "unloaded or deleted.",
                    member_id,
                    group.group_id,
                )
            elif is_pending:
                self.info(
                    "Pending member %s in group %s has been removed after session timeout expiration.",
                    member_id,
                    group.group_id,
                )
                self._remove_pending_member_and_update_group(group, member_id)
            elif not group.has(member_id):
                self.debug("Member %s has already been removed from the group.", member_id)
            elif not (member := group.get(member_id)).has_satisfied_heartbeat:
                self.info("Member %s in group %s has failed, removing it from the group", member_id, group.group_id)
                self._remove_member_and_update_group(
                    group, member, f"removing member {member_id} on heartbeat expiration"
                )

    def on_complete_heartbeat(self) -> None:
        """A session is not waited for any more; Kafka means to count these."""
        self.trace("A heartbeat has come, or is not waited for any more")

    # -- Members that go

    def _remove_member_and_update_group(self, group: GroupMetadata, member: MemberMetadata, reason: str) -> None:
        # A new member whose time is up still waits for its answer; if it is there, it shall try again without an id.
        gone = JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.UNKNOWN_MEMBER_ID)
        group.maybe_invoke_join_callback(member, gone)
        group.remove(member.member_id)
        group.remove_static_member(member.group_instance_id)
        if group.is_(Stable) or group.is_(CompletingRebalance):
            self.maybe_prepare_rebalance(group, reason)
        elif group.is_(PreparingRebalance):
            self.join_purgatory.check_and_complete(GroupKey(group.group_id))

    def _remove_pending_member_and_update_group(self, group: GroupMetadata, member_id: str) -> None:
        group.remove_pending_member(member_id)
        if group.is_(PreparingRebalance):
            self.join_purgatory.check_and_complete(GroupKey(group.group_id))

    # -- Rebalances

    def maybe_prepare_rebalance(self, group: GroupMetadata, reason: str) -> None:
        with group.lock:
            if group.can_rebalance:
                self.prepare_rebalance(group, reason)

    def prepare_rebalance(self, group: GroupMetadata, reason: str) -> None:
        """Wait until all members have joined. Caller holds the group's lock."""
        if group.is_(CompletingRebalance):
            # those that wait for their assignment have to join again
            self._reset_and_propagate_assignment_error(group, Errors.REBALANCE_IN_PROGRESS)
        if group.is_(Empty):
            delay_ms = self.group_config.group_initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            delayed_rebalance: DelayedJoin = InitialDelayedJoin(
                self, self.join_purgatory, group, delay_ms, delay_ms, remaining_ms
            )
        else:
            delayed_rebalance = DelayedJoin(self, group, group.rebalance_timeout_ms)
        group.transition_to(PreparingRebalance)
        self.info(
            "Preparing to rebalance group %s in state %s with old generation %s (%s-%s) (reason: %s)",
            group.group_id,
            group.current_state,
            group.generation_id,
            Topic.GROUP_METADATA_TOPIC_NAME,
            self.partition_for(group.group_id),
            reason,
        )
        self.join_purgatory.try_complete_else_watch(delayed_rebalance, [GroupKey(group.group_id)])

    def try_complete_join(self, group: GroupMetadata, force_complete: Callable[[], bool]) -> bool:
        """Whether all members have joined and none is expected to come back with its id."""
        with group.lock:
            return group.has_all_members_joined and force_complete()

    def on_expire_join(self) -> None:
        """A rebalance has gone on without those that are missing (on_complete_join); Kafka means to count these."""
        self.debug("The time for members to join was up")

    def on_complete_join(self, group: GroupMetadata) -> None:
        """Begin the next generation with the members that have joined."""
        with group.lock:
            # a static member has until the end of its session to come back
            for failed in [m for m in group.not_yet_rejoined_members if not m.is_static_member]:
                self._remove_heartbeat_for_leaving_member(group, failed)
                group.remove(failed.member_id)
            if group.is_(Dead):
                self.info("Group %s is dead, skipping rebalance stage", group.group_id)
            elif not group.maybe_elect_new_joined_leader() and group.all_members:
                # static members only, none of which has joined: wait until they do, or their sessions are over
                self.error("Group %s could not complete rebalance because no members rejoined", group.group_id)
                again = DelayedJoin(self, group, group.rebalance_timeout_ms)
                self.join_purgatory.try_complete_else_watch(again, [GroupKey(group.group_id)])
            else:
                self._begin_generation(group)

    def _begin_generation(self, group: GroupMetadata) -> None:
        """Caller holds the group's lock."""
        group.init_next_generation()
        partition = self.partition_for(group.group_id)
        text = (group.group_id, group.generation_id, Topic.GROUP_METADATA_TOPIC_NAME, partition)
        if group.is_(Empty):
            self.info("Group %s with generation %s is now empty (%s-%s)", *text)
            self.group_manager.store_group(group, {}, lambda error: self._empty_group_stored(group, error))
            return
        self.info("Stabilized group %s generation %s (%s-%s)", *text)
        for member in group.all_member_metadata:
            group.maybe_invoke_join_callback(member, join_result(group, member.member_id))
            self.complete_and_schedule_next_heartbeat_expiration(group, member)
            member.is_new = False

    def _empty_group_stored(self, group: GroupMetadata, error: Errors) -> None:
        # If it was not, the coordinator after us finds the generation before, whose members will be silent: no harm.
        if error is not _NONE:
            self.warn("Failed to write empty metadata for group %s: %s", group.group_id, error.message())

    def partition_for(self, group: str) -> int:
        """The partition of the offsets topic that keeps the group."""
        return self.group_manager.partition_for(group)

    def _group_is_over_capacity(self, group: GroupMetadata) -> bool:
        return group.size > self.group_config.group_max_size

    def _is_coordinator_for_group(self, group_id: str) -> bool:
        return self.group_manager.is_group_local(group_id)

    def _is_coordinator_load_in_progress(self, group_id: str) -> bool:
        return self.group_manager.is_group_loading(group_id)


def _meter(metrics: Metrics, sensor_name: str, name: str, what: str) -> Sensor:
    """A sensor with a rate and a count in the group of the coordinator's metrics."""
    sensor = metrics.sensor(sensor_name)
    rate = metrics.metric_name(f"{name}-rate", "group-coordinator-metrics", f"The rate of {what}")
    count = metrics.metric_name(f"{name}-count", "group-coordinator-metrics", f"The total number of {what}")
    sensor.add(Meter(rate, count))
    return sensor


def _member_error(
    group: GroupMetadata, member_id: str, group_instance_id: str | None, generation_id: int, operation: str
) -> Errors | None:
    """Why somebody is no member of the group's current generation. Caller holds the group's lock."""
    if group.is_(Dead):
        return Errors.COORDINATOR_NOT_AVAILABLE
    if group.is_static_member_fenced(member_id, group_instance_id, operation):
        return Errors.FENCED_INSTANCE_ID
    if not group.has(member_id):
        return Errors.UNKNOWN_MEMBER_ID
    return None if generation_id == group.generation_id else Errors.ILLEGAL_GENERATION


def _leave_response(leaving: LeaveGroupRequest.Member, error: Errors) -> LeaveMemberResponse:
    return LeaveMemberResponse(leaving.member_id, leaving.group_instance_id, error)
