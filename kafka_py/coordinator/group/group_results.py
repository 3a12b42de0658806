"""What the group coordinator answers, and the limits it goes by.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupCoordinator.scala @ 2.5.1 (the case classes at its end)

They have a file of their own because GroupMetadata and MemberMetadata, which the coordinator needs, need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.protocol.errors import Errors

if TYPE_CHECKING:
    from kafka_py.common.requests.join_group_response import JoinGroupResponse

# what a member says that has no id yet
UNKNOWN_MEMBER_ID = ""
NO_STATE = ""
NO_PROTOCOL_TYPE = ""
NO_PROTOCOL = ""
NO_LEADER = ""
NO_GENERATION = -1


class GroupConfig(NamedTuple):
    """Limits of groups: times in ms, `group_max_size` in members.

    Mirrors: kafka.coordinator.group.GroupConfig
    """

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_initial_rebalance_delay_ms: int


class JoiningMember(NamedTuple):
    """What a JoinGroup tells of its sender; `protocols` in the order of its preference, times in ms.

    Differs: Kafka hands these eight from method to method one by one.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: list[tuple[str, bytes]]


class JoinGroupResult(NamedTuple):
    """The answer to a JoinGroup: the generation, or the error. The leader of the group gets all `members`.

    Mirrors: kafka.coordinator.group.JoinGroupResult
    """

    members: list[JoinGroupResponse.Member]
    member_id: str
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None
    error: Errors

    @classmethod
    def failed(cls, member_id: str, error: Errors) -> JoinGroupResult:
        """An error without a generation (apply in Scala, joinError in 1.1.1)."""
        return cls([], member_id, NO_GENERATION, None, None, NO_LEADER, error)


class SyncGroupResult(NamedTuple):
    """The answer to a SyncGroup: what the member is to do, or the error.

    Mirrors: kafka.coordinator.group.SyncGroupResult @ 2.5.1
    """

    protocol_type: str | None
    protocol_name: str | None
    member_assignment: bytes
    error: Errors

    @classmethod
    def failed(cls, error: Errors) -> SyncGroupResult:
        """An error without an assignment (apply in Scala)."""
        return cls(None, None, b"", error)


class LeaveMemberResponse(NamedTuple):
    """What became of one member that wanted to leave.

    Mirrors: kafka.coordinator.group.LeaveMemberResponse @ 2.5.1
    """

    member_id: str
    group_instance_id: str | None
    error: Errors


class LeaveGroupResult(NamedTuple):
    """The answer to a LeaveGroup: one error for all, or one for each member.

    Mirrors: kafka.coordinator.group.LeaveGroupResult @ 2.5.1
    """

    top_level_error: Errors
    member_responses: list[LeaveMemberResponse]


JoinCallback = Callable[[JoinGroupResult], object]
SyncCallback = Callable[[SyncGroupResult], object]
LeaveCallback = Callable[[LeaveGroupResult], object]
HeartbeatCallback = Callable[[Errors], object]
