"""kafka-configs: shows and changes the configuration of topics, brokers, users and clients.

Mirrors: core/src/main/scala/kafka/admin/ConfigCommand.scala @ 1.1.1
Read next: admin/config_command_options.py; server/dynamic_config_manager.py (how a change reaches the brokers)
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.config_command_options import ConfigCommandOptions
from kafka_py.common.errors import IllegalArgumentException, InvalidConfigException
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.security.scram.scram_credential import ScramCredential, ScramCredentialUtils
from kafka_py.common.security.scram.scram_mechanism import ScramMechanism
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.common.utils.throwables import stack_trace
from kafka_py.common.utils.time import Time
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigEntityName, ConfigType
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionException
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient

_INT_MAX = 0x7FFFFFFF
# Outside square brackets: no closing one ahead without an opening one before it.
_OUTSIDE = r"(?=[^\]]*(?:\[|$))"
_TYPE_NAMES = {ConfigType.USER: "user-principal", ConfigType.CLIENT: "client-id", ConfigType.TOPIC: "topic"}


class Entity(NamedTuple):
    """An entity by kind and (sanitized) name; without a name, all of the kind.

    Mirrors: kafka.admin.ConfigCommand.Entity
    Left out: toString -- `__str__`
    """

    entity_type: str
    sanitized_name: str | None

    @property
    def entity_path(self) -> str:
        """Its place below /config."""
        return self.entity_type if self.sanitized_name is None else f"{self.entity_type}/{self.sanitized_name}"

    def __str__(self) -> str:
        type_name = _TYPE_NAMES.get(self.entity_type, self.entity_type)
        name = self.sanitized_name
        if name is None:
            return self.entity_type
        if name == ConfigEntityName.DEFAULT:
            return f"default {type_name}"
        quoted = Sanitizer.desanitize(name) if self.entity_type in (ConfigType.USER, ConfigType.CLIENT) else name
        return f"{type_name} '{quoted}'"


class ConfigEntity(NamedTuple):
    """What has a configuration: an entity, or a client of a user.

    Mirrors: kafka.admin.ConfigCommand.ConfigEntity
    Left out: toString -- `__str__`
    """

    root: Entity
    child: Entity | None

    @property
    def full_sanitized_name(self) -> str:
        """Its place below the folder of its kind."""
        return (self.root.sanitized_name or "") + (f"/{self.child.entity_path}" if self.child is not None else "")

    def get_all_entities(self, zk_client: KafkaZkClient) -> list[ConfigEntity]:
        """All entities that this one stands for: itself if it has names, else those that have a node."""
        root, child = self
        names = zk_client.get_all_entities_with_config
        if root.sanitized_name is None:
            roots = [ConfigEntity(Entity(root.entity_type, name), child) for name in names(root.entity_type)]
            if child is None:
                return roots
            # Only the kind of the child counts: one cannot name a client without naming its user.
            without_name = Entity(child.entity_type, None)
            return [e for r in roots for e in ConfigEntity(r.root, without_name).get_all_entities(zk_client)]
        if child is not None and child.sanitized_name is None:
            children = names(f"{root.entity_path}/{child.entity_type}")
            return [ConfigEntity(root, Entity(child.entity_type, name)) for name in children]
        return [self]

    def __str__(self) -> str:
        return str(self.root) + (f", {self.child}" if self.child is not None else "")


class ConfigCommand(Logging):
    """The tool.

    Mirrors: kafka.admin.ConfigCommand
    Left out: main -- the module's
    """

    logger_name = "kafka.admin.ConfigCommand$"

    DEFAULT_SCRAM_ITERATIONS = 4096
    # Other options of brokers may need encryption, which only brokers can do.
    BROKER_CONFIGS_UPDATABLE_USING_ZOO_KEEPER = frozenset(
        {
            DynamicConfig.Broker.LEADER_REPLICATION_THROTTLED_RATE_PROP,
            DynamicConfig.Broker.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP,
            DynamicConfig.Broker.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP,
        }
    )

    # -- Through ZooKeeper ------------------------------------------------------------------------------------------

    @classmethod
    def _process_command_with_zk(cls, zk_connect_string: str, opts: ConfigCommandOptions) -> None:
        zk_client = KafkaZkClient.create(zk_connect_string, False, 30000, 30000, _INT_MAX, Time.SYSTEM)
        try:
            if opts.options.has(opts.alter_opt):
                cls.alter_config(zk_client, opts, AdminZkClient(zk_client))
            else:
                cls._describe_config(zk_client, opts, AdminZkClient(zk_client))
        finally:
            zk_client.close()

    @classmethod
    def alter_config(cls, zk_client: KafkaZkClient, opts: ConfigCommandOptions, admin_zk_client: AdminZkClient) -> None:
        """Add and remove settings; raises InvalidConfigException for the removal of one that is not set."""
        configs_to_be_added = cls.parse_configs_to_be_added(opts)
        configs_to_be_deleted = cls.parse_configs_to_be_deleted(opts)
        entity = cls.parse_entity(opts)
        entity_type, entity_name = entity.root.entity_type, entity.full_sanitized_name
        if entity_type == ConfigType.USER:
            cls._pre_process_scram_credentials(configs_to_be_added)
        if entity_type == ConfigType.BROKER and not (
            configs_to_be_added.keys() <= cls.BROKER_CONFIGS_UPDATABLE_USING_ZOO_KEEPER
        ):
            raise IllegalArgumentException(
                "requirement failed: --bootstrap-server option must be specified to update broker configs "
                f"{_java_map(configs_to_be_added)}"
            )
        configs = dict(admin_zk_client.fetch_entity_config(entity_type, entity_name))
        cls._require_present(configs_to_be_deleted, configs)
        configs.update(configs_to_be_added)
        for name in configs_to_be_deleted:
            configs.pop(name, None)
        admin_zk_client.change_configs(entity_type, entity_name, configs)
        print(f"Completed Updating config for entity: {entity}.")

    @staticmethod
    def _require_present(configs_to_be_deleted: Sequence[str], configs: Mapping[str, object]) -> None:
        invalid_configs = [name for name in configs_to_be_deleted if name not in configs]
        if invalid_configs:
            raise InvalidConfigException(f"Invalid config(s): {','.join(invalid_configs)}")

    @classmethod
    def _pre_process_scram_credentials(cls, configs_to_be_added: dict[str, str]) -> None:
        """Put a salted credential in the place of each password."""
        for mechanism in ScramMechanism:
            name = mechanism.mechanism_name()
            if name in configs_to_be_added:
                configs_to_be_added[name] = cls._scram_credential(mechanism, configs_to_be_added[name])

    @classmethod
    def _scram_credential(cls, mechanism: ScramMechanism, credential_str: str) -> str:
        found = re.fullmatch(r"(?:iterations=([0-9]*),)?password=(.*)", credential_str)
        name = mechanism.mechanism_name()
        if found is None:
            raise IllegalArgumentException(f"Invalid credential property {name}={credential_str}")
        iterations = cls.DEFAULT_SCRAM_ITERATIONS if found[1] is None else int(found[1])
        if iterations < mechanism.min_iterations():
            raise IllegalArgumentException(
                f"Iterations {iterations} is less than the minimum {mechanism.min_iterations()} required for {name}"
            )
        algorithm = mechanism.hash_algorithm().replace("-", "").lower()
        salt = secrets.token_bytes(24)
        salted = hashlib.pbkdf2_hmac(algorithm, found[2].encode(), salt, iterations)
        stored_key = hashlib.new(algorithm, hmac.digest(salted, b"Client Key", algorithm)).digest()
        server_key = hmac.digest(salted, b"Server Key", algorithm)
        return ScramCredentialUtils.credential_to_string(ScramCredential(salt, stored_key, server_key, iterations))

    @classmethod
    def _describe_config(
        cls, zk_client: KafkaZkClient, opts: ConfigCommandOptions, admin_zk_client: AdminZkClient
    ) -> None:
        config_entity = cls.parse_entity(opts)
        root, child = config_entity
        describe_all_users = root.entity_type == ConfigType.USER and root.sanitized_name is None and child is None
        for entity in config_entity.get_all_entities(zk_client):
            configs = admin_zk_client.fetch_entity_config(entity.root.entity_type, entity.full_sanitized_name)
            # Among all users, those that only have clients with quotas are left out.
            if configs or not describe_all_users:
                print(f"Configs for {entity} are {','.join(f'{name}={value}' for name, value in configs.items())}")

    # -- The command line -------------------------------------------------------------------------------------------

    @staticmethod
    def parse_configs_to_be_added(opts: ConfigCommandOptions) -> dict[str, str]:
        """key=value,... with square brackets around values that contain commas; IllegalArgumentException if not so."""
        props: dict[str, str] = {}
        if opts.options.has(opts.add_config):
            text = opts.options.value_of(opts.add_config)
            pairs = [_java_split(rf"\s*=\s*{_OUTSIDE}", pair) for pair in _java_split(f",{_OUTSIDE}", text)]
            if any(len(pair) != 2 for pair in pairs):
                raise IllegalArgumentException(
                    "requirement failed: Invalid entity config: all configs to be added must be in the format "
                    '"key=val".'
                )
            props.update({pair[0].strip(): re.sub(r"\[?\]?", "", pair[1]).strip() for pair in pairs})
            version = props.get(LogConfig.MESSAGE_FORMAT_VERSION_PROP)
            if version is not None:
                print(
                    f"WARNING: The configuration {LogConfig.MESSAGE_FORMAT_VERSION_PROP}={version} is specified. "
                    "This configuration will be ignored if the version is newer than the "
                    "inter.broker.protocol.version specified in the broker."
                )
        return props

    @staticmethod
    def parse_configs_to_be_deleted(opts: ConfigCommandOptions) -> list[str]:
        """The names of --delete-config."""
        if not opts.options.has(opts.delete_config):
            return []
        return [name.strip() for name in opts.options.values_of(opts.delete_config)]

    @classmethod
    def parse_entity(cls, opts: ConfigCommandOptions) -> ConfigEntity:
        """What the command is about."""
        entity_type = opts.options.values_of(opts.entity_type)[0]
        if entity_type in (ConfigType.USER, ConfigType.CLIENT):
            return cls._parse_quota_entity(opts)
        return ConfigEntity(Entity(entity_type, opts.options.value_of(opts.entity_name)), None)

    @staticmethod
    def _entity_names(opts: ConfigCommandOptions) -> list[str]:
        """The names in the order of the command line, empty for --entity-default."""
        names = iter(opts.options.values_of(opts.entity_name))
        return [
            next(names) if spec is opts.entity_name else ""
            for spec in opts.options.specs()
            if spec in (opts.entity_name, opts.entity_default)
        ]

    @classmethod
    def _parse_quota_entity(cls, opts: ConfigCommandOptions) -> ConfigEntity:
        types = opts.options.values_of(opts.entity_type)
        names = cls._entity_names(opts)
        if opts.options.has(opts.alter_opt) and len(names) != len(types):
            raise IllegalArgumentException(
                "--entity-name or --entity-default must be specified with each --entity-type for --alter"
            )
        # The user stands first, whatever the order of the command line.
        if len(types) == 2 and types[0] == ConfigType.CLIENT:
            types = types[::-1]
            names = names[::-1] if len(names) == 2 else names
        entities = [
            Entity(kind, (Sanitizer.sanitize(names[i]) if names[i] else ConfigEntityName.DEFAULT))
            if i < len(names)
            else Entity(kind, None)
            for i, kind in enumerate(types)
        ]
        return ConfigEntity(entities[0], entities[1] if len(entities) > 1 else None)

    # -- Through a broker -------------------------------------------------------------------------------------------

    @classmethod
    def _process_broker_config(cls, opts: ConfigCommandOptions) -> None:
        if opts.options.has(opts.entity_name):
            entity_name = opts.options.value_of(opts.entity_name)
        elif opts.options.has(opts.entity_default):
            entity_name = ""
        else:
            raise IllegalArgumentException(
                "At least one of --entity-name or --entity-default must be specified with --bootstrap-server"
            )
        entity_types = opts.options.values_of(opts.entity_type)
        if len(entity_types) != 1:
            raise IllegalArgumentException("Exactly one --entity-type must be specified with --bootstrap-server")
        if entity_types[0] != ConfigType.BROKER:
            raise IllegalArgumentException(f"--zookeeper option must be specified for entity-type {entity_types}")
        admin_client = AdminClient.create(opts.options.value_of(opts.bootstrap_server_opt))
        try:
            if opts.options.has(opts.alter_opt):
                cls.alter_broker_config(admin_client, opts, entity_name)
            else:
                cls._describe_broker_config(admin_client, entity_name)
        finally:
            admin_client.close()

    @classmethod
    def alter_broker_config(cls, admin_client: AdminClient, opts: ConfigCommandOptions, entity_name: str) -> None:
        """Add and remove settings of a broker, or (empty name) of all; AlterConfigs replaces all settings at once.

        Raises InvalidConfigException for the removal of one that is not set, and when a secret would be lost: the
        broker does not tell secrets, so that they have to be given again.
        """
        configs_to_be_added = cls.parse_configs_to_be_added(opts)
        configs_to_be_deleted = cls.parse_configs_to_be_deleted(opts)
        old = cls._broker_config(admin_client, entity_name, include_synonyms=False)
        configs: dict[str, str | None] = {entry.name: entry.value for entry in old}
        cls._require_present(configs_to_be_deleted, configs)
        configs.update(configs_to_be_added)
        for name in configs_to_be_deleted:
            configs.pop(name, None)
        sensitive = [name for name, value in configs.items() if value is None]
        if sensitive:
            raise InvalidConfigException(
                "All sensitive broker config entries must be specified for --alter, missing entries: "
                f"Set({', '.join(sensitive)})"
            )
        admin_client.alter_broker_configs(
            entity_name, [AlterConfigsRequest.ConfigEntry(name, value) for name, value in configs.items()]
        )
        if entity_name:
            print(f"Completed updating config for broker: {entity_name}.")
        else:
            print("Completed updating default config for brokers in the cluster,")

    @classmethod
    def _describe_broker_config(cls, admin_client: AdminClient, entity_name: str) -> None:
        configs = cls._broker_config(admin_client, entity_name, include_synonyms=True)
        if entity_name:
            print(f"Configs for broker {entity_name} are:")
        else:
            print("Default config for brokers in the cluster are:")
        for config in configs:
            synonyms = ", ".join(f"{s.source.name}:{s.name}={_null(s.value)}" for s in config.synonyms)
            sensitive = str(config.is_sensitive).lower()
            print(f"  {config.name}={_null(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}")

    @staticmethod
    def _broker_config(
        admin_client: AdminClient, entity_name: str, include_synonyms: bool
    ) -> list[DescribeConfigsResponse.ConfigEntry]:
        """The settings that were made dynamically for this broker, or (empty name) for all."""
        sources = DescribeConfigsResponse.ConfigSource
        source = sources.DYNAMIC_BROKER_CONFIG if entity_name else sources.DYNAMIC_DEFAULT_BROKER_CONFIG
        entries = admin_client.describe_broker_configs(entity_name, include_synonyms)
        return [entry for entry in entries if entry.source is source]


def _java_split(pattern: str, text: str) -> list[str]:
    """As String.split does, which drops empty strings at the end."""
    parts = re.split(pattern, text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _java_map(configs: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in configs.items()) + "}"


def _null(value: str | None) -> str:
    return "null" if value is None else value


def main(args: list[str]) -> int:
    """0 when the configuration was shown or changed; 1 with the reason when not."""
    try:
        opts = ConfigCommandOptions(args)
        if not args:
            CommandLineUtils.print_usage_and_die(
                opts.parser, "Show or change the configuration of a topic, client, user or broker"
            )
        opts.check_args()
        if opts.options.has(opts.zk_connect_opt):
            ConfigCommand._process_command_with_zk(opts.options.value_of(opts.zk_connect_opt), opts)
        else:
            ConfigCommand._process_broker_config(opts)
    except (ValueError, InvalidConfigException, OptionException) as e:
        ConfigCommand().debug("Failed config command with args '%s'", " ".join(args), exc=e)
        print(e, file=sys.stderr)
        return 1
    except Exception as e:  # noqa: BLE001 -- whatever it was, the user gets its text and a status
        print(f"Error while executing config command with args '{' '.join(args)}'", file=sys.stderr)
        print(stack_trace(e), end="", file=sys.stderr)
        return 1
    return 0
