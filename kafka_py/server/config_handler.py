"""What happens when the configuration of a topic or broker changes in ZooKeeper.

Mirrors: core/src/main/scala/kafka/server/ConfigHandler.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_py.api.api_version import ApiVersion
from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.metrics.quota import Quota
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.log.log_config import LogConfig, ThrottledReplicaListValidator
from kafka_py.server.config_type import ConfigEntityName
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.server.replication_quota_manager import Constants
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.log.log_manager import LogManager
    from kafka_py.security.credential_provider import CredentialProvider
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.quota_factory import QuotaFactory
    from kafka_py.server.replication_quota_manager import ReplicationQuotaManager


class ConfigHandler(Protocol):
    """Takes over the new configuration of one kind of entity.

    Mirrors: kafka.server.ConfigHandler
    """

    def process_config_changes(self, entity_name: str, value: Mapping[str, str]) -> None:
        """All settings of the entity as they are now."""


class TopicConfigHandler(Logging):
    """Gives topics' settings to their logs, and throttled partitions to the replication quotas.

    Mirrors: kafka.server.TopicConfigHandler
    Thread: /config/changes-event-process-thread.
    """

    def __init__(self, log_manager: LogManager, kafka_config: KafkaConfig, quotas: QuotaFactory.QuotaManagers) -> None:
        """Work on these."""
        self._log_manager = log_manager
        self._kafka_config = kafka_config
        self.quotas = quotas

    def process_config_changes(self, topic: str, topic_config: Mapping[str, str]) -> None:
        """Replace the configuration of the topic's logs here."""
        excluded = self.excluded_configs(topic, topic_config)
        self._log_manager.topic_config_updated(topic)
        logs = self._log_manager.logs_by_topic(topic)
        if logs:
            props = {name: value for name, value in topic_config.items() if name not in excluded}
            log_config = LogConfig.from_props(self._log_manager.current_default_config.originals(), props)
            for log in logs:
                log.update_config(set(topic_config), log_config)
        self._update_throttled_list(
            topic, topic_config, LogConfig.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP, self.quotas.leader
        )
        self._update_throttled_list(
            topic, topic_config, LogConfig.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP, self.quotas.follower
        )

    def _update_throttled_list(
        self, topic: str, topic_config: Mapping[str, str], prop: str, quota_manager: ReplicationQuotaManager
    ) -> None:
        broker_id = self._kafka_config.broker_id
        if topic_config.get(prop):
            partitions = self.parse_throttled_partitions(topic_config, broker_id, prop)
            quota_manager.mark_throttled(topic, partitions)
            self.debug("Setting %s on broker %s for topic: %s and partitions %s", prop, broker_id, topic, partitions)
        else:
            quota_manager.remove_throttle(topic)
            self.debug("Removing %s from broker %s for topic %s", prop, broker_id, topic)

    def parse_throttled_partitions(self, topic_config: Mapping[str, str], broker_id: int, prop: str) -> Sequence[int]:
        """This broker's partitions out of partition:broker pairs; `*` stands for all."""
        value = topic_config[prop].strip()
        ThrottledReplicaListValidator.ensure_valid_string(prop, value)
        if value == "*":
            return Constants.ALL_REPLICAS
        pairs = [pair.split(":") for pair in value.split(",") if pair]
        return [int(partition) for partition, broker in pairs if int(broker) == broker_id]

    def excluded_configs(self, topic: str, topic_config: Mapping[str, str]) -> set[str]:
        """Settings to leave out: a record format that brokers of an older protocol could not read."""
        name = LogConfig.MESSAGE_FORMAT_VERSION_PROP
        version = topic_config.get(name)
        config = self._kafka_config
        if version is None or config.inter_broker_protocol_version >= ApiVersion.apply(version):
            return set()
        self.warn(
            "Log configuration %s is ignored for `%s` because `%s` is not compatible with Kafka inter-broker protocol "
            "version `%s`",
            name,
            topic,
            version,
            config.inter_broker_protocol_version_string,
        )
        return {name}


class QuotaConfigHandler:
    """Gives the quotas of users and clients to their managers.

    Mirrors: kafka.server.QuotaConfigHandler
    Thread: /config/changes-event-process-thread.
    """

    def __init__(self, quota_managers: QuotaFactory.QuotaManagers) -> None:
        """Work on these."""
        self._quota_managers = quota_managers

    def update_quota_config(
        self, sanitized_user: str | None, sanitized_client_id: str | None, config: Mapping[str, str]
    ) -> None:
        """Take over the three quotas; one that is not in the config is removed."""
        client_id = None if sanitized_client_id is None else Sanitizer.desanitize(sanitized_client_id)
        names, managers = DynamicConfig.Client, self._quota_managers
        for prop, manager in (
            (names.PRODUCER_BYTE_RATE_OVERRIDE_PROP, managers.produce),
            (names.CONSUMER_BYTE_RATE_OVERRIDE_PROP, managers.fetch),
            (names.REQUEST_PERCENTAGE_OVERRIDE_PROP, managers.request),
        ):
            quota = Quota.upper_bound(float(config[prop])) if prop in config else None
            manager.update_quota(sanitized_user, client_id, sanitized_client_id, quota)


class ClientIdConfigHandler(QuotaConfigHandler):
    """Quotas of client ids.

    Mirrors: kafka.server.ClientIdConfigHandler
    """

    def process_config_changes(self, sanitized_client_id: str, client_config: Mapping[str, str]) -> None:
        """The quotas of that (sanitized) client id as they are now."""
        self.update_quota_config(None, sanitized_client_id, client_config)


class UserConfigHandler(QuotaConfigHandler):
    """Quotas of users, and of clients of users; the users' SCRAM credentials.

    Mirrors: kafka.server.UserConfigHandler
    """

    def __init__(self, quota_managers: QuotaFactory.QuotaManagers, credential_provider: CredentialProvider) -> None:
        """Work on these."""
        super().__init__(quota_managers)
        self.credential_provider = credential_provider

    def process_config_changes(self, quota_entity_path: str, config: Mapping[str, str]) -> None:
        """The settings of `user` or `user/clients/client`; raises IllegalArgumentException for another path."""
        entities = quota_entity_path.split("/")
        if len(entities) not in (1, 3):
            raise IllegalArgumentException(f"Invalid quota entity path: {quota_entity_path}")
        sanitized_user = entities[0]
        sanitized_client_id = entities[2] if len(entities) == 3 else None
        self.update_quota_config(sanitized_user, sanitized_client_id, config)
        if sanitized_client_id is None and sanitized_user != ConfigEntityName.DEFAULT:
            self.credential_provider.update_credentials(Sanitizer.desanitize(sanitized_user), config)


class BrokerConfigHandler(Logging):
    """Gives brokers' settings to the dynamic configuration, and rates to the replication quotas.

    Mirrors: kafka.server.BrokerConfigHandler
    Thread: /config/changes-event-process-thread.
    """

    def __init__(self, broker_config: KafkaConfig, quota_managers: QuotaFactory.QuotaManagers) -> None:
        """Work on these."""
        self._broker_config = broker_config
        self._quota_managers = quota_managers

    def process_config_changes(self, broker_id: str, properties: Mapping[str, str]) -> None:
        """Take over the settings of all brokers, or of this one."""
        config = self._broker_config
        if broker_id == ConfigEntityName.DEFAULT:
            config.dynamic_config.update_default_config(properties)
            return
        if config.broker_id != int(broker_id.strip()):
            return
        config.dynamic_config.update_broker_config(config.broker_id, properties)
        names = DynamicConfig.Broker
        for prop, quota in (
            (names.LEADER_REPLICATION_THROTTLED_RATE_PROP, self._quota_managers.leader),
            (names.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP, self._quota_managers.follower),
            (names.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP, self._quota_managers.alter_log_dirs),
        ):
            rate = int(properties.get(prop, names.DEFAULT_REPLICATION_THROTTLED_RATE))
            quota.update_quota(Quota.upper_bound(rate))
