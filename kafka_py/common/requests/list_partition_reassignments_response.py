"""The partitions that are being moved.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListPartitionReassignmentsResponse.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class ListPartitionReassignmentsResponse(
    ResponseMessage, ErrorCoded, key=ApiKeys.LIST_PARTITION_REASSIGNMENTS, latest=0, flexible=0
):
    """Replicas that come and go, by partition.

    Mirrors: org.apache.kafka.common.requests.ListPartitionReassignmentsResponse @ 2.5.1
    """

    class Topic(Message):
        """A topic of which something is being moved."""

        class Partition(Message):
            """A partition that is being moved."""

            partition_index: int = field(INT32)
            replicas: list[int] = field(ListOf(INT32))
            adding_replicas: list[int] = field(ListOf(INT32))
            removing_replicas: list[int] = field(ListOf(INT32))

        name: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    topics: list[Topic] = field(ListOf(Topic))
