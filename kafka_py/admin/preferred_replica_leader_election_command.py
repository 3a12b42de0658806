"""kafka-preferred-replica-election: gives leadership back to the first replicas.

Mirrors: core/src/main/scala/kafka/admin/PreferredReplicaLeaderElectionCommand.scala @ 1.1.1
Read next: leader_election_command.py, which has it done by a request and waits for the result
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from kafka_py.common.errors import AdminCommandFailedException, AdminOperationException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.throwables import stack_trace, to_string
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import read_file_as_string
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.core_utils import duplicates
from kafka_py.utils.json import Json
from kafka_py.utils.option_parser import OptionParser
from kafka_py.utils.scala_text import as_scala
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.keeper_exception import NodeExistsException

_INT_MAX = 0x7FFFFFFF
_FORMAT = '{"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}'


class PreferredReplicaLeaderElectionCommand:
    """The partitions whose first replicas shall lead; and, as class methods, the tool.

    Mirrors: kafka.admin.PreferredReplicaLeaderElectionCommand (the class and the object)
    """

    def __init__(self, zk_client: KafkaZkClient, partitions_from_user: Collection[TopicPartition]) -> None:
        """These partitions, whether they are there or not."""
        self._zk_client = zk_client
        self._partitions_from_user = set(partitions_from_user)

    @classmethod
    def main(cls, args: Sequence[str]) -> int:
        """Carry out the command line: 0, even when it failed, which is told on standard output."""
        parser = OptionParser(allow_abbreviations=False)
        json_file_opt = (
            parser.accepts(
                "path-to-json-file",
                f"A JSON file of the partitions whose first replicas shall lead. It looks like this: {_FORMAT} "
                "All partitions without this option",
            )
            .with_required_arg()
            .described_as("list of partitions for which preferred replica leader election needs to be triggered")
        )
        zk_connect_opt = (
            parser.accepts(
                "zookeeper",
                "REQUIRED: where ZooKeeper is, as host:port. Several, with commas between them, stand in for each "
                "other.",
            )
            .with_required_arg()
            .described_as("urls")
        )
        if not args:
            CommandLineUtils.print_usage_and_die(
                parser,
                "This tool causes leadership for each partition to be transferred back to the 'preferred replica', it "
                "can be used to balance leadership among the servers.",
            )
        options = CommandLineUtils.parse(parser, list(args))
        CommandLineUtils.check_required_args(parser, options, zk_connect_opt)
        try:
            cls._run(options.value_of(zk_connect_opt), options.value_of(json_file_opt))
        except Exception as e:  # noqa: BLE001  # whatever it was, the user gets its text
            print("Failed to start preferred replica election")
            print(stack_trace(e))
        return 0

    @classmethod
    def _run(cls, zk_connect: str, json_file: str | None) -> None:
        zk_client = KafkaZkClient.create(zk_connect, False, 30000, 30000, _INT_MAX, Time.SYSTEM)
        try:
            if json_file is None:
                partitions = zk_client.get_all_partitions()
            else:
                partitions = cls.parse_preferred_replica_election_data(read_file_as_string(json_file))
            cls(zk_client, partitions).move_leader_to_preferred_replica()
        finally:
            zk_client.close()

    @staticmethod
    def parse_preferred_replica_election_data(json_string: str) -> set[TopicPartition]:
        """The partitions of the text; AdminOperationException if there are none, or one is named twice."""
        js = Json.parse_full(json_string)
        entries = None if js is None else js.as_json_object.get("partitions")
        if entries is None:
            raise AdminOperationException("Preferred replica election data is empty")
        fields = [entry.as_json_object for entry in entries.as_json_array]
        partitions = [TopicPartition(entry["topic"].to(str), entry["partition"].to(int)) for entry in fields]
        repeated = duplicates(partitions)
        if repeated:
            raise AdminOperationException(
                f"Preferred replica election data contains duplicate partitions: {','.join(map(str, repeated))}"
            )
        return set(partitions)

    @staticmethod
    def write_preferred_replica_election_data(
        zk_client: KafkaZkClient, partitions_undergoing_preferred_replica_election: Collection[TopicPartition]
    ) -> None:
        """Tell the controller; AdminOperationException while it has not done what it was told before."""
        partitions = sorted(partitions_undergoing_preferred_replica_election)
        try:
            zk_client.create_preferred_replica_election(partitions)
        except NodeExistsException:
            current = ",".join(map(str, sorted(zk_client.get_preferred_replica_election())))
            raise AdminOperationException(
                f"Preferred replica leader election currently in progress for {current}. Aborting operation"
            ) from None
        except Exception as e:  # noqa: BLE001  # Kafka makes one kind of error of all
            raise AdminOperationException(to_string(e)) from None
        print(f"Created preferred replica election path with {','.join(map(str, partitions))}")

    def move_leader_to_preferred_replica(self) -> None:
        """Tell the controller of the partitions that are there; AdminCommandFailedException with the cause."""
        try:
            topics = {tp.topic for tp in self._partitions_from_user}
            found = self._zk_client.get_partitions_for_topics(topics)
            from_zk = {TopicPartition(topic, number) for topic, numbers in found.items() for number in numbers}
            valid = self._partitions_from_user & from_zk
            self.write_preferred_replica_election_data(self._zk_client, valid)
            print(f"Successfully started preferred replica election for partitions {as_scala(valid)}")
            for tp in sorted(self._partitions_from_user - valid):
                print(f"Skipping preferred replica leader election for partition {tp} since it doesn't exist.")
        except Exception as e:
            raise AdminCommandFailedException("Admin command failed", e) from e


def main(args: list[str]) -> int:
    """Entry of bin/kafka-preferred-replica-election.py."""
    return PreferredReplicaLeaderElectionCommand.main(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
