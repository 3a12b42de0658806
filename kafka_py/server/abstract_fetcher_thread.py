"""A thread that fetches many partitions from one broker.

Mirrors: core/src/main/scala/kafka/server/AbstractFetcherThread.scala @ 1.1.1
Posts:   why-fast-and-available, reading-writing-configuring (followers pull)
Read next: server/replica_fetcher_thread.py
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from kafka_py.common.errors import (
    CorruptRecordException,
    FencedLeaderEpochException,
    IllegalStateException,
    KafkaStorageException,
    NotLeaderForPartitionException,
    UnknownLeaderEpochException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.utils.time import Time
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.abstract_fetcher_manager import BrokerAndInitialOffset
from kafka_py.utils.concurrent import AtomicLong, ReentrantLock
from kafka_py.utils.pool import Pool
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.abstract_fetcher_manager import FailedPartitions

R = TypeVar("R")
_NO_EPOCHS: Mapping[TopicPartition, int] = {}


class ClientIdTopicPartition(NamedTuple):
    """Whose lag on which partition.

    Mirrors: kafka.server.ClientIdTopicPartition
    Left out: toString -- `__str__`
    """

    client_id: str
    topic: str
    partition_id: int

    def __str__(self) -> str:
        return f"{self.client_id}-{self.topic}-{self.partition_id}"


class FetcherMetrics:
    """Names of the fetchers' metrics.

    Mirrors: kafka.server.FetcherMetrics
    """

    CONSUMER_LAG = "ConsumerLag"
    REQUESTS_PER_SEC = "RequestsPerSec"
    BYTES_PER_SEC = "BytesPerSec"


class FetcherLagMetrics(KafkaMetricsGroup):
    """How far a fetcher is behind on one partition.

    Mirrors: kafka.server.FetcherLagMetrics
    Left out: lag_ -- the setter of the property
    """

    def __init__(self, metric_id: ClientIdTopicPartition) -> None:
        self._lag_val = AtomicLong(-1)  # atomic
        self._tags = {
            "clientId": metric_id.client_id,
            "topic": metric_id.topic,
            "partition": str(metric_id.partition_id),
        }
        self.new_gauge(FetcherMetrics.CONSUMER_LAG, self._lag_val.get, self._tags)

    @property
    def lag(self) -> int:
        """Records behind the leader's high watermark, -1 before the first answer."""
        return self._lag_val.get()

    @lag.setter
    def lag(self, new_lag: int) -> None:
        self._lag_val.set(new_lag)

    def unregister(self) -> None:
        """Remove the gauge."""
        self.remove_metric(FetcherMetrics.CONSUMER_LAG, self._tags)


class FetcherLagStats:
    """Lags of all partitions of one fetcher.

    Mirrors: kafka.server.FetcherLagStats
    """

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self.stats: Pool[ClientIdTopicPartition, FetcherLagMetrics] = Pool(FetcherLagMetrics)  # atomic

    def _key(self, topic: str, partition_id: int) -> ClientIdTopicPartition:
        return ClientIdTopicPartition(self._client_id, topic, partition_id)

    def lags(self) -> list[int]:
        """The lag of each partition."""
        return [metrics.lag for metrics in self.stats.values]

    def get_and_maybe_put(self, topic: str, partition_id: int) -> FetcherLagMetrics:
        """The partition's lag, registered with its first use."""
        return self.stats.get_and_maybe_put(self._key(topic, partition_id))

    def is_replica_in_sync(self, topic: str, partition_id: int) -> bool:
        """True when the fetcher had everything the leader had committed."""
        metrics = self.stats.get(self._key(topic, partition_id))
        return metrics is not None and metrics.lag <= 0

    def unregister(self, topic: str | None = None, partition_id: int = -1) -> None:
        """Remove the gauge of one partition, or without a topic of all."""
        keys = self.stats.keys if topic is None else [self._key(topic, partition_id)]
        for key in keys:
            metrics = self.stats.remove(key)
            if metrics is not None:
                metrics.unregister()


class FetcherStats(KafkaMetricsGroup):
    """Requests and bytes of one fetcher.

    Mirrors: kafka.server.FetcherStats
    """

    def __init__(self, client_id: str, broker_host: str, broker_port: int) -> None:
        self.tags = {"clientId": client_id, "brokerHost": broker_host, "brokerPort": str(broker_port)}
        self.request_rate = self.new_meter(FetcherMetrics.REQUESTS_PER_SEC, "requests", self.tags)
        self.byte_rate = self.new_meter(FetcherMetrics.BYTES_PER_SEC, "bytes", self.tags)

    def unregister(self) -> None:
        """Remove both meters."""
        self.remove_metric(FetcherMetrics.REQUESTS_PER_SEC, self.tags)
        self.remove_metric(FetcherMetrics.BYTES_PER_SEC, self.tags)


class PartitionFetchState:
    """Where a partition stands: truncating its log, delayed after an error, or ready for the next Fetch.

    Mirrors: kafka.server.PartitionFetchState
    Differs: a due time by the thread's clock in place of a DelayedItem, which reads the system's; the epoch of the
        leader that is followed, as from 2.1 on (KIP-320), -1 where it does not matter
    Left out: toString -- `__repr__`
    """

    __slots__ = ("_due_ms", "_time", "current_leader_epoch", "fetch_offset", "truncating_log")

    def __init__(
        self,
        time: Time,
        fetch_offset: int,
        delay_ms: int = 0,
        truncating_log: bool = False,
        current_leader_epoch: int = -1,
    ) -> None:
        self._time = time
        self.fetch_offset = fetch_offset
        self.truncating_log = truncating_log
        self.current_leader_epoch = current_leader_epoch
        self._due_ms = time.milliseconds() + delay_ms if delay_ms > 0 else 0

    @property
    def remaining_delay_ms(self) -> int:
        """ms until the delay is over, 0 without one."""
        return max(0, self._due_ms - self._time.milliseconds()) if self._due_ms else 0

    @property
    def is_delayed(self) -> bool:
        """True while the delay lasts."""
        return self.remaining_delay_ms > 0

    @property
    def is_ready_for_fetch(self) -> bool:
        """True when it belongs into the next Fetch."""
        return not self.truncating_log and not self.is_delayed

    @property
    def is_truncating_log(self) -> bool:
        """True when the leader has to be asked where its epoch ends."""
        return self.truncating_log and not self.is_delayed

    def with_offset(self, fetch_offset: int, truncating_log: bool) -> PartitionFetchState:
        """The same delay with another offset and phase."""
        return PartitionFetchState(
            self._time, fetch_offset, self.remaining_delay_ms, truncating_log, self.current_leader_epoch
        )

    def __repr__(self) -> str:
        return (
            f"offset:{self.fetch_offset}-isReadyForFetch:{str(self.is_ready_for_fetch).lower()}"
            f"-isTruncatingLog:{str(self.truncating_log).lower()}"
        )


class _FetchRequest(Protocol):
    """What a fetcher must know of its own request.

    Mirrors: kafka.server.AbstractFetcherThread.FetchRequest
    """

    @property
    def is_empty(self) -> bool: ...

    def offset(self, topic_partition: TopicPartition) -> int: ...

    def current_leader_epoch(self, topic_partition: TopicPartition) -> int: ...


class _PartitionData(Protocol):
    """What a fetcher must know of one partition of an answer.

    Mirrors: kafka.server.AbstractFetcherThread.PartitionData
    """

    @property
    def error(self) -> Errors: ...

    @property
    def exception(self) -> BaseException | None: ...

    @property
    def to_records(self) -> MemoryRecords: ...

    @property
    def high_watermark(self) -> int: ...


REQ = TypeVar("REQ", bound=_FetchRequest)
PD = TypeVar("PD", bound=_PartitionData)


class ResultWithPartitions(NamedTuple, Generic[R]):
    """A result, and the partitions it could not be had for.

    Mirrors: kafka.server.AbstractFetcherThread.ResultWithPartitions
    """

    result: R
    partitions_with_error: set[TopicPartition]


class LeaderOffsets(NamedTuple):
    """Which offsets the leader has of a partition."""

    start_offset: int
    end_offset: int


class AbstractFetcherThread(ShutdownableThread, Generic[REQ, PD]):
    """Asks one broker for the partitions in its charge, again and again, and hands the answers to the subclass.

    Mirrors: kafka.server.AbstractFetcherThread
    Thread: its own; handlers add and remove partitions
    Locks: _partition_map_lock -> Partition's locks -> Log.lock. Data are appended under it, so that a partition that
        has been removed is not written to any more. The leader is never asked under it: who waits for it would wait
        for a leader that hangs. (Kafka asks for the leader's offsets under it.)
    Differs: a dict keeps the partitions in turn, in place of PartitionStates; the thread takes a Time. A partition that
        cannot be appended to or truncated is marked as failed and left out, as since KIP-461 (KAFKA-8346, in 2.3); in
        1.1.1 the first such error ends the thread. An answer about epochs or offsets counts only for the fetch state
        that it was asked for, as with KAFKA-7395 (in 2.1): a partition that was taken away and given back meanwhile
        has another. `handle_offset_out_of_range` does what is common to all fetchers (handleOutOfRangeError since 2.1);
        the subclass asks for the leader's offsets and truncates. A partition knows the epoch in which it follows, and
        is given up until the next LeaderAndIsr when its leader says that this epoch is over (KIP-320, in 2.1).
    """

    def __init__(
        self,
        name: str,
        client_id: str,
        source_broker: BrokerEndPoint,
        failed_partitions: FailedPartitions,
        fetch_back_off_ms: int = 0,
        is_interruptible: bool = True,
        include_log_truncation: bool = True,
        time: Time = Time.SYSTEM,
    ) -> None:
        super().__init__(name, is_interruptible)
        self.source_broker = source_broker
        self._failed_partitions = failed_partitions
        self._fetch_back_off_ms = fetch_back_off_ms
        self._include_log_truncation = include_log_truncation
        self._time = time
        self._partition_map_lock = ReentrantLock()
        self._partition_map_cond = self._partition_map_lock.new_condition()
        self.partition_states: dict[TopicPartition, PartitionFetchState] = {}  # volatile: holder of _partition_map_lock
        self.fetcher_stats = FetcherStats(client_id, source_broker.host, source_broker.port)
        self.fetcher_lag_stats = FetcherLagStats(client_id)

    # ---- what a subclass defines

    @abstractmethod
    def process_partition_data(self, topic_partition: TopicPartition, fetch_offset: int, partition_data: PD) -> None:
        """Append what was fetched."""

    @abstractmethod
    def fetch_offsets_from_leader(self, topic_partition: TopicPartition) -> LeaderOffsets:
        """Where the leader's log begins and ends."""

    @abstractmethod
    def truncate_to_offsets_of_leader(self, topic_partition: TopicPartition, leader: LeaderOffsets) -> int:
        """Cut the log to what the leader has; the offset to fetch from."""

    @abstractmethod
    def handle_partitions_with_errors(self, partitions: Iterable[TopicPartition]) -> None:
        """Deal with partitions that failed, perhaps since their leader changed."""

    @abstractmethod
    def build_leader_epoch_request(
        self, all_partitions: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """The latest leader epoch of each partition that is truncating."""

    @abstractmethod
    def fetch_epochs_from_leader(
        self, partitions: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, EpochEndOffset]:
        """Where the leader says those epochs end."""

    @abstractmethod
    def truncate(
        self, fetched_epochs: Mapping[TopicPartition, EpochEndOffset]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        """Cut the logs there; the offsets to fetch from. A log that cannot be cut is marked as failed.

        Kafka: maybeTruncate with an argument.
        """

    @abstractmethod
    def build_fetch_request(
        self, partition_map: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[REQ]:
        """A Fetch for the partitions that are ready."""

    @abstractmethod
    def fetch(self, fetch_request: REQ) -> Sequence[tuple[TopicPartition, PD]]:
        """Send it and wait for the answer."""

    # ---- the loop

    def shutdown(self) -> None:
        """Stop the thread and remove its metrics."""
        self.initiate_shutdown()
        with self._partition_map_lock:
            self._partition_map_cond.signal_all()
        self.await_shutdown()
        self.fetcher_stats.unregister()
        self.fetcher_lag_stats.unregister()

    def _states(self) -> list[tuple[TopicPartition, PartitionFetchState]]:
        """Caller holds _partition_map_lock."""
        return list(self.partition_states.items())

    def do_work(self) -> None:
        """Truncate what has a new leader, then one Fetch; without a partition that is ready, wait a while."""
        self.maybe_truncate()
        with self._partition_map_lock:
            fetch_request, partitions_with_error = self.build_fetch_request(self._states())
            if fetch_request.is_empty:
                self.trace(
                    "There are no active partitions. Back off for %d ms before sending a fetch request",
                    self._fetch_back_off_ms,
                )
                self._partition_map_cond.await_(self._fetch_back_off_ms)
            self.handle_partitions_with_errors(partitions_with_error)
        if not fetch_request.is_empty:
            self._process_fetch_request(fetch_request)

    def maybe_truncate(self) -> None:
        """Ask the leader where our latest epochs end, and cut off what goes beyond (KIP-101).

        The question is asked without the lock; partitions that were taken away or given anew meanwhile, perhaps with
        another epoch, are left alone.
        """
        with self._partition_map_lock:
            states = dict(self.partition_states)
            epoch_requests, partitions_with_error = self.build_leader_epoch_request(list(states.items()))
        self.handle_partitions_with_errors(partitions_with_error)
        if not epoch_requests:
            return
        fetched_epochs = self.fetch_epochs_from_leader(epoch_requests)
        with self._partition_map_lock:
            leader_epochs = {
                tp: epoch
                for tp, epoch in fetched_epochs.items()
                if tp in states and self.partition_states.get(tp) is states[tp]
            }
            fetch_offsets, partitions_with_error = self.truncate(leader_epochs)
            self.handle_partitions_with_errors(partitions_with_error)
            self._mark_truncation_complete_and_update_fetch_offset(fetch_offsets)

    def _process_fetch_request(self, fetch_request: REQ) -> None:
        partitions_with_error: set[TopicPartition] = set()
        out_of_range: list[tuple[TopicPartition, PartitionFetchState]] = []
        response_data: Sequence[tuple[TopicPartition, PD]] = ()
        try:
            self.trace("Sending fetch request %s", fetch_request)
            response_data = self.fetch(fetch_request)
        except Exception as e:  # noqa: BLE001  a lost connection, or any other failure: try again after a pause
            if self.is_running:
                self.warn("Error in response for fetch request %s", fetch_request, exc=e)
                with self._partition_map_lock:
                    partitions_with_error |= self.partition_states.keys()
                    self._partition_map_cond.await_(self._fetch_back_off_ms)
        self.fetcher_stats.request_rate.mark()
        if response_data:
            with self._partition_map_lock:
                for topic_partition, partition_data in response_data:
                    state = self.partition_states.get(topic_partition)
                    # it may have been removed, added again or truncated while the Fetch was under way
                    if (
                        state is None
                        or fetch_request.offset(topic_partition) != state.fetch_offset
                        or not state.is_ready_for_fetch
                    ):
                        continue
                    if partition_data.error is Errors.OFFSET_OUT_OF_RANGE:
                        out_of_range.append((topic_partition, state))
                    elif partition_data.error is Errors.FENCED_LEADER_EPOCH:
                        if self.on_partition_fenced(
                            topic_partition, fetch_request.current_leader_epoch(topic_partition)
                        ):
                            partitions_with_error.add(topic_partition)
                    elif not self._process_one(topic_partition, state, partition_data):
                        partitions_with_error.add(topic_partition)
        for topic_partition, state in out_of_range:
            if not self.handle_offset_out_of_range(topic_partition, state):
                partitions_with_error.add(topic_partition)
        if partitions_with_error:
            self.debug("Handling errors for partitions %s", partitions_with_error)
            self.handle_partitions_with_errors(partitions_with_error)

    def _process_one(self, tp: TopicPartition, state: PartitionFetchState, partition_data: PD) -> bool:
        """Handle one partition of an answer; False if it has to pause. Caller holds _partition_map_lock."""
        error = partition_data.error
        if error is Errors.NONE:
            return self._process_records(tp, state, partition_data)
        if error is Errors.UNKNOWN_LEADER_EPOCH:
            self.debug(
                "Remote broker has a smaller leader epoch for partition %s than this replica's current leader epoch of "
                "%d.",
                tp,
                state.current_leader_epoch,
            )
        elif error is Errors.NOT_LEADER_FOR_PARTITION:
            self.info(
                "Remote broker is not the leader for partition %s, which could indicate that the partition is being "
                "moved",
                tp,
            )
        else:
            self.error("Error for partition %s at offset %d", tp, state.fetch_offset, exc=partition_data.exception)
        return False

    def on_partition_fenced(self, tp: TopicPartition, request_epoch: int) -> bool:
        """The leader is in a later epoch than the request: True if the partition is as well by now, to ask again.

        Else the partition is given up; the LeaderAndIsr of the later epoch, which is on its way, brings it back.
        """
        with self._partition_map_lock:
            state = self.partition_states.get(tp)
            if state is None:
                return False
            if state.current_leader_epoch == request_epoch:
                self.info(
                    "Partition %s has an older epoch (%d) than the current leader. Will await the new LeaderAndIsr "
                    "state before resuming fetching.",
                    tp,
                    request_epoch,
                )
                self.mark_partition_failed(tp)
                return False
            self.info(
                "Partition %s has an new epoch (%d) than the current leader. retry the partition later",
                tp,
                state.current_leader_epoch,
            )
            return True

    def handle_offset_out_of_range(self, tp: TopicPartition, state: PartitionFetchState) -> bool:
        """Find a new fetch offset by asking the leader, which may take long: no lock is held; False if it failed."""
        try:
            leader = self.fetch_offsets_from_leader(tp)
            with self._partition_map_lock:
                if self.partition_states.get(tp) is not state:
                    return True  # removed, or added again, while the leader was asked
                new_offset = self.truncate_to_offsets_of_leader(tp, leader)
                self._update_and_move_to_end(tp, state.with_offset(new_offset, False))
        except FencedLeaderEpochException:
            return not self.on_partition_fenced(tp, state.current_leader_epoch)
        except (UnknownTopicOrPartitionException, UnknownLeaderEpochException, NotLeaderForPartitionException) as e:
            self.info("Could not fetch offset for %s due to error: %s", tp, e)
            return False
        except Exception as e:  # noqa: BLE001  the leader may have changed: ask again later
            self.error("Error getting offset for partition %s", tp, exc=e)
            return False
        self.info(
            "Current offset %d for partition %s is out of range, which typically implies a leader change. "
            "Reset fetch offset to %d",
            state.fetch_offset,
            tp,
            new_offset,
        )
        return True

    def _process_records(self, tp: TopicPartition, state: PartitionFetchState, partition_data: PD) -> bool:
        """Append; False after an error that may pass. Caller holds _partition_map_lock."""
        try:
            records = partition_data.to_records
            new_offset = state.fetch_offset
            for batch in records.batches():
                new_offset = batch.next_offset()
            lag = max(0, partition_data.high_watermark - new_offset)
            self.fetcher_lag_stats.get_and_maybe_put(tp.topic, tp.partition).lag = lag
            # from here on the data belong to the subclass
            self.process_partition_data(tp, state.fetch_offset, partition_data)
            valid_bytes = records.valid_bytes()
            # a thread that copies between log directories may be done with the partition now
            if valid_bytes > 0 and tp in self.partition_states:
                self._update_and_move_to_end(tp, state.with_offset(new_offset, False))
                self.fetcher_stats.byte_rate.mark(valid_bytes)
        except CorruptRecordException as e:
            # It must not stop the other partitions; and if the leader was in the middle of a truncation or a write,
            # the next Fetch gets good data.
            self.error("Found invalid messages during fetch for partition %s offset %d", tp, state.fetch_offset, exc=e)
            return False
        except KafkaStorageException as e:
            self.error("Error while processing data for partition %s at offset %d", tp, state.fetch_offset, exc=e)
            self.mark_partition_failed(tp)
        except Exception as e:  # noqa: BLE001  this partition is given up, the others are not to suffer for it
            self.error(
                "Unexpected error occurred while processing data for partition %s at offset %d",
                tp,
                state.fetch_offset,
                exc=e,
            )
            self.mark_partition_failed(tp)
        return True

    def mark_partition_failed(self, topic_partition: TopicPartition) -> None:
        """Fetch the partition no more until it is added again."""
        with self._partition_map_lock:
            self._failed_partitions.add(topic_partition)
            self.remove_partitions([topic_partition])
        self.warn("Partition %s marked as failed", topic_partition)

    def _update_and_move_to_end(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        """Caller holds _partition_map_lock. The others come first in the next Fetch, whose size is limited."""
        self.partition_states.pop(tp, None)
        self.partition_states[tp] = state

    # ---- partitions come and go

    def mark_partitions_for_truncation(self, topic_partition: TopicPartition, truncation_offset: int) -> None:
        """Have the log of a partition truncated; IllegalStateException in a thread that never truncates."""
        if not self._include_log_truncation:
            raise IllegalStateException("Truncation should not be requested if includeLogTruncation is disabled")
        with self._partition_map_lock:
            state = self.partition_states.get(topic_partition)
            if state is not None:
                self._update_and_move_to_end(
                    topic_partition, state.with_offset(min(truncation_offset, state.fetch_offset), True)
                )
            self._partition_map_cond.signal_all()

    def add_partitions(
        self,
        initial_fetch_offsets: Mapping[TopicPartition, int],
        leader_epochs: Mapping[TopicPartition, int] = _NO_EPOCHS,
    ) -> None:
        """Fetch these too, unless they are fetched already; an offset below 0 is found by asking the leader."""
        asked = {tp: self.fetch_offsets_from_leader(tp) for tp, offset in initial_fetch_offsets.items() if offset < 0}
        with self._partition_map_lock:
            states = dict(self.partition_states)
            for tp, offset in initial_fetch_offsets.items():
                if tp not in states:
                    if tp in asked:
                        offset = self.truncate_to_offsets_of_leader(tp, asked[tp])
                    states[tp] = PartitionFetchState(
                        self._time,
                        offset,
                        truncating_log=self._include_log_truncation,
                        current_leader_epoch=leader_epochs.get(tp, -1),
                    )
            self.partition_states = _grouped_by_topic(states)
            self._partition_map_cond.signal_all()

    def _mark_truncation_complete_and_update_fetch_offset(self, fetch_offsets: Mapping[TopicPartition, int]) -> None:
        """Caller holds _partition_map_lock."""
        self.partition_states = _grouped_by_topic(
            {
                tp: state.with_offset(fetch_offsets[tp], False) if tp in fetch_offsets else state
                for tp, state in self.partition_states.items()
            }
        )

    def delay_partitions(self, partitions: Iterable[TopicPartition], delay: int) -> None:
        """Leave these out of the next Fetches for `delay` ms."""
        with self._partition_map_lock:
            for tp in partitions:
                state = self.partition_states.get(tp)
                if state is not None and not state.is_delayed:
                    self._update_and_move_to_end(
                        tp,
                        PartitionFetchState(
                            self._time, state.fetch_offset, delay, state.truncating_log, state.current_leader_epoch
                        ),
                    )
            self._partition_map_cond.signal_all()

    def remove_partitions(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Fetch these no more. When this returns, this thread does not write to them."""
        with self._partition_map_lock:
            for tp in topic_partitions:
                self.partition_states.pop(tp, None)
                self.fetcher_lag_stats.unregister(tp.topic, tp.partition)

    def partition_count(self) -> int:
        """How many partitions are fetched."""
        with self._partition_map_lock:
            return len(self.partition_states)

    def partitions_and_offsets(self) -> dict[TopicPartition, BrokerAndInitialOffset]:
        """The partitions with their offsets, as add_fetcher_for_partitions takes them."""
        with self._partition_map_lock:
            return {
                tp: BrokerAndInitialOffset(self.source_broker, state.fetch_offset, state.current_leader_epoch)
                for tp, state in self.partition_states.items()
            }


def _grouped_by_topic(states: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
    """The same states with each topic's partitions in a row: a Fetch names the topic once for all of them."""
    topics: dict[str, list[TopicPartition]] = {}
    for tp in states:
        topics.setdefault(tp.topic, []).append(tp)
    return {tp: states[tp] for partitions in topics.values() for tp in partitions}
