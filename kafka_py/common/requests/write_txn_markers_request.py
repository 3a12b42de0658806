"""Write the markers that end transactions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT16, INT32, INT64
from kafka_py.common.requests.schema_backed import SchemaBackedRequest
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse

COORDINATOR_EPOCH_KEY_NAME = "coordinator_epoch"
TXN_MARKERS_KEY_NAME = "transaction_markers"
PRODUCER_ID_KEY_NAME = "producer_id"
PRODUCER_EPOCH_KEY_NAME = "producer_epoch"
TRANSACTION_RESULT_KEY_NAME = "transaction_result"
TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

WRITE_TXN_MARKERS_ENTRY_V0 = Schema(
    Field(PRODUCER_ID_KEY_NAME, INT64),
    Field(PRODUCER_EPOCH_KEY_NAME, INT16),
    Field(TRANSACTION_RESULT_KEY_NAME, BOOLEAN, "Whether to commit"),
    Field(TOPICS_KEY_NAME, ArrayOf(Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(INT32), "The partitions")))),
    Field(COORDINATOR_EPOCH_KEY_NAME, INT32, "The epoch of the transaction's coordinator"),
)

WRITE_TXN_MARKERS_REQUEST_V0 = Schema(Field(TXN_MARKERS_KEY_NAME, ArrayOf(WRITE_TXN_MARKERS_ENTRY_V0)))


class WriteTxnMarkersRequest(SchemaBackedRequest):
    """Producer, result and partitions of each transaction.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.WRITE_TXN_MARKERS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [WRITE_TXN_MARKERS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> WriteTxnMarkersResponse:
        error = Errors.for_exception(e)
        return WriteTxnMarkersResponse(
            {
                "transaction_markers": [
                    {
                        "producer_id": marker["producer_id"],
                        "topics": [
                            {
                                "topic": topic["topic"],
                                "partitions": [
                                    {"partition": partition, "error_code": error.code}
                                    for partition in topic["partitions"]
                                ],
                            }
                            for topic in marker["topics"]
                        ],
                    }
                    for marker in self.values["transaction_markers"]
                ],
            }
        )
