"""What KafkaApis answers to transactional producers, and to the coordinators that end their transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.common.internals.topic import Topic
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.requests.txn_offset_commit_request import TxnOffsetCommitRequest
from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry, WriteTxnMarkersRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.producer_id_and_epoch import ProducerIdAndEpoch
from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult
from kafka_py.security.auth.operation import Operation
from tests.server.kafka_apis_support import Apis, RecordingAuthorizer
from tests.server.test_kafka_apis_groups import Calls, TopicRefusingAuthorizer, refusing

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OFFSETS_0 = TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 0)
TXN_0 = TopicPartition(Topic.TRANSACTION_STATE_TOPIC_NAME, 0)


@pytest.fixture
def apis() -> Iterator[Apis]:
    made = Apis()
    made.update_metadata("t")
    yield made
    made.close()


# -- InitProducerId ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
def test_a_producer_gets_its_id(apis: Apis, version: int) -> None:
    apis.txn_coordinator.handle_init_producer_id = calls = Calls()
    known = {"producer_id": 10, "producer_epoch": 2} if version == 3 else {}
    apis.handle(InitProducerIdRequest(version=version, transactional_id="x", transaction_timeout_ms=1000, **known))
    (made,) = calls.made
    assert made[:-1] == ("x", 1000, ProducerIdAndEpoch(10, 2) if known else None)
    made[-1](InitProducerIdResult(10, 3, Errors.NONE))
    response: Any = apis.channel.responses[-1]
    assert (response.error(), response.producer_id, response.producer_epoch) == (Errors.NONE, 10, 3)


@pytest.mark.ported("KafkaApisTest.rejectInitProducerIdWhenIdButNotEpochProvided")
@pytest.mark.ported("KafkaApisTest.rejectInitProducerIdWhenEpochButNotIdProvided")
@pytest.mark.parametrize(("producer_id", "epoch"), [(10, RecordBatch.NO_PRODUCER_EPOCH), (-1, 2)])
def test_an_id_without_its_epoch_is_no_request(apis: Apis, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        version=3, transactional_id="known", transaction_timeout_ms=1000, producer_id=producer_id, producer_epoch=epoch
    )
    assert apis.handle(request).error() is Errors.INVALID_REQUEST


@pytest.mark.parametrize(
    ("refused", "transactional_id", "error"),
    [
        (Operation.Write, "x", Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (Operation.IdempotentWrite, None, Errors.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_ids_are_given_to_who_may_write(refused: Operation, transactional_id: str | None, error: Errors) -> None:
    apis = refusing(refused)
    request = InitProducerIdRequest(version=1, transactional_id=transactional_id, transaction_timeout_ms=1000)
    assert apis.handle(request).error() is error
    apis.close()


# -- Produce -----------------------------------------------------------------------------------------------------------


def produce(transactional_id: str | None, *records: MemoryRecords) -> ProduceRequest:
    partitions = {TopicPartition("t", p): of_partition for p, of_partition in enumerate(records)}
    return ProduceRequest(7, -1, 1000, partitions, transactional_id)


PLAIN = MemoryRecords.with_records(SimpleRecord(0, b"k", b"v"))
IDEMPOTENT = MemoryRecords.with_idempotent_records(
    SimpleRecord(0, b"k", b"v"), producer_id=1, producer_epoch=0, base_sequence=0
)
TRANSACTIONAL = MemoryRecords.with_transactional_records(
    SimpleRecord(0, b"k", b"v"), producer_id=1, producer_epoch=0, base_sequence=0
)


@pytest.mark.parametrize("records", [(TRANSACTIONAL, PLAIN), (PLAIN, TRANSACTIONAL), (IDEMPOTENT, TRANSACTIONAL)])
def test_one_transactional_batch_makes_a_request_transactional(records: tuple[MemoryRecords, ...]) -> None:
    """CVE-2018-17196: where the last batch decided, a plain one behind it let the others in."""
    authorizer = RecordingAuthorizer(Operation.Write)
    apis = Apis(authorizer)
    apis.update_metadata("t", partitions=2)
    response = apis.handle(produce("x", *records))
    assert response.error_counts() == {Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 2}
    assert authorizer.asked == [(Operation.Write, "TransactionalId:x")]
    assert apis.appended == []
    apis.close()


@pytest.mark.parametrize("records", [(IDEMPOTENT, PLAIN), (PLAIN, IDEMPOTENT)])
def test_one_idempotent_batch_makes_a_request_idempotent(records: tuple[MemoryRecords, ...]) -> None:
    apis = refusing(Operation.IdempotentWrite)
    response = apis.handle(produce(None, *records))
    assert response.error_counts() == {Errors.CLUSTER_AUTHORIZATION_FAILED: 2}
    assert apis.appended == []
    apis.close()


@pytest.mark.parametrize("authorizer", [None, RecordingAuthorizer()])
def test_a_transaction_without_an_id_is_nobodys(authorizer: RecordingAuthorizer | None) -> None:
    apis = Apis(authorizer)
    apis.update_metadata("t")
    response = apis.handle(produce(None, TRANSACTIONAL))
    assert response.error_counts() == {Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 1}
    apis.handle(produce("x", TRANSACTIONAL))
    assert len(apis.appended) == 1
    apis.close()


# -- AddPartitionsToTxn, AddOffsetsToTxn, EndTxn -----------------------------------------------------------------------


def add_partitions(*partitions: TopicPartition, version: int = 1) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnRequest.Topic(topic=tp.topic, partitions=[tp.partition]) for tp in partitions]
    return AddPartitionsToTxnRequest(
        version=version, transactional_id="x", producer_id=15, producer_epoch=0, topics=topics
    )


def added(response: Any) -> dict[TopicPartition, Errors]:
    return {
        TopicPartition(topic.topic, p.partition): p.error for topic in response.errors for p in topic.partition_errors
    }


@pytest.mark.ported("KafkaApisTest.testAddPartitionsToTxnWithInvalidPartition")
@pytest.mark.parametrize("partition", [-1, 1])
def test_a_partition_that_does_not_exist_keeps_out_the_others(apis: Apis, partition: int) -> None:
    apis.txn_coordinator.handle_add_partitions_to_transaction = calls = Calls()
    bad = TopicPartition("t", partition)
    assert added(apis.handle(add_partitions(bad))) == {bad: Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert added(apis.handle(add_partitions(T0, bad))) == {
        T0: Errors.OPERATION_NOT_ATTEMPTED,
        bad: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert calls.made == []


def test_partitions_are_added_all_with_one_answer(apis: Apis) -> None:
    apis.update_metadata("t", partitions=2)
    apis.txn_coordinator.handle_add_partitions_to_transaction = calls = Calls()
    assert apis.handle(add_partitions(T0, T1, version=0)) is None
    (made,) = calls.made
    assert made[:-1] == ("x", 15, 0, {T0, T1})
    made[-1](Errors.CONCURRENT_TRANSACTIONS)
    assert set(added(apis.channel.responses[-1]).values()) == {Errors.CONCURRENT_TRANSACTIONS}


def test_internal_topics_and_those_of_others_are_not_added() -> None:
    apis = Apis(TopicRefusingAuthorizer("other"))
    apis.update_metadata("t", "other", Topic.GROUP_METADATA_TOPIC_NAME)
    other = TopicPartition("other", 0)
    assert added(apis.handle(add_partitions(T0, other, OFFSETS_0))) == {
        T0: Errors.OPERATION_NOT_ATTEMPTED,
        other: Errors.TOPIC_AUTHORIZATION_FAILED,
        OFFSETS_0: Errors.TOPIC_AUTHORIZATION_FAILED,
    }
    apis.close()


def verification(*verify_only: bool) -> AddPartitionsToTxnRequest:
    topic = AddPartitionsToTxnTopic(topic="t", partitions=[0, 1])
    transactions = [
        AddPartitionsToTxnTransaction(
            transactional_id=f"x{i}", producer_id=15, producer_epoch=0, verify_only=only, topics=[topic]
        )
        for i, only in enumerate(verify_only)
    ]
    return AddPartitionsToTxnRequest(version=4, transactions=transactions)


def test_brokers_ask_whether_partitions_belong_to_transactions(apis: Apis) -> None:
    def answer(txn_id: str, producer_id: int, epoch: int, partitions: list[TopicPartition], callback: Any) -> None:
        assert (producer_id, epoch, partitions) == (15, 0, [T0, T1])
        callback({T0: Errors.NONE, T1: Errors.INVALID_TXN_STATE})

    apis.txn_coordinator.handle_verify_partitions_in_transaction = answer
    response = apis.handle(verification(True, False))
    assert response.error_code == 0
    assert [(r.transactional_id, r.errors()) for r in response.results_by_transaction] == [
        ("x0", {T0: Errors.NONE, T1: Errors.INVALID_TXN_STATE}),
        ("x1", dict.fromkeys((T0, T1), Errors.INVALID_REQUEST)),
    ]


def test_only_brokers_ask_that() -> None:
    apis = refusing(Operation.ClusterAction)
    response = apis.handle(verification(True))
    assert (response.error_code, response.results_by_transaction) == (Errors.CLUSTER_AUTHORIZATION_FAILED.code, [])
    apis.close()


def add_offsets() -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        version=1, transactional_id="x", producer_id=15, producer_epoch=0, group_id="g"
    )  # fmt: skip


def end() -> EndTxnRequest:
    return EndTxnRequest(version=1, transactional_id="x", producer_id=15, producer_epoch=0, transaction_result=False)


def test_a_groups_partition_is_added(apis: Apis) -> None:
    apis.group_coordinator.partition_for = Calls(7)
    apis.txn_coordinator.handle_add_partitions_to_transaction = calls = Calls()
    assert apis.handle(add_offsets()) is None
    (made,) = calls.made
    assert made[:-1] == ("x", 15, 0, {TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, 7)})
    made[-1](Errors.NONE)
    assert apis.channel.responses[-1].error() is Errors.NONE  # type: ignore[attr-defined]


def test_the_end_is_answered_by_the_coordinator(apis: Apis) -> None:
    apis.txn_coordinator.handle_end_transaction = calls = Calls()
    assert apis.handle(end()) is None
    (made,) = calls.made
    assert made[:-1] == ("x", 15, 0, TransactionResult.ABORT)
    made[-1](Errors.INVALID_TXN_STATE)
    assert apis.channel.responses[-1].error() is Errors.INVALID_TXN_STATE  # type: ignore[attr-defined]


def test_transactions_need_the_right_to_write_as_their_id() -> None:
    apis = refusing(Operation.Write)
    failed = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert added(apis.handle(add_partitions(T0))) == {T0: failed}
    assert apis.handle(add_offsets()).error() is failed
    assert apis.handle(end()).error() is failed
    assert apis.handle(txn_commit(0)).error_counts() == {failed: 1}
    apis.close()


def test_offsets_need_the_right_to_read_as_the_group() -> None:
    apis = refusing(Operation.Read)
    assert apis.handle(add_offsets()).error() is Errors.GROUP_AUTHORIZATION_FAILED
    assert apis.handle(txn_commit(0)).error_counts() == {Errors.GROUP_AUTHORIZATION_FAILED: 1}
    apis.close()


def markers(*entries: TxnMarkerEntry) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest.of(entries).at(0)


def marker(*partitions: TopicPartition, producer_id: int = 1, commit: bool = True) -> TxnMarkerEntry:
    result = TransactionResult.COMMIT if commit else TransactionResult.ABORT
    return TxnMarkerEntry(producer_id, 1, 3, result, partitions)


@pytest.mark.ported(
    "KafkaApisTest.shouldThrowUnsupportedVersionExceptionOnHandleAddOffsetToTxnRequestWhenInterBrokerProtocolNotSupported"
)
@pytest.mark.ported(
    "KafkaApisTest.shouldThrowUnsupportedVersionExceptionOnHandleAddPartitionsToTxnRequestWhenInterBrokerProtocolNotSupported"
)
@pytest.mark.ported(
    "KafkaApisTest.shouldThrowUnsupportedVersionExceptionOnHandleTxnOffsetCommitRequestWhenInterBrokerProtocolNotSupported"
)
@pytest.mark.ported(
    "KafkaApisTest.shouldThrowUnsupportedVersionExceptionOnHandleEndTxnRequestWhenInterBrokerProtocolNotSupported"
)
@pytest.mark.ported(
    "KafkaApisTest.shouldThrowUnsupportedVersionExceptionOnHandleWriteTxnMarkersRequestWhenInterBrokerProtocolNotSupported"
)
def test_brokers_older_than_transactions_have_none() -> None:
    apis = Apis(inter__broker__protocol__version="0.10.2-IV0", log__message__format__version="0.10.2-IV0")
    apis.update_metadata("t")
    requests: list[AbstractRequest] = [add_partitions(T0), add_offsets(), end(), txn_commit(0), markers(marker(T0))]
    for request in requests:
        assert apis.handle(request).error_counts() == {Errors.UNSUPPORTED_VERSION: 1}
    apis.close()


# -- TxnOffsetCommit ---------------------------------------------------------------------------------------------------


def txn_commit(*partitions: int, version: int = 3, **changes: Any) -> TxnOffsetCommitRequest:
    topic = TxnOffsetCommitRequest.Topic
    offsets = [topic.Partition(partition=p, offset=15, leader_epoch=4, metadata=None) for p in partitions]
    fields = {
        "transactional_id": "x", "group_id": "g", "producer_id": 15, "producer_epoch": 0,
        "topics": [topic(topic="t", partitions=offsets)], **changes,
    }  # fmt: skip
    return TxnOffsetCommitRequest(version=version, **fields)


@pytest.mark.ported("KafkaApisTest.testTxnOffsetCommitWithInvalidPartition")
@pytest.mark.parametrize("partition", [-1, 1])
def test_a_transactions_offsets_are_of_partitions_that_exist(apis: Apis, partition: int) -> None:
    response = apis.handle(txn_commit(partition))
    assert response.error_counts() == {Errors.UNKNOWN_TOPIC_OR_PARTITION: 1}


@pytest.mark.parametrize(("version", "member"), [(0, ("", None, -1)), (3, ("m", "i", 5))])
def test_a_transactions_offsets_reach_the_group(apis: Apis, version: int, member: tuple[str, str | None, int]) -> None:
    apis.group_coordinator.handle_txn_commit_offsets = calls = Calls()
    member_id, instance, generation = member
    request = txn_commit(
        0, 1, version=version, member_id=member_id, group_instance_id=instance, generation_id=generation
    )
    assert apis.handle(request) is None
    (made,) = calls.made
    epoch = None if version < 2 else 4
    expected = {T0: OffsetAndMetadata(15, epoch, "", apis.time.milliseconds(), None)}
    assert made[:-1] == ("g", "x", 15, 0, *member, expected)
    made[-1]({T0: Errors.NONE})
    (topic,) = apis.channel.responses[-1].topics  # type: ignore[attr-defined]
    assert {p.partition: p.error for p in topic.partitions} == {0: Errors.NONE, 1: Errors.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize(
    ("version", "told"), [(1, Errors.COORDINATOR_NOT_AVAILABLE), (2, Errors.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_old_clients_are_not_told_of_a_loading_coordinator(apis: Apis, version: int, told: Errors) -> None:
    """KAFKA-7296: it is an error that they die of."""
    apis.group_coordinator.handle_txn_commit_offsets = calls = Calls()
    apis.handle(txn_commit(0, version=version))
    calls.made[0][-1]({T0: Errors.COORDINATOR_LOAD_IN_PROGRESS})
    assert apis.channel.responses[-1].error_counts() == {told: 1}


# -- WriteTxnMarkers ---------------------------------------------------------------------------------------------------


def acknowledge(append: dict[str, Any], error: Errors = Errors.NONE) -> None:
    """Let an append have reached all replicas."""
    status = {tp: ProduceResponse.PartitionResponse(error, 5, -1, 0) for tp in append["entries_per_partition"]}
    append["response_callback"](status)


def of_magic(magics: dict[TopicPartition, int]) -> Callable[[TopicPartition], int | None]:
    return magics.get


@pytest.mark.ported(
    "KafkaApisTest.shouldRespondWithUnsupportedForMessageFormatOnHandleWriteTxnMarkersWhenMagicLowerThanRequired"
)
@pytest.mark.ported("KafkaApisTest.shouldRespondWithUnknownTopicWhenPartitionIsNotHosted")
@pytest.mark.parametrize(
    ("magics", "error"),
    [({T0: 1}, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT), ({}, Errors.UNKNOWN_TOPIC_OR_PARTITION)],
)  # fmt: skip
def test_a_marker_that_fits_nowhere_is_refused_at_once(
    apis: Apis, magics: dict[TopicPartition, int], error: Errors
) -> None:
    apis.replica_manager.get_magic = of_magic(magics)
    response = apis.handle(markers(marker(T0)))
    assert response.errors(1) == {T0: error}
    assert apis.appended == []


@pytest.mark.ported("KafkaApisTest.shouldRespondWithUnsupportedMessageFormatForBadPartitionAndNoErrorsForGoodPartition")
@pytest.mark.ported("KafkaApisTest.shouldRespondWithUnknownTopicOrPartitionForBadPartitionAndNoErrorsForGoodPartition")
@pytest.mark.parametrize(
    ("magics", "error"),
    [({T0: 1, T1: 2}, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT), ({T1: 2}, Errors.UNKNOWN_TOPIC_OR_PARTITION)],
)
def test_a_bad_partition_keeps_no_marker_from_a_good_one(
    apis: Apis, magics: dict[TopicPartition, int], error: Errors
) -> None:
    apis.replica_manager.get_magic = of_magic(magics)
    assert apis.handle(markers(marker(T0, T1))) is None
    (append,) = apis.appended
    acknowledge(append)
    response: Any = apis.channel.responses[-1]
    assert response.errors(1) == {T0: error, T1: Errors.NONE}


@pytest.mark.ported("KafkaApisTest.shouldAppendToLogOnWriteTxnMarkersWhenCorrectMagicVersion")
@pytest.mark.parametrize(("commit", "kind"), [(True, ControlRecordType.COMMIT), (False, ControlRecordType.ABORT)])
def test_a_marker_is_appended_as_the_coordinators(apis: Apis, commit: bool, kind: ControlRecordType) -> None:
    assert apis.handle(markers(marker(T0, commit=commit))) is None
    (append,) = apis.appended
    assert (append["required_acks"], append["internal_topics_allowed"], append["is_from_client"]) == (-1, True, False)
    (batch,) = append["entries_per_partition"][T0].batches()
    assert (batch.is_control_batch(), batch.producer_id(), batch.producer_epoch()) == (True, 1, 1)
    (record,) = batch
    assert ControlRecordType.parse(record.key()) is kind


def test_the_answer_waits_for_the_last_marker(apis: Apis) -> None:
    """One of the three has nowhere to go, and it comes last: Kafka counts on it not to (KAFKA-6300 and after)."""
    apis.replica_manager.get_magic = of_magic({T0: 2, T1: 2})
    elsewhere = TopicPartition("elsewhere", 0)
    request = markers(marker(T0), marker(T1, producer_id=2), marker(elsewhere, producer_id=3))
    assert apis.handle(request) is None
    first, second = apis.appended
    acknowledge(second)
    assert apis.channel.responses == []
    acknowledge(first, Errors.INVALID_PRODUCER_EPOCH)
    (response,) = apis.channel.responses
    found = [response.errors(producer_id) for producer_id in (1, 2, 3)]  # type: ignore[attr-defined]
    assert found == [
        {T0: Errors.INVALID_PRODUCER_EPOCH},
        {T1: Errors.NONE},
        {elsewhere: Errors.UNKNOWN_TOPIC_OR_PARTITION},
    ]


def test_no_marker_is_an_answer_too(apis: Apis) -> None:
    assert apis.handle(markers()).transaction_markers == []


def test_offsets_become_the_groups_as_the_marker_is_written(apis: Apis) -> None:
    apis.group_coordinator.schedule_handle_txn_completion = calls = Calls()
    apis.handle(markers(marker(OFFSETS_0, T0)))
    (append,) = apis.appended
    assert calls.made == []
    acknowledge(append)
    ((producer_id, partitions, result),) = calls.made
    assert (producer_id, list(partitions), result) == (1, [OFFSETS_0], TransactionResult.COMMIT)


def test_a_marker_that_failed_completes_no_offsets(apis: Apis) -> None:
    apis.group_coordinator.schedule_handle_txn_completion = calls = Calls()
    apis.handle(markers(marker(OFFSETS_0)))
    acknowledge(apis.appended[0], Errors.NOT_LEADER_FOR_PARTITION)
    assert calls.made == []


def test_a_group_that_fails_has_its_marker_sent_again(apis: Apis) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("the scheduler has stopped")

    apis.group_coordinator.schedule_handle_txn_completion = fail
    apis.handle(markers(marker(OFFSETS_0, T0)))
    acknowledge(apis.appended[0])
    (response,) = apis.channel.responses
    assert response.errors(1) == {OFFSETS_0: Errors.UNKNOWN_SERVER_ERROR, T0: Errors.NONE}  # type: ignore[attr-defined]


def test_markers_are_for_brokers() -> None:
    apis = refusing(Operation.ClusterAction)
    assert apis.handle(markers(marker(T0))).error_counts() == {Errors.CLUSTER_AUTHORIZATION_FAILED: 1}
    assert apis.appended == []
    apis.close()


# -- Leadership --------------------------------------------------------------------------------------------------------


class FakePartition:
    """What a change of leadership tells of a partition."""

    def __init__(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        self.topic_partition = topic_partition
        self.topic, self.partition_id = topic_partition
        self.get_leader_epoch = leader_epoch


@pytest.fixture
def moves(apis: Apis) -> list[tuple[Any, ...]]:
    """What the coordinators were told, in order."""
    told: list[tuple[Any, ...]] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *args: told.append((name, *args))

    for coordinator, kind in ((apis.group_coordinator, "group"), (apis.txn_coordinator, "txn")):
        for way in ("immigration", "emigration"):
            setattr(coordinator, f"handle_{kind}_{way}", note(f"{kind} {way}"))
    return told


@pytest.mark.ported("KafkaApisTest.shouldResignCoordinatorsIfStopReplicaReceivedWithDeleteFlag")
@pytest.mark.parametrize(
    ("delete", "error", "expected"),
    [
        (True, Errors.NONE, [("group emigration", 0), ("txn emigration", 0, None)]),
        (True, Errors.KAFKA_STORAGE_ERROR, []),
        (False, Errors.NONE, []),
    ],
)
def test_a_replica_that_is_deleted_was_perhaps_a_coordinators(
    apis: Apis, moves: list[tuple[Any, ...]], delete: bool, error: Errors, expected: list[tuple[Any, ...]]
) -> None:
    apis.replica_manager.stop_replicas = Calls(({OFFSETS_0: error, TXN_0: error, T0: error}, Errors.NONE))
    apis.replica_manager.replica_fetcher_manager = Idle()
    apis.handle(StopReplicaRequest.Builder(0, 5, delete, {OFFSETS_0, TXN_0, T0}).build())
    assert moves == expected


class Idle:
    """Stands for the fetchers: there are none."""

    def shutdown_idle_fetcher_threads(self) -> None:
        """Nothing is idle."""


def test_coordinators_move_with_the_leaders_of_their_partitions(apis: Apis, moves: list[tuple[Any, ...]]) -> None:
    groups, transactions = FakePartition(OFFSETS_0, 3), FakePartition(TXN_0, 4)
    plain: Any = FakePartition(T0, 5)
    change: Any = apis.apis.cluster._on_leadership_change
    change([groups, plain, transactions], [])
    assert moves == [("group immigration", 0), ("txn immigration", 0, 4)]
    moves.clear()
    change([plain], [groups, plain, transactions])
    assert moves == [("group emigration", 0), ("txn emigration", 0, 4)]
