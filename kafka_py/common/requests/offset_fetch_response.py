"""How far a group has read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetFetchResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class OffsetFetchResponse(ResponseMessage, ErrorCoded, key=ApiKeys.OFFSET_FETCH, latest=7, flexible=6):
    """Offset and text by partition.

    Mirrors: org.apache.kafka.common.requests.OffsetFetchResponse
    """

    class Topic(Message):
        """The offsets of a topic."""

        class Partition(ErrorEntry):
            """The offset of a partition."""

            partition: int = field(INT32)
            offset: int = field(INT64, "-1 if there is none", default=-1)
            leader_epoch: int = field(INT32, "The epoch of the last record read, -1 if not known", since=5, default=-1)
            metadata: str | None = field(NULLABLE_STRING, "The text kept beside the offset", default="")
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partition_responses: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, since=3, default=0)
    responses: list[Topic] = field(ListOf(Topic))
    error_code: int = field(INT16, since=2, default=0)
