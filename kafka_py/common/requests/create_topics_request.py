"""Create these topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateTopicsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_topics_response import CreateTopicsResponse

REQUESTS_KEY_NAME = "create_topic_requests"
TIMEOUT_KEY_NAME = "timeout"
VALIDATE_ONLY_KEY_NAME = "validate_only"
NUM_PARTITIONS_KEY_NAME = "num_partitions"
REPLICATION_FACTOR_KEY_NAME = "replication_factor"
REPLICA_ASSIGNMENT_KEY_NAME = "replica_assignment"
REPLICA_ASSIGNMENT_REPLICAS_KEY_NAME = "replicas"
CONFIG_NAME_KEY_NAME = "config_name"
CONFIG_VALUE_KEY_NAME = "config_value"
CONFIG_ENTRIES_KEY_NAME = "config_entries"

CONFIG_ENTRY = Schema(
    Field(CONFIG_NAME_KEY_NAME, STRING, "The configuration's name"),
    Field(CONFIG_VALUE_KEY_NAME, NULLABLE_STRING, "The configuration's value"),
)

PARTITION_REPLICA_ASSIGNMENT_ENTRY = Schema(
    PARTITION_ID, Field(REPLICA_ASSIGNMENT_REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas")
)

SINGLE_CREATE_TOPIC_REQUEST_V0 = Schema(
    TOPIC_NAME,
    Field(NUM_PARTITIONS_KEY_NAME, INT32, "How many partitions, -1 if assigned by hand"),
    Field(REPLICATION_FACTOR_KEY_NAME, INT16, "How many replicas, -1 if assigned by hand"),
    Field(REPLICA_ASSIGNMENT_KEY_NAME, ArrayOf(PARTITION_REPLICA_ASSIGNMENT_ENTRY)),
    Field(CONFIG_ENTRIES_KEY_NAME, ArrayOf(CONFIG_ENTRY)),
)

SINGLE_CREATE_TOPIC_REQUEST_V1 = SINGLE_CREATE_TOPIC_REQUEST_V0

CREATE_TOPICS_REQUEST_V0 = Schema(
    Field(REQUESTS_KEY_NAME, ArrayOf(SINGLE_CREATE_TOPIC_REQUEST_V0)),
    Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms"),
)

CREATE_TOPICS_REQUEST_V1 = Schema(
    Field(REQUESTS_KEY_NAME, ArrayOf(SINGLE_CREATE_TOPIC_REQUEST_V1)),
    Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms"),
    Field(VALIDATE_ONLY_KEY_NAME, BOOLEAN, "Whether to check only"),
)

CREATE_TOPICS_REQUEST_V2 = CREATE_TOPICS_REQUEST_V1


class CreateTopicsRequest(AbstractRequest):
    """Topics with their partitions, replicas and configuration.

    Mirrors: org.apache.kafka.common.requests.CreateTopicsRequest
    """

    __slots__ = ("_duplicate_topics", "_timeout", "_topics", "_validate_only")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_TOPICS
    NO_NUM_PARTITIONS: ClassVar[int] = -1
    NO_REPLICATION_FACTOR: ClassVar[int] = -1

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
            return CreateTopicsRequest(version, self._topics, self._timeout, self._validate_only)

        def __str__(self) -> str:
            return (
                f"(type=CreateTopicsRequest, topics={self._topics}, timeout={self._timeout}, "
                f"validateOnly={str(self._validate_only).lower()})"
            )

    def __init__(
        self,
        version: int,
        topics: dict[str, TopicDetails],
        timeout: int,
        validate_only: bool = False,
        duplicate_topics: set[str] | None = None,
    ) -> None:
        super().__init__(version)
        self._topics = topics
        self._timeout = timeout
        self._validate_only = validate_only
        self._duplicate_topics = duplicate_topics or set()

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_TOPICS_REQUEST_V0, CREATE_TOPICS_REQUEST_V1, CREATE_TOPICS_REQUEST_V2]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> CreateTopicsRequest:
        topics: dict[str, CreateTopicsRequest.TopicDetails] = {}
        duplicate_topics = set()
        for single in struct.get(REQUESTS_KEY_NAME):
            topic = single.get(TOPIC_NAME)
            if topic in topics:
                duplicate_topics.add(topic)
            topics[topic] = cls.TopicDetails(
                single.get(NUM_PARTITIONS_KEY_NAME),
                single.get(REPLICATION_FACTOR_KEY_NAME),
                {
                    assignment.get(PARTITION_ID): assignment.get(REPLICA_ASSIGNMENT_REPLICAS_KEY_NAME)
                    for assignment in single.get(REPLICA_ASSIGNMENT_KEY_NAME)
                },
                {
                    config.get(CONFIG_NAME_KEY_NAME): config.get(CONFIG_VALUE_KEY_NAME)
                    for config in single.get(CONFIG_ENTRIES_KEY_NAME)
                },
            )
        return cls(
            version,
            topics,
            struct.get(TIMEOUT_KEY_NAME),
            struct.get_or_else(VALIDATE_ONLY_KEY_NAME, False),
            duplicate_topics,
        )

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.CREATE_TOPICS.request_schema(self._version))
        requests = []
        for topic, details in self._topics.items():
            single = result.instance(REQUESTS_KEY_NAME).set(TOPIC_NAME, topic)
            single.set(NUM_PARTITIONS_KEY_NAME, details.num_partitions)
            single.set(REPLICATION_FACTOR_KEY_NAME, details.replication_factor)
            assignments = []
            for partition, replicas in details.replicas_assignments.items():
                entry = single.instance(REPLICA_ASSIGNMENT_KEY_NAME).set(PARTITION_ID, partition)
                assignments.append(entry.set(REPLICA_ASSIGNMENT_REPLICAS_KEY_NAME, replicas))
            configs = []
            for key, value in details.configs.items():
                entry = single.instance(CONFIG_ENTRIES_KEY_NAME)
                configs.append(entry.set(CONFIG_NAME_KEY_NAME, key).set(CONFIG_VALUE_KEY_NAME, value))
            single.set(REPLICA_ASSIGNMENT_KEY_NAME, assignments).set(CONFIG_ENTRIES_KEY_NAME, configs)
            requests.append(single)
        result.set(REQUESTS_KEY_NAME, requests).set(TIMEOUT_KEY_NAME, self._timeout)
        return result.set_if_exists(VALIDATE_ONLY_KEY_NAME, self._validate_only)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> CreateTopicsResponse:
        return CreateTopicsResponse(dict.fromkeys(self._topics, ApiError.from_throwable(e)), throttle_time_ms)

    def topics(self) -> dict[str, TopicDetails]:
        """The topics to create."""
        return self._topics

    def timeout(self) -> int:
        """How long to wait until all brokers know them, in ms."""
        return self._timeout

    def validate_only(self) -> bool:
        """Whether to check only."""
        return self._validate_only

    def duplicate_topics(self) -> set[str]:
        """Topics that the request names more than once."""
        return self._duplicate_topics
