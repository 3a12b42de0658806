"""Many threads at one transaction coordinator: a real state manager and a real channel manager over a log of memory.

An append ends when it has been tried three times, on whichever thread tries it then: as one that waits for replicas.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.clients.client_response import ClientResponse
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.requests.write_txn_markers_request import WriteTxnMarkersRequest
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.producer_id_and_epoch import ProducerIdAndEpoch
from kafka_py.coordinator.transaction.delayed_txn_marker import DelayedTxnMarker
from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult, TransactionCoordinator
from kafka_py.coordinator.transaction.transaction_log import TransactionLog
from kafka_py.coordinator.transaction.transaction_marker_channel_manager import TransactionMarkerChannelManager
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteAbort,
    CompleteCommit,
    Empty,
    Ongoing,
    PrepareCommit,
    TransactionMetadata,
    TransactionState,
)
from kafka_py.coordinator.transaction.transaction_state_manager import TransactionConfig, TransactionStateManager
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicInteger, ReentrantLock, ThreadPoolExecutor
from kafka_py.utils.pool import Pool

THREADS = 5
TRANSACTIONS = THREADS * 8
PARTITIONS = THREADS * 3
COORDINATOR_EPOCH = 10
PRODUCER_ID = 11
EXHAUSTED = 32766
TP = TopicPartition("topic", 0)
NONE = Errors.NONE
Callback = Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object]


class DelayedAppend(DelayedOperation):
    """An append whose replicas have it at the third look."""

    def __init__(self, partition: TopicPartition, callback: Callback) -> None:
        super().__init__(5)
        self._attempts = AtomicInteger()
        self._partition = partition
        self._callback = callback

    def try_complete(self) -> bool:
        return self._attempts.increment_and_get() >= 3 and self.force_complete()

    def on_complete(self) -> None:
        self._callback({self._partition: ProduceResponse.PartitionResponse(NONE, 0, -1, 0)})

    def on_expiration(self) -> None:
        raise AssertionError("there is no timer")


class Replicas:
    """Stands for ReplicaManager: keeps the records of each partition."""

    def __init__(self) -> None:
        self.records: list[list[SimpleRecord]] = [[] for _ in range(PARTITIONS)]
        self.purgatory: DelayedOperationPurgatory[DelayedAppend] = DelayedOperationPurgatory(
            "Produce", reaper_enabled=False, timer_enabled=False
        )

    def get_log(self, partition: TopicPartition) -> Any:
        return SimpleNamespace(
            config=SimpleNamespace(max_message_size=1_000_000),
            log_start_offset=0,
            read=lambda offset, max_length, min_one_message: SimpleNamespace(
                records=MemoryRecords.with_records(*self.records[partition.partition][offset:], initial_offset=offset)
            ),
        )

    def get_log_end_offset(self, partition: TopicPartition) -> int:
        return len(self.records[partition.partition])

    def append_records(
        self,
        timeout: int,
        required_acks: int,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: dict[TopicPartition, MemoryRecords],
        response_callback: Callback,
    ) -> None:
        [(partition, records)] = entries_per_partition.items()
        for record in records.records():
            self.records[partition.partition].append(SimpleRecord(record.timestamp(), record.key(), record.value()))
        operation = DelayedAppend(partition, response_callback)
        self.purgatory.try_complete_else_watch(operation, [partition])
        self.try_complete_delayed()

    def try_complete_delayed(self) -> None:
        for partition in range(PARTITIONS):
            self.purgatory.check_and_complete(TopicPartition("__transaction_state", partition))


class Coordinator:
    """A coordinator of all partitions, and threads that use it."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.replicas = Replicas()
        self.config = TransactionConfig()
        self.next_producer_id: int = PRODUCER_ID
        self.ids = SimpleNamespace(generate_producer_id=lambda: self.next_producer_id, shutdown=int)
        self.metrics = Metrics(time=self.time)
        zk = SimpleNamespace(get_topic_partition_count=lambda topic: PARTITIONS)
        self.states = TransactionStateManager(
            0, cast("Any", zk), self.time.scheduler, cast("Any", self.replicas), self.config, self.time, self.metrics
        )
        for partition in range(PARTITIONS):
            self.states.add_loaded_transactions_to_cache(partition, COORDINATOR_EPOCH, Pool())
        self.purgatory: DelayedOperationPurgatory[DelayedTxnMarker] = DelayedOperationPurgatory(
            "txn-purgatory-name", reaper_enabled=False, timer_enabled=False
        )
        cache = SimpleNamespace(get_partition_leader_endpoint=lambda *which: Node(0, "host", 10))
        client = SimpleNamespace(wakeup=int, initiate_close=int, close=int)
        self.channel = TransactionMarkerChannelManager(
            KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": "0"}, do_log=False),
            cast("Any", cache),
            cast("Any", client),
            self.states,
            self.purgatory,
            self.time,
        )
        self.coordinator = TransactionCoordinator(
            0, self.config, self.time.scheduler, cast("Any", self.ids), self.states, self.channel, self.time
        )
        self.executor = ThreadPoolExecutor(THREADS)
        self._sender = ReentrantLock()  # markers are sent by one thread

    def close(self) -> None:
        self.executor.shutdown()
        assert self.executor.await_termination(10_000)
        self.coordinator.shutdown()
        self.metrics.close()

    def metadata(self, txn_id: str) -> TransactionMetadata | None:
        found = self.states.get_transaction_state(txn_id)
        if isinstance(found, Errors):
            assert found is Errors.NOT_COORDINATOR
            return None
        return None if found is None else found.transaction_metadata

    def producer(self, txn_id: str) -> ProducerIdAndEpoch | None:
        """Who may begin a transaction now; None while the first InitProducerId is under way."""
        found = self.metadata(txn_id)
        if found is None or found.producer_epoch < 0:
            return None
        return ProducerIdAndEpoch(found.producer_id, found.producer_epoch)

    def run(self, actions: Iterable[Callable[[], object]]) -> None:
        """Run them on the threads, all at once, and then to their ends what they have begun."""
        for future in self.executor.invoke_all(list(actions)):
            future.get(20_000)
        self.settle()

    def settle(self) -> None:
        """Complete appends, and write markers, until nothing waits."""
        for _ in range(50):
            self.replicas.try_complete_delayed()
            with self._sender:
                requests = self.channel.generate_requests()
                for request in requests:
                    body = cast("WriteTxnMarkersRequest", request.request.build(0))
                    errors = {m.producer_id: dict.fromkeys(m.partitions, NONE) for m in body.markers()}
                    header = RequestHeader(ApiKeys.WRITE_TXN_MARKERS, 0, "client", 1)
                    response = WriteTxnMarkersResponse.of(errors)
                    request.handler(ClientResponse(header, None, "0", 0, 0, False, None, response))
            if not requests and not self.replicas.purgatory.watched:
                return
        raise AssertionError("something waits for ever")

    def check(self, txn_id: str, state: TransactionState) -> None:
        found = self.metadata(txn_id)
        assert found is not None, txn_id
        assert (found.state, found.pending_state) == (state, None), txn_id

    def transactions(self, prefix: str) -> list[str]:
        return [f"{prefix}{i}" for i in range(TRANSACTIONS)]

    def put_exhausted(self, txn_id: str) -> None:
        self.states.put_transaction_state_if_not_exists(
            TransactionMetadata(txn_id, PRODUCER_ID, -1, EXHAUSTED, -1, 60000, Empty, (), -1, self.time.milliseconds())
        )


class InitProducerId:
    """One InitProducerId request; its answer comes into `result`."""

    state = Empty

    def __init__(self, coordinator: Coordinator, txn_id: str, expected: tuple[int, int] | None = None) -> None:
        self.result: InitProducerIdResult | None = None
        self._coordinator, self._txn_id = coordinator.coordinator, txn_id
        self._expected = None if expected is None else ProducerIdAndEpoch(*expected)

    def __call__(self) -> None:
        self._coordinator.handle_init_producer_id(self._txn_id, 60000, self._expected, self._answered)

    def _answered(self, result: InitProducerIdResult) -> None:
        self.result = result

    @property
    def error(self) -> Errors:
        assert self.result is not None, "InitProducerId has not completed"
        return self.result.error

    @property
    def given(self) -> tuple[int, int] | None:
        """Producer id and epoch, None after an error."""
        return self.result[:2] if self.result is not None and self.error is NONE else None


class AddPartitions:
    """One AddPartitionsToTxn request of whoever is the producer now."""

    state = Ongoing

    def __init__(self, coordinator: Coordinator, txn_id: str) -> None:
        self.error: Errors | None = None
        self._coordinator, self._txn_id = coordinator, txn_id

    def __call__(self) -> None:
        found = self._coordinator.producer(self._txn_id)
        if found is not None:
            self._coordinator.coordinator.handle_add_partitions_to_transaction(
                self._txn_id, found.producer_id, found.epoch, {TP}, self._answered
            )

    def _answered(self, error: Errors) -> None:
        self.error = error


class EndTxn(AddPartitions):
    """One EndTxn request: commit for even numbers, abort for odd ones."""

    def __init__(self, coordinator: Coordinator, txn_id: str) -> None:
        super().__init__(coordinator, txn_id)
        even = int(txn_id[-1]) % 2 == 0
        self._result = TransactionResult.COMMIT if even else TransactionResult.ABORT
        self.state = CompleteCommit if even else CompleteAbort

    def __call__(self) -> None:
        found = self._coordinator.producer(self._txn_id)
        if found is not None:
            self._coordinator.coordinator.handle_end_transaction(
                self._txn_id, found.producer_id, found.epoch, self._result, self._answered
            )


Operation = type[InitProducerId] | type[AddPartitions] | type[EndTxn]
OPERATIONS: Sequence[Operation] = (InitProducerId, AddPartitions, EndTxn)


@pytest.fixture
def txn() -> Iterator[Coordinator]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    made = Coordinator()
    yield made
    made.close()
    sys.setswitchinterval(interval)


def in_order(txn: Coordinator, transactions: list[str]) -> None:
    """Each step of every transaction at once, one step after the other."""
    for operation in OPERATIONS:
        steps = [operation(txn, txn_id) for txn_id in transactions]
        txn.run(steps)
        for txn_id, step in zip(transactions, steps, strict=True):
            assert step.error is NONE
            txn.check(txn_id, step.state)


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentGoodPathSequence")
def test_all_at_once_in_the_right_order(txn: Coordinator) -> None:
    in_order(txn, txn.transactions("ordered"))


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentRandomSequences")
@pytest.mark.parametrize("number", range(3))
def test_any_order_leaves_the_coordinator_sane(txn: Coordinator, number: int) -> None:
    chance = random.Random(number)
    for i in range(2):
        transactions = txn.transactions(f"random{i}-")
        for _ in range(4):
            # twice each, so that requests of one transaction meet
            txn.run(chance.choice(OPERATIONS)(txn, txn_id) for txn_id in transactions * 2)
        in_order(txn, txn.transactions(f"ordered{i}-"))


def prepared(txn: Coordinator, prefix: str) -> list[str]:
    """Transactions that the log says are decided, and memory that they are open."""
    transactions = txn.transactions(prefix)
    for operation in OPERATIONS[:2]:
        txn.run(operation(txn, txn_id) for txn_id in transactions)
    for txn_id in transactions:
        found = txn.metadata(txn_id)
        assert found is not None
        found.state = PrepareCommit
        value = TransactionLog.value_to_bytes(found.prepare_no_transit())
        txn.replicas.records[txn.states.partition_for(txn_id)].append(
            SimpleRecord(0, TransactionLog.key_to_bytes(txn_id), value)
        )
        found.state = Ongoing
    return transactions


def move(txn: Coordinator, transactions: list[str], extra: Callable[[], object] | None = None) -> dict[str, list[str]]:
    """Load a third of the partitions and unload another at once, with something else; ids by what became of them."""
    to_load, to_unload = range(PARTITIONS // 3), range(PARTITIONS // 3, PARTITIONS * 2 // 3)
    for partition in to_load:
        txn.coordinator.handle_txn_emigration(partition, COORDINATOR_EPOCH)
    loads = [lambda p=p: txn.coordinator.handle_txn_immigration(p, COORDINATOR_EPOCH + 1) for p in to_load]
    unloads = [lambda p=p: txn.coordinator.handle_txn_emigration(p, COORDINATOR_EPOCH) for p in to_unload]
    txn.run([*loads, *unloads, *([] if extra is None else [extra])])
    found: dict[str, list[str]] = {"loaded": [], "unloaded": [], "kept": []}
    for txn_id in transactions:
        partition = txn.states.partition_for(txn_id)
        found["loaded" if partition in to_load else "unloaded" if partition in to_unload else "kept"].append(txn_id)
    assert all(found.values())
    return found


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentLoadUnloadPartitions")
def test_partitions_come_and_go_at_once(txn: Coordinator) -> None:
    found = move(txn, prepared(txn, "moving"))
    for txn_id in found["loaded"]:
        txn.check(txn_id, CompleteCommit)  # the marker was written again
    assert [txn.metadata(txn_id) for txn_id in found["unloaded"]] == [None] * len(found["unloaded"])
    for txn_id in found["kept"]:
        txn.check(txn_id, Ongoing)


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentTransactionExpiration")
def test_ids_expire_while_partitions_come_and_go(txn: Coordinator) -> None:
    transactions = prepared(txn, "expiring")
    txn.run(EndTxn(txn, txn_id) for txn_id in transactions)
    for txn_id in transactions:
        metadata = txn.metadata(txn_id)
        assert metadata is not None
        metadata.txn_last_update_timestamp -= txn.config.transactional_id_expiration_ms
    found = move(txn, transactions, txn.states.remove_expired_transactional_ids)
    for txn_id in found["loaded"]:
        assert txn.metadata(txn_id) is not None
    assert [txn.metadata(txn_id) for txn_id in found["kept"]] == [None] * len(found["kept"])


def race(txn: Coordinator, first: InitProducerId, second: InitProducerId) -> None:
    """Both at once; one of them at least gets an id, and no two get the same."""
    txn.run([first, second])
    assert {first.error, second.error} <= {NONE, Errors.CONCURRENT_TRANSACTIONS, Errors.INVALID_PRODUCER_EPOCH}
    assert NONE in (first.error, second.error)


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentNewInitProducerIdRequests")
def test_two_producers_begin(txn: Coordinator) -> None:
    txn.next_producer_id += 1
    for txn_id in txn.transactions("new"):
        txn.put_exhausted(txn_id)
        first, second = InitProducerId(txn, txn_id), InitProducerId(txn, txn_id)
        race(txn, first, second)
        given = sorted(g for g in (first.given, second.given) if g is not None)
        assert given in ([(PRODUCER_ID + 1, 0)], [(PRODUCER_ID + 1, 0), (PRODUCER_ID + 1, 1)])


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentInitProducerIdRequestsOneNewOneContinuing")
def test_one_begins_and_one_goes_on(txn: Coordinator) -> None:
    for txn_id in txn.transactions("continuing"):
        txn.run([InitProducerId(txn, txn_id)])
        bump, new = InitProducerId(txn, txn_id, (PRODUCER_ID, 0)), InitProducerId(txn, txn_id)
        race(txn, bump, new)
        # if both were served, the one that begins came last: the other would have been fenced
        assert bump.given in (None, (PRODUCER_ID, 1))
        assert new.given in (None, (PRODUCER_ID, 1 if bump.given is None else 2))


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentContinuingInitProducerIdRequests")
def test_two_go_on_with_an_id_that_was_forgotten(txn: Coordinator) -> None:
    for txn_id in txn.transactions("forgotten"):
        first, second = (InitProducerId(txn, txn_id, (PRODUCER_ID, 10)) for _ in range(2))
        race(txn, first, second)
        assert sorted([first.given is None, second.given is None]) == [False, True]
        assert (first.given or second.given) == (PRODUCER_ID, 0)


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentInitProducerIdRequestsWithRetry")
def test_one_begins_and_one_asks_again(txn: Coordinator) -> None:
    for txn_id in txn.transactions("retry"):
        txn.run([InitProducerId(txn, txn_id)])
        txn.run([InitProducerId(txn, txn_id, (PRODUCER_ID, 0))])
        retry, new = InitProducerId(txn, txn_id, (PRODUCER_ID, 0)), InitProducerId(txn, txn_id)
        race(txn, retry, new)
        assert retry.given in (None, (PRODUCER_ID, 1))
        assert new.given in (None, (PRODUCER_ID, 2))


@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentInitProducerRequestsAtPidBoundary")
@pytest.mark.ported("TransactionCoordinatorConcurrencyTest.testConcurrentInitProducerRequestsWithRetryAtPidBoundary")
@pytest.mark.parametrize("asked_before", [False, True])
def test_where_the_producer_id_changes(txn: Coordinator, asked_before: bool) -> None:
    txn.next_producer_id += 1
    for txn_id in txn.transactions("boundary"):
        txn.put_exhausted(txn_id)
        if asked_before:
            txn.run([InitProducerId(txn, txn_id, (PRODUCER_ID, EXHAUSTED))])
        bump, new = InitProducerId(txn, txn_id, (PRODUCER_ID, EXHAUSTED)), InitProducerId(txn, txn_id)
        race(txn, bump, new)
        assert bump.given in (None, (PRODUCER_ID + 1, 0))
        epoch = 0 if bump.given is None and not asked_before else 1
        assert new.given in (None, (PRODUCER_ID + 1, epoch))
