"""Partition: leadership, high watermark, ISR, appends as leader and as follower."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.partition import Partition
from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import (
    FencedLeaderEpochException,
    IllegalStateException,
    NotEnoughReplicasException,
    NotLeaderForPartitionException,
    OffsetOutOfRangeException,
    PolicyViolationException,
    ReplicaNotAvailableException,
    UnexpectedAppendOffsetException,
    UnknownLeaderEpochException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.log.log_config import LogConfig
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.server.log_read_result import LogReadResult
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.zk.zk_data import TopicPartitionStateZNode
from tests.server.replica_support import Env, partition_state, records

TP = TopicPartition("test-topic", 0)


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    yield env
    env.close()


@pytest.fixture
def partition(env: Env) -> Partition:
    return env.replica_manager.get_or_create_partition(TP)


def make_leader(partition: Partition, replicas: list[int], isr: list[int] | None = None, epoch: int = 1) -> bool:
    return partition.make_leader(0, partition_state(1, epoch, isr or replicas, replicas), 0)


def fetched(env: Env, partition: Partition, replica_id: int, offset: int) -> bool:
    """What a Fetch of a follower at `offset` does."""
    leader, replica = partition.leader_replica_if_local, partition.get_replica(replica_id)
    assert leader is not None
    assert replica is not None
    end = leader.log_end_offset
    info = FetchDataInfo(LogOffsetMetadata(offset, 0, 0 if offset == 0 else 1), MemoryRecords.EMPTY)
    result = LogReadResult(info, 0, 0, end.message_offset, 0, env.time.milliseconds(), 100, None)
    return partition.update_replica_log_read_result(replica, result)


def high_watermark(partition: Partition) -> int:
    return partition.get_replica_or_exception().high_watermark.message_offset


# ---- leadership


def test_the_only_replica_leads_and_its_high_watermark_is_the_log_end(partition: Partition) -> None:
    assert make_leader(partition, [1])
    assert partition.leader_replica_if_local is partition.get_replica(1)
    assert partition.get_leader_epoch == 1
    info = partition.append_records_to_leader(records(b"a", b"b"), True)
    assert (info.first_offset, info.last_offset) == (0, 1)
    assert high_watermark(partition) == 2
    assert partition.check_enough_replicas_reach_offset(2) == (True, Errors.NONE)


def test_leading_again_is_no_news(partition: Partition) -> None:
    assert make_leader(partition, [1, 2])
    assert not make_leader(partition, [1, 2, 3], epoch=2)
    assert {r.broker_id for r in partition.assigned_replicas()} == {1, 2, 3}
    assert partition.get_leader_epoch == 2


def test_removed_replicas_are_forgotten(partition: Partition) -> None:
    make_leader(partition, [1, 2, 3])
    make_leader(partition, [1, 2], epoch=2)
    assert partition.get_replica(3) is None
    with pytest.raises(ReplicaNotAvailableException, match="Replica 3 is not available"):
        partition.get_replica_or_exception(3)


def test_a_new_leader_knows_nothing_of_its_followers(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2])
    partition.append_records_to_leader(records(b"a"), True)
    fetched(env, partition, 2, 1)
    assert high_watermark(partition) == 1
    partition.make_follower(0, partition_state(2, 2, [2], [1, 2]), 0)
    make_leader(partition, [1, 2], epoch=3)
    replica = partition.get_replica_or_exception(2)
    assert replica.log_end_offset == LogOffsetMetadata.UNKNOWN_OFFSET_METADATA
    assert high_watermark(partition) == 1, "it never moves back"


def test_the_high_watermark_starts_from_the_checkpoint_capped_by_the_log(env: Env, partition: Partition) -> None:
    (checkpoint,) = env.replica_manager.high_watermark_checkpoints.values()
    log = env.log_manager.get_or_create_log(TP, env.log_manager.current_default_config, True)
    log.append_as_leader(records(b"a", b"b", b"c"), 0)
    checkpoint.write({TP: 2})
    assert partition.get_or_create_replica().high_watermark.message_offset == 2
    other = TopicPartition("other", 0)
    checkpoint.write({other: 10})
    replica = env.replica_manager.get_or_create_partition(other).get_or_create_replica()
    assert replica.high_watermark.message_offset == 0


def test_settings_that_change_while_the_log_is_made_are_not_missed(
    env: Env, partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_log = env.log_manager.get_or_create_log

    def overtaken(*args: Any) -> Any:
        # whoever takes over changes finds no log of the topic yet
        env.zk.topic_configs[TP.topic] = {"min.insync.replicas": "2"}
        env.log_manager.current_default_config = LogConfig({"retention.ms": 77})
        env.log_manager.updated_meanwhile = True
        return make_log(*args)

    monkeypatch.setattr(env.log_manager, "get_or_create_log", overtaken)
    make_leader(partition, [1, 2], isr=[1])
    log = partition.get_replica_or_exception().log
    assert log is not None
    assert (log.config.min_in_sync_replicas, log.config.retention_ms) == (2, 77)
    with pytest.raises(NotEnoughReplicasException):
        partition.append_records_to_leader(records(b"a"), True, -1)


@pytest.mark.ported("PartitionTest.testMakeFollowerWithNoLeaderIdChange", changes="1.1.1 has no such test yet")
def test_a_follower_tells_whether_its_leader_changed(partition: Partition) -> None:
    assert partition.make_follower(0, partition_state(2, 1, [2], [1, 2]), 0)
    assert not partition.make_follower(0, partition_state(2, 1, [2], [1, 2]), 0)
    assert partition.make_follower(0, partition_state(2, 2, [2], [1, 2]), 0), "its fetches bear the epoch"
    assert partition.make_follower(0, partition_state(3, 3, [3], [1, 3]), 0)
    assert partition.in_sync_replicas == frozenset()
    assert partition.leader_replica_id_opt == 3


def test_a_follower_that_missed_a_leader_epoch_cuts_its_log_again(partition: Partition) -> None:
    assert partition.make_follower(0, partition_state(2, 1, [2], [1, 2, 3]), 0)
    assert partition.make_follower(0, partition_state(2, 3, [2], [1, 2, 3]), 0), "3 may have led in epoch 2"
    assert not partition.make_follower(0, partition_state(2, 3, [2], [1, 2, 3]), 0)


def test_a_deposed_leader_refuses_everything(partition: Partition) -> None:
    make_leader(partition, [1])
    partition.make_follower(0, partition_state(2, 2, [2], [1, 2]), 0)
    with pytest.raises(NotLeaderForPartitionException, match="Leader not local for partition test-topic-0 on broker 1"):
        partition.append_records_to_leader(records(b"a"), True)
    with pytest.raises(NotLeaderForPartitionException):
        _ = partition.low_watermark_if_leader()
    with pytest.raises(NotLeaderForPartitionException):
        partition.delete_records_on_leader(0)
    assert partition.check_enough_replicas_reach_offset(0) == (False, Errors.NOT_LEADER_FOR_PARTITION)
    answer = partition.last_offset_for_leader_epoch(1)
    assert answer == EpochEndOffset(Errors.NOT_LEADER_FOR_PARTITION, EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
    assert partition.log_start_offset == -1


def test_a_change_of_leader_waits_for_the_append_in_progress(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_leader(partition, [1])
    log = partition.get_replica_or_exception().log
    assert log is not None
    order: list[str] = []
    append_as_leader = log.append_as_leader

    def slow_append(*args: Any) -> Any:
        thread.start()
        thread.join(0.05)
        order.append("appended")
        return append_as_leader(*args)

    def depose() -> None:
        partition.make_follower(0, partition_state(2, 2, [2], [1, 2]), 0)
        order.append("deposed")

    thread = threading.Thread(target=depose)
    monkeypatch.setattr(log, "append_as_leader", slow_append)
    partition.append_records_to_leader(records(b"a"), True)
    thread.join()
    assert order == ["appended", "deposed"]


class OvertakenLock(ReentrantLock):  # type: ignore[misc]  # typeshed calls RLock final
    """Whoever comes to take it is overtaken by another thread, which does `meanwhile` first."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile
        self.overtaken = threading.current_thread()
        self.outcomes: list[object] = []

    def __enter__(self, blocking: bool = True, timeout: float = -1) -> bool:
        if threading.current_thread() is self.overtaken and not self.is_held_by_current_thread():
            thread = threading.Thread(target=self._overtake)
            thread.start()
            thread.join()
        return super().__enter__()

    def _overtake(self) -> None:
        try:
            self.outcomes.append(self.meanwhile())
        except Exception as e:
            self.outcomes.append(e)


def with_a_slow_replica(env: Env, partition: Partition) -> None:
    """Replicas 1 and 2 have two records, 3 has one of them, is in the ISR, but too far behind to count otherwise."""
    make_leader(partition, [1, 2, 3])
    partition.append_records_to_leader(records(b"a"), True)
    for replica_id in (2, 3):
        fetched(env, partition, replica_id, 1)
    partition.append_records_to_leader(records(b"b"), True, -1)
    env.time.sleep(11_000)
    fetched(env, partition, 2, 2)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2, 3}
    assert high_watermark(partition) == 1


@pytest.mark.parametrize("depose", ["make_follower", "delete"])
def test_an_append_in_the_middle_of_losing_leadership_acknowledges_nothing(
    env: Env, partition: Partition, depose: str
) -> None:
    with_a_slow_replica(env, partition)

    def append() -> tuple[int, tuple[bool, Errors]]:
        partition.append_records_to_leader(records(b"c"), True, -1)
        return high_watermark(partition), partition.check_enough_replicas_reach_offset(2)

    lock = partition._append_lock = OvertakenLock(append)
    if depose == "delete":
        partition.delete()
    else:
        partition.make_follower(0, partition_state(3, 2, [1, 2, 3], [1, 2, 3]), 0)
    assert lock.outcomes
    for outcome in lock.outcomes:
        assert outcome == (1, (False, Errors.NONE)) or isinstance(outcome, NotLeaderForPartitionException)
    assert isinstance(lock.outcomes[-1], NotLeaderForPartitionException)


def test_delete_forgets_replicas(partition: Partition) -> None:
    make_leader(partition, [1, 2])
    partition.delete()
    assert partition.leader_replica_if_local is None
    assert partition.assigned_replicas() == set()
    with pytest.raises(NotLeaderForPartitionException):
        partition.append_records_to_leader(records(b"a"), True)


# ---- leader epochs


def test_epoch_end_offsets(partition: Partition) -> None:
    make_leader(partition, [1], epoch=4)
    partition.append_records_to_leader(records(b"a", b"b"), True)
    make_leader(partition, [1], epoch=6)
    partition.append_records_to_leader(records(b"c"), True)
    assert partition.last_offset_for_leader_epoch(4).end_offset() == 2
    assert partition.last_offset_for_leader_epoch(6).end_offset() == 3


def test_a_leader_epoch_begins_with_the_election_and_not_with_the_first_append(partition: Partition) -> None:
    make_leader(partition, [1, 2], epoch=4)
    partition.append_records_to_leader(records(b"a", b"b"), True)
    partition.make_follower(0, partition_state(2, 5, [2], [1, 2]), 0)
    make_leader(partition, [1, 2], epoch=6)
    answer = partition.last_offset_for_leader_epoch(5)
    assert answer == EpochEndOffset(Errors.NONE, 2), "a follower with records of epoch 5 learns where to cut them off"
    assert partition.last_offset_for_leader_epoch(6).end_offset() == 2


def test_no_epoch_is_noted_for_a_log_without_records(partition: Partition) -> None:
    make_leader(partition, [1, 2], epoch=0)
    assert partition.last_offset_for_leader_epoch(0).end_offset() == EpochEndOffset.UNDEFINED_EPOCH_OFFSET


def test_without_epochs_in_the_records_none_is_noted(tmp_path: pathlib.Path) -> None:
    env = Env(tmp_path, {"message.format.version": "0.10.2"})
    try:
        partition = env.replica_manager.get_or_create_partition(TP)
        make_leader(partition, [1, 2], epoch=4)
        partition.append_records_to_leader(records(b"a", magic=1), True)
        make_leader(partition, [1, 2], epoch=5)
        assert partition.last_offset_for_leader_epoch(5).end_offset() == EpochEndOffset.UNDEFINED_EPOCH_OFFSET
    finally:
        env.close()


def test_readers_with_another_leader_epoch_are_refused(partition: Partition) -> None:
    make_leader(partition, [1], epoch=5)
    partition.check_current_leader_epoch(-1)
    partition.check_current_leader_epoch(5)
    with pytest.raises(FencedLeaderEpochException):
        partition.check_current_leader_epoch(4)
    with pytest.raises(UnknownLeaderEpochException):
        partition.check_current_leader_epoch(6)


# ---- high watermark and ISR


def test_the_high_watermark_is_the_smallest_log_end_of_the_isr(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2, 3])
    partition.append_records_to_leader(records(b"a", b"b", b"c"), True, -1)
    assert high_watermark(partition) == 0
    assert not fetched(env, partition, 2, 2)
    assert fetched(env, partition, 3, 1)
    assert high_watermark(partition) == 1
    assert partition.check_enough_replicas_reach_offset(1) == (True, Errors.NONE)
    assert partition.check_enough_replicas_reach_offset(2) == (False, Errors.NONE)
    assert fetched(env, partition, 3, 3)
    assert high_watermark(partition) == 2


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationForStuckFollowers")
def test_a_stuck_follower_leaves_the_isr_and_the_high_watermark_moves(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2, 3])
    partition.append_records_to_leader(records(b"a"), True)
    fetched(env, partition, 2, 1)
    env.time.sleep(10_001)
    fetched(env, partition, 2, 1)
    leader = partition.get_replica_or_exception()
    assert {r.broker_id for r in partition.get_out_of_sync_replicas(leader, 10_000)} == {3}
    partition.maybe_shrink_isr(10_000)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    assert high_watermark(partition) == 1
    assert env.replica_manager._isr_changes._isr_change_set == {TP}
    assert partition.is_under_replicated


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationIfNoFetchRequestMade")
def test_followers_that_never_fetch_leave_the_isr(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2])
    env.time.sleep(10_000)
    partition.maybe_shrink_isr(10_000)
    assert len(partition.in_sync_replicas) == 2
    env.time.sleep(1)
    partition.maybe_shrink_isr(10_000)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1}


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationForSlowFollowers")
def test_a_slow_follower_stays_as_long_as_it_reaches_the_end_of_last_time(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2])
    for i in range(5):
        partition.append_records_to_leader(records(b"x"), True)
        env.time.sleep(9_000)
        fetched(env, partition, 2, i)
        partition.maybe_shrink_isr(10_000)
        assert len(partition.in_sync_replicas) == 2, f"after {i + 1} rounds"


def test_a_follower_joins_the_isr_at_the_high_watermark(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2], isr=[1])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    assert high_watermark(partition) == 2
    fetched(env, partition, 2, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1}
    fetched(env, partition, 2, 2)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    assert env.replica_manager.isr_expand_rate.count >= 1
    (state,) = env.zk.written.values()
    assert b'"isr":[1,2]' in state.replace(b" ", b"") or b'"isr":[2,1]' in state.replace(b" ", b"")


def test_a_follower_that_is_about_to_join_the_isr_holds_the_high_watermark_back(
    env: Env, partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_leader(partition, [1, 2, 3], isr=[1, 2])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    fetched(env, partition, 2, 1)
    env.time.sleep(20_000)  # too long ago for replica 3 to count as caught up
    seen: list[int] = []
    write = env.zk.conditional_update_path

    def slow_write(*args: Any) -> tuple[bool, int]:
        fetched(env, partition, 2, 2)
        seen.append(high_watermark(partition))
        return write(*args)

    monkeypatch.setattr(env.zk, "conditional_update_path", slow_write)
    fetched(env, partition, 3, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2, 3}
    assert (seen, high_watermark(partition)) == ([1], 1), "the new ISR does not have record 1 yet"
    assert fetched(env, partition, 3, 2)
    assert high_watermark(partition) == 2


def test_no_fetch_waits_for_a_change_of_the_isr_that_is_under_way(
    env: Env, partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_leader(partition, [1, 2, 3], isr=[1])
    write = env.zk.conditional_update_path
    other = threading.Thread(target=fetched, args=(env, partition, 3, 0))
    was_blocked: list[bool] = []

    def slow_write(*args: Any) -> tuple[bool, int]:
        if not was_blocked:
            other.start()
            other.join(10)
            was_blocked.append(other.is_alive())
        return write(*args)

    monkeypatch.setattr(env.zk, "conditional_update_path", slow_write)
    fetched(env, partition, 2, 0)
    other.join()
    assert was_blocked == [False]
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    fetched(env, partition, 3, 0)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2, 3}


def test_no_fetch_waits_for_zookeeper(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2], isr=[1])
    env.zk.is_connected = False
    fetched(env, partition, 2, 0)
    assert env.zk.written == {}
    env.zk.is_connected = True
    fetched(env, partition, 2, 0)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}


def test_a_follower_that_could_not_join_the_isr_holds_nothing_back(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2, 3], isr=[1, 2])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    fetched(env, partition, 2, 1)
    env.time.sleep(20_000)
    env.zk.versions[f"/brokers/topics/{TP.topic}/partitions/{TP.partition}/state"] = 7
    fetched(env, partition, 3, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    assert fetched(env, partition, 2, 2)
    assert high_watermark(partition) == 2


def test_a_follower_joins_the_isr_when_it_has_all_the_leader_had_at_its_election(
    env: Env, partition: Partition
) -> None:
    make_leader(partition, [1, 2, 3], isr=[1, 2])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    partition.make_follower(0, partition_state(2, 2, [2], [1, 2, 3]), 0)
    make_leader(partition, [1, 2, 3], isr=[1, 2], epoch=3)
    assert high_watermark(partition) == 0, "it lags behind what the old leader had committed"
    env.time.sleep(20_000)
    fetched(env, partition, 3, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    fetched(env, partition, 3, 2)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2, 3}


def test_an_isr_update_with_a_stale_version_changes_nothing(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2], isr=[1])
    env.zk.versions[f"/brokers/topics/{TP.topic}/partitions/{TP.partition}/state"] = 7
    failed = env.replica_manager.failed_isr_updates_rate.count
    fetched(env, partition, 2, 0)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1}
    assert env.replica_manager.failed_isr_updates_rate.count == failed + 1


def test_an_isr_update_whose_answer_was_lost_is_recognised(env: Env, partition: Partition) -> None:
    path = f"/brokers/topics/{TP.topic}/partitions/{TP.partition}/state"
    make_leader(partition, [1, 2], isr=[1])
    fetched(env, partition, 2, 0)
    ours = env.zk.written[path]
    make_leader(partition, [1, 2], isr=[1])
    env.zk.versions[path], env.zk.written[path] = 1, ours
    assert fetched(env, partition, 2, 0) is False
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}


@pytest.mark.parametrize("has_arrived", [True, False])
def test_a_replica_that_perhaps_is_in_zookeepers_isr_holds_the_high_watermark_back(
    env: Env, partition: Partition, monkeypatch: pytest.MonkeyPatch, has_arrived: bool
) -> None:
    make_leader(partition, [1, 2, 3], isr=[1, 2, 3], epoch=1)
    env.time.sleep(11_000)
    fetched(env, partition, 2, 0)
    partition.maybe_shrink_isr(10_000)  # so that there is a state in ZooKeeper
    partition.append_records_to_leader(records(b"a", b"b"), True)
    fetched(env, partition, 2, 1)
    env.time.sleep(20_000)
    write = env.zk.conditional_update_path

    def write_without_answer(*args: Any) -> tuple[bool, int]:
        if has_arrived:
            write(*args)
        raise OSError("injected: session expired")

    monkeypatch.setattr(env.zk, "conditional_update_path", write_without_answer)
    with pytest.raises(OSError, match="session expired"):
        fetched(env, partition, 3, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    assert not fetched(env, partition, 2, 2)
    assert high_watermark(partition) == 1, "replica 3 may be elected, and lacks record 1"
    monkeypatch.setattr(env.zk, "conditional_update_path", write)
    env.replica_manager._isr_changes._isr_change_set.clear()
    partition.maybe_shrink_isr(100_000)  # takes nobody out, but looks
    assert {r.broker_id for r in partition.in_sync_replicas} == ({1, 2, 3} if has_arrived else {1, 2})
    assert high_watermark(partition) == (1 if has_arrived else 2)
    assert env.replica_manager._isr_changes._isr_change_set == ({TP} if has_arrived else set())
    fetched(env, partition, 3, 2)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2, 3}
    assert high_watermark(partition) == 2


def test_the_isr_of_a_controller_that_has_decided_anew_holds_the_high_watermark_back(
    env: Env, partition: Partition
) -> None:
    make_leader(partition, [1, 2, 3], isr=[1, 2])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    fetched(env, partition, 2, 1)
    env.time.sleep(20_000)
    path = TopicPartitionStateZNode.path(TP)
    decided = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, 2, [1, 2, 3], 7), 1)
    env.zk.versions[path], env.zk.written[path] = 7, TopicPartitionStateZNode.encode(decided)
    fetched(env, partition, 3, 1)
    assert {r.broker_id for r in partition.in_sync_replicas} == {1, 2}
    assert not fetched(env, partition, 2, 2)
    assert high_watermark(partition) == 1
    make_leader(partition, [1, 2, 3], isr=[1, 2], epoch=3)
    assert high_watermark(partition) == 2


def test_a_caught_up_replica_outside_the_isr_holds_the_high_watermark_back(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2], isr=[1])
    env.zk.versions[f"/brokers/topics/{TP.topic}/partitions/{TP.partition}/state"] = 7  # no ISR change succeeds
    fetched(env, partition, 2, 0)
    partition.append_records_to_leader(records(b"a"), True)
    assert high_watermark(partition) == 0
    env.time.sleep(20_000)
    partition.append_records_to_leader(records(b"b"), True)
    assert high_watermark(partition) == 2


def test_the_high_watermark_follows_a_roll(partition: Partition) -> None:
    make_leader(partition, [1])
    partition.append_records_to_leader(records(b"a"), True)
    replica = partition.get_replica_or_exception()
    assert replica.log is not None
    replica.log.roll()
    assert replica.high_watermark.on_older_segment(replica.log_end_offset)
    assert partition._maybe_increment_leader_hw(replica)
    assert replica.high_watermark == replica.log_end_offset
    assert not partition._maybe_increment_leader_hw(replica)


def test_acks_all_needs_min_insync_replicas(tmp_path: pathlib.Path) -> None:
    env = Env(tmp_path, {"min.insync.replicas": "2"})
    try:
        partition = env.replica_manager.get_or_create_partition(TP)
        make_leader(partition, [1, 2], isr=[1])
        with pytest.raises(
            NotEnoughReplicasException,
            match=r"Number of insync replicas for partition test-topic-0 is \[1\], below required minimum \[2\]",
        ):
            partition.append_records_to_leader(records(b"a"), True, -1)
        assert partition.get_replica_or_exception().log_end_offset.message_offset == 0
        partition.append_records_to_leader(records(b"a"), True, 1)
        assert partition.is_under_min_isr
        assert partition.check_enough_replicas_reach_offset(1) == (True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    finally:
        env.close()


def test_acks_all_counts_the_replicas_that_are_in_sync_when_the_high_watermark_has_moved(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = Env(tmp_path, {"min.insync.replicas": "2"})
    try:
        partition = env.replica_manager.get_or_create_partition(TP)
        make_leader(partition, [1, 2])
        partition.append_records_to_leader(records(b"a"), True, -1)
        env.time.sleep(20_000)
        high_watermark_of = cast("Any", Replica.high_watermark)
        in_between = [lambda: partition.maybe_shrink_isr(10_000)]

        def read(replica: Replica) -> Any:
            while in_between:
                in_between.pop()()
            return high_watermark_of.fget(replica)

        monkeypatch.setattr(Replica, "high_watermark", property(read, high_watermark_of.fset))
        assert partition.check_enough_replicas_reach_offset(1) == (True, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    finally:
        env.close()


# ---- appending as a follower, truncating, deleting records


@pytest.mark.ported("PartitionTest.testAppendRecordsAsFollowerBelowLogStartOffset")
def test_an_empty_log_starts_at_the_first_batch_even_below_its_start(env: Env, partition: Partition) -> None:
    partition.make_follower(0, partition_state(2, 1, [2], [1, 2]), 0)
    replica = partition.get_replica_or_exception()
    partition.truncate_fully_and_start_at(5, is_future=False)
    assert replica.log_end_offset.message_offset == 5

    def batch(offset: int) -> MemoryRecords:
        return records(b"a", b"b", b"c", initial_offset=offset, partition_leader_epoch=1)

    with pytest.raises(UnexpectedAppendOffsetException):
        partition.append_records_to_follower_or_future_replica(batch(2), False)  # ends below the log start
    assert replica.log_end_offset.message_offset == 5
    partition.append_records_to_follower_or_future_replica(batch(3), False)  # 3 to 5
    assert replica.log_start_offset == 3
    assert replica.log_end_offset.message_offset == 6
    with pytest.raises(UnexpectedAppendOffsetException):
        partition.append_records_to_follower_or_future_replica(batch(4), False)
    partition.append_records_to_follower_or_future_replica(batch(6), False)
    assert replica.log_end_offset.message_offset == 9


def test_truncate_to(partition: Partition) -> None:
    make_leader(partition, [1])
    partition.append_records_to_leader(records(b"a"), True)
    partition.append_records_to_leader(records(b"b"), True)
    partition.truncate_to(1, is_future=False)
    assert partition.get_replica_or_exception().log_end_offset.message_offset == 1


def test_delete_records_moves_the_start_of_the_log(env: Env, partition: Partition) -> None:
    make_leader(partition, [1])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    assert partition.delete_records_on_leader(1) == 1
    assert partition.log_start_offset == 1
    with pytest.raises(OffsetOutOfRangeException):
        partition.delete_records_on_leader(3)


def test_the_low_watermark_counts_live_followers_only(env: Env, partition: Partition) -> None:
    make_leader(partition, [1, 2])
    partition.append_records_to_leader(records(b"a", b"b"), True)
    fetched(env, partition, 2, 2)
    assert partition.delete_records_on_leader(2) == 0, "the follower still has its log start at 0"
    env.metadata_cache.alive.discard(2)
    assert partition.low_watermark_if_leader() == 2


def test_records_of_a_compacted_topic_are_not_deleted(env: Env, partition: Partition) -> None:
    env.zk.topic_configs[TP.topic] = {"cleanup.policy": "compact"}
    make_leader(partition, [1])
    with pytest.raises(PolicyViolationException, match="test-topic-0"):
        partition.delete_records_on_leader(0)


# ---- another log directory


def test_the_future_replica_takes_over_when_it_has_caught_up(
    env: Env, partition: Partition, tmp_path: pathlib.Path
) -> None:
    make_leader(partition, [1])
    partition.append_records_to_leader(records(b"a"), True)
    assert not partition.maybe_create_future_replica(str(tmp_path)), "it is there already"
    assert partition.maybe_create_future_replica("/another/dir")
    with pytest.raises(IllegalStateException, match="is different from the requested log dir"):
        partition.maybe_create_future_replica("/a/third")
    assert not partition.maybe_create_future_replica(str(tmp_path)), "its own directory is no move"
    assert not partition.maybe_replace_current_with_future_replica()
    partition.append_records_to_follower_or_future_replica(records(b"a", partition_leader_epoch=1), is_future=True)
    future_log = partition.get_replica_or_exception(-3).log
    assert future_log is not None
    assert partition.maybe_replace_current_with_future_replica()
    assert partition.get_replica_or_exception().log is future_log
    assert future_log.recovery_point == future_log.log_end_offset == 1, "it is on disk before the other one goes"
    assert partition.get_replica_or_exception().epochs is future_log.leader_epoch_cache
    assert partition.get_replica(-3) is None
    assert len(partition.assigned_replicas()) == 1


def test_the_future_replica_can_be_given_up(partition: Partition) -> None:
    make_leader(partition, [1])
    partition.maybe_create_future_replica("/another/dir")
    assert len(partition.all_replicas()) == 2
    partition.remove_future_local_replica()
    assert partition.get_replica(-3) is None


# ---- the object itself


def test_printed_with_leader_replicas_and_isr(partition: Partition) -> None:
    make_leader(partition, [1, 2], isr=[1])
    assert repr(partition) == "Topic: test-topic; Partition: 0; Leader: 1; AllReplicas: 1,2; InSyncReplicas: 1"


def test_equal_by_name_and_offline_flag(env: Env, partition: Partition) -> None:
    offline = Partition(TP.topic, TP.partition, None, None, is_offline=True)
    assert partition != offline
    assert offline == Partition(TP.topic, TP.partition, None, None, is_offline=True)
    assert len({partition, offline, Partition(TP.topic, TP.partition, None, None, is_offline=True)}) == 2


def test_a_replica_made_elsewhere_is_added_once(partition: Partition) -> None:
    make_leader(partition, [1])
    first, second = Replica(2, TP), Replica(2, TP)
    assert partition.add_replica_if_not_exists(first) is None
    assert partition.add_replica_if_not_exists(second) is first
    partition.append_records_to_leader(records(b"a"), True)
    assert high_watermark(partition) == 1, "a replica that never fetched and is not in the ISR does not count"


def test_gauges(partition: Partition) -> None:
    from kafka_py.metrics.yammer import Metrics

    make_leader(partition, [1, 2], isr=[1])

    def gauge(name: str) -> object:
        metric = Metrics.default_registry().all_metrics()[partition.metric_name(name, partition._metrics._tags)]
        return metric.value()  # type: ignore[attr-defined]

    assert gauge("UnderReplicated") == 1
    assert gauge("InSyncReplicasCount") == 1
    assert gauge("ReplicasCount") == 2
    assert gauge("UnderMinIsr") == 0
    assert gauge("LastStableOffsetLag") == 0
