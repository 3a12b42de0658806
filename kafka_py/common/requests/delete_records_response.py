"""Where the logs start now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
LOW_WATERMARK_KEY_NAME = "low_watermark"

DELETE_RECORDS_RESPONSE_PARTITION_V0 = Schema(
    PARTITION_ID, Field(LOW_WATERMARK_KEY_NAME, INT64, "The smallest log start offset of all replicas"), ERROR_CODE
)

DELETE_RECORDS_RESPONSE_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(DELETE_RECORDS_RESPONSE_PARTITION_V0), "The partitions")
)

DELETE_RECORDS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(TOPICS_KEY_NAME, ArrayOf(DELETE_RECORDS_RESPONSE_TOPIC_V0), "The topics")
)


class DeleteRecordsResponse(SchemaBackedResponse):
    """The low watermark by partition.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_RECORDS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_RECORDS_RESPONSE_V0]
