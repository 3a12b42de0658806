"""What became of the offsets.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetDeleteResponse.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class OffsetDeleteResponse(ResponseMessage, ErrorCoded, key=ApiKeys.OFFSET_DELETE, latest=0):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.OffsetDeleteResponse @ 2.5.1
    """

    class Topic(Message):
        """What became of a topic's offsets."""

        class Partition(ErrorEntry):
            """What became of a partition's offset."""

            partition_index: int = field(INT32)
            error_code: int = field(INT16)

        name: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT32, default=0)
    topics: list[Topic] = field(ListOf(Topic))
