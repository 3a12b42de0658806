"""Options of kafka-reassign-partitions.

Mirrors: core/src/main/scala/kafka/admin/ReassignPartitionsCommand.scala @ 1.1.1 (ReassignPartitionsCommandOptions)
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.option_parser import OptionParser

_NO_LIMIT = -1
_TIMEOUT_MS = 10_000
_REASSIGNMENT = (
    '{"partitions": [{"topic": "foo", "partition": 1, "replicas": [1,2,3], "log_dirs": ["dir1","dir2","dir3"] }], '
    '"version":1 }'
)
_TOPICS = '{"topics": [{"topic": "foo"},{"topic": "foo1"}], "version":1 }'


class ReassignPartitionsCommandOptions:
    """The parsed command line.

    Mirrors: kafka.admin.ReassignPartitionsCommand.ReassignPartitionsCommandOptions
    """

    def __init__(self, args: Sequence[str]) -> None:
        """Parse; ends the process with usage and status 1 for what is no option."""
        self.parser = OptionParser(allow_abbreviations=False)
        self._accept_places()
        self._accept_actions()
        self._accept_limits()
        self.options = CommandLineUtils.parse(self.parser, list(args))

    def _accept_places(self) -> None:
        accepts = self.parser.accepts
        self.bootstrap_server_opt = (
            accepts(
                "bootstrap-server",
                "Where the brokers are, as host:port. REQUIRED if the file of --reassignment-json-file names a log "
                "directory for any replica",
            )
            .with_required_arg()
            .described_as("Server(s) to use for bootstrapping")
        )
        self.zk_connect_opt = (
            accepts(
                "zookeeper",
                "REQUIRED: where ZooKeeper is, as host:port. Several, with commas between them, stand in for each "
                "other.",
            )
            .with_required_arg()
            .described_as("urls")
        )

    def _accept_actions(self) -> None:
        accepts = self.parser.accepts
        self.generate_opt = accepts("generate", "Propose where the partitions could go. Nothing is moved.")
        self.execute_opt = accepts("execute", "Begin to move what the file of --reassignment-json-file names.")
        self.verify_opt = accepts(
            "verify",
            "Tell how far the moves of the file of --reassignment-json-file have come. When all are complete, the "
            "limits on their replicas are taken away",
        )
        self.reassignment_json_file_opt = (
            accepts(
                "reassignment-json-file",
                f"A JSON file that tells where each partition is to be. It looks like this: {_REASSIGNMENT} "
                '"log_dirs" may be left out; else it is as long as the list of replicas, and each entry is "any" or '
                "the absolute path of a log directory of that broker.",
            )
            .with_required_arg()
            .described_as("manual assignment json file path")
        )
        self.topics_to_move_json_file_opt = (
            accepts(
                "topics-to-move-json-file",
                f"A JSON file of the topics whose partitions --generate is to spread over the brokers of "
                f"--broker-list. It looks like this: {_TOPICS}",
            )
            .with_required_arg()
            .described_as("topics to reassign json file path")
        )
        self.broker_list_opt = (
            accepts(
                "broker-list", 'The brokers that the partitions are to be spread over, as "0,1,2". Goes with --generate'
            )
            .with_required_arg()
            .described_as("brokerlist")
        )
        self.disable_rack_aware = accepts("disable-rack-aware", "Take no notice of the brokers' racks")

    def _accept_limits(self) -> None:
        accepts = self.parser.accepts
        again = "Given again while the partitions are being moved, it changes the limit. It should be 1 KB/s or more."
        self.inter_broker_throttle_opt = (
            accepts("throttle", f"How fast partitions may go from broker to broker (bytes/sec). {again}")
            .with_required_arg()
            .described_as("throttle")
            .of_type(int, "Long")
            .defaults_to(_NO_LIMIT)
        )
        self.replica_alter_log_dirs_throttle_opt = (
            accepts(
                "replica-alter-log-dirs-throttle",
                f"How fast replicas may go from directory to directory of a broker (bytes/sec). {again}",
            )
            .with_required_arg()
            .described_as("replicaAlterLogDirsThrottle")
            .of_type(int, "Long")
            .defaults_to(_NO_LIMIT)
        )
        self.timeout_opt = (
            accepts("timeout", "How long to wait, in ms, until the brokers have begun to move what --execute told them")
            .with_required_arg()
            .described_as("timeout")
            .of_type(int, "Long")
            .defaults_to(_TIMEOUT_MS)
        )
