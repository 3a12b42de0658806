"""DeleteRecords and DescribeLogDirs of ReplicaManager, and the wait for the replicas to follow."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.delayed_delete_records import (
    DelayedDeleteRecords,
    DelayedDeleteRecordsMetrics,
    DeleteRecordsPartitionStatus,
)
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_manager import LogDeleteRecordsResult
from tests.server.replica_support import Answers, Env, partition_state, records

TP, ALONE = TopicPartition("topic", 0), TopicPartition("topic", 1)
Response = DeleteRecordsResponse.PartitionResponse


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    """TP has a follower on broker 2, ALONE has none; both hold ten committed records."""
    env = Env(tmp_path)
    env.become_leader(TP, [1, 2])
    env.become_leader(ALONE, [1])
    for tp in (TP, ALONE):
        for _ in range(10):
            env.append(tp, records(b"a"), acks=1)
    follow(env, 10)
    yield env
    env.close()


def follow(env: Env, offset: int, log_start_offset: int = 0) -> None:
    """The follower fetches from an offset, and says where its own log starts."""
    data = FetchRequest.PartitionData(offset, log_start_offset, 1 << 20, -1)
    env.replica_manager.fetch_messages(
        FetchParams(7, 2, 0, 0, 1 << 30, IsolationLevel.READ_UNCOMMITTED),
        [(TP, data)],
        QuotaFactory.UnboundedQuota,
        Answers().fetch,
    )


def delete(env: Env, offsets: dict[TopicPartition, int]) -> list[dict[TopicPartition, Response]]:
    answers: list[dict[TopicPartition, Response]] = []
    env.replica_manager.delete_records(1000, offsets, answers.append)
    return answers


def only(answers: list[dict[TopicPartition, Response]]) -> tuple[int, Errors]:
    (answer,) = answers
    (response,) = answer.values()
    return response.low_watermark, response.error


@pytest.mark.ported("AdminClientIntegrationTest.testLogStartOffsetAfterDeleteRecords")
def test_the_only_replica_answers_at_once(env: Env) -> None:
    assert only(delete(env, {ALONE: 4})) == (4, Errors.NONE)
    log = env.replica_manager.get_log(ALONE)
    assert log is not None
    assert log.log_start_offset == 4
    assert env.fetch(ALONE, 3).fetch_data.error is Errors.OFFSET_OUT_OF_RANGE
    assert env.fetch(ALONE, 4).fetch_data.error is Errors.NONE
    assert only(delete(env, {ALONE: 2})) == (4, Errors.NONE), "the start never moves back"


def test_minus_one_is_the_high_watermark(env: Env) -> None:
    assert only(delete(env, {ALONE: -1})) == (10, Errors.NONE)


@pytest.mark.ported("AdminClientIntegrationTest.testReplicaCanFetchFromLogStartOffsetAfterDeleteRecords")
def test_the_answer_waits_for_the_follower(env: Env) -> None:
    answers = delete(env, {TP: 6, ALONE: 3})
    assert answers == []
    follow(env, 10, 5)
    assert answers == []
    follow(env, 10, 6)
    (answer,) = answers
    assert {tp: (r.low_watermark, r.error) for tp, r in answer.items()} == {
        TP: (6, Errors.NONE),
        ALONE: (3, Errors.NONE),
    }


def test_a_follower_that_moves_just_before_the_timer_is_set_is_not_missed(
    env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = DelayedDeleteRecords.maybe_try_complete
    overtaken: list[bool] = []

    def look_and_be_overtaken(operation: DelayedDeleteRecords) -> bool:
        done = look(operation)
        if not overtaken:
            overtaken.append(done)
            follow(env, 10, 6)
        return done

    monkeypatch.setattr(DelayedDeleteRecords, "maybe_try_complete", look_and_be_overtaken)
    assert only(delete(env, {TP: 6})) == (6, Errors.NONE)


def test_a_fetch_from_a_deposed_leader_is_answered_while_records_wait_to_be_deleted(env: Env) -> None:
    delete(env, {TP: 6})
    partition = env.replica_manager.get_or_create_partition(TP)
    partition.make_follower(0, partition_state(2, partition.get_leader_epoch + 1, [1, 2], [1, 2]), 0)
    assert env.fetch(TP, 10, replica_id=2).fetch_data.error is Errors.NOT_LEADER_FOR_PARTITION


def test_a_dead_follower_is_not_waited_for(env: Env) -> None:
    env.metadata_cache.alive = {1}
    assert only(delete(env, {TP: 6})) == (6, Errors.NONE)


def test_without_the_follower_the_time_runs_out(env: Env) -> None:
    before = DelayedDeleteRecordsMetrics._aggregate_expiration_meter.count
    answers = delete(env, {TP: 6})
    timer: Any = env.replica_manager.delayed_delete_records_purgatory
    timer._timeout_timer.expire_all()
    assert only(answers) == (0, Errors.REQUEST_TIMED_OUT)
    assert DelayedDeleteRecordsMetrics._aggregate_expiration_meter.count == before + 1


def test_leadership_that_is_lost_ends_the_wait(env: Env) -> None:
    answers = delete(env, {TP: 6})
    partition = env.replica_manager.get_or_create_partition(TP)
    partition.make_follower(0, partition_state(2, partition.get_leader_epoch + 1, [1, 2], [1, 2]), 0)
    key: Any = TP
    env.replica_manager.delayed_delete_records_purgatory.check_and_complete(key)
    assert only(answers) == (-1, Errors.NOT_LEADER_FOR_PARTITION)


@pytest.mark.parametrize(
    ("tp", "offset", "error"),
    [
        (TopicPartition("none", 0), 1, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("__consumer_offsets", 0), 1, Errors.INVALID_TOPIC_EXCEPTION),
        (ALONE, -2, Errors.OFFSET_OUT_OF_RANGE),
        (ALONE, 11, Errors.OFFSET_OUT_OF_RANGE),
    ],
)
def test_what_cannot_be_deleted(env: Env, tp: TopicPartition, offset: int, error: Errors) -> None:
    assert only(delete(env, {tp: offset})) == (-1, error)


def test_a_compacted_topic_keeps_its_records(tmp_path: pathlib.Path) -> None:
    env = Env(tmp_path, {"cleanup.policy": "compact"})
    env.become_leader(ALONE)
    env.append(ALONE, records(b"a"))
    assert only(delete(env, {ALONE: 1})) == (-1, Errors.POLICY_VIOLATION)
    env.close()


def test_offline_and_unexpected_errors(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    env.replica_manager.mark_partition_offline(TopicPartition("off", 0))
    assert only(delete(env, {TopicPartition("off", 0): 1})) == (-1, Errors.KAFKA_STORAGE_ERROR)

    def fail(*_: Any) -> Any:
        raise RuntimeError("boom")

    monkeypatch.setattr(env.replica_manager._partitions, "get_partition_and_leader_replica_if_local", fail)
    assert only(delete(env, {ALONE: 1})) == (-1, Errors.UNKNOWN_SERVER_ERROR)
    result = LogDeleteRecordsResult(1, 1)
    assert (result.error, repr(result)) == (Errors.NONE, "LogDeleteRecordsResult(1,1,None)")


def test_each_partition_of_a_waiting_request_is_settled_by_itself(env: Env) -> None:
    statuses = {
        TP: DeleteRecordsPartitionStatus(6, Response(0, Errors.NONE)),
        TopicPartition("none", 0): DeleteRecordsPartitionStatus(1, Response(0, Errors.NONE)),
        TopicPartition("off", 0): DeleteRecordsPartitionStatus(1, Response(0, Errors.NONE)),
        ALONE: DeleteRecordsPartitionStatus(-1, Response(-1, Errors.POLICY_VIOLATION)),
    }
    env.replica_manager.mark_partition_offline(TopicPartition("off", 0))
    answers: list[dict[TopicPartition, Response]] = []
    operation = DelayedDeleteRecords(1000, statuses, env.replica_manager, answers.append)
    assert repr(statuses[TP]) == "[acksPending: true, error: REQUEST_TIMED_OUT, lowWatermark: 0, requiredOffset: 6]"
    assert not operation.try_complete()
    delete(env, {TP: 6})
    follow(env, 10, 6)
    assert operation.try_complete()
    assert [r.error for r in answers[0].values()] == [
        Errors.NONE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.POLICY_VIOLATION,
    ]


# -- DescribeLogDirs ---------------------------------------------------------------------------------------------------


@pytest.mark.ported("DescribeLogDirsRequestTest.testDescribeLogDirsRequest")
def test_log_dirs(env: Env, tmp_path: pathlib.Path) -> None:
    other, offline = tmp_path / "other", tmp_path / "offline"
    env.config.log_dirs = [str(tmp_path), str(other), str(offline)]
    logs: Any = env.log_manager
    logs.all_logs = list(logs.logs.values())
    logs.failed_dirs.append(str(offline))
    manager = env.replica_manager
    found = manager.describe_log_dirs([TP, TopicPartition("none", 0)])
    log = manager.get_log(TP)
    assert log is not None
    assert found[str(tmp_path)].error is Errors.NONE
    assert found[str(tmp_path)].replica_infos == {TP: (log.size, 0, False)}
    assert found[str(other)] == (Errors.NONE, {})
    assert found[str(offline)] == (Errors.KAFKA_STORAGE_ERROR, {})
    assert str(found[str(other)]) == "(error=NONE, replicas={})"
    logs.is_log_dir_online = lambda directory: 1 // 0
    assert {info.error for info in manager.describe_log_dirs([TP]).values()} == {Errors.UNKNOWN_SERVER_ERROR}


def test_the_lag_of_a_log(env: Env) -> None:
    lag = env.replica_manager.get_log_end_offset_lag
    assert lag(TP, 8, False) == 2
    assert lag(TP, 12, False) == 0
    assert lag(TP, 7, True) == 3
    assert lag(TopicPartition("none", 0), 0, False) == -1
