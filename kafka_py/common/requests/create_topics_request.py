"""Create these topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateTopicsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.utils.collection_utils import named_twice


class CreateTopicsRequest(RequestMessage, key=ApiKeys.CREATE_TOPICS, latest=5, flexible=5):
    """Topics with their partitions, replicas and configuration.

    Mirrors: org.apache.kafka.common.requests.CreateTopicsRequest
    """

    NO_NUM_PARTITIONS: ClassVar[int] = -1
    NO_REPLICATION_FACTOR: ClassVar[int] = -1
    ANSWERED: ClassVar[Mapping[str, str]] = {"topic_errors": "create_topic_requests"}
    EACH_ONCE: ClassVar[bool] = True

    class Topic(Message):
        """A topic to create."""

        class Assignment(Message):
            """Where a partition's replicas are to be."""

            partition: int = field(INT32)
            replicas: list[int] = field(ListOf(INT32), "The broker ids of all replicas")

        class Config(Message):
            """A configuration of a topic."""

            config_name: str = field(STRING)
            config_value: str | None = field(NULLABLE_STRING)

        topic: str = field(STRING)
        num_partitions: int = field(INT32, "How many partitions, -1 if assigned by hand")
        replication_factor: int = field(INT16, "How many replicas, -1 if assigned by hand")
        replica_assignment: list[Assignment] = field(ListOf(Assignment))
        config_entries: list[Config] = field(ListOf(Config))

    create_topic_requests: list[Topic] = field(ListOf(Topic))
    timeout: int = field(INT32, "How long to wait until all brokers know them, in ms")
    validate_only: bool = field(BOOLEAN, "Whether to check only", since=1, default=False)

    class TopicDetails:
        """Numbers of partitions and replicas, or else an assignment of replicas; and the configuration.

        Mirrors: org.apache.kafka.common.requests.CreateTopicsRequest.TopicDetails
        """

        __slots__ = ("configs", "num_partitions", "replicas_assignments", "replication_factor")

        def __init__(
            self,
            num_partitions: int = -1,
            replication_factor: int = -1,
            replicas_assignments: dict[int, list[int]] | None = None,
            configs: dict[str, str | None] | None = None,
        ) -> None:
            self.num_partitions = num_partitions
            self.replication_factor = replication_factor
            self.replicas_assignments = replicas_assignments or {}
            self.configs = configs or {}

        def __eq__(self, other: object) -> bool:
            return isinstance(other, CreateTopicsRequest.TopicDetails) and str(self) == str(other)

        def __hash__(self) -> int:
            return hash(str(self))

        def __str__(self) -> str:
            return (
                f"(numPartitions={self.num_partitions}, replicationFactor={self.replication_factor}, "
                f"replicasAssignments={self.replicas_assignments}, configs={self.configs})"
            )

        __repr__ = __str__

    class Builder(AbstractRequest.Builder):
        """Refuses validateOnly in version 0.

        Mirrors: org.apache.kafka.common.requests.CreateTopicsRequest.Builder
        """

        def __init__(
            self, topics: dict[str, CreateTopicsRequest.TopicDetails], timeout: int, validate_only: bool = False
        ) -> None:
            super().__init__(ApiKeys.CREATE_TOPICS)
            self._topics = topics
            self._timeout = timeout
            self._validate_only = validate_only

        def build(self, version: int | None = None) -> CreateTopicsRequest:
            version = self._version_or_latest(version)
            if self._validate_only and version == 0:
                raise UnsupportedVersionException("validateOnly is not supported in version 0 of CreateTopicsRequest")
            return CreateTopicsRequest(
                version=version,
                create_topic_requests=[_topic(name, details) for name, details in self._topics.items()],
                timeout=self._timeout,
                validate_only=self._validate_only,
            )

        def __str__(self) -> str:
            return (
                f"(type=CreateTopicsRequest, topics={self._topics}, timeout={self._timeout}, "
                f"validateOnly={str(self._validate_only).lower()})"
            )

    def topics(self) -> dict[str, TopicDetails]:
        """The topics to create."""
        return {
            topic.topic: self.TopicDetails(
                topic.num_partitions,
                topic.replication_factor,
                {assignment.partition: assignment.replicas for assignment in topic.replica_assignment},
                {config.config_name: config.config_value for config in topic.config_entries},
            )
            for topic in self.create_topic_requests
        }

    def duplicate_topics(self) -> set[str]:
        """Topics that the request names more than once."""
        return named_twice(topic.topic for topic in self.create_topic_requests)


def _topic(name: str, details: CreateTopicsRequest.TopicDetails) -> CreateTopicsRequest.Topic:
    return CreateTopicsRequest.Topic(
        topic=name,
        num_partitions=details.num_partitions,
        replication_factor=details.replication_factor,
        replica_assignment=[
            CreateTopicsRequest.Topic.Assignment(partition=partition, replicas=replicas)
            for partition, replicas in details.replicas_assignments.items()
        ],
        config_entries=[
            CreateTopicsRequest.Topic.Config(config_name=key, config_value=value)
            for key, value in details.configs.items()
        ],
    )
