"""A rebalance that waits for the members of its group.

Mirrors: core/src/main/scala/kafka/coordinator/group/DelayedJoin.scala @ 1.1.1
Read next: group_coordinator.py (prepare_rebalance, on_complete_join)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.server.delayed_operation import DelayedOperation
from kafka_py.server.delayed_operation_key import GroupKey

if TYPE_CHECKING:
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.group.group_metadata import GroupMetadata
    from kafka_py.server.delayed_operation import DelayedOperationPurgatory


class DelayedJoin(DelayedOperation):
    """Done as soon as every member has sent its JoinGroup; after `rebalance_timeout` ms without those that have not.

    Mirrors: kafka.coordinator.group.DelayedJoin
    Thread: any handler (try_complete), executor-Rebalance (on_expiration)
    Locks: the group's, which is this operation's own.
    """

    def __init__(self, coordinator: GroupCoordinator, group: GroupMetadata, rebalance_timeout: int) -> None:
        super().__init__(rebalance_timeout, group.lock)
        self._coordinator = coordinator
        self._group = group

    def try_complete(self) -> bool:
        """Whether all have joined, and this thread is the one that saw it."""
        return self._coordinator.try_complete_join(self._group, self.force_complete)

    def on_expiration(self) -> None:
        """The time was up."""
        self._coordinator.on_expire_join()

    def on_complete(self) -> None:
        """Begin the next generation."""
        self._coordinator.on_complete_join(self._group)


class InitialDelayedJoin(DelayedJoin):
    """The first rebalance of an empty group: it waits for its delay, and again while new members keep coming.

    Consumers of one application start one after the other; without the wait each of them would begin a rebalance.
    `configured_rebalance_delay` ms after the last that came, and `delay_ms` + `remaining_ms` after the first at most.

    Mirrors: kafka.coordinator.group.InitialDelayedJoin
    Thread: executor-Rebalance
    Locks: the group's.
    """

    def __init__(
        self,
        coordinator: GroupCoordinator,
        purgatory: DelayedOperationPurgatory[DelayedJoin],
        group: GroupMetadata,
        configured_rebalance_delay: int,
        delay_ms: int,
        remaining_ms: int,
    ) -> None:
        super().__init__(coordinator, group, delay_ms)
        self._purgatory = purgatory
        self._configured_rebalance_delay = configured_rebalance_delay
        self._remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        """Never: only the time counts, for who knows how many members there will be."""
        return False

    def on_complete(self) -> None:
        """Wait once more if somebody came meanwhile and there is time left; else begin the generation."""
        group = self._group
        with group.lock:
            if not group.new_member_added or self._remaining_ms == 0:
                super().on_complete()
                return
            group.new_member_added = False
            again = InitialDelayedJoin(
                self._coordinator,
                self._purgatory,
                group,
                self._configured_rebalance_delay,
                min(self._configured_rebalance_delay, self._remaining_ms),
                max(self._remaining_ms - self.delay_ms, 0),
            )
            self._purgatory.try_complete_else_watch(again, [GroupKey(group.group_id)])
