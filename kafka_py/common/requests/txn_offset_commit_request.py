"""A transaction stores how far a group has read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/TxnOffsetCommitRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import (
    GROUP_ID,
    PARTITION_ID,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    TOPIC_NAME,
    TRANSACTIONAL_ID,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64, NULLABLE_STRING
from kafka_py.common.requests.schema_backed import SchemaBackedRequest
from kafka_py.common.requests.txn_offset_commit_response import TxnOffsetCommitResponse

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
OFFSET_KEY_NAME = "offset"
METADATA_KEY_NAME = "metadata"

TXN_OFFSET_COMMIT_PARTITION_OFFSET_METADATA_REQUEST_V0 = Schema(
    PARTITION_ID,
    Field(OFFSET_KEY_NAME, INT64, "The offset found"),
    Field(METADATA_KEY_NAME, NULLABLE_STRING, "The text kept beside the offset"),
)

TXN_OFFSET_COMMIT_REQUEST_V0 = Schema(
    TRANSACTIONAL_ID,
    GROUP_ID,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    Field(
        TOPICS_KEY_NAME,
        ArrayOf(
            Schema(
                TOPIC_NAME,
                Field(
                    PARTITIONS_KEY_NAME,
                    ArrayOf(TXN_OFFSET_COMMIT_PARTITION_OFFSET_METADATA_REQUEST_V0),
                    "The partitions",
                ),
            )
        ),
    ),
)


class TxnOffsetCommitRequest(SchemaBackedRequest):
    """Producer, group, and offsets by partition.

    Mirrors: org.apache.kafka.common.requests.TxnOffsetCommitRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.TXN_OFFSET_COMMIT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TXN_OFFSET_COMMIT_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> TxnOffsetCommitResponse:
        error = Errors.for_exception(e)
        return TxnOffsetCommitResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "topics": [
                    {
                        "topic": topic["topic"],
                        "partitions": [
                            {"partition": partition["partition"], "error_code": error.code}
                            for partition in topic["partitions"]
                        ],
                    }
                    for topic in self.values["topics"]
                ],
            }
        )
