"""Changes of the broker's options while it runs, from /config/brokers.

Mirrors: core/src/main/scala/kafka/server/DynamicBrokerConfig.scala @ 1.1.1
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.ssl_configs import SslConfigs
from kafka_py.common.errors import ConfigException, IllegalArgumentException, IllegalStateException
from kafka_py.common.network.listener_reconfigurable import ListenerReconfigurable
from kafka_py.log.log_cleaner import LogCleaner
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigEntityName, ConfigType
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import ReentrantReadWriteLock
from kafka_py.utils.logging import Logging
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.common.reconfigurable import Reconfigurable
    from kafka_py.log.log_manager import LogManager
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

Props = dict[str, str]


class BrokerReconfigurable(Protocol):
    """A part of the broker that follows changes of its options.

    Mirrors: kafka.server.BrokerReconfigurable
    """

    @property
    def reconfigurable_configs(self) -> Set[str]:
        """The options it follows."""

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Raise ConfigException when it could not follow."""

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        """Follow."""


class DynamicLogConfig(Logging):
    """Topic defaults: changed ones reach every log that does not override them.

    Mirrors: kafka.server.DynamicLogConfig
    Differs: a log.retention.ms that is taken back gives way to the minutes or hours of server.properties. Kafka keeps
        it until the next start, and deletes by it what should stay.
    """

    # The format is left out: all brokers of the cluster would have to know it.
    EXCLUDED_CONFIGS: ClassVar[frozenset[str]] = frozenset({KafkaConfig.LOG_MESSAGE_FORMAT_VERSION_PROP})
    RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = (
        frozenset(LogConfig.TOPIC_CONFIG_SYNONYMS.values()) - EXCLUDED_CONFIGS
    )
    KAFKA_CONFIG_TO_LOG_CONFIG_NAME: ClassVar[Mapping[str, str]] = {
        broker: topic for topic, broker in LogConfig.TOPIC_CONFIG_SYNONYMS.items()
    }

    _COARSER_UNITS: ClassVar[Mapping[str, Sequence[tuple[str, int]]]] = {
        KafkaConfig.LOG_RETENTION_TIME_MILLIS_PROP: (
            (KafkaConfig.LOG_RETENTION_TIME_MINUTES_PROP, 60_000),
            (KafkaConfig.LOG_RETENTION_TIME_HOURS_PROP, 3_600_000),
        ),
        KafkaConfig.LOG_ROLL_TIME_MILLIS_PROP: ((KafkaConfig.LOG_ROLL_TIME_HOURS_PROP, 3_600_000),),
        KafkaConfig.LOG_ROLL_TIME_JITTER_MILLIS_PROP: ((KafkaConfig.LOG_ROLL_TIME_JITTER_HOURS_PROP, 3_600_000),),
        KafkaConfig.LOG_FLUSH_INTERVAL_MS_PROP: ((KafkaConfig.LOG_FLUSH_SCHEDULER_INTERVAL_MS_PROP, 1),),
    }

    def __init__(self, log_manager: LogManager) -> None:
        """Follow for the logs of this manager."""
        self._log_manager = log_manager

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Nothing to take at first: the logs have been loaded with their configuration."""
        return

    def reconfigurable_configs(self) -> Set[str]:
        """The broker options behind topic options."""
        return self.RECONFIGURABLE_CONFIGS

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """Nothing beyond names and types, which have been checked, as for topics."""
        return

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Give the new defaults to the log manager and to every log."""
        manager = self._log_manager
        new_defaults = dict(manager.current_default_config.originals())
        for name, value in configs.items():
            if name in self.RECONFIGURABLE_CONFIGS:
                in_force = self._in_coarser_unit(name, configs) if value is None else value
                if in_force is not None:
                    new_defaults[self.KAFKA_CONFIG_TO_LOG_CONFIG_NAME[name]] = in_force
        manager.reconfigure_default_log_config(LogConfig(new_defaults))
        manager.broker_config_updated()
        for log in manager.all_logs:
            overridden = log.config.overridden_configs
            own = {name: value for name, value in log.config.originals().items() if name in overridden}
            log.update_config(set(new_defaults), LogConfig({**new_defaults, **own}, overridden))

    @classmethod
    def _in_coarser_unit(cls, name: str, configs: Mapping[str, Any]) -> int | None:
        """What holds for a time that is not set in ms: the minutes, else the hours; None for other options."""
        for coarser, ms in cls._COARSER_UNITS.get(name, ()):
            value = configs.get(coarser)
            if value is not None:
                return max(int(value) * ms, -1)
        return None


class ResizablePool(Protocol):
    """Threads of which there may be more or fewer."""

    def resize_thread_pool(self, new_size: int, /) -> object:
        """Let there be this many."""


class OwnerOfFetchers(Protocol):
    """What a ReplicaManager is here."""

    @property
    def replica_fetcher_manager(self) -> ResizablePool:
        """The threads that follow leaders."""


class ServerOfPools(Protocol):
    """What of a KafkaServer follows changes; an interface, for the server makes the configuration."""

    @property
    def config(self) -> KafkaConfig:
        """The options now."""

    @property
    def request_handler_pool(self) -> ResizablePool | None:
        """The handlers, once they are started."""

    @property
    def replica_manager(self) -> OwnerOfFetchers | None:
        """The replicas, once they are started."""

    @property
    def log_manager(self) -> LogManager | None:
        """The logs, once they are started."""

    @property
    def kafka_scheduler(self) -> ResizablePool | None:
        """The background tasks, once they are started."""

    @property
    def socket_server(self) -> BrokerReconfigurable | None:
        """The listeners, once they are started."""


class DynamicThreadPool:
    """The sizes of the thread pools.

    Mirrors: kafka.server.DynamicThreadPool
    Differs: network threads are resized by each listener's acceptor, as in 3.7.1, and only checked here.
    """

    RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = frozenset(
        {
            KafkaConfig.NUM_IO_THREADS_PROP,
            KafkaConfig.NUM_NETWORK_THREADS_PROP,
            KafkaConfig.NUM_REPLICA_FETCHERS_PROP,
            KafkaConfig.NUM_RECOVERY_THREADS_PER_DATA_DIR_PROP,
            KafkaConfig.BACKGROUND_THREADS_PROP,
        }
    )

    def __init__(self, server: ServerOfPools) -> None:
        """Follow for the pools of this server."""
        self._server = server

    @property
    def reconfigurable_configs(self) -> Set[str]:
        """The five sizes."""
        return self.RECONFIGURABLE_CONFIGS

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """A pool may at most be halved or doubled at a time."""
        for name, new in new_config.values_from_this_config().items():
            if name not in self.RECONFIGURABLE_CONFIGS:
                continue
            old = self._current_value(name)
            failed = f"Dynamic thread count update validation failed for {name}={new}"
            if new == old:
                continue
            if new <= 0:
                raise ConfigException(f"{failed}, value should be at least 1")
            if new < old // 2:
                raise ConfigException(f"{failed}, value should be at least half the current value {old}")
            if new > old * 2:
                raise ConfigException(f"{failed}, value should not be greater than double the current value {old}")

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        """Resize the pools whose size has changed."""
        server = self._server
        new, old = new_config, old_config
        if new.num_io_threads != old.num_io_threads and server.request_handler_pool is not None:
            server.request_handler_pool.resize_thread_pool(new.num_io_threads)
        if new.num_replica_fetchers != old.num_replica_fetchers and server.replica_manager is not None:
            server.replica_manager.replica_fetcher_manager.resize_thread_pool(new.num_replica_fetchers)
        if (
            new.num_recovery_threads_per_data_dir != old.num_recovery_threads_per_data_dir
            and server.log_manager is not None
        ):
            server.log_manager.resize_recovery_thread_pool(new.num_recovery_threads_per_data_dir)
        if new.background_threads != old.background_threads and server.kafka_scheduler is not None:
            server.kafka_scheduler.resize_thread_pool(new.background_threads)

    def _current_value(self, name: str) -> int:
        config = self._server.config
        match name:
            case KafkaConfig.NUM_IO_THREADS_PROP:
                return config.num_io_threads
            case KafkaConfig.NUM_NETWORK_THREADS_PROP:
                return config.num_network_threads
            case KafkaConfig.NUM_REPLICA_FETCHERS_PROP:
                return config.num_replica_fetchers
            case KafkaConfig.NUM_RECOVERY_THREADS_PER_DATA_DIR_PROP:
                return config.num_recovery_threads_per_data_dir
            case KafkaConfig.BACKGROUND_THREADS_PROP:
                return config.background_threads
        raise IllegalStateException(f"Unexpected config {name}")


class DynamicListenerConfig:
    """The options of listeners: known as dynamic here, followed once security is here.

    Mirrors: kafka.server.DynamicListenerConfig
    Left out: validateReconfiguration, reconfigure, immutableListenerConfigs, listenersToMap -- come with security
    """

    RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = frozenset(
        name
        for name in KafkaConfig.CONFIG_DEF.names()
        if name.startswith(("ssl.", "sasl."))
        or name
        in (
            KafkaConfig.ADVERTISED_LISTENERS_PROP,
            KafkaConfig.LISTENERS_PROP,
            KafkaConfig.LISTENER_SECURITY_PROTOCOL_MAP_PROP,
            KafkaConfig.PRINCIPAL_BUILDER_CLASS_PROP,
        )
    )

    @property
    def reconfigurable_configs(self) -> Set[str]:
        """Everything about listeners."""
        return self.RECONFIGURABLE_CONFIGS


# Those of the 3.7.1 network layer.
_CONNECTION_CONFIGS = frozenset(
    {
        KafkaConfig.MAX_CONNECTIONS_PER_IP_PROP,
        KafkaConfig.MAX_CONNECTIONS_PER_IP_OVERRIDES_PROP,
        KafkaConfig.MAX_CONNECTIONS_PROP,
        KafkaConfig.MAX_CONNECTION_CREATION_RATE_PROP,
    }
)


class DynamicBrokerConfig(Logging):
    """Puts together what server.properties, the cluster's defaults and this broker's settings in ZooKeeper say.

    In order of precedence: /config/brokers/ID, /config/brokers/<default>, server.properties, defaults. A listener's
    own setting (listener.name.NAME.) stands before the general one.

    Mirrors: kafka.server.DynamicBrokerConfig
    Thread: the thread of config notifications writes; admin handlers validate.
    Locks: _lock.
    Differs: the values are logged at start and when they change; Kafka writes all of them twice at start.
    Left out: maybeCreatePasswordEncoder, passwordEncoder, encodePassword, decodePassword, maybeReEncodePasswords --
        passwords among dynamic settings come with security; until then to_persistent_props refuses them
    """

    DYNAMIC_SECURITY_CONFIGS: ClassVar[frozenset[str]] = SslConfigs.RECONFIGURABLE_CONFIGS
    ALL_DYNAMIC_CONFIGS: ClassVar[frozenset[str]] = (
        DYNAMIC_SECURITY_CONFIGS
        | LogCleaner.RECONFIGURABLE_CONFIGS
        | DynamicLogConfig.RECONFIGURABLE_CONFIGS
        | DynamicThreadPool.RECONFIGURABLE_CONFIGS
        | {KafkaConfig.METRIC_REPORTER_CLASSES_PROP}
        | DynamicListenerConfig.RECONFIGURABLE_CONFIGS
        | _CONNECTION_CONFIGS
    )
    PER_BROKER_CONFIGS: ClassVar[frozenset[str]] = (
        DYNAMIC_SECURITY_CONFIGS | DynamicListenerConfig.RECONFIGURABLE_CONFIGS
    )
    LISTENER_MECHANISM_CONFIGS: ClassVar[frozenset[str]] = frozenset({KafkaConfig.SASL_JAAS_CONFIG_PROP})
    LISTENER_CONFIG_REGEX: ClassVar[re.Pattern[str]] = re.compile(r"listener\.name\.[^.]*\.(.*)")
    _SYNONYMS: ClassVar[tuple[tuple[str, ...], ...]] = (
        (KafkaConfig.LOG_ROLL_TIME_MILLIS_PROP, KafkaConfig.LOG_ROLL_TIME_HOURS_PROP),
        (KafkaConfig.LOG_ROLL_TIME_JITTER_MILLIS_PROP, KafkaConfig.LOG_ROLL_TIME_JITTER_HOURS_PROP),
        (
            KafkaConfig.LOG_RETENTION_TIME_MILLIS_PROP,
            KafkaConfig.LOG_RETENTION_TIME_MINUTES_PROP,
            KafkaConfig.LOG_RETENTION_TIME_HOURS_PROP,
        ),
    )

    def __init__(self, kafka_config: KafkaConfig) -> None:
        """Start with what server.properties says."""
        to_strings = ConfigDef.convert_to_string_map_with_password_values
        self._kafka_config = kafka_config
        self.static_broker_configs = to_strings(kafka_config.originals_from_this_config())
        self.static_default_configs = to_strings(KafkaConfig.default_values())
        self._lock = ReentrantReadWriteLock()
        self._dynamic_broker_configs: Props = {}  # volatile: writer under _lock's write lock
        self._dynamic_default_configs: Props = {}  # volatile: writer under _lock's write lock
        self._reconfigurables: list[Reconfigurable] = []  # volatile: writer under _lock's write lock
        self._broker_reconfigurables: list[BrokerReconfigurable] = []  # volatile: writer under _lock's write lock
        self._current_config = kafka_config  # volatile: writer under _lock's write lock

    # -- Which settings are dynamic -----------------------------------------------------------------------------------

    @classmethod
    def is_password_config(cls, name: str) -> bool:
        """Whether the setting, perhaps under a listener's prefix, is a secret that may change."""
        keys = KafkaConfig.config_keys()
        return any(
            name.endswith(config)
            for config in cls.ALL_DYNAMIC_CONFIGS
            if config in keys and keys[config].type is ConfigDef.Type.PASSWORD
        )

    @classmethod
    def broker_config_synonyms(cls, name: str, match_listener_override: bool) -> list[str]:
        """The names under which the same thing can be set, in order of precedence."""
        if name == KafkaConfig.LOG_FLUSH_INTERVAL_MS_PROP:
            return [name, KafkaConfig.LOG_FLUSH_SCHEDULER_INTERVAL_MS_PROP]
        for synonyms in cls._SYNONYMS:
            if name in synonyms:
                return list(synonyms)
        found = cls.LISTENER_CONFIG_REGEX.fullmatch(name) if match_listener_override else None
        if found is None:
            return [name]
        # A SASL mechanism's prefix may stand between the listener's and the name.
        base = next((m for m in cls.LISTENER_MECHANISM_CONFIGS if found[1].endswith(m)), found[1])
        return [name, base]

    @classmethod
    def add_dynamic_configs(cls, config_def: ConfigDef) -> None:
        """Define the options that may change in another table."""
        for key in KafkaConfig.config_keys().values():
            if key.name in cls.ALL_DYNAMIC_CONFIGS:
                config_def.define_key(key)

    @classmethod
    def dynamic_config_update_modes(cls) -> dict[str, str]:
        """Option -> per-broker or cluster-wide."""
        return {
            name: "per-broker" if name in cls.PER_BROKER_CONFIGS else "cluster-wide"
            for name in sorted(cls.ALL_DYNAMIC_CONFIGS)
        }

    # -- Start and followers ----------------------------------------------------------------------------------------

    def initialize(self, zk_client: KafkaZkClient) -> None:
        """Apply what ZooKeeper holds, before anything is started with the configuration."""
        config = self._kafka_config
        self._current_config = KafkaConfig(config.props, do_log=False)
        admin_zk_client = AdminZkClient(zk_client)
        self.update_default_config(admin_zk_client.fetch_entity_config(ConfigType.BROKER, ConfigEntityName.DEFAULT))
        self._current_config.log_all()
        broker_id = config.broker_id
        self.update_broker_config(broker_id, admin_zk_client.fetch_entity_config(ConfigType.BROKER, str(broker_id)))

    def add_reconfigurables(self, kafka_server: ServerOfPools) -> None:
        """Enter the parts of the server that follow changes."""
        self.add_broker_reconfigurable(DynamicThreadPool(kafka_server))
        log_manager = kafka_server.log_manager
        if log_manager is not None:
            self.add_reconfigurable(DynamicLogConfig(log_manager))
            if log_manager.cleaner is not None:
                self.add_broker_reconfigurable(log_manager.cleaner)
        if kafka_server.socket_server is not None:
            self.add_broker_reconfigurable(kafka_server.socket_server)

    def add_reconfigurable(self, reconfigurable: Reconfigurable) -> None:
        """Enter a follower of typed options; raises IllegalArgumentException for an option that never changes."""
        with self._lock.write_lock():
            self._require_dynamic(reconfigurable.reconfigurable_configs())
            self._reconfigurables.append(reconfigurable)

    def add_broker_reconfigurable(self, reconfigurable: BrokerReconfigurable) -> None:
        """Enter a follower of the whole configuration."""
        with self._lock.write_lock():
            self._require_dynamic(reconfigurable.reconfigurable_configs)
            self._broker_reconfigurables.append(reconfigurable)

    def remove_reconfigurable(self, reconfigurable: Reconfigurable) -> None:
        """Let it follow no longer; nothing happens for one that does not."""
        with self._lock.write_lock():
            if reconfigurable in self._reconfigurables:
                self._reconfigurables.remove(reconfigurable)

    def _require_dynamic(self, names: Set[str]) -> None:
        if not names <= self.ALL_DYNAMIC_CONFIGS:
            raise IllegalArgumentException("requirement failed")

    def current_kafka_config(self) -> KafkaConfig:
        """The configuration that holds now."""
        with self._lock.read_lock():
            return self._current_config

    def current_dynamic_broker_configs(self) -> Props:
        """What ZooKeeper says for this broker."""
        with self._lock.read_lock():
            return dict(self._dynamic_broker_configs)

    def current_dynamic_default_configs(self) -> Props:
        """What ZooKeeper says for all brokers."""
        with self._lock.read_lock():
            return dict(self._dynamic_default_configs)

    # -- Updates ----------------------------------------------------------------------------------------------------

    def update_broker_config(self, broker_id: int, persistent_props: Mapping[str, str]) -> None:
        """Take this broker's settings; what cannot be applied is told and left."""
        with self._lock.write_lock():
            try:
                self._dynamic_broker_configs = self.from_persistent_props(persistent_props, per_broker_config=True)
                self._update_current_config()
            except Exception as e:  # noqa: BLE001 -- a bad setting in ZooKeeper must not stop the broker
                self.error("Per-broker configs of %s could not be applied: %s", broker_id, persistent_props, exc=e)

    def update_default_config(self, persistent_props: Mapping[str, str]) -> None:
        """Take the settings of all brokers; what cannot be applied is told and left."""
        with self._lock.write_lock():
            try:
                self._dynamic_default_configs = self.from_persistent_props(persistent_props, per_broker_config=False)
                self._update_current_config()
            except Exception as e:  # noqa: BLE001 -- a bad setting in ZooKeeper must not stop the broker
                self.error("Cluster default configs could not be applied: %s", persistent_props, exc=e)

    def to_persistent_props(self, config_props: Mapping[str, str], per_broker_config: bool) -> Props:
        """What of settings goes to ZooKeeper; raises ConfigException for a password, which cannot be encoded yet."""
        if any(self.is_password_config(name) for name in config_props):
            if not per_broker_config:
                raise ConfigException("Password config can be defined only at broker level")
            raise ConfigException("Password encoder secret not configured")
        return dict(config_props)

    def from_persistent_props(self, persistent_props: Mapping[str, str], per_broker_config: bool) -> Props:
        """What of ZooKeeper's content can be used."""
        props = dict(persistent_props)
        self._remove_invalid_configs(props, per_broker_config)

        def remove_invalid_props(names: set[str], error_message: str) -> None:
            if names:
                for name in names:
                    del props[name]
                self.error("%s: %s", error_message, ", ".join(sorted(names)))

        remove_invalid_props(
            self._non_dynamic_configs(props), "Non-dynamic configs configured in ZooKeeper will be ignored"
        )
        remove_invalid_props(
            self._security_configs_without_listener_prefix(props),
            "Security configs can be dynamically updated only using listener prefix, base configs will be ignored",
        )
        if not per_broker_config:
            remove_invalid_props(
                self._per_broker_configs(props), "Per-broker configs defined at default cluster level will be ignored"
            )
        remove_invalid_props(
            {name for name in props if self.is_password_config(name)},
            "Dynamic password configs could not be decoded, ignoring",
        )
        return props

    def validate(self, props: Mapping[str, str], per_broker_config: bool) -> None:
        """Raise ConfigException unless these settings could be applied now."""

        def check_invalid_props(names: set[str], error_message: str) -> None:
            if names:
                raise ConfigException(f"{error_message}: Set({', '.join(sorted(names))})")

        with self._lock.read_lock():
            check_invalid_props(self._non_dynamic_configs(props), "Cannot update these configs dynamically")
            check_invalid_props(
                self._security_configs_without_listener_prefix(props),
                "These security configs can be dynamically updated only per-listener using the listener prefix",
            )
            self._validate_config_types(props)
            new_props = dict(self.static_broker_configs)
            if per_broker_config:
                self._override_props(new_props, self._dynamic_default_configs)
                self._override_props(new_props, props)
            else:
                check_invalid_props(
                    self._per_broker_configs(props),
                    "Cannot update these configs at default cluster level, broker id must be specified",
                )
                self._override_props(new_props, props)
                self._override_props(new_props, self._dynamic_broker_configs)
            self._process_reconfiguration(new_props, validate_only=True)

    def _per_broker_configs(self, props: Mapping[str, str]) -> set[str]:
        return {name for name in props if name in self.PER_BROKER_CONFIGS or self.LISTENER_CONFIG_REGEX.search(name)}

    def _non_dynamic_configs(self, props: Mapping[str, str]) -> set[str]:
        # Imported late: it needs this module.
        from kafka_py.server.dynamic_config import DynamicConfig

        return props.keys() & DynamicConfig.Broker.non_dynamic_props()

    def _security_configs_without_listener_prefix(self, props: Mapping[str, str]) -> set[str]:
        return props.keys() & self.DYNAMIC_SECURITY_CONFIGS

    def _validate_config_types(self, props: Mapping[str, str]) -> None:
        # Imported late: it needs this module.
        from kafka_py.server.dynamic_config import DynamicConfig

        base_props = {}
        for name, value in props.items():
            found = self.LISTENER_CONFIG_REGEX.fullmatch(name)
            base_props[found[1] if found else name] = value
        DynamicConfig.Broker.validate(base_props)

    def _remove_invalid_configs(self, props: Props, per_broker_config: bool) -> None:
        try:
            self._validate_config_types(props)
        except ConfigException as e:
            invalid = {name: value for name, value in props.items() if not self._is_valid(name, value)}
            for name in invalid:
                del props[name]
            source = "broker" if per_broker_config else "default cluster"
            self.error(
                "Dynamic %s config contains invalid values: %s, these configs will be ignored", source, invalid, exc=e
            )

    def _is_valid(self, name: str, value: str) -> bool:
        try:
            self._validate_config_types({name: value})
        except ConfigException:
            return False
        return True

    def maybe_reconfigure(
        self, reconfigurable: Reconfigurable, old_config: KafkaConfig, new_config: Mapping[str, Any]
    ) -> None:
        """Reconfigure if one of its options has changed."""
        old = old_config.originals()
        if any(old.get(name) != new_config.get(name) for name in reconfigurable.reconfigurable_configs()):
            reconfigurable.reconfigure(new_config)

    @staticmethod
    def _updated_configs(new_props: Mapping[str, Any], current_props: Mapping[str, Any]) -> dict[str, Any]:
        missing = object()
        return {name: value for name, value in new_props.items() if current_props.get(name, missing) != value}

    def _override_props(self, props: Props, props_override: Mapping[str, str]) -> None:
        """Put settings in front, removing their synonyms: the newer word counts, whatever unit it is in.

        General settings of a listener's setting stay, for other listeners use them.
        """
        for name, value in props_override.items():
            for synonym in self.broker_config_synonyms(name, match_listener_override=False):
                props.pop(synonym, None)
            props[name] = value

    def _update_current_config(self) -> None:
        new_props = dict(self.static_broker_configs)
        self._override_props(new_props, self._dynamic_default_configs)
        self._override_props(new_props, self._dynamic_broker_configs)
        old_config = self._current_config
        new_config, to_update = self._process_reconfiguration(new_props, validate_only=False)
        if new_config is not old_config:
            self._current_config = new_config
            self._kafka_config.update_current_config(new_config)
            # These look at the current configuration, so it had to change first.
            for reconfigurable in to_update:
                reconfigurable.reconfigure(old_config, new_config)

    def _process_reconfiguration(
        self, new_props: Props, validate_only: bool
    ) -> tuple[KafkaConfig, Sequence[BrokerReconfigurable]]:
        new_config = KafkaConfig(new_props, do_log=False)
        current = self._current_config
        updated = self._updated_configs(new_config.originals_from_this_config(), current.originals())
        # What was taken back counts as changed, too: Kafka forgets it and would keep the old value.
        removed = current.originals().keys() - new_config.originals_from_this_config().keys()
        names = updated.keys() | removed
        if not names:
            return current, []
        if not validate_only:
            new_config.log_all()
        try:
            values = new_config.values_from_this_config()
            custom = {k: v for k, v in new_config.originals_from_this_config().items() if k not in values}
            for reconfigurable in self._reconfigurables:
                new_values: Mapping[str, Any]
                changed: Set[str]
                if isinstance(reconfigurable, ListenerReconfigurable):
                    prefix = reconfigurable.listener_name().config_prefix()
                    new_values = new_config.values_from_this_config_with_prefix_override(prefix)
                    changed = self._updated_configs(new_values, current.values_with_prefix_override(prefix)).keys()
                else:
                    new_values, changed = values, names
                if self._needs_reconfiguration(reconfigurable.reconfigurable_configs(), changed):
                    self._process_reconfigurable(reconfigurable, changed, new_values, custom, validate_only)
            to_update = []
            for broker_reconfigurable in self._broker_reconfigurables:
                if self._needs_reconfiguration(broker_reconfigurable.reconfigurable_configs, names):
                    broker_reconfigurable.validate_reconfiguration(new_config)
                    if not validate_only:
                        to_update.append(broker_reconfigurable)
        except Exception as e:
            if not validate_only:
                self.error("Failed to update broker configuration with configs : %s", sorted(names), exc=e)
            raise ConfigException("Invalid dynamic configuration") from e
        return new_config, to_update

    @staticmethod
    def _needs_reconfiguration(reconfigurable_configs: Set[str], updated_keys: Set[str]) -> bool:
        return not reconfigurable_configs.isdisjoint(updated_keys)

    def _process_reconfigurable(
        self,
        reconfigurable: Reconfigurable,
        updated_config_names: Set[str],
        all_new_configs: Mapping[str, Any],
        new_custom_configs: Mapping[str, Any],
        validate_only: bool,
    ) -> None:
        new_configs = {**all_new_configs, **new_custom_configs}
        names = ", ".join(sorted(updated_config_names))
        try:
            reconfigurable.validate_reconfiguration(new_configs)
        except ConfigException:
            raise
        except Exception as e:
            raise ConfigException(
                f"Validation of dynamic config update of Set({names}) failed with class {type(reconfigurable)}"
            ) from e
        if not validate_only:
            self.info("Reconfiguring %s, updated configs: %s", type(reconfigurable).__name__, names)
            reconfigurable.reconfigure(new_configs)
