"""Builds the quota managers of a broker.

Mirrors: core/src/main/scala/kafka/server/QuotaFactory.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.client_quota_manager import ClientQuotaManager, ClientQuotaManagerConfig
from kafka_py.server.client_request_quota_manager import ClientRequestQuotaManager
from kafka_py.server.quota_type import QuotaType
from kafka_py.server.replication_quota_manager import ReplicationQuotaManager, ReplicationQuotaManagerConfig
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig

_LONG_MAX = 2**63 - 1
_DEPRECATED = (
    "%s has been deprecated in 0.11.0.0 and will be removed in a future release. Use dynamic quota defaults instead."
)


class _UnboundedQuota:
    """The quota of whoever has none.

    Mirrors: kafka.server.QuotaFactory.UnboundedQuota
    """

    def is_throttled(self, topic_partition: TopicPartition) -> bool:
        """Never."""
        return False

    def is_quota_exceeded(self) -> bool:
        """Never."""
        return False


class QuotaFactory(Logging):
    """Reads the quota options and builds the managers they describe.

    Mirrors: kafka.server.QuotaFactory
    """

    UnboundedQuota = _UnboundedQuota()

    class QuotaManagers(NamedTuple):
        """All quota managers of a broker.

        Mirrors: kafka.server.QuotaFactory.QuotaManagers
        """

        fetch: ClientQuotaManager
        produce: ClientQuotaManager
        request: ClientRequestQuotaManager
        leader: ReplicationQuotaManager
        follower: ReplicationQuotaManager
        alter_log_dirs: ReplicationQuotaManager

        def shutdown(self) -> None:
            """Stop the three that delay clients."""
            self.fetch.shutdown()
            self.produce.shutdown()
            self.request.shutdown()

    @classmethod
    def instantiate(
        cls, cfg: KafkaConfig, metrics: Metrics, time: Time, thread_name_prefix: str = ""
    ) -> QuotaFactory.QuotaManagers:
        """The managers for this configuration."""
        return cls.QuotaManagers(
            ClientQuotaManager(cls.client_fetch_config(cfg), metrics, QuotaType.Fetch, time, thread_name_prefix),
            ClientQuotaManager(cls.client_produce_config(cfg), metrics, QuotaType.Produce, time, thread_name_prefix),
            ClientRequestQuotaManager(cls.client_request_config(cfg), metrics, time, thread_name_prefix),
            ReplicationQuotaManager(cls.replication_config(cfg), metrics, QuotaType.LeaderReplication, time),
            ReplicationQuotaManager(cls.replication_config(cfg), metrics, QuotaType.FollowerReplication, time),
            ReplicationQuotaManager(
                cls.alter_log_dirs_replication_config(cfg), metrics, QuotaType.AlterLogDirsReplication, time
            ),
        )

    @classmethod
    def client_produce_config(cls, cfg: KafkaConfig) -> ClientQuotaManagerConfig:
        """The default quota of producers."""
        if cfg.producer_quota_bytes_per_second_default != _LONG_MAX:
            cls.logger.warn(_DEPRECATED, cfg.PRODUCER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP)
        return ClientQuotaManagerConfig(
            cfg.producer_quota_bytes_per_second_default, cfg.num_quota_samples, cfg.quota_window_size_seconds
        )

    @classmethod
    def client_fetch_config(cls, cfg: KafkaConfig) -> ClientQuotaManagerConfig:
        """The default quota of consumers."""
        if cfg.consumer_quota_bytes_per_second_default != _LONG_MAX:
            cls.logger.warn(_DEPRECATED, cfg.CONSUMER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP)
        return ClientQuotaManagerConfig(
            cfg.consumer_quota_bytes_per_second_default, cfg.num_quota_samples, cfg.quota_window_size_seconds
        )

    @classmethod
    def client_request_config(cls, cfg: KafkaConfig) -> ClientQuotaManagerConfig:
        """How request time is measured."""
        return ClientQuotaManagerConfig(_LONG_MAX, cfg.num_quota_samples, cfg.quota_window_size_seconds)

    @classmethod
    def replication_config(cls, cfg: KafkaConfig) -> ReplicationQuotaManagerConfig:
        """How replication is measured."""
        return ReplicationQuotaManagerConfig(
            _LONG_MAX, cfg.num_replication_quota_samples, cfg.replication_quota_window_size_seconds
        )

    @classmethod
    def alter_log_dirs_replication_config(cls, cfg: KafkaConfig) -> ReplicationQuotaManagerConfig:
        """How moves between log directories are measured."""
        return ReplicationQuotaManagerConfig(
            _LONG_MAX,
            cfg.num_alter_log_dirs_replication_quota_samples,
            cfg.alter_log_dirs_replication_quota_window_size_seconds,
        )


QuotaManagers = QuotaFactory.QuotaManagers
