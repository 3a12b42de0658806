"""kafka-delete-records: deletes the records below given offsets.

Mirrors: core/src/main/scala/kafka/admin/DeleteRecordsCommand.scala @ 1.1.1
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from kafka_py.admin.admin_client import AdminClient
from kafka_py.common.errors import AdminCommandFailedException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.throwables import to_string
from kafka_py.common.utils.utils import read_file_as_string
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.core_utils import duplicates
from kafka_py.utils.json import Json
from kafka_py.utils.option_parser import OptionParser


class DeleteRecordsCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.DeleteRecordsCommand.DeleteRecordsCommandOptions
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with usage and status 1 when something is missing."""
        self.parser = parser = OptionParser(allow_abbreviations=False)
        self.bootstrap_server_opt = (
            parser.accepts("bootstrap-server", "REQUIRED: Where the brokers are, as host:port.")
            .with_required_arg()
            .described_as("server(s) to use for bootstrapping")
        )
        self.offset_json_file_opt = (
            parser.accepts(
                "offset-json-file",
                "REQUIRED: A JSON file that tells where each partition is to start. It looks like this: "
                '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version":1 }',
            )
            .with_required_arg()
            .described_as("Offset json file path")
        )
        self.command_config_opt = (
            parser.accepts("command-config", "A file of properties for the client (no security yet).")
            .with_required_arg()
            .described_as("command config property file path")
        )
        self.options = CommandLineUtils.parse(parser, list(args))
        CommandLineUtils.check_required_args(parser, self.options, self.bootstrap_server_opt, self.offset_json_file_opt)


class DeleteRecordsCommand:
    """The tool.

    Mirrors: kafka.admin.DeleteRecordsCommand
    Left out: main, createAdminClient -- main is the module's, the client is made in execute
    """

    @staticmethod
    def parse_offset_json_string_without_dedup(json_data: str) -> list[tuple[TopicPartition, int]]:
        """The offsets in the order of the file; raises JsonProcessingException for what has another form."""
        js = Json.parse_full(json_data)
        partitions = None if js is None else js.as_json_object.get("partitions")
        if partitions is None:
            return []
        found = []
        for partition_js in partitions.as_json_array:
            entry = partition_js.as_json_object
            tp = TopicPartition(entry["topic"].to(str), entry["partition"].to(int))
            found.append((tp, entry["offset"].to("long")))
        return found

    @classmethod
    def execute(cls, args: Sequence[str], out: TextIO) -> None:
        """Carry out the command line; raises AdminCommandFailedException for a partition that is named twice."""
        opts = DeleteRecordsCommandOptions(args)
        offsets = cls.parse_offset_json_string_without_dedup(
            read_file_as_string(opts.options.value_of(opts.offset_json_file_opt))
        )
        duplicate_partitions = duplicates(tp for tp, _ in offsets)
        if duplicate_partitions:
            raise AdminCommandFailedException(
                f"Offset json file contains duplicate topic partitions: {','.join(map(str, duplicate_partitions))}"
            )
        admin_client = AdminClient.create(opts.options.value_of(opts.bootstrap_server_opt))
        try:
            print("Executing records delete operation", file=out)
            results = admin_client.delete_records_before(dict(offsets))
            print("Records delete operation completed:", file=out)
            for tp, result in results.items():
                if result.error is None:
                    print(f"partition: {tp}\tlow_watermark: {result.low_watermark}", file=out)
                else:
                    print(f"partition: {tp}\terror: {to_string(result.error)}", file=out)
        finally:
            admin_client.close()


def main(args: list[str]) -> int:
    """0 when the brokers have answered, whatever they said; raises what keeps it from asking them."""
    DeleteRecordsCommand.execute(args, sys.stdout)
    return 0
