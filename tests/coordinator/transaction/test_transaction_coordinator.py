"""What the transaction coordinator answers, and what it has written into the log and sent, state by state."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.producer_id_and_epoch import ProducerIdAndEpoch
from kafka_py.coordinator.transaction.producer_id_manager import ProducerIdManager
from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult, TransactionCoordinator
from kafka_py.coordinator.transaction.transaction_marker_channel_manager import TransactionMarkerChannelManager
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteAbort,
    CompleteCommit,
    Dead,
    Empty,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    PrepareEpochFence,
    TransactionMetadata,
    TransactionState,
    TxnTransitMetadata,
)
from kafka_py.coordinator.transaction.transaction_state_manager import (
    TransactionalIdAndProducerIdEpoch,
    TransactionConfig,
    TransactionStateManager,
)
from kafka_py.testing.mock_time import MockTime
from tests.coordinator.transaction.txn_fakes import FakeTransactionStateManager

TXN_ID, PRODUCER_ID, EPOCH, TIMEOUT_MS = "known", 10, 1, 1
PARTITIONS = {TopicPartition("topic1", 0)}
SHORT_MAX = 32767
COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT
NONE, NOT_COORDINATOR = Errors.NONE, Errors.NOT_COORDINATOR
FENCED, CONCURRENT = Errors.INVALID_PRODUCER_EPOCH, Errors.CONCURRENT_TRANSACTIONS
INVALID_MAPPING = Errors.INVALID_PRODUCER_ID_MAPPING
PREPARED = {COMMIT: PrepareCommit, ABORT: PrepareAbort}
COMPLETED = {COMMIT: CompleteCommit, ABORT: CompleteAbort}


def failed(error: Errors) -> InitProducerIdResult:
    return InitProducerIdResult(-1, -1, error)


class FakeProducerIdManager:
    """Counts from what the test says."""

    def __init__(self) -> None:
        self.next = 0
        self.is_shut_down = False

    def generate_producer_id(self) -> int:
        self.next += 1
        return self.next - 1

    def shutdown(self) -> None:
        self.is_shut_down = True


class FakeChannelManager:
    """Writes down whose markers are to be sent, and what is dropped."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.removed: list[int] = []
        self.running: bool | None = None

    def add_txn_markers_to_send(
        self,
        transactional_id: str,
        coordinator_epoch: int,
        result: TransactionResult,
        metadata: TransactionMetadata,
        new_metadata: TxnTransitMetadata,
    ) -> None:
        self.sent.append((transactional_id, coordinator_epoch, result, metadata, new_metadata.txn_state))

    def remove_markers_for_txn_topic_partition(self, txn_topic_partition_id: int) -> None:
        self.removed.append(txn_topic_partition_id)

    def start(self) -> None:
        self.running = True

    def shutdown(self) -> None:
        self.running = False


class Coordinator:
    """A coordinator among fakes; its answers end in `results` and `errors`."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.ids = FakeProducerIdManager()
        self.states = FakeTransactionStateManager()
        self.channel = FakeChannelManager()
        self.coordinator = TransactionCoordinator(
            0,
            TransactionConfig(),
            self.time.scheduler,
            cast("ProducerIdManager", self.ids),
            cast("TransactionStateManager", self.states),
            cast("TransactionMarkerChannelManager", self.channel),
            self.time,
        )
        self.results: list[InitProducerIdResult] = []
        self.errors: list[Errors] = []

    def have(
        self,
        state: TransactionState,
        epoch: int = EPOCH,
        last_epoch: int = -1,
        partitions: set[TopicPartition] | None = None,
        producer_id: int = PRODUCER_ID,
        last_producer_id: int = PRODUCER_ID,
    ) -> TransactionMetadata:
        now = self.time.milliseconds()
        return self.states.have(
            TransactionMetadata(
                TXN_ID, producer_id, last_producer_id, epoch, last_epoch, TIMEOUT_MS, state, partitions or (), now, now
            )
        )

    def init(
        self, expected: tuple[int, int] | None = None, txn_id: str | None = TXN_ID, timeout_ms: int = TIMEOUT_MS
    ) -> InitProducerIdResult:
        """InitProducerId; its answer, which has to come at once."""
        before = len(self.results)
        self.coordinator.handle_init_producer_id(
            txn_id, timeout_ms, None if expected is None else ProducerIdAndEpoch(*expected), self.results.append
        )
        [result] = self.results[before:]
        return result

    def add(self, txn_id: str | None = TXN_ID, producer_id: int = PRODUCER_ID, epoch: int = EPOCH) -> Errors | None:
        """AddPartitionsToTxn; its answer, None if the append has to end first."""
        before = len(self.errors)
        self.coordinator.handle_add_partitions_to_transaction(
            txn_id, producer_id, epoch, PARTITIONS, self.errors.append
        )
        return self.errors[before] if self.errors[before:] else None

    def end(
        self, result: TransactionResult, txn_id: str | None = TXN_ID, producer_id: int = PRODUCER_ID, epoch: int = EPOCH
    ) -> Errors | None:
        """EndTxn, as add."""
        before = len(self.errors)
        self.coordinator.handle_end_transaction(txn_id, producer_id, epoch, result, self.errors.append)
        return self.errors[before] if self.errors[before:] else None


@pytest.fixture
def txn() -> Coordinator:
    return Coordinator()


# -- InitProducerId ----------------------------------------------------------------------------------------------------


@pytest.mark.ported("TransactionCoordinatorTest.shouldReturnInvalidRequestWhenTransactionalIdIsEmpty")
def test_an_empty_id_is_none(txn: Coordinator) -> None:
    assert [txn.init(txn_id="") for _ in range(2)] == [failed(Errors.INVALID_REQUEST)] * 2


@pytest.mark.ported("TransactionCoordinatorTest.shouldAcceptInitPidAndReturnNextPidWhenTransactionalIdIsNull")
def test_an_idempotent_producer_gets_the_next_producer_id(txn: Coordinator) -> None:
    txn.states.timeout_is_valid = False  # of no interest without transactions
    assert [txn.init(txn_id=None) for _ in range(2)] == [InitProducerIdResult(i, 0, NONE) for i in range(2)]


def test_a_timeout_that_is_not_allowed(txn: Coordinator) -> None:
    txn.states.timeout_is_valid = False
    assert txn.init() == failed(Errors.INVALID_TRANSACTION_TIMEOUT)


@pytest.mark.ported("TransactionCoordinatorTest.shouldInitPidWithEpochZeroForNewTransactionalId")
@pytest.mark.ported("TransactionCoordinatorTest.shouldGenerateNewProducerIdIfNoStateAndProducerIdAndEpochProvided")
@pytest.mark.parametrize("expected", [None, (PRODUCER_ID, EPOCH)])
def test_a_new_id_begins_with_epoch_0(txn: Coordinator, expected: tuple[int, int] | None) -> None:
    txn.ids.next = 77
    txn.states.coordinator_epoch = 5
    txn.states.answers = [NONE]
    assert txn.init(expected) == InitProducerIdResult(77, 0, NONE)
    [append] = txn.states.appends
    assert (append.coordinator_epoch, append.new_metadata.txn_state) == (5, Empty)
    assert not append.retry_on_error(Errors.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.ported("TransactionCoordinatorTest.shouldGenerateNewProducerIdIfEpochsExhausted")
def test_used_up_epochs_mean_a_new_producer_id(txn: Coordinator) -> None:
    txn.have(Empty, SHORT_MAX - 1, SHORT_MAX - 2)
    txn.ids.next = 77
    txn.states.answers = [NONE]
    assert txn.init() == InitProducerIdResult(77, 0, NONE)


@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithNotCoordinatorOnInitPidWhenNotCoordinator")
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithCoordinatorLoadInProgressOnInitPidWhenCoordintorLoading"
)
@pytest.mark.parametrize("error", [NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS], ids=str)
@pytest.mark.parametrize("when", ["get", "put", "append"])
def test_another_coordinators_id(txn: Coordinator, error: Errors, when: str) -> None:
    if when == "get":
        txn.states.states[TXN_ID] = error
    elif when == "put":
        txn.states.put_error = error
    else:
        txn.states.answers = [error]
    assert txn.init() == failed(error)


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingEmptyTransaction"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingCompleteTransaction"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingCompleteCommitTransaction"
)
@pytest.mark.parametrize("state", [Empty, CompleteAbort, CompleteCommit], ids=repr)
def test_a_producer_that_begins_gets_the_next_epoch(txn: Coordinator, state: TransactionState) -> None:
    metadata = txn.have(state)
    txn.time.sleep(3)
    txn.states.answers = [NONE]
    assert txn.init(timeout_ms=10) == InitProducerIdResult(PRODUCER_ID, EPOCH + 1, NONE)
    assert (metadata.producer_id, metadata.producer_epoch, metadata.txn_timeout_ms) == (PRODUCER_ID, EPOCH + 1, 10)
    assert metadata.txn_last_update_timestamp == txn.time.milliseconds()
    assert metadata.state is Empty


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldWaitForCommitToCompleteOnHandleInitPidAndExistingTransactionInPrepareCommitState"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldWaitForCommitToCompleteOnHandleInitPidAndExistingTransactionInPrepareAbortState"
)
@pytest.mark.parametrize("state", [PrepareCommit, PrepareAbort], ids=repr)
def test_who_begins_waits_for_the_markers(txn: Coordinator, state: TransactionState) -> None:
    txn.have(state, partitions=PARTITIONS)
    assert txn.init() == failed(CONCURRENT)
    assert txn.states.appends == []


@pytest.mark.parametrize("state", [Dead, PrepareEpochFence], ids=repr)
def test_a_state_that_is_never_written(txn: Coordinator, state: TransactionState) -> None:
    txn.have(state)
    with pytest.raises(IllegalStateException, match="we should never have transitioned to this state"):
        txn.init()
    with pytest.raises(IllegalStateException, match="we should never have transitioned to this state"):
        txn.end(COMMIT)


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldAbortTransactionOnHandleInitPidWhenExistingTransactionInOngoingState"
)
@pytest.mark.ported("TransactionCoordinatorTest.shouldUseLastEpochToFenceWhenEpochsAreExhausted")
@pytest.mark.parametrize("epoch", [EPOCH, SHORT_MAX - 1])
def test_an_open_transaction_is_aborted_first(txn: Coordinator, epoch: int) -> None:
    metadata = txn.have(Ongoing, epoch, epoch - 1, PARTITIONS)
    txn.states.answers = [NONE]
    assert txn.init() == failed(CONCURRENT)
    now = txn.time.milliseconds()
    [append] = txn.states.appends
    assert append.new_metadata == TxnTransitMetadata(
        PRODUCER_ID, PRODUCER_ID, epoch + 1, -1, TIMEOUT_MS, PrepareAbort, frozenset(PARTITIONS), now, now
    )
    assert metadata.producer_epoch == epoch + 1
    assert txn.channel.sent == [(TXN_ID, 0, ABORT, metadata, CompleteAbort)]


def test_who_begins_hears_why_the_open_transaction_could_not_be_aborted(txn: Coordinator) -> None:
    txn.have(Ongoing, partitions=PARTITIONS)
    txn.states.answers = [Errors.COORDINATOR_NOT_AVAILABLE]
    assert txn.init() == failed(Errors.COORDINATOR_NOT_AVAILABLE)
    assert txn.channel.sent == []


def test_a_fence_that_could_not_be_written_costs_no_second_epoch(txn: Coordinator) -> None:
    """KAFKA-9666: as long as the log was not available each attempt took an epoch."""
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    for _ in range(3):
        txn.states.answers = [Errors.COORDINATOR_NOT_AVAILABLE]
        assert txn.init() == failed(Errors.COORDINATOR_NOT_AVAILABLE)
        assert (metadata.producer_epoch, metadata.has_failed_epoch_fence) == (EPOCH + 1, True)
    assert txn.end(COMMIT) is FENCED
    txn.states.answers = [NONE]
    assert txn.init() == failed(CONCURRENT)
    assert (metadata.producer_epoch, metadata.has_failed_epoch_fence) == (EPOCH + 1, False)
    assert txn.channel.sent == [(TXN_ID, 0, ABORT, metadata, CompleteAbort)]


def test_a_failed_fence_of_an_earlier_term_is_not_remembered(txn: Coordinator) -> None:
    txn.have(Ongoing, partitions=PARTITIONS)
    txn.coordinator.handle_init_producer_id(TXN_ID, TIMEOUT_MS, None, txn.results.append)
    [append] = txn.states.appends
    loaded = txn.states.have(TransactionMetadata.apply(TXN_ID, PRODUCER_ID, EPOCH, 1, 0), coordinator_epoch=1)
    append.callback(NOT_COORDINATOR)
    assert not loaded.has_failed_epoch_fence
    del txn.states.states[TXN_ID]
    append.callback(NOT_COORDINATOR)
    assert txn.results == [failed(NOT_COORDINATOR)] * 2


@pytest.mark.ported("TransactionCoordinatorTest.testInitProducerIdWithNoLastProducerData")
def test_a_repeated_request_that_the_log_knows_nothing_of_is_fenced(txn: Coordinator) -> None:
    txn.have(Empty, EPOCH + 1, last_producer_id=-1)
    assert txn.init((PRODUCER_ID, EPOCH)) == failed(FENCED)


@pytest.mark.ported("TransactionCoordinatorTest.testFenceProducerWhenMappingExistsWithDifferentProducerId")
def test_another_producer_id_is_fenced(txn: Coordinator) -> None:
    txn.have(Empty, EPOCH, EPOCH - 1, producer_id=PRODUCER_ID + 1)
    assert txn.init((PRODUCER_ID, EPOCH)) == failed(FENCED)


@pytest.mark.ported("TransactionCoordinatorTest.testInitProducerIdWithCurrentEpochProvided")
def test_a_producer_that_goes_on_may_ask_twice(txn: Coordinator) -> None:
    txn.have(Empty, 10, 9)
    txn.states.answers = [NONE, NONE]
    assert [txn.init((PRODUCER_ID, 10)) for _ in range(2)] == [InitProducerIdResult(PRODUCER_ID, 11, NONE)] * 2


@pytest.mark.ported("TransactionCoordinatorTest.testInitProducerIdStaleCurrentEpochProvided")
def test_a_producer_whose_place_is_taken_is_fenced(txn: Coordinator) -> None:
    txn.have(Empty, 10, 9)
    txn.states.answers = [NONE]
    assert txn.init() == InitProducerIdResult(PRODUCER_ID, 11, NONE)
    assert txn.init((PRODUCER_ID, 10)) == failed(FENCED)


@pytest.mark.ported("TransactionCoordinatorTest.testRetryInitProducerIdAfterProducerIdRotation")
@pytest.mark.ported("TransactionCoordinatorTest.testInitProducerIdWithInvalidEpochAfterProducerIdRotation")
def test_a_request_that_brought_a_new_producer_id_may_be_repeated(txn: Coordinator) -> None:
    txn.have(Empty, SHORT_MAX - 1, SHORT_MAX - 2)
    txn.ids.next = PRODUCER_ID + 1
    txn.states.answers = [NONE, NONE]
    given = InitProducerIdResult(PRODUCER_ID + 1, 0, NONE)
    assert [txn.init((PRODUCER_ID, SHORT_MAX - 1)) for _ in range(2)] == [given] * 2
    assert txn.init((PRODUCER_ID, SHORT_MAX - 2)) == failed(FENCED)


@pytest.mark.ported("TransactionCoordinatorTest.shouldNotBumpEpochWithPendingTransaction")
def test_a_step_under_way_comes_first(txn: Coordinator) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    metadata.prepare_abort_or_commit(PrepareCommit, txn.time.milliseconds())
    assert txn.init((PRODUCER_ID, 10)) == failed(CONCURRENT)
    assert txn.add() is CONCURRENT
    assert txn.end(COMMIT) is CONCURRENT
    assert txn.states.appends == []


# -- AddPartitionsToTxn ------------------------------------------------------------------------------------------------


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithInvalidRequestAddPartitionsToTransactionWhenTransactionalIdIsEmpty"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithInvalidRequestAddPartitionsToTransactionWhenTransactionalIdIsNull"
)
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithInvalidRequestOnEndTxnWhenTransactionalIdIsEmpty")
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithInvalidRequestOnEndTxnWhenTransactionalIdIsNull")
@pytest.mark.parametrize("txn_id", ["", None])
def test_a_transaction_has_an_id(txn: Coordinator, txn_id: str | None) -> None:
    assert txn.add(txn_id) is Errors.INVALID_REQUEST
    assert txn.end(COMMIT, txn_id) is Errors.INVALID_REQUEST


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithInvalidPidMappingOnAddPartitionsToTransactionWhenTransactionalIdNotPresent"
)
@pytest.mark.ported("TransactionCoordinatorTest.shouldReplyWithInvalidPidMappingOnEndTxnWhenTxnIdDoesntExist")
def test_an_unknown_id(txn: Coordinator) -> None:
    assert txn.add() is INVALID_MAPPING
    assert txn.end(COMMIT) is INVALID_MAPPING


@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithNotCoordinatorOnAddPartitionsWhenNotCoordinator")
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithCoordinatorLoadInProgressOnAddPartitionsWhenCoordintorLoading"
)
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithNotCoordinatorOnEndTxnWhenIsNotCoordinatorForId")
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithCoordinatorLoadInProgressOnEndTxnWhenCoordinatorIsLoading"
)
@pytest.mark.parametrize("error", [NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS], ids=str)
def test_another_coordinators_transaction(txn: Coordinator, error: Errors) -> None:
    txn.states.states[TXN_ID] = error
    assert txn.add() is error
    assert txn.end(COMMIT) is error


@pytest.mark.ported("TransactionCoordinatorTest.shouldReplyWithInvalidPidMappingOnEndTxnWhenPidDosentMatchMapped")
def test_another_producers_id(txn: Coordinator) -> None:
    txn.have(Ongoing)
    assert txn.add(producer_id=0) is INVALID_MAPPING
    assert txn.end(COMMIT, producer_id=0) is INVALID_MAPPING


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithConcurrentTransactionsOnAddPartitionsWhenStateIsPrepareCommit"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithConcurrentTransactionOnAddPartitionsWhenStateIsPrepareAbort"
)
@pytest.mark.parametrize("state", [PrepareCommit, PrepareAbort], ids=repr)
def test_the_next_transaction_waits_for_the_markers(txn: Coordinator, state: TransactionState) -> None:
    txn.have(state)
    assert txn.add() is CONCURRENT


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithInvalidTnxProduceEpochOnAddPartitionsWhenEpochsAreDifferent"
)
@pytest.mark.parametrize("epoch", [0, 11])
def test_partitions_of_another_epoch(txn: Coordinator, epoch: int) -> None:
    txn.have(PrepareCommit, 10, 9)
    assert txn.add(epoch=epoch) is FENCED


@pytest.mark.ported("TransactionCoordinatorTest.shouldAppendNewMetadataToLogOnAddPartitionsWhenPartitionsAdded")
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithSuccessOnAddPartitionsWhenStateIsOngoing")
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithSuccessOnAddPartitionsWhenStateIsCompleteCommit")
@pytest.mark.ported("TransactionCoordinatorTest.shouldRespondWithSuccessOnAddPartitionsWhenStateIsCompleteAbort")
@pytest.mark.parametrize("state", [Empty, Ongoing, CompleteCommit, CompleteAbort], ids=repr)
def test_new_partitions_go_into_the_log_before_the_answer(txn: Coordinator, state: TransactionState) -> None:
    metadata = txn.have(state)
    assert txn.add() is None
    [append] = txn.states.appends
    assert (append.new_metadata.txn_state, set(append.new_metadata.topic_partitions)) == (Ongoing, PARTITIONS)
    assert metadata.topic_partitions == set()
    txn.states.answer(append, NONE)
    assert txn.errors == [NONE]
    assert (metadata.state, metadata.topic_partitions) == (Ongoing, PARTITIONS)


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldRespondWithErrorsNoneOnAddPartitionWhenNoErrorsAndPartitionsTheSame"
)
def test_partitions_that_the_log_has_are_not_written_again(txn: Coordinator) -> None:
    txn.have(Ongoing, partitions=PARTITIONS | {TopicPartition("other", 1)})
    assert txn.add() is NONE
    assert txn.states.appends == []


# -- EndTxn ------------------------------------------------------------------------------------------------------------


@pytest.mark.ported("TransactionCoordinatorTest.shouldReplyWithProducerFencedOnEndTxnWhenEpochIsNotSameAsTransaction")
@pytest.mark.parametrize("epoch", [EPOCH - 1, EPOCH + 1])
def test_a_client_has_to_name_the_very_epoch(txn: Coordinator, epoch: int) -> None:
    """KAFKA-9600: a greater one ended the transaction, too."""
    txn.have(Ongoing, EPOCH, EPOCH - 1)
    assert txn.end(COMMIT, epoch=epoch) is FENCED


@pytest.mark.ported("TransactionCoordinatorTest.shouldReturnOkOnEndTxnWhenStatusIsCompleteCommitAndResultIsCommit")
@pytest.mark.ported("TransactionCoordinatorTest.shouldReturnOkOnEndTxnWhenStatusIsCompleteAbortAndResultIsAbort")
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsCompleteAbortAndResultIsNotAbort"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsCompleteCommitAndResultIsNotCommit"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldReturnConcurrentTxnRequestOnEndTxnRequestWhenStatusIsPrepareCommit"
)
@pytest.mark.ported("TransactionCoordinatorTest.shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsPrepareAbort")
@pytest.mark.parametrize("result", [COMMIT, ABORT], ids=repr)
@pytest.mark.parametrize("other", [ABORT, COMMIT], ids=repr)
def test_an_end_asked_for_twice(txn: Coordinator, result: TransactionResult, other: TransactionResult) -> None:
    txn.have(COMPLETED[result])
    assert txn.end(other) is (NONE if other is result else Errors.INVALID_TXN_STATE)
    txn.have(PREPARED[result])
    assert txn.end(other) is (CONCURRENT if other is result else Errors.INVALID_TXN_STATE)
    assert txn.states.appends == []


@pytest.mark.parametrize("result", [COMMIT, ABORT], ids=repr)
def test_an_end_without_a_transaction(txn: Coordinator, result: TransactionResult) -> None:
    txn.have(Empty)
    assert txn.end(result) is Errors.INVALID_TXN_STATE


@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldAppendPrepareCommitToLogOnEndTxnWhenStatusIsOngoingAndResultIsCommit"
)
@pytest.mark.ported(
    "TransactionCoordinatorTest.shouldAppendPrepareAbortToLogOnEndTxnWhenStatusIsOngoingAndResultIsAbort"
)
@pytest.mark.parametrize("result", [COMMIT, ABORT], ids=repr)
def test_the_outcome_goes_into_the_log_then_the_answer_out_then_the_markers(
    txn: Coordinator, result: TransactionResult
) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    assert txn.end(result) is None
    now = txn.time.milliseconds()
    [append] = txn.states.appends
    assert append.new_metadata == TxnTransitMetadata(
        PRODUCER_ID, PRODUCER_ID, EPOCH, -1, TIMEOUT_MS, PREPARED[result], frozenset(PARTITIONS), now, now
    )
    assert txn.channel.sent == []
    txn.states.answer(append, NONE)
    assert txn.errors == [NONE]
    assert txn.channel.sent == [(TXN_ID, 0, result, metadata, COMPLETED[result])]
    assert (metadata.state, metadata.pending_state) == (PREPARED[result], COMPLETED[result])


def test_an_outcome_that_is_not_in_the_log_is_none(txn: Coordinator) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    txn.states.answers = [Errors.COORDINATOR_NOT_AVAILABLE]
    assert txn.end(COMMIT) is Errors.COORDINATOR_NOT_AVAILABLE
    assert txn.channel.sent == []
    assert (metadata.state, metadata.pending_state, metadata.has_failed_epoch_fence) == (Ongoing, None, False)


def test_a_client_that_cannot_be_answered_does_not_keep_the_markers_back(txn: Coordinator) -> None:
    txn.have(Ongoing, partitions=PARTITIONS)
    txn.states.answers = [NONE]

    def gone(error: Errors) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        txn.coordinator.handle_end_transaction(TXN_ID, PRODUCER_ID, EPOCH, COMMIT, gone)
    assert len(txn.channel.sent) == 1


def decided_elsewhere(metadata: TransactionMetadata, error: Errors) -> None:
    """Change a prepared transaction so that its append is answered with the error."""
    if error is INVALID_MAPPING:
        metadata.producer_id += 1
    elif error is FENCED:
        metadata.producer_epoch += 1
    elif error is CONCURRENT:
        metadata.pending_state = CompleteAbort
    else:
        metadata.state = Ongoing


@pytest.mark.parametrize("error", [INVALID_MAPPING, FENCED, CONCURRENT, Errors.INVALID_TXN_STATE], ids=str)
def test_a_transaction_that_changed_while_its_outcome_was_written_gets_no_markers(
    txn: Coordinator, error: Errors
) -> None:
    metadata = txn.have(PrepareCommit, partitions=PARTITIONS)
    metadata.state = Ongoing
    txn.end(COMMIT)
    [append] = txn.states.appends
    metadata.complete_transition_to(append.new_metadata)
    decided_elsewhere(metadata, error)
    append.callback(NONE)
    assert txn.errors == [error]
    assert txn.channel.sent == []


@pytest.mark.parametrize("when", ["epoch", "state", "gone", "never written"])
def test_a_coordinator_that_changed_while_the_outcome_was_written(txn: Coordinator, when: str) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    txn.end(COMMIT)
    [append] = txn.states.appends
    metadata.complete_transition_to(append.new_metadata)
    if when == "epoch":
        txn.states.have(metadata, coordinator_epoch=1)
    elif when == "state":
        txn.states.states[TXN_ID] = NOT_COORDINATOR
    elif when == "gone":
        del txn.states.states[TXN_ID]
    else:
        metadata.state = Dead
    if when in ("epoch", "state"):
        append.callback(NONE)
        assert txn.errors == [NOT_COORDINATOR]
    else:
        with pytest.raises(IllegalStateException):
            append.callback(NONE)
    assert txn.channel.sent == []


def test_an_end_in_the_middle_of_a_fencing_is_to_come_again(txn: Coordinator) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    metadata.prepare_fence_producer_epoch()
    for result in (COMMIT, ABORT):
        assert txn.end(result) is CONCURRENT
    assert metadata.producer_epoch == EPOCH


# -- Leadership and time -----------------------------------------------------------------------------------------------


@pytest.mark.ported("TransactionCoordinatorTest.shouldRemoveTransactionsForPartitionOnEmigration")
@pytest.mark.parametrize("epoch", [0, None])
def test_a_partition_that_goes_takes_all_along(txn: Coordinator, epoch: int | None) -> None:
    txn.coordinator.handle_txn_emigration(3, epoch)
    assert (txn.states.removed, txn.channel.removed) == ([(3, epoch)], [3])


def test_a_partition_that_comes_is_loaded_onto_nothing(txn: Coordinator) -> None:
    txn.coordinator.handle_txn_immigration(3, 8)
    assert txn.channel.removed == [3]
    assert txn.states.loaded == [(3, 8, txn.channel.add_txn_markers_to_send)]


@pytest.mark.ported("TransactionCoordinatorTest.shouldAbortExpiredTransactionsInOngoingStateAndBumpEpoch")
def test_a_transaction_that_takes_too_long_is_aborted_with_the_next_epoch(txn: Coordinator) -> None:
    begun = txn.time.milliseconds()
    txn.have(Ongoing, partitions=PARTITIONS)
    txn.states.timed_out = [TransactionalIdAndProducerIdEpoch(TXN_ID, PRODUCER_ID, EPOCH)]
    txn.states.answers = [NONE]
    txn.coordinator.startup(False)
    assert txn.channel.running
    txn.time.sleep(TransactionConfig().abort_timed_out_transactions_interval_ms)
    [append] = txn.states.appends
    now = txn.time.milliseconds()
    assert append.new_metadata == TxnTransitMetadata(
        PRODUCER_ID, PRODUCER_ID, EPOCH + 1, -1, TIMEOUT_MS, PrepareAbort, frozenset(PARTITIONS), begun, now
    )
    assert [sent[2] for sent in txn.channel.sent] == [ABORT]


@pytest.mark.ported("TransactionCoordinatorTest.shouldNotAbortExpiredTransactionsThatHaveAPendingStateTransition")
def test_what_is_being_ended_is_not_aborted(txn: Coordinator) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    metadata.prepare_abort_or_commit(PrepareCommit, txn.time.milliseconds())
    txn.states.timed_out = [TransactionalIdAndProducerIdEpoch(TXN_ID, PRODUCER_ID, EPOCH)]
    txn.coordinator.startup(False)
    txn.time.sleep(TransactionConfig().abort_timed_out_transactions_interval_ms)
    assert txn.states.appends == []
    assert metadata.pending_state is PrepareCommit


@pytest.mark.parametrize("state", [NOT_COORDINATOR, None, "other producer"], ids=str)
def test_what_is_gone_is_not_aborted(txn: Coordinator, state: object) -> None:
    timed_out = TransactionalIdAndProducerIdEpoch(TXN_ID, PRODUCER_ID, EPOCH)
    txn.states.timed_out = [timed_out]
    if isinstance(state, Errors):
        txn.states.states[TXN_ID] = state
    elif state is not None:
        txn.have(Ongoing, producer_id=PRODUCER_ID + 1)
    txn.coordinator.abort_timed_out_transactions(lambda which, error: txn.errors.append(error))
    assert (txn.states.appends, txn.errors) == ([], [])


def test_one_that_cannot_be_aborted_does_not_keep_the_others(txn: Coordinator) -> None:
    txn.have(Ongoing, epoch=SHORT_MAX, partitions=PARTITIONS)  # no epoch left to fence it with
    other = TransactionMetadata("other", 5, -1, 0, -1, 1, Ongoing, PARTITIONS, 0, 0)
    txn.states.have(other)
    txn.states.answers = [NONE]
    late = TransactionalIdAndProducerIdEpoch
    txn.states.timed_out = [late(TXN_ID, PRODUCER_ID, SHORT_MAX), late("other", 5, 0)]
    ended: list[tuple[str, Errors]] = []
    txn.coordinator.abort_timed_out_transactions(lambda which, error: ended.append((which.transactional_id, error)))
    assert ended == [("other", NONE)]


@pytest.mark.parametrize("error", [CONCURRENT, Errors.UNKNOWN_SERVER_ERROR], ids=str)
def test_a_failed_abort_is_tried_again_at_the_next_look(txn: Coordinator, error: Errors) -> None:
    metadata = txn.have(Ongoing, partitions=PARTITIONS)
    txn.states.timed_out = [TransactionalIdAndProducerIdEpoch(TXN_ID, PRODUCER_ID, EPOCH)]
    txn.states.answers = [error, NONE]
    txn.coordinator.startup(False)
    for state in (Ongoing, PrepareAbort):
        txn.time.sleep(TransactionConfig().abort_timed_out_transactions_interval_ms)
        assert metadata.state is state
    assert metadata.producer_epoch == EPOCH + 1


def test_the_end_of_all(txn: Coordinator) -> None:
    txn.states.enable_transactional_id_expiration = lambda: txn.errors.append(NONE)  # type: ignore[attr-defined]
    txn.coordinator.startup()
    assert txn.errors == [NONE]
    txn.coordinator.shutdown()
    assert (txn.ids.is_shut_down, txn.states.is_shut_down, txn.channel.running) == (True, True, False)
    assert txn.coordinator.partition_for(TXN_ID) == 0
    assert txn.coordinator.transaction_topic_configs == {"cleanup.policy": "compact"}


# -- Verification ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "epoch", "error"),
    [
        (Ongoing, EPOCH, NONE),
        (Ongoing, EPOCH - 1, FENCED),
        (Ongoing, EPOCH + 1, FENCED),
        (PrepareCommit, EPOCH, CONCURRENT),
        (PrepareAbort, EPOCH, CONCURRENT),
    ],
)
def test_whether_a_partition_belongs_to_the_transaction(
    txn: Coordinator, state: TransactionState, epoch: int, error: Errors
) -> None:
    txn.have(state, partitions=PARTITIONS)
    other = TopicPartition("other", 0)
    found: list[Any] = []
    verify = txn.coordinator.handle_verify_partitions_in_transaction
    verify(TXN_ID, PRODUCER_ID, epoch, [*PARTITIONS, other], found.append)
    expected_other = Errors.INVALID_TXN_STATE if error is NONE else error
    assert found == [{**dict.fromkeys(PARTITIONS, error), other: expected_other}]
    verify(TXN_ID, PRODUCER_ID + 1, epoch, [other], found.append)
    verify("unknown", PRODUCER_ID, epoch, [other], found.append)
    verify("", PRODUCER_ID, epoch, [other], found.append)
    txn.states.states[TXN_ID] = NOT_COORDINATOR
    verify(TXN_ID, PRODUCER_ID, epoch, [other], found.append)
    assert [answer[other] for answer in found[1:]] == [
        INVALID_MAPPING,
        INVALID_MAPPING,
        Errors.INVALID_REQUEST,
        NOT_COORDINATOR,
    ]


@pytest.mark.parametrize("state", [Empty, CompleteCommit, CompleteAbort], ids=repr)
def test_a_batch_that_comes_when_all_is_over_belongs_to_nothing(txn: Coordinator, state: TransactionState) -> None:
    txn.have(state)
    found: list[Any] = []
    txn.coordinator.handle_verify_partitions_in_transaction(TXN_ID, PRODUCER_ID, EPOCH, PARTITIONS, found.append)
    assert found == [dict.fromkeys(PARTITIONS, Errors.INVALID_TXN_STATE)]
