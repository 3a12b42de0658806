"""What consumers tell each other through their coordinator: which topics they want, which partitions they get.

The coordinator looks into it only to learn of which topics' offsets must not expire.

Mirrors: clients/src/main/java/org/apache/kafka/clients/consumer/internals/ConsumerProtocol.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32, NULLABLE_BYTES, STRING
from kafka_py.common.topic_partition import TopicPartition

_VERSION_SIZE = 2


class Subscription(NamedTuple):
    """The topics a consumer wants."""

    topics: list[str]
    user_data: bytes | None = None


class Assignment(NamedTuple):
    """The partitions a consumer gets."""

    partitions: list[TopicPartition]
    user_data: bytes | None = None


class ConsumerProtocol:
    """Reads subscriptions and assignments.

    Later versions continue version 0, which is all that is read of them.

    Mirrors: org.apache.kafka.clients.consumer.internals.ConsumerProtocol
    Left out: serializeSubscription, serializeAssignment, deserializeSubscription, checkVersionCompatibility --
        consumers are other people's; nobody here writes these bytes, or reads what later versions of them add
    """

    PROTOCOL_TYPE: ClassVar[str] = "consumer"
    TOPIC_ASSIGNMENT_V0: ClassVar[Schema] = Schema(Field("topic", STRING), Field("partitions", ArrayOf(INT32)))
    SUBSCRIPTION_V0: ClassVar[Schema] = Schema(Field("topics", ArrayOf(STRING)), Field("user_data", NULLABLE_BYTES))
    ASSIGNMENT_V0: ClassVar[Schema] = Schema(
        Field("topic_partitions", ArrayOf(TOPIC_ASSIGNMENT_V0)), Field("user_data", NULLABLE_BYTES)
    )

    @staticmethod
    def deserialize_version(data: bytes | memoryview) -> int:
        """The version that the bytes begin with; SchemaException if there are none, or it is negative."""
        version = int.from_bytes(data[:_VERSION_SIZE], "big", signed=True)
        if len(data) < _VERSION_SIZE or version < 0:
            raise SchemaException(f"Unsupported subscription version: {version}")
        return version

    @classmethod
    def deserialize_subscription_v0(cls, data: bytes | memoryview) -> Subscription:
        """The beginning that all versions share; SchemaException for what is none."""
        cls.deserialize_version(data)
        struct = cls.SUBSCRIPTION_V0.read(data, _VERSION_SIZE)
        return Subscription(list(struct.get("topics")), struct.get("user_data"))

    @classmethod
    def deserialize_assignment(cls, data: bytes | memoryview) -> Assignment:
        """An assignment of any version; SchemaException for what is none."""
        cls.deserialize_version(data)
        struct = cls.ASSIGNMENT_V0.read(data, _VERSION_SIZE)
        return Assignment(_partitions(struct.get("topic_partitions")), struct.get("user_data"))


def _partitions(topics: list[Struct]) -> list[TopicPartition]:
    return [TopicPartition(topic.get("topic"), partition) for topic in topics for partition in topic.get("partitions")]
