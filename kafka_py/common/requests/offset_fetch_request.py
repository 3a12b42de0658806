"""How far has a group read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetFetchRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GROUP_ID, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

OFFSET_FETCH_REQUEST_PARTITION_V0 = Schema(PARTITION_ID)

OFFSET_FETCH_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_FETCH_REQUEST_PARTITION_V0), "The partitions")
)

OFFSET_FETCH_REQUEST_V0 = Schema(GROUP_ID, Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_FETCH_REQUEST_TOPIC_V0), "The topics"))

OFFSET_FETCH_REQUEST_V1 = OFFSET_FETCH_REQUEST_V0

OFFSET_FETCH_REQUEST_V2 = Schema(
    GROUP_ID, Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_FETCH_REQUEST_TOPIC_V0, nullable=True), "The topics")
)

OFFSET_FETCH_REQUEST_V3 = OFFSET_FETCH_REQUEST_V2


class OffsetFetchRequest(SchemaBackedRequest):
    """Partitions of a group; None, from version 2 on, asks for all.

    Mirrors: org.apache.kafka.common.requests.OffsetFetchRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.OFFSET_FETCH

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [OFFSET_FETCH_REQUEST_V0, OFFSET_FETCH_REQUEST_V1, OFFSET_FETCH_REQUEST_V2, OFFSET_FETCH_REQUEST_V3]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> OffsetFetchResponse:
        error = Errors.for_exception(e)
        return OffsetFetchResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "error_code": error.code,
                # Versions 0 and 1 have no place for the error but the partitions.
                "responses": [
                    {
                        "topic": topic["topic"],
                        "partition_responses": [
                            {
                                "partition": partition["partition"],
                                "offset": -1,
                                "metadata": "",
                                "error_code": error.code,
                            }
                            for partition in topic["partitions"]
                        ],
                    }
                    for topic in self.values["topics"] or ()
                    if self._version < 2
                ],
            }
        )
