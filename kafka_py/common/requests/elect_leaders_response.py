"""What became of the elections.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ElectLeadersResponse.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class ElectLeadersResponse(ResponseMessage, ErrorCoded, key=ApiKeys.ELECT_LEADERS, latest=2, flexible=2):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.ElectLeadersResponse @ 2.5.1
    """

    class Topic(Message):
        """What became of a topic's partitions."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition_id: int = field(INT32)
            error_code: int = field(INT16)
            error_message: str | None = field(NULLABLE_STRING)

        topic: str = field(STRING)
        partition_results: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, since=1, default=0)
    replica_election_results: list[Topic] = field(ListOf(Topic))
