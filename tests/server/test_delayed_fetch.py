"""DelayedFetch: when waiting ends."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.delayed_fetch import DelayedFetch, DelayedFetchMetrics
from tests.server.replica_support import Answers, Env, partition_state, records

TP = TopicPartition("topic", 0)
SIZE = records(b"a").size_in_bytes()


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    env.become_leader(TP)
    yield env
    env.close()


def waiting(env: Env, offset: int, min_bytes: int = 1_000_000, **kwargs: object) -> tuple[Answers, DelayedFetch]:
    answers = env.fetch(TP, offset, min_bytes=min_bytes, **kwargs)  # type: ignore[arg-type]
    assert answers.fetched == []
    operation = env.fetch_timer.tasks[-1]
    assert isinstance(operation, DelayedFetch)
    return answers, operation


def done(operation: DelayedFetch) -> bool:
    return operation.is_completed


def test_it_waits_for_the_minimum_of_all_partitions(env: Env) -> None:
    answers, operation = waiting(env, 0, 2 * SIZE)
    env.append(TP, records(b"a"))
    assert not operation.try_complete()
    env.append(TP, records(b"b"))
    assert done(operation)
    assert answers.fetch_data.records.size_in_bytes() == 2 * SIZE


def test_more_than_the_partition_may_give_does_not_count(env: Env) -> None:
    _, operation = waiting(env, 0, 2 * SIZE, max_bytes=SIZE)
    for value in (b"a", b"b", b"c"):
        env.append(TP, records(value))
    assert not done(operation)


def test_a_roll_ends_the_waiting_of_who_reads_the_old_segment(env: Env) -> None:
    answers, operation = waiting(env, 0)
    env.append(TP, records(b"a"))
    log = env.replica_manager.get_log(TP)
    assert log is not None
    log.roll()
    assert not done(operation)
    env.append(TP, records(b"b"))
    assert done(operation)
    assert answers.fetch_data.records.size_in_bytes() == SIZE, "one segment at a time"


def test_a_roll_alone_is_no_reason(env: Env) -> None:
    env.append(TP, records(b"a"))
    _, operation = waiting(env, 1)
    log = env.replica_manager.get_log(TP)
    assert log is not None
    log.roll()
    assert not operation.try_complete(), "the offset is the same, if in another segment"


def test_a_truncation_ends_the_waiting_of_who_reads_beyond_it(env: Env) -> None:
    env.append(TP, records(b"a"))
    log = env.replica_manager.get_log(TP)
    assert log is not None
    log.roll()
    env.append(TP, records(b"b"))
    answers, operation = waiting(env, 2)
    log.truncate_to(1)
    replica = env.replica_manager.get_leader_replica_if_local(TP)
    replica.high_watermark = replica.log_end_offset._replace(message_offset=0, segment_base_offset=0)
    assert operation.try_complete()
    assert answers.fetch_data.error is Errors.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("follower", Errors.NOT_LEADER_FOR_PARTITION),
        ("deleted", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("offline", Errors.KAFKA_STORAGE_ERROR),
        ("epoch", Errors.FENCED_LEADER_EPOCH),
    ],
)
def test_a_partition_that_is_gone_ends_the_waiting(env: Env, change: str, error: Errors) -> None:
    answers, operation = waiting(env, 0, epoch=0)
    partition = env.replica_manager.get_partition(TP)
    assert partition is not None
    if change == "follower":
        partition.make_follower(0, partition_state(2, 5, [2], [1, 2]), 0)
    elif change == "deleted":
        env.replica_manager.stop_replica(TP, True)
    elif change == "offline":
        env.replica_manager.mark_partition_offline(TP)
    else:
        env.become_leader(TP)
    assert operation.try_complete()
    assert answers.fetch_data.error is error


def test_a_read_committed_consumer_waits_for_the_end_of_the_transaction(env: Env) -> None:
    answers, operation = waiting(env, 0, 1, isolation_level=IsolationLevel.READ_COMMITTED)
    env.append(TP, records(b"t", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
    assert not done(operation)
    assert answers.fetched == []


def test_a_throttled_partition_gives_nothing(env: Env) -> None:
    quota = SimpleNamespace(is_throttled=lambda tp: True, is_quota_exceeded=lambda: True)
    answers, operation = waiting(env, 0, 1, quota=quota)
    env.append(TP, records(b"a"))
    assert not done(operation)
    quota.is_quota_exceeded = lambda: False
    assert operation.try_complete()
    assert answers.fetch_data.records.size_in_bytes() == SIZE


@pytest.mark.parametrize(("replica_id", "follower"), [(-1, 0), (2, 1)])
def test_expired_fetches_are_counted_by_kind(env: Env, replica_id: int, follower: int) -> None:
    env.become_leader(TP, [1, 2])
    before = [
        DelayedFetchMetrics.CONSUMER_EXPIRED_REQUEST_METER.count,
        DelayedFetchMetrics.FOLLOWER_EXPIRED_REQUEST_METER.count,
    ]
    answers, _ = waiting(env, 0, replica_id=replica_id)
    env.fetch_timer.expire_all()
    assert answers.fetch_data.error is Errors.NONE
    before[follower] += 1
    assert before == [
        DelayedFetchMetrics.CONSUMER_EXPIRED_REQUEST_METER.count,
        DelayedFetchMetrics.FOLLOWER_EXPIRED_REQUEST_METER.count,
    ]


def test_printed_with_limits_and_partitions(env: Env) -> None:
    _, operation = waiting(env, 0, 77)
    assert repr(operation).startswith("[minBytes: 77, maxBytes:1073741824, onlyLeader:True,")
    assert "startOffsetMetadata: 0 [0 : 0]" in repr(operation)
