"""Produce, Fetch, ListOffsets and OffsetForLeaderEpoch.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kafka_py.common.errors import (
    ApiException,
    FencedLeaderEpochException,
    IllegalStateException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    OffsetNotAvailableException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
    UnsupportedCompressionTypeException,
    UnsupportedForMessageFormatException,
)
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.cluster.partition import Partition
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.log.index_entry import TimestampOffset
    from kafka_py.log.log import Log
    from kafka_py.log.log_manager import LogManager
    from kafka_py.network.request_channel import Request, RequestChannel
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.fetch_session import FetchContext, FetchManager
    from kafka_py.server.log_read_result import FetchPartitionData
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicaQuota, ReplicationQuotaManager
    from kafka_py.server.request_handler_helper import RequestHandlerHelper

    ProduceStatus = dict[TopicPartition, ProduceResponse.PartitionResponse]

_NONE = Errors.NONE
_NO_STATS = RecordsProcessingStats.EMPTY
_EXPECTED_LIST_OFFSET_ERRORS = (
    UnknownTopicOrPartitionException,
    NotLeaderForPartitionException,
    UnknownLeaderEpochException,
    FencedLeaderEpochException,
    KafkaStorageException,
    UnsupportedForMessageFormatException,
)
ADMIN_CLIENT_ID = "__admin_client"


class KafkaApisRecords(Logging):
    """The handlers that read and write records. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        request_channel: RequestChannel,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        quotas: QuotaFactory.QuotaManagers,
        fetch_manager: FetchManager,
        broker_topic_stats: BrokerTopicStats,
        time: Time,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._request_channel = request_channel
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._quotas = quotas
        self._fetch_manager = fetch_manager
        self._broker_topic_stats = broker_topic_stats
        self._time = time

    # -- Produce ----------------------------------------------------------------------------------------------------

    def handle_produce_request(self, request: Request) -> None:
        """Append what may be appended and answer when the acks are there."""
        produce_request = request.body(ProduceRequest)
        check = self._auth_helper.authorizer is not None
        if (check or produce_request.is_transactional()) and not self._may_produce(request, produce_request):
            return
        refused: ProduceStatus = {}
        authorized_request_info: dict[TopicPartition, MemoryRecords] = {}
        header = request.header
        version = header.api_version
        contains = self._metadata_cache.contains
        for tp, records in produce_request.partition_records_or_fail().items():
            topic = tp[0]
            if check and not self._auth_helper.authorize(
                request.session, Operation.Write, Resource(ResourceType.Topic, topic)
            ):
                refused[tp] = ProduceResponse.PartitionResponse(Errors.TOPIC_AUTHORIZATION_FAILED)
            elif not contains(topic):
                refused[tp] = ProduceResponse.PartitionResponse(Errors.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                try:
                    if version < 7:  # else everything was checked when the request was parsed
                        ProduceRequest.validate_records(version, records)
                    authorized_request_info[tp] = records
                except ApiException as e:
                    refused[tp] = ProduceResponse.PartitionResponse(Errors.for_exception(e))

        def send_response_callback(response_status: ProduceStatus) -> None:
            """Runs once all is appended, here or on the thread that completes the delayed produce."""
            merged = {**response_status, **refused} if refused else response_status
            error_in_response = False
            for tp, status in merged.items():
                if status.error is not _NONE:
                    error_in_response = True
                    self.debug(
                        "Produce request with correlation id %s from client %s on partition %s failed due to %s",
                        header.correlation_id,
                        header.client_id,
                        tp,
                        status.error.exception_name(),
                    )
            quota = self._quotas.produce
            if not quota.quotas_enabled:
                self._send_produce_response(request, produce_request, merged, error_in_response, 0)
                return
            quota.maybe_record_and_throttle(
                request.session.sanitized_user,
                header.client_id or "",
                request.size_in_bytes,
                lambda bandwidth_throttle_time_ms: self._send_produce_response(
                    request, produce_request, merged, error_in_response, bandwidth_throttle_time_ms
                ),
            )

        if not authorized_request_info:
            send_response_callback({})
            return

        def processing_stats_callback(processing_stats: dict[TopicPartition, RecordsProcessingStats]) -> None:
            for tp, info in processing_stats.items():
                if info is not _NO_STATS:
                    self._update_records_processing_stats(request, tp, info)

        self._replica_manager.append_records(
            timeout=produce_request.timeout(),
            required_acks=produce_request.acks(),
            internal_topics_allowed=header.client_id == ADMIN_CLIENT_ID,
            is_from_client=True,
            entries_per_partition=authorized_request_info,
            response_callback=send_response_callback,
            processing_stats_callback=processing_stats_callback,
            transactional_id=produce_request.transactional_id(),
        )
        # A request in purgatory would hold its records although they are in the log.
        produce_request.clear_partition_records()

    def _send_produce_response(
        self,
        request: Request,
        produce_request: ProduceRequest,
        status: ProduceStatus,
        error_in_response: bool,
        bandwidth_throttle_time_ms: int,
    ) -> None:
        if produce_request.acks() == 0:
            self._end_produce_without_acks(request, status, error_in_response)
        elif self._quotas.request.quotas_enabled:
            self._request_helper.send_response_maybe_throttle(
                request,
                lambda request_throttle_ms: ProduceResponse(status, bandwidth_throttle_time_ms + request_throttle_ms),
            )
        else:
            self._request_channel.send_response(request, ProduceResponse(status, bandwidth_throttle_time_ms), None)

    def _may_produce(self, request: Request, produce_request: ProduceRequest) -> bool:
        """Whether the sender may write with its transactional or producer id; answers when it may not.

        Records of a transaction without a transactional id are nobody's, whoever may do what.
        """
        if produce_request.is_transactional():
            transactional_id = produce_request.transactional_id()
            if transactional_id is None or not self._auth_helper.authorize(
                request.session, Operation.Write, Resource(ResourceType.TransactionalId, transactional_id)
            ):
                error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                self._request_helper.send_error_response_maybe_throttle(request, _exception(error))
                return False
        elif produce_request.is_idempotent() and not self._auth_helper.authorize(
            request.session, Operation.IdempotentWrite, Resource.CLUSTER_RESOURCE
        ):
            self._request_helper.send_error_response_maybe_throttle(
                request, _exception(Errors.CLUSTER_AUTHORIZATION_FAILED)
            )
            return False
        return True

    def _end_produce_without_acks(self, request: Request, status: ProduceStatus, error_in_response: bool) -> None:
        """With acks=0 nobody reads an answer: only a closed connection makes the client look for new metadata."""
        if not error_in_response:
            self._request_helper.send_no_op_response_exempt_throttle(request)
            return
        summary = ", ".join(f"{tp} -> {s.error.exception_name()}" for tp, s in status.items())
        self.info(
            "Closing connection due to error during produce request with correlation id %s from client id %s with "
            "ack=0\nTopic and partition to exceptions: %s",
            request.header.correlation_id,
            request.header.client_id,
            summary,
        )
        self._request_helper.close_connection(request, ProduceResponse(status).error_counts())

    def _update_records_processing_stats(
        self, request: Request, tp: TopicPartition, processing_stats: RecordsProcessingStats
    ) -> None:
        """Count records that had to be converted, for the topic and for the request."""
        conversions = processing_stats.num_records_converted()
        if conversions > 0:
            api_key = request.header.api_key
            for stats in (
                self._broker_topic_stats.topic_stats(tp.topic),
                self._broker_topic_stats.all_topics_stats,
            ):
                if api_key is ApiKeys.PRODUCE:
                    stats.produce_message_conversions_rate.mark(conversions)
                elif api_key is ApiKeys.FETCH:
                    stats.fetch_message_conversions_rate.mark(conversions)
                else:
                    raise IllegalStateException("Message conversion info is recorded only for Produce/Fetch requests")
            request.message_conversions_time_nanos = processing_stats.conversion_time_nanos()
        request.temporary_memory_bytes = processing_stats.temporary_memory_bytes()

    # -- Fetch ------------------------------------------------------------------------------------------------------

    def handle_fetch_request(self, request: Request) -> None:
        """Read what may be read and answer when there is enough, or the fetcher has waited long enough."""
        fetch_request = request.body(FetchRequest)
        from_follower = fetch_request.is_from_follower()
        fetch_context = self._fetch_manager.new_context(
            fetch_request.metadata(), fetch_request.fetch_data(), fetch_request.to_forget(), from_follower
        )
        erroneous: list[tuple[TopicPartition, FetchResponse.PartitionData]] = []
        interesting: list[tuple[TopicPartition, FetchRequest.PartitionData]] = []
        contains = self._metadata_cache.contains
        may_read = None if self._auth_helper.authorizer is None else self._fetch_authorization(request, from_follower)

        def sort_out(part: TopicPartition, data: FetchRequest.PartitionData) -> None:
            if may_read is not None and not may_read(part.topic):
                erroneous.append((part, _fetch_error(Errors.TOPIC_AUTHORIZATION_FAILED)))
            elif contains(part[0]):
                interesting.append((part, data))
            else:
                erroneous.append((part, _fetch_error(Errors.UNKNOWN_TOPIC_OR_PARTITION)))

        fetch_context.foreach_partition(sort_out)

        def process_response_callback(
            response_partition_data: Sequence[tuple[TopicPartition, FetchPartitionData]],
        ) -> None:
            """Runs once there is enough to send, here or on the thread that completes the delayed fetch.

            What goes wrong is answered here: that thread may be at work for a producer, which it does not concern.
            """
            try:
                partitions: dict[TopicPartition, FetchResponse.PartitionData] = {}
                partition_data = FetchResponse.PartitionData
                for tp, data in response_partition_data:
                    lso = data.last_stable_offset
                    partitions[tp] = partition_data(
                        data.error,
                        data.high_watermark,
                        FetchResponse.INVALID_LAST_STABLE_OFFSET if lso is None else lso,
                        data.log_start_offset,
                        data.aborted_transactions,
                        data.records,
                    )
                if erroneous:
                    partitions.update(erroneous)
                unconverted = fetch_context.update_and_generate_response_data(partitions)
                self._send_fetch_response(request, fetch_request, fetch_context, unconverted)
            except Exception as e:  # noqa: BLE001 -- whatever it is, it belongs to this request and to no other
                self._request_helper.handle_error(request, e)

        if not interesting:
            process_response_callback(())
            return
        params = FetchParams(
            request.header.api_version,
            fetch_request.replica_id(),
            fetch_request.max_wait(),
            fetch_request.min_bytes(),
            fetch_request.max_bytes(),
            fetch_request.isolation_level(),
        )
        self._replica_manager.fetch_messages(
            params, interesting, self.replication_quota(fetch_request), process_response_callback
        )

    def _fetch_authorization(self, request: Request, from_follower: bool) -> Callable[[str], bool]:
        """A follower needs ClusterAction, once; a consumer Read on every topic."""
        if from_follower:
            allowed = self._auth_helper.authorize(request.session, Operation.ClusterAction, Resource.CLUSTER_RESOURCE)
            return lambda topic: allowed
        return lambda topic: self._auth_helper.authorize(
            request.session, Operation.Read, Resource(ResourceType.Topic, topic)
        )

    def _send_fetch_response(
        self, request: Request, fetch_request: FetchRequest, fetch_context: FetchContext, unconverted: FetchResponse
    ) -> None:
        version_id = request.header.api_version
        from_follower = fetch_request.is_from_follower()
        if self.logger.trace_enabled:
            self.trace(
                "Sending Fetch response with partitions.size=%s, metadata=%s",
                len(unconverted.response_data()),
                unconverted.session_id(),
            )

        def create_response(throttle_time_ms: int) -> FetchResponse:
            # The bytes count as sent only when they are.
            response = self._create_fetch_response(request, fetch_context, unconverted, throttle_time_ms)
            update_bytes_out = self._broker_topic_stats.update_bytes_out
            for tp, data in response.response_data().items():
                if data.error is not _NONE:
                    self.debug(
                        "Fetch request with correlation id %s from client %s on partition %s failed due to %s",
                        request.header.correlation_id,
                        request.header.client_id,
                        tp,
                        data.error.exception_name(),
                    )
                update_bytes_out(tp[0], from_follower, data.records.size_in_bytes())
            return response

        if from_follower:
            # Whether the quota allows it was asked before; now it is only counted.
            leader_quota = self._quotas.leader
            if leader_quota.any_throttled:
                leader_quota.record(self._size_of_throttled_partitions(version_id, unconverted, leader_quota))
            else:
                leader_quota.record_nothing()
            self._request_helper.send_response_exempt_throttle(request, create_response(0))
            return
        quota = self._quotas.fetch
        if not quota.quotas_enabled:
            self._request_helper.send_response_maybe_throttle(request, create_response)
            return
        # The size before down-conversion: converting a response that is then delayed would fill the memory.
        size = FetchResponse.size_of(version_id, unconverted.response_data().items())
        quota.maybe_record_and_throttle(
            request.session.sanitized_user,
            request.header.client_id or "",
            size,
            lambda bandwidth_ms: self._request_helper.send_response_maybe_throttle(
                request, lambda request_ms: create_response(bandwidth_ms + request_ms)
            ),
        )

    def _create_fetch_response(
        self, request: Request, fetch_context: FetchContext, unconverted: FetchResponse, throttle_time_ms: int
    ) -> FetchResponse:
        """The response as it stands, or a new one where old clients need old formats or there is a throttle time."""
        data = unconverted.response_data()
        if request.header.api_version > 3:
            if throttle_time_ms == 0:
                return unconverted
        else:
            data = {tp: self._converted_partition_data(request, fetch_context, tp, d) for tp, d in data.items()}
        return FetchResponse(unconverted.error(), data, throttle_time_ms, unconverted.session_id())

    def _converted_partition_data(
        self,
        request: Request,
        fetch_context: FetchContext,
        tp: TopicPartition,
        data: FetchResponse.PartitionData,
    ) -> FetchResponse.PartitionData:
        """Down-convert what the client could not read.

        The topic's own format decides whether the records are looked at: one that was set back to an older format
        keeps newer records, which then go out as they are, as in Kafka. What cannot be converted (zstd, which no older
        format knows, or a damaged batch) is an error of this partition, as from 2.1 on; in 1.1.1 of the whole request.
        """
        version_id = request.header.api_version
        magic = self._replica_manager.get_magic(tp)
        if magic is None:
            return data
        if (
            magic > RecordBatch.MAGIC_VALUE_V0
            and version_id <= 1
            and not data.records.has_compatible_magic(RecordBatch.MAGIC_VALUE_V0)
        ):
            to_magic = RecordBatch.MAGIC_VALUE_V0
        elif (
            magic > RecordBatch.MAGIC_VALUE_V1
            and version_id <= 3
            and not data.records.has_compatible_magic(RecordBatch.MAGIC_VALUE_V1)
        ):
            to_magic = RecordBatch.MAGIC_VALUE_V1
        else:
            return data
        self.trace(
            "Down converting records from partition %s to message format version %s for fetch request from %s",
            tp,
            to_magic,
            request.header.client_id,
        )
        try:
            converted = data.records.down_convert(to_magic, fetch_context.get_fetch_offset(tp) or 0, self._time)
        except UnsupportedCompressionTypeException as e:
            self.trace("Cannot down convert records from partition %s: %s", tp, e)
            return _fetch_error(Errors.UNSUPPORTED_COMPRESSION_TYPE)
        except ApiException as e:
            self.error("Error while down converting records from partition %s", tp, exc=e)
            return _fetch_error(Errors.for_exception(e))
        self._update_records_processing_stats(request, tp, converted.records_processing_stats())
        return FetchResponse.PartitionData(
            data.error,
            data.high_watermark,
            FetchResponse.INVALID_LAST_STABLE_OFFSET,
            data.log_start_offset,
            data.aborted_transactions,
            converted.records(),
        )

    @staticmethod
    def _size_of_throttled_partitions(
        version_id: int, unconverted_response: FetchResponse, quota: ReplicationQuotaManager
    ) -> int:
        """Bytes of the response's throttled partitions, for replicas in sync or not."""
        selected = [(tp, data) for tp, data in unconverted_response.response_data().items() if quota.is_throttled(tp)]
        return FetchResponse.size_of(version_id, selected)

    def replication_quota(self, fetch_request: FetchRequest) -> ReplicaQuota:
        """The quota reading for this request is under."""
        return self._quotas.leader if fetch_request.is_from_follower() else QuotaFactory.UnboundedQuota

    # -- ListOffsets ------------------------------------------------------------------------------------------------

    def handle_list_offset_request(self, request: Request) -> None:
        """Answer with offsets at a time, at the beginning or at the end."""
        if request.header.api_version == 0:
            merged = self._handle_list_offset_request_v0(request)
        else:
            merged = self._handle_list_offset_request_v1_and_above(request)
        self._request_helper.send_response_maybe_throttle(
            request, lambda request_throttle_ms: ListOffsetResponse(request_throttle_ms, merged)
        )

    def _handle_list_offset_request_v0(
        self, request: Request
    ) -> dict[TopicPartition, ListOffsetResponse.PartitionData]:
        offset_request = request.body(ListOffsetRequest)
        result = {}
        for tp, partition_data in offset_request.offset_data().items():
            if not self._may_describe(request, tp):
                result[tp] = _offsets(Errors.TOPIC_AUTHORIZATION_FAILED, [])
                continue
            try:
                local_replica = self._local_replica(offset_request, tp)
                offsets = self.fetch_offsets(
                    self._replica_manager.log_manager, tp, partition_data.timestamp, partition_data.max_num_offsets
                )
                if offset_request.replica_id == ListOffsetRequest.CONSUMER_REPLICA_ID:
                    hw = local_replica.high_watermark.message_offset
                    below = [offset for offset in offsets if offset <= hw]
                    offsets = [hw, *below] if len(below) < len(offsets) else offsets
                result[tp] = _offsets(Errors.NONE, offsets)
            except Exception as e:  # noqa: BLE001 -- one partition's failure is part of the answer
                result[tp] = _offsets(self._list_offset_error(request, tp, e), [])
        return result

    def _handle_list_offset_request_v1_and_above(
        self, request: Request
    ) -> dict[TopicPartition, ListOffsetResponse.PartitionData]:
        offset_request = request.body(ListOffsetRequest)
        duplicates = offset_request.duplicate_partitions()
        current_leader_epochs = offset_request.current_leader_epochs()
        result = {}
        for tp, timestamp in offset_request.partition_timestamps().items():
            if not self._may_describe(request, tp):
                result[tp] = _no_offset(Errors.TOPIC_AUTHORIZATION_FAILED)
            elif tp in duplicates:
                self.debug(
                    "OffsetRequest with correlation id %s from client %s on partition %s failed because the partition "
                    "is duplicated in the request.",
                    request.header.correlation_id,
                    request.header.client_id,
                    tp,
                )
                result[tp] = _no_offset(Errors.INVALID_REQUEST)
            else:
                try:
                    result[tp] = self._list_offset(offset_request, tp, timestamp, current_leader_epochs[tp])
                except OffsetNotAvailableException as e:
                    # before version 5 clients know another name for it
                    error = Errors.for_exception(e) if offset_request.version() >= 5 else Errors.LEADER_NOT_AVAILABLE
                    result[tp] = _no_offset(error)
                except Exception as e:  # noqa: BLE001 -- one partition's failure is part of the answer
                    result[tp] = _no_offset(self._list_offset_error(request, tp, e))
        return result

    def _list_offset(
        self, offset_request: ListOffsetRequest, tp: TopicPartition, timestamp: int, current_leader_epoch: int
    ) -> ListOffsetResponse.PartitionData:
        """One partition of version 1 and above: consumers see no further than they may fetch.

        OffsetNotAvailableException while a new leader cannot tell yet how far that is (KIP-207); the exceptions of
        Partition.check_current_leader_epoch for a client that knows another leader epoch.
        """
        local_replica = self._local_replica(offset_request, tp)
        partition = self._replica_manager.get_partition(tp)
        assert partition is not None  # a replica of it was found
        partition.check_current_leader_epoch(current_leader_epoch)
        if offset_request.replica_id != ListOffsetRequest.CONSUMER_REPLICA_ID:
            found = self._fetch_offset_for_timestamp(tp, timestamp)
        else:
            if offset_request.isolation_level == IsolationLevel.READ_COMMITTED.id:
                last_fetchable_offset = local_replica.last_stable_offset.message_offset
            else:
                last_fetchable_offset = local_replica.high_watermark.message_offset
            if timestamp == ListOffsetRequest.LATEST_TIMESTAMP:
                self._check_high_watermark(partition)
                return _offset(RecordBatch.NO_TIMESTAMP, last_fetchable_offset, partition.get_leader_epoch)
            found = self._fetch_offset_for_timestamp(tp, timestamp)
            if (
                found is not None
                and timestamp != ListOffsetRequest.EARLIEST_TIMESTAMP
                and found.offset >= last_fetchable_offset
            ):
                found = None
            if found is None:
                self._check_high_watermark(partition)
        if found is None:
            return _offset(ListOffsetResponse.UNKNOWN_TIMESTAMP, ListOffsetResponse.UNKNOWN_OFFSET)
        epochs = local_replica.epochs
        epoch = RecordBatch.NO_PARTITION_LEADER_EPOCH if epochs is None else epochs.epoch_for_offset(found.offset)
        return _offset(found.timestamp, found.offset, epoch)

    @staticmethod
    def _check_high_watermark(partition: Partition) -> None:
        """Raise OffsetNotAvailableException while the end of what may be read would seem to go back."""
        if partition.is_high_watermark_behind_epoch:
            raise OffsetNotAvailableException(
                f"Failed to fetch offsets for partition {partition.topic_partition} with leader epoch "
                f"{partition.get_leader_epoch}: its high watermark has not reached the beginning of this epoch yet."
            )

    def _may_describe(self, request: Request, tp: TopicPartition) -> bool:
        return self._auth_helper.authorizer is None or self._auth_helper.authorize(
            request.session, Operation.Describe, Resource(ResourceType.Topic, tp.topic)
        )

    def _local_replica(self, offset_request: ListOffsetRequest, tp: TopicPartition) -> Any:
        """The leader's replica, or any for a debugging consumer; raises when it is not here."""
        if offset_request.replica_id == ListOffsetRequest.DEBUGGING_REPLICA_ID:
            return self._replica_manager.get_replica_or_exception(tp)
        return self._replica_manager.get_leader_replica_if_local(tp)

    def _list_offset_error(self, request: Request, tp: TopicPartition, e: Exception) -> Errors:
        """The error code; only unexpected exceptions are worth a stack trace."""
        if isinstance(e, _EXPECTED_LIST_OFFSET_ERRORS):
            self.debug(
                "Offset request with correlation id %s from client %s on partition %s failed due to %s",
                request.header.correlation_id,
                request.header.client_id,
                tp,
                e,
            )
        else:
            self.error("Error while responding to offset request", exc=e)
        return Errors.for_exception(e)

    def fetch_offsets(
        self, log_manager: LogManager, topic_partition: TopicPartition, timestamp: int, max_num_offsets: int
    ) -> list[int]:
        """Version 0: segment offsets at or before a time, highest first, up to the number asked for."""
        log = log_manager.get_log(topic_partition)
        if log is not None:
            return self.fetch_offsets_before(log, timestamp, max_num_offsets)
        if timestamp in (ListOffsetRequest.LATEST_TIMESTAMP, ListOffsetRequest.EARLIEST_TIMESTAMP):
            return [0]
        return []

    def _fetch_offset_for_timestamp(self, topic_partition: TopicPartition, timestamp: int) -> TimestampOffset | None:
        log = self._replica_manager.get_log(topic_partition)
        if log is None:
            raise UnknownTopicOrPartitionException(f"{topic_partition} does not exist on the broker.")
        return log.fetch_offsets_by_timestamp(timestamp)

    def fetch_offsets_before(self, log: Log, timestamp: int, max_num_offsets: int) -> list[int]:
        """Start offsets of the segments last written at or before a time, and the end offset, highest first."""
        # A copy, for segments may be deleted meanwhile.
        segments = list(log.log_segments)
        offset_times = [(max(s.base_offset, log.log_start_offset), s.last_modified) for s in segments]
        if segments[-1].size > 0:
            offset_times.append((log.log_end_offset, self._time.milliseconds()))
        if timestamp == ListOffsetRequest.LATEST_TIMESTAMP:
            start_index = len(offset_times) - 1
        elif timestamp == ListOffsetRequest.EARLIEST_TIMESTAMP:
            start_index = 0
        else:
            self.debug("Offset time array = %s", offset_times)
            start_index = len(offset_times) - 1
            while start_index >= 0 and offset_times[start_index][1] > timestamp:
                start_index -= 1
        ret_size = min(max_num_offsets, start_index + 1)
        if ret_size < 0:
            # What new Array raises in the JVM for version 0 with a negative number of offsets.
            raise ValueError(f"NegativeArraySizeException: {ret_size}")
        return sorted((offset_times[start_index - j][0] for j in range(ret_size)), reverse=True)

    # -- OffsetForLeaderEpoch ---------------------------------------------------------------------------------------

    def handle_offset_for_leader_epoch_request(self, request: Request) -> None:
        """Tell where the records of leader epochs end: followers, and from version 2 on consumers, too (KIP-320).

        Versions 0 and 1 need the right of brokers, later ones that or the one to describe the topic.
        """
        epoch_request = request.body(OffsetsForLeaderEpochRequest)
        version = request.header.api_version
        requested = epoch_request.epochs_by_topic_partition()
        refused: dict[TopicPartition, EpochEndOffset] = {}
        if version < 2:
            self._auth_helper.authorize_cluster_operation(request, Operation.ClusterAction)
        elif not self._auth_helper.authorize(request.session, Operation.ClusterAction, Resource.CLUSTER_RESOURCE):
            refused = {
                tp: EpochEndOffset(Errors.TOPIC_AUTHORIZATION_FAILED, EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
                for tp in requested
                if not self._may_describe(request, tp)
            }
            requested = {tp: epoch for tp, epoch in requested.items() if tp not in refused}
        current = None if version == 0 else epoch_request.current_leader_epochs()
        answers = self._replica_manager.last_offset_for_leader_epoch(requested, current)
        self._request_helper.send_response_exempt_throttle(
            request, OffsetsForLeaderEpochResponse({**answers, **refused})
        )


def _exception(error: Errors) -> BaseException:
    exception = error.exception()
    assert exception is not None
    return exception


def _fetch_error(error: Errors) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(
        error,
        FetchResponse.INVALID_HIGHWATERMARK,
        FetchResponse.INVALID_LAST_STABLE_OFFSET,
        FetchResponse.INVALID_LOG_START_OFFSET,
        None,
        MemoryRecords.EMPTY,
    )


def _offsets(error: Errors, offsets: list[int]) -> ListOffsetResponse.PartitionData:
    return ListOffsetResponse.PartitionData(error, offsets=offsets)


def _offset(timestamp: int, offset: int, leader_epoch: int = -1) -> ListOffsetResponse.PartitionData:
    return ListOffsetResponse.PartitionData(Errors.NONE, timestamp, offset, leader_epoch=leader_epoch)


def _no_offset(error: Errors) -> ListOffsetResponse.PartitionData:
    return ListOffsetResponse.PartitionData(
        error, ListOffsetResponse.UNKNOWN_TIMESTAMP, ListOffsetResponse.UNKNOWN_OFFSET
    )
