"""The broker's configuration: server.properties, read, checked and offered as attributes.

Mirrors: core/src/main/scala/kafka/server/KafkaConfig.scala @ 1.1.1, with the options of the 3.7.1 network layer
Read next: kafka_config_options.py (the table of all options), dynamic_broker_config.py (changes at run time)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.api.api_version import ApiVersion
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.config.abstract_config import AbstractConfig, RecordingMap
from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.sasl_configs import SaslConfigs
from kafka_py.common.errors import ConfigException, IllegalArgumentException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.server.kafka_config_options import KafkaConfigOptions
from kafka_py.utils import core_utils

if TYPE_CHECKING:
    from kafka_py.common.config.types.password import Password
    from kafka_py.common.reconfigurable import Reconfigurable
    from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig

# A SASL mechanism's prefix may follow the listener's.
_LISTENER_PREFIX = re.compile(r"^listener\.name\.[^.]*\.(?:[^.]*\.(?=sasl\.jaas\.config$))?")
_MS_PER_MINUTE = 60 * 1000
_MS_PER_HOUR = 60 * _MS_PER_MINUTE
_BROKER_COMPRESSION_OPTIONS = ("uncompressed", "snappy", "lz4", "gzip", "producer")


class KafkaConfig(AbstractConfig, KafkaConfigOptions):
    """Every option of the broker with its value.

    Mirrors: kafka.server.KafkaConfig
    Thread: built by one thread, read by all; update_current_config is called under DynamicBrokerConfig's write lock.
    Differs: Scala's `def` options look into the current configuration on every read; here they are plain attributes
        that update_current_config replaces, since requests read them. The DynamicBrokerConfig is made on first use.
    """

    def __init__(
        self,
        props: Mapping[str, Any],
        do_log: bool = True,
        dynamic_config_override: DynamicBrokerConfig | None = None,
    ) -> None:
        """Read and check everything; raises ConfigException or IllegalArgumentException with Kafka's words."""
        self._current_config: KafkaConfig = self  # volatile: DynamicBrokerConfig
        self._dynamic_config = dynamic_config_override  # volatile: first reader
        super().__init__(KafkaConfig.CONFIG_DEF, props, do_log)
        self.props = dict(props)
        values = self._values
        for attribute, key in self.ATTRIBUTES.items():
            self.__dict__[attribute] = values[key]
        self._used.update(values)
        self.zk_connection_timeout_ms: int = _or_else(
            values[self.ZK_CONNECTION_TIMEOUT_MS_PROP], self.zk_session_timeout_ms
        )
        self.advertised_host_name: str = _or_else(values[self.ADVERTISED_HOST_NAME_PROP], self.host_name)
        self.advertised_port: int = _or_else(values[self.ADVERTISED_PORT_PROP], self.port)
        self.max_connections_per_ip_overrides: dict[str, int] = self._ip_overrides()
        self.log_dirs: list[str] = core_utils.parse_csv_list(
            _or_else(values[self.LOG_DIRS_PROP], values[self.LOG_DIR_PROP])
        )
        self.log_message_format_version = ApiVersion.apply(self.log_message_format_version_string)
        self.inter_broker_protocol_version = ApiVersion.apply(self.inter_broker_protocol_version_string)
        self.offsets_topic_compression_codec = CompressionType.for_id(values[self.OFFSETS_TOPIC_COMPRESSION_CODEC_PROP])
        self.transaction_id_expiration_ms = self.transactional_id_expiration_ms
        self.sasl_inter_broker_handshake_request_enable = self.inter_broker_protocol_version >= ApiVersion.apply(
            "0.10.0-IV1"
        )
        master_key = self.delegation_token_master_key
        self.token_auth_enabled = master_key is not None and bool(master_key.value())
        self.early_start_listeners: set[ListenerName] = self._early_start()
        self._validate_values()

    # -- Making one -----------------------------------------------------------------------------------------------

    @classmethod
    def from_props(
        cls,
        props: Mapping[str, Any],
        overrides: Mapping[str, Any] | None = None,
        do_log: bool = True,
    ) -> KafkaConfig:
        """A configuration out of properties, the overrides taking the place of those of the same name."""
        return cls({**props, **(overrides or {})}, do_log)

    @classmethod
    def config_names(cls) -> list[str]:
        """The names of all options, sorted."""
        return sorted(cls.CONFIG_DEF.names())

    @classmethod
    def default_values(cls) -> dict[str, Any]:
        """Option -> default."""
        return cls.CONFIG_DEF.default_values()

    @classmethod
    def config_keys(cls) -> dict[str, ConfigDef.ConfigKey]:
        """Option -> its row of the table."""
        return cls.CONFIG_DEF.config_keys()

    @classmethod
    def main(cls) -> None:
        """Print the table of options as Kafka's web site shows it."""
        print(cls.CONFIG_DEF.to_html_table())

    # -- The current configuration, when it has been changed at run time ---------------------------------------------

    @property
    def dynamic_config(self) -> DynamicBrokerConfig:
        """What /config/brokers adds to this configuration."""
        if self._dynamic_config is None:
            # Imported late: it needs this class.
            from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig

            self._dynamic_config = DynamicBrokerConfig(self)
        return self._dynamic_config

    def add_reconfigurable(self, reconfigurable: Reconfigurable) -> None:
        """Let the object hear of changes of its options."""
        self.dynamic_config.add_reconfigurable(reconfigurable)

    def remove_reconfigurable(self, reconfigurable: Reconfigurable) -> None:
        """Tell the object about changes no longer [3.7.1]."""
        self.dynamic_config.remove_reconfigurable(reconfigurable)

    def update_current_config(self, new_config: KafkaConfig) -> None:
        """Answer with the values of another configuration from now on, except for fixed attributes."""
        self._current_config = new_config
        for attribute in self.DYNAMIC_ATTRIBUTES:
            self.__dict__[attribute] = new_config.__dict__[attribute]

    def originals(self) -> RecordingMap:
        """What was given, as changed at run time."""
        current = self._current_config
        return super().originals() if current is self else current.originals()

    def values(self) -> RecordingMap:
        """All typed values, as changed at run time."""
        current = self._current_config
        return super().values() if current is self else current.values()

    def originals_strings(self) -> RecordingMap:
        """What was given as text, as changed at run time."""
        current = self._current_config
        return super().originals_strings() if current is self else current.originals_strings()

    def originals_with_prefix(self, prefix: str, strip: bool = True) -> RecordingMap:
        """What was given under a prefix, as changed at run time."""
        current = self._current_config
        if current is self:
            return super().originals_with_prefix(prefix, strip)
        return current.originals_with_prefix(prefix, strip)

    def values_with_prefix_override(self, prefix: str) -> RecordingMap:
        """All typed values with those of a listener in front, as changed at run time."""
        current = self._current_config
        if current is self:
            return super().values_with_prefix_override(prefix)
        return current.values_with_prefix_override(prefix)

    def get(self, key: str) -> Any:
        """The typed value of an option, as changed at run time."""
        current = self._current_config
        return super().get(key) if current is self else current.get(key)

    def unused(self) -> set[str]:
        """The given options that are not in the table, neither as they are nor under a listener's prefix."""
        known = self.CONFIG_DEF.names()
        return {key for key in self._originals if _LISTENER_PREFIX.sub("", key) not in known}

    def originals_from_this_config(self) -> dict[str, Any]:
        """What this very object was given."""
        return dict(self._originals)

    def values_from_this_config(self) -> dict[str, Any]:
        """The typed values of this very object."""
        return dict(self._values)

    def values_from_this_config_with_prefix_override(self, prefix: str) -> RecordingMap:
        """The typed values of this very object, those of a listener in front."""
        return super().values_with_prefix_override(prefix)

    # -- Values that follow from several options --------------------------------------------------------------------

    @property
    def get_num_replica_alter_log_dirs_threads(self) -> int:
        """Threads that move replicas between directories: one per directory unless set."""
        found: int = _or_else(self.get(self.NUM_REPLICA_ALTER_LOG_DIRS_THREADS_PROP), len(self.log_dirs))
        return found

    @property
    def log_roll_time_millis(self) -> int:
        """Age at which the active segment is closed, in ms."""
        found: int = _or_else(
            self.get(self.LOG_ROLL_TIME_MILLIS_PROP), _MS_PER_HOUR * self.get(self.LOG_ROLL_TIME_HOURS_PROP)
        )
        return found

    @property
    def log_roll_time_jitter_millis(self) -> int:
        """Upper bound of the random time taken off that age, in ms."""
        found: int = _or_else(
            self.get(self.LOG_ROLL_TIME_JITTER_MILLIS_PROP),
            _MS_PER_HOUR * self.get(self.LOG_ROLL_TIME_JITTER_HOURS_PROP),
        )
        return found

    @property
    def log_flush_interval_ms(self) -> int:
        """Age of unflushed records at which a log is forced to disk, in ms."""
        found: int = _or_else(
            self.get(self.LOG_FLUSH_INTERVAL_MS_PROP), self.get(self.LOG_FLUSH_SCHEDULER_INTERVAL_MS_PROP)
        )
        return found

    @property
    def log_retention_time_millis(self) -> int:
        """Age above which segments are deleted, in ms; -1 for no limit."""
        millis = self.get(self.LOG_RETENTION_TIME_MILLIS_PROP)
        if millis is None:
            minutes = self.get(self.LOG_RETENTION_TIME_MINUTES_PROP)
            if minutes is None:
                millis = self.get(self.LOG_RETENTION_TIME_HOURS_PROP) * _MS_PER_HOUR
            else:
                millis = minutes * _MS_PER_MINUTE
        return -1 if millis < 0 else int(millis)

    @property
    def log_message_timestamp_type(self) -> TimestampType:
        """Whose clock the timestamps of stored records are."""
        return TimestampType.for_name(self.get(self.LOG_MESSAGE_TIMESTAMP_TYPE_PROP))

    @property
    def password_encoder_secret(self) -> Password | None:
        """Secret that encodes dynamic passwords."""
        return self.get_password(self.PASSWORD_ENCODER_SECRET_PROP)

    @property
    def password_encoder_old_secret(self) -> Password | None:
        """The secret before the last change."""
        return self.get_password(self.PASSWORD_ENCODER_OLD_SECRET_PROP)

    @property
    def password_encoder_key_factory_algorithm(self) -> str | None:
        """Algorithm that makes a key out of the secret."""
        return self.get_string(self.PASSWORD_ENCODER_KEY_FACTORY_ALGORITHM_PROP)

    # -- Listeners --------------------------------------------------------------------------------------------------

    @property
    def listener_security_protocol_map(self) -> dict[ListenerName, SecurityProtocol]:
        """Listener name -> security protocol."""
        prop = self.LISTENER_SECURITY_PROTOCOL_MAP_PROP
        return {
            ListenerName.normalised(name): self._get_security_protocol(protocol, prop)
            for name, protocol in self._get_map(prop, self.get(prop)).items()
        }

    @property
    def listeners(self) -> list[EndPoint]:
        """Where to listen: listeners, else host.name and port, else every interface on 9092."""
        given = self.get(self.LISTENERS_PROP)
        if given is None:
            given = f"PLAINTEXT://{self.host_name}:{self.port}"
        return core_utils.listener_list_to_end_points(given, self.listener_security_protocol_map)

    @property
    def advertised_listeners(self) -> list[EndPoint]:
        """What clients are told: advertised.listeners, else advertised host and port, else the listeners."""
        given = self.get(self.ADVERTISED_LISTENERS_PROP)
        if given is None:
            if self.get(self.ADVERTISED_HOST_NAME_PROP) is None and self.get(self.ADVERTISED_PORT_PROP) is None:
                return self.listeners
            given = f"PLAINTEXT://{self.advertised_host_name}:{self.advertised_port}"
        return core_utils.listener_list_to_end_points(given, self.listener_security_protocol_map)

    @property
    def inter_broker_listener_name(self) -> ListenerName:
        """The listener brokers use among themselves."""
        return self._get_inter_broker_listener_name_and_security_protocol()[0]

    @property
    def inter_broker_security_protocol(self) -> SecurityProtocol:
        """The security protocol brokers use among themselves."""
        return self._get_inter_broker_listener_name_and_security_protocol()[1]

    @property
    def control_plane_listener_name(self) -> ListenerName | None:
        """The listener kept for the controller, if there is one [3.7.1]."""
        found = self._get_control_plane_listener_name_and_security_protocol()
        return None if found is None else found[0]

    @property
    def control_plane_security_protocol(self) -> SecurityProtocol | None:
        """The security protocol of the controller's listener, if there is one [3.7.1]."""
        found = self._get_control_plane_listener_name_and_security_protocol()
        return None if found is None else found[1]

    @property
    def control_plane_listener(self) -> EndPoint | None:
        """Where the controller's listener is bound, if there is one [3.7.1]."""
        name = self.control_plane_listener_name
        if name is None:
            return None
        return next(end_point for end_point in self.listeners if end_point.listener_name == name)

    @property
    def data_plane_listeners(self) -> list[EndPoint]:
        """Where everybody else is served [3.7.1]; the name counts in any case, as for control_plane_listener."""
        name = self.control_plane_listener_name
        return [end_point for end_point in self.listeners if end_point.listener_name != name]

    def _get_inter_broker_listener_name_and_security_protocol(self) -> tuple[ListenerName, SecurityProtocol]:
        name = self.get(self.INTER_BROKER_LISTENER_NAME_PROP)
        protocol_prop = self.INTER_BROKER_SECURITY_PROTOCOL_PROP
        if name is None:
            protocol = self._get_security_protocol(self.get(protocol_prop), protocol_prop)
            return ListenerName.for_security_protocol(protocol), protocol
        if protocol_prop in self.originals():
            raise ConfigException(
                f"Only one of {self.INTER_BROKER_LISTENER_NAME_PROP} and {protocol_prop} should be set."
            )
        listener_name = ListenerName.normalised(name)
        found = self.listener_security_protocol_map.get(listener_name)
        if found is None:
            raise ConfigException(
                f"Listener with name {listener_name.value()} defined in {self.INTER_BROKER_LISTENER_NAME_PROP} "
                f"not found in {self.LISTENER_SECURITY_PROTOCOL_MAP_PROP}."
            )
        return listener_name, found

    def _get_control_plane_listener_name_and_security_protocol(self) -> tuple[ListenerName, SecurityProtocol] | None:
        name = self.get(self.CONTROL_PLANE_LISTENER_NAME_PROP)
        if name is None:
            return None
        listener_name = ListenerName.normalised(name)
        found = self.listener_security_protocol_map.get(listener_name)
        if found is None:
            raise ConfigException(
                f"Listener with {listener_name.value()} defined in {self.CONTROL_PLANE_LISTENER_NAME_PROP} "
                f"not found in {self.LISTENER_SECURITY_PROTOCOL_MAP_PROP}."
            )
        return listener_name, found

    @staticmethod
    def _get_security_protocol(name: str, config_name: str) -> SecurityProtocol:
        try:
            return SecurityProtocol.for_name(name)
        except ValueError:
            raise ConfigException(f"Invalid security protocol `{name}` defined in {config_name}") from None

    def _early_start(self) -> set[ListenerName]:
        given = self.get(self.EARLY_START_LISTENERS_PROP)
        names = {ListenerName(name) for name in core_utils.parse_csv_list(given)} if given else set()
        known = {end_point.listener_name for end_point in self.listeners} if names else set()
        for name in names - known:
            raise ConfigException(
                f"{self.EARLY_START_LISTENERS_PROP} contains listener {name.value()}, "
                f"but this is not contained in {self.LISTENERS_PROP}"
            )
        return names

    def _ip_overrides(self) -> dict[str, int]:
        prop = self.MAX_CONNECTIONS_PER_IP_OVERRIDES_PROP
        return {host: int(count) for host, count in self._get_map(prop, self.get(prop)).items()}

    def _get_map(self, prop: str, text: str) -> dict[str, str]:
        try:
            for entry in core_utils.parse_csv_list(text):
                if ":" not in entry:
                    raise ValueError(f"{entry} has no colon")
            return core_utils.parse_csv_map(text)
        except (ValueError, IndexError) as e:
            raise IllegalArgumentException(f"Error parsing configuration property '{prop}': {e}") from e

    def _sasl_enabled_mechanisms(self, listener_name: ListenerName) -> set[str]:
        values = self.values_with_prefix_override(listener_name.config_prefix())
        return set(values.get(self.SASL_ENABLED_MECHANISMS_PROP) or ())

    # -- Checks that need more than one option ------------------------------------------------------------------------

    def _validate_values(self) -> None:
        self._validate_broker_and_log()
        self._validate_replication()
        self._validate_listeners()
        self._validate_versions_and_sasl()
        _require(
            self.queued_max_bytes <= 0 or self.queued_max_bytes >= self.socket_request_max_bytes,
            f"{self.QUEUED_MAX_BYTES_PROP} must be larger or equal to {self.SOCKET_REQUEST_MAX_BYTES_PROP}",
        )
        if self.connections_max_idle_ms >= 0:
            _require(
                self.failed_authentication_delay_ms < self.connections_max_idle_ms,
                f"{self.FAILED_AUTHENTICATION_DELAY_MS_PROP}={self.failed_authentication_delay_ms} should always be "
                f"less than {self.CONNECTIONS_MAX_IDLE_MS_PROP}={self.connections_max_idle_ms} to prevent failed "
                "authentication responses from timing out",
            )

    def _validate_broker_and_log(self) -> None:
        if self.broker_id_generation_enable:
            _require(
                -1 <= self.broker_id <= self.max_reserved_broker_id,
                "broker.id must be equal or greater than -1 and not greater than reserved.broker.max.id",
            )
        else:
            _require(self.broker_id >= 0, "broker.id must be equal or greater than 0")
        _require(self.log_roll_time_millis >= 1, "log.roll.ms must be equal or greater than 1")
        _require(self.log_roll_time_jitter_millis >= 0, "log.roll.jitter.ms must be equal or greater than 0")
        _require(
            self.log_retention_time_millis >= 1 or self.log_retention_time_millis == -1,
            "log.retention.ms must be unlimited (-1) or, equal or greater than 1",
        )
        _require(bool(self.log_dirs), "At least one log directory must be defined via log.dirs or log.dir.")
        # As in Scala, where no cleaner thread at all is a division by zero.
        _require(
            self.log_cleaner_dedupe_buffer_size // self.log_cleaner_threads > 1024 * 1024,
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        )

    def _validate_replication(self) -> None:
        _require(
            self.replica_fetch_wait_max_ms <= self.replica_socket_timeout_ms,
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
            " to prevent unnecessary socket timeouts",
        )
        _require(
            self.replica_fetch_wait_max_ms <= self.replica_lag_time_max_ms,
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms"
            " to prevent frequent changes in ISR",
        )
        _require(
            -1 <= self.offset_commit_required_acks <= self.offsets_topic_replication_factor,
            "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
            "offsets.topic.replication.factor",
        )
        _require(
            self.compression_type in _BROKER_COMPRESSION_OPTIONS,
            f"compression.type : {self.compression_type} is not valid."
            f" Valid options are {','.join(_BROKER_COMPRESSION_OPTIONS)}",
        )

    def _validate_listeners(self) -> None:
        advertised = self.advertised_listeners
        advertised_names = {end_point.listener_name: None for end_point in advertised}
        names = {end_point.listener_name: None for end_point in self.listeners}
        shown_advertised = ",".join(name.value() for name in advertised_names)
        shown = ",".join(name.value() for name in names)
        _require(
            self.inter_broker_listener_name in advertised_names,
            f"{self.INTER_BROKER_LISTENER_NAME_PROP} must be a listener name defined in "
            f"{self.ADVERTISED_LISTENERS_PROP}. The valid options based on currently configured listeners are "
            f"{shown_advertised}",
        )
        _require(
            advertised_names.keys() <= names.keys(),
            f"{self.ADVERTISED_LISTENERS_PROP} listener names must be equal to or a subset of the ones defined in "
            f"{self.LISTENERS_PROP}. Found {shown_advertised}. The valid options based on the current configuration "
            f"are {shown}",
        )
        _require(
            all(end_point.host != "0.0.0.0" for end_point in advertised),
            f"{self.ADVERTISED_LISTENERS_PROP} cannot use the nonroutable meta-address 0.0.0.0. "
            "Use a routable IP address.",
        )
        control = self.control_plane_listener_name
        if control is not None:
            _require(
                control in advertised_names,
                f"{self.CONTROL_PLANE_LISTENER_NAME_PROP} must be a listener name defined in "
                f"{self.ADVERTISED_LISTENERS_PROP}. The valid options based on currently configured listeners are "
                f"{shown_advertised}",
            )
            _require(
                control != self.inter_broker_listener_name,
                f"{self.CONTROL_PLANE_LISTENER_NAME_PROP}, when defined, should have a different value from the "
                f"inter broker listener name. Currently they both have the value {control}",
            )

    def _validate_versions_and_sasl(self) -> None:
        message_format = self.log_message_format_version.message_format_version
        _require(
            self.inter_broker_protocol_version.message_format_version.value >= message_format.value,
            f"log.message.format.version {self.log_message_format_version_string} can only be used when "
            "inter.broker.protocol.version is set to version "
            f"{ApiVersion.min_version_for_message_format(message_format)} or higher",
        )
        protocol = self.inter_broker_security_protocol
        if protocol is not SecurityProtocol.SASL_PLAINTEXT and protocol is not SecurityProtocol.SASL_SSL:
            return
        mechanism = self.sasl_mechanism_inter_broker_protocol
        _require(
            self.sasl_inter_broker_handshake_request_enable or mechanism == SaslConfigs.GSSAPI_MECHANISM,
            "Only GSSAPI mechanism is supported for inter-broker communication with SASL when "
            f"inter.broker.protocol.version is set to {self.inter_broker_protocol_version_string}",
        )
        _require(
            mechanism in self._sasl_enabled_mechanisms(self.inter_broker_listener_name),
            f"{self.SASL_MECHANISM_INTER_BROKER_PROTOCOL_PROP} must be included in "
            f"{self.SASL_ENABLED_MECHANISMS_PROP} when SASL is used for inter-broker communication",
        )


def _require(condition: bool, message: str) -> None:
    """Scala's require: the words before the message are its own."""
    if not condition:
        raise IllegalArgumentException(f"requirement failed: {message}")


def _or_else(value: Any, default: Any) -> Any:
    return default if value is None else value
