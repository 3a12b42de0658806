"""Whether the offsets were stored.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/OffsetCommitResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

RESPONSES_KEY_NAME = "responses"
PARTITIONS_KEY_NAME = "partition_responses"

OFFSET_COMMIT_RESPONSE_PARTITION_V0 = Schema(PARTITION_ID, ERROR_CODE)

OFFSET_COMMIT_RESPONSE_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(OFFSET_COMMIT_RESPONSE_PARTITION_V0))
)

OFFSET_COMMIT_RESPONSE_V0 = Schema(Field(RESPONSES_KEY_NAME, ArrayOf(OFFSET_COMMIT_RESPONSE_TOPIC_V0)))

OFFSET_COMMIT_RESPONSE_V1 = OFFSET_COMMIT_RESPONSE_V0

OFFSET_COMMIT_RESPONSE_V2 = OFFSET_COMMIT_RESPONSE_V0

OFFSET_COMMIT_RESPONSE_V3 = Schema(
    THROTTLE_TIME_MS, Field(RESPONSES_KEY_NAME, ArrayOf(OFFSET_COMMIT_RESPONSE_TOPIC_V0))
)


class OffsetCommitResponse(SchemaBackedResponse):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.OffsetCommitResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.OFFSET_COMMIT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            OFFSET_COMMIT_RESPONSE_V0,
            OFFSET_COMMIT_RESPONSE_V1,
            OFFSET_COMMIT_RESPONSE_V2,
            OFFSET_COMMIT_RESPONSE_V3,
        ]
