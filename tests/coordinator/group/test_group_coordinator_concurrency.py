"""Groups whose members come, commit and go on threads of their own, while the log answers on another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Empty
from kafka_py.coordinator.group.group_results import JoinGroupResult, LeaveGroupResult, SyncGroupResult
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.server.kafka_config import KafkaConfig
from tests.coordinator.group.coordinator_support import PROTOCOLS, FakeReplicaManager, Rig

T = TypeVar("T")
GROUPS, MEMBERS, ROUNDS = 3, 3, 3
TIMEOUT_S = 20


class Promise(Generic[T]):
    """A callback whose value another thread waits for."""

    def __init__(self) -> None:
        self._given: queue.Queue[T] = queue.Queue()

    def __call__(self, value: T) -> None:
        self._given.put(value)

    def get(self) -> T:
        value = self._given.get(timeout=TIMEOUT_S)
        assert self._given.empty(), "answered twice"
        return value


class LateReplicaManager(FakeReplicaManager):
    """Answers on a thread of its own, under no lock, as a follower's fetch does."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="follower")
        self._thread.start()

    def _answer(self, answer: Callable[[], None]) -> None:
        self._answers.put(answer)

    def _run(self) -> None:
        while (answer := self._answers.get()) is not None:
            answer()

    def close(self) -> None:
        self._answers.put(None)
        self._thread.join(TIMEOUT_S)


class Member:
    """A consumer's way through its group: join, sync, heartbeat, commit, leave."""

    def __init__(self, rig: Rig, group_id: str, number: int) -> None:
        self._coordinator = rig.coordinator
        self._rig = rig
        self._group_id = group_id
        self._partition = TopicPartition(group_id, number)
        self.generations: list[int] = []

    def run(self) -> None:
        for offset in range(ROUNDS):
            member_id, generation = self._join("")
            while not self._work(member_id, generation, offset):
                member_id, generation = self._join(member_id)
            self._leave(member_id)

    def _join(self, member_id: str) -> tuple[str, int]:
        """Join until there is a generation that this member has its assignment of."""
        while True:
            joined: Promise[JoinGroupResult] = Promise()
            self._coordinator.handle_join_group(
                self._group_id, member_id, None, True, "c", "h", 200, 10_000, "consumer", PROTOCOLS, joined
            )
            result = joined.get()
            member_id = result.member_id
            if result.error is Errors.MEMBER_ID_REQUIRED or result.error is Errors.UNKNOWN_MEMBER_ID:
                continue
            assert result.error is Errors.NONE
            self.generations.append(result.generation_id)
            assignment = {member.member_id: member.member_id.encode() for member in result.members}
            synced: Promise[SyncGroupResult] = Promise()
            self._coordinator.handle_sync_group(
                self._group_id, result.generation_id, member_id, None, None, None, assignment, synced
            )
            sync = synced.get()
            if sync.error is Errors.NONE:
                assert sync.member_assignment == member_id.encode()
                return member_id, result.generation_id
            assert sync.error in (
                Errors.REBALANCE_IN_PROGRESS,
                Errors.ILLEGAL_GENERATION,
                Errors.UNKNOWN_MEMBER_ID,
            )
            member_id = "" if sync.error is Errors.UNKNOWN_MEMBER_ID else member_id

    def _work(self, member_id: str, generation: int, offset: int) -> bool:
        beat: Promise[Errors] = Promise()
        self._coordinator.handle_heartbeat(self._group_id, member_id, None, generation, beat)
        committed: Promise[dict[TopicPartition, Errors]] = Promise()
        self._coordinator.handle_commit_offsets(
            self._group_id, member_id, None, generation, {self._partition: self._rig.offset(offset)}, committed
        )
        assert beat.get() in (
            Errors.NONE,
            Errors.REBALANCE_IN_PROGRESS,
            Errors.ILLEGAL_GENERATION,
            Errors.UNKNOWN_MEMBER_ID,
        )
        if committed.get() != {self._partition: Errors.NONE}:
            return False
        found = self._rig.fetch(self._partition, group_id=self._group_id, require_stable=False)
        assert found[self._partition].offset == offset
        return True

    def _leave(self, member_id: str) -> None:
        left: Promise[LeaveGroupResult] = Promise()
        leaving = [LeaveGroupRequest.Member(member_id=member_id, group_instance_id=None)]
        self._coordinator.handle_leave_group(self._group_id, leaving, left)
        assert left.get().top_level_error is Errors.NONE


@pytest.mark.ported(
    "GroupCoordinatorConcurrencyTest.testConcurrentRandomSequence", changes="as many clients would, not step by step"
)
def test_members_on_many_threads_are_all_answered() -> None:
    replica_manager = LateReplicaManager()
    config = KafkaConfig({"zookeeper.connect": "z", "group.initial.rebalance.delay.ms": "5"}, do_log=False)
    heartbeats: Any = DelayedOperationPurgatory("Heartbeat")
    joins: Any = DelayedOperationPurgatory("Rebalance")
    rig = Rig(config, cast("Any", replica_manager), heartbeats, joins)
    rig.manager.add_partition_ownership(rig.other_partition)
    members = [Member(rig, f"group-{group}", number) for group in range(GROUPS) for number in range(MEMBERS)]
    errors: list[BaseException] = []

    def run(member: Member) -> None:
        try:
            member.run()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(member,)) for member in members]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT_S)
        assert errors == []
        assert not any(thread.is_alive() for thread in threads)
        for group in range(GROUPS):
            assert rig.group(f"group-{group}").current_state is Empty
        for member in members:
            assert member.generations == sorted(set(member.generations))
    finally:
        rig.close()
        replica_manager.close()
