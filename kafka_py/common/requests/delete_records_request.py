"""Delete everything below these offsets.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteRecordsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT32, INT64
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPICS_KEY_NAME = "topics"
TIMEOUT_KEY_NAME = "timeout"
PARTITIONS_KEY_NAME = "partitions"
OFFSET_KEY_NAME = "offset"

DELETE_RECORDS_REQUEST_PARTITION_V0 = Schema(PARTITION_ID, Field(OFFSET_KEY_NAME, INT64, "The offset found"))

DELETE_RECORDS_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(DELETE_RECORDS_REQUEST_PARTITION_V0), "The partitions")
)

DELETE_RECORDS_REQUEST_V0 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(DELETE_RECORDS_REQUEST_TOPIC_V0), "The topics"),
    Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms"),
)


class DeleteRecordsRequest(SchemaBackedRequest):
    """An offset by partition.

    Mirrors: org.apache.kafka.common.requests.DeleteRecordsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_RECORDS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_RECORDS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DeleteRecordsResponse:
        error = Errors.for_exception(e)
        return DeleteRecordsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "topics": [
                    {
                        "topic": topic["topic"],
                        "partitions": [
                            {"partition": partition["partition"], "low_watermark": -1, "error_code": error.code}
                            for partition in topic["partitions"]
                        ],
                    }
                    for topic in self.values["topics"]
                ],
            }
        )
