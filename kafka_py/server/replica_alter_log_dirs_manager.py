"""The threads that move replicas between the log directories of this broker (KIP-113).

Mirrors: core/src/main/scala/kafka/server/ReplicaAlterLogDirsManager.scala @ 1.1.1
Read next: server/abstract_fetcher_manager.py, server/replica_alter_log_dirs_thread.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.utils.time import Time
from kafka_py.server.abstract_fetcher_manager import AbstractFetcherManager

if TYPE_CHECKING:
    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.replica_alter_log_dirs_thread import ReplicaAlterLogDirsThread
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.replication_quota_manager import ReplicationQuotaManager


class ReplicaAlterLogDirsManager(AbstractFetcherManager):
    """Makes the ReplicaAlterLogDirsThreads, num.replica.alter.log.dirs.threads of them; all fetch from this broker.

    Mirrors: kafka.server.ReplicaAlterLogDirsManager
    """

    def __init__(
        self,
        broker_config: KafkaConfig,
        replica_manager: ReplicaManager,
        quota_manager: ReplicationQuotaManager,
        broker_topic_stats: BrokerTopicStats,
        time: Time = Time.SYSTEM,
    ) -> None:
        super().__init__(
            f"ReplicaAlterLogDirsManager on broker {broker_config.broker_id}",
            "ReplicaAlterLogDirs",
            broker_config.get_num_replica_alter_log_dirs_threads,
        )
        self._broker_config = broker_config
        self._replica_manager = replica_manager
        self._quota_manager = quota_manager
        self._broker_topic_stats = broker_topic_stats
        self._time = time

    def create_fetcher_thread(self, fetcher_id: int, source_broker: BrokerEndPoint) -> ReplicaAlterLogDirsThread:
        """A thread named ReplicaAlterLogDirsThread-{fetcher}."""
        # imported here: a broker that moves nothing never needs it
        from kafka_py.server.replica_alter_log_dirs_thread import ReplicaAlterLogDirsThread

        return ReplicaAlterLogDirsThread(
            f"ReplicaAlterLogDirsThread-{fetcher_id}",
            source_broker,
            self._broker_config,
            self.failed_partitions,
            self._replica_manager,
            self._quota_manager,
            self._broker_topic_stats,
            self._time,
        )

    def shutdown(self) -> None:
        """Stop all threads; what they have copied stays, and is gone on with at the next start."""
        self.info("shutting down")
        self.close_all_fetchers()
        self.info("shutdown completed")
