"""A transaction is about to write to these partitions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PRODUCER_EPOCH, PRODUCER_ID, TOPIC_NAME, TRANSACTIONAL_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

ADD_PARTITIONS_TO_TXN_REQUEST_V0 = Schema(
    TRANSACTIONAL_ID,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    Field(TOPICS_KEY_NAME, ArrayOf(Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(INT32), "The partitions")))),
)


class AddPartitionsToTxnRequest(SchemaBackedRequest):
    """Producer and partitions.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ADD_PARTITIONS_TO_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ADD_PARTITIONS_TO_TXN_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AddPartitionsToTxnResponse:
        error = Errors.for_exception(e)
        return AddPartitionsToTxnResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "errors": [
                    {
                        "topic": topic["topic"],
                        "partition_errors": [
                            {"partition": partition, "error_code": error.code} for partition in topic["partitions"]
                        ],
                    }
                    for topic in self.values["topics"]
                ],
            }
        )
