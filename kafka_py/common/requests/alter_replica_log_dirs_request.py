"""Move replicas to other log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterReplicaLogDirsRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic


class AlterReplicaLogDirsRequest(RequestMessage, key=ApiKeys.ALTER_REPLICA_LOG_DIRS, latest=1):
    """Partitions by directory.

    Mirrors: org.apache.kafka.common.requests.AlterReplicaLogDirsRequest
    """

    class LogDir(Message):
        """What is to be in a directory."""

        class Topic(Message):
            """Partitions of a topic."""

            topic: str = field(STRING)
            partitions: list[int] = field(ListOf(INT32))

        log_dir: str = field(STRING, "The directory's path")
        topics: list[Topic] = field(ListOf(Topic))

    log_dirs: list[LogDir] = field(ListOf(LogDir))

    class Builder(AbstractRequest.Builder):
        """A directory for each partition, as in Java's class of that name."""

        def __init__(self, partition_dirs: Mapping[TopicPartition, str]) -> None:
            super().__init__(ApiKeys.ALTER_REPLICA_LOG_DIRS)
            self._partition_dirs = partition_dirs

        def build(self, version: int | None = None) -> AlterReplicaLogDirsRequest:
            log_dir_class = AlterReplicaLogDirsRequest.LogDir
            by_dir: dict[str, dict[TopicPartition, None]] = {}
            for topic_partition, log_dir in self._partition_dirs.items():
                by_dir.setdefault(log_dir, {})[topic_partition] = None
            log_dirs = [
                log_dir_class(
                    log_dir=log_dir,
                    topics=[
                        log_dir_class.Topic(topic=topic, partitions=list(partitions))
                        for topic, partitions in group_data_by_topic(wanted).items()
                    ],
                )
                for log_dir, wanted in by_dir.items()
            ]
            return AlterReplicaLogDirsRequest(version=self._version_or_latest(version), log_dirs=log_dirs)

        def __str__(self) -> str:
            return f"(type=AlterReplicaLogDirsRequest, partitionDirs={self._partition_dirs})"

    def partition_dirs(self) -> dict[TopicPartition, str]:
        """Where each partition is to be; of one that is named twice, the last directory."""
        return {
            TopicPartition(topic.topic, partition): log_dir.log_dir
            for log_dir in self.log_dirs
            for topic in log_dir.topics
            for partition in topic.partitions
        }

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AlterReplicaLogDirsResponse:
        return AlterReplicaLogDirsResponse.of(
            throttle_time_ms, dict.fromkeys(self.partition_dirs(), Errors.for_exception(e))
        )
