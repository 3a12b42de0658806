"""Whether the offsets were stored.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetCommitResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class OffsetCommitResponse(ResponseMessage, key=ApiKeys.OFFSET_COMMIT, latest=8, flexible=8):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.OffsetCommitResponse
    """

    class Topic(Message):
        """What became of a topic's offsets."""

        class Partition(ErrorEntry):
            """What became of a partition's offset."""

            partition: int = field(INT32)
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partition_responses: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, since=3, default=0)
    responses: list[Topic] = field(ListOf(Topic))
