"""What a transactional Produce waits for before its records are appended."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest

from kafka_py.cluster.partition import Partition
from kafka_py.common.errors import InvalidPidMappingException, NotLeaderForPartitionException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.verification_guard import VerificationGuard
from kafka_py.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from kafka_py.server.kafka_request_handler import KafkaRequestHandler
from kafka_py.server.log_read_result import LogAppendResult
from kafka_py.server.transaction_verification import TransactionVerification
from tests.server.replica_support import Answers, Env

T0, T1, T2 = (TopicPartition("t", i) for i in range(3))
SENTINEL = VerificationGuard.SENTINEL


def records(producer_id: int = 5, is_transactional: bool = True) -> MemoryRecords:
    return MemoryRecords.with_records(
        SimpleRecord(value=b"v"),
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=8,
        is_transactional=is_transactional,
    )


class Fakes:
    """Partitions with the guards of the test, and a manager that keeps the questions."""

    def __init__(self) -> None:
        self.guards: dict[TopicPartition, VerificationGuard] = {}
        self.asked: list[tuple[str, int, int, list[TopicPartition]]] = []
        self.answer: Callable[[dict[TopicPartition, Errors]], None] = dict.clear
        self.appended: list[tuple[dict[TopicPartition, VerificationGuard], dict[TopicPartition, Errors]]] = []
        self.running: bool | None = None
        self.verification = TransactionVerification(cast("AddPartitionsToTxnManager", self), self._partition)

    def _partition(self, topic_partition: TopicPartition) -> Partition:
        if topic_partition not in self.guards:
            raise NotLeaderForPartitionException("not here")

        class FakePartition:
            def maybe_start_transaction_verification(self, *which: int) -> VerificationGuard:
                assert which == (5, 8, 3)
                return guard

        guard = self.guards[topic_partition]
        return cast("Partition", FakePartition())

    def verify_transaction(
        self, txn_id: str, producer_id: int, epoch: int, partitions: Sequence[TopicPartition], callback: Any
    ) -> None:
        self.asked.append((txn_id, producer_id, epoch, list(partitions)))
        self.answer = callback

    def start(self) -> None:
        self.running = True

    def shutdown(self) -> None:
        self.running = False

    def append(
        self,
        entries: Mapping[TopicPartition, MemoryRecords],
        verified: Mapping[TopicPartition, MemoryRecords],
        guards: dict[TopicPartition, VerificationGuard],
        refused: dict[TopicPartition, LogAppendResult],
    ) -> None:
        assert verified == {tp: entries[tp] for tp in entries if tp not in refused}
        self.appended.append((guards, {tp: result.error for tp, result in refused.items()}))

    def verify(self, entries: dict[TopicPartition, MemoryRecords]) -> None:
        self.verification.verify(
            "txn",
            entries,
            lambda verified, guards, refused: self.append(entries, verified, guards, refused),
        )


@pytest.fixture
def fakes() -> Iterator[Fakes]:
    KafkaRequestHandler.set_bypass_thread_check(True)
    yield Fakes()
    KafkaRequestHandler.set_bypass_thread_check(False)


def test_what_is_not_transactional_is_not_asked_for(fakes: Fakes) -> None:
    fakes.verify({T0: records(is_transactional=False)})
    assert (fakes.appended, fakes.asked) == ([({}, {})], [])


def test_an_open_transaction_is_not_asked_for(fakes: Fakes) -> None:
    fakes.guards = {T0: SENTINEL}
    fakes.verify({T0: records()})
    assert (fakes.appended, fakes.asked) == ([({T0: SENTINEL}, {})], [])


def test_only_partitions_where_it_begins_are_asked_for(fakes: Fakes) -> None:
    guard = VerificationGuard()
    fakes.guards = {T0: SENTINEL, T1: guard}
    fakes.verify({T0: records(), T1: records(), T2: records()})
    assert fakes.asked == [("txn", 5, 3, [T1])]
    assert fakes.appended == []
    fakes.answer({})
    assert fakes.appended == [({T0: SENTINEL, T1: guard}, {T2: Errors.NOT_LEADER_FOR_PARTITION})]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.INVALID_TXN_STATE, Errors.INVALID_TXN_STATE),
        (Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
        (Errors.INVALID_PRODUCER_ID_MAPPING, Errors.INVALID_PRODUCER_ID_MAPPING),
        (Errors.CONCURRENT_TRANSACTIONS, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.NETWORK_EXCEPTION, Errors.NOT_ENOUGH_REPLICAS),
        (Errors.NOT_COORDINATOR, Errors.NOT_ENOUGH_REPLICAS),
    ],
    ids=str,
)
def test_what_a_producer_is_told(fakes: Fakes, error: Errors, told: Errors) -> None:
    guards = fakes.guards = {T0: VerificationGuard(), T1: VerificationGuard()}
    fakes.verify({T0: records(), T1: records()})
    fakes.answer({T1: error})
    assert fakes.appended == [(guards, {T1: told})]


def test_one_request_is_of_one_producer(fakes: Fakes) -> None:
    fakes.guards = {T0: VerificationGuard(), T1: VerificationGuard()}
    with pytest.raises(InvalidPidMappingException):
        fakes.verify({T0: records(), T1: records(producer_id=6)})
    assert fakes.asked == []


def verify_partition(fakes: Fakes) -> list[tuple[Errors, VerificationGuard]]:
    found: list[tuple[Errors, VerificationGuard]] = []
    fakes.verification.verify_partition(T0, "txn", 5, 3, 8, lambda *verdict: found.append(verdict))
    return found


@pytest.mark.parametrize("error", [Errors.NONE, Errors.INVALID_TXN_STATE, Errors.NOT_COORDINATOR], ids=str)
def test_one_partition_is_asked_for_where_its_transaction_begins(fakes: Fakes, error: Errors) -> None:
    guard = fakes.guards[T0] = VerificationGuard()
    found = verify_partition(fakes)
    assert (found, fakes.asked) == ([], [("txn", 5, 3, [T0])])
    fakes.answer({} if error is Errors.NONE else {T0: error})
    assert found == [(error, guard)]


def test_one_partition_whose_transaction_is_open_is_not_asked_for(fakes: Fakes) -> None:
    fakes.guards[T0] = SENTINEL
    assert verify_partition(fakes) == [(Errors.NONE, SENTINEL)]
    assert fakes.asked == []


def test_one_partition_that_is_not_here_is_not_asked_for(fakes: Fakes) -> None:
    assert verify_partition(fakes) == [(Errors.NOT_LEADER_FOR_PARTITION, SENTINEL)]
    assert fakes.asked == []


def test_it_starts_and_ends_who_asks(fakes: Fakes) -> None:
    fakes.verification.startup()
    assert fakes.running
    fakes.verification.shutdown()
    assert fakes.running is False


# -- With a replica manager and its logs -------------------------------------------------------------------------------


@pytest.fixture
def env(tmp_path: pathlib.Path, fakes: Fakes) -> Iterator[Env]:
    made = Env(tmp_path)
    made.become_leader(T0)
    made.become_leader(T1)
    manager = made.replica_manager
    manager.transaction_verification = TransactionVerification(
        cast("AddPartitionsToTxnManager", fakes), lambda tp: manager.get_partition_and_leader_replica_if_local(tp)[0]
    )
    yield made
    made.close()


def transactional(sequence: int = 0) -> MemoryRecords:
    return MemoryRecords.with_records(
        SimpleRecord(value=b"v"), producer_id=5, producer_epoch=3, base_sequence=sequence, is_transactional=True
    )


def produce(env: Env, entries: dict[TopicPartition, MemoryRecords], txn_id: str | None = "txn") -> Answers:
    answers = Answers()
    env.replica_manager.append_records(1000, 1, False, True, entries, answers.produce, transactional_id=txn_id)
    return answers


def errors_of(answers: Answers) -> dict[TopicPartition, Errors]:
    [status] = answers.produced
    return {tp: response.error for tp, response in status.items()}


def write_marker(env: Env, kind: ControlRecordType) -> None:
    marker = MemoryRecords.with_end_transaction_marker(5, 3, EndTransactionMarker(kind, 0))
    answers = Answers()
    env.replica_manager.append_records(1000, -1, False, False, {T0: marker}, answers.produce)
    assert errors_of(answers) == {T0: Errors.NONE}


@pytest.mark.ported("ReplicaManagerTest@3.7.1.testTransactionVerificationFlow")
@pytest.mark.ported("ReplicaManagerTest@3.7.1.testVerificationForTransactionalPartitionsOnly")
def test_a_transaction_begins_once_it_is_verified_and_goes_on_without(env: Env, fakes: Fakes) -> None:
    answers = produce(env, {T0: transactional(), T1: transactional()})
    assert (answers.produced, fakes.asked) == ([], [("txn", 5, 3, [T0, T1])])
    fakes.answer({T1: Errors.INVALID_TXN_STATE})
    assert errors_of(answers) == {T0: Errors.NONE, T1: Errors.INVALID_TXN_STATE}
    again = produce(env, {T0: transactional(1), T1: transactional()})
    assert fakes.asked[1:] == [("txn", 5, 3, [T1])]
    fakes.answer({})
    assert errors_of(again) == {T0: Errors.NONE, T1: Errors.NONE}


def test_a_batch_that_comes_when_the_transaction_is_over_is_no_transaction(env: Env, fakes: Fakes) -> None:
    """KAFKA-14402: it opened one that nobody would ever end."""
    first = produce(env, {T0: transactional()})
    fakes.answer({})
    write_marker(env, ControlRecordType.COMMIT)
    late = produce(env, {T0: transactional(1)})
    answer = fakes.answer
    write_marker(env, ControlRecordType.ABORT)  # of the next transaction, while the coordinator's answer is on its way
    answer({})
    assert (errors_of(first), errors_of(late)) == ({T0: Errors.NONE}, {T0: Errors.INVALID_TXN_STATE})
    log = env.replica_manager.get_log(T0)
    assert log is not None
    assert log.producer_state_manager.first_undecided_offset is None


@pytest.mark.ported("ReplicaManagerTest@3.7.1.testDisabledTransactionVerification")
@pytest.mark.ported("ReplicaManagerTest@3.7.1.testExceptionWhenUnverifiedTransactionHasMultipleProducerIds")
def test_who_is_asked_when(env: Env, fakes: Fakes) -> None:
    assert errors_of(produce(env, {T0: transactional()}, txn_id=None)) == {T0: Errors.NONE}
    with pytest.raises(InvalidPidMappingException):
        produce(env, {T0: transactional(), T1: records(producer_id=6)})
    env.replica_manager.transaction_verification, kept = None, env.replica_manager.transaction_verification
    assert errors_of(produce(env, {T1: transactional()})) == {T1: Errors.NONE}
    env.replica_manager.transaction_verification = kept
    assert fakes.asked == []


@pytest.mark.ported("ReplicaManagerTest@3.7.1.testTransactionVerificationBlocksOutOfOrderSequence")
def test_a_sequence_that_failed_comes_before_higher_ones(env: Env, fakes: Fakes) -> None:
    first = produce(env, {T0: transactional(0)})
    fakes.answer({T0: Errors.CONCURRENT_TRANSACTIONS})
    second = produce(env, {T0: transactional(1)})
    fakes.answer({})
    assert (errors_of(first), errors_of(second)) == (
        {T0: Errors.NOT_ENOUGH_REPLICAS},
        {T0: Errors.OUT_OF_ORDER_SEQUENCE_NUMBER},
    )


def commit_offsets(env: Env, guard: VerificationGuard | None) -> Errors:
    """As the group coordinator appends: for a producer, but not from it, and with no sequence."""
    answers = Answers()
    guards = None if guard is None else {T0: guard}
    env.replica_manager.append_records(
        1000, 1, True, False, {T0: transactional()}, answers.produce, verification_guards=guards
    )
    return errors_of(answers)[T0]


def ask(env: Env) -> list[tuple[Errors, VerificationGuard | None]]:
    found: list[tuple[Errors, VerificationGuard | None]] = []
    manager = env.replica_manager
    manager.maybe_start_transaction_verification_for_partition(T0, "txn", 5, 3, -1, lambda *it: found.append(it))
    return found


def test_offsets_that_come_when_the_transaction_is_over_are_of_no_transaction(env: Env, fakes: Fakes) -> None:
    found = ask(env)
    assert fakes.asked == [("txn", 5, 3, [T0])]
    fakes.answer({})
    [(error, guard)] = found
    assert (error, commit_offsets(env, guard)) == (Errors.NONE, Errors.NONE)
    [(_, open_already)] = ask(env)
    assert open_already == SENTINEL
    assert commit_offsets(env, open_already) is Errors.NONE
    write_marker(env, ControlRecordType.COMMIT)
    assert commit_offsets(env, open_already) is Errors.INVALID_TXN_STATE
    assert commit_offsets(env, guard) is Errors.INVALID_TXN_STATE


def test_offsets_are_not_asked_for_where_transactions_are_not_verified(env: Env, fakes: Fakes) -> None:
    env.replica_manager.transaction_verification = None
    assert ask(env) == [(Errors.NONE, None)]
    assert (commit_offsets(env, None), fakes.asked) == (Errors.NONE, [])
