"""What the group coordinator does about offsets: commits, look-ups, and what is deleted with them.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupCoordinator.scala @ 1.1.1 (2.5.1: KIP-447, KIP-496;
         3.7.1: transactions are verified)
Read next: group_metadata_manager.py (store_offsets, get_offsets, cleanup_group_metadata)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException, UnsupportedForMessageFormatException
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
from kafka_py.coordinator.group.group_results import UNKNOWN_MEMBER_ID
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafka_py.common.metrics.sensor import Sensor
    from kafka_py.common.offset_and_metadata import OffsetAndMetadata
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.group.group_metadata_manager import GroupMetadataManager, PartitionData
    from kafka_py.log.verification_guard import VerificationGuard

    CommitCallback = Callable[[dict[TopicPartition, Errors]], object]


class GroupOffsets(Logging):
    """The half of the GroupCoordinator that deals with offsets, on which the names of 1.1.1 are found.

    Ours in its form: Kafka keeps it in the one class of 1,400 lines.

    Thread: request handlers.
    Locks: the group's, while a commit is looked at and appended; none while offsets are looked up or deleted.
    Differs: a commit renews its member's session when it is appended and answered, in Kafka before; all under one lock.
    """

    logger_name = "kafka.coordinator.group.GroupCoordinator"

    def __init__(
        self, coordinator: GroupCoordinator, group_manager: GroupMetadataManager, time: Time, deletion_sensor: Sensor
    ) -> None:
        self._coordinator = coordinator
        self._group_manager = group_manager
        self._time = time
        self._offset_deletion_sensor = deletion_sensor
        self.log_ident = coordinator.log_ident

    # -- Commits

    def handle_txn_commit_offsets(
        self,
        group_id: str,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        offset_metadata: Mapping[TopicPartition, OffsetAndMetadata],
        response_callback: CommitCallback,
    ) -> None:
        """Keep offsets that count once the producer's transaction is committed; the group is made if need be.

        Before the first ones of a transaction its coordinator is asked, if that is configured (KIP-890).
        """
        error = self._coordinator.validate_group_status(group_id, ApiKeys.TXN_OFFSET_COMMIT)
        if error is not None:
            response_callback(dict.fromkeys(offset_metadata, error))
            return
        group = self._get_or_add(group_id)

        def verified(error: Errors, guard: VerificationGuard | None) -> None:
            """Runs here, or on the handler that takes the coordinator's answer."""
            if error is not Errors.NONE:
                response_callback(dict.fromkeys(offset_metadata, error))
                return
            with group.lock:
                found = self._txn_commit_error(group, member_id, group_instance_id, generation_id)
                if found is not None:
                    response_callback(dict.fromkeys(offset_metadata, found))
                    return
                try:
                    self._group_manager.store_offsets(
                        group, member_id, offset_metadata, response_callback, producer_id, producer_epoch, guard
                    )
                except UnsupportedForMessageFormatException as e:
                    # nobody else would answer for it here
                    response_callback(dict.fromkeys(offset_metadata, Errors.for_exception(e)))

        self._group_manager.verify_transaction(group, transactional_id, producer_id, producer_epoch, verified)

    @staticmethod
    def _txn_commit_error(
        group: GroupMetadata, member_id: str, group_instance_id: str | None, generation_id: int
    ) -> Errors | None:
        """Before KIP-447 a transactional commit names no member and no generation: then neither is looked at."""
        if group.is_(Dead):
            return Errors.COORDINATOR_NOT_AVAILABLE
        if group.is_static_member_fenced(member_id, group_instance_id, "txn-commit-offsets"):
            return Errors.FENCED_INSTANCE_ID
        if member_id != UNKNOWN_MEMBER_ID and not group.has(member_id):
            return Errors.UNKNOWN_MEMBER_ID
        if generation_id >= 0 and generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        return None

    def handle_commit_offsets(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        offset_metadata: Mapping[TopicPartition, OffsetAndMetadata],
        response_callback: CommitCallback,
    ) -> None:
        """Keep offsets, answered per partition once they are in the log of `offsets.commit.required.acks` replicas.

        A generation below 0 comes from a consumer that has no group: it may commit while the group has no members.
        """
        error = self._coordinator.validate_group_status(group_id, ApiKeys.OFFSET_COMMIT)
        if error is not None:
            response_callback(dict.fromkeys(offset_metadata, error))
            return
        group = self._group_manager.get_group(group_id)
        if group is None:
            if generation_id >= 0:
                # of a group that is gone from here, or never was
                response_callback(dict.fromkeys(offset_metadata, Errors.ILLEGAL_GENERATION))
                return
            group = self._get_or_add(group_id)
        self._do_commit_offsets(group, member_id, group_instance_id, generation_id, offset_metadata, response_callback)

    def _get_or_add(self, group_id: str) -> GroupMetadata:
        manager = self._group_manager
        group = manager.get_group(group_id)
        return manager.add_group(GroupMetadata(group_id, Empty, self._time)) if group is None else group

    def _do_commit_offsets(
        self,
        group: GroupMetadata,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        offset_metadata: Mapping[TopicPartition, OffsetAndMetadata],
        response_callback: CommitCallback,
    ) -> None:
        with group.lock:
            error = self._commit_error(group, member_id, group_instance_id, generation_id)
            if error is not None:
                response_callback(dict.fromkeys(offset_metadata, error))
                return
            self._group_manager.store_offsets(group, member_id, offset_metadata, response_callback)
            if group.has(member_id):
                # a commit is a sign of life; its answer need not wait for what that takes
                self._coordinator.complete_and_schedule_next_heartbeat_expiration(group, group.get(member_id))

    @staticmethod
    def _commit_error(
        group: GroupMetadata, member_id: str, group_instance_id: str | None, generation_id: int
    ) -> Errors | None:
        if group.is_(Dead):
            return Errors.COORDINATOR_NOT_AVAILABLE
        if group.is_static_member_fenced(member_id, group_instance_id, "commit-offsets"):
            return Errors.FENCED_INSTANCE_ID
        if generation_id < 0 and group.is_(Empty):
            return None  # the group only keeps its offsets here
        if not group.has(member_id):
            return Errors.UNKNOWN_MEMBER_ID
        if generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        if group.is_(CompletingRebalance):
            # the member has had the answer to its JoinGroup, so it knows what the word means
            return Errors.REBALANCE_IN_PROGRESS
        if group.is_(Stable) or group.is_(PreparingRebalance):
            # members learn of a rebalance by their heartbeat; until then what they have read counts
            return None
        raise IllegalStateException(f"Logic error: unexpected group state {group.current_state}")

    # -- Look-ups

    def handle_fetch_offsets(
        self, group_id: str, require_stable: bool, partitions: Collection[TopicPartition] | None = None
    ) -> tuple[Errors, dict[TopicPartition, PartitionData]]:
        """The offsets of these partitions, None: of all. `require_stable`: an error where a transaction is open."""
        error = self._coordinator.validate_group_status(group_id, ApiKeys.OFFSET_FETCH)
        if error is not None:
            return error, {}
        # whatever state the group is in: it may only keep its offsets here
        return Errors.NONE, self._group_manager.get_offsets(group_id, require_stable, partitions)

    # -- Deletions

    def handle_delete_groups(self, group_ids: Collection[str]) -> dict[str, Errors]:
        """Delete groups that have no members, with all their offsets; what became of each."""
        group_errors: dict[str, Errors] = {}
        eligible: list[GroupMetadata] = []
        for group_id in group_ids:
            error = self._coordinator.validate_group_status(group_id, ApiKeys.DELETE_GROUPS)
            group = self._group_manager.get_group(group_id) if error is None else None
            if error is not None:
                group_errors[group_id] = error
            elif group is None:
                group_errors[group_id] = self._gone(group_id)
            elif self._die(group):
                eligible.append(group)
            else:
                group_errors[group_id] = self._gone(group_id) if group.is_(Dead) else Errors.NON_EMPTY_GROUP
        if eligible:
            removed = self._group_manager.cleanup_group_metadata(eligible, lambda group: group.remove_all_offsets())
            deleted = [group.group_id for group in eligible]
            group_errors |= dict.fromkeys(deleted, Errors.NONE)
            self.info(
                "The following groups were deleted: %s. A total of %s offsets were removed.",
                ", ".join(deleted),
                removed,
            )
        return group_errors

    @staticmethod
    def _die(group: GroupMetadata) -> bool:
        """Whether the group had no members, and is dead from now on."""
        with group.lock:
            if group.is_(Empty):
                group.transition_to(Dead)
                return True
            return False

    def _gone(self, group_id: str) -> Errors:
        """Deleted, or moved to another coordinator.

        Caller holds no group's lock: whoever unloads a partition has the manager's and waits for that of the group.
        """
        return Errors.GROUP_ID_NOT_FOUND if self._group_manager.group_not_exists(group_id) else Errors.NOT_COORDINATOR

    def handle_delete_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> tuple[Errors, dict[TopicPartition, Errors]]:
        """Delete a group's offsets of topics that none of its members reads; the group's error, and each partition's.

        Without an error of the group there is one for each partition, with one there are none.
        """
        error = self._coordinator.validate_group_status(group_id, ApiKeys.OFFSET_DELETE)
        if error is not None:
            return error, {}
        group = self._group_manager.get_group(group_id)
        if group is None:
            return self._gone(group_id), {}
        with group.lock:
            is_dead, has_members = group.is_(Dead), not group.is_(Empty)
            knows_topics = group.is_consumer_group
            consumed = {tp for tp in partitions if has_members and group.is_subscribed_to_topic(tp.topic)}
        if is_dead:
            return self._gone(group_id), {}
        if has_members and not knows_topics:
            return Errors.NON_EMPTY_GROUP, {}
        eligible = [tp for tp in partitions if tp not in consumed]
        partition_errors = {
            tp: Errors.GROUP_SUBSCRIBED_TO_TOPIC if tp in consumed else Errors.NONE for tp in partitions
        }
        if eligible:
            removed = self._group_manager.cleanup_group_metadata([group], lambda group: group.remove_offsets(eligible))
            self._offset_deletion_sensor.record(removed)
            self.info(
                "The following offsets of the group %s were deleted: %s. A total of %s offsets were removed.",
                group_id,
                ", ".join(map(str, eligible)),
                removed,
            )
        return Errors.NONE, partition_errors

    def handle_deleted_partitions(self, topic_partitions: Collection[TopicPartition]) -> None:
        """Forget what groups have committed for partitions that are gone."""
        manager = self._group_manager
        removed = manager.cleanup_group_metadata(
            manager.current_groups, lambda group: group.remove_offsets(topic_partitions)
        )
        self.info(
            "Removed %s offsets associated with deleted partitions: %s.", removed, ", ".join(map(str, topic_partitions))
        )
