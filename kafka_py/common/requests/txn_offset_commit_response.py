"""Whether the offsets were stored.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/TxnOffsetCommitResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

TXN_OFFSET_COMMIT_PARTITION_ERROR_RESPONSE_V0 = Schema(PARTITION_ID, ERROR_CODE)

TXN_OFFSET_COMMIT_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS,
    Field(
        TOPICS_KEY_NAME,
        ArrayOf(
            Schema(
                TOPIC_NAME,
                Field(PARTITIONS_KEY_NAME, ArrayOf(TXN_OFFSET_COMMIT_PARTITION_ERROR_RESPONSE_V0), "The partitions"),
            )
        ),
    ),
)


class TxnOffsetCommitResponse(SchemaBackedResponse):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.TxnOffsetCommitResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.TXN_OFFSET_COMMIT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [TXN_OFFSET_COMMIT_RESPONSE_V0]
