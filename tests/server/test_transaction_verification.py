"""What a transactional Produce waits for before its records are appended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from kafka_py.cluster.partition import Partition
from kafka_py.common.errors import InvalidPidMappingException, NotLeaderForPartitionException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.verification_guard import VerificationGuard
from kafka_py.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from kafka_py.server.kafka_request_handler import KafkaRequestHandler
from kafka_py.server.transaction_verification import TransactionVerification

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

    def verify(self, entries: dict[TopicPartition, MemoryRecords]) -> None:
        self.verification.verify(
            "txn",
            entries,
            lambda guards, failures: self.appended.append((guards, {tp: r.error for tp, r in failures.items()})),
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


def test_it_starts_and_ends_who_asks(fakes: Fakes) -> None:
    fakes.verification.startup()
    assert fakes.running
    fakes.verification.shutdown()
    assert fakes.running is False
