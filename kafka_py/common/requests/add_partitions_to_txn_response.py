"""Whether the partitions belong to the transaction now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class AddPartitionsToTxnResponse(ResponseMessage, key=ApiKeys.ADD_PARTITIONS_TO_TXN, latest=1):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnResponse
    """

    class Topic(Message):
        """The errors of a topic."""

        class Partition(ErrorEntry):
            """What became of a partition."""

            partition: int = field(INT32)
            error_code: int = field(INT16)

        topic: str = field(STRING)
        partition_errors: list[Partition] = field(ListOf(Partition))

    throttle_time_ms: int = field(INT32, default=0)
    errors: list[Topic] = field(ListOf(Topic))
