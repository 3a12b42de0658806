"""A group stores how far it has read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetCommitRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GENERATION_ID, GROUP_ID, MEMBER_ID, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64, NULLABLE_STRING
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPICS_KEY_NAME = "topics"
RETENTION_TIME_KEY_NAME = "retention_time"
PARTITIONS_KEY_NAME = "partitions"
COMMIT_OFFSET_KEY_NAME = "offset"
METADATA_KEY_NAME = "metadata"
TIMESTAMP_KEY_NAME = "timestamp"

OFFSET_COMMIT_REQUEST_PARTITION_V0 = Schema(
    PARTITION_ID,
    Field(COMMIT_OFFSET_KEY_NAME, INT64, "The offset found"),
    Field(METADATA_KEY_NAME, NULLABLE_STRING, "The text kept beside the offset"),
)

OFFSET_COMMIT_REQUEST_PARTITION_V1 = Schema(
    PARTITION_ID,
    Field(COMMIT_OFFSET_KEY_NAME, INT64, "The offset found"),
    Field(TIMESTAMP_KEY_NAME, INT64, "The timestamp to look for; -1 the end, -2 the start"),
    Field(METADATA_KEY_NAME, NULLABLE_STRING, "The text kept beside the offset"),
)

OFFSET_COMMIT_REQUEST_PARTITION_V2 = Schema(
    PARTITION_ID,
    Field(COMMIT_OFFSET_KEY_NAME, INT64, "The offset found"),
    Field(METADATA_KEY_NAME, NULLABLE_STRING, "The text kept beside the offset"),
)

OFFSET_COMMIT_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_PARTITION_V0), "The partitions")
)

OFFSET_COMMIT_REQUEST_TOPIC_V1 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_PARTITION_V1), "The partitions")
)

OFFSET_COMMIT_REQUEST_TOPIC_V2 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_PARTITION_V2), "The partitions")
)

OFFSET_COMMIT_REQUEST_V0 = Schema(
    GROUP_ID, Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_TOPIC_V0), "The topics")
)

OFFSET_COMMIT_REQUEST_V1 = Schema(
    GROUP_ID, GENERATION_ID, MEMBER_ID, Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_TOPIC_V1), "The topics")
)

OFFSET_COMMIT_REQUEST_V2 = Schema(
    GROUP_ID,
    GENERATION_ID,
    MEMBER_ID,
    Field(RETENTION_TIME_KEY_NAME, INT64, "How long to keep the offsets, in ms, -1 for the broker's setting"),
    Field(TOPICS_KEY_NAME, ArrayOf(OFFSET_COMMIT_REQUEST_TOPIC_V2), "The topics"),
)

OFFSET_COMMIT_REQUEST_V3 = OFFSET_COMMIT_REQUEST_V2


class OffsetCommitRequest(SchemaBackedRequest):
    """Offsets by partition of a group member.

    Mirrors: org.apache.kafka.common.requests.OffsetCommitRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.OFFSET_COMMIT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [OFFSET_COMMIT_REQUEST_V0, OFFSET_COMMIT_REQUEST_V1, OFFSET_COMMIT_REQUEST_V2, OFFSET_COMMIT_REQUEST_V3]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> OffsetCommitResponse:
        error = Errors.for_exception(e)
        return OffsetCommitResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "responses": [
                    {
                        "topic": topic["topic"],
                        "partition_responses": [
                            {"partition": partition["partition"], "error_code": error.code}
                            for partition in topic["partitions"]
                        ],
                    }
                    for topic in self.values["topics"]
                ],
            }
        )
