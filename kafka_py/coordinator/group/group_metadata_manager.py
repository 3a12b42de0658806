"""Keeps groups and their offsets: in memory for answers, in __consumer_offsets for ever.

A group belongs to one partition of that topic, and to the broker that leads it. What is written there is appended like
any produced record, and counts once enough replicas have it. When leadership moves, the new leader reads the whole
partition; until it has, it says that it is loading.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala @ 1.1.1 (versions of records, static
    members and stable offsets as in 2.5.1)
Read next: group_metadata_records.py (the bytes), loaded_partition.py (what is read), group_coordinator.py (who asks)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.errors import IllegalStateException, UnsupportedForMessageFormatException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.metrics.stats.avg import Avg
from kafka_py.common.metrics.stats.max import Max
from kafka_py.common.metrics.stats.meter import Meter
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.coordinator_partition import partition_for_id
from kafka_py.coordinator.group.group_metadata import (
    CommitRecordMetadataAndOffset,
    CommitRecords,
    CompletingRebalance,
    Dead,
    Empty,
    GroupMetadata,
    GroupState,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.group_metadata_message import group_metadata_value
from kafka_py.coordinator.group.group_metadata_records import (
    group_metadata_key,
    offset_commit_key,
    offset_commit_value,
    plain_batch,
)
from kafka_py.coordinator.group.loaded_partition import LoadedPartition
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import AtomicBoolean, ReentrantLock
from kafka_py.utils.kafka_scheduler import KafkaScheduler
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from kafka_py.api.api_version import ApiVersion
    from kafka_py.common.metric_name import MetricName
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.offset_and_metadata import OffsetAndMetadata
    from kafka_py.common.requests.produce_response import ProduceResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.offset_config import OffsetConfig
    from kafka_py.log.log import Log
    from kafka_py.log.verification_guard import VerificationGuard
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

    AppendStatus = Mapping[TopicPartition, ProduceResponse.PartitionResponse]

_NONE = Errors.NONE
_METRICS_GROUP = "group-coordinator-metrics"
# why something could not be written, as the members of a group are told
_NOT_AVAILABLE = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_FOR_PARTITION: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
}
_TOO_LARGE = (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE)
_GROUP_ERRORS = {
    **_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
}
# those from the verification of a transaction among them, for which clients of any version try again
_COMMIT_ERRORS = {
    **_NOT_AVAILABLE,
    **dict.fromkeys(_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
    Errors.CONCURRENT_TRANSACTIONS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.NOT_COORDINATOR: Errors.COORDINATOR_NOT_AVAILABLE,
}

CommitCallback = Callable[[dict[TopicPartition, Errors]], object]


class PartitionData(NamedTuple):
    """What OffsetFetch answers for a partition: -1 where nothing is committed.

    Mirrors: org.apache.kafka.common.requests.OffsetFetchResponse.PartitionData
    """

    offset: int
    leader_epoch: int | None
    metadata: str
    error: Errors


_NO_OFFSET = PartitionData(-1, None, "", _NONE)
_UNSTABLE = PartitionData(-1, None, "", Errors.UNSTABLE_OFFSET_COMMIT)


class OpenGroups:
    """The groups with commits in a producer's open transaction: a marker names the producer and not the groups.

    Mirrors: openGroupsForProducer of kafka.coordinator.group.GroupMetadataManager
    Thread: any.
    Locks: _lock, inside a group's.
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._groups: dict[int, set[str]] = {}  # guarded by: _lock

    def add(self, producer_id: int, group_id: str) -> None:
        """The group has commits in the producer's transaction."""
        with self._lock:
            self._groups.setdefault(producer_id, set()).add(group_id)

    def remove(self, producer_id: int, group_id: str) -> None:
        """It has none any more."""
        with self._lock:
            groups = self._groups.get(producer_id)
            if groups is not None:
                groups.discard(group_id)
                if not groups:
                    del self._groups[producer_id]

    def remove_from_all(self, group_id: str) -> None:
        """The group has moved to another broker."""
        with self._lock:
            for producer_id in [producer for producer, groups in self._groups.items() if group_id in groups]:
                self.remove(producer_id, group_id)

    def of(self, producer_id: int) -> set[str]:
        """The groups of a producer."""
        with self._lock:
            return set(self._groups.get(producer_id, ()))


class GroupMetadataManager(KafkaMetricsGroup):
    """All groups of this broker, and how they are written, loaded, unloaded and cleaned up.

    Mirrors: kafka.coordinator.group.GroupMetadataManager
    Thread: request handlers; group-metadata-manager-0 loads, unloads, ends transactions and cleans up.
    Locks: _partition_lock -> a group's lock -> the append lock of the partition, under which no callback runs.
    Differs: a group is found by its producer's marker until none of the producer's commits is pending; in 2.5.1 a
        commit that failed takes it away before that is looked at. A partition that is lost and led again while it is
        being read is read again (as from 2.8 on); in 1.1.1 nobody has its groups then, until the next election. What
        was read of one that is lost meanwhile is never served, in Kafka it is until the unload. A key of a later
        version is warned of once per load.
    Left out: the object's readers and writers of records, see docs/left-out.tsv
    """

    def __init__(
        self,
        broker_id: int,
        inter_broker_protocol_version: ApiVersion,
        config: OffsetConfig,
        replica_manager: ReplicaManager,
        zk_client: KafkaZkClient,
        time: Time,
        metrics: Metrics,
    ) -> None:
        self.broker_id = broker_id
        self._inter_broker_protocol_version = inter_broker_protocol_version
        self._config = config
        self._replica_manager = replica_manager
        self._zk_client = zk_client
        self._time = time
        self.log_ident = f"[GroupMetadataManager brokerId={broker_id}] "
        self._compression_type = config.offsets_topic_compression_codec
        self._group_metadata_cache: Pool[str, GroupMetadata] = Pool()  # atomic
        # guards the two sets, before the lock of any group
        self._partition_lock = ReentrantLock()
        # partition -> how many loads are under way or scheduled: one may be led, lost and led again meanwhile
        self._loading_partitions: dict[int, int] = {}  # guarded by: _partition_lock
        self._owned_partitions: set[int] = set()  # guarded by: _partition_lock
        self._shutting_down = AtomicBoolean(False)
        self._group_metadata_topic_partition_count = self._get_group_metadata_topic_partition_count()
        self._scheduler = KafkaScheduler(threads=1, thread_name_prefix="group-metadata-manager-")
        self._open_groups_for_producer = OpenGroups()
        self._new_sensors(metrics)
        self._new_gauges()

    def _new_sensors(self, metrics: Metrics) -> None:
        def name(of: str, description: str) -> MetricName:
            return metrics.metric_name(of, _METRICS_GROUP, description)

        self.partition_load_sensor = metrics.sensor("PartitionLoadTime")
        self.partition_load_sensor.add(
            name("partition-load-time-max", "The max time it took to load the partitions in the last 30sec"), Max()
        )
        self.partition_load_sensor.add(
            name("partition-load-time-avg", "The avg time it took to load the partitions in the last 30sec"), Avg()
        )
        self.offset_commits_sensor = metrics.sensor("OffsetCommits")
        self.offset_commits_sensor.add(
            Meter(
                name("offset-commit-rate", "The rate of committed offsets"),
                name("offset-commit-count", "The total number of committed offsets"),
            )
        )
        self.offset_expired_sensor = metrics.sensor("OffsetExpired")
        self.offset_expired_sensor.add(
            Meter(
                name("offset-expiration-rate", "The rate of expired offsets"),
                name("offset-expiration-count", "The total number of expired offsets"),
            )
        )

    def _new_gauges(self) -> None:
        def groups_in(state: GroupState) -> Callable[[], int]:
            return lambda: sum(group.is_(state) for group in self.current_groups)

        gauges: dict[str, Callable[[], int]] = {
            "NumOffsets": lambda: sum(group.num_offsets for group in self.current_groups),
            "NumGroups": lambda: len(self.current_groups),
        }
        for state in (PreparingRebalance, CompletingRebalance, Stable, Dead, Empty):
            gauges[f"NumGroups{state}"] = groups_in(state)
        for name, value in gauges.items():
            self.remove_metric(name)
            self.new_gauge(name, value)

    def startup(self, enable_metadata_expiration: bool) -> None:
        """Start the thread, which looks for what has expired from time to time."""
        self._scheduler.startup()
        if enable_metadata_expiration:
            self._scheduler.schedule(
                "delete-expired-group-metadata",
                self.cleanup_expired_group_metadata,
                0,
                self._config.offsets_retention_check_interval_ms,
            )

    def shutdown(self) -> None:
        """Stop loading, and end the thread."""
        self._shutting_down.set(True)
        if self._scheduler.is_started:
            self._scheduler.shutdown()

    # ---- which groups are here

    @property
    def current_groups(self) -> list[GroupMetadata]:
        """All groups here."""
        return list(self._group_metadata_cache.values)

    def is_partition_owned(self, partition: int) -> bool:
        """Whether the partition's groups are here, all loaded."""
        with self._partition_lock:
            return partition in self._owned_partitions

    def is_partition_loading(self, partition: int) -> bool:
        """Whether the partition's groups are being read."""
        with self._partition_lock:
            return partition in self._loading_partitions

    def partition_for(self, group_id: str) -> int:
        """The partition of __consumer_offsets that a group belongs to, by Java's hash of its name."""
        return partition_for_id(group_id, self._group_metadata_topic_partition_count)

    def is_group_local(self, group_id: str) -> bool:
        """Whether this broker coordinates the group."""
        return self.is_partition_owned(self.partition_for(group_id))

    def is_group_loading(self, group_id: str) -> bool:
        """Whether this broker is about to coordinate the group."""
        return self.is_partition_loading(self.partition_for(group_id))

    @property
    def is_loading(self) -> bool:
        """Whether any partition is being read."""
        with self._partition_lock:
            return bool(self._loading_partitions)

    def group_not_exists(self, group_id: str) -> bool:
        """Whether this broker would have the group and has not."""
        with self._partition_lock:
            if not self.is_group_local(group_id):
                return False
            group = self.get_group(group_id)
            return group is None or group.in_lock(lambda: group.is_(Dead))

    def is_group_open_for_producer(self, producer_id: int, group_id: str) -> bool:
        """Whether the group has commits in the producer's open transaction."""
        return group_id in self._open_groups_for_producer.of(producer_id)

    def get_group(self, group_id: str) -> GroupMetadata | None:
        """The group, if it is known."""
        return self._group_metadata_cache.get(group_id)

    def add_group(self, group: GroupMetadata) -> GroupMetadata:
        """The group, or the one of its name that is there already."""
        return self._group_metadata_cache.put_if_not_exists(group.group_id, group) or group

    # ---- writing

    def store_group(
        self, group: GroupMetadata, group_assignment: Mapping[str, bytes], response_callback: Callable[[Errors], object]
    ) -> None:
        """Write down the group's generation; the callback gets NONE once enough replicas have it, or the reason."""
        partition = self._partition_of(group)
        magic = self._replica_manager.get_magic(partition)
        if magic is None:
            response_callback(Errors.NOT_COORDINATOR)
            return
        record = SimpleRecord(
            self._time.milliseconds(),
            group_metadata_key(group.group_id),
            group_metadata_value(group, group_assignment, self._inter_broker_protocol_version),
        )
        generation_id = group.generation_id

        def put_cache_callback(response_status: AppendStatus) -> None:
            error = self._status_of(response_status, partition).error
            if error is _NONE:
                response_callback(_NONE)
                return
            self.debug(
                "Metadata from group %s with generation %d failed when appending to log due to %s",
                group.group_id,
                generation_id,
                error.exception_name(),
            )
            if error in _TOO_LARGE or error not in _GROUP_ERRORS:
                self.error(
                    "Appending metadata message for group %s generation %d failed due to %s%s",
                    group.group_id,
                    generation_id,
                    "" if error in _TOO_LARGE else "unexpected error: ",
                    error.exception_name(),
                )
            response_callback(_GROUP_ERRORS.get(error, error))

        self._append_for_group(group, partition, self._batch(magic, record), put_cache_callback)

    def _partition_of(self, group: GroupMetadata) -> TopicPartition:
        return TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, self.partition_for(group.group_id))

    def _batch(self, magic: int, *records: SimpleRecord) -> MemoryRecords:
        return MemoryRecords.with_records(*records, magic=magic, compression_type=self._compression_type)

    @staticmethod
    def _status_of(response_status: AppendStatus, partition: TopicPartition) -> ProduceResponse.PartitionResponse:
        if response_status.keys() != {partition}:
            raise IllegalStateException(f"Append status {response_status} should only have one partition {partition}")
        return response_status[partition]

    def _append_for_group(
        self,
        group: GroupMetadata,
        partition: TopicPartition,
        records: MemoryRecords,
        callback: Callable[[AppendStatus], None],
        verification_guard: VerificationGuard | None = None,
    ) -> None:
        """Append as a produced record; the callback may run here, or where the last replica's Fetch is handled."""
        self._replica_manager.append_records(
            timeout=self._config.offset_commit_timeout_ms,
            required_acks=self._config.offset_commit_required_acks,
            internal_topics_allowed=True,
            is_from_client=False,
            entries_per_partition={partition: records},
            response_callback=callback,
            delayed_produce_lock=group.lock,
            verification_guards=None if verification_guard is None else {partition: verification_guard},
        )

    def verify_transaction(
        self,
        group: GroupMetadata,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        callback: Callable[[Errors, VerificationGuard | None], None],
    ) -> None:
        """Have verified that the group's partition belongs to the transaction, if that is configured.

        `callback` gets why not, as clients are told of it, or NONE and the guard for `store_offsets`.
        """
        self._replica_manager.maybe_start_transaction_verification_for_partition(
            self._partition_of(group),
            transactional_id,
            producer_id,
            producer_epoch,
            RecordBatch.NO_SEQUENCE,
            lambda error, guard: callback(self.maybe_convert_offset_commit_error(error), guard),
        )

    @staticmethod
    def maybe_convert_offset_commit_error(error: Errors) -> Errors:
        """Why a commit could not be written, as clients of any version are told of it [3.7.1]."""
        return _COMMIT_ERRORS.get(error, error)

    def store_offsets(
        self,
        group: GroupMetadata,
        consumer_id: str,
        offset_metadata: Mapping[TopicPartition, OffsetAndMetadata],
        response_callback: CommitCallback,
        producer_id: int = RecordBatch.NO_PRODUCER_ID,
        producer_epoch: int = RecordBatch.NO_PRODUCER_EPOCH,
        verification_guard: VerificationGuard | None = None,
    ) -> None:
        """Write down a commit; it counts once enough replicas have it, one of a transaction once that is committed.

        With a `verification_guard` the coordinator of the transaction has been asked, see TransactionVerification.
        The callback gets an error for each partition: OFFSET_METADATA_TOO_LARGE where the text is longer than
        offset.metadata.max.bytes, else what became of the append. UnsupportedForMessageFormatException for a
        transaction if the topic's format is older than 2.
        """
        filtered = {tp: o for tp, o in offset_metadata.items() if self._validate_offset_metadata_length(o.metadata)}
        with group.lock:
            if not group.has_received_consistent_offset_commits:
                self.warn(
                    "group: %s with leader: %s has received offset commits from consumers as well as transactional "
                    "producers. Mixing both types of offset commits will generally result in surprises and should be "
                    "avoided.",
                    group.group_id,
                    group.leader_or_null,
                )
        if not filtered:
            response_callback(dict.fromkeys(offset_metadata, Errors.OFFSET_METADATA_TOO_LARGE))
            return
        partition = self._partition_of(group)
        magic = self._replica_manager.get_magic(partition)
        if magic is None:
            response_callback(dict.fromkeys(offset_metadata, Errors.NOT_COORDINATOR))
            return
        is_txn_offset_commit = producer_id != RecordBatch.NO_PRODUCER_ID
        if is_txn_offset_commit and magic < RecordBatch.MAGIC_VALUE_V2:
            raise UnsupportedForMessageFormatException(
                f"Attempting to make a transaction offset commit with an invalid magic: {magic}"
            )
        records = self._offset_records(group, filtered, magic, producer_id, producer_epoch)

        def put_cache_callback(response_status: AppendStatus) -> None:
            status = self._status_of(response_status, partition)
            error = self._settle_commit(group, consumer_id, filtered, status, producer_id)
            too_large = Errors.OFFSET_METADATA_TOO_LARGE
            response_callback({tp: error if tp in filtered else too_large for tp in offset_metadata})

        with group.lock:
            if is_txn_offset_commit:
                self._open_groups_for_producer.add(producer_id, group.group_id)
                group.prepare_txn_offset_commit(producer_id, filtered)
            else:
                group.prepare_offset_commit(filtered)
        self._append_for_group(group, partition, records, put_cache_callback, verification_guard)

    def _offset_records(
        self,
        group: GroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        magic: int,
        producer_id: int,
        producer_epoch: int,
    ) -> MemoryRecords:
        timestamp = self._time.milliseconds()
        version = self._inter_broker_protocol_version
        is_transactional = producer_id != RecordBatch.NO_PRODUCER_ID
        pairs = [
            (offset_commit_key(group.group_id, tp), offset_commit_value(committed, version))
            for tp, committed in offsets.items()
        ]
        if magic >= RecordBatch.MAGIC_VALUE_V2 and self._compression_type is CompressionType.NONE:
            return plain_batch(pairs, timestamp, producer_id, producer_epoch, is_transactional)
        return MemoryRecords.with_records(
            *(SimpleRecord(timestamp, key, value) for key, value in pairs),
            magic=magic,
            compression_type=self._compression_type,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,  # also without a producer, as Kafka's
            is_transactional=is_transactional,
        )

    def _settle_commit(
        self,
        group: GroupMetadata,
        consumer_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        status: ProduceResponse.PartitionResponse,
        producer_id: int,
    ) -> Errors:
        """Take over what was appended, or forget what was not; the error as clients are told of it."""
        is_txn = producer_id != RecordBatch.NO_PRODUCER_ID
        error = status.error
        with group.lock:
            if not group.is_(Dead):
                for topic_partition, offset_and_metadata in offsets.items():
                    committed = CommitRecordMetadataAndOffset(status.base_offset, offset_and_metadata)
                    if error is not _NONE and is_txn:
                        group.fail_pending_txn_offset_commit(producer_id, topic_partition)
                    elif error is not _NONE:
                        group.fail_pending_offset_write(topic_partition, offset_and_metadata)
                    elif is_txn:
                        group.on_txn_offset_commit_append(producer_id, topic_partition, committed)
                    else:
                        group.on_offset_commit_append(topic_partition, committed)
                if error is _NONE:
                    self.offset_commits_sensor.record(len(offsets))
                if is_txn and not group.has_pending_offset_commits_from_producer(producer_id):
                    self._open_groups_for_producer.remove(producer_id, group.group_id)
            if error is _NONE:
                return _NONE
            self.debug(
                "Offset commit %s from group %s, consumer %s with generation %d failed when appending to log due to %s",
                offsets,
                group.group_id,
                consumer_id,
                group.generation_id,
                error.exception_name(),
            )
            return self.maybe_convert_offset_commit_error(error)

    def _validate_offset_metadata_length(self, metadata: str | None) -> bool:
        """As long as Java says it is: in units of UTF-16."""
        longest = self._config.max_metadata_size
        if metadata is None or len(metadata) * 2 <= longest:
            return True
        return len(metadata.encode("utf-16-le", "surrogatepass")) <= longest * 2

    # ---- looking up

    def get_offsets(
        self, group_id: str, require_stable: bool, topic_partitions_opt: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, PartitionData]:
        """What the group has committed for these partitions, None: for all; never less than was acknowledged.

        `require_stable`: UNSTABLE_OFFSET_COMMIT where a commit is under way or waits for its transaction.
        """
        self.trace(
            "Getting offsets of %s for group %s.",
            "all partitions" if topic_partitions_opt is None else topic_partitions_opt,
            group_id,
        )
        group = self.get_group(group_id)
        if group is None:
            return dict.fromkeys(topic_partitions_opt or (), _NO_OFFSET)
        with group.lock:
            if group.is_(Dead):
                return dict.fromkeys(topic_partitions_opt or (), _NO_OFFSET)
            wanted = group.all_offsets if topic_partitions_opt is None else topic_partitions_opt
            return {tp: self._partition_data(group, tp, require_stable) for tp in wanted}

    @staticmethod
    def _partition_data(group: GroupMetadata, topic_partition: TopicPartition, require_stable: bool) -> PartitionData:
        if require_stable and group.has_pending_offset_commits_for_topic_partition(topic_partition):
            return _UNSTABLE
        committed = group.offset(topic_partition)
        if committed is None:
            return _NO_OFFSET
        return PartitionData(committed.offset, committed.leader_epoch, committed.metadata, _NONE)

    # ---- loading and unloading

    def schedule_load_group_and_offsets(
        self, offsets_partition: int, on_group_loaded: Callable[[GroupMetadata], object]
    ) -> None:
        """Read the partition, on the manager's own thread."""
        topic_partition = TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, offsets_partition)
        self.add_loading_partition(offsets_partition)
        self.info("Scheduling loading of offsets and group metadata from %s", topic_partition)
        self._scheduler.schedule(
            str(topic_partition), lambda: self.load_groups_and_offsets(topic_partition, on_group_loaded)
        )

    def add_loading_partition(self, partition: int) -> None:
        """The partition is to be read, perhaps once more: between two loads there may be an unload."""
        with self._partition_lock:
            self._loading_partitions[partition] = self._loading_partitions.get(partition, 0) + 1

    def add_partition_ownership(self, partition: int) -> None:
        """The partition's groups are here."""
        with self._partition_lock:
            self._owned_partitions.add(partition)

    def load_groups_and_offsets(
        self, topic_partition: TopicPartition, on_group_loaded: Callable[[GroupMetadata], object]
    ) -> None:
        """Read the partition; from then on its groups are served, also if that failed: the log says why.

        They are not if this broker has ceased to lead it meanwhile: nobody must be told of half of the offsets.
        """
        is_ours = True
        try:
            start_ms = self._time.milliseconds()
            is_ours = self._do_load_groups_and_offsets(topic_partition, on_group_loaded)
            if not is_ours:
                self.info(
                    "Stopped loading offsets and group metadata from %s, which is not ours any more", topic_partition
                )
                return
            end_ms = self._time.milliseconds()
            self.partition_load_sensor.record(end_ms - start_ms, end_ms, False)
            self.info(
                "Finished loading offsets and group metadata from %s in %d milliseconds.",
                topic_partition,
                end_ms - start_ms,
            )
        except Exception as t:  # noqa: BLE001 -- a damaged record must not keep all groups from being served
            self.error("Error loading offsets from %s", topic_partition, exc=t)
        finally:
            with self._partition_lock:
                partition = topic_partition.partition
                if is_ours:
                    self._owned_partitions.add(partition)
                left = self._loading_partitions.pop(partition, 1) - 1
                if left:
                    self._loading_partitions[partition] = left

    def _do_load_groups_and_offsets(
        self, topic_partition: TopicPartition, on_group_loaded: Callable[[GroupMetadata], object]
    ) -> bool:
        """Whether the partition was read to its end."""
        log = self._replica_manager.get_log(topic_partition)
        if log is None:
            self.warn("Attempted to load offsets and group metadata from %s, but found no log", topic_partition)
            return self._is_led(topic_partition)
        loaded = LoadedPartition(self._time)
        for batch in self._batches_of(log, topic_partition):
            loaded.add(batch)
        if self._shutting_down.get() or not self._is_led(topic_partition):
            return False
        for version in sorted(loaded.unknown_versions):
            self.warn(
                "Unknown message key with version %d while loading offsets and group metadata from %s. Ignoring it. "
                "It could be a left over from an aborted upgrade.",
                version,
                topic_partition,
            )
        self._take_over(loaded, topic_partition, on_group_loaded)
        return True

    def _is_led(self, topic_partition: TopicPartition) -> bool:
        return self._replica_manager.get_log_end_offset(topic_partition) is not None

    def _take_over(
        self,
        loaded: LoadedPartition,
        topic_partition: TopicPartition,
        on_group_loaded: Callable[[GroupMetadata], object],
    ) -> None:
        offsets, pending = loaded.offsets_by_group(), loaded.pending_by_group()
        for group_id, of_producers in pending.items():
            for producer_id in of_producers:
                self._open_groups_for_producer.add(producer_id, group_id)
        # those that only commit have no record of their own
        groups = dict(loaded.groups)
        for group_id in [*offsets, *pending]:
            if group_id not in groups:
                groups[group_id] = GroupMetadata(group_id, Empty, self._time)
        for group_id, group in groups.items():
            self._load_group(group, offsets.get(group_id, {}), pending.get(group_id, {}))
            on_group_loaded(group)
        for group_id in loaded.removed_groups:
            # it may have been removed, and be used for its offsets alone since
            if self.get_group(group_id) is not None and group_id not in groups:
                raise IllegalStateException(
                    f"Unexpected unload of active group {group_id} while loading partition {topic_partition}"
                )

    def _batches_of(self, log: Log, topic_partition: TopicPartition) -> Iterator[RecordBatch]:
        """All batches up to the log's end; it stops where this broker ceases to lead, or shuts down."""
        buffer = bytearray()
        offset = log.log_start_offset
        while not self._shutting_down.get():
            end = self._replica_manager.get_log_end_offset(topic_partition)
            if end is None or offset >= end:
                return
            records = log.read(offset, self._config.load_buffer_size, None, min_one_message=True).records
            size = records.size_in_bytes()
            if size == 0:
                return
            if isinstance(records, FileRecords):
                buffer = self._buffer_for(buffer, size, topic_partition)
                records = self._read_into(records, buffer)
            for batch in records.batches():
                yield batch
                offset = batch.next_offset()

    def _buffer_for(self, buffer: bytearray, size: int, topic_partition: TopicPartition) -> bytearray:
        """The buffer, or a larger one: a batch must be read as a whole."""
        if len(buffer) >= size:
            return buffer
        if size > self._config.load_buffer_size:
            self.warn(
                "Loaded offsets and group metadata from %s with buffer larger (%d bytes) than configured "
                "offsets.load.buffer.size (%d bytes)",
                topic_partition,
                size,
                self._config.load_buffer_size,
            )
        return bytearray(size)

    @staticmethod
    def _read_into(records: FileRecords, buffer: bytearray) -> MemoryRecords:
        view = records.read_into(memoryview(buffer)[: records.size_in_bytes()], 0)
        return MemoryRecords.readable_records(view)

    def _load_group(
        self,
        group: GroupMetadata,
        offsets: CommitRecords,
        pending_transactional_offsets: Mapping[int, CommitRecords],
    ) -> None:
        """Nobody sees the group before it has its offsets."""
        self.trace("Initialized offsets %s for group %s", offsets, group.group_id)
        group.initialize_offsets(offsets, pending_transactional_offsets)
        current_group = self.add_group(group)
        if current_group is not group:
            self.debug(
                "Attempt to load group %s from log with generation %d failed because there is already a cached group "
                "with generation %d",
                group.group_id,
                group.generation_id,
                current_group.generation_id,
            )

    def remove_groups_for_partition(
        self, offsets_partition: int, on_group_unloaded: Callable[[GroupMetadata], object]
    ) -> None:
        """This broker does not lead the partition any more: forget its groups, on the manager's own thread."""
        topic_partition = TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, offsets_partition)
        self.info("Scheduling unloading of offsets and group metadata from %s", topic_partition)
        self._scheduler.schedule(
            str(topic_partition), lambda: self.remove_groups_and_offsets(topic_partition, on_group_unloaded)
        )

    def remove_groups_and_offsets(
        self, topic_partition: TopicPartition, on_group_unloaded: Callable[[GroupMetadata], object]
    ) -> None:
        """Forget the partition's groups."""
        offsets_removed = groups_removed = 0
        # Under this lock nobody finds a group of a partition that is not owned any more.
        with self._partition_lock:
            self._owned_partitions.discard(topic_partition.partition)
            for group in self.current_groups:
                if self.partition_for(group.group_id) == topic_partition.partition:
                    on_group_unloaded(group)
                    self._group_metadata_cache.remove(group.group_id, group)
                    self._open_groups_for_producer.remove_from_all(group.group_id)
                    groups_removed += 1
                    offsets_removed += group.num_offsets
        self.info(
            "Finished unloading %s. Removed %d cached offsets and %d cached groups.",
            topic_partition,
            offsets_removed,
            groups_removed,
        )

    # ---- cleaning up

    def cleanup_expired_group_metadata(self) -> None:
        """Forget what has expired."""
        current_timestamp = self._time.milliseconds()
        removed = self.cleanup_group_metadata(
            self.current_groups,
            lambda group: group.remove_expired_offsets(current_timestamp, self._config.offsets_retention_ms),
        )
        self.offset_expired_sensor.record(removed)
        if removed:
            took_ms = self._time.milliseconds() - current_timestamp
            self.info("Removed %d expired offsets in %d milliseconds.", removed, took_ms)

    def cleanup_group_metadata(
        self,
        groups: Iterable[GroupMetadata],
        selector: Callable[[GroupMetadata], Mapping[TopicPartition, OffsetAndMetadata]],
    ) -> int:
        """Remove the offsets that the selector (called under the group's lock) has taken out, and groups left empty.

        How many offsets. Their tombstones need not be replicated: who leads next finds the same and writes them again.
        """
        offsets_removed = 0
        for group in groups:
            with group.lock:
                removed_offsets = selector(group)
                if group.is_(Empty) and not group.has_offsets:
                    self.info("Group %s transitioned to Dead in generation %d", group.group_id, group.generation_id)
                    group.transition_to(Dead)
                group_is_dead, generation = group.is_(Dead), group.generation_id
            if self._write_tombstones(group, removed_offsets, group_is_dead, generation):
                offsets_removed += len(removed_offsets)
        return offsets_removed

    def _write_tombstones(
        self,
        group: GroupMetadata,
        removed_offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_is_dead: bool,
        generation: int,
    ) -> bool:
        """Whether tombstones were appended; groups that only commit have no record that one could delete."""
        group_id = group.group_id
        append_partition = self._partition_of(group)
        magic = self._replica_manager.get_magic(append_partition)
        if magic is None:
            self.info(
                "BrokerId %d is no longer a coordinator for the group %s. Proceeding cleanup for other alive groups",
                self.broker_id,
                group_id,
            )
            return False
        partition = self._replica_manager.non_offline_partition(append_partition)
        if partition is None:
            return False
        timestamp = self._time.milliseconds()
        tombstones = [SimpleRecord(timestamp, offset_commit_key(group_id, tp), None) for tp in removed_offsets]
        if group_is_dead and self._group_metadata_cache.remove(group_id, group) and generation > 0:
            tombstones.append(SimpleRecord(timestamp, group_metadata_key(group_id), None))
            self.trace(
                "Group %s removed from the metadata cache and marked for deletion in %s.", group_id, append_partition
            )
        if not tombstones:
            return False
        try:
            partition.append_records_to_leader(self._batch(magic, *tombstones), False, 0)
        except Exception as t:  # noqa: BLE001 -- the next round tries again
            self.error(
                "Failed to append %d tombstones to %s for expired/deleted offsets and/or metadata for group %s.",
                len(tombstones),
                append_partition,
                group_id,
                exc=t,
            )
            return False
        self.trace(
            "Successfully appended %d tombstones to %s for expired/deleted offsets and/or metadata for group %s",
            len(tombstones),
            append_partition,
            group_id,
        )
        return True

    # ---- transactions

    def schedule_handle_txn_completion(
        self, producer_id: int, completed_partitions: Collection[int], is_commit: bool
    ) -> None:
        """A marker is in these partitions: let the producer's commits count, or drop them.

        On the manager's own thread, for the caller may hold the lock of another group.
        """
        self._scheduler.schedule(
            f"handleTxnCompletion-{producer_id}",
            lambda: self.handle_txn_completion(producer_id, completed_partitions, is_commit),
        )

    def handle_txn_completion(self, producer_id: int, completed_partitions: Collection[int], is_commit: bool) -> None:
        """The same, here and now."""
        for group_id in self._groups_belonging_to_partitions(producer_id, completed_partitions):
            group = self.get_group(group_id)
            if group is None:
                self.info(
                    "Group %s has moved away from %d after transaction marker was written but before the cache was "
                    "updated. The cache on the new group owner will be updated instead.",
                    group_id,
                    self.broker_id,
                )
                continue
            with group.lock:
                if not group.is_(Dead):
                    group.complete_pending_txn_offset_commit(producer_id, is_commit)
                    self._open_groups_for_producer.remove(producer_id, group_id)

    def _groups_belonging_to_partitions(self, producer_id: int, partitions: Collection[int]) -> set[str]:
        return {g for g in self._open_groups_for_producer.of(producer_id) if self.partition_for(g) in partitions}

    def _get_group_metadata_topic_partition_count(self) -> int:
        """How many partitions the topic has, or will have."""
        count = self._zk_client.get_topic_partition_count(Topic.GROUP_METADATA_TOPIC_NAME)
        return self._config.offsets_topic_num_partitions if count is None else count
