"""Options of kafka-consumer-groups, and how they may be combined.

Mirrors: core/src/main/scala/kafka/admin/ConsumerGroupCommand.scala @ 1.1.1 (ConsumerGroupCommandOptions); 2.5.1 for
--all-groups and --delete-offsets
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser, OptionSet, OptionSpec

_NEW_CONSUMER = (
    "The {0} option is deprecated and will be removed in a future major release."
    "The new consumer is used by default if the {1} option is provided."
)
_DRY_RUN = (
    "WARN: In a future major release, the default behavior of this command will be to prompt the user before executing "
    "the reset rather than doing a dry run. You should add the --dry-run option explicitly if you are scripting this "
    "command and want to keep the current default behavior without prompting."
)


class ConsumerGroupCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.ConsumerGroupCommand.ConsumerGroupCommandOptions
    Differs: groups of the old consumer, whose offsets are in ZooKeeper, cannot be seen.
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with usage and status 1 for options that do not exist or exclude each other."""
        self.parser = OptionParser(allow_abbreviations=False)
        self._declare_actions()
        self._declare_scopes()
        self._declare_reset_scenarios()
        self.options: OptionSet = CommandLineUtils.parse(self.parser, list(args))

    def _declare_actions(self) -> None:
        accepts = self.parser.accepts
        self.list_opt = accepts("list", "List all consumer groups.")
        self.describe_opt = accepts("describe", "Show how far a group is, partition by partition.")
        self.delete_opt = accepts("delete", "Delete groups without members, and their offsets: --group g1 --group g2")
        self.reset_offsets_opt = accepts(
            "reset-offsets",
            "Set the offsets of a group without members. Nothing is changed unless --execute is given; --export prints "
            "the new offsets as CSV. Says where to: one of --to-datetime, --by-duration, --to-earliest, --to-latest, "
            "--shift-by, --from-file, --to-current, --to-offset. Says what: --all-topics or --topic, unless there is a "
            "file.",
        )
        self.delete_offsets_opt = accepts("delete-offsets", "Forget a group's offsets of some topics (brokers >= 2.4).")
        self.members_opt = accepts("members", "With --describe: the members.").available_if(self.describe_opt)
        self.verbose_opt = accepts("verbose", "With --members: their partitions.").available_if(self.describe_opt)
        self.offsets_opt = accepts(
            "offsets", "With --describe: each partition's offset and lag; the default."
        ).available_if(self.describe_opt)
        self.state_opt = accepts("state", "With --describe: the group's state.").available_if(self.describe_opt)
        self.parser.mutually_exclusive(self.members_opt, self.offsets_opt, self.state_opt)

    def _declare_scopes(self) -> None:
        def with_value(name: str, text: str, argument: str) -> OptionSpec:
            return self.parser.accepts(name, text).with_required_arg().described_as(argument)

        self.zk_connect_opt = with_value("zookeeper", "Not supported (old consumer).", "urls")
        self.bootstrap_server_opt = with_value(
            "bootstrap-server", "REQUIRED: The brokers to start from.", "server to connect to"
        )
        self.group_opt = with_value("group", "The group to act on.", "consumer group")
        self.all_groups_opt = self.parser.accepts("all-groups", "Act on all groups.")
        self.topic_opt = with_value(
            "topic", "A topic whose offsets to set or to forget, or some of its partitions: topic1:0,1,2", "topic"
        )
        self.all_topics_opt = self.parser.accepts("all-topics", "All topics that the group has offsets of.")
        self.new_consumer_opt = self.parser.accepts("new-consumer", "Deprecated: there is no other.")
        self.timeout_ms_opt = (
            with_value("timeout", "How long to wait for a group that is just coming about.", "timeout (ms)")
            .of_type(int, "Long")
            .defaults_to(5000)
        )
        self.command_config_opt = with_value(
            "command-config", "File of properties for the client (no security yet).", "command config property file"
        )

    def _declare_reset_scenarios(self) -> None:
        accepts = self.parser.accepts
        self.dry_run_opt = accepts("dry-run", "Only show what --reset-offsets would do.")
        self.execute_opt = accepts("execute", "Do it.")
        self.export_opt = accepts("export", "Print the offsets as lines topic,partition,offset.")
        self.reset_to_offset_opt = accepts("to-offset", "To this offset.").with_required_arg()
        self.reset_to_offset_opt.described_as("offset").of_type(int, "Long")
        self.reset_from_file_opt = accepts("from-file", "To what --export printed.").with_required_arg()
        self.reset_from_file_opt.described_as("path to CSV file")
        self.reset_to_datetime_opt = accepts(
            "to-datetime", "To the first record not before a moment: 'YYYY-MM-DDTHH:mm:SS.sss', UTC without a zone"
        ).with_required_arg()
        self.reset_to_datetime_opt.described_as("datetime")
        self.reset_by_duration_opt = accepts(
            "by-duration", "To the first record not older than: 'PnDTnHnMnS'"
        ).with_required_arg()
        self.reset_by_duration_opt.described_as("duration")
        self.reset_to_earliest_opt = accepts("to-earliest", "To the start of the log.")
        self.reset_to_latest_opt = accepts("to-latest", "To the end of the log.")
        self.reset_to_current_opt = accepts("to-current", "To where it is: partitions without an offset to the end.")
        self.reset_shift_by_opt = accepts("shift-by", "Forward, or with a negative number back.").with_required_arg()
        self.reset_shift_by_opt.described_as("number-of-offsets").of_type(int, "Long")
        self.all_reset_offset_scenario_opts = (
            self.reset_to_offset_opt,
            self.reset_shift_by_opt,
            self.reset_to_datetime_opt,
            self.reset_by_duration_opt,
            self.reset_to_earliest_opt,
            self.reset_to_latest_opt,
            self.reset_to_current_opt,
            self.reset_from_file_opt,
        )

    def has(self, option: OptionSpec) -> bool:
        """Whether the option was given."""
        return self.options.has(option)

    @property
    def actions(self) -> list[OptionSpec]:
        """The actions that were given: exactly one should be."""
        all_actions = (
            self.list_opt, self.describe_opt, self.delete_opt, self.reset_offsets_opt, self.delete_offsets_opt
        )  # fmt: skip
        return [action for action in all_actions if self.has(action)]

    def die(self, message: str) -> None:
        """Print message and options, and end with status 1."""
        CommandLineUtils.print_usage_and_die(self.parser, message)

    def check_args(self) -> None:
        """End the process with usage and status 1 when options are missing or do not go together."""
        if self.has(self.zk_connect_opt):
            self.die("Groups of the old consumer, in ZooKeeper, are not supported: use --bootstrap-server.")
        CommandLineUtils.check_required_args(self.parser, self.options, self.bootstrap_server_opt)
        if self.has(self.new_consumer_opt):
            print(_NEW_CONSUMER.format(self.new_consumer_opt, self.bootstrap_server_opt), file=sys.stderr)
        for action in (self.describe_opt, self.delete_opt, self.reset_offsets_opt):
            if self.has(action) and not self.has(self.group_opt) and not self.has(self.all_groups_opt):
                self.die(f"Option {action} takes one of these options: {self.group_opt}, {self.all_groups_opt}")
        if self.has(self.delete_opt) and self.has(self.topic_opt):
            self.die("The consumer does not support topic-specific offset deletion from a consumer group.")
        if self.has(self.delete_offsets_opt) and not (self.has(self.group_opt) and self.has(self.topic_opt)):
            self.die(
                f"Option {self.delete_offsets_opt} takes the following options: {self.group_opt}, {self.topic_opt}"
            )
        if self.has(self.reset_offsets_opt):
            self._check_reset()
        invalid = CommandLineUtils.check_invalid_args
        invalid(self.parser, self.options, self.group_opt, (self.all_groups_opt, self.list_opt))
        invalid(self.parser, self.options, self.topic_opt, (self.list_opt, self.describe_opt))

    def _check_reset(self) -> None:
        if not self.has(self.dry_run_opt) and not self.has(self.execute_opt):
            print(_DRY_RUN, file=sys.stderr)
        if self.has(self.dry_run_opt) and self.has(self.execute_opt):
            self.die(f"Option {self.reset_offsets_opt} only accepts one of {self.execute_opt} and {self.dry_run_opt}")
        for scenario in self.all_reset_offset_scenario_opts:
            others = [other for other in self.all_reset_offset_scenario_opts if other is not scenario]
            CommandLineUtils.check_invalid_args(self.parser, self.options, scenario, others)
