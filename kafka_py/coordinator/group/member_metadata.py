"""One member of a group, as its coordinator keeps it.

Mirrors: core/src/main/scala/kafka/coordinator/group/MemberMetadata.scala @ 1.1.1 (static members as in 2.5.1)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.errors import IllegalArgumentException

if TYPE_CHECKING:
    from kafka_py.coordinator.group.group_results import JoinCallback, SyncCallback


class MemberSummary(NamedTuple):
    """A member for DescribeGroups; what it said and got is told only while the group is stable.

    Mirrors: kafka.coordinator.group.MemberSummary
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class MemberMetadata:
    """What a member can do, what it was given, and the answers it waits for.

    `supported_protocols` are (name, what the member says in it) in the order of its preference.

    Mirrors: kafka.coordinator.group.MemberMetadata
    Thread: whoever holds the group's lock.
    Differs: heartbeats are satisfied by a flag that each sets and the next expectation clears, as from 2.4 on, instead
        of by times. A member that is new may expire while it waits for its join (KAFKA-7610).
    Left out: toString -- `__str__`
    """

    def __init__(
        self,
        member_id: str,
        group_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        supported_protocols: list[tuple[str, bytes]],
    ) -> None:
        # a static member gets a new one when it comes back
        self.member_id = member_id  # thread: whoever holds the group's lock
        self.group_id = group_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        # as it said when it joined last
        self.rebalance_timeout_ms = rebalance_timeout_ms  # thread: whoever holds the group's lock
        self.session_timeout_ms = session_timeout_ms  # thread: whoever holds the group's lock
        self.protocol_type = protocol_type
        self.supported_protocols = supported_protocols  # thread: whoever holds the group's lock
        self.assignment = b""  # thread: whoever holds the group's lock
        self.awaiting_join_callback: JoinCallback | None = None  # thread: whoever holds the group's lock
        self.awaiting_sync_callback: SyncCallback | None = None  # thread: whoever holds the group's lock
        self.is_leaving = False  # thread: whoever holds the group's lock
        self.is_new = False  # thread: whoever holds the group's lock
        # False when a heartbeat begins to be waited for, True once there was any sign of life
        self.heartbeat_satisfied = False  # thread: whoever holds the group's lock

    @staticmethod
    def plain_protocol_set(supported_protocols: Collection[tuple[str, bytes]]) -> set[str]:
        """The names alone."""
        return {name for name, _ in supported_protocols}

    @property
    def is_static_member(self) -> bool:
        """Whether the member names itself, so that it may be away for a while."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether its JoinGroup is not answered yet."""
        return self.awaiting_join_callback is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether its SyncGroup is not answered yet."""
        return self.awaiting_sync_callback is not None

    def metadata(self, protocol: str) -> bytes:
        """What the member says in a protocol; IllegalArgumentException if it does not know it."""
        for name, metadata in self.supported_protocols:
            if name == protocol:
                return metadata
        raise IllegalArgumentException("Member does not support protocol")

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether no heartbeat is missed: who waits for our answer need not send any, unless it is new."""
        if self.is_new:
            return self.heartbeat_satisfied
        return self.is_awaiting_join or self.is_awaiting_sync or self.heartbeat_satisfied

    def matches(self, protocols: list[tuple[str, bytes]]) -> bool:
        """Whether it says the same as before, in the same order."""
        return protocols == self.supported_protocols

    def summary(self, protocol: str) -> MemberSummary:
        """The member of a stable group; IllegalArgumentException for a protocol it does not know."""
        return self._summary(self.metadata(protocol), self.assignment)

    def summary_no_metadata(self) -> MemberSummary:
        """The member of a group that is between two generations."""
        return self._summary(b"", b"")

    def _summary(self, metadata: bytes, assignment: bytes) -> MemberSummary:
        return MemberSummary(
            self.member_id, self.group_instance_id, self.client_id, self.client_host, metadata, assignment
        )

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate it likes best; IllegalArgumentException if it knows none."""
        for name, _ in self.supported_protocols:
            if name in candidates:
                return name
        raise IllegalArgumentException("Member does not support any of the candidate protocols")

    def __str__(self) -> str:
        return (
            f"MemberMetadata(memberId={self.member_id}, groupInstanceId={self.group_instance_id}, "
            f"clientId={self.client_id}, clientHost={self.client_host}, sessionTimeoutMs={self.session_timeout_ms}, "
            f"rebalanceTimeoutMs={self.rebalance_timeout_ms}, "
            f"supportedProtocols={[name for name, _ in self.supported_protocols]})"
        )

    __repr__ = __str__
