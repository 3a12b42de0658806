"""Which markers were written.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersResponse.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class WriteTxnMarkersResponse(ResponseMessage, key=ApiKeys.WRITE_TXN_MARKERS, latest=0):
    """An error by producer and partition.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersResponse
    """

    class Marker(Message):
        """The errors of a transaction."""

        class Topic(Message):
            """The errors of a topic."""

            class Partition(ErrorEntry):
                """What became of a partition."""

                partition: int = field(INT32)
                error_code: int = field(INT16)

            topic: str = field(STRING)
            partitions: list[Partition] = field(ListOf(Partition))

        producer_id: int = field(INT64)
        topics: list[Topic] = field(ListOf(Topic))

    transaction_markers: list[Marker] = field(ListOf(Marker))
