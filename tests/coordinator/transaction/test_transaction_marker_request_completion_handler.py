"""What a broker's answer to WriteTxnMarkers, or its silence, does to the transactions of the request."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.clients.client_response import ClientResponse
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_marker_channel_manager import TxnIdAndMarkerEntry
from kafka_py.coordinator.transaction.transaction_marker_request_completion_handler import (
    FATAL,
    FENCED,
    NO_MARKER_NEEDED,
    RETRIABLE,
    TransactionMarkerRequestCompletionHandler,
)
from kafka_py.coordinator.transaction.transaction_metadata import PrepareCommit, TransactionMetadata
from tests.coordinator.transaction.txn_fakes import FakeTransactionStateManager

TXN_ID = "txnId1"
PRODUCER_ID = 0
EPOCH = 0
COORDINATOR_EPOCH = 0
TP, TP2 = TopicPartition("topic1", 0), TopicPartition("topic1", 1)
MARKER = TxnMarkerEntry(PRODUCER_ID, EPOCH, COORDINATOR_EPOCH, TransactionResult.COMMIT, (TP,))


class FakeChannelManager:
    """Writes down what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args))


def by_code(errors: frozenset[Errors]) -> list[Errors]:
    return sorted(errors, key=lambda error: error.code)


def metadata(txn_id: str = TXN_ID, producer_id: int = PRODUCER_ID, *partitions: TopicPartition) -> TransactionMetadata:
    return TransactionMetadata(txn_id, producer_id, producer_id, EPOCH, -1, 0, PrepareCommit, partitions or (TP,), 0, 0)


@pytest.fixture
def states() -> FakeTransactionStateManager:
    manager = FakeTransactionStateManager()
    manager.have(metadata())
    return manager


@pytest.fixture
def channel() -> FakeChannelManager:
    return FakeChannelManager()


def complete(
    states: FakeTransactionStateManager,
    channel: FakeChannelManager,
    errors: dict[int, dict[TopicPartition, Errors]] | None,
    entries: list[TxnIdAndMarkerEntry] | None = None,
) -> None:
    """Hand the handler an answer with these errors, None for a disconnect."""
    handler = TransactionMarkerRequestCompletionHandler(
        0, cast("Any", states), cast("Any", channel), entries or [TxnIdAndMarkerEntry(TXN_ID, MARKER)]
    )
    header = RequestHeader(ApiKeys.WRITE_TXN_MARKERS, 0, "client", 1)
    body = None if errors is None else WriteTxnMarkersResponse.of(errors)
    ClientResponse(header, handler, "1", 0, 0, errors is None, None, body).on_complete()


def partitions_of(states: FakeTransactionStateManager, txn_id: str = TXN_ID) -> set[TopicPartition]:
    found = states.states[txn_id]
    assert not isinstance(found, Errors)
    return found.transaction_metadata.topic_partitions


@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldReEnqueuePartitionsWhenBrokerDisconnected")
def test_after_a_disconnect_the_marker_is_sent_again(
    states: FakeTransactionStateManager, channel: FakeChannelManager
) -> None:
    complete(states, channel, None)
    assert channel.calls == [
        (
            "add_txn_markers_to_broker_queue",
            TXN_ID,
            PRODUCER_ID,
            EPOCH,
            TransactionResult.COMMIT,
            COORDINATOR_EPOCH,
            (TP,),
        )
    ]
    assert partitions_of(states) == {TP}


@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionIfErrorCodeNotAvailableForPid"
)
@pytest.mark.parametrize("errors", [{}, {PRODUCER_ID: {TP2: Errors.NONE}}])
def test_an_answer_without_the_marker_cannot_be(
    states: FakeTransactionStateManager, channel: FakeChannelManager, errors: dict[int, dict[TopicPartition, Errors]]
) -> None:
    with pytest.raises(IllegalStateException):
        complete(states, channel, errors)
    assert channel.calls == []


@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWhenNoErrors")
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldRemoveTopicPartitionFromWaitingSetOnUnsupportedForMessageFormat"
)
@pytest.mark.parametrize("error", [Errors.NONE, *by_code(NO_MARKER_NEEDED)], ids=str)
def test_a_written_marker_and_one_that_is_not_needed_take_the_partition_out(
    states: FakeTransactionStateManager, channel: FakeChannelManager, error: Errors
) -> None:
    complete(states, channel, {PRODUCER_ID: {TP: error}})
    assert partitions_of(states) == set()
    assert channel.calls == [("complete_send_markers_for_txn_id", TXN_ID, COORDINATOR_EPOCH)]


@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWhenNotCoordinator")
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWhenCoordinatorLoading"
)
@pytest.mark.parametrize("disconnected", [False, True])
@pytest.mark.parametrize("state", [Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS], ids=str)
def test_a_coordinator_no_more_lets_the_transaction_go(
    states: FakeTransactionStateManager, channel: FakeChannelManager, state: Errors, disconnected: bool
) -> None:
    states.states[TXN_ID] = state
    complete(states, channel, None if disconnected else {PRODUCER_ID: {TP: Errors.NONE}})
    assert channel.calls == [("remove_markers_for_txn_id", TXN_ID, COORDINATOR_EPOCH)]


@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWhenCoordinatorEpochChanged"
)
@pytest.mark.parametrize("disconnected", [False, True])
def test_an_answer_of_an_earlier_term_drops_what_waits_for_that_term(
    states: FakeTransactionStateManager, channel: FakeChannelManager, disconnected: bool
) -> None:
    states.have(metadata(), COORDINATOR_EPOCH + 1)
    complete(states, channel, None if disconnected else {PRODUCER_ID: {TP: Errors.NONE}})
    assert channel.calls == [("remove_markers_for_txn_id", TXN_ID, COORDINATOR_EPOCH)]
    assert partitions_of(states) == {TP}


@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWhenInvalidProducerEpoch"
)
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldCompleteDelayedOperationWheCoordinatorEpochFenced"
)
@pytest.mark.parametrize("error", by_code(FENCED), ids=str)
def test_a_fenced_transaction_is_let_go(
    states: FakeTransactionStateManager, channel: FakeChannelManager, error: Errors
) -> None:
    states.have(metadata(TXN_ID, PRODUCER_ID, TP, TP2))
    entry = TxnIdAndMarkerEntry(TXN_ID, MARKER._replace(partitions=(TP, TP2)))
    complete(states, channel, {PRODUCER_ID: {TP: error, TP2: Errors.NOT_LEADER_FOR_PARTITION}}, [entry])
    assert channel.calls == [("remove_markers_for_txn_id", TXN_ID, COORDINATOR_EPOCH)]


@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionWhenUnknownError")
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionWhenCorruptMessageError"
)
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionWhenMessageTooLargeError"
)
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionWhenRecordListTooLargeError"
)
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldThrowIllegalStateExceptionWhenInvalidRequiredAcksError"
)
@pytest.mark.parametrize("error", [Errors.UNKNOWN_SERVER_ERROR, *by_code(FATAL)], ids=str)
def test_an_error_that_cannot_be_is_raised(
    states: FakeTransactionStateManager, channel: FakeChannelManager, error: Errors
) -> None:
    with pytest.raises(IllegalStateException, match="Unexpected" if error.code == -1 else "Received fatal error"):
        complete_of(states, channel, error)
    assert channel.calls == []


def complete_of(states: FakeTransactionStateManager, channel: FakeChannelManager, error: Errors) -> None:
    complete(states, channel, {PRODUCER_ID: {TP: error}})


@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldRetryPartitionWhenUnknownTopicOrPartitionError"
)
@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldRetryPartitionWhenNotLeaderForPartitionError")
@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldRetryPartitionWhenNotEnoughReplicasError")
@pytest.mark.ported(
    "TransactionMarkerRequestCompletionHandlerTest.shouldRetryPartitionWhenNotEnoughReplicasAfterAppendError"
)
@pytest.mark.ported("TransactionMarkerRequestCompletionHandlerTest.shouldRetryPartitionWhenKafkaStorageError")
@pytest.mark.parametrize("error", by_code(RETRIABLE), ids=str)
def test_a_marker_that_was_not_taken_is_tried_again(
    states: FakeTransactionStateManager, channel: FakeChannelManager, error: Errors
) -> None:
    states.have(metadata(TXN_ID, PRODUCER_ID, TP, TP2))
    entry = TxnIdAndMarkerEntry(TXN_ID, MARKER._replace(partitions=(TP, TP2)))
    complete(states, channel, {PRODUCER_ID: {TP: error, TP2: Errors.NONE}}, [entry])
    assert channel.calls == [("retry_txn_markers", TXN_ID, MARKER)]
    assert partitions_of(states) == {TP}


@pytest.mark.parametrize("disconnected", [False, True])
def test_an_impossible_state_is_raised(
    states: FakeTransactionStateManager, channel: FakeChannelManager, disconnected: bool
) -> None:
    errors = None if disconnected else {PRODUCER_ID: {TP: Errors.NONE}}
    states.states[TXN_ID] = Errors.UNKNOWN_SERVER_ERROR
    with pytest.raises(IllegalStateException, match="Unhandled error"):
        complete(states, channel, errors)
    del states.states[TXN_ID]
    with pytest.raises(IllegalStateException, match="no metadata in the cache"):
        complete(states, channel, errors)


def test_what_goes_wrong_with_one_transaction_does_not_stop_the_next(
    states: FakeTransactionStateManager, channel: FakeChannelManager
) -> None:
    states.have(metadata("txnId2", 1))
    entries = [TxnIdAndMarkerEntry(TXN_ID, MARKER), TxnIdAndMarkerEntry("txnId2", MARKER._replace(producer_id=1))]
    with pytest.raises(IllegalStateException):
        complete(states, channel, {PRODUCER_ID: {TP: Errors.CORRUPT_MESSAGE}, 1: {TP: Errors.NONE}}, entries)
    assert channel.calls == [("complete_send_markers_for_txn_id", "txnId2", COORDINATOR_EPOCH)]


def test_two_entries_of_a_producer_take_each_its_own_partitions(
    states: FakeTransactionStateManager, channel: FakeChannelManager
) -> None:
    states.have(metadata(TXN_ID, PRODUCER_ID, TP, TP2))
    other = MARKER._replace(partitions=(TP2,))
    entries = [TxnIdAndMarkerEntry(TXN_ID, MARKER), TxnIdAndMarkerEntry(TXN_ID, other)]
    complete(states, channel, {PRODUCER_ID: {TP: Errors.NONE, TP2: Errors.REQUEST_TIMED_OUT}}, entries)
    assert channel.calls == [
        ("complete_send_markers_for_txn_id", TXN_ID, COORDINATOR_EPOCH),
        ("retry_txn_markers", TXN_ID, other),
    ]
