"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT64, STRING
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

LOG_DIRS_KEY_NAME = "log_dirs"
LOG_DIR_KEY_NAME = "log_dir"
TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
SIZE_KEY_NAME = "size"
OFFSET_LAG_KEY_NAME = "offset_lag"
IS_FUTURE_KEY_NAME = "is_future"

DESCRIBE_LOG_DIRS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS,
    Field(
        LOG_DIRS_KEY_NAME,
        ArrayOf(
            Schema(
                ERROR_CODE,
                Field(LOG_DIR_KEY_NAME, STRING, "The directory's path"),
                Field(
                    TOPICS_KEY_NAME,
                    ArrayOf(
                        Schema(
                            TOPIC_NAME,
                            Field(
                                PARTITIONS_KEY_NAME,
                                ArrayOf(
                                    Schema(
                                        PARTITION_ID,
                                        Field(SIZE_KEY_NAME, INT64, "The log's size in bytes"),
                                        Field(OFFSET_LAG_KEY_NAME, INT64, "How far the replica is behind"),
                                        Field(
                                            IS_FUTURE_KEY_NAME, BOOLEAN, "Whether it will replace the current replica"
                                        ),
                                    )
                                ),
                            ),
                        )
                    ),
                ),
            )
        ),
    ),
)


class DescribeLogDirsResponse(AbstractResponse):
    """Size and lag of each replica by directory.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsResponse
    """

    __slots__ = ("_log_dir_infos", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_LOG_DIRS
    INVALID_OFFSET_LAG: ClassVar[int] = -1

    class ReplicaInfo(NamedTuple):
        """A log: its bytes, how many records it is behind, and whether it will replace the replica's present log.

        Mirrors: org.apache.kafka.common.requests.DescribeLogDirsResponse.ReplicaInfo
        """

        size: int
        offset_lag: int
        is_future: bool

        def __str__(self) -> str:
            future = str(self.is_future).lower()
            return f"(size={self.size}, offsetLag={self.offset_lag}, isFuture={future})"

    class LogDirInfo(NamedTuple):
        """A directory: KAFKA_STORAGE_ERROR when it is offline, or else the logs in it.

        Mirrors: org.apache.kafka.common.requests.DescribeLogDirsResponse.LogDirInfo
        """

        error: Errors
        replica_infos: dict[TopicPartition, DescribeLogDirsResponse.ReplicaInfo]

        def __str__(self) -> str:
            return f"(error={self.error}, replicas={self.replica_infos})"

    def __init__(self, throttle_time_ms: int, log_dir_infos: dict[str, LogDirInfo]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._log_dir_infos = log_dir_infos

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_LOG_DIRS_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> DescribeLogDirsResponse:
        log_dir_infos = {}
        for log_dir in struct.get(LOG_DIRS_KEY_NAME):
            replica_infos = {
                TopicPartition(topic.get(TOPIC_NAME), partition.get(PARTITION_ID)): cls.ReplicaInfo(
                    partition.get(SIZE_KEY_NAME), partition.get(OFFSET_LAG_KEY_NAME), partition.get(IS_FUTURE_KEY_NAME)
                )
                for topic in log_dir.get(TOPICS_KEY_NAME)
                for partition in topic.get(PARTITIONS_KEY_NAME)
            }
            info = cls.LogDirInfo(Errors.for_code(log_dir.get(ERROR_CODE)), replica_infos)
            log_dir_infos[log_dir.get(LOG_DIR_KEY_NAME)] = info
        return cls(struct.get(THROTTLE_TIME_MS), log_dir_infos)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.DESCRIBE_LOG_DIRS.response_schema(version))
        log_dirs = []
        for path, info in self._log_dir_infos.items():
            log_dir = result.instance(LOG_DIRS_KEY_NAME).set(ERROR_CODE, info.error.code).set(LOG_DIR_KEY_NAME, path)
            topics = []
            for topic, replicas in group_data_by_topic(info.replica_infos).items():
                entry = log_dir.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
                partitions = []
                for partition, replica in replicas.items():
                    one = entry.instance(PARTITIONS_KEY_NAME).set(PARTITION_ID, partition)
                    one.set(SIZE_KEY_NAME, replica.size).set(OFFSET_LAG_KEY_NAME, replica.offset_lag)
                    partitions.append(one.set(IS_FUTURE_KEY_NAME, replica.is_future))
                topics.append(entry.set(PARTITIONS_KEY_NAME, partitions))
            log_dirs.append(log_dir.set(TOPICS_KEY_NAME, topics))
        return result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(LOG_DIRS_KEY_NAME, log_dirs)

    def log_dir_infos(self) -> dict[str, LogDirInfo]:
        """What is in each directory, by its absolute path."""
        return self._log_dir_infos

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(info.error for info in self._log_dir_infos.values())
