"""Whether the offsets were stored.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/TxnOffsetCommitResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class TxnOffsetCommitResponse(ResponseMessage, key=ApiKeys.TXN_OFFSET_COMMIT, latest=3, flexible=3):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.TxnOffsetCommitResponse
    """

    class Topic(Message):
        """The errors of a topic."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition: int = field(INT32)
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partitions: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    topics: list[Topic] = field(ListOf(Topic))
