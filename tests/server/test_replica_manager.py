"""ReplicaManager: acks, waiting, reading, orders of the controller, failed log directories."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import (
    ControllerMovedException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    ReplicaNotAvailableException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.delayed_produce import DelayedProduce
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.replica_manager import ReplicaManager
from kafka_py.server.replica_manager_leadership import ReplicaManagerLeadership
from tests.server.replica_support import Answers, Env, records

TP = TopicPartition("test-topic", 0)
TP1 = TopicPartition("test-topic", 1)


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    yield env
    env.close()


def leader_and_isr(
    partitions: dict[TopicPartition, tuple[int, list[int]]], leader_epoch: int = 0, controller_epoch: int = 1
) -> LeaderAndIsrRequest:
    """partition -> (leader, replicas); all replicas are in sync."""
    states = {
        tp: LeaderAndIsrRequest.PartitionState(controller_epoch, leader, leader_epoch, replicas, 0, replicas, True)
        for tp, (leader, replicas) in partitions.items()
    }
    return LeaderAndIsrRequest(1, 0, controller_epoch, states, {Node(1, "host1", 9092)})


def obey(env: Env, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
    return env.replica_manager.become_leader_or_follower(0, request, lambda leaders, followers: None)


# ---- Produce


@pytest.mark.ported("ReplicaManagerTest.testIllegalRequiredAcks")
def test_other_acks_than_minus_one_zero_and_one_are_refused(env: Env) -> None:
    env.become_leader(TP)
    for acks in (-2, 2, 3):
        answers = env.append(TP, records(b"a"), acks)
        assert answers.produce_response.error is Errors.INVALID_REQUIRED_ACKS
        assert answers.produce_response.base_offset == -1
    assert env.replica_manager.get_log_end_offset(TP) == 0
    assert [ReplicaManager.is_valid_required_acks(a) for a in (-1, 0, 1, 2)] == [True, True, True, False]


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_the_only_replica_answers_at_once(env: Env, acks: int) -> None:
    env.become_leader(TP)
    env.append(TP, records(b"a", b"b"), acks)
    response = env.append(TP, records(b"c"), acks).produce_response
    assert (response.error, response.base_offset, response.log_start_offset) == (Errors.NONE, 2, 0)
    assert env.produce_timer.size == 0
    topic, all_topics = env.stats.by_topic[TP.topic], env.stats.all_topics_stats
    assert topic.messages_in_rate.count == all_topics.messages_in_rate.count == 3
    assert topic.total_produce_request_rate.count == 2
    size = records(b"a", b"b").size_in_bytes() + records(b"c").size_in_bytes()
    assert all_topics.bytes_in_rate.count == size


def test_no_purgatory_object_for_what_is_replicated_already(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    env.become_leader(TP)
    monkeypatch.setattr("kafka_py.server.replica_manager.DelayedProduce", None)
    assert env.append(TP, records(b"a"), acks=-1).produce_response.error is Errors.NONE


def test_acks_all_waits_for_the_follower(env: Env) -> None:
    env.become_leader(TP, [1, 2])
    waiting = env.append(TP, records(b"a"), acks=-1)
    assert waiting.produced == []
    assert env.append(TP, records(b"b"), acks=1).produce_response.base_offset == 1
    env.fetch(TP, 0, replica_id=2)
    assert waiting.produced == []
    env.fetch(TP, 1, replica_id=2)
    assert waiting.produce_response.error is Errors.NONE
    assert waiting.produce_response.base_offset == 0


def test_acks_all_times_out(env: Env) -> None:
    env.become_leader(TP, [1, 2])
    waiting = env.append(TP, records(b"a"), acks=-1)
    env.produce_timer.expire_all()
    assert waiting.produce_response.error is Errors.REQUEST_TIMED_OUT
    env.fetch(TP, 1, replica_id=2)
    assert len(waiting.produced) == 1, "the callback runs once"


def test_not_enough_replicas_before_and_after_the_append(tmp_path: pathlib.Path) -> None:
    env = Env(tmp_path, {"min.insync.replicas": "2"})
    try:
        env.become_leader(TP, [1, 2])
        waiting = env.append(TP, records(b"a"), acks=-1)
        env.time.sleep(10_001)
        partition = env.replica_manager.get_partition(TP)
        assert partition is not None
        partition.maybe_shrink_isr(10_000)
        assert waiting.produce_response.error is Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        assert env.append(TP, records(b"b"), acks=-1).produce_response.error is Errors.NOT_ENOUGH_REPLICAS
        assert env.replica_manager.get_log_end_offset(TP) == 1
        assert env.append(TP, records(b"b"), acks=1).produce_response.error is Errors.NONE
    finally:
        env.close()


@pytest.mark.ported("ReplicaManagerTest.testClearPurgatoryOnBecomingFollower")
def test_waiting_produce_and_fetch_are_answered_when_leadership_is_lost(env: Env) -> None:
    obey(env, leader_and_isr({TP: (1, [1, 2])}))
    produce = env.append(TP, records(b"a"), acks=-1)
    fetch = env.fetch(TP, 0, min_bytes=1000)
    assert not produce.produced
    assert not fetch.fetched
    obey(env, leader_and_isr({TP: (2, [1, 2])}, leader_epoch=1))
    assert produce.produce_response.error is Errors.NOT_LEADER_FOR_PARTITION
    assert fetch.fetch_data.error is Errors.NOT_LEADER_FOR_PARTITION


def test_each_partition_has_its_own_error(env: Env) -> None:
    env.become_leader(TP)
    env.replica_manager.get_or_create_partition(TP1).make_follower(
        0, leader_and_isr({TP1: (2, [1, 2])}).partition_states()[TP1], 0
    )
    unknown, offline = TopicPartition("unknown", 0), TopicPartition("offline", 0)
    env.replica_manager.mark_partition_offline(offline)
    internal = TopicPartition("__consumer_offsets", 0)
    answers = Answers()
    env.replica_manager.append_records(
        1000, -1, False, True, {tp: records(b"a") for tp in (TP, TP1, unknown, offline, internal)}, answers.produce
    )
    (produced,) = answers.produced
    assert {tp: response.error for tp, response in produced.items()} == {
        TP: Errors.NONE,
        TP1: Errors.NOT_LEADER_FOR_PARTITION,
        unknown: Errors.UNKNOWN_TOPIC_OR_PARTITION,
        offline: Errors.KAFKA_STORAGE_ERROR,
        internal: Errors.INVALID_TOPIC_EXCEPTION,
    }
    assert env.stats.all_topics_stats.failed_produce_request_rate.count == 0


def test_internal_topics_take_what_the_broker_writes(env: Env) -> None:
    internal = TopicPartition("__consumer_offsets", 0)
    env.become_leader(internal)
    answers = Answers()
    env.replica_manager.append_records(1000, -1, True, False, {internal: records(b"a")}, answers.produce)
    assert answers.produce_response.error is Errors.NONE


def test_an_unexpected_error_is_counted_and_answered(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    env.become_leader(TP)
    partition = env.replica_manager.get_partition(TP)

    def fail(*args: Any) -> Any:
        raise RuntimeError("injected")

    monkeypatch.setattr(partition, "append_records_to_leader", fail)
    assert env.append(TP, records(b"a")).produce_response.error is Errors.UNKNOWN_SERVER_ERROR
    assert env.stats.by_topic[TP.topic].failed_produce_request_rate.count == 1
    assert env.stats.all_topics_stats.failed_produce_request_rate.count == 1


def test_the_processing_stats_of_each_partition_are_handed_out(env: Env) -> None:
    env.become_leader(TP)
    seen: list[dict[TopicPartition, Any]] = []
    env.replica_manager.append_records(
        0, 1, False, True, {TP: records(b"a")}, Answers().produce, processing_stats_callback=seen.append
    )
    assert [list(stats) for stats in seen] == [[TP]]


def test_the_lock_of_the_caller_becomes_the_operations_lock(env: Env) -> None:
    from kafka_py.utils.concurrent import ReentrantLock

    env.become_leader(TP, [1, 2])
    lock = ReentrantLock()
    env.replica_manager.append_records(1000, -1, False, True, {TP: records(b"a")}, Answers().produce, lock)
    (operation,) = env.produce_timer.tasks
    assert isinstance(operation, DelayedProduce)
    assert operation.lock is lock


# ---- Fetch


def test_a_consumer_reads_up_to_the_high_watermark_a_follower_to_the_end(env: Env) -> None:
    env.become_leader(TP, [1, 2])
    env.append(TP, records(b"a"), acks=1)
    consumer = env.fetch(TP, 0).fetch_data
    assert (consumer.error, consumer.high_watermark, consumer.records.size_in_bytes()) == (Errors.NONE, 0, 0)
    follower = env.fetch(TP, 0, replica_id=2).fetch_data
    assert follower.records.size_in_bytes() == records(b"a").size_in_bytes()
    env.fetch(TP, 1, replica_id=2)
    consumer = env.fetch(TP, 0).fetch_data
    assert (consumer.high_watermark, consumer.records.size_in_bytes()) == (1, records(b"a").size_in_bytes())


@pytest.mark.ported("ReplicaManagerTest.testFetchBeyondHighWatermarkReturnEmptyResponse")
def test_a_consumer_beyond_the_high_watermark_gets_nothing(env: Env) -> None:
    env.become_leader(TP, [1, 2])
    for i in range(10):
        env.append(TP, records(b"%d" % i), acks=1)
    follower = env.fetch(TP, 2, replica_id=2).fetch_data
    assert follower.high_watermark == 0, "moved by this Fetch, told with the next"
    consumer = env.fetch(TP, 1).fetch_data
    assert (consumer.error, consumer.high_watermark) == (Errors.NONE, 2)
    beyond = env.fetch(TP, 3).fetch_data
    assert (beyond.error, beyond.records.size_in_bytes()) == (Errors.NONE, 0)
    out_of_range = env.fetch(TP, 11).fetch_data
    assert (out_of_range.error, out_of_range.high_watermark) == (Errors.OFFSET_OUT_OF_RANGE, -1)


@pytest.mark.ported("ReplicaManagerTest.testReadCommittedFetchLimitedAtLSO")
def test_a_read_committed_consumer_stops_at_the_last_stable_offset(env: Env) -> None:
    env.become_leader(TP)
    for sequence in range(3):
        env.append(
            TP, records(b"t", producer_id=7, producer_epoch=0, base_sequence=sequence, is_transactional=True), acks=1
        )
    uncommitted = env.fetch(TP, 0).fetch_data
    assert uncommitted.records.size_in_bytes() > 0
    assert uncommitted.last_stable_offset is None
    committed = env.fetch(TP, 0, isolation_level=IsolationLevel.READ_COMMITTED).fetch_data
    assert committed.records.size_in_bytes() == 0
    assert committed.last_stable_offset == 0
    assert committed.aborted_transactions == []


def test_a_fetch_waits_for_enough_data(env: Env) -> None:
    env.become_leader(TP)
    size = records(b"a").size_in_bytes()
    waiting = env.fetch(TP, 0, min_bytes=size + 1)
    assert waiting.fetched == []
    env.append(TP, records(b"a"))
    assert waiting.fetched == []
    env.append(TP, records(b"b"))
    assert waiting.fetch_data.records.size_in_bytes() == 2 * size
    assert waiting.fetch_data.high_watermark == 2


def test_a_fetch_whose_time_is_over_gets_what_there_is(env: Env) -> None:
    env.become_leader(TP)
    waiting = env.fetch(TP, 0, min_bytes=100_000)
    env.append(TP, records(b"a"))
    assert waiting.fetched == []
    env.fetch_timer.expire_all()
    assert waiting.fetch_data.records.size_in_bytes() == records(b"a").size_in_bytes()
    assert env.fetch(TP, 1, min_bytes=1, timeout=0).fetch_data.records.size_in_bytes() == 0


def test_an_error_and_an_empty_request_are_answered_at_once(env: Env) -> None:
    assert env.fetch(TP, 0, min_bytes=1).fetch_data.error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    answers = Answers()
    env.replica_manager.fetch_messages(
        FetchParams(7, -1, 1000, 1, 1000, IsolationLevel.READ_UNCOMMITTED), [], cast("Any", None), answers.fetch
    )
    assert answers.fetched == [[]]


@pytest.mark.ported("ReplicaManagerQuotasTest / SimpleFetchTest", changes="limits of size")
def test_the_first_batch_comes_even_if_it_is_too_large(env: Env) -> None:
    env.become_leader(TP)
    env.become_leader(TP1)
    for tp in (TP, TP1):
        env.append(tp, records(b"x" * 100))
    size = records(b"x" * 100).size_in_bytes()
    assert env.fetch(TP, 0, max_bytes=10).fetch_data.records.size_in_bytes() == size
    hard = env.fetch(TP, 0, max_bytes=10, hard_max_bytes_limit=True).fetch_data
    assert hard.records.size_in_bytes() == 10, "before version 3 an incomplete batch is sent"
    answers = Answers()
    from kafka_py.common.requests.fetch_request import FetchRequest
    from kafka_py.server.quota_factory import QuotaFactory

    env.replica_manager.fetch_messages(
        FetchParams(7, -1, 1000, 0, 10, IsolationLevel.READ_UNCOMMITTED),
        [(tp, FetchRequest.PartitionData(0, 0, 10)) for tp in (TP, TP1)],
        QuotaFactory.UnboundedQuota,
        answers.fetch,
    )
    assert [data.records.size_in_bytes() for _, data in answers.fetched[0]] == [size, 0]


def test_a_reader_with_an_old_leader_epoch_is_fenced(env: Env) -> None:
    env.become_leader(TP)
    env.become_leader(TP)  # leader epoch 1
    assert env.fetch(TP, 0, epoch=1).fetch_data.error is Errors.NONE
    assert env.fetch(TP, 0, epoch=0).fetch_data.error is Errors.FENCED_LEADER_EPOCH
    assert env.fetch(TP, 0, epoch=2).fetch_data.error is Errors.UNKNOWN_LEADER_EPOCH


def test_only_debugging_consumers_read_from_followers(env: Env) -> None:
    env.become_leader(TP)
    env.append(TP, records(b"a"))
    partition = env.replica_manager.get_partition(TP)
    assert partition is not None
    partition.make_follower(0, leader_and_isr({TP: (2, [1, 2])}, 5).partition_states()[TP], 0)
    assert env.fetch(TP, 0).fetch_data.error is Errors.NOT_LEADER_FOR_PARTITION
    assert env.fetch(TP, 0, replica_id=-2).fetch_data.records.size_in_bytes() > 0
    assert env.fetch(TP1, 0, replica_id=-2).fetch_data.error is Errors.REPLICA_NOT_AVAILABLE


def test_a_broker_that_is_not_assigned_gets_no_records(env: Env) -> None:
    env.become_leader(TP, [1, 2])
    env.append(TP, records(b"a"), acks=1)
    stranger = env.fetch(TP, 0, replica_id=9).fetch_data
    assert (stranger.error, stranger.records.size_in_bytes()) == (Errors.NONE, 0)


@pytest.mark.ported("ReplicaManagerQuotasTest.shouldExcludeSubsequentThrottledPartitions", changes="one partition")
def test_a_follower_never_hears_of_a_log_start_above_the_high_watermark(
    env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.become_leader(TP, [1, 2, 3])
    env.append(TP, records(b"a", b"b"), acks=1)
    env.fetch(TP, 2, replica_id=2)
    env.fetch(TP, 1, replica_id=3)
    partition = env.replica_manager.get_or_create_partition(TP)
    high_watermark = cast("Any", Replica.high_watermark)
    in_between = [lambda: (env.fetch(TP, 2, replica_id=3), partition.delete_records_on_leader(2))]

    def read(replica: Replica) -> Any:
        value = high_watermark.fget(replica)
        while in_between:
            in_between.pop()()
        return value

    monkeypatch.setattr(Replica, "high_watermark", property(read, high_watermark.fset))
    data = env.fetch(TP, 2, replica_id=2).fetch_data
    assert partition.log_start_offset == 2
    assert data.error is Errors.NONE
    assert data.log_start_offset <= data.high_watermark, "it could set neither: its thread would end"


def test_throttled_replicas_outside_the_isr_wait(env: Env) -> None:
    quota = SimpleNamespace(is_throttled=lambda tp: True, is_quota_exceeded=lambda: True)
    env.become_leader(TP, [1, 2, 3], isr=[1, 2])
    env.append(TP, records(b"a"), acks=1)
    assert env.fetch(TP, 0, replica_id=3, quota=quota).fetch_data.records.size_in_bytes() == 0
    assert env.fetch(TP, 0, replica_id=2, quota=quota).fetch_data.records.size_in_bytes() > 0
    quota.is_quota_exceeded = lambda: False
    assert env.fetch(TP, 0, replica_id=3, quota=quota).fetch_data.records.size_in_bytes() > 0


def test_an_unexpected_read_error_is_counted(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    env.become_leader(TP)
    log = env.replica_manager.get_log(TP)

    def fail(*args: Any) -> Any:
        raise RuntimeError("injected")

    monkeypatch.setattr(log, "read", fail)
    assert env.fetch(TP, 0).fetch_data.error is Errors.UNKNOWN_SERVER_ERROR
    assert env.stats.all_topics_stats.failed_fetch_request_rate.count == 1
    assert env.stats.all_topics_stats.total_fetch_request_rate.count == 1


# ---- LeaderAndIsr, StopReplica, UpdateMetadata


def test_becoming_leader_and_follower(env: Env) -> None:
    seen: list[tuple[set[str], set[str]]] = []

    def on_change(leaders: Any, followers: Any) -> None:
        seen.append(({str(p.topic_partition) for p in leaders}, {str(p.topic_partition) for p in followers}))

    response = env.replica_manager.become_leader_or_follower(
        0, leader_and_isr({TP: (1, [1, 2]), TP1: (2, [1, 2])}), on_change
    )
    assert response.responses() == {TP: Errors.NONE, TP1: Errors.NONE}
    assert seen == [({"test-topic-0"}, {"test-topic-1"})]
    assert env.replica_manager.get_leader_replica_if_local(TP).broker_id == 1
    with pytest.raises(NotLeaderForPartitionException):
        env.replica_manager.get_leader_replica_if_local(TP1)
    fetching = env.fetchers.fetching
    assert list(fetching) == [TP1]
    assert (fetching[TP1].broker.host, fetching[TP1].init_offset) == ("host2", 0)
    assert "highwatermark-checkpoint" in [t.name for t in env.time.scheduler.tasks]


def test_a_stale_controller_is_refused(env: Env) -> None:
    obey(env, leader_and_isr({TP: (1, [1])}, controller_epoch=5))
    response = obey(env, leader_and_isr({TP: (2, [1, 2])}, leader_epoch=9, controller_epoch=4))
    assert response.error() is Errors.STALE_CONTROLLER_EPOCH
    assert env.replica_manager.get_leader_replica_if_local(TP).broker_id == 1
    stop = StopReplicaRequest(0, 0, 4, True, {TP})
    assert env.replica_manager.stop_replicas(stop) == ({}, Errors.STALE_CONTROLLER_EPOCH)
    update = UpdateMetadataRequest(4, 0, 4, {}, set())
    with pytest.raises(ControllerMovedException, match="from an old controller 0 with epoch 4"):
        env.replica_manager.maybe_update_metadata_cache(7, update)
    assert env.metadata_cache.updates == []


def test_metadata_of_the_present_controller_go_to_the_cache(env: Env) -> None:
    update = UpdateMetadataRequest(4, 0, 6, {}, set())
    assert env.replica_manager.maybe_update_metadata_cache(7, update) == []
    assert env.metadata_cache.updates == [update]
    assert env.replica_manager.controller_epoch == 6


def test_a_leader_epoch_that_is_no_news_and_a_foreign_partition_are_refused(env: Env) -> None:
    obey(env, leader_and_isr({TP: (1, [1])}, leader_epoch=3))
    response = obey(env, leader_and_isr({TP: (2, [1, 2]), TP1: (2, [2, 3])}, leader_epoch=3))
    assert response.responses() == {TP: Errors.STALE_CONTROLLER_EPOCH, TP1: Errors.UNKNOWN_TOPIC_OR_PARTITION}


def test_an_unknown_leader_is_not_followed_but_the_replica_is_made(env: Env) -> None:
    env.metadata_cache.alive.discard(2)
    assert obey(env, leader_and_isr({TP: (2, [1, 2])})).responses() == {TP: Errors.NONE}
    assert env.fetchers.fetching == {}
    assert env.replica_manager.get_replica(TP) is not None, "its high watermark must stay in the checkpoint"


def test_no_fetcher_is_started_during_shutdown(env: Env) -> None:
    env.replica_manager.is_shutting_down.set(True)
    obey(env, leader_and_isr({TP: (2, [1, 2])}))
    assert env.fetchers.fetching == {}


def test_a_log_directory_that_refuses_makes_the_partition_offline(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise KafkaStorageException("injected")

    monkeypatch.setattr(env.log_manager, "get_or_create_log", fail)
    assert obey(env, leader_and_isr({TP: (1, [1]), TP1: (2, [1, 2])})).responses() == {
        TP: Errors.KAFKA_STORAGE_ERROR,
        TP1: Errors.KAFKA_STORAGE_ERROR,
    }
    assert env.replica_manager.get_partition(TP) is ReplicaManager.OFFLINE_PARTITION
    response = obey(env, leader_and_isr({TP: (1, [1])}, leader_epoch=1))
    assert response.responses() == {TP: Errors.KAFKA_STORAGE_ERROR}


def test_stop_replica_with_and_without_deletion(env: Env) -> None:
    obey(env, leader_and_isr({TP: (1, [1]), TP1: (2, [1, 2])}))
    manager = env.replica_manager
    env.stats.topic_stats(TP.topic)
    assert manager.stop_replicas(StopReplicaRequest(0, 0, 1, False, {TP1})) == ({TP1: Errors.NONE}, Errors.NONE)
    assert env.fetchers.fetching == {}
    assert manager.get_partition(TP1) is not None
    assert manager.stop_replicas(StopReplicaRequest(0, 0, 1, True, {TP, TP1}))[0] == {TP: Errors.NONE, TP1: Errors.NONE}
    assert manager.get_partition(TP) is None
    assert sorted(env.log_manager.deleted) == [TP, TP1]
    assert env.stats.by_topic == {}, "the topic has no partition left"
    # a log without a partition, as after a restart
    env.log_manager.get_or_create_log(TP, env.log_manager.current_default_config, False)
    assert manager.stop_replicas(StopReplicaRequest(0, 0, 1, True, {TP}))[0] == {TP: Errors.NONE}
    assert env.log_manager.get_log(TP) is None


def test_stopping_an_offline_partition_is_a_storage_error(env: Env) -> None:
    manager = env.replica_manager
    manager.mark_partition_offline(TP)
    for _ in range(2):  # the controller tries again
        assert manager.stop_replicas(StopReplicaRequest(0, 0, 1, True, {TP}))[0] == {TP: Errors.KAFKA_STORAGE_ERROR}
        assert manager.get_partition(TP) is manager.OFFLINE_PARTITION


# ---- high watermark checkpoint


@pytest.mark.ported("ReplicaManagerTest.testHighWaterMarkDirectoryMapping")
def test_the_checkpoint_is_a_file_in_the_log_directory(env: Env, tmp_path: pathlib.Path) -> None:
    obey(env, leader_and_isr({TP: (1, [1])}))
    env.append(TP, records(b"a", b"b"))
    env.time.sleep(5_000)  # the scheduled task runs
    text = (tmp_path / "replication-offset-checkpoint").read_text()
    assert text == "0\n1\ntest-topic 0 2\n"


def test_an_error_of_one_checkpoint_is_logged(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    env.become_leader(TP)
    (checkpoint,) = env.replica_manager.high_watermark_checkpoints.values()

    def fail(offsets: Any) -> None:
        raise KafkaStorageException("injected")

    monkeypatch.setattr(checkpoint, "write_current", fail)
    errors: list[str] = []
    monkeypatch.setattr(
        env.replica_manager._checkpoints, "error", lambda msg, *args, exc=None: errors.append(msg % args)
    )
    env.replica_manager.checkpoint_high_watermarks()
    assert len(errors) == 1
    assert "Error while writing to highwatermark file in directory" in errors[0]


def test_a_checkpoint_in_the_making_does_not_bring_a_deleted_partition_back(
    env: Env, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.become_leader(TP)
    (checkpoint,) = env.replica_manager.high_watermark_checkpoints.values()
    write_current = checkpoint.write_current

    def write_late(offsets_now: Any) -> None:
        env.replica_manager.stop_replica(TP, True)
        write_current(offsets_now)

    monkeypatch.setattr(checkpoint, "write_current", write_late)
    env.replica_manager.checkpoint_high_watermarks()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n0\n"


# ---- ISR


def test_isr_changes_are_told_when_things_are_quiet_or_after_a_minute(env: Env) -> None:
    manager = env.replica_manager
    manager.record_isr_change(TP)
    manager.maybe_propagate_isr_changes()
    assert env.zk.isr_changes == [], "less than 5 s ago"
    env.time.sleep(5_001)
    manager.maybe_propagate_isr_changes()
    assert env.zk.isr_changes == [{TP}]
    manager.maybe_propagate_isr_changes()
    assert len(env.zk.isr_changes) == 1
    for _ in range(15):
        manager.record_isr_change(TP1)
        env.time.sleep(4_001)
        manager.maybe_propagate_isr_changes()
    assert env.zk.isr_changes == [{TP}, {TP1}]


def test_the_expiration_task_shrinks_the_isr(env: Env) -> None:
    env.replica_manager.startup()
    env.become_leader(TP, [1, 2])
    env.time.sleep(20_000)
    partition = env.replica_manager.get_partition(TP)
    assert partition is not None
    assert {r.broker_id for r in partition.in_sync_replicas} == {1}
    assert env.replica_manager.under_replicated_partition_count == 1


# ---- failed log directories


def test_a_failed_log_directory_takes_its_partitions_offline(env: Env, tmp_path: pathlib.Path) -> None:
    obey(env, leader_and_isr({TP: (1, [1]), TP1: (2, [1, 2])}))
    env.stats.topic_stats(TP.topic)
    env.replica_manager.handle_log_dir_failure(str(tmp_path))
    manager = env.replica_manager
    assert manager.get_partition(TP) is manager.OFFLINE_PARTITION
    assert manager.get_partition(TP1) is manager.OFFLINE_PARTITION
    assert env.fetchers.fetching == {}
    assert manager.high_watermark_checkpoints == {}
    assert env.log_manager.failed_dirs == [str(tmp_path)]
    assert env.zk.log_dir_events == [1]
    assert env.stats.by_topic == {}
    manager.handle_log_dir_failure(str(tmp_path))
    assert env.zk.log_dir_events == [1], "told once"
    with pytest.raises(KafkaStorageException, match="in an offline log directory"):
        manager.get_leader_replica_if_local(TP)
    with pytest.raises(KafkaStorageException):
        manager.get_replica_or_exception(TP)
    assert manager.offline_replica_count.value() == 2


def test_the_controller_hears_of_a_failed_directory_when_zookeeper_is_back(
    env: Env, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    obey(env, leader_and_isr({TP: (1, [1])}))
    manager = env.replica_manager
    with monkeypatch.context() as patch:

        def away(broker_id: int) -> None:
            raise OSError("injected")

        patch.setattr(env.zk, "propagate_log_dir_event", away)
        manager.handle_log_dir_failure(str(tmp_path))
        assert manager.get_partition(TP) is manager.OFFLINE_PARTITION
        env.time.sleep(ReplicaManagerLeadership.LOG_DIR_EVENT_RETRY_MS)
    assert env.zk.log_dir_events == []
    env.time.sleep(ReplicaManagerLeadership.LOG_DIR_EVENT_RETRY_MS)
    assert env.zk.log_dir_events == [1]
    env.time.sleep(ReplicaManagerLeadership.LOG_DIR_EVENT_RETRY_MS)
    assert env.zk.log_dir_events == [1], "told once"


def test_an_error_with_one_failed_directory_is_logged_and_the_next_one_is_handled(
    env: Env, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    handled: list[str] = []

    def handle(directory: str) -> None:
        handled.append(directory)
        if directory == "/first":
            raise OSError("injected")

    monkeypatch.setattr(env.replica_manager, "handle_log_dir_failure", handle)
    handler = ReplicaManager.LogDirFailureHandler(env.replica_manager, "LogDirFailureHandler", False)
    for directory in ("/first", "/second"):
        env.log_manager.channel._offline_log_dir_queue.offer(directory)
        handler.do_work()
    assert handled == ["/first", "/second"]
    assert "Error while taking log directory /first out of service" in caplog.text


def test_the_handler_thread_takes_directories_from_the_channel(env: Env, tmp_path: pathlib.Path) -> None:
    env.replica_manager.startup()
    env.become_leader(TP)
    env.log_manager.channel.maybe_add_offline_log_dir(str(tmp_path), "test", OSError("injected"))
    handler = env.replica_manager._log_dir_failure_handler
    assert handler is not None
    assert handler.name == "LogDirFailureHandler"
    for _ in range(200):
        if env.zk.log_dir_events:
            break
        handler.join(0.01)
    assert env.zk.log_dir_events == [1]


# ---- looking things up


def test_lookups_of_what_is_not_there(env: Env) -> None:
    manager = env.replica_manager
    with pytest.raises(UnknownTopicOrPartitionException, match="Partition test-topic-0 doesn't exist on 1"):
        manager.get_leader_replica_if_local(TP)
    with pytest.raises(ReplicaNotAvailableException, match="Replica 1 is not available for partition test-topic-0"):
        manager.get_replica_or_exception(TP)
    assert manager.get_replica(TP) is None
    assert manager.get_log_dir(TP) is None
    assert manager.get_magic(TP) is None
    assert manager.get_log_end_offset(TP) is None


def test_lookups_of_what_is_there(env: Env, tmp_path: pathlib.Path) -> None:
    env.become_leader(TP)
    env.append(TP, records(b"a"))
    manager = env.replica_manager
    assert manager.get_log_dir(TP) == str(tmp_path)
    assert manager.get_magic(TP) == 2
    assert manager.get_log_end_offset(TP) == 1
    assert manager.leader_count.value() == manager.partition_count.value() == 1


def test_epoch_end_offsets_and_their_errors(env: Env) -> None:
    env.become_leader(TP)
    env.append(TP, records(b"a"))
    offline = TopicPartition("offline", 0)
    env.replica_manager.mark_partition_offline(offline)
    result = env.replica_manager.last_offset_for_leader_epoch({TP: 0, TP1: 0, offline: 0})
    assert (result[TP].error(), result[TP].end_offset()) == (Errors.NONE, 1)
    assert result[TP1].error() is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert result[offline].error() is Errors.KAFKA_STORAGE_ERROR


def test_epoch_end_offsets_for_who_tells_its_leader_epoch(env: Env) -> None:
    env.become_leader(TP)
    env.append(TP, records(b"a"))
    ask = env.replica_manager.last_offset_for_leader_epoch
    for current in (-1, 0):
        answer = ask({TP: 0}, {TP: current})[TP]
        assert (answer.error(), answer.leader_epoch(), answer.end_offset()) == (Errors.NONE, 0, 1)
    assert ask({TP: 0}, {TP: 1})[TP].error() is Errors.UNKNOWN_LEADER_EPOCH


def test_the_empty_record_set_is_no_append(env: Env) -> None:
    env.become_leader(TP)
    response = env.append(TP, MemoryRecords.EMPTY, acks=1).produce_response
    assert (response.error, env.replica_manager.get_log_end_offset(TP)) == (Errors.NONE, 0)
    assert env.stats.all_topics_stats.messages_in_rate.count == 0


def test_the_checkpoint_is_read_once_for_all_replicas_of_a_request(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many partitions there are: KAFKA-8333."""
    reads: list[str] = []
    read = OffsetCheckpointFile.read

    def counted(checkpoint: OffsetCheckpointFile) -> dict[TopicPartition, int]:
        reads.append(checkpoint.file.name)
        return read(checkpoint)

    monkeypatch.setattr(OffsetCheckpointFile, "read", counted)
    for epoch, count in enumerate((3, 6)):
        partitions = {TopicPartition(f"many-{count}", n): (1 + n % 2, [1, 2]) for n in range(count)}
        obey(env, leader_and_isr(partitions, epoch))
        assert len(reads) == epoch + 1
