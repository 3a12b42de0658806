"""kafka-reassign-partitions: brings partitions to other brokers, and replicas to other log directories.

Mirrors: core/src/main/scala/kafka/admin/ReassignPartitionsCommand.scala @ 1.1.1
Read next: controller/kafka_controller_reassignment.py, which does what is written to ZooKeeper here
"""

from __future__ import annotations

import enum
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_py.admin.admin_client import AdminClient, ReplicaLogDirInfo
from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.admin.reassign_partitions_command_options import ReassignPartitionsCommandOptions
from kafka_py.common.errors import (
    AdminCommandFailedException,
    IllegalArgumentException,
    ReplicaNotAvailableException,
)
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.topic_partition_replica import TopicPartitionReplica
from kafka_py.common.utils.throwables import stack_trace
from kafka_py.common.utils.time import Time
from kafka_py.common.utils.utils import read_file_as_string
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.core_utils import duplicates
from kafka_py.utils.json import DecodeJson, Json, JsonObject
from kafka_py.utils.logging import Logging
from kafka_py.utils.scala_text import as_scala
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.keeper_exception import NodeExistsException

PartitionAssignment = Mapping[TopicPartition, Sequence[int]]
ReplicaAssignment = Mapping[TopicPartitionReplica, str]
_INT_MAX = 0x7FFFFFFF
_PAUSE_MS = 100
_DEFAULT_TIMEOUT_MS = 10_000
_RATES = (
    DynamicConfig.Broker.LEADER_REPLICATION_THROTTLED_RATE_PROP,
    DynamicConfig.Broker.FOLLOWER_REPLICATION_THROTTLED_RATE_PROP,
)
_LOG_DIRS_RATE = DynamicConfig.Broker.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND_PROP
_LEADERS = LogConfig.LEADER_REPLICATION_THROTTLED_REPLICAS_PROP
_FOLLOWERS = LogConfig.FOLLOWER_REPLICATION_THROTTLED_REPLICAS_PROP
_NEEDS_BROKERS = "bootstrap-server needs to be provided in order to reassign replica to the specified log directory"


class ReassignmentStatus(enum.Enum):
    """How far a move has come.

    Mirrors: kafka.admin.ReassignmentStatus
    """

    COMPLETED = 1
    IN_PROGRESS = 0
    FAILED = -1

    @property
    def text(self) -> str:
        """What --verify says of it."""
        return {1: "completed successfully", 0: "is still in progress", -1: "failed"}[self.value]


class Throttle(NamedTuple):
    """Limits in bytes a second, below zero for none.

    Mirrors: kafka.admin.ReassignPartitionsCommand.Throttle
    """

    inter_broker_limit: int
    replica_alter_log_dirs_limit: int = -1
    post_update_action: Callable[[], None] = lambda: None

    @property
    def limits(self) -> bool:
        """Whether anything is limited."""
        return self.inter_broker_limit >= 0 or self.replica_alter_log_dirs_limit >= 0


class ReassignPartitionsCommand(Logging):
    """One assignment and what is done with it; and, as class methods, the actions of the command line.

    Mirrors: kafka.admin.ReassignPartitionsCommand (the class and the object)
    Differs: whoever waits for an answer does so as long as its client does; --timeout limits the repetitions
    """

    logger_name = "kafka.admin.ReassignPartitionsCommand$"
    NO_THROTTLE: Final = Throttle(-1, -1)
    ANY_LOG_DIR: Final = "any"

    # -- The command line

    @classmethod
    def main(cls, args: Sequence[str]) -> int:
        """Carry out the command line: 0, even when it failed, which is told on standard output."""
        opts = cls.validate_and_parse_args(args)
        zk_client = KafkaZkClient.create(
            opts.options.value_of(opts.zk_connect_opt), False, 30000, 30000, _INT_MAX, Time.SYSTEM
        )
        admin_client: AdminClient | None = None
        try:
            admin_client = cls._create_admin_client(opts)
            cls._try_to_run(zk_client, admin_client, opts)
        finally:
            if admin_client is not None:
                admin_client.close()
            zk_client.close()
        return 0

    @classmethod
    def _try_to_run(
        cls, zk_client: KafkaZkClient, admin_client: AdminClient | None, opts: ReassignPartitionsCommandOptions
    ) -> None:
        try:
            cls._run(zk_client, admin_client, opts)
        except Exception as e:  # noqa: BLE001  # whatever it was, the user gets its text
            print(f"Partitions reassignment failed due to {e}")
            print(stack_trace(e))

    @classmethod
    def _run(
        cls, zk_client: KafkaZkClient, admin_client: AdminClient | None, opts: ReassignPartitionsCommandOptions
    ) -> None:
        options = opts.options
        if options.has(opts.generate_opt):
            cls._generate(zk_client, opts)
            return
        reassignment = read_file_as_string(options.value_of(opts.reassignment_json_file_opt))
        if options.has(opts.verify_opt):
            cls.verify_assignment(zk_client, admin_client, reassignment)
            return
        throttle = Throttle(
            options.value_of(opts.inter_broker_throttle_opt), options.value_of(opts.replica_alter_log_dirs_throttle_opt)
        )
        cls.execute_assignment(zk_client, admin_client, reassignment, throttle, options.value_of(opts.timeout_opt))

    @staticmethod
    def _create_admin_client(opts: ReassignPartitionsCommandOptions) -> AdminClient | None:
        servers = opts.options.value_of(opts.bootstrap_server_opt)
        return None if servers is None else AdminClient.create(servers)

    @staticmethod
    def validate_and_parse_args(args: Sequence[str]) -> ReassignPartitionsCommandOptions:
        """The options; ends the process with usage and status 1 when they do not go together."""
        opts = ReassignPartitionsCommandOptions(args)
        parser, options = opts.parser, opts.options

        def die_unless(condition: bool, message: str) -> None:
            if not condition:
                CommandLineUtils.print_usage_and_die(parser, message)

        die_unless(len(args) > 0, "This command moves topic partitions between replicas.")
        actions = [opt for opt in (opts.generate_opt, opts.execute_opt, opts.verify_opt) if options.has(opt)]
        die_unless(len(actions) == 1, "Command must include exactly one action: --generate, --execute or --verify")
        CommandLineUtils.check_required_args(parser, options, opts.zk_connect_opt)
        limits = {opts.inter_broker_throttle_opt, opts.replica_alter_log_dirs_throttle_opt}
        of_generate = {opts.topics_to_move_json_file_opt, opts.disable_rack_aware, opts.broker_list_opt}
        has_file = options.has(opts.reassignment_json_file_opt)
        if options.has(opts.verify_opt):
            die_unless(
                has_file,
                "If --verify option is used, command must include --reassignment-json-file that was used during the "
                "--execute option",
            )
            CommandLineUtils.check_invalid_args(parser, options, opts.verify_opt, limits | of_generate)
        elif options.has(opts.generate_opt):
            die_unless(
                options.has(opts.topics_to_move_json_file_opt) and options.has(opts.broker_list_opt),
                "If --generate option is used, command must include both --topics-to-move-json-file and --broker-list "
                "options",
            )
            invalid = limits | {opts.reassignment_json_file_opt}
            CommandLineUtils.check_invalid_args(parser, options, opts.generate_opt, invalid)
        else:
            die_unless(
                has_file,
                "If --execute option is used, command must include --reassignment-json-file that was output during the "
                "--generate option",
            )
            CommandLineUtils.check_invalid_args(parser, options, opts.execute_opt, of_generate)
        return opts

    # -- --verify

    @classmethod
    def verify_assignment(cls, zk_client: KafkaZkClient, admin_client: AdminClient | None, json_string: str) -> None:
        """Print how far each move of the text has come; take the limits away when all are complete."""
        print("Status of partition reassignment: ")
        partitions, replicas = cls.parse_partition_reassignment_data(json_string)
        partition_status = cls._check_if_partition_reassignments_succeeded(zk_client, dict(partitions))
        replica_status = cls._check_if_replica_reassignment_succeeded(admin_client, replicas)
        for tp, status in partition_status.items():
            print(f"Reassignment of partition {tp} {status.text}")
        for replica, status in replica_status.items():
            print(f"Reassignment of replica {replica} {status.text}")
        cls.remove_throttle(zk_client, partition_status, replica_status, AdminZkClient(zk_client))

    @staticmethod
    def remove_throttle(
        zk_client: KafkaZkClient,
        reassigned_partitions_status: Mapping[TopicPartition, ReassignmentStatus],
        replicas_reassignment_status: Mapping[TopicPartitionReplica, ReassignmentStatus],
        admin_zk_client: AdminZkClient,
    ) -> None:
        """Without the limits of all brokers, and of the topics that were moved; nothing while a move is not complete.

        All brokers: nobody knows any more which of them took part.
        """
        states = {*reassigned_partitions_status.values(), *replicas_reassignment_status.values()}
        if states - {ReassignmentStatus.COMPLETED}:
            return
        changed = False
        for broker in zk_client.get_all_brokers_in_cluster():
            configs = admin_zk_client.fetch_entity_config(ConfigType.BROKER, str(broker.id))
            if _remove(configs, *_RATES, _LOG_DIRS_RATE):
                admin_zk_client.change_broker_config([broker.id], configs)
                changed = True
        moved = [tp.topic for tp in reassigned_partitions_status]
        moved += [replica.topic for replica in replicas_reassignment_status]
        for topic in dict.fromkeys(moved):
            configs = admin_zk_client.fetch_entity_config(ConfigType.TOPIC, topic)
            if _remove(configs, _LEADERS, _FOLLOWERS):
                admin_zk_client.change_topic_config(topic, configs)
                changed = True
        if changed:
            print("Throttle was removed.")

    @classmethod
    def _check_if_partition_reassignments_succeeded(
        cls, zk_client: KafkaZkClient, partitions_to_be_reassigned: PartitionAssignment
    ) -> dict[TopicPartition, ReassignmentStatus]:
        being_reassigned = zk_client.get_partition_reassignment()
        return {
            tp: cls.check_if_partition_reassignment_succeeded(
                zk_client, tp, partitions_to_be_reassigned, being_reassigned
            )
            for tp in partitions_to_be_reassigned
        }

    @staticmethod
    def check_if_partition_reassignment_succeeded(
        zk_client: KafkaZkClient,
        topic_and_partition: TopicPartition,
        partitions_to_be_reassigned: PartitionAssignment,
        partitions_being_reassigned: PartitionAssignment,
    ) -> ReassignmentStatus:
        """How far a partition's move has come; prints why it failed."""
        new_replicas = list(partitions_to_be_reassigned[topic_and_partition])
        if topic_and_partition in partitions_being_reassigned:
            return ReassignmentStatus.IN_PROGRESS
        assigned = zk_client.get_replicas_for_partition(topic_and_partition)
        if assigned == new_replicas:
            return ReassignmentStatus.COMPLETED
        print(
            f"ERROR: Assigned replicas ({_joined(assigned)}) don't match the list of replicas for reassignment "
            f"({_joined(new_replicas)}) for partition {topic_and_partition}"
        )
        return ReassignmentStatus.FAILED

    @classmethod
    def _check_if_replica_reassignment_succeeded(
        cls, admin_client: AdminClient | None, replica_assignment: ReplicaAssignment
    ) -> dict[TopicPartitionReplica, ReassignmentStatus]:
        if not replica_assignment:
            return {}
        if admin_client is None:
            raise AdminCommandFailedException(_NEEDS_BROKERS)
        infos = admin_client.describe_replica_log_dirs(replica_assignment)
        return {
            replica: cls._status_in_log_dirs(replica, new_log_dir, infos.get(replica))
            for replica, new_log_dir in replica_assignment.items()
        }

    @staticmethod
    def _status_in_log_dirs(
        replica: TopicPartitionReplica, new_log_dir: str, info: ReplicaLogDirInfo | None
    ) -> ReassignmentStatus:
        partition, broker = replica.topic_partition, replica.broker_id
        if info is None:
            print(f"Partition {partition} is not found in any live log dir on broker {broker}.")
        elif info.current_replica_log_dir is None:
            print(
                f"Partition {partition} is not found in any live log dir on broker {broker}. There is likely offline "
                "log directory on the broker."
            )
        elif info.future_replica_log_dir == new_log_dir:
            return ReassignmentStatus.IN_PROGRESS
        elif info.future_replica_log_dir is not None:
            print(
                f"Partition {partition} on broker {broker} is being moved to log dir {info.future_replica_log_dir} "
                f"instead of {new_log_dir}"
            )
        elif info.current_replica_log_dir == new_log_dir:
            return ReassignmentStatus.COMPLETED
        else:
            print(
                f"Partition {partition} on broker {broker} is not being moved from log dir "
                f"{info.current_replica_log_dir} to {new_log_dir}"
            )
        return ReassignmentStatus.FAILED

    # -- --generate

    @classmethod
    def _generate(cls, zk_client: KafkaZkClient, opts: ReassignPartitionsCommandOptions) -> None:
        options = opts.options
        brokers = [_to_int(broker) for broker in options.value_of(opts.broker_list_opt).rstrip(",").split(",")]
        repeated = duplicates(brokers)
        if repeated:
            raise AdminCommandFailedException(f"Broker list contains duplicate entries: {_joined(repeated)}")
        topics = read_file_as_string(options.value_of(opts.topics_to_move_json_file_opt))
        proposed, current = cls.generate_assignment(zk_client, brokers, topics, options.has(opts.disable_rack_aware))
        print(f"Current partition replica assignment\n{cls.format_as_reassignment_json(current, {})}\n")
        print(f"Proposed partition reassignment configuration\n{cls.format_as_reassignment_json(proposed, {})}")

    @classmethod
    def generate_assignment(
        cls,
        zk_client: KafkaZkClient,
        broker_list_to_reassign: Sequence[int],
        topics_to_move_json_string: str,
        disable_rack_aware: bool,
    ) -> tuple[dict[TopicPartition, list[int]], dict[TopicPartition, list[int]]]:
        """(proposed, current) replicas of the topics' partitions; raises what AdminUtils and AdminZkClient raise."""
        topics = cls._parse_topics_data(topics_to_move_json_string)
        repeated = duplicates(topics)
        if repeated:
            raise AdminCommandFailedException(
                f"List of topics to reassign contains duplicate entries: {','.join(repeated)}"
            )
        current = zk_client.get_replica_assignment_for_topics(topics)
        mode = RackAwareMode.Disabled if disable_rack_aware else RackAwareMode.Enforced
        brokers = AdminZkClient(zk_client).get_broker_metadatas(mode, broker_list_to_reassign)
        proposed: dict[TopicPartition, list[int]] = {}
        for topic in dict.fromkeys(tp.topic for tp in current):
            assignment = [replicas for tp, replicas in current.items() if tp.topic == topic]
            assigned = AdminUtils.assign_replicas_to_brokers(brokers, len(assignment), len(assignment[0]))
            proposed |= {TopicPartition(topic, partition): replicas for partition, replicas in assigned.items()}
        return proposed, current

    @staticmethod
    def _parse_topics_data(json_data: str) -> list[str]:
        js = Json.parse_full(json_data)
        topics = None if js is None else js.as_json_object.get("topics")
        return [] if topics is None else [entry.as_json_object["topic"].to(str) for entry in topics.as_json_array]

    # -- --execute

    @classmethod
    def execute_assignment(
        cls,
        zk_client: KafkaZkClient,
        admin_client: AdminClient | None,
        reassignment_json_string: str,
        throttle: Throttle,
        timeout_ms: int = _DEFAULT_TIMEOUT_MS,
    ) -> None:
        """Begin to move what the text names, or give the running moves other limits."""
        partitions, replicas = cls.parse_and_validate(zk_client, reassignment_json_string)
        command = cls(zk_client, admin_client, dict(partitions), replicas, AdminZkClient(zk_client))
        if zk_client.reassign_partitions_in_progress():
            print("There is an existing assignment running.")
            command.maybe_limit(throttle)
            return
        cls.print_current_assignment(zk_client, [tp.topic for tp, _ in partitions])
        if throttle.limits:
            print(
                "Warning: You must run Verify periodically, until the reassignment completes, to ensure the throttle "
                "is removed. You can also alter the throttle by rerunning the Execute command passing a new value."
            )
        if command.reassign_partitions(throttle, timeout_ms):
            print("Successfully started reassignment of partitions.")
        else:
            print(f"Failed to reassign partitions {as_scala(partitions, 'ListBuffer')}")

    @classmethod
    def print_current_assignment(cls, zk_client: KafkaZkClient, topics: Collection[str]) -> None:
        """What to save for the way back."""
        current = zk_client.get_replica_assignment_for_topics(set(topics))
        print(
            f"Current partition replica assignment\n\n{cls.format_as_reassignment_json(current, {})}\n\n"
            "Save this to use as the --reassignment-json-file option during rollback"
        )

    @classmethod
    def format_as_reassignment_json(
        cls, partitions_to_be_reassigned: PartitionAssignment, replica_log_dir_assignment: ReplicaAssignment
    ) -> str:
        """The text that --execute and --verify read."""
        return Json.encode_as_string(
            {
                "version": 1,
                "partitions": [
                    {
                        "topic": tp.topic,
                        "partition": tp.partition,
                        "replicas": list(replicas),
                        "log_dirs": [
                            replica_log_dir_assignment.get(
                                TopicPartitionReplica(tp.topic, tp.partition, replica), cls.ANY_LOG_DIR
                            )
                            for replica in replicas
                        ],
                    }
                    for tp, replicas in partitions_to_be_reassigned.items()
                ],
            }
        )

    # -- What both --execute and --verify read

    @classmethod
    def parse_partition_reassignment_data(
        cls, json_data: str
    ) -> tuple[list[tuple[TopicPartition, list[int]]], dict[TopicPartitionReplica, str]]:
        """Partitions as often as they are named, and replicas with a directory.

        Raises AdminCommandFailedException where the lists differ in length, JsonMappingException for another form.
        """
        partition_assignment: list[tuple[TopicPartition, list[int]]] = []
        replica_assignment: dict[TopicPartitionReplica, str] = {}
        js = Json.parse_full(json_data)
        partitions = None if js is None else js.as_json_object.get("partitions")
        for entry in () if partitions is None else partitions.as_json_array:
            tp, new_replicas, new_log_dirs = cls._parse_partition(entry.as_json_object)
            partition_assignment.append((tp, new_replicas))
            replica_assignment |= {
                TopicPartitionReplica(tp.topic, tp.partition, replica): log_dir
                for replica, log_dir in zip(new_replicas, new_log_dirs, strict=True)
                if log_dir != cls.ANY_LOG_DIR
            }
        return partition_assignment, replica_assignment

    @classmethod
    def _parse_partition(cls, fields: JsonObject) -> tuple[TopicPartition, list[int], list[str]]:
        tp = TopicPartition(fields["topic"].to(str), fields["partition"].to(int))
        new_replicas = fields["replicas"].to(DecodeJson.seq(int))
        named = fields.get("log_dirs")
        new_log_dirs = [cls.ANY_LOG_DIR] * len(new_replicas) if named is None else named.to(DecodeJson.seq(str))
        if len(new_replicas) != len(new_log_dirs):
            raise AdminCommandFailedException(
                f"Size of replicas list {as_scala(new_replicas)} is different from size of log dirs list "
                f"{as_scala(new_log_dirs)} for partition {tp}"
            )
        return tp, new_replicas, new_log_dirs

    @classmethod
    def parse_and_validate(
        cls, zk_client: KafkaZkClient, reassignment_json_string: str
    ) -> tuple[list[tuple[TopicPartition, list[int]]], dict[TopicPartitionReplica, str]]:
        """What the text names; AdminCommandFailedException if that is nothing, or not there, or named twice."""
        partitions, replicas = cls.parse_partition_reassignment_data(reassignment_json_string)
        if not partitions:
            raise AdminCommandFailedException("Partition reassignment data file is empty")
        if not all(new_replicas for _, new_replicas in partitions):
            raise AdminCommandFailedException("Partition replica list cannot be empty")
        cls._validate_that_nothing_is_repeated(partitions)
        existing = zk_client.get_replica_assignment_for_topics({tp.topic for tp, _ in partitions})
        non_existent = [tp for tp, _ in partitions if tp not in existing]
        if non_existent:
            raise AdminCommandFailedException(
                f"The proposed assignment contains non-existent partitions: {as_scala(non_existent, 'ListBuffer')}"
            )
        brokers = zk_client.get_sorted_broker_list()
        absent = dict.fromkeys(id for _, new_replicas in partitions for id in new_replicas if id not in brokers)
        if absent:
            raise AdminCommandFailedException(
                f"The proposed assignment contains non-existent brokerIDs: {_joined(absent)}"
            )
        return partitions, replicas

    @staticmethod
    def _validate_that_nothing_is_repeated(partitions: Sequence[tuple[TopicPartition, list[int]]]) -> None:
        repeated = duplicates(tp for tp, _ in partitions)
        if repeated:
            raise AdminCommandFailedException(
                f"Partition reassignment contains duplicate topic partitions: {_joined(repeated)}"
            )
        entries = [
            f"{tp} contains multiple entries for {_joined(found)}"
            for tp, replicas in partitions
            if (found := duplicates(replicas))
        ]
        if entries:
            raise AdminCommandFailedException(
                f"Partition replica lists may not contain duplicate entries: {'. '.join(entries)}"
            )

    # -- One assignment

    def __init__(
        self,
        zk_client: KafkaZkClient,
        admin_client: AdminClient | None,
        proposed_partition_assignment: PartitionAssignment,
        proposed_replica_assignment: ReplicaAssignment,
        admin_zk_client: AdminZkClient,
        time: Time = Time.SYSTEM,
    ) -> None:
        """Partitions and their new replicas; replicas and their new directories, which need an admin_client."""
        self._zk_client = zk_client
        self._admin_client = admin_client
        self._proposed_partition_assignment = proposed_partition_assignment
        self._proposed_replica_assignment = proposed_replica_assignment
        self._admin_zk_client = admin_zk_client
        self._time = time

    def existing_assignment(self) -> dict[TopicPartition, list[int]]:
        """Where all partitions of the topics are now."""
        topics = {tp.topic for tp in self._proposed_partition_assignment}
        return self._zk_client.get_replica_assignment_for_topics(topics)

    def _maybe_throttle(self, throttle: Throttle) -> None:
        if throttle.inter_broker_limit >= 0:
            self.assign_throttled_replicas(
                self.existing_assignment(), self._proposed_partition_assignment, self._admin_zk_client
            )
        self.maybe_limit(throttle)
        if throttle.limits:
            throttle.post_update_action()
        if throttle.inter_broker_limit >= 0:
            print(f"The inter-broker throttle limit was set to {throttle.inter_broker_limit} B/s")
        if throttle.replica_alter_log_dirs_limit >= 0:
            print(f"The replica-alter-dir throttle limit was set to {throttle.replica_alter_log_dirs_limit} B/s")

    def maybe_limit(self, throttle: Throttle) -> None:
        """Set the rates of all brokers that have or get a replica; a broker that is done with its moves is missed."""
        if not throttle.limits:
            return
        existing = [id for replicas in self.existing_assignment().values() for id in replicas]
        proposed = [id for replicas in self._proposed_partition_assignment.values() for id in replicas]
        proposed += [replica.broker_id for replica in self._proposed_replica_assignment]
        for id in dict.fromkeys([*existing, *proposed]):
            configs = self._admin_zk_client.fetch_entity_config(ConfigType.BROKER, str(id))
            if throttle.inter_broker_limit >= 0:
                configs |= dict.fromkeys(_RATES, str(throttle.inter_broker_limit))
            if throttle.replica_alter_log_dirs_limit >= 0:
                configs[_LOG_DIRS_RATE] = str(throttle.replica_alter_log_dirs_limit)
            self._admin_zk_client.change_broker_config([id], configs)

    def assign_throttled_replicas(
        self,
        existing_partition_assignment: PartitionAssignment,
        proposed_partition_assignment: PartitionAssignment,
        admin_zk_client: AdminZkClient,
    ) -> None:
        """Mark the replicas the rates hold for: any old one may lead, each new one follows. To be called once a move.

        Called again, when the new replicas are assigned already, it would find that nothing moves.
        """
        for topic in dict.fromkeys(tp.topic for tp in proposed_partition_assignment):
            existing = {tp: ids for tp, ids in existing_partition_assignment.items() if tp.topic == topic}
            proposed = {tp: ids for tp, ids in proposed_partition_assignment.items() if tp.topic == topic}
            leader = self.format(self._pre_rebalance_replica_for_moving_partitions(existing, proposed))
            follower = self.format(self._post_rebalance_replicas_that_moved(existing, proposed))
            configs = admin_zk_client.fetch_entity_config(ConfigType.TOPIC, topic)
            configs[_LEADERS] = leader
            configs[_FOLLOWERS] = follower
            admin_zk_client.change_topic_config(topic, configs)
            self.debug("Updated leader-throttled replicas for topic %s with: %s", topic, leader)
            self.debug("Updated follower-throttled replicas for topic %s with: %s", topic, follower)

    @staticmethod
    def _post_rebalance_replicas_that_moved(
        existing: PartitionAssignment, proposed: PartitionAssignment
    ) -> PartitionAssignment:
        return {tp: [id for id in replicas if id not in existing[tp]] for tp, replicas in proposed.items()}

    @staticmethod
    def _pre_rebalance_replica_for_moving_partitions(
        existing: PartitionAssignment, proposed: PartitionAssignment
    ) -> PartitionAssignment:
        return {tp: before for tp, before in existing.items() if set(proposed.get(tp, ())) - set(before)}

    @staticmethod
    def format(moves: PartitionAssignment) -> str:
        """``partition:broker,partition:broker``, as the configuration of a topic has it."""
        return ",".join(f"{tp.partition}:{id}" for tp, replicas in moves.items() for id in replicas)

    @staticmethod
    def _alter_replica_log_dirs_ignore_replica_not_available(
        replica_assignment: ReplicaAssignment, admin_client: AdminClient
    ) -> set[TopicPartitionReplica]:
        """Those that move now; a replica that is not there yet will be made in that directory."""
        assigned = set()
        for replica, error in admin_client.alter_replica_log_dirs(replica_assignment).items():
            if error is None:
                assigned.add(replica)
            elif not isinstance(error, ReplicaNotAvailableException):
                raise AdminCommandFailedException(f"Failed to alter dir for {replica}", error)
        return assigned

    def reassign_partitions(self, throttle: Throttle = NO_THROTTLE, timeout_ms: int = _DEFAULT_TIMEOUT_MS) -> bool:
        """Whether all moves have begun; AdminCommandFailedException if others are under way already.

        The brokers are told of directories twice: before, so that new replicas are made in the right one; and after,
        until the controller has had the replicas made.
        """
        self._maybe_throttle(throttle)
        valid = {
            tp: replicas
            for tp, replicas in self._proposed_partition_assignment.items()
            if self.validate_partition(self._zk_client, tp.topic, tp.partition)
        }
        if not valid:
            return False
        wanted = self._proposed_replica_assignment
        start_time_ms = self._time.milliseconds()
        if wanted:
            self._alter_replica_log_dirs_ignore_replica_not_available(wanted, self._need_brokers())
        try:
            self._zk_client.create_partition_reassignment(valid)
        except NodeExistsException:
            running = as_scala(self._zk_client.get_partition_reassignment())
            raise AdminCommandFailedException(
                f"Partition reassignment currently in progress for {running}. Aborting operation"
            ) from None
        return len(self._await_log_dirs(start_time_ms + timeout_ms)) == len(wanted)

    def _await_log_dirs(self, deadline_ms: int) -> set[TopicPartitionReplica]:
        wanted = self._proposed_replica_assignment
        assigned: set[TopicPartitionReplica] = set()
        while self._time.milliseconds() < deadline_ms and len(assigned) < len(wanted):
            missing = {replica: log_dir for replica, log_dir in wanted.items() if replica not in assigned}
            assigned |= self._alter_replica_log_dirs_ignore_replica_not_available(missing, self._need_brokers())
            self._time.sleep(_PAUSE_MS)
        return assigned

    def _need_brokers(self) -> AdminClient:
        if self._admin_client is None:
            raise AdminCommandFailedException(_NEEDS_BROKERS)
        return self._admin_client

    def validate_partition(self, zk_client: KafkaZkClient, topic: str, partition: int) -> bool:
        """Whether the partition is there; logged if not."""
        partitions = zk_client.get_partitions_for_topics({topic}).get(topic)
        if partitions is None:
            self.error(
                "Skipping reassignment of partition [%s,%d] since topic %s doesn't exist", topic, partition, topic
            )
            return False
        if partition not in partitions:
            self.error("Skipping reassignment of partition [%s,%d] since it doesn't exist", topic, partition)
            return False
        return True


def _remove(configs: dict[str, str], *names: str) -> bool:
    """Whether there was any of them to take out."""
    found = configs.keys() & set(names)
    for name in found:
        del configs[name]
    return bool(found)


def _joined(items: Iterable[object]) -> str:
    return ",".join(map(str, items))


def _to_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise IllegalArgumentException(f'For input string: "{text}"') from None


def main(args: list[str]) -> int:
    """Entry of bin/kafka-reassign-partitions.py."""
    logging.basicConfig(level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    return ReassignPartitionsCommand.main(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
