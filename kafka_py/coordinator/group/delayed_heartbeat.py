"""A member's session, which ends if the member is silent.

Mirrors: core/src/main/scala/kafka/coordinator/group/DelayedHeartbeat.scala @ 1.1.1 (2.5.1: pending members)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.group.group_metadata import GroupMetadata


class DelayedHeartbeat(DelayedOperation):
    """Done by the member's next sign of life, or by its leaving; if it expires the member is taken out of its group.

    `is_pending`: the member was given an id and has not come back with it yet; then joining is what ends the wait.

    Mirrors: kafka.coordinator.group.DelayedHeartbeat
    Thread: any handler (try_complete), executor-Heartbeat (on_expiration)
    Locks: the group's, which is this operation's own.
    """

    def __init__(
        self, coordinator: GroupCoordinator, group: GroupMetadata, member_id: str, is_pending: bool, timeout_ms: int
    ) -> None:
        super().__init__(timeout_ms, group.lock)
        self._coordinator = coordinator
        self._group = group
        self._member_id = member_id
        self._is_pending = is_pending

    def try_complete(self) -> bool:
        """Whether the member has shown itself, and this thread is the one that saw it."""
        return self._coordinator.try_complete_heartbeat(
            self._group, self._member_id, self._is_pending, self.force_complete
        )

    def on_expiration(self) -> None:
        """The member was silent for too long."""
        self._coordinator.on_expire_heartbeat(self._group, self._member_id, self._is_pending)

    def on_complete(self) -> None:
        """Nothing is owed to anybody for a heartbeat that came."""
        self._coordinator.on_complete_heartbeat()
