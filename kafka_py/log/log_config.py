"""The configuration of one log: topic overrides on top of the broker's defaults.

Mirrors: core/src/main/scala/kafka/log/LogConfig.scala @ 1.1.1
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping
from typing import Any

from kafka_py.api.api_version import ApiVersion
from kafka_py.common.config.abstract_config import AbstractConfig
from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.topic_config import TopicConfig
from kafka_py.common.errors import ConfigException, InvalidConfigurationException
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.message.compression_codec import BrokerCompressionCodec

_LONG_MAX = 2**63 - 1
_HOUR_MS = 60 * 60 * 1000
_MIN_INDEX_SIZE = 24  # two entries of the time index, which keeps one for the end of the segment
_MIN_MESSAGE_OVERHEAD = 14  # an empty message of the oldest format: Message.MinMessageOverhead


class Defaults:
    """What a log has if neither topic nor broker says otherwise.

    Mirrors: kafka.log.Defaults
    """

    SEGMENT_SIZE = 1024 * 1024 * 1024
    SEGMENT_MS = 24 * 7 * _HOUR_MS
    SEGMENT_JITTER_MS = 0
    FLUSH_INTERVAL = _LONG_MAX
    FLUSH_MS = _LONG_MAX
    RETENTION_SIZE = -1
    RETENTION_MS = 24 * 7 * _HOUR_MS
    MAX_MESSAGE_SIZE = 1000000 + 12
    MAX_INDEX_SIZE = 10 * 1024 * 1024
    INDEX_INTERVAL = 4096
    FILE_DELETE_DELAY_MS = 60000
    DELETE_RETENTION_MS = 24 * _HOUR_MS
    MIN_COMPACTION_LAG_MS = 0
    MIN_CLEANABLE_DIRTY_RATIO = 0.5
    COMPACT = "delete"  # misnamed in Kafka, too: it is the clean-up policy
    CLEANUP_POLICY = "delete"
    UNCLEAN_LEADER_ELECTION_ENABLE = False
    MIN_IN_SYNC_REPLICAS = 1
    COMPRESSION_TYPE = "producer"
    PRE_ALLOCATE_ENABLE = False
    MESSAGE_FORMAT_VERSION = "2.5-IV0"
    MESSAGE_TIMESTAMP_TYPE = "CreateTime"
    MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = _LONG_MAX
    LEADER_REPLICATION_THROTTLED_REPLICAS: tuple[str, ...] = ()
    FOLLOWER_REPLICATION_THROTTLED_REPLICAS: tuple[str, ...] = ()


class ThrottledReplicaListValidator:
    """`*`, or a list of partition:broker pairs.

    Mirrors: kafka.server.ThrottledReplicaListValidator
    Differs: lives here and not in server/config_handler.py, which needs LogConfig itself.
    """

    _PAIR = re.compile(r"([0-9]+:[0-9]+)?")

    @classmethod
    def ensure_valid_string(cls, name: str, value: str) -> None:
        """As `ensure_valid` for a comma-separated text."""
        cls().ensure_valid(name, [part.strip() for part in value.split(",")])

    def ensure_valid(self, name: str, value: Any) -> None:
        """Raise ConfigException unless `value` is a list of that form."""
        if not isinstance(value, list | tuple):
            raise ConfigException(name, value, f"{name} must be a List but was {type(value).__name__}")
        proposed = [str(part).strip() for part in value]
        if not all(map(self._PAIR.fullmatch, proposed)) and proposed[0] != "*":
            raise ConfigException(
                name,
                value,
                f"{name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId],[brokerId]:[partitionId],[brokerId]:...",
            )

    def __str__(self) -> str:
        return "[partitionId],[brokerId]:[partitionId],[brokerId]:..."


class ApiVersionValidator:
    """The name of a version that ApiVersion knows. Kafka has this class since 2.1."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Raise ConfigException unless `value` is such a name."""
        try:
            ApiVersion.apply(value)
        except ValueError as e:
            raise ConfigException(name, value, str(e)) from e

    def __str__(self) -> str:
        return "a version such as 0.10.2 or 1.1-IV0"


class LogConfigDef(ConfigDef):
    """Option table that also knows which broker option gives each topic option its default.

    Mirrors: kafka.log.LogConfig.LogConfigDef
    """

    def __init__(self) -> None:
        super().__init__()
        self._server_default_config_names: dict[str, str] = {}

    def define_topic_config(
        self,
        name: str,
        type_: ConfigDef.Type,
        default_value: Any,
        validator: ConfigDef.Validator | None,
        doc: str,
        server_default_config_name: str,
    ) -> None:
        """Add an option of medium importance, as all topic options are."""
        self.define(name, type_, default_value, validator, ConfigDef.Importance.MEDIUM, doc)
        self._server_default_config_names[name] = server_default_config_name

    def headers(self) -> list[str]:
        """Columns of the documentation table."""
        return ["Name", "Description", "Type", "Default", "Valid Values", "Server Default Property", "Importance"]

    def get_config_value(self, key: ConfigDef.ConfigKey, header_name: str) -> str:
        """One cell of the documentation table."""
        if header_name == "Server Default Property":
            return self._server_default_config_names[key.name]
        return super().get_config_value(key, header_name)

    def server_config_name(self, config_name: str) -> str | None:
        """The broker option behind a topic option."""
        return self._server_default_config_names.get(config_name)


class LogConfig(AbstractConfig):
    """The typed options of one log; a new object replaces it when they change.

    Mirrors: kafka.log.LogConfig
    Thread: any; immutable.
    Differs: a message format or timestamp type that does not exist is refused before it gets to ZooKeeper, as from
        2.1 on, and indexes have room for an entry however small segment.index.bytes is: in 1.1.1 a topic made with
        such options can keep brokers from starting, and with an index too small each append leaks a file.
    """

    SEGMENT_BYTES_PROP = TopicConfig.SEGMENT_BYTES_CONFIG
    SEGMENT_MS_PROP = TopicConfig.SEGMENT_MS_CONFIG
    SEGMENT_JITTER_MS_PROP = TopicConfig.SEGMENT_JITTER_MS_CONFIG
    SEGMENT_INDEX_BYTES_PROP = TopicConfig.SEGMENT_INDEX_BYTES_CONFIG
    FLUSH_MESSAGES_PROP = TopicConfig.FLUSH_MESSAGES_INTERVAL_CONFIG
    FLUSH_MS_PROP = TopicConfig.FLUSH_MS_CONFIG
    RETENTION_BYTES_PROP = TopicConfig.RETENTION_BYTES_CONFIG
    RETENTION_MS_PROP = TopicConfig.RETENTION_MS_CONFIG
    MAX_MESSAGE_BYTES_PROP = TopicConfig.MAX_MESSAGE_BYTES_CONFIG
    INDEX_INTERVAL_BYTES_PROP = TopicConfig.INDEX_INTERVAL_BYTES_CONFIG
    DELETE_RETENTION_MS_PROP = TopicConfig.DELETE_RETENTION_MS_CONFIG
    MIN_COMPACTION_LAG_MS_PROP = TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG
    FILE_DELETE_DELAY_MS_PROP = TopicConfig.FILE_DELETE_DELAY_MS_CONFIG
    MIN_CLEANABLE_DIRTY_RATIO_PROP = TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG
    CLEANUP_POLICY_PROP = TopicConfig.CLEANUP_POLICY_CONFIG
    DELETE = TopicConfig.CLEANUP_POLICY_DELETE
    COMPACT = TopicConfig.CLEANUP_POLICY_COMPACT
    UNCLEAN_LEADER_ELECTION_ENABLE_PROP = TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG
    MIN_IN_SYNC_REPLICAS_PROP = TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG
    COMPRESSION_TYPE_PROP = TopicConfig.COMPRESSION_TYPE_CONFIG
    PRE_ALLOCATE_ENABLE_PROP = TopicConfig.PREALLOCATE_CONFIG
    MESSAGE_FORMAT_VERSION_PROP = TopicConfig.MESSAGE_FORMAT_VERSION_CONFIG
    MESSAGE_TIMESTAMP_TYPE_PROP = TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG
    MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP = TopicConfig.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_CONFIG
    LEADER_REPLICATION_THROTTLED_REPLICAS_PROP = "leader.replication.throttled.replicas"
    FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP = "follower.replication.throttled.replicas"

    LEADER_REPLICATION_THROTTLED_REPLICAS_DOC = (
        "Replicas whose outgoing replication traffic is throttled on the leader: a list of "
        "[PartitionId]:[BrokerId] pairs, or '*' for all replicas of the topic."
    )
    FOLLOWER_REPLICATION_THROTTLED_REPLICAS_DOC = (
        "Replicas whose incoming replication traffic is throttled on the follower: a list of "
        "[PartitionId]:[BrokerId] pairs, or '*' for all replicas of the topic."
    )

    # the broker option that stands behind each topic option
    TOPIC_CONFIG_SYNONYMS: Mapping[str, str] = {
        SEGMENT_BYTES_PROP: "log.segment.bytes",
        SEGMENT_MS_PROP: "log.roll.ms",
        SEGMENT_JITTER_MS_PROP: "log.roll.jitter.ms",
        SEGMENT_INDEX_BYTES_PROP: "log.index.size.max.bytes",
        FLUSH_MESSAGES_PROP: "log.flush.interval.messages",
        FLUSH_MS_PROP: "log.flush.interval.ms",
        RETENTION_BYTES_PROP: "log.retention.bytes",
        RETENTION_MS_PROP: "log.retention.ms",
        MAX_MESSAGE_BYTES_PROP: "message.max.bytes",
        INDEX_INTERVAL_BYTES_PROP: "log.index.interval.bytes",
        DELETE_RETENTION_MS_PROP: "log.cleaner.delete.retention.ms",
        MIN_COMPACTION_LAG_MS_PROP: "log.cleaner.min.compaction.lag.ms",
        FILE_DELETE_DELAY_MS_PROP: "log.segment.delete.delay.ms",
        MIN_CLEANABLE_DIRTY_RATIO_PROP: "log.cleaner.min.cleanable.ratio",
        CLEANUP_POLICY_PROP: "log.cleanup.policy",
        UNCLEAN_LEADER_ELECTION_ENABLE_PROP: "unclean.leader.election.enable",
        MIN_IN_SYNC_REPLICAS_PROP: "min.insync.replicas",
        COMPRESSION_TYPE_PROP: "compression.type",
        PRE_ALLOCATE_ENABLE_PROP: "log.preallocate",
        MESSAGE_FORMAT_VERSION_PROP: "log.message.format.version",
        MESSAGE_TIMESTAMP_TYPE_PROP: "log.message.timestamp.type",
        MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP: "log.message.timestamp.difference.max.ms",
    }

    CONFIG_DEF: LogConfigDef

    def __init__(
        self, props: Mapping[str, Any] | None = None, overridden_configs: Collection[str] = frozenset()
    ) -> None:
        super().__init__(LogConfig.CONFIG_DEF, props or {}, False)
        self.overridden_configs = frozenset(overridden_configs)
        values = self.values()
        self.segment_size: int = values[self.SEGMENT_BYTES_PROP]
        self.segment_ms: int = values[self.SEGMENT_MS_PROP]
        self.segment_jitter_ms: int = values[self.SEGMENT_JITTER_MS_PROP]
        self.max_index_size: int = max(values[self.SEGMENT_INDEX_BYTES_PROP], _MIN_INDEX_SIZE)
        self.flush_interval: int = values[self.FLUSH_MESSAGES_PROP]
        self.flush_ms: int = values[self.FLUSH_MS_PROP]
        self.retention_size: int = values[self.RETENTION_BYTES_PROP]
        self.retention_ms: int = values[self.RETENTION_MS_PROP]
        self.max_message_size: int = values[self.MAX_MESSAGE_BYTES_PROP]
        self.index_interval: int = values[self.INDEX_INTERVAL_BYTES_PROP]
        self.file_delete_delay_ms: int = values[self.FILE_DELETE_DELAY_MS_PROP]
        self.delete_retention_ms: int = values[self.DELETE_RETENTION_MS_PROP]
        self.compaction_lag_ms: int = values[self.MIN_COMPACTION_LAG_MS_PROP]
        self.min_cleanable_ratio: float = values[self.MIN_CLEANABLE_DIRTY_RATIO_PROP]
        policies = {policy.lower() for policy in values[self.CLEANUP_POLICY_PROP]}
        self.compact = self.COMPACT in policies
        self.delete = self.DELETE in policies
        self.unclean_leader_election_enable: bool = values[self.UNCLEAN_LEADER_ELECTION_ENABLE_PROP]
        self.min_in_sync_replicas: int = values[self.MIN_IN_SYNC_REPLICAS_PROP]
        self.compression_type: str = values[self.COMPRESSION_TYPE_PROP].lower()
        self.preallocate: bool = values[self.PRE_ALLOCATE_ENABLE_PROP]
        self.init_file_size = self.segment_size if self.preallocate else 0  # bytes reserved for a new segment file
        self.message_format_version = ApiVersion.apply(values[self.MESSAGE_FORMAT_VERSION_PROP])
        # its magic, asked for with every append
        self.record_version: int = self.message_format_version.message_format_version.value
        self.message_timestamp_type = TimestampType.for_name(values[self.MESSAGE_TIMESTAMP_TYPE_PROP])
        self.message_timestamp_difference_max_ms: int = values[self.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP]
        self.leader_replication_throttled_replicas: list[str] = values[self.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP]
        self.follower_replication_throttled_replicas: list[str] = values[
            self.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP
        ]

    @classmethod
    def apply(cls, props: Mapping[str, Any] | None = None) -> LogConfig:
        """A configuration of these options and Kafka's defaults."""
        return cls(props)

    def random_segment_jitter(self) -> int:
        """A random time in ms, below segment.jitter.ms, to take off segment.ms."""
        if self.segment_jitter_ms == 0:
            return 0
        return random.getrandbits(31) % max(min(self.segment_jitter_ms, self.segment_ms), 1)

    @classmethod
    def config_names(cls) -> list[str]:
        """All topic options, sorted."""
        return sorted(cls.CONFIG_DEF.names())

    @classmethod
    def server_config_name(cls, config_name: str) -> str | None:
        """The broker option that gives a topic option its default."""
        return cls.CONFIG_DEF.server_config_name(config_name)

    @classmethod
    def from_props(cls, defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> LogConfig:
        """Topic `overrides` on top of `defaults`; raises ConfigException for a bad value."""
        return cls({**defaults, **overrides}, overrides.keys())

    @classmethod
    def validate_names(cls, props: Mapping[str, Any]) -> None:
        """Raise InvalidConfigurationException for an option that topics do not have."""
        names = cls.CONFIG_DEF.names()
        for name in props:
            if name not in names:
                raise InvalidConfigurationException(f"Unknown topic config name: {name}")

    @classmethod
    def validate(cls, props: Mapping[str, Any]) -> None:
        """Raise InvalidConfigurationException or ConfigException unless every name and value is good."""
        cls.validate_names(props)
        cls.CONFIG_DEF.parse(props)

    @classmethod
    def main(cls) -> None:
        """Print the documentation table."""
        print(cls.CONFIG_DEF.to_html_table())


_Row = tuple[str, ConfigDef.Type, Any, "ConfigDef.Validator | None", str]


def _segment_rows() -> list[_Row]:
    t, conf, topic, d = ConfigDef.Type, LogConfig, TopicConfig, Defaults
    at_least = ConfigDef.Range.at_least
    return [
        (conf.SEGMENT_BYTES_PROP, t.INT, d.SEGMENT_SIZE, at_least(_MIN_MESSAGE_OVERHEAD), topic.SEGMENT_BYTES_DOC),
        (conf.SEGMENT_MS_PROP, t.LONG, d.SEGMENT_MS, at_least(0), topic.SEGMENT_MS_DOC),
        (conf.SEGMENT_JITTER_MS_PROP, t.LONG, d.SEGMENT_JITTER_MS, at_least(0), topic.SEGMENT_JITTER_MS_DOC),
        (conf.SEGMENT_INDEX_BYTES_PROP, t.INT, d.MAX_INDEX_SIZE, at_least(0), topic.SEGMENT_INDEX_BYTES_DOC),
        (conf.FLUSH_MESSAGES_PROP, t.LONG, d.FLUSH_INTERVAL, at_least(0), topic.FLUSH_MESSAGES_INTERVAL_DOC),
        (conf.FLUSH_MS_PROP, t.LONG, d.FLUSH_MS, at_least(0), topic.FLUSH_MS_DOC),
        # the two retention limits may be negative: no limit
        (conf.RETENTION_BYTES_PROP, t.LONG, d.RETENTION_SIZE, None, topic.RETENTION_BYTES_DOC),
        (conf.RETENTION_MS_PROP, t.LONG, d.RETENTION_MS, None, topic.RETENTION_MS_DOC),
        (conf.MAX_MESSAGE_BYTES_PROP, t.INT, d.MAX_MESSAGE_SIZE, at_least(0), topic.MAX_MESSAGE_BYTES_DOC),
        (conf.INDEX_INTERVAL_BYTES_PROP, t.INT, d.INDEX_INTERVAL, at_least(0), topic.INDEX_INTERVAL_BYTES_DOCS),
        (conf.DELETE_RETENTION_MS_PROP, t.LONG, d.DELETE_RETENTION_MS, at_least(0), topic.DELETE_RETENTION_MS_DOC),
        (
            conf.MIN_COMPACTION_LAG_MS_PROP,
            t.LONG,
            d.MIN_COMPACTION_LAG_MS,
            at_least(0),
            topic.MIN_COMPACTION_LAG_MS_DOC,
        ),
        (conf.FILE_DELETE_DELAY_MS_PROP, t.LONG, d.FILE_DELETE_DELAY_MS, at_least(0), topic.FILE_DELETE_DELAY_MS_DOC),
        (
            conf.MIN_CLEANABLE_DIRTY_RATIO_PROP,
            t.DOUBLE,
            d.MIN_CLEANABLE_DIRTY_RATIO,
            ConfigDef.Range.between(0, 1),
            topic.MIN_CLEANABLE_DIRTY_RATIO_DOC,
        ),
    ]


def _message_rows() -> list[_Row]:
    t, conf, topic, d = ConfigDef.Type, LogConfig, TopicConfig, Defaults
    at_least, one_of = ConfigDef.Range.at_least, ConfigDef.ValidString.in_
    throttled = ThrottledReplicaListValidator()
    policies = ConfigDef.ValidList.in_(conf.COMPACT, conf.DELETE)
    return [
        (conf.CLEANUP_POLICY_PROP, t.LIST, d.CLEANUP_POLICY, policies, topic.CLEANUP_POLICY_DOC),
        (
            conf.UNCLEAN_LEADER_ELECTION_ENABLE_PROP,
            t.BOOLEAN,
            d.UNCLEAN_LEADER_ELECTION_ENABLE,
            None,
            topic.UNCLEAN_LEADER_ELECTION_ENABLE_DOC,
        ),
        (conf.MIN_IN_SYNC_REPLICAS_PROP, t.INT, d.MIN_IN_SYNC_REPLICAS, at_least(1), topic.MIN_IN_SYNC_REPLICAS_DOC),
        (
            conf.COMPRESSION_TYPE_PROP,
            t.STRING,
            d.COMPRESSION_TYPE,
            one_of(*BrokerCompressionCodec.broker_compression_options),
            topic.COMPRESSION_TYPE_DOC,
        ),
        (conf.PRE_ALLOCATE_ENABLE_PROP, t.BOOLEAN, d.PRE_ALLOCATE_ENABLE, None, topic.PREALLOCATE_DOC),
        (
            conf.MESSAGE_FORMAT_VERSION_PROP,
            t.STRING,
            d.MESSAGE_FORMAT_VERSION,
            ApiVersionValidator(),
            topic.MESSAGE_FORMAT_VERSION_DOC,
        ),
        (
            conf.MESSAGE_TIMESTAMP_TYPE_PROP,
            t.STRING,
            d.MESSAGE_TIMESTAMP_TYPE,
            one_of("CreateTime", "LogAppendTime"),
            topic.MESSAGE_TIMESTAMP_TYPE_DOC,
        ),
        (
            conf.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP,
            t.LONG,
            d.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS,
            at_least(0),
            topic.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_DOC,
        ),
        (
            conf.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP,
            t.LIST,
            list(d.LEADER_REPLICATION_THROTTLED_REPLICAS),
            throttled,
            conf.LEADER_REPLICATION_THROTTLED_REPLICAS_DOC,
        ),
        (
            conf.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP,
            t.LIST,
            list(d.FOLLOWER_REPLICATION_THROTTLED_REPLICAS),
            throttled,
            conf.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_DOC,
        ),
    ]


def _config_def() -> LogConfigDef:
    config_def = LogConfigDef()
    for name, type_, default, validator, doc in (*_segment_rows(), *_message_rows()):
        server_name = LogConfig.TOPIC_CONFIG_SYNONYMS.get(name, name)
        config_def.define_topic_config(name, type_, default, validator, doc, server_name)
    return config_def


LogConfig.CONFIG_DEF = _config_def()
