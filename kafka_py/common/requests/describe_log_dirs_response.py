"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class DescribeLogDirsResponse(ResponseMessage, key=ApiKeys.DESCRIBE_LOG_DIRS, latest=1):
    """Size and lag of each replica by directory.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsResponse
    """

    INVALID_OFFSET_LAG: ClassVar[int] = -1

    class LogDir(ErrorEntry):
        """A directory as it is written."""

        class Topic(Message):
            """The logs of a topic."""

            class Partition(Message):
                """The log of a partition."""

                partition: int = field(INT32)
                size: int = field(INT64, "In bytes")
                offset_lag: int = field(INT64, "How far the replica is behind")
                is_future: bool = field(BOOLEAN, "Whether it will replace the current replica")

            topic: str = field(STRING)
            partitions: list[Partition] = field(ListOf(Partition))

        error_code: int = field(INT16)
        log_dir: str = field(STRING)
        topics: list[Topic] = field(ListOf(Topic))

    throttle_time_ms: int = field(INT32, default=0)
    log_dirs: list[LogDir] = field(ListOf(LogDir))

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
        self.throttle_time_ms = throttle_time_ms
        self.log_dirs = [_log_dir(path, info) for path, info in log_dir_infos.items()]

    def log_dir_infos(self) -> dict[str, LogDirInfo]:
        """What is in each directory, by its absolute path."""
        return {
            log_dir.log_dir: self.LogDirInfo(
                log_dir.error,
                {
                    TopicPartition(topic.topic, p.partition): self.ReplicaInfo(p.size, p.offset_lag, p.is_future)
                    for topic in log_dir.topics
                    for p in topic.partitions
                },
            )
            for log_dir in self.log_dirs
        }


def _log_dir(path: str, info: DescribeLogDirsResponse.LogDirInfo) -> DescribeLogDirsResponse.LogDir:
    topic_class = DescribeLogDirsResponse.LogDir.Topic
    topics = [
        topic_class(
            topic=topic,
            partitions=[
                topic_class.Partition(partition=p, size=r.size, offset_lag=r.offset_lag, is_future=r.is_future)
                for p, r in replicas.items()
            ],
        )
        for topic, replicas in group_data_by_topic(info.replica_infos).items()
    ]
    return DescribeLogDirsResponse.LogDir(error_code=info.error.code, log_dir=path, topics=topics)
