"""Transactions: producer ids, their partitions and offsets, their end, and the markers that tell of it.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers; later versions as in 2.5.1)
Read next: ../coordinator/transaction/transaction_coordinator.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from kafka_py.api.api_version import KAFKA_0_11_0_IV0, ApiVersion
from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.offset_and_metadata import NO_METADATA, OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kafka_py.common.requests.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kafka_py.common.requests.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from kafka_py.common.requests.add_partitions_to_txn_response import (
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
)
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.end_txn_response import EndTxnResponse
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.requests.txn_offset_commit_request import TxnOffsetCommitRequest
from kafka_py.common.requests.txn_offset_commit_response import TxnOffsetCommitResponse
from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry, WriteTxnMarkersRequest
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic
from kafka_py.common.utils.producer_id_and_epoch import ProducerIdAndEpoch
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.produce_response import ProduceResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult, TransactionCoordinator
    from kafka_py.network.request_channel import Request
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.request_handler_helper import RequestHandlerHelper

PartitionErrors = dict[TopicPartition, Errors]
_NONE = Errors.NONE


class MarkerAppends:
    """What became of the markers of one WriteTxnMarkers request, of which each is an append of its own.

    Ours in its form: in Kafka a map, a counter and a nested function of the handler.

    Thread: any; the appends end on different ones.
    Locks: _lock.
    """

    def __init__(self, appends: int) -> None:
        self._lock = ReentrantLock()
        self._left = appends  # guarded by: _lock
        self._errors: dict[int, PartitionErrors] = {}  # guarded by: _lock

    def add(self, producer_id: int, errors: Mapping[TopicPartition, Errors]) -> None:
        """Note what became of a marker in some partitions."""
        with self._lock:
            self._errors.setdefault(producer_id, {}).update(errors)

    def one_ended(self) -> bool:
        """One append is over; whether it was the last one."""
        with self._lock:
            self._left -= 1
            return self._left == 0

    def response(self) -> WriteTxnMarkersResponse:
        """What is to be answered."""
        with self._lock:
            return WriteTxnMarkersResponse.of(self._errors)


class KafkaApisTransactions(Logging):
    """The handlers of transactions. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        txn_coordinator: TransactionCoordinator,
        group_coordinator: GroupCoordinator,
        replica_manager: ReplicaManager,
        config: KafkaConfig,
        metadata_cache: MetadataCache,
        time: Time,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._txn_coordinator = txn_coordinator
        self._group_coordinator = group_coordinator
        self._replica_manager = replica_manager
        self._config = config
        self._metadata_cache = metadata_cache
        self._time = time

    def _may(self, request: Request, operation: Operation, kind: ResourceType, name: str) -> bool:
        return self._auth_helper.authorize(request.session, operation, Resource(kind, name))

    def _may_write_as(self, request: Request, transactional_id: str) -> bool:
        return self._may(request, Operation.Write, ResourceType.TransactionalId, transactional_id)

    def _ensure_inter_broker_version(self, version: ApiVersion) -> None:
        if self._config.inter_broker_protocol_version < version:
            raise UnsupportedVersionException(
                f"inter.broker.protocol.version: {self._config.inter_broker_protocol_version.version} is less than the "
                f"required version: {version.version}"
            )

    def _send_error(self, request: Request, error: Errors) -> None:
        exception = error.exception()
        assert exception is not None
        self._request_helper.send_error_response_maybe_throttle(request, exception)

    # -- InitProducerId ---------------------------------------------------------------------------------------------

    def handle_init_producer_id_request(self, request: Request) -> None:
        """Give a producer its id and epoch; one that names those it has gets the next epoch (version 3, KIP-360)."""
        init_request = request.body(InitProducerIdRequest)
        transactional_id = init_request.transactional_id
        if transactional_id is not None:
            if not self._may_write_as(request, transactional_id):
                self._send_error(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
                return
        elif not self._auth_helper.authorize(request.session, Operation.IdempotentWrite, Resource.CLUSTER_RESOURCE):
            self._send_error(request, Errors.CLUSTER_AUTHORIZATION_FAILED)
            return

        def send_response_callback(result: InitProducerIdResult) -> None:
            def create_response(request_throttle_ms: int) -> AbstractResponse:
                self.trace(
                    "Completed %s's InitProducerIdRequest with result %s from client %s.",
                    transactional_id,
                    result,
                    request.header.client_id,
                )
                return InitProducerIdResponse(
                    throttle_time_ms=request_throttle_ms,
                    error_code=result.error.code,
                    producer_id=result.producer_id,
                    producer_epoch=result.producer_epoch,
                )

            self._request_helper.send_response_maybe_throttle(request, create_response)

        has_id = init_request.producer_id != RecordBatch.NO_PRODUCER_ID
        has_epoch = init_request.producer_epoch != RecordBatch.NO_PRODUCER_EPOCH
        if has_id != has_epoch:
            self._send_error(request, Errors.INVALID_REQUEST)
            return
        known = ProducerIdAndEpoch(init_request.producer_id, init_request.producer_epoch) if has_id else None
        self._txn_coordinator.handle_init_producer_id(
            transactional_id, init_request.transaction_timeout_ms, known, send_response_callback
        )

    # -- AddPartitionsToTxn, AddOffsetsToTxn, EndTxn ------------------------------------------------------------------

    def handle_add_partition_to_txn_request(self, request: Request) -> None:
        """Make partitions part of a transaction, all of them or none."""
        self._ensure_inter_broker_version(KAFKA_0_11_0_IV0)
        add_request = request.body(AddPartitionsToTxnRequest)
        if request.header.api_version > AddPartitionsToTxnRequest.LAST_CLIENT_VERSION:
            self._verify_partitions(request, add_request)
            return
        transactional_id = add_request.transactional_id
        if not self._may_write_as(request, transactional_id):
            self._send_error(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return
        wanted = [TopicPartition(t.topic, p) for t in add_request.topics for p in t.partitions]
        errors = {tp: self._add_error(request, tp) for tp in wanted}
        if any(error is not _NONE for error in errors.values()):
            not_tried = Errors.OPERATION_NOT_ATTEMPTED
            self._send_add_response(request, {tp: not_tried if e is _NONE else e for tp, e in errors.items()})
            return

        def send_response_callback(error: Errors) -> None:
            self.trace(
                "Completed %s's AddPartitionsToTxnRequest with partitions %s: errors: %s from client %s",
                transactional_id,
                wanted,
                error,
                request.header.client_id,
            )
            self._send_add_response(request, dict.fromkeys(wanted, error))

        self._txn_coordinator.handle_add_partitions_to_transaction(
            transactional_id, add_request.producer_id, add_request.producer_epoch, set(wanted), send_response_callback
        )

    def _verify_partitions(self, request: Request, add_request: AddPartitionsToTxnRequest) -> None:
        """Tell another broker whether partitions belong to transactions; what it wants added is refused."""
        self._auth_helper.authorize_cluster_operation(request, Operation.ClusterAction)
        results: list[AddPartitionsToTxnResult] = []

        def verify(transaction: AddPartitionsToTxnTransaction) -> None:
            self._txn_coordinator.handle_verify_partitions_in_transaction(
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                transaction.partitions(),
                lambda errors: results.append(AddPartitionsToTxnResult.of(transaction.transactional_id, errors)),
            )

        for transaction in add_request.transactions:
            if transaction.verify_only:
                verify(transaction)
            else:
                refused = dict.fromkeys(transaction.partitions(), Errors.INVALID_REQUEST)
                results.append(AddPartitionsToTxnResult.of(transaction.transactional_id, refused))
        self._request_helper.send_response_maybe_throttle(
            request,
            lambda throttle_ms: AddPartitionsToTxnResponse(
                throttle_time_ms=throttle_ms, results_by_transaction=results
            ),
        )

    def _add_error(self, request: Request, tp: TopicPartition) -> Errors:
        """Internal topics are for the coordinators alone: offsets have a request of their own."""
        if Topic.is_internal(tp.topic) or not self._may(request, Operation.Write, ResourceType.Topic, tp.topic):
            return Errors.TOPIC_AUTHORIZATION_FAILED
        return _NONE if self._metadata_cache.contains_partition(tp) else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def _send_add_response(self, request: Request, errors: PartitionErrors) -> None:
        topic_class = AddPartitionsToTxnResponse.Topic
        topics = [
            topic_class(
                topic=topic,
                partition_errors=[topic_class.Partition(partition=p, error_code=e.code) for p, e in of_topic.items()],
            )
            for topic, of_topic in group_data_by_topic(errors).items()
        ]
        self._request_helper.send_response_maybe_throttle(
            request, lambda throttle_ms: AddPartitionsToTxnResponse(throttle_time_ms=throttle_ms, errors=topics)
        )

    def handle_add_offsets_to_txn_request(self, request: Request) -> None:
        """Make a group's partition of __consumer_offsets part of a transaction."""
        self._ensure_inter_broker_version(KAFKA_0_11_0_IV0)
        add_request = request.body(AddOffsetsToTxnRequest)
        transactional_id, group_id = add_request.transactional_id, add_request.group_id

        def send_response_callback(error: Errors) -> None:
            self.trace(
                "Completed %s's AddOffsetsToTxnRequest for group %s: errors: %s from client %s",
                transactional_id,
                group_id,
                error,
                request.header.client_id,
            )
            self._request_helper.send_response_maybe_throttle(
                request,
                lambda throttle_ms: AddOffsetsToTxnResponse(throttle_time_ms=throttle_ms, error_code=error.code),
            )

        if not self._may_write_as(request, transactional_id):
            send_response_callback(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        elif not self._may(request, Operation.Read, ResourceType.Group, group_id):
            send_response_callback(Errors.GROUP_AUTHORIZATION_FAILED)
        else:
            partition = TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, self._group_coordinator.partition_for(group_id))
            self._txn_coordinator.handle_add_partitions_to_transaction(
                transactional_id,
                add_request.producer_id,
                add_request.producer_epoch,
                {partition},
                send_response_callback,
            )

    def handle_end_txn_request(self, request: Request) -> None:
        """Commit or abort; answered once the outcome is in the log, before the markers are written."""
        self._ensure_inter_broker_version(KAFKA_0_11_0_IV0)
        end_request = request.body(EndTxnRequest)
        transactional_id = end_request.transactional_id

        def send_response_callback(error: Errors) -> None:
            self.trace(
                "Completed %s's EndTxnRequest with committed: %s, errors: %s from client %s.",
                transactional_id,
                end_request.transaction_result,
                error,
                request.header.client_id,
            )
            self._request_helper.send_response_maybe_throttle(
                request, lambda throttle_ms: EndTxnResponse(throttle_time_ms=throttle_ms, error_code=error.code)
            )

        if self._may_write_as(request, transactional_id):
            self._txn_coordinator.handle_end_transaction(
                transactional_id,
                end_request.producer_id,
                end_request.producer_epoch,
                TransactionResult.for_id(end_request.transaction_result),
                send_response_callback,
            )
        else:
            send_response_callback(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    # -- WriteTxnMarkers --------------------------------------------------------------------------------------------

    def handle_write_txn_markers_request(self, request: Request) -> None:
        """Write the outcome of transactions into partitions led here; answered when all replicas have all of it."""
        self._ensure_inter_broker_version(KAFKA_0_11_0_IV0)
        self._auth_helper.authorize_cluster_operation(request, Operation.ClusterAction)
        markers = request.body(WriteTxnMarkersRequest).markers()
        appends = MarkerAppends(len(markers))
        if not markers:
            self._request_helper.send_response_exempt_throttle(request, appends.response())
        for marker in markers:
            self._append_marker(request, marker, appends)

    def _append_marker(self, request: Request, marker: TxnMarkerEntry, appends: MarkerAppends) -> None:
        errors: PartitionErrors = {}
        records: dict[TopicPartition, MemoryRecords] = {}
        is_commit = marker.transaction_result is TransactionResult.COMMIT
        kind = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
        for tp in marker.partitions:
            magic = self._replica_manager.get_magic(tp)
            if magic is None:
                errors[tp] = Errors.UNKNOWN_TOPIC_OR_PARTITION
            elif magic < RecordBatch.MAGIC_VALUE_V2:
                errors[tp] = Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT
            else:
                records[tp] = MemoryRecords.with_end_transaction_marker(
                    marker.producer_id, marker.producer_epoch, EndTransactionMarker(kind, marker.coordinator_epoch)
                )
        if errors:
            appends.add(marker.producer_id, errors)

        def maybe_send_response_callback(
            response_status: Mapping[TopicPartition, ProduceResponse.PartitionResponse],
        ) -> None:
            """Runs when a marker is replicated, here or where the last replica's Fetch is handled."""
            self.trace(
                "End transaction marker append for producer id %s completed with status: %s",
                marker.producer_id,
                response_status,
            )
            appends.add(marker.producer_id, {tp: status.error for tp, status in response_status.items()})
            self._complete_offsets(marker, response_status, appends)
            if appends.one_ended():
                self._request_helper.send_response_exempt_throttle(request, appends.response())

        if not records:
            maybe_send_response_callback({})
            return
        self._replica_manager.append_records(
            timeout=self._config.request_timeout_ms,
            required_acks=-1,
            internal_topics_allowed=True,
            is_from_client=False,
            entries_per_partition=records,
            response_callback=maybe_send_response_callback,
        )

    def _complete_offsets(
        self,
        marker: TxnMarkerEntry,
        response_status: Mapping[TopicPartition, ProduceResponse.PartitionResponse],
        appends: MarkerAppends,
    ) -> None:
        """The marker of a commit of offsets is written: let the group's coordinator take them over."""
        offsets_topic = Topic.GROUP_METADATA_TOPIC_NAME
        done = [tp for tp, s in response_status.items() if tp.topic == offsets_topic and s.error is _NONE]
        if not done:
            return
        try:
            self._group_coordinator.schedule_handle_txn_completion(marker.producer_id, done, marker.transaction_result)
        except Exception as e:  # noqa: BLE001 -- told to the transaction's coordinator, which sends the marker again
            self.error(
                "Received an exception while trying to update the offsets cache on transaction marker append", exc=e
            )
            appends.add(marker.producer_id, dict.fromkeys(done, Errors.UNKNOWN_SERVER_ERROR))

    # -- TxnOffsetCommit --------------------------------------------------------------------------------------------

    def handle_txn_offset_commit_request(self, request: Request) -> None:
        """Keep what a group has read, from the moment at which the producer's transaction is committed."""
        self._ensure_inter_broker_version(KAFKA_0_11_0_IV0)
        commit_request = request.body(TxnOffsetCommitRequest)
        if not self._may_write_as(request, commit_request.transactional_id):
            self._send_error(request, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return
        if not self._may(request, Operation.Read, ResourceType.Group, commit_request.group_id):
            self._send_error(request, Errors.GROUP_AUTHORIZATION_FAILED)
            return
        wanted = {TopicPartition(t.topic, p.partition): p for t in commit_request.topics for p in t.partitions}
        refused = {tp: error for tp in wanted if (error := self._commit_error(request, tp)) is not _NONE}

        def send_response_callback(commit_status: PartitionErrors) -> None:
            """Runs when the commit is in the log, here or where the last replica's Fetch is handled."""
            self._send_commit_response(request, {**commit_status, **refused})

        now = self._time.milliseconds()
        offsets = {tp: _txn_offset(data, now) for tp, data in wanted.items() if tp not in refused}
        if not offsets:
            send_response_callback({})
            return
        self._group_coordinator.handle_txn_commit_offsets(
            commit_request.group_id,
            commit_request.transactional_id,
            commit_request.producer_id,
            commit_request.producer_epoch,
            commit_request.member_id,
            commit_request.group_instance_id,
            commit_request.generation_id,
            offsets,
            send_response_callback,
        )

    def _commit_error(self, request: Request, tp: TopicPartition) -> Errors:
        if not self._may(request, Operation.Read, ResourceType.Topic, tp.topic):
            return Errors.TOPIC_AUTHORIZATION_FAILED
        return _NONE if self._metadata_cache.contains_partition(tp) else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def _send_commit_response(self, request: Request, errors: PartitionErrors) -> None:
        for tp, error in errors.items():
            if error is not _NONE:
                self.debug(
                    "TxnOffsetCommit with correlation id %s from client %s on partition %s failed due to %s",
                    request.header.correlation_id,
                    request.header.client_id,
                    tp,
                    error.exception_name(),
                )
        if request.header.api_version < 2:
            # who speaks these may fail on a loading coordinator (KAFKA-7296)
            loading, gone = Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_NOT_AVAILABLE
            errors = {tp: gone if error is loading else error for tp, error in errors.items()}
        topic_class = TxnOffsetCommitResponse.Topic
        topics = [
            topic_class(
                topic=topic,
                partitions=[topic_class.Partition(partition=p, error_code=e.code) for p, e in of_topic.items()],
            )
            for topic, of_topic in group_data_by_topic(errors).items()
        ]
        self._request_helper.send_response_maybe_throttle(
            request, lambda throttle_ms: TxnOffsetCommitResponse(throttle_time_ms=throttle_ms, topics=topics)
        )


def _txn_offset(data: TxnOffsetCommitRequest.Topic.Partition, now: int) -> OffsetAndMetadata:
    epoch = data.leader_epoch
    return OffsetAndMetadata(
        data.offset,
        None if epoch == RecordBatch.NO_PARTITION_LEADER_EPOCH else epoch,
        NO_METADATA if data.metadata is None else data.metadata,
        now,
    )
