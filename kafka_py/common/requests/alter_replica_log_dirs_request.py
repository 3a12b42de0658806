"""Move replicas to other log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterReplicaLogDirsRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.request_message import RequestMessage


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

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AlterReplicaLogDirsResponse:
        code = Errors.for_exception(e).code
        topic_class = AlterReplicaLogDirsResponse.Topic
        topics = [
            topic_class(
                topic=topic.topic,
                partitions=[topic_class.Partition(partition=p, error_code=code) for p in topic.partitions],
            )
            for log_dir in self.log_dirs
            for topic in log_dir.topics
        ]
        return AlterReplicaLogDirsResponse(throttle_time_ms=throttle_time_ms, topics=topics)
