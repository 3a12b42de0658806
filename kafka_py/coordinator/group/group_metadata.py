"""A group as its coordinator keeps it: its members, its state, and what it has committed.

VALID_PREVIOUS_STATES says which steps a group may take; docs/states.md draws it.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupMetadata.scala @ 1.1.1 (static and pending members, subscribed
    topics and the expiry of KIP-211 as in 2.5.1)
Read next: group_coordinator.py, which moves it; group_metadata_manager.py, which writes it down
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import IllegalArgumentException, IllegalStateException, SchemaException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.join_group_response import JoinGroupResponse
from kafka_py.coordinator.group.group_results import NO_PROTOCOL, JoinGroupResult, SyncGroupResult
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.offset_and_metadata import OffsetAndMetadata
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_results import JoinCallback
    from kafka_py.coordinator.group.member_metadata import MemberSummary

T = TypeVar("T")


class GroupState:
    """One station of a group's life and the stations it may be reached from.

    Mirrors: kafka.coordinator.group.GroupState
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.valid_previous_states: frozenset[GroupState] = frozenset()

    def __repr__(self) -> str:
        return self.name


# JoinGroups are held until all members have come, or the rebalance timeout is over; heartbeats are told to join
PreparingRebalance = GroupState("PreparingRebalance")
# SyncGroups are held until the leader says who gets what; nothing may be committed
CompletingRebalance = GroupState("CompletingRebalance")
# everybody knows its part
Stable = GroupState("Stable")
# removed, or another broker coordinates it now; who still has it in hand must not use it
Dead = GroupState("Dead")
# no members: either they are gone and the offsets have not expired yet, or it only ever commits
Empty = GroupState("Empty")

VALID_PREVIOUS_STATES = {
    PreparingRebalance: frozenset({Stable, CompletingRebalance, Empty}),
    CompletingRebalance: frozenset({PreparingRebalance}),
    Stable: frozenset({CompletingRebalance}),
    Dead: frozenset({Stable, PreparingRebalance, CompletingRebalance, Empty, Dead}),
    Empty: frozenset({PreparingRebalance}),
}
for _state, _previous in VALID_PREVIOUS_STATES.items():
    _state.valid_previous_states = _previous


class GroupOverview(NamedTuple):
    """A group for ListGroups.

    Mirrors: kafka.coordinator.group.GroupOverview
    """

    group_id: str
    protocol_type: str


class GroupSummary(NamedTuple):
    """A group for DescribeGroups; `protocol` is empty unless it is stable.

    Mirrors: kafka.coordinator.group.GroupSummary
    """

    state: str
    protocol_type: str
    protocol: str
    members: list[MemberSummary]


class CommitRecordMetadataAndOffset(NamedTuple):
    """A committed offset, and the offset in __consumer_offsets of the batch that says so; None until it is appended.

    With it the latest commit wins where transactions and plain commits mix, also after compaction.

    Mirrors: kafka.coordinator.group.CommitRecordMetadataAndOffset
    """

    appended_batch_offset: int | None
    offset_and_metadata: OffsetAndMetadata

    def older_than(self, that: CommitRecordMetadataAndOffset) -> bool:
        """Whether `that` was appended later; both must have been appended."""
        assert self.appended_batch_offset is not None
        assert that.appended_batch_offset is not None
        return self.appended_batch_offset < that.appended_batch_offset


CommitRecords = dict["TopicPartition", CommitRecordMetadataAndOffset]


class GroupMetadata(Logging):
    """Members, generation, leader and protocol of a group, and the offsets it has committed.

    Mirrors: kafka.coordinator.group.GroupMetadata
    Thread: whoever holds `lock`; every method is called under it.
    Locks: lock -> the append lock of the partition of __consumer_offsets.
    Differs: members are kept in the order in which they came, in Kafka in none; a leader that leaves is followed by the
        one that came first.
    Left out: supportsProtocols of 1.1.1 without the protocol type -- supports_protocols; toString -- `__str__`
    """

    _MEMBER_ID_DELIMITER: ClassVar[str] = "-"

    def __init__(self, group_id: str, initial_state: GroupState, time: Time) -> None:
        """A group without members, since now in that state."""
        self.group_id = group_id
        self.lock = ReentrantLock()
        self._time = time
        self._state = initial_state  # thread: whoever holds lock
        # when the state was entered; None if the group was loaded from a record that does not say (before KIP-211)
        self.current_state_timestamp: int | None = time.milliseconds()  # thread: whoever holds lock
        self.protocol_type: str | None = None  # thread: whoever holds lock
        self.protocol_name: str | None = None  # thread: whoever holds lock
        self.generation_id = 0  # thread: whoever holds lock
        self._leader_id: str | None = None  # thread: whoever holds lock
        self._members: dict[str, MemberMetadata] = {}  # thread: whoever holds lock
        self._static_members: dict[str, str] = {}  # thread: whoever holds lock; group.instance.id -> member id
        # ids that were given out, and whose owners have not joined with them yet (KIP-394)
        self._pending_members: set[str] = set()  # thread: whoever holds lock
        self._num_members_awaiting_join = 0  # thread: whoever holds lock
        # protocol -> how many members support it
        self._supported_protocols: dict[str, int] = {}  # thread: whoever holds lock
        self._offsets: CommitRecords = {}  # thread: whoever holds lock
        self._pending_offset_commits: dict[TopicPartition, OffsetAndMetadata] = {}  # thread: whoever holds lock
        # producer id -> what it has sent to its open transaction
        self._pending_transactional_offset_commits: dict[int, CommitRecords] = {}  # thread: whoever holds lock
        self._received_transactional_offset_commits = False  # thread: whoever holds lock
        self._received_consumer_offset_commits = False  # thread: whoever holds lock
        # of a group of consumers; None where it cannot be known
        self._subscribed_topics: set[str] | None = None  # thread: whoever holds lock
        self.new_member_added = False  # thread: whoever holds lock

    @classmethod
    def load_group(
        cls,
        group_id: str,
        initial_state: GroupState,
        generation_id: int,
        protocol_type: str | None,
        protocol_name: str | None,
        leader_id: str | None,
        current_state_timestamp: int | None,
        members: Iterable[MemberMetadata],
        time: Time,
    ) -> GroupMetadata:
        """A group as its record says it was."""
        group = cls(group_id, initial_state, time)
        group.generation_id = generation_id
        group.protocol_type = protocol_type or None
        group.protocol_name = protocol_name
        group._leader_id = leader_id
        group.current_state_timestamp = current_state_timestamp
        for member in members:
            group.add(member)
            if member.group_instance_id is not None:
                group.info(
                    "Static member %s of group %s loaded with member id %s at generation %d.",
                    member.group_instance_id,
                    group_id,
                    member.member_id,
                    generation_id,
                )
                group.add_static_member(member.group_instance_id, member.member_id)
        group._subscribed_topics = group.compute_subscribed_topics()
        return group

    def in_lock(self, fun: Callable[[], T]) -> T:
        """What `fun` returns, called under the lock."""
        with self.lock:
            return fun()

    # ---- state

    @property
    def current_state(self) -> GroupState:
        """Where the group stands."""
        return self._state

    def is_(self, group_state: GroupState) -> bool:
        """Whether the group is in that state."""
        return self._state is group_state

    def not_(self, group_state: GroupState) -> bool:
        """Whether the group is in another state."""
        return self._state is not group_state

    @property
    def current_state_timestamp_or_default(self) -> int:
        """When the state was entered (ms), -1 if that is not known."""
        return -1 if self.current_state_timestamp is None else self.current_state_timestamp

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin."""
        return self._state in VALID_PREVIOUS_STATES[PreparingRebalance]

    def transition_to(self, group_state: GroupState) -> None:
        """Take a step; IllegalStateException if it is none that the table has."""
        self._assert_valid_transition(group_state)
        self._state = group_state
        self.current_state_timestamp = self._time.milliseconds()

    def _assert_valid_transition(self, target_state: GroupState) -> None:
        if self._state not in target_state.valid_previous_states:
            previous = ",".join(sorted(map(str, target_state.valid_previous_states)))
            raise IllegalStateException(
                f"Group {self.group_id} should be in the {previous} states before moving to {target_state} state. "
                f"Instead it is in {self._state} state"
            )

    # ---- members

    def has(self, member_id: str) -> bool:
        """Whether that is a member."""
        return member_id in self._members

    def get(self, member_id: str) -> MemberMetadata:
        """A member; KeyError if it is none."""
        return self._members[member_id]

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._members)

    def is_leader(self, member_id: str) -> bool:
        """Whether that member assigns."""
        return self._leader_id == member_id

    @property
    def leader_or_null(self) -> str | None:
        """The member id of the leader."""
        return self._leader_id

    @property
    def is_consumer_group(self) -> bool:
        """Whether its members are consumers, and not, say, workers of Connect."""
        return self.protocol_type == ConsumerProtocol.PROTOCOL_TYPE

    def add(self, member: MemberMetadata, callback: JoinCallback | None = None) -> None:
        """A member more, which waits for its join to be answered if there is a callback. The first one leads."""
        if not self._members:
            self.protocol_type = member.protocol_type
        assert self.group_id == member.group_id
        assert self.protocol_type == member.protocol_type
        names = MemberMetadata.plain_protocol_set(member.supported_protocols)
        assert self.supports_protocols(member.protocol_type, names)
        if self._leader_id is None:
            self._leader_id = member.member_id
        self._members[member.member_id] = member
        self._count_protocols(member, 1)
        member.awaiting_join_callback = callback
        if member.is_awaiting_join:
            self._num_members_awaiting_join += 1

    def _count_protocols(self, member: MemberMetadata, by: int) -> None:
        for protocol, _ in member.supported_protocols:
            self._supported_protocols[protocol] = self._supported_protocols.get(protocol, 0) + by

    def remove(self, member_id: str) -> None:
        """A member less; another one leads if it did."""
        member = self._members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.is_awaiting_join:
                self._num_members_awaiting_join -= 1
        if self.is_leader(member_id):
            self._leader_id = next(iter(self._members), None)

    def maybe_elect_new_joined_leader(self) -> bool:
        """Whether the leader has joined again or, if not, another one that has could take its place."""
        if self._leader_id is None:
            return False
        current_leader = self.get(self._leader_id)
        if current_leader.is_awaiting_join:
            return True
        joined = next((member for member in self._members.values() if member.is_awaiting_join), None)
        if joined is None:
            self.info(
                "Group leader [member.id: %s, group.instance.id: %s] failed to join before rebalance timeout, and the "
                "group couldn't proceed to next generation because no member joined.",
                current_leader.member_id,
                current_leader.group_instance_id,
            )
            return False
        self._leader_id = joined.member_id
        self.info(
            "Group leader [member.id: %s, group.instance.id: %s] failed to join before rebalance timeout, while new "
            "leader %s was elected.",
            current_leader.member_id,
            current_leader.group_instance_id,
            joined,
        )
        return True

    def replace_group_instance(
        self, old_member_id: str, new_member_id: str, group_instance_id: str | None
    ) -> MemberMetadata:
        """A static member is back under a new id; whoever still waits under the old one is fenced.

        IllegalArgumentException without an instance id, or if there is no member of the old id.
        """
        if group_instance_id is None:
            raise IllegalArgumentException("unexpected null group.instance.id in replaceGroupInstance")
        member = self._members.pop(old_member_id, None)
        if member is None:
            raise IllegalArgumentException(f"Cannot replace non-existing member id {old_member_id}")
        self.maybe_invoke_join_callback(member, JoinGroupResult.failed(old_member_id, Errors.FENCED_INSTANCE_ID))
        self.maybe_invoke_sync_callback(member, SyncGroupResult.failed(Errors.FENCED_INSTANCE_ID))
        member.member_id = new_member_id
        self._members[new_member_id] = member
        if self.is_leader(old_member_id):
            self._leader_id = new_member_id
        self.add_static_member(group_instance_id, new_member_id)
        return member

    def is_pending_member(self, member_id: str) -> bool:
        """Whether that id was given out and nobody has joined with it yet."""
        return member_id in self._pending_members and not self.has(member_id)

    def add_pending_member(self, member_id: str) -> None:
        """An id was given out."""
        self._pending_members.add(member_id)

    def remove_pending_member(self, member_id: str) -> bool:
        """Its owner came, or came not; whether it was pending."""
        found = member_id in self._pending_members
        self._pending_members.discard(member_id)
        return found

    def has_static_member(self, group_instance_id: str | None) -> bool:
        """Whether a member of that instance id is known."""
        return group_instance_id is not None and group_instance_id in self._static_members

    def get_static_member_id(self, group_instance_id: str | None) -> str:
        """The member id of a static member; IllegalArgumentException without an instance id, KeyError if unknown."""
        if group_instance_id is None:
            raise IllegalArgumentException("unexpected null group.instance.id in getStaticMemberId")
        return self._static_members[group_instance_id]

    def add_static_member(self, group_instance_id: str | None, new_member_id: str) -> None:
        """Know a static member by its member id; IllegalArgumentException without an instance id."""
        if group_instance_id is None:
            raise IllegalArgumentException("unexpected null group.instance.id in addStaticMember")
        self._static_members[group_instance_id] = new_member_id

    def remove_static_member(self, group_instance_id: str | None) -> None:
        """Forget a static member, if it is one."""
        if group_instance_id is not None:
            self._static_members.pop(group_instance_id, None)

    def is_static_member_fenced(self, member_id: str, group_instance_id: str | None, operation: str) -> bool:
        """Whether another process has come under the same instance id since."""
        if not self.has_static_member(group_instance_id):
            return False
        expected = self.get_static_member_id(group_instance_id)
        if expected == member_id:
            return False
        self.error(
            "given member.id %s is identified as a known static member %s, but not matching the expected member.id %s "
            "during %s, will respond with instance fenced error",
            member_id,
            group_instance_id,
            expected,
            operation,
        )
        return True

    @property
    def not_yet_rejoined_members(self) -> list[MemberMetadata]:
        """Those whose JoinGroup has not come."""
        return [member for member in self._members.values() if not member.is_awaiting_join]

    @property
    def has_all_members_joined(self) -> bool:
        """Whether every member's JoinGroup has come, and no id is out without its owner."""
        return len(self._members) == self._num_members_awaiting_join and not self._pending_members

    @property
    def all_members(self) -> set[str]:
        """The ids of the members."""
        return set(self._members)

    @property
    def all_static_members(self) -> set[str]:
        """The instance ids of the static members."""
        return set(self._static_members)

    @property
    def num_pending(self) -> int:
        """How many ids are out."""
        return len(self._pending_members)

    @property
    def num_awaiting(self) -> int:
        """How many members wait for their join to be answered."""
        return self._num_members_awaiting_join

    @property
    def all_member_metadata(self) -> list[MemberMetadata]:
        """The members."""
        return list(self._members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the slowest member may take to join again."""
        return max((member.rebalance_timeout_ms for member in self._members.values()), default=0)

    def generate_member_id(self, client_id: str, group_instance_id: str | None) -> str:
        """A new id that begins with what the client calls itself."""
        name = client_id if group_instance_id is None else group_instance_id
        return f"{name}{self._MEMBER_ID_DELIMITER}{uuid.uuid4()}"

    def update_member(
        self, member: MemberMetadata, protocols: list[tuple[str, bytes]], callback: JoinCallback | None
    ) -> None:
        """A member joins again, perhaps with other protocols."""
        self._count_protocols(member, -1)
        member.supported_protocols = protocols
        self._count_protocols(member, 1)
        self._num_members_awaiting_join += (callback is not None) - member.is_awaiting_join
        member.awaiting_join_callback = callback

    def maybe_invoke_join_callback(self, member: MemberMetadata, join_group_result: JoinGroupResult) -> None:
        """Answer a member's join, if it waits for that.

        If that fails (KafkaApis could not send it) the member is told so, and the others are answered all the same.
        """
        callback = member.awaiting_join_callback
        if callback is not None:
            try:
                callback(join_group_result)
            except Exception as e:  # noqa: BLE001 -- whatever it was, it is this member's alone
                self.error("Failed to invoke join callback for %s due to %s.", member, e, exc=e)
                callback(JoinGroupResult.failed(member.member_id, Errors.UNKNOWN_SERVER_ERROR))
            finally:
                member.awaiting_join_callback = None
                self._num_members_awaiting_join -= 1

    def maybe_invoke_sync_callback(self, member: MemberMetadata, sync_group_result: SyncGroupResult) -> bool:
        """Answer a member's sync; False if it does not wait for that."""
        callback = member.awaiting_sync_callback
        if callback is None:
            return False
        try:
            callback(sync_group_result)
        except Exception as e:  # noqa: BLE001 -- as above
            self.error("Failed to invoke sync callback for %s due to %s.", member, e, exc=e)
            callback(SyncGroupResult.failed(Errors.UNKNOWN_SERVER_ERROR))
        finally:
            member.awaiting_sync_callback = None
        return True

    # ---- protocol and generation

    def select_protocol(self) -> str:
        """The protocol that all know and most prefer; IllegalStateException without members."""
        if not self._members:
            raise IllegalStateException("Cannot select protocol for empty group")
        candidates = self._candidate_protocols()
        votes: dict[str, int] = {}
        for member in self._members.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=votes.__getitem__)

    def _candidate_protocols(self) -> set[str]:
        return {protocol for protocol, count in self._supported_protocols.items() if count == len(self._members)}

    def supports_protocols(self, member_protocol_type: str, member_protocols: set[str]) -> bool:
        """Whether who knows these protocols can join: one of them must be known to all members."""
        if self.is_(Empty):
            return bool(member_protocol_type) and bool(member_protocols)
        return self.protocol_type == member_protocol_type and any(
            self._supported_protocols.get(protocol, 0) == len(self._members) for protocol in member_protocols
        )

    @property
    def get_subscribed_topics(self) -> set[str] | None:
        """The topics that the members of a group of consumers subscribe to, None where that is not known."""
        return self._subscribed_topics

    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether a member may read the topic: yes where it cannot be known."""
        return self._subscribed_topics is None or topic in self._subscribed_topics

    def compute_subscribed_topics(self) -> set[str] | None:
        """Read the topics out of what the members said; None for other groups, and where it cannot be read."""
        if not self.is_consumer_group:
            return None
        if not self._members:
            return set()
        if self.protocol_name is None:
            return None
        try:
            return {
                topic
                for member in self._members.values()
                for topic in ConsumerProtocol.deserialize_subscription_v0(member.metadata(self.protocol_name)).topics
            }
        except SchemaException as e:
            self.warn(
                "Failed to parse Consumer Protocol %s:%s of group %s. Consumer group coordinator is not aware of the "
                "subscribed topics.",
                ConsumerProtocol.PROTOCOL_TYPE,
                self.protocol_name,
                self.group_id,
                exc=e,
            )
            return None

    def init_next_generation(self) -> None:
        """Everybody who is to be there has come: a new generation, or none any more."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self._members else None
        self._subscribed_topics = self.compute_subscribed_topics()
        self.transition_to(CompletingRebalance if self._members else Empty)
        self._received_consumer_offset_commits = False
        self._received_transactional_offset_commits = False

    @property
    def current_member_metadata(self) -> list[JoinGroupResponse.Member]:
        """What all members said, for the leader; IllegalStateException while it is not settled."""
        if self.is_(Dead) or self.is_(PreparingRebalance):
            raise IllegalStateException(f"Cannot obtain member metadata for group in state {self._state}")
        assert self.protocol_name is not None
        return [
            JoinGroupResponse.Member(
                member_id=member_id,
                group_instance_id=member.group_instance_id,
                member_metadata=member.metadata(self.protocol_name),
            )
            for member_id, member in self._members.items()
        ]

    def summary(self) -> GroupSummary:
        """For DescribeGroups; IllegalStateException if a stable group has no protocol."""
        protocol = NO_PROTOCOL
        if self.is_(Stable):
            if self.protocol_name is None:
                raise IllegalStateException("Invalid null group protocol for stable group")
            protocol = self.protocol_name
            members = [member.summary(protocol) for member in self._members.values()]
        else:
            members = [member.summary_no_metadata() for member in self._members.values()]
        return GroupSummary(str(self._state), self.protocol_type or "", protocol, members)

    def overview(self) -> GroupOverview:
        """For ListGroups."""
        return GroupOverview(self.group_id, self.protocol_type or "")

    # ---- offsets

    def initialize_offsets(self, offsets: CommitRecords, pending_txn_offsets: Mapping[int, CommitRecords]) -> None:
        """Take over what was read from the log."""
        self._offsets.update(offsets)
        self._pending_transactional_offset_commits.update(pending_txn_offsets)

    def prepare_offset_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """A commit is about to be appended."""
        self._received_consumer_offset_commits = True
        self._pending_offset_commits.update(offsets)

    def on_offset_commit_append(
        self, topic_partition: TopicPartition, offset_with_commit_record_metadata: CommitRecordMetadataAndOffset
    ) -> None:
        """A commit is in the log, and counts unless a later one was quicker or its topic is deleted meanwhile.

        IllegalStateException if it is not told where in the log.
        """
        committed = offset_with_commit_record_metadata
        if topic_partition not in self._pending_offset_commits:
            return  # the topic was deleted
        if committed.appended_batch_offset is None:
            raise IllegalStateException(
                "Cannot complete offset commit write without providing the metadata of the record in the log."
            )
        known = self._offsets.get(topic_partition)
        if known is None or known.older_than(committed):
            self._offsets[topic_partition] = committed
        self.fail_pending_offset_write(topic_partition, committed.offset_and_metadata)

    def fail_pending_offset_write(self, topic_partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """A commit is not pending any more, unless another one was sent behind it."""
        if self._pending_offset_commits.get(topic_partition) == offset:
            del self._pending_offset_commits[topic_partition]

    def prepare_txn_offset_commit(self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """A commit of a transaction is about to be appended; it counts when the transaction is committed."""
        self.trace(
            "TxnOffsetCommit for producer %s and group %s with offsets %s is pending",
            producer_id,
            self.group_id,
            offsets,
        )
        self._received_transactional_offset_commits = True
        producer_offsets = self._pending_transactional_offset_commits.setdefault(producer_id, {})
        for topic_partition, offset_and_metadata in offsets.items():
            producer_offsets[topic_partition] = CommitRecordMetadataAndOffset(None, offset_and_metadata)

    @property
    def has_received_consistent_offset_commits(self) -> bool:
        """Whether the generation commits in one way only, in transactions or outside."""
        return not (self._received_consumer_offset_commits and self._received_transactional_offset_commits)

    def fail_pending_txn_offset_commit(self, producer_id: int, topic_partition: TopicPartition) -> None:
        """A commit of a transaction could not be appended; the client is told, and tries again, perhaps elsewhere."""
        pending_offsets = self._pending_transactional_offset_commits.get(producer_id)
        if pending_offsets is None:
            return  # the group has moved to another broker meanwhile
        failed = pending_offsets.pop(topic_partition, None)
        self.trace(
            "TxnOffsetCommit for producer %s and group %s with offsets %s failed to be appended to the log",
            producer_id,
            self.group_id,
            failed,
        )
        if not pending_offsets:
            del self._pending_transactional_offset_commits[producer_id]

    def on_txn_offset_commit_append(
        self,
        producer_id: int,
        topic_partition: TopicPartition,
        commit_record_metadata_and_offset: CommitRecordMetadataAndOffset,
    ) -> None:
        """A commit of a transaction is in the log; if the group has moved meanwhile, that is not our business."""
        pending_offsets = self._pending_transactional_offset_commits.get(producer_id, {})
        pending = pending_offsets.get(topic_partition)
        committed = commit_record_metadata_and_offset
        if pending is not None and pending.offset_and_metadata == committed.offset_and_metadata:
            pending_offsets[topic_partition] = committed

    def complete_pending_txn_offset_commit(self, producer_id: int, is_commit: bool) -> None:
        """The transaction's marker is in the log: its commits count from now on, or never.

        IllegalStateException if one of them is not in the log itself.
        """
        pending_offsets = self._pending_transactional_offset_commits.pop(producer_id, {})
        if not is_commit:
            self.trace(
                "TxnOffsetCommit for producer %s and group %s with offsets %s aborted",
                producer_id,
                self.group_id,
                pending_offsets,
            )
            return
        for topic_partition, committed in pending_offsets.items():
            if committed.appended_batch_offset is None:
                raise IllegalStateException(
                    f"Trying to complete a transactional offset commit for producerId {producer_id} and groupId "
                    f"{self.group_id} even though the offset commit record itself hasn't been appended to the log."
                )
            known = self._offsets.get(topic_partition)
            counts = known is None or known.older_than(committed)
            if counts:
                self._offsets[topic_partition] = committed
            self.trace(
                "TxnOffsetCommit for producer %s and group %s with offset %s committed%s",
                producer_id,
                self.group_id,
                committed,
                " and loaded into the cache." if counts else f", but not loaded since it is older than {known}.",
            )

    @property
    def active_producers(self) -> set[int]:
        """The producers with commits in open transactions."""
        return set(self._pending_transactional_offset_commits)

    def has_pending_offset_commits_from_producer(self, producer_id: int) -> bool:
        """Whether that producer has commits in an open transaction."""
        return producer_id in self._pending_transactional_offset_commits

    def has_pending_offset_commits_for_topic_partition(self, topic_partition: TopicPartition) -> bool:
        """Whether a commit for the partition is on its way, or waits for its transaction."""
        return topic_partition in self._pending_offset_commits or any(
            topic_partition in pending for pending in self._pending_transactional_offset_commits.values()
        )

    def remove_all_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Forget all that was committed; what that was."""
        return self.remove_offsets(list(self._offsets))

    def remove_offsets(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Forget what was committed for these, or is about to be; what that was."""
        removed = {}
        for topic_partition in topic_partitions:
            self._pending_offset_commits.pop(topic_partition, None)
            for pending_offsets in self._pending_transactional_offset_commits.values():
                pending_offsets.pop(topic_partition, None)
            offset = self._offsets.pop(topic_partition, None)
            if offset is not None:
                removed[topic_partition] = offset.offset_and_metadata
        return removed

    def remove_expired_offsets(
        self, current_timestamp: int, offset_retention_ms: int
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Forget what has expired (KIP-211); what that was.

        The retention begins, for a group without members, when it became so; for topics that nobody in a stable group
        of consumers reads any more, and for who only commits, with the commit. What has its own time of expiry, from
        older clients and records, goes by that. While a group rebalances nobody knows what its members will read, so
        nothing expires (KAFKA-13636).
        """
        expired = {
            tp: committed.offset_and_metadata
            for tp, committed in self._offsets.items()
            if self._may_expire(tp)
            and self._has_expired(committed.offset_and_metadata, current_timestamp, offset_retention_ms)
        }
        if expired:
            self.debug("Expired offsets from group '%s': %s", self.group_id, list(expired))
        for topic_partition in expired:
            del self._offsets[topic_partition]
        return expired

    def _may_expire(self, topic_partition: TopicPartition) -> bool:
        if topic_partition in self._pending_offset_commits:
            return False
        if self.protocol_type is None or self.is_(Empty):
            return True
        topics = self._subscribed_topics
        knows_topics = self.is_(Stable) and self.is_consumer_group and topics is not None
        return knows_topics and topic_partition.topic not in (topics or ())

    def _has_expired(self, committed: OffsetAndMetadata, current_timestamp: int, offset_retention_ms: int) -> bool:
        if committed.expire_timestamp is not None:
            return current_timestamp >= committed.expire_timestamp
        since = committed.commit_timestamp
        if self.protocol_type is not None and self.is_(Empty) and self.current_state_timestamp is not None:
            since = self.current_state_timestamp
        return current_timestamp - since >= offset_retention_ms

    @property
    def all_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """All that is committed."""
        return {tp: committed.offset_and_metadata for tp, committed in self._offsets.items()}

    def offset(self, topic_partition: TopicPartition) -> OffsetAndMetadata | None:
        """What is committed for a partition."""
        committed = self._offsets.get(topic_partition)
        return None if committed is None else committed.offset_and_metadata

    def offset_with_record_metadata(self, topic_partition: TopicPartition) -> CommitRecordMetadataAndOffset | None:
        """The same, with the place in the log."""
        return self._offsets.get(topic_partition)

    @property
    def num_offsets(self) -> int:
        """For how many partitions something is committed."""
        return len(self._offsets)

    @property
    def has_offsets(self) -> bool:
        """Whether something is committed, or about to be."""
        return bool(self._offsets or self._pending_offset_commits or self._pending_transactional_offset_commits)

    def __str__(self) -> str:
        return (
            f"GroupMetadata(groupId={self.group_id}, generation={self.generation_id}, "
            f"protocolType={self.protocol_type}, currentState={self._state}, members={self._members})"
        )

    __repr__ = __str__
