"""Whether the replicas are moving.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterReplicaLogDirsResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class AlterReplicaLogDirsResponse(ResponseMessage, key=ApiKeys.ALTER_REPLICA_LOG_DIRS, latest=1):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.AlterReplicaLogDirsResponse
    """

    class Topic(Message):
        """What became of a topic's partitions."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition: int = field(INT32)
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    topics: list[Topic] = field(ListOf(Topic))
