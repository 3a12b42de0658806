"""How a replica is copied from one log directory of this broker to another (KIP-113).

Mirrors: core/src/main/scala/kafka/server/ReplicaAlterLogDirsThread.scala @ 1.1.1
Read next: server/abstract_fetcher_thread.py (the loop), cluster/partition.py (the swap at the end),
           server/replica_manager_admin.py (who starts it)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.api.request_or_response import Request
from kafka_py.common.errors import IllegalStateException, KafkaStorageException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest as JFetchRequest
from kafka_py.server.abstract_fetcher_thread import (
    AbstractFetcherThread,
    LeaderOffsets,
    PartitionFetchState,
    ResultWithPartitions,
)
from kafka_py.server.delayed_operation_key import TopicPartitionOperationKey
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.server.quota_factory import QuotaFactory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.cluster.partition import Partition
    from kafka_py.cluster.replica import Replica
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.server.abstract_fetcher_manager import FailedPartitions
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.log_read_result import FetchPartitionData
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicationQuotaManager


class FetchRequest:
    """A read of the one partition that is being copied, or of none.

    Mirrors: kafka.server.ReplicaAlterLogDirsThread.FetchRequest
    Left out: toString -- `__str__`
    """

    def __init__(self, underlying: JFetchRequest.Builder) -> None:
        self.underlying = underlying

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to copy for now."""
        return not self.underlying.fetch_data()

    def offset(self, topic_partition: TopicPartition) -> int:
        """The fetch offset of a partition."""
        return self.underlying.fetch_data()[topic_partition].fetch_offset

    def current_leader_epoch(self, topic_partition: TopicPartition) -> int:
        """-1: a copy within the broker is fenced by nobody."""
        return -1

    def __str__(self) -> str:
        return str(self.underlying)


class PartitionData:
    """What was read of the current replica.

    Mirrors: kafka.server.ReplicaAlterLogDirsThread.PartitionData
    Left out: toString -- `__str__`
    """

    def __init__(self, underlying: FetchPartitionData) -> None:
        self.underlying = underlying

    @property
    def error(self) -> Errors:
        """The partition's error."""
        return self.underlying.error

    @property
    def to_records(self) -> MemoryRecords:
        """The records, read from the file when this is asked for."""
        records = self.underlying.records
        if isinstance(records, MemoryRecords):
            return records
        assert isinstance(records, FileRecords)
        return MemoryRecords.readable_records(records.read_into(bytearray(records.size_in_bytes()), 0))

    @property
    def high_watermark(self) -> int:
        """The current replica's."""
        return self.underlying.high_watermark

    @property
    def log_start_offset(self) -> int:
        """The current replica's."""
        return self.underlying.log_start_offset

    @property
    def exception(self) -> BaseException | None:
        """The error as an exception."""
        return None if self.error is Errors.NONE else self.error.exception()

    def __str__(self) -> str:
        return str(self.underlying)


class ReplicaAlterLogDirsThread(AbstractFetcherThread[FetchRequest, PartitionData]):
    """Copies current replicas to future ones, one partition at a time, and has each swapped in when it has caught up.

    The "leader" that this fetcher asks is the current replica, whether this broker leads the partition or not.

    Mirrors: kafka.server.ReplicaAlterLogDirsThread
    Thread: ReplicaAlterLogDirsThread-{fetcher}
    Locks: as AbstractFetcherThread; the swap takes Partition's write lock under _partition_map_lock.
    Differs: `truncate` is Kafka's maybeTruncate with an argument. As from 2.0 on it is the future replica whose latest
        epoch is looked up in the current one, back to an epoch they have in common (KAFKA-6361); 1.1.1 asks the current
        replica for its own, which cuts nothing. The future high watermark never passes the future log's end. Who waits
        for a DeleteRecords is answered when the future log's start has followed; in 1.1.1 the request times out.
    """

    def __init__(
        self,
        name: str,
        source_broker: BrokerEndPoint,
        broker_config: KafkaConfig,
        failed_partitions: FailedPartitions,
        replica_mgr: ReplicaManager,
        quota: ReplicationQuotaManager,
        broker_topic_stats: BrokerTopicStats,
        time: Time,
    ) -> None:
        super().__init__(
            name,
            name,
            source_broker,
            failed_partitions,
            fetch_back_off_ms=broker_config.replica_fetch_backoff_ms,
            is_interruptible=False,
            include_log_truncation=True,
            time=time,
        )
        self._broker_config = broker_config
        self._replica_mgr = replica_mgr
        self._quota = quota
        self._broker_topic_stats = broker_topic_stats
        self._replica_id = broker_config.broker_id
        self._max_bytes = broker_config.replica_fetch_response_max_bytes
        self._fetch_size = broker_config.replica_fetch_max_bytes

    def _epoch_cache_opt(self, tp: TopicPartition) -> LeaderEpochCache | None:
        future_replica = self._replica_mgr.get_replica(tp, Request.FUTURE_LOCAL_REPLICA_ID)
        return None if future_replica is None else future_replica.epochs

    def _partition_of(self, tp: TopicPartition) -> tuple[Partition, Replica]:
        """The partition and its future replica; KafkaStorageException or ReplicaNotAvailableException without one."""
        future_replica = self._replica_mgr.get_replica_or_exception(tp, Request.FUTURE_LOCAL_REPLICA_ID)
        partition = self._replica_mgr.get_partition(tp)
        assert partition is not None, "a replica has a partition"
        return partition, future_replica

    # ---- what was read

    def fetch(self, fetch_request: FetchRequest) -> Sequence[tuple[TopicPartition, PartitionData]]:
        """Read from the current replica, up to its log end; never waits."""
        request = fetch_request.underlying.build()
        answers: list[list[tuple[TopicPartition, FetchPartitionData]]] = []
        self._replica_mgr.fetch_messages(
            FetchParams(
                request.version(),
                Request.FUTURE_LOCAL_REPLICA_ID,
                0,  # so that the callback runs at once
                request.min_bytes(),
                request.max_bytes(),
                request.isolation_level(),
            ),
            list(request.fetch_data().items()),
            QuotaFactory.UnboundedQuota,
            answers.append,
        )
        if not answers:
            raise IllegalStateException(
                f"Failed to fetch data for partitions {','.join(map(str, request.fetch_data()))}"
            )
        return [(tp, PartitionData(data)) for tp, data in answers[0]]

    def process_partition_data(
        self, topic_partition: TopicPartition, fetch_offset: int, partition_data: PartitionData
    ) -> None:
        """Append at the end of the future log, and have it swapped in if it has caught up."""
        partition, future_replica = self._partition_of(topic_partition)
        records = partition_data.to_records
        log_end_offset = future_replica.log_end_offset.message_offset
        if fetch_offset != log_end_offset:
            raise IllegalStateException(
                f"Offset mismatch for the future replica {topic_partition}: fetched offset = {fetch_offset}, "
                f"log end offset = {log_end_offset}."
            )
        size = records.size_in_bytes()
        if size > 0:
            partition.append_records_to_follower_or_future_replica(records, is_future=True)
        end_offset = future_replica.log_end_offset.message_offset
        future_replica.high_watermark = LogOffsetMetadata(min(end_offset, partition_data.high_watermark))
        log_start_offset = future_replica.log_start_offset
        future_replica.maybe_increment_log_start_offset(partition_data.log_start_offset)
        is_replaced = partition.maybe_replace_current_with_future_replica()
        if is_replaced:
            self.remove_partitions([topic_partition])
        if is_replaced or partition_data.log_start_offset > log_start_offset:
            key = TopicPartitionOperationKey(topic_partition.topic, topic_partition.partition)
            self._replica_mgr.try_complete_delayed_delete_records(key)
        self._quota.record(size)

    def fetch_offsets_from_leader(self, topic_partition: TopicPartition) -> LeaderOffsets:
        """Where the current replica begins and ends."""
        current_replica = self._replica_mgr.get_replica_or_exception(topic_partition)
        return LeaderOffsets(current_replica.log_start_offset, current_replica.log_end_offset.message_offset)

    def truncate_to_offsets_of_leader(self, topic_partition: TopicPartition, leader: LeaderOffsets) -> int:
        """Where to go on when the current replica does not have our offset: it was truncated, or begins later now."""
        partition, future_replica = self._partition_of(topic_partition)
        log_end_offset = future_replica.log_end_offset.message_offset
        if leader.end_offset < log_end_offset:
            self.warn(
                "Future replica for partition %s reset its fetch offset from %d to current replica's latest offset %d",
                topic_partition,
                log_end_offset,
                leader.end_offset,
            )
            partition.truncate_to(leader.end_offset, is_future=True)
            return leader.end_offset
        self.warn(
            "Future replica for partition %s reset its fetch offset from %d to current replica's start offset %d",
            topic_partition,
            log_end_offset,
            leader.start_offset,
        )
        if leader.start_offset > log_end_offset:
            partition.truncate_fully_and_start_at(leader.start_offset, is_future=True)
        return max(leader.start_offset, log_end_offset)

    def handle_partitions_with_errors(self, partitions: Iterable[TopicPartition]) -> None:
        """Leave them out for replica.fetch.backoff.ms."""
        partitions = list(partitions)
        if partitions:
            self.delay_partitions(partitions, self._broker_config.replica_fetch_backoff_ms)

    # ---- truncation by leader epoch

    def build_leader_epoch_request(
        self, all_partitions: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """The future replica's latest epoch of each partition that is to be truncated."""
        result: dict[TopicPartition, int] = {}
        without_epoch: set[TopicPartition] = set()
        for tp, state in all_partitions:
            if state.is_truncating_log:
                cache = self._epoch_cache_opt(tp)
                if cache is None:
                    without_epoch.add(tp)
                else:
                    result[tp] = cache.latest_epoch()
        return ResultWithPartitions(result, without_epoch)

    def fetch_epochs_from_leader(
        self, partitions: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, EpochEndOffset]:
        """Where, by the current replica's epochs, the future one may have to be cut."""
        result: dict[TopicPartition, EpochEndOffset] = {}
        for tp, epoch in partitions.items():
            try:
                result[tp] = self._end_offset_of_largest_common_epoch(tp, epoch)
            except Exception as e:  # noqa: BLE001  the replica may be there again in a moment
                self.warn("Error when getting EpochEndOffset for %s", tp, exc=e)
                result[tp] = EpochEndOffset(Errors.for_exception(e), EpochEndOffset.UNDEFINED_EPOCH_OFFSET)
        return result

    def _end_offset_of_largest_common_epoch(self, tp: TopicPartition, epoch: int) -> EpochEndOffset:
        """Go back in both replicas' epochs until one is found that both have; the smaller of its two ends."""
        epochs = self._replica_mgr.get_replica_or_exception(tp).epochs
        own = self._epoch_cache_opt(tp)
        assert epochs is not None, "a local replica has epochs"
        while True:
            found, end_offset = epochs.epoch_and_end_offset_for(epoch)
            if found == epoch or end_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET or own is None:
                return EpochEndOffset(Errors.NONE, end_offset, found)
            epoch, own_end_offset = own.epoch_and_end_offset_for(found)
            if own_end_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET:
                return EpochEndOffset(Errors.NONE, end_offset, found)
            if epoch == found:
                return EpochEndOffset(Errors.NONE, min(end_offset, own_end_offset), found)

    def truncate(
        self, fetched_epochs: Mapping[TopicPartition, EpochEndOffset]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """Cut each future log where the epochs say, or leave it when it is shorter; the offsets to fetch from.

        Without a known end it is cut at the offset that the move began or is to go on with. This finds what was cut off
        the current log while the future one was offline, too. A log that cannot be cut is marked as failed.
        """
        fetch_offsets: dict[TopicPartition, int] = {}
        partitions_with_error: set[TopicPartition] = set()
        for tp, epoch_offset in fetched_epochs.items():
            if epoch_offset.has_error():
                self.info(
                    "Retrying leaderEpoch request for partition %s as the current replica reported an error: %s",
                    tp,
                    epoch_offset.error(),
                )
                partitions_with_error.add(tp)
                continue
            try:
                partition, future_replica = self._partition_of(tp)
                fetch_offset = epoch_offset.end_offset()
                if fetch_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET:
                    fetch_offset = self.partition_states[tp].fetch_offset
                fetch_offset = min(fetch_offset, future_replica.log_end_offset.message_offset)
                partition.truncate_to(fetch_offset, is_future=True)
                fetch_offsets[tp] = fetch_offset
            except KafkaStorageException as e:
                self.error("Failed to truncate %s to %s", tp, epoch_offset, exc=e)
                self.mark_partition_failed(tp)
            except Exception as e:  # noqa: BLE001  this partition is given up, the others are not to suffer for it
                self.error("Unexpected error occurred during truncation for %s to %s", tp, epoch_offset, exc=e)
                self.mark_partition_failed(tp)
        return ResultWithPartitions(fetch_offsets, partitions_with_error)

    # ---- what to read

    def build_fetch_request(
        self, partition_map: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[FetchRequest]:
        """A read of the last partition, by name, that is ready; of none while the quota is used up.

        One at a time, so that each move is over soon.
        """
        request_map: dict[TopicPartition, JFetchRequest.PartitionData] = {}
        partitions_with_error: set[TopicPartition] = set()
        ready = [] if self._quota.is_quota_exceeded() else [(tp, s) for tp, s in partition_map if s.is_ready_for_fetch]
        if ready:
            tp, state = max(ready, key=lambda item: item[0])
            try:
                future_replica = self._replica_mgr.get_replica_or_exception(tp, Request.FUTURE_LOCAL_REPLICA_ID)
                request_map[tp] = JFetchRequest.PartitionData(
                    state.fetch_offset, future_replica.log_start_offset, self._fetch_size
                )
            except KafkaStorageException:
                # handle_log_dir_failure will soon take it away, and has logged why
                partitions_with_error.add(tp)
            except Exception as e:  # noqa: BLE001  this partition is given up, the others are not to suffer for it
                self.error("Unexpected error occurred while building a fetch request for %s", tp, exc=e)
                self.mark_partition_failed(tp)
        # nothing is waited for: caught up or not, the answer has to come at once
        builder = JFetchRequest.Builder.for_replica(
            ApiKeys.FETCH.latest_version(), self._replica_id, 0, 0, request_map
        ).set_max_bytes(self._max_bytes)
        return ResultWithPartitions(FetchRequest(builder), partitions_with_error)
