"""What became of the reassignments.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterPartitionReassignmentsResponse.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class AlterPartitionReassignmentsResponse(
    ResponseMessage, ErrorCoded, key=ApiKeys.ALTER_PARTITION_REASSIGNMENTS, latest=0, flexible=0
):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.AlterPartitionReassignmentsResponse @ 2.5.1
    """

    class Topic(Message):
        """What became of a topic's partitions."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition_index: int = field(INT32)
            error_code: int = field(INT16)
            error_message: str | None = field(NULLABLE_STRING)

        name: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    responses: list[Topic] = field(ListOf(Topic))
