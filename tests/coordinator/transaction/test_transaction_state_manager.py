"""The transactions a broker coordinates: loading, looking up, appending, expiring."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_log import TransactionLog
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteAbort,
    CompleteCommit,
    Dead,
    Empty,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    TransactionMetadata,
    TransactionState,
    TxnTransitMetadata,
)
from kafka_py.coordinator.transaction.transaction_state_manager import (
    CoordinatorEpochAndTxnMetadata,
    TransactionalIdAndProducerIdEpoch,
    TransactionConfig,
    TransactionPartitionAndLeaderEpoch,
    TransactionStateManager,
)
from kafka_py.server.fetch_data_info import FetchDataInfo
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.testing.mock_scheduler import MockScheduler
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.pool import Pool
from tests.log.log_harness import Logs, as_leader

PARTITIONS = 2
EPOCH = 10
TOPIC = "__transaction_state"
LOG = TopicPartition(TOPIC, 0)
ONE, TWO = "one", "two"  # both in partition 0
A, B = TopicPartition("topic1", 0), TopicPartition("topic1", 1)
CONFIG = TransactionConfig()
Callback = Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object]


class Replicas:
    """Stands for ReplicaManager: a log to load from, and the answers to appends."""

    def __init__(self) -> None:
        self.log: Any = None
        self.error = Errors.NONE
        self.max_message_size = 1_000_000
        self.appended: list[tuple[TopicPartition, list[tuple[bytes, bytes | None]]]] = []
        self.held: list[Callback] | None = None
        self.before_answer: Callable[[], object] = int

    def get_log(self, partition: TopicPartition) -> Any:
        config = SimpleNamespace(max_message_size=self.max_message_size)
        return self.log if self.log is not None else SimpleNamespace(config=config)

    def get_log_end_offset(self, partition: TopicPartition) -> int | None:
        return None if self.log is None else cast("int", self.log.log_end_offset)

    def append_records(
        self,
        timeout: int,
        required_acks: int,
        internal_topics_allowed: bool,
        is_from_client: bool,
        entries_per_partition: dict[TopicPartition, MemoryRecords],
        response_callback: Callback,
    ) -> None:
        """There is no lock for the purgatory: nobody hands one over."""
        assert (required_acks, internal_topics_allowed, is_from_client) == (-1, True, False)
        ((partition, records),) = entries_per_partition.items()
        assert records.size_in_bytes() <= self.max_message_size
        rows = [(bytes(r.key() or b""), None if r.value() is None else bytes(r.value())) for r in records.records()]  # type: ignore[arg-type]
        self.appended.append((partition, rows))
        if self.held is None:
            self.before_answer()
            response_callback(answer(partition, self.error))
        else:
            self.held.append(response_callback)


def answer(partition: TopicPartition, error: Errors) -> dict[TopicPartition, ProduceResponse.PartitionResponse]:
    return {partition: ProduceResponse.PartitionResponse(error, 0, -1, 0)}


class Env:
    """A manager with all that it needs, and two transactions."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.scheduler = MockScheduler(self.time)
        self.time.add_listener(self.scheduler.tick)
        self.replicas = Replicas()
        self.partition_count: int | None = PARTITIONS
        self.manager = self.new_manager(CONFIG)
        self.one, self.two = self.metadata(ONE, 1), self.metadata(TWO, 2)
        self.answers: list[Errors] = []
        self.markers: list[tuple[str, int, TransactionResult, TransactionMetadata, TxnTransitMetadata]] = []

    def new_manager(self, config: TransactionConfig) -> TransactionStateManager:
        self.metrics = Metrics(time=self.time)
        zk = SimpleNamespace(get_topic_partition_count=lambda topic: self.partition_count)
        return TransactionStateManager(
            0, cast("Any", zk), self.scheduler, cast("Any", self.replicas), config, self.time, self.metrics
        )

    def metadata(self, id: str, producer_id: int, state: TransactionState = Empty, timeout: int = 1000) -> Any:
        return TransactionMetadata.apply(id, producer_id, 0, timeout, self.time.milliseconds(), state=state)

    def own(self, *transactions: TransactionMetadata, epoch: int = EPOCH, partition: int = 0) -> None:
        self.manager.add_loaded_transactions_to_cache(partition, epoch, Pool())
        for transaction in transactions:
            self.manager.put_transaction_state_if_not_exists(transaction)

    def load(self, epoch: int = 0) -> None:
        self.manager.load_transactions_for_txn_topic_partition(
            0, epoch, lambda *transaction: self.markers.append(transaction)
        )

    def state(self, id: str) -> Any:
        found = self.manager.get_transaction_state(id)
        return found.transaction_metadata if isinstance(found, CoordinatorEpochAndTxnMetadata) else found

    def append(self, transit: TxnTransitMetadata, **options: Any) -> Errors:
        self.manager.append_transaction_to_log(ONE, EPOCH, transit, self.answers.append, **options)
        return self.answers[-1]

    def ongoing(self) -> TxnTransitMetadata:
        return cast("TxnTransitMetadata", self.one.prepare_add_partitions({A, B}, self.time.milliseconds()))


@pytest.fixture
def env() -> Env:
    made = Env()
    assert [made.manager.partition_for(id) for id in (ONE, TWO, "b", "a")] == [0, 0, 0, 1]
    return made


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    made = Logs(tmp_path)
    yield made
    made.close()


def record(transaction: TransactionMetadata, state: TransactionState | None = None) -> SimpleRecord:
    """What the log says when the transaction is in that state."""
    if state is not None:
        transaction.state = state
    key = TransactionLog.key_to_bytes(transaction.transactional_id)
    return SimpleRecord(0, key, TransactionLog.value_to_bytes(transaction.prepare_no_transit()))


def log_of(env: Env, logs: Logs, *batches: Iterable[SimpleRecord]) -> Any:
    env.replicas.log = log = logs.create()
    for batch in batches:
        as_leader(log, MemoryRecords.with_records(*batch))
    return log


# ---- looking up


@pytest.mark.ported("TransactionStateManagerTest.testValidateTransactionTimeout")
def test_timeouts_a_producer_may_ask_for(env: Env) -> None:
    valid = env.manager.validate_transaction_timeout_ms
    longest = CONFIG.transaction_max_timeout_ms
    assert [valid(ms) for ms in (-1, 0, 1, longest, longest + 1)] == [False, False, True, True, False]


@pytest.mark.ported("TransactionStateManagerTest.testAddGetPids")
def test_an_id_keeps_its_first_transaction(env: Env) -> None:
    env.own()
    assert env.manager.get_transaction_state(ONE) is None
    for _ in range(2):
        put = env.manager.put_transaction_state_if_not_exists(env.one)
        assert isinstance(put, CoordinatorEpochAndTxnMetadata)
        assert put.coordinator_epoch == EPOCH
        assert put.transaction_metadata is env.one
    other = env.manager.put_transaction_state_if_not_exists(env.metadata(ONE, 77))
    assert isinstance(other, CoordinatorEpochAndTxnMetadata)
    assert other.transaction_metadata is env.one
    assert env.state(ONE) is env.one
    assert env.manager.put_transaction_state_if_not_exists(env.two) == (EPOCH, env.two)


@pytest.mark.ported("TransactionStateManagerTest.shouldReturnNotCooridnatorErrorIfTransactionIdPartitionNotOwned")
def test_an_id_of_another_broker(env: Env) -> None:
    assert env.manager.get_transaction_state(ONE) is Errors.NOT_COORDINATOR
    assert env.manager.put_transaction_state_if_not_exists(env.one) is Errors.NOT_COORDINATOR


def test_the_partition_of_an_id_is_that_of_kafka(env: Env) -> None:
    env.partition_count = None
    manager = env.new_manager(TransactionConfig(transaction_log_num_partitions=50))
    # String.hashCode, its absolute value, but 0 for the one that has none
    assert manager.partition_for("polygenelubricants") == 0
    assert [manager.partition_for(id) for id in ("tx-1", "my-transactional-id", "ä€😀", "")] == [20, 46, 1, 0]


def test_the_options_of_the_topic(env: Env) -> None:
    assert env.manager.transaction_topic_configs == {
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
    }


@pytest.mark.ported("TransactionStateManagerTest.shouldOnlyConsiderTransactionsInTheOngoingStateToAbort")
def test_only_open_transactions_take_too_long(env: Env) -> None:
    env.own(partition=0)
    env.own(partition=1)
    pending = env.metadata("pending", 9, Ongoing)
    pending.pending_state = PrepareCommit
    others = [
        env.metadata("not-expiring", 1, Ongoing, 10000),
        *(env.metadata(str(state), 2, state) for state in (PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort)),
    ]
    for transaction in (env.metadata("ongoing", 0, Ongoing), pending, *others):
        env.manager.put_transaction_state_if_not_exists(transaction)
    env.time.sleep(1000)
    assert env.manager.timed_out_transactions() == []
    env.time.sleep(1)
    (late,) = env.manager.timed_out_transactions()
    assert late == TransactionalIdAndProducerIdEpoch("ongoing", 0, 0)
    assert str(late) == "(transactionalId=ongoing, producerId=0, producerEpoch=0)"


# ---- loading and unloading


@pytest.mark.ported("TransactionStateManagerTest.testDeletePartition")
def test_a_deleted_partition_is_forgotten(env: Env) -> None:
    env.own(env.metadata("b", 5))
    env.own(env.metadata("a", 10), partition=1)
    assert (env.state("b").producer_id, env.state("a").producer_id) == (5, 10)
    env.manager.remove_transactions_for_txn_topic_partition(0)
    assert env.state("b") is Errors.NOT_COORDINATOR
    assert env.state("a").producer_id == 10


@pytest.mark.ported("TransactionStateManagerTest.testLoadAndRemoveTransactionsForPartition")
@pytest.mark.ported("TransactionStateManagerTest.testPartitionLoadMetric", changes="reads the metrics, not their beans")
def test_the_last_record_of_each_id_counts(env: Env, logs: Logs) -> None:
    load_times = [
        metric for name, metric in env.metrics.metrics().items() if name.name.startswith("partition-load-time")
    ]
    assert [metric.metric_name().group for metric in load_times] == ["transaction-coordinator-metrics"] * 2
    one, two = env.one, env.two
    one.add_partitions({A, B})
    records = [record(one, Ongoing)]
    one.add_partitions(TopicPartition("topic2", i) for i in range(3))
    records += [record(one), record(one, PrepareCommit)]
    two.add_partitions(TopicPartition("topic3", i) for i in range(3))
    records += [record(two, Ongoing), record(two, PrepareAbort), record(two, CompleteAbort)]
    two.topic_partitions.clear()
    records.append(record(two, Empty))
    log_of(env, logs, records[:3], records[3:])
    assert env.state(ONE) is env.state(TWO) is Errors.NOT_COORDINATOR
    env.load()
    assert env.manager.loading_partitions == set()
    loaded = env.state(ONE)
    assert loaded.pending_state is CompleteCommit  # its markers are being sent
    assert loaded == one
    assert env.state(TWO) == two
    assert [metric.metric_value() for metric in load_times] == [0.0, 0.0]
    env.manager.remove_transactions_for_txn_topic_partition(0, EPOCH)
    assert env.state(ONE) is env.state(TWO) is Errors.NOT_COORDINATOR


@pytest.mark.ported("TransactionStateManagerTest.shouldWriteTxnMarkersForTransactionInPreparedCommitState")
@pytest.mark.ported("TransactionStateManagerTest.shouldWriteTxnMarkersForTransactionInPreparedAbortState")
@pytest.mark.parametrize(
    ("state", "result", "end"),
    [
        (PrepareCommit, TransactionResult.COMMIT, CompleteCommit),
        (PrepareAbort, TransactionResult.ABORT, CompleteAbort),
    ],
)
def test_a_decided_transaction_gets_its_markers(
    env: Env, logs: Logs, state: TransactionState, result: TransactionResult, end: TransactionState
) -> None:
    env.one.add_partitions({A, B})
    log_of(env, logs, [record(env.one, state), record(env.two, Ongoing)])
    env.load(epoch=4)
    ((id, epoch, sent, metadata, transit),) = env.markers
    assert (id, epoch, sent) == (ONE, 4, result)
    assert metadata is env.state(ONE)
    assert metadata.topic_partitions == {A, B}
    assert transit.txn_state is metadata.pending_state is end
    assert env.state(TWO).pending_state is None


@pytest.mark.ported("TransactionStateManagerTest.testSuccessfulReimmigration")
def test_a_partition_that_comes_back_without_having_gone(env: Env, logs: Logs) -> None:
    log_of(env, logs, [record(env.one, PrepareCommit)])
    for epoch in (0, 1):
        env.load(epoch)
        assert env.manager.loading_partitions == set()
        assert env.manager.transaction_metadata_cache[0].coordinator_epoch == epoch
    assert str(env.manager.transaction_metadata_cache[0]) == (
        "TxnMetadataCacheEntry(coordinatorEpoch=1, numTransactionalEntries=1)"
    )


class StubLog:
    """A log that gives out these records, wherever it is read."""

    log_start_offset, log_end_offset = 0, 10

    def __init__(self, records: MemoryRecords, when_read: Callable[[], object] = int) -> None:
        self._records = records
        self._when_read = when_read
        self.reads = 0

    def read(self, start_offset: int, max_length: int, min_one_message: bool) -> FetchDataInfo:
        self.reads += 1
        self._when_read()
        return FetchDataInfo(LogOffsetMetadata(start_offset), self._records)


@pytest.mark.ported("TransactionStateManagerTest.testLoadTransactionMetadataWithCorruptedLog")
def test_a_log_that_ends_before_its_end(env: Env) -> None:
    env.replicas.log = log = StubLog(MemoryRecords.EMPTY)
    env.load()
    assert log.reads == 1
    assert env.manager.loading_partitions == set()
    assert env.manager.get_transaction_state(ONE) is None


@pytest.mark.ported(
    "TransactionStateManagerTest.testDeleteLoadingPartition", changes="the partition goes while the log is read"
)
@pytest.mark.parametrize("epoch", [None, 0])
def test_a_partition_that_goes_while_it_is_loaded(env: Env, epoch: int | None) -> None:
    def go() -> None:
        assert env.manager.loading_partitions == {TransactionPartitionAndLeaderEpoch(0, 0)}
        assert env.manager.get_transaction_state(ONE) is Errors.COORDINATOR_LOAD_IN_PROGRESS
        env.manager.remove_transactions_for_txn_topic_partition(0, epoch)
        assert env.manager.loading_partitions == set()

    env.replicas.log = log = StubLog(MemoryRecords.with_records(record(env.one, PrepareCommit)), go)
    env.load()
    assert log.reads == 1
    assert env.state(ONE) is Errors.NOT_COORDINATOR
    assert env.markers == []


def test_a_later_load_is_not_ended_by_an_earlier_epoch_that_goes(env: Env) -> None:
    env.manager.add_loading_partition(0, 5)
    env.manager.remove_transactions_for_txn_topic_partition(0, 4)
    assert env.manager.get_transaction_state(ONE) is Errors.COORDINATOR_LOAD_IN_PROGRESS


def test_a_load_ends_when_the_broker_does_or_leads_no_more(env: Env) -> None:
    env.replicas.log = log = StubLog(MemoryRecords.with_records(record(env.one)), env.manager.shutdown)
    env.load()
    assert log.reads == 1
    assert env.state(ONE) is Errors.NOT_COORDINATOR
    log.log_end_offset = -1
    env.load()
    assert log.reads == 1


def test_what_a_load_passes_over(env: Env, logs: Logs) -> None:
    later = SimpleRecord(0, b"\0\1of a later version", b"")
    gone = SimpleRecord(0, TransactionLog.key_to_bytes("gone"), None)
    env.one.transactional_id = "gone"
    first = record(env.one)
    log_of(env, logs, [first], [later], [later, gone, record(env.two)], [later])
    env.load()
    assert env.state(TWO) == env.two
    assert env.manager.get_transaction_state("gone") in (None, Errors.NOT_COORDINATOR)
    assert len(env.manager.transaction_metadata_cache[0].metadata_per_transactional_id) == 1


def test_batches_larger_than_the_buffer_are_loaded(env: Env, logs: Logs) -> None:
    env.manager = env.new_manager(TransactionConfig(transaction_log_load_buffer_size=100))
    ids = [f"{number}-{'x' * 200}" for number in range(5)]
    log_of(env, logs, *([record(env.metadata(id, 7))] for id in ids))
    env.load()
    assert sorted(env.manager.transaction_metadata_cache[0].metadata_per_transactional_id.keys) == ids


def test_an_error_ends_the_load_with_what_was_found(env: Env, logs: Logs) -> None:
    log_of(env, logs, [record(env.one)], [SimpleRecord(0, None, b"no key")], [record(env.two)])
    env.load()
    assert env.state(ONE) == env.one
    assert env.state(TWO) is None


def test_the_number_of_partitions_may_not_change(env: Env) -> None:
    env.partition_count = PARTITIONS + 1
    with pytest.raises(KafkaException, match="number of partitions has changed from 2 to 3"):
        env.load()


# ---- appending


@pytest.mark.ported("TransactionStateManagerTest.testCompleteTransitionWhenAppendSucceeded")
def test_a_step_is_taken_when_it_is_in_the_log(env: Env) -> None:
    env.own(env.one)
    env.replicas.held = []
    transit = env.ongoing()
    env.manager.append_transaction_to_log(ONE, EPOCH, transit, env.answers.append)
    key, value = TransactionLog.key_to_bytes(ONE), TransactionLog.value_to_bytes(transit)
    assert env.replicas.appended == [(LOG, [(key, value)])]
    assert (env.one.state, env.one.pending_state, env.answers) == (Empty, Ongoing, [])
    env.replicas.held[0](answer(LOG, Errors.NONE))
    assert (env.one.state, env.one.pending_state, env.answers) == (Ongoing, None, [Errors.NONE])
    assert env.one.topic_partitions == {A, B}


@pytest.mark.ported("TransactionStateManagerTest.testAppendFailToCoordinatorNotAvailableError")
@pytest.mark.ported("TransactionStateManagerTest.testAppendFailToUnknownError")
@pytest.mark.ported("TransactionStateManagerTest.testAppendFailToNotCoordinatorError")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.REQUEST_TIMED_OUT, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_FOR_PARTITION, Errors.NOT_COORDINATOR),
        (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.RECORD_LIST_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.CORRUPT_MESSAGE, Errors.CORRUPT_MESSAGE),
    ],
    ids=str,
)
def test_a_step_that_the_log_refuses_is_taken_back(env: Env, error: Errors, told: Errors) -> None:
    env.own(env.one)
    env.replicas.error = error
    for _ in range(2):
        assert env.append(env.ongoing()) is told
        assert (env.one.state, env.one.pending_state) == (Empty, None)


@pytest.mark.ported("TransactionStateManagerTest.testPendingStateNotResetOnRetryAppend")
def test_a_step_that_is_tried_again_stays_pending(env: Env) -> None:
    env.own(env.one)
    env.replicas.error = Errors.UNKNOWN_TOPIC_OR_PARTITION
    asked = []

    def retry(error: Errors) -> bool:
        asked.append(error)
        return True

    assert env.append(env.ongoing(), retry_on_error=retry) is Errors.COORDINATOR_NOT_AVAILABLE
    assert asked == [Errors.COORDINATOR_NOT_AVAILABLE]
    assert env.one.pending_state is Ongoing


def forgotten(env: Env) -> None:
    env.manager.remove_transactions_for_txn_topic_partition(0, EPOCH)


def came_back(env: Env) -> None:
    forgotten(env)
    env.own(env.one, epoch=EPOCH + 1)


def without_the_id(env: Env) -> None:
    env.own()


def loading(env: Env) -> None:
    forgotten(env)
    env.manager.add_loading_partition(0, EPOCH + 1)


CHANGES = [
    (forgotten, Errors.NOT_COORDINATOR),
    (came_back, Errors.NOT_COORDINATOR),
    (without_the_id, Errors.NOT_COORDINATOR),
    (loading, Errors.COORDINATOR_LOAD_IN_PROGRESS),
]


@pytest.mark.ported("TransactionStateManagerTest.testAppendFailToNotCoordinatorError")
@pytest.mark.ported("TransactionStateManagerTest.testAppendFailToCoordinatorLoadingError")
@pytest.mark.ported("TransactionStateManagerTest.testAppendTransactionToLogWhileProducerFenced")
@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_nothing_is_appended_for_who_is_no_coordinator(env: Env, change: Callable[[Env], None], told: Errors) -> None:
    env.own(env.one)
    transit = env.ongoing()
    change(env)
    assert env.append(transit) is told
    assert env.replicas.appended == []


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_a_step_is_not_taken_by_who_is_no_coordinator_any_more(
    env: Env, change: Callable[[Env], None], told: Errors
) -> None:
    env.own(env.one)
    env.replicas.held = []
    env.manager.append_transaction_to_log(ONE, EPOCH, env.ongoing(), env.answers.append)
    change(env)
    env.replicas.held[0](answer(LOG, Errors.NONE))
    assert env.answers == [told]
    assert (env.one.state, env.one.pending_state) == (Empty, Ongoing)


@pytest.mark.parametrize(("change", "_"), CHANGES)
def test_a_refusal_is_told_whatever_became_of_the_partition(env: Env, change: Callable[[Env], None], _: Errors) -> None:
    env.own(env.one)
    env.replicas.held = []
    env.manager.append_transaction_to_log(ONE, EPOCH, env.ongoing(), env.answers.append)
    change(env)
    env.replicas.held[0](answer(LOG, Errors.REQUEST_TIMED_OUT))
    assert env.answers == [Errors.COORDINATOR_NOT_AVAILABLE]
    assert env.one.pending_state is Ongoing


@pytest.mark.ported("TransactionStateManagerTest.testAppendTransactionToLogWhilePendingStateChanged")
def test_a_pending_step_that_got_lost_is_an_error(env: Env) -> None:
    env.own(env.one)
    transit = env.ongoing()
    env.one.pending_state = None
    with pytest.raises(IllegalStateException, match="does not have a pending state"):
        env.append(transit)


def test_an_answer_about_another_partition_is_an_error(env: Env) -> None:
    env.own(env.one)
    env.replicas.held = []
    env.manager.append_transaction_to_log(ONE, EPOCH, env.ongoing(), env.answers.append)
    with pytest.raises(IllegalStateException, match="should only have one partition __transaction_state-0"):
        env.replicas.held[0](answer(A, Errors.NONE))


# ---- expiry


def expire(env: Env, *old: TransactionMetadata) -> None:
    """Let the old ones expire, while another is used."""
    env.manager.enable_transactional_id_expiration()
    for transaction in old:
        transaction.txn_last_update_timestamp = env.time.milliseconds() - CONFIG.transactional_id_expiration_ms
    env.own(*old, env.two)
    env.time.sleep(CONFIG.remove_expired_transactional_ids_interval_ms)
    assert env.state(TWO) is env.two
    assert env.two.pending_state is None


@pytest.mark.ported("TransactionStateManagerTest.shouldRemoveCompleteCommmitExpiredTransactionalIds")
@pytest.mark.ported("TransactionStateManagerTest.shouldRemoveCompleteAbortExpiredTransactionalIds")
@pytest.mark.ported("TransactionStateManagerTest.shouldRemoveEmptyExpiredTransactionalIds")
@pytest.mark.parametrize("state", [Empty, CompleteCommit, CompleteAbort], ids=str)
def test_an_id_that_is_not_used_is_forgotten(env: Env, state: TransactionState) -> None:
    env.one.state = state
    expire(env, env.one)
    assert env.manager.get_transaction_state(ONE) is None
    assert env.replicas.appended == [(LOG, [(TransactionLog.key_to_bytes(ONE), None)])]


@pytest.mark.ported("TransactionStateManagerTest.shouldNotRemoveOngoingTransactionalIds")
@pytest.mark.ported("TransactionStateManagerTest.shouldNotRemovePrepareAbortTransactionalIds")
@pytest.mark.ported("TransactionStateManagerTest.shouldNotRemovePrepareCommitTransactionalIds")
@pytest.mark.parametrize("state", [Ongoing, PrepareAbort, PrepareCommit], ids=str)
def test_an_open_transaction_is_not_forgotten(env: Env, state: TransactionState) -> None:
    env.one.state = state
    expire(env, env.one)
    assert env.state(ONE) is env.one
    assert env.one.pending_state is None
    assert env.replicas.appended == []


@pytest.mark.ported("TransactionStateManagerTest.shouldNotRemoveExpiredTransactionalIdsIfLogAppendFails")
def test_an_id_without_a_tombstone_is_not_forgotten(env: Env) -> None:
    env.replicas.error = Errors.NOT_ENOUGH_REPLICAS
    expire(env, env.one)
    assert env.state(ONE) is env.one
    assert env.one.pending_state is None


def test_tombstones_go_in_batches_that_the_topic_takes(env: Env) -> None:
    env.replicas.max_message_size = 250
    old = [env.metadata(f"{number:040}-b", number) for number in range(12)]
    old = [it for it in old if env.manager.partition_for(it.transactional_id) == 0]
    assert len(old) > 4
    expire(env, *old)
    batches = [[key for key, _ in rows] for _, rows in env.replicas.appended]
    assert all(len(keys) > 1 for keys in batches[:-1])
    assert len(batches) > 1
    assert sorted(itertools.chain(*batches)) == sorted(TransactionLog.key_to_bytes(it.transactional_id) for it in old)
    assert [id for id, _ in env.manager.transaction_metadata_cache[0].metadata_per_transactional_id] == [TWO]


def test_an_id_in_a_step_of_its_own_does_not_keep_the_others(env: Env) -> None:
    busy = env.metadata("b", 5)
    busy.pending_state = Ongoing
    env.one.producer_epoch = -1  # and one that never got an epoch expires like any other
    expire(env, busy, env.one)
    assert env.state("b").pending_state is Ongoing
    assert env.manager.get_transaction_state(ONE) is None


def test_ids_of_a_partition_without_a_log_stay(env: Env) -> None:
    env.replicas.get_log = lambda partition: None  # type: ignore[method-assign]
    expire(env, env.one)
    assert env.state(ONE).pending_state is None


@pytest.mark.parametrize("change", [forgotten, came_back, without_the_id, loading])
def test_what_changes_while_a_tombstone_is_written(env: Env, change: Callable[[Env], None]) -> None:
    env.replicas.held = []
    expire(env, env.one)
    assert env.one.pending_state is Dead
    change(env)
    env.replicas.held[0](answer(LOG, Errors.NONE))
    assert env.one.pending_state is Dead  # nobody has it any more, or whoever loaded it


def test_a_transaction_that_moved_on_is_not_forgotten(env: Env) -> None:
    env.replicas.held = []
    expire(env, env.one)
    env.one.producer_epoch += 1
    env.replicas.held[0](answer(LOG, Errors.NONE))
    assert env.state(ONE) is env.one
    assert env.one.pending_state is None
