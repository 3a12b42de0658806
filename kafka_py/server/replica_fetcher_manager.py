"""The fetcher threads with which this broker follows.

Mirrors: core/src/main/scala/kafka/server/ReplicaFetcherManager.scala @ 1.1.1
Read next: server/abstract_fetcher_manager.py, server/replica_fetcher_thread.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.server.abstract_fetcher_manager import AbstractFetcherManager

if TYPE_CHECKING:
    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicationQuotaManager


class ReplicaFetcherManager(AbstractFetcherManager):
    """Makes a ReplicaFetcherThread for each leader that this broker follows, num.replica.fetchers of them.

    Mirrors: kafka.server.ReplicaFetcherManager
    """

    def __init__(
        self,
        broker_config: KafkaConfig,
        replica_manager: ReplicaManager,
        metrics: Metrics,
        time: Time,
        thread_name_prefix: str | None,
        quota_manager: ReplicationQuotaManager,
    ) -> None:
        super().__init__(
            f"ReplicaFetcherManager on broker {broker_config.broker_id}", "Replica", broker_config.num_replica_fetchers
        )
        self._broker_config = broker_config
        self._replica_manager = replica_manager
        self._metrics = metrics
        self._time = time
        self._thread_name_prefix = thread_name_prefix
        self._quota_manager = quota_manager

    def create_fetcher_thread(self, fetcher_id: int, source_broker: BrokerEndPoint) -> ReplicaFetcherThread:
        """A thread named ReplicaFetcherThread-{fetcher}-{leader}."""
        # imported here: a broker that follows nobody never needs the network client
        from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread

        prefix = "" if self._thread_name_prefix is None else f"{self._thread_name_prefix}:"
        return ReplicaFetcherThread(
            f"{prefix}ReplicaFetcherThread-{fetcher_id}-{source_broker.id}",
            fetcher_id,
            source_broker,
            self._broker_config,
            self.failed_partitions,
            self._replica_manager,
            self._metrics,
            self._time,
            self._quota_manager,
        )

    def shutdown(self) -> None:
        """Stop all threads."""
        self.info("shutting down")
        self.close_all_fetchers()
        self.info("shutdown completed")
