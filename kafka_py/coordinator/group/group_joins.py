"""Who joins a group, and what that begins.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupCoordinator.scala @ 1.1.1 (2.5.1: static members, members that
         must come back with their id)
Read next: group_coordinator.py (prepare_rebalance, on_complete_join)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.coordinator.group.group_metadata import (
    CompletingRebalance,
    Dead,
    Empty,
    GroupMetadata,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.group_results import UNKNOWN_MEMBER_ID, JoinGroupResult, JoiningMember
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.server.delayed_operation_key import GroupKey
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.group.group_metadata_manager import GroupMetadataManager
    from kafka_py.coordinator.group.group_results import JoinCallback


class GroupJoins(Logging):
    """The part of the GroupCoordinator that answers JoinGroup.

    Ours in its form: in Kafka it is in the one class.

    Thread: request handlers.
    Locks: the group's, from the first look at it to the answer.
    Differs: a group that has group.max.size members lets nobody else in who was given an id before it was full
        (KAFKA-9885), and lets a static member in that takes the place of its former self. The new id of a static
        member is in the log before the member hears of it (KAFKA-10284). Who joins again may have new timeouts
        (KAFKA-14009).
    """

    logger_name = "kafka.coordinator.group.GroupCoordinator"

    def __init__(self, coordinator: GroupCoordinator, group_manager: GroupMetadataManager, time: Time) -> None:
        self._coordinator = coordinator
        self._group_manager = group_manager
        self._group_config = coordinator.group_config
        self._join_purgatory = coordinator.join_purgatory
        self._time = time
        self.log_ident = coordinator.log_ident

    def handle_join_group(
        self, group_id: str, joining: JoiningMember, require_known_member_id: bool, response_callback: JoinCallback
    ) -> None:
        """Let a member join; its group is made if need be."""
        found = self._group_to_join(group_id, joining)
        if isinstance(found, Errors):
            response_callback(JoinGroupResult.failed(joining.member_id, found))
            return
        with found.lock:
            if not self._accept_joining_member(found, joining):
                self._turn_away(found, joining.member_id)
                response_callback(JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.GROUP_MAX_SIZE_REACHED))
            elif joining.member_id == UNKNOWN_MEMBER_ID:
                self._do_unknown_join_group(found, joining, require_known_member_id, response_callback)
            else:
                self._do_join_group(found, joining, response_callback)
            # somebody may have gone, or this was the last one that was missing
            if found.is_(PreparingRebalance):
                self._join_purgatory.check_and_complete(GroupKey(group_id))

    def _group_to_join(self, group_id: str, joining: JoiningMember) -> GroupMetadata | Errors:
        error = self._coordinator.validate_group_status(group_id, ApiKeys.JOIN_GROUP)
        if error is not None:
            return error
        config = self._group_config
        if not config.group_min_session_timeout_ms <= joining.session_timeout_ms <= config.group_max_session_timeout_ms:
            return Errors.INVALID_SESSION_TIMEOUT
        group = self._group_manager.get_group(group_id)
        if group is not None:
            return group
        if joining.member_id != UNKNOWN_MEMBER_ID:
            # its group is gone, with all ids that were given out
            return Errors.UNKNOWN_MEMBER_ID
        return self._group_manager.add_group(GroupMetadata(group_id, Empty, self._time))

    def _accept_joining_member(self, group: GroupMetadata, joining: JoiningMember) -> bool:
        """Whether the member is one already, or there is room for one more.

        While a rebalance is prepared only those count that have joined: so a group that is too large, because the
        limit is lower since a restart, loses those that come last.
        """
        if group.is_(Empty) or group.is_(Dead):
            return True
        member_id = joining.member_id
        if member_id == UNKNOWN_MEMBER_ID and group.has_static_member(joining.group_instance_id):
            member_id = group.get_static_member_id(joining.group_instance_id)
        if not group.is_(PreparingRebalance):
            return group.has(member_id) or group.size < self._group_config.group_max_size
        if group.has(member_id) and group.get(member_id).is_awaiting_join:
            return True
        return group.num_awaiting < self._group_config.group_max_size

    def _turn_away(self, group: GroupMetadata, member_id: str) -> None:
        """Forget who is refused for want of room, so that the rebalance does not wait for it. Caller holds the lock."""
        if group.has(member_id):
            group.remove_static_member(group.get(member_id).group_instance_id)
            group.remove(member_id)
        group.remove_pending_member(member_id)

    def _do_unknown_join_group(
        self,
        group: GroupMetadata,
        joining: JoiningMember,
        require_known_member_id: bool,
        response_callback: JoinCallback,
    ) -> None:
        """A member without an id. Caller holds the group's lock."""
        if group.is_(Dead):
            # deleted a moment ago, or moved: the member shall look for its coordinator again
            response_callback(JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.COORDINATOR_NOT_AVAILABLE))
            return
        if not self._supports_protocols(group, joining):
            response_callback(JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.INCONSISTENT_GROUP_PROTOCOL))
            return
        instance_id = joining.group_instance_id
        new_member_id = group.generate_member_id(joining.client_id, instance_id)
        if group.has_static_member(instance_id):
            self._update_static_member_and_rebalance(group, new_member_id, joining, response_callback)
        elif require_known_member_id:
            self.debug(
                "Dynamic member with unknown member id joins group %s in %s state. Created a new member id %s and "
                "request the member to rejoin with this id.",
                group.group_id,
                group.current_state,
                new_member_id,
            )
            group.add_pending_member(new_member_id)
            self._coordinator.add_pending_member_expiration(group, new_member_id, joining.session_timeout_ms)
            response_callback(JoinGroupResult.failed(new_member_id, Errors.MEMBER_ID_REQUIRED))
        else:
            self.info(
                "%s Member with unknown member id joins group %s in %s state. Created a new member id %s for this "
                "member and add to the group.",
                "Dynamic" if instance_id is None else "Static",
                group.group_id,
                group.current_state,
                new_member_id,
            )
            self._add_member_and_rebalance(group, joining._replace(member_id=new_member_id), response_callback)

    @staticmethod
    def _supports_protocols(group: GroupMetadata, joining: JoiningMember) -> bool:
        return group.supports_protocols(joining.protocol_type, MemberMetadata.plain_protocol_set(joining.protocols))

    def _do_join_group(self, group: GroupMetadata, joining: JoiningMember, response_callback: JoinCallback) -> None:
        """A member with an id. Caller holds the group's lock."""
        member_id, instance_id = joining.member_id, joining.group_instance_id
        if group.is_(Dead):
            error = Errors.COORDINATOR_NOT_AVAILABLE
        elif not self._supports_protocols(group, joining):
            error = Errors.INCONSISTENT_GROUP_PROTOCOL
        elif group.is_pending_member(member_id):
            self._join_pending_member(group, joining, response_callback)
            return
        elif group.is_static_member_fenced(member_id, instance_id, "join-group"):
            error = Errors.FENCED_INSTANCE_ID
        elif not group.has(member_id) or (instance_id is not None and not group.has_static_member(instance_id)):
            # it may come again without an id
            error = Errors.UNKNOWN_MEMBER_ID
        else:
            self._rejoin(group, group.get(member_id), joining, response_callback)
            return
        response_callback(JoinGroupResult.failed(member_id, error))

    def _join_pending_member(
        self, group: GroupMetadata, joining: JoiningMember, response_callback: JoinCallback
    ) -> None:
        if joining.group_instance_id is not None:
            raise IllegalStateException(
                f"the static member {joining.group_instance_id} was not expected to be assigned into pending member "
                f"bucket with member id {joining.member_id}"
            )
        self.debug(
            "Dynamic Member with specific member id %s joins group %s in %s state. Adding to the group now.",
            joining.member_id,
            group.group_id,
            group.current_state,
        )
        self._add_member_and_rebalance(group, joining, response_callback)

    def _rejoin(
        self,
        group: GroupMetadata,
        member: MemberMetadata,
        joining: JoiningMember,
        response_callback: JoinCallback,
    ) -> None:
        """A member of the group joins again.

        If nothing has changed it may have missed our answer, and gets it once more. What it says anew begins a
        rebalance, and so does a leader in a stable group, which may have seen the topics change.
        """
        member_id = member.member_id
        if group.is_(PreparingRebalance):
            self._update_member_and_rebalance(group, member, joining, response_callback)
        elif group.is_(CompletingRebalance):
            if member.matches(joining.protocols):
                response_callback(join_result(group, member_id))
            else:
                self._update_member_and_rebalance(group, member, joining, response_callback)
        elif group.is_(Stable):
            if group.is_leader(member_id) or not member.matches(joining.protocols):
                self._update_member_and_rebalance(group, member, joining, response_callback)
            else:
                response_callback(join_result(group, member_id))
        else:
            self.warn(
                "Attempt to add rejoining member %s of group %s in unexpected group state %s",
                member_id,
                group.group_id,
                group.current_state,
            )
            response_callback(JoinGroupResult.failed(member_id, Errors.UNKNOWN_MEMBER_ID))

    def _add_member_and_rebalance(self, group: GroupMetadata, joining: JoiningMember, callback: JoinCallback) -> None:
        """A new member, with the id it has been given."""
        member_id, instance_id = joining.member_id, joining.group_instance_id
        member = MemberMetadata(
            member_id,
            group.group_id,
            instance_id,
            joining.client_id,
            joining.client_host,
            joining.rebalance_timeout_ms,
            joining.session_timeout_ms,
            joining.protocol_type,
            joining.protocols,
        )
        member.is_new = True
        if group.is_(PreparingRebalance) and group.generation_id == 0:
            # the first rebalance waits a little longer for those that come after it
            group.new_member_added = True
        group.add(member, callback)
        # Until its JoinGroup is answered a member sends no heartbeats, and that its connection is gone nobody sees, for
        # it is muted meanwhile. Without a limit those that give up and try again would leave a member behind each time
        # (KAFKA-7610).
        join_timeout_ms = self._coordinator.NEW_MEMBER_JOIN_TIMEOUT_MS
        self._coordinator.complete_and_schedule_next_expiration(group, member, join_timeout_ms)
        if instance_id is not None:
            self.info(
                "Adding new static member %s to group %s with member id %s.", instance_id, group.group_id, member_id
            )
            group.add_static_member(instance_id, member_id)
        else:
            group.remove_pending_member(member_id)
        self._coordinator.maybe_prepare_rebalance(
            group, f"Adding new member {member_id} with group instance id {instance_id}"
        )

    def _update_static_member_and_rebalance(
        self, group: GroupMetadata, new_member_id: str, joining: JoiningMember, response_callback: JoinCallback
    ) -> None:
        """A static member was restarted: it takes its place in the group over, under a new id."""
        instance_id = joining.group_instance_id
        old_member_id = group.get_static_member_id(instance_id)
        self.info(
            "Static member %s of group %s with unknown member id rejoins, assigning new member id %s, while old member "
            "id %s will be removed.",
            instance_id,
            group.group_id,
            new_member_id,
            old_member_id,
        )
        current_leader = group.leader_or_null
        member = group.replace_group_instance(old_member_id, new_member_id, instance_id)
        before = joining._replace(
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms,
            protocols=member.supported_protocols,
        )
        # the session of the old id ends by itself: nobody has that id any more
        self._coordinator.complete_and_schedule_next_heartbeat_expiration(group, member)
        self._update_member(group, member, joining, response_callback)
        if group.is_(Stable):
            if group.select_protocol() == group.protocol_name:
                self._store_static_member(group, member, old_member_id, before, current_leader)
            else:
                self._coordinator.maybe_prepare_rebalance(
                    group,
                    f"Group's selectedProtocol will change because static member {new_member_id} with instance id "
                    f"{instance_id} joined with change of protocol",
                )
        elif group.is_(CompletingRebalance):
            # the leader may be assigning to the old id just now
            self._coordinator.prepare_rebalance(
                group, f"Updating metadata for static member {new_member_id} with instance id {instance_id}"
            )
        elif not group.is_(PreparingRebalance):
            raise IllegalStateException(
                f"Group {group.group_id} was not supposed to be in the state {group.current_state} when the unknown "
                f"static member {instance_id} rejoins."
            )

    def _store_static_member(
        self,
        group: GroupMetadata,
        member: MemberMetadata,
        old_member_id: str,
        before: JoiningMember,
        current_leader: str | None,
    ) -> None:
        """Write the group with the member's new id, for a coordinator after us would fence it else; then answer.

        Nobody rebalances: the member gets the assignment of its former self. If the write fails all is as it was.
        """
        self.info("Static member joins during Stable stage will not trigger rebalance.")
        new_member_id, instance_id, generation_id = member.member_id, member.group_instance_id, group.generation_id

        def stored(error: Errors) -> None:
            """Runs on: the handler that appended, or whoever completes the append."""
            with group.lock:
                if group.is_(Dead):
                    failed = JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.NOT_COORDINATOR)
                    group.maybe_invoke_join_callback(member, failed)
                if not group.is_(Stable) or group.generation_id != generation_id or member.member_id != new_member_id:
                    return  # a rebalance has begun and will answer, or the member was replaced or left, and has been
                result = join_result(group, new_member_id)._replace(members=[], leader_id=current_leader)
                if error is not Errors.NONE:
                    self.warn("Failed to persist metadata for group %s: %s", group.group_id, error.message())
                    result = result._replace(member_id=UNKNOWN_MEMBER_ID, error=error)
                # The leader's former id stands in the answer, so that a leader that was restarted does not take itself
                # for the leader: the assignment it would make would not be handed on by a stable group.
                group.maybe_invoke_join_callback(member, result)
                if error is not Errors.NONE:
                    self._update_member(group, member, before, None)
                    group.replace_group_instance(new_member_id, old_member_id, instance_id)
                self._coordinator.complete_and_schedule_next_heartbeat_expiration(group, member)

        assignment = {each.member_id: each.assignment for each in group.all_member_metadata}
        self._group_manager.store_group(group, assignment, stored)

    def _update_member_and_rebalance(
        self, group: GroupMetadata, member: MemberMetadata, joining: JoiningMember, callback: JoinCallback
    ) -> None:
        self._update_member(group, member, joining, callback)
        self._coordinator.maybe_prepare_rebalance(group, f"Updating metadata for member {member.member_id}")

    @staticmethod
    def _update_member(
        group: GroupMetadata, member: MemberMetadata, joining: JoiningMember, callback: JoinCallback | None
    ) -> None:
        """What it says now counts: protocols, and timeouts that its new configuration may have (KAFKA-14009)."""
        group.update_member(member, joining.protocols, callback)
        member.rebalance_timeout_ms = joining.rebalance_timeout_ms
        member.session_timeout_ms = joining.session_timeout_ms


def join_result(group: GroupMetadata, member_id: str) -> JoinGroupResult:
    """The current generation, as the member is to see it: only the leader is told who the others are."""
    return JoinGroupResult(
        group.current_member_metadata if group.is_leader(member_id) else [],
        member_id,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader_or_null,
        Errors.NONE,
    )
