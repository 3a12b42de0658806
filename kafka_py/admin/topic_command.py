"""kafka-topics: creates, lists, describes, alters and deletes topics.

Mirrors: core/src/main/scala/kafka/admin/TopicCommand.scala @ 1.1.1
Read next: admin/topic_command_options.py; admin/admin_client_topic_service.py (--bootstrap-server)
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.admin.topic_command_options import TopicCommandOptions
from kafka_py.common.errors import (
    AdminCommandFailedException,
    AdminOperationException,
    IllegalArgumentException,
    InvalidTopicException,
    RuntimeException,
    TopicExistsException,
)
from kafka_py.common.internals.topic import Topic
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.throwables import stack_trace
from kafka_py.common.utils.time import Time
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_type import ConfigType
from kafka_py.utils.logging import Logging
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.keeper_exception import NodeExistsException

if TYPE_CHECKING:
    from kafka_py.admin.admin_client_topic_service import AdminClientTopicService

_INT_MAX = 0x7FFFFFFF
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)


class TopicCommand(Logging):
    """The actions, each on an open client.

    Mirrors: kafka.admin.TopicCommand
    Differs: main also takes --bootstrap-server, and then works through AdminClientTopicService.
    """

    logger_name = "kafka.admin.TopicCommand$"

    @classmethod
    def main(cls, args: Sequence[str]) -> None:
        """Carry out the command line, and end the process: 0, or 1 after an error."""
        opts = TopicCommandOptions(args)
        if not args:
            opts.print_usage_and_die("Create, delete, describe, or change a topic.")
        if opts.has("help"):
            opts.parser.print_help()
            Exit.exit(0)
        if len(opts.actions) != 1:
            opts.print_usage_and_die(
                "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
            )
        opts.check_args()
        Exit.exit(cls()._execute(opts))

    def _execute(self, opts: TopicCommandOptions) -> int:
        client = self._open(opts)
        try:
            self._run(client, opts)
        except Exception as e:  # noqa: BLE001  # whatever it was, the user gets its text and a status
            print(f"Error while executing topic command : {e}", flush=True)  # before the line on the other stream
            self.error("%s", stack_trace(e))
            return 1
        finally:
            client.close()
        return 0

    @staticmethod
    def _open(opts: TopicCommandOptions) -> KafkaZkClient | AdminClientTopicService:
        if opts.has("bootstrap-server"):
            from kafka_py.admin.admin_client_topic_service import AdminClientTopicService  # loads librdkafka

            return AdminClientTopicService.create(opts.options.bootstrap_server)
        return KafkaZkClient.create(opts.options.zookeeper, False, 30000, 30000, _INT_MAX, Time.SYSTEM)

    def _run(self, client: KafkaZkClient | AdminClientTopicService, opts: TopicCommandOptions) -> None:
        action = opts.actions[0]
        if not isinstance(client, KafkaZkClient):
            client.run(action, opts)
        elif action == "create":
            self.create_topic(client, opts)
        elif action == "alter":
            self.alter_topic(client, opts)
        elif action == "list":
            self.list_topics(client, opts)
        elif action == "describe":
            self.describe_topic(client, opts)
        else:
            self.delete_topic(client, opts)

    def _get_topics(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> list[str]:
        return select_topics(zk_client.get_all_topics_in_cluster(), opts.options.topic)

    def create_topic(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> None:
        """Create the topic; one that exists is an error unless --if-not-exists was given."""
        topic = opts.options.topic
        configs = self.parse_topic_configs_to_be_added(opts)
        if Topic.has_collision_chars(topic):
            print(COLLISION_WARNING)
        admin_zk_client = AdminZkClient(zk_client)
        try:
            if opts.has("replica-assignment"):
                assignment = self.parse_replica_assignment(opts.options.replica_assignment)
                admin_zk_client.create_or_update_topic_partition_assignment_path_in_zk(topic, assignment, configs)
            else:
                opts.check_required("partitions", "replication-factor")
                mode = RackAwareMode.Disabled if opts.has("disable-rack-aware") else RackAwareMode.Enforced
                admin_zk_client.create_topic(
                    topic, opts.options.partitions, opts.options.replication_factor, configs, mode
                )
            print(f'Created topic "{topic}".')
        except TopicExistsException:
            if not opts.has("if-not-exists"):
                raise

    def alter_topic(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> None:
        """Change overrides and the number of partitions of the topics that match."""
        topics = self._get_topics(zk_client, opts)
        self._check_found(topics, opts)
        admin_zk_client = AdminZkClient(zk_client)
        for topic in topics:
            if opts.has("config") or opts.has("delete-config"):
                self._alter_config(admin_zk_client, topic, opts)
            if opts.has("partitions"):
                self._alter_partitions(zk_client, admin_zk_client, topic, opts)

    def _alter_config(self, admin_zk_client: AdminZkClient, topic: str, opts: TopicCommandOptions) -> None:
        print(
            "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future "
            "releases."
        )
        print("         Going forward, please use kafka-configs.sh for this functionality")
        configs = admin_zk_client.fetch_entity_config(ConfigType.TOPIC, topic)
        configs |= self.parse_topic_configs_to_be_added(opts)
        for name in self.parse_topic_configs_to_be_deleted(opts):
            configs.pop(name, None)
        admin_zk_client.change_topic_config(topic, configs)
        print(f'Updated config for topic "{topic}".')

    @staticmethod
    def _alter_partitions(
        zk_client: KafkaZkClient, admin_zk_client: AdminZkClient, topic: str, opts: TopicCommandOptions
    ) -> None:
        if topic == Topic.GROUP_METADATA_TOPIC_NAME:
            raise IllegalArgumentException("The number of partitions for the offsets topic cannot be changed.")
        print(
            "WARNING: If partitions are increased for a topic that has a key, the partition "
            "logic or ordering of the messages will be affected"
        )
        assignments = zk_client.get_replica_assignment_for_topics([topic])
        existing = {tp.partition: replicas for tp, replicas in assignments.items()}
        if not existing:
            raise InvalidTopicException(f"The topic {topic} does not exist")
        new_assignment = None
        if opts.options.replica_assignment:
            # The list names the old partitions too, which stay where they are.
            new = ",".join(opts.options.replica_assignment.split(",")[len(existing) :])
            new_assignment = AdminUtils.parse_replica_assignment(new, len(existing))
        all_brokers = admin_zk_client.get_broker_metadatas()
        admin_zk_client.add_partitions(topic, existing, all_brokers, opts.options.partitions, new_assignment)
        print("Adding partitions succeeded!")

    def list_topics(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> None:
        """Print the topics that match, one a line."""
        for topic in self._get_topics(zk_client, opts):
            marked = zk_client.is_topic_marked_for_deletion(topic)
            print(f"{topic} - marked for deletion" if marked else topic)

    def delete_topic(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> None:
        """Ask the controller to delete the topics that match; raises AdminOperationException."""
        topics = self._get_topics(zk_client, opts)
        self._check_found(topics, opts)
        for topic in topics:
            if Topic.is_internal(topic):
                raise AdminOperationException(
                    f"Topic {topic} is a kafka internal topic and is not allowed to be marked for deletion."
                )
            try:
                zk_client.create_delete_topic_path(topic)
            except NodeExistsException:
                print(f"Topic {topic} is already marked for deletion.")
                continue
            except Exception as e:
                raise AdminOperationException(f"Error while deleting topic {topic}") from e
            print(f"Topic {topic} is marked for deletion.")
            print("Note: This will have no impact if delete.topic.enable is not set to true.")

    @staticmethod
    def _check_found(topics: Collection[str], opts: TopicCommandOptions) -> None:
        if not topics and not opts.has("if-exists"):
            raise IllegalArgumentException(
                f"Topic {opts.options.topic} does not exist on ZK path {opts.options.zookeeper}"
            )

    def describe_topic(self, zk_client: KafkaZkClient, opts: TopicCommandOptions) -> None:
        """Print a line for each topic that matches, and one for each of its partitions."""
        live_brokers = {broker.id for broker in zk_client.get_all_brokers_in_cluster()}
        admin_zk_client = AdminZkClient(zk_client)
        for topic in self._get_topics(zk_client, opts):
            assignment = zk_client.get_partition_assignment_for_topics([topic]).get(topic)
            if assignment is None:
                print(f"Topic {topic} doesn't exist!")
                continue
            states = {}
            for partition in assignment if not opts.has("topics-with-overrides") else ():
                state = zk_client.get_topic_partition_state(TopicPartition(topic, partition))
                if state is not None:
                    states[partition] = (state.leader_and_isr.leader, list(state.leader_and_isr.isr))
            configs = admin_zk_client.fetch_entity_config(ConfigType.TOPIC, topic)
            marked = zk_client.is_topic_marked_for_deletion(topic)
            print_description(topic, assignment, states, configs, live_brokers, marked, opts)

    @staticmethod
    def parse_topic_configs_to_be_added(opts: TopicCommandOptions) -> dict[str, str]:
        """The overrides of --config; raises IllegalArgumentException or InvalidConfigurationException."""
        pairs = [re.split(r"\s*=\s*", config) for config in opts.options.config or ()]
        if any(len(pair) != 2 for pair in pairs):
            raise IllegalArgumentException(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        props = {key.strip(): value.strip() for key, value in pairs}
        LogConfig.validate(props)
        version = props.get("message.format.version")
        if version is not None:
            print(
                f"WARNING: The configuration message.format.version={version} is specified. This configuration will be "
                "ignored if the version is newer than the inter.broker.protocol.version specified in the broker."
            )
        return props

    @staticmethod
    def parse_topic_configs_to_be_deleted(opts: TopicCommandOptions) -> list[str]:
        """The names of --delete-config; raises InvalidConfigurationException for an unknown one."""
        names = [name.strip() for name in opts.options.delete_config or ()]
        LogConfig.validate_names(dict.fromkeys(names, ""))
        return names

    @staticmethod
    def parse_replica_assignment(replica_assignment_list: str) -> dict[int, list[int]]:
        """`1:2,2:3` -> {0: [1, 2], 1: [2, 3]}.

        Raises AdminCommandFailedException for a broker that is named twice, AdminOperationException for partitions with
        different numbers of replicas.
        """
        ret = AdminUtils.parse_replica_assignment(replica_assignment_list, 0)
        for partition, brokers in ret.items():
            duplicates = sorted({broker for broker in brokers if brokers.count(broker) > 1})
            if duplicates:
                raise AdminCommandFailedException(
                    f"Partition replica lists may not contain duplicate entries: {','.join(map(str, duplicates))}"
                )
            if len(brokers) != len(ret[0]):
                raise AdminOperationException(f"Partition {partition} has different replication factor: {brokers}")
        return ret

    @staticmethod
    def ask_to_proceed() -> None:
        """Ask on the terminal, and end the process with status 0 unless the answer is y."""
        print("Are you sure you want to continue? [y/n]")
        if sys.stdin.readline().strip().lower() != "y":
            print("Ending your session")
            Exit.exit(0)


def select_topics(all_topics: Collection[str], spec: str | None) -> list[str]:
    """The topics that match, in order; a comma in the expression stands for "or", as in Kafka's Whitelist."""
    if spec is None:
        return sorted(all_topics)
    text = re.sub(r"^[\"']+|[\"']+$", "", spec.strip().replace(",", "|").replace(" ", ""))
    try:
        pattern = re.compile(text)
    except re.error:
        raise RuntimeException(f"{text} is an invalid regex.") from None
    return sorted(filter(pattern.fullmatch, all_topics))


def print_description(
    topic: str,
    assignment: dict[int, list[int]],
    states: dict[int, tuple[int, list[int]]],
    configs: dict[str, str],
    live_brokers: Collection[int],
    marked: bool,
    opts: TopicCommandOptions,
) -> None:
    """Print a topic in Kafka's form, whose fields are separated by tabs; states are (leader, ISR) by partition."""
    under_replicated, unavailable = opts.has("under-replicated-partitions"), opts.has("unavailable-partitions")
    only_overrides = opts.has("topics-with-overrides")
    describe_configs = not unavailable and not under_replicated
    if describe_configs and (configs or not only_overrides):
        listed = ",".join(f"{key}={value}" for key, value in configs.items())
        factor = len(next(iter(assignment.values())))
        mark = "\tMarkedForDeletion:true" if marked else ""
        print(f"Topic:{topic}\tPartitionCount:{len(assignment)}\tReplicationFactor:{factor}\tConfigs:{listed}{mark}")
    if only_overrides:
        return
    for partition, replicas in sorted(assignment.items()):
        leader, isr = states.get(partition, (None, []))
        if (
            describe_configs
            or (under_replicated and len(isr) < len(replicas))
            or (unavailable and leader not in live_brokers)
        ):
            mark = "\tMarkedForDeletion: true" if marked and not describe_configs else ""
            print(
                f"\tTopic: {topic}\tPartition: {partition}\tLeader: {'none' if leader is None else leader}"
                f"\tReplicas: {','.join(map(str, replicas))}\tIsr: {','.join(map(str, isr))}{mark}"
            )


def main(arguments: Sequence[str]) -> None:
    """Entry of bin/kafka-topics.py."""
    logging.basicConfig(level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")
    TopicCommand.main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
