"""Spreads partitions over fetcher threads, one set of threads per source broker.

Mirrors: core/src/main/scala/kafka/server/AbstractFetcherManager.scala @ 1.1.1
Read next: server/abstract_fetcher_thread.py, server/replica_fetcher_manager.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.abstract_fetcher_thread import AbstractFetcherThread

    FetcherThread = AbstractFetcherThread[Any, Any]


class BrokerAndFetcherId(NamedTuple):
    """Which thread, with the address it talks to.

    Mirrors: kafka.server.BrokerAndFetcherId
    """

    broker: BrokerEndPoint
    fetcher_id: int


class BrokerAndInitialOffset(NamedTuple):
    """Where to fetch a partition from, beginning at which offset.

    Mirrors: kafka.server.BrokerAndInitialOffset
    """

    broker: BrokerEndPoint
    init_offset: int
    leader_epoch: int = -1  # in which that broker leads; -1 when it is not to be asked for


class BrokerIdAndFetcherId(NamedTuple):
    """Which thread.

    Mirrors: kafka.server.BrokerIdAndFetcherId
    """

    broker_id: int
    fetcher_id: int


class FailedPartitions:
    """Partitions that no fetcher fetches any more, because appending to them or truncating them went wrong.

    As in Kafka since 2.3 (KIP-461). A partition leaves when it is given to a fetcher again or taken from all of them:
    with the next LeaderAndIsr or StopReplica, or when its log directory goes offline.

    Thread: fetchers add, request handlers remove, a gauge counts
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._failed_partitions_set: set[TopicPartition] = set()  # guarded by: _lock

    @property
    def size(self) -> int:
        """How many there are."""
        with self._lock:
            return len(self._failed_partitions_set)

    def add(self, topic_partition: TopicPartition) -> None:
        """Count one more."""
        with self._lock:
            self._failed_partitions_set.add(topic_partition)

    def remove_all(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Give these another chance."""
        with self._lock:
            self._failed_partitions_set.difference_update(topic_partitions)

    def contains(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition has failed."""
        with self._lock:
            return topic_partition in self._failed_partitions_set


class AbstractFetcherManager(KafkaMetricsGroup, ABC):
    """Starts, feeds and stops fetcher threads; a partition's hash decides which thread of its broker fetches it.

    Mirrors: kafka.server.AbstractFetcherManager
    Thread: request handlers and scheduler, one at a time under _lock
    Locks: _lock around every change of the threads and their partitions.
    Differs: counts failed partitions (KIP-461, in 2.3) and dead threads (KAFKA-7981, in 2.4). A thread that has ended
        by itself is replaced when partitions are given to it, and the new one takes over those it had; Kafka gives it
        partitions that nobody then fetches.
    """

    def __init__(self, name: str, client_id: str, num_fetchers: int = 1) -> None:
        self.name = name
        self._lock = ReentrantLock()
        # gauges read it without the lock, from a copy
        self.fetcher_thread_map: dict[BrokerIdAndFetcherId, FetcherThread] = {}  # volatile: holder of _lock
        self._num_fetchers_per_broker = num_fetchers  # guarded by: _lock
        self.failed_partitions = FailedPartitions()
        self.log_ident = f"[{name}] "
        tags = {"clientId": client_id}
        self.new_gauge("MaxLag", self._max_lag, tags)
        self.new_gauge("MinFetchRate", self._min_fetch_rate, tags)
        self.new_gauge("FailedPartitionsCount", lambda: self.failed_partitions.size, tags)
        self.new_gauge("DeadThreadCount", self._dead_thread_count, tags)

    def _max_lag(self) -> int:
        threads = list(self.fetcher_thread_map.values())
        return max((lag for t in threads for lag in t.fetcher_lag_stats.lags()), default=0)

    def _min_fetch_rate(self) -> float:
        threads = list(self.fetcher_thread_map.values())
        return min((t.fetcher_stats.request_rate.one_minute_rate for t in threads), default=0.0)

    def _dead_thread_count(self) -> int:
        return sum(map(_has_died, list(self.fetcher_thread_map.values())))

    def resize_thread_pool(self, new_size: int) -> None:
        """Change the number of threads per broker; every partition is assigned anew, since the hash changes."""
        with self._lock:
            current_size = self._num_fetchers_per_broker
            self.info("Resizing fetcher thread pool size from %d to %d", current_size, new_size)
            self._num_fetchers_per_broker = new_size
            if new_size != current_size:
                for thread_id, thread in list(self.fetcher_thread_map.items()):
                    removed_partitions = thread.partitions_and_offsets()
                    self.remove_fetcher_for_partitions(removed_partitions.keys())
                    if thread_id.fetcher_id >= new_size:
                        thread.shutdown()
                    self.add_fetcher_for_partitions(removed_partitions)
            self.shutdown_idle_fetcher_threads()

    def get_fetcher_id(self, topic: str, partition_id: int) -> int:
        """Which of a broker's threads fetches the partition."""
        with self._lock:
            return (31 * _java_hash(topic) + partition_id & 0x7FFFFFFF) % self._num_fetchers_per_broker

    def mark_partitions_for_truncation(
        self, broker_id: int, topic_partition: TopicPartition, truncation_offset: int
    ) -> None:
        """Have the thread of that partition truncate its log. Only for copies between log directories."""
        with self._lock:
            fetcher_id = self.get_fetcher_id(topic_partition.topic, topic_partition.partition)
            thread = self.fetcher_thread_map.get(BrokerIdAndFetcherId(broker_id, fetcher_id))
            if thread is not None:
                thread.mark_partitions_for_truncation(topic_partition, truncation_offset)

    @abstractmethod
    def create_fetcher_thread(self, fetcher_id: int, source_broker: BrokerEndPoint) -> FetcherThread:
        """A new thread, not yet started."""

    def add_fetcher_for_partitions(
        self, partition_and_offsets: Mapping[TopicPartition, BrokerAndInitialOffset]
    ) -> None:
        """Fetch the partitions from the given brokers; a thread that has died, or whose broker moved, is replaced."""
        with self._lock:
            per_fetcher: dict[BrokerAndFetcherId, dict[TopicPartition, BrokerAndInitialOffset]] = {}
            for tp, target in partition_and_offsets.items():
                fetcher = BrokerAndFetcherId(target.broker, self.get_fetcher_id(tp.topic, tp.partition))
                per_fetcher.setdefault(fetcher, {})[tp] = target
            # before a thread gets them: it may find at once that one of them fails
            self.failed_partitions.remove_all(partition_and_offsets)
            for fetcher, targets in per_fetcher.items():
                key = BrokerIdAndFetcherId(fetcher.broker.id, fetcher.fetcher_id)
                thread = self.fetcher_thread_map.get(key)
                if thread is not None and not _can_fetch_from(thread, fetcher.broker):
                    if _has_died(thread):
                        self.warn("%s has died; another thread takes over its partitions", thread.name)
                        targets = thread.partitions_and_offsets() | targets
                    thread.shutdown()
                    thread = None
                if thread is None:
                    thread = self.create_fetcher_thread(fetcher.fetcher_id, fetcher.broker)
                    self.fetcher_thread_map[key] = thread
                    thread.start()
                thread.add_partitions(
                    {tp: target.init_offset for tp, target in targets.items()},
                    {tp: target.leader_epoch for tp, target in targets.items()},
                )
        self.info(
            "Added fetcher for partitions %s",
            [
                f"[{tp}, initOffset {target.init_offset} to broker {target.broker}] "
                for tp, target in partition_and_offsets.items()
            ],
        )

    def remove_fetcher_for_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch the partitions no more. When this returns, no fetcher is writing to their logs."""
        partitions = set(partitions)
        with self._lock:
            for fetcher in self.fetcher_thread_map.values():
                fetcher.remove_partitions(partitions)
            self.failed_partitions.remove_all(partitions)
        self.info("Removed fetcher for partitions %s", ",".join(map(str, partitions)))

    def shutdown_idle_fetcher_threads(self) -> None:
        """Stop the threads without partitions."""
        with self._lock:
            for key, fetcher in list(self.fetcher_thread_map.items()):
                if fetcher.partition_count() <= 0:
                    fetcher.shutdown()
                    del self.fetcher_thread_map[key]

    def close_all_fetchers(self) -> None:
        """Stop all threads: first ask every one, then wait for each."""
        with self._lock:
            for fetcher in self.fetcher_thread_map.values():
                fetcher.initiate_shutdown()
            for fetcher in self.fetcher_thread_map.values():
                fetcher.shutdown()
            self.fetcher_thread_map.clear()


def _has_died(thread: FetcherThread) -> bool:
    """Whether the thread has ended although nobody asked it to."""
    return thread.is_shutdown_complete and thread.is_running


def _can_fetch_from(thread: FetcherThread, broker: BrokerEndPoint) -> bool:
    source = thread.source_broker
    return source.host == broker.host and source.port == broker.port and not _has_died(thread)


def _java_hash(text: str) -> int:
    """String.hashCode, so that partitions fall to the same threads as in Kafka."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = 31 * value + unit & 0xFFFFFFFF
    return value
