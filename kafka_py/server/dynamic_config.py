"""Which settings may live in ZooKeeper, per kind of entity.

Mirrors: core/src/main/scala/kafka/server/DynamicConfig.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.errors import IllegalArgumentException
from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig
from kafka_py.server.kafka_config import KafkaConfig

_LONG, _DOUBLE = ConfigDef.Type.LONG, ConfigDef.Type.DOUBLE
_MEDIUM = ConfigDef.Importance.MEDIUM
_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


def _validate(config_def: ConfigDef, props: Mapping[str, Any], custom_props_allowed: bool) -> dict[str, Any]:
    """The typed values; raises IllegalArgumentException for an unknown name, ConfigException for a bad value."""
    if not custom_props_allowed:
        unknown = [name for name in props if name not in config_def.names()]
        if unknown:
            raise IllegalArgumentException(
                f"requirement failed: Unknown Dynamic Configuration: Set({', '.join(unknown)})."
            )
    return config_def.parse(props)


def _broker_config_def() -> ConfigDef:
    at_least_zero = ConfigDef.Range.at_least(0)
    broker_config_def = ConfigDef()
    for name, doc in (
        (Broker.LEADER_REPLICATION_THROTTLED_RATE_PROP, "Bytes per second that throttled leaders may send to replicas"),
        (Broker.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP, "Bytes per second that throttled followers may copy"),
        (
            Broker.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP,
            "Bytes per second that moves between log directories may read and write",
        ),
    ):
        broker_config_def.define(name, _LONG, Broker.DEFAULT_REPLICATION_THROTTLED_RATE, at_least_zero, _MEDIUM, doc)
    DynamicBrokerConfig.add_dynamic_configs(broker_config_def)
    return broker_config_def


def _client_config_def() -> ConfigDef:
    return (
        ConfigDef()
        .define(Client.PRODUCER_BYTE_RATE_OVERRIDE_PROP, _LONG, _LONG_MAX, None, _MEDIUM, "Bytes per second to produce")
        .define(Client.CONSUMER_BYTE_RATE_OVERRIDE_PROP, _LONG, _LONG_MAX, None, _MEDIUM, "Bytes per second to fetch")
        .define(
            Client.REQUEST_PERCENTAGE_OVERRIDE_PROP,
            _DOUBLE,
            float(_INT_MAX),
            None,
            _MEDIUM,
            "Percentage of one thread's time for requests",
        )
    )


class Broker:
    """What /config/brokers may hold: what can change at run time, and rates that exist nowhere else.

    Mirrors: kafka.server.DynamicConfig.Broker
    """

    LEADER_REPLICATION_THROTTLED_RATE_PROP = "leader.replication.throttled.rate"
    FOLLOWER_REPLICATION_THROTTLED_RATE_PROP = "follower.replication.throttled.rate"
    REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP = "replica.alter.log.dirs.io.max.bytes.per.second"
    DEFAULT_REPLICATION_THROTTLED_RATE = _LONG_MAX

    _config_def: ConfigDef | None = None

    @classmethod
    def _definition(cls) -> ConfigDef:
        if cls._config_def is None:
            cls._config_def = _broker_config_def()
        return cls._config_def

    @classmethod
    def names(cls) -> set[str]:
        """The settings that may change."""
        return cls._definition().names()

    @classmethod
    def non_dynamic_props(cls) -> set[str]:
        """The broker's options that may not."""
        return KafkaConfig.CONFIG_DEF.names() - cls.names()

    @classmethod
    def validate(cls, props: Mapping[str, Any]) -> dict[str, Any]:
        """The typed values; other names may be anybody's own."""
        return _validate(cls._definition(), props, custom_props_allowed=True)


class Client:
    """What /config/clients may hold.

    Mirrors: kafka.server.DynamicConfig.Client
    """

    PRODUCER_BYTE_RATE_OVERRIDE_PROP = "producer_byte_rate"
    CONSUMER_BYTE_RATE_OVERRIDE_PROP = "consumer_byte_rate"
    REQUEST_PERCENTAGE_OVERRIDE_PROP = "request_percentage"

    @classmethod
    def names(cls) -> set[str]:
        """The quotas."""
        return _client_config_def().names()

    @classmethod
    def validate(cls, props: Mapping[str, Any]) -> dict[str, Any]:
        """The typed values."""
        return _validate(_client_config_def(), props, custom_props_allowed=False)


class User:
    """What /config/users may hold: quotas and SCRAM credentials.

    Mirrors: kafka.server.DynamicConfig.User
    """

    SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")

    @classmethod
    def _definition(cls) -> ConfigDef:
        definition = _client_config_def()
        for name in cls.SCRAM_MECHANISMS:
            definition.define(name, ConfigDef.Type.STRING, None, None, _MEDIUM, f"User credentials for {name}")
        return definition

    @classmethod
    def names(cls) -> set[str]:
        """Quotas and mechanisms."""
        return cls._definition().names()

    @classmethod
    def validate(cls, props: Mapping[str, Any]) -> dict[str, Any]:
        """The typed values."""
        return _validate(cls._definition(), props, custom_props_allowed=False)


class DynamicConfig:
    """The three kinds under one name.

    Mirrors: kafka.server.DynamicConfig
    """

    Broker = Broker
    Client = Client
    User = User
    validate = staticmethod(_validate)
