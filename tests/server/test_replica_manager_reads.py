"""What followers and consumers of a transaction's partition read from the leader, and where the checkpoint lies."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.log_read_result import FetchPartitionData
from kafka_py.server.quota_factory import QuotaFactory
from tests.server.replica_support import Answers, Env, records

TP, TP1 = TopicPartition("test-topic", 0), TopicPartition("test-topic", 1)
PRODUCER_ID, PRODUCER_EPOCH = 234, 5
ME, FOLLOWER, OTHER_FOLLOWER = 1, 2, 3


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    yield env
    env.close()


def append(env: Env, sequence: int, transactional: bool = False) -> Answers:
    batch = records(
        b"message %d" % sequence,
        producer_id=PRODUCER_ID,
        producer_epoch=PRODUCER_EPOCH,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return env.append(TP, batch)


def end_transaction(env: Env, how: ControlRecordType) -> None:
    marker = EndTransactionMarker(how, 0)
    batch = MemoryRecords.with_end_transaction_marker(PRODUCER_ID, PRODUCER_EPOCH, marker, timestamp=0)
    env.replica_manager.append_records(1000, -1, False, False, {TP: batch}, Answers().produce)


def committed(env: Env, min_bytes: int = 0) -> Answers:
    return env.fetch(TP, 0, min_bytes=min_bytes, isolation_level=IsolationLevel.READ_COMMITTED)


def batches(data: FetchPartitionData) -> int:
    """How many there are; those read from a file come as bytes of the file."""
    return len(list(data.records.batches()))


@pytest.mark.ported("ReplicaManagerTest.testReceiveOutOfOrderSequenceExceptionWithLogStartOffset")
def test_who_skipped_sequence_numbers_is_told_where_the_log_begins(env: Env) -> None:
    env.become_leader(TP)
    for sequence in range(3):
        assert append(env, sequence).produce_response.error is Errors.NONE
    refused = append(env, 13).produce_response
    assert (refused.error, refused.log_start_offset) == (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    env.replica_manager.get_leader_replica_if_local(TP).maybe_increment_log_start_offset(2)
    refused = append(env, 13).produce_response
    assert (refused.error, refused.log_start_offset) == (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 2)


@pytest.mark.ported("ReplicaManagerTest.testReadCommittedFetchLimitedAtLSO")
def test_a_transaction_is_read_when_its_end_is_replicated(env: Env) -> None:
    env.become_leader(TP, [ME, FOLLOWER])
    waiting = [append(env, sequence, transactional=True) for sequence in range(3)]
    env.fetch(TP, 3, replica_id=FOLLOWER)
    assert [answers.produce_response.error for answers in waiting] == [Errors.NONE] * 3
    delayed = committed(env, min_bytes=1000)
    assert delayed.fetched == []
    env.fetch_timer.expire_all()
    for answers in (committed(env), delayed):
        data = answers.fetch_data
        assert (data.error, batches(data)) == (Errors.NONE, 0)
        assert (data.last_stable_offset, data.aborted_transactions) == (0, [])
    end_transaction(env, ControlRecordType.COMMIT)
    data = committed(env).fetch_data
    assert (data.error, batches(data)) == (Errors.NONE, 0), "the marker is not replicated"
    env.fetch(TP, 4, replica_id=FOLLOWER)
    data = committed(env).fetch_data
    assert (data.error, batches(data)) == (Errors.NONE, 4)
    assert (data.last_stable_offset, data.aborted_transactions) == (4, [])


@pytest.mark.ported("ReplicaManagerTest.testDelayedFetchIncludesAbortedTransactions")
def test_a_fetch_that_waited_names_the_aborted_transactions(env: Env) -> None:
    env.become_leader(TP, [ME, FOLLOWER])
    for sequence in range(3):
        append(env, sequence, transactional=True)
    end_transaction(env, ControlRecordType.ABORT)
    env.fetch(TP, 4, replica_id=FOLLOWER)
    waiting = committed(env, min_bytes=10_000)
    assert waiting.fetched == []
    env.fetch_timer.expire_all()
    data = waiting.fetch_data
    assert (data.error, data.last_stable_offset, batches(data)) == (Errors.NONE, 4, 4)
    assert data.aborted_transactions is not None
    assert [(t.producer_id, t.first_offset) for t in data.aborted_transactions] == [(PRODUCER_ID, 0)]


@pytest.mark.ported("ReplicaManagerTest.testFetchMessagesWhenNotFollowerForOnePartition")
def test_who_follows_one_of_two_partitions_gets_that_one(env: Env) -> None:
    env.become_leader(TP, [ME, FOLLOWER])
    env.become_leader(TP1, [ME, OTHER_FOLLOWER])
    for tp in (TP, TP1):
        for value in (b"message 1", b"message 2"):
            env.append(tp, records(value), acks=1)
    answers = Answers()
    env.replica_manager.fetch_messages(
        FetchParams(7, FOLLOWER, 1000, 0, 1 << 30, IsolationLevel.READ_UNCOMMITTED),
        [(tp, FetchRequest.PartitionData(1, 0, 100_000)) for tp in (TP, TP1)],
        QuotaFactory.UnboundedQuota,
        answers.fetch,
    )
    [answer] = answers.fetched
    found = {tp: (data.error, data.high_watermark, data.last_stable_offset, batches(data)) for tp, data in answer}
    assert found == {TP: (Errors.NONE, 0, None, 1), TP1: (Errors.NONE, 0, None, 0)}
    replicas = [env.replica_manager.get_replica_or_exception(tp) for tp in (TP, TP1)]
    assert [replica.high_watermark.message_offset for replica in replicas] == [1, 0]


@pytest.mark.ported("ReplicaManagerTest.testHighwaterMarkRelativeDirectoryMapping")
def test_the_checkpoint_is_found_by_a_relative_name_too(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    directory = pathlib.Path("data")
    directory.mkdir()
    env = Env(directory)
    try:
        env.become_leader(TP)
        env.append(TP, records(b"a", b"b"))
        env.replica_manager.checkpoint_high_watermarks()
    finally:
        env.close()
    assert (tmp_path / "data/replication-offset-checkpoint").read_text() == "0\n1\ntest-topic 0 2\n"
