"""Options of kafka-topics, and how they may be combined.

Mirrors: core/src/main/scala/kafka/admin/TopicCommand.scala @ 1.1.1 (TopicCommandOptions), with --bootstrap-server of
later releases
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Collection, Sequence
from typing import ClassVar, NoReturn

from kafka_py.common.utils.exit import Exit
from kafka_py.log.log_config import LogConfig

_OPTION_WIDTH = 41
_DESCRIPTION_WIDTH = 38


class _Parser(argparse.ArgumentParser):
    """A parser that reads as joptsimple does, and ends with status 1 as Kafka's tools do."""

    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        Exit.exit(1, message)
        raise SystemExit(1)

    def format_help(self) -> str:
        """The table that joptsimple prints: options in alphabetical order, their descriptions beside them."""
        lines = [f"{'Option':<{_OPTION_WIDTH}}Description", f"{'------':<{_OPTION_WIDTH}}-----------"]
        for action in sorted(self._actions, key=lambda action: action.option_strings[0]):
            kind = "Integer" if action.type is int else "String"
            name = action.option_strings[0] + (f" <{kind}: {action.metavar}>" if action.metavar else "")
            left = textwrap.wrap(name, _OPTION_WIDTH - 1, subsequent_indent="  ")
            right = _wrapped(action.help or "")
            for index in range(max(len(left), len(right))):
                first = left[index] if index < len(left) else ""
                second = right[index] if index < len(right) else ""
                lines.append(f"{first:<{_OPTION_WIDTH}}{second}".rstrip())
        return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for part in text.split("\n"):
        indent = "        " if part.startswith("\t") else ""
        lines += textwrap.wrap(
            part.strip(),
            _DESCRIPTION_WIDTH,
            initial_indent=indent if indent else ("  " if lines else ""),
            subsequent_indent=indent + "  ",
            break_long_words=False,
        )
    return lines


class TopicCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.TopicCommand.TopicCommandOptions
    """

    ACTIONS: ClassVar[tuple[str, ...]] = ("create", "list", "alter", "describe", "delete")

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with status 1 for what is no option."""
        self.parser = _parser()
        self.options = self.parser.parse_args(list(args))

    def has(self, option: str) -> bool:
        """Whether the option (without dashes) was given."""
        value = getattr(self.options, option.replace("-", "_"))
        return value is not None and value is not False

    @property
    def actions(self) -> list[str]:
        """The actions that were given: exactly one should be."""
        return [action for action in self.ACTIONS if self.has(action)]

    def check_args(self) -> None:
        """End the process with usage and status 1 when options are missing or do not go together."""
        if self.has("bootstrap-server"):
            self._check_invalid("bootstrap-server", {"zookeeper"})
        else:
            self.check_required("zookeeper")
        if not self.has("list") and not self.has("describe"):
            self.check_required("topic")
        everything = set(self.ACTIONS)
        reports = {"under-replicated-partitions", "unavailable-partitions", "topics-with-overrides"}
        self._check_invalid("config", everything - {"alter", "create"})
        self._check_invalid("delete-config", everything - {"alter"})
        self._check_invalid("partitions", everything - {"alter", "create"})
        self._check_invalid("replication-factor", everything - {"create"})
        self._check_invalid("replica-assignment", everything - {"create", "alter"})
        if self.has("create"):
            self._check_invalid("replica-assignment", {"partitions", "replication-factor"})
        for report in sorted(reports):
            self._check_invalid(report, (everything - {"describe"}) | (reports - {report}))
        self._check_invalid("if-exists", everything - {"alter", "delete"})
        self._check_invalid("if-not-exists", everything - {"create"})

    def check_required(self, *options: str) -> None:
        """End the process when one of the options is not there."""
        for option in options:
            if not self.has(option):
                self.print_usage_and_die(f'Missing required argument "[{option}]"')

    def _check_invalid(self, used: str, invalid: Collection[str]) -> None:
        for option in sorted(invalid):
            if self.has(used) and self.has(option):
                self.print_usage_and_die(f'Option "[{used}]" can\'t be used with option"[{option}]"')

    def print_usage_and_die(self, message: str) -> None:
        """Print the message and all options on standard error, and end with status 1."""
        print(message, file=sys.stderr)
        self.parser.print_help(sys.stderr)
        Exit.exit(1, message)


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=True)
    for name, metavar, text in _WITH_VALUE:
        kind = int if name in ("--partitions", "--replication-factor") else str
        many = "append" if name in ("--config", "--delete-config") else "store"
        if name == "--config":
            text = text % "\n".join(f"\t{config}" for config in LogConfig.config_names())
        parser.add_argument(name, metavar=metavar, type=kind, action=many, help=text)
    for name, text in _FLAGS:
        parser.add_argument(name, action="store_true", help=text)
    return parser


_REPLICAS_BY_HAND = (
    "broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , "
    "broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ..."
)
_WITH_VALUE = (
    (
        "--zookeeper",
        "hosts",
        "REQUIRED: where ZooKeeper is, as host:port. Several hosts, with commas between them, stand in for each other.",
    ),
    ("--bootstrap-server", "server to connect to", "Brokers as host:port, in place of --zookeeper."),
    (
        "--topic",
        "topic",
        "The topic in question. Except with --create a regular expression may stand for several.",
    ),
    (
        "--config",
        "name=value",
        "A setting of the topic that overrides the brokers'. These can be set: \n%s\n"
        "Kafka's documentation tells what each of them does.",
    ),
    (
        "--delete-config",
        "name",
        "A setting of the topic that is to be the brokers' again (names as with --config).",
    ),
    (
        "--partitions",
        "# of partitions",
        "How many partitions the topic is to have (WARNING: with more of them keys may go to other partitions than "
        "before, so that their order is lost).",
    ),
    ("--replication-factor", "replication factor", "How many replicas each partition of the new topic is to have."),
    ("--replica-assignment", _REPLICAS_BY_HAND, "The brokers of each partition, chosen by hand."),
)
_FLAGS = (
    ("--list", "Show the names of all topics."),
    ("--create", "Make a new topic."),
    ("--delete", "Remove a topic"),
    (
        "--alter",
        "Change a topic: how many partitions it has, where their replicas are, its configuration.",
    ),
    ("--describe", "Show the details of topics."),
    ("--help", "Show this."),
    ("--under-replicated-partitions", "with --describe: only partitions with replicas that are not in sync"),
    ("--unavailable-partitions", "with --describe: only partitions without a leader"),
    ("--topics-with-overrides", "with --describe: only topics with settings of their own"),
    ("--if-exists", "with --alter or --delete: do nothing when the topic is not there"),
    ("--if-not-exists", "with --create: do nothing when the topic is there already"),
    ("--disable-rack-aware", "Take no notice of the brokers' racks"),
    ("--force", "Ask no questions"),
)
