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


class BrokerIdAndFetcherId(NamedTuple):
    """Which thread.

    Mirrors: kafka.server.BrokerIdAndFetcherId
    """

    broker_id: int
    fetcher_id: int


class AbstractFetcherManager(KafkaMetricsGroup, ABC):
    """Starts, feeds and stops fetcher threads; a partition's hash decides which thread of its broker fetches it.

    Mirrors: kafka.server.AbstractFetcherManager
    Thread: request handlers and scheduler, one at a time under _lock
    """

    def __init__(self, name: str, client_id: str, num_fetchers: int = 1) -> None:
        self.name = name  # const
        self._lock = ReentrantLock()
        # gauges read it without the lock, from a copy
        self.fetcher_thread_map: dict[BrokerIdAndFetcherId, FetcherThread] = {}  # volatile: holder of _lock
        self._num_fetchers_per_broker = num_fetchers  # guarded by: _lock
        self.log_ident = f"[{name}] "  # const
        self.new_gauge("MaxLag", self._max_lag, {"clientId": client_id})
        self.new_gauge("MinFetchRate", self._min_fetch_rate, {"clientId": client_id})

    def _max_lag(self) -> int:
        threads = list(self.fetcher_thread_map.values())
        return max((lag for t in threads for lag in t.fetcher_lag_stats.lags()), default=0)

    def _min_fetch_rate(self) -> float:
        threads = list(self.fetcher_thread_map.values())
        return min((t.fetcher_stats.request_rate.one_minute_rate for t in threads), default=0.0)

    def resize_thread_pool(self, new_size: int) -> None:
        """Change the number of threads per broker; every partition is assigned anew, since the hash changes."""
        with self._lock:
            current_size = self._num_fetchers_per_broker
            self.info("Resizing fetcher thread pool size from %d to %d", current_size, new_size)
            self._num_fetchers_per_broker = new_size
            if new_size != current_size:
                for thread_id, thread in list(self.fetcher_thread_map.items()):
                    removed_partitions = thread.partitions_and_offsets
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
        """Fetch the partitions from the given brokers; a thread whose broker has moved is replaced."""
        with self._lock:
            per_fetcher: dict[BrokerAndFetcherId, dict[TopicPartition, int]] = {}
            for tp, target in partition_and_offsets.items():
                fetcher = BrokerAndFetcherId(target.broker, self.get_fetcher_id(tp.topic, tp.partition))
                per_fetcher.setdefault(fetcher, {})[tp] = target.init_offset
            for fetcher, initial_fetch_offsets in per_fetcher.items():
                key = BrokerIdAndFetcherId(fetcher.broker.id, fetcher.fetcher_id)
                thread = self.fetcher_thread_map.get(key)
                if thread is not None and not (
                    thread.source_broker.host == fetcher.broker.host
                    and thread.source_broker.port == fetcher.broker.port
                ):
                    thread.shutdown()
                    thread = None
                if thread is None:
                    thread = self.create_fetcher_thread(fetcher.fetcher_id, fetcher.broker)
                    self.fetcher_thread_map[key] = thread
                    thread.start()
                thread.add_partitions(initial_fetch_offsets)
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


def _java_hash(text: str) -> int:
    """String.hashCode, so that partitions fall to the same threads as in Kafka."""
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = 31 * value + unit & 0xFFFFFFFF
    return value
