"""Tells and changes the configuration of topics and brokers.

Mirrors: core/src/main/scala/kafka/server/AdminManager.scala @ 1.1.1 (describeConfigs, alterConfigs and their helpers;
         since 2.8 the first is ConfigHelper's)
Read next: server/dynamic_config_manager.py (how a change reaches the brokers), server/dynamic_broker_config.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.config_resource import ConfigResource
from kafka_py.common.errors import ApiException, ConfigException, InvalidRequestException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig
from kafka_py.server.policy.alter_config_policy import AlterConfigPolicy
from kafka_py.utils.core_utils import swallow
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.config.abstract_config import AbstractConfig
    from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
    from kafka_py.common.requests.resource import Resource
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.zk.admin_zk_client import AdminZkClient

_Config = DescribeConfigsResponse.Config
_ConfigEntry = DescribeConfigsResponse.ConfigEntry
_ConfigSource = DescribeConfigsResponse.ConfigSource
_ConfigSynonym = DescribeConfigsResponse.ConfigSynonym


class ConfigHelper(Logging):
    """The part of AdminManager that deals with configurations.

    Mirrors: core/src/main/scala/kafka/server/ConfigHelper.scala/ConfigHelper @ 3.7.1
    Thread: request handlers.
    Differs: alters configurations as well, which ZkAdminManager does there.
    """

    logger_name: ClassVar[str] = "kafka.server.AdminManager"

    def __init__(self, log_ident: str, config: KafkaConfig, admin_zk_client: AdminZkClient) -> None:
        self.log_ident = log_ident
        self._config = config
        self._admin_zk_client = admin_zk_client
        self._alter_config_policy = config.get_configured_instance(
            config.ALTER_CONFIG_POLICY_CLASS_NAME_PROP,
            AlterConfigPolicy,  # type: ignore[type-abstract]  # stands for its subclasses
        )

    def close(self) -> None:
        """End the policy."""
        if self._alter_config_policy is not None:
            swallow(self._alter_config_policy.close, self)

    # -- DescribeConfigs --------------------------------------------------------------------------------------------

    def describe_configs(
        self, resource_to_config_names: Mapping[Resource, set[str] | None], include_synonyms: bool
    ) -> dict[Resource, DescribeConfigsResponse.Config]:
        """The settings of topics and of this broker (by its id; the empty name stands for the cluster's defaults).

        resource_to_config_names: the settings wanted of each resource, None for all. What is wrong with a resource
        becomes its answer.
        """
        result = {}
        for resource, config_names in resource_to_config_names.items():
            try:
                result[resource] = self._describe(resource, config_names, include_synonyms)
            except Exception as e:  # noqa: BLE001 -- one resource's failure is an answer, not the end of the request
                # What a client did wrong is worth less noise than what we did.
                log = self.info if isinstance(e, ApiException) else self.error
                log("Error processing describe configs request for resource %s", resource, exc=e)
                result[resource] = _Config(ApiError.from_throwable(e), [])
        return result

    def _describe(self, resource: Resource, config_names: set[str] | None, include_synonyms: bool) -> _Config:
        name = resource.name()
        if resource.type() is ResourceType.TOPIC:
            Topic.validate(name)
            # Asked from ZooKeeper, for this broker may have no log of the topic.
            topic_props = self._admin_zk_client.fetch_entity_config(ConfigType.TOPIC, name)
            log_config = LogConfig.from_props(self._log_defaults(), topic_props)
            return self._create_response_config(
                self._all_configs(log_config),
                config_names,
                lambda key, value: self._create_topic_config_entry(
                    log_config, topic_props, include_synonyms, key, value
                ),
            )
        if resource.type() is ResourceType.BROKER:
            per_broker_config = bool(name)
            if not per_broker_config:
                configs: Mapping[str, Any] = self._config.dynamic_config.current_dynamic_default_configs()
            elif self._resource_name_to_broker_id(name) == self._config.broker_id:
                configs = self._all_configs(self._config)
            else:
                raise InvalidRequestException(
                    f"Unexpected broker id, expected {self._config.broker_id} or empty string, but received {name}"
                )
            return self._create_response_config(
                configs,
                config_names,
                lambda key, value: self._create_broker_config_entry(per_broker_config, include_synonyms, key, value),
            )
        raise InvalidRequestException(f"Unsupported resource type: {resource.type()}")

    def _log_defaults(self) -> dict[str, Any]:
        # Imported late: it needs this module.
        from kafka_py.server.kafka_server import KafkaServer

        return KafkaServer.copy_kafka_config_to_log(self._config)

    @staticmethod
    def _all_configs(config: AbstractConfig) -> dict[str, Any]:
        """What was given, known or not, and the typed values of all known settings."""
        given = {name: value for name, value in config.originals().items() if value is not None}
        return {**given, **config.values()}

    @staticmethod
    def _create_response_config(
        configs: Mapping[str, Any],
        config_names: set[str] | None,
        create_config_entry: Callable[[str, Any], DescribeConfigsResponse.ConfigEntry],
    ) -> _Config:
        """The answer for one resource; config_names: the settings wanted, None for all."""
        return _Config(
            ApiError.NONE,
            [
                create_config_entry(name, value)
                for name, value in configs.items()
                if config_names is None or name in config_names
            ],
        )

    def _create_topic_config_entry(
        self, log_config: LogConfig, topic_props: Mapping[str, str], include_synonyms: bool, name: str, value: Any
    ) -> _ConfigEntry:
        """A topic's setting: what the topic says itself stands before what the broker's options say."""
        config_entry_type = log_config.type_of(name)
        is_sensitive = config_entry_type is ConfigDef.Type.PASSWORD
        value_as_string = None if is_sensitive else ConfigDef.convert_to_string(value, config_entry_type)
        all_synonyms = []
        if name in topic_props:
            all_synonyms.append(_ConfigSynonym(name, value_as_string, _ConfigSource.TOPIC_CONFIG))
        broker_name = LogConfig.TOPIC_CONFIG_SYNONYMS.get(name)
        if broker_name is not None:
            all_synonyms += self._config_synonyms(broker_name, self._broker_synonyms(broker_name), is_sensitive)
        source = all_synonyms[0].source if all_synonyms else _ConfigSource.DEFAULT_CONFIG
        synonyms = all_synonyms if include_synonyms else []
        return _ConfigEntry(name, value_as_string, source, is_sensitive, False, synonyms)

    def _create_broker_config_entry(
        self, per_broker_config: bool, include_synonyms: bool, name: str, value: Any
    ) -> _ConfigEntry:
        """A broker's setting; one of unknown type may be a secret and is treated as such."""
        all_names = self._broker_synonyms(name)
        config_entry_type = self._config_type(name, all_names)
        is_sensitive = config_entry_type is ConfigDef.Type.PASSWORD or config_entry_type is None
        if is_sensitive:
            value_as_string = None
        elif isinstance(value, str):
            value_as_string = value
        else:
            value_as_string = ConfigDef.convert_to_string(value, config_entry_type)
        all_synonyms = [
            synonym
            for synonym in self._config_synonyms(name, all_names, is_sensitive)
            if per_broker_config or synonym.source is _ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        ]
        source = all_synonyms[0].source if all_synonyms else _ConfigSource.DEFAULT_CONFIG
        read_only = DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS.isdisjoint(all_names)
        synonyms = all_synonyms if include_synonyms else []
        return _ConfigEntry(name, value_as_string, source, is_sensitive, read_only, synonyms)

    @staticmethod
    def _broker_synonyms(name: str) -> list[str]:
        return DynamicBrokerConfig.broker_config_synonyms(name, match_listener_override=True)

    def _config_type(self, name: str, synonyms: list[str]) -> ConfigDef.Type | None:
        """The type of a setting or of the general one behind a listener's; None for one nobody defined."""
        for known in (name, *synonyms):
            config_type = self._config.type_of(known)
            if config_type is not None:
                return config_type
        return None

    def _config_synonyms(self, name: str, synonyms: list[str], is_sensitive: bool) -> list[_ConfigSynonym]:
        """Every place that sets the broker option or a synonym of it, the one that counts first."""
        dynamic_config = self._config.dynamic_config
        all_synonyms: list[_ConfigSynonym] = []
        for configs, source in (
            (dynamic_config.current_dynamic_broker_configs(), _ConfigSource.DYNAMIC_BROKER_CONFIG),
            (dynamic_config.current_dynamic_default_configs(), _ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (dynamic_config.static_broker_configs, _ConfigSource.STATIC_BROKER_CONFIG),
            (dynamic_config.static_default_configs, _ConfigSource.DEFAULT_CONFIG),
        ):
            for synonym in synonyms:
                self._maybe_add_synonym(all_synonyms, synonym, configs, source, is_sensitive)
        # A synonym that stands before the setting itself does not count for it: a listener's for the general one.
        first = next((i for i, synonym in enumerate(all_synonyms) if synonym.name == name), len(all_synonyms))
        return all_synonyms[first:]

    @staticmethod
    def _maybe_add_synonym(
        all_synonyms: list[_ConfigSynonym],
        name: str,
        configs: Mapping[str, str],
        source: DescribeConfigsResponse.ConfigSource,
        is_sensitive: bool,
    ) -> None:
        value = configs.get(name)
        if value is not None:
            all_synonyms.append(_ConfigSynonym(name, None if is_sensitive else value, source))

    # -- AlterConfigs -----------------------------------------------------------------------------------------------

    def alter_configs(
        self, configs: Mapping[Resource, AlterConfigsRequest.Config], validate_only: bool
    ) -> dict[Resource, ApiError]:
        """Replace all settings of topics, of this broker, or (empty name) of all brokers; or just check them."""
        result = {}
        for resource, config in configs.items():
            try:
                self._alter(resource, config, validate_only)
                result[resource] = ApiError.NONE
            except (ConfigException, ValueError) as e:
                message = f"Invalid config value for resource {resource}: {e}"
                self.info("%s", message)
                result[resource] = ApiError.from_throwable(InvalidRequestException(message))
            except Exception as e:  # noqa: BLE001 -- one resource's failure is an answer, not the end of the request
                # What a client did wrong is worth less noise than what we did; values may be secrets.
                log = self.info if isinstance(e, ApiException) else self.error
                names = [entry.name for entry in config.entries]
                log("Error processing alter configs request for resource %s, config %s", resource, names, exc=e)
                result[resource] = ApiError.from_throwable(e)
        return result

    def _alter(self, resource: Resource, config: AlterConfigsRequest.Config, validate_only: bool) -> None:
        name = resource.name()
        if resource.type() is ResourceType.TOPIC:
            topic_props = properties({entry.name: entry.value for entry in config.entries})
            self._admin_zk_client.validate_topic_config(name, topic_props)
            self._validate_config_policy(ConfigResource.Type.TOPIC, name, config)
            if not validate_only:
                self._admin_zk_client.change_topic_config(name, topic_props)
        elif resource.type() is ResourceType.BROKER:
            broker_id = self._resource_name_to_broker_id(name) if name else None
            if broker_id not in (None, self._config.broker_id):
                raise InvalidRequestException(
                    f"Unexpected broker id, expected {self._config.broker_id}, but received {name}"
                )
            per_broker_config = broker_id is not None
            config_props = properties({entry.name: entry.value for entry in config.entries})
            dynamic_config = self._config.dynamic_config
            dynamic_config.validate(config_props, per_broker_config)
            self._validate_config_policy(ConfigResource.Type.BROKER, name, config)
            if not validate_only:
                self._admin_zk_client.change_broker_config(
                    broker_id, dynamic_config.to_persistent_props(config_props, per_broker_config)
                )
        else:
            raise InvalidRequestException(
                f"AlterConfigs is only supported for topics and brokers, but resource type is {resource.type()}"
            )

    def _validate_config_policy(
        self, resource_type: ConfigResource.Type, name: str, config: AlterConfigsRequest.Config
    ) -> None:
        policy = self._alter_config_policy
        if policy is not None:
            configs = {entry.name: entry.value for entry in config.entries}
            policy.validate(AlterConfigPolicy.RequestMetadata(ConfigResource(resource_type, name), configs))

    @staticmethod
    def _resource_name_to_broker_id(resource_name: str) -> int:
        try:
            return int(resource_name)
        except ValueError as e:
            raise InvalidRequestException(f"Broker id must be an integer, but it is: {resource_name}") from e


def properties(configs: Mapping[str, str | None]) -> dict[str, str]:
    """As java.util.Properties takes them, which refuses null with a NullPointerException (answered as UNKNOWN)."""
    result = {}
    for name, value in configs.items():
        if value is None:
            raise TypeError(f"null value for config {name}")
        result[name] = value
    return result
