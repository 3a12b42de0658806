"""A GroupCoordinator on a clock and a log that the test holds in its hands."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar, cast

from kafka_py.common.internals.topic import Topic
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.delayed_heartbeat import DelayedHeartbeat
from kafka_py.coordinator.group.delayed_join import DelayedJoin
from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
from kafka_py.coordinator.group.group_metadata import Dead, Empty, GroupMetadata, Stable
from kafka_py.coordinator.group.group_results import (
    UNKNOWN_MEMBER_ID,
    JoinGroupResult,
    LeaveGroupResult,
    SyncGroupResult,
)
from kafka_py.log.verification_guard import VerificationGuard
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.testing.mock_timer import MockTimer

GROUP = "groupId"
# its hash falls on the other of two partitions, which is not ours
OTHER_GROUP = "otherGroup"
PROTOCOL_TYPE = "consumer"
PROTOCOLS = [("range", b"")]
SUPERSET = [("range", b""), ("roundrobin", b"")]
SESSION_TIMEOUT = 500
REBALANCE_TIMEOUT = 500
INITIAL_DELAY = 50
MIN_SESSION_TIMEOUT = 10
MAX_SESSION_TIMEOUT = 10 * 60 * 1000
MAX_SIZE = 4
NO_GENERATION = -1
LEADER = "leader"
FOLLOWER = "follower"

CONFIG = KafkaConfig(
    {
        "zookeeper.connect": "z",
        "broker.id": "0",
        "group.min.session.timeout.ms": str(MIN_SESSION_TIMEOUT),
        "group.max.session.timeout.ms": str(MAX_SESSION_TIMEOUT),
        "group.max.size": str(MAX_SIZE),
        "group.initial.rebalance.delay.ms": str(INITIAL_DELAY),
    },
    do_log=False,
)
T = TypeVar("T")


class Answer(Generic[T]):
    """A callback, and what it was called with: once, or not at all yet."""

    def __init__(self) -> None:
        self._given: list[T] = []

    def __call__(self, value: T) -> None:
        assert not self._given, f"answered twice: {self._given}, {value}"
        self._given.append(value)

    @property
    def is_completed(self) -> bool:
        return bool(self._given)

    @property
    def value(self) -> T:
        assert self._given, "not answered"
        return self._given[0]


class FakeReplicaManager:
    """A log that takes everything, answers at once or when told to, and remembers how much it was given.

    `error`: what the next appends fail with; `hold`: keep the answers until `release`.
    """

    def __init__(self) -> None:
        self.error = Errors.NONE
        self.hold = False
        self.magic: int | None = 2
        # what a transaction's coordinator answers, and the guard that is to be shown then
        self.verdict = Errors.NONE
        self.guard: VerificationGuard | None = None
        self.verified: list[tuple[Any, ...]] = []
        self.guards: list[Any] = []
        self.appended: list[Mapping[TopicPartition, Any]] = []
        self.tombstones: list[Any] = []
        self._held: list[Callable[[], None]] = []
        self._next_offset = 0

    def append_records(
        self,
        timeout: int,
        required_acks: int,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: Mapping[TopicPartition, Any],
        response_callback: Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object],
        verification_guards: Mapping[TopicPartition, VerificationGuard] | None = None,
        **_: Any,
    ) -> None:
        self.guards.append(verification_guards)
        assert internal_topics_allowed
        assert not is_from_client
        error = self.error
        if error is Errors.NONE:
            self.appended.append(entries_per_partition)
        response = ProduceResponse.PartitionResponse(error, self._next_offset, -1, 0)
        self._next_offset += 1

        def answer() -> None:
            response_callback(dict.fromkeys(entries_per_partition, response))

        self._answer(answer)

    def maybe_start_transaction_verification_for_partition(self, *which: Any) -> None:
        *asked, callback = which
        self.verified.append(tuple(asked))
        self._answer(lambda: callback(self.verdict, self.guard))

    def _answer(self, answer: Callable[[], None]) -> None:
        if self.hold:
            self._held.append(answer)
        else:
            answer()

    def release(self) -> None:
        self.hold = False
        held, self._held = self._held, []
        for answer in held:
            answer()

    def get_magic(self, topic_partition: TopicPartition) -> int | None:
        return self.magic

    def get_log(self, topic_partition: TopicPartition) -> None:
        return None

    def get_log_end_offset(self, topic_partition: TopicPartition) -> int:
        return 0

    def non_offline_partition(self, topic_partition: TopicPartition) -> Any:
        return SimpleNamespace(append_records_to_leader=self._append_to_leader)

    get_partition = non_offline_partition

    def _append_to_leader(self, records: Any, *_: Any, **__: Any) -> Any:
        self.tombstones.append(records)
        return SimpleNamespace()


class FakeZkClient:
    def get_topic_partition_count(self, topic: str) -> int:
        assert topic == Topic.GROUP_METADATA_TOPIC_NAME
        return 2


class Rebalanced(NamedTuple):
    generation: int
    leader_id: str
    leader_assignment: bytes
    follower_id: str
    follower_assignment: bytes


class Rig:
    """The coordinator, and Kafka's helpers to talk to it. It owns GROUP's partition and not OTHER_GROUP's."""

    def __init__(
        self,
        config: KafkaConfig = CONFIG,
        replica_manager: FakeReplicaManager | None = None,
        heartbeats: DelayedOperationPurgatory[DelayedHeartbeat] | None = None,
        joins: DelayedOperationPurgatory[DelayedJoin] | None = None,
    ) -> None:
        self.timer = MockTimer()
        self.time = self.timer.time
        self.replica_manager = replica_manager or FakeReplicaManager()
        self.metrics = Metrics(time=self.time)
        self.coordinator = GroupCoordinator.apply(
            config,
            cast("Any", FakeZkClient()),
            cast("Any", self.replica_manager),
            self.time,
            self.metrics,
            heartbeats or DelayedOperationPurgatory("Heartbeat", self.timer, reaper_enabled=False),
            joins or DelayedOperationPurgatory("Rebalance", self.timer, reaper_enabled=False),
        )
        self.coordinator.startup(enable_metadata_expiration=False)
        self.manager = self.coordinator.group_manager
        self.partition = self.coordinator.partition_for(GROUP)
        self.other_partition = self.coordinator.partition_for(OTHER_GROUP)
        assert self.partition != self.other_partition
        self.manager.add_partition_ownership(self.partition)

    def close(self) -> None:
        self.coordinator.shutdown()
        self.metrics.close()

    # -- The groups themselves

    def group(self, group_id: str = GROUP) -> GroupMetadata:
        found = self.manager.get_group(group_id)
        assert found is not None
        return found

    def state(self) -> object:
        return self.group().current_state

    def add_dead_group(self, group_id: str = GROUP) -> GroupMetadata:
        return self.manager.add_group(GroupMetadata(group_id, Dead, self.time))

    def advance(self, ms: int) -> None:
        self.timer.advance_clock(ms)

    # -- Joins

    def send_join(
        self,
        member_id: str = UNKNOWN_MEMBER_ID,
        group_id: str = GROUP,
        protocol_type: str = PROTOCOL_TYPE,
        protocols: Sequence[tuple[str, bytes]] = tuple(PROTOCOLS),
        instance_id: str | None = None,
        session_timeout: int = SESSION_TIMEOUT,
        rebalance_timeout: int = REBALANCE_TIMEOUT,
        require_known_member_id: bool = False,
    ) -> Answer[JoinGroupResult]:
        answer: Answer[JoinGroupResult] = Answer()
        self.coordinator.handle_join_group(
            group_id,
            member_id,
            instance_id,
            require_known_member_id,
            "clientId",
            "clientHost",
            rebalance_timeout,
            session_timeout,
            protocol_type,
            list(protocols),
            answer,
        )
        return answer

    def join_partial(self, session_timeout: int = SESSION_TIMEOUT, group_id: str = GROUP) -> JoinGroupResult:
        """Ask for an id, and no more."""
        return self.send_join(group_id=group_id, session_timeout=session_timeout, require_known_member_id=True).value

    def join(self, member_id: str = UNKNOWN_MEMBER_ID, **how: Any) -> JoinGroupResult:
        """A dynamic member, which comes back with the id it is given."""
        answer = self.send_join(member_id, require_known_member_id=True, **how)
        if member_id == UNKNOWN_MEMBER_ID:
            if answer.value.error is not Errors.MEMBER_ID_REQUIRED:
                return answer.value
            answer = self.send_join(answer.value.member_id, require_known_member_id=True, **how)
        self.advance(INITIAL_DELAY + 1)
        return answer.value

    def static_join(
        self, instance_id: str, member_id: str = UNKNOWN_MEMBER_ID, clock_advance: int = INITIAL_DELAY + 1, **how: Any
    ) -> JoinGroupResult:
        answer = self.send_join(member_id, instance_id=instance_id, **how)
        self.advance(clock_advance)
        return answer.value

    # -- Syncs

    def send_sync(
        self,
        generation: int,
        member_id: str,
        assignment: Mapping[str, bytes] | None = None,
        group_id: str = GROUP,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        instance_id: str | None = None,
    ) -> Answer[SyncGroupResult]:
        answer: Answer[SyncGroupResult] = Answer()
        self.coordinator.handle_sync_group(
            group_id, generation, member_id, protocol_type, protocol_name, instance_id, assignment or {}, answer
        )
        return answer

    def sync(
        self, generation: int, member_id: str, assignment: Mapping[str, bytes] | None = None, **how: Any
    ) -> SyncGroupResult:
        return self.send_sync(generation, member_id, assignment, **how).value

    def stable_member(self, **how: Any) -> JoinGroupResult:
        """A group of one that has its assignment."""
        joined = self.join(**how)
        assert joined.error is Errors.NONE
        assert joined.member_id == joined.leader_id
        synced = self.sync(joined.generation_id, joined.member_id, {joined.member_id: b""})
        assert synced.error is Errors.NONE
        assert self.state() is Stable
        return joined

    def two_members(self) -> tuple[JoinGroupResult, JoinGroupResult]:
        """The leader and another member, whose rebalance awaits the assignment."""
        first = self.stable_member()
        other = self.send_join()
        again = self.send_join(first.member_id)
        assert again.value.error is Errors.NONE
        assert other.value.error is Errors.NONE
        assert again.value.generation_id == other.value.generation_id
        assert again.value.leader_id == other.value.leader_id == first.member_id
        return again.value, other.value

    def static_members(self, session_timeout: int = SESSION_TIMEOUT) -> Rebalanced:
        """A stable group of two static members, LEADER and FOLLOWER."""
        leader = self.send_join(instance_id=LEADER, protocols=SUPERSET, session_timeout=session_timeout)
        follower = self.send_join(instance_id=FOLLOWER, protocols=SUPERSET, session_timeout=session_timeout)
        # first the delay, then once more because somebody came in it
        self.advance(INITIAL_DELAY + 1)
        self.advance(REBALANCE_TIMEOUT + 1)
        assert (leader.value.error, follower.value.error) == (Errors.NONE, Errors.NONE)
        generation, leader_id, follower_id = (
            leader.value.generation_id,
            leader.value.member_id,
            follower.value.member_id,
        )
        assert generation == follower.value.generation_id == 1
        leader_synced = self.sync(generation, leader_id, {leader_id: b""})
        follower_synced = self.sync(generation, follower_id)
        assert (leader_synced.error, follower_synced.error) == (Errors.NONE, Errors.NONE)
        assert self.state() is Stable
        return Rebalanced(
            generation, leader_id, leader_synced.member_assignment, follower_id, follower_synced.member_assignment
        )

    # -- The rest

    def heartbeat(
        self, member_id: str, generation: int, group_id: str = GROUP, instance_id: str | None = None
    ) -> Errors:
        answer: Answer[Errors] = Answer()
        self.coordinator.handle_heartbeat(group_id, member_id, instance_id, generation, answer)
        return answer.value

    def leave(self, *members: tuple[str, str | None] | str, group_id: str = GROUP) -> LeaveGroupResult:
        """Member ids, or pairs of member id and instance id."""
        answer: Answer[LeaveGroupResult] = Answer()
        pairs = [(member, None) if isinstance(member, str) else member for member in members]
        leaving = [
            LeaveGroupRequest.Member(member_id=member_id, group_instance_id=instance_id)
            for member_id, instance_id in pairs
        ]
        self.coordinator.handle_leave_group(group_id, leaving, answer)
        return answer.value

    def offset(self, offset: int) -> OffsetAndMetadata:
        return OffsetAndMetadata(offset, None, "", self.time.milliseconds(), None)

    def commit(
        self,
        offsets: Mapping[TopicPartition, int],
        member_id: str = UNKNOWN_MEMBER_ID,
        generation: int = NO_GENERATION,
        group_id: str = GROUP,
        instance_id: str | None = None,
    ) -> dict[TopicPartition, Errors]:
        answer: Answer[dict[TopicPartition, Errors]] = Answer()
        metadata = {tp: self.offset(offset) for tp, offset in offsets.items()}
        self.coordinator.handle_commit_offsets(group_id, member_id, instance_id, generation, metadata, answer)
        return answer.value

    def txn_commit(
        self,
        offsets: Mapping[TopicPartition, int],
        producer_id: int = 1000,
        producer_epoch: int = 2,
        member_id: str = UNKNOWN_MEMBER_ID,
        generation: int = NO_GENERATION,
        group_id: str = GROUP,
        instance_id: str | None = None,
    ) -> dict[TopicPartition, Errors]:
        return self.send_txn_commit(
            offsets, producer_id, producer_epoch, member_id, generation, group_id, instance_id
        ).value

    def send_txn_commit(
        self,
        offsets: Mapping[TopicPartition, int],
        producer_id: int = 1000,
        producer_epoch: int = 2,
        member_id: str = UNKNOWN_MEMBER_ID,
        generation: int = NO_GENERATION,
        group_id: str = GROUP,
        instance_id: str | None = None,
    ) -> Answer[dict[TopicPartition, Errors]]:
        answer: Answer[dict[TopicPartition, Errors]] = Answer()
        metadata = {tp: self.offset(offset) for tp, offset in offsets.items()}
        self.coordinator.handle_txn_commit_offsets(
            group_id, "txn", producer_id, producer_epoch, member_id, instance_id, generation, metadata, answer
        )
        return answer

    def complete_txn(self, producer_id: int, is_commit: bool, partition: int | None = None) -> None:
        partitions = {self.partition if partition is None else partition}
        self.manager.handle_txn_completion(producer_id, partitions, is_commit)

    def fetch(self, *partitions: TopicPartition, group_id: str = GROUP, require_stable: bool = True) -> dict[Any, Any]:
        error, found = self.coordinator.handle_fetch_offsets(group_id, require_stable, list(partitions) or None)
        assert error is Errors.NONE
        return found


def pending_member(rig: Rig) -> JoinGroupResult:
    """Two members that have both joined again, and a third that has been given an id and not come back: it waits."""
    first, second = rig.two_members()
    rig.sync(first.generation_id, first.member_id, {first.member_id: b""})
    assert rig.state() is Stable
    rig.send_join(first.member_id)
    pending = rig.join_partial(session_timeout=100)
    assert rig.group().num_pending == 1
    rig.send_join(second.member_id)
    assert rig.group().num_pending == 1
    return pending


def empty_group(rig: Rig) -> JoinGroupResult:
    """A group whose only member has joined, and left."""
    joined = rig.join()
    assert rig.leave(joined.member_id).top_level_error is Errors.NONE
    assert rig.state() is Empty
    return joined


def subscription(*topics: str) -> bytes:
    """A consumer's metadata in version 0: version, topics, no user data."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)
