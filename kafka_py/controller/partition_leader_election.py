"""Who becomes leader: the four rules, as pure functions of assignment, ISR and live replicas.

Mirrors: the second half of core/src/main/scala/kafka/controller/PartitionStateMachine.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.controller.controller_context import ControllerContext


class PartitionLeaderElectionStrategy:
    """Why a leader is elected; decides which of the algorithms below is asked.

    Mirrors: kafka.controller.PartitionLeaderElectionStrategy
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


OfflinePartitionLeaderElectionStrategy = PartitionLeaderElectionStrategy("OfflinePartitionLeaderElectionStrategy")
# an administrator has asked for it: whatever the topic's configuration says [2.4]
OfflinePartitionAllowUncleanLeaderElectionStrategy = PartitionLeaderElectionStrategy(
    "OfflinePartitionLeaderElectionStrategy(true)"
)
ReassignPartitionLeaderElectionStrategy = PartitionLeaderElectionStrategy("ReassignPartitionLeaderElectionStrategy")
PreferredReplicaPartitionLeaderElectionStrategy = PartitionLeaderElectionStrategy(
    "PreferredReplicaPartitionLeaderElectionStrategy"
)
ControlledShutdownPartitionLeaderElectionStrategy = PartitionLeaderElectionStrategy(
    "ControlledShutdownPartitionLeaderElectionStrategy"
)


class PartitionLeaderElectionAlgorithms:
    """The rules themselves: each gives a broker id, or None when nobody may lead.

    Mirrors: kafka.controller.PartitionLeaderElectionAlgorithms
    """

    @staticmethod
    def offline_partition_leader_election(
        assignment: Sequence[int],
        isr: Collection[int],
        live_replicas: Collection[int],
        unclean_leader_election_enabled: bool,
        controller_context: ControllerContext,
    ) -> int | None:
        """First assigned replica that is live and in sync; with unclean elections any live one, which may lose data."""
        for id in assignment:
            if id in live_replicas and id in isr:
                return id
        if unclean_leader_election_enabled:
            for id in assignment:
                if id in live_replicas:
                    controller_context.stats.unclean_leader_election_rate.mark()
                    return id
        return None

    @staticmethod
    def reassign_partition_leader_election(
        reassignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
    ) -> int | None:
        return next((id for id in reassignment if id in live_replicas and id in isr), None)

    @staticmethod
    def preferred_replica_partition_leader_election(
        assignment: Sequence[int], isr: Collection[int], live_replicas: Collection[int]
    ) -> int | None:
        """The first assigned replica or nobody."""
        return next((id for id in assignment[:1] if id in live_replicas and id in isr), None)

    @staticmethod
    def controlled_shutdown_partition_leader_election(
        assignment: Sequence[int],
        isr: Collection[int],
        live_replicas: Collection[int],
        shutting_down_brokers: Collection[int],
    ) -> int | None:
        return next(
            (id for id in assignment if id in live_replicas and id in isr and id not in shutting_down_brokers), None
        )
