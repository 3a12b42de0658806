"""DelayedProduce: each partition is settled by acks, an error or the end of its time."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.delayed_produce import (
    DelayedProduce,
    DelayedProduceMetrics,
    ProduceMetadata,
    ProducePartitionStatus,
)
from tests.server.replica_support import Answers, Env, partition_state, records

TP, OTHER = TopicPartition("topic", 0), TopicPartition("topic", 1)


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    for tp in (TP, OTHER):
        env.become_leader(tp, [1, 2])
        env.append(tp, records(b"a"), acks=1)
    yield env
    env.close()


def status(required_offset: int, error: Errors = Errors.NONE) -> ProducePartitionStatus:
    return ProducePartitionStatus(required_offset, ProduceResponse.PartitionResponse(error, 0, -1, 0))


def operation(env: Env, **statuses: ProducePartitionStatus) -> tuple[DelayedProduce, Answers]:
    answers = Answers()
    by_partition = {TopicPartition(*_split(name)): s for name, s in statuses.items()}
    return DelayedProduce(1000, ProduceMetadata(-1, by_partition), env.replica_manager, answers.produce), answers


def _split(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("_")
    return topic, int(partition)


def test_all_partitions_must_be_replicated(env: Env) -> None:
    produce, answers = operation(env, topic_0=status(1), topic_1=status(1))
    assert not produce.try_complete()
    env.fetch(TP, 1, replica_id=2)
    assert not produce.try_complete()
    assert answers.produced == []
    env.fetch(OTHER, 1, replica_id=2)
    assert produce.try_complete()
    (answer,) = answers.produced
    assert [r.error for r in answer.values()] == [Errors.NONE, Errors.NONE]
    assert not produce.try_complete(), "it is completed once"


def test_a_partition_that_failed_at_once_does_not_wait(env: Env) -> None:
    failed = status(-1, Errors.MESSAGE_TOO_LARGE)
    produce, answers = operation(env, topic_0=status(1), topic_1=failed)
    assert not failed.acks_pending
    env.fetch(TP, 1, replica_id=2)
    assert produce.try_complete()
    (answer,) = answers.produced
    assert answer[OTHER].error is Errors.MESSAGE_TOO_LARGE
    assert answer[TP].error is Errors.NONE


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("follower", Errors.NOT_LEADER_FOR_PARTITION),
        ("deleted", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("offline", Errors.KAFKA_STORAGE_ERROR),
    ],
)
def test_a_partition_that_is_gone_gets_its_error(env: Env, change: str, error: Errors) -> None:
    produce, answers = operation(env, topic_0=status(1))
    partition = env.replica_manager.get_partition(TP)
    assert partition is not None
    if change == "follower":
        partition.make_follower(0, partition_state(2, 5, [2], [1, 2]), 0)
    elif change == "deleted":
        env.replica_manager.stop_replica(TP, True)
    else:
        env.replica_manager.mark_partition_offline(TP)
    assert produce.try_complete()
    assert answers.produce_response.error is error


def test_time_runs_out_for_what_is_pending(env: Env) -> None:
    produce, answers = operation(env, topic_0=status(1), topic_1=status(1))
    env.fetch(OTHER, 1, replica_id=2)
    assert not produce.try_complete()
    before = DelayedProduceMetrics._aggregate_expiration_meter.count
    of_tp = DelayedProduceMetrics._partition_expiration_meters.get_and_maybe_put(TP).count
    produce.run()
    (answer,) = answers.produced
    assert (answer[TP].error, answer[OTHER].error) == (Errors.REQUEST_TIMED_OUT, Errors.NONE)
    assert DelayedProduceMetrics._aggregate_expiration_meter.count == before + 1
    assert DelayedProduceMetrics._partition_expiration_meters.get_and_maybe_put(TP).count == of_tp + 1


def test_printed_as_kafka_prints_it() -> None:
    assert repr(status(5)) == "[acksPending: false, error: 0, startOffset: 0, requiredOffset: 5]"
    assert repr(ProduceMetadata(-1, {})) == "[requiredAcks: -1, partitionStatus: {}]"
