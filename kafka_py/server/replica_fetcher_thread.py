"""How a follower copies its leader's log.

Mirrors: core/src/main/scala/kafka/server/ReplicaFetcherThread.scala @ 1.1.1
Posts:   why-fast-and-available, reading-writing-configuring (followers pull; the high watermark rides on the answers)
Read next: server/abstract_fetcher_thread.py (the loop), cluster/partition.py (truncate_to, append as follower)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kafka_py.api.api_version import (
    KAFKA_0_9_0,
    KAFKA_0_10_0_IV0,
    KAFKA_0_10_1_IV1,
    KAFKA_0_10_1_IV2,
    KAFKA_0_11_0_IV0,
    KAFKA_0_11_0_IV1,
    KAFKA_0_11_0_IV2,
    KAFKA_1_1_IV0,
    KAFKA_2_0_IV0,
    KAFKA_2_0_IV1,
    KAFKA_2_1_IV1,
    KAFKA_2_1_IV2,
    KAFKA_2_2_IV1,
    KAFKA_2_3_IV1,
)
from kafka_py.clients.fetch_session_handler import FetchSessionHandler
from kafka_py.common.errors import IllegalStateException, KafkaException, KafkaStorageException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest as JFetchRequest
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.server.abstract_fetcher_thread import (
    AbstractFetcherThread,
    LeaderOffsets,
    PartitionFetchState,
    ResultWithPartitions,
)
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from kafka_py.server.replica_fetcher_blocking_send import ReplicaFetcherBlockingSend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka_py.api.api_version import ApiVersion
    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.cluster.partition import Partition
    from kafka_py.cluster.replica import Replica
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.requests.fetch_response import FetchResponse
    from kafka_py.common.requests.list_offset_response import ListOffsetResponse
    from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.server.abstract_fetcher_manager import FailedPartitions
    from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry
    from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochCache, LeaderEpochFileCache
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.replica_fetcher_blocking_send import BlockingSend
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicaQuota, ReplicationQuotaManager


# from which inter-broker protocol on the followers use which version of Fetch, as in 2.5.1
_FETCH_VERSIONS = (
    (KAFKA_2_3_IV1, 11),
    (KAFKA_2_1_IV2, 10),
    (KAFKA_2_0_IV1, 8),
    (KAFKA_1_1_IV0, 7),
    (KAFKA_0_11_0_IV1, 5),
    (KAFKA_0_11_0_IV0, 4),
    (KAFKA_0_10_1_IV1, 3),
    (KAFKA_0_10_0_IV0, 2),
    (KAFKA_0_9_0, 1),
)
_OFFSET_FOR_LEADER_EPOCH_VERSIONS = ((KAFKA_2_3_IV1, 3), (KAFKA_2_1_IV1, 2), (KAFKA_2_0_IV0, 1))
# Up to 1.1-IV0 as in 1.1.1; later Kafka uses version 2 from 0.11.0-IV0 on.
_LIST_OFFSETS_VERSIONS = ((KAFKA_2_2_IV1, 5), (KAFKA_2_1_IV1, 4), (KAFKA_2_0_IV1, 3), (KAFKA_0_10_1_IV2, 1))


class FetchRequest:
    """A Fetch to the leader, and all partitions it stands for, named in it or not.

    Mirrors: kafka.server.ReplicaFetcherThread.FetchRequest
    Left out: toString -- `__str__`
    """

    def __init__(
        self, session_parts: Mapping[TopicPartition, JFetchRequest.PartitionData], underlying: JFetchRequest.Builder
    ) -> None:
        self.session_parts = session_parts
        self.underlying = underlying

    def offset(self, topic_partition: TopicPartition) -> int:
        """The fetch offset of a partition."""
        return self.session_parts[topic_partition].fetch_offset

    def current_leader_epoch(self, topic_partition: TopicPartition) -> int:
        """The leader epoch in which a partition is asked for, -1 if any will do."""
        return self.session_parts[topic_partition].current_leader_epoch

    @property
    def is_empty(self) -> bool:
        """True when there is nothing to fetch and nothing to forget."""
        return not self.session_parts and not self.underlying.to_forget()

    def __str__(self) -> str:
        return str(self.underlying)


class PartitionData:
    """One partition of the leader's answer.

    Mirrors: kafka.server.ReplicaFetcherThread.PartitionData
    Left out: toString -- `__str__`
    """

    def __init__(self, underlying: FetchResponse.PartitionData) -> None:
        self.underlying = underlying
        records = underlying.records
        self._records = (
            records
            if isinstance(records, MemoryRecords)
            else MemoryRecords.EMPTY
            if records is None
            else MemoryRecords.readable_records(records)
        )

    @property
    def error(self) -> Errors:
        """The partition's error."""
        return self.underlying.error

    @property
    def to_records(self) -> MemoryRecords:
        """The records, where they arrived."""
        return self._records

    @property
    def high_watermark(self) -> int:
        """The leader's, before this Fetch."""
        return self.underlying.high_watermark

    @property
    def log_start_offset(self) -> int:
        """The leader's."""
        return self.underlying.log_start_offset

    @property
    def exception(self) -> BaseException | None:
        """The error as an exception."""
        return None if self.error is Errors.NONE else self.error.exception()

    def __str__(self) -> str:
        return str(self.underlying)


class ReplicaFetcherThread(AbstractFetcherThread[FetchRequest, PartitionData]):
    """Fetches from one leader and appends with the leader's offsets and epochs, byte for byte.

    Mirrors: kafka.server.ReplicaFetcherThread
    Thread: ReplicaFetcherThread-{fetcher}-{leader}
    Differs: `truncate` is Kafka's maybeTruncate with an argument. A follower that has records of an epoch its leader
        lacks finds out by asking for its earlier epochs, too; in 1.1.1 both may keep different records under one
        offset after two changes of leader in a row (KAFKA-6361, mended in 2.0 by a new version of the request, which is
        what is sent from inter.broker.protocol.version 2.0 on: KIP-279). From 2.1 on requests bear the epoch in which
        this replica follows (KIP-320). When
        the leader's log ends before ours it is followed in that, whatever unclean.leader.election.enable says; 1.1.1
        ends the process (KAFKA-7414, in 2.0.1).
    """

    def __init__(
        self,
        name: str,
        fetcher_id: int,
        source_broker: BrokerEndPoint,
        broker_config: KafkaConfig,
        failed_partitions: FailedPartitions,
        replica_mgr: ReplicaManager,
        metrics: Metrics,
        time: Time,
        quota: ReplicationQuotaManager,
        leader_endpoint_blocking_send: BlockingSend | None = None,
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
        self._replica_id = broker_config.broker_id
        ids = f"replicaId={self._replica_id}, leaderId={source_broker.id}, fetcherId={fetcher_id}"
        self.log_ident = f"[ReplicaFetcher {ids}] "
        self._leader_endpoint: BlockingSend = leader_endpoint_blocking_send or ReplicaFetcherBlockingSend(
            source_broker,
            broker_config,
            metrics,
            time,
            fetcher_id,
            f"broker-{self._replica_id}-fetcher-{fetcher_id}",
            self.log_ident,
        )  # thread: fetcher
        protocol = broker_config.inter_broker_protocol_version
        self._fetch_request_version = _version_for(protocol, _FETCH_VERSIONS)
        self._offset_for_leader_epoch_request_version = _version_for(protocol, _OFFSET_FOR_LEADER_EPOCH_VERSIONS)
        self._list_offset_request_version = _version_for(protocol, _LIST_OFFSETS_VERSIONS)
        self._fetch_metadata_supported = protocol >= KAFKA_1_1_IV0
        self._max_wait = broker_config.replica_fetch_wait_max_ms
        self._min_bytes = broker_config.replica_fetch_min_bytes
        self._max_bytes = broker_config.replica_fetch_response_max_bytes
        self._fetch_size = broker_config.replica_fetch_max_bytes
        self._should_send_leader_epoch_request = protocol >= KAFKA_0_11_0_IV2
        self._fetch_session_handler = FetchSessionHandler(self.log_ident, source_broker.id)  # thread: fetcher

    def _epoch_cache_opt(self, tp: TopicPartition) -> LeaderEpochCache | None:
        replica = self._replica_mgr.get_replica(tp)
        return None if replica is None else replica.epochs

    def _partition_of(self, tp: TopicPartition) -> tuple[Partition, Replica]:
        """The partition and its local replica; KafkaStorageException or ReplicaNotAvailableException without one."""
        replica = self._replica_mgr.get_replica_or_exception(tp)
        partition = self._replica_mgr.get_partition(tp)
        assert partition is not None, "a replica has a partition"
        return partition, replica

    def run(self) -> None:
        """The loop; the connection is closed by the thread that used it."""
        try:
            super().run()
        finally:
            self._leader_endpoint.close()

    def initiate_shutdown(self) -> bool:
        """Ask the thread to stop, and not to wait for its leader any more; it closes its connection when it does."""
        just_shutdown = super().initiate_shutdown()
        if just_shutdown:
            self._leader_endpoint.initiate_close()
            if not self.is_alive():
                self._leader_endpoint.close()
        return just_shutdown

    # ---- what was fetched

    def process_partition_data(
        self, topic_partition: TopicPartition, fetch_offset: int, partition_data: PartitionData
    ) -> None:
        """Append at the log end, then take over the leader's high watermark as far as our log reaches."""
        partition, replica = self._partition_of(topic_partition)
        records = partition_data.to_records
        self.maybe_warn_if_oversized_records(records, topic_partition)
        log_end_offset = replica.log_end_offset.message_offset
        if fetch_offset != log_end_offset:
            raise IllegalStateException(
                f"Offset mismatch for partition {topic_partition}: fetched offset = {fetch_offset}, "
                f"log end offset = {log_end_offset}."
            )
        size = records.size_in_bytes()
        if self.is_trace_enabled:
            self.trace(
                "Follower has replica log end offset %d for partition %s. Received %d messages and leader hw %d",
                log_end_offset,
                topic_partition,
                size,
                partition_data.high_watermark,
            )
        partition.append_records_to_follower_or_future_replica(records, is_future=False)
        log_end_offset = replica.log_end_offset.message_offset
        follower_high_watermark = min(log_end_offset, partition_data.high_watermark)
        # segment and position are not needed before this broker leads, and are looked up then
        replica.high_watermark = LogOffsetMetadata(follower_high_watermark)
        replica.maybe_increment_log_start_offset(partition_data.log_start_offset)
        if self.is_trace_enabled:
            self.trace(
                "Follower has replica log end offset %d after appending %d bytes of messages for partition %s and set "
                "its high watermark to %d",
                log_end_offset,
                size,
                topic_partition,
                follower_high_watermark,
            )
        # in sync or not: all of it counts, or the traffic in total could exceed the quota
        if self._quota.is_throttled(topic_partition):
            self._quota.record(size)
        self._replica_mgr.broker_topic_stats.update_replication_bytes_in(size)

    def maybe_warn_if_oversized_records(self, records: MemoryRecords, topic_partition: TopicPartition) -> None:
        """Say so when a batch is larger than replica.fetch.max.bytes; from Fetch version 3 on it comes nevertheless."""
        if self._fetch_request_version <= 2 and records.size_in_bytes() > 0 and records.valid_bytes() <= 0:
            self.error(
                "Replication is failing due to a message that is greater than replica.fetch.max.bytes for partition "
                "%s. It was let in because max.message.bytes, of the broker or of the topic, is larger; set "
                "replica.fetch.max.bytes to at least that.",
                topic_partition,
            )

    def fetch_offsets_from_leader(self, topic_partition: TopicPartition) -> LeaderOffsets:
        """Where the leader's log begins and ends, by two ListOffsets."""
        end_offset = self._earliest_or_latest_offset(topic_partition, ListOffsetRequest.LATEST_TIMESTAMP)
        start_offset = self._earliest_or_latest_offset(topic_partition, ListOffsetRequest.EARLIEST_TIMESTAMP)
        return LeaderOffsets(start_offset, end_offset)

    def truncate_to_offsets_of_leader(self, topic_partition: TopicPartition, leader: LeaderOffsets) -> int:
        """Where to go on when the leader does not have our offset.

        The leader's end is before ours: an unclean election, or a Fetch that overtook the leader's truncation; cut off
        what goes beyond it. Otherwise either the leader has deleted what we lacked, and our log starts anew at its
        start; or it was behind for a moment, and we go on at our end (the logs may then differ in what was written
        meanwhile, which 1.1 does not mend).
        """
        partition, replica = self._partition_of(topic_partition)
        log_end_offset = replica.log_end_offset.message_offset
        if leader.end_offset < log_end_offset:
            self.warn(
                "Reset fetch offset for partition %s from %d to current leader's latest offset %d",
                topic_partition,
                log_end_offset,
                leader.end_offset,
            )
            partition.truncate_to(leader.end_offset, is_future=False)
            self._mark_future_replica_for_truncation(topic_partition, leader.end_offset)
            return leader.end_offset
        self.warn(
            "Reset fetch offset for partition %s from %d to current leader's start offset %d",
            topic_partition,
            log_end_offset,
            leader.start_offset,
        )
        if leader.start_offset > log_end_offset:
            partition.truncate_fully_and_start_at(leader.start_offset, is_future=False)
        return max(leader.start_offset, log_end_offset)

    def _mark_future_replica_for_truncation(self, tp: TopicPartition, offset: int) -> None:
        """What was cut off here goes from a copy in the making, too, before anything else takes its place."""
        self._replica_mgr.replica_alter_log_dirs_manager.mark_partitions_for_truncation(self._replica_id, tp, offset)

    def handle_partitions_with_errors(self, partitions: Iterable[TopicPartition]) -> None:
        """Leave them out for replica.fetch.backoff.ms."""
        partitions = list(partitions)
        if partitions:
            self.delay_partitions(partitions, self._broker_config.replica_fetch_backoff_ms)

    # ---- Fetch

    def build_fetch_request(
        self, partition_map: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[FetchRequest]:
        """A Fetch for all partitions that are ready and not throttled."""
        partitions_with_error: set[TopicPartition] = set()
        builder = self._fetch_session_handler.new_builder()
        for tp, state in partition_map:
            if not state.is_ready_for_fetch or self._should_follower_throttle(self._quota, tp):
                continue
            try:
                log_start_offset = self._replica_mgr.get_replica_or_exception(tp).log_start_offset
                data = JFetchRequest.PartitionData(
                    state.fetch_offset, log_start_offset, self._fetch_size, state.current_leader_epoch
                )
                builder.add(tp, data)
            except KafkaStorageException:
                # handle_log_dir_failure will soon take it away, and has logged why
                partitions_with_error.add(tp)
            except Exception as e:  # noqa: BLE001  this partition is given up, the others are not to suffer for it
                self.error("Unexpected error occurred while building a fetch request for %s", tp, exc=e)
                self.mark_partition_failed(tp)
        fetch_data = builder.build()
        request_builder = (
            JFetchRequest.Builder.for_replica(
                self._fetch_request_version, self._replica_id, self._max_wait, self._min_bytes, fetch_data.to_send
            )
            .set_max_bytes(self._max_bytes)
            .to_forget(fetch_data.to_forget)
        )
        if self._fetch_metadata_supported:
            request_builder.metadata(fetch_data.metadata)
        return ResultWithPartitions(FetchRequest(fetch_data.session_partitions, request_builder), partitions_with_error)

    def fetch(self, fetch_request: FetchRequest) -> Sequence[tuple[TopicPartition, PartitionData]]:
        """The leader's answer; empty when the session has to begin anew. Errors of the connection pass through."""
        try:
            client_response = self._leader_endpoint.send_request(fetch_request.underlying)
            fetch_response = cast("FetchResponse", client_response.response_body())
            if not self._fetch_session_handler.handle_response(fetch_response):
                return ()
            return [(tp, PartitionData(data)) for tp, data in fetch_response.response_data().items()]
        except Exception as e:
            self._fetch_session_handler.handle_error(e)
            raise

    def _earliest_or_latest_offset(self, tp: TopicPartition, earliest_or_latest: int) -> int:
        """The leader's start or end offset."""
        version = self._list_offset_request_version
        builder = ListOffsetRequest.Builder.for_replica(version, self._replica_id)
        if version >= 1:
            builder.set_target_times({tp: earliest_or_latest}, self._current_leader_epochs([tp]))
        else:
            builder.set_offset_data({tp: ListOffsetRequest.PartitionData(earliest_or_latest, 1)})
        client_response = self._leader_endpoint.send_request(builder)
        data = cast("ListOffsetResponse", client_response.response_body()).response_data()[tp]
        data.error.maybe_throw()
        offset = data.offset if version >= 1 else next(iter(data.offsets), None)
        if offset is None:
            raise KafkaException(f"Leader {self.source_broker.id} told no offset of {tp}")
        return offset

    def _should_follower_throttle(self, quota: ReplicaQuota, tp: TopicPartition) -> bool:
        """Whether to leave a partition out for now; one that is in sync never is, or the ISR would flap."""
        return (
            quota.is_throttled(tp)
            and quota.is_quota_exceeded()
            and not self.fetcher_lag_stats.is_replica_in_sync(tp.topic, tp.partition)
        )

    # ---- truncation by leader epoch (KIP-101)

    def build_leader_epoch_request(
        self, all_partitions: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """Our latest epoch of each partition that is to be truncated."""
        result: dict[TopicPartition, int] = {}
        without_epoch: set[TopicPartition] = set()
        for tp, state in all_partitions:
            if state.is_truncating_log:
                cache = self._epoch_cache_opt(tp)
                if cache is None:
                    without_epoch.add(tp)
                else:
                    result[tp] = cache.latest_epoch()
        self.debug("Build leaderEpoch request %s", result)
        return ResultWithPartitions(result, without_epoch)

    def fetch_epochs_from_leader(
        self, partitions: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, EpochEndOffset]:
        """Where the leader says those epochs end; undefined from a leader that cannot be asked.

        With an undefined end the log is cut at the high watermark, as before 0.11. An epoch that the leader never
        heard of ends where ours began.
        """
        undefined = EpochEndOffset.UNDEFINED_EPOCH_OFFSET
        if not self._should_send_leader_epoch_request:
            return {tp: EpochEndOffset(Errors.NONE, undefined) for tp in partitions}
        result = dict(self._end_offsets(partitions))
        if self._offset_for_leader_epoch_request_version == 0:
            self._look_back_for_an_epoch_in_common(partitions, result)
        return result

    def _current_leader_epochs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """In which epochs these are followed, -1 for those that are not any more: no answer for them will count."""
        states = ((tp, self.partition_states.get(tp)) for tp in partitions)
        return {tp: -1 if state is None else state.current_leader_epoch for tp, state in states}

    def _end_offsets(self, partitions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, EpochEndOffset]:
        try:
            request = OffsetsForLeaderEpochRequest.Builder.for_follower(
                self._offset_for_leader_epoch_request_version,
                dict(partitions),
                self._current_leader_epochs(partitions),
                self._replica_id,
            )
            response = self._leader_endpoint.send_request(request)
            result = cast("OffsetsForLeaderEpochResponse", response.response_body()).responses()
            self.debug("Receive leaderEpoch response %s", result)
            return result
        except Exception as e:  # noqa: BLE001  whatever it was: these partitions are asked for again
            self.warn("Error when sending leader epoch request for %s", partitions, exc=e)
            return {
                tp: EpochEndOffset(Errors.for_exception(e), EpochEndOffset.UNDEFINED_EPOCH_OFFSET) for tp in partitions
            }

    def _look_back_for_an_epoch_in_common(
        self, latest_epochs: Mapping[TopicPartition, int], result: dict[TopicPartition, EpochEndOffset]
    ) -> None:
        """Put the end offsets back to where our log parted from the leader's (KAFKA-6361).

        For an epoch that it lacks the leader names the start of its next one, up to which our records may be others
        than its own. It names the same for the epoch before: by that we know. What is ours of an epoch it lacks is cut
        off whole, and the one before is looked at. When all of the leader's epochs are later than that, nothing that
        is left is its own, and our high watermark is the place to cut at.
        """
        entries: dict[TopicPartition, list[EpochEntry]] = {}
        for tp, latest_epoch in latest_epochs.items():
            cache = self._epoch_cache_opt(tp)
            own = [] if cache is None else cast("LeaderEpochFileCache", cache).epoch_entries()
            # else it has led, or been taken away, while the leader was asked
            if own and own[-1].epoch == latest_epoch:
                entries[tp] = own
        ends = {tp: end.end_offset() for tp, end in result.items() if not end.has_error() and end.end_offset() >= 0}
        while asked := {tp: entries[tp][-1].epoch - 1 for tp in ends if entries.get(tp) and entries[tp][-1].epoch > 0}:
            lacking: dict[TopicPartition, int] = {}
            for tp, end_offset in self._known_end_offsets(asked, result).items():
                if end_offset == ends[tp]:
                    start_offset = entries[tp].pop().start_offset
                    result[tp] = EpochEndOffset.of(min(result[tp].end_offset(), start_offset))
                    if entries[tp]:
                        lacking[tp] = entries[tp][-1].epoch
            ends = self._known_end_offsets(lacking, result)
            for tp in lacking:
                if tp in ends:
                    result[tp] = EpochEndOffset.of(min(result[tp].end_offset(), ends[tp]))
                elif not result[tp].has_error():
                    result[tp] = EpochEndOffset.of(EpochEndOffset.UNDEFINED_EPOCH_OFFSET)

    def _known_end_offsets(
        self, asked: Mapping[TopicPartition, int], result: dict[TopicPartition, EpochEndOffset]
    ) -> dict[TopicPartition, int]:
        """Where the leader says those epochs end, as far as it knows; an error becomes the partition's result."""
        known: dict[TopicPartition, int] = {}
        for tp, answer in self._end_offsets(asked).items() if asked else ():
            if answer.has_error():
                result[tp] = answer
            elif answer.end_offset() >= 0 and tp in asked:
                known[tp] = answer.end_offset()
        return known

    def truncate(
        self, fetched_epochs: Mapping[TopicPartition, EpochEndOffset]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """Cut each log where the leader's epoch ends, or leave it when it is shorter; the offsets to fetch from.

        A log that cannot be cut is marked as failed, as since KIP-461.
        """
        fetch_offsets: dict[TopicPartition, int] = {}
        partitions_with_error: set[TopicPartition] = set()
        for tp, epoch_offset in fetched_epochs.items():
            if epoch_offset.error() is Errors.FENCED_LEADER_EPOCH:
                self.on_partition_fenced(tp, self.partition_states[tp].current_leader_epoch)
                continue
            if epoch_offset.has_error():
                self.info(
                    "Retrying leaderEpoch request for partition %s as the leader reported an error: %s",
                    tp,
                    epoch_offset.error(),
                )
                partitions_with_error.add(tp)
                continue
            try:
                partition, replica = self._partition_of(tp)
                fetch_offset, is_final = self._offset_truncation_state(tp, replica, epoch_offset)
                partition.truncate_to(fetch_offset, is_future=False)
                self._mark_future_replica_for_truncation(tp, fetch_offset)
                if is_final:
                    fetch_offsets[tp] = fetch_offset
                else:
                    self.partition_states[tp] = self.partition_states[tp].with_offset(fetch_offset, truncating_log=True)
            except KafkaStorageException as e:
                self.error("Failed to truncate %s to %s", tp, epoch_offset, exc=e)
                self.mark_partition_failed(tp)
            except Exception as e:  # noqa: BLE001  this partition is given up, the others are not to suffer for it
                self.error("Unexpected error occurred during truncation for %s to %s", tp, epoch_offset, exc=e)
                self.mark_partition_failed(tp)
        return ResultWithPartitions(fetch_offsets, partitions_with_error)

    def _offset_truncation_state(
        self, tp: TopicPartition, replica: Replica, epoch_offset: EpochEndOffset
    ) -> tuple[int, bool]:
        """Where to cut, and whether that is all: else the leader is asked again, for an older epoch (KIP-279).

        The leader names the largest epoch that it has, up to the one asked for. When this log lacks that epoch, what
        it has of later ones is the leader's in no case: it goes, and the one before is asked for.
        """
        leader_epoch, end_offset = epoch_offset.leader_epoch(), epoch_offset.end_offset()
        if end_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET or leader_epoch == EpochEndOffset.UNDEFINED_EPOCH:
            return self._truncation_offset(tp, replica, epoch_offset), True
        log_end_offset = replica.log_end_offset.message_offset
        assert replica.epochs is not None, "a local replica has epochs"
        follower_epoch, follower_end_offset = replica.epochs.epoch_and_end_offset_for(leader_epoch)
        if follower_end_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET:
            self.warn(
                "Based on replica's leader epoch, leader replied with epoch %d below any replica's tracked epochs for "
                "%s. The leader's offset only %d will be used for truncation.",
                leader_epoch,
                tp,
                end_offset,
            )
            return min(end_offset, log_end_offset), True
        if follower_epoch != leader_epoch:
            intermediate_offset = min(follower_end_offset, log_end_offset)
            self.info(
                "Based on replica's leader epoch, leader replied with epoch %d unknown to the replica for %s. Will "
                "truncate to %d and send another leader epoch request to the leader.",
                leader_epoch,
                tp,
                intermediate_offset,
            )
            return intermediate_offset, False
        return min(follower_end_offset, end_offset, log_end_offset), True

    def _truncation_offset(self, tp: TopicPartition, replica: Replica, epoch_offset: EpochEndOffset) -> int:
        end_offset = epoch_offset.end_offset()
        if end_offset == EpochEndOffset.UNDEFINED_EPOCH_OFFSET:
            initial_fetch_offset = self.partition_states[tp].fetch_offset
            self.warn(
                "Based on follower's leader epoch, leader replied with an unknown offset in %s. "
                "The initial fetch offset %d will be used for truncation.",
                tp,
                initial_fetch_offset,
            )
            return initial_fetch_offset
        if end_offset >= replica.log_end_offset.message_offset:
            return self._log_end_offset(replica, epoch_offset)
        return end_offset

    def _log_end_offset(self, replica: Replica, epoch_offset: EpochEndOffset) -> int:
        log_end_offset = replica.log_end_offset.message_offset
        self.info(
            "Based on follower's leader epoch, leader replied with an offset %d >= the follower's log end offset %d "
            "in %s. No truncation needed.",
            epoch_offset.end_offset(),
            log_end_offset,
            replica.topic_partition,
        )
        return log_end_offset


def _version_for(protocol: ApiVersion, versions: Iterable[tuple[ApiVersion, int]]) -> int:
    """The first version whose protocol is reached, else 0."""
    return next((version for since, version in versions if protocol >= since), 0)
