"""kafka-log-dirs: shows the partitions in the brokers' log directories.

Mirrors: core/src/main/scala/kafka/admin/LogDirsCommand.scala @ 1.1.1
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from kafka_py.admin.admin_client import AdminClient
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.json import Json
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse


class LogDirsCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.LogDirsCommand.LogDirsCommandOptions
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with usage and status 1 when something is missing."""
        self.parser = parser = OptionParser(allow_abbreviations=False)
        self.bootstrap_server_opt = (
            parser.accepts("bootstrap-server", "REQUIRED: where the brokers are, as host:port")
            .with_required_arg()
            .described_as("The server(s) to use for bootstrapping")
        )
        self.describe_opt = parser.accepts("describe", "Show the log directories of the brokers.")
        self.topic_list_opt = (
            parser.accepts("topic-list", 'Topics to show, as "topic1,topic2,topic3"; all topics without this option')
            .with_required_arg()
            .described_as("Topic list")
            .defaults_to("")
        )
        self.broker_list_opt = (
            parser.accepts("broker-list", 'Brokers to ask, as "0,1,2"; all brokers without this option')
            .with_required_arg()
            .described_as("Broker list")
        )
        self.options = CommandLineUtils.parse(parser, list(args))
        CommandLineUtils.check_required_args(parser, self.options, self.bootstrap_server_opt, self.describe_opt)


class LogDirsCommand:
    """The tool.

    Mirrors: kafka.admin.LogDirsCommand
    Left out: main, createAdminClient -- main is the module's, the client is made in describe
    """

    @classmethod
    def describe(cls, args: Sequence[str], out: TextIO) -> None:
        """Carry out the command line; raises OSError when a broker cannot be reached, ValueError for a bad id."""
        opts = LogDirsCommandOptions(args)
        admin_client = AdminClient.create(opts.options.value_of(opts.bootstrap_server_opt))
        try:
            topics = [topic for topic in opts.options.value_of(opts.topic_list_opt).split(",") if topic]
            broker_list = opts.options.value_of(opts.broker_list_opt)
            if broker_list is None:
                brokers = [node.id for node in admin_client.find_all_brokers()]
            else:
                brokers = [int(broker) for broker in broker_list.split(",") if broker]
            print("Querying brokers for log directories information", file=out)
            infos = admin_client.describe_log_dirs(brokers)
            print(f"Received log directory information from brokers {','.join(map(str, brokers))}", file=out)
            print(cls._format_as_json(infos, set(topics)), file=out)
        finally:
            admin_client.close()

    @staticmethod
    def _format_as_json(
        log_dir_infos_by_broker: Mapping[int, Mapping[str, DescribeLogDirsResponse.LogDirInfo]],
        topics: Collection[str],
    ) -> str:
        return Json.encode_as_string(
            {
                "version": 1,
                "brokers": [
                    {
                        "broker": broker,
                        "logDirs": [
                            {
                                "logDir": log_dir,
                                "error": info.error.exception_name(),
                                "partitions": [
                                    {
                                        "partition": str(tp),
                                        "size": replica.size,
                                        "offsetLag": replica.offset_lag,
                                        "isFuture": replica.is_future,
                                    }
                                    for tp, replica in info.replica_infos.items()
                                    if not topics or tp.topic in topics
                                ],
                            }
                            for log_dir, info in log_dir_infos.items()
                        ],
                    }
                    for broker, log_dir_infos in log_dir_infos_by_broker.items()
                ],
            }
        )


def main(args: list[str]) -> int:
    """0 when the brokers have answered; raises what kept one from being asked."""
    LogDirsCommand.describe(args, sys.stdout)
    return 0
