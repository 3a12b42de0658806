"""What the controller does for who asks by API: elections, and moves of partitions.

Mirrors: the ControllerEvent classes of core/src/main/scala/kafka/controller/KafkaController.scala @ 2.5.1
         (ReplicaLeaderElection, ApiPartitionReassignment, ListPartitionReassignments)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import StateChangeFailedException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.controller.controller_state import ControllerState
from kafka_py.controller.kafka_controller_events import OnController
from kafka_py.controller.partition_leader_election import (
    OfflinePartitionAllowUncleanLeaderElectionStrategy,
    PreferredReplicaPartitionLeaderElectionStrategy,
)
from kafka_py.controller.partition_state_machine import OnlinePartition

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.controller.kafka_controller_reassignment import OngoingReassignment

    # partition -> its leader from now on, or why there was no election
    ElectionResults = Mapping[TopicPartition, ApiError | int]
    ElectLeadersCallback = Callable[[ElectionResults], None]
    AlterReassignmentsCallback = Callable[[Mapping[TopicPartition, ApiError] | ApiError], None]
    ListReassignmentsCallback = Callable[[Mapping[TopicPartition, OngoingReassignment] | ApiError], None]


class ReplicaLeaderElection(OnController):
    """An administrator wants leaders elected: the first replicas, or any that live."""

    state = ControllerState.ManualLeaderBalance

    def __init__(
        self,
        controller: KafkaController,
        partitions: Collection[TopicPartition],
        election_type: ElectionType,
        callback: ElectLeadersCallback,
    ) -> None:
        super().__init__(controller)
        self._partitions = partitions
        self._election_type = election_type
        self._callback = callback

    def process(self) -> None:
        if not self.controller.is_active:
            self.preempt()
            return
        try:
            results = self._elect()
        except Exception as e:  # noqa: BLE001 -- who waits gets the reason
            results = dict.fromkeys(self._partitions, ApiError.from_throwable(e))
        self._callback(results)

    def preempt(self) -> None:
        self._callback(dict.fromkeys(self._partitions, ApiError(Errors.NOT_CONTROLLER)))

    def _elect(self) -> dict[TopicPartition, ApiError | int]:
        controller, kind = self.controller, self._election_type
        deletion = controller.topic_deletion_manager
        results: dict[TopicPartition, ApiError | int] = {}
        electable = []
        for tp in self._partitions:
            if tp not in controller.controller_context.partition_replica_assignment:
                controller.info(
                    "Skipping replica leader election (%s) for partition %s by AdminClientTriggered since it doesn't "
                    "exist.",
                    kind,
                    tp,
                )
                results[tp] = ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
            elif deletion.is_topic_queued_up_for_deletion(tp.topic):
                controller.warn(
                    "Skipping replica leader election (%s) for partition %s by AdminClientTriggered since the topic is "
                    "being deleted",
                    kind,
                    tp,
                )
                results[tp] = ApiError(Errors.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
            elif self._has_its_leader(tp):
                results[tp] = ApiError(Errors.ELECTION_NOT_NEEDED)
            else:
                electable.append(tp)
        return self._on_replica_election(electable) | results

    def _has_its_leader(self, tp: TopicPartition) -> bool:
        context = self.controller.controller_context
        state = context.partition_leadership_info.get(tp)
        if state is None:
            return False
        leader = state.leader_and_isr.leader
        if self._election_type is ElectionType.PREFERRED:
            return leader == context.partition_replica_assignment[tp][0]
        return leader != LeaderAndIsr.NO_LEADER and leader in context.live_broker_ids

    def _on_replica_election(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, ApiError | int]:
        preferred = self._election_type is ElectionType.PREFERRED
        self.controller.info(
            "Starting replica leader election (%s) for partitions %s triggered by AdminClientTriggered",
            self._election_type,
            ",".join(map(str, partitions)),
        )
        strategy = (
            PreferredReplicaPartitionLeaderElectionStrategy
            if preferred
            else OfflinePartitionAllowUncleanLeaderElectionStrategy
        )
        elected = self.controller.partition_state_machine.handle_state_changes(partitions, OnlinePartition, strategy)
        nobody = Errors.PREFERRED_LEADER_NOT_AVAILABLE if preferred else Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
        results: dict[TopicPartition, ApiError | int] = {}
        for tp in partitions:
            result = elected.get(tp)
            if isinstance(result, LeaderAndIsr):
                results[tp] = result.leader
            elif result is None or isinstance(result, StateChangeFailedException):
                # None: a partition that never had a leader, for which none of its replicas lives
                results[tp] = ApiError(nobody, None if result is None else str(result))
            else:
                results[tp] = ApiError.from_throwable(result)
        return results


class ApiPartitionReassignment(OnController):
    """An administrator wants partitions moved, or left where they are."""

    state = ControllerState.PartitionReassignment

    def __init__(
        self,
        controller: KafkaController,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        callback: AlterReassignmentsCallback,
    ) -> None:
        super().__init__(controller)
        self._reassignments = reassignments
        self._callback = callback

    def process(self) -> None:
        if not self.controller.is_active:
            self.preempt()
            return
        results: Mapping[TopicPartition, ApiError] | ApiError
        try:
            results = self.controller.reassignment.alter_partition_reassignments(self._reassignments)
        except Exception as e:  # noqa: BLE001 -- who waits gets the reason
            self.controller.error("Error while altering partition reassignments %s", self._reassignments, exc=e)
            results = ApiError.from_throwable(e)
        self._callback(results)

    def preempt(self) -> None:
        self._callback(ApiError(Errors.NOT_CONTROLLER))


class ListPartitionReassignments(OnController):
    """An administrator wants to know which partitions are being moved."""

    state = ControllerState.PartitionReassignment

    def __init__(
        self,
        controller: KafkaController,
        partitions: Collection[TopicPartition] | None,
        callback: ListReassignmentsCallback,
    ) -> None:
        super().__init__(controller)
        self._partitions = partitions
        self._callback = callback

    def process(self) -> None:
        if not self.controller.is_active:
            self.preempt()
            return
        self._callback(self.controller.reassignment.list_partition_reassignments(self._partitions))

    def preempt(self) -> None:
        self._callback(ApiError(Errors.NOT_CONTROLLER))
