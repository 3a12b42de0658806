"""kafka-topics through a broker, for clients that may not, or cannot, see ZooKeeper.

Mirrors: the service of the same name in TopicCommand.scala of Kafka 2.2 and later; the lines it prints are 1.1.1's
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource, ConfigSource
from confluent_kafka.cimpl import NewPartitions, NewTopic

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.protocol.errors import Errors

if TYPE_CHECKING:
    from kafka_py.admin.topic_command_options import TopicCommandOptions

_TIMEOUT_S = 30.0


class AdminClientTopicService:
    """The actions of kafka-topics on an admin client.

    Differs: 1.1.1 has no such service; settings are replaced as a whole (AlterConfigs), which is all that its brokers
        understand.
    """

    def __init__(self, admin_client: Any) -> None:
        """Work through that client of confluent_kafka."""
        self._admin = admin_client

    @classmethod
    def create(cls, bootstrap_server: str) -> AdminClientTopicService:
        """Connect to the cluster at `host:port,host:port`."""
        return cls(AdminClient({"bootstrap.servers": bootstrap_server, "log_level": 0}))

    def close(self) -> None:
        """Wait for what is under way."""
        self._admin.poll(0)

    def run(self, action: str, opts: TopicCommandOptions) -> None:
        """Carry out one of create, list, alter, describe and delete; raises the error that a broker answers with."""
        actions = {
            "create": self.create_topic,
            "list": self.list_topics,
            "alter": self.alter_topic,
            "describe": self.describe_topic,
            "delete": self.delete_topic,
        }
        try:
            actions[action](opts)
        except KafkaException as e:
            error = e.args[0]
            answered = Errors.for_code(error.code()).exception(error.str()) if error.code() > 0 else None
            if answered is None:  # librdkafka's own, of negative numbers
                raise
            raise answered from None

    def _get_topics(self, opts: TopicCommandOptions) -> dict[str, Any]:
        from kafka_py.admin.topic_command import select_topics  # it imports this module when it needs it

        found = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        return {name: found[name] for name in select_topics(found, opts.options.topic)}

    def _existing_topics(self, opts: TopicCommandOptions) -> dict[str, Any]:
        topics = self._get_topics(opts)
        if not topics and not opts.has("if-exists"):
            raise IllegalArgumentException(f"Topic {opts.options.topic} does not exist")
        return topics

    def create_topic(self, opts: TopicCommandOptions) -> None:
        """Create the topic, on brokers of the controller's choice or as --replica-assignment says."""
        from kafka_py.admin.topic_command import COLLISION_WARNING, TopicCommand
        from kafka_py.common.internals.topic import Topic

        topic = opts.options.topic
        configs = TopicCommand.parse_topic_configs_to_be_added(opts)
        if Topic.has_collision_chars(topic):
            print(COLLISION_WARNING)
        if opts.has("replica-assignment"):
            assignment = TopicCommand.parse_replica_assignment(opts.options.replica_assignment)
            listed = [assignment[partition] for partition in sorted(assignment)]
            new_topic = NewTopic(topic, len(listed), replica_assignment=listed, config=configs)
        else:
            opts.check_required("partitions", "replication-factor")
            new_topic = NewTopic(topic, opts.options.partitions, opts.options.replication_factor, config=configs)
        try:
            self._admin.create_topics([new_topic])[topic].result(_TIMEOUT_S)
        except KafkaException as e:
            if not (opts.has("if-not-exists") and e.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS):
                raise
        else:
            print(f'Created topic "{topic}".')

    def list_topics(self, opts: TopicCommandOptions) -> None:
        """Print the topics that match, one a line."""
        for topic in self._get_topics(opts):
            print(topic)

    def alter_topic(self, opts: TopicCommandOptions) -> None:
        """Change overrides and the number of partitions of the topics that match."""
        for topic, metadata in self._existing_topics(opts).items():
            if opts.has("config") or opts.has("delete-config"):
                self._alter_config(topic, opts)
            if opts.has("partitions"):
                self._alter_partitions(topic, len(metadata.partitions), opts)

    def _alter_config(self, topic: str, opts: TopicCommandOptions) -> None:
        from kafka_py.admin.topic_command import TopicCommand

        configs = self._overrides(topic) | TopicCommand.parse_topic_configs_to_be_added(opts)
        for name in TopicCommand.parse_topic_configs_to_be_deleted(opts):
            configs.pop(name, None)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config=configs)
        self._admin.alter_configs([resource])[resource].result(_TIMEOUT_S)
        print(f'Updated config for topic "{topic}".')

    def _alter_partitions(self, topic: str, existing: int, opts: TopicCommandOptions) -> None:
        print(
            "WARNING: If partitions are increased for a topic that has a key, the partition "
            "logic or ordering of the messages will be affected"
        )
        assignment = None
        if opts.options.replica_assignment:
            new = opts.options.replica_assignment.split(",")[existing:]
            assignment = [[int(broker) for broker in part.split(":")] for part in new]
        new_partitions = NewPartitions(topic, opts.options.partitions, assignment or [])
        self._admin.create_partitions([new_partitions])[topic].result(_TIMEOUT_S)
        print("Adding partitions succeeded!")

    def delete_topic(self, opts: TopicCommandOptions) -> None:
        """Delete the topics that match."""
        topics = list(self._existing_topics(opts))
        for topic, future in self._admin.delete_topics(topics).items() if topics else ():
            future.result(_TIMEOUT_S)
            print(f"Topic {topic} is marked for deletion.")
            print("Note: This will have no impact if delete.topic.enable is not set to true.")

    def describe_topic(self, opts: TopicCommandOptions) -> None:
        """Print a line for each topic that matches, and one for each of its partitions."""
        from kafka_py.admin.topic_command import print_description

        live_brokers = set(self._admin.list_topics(timeout=_TIMEOUT_S).brokers)
        for topic, metadata in self._get_topics(opts).items():
            partitions = metadata.partitions.values()
            assignment = {partition.id: list(partition.replicas) for partition in partitions}
            states = {p.id: (p.leader, list(p.isrs)) for p in partitions if p.leader >= 0}
            print_description(topic, assignment, states, self._overrides(topic), live_brokers, False, opts)

    def _overrides(self, topic: str) -> dict[str, str]:
        """The settings that the topic has of its own."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self._admin.describe_configs([resource])[resource].result(_TIMEOUT_S)
        return {
            name: entry.value
            for name, entry in entries.items()
            if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value and entry.value is not None
        }
