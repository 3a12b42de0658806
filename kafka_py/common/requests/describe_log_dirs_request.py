"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

DESCRIBE_LOG_DIRS_REQUEST_V0 = Schema(
    Field(
        TOPICS_KEY_NAME,
        ArrayOf(Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(INT32), "The partitions")), nullable=True),
    )
)


class DescribeLogDirsRequest(AbstractRequest):
    """Partitions; None asks for all.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsRequest
    """

    __slots__ = ("_topic_partitions",)

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_LOG_DIRS

    class Builder(AbstractRequest.Builder):
        """Some partitions, or None for all.

        Mirrors: org.apache.kafka.common.requests.DescribeLogDirsRequest.Builder
        """

        def __init__(self, partitions: Collection[TopicPartition] | None) -> None:
            super().__init__(ApiKeys.DESCRIBE_LOG_DIRS)
            self._topic_partitions = partitions

        def build(self, version: int | None = None) -> DescribeLogDirsRequest:
            return DescribeLogDirsRequest(self._topic_partitions, self._version_or_latest(version))

        def __str__(self) -> str:
            return f"(type=DescribeLogDirsRequest, topicPartitions={self._topic_partitions})"

    def __init__(self, topic_partitions: Collection[TopicPartition] | None, version: int) -> None:
        super().__init__(version)
        # Java keeps a set; a dict forgets doubles as well and keeps the order.
        self._topic_partitions = None if topic_partitions is None else dict.fromkeys(topic_partitions)

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_LOG_DIRS_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> DescribeLogDirsRequest:
        topics = struct.get(TOPICS_KEY_NAME)
        if topics is None:
            return cls(None, version)
        return cls([TopicPartition(t.get(TOPIC_NAME), p) for t in topics for p in t.get(PARTITIONS_KEY_NAME)], version)

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.DESCRIBE_LOG_DIRS.request_schema(self._version))
        if self._topic_partitions is None:
            return result.set(TOPICS_KEY_NAME, None)
        return result.set(
            TOPICS_KEY_NAME,
            [
                result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic).set(PARTITIONS_KEY_NAME, list(partitions))
                for topic, partitions in group_data_by_topic(self._topic_partitions).items()
            ],
        )

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeLogDirsResponse:
        # Version 0 has no place for an error that is not a directory's.
        return DescribeLogDirsResponse(throttle_time_ms, {})

    def is_all_topic_partitions(self) -> bool:
        """Whether everything is asked for."""
        return self._topic_partitions is None

    def topic_partitions(self) -> Collection[TopicPartition] | None:
        """The partitions asked for, None for all."""
        return None if self._topic_partitions is None else self._topic_partitions.keys()
