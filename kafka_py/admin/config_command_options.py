"""Options of kafka-configs, and how they may be combined.

Mirrors: core/src/main/scala/kafka/admin/ConfigCommand.scala @ 1.1.1 (ConfigCommandOptions)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser

_QUOTA_TYPES = (ConfigType.USER, ConfigType.CLIENT)


class ConfigCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.ConfigCommand.ConfigCommandOptions
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; raises OptionException for what is no option."""
        self.parser = parser = OptionParser(allow_abbreviations=False)
        self.zk_connect_opt = (
            parser.accepts(
                "zookeeper",
                "REQUIRED: where ZooKeeper is, as host:port. Several hosts, with commas between them, stand in for "
                "each other.",
            )
            .with_required_arg()
            .described_as("urls")
        )
        self.bootstrap_server_opt = (
            parser.accepts("bootstrap-server", "Brokers as host:port: what the configs of brokers go through.")
            .with_required_arg()
            .described_as("server to connect to")
        )
        self.command_config_opt = (
            parser.accepts(
                "command-config", "A file of properties for the client of --bootstrap-server (no security yet)."
            )
            .with_required_arg()
            .described_as("command config property file")
        )
        self.alter_opt = parser.accepts("alter", "Change the configuration of the entity.")
        self.describe_opt = parser.accepts("describe", "Show the configuration of the entity.")
        self.entity_type = parser.accepts(
            "entity-type", "Kind of the entity (topics/clients/users/brokers)"
        ).with_required_arg()
        self.entity_name = parser.accepts(
            "entity-name", "The entity (name of the topic/client id/name of the user/id of the broker)"
        ).with_required_arg()
        self.entity_default = parser.accepts(
            "entity-default", "What holds for all clients/users/brokers (of the kind it stands with)"
        )
        self.add_config = parser.accepts("add-config", _add_config_text()).with_required_arg()
        self.delete_config = (
            parser.accepts("delete-config", "settings to remove 'k1,k2'")
            .with_required_arg()
            .with_values_separated_by(",")
        )
        self.help_opt = parser.accepts("help", "Show this.")
        self.force_opt = parser.accepts("force", "Ask no questions")
        self.options = parser.parse(list(args))
        self.all_opts = {
            self.alter_opt,
            self.describe_opt,
            self.entity_type,
            self.entity_name,
            self.add_config,
            self.delete_config,
            self.help_opt,
        }

    def check_args(self) -> None:
        """End the process, or raise IllegalArgumentException, when options are missing or do not go together."""
        has = self.options.has
        if has(self.alter_opt) == has(self.describe_opt):
            CommandLineUtils.print_usage_and_die(
                self.parser, "Command must include exactly one action: --describe, --alter"
            )
        CommandLineUtils.check_invalid_args(self.parser, self.options, self.alter_opt, [self.describe_opt])
        CommandLineUtils.check_invalid_args(
            self.parser, self.options, self.describe_opt, [self.alter_opt, self.add_config, self.delete_config]
        )
        entity_types = self.options.values_of(self.entity_type)
        if has(self.bootstrap_server_opt) == has(self.zk_connect_opt):
            raise IllegalArgumentException("Only one of --bootstrap-server or --zookeeper must be specified")
        if any(kind in entity_types for kind in (*_QUOTA_TYPES, ConfigType.TOPIC)):
            CommandLineUtils.check_required_args(self.parser, self.options, self.zk_connect_opt, self.entity_type)
        if has(self.alter_opt):
            self._check_alter(entity_types)
        for entity_type in entity_types:
            if entity_type not in ConfigType.ALL:
                raise IllegalArgumentException(
                    f"Invalid entity-type {entity_type}, --entity-type must be one of {_scala(ConfigType.ALL)}"
                )
        if not entity_types:
            raise IllegalArgumentException("At least one --entity-type must be specified")
        if len(entity_types) > 1 and set(entity_types) != set(_QUOTA_TYPES):
            raise IllegalArgumentException(
                f"Only '{ConfigType.USER}' and '{ConfigType.CLIENT}' entity types may be specified together"
            )

    def _check_alter(self, entity_types: list[str]) -> None:
        has = self.options.has
        if any(kind in entity_types for kind in (*_QUOTA_TYPES, ConfigType.BROKER)):
            if not has(self.entity_name) and not has(self.entity_default):
                raise IllegalArgumentException(
                    "--entity-name or --entity-default must be specified with --alter of users, clients or brokers"
                )
        elif not has(self.entity_name):
            raise IllegalArgumentException(f"--entity-name must be specified with --alter of {_scala(entity_types)}")
        if not has(self.add_config) and not has(self.delete_config):
            raise IllegalArgumentException(
                "At least one of --add-config or --delete-config must be specified with --alter"
            )


def _scala(names: Iterable[str]) -> str:
    return f"List({', '.join(names)})"


def _add_config_text() -> str:
    kinds: tuple[tuple[str, Iterable[str]], ...] = (
        (ConfigType.TOPIC, LogConfig.config_names()),
        (ConfigType.BROKER, sorted(DynamicConfig.Broker.names())),
        (ConfigType.USER, sorted(DynamicConfig.User.names())),
        (ConfigType.CLIENT, sorted(DynamicConfig.Client.names())),
    )
    lists = "".join(f"For entity_type '{kind}': {', '.join(names)}. " for kind, names in kinds)
    return (
        "Settings to add, as key=value. Square brackets hold together a value with commas in it: "
        f"'k1=v1,k2=[v1,v2,v2],k3=v3'. These can be set: {lists}Entity types '{ConfigType.USER}' and "
        f"'{ConfigType.CLIENT}' together stand for a client of a user."
    )
