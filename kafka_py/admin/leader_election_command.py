"""kafka-leader-election: has leaders elected, the first replicas or any that live, and tells what came of it.

Mirrors: core/src/main/scala/kafka/admin/LeaderElectionCommand.scala @ 2.5.1
Read next: controller/kafka_controller_api_events.py, which does it
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from kafka_py.admin.admin_client import AdminClient
from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import (
    AdminCommandFailedException,
    AdminOperationException,
    ApiException,
    ClusterAuthorizationException,
    ElectionNotNeededException,
    TimeoutException,
)
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.app_info_parser import AppInfoParser
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.throwables import to_string
from kafka_py.common.utils.utils import load_props, read_file_as_string
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.core_utils import duplicates
from kafka_py.utils.json import Json
from kafka_py.utils.option_parser import OptionParser, OptionSpec

_TIMEOUT_MS = 30_000
_FORMAT = '{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}'


class LeaderElectionCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.LeaderElectionCommandOptions @ 2.5.1
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with usage and status 1 for what is no option."""
        self.parser = OptionParser(allow_abbreviations=False)
        accepts = self.parser.accepts
        self.help_opt = accepts("help", "Print usage information.")
        self.version_opt = accepts("version", "Display Kafka version.")
        self.bootstrap_server = self._with_value(
            "bootstrap-server", "host:port", "Brokers as host:port, with commas between them. REQUIRED."
        )
        self.admin_client_config = self._with_value(
            "admin.config", "config file", "A file of properties for the client (no security yet)."
        )
        self.path_to_json_file = self._with_value(
            "path-to-json-file",
            "Path to JSON file",
            f"A JSON file of the partitions that shall have an election. It looks like this: {_FORMAT} Not beside "
            "--all-topic-partitions or --topic.",
        )
        self.topic = self._with_value(
            "topic",
            "topic name",
            "The topic of the partition that shall have an election. Not beside --path-to-json-file or "
            "--all-topic-partitions.",
        )
        self.partition = self._with_value(
            "partition", "partition id", "The partition's number. REQUIRED with --topic."
        ).of_type(int)
        self.all_topic_partitions = accepts(
            "all-topic-partitions",
            "Every partition that needs an election (see --election-type) shall have one. Not beside --topic or "
            "--path-to-json-file.",
        )
        self.election_type = self._with_value(
            "election-type",
            "election type",
            'Which replicas may be elected. "preferred": the first one of a partition, where another leads. "unclean": '
            "any that lives, where none leads; records that only others have are lost. REQUIRED.",
        ).of_type(_election_type, "ElectionType")
        self.options = CommandLineUtils.parse(self.parser, list(args))

    def _with_value(self, name: str, argument: str, text: str) -> OptionSpec:
        return self.parser.accepts(name, text).with_required_arg().described_as(argument)


def _election_type(text: str) -> ElectionType:
    try:
        return ElectionType[text.upper()]
    except KeyError:
        raise ValueError(text) from None


class LeaderElectionCommand:
    """The tool.

    Mirrors: kafka.admin.LeaderElectionCommand @ 2.5.1
    Differs: the partitions that have their leader already are named as such; Kafka names those that were elected
    """

    @classmethod
    def main(cls, args: Sequence[str]) -> int:
        """0 when every partition has the leader it should have; raises what there is to say otherwise."""
        cls.run(args, _TIMEOUT_MS)
        return 0

    @classmethod
    def run(cls, args: Sequence[str], timeout_ms: int) -> None:
        """Carry out the command line, and wait that long for brokers that do not answer."""
        command_options = LeaderElectionCommandOptions(args)
        options = command_options.options
        if not args or options.has(command_options.help_opt):
            CommandLineUtils.print_usage_and_die(
                command_options.parser,
                "This tool attempts to elect a new leader for a set of topic partitions. The type of elections "
                "supported are preferred replicas and unclean replicas.",
            )
        if options.has(command_options.version_opt):
            print(f"{AppInfoParser.get_version()} (Commit:{AppInfoParser.get_commit_id()})")
            Exit.exit(0)
        cls._validate(command_options)
        partitions: set[TopicPartition] | None = None
        json_file, topic = (options.value_of(o) for o in (command_options.path_to_json_file, command_options.topic))
        if json_file is not None:
            partitions = cls._parse_replica_election_data(read_file_as_string(json_file))
        elif topic is not None:
            partitions = {TopicPartition(topic, options.value_of(command_options.partition))}
        if options.has(command_options.admin_client_config):
            load_props(options.value_of(command_options.admin_client_config))  # nothing in it matters yet
        client = AdminClient.create(options.value_of(command_options.bootstrap_server))
        try:
            cls._elect_leaders(client, options.value_of(command_options.election_type), partitions, timeout_ms)
        finally:
            client.close()

    @staticmethod
    def _parse_replica_election_data(json_string: str) -> set[TopicPartition]:
        js = Json.parse_full(json_string)
        if js is None:
            raise AdminOperationException("Replica election data is empty")
        entries = js.as_json_object.get("partitions")
        if entries is None:
            raise AdminOperationException('Replica election data is missing "partitions" field')
        fields = [entry.as_json_object for entry in entries.as_json_array]
        partitions = [TopicPartition(entry["topic"].to(str), entry["partition"].to(int)) for entry in fields]
        repeated = duplicates(partitions)
        if repeated:
            raise AdminOperationException(
                f"Replica election data contains duplicate partitions: {','.join(map(str, repeated))}"
            )
        return set(partitions)

    @classmethod
    def _elect_leaders(
        cls,
        client: AdminClient,
        election_type: ElectionType,
        topic_partitions: Collection[TopicPartition] | None,
        timeout_ms: int,
    ) -> None:
        partitions = None if topic_partitions is None else sorted(topic_partitions)
        try:
            results = client.elect_leaders(election_type, partitions, timeout_ms)
        except (TimeoutException, ClusterAuthorizationException) as e:
            timed_out = isinstance(e, TimeoutException)
            message = (
                "Timeout waiting for election results" if timed_out else "Not authorized to perform leader election"
            )
            print(message)
            raise AdminCommandFailedException(message, e) from e
        succeeded = [tp for tp, error in results.items() if error is None]
        noop = [tp for tp, error in results.items() if isinstance(error, ElectionNotNeededException)]
        if succeeded:
            print(f"Successfully completed leader election ({election_type}) for partitions {_joined(succeeded)}")
        if noop:
            print(f"Valid replica already elected for partitions {_joined(noop)}")
        cls._tell_failures(election_type, {tp: e for tp, e in results.items() if e is not None and tp not in noop})

    @staticmethod
    def _tell_failures(election_type: ElectionType, failed: dict[TopicPartition, ApiException]) -> None:
        if not failed:
            return
        root_exception = AdminCommandFailedException(f"{len(failed)} replica(s) could not be elected")
        for tp, exception in failed.items():
            print(f"Error completing leader election ({election_type}) for partition: {tp}: {to_string(exception)}")
            root_exception.suppressed.append(exception)
        raise root_exception

    @staticmethod
    def _validate(command_options: LeaderElectionCommandOptions) -> None:
        opts, has = command_options, command_options.options.has
        missing = [option.names[0] for option in (opts.election_type, opts.bootstrap_server) if not has(option)]
        if missing:
            raise AdminCommandFailedException(f"Missing required option(s): {', '.join(missing)}")
        exclusive = (opts.topic, opts.all_topic_partitions, opts.path_to_json_file)
        if sum(map(has, exclusive)) != 1:
            raise AdminCommandFailedException(
                "One and only one of the following options is required: "
                f"{', '.join(option.names[0] for option in exclusive)}"
            )
        if has(opts.topic) and not has(opts.partition):
            raise AdminCommandFailedException(f"Missing required option(s): {opts.partition.names[0]}")
        if has(opts.partition) and not has(opts.topic):
            raise AdminCommandFailedException(
                f"Option {opts.partition.names[0]} is only allowed if {opts.topic.names[0]} is used"
            )


def _joined(partitions: Collection[TopicPartition]) -> str:
    return ", ".join(map(str, partitions))


def main(args: list[str]) -> int:
    """Entry of bin/kafka-leader-election.py."""
    return LeaderElectionCommand.main(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
